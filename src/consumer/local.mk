# consumer: who gets which message of a stream when, and what is acknowledged.
noinst_LIBRARIES += %D%/libconsumer.a
%C%_libconsumer_a_SOURCES = \
	%D%/config.c %D%/config_check.c %D%/config_update.c %D%/consumers.c %D%/consumer.c %D%/pending.c %D%/ack.c \
	%D%/pump.c %D%/pull.c %D%/pull_groups.c %D%/push.c %D%/state.c %D%/retention.c %D%/consumer_impl.h \
	include/mayfly/consumer.h include/mayfly/consumer_config.h
%C%_libconsumer_a_CPPFLAGS = $(AM_CPPFLAGS)

CONSUMER_LIBS = %D%/libconsumer.a src/router/librouter.a $(STREAM_LIBS)
