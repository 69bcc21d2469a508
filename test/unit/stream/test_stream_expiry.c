/* test_stream_expiry.c: order of expiries, markers and limits, where a marker, a message or the
 * loop's time could be lost. */
#include "stream/stream_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config plain = {.name = (char *)"S", .subjects = {subjects, 1}};

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

static struct stream_config with_ttl(int64_t marker_s)
{
    struct stream_config c = plain;

    c.allow_msg_ttl = true;
    c.subject_delete_marker_ttl_ns = marker_s * CLOCK_S;
    return c;
}

static uint64_t put(const char *subject, const char *lines, const char *payload)
{
    struct world_ack a = world_publish(&w, subject, lines, payload);

    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

/* The clock goes on; nothing is swept yet. */
static void later(int64_t s)
{
    w.now_ns += s * CLOCK_S;
}

static void is_marker(uint64_t seq, const char *subject, const char *reason)
{
    const char *text = world_message(&w, seq);
    char start[200];

    snprintf(start, sizeof start, "%s|Nats-Marker-Reason: %s,", subject, reason);
    TEST_ASSERT_EQUAL_STRING_LEN(start, text, strlen(start));
}

/* --- timers ----------------------------------------------------------------------------------- */

/* A purge is the first to bring a deadline into this stream: its markers must die in time. */
static void test_markers_of_a_purge_get_their_timer(void)
{
    struct stream_config c = with_ttl(5);

    world_open(&w, &c);
    put("k.a", NULL, "x");
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, w.stream->expiry.armed_ns);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.a", 0, 0, NULL));
    is_marker(2, "k.a", "Purge");
    TEST_ASSERT_TRUE(w.stream->expiry.armed_ns <= store_next_deadline(w.stream->store));
    TEST_ASSERT_TRUE(w.stream->expiry.armed_ns < INT64_MAX);
}

/* Nothing else may come to this stream: each sweep sees to the next one. */
static void test_sweep_leaves_the_timer_armed_for_the_next_death(void)
{
    struct stream_config c = with_ttl(5);

    world_open(&w, &c);
    put("k.a", "Nats-TTL: 10\r\n", "x");
    put("k.b", "Nats-TTL: 20\r\n", "y");
    world_time(&w, w.now_ns + 11 * CLOCK_S);
    is_marker(3, "k.a", "MaxAge");
    TEST_ASSERT_TRUE(w.stream->expiry.armed_ns <= store_next_deadline(w.stream->store));
    TEST_ASSERT_TRUE(w.stream->expiry.armed_ns < INT64_MAX);
}

/* --- one marker for each death ---------------------------------------------------------------- */

/* Dead but not swept yet: pushing it out would let it go without a word. */
static void test_the_dead_are_not_pushed_out_without_a_marker(void)
{
    struct stream_config c = with_ttl(5);

    c.max_msgs = 2;
    world_open(&w, &c);
    put("k.dead", "Nats-TTL: 10\r\n", "x");
    put("k.live", NULL, "y");
    later(11);
    put("k.new", NULL, "z");
    world_time(&w, w.now_ns);
    is_marker(3, "k.dead", "MaxAge");
}

/* What is dead takes no room: no living message has to go for it. */
static void test_the_dead_push_nobody_out(void)
{
    struct stream_config c = plain;

    c.allow_msg_ttl = true;
    c.max_msgs = 2;
    world_open(&w, &c);
    put("k.live", NULL, "y");
    put("k.dead", "Nats-TTL: 10\r\n", "x");
    later(11);
    put("k.new", NULL, "z");
    TEST_ASSERT_EQUAL_STRING("k.live||y", world_message(&w, 1));
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
}

/* The tombstone died first, the value under it later: that death earns a marker, whether the sweep
 * or a publish finds it. */
static void late_value(bool swept)
{
    struct stream_config c = with_ttl(1);

    c.max_msgs_per_subject = 5;
    world_open(&w, &c);
    put("k.a", "Nats-TTL: 20\r\n", "v");
    put("k.a", "KV-Operation: DEL\r\nNats-TTL: 10\r\n", "");
    later(21);
    if (swept)
        world_time(&w, w.now_ns);
    put("k.a", NULL, "new");
    is_marker(3, "k.a", "MaxAge");
    TEST_ASSERT_EQUAL_STRING("k.a||new", world_message(&w, 4));
}

