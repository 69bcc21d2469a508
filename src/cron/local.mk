# cron: when a schedule fires next; time zones.  Pure functions.
noinst_LIBRARIES += %D%/libcron.a
%C%_libcron_a_SOURCES = \
	%D%/cron.c %D%/cron.h %D%/cron_at.c %D%/cron_impl.h %D%/cron_next.c %D%/zone.c \
	%D%/zone_impl.h %D%/zone_rule.c
%C%_libcron_a_CPPFLAGS = $(AM_CPPFLAGS)

CRON_LIBS = %D%/libcron.a $(BASE_LIBS)

UNIT_TESTS += test/unit/cron/cron test/unit/cron/zone
test_unit_cron_cron_SOURCES = test/unit/cron/test_cron.c test/support/guard.c test/support/guard.h \
	test/support/zone_maker.c test/support/zone_maker.h test/support/no_memory.h
test_unit_cron_cron_LDADD = $(CRON_LIBS) $(UNITY_LIBS)
test_unit_cron_cron_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cron_cron_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_unit_cron_zone_SOURCES = test/unit/cron/test_zone.c test/support/guard.c test/support/guard.h \
	test/support/zone_maker.c test/support/zone_maker.h test/support/no_memory.h
test_unit_cron_zone_LDADD = $(CRON_LIBS) $(UNITY_LIBS)
test_unit_cron_zone_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cron_zone_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
