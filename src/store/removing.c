/* removing.c: messages whose removal is accepted and not yet committed: counted here until
 * commit_done() removes them from the index.  Also: lengths of messages that do not fit a place. */
#include "store/store_impl.h"

#include <stdlib.h>

/* --- lengths -------------------------------------------------------------------------------- */

static uint64_t lengths_hash(uint64_t seq)
{
    return seq * 0x9E3779B97F4A7C15u;
}

static struct length *lengths_find(const struct store *s, uint64_t seq)
{
    struct table_node *n = table_first(&s->view.lengths, lengths_hash(seq));

    while (n != NULL && mf_container(n, struct length, node)->seq != seq)
        n = table_next(n);
    return n == NULL ? NULL : mf_container(n, struct length, node);
}

int lengths_add(struct store *s, uint64_t seq, uint64_t len)
{
    if (len < PLACE_LEN_MAX)
        return 0;
    struct length *b = malloc(sizeof *b);
    if (b == NULL)
        return MF_NOMEM;
    b->seq = seq;
    b->len = len;
    if (table_add(&s->view.lengths, &b->node, lengths_hash(seq)) == 0)
        return 0;
    free(b);
    return MF_NOMEM;
}

void lengths_del(struct store *s, uint64_t seq, uint64_t len)
{
    struct length *b = len < PLACE_LEN_MAX ? NULL : lengths_find(s, seq);

    if (b == NULL)
        return;
    table_del(&s->view.lengths, &b->node);
    free(b);
}

void lengths_fini(struct store *s)
{
    struct table_node *n;
    size_t start = 0;

    while ((n = table_any(&s->view.lengths, &start)) != NULL) {
        table_del(&s->view.lengths, n);
        free(mf_container(n, struct length, node));
    }
    table_fini(&s->view.lengths);
}

/* Two passes, because the table may be resized by a deletion. */
void lengths_purge(struct store *s, uint64_t upto)
{
    struct length *gone = NULL, *b;

    for (size_t i = 0; i < s->view.lengths.cap; i++) {
        for (struct table_node *n = s->view.lengths.slot[i]; n != NULL; n = n->next) {
            b = mf_container(n, struct length, node);
            b->gone = gone;
            gone = b->seq <= upto ? b : gone;
        }
    }
    while ((b = gone) != NULL) {
        gone = b->gone;
        table_del(&s->view.lengths, &b->node);
        free(b);
    }
}

static uint64_t length_at(const struct store *s, const struct index *ix, uint32_t id,
                          uint64_t place)
{
    uint64_t len = place_len(place);

    if (MF_UNLIKELY(len == PLACE_LEN_MAX)) {
        const struct length *b = lengths_find(s, index_seq(ix, id));
        len = b == NULL ? len : b->len;
    }
    return len;
}

uint64_t view_entry_bytes_in(const struct store *s, const struct index *ix, uint32_t id)
{
    return length_at(s, ix, id, index_place(ix, id));
}

struct totals view_entry_totals_in(const struct store *s, const struct index *ix, uint32_t id)
{
    uint64_t place = index_place(ix, id);
    uint16_t flags = place_flags(place), life = index_life(ix, id);

    return (struct totals){.msgs = 1,
                           .bytes = length_at(s, ix, id, place),
                           .flagged = {flags & 1u, flags >> 1},
                           .timed = life & INDEX_TIMED,
                           .infinite = (life & STORE_INFINITE) != 0,
                           .pinned = (life & STORE_PINNED) != 0};
}

/* --- by key --------------------------------------------------------------------------------- */

/* Messages in removal are counted here for keys with more messages than this; the rings of other
 * keys are walked on demand. */
#define LONG_RING 32u

static size_t slot_of(const struct removing_keys *d, uint32_t key)
{
    size_t i = (key * 0x9E3779B1u) & (d->cap - 1);

    while (d->count[i] != 0 && d->key[i] != key)
        i = (i + 1) & (d->cap - 1);
    return i;
}

static bool grow_keys(struct removing_keys *d)
{
    struct removing_keys n = {.cap = d->cap == 0 ? 64 : 2 * d->cap};

    n.key = malloc(n.cap * sizeof *n.key);
    n.count = calloc(n.cap, sizeof *n.count);
    if (n.key == NULL || n.count == NULL) {
        free(n.key);
        free(n.count);
        return false;
    }
    for (size_t i = 0; i < d->cap; i++) {
        if (d->count[i] == 0)
            continue;
        size_t to = slot_of(&n, d->key[i]);
        n.key[to] = d->key[i];
        n.count[to] = d->count[i];
        n.used++;
    }
    free(d->key);
    free(d->count);
    *d = n;
    return true;
}

