/* direct_impl.h: DIRECT.GET, shared by its files.  direct.c answers single messages that need no
 * search; direct_queue.c keeps requests for a later turn; direct_batch.c and direct_multi.c
 * (direct_batch_impl.h) answer in slices. */
#ifndef JETSTREAM_DIRECT_IMPL_H
#define JETSTREAM_DIRECT_IMPL_H

#include "jetstream/direct.h"
#include "jetstream/jetstream_impl.h"

struct direct_req {
    uint64_t seq, up_to_seq;
    char *last, *next; /* NULL or "": not asked for */
    int64_t batch, max_bytes;
    int64_t start_ns, up_to_ns;
    bool has_start, has_up_to, no_hdr;
    bool life; /* the request has the header Mayfly-TTL: show */
    struct json_strs multi;
};

/* Position of a message in a batch. */
struct direct_place {
    uint64_t pending, last_seq;
};

/* Sends a message with the headers of its origin; place NULL: a single one.  life not NULL: with
 * its time left.  Allocates only to grow the pooled buffer. */
struct stream_lifetime;
void direct_send(struct js_account *ja, const char *stream, struct mf_slice reply,
                 const struct stream_msg *m, const struct direct_place *place,
                 const struct stream_lifetime *life);
/* Sends the payload alone. */
void direct_send_bare(struct js_account *ja, struct mf_slice reply, const struct stream_msg *m);
/* Sends a header block alone. */
void direct_send_status(struct js_account *ja, struct mf_slice reply, const char *text);

/* A request for the stream `name`; subject empty: it is in the body. */
struct direct_get {
    struct mf_slice name, subject;
    struct mf_slice reply, hdr, payload;
};
/* Answers a request; s: its stream. */
void direct_serve(struct js_account *ja, struct stream *s, const struct direct_get *g);

/* direct_queue.c.  True if the next request must wait: then direct_queue_add() copies it. */
static inline bool direct_queue_waits(const struct js_account *ja)
{
    return !mf_list_empty(&js_wire(ja)->direct.gets) || work_spent(ja->js->loop);
}
void direct_queue_add(struct js_account *ja, const struct direct_get *g);
void direct_queue_stop(struct js_account *ja);

/* Takes over the memory of mem (req points into it) and answers in all cases. */
void direct_batch_start(struct js_account *ja, struct stream *s, struct mf_slice reply,
                        const struct direct_req *req, struct arena *mem);
/* The same for the last message of the pattern req->last, or else for the next one of req->next. */
void direct_find_start(struct js_account *ja, struct stream *s, struct mf_slice reply,
                       const struct direct_req *req, struct arena *mem);
static inline unsigned direct_how(const struct direct_req *r)
{
    return (r->no_hdr ? DIRECT_NO_HDR : 0) | (r->life ? DIRECT_LIFE : 0) |
           (r->last != NULL && r->last[0] != '\0' ? DIRECT_LAST : 0);
}

#define DIRECT_NOT_FOUND  "NATS/1.0 404 Message Not Found\r\n\r\n"
#define DIRECT_NO_RESULTS "NATS/1.0 404 No Results\r\n\r\n"
#define DIRECT_TOO_MANY   "NATS/1.0 413 Too Many Results\r\n\r\n"
#define DIRECT_NO_MEMORY  "NATS/1.0 500 insufficient resources\r\n\r\n"

#endif
