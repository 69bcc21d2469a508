/* test_store_full.c: a disk without space: what is accepted has its room, removals keep theirs. */
#include "store/store_impl.h" /* first: the fixture has a global of its own */

#include "support/store_fixture.h"

#define MOST 2000

static struct mark marks[MOST];

/* Messages in one turn, faster than any spare is made, until one is refused: how many were not. */
static size_t burst(size_t len)
{
    static char body[16 << 10];

    memset(body, 'x', sizeof body);
    body[len] = '\0';
    for (size_t n = 0; n < MOST; n++) {
        int rc = append(&marks[n], "burst", body, 0);
        if (rc != 0) {
            TEST_ASSERT_EQUAL_INT(MF_FULL, rc);
            return n;
        }
    }
    TEST_FAIL_MESSAGE("more is accepted than the disk can hold");
    return 0;
}

static void assert_stored(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        TEST_ASSERT_EQUAL_INT(1, marks[i].calls);
        TEST_ASSERT_EQUAL_INT(0, marks[i].status);
    }
}

static bool called(void *arg)
{
    return ((struct mark *)arg)->calls > 0;
}

/* Whatever room is left: one segment, several, parts of one; messages small and large. */
static void try_bursts(bool reopens)
{
    struct mark first;

    for (size_t len = 1000; len <= 15000; len += 2000) {
        for (uint64_t left = 0; left <= 600000; left += 50000) {
            for (int i = 0; i < 1000000 && append(&first, "k", "v", 0) != 0; i++)
                drive_turn(&d); /* space is looked for twice a second */
            drive_idle(&d);
            fault_io_budget(d.io, fault_io_used(d.io) + left);
            size_t n = burst(len);
            uint64_t msgs, bytes, last;
            struct mark purge;
            store_accepted(d.store, &msgs, &bytes, &last);
            TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, last, wait(&purge)));
            drive_until(&d, called, &purge, "a purge on a full disk");
            TEST_ASSERT_EQUAL_INT(0, purge.status);
            assert_stored(n);
            TEST_ASSERT_EQUAL_UINT64(0, messages());
            fault_io_budget(d.io, UINT64_MAX);
            if (reopens) {
                drive_close(&d);
                drive_open(&d);
            }
            drive_idle(&d);
            TEST_ASSERT_EQUAL_UINT64(0, messages());
        }
    }
}

static void test_a_burst_is_accepted_as_far_as_it_has_room(void)
{
    try_bursts(true);
}

/* Memory that runs out is the same: each publish is accepted or refused at once, none waits for
 * memory that only a removal behind it could give back. */
static void test_a_burst_is_accepted_as_far_as_there_is_memory(void)
{
    drive_fini(&d);
    start((struct store_opts){.segment_min = 64u << 10,
                              .segment_max = 64u << 10,
                              .sync = STORE_SYNC_NEVER,
                              .no_checkpoint = true,
                              .name = "test"});
    try_bursts(false);
}

/* The same without a purge: there is space again, and nobody has to wake the store. */
static void test_a_store_goes_on_when_there_is_space_again(void)
{
    struct mark m;

    fault_io_budget(d.io, fault_io_used(d.io));
    size_t n = burst(1000);
    drive_turn(&d);
    TEST_ASSERT_TRUE(store_full(d.store));
    fault_io_budget(d.io, UINT64_MAX);
    for (int i = 0; i < 1000000 && append(&m, "k", "v", 0) != 0; i++)
        drive_turn(&d);
    drive_until(&d, called, &m, "space that came back");
    TEST_ASSERT_EQUAL_INT(0, m.status);
    assert_stored(n);
    TEST_ASSERT_EQUAL_UINT64(n + 1, messages());
}

/* While there is none, it is looked for now and then, not all the time. */
static void test_a_full_disk_costs_no_work(void)
{
    fault_io_budget(d.io, fault_io_used(d.io));
    burst(1000);
    drive_idle(&d);
    TEST_ASSERT_TRUE(store_full(d.store));
    uint64_t before = fault_io_count(d.io, FAULT_CREATE);
    for (int i = 0; i < 1000; i++)
        drive_turn(&d);
    TEST_ASSERT_LESS_THAN_UINT64(before + 100, fault_io_count(d.io, FAULT_CREATE));
    fault_io_budget(d.io, UINT64_MAX);
}

