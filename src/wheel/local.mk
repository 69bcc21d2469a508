# wheel: a timer wheel over numbers.  Knows neither the time nor what expires.
noinst_LIBRARIES += %D%/libwheel.a
%C%_libwheel_a_SOURCES = \
	%D%/wheel.c %D%/wheel.h %D%/wheel_cells.c %D%/wheel_check.c %D%/wheel_due.c %D%/wheel_impl.h \
	%D%/wheel_pool.c %D%/wheel_scan.c %D%/wheel_tidy.c
%C%_libwheel_a_CPPFLAGS = $(AM_CPPFLAGS)

WHEEL_LIBS = %D%/libwheel.a $(BASE_LIBS)

UNIT_TESTS += test/unit/wheel/wheel test/unit/wheel/wheel_model test/unit/wheel/wheel_nomem
test_unit_wheel_wheel_SOURCES = test/unit/wheel/test_wheel.c test/support/wheel_pop.h
test_unit_wheel_wheel_LDADD = $(WHEEL_LIBS) $(UNITY_LIBS)
test_unit_wheel_wheel_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/wheel/wheel_scan
test_unit_wheel_wheel_scan_SOURCES = test/unit/wheel/test_wheel_scan.c test/support/wheel_pop.h
test_unit_wheel_wheel_scan_LDADD = $(WHEEL_LIBS) $(UNITY_LIBS)
test_unit_wheel_wheel_scan_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_wheel_model_SOURCES = test/unit/wheel/test_wheel_model.c test/support/wheel_pop.h
test_unit_wheel_wheel_model_LDADD = $(WHEEL_LIBS) $(UNITY_LIBS)
test_unit_wheel_wheel_model_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_wheel_nomem_SOURCES = test/unit/wheel/test_wheel_nomem.c test/support/wheel_pop.h test/support/no_memory.h
test_unit_wheel_wheel_nomem_LDADD = $(WHEEL_LIBS) $(UNITY_LIBS)
test_unit_wheel_wheel_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_wheel_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap
