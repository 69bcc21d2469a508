/* store.h: one ordered log of messages on disk, the index over it, and small blobs beside it.
 *
 * Writing: each call puts records at the end of the log in memory and gives the result later,
 * through the waiter, when they are on disk (group commit: one write and one sync for all that came
 * meanwhile).  Waiters are called on the loop, in the order of the calls, never from inside one.
 * Reading sees what is on disk (committed) and not past its deadline; never a message whose waiter
 * has not been called.
 *
 * Everything here belongs to the loop thread, but store_open().  Time is a parameter: store_now().
 */
#ifndef MAYFLY_STORE_H
#define MAYFLY_STORE_H

#include "base/buf.h"
#include "base/list.h"
#include "loop/loop.h"
#include "store/store_io.h"

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
    bool gather; /* a group may wait a moment for the writers that were just answered */
    struct store_patrol *patrol; /* reads its files at a pace (store_patrol.h); NULL: nobody does */
    int64_t now_ns;              /* see store_now(); 0 is fine */
    const char *name;            /* for log lines; copied */
    /* After MF_AGAIN or MF_FULL was answered: it is worth trying again.  May be NULL. */
    void (*ready)(void *arg);
    void *ready_arg;
};

/* Blocks while it recovers; may run on any thread, before store_attach().  On success the io is the
 * store's and freed with it.  What was wrong with the files: store_damage().  MF_EXISTS: in use. */
MF_MUSTCHECK int store_open(struct store **out, const struct store_opts *o, struct store_io *io,
                            struct mf_error *e);
/* Before store_attach(), for an owner who finds in a blob how it should be synced. */
void store_set_sync(struct store *s, enum store_sync sync, int64_t interval_ns);
/* From now on it lives on this loop and takes writes.  On failure it can only be closed. */
MF_MUSTCHECK int store_attach(struct store *s, struct loop *l, struct mf_error *e);
/* No new writes; what was accepted is committed, a checkpoint written, the directory unlocked, the
 * store freed; then closed().  A store that was never attached is just freed, and closed() called
 * at once.  Once only. */
void store_close(struct store *s, void (*closed)(void *arg), void *arg);
/* Frees at once, writing nothing more, as if the process had been killed here: for tests.  Not
 * while a job runs (store_idle()). */
void store_abandon(struct store *s);
bool store_idle(const struct store *s); /* nothing is waiting for the disk, no job runs */

/* --- writing -------------------------------------------------------------------------------- */

/* Embedded in what waits; the caller's until done() was called, exactly once. status 0: on disk (or
 * written, in the relaxed modes). */
struct store_wait {
    void (*done)(struct store_wait *w, int status);
    struct mf_list node;
};

struct store_append {
    struct store_wait wait;          /* done may be NULL: nobody waits */
    struct mf_slice key, head, body; /* copied by the call */
    int64_t ts_ns;
    int64_t deadline_ns; /* 0: never.  One that is past already counts as due now */
    uint16_t flags;      /* the owner's; the two low bits and STORE_BITS come back without reading
                            the message */
    uint64_t seq;        /* out, if it was accepted */
};

/* All writing calls: 0: accepted, the waiter (may be NULL) will be called.  Otherwise nothing
 * happened and it will not be: MF_AGAIN (too much is waiting), MF_FULL (no disk space; removals go
 * on), MF_READONLY (a write or sync failed: store_error()), MF_LIMIT (too large), MF_CLOSED,
 * MF_NOMEM. */
MF_MUSTCHECK int store_append(struct store *s, struct store_append *a);
/* For who writes something else before the message: 0, or why any message would be refused. */
MF_MUSTCHECK int store_append_ready(struct store *s);
/* MF_NOTFOUND: not there, or its removal is on the way. */
MF_MUSTCHECK int store_remove(struct store *s, uint64_t seq, struct store_wait *w);
/* The same, and then the bytes of the message are overwritten, on disk and in memory: w is called
 * when that is synced too, after the waiters of later calls, perhaps.  What is promised, and of
 * which copies, is in docs/disk-format.md.  MF_INVAL: the message is of the open batch. */
