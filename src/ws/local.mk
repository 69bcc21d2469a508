# ws: WebSocket as a byte pipe on a net connection.
noinst_LIBRARIES += %D%/libws.a
%C%_libws_a_SOURCES = \
	%D%/ws.c %D%/upgrade.c %D%/origin.c %D%/cookie.c %D%/pipe.c %D%/pipe_read.c %D%/pool.c \
	%D%/unmask.c %D%/unmask_impl.h %D%/ws_dial.c %D%/ws_dial.h \
	%D%/upgrade_impl.h %D%/pipe_impl.h %D%/pool_impl.h \
	%D%/ws.h
%C%_libws_a_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS) $(OPENSSL_CFLAGS)

WS_LIBS = %D%/libws.a src/http/libhttp.a $(WSLAY_LIBS) $(ZLIB_LIBS) $(NET_LIBS)
WS_ECHO_SOURCES = test/support/ws_echo.c test/support/ws_echo.h \
	test/support/ws_client.c test/support/ws_client.h \
	test/support/loop_thread.c test/support/loop_thread.h \
	test/support/tcp_client.c test/support/tcp_client.h

UNIT_TESTS += test/unit/ws/ws test/unit/ws/ws_deflate test/unit/ws/ws_upgrade test/unit/ws/ws_dial
test_unit_ws_ws_SOURCES = test/unit/ws/test_ws.c $(WS_ECHO_SOURCES) \
	test/support/test_certs.c test/support/test_certs.h \
	test/support/tls_client.c test/support/tls_client.h
test_unit_ws_ws_LDADD = $(WS_LIBS) $(UNITY_LIBS)
test_unit_ws_ws_CPPFLAGS = $(TEST_CPPFLAGS) $(ZLIB_CFLAGS) $(OPENSSL_CFLAGS)

test_unit_ws_ws_deflate_SOURCES = test/unit/ws/test_ws_deflate.c $(WS_ECHO_SOURCES)
test_unit_ws_ws_deflate_LDADD = $(WS_LIBS) $(UNITY_LIBS)
test_unit_ws_ws_deflate_CPPFLAGS = $(TEST_CPPFLAGS) $(ZLIB_CFLAGS)

test_unit_ws_ws_upgrade_SOURCES = test/unit/ws/test_ws_upgrade.c
test_unit_ws_ws_upgrade_LDADD = $(WS_LIBS) $(UNITY_LIBS)
test_unit_ws_ws_upgrade_CPPFLAGS = $(TEST_CPPFLAGS)

test_unit_ws_ws_dial_SOURCES = test/unit/ws/test_ws_dial.c test/support/test_certs.c test/support/test_certs.h
test_unit_ws_ws_dial_LDADD = $(WS_LIBS) $(UNITY_LIBS) -lpthread
test_unit_ws_ws_dial_CPPFLAGS = $(TEST_CPPFLAGS) $(OPENSSL_CFLAGS)
