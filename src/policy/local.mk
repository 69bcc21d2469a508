# policy: who decides how long a message lives.  Pure functions.
noinst_LIBRARIES += %D%/libpolicy.a
%C%_libpolicy_a_SOURCES = \
	%D%/keys.c %D%/keys_impl.h %D%/patterns.c %D%/levels.c %D%/merge.c %D%/compile.c %D%/policy_impl.h \
	%D%/rules.c %D%/rules_impl.h %D%/expr.c %D%/facts.c %D%/link.c %D%/json_find.c %D%/json_find.h \
	%D%/subjects.c %D%/subjects.h %D%/resolve.c \
	include/mayfly/policy_keys.h include/mayfly/policy.h
%C%_libpolicy_a_CPPFLAGS = $(AM_CPPFLAGS)

POLICY_LIBS = %D%/libpolicy.a src/subject/libsubject.a src/proto/libproto.a $(TTL_LIBS) -lm

UNIT_TESTS += test/unit/policy test/unit/policy_keys test/unit/policy_errors test/unit/policy_merge \
	test/unit/policy_bounds test/unit/policy_rules test/unit/policy_expr test/unit/policy_json test/unit/policy_random
test_unit_policy_SOURCES = test/unit/test_policy.c test/support/policy_world.h
test_unit_policy_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_policy_keys_SOURCES = test/unit/test_policy_keys.c
test_unit_policy_keys_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_keys_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_policy_errors_SOURCES = test/unit/test_policy_errors.c test/support/policy_world.h
test_unit_policy_errors_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_errors_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_policy_merge_SOURCES = test/unit/test_policy_merge.c test/support/policy_world.h
test_unit_policy_merge_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_merge_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_policy_bounds_SOURCES = test/unit/test_policy_bounds.c test/support/policy_world.h
test_unit_policy_bounds_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_bounds_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_policy_expr_SOURCES = test/unit/test_policy_expr.c test/support/policy_world.h
test_unit_policy_expr_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_expr_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_policy_rules_SOURCES = test/unit/test_policy_rules.c test/support/policy_world.h
test_unit_policy_rules_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_rules_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_policy_json_SOURCES = test/unit/test_policy_json.c test/support/guard.c test/support/guard.h
test_unit_policy_json_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_json_CPPFLAGS = $(TEST_CPPFLAGS)
# Random policies and messages; allocations that fail, and none at all while a message is resolved.
test_unit_policy_random_SOURCES = test/unit/test_policy_random.c test/support/policy_world.h \
	test/support/no_memory.h test/support/pick.h
test_unit_policy_random_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_random_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_policy_random_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC) \
	-Wl,--wrap=subject_is_subset,--wrap=pattern_tree_join
