# stream: one stream, its rules and its life; and the catalog of streams.
noinst_LIBRARIES += %D%/libstream.a
%C%_libstream_a_SOURCES = \
	%D%/js_error.c %D%/config.c %D%/config_check.c %D%/config_source.c %D%/config_subjects.c %D%/config_update.c %D%/config_policy.c %D%/config_impl.h \
	%D%/stream.c %D%/publish.c %D%/publish_trace.c %D%/copy.c %D%/intake.c %D%/check.c %D%/limits.c %D%/expire.c %D%/life.c %D%/lifetime.c %D%/lifetime_impl.h %D%/lifetime_stored.c %D%/export_header.c %D%/touch.c %D%/dead_letters.c %D%/warn.c %D%/summary.c %D%/summary_impl.h %D%/scope.c %D%/linked.c %D%/linked_unseen.c %D%/linked_unseen_impl.h %D%/ahead.c %D%/ages.c %D%/ages_impl.h %D%/census.c %D%/hour.c %D%/backfill.c %D%/remove.c %D%/purge.c %D%/throttle.c %D%/view.c %D%/find.c \
	%D%/notify.c %D%/republish.c %D%/compress.c %D%/dedup.c %D%/dedup_store.c %D%/dedup_impl.h %D%/stream_job.c %D%/stream_job_impl.h %D%/redeadline.c %D%/redeadline_plan.c %D%/redeadline_plan_impl.h %D%/batch.c %D%/batch_check.c %D%/batch_impl.h %D%/fast.c \
	%D%/counter.c %D%/counter_park.c %D%/counter_source.c %D%/counter_impl.h %D%/decimal.c %D%/decimal_impl.h \
	%D%/schedule.c %D%/schedule_fire.c %D%/schedule_clock.c %D%/schedule_impl.h %D%/catalog.c %D%/catalog_make.c %D%/catalog_open.c %D%/catalog_root.c %D%/catalog_impl.h %D%/stream_impl.h %D%/intake_impl.h %D%/publish_impl.h %D%/check_impl.h %D%/expire_impl.h %D%/purge_impl.h %D%/limits_impl.h %D%/notify_impl.h %D%/dedup_window_impl.h %D%/extras_impl.h \
	%D%/js_error.h %D%/js_error_table.h %D%/stream_config.h %D%/stream.h %D%/stream_blob.h %D%/stream_host.h %D%/stream_ttl.h %D%/stream_event.h %D%/stream_read.h %D%/backfill.h %D%/stream_ahead.h %D%/stream_census.h %D%/stream_hour.h %D%/catalog.h %D%/stream_damage.h
%C%_libstream_a_CPPFLAGS = $(AM_CPPFLAGS)

STREAM_LIBS = %D%/libstream.a src/store/libstore.a src/wheel/libwheel.a src/cron/libcron.a src/markers/libmarkers.a src/proto/libproto.a \
	src/subject/libsubject.a $(TTL_LIBS) $(LOOP_LIBS) -lm $(SODIUM_LIBS) $(OPENSSL_LIBS)

STREAM_WORLD = test/support/stream_world.c test/support/stream_world.h test/support/must.c test/support/must.h
UNIT_TESTS += test/unit/stream/stream
test_unit_stream_stream_SOURCES = test/unit/stream/test_stream.c $(STREAM_WORLD)
test_unit_stream_stream_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_CPPFLAGS = $(TEST_CPPFLAGS)

UNIT_TESTS += test/unit/stream/lifetime
test_unit_stream_lifetime_SOURCES = test/unit/stream/test_lifetime.c $(STREAM_WORLD)
test_unit_stream_lifetime_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_lifetime_CPPFLAGS = $(TEST_CPPFLAGS)

UNIT_TESTS += test/unit/stream/slide_warn test/unit/stream/dead_letters
test_unit_stream_slide_warn_SOURCES = test/unit/stream/test_slide_warn.c $(STREAM_WORLD)
test_unit_stream_slide_warn_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_slide_warn_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_dead_letters_SOURCES = test/unit/stream/test_dead_letters.c test/support/no_memory.h test/support/fault_io.c test/support/fault_io.h $(STREAM_WORLD)
test_unit_stream_dead_letters_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_dead_letters_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_dead_letters_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)

UNIT_TESTS += test/unit/stream/drafts
test_unit_stream_drafts_SOURCES = test/unit/stream/test_drafts.c test/support/fault_io.c test/support/fault_io.h $(STREAM_WORLD)
test_unit_stream_drafts_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_drafts_CPPFLAGS = $(TEST_CPPFLAGS)

