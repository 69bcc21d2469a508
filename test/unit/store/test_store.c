/* test_store.c: the rules of writing: waiters, visibility, batches, limits.  Jobs run inline, so
 * each loop_turn() is one observable moment. */
#include "support/store_fixture.h"

#include <stdlib.h>

/* --- appending -------------------------------------------------------------------------------- */

/* The plainest promise: what is acknowledged can be read, every field of it. */
static void test_an_acknowledged_message_comes_back_whole(void)
{
    struct mark m;
    struct store_rec r;

    wait(&m);
    m.a.key = MF_LIT("a.b");
    m.a.head = MF_LIT("NATS/1.0\r\n\r\n");
    m.a.body = MF_LIT("hello");
    m.a.ts_ns = 17;
    m.a.deadline_ns = 1000;
    m.a.flags = 0xBEE3;
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &m.a));
    TEST_ASSERT_EQUAL_UINT64(1, m.a.seq);
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.status);
    TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, 1, &r));
    TEST_ASSERT_TRUE(mf_eq_str(r.key, "a.b") && mf_eq_str(r.head, "NATS/1.0\r\n\r\n") &&
                     mf_eq_str(r.body, "hello"));
    TEST_ASSERT_EQUAL_INT64(17, r.ts_ns);
    TEST_ASSERT_EQUAL_INT64(1000, r.deadline_ns);
    TEST_ASSERT_EQUAL_HEX16(0xBEE3, r.flags);
    TEST_ASSERT_EQUAL_UINT64(1, r.seq);
}

/* An empty key, head and body are values like any other. */
static void test_an_empty_message_is_a_message(void)
{
    struct mark m;
    struct store_rec r;

    wait(&m);
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &m.a));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, m.a.seq, &r));
    TEST_ASSERT_EQUAL_size_t(0, r.key.len + r.head.len + r.body.len);
}

/* The caller's buffers may be reused as soon as the call returns. */
static void test_the_bytes_are_copied_by_the_call(void)
{
    char key[] = "key", body[] = "body";
    struct mark m;

    TEST_ASSERT_EQUAL_INT(0, append(&m, key, body, 0));
    memset(key, 'x', 3);
    memset(body, 'x', 4);
    drive_idle(&d);
    assert_body(1, "body");
}

/* Readers act on what they see (deliver it, answer it): it must not vanish in a power cut. */
static void test_nothing_is_visible_before_it_is_on_disk(void)
{
    struct mark m;
    struct store_key k;
    struct store_cursor *c;
    struct store_state st;
    int64_t deadline;
    bool more;

    TEST_ASSERT_EQUAL_INT(0, store_cursor_new(&c, d.store, MF_LIT(">"), STORE_ALL, 1));
    TEST_ASSERT_EQUAL_INT(0, append(&m, "k", "v", 5000));
    while (m.calls == 0) {
        assert_gone(1);
        TEST_ASSERT_EQUAL_UINT64(0, store_next(d.store, 1));
        TEST_ASSERT_EQUAL_UINT64(0, store_prev(d.store, 9));
        TEST_ASSERT_FALSE(store_key(d.store, MF_LIT("k"), &k));
        TEST_ASSERT_FALSE(store_deadline(d.store, 1, &deadline));
        TEST_ASSERT_EQUAL_UINT64(0, store_cursor_next(c, &more));
        store_state(d.store, &st);
        TEST_ASSERT_EQUAL_UINT64(0, st.msgs + st.last_seq + st.bytes);
        drive_turn(&d);
    }
    TEST_ASSERT_EQUAL_UINT64(1, store_cursor_next(c, &more));
    TEST_ASSERT_EQUAL_UINT64(1, store_next(d.store, 1));
    store_cursor_free(c);
}

static void test_waiters_are_called_in_the_order_of_the_calls(void)
{
    struct mark a, b, c, e, f;

    TEST_ASSERT_EQUAL_INT(0, append(&a, "a", "1", 0));
    TEST_ASSERT_EQUAL_INT(0, append(&b, "b", "2", 0));
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 1, wait(&c)));
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, MF_LIT("n"), MF_LIT("v"), wait(&e)));
    store_begin(d.store, false);
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, wait(&f)));
    TEST_ASSERT_EQUAL_INT(0, order); /* none from inside a call */
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, a.order);
    TEST_ASSERT_EQUAL_INT(2, b.order);
    TEST_ASSERT_EQUAL_INT(3, c.order);
    TEST_ASSERT_EQUAL_INT(4, e.order);
    TEST_ASSERT_EQUAL_INT(5, f.order);
}

