/* upkeep_impl.h: state of the store's background work: spare segments, the cleaner, checkpoints,
 * purges, reads from disk.  (Scrubs are in damage_impl.h.) */
#ifndef STORE_UPKEEP_H
#define STORE_UPKEEP_H

#include "store/recover/checkpoint.h"
#include "store/log/image.h"
#include "store/log/record.h"

#include "base/buf.h"
#include "store/store.h"

/* A file with allocated space for a later segment. */
struct blank {
    struct store_file *file;
    uint64_t size;
    uint32_t id; /* of its name: spare_name() */
    bool grown;  /* it was extended: must be synced before its header is written */
};

struct spare {
    struct store_file *file;
    uint64_t size, written;     /* written: while it is being prepared */
    uint64_t got;               /* the worker's: the size that the disk had space for */
    bool ready, busy, dropping; /* dropping: the job deletes it */
    bool allocated;             /* it is being prepared, and its space is allocated */
    bool grown;                 /* as of a blank */
    uint32_t id;                /* of its name */
    int status;
    struct mf_error error;
    struct loop_job *job;
    struct loop_timer *retry; /* after MF_FULL */
    bool later;               /* it is armed */
};

enum clean_stage {
    CLEAN_IDLE,
    CLEAN_READ,    /* a job reads a piece */
    CLEAN_COPIED,  /* its copies are not committed yet */
    CLEAN_EMPTY,   /* waiting for the commit of all accepted writes, before the file is deleted */
    CLEAN_FIRST,   /* a commit names the next segment as the first */
    CLEAN_SYNC,    /* relaxed mode: waiting for the sync of these */
    CLEAN_RECLAIM, /* a job renames or unlinks it */
};
struct cleaner {
    enum clean_stage stage;
    struct loop_job *read_job, *reclaim_job;
    struct loop_timer *later; /* next check whether the log has outgrown its messages */
    struct store_wait wait;
    uint64_t number, offset, end, key;
    struct store_io *io;
    struct store_file *file;
    uint8_t *buf;
    size_t cap, len;
    struct record_pos need; /* must be synced up to here before the file is deleted */
    bool lost, quarantine, to_spare, stuck;
    bool kept_room; /* copies may use the room that is kept for removals */
    bool waits;     /* for room for a copy, or for the end of a shortage: until `later` fires */
    bool sync_failed;
    char to[40];
    int status;
    struct mf_error error;
};

struct dirty_file {
    struct store_file *file;
    uint64_t number; /* of its segment */
};
enum check_stage { CHECK_IDLE, CHECK_FILL, CHECK_WAIT, CHECK_FINISH };
struct checkpointer {
    enum check_stage stage;
    struct loop_job *write_job, *finish_job;
    struct store_wait wait;
    struct mf_list waits, next_waits; /* for this checkpoint, for the next one */
    struct checkpoint_head head;
    struct seal *seal; /* the worker's; NULL: not encrypted */
    bool plain;        /* the last one is not encrypted, and the store is: a new one is due */
    bool put_off;      /* one failed: until `later` fires */
    struct loop_timer *later;
    struct store_io *io;
    struct store_file *file;
    struct mf_buf buf;
    uint64_t offset, from_seq;
    struct dirty_file *dirty; /* to sync before it counts */
    size_t dirties, dirty_cap;
    bool sync_failed; /* of the log's files or the directory, not of its own file */
    int status;
    struct mf_error error;
    uint64_t last_messages;     /* of the last one */
    uint64_t last_bytes, since; /* size of the last one; log bytes written after its start */
};

/* For cursors over the last message of each key: every present message in [from, to) has a newer
 * present one of its key, up to `upto`. from == to: nothing is known. */
struct superseded {
    uint64_t from, to, upto;
};

/* A purge up to `upto` that is not committed yet: readers still see ix. ix NULL: no purge. */
struct purge {
    struct index *ix;
    uint64_t upto;
    struct totals all, hidden; /* messages in it; committed ones that are hidden */
    uint64_t new_keys;         /* image.h; of the group that holds the removal */
    struct loop_job *job;      /* frees `dead` */
    struct index *dead;        /* the worker's while `freeing` */
    bool freeing;
};

/* read.c: messages that workers read from disk. */
struct cold_reads {
    unsigned count;       /* running, or in `later` */
    struct mf_list later; /* read_job.later: waiting for a descriptor */
    struct loop_timer *retry;
    uint32_t epoch; /* segment.seen counts in these */
    int64_t epoch_ns;
};
void read_retry(void *arg); /* the store */

#endif
