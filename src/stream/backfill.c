/* backfill.c: applies the policy to stored messages (backfill.h).
 *
 * BLOB_BACKFILL, little endian:
 *      0  u8   version (1)           1  u8   enum backfill_state
 *      2  u8   1 all, 2 written      3  u8   length of the filter, 0: all subjects
 *      4  8 bytes id                12  i64  started     20  i64  base    28  i64  spread
 *     36  u64  rate                 44  u64  expire_now allowed
 *     52  u64  next                 60  u64  end         68  u64  total
 *     76  u64  seen, set, infinite, unchanged, pinned, expire_now, errors, then one for each
 *              enum policy_by; the filter
 * Another version is not continued: the job counts as stopped. */
#include "stream/lifetime_impl.h"
#include "stream/summary_impl.h"
#include "stream/stream_job_impl.h"

#include "stream/backfill.h"
#include "base/clock.h"
#include "codec/hash.h"
#include "base/le.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdio.h>
#include <stdlib.h>

#define VERSION    1
#define COUNTERS   7
#define FIXED      (76 + 8 * (COUNTERS + POLICY_BYS))
#define FILTER_MAX 255
#define REPORT_NS  (10 * CLOCK_S)
#define SLICES_S   20u /* slices in a second, where the rate allows less than whole ones */

struct backfill {
    struct stream_job job;
    struct backfill_status st;
    char filter[FILTER_MAX + 1];
    char error[160];
    int64_t reported_ns; /* when its progress was last reported */
};

static struct backfill *job_of(struct stream_job *w)
{
    return mf_container(w, struct backfill, job);
}

/* --- the blob ------------------------------------------------------------------------------- */

static uint64_t *counters_of(struct backfill_status *st, size_t i)
{
    uint64_t *own[COUNTERS] = {&st->seen,   &st->set,        &st->infinite, &st->unchanged,
                               &st->pinned, &st->expire_now, &st->errors};

    return i < COUNTERS ? own[i] : &st->decided[i - COUNTERS];
}

static int save_state(struct stream *s, struct backfill *b, struct store_wait *wait)
{
    uint8_t bytes[FIXED + FILTER_MAX] = {VERSION};
    struct backfill_status *st = &b->st;
    size_t n = strlen(b->filter);

    bytes[1] = (uint8_t)st->state;
    bytes[2] = (uint8_t)((st->opts.all ? 1 : 0) | (st->opts.written ? 2 : 0));
    bytes[3] = (uint8_t)n;
    memcpy(bytes + 4, st->id, 8);
    le64_put(bytes + 12, (uint64_t)st->started_ns);
    le64_put(bytes + 20, (uint64_t)st->base_ns);
    le64_put(bytes + 28, (uint64_t)st->opts.spread_ns);
    le64_put(bytes + 36, st->opts.rate);
    le64_put(bytes + 44, st->opts.expire_now);
    le64_put(bytes + 52, b->job.next);
    le64_put(bytes + 60, b->job.end);
    le64_put(bytes + 68, st->total);
    for (size_t i = 0; i < COUNTERS + POLICY_BYS; i++)
        le64_put(bytes + 76 + 8 * i, *counters_of(st, i));
    memcpy(bytes + FIXED, b->filter, n);
    return store_blob_put(s->store, MF_LIT(BLOB_BACKFILL), mf_slice(bytes, FIXED + n), wait);
}

/* The only reason there is: its number is one of the job's words. */
static void explain_failure(struct backfill *b)
{
    snprintf(b->error, sizeof b->error,
             "backfill would expire more than %llu messages at once; confirm with a larger "
             "\"expire_now\"",
             (unsigned long long)b->st.opts.expire_now);
    b->st.error = b->error;
}

static bool load_state(struct backfill *b, struct mf_slice bytes)
{
    const uint8_t *p = bytes.ptr;
    struct backfill_status *st = &b->st;

    if (bytes.len < FIXED || p[0] != VERSION || p[1] > BACKFILL_FAILED ||
        bytes.len != FIXED + (size_t)p[3])
        return false;
    st->state = (enum backfill_state)p[1];
    st->opts.all = (p[2] & 1) != 0;
    st->opts.written = (p[2] & 2) != 0;
    memcpy(st->id, p + 4, 8);
    st->id[7] = '\0';
    st->started_ns = (int64_t)le64_get(p + 12);
    st->base_ns = (int64_t)le64_get(p + 20);
    st->opts.spread_ns = (int64_t)le64_get(p + 28);
    st->opts.rate = le64_get(p + 36);
    st->opts.expire_now = le64_get(p + 44);
    b->job.next = le64_get(p + 52);
    b->job.end = le64_get(p + 60);
    st->total = le64_get(p + 68);
    for (size_t i = 0; i < COUNTERS + POLICY_BYS; i++)
        *counters_of(st, i) = le64_get(p + 76 + 8 * i);
    memcpy(b->filter, p + FIXED, p[3]);
    if (st->state == BACKFILL_FAILED)
        explain_failure(b);
    return st->opts.rate > 0 && st->opts.rate <= BACKFILL_RATE_MAX && st->opts.spread_ns >= 0;
}

