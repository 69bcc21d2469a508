/* test_store_shortage.c: descriptors, memory or space are missing for a while, or a call fails for
 * good: an acknowledged message is there after a reopen, a refused one is not. */
#include "support/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST 400

static struct mark marks[MOST];
static bool accepted_at[MOST];

static bool all_answered(void *arg)
{
    size_t n = *(const size_t *)arg;

    for (size_t i = 0; i < n; i++)
        if (accepted_at[i] && marks[i].calls == 0)
            return false;
    return true;
}

/* Several groups, each longer than what is left of a segment. */
static size_t publish(size_t from, size_t n, size_t len)
{
    char body[8192];

    for (size_t i = from; i < from + n; i++) {
        memset(body, 'x', len);
        snprintf(body + len, sizeof body - len, "%zu", i);
        accepted_at[i] = append(&marks[i], "k", body, 0) == 0;
        if (i % 7 == 6)
            drive_turn(&d);
    }
    return from + n;
}

static bool is_stored(size_t i, size_t len)
{
    char body[8192];
    struct store_rec r;
    struct store_state st;

    store_state(d.store, &st);
    memset(body, 'x', len);
    snprintf(body + len, sizeof body - len, "%zu", i);
    for (uint64_t seq = 1; seq <= st.last_seq; seq++)
        if (store_peek(d.store, seq, &r) == 0 && mf_eq_str(r.body, body))
            return true;
    return false;
}

/* Every answer holds after a reopen. */
static void assert_answers_hold(size_t n, size_t len, const char *what, uint64_t nth)
{
    char text[200];

    for (size_t i = 0; i < n; i++) {
        bool acked = accepted_at[i] && marks[i].status == 0;
        snprintf(text, sizeof text, "%s, operation %llu: message %zu was %s", what,
                 (unsigned long long)nth, i, acked ? "acknowledged" : "refused");
        TEST_ASSERT_EQUAL_MESSAGE(accepted_at[i] ? 1 : 0, marks[i].calls, text);
        TEST_ASSERT_EQUAL_MESSAGE(acked, is_stored(i, len), text);
    }
}

static void renew(void)
{
    drive_fini(&d);
    order = 0;
    start((struct store_opts){.segment_min = 16u << 10, .segment_max = 16u << 10, .name = "test"});
}

/* --- for a while ---------------------------------------------------------------------------- */

/* No file can be made from the nth on; then they can: nobody was told anything false, and nobody
 * has to restart the store. */
static void try_shortage(int code, uint64_t nth)
{
    size_t n = 0;
    struct mark last;

    renew();
    fault_io_arm(d.io, &(struct fault_plan){.kinds = FAULT_CREATE | FAULT_TRUNCATE,
                                            .nth = nth,
                                            .code = code,
                                            .forever = true});
    n = publish(n, 70, 2000);
    for (int i = 0; i < 20; i++)
        drive_turn(&d);
    TEST_ASSERT_NULL(store_error(d.store));
    fault_io_disarm(d.io);
    drive_until(&d, all_answered, &n, "answers after a shortage");
    TEST_ASSERT_NULL(store_error(d.store));
    for (int i = 0; i < 1000000 && append(&last, "k", "after it", 0) != 0; i++)
        drive_turn(&d);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, last.calls);
    TEST_ASSERT_EQUAL_INT(0, last.status);
    drive_close(&d);
    drive_open(&d);
    assert_answers_hold(n, 2000, mf_err_text(code), nth);
}

static void test_a_shortage_of_files_passes(void)
{
    const int codes[] = {MF_AGAIN, MF_NOMEM, MF_FULL};

    for (size_t c = 0; c < MF_COUNT(codes); c++)
        for (uint64_t nth = 1; nth < 14; nth++)
            try_shortage(codes[c], nth);
}

static uint64_t wide(struct store_io *io)
{
    (void)io;
    return UINT64_C(1) << 40;
}

