/* store_impl.h: the store's insides, shared by the files of this folder only.
 *
 *     store.c       open, attach, close           log/write.c     writing calls, commit batches
 *     view.c        views of readers and writers  log/room.c      place of the next record
 *     removing.c    accepted removals, hiding     log/commit.c    commit groups
 *     watch.c       notices of ends               log/gather.c    pause before a commit
 *     expire.c      sweeps                        log/segments.c  files, the spare
 *     late.c        counts of overdue messages    log/clean.c     reclaiming the first segment
 *     ahead.c       pages by deadline             log/erase.c     overwriting removed messages
 *     forecast.c    histogram of deadlines        read.c          reads of messages
 *     cursor.c      walks by pattern              blob.c          small values
 *     count.c       counts by pattern             scrub.c         reading all segments once
 *     tally.c       kept counts                   patrol.c        the same in the background
 *     purge.c       removal of everything         damage.c        list of damage
 *     recover/      recovery, checkpoints         index/, keys/   what exists
 *     io/           files under a store           journal/        commits of several stores
 *     crypt/        the key file, opened messages
 */
#ifndef STORE_IMPL_H
#define STORE_IMPL_H

#include "store/crypt/crypt.h"
#include "store/crypt/opened.h"
#include "store/recover/checkpoint.h"
#include "store/damage_impl.h"
#include "store/log/erase.h"
#include "store/log/commit.h"
#include "store/log/image.h"
#include "store/index/index.h"
#include "store/journal/journal.h"
#include "store/late_impl.h"
#include "store/log/record.h"
#include "store/recover/recover.h"
#include "store/log/segments.h"
#include "store/log/write.h"
#include "store/upkeep_impl.h"
#include "store/view_impl.h"

#include "base/buf.h"
#include "store/store.h"
#include "base/table.h"

#define SEGMENT_MIN_DEFAULT (64u << 10)
#define SEGMENT_TINY        (2 * SEGMENT_PAGE) /* on a full disk, for what frees space */
#define SEGMENT_MAX_DEFAULT (64u << 20)
#define PENDING_MAX_DEFAULT (64u << 20)
/* Every segment keeps this free at its end, for the last commit record and the seal. */
#define SEGMENT_TAIL (RECORD_COMMIT_SIZE + RECORD_SEAL_SIZE)
#define BATCH_MAX    (SEGMENT_MAX - SEGMENT_PAGE - SEGMENT_TAIL - 4096)

#define BLOB_IN_BATCH UINT64_MAX /* its segment is known when the open batch ends */
struct blob {
    struct table_node node;
    struct mf_list in_batch; /* blobs.in_batch, or in no list */
    uint8_t *name, *bytes;
    size_t name_len, bytes_len;
    uint64_t segment;
};

/* Values that the owner replaces as a whole (blob.c). */
struct blobs {
    struct table by_name;    /* struct blob */
    uint64_t bytes;          /* of all segments, on disk */
    struct mf_list in_batch; /* written in the open batch: their segment is known when it ends */
};

/* Callbacks of the owner; each may be NULL. */
struct store_hooks {
    void (*before_commit)(void *arg), *before_commit_arg; /* store_on_commit() */
    void (*resumed)(void *arg), *resumed_arg;             /* store_on_resume() */
    void (*gone)(void *arg, uint64_t first, uint64_t last, struct mf_slice key); /* store_watch() */
    void *gone_arg;
};

/* Closing, step by step (close_step()). */
struct closer {
    bool begun;     /* store_close() was called on an attached store */
    bool committed; /* everything is on disk: files that were made ahead may be deleted */
    int stage;
    struct store_wait wait; /* for the last checkpoint */
    struct loop_defer defer;
    void (*closed)(void *arg);
    void *closed_arg;
};

struct store {
    struct store_opts o;
    char *name;
    struct store_io *io;
    struct loop *loop; /* NULL: not attached */
    uint8_t id[STORE_ID];
    struct crypt *crypt; /* NULL: it is not encrypted */
    struct opened opened;
    int failed; /* not 0: read-only; why: */
    char error[600];
    int64_t now_ns; /* store_now() */
    struct store_stats stats;
    struct store_hooks hooks;

