/* view_impl.h: the view of readers on the index.  A part of store_impl.h. */
#ifndef STORE_VIEW_H
#define STORE_VIEW_H

#include "store/late_impl.h"
#include "store/log/image.h"

#include "base/list.h"
#include "base/table.h"

/* Number of messages in removal of a key, for keys with many messages (removing.c): open addressing
 * by key id.  The ring of other keys is walked on demand. */
struct removing_keys {
    uint32_t *key, *count;
    size_t cap, used;
    bool lost; /* out of memory: ask the ring instead */
};

/* Readers see `all` without `hidden`; checks of writers count `all` without `removing`. */
struct store_view {
    struct totals all;      /* committed */
    struct totals removing; /* their removal is accepted, not committed; or they are hidden */
    struct totals hidden;   /* of those: expired */
    struct late late;
    struct removing_keys removing_keys;
    struct ranges hidden_ranges; /* hidden, the removal committed, still in the index */
    bool freeing_hidden;         /* hidden_free() is due */
    struct table lengths;        /* lengths of messages too long for their place: struct length */
    uint64_t front_seq;          /* nothing before it is visible: store_next() */
};

/* Counts that are kept for readers (tally.c). */
struct tally_list {
    struct mf_list list; /* struct tally, the one asked for last is last */
    size_t count;
    uint64_t steps; /* messages visited for all of them */
};

#endif
