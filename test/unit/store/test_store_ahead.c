/* test_store_ahead.c: looking ahead in a store: pages by deadline, histograms, and messages without
 * a deadline: exact, in pieces, and at a cost that follows what is touched. */
#include "store/store_impl.h"
#include "wheel/wheel_impl.h"

#include "support/store_fixture.h"

#include <stdlib.h>

#define S       INT64_C(1000000000)
#define DAY     (86400 * S)
#define NOW     (1790000000 * S)
#define MILLION 1000000u

static struct store_at *want; /* what is there, by (deadline, sequence) */
static size_t wanted;

static int by_deadline(const void *a, const void *b)
{
    const struct store_at *x = a, *y = b;

    if (x->deadline_ns != y->deadline_ns)
        return x->deadline_ns < y->deadline_ns ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static uint64_t add(const char *key, int64_t deadline_ns, uint16_t flags)
{
    struct store_append a = {
        .key = mf_str(key), .body = MF_LIT("body"), .deadline_ns = deadline_ns, .flags = flags};

    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &a));
    return a.seq;
}

static void add_wanted(int64_t deadline_ns)
{
    want[wanted].deadline_ns = deadline_ns;
    want[wanted++].seq = add("k", deadline_ns, 0);
}

/* Deadlines from now to years ahead, many of them equal. */
static int64_t some_deadline(void)
{
    int64_t far = (int64_t)(pick_u64(&d.pick) >> (1 + pick_below(&d.pick, 50)));

    return NOW + 1 + (pick_chance(&d.pick, 30) ? pick_below(&d.pick, 5) * S : far % (9000 * DAY));
}

static void fill(size_t n)
{
    want = realloc(want, (wanted + n) * sizeof *want);
    TEST_ASSERT_NOT_NULL(want);
    store_now(d.store, NOW);
    for (size_t i = 0; i < n; i++) {
        add_wanted(some_deadline());
        if (i % 64 == 0)
            drive_idle(&d);
    }
    drive_idle(&d);
    qsort(want, wanted, sizeof *want, by_deadline);
}

static void drop(void)
{
    free(want);
    want = NULL;
    wanted = 0;
}

static size_t page_whole(struct store_page *p, size_t steps, const struct store_at **at, bool *more,
                         struct store_at *next)
{
    while (!store_page_step(p, steps))
        ;
    return store_page_items(p, at, more, next);
}

static void test_pages_follow_each_other_exactly(void)
{
    fill(3000);
    for (size_t limit = 1; limit <= 1000; limit *= 10) {
        struct store_at after = {0, 0};
        size_t at = 0;
        for (bool more = true; more && at < 400 * limit;) {
            const struct store_at *x;
            struct store_page *p =
                store_page_new(d.store, after, NOW + 5000 * DAY, limit, NULL, NULL);
            size_t n = page_whole(p, 1 + pick_below(&d.pick, 3000), &x, &more, &after);
            TEST_ASSERT_TRUE(n == limit || !more);
            for (size_t i = 0; i < n; i++, at++) {
                TEST_ASSERT_EQUAL_INT64(want[at].deadline_ns, x[i].deadline_ns);
                TEST_ASSERT_EQUAL_UINT64(want[at].seq, x[i].seq);
            }
            store_page_free(p);
        }
        TEST_ASSERT_LESS_THAN_size_t(wanted, at);
        TEST_ASSERT_TRUE(at >= 400 * limit || want[at].deadline_ns >= NOW + 5000 * DAY);
    }
    drop();
}

static bool is_odd(void *arg, uint64_t seq)
{
    ++*(size_t *)arg;
    return seq % 2 == 1;
}

static void test_a_page_takes_what_is_wanted(void)
{
    const struct store_at *x;
    struct store_at next;
    size_t asked = 0, at = 0;
    bool more;

    fill(2000);
    struct store_page *p =
        store_page_new(d.store, (struct store_at){0, 0}, INT64_MAX, 50, is_odd, &asked);
    TEST_ASSERT_EQUAL_size_t(50, page_whole(p, 100, &x, &more, &next));
    TEST_ASSERT_TRUE(more);
    for (size_t i = 0; i < 50; i++, at++) {
        while (want[at].seq % 2 == 0)
            at++;
        TEST_ASSERT_EQUAL_UINT64(want[at].seq, x[i].seq);
    }
    store_page_free(p);
    drop();
}

