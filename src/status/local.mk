# status: the pages, metrics and health of JetStream.
noinst_LIBRARIES += %D%/libstatus.a
%C%_libstatus_a_SOURCES = \
	%D%/jsz.c %D%/js_walk.c %D%/js_pages.c %D%/js_status.h %D%/js_metrics.c %D%/js_pages_impl.h %D%/consumer_metrics.c \
	%D%/consumer_metrics_impl.h %D%/ttl_metrics.c %D%/ttl_page.c %D%/ttl_outlook.c
%C%_libstatus_a_CPPFLAGS = $(AM_CPPFLAGS)

STATUS_LIBS = %D%/libstatus.a

# js_pages: /jsz, health and metrics; every allocation fails once.
UNIT_TESTS += test/unit/status/js_pages
test_unit_status_js_pages_SOURCES = test/unit/status/test_js_pages.c test/support/no_memory.h
test_unit_status_js_pages_LDADD = $(STATUS_LIBS) $(API_LIBS) $(ACCOUNT_LIBS) $(MONITOR_LIBS) $(UNITY_LIBS)
test_unit_status_js_pages_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_status_js_pages_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc

# js_documents: documents made in slices while other accounts are served.
UNIT_TESTS += test/unit/status/js_documents
test_unit_status_js_documents_SOURCES = test/unit/status/test_js_documents.c test/support/api_tenants.h
test_unit_status_js_documents_LDADD = $(STATUS_LIBS) $(API_LIBS) $(ACCOUNT_LIBS) $(MONITOR_LIBS) $(UNITY_LIBS)
test_unit_status_js_documents_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
