/* test_cli.c: the frame of the tool: command lines, values, tables, texts for people. */
#include "cli/cli_impl.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/table.h"

#include <limits.h>
#include <stdlib.h>
#include <unity.h>

void setUp(void)
{
}
void tearDown(void)
{
}

/* --- a small tool ----------------------------------------------------------------------------- */

static struct {
    int calls, nargs;
    char first[64], text[64], second[64];
    int64_t number, duration, size;
    bool on, json;
} seen;

static int note_call(struct cli *c)
{
    seen.calls++;
    seen.nargs = c->nargs;
    (void)snprintf(seen.first, sizeof seen.first, "%s", cli_arg(c, 0) == NULL ? "" : cli_arg(c, 0));
    (void)snprintf(seen.text, sizeof seen.text, "%s",
                   cli_text(c, "header") == NULL ? "" : cli_text(c, "header"));
    (void)snprintf(seen.second, sizeof seen.second, "%s",
                   cli_text_at(c, "header", 1) == NULL ? "" : cli_text_at(c, "header", 1));
    seen.number = cli_number(c, "limit", -7);
    seen.duration = cli_duration(c, "within", -7);
    seen.size = cli_size(c, "max", -7);
    seen.on = cli_on(c, "all");
    seen.json = c->json;
    return CLI_FOUND;
}

static const struct cli_flag flags[] = {
    {"header", 'H', CLI_TEXTS, "K:V", "a header"}, {"limit", 0, CLI_NUMBER, "N", "how many"},
    {"within", 0, CLI_DURATION, "TIME", "soon"},   {"max", 0, CLI_SIZE, "BYTES", "at most"},
    {"all", 'a', CLI_SWITCH, NULL, "all"},         {0},
};
static const struct cli_command commands[] = {
    {.name = "kv put",
     .args = "BUCKET KEY [VALUE]",
     .about = "put",
     .flags = flags,
     .run = note_call},
    {.name = "kv", .args = NULL, .about = "all buckets", .flags = flags, .run = note_call},
    {.name = "sum", .args = "[FILE...]", .about = "sum", .flags = flags, .run = note_call},
    {0},
};
static const struct cli_command *const tables[] = {commands, help_commands, NULL};

static int run_line(const char *line)
{
    char copy[256], *argv[32], *rest = copy, *word;
    int argc = 0;

    memset(&seen, 0, sizeof seen);
    (void)snprintf(copy, sizeof copy, "mayfly %s", line);
    while ((word = strsep(&rest, " ")) != NULL)
        argv[argc++] = word;
    argv[argc] = NULL;
    return cli_main(tables, argc, argv);
}

/* --- command lines ---------------------------------------------------------------------------- */

static void test_flags_stand_anywhere_and_have_values(void)
{
    TEST_ASSERT_EQUAL(CLI_FOUND,
                      run_line("kv put --limit 5 b -H A:1 k --within=1d2h -HB:2 --max 64K -a"));
    TEST_ASSERT_EQUAL(2, seen.nargs);
    TEST_ASSERT_EQUAL_STRING("b", seen.first);
    TEST_ASSERT_EQUAL_STRING("A:1", seen.text);
    TEST_ASSERT_EQUAL_STRING("B:2", seen.second);
    TEST_ASSERT_EQUAL_INT64(5, seen.number);
    TEST_ASSERT_EQUAL_INT64(26 * 3600 * CLOCK_S, seen.duration);
    TEST_ASSERT_EQUAL_INT64(65536, seen.size);
    TEST_ASSERT_TRUE(seen.on);
    TEST_ASSERT_FALSE(seen.json);
}

static void test_flags_not_given_have_their_defaults(void)
{
    TEST_ASSERT_EQUAL(CLI_FOUND, run_line("kv put b k --json"));
    TEST_ASSERT_EQUAL_INT64(-7, seen.number);
    TEST_ASSERT_EQUAL_STRING("", seen.text);
    TEST_ASSERT_FALSE(seen.on);
    TEST_ASSERT_TRUE(seen.json);
}

static void test_behind_two_dashes_everything_is_an_argument(void)
{
    TEST_ASSERT_EQUAL(CLI_FOUND, run_line("kv put -- b --limit -x"));
    TEST_ASSERT_EQUAL(3, seen.nargs);
    TEST_ASSERT_EQUAL_INT64(-7, seen.number);
}