static void test_sweep_goes_by_the_order_of_deaths(void)
{
    late_value(true);
}

static void test_publish_goes_by_the_order_of_deaths(void)
{
    late_value(false);
}

/* A dead tombstone that nobody swept yet is not a message that is left. */
static void test_removal_beside_a_dead_tombstone_earns_a_marker(void)
{
    struct stream_config c = with_ttl(1);

    world_open(&w, &c);
    put("k.a", "KV-Operation: DEL\r\nNats-TTL: 10\r\n", "");
    put("k.a", NULL, "v");
    later(11);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 2));
    is_marker(3, "k.a", "Remove");
    world_time(&w, w.now_ns);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void test_purge_over_a_dead_tombstone_earns_a_marker(void)
{
    struct stream_config c = with_ttl(1);

    world_open(&w, &c);
    put("k.a", NULL, "v");
    put("k.a", "KV-Operation: DEL\r\nNats-TTL: 10\r\n", "");
    later(11);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.a", 0, 0, NULL));
    is_marker(3, "k.a", "Purge");
}

/* --- what was sent before a purge ------------------------------------------------------------- */

struct purged {
    struct stream_op op;
    bool done;
    uint64_t count;
};

static void on_purged(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct purged *p = mf_container(op, struct purged, op);

    TEST_ASSERT_NULL(e);
    p->done = true;
    p->count = count;
}

