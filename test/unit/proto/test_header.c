/* test_header.c: header blocks: the reference's look-up rules, and properties of set and remove
 * over random blocks, held against a simple list of pairs. */
#include "proto/header.h"

#include "support/guard.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct mf_buf buf, buf2;

void setUp(void)
{
}

void tearDown(void)
{
    mf_buf_fini(&buf);
    mf_buf_fini(&buf2);
    guard_free();
}

static void check_text(const char *want, const struct mf_buf *b)
{
    TEST_ASSERT_FALSE(mf_buf_failed(b));
    TEST_ASSERT_EQUAL_UINT64(strlen(want), b->len);
    if (b->len > 0)
        TEST_ASSERT_EQUAL_MEMORY(want, b->ptr, b->len);
}

/* want NULL: not found.  The block ends at an unmapped page. */
static void check_get(const char *block, const char *name, const char *want)
{
    struct mf_slice value = MF_LIT("untouched");
    size_t len = strlen(block);
    bool found = header_get(mf_slice(guard_copy(block, len), len), name, &value);

    TEST_ASSERT_EQUAL_MESSAGE(want != NULL, found, block);
    if (want == NULL)
        want = "untouched";
    TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(value, want), block);
}

/* --- look-up ---------------------------------------------------------------------------------- */

static void test_get_finds_the_first_exact_name(void)
{
    check_get("NATS/1.0\r\nA: 1\r\n\r\n", "A", "1");
    check_get("NATS/1.0\r\nA: 1\r\nA: 2\r\n\r\n", "A", "1");
    check_get("NATS/1.0\r\nAA: 1\r\nA: 2\r\n\r\n", "A", "2");
    check_get("NATS/1.0\r\nB: A: 1\r\nA: 2\r\n\r\n", "A", "2"); /* only at a line's start */
    check_get("NATS/1.0\r\na: 1\r\n\r\n", "A", NULL);           /* case counts */
    check_get("NATS/1.0\r\nA : 1\r\n\r\n", "A", NULL);          /* ':' directly behind the name */
    check_get("NATS/1.0\r\nAB\r\n\r\n", "A", NULL);
    check_get("NATS/1.0 503\r\nA: 1\r\n\r\n", "A", "1");
    check_get("A: 1\r\n\r\n", "A", NULL); /* the first line is never a header */
    check_get("", "A", NULL);
}

static void test_get_takes_the_value_up_to_crlf(void)
{
    check_get("NATS/1.0\r\nA:1\r\n\r\n", "A", "1");
    check_get("NATS/1.0\r\nA:   1 2 \r\n\r\n", "A", "1 2 ");
    check_get("NATS/1.0\r\nA:\t1\r\n\r\n", "A", "\t1"); /* blanks are spaces, as in the reference */
    check_get("NATS/1.0\r\nA:\r\n\r\n", "A", "");
    check_get("NATS/1.0\r\nA:  \r\n\r\n", "A", "");
    check_get("NATS/1.0\r\nA: x\ry\nz\r\n\r\n", "A", "x\ry\nz"); /* lone CR and LF belong to it */
    check_get("NATS/1.0\r\nA: b:c\r\n\r\n", "A", "b:c");
    /* Lies: no end of line, no end of block. */
    check_get("NATS/1.0\r\nA: 1", "A", "1");
    check_get("NATS/1.0\r\nA: 1\r", "A", "1\r");
    check_get("NATS/1.0\r\nA:", "A", "");
    check_get("NATS/1.0\r\nA", "A", NULL);
    check_get("NATS/1.0\nA: 1\r\n\r\n", "A", NULL);
    check_get("\r\nA: 1\r\n", "A", "1");
}

