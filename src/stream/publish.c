/* publish.c: stores a published message.
 *
 * Happy path: the headers are read once and the subject is mapped.  The checks run in nats-server's
 * order (docs/checks.md, Publish); the first that fails decides.  One commit batch holds the append
 * and everything that it causes.  publish_done() answers after the commit.
 * Failure: a refusal waits for the commit of earlier publishes, so that answers keep their order.
 * Close: the store answers all that wait. */
#include "stream/lifetime_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

/* nats-server's largest record in a file. */
#define RECORD_LIMIT (32u << 20)

/* An answer that has to wait; a copy of all of it. */
struct stream_answer {
    struct stream_ack ack;
    struct js_error error;
    struct stream_ack_ttl ttl;
    char text[]; /* val, batch */
};

/* --- time ---------------------------------------------------------------------------------- */

int64_t stream_now(struct stream *s)
{
    int64_t now = s->host->now_ns(s->host->arg);

    store_now(s->store, now);
    return now;
}

int64_t stream_wall(struct stream *s)
{
    return s->host->wall_ns != NULL ? s->host->wall_ns(s->host->arg) : stream_now(s);
}

int64_t stream_stamp(struct stream *s)
{
    return stream_stamp_at(s, stream_now(s));
}

int64_t stream_stamp_at(const struct stream *s, int64_t now)
{
    int64_t last = s->ends.last_ts_ns;

    /* The clock is read once per turn of the loop; timestamps still differ.  A time further ahead
     * is a copy's, from another clock. */
    return now > last || last > now + CLOCK_S ? now : last + 1;
}

/* --- answers ------------------------------------------------------------------------------- */

void stream_store_error(struct stream *s, int code, struct js_error *e)
{
    switch (code) {
    case MF_AGAIN:
        js_error_set(e, JS_STREAM_TOO_MANY_REQUESTS);
        break;
    case MF_FULL:
        js_error_set(e, JS_INSUFFICIENT_RESOURCES);
        break;
    case MF_LIMIT:
        js_error_set_text(e, JS_STREAM_STORE_FAILED, "message too large");
        break;
    case MF_READONLY:
        js_error_set_text(e, JS_STREAM_STORE_FAILED, "%s",
                          store_error(s->store) != NULL ? store_error(s->store) : "read only");
        break;
    default:
        js_error_set_text(e, JS_STREAM_STORE_FAILED, "%s", mf_err_text(code));
    }
}

static void publish_done(struct store_wait *w, int status)
{
    struct stream_publish *p = mf_container(w, struct stream_publish, wait);
    struct stream *s = p->stream;
    struct stream_answer *answer = p->answer;
    struct stream_ack stored = {.seq = p->given_seq};
    struct js_error e;

    s->inflight--;
    p->answer = NULL;
    if (status != 0) {
        stream_store_error(s, status, &e);
        stored = (struct stream_ack){.error = &e};
        p->done(p, &stored);
    } else {
        if (s->notify.rollups.len > 0)
            notify_rollups(s, p->given_seq);
        notify_soon(s);
        p->done(p, answer != NULL ? &answer->ack : &stored);
    }
    free(answer);
}

int stream_answer_later(struct stream_publish *p, const struct stream_ack *a)
{
    size_t val = a->val == NULL ? 0 : strlen(a->val) + 1;
    struct stream_answer *copy = malloc(sizeof *copy + val + a->batch.len);

    if (copy == NULL)
        return MF_NOMEM;
    copy->ack = *a;
    if (a->error != NULL) {
        copy->error = *a->error;
        copy->ack.error = &copy->error;
    }
    if (a->ttl != NULL) {
        copy->ttl = *a->ttl;
        copy->ack.ttl = &copy->ttl;
    }
    if (val > 0)
        copy->ack.val = memcpy(copy->text, a->val, val);
    if (a->batch.len > 0)
        copy->ack.batch =
            mf_slice(memcpy(copy->text + val, a->batch.ptr, a->batch.len), a->batch.len);
    p->answer = copy;
    return 0;
}

struct store_wait *stream_wait(struct stream *s, struct stream_publish *p, uint64_t seq)
{
    p->stream = s;
    p->given_seq = seq;
    p->wait.done = publish_done;
    return &p->wait;
}

void stream_answer(struct stream *s, struct stream_publish *p, const struct stream_ack *a)
{
    p->answer = NULL;
    s->stats.refused += a->error != NULL;
    if (s->inflight > 0 && stream_answer_later(p, a) == 0) {
        if (store_barrier(s->store, stream_wait(s, p, a->seq)) == 0) {
            s->inflight++;
            return;
        }
        free(p->answer);
        p->answer = NULL;
    }
    p->done(p, a);
}