/* One that is too large for what is left says nothing about smaller ones. */
static void test_a_large_message_is_refused_alone(void)
{
    static char large[200000];
    struct mark m;

    drive_fini(&d);
    start((struct store_opts){.segment_min = 64u << 10, .segment_max = 1u << 20, .name = "test"});
    for (int i = 0; i < 40; i++)
        put("k", "0123456789012345678901234567890123456789"); /* beyond this, a spare is made */
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 5; i++) {
        large[9000] = '\0';
        put("k", large);
    }
    large[9000] = 'x';
    fault_io_budget(d.io, fault_io_used(d.io));
    for (int i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL_INT(MF_FULL, append(&m, "k", large, 0));
        drive_idle(&d);
        TEST_ASSERT_FALSE(store_full(d.store));
        put("k", "small");
    }
    fault_io_budget(d.io, UINT64_MAX);
    put("k", large);
}

/* A store that is opened on a full disk with its last segment used up: the first thing it is asked
 * for is answered. */
static void test_a_start_on_a_full_disk_answers(void)
{
    struct mark m;

    for (size_t len = 200; len < 12000; len += 700) {
        fault_io_budget(d.io, fault_io_used(d.io) + 200000);
        size_t n = burst(len);
        drive_idle(&d);
        assert_stored(n);
        drive_abandon(&d);
        drive_open(&d);
        fault_io_budget(d.io, fault_io_used(d.io));
        uint64_t last = messages();
        int rc = store_remove_range(d.store, 1, last, wait(&m));
        if (rc == 0)
            drive_until(&d, called, &m, "a purge after a start on a full disk");
        TEST_ASSERT_TRUE(rc == 0 ? m.status == 0 : rc == MF_FULL);
        TEST_ASSERT_EQUAL_INT(0, rc);
        fault_io_budget(d.io, UINT64_MAX);
        drive_idle(&d);
        drive_fini(&d);
        setUp();
    }
}

/* The segment's file is made by the commit where the loop could not, for another reason. */
static void test_no_memory_for_a_file_is_no_full_disk(void)
{
    static char body[15000];

    memset(body, 'x', sizeof body - 1);
    put("k", "v");
    fault_io_arm(d.io, &(struct fault_plan){.kinds = FAULT_CREATE, .nth = 1, .code = MF_NOMEM});
    for (size_t i = 0; i < 12; i++)
        TEST_ASSERT_EQUAL_INT(0, append(&marks[i], "k", body, 0));
    drive_until(&d, called, &marks[11], "all of them");
    TEST_ASSERT_TRUE(fault_io_hit(d.io));
    fault_io_disarm(d.io);
    assert_stored(12);
    TEST_ASSERT_EQUAL_UINT64(13, messages());
}

static struct store_io under; /* the calls as they were */
static bool unsynced;         /* a segment has its name, and the directory was not synced since */

static int note_rename(struct store_io *io, const char *from, const char *to, struct mf_error *e)
{
    int rc = under.rename(io, from, to, e);

    unsynced |= rc == 0 && mf_ends(mf_str(to), ".log");
    return rc;
}

static int note_open(struct store_io *io, const char *name, bool create, struct store_file **out,
                     struct mf_error *e)
{
    int rc = under.open(io, name, create, out, e);

    unsynced |= rc == 0 && create && mf_ends(mf_str(name), ".log");
    return rc;
}

static int note_syncdir(struct store_io *io, struct mf_error *e)
{
    int rc = under.syncdir(io, e);

    unsynced = unsynced && rc != 0;
    return rc;
}

/* A group that is written again, because there was no space or memory in the middle of it, still
 * syncs the name of the segment that its first attempt made. */
static void test_name_of_a_segment_is_synced_by_a_second_attempt(void)
{
    static const struct {
        uint32_t kind;
        int code;
    } faults[] = {{FAULT_WRITE, MF_FULL}, {FAULT_WRITE, MF_NOMEM}, {FAULT_SYNCDIR, MF_NOMEM}};
    static char body[15000];

    memset(body, 'x', sizeof body - 1);
    put("k", "v");
    under = *d.io;
    d.io->rename = note_rename;
    d.io->open = note_open;
    d.io->syncdir = note_syncdir;
    for (size_t k = 0; k < MF_COUNT(faults); k++)
        for (uint64_t n = 1; n < 12; n++) {
            fault_io_arm(d.io, &(struct fault_plan){
                                   .kinds = faults[k].kind, .nth = n, .code = faults[k].code});
            for (size_t i = 0; i < 6; i++) {
                memset(&marks[i], 0, sizeof marks[i]);
                TEST_ASSERT_EQUAL_INT(0, append(&marks[i], "k", body, 0));
                drive_until(&d, called, &marks[i], "it");
                TEST_ASSERT_FALSE(unsynced);
            }
            fault_io_disarm(d.io);
            TEST_ASSERT_NULL(store_error(d.store));
        }
    d.io->rename = under.rename;
    d.io->open = under.open;
    d.io->syncdir = under.syncdir;
}

