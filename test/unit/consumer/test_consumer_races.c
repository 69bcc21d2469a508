/* test_consumer_races.c: events that cross each other: messages removed under a cursor, a reset
 * during a read, clients that disconnect, wait times without end. */
#include "support/consumer_world.h"
#include "support/fault_io.h"

/* --- counts -------------------------------------------------------------------------------- */

/* Each filter has its own cursor; the head of one waits while the other is served. */
static void test_message_that_goes_under_a_cursor_is_counted_once(void)
{
    char *filters[] = {(char *)"k.a", (char *)"k.b"};
    struct consumer_config cfg = pull();

    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    put("k.b", "2");
    put("k.a", "3");
    put("k.b", "4");
    cfg.filter_subjects.at = filters;
    cfg.filter_subjects.n = 2;
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    TEST_ASSERT_EQUAL_UINT64(3, info(c).pending);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 2));
    TEST_ASSERT_EQUAL_UINT64(2, info(c).pending);
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|3"));
    TEST_ASSERT_EQUAL_UINT64(1, info(c).pending);
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|4"));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).pending);
}

static struct consumer *last_per_subject(void)
{
    struct consumer_config cfg = pull();

    cfg.deliver_policy = DELIVER_LAST_PER_SUBJECT;
    cfg.filter_subject = (char *)"k.>";
    put("k.a.x", "a");
    put("k.b.x", "b");
    put("k.c.y", "c");
    return add("D", cfg);
}

/* The list after a restart is the one from before; what came since must not be in it and in the
 * news. */
static void test_last_per_subject_goes_on_after_a_restart_without_repeating(void)
{
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = last_per_subject();
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    put("k.d.x", "d");
    put("k.b.x", "b2");
    consumers_close(g, false);
    world_turns(&w);
    world_close(&w);
    world_open(&w, &plain);
    consumers_up();
    c = consumers_find(g, MF_LIT("D"));
    heard();
    TEST_ASSERT_EQUAL_UINT64(4, info(c).pending); /* b, c, d, b2 */
    ask(c, "10");
    const char *t = heard();
    TEST_ASSERT_EQUAL_size_t(4, count(t, "in<"));
    TEST_ASSERT_EQUAL_size_t(1, count(t, "|b\n"));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).pending);
}

/* Nobody tells of the end of messages outside the filter: the list must not count them. */
static void test_last_per_subject_with_other_filters_counts_down_to_zero(void)
{
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = last_per_subject();
    struct consumer_config cfg = pull();
    struct consumer_op op = {.done = created};
    cfg.deliver_policy = DELIVER_LAST_PER_SUBJECT;
    cfg.filter_subject = (char *)"k.*.x";
    consumer_update(c, &cfg, &op);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).pending);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 3));
    TEST_ASSERT_EQUAL_UINT64(2, info(c).pending);
    snprintf(here, sizeof here, " in ");
    ask(c, "10");
    TEST_ASSERT_EQUAL_size_t(2, count(heard(), "in<"));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).pending);
}

/* --- a message that is being read ---------------------------------------------------------- */

static bool cold(struct store_io *io, const uint8_t *p, uint64_t off, size_t n)
{
    (void)io, (void)p, (void)off, (void)n;
    return false;
}

/* Nothing is in memory after this. */
static struct consumer *restarted(const struct stream_config *sc)
{
    consumers_close(g, false);
    world_turns(&w);
    world_close(&w);
    w.io->resident = cold;
    world_open(&w, sc);
    consumers_up();
    world_turns(&w);
    return consumers_find(g, MF_LIT("D"));
}

static void test_reset_while_a_message_is_read_starts_from_there(void)
{
    world_open(&w, &plain);
    consumers_up();
    for (int i = 0; i < 5; i++)
        put("k.a", "x");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "3");
    c = restarted(&plain);
    uint64_t seq;
    struct js_error e;
    consumer_pull(c, MF_LIT("in"), MF_LIT("1"), MF_SLICE_NONE);
    TEST_ASSERT_TRUE(c->read.busy);
    TEST_ASSERT_EQUAL_INT(0, consumer_reset(c, 1, &seq, &e));
    heard();
    world_turns(&w);
    TEST_ASSERT_NOT_NULL(strstr(heard(), "$JS.ACK.S.D.1.1.1."));
    TEST_ASSERT_EQUAL_UINT64(4, info(c).pending);
    ask(c, "10");
    TEST_ASSERT_EQUAL_size_t(4, count(heard(), "in<"));
}

