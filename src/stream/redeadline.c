/* redeadline.c: the re-deadline job: new deadlines for stored messages after max_age or
 * allow_msg_ttl changed, and their schedules after those were allowed.
 *
 * redeadline_start() puts BLOB_REDEADLINE into the batch of the new configuration: the messages up
 * to the last one accepted, and the terms by which their deadlines were made (redeadline_plan.c).
 * The job begins after the commit (stream_job.c).  Another change meanwhile starts the job again:
 * the plan remembers which messages have which terms. */
#include "stream/redeadline_plan_impl.h"
#include "stream/stream_job_impl.h"

#include "proto/header.h"
#include "base/log.h"

#include <stdlib.h>

struct redeadline {
    struct stream_job job;
    struct redeadline_plan plan;
    struct policy
        *policies[REDEADLINE_PARTS]; /* in force under the terms of each part; NULL: none */
};

static struct redeadline *of_job(struct stream_job *j)
{
    return mf_container(j, struct redeadline, job);
}

static int note_plan(struct stream *s, const struct redeadline_plan *p, struct store_wait *w)
{
    uint8_t bytes[REDEADLINE_PLAN_MAX];
    size_t n = redeadline_plan_write(p, bytes);

    return store_blob_put(s->store, MF_LIT(BLOB_REDEADLINE), mf_slice(bytes, n), w);
}

/* --- the job -------------------------------------------------------------------------------- */

static int redeadline_note(struct stream_job *j)
{
    struct redeadline *x = of_job(j);

    x->plan.next = j->next;
    return note_plan(j->s, &x->plan, NULL);
}

/* Messages that link to it follow, by the job of linked.c. */
static int set_end(struct stream *s, const struct store_rec *r, int64_t deadline_ns)
{
    bool turns = (deadline_ns == 0) != (r->deadline_ns == 0);
    char *subject = turns && linked_watches(s) ? mf_slice_dup(r->key) : NULL;
    bool before = subject != NULL && lifetime_is_permanent(s, mf_str(subject));
    int rc = 0;

    if (subject == NULL && turns && linked_watches(s))
        return MF_NOMEM;
    if (subject != NULL && deadline_ns == 0)
        rc = linked_prepare(s, mf_str(subject), before);
    if (rc == 0)
        rc = scope_set_end(s, r->seq, &deadline_ns, 0);
    if (subject != NULL)
        linked_changed_many(s, mf_str(subject), before);
    free(subject);
    return rc;
}

static int set_deadline(struct stream *s, const struct store_rec *r, int64_t deadline_ns,
                        bool *wrote)
{
    int rc;

    if (scope_holds(s))
        deadline_ns = scope_cut(s, r->seq, deadline_ns);
    if (deadline_ns == r->deadline_ns)
        return 0;
    rc = set_end(s, r, deadline_ns);
    *wrote |= rc == 0;
    return rc == MF_NOTFOUND ? 0 : rc; /* it ended meanwhile */
}

static int redeadline_visit(struct stream_job *j, const struct store_rec *r, bool *wrote)
{
    struct redeadline *x = of_job(j);
    const struct redeadline_part *part = redeadline_plan_part(&x->plan, r->seq);
    int rc = schedule_found(j->s, r, wrote);

    if (rc != 0 || (r->flags & STORE_BITS) != 0)
        return rc; /* pinned or infinite: unchanged */
    return set_deadline(j->s, r,
                        redeadline_compute(j->s, r, &part->terms, x->policies[part - x->plan.parts],
                                           stream_now(j->s)),
                        wrote);
}

static int redeadline_finish(struct stream_job *j)
{
    struct stream *s = j->s;
    int rc = store_blob_del(s->store, MF_LIT(BLOB_REDEADLINE), NULL);

    if (rc != 0 && rc != MF_NOTFOUND)
        return rc;
    log_debug("stream %s: all messages have their new deadlines", s->cfg.name);
    redeadline_stop(s);
    expire_arm(s);
    return 0;
}

static void redeadline_free(struct stream_job *j)
{
    struct redeadline *x = of_job(j);

    for (size_t i = 0; i < REDEADLINE_PARTS; i++)
        policy_free(x->policies[i]);
    free(x);
}

static const struct stream_job_ops ops = {redeadline_visit, redeadline_note, redeadline_finish,
                                          redeadline_free};

/* --- life ----------------------------------------------------------------------------------- */

static struct redeadline *redeadline_new(struct stream *s)
{
    struct redeadline *x = calloc(1, sizeof *x);

    if (x == NULL)
        return NULL;
    x->plan.next = 1;
    if (stream_job_init(&x->job, s, &ops) != 0) {
        free(x);
        return NULL;
    }
    return x;
}

/* The policies by which the deadlines of each part were made. */
static int use_plan(struct redeadline *x)
{
    x->job.next = x->plan.next;
    x->job.end = redeadline_plan_end(&x->plan);
    for (size_t i = 0; i < x->plan.n; i++) {
        int rc = redeadline_policy(x->job.s, &x->plan.parts[i].terms, &x->policies[i]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static uint64_t last_accepted(const struct stream *s)
{
    uint64_t msgs, bytes, last;

    store_accepted(s->store, &msgs, &bytes, &last);
    return last;
}

static void replace_job(struct stream *s, struct redeadline *x)
{
    redeadline_stop(s);
    s->redeadline = x;
}

int redeadline_start(struct stream *s, const struct redeadline_terms *before)
{
    struct redeadline *x = redeadline_new(s);
    int rc;

    if (x == NULL)
        return MF_NOMEM;
    if (s->redeadline != NULL) {
        x->plan = s->redeadline->plan;
        x->plan.next = s->redeadline->job.next;
    }
    rc = redeadline_plan_change(&x->plan, before, last_accepted(s));
    if (rc == 0 && (rc = use_plan(x)) == 0)
        rc = note_plan(s, &x->plan, &x->job.wait);
    if (rc != 0) {
        stream_job_stop(&x->job);
        return rc;
    }
    (void)stream_job_wait(&x->job);
    replace_job(s, x);
    return 0;
}

int redeadline_resume(struct stream *s)
{
    struct mf_slice bytes;

    if (!store_blob_get(s->store, MF_LIT(BLOB_REDEADLINE), &bytes))
        return 0;
    struct redeadline *x = redeadline_new(s);
    if (x == NULL)
        return MF_NOMEM;
    redeadline_plan_read(&x->plan, bytes, last_accepted(s));
    if (use_plan(x) != 0) {
        stream_job_stop(&x->job);
        return MF_NOMEM;
    }
    replace_job(s, x);
    stream_job_continue(&x->job);
    return 0;
}

void redeadline_stop(struct stream *s)
{
    struct redeadline *x = s->redeadline;

    s->redeadline = NULL;
    if (x != NULL)
        stream_job_stop(&x->job);
}
