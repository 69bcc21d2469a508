# subject: subject grammar, wildcard match, transforms.
noinst_LIBRARIES += %D%/libsubject.a
%C%_libsubject_a_SOURCES = \
	%D%/subject.c %D%/pattern_tree.c %D%/pattern_join.c %D%/pattern_set.c %D%/pattern_impl.h %D%/transform.c %D%/transform_apply.c %D%/transform_parse.c \
	%D%/transform_impl.h \
	%D%/subject.h %D%/transform.h %D%/pattern_tree.h %D%/pattern_set.h
%C%_libsubject_a_CPPFLAGS = $(AM_CPPFLAGS)

SUBJECT_LIBS = %D%/libsubject.a $(CODEC_LIBS)

UNIT_TESTS += test/unit/subject/subject test/unit/subject/transform test/unit/subject/pattern_tree
test_unit_subject_subject_SOURCES = test/unit/subject/test_subject.c
test_unit_subject_subject_LDADD = $(SUBJECT_LIBS) $(UNITY_LIBS)
test_unit_subject_subject_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_subject_transform_SOURCES = test/unit/subject/test_transform.c
test_unit_subject_transform_LDADD = $(SUBJECT_LIBS) $(UNITY_LIBS)
test_unit_subject_transform_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_subject_transform_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=subject_next_token
test_unit_subject_pattern_tree_SOURCES = test/unit/subject/test_pattern_tree.c test/support/no_memory.h test/support/pick.h
test_unit_subject_pattern_tree_LDADD = $(SUBJECT_LIBS) $(UNITY_LIBS)
test_unit_subject_pattern_tree_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_subject_pattern_tree_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
