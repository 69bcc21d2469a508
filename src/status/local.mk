# status: pages, metrics, services and events of the system account.  Above the server and JetStream.
noinst_LIBRARIES += %D%/libstatus.a
%C%_libstatus_a_SOURCES = \
	%D%/pages.c %D%/pages_account.c %D%/pages_connz.c %D%/pages_exports.c %D%/pages_health.c %D%/pages_impl.h \
	%D%/pages_metrics.c %D%/pages_process.c %D%/pages_root.c %D%/pages_subsz.c %D%/pages_varz.c \
	%D%/request_info.c %D%/status.c %D%/status.h %D%/status_impl.h \
	%D%/sys.c %D%/sys_account.c %D%/sys_event.c %D%/sys_impl.h %D%/sys_options.c %D%/sys_page.c %D%/sys_request.c
%C%_libstatus_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

STATUS_LIBS = %D%/libstatus.a $(API_LIBS) $(SERVER_LIBS)

UNIT_TESTS += test/unit/status/pages test/unit/status/sys
test_unit_status_pages_SOURCES = test/unit/status/test_pages.c
test_unit_status_pages_LDADD = $(STATUS_LIBS) $(UNITY_LIBS)
test_unit_status_pages_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
test_unit_status_pages_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=api_health -Wl,--wrap=api_write_varz \
	-Wl,--wrap=api_metrics -Wl,--wrap=api_enabled
test_unit_status_sys_SOURCES = test/unit/status/test_sys.c
test_unit_status_sys_LDADD = $(STATUS_LIBS) $(UNITY_LIBS)
test_unit_status_sys_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