static uint64_t wide(struct store_io *io)
{
    (void)io;
    return UINT64_C(1) << 40;
}

/* The loop waits for no disk that has plenty of space: commits make the files.  Nearly full, it
 * does. */
static void test_plenty_of_space_needs_no_file_on_the_loop(void)
{
    static char body[15000];

    memset(body, 'x', sizeof body - 1);
    for (int i = 0; i < 2; i++) {
        put("k", "v");
        drive_idle(&d);
        d.io->space = i == 0 ? wide : NULL;
        uint64_t before = fault_io_count(d.io, FAULT_CREATE);
        for (size_t n = 0; n < 40; n++)
            TEST_ASSERT_EQUAL_INT(0, append(&marks[n], "k", body, 0));
        TEST_ASSERT_EQUAL_INT(i == 0, fault_io_count(d.io, FAULT_CREATE) == before);
        drive_until(&d, called, &marks[39], "all of them");
        assert_stored(40);
    }
    TEST_ASSERT_EQUAL_UINT64(82, messages());
}

static int allocate(struct store_io *io, struct store_file *f, uint64_t size, struct mf_error *e)
{
    return io->truncate(io, f, size, e);
}

/* A batch that was let in counting on a spare that is being prepared, and a record of it that is
 * too large for the rest of the segment: that one is refused alone. */
static void test_a_refused_record_does_not_take_the_room_of_its_batch(void)
{
    static char large[3 << 20];
    static char body[64 << 10];
    struct mark m;
    size_t n = 0;

    memset(body, 'x', sizeof body - 1);
    memset(large, 'y', sizeof large - 1);
    drive_fini(&d);
    start((struct store_opts){.segment_min = 4u << 20, .segment_max = 4u << 20, .name = "test"});
    d.io->allocate = allocate;
    while (segs_current(d.store)->end < 2300u << 10)
        TEST_ASSERT_EQUAL_INT(0, append(&marks[n++], "k", body, 0));
    for (int i = 0; i < 1000 && !d.store->spare.allocated; i++)
        drive_turn(&d);
    while (segs_current(d.store)->end < 3300u << 10)
        TEST_ASSERT_EQUAL_INT(0, append(&marks[n++], "k", body, 0));
    TEST_ASSERT_TRUE(d.store->spare.allocated);
    fault_io_budget(d.io, fault_io_used(d.io));
    store_begin(d.store, false);
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, mf_str("b"), mf_str("value"), NULL));
    TEST_ASSERT_EQUAL_INT(MF_FULL, append(&m, "k", large, 0));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
    fault_io_budget(d.io, UINT64_MAX);
    drive_idle(&d);
    assert_stored(n);
}

static bool spare_is_ready(void *arg)
{
    (void)arg;
    return d.store->spare.ready;
}

/* A start with a shortened last segment: the current one has no file.  What space there is becomes
 * a spare, which is used for it. */
