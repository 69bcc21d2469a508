/* test_ttl_draw.c: pictures of lifetimes: the time line and shares of a whole. */
#include "cli/ttl/ttl_draw.h"

#include "base/clock.h"

#include <limits.h>
#include <unity.h>

#define START 1795082400LL /* 2026-11-19 10:00:00Z, in seconds */

static struct mf_buf out;
static struct term terminal;

void setUp(void)
{
    terminal = (struct term){.tty = true, .utf8 = true, .width = 80, .height = 24};
}
void tearDown(void)
{
    mf_buf_fini(&out);
}

static const char *draw(int64_t now_s, int64_t warn_s, int64_t expires_s)
{
    struct draw_life l = {.written_ns = START * CLOCK_S,
                          .now_ns = (START + now_s) * CLOCK_S,
                          .expires_ns = (START + expires_s) * CLOCK_S,
                          .warn_ns = warn_s == 0 ? 0 : (START + warn_s) * CLOCK_S};

    mf_buf_fini(&out);
    draw_life(&out, &terminal, &l);
    return mf_buf_cstr(&out);
}

/* Columns of the first `mark` in the last picture, -1: none. */
static int column_of(const char *mark)
{
    const char *text = mf_buf_cstr(&out), *at = strstr(text, mark);

    return at == NULL ? -1 : (int)term_columns(mf_slice(text, (size_t)(at - text)));
}

static void test_a_life_is_as_long_as_the_window(void)
{
    const char *text = draw(1800, 0, 3600);

    TEST_ASSERT_EQUAL_STRING_LEN("  10:00 written ", text, 16);
    TEST_ASSERT_NOT_NULL(strstr(text, " 11:00 expires (in 30m)\n"));
    TEST_ASSERT_EQUAL_INT(79, (int)term_columns(mf_slice(text, strlen(text) - 1)));
}

/* The dot is where the time is: half of the dashes before it in the middle of a life. */
static void test_the_dot_moves_from_the_begin_to_the_end(void)
{
    int begin, middle, end;

    (void)draw(0, 0, 3600);
    begin = column_of("●");
    (void)draw(1800, 0, 3600);
    middle = column_of("●");
    (void)draw(3599, 0, 3600);
    end = column_of("●");
    TEST_ASSERT_EQUAL_INT(16, begin);
    TEST_ASSERT_EQUAL_INT(column_of(" 11:00 expires") - 1, end);
    TEST_ASSERT_INT_WITHIN(1, (begin + end) / 2, middle);
}

static void test_the_warning_stands_at_its_share_of_the_life(void)
{
    int dot, warning;

    (void)draw(60, 2700, 3600);
    dot = column_of("●");
    warning = column_of("10:45 warning");
    TEST_ASSERT_GREATER_THAN_INT(dot, warning);
    TEST_ASSERT_GREATER_THAN_INT(column_of("written") + 7, dot);
    TEST_ASSERT_LESS_THAN_INT(column_of("11:00 expires"), warning);
    (void)draw(3000, 2700, 3600); /* past the warning: the dot is behind it */
    TEST_ASSERT_GREATER_THAN_INT(column_of("10:45 warned"), column_of("●"));
    (void)draw(60, -5, 3600); /* a TTL shorter than the warning has none */
    TEST_ASSERT_EQUAL_INT(-1, column_of("warning"));
}

static void test_a_long_life_shows_dates_and_a_short_one_seconds(void)
{
    TEST_ASSERT_NOT_NULL(strstr(draw(0, 0, 3 * 86400), "11-19 10:00 written"));
    TEST_ASSERT_NOT_NULL(strstr(draw(0, 0, 30), "10:00:00 written"));
    TEST_ASSERT_NOT_NULL(strstr(draw(0, 0, 30), "10:00:30 expires (in 30s)"));
}

static void test_a_narrow_window_shows_one_moment_a_line(void)
{
    terminal.width = 40;
    TEST_ASSERT_EQUAL_STRING("  2026-11-19 10:00:00Z  written\n"
                             "  2026-11-19 10:30:00Z  now\n"
                             "  2026-11-19 10:45:00Z  warning\n"
                             "  2026-11-19 11:00:00Z  expires (in 30m)\n",
                             draw(1800, 2700, 3600));
    terminal.width = INT_MAX;
    terminal.tty = false; /* a pipe */
    TEST_ASSERT_EQUAL_STRING("  2026-11-19 10:00:00Z  written\n"
                             "  2026-11-19 10:45:00Z  warned\n"
                             "  2026-11-19 10:50:00Z  now\n"
                             "  2026-11-19 11:00:00Z  expires (in 10m)\n",
                             draw(3000, 2700, 3600));
}

static void test_no_utf8_draws_with_ascii(void)
{
    terminal.utf8 = false;
    for (const char *p = draw(1800, 2700, 3600); *p != '\0'; p++)
        TEST_ASSERT_TRUE((unsigned char)*p < 0x80);
    TEST_ASSERT_NOT_EQUAL_INT(-1, column_of("-*-"));
}

static void test_every_width_and_moment_fits_the_window(void)
{
    for (terminal.width = DRAW_LIFE_MIN; terminal.width < 130; terminal.width++)
        for (int64_t now = 0; now <= 86400 * 9; now += 86400)
            for (int64_t warn = 0; warn < 86400 * 9; warn += 86400 * 2 + 1) {
                const char *text = draw(now, warn, 86400 * 9 + 1);

                for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
                    TEST_ASSERT_LESS_OR_EQUAL_INT(
                        terminal.width, (int)term_columns(mf_slice(text, (size_t)(end - text))));
            }
}

/* "100.0 %" beside "1" of two million, or "0.0 %" of something, would be a lie. */
static void test_a_share_is_neither_all_nor_nothing_unless_it_is(void)
{
    char text[DRAW_SHARE];

    TEST_ASSERT_EQUAL_STRING("99.5 %", draw_share(text, 2388, 2400));
    TEST_ASSERT_EQUAL_STRING("0.1 %", draw_share(text, 1, 2000000));
    TEST_ASSERT_EQUAL_STRING("99.9 %", draw_share(text, 1999999, 2000000));
    TEST_ASSERT_EQUAL_STRING("100.0 %", draw_share(text, 7, 7));
    TEST_ASSERT_EQUAL_STRING("0.0 %", draw_share(text, 0, 7));
    TEST_ASSERT_EQUAL_STRING("0.0 %", draw_share(text, 0, 0));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_life_is_as_long_as_the_window);
    RUN_TEST(test_the_dot_moves_from_the_begin_to_the_end);
    RUN_TEST(test_the_warning_stands_at_its_share_of_the_life);
    RUN_TEST(test_a_long_life_shows_dates_and_a_short_one_seconds);
    RUN_TEST(test_a_narrow_window_shows_one_moment_a_line);
    RUN_TEST(test_no_utf8_draws_with_ascii);
    RUN_TEST(test_every_width_and_moment_fits_the_window);
    RUN_TEST(test_a_share_is_neither_all_nor_nothing_unless_it_is);
    return UNITY_END();
}
