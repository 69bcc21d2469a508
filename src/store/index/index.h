/* index.h: which messages exist: by sequence, by key, by deadline.  No I/O, no bodies.
 *
 * Entries lie in blocks of up to 256 in sequence order; a block that lost most of its entries is
 * merged with a neighbour, so memory follows the living: about one living entry per three slots
 * at worst (a block does not span a jump of 2^32 sequences).  The entries of one key form a ring in
 * sequence order; the deadlines are in a wheel.  An entry has a number (id: block << 8 | slot)
 * which is valid until the next index_add, index_remove or load: keep sequences, not ids.
 *
 * Per message: 24 bytes, 2 for its place in the block, 5 bits of what it is, 12 bytes in the wheel
 * if it has a deadline, and the key (keys.h).  find, next and prev: O(log blocks), O(1) while
 * sequences are dense; all else O(1), amortised where blocks are merged: one call moves at most 160
 * entries, and the shorter half of the directory (12 bytes per block) when it is in the middle.
 *
 * An empty index holds no memory but the set of keys; the wheel is made with the first deadline. */
#ifndef STORE_INDEX_H
#define STORE_INDEX_H

#include "store/keys/keys.h"

#define INDEX_NONE UINT32_MAX

/* Where a message lies, and a little of what it is, in 64 bits (docs/disk-format.md, Checkpoint).
 */
#define PLACE_LEN_MAX 0xFFFFFu /* that or more: ask the record; STORE_EXPIRY_LONG */
static inline uint64_t place_make(uint64_t segment, uint64_t offset, uint64_t len, uint16_t flags)
{
    return (segment & 0x3FFFF) << 46 | (offset >> 3) << 22 |
           (len < PLACE_LEN_MAX ? len : PLACE_LEN_MAX) << 2 | (flags & 3u);
}
static inline uint64_t place_segment(uint64_t p) /* its low 18 bits */
{
    return p >> 46;
}
static inline uint64_t place_offset(uint64_t p)
{
    return (p >> 22 & 0xFFFFFF) << 3;
}
static inline uint32_t place_len(uint64_t p)
{
    return (uint32_t)(p >> 2 & PLACE_LEN_MAX);
}
static inline uint16_t place_flags(uint64_t p)
{
    return (uint16_t)(p & 3);
}

struct index;

struct index *index_new(char separator, int64_t now_ns); /* NULL: out of memory */
void index_free(struct index *ix);

/* seq is greater than all before.  deadline_ns 0: never.  MF_NOMEM, MF_INVAL (a key longer than
 * KEYS_MAX): nothing changed. */
MF_MUSTCHECK int index_add(struct index *ix, uint64_t seq, struct mf_slice key, uint64_t place,
                           int64_t deadline_ns, uint32_t *id);
/* Marks a message whose removal is accepted and not yet committed; its deadline stays.
 * Idempotent. */
void index_set_removing(struct index *ix, uint32_t id);
bool index_removing(const struct index *ix, uint32_t id);
/* The same for an expired message: it also leaves the wheel, and no reader may see it any more. */
void index_hide(struct index *ix, uint32_t id);
bool index_hidden(const struct index *ix, uint32_t id);
bool index_all_hidden(const struct index *ix, uint32_t newest); /* it and all older of its key */
/* Frees the entry.  Ids of other entries may change. */
void index_remove(struct index *ix, uint32_t id);
void index_set_place(struct index *ix, uint32_t id, uint64_t place);
/* 0: never.  Not for hidden entries.  MF_NOMEM changes nothing. */
MF_MUSTCHECK int index_set_deadline(struct index *ix, uint32_t id, int64_t deadline_ns);
/* The two bits RECORD_BITS of flags (record.h).  An entry with a deadline is never infinite.  A
 * new entry has no bits. */
void index_set_bits(struct index *ix, uint32_t id, uint16_t flags);
uint16_t index_bits(const struct index *ix, uint32_t id);
size_t index_infinite(const struct index *ix); /* entries, the removing and hidden ones included */
size_t index_pinned(const struct index *ix);

/* INDEX_NONE if there is none.  Entries in removal and hidden entries are found, too. */
uint32_t index_find(const struct index *ix, uint64_t seq);
uint32_t index_next(const struct index *ix, uint64_t from_seq); /* the first at or after */
uint32_t index_prev(const struct index *ix, uint64_t from_seq); /* the last at or before */

uint64_t index_seq(const struct index *ix, uint32_t id);
uint64_t index_place(const struct index *ix, uint32_t id);
int64_t index_deadline(const struct index *ix, uint32_t id); /* 0: never, or hidden */
/* RECORD_BITS, and INDEX_TIMED: it has a deadline, or expired by it. */
#define INDEX_TIMED 1u
uint16_t index_life(const struct index *ix, uint32_t id);
uint32_t index_key(const struct index *ix, uint32_t id);   /* in index_keys() */
uint32_t index_older(const struct index *ix, uint32_t id); /* of the same key */
uint32_t index_newer(const struct index *ix, uint32_t id);
uint32_t index_key_last(const struct index *ix, uint32_t key);
uint32_t index_key_first(const struct index *ix, uint32_t key);
uint32_t index_key_count(const struct index *ix, uint32_t key);
struct keys *index_keys(const struct index *ix);
size_t index_count(const struct index *ix);
size_t index_hidden_count(const struct index *ix);
size_t index_hidden_keys(const struct index *ix); /* keys all of whose entries are hidden */
/* Entries with sequences in [first, last] that are not hidden.  O(blocks in between). */
uint64_t index_range_count(const struct index *ix, uint64_t first, uint64_t last);

