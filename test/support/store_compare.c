/* store_compare.c: see store_compare.h. */
#include "store_compare.h"

#include "must.h"

static unsigned long long u(uint64_t v)
{
    return v;
}

static struct model_msg as_model(const struct store_rec *r)
{
    return (struct model_msg){.seq = r->seq,
                              .content = model_content(r->key, r->head, r->body),
                              .ts_ns = r->ts_ns,
                              .deadline_ns = r->deadline_ns,
                              .flags = r->flags};
}

static void add_blob(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    *(uint64_t *)arg += model_blob_sum(name, model_content(name, MF_SLICE_NONE, bytes));
}

uint64_t compare_sum(struct store *s)
{
    struct store_state st;
    struct store_rec r;

    store_state(s, &st);
    uint64_t sum = st.last_seq * 0x9E3779B97F4A7C15u;
    for (uint64_t seq = store_next(s, 1); seq != 0; seq = store_next(s, seq + 1)) {
        int rc = store_peek(s, seq, &r);
        MUST(rc == 0, "message %llu is listed and cannot be read: %d (%s)", u(seq), rc,
             mf_err_text(rc));
        MUST(r.seq == seq, "asked for %llu, got %llu", u(seq), u(r.seq));
        struct model_msg m = as_model(&r);
        sum += model_msg_sum(&m);
    }
    store_blob_each(s, add_blob, &sum);
    return sum;
}

/* --- what differs ----------------------------------------------------------------------------- */

#define LINES 12

struct unwanted {
    const struct model_state *want;
    FILE *to;
};

static void explain_deadline(void *arg, uint64_t seq, int64_t deadline_ns)
{
    const struct unwanted *x = arg;
    const struct model_msg *m = state_find(x->want, seq);

    if (m == NULL || m->deadline_ns != deadline_ns)
        fprintf(x->to, "  %llu has deadline %lld, not %lld\n", u(seq), (long long)deadline_ns,
                m == NULL ? -1 : (long long)m->deadline_ns);
}

static void unwanted_blob(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    const struct unwanted *x = arg;

    (void)bytes;
    if (state_blob(x->want, name) == NULL)
        fprintf(x->to, "  blob %.*s is there and should not be\n", MF_FMT(name));
}

void compare_explain(struct store *s, const struct model_state *want, int64_t now_ns, FILE *to)
{
    struct store_state st;
    struct store_rec r;
    int lines = 0;

    store_state(s, &st);
    if (st.last_seq != want->last_seq)
        fprintf(to, "  last sequence %llu, not %llu\n", u(st.last_seq), u(want->last_seq));
    for (size_t i = 0; i < want->msgs && lines < LINES; i++) {
        const struct model_msg *m = &want->msg[i];
        int rc = store_peek(s, m->seq, &r);
        if (!model_visible(m, now_ns) == (rc == MF_NOTFOUND) &&
            (rc != 0 || model_visible(m, now_ns))) {
            if (rc != 0)
                continue;
            struct model_msg got = as_model(&r);
            if (model_msg_sum(&got) == model_msg_sum(m))
                continue;
            fprintf(to,
                    "  %llu differs: deadline %lld, not %lld; flags %x, not %x; ts %lld, not %lld; "
                    "content %s\n",
                    u(m->seq), (long long)got.deadline_ns, (long long)m->deadline_ns, got.flags,
                    m->flags, (long long)got.ts_ns, (long long)m->ts_ns,
                    got.content == m->content ? "equal" : "other");
        } else {
            fprintf(to, "  %llu (%s, deadline %lld) gives %d, now %lld\n", u(m->seq), m->key,
                    (long long)m->deadline_ns, rc, (long long)now_ns);
        }
        lines++;
    }
    for (uint64_t seq = store_next(s, 1); seq != 0 && lines < LINES; seq = store_next(s, seq + 1))
        if (state_find(want, seq) == NULL) {
            fprintf(to, "  %llu is there and should not be\n", u(seq));
            lines++;
        }
    for (size_t i = 0; i < want->blobs; i++) {
        struct mf_slice name = mf_str(want->blob[i].name), bytes;
        if (!store_blob_get(s, name, &bytes))
            fprintf(to, "  blob %s is not there\n", want->blob[i].name);
        else if (model_content(name, MF_SLICE_NONE, bytes) != want->blob[i].content)
            fprintf(to, "  blob %s has another value (%zu bytes)\n", want->blob[i].name, bytes.len);
    }
    store_blob_each(s, unwanted_blob, &(struct unwanted){want, to});
    store_each_deadline(s, INT64_MAX, explain_deadline, &(struct unwanted){want, to});
    for (size_t i = 0; i < want->msgs; i++)
        if (!model_visible(&want->msg[i], now_ns))
            fprintf(to, "  due and not shown: %llu, deadline %lld\n", u(want->msg[i].seq),
                    (long long)want->msg[i].deadline_ns);
}