/* Of what stays, nothing is missing; of what goes, nothing is shown. */
static void test_a_page_bears_what_happens_meanwhile(void)
{
    for (int round = 0; round < 20; round++) {
        const struct store_at *x;
        struct store_at next;
        int64_t now = NOW;
        bool more;
        drive_fini(&d);
        drop();
        setUp();
        d.pick.state += (uint64_t)round;
        fill(600);
        struct store_page *p =
            store_page_new(d.store, (struct store_at){0, 0}, INT64_MAX, 300, NULL, NULL);
        while (!store_page_step(p, 1 + pick_below(&d.pick, 40))) {
            struct store_at *w = &want[pick_below(&d.pick, (uint32_t)wanted)];
            if (w->seq != 0 && store_remove(d.store, w->seq, NULL) == 0)
                w->seq = 0;
            now += pick_below(&d.pick, 1000000000);
            store_now(d.store, now);
            (void)store_expire(d.store, now, 20, NULL, NULL, &more);
            drive_turn(&d);
        }
        size_t n = store_page_items(p, &x, &more, &next), at = 0;
        for (size_t i = 0; i < n; i++) {
            while (want[at].seq == 0 || want[at].deadline_ns <= now)
                at++;
            TEST_ASSERT_EQUAL_UINT64(want[at].seq, x[i].seq);
            TEST_ASSERT_EQUAL_INT64(want[at++].deadline_ns, x[i].deadline_ns);
        }
        store_page_free(p);
    }
    drop();
}

static void test_a_purge_ends_a_page(void)
{
    const struct store_at *x;
    struct store_at next;
    bool more;

    fill(5000);
    struct store_page *p =
        store_page_new(d.store, (struct store_at){0, 0}, INT64_MAX, 1000, NULL, NULL);
    struct store_forecast *t = store_forecast_new(
        d.store, &(struct store_forecast_opts){.from_ns = NOW, .to_ns = INT64_MAX, .buckets = 1});
    TEST_ASSERT_FALSE(store_page_step(p, 10));
    TEST_ASSERT_FALSE(store_forecast_step(t, 10));
    TEST_ASSERT_EQUAL_INT(0, store_remove_range(d.store, 1, 5000, NULL));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_size_t(0, page_whole(p, 10, &x, &more, &next));
    TEST_ASSERT_TRUE(store_forecast_step(t, 10));
    store_page_free(p);
    store_forecast_free(t);
    p = store_page_new(d.store, (struct store_at){0, 0}, INT64_MAX, 10, NULL, NULL);
    TEST_ASSERT_EQUAL_size_t(0, page_whole(p, 10, &x, &more, &next));
    TEST_ASSERT_FALSE(more);
    store_page_free(p);
    drop();
}

/* --- histograms ------------------------------------------------------------------------------- */

static void test_a_tally_counts_what_ends_when(void)
{
    struct store_forecast_opts o = {.from_ns = NOW, .buckets = 24, .exact = 100000};
    uint64_t msgs[24];

    fill(4000);
    for (int round = 0; round < 11; round++) {
        struct store_forecast_sum sum;
        o.to_ns = NOW + ((int64_t)1 << (30 + 3 * round));
        o.peak_ns[0] = round % 2 == 0 ? S : 0;
        o.peak_ns[1] = 60 * S;
        memset(msgs, 0, sizeof msgs);
        for (size_t i = 0; i < wanted; i++) {
            int64_t part = (want[i].deadline_ns - NOW) / ((o.to_ns - NOW) / 24);
            if (want[i].deadline_ns < o.to_ns)
                msgs[part < 24 ? part : 23]++;
        }
        struct store_forecast *t = store_forecast_new(d.store, &o);
        while (!store_forecast_step(t, 1 + pick_below(&d.pick, 500)))
            ;
        store_forecast_sum(t, &sum);
        TEST_ASSERT_EQUAL_UINT(24, sum.buckets);
        TEST_ASSERT_FALSE(sum.sampled);
        for (unsigned i = 0; i < 24; i++) {
            TEST_ASSERT_EQUAL_UINT64(msgs[i], sum.bucket[i].msgs);
            TEST_ASSERT_EQUAL_UINT64(5 * msgs[i], sum.bucket[i].bytes); /* k, body */
        }
        store_forecast_free(t);
    }
    drop();
}

