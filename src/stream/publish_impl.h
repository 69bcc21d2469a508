/* publish_impl.h: storing messages and answering publishes (publish.c).  A part of stream_impl.h.
 */
#ifndef STREAM_PUBLISH_H
#define STREAM_PUBLISH_H

#include "store/store.h"
#include "stream/stream.h"

struct intake;

/* The subject under which it is stored: s->buf.subject or the same. */
struct mf_slice stream_map_subject(struct stream *s, struct mf_slice subject);
/* Stores a message that passed all checks, in one commit batch with its deadline, its roll-up, the
 * messages that it discards, and its id.  wait (may be NULL) is called after the commit.  0, or a
 * negative code with *e, and nothing was stored (MF_DENIED: refused; others: codes of the store).
 * in_batch: the caller has called store_begin() and will end it. */
MF_MUSTCHECK int stream_store(struct stream *s, struct intake *in, bool in_batch,
                              struct store_wait *wait, struct js_error *e);
/* Appends the message alone, with its deadline, in *a: nothing is discarded, no observer is
 * notified. 0, or the store's code. */
MF_MUSTCHECK int stream_append(struct stream *s, struct intake *in, struct store_append *a);
/* Raises the TTL to the least that a stream with markers allows; may rewrite in->hdr
 * (s->buf.header). stream_store() does it for who has not. */
void stream_clamp_ttl(struct stream *s, struct intake *in);
/* in_batch: discards what the message makes superfluous, after all messages of the batch were
 * appended.  Cannot fail. */
void stream_stored(struct stream *s, struct intake *in);
/* The last possible sequence is in use.  Sequences never start again. */
bool stream_numbered_out(const struct stream *s);
/* Interest retention, and no consumer wants this subject. */
bool stream_lacks_interest(const struct stream *s, struct mf_slice subject);
/* Uses up a sequence (in->seq) without storing the message; its id is kept.  p (may be NULL) waits
 * for the commit. */
MF_MUSTCHECK int stream_use_up(struct stream *s, struct intake *in, struct stream_publish *p);
/* Answers p: inside the call if nothing waits for a commit, else after that commit, so that answers
 * keep their order.  A non-NULL error is copied. */
void stream_answer(struct stream *s, struct stream_publish *p, const struct stream_ack *a);
/* The same in two steps, for a message that is stored first: notes the answer; then stream_wait()
 * returns the waiter that the caller gives to the store and counts in s->inflight. */
MF_MUSTCHECK int stream_answer_later(struct stream_publish *p, const struct stream_ack *a);
struct store_wait *stream_wait(struct stream *s, struct stream_publish *p, uint64_t seq);
void stream_refuse(struct stream *s, struct stream_publish *p, const struct js_error *e);
/* The sequence a message with the same id was stored under, within the window; 0: none. */
uint64_t stream_duplicate_of(struct stream *s, const struct intake *in);
/* The clock, and a timestamp for the next message: greater than that of the one before. */
int64_t stream_now(struct stream *s);  /* also tells the store */
int64_t stream_wall(struct stream *s); /* by which schedules fire */
void stream_look_at_clock(
    struct stream *s); /* as stream_now(), where time can matter to a reader */
int64_t stream_stamp(struct stream *s);
int64_t stream_stamp_at(const struct stream *s, int64_t now_ns); /* the clock was read */
/* A code of the store as a JetStream error. */
void stream_store_error(struct stream *s, int code, struct js_error *e);

/* --- publish_trace.c: p->trace is set ----------------------------------------------------------
 */
/* The checks that nats-server traces are passed.  true: a dry run, which ends here. */
bool publish_trace(struct stream *s, struct stream_publish *p, const struct intake *in);
/* A member of a batch; a dry run of one joins no batch, and none of the batch's checks is made.
 * true: it ends here. */
bool publish_trace_batch(struct stream *s, struct stream_publish *p, const struct intake *in);

#endif