static uint64_t deadline_sum(uint64_t seq, int64_t deadline_ns)
{
    return seq * 0x9E3779B97F4A7C15u ^ (uint64_t)deadline_ns * 0xC2B2AE3D27D4EB4Fu;
}

static void add_deadline(void *arg, uint64_t seq, int64_t deadline_ns)
{
    *(uint64_t *)arg += deadline_sum(seq, deadline_ns);
}

/* Equal in what is shown, and in what is left to expire: those that are due are not shown. */
static bool same(const struct model_state *want, uint64_t sum, uint64_t deadlines, int64_t now_ns)
{
    uint64_t n = 0;

    for (size_t i = 0; i < want->msgs; i++)
        if (want->msg[i].deadline_ns != 0)
            n += deadline_sum(want->msg[i].seq, want->msg[i].deadline_ns);
    return n == deadlines && state_sum(want, now_ns) == sum;
}

size_t compare_prefix(struct store *s, const struct model *m, struct model_state *base, size_t lo,
                      size_t hi, int64_t now_ns)
{
    static struct model_state first;
    uint64_t got = compare_sum(s), deadlines = 0;
    struct store_state st;
    struct store_stats stats;

    store_each_deadline(s, INT64_MAX, add_deadline, &deadlines);
    if (same(base, got, deadlines, now_ns))
        return lo;
    state_copy(&first, base);
    for (size_t k = lo; k < hi; k++) {
        state_apply_batch(base, m, k);
        if (same(base, got, deadlines, now_ns))
            return k + 1;
    }
    store_state(s, &st);
    store_stats(s, &stats);
    fprintf(stderr,
            "no prefix in [%zu, %zu] of the batches is what the store shows (last sequence "
            "%llu, %llu deadlines).\nAgainst %zu:\n",
            lo, hi, u(st.last_seq), u(stats.wheel_entries), lo);
    compare_explain(s, &first, now_ns, stderr);
    fprintf(stderr, "Against %zu:\n", hi);
    compare_explain(s, base, now_ns, stderr);
    MUST(false, "lost, revived or split");
    return 0;
}

/* --- everything ------------------------------------------------------------------------------- */

void compare_msg(struct store *s, const struct model_state *want, int64_t now_ns, uint64_t seq)
{
    const struct model_msg *m = state_find(want, seq);
    struct store_rec r;
    int64_t deadline = -1;
    int rc = store_peek(s, seq, &r);
    bool there = store_deadline(s, seq, &deadline);

    if (m == NULL || !model_visible(m, now_ns)) {
        MUST(rc == MF_NOTFOUND && !there, "%llu gives %d, deadline known: %d (now %lld)", u(seq),
             rc, there, (long long)now_ns);
        return;
    }
    MUST(rc == 0, "%llu gives %d (deadline %lld, now %lld)", u(seq), rc, (long long)m->deadline_ns,
         (long long)now_ns);
    struct model_msg got = as_model(&r);
    MUST(model_msg_sum(&got) == model_msg_sum(m),
         "%llu differs: deadline %lld, not %lld; flags %x, not %x; content %s", u(seq),
         (long long)got.deadline_ns, (long long)m->deadline_ns, got.flags, m->flags,
         got.content == m->content ? "equal" : "other");
    MUST(there && deadline == m->deadline_ns, "%llu: deadline %lld, not %lld", u(seq),
         (long long)deadline, (long long)m->deadline_ns);
}

void compare_key(struct store *s, const struct model_state *want, int64_t now_ns, const char *key)
{
    struct model_key k;
    struct store_key got = {0};
    bool there = state_key(want, key, now_ns, &k);

    MUST(store_key(s, mf_str(key), &got) == there, "key %s is %sthere", key, there ? "not " : "");
    MUST(!there ||
             (got.first_seq == k.first_seq && got.last_seq == k.last_seq && got.count == k.count),
         "key %s: %llu..%llu, %llu messages, not %llu..%llu, %llu", key, u(got.first_seq),
         u(got.last_seq), u(got.count), u(k.first_seq), u(k.last_seq), u(k.count));
}

