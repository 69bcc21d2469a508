/* linked_unseen_impl.h: messages that a link made infinite before they could be read (linked.c).
 *
 * A blob keeps the former deadline of each until the message was read and judged. */
#ifndef STREAM_LINKED_UNSEEN_H
#define STREAM_LINKED_UNSEEN_H

#include "stream/stream_impl.h"

struct unseen {
    uint64_t seq;
    int64_t deadline_ns; /* before that; 0: none */
};

struct unseen_set {
    struct unseen *at;
    size_t n, room;
};

void unseen_load(struct unseen_set *u, struct store *st);       /* at a start */
void unseen_fini(struct unseen_set *u);                         /* the blobs stay */
struct unseen *unseen_find(struct unseen_set *u, uint64_t seq); /* NULL; O(n) */
/* In the open batch.  MF_LIMIT: too many; MF_NOMEM; the store's trouble. */
MF_MUSTCHECK int unseen_add(struct unseen_set *u, struct store *st, uint64_t seq,
                            int64_t deadline_ns);
void unseen_drop(struct unseen_set *u, struct store *st, struct unseen *x);
void unseen_clear(struct unseen_set *u, struct store *st); /* all of them */

#endif
