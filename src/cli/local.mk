# cli: the operator's tool `mayfly`.
noinst_LIBRARIES += %D%/libcli.a
%C%_libcli_a_SOURCES = \
	%D%/http_get.c %D%/http_get.h %D%/server_check.c %D%/server_check.h \
	%D%/check.c %D%/check.h %D%/check_impl.h %D%/check_record.c %D%/check_segments.c \
	%D%/check_model.c %D%/check_model.h %D%/check_log.c %D%/check_rules.c %D%/check_live.c \
	%D%/check_checkpoint.c %D%/check_compare.c %D%/check_doubt.c %D%/check_store.c %D%/check_dir.c \
	%D%/check_dir.h %D%/check_find.c %D%/check_find.h \
	%D%/repair.c %D%/repair.h %D%/repair_log.c %D%/repair_log.h %D%/repair_dir.c \
	%D%/repair_dir.h %D%/repair_main.c %D%/repair_report.c \
	%D%/check_report.c %D%/check_report.h %D%/check_json.c
%C%_libcli_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)

CLI_LIBS = %D%/libcli.a $(CODEC_LIBS) $(JANSSON_LIBS)

bin_PROGRAMS += mayfly
mayfly_SOURCES = %D%/mayfly.c
mayfly_LDADD = $(CLI_LIBS)

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