/* The bytes of one in 64 stand for all: exact where all are alike. */
static void test_a_tally_of_many_samples_their_bytes(void)
{
    struct store_forecast_opts o = {.from_ns = NOW, .to_ns = NOW + DAY, .buckets = 2, .exact = 64};
    struct store_forecast_sum sum;

    store_now(d.store, NOW);
    for (int i = 0; i < 64 * 41; i++)
        add("k", NOW + DAY / 2 + i, 0);
    drive_idle(&d);
    struct store_forecast *t = store_forecast_new(d.store, &o);
    while (!store_forecast_step(t, 1000))
        ;
    store_forecast_sum(t, &sum);
    TEST_ASSERT_TRUE(sum.sampled);
    TEST_ASSERT_EQUAL_UINT64(64 * 41, sum.bucket[1].msgs);
    TEST_ASSERT_EQUAL_UINT64(5 * 64 * 41, sum.bucket[1].bytes);
    store_forecast_free(t);
}

/* Messages of `want` that end in [from, to). */
static uint64_t ending(int64_t from_ns, int64_t to_ns)
{
    uint64_t n = 0;

    for (size_t i = 0; i < wanted; i++)
        n += want[i].deadline_ns >= from_ns && want[i].deadline_ns < to_ns;
    return n;
}

/* Counted by parts of slots: an edge is off by half a part, which is at most an eighth of a bucket;
 * and nothing is counted twice or left out, whatever time has passed. */
static void test_a_tally_of_many_is_right_but_for_its_edges(void)
{
    const struct wheel_cells_from usual = wheel_cells_from;

    wheel_cells_from = (struct wheel_cells_from){{1, 1, 1, 1, 1, 1}};
    fill(30000);
    for (int round = 0; round < 40; round++) {
        int64_t now = NOW + round * round * 3 * S;
        int64_t width = (int64_t)1 << (30 + round % 13 * 2), off = width / 16;
        struct store_forecast_opts o = {
            .from_ns = now + 1, .to_ns = now + 1 + 12 * width, .buckets = 12};
        struct store_forecast_sum sum;
        store_now(d.store, now);
        if (round % 2 == 0)
            o.peak_ns[0] = S;
        struct store_forecast *t = store_forecast_new(d.store, &o);
        while (!store_forecast_step(t, 1 + pick_below(&d.pick, 500)))
            ;
        store_forecast_sum(t, &sum);
        for (int i = 0; i < 12; i++) {
            int64_t from = o.from_ns + i * width;
            uint64_t least = ending(i == 0 ? from : from + off, from + width - off);
            uint64_t most = ending(i == 0 ? from : from - off, from + width + off);
            TEST_ASSERT_TRUE(sum.bucket[i].msgs >= least && sum.bucket[i].msgs <= most);
            TEST_ASSERT_UINT64_WITHIN(sum.bucket[i].msgs, 5 * sum.bucket[i].msgs,
                                      sum.bucket[i].bytes);
        }
        store_forecast_free(t);
        index_check(d.store->ix);
    }
    drop();
    wheel_cells_from = usual;
}

