/* test_table.c: tables in windows of any width, with cells of others; bars; numbers for people. */
#include "cli/table.h"

#include "base/clock.h"
#include "cli/human.h"

#include <limits.h>
#include <locale.h>
#include <unity.h>

static struct term terminal;
static struct mf_buf out;

void setUp(void)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    terminal = (struct term){.out = stdout, .tty = true, .utf8 = true, .width = 80, .height = 24};
    out = (struct mf_buf)MF_BUF_INIT;
}
void tearDown(void)
{
    mf_buf_fini(&out);
}

static const char *const heads[] = {"KEY", "N", "BYTES"};

/* One row: a text and two numbers. */
static const char *draw(const char *key, const char *n, const char *bytes)
{
    struct table t;

    out.len = 0;
    table_init(&t, &terminal, "lrr", heads);
    table_cell(&t, "%s", key);
    table_cell(&t, "%s", n);
    table_cell(&t, "%s", bytes);
    table_write(&t, &out);
    return mf_buf_cstr(&out);
}

static void test_columns_are_as_wide_as_their_widest_cell(void)
{
    TEST_ASSERT_EQUAL_STRING("KEY     N  BYTES\n"
                             "abcd  123    1 B\n",
                             draw("abcd", "123", "1 B"));
}

static void test_text_gives_way_before_numbers(void)
{
    terminal.width = 23;
    TEST_ASSERT_EQUAL_STRING("KEY            N  BYTES\n"
                             "a.long.ke…  1234    1 B\n",
                             draw("a.long.key.of.somebody", "1234", "1 B"));
    terminal.utf8 = false;
    TEST_ASSERT_NOT_NULL(strstr(draw("a.long.key.of.somebody", "1234", "1 B"), "a.long.ke~"));
}

/* The history of a key, with an age of any width: the value gives way, not a head. */
static const char *draw_history(const char *age)
{
    static const char *const columns[] = {"REVISION", "OPERATION", "AGE",
                                          "WRITTEN",  "SIZE",      "VALUE"};
    struct table t;

    out.len = 0;
    table_init(&t, &terminal, "rlRLRl", columns);
    table_cell(&t, "1");
    table_cell(&t, "put");
    table_cell(&t, "%s", age);
    table_cell(&t, "2026-01-02 03:04:05");
    table_cell(&t, "300 B");
    table_cell(&t, "%0300d", 0);
    table_write(&t, &out);
    return mf_buf_cstr(&out);
}

static void test_a_head_stays_whole_while_another_column_can_give_way(void)
{
    terminal.width = 40;
    TEST_ASSERT_EQUAL_STRING("REVISION  OPERATION     AGE  VALUE\n"
                             "       1  put        1s ago  0000000000…\n",
                             draw_history("1s ago"));
    TEST_ASSERT_EQUAL_STRING("REVISION  OPERATION        AGE  VALUE\n"
                             "       1  put        982ms ago  0000000…\n",
                             draw_history("982ms ago"));
    TEST_ASSERT_EQUAL_STRING("REVISION  OPERATION  VALUE\n"
                             "       1  put        000000000000000000…\n",
                             draw_history("12m31s ago"));
    terminal.width = 28; /* nothing can be left out or give way any more: the head is cut */
    TEST_ASSERT_EQUAL_STRING("REVISION  OPERATI…  VALUE\n"
                             "       1  put       0000000…\n",
                             draw_history("1s ago"));
}

static void test_columns_at_the_right_are_left_out_where_nothing_else_helps(void)
{
    terminal.width = 18;
    TEST_ASSERT_EQUAL_STRING("KEY          N\n"
                             "a.long.…  1234\n",
                             draw("a.long.key.of.somebody", "1234", "1 B"));
    terminal.width = 5; /* two columns stay, and the terminal wraps them */
    TEST_ASSERT_NOT_NULL(strstr(draw("a.long.key.of.somebody", "1234", "1 B"), "a.long.…  1234\n"));
}

static void test_without_a_terminal_nothing_is_cut(void)
{
    terminal.tty = false;
    terminal.width = INT_MAX;
    TEST_ASSERT_NOT_NULL(
        strstr(draw("a.long.key.of.somebody", "1", "1 B"), "a.long.key.of.somebody"));
}

