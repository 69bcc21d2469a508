/* test_stream_slices.c: much at once: deaths, copies and purges of thousands are worked off in
 * slices, nobody is forgotten, and what is under way when the stream closes is told. */
#include "stream/stream_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};

#define STREAM .name = (char *)"S", .subjects = {subjects, 1}

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    world_fini(&w);
}

/* n messages on n / each subjects, on their way to the disk together. */
static void send_many(unsigned n, unsigned each, const char *lines)
{
    struct world_ack *a = calloc(n, sizeof *a);
    char subject[32];

    TEST_ASSERT_NOT_NULL(a);
    for (unsigned i = 0; i < n; i++) {
        snprintf(subject, sizeof subject, "k.%u", i / each);
        world_send(&w, subject, "r", lines, "x", &a[i]);
    }
    world_turns(&w);
    for (unsigned i = 0; i < n; i++)
        TEST_ASSERT_TRUE(a[i].done && a[i].err_code == 0);
    free(a);
}

static size_t copies_said(void)
{
    size_t n = 0;

    for (size_t i = 0; i + 5 <= w.said.len; i++)
        n += memcmp(w.said.ptr + i, "copy.", 5) == 0;
    return n;
}

/* --- deaths -------------------------------------------------------------------------------- */

static void test_thousands_die_at_once_and_each_subject_gets_one_marker(void)
{
    enum { SUBJECTS = 1300, EACH = 2 };

    world_open(&w, &(struct stream_config){STREAM, .allow_msg_ttl = true, .allow_rollup = true,
                                           .subject_delete_marker_ttl_ns = 3600 * CLOCK_S});
    send_many(SUBJECTS * EACH, EACH, "Nats-TTL: 2h\r\n");
    world_time(&w, w.now_ns + 7201 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(SUBJECTS, world_count(&w));
    struct stream_stats st;
    stream_stats(w.stream, &st);
    TEST_ASSERT_EQUAL_UINT64(SUBJECTS * EACH, st.expired);
    TEST_ASSERT_EQUAL_UINT64(SUBJECTS, st.markers);
    world_time(&w, w.now_ns + 3601 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w)); /* a marker earns none */
}

static int64_t late_max(void)
{
    struct stream_stats st;

    stream_stats(w.stream, &st);
    return st.late_max_ns;
}

/* However often it is asked for, by whomever: a delay is told for a minute, and forgotten after
 * two.
 */