/* A waiter may write at once: that is how a server lives. */
static struct mark chained[3];
static void on_chain(struct store_wait *w, int status)
{
    struct mark *m = mf_container(w, struct mark, a.wait);

    TEST_ASSERT_EQUAL_INT(0, status);
    m->calls++;
    if (m == &chained[2])
        return;
    m[1] = (struct mark){.a = {.wait.done = on_chain, .key = MF_LIT("k")}};
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &m[1].a));
    TEST_ASSERT_EQUAL_INT(0, m[1].calls);
}
static void test_a_waiter_may_write(void)
{
    chained[0] = (struct mark){.a = {.wait.done = on_chain, .key = MF_LIT("k")}};
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &chained[0].a));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, chained[2].calls);
    TEST_ASSERT_EQUAL_UINT64(3, messages());
}

/* What comes while one group is written waits for the next: one sync for many. */
static void test_many_appends_share_a_sync(void)
{
    static struct mark m[500];
    struct store_stats before, after;

    store_stats(d.store, &before);
    for (int i = 0; i < 500; i++)
        TEST_ASSERT_EQUAL_INT(0, append(&m[i], "k", "v", 0));
    drive_idle(&d);
    store_stats(d.store, &after);
    TEST_ASSERT_EQUAL_UINT64(500, after.appends - before.appends);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2, after.syncs - before.syncs);
}

static void test_the_first_sequence_can_be_chosen(void)
{
    drive_fini(&d);
    start((struct store_opts){.first_seq = 1000});
    struct store_state st;
    store_state(d.store, &st);
    TEST_ASSERT_EQUAL_UINT64(1000, st.first_seq);
    TEST_ASSERT_EQUAL_UINT64(999, st.last_seq);
    TEST_ASSERT_EQUAL_UINT64(1000, put("a", "b"));
}

/* --- removing --------------------------------------------------------------------------------- */

/* The removal may still be lost in a power cut: until it is not, the message is there. */
static void test_a_condemned_message_is_readable_until_its_removal_is_on_disk(void)
{
    struct mark m;
    struct store_key k;
    uint64_t count;

    put("k", "v");
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 1, wait(&m)));
    while (m.calls == 0) {
        assert_body(1, "v");
        TEST_ASSERT_TRUE(store_key(d.store, MF_LIT("k"), &k));
        TEST_ASSERT_EQUAL_UINT64(0, store_key_last_accepted(d.store, MF_LIT("k"), &count));
        TEST_ASSERT_EQUAL_UINT64(1, messages());
        drive_turn(&d);
    }
    assert_gone(1);
    TEST_ASSERT_FALSE(store_key(d.store, MF_LIT("k"), &k));
    TEST_ASSERT_EQUAL_UINT64(0, messages());
}

static void test_removing_twice_is_not_found(void)
{
    put("k", "v");
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_remove(d.store, 2, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 1, NULL));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_remove(d.store, 1, NULL)); /* on its way */
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_set_deadline(d.store, 1, 99, 0, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_remove(d.store, 1, NULL));
}

/* A key-value put with history 1: nobody may see the key without a value in between. */
static void test_an_overwritten_key_is_never_seen_missing(void)
{
    struct mark m, n;
    struct store_key k;

    put("k", "old");
    store_begin(d.store, false);
    TEST_ASSERT_EQUAL_INT(0, append(&m, "k", "new", 0));
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 1, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, wait(&n)));
    for (int i = 0; i < 20 || n.calls == 0; i++) {
        TEST_ASSERT_TRUE(store_key(d.store, MF_LIT("k"), &k));
        TEST_ASSERT_EQUAL_UINT64(1, k.count);
        assert_body(k.last_seq, n.calls == 0 ? "old" : "new");
        drive_turn(&d);
    }
    TEST_ASSERT_EQUAL_UINT64(2, k.last_seq);
}

static void test_a_range_takes_all_in_it(void)
{
    for (int i = 0; i < 10; i++)
        put("k", "v");
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 3, 7, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(5, messages());
    TEST_ASSERT_EQUAL_UINT64(8, store_next(d.store, 3));
    TEST_ASSERT_EQUAL_UINT64(2, store_prev(d.store, 7));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 3, 7, NULL)); /* nothing there: fine */
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(5, messages());
}

