# ttl: a generic timer wheel, the meaning of Nats-TTL and of schedules.  Knows neither what time it is
# nor what expires.
noinst_LIBRARIES += %D%/libttl.a
%C%_libttl_a_SOURCES = \
	%D%/wheel.c %D%/scan.c %D%/due.c %D%/pool.c %D%/tidy.c %D%/check.c %D%/wheel_int.h \
	%D%/ttl.c %D%/cron.c %D%/cron_at.c %D%/cron_next.c %D%/cron_int.h \
	%D%/zone.c %D%/zone_rule.c %D%/zone.h %D%/civil.h \
	include/mayfly/wheel.h include/mayfly/ttl.h include/mayfly/cron.h
%C%_libttl_a_CPPFLAGS = $(AM_CPPFLAGS)

TTL_LIBS = %D%/libttl.a $(BASE_LIBS)

UNIT_TESTS += test/unit/wheel test/unit/wheel_model test/unit/wheel_nomem
test_unit_wheel_SOURCES = test/unit/test_wheel.c
test_unit_wheel_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_wheel_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/wheel_scan
test_unit_wheel_scan_SOURCES = test/unit/test_wheel_scan.c
test_unit_wheel_scan_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_wheel_scan_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_model_SOURCES = test/unit/test_wheel_model.c
test_unit_wheel_model_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_wheel_model_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_nomem_SOURCES = test/unit/test_wheel_nomem.c test/support/no_memory.h
test_unit_wheel_nomem_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_wheel_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_wheel_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap

UNIT_TESTS += test/unit/ttl test/unit/cron test/unit/zone
test_unit_ttl_SOURCES = test/unit/test_ttl.c test/support/guard.c test/support/guard.h
test_unit_ttl_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_ttl_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cron_SOURCES = test/unit/test_cron.c test/support/guard.c test/support/guard.h \
	test/support/zone_maker.c test/support/zone_maker.h test/support/no_memory.h
test_unit_cron_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_cron_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cron_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_unit_zone_SOURCES = test/unit/test_zone.c test/support/guard.c test/support/guard.h \
	test/support/zone_maker.c test/support/zone_maker.h test/support/no_memory.h
test_unit_zone_LDADD = $(TTL_LIBS) $(UNITY_LIBS)
test_unit_zone_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_zone_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
