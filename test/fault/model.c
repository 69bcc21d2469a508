/* model.c: random operations against a naive model of a store, with a simulated clock.
 *
 * Each round is a new store: on files in memory, or on files that remember changes; time starts in
 * 1970 and goes on in steps from microseconds to years, so a round covers up to two centuries.
 * Reads are compared at every step, everything there is to ask when all is at rest.
 *
 *     model [--seed=S] [--steps=N]     also MODEL_SEED, MODEL_STEPS */
#include "support/crash_io.h"
#include "support/must.h"
#include "support/store_compare.h"
#include "support/store_drive.h"
#include "support/store_script.h"

#include "base/rand.h"
#include "store/store_impl.h"
#include "wheel/wheel_impl.h"

#define SECOND    1000000000ll
#define YEAR      (365 * 86400 * SECOND)
#define CENTURIES (200 * YEAR)
#define CURSORS   4

static struct {
    uint64_t seed, round, step;
} at;

static struct {
    uint64_t steps, rounds, probes, full, cursor_steps, segments, copied;
    int64_t years;
} count;

static void where(FILE *to)
{
    fprintf(to, "model --seed=%llu: round %llu, step %llu\n", (unsigned long long)at.seed,
            (unsigned long long)at.round, (unsigned long long)at.step);
}

/* A cursor that stays while the store changes. */
struct standing {
    struct store_cursor *c;
    char pattern[MODEL_KEY];
    bool last_only;
    uint64_t next;           /* the first sequence it has not passed */
    struct model_state snap; /* when it was made */
};

struct world {
    struct drive d;
    struct script p;
    struct standing cursor[CURSORS];
};

/* --- choices ---------------------------------------------------------------------------------- */

static void some_pattern(struct drive *d, unsigned keys, char dst[MODEL_KEY])
{
    char key[MODEL_KEY], *dot;

    drive_pick_key(d, keys, key);
    switch (pick_below(&d->pick, 6)) {
    case 0:
        snprintf(dst, MODEL_KEY, ">");
        return;
    case 1: /* literal */
        snprintf(dst, MODEL_KEY, "%s", key);
        return;
    case 2:
        snprintf(dst, MODEL_KEY, "%s", pick_chance(&d->pick, 50) ? "*.*" : "*");
        return;
    case 3:
        dot = strchr(key, '.');
        snprintf(dst, MODEL_KEY, "%.*s.>", dot == NULL ? 8 : (int)(dot - key), key);
        return;
    case 4:
        dot = strrchr(key, '.');
        snprintf(dst, MODEL_KEY, "%.*s.*", dot == NULL ? 8 : (int)(dot - key), key);
        return;
    default:
        dot = strchr(key, '.');
        snprintf(dst, MODEL_KEY, "*%.40s", dot == NULL ? ".>" : dot);
        return;
    }
}

/* --- reads ------------------------------------------------------------------------------------ */

/* What can be asked while writes are under way: what is committed is shown, except what is past its
 * latest deadline or expired; a removal that is under way hides nothing yet. */
static void probe_under_way(struct drive *d)
{
    const struct model_state *c = &d->model.committed, *a = &d->model.accepted;
    uint64_t seq = 1 + pick_u64(&d->pick) % (a->last_seq + 1);
    const struct model_msg *old, *new;
    struct store_rec r;
    struct store_state st;

    if (a->msgs > 0 && pick_chance(&d->pick, 80))
        seq = drive_pick_seq(d);
    old = state_find(c, seq);
    new = state_find(a, seq);
    int rc = store_peek(d->store, seq, &r);
    if (old == NULL)
        MUST(rc == MF_NOTFOUND, "%llu is shown before it is committed: %d", (unsigned long long)seq,
             rc);
    else if (new != NULL)
        MUST((rc == 0) == model_visible(new, d->now_ns), "%llu, deadline %lld, now %lld: %d",
             (unsigned long long)seq, (long long)new->deadline_ns, (long long)d->now_ns, rc);
    else if (model_visible(old, d->now_ns)) /* condemned; but it may have got a deadline before */
        MUST(rc == 0 || rc == MF_NOTFOUND, "%llu, condemned: %d", (unsigned long long)seq, rc);
    store_state(d->store, &st);
    MUST(st.last_seq == c->last_seq, "last sequence %llu, committed %llu",
         (unsigned long long)st.last_seq, (unsigned long long)c->last_seq);
}

