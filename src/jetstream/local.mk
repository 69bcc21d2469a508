# jetstream: a stream on the wire: publishes and their acks, deliveries, direct gets, mirrors, events.
noinst_LIBRARIES += %D%/libjetstream.a
%C%_libjetstream_a_SOURCES = \
	%D%/clock_look.c %D%/jetstream.c %D%/jetstream.h %D%/jetstream_impl.h %D%/js_account.c %D%/js_account.h %D%/js_store.c \
	%D%/js_store_impl.h %D%/js_json.c %D%/js_json.h \
	%D%/ingest.c %D%/ingest_trace.c %D%/consumer_wire.c %D%/consumer_wire.h %D%/consumer_wire_impl.h %D%/consumer_wait.c %D%/declare.c \
	%D%/source_wire.c %D%/source_wire_impl.h \
	%D%/direct.c %D%/direct_queue.c %D%/direct_batch.c %D%/direct_multi.c %D%/direct_batch_impl.h %D%/direct_impl.h %D%/direct.h \
	%D%/event.c %D%/advisory.c %D%/advisory.h %D%/consumer_advisory.c %D%/ttl_event.c %D%/event.h
%C%_libjetstream_a_CPPFLAGS = $(AM_CPPFLAGS)

JETSTREAM_LIBS = %D%/libjetstream.a src/source/libsource.a $(CONSUMER_LIBS) $(SODIUM_LIBS)

# consumer_wire: consumers and the account around them; every allocation of a wait fails once.
# Its streams and consumers are created with the API.
UNIT_TESTS += test/unit/jetstream/consumer_wire
test_unit_jetstream_consumer_wire_SOURCES = test/unit/jetstream/test_consumer_wire.c test/support/no_memory.h
test_unit_jetstream_consumer_wire_LDADD = $(API_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_jetstream_consumer_wire_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
test_unit_jetstream_consumer_wire_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
