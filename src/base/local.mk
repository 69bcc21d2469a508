# base: slices, errors, buffers, clocks, log.  Knows nothing of ours.
noinst_LIBRARIES += %D%/libbase.a
%C%_libbase_a_SOURCES = \
	%D%/error.c %D%/slice.c %D%/buf.c %D%/lend.c %D%/utf8.c %D%/utf8.h \
	%D%/clock.c %D%/clock_text.c %D%/clock_parse.c %D%/rand.c \
	%D%/table.c %D%/msort.c %D%/steady.c %D%/clock_steps.c %D%/arena.c \
	%D%/log.c %D%/log_file.c %D%/log_syslog.c %D%/log_sink_impl.h \
	%D%/base.h %D%/list.h %D%/le.h %D%/buf.h %D%/lend.h \
	%D%/clock.h %D%/rand.h %D%/log.h \
	%D%/msort.h %D%/table.h %D%/steady.h %D%/clock_steps.h %D%/arena.h %D%/array.c %D%/array.h \
	%D%/pool.h %D%/civil.h %D%/spell.c %D%/spell.h
%C%_libbase_a_CPPFLAGS = $(AM_CPPFLAGS)

BASE_LIBS = %D%/libbase.a

UNIT_TESTS += test/unit/base/base test/unit/base/civil test/unit/base/spell test/unit/base/array test/unit/base/pool test/unit/base/list test/unit/base/buf \
	test/unit/base/lend test/unit/base/clock test/unit/base/rand test/unit/base/table \
	test/unit/base/steady test/unit/base/clock_steps test/unit/base/log test/unit/base/logs test/unit/base/log_nomem test/unit/base/log_syslog
test_unit_base_civil_SOURCES = test/unit/base/test_civil.c
test_unit_base_civil_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_civil_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_spell_SOURCES = test/unit/base/test_spell.c
test_unit_base_spell_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_spell_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_array_SOURCES = test/unit/base/test_array.c
test_unit_base_array_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_array_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_pool_SOURCES = test/unit/base/test_pool.c
test_unit_base_pool_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_pool_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_base_SOURCES = test/unit/base/test_base.c
test_unit_base_base_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_base_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_list_SOURCES = test/unit/base/test_list.c
test_unit_base_list_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_list_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_buf_SOURCES = test/unit/base/test_buf.c
test_unit_base_buf_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_buf_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_lend_SOURCES = test/unit/base/test_lend.c
test_unit_base_lend_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_lend_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_clock_SOURCES = test/unit/base/test_clock.c
test_unit_base_clock_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_clock_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_rand_SOURCES = test/unit/base/test_rand.c
test_unit_base_rand_LDADD = src/codec/libcodec.a $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_rand_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_clock_steps_SOURCES = test/unit/base/test_clock_steps.c
test_unit_base_clock_steps_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_clock_steps_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_steady_SOURCES = test/unit/base/test_steady.c
test_unit_base_steady_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_steady_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_table_SOURCES = test/unit/base/test_table.c
test_unit_base_table_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_table_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_log_SOURCES = test/unit/base/test_log.c
test_unit_base_log_LDADD = src/codec/libcodec.a $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_log_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_logs_SOURCES = test/unit/base/test_logs.c
test_unit_base_logs_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_logs_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_log_nomem_SOURCES = test/unit/base/test_log_nomem.c test/support/no_memory.h
test_unit_base_log_nomem_LDADD = src/codec/libcodec.a $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_log_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_base_log_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_unit_base_log_syslog_SOURCES = test/unit/base/test_log_syslog.c
test_unit_base_log_syslog_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_log_syslog_CPPFLAGS = $(TEST_CPPFLAGS)




