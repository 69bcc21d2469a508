# api: JetStream as clients see it: every JSON document on $JS.>, pub acks, advisories, pages about streams.
noinst_LIBRARIES += %D%/libapi.a
%C%_libapi_a_SOURCES = \
	%D%/api.c %D%/api_store.c %D%/api_store.h %D%/dispatch.c %D%/account_purge.c %D%/account_purge.h %D%/call.c %D%/config_json.c %D%/info_json.c %D%/stream_admin.c %D%/stream_list.c %D%/settle.c %D%/settle.h \
	%D%/stream_limits.c %D%/stream_info.c %D%/subject_page.c %D%/subject_page.h %D%/queue.c %D%/queue.h \
	%D%/msg_api.c %D%/direct.c %D%/direct_queue.c %D%/direct_batch.c %D%/direct_multi.c %D%/direct_batch.h %D%/direct.h %D%/snapshot.c %D%/restore.c \
	%D%/restore_store.c %D%/restore_consumers.c %D%/restore_tar.c %D%/restore_budget.c %D%/restore_read.c %D%/restore.h %D%/natsfile.c %D%/natsfile.h %D%/consumer_backup.c %D%/consumer_backup.h %D%/archive.c %D%/archive.h \
	%D%/ttl_api.c %D%/ttl_api.h %D%/ttl_change.c %D%/ttl_policy.c %D%/ttl_reload.c %D%/ttl_backfill.c %D%/ttl_list.c %D%/ttl_stats.c %D%/ttl_numbers.c %D%/ttl_numbers.h %D%/ttl_look.c %D%/ttl_look.h %D%/ttl_forecast.c %D%/ttl_account.c %D%/ttl_what_if.c \
	%D%/ingest.c %D%/advisory.c %D%/advisory.h %D%/jsz.c %D%/js_walk.c %D%/js_metrics.c %D%/js_pages.c %D%/consumer_metrics.c %D%/consumer_metrics.h %D%/ttl_event.c %D%/ttl_metrics.c %D%/ttl_page.c %D%/ttl_outlook.c \
	%D%/api_pages.h %D%/consumer_admin.c %D%/consumer_manage.c %D%/consumer_api.h %D%/consumer_json.c %D%/consumer_wire.c %D%/consumer_advisory.c \
	%D%/consumer_wire.h %D%/consumer_wait.c %D%/source_wire.c %D%/source_wire.h %D%/event.h \
	%D%/api_impl.h %D%/api.h
%C%_libapi_a_CPPFLAGS = $(AM_CPPFLAGS)

API_LIBS = %D%/libapi.a src/source/libsource.a $(CONSUMER_LIBS)

# config_json: of the api only this one file, so the rest need not be there.
UNIT_TESTS += test/unit/api/config_json
test_unit_api_config_json_SOURCES = test/unit/api/test_config_json.c test/unit/api/config_json_cases.h \
	test/unit/api/config_json_pairs.h test/support/json_cases.h %D%/config_json.c
test_unit_api_config_json_LDADD = $(STREAM_LIBS) $(UNITY_LIBS) -lm
test_unit_api_config_json_CPPFLAGS = $(TEST_CPPFLAGS)

# archive: pure, so the rest of the api need not be there.
UNIT_TESTS += test/unit/api/archive
test_unit_api_archive_SOURCES = test/unit/api/test_archive.c %D%/archive.c
test_unit_api_archive_LDADD = $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_api_archive_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src \
	-DASSETS='"$(abs_top_srcdir)/test/assets"'

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
UNIT_TESTS += test/unit/api/api_documents
test_unit_api_api_documents_SOURCES = test/unit/api/test_api_documents.c test/support/api_tenants.h
test_unit_api_api_documents_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(MONITOR_LIBS) $(UNITY_LIBS)
test_unit_api_api_documents_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
UNIT_TESTS += test/unit/api/api_nomem
test_unit_api_api_nomem_SOURCES = test/unit/api/test_api_nomem.c test/support/no_memory.h
test_unit_api_api_nomem_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_api_api_nomem_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src \
	-DASSETS='"$(abs_top_srcdir)/test/assets"'
test_unit_api_api_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc

# restore: what a hostile backup may cost.
UNIT_TESTS += test/unit/api/restore
test_unit_api_restore_SOURCES = test/unit/api/test_restore.c test/support/api_world.h test/support/must.c \
	test/support/must.h
test_unit_api_restore_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_api_restore_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src

# api_pages: /jsz, health and metrics; every allocation fails once.
UNIT_TESTS += test/unit/api/api_pages
test_unit_api_api_pages_SOURCES = test/unit/api/test_api_pages.c test/support/no_memory.h
test_unit_api_api_pages_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(MONITOR_LIBS) $(UNITY_LIBS)
test_unit_api_api_pages_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_api_api_pages_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc

# consumer_json: of the api only the files about configurations, of consumers only their rules.
UNIT_TESTS += test/unit/api/consumer_json
test_unit_api_consumer_json_SOURCES = test/unit/api/test_consumer_json.c test/unit/api/consumer_config_rows.h \
	test/unit/api/consumer_config_pairs.h test/unit/api/consumer_json_cases.h test/support/json_cases.h \
	test/support/config_rows.h %D%/consumer_json.c %D%/config_json.c src/consumer/config.c \
	src/consumer/config_check.c src/consumer/config_update.c
test_unit_api_consumer_json_LDADD = $(STREAM_LIBS) $(UNITY_LIBS) -lm
test_unit_api_consumer_json_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src

# consumer_wire: consumers and the account around them; every allocation of a wait fails once.
UNIT_TESTS += test/unit/api/consumer_wire
test_unit_api_consumer_wire_SOURCES = test/unit/api/test_consumer_wire.c test/support/no_memory.h
test_unit_api_consumer_wire_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_api_consumer_wire_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_api_consumer_wire_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
