# What a release carries besides the sources: the developer's commands and the project's papers.
EXTRA_DIST += \
	dev .clang-format .clang-tidy .editorconfig README.md CONTRIBUTING.md CHANGELOG.md \
	%D%/coverage.mjs %D%/coverage.sh %D%/deps.sh %D%/house.mjs %D%/layers.sh %D%/lint.sh %D%/requirements.mjs %D%/requirements_test.mjs \
	%D%/test.sh %D%/tidy-known.txt %D%/dist.sh %D%/words.sh
