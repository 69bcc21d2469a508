/* test_store_read.c: what readers see: time, expiry, cursors, cold data, damage, upkeep.  Jobs run
 * inline, so each loop_turn() is one observable moment. */
#include "store/store.h"

#include "support/fault_io.h"
#include "support/must.h"
#include "support/store_compare.h"
#include "support/store_drive.h"

#include "unity.h"

static struct drive d;

void setUp(void)
{
    struct store_opts o = {.segment_min = 64u << 10, .segment_max = 64u << 10, .name = "test"};
    struct store_io *files, *io;

    TEST_ASSERT_EQUAL_INT(0, store_io_memory(&files, NULL));
    TEST_ASSERT_EQUAL_INT(0, fault_io_new(&io, files, NULL));
    drive_init(&d, NULL, io, &o, 1);
    drive_open(&d);
}

void tearDown(void)
{
    drive_fini(&d);
}

/* On disk when it returns. */
static uint64_t put(const char *key, int64_t deadline_ns)
{
    TEST_ASSERT_EQUAL_INT(0, drive_append(&d, key, 3, 20, deadline_ns, 0));
    drive_idle(&d);
    return d.model.committed.last_seq;
}

static bool there(uint64_t seq)
{
    struct store_rec r;
    int rc = store_peek(d.store, seq, &r);

    TEST_ASSERT_TRUE(rc == 0 || rc == MF_NOTFOUND);
    return rc == 0;
}

static struct store_state state(void)
{
    struct store_state st;

    store_state(d.store, &st);
    return st;
}

static size_t expire_all(int64_t now_ns)
{
    bool more = true;
    size_t n = 0;

    drive_time(&d, now_ns);
    while (more)
        n += drive_expire(&d, 100, &more);
    drive_idle(&d);
    return n;
}

/* --- time ------------------------------------------------------------------------------------- */

/* To the nanosecond: there at 999, gone at 1000, swept or not. */
static void test_a_deadline_is_exact_on_read(void)
{
    struct store_key k;
    int64_t deadline;

    put("k", 1000);
    put("k", 0);
    store_now(d.store, 999);
    TEST_ASSERT_TRUE(there(1));
    TEST_ASSERT_TRUE(store_deadline(d.store, 1, &deadline));
    TEST_ASSERT_EQUAL_INT64(1000, deadline);
    TEST_ASSERT_TRUE(store_deadline(d.store, 2, &deadline));
    TEST_ASSERT_EQUAL_INT64(0, deadline);
    store_now(d.store, 1000);
    TEST_ASSERT_FALSE(there(1));
    TEST_ASSERT_FALSE(store_deadline(d.store, 1, &deadline));
    TEST_ASSERT_TRUE(store_key(d.store, MF_LIT("k"), &k));
    TEST_ASSERT_EQUAL_UINT64(2, k.first_seq);
    TEST_ASSERT_EQUAL_UINT64(1, k.count);
    TEST_ASSERT_EQUAL_UINT64(2, store_next(d.store, 1));
    TEST_ASSERT_EQUAL_UINT64(0, store_prev(d.store, 1));
    TEST_ASSERT_EQUAL_UINT64(1, state().msgs);
    TEST_ASSERT_EQUAL_UINT64(2, state().first_seq);
}

static void test_time_never_goes_back(void)
{
    put("k", 1000);
    store_now(d.store, 2000);
    store_now(d.store, 500);
    TEST_ASSERT_FALSE(there(1));
    put("k", 1500); /* past already: counts as due */
    TEST_ASSERT_FALSE(there(2));
}

static uint64_t died[16];
static size_t deaths;
static bool on_death(void *arg, const struct store_expiry *x)
{
    (void)arg;
    died[deaths++ % 16] = x->seq;
    return true;
}

