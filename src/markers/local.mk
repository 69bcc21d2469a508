# markers: decides about delete markers, dead letters and warnings, and writes them.  Pure functions.
noinst_LIBRARIES += %D%/libmarkers.a
%C%_libmarkers_a_SOURCES = %D%/marker.c %D%/marker.h %D%/dead_letter.c %D%/dead_letter.h %D%/warning.c %D%/warning.h
%C%_libmarkers_a_CPPFLAGS = $(AM_CPPFLAGS)

MARKERS_LIBS = %D%/libmarkers.a src/proto/libproto.a $(TTL_LIBS)

UNIT_TESTS += test/unit/markers/marker test/unit/markers/dead_letter test/unit/markers/warning
test_unit_markers_marker_SOURCES = test/unit/markers/test_marker.c
test_unit_markers_marker_LDADD = $(MARKERS_LIBS) $(UNITY_LIBS)
test_unit_markers_marker_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_markers_dead_letter_SOURCES = test/unit/markers/test_dead_letter.c
test_unit_markers_dead_letter_LDADD = $(MARKERS_LIBS) $(UNITY_LIBS)
test_unit_markers_dead_letter_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_markers_warning_SOURCES = test/unit/markers/test_warning.c
test_unit_markers_warning_LDADD = $(MARKERS_LIBS) $(UNITY_LIBS)
test_unit_markers_warning_CPPFLAGS = $(TEST_CPPFLAGS)