static void test_bad_command_lines_run_nothing(void)
{
    static const char *const bad[] = {
        "kv put b",
        "kv put b k v more",
        "kv put b k --nope",
        "kv put b k --limit",
        "kv put b k --limit x",
        "kv put b k --limit -1",
        "kv put b k --within 5",
        "kv put b k --within -5s",
        "kv put b k --max 5X",
        "kv put b k --all=1",
        "kv put b k -z",
        "kv put b k --limit 1 --limit 2",
        "kv put b k --within 99999w",
        "kv put b k --max 99999999T",
        "nonsense",
        "kv put b k --limit 99999999999999999999",
        "",
    };

    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        TEST_ASSERT_EQUAL_MESSAGE(CLI_USAGE, run_line(bad[i]), bad[i]);
        TEST_ASSERT_EQUAL_MESSAGE(0, seen.calls, bad[i]);
    }
}

static void test_the_longest_name_wins(void)
{
    TEST_ASSERT_EQUAL(CLI_FOUND, run_line("kv"));
    TEST_ASSERT_EQUAL(0, seen.nargs);
    TEST_ASSERT_EQUAL(CLI_FOUND, run_line("kv put b k"));
    TEST_ASSERT_EQUAL(2, seen.nargs);
}

static void test_any_number_of_arguments(void)
{
    TEST_ASSERT_EQUAL(CLI_FOUND, run_line("sum"));
    TEST_ASSERT_EQUAL(CLI_FOUND, run_line("sum a b c d"));
    TEST_ASSERT_EQUAL(4, seen.nargs);
}

static void test_help_is_printed_and_nothing_runs(void)
{
    TEST_ASSERT_EQUAL(CLI_OK, run_line("kv put --help"));
    TEST_ASSERT_EQUAL(CLI_OK, run_line("--help"));
    TEST_ASSERT_EQUAL(CLI_OK, run_line("help kv put"));
    TEST_ASSERT_EQUAL(CLI_OK, run_line("completion zsh"));
    TEST_ASSERT_EQUAL(CLI_USAGE, run_line("completion fish"));
    TEST_ASSERT_EQUAL(0, seen.calls);
    TEST_ASSERT_EQUAL_STRING("sum", help_suggest(tables, NULL, "sun"));
    TEST_ASSERT_NULL(help_suggest(tables, NULL, "nonsense"));
    TEST_ASSERT_EQUAL_STRING("put", help_suggest(tables, "kv", "putt"));
    TEST_ASSERT_NULL(help_suggest(tables, "kv", "nonsense"));
}

/* --- texts for people ------------------------------------------------------------------------- */

static void test_numbers_as_people_read_them(void)
{
    char t[HUMAN_TEXT];

    TEST_ASSERT_EQUAL_STRING("0", human_count(t, 0));
    TEST_ASSERT_EQUAL_STRING("999", human_count(t, 999));
    TEST_ASSERT_EQUAL_STRING("1,000", human_count(t, 1000));
    TEST_ASSERT_EQUAL_STRING("18,446,744,073,709,551,615", human_count(t, UINT64_MAX));
    TEST_ASSERT_EQUAL_STRING("1023 B", human_bytes(t, 1023));
    TEST_ASSERT_EQUAL_STRING("1.0 KB", human_bytes(t, 1024));
    TEST_ASSERT_EQUAL_STRING("1.0 MB", human_bytes(t, 1048575));
    TEST_ASSERT_EQUAL_STRING("16.0 EB", human_bytes(t, UINT64_MAX));
    TEST_ASSERT_EQUAL_STRING("0/s", human_rate(t, 0));
    TEST_ASSERT_EQUAL_STRING("1.5/s", human_rate(t, 1.5));
    TEST_ASSERT_EQUAL_STRING("12,300/s", human_rate(t, 12300));
}