/* The same where the commit makes the files: its group waits. */
static void test_a_shortage_met_by_a_commit_passes(void)
{
    for (uint64_t nth = 1; nth < 14; nth++) {
        renew();
        size_t n = 0;
        d.io->space = wide;
        fault_io_arm(d.io,
                     &(struct fault_plan){
                         .kinds = FAULT_CREATE, .nth = nth, .code = MF_AGAIN, .forever = true});
        n = publish(n, 70, 2000);
        drive_turn(&d);
        TEST_ASSERT_NULL(store_error(d.store));
        fault_io_disarm(d.io);
        drive_until(&d, all_answered, &n, "answers after a shortage");
        drive_idle(&d);
        TEST_ASSERT_NULL(store_error(d.store));
        drive_close(&d);
        drive_open(&d);
        assert_answers_hold(n, 2000, "blind", nth);
    }
}

/* The store is closed while a group waits: it is refused, and so it must not be there. */
static void test_what_is_refused_by_closing_in_a_shortage_is_not_stored(void)
{
    const int codes[] = {MF_AGAIN, MF_NOMEM, MF_FULL};

    for (size_t c = 0; c < MF_COUNT(codes); c++)
        for (uint64_t nth = 1; nth < 14; nth++) {
            renew();
            size_t n = 0;
            d.io->space = wide;
            fault_io_arm(d.io,
                         &(struct fault_plan){
                             .kinds = FAULT_CREATE, .nth = nth, .code = codes[c], .forever = true});
            n = publish(n, 70, 2000);
            drive_turn(&d);
            drive_close(&d);
            fault_io_disarm(d.io);
            drive_open(&d);
            assert_answers_hold(n, 2000, "closed", nth);
            put("k", "and it goes on");
        }
}

/* --- upkeep --------------------------------------------------------------------------------- */

static bool is_freed(void *arg)
{
    struct store_stats st;

    store_stats(d.store, &st);
    return st.segments_freed > *(const uint64_t *)arg;
}

/* The log gives up what is dead as soon as its files can be renamed, unlinked and read again. */
static void test_cleaning_goes_on_after_a_shortage(void)
{
    const int codes[] = {MF_AGAIN, MF_NOMEM, MF_FULL};
    struct store_stats st;

    for (size_t c = 0; c < MF_COUNT(codes); c++) {
        renew();
        publish(0, 40, 3000);
        drive_idle(&d);
        fault_io_arm(d.io, &(struct fault_plan){.kinds = FAULT_UNLINK | FAULT_RENAME | FAULT_READ,
                                                .nth = 1,
                                                .code = codes[c],
                                                .forever = true});
        store_stats(d.store, &st);
        for (uint64_t seq = 2; seq <= 40; seq++) /* the first lives on: it has to be copied */
            TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, seq, NULL));
        for (int i = 0; i < 1000; i++)
            drive_turn(&d);
        TEST_ASSERT_TRUE(fault_io_hit(d.io));
        TEST_ASSERT_NULL(store_error(d.store));
        TEST_ASSERT_FALSE(is_freed(&st.segments_freed));
        fault_io_disarm(d.io);
        drive_until(&d, is_freed, &st.segments_freed, "a segment that is given up");
        drive_idle(&d);
        TEST_ASSERT_TRUE(is_stored(0, 3000));
    }
}

/* The kernel tells of a write error once, to the first who asks: whoever hears of it for the log's
 * files or their folder speaks for all. */
static void test_a_sync_that_fails_for_upkeep_makes_it_read_only(void)
{
    struct mark m;

    for (int round = 0; round < 2; round++) {
        drive_fini(&d);
        start((struct store_opts){.segment_min = 16u << 10,
                                  .segment_max = 16u << 10,
                                  .sync = STORE_SYNC_INTERVAL,
                                  .sync_interval_ns = INT64_C(3600000000000),
                                  .name = "test"});
        put("k", "v");
        fault_io_arm(d.io, &(struct fault_plan){.kinds = round == 0 ? FAULT_SYNC : FAULT_SYNCDIR,
                                                .nth = 1,
                                                .code = MF_IO});
        TEST_ASSERT_EQUAL_INT(0, drive_checkpoint(&d));
        drive_idle(&d);
        TEST_ASSERT_TRUE(fault_io_hit(d.io));
        TEST_ASSERT_NOT_NULL(store_error(d.store));
        TEST_ASSERT_EQUAL_INT(MF_READONLY, append(&m, "k", "w", 0));
        fault_io_disarm(d.io);
    }
}