/* (deadline, sequence), never early, in slices. */
static void test_expiry_goes_by_deadline_then_sequence(void)
{
    static const int64_t deadline[] = {300, 100, 200, 100, 9000, 300};
    bool more;

    for (int i = 0; i < 6; i++)
        put("k", deadline[i]);
    deaths = 0;
    TEST_ASSERT_EQUAL_size_t(0, store_expire(d.store, 99, 10, on_death, NULL, &more));
    TEST_ASSERT_FALSE(more);
    TEST_ASSERT_EQUAL_size_t(2, store_expire(d.store, 300, 2, on_death, NULL, &more));
    TEST_ASSERT_TRUE(more);
    TEST_ASSERT_EQUAL_size_t(3, store_expire(d.store, 300, 10, on_death, NULL, &more));
    TEST_ASSERT_FALSE(more);
    static const uint64_t want[] = {2, 4, 3, 1, 6};
    TEST_ASSERT_EQUAL_UINT64_ARRAY(want, died, 5);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(1, state().msgs);
    TEST_ASSERT_TRUE(there(5));
    struct store_stats stats;
    store_stats(d.store, &stats);
    TEST_ASSERT_EQUAL_UINT64(5, stats.expired);
    TEST_ASSERT_EQUAL_UINT64(1, stats.wheel_entries);
}

/* A timer armed by this never misses one. */
static void test_the_next_deadline_is_never_late(void)
{
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, store_next_deadline(d.store));
    put("k", 0);
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, store_next_deadline(d.store));
    put("k", 5000000000);
    put("k", 7000000000);
    TEST_ASSERT_LESS_OR_EQUAL_INT64(5000000000, store_next_deadline(d.store));
    expire_all(5000000000);
    TEST_ASSERT_LESS_OR_EQUAL_INT64(7000000000, store_next_deadline(d.store));
    TEST_ASSERT_GREATER_THAN_INT64(5000000000, store_next_deadline(d.store));
    expire_all(7000000000);
    TEST_ASSERT_EQUAL_INT64(INT64_MAX, store_next_deadline(d.store));
}

static bool was_last[4];
static bool on_last(void *arg, const struct store_expiry *x)
{
    (void)arg;
    was_last[x->seq] = x->last;
    TEST_ASSERT_TRUE(mf_eq_str(x->key, x->seq == 3 ? "b.c" : "a"));
    TEST_ASSERT_EQUAL_UINT32(x->seq == 3 ? 26 : 24, x->len);
    return true;
}

/* A marker is due when the last message of a key dies. */
static void test_a_death_tells_whether_it_was_the_last(void)
{
    bool more;

    put("a", 100);
    put("a", 200);
    put("b.c", 100);
    store_expire(d.store, 100, 10, on_last, NULL, &more);
    TEST_ASSERT_FALSE(was_last[1]);
    TEST_ASSERT_TRUE(was_last[3]);
    store_expire(d.store, 200, 10, on_last, NULL, &more);
    TEST_ASSERT_TRUE(was_last[2]);
    drive_idle(&d);
}

/* Marker and death are one batch: at every moment there is the one or the other. */
static void test_a_marker_comes_with_the_death_it_announces(void)
{
    bool more;

    put("a", 100);
    d.marker_percent = 100;
    drive_time(&d, 100);
    TEST_ASSERT_EQUAL_size_t(1, drive_expire(&d, 10, &more));
    TEST_ASSERT_FALSE(there(1)); /* past its deadline in any case */
    drive_idle(&d);
    TEST_ASSERT_TRUE(there(2));
    drive_abandon(&d);
    drive_open(&d);
    TEST_ASSERT_FALSE(there(1));
    TEST_ASSERT_TRUE(there(2));
}

/* Whatever the clock says after a restart. */
static void test_what_expired_stays_gone_when_the_clock_is_set_back(void)
{
    put("a", 1000);
    put("b", 5000);
    TEST_ASSERT_EQUAL_size_t(1, expire_all(1000));
    drive_abandon(&d);
    d.now_ns = 0;
    drive_open(&d);
    TEST_ASSERT_FALSE(there(1));
    TEST_ASSERT_TRUE(there(2));
    TEST_ASSERT_GREATER_OR_EQUAL_INT64(1000, store_clock_floor(d.store));
    /* And no new deadline falls behind the mark: it would be taken for gone by a replay. */
    TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "c", 0, 1, 700, 0));
    TEST_ASSERT_EQUAL_INT(0, store_set_deadline(d.store, 2, 600, 0, NULL));
    drive_idle(&d);
    drive_abandon(&d);
    drive_open(&d);
    deaths = 0;
    bool more;
    TEST_ASSERT_EQUAL_size_t(2, store_expire(d.store, 2000, 10, on_death, NULL, &more));
}