/* A purge to a sequence that was never given: the stream goes on after it, also when restarted. */
static void test_a_range_beyond_the_last_sequence_skips_to_it(void)
{
    struct store_state st;

    put("k", "v");
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 99, NULL));
    drive_idle(&d);
    store_state(d.store, &st);
    TEST_ASSERT_EQUAL_UINT64(99, st.last_seq);
    TEST_ASSERT_EQUAL_UINT64(100, st.first_seq);
    drive_close(&d);
    drive_open(&d);
    d.model.accepted.last_seq = 99;
    TEST_ASSERT_EQUAL_UINT64(100, put("k", "v"));
}

static void test_a_set_ignores_what_is_not_there(void)
{
    static const uint64_t set[] = {2, 3, 5, 70};
    static const uint64_t wrong[] = {3, 2};
    struct mark m;

    for (int i = 0; i < 5; i++)
        put("k", "v");
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 3, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_remove_set(d.store, set, 4, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.status);
    TEST_ASSERT_EQUAL_UINT64(2, messages());
    assert_body(1, "v");
    assert_body(4, "v");
    TEST_ASSERT_EQUAL_INT(0, store_remove_set(d.store, NULL, 0, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    TEST_ASSERT_NOT_EQUAL(0, store_remove_set(d.store, wrong, 2, NULL));
}

/* More than one record can hold, still all or nothing. */
static void test_a_set_may_be_large(void)
{
    enum { N = 150000 };
    uint64_t *set = calloc(N, sizeof *set);

    put("a", "1");
    put("a", "2");
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 3, N, NULL));
    d.model.accepted.last_seq = N;
    uint64_t last = put("a", "3");
    for (size_t i = 0; i < N; i++)
        set[i] = i + 2;
    TEST_ASSERT_EQUAL_INT(0, store_remove_set(d.store, set, N, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(1, messages());
    assert_body(1, "1");
    assert_gone(last);
    drive_close(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(1, messages());
    free(set);
}

/* --- batches ---------------------------------------------------------------------------------- */

static void test_a_batch_appears_at_once(void)
{
    struct mark m[3];

    store_begin(d.store, false);
    for (int i = 0; i < 3; i++)
        TEST_ASSERT_EQUAL_INT(0, append(&m[i], "k", "v", 0));
    TEST_ASSERT_EQUAL_INT(0, store_blob_put(d.store, MF_LIT("b"), MF_LIT("1"), NULL));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
    while (m[2].calls == 0) {
        TEST_ASSERT_TRUE(messages() == 0);
        drive_turn(&d);
    }
    TEST_ASSERT_EQUAL_UINT64(3, messages());
    TEST_ASSERT_EQUAL_INT(1, m[0].order);
    TEST_ASSERT_EQUAL_INT(3, m[2].order);
}

static void test_an_empty_batch_is_answered(void)
{
    struct mark m;

    store_begin(d.store, true);
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, wait(&m)));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    TEST_ASSERT_EQUAL_INT(0, m.status);
}

static void test_a_call_that_fails_inside_leaves_the_batch_as_it_was(void)
{
    struct mark m, big;

    store_begin(d.store, false);
    TEST_ASSERT_EQUAL_INT(0, append(&m, "k", "v", 0));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_remove(d.store, 7, NULL));
    wait(&big);
    big.a.body = mf_slice("x", (size_t)1 << 30);
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, store_append(d.store, &big.a));
    TEST_ASSERT_EQUAL_INT(0, append(&big, "k", "w", 0));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(2, messages());
    TEST_ASSERT_EQUAL_UINT64(2, big.a.seq);
}

/* A message and its removal in one batch: a round trip that leaves nothing. */
static void test_a_batch_may_remove_what_it_appended(void)
{
    struct mark m;

    store_begin(d.store, false);
    TEST_ASSERT_EQUAL_INT(0, append(&m, "k", "v", 0));
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, m.a.seq, NULL));
    TEST_ASSERT_EQUAL_INT(0, store_end(d.store, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_UINT64(0, messages());
    drive_close(&d);
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(0, messages());
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_what_is_too_large_is_refused_before_memory_is_taken(void)
{
    struct mark m;

    wait(&m);
    m.a.body = mf_slice("x", (size_t)1 << 40);
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, store_append(d.store, &m.a));
    wait(&m);
    m.a.head = mf_slice("x", SIZE_MAX / 2);
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, store_append(d.store, &m.a));
    wait(&m);
    m.a.key = mf_slice("x", 65536);
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, store_append(d.store, &m.a));
    TEST_ASSERT_EQUAL_INT(
        MF_LIMIT, store_blob_put(d.store, MF_LIT("n"), mf_slice("x", STORE_BLOB_MAX + 1), NULL));
    TEST_ASSERT_NOT_EQUAL(0, store_blob_put(d.store, MF_SLICE_NONE, MF_LIT("x"), NULL));
    TEST_ASSERT_NOT_EQUAL(0, store_blob_put(d.store, mf_slice(&d, 256), MF_LIT("x"), NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, m.calls);
    TEST_ASSERT_EQUAL_UINT64(1, put("k", "v"));
}