/* --- one message ---------------------------------------------------------------------------- */

/* Of all messages of a subject the same, so that scope: subject has nothing to mend. */
static int64_t spread_of(const struct backfill *b, struct mf_slice subject)
{
    int64_t spread = b->st.opts.spread_ns;

    return spread == 0 ? 0 : (int64_t)(hash_slice(subject) % (uint64_t)spread);
}

static bool is_exempt(const struct store_rec *r)
{
    struct mf_slice value;

    return header_get(r->head, "Nats-Marker-Reason", &value) ||
           header_get(r->head, "Nats-Schedule", &value);
}

/* The deadline of a decision that counts from from_ns; 0: none. */
static int64_t end_of(const struct stream *s, const struct policy_decision *d, int64_t from_ns)
{
    return d->ttl == TTL_NEVER ? 0 : expire_deadline(s, from_ns, d->ttl);
}

static bool is_changed(const struct store_rec *r, const struct policy_decision *d,
                       int64_t deadline_ns)
{
    bool infinite = deadline_ns == 0 && d->ttl == TTL_NEVER;

    return deadline_ns != r->deadline_ns || infinite != ((r->flags & STORE_INFINITE) != 0);
}

/* The deadline that the policy gives it; *d says who decided.  False: it stays as it is. */
static bool wanted_end(struct backfill *b, const struct store_rec *r, struct policy_decision *d,
                       int64_t *deadline_ns)
{
    struct stream *s = b->job.s;
    bool without = r->deadline_ns == 0 && (r->flags & STORE_INFINITE) == 0;
    int64_t from = b->st.opts.written ? r->ts_ns : b->st.base_ns;

    if ((!b->st.opts.all && !without) || is_exempt(r))
        return false;
    lifetime_stored_decide(s, s->governor, r, from, d);
    if (d->ttl == TTL_NONE)
        return false;
    *deadline_ns = end_of(s, d, from);
    if (*deadline_ns != 0 && *deadline_ns < INT64_MAX - b->st.opts.spread_ns)
        *deadline_ns += spread_of(b, r->key);
    return is_changed(r, d, *deadline_ns);
}

static int fail_job(struct backfill *b)
{
    b->st.state = BACKFILL_FAILED;
    explain_failure(b);
    summary_count_change(b->job.s, STREAM_TTL_BACKFILL);
    log_warn("stream %s: backfill %s stopped: %s", b->job.s->cfg.name, b->st.id, b->error);
    return MF_CLOSED;
}

/* Others may be linked to it: their lives follow. */
static int write_end(struct backfill *b, const struct store_rec *r, int64_t deadline_ns,
                     uint16_t bits, bool *wrote)
{
    struct stream *s = b->job.s;
    char *subject;
    int rc;

    if (b->st.opts.dry_run)
        return 0;
    subject = linked_watches(s) ? mf_slice_dup(r->key) : NULL;
    bool before = subject != NULL && lifetime_is_permanent(s, mf_str(subject));
    if (subject == NULL && linked_watches(s))
        return MF_NOMEM;
    rc = subject == NULL || deadline_ns != 0 ? 0 : linked_prepare(s, mf_str(subject), before);
    if (rc == 0)
        rc = scope_set_end(s, r->seq, &deadline_ns, bits);
    *wrote |= rc == 0;
    if (subject != NULL)
        linked_changed(s, mf_str(subject), before);
    free(subject);
    return rc;
}