static void test_the_worst_delay_is_told_to_everybody_who_asks(void)
{
    world_open(&w, &(struct stream_config){STREAM, .max_age_ns = 60 * CLOCK_S});
    send_many(1, 1, NULL);
    TEST_ASSERT_EQUAL_INT64(0, late_max());
    world_time(&w, w.now_ns + 65 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    for (int i = 0; i < 3; i++)
        TEST_ASSERT_EQUAL_INT64(5 * CLOCK_S, late_max());
    world_time(&w, w.now_ns + STREAM_LATE_NS - 1);
    TEST_ASSERT_EQUAL_INT64(5 * CLOCK_S, late_max());
    world_time(&w, w.now_ns + 1); /* the window it fell into is the one before now */
    TEST_ASSERT_EQUAL_INT64(5 * CLOCK_S, late_max());
    world_time(&w, w.now_ns + STREAM_LATE_NS);
    TEST_ASSERT_EQUAL_INT64(0, late_max());
}

static void test_a_clock_that_is_set_back_forgets_no_delay(void)
{
    world_open(&w, &(struct stream_config){STREAM, .max_age_ns = 60 * CLOCK_S});
    send_many(1, 1, NULL);
    world_time(&w, w.now_ns + 63 * CLOCK_S);
    TEST_ASSERT_EQUAL_INT64(3 * CLOCK_S, late_max());
    w.now_ns -= 10 * CLOCK_S;
    TEST_ASSERT_EQUAL_INT64(3 * CLOCK_S, late_max());
}

static void test_thousands_die_at_once_without_markers(void)
{
    world_open(&w, &(struct stream_config){STREAM, .max_age_ns = 60 * CLOCK_S});
    send_many(5000, 1, NULL);
    world_time(&w, w.now_ns + 61 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* In each turn a slice dies; whoever publishes meanwhile is answered before the last one did. */
static void test_R000_36_the_dead_are_removed_in_slices_beside_the_traffic(void)
{
    enum { MANY = 24000, SLICE = 2000 };
    static struct world_ack a; /* a failed test leaves it behind */
    unsigned turns = 0, at_ack = 0;
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    world_open(&w, &(struct stream_config){STREAM, .max_age_ns = 60 * CLOCK_S});
    send_many(MANY, 1, NULL);
    work_set_steps(w.loop, 1); /* one slice before the events of a turn, and one behind them */
    w.now_ns += 61 * CLOCK_S;
    stream_clock_stepped(w.stream);
    for (uint64_t before = 0; before < MANY && clock_mono_ns() < give_up;) {
        if (before > 0 && turns++ == 0)
            world_send(&w, "k.new", "r", NULL, "x", &a);
        before = w.stream->stats.expired; /* a publish settles some, too */
        loop_turn(w.loop);
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * SLICE, w.stream->stats.expired - before);
        before = w.stream->stats.expired;
        at_ack = at_ack == 0 && a.done ? turns : at_ack;
    }
    TEST_ASSERT_EQUAL_UINT64(MANY, w.stream->stats.expired);
    TEST_ASSERT_GREATER_OR_EQUAL_UINT(5, turns);
    TEST_ASSERT_TRUE(at_ack > 0 && at_ack < turns);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

/* What came due while others were taken away is next; only what could not be taken waits a while.
 */
static void test_what_comes_due_during_a_sweep_does_not_wait(void)
{
    world_open(&w, &(struct stream_config){STREAM, .max_age_ns = 60 * CLOCK_S});
    send_many(1, 1, NULL);
    w.now_ns += 12 * CLOCK_MS;
    send_many(1, 1, NULL);
    w.now_ns += 60 * CLOCK_S - 12 * CLOCK_MS;
    stream_clock_stepped(w.stream);
    w.step_ns = 8 * CLOCK_MS; /* the sweep takes the first; at the next look the second is due */
    while (w.stream->stats.expired == 0)
        loop_turn(w.loop);
    TEST_ASSERT_NOT_EQUAL_INT64(0, w.stream->expiry.armed_ns);
    w.step_ns = 0;
    world_time(&w, w.now_ns + 20 * CLOCK_MS);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

/* Overdue and not swept yet: they take no room from the living, however many they are. */
static void test_the_dead_take_no_room_where_new_ones_are_discarded(void)
{
    enum { FULL = 1200 };

    world_open(&w, &(struct stream_config){STREAM, .allow_msg_ttl = true, .allow_atomic = true,
                                           .discard = DISCARD_NEW, .max_msgs = FULL});
    send_many(FULL, 1, "Nats-TTL: 60s\r\n");
    TEST_ASSERT_EQUAL_INT(10077, world_publish(&w, "k.new", NULL, "x").err_code);
    w.now_ns += 61 * CLOCK_S; /* no timer has fired yet */
    struct world_ack a;
    world_send(&w, "k.new", "r", NULL, "x", &a);
    world_turns(&w);
    TEST_ASSERT_EQUAL_STRING("", a.text);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void test_the_dead_take_no_room_from_a_batch(void)
{
    struct world_ack a;

    world_open(&w, &(struct stream_config){STREAM, .allow_msg_ttl = true, .allow_atomic = true,
                                           .discard = DISCARD_NEW, .max_bytes = 300});
    send_many(3, 1, "Nats-TTL: 60s\r\n");
    static const char *const one = "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 1\r\n";
    static const char *const two =
        "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 2\r\nNats-Batch-Commit: 1\r\n";
    world_publish(&w, "k.a", one, "");
    a = world_publish(&w, "k.b", two, "");
    TEST_ASSERT_EQUAL_INT(10077, a.err_code);
    TEST_ASSERT_EQUAL_STRING("maximum bytes exceeded", a.text);
    w.now_ns += 61 * CLOCK_S;
    world_publish(&w, "k.a", one, "");
    TEST_ASSERT_EQUAL_STRING("", world_publish(&w, "k.b", two, "").text);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
}

/* A publish sweeps some of the dead; these need more of them gone at once. */
static void test_a_large_message_finds_the_room_of_a_thousand_dead(void)
{
    enum { FULL = 1200 };
    static char large[20000];
    struct world_ack a;

    memset(large, 'x', sizeof large - 1);
    world_open(&w, &(struct stream_config){STREAM, .allow_msg_ttl = true, .discard = DISCARD_NEW,
                                           .max_bytes = 100 * FULL});
    send_many(FULL, 1, "Nats-TTL: 60s\r\n");
    w.now_ns += 61 * CLOCK_S;
    for (int i = 0; i < 5; i++) {
        world_send(&w, "k.new", "r", NULL, large, &a);
        world_turns(&w);
        TEST_ASSERT_EQUAL_STRING("", a.text);
    }
    TEST_ASSERT_EQUAL_UINT64(5, world_count(&w));
}

static void test_an_expectation_of_many_subjects_does_not_see_the_dead(void)
{
    static const char *const lines = "Nats-Expected-Last-Subject-Sequence: 1\r\n"
                                     "Nats-Expected-Last-Subject-Sequence-Subject: k.*\r\n";
    struct world_ack a;

    world_open(&w, &(struct stream_config){STREAM, .allow_msg_ttl = true});
    TEST_ASSERT_EQUAL_UINT64(1, world_publish(&w, "k.live", NULL, "x").seq);
    send_many(1200, 1, "Nats-TTL: 60s\r\n");
    TEST_ASSERT_EQUAL_INT(10071, world_publish(&w, "k.new", lines, "x").err_code);
    w.now_ns += 61 * CLOCK_S;
    world_send(&w, "k.new", "r", lines, "x", &a);
    world_turns(&w);
    TEST_ASSERT_EQUAL_STRING("", a.text);
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w));
}

/* The last of many dead is settled before its successor, and takes its schedule along. */
static void test_a_subject_in_a_backlog_is_settled_where_there_are_schedules(void)
{
    struct world_ack a;

    world_open(&w,
               &(struct stream_config){STREAM, .allow_msg_ttl = true, .allow_msg_schedules = true});
    send_many(1200, 1, "Nats-TTL: 60s\r\n");
    a = world_publish(&w, "k.plan",
                      "Nats-Schedule: @every 2h\r\nNats-Schedule-Target: k.t\r\n"
                      "Nats-TTL: 60s\r\n",
                      "x");
    TEST_ASSERT_EQUAL_STRING("", a.text);
    w.now_ns += 61 * CLOCK_S;
    world_send(&w, "k.plan", "r", NULL, "after", &a);
    world_turns(&w);
    TEST_ASSERT_EQUAL_STRING("", a.text);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    world_time(&w, w.now_ns + 7300 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w)); /* it went with its message: nothing is fired */
}

/* There is no number for a marker: the message still dies. */
static void test_the_last_number_dies_without_a_marker(void)
{
    world_open(&w, &(struct stream_config){STREAM, .allow_msg_ttl = true, .allow_rollup = true,
                                           .first_seq = UINT64_MAX - 3,
                                           .subject_delete_marker_ttl_ns = 3600 * CLOCK_S});
    while (world_publish(&w, "k.a", "Nats-TTL: 2h\r\n", "x").err_code == 0)
        ;
    world_time(&w, w.now_ns + 7201 * CLOCK_S);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void ignored(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    TEST_ASSERT_NULL(e);
}

/* While a lower limit is worked off: by a message, and by a batch, of the subject it is about. */
static void test_who_publishes_to_a_crowded_subject_pushes_out_a_slice(void)
{
    struct stream_config c = {STREAM, .allow_atomic = true};
    struct stream_op op = {.done = ignored};
    struct world_ack one, first, two;

    world_open(&w, &c);
    send_many(5000, 5000, NULL);
    c.max_msgs_per_subject = 3;
    c.max_msg_size = -1;
    stream_update(w.stream, &c, MF_LIT("x"), &op);
    world_send(&w, "k.0", "r", NULL, "single", &one);
    world_send(&w, "k.0", "r", "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 1\r\n", "first", &first);
    world_send(&w, "k.0", "r",
               "Nats-Batch-Id: i\r\nNats-Batch-Sequence: 2\r\nNats-Batch-Commit: 1\r\n", "second",
               &two);
    world_turns(&w);
    TEST_ASSERT_TRUE(one.done && two.done);
    TEST_ASSERT_EQUAL_UINT64(3, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("", two.text);
    TEST_ASSERT_EQUAL_UINT64(5003, two.seq);
}

/* --- copies and observers -------------------------------------------------------------------- */

static void test_thousands_of_copies_are_sent_each_once(void)
{
    struct stream_republish r = {(char *)"k.>", (char *)"copy.>", true};

    world_open(&w, &(struct stream_config){STREAM, .republish = &r});
    send_many(9000, 3, NULL);
    world_turns(&w);
    TEST_ASSERT_EQUAL_size_t(9000, copies_said());
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&w.said), "Nats-Msg-Size: 1\r\n"));
}

struct watcher {
    struct stream_observer o;
    unsigned gone, purged;
};

static void on_stored(struct stream_observer *o, const struct stream_msg *m)
{
    (void)o;
    (void)m;
}

static void on_gone(struct stream_observer *o, uint64_t seq, struct mf_slice subject)
{
    struct watcher *x = mf_container(o, struct watcher, o);

    (void)seq;
    (void)subject;
    x->gone++;
}

static void on_purged(struct stream_observer *o, uint64_t first, uint64_t last)
{
    struct watcher *x = mf_container(o, struct watcher, o);

    x->purged += (unsigned)(last - first + 1);
}

static void answered(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)count;
    op->count = e == NULL ? 0 : (uint64_t)e->err_code;
    op->done = NULL;
}

