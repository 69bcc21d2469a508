/* check_model.h: live messages by sequence and blobs by name, while a log is read.
 *
 * Sequences are kept in pages of 64 neighbours, a bit for each that is there and its entries packed
 * in the same order, pages in a hash table: 32 bytes per message and little more, add, find and
 * delete O(1), a range of n sequences O(n / 64 + messages removed). */
#ifndef CLI_CHECK_MODEL_H
#define CLI_CHECK_MODEL_H

#include "base/table.h"

#define NO_SEGMENT UINT32_MAX

#define MSG_INFINITE 8u
#define MSG_PINNED   16u
#define MSG_BITS     (MSG_INFINITE | MSG_PINNED)
/* The flags that are valid beside this deadline. */
static inline uint16_t flags_hold(uint16_t flags, int64_t deadline)
{
    return deadline == 0 ? flags : (uint16_t)(flags & ~MSG_INFINITE);
}

struct entry {
    int64_t deadline;
    uint64_t key_hash;
    uint32_t segment; /* index into ctx.seg, or NO_SEGMENT */
    uint32_t off8;    /* offset / 8 */
    uint32_t length;  /* of key, head and body */
    uint16_t key_len, flags;
};

struct page {
    uint64_t id;   /* sequence / 64 */
    uint64_t bits; /* bit s: sequence id * 64 + s is there */
    struct entry *e;
    uint32_t cap;
    bool used;
};

struct blob {
    struct table_node node;
    uint64_t body_hash;
    uint32_t body_len, segment, padded; /* padded: its record's length on disk */
    uint32_t off8;                      /* offset / 8 of its record */
    uint16_t name_len;
    uint8_t *body; /* a copy, where the model keeps bodies; else NULL */
    uint8_t name[];
};

/* A message is live if it is there and (deadline, sequence) lies behind the mark; messages that
 * the mark expired are dropped when they are next used or at the end, not when the mark is read. */
struct model {
    struct page *page;
    size_t cap, used; /* cap: 0 or a power of two; used: slots, with empty pages */
    size_t hot;       /* slot of the page used last */
    struct table blobs;
    uint64_t last; /* last sequence given */
    int64_t mark_t;
    uint64_t mark_s;
    bool marked;
    bool keep_bodies; /* of blobs; stays over check_model_fini() */
    bool show_marked; /* check_model_each() visits those that the mark took, too */
    int64_t clock;
};

/* One live message, boiled down: 16 bytes to compare whole states by. */
struct line {
    uint64_t seq, digest;
};

void check_model_init(struct model *m);
void check_model_fini(struct model *m);
MF_MUSTCHECK int check_model_put(struct model *m, uint64_t seq, const struct entry *e);
/* Also where the mark took it; NULL: it is not there.  Valid until the model changes. */
const struct entry *check_model_find(struct model *m, uint64_t seq);
bool check_model_has(struct model *m, uint64_t seq); /* the same */
void check_model_remove(struct model *m, uint64_t seq);
void check_model_remove_range(struct model *m, uint64_t first, uint64_t last);
/* flags: the two bits from now on; alive: even if the mark is past its deadline so far. */
void check_model_set_deadline(struct model *m, uint64_t seq, int64_t deadline, uint16_t flags,
                              bool alive);
void check_model_mark(struct model *m, int64_t t, uint64_t s);
void check_model_saw(struct model *m, uint64_t seq); /* this sequence was given */
/* at: segment, off8 and padded of its record. */
MF_MUSTCHECK int check_model_blob(struct model *m, struct mf_slice name, struct mf_slice body,
                                  bool deleted, const struct blob *at);

static inline bool model_is_marked(const struct model *m, int64_t deadline, uint64_t seq)
{
    return m->marked && deadline != 0 &&
           (deadline < m->mark_t || (deadline == m->mark_t && seq <= m->mark_s));
}

/* Every live message in ascending sequence.  MF_NOMEM, or what visit returned when not 0. */
MF_MUSTCHECK int check_model_each(struct model *m,
                                  int (*visit)(void *arg, uint64_t seq, const struct entry *e),
                                  void *arg);
void check_model_each_blob(const struct model *m, void (*visit)(void *arg, const struct blob *b),
                           void *arg);
const struct blob *check_model_find_blob(const struct model *m, struct mf_slice name);

#endif
