/* test_schedule.c: schedules fire once, at their time, and not when their message is gone; whatever
 * is killed in between. */
#include "stream/schedule_impl.h"
#include "support/cold_reads.h"
#include "support/store_watch.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>

static struct world w;
static char *subjects[] = {(char *)"k.>"};
static const struct stream_config scheduling = {.name = (char *)"S",
                                                .subjects = {subjects, 1},
                                                .allow_msg_ttl = true,
                                                .allow_msg_schedules = true};

void setUp(void)
{
    cold = 0;
    world_init(&w);
    world_open(&w, &scheduling);
}

void tearDown(void)
{
    world_fini(&w);
}

static const char *at(int64_t from_now_s)
{
    static char text[16 + CLOCK_TEXT];
    char time[CLOCK_TEXT];

    snprintf(text, sizeof text, "@at %s", clock_rfc3339(time, w.now_ns + from_now_s * CLOCK_S));
    return text;
}

static uint64_t schedule(const char *subject, const char *pattern, const char *more)
{
    char lines[512];

    snprintf(lines, sizeof lines, "Nats-Schedule: %s\r\nNats-Schedule-Target: k.t\r\n%s", pattern,
             more);
    struct world_ack a = world_publish(&w, subject, lines, "body");
    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

static void pass(int64_t seconds)
{
    world_time(&w, w.now_ns + seconds * CLOCK_S);
    schedule_run(w.stream);
    world_turns(&w);
}

static uint64_t produced(void)
{
    struct stream_subject x;

    return stream_subject(w.stream, MF_LIT("k.t"), &x) ? x.count : 0;
}

static size_t known(void) /* schedules in memory; each has one blob */
{
    return w.stream->schedules == NULL ? 0 : w.stream->schedules->table.count;
}

static size_t blobs(void)
{
    return world_blobs(&w, BLOB_SCHED);
}

/* --- firing -------------------------------------------------------------------------------- */

static void test_at_fires_once_at_its_time_and_goes(void)
{
    uint64_t seq = schedule("k.s", at(10), "Own: h\r\nNats-Msg-Id: i\r\n");

    TEST_ASSERT_EQUAL_size_t(1, blobs());
    pass(9);
    TEST_ASSERT_EQUAL_UINT64(0, produced());
    pass(1);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    TEST_ASSERT_EQUAL_STRING("", world_message(&w, seq));
    TEST_ASSERT_EQUAL_STRING("k.t|Own: h,Nats-Scheduler: k.s,Nats-Schedule-Next: purge|body",
                             world_message(&w, seq + 1));
    TEST_ASSERT_TRUE(known() == 0 && blobs() == 0);
    pass(100);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
}

/* What is produced and the end of the schedule: after a crash both or neither. */
static void test_firing_is_one_batch_of_the_store(void)
{
    schedule("k.s", at(1), "");
    watch_reset();
    pass(1);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    TEST_ASSERT_EQUAL_UINT(1, watch.batches);
    TEST_ASSERT_EQUAL_UINT(2, watch.inside);
    TEST_ASSERT_EQUAL_UINT(0, watch.loose);
}

static void test_every_fires_again_and_says_when(void)
{
    schedule("k.s", "@every 10s", "");
    for (uint64_t i = 1; i <= 3; i++) {
        pass(10);
        TEST_ASSERT_EQUAL_UINT64(i, produced());
    }
    TEST_ASSERT_EQUAL_STRING(
        "k.t|Nats-Scheduler: k.s,Nats-Schedule-Next: 2023-11-14T22:14:00Z|body",
        world_message(&w, 4));
    pass(1000); /* what was missed is made up for once */
    TEST_ASSERT_EQUAL_UINT64(4, produced());
    TEST_ASSERT_TRUE(known() == 1 && blobs() == 1);
}

static void test_ttl_and_rollup_are_those_of_what_is_produced(void)
{
    world_publish(&w, "k.t", NULL, "old");
    schedule("k.s", at(1), "Nats-Schedule-TTL: 5s\r\nNats-Schedule-Rollup: sub\r\n");
    pass(1);
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
    TEST_ASSERT_EQUAL_STRING(
        "k.t|Nats-Scheduler: k.s,Nats-Schedule-Next: purge,Nats-TTL: 5s,Nats-Rollup: sub|body",
        world_message(&w, 3));
    pass(6);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
}

static void test_source_lends_its_last_message(void)
{
    world_publish(&w, "k.src", "Lent: h\r\n", "lent");
    schedule("k.s", at(1), "Nats-Schedule-Source: k.src\r\n");
    cold = 2; /* both messages have to come from disk */
    pass(1);
    TEST_ASSERT_EQUAL_INT(0, cold);
    TEST_ASSERT_EQUAL_STRING("k.t|Lent: h,Nats-Scheduler: k.s,Nats-Schedule-Next: purge|lent",
                             world_message(&w, 3));
}

/* The past is due at once, even before the schedule itself is on disk. */
static void test_past_moment_fires_when_the_schedule_is_on_disk(void)
{
    struct world_ack a;

    world_send(&w, "k.s", "r",
               "Nats-Schedule: @at 2020-01-01T00:00:00Z\r\nNats-Schedule-Target: k.t\r\n", "body",
               &a);
    schedule_run(w.stream);
    TEST_ASSERT_FALSE(a.done);
    world_turns(&w);
    TEST_ASSERT_TRUE(a.done);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

static void test_many_fire_in_the_order_of_their_times(void)
{
    char subject[16], want[32];

    for (int i = 0; i < 500; i++) {
        snprintf(subject, sizeof subject, "k.s%d", i);
        schedule(subject, at(1000 - i), "");
    }
    pass(1000);
    for (int i = 0; i < 10 && produced() < 500; i++)
        pass(0); /* in slices */
    TEST_ASSERT_EQUAL_UINT64(500, produced());
    for (uint64_t i = 0; i < 500; i += 100) {
        snprintf(want, sizeof want, "Nats-Scheduler: k.s%d,", 499 - (int)i);
        TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 501 + i), want));
    }
    TEST_ASSERT_EQUAL_size_t(0, blobs());
}