void stream_refuse(struct stream *s, struct stream_publish *p, const struct js_error *e)
{
    stream_answer(s, p, &(struct stream_ack){.error = e});
}

/* --- storing ------------------------------------------------------------------------------- */

struct mf_slice stream_map_subject(struct stream *s, struct mf_slice subject)
{
    ssize_t n;

    if (s->transform == NULL)
        return subject;
    lend_unmark(s->buf.subject, sizeof s->buf.subject);
    n = transform_apply(s->transform, subject, s->buf.subject, sizeof s->buf.subject);
    if (n <= 0)
        return subject;
    lend_mark(s->buf.subject, (size_t)n);
    return mf_slice(s->buf.subject, (size_t)n);
}

/* No TTL is shorter than that of the markers, or a marker could be outlived by what it announces
 * (ADR-43); the header tells what is really meant. */
void stream_clamp_ttl(struct stream *s, struct intake *in)
{
    int64_t least = s->cfg.subject_delete_marker_ttl_ns / CLOCK_S * CLOCK_S;

    if (in->marker || in->ttl_ns <= 0 || in->ttl_ns >= least || s->cfg.max_msgs_per_subject == 1 ||
        !s->cfg.allow_msg_ttl)
        return;
    (void)!lifetime_rewrite(s, in, least); /* without memory it lives as long as it asked */
}

struct rolling {
    struct stream *s;
    uint64_t below;
};

static void roll_up_key(void *arg, struct mf_slice subject)
{
    const struct rolling *r = arg;
    uint64_t seq, count;

    /* Of a schedule's subject only the last message counts. */
    if (r->s->schedules != NULL &&
        (seq = store_key_last_accepted(r->s->store, subject, &count)) < r->below)
        schedule_removed(r->s, subject, seq);
    (void)limits_remove_oldest(r->s, subject, r->below, UINT64_MAX);
}

/* Removes everything that this message replaces; limits_prepare() has made it possible. */
static void roll_up(struct stream *s, const struct intake *in)
{
    uint64_t first, count;

    notify_note_rollup(s, in->seq, in->rollup == ROLLUP_ALL ? MF_SLICE_NONE : in->subject);
    if (in->rollup == ROLLUP_ALL) {
        first = store_first_accepted(s->store);
        if (first == 0 || first >= in->seq)
            return;
        if (store_remove_range(s->store, first, in->seq - 1, NULL) != 0)
            log_warn("stream %s: rollup of %llu failed", s->cfg.name, (unsigned long long)in->seq);
        return;
    }
    if (in->rest != NULL) {
        (void)limits_remove_oldest(s, in->subject, in->seq, in->roll_now);
        return;
    }
    if (in->rollup == ROLLUP_MATCHING) {
        store_accepted_keys(s->store, in->subject, roll_up_key, &(struct rolling){s, in->seq});
        return;
    }
    (void)store_key_last_accepted(s->store, in->subject, &count);
    if (count != 2 || in->previous == 0) {
        (void)limits_remove_oldest(s, in->subject, in->seq, UINT64_MAX);
        return;
    }
    if (store_remove(s->store, in->previous, NULL) != 0) /* the only other one */
        log_warn("stream %s: rollup of %llu failed", s->cfg.name, (unsigned long long)in->seq);
}

/* Will something else have to go or be written with it?  Then they are one batch. */
static bool has_company(const struct stream *s, struct intake *in)
{
    if (in->rollup != ROLLUP_NONE || in->h.schedule.len > 0 || in->h.schedule_next.len > 0 ||
        limits_full_with(s, in) || linked_concerns(s, in->subject))
        return true;
    if (s->cfg.max_msgs_per_subject <= 0)
        return false;
    in->previous = store_key_last_accepted(s->store, in->subject, &in->held);
    in->looked = true;
    if (in->held > 0 && scope_holds(s))
        return true;
    return in->held >= (uint64_t)s->cfg.max_msgs_per_subject;
}

static bool keeps_id(const struct stream *s, const struct intake *in)
{
    return in->h.msg_id.len > 0 && s->cfg.duplicate_window_ns > 0 && s->cfg.mirror == NULL;
}

/* By the time here: a copy from the future ends no id. */
static void keep_ids(struct stream *s, const struct intake *in)
{
    dedup_upkeep(s->dedup, s->store, in->seq, in->now_ns != 0 ? in->now_ns : in->ts_ns,
                 s->cfg.duplicate_window_ns);
}