static void test_a_spare_serves_the_segment_that_has_no_file(void)
{
    struct store_file *f;
    struct mf_error e;
    struct mark m;
    uint64_t size;
    char name[32];

    put("k", "v");
    drive_abandon(&d);
    segment_name(name, 1);
    TEST_ASSERT_EQUAL_INT(0, d.io->open(d.io, name, false, &f, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->size(d.io, f, &size, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->truncate(d.io, f, size - 4096, &e));
    d.io->close(d.io, f);
    fault_io_budget(d.io, 0);
    drive_open(&d);
    TEST_ASSERT_EQUAL_INT(MF_FULL, append(&m, "k", "w", 0));
    fault_io_budget(d.io, fault_io_used(d.io) + (96u << 10)); /* one, and a half */
    drive_until(&d, spare_is_ready, NULL, "a spare");
    for (size_t i = 0; i < 100; i++)
        put("k", "w");
    fault_io_budget(d.io, UINT64_MAX);
    TEST_ASSERT_EQUAL_UINT64(101, messages());
}

/* A message that lives alone in the first segment, and is too large for what is left. */
static void test_a_copy_without_room_is_not_tried_all_the_time(void)
{
    static char large[90000];
    static char body[1001];
    uint64_t msgs, bytes, last;
    struct mark m;

    memset(large, 'y', sizeof large - 1);
    memset(body, 'x', sizeof body - 1);
    uint64_t seq = put("large", large);
    for (int i = 0; i < 330; i++)
        put("k", body);
    while (!(d.store->spare.ready && segs_current(d.store)->end > 40000))
        put("k", body);
    store_accepted(d.store, &msgs, &bytes, &last);
    fault_io_budget(d.io, fault_io_used(d.io));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, seq + 1, last, wait(&m)));
    drive_until(&d, called, &m, "the removal");
    uint64_t before = fault_io_count(d.io, FAULT_READ);
    for (int i = 0; i < 2000; i++)
        drive_turn(&d);
    TEST_ASSERT_LESS_THAN_UINT64(before + 200, fault_io_count(d.io, FAULT_READ));
    fault_io_budget(d.io, UINT64_MAX);
}

/* The file that was made larger last, and what came first then: its sync or its header. */
static struct {
    struct store_io real;
    struct store_file *file;
    bool synced;
    unsigned headers, early;
} growing;

static int grow_file(struct store_io *io, struct store_file *f, uint64_t size, struct mf_error *e)
{
    growing.file = f;
    growing.synced = false;
    return growing.real.truncate(io, f, size, e);
}
static int grow_sync(struct store_io *io, struct store_file *f, struct mf_error *e)
{
    growing.synced = growing.synced || f == growing.file;
    return growing.real.sync(io, f, e);
}
static int grow_pwrite(struct store_io *io, struct store_file *f, const void *src, size_t n,
                       uint64_t off, struct mf_error *e)
{
    if (f == growing.file && off == 0 && memcmp(src, "MAYFLYSG", 8) == 0) {
        growing.headers++;
        growing.early += !growing.synced;
    }
    return growing.real.pwrite(io, f, src, n, off, e);
}

/* A spare is on disk with its length.  Made larger for a large message, its new length has to be
 * there before a header that tells it: a power cut between them would leave a file that looks
 * cut off. */
static void test_a_spare_that_grows_is_synced_before_its_header(void)
{
    static char large[200000];
    static char body[1001];
    struct mark m;

    memset(large, 'y', sizeof large - 1);
    memset(body, 'x', sizeof body - 1);
    while (!d.store->spare.ready)
        put("k", body);
    growing.real = *d.io;
    growing.headers = growing.early = 0;
    d.io->truncate = grow_file;
    d.io->sync = grow_sync;
    d.io->pwrite = grow_pwrite;
    TEST_ASSERT_EQUAL_INT(0, append(&m, "large", large, 0));
    drive_until(&d, called, &m, "the large one");
    TEST_ASSERT_EQUAL_INT(0, m.status);
    TEST_ASSERT_EQUAL_UINT(1, growing.headers);
    TEST_ASSERT_EQUAL_UINT(0, growing.early);
    drive_idle(&d);
    d.io->truncate = growing.real.truncate;
    d.io->sync = growing.real.sync;
    d.io->pwrite = growing.real.pwrite;
}

static bool sated(void *arg)
{
    return !store_full(arg);
}

/* Messages in turns of a few, until one is refused: how many were not. */
static size_t fill(void)
{
    static char body[1001];
    struct mark m;
    size_t n = 0;

    memset(body, 'x', sizeof body - 1);
    for (; append(&m, "k", body, 0) == 0; n++) {
        TEST_ASSERT_LESS_THAN_size_t(100000, n);
        drive_until(&d, called, &m, "a message");
        TEST_ASSERT_EQUAL_INT(0, m.status);
    }
    drive_idle(&d);
    return n;
}

/* A log that is written fast, in a segment of 1 MiB that has just begun.  kept: a small message of
 * each of the two segments before it. */
