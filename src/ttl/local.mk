# ttl: a generic timer wheel.  Knows neither what time it is nor what expires.
noinst_LIBRARIES += %D%/libttl.a
%C%_libttl_a_SOURCES = \
	%D%/wheel.c %D%/due.c %D%/pool.c %D%/tidy.c %D%/check.c %D%/wheel_int.h \
	include/mayfly/wheel.h
%C%_libttl_a_CPPFLAGS = $(AM_CPPFLAGS)

TTL_LIBS = %D%/libttl.a $(BASE_LIBS)

UNIT_TESTS += test/unit/wheel test/unit/wheel_model test/unit/wheel_nomem
test_unit_wheel_SOURCES = test/unit/test_wheel.c
test_unit_wheel_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_wheel_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_model_SOURCES = test/unit/test_wheel_model.c
test_unit_wheel_model_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_wheel_model_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_nomem_SOURCES = test/unit/test_wheel_nomem.c
test_unit_wheel_nomem_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_wheel_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap
