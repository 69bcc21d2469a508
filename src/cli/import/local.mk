# cli/import: stores of nats-server.
src_cli_libcli_a_SOURCES += %D%/import_commands.h %D%/import.c %D%/import_impl.h %D%/import_find.c \
	%D%/import_watch.c %D%/import_running.c %D%/import_send.c %D%/import_report.c %D%/nats_store.c %D%/nats_store.h \
	%D%/nats_store_impl.h %D%/nats_index.c %D%/nats_consumer.c %D%/nats_source.c %D%/nats_walk.c %D%/nats_block.c %D%/nats_block.h
