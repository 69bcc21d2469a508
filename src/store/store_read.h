/* store_read.h: reading a store: its numbers, messages, keys and what is present.  A part of
 * store.h. */
#ifndef MAYFLY_STORE_READ_H
#define MAYFLY_STORE_READ_H

#include "store/store.h"

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
        infinite;    /* messages with one; with STORE_INFINITE; the others have neither */
    uint64_t pinned; /* of all: with STORE_PINNED */
    uint64_t
        overdue; /* past their deadline and not yet taken by a sweep: in none of the other counts */
    uint64_t flagged[2]; /* messages with the lowest owner flag, with the second */
    uint64_t disk_bytes, segments;
};
/* O(segments), also while many messages are overdue: each overdue message is counted once
 * (late.c). */
void store_state(struct store *s, struct store_state *out);
uint64_t store_overdue_steps(const struct store *s); /* messages visited for that; for tests */
void store_overdue_check(struct store *s); /* aborts if a kept count is wrong; for tests */
uint64_t store_last_seq(const struct store *s);
uint64_t store_disk_bytes(const struct store *s);

/* 0: *out, valid until the loop gets control again.  MF_NOTFOUND.  MF_AGAIN: not in memory, use
 * store_read().  MF_CORRUPT: damaged on disk (reported in store_damage()). */
MF_MUSTCHECK int store_peek(struct store *s, uint64_t seq, struct store_rec *out);
/* The same, also for an overdue message. */
MF_MUSTCHECK int store_peek_overdue(struct store *s, uint64_t seq, struct store_rec *out);
/* The same from disk, without stopping the loop.  The record is valid in done() only.  status: 0,
 * MF_NOTFOUND, MF_CORRUPT or MF_NOMEM; without descriptors it waits for one. */
struct store_read {
    uint64_t seq;
    bool dead; /* as store_peek_overdue() */
    void (*done)(struct store_read *r, int status);
    struct store_rec rec;
    void *job;
};
MF_MUSTCHECK int store_read(struct store *s, struct store_read *r); /* MF_NOMEM, MF_NOTFOUND */
/* The same, but blocks for the disk: only for rare cases.  Replaces the bytes of *buf with the
 * record. */
MF_MUSTCHECK int store_read_now(struct store *s, uint64_t seq, struct mf_buf *buf,
                                struct store_rec *out);
/* Reads the last message at or before from_seq, also an overdue one.  MF_CORRUPT: out->seq is its
 * sequence. */
MF_MUSTCHECK int store_read_back(struct store *s, uint64_t from_seq, struct mf_buf *buf,
                                 struct store_rec *out);

uint64_t
store_committed(const struct store *s); /* every sequence up to here is committed, or removed */
/* The first visible message at or after from_seq; 0: none.  O(messages in between that are not
 * visible; those before the first visible message are passed once in all). */
uint64_t store_next(struct store *s, uint64_t from_seq);
uint64_t store_prev(const struct store *s, uint64_t from_seq); /* last at or before; 0: none */
struct store_key {
    uint64_t first_seq, last_seq;
    uint64_t count;
};
bool store_key(const struct store *s, struct mf_slice key, struct store_key *out);
bool store_deadline(const struct store *s, uint64_t seq, int64_t *deadline_ns);

bool store_present(const struct store *s, uint64_t seq); /* as store_count() counts it */
/* True if this message is the newest of its key among those present with sequences up to `last`;
 * inside of gone() also if it was so before the call.  *older: the one before it that is present,
 * 0: none.  O(1), plus messages around it that are not present. */
bool store_newest_upto(const struct store *s, uint64_t seq, uint64_t last, uint64_t *older);
/* The key of a message that is present, without reading it; empty: not present.  Valid until the
 * next call.  O(1). */
struct mf_slice store_key_at(const struct store *s, uint64_t seq);
/* gone() is called once for each message when no reader can see it any more: when store_expire()
 * removes it, or when its removal is committed.  The key is valid in the call, which must not
 * write.  A purge of many messages is one call: first < last and no key.  NULL: no callback, at no
 * cost. */
void store_watch(struct store *s,
                 void (*gone)(void *arg, uint64_t first, uint64_t last, struct mf_slice key),
                 void *arg);
/* The keys that match, each with its state, in no order; keys may be added and removed meanwhile.
 */
struct store_keys;
struct store_keys *store_keys_new(struct store *s, struct mf_slice pattern); /* NULL: no memory */
bool store_keys_next(struct store_keys *k, struct mf_slice *key, struct store_key *out);
/* Visits at most *n nodes, counted down.  False with *n 0: continue later; false with more: the
 * end. */
bool store_keys_some(struct store_keys *k, uint32_t *n, struct mf_slice *key, struct store_key *x);
/* Later calls return all keys, including keys without a visible message, in O(1) each; count,
 * first_seq and last_seq are those of all messages of the key. */
void store_keys_unseen(struct store_keys *k);
void store_keys_free(struct store_keys *k);

#endif
