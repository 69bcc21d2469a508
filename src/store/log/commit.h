/* commit.h: commit groups: state of the log's end, of the group that fills and of the one in
 * flight. A part of store_impl.h. */
#ifndef STORE_COMMIT_H
#define STORE_COMMIT_H

#include "store/log/gather.h"
#include "store/log/image.h"
#include "store/log/record.h"

#include "base/list.h"
#include "loop/loop.h"
#include "store/store.h"

/* The end of the log, and the contents of the next commit record. */
struct store_log {
    uint32_t needs; /* the version a segment must have for the next record; 0: any */
    bool full;      /* no space for messages */
    bool starved;   /* a write was refused with MF_AGAIN or MF_FULL: store_opts.ready is due */
    uint64_t group; /* number of the last commit group */
    uint64_t first_segment;
    uint64_t last_seq;      /* accepted */
    uint64_t committed_seq; /* readers see up to here */
    struct record_pos committed, synced;
    uint32_t chain; /* of the last committed record */
    struct record_mark mark;
    int64_t clock_ns;
};

/* Commit groups (commit.c): one fills while the one before is written. */
struct committer {
    struct image filling, image;       /* image: in flight, the worker's while `running` */
    struct mf_list waiting, in_flight; /* struct store_wait.node: for filling, for image */
    struct gather gather;
    bool running;
    bool retrying;    /* the group in flight found no space, */
    bool retry_armed; /* and waits for the next attempt */
    bool bare;        /* a commit record is wanted, even alone */
    struct loop_job *job;
    struct loop_timer *retry_timer;
    struct loop_defer defer; /* one commit for all records of this turn */
};

/* Syncs in the relaxed mode (commit.c). */
struct syncer {
    bool running;
    struct image image; /* only files of extents are used */
    struct record_pos upto;
    struct loop_job *job;
    struct loop_timer *timer;
};

/* A commit group is written at the end of this turn of the loop, or after the one in flight. */
void commit_kick(struct store *s);
void commit_start(struct store *s); /* now; nothing happens while a group is in flight */
void commit_retry(void *arg);       /* timer: the group that found no space is written again */
void commit_work(void *arg);        /* worker; the image */
void commit_done(void *arg);        /* the image */
/* On a worker, for the commit journal: fills in the checks; writes, without a sync. */
void commit_finish(struct image *im);
MF_MUSTCHECK int commit_spread(struct image *im);
bool commit_bare(struct store *s); /* a commit record without anything else; false: no room */
/* Waits for all that was accepted up to now; false: it is committed already, w is not called. */
bool commit_barrier(struct store *s, struct store_wait *w);
void commit_answer(struct mf_list *waits, int status);        /* calls and empties the list */
void store_fail(struct store *s, int code, const char *text); /* read-only from here on */
/* Relaxed mode: syncs every file that was written since the last sync. */
void commit_sync(void *arg);
void commit_sync_work(void *arg); /* worker; the image */
void commit_sync_done(void *arg); /* the image */

#endif
