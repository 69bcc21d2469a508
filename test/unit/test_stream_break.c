/* test_stream_break.c: the corners of a stream where a marker, a message or the loop's time could
 * get lost. */
#include "stream/stream_impl.h"
#include "support/stream_world.h"

#include "mayfly/clock.h"

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

/* --- timers ------------------------------------------------------------------------------------ */

/* A purge is the first to bring a deadline into this stream: its markers must die in time. */
static void test_markers_of_a_purge_get_their_timer(void)
{
    struct stream_config c = with_ttl(5);

    world_open(&w, &c);
    put("k.a", NULL, "x");
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, w.stream->armed_ns);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.a", 0, 0, NULL));
    is_marker(2, "k.a", "Purge");
    TEST_ASSERT_TRUE(w.stream->armed_ns <= store_next_deadline(w.stream->store));
    TEST_ASSERT_TRUE(w.stream->armed_ns < INT64_MAX);
}

/* --- one marker for each death ------------------------------------------------------------------ */

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

/* --- what was sent before a purge ---------------------------------------------------------------- */

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

/* --- sums ---------------------------------------------------------------------------------------- */

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

/* --- the loop's time and memory ------------------------------------------------------------------ */

/* Nobody asks for the predecessor of what is not republished: nothing may pile up. */
static void test_messages_outside_the_republished_subjects_leave_nothing_behind(void)
{
    struct stream_republish r = {.src = (char *)"k.a", .dest = (char *)"copy.a"};
    struct stream_config c = plain;

    c.republish = &r;
    world_open(&w, &c);
    for (int i = 0; i < 100; i++)
        put("k.b", NULL, "x");
    TEST_ASSERT_TRUE(w.stream->previous.len <= 16);
    w.stream->cfg.republish = NULL;
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_markers_of_a_purge_get_their_timer);
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
    return UNITY_END();
}
