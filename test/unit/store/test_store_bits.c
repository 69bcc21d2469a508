/* test_store_bits.c: the two bits of a message (infinite, pinned): set with it and by re-deadlines,
 * counted, kept through restarts, cleaning and checkpoints, in segments whose version knows them.
 */
#include "support/store_fixture.h"

#include "fault/disk.h"

#include "store/log/record.h"
#include "support/secret.h"

static uint16_t bits_of(uint64_t seq)
{
    uint16_t flags = 0;

    TEST_ASSERT_TRUE(store_flags(d.store, seq, &flags));
    return flags;
}

static uint64_t put_bits(const char *key, int64_t deadline_ns, uint16_t flags)
{
    struct mark m;

    wait(&m);
    m.a.key = mf_str(key);
    m.a.body = MF_LIT("body");
    m.a.deadline_ns = deadline_ns;
    m.a.flags = flags;
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &m.a));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.status);
    return m.a.seq;
}

static void set(uint64_t seq, int64_t deadline_ns, uint16_t flags)
{
    struct mark m;

    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, seq, deadline_ns, flags, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    TEST_ASSERT_EQUAL_INT(0, m.status);
}

static void assert_lives(uint64_t deadlines, uint64_t infinite, uint64_t pinned)
{
    struct store_lives v;
    struct store_state st;

    store_lives(d.store, &v);
    TEST_ASSERT_EQUAL_UINT64(deadlines, v.deadlines);
    TEST_ASSERT_EQUAL_UINT64(infinite, v.infinite);
    TEST_ASSERT_EQUAL_UINT64(pinned, v.pinned);
    store_state(d.store, &st);
    TEST_ASSERT_EQUAL_UINT64(deadlines, st.deadlines);
    TEST_ASSERT_EQUAL_UINT64(infinite, st.infinite);
    TEST_ASSERT_EQUAL_UINT64(pinned, st.pinned);
}

static void reopen(void)
{
    drive_close(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
}

static void reopen_without(const char *file)
{
    drive_close(&d);
    TEST_ASSERT_EQUAL_INT(0, d.io->unlink(d.io, file, NULL));
    drive_open(&d);
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
}

/* The versions of the files: of the segment with this number, 0: there is none; of the checkpoint
 * for number 0. */
static uint32_t version_of(uint64_t number)
{
    struct disk files;
    char name[32] = "checkpoint";

    if (number != 0)
        snprintf(name, sizeof name, "%016llx.log", (unsigned long long)number);
    drive_close(&d);
    disk_take(&files, d.io);
    const struct disk_file *f = disk_find(&files, name);
    uint32_t version = f == NULL ? 0 : get_u32(f->bytes + 8);
    disk_free(&files);
    drive_open(&d);
    return version;
}

static struct check_result checked(void)
{
    struct check_result r;
    struct check_opts o = {.now_ns = 1, .key = test_key()};
    struct mf_error e;
    struct disk files;

    drive_close(&d);
    disk_take(&files, d.io);
    struct check_source src = disk_source(&files);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, check_files(&src, &o, &r, &e), e.text);
    if (r.damages > 0)
        TEST_FAIL_MESSAGE(r.damage[0].what);
    TEST_ASSERT_EQUAL_INT(CHECK_CP_MATCHES, r.checkpoint);
    disk_free(&files);
    drive_open(&d);
    return r;
}

static void assert_checked(uint64_t deadlines, uint64_t infinite, uint64_t pinned)
{
    struct check_result r = checked();

    TEST_ASSERT_EQUAL_UINT64(deadlines, r.live.with_deadline);
    TEST_ASSERT_EQUAL_UINT64(infinite, r.live.infinite);
    TEST_ASSERT_EQUAL_UINT64(pinned, r.live.pinned);
    check_result_fini(&r);
}

/* --- one message ------------------------------------------------------------------------------ */

