# Fault tests: the store under power cuts, damage, failing calls, and against a model.  `make check`
# runs each at its default size; sizes and seeds are arguments (the head of each file says which).
TEST_STORE = test/support/must.c test/support/must.h test/support/pick.h test/support/secret.h \
	test/support/store_model.c test/support/store_model.h \
	test/support/store_drive.c test/support/store_drive.h \
	test/support/store_script.c test/support/store_script.h \
	test/support/store_compare.c test/support/store_compare.h $(TEST_IO)
# The same ids and hash tables in every run: a failure is repeated by its seed.
FIXED_RAND = test/support/fixed_rand.c
WRAP_RAND = -Wl,--wrap=rand_bytes
FAULT_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
FAULT_TESTS = %D%/crash %D%/shared %D%/shared_nth %D%/stream %D%/flip %D%/repair %D%/twin %D%/nth %D%/model %D%/kill

check_PROGRAMS += $(FAULT_TESTS)
TESTS += $(FAULT_TESTS) %D%/encrypted.sh
EXTRA_DIST += %D%/encrypted.sh
%C%_crash_SOURCES = $(FIXED_RAND) %D%/crash.c %D%/disk.c %D%/disk.h $(TEST_STORE)
%C%_crash_LDADD = src/cli/libcli.a $(STORE_LIBS) $(JANSSON_LIBS)
%C%_crash_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_crash_LDFLAGS = $(AM_LDFLAGS) $(WRAP_RAND)
SHARED_SET = test/support/shared_set.c test/support/shared_set.h test/support/view_io.c test/support/view_io.h
%C%_shared_SOURCES = $(FIXED_RAND) %D%/shared.c %D%/shared_check.h %D%/disk.c %D%/disk.h $(SHARED_SET) $(TEST_STORE)
%C%_shared_LDADD = src/cli/libcli.a $(STORE_LIBS) $(JANSSON_LIBS)
%C%_shared_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_shared_LDFLAGS = $(AM_LDFLAGS) $(WRAP_RAND)
%C%_shared_nth_SOURCES = $(FIXED_RAND) %D%/shared_nth.c test/support/no_memory.h $(SHARED_SET) $(TEST_STORE)
%C%_shared_nth_LDADD = $(STORE_LIBS)
%C%_shared_nth_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_shared_nth_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC) $(WRAP_RAND)
%C%_stream_SOURCES = $(FIXED_RAND) %D%/stream.c %D%/stream_lives.c %D%/stream_lives.h test/support/pick.h $(STREAM_WORLD) $(TEST_IO)
%C%_stream_LDADD = $(STREAM_LIBS)
%C%_stream_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_stream_LDFLAGS = $(AM_LDFLAGS) $(WRAP_RAND)
VICTIM = %D%/victim.c %D%/victim.h %D%/excuse.c %D%/excuse.h %D%/disk.c %D%/disk.h
%C%_flip_SOURCES = $(FIXED_RAND) %D%/flip.c $(VICTIM) $(TEST_STORE)
%C%_flip_LDADD = src/cli/libcli.a $(STORE_LIBS) $(JANSSON_LIBS)
%C%_flip_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_flip_LDFLAGS = $(AM_LDFLAGS) $(WRAP_RAND)
%C%_repair_SOURCES = $(FIXED_RAND) %D%/repair.c $(VICTIM) $(TEST_STORE)
%C%_repair_LDADD = src/cli/libcli.a $(STORE_LIBS) $(JANSSON_LIBS)
%C%_repair_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_repair_LDFLAGS = $(AM_LDFLAGS) $(WRAP_RAND)
%C%_twin_SOURCES = $(FIXED_RAND) %D%/twin.c %D%/disk.c %D%/disk.h $(TEST_STORE)
%C%_twin_LDADD = src/cli/libcli.a $(STORE_LIBS) $(JANSSON_LIBS)
%C%_twin_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_twin_LDFLAGS = $(AM_LDFLAGS) $(WRAP_RAND)
%C%_nth_SOURCES = $(FIXED_RAND) %D%/nth.c test/support/no_memory.h $(TEST_STORE)
%C%_nth_LDADD = $(STORE_LIBS)
%C%_nth_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_nth_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC) $(WRAP_RAND)
%C%_model_SOURCES = $(FIXED_RAND) %D%/model.c $(TEST_STORE)
%C%_model_LDADD = $(STORE_LIBS)
%C%_model_CPPFLAGS = $(FAULT_CPPFLAGS)
%C%_model_LDFLAGS = $(AM_LDFLAGS) $(WRAP_RAND)
%C%_kill_SOURCES = %D%/kill.c
%C%_kill_LDADD = $(STORE_LIBS)
%C%_kill_CPPFLAGS = $(FAULT_CPPFLAGS)

