/* test_redeadline.c: after max_age or allow_msg_ttl changed every stored message has the deadline
 * it would have had, also when the disk is slow or the process is killed on the way.  On a stream
 * of which only the parts a re-deadline job looks at exist. */
#include "support/store_fixture.h"

#include "stream/redeadline_plan_impl.h"

#include "base/clock.h"
#include "proto/header.h"

#include <stdio.h>
#include <stdlib.h>

#define TIME0 (1000 * CLOCK_S)

static struct stream_host host;
static struct stream s;
static struct mf_buf hdr;
static unsigned armed;
static struct redeadline_terms terms; /* by which the stored messages have their deadlines */

/* The real ones know markers and the clock; here only what a re-deadline job asks of them. */
int64_t stream_now(struct stream *x)
{
    (void)x;
    return TIME0;
}

void warn_young(struct stream *x, uint64_t seq, int64_t deadline_ns)
{
    (void)x;
    (void)seq;
    (void)deadline_ns;
}

bool linked_governs(const struct stream *x)
{
    (void)x;
    return false;
}

int linked_prepare(struct stream *x, struct mf_slice subject, bool before)
{
    (void)x;
    (void)subject;
    (void)before;
    return 0;
}

void linked_changed_many(struct stream *x, struct mf_slice subject, bool before)
{
    (void)x;
    (void)subject;
    (void)before;
}

void expire_arm(struct stream *x)
{
    (void)x;
    armed++;
}

int schedule_found(struct stream *x, const struct store_rec *r, bool *wrote)
{
    (void)x;
    (void)r;
    (void)wrote;
    return 0;
}

static void stream_up(void)
{
    host.loop = d.loop;
    s = (struct stream){.host = &host, .store = d.store};
    s.cfg.name = (char *)"S";
    armed = 0;
    terms = (struct redeadline_terms){0, false};
}

static uint64_t message(const char *ttl, int64_t ts_ns, int64_t deadline_ns)
{
    struct store_append a = {.key = MF_LIT("k"), .ts_ns = ts_ns, .deadline_ns = deadline_ns};

    mf_buf_clear(&hdr);
    if (ttl != NULL) {
        header_begin(&hdr, NULL);
        header_add(&hdr, "Nats-TTL", mf_str(ttl));
        header_end(&hdr);
        a.head = mf_buf_slice(&hdr);
    }
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
    return a.seq;
}

static void update(void) /* as stream_update() does */
{
    store_begin(d.store, false);
    TEST_ASSERT_EQUAL_INT(0, redeadline_start(&s, &terms));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
    terms = (struct redeadline_terms){s.cfg.max_age_ns, s.cfg.allow_msg_ttl};
}

static bool job_ended(void *arg)
{
    (void)arg;
    return s.redeadline == NULL;
}

static void finish(void)
{
    drive_until(&d, job_ended, NULL, "the re-deadline job");
    drive_idle(&d);
}

static void reopen(void)
{
    mf_buf_fini(&hdr);
    drive_idle(&d);
    redeadline_stop(&s);
    drive_idle(&d);
    drive_abandon(&d);
    drive_open(&d);
    s.store = d.store;
}

static int64_t deadline(uint64_t seq)
{
    int64_t t = -1;

    return store_deadline(d.store, seq, &t) ? t : -1;
}

/* Where a restart would go on; 0: no job is under way. */
static uint64_t noted(void)
{
    struct mf_slice bytes;
    uint64_t next = 0;

    if (!store_blob_get(d.store, MF_LIT(BLOB_REDEADLINE), &bytes))
        return 0;
    for (int i = 8; i > 0; i--)
        next = next << 8 | bytes.ptr[i];
    return next;
}

static void test_ttls_count_once_they_are_allowed(void)
{
    stream_up();
    uint64_t a = message("10s", TIME0, 0), none = message(NULL, TIME0, 0);
    uint64_t bad = message("soon", TIME0, 0), never = message("never", TIME0, 0);
    drive_idle(&d);
    s.cfg.allow_msg_ttl = true;
    update();
    TEST_ASSERT_EQUAL_UINT64(1, noted());
    finish();
    TEST_ASSERT_EQUAL_INT64(TIME0 + 10 * CLOCK_S, deadline(a));
    TEST_ASSERT_EQUAL_INT64(0, deadline(none));
    TEST_ASSERT_EQUAL_INT64(0, deadline(bad));
    TEST_ASSERT_EQUAL_INT64(0, deadline(never));
    TEST_ASSERT_EQUAL_UINT64(0, noted());
    TEST_ASSERT_GREATER_THAN_UINT(0, armed);
    mf_buf_fini(&hdr);
}

