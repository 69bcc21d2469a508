/* test_consumer.c: the engine behind consumers: who gets which message when, what is counted, what
 * is acknowledged, and what is still so after a kill. */
#include "support/consumer_world.h"

/* --- pull ---------------------------------------------------------------------------------- */

static void test_batch_is_served_with_exact_pending(void)
{
    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 5; i++)
        put("k.a", "x");
    struct consumer *c = add("D", pull());
    TEST_ASSERT_EQUAL_UINT64(5, info(c).pending);
    snprintf(here, sizeof here, " in ");
    ask(c, "3");
    const char *t = heard();
    TEST_ASSERT_EQUAL_size_t(3, count(t, "in<k.a $JS.ACK.S.D.1."));
    TEST_ASSERT_NOT_NULL(strstr(t, "$JS.ACK.S.D.1.1.1.1700000000000000000.4|x"));
    TEST_ASSERT_NOT_NULL(strstr(t, ".3.3."));
    TEST_ASSERT_EQUAL_UINT64(2, info(c).pending);
    TEST_ASSERT_EQUAL_UINT64(3, info(c).ack_pending);
}

static void test_request_waits_for_a_message(void)
{
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "{\"batch\":2,\"expires\":5000000000}");
    TEST_ASSERT_EQUAL_UINT64(1, info(c).waiting);
    put("k.a", "one");
    TEST_ASSERT_NOT_NULL(strstr(heard(), ".1.1.1700000000000000000.0|one"));
    put("k.b", "two");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|two"));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).waiting);
}

/* The moment between its end and the timer that tells of it. */
static void test_an_expired_request_does_not_wait(void)
{
    struct consumer_config cfg = pull();

    cfg.max_waiting = 1;
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in ");
    ask(c, "{\"batch\":1,\"expires\":20000000}");
    for (int64_t end = clock_mono_ns() + 20 * CLOCK_MS; clock_mono_ns() < end;)
        ; /* the loop does not turn */
    TEST_ASSERT_EQUAL_UINT64(0, info(c).waiting);
    /* its place is free, too */
    ask(c, "{\"batch\":1,\"expires\":60000000000}");
    TEST_ASSERT_EQUAL_UINT64(1, info(c).waiting);
    TEST_ASSERT_EQUAL_size_t(1, count(heard(), "408 Request Timeout"));
    TEST_ASSERT_NULL(strstr(heard(), "409"));
}

static void test_no_wait_is_told_at_once(void)
{
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "{\"batch\":2,\"no_wait\":true}");
    TEST_ASSERT_NOT_NULL(strstr(heard(), " 404 No Messages;"));
    put("k.a", "one");
    ask(c, "{\"batch\":2,\"no_wait\":true}");
    const char *t = heard();
    TEST_ASSERT_NOT_NULL(strstr(t, "|one"));
    TEST_ASSERT_NOT_NULL(strstr(t, " 404 No Messages;"));
}

/* --- acks ---------------------------------------------------------------------------------- */

static void test_floor_moves_when_the_lowest_is_acked(void)
{
    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 5; i++)
        put("k.a", "x");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "5");
    TEST_ASSERT_TRUE(ack(c, "1.2.2.0.0", "+ACK"));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).floor_sseq);
    TEST_ASSERT_TRUE(ack(c, "1.1.1.0.0", ""));
    TEST_ASSERT_EQUAL_UINT64(2, info(c).floor_sseq);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).floor_cseq);
    ack(c, "1.3.3.0.0", "+ACK");
    ack(c, "1.4.4.0.0", "+ACK");
    ack(c, "1.5.5.0.0", "+TERM because");
    TEST_ASSERT_EQUAL_UINT64(5, info(c).floor_sseq);
    TEST_ASSERT_EQUAL_UINT64(0, info(c).ack_pending);
}