static void test_message_that_goes_while_it_is_read_for_nobody_is_not_counted(void)
{
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    put("k.a", "2");
    struct consumer *c = add("D", pull());
    c = restarted(&plain);
    snprintf(here, sizeof here, " in ");
    consumer_pull(c, MF_LIT("in"), MF_LIT("1"), MF_SLICE_NONE);
    TEST_ASSERT_TRUE(c->read.busy);
    here[0] = '\0';
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, info(c).pending);
}

/* An interest stream keeps what somebody wants; the acks of messages that are not in memory must
 * count too, or it grows for ever. */
static void test_acked_message_that_is_not_in_memory_goes(void)
{
    struct stream_config sc = plain;
    struct consumer_config cfg;

    sc.retention = RETENTION_INTEREST;
    world_open(&w, &sc);
    consumers_up();
    struct consumer *c = add("D", pull());
    put("k.a", "1");
    put("k.b", "2");
    c = restarted(&sc);
    cfg = pull();
    cfg.filter_subject = (char *)"k.b";
    cfg.mem_storage = true;
    add("E", cfg);
    snprintf(here, sizeof here, " in ");
    ask(c, "2");
    TEST_ASSERT_EQUAL_UINT64(2, info(c).ack_pending);
    ack(c, "1.1.1.0.1", "+ACK");
    ack(c, "1.2.2.0.1", "+ACK");
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static uint64_t left_when_told;

static void told_of_deletion(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    (void)op;
    TEST_ASSERT_NULL(c);
    TEST_ASSERT_NULL(e);
    left_when_told = world_count(&w);
}

/* Who makes another one when it is told that the last one is gone, finds nothing of it. */
static void test_deletion_is_told_when_its_messages_are_gone(void)
{
    for (int mem = 0; mem < 2; mem++) {
        struct stream_config sc = plain;
        struct consumer_config cfg = pull();
        struct consumer_op op = {.done = told_of_deletion};

        sc.retention = RETENTION_INTEREST;
        cfg.mem_storage = mem == 1;
        world_open(&w, &sc);
        consumers_up();
        struct consumer *c = add("D", cfg);
        for (int i = 0; i < 1200; i++) /* more than is looked at in one turn */
            (void)world_publish(&w, "k.a", NULL, "");
        world_turns(&w);
        (void)world_publish(&w, "k.b", NULL, ""); /* not on disk yet */
        left_when_told = 99;
        consumer_delete(c, &op);
        world_turns(&w);
        TEST_ASSERT_EQUAL_UINT64(0, left_when_told);
        consumers_close(g, false);
        world_turns(&w);
        world_close(&w);
    }
    world_open(&w, &plain);
    consumers_up();
}

static struct consumer *once(const char *name)
{
    struct consumer_config cfg = pull();

    cfg.max_deliver = 1;
    cfg.ack_policy = ACK_EXPLICIT;
    return add(name, cfg);
}

/* Whoever deals with what was given up finds it there: not when all others have acked it, nor when
 * one of them is deleted, nor after a restart; its own ack lets it go. */
static void test_interest_stream_keeps_what_was_given_up(void)
{
    struct stream_config sc = plain;
    struct consumer_op op = {.done = told_of_deletion};

    sc.retention = RETENTION_INTEREST;
    world_open(&w, &sc);
    consumers_up();
    struct consumer *c = once("D"), *e = add("E", pull());
    add("F", pull());
    put("k.a", "1");
    put("k.b", "2");
    snprintf(here, sizeof here, " in ");
    ask(c, "2");
    ask(e, "2");
    ack(c, "1.1.1.0.1", "-NAK");
    ack(c, "1.2.2.0.1", "+ACK");
    ask(c, "1"); /* it is given up when the next one is asked for */
    TEST_ASSERT_EQUAL_UINT64(0, info(c).ack_pending);
    ack(e, "1.1.1.0.1", "+ACK");
    ack(e, "1.2.2.0.1", "+ACK");
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
    consumer_delete(consumers_find(g, MF_LIT("F")), &op);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    c = restarted(&sc);
    consumer_delete(consumers_find(g, MF_LIT("E")), &op);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    ack(c, "1.1.1.0.1", "+ACK");
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* What a consumer gave up while it had other filters is forgotten with the message. */
static void test_given_up_is_forgotten_with_its_message(void)
{
    struct stream_config sc = plain;
    struct consumer_config cfg = pull();
    struct consumer_op op = {.done = created};

    sc.retention = RETENTION_INTEREST;
    cfg.max_deliver = 1;
    cfg.filter_subject = (char *)"k.a";
    world_open(&w, &sc);
    consumers_up();
    struct consumer *c = add_giving_up("D", cfg);
    TEST_ASSERT_EQUAL_size_t(1, c->wait.given_up);
    struct consumer_config next;
    cfg.filter_subject = (char *)"k.b";
    TEST_ASSERT_EQUAL_INT(0, consumer_config_copy(&next, &cfg));
    consumer_update(c, &next, &op);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    world_turns(&w);
    TEST_ASSERT_EQUAL_size_t(0, c->wait.given_up);
}

/* --- times --------------------------------------------------------------------------------- */

/* 292 years are a valid duration; added to now they are in the past, and everything is due. */
static void test_times_without_end_never_come(void)
{
    struct consumer_config cfg = pull();

    cfg.ack_wait_ns = cfg.inactive_threshold_ns = INT64_MAX;
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    put("k.a", "2");
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in ");
    ask(c, "{\"batch\":5,\"expires\":9223372036854775807,\"idle_heartbeat\":4611686018427387000}");
    ack(c, "1.2.2.0.0", "-NAK 2562047h");
    world_turns(&w);
    TEST_ASSERT_EQUAL_size_t(2, count(heard(), "in<"));
    TEST_ASSERT_EQUAL_UINT64(2, info(c).ack_pending);
    TEST_ASSERT_EQUAL_UINT64(1, info(c).waiting);
    struct consumer_op op = {.done = created};
    consumer_pause(c, INT64_MAX, &op);
    world_turns(&w);
    TEST_ASSERT_TRUE(info(c).paused);
}

/* A pause ends at a moment of the wall clock, wherever that is set to. */
static void test_a_pause_follows_a_clock_that_is_set(void)
{
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    struct consumer *c = add("D", pull());
    struct consumer_op op = {.done = created};
    int64_t until = w.now_ns + 3600 * CLOCK_S;
    consumer_pause(c, until, &op);
    world_turns(&w);
    snprintf(here, sizeof here, " in ");
    ask(c, "{\"batch\":1,\"expires\":600000000000}");
    world_turns(&w);
    TEST_ASSERT_EQUAL_STRING("", heard());
    w.behind_ns = 3600 * CLOCK_S; /* back: it lasts longer */
    consumers_clock_stepped(g);
    TEST_ASSERT_EQUAL_INT64(until - (w.now_ns - w.behind_ns), info(c).pause_remaining_ns);
    w.behind_ns = 0;
    w.now_ns = until; /* forward: it is over */
    consumers_clock_stepped(g);
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S; /* timers need their millisecond */
    while (log_.len == 0 && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_EQUAL_size_t(1, count(heard(), "in<"));
    TEST_ASSERT_FALSE(info(c).paused);
    w.behind_ns = CLOCK_S; /* back again over its end: paused for that second */
    consumers_clock_stepped(g);
    TEST_ASSERT_TRUE(info(c).paused && c->timers.pause_at_ns != NEVER);
}

/* --- clients that are gone ----------------------------------------------------------------- */

static void test_requests_of_clients_that_are_gone_make_room(void)
{
    struct consumer_config cfg = pull();

    cfg.max_waiting = 2;
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " old ");
    for (int i = 0; i < 2; i++)
        consumer_pull(c, MF_LIT("old"), MF_LIT("1"), MF_SLICE_NONE);
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    TEST_ASSERT_EQUAL_STRING("", heard());
    put("k.a", "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|1"));
}

static struct consumer *add_pinned(void)
{
    static char *groups[] = {(char *)"g"};
    struct consumer_config cfg = pull();

    cfg.priority_policy = PRIORITY_PINNED;
    cfg.priority_timeout_ns = 120 * CLOCK_S;
    cfg.priority_groups.at = groups;
    cfg.priority_groups.n = 1;
    return add("D", cfg);
}

static void test_client_that_is_gone_is_not_pinned(void)
{
    world_open(&w, &plain);
    consumers_up();
    struct consumer *c = add_pinned();
    snprintf(here, sizeof here, " old in ");
    consumer_pull(c, MF_LIT("old"), MF_LIT("{\"group\":\"g\"}"), MF_SLICE_NONE);
    ask(c, "{\"group\":\"g\"}");
    snprintf(here, sizeof here, " in ");
    put("k.a", "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|1"));
}