    struct index *ix;
    struct segments segs;
    struct blobs blobs;

    struct store_log log;
    struct committer commit;
    struct syncer sync;
    struct share share;
    struct open_batch batch;

    struct store_view view;
    struct purge purge;
    struct superseded superseded;
    struct tally_list tally;

    struct spare spare;
    struct cleaner clean;
    struct checkpointer check;
    struct scrubber scrub;
    struct eraser erase;
    struct cold_reads reads;
    struct damage_list damage;
    struct patrolled patrolled;
    struct closer close;
};

#include "store/count_impl.h"
#include "store/removing_impl.h"
#include "store/log/room.h"

/* settle.c: after recovery, before anything else is written.  A store that was not encrypted so far
 * is from here on: the cleaner moves its earlier records. */
MF_MUSTCHECK int crypt_settle(struct store *s, const struct store_secret *secret,
                              const struct recovery *r, struct mf_error *e);

/* store.c */
void store_progress(struct store *s); /* called when a job ended: continues upkeep, or closing */

/* Bytes of a box beside the data of a record that is written now; its cipher. */
static inline size_t store_box(const struct store *s)
{
    return s->crypt == NULL ? 0 : SEAL_ROOM;
}
static inline uint8_t store_cipher(const struct store *s)
{
    return s->crypt == NULL ? SEAL_NONE : (uint8_t)s->crypt->cipher;
}

/* Bytes on disk of all live messages and blobs. */
static inline uint64_t store_live(const struct store *s)
{
    return live_disk(s->view.all.bytes, s->view.all.msgs, store_box(s)) + s->blobs.bytes;
}

/* ahead.c: advances the wheel to the present, so that its slots are short; false: call again. */
bool ahead_ready(struct store *s, struct index *ix, struct wheel_scan *scan, size_t steps);
/* cursor.c: called before the message is hidden or removed. */
void superseded_lose(struct store *s, const struct index *ix, uint32_t id);
/* purge.c: an empty index for purge_begin().  NULL: not all messages are removed, or few, or out
 * of memory. */
struct index *purge_prepare(struct store *s, uint64_t first, uint64_t last);
void purge_begin(struct store *s, struct index *fresh, uint64_t last);
void purge_hide(struct store *s, struct range r); /* these removals are committed already */
void purge_apply(struct store *s);
MF_MUSTCHECK int purge_init(struct store *s);
void purge_fini(struct store *s);

/* view.c, read.c: ids of readers are of view_index(), ids of writers of s->ix. */
static inline struct index *view_index(const struct store *s)
{
    return s->purge.ix != NULL ? s->purge.ix : s->ix;
}
bool view_key(const struct store *s, uint32_t key, struct store_key *out);
bool view_visible(const struct store *s, uint32_t id);
bool view_accepted(const struct store *s,
                   uint32_t id); /* accepted: counts for writers, not in removal */
bool view_present(const struct store *s,
                  uint32_t id); /* committed and not taken by store_expire() */
bool view_overdue(const struct store *s, const struct index *ix, uint32_t id); /* by store_now() */

/* clean.c, checkpointer.c, blob.c */
void clean_kick(struct store *s);
/* A job reclaims this segment: no other job may begin to use it. */
bool clean_reclaims(const struct store *s, const struct segment *seg);
/* It was written before the store was encrypted: the cleaner moves it. */
static inline bool clean_is_plain(const struct store *s, const struct segment *seg)
{
    return s->crypt != NULL && seg->version < SEGMENT_CRYPT;
}
MF_MUSTCHECK int clean_init(struct store *s);
void clean_fini(struct store *s);
void checkpoint_kick(struct store *s);
MF_MUSTCHECK int checkpoint_init(struct store *s);
void checkpoint_fini(struct store *s);
MF_MUSTCHECK int blob_restore(struct store *s, struct recovered_blob *b);
void blob_place(struct store *s, uint64_t segment); /* the batch ended there */
/* Writes current blobs that lie in this segment again. */
MF_MUSTCHECK int blob_move(struct store *s, uint64_t segment);
void blob_fini(struct store *s);

#endif