/* --- gone ---------------------------------------------------------------------------------- */

static void test_a_schedule_without_its_message_does_not_fire(void)
{
    uint64_t removed = schedule("k.1", at(10), "");

    schedule("k.2", at(10), "");
    schedule("k.3", at(10), "");
    schedule("k.4", at(10), "");
    schedule("k.5", at(10), "Nats-TTL: 2s\r\n");
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, removed));
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "k.2", 0, 0, NULL));
    uint64_t plain = world_publish(&w, "k.3", NULL, "plain").seq;
    world_publish(&w, "k.x", "Nats-Schedule-Next: purge\r\nNats-Scheduler: k.4\r\n", "");
    TEST_ASSERT_EQUAL_size_t(1, known()); /* k.5 */
    /* It is the last message again, but was overwritten once. */
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, plain));
    pass(10);
    TEST_ASSERT_EQUAL_UINT64(0, produced());
    TEST_ASSERT_EQUAL_UINT64(2, world_count(&w)); /* k.3 and k.x */
    TEST_ASSERT_TRUE(known() == 0 && blobs() == 0);
}

static void test_newer_schedule_takes_the_place_of_an_older_one(void)
{
    schedule("k.s", at(10), "Which: old\r\n");
    schedule("k.s", at(20), "Which: new\r\n");
    TEST_ASSERT_TRUE(known() == 1 && blobs() == 1);
    pass(10);
    TEST_ASSERT_EQUAL_UINT64(0, produced());
    pass(10);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 3), "Which: new"));
}

/* It goes while its message is being read. */
static void test_removed_while_it_is_read(void)
{
    uint64_t seq = schedule("k.s", at(1), "");

    cold = 1;
    w.now_ns += CLOCK_S;
    schedule_run(w.stream);
    TEST_ASSERT_EQUAL_INT(0, cold);
    TEST_ASSERT_EQUAL_INT(0, store_remove(w.stream->store, seq, NULL));
    schedule_removed(w.stream, MF_LIT("k.s"), seq);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(0, produced());
    TEST_ASSERT_EQUAL_size_t(0, known());
}

/* --- restart ------------------------------------------------------------------------------- */

static void test_schedules_survive_a_kill(void)
{
    schedule("k.s", at(10), "");
    schedule("k.e", "@every 5s", "");
    pass(5);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    world_kill(&w);
    w.now_ns += 100 * CLOCK_S;
    world_open(&w, &scheduling);
    schedule_run(w.stream);
    world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(3, produced()); /* one of each */
    TEST_ASSERT_EQUAL_size_t(1, known());
}

