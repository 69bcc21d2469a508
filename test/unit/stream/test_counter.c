/* test_counter.c: counters whose last value is under way to the disk, on it, gone or unreadable. */
#include "stream/counter_impl.h"
#include "support/cold_reads.h"
#include "support/stream_world.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config counting = {.name = (char *)"S",
                                              .subjects = {subjects, 1},
                                              .allow_msg_counter = true,
                                              .allow_atomic = true};

void setUp(void)
{
    cold = 0;
    world_init(&w);
    world_open(&w, &counting);
}

void tearDown(void)
{
    world_fini(&w);
}

static struct world_ack add(const char *subject, const char *n)
{
    char lines[128];

    snprintf(lines, sizeof lines, "Nats-Incr: %s\r\n", n);
    return world_publish(&w, subject, lines, "");
}

static void assert_add(const char *subject, const char *n, const char *value)
{
    struct world_ack a = add(subject, n);

    TEST_ASSERT_EQUAL_STRING("", a.text);
    TEST_ASSERT_EQUAL_STRING(value, a.val);
}

static void forget(void) /* as if all of it had been pushed out of memory */
{
    counter_free(w.stream);
}

static void test_increments_under_way_are_counted(void)
{
    struct world_ack a[50];
    char want[16];

    for (int i = 0; i < 50; i++)
        world_send(&w, "k.a", "r", "Nats-Incr: 2\r\n", "", &a[i]);
    TEST_ASSERT_FALSE(a[0].done);
    world_turns(&w);
    for (int i = 0; i < 50; i++) {
        snprintf(want, sizeof want, "%d", 2 * (i + 1));
        TEST_ASSERT_EQUAL_STRING(want, a[i].val);
        TEST_ASSERT_EQUAL_UINT64(i + 1, a[i].seq);
    }
    TEST_ASSERT_EQUAL_STRING("k.a|Nats-Incr: 2|{\"val\":\"100\"}", world_message(&w, 50));
}

static void test_value_comes_back_from_the_stored_message(void)
{
    assert_add("k.a", "5", "5");
    forget();
    assert_add("k.a", "5", "10");
    world_kill(&w);
    world_open(&w, &counting);
    assert_add("k.a", "-20", "-10");
}

/* Nobody is answered out of order because a value had to come from disk. */
static void test_publishes_wait_in_order_for_a_value_from_disk(void)
{
    struct world_ack a, b, c, d;

    assert_add("k.a", "1", "1");
    assert_add("k.b", "10", "10");
    forget();
    cold = 2; /* for a, then for b */
    world_send(&w, "k.a", "r", "Nats-Incr: 1\r\n", "", &a);
    world_send(&w, "k.b", "r", "Nats-Incr: 1\r\n", "", &b);
    world_send(&w, "k.c", "r", "Nats-Incr: 1\r\n", "", &c);
    world_send(&w, "k.a", "r", "Nats-Incr: x\r\n", "", &d);
    TEST_ASSERT_FALSE(a.done || b.done || c.done || d.done);
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(0, cold);
    TEST_ASSERT_EQUAL_STRING("2", a.val);
    TEST_ASSERT_EQUAL_STRING("11", b.val);
    TEST_ASSERT_EQUAL_STRING("1", c.val);
    TEST_ASSERT_EQUAL_INT(10171, d.err_code);
    TEST_ASSERT_TRUE(a.seq == 3 && b.seq == 4 && c.seq == 5);
}

/* The batch's commit waits; its members' values are then right. */
static void test_a_batch_waits_for_its_values(void)
{
    struct world_ack a, b;

    assert_add("k.a", "7", "7");
    TEST_ASSERT_TRUE(world_publish(&w, "k.a",
                                   "Nats-Incr: 1\r\nNats-Batch-Id: i\r\nNats-Batch-Sequence: 1\r\n",
                                   "")
                         .empty);
    forget();
    cold = 1;
    world_send(&w, "k.b", "r",
               "Nats-Incr: 1\r\nNats-Batch-Id: i\r\nNats-Batch-Sequence: 2\r\n"
               "Nats-Batch-Commit: 1\r\n",
               "", &a);
    world_send(&w, "k.a", "r", "Nats-Incr: 1\r\n", "", &b);
    TEST_ASSERT_EQUAL_INT(0, cold);
    TEST_ASSERT_FALSE(a.done);
    world_turns(&w);
    TEST_ASSERT_EQUAL_STRING("", a.text);
    TEST_ASSERT_EQUAL_UINT64(3, a.seq);
    TEST_ASSERT_EQUAL_UINT64(2, a.batch_count);
    TEST_ASSERT_EQUAL_STRING("9", b.val);
}

