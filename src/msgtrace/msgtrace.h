/* msgtrace.h: what happened to one message, for whoever asked with the header Nats-Trace-Dest, or
 * with `traceparent` where the account says so (nats-server's ADR-41).
 *
 * A trace travels with its message (router_msg.trace) and gathers events: received, mapped,
 * imported, stored, delivered.  The publisher and each stream that has not answered yet hold a
 * reference; with the last one the trace is finished, and is sent.  Messages without those headers
 * cost msgtrace_asked(): O(header lines), nothing without headers.  A trace holds at most
 * MSGTRACE_EVENTS events; the others are counted. */
#ifndef MAYFLY_MSGTRACE_H
#define MAYFLY_MSGTRACE_H

#include "base/buf.h"

struct jsonw;
struct msgtrace;

#define MSGTRACE_DEST "Nats-Trace-Dest"
#define MSGTRACE_HOP  "Nats-Trace-Hop"
#define MSGTRACE_DISABLED                                                                          \
    "trace disabled" /* as destination: no other server traces the message                         \
                      */
#define MSGTRACE_EVENTS 4096

/* The shortest header block that can ask for a trace. */
#define MSGTRACE_LEAST (sizeof "NATS/1.0\r\n" MSGTRACE_DEST ":x\r\n\r\n" - 1)

enum msgtrace_coding { MSGTRACE_PLAIN, MSGTRACE_GZIP, MSGTRACE_SNAPPY, MSGTRACE_IDENTITY };

/* --- headers ---------------------------------------------------------------------------------- */

/* The wishes of a header block.  Borrows from it. */
struct msgtrace_request {
    struct mf_slice hdr;
    struct mf_slice dest; /* empty with external */
    struct mf_slice hop;  /* of the server before this one */
    bool external;        /* traceparent says "sampled", and there is no destination */
    bool only;            /* the message is traced, not delivered */
    bool forged;          /* Nats-Trace-Origin-Account: of old servers, never traced */
    enum msgtrace_coding coding;
};
/* Whether msgtrace_read() could return true. */
bool msgtrace_asked(struct mf_slice hdr);
bool msgtrace_read(struct mf_slice hdr, struct msgtrace_request *out);
/* Sets Nats-Trace-Dest in a copy of the block, as its last line.  false: no memory. */
bool msgtrace_set_dest(struct mf_buf *out, struct mf_slice hdr, struct mf_slice dest);

/* --- one trace -------------------------------------------------------------------------------- */

/* The publisher, or a receiver.  Kinds are nats-server's numbers. */
enum msgtrace_kind { MSGTRACE_CLIENT = 0, MSGTRACE_LEAF = 4 };
struct msgtrace_peer {
    enum msgtrace_kind kind;
    uint64_t cid;
    const char *name, *account; /* name may be NULL */
};

/* finished() gets the trace when the last reference ends, and owns it: msgtrace_free(). NULL: no
 * memory.  Copies what it needs. */
struct msgtrace *msgtrace_new(const struct msgtrace_request *q, struct mf_slice dest,
                              const struct msgtrace_peer *from, const struct mf_msg *m,
                              void (*finished)(void *arg, struct msgtrace *t), void *arg);
void msgtrace_free(struct msgtrace *t);
struct msgtrace *msgtrace_retain(struct msgtrace *t);
void msgtrace_release(struct msgtrace *t); /* NULL is fine, also below */

bool msgtrace_is_only(const struct msgtrace *t);
enum msgtrace_coding msgtrace_coding(const struct msgtrace *t);
/* Where other servers send theirs: an account that the message entered has another name for it. */
struct mf_slice msgtrace_dest(const struct msgtrace *t);
void msgtrace_rename_dest(struct msgtrace *t, struct mf_slice dest); /* borrowed */
/* Where this one is sent. */
struct mf_slice msgtrace_own_dest(const struct msgtrace *t);

/* --- events ----------------------------------------------------------------------------------- */

void msgtrace_refused(struct msgtrace *t, const char *error); /* by the publisher's permissions */
void msgtrace_mapped(struct msgtrace *t, struct mf_slice to);
void msgtrace_exported(struct msgtrace *t, const char *account, struct mf_slice to);
void msgtrace_imported(struct msgtrace *t, const char *account, struct mf_slice from,
                       struct mf_slice to);
/* The pattern that the next msgtrace_delivered() shows; borrowed, empty: its own. */
void msgtrace_show_pattern(struct msgtrace *t, struct mf_slice pattern);
/* Towards a subscription of a client, or over a link (pattern empty).  error NULL: delivered. */
void msgtrace_delivered(struct msgtrace *t, const struct msgtrace_peer *to, struct mf_slice pattern,
                        struct mf_slice queue, const char *error);
/* Numbers the next hop: its Nats-Trace-Hop, valid until the next call.  msgtrace_delivered() shows
 * it. */
struct mf_slice msgtrace_next_hop(struct msgtrace *t);
unsigned msgtrace_hops(const struct msgtrace *t); /* so far */
/* A stream takes the message: the event, for msgtrace_stored(). */
size_t msgtrace_stream(struct msgtrace *t, const char *stream);
/* subject empty: the checks did not get that far. */
void msgtrace_stored(struct msgtrace *t, size_t event, struct mf_slice subject, bool no_interest,
                     const char *error);

/* Writes the members "request", "hops" and "events" into the open object.  Headers of the request
 * that would make the text longer than half of most bytes, and events beyond most, are left out:
 * "omitted" counts them.  Only a text that is longer before its first event exceeds most. */
void msgtrace_write(const struct msgtrace *t, struct jsonw *w, size_t most);

#endif
