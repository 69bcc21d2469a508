/* keys.h: the set of keys that have messages, found by name or by pattern.
 *
 * A key is bytes in tokens divided by a separator.  Every key is a leaf of a tree of tokens; the
 * prefixes ("$KV.users.") are inner nodes, shared by all keys under them.  One hash table finds
 * leaf and prefix by their whole text.
 *
 *     "$KV."  --  "users."  --+--  "ann"        leaf: last 17, count 1
 *                             +--  "bob"
 *
 * find, add and delete: O(1) (O(tokens) for a new prefix; resizing the table is spread over the
 * adds and deletes, so no call is long).  A pattern ("*": one token, also an empty one; ">" at the
 * end: one or more) costs the nodes it touches, not all keys.  Memory for a leaf: 22 bytes and its
 * last token, rounded up to 4, and 6 to 12 in the table; no pointers, ids only.  A prefix: 42 bytes
 * and its token. */
#ifndef STORE_KEYS_H
#define STORE_KEYS_H

#include "base/base.h"

#define KEYS_NONE UINT32_MAX
#define KEYS_MAX  UINT16_MAX /* bytes of a key */

struct keys;

struct keys *keys_new(char separator); /* NULL: out of memory */
void keys_free(struct keys *k);

uint32_t keys_find(const struct keys *k, struct mf_slice key); /* KEYS_NONE: not there */
/* Hash of a key, for keys_prefetch() and keys_get_hashed().  For loading many. */
uint64_t keys_hash(const struct keys *k, struct mf_slice key);
/* The same while another thread changes the set: with a memory of the last prefix of its own,
 * zeroed at first. */
#define KEYS_PREFIX 128u
struct keys_prefix {
    uint64_t hash;
    uint32_t len;
    uint8_t text[KEYS_PREFIX];
};
struct keys_hint {
    uint64_t hash, parent; /* of the key, and of its prefix: both can be prefetched */
    uint16_t prefix;       /* bytes of the key before its last token */
    bool same;             /* the prefix is the one of the key before */
};
struct keys_hint keys_hash_apart(const struct keys *k, struct mf_slice key,
                                 struct keys_prefix *last);
void keys_prefetch(const struct keys *k, uint64_t hash);
/* The same for the node, if there may be one: a little after keys_prefetch(), when many keys are
 * known. */
void keys_prefetch_node(const struct keys *k, uint64_t hash);
/* Finds or adds; a new one has last = KEYS_NONE and count = 0.  MF_NOMEM changes nothing; MF_INVAL:
 * longer than KEYS_MAX. */
MF_MUSTCHECK int keys_get_hashed(struct keys *k, struct mf_slice key, uint64_t hash, uint32_t *id);
/* Hint: so many keys follow.  Makes the table large enough at once, which saves the moves of
 * growing; memory is used as they are added.  O(1). */
MF_MUSTCHECK int keys_reserve(struct keys *k, size_t count);
/* Adding many, most of them new (best after keys_reserve()): the id is returned at once, with
 * count 1 and without a look-up in the table.  Nothing can be found before keys_bulk_flush();
 * then a key that existed before has a twin: an id whose count is 0 and whose last is the real
 * one's id, which has the sum of their counts. keys_bulk_free() drops the twins: replace their
 * ids before.  After MF_NOMEM only keys_bulk_free() and keys_free() may follow. */
struct keys_bulk;
struct keys_bulk *keys_bulk_new(struct keys *k); /* NULL: out of memory */
MF_MUSTCHECK int keys_bulk_add(struct keys_bulk *b, struct mf_slice key, struct keys_hint hint,
                               uint32_t *id);
MF_MUSTCHECK int keys_bulk_flush(struct keys_bulk *b);
bool keys_bulk_wasteful(struct keys_bulk *b); /* more than an eighth were twins of late */
size_t keys_bulk_twins(const struct keys_bulk *b);
void keys_bulk_forget(struct keys_bulk *b); /* the twins stay, for keys_free() */
void keys_bulk_free(struct keys_bulk *b);
/* Memory for keys that are added by another thread, had ahead: where the system is slow to hand it
 * out, two threads wait less than one.  Only keys_stock_fill() may be called beside that thread:
 * one piece more, false if there are enough (or none can be had). */
struct keys_stock;
struct keys_stock *keys_stock_new(struct keys *k); /* NULL: out of memory */
bool keys_stock_fill(struct keys_stock *t);
void keys_stock_free(struct keys *k); /* harmless without one */
/* Removes a leaf and prefixes without leaves.  Ids of others stay. */
void keys_del(struct keys *k, uint32_t id);

/* The owner's two words of a leaf. */
struct keys_value {
    uint32_t last, count;
};
struct keys_value keys_value(const struct keys *k, uint32_t id);
void keys_set(struct keys *k, uint32_t id, struct keys_value v);
void keys_prefetch_id(const struct keys *k, uint32_t id);
void keys_prefetch_del(const struct keys *k,
                       uint32_t id); /* reads the leaf: have it in the cache */

/* Sums over leaves, kept by the owner: `msgs` and `keys` are added to every prefix of the leaf.
 * O(tokens). */
struct keys_sum {
    uint32_t msgs, keys;
};
void keys_tally(struct keys *k, uint32_t id, int msgs, int keys);
struct keys_sum keys_total(const struct keys *k); /* of all leaves */
/* Raised whenever a leaf is added or deleted. */
uint64_t keys_changes(const struct keys *k);

/* Builds the text of a key in dst; returns it as a slice of dst (its end).  O(length). */
struct mf_slice keys_text(const struct keys *k, uint32_t id, uint8_t dst[KEYS_MAX]);
/* True if the key matches.  Does not build its text. */
bool keys_matches(const struct keys *k, uint32_t id, struct mf_slice pattern);
size_t keys_count(const struct keys *k);
size_t keys_memory(const struct keys *k);

/* Walks the leaves that match, in no order.  Keys may be added and deleted between two calls (the
 * walk is in a list of the set and moves on when its node is deleted).  A key that existed all
 * the time is returned exactly once.  End it with keys_walk_end() unless next() returned
 * KEYS_NONE.  A pattern without wildcard returns at most one. */
struct keys_walk;
struct keys_walk *keys_walk_new(struct keys *k, struct mf_slice pattern); /* NULL: out of memory */
uint32_t keys_walk_next(struct keys_walk *w); /* O(nodes stepped over) */
void keys_walk_end(struct keys_walk *w);      /* NULL is fine */
/* The same, but a subtree all of whose leaves match is not walked: its sums are added to *sum.
 * Use one of the two for a whole walk.  Each node visited takes one off *budget; KEYS_NONE with
 * *budget 0: not at the end, continue or end it. */
uint32_t keys_walk_sum(struct keys_walk *w, struct keys_sum *sum, size_t *budget);
void keys_walks_stop(struct keys *k); /* ends all walks of this set */

void keys_check(const struct keys *k); /* aborts if an invariant is broken; for tests */
/* The same for the sums of prefixes; `leaf` returns the sums that were passed to keys_tally() for
 * a leaf. */
void keys_check_sums(const struct keys *k, struct keys_sum (*leaf)(const void *arg, uint32_t id),
                     const void *arg);

#endif