static void test_durations_have_two_units(void)
{
    char t[HUMAN_TEXT];

    TEST_ASSERT_EQUAL_STRING("0s", human_duration(t, 0));
    TEST_ASSERT_EQUAL_STRING("850ms", human_duration(t, 850 * CLOCK_MS));
    TEST_ASSERT_EQUAL_STRING("12m31s", human_duration(t, 751 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("1h", human_duration(t, 3600 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("6d2h", human_duration(t, (6 * 24 + 2) * 3600 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("-5s", human_duration(t, -5 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("292y171d", human_duration(t, INT64_MAX));
}

static void test_times_of_the_api_are_read(void)
{
    char t[HUMAN_TEXT];
    int64_t ns;

    TEST_ASSERT_EQUAL(0, human_parse_time("2026-11-18T09:00:00Z", &ns));
    TEST_ASSERT_EQUAL_STRING("2026-11-18 09:00:00Z", human_time(t, ns));
    TEST_ASSERT_EQUAL(0, human_parse_time("1970-01-01T01:00:00.5+01:00", &ns));
    TEST_ASSERT_EQUAL_INT64(CLOCK_S / 2, ns);
    TEST_ASSERT_EQUAL(MF_INVAL, human_parse_time("2026-11-18", &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, human_parse_time("2026-13-18T09:00:00Z", &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, human_parse_time("2026-11-18T09:00:00", &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, human_parse_time("", &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, human_parse_time("2026-02-30T09:00:00Z", &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, human_parse_time("0001-01-01T00:00:00Z", &ns));
    TEST_ASSERT_EQUAL(MF_INVAL, human_parse_time("9999-01-01T00:00:00Z", &ns));
}

/* --- tables ----------------------------------------------------------------------------------- */

static const char *print_table(int width, const char *key)
{
    static const char *const heads[] = {"KEY", "SIZE"};
    static struct mf_buf out = MF_BUF_INIT;
    struct term term = {.width = width, .utf8 = true};
    struct table t;

    mf_buf_clear(&out);
    table_init(&t, &term, "lr", heads);
    table_cell(&t, "%s", key);
    table_cell(&t, "%d", 12);
    table_write(&t, &out);
    return mf_buf_cstr(&out);
}

static void test_tables_fit_the_window(void)
{
    TEST_ASSERT_EQUAL_STRING("KEY         SIZE\nalice.1234    12\n",
                             print_table(INT_MAX, "alice.1234"));
    TEST_ASSERT_EQUAL_STRING("KEY       SIZE\nalice.1…    12\n", print_table(14, "alice.1234567"));
    /* Nothing can be cut any more. */
    TEST_ASSERT_EQUAL_STRING("KEY       SIZE\nalice.1…    12\n", print_table(5, "alice.1234567"));
}

static void test_cells_cannot_send_sequences_to_the_terminal(void)
{
    TEST_ASSERT_EQUAL_STRING("KEY             SIZE\n\\x1b[2Jx\\n\\xff    12\n",
                             print_table(INT_MAX, "\033[2Jx\n\xff"));
}

static void test_bars_show_a_little_and_the_whole(void)
{
    struct term term = {.utf8 = true}, ascii = {.utf8 = false};
    struct mf_buf out = MF_BUF_INIT;

    term_bar(&term, &out, 0.0001, 4);
    mf_buf_byte(&out, '|');
    term_bar(&term, &out, 1.5, 4);
    mf_buf_byte(&out, '|');
    term_bar(&term, &out, 0, 2);
    mf_buf_byte(&out, '|');
    term_bar(&ascii, &out, 0.5, 4);
    TEST_ASSERT_EQUAL_STRING("▏   |████|  |##  ", mf_buf_cstr(&out));
    mf_buf_fini(&out);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_flags_stand_anywhere_and_have_values);
    RUN_TEST(test_flags_not_given_have_their_defaults);
    RUN_TEST(test_behind_two_dashes_everything_is_an_argument);
    RUN_TEST(test_bad_command_lines_run_nothing);
    RUN_TEST(test_the_longest_name_wins);
    RUN_TEST(test_any_number_of_arguments);
    RUN_TEST(test_help_is_printed_and_nothing_runs);
    RUN_TEST(test_numbers_as_people_read_them);
    RUN_TEST(test_durations_have_two_units);
    RUN_TEST(test_times_of_the_api_are_read);
    RUN_TEST(test_tables_fit_the_window);
    RUN_TEST(test_cells_cannot_send_sequences_to_the_terminal);
    RUN_TEST(test_bars_show_a_little_and_the_whole);
    (void)print_table(80, "");
    return UNITY_END();
}