static void test_nak_comes_again_before_new_ones(void)
{
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    put("k.a", "2");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    heard();
    ack(c, "1.1.1.0.1", "-NAK");
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "$JS.ACK.S.D.2.1.2.1700000000000000000.1|1"));
    TEST_ASSERT_EQUAL_UINT64(1, info(c).redelivered);
}

/* As in nats-server: who asks for more time is active, though nothing is delivered. */
static void test_another_time_to_wait_is_activity(void)
{
    static const char *const words[] = {"-NAK", "-NAK 1h", "+WPI", "-NAK {}"};
    static const bool counts[] = {false, true, true, true};

    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    for (size_t i = 0; i < MF_COUNT(words); i++) {
        int64_t was = info(c).delivered_at_ns;
        w.now_ns += CLOCK_S;
        TEST_ASSERT_TRUE(ack(c, "1.1.1.0.0", words[i]));
        TEST_ASSERT_EQUAL_INT64(counts[i] ? w.now_ns : was, info(c).delivered_at_ns);
    }
}

/* The floor moves to the number of what went, as in nats-server, over one that still waits. */
static void test_refusal_is_heeded_where_a_purge_moved_the_floor_over_it(void)
{
    uint64_t purged;

    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    put("k.b", "2");
    put("k.a", "3");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "3");
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.b", 0, 0, &purged));
    TEST_ASSERT_EQUAL_UINT64(2, info(c).floor_cseq);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).ack_pending);
    heard();
    ack(c, "1.1.1.0.0", "-NAK");
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "$JS.ACK.S.D.2.1.4."));
}

/* The numbers of deliveries begin anew; who heard the old ones may still use them. */
static void test_ack_from_before_a_reset_moves_the_floor_to_what_it_names(void)
{
    struct consumer_config cfg = pull();
    struct js_error e;
    uint64_t seq;

    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 5; i++)
        put("k.a", "x");
    cfg.ack_policy = ACK_ALL;
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in ");
    ask(c, "3");
    TEST_ASSERT_EQUAL_INT(0, consumer_reset(c, 2, &seq, &e));
    ask(c, "2");
    TEST_ASSERT_TRUE(ack(c, "1.2.7.0.0", "+ACK"));
    TEST_ASSERT_EQUAL_UINT64(1, info(c).floor_cseq);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).floor_sseq);
    TEST_ASSERT_EQUAL_UINT64(1, info(c).ack_pending);
}

static void test_confirmed_ack_survives_a_kill(void)
{
    struct consumer_config cfg = pull();

    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 3; i++)
        put("k.a", "x");
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in done ");
    ask(c, "3");
    heard();
    consumer_ack(c, MF_LIT("1.1.1.0.2"), MF_LIT("done"), MF_LIT("+ACK"));
    TEST_ASSERT_NULL(strstr(heard(), "done<")); /* not before it is on disk */
    world_turns(&w);
    TEST_ASSERT_NOT_NULL(strstr(heard(), "done<done "));
    consumers_close(g, true); /* writes nothing */
    g = NULL;
    world_kill(&w);
    world_open(&w, &plain);
    consumers_up();
    c = consumers_find(g, MF_LIT("D"));
    TEST_ASSERT_NOT_NULL(c);
    TEST_ASSERT_EQUAL_UINT64(1, info(c).floor_sseq);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).ack_pending);
    TEST_ASSERT_EQUAL_UINT64(3, info(c).delivered_cseq);
    TEST_ASSERT_EQUAL_UINT64(0, info(c).pending);
}

/* --- counts -------------------------------------------------------------------------------- */