static void probe_accepted(struct drive *d, unsigned keys)
{
    const struct model_state *a = &d->model.accepted;
    char key[MODEL_KEY];
    struct model_key k;
    uint64_t n, last, msgs, bytes, want = 0;

    drive_pick_key(d, keys, key);
    state_key(a, key, INT64_MIN, &k);
    last = store_key_last_accepted(d->store, mf_str(key), &n);
    MUST(last == k.last_seq && n == k.count, "accepted of %s: %llu, %llu; not %llu, %llu", key,
         (unsigned long long)last, (unsigned long long)n, (unsigned long long)k.last_seq,
         (unsigned long long)k.count);
    MUST(store_key_first_accepted(d->store, mf_str(key)) == k.first_seq, "first accepted of %s",
         key);
    MUST(store_first_accepted(d->store) == (a->msgs == 0 ? 0 : a->msg[0].seq), "first accepted");
    store_accepted(d->store, &msgs, &bytes, &last);
    for (size_t i = 0; i < a->msgs; i++)
        want += a->msg[i].len;
    MUST(msgs == a->msgs && bytes == want && last == a->last_seq,
         "accepted: %llu messages, %llu bytes, last %llu; not %zu, %llu, %llu",
         (unsigned long long)msgs, (unsigned long long)bytes, (unsigned long long)last, a->msgs,
         (unsigned long long)want, (unsigned long long)a->last_seq);
}

static void blob_probe(struct drive *d)
{
    char name[MODEL_KEY];
    struct mf_slice bytes;

    snprintf(name, sizeof name, "blob-%u", pick_below(&d->pick, 6));
    const struct model_blob *b = state_blob(&d->model.accepted, mf_str(name));
    bool there = store_blob_get(d->store, mf_str(name), &bytes);
    MUST(there == (b != NULL), "blob %s: %d", name, there);
    MUST(!there || model_content(mf_str(name), MF_SLICE_NONE, bytes) == b->content,
         "blob %s has another value", name);
}

/* --- cursors that stand ----------------------------------------------------------------------- */

static void cursor_close(struct standing *c)
{
    store_cursor_free(c->c);
    c->c = NULL;
}

/* The newest of each key is found when the cursor is made: one that became the newest later,
 * because a newer one was removed, may be passed over.  All others are shown. */
static uint64_t expected(struct world *w, struct standing *c, uint64_t got)
{
    const struct model_state *m = &w->d.model.committed;
    uint64_t upto = c->snap.last_seq, want;

    if (!c->last_only)
        return state_cursor(m, c->pattern, false, c->next, w->d.now_ns);
    want = state_newest(m, c->pattern, upto, c->next, w->d.now_ns);
    while (want != 0 && want != got &&
           state_newest(&c->snap, state_find(m, want)->key, upto, want, INT64_MIN) != want)
        want = state_newest(m, c->pattern, upto, want + 1, w->d.now_ns);
    return want;
}

static void cursor_step(struct world *w, struct standing *c)
{
    struct drive *d = &w->d;
    bool more = false;
    uint64_t seq;

    if (c->c == NULL) {
        some_pattern(d, w->p.keys, c->pattern);
        c->last_only = pick_chance(&d->pick, 50);
        c->next = pick_chance(&d->pick, 50)
                      ? 1
                      : 1 + pick_u64(&d->pick) % (d->model.accepted.last_seq + 1);
        int rc = store_cursor_new(&c->c, d->store, mf_str(c->pattern),
                                  c->last_only ? STORE_LAST_PER_KEY : STORE_ALL, c->next);
        MUST(rc == 0, "a cursor: %d", rc);
        state_copy(&c->snap, &d->model.committed);
    }
    do
        seq = store_cursor_next(c->c, &more);
    while (seq == 0 && more);
    uint64_t want = expected(w, c, seq);
    MUST(seq == want, "cursor %s, last %d, from %llu: %llu, not %llu", c->pattern, c->last_only,
         (unsigned long long)c->next, (unsigned long long)seq, (unsigned long long)want);
    if (seq != 0)
        c->next = seq + 1;
    if (pick_chance(&d->pick, 3))
        cursor_close(c);
    count.cursor_steps++;
}

