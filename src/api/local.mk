# api: the JSON API on $JS.API.> and $MAYFLY.TTL.>: dispatch, calls, administration, documents.
noinst_LIBRARIES += %D%/libapi.a
%C%_libapi_a_SOURCES = \
	%D%/api.c %D%/api.h %D%/api_impl.h %D%/dispatch.c %D%/call.c %D%/call.h %D%/queue.c %D%/queue.h %D%/settle.c \
	%D%/settle.h %D%/audit.c %D%/account_purge.c %D%/account_purge_impl.h %D%/stream_admin.c %D%/stream_limits.c \
	%D%/limits.h %D%/stream_list.c %D%/stream_info.c %D%/subject_page.c %D%/subject_page_impl.h %D%/msg_api.c \
	%D%/config_json.c %D%/info_json.c %D%/stream_json.h %D%/consumer_admin.c %D%/consumer_manage.c \
	%D%/consumer_api_impl.h %D%/consumer_json.c %D%/consumer_json.h \
	%D%/ttl_api.c %D%/ttl_api_impl.h %D%/ttl_change.c %D%/ttl_policy.c %D%/ttl_reload.c %D%/ttl_backfill.c \
	%D%/ttl_list.c %D%/ttl_stats.c %D%/ttl_numbers.c %D%/ttl_numbers.h %D%/ttl_look.c %D%/ttl_look_impl.h \
	%D%/ttl_forecast.c %D%/ttl_account.c %D%/ttl_what_if.c
%C%_libapi_a_CPPFLAGS = $(AM_CPPFLAGS)

API_LIBS = %D%/libapi.a $(JETSTREAM_LIBS)

# config_json: of the api only this one file, so the rest need not be there.
UNIT_TESTS += test/unit/api/config_json
test_unit_api_config_json_SOURCES = test/unit/api/test_config_json.c test/unit/api/config_json_cases.h \
	test/unit/api/config_json_pairs.h test/support/json_cases.h %D%/config_json.c
test_unit_api_config_json_LDADD = $(STREAM_LIBS) $(UNITY_LIBS) -lm
test_unit_api_config_json_CPPFLAGS = $(TEST_CPPFLAGS)

# api: the whole of it, on a catalog in a temporary folder.
UNIT_TESTS += test/unit/api/api
test_unit_api_api_SOURCES = test/unit/api/test_api.c test/support/client_publish.h
test_unit_api_api_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_api_api_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
# api_slices, api_queue, api_ttl: two accounts; requests that read much, in slices, and what waits.
UNIT_TESTS += test/unit/api/api_slices test/unit/api/api_queue test/unit/api/api_ttl
test_unit_api_api_ttl_SOURCES = test/unit/api/test_api_ttl.c test/support/api_tenants.h
test_unit_api_api_ttl_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_api_api_ttl_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_api_api_queue_SOURCES = test/unit/api/test_api_queue.c test/support/api_tenants.h
test_unit_api_api_queue_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_api_api_queue_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_api_api_slices_SOURCES = test/unit/api/test_api_slices.c test/support/api_tenants.h
test_unit_api_api_slices_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_api_api_slices_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
# api_nomem: requests, publishes and a restore while memory runs out; so it links backups, too.
UNIT_TESTS += test/unit/api/api_nomem
test_unit_api_api_nomem_SOURCES = test/unit/api/test_api_nomem.c test/support/no_memory.h
test_unit_api_api_nomem_LDADD = $(BACKUP_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_api_api_nomem_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src \
	-DASSETS='"$(abs_top_srcdir)/test/assets"'
test_unit_api_api_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc

# consumer_json: of the api only the files about configurations, of consumers only their rules.
UNIT_TESTS += test/unit/api/consumer_json
test_unit_api_consumer_json_SOURCES = test/unit/api/test_consumer_json.c test/unit/api/consumer_config_rows.h \
	test/unit/api/consumer_config_pairs.h test/unit/api/consumer_json_cases.h test/support/json_cases.h \
	test/support/config_rows.h %D%/consumer_json.c %D%/config_json.c src/consumer/config.c \
	src/consumer/config_check.c src/consumer/config_update.c
test_unit_api_consumer_json_LDADD = $(STREAM_LIBS) $(UNITY_LIBS) -lm
test_unit_api_consumer_json_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
