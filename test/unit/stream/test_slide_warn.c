/* test_slide_warn.c: reads that renew a message (slide), warnings (warn), summaries for events. */
#include "stream/lifetime_impl.h"
#include "stream/summary_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"

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
    struct stream_lifetime l = {.deadline_ns = -1};

    TEST_ASSERT_TRUE(stream_lifetime(w.stream, seq, &l));
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

/* --- warn ------------------------------------------------------------------------------------- */

static struct mf_buf heard; /* "seq subject left_s\n" */
static struct mf_buf taken; /* the last answer of take_heard() */
static bool deaf;

/* The text heard since the last call.  The timers of the loop run by real time: an event may come
 * in any turn, that of opening the stream too. */
static const char *take_heard(void)
{
    mf_buf_clear(&taken);
    mf_buf_append(&taken, heard.ptr, heard.len);
    mf_buf_byte(&taken, 0);
    mf_buf_clear(&heard);
    TEST_ASSERT_FALSE(mf_buf_failed(&taken));
    return (const char *)taken.ptr;
}

static bool hear(void *arg, struct stream *s, const struct stream_expiring *e)
{
    char line[100];

    (void)arg;
    (void)s;
    snprintf(line, sizeof line, "%llu %.*s %lld\n", (unsigned long long)e->seq, MF_FMT(e->subject),
             (long long)(e->left_ns / CLOCK_S));
    if (!deaf)
        mf_buf_puts(&heard, line);
    return !deaf;
}

static void open_warning(const struct stream_config *c)
{
    w.host.ttl_expiring = hear;
    mf_buf_clear(&heard);
    deaf = false;
    world_open(&w, c);
}

static void visit_now(void)
{
    do {
        TEST_ASSERT_NOT_NULL(w.stream->warn);
        warn_run(w.stream);
    } while (warn_busy(w.stream));
}

/* Time passes, with a visit at once and every half second; the text heard since the last call.
 * The first visit gives the same text whether the timer has already fired at this time or not. */
static const char *listen(int64_t ns)
{
    int64_t end = w.now_ns + ns;

    visit_now();
    while (w.now_ns < end) {
        later(end - w.now_ns < CLOCK_S / 2 ? end - w.now_ns : CLOCK_S / 2);
        visit_now();
    }
    return take_heard();
}

