# consumer: who gets which message of a stream when, and what is acknowledged.
noinst_LIBRARIES += %D%/libconsumer.a
%C%_libconsumer_a_SOURCES = \
	%D%/config.c %D%/config_check.c %D%/config_update.c %D%/consumers.c %D%/consumer.c %D%/filters.c %D%/pending.c %D%/backlog.c %D%/count.c %D%/ack.c \
	%D%/pump.c %D%/pull.c %D%/pull_groups.c %D%/push.c %D%/state.c %D%/state_load.c %D%/state_blob_impl.h %D%/info.c %D%/retention.c %D%/pause.c %D%/backup.c %D%/consumer_impl.h %D%/delivery_impl.h %D%/pull_groups_impl.h %D%/pending_impl.h %D%/backlog_impl.h %D%/filters_impl.h \
	%D%/consumer.h %D%/consumer_config.h
%C%_libconsumer_a_CPPFLAGS = $(AM_CPPFLAGS)

CONSUMER_LIBS = %D%/libconsumer.a src/router/librouter.a $(STREAM_LIBS)

UNIT_TESTS += test/unit/consumer/consumer
test_unit_consumer_consumer_SOURCES = test/unit/consumer/test_consumer.c test/support/consumer_world.h $(STREAM_WORLD)
test_unit_consumer_consumer_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_CPPFLAGS = $(TEST_CPPFLAGS)

# The rules of configurations.
UNIT_TESTS += test/unit/consumer/consumer_config test/unit/consumer/consumer_config_update
test_unit_consumer_consumer_config_SOURCES = test/unit/consumer/test_consumer_config.c test/support/config_rows.h \
	test/support/no_memory.h
test_unit_consumer_consumer_config_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_config_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_consumer_consumer_config_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)
test_unit_consumer_consumer_config_update_SOURCES = test/unit/consumer/test_consumer_config_update.c \
	test/support/config_rows.h
test_unit_consumer_consumer_config_update_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_config_update_CPPFLAGS = $(TEST_CPPFLAGS)

# What goes wrong between, and whatever else may happen.
UNIT_TESTS += test/unit/consumer/consumer_races test/unit/consumer/consumer_notify test/unit/consumer/consumer_random
test_unit_consumer_consumer_races_SOURCES = test/unit/consumer/test_consumer_races.c test/support/consumer_world.h \
	$(STREAM_WORLD) $(TEST_IO)
test_unit_consumer_consumer_races_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_races_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_consumer_consumer_notify_SOURCES = test/unit/consumer/test_consumer_notify.c test/support/consumer_world.h \
	$(STREAM_WORLD)
test_unit_consumer_consumer_notify_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_notify_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_consumer_consumer_random_SOURCES = test/unit/consumer/test_consumer_random.c test/support/consumer_world.h \
	$(STREAM_WORLD)
test_unit_consumer_consumer_random_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_random_CPPFLAGS = $(TEST_CPPFLAGS)

# What acks and ends of consumers cost: lookups and walks are counted.
UNIT_TESTS += test/unit/consumer/consumer_costs
test_unit_consumer_consumer_costs_SOURCES = test/unit/consumer/test_consumer_costs.c test/support/consumer_world.h \
	$(STREAM_WORLD)
test_unit_consumer_consumer_costs_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_costs_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_consumer_consumer_costs_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pending_find,--wrap=stream_blob_each,--wrap=work_discard,--wrap=loop_work_finish,--wrap=pending_remove,--wrap=pending_await,--wrap=pending_move_all

# Very many filters.
UNIT_TESTS += test/unit/consumer/filter_costs
test_unit_consumer_filter_costs_SOURCES = test/unit/consumer/test_filter_costs.c test/support/consumer_world.h \
	$(STREAM_WORLD)
test_unit_consumer_filter_costs_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_filter_costs_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_consumer_filter_costs_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=stream_cursor_next_any,--wrap=stream_count,--wrap=subject_match

# Another backoff of very many.
UNIT_TESTS += test/unit/consumer/consumer_backoff
test_unit_consumer_consumer_backoff_SOURCES = test/unit/consumer/test_consumer_backoff.c \
	test/support/consumer_world.h $(STREAM_WORLD)
test_unit_consumer_consumer_backoff_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_backoff_CPPFLAGS = $(TEST_CPPFLAGS)

# Memory runs out.
UNIT_TESTS += test/unit/consumer/consumer_nomem
test_unit_consumer_consumer_nomem_SOURCES = test/unit/consumer/test_consumer_nomem.c test/support/consumer_world.h \
	test/support/no_memory.h $(STREAM_WORLD)
test_unit_consumer_consumer_nomem_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_consumer_consumer_nomem_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOC)

# What making and counting consumers of a large stream costs: steps are counted.
UNIT_TESTS += test/unit/consumer/consumer_count
test_unit_consumer_consumer_count_SOURCES = test/unit/consumer/test_consumer_count.c test/support/consumer_world.h \
	$(STREAM_WORLD)
test_unit_consumer_consumer_count_LDADD = $(CONSUMER_LIBS) $(UNITY_LIBS)
test_unit_consumer_consumer_count_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_consumer_consumer_count_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=index_next,--wrap=index_older,--wrap=keys_walk_next,--wrap=keys_walk_sum,--wrap=keys_matches
