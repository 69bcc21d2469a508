/* cursor.c: messages of matching keys in sequence order; keys that match.
 *
 * A pattern without wildcard walks the ring of its key.  A pattern that matches few messages of
 * many collects the first one of each key in a binary heap by sequence and moves each along its
 * ring.  The calls of store_cursor_next() collect the keys, some in each call.  Every other
 * pattern walks the index and tests each message.  The test is skipped while the sums of the keys
 * show that every message matches.
 *
 * Keys that are added after a cursor was made have greater sequences than all earlier keys.  So a
 * cursor with an empty heap continues by walking from the last sequence it knew. */
#include "store/store_impl.h"

#include "base/array.h"

#include <stdlib.h>

#define STEPS          4096u /* messages or keys passed over in one call */
#define NEAR           64u   /* steps along a ring before the index is walked instead */
#define SUPERSEDED_RUN 32u   /* messages that are passed over in a row, before that is remembered */
#define SHARE          8u    /* a heap is worth while for less than one message in so many */

struct store_cursor {
    struct store *s;
    enum store_cursor_kind kind;
    uint64_t from;  /* the next sequence to visit */
    uint64_t upto;  /* the last sequence when it was made: the heap, and the last of each key */
    uint64_t *heap; /* next sequence of each key */
    size_t heaped, cap;
    size_t gathered;          /* steps used to make the heap */
    uint64_t steps;           /* steps of all calls, for store_cursor_steps() */
    struct keys_walk *gather; /* not NULL: keys are still collected */
    uint64_t superseded_from; /* all from here to `from` were replaced by newer ones */
    uint64_t covers_at;       /* keys_changes() when that was found out: */
    bool covers;              /* every message matches */
    bool walking;             /* no heap: the index is walked from here on */
    bool literal;
    struct mf_slice pattern;
    uint8_t text[]; /* the pattern */
};

/* --- heap of sequences ---------------------------------------------------------------------- */

static void heap_down(uint64_t *h, size_t n, size_t i)
{
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= n)
            return;
        if (c + 1 < n && h[c + 1] < h[c])
            c++;
        if (h[i] <= h[c])
            return;
        uint64_t t = h[i];
        h[i] = h[c];
        h[c] = t;
        i = c;
    }
}

static void heap_up(uint64_t *h, size_t i)
{
    for (size_t up; i > 0 && h[up = (i - 1) / 2] > h[i]; i = up) {
        uint64_t t = h[i];
        h[i] = h[up];
        h[up] = t;
    }
}

static bool heap_push(struct store_cursor *c, uint64_t seq)
{
    if (mf_array_reserve(&c->heap, &c->cap, c->heaped + 1, sizeof *c->heap) != 0)
        return false;
    c->heap[c->heaped++] = seq;
    heap_up(c->heap, c->heaped - 1);
    return true;
}

static void gather_end(struct store_cursor *c)
{
    keys_walk_end(c->gather);
    c->gather = NULL;
}

/* Drops the heap and walks the index from `from` on: every message that was not returned yet is
 * there or behind it. */
static void walk_instead(struct store_cursor *c)
{
    gather_end(c);
    free(c->heap);
    c->heap = NULL;
    c->heaped = c->cap = 0;
    c->walking = true;
    c->superseded_from = c->from;
}

/* --- rings ---------------------------------------------------------------------------------- */

/* The newest message of a key that is present, of those up to c->upto; 0: none from c->from on. */
static uint64_t ring_last(const struct store_cursor *c, uint32_t key, size_t *steps)
{
    const struct index *ix = view_index(c->s);
    uint32_t id = index_key_last(ix, key);

    while (id != INDEX_NONE && (index_seq(ix, id) > c->upto || !view_present(c->s, id))) {
        id = index_older(ix, id);
        ++*steps;
    }
    return id != INDEX_NONE && index_seq(ix, id) >= c->from ? index_seq(ix, id) : 0;
}

/* The first message of a key that is present, at or after c->from; 0: none.  False: it is more than
 * `most` steps away from both ends of the ring. */
static bool ring_from(const struct store_cursor *c, uint32_t key, size_t most, uint64_t *seq,
                      size_t *steps)
{
    const struct index *ix = view_index(c->s);
    uint32_t id = index_key_first(ix, key);

    *seq = 0;
    for (size_t n = 0; n < most && id != INDEX_NONE; n++, ++*steps) {
        if (index_seq(ix, id) >= c->from && view_present(c->s, id)) {
            *seq = index_seq(ix, id);
            return true;
        }
        id = index_newer(ix, id);
    }
    if (id == INDEX_NONE)
        return true;
    id = index_key_last(ix, key);
    for (size_t n = 0; n < most; n++, ++*steps) {
        if (id == INDEX_NONE || index_seq(ix, id) < c->from)
            return true;
        if (view_present(c->s, id))
            *seq = index_seq(ix, id);
        id = index_older(ix, id);
    }
    return false;
}

