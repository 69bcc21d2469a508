/* test_dead_letter.c: which expired message earns a dead letter, and the letter's bytes. */
#include "markers/dead_letter.h"

#include "base/clock.h"
#include "proto/header.h"
#include "unity.h"

static struct mf_buf out;

void setUp(void)
{
    out = (struct mf_buf)MF_BUF_INIT;
}

void tearDown(void)
{
    mf_buf_fini(&out);
}

static void check_header(const char *want, const char *head, bool aged)
{
    struct dead_letter_facts f = {.prefix = "dead",
                                  .subject = MF_LIT("a.b"),
                                  .seq = 7,
                                  .ts_ns = CLOCK_S,
                                  .deadline_ns = 3 * CLOCK_S,
                                  .aged = aged};

    mf_buf_clear(&out);
    dead_letter_header(&out, &f, mf_str(head));
    TEST_ASSERT_TRUE(header_valid(mf_buf_slice(&out)));
    TEST_ASSERT_EQUAL_UINT64(strlen(want), out.len);
    TEST_ASSERT_EQUAL_MEMORY(want, out.ptr, out.len);
}

/* The prefix counts as whole tokens: `deadline.x` is no dead letter of `dead`. */
static void test_letters_and_tombstones_earn_no_letter(void)
{
    TEST_ASSERT_TRUE(dead_letter_wanted("dead", MF_LIT("a"), false, false));
    TEST_ASSERT_FALSE(dead_letter_wanted("dead", MF_LIT("a"), true, false));
    TEST_ASSERT_FALSE(dead_letter_wanted("dead", MF_LIT("a"), false, true));
    TEST_ASSERT_FALSE(dead_letter_wanted("dead", MF_LIT("dead.a"), false, false));
    TEST_ASSERT_TRUE(dead_letter_wanted("dead", MF_LIT("deadline.a"), false, false));
    TEST_ASSERT_TRUE(dead_letter_wanted("dead", MF_LIT("dead"), false, false));
}

static void test_subject_is_prefix_and_subject(void)
{
    struct dead_letter_facts f = {.prefix = "dead.x", .subject = MF_LIT("a.b")};

    dead_letter_subject(&out, &f);
    TEST_ASSERT_EQUAL_UINT64(strlen("dead.x.a.b"), out.len);
    TEST_ASSERT_EQUAL_MEMORY("dead.x.a.b", out.ptr, out.len);
}

#define EXPIRED                                                                                    \
    "Mayfly-Expired-Subject: a.b\r\nMayfly-Expired-Sequence: 7\r\n"                                \
    "Mayfly-Expired-Time: 1970-01-01T00:00:01Z\r\nMayfly-Expired-At: 1970-01-01T00:00:03Z\r\n"

static void test_reason_is_max_age_or_ttl(void)
{
    check_header("NATS/1.0\r\n" EXPIRED "Mayfly-Expired-Reason: TTL\r\n\r\n", "", false);
    check_header("NATS/1.0\r\n" EXPIRED "Mayfly-Expired-Reason: MaxAge\r\n\r\n", "", true);
}

/* A header that acts on publish must not act for the letter. */
static void test_headers_that_act_are_left_out(void)
{
    check_header("NATS/1.0\r\nA: 1\r\nB: 2\r\n" EXPIRED "Mayfly-Expired-Reason: TTL\r\n\r\n",
                 "NATS/1.0\r\nNats-TTL: 1s\r\nA: 1\r\nNats-Msg-Id: x\r\nNats-Rollup: sub\r\n"
                 "Nats-Expected-Stream: S\r\nNats-Schedule-TTL: 1s\r\nNats-Batch-Id: b\r\n"
                 "Mayfly-Expired-Reason: MaxAge\r\nB: 2\r\n\r\n",
                 false);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_letters_and_tombstones_earn_no_letter);
    RUN_TEST(test_subject_is_prefix_and_subject);
    RUN_TEST(test_reason_is_max_age_or_ttl);
    RUN_TEST(test_headers_that_act_are_left_out);
    return UNITY_END();
}