static void test_ttls_do_not_count_while_they_are_not_allowed(void)
{
    stream_up();
    uint64_t a = message("10s", TIME0, 0);
    drive_idle(&d);
    s.cfg.max_age_ns = 60 * CLOCK_S;
    update();
    finish();
    TEST_ASSERT_EQUAL_INT64(TIME0 + 60 * CLOCK_S, deadline(a));
    mf_buf_fini(&hdr);
}

/* Without max_age messages that were about to die live on. */
static void test_deadlines_are_taken_away_with_max_age(void)
{
    stream_up();
    uint64_t a = message(NULL, TIME0, TIME0 + CLOCK_S);
    drive_idle(&d);
    terms.max_age_ns = CLOCK_S;
    update();
    finish();
    TEST_ASSERT_EQUAL_INT64(0, deadline(a));
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, store_next_deadline(d.store));
    mf_buf_fini(&hdr);
}

static void test_infinite_and_pinned_messages_stay_as_they_are(void)
{
    stream_up();
    uint64_t plain = message(NULL, TIME0, 0), infinite = message(NULL, TIME0, 0);
    uint64_t pinned = message(NULL, TIME0, TIME0 + 5 * CLOCK_S);
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, infinite, 0, MSG_INFINITE, NULL));
    TEST_ASSERT_EQUAL_INT(
        0, store_set_deadline(d.store, pinned, TIME0 + 5 * CLOCK_S, MSG_PINNED, NULL));
    drive_idle(&d);
    s.cfg.max_age_ns = 60 * CLOCK_S;
    update();
    finish();
    TEST_ASSERT_EQUAL_INT64(TIME0 + 60 * CLOCK_S, deadline(plain));
    TEST_ASSERT_EQUAL_INT64(0, deadline(infinite));
    TEST_ASSERT_EQUAL_INT64(TIME0 + 5 * CLOCK_S, deadline(pinned));
    mf_buf_fini(&hdr);
}

static void test_an_empty_stream_is_swept_at_once(void)
{
    stream_up();
    update();
    finish();
    TEST_ASSERT_EQUAL_UINT64(0, noted());
}

/* Those that were accepted under the old rules but are not on disk when the job begins. */
static void test_messages_on_their_way_to_disk_are_swept_too(void)
{
    uint64_t last = 0;

    stream_up();
    s.cfg.max_age_ns = 60 * CLOCK_S;
    last = message(NULL, TIME0, 0);
    update();
    finish();
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(1, last);
    TEST_ASSERT_EQUAL_INT64(TIME0 + 60 * CLOCK_S, deadline(1));
    mf_buf_fini(&hdr);
}

/* The disk has it, memory has not: the loop must not wait for it. */
static void test_messages_not_in_memory_are_read_by_a_worker(void)
{
    stream_up();
    for (int i = 0; i < 50; i++)
        (void)message(i % 2 == 0 ? "10s" : NULL, TIME0 + i, 0);
    drive_idle(&d);
    fault_io_cold(d.io, true);
    s.cfg.allow_msg_ttl = true;
    update();
    finish();
    for (int i = 0; i < 50; i++)
        TEST_ASSERT_EQUAL_INT64(i % 2 == 0 ? TIME0 + i + 10 * CLOCK_S : 0,
                                deadline((uint64_t)i + 1));
    mf_buf_fini(&hdr);
}

static void many(int n)
{
    for (int i = 0; i < n; i++) {
        (void)message(NULL, TIME0 + i, 0);
        if (i % 2000 == 0)
            drive_idle(&d);
    }
    drive_idle(&d);
}

static size_t swept_count(int n)
{
    size_t k = 0;

    for (int i = 0; i < n; i++)
        k += deadline((uint64_t)i + 1) == TIME0 + i + s.cfg.max_age_ns;
    return k;
}

static void test_a_job_goes_on_after_a_crash(void)
{
    enum { N = 20000 };

    stream_up();
    many(N);
    s.cfg.max_age_ns = 60 * CLOCK_S;
    update();
    while (deadline(12000) == 0)
        drive_turn(&d);
    redeadline_stop(&s);
    reopen();
    TEST_ASSERT_GREATER_THAN_UINT64(8000, noted());
    size_t before = swept_count(N);
    TEST_ASSERT_GREATER_OR_EQUAL_size_t(11000, before);
    TEST_ASSERT_LESS_THAN_size_t(N, before);
    struct store_stats a, b;
    store_stats(d.store, &a);
    TEST_ASSERT_EQUAL_INT(0, redeadline_resume(&s));
    finish();
    store_stats(d.store, &b);
    TEST_ASSERT_EQUAL_size_t(N, swept_count(N));
    /* Only the rest was written. */
    TEST_ASSERT_LESS_THAN_UINT64((N - before) * 64 + 8192, b.bytes_written - a.bytes_written);
    TEST_ASSERT_EQUAL_UINT64(0, noted());
    TEST_ASSERT_EQUAL_INT(0, redeadline_resume(&s));
    TEST_ASSERT_NULL(s.redeadline);
}