static void test_pending_follows_removals_and_filters(void)
{
    struct consumer_config cfg = pull();

    world_open(&w, &plain);
    consumers_up();
    cfg.filter_subject = (char *)"k.*.x";
    for (int i = 0; i < 10; i++)
        put(i % 2 ? "k.a.x" : "k.a.y", "v");
    struct consumer *c = add("D", cfg);
    TEST_ASSERT_EQUAL_UINT64(5, info(c).pending);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 2));
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    TEST_ASSERT_EQUAL_UINT64(4, info(c).pending);
    put("k.b.x", "v");
    TEST_ASSERT_EQUAL_UINT64(5, info(c).pending);
    snprintf(here, sizeof here, " in ");
    ask(c, "2");
    TEST_ASSERT_EQUAL_UINT64(3, info(c).pending);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 4)); /* delivered: its ack is not awaited any more */
    TEST_ASSERT_EQUAL_UINT64(3, info(c).pending);
    TEST_ASSERT_EQUAL_UINT64(1, info(c).ack_pending);
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, NULL));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).pending);
    TEST_ASSERT_EQUAL_UINT64(0, info(c).ack_pending);
}

static void test_dead_message_is_passed_over_and_counted_once(void)
{
    struct stream_config sc = plain;

    sc.allow_msg_ttl = true;
    world_open(&w, &sc);
    consumers_up();
    world_publish(&w, "k.a", "Nats-TTL: 1\r\n", "dead");
    put("k.a", "alive");
    struct consumer *c = add("D", pull());
    TEST_ASSERT_EQUAL_UINT64(2, info(c).pending);
    w.now_ns += 2 * CLOCK_S; /* past, not swept */
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), ".2.1.1700000000000000001.0|alive"));
    world_time(&w, w.now_ns);
    TEST_ASSERT_EQUAL_UINT64(0, info(c).pending);
}

static void test_last_per_subject_counts_down_to_zero(void)
{
    struct consumer_config cfg = pull();

    cfg.deliver_policy = DELIVER_LAST_PER_SUBJECT;
    cfg.filter_subject = (char *)"k.>";
    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 9; i++) {
        char subject[16], payload[16];
        snprintf(subject, sizeof subject, "k.%d", i % 3);
        snprintf(payload, sizeof payload, "v%d", i);
        put(subject, payload);
    }
    struct consumer *c = add("D", cfg);
    TEST_ASSERT_EQUAL_UINT64(3, info(c).pending);
    put("k.1", "new");
    TEST_ASSERT_EQUAL_UINT64(4, info(c).pending);
    snprintf(here, sizeof here, " in ");
    ask(c, "10");
    const char *t = heard();
    TEST_ASSERT_EQUAL_size_t(4, count(t, "in<"));
    TEST_ASSERT_NOT_NULL(strstr(t, ".3|v6"));
    TEST_ASSERT_NOT_NULL(strstr(t, ".0|new"));
}

/* Older values of the subjects that are still to come stay passed over. */
static void test_a_reset_keeps_the_list_of_last_messages_that_is_half_read(void)
{
    struct consumer_config cfg = pull();
    struct js_error e;
    uint64_t seq = 0;

    cfg.deliver_policy = DELIVER_LAST_PER_SUBJECT;
    cfg.filter_subject = (char *)"k.>";
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "old a");
    put("k.b", "b");
    put("k.c", "old c");
    put("k.c", "c");
    put("k.a", "a");
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|b"));
    TEST_ASSERT_TRUE(ack(c, "1.2.1.0.0", ""));
    put("k.d", "d");
    TEST_ASSERT_EQUAL_INT(0, consumer_reset(c, 0, &seq, &e));
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(3, info(c).pending);
    ask(c, "10");
    const char *t = heard();
    TEST_ASSERT_EQUAL_size_t(3, count(t, "in<"));
    TEST_ASSERT_EQUAL_size_t(0, count(t, "old"));
    TEST_ASSERT_EQUAL_size_t(3, count(t, "|c\n") + count(t, "|a\n") + count(t, "|d\n"));
}

/* --- push ---------------------------------------------------------------------------------- */

