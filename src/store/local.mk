# store: segmented log, index, group commit, recovery.  Knows nothing of NATS.
noinst_LIBRARIES += %D%/libstore.a
%C%_libstore_a_SOURCES = \
	%D%/io_dir.c %D%/io_dir.h %D%/io_fd.c %D%/io_memory.c %D%/record.c %D%/record.h %D%/keys.c %D%/keys.h \
	%D%/keys_impl.h %D%/keys_table.h %D%/keys_table.c %D%/keys_page.c %D%/keys_block.c \
	%D%/keys_walk.c %D%/keys_bulk.c %D%/keys_check.c \
	%D%/index.c %D%/index.h %D%/index_impl.h %D%/index_block.c %D%/index_dir.c %D%/index_ring.c \
	%D%/index_ahead.c %D%/index_load.c %D%/index_load_end.c %D%/index_bulk.c %D%/lane.c %D%/lane.h %D%/index_check.c \
	%D%/segments.c %D%/room.c %D%/write.c %D%/commit.c %D%/gather.c %D%/expire.c %D%/view.c %D%/doomed.c %D%/doomed.h %D%/purge.c %D%/blob.c \
	%D%/read.c %D%/ahead.c %D%/forecast.c %D%/tally.c %D%/cursor.c %D%/clean.c %D%/checkpointer.c %D%/scrub.c %D%/store.c %D%/erase.c %D%/erase.h \
	%D%/store_impl.h %D%/gather.h %D%/image.h %D%/upkeep.h %D%/room.h include/mayfly/store.h include/mayfly/store_accepted.h include/mayfly/store_cursor.h include/mayfly/store_lives.h include/mayfly/store_io.h %D%/patrol.c %D%/damage.c %D%/damage.h include/mayfly/store_patrol.h \
	%D%/watch.c %D%/late.c %D%/late.h %D%/count.c %D%/folder.c %D%/folder.h %D%/folder_root.c include/mayfly/store_folder.h %D%/count.h

STORE_LIBS = %D%/libstore.a $(TTL_LIBS) $(LOOP_LIBS)

UNIT_TESTS += test/unit/store_io test/unit/store_io_kinds test/unit/fault_io test/unit/crash_io \
	test/unit/store_keys test/unit/store_index test/unit/store_record
TEST_IO = test/support/fault_io.c test/support/fault_io.h test/support/crash_io.c \
	test/support/crash_io.h test/support/crash_cut.c test/support/crash_log.h
WRAP_ALLOC = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_unit_store_io_SOURCES = test/unit/test_store_io.c test/support/io_fixture.h \
	test/support/no_memory.h $(TEST_IO)