UNIT_TESTS += test/unit/stream/hour
test_unit_stream_hour_SOURCES = test/unit/stream/test_hour.c $(STREAM_WORLD)
test_unit_stream_hour_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_hour_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/stream/census
test_unit_stream_census_SOURCES = test/unit/stream/test_census.c $(STREAM_WORLD)
test_unit_stream_census_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_census_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
UNIT_TESTS += test/unit/stream/linked
test_unit_stream_linked_SOURCES = test/unit/stream/test_linked.c $(STREAM_WORLD)
test_unit_stream_linked_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_linked_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/stream/linked_order
test_unit_stream_linked_order_SOURCES = test/unit/stream/test_linked_order.c test/support/fault_io.c test/support/fault_io.h $(STREAM_WORLD)
test_unit_stream_linked_order_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_linked_order_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/stream/backfill
test_unit_stream_backfill_SOURCES = test/unit/stream/test_backfill.c $(STREAM_WORLD)
test_unit_stream_backfill_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_backfill_CPPFLAGS = $(TEST_CPPFLAGS)

# Pieces that need a store and no stream; $(TEST_STORE) is in test/fault/local.mk.
UNIT_TESTS += test/unit/stream/dedup test/unit/stream/redeadline test/unit/stream/compress
test_unit_stream_dedup_SOURCES = test/unit/stream/test_dedup.c test/support/no_memory.h $(TEST_STORE)
test_unit_stream_dedup_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_dedup_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_dedup_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
test_unit_stream_redeadline_SOURCES = test/unit/stream/test_redeadline.c test/support/store_fixture.h $(TEST_STORE)
test_unit_stream_redeadline_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_redeadline_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_compress_SOURCES = test/unit/stream/test_compress.c test/support/pick.h
test_unit_stream_compress_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_compress_CPPFLAGS = $(TEST_CPPFLAGS)

# The error table and the rules of configurations.
UNIT_TESTS += test/unit/stream/js_error test/unit/stream/stream_config test/unit/stream/stream_config_update \
	test/unit/stream/stream_source_config test/unit/stream/stream_config_nomem test/unit/stream/stream_config_equal \
	test/unit/stream/stream_config_costs
test_unit_stream_stream_config_costs_SOURCES = test/unit/stream/test_stream_config_costs.c test/support/config_rows.h
test_unit_stream_stream_config_costs_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_config_costs_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_config_costs_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pattern_tree_join,--wrap=subject_overlap,--wrap=subject_is_subset
test_unit_stream_js_error_SOURCES = test/unit/stream/test_js_error.c
test_unit_stream_js_error_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_js_error_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_config_SOURCES = test/unit/stream/test_stream_config.c test/support/config_rows.h
test_unit_stream_stream_config_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_config_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_config_equal_SOURCES = test/unit/stream/test_stream_config_equal.c \
	test/support/config_rows.h
test_unit_stream_stream_config_equal_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_config_equal_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_config_update_SOURCES = test/unit/stream/test_stream_config_update.c \
	test/support/config_rows.h
test_unit_stream_stream_config_update_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_config_update_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_source_config_SOURCES = test/unit/stream/test_stream_source_config.c \
	test/support/config_rows.h
test_unit_stream_stream_source_config_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_source_config_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_config_nomem_SOURCES = test/unit/stream/test_stream_config_nomem.c \
	test/support/config_rows.h test/support/no_memory.h
test_unit_stream_stream_config_nomem_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_config_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_config_nomem_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)

# Batches, counters, schedules.
UNIT_TESTS += test/unit/stream/decimal test/unit/stream/counter test/unit/stream/batch test/unit/stream/schedule
test_unit_stream_decimal_SOURCES = test/unit/stream/test_decimal.c test/support/pick.h
test_unit_stream_decimal_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_decimal_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_counter_SOURCES = test/unit/stream/test_counter.c test/support/cold_reads.h $(STREAM_WORLD)
test_unit_stream_counter_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_counter_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_counter_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=stream_get
WRAP_STORE = -Wl,--wrap=store_begin,--wrap=store_end,--wrap=store_append,--wrap=store_remove
test_unit_stream_batch_SOURCES = test/unit/stream/test_batch.c test/support/store_watch.h $(STREAM_WORLD)
test_unit_stream_batch_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_batch_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_batch_LDFLAGS = $(AM_LDFLAGS) $(WRAP_STORE)
test_unit_stream_schedule_SOURCES = test/unit/stream/test_schedule.c test/support/store_watch.h \
	test/support/cold_reads.h $(STREAM_WORLD)
