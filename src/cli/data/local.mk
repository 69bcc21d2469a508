# cli/data: messages, streams, consumers, buckets.
src_cli_libcli_a_SOURCES += \
	%D%/consumer.c %D%/consumer_next.c %D%/data.c %D%/data.h %D%/data_commands.c %D%/data_commands.h \
	%D%/data_impl.h %D%/data_out.c %D%/kv.c %D%/kv.h %D%/kv_key.c %D%/kv_ttl.c %D%/kv_watch.c %D%/message.c \
	%D%/message.h %D%/object.c %D%/object.h %D%/object_get.c %D%/object_put.c %D%/pub.c %D%/publisher.c %D%/publisher.h %D%/reader.c %D%/reader.h \
	%D%/req.c %D%/stream.c %D%/stream_config.c %D%/stream_config.h %D%/stream_msgs.c %D%/sub.c %D%/template.c %D%/template.h

UNIT_TESTS += test/unit/cli/data
test_unit_cli_data_SOURCES = test/unit/cli/test_data.c
test_unit_cli_data_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_data_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS) $(NATS_CFLAGS)