MF_MUSTCHECK int store_erase(struct store *s, uint64_t seq, struct store_wait *w);
/* 0: with store_reserve(s, 2) before it, a store_erase() of this message in the same batch will not
 * fail; so what is told of it can go first. */
MF_MUSTCHECK int store_erase_ready(struct store *s, uint64_t seq);
/* All from first to last (both included) that are there; a last beyond the last sequence also skips
 * up to it.  Cost: the messages removed; O(1) in the log. */
MF_MUSTCHECK int store_remove_range(struct store *s, uint64_t first, uint64_t last,
                                    struct store_wait *w);
/* Ascending, no duplicates; those not there are ignored. */
MF_MUSTCHECK int store_remove_set(struct store *s, const uint64_t *seqs, size_t n,
                                  struct store_wait *w);
/* A new deadline (0: never), raised to the present if it is past, and new STORE_BITS: both take the
 * place of what was.  MF_NOTFOUND as above, and for a message that is past its deadline by
 * store_now(): nothing brings it back.  MF_INVAL: other flags, or a deadline and STORE_INFINITE.
 * MF_FULL also on a full disk unless the life gets shorter: the room that is left is for what makes
 * room.  O(1), 32 bytes of log. */
MF_MUSTCHECK int store_set_deadline(struct store *s, uint64_t seq, int64_t deadline_ns,
                                    uint16_t flags, struct store_wait *w);

/* Between them: one batch, there after a crash as a whole or not at all.  `frees`: the batch makes
 * room in the end (expiry with markers), so it may use the room reserved for that on a full disk. A
 * call that fails inside leaves the batch as it was.  No nesting.  An empty batch is fine. */
void store_begin(struct store *s, bool frees);
MF_MUSTCHECK int store_end(struct store *s, struct store_wait *w);
/* In an open batch: room on disk and in memory for so many more removals (of one message, or of a
 * range) is kept until it ends, whatever else is put into it: those cannot fail for want of it. */
MF_MUSTCHECK int store_reserve(struct store *s, size_t removals);

/* The waiter is called when all that was accepted up to now is on disk. */
MF_MUSTCHECK int store_barrier(struct store *s, struct store_wait *w);
/* The same where something is on its way; false: all of it is on disk, or never will be.  A waiter
 * that is taken out of its list is not called. */
bool store_settle(struct store *s, struct store_wait *w);

/* fn is called right before a group that holds something goes to the disk; what it writes there
 * (no batch) is in the same group, so after a crash it is there if the rest is.  One at a time;
 * NULL: nobody. */
void store_on_commit(struct store *s, void (*fn)(void *arg), void *arg);
/* fn is called when a group that waited for space or memory was written.  Meanwhile the store had
 * no next deadline: who goes by it asks again.  It only takes note, and writes later. */
void store_on_resume(struct store *s, void (*fn)(void *arg), void *arg);

/* Small named values, each replaced as a whole, in the same log and batches. name: 1..255 bytes,
 * bytes: at most STORE_BLOB_MAX. */
#define STORE_BLOB_MAX (4u << 20)
MF_MUSTCHECK int store_blob_put(struct store *s, struct mf_slice name, struct mf_slice bytes,
                                struct store_wait *w);
MF_MUSTCHECK int store_blob_del(struct store *s, struct mf_slice name, struct store_wait *w);
/* The latest accepted value, whether on disk yet or not; valid until the next blob call. */
bool store_blob_get(struct store *s, struct mf_slice name, struct mf_slice *bytes);
void store_blob_each(struct store *s,
                     void (*visit)(void *arg, struct mf_slice name, struct mf_slice bytes),
                     void *arg);

/* --- time ----------------------------------------------------------------------------------- */