/* Killed between the update and the first slice. */
static void test_a_job_that_had_not_begun_begins_after_a_crash(void)
{
    stream_up();
    many(10);
    s.cfg.max_age_ns = 60 * CLOCK_S;
    update();
    reopen();
    TEST_ASSERT_EQUAL_INT(0, redeadline_resume(&s));
    finish();
    TEST_ASSERT_EQUAL_size_t(10, swept_count(10));
}

/* Two updates in a row: the second one counts, for all. */
static void test_a_second_start_begins_from_the_beginning(void)
{
    enum { N = 3000 };

    stream_up();
    many(N);
    s.cfg.max_age_ns = 60 * CLOCK_S;
    update();
    while (deadline(1) == 0)
        drive_turn(&d);
    s.cfg.max_age_ns = 30 * CLOCK_S;
    update();
    finish();
    TEST_ASSERT_EQUAL_size_t(N, swept_count(N));
}

/* Stopping at every moment: nothing is called or leaked afterwards (the sanitizer looks). */
static void test_a_job_can_be_stopped_at_any_time(void)
{
    stream_up();
    many(2000);
    for (int turns = 0; turns < 30; turns++) {
        fault_io_cold(d.io, turns % 2 == 0);
        s.cfg.max_age_ns = (1000 + turns) * CLOCK_S;
        update();
        for (int i = 0; i < turns * turns * 20 && s.redeadline != NULL; i++)
            drive_turn(&d);
        redeadline_stop(&s);
        TEST_ASSERT_NULL(s.redeadline);
        drive_turn(&d);
    }
    drive_idle(&d);
}

/* TOUCH gave it a later end: the new max_age counts from the touch, not from the publish. */
static void test_a_renewed_deadline_stays_renewed(void)
{
    stream_up();
    terms = (struct redeadline_terms){60 * CLOCK_S, false};
    uint64_t plain = message(NULL, TIME0 - 20 * CLOCK_S, TIME0 + 40 * CLOCK_S);
    uint64_t touched = message(NULL, TIME0 - 20 * CLOCK_S, TIME0 + 55 * CLOCK_S);
    drive_idle(&d);
    s.cfg.max_age_ns = 30 * CLOCK_S;
    update();
    finish();
    TEST_ASSERT_EQUAL_INT64(TIME0 + 10 * CLOCK_S, deadline(plain));
    TEST_ASSERT_EQUAL_INT64(TIME0 + 25 * CLOCK_S, deadline(touched));
    mf_buf_fini(&hdr);
}

/* Longer and longer lives, changes in the middle of a walk, kills: nothing is taken for a renewal
 * that was none. */
static void test_changes_and_kills_renew_nothing(void)
{
    enum { N = 1500 };

    stream_up();
    for (int i = 0; i < N; i++)
        (void)message(NULL, TIME0 - 500 * CLOCK_S + i, TIME0 + i + 500 * CLOCK_S);
    drive_idle(&d);
    terms.max_age_ns = 1000 * CLOCK_S;
    for (int round = 0; round < 12; round++) {
        s.cfg.max_age_ns = (1000 + (round % 5) * 700) * CLOCK_S;
        fault_io_cold(d.io, round % 3 == 2);
        update();
        for (int i = 0; i < round * 7 % 40; i++)
            drive_turn(&d);
        if (round % 2 == 1) {
            reopen();
            TEST_ASSERT_EQUAL_INT(0, redeadline_resume(&s));
        }
    }
    finish();
    for (int i = 0; i < N; i++)
        TEST_ASSERT_EQUAL_INT64(TIME0 - 500 * CLOCK_S + i + s.cfg.max_age_ns,
                                deadline((uint64_t)i + 1));
    mf_buf_fini(&hdr);
}

