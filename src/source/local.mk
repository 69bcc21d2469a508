# source: streams that follow streams: mirrors and sources.
noinst_LIBRARIES += %D%/libsource.a
%C%_libsource_a_SOURCES = \
	%D%/sources.c %D%/link.c %D%/take.c %D%/resume.c %D%/track.c %D%/track.h %D%/origin.c %D%/origin_read.c \
	%D%/origin.h %D%/source_impl.h include/mayfly/source.h
%C%_libsource_a_CPPFLAGS = $(AM_CPPFLAGS)

SOURCE_LIBS = %D%/libsource.a src/account/libaccount.a
