/* restore_impl.h: a stream that is being restored.  restore.c receives chunks and answers;
 * restore_store.c creates the stream and stores the archive in it; restore_budget.c: limits;
 * restore_read.c: documents that a worker reads; restore_tar.c: older backups; restore_consumers.c:
 * consumers.
 *
 * An archive is hostile until it is stored: a few bytes may unpack to gigabytes.  So work is done
 * in slices (work.h), a chunk is acknowledged after all of it was processed, unpacked bytes are
 * bounded by the room of the account, and the memory of all restores of an account by
 * RESTORE_MEMORY_MAX. */
#ifndef BACKUP_RESTORE_IMPL_H
#define BACKUP_RESTORE_IMPL_H

#include "backup/backup_impl.h"
#include "backup/consumer_backup_impl.h"
#include "codec/natsfile.h"

#include "base/rand.h"
#include "codec/archive.h"
#include "codec/s2.h"

/* Of state.json and of the request. */
struct restore_state {
    uint64_t msgs, bytes, first_seq, last_seq, subjects, deleted_count;
    int64_t first_ts_ns, last_ts_ns, consumers;
    struct mf_slice subject_counts, deleted, lost; /* as they stand there; not looked at */
};
extern const struct json_type restore_state_type;

struct restore_tar;  /* restore_tar.c */
struct restore_read; /* restore_read.c */

struct restore {
    struct mf_list link; /* backup_account.restores */
    struct api_account *aa;
    struct stream_config cfg; /* as it will be */
    char *name;
    struct mf_slice client; /* both behind the struct */
    int64_t start_ns;
    uint64_t total; /* bytes received */
    char subject[sizeof "$JS.SNAPSHOT.RESTORE.." + 255 + RAND_NUID];
    struct router_sub sub;
    struct loop_timer *idle;
    struct work_task task;
    struct mf_list chunks; /* waiting, in order; their bytes */
    size_t waiting;
    bool fed; /* the first of them was given to s2 */
    struct s2_reader s2;
    struct archive_reader archive;
    struct restore_tar *tar;   /* NULL: it is not one */
    struct restore_read *read; /* NULL: no worker reads a document */

    /* restore_budget.c */
    bool counted;             /* in api_account.creating */
    uint64_t unpacked, allow; /* bytes of the archive: so far, at most */
    int64_t promised;         /* its max_bytes: reserved */
    int64_t held;             /* bytes of its messages that are counted as used already */
    size_t memory;            /* of its part of backup_account.restore_memory */

    /* restore_store.c */
    struct restore_state state; /* of the archive */
    struct catalog_op op;
    struct catalog_wait busy;
    bool pending; /* op or busy is under way */
    bool begun;   /* state.json was read */
    bool made;    /* there is a stream of ours, made at */
    int64_t created_ns;
    uint64_t last_seq; /* the last one read */
    uint64_t stored;   /* the last one in the stream */
    size_t inflight, inflight_bytes;
    struct mf_list consumers; /* restore_consumers.c: read, not made yet */
    int64_t consumers_read;
    size_t consumer_bytes, making; /* of documents; under way */
    bool failed;                   /* and why: */
    struct js_error error;
    bool complete;  /* all of it is there, the stream is as it should be */
    bool stopped;   /* ended: to be freed as soon as nothing is under way */
    unsigned users; /* callers that hold it: freed after the last one */
};

/* restore.c: schedules the next slice. */
void restore_wake(struct restore *r);

/* restore_store.c */

/* Stores the entries of the archive that were unpacked.  0: all of them; MF_AGAIN: restore_wake()
 * follows; else it has failed. */
int restore_take(struct restore *r);
/* After the last entry: gives the stream its final state.  MF_AGAIN as above, until r->complete or
 * failed. */