static void test_bits_come_with_a_message_and_come_back(void)
{
    struct store_rec r;

    put_bits("a", 0, 0);
    put_bits("b", 0, STORE_INFINITE | 4);
    put_bits("c", 9000, STORE_PINNED | 1);
    put_bits("d", 0, STORE_BITS);
    for (int round = 0; round < 3; round++) {
        TEST_ASSERT_EQUAL_HEX16(0, bits_of(1));
        TEST_ASSERT_EQUAL_HEX16(STORE_INFINITE, bits_of(2)); /* 4 is in the record alone */
        TEST_ASSERT_EQUAL_HEX16(STORE_PINNED | 1, bits_of(3));
        TEST_ASSERT_EQUAL_HEX16(STORE_BITS, bits_of(4));
        TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, 2, &r));
        TEST_ASSERT_EQUAL_HEX16(STORE_INFINITE | 4, r.flags);
        assert_lives(1, 2, 2);
        if (round == 0)
            reopen();
        else if (round == 1)
            reopen_without("checkpoint");
    }
    assert_checked(1, 2, 2);
    TEST_ASSERT_EQUAL_UINT32(SEGMENT_PLAIN,
                             version_of(1)); /* flags of messages were there before */
}

static void test_infinite_says_nothing_beside_a_deadline(void)
{
    struct store_rec r;

    put_bits("a", 9000, STORE_BITS);
    for (int round = 0; round < 2; round++) {
        TEST_ASSERT_EQUAL_HEX16(STORE_PINNED, bits_of(1));
        TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, 1, &r));
        TEST_ASSERT_EQUAL_HEX16(STORE_PINNED, r.flags);
        assert_lives(1, 0, 1);
        reopen_without("checkpoint");
    }
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_set_deadline(d.store, 1, 9000, STORE_INFINITE, NULL));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, store_set_deadline(d.store, 1, 9000, 1, NULL));
    assert_checked(1, 0, 1);
}

/* Every state to every other, each read back from the log and from the checkpoint. */
static void test_a_re_deadline_replaces_both(void)
{
    static const struct {
        int64_t deadline_ns;
        uint16_t flags;
    } to[] = {{9000, 0},
              {0, STORE_INFINITE},
              {8000, STORE_PINNED},
              {0, STORE_BITS},
              {0, 0},
              {0, STORE_PINNED},
              {7000, 0}};
    struct store_rec r;

    put_bits("a", 0, 2);
    for (size_t i = 0; i < MF_COUNT(to); i++) {
        set(1, to[i].deadline_ns, to[i].flags);
        for (int round = 0; round < 3; round++) {
            TEST_ASSERT_EQUAL_HEX16(to[i].flags | 2, bits_of(1));
            TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, 1, &r));
            TEST_ASSERT_EQUAL_HEX16(to[i].flags | 2, r.flags);
            TEST_ASSERT_EQUAL_INT64(to[i].deadline_ns, r.deadline_ns);
            assert_lives(to[i].deadline_ns != 0, (to[i].flags & STORE_INFINITE) != 0,
                         (to[i].flags & STORE_PINNED) != 0);
            if (round == 0)
                reopen();
            else if (round == 1)
                reopen_without("checkpoint");
        }
    }
}

static void test_what_is_past_its_deadline_is_not_brought_back(void)
{
    bool more;

    put_bits("a", 1000, 0);
    put_bits("b", 1000, STORE_PINNED);
    put_bits("c", 0, STORE_INFINITE);
    store_now(d.store, 1000);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_set_deadline(d.store, 1, 0, STORE_BITS, NULL));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_set_deadline(d.store, 2, 5000, STORE_PINNED, NULL));
    TEST_ASSERT_EQUAL_size_t(2, store_expire(d.store, 1000, 10, NULL, NULL, &more));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_set_deadline(d.store, 1, 0, STORE_INFINITE, NULL));
    assert_lives(0, 1, 0);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_set_deadline(d.store, 2, 0, STORE_INFINITE, NULL));
    reopen_without("checkpoint");
    assert_lives(0, 1, 0);
    TEST_ASSERT_EQUAL_UINT64(1, messages());
}

/* --- batches ---------------------------------------------------------------------------------- */

static void test_many_re_deadlines_and_an_append_are_one_batch(void)
{
    struct mark m, end;

    put_bits("a", 9000, 0);
    put_bits("b", 0, 0);
    put_bits("c", 0, STORE_INFINITE);
    store_begin(d.store, false);
    TEST_ASSERT_EQUAL_INT(0, append(&m, "config", "permanent", 0));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, 1, 0, STORE_INFINITE, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, 2, 0, STORE_INFINITE, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, 3, 5000, STORE_PINNED, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, m.a.seq, 6000, STORE_PINNED, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, wait(&end)));
    struct store_lives v;
    store_lives(d.store, &v); /* before it is on disk */
    TEST_ASSERT_EQUAL_UINT64(2, v.deadlines);
    TEST_ASSERT_EQUAL_UINT64(2, v.infinite);
    TEST_ASSERT_EQUAL_UINT64(2, v.pinned);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, end.status);
    TEST_ASSERT_EQUAL_UINT32(SEGMENT_PLAIN, version_of(1));
    TEST_ASSERT_EQUAL_UINT32(SEGMENT_BITS, version_of(2));
    for (int round = 0; round < 2; round++) {
        assert_lives(2, 2, 2);
        assert_body(4, "permanent");
        reopen_without("checkpoint");
    }
    assert_checked(2, 2, 2);
}

