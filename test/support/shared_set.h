/* shared_set.h: some stores and their commit journal, on one set of files. */
#ifndef TEST_SHARED_SET_H
#define TEST_SHARED_SET_H

#include "support/store_drive.h"
#include "support/view_io.h"

#include "store/store_journal.h"

#define SHARED_STORES 3

struct shared_set {
    struct loop *loop;
    struct store_io *all;          /* freed by shared_fini() */
    struct store_journal *journal; /* NULL: not open */
    struct drive d[SHARED_STORES];
    struct store_journal_stats stats; /* of all journals so far */
    uint32_t sync_each;               /* store_journal_opts.sync_each */
    unsigned synced_all;              /* calls of store_journal_opts.sync_all */
    int *at; /* the store that is being worked with is noted here; may be NULL */
};

const char *shared_path(int i); /* names of a store's files begin with it; "j.": the journal's */
void shared_init(struct shared_set *x, struct loop *loop, struct store_io *all,
                 const struct store_opts *o, uint64_t seed);
/* The journal, then the stores.  On failure what was opened stays open. */
MF_MUSTCHECK int shared_try_open(struct shared_set *x, struct mf_error *e);
void shared_open(struct shared_set *x);
MF_MUSTCHECK int shared_try_begin(struct shared_set *x, int i, struct mf_error *e); /* one store */
void shared_begin(struct shared_set *x, int i);
void shared_close(struct shared_set *x); /* those that are open, then the journal */
/* Abandons what is open: the journal's files stay. */
void shared_fini(struct shared_set *x);

#endif
