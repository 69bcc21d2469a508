# server: client sessions, accounts at work, pages, system services.
noinst_LIBRARIES += %D%/libserver.a
%C%_libserver_a_SOURCES = \
	%D%/check.c %D%/client.c %D%/client_auth.c %D%/client_grant.c %D%/client_label.c %D%/client_pub.c \
	%D%/client_sub.c %D%/client_timer.c %D%/client_trace.c %D%/client_trace.h %D%/closed.c %D%/closed.h \
	%D%/connect.c %D%/connect.h %D%/crowd.c %D%/crowd.h %D%/departed.c %D%/files.c %D%/info.c %D%/lameduck.c %D%/log_setup.c \
	%D%/pages.c %D%/pages.h %D%/pages_account.c %D%/pages_connz.c %D%/pages_exports.c \
	%D%/pages_health.c %D%/pages_metrics.c %D%/pages_process.c %D%/pages_root.c %D%/pages_subsz.c %D%/pages_varz.c \
	%D%/reload.c %D%/request_info.c %D%/server.c %D%/server_int.h %D%/sys.c %D%/sys.h \
	%D%/sys_account.c %D%/sys_event.c %D%/sys_options.c %D%/sys_page.c %D%/sys_request.c %D%/tls_setup.c \
	%D%/ws_listen.c \
	%D%/server.h
%C%_libserver_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

SERVER_LIBS = %D%/libserver.a src/ws/libws.a src/monitor/libmonitor.a src/http/libhttp.a src/account/libaccount.a \
	src/auth/libauth.a src/router/librouter.a src/net/libnet.a src/config/libconfig.a \
	src/ttl/libttl.a src/proto/libproto.a src/subject/libsubject.a src/loop/libloop.a \
	$(CODEC_LIBS) -lm \
	$(UV_LIBS) $(OPENSSL_LIBS) $(SODIUM_LIBS) $(CRYPT_LIBS) $(WSLAY_LIBS) $(ZLIB_LIBS) \
	$(JANSSON_LIBS)

UNIT_TESTS += test/unit/server/pages test/unit/server/sys
test_unit_server_pages_SOURCES = test/unit/server/test_pages.c
test_unit_server_pages_LDADD = $(SERVER_LIBS) $(UNITY_LIBS)
test_unit_server_pages_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
test_unit_server_sys_SOURCES = test/unit/server/test_sys.c
test_unit_server_sys_LDADD = $(SERVER_LIBS) $(UNITY_LIBS)
test_unit_server_sys_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