static void test_R003_09_each_message_is_told_of_once_before_it_ends(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");

    open_warning(&c);
    put("k.a", NULL);
    later(5 * CLOCK_S);
    put("k.b", NULL);
    TEST_ASSERT_EQUAL_STRING("", listen(33 * CLOCK_S + CLOCK_S / 2));
    TEST_ASSERT_EQUAL_STRING("1 k.a 61\n", listen(CLOCK_S / 2));
    TEST_ASSERT_EQUAL_STRING("2 k.b 61\n", listen(5 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("", listen(50 * CLOCK_S));
    TEST_ASSERT_EQUAL_UINT64(2, stream_ttl_stats(w.stream)->warned);
}

/* Its end lies before the place that the visits have reached. */
static void test_a_life_that_begins_just_before_its_warning_is_told_of(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");

    open_warning(&c);
    TEST_ASSERT_EQUAL_STRING("", listen(CLOCK_S));
    put("k.a", "Nats-TTL: 60500ms\r\n");
    TEST_ASSERT_EQUAL_STRING("1 k.a 60\n", listen(1));
    TEST_ASSERT_EQUAL_STRING("", listen(50 * CLOCK_S));
}

static void test_a_life_that_is_shorter_than_the_warning_has_none(void)
{
    struct stream_config c = WITH("default", "60s", "warn", "60s");

    open_warning(&c);
    put("k.a", NULL);
    put("k.b", "Nats-TTL: 20\r\n");
    put("k.c", "Nats-TTL: 61\r\n"); /* its moment is now */
    TEST_ASSERT_EQUAL_STRING("3 k.c 60\n", listen(CLOCK_S / 2));
    TEST_ASSERT_EQUAL_STRING("", listen(70 * CLOCK_S));
}

static void test_a_renewed_message_is_told_of_again(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s", "slide", "read");

    open_warning(&c);
    put("k.a", NULL);
    TEST_ASSERT_EQUAL_STRING("1 k.a 61\n", listen(45 * CLOCK_S));
    read_last("k.a");
    TEST_ASSERT_EQUAL_STRING("", listen(38 * CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("1 k.a 61\n", listen(5 * CLOCK_S));
}

static void on_updated(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    TEST_ASSERT_NULL(e);
}

static void update(struct stream_config c)
{
    struct stream_op op = {.done = on_updated};
    struct stream_config next;

    stream_config_init(&next);
    TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&next, &c));
    stream_update(w.stream, &next, MF_LIT("x"), &op);
    stream_config_fini(&next);
    world_turns(&w);
}

static void test_an_update_tells_of_nothing_again_unless_the_warning_is_shorter(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");

    open_warning(&c);
    put("k.a", NULL);
    TEST_ASSERT_EQUAL_STRING("1 k.a 61\n", listen(39 * CLOCK_S));
    update(WITH("default", "200s", "warn", "60s"));
    TEST_ASSERT_EQUAL_STRING("", listen(CLOCK_S));
    update(WITH("default", "200s", "warn", "30s"));
    TEST_ASSERT_EQUAL_STRING("1 k.a 31\n", listen(40 * CLOCK_S));
}

static void test_after_a_restart_none_is_missed(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");

    open_warning(&c);
    put("k.a", NULL);
    put("k.b", "Nats-TTL: 30\r\n");
    TEST_ASSERT_EQUAL_STRING("", listen(5 * CLOCK_S));
    put("k.b", "Nats-TTL: 59\r\n");
    world_kill(&w);
    w.now_ns += 55 * CLOCK_S; /* its moment passes */
    open_warning(&c);
    TEST_ASSERT_EQUAL_STRING("1 k.a 40\n", listen(CLOCK_S));
    TEST_ASSERT_EQUAL_STRING("", listen(30 * CLOCK_S));
    world_kill(&w);
    open_warning(&c);
    TEST_ASSERT_EQUAL_STRING("", listen(5 * CLOCK_S));
}

static void test_thousands_of_warnings_take_several_turns_and_none_is_lost(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");
    char subject[20];

    open_warning(&c);
    for (int i = 0; i < 5000; i++) {
        snprintf(subject, sizeof subject, "k.%d", i);
        put(subject, NULL);
    }
    w.now_ns += 39 * CLOCK_S + CLOCK_S / 2;
    warn_run(w.stream);
    TEST_ASSERT_TRUE(stream_ttl_stats(w.stream)->warned <= 2000);
    (void)listen(3 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(5000, stream_ttl_stats(w.stream)->warned);
}

static void test_nobody_is_told_where_nobody_listens(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "60s");

    open_warning(&c);
    deaf = true;
    put("k.a", NULL);
    (void)listen(50 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, stream_ttl_stats(w.stream)->warned);
}

static void test_streams_without_a_warning_look_at_nothing(void)
{
    struct stream_config c = WITH("default", "100s", "warn", "0");

    open_warning(&c);
    TEST_ASSERT_NULL(w.stream->warn);
}

/* --- summaries -------------------------------------------------------------------------------- */

static uint64_t questions;

static bool any_heard(void *arg, struct stream *s, enum stream_ttl_kind kind)
{
    (void)arg;
    (void)s;
    (void)kind;
    questions++;
    return !deaf;
}

static void on_event(void *arg, struct stream *s, const struct stream_ttl_event *e)
{
    char line[300];

    (void)arg;
    (void)s;
    snprintf(line, sizeof line,
             "%d: %llu %.*s/%llu/%s/%s %.*s/%llu/%s/%s %llu,%llu %llu,%llu,%llu\n", e->kind,
             (unsigned long long)e->count, MF_FMT(e->first.subject),
             (unsigned long long)e->first.seq, e->first.asked, e->first.limit,
             MF_FMT(e->last.subject), (unsigned long long)e->last.seq, e->last.asked, e->last.limit,
             (unsigned long long)e->markers, (unsigned long long)e->dead_letters,
             (unsigned long long)e->would_set, (unsigned long long)e->would_clamp,
             (unsigned long long)e->would_reject);
    mf_buf_puts(&heard, line);
}

static void open_telling(const struct stream_config *c)
{
    w.host.ttl_heard = any_heard;
    w.host.ttl_event = on_event;
    mf_buf_clear(&heard);
    questions = 0;
    deaf = false;
    world_open(&w, c);
}

/* What a second of the loop's clock later would be sent. */
static const char *told(void)
{
    summary_send_due(w.stream, loop_mono_ns(w.loop) + CLOCK_S);
    return take_heard();
}

static void test_deaths_are_told_of_in_one_summary(void)
{
    struct stream_config c = WITH("on_expire", "dead", "never", "allow");

    c.subject_delete_marker_ttl_ns = 100 * CLOCK_S;
    open_telling(&c);
    put("k.a", "Nats-TTL: 200\r\n");
    put("k.b", "Nats-TTL: 200\r\n");
    put("k.c", NULL);
    TEST_ASSERT_EQUAL_STRING("", told());
    later(201 * CLOCK_S);
    TEST_ASSERT_EQUAL_STRING("1: 2 k.a/1// k.b/2// 2,2 0,0,0\n", told());
    TEST_ASSERT_EQUAL_STRING("", told());
}

static void test_a_death_ahead_of_the_sweep_is_told_of(void)
{
    struct stream_config c = WITH("default", "10s");
    struct world_ack a = {0};

    open_telling(&c);
    put("k.a", NULL);
    w.now_ns += 11 * CLOCK_S;
    world_send(&w, "k.a", NULL, NULL, "y", &a);
    world_turns(&w);
    TEST_ASSERT_EQUAL_STRING("1: 1 k.a/1// k.a/1// 0,0 0,0,0\n", told());
}

static void test_a_stream_without_a_policy_tells_nothing(void)
{
    struct stream_config c = {.name = (char *)"S", .subjects = {subjects, 2}};

    c.max_age_ns = 10 * CLOCK_S;
    open_telling(&c);
    put("k.a", NULL);
    later(11 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_UINT64(0, questions);
    TEST_ASSERT_EQUAL_STRING("", told());
}

static void test_what_bounds_do_is_told_of(void)
{
    struct stream_config c = WITH("default", "10s", "max", "24h");

    open_telling(&c);
    put("k.a", "Nats-TTL: 48h\r\n");
    put("k.b", "Nats-TTL: 72h\r\n");
    TEST_ASSERT_EQUAL_INT(10165, world_publish(&w, "k.c", "Nats-TTL: never\r\n", "x").err_code);
    TEST_ASSERT_EQUAL_STRING("2: 2 k.a/0/48h0m0s/24h0m0s k.b/0/72h0m0s/24h0m0s 0,0 0,0,0\n"
                             "3: 1 k.c/0/never/deny k.c/0/never/deny 0,0 0,0,0\n",
                             told());
}

static void test_an_audit_is_told_of(void)
{
    struct stream_config c = WITH("default", "10s", "max", "24h", "enforce", "audit");

    open_telling(&c);
    put("k.a", NULL);
    put("k.b", "Nats-TTL: 48h\r\n");
    put("k.c", "Nats-TTL: never\r\n");
    TEST_ASSERT_EQUAL_STRING("4: 3 k.a/0// k.c/0/never/deny 0,0 1,1,1\n", told());
}

static void test_where_nobody_listens_the_host_is_rarely_asked(void)
{
    struct stream_config c = WITH("default", "10s", "enforce", "audit");

    open_telling(&c);
    deaf = true;
    for (int i = 0; i < 1000; i++)
        put("k.a", NULL);
    TEST_ASSERT_TRUE(questions >= 1 && questions < 500);
    TEST_ASSERT_EQUAL_STRING("", told());
}

static void on_changed(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    TEST_ASSERT_NULL(e);
    TEST_ASSERT_EQUAL_UINT64(1, count);
}

static void change(uint64_t seq, int64_t deadline_ns, bool infinite)
{
    struct stream_deadline_change c = {
        .seq = seq, .deadline_ns = deadline_ns, .infinite = infinite, .pinned = true};
    struct stream_op op = {.done = on_changed};

    stream_change_deadlines(w.stream, STREAM_LIFE_SET, &c, 1, &op);
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
    RUN_TEST(test_R003_09_each_message_is_told_of_once_before_it_ends);
    RUN_TEST(test_a_life_that_begins_just_before_its_warning_is_told_of);
    RUN_TEST(test_a_life_that_is_shorter_than_the_warning_has_none);
    RUN_TEST(test_a_renewed_message_is_told_of_again);
    RUN_TEST(test_an_update_tells_of_nothing_again_unless_the_warning_is_shorter);
    RUN_TEST(test_after_a_restart_none_is_missed);
    RUN_TEST(test_thousands_of_warnings_take_several_turns_and_none_is_lost);
    RUN_TEST(test_nobody_is_told_where_nobody_listens);
    RUN_TEST(test_streams_without_a_warning_look_at_nothing);
    RUN_TEST(test_deaths_are_told_of_in_one_summary);
    RUN_TEST(test_a_death_ahead_of_the_sweep_is_told_of);
    RUN_TEST(test_a_stream_without_a_policy_tells_nothing);
    RUN_TEST(test_what_bounds_do_is_told_of);
    RUN_TEST(test_an_audit_is_told_of);
    RUN_TEST(test_where_nobody_listens_the_host_is_rarely_asked);
    mf_buf_fini(&heard);
    mf_buf_fini(&taken);
    return UNITY_END();
}
