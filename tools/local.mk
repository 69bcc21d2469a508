# What a release carries besides the sources: the developer's commands and the project's papers.
EXTRA_DIST += \
	dev .clang-format .clang-tidy .editorconfig README.md CONTRIBUTING.md CHANGELOG.md \
	%D%/checks.sh %D%/coverage.mjs %D%/coverage.sh %D%/deps.sh %D%/abi.mjs %D%/globals.sh %D%/globals.txt %D%/house.mjs %D%/install_test.sh %D%/layers.sh %D%/lint.sh %D%/package.sh %D%/package_test.sh %D%/dev_test.sh %D%/run.sh %D%/screenshots.mjs %D%/requirements.mjs %D%/requirements_test.mjs \
	%D%/test.sh %D%/tidy-known.txt %D%/dist.sh %D%/examples_test.sh %D%/words.sh \
	src/api/README.md src/backup/README.md src/codec/README.md src/consumer/README.md src/cron/README.md src/jetstream/README.md src/msgtrace/README.md \
	src/leaf/README.md src/markers/README.md src/session/README.md src/source/README.md src/status/README.md src/store/README.md \
	src/stream/README.md src/ttl/README.md src/wheel/README.md