/* A quarter of a second with 20,000 among 200,000 that end within a day. */
static void test_the_peak_of_many_is_found(void)
{
    struct store_forecast_opts o = {.from_ns = NOW + 1,
                                    .to_ns = NOW + DAY,
                                    .buckets = 24,
                                    .exact = 100000,
                                    .peak_ns = {S, 60 * S}};
    struct store_forecast_sum sum;
    int64_t at = NOW + 20 * 3600 * S + S / 2;

    store_now(d.store, NOW);
    for (int i = 0; i < 220000; i++) {
        add("k",
            i % 11 == 0 ? at + i * 1000 : NOW + S + (int64_t)(pick_u64(&d.pick) % (uint64_t)DAY),
            0);
        if (i % 4096 == 0)
            drive_idle(&d);
    }
    drive_idle(&d);
    struct store_forecast *t = store_forecast_new(d.store, &o);
    while (!store_forecast_step(t, 100))
        ;
    store_forecast_sum(t, &sum);
    TEST_ASSERT_TRUE(sum.sampled);
    TEST_ASSERT_UINT64_WITHIN(50, 20000, sum.peak[0].msgs);
    TEST_ASSERT_EQUAL_INT64(S, sum.peak[0].width_ns);
    TEST_ASSERT_EQUAL_INT64(at / S * S, sum.peak[0].at_ns);
    TEST_ASSERT_EQUAL_INT64(60 * S, sum.peak[1].width_ns);
    TEST_ASSERT_UINT64_WITHIN(500, 20000, sum.peak[1].msgs);
    TEST_ASSERT_TRUE(sum.blurred_ns > 0 && sum.blurred_ns <= 4 * S);
    store_forecast_free(t);
}

/* The fullest second, or minute, of the clock. */
static uint64_t fullest(int64_t width_ns, int64_t to_ns, int64_t *at_ns)
{
    uint64_t most = 0, n = 0;

    for (size_t i = 0; i < wanted && want[i].deadline_ns < to_ns; i++) {
        n = i > 0 && want[i].deadline_ns / width_ns == want[i - 1].deadline_ns / width_ns ? n + 1
                                                                                          : 1;
        if (n > most) {
            most = n;
            *at_ns = want[i].deadline_ns / width_ns * width_ns;
        }
    }
    return most;
}

/* Deadlines at the beginning and the end of seconds, so that a window of 1.1 s has twice as many
 * as any second; the peak is near, within hours, or a week ahead. */
static void test_peaks_of_many_are_exact(void)
{
    static const int64_t ahead[] = {20 * S, 1000 * S, 7 * DAY};

    for (size_t k = 0; k < MF_COUNT(ahead); k++) {
        struct store_forecast_opts o = {
            .from_ns = NOW, .to_ns = NOW + 10 * DAY, .buckets = 24, .peak_ns = {S, 60 * S}};
        struct store_forecast_sum sum;
        int64_t at[2];
        drive_fini(&d);
        drop();
        setUp();
        want = malloc(120000 * sizeof *want);
        store_now(d.store, NOW);
        for (unsigned i = 0; i < 100000; i++) {
            add_wanted(NOW + (2 + (int64_t)(i / 130)) * S + (i % 2 == 0 ? S / 100 : S - S / 100));
            if (i % 4096 == 0)
                drive_idle(&d);
        }
        for (unsigned i = 0; i < 20000; i++)
            add_wanted(NOW + ahead[k] + (i < 165 ? S / 2 : 2 * S + i * 2 * S));
        drive_idle(&d);
        qsort(want, wanted, sizeof *want, by_deadline);
        struct store_forecast *t = store_forecast_new(d.store, &o);
        while (!store_forecast_step(t, 1 + pick_below(&d.pick, 500)))
            ;
        store_forecast_sum(t, &sum);
        for (int i = 0; i < 2; i++) {
            TEST_ASSERT_EQUAL_UINT64(fullest(o.peak_ns[i], o.to_ns, &at[i]), sum.peak[i].msgs);
            TEST_ASSERT_EQUAL_INT64(o.peak_ns[i], sum.peak[i].width_ns);
        }
        TEST_ASSERT_EQUAL_INT64(at[0], sum.peak[0].at_ns);
        store_forecast_free(t);
    }
    drop();
}

