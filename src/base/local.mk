# base: slices, errors, buffers, JSON out, clocks, log.  Knows nothing of ours.
noinst_LIBRARIES += %D%/libbase.a
%C%_libbase_a_SOURCES = \
	%D%/error.c %D%/slice.c %D%/buf.c %D%/lend.c %D%/utf8.c include/mayfly/utf8.h %D%/float_text.c %D%/float_text.h \
	%D%/jsonw.c %D%/clock.c %D%/clock_text.c %D%/clock_parse.c %D%/rand.c %D%/hash.c \
	%D%/table.c %D%/msort.c %D%/steady.c %D%/checksum.c %D%/arena.c %D%/json.c %D%/json_scan.c %D%/json_scan.h %D%/json_time.c \
	%D%/json_text.c %D%/json_map.c %D%/json_plain.c %D%/json_read.h \
	%D%/s2.c %D%/s2_frame.c %D%/sha256.c include/mayfly/sha256.h %D%/highway.c include/mayfly/highway.h \
	%D%/log.c %D%/log_file.c %D%/log_syslog.c %D%/log_sink.h \
	include/mayfly/base.h include/mayfly/list.h include/mayfly/le.h include/mayfly/buf.h include/mayfly/lend.h include/mayfly/jsonw.h \
	include/mayfly/clock.h include/mayfly/rand.h include/mayfly/hash.h include/mayfly/log.h \
	include/mayfly/msort.h include/mayfly/table.h include/mayfly/steady.h include/mayfly/checksum.h include/mayfly/arena.h \
	include/mayfly/json.h include/mayfly/s2.h
%C%_libbase_a_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)

BASE_LIBS = %D%/libbase.a

UNIT_TESTS += test/unit/base test/unit/list test/unit/buf test/unit/lend test/unit/jsonw test/unit/clock \
	test/unit/rand test/unit/table test/unit/steady test/unit/log test/unit/log_nomem \
	test/unit/log_syslog
test_unit_base_SOURCES = test/unit/test_base.c
test_unit_base_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_base_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_list_SOURCES = test/unit/test_list.c
test_unit_list_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_list_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_buf_SOURCES = test/unit/test_buf.c
test_unit_buf_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_buf_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_lend_SOURCES = test/unit/test_lend.c
test_unit_lend_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_lend_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_jsonw_SOURCES = test/unit/test_jsonw.c
test_unit_jsonw_LDADD = $(BASE_LIBS) $(UNITY_LIBS) -lm
test_unit_jsonw_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_clock_SOURCES = test/unit/test_clock.c
test_unit_clock_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_clock_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_rand_SOURCES = test/unit/test_rand.c
test_unit_rand_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_rand_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_steady_SOURCES = test/unit/test_steady.c
test_unit_steady_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_steady_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_table_SOURCES = test/unit/test_table.c
test_unit_table_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_table_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_log_SOURCES = test/unit/test_log.c
test_unit_log_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_log_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_log_nomem_SOURCES = test/unit/test_log_nomem.c test/support/no_memory.h
test_unit_log_nomem_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_log_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_log_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_unit_log_syslog_SOURCES = test/unit/test_log_syslog.c
test_unit_log_syslog_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_log_syslog_CPPFLAGS = $(TEST_CPPFLAGS)

UNIT_TESTS += test/unit/json
test_unit_json_SOURCES = test/unit/test_json.c test/unit/json_cases.h test/unit/json_time_cases.h \
	test/support/guard.c test/support/guard.h test/support/no_memory.h
test_unit_json_LDADD = $(BASE_LIBS) $(UNITY_LIBS) -lm
test_unit_json_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_json_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += test/unit/s2
test_unit_s2_SOURCES = test/unit/test_s2.c test/support/guard.c test/support/guard.h
test_unit_s2_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_s2_CPPFLAGS = $(TEST_CPPFLAGS)

UNIT_TESTS += test/unit/highway
test_unit_highway_SOURCES = test/unit/test_highway.c
test_unit_highway_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_highway_CPPFLAGS = $(TEST_CPPFLAGS)

UNIT_TESTS += test/unit/sha256
test_unit_sha256_SOURCES = test/unit/test_sha256.c
test_unit_sha256_LDADD = $(BASE_LIBS) $(UNITY_LIBS)
test_unit_sha256_CPPFLAGS = $(TEST_CPPFLAGS)