/* A message that is not on disk yet changes its state: each group counts it once. */
static void test_counts_follow_a_message_on_its_way(void)
{
    struct mark m, n;

    TEST_ASSERT_EQUAL_INT(0, append(&m, "a", "x", 0));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, m.a.seq, 0, STORE_BITS, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, m.a.seq, 5000, 0, NULL));
    TEST_ASSERT_EQUAL_INT(0, append(&n, "b", "y", 5000));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, n.a.seq, 0, STORE_INFINITE, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, n.a.seq, NULL));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_set_deadline(d.store, n.a.seq, 0, 0, NULL));
    drive_idle(&d);
    assert_lives(1, 0, 0);
    assert_checked(1, 0, 0);
}

/* --- versions --------------------------------------------------------------------------------- */

static void test_newer_versions_begin_where_they_are_needed(void)
{
    put_bits("a", 0, 0);
    set(1, 9000, 0);
    TEST_ASSERT_EQUAL_UINT32(SEGMENT_PLAIN, version_of(1));
    TEST_ASSERT_EQUAL_UINT32(1, version_of(0));
    TEST_ASSERT_EQUAL_UINT32(0, version_of(2));
    set(1, 9000, STORE_PINNED);
    TEST_ASSERT_EQUAL_UINT32(SEGMENT_BITS, version_of(2));
    TEST_ASSERT_EQUAL_UINT32(2, version_of(0));
    set(1, 0, 0); /* no bit is left, so the checkpoint goes back; the log does not */
    TEST_ASSERT_EQUAL_UINT32(1, version_of(0));
    put_bits("b", 0, STORE_INFINITE);
    TEST_ASSERT_EQUAL_UINT32(2, version_of(0));
    for (int i = 0; i < 400; i++) {
        static char body[300];
        memset(body, 'x', sizeof body - 1);
        put("fill", body);
    }
    TEST_ASSERT_EQUAL_UINT32(SEGMENT_BITS, version_of(3));
    assert_checked(0, 1, 0);
}

static bool called(void *arg)
{
    return ((struct mark *)arg)->calls > 0;
}

static bool has_space(void *arg)
{
    (void)arg;
    return !store_full(d.store);
}

/* The first re-deadline with a bit comes in the middle of a batch and finds no next segment: it is
 * refused, and the batch goes where it would have gone. */
static void test_a_full_disk_refuses_the_bit_and_keeps_the_batch(void)
{
    struct mark m, end;

    put_bits("a", 9000, 0);
    put_bits("b", 9000, 0);
    fault_io_budget(d.io, 0);
    store_begin(d.store, false);
    TEST_ASSERT_EQUAL_INT(0, append(&m, "c", "y", 0));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, 2, 8000, 0, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 1, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_reserve(d.store, 1));
    TEST_ASSERT_EQUAL_INT(MF_FULL, store_set_deadline(d.store, m.a.seq, 0, STORE_BITS, NULL));
    TEST_ASSERT_EQUAL_INT(MF_FULL, store_set_deadline(d.store, 2, 7000, STORE_PINNED, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, wait(&end)));
    drive_until(&d, called, &end, "a batch on a full disk");
    TEST_ASSERT_EQUAL_INT(0, end.status);
    assert_gone(1);
    assert_body(3, "y");
    while (append(&m, "k", "fills what is not kept for removals", 0) == 0)
        drive_until(&d, called, &m, "a message on a full disk");
    /* What lives longer would use up the room that is kept for removals; what ends sooner may. */
    TEST_ASSERT_EQUAL_INT(MF_FULL, store_set_deadline(d.store, 2, 9500, 0, NULL));
    TEST_ASSERT_EQUAL_INT(MF_FULL, store_set_deadline(d.store, 2, 0, 0, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, 2, 7000, 0, wait(&end)));
    drive_until(&d, called, &end, "a re-deadline on a full disk");
    assert_lives(1, 0, 0);
    fault_io_budget(d.io, UINT64_MAX);
    drive_until(&d, has_space, NULL, "space again");
    set(3, 0, STORE_BITS);
    assert_lives(1, 1, 1);
    assert_checked(1, 1, 1);
}