static void count_removing(struct removing_keys *d, uint32_t key)
{
    if (d->lost || (d->used * 4 >= d->cap * 3 && !grow_keys(d))) {
        d->lost = true;
        return;
    }
    size_t i = slot_of(d, key);
    d->used += d->count[i] == 0;
    d->key[i] = key;
    d->count[i]++;
}

/* Subtracts one; slots behind a hole are moved to where a search finds them. */
static void uncount_removing(struct removing_keys *d, uint32_t key)
{
    size_t i = d->lost || d->cap == 0 ? 0 : slot_of(d, key), mask = d->cap - 1;

    if (d->lost || d->cap == 0 || d->count[i] == 0 || --d->count[i] > 0)
        return;
    d->used--;
    for (size_t j = (i + 1) & mask; d->count[j] != 0; j = (j + 1) & mask) {
        uint32_t k = d->key[j], n = d->count[j];
        d->count[j] = 0;
        size_t to = slot_of(d, k);
        d->key[to] = k;
        d->count[to] = n;
    }
}

/* A message in removal leaves the key: subtracts it, and drops the count of a key whose ring is
 * short now. */
static void shorten_key(struct store *s, uint32_t key)
{
    uint32_t count = index_key_count(s->ix, key);

    if (count > LONG_RING)
        uncount_removing(&s->view.removing_keys, key);
    while (count == LONG_RING + 1 && !s->view.removing_keys.lost && s->view.removing_keys.cap > 0 &&
           s->view.removing_keys.count[slot_of(&s->view.removing_keys, key)] > 0)
        uncount_removing(&s->view.removing_keys, key);
}

/* No removal is pending: frees a large table. */
static void reset_keys(struct removing_keys *d)
{
    if (d->lost || d->cap > 4096) {
        free(d->key);
        free(d->count);
        *d = (struct removing_keys){0};
    }
}

void removing_reset(struct store *s)
{
    free(s->view.removing_keys.key);
    free(s->view.removing_keys.count);
    s->view.removing_keys = (struct removing_keys){0};
}

static uint32_t count_ring_removing(const struct store *s, uint32_t key)
{
    uint32_t n = 0;

    for (uint32_t id = index_key_last(s->ix, key); id != INDEX_NONE; id = index_older(s->ix, id))
        n += index_removing(s->ix, id);
    return n;
}

uint32_t removing_of_key(const struct store *s, uint32_t key)
{
    const struct removing_keys *d = &s->view.removing_keys;

    if (s->view.removing.msgs == 0)
        return 0;
    if (d->lost || index_key_count(s->ix, key) <= LONG_RING)
        return count_ring_removing(s, key);
    return d->cap == 0 ? 0 : d->count[slot_of(d, key)];
}

void removing_key_grew(struct store *s, uint32_t id)
{
    uint32_t key = index_key(s->ix, id);

    if (s->view.removing.msgs == 0 || index_key_count(s->ix, key) != LONG_RING + 1)
        return;
    for (uint32_t n = count_ring_removing(s, key); n > 0; n--)
        count_removing(&s->view.removing_keys, key);
}

/* --- one message ---------------------------------------------------------------------------- */

void removing_add(struct store *s, uint32_t id)
{
    totals_add(&s->view.removing, view_entry_totals(s, id));
    if (index_key_count(s->ix, index_key(s->ix, id)) > LONG_RING)
        count_removing(&s->view.removing_keys, index_key(s->ix, id));
    index_set_removing(s->ix, id);
}

/* The last visible message of its key was hidden.  A newer one, such as a marker, is not
 * committed yet: until then the key has no visible message. */
static void count_waiting_key(struct store *s, uint32_t id)
{
    uint32_t at = index_newer(s->ix, id);

    while (at != INDEX_NONE && index_hidden(s->ix, at))
        at = index_newer(s->ix, at);
    if (at == INDEX_NONE || index_seq(s->ix, at) <= s->log.committed_seq || !view_key_is_new(s, at))
        return;
    if (s->commit.running && index_seq(s->ix, at) <= s->commit.image.last_seq)
        s->commit.image.new_keys++;
    else
        s->commit.filling.new_keys++;
}

