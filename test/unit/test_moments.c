/* test_moments.c: reads that renew a life (slide), dead letters (on_expire), warnings (warn). */
#include "stream/lifetime.h"
#include "support/stream_world.h"

#include "mayfly/clock.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"k.>", (char *)"dead.k.>"};
static struct json_pair pairs[8];

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

/* A stream with these keys, "default", "24h" and so on, ended by NULL. */
static struct stream_config with(const char *const *keys)
{
    static char names[8][40];
    struct stream_config c = {.name = (char *)"S", .subjects = {subjects, 2}};

    c.allow_msg_ttl = true;
    for (size_t n = 0; keys[n * 2] != NULL; n++) {
        snprintf(names[n], sizeof names[n], POLICY_PREFIX "%s", keys[n * 2]);
        pairs[n] = (struct json_pair){names[n], (char *)keys[n * 2 + 1]};
        c.metadata = (struct json_map){pairs, n + 1, true};
    }
    return c;
}
#define WITH(...) with((const char *const[]){__VA_ARGS__, NULL})

static uint64_t put(const char *subject, const char *lines)
{
    struct world_ack a = world_publish(&w, subject, lines, "x");

    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

static void later(int64_t ns)
{
    world_time(&w, w.now_ns + ns);
}

/* --- slide: read ------------------------------------------------------------------------------ */

/* A read of the last value, as the API does it. */
static void read_last(const char *subject)
{
    struct stream_msg m;

    TEST_ASSERT_EQUAL_INT(0, stream_get(w.stream, stream_last_of(w.stream, mf_str(subject)), &m));
    stream_slide(w.stream, &m);
    stream_msg_end(&m);
    world_turns(&w);
}

/* Nanoseconds that are left; 0: it has no end. */
static int64_t left(uint64_t seq)
{
    struct stream_life l = {.deadline_ns = -1};

    TEST_ASSERT_TRUE(stream_life(w.stream, seq, &l));
    return l.deadline_ns == 0 ? 0 : l.deadline_ns - w.now_ns;
}

static uint64_t by_read(void)
{
    return stream_ttl_stats(w.stream)->touched_by_read;
}

static void test_a_read_renews_what_is_used_by_more_than_a_64th(void)
{
    struct stream_config c = WITH("default", "64s", "slide", "read");

    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    later(CLOCK_S / 2);
    int64_t before = left(seq);
    read_last("k.a");
    TEST_ASSERT_EQUAL_INT64(before, left(seq));
    TEST_ASSERT_EQUAL_UINT64(0, by_read());
    later(CLOCK_S);
    read_last("k.a");
    TEST_ASSERT_EQUAL_INT64(64 * CLOCK_S, left(seq));
    TEST_ASSERT_EQUAL_UINT64(1, by_read());
    read_last("k.a");
    TEST_ASSERT_EQUAL_UINT64(1, by_read());
    later(63 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    later(CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void test_a_long_life_is_renewed_after_five_minutes(void)
{
    struct stream_config c = WITH("default", "720h", "slide", "read");

    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    later(300 * CLOCK_S - 1);
    read_last("k.a");
    TEST_ASSERT_EQUAL_UINT64(0, by_read());
    later(CLOCK_S);
    read_last("k.a");
    TEST_ASSERT_EQUAL_INT64(720 * 3600 * CLOCK_S, left(seq));
}

static void test_a_read_renews_the_writers_own_ttl_and_max_age(void)
{
    struct stream_config c = WITH("max", "24h", "slide", "read");

    c.max_age_ns = 100 * CLOCK_S;
    world_open(&w, &c);
    uint64_t own = put("k.a", "Nats-TTL: 60\r\n"), aged = put("k.b", NULL);
    later(30 * CLOCK_S);
    read_last("k.a");
    read_last("k.b");
    TEST_ASSERT_EQUAL_INT64(60 * CLOCK_S, left(own));
    TEST_ASSERT_EQUAL_INT64(100 * CLOCK_S, left(aged));
}

static void test_reads_of_other_streams_renew_nothing(void)
{
    static const char *const off[][4] = {{"slide", "write", "enforce", "on"},
                                         {"slide", "read", "enforce", "audit"},
                                         {"slide", "read", "enforce", "off"}};

    for (size_t i = 0; i < MF_COUNT(off); i++) {
        struct stream_config c = WITH("default", "64s", off[i][0], off[i][1], off[i][2], off[i][3]);
        c.name = (char *)(i == 0 ? "A" : i == 1 ? "B" : "C");
        c.max_age_ns = 64 * CLOCK_S;
        world_open(&w, &c);
        uint64_t seq = put("k.a", NULL);
        later(10 * CLOCK_S);
        int64_t before = left(seq);
        read_last("k.a");
        TEST_ASSERT_EQUAL_INT64(before, left(seq));
        world_purge(&w, "", 0, 0, &seq);
        world_close(&w);
    }
}

static void change(uint64_t seq, int64_t deadline_ns, bool infinite);

static void test_a_deadline_set_by_hand_stays(void)
{
    struct stream_config c = WITH("default", "64s", "slide", "read", "never", "allow");

    world_open(&w, &c);
    uint64_t pinned = put("k.a", NULL), endless = put("k.b", "Nats-TTL: never\r\n");
    change(pinned, w.now_ns + 20 * CLOCK_S, false);
    later(5 * CLOCK_S);
    int64_t before = left(pinned);
    read_last("k.a");
    read_last("k.b");
    TEST_ASSERT_EQUAL_INT64(before, left(pinned));
    TEST_ASSERT_EQUAL_INT64(0, left(endless));
    TEST_ASSERT_EQUAL_UINT64(0, by_read());
}

static void test_a_read_does_not_keep_a_tombstone(void)
{
    struct stream_config c = WITH("default", "64s", "slide", "read");

    c.subject_delete_marker_ttl_ns = 32 * CLOCK_S;
    world_open(&w, &c);
    put("k.a", NULL);
    later(65 * CLOCK_S);
    uint64_t marker = stream_last_of(w.stream, MF_LIT("k.a"));
    TEST_ASSERT_EQUAL_UINT64(2, marker);
    later(10 * CLOCK_S);
    int64_t before = left(marker);
    read_last("k.a");
    TEST_ASSERT_EQUAL_INT64(before, left(marker));
}

static void test_a_renewal_is_there_after_a_restart(void)
{
    struct stream_config c = WITH("default", "64s", "slide", "read");

    world_open(&w, &c);
    uint64_t seq = put("k.a", NULL);
    later(32 * CLOCK_S);
    read_last("k.a");
    world_kill(&w);
    world_open(&w, &c);
    TEST_ASSERT_EQUAL_INT64(64 * CLOCK_S, left(seq));
}

static void on_changed(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    TEST_ASSERT_NULL(e);
    TEST_ASSERT_EQUAL_UINT64(1, count);
}

static void change(uint64_t seq, int64_t deadline_ns, bool infinite)
{
    struct stream_life_change c = {
        .seq = seq, .deadline_ns = deadline_ns, .infinite = infinite, .pinned = true};
    struct stream_op op = {.done = on_changed};

    stream_change_lives(w.stream, STREAM_LIFE_SET, &c, 1, &op);
    world_turns(&w);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_read_renews_what_is_used_by_more_than_a_64th);
    RUN_TEST(test_a_long_life_is_renewed_after_five_minutes);
    RUN_TEST(test_a_read_renews_the_writers_own_ttl_and_max_age);
    RUN_TEST(test_reads_of_other_streams_renew_nothing);
    RUN_TEST(test_a_deadline_set_by_hand_stays);
    RUN_TEST(test_a_read_does_not_keep_a_tombstone);
    RUN_TEST(test_a_renewal_is_there_after_a_restart);
    return UNITY_END();
}