/* --- forecasts -------------------------------------------------------------------------------- */

#define PARTS 8

/* Messages that end in [from, to). */
static uint64_t ending(const struct model_state *c, int64_t from_ns, int64_t to_ns)
{
    uint64_t n = 0;

    for (size_t i = 0; i < c->msgs; i++)
        n += c->msg[i].deadline_ns >= from_ns && c->msg[i].deadline_ns < to_ns;
    return n;
}

static void probe_forecast(struct drive *d)
{
    int64_t width = (int64_t)(pick_u64(&d->pick) >> (8 + pick_below(&d->pick, 30))) + 1;
    int64_t from = d->now_ns + 1;
    struct store_forecast_opts o = {
        .from_ns = from, .to_ns = from + PARTS * width, .buckets = PARTS, .exact = UINT64_MAX};
    struct store_forecast *t = store_forecast_new(d->store, &o);
    struct store_forecast_sum sum;

    MUST(t != NULL, "no memory for a forecast");
    while (!store_forecast_step(t, 1 + pick_below(&d->pick, 200)))
        ;
    store_forecast_sum(t, &sum);
    for (int i = 0; i < PARTS; i++, from += width) {
        uint64_t want = ending(&d->model.committed, from, from + width);
        MUST(sum.bucket[i].msgs == want, "part %d of %lld ns: %llu end in it, not %llu", i,
             (long long)width, (unsigned long long)sum.bucket[i].msgs, (unsigned long long)want);
    }
    store_forecast_free(t);
    index_check(d->store->ix); /* every count that is kept, taken anew */
}

/* --- a round ---------------------------------------------------------------------------------- */

static bool at_rest(const struct drive *d)
{
    return d->model.done == d->model.batches;
}

static void look(struct world *w)
{
    struct drive *d = &w->d;
    char key[MODEL_KEY];

    count.probes++;
    store_overdue_check(d->store);
    blob_probe(d);
    probe_accepted(d, w->p.keys);
    if (!at_rest(d)) {
        if (drive_certain(d))
            probe_under_way(d);
        return;
    }
    const struct model_state *c = &d->model.committed;
    uint64_t seq = 1 + pick_u64(&d->pick) % (c->last_seq + 2);
    compare_msg(d->store, c, d->now_ns, seq);
    if ((seq = drive_pick_seq(d)) != 0)
        compare_msg(d->store, c, d->now_ns, seq);
    drive_pick_key(d, w->p.keys, key);
    compare_key(d->store, c, d->now_ns, key);
    seq = pick_u64(&d->pick) % (c->last_seq + 3);
    const struct model_msg *m = state_next(c, seq, d->now_ns);
    MUST(store_next(d->store, seq) == (m == NULL ? 0 : m->seq), "next of %llu",
         (unsigned long long)seq);
    m = state_prev(c, seq, d->now_ns);
    MUST(store_prev(d->store, seq) == (m == NULL ? 0 : m->seq), "prev of %llu",
         (unsigned long long)seq);
    cursor_step(w, &w->cursor[pick_below(&d->pick, CURSORS)]);
    if (pick_chance(&d->pick, 10)) {
        some_pattern(d, w->p.keys, key);
        compare_pattern(d->store, c, d->now_ns, key, pick_u64(&d->pick) % (c->last_seq + 2));
    }
    if (pick_chance(&d->pick, 4)) {
        compare_all(d->store, c, d->now_ns);
        probe_forecast(d);
        count.full++;
    }
}

/* From a microsecond to a year a step, for a while. */
static void change_pace(struct world *w)
{
    static const int64_t pace[] = {1000,        1000000,       SECOND / 10,    SECOND,
                                   60 * SECOND, 3600 * SECOND, 86400 * SECOND, YEAR / 2};
    struct drive *d = &w->d;

    w->p.step_ns = pace[pick_below(&d->pick, MF_COUNT(pace))];
    if (pick_chance(&d->pick, 10)) /* a jump: a suspend, a clock that was wrong */
        drive_time(d, d->now_ns + (int64_t)(pick_u64(&d->pick) % (uint64_t)(5 * YEAR)));
    if (pick_chance(&d->pick, 10)) /* back: must change nothing */
        store_now(d->store, d->now_ns - YEAR);
    w->p.rest = 10 + pick_below(&d->pick, 80);
}

