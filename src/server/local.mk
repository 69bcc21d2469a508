# server: clients, listeners, accounts at work, reload, lame duck, files.
noinst_LIBRARIES += %D%/libserver.a
%C%_libserver_a_SOURCES = \
	%D%/check.c %D%/client.c %D%/client_auth.c %D%/client_enter.c %D%/client_enter_impl.h %D%/client_login.c %D%/client_grant.c %D%/client_impl.h %D%/client_info.c %D%/client_info.h %D%/client_label.c %D%/client_proxy.c \
	%D%/client_pub.c %D%/client_sub.c %D%/client_timer.c %D%/client_trace.c %D%/client_trace_impl.h %D%/closed.c \
	%D%/admission.c %D%/admission_impl.h %D%/advice.c %D%/departed.c %D%/files.c %D%/info.c %D%/lameduck.c %D%/log_setup.c \
	%D%/modules.c %D%/ports.c %D%/reload.c %D%/renew.c %D%/server.c %D%/server.h %D%/server_impl.h %D%/server_state.h %D%/service.c %D%/service_impl.h %D%/state.c \
	%D%/unix_listen.c %D%/ws_listen.c

SERVER_LIBS = %D%/libserver.a src/operator/liboperator.a src/session/libsession.a src/ws/libws.a src/monitor/libmonitor.a src/http/libhttp.a \
	src/account/libaccount.a src/msgtrace/libmsgtrace.a \
	src/auth/libauth.a src/router/librouter.a src/net/libnet.a src/config/libconfig.a src/jwt/libjwt.a src/cron/libcron.a \
	src/ttl/libttl.a src/proto/libproto.a src/subject/libsubject.a src/loop/libloop.a \
	$(CODEC_LIBS) -lm \
	$(UV_LIBS) $(OPENSSL_LIBS) $(SODIUM_LIBS) $(CRYPT_LIBS) $(WSLAY_LIBS) $(ZLIB_LIBS) \
	$(JANSSON_LIBS)

UNIT_TESTS += test/unit/server/modules
test_unit_server_modules_SOURCES = test/unit/server/test_modules.c
test_unit_server_modules_LDADD = $(SERVER_LIBS) $(UNITY_LIBS)
test_unit_server_modules_CPPFLAGS = $(TEST_CPPFLAGS)

UNIT_TESTS += test/unit/server/service
test_unit_server_service_SOURCES = test/unit/server/test_service.c
test_unit_server_service_LDADD = $(SERVER_LIBS) $(UNITY_LIBS)
test_unit_server_service_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/server/login_service
test_unit_server_login_service_SOURCES = test/unit/server/test_login_service.c
test_unit_server_login_service_LDADD = $(SERVER_LIBS) $(UNITY_LIBS)
test_unit_server_login_service_CPPFLAGS = $(TEST_CPPFLAGS)
