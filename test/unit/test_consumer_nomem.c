/* test_consumer_nomem.c: memory runs out while consumers deliver: nothing is passed over. */
#include "support/consumer_world.h"
#include "support/no_memory.h"

#include "mayfly/clock.h"

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
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

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
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

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

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_delivery_without_memory_comes_later);
    RUN_TEST(test_a_watcher_without_acks_misses_nothing);
    return UNITY_END();
}