/* The wheel, over entries: see wheel.h. */
bool index_advance(struct index *ix, int64_t now_ns, size_t budget);
uint32_t
index_due(struct index *ix,
          int64_t *deadline_ns); /* the first due entry; it stays in the wheel until index_hide() */
int64_t index_next_deadline(const struct index *ix);
size_t index_deadlines(const struct index *ix);
void index_each_deadline(const struct index *ix, int64_t to_ns,
                         void (*visit)(void *arg, uint32_t id, int64_t deadline_ns), void *arg);
/* The same for deadlines in (after_ns, to_ns], after index_advance() was complete at to_ns. */
void index_each_due(const struct index *ix, int64_t after_ns, int64_t to_ns,
                    void (*visit)(void *arg, uint32_t id, int64_t deadline_ns), void *arg);
/* wheel_scan_begin(); with index_scans_stop() it ends before the index does. */
struct wheel_scan;
void index_scan_begin(struct index *ix, struct wheel_scan *s, int64_t from_ns, int64_t to_ns);
void index_scans_stop(struct index *ix);
uint64_t index_deadlines_between(const struct index *ix, int64_t from_ns, int64_t to_ns,
                                 uint64_t enough, uint64_t *steps); /* wheel_between() */
/* wheel_probe(); INDEX_NONE: nothing is there. */
uint32_t index_probe(const struct index *ix, uint32_t i, uint32_t of, int64_t *deadline_ns);
/* The first entry at or after from_seq that is not hidden and has no deadline: infinite ones, or
 * the others.  Blocks without any are skipped by their counts.  *steps (blocks and entries
 * visited) is counted down; INDEX_NONE with 0 left: continue at *from_seq, else the end.
 * O(entries found), O(entries) in blocks that also hold others, O(1) for a skipped block. */
uint32_t index_next_without_deadline(const struct index *ix, bool infinite, uint64_t *from_seq,
                                     size_t *steps);
size_t index_memory(const struct index *ix);
uint64_t index_moves(const struct index *ix); /* raised when entries change their ids */

/* Loading, before anything else was added: records in log order, sequences in nearly any order
 * (ascending is fast: no search), links and wheel are made at the end in one pass.  Between begin
 * and end only these functions may be called (and index_free, index_memory, index_check). */
MF_MUSTCHECK int index_load_begin(struct index *ix);
/* Hint that saves time: about so many messages follow, each with a key of its own. */
MF_MUSTCHECK int index_load_expect(struct index *ix, size_t messages);
/* The same for many in ascending sequence, before any index_load_put(): the keys' bytes must stay
 * until index_bulk_end().  From INDEX_BULK messages on a second thread helps.  After an error only
 * index_bulk_end() and index_free() may follow.  Every begin needs its end. */
#define INDEX_BULK 65536u
#define INDEX_MANY (1u << 20) /* from here on memory is allocated ahead */
MF_MUSTCHECK int index_bulk_begin(struct index *ix, size_t messages);
MF_MUSTCHECK int index_bulk_put(struct index *ix, uint64_t seq, struct mf_slice key, uint64_t place,
                                int64_t deadline_ns, uint16_t flags);
MF_MUSTCHECK int index_bulk_end(struct index *ix);
/* Adds a message, or replaces place, deadline and bits of an existing sequence (its key stays).
 * Of flags only RECORD_BITS count.  The key's bytes are copied.  MF_NOMEM, MF_INVAL: this message
 * was not added, all else is unchanged (the error may concern a queued message, which stays
 * queued). */
MF_MUSTCHECK int index_load_put(struct index *ix, uint64_t seq, struct mf_slice key, uint64_t place,
                                int64_t deadline_ns, uint16_t flags);
bool index_load_get(const struct index *ix, uint64_t seq, uint64_t *place, int64_t *deadline_ns);
void index_load_del(struct index *ix, uint64_t first, uint64_t last); /* O(log + removed) */
void index_load_deadline(struct index *ix, uint64_t seq, int64_t deadline_ns,
                         uint16_t flags); /* if there */
/* Drops entries that the time mark `gone` covers (NULL or time_ns 0: none); calls kept(), if any,
 * for each remaining entry, in sequence order.  MF_NOMEM: only index_free() may follow. */
struct record_mark;
MF_MUSTCHECK int index_load_end(struct index *ix, const struct record_mark *gone,
                                void (*kept)(void *arg, uint64_t seq, uint64_t place), void *arg);

void index_check(const struct index *ix); /* aborts if an invariant is broken; for tests */

#endif