/* Notes the id of the last message of the stream, if it has one. */
static void remember_id(struct stream *s, const struct intake *in)
{
    mf_buf_clear(&s->ends.last_msg_id);
    mf_buf_append(&s->ends.last_msg_id, in->h.msg_id.ptr, in->h.msg_id.len);
    if (keeps_id(s, in) && dedup_add(s->dedup, in->h.msg_id, in->seq, in->ts_ns) != 0)
        log_warn("stream %s: no memory to remember the id of message %llu", s->cfg.name,
                 (unsigned long long)in->seq);
}

void stream_stored(struct stream *s, struct intake *in)
{
    /* First, as in nats-server: a full stream loses its oldest to a roll-up. */
    limits_push_out(s, in);
    if (in->rollup != ROLLUP_NONE)
        roll_up(s, in);
    if (in->h.schedule.len > 0 || in->h.schedule_next.len > 0 || s->schedules != NULL)
        schedule_stored(s, in);
}

bool stream_numbered_out(const struct stream *s)
{
    uint64_t msgs, bytes, last;

    store_accepted(s->store, &msgs, &bytes, &last);
    return last >= UINT64_MAX - 2;
}

/* Older messages of its subject end with it at the latest; before the append, which can be refused
 * no more then. */
static int lower_older(struct stream *s, const struct intake *in, int64_t deadline_ns)
{
    uint64_t count, last = store_key_last_accepted(s->store, in->subject, &count);
    int rc = last == 0 ? 0 : store_append_ready(s->store);

    return rc != 0 || last == 0 ? rc : scope_lower(s, last, deadline_ns);
}

int stream_append(struct stream *s, struct intake *in, struct store_append *a)
{
    bool schedule = in->h.schedule.len > 0;
    int rc = schedule ? schedule_plan(s, in) : 0;

    if (rc != 0)
        return rc;
    if (!in->looked)
        in->previous = 0;
    if (!in->looked &&
        (s->republish != NULL || s->cfg.max_msgs_per_subject == 1 || in->rollup == ROLLUP_SUBJECT))
        in->previous = store_key_last_accepted(s->store, in->subject, &in->held);
    int64_t ttl_ns = lifetime_resolve(s, in);
    *a = (struct store_append){.key = in->subject,
                               .head = in->hdr,
                               .ts_ns = in->ts_ns,
                               .deadline_ns = expire_deadline(s, in->ts_ns, ttl_ns)};
    a->flags =
        (uint16_t)((in->hdr.len > 0 ? MSG_HEADER : 0) | (ttl_ns == TTL_NEVER ? MSG_INFINITE : 0));
    if (marker_is_tombstone(in->h.marker_reason, in->h.kv_operation, s->host->strict))
        a->flags |= MSG_TOMBSTONE;
    a->body = compress_body(s, in->payload, &a->flags);
    /* Before the record that others link to is lowered. */
    bool links = linked_concerns(s, in->subject);
    bool permanent = links && lifetime_is_permanent(s, in->subject);
    if (links && a->deadline_ns == 0)
        rc = linked_prepare(s, in->subject, permanent);
    if (rc == 0 && scope_holds(s))
        rc = lower_older(s, in, a->deadline_ns);
    if (rc == 0)
        rc = store_append(s->store, a);
    if (rc != 0 && schedule && in->scheduled)
        schedule_unplan(s, in);
    if (rc != 0)
        return rc;
    in->seq = a->seq;
    if (links)
        linked_changed(s, in->subject, permanent);
    s->ends.last_ts_ns = in->ts_ns;
    remember_id(s, in);
    return 0;
}

/* Appends the message, in one commit batch with the removals that it causes. */
static int append_with_company(struct stream *s, struct intake *in, struct store_append *a,
                               struct store_wait *wait)
{
    bool company = has_company(s, in);
    uint64_t most = PURGE_SLICE;
    int rc =
        in->rollup != ROLLUP_NONE && in->in_slices ? purge_rest_new(s, in, &most, PURGE_SLICE) : 0;

    if (rc != 0)
        return rc;
    if (company) {
        store_begin(s->store, false);
        rc = limits_prepare(s, in, false);
    }
    if (rc == 0)
        rc = stream_append(s, in, a);
    if (rc == 0)
        stream_stored(s, in);
    if (company) {
        int end = store_end(s->store, rc == 0 && in->rest == NULL ? wait : NULL);
        rc = rc == 0 ? end : rc;
        if (in->rest != NULL)
            purge_rest(s, in, rc, wait);
        return rc;
    }
    return rc == 0 && wait != NULL ? store_barrier(s->store, wait) : rc;
}