/* The next message after `seq`, which is still there, on its key. */
static uint64_t ring_after(const struct store_cursor *c, uint64_t seq)
{
    uint32_t id = index_find(view_index(c->s), seq);

    while ((id = index_newer(view_index(c->s), id)) != INDEX_NONE)
        if (view_present(c->s, id))
            return index_seq(view_index(c->s), id);
    return 0;
}

/* --- made ----------------------------------------------------------------------------------- */

/* Adds one key; false: the heap is not worth it, or out of memory. */
static bool gather_key(struct store_cursor *c, uint32_t key)
{
    uint64_t seq = 0;

    if (c->heaped == STORE_CURSOR_KEYS || c->gathered > 8u * STORE_CURSOR_KEYS)
        return false;
    if (c->kind == STORE_LAST_PER_KEY)
        seq = ring_last(c, key, &c->gathered);
    else if (!ring_from(c, key, STEPS, &seq, &c->gathered))
        return false;
    return seq == 0 || seq > c->upto || heap_push(c, seq);
}

/* Some keys more; false: call again. */
static bool gather_some(struct store_cursor *c)
{
    uint32_t key;

    for (size_t stop = c->gathered + STEPS; c->gathered < stop; c->gathered++) {
        if ((key = keys_walk_next(c->gather)) == KEYS_NONE) {
            c->gather = NULL; /* it ended itself */
            return true;
        }
        if (!gather_key(c, key)) {
            walk_instead(c);
            return true;
        }
    }
    return false;
}

static bool has_wildcard(const struct store *s, struct mf_slice p)
{
    for (size_t i = 0, start = 0; i <= p.len; i++) {
        if (i < p.len && p.ptr[i] != (uint8_t)s->o.separator)
            continue;
        if (i - start == 1 && (p.ptr[start] == '*' || (p.ptr[start] == '>' && i == p.len)))
            return true;
        start = i + 1;
    }
    return false;
}

/* Does the pattern match so little that a heap is better than a test of every message? */
static bool is_sparse(const struct store_cursor *c)
{
    const struct index *ix = view_index(c->s);
    struct keys_sum sum;

    if (mf_eq_str(c->pattern, ">"))
        return false;
    if (!count_sums(ix, c->pattern, NEAR, &sum))
        return true; /* unknown: the keys are collected as far as it is worth while */
    return sum.keys <= STORE_CURSOR_KEYS &&
           (c->kind == STORE_LAST_PER_KEY ? sum.keys : sum.msgs) < index_count(ix) / SHARE;
}

int store_cursor_new(struct store_cursor **out, struct store *s, struct mf_slice pattern,
                     enum store_cursor_kind kind, uint64_t from_seq)
{
    struct store_cursor *c = calloc(1, sizeof *c + pattern.len);

    if (c == NULL)
        return MF_NOMEM;
    if (pattern.len > 0)
        memcpy(c->text, pattern.ptr, pattern.len);
    c->pattern = mf_slice(c->text, pattern.len);
    c->s = s;
    c->kind = kind;
    c->from = c->superseded_from = from_seq;
    c->upto = s->log.committed_seq;
    c->literal = !has_wildcard(s, pattern);
    c->walking = !c->literal && !is_sparse(c);
    if (!c->literal && !c->walking &&
        (c->gather = keys_walk_new(index_keys(view_index(s)), c->pattern)) == NULL) {
        store_cursor_free(c);
        return MF_NOMEM;
    }
    *out = c;
    return 0;
}

uint64_t store_cursor_steps(const struct store_cursor *c)
{
    return c->steps + c->gathered;
}

void store_cursor_upto(struct store_cursor *c, uint64_t upto)
{
    if (upto < c->upto)
        c->upto = upto;
}

void store_cursor_free(struct store_cursor *c)
{
    if (c == NULL)
        return;
    gather_end(c);
    free(c->heap);
    free(c);
}

/* --- next ----------------------------------------------------------------------------------- */

static bool matches_pattern(struct store_cursor *c, uint32_t id)
{
    const struct keys *k = index_keys(view_index(c->s));

    if (c->covers_at != keys_changes(k)) {
        c->covers = count_covers(view_index(c->s), c->pattern);
        c->covers_at = keys_changes(k);
    }
    return c->covers || keys_matches(k, index_key(view_index(c->s), id), c->pattern);
}

