# callout: auth callouts: a service decides who may log in.
noinst_LIBRARIES += %D%/libcallout.a
%C%_libcallout_a_SOURCES = \
	%D%/admit.c %D%/answer.c %D%/answer.h %D%/ask.c %D%/callout.c %D%/callout.h %D%/callout_impl.h %D%/place.c
%C%_libcallout_a_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS)

CALLOUT_LIBS = %D%/libcallout.a $(OPERATOR_LIBS)

UNIT_TESTS += test/unit/callout/answer test/unit/callout/callout
test_unit_callout_answer_SOURCES = test/unit/callout/test_answer.c
test_unit_callout_answer_LDADD = $(CALLOUT_LIBS) $(UNITY_LIBS)
test_unit_callout_answer_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_callout_callout_SOURCES = test/unit/callout/test_callout.c
test_unit_callout_callout_LDADD = $(CALLOUT_LIBS) $(UNITY_LIBS)
test_unit_callout_callout_CPPFLAGS = $(TEST_CPPFLAGS)