/* Several requests at once, and what goes beside them for another reason: each is told once. */
static void test_observers_are_told_of_each_removal_once(void)
{
    struct watcher x = {.o = {.stored = on_stored, .gone = on_gone, .purged = on_purged}};
    struct stream_op a = {.done = answered}, b = {.done = answered};

    world_open(&w, &(struct stream_config){STREAM, .max_msgs_per_subject = 1});
    send_many(4, 1, NULL);
    stream_observe(w.stream, &x.o);
    stream_remove(w.stream, 2, false, &a);
    stream_remove(w.stream, 3, true, &b);
    struct world_ack ack;
    world_send(&w, "k.0", "r", NULL, "new", &ack); /* pushes 1 out */
    world_turns(&w);
    TEST_ASSERT_TRUE(a.done == NULL && a.count == 0 && b.done == NULL && b.count == 0);
    TEST_ASSERT_EQUAL_UINT(3, x.gone + x.purged);
    /* One that was refused leaves no trace. */
    stream_remove(w.stream, 3, false, &(struct stream_op){.done = answered});
    uint64_t purged;
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "", 0, 0, &purged));
    TEST_ASSERT_EQUAL_UINT64(2, purged);
    TEST_ASSERT_EQUAL_UINT(5, x.gone + x.purged);
    stream_unobserve(&x.o);
}