/* The batch is the firing: killed before it is on disk it has not happened, killed after it has. */
static void test_kill_around_a_firing_neither_loses_nor_doubles_it(void)
{
    for (int turns = 0; turns < 12; turns++) {
        world_fini(&w);
        world_init(&w);
        world_open(&w, &scheduling);
        schedule("k.s", at(1), "");
        w.now_ns += CLOCK_S;
        schedule_run(w.stream);
        for (int i = 0; i < turns; i++)
            loop_turn(w.loop);
        world_kill(&w);
        world_open(&w, &scheduling);
        schedule_run(w.stream);
        world_turns(&w);
        TEST_ASSERT_EQUAL_UINT64(1, produced());
        TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
        TEST_ASSERT_EQUAL_size_t(0, blobs());
    }
}

/* A blob without its message, or with nonsense in it, is dropped at start. */
static void test_stale_and_damaged_blobs_are_dropped(void)
{
    schedule("k.s", at(10), "");
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(w.stream->store, MF_LIT(BLOB_SCHED "00000000000000ff"),
                                            MF_LIT("12345678k.s"), NULL));
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(w.stream->store, MF_LIT(BLOB_SCHED "0000000000000001"),
                                            MF_LIT("x"), NULL));
    TEST_ASSERT_EQUAL_INT(
        0, store_blob_put(w.stream->store, MF_LIT(BLOB_SCHED "zz"), MF_LIT("x"), NULL));
    world_close(&w);
    world_open(&w, &scheduling);
    TEST_ASSERT_EQUAL_size_t(0, known()); /* number 1 was overwritten by nonsense */
    TEST_ASSERT_EQUAL_size_t(1, blobs()); /* a name that is none of ours stays */
}

/* --- in company ---------------------------------------------------------------------------- */

static struct world_ack member(int seq, const char *subject, const char *more, bool last)
{
    char lines[512];

    snprintf(lines, sizeof lines,
             "Nats-Batch-Id: b\r\nNats-Batch-Sequence: %d\r\nNats-Msg-Id: id %d\r\n%s%s", seq, seq,
             more, last ? "Nats-Batch-Commit: 1\r\n" : "");
    return world_publish(&w, subject, lines, "body");
}

/* Each is rewritten, by its roll-up and perhaps by the least TTL there is: what was read of one
 * must not go with the next one. */
static void several_of_one_batch(const char *ttl, const char *rewritten)
{
    struct stream_config cfg = scheduling;
    char text[256];

    cfg.allow_atomic = true;
    cfg.subject_delete_marker_ttl_ns = 600 * CLOCK_S;
    world_fini(&w);
    world_init(&w);
    world_open(&w, &cfg);
    for (int i = 1; i <= 6; i++) {
        char subject[16];
        snprintf(subject, sizeof subject, "k.s%d", i % 10);
        snprintf(text, sizeof text, "Nats-Schedule: @every 1h\r\nNats-Schedule-Target: k.t\r\n%s",
                 ttl);
        TEST_ASSERT_EQUAL_STRING("", member(i, subject, text, i == 6).text);
    }
    TEST_ASSERT_TRUE(known() == 6 && blobs() == 6);
    snprintf(text, sizeof text,
             "k.s2|Nats-Batch-Id: b,Nats-Batch-Sequence: 2,Nats-Msg-Id: id 2,"
             "Nats-Schedule: @every 1h,Nats-Schedule-Target: k.t,Nats-Rollup: sub%s|body",
             rewritten);
    TEST_ASSERT_EQUAL_STRING(text, world_message(&w, 2));
    for (int i = 1; i <= 6; i++) {
        snprintf(text, sizeof text, "Nats-Msg-Id: id %d\r\n", i);
        TEST_ASSERT_EQUAL_UINT64(i, world_publish(&w, "k.x", text, "").seq);
    }
    world_kill(&w);
    world_open(&w, &cfg);
    TEST_ASSERT_EQUAL_size_t(6, known());
}

static void test_several_of_one_batch_fire(void)
{
    several_of_one_batch("", "");
    several_of_one_batch("Nats-TTL: 5s\r\n", ",Nats-TTL: 600");
}

