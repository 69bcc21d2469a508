# The Debian package; `./dev package` builds it from the tarball.
EXTRA_DIST += %D%/changelog %D%/control %D%/copyright %D%/mayfly.lintian-overrides %D%/mayfly.postinst \
	%D%/mayfly.postrm %D%/mayfly.install %D%/libmayfly0.install %D%/libmayfly0.symbols %D%/libmayfly-dev.install %D%/libmayfly-dev.examples %D%/rules %D%/source/format
