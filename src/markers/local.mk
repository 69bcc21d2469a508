# markers: decides about delete markers and writes them.  Pure functions.
noinst_LIBRARIES += %D%/libmarkers.a
%C%_libmarkers_a_SOURCES = %D%/marker.c %D%/marker.h
%C%_libmarkers_a_CPPFLAGS = $(AM_CPPFLAGS)

MARKERS_LIBS = %D%/libmarkers.a src/proto/libproto.a $(TTL_LIBS)

UNIT_TESTS += test/unit/markers/marker
test_unit_markers_marker_SOURCES = test/unit/markers/test_marker.c
test_unit_markers_marker_LDADD = $(MARKERS_LIBS) $(UNITY_LIBS)
test_unit_markers_marker_CPPFLAGS = $(TEST_CPPFLAGS)
