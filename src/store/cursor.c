/* cursor.c: messages of matching keys in sequence order; keys that match.
 *
 * Three ways, by pattern: everything (walk the index), one key (walk its ring), some keys (collect
 * their heads in a binary heap by sequence and move each along its ring).  A pattern that matches
 * too many keys for a heap walks the index and tests each message.  New keys that come after the
 * heap was made are beyond its snapshot: they have greater sequences than all that were there, so
 * when the heap is empty the cursor goes on by walking from the last sequence it knew. */
#include "store_impl.h"

#include <stdlib.h>

#define STEPS 4096 /* messages passed over in one call */

struct store_cursor {
    struct store *s;
    enum store_cursor_kind kind;
    uint64_t from;      /* the next sequence to look at */
    uint64_t heap_upto; /* what the heap covers; beyond it: walk */
    uint64_t *heap;     /* next sequence of each key */
    size_t heaped;
    bool all, literal;
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

/* Cursors over all messages walk those past their deadline too, and tell them apart at the end. */
static bool shown(const struct store_cursor *c, uint32_t id)
{
    return c->kind == STORE_LAST_PER_KEY ? visible(c->s, id) : present(c->s, id);
}

/* The first message of a key that may be shown, at or after `from`; 0: none.  Walks from the end
 * that is nearer in most uses: the oldest for a start at the beginning, else the newest. */
static uint64_t ring_from(const struct store_cursor *c, uint32_t key, uint64_t from)
{
    const struct index *ix = seen(c->s);
    uint64_t found = 0;

    if (c->kind == STORE_LAST_PER_KEY) {
        struct store_key k;
        return view_key(c->s, key, &k) && k.last_seq >= from ? k.last_seq : 0;
    }
    uint32_t id = index_key_first(ix, key);
    if (index_seq(ix, id) < from)
        for (id = index_key_last(ix, key); id != INDEX_NONE && index_seq(ix, id) >= from;
             id = index_older(ix, id)) {
            if (shown(c, id))
                found = index_seq(ix, id);
        }
    else
        for (; id != INDEX_NONE && found == 0; id = index_newer(ix, id))
            if (shown(c, id))
                found = index_seq(ix, id);
    return found;
}

/* The next message after `seq`, which is still there, on its key. */
static uint64_t ring_after(const struct store_cursor *c, uint64_t seq)
{
    uint32_t id = index_find(seen(c->s), seq);

    if (c->kind == STORE_LAST_PER_KEY)
        return 0;
    while ((id = index_newer(seen(c->s), id)) != INDEX_NONE)
        if (shown(c, id))
            return index_seq(seen(c->s), id);
    return 0;
}

static int heap_make(struct store_cursor *c)
{
    struct keys_walk *w = keys_walk_new(index_keys(seen(c->s)), c->pattern);
    size_t cap = 0;
    uint32_t key;
    int rc = 0;

    if (w == NULL)
        return MF_NOMEM;
    while ((key = keys_walk_next(w)) != KEYS_NONE) {
        uint64_t seq = ring_from(c, key, c->from);
        if (c->heaped == STORE_CURSOR_KEYS) {
            c->heaped = 0; /* too many: walk and test */
            c->heap_upto = 0;
            keys_walk_end(w);
            return 0;
        }
        if (seq == 0)
            continue;
        if (c->heaped == cap) {
            cap = cap == 0 ? 64 : 2 * cap;
            uint64_t *h = realloc(c->heap, cap * sizeof *h);
            if (h == NULL) {
                rc = MF_NOMEM;
                keys_walk_end(w);
                return rc;
            }
            c->heap = h;
        }
        c->heap[c->heaped++] = seq;
    }
    for (size_t i = c->heaped / 2; i-- > 0;)
        heap_down(c->heap, c->heaped, i);
    c->heap_upto = c->s->committed_seq;
    return 0;
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
    c->from = from_seq;
    c->all = mf_eq_str(pattern, ">");
    c->literal = !has_wildcard(s, pattern);
    if (!c->all && !c->literal && heap_make(c) != 0) {
        store_cursor_free(c);
        return MF_NOMEM;
    }
    *out = c;
    return 0;
}

void store_cursor_free(struct store_cursor *c)
{
    if (c == NULL)
        return;
    free(c->heap);
    free(c);
}

/* --- next ----------------------------------------------------------------------------------- */

/* Is this message what the cursor shows?  For the last of a key: no newer one may be seen. */
static bool shows(const struct store_cursor *c, uint32_t id)
{
    if (!shown(c, id))
        return false;
    if (c->kind == STORE_LAST_PER_KEY)
        for (uint32_t n = index_newer(seen(c->s), id); n != INDEX_NONE;
             n = index_newer(seen(c->s), n))
            if (visible(c->s, n))
                return false;
    return c->all || keys_matches(index_keys(seen(c->s)), index_key(seen(c->s), id), c->pattern);
}

static uint64_t walk_next(struct store_cursor *c, bool *more)
{
    const struct index *ix = seen(c->s);

    for (int steps = 0; steps < STEPS; steps++) {
        uint32_t id = index_next(ix, c->from);
        if (id == INDEX_NONE || index_seq(ix, id) > c->s->committed_seq) {
            if (c->from <= c->s->committed_seq)
                c->from = c->s->committed_seq + 1;
            return 0;
        }
        c->from = index_seq(ix, id) + 1;
        if (shows(c, id))
            return c->from - 1;
    }
    *more = true;
    return 0;
}

/* One key: its ring, whatever lies between. */
static uint64_t literal_next(struct store_cursor *c)
{
    uint32_t key = keys_find(index_keys(seen(c->s)), c->pattern);
    uint64_t seq = 0;

    if (key == KEYS_NONE)
        return 0;
    uint32_t before = c->from > 0 ? index_find(seen(c->s), c->from - 1) : INDEX_NONE;
    if (before != INDEX_NONE && index_key(seen(c->s), before) == key && c->kind == STORE_ALL)
        seq = ring_after(c, c->from - 1);
    else
        seq = ring_from(c, key, c->from);
    if (seq != 0)
        c->from = seq + 1;
    return seq;
}

static uint64_t heap_next(struct store_cursor *c, bool *more)
{
    for (int steps = 0; c->heaped > 0 && steps < STEPS; steps++) {
        uint64_t seq = c->heap[0];
        uint32_t id = index_find(seen(c->s), seq);
        bool show = id != INDEX_NONE && shows(c, id);
        uint64_t after = id == INDEX_NONE ? 0 : ring_after(c, seq);
        if (id == INDEX_NONE && c->kind == STORE_ALL) {
            /* It went meanwhile, and with it the way along its ring: walk the rest. */
            c->heaped = 0;
            c->heap_upto = 0;
            c->from = seq + 1 > c->from ? seq + 1 : c->from;
            return walk_next(c, more);
        }
        if (after != 0 && after <= c->heap_upto) {
            c->heap[0] = after;
        } else {
            c->heap[0] = c->heap[--c->heaped];
        }
        heap_down(c->heap, c->heaped, 0);
        c->from = seq + 1;
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
        return literal_next(c);
    if (c->heaped > 0) {
        uint64_t seq = heap_next(c, more);
        if (seq != 0 || *more)
            return seq;
    }
    if (c->heap_upto >= c->from)
        c->from = c->heap_upto + 1;
    return walk_next(c, more);
}

uint64_t store_cursor_next_any(struct store_cursor *c, bool *more, bool *dead)
{
    uint64_t seq = next_present(c, more);

    *dead = seq != 0 && overdue(c->s, seen(c->s), index_find(seen(c->s), seq));
    return seq;
}

uint64_t store_cursor_next(struct store_cursor *c, bool *more)
{
    bool dead;

    for (int steps = 0; steps < STEPS; steps++) {
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
    uint8_t text[KEYS_MAX];
};

struct store_keys *store_keys_new(struct store *s, struct mf_slice pattern)
{
    struct store_keys *k = malloc(sizeof *k);

    if (k == NULL)
        return NULL;
    k->s = s;
    k->walk = keys_walk_new(index_keys(seen(s)), pattern);
    if (k->walk == NULL) {
        free(k);
        return NULL;
    }
    return k;
}

bool store_keys_next(struct store_keys *k, struct mf_slice *key, struct store_key *out)
{
    uint32_t id;

    while (k->walk != NULL && (id = keys_walk_next(k->walk)) != KEYS_NONE)
        if (view_key(k->s, id, out)) {
            *key = keys_text(index_keys(seen(k->s)), id, k->text);
            return true;
        }
    k->walk = NULL; /* it ended itself */
    return false;
}

void store_keys_free(struct store_keys *k)
{
    if (k == NULL)
        return;
    keys_walk_end(k->walk);
    free(k);
}
