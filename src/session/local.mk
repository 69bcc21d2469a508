# session: what clients and links of other servers share.
noinst_LIBRARIES += %D%/libsession.a
%C%_libsession_a_SOURCES = %D%/connect.c %D%/connect.h
%C%_libsession_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
