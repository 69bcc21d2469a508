/* cache.c: the matches of recently published subjects: placing, replacing, forgetting. */
#include "router/cache_impl.h"

#include "subject/subject.h"

#include <stdlib.h>

#define SETS_MIN 16

_Static_assert(sizeof(struct cache_set) == 64, "a set is one cache line");
_Static_assert(CACHE_ITEMS <= UINT8_MAX && CACHE_ONE <= 256 && CACHE_TWO <= 256, "fits its fields");

/* tokens > 0: a subject of one token depends on no generation of two tokens, and uses any. */
static uint8_t one_of(uint64_t first)
{
    return (uint8_t)(first >> 32) & (CACHE_ONE - 1);
}

static uint8_t two_of(uint64_t first, uint64_t second)
{
    return (uint8_t)((first * 31 + second) >> 40) & (CACHE_TWO - 1);
}

void cache_fini(struct cache *c)
{
    for (uint32_t i = 0; i < c->sets; i++)
        for (unsigned w = 0; w < CACHE_WAYS; w++)
            free(c->set[i].way[w]);
    free(c->set);
    c->set = NULL;
    c->sets = c->entries = 0;
}

static void place_entry(struct cache_set *s, unsigned way, struct cache_entry *e)
{
    s->way[way] = e;
    s->tag[way] = (uint16_t)(e->hash >> 48);
}

/* Doubles the sets.  The entries of each old set spread over two new ones, so all find a place. */
static bool grow_sets(struct cache *c)
{
    uint32_t sets = c->sets == 0 ? SETS_MIN : c->sets * 2;
    struct cache_set *old = c->set, *set = aligned_alloc(64, sets * sizeof *set);

    if (set == NULL)
        return false;
    memset(set, 0, sets * sizeof *set);
    for (uint32_t i = 0; i < c->sets; i++) {
        for (unsigned w = 0; w < CACHE_WAYS; w++) {
            struct cache_entry *e = old[i].way[w];
            if (e != NULL)
                place_entry(&set[e->hash & (sets - 1)], w, e);
        }
    }
    free(old);
    c->set = set;
    c->sets = sets;
    return true;
}

/* Finds a way for a subject without an entry: an empty one, or, at the second request in a row, a
 * stale one or the first that was not used since the clock hand passed.  CACHE_WAYS: none.  Entries
 * are not read before the second request: for a subject that is published once they would cost four
 * cache misses. */
static unsigned choose_way(const struct cache *c, struct cache_set *s, uint64_t hash)
{
    for (unsigned w = 0; w < CACHE_WAYS; w++)
        if (s->way[w] == NULL)
            return w;
    if (s->knock != (uint32_t)(hash >> 16)) {
        s->knock = (uint32_t)(hash >> 16);
        return CACHE_WAYS;
    }
    for (unsigned w = 0; w < CACHE_WAYS; w++)
        if (!cache_fresh(c, s->way[w]))
            return w;
    for (;;) {
        unsigned w = s->hand++ % CACHE_WAYS;
        if (!s->way[w]->used)
            return w;
        s->way[w]->used = 0;
    }
}

static struct cache_entry *new_entry(struct cache *c, struct mf_slice subject, uint64_t hash,
                                     uint32_t items)
{
    if (c->entries >= 2 * c->sets && c->sets < CACHE_SETS_MAX && !grow_sets(c) && c->set == NULL)
        return NULL;
    struct cache_set *s = cache_set_of(c, hash);
    unsigned way = choose_way(c, s, hash);
    if (way == CACHE_WAYS)
        return NULL;
    struct cache_entry *e = malloc(sizeof *e + items * sizeof e->item[0] + subject.len);
    if (e == NULL)
        return NULL;
    *e = (struct cache_entry){.hash = hash, .len = (uint16_t)subject.len, .cap = (uint8_t)items};
    memcpy(e->item + items, subject.ptr, subject.len);
    if (s->way[way] == NULL)
        c->entries++;
    free(s->way[way]);
    place_entry(s, way, e);
    return e;
}

static void drop_entry(struct cache *c, struct cache_entry *e)
{
    struct cache_set *s = cache_set_of(c, e->hash);

    for (unsigned w = 0; w < CACHE_WAYS; w++)
        if (s->way[w] == e)
            s->way[w] = NULL;
    c->entries--;
    free(e);
}

void cache_put(struct cache *c, struct cache_entry *stale, struct mf_slice subject, uint64_t hash,
               const struct trie *t, uint32_t n)
{
    uint32_t items = t->found.n;
    struct cache_entry *e = stale;

    if (e != NULL && items > e->cap) {
        drop_entry(c, e);
        e = NULL;
    }
    if (n == 0 || items > CACHE_ITEMS || subject.len > CACHE_SUBJECT)
        return;
    if (e == NULL)
        e = new_entry(c, subject, hash, items);
    if (e == NULL)
        return;
    e->n = (uint8_t)items;
    if (items > 0)
        memcpy(e->item, t->found.v, items * sizeof e->item[0]);
    e->one = one_of(t->token[0].hash);
    e->two = n > 1 ? two_of(t->token[0].hash, t->token[1].hash) : 0;
    e->stamp = cache_stamp(c, e->one, e->two);
}

void cache_forget(struct cache *c, struct mf_slice pattern, bool wild)
{
    struct mf_slice first, second;

    if (c->set == NULL)
        return;
    if (!wild) {
        struct cache_entry *e = cache_find(c, pattern, hash_slice(pattern));
        if (e != NULL)
            drop_entry(c, e);
        return;
    }
    (void)subject_next_token(&pattern, &first); /* a wildcard pattern has a token */
    if (token_kind(first) != NODE_LITERAL)
        c->all++;
    else if (!subject_next_token(&pattern, &second) || token_kind(second) != NODE_LITERAL)
        c->one[one_of(hash_slice(first))]++;
    else
        c->two[two_of(hash_slice(first), hash_slice(second))]++;
}

const char *cache_check(const struct cache *c)
{
    uint32_t entries = 0;

    for (uint32_t i = 0; i < c->sets; i++) {
        for (unsigned w = 0; w < CACHE_WAYS; w++) {
            const struct cache_entry *e = c->set[i].way[w];
            if (e == NULL)
                continue;
            entries++;
            if ((e->hash & (c->sets - 1)) != i || c->set[i].tag[w] != (uint16_t)(e->hash >> 48))
                return "cache: entry in the wrong place";
            if (e->n > e->cap || e->cap > CACHE_ITEMS || e->len > CACHE_SUBJECT)
                return "cache: entry out of bounds";
            if (cache_find(c, mf_slice(cache_subject(e), e->len), e->hash) != e)
                return "cache: entry cannot be found";
        }
    }
    if (entries != c->entries || c->sets > CACHE_SETS_MAX)
        return "cache: wrong number of entries";
    return NULL;
}