static void test_a_touch_moves_the_end(void)
{
    struct store_stats stats;

    put("a", 1000);
    put("a", 1000);
    put("a", 0);
    TEST_ASSERT_EQUAL_INT(0, drive_touch(&d, 1, 5000, STORE_PINNED));
    TEST_ASSERT_EQUAL_INT(0, drive_touch(&d, 2, 0, STORE_BITS));
    TEST_ASSERT_EQUAL_INT(0, drive_touch(&d, 3, 2000, 0));
    drive_idle(&d);
    for (int i = 0; i < 2; i++) {
        store_now(d.store, 1500);
        TEST_ASSERT_TRUE(there(1) && there(2) && there(3));
        TEST_ASSERT_EQUAL_UINT64(2, state().deadlines);
        store_stats(d.store, &stats);
        TEST_ASSERT_EQUAL_UINT64(2, stats.wheel_entries);
        drive_abandon(&d);
        drive_open(&d);
    }
    store_now(d.store, 2000);
    TEST_ASSERT_FALSE(there(3));
    TEST_ASSERT_EQUAL_size_t(2, expire_all(5000));
    TEST_ASSERT_TRUE(there(2));
}

static void sum_deadline(void *arg, uint64_t seq, int64_t deadline_ns)
{
    *(int64_t *)arg += (int64_t)seq * 10000 + deadline_ns;
}

static void test_deadlines_can_be_listed(void)
{
    int64_t sum = 0;

    put("a", 1000);
    put("a", 0);
    put("a", 2000);
    put("a", 4000);
    store_each_deadline(d.store, 3000, sum_deadline, &sum);
    TEST_ASSERT_EQUAL_INT64(10000 + 1000 + 30000 + 2000, sum);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void test_next_and_prev_at_the_edges(void)
{
    TEST_ASSERT_EQUAL_UINT64(0, store_next(d.store, 0));
    TEST_ASSERT_EQUAL_UINT64(0, store_prev(d.store, UINT64_MAX));
    put("a", 0);
    put("a", 0);
    TEST_ASSERT_EQUAL_UINT64(1, store_next(d.store, 0));
    TEST_ASSERT_EQUAL_UINT64(2, store_next(d.store, 2));
    TEST_ASSERT_EQUAL_UINT64(0, store_next(d.store, 3));
    TEST_ASSERT_EQUAL_UINT64(0, store_next(d.store, UINT64_MAX));
    TEST_ASSERT_EQUAL_UINT64(2, store_prev(d.store, UINT64_MAX));
    TEST_ASSERT_EQUAL_UINT64(0, store_prev(d.store, 0));
}

static void test_flags_are_counted(void)
{
    for (uint16_t f = 0; f < 8; f++)
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k", 0, 0, 0, f));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(4, state().flagged[0]);
    TEST_ASSERT_EQUAL_UINT64(4, state().flagged[1]);
    TEST_ASSERT_EQUAL_INT(0, drive_range(&d, 1, 2));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(3, state().flagged[0]);
    TEST_ASSERT_EQUAL_UINT64(4, state().flagged[1]);
}

struct reading {
    struct store_read r;
    int status, calls;
    size_t body;
};
static void on_read(struct store_read *r, int status)
{
    struct reading *x = mf_container(r, struct reading, r);
    x->status = status;
    x->calls++;
    x->body = status == 0 ? r->rec.body.len : 0;
}

/* What is not in the page cache is read by a worker: the loop never waits for the disk. */
static void test_cold_data_is_read_off_the_loop(void)
{
    struct reading x = {.r = {.seq = 1, .done = on_read}}, gone = x, none = x;
    struct store_rec r;

    put("a", 0);
    put("a", 0);
    fault_io_cold(d.io, true);
    TEST_ASSERT_EQUAL_INT(MF_AGAIN, store_peek(d.store, 1, &r));
    TEST_ASSERT_EQUAL_INT(0, store_read(d.store, &x.r));
    TEST_ASSERT_EQUAL_INT(0, x.calls);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, x.calls);
    TEST_ASSERT_EQUAL_INT(0, x.status);
    TEST_ASSERT_EQUAL_size_t(20, x.body);
    /* Removed while it was being read. */
    gone.r.seq = 2;
    TEST_ASSERT_EQUAL_INT(0, store_read(d.store, &gone.r));
    TEST_ASSERT_EQUAL_INT(0, drive_remove(&d, 2));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, gone.calls);
    TEST_ASSERT_TRUE(gone.status == 0 || gone.status == MF_NOTFOUND);
    none.r.seq = 7;
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_read(d.store, &none.r));
    fault_io_cold(d.io, false);
}

