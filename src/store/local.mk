# store: segmented log, index, group commit, recovery.  Knows nothing of NATS.
noinst_LIBRARIES += %D%/libstore.a
%C%_libstore_a_SOURCES = \
	%D%/io/io_dir.c %D%/io/io_dir.h %D%/io/io_fd.c %D%/io/io_memory.c %D%/log/record.c %D%/log/record.h %D%/keys/keys.c %D%/keys/keys.h \
	%D%/keys/keys_impl.h %D%/keys/keys_table.h %D%/keys/keys_table.c %D%/keys/keys_page.c %D%/keys/keys_block.c \
	%D%/keys/keys_walk.c %D%/keys/keys_bulk.c %D%/keys/keys_check.c \
	%D%/index/index.c %D%/index/index.h %D%/index/index_impl.h %D%/index/index_block.c %D%/index/index_dir.c %D%/index/index_ring.c \
	%D%/index/index_ahead.c %D%/index/index_load.c %D%/index/index_load_end.c %D%/index/index_bulk.c %D%/log/lane.c %D%/log/lane.h %D%/index/index_check.c \
	%D%/log/segments.c %D%/log/room.c %D%/log/write.c %D%/log/commit.c %D%/log/gather.c %D%/expire.c %D%/text_room.c %D%/text_room_impl.h %D%/view.c %D%/removing.c %D%/removing_impl.h %D%/purge.c %D%/blob.c \
	%D%/read.c %D%/ahead.c %D%/forecast.c %D%/tally.c %D%/cursor.c %D%/log/clean.c %D%/recover/checkpointer.c %D%/scrub.c %D%/store.c %D%/log/erase.c %D%/log/erase.h \
	%D%/store_impl.h %D%/log/gather.h %D%/log/image.h %D%/log/image.c %D%/log/ranges.h %D%/log/segments.h %D%/log/commit.h %D%/log/write.h %D%/view_impl.h %D%/upkeep_impl.h %D%/log/room.h %D%/store.h %D%/store_accepted.h %D%/store_cursor.h %D%/store_lives.h %D%/store_read.h %D%/store_upkeep.h %D%/store_io.h %D%/patrol.c %D%/damage.c %D%/damage_impl.h %D%/store_patrol.h \
	%D%/crypt/crypt.c %D%/crypt/crypt.h %D%/crypt/secret.c %D%/crypt/settle.c %D%/crypt/opened.c %D%/crypt/opened.h %D%/store_secret.h \
	%D%/watch.c %D%/late.c %D%/late_impl.h %D%/count.c %D%/io/folder.c %D%/io/folder.h %D%/io/folder_root.c %D%/store_folder.h %D%/count_impl.h

STORE_LIBS = %D%/libstore.a src/wheel/libwheel.a $(LOOP_LIBS) $(CODEC_LIBS) $(SODIUM_LIBS) $(OPENSSL_LIBS)

UNIT_TESTS += test/unit/store/store_io test/unit/store/store_io_kinds test/unit/store/fault_io test/unit/store/crash_io \
	test/unit/store/store_keys test/unit/store/store_index test/unit/store/store_record
TEST_IO = test/support/fault_io.c test/support/fault_io.h test/support/crash_io.c \
	test/support/crash_io.h test/support/crash_cut.c test/support/crash_log.h
WRAP_ALLOC = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_unit_store_store_io_SOURCES = test/unit/store/test_store_io.c test/support/io_fixture.h \
	test/support/no_memory.h $(TEST_IO)