/* A transform puts what it makes on its own subject: it has taken the schedule's place. */
static void test_what_is_made_may_take_the_place_of_the_schedule(void)
{
    struct stream_mapping one = {.src = (char *)"k.*", .dest = (char *)"one"};
    struct stream_config cfg = scheduling;

    cfg.subject_transform = &one;
    for (int every = 0; every < 2; every++) {
        world_fini(&w);
        world_init(&w);
        world_open(&w, &cfg);
        schedule("k.s", every ? "@every 10s" : at(10), "");
        pass(10);
        TEST_ASSERT_TRUE(known() == 0 && blobs() == 0);
        TEST_ASSERT_EQUAL_UINT64(every ? 2 : 1, world_count(&w));
        TEST_ASSERT_NOT_NULL(strstr(world_message(&w, 2), "one|Nats-Scheduler: one,"));
        world_kill(&w);
        world_open(&w, &cfg);
        pass(100);
        TEST_ASSERT_EQUAL_UINT64(every ? 2 : 1, world_count(&w));
    }
}

/* Its own message is due in any moment of the firing: it fires or not, whole. */
static void test_its_message_dies_while_it_fires(void)
{
    for (int looks = 0; looks < 60; looks++) {
        char more[32];

        world_fini(&w);
        setUp();
        for (int i = 0; i < 20; i++) /* more than are settled one by one: a sweep of all */
            world_publish(&w, "k.t", "Nats-TTL: 1s\r\n", "");
        snprintf(more, sizeof more, "Nats-TTL: %dms\r\n", 2000 + looks);
        schedule("k.s", at(2), more);
        w.now_ns += 2 * CLOCK_S;
        w.step_ns = CLOCK_MS;
        schedule_run(w.stream);
        w.step_ns = 0;
        world_turns(&w);
        pass(10);
        TEST_ASSERT_TRUE(known() == 0 && blobs() == 0 && produced() <= 1);
        TEST_ASSERT_EQUAL_UINT64(produced(), world_count(&w));
    }
}

/* Limits and purges take schedules along without a word: what is left of them is bounded. */
static void test_schedules_that_were_pushed_out_do_not_pile_up(void)
{
    struct stream_config cfg = scheduling;
    char subject[32];

    cfg.max_msgs = 5;
    world_close(&w);
    world_open(&w, &cfg);
    for (int i = 0; i < 1000; i++) {
        snprintf(subject, sizeof subject, "k.s%d", i);
        schedule(subject, "@every 1h", "");
        TEST_ASSERT_LESS_THAN_size_t(200, known());
    }
    TEST_ASSERT_EQUAL_size_t(known(), blobs());
}

/* What it makes takes room of the account: it comes when there is some. */
static void test_it_waits_for_room_in_the_account(void)
{
    schedule("k.s", at(10), "");
    w.host.account_max.file = w.account.file + 10;
    pass(10);
    pass(10);
    TEST_ASSERT_EQUAL_UINT64(0, produced());
    TEST_ASSERT_EQUAL_size_t(1, known());
    w.host.account_max.file = -1;
    pass(1);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    TEST_ASSERT_TRUE(known() == 0 && blobs() == 0);
}

/* --- a clock that is set ------------------------------------------------------------------- */

#define DAY 86400

static void again(void) /* a restart, if it was not killed already */
{
    if (w.stream != NULL)
        world_close(&w);
    world_open(&w, &scheduling);
    world_turns(&w);
    schedule_run(w.stream);
    world_turns(&w);
}

static int64_t next_ns(void)
{
    return schedule_first(w.stream->schedules)->next_ns;
}

static int64_t wall(void)
{
    return w.now_ns - w.behind_ns;
}

/* The clock was a day ahead when it was stored, and is right after a restart. */
static void test_a_clock_that_was_ahead_does_not_hold_up_what_comes_again(void)
{
    schedule("k.every", "@every 60s", "");
    schedule("k.cron", "0 * * * * *", "");
    uint64_t once = schedule("k.once", at(30), "");
    w.behind_ns = DAY * CLOCK_S;
    again();
    TEST_ASSERT_EQUAL_UINT64(0, produced());
    TEST_ASSERT_TRUE(next_ns() <= wall() + 60 * CLOCK_S);
    pass(61);
    TEST_ASSERT_EQUAL_UINT64(2, produced());
    world_kill(&w); /* the new time is on disk, too */
    again();
    TEST_ASSERT_TRUE(next_ns() <= wall() + 60 * CLOCK_S);
    pass(61);
    TEST_ASSERT_EQUAL_UINT64(4, produced());
    TEST_ASSERT_NOT_EQUAL(0, strlen(world_message(&w, once))); /* it has one moment only */
    pass(DAY);
    TEST_ASSERT_EQUAL_STRING("", world_message(&w, once));
}

