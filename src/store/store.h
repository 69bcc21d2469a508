/* store.h: one ordered log of messages on disk, the index over it, and small blobs beside it.
 *
 * Writes: each call puts records at the end of the log in memory.  The result follows later,
 * through the waiter, when the records are committed: one write and one sync cover all records of
 * a commit group.  Waiters are called on the loop, in the order of the calls, never from inside a
 * call.  Reads see messages that are committed and before their deadline; never a message whose
 * waiter has not been called.
 *
 * Everything here belongs to the loop thread, except store_open().  Time is a parameter:
 * store_now(). */
#ifndef MAYFLY_STORE_H
#define MAYFLY_STORE_H

#include "base/buf.h"
#include "base/list.h"
#include "loop/loop.h"
#include "store/store_io.h"
#include "store/store_secret.h"

struct store;
struct store_patrol;

enum store_sync {
    STORE_SYNC_ALWAYS,   /* waiters are called after fdatasync */
    STORE_SYNC_INTERVAL, /* after the write; synced every sync_interval_ns */
    STORE_SYNC_NEVER,    /* memory */
};

struct store_opts {
    enum store_sync sync;
    int64_t sync_interval_ns;
    uint64_t first_seq;                /* of a new store; 0: 1 */
    uint32_t segment_min, segment_max; /* bytes; 0: 64 KiB, 64 MiB.  Segments grow with the store */
    size_t pending_max;                /* bytes waiting for the disk before MF_AGAIN; 0: 64 MiB */
    char separator;                    /* between the tokens of a key; 0: '.' */
    bool no_checkpoint;                /* memory: nothing to restart from */
    bool gather; /* a commit group may wait a moment for the writers that were just answered */
    struct store_patrol
        *patrol; /* reads its files in the background (store_patrol.h); NULL: no patrol */
    /* The keys, during store_open() only; NULL: it is not encrypted.  A store that was plain is
     * encrypted from then on, and its earlier contents in the background. */
    const struct store_secret *secret;
    int64_t now_ns;   /* see store_now(); may be 0 */
    const char *name; /* for log lines; copied */
    /* Called after MF_AGAIN or MF_FULL was returned: a new attempt may succeed.  May be NULL. */
    void (*ready)(void *arg);
    void *ready_arg;
};

/* Around the life of a thread that calls into stores: room for keys that callbacks are shown.
 * Without it the room is made at its first use, and a program without memory for it ends. */
MF_MUSTCHECK int store_thread_begin(struct mf_error *e);
void store_thread_end(void);

/* Blocks while it recovers; may run on any thread, before store_attach().  On success the store
 * owns the io and frees it. store_damage() lists damage that was found.  MF_EXISTS: in use.
 * MF_DENIED: it is encrypted, and the secret does not open it: nothing was changed. */
MF_MUSTCHECK int store_open(struct store **out, const struct store_opts *o, struct store_io *io,
                            struct mf_error *e);
/* Only before store_attach(): for owners that keep the sync mode in a blob. */
void store_set_sync(struct store *s, enum store_sync sync, int64_t interval_ns);
/* From now on the store belongs to this loop and accepts writes.  On failure it can only be
 * closed. */
MF_MUSTCHECK int store_attach(struct store *s, struct loop *l, struct mf_error *e);
/* No new writes are accepted.  Accepted writes are committed, a checkpoint is written, the store
 * is freed; then closed() is called.  A store that was never attached is freed, and closed()
 * called, inside this call.  May be called once only. */
void store_close(struct store *s, void (*closed)(void *arg), void *arg);
/* For tests: frees the store and writes nothing more, as if the process had been killed here.
 * Not allowed while a job runs (store_idle()). */
void store_abandon(struct store *s);
bool store_idle(const struct store *s); /* no write waits for the disk, no job runs */

/* --- writing -------------------------------------------------------------------------------- */

/* Waiter, embedded in the caller's object; it must live until done() was called, exactly once.
 * status 0: committed. */
struct store_wait {
    void (*done)(struct store_wait *w, int status);
    struct mf_list node;
};

struct store_append {
    struct store_wait wait;          /* done may be NULL: no waiter */
    struct mf_slice key, head, body; /* copied by the call */
    int64_t ts_ns;
    int64_t deadline_ns; /* 0: none. A past deadline counts as due now */
    uint16_t flags; /* the owner's; the two low bits and STORE_BITS are known without reading the
                       message */
    uint64_t seq;   /* set if the message was accepted */
};

/* All writing calls return 0 if the write is accepted: the waiter (may be NULL) will be called.
 * Otherwise nothing changed and the waiter is not called: MF_AGAIN (too many bytes wait), MF_FULL
 * (no disk space; removals still work), MF_READONLY (a write or sync failed: store_error()),
 * MF_LIMIT (too large), MF_CLOSED, MF_NOMEM. */
MF_MUSTCHECK int store_append(struct store *s, struct store_append *a);
/* 0, or the code with which any message would be refused now.  For callers that write other
 * records before the message. */
MF_MUSTCHECK int store_append_ready(struct store *s);
/* MF_NOTFOUND: no such message, or its removal is already accepted. */
MF_MUSTCHECK int store_remove(struct store *s, uint64_t seq, struct store_wait *w);
/* The same, and then the bytes of the message are overwritten, on disk and in memory. w is called
 * when that is synced too, perhaps after the waiters of later calls. docs/disk-format.md says
 * which copies are overwritten.  MF_INVAL: the message is part of the open batch. */
