# source: streams that follow streams: mirrors and sources.
noinst_LIBRARIES += %D%/libsource.a
%C%_libsource_a_SOURCES = \
	%D%/sources.c %D%/follower.c %D%/receive.c %D%/resume.c %D%/track.c %D%/track_impl.h %D%/upstream.c %D%/upstream_read.c \
	%D%/upstream_impl.h %D%/source_impl.h %D%/source.h
%C%_libsource_a_CPPFLAGS = $(AM_CPPFLAGS)

SOURCE_LIBS = %D%/libsource.a $(STREAM_LIBS) $(ACCOUNT_LIBS) $(SODIUM_LIBS)

# The pure parts; then a stream that follows a made-up origin, and the same while memory runs out.
UNIT_TESTS += test/unit/source/source test/unit/source/follower test/unit/source/source_nomem
test_unit_source_source_SOURCES = test/unit/source/test_source.c
test_unit_source_source_LDADD = $(SOURCE_LIBS) $(UNITY_LIBS)
test_unit_source_source_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_source_follower_SOURCES = test/unit/source/test_follower.c test/support/upstream_world.h $(STREAM_WORLD)
test_unit_source_follower_LDADD = $(SOURCE_LIBS) $(UNITY_LIBS)
test_unit_source_follower_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_source_source_nomem_SOURCES = test/unit/source/test_source_nomem.c test/support/upstream_world.h \
	test/support/no_memory.h $(STREAM_WORLD)
test_unit_source_source_nomem_LDADD = $(SOURCE_LIBS) $(UNITY_LIBS)
test_unit_source_source_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_source_source_nomem_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
UNIT_TESTS += test/unit/source/source_faults
test_unit_source_source_faults_SOURCES = test/unit/source/test_source_faults.c test/support/upstream_world.h $(STREAM_WORLD) $(TEST_IO)
test_unit_source_source_faults_LDADD = $(SOURCE_LIBS) $(UNITY_LIBS)
test_unit_source_source_faults_CPPFLAGS = $(TEST_CPPFLAGS)