static bool is_last(const struct store_cursor *c, uint32_t id)
{
    const struct index *ix = view_index(c->s);

    while ((id = index_newer(ix, id)) != INDEX_NONE && index_seq(ix, id) <= c->upto)
        if (view_present(c->s, id))
            return false;
    return true;
}

/* --- what others have passed over ------------------------------------------------------------- */

/* The last of each key: where all keys were written anew, a cursor passes over all their older
 * messages before it shows the first.  The longest row of such messages is remembered for the
 * others. */
static void pass_superseded(struct store_cursor *c)
{
    const struct superseded *d = &c->s->superseded;

    if (c->kind == STORE_LAST_PER_KEY && c->from >= d->from && c->from < d->to &&
        c->upto >= d->upto) {
        c->superseded_from = c->superseded_from < d->from ? c->superseded_from : d->from;
        c->from = d->to;
    }
}

/* The cursor showed nothing between superseded_from and `end`. */
static void note_superseded(const struct store_cursor *c, uint64_t end)
{
    struct superseded *d = &c->s->superseded;

    if (c->kind == STORE_LAST_PER_KEY && c->walking && end > c->superseded_from &&
        end - c->superseded_from >= SUPERSEDED_RUN && end - c->superseded_from > d->to - d->from)
        *d = (struct superseded){c->superseded_from, end, c->upto};
}

void superseded_lose(struct store *s, const struct index *ix, uint32_t id)
{
    struct superseded *d = &s->superseded;
    uint32_t older = id, newer = id;

    if (d->from == d->to)
        return;
    do
        older = index_older(ix, older);
    while (older != INDEX_NONE && index_hidden(ix, older));
    if (older == INDEX_NONE || index_seq(ix, older) < d->from || index_seq(ix, older) >= d->to)
        return;
    while ((newer = index_newer(ix, newer)) != INDEX_NONE && index_seq(ix, newer) <= d->upto)
        if (view_present(s, newer))
            return;
    d->to = index_seq(ix, older);
}

/* One that is the last of its key ends a row of those that are not. */
static bool shows_message(struct store_cursor *c, uint32_t id)
{
    if (!view_present(c->s, id))
        return false;
    if (c->kind == STORE_LAST_PER_KEY) {
        if (!is_last(c, id))
            return false;
        note_superseded(c, index_seq(view_index(c->s), id));
        c->superseded_from = index_seq(view_index(c->s), id) + 1;
    }
    return matches_pattern(c, id);
}

/* --- next: walking ---------------------------------------------------------------------------- */

static uint64_t end_of(const struct store_cursor *c)
{
    bool upto = c->kind == STORE_LAST_PER_KEY && c->upto < c->s->log.committed_seq;

    return upto ? c->upto : c->s->log.committed_seq;
}

static uint64_t walk_next(struct store_cursor *c, bool *more)
{
    const struct index *ix = view_index(c->s);
    uint64_t end = end_of(c);

    pass_superseded(c);
    for (unsigned steps = 0; steps < STEPS; steps++, c->steps++) {
        uint32_t id = index_next(ix, c->from);
        if (id == INDEX_NONE || index_seq(ix, id) > end) {
            if (c->from <= end)
                c->from = end + 1;
            return 0;
        }
        c->from = index_seq(ix, id) + 1;
        if (shows_message(c, id))
            return c->from - 1;
    }
    note_superseded(c, c->from);
    *more = true;
    return 0;
}

/* The key's next message lies far from both ends of its ring: walks the index, whose entries know
 * their key. */
static uint64_t literal_search(struct store_cursor *c, uint32_t key, bool *more)
{
    const struct index *ix = view_index(c->s);

    for (unsigned steps = 0; steps < STEPS; steps++, c->steps++) {
        uint32_t id = index_next(ix, c->from);
        if (id == INDEX_NONE || index_seq(ix, id) > c->s->log.committed_seq)
            return 0;
        if (index_key(ix, id) == key && view_present(c->s, id))
            return index_seq(ix, id);
        c->from = index_seq(ix, id) + 1;
    }
    *more = true;
    return 0;
}

/* One key: its ring, whatever lies between. */
static uint64_t literal_next(struct store_cursor *c, bool *more)
{
    uint32_t key = keys_find(index_keys(view_index(c->s)), c->pattern);
    uint64_t seq = 0;
    size_t steps = 0;

    if (key == KEYS_NONE)
        return 0;
    uint32_t before = c->from > 0 ? index_find(view_index(c->s), c->from - 1) : INDEX_NONE;
    if (c->kind == STORE_LAST_PER_KEY)
        seq = ring_last(c, key, &steps);
    else if (before != INDEX_NONE && index_key(view_index(c->s), before) == key)
        seq = ring_after(c, c->from - 1);
    else if (!ring_from(c, key, NEAR, &seq, &steps))
        seq = literal_search(c, key, more);
    if (seq != 0)
        c->from = seq + 1;
    return seq;
}