static uint64_t next_of(struct store_cursor *c)
{
    bool more;
    uint64_t seq;

    do
        seq = store_cursor_next(c, &more);
    while (seq == 0 && more);
    return seq;
}

static void test_a_cursor_goes_on_when_more_comes(void)
{
    static const char *const pattern[] = {">", "a.*", "a.b", "*.b", "a.>"};

    for (size_t i = 0; i < MF_COUNT(pattern); i++) {
        struct store_cursor *c;
        TEST_ASSERT_EQUAL_INT(
            0, store_cursor_new(&c, d.store, mf_str(pattern[i]), STORE_ALL, state().last_seq + 1));
        TEST_ASSERT_EQUAL_UINT64(0, next_of(c));
        put("x", 0);
        uint64_t seq = put("a.b", 0);
        if (i == 0)
            TEST_ASSERT_EQUAL_UINT64(seq - 1, next_of(c));
        TEST_ASSERT_EQUAL_UINT64(seq, next_of(c));
        TEST_ASSERT_EQUAL_UINT64(0, next_of(c));
        seq = put("a.b", 0);
        TEST_ASSERT_EQUAL_UINT64(seq, next_of(c));
        TEST_ASSERT_EQUAL_UINT64(0, next_of(c));
        store_cursor_free(c);
    }
}

/* The start of a key-value watch: each key once, with the value it had then. */
static void test_the_last_of_each_key_comes_in_sequence_order(void)
{
    struct store_cursor *c;

    put("k.a", 0);
    put("k.b", 0);
    put("k.a", 0);
    put("other", 0);
    put("k.c", 0);
    TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, MF_LIT("k.*"), STORE_LAST_PER_KEY, 1));
    TEST_ASSERT_EQUAL_UINT64(2, next_of(c));
    TEST_ASSERT_EQUAL_UINT64(3, next_of(c));
    put("k.c", 0); /* later than the cursor: not its matter */
    TEST_ASSERT_EQUAL_UINT64(5, next_of(c));
    TEST_ASSERT_EQUAL_UINT64(0, next_of(c));
    put("k.new", 0);
    TEST_ASSERT_EQUAL_UINT64(0, next_of(c));
    store_cursor_free(c);
}

/* More keys than a cursor holds: slower, not wrong; and bounded in each call. */
static void test_a_pattern_over_very_many_keys(void)
{
    enum { KEYS = STORE_CURSOR_KEYS + 2000 };
    struct store_cursor *c;
    char key[32];
    uint64_t n = 0, expect = 1;

    for (int i = 0; i < KEYS; i++) {
        struct store_append a = {.key = mf_slice(key, 0)};
        a.key.len = (size_t)snprintf(key, sizeof key, "%s.%d", i % 2 == 0 ? "even" : "k", i);
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
    }
    drive_idle(&d);
    for (int kind = STORE_ALL; kind <= STORE_LAST_PER_KEY; kind++) {
        TEST_ASSERT_EQUAL_INT(
            0, store_cursor_new(&c, d.store, MF_LIT("*.*"), (enum store_cursor_kind)kind, 1));
        for (n = 0, expect = 1; next_of(c) == expect; expect++)
            n++;
        TEST_ASSERT_EQUAL_UINT64(KEYS, n);
        store_cursor_free(c);
    }
    struct store_keys *k = store_keys_new(d.store, MF_LIT("even.*"));
    struct mf_slice name;
    struct store_key st;
    for (n = 0; store_keys_next(k, &name, &st); n++)
        TEST_ASSERT_TRUE(mf_starts(name, "even."));
    TEST_ASSERT_EQUAL_UINT64(KEYS / 2, n);
    store_keys_free(k);
}

