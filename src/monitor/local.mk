# monitor: HTTP pages from registered renderers.
noinst_LIBRARIES += %D%/libmonitor.a
%C%_libmonitor_a_SOURCES = \
	%D%/monitor.c %D%/conn.c %D%/doc.c %D%/prom.c %D%/query.c %D%/reply.c %D%/monitor_impl.h \
	%D%/doc.h %D%/health.h %D%/monitor.h %D%/prom.h
%C%_libmonitor_a_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS)

MONITOR_LIBS = %D%/libmonitor.a src/http/libhttp.a $(ZLIB_LIBS) $(NET_LIBS)
PAGES_SOURCES = test/support/pages.c test/support/pages.h \
	test/support/loop_thread.c test/support/loop_thread.h \
	test/support/tcp_client.c test/support/tcp_client.h

UNIT_TESTS += test/unit/monitor/monitor test/unit/monitor/monitor_body
test_unit_monitor_monitor_SOURCES = test/unit/monitor/test_monitor.c $(PAGES_SOURCES)
test_unit_monitor_monitor_LDADD = $(MONITOR_LIBS) $(UNITY_LIBS)
test_unit_monitor_monitor_CPPFLAGS = $(TEST_CPPFLAGS)

test_unit_monitor_monitor_body_SOURCES = test/unit/monitor/test_monitor_body.c $(PAGES_SOURCES) \
	test/support/test_certs.c test/support/test_certs.h \
	test/support/tls_client.c test/support/tls_client.h
test_unit_monitor_monitor_body_LDADD = $(MONITOR_LIBS) $(UNITY_LIBS)
test_unit_monitor_monitor_body_CPPFLAGS = $(TEST_CPPFLAGS) $(OPENSSL_CFLAGS) $(ZLIB_CFLAGS)