static void test_next_walks_all_lines_in_order(void)
{
    static const char block[] = "NATS/1.0 100 Idle\r\nA: 1\r\nb:2\r\nA:\r\n\r\n";
    struct mf_slice in = mf_slice(block, sizeof block - 1), name, value;
    size_t pos = 0;

    TEST_ASSERT_TRUE(header_next(in, &pos, &name, &value));
    TEST_ASSERT_TRUE(mf_eq_str(name, "A") && mf_eq_str(value, "1"));
    TEST_ASSERT_TRUE(header_next(in, &pos, &name, &value));
    TEST_ASSERT_TRUE(mf_eq_str(name, "b") && mf_eq_str(value, "2"));
    TEST_ASSERT_TRUE(header_next(in, &pos, &name, &value));
    TEST_ASSERT_TRUE(mf_eq_str(name, "A") && value.len == 0);
    TEST_ASSERT_FALSE(header_next(in, &pos, &name, &value));
    TEST_ASSERT_EQUAL_UINT64(in.len, pos);
}

static void test_valid_accepts_only_whole_blocks(void)
{
    static const struct {
        const char *block;
        bool valid;
    } rows[] = {
        {"NATS/1.0\r\n\r\n", true},
        {"NATS/1.0 503\r\n\r\n", true},
        {"NATS/1.0 408 Request Timeout\r\nA: b\r\n\r\n", true},
        {"NATS/1.0\r\nA: b\r\nC:\r\n\r\n", true},
        {"", false},
        {"NATS/1.0", false},
        {"NATS/1.0\r\n", false},
        {"NATS/1.0\r\n\r", false},
        {"NATS/1.0\n\n", false},
        {"NATS/1.0503\r\n\r\n", false},
        {"NATS/1.1\r\n\r\n", false},
        {"HTTP/1.0\r\n\r\n", false},
        {"NATS/1.0\r\nA: b\r\n", false},
        {"NATS/1.0\r\nA: b\r\n\r", false},
        {"NATS/1.0\r\nA: b", false},
        {"NATS/1.0\r\nAb\r\n\r\n", false},
        {"NATS/1.0\r\n: b\r\n\r\n", false},
        {"NATS/1.0\r\n\r\nA: b\r\n\r\n", false},
        {"NATS/1.0\r\nA: b\r\n\r\n ", false},
        {"NATS/1.0\r\nA: \r\n\r\n\r\n", false},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        size_t len = strlen(rows[i].block);
        bool valid = header_valid(mf_slice(guard_copy(rows[i].block, len), len));

        TEST_ASSERT_EQUAL_MESSAGE(rows[i].valid, valid, rows[i].block);
    }
}

/* --- writing ---------------------------------------------------------------------------------- */

static void test_built_block_has_the_wire_form(void)
{
    header_begin(&buf, NULL);
    header_add(&buf, "Nats-Subject", MF_LIT("a.b"));
    header_add(&buf, "Empty", MF_SLICE_NONE);
    header_end(&buf);
    check_text("NATS/1.0\r\nNats-Subject: a.b\r\nEmpty: \r\n\r\n", &buf);

    mf_buf_clear(&buf);
    header_begin(&buf, "404 No Messages");
    header_end(&buf);
    check_text("NATS/1.0 404 No Messages\r\n\r\n", &buf);
}

/* A value that came from a client must not become a header of its own. */
static void test_line_breaks_in_a_value_cannot_forge_headers(void)
{
    struct mf_slice forged;

    header_begin(&buf, NULL);
    header_add(&buf, "A", MF_LIT("1\r\nForged: yes\n\r"));
    header_end(&buf);
    check_text("NATS/1.0\r\nA: 1  Forged: yes  \r\n\r\n", &buf);
    TEST_ASSERT_FALSE(header_get(mf_buf_slice(&buf), "Forged", &forged));
}

static void check_set(const char *block, const char *name, const char *value, const char *want)
{
    size_t len = strlen(block);

    mf_buf_clear(&buf);
    header_set(&buf, mf_slice(guard_copy(block, len), len), name, mf_str(value));
    check_text(want, &buf);
}

