/* extras.h: inner contracts of what came to JetStream later: batches, counters, schedules; and of
 * what goes over stored messages: new deadlines, compression.  Included by stream_impl.h. */
#ifndef STREAM_EXTRAS_H
#define STREAM_EXTRAS_H

struct stream;
struct stream_publish;
struct intake;

/* --- batch.c, fast.c ------------------------------------------------------------------------ */

/* Takes p over if it belongs to a batch.  in: headers read, subject mapped. */
bool batch_claim(struct stream *s, struct stream_publish *p, struct intake *in);
/* Forgets all batches under way, without an advisory: after an update that forbids them, and when
 * the stream closes. */
void batch_drop_all(struct stream *s);
void batch_drop_silent(
    struct stream *s); /* ends those that were silent too long; its timer's, and tests' */
bool fast_claim(struct stream *s, struct stream_publish *p, struct intake *in);
void fast_drop_all(struct stream *s);
void fast_drop_silent(struct stream *s);

/* --- counter.c, counter_park.c -------------------------------------------------------------- */

/* Before fast_claim() and batch_claim(), for what is not replicated: takes p over if it has to wait
 * until its counter's value is read from disk, or behind one that has; it is published again then.
 */
bool counter_park(struct stream *s, struct stream_publish *p, const struct intake *in);
/* The same for another subject (that of a message in p's batch). */
bool counter_park_subject(struct stream *s, struct stream_publish *p, struct mf_slice subject);
/* Rows 5 to 8 and 20 of the order of checks. */
int counter_check(struct stream *s, const struct intake *in, struct js_error *e);
int counter_check_present(struct stream *s, const struct intake *in, struct js_error *e);
/* The new value becomes in->payload ({"val":"N"}) and *val (valid until the next call); in->hdr may
 * be rewritten. */
int counter_apply(struct stream *s, struct intake *in, const char **val, struct js_error *e);
/* counter_source.c: before counter_apply(), for a message that a source brought: Nats-Incr becomes
 * what it adds here. */
int counter_source(struct stream *s, struct intake *in, struct js_error *e);
/* Around the counter_apply() of all messages of a batch, before any of them is stored; then
 * counter_settle() for the subject of each. */
MF_MUSTCHECK int counter_stage(struct stream *s);
void counter_stage_end(struct stream *s);
void counter_settle(struct stream *s, struct mf_slice subject, bool stored);
/* What counter_apply() made of it is not stored: the value is read again. */
void counter_undo(struct stream *s, struct mf_slice subject);
void counter_unpark(struct stream *s); /* closing: whoever is parked is told */
void counter_free(struct stream *s);   /* after the store is closed: it may be reading for us */

/* --- schedule.c, schedule_fire.c, schedule_clock.c
 * ------------------------------------------------------------ */

/* Rows 13 and 14; may rewrite in->hdr (s->buf.header) and set in->h.rollup, so before
 * check_rollup().
 */
int schedule_check(struct stream *s, struct intake *in, struct js_error *e);
/* For a message with Nats-Schedule, in the batch that stores it and right before it: writes its
 * blob, sets in->scheduled.  0 also if it never fires; else it must not be stored: what is
 * acknowledged is going to fire.  schedule_unplan: it was not stored after all. */
MF_MUSTCHECK int schedule_plan(struct stream *s, struct intake *in);
void schedule_unplan(struct stream *s, const struct intake *in);
/* In the batch that stores it: for messages with Nats-Schedule or Nats-Schedule-Next, and, while
 * there are schedules (s->schedules), for every message.  O(1). */
void schedule_stored(struct stream *s, const struct intake *in);
/* A message that was there before schedules were allowed: it is one now.  *wrote: its blob was. */
MF_MUSTCHECK int schedule_found(struct stream *s, const struct store_rec *r, bool *wrote);
/* In the batch that removes the message with this sequence (of this subject).  A hint: a schedule
 * whose message is gone does not fire anyway. */
void schedule_removed(struct stream *s, struct mf_slice subject, uint64_t seq);
MF_MUSTCHECK int schedule_load(struct stream *s); /* at start, the store is attached */
void schedule_run(struct stream *s);              /* fires what is due; its timer's, and tests' */
void schedule_clock_stepped(struct stream *s);    /* its timer is armed anew */
void schedule_clock_set_back(struct stream *s);   /* what waits is looked at again */
void schedule_free(struct stream *s); /* after the store is closed: it may be reading for us */

/* --- redeadline.c --------------------------------------------------------------------------------
 */

/* New deadlines for all stored messages, in slices, after max_age or allow_msg_ttl changed: reads
 * Nats-TTL and the timestamp of each.  Renewed deadlines (TOUCH) stay renewed.  Survives restarts
 * (BLOB_REDEADLINE).  redeadline_start: in the batch that stores the configuration, before it:
 * should that fail then, a sweep by the old one does no harm.  before: the terms until now; s->cfg
 * has the new ones.  The sweep begins in a later turn than the batch came to disk in.  MF_AGAIN:
 * too many changes within one sweep. */
struct redeadline_terms {
    int64_t max_age_ns;
    bool allow_msg_ttl;
};
MF_MUSTCHECK int redeadline_start(struct stream *s, const struct redeadline_terms *before);
MF_MUSTCHECK int redeadline_resume(struct stream *s); /* at start, if one was under way */
void redeadline_stop(struct stream *s);               /* closing */

/* --- compress.c ----------------------------------------------------------------------------- */

/* What to store for this body: an S2 block in s->buf.body, and MSG_COMPRESSED is set in *flags, if
 * the stream compresses and that saves a sixteenth; else the body itself.  Never fails.  O(body).
 */
struct mf_slice compress_body(struct stream *s, struct mf_slice body, uint16_t *flags);
/* The reverse, for what was stored with MSG_COMPRESSED; *body is in `to`.  MF_CORRUPT, MF_NOMEM. */
MF_MUSTCHECK int compress_undo(struct mf_slice stored, struct mf_buf *to, struct mf_slice *body);

#endif