/* On one connection the publish came first, so the purge takes it, on disk or not. */
static void test_purge_takes_what_was_sent_before_it(void)
{
    struct world_ack a;
    struct purged p = {.op.done = on_purged};

    world_open(&w, &plain);
    world_send(&w, "k.a", "r", NULL, "x", &a);
    stream_purge(w.stream, MF_SLICE_NONE, 0, 0, &p.op);
    world_turns(&w);
    TEST_ASSERT_TRUE(a.done);
    TEST_ASSERT_TRUE(p.done);
    TEST_ASSERT_EQUAL_UINT64(1, p.count);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* The largest number a request can hold must not leave a stream that numbers from nought again. */
static void test_purge_below_the_last_number_leaves_a_sane_stream(void)
{
    world_open(&w, &plain);
    put("k.a", NULL, "x");
    (void)world_purge(&w, "", UINT64_MAX, 0, NULL);
    uint64_t last = 0;
    for (int i = 0; i < 4; i++) {
        struct world_ack a = world_publish(&w, "k.a", NULL, "x");
        if (a.err_code == 0) {
            TEST_ASSERT_TRUE(a.seq > last);
            last = a.seq;
        }
    }
    world_kill(&w);
    world_open(&w, &plain);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* What a publish settles makes room for that publish. */
static void test_settled_messages_are_not_counted_for_the_account(void)
{
    struct stream_config c = plain;

    c.allow_msg_ttl = true;
    world_open(&w, &c);
    put("k.a", "Nats-TTL: 10\r\n", "0123456789");
    w.host.account_max.file = w.account.file + 5;
    later(11);
    put("k.a", "Nats-TTL: 10\r\n", "0123456789");
    TEST_ASSERT_EQUAL_INT64(w.host.account_max.file - 5, w.account.file);
}

/* --- the loop's time and memory --------------------------------------------------------------- */

/* Of what is not republished nothing is kept. */
static void test_messages_outside_the_republished_subjects_leave_nothing_behind(void)
{
    struct stream_republish r = {.src = (char *)"k.a", .dest = (char *)"copy.a"};
    struct stream_config c = plain;

    c.republish = &r;
    world_open(&w, &c);
    for (int i = 0; i < 100; i++)
        put("k.b", NULL, "x");
    TEST_ASSERT_EQUAL(0, w.stream->notify.copies.len);
    put("k.a", NULL, "x");
    TEST_ASSERT_EQUAL(0, w.stream->notify.copies.len); /* sent */
    w.stream->cfg.republish = NULL;
}

static uint64_t accepted(void)
{
    uint64_t msgs, bytes, last;

    store_accepted(w.stream->store, &msgs, &bytes, &last);
    return msgs;
}

static void ignored(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    TEST_ASSERT_NULL(e);
}

#define MANY 5000
static struct world_ack many[MANY];

static void fill_one_subject(void)
{
    world_open(&w, &plain);
    for (size_t i = 0; i < MANY; i++)
        world_send(&w, "k.a", "r", NULL, "x", &many[i]);
    world_turns(&w);
}

/* A lower limit is worked off in slices, whatever it is about: others are served meanwhile. */
static void test_lower_limit_on_one_large_subject_is_worked_off_in_slices(void)
{
    struct stream_config c = plain;
    struct stream_op op = {.done = ignored};

    fill_one_subject();
    c.max_msgs_per_subject = 3;
    stream_update(w.stream, &c, MF_LIT("x"), &op);
    TEST_ASSERT_TRUE(accepted() >= MANY - 1000);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.a||x", world_message(&w, MANY));
}

/* As kill -9 does when the first slice of a lower limit is on disk. */
static void kill_after_a_slice(struct stream_config *c)
{
    struct stream_config again = *c;
    struct stream_op op = {.done = ignored};

    fill_one_subject();
    stream_update(w.stream, c, MF_LIT("x"), &op);
    work_cancel(w.loop, &w.stream->enforce.task);
    world_kill(&w);
    world_open(&w, &again);
    world_turns(&w);
}

static void test_lower_limit_of_subjects_is_worked_off_after_a_kill(void)
{
    struct stream_config c = plain;

    c.max_msgs_per_subject = 3;
    kill_after_a_slice(&c);
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
    TEST_ASSERT_EQUAL_size_t(0, world_blobs(&w, BLOB_THIN));
}

static void test_lower_limit_is_worked_off_after_a_kill(void)
{
    struct stream_config c = plain;

    c.max_msgs = 7;
    kill_after_a_slice(&c);
    TEST_ASSERT_EQUAL_UINT64(7, world_count(&w));
}

/* What died while the server was down is swept first. */
static void test_the_dead_push_nobody_out_at_a_start(void)
{
    struct stream_config c = plain;

    c.allow_msg_ttl = true;
    world_open(&w, &c);
    (void)world_publish(&w, "k.a", NULL, "stays");
    for (size_t i = 0; i < MANY; i++)
        world_send(&w, "k.b", "r", "Nats-TTL: 5\r\n", "ends", &many[i]);
    world_turns(&w);
    world_kill(&w);
    w.now_ns += 10 * CLOCK_S;
    c.max_msgs = 3;
    world_open(&w, &c);
    world_time(&w, w.now_ns);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.a||stays", world_message(&w, 1));
}

/* Who publishes meanwhile does not pay for all of it. */
static void test_publish_does_not_work_off_a_lower_limit_alone(void)
{
    struct stream_config c = plain;
    struct stream_op op = {.done = ignored};
    struct world_ack a;

    fill_one_subject();
    c.max_msgs = 1;
    c.max_msg_size = -1;
    stream_update(w.stream, &c, MF_LIT("x"), &op);
    world_send(&w, "k.b", "r", NULL, "y", &a);
    TEST_ASSERT_TRUE(accepted() >= MANY - 2000);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.b||y", world_message(&w, MANY + 1));
}

static void test_rollup_takes_what_is_on_disk_and_what_is_not(void)
{
    struct stream_config c = plain;
    struct world_ack a[4];

    c.allow_rollup = true;
    world_open(&w, &c);
    put("k.a", NULL, "1");
    put("k.b", NULL, "2");
    put("k.a", NULL, "3");
    world_send(&w, "k.a", "r", NULL, "4", &a[0]);
    world_send(&w, "k.a", "r", "Nats-Rollup: sub\r\n", "5", &a[1]);
    world_send(&w, "k.a", "r", "Nats-Rollup: sub\r\n", "6", &a[2]);
    world_send(&w, "k.a", "r", NULL, "7", &a[3]);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.b||2", world_message(&w, 2));
    TEST_ASSERT_EQUAL_STRING("k.a|Nats-Rollup: sub|6", world_message(&w, 6));
    TEST_ASSERT_EQUAL_STRING("k.a||7", world_message(&w, 7));
}

/* A subject with a wildcard can be published to: its roll-up takes all subjects that match. */
static void test_rollup_on_a_wildcard_takes_all_that_match(void)
{
    struct stream_config c = plain;
    struct world_ack a[4];

    c.allow_rollup = true;
    world_open(&w, &c);
    put("k.a", NULL, "1");
    put("k.b", NULL, "2");
    put("k.a", NULL, "3");
    put("k.a.deep", NULL, "4");
    world_send(&w, "k.c", "r", NULL, "5", &a[0]);
    world_send(&w, "k.*", "r", "Nats-Rollup: sub\r\n", "6", &a[1]);
    world_send(&w, "k.a", "r", NULL, "7", &a[2]);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.a.deep||4", world_message(&w, 4));
    TEST_ASSERT_EQUAL_STRING("k.*|Nats-Rollup: sub|6", world_message(&w, 6));
    TEST_ASSERT_EQUAL_STRING("k.a||7", world_message(&w, 7));
    world_send(&w, "k.*", "r", NULL, "8", &a[0]);
    world_send(&w, "k.>", "r", "Nats-Rollup: sub\r\n", "9", &a[1]);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.>|Nats-Rollup: sub|9", world_message(&w, 9));
}

/* Hot keys: many values of one subject before any of them is on disk. */
static void test_only_the_last_of_many_unwritten_values_stays(void)
{
    struct stream_config c = plain;

    c.max_msgs_per_subject = 1;
    world_open(&w, &c);
    put("k.a", NULL, "0");
    for (size_t i = 0; i < MANY; i++)
        world_send(&w, i % 2 == 0 ? "k.a" : "k.b", "r", NULL, "x", &many[i]);
    TEST_ASSERT_EQUAL_UINT64(2, accepted());
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
}

/* More are dead than one publish sweeps: its own subject is settled all the same, in the order of
 * deaths. */
static void test_publish_settles_its_subject_in_a_backlog(void)
{
    struct stream_config c = with_ttl(1);
    char subject[32];

    c.max_msgs_per_subject = 100;
    world_open(&w, &c);
    for (size_t i = 0; i < 1200; i++) {
        snprintf(subject, sizeof subject, "k.%zu", i);
        world_send(&w, subject, "r", "Nats-TTL: 5\r\n", "x", &many[i]);
    }
    world_turns(&w);
    put("k.a", "Nats-TTL: 20\r\n", "v");
    put("k.a", "KV-Operation: DEL\r\nNats-TTL: 10\r\n", "");
    for (int i = 0; i < 20; i++)
        put("k.b", "Nats-TTL: 20\r\n", "v");
    later(21);
    uint64_t seq = put("k.a", NULL, "new");
    is_marker(seq - 1, "k.a", "MaxAge");
    seq = put("k.b", NULL, "new");
    struct stream_subject x;
    TEST_ASSERT_TRUE(stream_subject(w.stream, MF_LIT("k.b"), &x));
    TEST_ASSERT_EQUAL_UINT64(2, x.count);
    is_marker(x.first_seq, "k.b", "MaxAge");
    world_time(&w, w.now_ns);
    TEST_ASSERT_EQUAL_UINT64(1200 + 4, world_count(&w));
}

/* --- a store that cannot ---------------------------------------------------------------------- */

static bool starved;
static size_t tries;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
size_t __real_store_expire(struct store *s, int64_t now_ns, size_t max,
                           bool (*visit)(void *arg, const struct store_expiry *d), void *arg,
                           bool *more);
size_t __wrap_store_expire(struct store *s, int64_t now_ns, size_t max,
                           bool (*visit)(void *arg, const struct store_expiry *d), void *arg,
                           bool *more);
size_t __wrap_store_expire(struct store *s, int64_t now_ns, size_t max,
                           bool (*visit)(void *arg, const struct store_expiry *d), void *arg,
                           bool *more)
{
    tries++;
    *more = false;
    return starved ? 0 : __real_store_expire(s, now_ns, max, visit, arg, more);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* No room to say that they are dead: it is tried again, but not all the time. */
static void test_expiry_that_cannot_be_written_does_not_spin(void)
{
    struct stream_config c = with_ttl(1);

    world_open(&w, &c);
    put("k.a", "Nats-TTL: 5\r\n", "x");
    later(6);
    starved = true;
    tries = 0;
    stream_clock_stepped(w.stream);
    int64_t start = clock_mono_ns();
    while (clock_mono_ns() - start < 50000000)
        loop_turn(w.loop);
    TEST_ASSERT_TRUE(tries >= 1);
    TEST_ASSERT_TRUE(tries <= (size_t)((clock_mono_ns() - start) / 20000000) + 2);
    starved = false;
    world_time(&w, w.now_ns);
    is_marker(2, "k.a", "MaxAge");
}

static uint64_t damaged;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
int __real_store_peek(struct store *s, uint64_t seq, struct store_rec *out);
int __wrap_store_peek(struct store *s, uint64_t seq, struct store_rec *out);
int __wrap_store_peek(struct store *s, uint64_t seq, struct store_rec *out)
{
    return seq == damaged ? MF_CORRUPT : __real_store_peek(s, seq, out);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static void found(struct stream_seek *k, uint64_t seq)
{
    (void)k;
    (void)seq;
    TEST_FAIL_MESSAGE("what is found in memory is returned");
}

/* One damaged message in the middle must not hide those before it from a search by time. */
static void test_search_by_time_passes_over_damage(void)
{
    world_open(&w, &plain);
    int64_t start = w.now_ns;
    for (int i = 0; i < 9; i++) {
        w.now_ns = start + i * CLOCK_S;
        put("k.a", NULL, "x");
    }
    for (damaged = 0; damaged <= 9; damaged++)
        for (uint64_t i = 0; i <= 9; i++) {
            struct stream_seek k = {.ts_ns = start + (int64_t)i * CLOCK_S, .done = found};
            uint64_t want = i + 1 == damaged ? i + 2 : i + 1;
            uint64_t seq = UINT64_MAX;
            TEST_ASSERT_TRUE(stream_seek(w.stream, &k, &seq));
            TEST_ASSERT_EQUAL_UINT64(want > 9 ? 0 : want, seq);
            TEST_ASSERT_EQUAL_UINT64(k.best, stream_at_time(w.stream, k.ts_ns, UINT64_MAX));
        }
    damaged = 0;
}

/* Numbers never start again from nought. */
static void test_stream_at_its_last_number_refuses(void)
{
    struct stream_config c = plain;
    uint64_t seq = 0;

    c.first_seq = UINT64_MAX - 3;
    world_open(&w, &c);
    for (int i = 0; i < 6; i++) {
        struct world_ack a = world_publish(&w, "k.a", NULL, "x");
        TEST_ASSERT_TRUE(a.err_code != 0 || a.seq > seq);
        seq = a.err_code == 0 ? a.seq : seq;
    }
    world_kill(&w);
    world_open(&w, &c);
    TEST_ASSERT_NOT_EQUAL(0, world_publish(&w, "k.a", NULL, "x").err_code);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_markers_of_a_purge_get_their_timer);
    RUN_TEST(test_sweep_leaves_the_timer_armed_for_the_next_death);
    RUN_TEST(test_the_dead_are_not_pushed_out_without_a_marker);
    RUN_TEST(test_the_dead_push_nobody_out);
    RUN_TEST(test_sweep_goes_by_the_order_of_deaths);
    RUN_TEST(test_publish_goes_by_the_order_of_deaths);
    RUN_TEST(test_removal_beside_a_dead_tombstone_earns_a_marker);
    RUN_TEST(test_purge_over_a_dead_tombstone_earns_a_marker);
    RUN_TEST(test_purge_takes_what_was_sent_before_it);
    RUN_TEST(test_purge_below_the_last_number_leaves_a_sane_stream);
    RUN_TEST(test_settled_messages_are_not_counted_for_the_account);
    RUN_TEST(test_messages_outside_the_republished_subjects_leave_nothing_behind);
    RUN_TEST(test_lower_limit_on_one_large_subject_is_worked_off_in_slices);
    RUN_TEST(test_lower_limit_of_subjects_is_worked_off_after_a_kill);
    RUN_TEST(test_lower_limit_is_worked_off_after_a_kill);
    RUN_TEST(test_the_dead_push_nobody_out_at_a_start);
    RUN_TEST(test_publish_does_not_work_off_a_lower_limit_alone);
    RUN_TEST(test_rollup_takes_what_is_on_disk_and_what_is_not);
    RUN_TEST(test_rollup_on_a_wildcard_takes_all_that_match);
    RUN_TEST(test_only_the_last_of_many_unwritten_values_stays);
    RUN_TEST(test_publish_settles_its_subject_in_a_backlog);
    RUN_TEST(test_expiry_that_cannot_be_written_does_not_spin);
    RUN_TEST(test_search_by_time_passes_over_damage);
    RUN_TEST(test_stream_at_its_last_number_refuses);
    return UNITY_END();
}
