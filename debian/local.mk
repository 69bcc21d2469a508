# The Debian package; `./dev package` builds it from the tarball.
EXTRA_DIST += %D%/changelog %D%/control %D%/copyright %D%/mayfly.lintian-overrides %D%/mayfly.postinst \
	%D%/mayfly.postrm %D%/rules %D%/source/format