test_unit_stream_schedule_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_schedule_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_schedule_LDFLAGS = $(AM_LDFLAGS) $(WRAP_STORE) -Wl,--wrap=stream_get
UNIT_TESTS += test/unit/stream/batch_nomem
test_unit_stream_batch_nomem_SOURCES = test/unit/stream/test_batch_nomem.c test/support/no_memory.h $(STREAM_WORLD)
test_unit_stream_batch_nomem_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_batch_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_batch_nomem_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)

# Corners.
UNIT_TESTS += test/unit/stream/stream_expiry
test_unit_stream_stream_expiry_SOURCES = test/unit/stream/test_stream_expiry.c $(STREAM_WORLD)
test_unit_stream_stream_expiry_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_expiry_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_expiry_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=store_expire,--wrap=store_peek
UNIT_TESTS += test/unit/stream/stream_cut
test_unit_stream_stream_cut_SOURCES = test/unit/stream/test_stream_cut.c $(STREAM_WORLD) $(TEST_IO)
test_unit_stream_stream_cut_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_cut_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/stream/catalog_delete
test_unit_stream_catalog_delete_SOURCES = test/unit/stream/test_catalog_delete.c test/support/catalog_fixture.h
test_unit_stream_catalog_delete_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_catalog_delete_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_catalog_delete_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=renameat,--wrap=fsync
UNIT_TESTS += test/unit/stream/catalog_failures
test_unit_stream_catalog_failures_SOURCES = test/unit/stream/test_catalog_failures.c test/support/catalog_fixture.h
test_unit_stream_catalog_failures_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_catalog_failures_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_catalog_failures_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=renameat,--wrap=fsync,--wrap=pattern_tree_join
UNIT_TESTS += test/unit/stream/stream_model
test_unit_stream_stream_model_SOURCES = test/unit/stream/test_stream_model.c $(STREAM_WORLD)
test_unit_stream_stream_model_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_model_CPPFLAGS = $(TEST_CPPFLAGS)

# What a stream is asked to do while memory or the disk fails.
STREAM_DEEDS = test/support/stream_deeds.c test/support/stream_deeds.h $(STREAM_WORLD)
UNIT_TESTS += test/unit/stream/stream_nomem test/unit/stream/stream_faults
test_unit_stream_stream_nomem_SOURCES = test/unit/stream/test_stream_nomem.c test/support/no_memory.h $(STREAM_DEEDS)
test_unit_stream_stream_nomem_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_nomem_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
test_unit_stream_stream_faults_SOURCES = test/unit/stream/test_stream_faults.c test/support/fault_io.c \
	test/support/fault_io.h $(STREAM_DEEDS)
test_unit_stream_stream_faults_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_faults_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/stream/catalog_nomem
test_unit_stream_catalog_nomem_SOURCES = test/unit/stream/test_catalog_nomem.c test/support/no_memory.h
test_unit_stream_catalog_nomem_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_catalog_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_catalog_nomem_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
UNIT_TESTS += test/unit/stream/schedule_faults
test_unit_stream_schedule_faults_SOURCES = test/unit/stream/test_schedule_faults.c test/support/no_memory.h \
	test/support/fault_io.c test/support/fault_io.h $(STREAM_WORLD)
test_unit_stream_schedule_faults_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_schedule_faults_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_schedule_faults_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
UNIT_TESTS += test/unit/stream/stream_slices test/unit/stream/stream_throttle test/unit/stream/stream_rollups test/unit/stream/stream_refusals
test_unit_stream_stream_rollups_SOURCES = test/unit/stream/test_stream_rollups.c $(STREAM_WORLD)
test_unit_stream_stream_rollups_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_rollups_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_slices_SOURCES = test/unit/stream/test_stream_slices.c $(STREAM_WORLD)
test_unit_stream_stream_slices_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_slices_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_throttle_SOURCES = test/unit/stream/test_stream_throttle.c $(STREAM_WORLD)
test_unit_stream_stream_throttle_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_throttle_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_stream_refusals_SOURCES = test/unit/stream/test_stream_refusals.c test/support/fault_io.c \
	test/support/fault_io.h $(STREAM_WORLD)
test_unit_stream_stream_refusals_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_stream_refusals_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/stream/redeadline_faults
test_unit_stream_redeadline_faults_SOURCES = test/unit/stream/test_redeadline_faults.c test/support/no_memory.h \
	test/support/fault_io.c test/support/fault_io.h $(STREAM_WORLD)
test_unit_stream_redeadline_faults_LDADD = $(STREAM_LIBS) $(UNITY_LIBS)
test_unit_stream_redeadline_faults_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_stream_redeadline_faults_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
