# status: pages, metrics, services and events of the system account.  Above the server and JetStream.
noinst_LIBRARIES += %D%/libstatus.a
%C%_libstatus_a_SOURCES = \
	%D%/pages.c %D%/pages_account.c %D%/connz_impl.h %D%/connz_sort.c %D%/pages_connz.c %D%/pages_exports.c %D%/pages_health.c %D%/pages_identity.c %D%/pages_impl.h \
	%D%/leaf_metrics.c %D%/pages_leaf.c %D%/pages_leaf_impl.h \
	%D%/pages_metrics.c %D%/pages_process.c %D%/pages_root.c %D%/pages_subsz.c %D%/pages_varz.c \
	%D%/assets_impl.h %D%/request_info.c %D%/status.c %D%/status.h %D%/status_impl.h \
	%D%/sys.c %D%/sys_account.c %D%/sys_event.c %D%/sys_impl.h %D%/sys_options.c %D%/sys_page.c %D%/sys_request.c %D%/trace_send.c \
	%D%/jsz.c %D%/jsz_lag.c %D%/js_walk.c %D%/js_pages.c %D%/js_status.h %D%/js_metrics.c %D%/js_pages_impl.h %D%/consumer_metrics.c \
	%D%/consumer_metrics_impl.h %D%/ttl_metrics.c %D%/ttl_page.c %D%/ttl_page_impl.h \
	%D%/ttl_forecast_sum.c %D%/ttl_outlook.c
%C%_libstatus_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

# The status page: files that become one C source.  The page itself comes first.
STATUS_ASSETS = %D%/assets/index.html %D%/assets/page.css %D%/assets/page.js %D%/assets/read.js \
	%D%/assets/text.js %D%/assets/dom.js %D%/assets/health.js %D%/assets/live.js %D%/assets/chart.js \
	%D%/assets/forecast.js %D%/assets/streams.js %D%/assets/detail.js %D%/assets/lists.js %D%/assets/icon.svg
EXTRA_DIST += $(STATUS_ASSETS) tools/embed.sh
nodist_%C%_libstatus_a_SOURCES = %D%/assets_data.c
CLEANFILES += %D%/assets_data.c
%D%/assets_data.c: $(STATUS_ASSETS) tools/embed.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	list= && for f in $(STATUS_ASSETS); do \
	  if test -f "$$f"; then list="$$list $$f"; else list="$$list $(srcdir)/$$f"; fi; \
	done && \
	sh $(srcdir)/tools/embed.sh $$list > $@.tmp && mv $@.tmp $@

STATUS_LIBS = %D%/libstatus.a src/leaf/libleaf.a $(API_LIBS) $(SERVER_LIBS)

# pages: JetStream's part of each page is replaced.
UNIT_TESTS += test/unit/status/pages test/unit/status/sys
test_unit_status_pages_SOURCES = test/unit/status/test_pages.c
test_unit_status_pages_LDADD = $(STATUS_LIBS) $(UNITY_LIBS)
test_unit_status_pages_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
test_unit_status_pages_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=js_status_health -Wl,--wrap=js_status_varz \
	-Wl,--wrap=js_status_metrics -Wl,--wrap=js_status_enabled
test_unit_status_sys_SOURCES = test/unit/status/test_sys.c
test_unit_status_sys_LDADD = $(STATUS_LIBS) $(UNITY_LIBS)
test_unit_status_sys_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)

# js_pages: /jsz, health and metrics; every allocation fails once.
UNIT_TESTS += test/unit/status/js_pages
test_unit_status_js_pages_SOURCES = test/unit/status/test_js_pages.c test/support/no_memory.h
test_unit_status_js_pages_LDADD = $(STATUS_LIBS) $(UNITY_LIBS)
test_unit_status_js_pages_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_status_js_pages_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc

# js_documents: documents made in slices while other accounts are served.
UNIT_TESTS += test/unit/status/js_documents
test_unit_status_js_documents_SOURCES = test/unit/status/test_js_documents.c test/support/api_tenants.h
test_unit_status_js_documents_LDADD = $(STATUS_LIBS) $(UNITY_LIBS)
test_unit_status_js_documents_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
