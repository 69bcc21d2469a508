/* store_model.h: a store as a plain list: what it must answer, found slowly.
 *
 * The model keeps a journal of batches as they were accepted and two states: `accepted`, all of the
 * journal, and `committed`, the part whose waiters were called.  Contents are kept as checksums. */
#ifndef TEST_STORE_MODEL_H
#define TEST_STORE_MODEL_H

#include "base/base.h"

#define MODEL_KEY 48 /* bytes of a key or blob name, with the NUL */

#define MODEL_INFINITE 8u
#define MODEL_PINNED   16u
#define MODEL_BITS     (MODEL_INFINITE | MODEL_PINNED)
/* What holds of these flags beside such a deadline. */
static inline uint16_t model_flags(uint16_t flags, int64_t deadline_ns)
{
    return deadline_ns == 0 ? flags : (uint16_t)(flags & ~MODEL_INFINITE);
}

struct model_msg {
    uint64_t seq, content; /* model_content() */
    uint64_t stamp[2];     /* the body starts with it and no other does; 0: it has none */
    int64_t ts_ns, deadline_ns;
    uint32_t len; /* key, head and body */
    uint16_t flags;
    char key[MODEL_KEY];
};
struct model_blob {
    char name[MODEL_KEY];
    uint64_t content;
};
struct model_state {
    struct model_msg *msg; /* ascending sequences */
    size_t msgs, msgs_cap;
    struct model_blob *blob;
    size_t blobs, blobs_cap;
    uint64_t last_seq;
};

enum model_kind {
    MODEL_APPEND,
    MODEL_REMOVE,   /* first */
    MODEL_ERASE,    /* first; msg is what it was */
    MODEL_RANGE,    /* first to last */
    MODEL_DEADLINE, /* first, deadline, flags */
    MODEL_BLOB,
    MODEL_BLOB_DEL,
};
struct model_op {
    enum model_kind kind;
    uint64_t first, last;
    int64_t deadline_ns;
    uint16_t flags;
    union {
        struct model_msg msg;
        struct model_blob blob;
    };
};
struct model_batch {
    size_t op, ops;                 /* in the journal */
    uint64_t accepted_at, acked_at; /* the driver's clock; acked_at UINT64_MAX: not yet */
    uint64_t erased_at;             /* the same for the answer to an erasure in it */
    int64_t now_ns;                 /* when it was accepted */
    bool waited;                    /* somebody is told when it is committed */
};
struct model {
    struct model_state accepted, committed;
    struct model_op *op;
    size_t ops, ops_cap;
    struct model_batch *batch;
    size_t batches, batches_cap;
    size_t done; /* the batches that are committed */
    bool open;   /* the last batch is still growing */
};

void model_start(struct model *m, uint64_t first_seq);
void model_end(struct model *m);
/* Adds to the batch that is open, or as one of its own. */
void model_add(struct model *m, const struct model_op *op, uint64_t at, int64_t now_ns);
void model_open(struct model *m, uint64_t at, int64_t now_ns);
void model_close(struct model *m);
/* Everything up to batch number b is committed. */
void model_commit(struct model *m, size_t b, uint64_t at);
/* Forgets the journal, all of which is committed. */
void model_trim(struct model *m);

void state_init(struct model_state *s, uint64_t first_seq);
void state_fini(struct model_state *s);
void state_copy(struct model_state *dst, const struct model_state *src);
void state_apply(struct model_state *s, const struct model_op *op);
/* Applies one batch of m's journal. */
void state_apply_batch(struct model_state *s, const struct model *m, size_t b);

uint64_t model_content(struct mf_slice key, struct mf_slice head, struct mf_slice body);
/* One number for everything that can be read at now_ns: equal states, equal numbers. */
uint64_t state_sum(const struct model_state *s, int64_t now_ns);
/* What one message and one blob add to that number. */
uint64_t model_msg_sum(const struct model_msg *m);
uint64_t model_blob_sum(struct mf_slice name, uint64_t content);

static inline bool model_visible(const struct model_msg *m, int64_t now_ns)
{
    return m->deadline_ns == 0 || m->deadline_ns > now_ns;
}
/* NULL: not there.  The plain finders judge no deadline. */
struct model_msg *state_find(const struct model_state *s, uint64_t seq);
const struct model_msg *state_next(const struct model_state *s, uint64_t from, int64_t now_ns);
const struct model_msg *state_prev(const struct model_state *s, uint64_t from, int64_t now_ns);
struct model_key {
    uint64_t first_seq, last_seq, count;
};
bool state_key(const struct model_state *s, const char *key, int64_t now_ns, struct model_key *out);
/* The first due at now_ns by (deadline, sequence); NULL: none. */
const struct model_msg *state_due(const struct model_state *s, int64_t now_ns);
const struct model_blob *state_blob(const struct model_state *s, struct mf_slice name);
bool model_match(const char *pattern, const char *key);
/* The next at or after `from` that matches; last_only: only the newest of its key. */
uint64_t state_cursor(const struct model_state *s, const char *pattern, bool last_only,
                      uint64_t from, int64_t now_ns);
/* The next at or after `from` that matches and is the newest of its key, of those up to `upto`; one
 * past its deadline is passed over, but those before it do not come in its place. */
uint64_t state_newest(const struct model_state *s, const char *pattern, uint64_t upto,
                      uint64_t from, int64_t now_ns);

#endif
