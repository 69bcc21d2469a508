/* test_drafts.c: a bucket of drafts that live a day: they end by themselves, also on a full disk
 * and over a weekend; the dead slow down no list; their lifetimes need nothing new on disk. */
#include "support/fault_io.h"
#include "support/stream_world.h"

#include "base/clock.h"
#include "store/store_io.h"
#include "stream/stream_ahead.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define HOUR (3600 * CLOCK_S)
#define DAY  (24 * HOUR)

static struct world w;
static char *subjects[] = {(char *)"$KV.drafts.>"};

/* As a KV client makes it, with one key of a policy; ttl NULL: with none. */
static void open_drafts(const char *ttl)
{
    struct json_pair pair = {(char *)"mayfly.ttl.default", (char *)ttl};

    world_open(&w, &(struct stream_config){.name = (char *)"KV_drafts",
                                           .subjects = {subjects, 1},
                                           .max_msgs_per_subject = 1,
                                           .metadata = {&pair, ttl != NULL, ttl != NULL}});
}

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

static uint64_t save(unsigned draft)
{
    char subject[40];
    struct world_ack a;

    snprintf(subject, sizeof subject, "$KV.drafts.%u", draft);
    a = world_publish(&w, subject, NULL, "text");
    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

/* Many at a time, on their way to the disk together. */
static void save_many(unsigned from, unsigned n)
{
    struct world_ack *a = calloc(n, sizeof *a);
    char subject[40];

    TEST_ASSERT_NOT_NULL(a);
    for (unsigned i = 0; i < n; i++) {
        snprintf(subject, sizeof subject, "$KV.drafts.%u", from + i);
        world_send(&w, subject, "r", NULL, "text", &a[i]);
    }
    world_turns(&w);
    for (unsigned i = 0; i < n; i++)
        TEST_ASSERT_TRUE(a[i].done && a[i].err_code == 0);
    free(a);
}

static void test_R003_02_abandoned_drafts_end_by_themselves(void)
{
    struct stream_lives l;
    struct stream_state st;

    open_drafts("24h");
    save_many(0, 1000);
    world_time(&w, w.now_ns + 10 * HOUR);
    for (unsigned i = 0; i < 10; i++)
        (void)save(i); /* these are continued */
    stream_lives(w.stream, &l);
    TEST_ASSERT_EQUAL_UINT64(1000, l.with);
    TEST_ASSERT_EQUAL_UINT64(0, l.without + l.infinite);
    world_time(&w, w.now_ns + 14 * HOUR + CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(10, world_count(&w));
    world_time(&w, w.now_ns + 10 * HOUR - 2 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(10, world_count(&w));
    world_time(&w, w.now_ns + 2 * CLOCK_S);
    stream_state(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(0, st.msgs);
    TEST_ASSERT_EQUAL_UINT64(0, st.bytes);
}

/* --- a weekend -------------------------------------------------------------------------------- */

/* Friday, 13 November 2026, 17:00 UTC, and hours since then. */
#define FRIDAY   (INT64_C(1794589200) * CLOCK_S)
#define SATURDAY (FRIDAY + 17 * HOUR) /* 10:00 */
#define SUNDAY   (FRIDAY + 41 * HOUR) /* 10:00 */
#define MONDAY   (FRIDAY + 64 * HOUR) /* 09:00 */

static void on_touched(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    TEST_ASSERT_NULL(e);
    TEST_ASSERT_EQUAL_UINT64(1, count);
}

static void touch(uint64_t seq)
{
    struct stream_deadline_change c = {.seq = seq, .deadline_ns = w.now_ns + DAY};
    struct stream_op op = {.done = on_touched};

    stream_change_deadlines(w.stream, STREAM_LIFE_TOUCH, &c, 1, &op);
    world_turns(&w);
}

static void begin_friday(const char *ttl)
{
    world_fini(&w);
    world_init(&w);
    w.now_ns = FRIDAY;
    open_drafts(ttl);
}

static void test_R003_10_a_day_bridges_a_night_and_no_weekend(void)
{
    begin_friday("24h");
    (void)save(1);
    world_time(&w, SATURDAY); /* overnight */
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    world_time(&w, MONDAY);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void test_R003_10_a_draft_continued_on_saturday_ends_on_sunday(void)
{
    begin_friday("24h");
    (void)save(1);
    world_time(&w, SATURDAY);
    (void)save(1);
    world_time(&w, SUNDAY - 1);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    world_time(&w, SUNDAY);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void test_R003_10_a_touch_on_sunday_or_72_hours_bridge_a_weekend(void)
{
    begin_friday("24h");
    (void)save(1);
    world_time(&w, SATURDAY);
    uint64_t seq = save(1);
    world_time(&w, SUNDAY - HOUR / 2);
    touch(seq);
    world_time(&w, MONDAY);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    begin_friday("72h");
    (void)save(1);
    world_time(&w, MONDAY);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    world_time(&w, FRIDAY + 72 * HOUR);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Steps of a page of ends, and nodes of the tree of subjects that a list of all keys passes. */
static void list_costs(unsigned dead, unsigned *steps, unsigned *nodes)
{
    struct stream_subject x;
    const struct store_at *items;
    struct store_at next;
    unsigned keys = 0;
    uint32_t left = UINT32_MAX;
    bool more;

    world_fini(&w);
    world_init(&w);
    open_drafts("24h");
    save_many(1000, dead);
    world_time(&w, w.now_ns + DAY - 60 * CLOCK_S);
    save_many(0, 100);
    world_time(&w, w.now_ns + 61 * CLOCK_S); /* a day after the others */
    TEST_ASSERT_EQUAL_UINT64(100, world_count(&w));
    struct stream_ahead *a =
        stream_page_new(w.stream, (struct store_at){0, 0}, INT64_MAX, 1000, MF_SLICE_NONE);
    for (*steps = 1; !stream_ahead_step(a, 1); ++*steps)
        ;
    TEST_ASSERT_EQUAL_size_t(100, stream_page_items(a, &items, &more, &next));
    stream_ahead_free(a);
    struct stream_subjects *s = stream_subjects_new(w.stream, MF_LIT(">"));
    while (stream_subjects_next(s, &left, &x))
        keys++;
    *nodes = UINT32_MAX - left;
    stream_subjects_free(s);
    TEST_ASSERT_EQUAL_UINT(100, keys);
}

static void test_R003_04_the_dead_slow_down_no_list(void)
{
    unsigned steps[2], nodes[2];

    list_costs(100, &steps[0], &nodes[0]);
    list_costs(100000, &steps[1], &nodes[1]);
    TEST_ASSERT_EQUAL_UINT(steps[0], steps[1]);
    TEST_ASSERT_EQUAL_UINT(nodes[0], nodes[1]);
    TEST_ASSERT_LESS_THAN_UINT(1000, nodes[1]);
}

/* --- a full disk ------------------------------------------------------------------------------ */

/* Drafts of so many bytes until one is refused: how many were not. */
static unsigned fill_up(unsigned from, size_t len)
{
    static char text[8000];
    char subject[40];
    struct world_ack a;

    memset(text, 'x', len);
    text[len] = '\0';
    for (unsigned n = 0; n < 1000000; n++) {
        snprintf(subject, sizeof subject, "$KV.drafts.%u", from + n);
        a = world_publish(&w, subject, NULL, text);
        if (a.err_code == 0)
            continue;
        TEST_ASSERT_EQUAL_INT(10023, a.err_code); /* insufficient resources */
        return n;
    }
    TEST_FAIL_MESSAGE("more is stored than the disk holds");
    return 0;
}

static void test_R000_75_drafts_end_on_a_full_disk(void)
{
    world_wrap(&w, fault_io_new);
    open_drafts("24h");
    fault_io_budget(w.io, fault_io_used(w.io) + (8u << 20));
    unsigned n = fill_up(0, 7000);
    n += fill_up(n, 1); /* nothing is too small for what is left */
    TEST_ASSERT_EQUAL_UINT64(n, world_count(&w));
    uint64_t used = fault_io_used(w.io);
    world_time(&w, w.now_ns + DAY + CLOCK_S); /* fails unless all that is due is swept */
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(used, fault_io_used(w.io));
    (void)save(1); /* with their room */
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

/* --- on disk ---------------------------------------------------------------------------------- */

#define FIRST    4096 /* record of a segment */
#define LENGTH   4    /* and other places in it: docs/disk-format.md */
#define TYPE     12
#define DEADLINE 32
#define CHECK    48 /* of the data; depends on the store */

/* The record of the first message of the store, its data with it, without checks and chain. */
static size_t first_message(uint8_t *out, size_t room)
{
    struct store_file *f;
    struct mf_error e = {.text = ""};
    uint8_t head[16];
    uint32_t len;

    TEST_ASSERT_EQUAL_INT(0, w.io->open(w.io, "0000000000000001.log", false, &f, &e));
    for (uint64_t at = FIRST;; at += (len + 7) & ~7u) {
        TEST_ASSERT_EQUAL_INT(0, w.io->pread(w.io, f, head, sizeof head, at, &e));
        memcpy(&len, head + LENGTH, 4);
        TEST_ASSERT_GREATER_OR_EQUAL_UINT32(16, len);
        if (head[TYPE] != 1)
            continue;
        TEST_ASSERT_LESS_OR_EQUAL_size_t(room, len);
        TEST_ASSERT_EQUAL_INT(0, w.io->pread(w.io, f, out, len, at, &e));
        w.io->close(w.io, f);
        memset(out, 0, 4);
        memset(out + 8, 0, 4);
        memset(out + CHECK, 0, 8);
        return len;
    }
}

static void test_R004_13_a_lifetime_needs_no_new_field_in_a_message(void)
{
    uint8_t plain[256], governed[256];
    int64_t deadline, from;

    open_drafts(NULL);
    (void)save(1);
    size_t n = first_message(plain, sizeof plain);
    world_fini(&w);
    world_init(&w);
    open_drafts("24h");
    from = w.now_ns;
    (void)save(1);
    TEST_ASSERT_EQUAL_size_t(n, first_message(governed, sizeof governed));
    memcpy(&deadline, governed + DEADLINE, 8);
    TEST_ASSERT_EQUAL_INT64(from + DAY, deadline);
    memset(governed + DEADLINE, 0, 8);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(plain, governed, n);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_R003_02_abandoned_drafts_end_by_themselves);
    RUN_TEST(test_R003_10_a_day_bridges_a_night_and_no_weekend);
    RUN_TEST(test_R003_10_a_draft_continued_on_saturday_ends_on_sunday);
    RUN_TEST(test_R003_10_a_touch_on_sunday_or_72_hours_bridge_a_weekend);
    RUN_TEST(test_R003_04_the_dead_slow_down_no_list);
    RUN_TEST(test_R000_75_drafts_end_on_a_full_disk);
    RUN_TEST(test_R004_13_a_lifetime_needs_no_new_field_in_a_message);
    return UNITY_END();
}