static void check_remove(const char *block, const char *name, const char *want)
{
    size_t len = strlen(block);

    mf_buf_clear(&buf);
    header_remove(&buf, mf_slice(guard_copy(block, len), len), name);
    check_text(want, &buf);
}

static void test_set_replaces_or_adds_at_the_end(void)
{
    check_set("", "A", "1", "NATS/1.0\r\nA: 1\r\n\r\n");
    check_set("NATS/1.0\r\n\r\n", "A", "1", "NATS/1.0\r\nA: 1\r\n\r\n");
    check_set("NATS/1.0\r\nB: 2\r\n\r\n", "A", "1", "NATS/1.0\r\nB: 2\r\nA: 1\r\n\r\n");
    check_set("NATS/1.0\r\nA: 2\r\nB: 3\r\n\r\n", "A", "1", "NATS/1.0\r\nA: 1\r\nB: 3\r\n\r\n");
    check_set("NATS/1.0\r\nA:2\r\nB: 3\r\nA: 4\r\n\r\n", "A", "1",
              "NATS/1.0\r\nA:1\r\nB: 3\r\nA: 4\r\n\r\n"); /* the first one counts */
    check_set("NATS/1.0\r\nA:\r\n\r\n", "A", "1", "NATS/1.0\r\nA:1\r\n\r\n");
    check_set("NATS/1.0 100\r\n\r\n", "A", "1", "NATS/1.0 100\r\nA: 1\r\n\r\n");
    /* Bytes that are no header block stay invalid, but hold the header where header_get() finds
     * it. */
    check_set("junk", "A", "1", "junk\r\nA: 1\r\n\r\n");
    check_set("NATS/1.0\r\n", "A", "1", "NATS/1.0\r\nA: 1\r\n\r\n");
    check_set("NATS/1.0\r\nA: 2", "A", "1", "NATS/1.0\r\nA: 1\r\n");
}

static void test_remove_drops_every_line_of_that_name(void)
{
    check_remove("NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n", "A", "NATS/1.0\r\nB: 2\r\n\r\n");
    check_remove("NATS/1.0\r\nA: 1\r\nB: 2\r\nA:3\r\n\r\n", "A", "NATS/1.0\r\nB: 2\r\n\r\n");
    check_remove("NATS/1.0\r\nAB: 1\r\n\r\n", "A", "NATS/1.0\r\nAB: 1\r\n\r\n");
    check_remove("NATS/1.0\r\nA: 1\r\n\r\n", "A", ""); /* the last line: no block at all */
    check_remove("NATS/1.0\r\nA: 1\r\nA: 2\r\n\r\n", "A", "");
    check_remove("NATS/1.0 503\r\nA: 1\r\n\r\n", "A", "NATS/1.0 503\r\n\r\n"); /* still says 503 */
    check_remove("NATS/1.0\r\n\r\n", "A",
                 "NATS/1.0\r\n\r\n"); /* nothing removed, nothing changed */
    check_remove("", "A", "");
    check_remove("junk", "A", "junk");
    check_remove("NATS/1.0\r\nB: 1\r\nA: 2", "A", "NATS/1.0\r\nB: 1\r\n");
}

/* --- properties ------------------------------------------------------------------------------- */

static uint64_t seed = 20111;

static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 11) % n;
}

static const char *const names[] = {"A", "AA", "B", "Nats-TTL", "Nats-TTL2", "x"};

/* 0..12 characters that survive a round trip: no line breaks, no blank in front. */
static struct mf_slice random_value(char dst[16])
{
    static const char chars[] = "abc :=/\t0189 A";
    size_t n = pick(13);

    for (size_t i = 0; i < n; i++)
        dst[i] = chars[pick(i == 0 ? 3 : sizeof chars - 1)];
    return mf_slice(dst, n);
}

static size_t count_lines(struct mf_slice block, const char *name)
{
    struct mf_slice n, v;
    size_t pos = 0, count = 0;

    while (header_next(block, &pos, &n, &v))
        count += name == NULL || mf_eq_str(n, name);
    return count;
}