UNIT_TESTS += test/unit/store/store test/unit/store/store_lifecycle test/unit/store/store_full test/unit/store/store_shortage test/unit/store/store_read test/unit/store/store_threads
test_unit_store_store_SOURCES = test/unit/store/test_store.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_crypt test/unit/store/store_crypt_plain
CRYPT_FIXTURE = test/unit/store/crypt_fixture.h test/support/store_fixture.h %D%/disk.c %D%/disk.h $(TEST_STORE)
test_unit_store_store_crypt_SOURCES = test/unit/store/test_store_crypt.c $(CRYPT_FIXTURE)
test_unit_store_store_crypt_LDADD = src/cli/libcli.a $(STORE_LIBS) $(UNITY_LIBS) $(JANSSON_LIBS)
test_unit_store_store_crypt_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_crypt_plain_SOURCES = test/unit/store/test_store_crypt_plain.c $(CRYPT_FIXTURE)
test_unit_store_store_crypt_plain_LDADD = src/cli/libcli.a $(STORE_LIBS) $(UNITY_LIBS) $(JANSSON_LIBS)
test_unit_store_store_crypt_plain_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_gather
test_unit_store_store_gather_SOURCES = test/unit/store/test_store_gather.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_gather_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_gather_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_lifecycle_SOURCES = test/unit/store/test_store_lifecycle.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_lifecycle_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_lifecycle_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_full_SOURCES = test/unit/store/test_store_full.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_full_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_full_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_shortage_SOURCES = test/unit/store/test_store_shortage.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_shortage_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_shortage_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_purge
test_unit_store_store_purge_SOURCES = test/unit/store/test_store_purge.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_purge_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_purge_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_bits test/unit/store/store_overdue
test_unit_store_store_bits_SOURCES = test/unit/store/test_store_bits.c test/support/store_fixture.h \
	%D%/disk.c %D%/disk.h $(TEST_STORE)
test_unit_store_store_bits_LDADD = src/cli/libcli.a $(STORE_LIBS) $(UNITY_LIBS) $(JANSSON_LIBS)
test_unit_store_store_bits_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_ahead
test_unit_store_store_ahead_SOURCES = test/unit/store/test_store_ahead.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_ahead_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_ahead_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_erase
test_unit_store_store_erase_SOURCES = test/unit/store/test_store_erase.c test/support/store_fixture.h \
	%D%/disk.c %D%/disk.h $(TEST_STORE)
test_unit_store_store_erase_LDADD = src/cli/libcli.a $(STORE_LIBS) $(UNITY_LIBS) $(JANSSON_LIBS)
test_unit_store_store_erase_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_journal test/unit/store/store_journal_root
test_unit_store_store_journal_root_SOURCES = test/unit/store/test_store_journal_root.c
test_unit_store_store_journal_root_LDADD = src/cli/libcli.a $(STORE_LIBS) $(UNITY_LIBS) $(JANSSON_LIBS)
test_unit_store_store_journal_root_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_journal_SOURCES = test/unit/store/test_store_journal.c $(SHARED_SET) $(TEST_STORE)
test_unit_store_store_journal_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_journal_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
UNIT_TESTS += test/unit/store/store_patrol
test_unit_store_store_patrol_SOURCES = test/unit/store/test_store_patrol.c $(TEST_STORE)
test_unit_store_store_patrol_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_patrol_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
UNIT_TESTS += test/unit/store/store_tally
test_unit_store_store_tally_SOURCES = test/unit/store/test_store_tally.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_tally_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_tally_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
UNIT_TESTS += test/unit/store/store_bounded_walks
test_unit_store_store_bounded_walks_SOURCES = test/unit/store/test_store_bounded_walks.c test/support/store_fixture.h $(TEST_STORE)
test_unit_store_store_bounded_walks_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_bounded_walks_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_store_store_overdue_SOURCES = test/unit/store/test_store_overdue.c $(TEST_STORE)
test_unit_store_store_overdue_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_overdue_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_read_SOURCES = test/unit/store/test_store_read.c $(TEST_STORE)
test_unit_store_store_read_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_read_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_descriptors
test_unit_store_store_descriptors_SOURCES = test/unit/store/test_store_descriptors.c $(TEST_STORE)
test_unit_store_store_descriptors_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_descriptors_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_threads_SOURCES = test/unit/store/test_store_threads.c $(TEST_STORE)
test_unit_store_store_threads_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_threads_CPPFLAGS = $(TEST_CPPFLAGS)

# Stores of earlier versions.
EXTRA_DIST += test/assets
UNIT_TESTS += test/unit/store/store_assets
test_unit_store_store_assets_SOURCES = test/unit/store/test_store_assets.c
test_unit_store_store_assets_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_assets_CPPFLAGS = $(TEST_CPPFLAGS) -DASSETS='"$(abs_top_srcdir)/test/assets"'
UNIT_TESTS += test/unit/store/store_limits
test_unit_store_store_limits_SOURCES = test/unit/store/test_store_limits.c test/support/store_fixture.h \
	test/support/no_memory.h $(TEST_STORE)
test_unit_store_store_limits_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_limits_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_limits_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
