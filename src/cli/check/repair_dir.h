/* repair_dir.h: the folder of a repaired copy.  The copy is written as DST.partial and renamed
 * when everything in it is synced: DST holds the whole copy or does not exist. */
#ifndef CLI_REPAIR_DIR_H
#define CLI_REPAIR_DIR_H

#include "cli/check/repair.h"

struct repair_dir {
    char *to;         /* DST */
    char *partial;    /* DST.partial */
    bool made;        /* partial, by us */
    int store;        /* the store's folder that is being filled; -1: none */
    int64_t uid, gid; /* who owns the source; -1: leave it to the system */
    struct repair_sink sink;
};

/* MF_EXISTS: DST holds something, or DST.partial is there; MF_INVAL: DST lies in src. */
MF_MUSTCHECK int repair_dir_begin(struct repair_dir *d, const char *src, const char *to,
                                  struct mf_error *e);
/* The folder below DST for the next store ("": DST itself); d->sink writes there. */
MF_MUSTCHECK int repair_dir_store(struct repair_dir *d, const char *below, struct mf_error *e);
MF_MUSTCHECK int repair_dir_store_end(struct repair_dir *d, struct mf_error *e);
MF_MUSTCHECK int repair_dir_end(struct repair_dir *d, struct mf_error *e);
/* DST.partial stays if something was written and repair_dir_end() was not called; a message says
 * so. */
void repair_dir_fini(struct repair_dir *d);

#endif