static void tally(struct drive *d)
{
    struct store_stats stats;

    store_stats(d->store, &stats);
    count.copied += stats.copied_bytes;
    count.segments += stats.segments_freed;
}

static void reopen(struct world *w)
{
    drive_idle(&w->d);
    tally(&w->d);
    for (int i = 0; i < CURSORS; i++)
        cursor_close(&w->cursor[i]);
    drive_close(&w->d);
    model_trim(&w->d.model);
    drive_open(&w->d);
    MUST(store_damage_count(w->d.store) == 0, "damage after a clean close");
    w->p.reopens++;
}

static void round_begin(struct world *w, uint64_t seed)
{
    static const unsigned keys[] = {2, 20, 200, 1500};
    struct store_opts o = {.segment_min = 16u << 10, .segment_max = 64u << 10, .name = "model"};
    struct pick pick = {seed};
    struct store_io *io;
    struct mf_error e;

    o.now_ns = SECOND;
    if (pick_chance(&pick, 60))
        o.segment_max = o.segment_min;
    if (pick_chance(&pick, 30))
        o.sync = STORE_SYNC_NEVER;
    o.no_checkpoint = o.sync == STORE_SYNC_NEVER && pick_chance(&pick, 50);
    *w = (struct world){0};
    w->p = (struct script){.keys = keys[pick_below(&pick, MF_COUNT(keys))],
                           .live_max = 50 + pick_below(&pick, 800),
                           .body_max = 30000,
                           .step_ns = SECOND,
                           .no_reopen = true,
                           .rest = 40};
    if (pick_chance(&pick, 30))
        MUST(crash_io_new(&io, NULL, &e) == 0, "%s", e.text);
    else
        MUST(store_io_memory(&io, &e) == 0, "%s", e.text);
    drive_init(&w->d, NULL, io, &o, seed);
    w->d.silent = 5;
    drive_open(&w->d);
}

static void round_run(struct world *w, uint64_t steps)
{
    struct drive *d = &w->d;

    for (; at.step < steps && w->p.steps < 20000 && d->now_ns < CENTURIES; at.step++) {
        if (w->p.steps % 200 == 0)
            change_pace(w);
        script_step(d, &w->p);
        look(w);
        if (at_rest(d) && d->waiting == 0 && d->model.ops > 5000)
            model_trim(&d->model);
        if (pick_below(&d->pick, 1500) == 0)
            reopen(w);
    }
    drive_idle(d);
    compare_all(d->store, &d->model.committed, d->now_ns);
    tally(d);
    count.steps += w->p.steps;
    count.years += d->now_ns / YEAR;
    count.rounds++;
    for (int i = 0; i < CURSORS; i++)
        cursor_close(&w->cursor[i]);
    if (at.round < 8) {
        printf("round %llu: ", (unsigned long long)at.round);
        script_print(&w->p, stdout);
        printf("; %lld years\n", (long long)(d->now_ns / YEAR));
    }
    for (int i = 0; i < CURSORS; i++)
        state_fini(&w->cursor[i].snap);
    drive_close(d);
    drive_fini(d);
}

int main(int argc, char **argv)
{
    uint64_t steps = must_number(argc, argv, "steps", "MODEL_STEPS", 250000);
    struct world w;

    at.seed = must_number(argc, argv, "seed", "MODEL_SEED", 1);
    wheel_cells_from = (struct wheel_cells_from){{1, 1, 1, 1, 1, 1}};
    must_where = where;
    must_quiet();
    printf("seed %llu\n", (unsigned long long)at.seed);
    fflush(stdout);
    for (; at.step < steps; at.round++) {
        round_begin(&w, at.seed * 1000003 + at.round);
        round_run(&w, steps);
    }
    printf(
        "model: %llu steps in %llu rounds, %lld years of simulated time; %llu probes, %llu full "
        "comparisons, %llu steps of standing cursors; %llu segments given up, %llu bytes copied\n",
        (unsigned long long)count.steps, (unsigned long long)count.rounds, (long long)count.years,
        (unsigned long long)count.probes, (unsigned long long)count.full,
        (unsigned long long)count.cursor_steps, (unsigned long long)count.segments,
        (unsigned long long)count.copied);
    return 0;
}