int stream_store(struct stream *s, struct intake *in, bool in_batch, struct store_wait *wait,
                 struct js_error *e)
{
    struct store_append a;
    int rc;

    if (stream_numbered_out(s))
        return js_error_set_text(e, JS_STREAM_STORE_FAILED, "no sequence is left");
    stream_clamp_ttl(s, in);
    /* An ack promises that the id is known: no memory for that, no message. */
    rc = keeps_id(s, in) ? dedup_reserve(s->dedup) : 0;
    if (rc == 0 && in_batch)
        rc = limits_prepare(s, in, true);
    if (rc == 0)
        rc = in_batch ? stream_append(s, in, &a) : append_with_company(s, in, &a, wait);
    if (rc != 0) {
        stream_store_error(s, rc, e);
        return rc;
    }
    s->stats.published++;
    republish_note(s,
                   &(struct stream_msg){.seq = in->seq,
                                        .ts_ns = in->ts_ns,
                                        .subject = in->subject,
                                        .hdr = in->hdr,
                                        .payload = in->payload},
                   in->previous);
    limits_count(s);
    in->deadline_ns = a.deadline_ns;
    if (s->hour != NULL)
        hour_stored(s, in->now_ns != 0 ? in->now_ns : in->ts_ns,
                    limits_size(s, in->subject.len, in->hdr.len, in->payload.len), a.deadline_ns);
    if (a.deadline_ns != 0)
        expire_arm(s);
    warn_note(s, in->seq, a.deadline_ns);
    keep_ids(s, in);
    return 0;
}

/* --- one message --------------------------------------------------------------------------- */

/* docs/checks.md, Publish, 1 to 15: everything before the duplicate check. */
static int check_first(struct stream *s, struct intake *in, struct js_error *e)
{
    int rc;

    if (!s->memory && limits_size(s, in->subject.len, in->hdr.len, in->payload.len) > RECORD_LIMIT)
        return js_error_set_text(e, JS_STREAM_STORE_FAILED, "message too large");
    if ((rc = check_sealed(s, e)) != 0 || (rc = check_size(s, in, e)) != 0 ||
        (rc = counter_check(s, in, e)) != 0)
        return rc;
    if (in->hdr.len == 0)
        return 0;
    if ((rc = check_expected_stream(s, in, e)) != 0 || (rc = check_ttl_allowed(s, in, e)) != 0 ||
        (rc = check_expected_subject_seq(s, in, e)) != 0 ||
        (rc = check_expected_seq(s, in, e)) != 0 || (rc = schedule_check(s, in, e)) != 0)
        return rc;
    return check_stream_source(s, in, e);
}

/* docs/checks.md, Publish, 17 to 21. */
static int check_second(struct stream *s, struct intake *in, struct js_error *e)
{
    int rc;

    if (in->hdr.len > 0 &&
        ((rc = check_expected_msg_id(s, in, e)) != 0 || (rc = check_rollup(s, in, e)) != 0))
        return rc;
    if ((rc = counter_check_present(s, in, e)) != 0)
        return rc;
    if ((rc = check_size(s, in, e)) != 0) /* again: a schedule has grown by its roll-up */
        return rc;
    return check_resources(s, in, e);
}

/* docs/checks.md, Publish, 23 to 25. */
static int check_third(struct stream *s, struct intake *in, struct js_error *e)
{
    int rc;

    if ((rc = check_account(s, in, e)) != 0 || (rc = check_ttl_valid(s, in, e)) != 0 ||
        (rc = lifetime_check(s, in, false, e)) != 0)
        return rc;
    stream_clamp_ttl(s, in); /* what it takes counts with the header that is stored */
    return check_discard_new(s, in, e);
}

uint64_t stream_duplicate_of(struct stream *s, const struct intake *in)
{
    if (in->h.msg_id.len == 0 || s->cfg.duplicate_window_ns <= 0 || s->cfg.mirror != NULL)
        return 0;
    return dedup_find(s->dedup, in->h.msg_id, in->ts_ns, s->cfg.duplicate_window_ns);
}

bool stream_lacks_interest(const struct stream *s, struct mf_slice subject)
{
    return s->cfg.retention == RETENTION_INTEREST &&
           (s->interest.wanted == NULL || !s->interest.wanted(s->interest.arg, subject));
}