static void random_block(struct mf_buf *b)
{
    char value[16];

    mf_buf_clear(b);
    header_begin(b, pick(4) == 0 ? "100" : NULL);
    for (uint32_t i = pick(6); i > 0; i--)
        header_add(b, names[pick(MF_COUNT(names))], random_value(value));
    header_end(b);
}

/* set then get gives the value; the others stay; the block stays valid; remove undoes set. */
static void test_random_set_and_remove_round_trip(void)
{
    for (int i = 0; i < 20000; i++) {
        const char *name = names[pick(MF_COUNT(names))], *other = names[pick(MF_COUNT(names))];
        char text[16];
        struct mf_slice value = random_value(text), got, before, after, block;
        size_t had, lines;
        bool found;

        random_block(&buf);
        block = mf_slice(guard_copy(buf.ptr, buf.len), buf.len);
        TEST_ASSERT_TRUE(header_valid(block));
        had = count_lines(block, name);
        lines = count_lines(block, NULL);
        found = header_get(block, other, &before);

        mf_buf_clear(&buf2);
        header_set(&buf2, block, name, value);
        TEST_ASSERT_TRUE(header_valid(mf_buf_slice(&buf2)));
        TEST_ASSERT_TRUE(header_get(mf_buf_slice(&buf2), name, &got));
        TEST_ASSERT_TRUE(mf_eq(got, value));
        TEST_ASSERT_EQUAL_UINT64(lines + (had == 0), count_lines(mf_buf_slice(&buf2), NULL));
        if (strcmp(name, other) != 0) {
            TEST_ASSERT_EQUAL(found, header_get(mf_buf_slice(&buf2), other, &after));
            TEST_ASSERT_TRUE(!found || mf_eq(before, after));
        }

        mf_buf_clear(&buf);
        header_remove(&buf, mf_buf_slice(&buf2), name);
        TEST_ASSERT_FALSE(header_get(mf_buf_slice(&buf), name, &got));
        TEST_ASSERT_EQUAL_UINT64(lines - had, count_lines(mf_buf_slice(&buf), NULL));
        TEST_ASSERT_TRUE(buf.len == 0 || header_valid(mf_buf_slice(&buf)));
    }
}

/* For any bytes: after set the value is found, after remove it is not. */
static void test_random_bytes_keep_the_promises(void)
{
    static const char spice[] = "A:\r\n 1NATS/.0";

    for (int i = 0; i < 20000; i++) {
        char raw[64];
        size_t n = pick(sizeof raw);
        struct mf_slice block, got;

        for (size_t k = 0; k < n; k++)
            raw[k] = pick(3) == 0 ? "A:\r\n"[pick(4)] : spice[pick(sizeof spice - 1)];
        block = mf_slice(guard_copy(raw, n), n);
        mf_buf_clear(&buf);
        header_set(&buf, block, "A", MF_LIT("v"));
        TEST_ASSERT_TRUE(header_get(mf_buf_slice(&buf), "A", &got));
        TEST_ASSERT_TRUE(mf_eq_str(got, "v"));
        mf_buf_clear(&buf);
        header_remove(&buf, block, "A");
        TEST_ASSERT_FALSE(header_get(mf_buf_slice(&buf), "A", &got));
        (void)header_valid(block);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_get_finds_the_first_exact_name);
    RUN_TEST(test_get_takes_the_value_up_to_crlf);
    RUN_TEST(test_next_walks_all_lines_in_order);
    RUN_TEST(test_valid_accepts_only_whole_blocks);
    RUN_TEST(test_built_block_has_the_wire_form);
    RUN_TEST(test_line_breaks_in_a_value_cannot_forge_headers);
    RUN_TEST(test_set_replaces_or_adds_at_the_end);
    RUN_TEST(test_remove_drops_every_line_of_that_name);
    RUN_TEST(test_random_set_and_remove_round_trip);
    RUN_TEST(test_random_bytes_keep_the_promises);
    return UNITY_END();
}