/* The one before counts again, and it is not on disk yet. */
static void test_removal_of_a_value_under_way(void)
{
    struct world_ack a, b, c;

    world_send(&w, "k.a", "r", "Nats-Incr: 1\r\n", "", &a);
    world_send(&w, "k.a", "r", "Nats-Incr: 10\r\n", "", &b);
    TEST_ASSERT_EQUAL_INT(0, store_remove(w.stream->store, 2, NULL));
    world_send(&w, "k.a", "r", "Nats-Incr: 100\r\n", "", &c);
    world_turns(&w);
    TEST_ASSERT_EQUAL_STRING("11", b.val);
    TEST_ASSERT_EQUAL_STRING("101", c.val);
}

static void test_purge_begins_at_zero(void)
{
    assert_add("k.a", "5", "5");
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, NULL));
    assert_add("k.a", "1", "1");
}

static void copy_done(struct stream_publish *p, const struct stream_ack *a)
{
    (void)p;
    TEST_ASSERT_NULL(a->error);
}

/* A copy of another stream's message: stored as it is. */
static void copy(const char *hdr, const char *payload)
{
    struct stream_publish p = {
        .msg = {.subject = MF_LIT("k.a"), .hdr = mf_str(hdr), .payload = mf_str(payload)},
        .replicated = true,
        .done = copy_done};

    stream_publish(w.stream, &p);
    world_turns(&w);
}

static struct js_error refusal;

static void sourced_done(struct stream_publish *p, const struct stream_ack *a)
{
    (void)p;
    if (a->error != NULL)
        refusal = *a->error;
}

/* What a source brings; 0, or the err_code. */
static int sourced(const char *lines, const char *payload)
{
    char hdr[256];
    struct stream_publish p = {.msg = {.subject = MF_LIT("k.a"), .payload = mf_str(payload)},
                               .replicated = true,
                               .followed = true,
                               .done = sourced_done};

    (void)snprintf(hdr, sizeof hdr, "NATS/1.0\r\n%s\r\n", lines);
    p.msg.hdr = mf_str(hdr);
    refusal.err_code = 0;
    stream_publish(w.stream, &p);
    world_turns(&w);
    return refusal.err_code;
}

#define FROM(stream, subject) "Nats-Incr: 1\r\nNats-Stream-Source: " stream " 1 > > " subject "\r\n"

static void test_sourced_counters_are_summed(void)
{
    assert_add("k.a", "100", "100");
    TEST_ASSERT_EQUAL_INT(0, sourced(FROM("O", "o.x"), "{\"val\":\"5\"}"));
    TEST_ASSERT_EQUAL_INT(0, sourced(FROM("P", "p.\"x"), "{\"val\":\"-20\"}"));
    TEST_ASSERT_EQUAL_INT(0, sourced(FROM("O", "o.x"), "{\"val\":\"3\"}"));
    TEST_ASSERT_EQUAL_INT(0, sourced(FROM("O", "o.a"), "{\"val\":\"1\"}"));
    assert_add("k.a", "1", "85");
    TEST_ASSERT_EQUAL_STRING("k.a|Nats-Incr: -2,Nats-Stream-Source: O 1 > > o.x,"
                             "Nats-Counter-Sources: {\"O\":{\"o.x\":\"3\"},"
                             "\"P\":{\"p.\\\"x\":\"-20\"}}|{\"val\":\"83\"}",
                             world_message(&w, 4));
    TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 6), "{\"O\":{\"o.a\":\"1\",\"o.x\":\"3\"},"));
}

