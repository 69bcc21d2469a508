# ttl: how long a message lives: values of Nats-TTL, and the policy for writers who do not say.  Pure
# functions.
noinst_LIBRARIES += %D%/libttl.a
%C%_libttl_a_SOURCES = \
	%D%/policy.h %D%/policy_compile.c %D%/policy_expr.c %D%/policy_facts.c %D%/policy_impl.h \
	%D%/policy_json_find.c %D%/policy_json_find_impl.h %D%/policy_keys.c %D%/policy_keys.h \
	%D%/policy_keys_impl.h %D%/policy_levels.c %D%/policy_link.c %D%/policy_merge.c \
	%D%/policy_patterns.c %D%/policy_resolve.c %D%/policy_rules.c %D%/policy_rules_impl.h \
	%D%/policy_subjects.c %D%/policy_subjects_impl.h %D%/ttl.c %D%/ttl.h
%C%_libttl_a_CPPFLAGS = $(AM_CPPFLAGS)

TTL_LIBS = %D%/libttl.a src/subject/libsubject.a src/proto/libproto.a $(CODEC_LIBS) -lm

UNIT_TESTS += test/unit/ttl/ttl
test_unit_ttl_ttl_SOURCES = test/unit/ttl/test_ttl.c test/support/guard.c test/support/guard.h
test_unit_ttl_ttl_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_ttl_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/ttl/policy test/unit/ttl/policy_keys test/unit/ttl/policy_errors test/unit/ttl/policy_merge test/unit/ttl/policy_bounds test/unit/ttl/policy_rules test/unit/ttl/policy_expr test/unit/ttl/policy_json test/unit/ttl/policy_random
test_unit_ttl_policy_SOURCES = test/unit/ttl/test_policy.c test/support/policy_world.h
test_unit_ttl_policy_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_keys_SOURCES = test/unit/ttl/test_policy_keys.c
test_unit_ttl_policy_keys_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_keys_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_errors_SOURCES = test/unit/ttl/test_policy_errors.c test/support/policy_world.h
test_unit_ttl_policy_errors_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_errors_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_merge_SOURCES = test/unit/ttl/test_policy_merge.c test/support/policy_world.h
test_unit_ttl_policy_merge_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_merge_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_bounds_SOURCES = test/unit/ttl/test_policy_bounds.c test/support/policy_world.h
test_unit_ttl_policy_bounds_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_bounds_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_expr_SOURCES = test/unit/ttl/test_policy_expr.c test/support/policy_world.h
test_unit_ttl_policy_expr_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_expr_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_rules_SOURCES = test/unit/ttl/test_policy_rules.c test/support/policy_world.h
test_unit_ttl_policy_rules_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_rules_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_json_SOURCES = test/unit/ttl/test_policy_json.c test/support/guard.c test/support/guard.h
test_unit_ttl_policy_json_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_json_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_random_SOURCES = test/unit/ttl/test_policy_random.c test/support/policy_world.h \
	test/support/no_memory.h test/support/pick.h
test_unit_ttl_policy_random_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_policy_random_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_ttl_policy_random_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC) \
	-Wl,--wrap=subject_is_subset,--wrap=pattern_tree_join
