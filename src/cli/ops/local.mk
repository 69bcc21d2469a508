# cli/ops: servers, backups, measurements, keys.
src_cli_libcli_a_SOURCES += %D%/ops_commands.c %D%/ops_commands.h \
	%D%/backup.c %D%/backup.h %D%/backup_dir.c %D%/backup_dir.h %D%/backup_scan.c %D%/backup_scan.h %D%/restore.c \
	%D%/bench.c %D%/bench.h %D%/bench_expiry.c %D%/bench_hist.c %D%/bench_hist.h %D%/bench_impl.h %D%/bench_load.c \
	%D%/bench_report.c \
	%D%/nkeys.c %D%/nkeys.h %D%/pages.c %D%/pages.h %D%/passwd.c %D%/passwd.h \
	%D%/server_info.c %D%/server_info.h %D%/server_report.c %D%/server_report.h \
	%D%/top.c %D%/top.h %D%/top_draw.c %D%/top_impl.h %D%/top_load.c

UNIT_TESTS += test/unit/cli/ops
test_unit_cli_ops_SOURCES = test/unit/cli/test_ops.c
test_unit_cli_ops_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_ops_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS)