MF_MUSTCHECK int store_erase(struct store *s, uint64_t seq, struct store_wait *w);
/* 0: after store_reserve(s, 2), a store_erase() of this message in the same batch cannot fail.
 * So records about the removal can be written before it. */
MF_MUSTCHECK int store_erase_ready(struct store *s, uint64_t seq);
/* Removes all messages from first to last, both included.  A `last` beyond the last sequence also
 * skips the sequences up to it.  Cost: the messages removed; O(1) in the log. */
MF_MUSTCHECK int store_remove_range(struct store *s, uint64_t first, uint64_t last,
                                    struct store_wait *w);
/* seqs: ascending, no duplicates.  Sequences without a message are ignored. */
MF_MUSTCHECK int store_remove_set(struct store *s, const uint64_t *seqs, size_t n,
                                  struct store_wait *w);
/* Replaces the deadline (0: none; a past one is raised to the present) and STORE_BITS.
 * MF_NOTFOUND as above, and for a message that is overdue by store_now(): nothing revives it.
 * MF_INVAL: other flags, or a deadline and STORE_INFINITE.  MF_FULL also on a full disk unless
 * the new deadline is earlier: the remaining room is kept for records that free space.  O(1), 32
 * bytes of log. */
MF_MUSTCHECK int store_set_deadline(struct store *s, uint64_t seq, int64_t deadline_ns,
                                    uint16_t flags, struct store_wait *w);

/* Records between these calls form one commit batch: after a crash all of them count or none.
 * `frees`: the batch as a whole frees space (expiry with markers), so it may use the room kept
 * for removals on a full disk.  A call that fails inside leaves the batch unchanged.  Batches do
 * not nest.  An empty batch is allowed. */
void store_begin(struct store *s, bool frees);
MF_MUSTCHECK int store_end(struct store *s, struct store_wait *w);
/* In an open batch: keeps room on disk and in memory for so many more removals (of one message,
 * or of a range) until the batch ends.  These removals cannot fail with MF_FULL or MF_NOMEM,
 * whatever else is written into the batch. */
MF_MUSTCHECK int store_reserve(struct store *s, size_t removals);

/* The waiter is called when all writes that were accepted up to now are committed. */
MF_MUSTCHECK int store_barrier(struct store *s, struct store_wait *w);
/* The same if any accepted write is not yet committed.  False: all writes are committed, or never
 * will be; the waiter is not called.  A waiter that is removed from its list is not called. */
bool store_wait_pending(struct store *s, struct store_wait *w);

/* fn is called right before a commit group with records is written.  Records that fn writes (no
 * batch) are part of the same group, so after a crash they exist if the rest does.  One callback
 * at a time; NULL: none. */
void store_on_commit(struct store *s, void (*fn)(void *arg), void *arg);
/* fn is called when a commit group that waited for space or memory was written.  Meanwhile
 * store_next_deadline() was INT64_MAX: ask again. fn must not write. */
void store_on_resume(struct store *s, void (*fn)(void *arg), void *arg);

/* Small named values, each replaced as a whole, in the same log and batches. name: 1..255 bytes,
 * bytes: at most STORE_BLOB_MAX. */
#define STORE_BLOB_MAX (4u << 20)
MF_MUSTCHECK int store_blob_put(struct store *s, struct mf_slice name, struct mf_slice bytes,
                                struct store_wait *w);
MF_MUSTCHECK int store_blob_del(struct store *s, struct mf_slice name, struct store_wait *w);
/* The latest accepted value, committed or not; valid until the next blob call. */
bool store_blob_get(struct store *s, struct mf_slice name, struct mf_slice *bytes);
void store_blob_each(struct store *s,
                     void (*visit)(void *arg, struct mf_slice name, struct mf_slice bytes),
                     void *arg);

/* --- time ----------------------------------------------------------------------------------- */

/* The time for deadlines in all reads.  An earlier time than before has no effect. */
void store_now(struct store *s, int64_t now_ns);
/* True if any message has a deadline.  If not, no read needs the time.  O(1). */
bool store_has_deadlines(const struct store *s);
/* The latest time in the log: start a steady clock (steady.h) from here. */
int64_t store_clock_floor(const struct store *s);
/* When to call store_expire() next: never later than the first deadline; INT64_MAX: none. */
int64_t store_next_deadline(const struct store *s);

#define STORE_EXPIRY_LONG 0xFFFFFu
struct store_expiry {
    uint64_t seq;
    int64_t deadline_ns;
    struct mf_slice key; /* valid during the call */
    uint16_t flags;      /* the two low bits, STORE_PINNED */
    uint32_t len;        /* key, head and body; STORE_EXPIRY_LONG: that or more */
    bool last;           /* no other message of this key is left */
};
/* One sweep: expires at most `max` messages due by now_ns, in (deadline, sequence) order, as one
 * commit batch. visit() (may be NULL) is called for each while it still counts as accepted, and
 * may append (a marker) or remove others in the same batch. visit() returns false to stop: this
 * message and later ones stay.  No record per message: one time mark.  Returns the number of
 * expired messages; *more: call again soon. */
size_t store_expire(struct store *s, int64_t now_ns, size_t max,
                    bool (*visit)(void *arg, const struct store_expiry *d), void *arg, bool *more);

#include "store/store_accepted.h"
#include "store/store_cursor.h"
#include "store/store_lives.h"
#include "store/store_read.h"
#include "store/store_upkeep.h"

#endif