static void compare_counts(struct store *s, const struct model_state *want, int64_t now_ns)
{
    struct store_state st;
    uint64_t msgs = 0, bytes = 0, keys = 0, deadlines = 0, flagged[2] = {0, 0};
    uint64_t infinite = 0, pinned = 0;
    const struct model_msg *first = state_next(want, 1, now_ns);

    for (size_t i = 0; i < want->msgs; i++) {
        const struct model_msg *m = &want->msg[i];
        if (!model_visible(m, now_ns))
            continue;
        msgs++;
        bytes += m->len;
        deadlines += m->deadline_ns != 0;
        infinite += (m->flags & MODEL_INFINITE) != 0;
        pinned += (m->flags & MODEL_PINNED) != 0;
        flagged[0] += m->flags & 1;
        flagged[1] += m->flags >> 1 & 1;
        keys += state_cursor(want, m->key, true, m->seq, now_ns) == m->seq;
    }
    store_state(s, &st);
    MUST(st.last_seq == want->last_seq, "last sequence %llu, not %llu", u(st.last_seq),
         u(want->last_seq));
    MUST(st.first_seq == (first == NULL ? want->last_seq + 1 : first->seq),
         "first sequence %llu, not %llu", u(st.first_seq),
         u(first == NULL ? want->last_seq + 1 : first->seq));
    MUST(st.msgs == msgs && st.bytes == bytes, "%llu messages, %llu bytes; not %llu, %llu",
         u(st.msgs), u(st.bytes), u(msgs), u(bytes));
    MUST(st.keys == keys && st.deadlines == deadlines, "%llu keys, %llu deadlines; not %llu, %llu",
         u(st.keys), u(st.deadlines), u(keys), u(deadlines));
    MUST(st.infinite == infinite && st.pinned == pinned,
         "%llu infinite, %llu pinned; not %llu, %llu", u(st.infinite), u(st.pinned), u(infinite),
         u(pinned));
    MUST(st.flagged[0] == flagged[0] && st.flagged[1] == flagged[1],
         "flagged %llu, %llu; not %llu, %llu", u(st.flagged[0]), u(st.flagged[1]), u(flagged[0]),
         u(flagged[1]));
}

static void compare_cursor(struct store *s, const struct model_state *want, int64_t now_ns,
                           const char *pattern, uint64_t from, enum store_cursor_kind kind)
{
    struct store_cursor *c;
    int rc = store_cursor_new(&c, s, mf_str(pattern), kind, from);

    MUST(rc == 0, "a cursor for %s: %d", pattern, rc);
    for (uint64_t at = from;;) {
        bool more = false;
        uint64_t seq, expect = kind == STORE_LAST_PER_KEY
                                   ? state_newest(want, pattern, UINT64_MAX, at, now_ns)
                                   : state_cursor(want, pattern, false, at, now_ns);
        do
            seq = store_cursor_next(c, &more);
        while (seq == 0 && more);
        MUST(seq == expect, "cursor %s, kind %d, from %llu: %llu after %llu, not %llu", pattern,
             kind, u(from), u(seq), u(at), u(expect));
        if (seq == 0)
            break;
        at = seq + 1;
    }
    store_cursor_free(c);
}

static void compare_walk(struct store *s, const struct model_state *want, int64_t now_ns,
                         const char *pattern)
{
    struct store_keys *walk = store_keys_new(s, mf_str(pattern));
    struct mf_slice key;
    struct store_key got;
    size_t seen = 0, expect = 0;

    MUST(walk != NULL, "a walk for %s: no memory", pattern);
    while (store_keys_next(walk, &key, &got)) {
        char name[MODEL_KEY];
        struct model_key k;
        MUST(key.len < sizeof name, "a key of %zu bytes", key.len);
        snprintf(name, sizeof name, "%.*s", MF_FMT(key));
        MUST(model_match(pattern, name) && state_key(want, name, now_ns, &k),
             "walk %s gives %s, which is not there or does not match", pattern, name);
        MUST(got.first_seq == k.first_seq && got.last_seq == k.last_seq && got.count == k.count,
             "walk %s, key %s: %llu..%llu, %llu messages, not %llu..%llu, %llu", pattern, name,
             u(got.first_seq), u(got.last_seq), u(got.count), u(k.first_seq), u(k.last_seq),
             u(k.count));
        seen++;
    }
    store_keys_free(walk);
    for (uint64_t at = 1; (at = state_cursor(want, pattern, true, at, now_ns)) != 0; at++)
        expect++;
    MUST(seen == expect, "walk %s gives %zu keys, not %zu", pattern, seen, expect);
}

