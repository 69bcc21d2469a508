/* router_impl.h: a router's parts, for router.c and its checker. */
#ifndef MAYFLY_ROUTER_IMPL_H
#define MAYFLY_ROUTER_IMPL_H

#include "router/cache_impl.h"

struct router {
    struct trie trie;
    struct cache cache;
    uint64_t remotes; /* of subs: those of servers behind links */
    uint64_t subs, inserts, removes, matches, hits;
    bool starved;             /* the last look found no memory */
    struct mf_list observers; /* router_observer.link */
};

#endif