static void test_a_clock_that_is_set_back_while_the_server_runs(void)
{
    schedule("k.s", "@every 60s", "");
    w.behind_ns = DAY * CLOCK_S;
    stream_clock_set_back(w.stream);
    pass(1);
    TEST_ASSERT_EQUAL_UINT64(0, produced());
    pass(61);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    pass(60);
    TEST_ASSERT_EQUAL_UINT64(2, produced());
}

/* By less than an interval: no moment comes twice. */
static void test_a_small_step_back_repeats_no_moment(void)
{
    schedule("k.s", "@daily", "");
    pass(DAY);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    int64_t next = next_ns();
    int64_t since = wall() - (next - DAY * CLOCK_S); /* it fired that long ago */
    w.behind_ns = since + 5 * CLOCK_S;               /* five seconds before that moment */
    stream_clock_set_back(w.stream);
    pass(10);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
    TEST_ASSERT_EQUAL_INT64(next, next_ns());
    again();
    TEST_ASSERT_EQUAL_INT64(next, next_ns());
    pass(DAY);
    TEST_ASSERT_EQUAL_UINT64(2, produced());
}

/* What is due by the new clock is not waited for. */
static void test_a_step_forward_fires_at_once(void)
{
    schedule("k.s", at(DAY), "");
    world_time(&w, w.now_ns + DAY * CLOCK_S); /* the stream is told, and nothing else runs it */
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S; /* timers need their millisecond */
    while (produced() == 0 && clock_mono_ns() < give_up)
        loop_turn(w.loop);
    TEST_ASSERT_EQUAL_UINT64(1, produced());
}

/* Deadlines are judged by a clock that stays ahead; schedules by the one that is right. */
static void test_what_is_stored_after_the_step_counts_from_the_right_clock(void)
{
    w.behind_ns = DAY * CLOCK_S;
    schedule("k.s", "@every 60s", "");
    TEST_ASSERT_TRUE(next_ns() > wall() && next_ns() <= wall() + 61 * CLOCK_S);
    schedule("k.at", at(-DAY + 30), "");
    TEST_ASSERT_TRUE(next_ns() == wall() + 30 * CLOCK_S);
    pass(61);
    TEST_ASSERT_EQUAL_UINT64(2, produced());
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_at_fires_once_at_its_time_and_goes);
    RUN_TEST(test_firing_is_one_batch_of_the_store);
    RUN_TEST(test_every_fires_again_and_says_when);
    RUN_TEST(test_ttl_and_rollup_are_those_of_what_is_produced);
    RUN_TEST(test_source_lends_its_last_message);
    RUN_TEST(test_past_moment_fires_when_the_schedule_is_on_disk);
    RUN_TEST(test_many_fire_in_the_order_of_their_times);
    RUN_TEST(test_a_schedule_without_its_message_does_not_fire);
    RUN_TEST(test_newer_schedule_takes_the_place_of_an_older_one);
    RUN_TEST(test_removed_while_it_is_read);
    RUN_TEST(test_schedules_survive_a_kill);
    RUN_TEST(test_kill_around_a_firing_neither_loses_nor_doubles_it);
    RUN_TEST(test_stale_and_damaged_blobs_are_dropped);
    RUN_TEST(test_several_of_one_batch_fire);
    RUN_TEST(test_what_is_made_may_take_the_place_of_the_schedule);
    RUN_TEST(test_its_message_dies_while_it_fires);
    RUN_TEST(test_it_waits_for_room_in_the_account);
    RUN_TEST(test_schedules_that_were_pushed_out_do_not_pile_up);
    RUN_TEST(test_a_clock_that_was_ahead_does_not_hold_up_what_comes_again);
    RUN_TEST(test_a_clock_that_is_set_back_while_the_server_runs);
    RUN_TEST(test_a_small_step_back_repeats_no_moment);
    RUN_TEST(test_a_step_forward_fires_at_once);
    RUN_TEST(test_what_is_stored_after_the_step_counts_from_the_right_clock);
    return UNITY_END();
}