/* For "is the key unchanged?" before a write: what is accepted counts, what is condemned does not.
 */
static void test_the_accepted_view_is_ahead_of_the_disk(void)
{
    uint64_t count, msgs, bytes, last;

    put("k", 0);
    TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k", 0, 9, 0, 0));
    TEST_ASSERT_EQUAL_UINT64(2, store_key_last_accepted(d.store, MF_LIT("k"), &count));
    TEST_ASSERT_EQUAL_UINT64(2, count);
    TEST_ASSERT_EQUAL_INT(0, drive_remove(&d, 1));
    TEST_ASSERT_EQUAL_UINT64(2, store_key_last_accepted(d.store, MF_LIT("k"), &count));
    TEST_ASSERT_EQUAL_UINT64(1, count);
    TEST_ASSERT_EQUAL_UINT64(2, store_key_first_accepted(d.store, MF_LIT("k")));
    TEST_ASSERT_EQUAL_UINT64(2, store_first_accepted(d.store));
    TEST_ASSERT_EQUAL_UINT64(0, store_key_last_accepted(d.store, MF_LIT("none"), &count));
    store_accepted(d.store, &msgs, &bytes, &last);
    TEST_ASSERT_EQUAL_UINT64(1, msgs);
    TEST_ASSERT_EQUAL_UINT64(10, bytes);
    TEST_ASSERT_EQUAL_UINT64(2, last);
    TEST_ASSERT_EQUAL_UINT64(1, state().last_seq);
    drive_idle(&d);
}

/* --- upkeep ----------------------------------------------------------------------------------- */

/* A restart reads the checkpoint and what came after it, not the whole log. */
static void test_a_checkpoint_shortens_the_next_start(void)
{
    struct store_stats stats;

    for (int i = 0; i < 300; i++)
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k", 0, 100, 0, 0));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, drive_checkpoint(&d));
    drive_idle(&d);
    put("k", 0);
    drive_abandon(&d);
    drive_open(&d);
    store_stats(d.store, &stats);
    TEST_ASSERT_TRUE(stats.recovered_from_checkpoint);
    TEST_ASSERT_LESS_THAN_UINT64(10, stats.recovered_records);
    TEST_ASSERT_FALSE(stats.torn_tail);
    compare_all(d.store, &d.model.committed, d.now_ns);
}