static void test_peaks_are_found(void)
{
    struct store_forecast_opts o = {
        .from_ns = NOW, .to_ns = NOW + 300 * DAY, .buckets = 1, .peak_ns = {S, 60 * S}};
    struct store_forecast_sum sum;
    int64_t second = NOW + 3600 * S; /* a whole one, in a slot of hours */

    store_now(d.store, NOW);
    for (int i = 0; i < 3000; i++)
        add("k", NOW + 7 * S + i * S / 2, 0); /* two a second */
    for (int i = 0; i < 100; i++)
        add("k", second + i * S / 100, 0);
    for (int i = 0; i < 400; i++) /* spread over a minute a day ahead */
        add("k", (NOW + DAY) / (60 * S) * (60 * S) + i * S / 10, 0);
    drive_idle(&d);
    struct store_forecast *t = store_forecast_new(d.store, &o);
    while (!store_forecast_step(t, 100))
        ;
    store_forecast_sum(t, &sum);
    TEST_ASSERT_EQUAL_INT64(second, sum.peak[0].at_ns);
    TEST_ASSERT_EQUAL_INT64(S, sum.peak[0].width_ns);
    TEST_ASSERT_EQUAL_UINT64(100, sum.peak[0].msgs);
    TEST_ASSERT_EQUAL_INT64((NOW + DAY) / (60 * S) * (60 * S), sum.peak[1].at_ns);
    TEST_ASSERT_EQUAL_UINT64(400, sum.peak[1].msgs);
    store_forecast_free(t);
}

/* --- without a deadline ----------------------------------------------------------------------- */

static void test_messages_without_a_deadline_are_found_in_order(void)
{
    char kind[2000];

    store_now(d.store, NOW);
    for (unsigned i = 0; i < sizeof kind; i++) {
        kind[i] = "WDDDDDDDDDDDI"[pick_below(&d.pick, 13)];
        if (i > 700 && i < 1500)
            kind[i] = 'D';
        add("k", kind[i] == 'D' ? NOW + DAY + i : 0, kind[i] == 'I' ? STORE_INFINITE : 0);
    }
    drive_idle(&d);
    for (unsigned i = 0; i < sizeof kind; i += 3) {
        TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, i + 1, NULL));
        kind[i] = '-';
    }
    drive_idle(&d);
    for (int infinite = 0; infinite < 2; infinite++) {
        uint64_t from = 0, seq;
        unsigned at = 0;
        bool more = true;
        for (;;) {
            size_t steps = 1 + pick_below(&d.pick, 20);
            seq = store_next_without_deadline(d.store, infinite != 0, &from, &steps, &more);
            if (seq == 0 && more)
                continue;
            while (at < sizeof kind && kind[at] != (infinite ? 'I' : 'W'))
                at++;
            TEST_ASSERT_EQUAL_UINT64(at < sizeof kind ? at + 1 : 0, seq);
            if (seq == 0)
                break;
            at++;
            from = seq + 1;
        }
    }
}

/* --- costs ------------------------------------------------------------------------------------ */

/* Three to be found among n with deadlines: in a page, in an hour, without one. */
static void costs(unsigned n, uint64_t *page, uint64_t *tally, uint64_t *walk)
{
    const struct store_at *x;
    struct store_at next;
    bool more;

    drive_fini(&d);
    start((struct store_opts){.sync = STORE_SYNC_NEVER, .no_checkpoint = true, .name = "test"});
    store_now(d.store, NOW);
    for (unsigned i = 0; i < n; i++) {
        add("k", i % (n / 4) == 1 ? 0 : NOW + 2 * DAY + i * 1000, 0);
        if (i % 4096 == 0)
            drive_idle(&d);
    }
    for (int i = 0; i < 3; i++)
        add("k", NOW + 60 * S + i * 9 * S, 0);
    drive_idle(&d);
    struct store_page *p =
        store_page_new(d.store, (struct store_at){0, 0}, NOW + DAY, 10, NULL, NULL);
    TEST_ASSERT_EQUAL_size_t(3, page_whole(p, 100, &x, &more, &next));
    store_page_free(p); /* it brought the wheel to the present */
    p = store_page_new(d.store, (struct store_at){0, 0}, NOW + DAY, 10, NULL, NULL);
    TEST_ASSERT_EQUAL_size_t(3, page_whole(p, 100, &x, &more, &next));
    *page = store_page_steps(p);
    store_page_free(p);
    struct store_forecast *t = store_forecast_new(
        d.store, &(struct store_forecast_opts){.from_ns = NOW, .to_ns = NOW + DAY, .buckets = 24});
    while (!store_forecast_step(t, 100))
        ;
    *tally = store_forecast_steps(t);
    store_forecast_free(t);
    size_t steps = SIZE_MAX, found = 0;
    for (uint64_t from = 0, seq;
         (seq = store_next_without_deadline(d.store, false, &from, &steps, &more)) != 0;
         from = seq + 1)
        found++;
    TEST_ASSERT_EQUAL_size_t(4, found);
    *walk = SIZE_MAX - steps;
}