static uint64_t heap_next(struct store_cursor *c, bool *more)
{
    for (unsigned steps = 0; c->heaped > 0 && steps < STEPS; steps++, c->steps++) {
        uint64_t seq = c->heap[0];
        uint32_t id = index_find(view_index(c->s), seq);
        bool show = id != INDEX_NONE && seq >= c->from && shows_message(c, id);
        uint64_t after = id == INDEX_NONE || c->kind != STORE_ALL ? 0 : ring_after(c, seq);
        if (id == INDEX_NONE && c->kind == STORE_ALL) {
            /* It was removed, and with it the way along its ring. */
            c->from = seq + 1 > c->from ? seq + 1 : c->from;
            walk_instead(c);
            return walk_next(c, more);
        }
        c->heap[0] = after != 0 && after <= c->upto ? after : c->heap[--c->heaped];
        heap_down(c->heap, c->heaped, 0);
        c->from = seq + 1 > c->from ? seq + 1 : c->from;
        if (show)
            return seq;
    }
    *more = c->heaped > 0;
    return 0;
}

static uint64_t next_present(struct store_cursor *c, bool *more)
{
    *more = false;
    if (c->literal)
        return literal_next(c, more);
    if (c->gather != NULL && !gather_some(c)) {
        *more = true;
        return 0;
    }
    if (!c->walking) {
        uint64_t seq = heap_next(c, more);
        if (seq != 0 || *more || c->walking)
            return seq;
        if (c->upto >= c->from)
            c->from = c->upto + 1;
    }
    return walk_next(c, more);
}

uint64_t store_cursor_next_any(struct store_cursor *c, bool *more, bool *dead)
{
    uint64_t seq = next_present(c, more);

    *dead = seq != 0 && view_overdue(c->s, view_index(c->s), index_find(view_index(c->s), seq));
    return seq;
}

uint64_t store_cursor_next(struct store_cursor *c, bool *more)
{
    bool dead;

    for (unsigned steps = 0; steps < STEPS; steps++) {
        uint64_t seq = store_cursor_next_any(c, more, &dead);
        if (!dead)
            return seq;
    }
    *more = true;
    return 0;
}

/* --- keys ----------------------------------------------------------------------------------- */

struct store_keys {
    struct store *s;
    struct keys_walk *walk;
    bool unseen;
    uint8_t text[KEYS_MAX];
};

struct store_keys *store_keys_new(struct store *s, struct mf_slice pattern)
{
    struct store_keys *k = malloc(sizeof *k);

    if (k == NULL)
        return NULL;
    k->s = s;
    k->unseen = false;
    k->walk = keys_walk_new(index_keys(view_index(s)), pattern);
    if (k->walk == NULL) {
        free(k);
        return NULL;
    }
    return k;
}

void store_keys_unseen(struct store_keys *k)
{
    k->unseen = true;
}

static bool show_key(const struct store_keys *k, uint32_t key, struct store_key *x)
{
    const struct index *ix = view_index(k->s);
    uint32_t first = index_key_first(ix, key), last = index_key_last(ix, key);

    if (!k->unseen)
        return view_key(k->s, key, x);
    if (first == INDEX_NONE)
        return false;
    *x = (struct store_key){.first_seq = index_seq(ix, first),
                            .last_seq = index_seq(ix, last),
                            .count = index_key_count(ix, key)};
    return true;
}

bool store_keys_some(struct store_keys *k, uint32_t *n, struct mf_slice *key, struct store_key *x)
{
    size_t budget = *n;
    uint32_t id;

    while (k->walk != NULL && (id = keys_walk_sum(k->walk, NULL, &budget)) != KEYS_NONE)
        if (show_key(k, id, x)) {
            *key = keys_text(index_keys(view_index(k->s)), id, k->text);
            *n = (uint32_t)budget;
            return true;
        }
    *n = (uint32_t)budget;
    if (k->walk != NULL && budget == 0)
        return false;
    k->walk = NULL; /* it ended itself */
    *n += *n == 0;
    return false;
}

bool store_keys_next(struct store_keys *k, struct mf_slice *key, struct store_key *out)
{
    uint32_t nodes;

    do {
        nodes = UINT32_MAX;
        if (store_keys_some(k, &nodes, key, out))
            return true;
    } while (nodes == 0);
    return false;
}

void store_keys_free(struct store_keys *k)
{
    if (k == NULL)
        return;
    keys_walk_end(k->walk);
    free(k);
}