/* Messages in a range and keys up to its end, past their deadline or not. */
static void compare_count(struct store *s, const struct model_state *want, const char *pattern,
                          uint64_t first, uint64_t last)
{
    uint64_t msgs, keys, expect = 0, expect_keys = 0;

    for (size_t i = 0; i < want->msgs; i++) {
        const struct model_msg *m = &want->msg[i];
        if (m->seq > last || !model_match(pattern, m->key))
            continue;
        expect += m->seq >= first;
        expect_keys += state_newest(want, m->key, last, m->seq, INT64_MIN) == m->seq;
    }
    MUST(store_count(s, mf_str(pattern), first, last, &msgs) &&
             store_count_keys(s, mf_str(pattern), last, &keys),
         "counting %s takes too long", pattern);
    MUST(msgs == expect && keys == expect_keys,
         "%s from %llu to %llu: %llu messages, not %llu; %llu keys, not %llu", pattern, u(first),
         u(last), u(msgs), u(expect), u(keys), u(expect_keys));
}

void compare_pattern(struct store *s, const struct model_state *want, int64_t now_ns,
                     const char *pattern, uint64_t from)
{
    compare_cursor(s, want, now_ns, pattern, from, STORE_ALL);
    compare_cursor(s, want, now_ns, pattern, from, STORE_LAST_PER_KEY);
    compare_walk(s, want, now_ns, pattern);
    compare_count(s, want, pattern, from, UINT64_MAX);
    compare_count(s, want, pattern, from / 2, from);
}

struct deadlines {
    const struct model_state *want;
    int64_t now_ns, to_ns;
    size_t seen;
};

static void on_deadline(void *arg, uint64_t seq, int64_t deadline_ns)
{
    struct deadlines *d = arg;
    const struct model_msg *m = state_find(d->want, seq);

    /* Those due and not yet taken out may be among them. */
    MUST(m != NULL && m->deadline_ns == deadline_ns && deadline_ns <= d->to_ns,
         "deadline %lld of %llu, up to %lld", (long long)deadline_ns, u(seq), (long long)d->to_ns);
    d->seen += model_visible(m, d->now_ns);
}

static void compare_deadlines(struct store *s, const struct model_state *want, int64_t now_ns,
                              int64_t to_ns)
{
    struct deadlines d = {want, now_ns, to_ns, 0};
    size_t expect = 0;

    store_each_deadline(s, to_ns, on_deadline, &d);
    for (size_t i = 0; i < want->msgs; i++)
        expect += want->msg[i].deadline_ns != 0 && model_visible(&want->msg[i], now_ns) &&
                  want->msg[i].deadline_ns <= to_ns;
    MUST(d.seen == expect, "%zu deadlines up to %lld, not %zu", d.seen, (long long)to_ns, expect);
}

static void compare_time(struct store *s, const struct model_state *want)
{
    struct store_stats stats;
    int64_t first = INT64_MAX;
    size_t deadlines = 0;

    for (size_t i = 0; i < want->msgs; i++)
        if (want->msg[i].deadline_ns != 0) {
            deadlines++;
            if (want->msg[i].deadline_ns < first)
                first = want->msg[i].deadline_ns;
        }
    store_stats(s, &stats);
    MUST(stats.wheel_entries == deadlines, "%llu entries in the wheel for %zu deadlines",
         u(stats.wheel_entries), deadlines);
    int64_t next = store_next_deadline(s);
    MUST(next <= first && (next == INT64_MAX) == (deadlines == 0),
         "next deadline %lld, the first is %lld", (long long)next, (long long)first);
}

void compare_all(struct store *s, const struct model_state *want, int64_t now_ns)
{
    const struct model_msg *at;
    uint64_t from;

    if (compare_sum(s) != state_sum(want, now_ns)) {
        compare_explain(s, want, now_ns, stderr);
        MUST(false, "the store differs from the model");
    }
    compare_counts(s, want, now_ns);
    for (from = UINT64_MAX; (at = state_prev(want, from, now_ns)) != NULL; from = at->seq - 1)
        MUST(store_prev(s, from) == at->seq, "before %llu: %llu, not %llu", u(from),
             u(store_prev(s, from)), u(at->seq));
    MUST(store_prev(s, from) == 0, "before %llu: %llu", u(from), u(store_prev(s, from)));
    compare_deadlines(s, want, now_ns, INT64_MAX);
    compare_time(s, want);
}