static void test_costs_follow_what_is_touched(void)
{
    uint64_t page[2], tally[2], walk[2];

    costs(1000, &page[0], &tally[0], &walk[0]);
    costs(MILLION, &page[1], &tally[1], &walk[1]);
    TEST_ASSERT_EQUAL_UINT64(page[0], page[1]);
    TEST_ASSERT_EQUAL_UINT64(tally[0], tally[1]);
    TEST_ASSERT_LESS_THAN_UINT64(20, page[1]);
    TEST_ASSERT_LESS_THAN_UINT64(20, tally[1]);
    TEST_ASSERT_LESS_THAN_UINT64(MILLION / 256 + 4 * 300, walk[1]); /* a step a block */
    TEST_ASSERT_LESS_THAN_UINT64(1100, walk[0]);
}

/* All of n messages that end within a day, with peaks or without. */
static uint64_t day_steps(unsigned n, bool peaks)
{
    struct store_forecast_opts o = {
        .from_ns = NOW, .to_ns = NOW + DAY, .buckets = 24, .exact = 100000};

    if (peaks)
        o.peak_ns[0] = S;
    struct store_forecast *t = store_forecast_new(d.store, &o);
    while (!store_forecast_step(t, 100))
        ;
    struct store_forecast_sum sum;
    uint64_t msgs = 0, steps = store_forecast_steps(t);
    store_forecast_sum(t, &sum);
    for (unsigned i = 0; i < 24; i++)
        msgs += sum.bucket[i].msgs;
    TEST_ASSERT_EQUAL_UINT64(n, msgs);
    if (peaks) { /* a second of the clock */
        TEST_ASSERT_EQUAL_INT64(S, sum.peak[0].width_ns);
        TEST_ASSERT_EQUAL_INT64(0, sum.peak[0].at_ns % S);
    }
    store_forecast_free(t);
    return steps;
}

/* A thousand are looked at; of a million the slots are counted, and the probes are the most of it.
 */
static void test_a_tally_of_a_million_costs_slots_and_probes(void)
{
    static const unsigned sizes[] = {1000, MILLION};

    for (int k = 0; k < 2; k++) {
        drive_fini(&d);
        start((struct store_opts){.sync = STORE_SYNC_NEVER, .no_checkpoint = true, .name = "test"});
        store_now(d.store, NOW);
        for (unsigned i = 0; i < sizes[k]; i++) {
            add("k", NOW + S + (int64_t)(pick_u64(&d.pick) % (uint64_t)(DAY - 600 * S)), 0);
            if (i % 4096 == 0)
                drive_idle(&d);
        }
        drive_idle(&d);
        (void)day_steps(sizes[k], false); /* it brings the wheel to the present */
        uint64_t plain = day_steps(sizes[k], false), peaks = day_steps(sizes[k], true);
        TEST_ASSERT_LESS_THAN_UINT64(k == 0 ? 1100 : STORE_FORECAST_PROBES + 4000, plain);
        TEST_ASSERT_LESS_THAN_UINT64(
            k == 0 ? 1100 : STORE_FORECAST_PROBES + 4000 + STORE_FORECAST_LOOK, peaks);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_pages_follow_each_other_exactly);
    RUN_TEST(test_a_page_takes_what_is_wanted);
    RUN_TEST(test_a_page_bears_what_happens_meanwhile);
    RUN_TEST(test_a_purge_ends_a_page);
    RUN_TEST(test_a_tally_counts_what_ends_when);
    RUN_TEST(test_a_tally_of_many_samples_their_bytes);
    RUN_TEST(test_a_tally_of_many_is_right_but_for_its_edges);
    RUN_TEST(test_the_peak_of_many_is_found);
    RUN_TEST(test_peaks_of_many_are_exact);
    RUN_TEST(test_peaks_are_found);
    RUN_TEST(test_messages_without_a_deadline_are_found_in_order);
    RUN_TEST(test_costs_follow_what_is_touched);
    RUN_TEST(test_a_tally_of_a_million_costs_slots_and_probes);
    return UNITY_END();
}