/* --- purges -------------------------------------------------------------------------------- */

static void test_a_large_purge_goes_in_slices_and_spares_what_comes_meanwhile(void)
{
    struct stream_op a = {.done = answered}, b = {.done = answered};
    struct world_ack ack;

    world_open(&w, &(struct stream_config){STREAM});
    send_many(4500, 1500, NULL); /* slices end within a subject */
    stream_purge(w.stream, MF_LIT("k.*"), 0, 0, &a);
    stream_purge(w.stream, MF_LIT("k.0"), 0, 0, &b); /* waits for its turn */
    TEST_ASSERT_NOT_NULL(a.done);
    world_send(&w, "k.0", "r", NULL, "later", &ack);
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;
    while ((a.done != NULL || b.done != NULL) && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_TRUE(a.done == NULL && a.count == 0 && b.done == NULL && b.count == 0);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_STRING("k.0||later", world_message(&w, ack.seq));
}

/* How many messages went in the longest turn of a purge, and in how many turns. */
static uint64_t longest_turn(const char *filter, uint64_t below, uint64_t keep, unsigned *turns)
{
    struct stream_op op = {.done = answered};
    uint64_t before, now, bytes, last, most = 0;
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    store_accepted(w.stream->store, &before, &bytes, &last);
    stream_purge(w.stream, mf_str(filter), below, keep, &op);
    for (*turns = 0; op.done != NULL && clock_mono_ns() < give_up; ++*turns) {
        store_accepted(w.stream->store, &now, &bytes, &last);
        most = before - now > most ? before - now : most;
        before = now;
        loop_turn(w.loop);
    }
    TEST_ASSERT_TRUE(op.done == NULL && op.count == 0); /* not refused */
    return most;
}

/* Whatever a purge is asked for, a turn takes away (and looks at) no more than its slices. */
static void test_no_purge_takes_many_messages_in_one_turn(void)
{
    enum { MANY = 12000 };
    static const struct {
        const char *filter;
        uint64_t below, keep, left;
    } rows[] = {
        {"", MANY - 9, 0, 10},
        {">", MANY / 2, 0, MANY / 2 + 1},
        {"", 0, 10, 10},
        {"", 0, MANY - 5000, MANY - 5000},
        {"k.*", 0, 5000, 5000},
        {"k.*", 0, MANY, MANY},
        {"k.*", 0, MANY - 1, MANY - 1},
        {"k.0", 0, 3, MANY - 3997},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char row[16];
        unsigned turns;
        snprintf(row, sizeof row, "row %zu", i);
        world_open(&w, &(struct stream_config){STREAM});
        send_many(MANY, 4000, NULL);
        work_set_steps(w.loop, 1); /* one slice in each turn */
        TEST_ASSERT_LESS_OR_EQUAL_UINT64_MESSAGE(
            2000, longest_turn(rows[i].filter, rows[i].below, rows[i].keep, &turns), row);
        TEST_ASSERT_GREATER_OR_EQUAL_UINT_MESSAGE(rows[i].left > MANY - 3 ? 0 : 3, turns, row);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(rows[i].left, world_count(&w), row);
        world_fini(&w);
        world_init(&w);
    }
}

static void run_slice(struct work_task *t)
{
    work_cancel(w.loop, t);
    if (t->run(t))
        work_add(w.loop, w.stream->owner, t);
}

/* Removals leave the index together when they are on disk: with many on their way, slices wait. */
static void test_a_purge_waits_for_the_disk_now_and_then(void)
{
    struct stream_op op = {.done = answered};
    uint64_t most = 0;
    int64_t give_up = clock_mono_ns() + 60 * CLOCK_S;

    world_open(&w, &(struct stream_config){STREAM});
    send_many(20000, 5000, NULL);
    stream_purge(w.stream, MF_LIT("k.*"), 0, 0, &op);
    while (op.done != NULL && clock_mono_ns() < give_up) {
        for (int n = 0; n < 10 && work_queued(&w.stream->purge.task); n++)
            run_slice(&w.stream->purge.task); /* before anything is written */
        most = store_removing(w.stream->store) > most ? store_removing(w.stream->store) : most;
        loop_turn(w.loop);
    }
    TEST_ASSERT_TRUE(op.done == NULL && op.count == 0);
    TEST_ASSERT_GREATER_THAN_UINT64(2000, most);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(5000, most);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void test_purges_under_way_are_told_when_the_stream_closes(void)
{
    struct stream_op a = {.done = answered}, b = {.done = answered};

    world_open(&w, &(struct stream_config){STREAM});
    send_many(3000, 1, NULL);
    stream_purge(w.stream, MF_LIT("k.*"), 0, 0, &a);
    stream_purge(w.stream, MF_LIT("k.1"), 0, 0, &b);
    world_close(&w);
    TEST_ASSERT_TRUE(a.done == NULL && a.count == 10059);
    TEST_ASSERT_TRUE(b.done == NULL && b.count == 10059);
    world_open(&w, &(struct stream_config){STREAM});
    TEST_ASSERT_EQUAL_UINT64(2750, world_count(&w)); /* one slice was done */
}

static void test_purges_at_their_edges(void)
{
    static const struct {
        const char *filter;
        uint64_t below, keep, purged;
    } rows[] = {
        {"k.*", 0, 10, 0}, /* fewer than are to stay */
        {"k.*", 0, 6, 0},  {"", 0, 10, 0},   {"", 1, 0, 0},  {"k.0", 2, 0, 1},
        {"k.9", 0, 0, 0},  {"k.*", 0, 4, 1}, {">", 4, 0, 1}, {"k.*", 5, 0, 1},
        {"", 0, 1, 1},     {"", 0, 0, 1},    {"", 0, 0, 0}, /* nothing is left */
    };
    uint64_t purged;

    world_open(&w, &(struct stream_config){STREAM});
    send_many(6, 2, NULL);
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char row[16];
        snprintf(row, sizeof row, "row %zu", i);
        TEST_ASSERT_EQUAL_INT_MESSAGE(
            0, world_purge(&w, rows[i].filter, rows[i].below, rows[i].keep, &purged), row);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(rows[i].purged, purged, row);
    }
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_thousands_die_at_once_and_each_subject_gets_one_marker);
    RUN_TEST(test_thousands_die_at_once_without_markers);
    RUN_TEST(test_the_worst_delay_is_told_to_everybody_who_asks);
    RUN_TEST(test_a_clock_that_is_set_back_forgets_no_delay);
    RUN_TEST(test_R000_36_the_dead_are_removed_in_slices_beside_the_traffic);
    RUN_TEST(test_what_comes_due_during_a_sweep_does_not_wait);
    RUN_TEST(test_the_dead_take_no_room_where_new_ones_are_discarded);
    RUN_TEST(test_the_dead_take_no_room_from_a_batch);
    RUN_TEST(test_a_large_message_finds_the_room_of_a_thousand_dead);
    RUN_TEST(test_an_expectation_of_many_subjects_does_not_see_the_dead);
    RUN_TEST(test_a_subject_in_a_backlog_is_settled_where_there_are_schedules);
    RUN_TEST(test_the_last_number_dies_without_a_marker);
    RUN_TEST(test_who_publishes_to_a_crowded_subject_pushes_out_a_slice);
    RUN_TEST(test_thousands_of_copies_are_sent_each_once);
    RUN_TEST(test_observers_are_told_of_each_removal_once);
    RUN_TEST(test_a_large_purge_goes_in_slices_and_spares_what_comes_meanwhile);
    RUN_TEST(test_no_purge_takes_many_messages_in_one_turn);
    RUN_TEST(test_a_purge_waits_for_the_disk_now_and_then);
    RUN_TEST(test_purges_under_way_are_told_when_the_stream_closes);
    RUN_TEST(test_purges_at_their_edges);
    return UNITY_END();
}