test_unit_store_store_io_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_io_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_io_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
UNIT_TESTS += test/unit/store/store_sync
test_unit_store_store_sync_SOURCES = test/unit/store/test_store_sync.c
test_unit_store_store_sync_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_sync_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_sync_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fdatasync,--wrap=fsync,--wrap=pwrite
test_unit_store_store_io_kinds_SOURCES = test/unit/store/test_store_io_kinds.c test/support/io_fixture.h $(TEST_IO)
test_unit_store_store_io_kinds_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_io_kinds_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_io_kinds_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pread,--wrap=pwrite,--wrap=fdatasync,--wrap=posix_fallocate
test_unit_store_fault_io_SOURCES = test/unit/store/test_fault_io.c $(TEST_IO)
test_unit_store_fault_io_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_fault_io_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_crash_io_SOURCES = test/unit/store/test_crash_io.c test/support/no_memory.h $(TEST_IO)
test_unit_store_crash_io_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_crash_io_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_crash_io_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
test_unit_store_store_keys_SOURCES = test/unit/store/test_store_keys.c test/support/keys_get.h
test_unit_store_store_keys_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_keys_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_keys_nomem test/unit/store/store_keys_model
test_unit_store_store_keys_nomem_SOURCES = test/unit/store/test_store_keys_nomem.c test/support/keys_get.h test/support/no_memory.h
test_unit_store_store_keys_nomem_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_keys_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_keys_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=aligned_alloc -Wl,--wrap=mmap
test_unit_store_store_keys_model_SOURCES = test/unit/store/test_store_keys_model.c test/support/keys_get.h test/support/no_memory.h
test_unit_store_store_keys_model_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_keys_model_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_keys_model_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=aligned_alloc -Wl,--wrap=mmap
test_unit_store_store_index_SOURCES = test/unit/store/test_store_index.c
test_unit_store_store_index_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_index_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_index_load test/unit/store/store_index_model test/unit/store/store_index_nomem
test_unit_store_store_index_load_SOURCES = test/unit/store/test_store_index_load.c
test_unit_store_store_index_load_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_index_load_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_index_model_SOURCES = test/unit/store/test_store_index_model.c
test_unit_store_store_index_model_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_index_model_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_index_nomem_SOURCES = test/unit/store/test_store_index_nomem.c test/support/no_memory.h
test_unit_store_store_index_nomem_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_index_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_index_nomem_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=aligned_alloc
test_unit_store_store_record_SOURCES = test/unit/store/test_store_record.c
test_unit_store_store_record_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_record_CPPFLAGS = $(TEST_CPPFLAGS)
%C%_libstore_a_SOURCES += \
	%D%/log/segment_page.c %D%/log/scan.c %D%/log/scan.h %D%/recover/checkpoint.h %D%/recover/checkpoint_read.c \
	%D%/recover/checkpoint_write.c %D%/recover/recover.c %D%/recover/recover.h %D%/recover/recover_impl.h %D%/recover/recover_files.c \
	%D%/recover/recover_log.c %D%/recover/recover_apply.c %D%/recover/recover_end.c %D%/recover/recover_disk.c \
	%D%/io/wipe.c %D%/io/wipe.h
LOG_MAKER = test/support/log_maker.c test/support/log_maker.h test/support/recovery_text.c \
	test/support/recovery_text.h
UNIT_TESTS += test/unit/store/store_scan test/unit/store/store_recover test/unit/store/store_recover_damage \
	test/unit/store/store_checkpoint test/unit/store/store_recover_faults
test_unit_store_store_scan_SOURCES = test/unit/store/test_store_scan.c
test_unit_store_store_scan_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_scan_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_recover_SOURCES = test/unit/store/test_store_recover.c $(LOG_MAKER)
test_unit_store_store_recover_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_recover_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_recover_damage_SOURCES = test/unit/store/test_store_recover_damage.c $(LOG_MAKER)
test_unit_store_store_recover_damage_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_recover_damage_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_checkpoint_SOURCES = test/unit/store/test_store_checkpoint.c $(LOG_MAKER)
test_unit_store_store_checkpoint_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_checkpoint_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_recover_faults_SOURCES = test/unit/store/test_store_recover_faults.c \
	test/support/no_memory.h $(LOG_MAKER) $(TEST_IO)
test_unit_store_store_recover_faults_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_recover_faults_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_recover_faults_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC) -Wl,--wrap=aligned_alloc
UNIT_TESTS += test/unit/store/store_index_bulk
test_unit_store_store_index_bulk_SOURCES = test/unit/store/test_store_index_bulk.c test/support/keys_get.h test/support/no_memory.h
test_unit_store_store_index_bulk_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_index_bulk_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_index_bulk_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)

UNIT_TESTS += test/unit/store/store_attach_nomem
test_unit_store_store_attach_nomem_SOURCES = test/unit/store/test_store_attach_nomem.c test/support/no_memory.h
test_unit_store_store_attach_nomem_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_attach_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_attach_nomem_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
UNIT_TESTS += test/unit/store/store_folder
test_unit_store_store_folder_SOURCES = test/unit/store/test_store_folder.c
test_unit_store_store_folder_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_folder_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/store/store_io_calls
test_unit_store_store_io_calls_SOURCES = test/unit/store/test_store_io_calls.c
test_unit_store_store_io_calls_LDADD = $(STORE_LIBS) $(UNITY_LIBS)
test_unit_store_store_io_calls_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_store_store_io_calls_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=open,--wrap=openat,--wrap=fsync \
	-Wl,--wrap=fdatasync,--wrap=flock,--wrap=ftruncate,--wrap=fstat,--wrap=mkdirat \
	-Wl,--wrap=renameat,--wrap=unlinkat,--wrap=posix_fallocate,--wrap=pread \
	-Wl,--wrap=pwrite,--wrap=fdopendir

%C%_libstore_a_SOURCES += \
	%D%/store_journal.h %D%/journal/journal.h %D%/journal/journal_impl.h %D%/journal/journal.c %D%/journal/journal_files.c \
	%D%/journal/journal_format.c %D%/journal/journal_format.h %D%/journal/journal_recover.c %D%/journal/journal_root.c %D%/journal/journal_void.c
