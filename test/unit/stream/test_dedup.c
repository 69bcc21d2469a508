/* test_dedup.c: an id is known for its window, whatever becomes of its message or of the process.
 */
#include "support/fault_io.h"
#include "support/must.h"
#include "support/no_memory.h"
#include "support/pick.h"
#include "support/store_drive.h"

#include "stream/dedup_impl.h"

#include "base/clock.h"
#include "proto/header.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOW (120 * CLOCK_S)

static struct drive d;
static struct dedup *ids;
static struct stream s; /* only its store is looked at */
static struct mf_buf hdr;
static char dir[64];
static int64_t now_ns;

static void load(void)
{
    ids = dedup_new();
    TEST_ASSERT_NOT_NULL(ids);
    s.store = d.store;
    TEST_ASSERT_EQUAL_INT(0, dedup_load(ids, &s, now_ns, WINDOW));
    TEST_ASSERT_TRUE(dedup_check(ids));
}

void setUp(void)
{
    struct store_opts o = {.segment_min = 64u << 10,
                           .segment_max = 1u << 20,
                           .sync = STORE_SYNC_INTERVAL,
                           .sync_interval_ns = CLOCK_S,
                           .name = "test"};
    struct store_io *files, *io;
    struct mf_error e;

    now_ns = 1000 * CLOCK_S;
    snprintf(dir, sizeof dir, "/tmp/mayfly-test-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL_INT(0, store_io_dir(&files, dir, &e));
    TEST_ASSERT_EQUAL_INT(0, fault_io_new(&io, files, &e));
    drive_init(&d, NULL, io, &o, 1);
    drive_open(&d);
    load();
}

void tearDown(void)
{
    char text[96];

    fail_at = 0;
    dedup_free(ids);
    drive_fini(&d);
    mf_buf_fini(&hdr);
    snprintf(text, sizeof text, "rm -r %s", dir);
    TEST_ASSERT_EQUAL_INT(0, system(text));
}

/* As after a crash: everything in memory is lost. */
static void reopen(void)
{
    dedup_free(ids);
    drive_abandon(&d);
    d.now_ns = now_ns; /* what died meanwhile is past its deadline already */
    drive_open(&d);
    load();
}

static uint64_t find(const char *id)
{
    return dedup_find(ids, mf_str(id), now_ns, WINDOW);
}

/* Stores a message with this id (NULL: none) as a stream does. */
static uint64_t publish(const char *id, int64_t deadline_ns)
{
    struct store_append a = {.key = MF_LIT("k"), .ts_ns = now_ns, .deadline_ns = deadline_ns};

    mf_buf_clear(&hdr);
    if (id != NULL) {
        header_begin(&hdr, NULL);
        header_add(&hdr, "Nats-Msg-Id", mf_str(id));
        header_end(&hdr);
        a.head = mf_buf_slice(&hdr);
    }
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
    if (id != NULL)
        TEST_ASSERT_EQUAL_INT(0, dedup_add(ids, mf_str(id), a.seq, now_ns));
    dedup_upkeep(ids, d.store, a.seq, now_ns, WINDOW);
    return a.seq;
}

static void removal(uint64_t first, uint64_t last)
{
    store_begin(d.store, true);
    TEST_ASSERT_EQUAL_INT(0, dedup_before_removal(ids, d.store, first, last));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, first, last, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
}

static bool on_death(void *arg, const struct store_expiry *x)
{
    (void)arg;
    return dedup_before_removal(ids, d.store, x->seq, x->seq) == 0;
}

static void count_visit(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    (void)bytes;
    if (mf_starts(name, BLOB_IDS) && !mf_ends(name, "upto"))
        ++*(size_t *)arg;
}

static size_t chunks(void)
{
    size_t n = 0;

    store_blob_each(d.store, count_visit, &n);
    return n;
}

/* --- the table ------------------------------------------------------------------------------ */

static void test_an_id_is_known_within_its_window_only(void)
{
    uint64_t seq = publish("a", 0);

    TEST_ASSERT_EQUAL_UINT64(0, find("b"));
    now_ns += WINDOW - 1;
    TEST_ASSERT_EQUAL_UINT64(seq, find("a"));
    now_ns++;
    TEST_ASSERT_EQUAL_UINT64(0, find("a"));
    TEST_ASSERT_EQUAL_UINT64(0, dedup_find(ids, MF_LIT("a"), now_ns, 0));
}

/* Two messages with one id, as a window that was smaller for a while leaves them: the newest
 * counts, and stays when the older one goes. */
static void test_an_id_used_twice_names_the_newest(void)
{
    uint64_t seq;

    publish("a", 0);
    now_ns += CLOCK_S;
    seq = publish("a", 0);
    TEST_ASSERT_TRUE(dedup_check(ids));
    TEST_ASSERT_EQUAL_UINT64(seq, find("a"));
    now_ns += WINDOW - CLOCK_S;
    publish(NULL, 0);
    TEST_ASSERT_EQUAL_UINT64(1, ids->tail - ids->head);
    TEST_ASSERT_EQUAL_UINT64(seq, find("a"));
    TEST_ASSERT_TRUE(dedup_check(ids));
}

/* Tables grow and shrink a few slots at a time: nothing may be lost on the way. */
static void test_many_ids_come_and_go_and_all_are_found(void)
{
    struct dedup *many = dedup_new();
    char id[32];

    for (unsigned i = 1; i <= 20000; i++) {
        snprintf(id, sizeof id, "id-%u", i);
        TEST_ASSERT_EQUAL_INT(0, dedup_add(many, mf_str(id), 3 * i, i));
        if (i % 1500 == 0)
            TEST_ASSERT_TRUE(dedup_check(many));
    }
    for (unsigned i = 1; i <= 20000; i++) {
        snprintf(id, sizeof id, "id-%u", i);
        TEST_ASSERT_EQUAL_UINT64(3 * i, dedup_find(many, mf_str(id), 20000, 20000));
    }
    size_t most = many->now.cap, low = most;
    for (unsigned t = 20000; t <= 40000; t += 100) {
        id_drop(many, t - 20000, SIZE_MAX);
        TEST_ASSERT_EQUAL_UINT64(40000 - t, many->tail - many->head);
        TEST_ASSERT_TRUE(t % 1000 != 0 || dedup_check(many));
        for (int i = 0; i < 1000; i++) /* time passes with questions */
            (void)dedup_find(many, MF_LIT("x"), t, 20000);
        if (many->now.cap > 0)
            low = many->now.cap;
    }
    TEST_ASSERT_LESS_THAN_size_t(most / 8, low);
    TEST_ASSERT_EQUAL_size_t(0, many->now.cap + many->old.cap);
    dedup_free(many);
}

/* Each allocation fails once: the id is not there then, the others are, and a second try works. */
static void test_no_memory_leaves_all_as_it_was(void)
{
    struct dedup *many = dedup_new();
    char id[32];
    unsigned failures = 0;

    for (unsigned i = 1; i <= 1000; i++) {
        snprintf(id, sizeof id, "id-%u", i);
        fail_at = allocations + 1;
        int rc = dedup_add(many, mf_str(id), i, i);
        fail_at = 0;
        if (rc == 0)
            continue;
        failures++;
        TEST_ASSERT_EQUAL_INT(MF_NOMEM, rc);
        TEST_ASSERT_EQUAL_UINT64(0, dedup_find(many, mf_str(id), 1000, 1000));
        TEST_ASSERT_TRUE(dedup_check(many));
        fail_at = allocations + 2; /* a block and a table may be due at once */
        rc = dedup_add(many, mf_str(id), i, i);
        fail_at = 0;
        TEST_ASSERT_TRUE(rc == 0 || dedup_add(many, mf_str(id), i, i) == 0);
    }
    TEST_ASSERT_GREATER_THAN_UINT(8, failures);
    TEST_ASSERT_TRUE(dedup_check(many));
    dedup_free(many);
}

/* --- restarts ------------------------------------------------------------------------------- */

static void test_ids_in_messages_are_known_after_a_crash(void)
{
    uint64_t a = publish("a", 0), b;

    publish(NULL, 0);
    b = publish("b", 0);
    drive_idle(&d);
    reopen();
    TEST_ASSERT_EQUAL_UINT64(a, find("a"));
    TEST_ASSERT_EQUAL_UINT64(b, find("b"));
    TEST_ASSERT_EQUAL_UINT64(0, find("c"));
}

/* nats-server forgets these; a publisher that tries again after a restart would be stored twice. */
static void test_ids_of_removed_messages_are_known_after_a_crash(void)
{
    uint64_t a = publish("a", 0), b = publish("b", 0);

    removal(a, b);
    drive_idle(&d);
    reopen();
    TEST_ASSERT_EQUAL_UINT64(a, find("a"));
    TEST_ASSERT_EQUAL_UINT64(b, find("b"));
}

static void test_ids_of_expired_messages_are_known_after_a_crash(void)
{
    uint64_t a = publish("a", now_ns + CLOCK_S);
    bool more;

    drive_idle(&d);
    now_ns += 2 * CLOCK_S;
    TEST_ASSERT_EQUAL_size_t(1, store_expire(d.store, now_ns, 10, on_death, NULL, &more));
    drive_idle(&d);
    reopen();
    TEST_ASSERT_EQUAL_UINT64(a, find("a"));
}

/* The message died while the server was down: nobody can read it, but its id counts. */
static void test_ids_of_messages_that_die_between_runs_are_known(void)
{
    uint64_t a = publish("a", now_ns + CLOCK_S);
    bool more;

    drive_idle(&d);
    now_ns += 2 * CLOCK_S;
    reopen();
    TEST_ASSERT_EQUAL_UINT64(0, store_prev(d.store, a));
    TEST_ASSERT_EQUAL_UINT64(a, find("a"));
    TEST_ASSERT_EQUAL_size_t(1, store_expire(d.store, now_ns, 10, on_death, NULL, &more));
    drive_idle(&d);
    reopen();
    TEST_ASSERT_EQUAL_UINT64(a, find("a"));
}

/* Removals one by one, as of a work queue, must not leave a blob each. */
static void test_many_single_removals_leave_few_chunks(void)
{
    char id[32];

    for (unsigned i = 1; i <= 9000; i++) {
        snprintf(id, sizeof id, "id-%u", i);
        uint64_t seq = publish(id, 0);
        removal(seq, seq);
        if (i % 500 == 0)
            drive_idle(&d);
    }
    TEST_ASSERT_LESS_THAN_size_t(2 + 4096 / 64 + 1, chunks());
    TEST_ASSERT_GREATER_THAN_size_t(2, chunks());
    drive_idle(&d);
    for (unsigned again = 0; again < 2; again++) {
        reopen();
        for (unsigned i = 1; i <= 9000; i++) {
            snprintf(id, sizeof id, "id-%u", i);
            TEST_ASSERT_EQUAL_UINT64(i, find(id));
        }
    }
}

static void test_chunks_out_of_the_window_are_deleted(void)
{
    char id[32];

    for (unsigned i = 1; i <= 9000; i++) {
        snprintf(id, sizeof id, "id-%u", i);
        publish(id, 0);
    }
    TEST_ASSERT_EQUAL_size_t(2, chunks());
    drive_idle(&d);
    now_ns += WINDOW;
    reopen(); /* nothing of it is loaded, but the blobs are known */
    TEST_ASSERT_EQUAL_UINT64(ids->head, ids->tail);
    publish("later", 0);
    TEST_ASSERT_EQUAL_size_t(0, chunks());
    now_ns += WINDOW;
    for (unsigned i = 1; i <= 40; i++)
        publish(NULL, 0);
    TEST_ASSERT_EQUAL_UINT64(ids->head, ids->tail);
}

/* A chunk that is written again has lost its first ids by then: it is the same blob all the same.
 */
static void test_a_small_chunk_keeps_its_name_while_it_moves_on(void)
{
    static const char *const id[] = {"a", "b", "c"};

    for (int i = 0; i < 3; i++) {
        uint64_t seq = publish(id[i], 0);
        removal(seq, seq);
        TEST_ASSERT_EQUAL_size_t(1, chunks());
        now_ns += WINDOW * 2 / 3;
        publish(NULL, 0);
    }
    drive_idle(&d);
    now_ns -= WINDOW / 3;
    reopen();
    TEST_ASSERT_NOT_EQUAL_UINT64(0, find("c"));
    now_ns += WINDOW;
    publish(NULL, 0);
    TEST_ASSERT_EQUAL_size_t(0, chunks());
}

/* A start reads what no chunk has: that must not be all messages of the window. */
static void test_messages_without_ids_move_the_mark_on(void)
{
    uint64_t a = publish("a", 0);

    for (unsigned i = 0; i < 66000; i++) {
        publish(NULL, 0);
        if (i % 5000 == 0)
            drive_idle(&d);
    }
    drive_idle(&d);
    TEST_ASSERT_EQUAL_size_t(1, chunks());
    reopen();
    TEST_ASSERT_GREATER_OR_EQUAL_UINT64(65536, ids->upto);
    TEST_ASSERT_EQUAL_UINT64(a, find("a"));
}

/* Without memory or room the ids stay here, and are written later: not at every message. */
static void test_a_chunk_that_could_not_be_written_is_written_later(void)
{
    char id[32];

    for (unsigned i = 1; i <= 4095; i++) {
        snprintf(id, sizeof id, "id-%u", i);
        publish(id, 0);
    }
    TEST_ASSERT_EQUAL_INT(0, dedup_add(ids, MF_LIT("last"), 4096, now_ns));
    fail_at = allocations + 1;
    dedup_upkeep(ids, d.store, 4096, now_ns, WINDOW);
    TEST_ASSERT_LESS_THAN_INT64(allocations + 1, fail_at); /* it did fail */
    dedup_upkeep(ids, d.store, 4096, now_ns, WINDOW);
    TEST_ASSERT_EQUAL_size_t(0, chunks());
    TEST_ASSERT_EQUAL_UINT64(0, ids->upto);
    dedup_upkeep(ids, d.store, 4096, now_ns + CLOCK_S, WINDOW);
    TEST_ASSERT_EQUAL_size_t(1, chunks());
    TEST_ASSERT_EQUAL_UINT64(4096, ids->upto);
}

/* Without memory it must not go; and if it does, its id is owed. */
static void test_an_id_that_could_not_be_written_at_removal_is_written_later(void)
{
    uint64_t a = publish("a", 0);

    store_begin(d.store, true);
    fail_at = allocations + 1;
    TEST_ASSERT_EQUAL_INT(MF_NOMEM, dedup_before_removal(ids, d.store, a, a));
    fail_at = 0;
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, a, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
    TEST_ASSERT_EQUAL_size_t(0, chunks());
    publish(NULL, 0);
    drive_idle(&d);
    reopen();
    TEST_ASSERT_EQUAL_UINT64(a, find("a"));
}

/* A message that cannot be read any more costs its own id, and no other. */
static void test_a_damaged_message_does_not_end_the_search(void)
{
    uint64_t a = publish("a", 0);

    publish("b", 0);
    drive_idle(&d);
    dedup_free(ids);
    fault_io_arm(d.io, &(struct fault_plan){.kinds = FAULT_READ, .nth = 1, .code = MF_IO});
    load();
    TEST_ASSERT_TRUE(fault_io_hit(d.io));
    TEST_ASSERT_EQUAL_UINT64(a, find("a"));
    TEST_ASSERT_EQUAL_UINT64(0, find("b"));
}

/* --- model ---------------------------------------------------------------------------------- */

struct known {
    unsigned id;
    uint64_t seq;
    int64_t ts_ns;
};
static struct known model[20000];
static size_t known;

static uint64_t model_find(unsigned id)
{
    for (size_t i = known; i-- > 0;)
        if (model[i].id == id)
            return now_ns - model[i].ts_ns < WINDOW ? model[i].seq : 0;
    return 0;
}

static void model_publish(struct pick *p, unsigned pool)
{
    unsigned n = pick_below(p, pool);
    int64_t deadline = pick_chance(p, 20) ? now_ns + pick_below(p, 200) * CLOCK_S + 1 : 0;
    char id[32];

    if (pick_chance(p, 20)) {
        publish(NULL, deadline);
        return;
    }
    snprintf(id, sizeof id, "%u", n);
    uint64_t seq = find(id);
    MUST(seq == model_find(n), "id %u: found %llu, not %llu", n, (unsigned long long)seq,
         (unsigned long long)model_find(n));
    if (seq == 0)
        model[known++] = (struct known){n, publish(id, deadline), now_ns};
}

/* With or without what was on its way to the disk. */
static void model_reopen(struct pick *p)
{
    struct store_state st;

    drive_idle(&d);
    if (pick_chance(p, 50))
        for (unsigned i = pick_below(p, 200); i > 0; i--)
            model_publish(p, 1000000);
    if (pick_chance(p, 30))
        now_ns += pick_below(p, 100) * CLOCK_S;
    reopen();
    store_state(d.store, &st);
    while (known > 0 && model[known - 1].seq > st.last_seq)
        known--;
}

static void model_run(uint64_t seed)
{
    struct pick p = {seed};
    unsigned pool = pick_chance(&p, 50) ? 300 : 20000, clock = 1 + pick_below(&p, 2000);
    bool more;

    known = 0;
    for (unsigned i = 0; i < 6000; i++) {
        uint32_t what = pick_below(&p, 1000);
        struct store_state st;
        store_state(d.store, &st);
        now_ns += pick_below(&p, clock) * CLOCK_MS;
        store_now(d.store, now_ns);
        if (what < 880) {
            model_publish(&p, pool);
        } else if (what < 985 && st.msgs > 0) {
            uint64_t first =
                st.first_seq + pick_below(&p, (uint32_t)(st.last_seq - st.first_seq + 1));
            if (pick_chance(&p, 60)) /* the newest are the ones no chunk has */
                first = st.last_seq - pick_below(&p, st.last_seq > 20 ? 20 : 1);
            uint64_t last = first + pick_below(&p, 5);
            removal(first, last < st.last_seq ? last : st.last_seq);
        } else if (what < 996) {
            drive_idle(&d);
            store_expire(d.store, now_ns, 100, on_death, NULL, &more);
        } else {
            model_reopen(&p);
        }
        if (i % 500 == 0)
            TEST_ASSERT_TRUE(dedup_check(ids));
    }
}

static void test_model_agrees_through_removals_and_crashes(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        model_run(seed);
        tearDown();
        setUp();
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_id_is_known_within_its_window_only);
    RUN_TEST(test_an_id_used_twice_names_the_newest);
    RUN_TEST(test_many_ids_come_and_go_and_all_are_found);
    RUN_TEST(test_no_memory_leaves_all_as_it_was);
    RUN_TEST(test_ids_in_messages_are_known_after_a_crash);
    RUN_TEST(test_ids_of_removed_messages_are_known_after_a_crash);
    RUN_TEST(test_ids_of_expired_messages_are_known_after_a_crash);
    RUN_TEST(test_ids_of_messages_that_die_between_runs_are_known);
    RUN_TEST(test_many_single_removals_leave_few_chunks);
    RUN_TEST(test_chunks_out_of_the_window_are_deleted);
    RUN_TEST(test_a_small_chunk_keeps_its_name_while_it_moves_on);
    RUN_TEST(test_messages_without_ids_move_the_mark_on);
    RUN_TEST(test_a_chunk_that_could_not_be_written_is_written_later);
    RUN_TEST(test_an_id_that_could_not_be_written_at_removal_is_written_later);
    RUN_TEST(test_a_damaged_message_does_not_end_the_search);
    RUN_TEST(test_model_agrees_through_removals_and_crashes);
    return UNITY_END();
}
