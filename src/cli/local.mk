# cli: the operator's tool `mayfly`.
noinst_LIBRARIES += %D%/libcli.a
%C%_libcli_a_SOURCES = \
	%D%/cli.c %D%/cli.h %D%/cli_impl.h %D%/cli_flags.c %D%/cli_help.c %D%/cli_completion.c %D%/cli_man.c \
	%D%/connect.c %D%/connect.h %D%/context.c %D%/context.h %D%/request.c %D%/request.h \
	%D%/request_stream.c %D%/term.c %D%/term.h %D%/term_live.c %D%/table.c %D%/table.h \
	%D%/human.c %D%/human.h %D%/plain_file.c %D%/plain_file.h \
	%D%/http_get.c %D%/http_get.h %D%/server_check.c %D%/server_check.h \
	%D%/check/check.c %D%/check/check.h %D%/check/check_impl.h %D%/check/check_log_impl.h %D%/check/check_record.c %D%/check/check_segments.c \
	%D%/check/check_crypt.c %D%/check/check_key.c %D%/check/check_key.h %D%/check/check_model.c %D%/check/check_model.h %D%/check/check_log.c %D%/check/check_rules.c %D%/check/check_live.c \
	%D%/check/check_checkpoint.c %D%/check/check_compare.c %D%/check/check_doubt.c %D%/check/check_store.c %D%/check/check_dir.c \
	%D%/check/check_dir.h %D%/check/check_journal.c %D%/check/check_journal.h %D%/check/check_find.c %D%/check/check_find.h \
	%D%/check/repair.c %D%/check/repair.h %D%/check/repair_log.c %D%/check/repair_log.h %D%/check/repair_dir.c \
	%D%/check/repair_dir.h %D%/check/repair_main.c %D%/check/repair_report.c \
	%D%/check/check_commands.c %D%/check/check_commands.h %D%/check/check_report.c %D%/check/check_report.h %D%/check/check_json.c
%C%_libcli_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(NATS_CFLAGS) $(OPENSSL_CFLAGS) $(CRYPT_CFLAGS)
# Each part adds its files to the same archive.
include %D%/ttl/local.mk
include %D%/data/local.mk
include %D%/ops/local.mk
include %D%/import/local.mk

CLI_LIBS = %D%/libcli.a $(SUBJECT_LIBS) $(JANSSON_LIBS) $(NATS_LIBS) $(OPENSSL_LIBS) $(CRYPT_LIBS) $(SODIUM_LIBS)

bin_PROGRAMS += mayfly
mayfly_SOURCES = %D%/mayfly.c
mayfly_LDADD = $(CLI_LIBS)

UNIT_TESTS += test/unit/cli/cli
test_unit_cli_cli_SOURCES = test/unit/cli/test_cli.c
test_unit_cli_cli_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_cli_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS) $(NATS_CFLAGS)

UNIT_TESTS += test/unit/cli/http_get test/unit/cli/server_check \
	test/unit/cli/check test/unit/cli/check_damage test/unit/cli/check_checkpoint test/unit/cli/check_main \
	test/unit/cli/check_nomem test/unit/cli/repair
test_unit_cli_http_get_SOURCES = test/unit/cli/test_http_get.c
test_unit_cli_http_get_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_http_get_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cli_server_check_SOURCES = test/unit/cli/test_server_check.c
test_unit_cli_server_check_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_server_check_CPPFLAGS = $(TEST_CPPFLAGS)

LOG_WRITER = test/support/log_writer.c test/support/log_writer.h test/support/check_image.h
test_unit_cli_check_SOURCES = test/unit/cli/test_check.c $(LOG_WRITER)
test_unit_cli_check_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_check_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cli_check_damage_SOURCES = test/unit/cli/test_check_damage.c $(LOG_WRITER)
test_unit_cli_check_damage_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_check_damage_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cli_check_checkpoint_SOURCES = test/unit/cli/test_check_checkpoint.c $(LOG_WRITER)
test_unit_cli_check_checkpoint_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_check_checkpoint_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cli_check_main_SOURCES = test/unit/cli/test_check_main.c $(LOG_WRITER)
test_unit_cli_check_main_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_check_main_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
test_unit_cli_repair_SOURCES = test/unit/cli/test_repair.c $(LOG_WRITER)
test_unit_cli_repair_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_repair_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
test_unit_cli_repair_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pread
test_unit_cli_check_nomem_SOURCES = test/unit/cli/test_check_nomem.c test/support/no_memory.h $(LOG_WRITER)
test_unit_cli_check_nomem_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_check_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cli_check_nomem_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
