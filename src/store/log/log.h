/* log.h: state of the log: its end, the commit group that fills and the one in flight, the open
 * commit batch.  A part of store_impl.h. */
#ifndef STORE_LOG_H
#define STORE_LOG_H

#include "store/log/gather.h"
#include "store/log/image.h"
#include "store/log/record.h"

#include "base/buf.h"
#include "base/list.h"
#include "loop/loop.h"

/* The end of the log, and what the next commit record says. */
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

/* The open commit batch: its records, not yet placed in the log (write.c). */
struct open_batch {
    bool open;
    bool frees;        /* store_begin(): it makes room, and is never held back */
    bool uses_reserve; /* it, or a removal in it, may use the room kept for removals */
    size_t reserved;   /* bytes kept in it for removals to come */
    struct mf_buf buf;
    size_t last;        /* offset of its last record */
    struct moved *msgs; /* seq, from = offset in buf, to = len and flags */
    size_t msg_count, msg_cap;
};

#endif