static size_t deliver_but_old(void *arg, struct mf_slice route, const struct mf_msg *m)
{
    return mf_eq_str(route, "old") ? 0 : deliver(arg, route, m);
}

/* One that is being closed still has its subscription, and takes nothing any more. */
static void test_client_that_takes_nothing_is_not_pinned(void)
{
    world_open(&w, &plain);
    consumers_up();
    host.deliver = deliver_but_old;
    struct consumer *c = add_pinned();
    snprintf(here, sizeof here, " old in ");
    consumer_pull(c, MF_LIT("old"), MF_LIT("{\"group\":\"g\"}"), MF_SLICE_NONE);
    ask(c, "{\"group\":\"g\"}");
    put("k.a", "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|1"));
}

/* Sent, by the length of its wait, before the clock that waits are measured by began. */
static void test_updated_wait_of_what_was_sent_before_the_machine_started(void)
{
    struct consumer_config cfg = pull(), next = pull();
    struct consumer_op op = {.done = created};

    cfg.ack_wait_ns = CLOCK_S * 3600 * 24 * 365 * 100;
    next.ack_wait_ns = CLOCK_S;
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    ack(c, "1.1.1.0.0", "-NAK 1h");
    heard();
    consumer_update(c, &next, &op);
    world_turns(&w);
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "$JS.ACK.S.D.2.1.2."));
}