static void test_push_waits_for_interest_and_goes_on_with_it(void)
{
    struct consumer_config cfg = {.deliver_subject = (char *)"out",
                                  .ack_policy = ACK_NONE,
                                  .max_deliver = -1,
                                  .durable_name = (char *)"P"};

    world_open(&w, &plain);
    consumers_up();
    put("k.a", "one");
    struct consumer *c = add("P", cfg);
    TEST_ASSERT_EQUAL_STRING("", heard());
    snprintf(here, sizeof here, " out ");
    consumer_interest_gained(c);
    world_turns(&w);
    TEST_ASSERT_NOT_NULL(strstr(heard(), "out<k.a $JS.ACK.S.P.1.1.1."));
    put("k.a", "two");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|two"));
    here[0] = '\0';
    put("k.a", "three");
    TEST_ASSERT_FALSE(info(c).push_bound);
    snprintf(here, sizeof here, " out ");
    consumer_interest_gained(c);
    world_turns(&w);
    const char *t = heard();
    TEST_ASSERT_EQUAL_size_t(1, count(t, "out<"));
    TEST_ASSERT_NOT_NULL(strstr(t, "|three"));
}

static void test_work_queue_lets_go_of_what_is_acked(void)
{
    struct stream_config sc = plain;

    sc.retention = RETENTION_WORKQUEUE;
    world_open(&w, &sc);
    consumers_up();
    put("k.a", "one");
    put("k.a", "two");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "2");
    ack(c, "1.1.1.0.1", "+ACK");
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

/* Who copies a stream acknowledges with flow control alone: it must be asked when nothing more may
 * go out, long before the window of bytes is used up. */
static void test_flow_control_is_asked_for_acks(void)
{
    struct consumer_config cfg = {.deliver_subject = (char *)"out",
                                  .ack_policy = ACK_FLOW_CONTROL,
                                  .flow_control = true,
                                  .idle_heartbeat_ns = 1000000000,
                                  .max_ack_pending = 2,
                                  .max_deliver = -1,
                                  .durable_name = (char *)"D"};
    const char *asked;

    world_open(&w, &plain);
    consumers_up();
    snprintf(here, sizeof here, " out ");
    struct consumer *c = add("D", cfg);
    put("k.a", "one");
    TEST_ASSERT_NULL(strstr(heard(), "FlowControl"));
    put("k.a", "two");
    put("k.a", "three");
    asked = strstr(heard(), "out<out $JS.FC.S.D.");
    TEST_ASSERT_NOT_NULL(asked);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).ack_pending);
    char token[5];
    snprintf(token, sizeof token, "%.4s", asked + strlen("out<out $JS.FC.S.D."));
    consumer_flow(c, mf_str(token),
                  MF_LIT("NATS/1.0\r\nNats-Last-Consumer: 2\r\nNats-Last-Stream: 2\r\n\r\n"));
    world_turns(&w);
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|three"));
    TEST_ASSERT_EQUAL_UINT64(2, info(c).floor_sseq);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_batch_is_served_with_exact_pending);
    RUN_TEST(test_request_waits_for_a_message);
    RUN_TEST(test_an_expired_request_does_not_wait);
    RUN_TEST(test_no_wait_is_told_at_once);
    RUN_TEST(test_floor_moves_when_the_lowest_is_acked);
    RUN_TEST(test_nak_comes_again_before_new_ones);
    RUN_TEST(test_another_time_to_wait_is_activity);
    RUN_TEST(test_refusal_is_heeded_where_a_purge_moved_the_floor_over_it);
    RUN_TEST(test_ack_from_before_a_reset_moves_the_floor_to_what_it_names);
    RUN_TEST(test_confirmed_ack_survives_a_kill);
    RUN_TEST(test_pending_follows_removals_and_filters);
    RUN_TEST(test_dead_message_is_passed_over_and_counted_once);
    RUN_TEST(test_last_per_subject_counts_down_to_zero);
    RUN_TEST(test_a_reset_keeps_the_list_of_last_messages_that_is_half_read);
    RUN_TEST(test_push_waits_for_interest_and_goes_on_with_it);
    RUN_TEST(test_work_queue_lets_go_of_what_is_acked);
    RUN_TEST(test_flow_control_is_asked_for_acks);
    return UNITY_END();
}