static int change_message(struct backfill *b, const struct store_rec *r, bool *wrote)
{
    struct backfill_status *st = &b->st;
    struct policy_decision d;
    int64_t deadline_ns = 0, now_ns = stream_now(b->job.s);
    bool ends, infinite;
    int rc;

    if (!wanted_end(b, r, &d, &deadline_ns)) {
        st->unchanged++;
        return 0;
    }
    infinite = deadline_ns == 0 && d.ttl == TTL_NEVER;
    ends = deadline_ns != 0 && deadline_ns <= now_ns;
    if (ends && !st->opts.dry_run && st->expire_now >= st->opts.expire_now)
        return fail_job(b);
    rc = write_end(b, r, deadline_ns, infinite ? STORE_INFINITE : 0, wrote);
    if (rc == MF_NOTFOUND)
        return 0; /* removed meanwhile */
    if (rc != 0)
        return rc;
    st->expire_now += ends;
    st->infinite += infinite;
    st->set += !infinite;
    st->decided[d.by]++;
    return 0;
}

/* --- another policy, tried out ---------------------------------------------------------------- */

static void count_trial(struct backfill_counts *n, const struct store_rec *r,
                        const struct policy_decision *d, int64_t deadline_ns, int64_t now_ns)
{
    if (!is_changed(r, d, deadline_ns)) {
        n->unchanged++;
        return;
    }
    n->set += d->ttl != TTL_NEVER;
    n->infinite += d->ttl == TTL_NEVER;
    n->expire_now += deadline_ns != 0 && deadline_ns <= now_ns;
}

/* The lifetime that a message of the last hour would have been stored with. */
static void count_recent(struct stream *s, struct backfill_trial *t, const struct store_rec *r,
                         const struct policy_decision *d)
{
    int64_t deadline_ns = end_of(s, d, r->ts_ns);

    t->recent++;
    t->recent_bytes += stream_size_of(s, r->key.len, r->head.len, r->body.len);
    if (deadline_ns <= r->ts_ns)
        return;
    t->recent_ttls++;
    t->recent_ttl_sum_s += (double)(deadline_ns - r->ts_ns) / 1e9;
}

static bool is_in_force(const struct policy *p)
{
    return p != NULL && policy_view(p)->active && !lifetime_is_audit(p);
}

void backfill_try(struct stream *s, struct backfill_trial *t, const struct stream_msg *m)
{
    struct store_rec r = {
        .seq = m->seq, .ts_ns = m->ts_ns, .key = m->subject, .head = m->hdr, .body = m->payload};
    struct policy_decision now, written;

    if (!store_life(s->store, m->seq, &r.deadline_ns, &r.flags))
        return;            /* removed a moment ago */
    r.flags &= STORE_BITS; /* the payload is not compressed here */
    t->seen++;
    lifetime_stored_decide(s, t->policy, &r, r.ts_ns, &written);
    if (r.ts_ns >= t->recent_ns)
        count_recent(s, t, &r, &written);
    if ((r.flags & STORE_PINNED) != 0) {
        t->pinned++;
    } else if (!is_in_force(t->policy) || is_exempt(&r) || written.ttl == TTL_NONE) {
        t->now.unchanged++;
        t->written.unchanged++;
    } else {
        lifetime_stored_decide(s, t->policy, &r, t->now_ns, &now);
        count_trial(&t->now, &r, &now, end_of(s, &now, t->now_ns), t->now_ns);
        count_trial(&t->written, &r, &written, end_of(s, &written, r.ts_ns), t->now_ns);
        t->decided[now.by]++;
    }
}

static void report_progress(struct backfill *b, struct stream *s)
{
    b->reported_ns = stream_now(s);
    summary_count_change(s, STREAM_TTL_BACKFILL);
}

static int backfill_visit(struct stream_job *w, const struct store_rec *r, bool *wrote)
{
    struct backfill *b = job_of(w);
    int rc = 0;

    if (b->filter[0] != '\0' && !subject_match(mf_str(b->filter), r->key))
        return 0;
    if (w->s->governor == NULL || lifetime_is_audit(w->s->governor) || w->s->cfg.sealed)
        b->st.unchanged++; /* the policy was switched off meanwhile */
    else if ((r->flags & STORE_PINNED) != 0)
        b->st.pinned++;
    else
        rc = change_message(b, r, wrote);
    b->st.seen += rc == 0;
    if (stream_now(w->s) - b->reported_ns >= REPORT_NS)
        report_progress(b, w->s);
    return rc;
}

/* --- the job -------------------------------------------------------------------------------- */

static int backfill_note(struct stream_job *w)
{
    return save_state(w->s, job_of(w), NULL);
}

static int backfill_finish(struct stream_job *w)
{
    struct backfill *b = job_of(w);
    int rc = 0;

    b->st.state = BACKFILL_DONE;
    if (!b->st.opts.dry_run && (rc = save_state(w->s, b, NULL)) != 0)
        b->st.state = BACKFILL_RUNNING;
    else
        summary_count_change(w->s, STREAM_TTL_BACKFILL);
    return rc;
}

