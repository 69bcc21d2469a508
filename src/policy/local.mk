# policy: who decides how long a message lives.  Pure functions.
noinst_LIBRARIES += %D%/libpolicy.a
%C%_libpolicy_a_SOURCES = \
	%D%/keys.c %D%/keys_impl.h %D%/patterns.c %D%/levels.c %D%/merge.c %D%/compile.c %D%/policy_impl.h \
	%D%/rules.c %D%/rules_impl.h %D%/expr.c %D%/facts.c %D%/link.c %D%/json_find.c %D%/json_find.h \
	%D%/resolve.c \
	include/mayfly/policy_keys.h include/mayfly/policy.h
%C%_libpolicy_a_CPPFLAGS = $(AM_CPPFLAGS)

POLICY_LIBS = %D%/libpolicy.a src/subject/libsubject.a src/proto/libproto.a $(TTL_LIBS) -lm

UNIT_TESTS += test/unit/policy
test_unit_policy_SOURCES = test/unit/test_policy.c test/support/policy_world.h
test_unit_policy_LDADD = $(POLICY_LIBS) $(UNITY_LIBS)
test_unit_policy_CPPFLAGS = $(TEST_CPPFLAGS)