int stream_use_up(struct stream *s, struct intake *in, struct stream_publish *p)
{
    uint64_t msgs, bytes;
    int rc = keeps_id(s, in) ? dedup_reserve(s->dedup) : 0;

    if (rc != 0)
        return rc;
    store_accepted(s->store, &msgs, &bytes, &in->seq);
    in->seq++;
    rc = store_remove_range(s->store, in->seq, in->seq,
                            p == NULL ? NULL : stream_wait(s, p, in->seq));
    if (rc != 0)
        return rc;
    s->ends.last_ts_ns = in->ts_ns;
    remember_id(s, in);
    keep_ids(s, in);
    return 0;
}

/* Interest retention without interest: the sequence is used up, nothing is stored. */
static bool pass_over(struct stream *s, struct stream_publish *p, struct intake *in)
{
    if (!stream_lacks_interest(s, in->subject))
        return false;
    in->previous = 0;
    store_begin(s->store, false);
    int rc = in->rollup == ROLLUP_NONE ? 0 : limits_prepare(s, in, false);
    if (rc == 0)
        rc = stream_use_up(s, in, p);
    if (rc == 0 && in->rollup != ROLLUP_NONE)
        roll_up(s, in);
    (void)!store_end(s->store, NULL);
    if (rc == 0) {
        s->inflight++;
        if (in->rollup != ROLLUP_NONE)
            limits_count(s);
    } else {
        struct js_error e;
        stream_store_error(s, rc, &e);
        stream_refuse(s, p, &e);
    }
    return true;
}

static int answer_with_value(struct stream *s, struct stream_publish *p, const char *val,
                             struct js_error *e)
{
    int rc = val == NULL ? 0 : stream_answer_later(p, &(struct stream_ack){.val = val});

    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc;
}

/* Adds its TTL to the publish ack.  Without memory the ack stays plain. */
static void show_ttl(struct stream *s, struct stream_publish *p, struct intake *in)
{
    struct stream_ack_ttl ttl;

    if (!s->host->strict && p->answer == NULL && lifetime_show(s, in, &ttl))
        (void)!stream_answer_later(p, &(struct stream_ack){.ttl = &ttl});
}

static void publish_one(struct stream *s, struct stream_publish *p, struct intake *in)
{
    struct js_error e;
    const char *val = NULL;
    uint64_t duplicate;

    if (check_settled(s, in, &e) != 0 || check_first(s, in, &e) != 0) {
        stream_refuse(s, p, &e);
        return;
    }
    if ((duplicate = stream_duplicate_of(s, in)) != 0) {
        s->stats.duplicates++;
        stream_answer(s, p, &(struct stream_ack){.seq = duplicate, .duplicate = true});
        return;
    }
    if (check_second(s, in, &e) != 0) {
        stream_refuse(s, p, &e);
        return;
    }
    if (MF_UNLIKELY(p->trace != NULL) && publish_trace(s, p, in))
        return;
    if (pass_over(s, p, in))
        return;
    in->in_slices = true;
    if (counter_apply(s, in, &val, &e) != 0 || check_third(s, in, &e) != 0 ||
        answer_with_value(s, p, val, &e) != 0 ||
        stream_store(s, in, false, stream_wait(s, p, 0), &e) != 0) {
        if (val != NULL)
            counter_undo(s, in->subject);
        free(p->answer);
        p->answer = NULL;
        stream_refuse(s, p, &e);
        return;
    }
    s->inflight++;
    p->given_seq = in->seq;
    if (in->clamped || in->h.show_ttl.len > 0)
        show_ttl(s, p, in);
    if (p->answer != NULL)
        p->answer->ack.seq = in->seq;
}

/* --- in ------------------------------------------------------------------------------------ */

void stream_publish(struct stream *s, struct stream_publish *p)
{
    struct intake in = {.hdr = p->msg.hdr, .payload = p->msg.payload, .ts_ns = stream_stamp(s)};

    p->stream = s;
    p->answer = NULL;
    if (s->closing) {
        struct js_error e;
        js_error_set(&e, JS_STREAM_NOT_FOUND);
        p->done(p, &(struct stream_ack){.error = &e});
        return;
    }
    if (in.hdr.len > 0 && p->replicated)
        intake_read(in.hdr, &in.h);
    else if (in.hdr.len > 0)
        intake_clean(s, &in);
    in.subject = stream_map_subject(s, p->msg.subject);
    if (p->replicated)
        copy_publish(s, p, &in);
    else if (MF_UNLIKELY(p->trace != NULL) && publish_trace_batch(s, p, &in))
        return;
    else if (!counter_park(s, p, &in) && !fast_claim(s, p, &in) && !batch_claim(s, p, &in))
        publish_one(s, p, &in);
}