static void backfill_free(struct stream_job *w)
{
    free(job_of(w));
}

static const struct stream_job_ops ops = {backfill_visit, backfill_note, backfill_finish,
                                          backfill_free};

static void set_pace(struct backfill *b)
{
    uint64_t slice = b->st.opts.rate / SLICES_S;

    slice = slice < 1 ? 1 : slice > STREAM_JOB_SLICE ? STREAM_JOB_SLICE : slice;
    b->job.slice = (unsigned)slice;
    b->job.gap_ns = (int64_t)(slice * (uint64_t)CLOCK_S / b->st.opts.rate);
}

static struct backfill *job_new(struct stream *s)
{
    struct backfill *b = calloc(1, sizeof *b);

    if (b == NULL || stream_job_init(&b->job, s, &ops) != 0) {
        free(b);
        return NULL;
    }
    b->st.opts.filter = b->filter;
    return b;
}

/* --- life ----------------------------------------------------------------------------------- */

const struct backfill_status *backfill_status(const struct stream *s)
{
    return s->backfill == NULL ? NULL : &s->backfill->st;
}

static bool is_under_way(const struct stream *s)
{
    return s->backfill != NULL &&
           (s->backfill->st.state == BACKFILL_RUNNING || s->backfill->st.state == BACKFILL_PAUSED);
}

static void begin_job(struct backfill *b, struct stream *s, const struct backfill_opts *o)
{
    uint64_t msgs, bytes;
    char id[RAND_NUID + 1];

    rand_nuid(id);
    memcpy(b->st.id, id + RAND_NUID - 6, 7);
    b->st.opts = *o;
    snprintf(b->filter, sizeof b->filter, "%s", o->filter == NULL ? "" : o->filter);
    b->st.opts.filter = b->filter;
    b->st.started_ns = b->st.base_ns = stream_now(s);
    store_accepted(s->store, &msgs, &bytes, &b->job.end);
    b->st.total = msgs;
    set_pace(b);
}

/* op waits for what is accepted; a dry run waits for nothing. */
static int answer_later(struct stream *s, struct stream_op *op)
{
    int rc = store_barrier(s->store, stream_op_wait(s, op));

    op->count = 0;
    op->purge_filter = NULL;
    if (rc == 0)
        s->inflight++;
    return rc;
}

int backfill_start(struct stream *s, const struct backfill_opts *o, struct stream_op *op)
{
    struct backfill *b;
    int rc;

    if (is_under_way(s))
        return MF_EXISTS;
    if ((b = job_new(s)) == NULL)
        return MF_NOMEM;
    begin_job(b, s, o);
    rc = o->dry_run ? 0 : save_state(s, b, NULL);
    if (rc == 0)
        rc = answer_later(s, op);
    if (rc != 0) {
        stream_job_stop(&b->job);
        return rc;
    }
    backfill_stop(s);
    s->backfill = b;
    report_progress(b, s);
    stream_job_continue(&b->job);
    return 0;
}

int backfill_set_state(struct stream *s, enum backfill_state state, struct stream_op *op)
{
    struct backfill *b = s->backfill;
    enum backfill_state before;
    int rc;

    if (!is_under_way(s))
        return MF_NOTFOUND;
    before = b->st.state;
    b->st.state = state;
    rc = b->st.opts.dry_run ? 0 : save_state(s, b, NULL);
    if (rc == 0)
        rc = answer_later(s, op);
    if (rc != 0) {
        b->st.state = before;
        return rc;
    }
    report_progress(b, s);
    if (state == BACKFILL_RUNNING)
        stream_job_continue(&b->job);
    else
        stream_job_pause(&b->job);
    return 0;
}

int backfill_resume(struct stream *s)
{
    struct mf_slice bytes;
    struct backfill *b;

    if (!store_blob_get(s->store, MF_LIT(BLOB_BACKFILL), &bytes))
        return 0;
    if ((b = job_new(s)) == NULL)
        return MF_NOMEM;
    if (!load_state(b, bytes)) {
        stream_job_stop(&b->job);
        return 0;
    }
    set_pace(b);
    s->backfill = b;
    if (b->st.state == BACKFILL_RUNNING)
        stream_job_continue(&b->job);
    return 0;
}

void backfill_stop(struct stream *s)
{
    struct backfill *b = s->backfill;

    s->backfill = NULL;
    if (b != NULL)
        stream_job_stop(&b->job);
}