/* The longest key and a message larger than any segment asked for. */
static void test_what_is_just_not_too_large_is_kept(void)
{
    enum { BODY = 3 << 20 };
    char *key = malloc(65535), *body = malloc(BODY);
    struct mark m;
    struct store_rec r;

    memset(key, 'k', 65535);
    for (int i = 1000; i < 65535; i += 1000)
        key[i] = '.';
    memset(body, 'b', BODY);
    wait(&m);
    m.a.key = mf_slice(key, 65535);
    m.a.body = mf_slice(body, BODY);
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &m.a));
    drive_idle(&d);
    for (int i = 0; i < 2; i++) {
        TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, 1, &r));
        TEST_ASSERT_TRUE(mf_eq(r.key, mf_slice(key, 65535)));
        TEST_ASSERT_TRUE(mf_eq(r.body, mf_slice(body, BODY)));
        struct store_state st;
        store_state(d.store, &st);
        TEST_ASSERT_EQUAL_UINT64(65535 + BODY, st.bytes);
        drive_close(&d);
        drive_open(&d);
    }
    free(key);
    free(body);
}

static void test_too_much_waiting_is_refused_until_the_disk_has_caught_up(void)
{
    static char body[1000];
    struct mark m;
    int n, rc = 0;

    drive_fini(&d);
    start((struct store_opts){.pending_max = 100000});
    memset(body, 'b', sizeof body - 1);
    static struct mark many[1000];
    for (n = 0; n < 1000 && (rc = append(&many[n], "k", body, 0)) == 0; n++)
        ;
    TEST_ASSERT_EQUAL_INT(MF_AGAIN, rc);
    TEST_ASSERT_GREATER_THAN_INT(80, n);
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 1, NULL)); /* what frees goes on */
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(0, many[n].calls);
    TEST_ASSERT_EQUAL_INT(1, many[n - 1].calls);
    TEST_ASSERT_EQUAL_INT(0, append(&m, "k", body, 0));
    drive_idle(&d);
}

int main(void)
{
    must_quiet();
    UNITY_BEGIN();
    RUN_TEST(test_an_acknowledged_message_comes_back_whole);
    RUN_TEST(test_an_empty_message_is_a_message);
    RUN_TEST(test_the_bytes_are_copied_by_the_call);
    RUN_TEST(test_nothing_is_visible_before_it_is_on_disk);
    RUN_TEST(test_waiters_are_called_in_the_order_of_the_calls);
    RUN_TEST(test_a_waiter_may_write);
    RUN_TEST(test_many_appends_share_a_sync);
    RUN_TEST(test_the_first_sequence_can_be_chosen);
    RUN_TEST(test_a_condemned_message_is_readable_until_its_removal_is_on_disk);
    RUN_TEST(test_removing_twice_is_not_found);
    RUN_TEST(test_an_overwritten_key_is_never_seen_missing);
    RUN_TEST(test_a_range_takes_all_in_it);
    RUN_TEST(test_a_range_beyond_the_last_sequence_skips_to_it);
    RUN_TEST(test_a_set_ignores_what_is_not_there);
    RUN_TEST(test_a_set_may_be_large);
    RUN_TEST(test_a_batch_appears_at_once);
    RUN_TEST(test_an_empty_batch_is_answered);
    RUN_TEST(test_a_call_that_fails_inside_leaves_the_batch_as_it_was);
    RUN_TEST(test_a_batch_may_remove_what_it_appended);
    RUN_TEST(test_what_is_too_large_is_refused_before_memory_is_taken);
    RUN_TEST(test_what_is_just_not_too_large_is_kept);
    RUN_TEST(test_too_much_waiting_is_refused_until_the_disk_has_caught_up);
    return UNITY_END();
}
