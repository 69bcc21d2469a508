/* journal.h: what a store keeps of the commit journal, and what it calls.  A part of
 * store_impl.h. */
#ifndef STORE_JOURNAL_PART_H
#define STORE_JOURNAL_PART_H

#include "base/list.h"
#include "store/store_journal.h"

struct image;

/* A store's place in the journal. */
struct share {
    struct store_journal *journal; /* NULL: not joined */
    char *path;
    struct mf_list node;  /* in one of the journal's lists: its group is ready, or in flight */
    uint64_t generation;  /* of the journal's file with its latest group; 0: none */
    uint32_t entry_bytes; /* of the group that is ready */
};

/* True: the group (store.commit.image) goes into the journal; commit_done() follows. */
bool share_take(struct store *s);
/* Is any group of this store still in the journal, needed or not? */
bool share_lives(const struct store *s);
/* The journal may not need this store's groups any more: they are synced, or given up. */
void share_leave(struct store *s, bool synced);
/* On a worker: wipes in the journal all groups of the store that hold one of these messages
 * (ascending).  The rest of those groups must be synced in its segments. */
MF_MUSTCHECK int journal_void_messages(struct store_journal *j, const uint8_t id[16],
                                       const uint64_t *seqs, size_t n, struct mf_error *e);
/* On a worker: the same for the parts of this group, which failed. */
MF_MUSTCHECK int journal_void_group(struct store_journal *j, const uint8_t id[16],
                                    const struct image *im, struct mf_error *e);

#endif