static void test_sourced_counters_must_be_some(void)
{
    TEST_ASSERT_EQUAL_INT(10169, sourced("Nats-Stream-Source: O 1 > > o.x\r\n", "{}"));
    TEST_ASSERT_EQUAL_INT(
        10171, sourced("Nats-Incr: x\r\nNats-Stream-Source: O 1 > > o.x\r\n", "{\"val\":\"1\"}"));
    TEST_ASSERT_EQUAL_INT(10172, sourced(FROM("O", "o.x"), "{\"val\":1}"));
    copy("NATS/1.0\r\nNats-Counter-Sources: {\"O\":{\"o.x\":\"1\"},}\r\n\r\n", "{\"val\":\"1\"}");
    TEST_ASSERT_EQUAL_INT(10172, sourced(FROM("O", "o.x"), "{\"val\":\"2\"}"));
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

/* What nobody can read is not summed to; what says nothing, or more than one thing, can be. */
static void test_sources_that_are_told_must_be_readable(void)
{
    static const struct {
        const char *text;
        int err_code;
    } rows[] = {
        {"x", 10172},
        {"{", 10172},
        {"{\"O\"", 10172},
        {"{\"O\":", 10172},
        {"{\"O\":1}", 10172},
        {"{O:{}}", 10172},
        {"{\"O", 10172},
        {"{\"O\\\"", 10172},
        {"{\"O\":{\"o.x\"", 10172},
        {"{\"O\":{\"o.x\":", 10172},
        {"{\"O\":{\"o.x\":1}}", 10172},
        {"{\"O\":{\"o.x\":\"1\"", 10172},
        {"{\"O\":{\"o.x\":\"1\"}", 10172},
        {"{\"O\":{\"o.x\":\"1\"}} x", 10172},
        {"{\"O\\q\":{}}", 10172},
        {"{}", 0},
        {"{\"O\":{}}", 0},
        {" { \"O\" : { \"o.y\" : \"1\" , \"o.y\" : \"2\" } } ", 0},
    };
    char hdr[256];

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        snprintf(hdr, sizeof hdr, "NATS/1.0\r\nNats-Counter-Sources: %s\r\n\r\n", rows[i].text);
        copy(hdr, "{\"val\":\"1\"}");
        TEST_ASSERT_EQUAL_INT_MESSAGE(rows[i].err_code,
                                      sourced(FROM("O", "o.x"), "{\"val\":\"2\"}"), rows[i].text);
    }
}

static void test_a_message_without_a_number_breaks_the_counter(void)
{
    static const char *const bad[] = {"", "x", "[]", "{\"val\":5}", "\"5\""};

    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        copy("", bad[i]);
        TEST_ASSERT_EQUAL_INT_MESSAGE(10172, add("k.a", "1").err_code, bad[i]);
    }
    copy("", "{\"val\":\"junk\"}"); /* as nats-server has it: zero */
    assert_add("k.a", "1", "1");
    copy("", "{ \"other\": 1, \"val\" : \"-41\" }");
    assert_add("k.a", "1", "-40");
}

/* Where the sum came from goes on with it. */
static void test_sources_are_handed_on(void)
{
    copy("NATS/1.0\r\nNats-Counter-Sources: {\"A\":{\"k.a\":\"3\"}}\r\n\r\n", "{\"val\":\"3\"}");
    assert_add("k.a", "1", "4");
    TEST_ASSERT_EQUAL_STRING(
        "k.a|Nats-Incr: 1,Nats-Counter-Sources: {\"A\":{\"k.a\":\"3\"}}|{\"val\":\"4\"}",
        world_message(&w, 2));
    assert_add("k.a", "1", "5");
    TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 3), "Nats-Counter-Sources"));
}

/* More subjects than are remembered: all of them right. */
static void test_many_counters_are_all_right(void)
{
    static struct world_ack a[1000];
    char subject[16];

    for (int round = 1; round <= 2; round++)
        for (int i = 0; i < 17000; i++) {
            snprintf(subject, sizeof subject, "k.%d", i);
            world_send(&w, subject, "r", "Nats-Incr: 3\r\n", "", &a[i % 1000]);
            if (i % 1000 == 999) {
                world_turns(&w);
                for (int k = 0; k < 1000; k++)
                    TEST_ASSERT_EQUAL_STRING(round == 1 ? "3" : "6", a[k].val);
            }
        }
    TEST_ASSERT_TRUE(w.stream->counters->table.count <= 16384 + 1);
}

static void test_closing_answers_who_is_parked(void)
{
    struct world_ack a;

    assert_add("k.a", "1", "1");
    forget();
    cold = 1;
    world_send(&w, "k.a", "r", "Nats-Incr: 1\r\n", "", &a);
    world_close(&w);
    TEST_ASSERT_TRUE(a.done);
    TEST_ASSERT_EQUAL_INT(10059, a.err_code);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_increments_under_way_are_counted);
    RUN_TEST(test_value_comes_back_from_the_stored_message);
    RUN_TEST(test_publishes_wait_in_order_for_a_value_from_disk);
    RUN_TEST(test_a_batch_waits_for_its_values);
    RUN_TEST(test_removal_of_a_value_under_way);
    RUN_TEST(test_purge_begins_at_zero);
    RUN_TEST(test_sourced_counters_are_summed);
    RUN_TEST(test_sourced_counters_must_be_some);
    RUN_TEST(test_sources_that_are_told_must_be_readable);
    RUN_TEST(test_a_message_without_a_number_breaks_the_counter);
    RUN_TEST(test_sources_are_handed_on);
    RUN_TEST(test_many_counters_are_all_right);
    RUN_TEST(test_closing_answers_who_is_parked);
    return UNITY_END();
}
