# router: who wants which subject; queue groups.
noinst_LIBRARIES += %D%/librouter.a
%C%_librouter_a_SOURCES = \
	%D%/router.c %D%/trie.c %D%/slots.c %D%/match.c %D%/cache.c %D%/check.c %D%/stats.c \
	%D%/router_impl.h %D%/trie_impl.h %D%/cache_impl.h \
	%D%/router.h
%C%_librouter_a_CPPFLAGS = $(AM_CPPFLAGS)

ROUTER_LIBS = %D%/librouter.a src/subject/libsubject.a $(CODEC_LIBS)

UNIT_TESTS += test/unit/router/router test/unit/router/router_limits test/unit/router/router_model
test_unit_router_router_SOURCES = test/unit/router/test_router.c test/support/router_receiver.h
test_unit_router_router_LDADD = $(ROUTER_LIBS) $(UNITY_LIBS)
test_unit_router_router_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_router_router_limits_SOURCES = test/unit/router/test_router_limits.c test/support/no_memory.h \
	test/support/router_receiver.h
test_unit_router_router_limits_LDADD = $(ROUTER_LIBS) $(UNITY_LIBS)
test_unit_router_router_limits_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_router_router_limits_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc
test_unit_router_router_model_SOURCES = test/unit/router/test_router_model.c
test_unit_router_router_model_LDADD = $(ROUTER_LIBS) $(UNITY_LIBS)
test_unit_router_router_model_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/router/router_damage test/unit/router/router_remote
test_unit_router_router_remote_SOURCES = test/unit/router/test_router_remote.c test/support/router_receiver.h
test_unit_router_router_remote_LDADD = $(ROUTER_LIBS) $(UNITY_LIBS)
test_unit_router_router_remote_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_router_router_damage_SOURCES = test/unit/router/test_router_damage.c test/support/router_receiver.h
test_unit_router_router_damage_LDADD = $(ROUTER_LIBS) $(UNITY_LIBS)
test_unit_router_router_damage_CPPFLAGS = $(TEST_CPPFLAGS)

# make bench/bench_router
EXTRA_PROGRAMS += bench/bench_router
bench_bench_router_SOURCES = bench/bench_router.c
bench_bench_router_LDADD = $(ROUTER_LIBS)