/* The time that judges deadlines in all reads.  Never goes back. */
void store_now(struct store *s, int64_t now_ns);
/* Has any message a deadline?  If not, no read asks for the time.  O(1). */
bool store_mortal(const struct store *s);
/* The latest time the log knows of: start a steady clock (steady.h) from here. */
int64_t store_clock_floor(const struct store *s);
/* When to call store_expire() next: never later than the first deadline; INT64_MAX: none. */
int64_t store_next_deadline(const struct store *s);

#define STORE_DEATH_LONG 0xFFFFFu
struct store_death {
    uint64_t seq;
    int64_t deadline_ns;
    struct mf_slice key; /* valid during the call */
    uint16_t flags;      /* the two low bits, STORE_PINNED */
    uint32_t len;        /* key, head and body; STORE_DEATH_LONG: that or more */
    bool last;           /* no other message of this key is left */
};
/* Ends the life of at most `max` messages due by now_ns, in (deadline, sequence) order, as one
 * batch: visit() (may be NULL) is called for each, while it still counts as accepted, and may
 * append (a marker) or remove others in the same batch; false: not now, it stays, and what would
 * die after it.  No record per message: one time mark.  Returns how many; *more: call again soon.
 */
size_t store_expire(struct store *s, int64_t now_ns, size_t max,
                    bool (*visit)(void *arg, const struct store_death *d), void *arg, bool *more);

/* --- reading -------------------------------------------------------------------------------- */

struct store_rec {
    uint64_t seq;
    int64_t ts_ns, deadline_ns;
    uint16_t flags;
    struct mf_slice key, head, body;
};
struct store_state {
    uint64_t first_seq, last_seq; /* no messages: first = last + 1 */
    uint64_t msgs, bytes;         /* bytes: key, head and body */
    uint64_t keys;
    uint64_t deadlines,
        infinite;        /* messages with one; with STORE_INFINITE; the others have neither */
    uint64_t pinned;     /* of all: with STORE_PINNED */
    uint64_t overdue;    /* past their deadline and not swept yet: in none of the other counts */
    uint64_t flagged[2]; /* messages with the lowest owner flag, with the second */
    uint64_t disk_bytes, segments;
};
/* O(segments), also while many messages are past their deadline and store_expire() did not take
 * them yet: each of these is counted once (late.c). */
void store_state(struct store *s, struct store_state *out);
uint64_t store_late_steps(const struct store *s); /* messages looked at for that; for tests */
void store_late_check(struct store *s);           /* aborts if a kept count is wrong; for tests */
uint64_t store_last_seq(const struct store *s);
uint64_t store_disk_bytes(const struct store *s);

/* 0: *out, valid until the loop gets control again.  MF_NOTFOUND.  MF_AGAIN: not in memory, use
 * store_read().  MF_CORRUPT: damaged on disk (reported in store_damage()). */
MF_MUSTCHECK int store_peek(struct store *s, uint64_t seq, struct store_rec *out);
/* The same, also for one that is past its deadline and that store_expire() did not take yet. */
MF_MUSTCHECK int store_peek_dead(struct store *s, uint64_t seq, struct store_rec *out);
/* The same from disk, without stopping the loop.  The record is valid in done() only.  status: 0,
 * MF_NOTFOUND, MF_CORRUPT or MF_NOMEM; without descriptors it waits for one. */
struct store_read {
    uint64_t seq;
    bool dead; /* as store_peek_dead() */
    void (*done)(struct store_read *r, int status);
    struct store_rec rec;
    void *job;
};
MF_MUSTCHECK int store_read(struct store *s, struct store_read *r); /* MF_NOMEM, MF_NOTFOUND */
/* The same, waiting for the disk, for what is rare.  Replaces the bytes of *buf: the record. */
MF_MUSTCHECK int store_read_now(struct store *s, uint64_t seq, struct mf_buf *buf,
                                struct store_rec *out);
/* The last one at or before from_seq, also if it is overdue.  MF_CORRUPT: out->seq says which. */
MF_MUSTCHECK int store_read_back(struct store *s, uint64_t from_seq, struct mf_buf *buf,
                                 struct store_rec *out);