test_unit_store_io_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_io_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_io_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
UNIT_TESTS += test/unit/store_sync
test_unit_store_sync_SOURCES = test/unit/test_store_sync.c
test_unit_store_sync_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_sync_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_sync_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fdatasync,--wrap=fsync,--wrap=pwrite
test_unit_store_io_kinds_SOURCES = test/unit/test_store_io_kinds.c test/support/io_fixture.h $(TEST_IO)
test_unit_store_io_kinds_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_io_kinds_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_io_kinds_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pread,--wrap=pwrite,--wrap=fdatasync,--wrap=posix_fallocate
test_unit_fault_io_SOURCES = test/unit/test_fault_io.c $(TEST_IO)
test_unit_fault_io_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_fault_io_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_crash_io_SOURCES = test/unit/test_crash_io.c test/support/no_memory.h $(TEST_IO)
test_unit_crash_io_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_crash_io_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_crash_io_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
test_unit_store_keys_SOURCES = test/unit/test_store_keys.c
test_unit_store_keys_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_keys_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store_keys_nomem test/unit/store_keys_model
test_unit_store_keys_nomem_SOURCES = test/unit/test_store_keys_nomem.c test/support/no_memory.h
test_unit_store_keys_nomem_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_keys_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_keys_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=aligned_alloc -Wl,--wrap=mmap
test_unit_store_keys_model_SOURCES = test/unit/test_store_keys_model.c test/support/no_memory.h
test_unit_store_keys_model_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_keys_model_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_keys_model_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=aligned_alloc -Wl,--wrap=mmap
test_unit_store_index_SOURCES = test/unit/test_store_index.c
test_unit_store_index_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_index_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store_index_load test/unit/store_index_model test/unit/store_index_nomem
test_unit_store_index_load_SOURCES = test/unit/test_store_index_load.c
test_unit_store_index_load_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_index_load_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_index_model_SOURCES = test/unit/test_store_index_model.c
test_unit_store_index_model_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_index_model_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_index_nomem_SOURCES = test/unit/test_store_index_nomem.c test/support/no_memory.h
test_unit_store_index_nomem_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_index_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_index_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=aligned_alloc
test_unit_store_record_SOURCES = test/unit/test_store_record.c
test_unit_store_record_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_record_CPPFLAGS = $(TEST_CPPFLAGS)
%C%_libstore_a_SOURCES += \
	%D%/segment_page.c %D%/scan.c %D%/scan.h %D%/checkpoint.h %D%/checkpoint_read.c \
	%D%/checkpoint_write.c %D%/recover.c %D%/recover.h %D%/recover_impl.h %D%/recover_files.c \
	%D%/recover_log.c %D%/recover_apply.c %D%/recover_end.c %D%/recover_disk.c \
	%D%/wipe.c %D%/wipe.h
LOG_MAKER = test/support/log_maker.c test/support/log_maker.h test/support/recovery_text.c \
	test/support/recovery_text.h
UNIT_TESTS += test/unit/store_scan test/unit/store_recover test/unit/store_recover_damage \
	test/unit/store_checkpoint test/unit/store_recover_faults
test_unit_store_scan_SOURCES = test/unit/test_store_scan.c
test_unit_store_scan_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_scan_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_recover_SOURCES = test/unit/test_store_recover.c $(LOG_MAKER)
test_unit_store_recover_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_recover_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_recover_damage_SOURCES = test/unit/test_store_recover_damage.c $(LOG_MAKER)
test_unit_store_recover_damage_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_recover_damage_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_checkpoint_SOURCES = test/unit/test_store_checkpoint.c $(LOG_MAKER)
test_unit_store_checkpoint_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_checkpoint_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_recover_faults_SOURCES = test/unit/test_store_recover_faults.c \
	test/support/no_memory.h $(LOG_MAKER) $(TEST_IO)
test_unit_store_recover_faults_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_recover_faults_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_recover_faults_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC) -Wl,--wrap=aligned_alloc
UNIT_TESTS += test/unit/store_index_bulk
test_unit_store_index_bulk_SOURCES = test/unit/test_store_index_bulk.c test/support/no_memory.h
test_unit_store_index_bulk_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_index_bulk_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_index_bulk_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)

UNIT_TESTS += test/unit/store_attach_nomem
test_unit_store_attach_nomem_SOURCES = test/unit/test_store_attach_nomem.c test/support/no_memory.h
test_unit_store_attach_nomem_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_attach_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_attach_nomem_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
UNIT_TESTS += test/unit/store_folder
test_unit_store_folder_SOURCES = test/unit/test_store_folder.c
test_unit_store_folder_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_folder_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store_io_calls
test_unit_store_io_calls_SOURCES = test/unit/test_store_io_calls.c
test_unit_store_io_calls_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_io_calls_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_io_calls_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=open,--wrap=openat,--wrap=fsync \
	-Wl,--wrap=fdatasync,--wrap=flock,--wrap=ftruncate,--wrap=fstat,--wrap=mkdirat \
	-Wl,--wrap=renameat,--wrap=unlinkat,--wrap=posix_fallocate,--wrap=pread \
	-Wl,--wrap=pwrite,--wrap=fdopendir
