/* cache_impl.h: the matches of recently published subjects.
 *
 * An entry lists nodes, not subscriptions: it stays valid while subscriptions begin and end at
 * patterns that have others.  It becomes invalid when a node gets its first subscription or loses
 * its last one:
 *   - the pattern is literal: the entry of that subject is dropped;
 *   - the pattern has wildcards: a generation is advanced: that of its first two tokens if both are
 * literal, else that of its first token, else the generation of all subjects.  An entry is fresh
 * while the sum of the three generations it depends on is unchanged; generations only grow, so
 * equal sums mean equal parts.  A client that subscribes to _INBOX.<id>.* thus invalidates only one
 * of 256 parts of the inboxes.
 *
 * Four-way sets, at most CACHE_SETS_MAX; a new subject gets a free place at once, but replaces
 * another entry only when it is published twice in a row: subjects that never repeat cannot
 * displace the others, and cost no allocation once the cache is full. */
#ifndef MAYFLY_ROUTER_CACHE_H
#define MAYFLY_ROUTER_CACHE_H

#include "codec/hash.h"
#include "router/trie_impl.h"

#define CACHE_WAYS     4
#define CACHE_SETS_MAX 2048
#define CACHE_ITEMS    32  /* larger results are not kept: walking them costs more than finding */
#define CACHE_SUBJECT  256 /* nor longer subjects */
#define CACHE_ONE      64
#define CACHE_TWO      256

struct cache_entry {
    uint64_t hash, stamp;
    uint16_t len;     /* of the subject, which stands behind the items */
    uint8_t one, two; /* generations it depends on */
    uint8_t n, cap;
    uint8_t used; /* since the clock hand passed */
    uintptr_t item[];
};

struct cache_set {
    struct cache_entry *way[CACHE_WAYS];
    uint16_t tag[CACHE_WAYS];
    uint32_t knock; /* hash of the last subject that found no place */
    uint8_t hand;
    uint8_t pad[19];
};

struct cache {
    struct cache_set *set; /* NULL until the first put */
    uint32_t sets, entries;
    uint64_t all, one[CACHE_ONE], two[CACHE_TWO];
};

void cache_fini(struct cache *c);
/* Stores the items of t->found for the subject just split into n tokens. stale: its present entry,
 * or NULL. Does nothing if the result is too large or memory is short. */
void cache_put(struct cache *c, struct cache_entry *stale, struct mf_slice subject, uint64_t hash,
               const struct trie *t, uint32_t n);
/* The matches of subjects that match pattern have changed. */
void cache_forget(struct cache *c, struct mf_slice pattern, bool wild);
/* The name of a broken invariant, or NULL. */
const char *cache_check(const struct cache *c);

static inline const uint8_t *cache_subject(const struct cache_entry *e)
{
    return (const uint8_t *)(e->item + e->cap);
}
static inline uint64_t cache_stamp(const struct cache *c, uint8_t one, uint8_t two)
{
    return c->all + c->one[one] + c->two[two];
}
static inline bool cache_fresh(const struct cache *c, const struct cache_entry *e)
{
    return e->stamp == cache_stamp(c, e->one, e->two);
}
static inline struct cache_set *cache_set_of(const struct cache *c, uint64_t hash)
{
    return &c->set[hash & (c->sets - 1)];
}
/* Fresh or not; NULL if there is none. */
static inline struct cache_entry *cache_find(const struct cache *c, struct mf_slice subject,
                                             uint64_t hash)
{
    if (c->set == NULL)
        return NULL;
    const struct cache_set *s = cache_set_of(c, hash);
    for (unsigned i = 0; i < CACHE_WAYS; i++) {
        struct cache_entry *e = s->way[i];
        if (s->tag[i] == (uint16_t)(hash >> 48) && e != NULL && e->hash == hash &&
            e->len == subject.len && memcmp(cache_subject(e), subject.ptr, subject.len) == 0)
            return e;
    }
    return NULL;
}

#endif
