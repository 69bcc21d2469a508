/* extras_impl.h: batches, counters, schedules, re-deadline jobs, compression.  A part of
 * stream_impl.h. */
#ifndef STREAM_EXTRAS_H
#define STREAM_EXTRAS_H

struct stream;
struct stream_publish;
struct intake;

/* --- batch.c, fast.c ------------------------------------------------------------------------ */

/* true: p belongs to a batch, which answers it.  in: headers read, subject mapped. */
bool batch_claim(struct stream *s, struct stream_publish *p, struct intake *in);
/* Drops all open batches without an advisory: after an update that forbids them, and when the
 * stream closes. */
void batch_drop_all(struct stream *s);
void batch_drop_silent(
    struct stream *s); /* drops those that were silent too long; called by a timer and by tests */
bool fast_claim(struct stream *s, struct stream_publish *p, struct intake *in);
void fast_drop_all(struct stream *s);
void fast_drop_silent(struct stream *s);

/* --- counter.c, counter_park.c -------------------------------------------------------------- */

/* true: p is parked until the value of its counter is read from disk, or behind another that is; it
 * is published again then.  Called before fast_claim() and batch_claim(), not for replicated ones.
 */
bool counter_park(struct stream *s, struct stream_publish *p, const struct intake *in);
/* The same for the subject of another message in p's batch. */
bool counter_park_subject(struct stream *s, struct stream_publish *p, struct mf_slice subject);
/* docs/checks.md, Publish, 5 to 8; counter_check_present() is 20. */
int counter_check(struct stream *s, const struct intake *in, struct js_error *e);
int counter_check_present(struct stream *s, const struct intake *in, struct js_error *e);
/* The new value becomes in->payload ({"val":"N"}) and *val (valid until the next call); in->hdr may
 * be rewritten. */
int counter_apply(struct stream *s, struct intake *in, const char **val, struct js_error *e);
/* counter_source.c: before counter_apply(), for a message of a source: Nats-Incr becomes the
 * difference to the source's last value. */
int counter_source(struct stream *s, struct intake *in, struct js_error *e);
/* Around the counter_apply() of all messages of a batch, before any of them is stored; then
 * counter_settle() for the subject of each. */
MF_MUSTCHECK int counter_stage(struct stream *s);
void counter_stage_end(struct stream *s);
void counter_settle(struct stream *s, struct mf_slice subject, bool stored);
/* The result of counter_apply() is not stored: the value is read again. */
void counter_undo(struct stream *s, struct mf_slice subject);
void counter_unpark(struct stream *s); /* closing: parked publishes are answered with an error */
void counter_free(struct stream *s);   /* after the store is closed: it may be reading for us */

/* --- schedule.c, schedule_fire.c, schedule_clock.c
 * ------------------------------------------------------------ */

/* docs/checks.md, Publish, 13 and 14.  May rewrite in->hdr (s->buf.header) and set in->h.rollup, so
 * before check_rollup().
 */
int schedule_check(struct stream *s, struct intake *in, struct js_error *e);
/* For a message with Nats-Schedule, in its commit batch and right before it: writes its blob, sets
 * in->scheduled.  0 also if it never fires.  Not 0: the message must not be stored, because an
 * acknowledged schedule must fire.  schedule_unplan(): the message was not stored. */
MF_MUSTCHECK int schedule_plan(struct stream *s, struct intake *in);
void schedule_unplan(struct stream *s, const struct intake *in);
/* In the commit batch of a message with Nats-Schedule or Nats-Schedule-Next; while schedules exist
 * (s->schedules), of every message.  O(1). */
void schedule_stored(struct stream *s, const struct intake *in);
/* A message stored before schedules were allowed becomes a schedule.  *wrote: its blob was written.
 */
MF_MUSTCHECK int schedule_found(struct stream *s, const struct store_rec *r, bool *wrote);
/* In the commit batch that removes the message.  A hint: a schedule without its message never
 * fires. */
void schedule_removed(struct stream *s, struct mf_slice subject, uint64_t seq);
MF_MUSTCHECK int schedule_load(struct stream *s); /* at start, the store is attached */
void schedule_run(struct stream *s); /* fires due schedules; called by a timer and by tests */
void schedule_clock_stepped(struct stream *s);  /* arms the timer again */
void schedule_clock_set_back(struct stream *s); /* every schedule is computed again */
void schedule_free(struct stream *s); /* after the store is closed: it may be reading for us */

/* --- redeadline.c --------------------------------------------------------------------------------
 */

/* The re-deadline job: new deadlines for all stored messages, in time slices, after max_age or
 * allow_msg_ttl changed.  It reads Nats-TTL and the timestamp of each message.  Renewed deadlines
 * (TOUCH) stay renewed.  It survives restarts (BLOB_REDEADLINE).
 * redeadline_start(): in the commit batch of the new configuration, before it; a job by the old
 * configuration does no harm if that fails.  before: the terms until now; s->cfg has the new ones.
 * The job begins in a turn after the commit.  MF_AGAIN: too many changes during one job. */
struct redeadline_terms {
    int64_t max_age_ns;
    bool allow_msg_ttl;
};
MF_MUSTCHECK int redeadline_start(struct stream *s, const struct redeadline_terms *before);
MF_MUSTCHECK int redeadline_resume(struct stream *s); /* at start, if a job was unfinished */
void redeadline_stop(struct stream *s);               /* closing */

/* --- compress.c ----------------------------------------------------------------------------- */

/* The bytes to store for this body.  If the stream compresses and that saves a sixteenth: an S2
 * block in s->buf.body, and MSG_COMPRESSED is set in *flags.  Else the body itself.  Never fails.
 * O(body).
 */
struct mf_slice compress_body(struct stream *s, struct mf_slice body, uint16_t *flags);
/* The reverse, for what was stored with MSG_COMPRESSED; *body is in `to`.  MF_CORRUPT, MF_NOMEM. */
MF_MUSTCHECK int compress_undo(struct mf_slice stored, struct mf_buf *to, struct mf_slice *body);

#endif