/* --- flow control -------------------------------------------------------------------------- */

/* What went out behind a flow control request may be more than the window alone. */
static void test_flow_control_goes_on_after_messages_larger_than_its_window(void)
{
    struct consumer_config cfg = {.deliver_subject = (char *)"out",
                                  .ack_policy = ACK_NONE,
                                  .max_deliver = -1,
                                  .flow_control = true,
                                  .idle_heartbeat_ns = 5 * CLOCK_S,
                                  .mem_storage = true,
                                  .durable_name = (char *)"P"};
    size_t n = 5u << 20;
    char *large = malloc(n + 1);

    TEST_ASSERT_NOT_NULL(large);
    memset(large, 'x', n);
    large[n] = '\0';
    world_open(&w, &plain);
    consumers_up();
    snprintf(here, sizeof here, " out ");
    struct consumer *c = add("P", cfg);
    large[1200000] = '\0';
    put("k.a", large);
    large[1200000] = 'x';
    put("k.a", large);
    put("k.a", "after");
    free(large);
    TEST_ASSERT_NULL(strstr(heard(), "|after"));
    for (int i = 0; i < 3 && c->push->flow[0] != '\0'; i++) {
        char token[64];
        snprintf(token, sizeof token, "%s", c->push->flow);
        consumer_flow(c, mf_str(token), MF_SLICE_NONE);
        world_turns(&w);
    }
    TEST_ASSERT_NOT_NULL(strstr(heard(), "|after"));
}

/* --- room ---------------------------------------------------------------------------------- */

static void test_purge_tells_a_request_that_does_not_wait(void)
{
    struct consumer_config cfg = pull();

    cfg.max_ack_pending = 1;
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    put("k.a", "2");
    struct consumer *c = add("D", cfg);
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    ask(c, "{\"no_wait\":true}");
    heard();
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, NULL));
    world_turns(&w);
    TEST_ASSERT_NOT_NULL(strstr(heard(), " 404 No Messages;"));
}

/* --- what went while nobody looked --------------------------------------------------------- */

