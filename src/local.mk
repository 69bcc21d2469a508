# libmayfly: the C API, wiring only; mayflyd: main().
include_HEADERS += include/mayfly.h
noinst_LIBRARIES += %D%/libmayfly.a
%C%_libmayfly_a_SOURCES = %D%/mayfly.c

MAYFLY_LIBS = %D%/libmayfly.a src/backup/libbackup.a $(STATUS_LIBS)

sbin_PROGRAMS += mayflyd
mayflyd_SOURCES = %D%/mayflyd.c
mayflyd_LDADD = $(MAYFLY_LIBS)