/* Of one part of the messages the first change counts, of the others the terms before it. */
static void test_a_change_in_the_middle_of_a_walk_renews_nothing(void)
{
    enum { N = 3000 };

    stream_up();
    for (int i = 0; i < N; i++)
        (void)message(NULL, TIME0 - 500 * CLOCK_S + i, TIME0 + i + 500 * CLOCK_S);
    drive_idle(&d);
    terms.max_age_ns = 1000 * CLOCK_S;
    s.cfg.max_age_ns = 3000 * CLOCK_S;
    update();
    while (deadline(1) != TIME0 + 2500 * CLOCK_S)
        drive_turn(&d);
    TEST_ASSERT_EQUAL_INT64(TIME0 + N - 1 + 500 * CLOCK_S, deadline(N));
    s.cfg.max_age_ns = 5000 * CLOCK_S;
    update();
    finish();
    for (int i = 0; i < N; i++)
        TEST_ASSERT_EQUAL_INT64(TIME0 + 4500 * CLOCK_S + i, deadline((uint64_t)i + 1));
    mf_buf_fini(&hdr);
}

/* More changes than a plan can remember are refused, and nothing is forgotten. */
static void test_too_many_changes_within_a_walk_are_refused(void)
{
    struct redeadline_plan p = {.next = 1};
    int rc = 0, taken = 0;

    for (; taken < 100 && rc == 0; taken++) {
        struct redeadline_terms t = {taken + 1, false};
        rc = redeadline_plan_change(&p, &t, (uint64_t)(taken + 1) * 10);
        p.next = rc == 0 ? 5 : p.next;
    }
    TEST_ASSERT_EQUAL_INT(MF_AGAIN, rc);
    TEST_ASSERT_GREATER_THAN_INT(REDEADLINE_PARTS / 2 - 1, taken);
    TEST_ASSERT_EQUAL_UINT64((uint64_t)(taken - 1) * 10, redeadline_plan_end(&p));
    TEST_ASSERT_EQUAL_UINT64(5, p.next);
}

/* A blob of the former version tells nothing of terms: timestamp and TTL decide alone. */
static void test_a_walk_of_the_former_version_goes_on(void)
{
    struct mf_slice old = mf_slice("\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17);

    stream_up();
    uint64_t a = message(NULL, TIME0, TIME0 + 90 * CLOCK_S);
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, MF_LIT(BLOB_REDEADLINE), old, NULL));
    drive_idle(&d);
    s.cfg.max_age_ns = 60 * CLOCK_S;
    TEST_ASSERT_EQUAL_INT(0, redeadline_resume(&s));
    finish();
    TEST_ASSERT_EQUAL_INT64(TIME0 + 60 * CLOCK_S, deadline(a));
    mf_buf_fini(&hdr);
}

static bool failed(void *arg)
{
    (void)arg;
    return store_error(d.store) != NULL;
}

/* A store that failed takes no deadlines: the job ends, and the server lives. */
static void test_a_store_that_fails_ends_the_job(void)
{
    stream_up();
    many(2000);
    s.cfg.max_age_ns = 60 * CLOCK_S;
    update();
    while (deadline(1) == 0)
        drive_turn(&d);
    fault_io_arm(
        d.io, &(struct fault_plan){.kinds = FAULT_WRITE, .nth = 1, .code = MF_IO, .forever = true});
    drive_until(&d, failed, NULL, "failing");
    for (int i = 0; i < 50; i++)
        drive_turn(&d);
    TEST_ASSERT_NOT_NULL(s.redeadline);
    fault_io_disarm(d.io);
    redeadline_stop(&s);
    mf_buf_fini(&hdr);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_ttls_count_once_they_are_allowed);
    RUN_TEST(test_ttls_do_not_count_while_they_are_not_allowed);
    RUN_TEST(test_deadlines_are_taken_away_with_max_age);
    RUN_TEST(test_infinite_and_pinned_messages_stay_as_they_are);
    RUN_TEST(test_an_empty_stream_is_swept_at_once);
    RUN_TEST(test_messages_on_their_way_to_disk_are_swept_too);
    RUN_TEST(test_messages_not_in_memory_are_read_by_a_worker);
    RUN_TEST(test_a_job_goes_on_after_a_crash);
    RUN_TEST(test_a_job_that_had_not_begun_begins_after_a_crash);
    RUN_TEST(test_a_second_start_begins_from_the_beginning);
    RUN_TEST(test_a_job_can_be_stopped_at_any_time);
    RUN_TEST(test_a_renewed_deadline_stays_renewed);
    RUN_TEST(test_changes_and_kills_renew_nothing);
    RUN_TEST(test_a_change_in_the_middle_of_a_walk_renews_nothing);
    RUN_TEST(test_too_many_changes_within_a_walk_are_refused);
    RUN_TEST(test_a_walk_of_the_former_version_goes_on);
    RUN_TEST(test_a_store_that_fails_ends_the_job);
    return UNITY_END();
}