void view_hide(struct store *s, uint32_t id)
{
    bool late = late_counts(s, id);
    struct totals t = view_entry_totals(s, id);
    size_t dark = index_hidden_keys(s->ix);

    if (!index_removing(s->ix, id))
        removing_add(s, id);
    totals_add(&s->view.hidden, t);
    superseded_lose(s, s->ix, id);
    index_hide(s->ix, id);
    if (late)
        late_hidden(s, t, index_hidden_keys(s->ix) - dark);
    count_waiting_key(s, id);
    if (s->tally.count > 0)
        tally_gone(s, s->ix, id);
    if (s->hooks.gone != NULL)
        watch_notify(s, s->ix, id);
}

bool view_key_is_new(const struct store *s, uint32_t id)
{
    uint32_t older = index_older(s->ix, id);

    return older == INDEX_NONE || (s->view.hidden.msgs > 0 && index_all_hidden(s->ix, older));
}

void view_key_shown(struct store *s, uint32_t id)
{
    s->commit.filling.new_keys += view_key_is_new(s, id);
}

void removing_done(struct store *s, uint32_t id)
{
    struct totals t = view_entry_totals(s, id);
    struct segment *seg = segs_of(s, index_place(s->ix, id));

    if (seg != NULL && !seg->missing) {
        seg->live_count--;
        seg->live_bytes -= t.bytes;
    }
    if (!index_hidden(s->ix, id)) {
        if (s->view.late.kept)
            late_gone(s, id);
        superseded_lose(s, s->ix, id);
        if (s->tally.count > 0)
            tally_gone(s, s->ix, id);
    }
    if (s->hooks.gone != NULL && !index_hidden(s->ix, id))
        watch_notify(s, s->ix, id);
    totals_sub(&s->view.all, t);
    totals_sub(&s->view.removing, t);
    if (index_hidden(s->ix, id))
        totals_sub(&s->view.hidden, t);
    shorten_key(s, index_key(s->ix, id));
    if (s->view.removing.msgs == 0)
        reset_keys(&s->view.removing_keys);
    lengths_del(s, index_seq(s->ix, id), t.bytes);
    index_remove(s->ix, id);
}

/* --- hidden entries --------------------------------------------------------------------------- */

/* Freed in one turn: as many as one sweep usually expires, while they are in the cache. */
#define HIDDEN_IN_TURN 1000
#define BUNCH          16u

static void free_hidden_turn(void *arg)
{
    struct store *s = arg;

    s->view.freeing_hidden = false;
    hidden_free(s);
    if (!s->view.freeing_hidden)
        store_progress(s);
}

/* Collects the next hidden entries.  Waiting for memory is most of the work, so all are
 * prefetched before the first is freed: the leaf of each key, then its slot in the table. */
static unsigned bunch_collect(struct store *s, uint64_t seq[BUNCH], uint32_t id[BUNCH])
{
    struct ranges *g = &s->view.hidden_ranges;
    unsigned n = 0;

    while (g->done < g->count && n < BUNCH) {
        struct range *r = &g->at[g->done];
        seq[n] = r->first;
        id[n] = index_find(s->ix, r->first);
        if (id[n] != INDEX_NONE)
            keys_prefetch_id(index_keys(s->ix), index_key(s->ix, id[n]));
        n++;
        if (r->first++ == r->last)
            g->done++;
    }
    for (unsigned i = 0; i < n; i++)
        if (id[i] != INDEX_NONE)
            keys_prefetch_del(index_keys(s->ix), index_key(s->ix, id[i]));
    return n;
}

/* A removal may move entries: then the rest is searched again. */
static void bunch_free(struct store *s, const uint64_t seq[BUNCH], uint32_t id[BUNCH], unsigned n)
{
    uint64_t moves = index_moves(s->ix);

    for (unsigned i = 0; i < n; i++) {
        uint32_t at = index_moves(s->ix) == moves ? id[i] : index_find(s->ix, seq[i]);
        if (at != INDEX_NONE && index_hidden(s->ix, at))
            removing_done(s, at);
    }
}

void hidden_free(struct store *s)
{
    struct ranges *g = &s->view.hidden_ranges;
    uint64_t seq[BUNCH];
    uint32_t id[BUNCH];

    if (s->view.freeing_hidden)
        return; /* a turn is already scheduled */
    for (size_t n = 0; g->done < g->count && n < HIDDEN_IN_TURN; n += BUNCH)
        bunch_free(s, seq, id, bunch_collect(s, seq, id));
    if (g->done == g->count) {
        if (g->cap > 65536)
            ranges_fini(g);
        g->count = g->done = 0;
    } else if (loop_post(s->loop, free_hidden_turn, s) == 0) {
        s->view.freeing_hidden = true;
    } /* else the next commit continues */
}
