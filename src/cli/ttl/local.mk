# cli/ttl: lifetimes: mayfly ttl, mayfly demo.
src_cli_libcli_a_SOURCES += %D%/ttl_commands.c %D%/ttl_commands.h %D%/ttl_impl.h %D%/ttl_common.c \
	%D%/ttl_ask.c %D%/ttl_draw.c %D%/ttl_draw.h %D%/ttl_stats.c %D%/ttl_list.c %D%/ttl_list_table.c %D%/ttl_list_impl.h %D%/ttl_show.c \
	%D%/ttl_change.c %D%/ttl_forecast.c %D%/ttl_watch.c %D%/ttl_top.c %D%/ttl_policy.c \
	%D%/ttl_policy_impl.h %D%/ttl_policy_set.c %D%/ttl_backfill.c %D%/ttl_doctor.c \
	%D%/ttl_doctor_checks.c %D%/ttl_doctor_impl.h %D%/demo.c %D%/demo_show.c %D%/demo_impl.h %D%/demo_server.c

UNIT_TESTS += test/unit/cli/ttl_draw test/unit/cli/ttl_doctor test/unit/cli/table
test_unit_cli_table_SOURCES = test/unit/cli/test_table.c
test_unit_cli_table_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_table_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cli_ttl_draw_SOURCES = test/unit/cli/test_ttl_draw.c
test_unit_cli_ttl_draw_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_ttl_draw_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_cli_ttl_doctor_SOURCES = test/unit/cli/test_ttl_doctor.c
test_unit_cli_ttl_doctor_LDADD = $(CLI_LIBS) $(UNITY_LIBS)
test_unit_cli_ttl_doctor_CPPFLAGS = $(TEST_CPPFLAGS) $(JANSSON_CFLAGS) $(NATS_CFLAGS)
