/* stats.c: the numbers of a router, for pages and metrics. */
#include "router/router_impl.h"

static uint64_t count_fanout(const struct cache_entry *e)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < e->n; i++)
        if ((e->item[i] & ITEM_SAME) == 0)
            n += e->item[i] & ITEM_GROUP ? 1 : item_node(e->item[i])->len;
    return n;
}

void router_stats(struct router *r, struct router_stats *out)
{
    uint64_t sum = 0, fresh = 0;

    *out = (struct router_stats){.subs = r->subs,
                                 .inserts = r->inserts,
                                 .removes = r->removes,
                                 .matches = r->matches,
                                 .cache_hits = r->hits};
    for (uint32_t i = 0; i < r->cache.sets * CACHE_WAYS; i++) {
        const struct cache_entry *e = r->cache.set[i / CACHE_WAYS].way[i % CACHE_WAYS];
        if (e == NULL || !cache_fresh(&r->cache, e))
            continue; /* nodes of a stale entry may be freed */
        uint64_t n = count_fanout(e);
        fresh++;
        sum += n;
        if (n > out->max_fanout)
            out->max_fanout = n;
    }
    out->cache = fresh;
    if (fresh > 0)
        out->avg_fanout = (double)sum / (double)fresh;
}