uint64_t store_committed(const struct store *s); /* every sequence up to here is on disk, or gone */
/* The first at or after; 0: none.  O(those in between that are gone or late; of those before the
 * first visible message each once). */
uint64_t store_next(struct store *s, uint64_t from_seq);
uint64_t store_prev(const struct store *s, uint64_t from_seq); /* last at or before; 0: none */
struct store_key {
    uint64_t first_seq, last_seq;
    uint64_t count;
};
bool store_key(const struct store *s, struct mf_slice key, struct store_key *out);
bool store_deadline(const struct store *s, uint64_t seq, int64_t *deadline_ns);

bool store_present(const struct store *s, uint64_t seq); /* as store_count() counts it */
/* Is, or was until a moment ago (inside of gone()), this message the newest of its key among those
 * present with sequences up to `last`?  *older: the one before it that is present, 0: none.  O(1),
 * and messages around it that are not present. */
bool store_newest_upto(const struct store *s, uint64_t seq, uint64_t last, uint64_t *older);
/* The key of a message that is present, without reading it; empty: it is not.  Valid until the next
 * call.  O(1). */
struct mf_slice store_key_at(const struct store *s, uint64_t seq);
/* Called once for each message when nobody can see it any more: when store_expire() takes it, or
 * when its removal is on disk.  The key is valid in the call, which must not write.  Many at once
 * (a whole range): first < last and no key. NULL: nobody listens, which costs nothing. */
void store_watch(struct store *s,
                 void (*gone)(void *arg, uint64_t first, uint64_t last, struct mf_slice key),
                 void *arg);
/* The keys that match, each with its state, in no order; keys may come and go meanwhile. */
struct store_keys;
struct store_keys *store_keys_new(struct store *s, struct mf_slice pattern); /* NULL: no memory */
bool store_keys_next(struct store_keys *k, struct mf_slice *key, struct store_key *out);
/* At most *n nodes, counted down.  false with 0 left: go on later; with more: that was all. */
bool store_keys_some(struct store_keys *k, uint32_t *n, struct mf_slice *key, struct store_key *x);
void store_keys_free(struct store_keys *k);

/* --- upkeep --------------------------------------------------------------------------------- */

/* Asks for a checkpoint now; w is called when it is there. */
MF_MUSTCHECK int store_checkpoint(struct store *s, struct store_wait *w);
/* Reads everything on disk in the background; what is damaged is in store_damage() afterwards. */
MF_MUSTCHECK int store_scrub(struct store *s, struct store_wait *w);

struct store_damage {
    char file[40];
    uint64_t offset, length;
    uint64_t first_seq, last_seq; /* those that may be lost; 0, 0: none or unknown */
    const char *what;             /* static text */
};
size_t store_damage_count(const struct store *s);
const struct store_damage *store_damage(const struct store *s, size_t i);
/* Places that still matter: those found at the start while their file is part of the log, others
 * while a message that is there lies in them.  *messages: how many are lost or cannot be read. O(of
 * those). */
size_t store_damage_open(struct store *s, uint64_t *messages, bool *found_at_start);
/* The sequences of up to `max` messages that are there and cannot be read. */
size_t store_damage_messages(struct store *s, uint64_t *dst, size_t max);
/* Why it is read-only; NULL: it is not. */
const char *store_error(const struct store *s);
bool store_full(const struct store *s); /* appends are refused for want of disk space */

struct store_stats {
    uint64_t appends, batches, groups, syncs, bytes_written;
    uint64_t expired, marks, copied_bytes, segments_freed, checkpoints;
    uint64_t wheel_entries, index_bytes;
    uint64_t recovered_records, recovered_from_checkpoint; /* at open */
    bool torn_tail;                                        /* at open */
    struct store_damage torn;                              /* where, if so */
};
void store_stats(const struct store *s, struct store_stats *out);

#include "store/store_accepted.h"
#include "store/store_cursor.h"
#include "store/store_lives.h"

#endif