/* A letter of two columns is not cut in half, and no column is counted twice. */
static void test_wide_letters_take_two_columns(void)
{
    TEST_ASSERT_EQUAL_STRING("KEY       N  BYTES\n"
                             "日本語の  1    1 B\n",
                             draw("日本語の", "1", "1 B"));
    terminal.width = 20;
    TEST_ASSERT_NOT_NULL(strstr(draw("日本語の鍵と名前", "1", "1 B"), "日本語の…   1    1 B\n"));
    for (const char *line = draw("日本語の鍵と名前", "1", "1 B"); *line != '\0';) {
        size_t len = strcspn(line, "\n");

        TEST_ASSERT_LESS_OR_EQUAL_size_t(20, term_columns(mf_slice(line, len)));
        line += len + 1;
    }
}

static void test_cells_of_others_cannot_harm_the_terminal(void)
{
    TEST_ASSERT_NOT_NULL(strstr(draw("\033[2J\a", "1", "1 B"), "\\x1b[2J\\x07"));
    TEST_ASSERT_NOT_NULL(strstr(draw("c1\xc2\x9b", "1", "1 B"), "c1\\u009b"));
    TEST_ASSERT_NOT_NULL(strstr(draw("\xe2\x80\xae", "1", "1 B"), "\\u202e"));
    TEST_ASSERT_NOT_NULL(strstr(draw("a\nb\x7f", "1", "1 B"), "a\\nb\\x7f"));
    TEST_ASSERT_NOT_NULL(strstr(draw("bad\xff\xc3", "1", "1 B"), "bad\\xff\\xc3"));
    TEST_ASSERT_TRUE(term_is_safe(mf_str("{\n  \"größe\": 1\n}")));
    TEST_ASSERT_FALSE(term_is_safe(mf_str("\xc2\x9b")));
    TEST_ASSERT_FALSE(term_is_safe(mf_str("\xff")));
}

static void test_a_bar_has_its_width_and_shows_a_little_as_more_than_nothing(void)
{
    static const double shares[] = {-1, 0, 0.0001, 0.33, 0.999, 1, 2};

    for (size_t i = 0; i < MF_COUNT(shares); i++) {
        out.len = 0;
        term_bar(&terminal, &out, shares[i], 10);
        TEST_ASSERT_EQUAL_size_t(10, term_columns(mf_buf_slice(&out)));
        TEST_ASSERT_EQUAL(shares[i] <= 0, strspn(mf_buf_cstr(&out), " ") == 10);
    }
    terminal.utf8 = false;
    out.len = 0;
    term_bar(&terminal, &out, 0.5, 10);
    TEST_ASSERT_EQUAL_STRING("#####     ", mf_buf_cstr(&out));
}

static void test_numbers_for_people(void)
{
    char text[HUMAN_TEXT];

    TEST_ASSERT_EQUAL_STRING("1,234,567", human_count(text, 1234567));
    TEST_ASSERT_EQUAL_STRING("18,446,744,073,709,551,615", human_count(text, UINT64_MAX));
    TEST_ASSERT_EQUAL_STRING("1.0 KB", human_bytes(text, 1024));
    TEST_ASSERT_EQUAL_STRING("1.0 MB", human_bytes(text, 1024 * 1024 - 1));
    TEST_ASSERT_EQUAL_STRING("12m31s", human_duration(text, (12 * 60 + 31) * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("6d2h", human_duration(text, (6 * 24 + 2) * 3600 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("850ms", human_duration(text, 850 * CLOCK_MS));
    TEST_ASSERT_EQUAL_STRING("0s", human_duration(text, 0));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_columns_are_as_wide_as_their_widest_cell);
    RUN_TEST(test_text_gives_way_before_numbers);
    RUN_TEST(test_a_head_stays_whole_while_another_column_can_give_way);
    RUN_TEST(test_columns_at_the_right_are_left_out_where_nothing_else_helps);
    RUN_TEST(test_without_a_terminal_nothing_is_cut);
    RUN_TEST(test_wide_letters_take_two_columns);
    RUN_TEST(test_cells_of_others_cannot_harm_the_terminal);
    RUN_TEST(test_a_bar_has_its_width_and_shows_a_little_as_more_than_nothing);
    RUN_TEST(test_numbers_for_people);
    return UNITY_END();
}
