/* sweep.c: new deadlines for the messages that are stored, after max_age or allow_msg_ttl changed;
 * and their schedules, after those were allowed.
 *
 * sweep_start() puts BLOB_SWEEP into the batch of the new configuration: the messages up to the
 * last one accepted, and the terms by which their deadlines were made (sweep_plan.c).  When that is
 * on disk the walk begins (walk.c).  Another change meanwhile starts the walk again: the plan
 * remembers which messages have which terms. */
#include "stream/sweep_plan_impl.h"
#include "stream/walk_impl.h"

#include "proto/header.h"
#include "base/log.h"

#include <stdlib.h>

struct sweep {
    struct walk walk;
    struct sweep_plan plan;
    struct policy *policies[SWEEP_PARTS]; /* in force under the terms of each part; NULL: none */
};

static struct sweep *sweep_of(struct walk *w)
{
    return mf_container(w, struct sweep, walk);
}

static int note_plan(struct stream *s, const struct sweep_plan *p, struct store_wait *w)
{
    uint8_t bytes[SWEEP_PLAN_MAX];
    size_t n = sweep_plan_write(p, bytes);

    return store_blob_put(s->store, MF_LIT(BLOB_SWEEP), mf_slice(bytes, n), w);
}

/* --- the walk ------------------------------------------------------------------------------- */

static int sweep_note(struct walk *w)
{
    struct sweep *x = sweep_of(w);

    x->plan.next = w->next;
    return note_plan(w->s, &x->plan, NULL);
}

/* Others may be linked to it: their lives follow, by a job. */
static int set_end(struct stream *s, const struct store_rec *r, int64_t deadline_ns)
{
    bool turns = (deadline_ns == 0) != (r->deadline_ns == 0);
    char *subject = turns && linked_watches(s) ? mf_slice_dup(r->key) : NULL;
    bool before = subject != NULL && lifetime_is_permanent(s, mf_str(subject));
    int rc = scope_set_end(s, r->seq, &deadline_ns, 0);

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
    return rc == MF_NOTFOUND ? 0 : rc; /* it went meanwhile */
}

static int sweep_visit(struct walk *w, const struct store_rec *r, bool *wrote)
{
    struct sweep *x = sweep_of(w);
    const struct sweep_part *part = sweep_plan_part(&x->plan, r->seq);
    int rc = schedule_found(w->s, r, wrote);

    if (rc != 0 || (r->flags & STORE_BITS) != 0)
        return rc; /* set by hand, or without an end on purpose: it stays so */
    return set_deadline(
        w->s, r,
        sweep_deadline(w->s, r, &part->terms, x->policies[part - x->plan.parts], stream_now(w->s)),
        wrote);
}

static int sweep_finish(struct walk *w)
{
    struct stream *s = w->s;
    int rc = store_blob_del(s->store, MF_LIT(BLOB_SWEEP), NULL);

    if (rc != 0 && rc != MF_NOTFOUND)
        return rc;
    log_debug("stream %s: all messages have their new deadlines", s->cfg.name);
    sweep_stop(s);
    expire_arm(s);
    return 0;
}

static void sweep_free(struct walk *w)
{
    struct sweep *x = sweep_of(w);

    for (size_t i = 0; i < SWEEP_PARTS; i++)
        policy_free(x->policies[i]);
    free(x);
}

static const struct walk_ops ops = {sweep_visit, sweep_note, sweep_finish, sweep_free};

/* --- life ----------------------------------------------------------------------------------- */

static struct sweep *sweep_new(struct stream *s)
{
    struct sweep *x = calloc(1, sizeof *x);

    if (x == NULL)
        return NULL;
    x->plan.next = 1;
    if (walk_init(&x->walk, s, &ops) != 0) {
        free(x);
        return NULL;
    }
    return x;
}

/* The policies by which the deadlines of each part were made. */
static int use_plan(struct sweep *x)
{
    x->walk.next = x->plan.next;
    x->walk.end = sweep_plan_end(&x->plan);
    for (size_t i = 0; i < x->plan.n; i++) {
        int rc = sweep_policy(x->walk.s, &x->plan.parts[i].terms, &x->policies[i]);
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

static void replace(struct stream *s, struct sweep *x)
{
    sweep_stop(s);
    s->sweep = x;
}

int sweep_start(struct stream *s, const struct sweep_terms *before)
{
    struct sweep *x = sweep_new(s);
    int rc;

    if (x == NULL)
        return MF_NOMEM;
    if (s->sweep != NULL) {
        x->plan = s->sweep->plan;
        x->plan.next = s->sweep->walk.next;
    }
    rc = sweep_plan_change(&x->plan, before, last_accepted(s));
    if (rc == 0 && (rc = use_plan(x)) == 0)
        rc = note_plan(s, &x->plan, &x->walk.wait);
    if (rc != 0) {
        walk_stop(&x->walk);
        return rc;
    }
    (void)walk_wait(&x->walk);
    replace(s, x);
    return 0;
}

int sweep_resume(struct stream *s)
{
    struct mf_slice bytes;

    if (!store_blob_get(s->store, MF_LIT(BLOB_SWEEP), &bytes))
        return 0;
    struct sweep *x = sweep_new(s);
    if (x == NULL)
        return MF_NOMEM;
    sweep_plan_read(&x->plan, bytes, last_accepted(s));
    if (use_plan(x) != 0) {
        walk_stop(&x->walk);
        return MF_NOMEM;
    }
    replace(s, x);
    walk_go(&x->walk);
    return 0;
}

void sweep_stop(struct stream *s)
{
    struct sweep *x = s->sweep;

    s->sweep = NULL;
    if (x != NULL)
        walk_stop(&x->walk);
}