int restore_complete(struct restore *r);
/* Remembers why (the first time) and deletes the stream. */
void restore_fail(struct restore *r, const char *fmt, ...) MF_PRINTF(2, 3);
void restore_fail_with(struct restore *r, const struct js_error *e);
/* May a stream of that name be restored?  MF_DENIED: there is one, perhaps one that is offline. */
MF_MUSTCHECK int restore_name_free(struct api_account *aa, const char *name, struct js_error *e);
/* The stream being restored; NULL: not created yet, or deleted. */
struct stream *restore_stream(struct restore *r);
/* Nothing is under way that will call back. */
static inline bool restore_idle(const struct restore *r)
{
    return !r->pending && r->inflight == 0 && r->making == 0;
}

/* restore_budget.c */

/* At the start: a place among the account's streams and restores, and the bytes it may unpack.
 * Undone by restore_unreserve(), which is harmless twice. */
MF_MUSTCHECK int restore_reserve(struct restore *r, struct js_error *e);
void restore_unreserve(struct restore *r);
/* The stream is counted by the catalog now. */
void restore_counted(struct restore *r);
/* May the account have the stream, beside all others?  Its own reservation does not count. */
MF_MUSTCHECK int restore_allowed(struct restore *r, struct js_error *e);
/* The archive says how many bytes its messages have: they must fit, and are kept free for it.
 * false: it has failed. */
bool restore_hold(struct restore *r, uint64_t bytes);
/* Is there room for a message of that many bytes?  true: they are no longer held, it is stored now.
 * false: it has failed. */
bool restore_room(struct restore *r, uint64_t bytes);
/* More was unpacked, or is kept: does that fit?  false: it has failed. */
bool restore_within(struct restore *r);

/* restore_read.c: long documents are read by a worker, from a copy.  Meanwhile r->read is set, and
 * no other entry of the archive is read; restore_wake() follows. */

/* A consumer of the archive; or of a tar, where its configuration stands apart. */
void restore_read_consumer(struct restore *r, struct mf_slice name, struct mf_slice text);
void restore_read_state(struct restore *r, struct mf_slice name, struct mf_slice config,
                        struct mf_slice state);
/* Is it an index of just these blocks?  *bytes are taken away and given back before then(): *i is
 * past its subjects; NULL: it is not one. */
void restore_read_index(struct restore *r, struct mf_buf *bytes, uint32_t block,
                        const uint8_t check[HIGHWAY_BYTES],
                        void (*then)(struct restore *r, const struct natsfile_index *i));
/* Drops the result of the worker. */
void restore_read_drop(struct restore *r);
size_t restore_read_memory(const struct restore_read *x); /* bytes; NULL: 0 */

/* A message of the archive; one at a time, sequences going up. */
void restore_take_msg(struct restore *r, struct stream *s, const struct archive_entry *e);

/* restore_tar.c: a backup of nats-server 2.14 or older. */

/* r->archive.in does not begin like our archives. */
void restore_tar_begin(struct restore *r);
/* One step.  0: r->failed, or go on; MF_AGAIN: more bytes are needed. */
int restore_tar_step(struct restore *r);
/* All was read: deleted messages go, the last sequence is found.  0, or MF_AGAIN: once more. */
int restore_tar_finish(struct restore *r, struct stream *s);
void restore_tar_free(struct restore_tar *x);           /* NULL is fine */
size_t restore_tar_memory(const struct restore_tar *x); /* bytes; NULL: 0 */

/* restore_consumers.c */

/* One entry of the archive that must be a consumer. */
void restore_take_consumer(struct restore *r, const struct archive_entry *e);
/* Takes over *b.  bad_state: the error of its state, NULL: none. */
void restore_add_consumer(struct restore *r, const char *name, struct consumer_backup *b,
                          const char *bad_state);
/* All messages are there: the consumers are made.  0: all, or r->failed.  MF_AGAIN as above. */
int restore_make_consumers(struct restore *r, struct stream *s);
void restore_drop_consumers(struct restore *r);

#endif