/* A kill may lose the news of a removal, not the removal: nothing is awaited of it any more. */
static void test_floor_moves_over_what_went_before_a_restart(void)
{
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    put("k.a", "2");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "2");
    consumers_close(g, false);
    g = NULL;
    world_turns(&w);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 1));
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, 2));
    world_kill(&w);
    world_open(&w, &plain);
    consumers_up();
    c = consumers_find(g, MF_LIT("D"));
    TEST_ASSERT_EQUAL_UINT64(0, info(c).ack_pending);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).floor_sseq);
    TEST_ASSERT_EQUAL_UINT64(2, info(c).floor_cseq);
}

/* How often a message was delivered is what max_deliver and the client go by. */
static void test_deliveries_are_counted_on_after_a_restart(void)
{
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in ");
    ask(c, "1");
    consumer_ack(c, MF_LIT("1.1.1.0.0"), MF_SLICE_NONE, MF_LIT("-NAK"));
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "$JS.ACK.S.D.2.1.2."));
    consumers_close(g, false);
    g = NULL;
    world_turns(&w);
    world_kill(&w);
    world_open(&w, &plain);
    consumers_up();
    c = consumers_find(g, MF_LIT("D"));
    TEST_ASSERT_NOT_NULL(c);
    TEST_ASSERT_EQUAL_UINT64(1, info(c).redelivered);
    consumer_ack(c, MF_LIT("2.1.2.0.0"), MF_SLICE_NONE, MF_LIT("-NAK"));
    ask(c, "1");
    TEST_ASSERT_NOT_NULL(strstr(heard(), "$JS.ACK.S.D.3.1.3."));
}

/* On a disk that fails the ack is not stored, so its sender must not hear that it is. */
static void test_ack_that_is_not_on_disk_is_not_confirmed(void)
{
    struct store_io *files, *io;

    TEST_ASSERT_EQUAL_INT(0, store_io_memory(&files, NULL));
    TEST_ASSERT_EQUAL_INT(0, fault_io_new(&io, files, NULL));
    world_files(&w, io);
    world_open(&w, &plain);
    consumers_up();
    put("k.a", "1");
    struct consumer *c = add("D", pull());
    snprintf(here, sizeof here, " in done ");
    ask(c, "1");
    world_turns(&w);
    fault_io_arm(io, &(struct fault_plan){.kinds = FAULT_SYNC, .nth = 1, .code = MF_IO});
    consumer_ack(c, MF_LIT("1.1.1.0.0"), MF_LIT("done"), MF_LIT("+ACK"));
    world_turns(&w);
    TEST_ASSERT_TRUE(fault_io_hit(io));
    TEST_ASSERT_NULL(strstr(heard(), "done<"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_message_that_goes_under_a_cursor_is_counted_once);
    RUN_TEST(test_last_per_subject_goes_on_after_a_restart_without_repeating);
    RUN_TEST(test_last_per_subject_with_other_filters_counts_down_to_zero);
    RUN_TEST(test_reset_while_a_message_is_read_starts_from_there);
    RUN_TEST(test_message_that_goes_while_it_is_read_for_nobody_is_not_counted);
    RUN_TEST(test_a_pause_follows_a_clock_that_is_set);
    RUN_TEST(test_requests_of_clients_that_are_gone_make_room);
    RUN_TEST(test_client_that_is_gone_is_not_pinned);
    RUN_TEST(test_client_that_takes_nothing_is_not_pinned);
    RUN_TEST(test_updated_wait_of_what_was_sent_before_the_machine_started);
    RUN_TEST(test_flow_control_goes_on_after_messages_larger_than_its_window);
    RUN_TEST(test_purge_tells_a_request_that_does_not_wait);
    RUN_TEST(test_acked_message_that_is_not_in_memory_goes);
    RUN_TEST(test_deletion_is_told_when_its_messages_are_gone);
    RUN_TEST(test_interest_stream_keeps_what_was_given_up);
    RUN_TEST(test_given_up_is_forgotten_with_its_message);
    RUN_TEST(test_floor_moves_over_what_went_before_a_restart);
    RUN_TEST(test_deliveries_are_counted_on_after_a_restart);
    RUN_TEST(test_ack_that_is_not_on_disk_is_not_confirmed);
    RUN_TEST(test_times_without_end_never_come);
    return UNITY_END();
}