static void start_fast(uint64_t kept[2])
{
    static char body[15000];
    size_t segments = 0;

    memset(body, 'x', sizeof body - 1);
    drive_fini(&d);
    start((struct store_opts){.segment_min = 64u << 10, .segment_max = 16u << 20, .name = "test"});
    for (int i = 0; i < 1000 && segs_current(d.store)->size < 1u << 20; i++) {
        if (d.store->segs.count > segments && segments < 2)
            kept[segments++] = put("kept", "v");
        put("k", body);
    }
    TEST_ASSERT_EQUAL_UINT64(1u << 20, segs_current(d.store)->size);
    TEST_ASSERT_EQUAL_size_t(2, segments);
}

/* A log that is written fast asks for segments four times as large as the one before.  Where the
 * disk has no space for such a one, smaller ones serve, down to the smallest. */
static void test_a_nearly_full_disk_is_filled_with_smaller_segments(void)
{
    uint64_t kept[2];

    for (int at_once = 0; at_once < 2; at_once++) {
        start_fast(kept);
        const struct segment *now = segs_current(d.store);
        uint64_t left = 500000, room = now->size - now->end + left;
        fault_io_budget(d.io, fault_io_used(d.io) + left);
        size_t n = at_once ? burst(1000) : fill();
        drive_idle(&d);
        if (at_once)
            assert_stored(n);
        /* All but what is less than a smallest segment, the reserve of the last one, and pages. */
        size_t each = 1040 + (at_once ? 0 : RECORD_COMMIT_SIZE);
        TEST_ASSERT_GREATER_THAN_UINT64(room - (128u << 10), n * each);
        TEST_ASSERT_TRUE(store_full(d.store));
        fault_io_budget(d.io, UINT64_MAX);
        drive_until(&d, sated, d.store, "space again");
        put("k", "v");
    }
}

static bool alone(void *arg)
{
    struct store *s = arg;

    fault_io_budget(d.io, fault_io_used(d.io) + 24576);
    return s->segs.count == 1;
}

static bool takes_one(void *arg)
{
    static char body[1001];

    memset(body, 'x', sizeof body - 1);
    return append(arg, "k", body, 0) == 0;
}

/* Little is alive in the only segment, which is large, and others have left no space for a smallest
 * one beside it.  A tiny one is enough to give the large one up, and messages are accepted again.
 */
static void test_a_dead_log_on_a_full_disk_makes_room(void)
{
    uint64_t msgs, bytes, last, kept[2];
    struct mark m[3];

    start_fast(kept);
    fault_io_budget(d.io, fault_io_used(d.io));
    fill();
    TEST_ASSERT_TRUE(store_full(d.store));
    store_accepted(d.store, &msgs, &bytes, &last);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, kept[0] + 1, kept[1] - 1, wait(&m[0])));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, kept[1] + 1, last, wait(&m[1])));
    drive_until(&d, called, &m[1], "the removals");
    drive_until(&d, alone, d.store, "the other segments to go");
    TEST_ASSERT_FALSE(d.store->spare.ready);
    TEST_ASSERT_EQUAL_UINT64(1u << 20, segs_current(d.store)->size);
    drive_until(&d, takes_one, &m[2], "room");
    drive_until(&d, called, &m[2], "the message");
    TEST_ASSERT_EQUAL_INT(0, m[2].status);
    TEST_ASSERT_EQUAL_UINT64(3, messages());
    fault_io_budget(d.io, UINT64_MAX);
    drive_close(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(3, messages());
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_a_burst_is_accepted_as_far_as_it_has_room);
    RUN_TEST(test_a_burst_is_accepted_as_far_as_there_is_memory);
    RUN_TEST(test_a_store_goes_on_when_there_is_space_again);
    RUN_TEST(test_a_full_disk_costs_no_work);
    RUN_TEST(test_a_large_message_is_refused_alone);
    RUN_TEST(test_a_start_on_a_full_disk_answers);
    RUN_TEST(test_no_memory_for_a_file_is_no_full_disk);
    RUN_TEST(test_name_of_a_segment_is_synced_by_a_second_attempt);
    RUN_TEST(test_plenty_of_space_needs_no_file_on_the_loop);
    RUN_TEST(test_a_refused_record_does_not_take_the_room_of_its_batch);
    RUN_TEST(test_a_spare_serves_the_segment_that_has_no_file);
    RUN_TEST(test_a_copy_without_room_is_not_tried_all_the_time);
    RUN_TEST(test_a_spare_that_grows_is_synced_before_its_header);
    RUN_TEST(test_a_nearly_full_disk_is_filled_with_smaller_segments);
    RUN_TEST(test_a_dead_log_on_a_full_disk_makes_room);
    return UNITY_END();
}
