/* direct_batch_impl.h: one DIRECT.GET that is answered in slices; shared by direct_batch.c and
 * direct_multi.c. */
#ifndef JETSTREAM_DIRECT_BATCH_IMPL_H
#define JETSTREAM_DIRECT_BATCH_IMPL_H

#include "jetstream/direct_impl.h"

#include "subject/pattern_tree.h"

struct direct_batch {
    struct mf_list link; /* direct_queue.batches or .later; itself: the account was closed */
    struct work_task task;
    struct js_account *ja;
    struct direct_req req;
    struct arena mem; /* of req */
    char *name;       /* of the stream; with created_ns it identifies a new stream of that name */
    int64_t created_ns;
    struct mf_slice reply;
    /* One slice of the next step.  Ends the batch, or calls batch_later(), or waits. */
    void (*step)(struct direct_batch *b, struct stream *s);
    unsigned first_steps; /* of the first slice, which runs in the turn of the request; then 0 */
    size_t bytes;         /* counted against the account's limit until it is started */
    struct stream_load load;
    struct stream_seek seek;
    bool waiting;                     /* for load or seek */
    bool stopped;                     /* the account was closed */
    struct stream_cursor *cursor;     /* kept between the slices of a step; NULL: none */
    struct stream_subjects *subjects; /* the same */
    struct stream_find *find;
    uint64_t seq; /* the next one */
    uint64_t up_to,
        newest;        /* counted at the beginning, at the end; multi: the last one asked for */
    uint64_t walk;     /* multi: the first filter for the tree */
    uint64_t pending;  /* messages after the last one sent */
    uint64_t last_seq; /* of the last one sent */
    int64_t sent, sent_bytes;
    bool full; /* max_bytes were reached */
    /* direct_multi.c: */
    uint64_t *seqs; /* to be sent, ascending in the end */
    size_t nseqs, at;
    uint64_t *seen; /* hash table of the last sequences of subjects that were met; 0: free */
    char **partial; /* subjects that also have messages behind up_to; in mem */
    size_t npartial;
    size_t filter;            /* the next one of req.multi */
    uint64_t passed;          /* nodes that walks passed over */
    size_t tokens;            /* of wildcard filters that are not walked one by one */
    struct pattern_tree tree; /* of these */
    struct pattern_entry *entries;
};

void batch_free(struct direct_batch *b);
/* status NULL: nothing is sent. */
void batch_end(struct direct_batch *b, const char *status);
void batch_later(struct direct_batch *b);
/* True if the slice is over after a step that took as long as `units` ordinary steps. */
bool batch_spent(struct direct_batch *b, size_t units);
/* Sends the end of the batch. */
void batch_send_end(struct direct_batch *b);

enum sent { SENT_YES, SENT_NOT_THERE, SENT_LATER, SENT_NEVER };
/* LATER: load_done() continues.  NEVER: out of memory. */
enum sent batch_send_seq(struct direct_batch *b, struct stream *s, uint64_t seq);
/* Sets b->seq to the first sequence at or after the time, 0: none; then runs the step. */
void batch_seek(struct direct_batch *b, struct stream *s, int64_t ts_ns,
                void (*step)(struct direct_batch *b, struct stream *s));
static inline bool batch_is_multi(const struct direct_batch *b)
{
    return b->req.multi.n > 0;
}

/* direct_multi.c: the first step of multi_last. */
void multi_start(struct direct_batch *b, struct stream *s);

#endif
