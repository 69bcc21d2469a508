/* test_consumer_nomem.c: memory runs out while consumers deliver and take acks: nothing is passed
 * over, and what was confirmed does not come again. */
#include "support/consumer_world.h"
#include "support/no_memory.h"

#include "base/clock.h"

#define CROWD    40 /* more than the router lists without memory */
#define MESSAGES 4

static unsigned laters; /* deliveries that find no memory */

static size_t deliver_later(void *arg, struct mf_slice route, const struct mf_msg *m)
{
    if (laters > 0) {
        laters--;
        return CONSUMER_LATER;
    }
    return deliver(arg, route, m);
}

static struct consumer_config push(void)
{
    return (struct consumer_config){.ack_policy = ACK_NONE,
                                    .max_deliver = -1,
                                    .deliver_subject = (char *)"in",
                                    .durable_name = (char *)"D"};
}

static void up(void)
{
    world_open(&w, &plain);
    consumers_up();
    snprintf(here, sizeof here, " in r ");
    TEST_ASSERT_NOT_NULL(mf_buf_reserve(&log_, 1 << 20)); /* the sink itself needs none */
}

/* Turns the loop until the sink heard that many, or for ten seconds. */
static void until_heard(size_t wanted)
{
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    mf_buf_cstr(&log_);
    while (count(mf_buf_cstr(&log_), "in<k.") < wanted && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    world_turns(&w);
}

static void assert_in_order(unsigned from, unsigned to)
{
    const char *text = heard(), *at = text;
    char want[32];

    TEST_ASSERT_EQUAL_size_t(to - from + 1, count(text, "in<k."));
    for (unsigned i = from; i <= to; i++) {
        snprintf(want, sizeof want, "|m%u\n", i);
        at = strstr(at, want);
        TEST_ASSERT_NOT_NULL_MESSAGE(at, want);
    }
}

static void test_a_delivery_without_memory_comes_later(void)
{
    up();
    host.deliver = deliver_later;
    add("P", push());
    laters = 2;
    for (unsigned i = 1; i <= 3; i++) {
        char text[8];
        snprintf(text, sizeof text, "m%u", i);
        put("k.a", text);
    }
    until_heard(3);
    assert_in_order(1, 3);
}

struct sending {
    struct stream_publish pub;
    bool done, stored;
};

static void sent_off(struct stream_publish *p, const struct stream_ack *a)
{
    struct sending *x = mf_container(p, struct sending, pub);

    x->done = true;
    x->stored = a->error == NULL;
}

/* Without memory of its own.  seq 0: the next. */
static bool send_off(const char *subject, const char *text, uint64_t seq)
{
    struct sending x = {.pub = {.msg = {.subject = mf_str(subject), .payload = mf_str(text)},
                                .replicated = seq != 0,
                                .seq = seq,
                                .ts_ns = w.now_ns,
                                .done = sent_off}};
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    stream_publish(w.stream, &x.pub);
    while (!x.done && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_TRUE(x.done);
    world_turns(&w);
    return x.stored;
}

/* The nth allocation after a message was stored fails, in the router too: for every n. */
static void watch_without_memory(long nth, bool *hit)
{
    struct consumer_config other = pull();

    up();
    other.durable_name = NULL;
    other.mem_storage = true;
    for (unsigned i = 0; i < CROWD; i++) {
        char name[8];
        snprintf(name, sizeof name, "c%u", i);
        add(name, other);
    }
    add("P", push());
    memory_arm(nth);
    unsigned stored = 0;
    for (unsigned i = 0; i < MESSAGES; i++) {
        char subject[8], text[8];
        snprintf(subject, sizeof subject, "k.%u", i); /* nothing in the cache */
        snprintf(text, sizeof text, "m%u", stored + 1);
        stored += send_off(subject, text, 0);
    }
    *hit = memory_hit;
    memory_disarm();
    until_heard(stored);
    assert_in_order(1, stored);
}

static void test_a_watcher_without_acks_misses_nothing(void)
{
    bool hit = true;

    for (long n = 0; hit; n++) {
        watch_without_memory(n, &hit);
        tearDown();
        setUp();
    }
}

/* --- acks ------------------------------------------------------------------------------------ */

static void ack_all(struct consumer *c, const char *reply)
{
    char tokens[64];

    for (unsigned i = 0; i < MESSAGES; i++) {
        snprintf(tokens, sizeof tokens, "1.%u.%u.0.0", i * 5000 + 1, i + 1);
        (void)consumer_ack(c, mf_str(tokens), mf_str(reply), MF_SLICE_NONE);
    }
}

static void restart(void)
{
    consumers_close(g, false);
    g = NULL;
    world_turns(&w);
    world_kill(&w);
    world_open(&w, &plain);
    consumers_up();
}

/* false: nothing failed any more. */
static bool confirm_without_memory(long nth, long also)
{
    up();
    struct consumer *c = add("D", pull());
    for (unsigned i = 0; i < MESSAGES; i++)
        TEST_ASSERT_TRUE(send_off("k.a", "x", i * 5000 + 1)); /* each on a page of its own */
    ask(c, "{\"batch\":10}");
    TEST_ASSERT_EQUAL_size_t(MESSAGES, info(c).ack_pending);
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;
    while (c->state.dirty && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    mf_buf_fini(&c->state.pages); /* so that it has to grow */
    c->state.pages = (struct mf_buf)MF_BUF_INIT;
    heard();
    memory_also = also;
    memory_arm(nth);
    ack_all(c, "");
    bool hit = memory_hit;
    memory_disarm();
    memory_also = 0;
    ack_all(c, "r"); /* with memory again: once more, now to be confirmed */
    world_turns(&w);
    bool confirmed = count(heard(), "r<") > 0;
    world_turns(&w);
    restart();
    c = consumers_find(g, MF_LIT("D"));
    TEST_ASSERT_NOT_NULL(c);
    if (confirmed)
        TEST_ASSERT_EQUAL_size_t(0, info(c).ack_pending);
    return hit;
}

static void test_a_confirmed_ack_is_on_disk(void)
{
    bool hit = true;

    for (long n = 0; hit; n++)
        for (long also = 0; also < 3; also += 2) {
            hit = confirm_without_memory(n, also);
            tearDown();
            setUp();
        }
}

/* The message of an ack that counted is gone; where there is no memory for that the ack does not
 * count, and is not confirmed. */
static bool queue_without_memory(enum stream_retention retention, enum consumer_ack_policy policy,
                                 long nth)
{
    struct stream_config sc = plain;
    struct consumer_config cc = pull();

    sc.retention = retention;
    cc.ack_policy = policy;
    world_open(&w, &sc);
    consumers_up();
    snprintf(here, sizeof here, " in r ");
    TEST_ASSERT_NOT_NULL(mf_buf_reserve(&log_, 1 << 20));
    struct consumer *c = add("D", cc);
    put("k.a", "one");
    put("k.a", "two");
    ask(c, "2");
    heard();
    memory_arm(nth);
    (void)consumer_ack(c, MF_LIT("1.2.2.0.0"), MF_LIT("r"), MF_SLICE_NONE);
    if (policy != ACK_ALL)
        (void)consumer_ack(c, MF_LIT("1.1.1.0.0"), MF_LIT("r"), MF_SLICE_NONE);
    bool hit = memory_hit;
    memory_disarm();
    world_turns(&w);
    size_t confirmed = count(heard(), "r<"), acks = policy == ACK_ALL ? 1 : 2;
    if (confirmed == acks)
        TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_UINT64(info(c).ack_pending, world_count(&w));
    (void)consumer_ack(c, MF_LIT("1.2.2.0.0"), MF_LIT("r"), MF_SLICE_NONE);
    (void)consumer_ack(c, MF_LIT("1.1.1.0.0"), MF_LIT("r"), MF_SLICE_NONE);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    TEST_ASSERT_EQUAL_size_t(0, info(c).ack_pending);
    tearDown();
    setUp();
    return hit;
}

static void test_an_acknowledged_message_is_gone_or_its_ack_did_not_count(void)
{
    static const enum stream_retention retentions[] = {RETENTION_WORKQUEUE, RETENTION_INTEREST};
    static const enum consumer_ack_policy policies[] = {ACK_EXPLICIT, ACK_ALL};

    for (size_t i = 0; i < 4; i++) {
        long n = 0;
        while (queue_without_memory(retentions[i / 2], policies[i % 2], n))
            n++;
        TEST_ASSERT_GREATER_THAN(0, n);
    }
}

/* --- pauses ---------------------------------------------------------------------------------- */

static int op_error;

static void paused(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    (void)op;
    (void)c;
    op_error = e == NULL ? 0 : e->err_code;
}

static void test_a_pause_is_as_it_was_answered(void)
{
    bool hit = true;

    for (long n = 0; hit; n++) {
        up();
        struct consumer *c = add("D", pull());
        int64_t until = w.now_ns + 3600 * CLOCK_S;
        struct consumer_op op = {.done = paused};
        op_error = -1;
        memory_arm(n);
        consumer_pause(c, until, &op);
        world_turns(&w);
        hit = memory_hit;
        memory_disarm();
        TEST_ASSERT_NOT_EQUAL(-1, op_error);
        TEST_ASSERT_EQUAL_INT64(op_error == 0 ? until : 0, consumer_config(c)->pause_until_ns);
        world_turns(&w);
        if (op_error == 0) {
            restart();
            c = consumers_find(g, MF_LIT("D"));
            TEST_ASSERT_EQUAL_INT64(until, consumer_config(c)->pause_until_ns);
        }
        tearDown();
        setUp();
    }
    TEST_ASSERT_EQUAL_INT(0, op_error);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_delivery_without_memory_comes_later);
    RUN_TEST(test_a_watcher_without_acks_misses_nothing);
    RUN_TEST(test_a_confirmed_ack_is_on_disk);
    RUN_TEST(test_an_acknowledged_message_is_gone_or_its_ack_did_not_count);
    RUN_TEST(test_a_pause_is_as_it_was_answered);
    return UNITY_END();
}
