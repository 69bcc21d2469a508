# account: subject spaces and exports and imports.
noinst_LIBRARIES += %D%/libaccount.a
%C%_libaccount_a_SOURCES = \
	%D%/account.c %D%/account_impl.h %D%/cycles.c %D%/declare.c %D%/sharing.c %D%/latency.c %D%/mapping.c \
	%D%/plan.c %D%/put.c %D%/reload.c %D%/reply.c %D%/service.c %D%/shadow.c %D%/text.c %D%/trace.c %D%/trace_impl.h \
	%D%/account.h %D%/account_trace.h
%C%_libaccount_a_CPPFLAGS = $(AM_CPPFLAGS)

ACCOUNT_LIBS = %D%/libaccount.a src/msgtrace/libmsgtrace.a src/proto/libproto.a src/router/librouter.a src/config/libconfig.a src/jwt/libjwt.a src/cron/libcron.a $(TTL_LIBS) $(CODEC_LIBS) $(SODIUM_LIBS)

UNIT_TESTS += test/unit/account/account test/unit/account/account_mapping test/unit/account/account_service test/unit/account/account_reload \
	test/unit/account/account_remote test/unit/account/account_put \
	test/unit/account/account_latency test/unit/account/account_model test/unit/account/account_nomem
ACCOUNT_WORLD = test/support/account_world.c test/support/account_world.h \
	test/support/client_publish.h
test_unit_account_account_SOURCES = test/unit/account/test_account.c $(ACCOUNT_WORLD)
test_unit_account_account_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_account_account_mapping_SOURCES = test/unit/account/test_account_mapping.c $(ACCOUNT_WORLD)
test_unit_account_account_mapping_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_mapping_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_account_account_service_SOURCES = test/unit/account/test_account_service.c $(ACCOUNT_WORLD)
test_unit_account_account_service_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_service_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_account_account_reload_SOURCES = test/unit/account/test_account_reload.c $(ACCOUNT_WORLD)
test_unit_account_account_reload_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_reload_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_account_account_remote_SOURCES = test/unit/account/test_account_remote.c $(ACCOUNT_WORLD)
test_unit_account_account_remote_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_remote_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_account_account_put_SOURCES = test/unit/account/test_account_put.c $(ACCOUNT_WORLD)
test_unit_account_account_put_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_put_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_account_account_latency_SOURCES = test/unit/account/test_account_latency.c $(ACCOUNT_WORLD)
test_unit_account_account_latency_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_latency_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_account_account_model_SOURCES = test/unit/account/test_account_model.c $(ACCOUNT_WORLD)
test_unit_account_account_model_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_model_CPPFLAGS = $(TEST_CPPFLAGS)
# Memory runs out where the test says so: the allocator is wrapped by the linker.
test_unit_account_account_nomem_SOURCES = test/unit/account/test_account_nomem.c test/support/no_memory.h $(ACCOUNT_WORLD)
test_unit_account_account_nomem_LDADD = $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_account_account_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_account_account_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