/* Also with all of them gone but one, in the middle: what lives is copied, the rest given up. */
static void test_disk_use_returns_to_a_few_segments(void)
{
    for (int i = 0; i < 4000; i++) {
        TEST_ASSERT_EQUAL_INT(0, drive_append(&d, "k", 0, 500, i == 1000 ? 0 : 1000 + i, 0));
        if (i % 50 == 0)
            drive_turn(&d);
    }
    drive_idle(&d);
    TEST_ASSERT_GREATER_THAN_UINT64(30, state().segments);
    TEST_ASSERT_EQUAL_size_t(3999, expire_all(1000000));
    put("k", 0);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(3, state().segments);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(4 * (64u << 10), state().disk_bytes);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(state().disk_bytes + (64u << 10), fault_io_used(d.io));
    TEST_ASSERT_TRUE(there(1001));
    drive_abandon(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(2, state().msgs);
    TEST_ASSERT_TRUE(there(1001));
}

/* Flips one byte of the first segment, behind the store's back. */
static void damage_at(uint64_t offset)
{
    struct store_file *f;
    uint8_t byte;

    TEST_ASSERT_EQUAL_INT(0, d.io->open(d.io, "0000000000000001.log", false, &f, NULL));
    TEST_ASSERT_EQUAL_INT(0, d.io->pread(d.io, f, &byte, 1, offset, NULL));
    byte ^= 0x10;
    TEST_ASSERT_EQUAL_INT(0, d.io->pwrite(d.io, f, &byte, 1, offset, NULL));
    d.io->close(d.io, f);
}

/* Found, named, and nothing else harmed. */
static void test_damage_is_found_named_and_contained(void)
{
    struct store_rec r;

    for (int i = 0; i < 5; i++)
        put("k", 0);
    TEST_ASSERT_EQUAL_INT(0, drive_scrub(&d));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    /* The first group: commit (80), message 1 (80), commit, message 2... */
    damage_at(4096 + 80 + 80 + 80 + 60);
    TEST_ASSERT_EQUAL_INT(MF_CORRUPT, store_peek(d.store, 2, &r));
    TEST_ASSERT_EQUAL_INT(0, drive_scrub(&d));
    drive_idle(&d);
    TEST_ASSERT_GREATER_THAN_size_t(0, store_damage_count(d.store));
    const struct store_damage *x = store_damage(d.store, 0);
    TEST_ASSERT_EQUAL_STRING("0000000000000001.log", x->file);
    TEST_ASSERT_TRUE(x->offset <= 4096 + 300 && x->offset + x->length > 4096 + 300);
    TEST_ASSERT_TRUE(x->first_seq <= 2 && x->last_seq >= 2 && x->last_seq < 5);
    TEST_ASSERT_TRUE(there(1) && there(3) && there(4) && there(5));
    TEST_ASSERT_NULL(store_error(d.store));
    put("k", 0);
}

/* Of a power cut and of a kill: what was being written and nobody was told of. */
static void test_a_torn_tail_is_cut_and_told(void)
{
    struct store_stats stats;

    put("k", 0);
    put("k", 0);
    drive_abandon(&d);
    /* The last commit record, as if it had never reached the disk. */
    damage_at(4096 + 80 + 80 + 80 + 80 + 10);
    drive_open(&d);
    store_stats(d.store, &stats);
    TEST_ASSERT_TRUE(stats.torn_tail);
    TEST_ASSERT_EQUAL_STRING("0000000000000001.log", stats.torn.file);
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    TEST_ASSERT_TRUE(there(1));
    drive_abandon(&d);
    drive_open(&d);
    store_stats(d.store, &stats);
    TEST_ASSERT_FALSE(stats.torn_tail); /* cut, once */
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_a_deadline_is_exact_on_read);
    RUN_TEST(test_time_never_goes_back);
    RUN_TEST(test_expiry_goes_by_deadline_then_sequence);
    RUN_TEST(test_the_next_deadline_is_never_late);
    RUN_TEST(test_a_death_tells_whether_it_was_the_last);
    RUN_TEST(test_a_marker_comes_with_the_death_it_announces);
    RUN_TEST(test_what_expired_stays_gone_when_the_clock_is_set_back);
    RUN_TEST(test_a_touch_moves_the_end);
    RUN_TEST(test_deadlines_can_be_listed);
    RUN_TEST(test_next_and_prev_at_the_edges);
    RUN_TEST(test_flags_are_counted);
    RUN_TEST(test_cold_data_is_read_off_the_loop);
    RUN_TEST(test_a_cursor_goes_on_when_more_comes);
    RUN_TEST(test_the_last_of_each_key_comes_in_sequence_order);
    RUN_TEST(test_a_pattern_over_very_many_keys);
    RUN_TEST(test_the_accepted_view_is_ahead_of_the_disk);
    RUN_TEST(test_a_checkpoint_shortens_the_next_start);
    RUN_TEST(test_disk_use_returns_to_a_few_segments);
    RUN_TEST(test_damage_is_found_named_and_contained);
    RUN_TEST(test_a_torn_tail_is_cut_and_told);
    return UNITY_END();
}