/* --- what moves and removes messages ---------------------------------------------------------- */

static void fill(unsigned n)
{
    static char body[900];

    memset(body, 'x', sizeof body - 1);
    for (unsigned i = 0; i < n; i++)
        put("fill", body);
}

static void test_the_cleaner_copies_what_holds(void)
{
    struct store_stats st;
    struct mark m;

    put_bits("a", 0, 2);
    put_bits("b", 0, STORE_BITS);
    put_bits("c", 0, STORE_INFINITE);
    fill(150);
    set(1, 900000, STORE_PINNED);
    set(2, 0, 0);
    fill(150);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 4, 303, wait(&m)));
    drive_idle(&d);
    store_stats(d.store, &st);
    TEST_ASSERT_GREATER_THAN_UINT64(0, st.copied_bytes);
    for (int round = 0; round < 2; round++) {
        TEST_ASSERT_EQUAL_HEX16(STORE_PINNED | 2, bits_of(1));
        TEST_ASSERT_EQUAL_HEX16(0, bits_of(2));
        TEST_ASSERT_EQUAL_HEX16(STORE_INFINITE, bits_of(3));
        assert_lives(1, 1, 1);
        reopen_without("checkpoint");
    }
    assert_checked(1, 1, 1);
}

static void test_removals_and_purges_take_their_counts_off(void)
{
    struct mark m;
    uint64_t seqs[] = {3, 4};

    for (int i = 0; i < 40; i++)
        put_bits("k", i % 3 == 0 ? 9000 + i : 0,
                 i % 3 == 1   ? STORE_INFINITE
                 : i % 2 == 0 ? STORE_PINNED
                              : 0);
    assert_lives(14, 13, 14);
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 1, NULL));               /* Dp */
    TEST_ASSERT_EQUAL_INT(0, store_erase(d.store, 2, NULL));                /* I */
    TEST_ASSERT_EQUAL_INT(0, store_remove_set(d.store, seqs, 2, wait(&m))); /* Wp, D */
    drive_idle(&d);
    assert_lives(12, 12, 12);
    assert_checked(12, 12, 12);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 5, 10, NULL));
    drive_idle(&d);
    assert_lives(10, 10, 10);
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 40, NULL)); /* everything */
    struct mark after;
    TEST_ASSERT_EQUAL_INT(0, append(&after, "new", "x", 0));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, after.a.seq, 0, STORE_BITS, NULL));
    drive_idle(&d);
    assert_lives(0, 1, 1);
    assert_checked(0, 1, 1);
}

/* A roll-up removes everything but its own batch, whose messages change over to a new index. */
static void test_a_roll_up_of_everything_keeps_the_bits_of_its_batch(void)
{
    struct mark m;

    for (int i = 0; i < 40; i++)
        (void)put_bits("k", 0, i % 2 == 0 ? STORE_INFINITE : 0);
    store_begin(d.store, false);
    wait(&m);
    m.a.key = MF_LIT("k");
    m.a.flags = STORE_BITS;
    m.a.wait.done = NULL;
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &m.a));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 40, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT16(STORE_BITS, bits_of(41) & STORE_BITS);
    assert_lives(0, 1, 1);
    reopen();
    assert_lives(0, 1, 1);
    assert_checked(0, 1, 1);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_bits_come_with_a_message_and_come_back);
    RUN_TEST(test_infinite_says_nothing_beside_a_deadline);
    RUN_TEST(test_a_re_deadline_replaces_both);
    RUN_TEST(test_what_is_past_its_deadline_is_not_brought_back);
    RUN_TEST(test_many_re_deadlines_and_an_append_are_one_batch);
    RUN_TEST(test_counts_follow_a_message_on_its_way);
    RUN_TEST(test_newer_versions_begin_where_they_are_needed);
    RUN_TEST(test_a_full_disk_refuses_the_bit_and_keeps_the_batch);
    RUN_TEST(test_the_cleaner_copies_what_holds);
    RUN_TEST(test_removals_and_purges_take_their_counts_off);
    RUN_TEST(test_a_roll_up_of_everything_keeps_the_bits_of_its_batch);
    return UNITY_END();
}