/* --- reading -------------------------------------------------------------------------------- */

struct reading {
    struct store_read read;
    int status, calls;
};

static void on_read(struct store_read *r, int status)
{
    struct reading *x = mf_container(r, struct reading, read);

    x->status = status;
    x->calls++;
}

static bool is_read(void *arg)
{
    return ((struct reading *)arg)->calls > 0;
}

/* A file that cannot be opened again for want of a descriptor is not damaged: its reader waits. */
static void test_reads_wait_for_a_descriptor(void)
{
    struct mf_buf room = MF_BUF_INIT;
    struct reading x = {.read = {.seq = 1, .done = on_read}};
    struct store_rec r;

    put("k", "v");
    for (int closes = 0; closes < 2; closes++) {
        x.calls = 0;
        fault_io_arm(d.io, &(struct fault_plan){
                               .kinds = FAULT_READ, .nth = 1, .code = MF_AGAIN, .forever = true});
        TEST_ASSERT_EQUAL_INT(MF_AGAIN, store_read_now(d.store, 1, &room, &r));
        TEST_ASSERT_EQUAL_INT(0, store_read(d.store, &x.read));
        for (int i = 0; i < 100; i++)
            drive_turn(&d);
        TEST_ASSERT_EQUAL_INT(0, x.calls);
        TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
        if (closes)
            drive_close(&d);
        fault_io_disarm(d.io);
        if (!closes)
            drive_until(&d, is_read, &x, "a message that was waited for");
        TEST_ASSERT_EQUAL_INT(1, x.calls);
        TEST_ASSERT_EQUAL_INT(closes ? MF_NOMEM : 0, x.status);
    }
    mf_buf_fini(&room);
    drive_open(&d);
    assert_body(1, "v");
}

/* --- for good ------------------------------------------------------------------------------- */

/* One call fails for good: the store turns read-only; what it refused is not there afterwards. */
static void try_failure(struct fault_plan plan, const char *what, bool *hit)
{
    size_t n = 0;

    renew();
    fault_io_arm(d.io, &plan);
    n = publish(n, 40, 3000);
    drive_until(&d, all_answered, &n, "answers after a failure");
    *hit = fault_io_hit(d.io);
    drive_close(&d);
    fault_io_disarm(d.io);
    drive_open(&d);
    assert_answers_hold(n, 3000, what, plan.nth);
    put("k", "and it goes on");
}

static void test_what_is_refused_after_a_failure_is_not_stored(void)
{
    struct fault_plan plans[] = {{.half = false}, {.half = true}, {.after = true}};
    static const char *const names[] = {"failed", "failed half way", "failed after all"};
    bool hit = true;

    for (size_t i = 0; i < MF_COUNT(plans); i++, hit = true)
        for (uint64_t nth = 1; hit; nth++) {
            plans[i].kinds = FAULT_MUTATING;
            plans[i].code = MF_IO;
            plans[i].nth = nth;
            try_failure(plans[i], names[i], &hit);
        }
}

/* Writes find no space for a moment, in the middle of a group. */
static void test_a_write_that_finds_no_space_once_is_written_later(void)
{
    struct fault_plan plan = {.kinds = FAULT_WRITE, .code = MF_FULL, .half = true};
    bool hit = true;

    for (plan.nth = 1; hit; plan.nth++)
        try_failure(plan, "no space for a moment", &hit);
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_a_shortage_of_files_passes);
    RUN_TEST(test_a_shortage_met_by_a_commit_passes);
    RUN_TEST(test_what_is_refused_by_closing_in_a_shortage_is_not_stored);
    RUN_TEST(test_cleaning_goes_on_after_a_shortage);
    RUN_TEST(test_a_sync_that_fails_for_upkeep_makes_it_read_only);
    RUN_TEST(test_reads_wait_for_a_descriptor);
    RUN_TEST(test_what_is_refused_after_a_failure_is_not_stored);
    RUN_TEST(test_a_write_that_finds_no_space_once_is_written_later);
    return UNITY_END();
}
