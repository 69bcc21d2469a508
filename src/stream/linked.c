/* linked.c: lives that are linked to another record (permanent_if).
 *
 * A permanent record appears: up to UPGRADE_MAX messages that link to it become infinite in its own
 * batch, so that they are safe when it is acknowledged; further ones by the job.  It ceases
 * (replaced by one that ends, removed, purged, given a deadline): the job resolves messages that
 * are infinite because of it again, from that moment on. The job looks at the messages of the
 * subjects that were noted, or, where those are too many, or a purge names none, and at each start,
 * at all infinite messages: so nothing has to be noted on disk, and a crash between a record and
 * its job loses nothing.  Messages that were set by hand, and those whose writer sent a TTL, stay
 * as they are. */
#include "lifetime.h"

#include "mayfly/log.h"

#include <stdlib.h>

#define UPGRADE_MAX 64
#define FILTERS_MAX 64
#define NODES       64 /* of the tree of subjects in one step */
#define STEPS       256

struct linked {
    struct stream *s; /* NULL: stopped */
    struct work_task task;
    char *filters[FILTERS_MAX]; /* to be looked at; the first one is under way */
    size_t n;
    bool all, walking;                /* all infinite messages; they are being walked */
    uint64_t from;                    /* walking: the next sequence */
    struct stream_subjects *subjects; /* of the first filter; NULL: not begun */
    uint64_t seq;                     /* the message to look at next; 0: of the next subject */
    bool reading;
    struct store_read read;
};

/* --- one message ---------------------------------------------------------------------------- */

/* Infinite by its link, or no more.  In an open batch or alone. */
static int judge(struct stream *s, const struct store_rec *r)
{
    bool infinite = (r->flags & STORE_INFINITE) != 0;
    struct policy_decision d;
    struct mf_slice own;
    int64_t now_ns = stream_now(s);
    int rc = 0;

    if ((r->flags & STORE_PINNED) != 0 ||
        (s->cfg.allow_msg_ttl && header_get(r->head, "Nats-TTL", &own)))
        return 0;
    lifetime_stored_decide(s, r, now_ns, &d);
    bool linked = d.by == POLICY_BY_RULE && d.linked && d.ttl == TTL_NEVER;
    if (linked && !infinite)
        rc = store_set_deadline(s->store, r->seq, 0, STORE_INFINITE, NULL);
    else if (infinite && d.ttl != TTL_NEVER)
        rc = store_set_deadline(s->store, r->seq, expire_deadline(s, now_ns, d.ttl), 0, NULL);
    if (rc == 0 && infinite && d.ttl != TTL_NEVER)
        expire_arm(s);
    return rc == MF_NOTFOUND ? 0 : rc;
}

/* --- what is noted -------------------------------------------------------------------------- */

static void note_all(struct linked *l)
{
    l->all = true;
    if (l->s != NULL && !l->reading)
        work_add(l->s->host->loop, l->s->owner, &l->task);
}

static void note_filter(void *arg, struct mf_slice filter)
{
    struct linked *l = arg;

    for (size_t i = 1; i < l->n; i++)
        if (mf_eq_str(filter, l->filters[i]))
            return;
    if (l->n == FILTERS_MAX || (l->filters[l->n] = mf_slice_dup(filter)) == NULL) {
        note_all(l);
        return;
    }
    l->n++;
    if (!l->reading)
        work_add(l->s->host->loop, l->s->owner, &l->task);
}

static void next_filter(struct linked *l)
{
    stream_subjects_free(l->subjects);
    l->subjects = NULL;
    free(l->filters[0]);
    l->n--;
    memmove(l->filters, l->filters + 1, l->n * sizeof l->filters[0]);
}

/* --- the job -------------------------------------------------------------------------------- */

/* The next message to look at; 0 and *more: the step was used up. */
static uint64_t next_infinite(struct linked *l, bool *more)
{
    size_t steps = STEPS;
    uint64_t seq = store_next_endless(l->s->store, true, &l->from, &steps, more);

    if (seq != 0)
        l->from = seq + 1;
    return seq;
}

static uint64_t next_of_subjects(struct linked *l, bool *more)
{
    struct stream_subject x;
    uint32_t nodes = NODES;
    uint64_t seq, count;

    *more = true;
    if (l->seq != 0) {
        seq = l->seq;
        l->seq = store_older(l->s->store, seq);
        return seq;
    }
    if (l->subjects == NULL &&
        (l->subjects = stream_subjects_new(l->s, mf_str(l->filters[0]))) == NULL) {
        next_filter(l);
        l->all = true; /* without memory for a list of subjects: all of them, later */
        return 0;
    }
    if (stream_subjects_next(l->subjects, &nodes, &x)) {
        seq = store_key_last_accepted(l->s->store, x.subject, &count);
        l->seq = seq == 0 ? 0 : store_older(l->s->store, seq);
        return seq;
    }
    if (nodes > 0)
        next_filter(l);
    return 0;
}

static uint64_t next_message(struct linked *l, bool *more)
{
    if (l->walking || (l->n == 0 && l->all)) {
        l->from = l->walking ? l->from : 1;
        l->walking = true;
        l->all = false;
        uint64_t seq = next_infinite(l, more);
        l->walking = seq != 0 || *more;
        *more = true;
        return seq;
    }
    *more = l->n > 0;
    return l->n > 0 ? next_of_subjects(l, more) : 0;
}

static void go_on(struct linked *l)
{
    if (l->s != NULL)
        work_add(l->s->host->loop, l->s->owner, &l->task);
}

static void linked_free(struct linked *l)
{
    while (l->n > 0)
        free(l->filters[--l->n]);
    stream_subjects_free(l->subjects);
    free(l);
}

/* Without memory or room now, all infinite messages are looked at again later. */
static void on_read(struct store_read *read, int status)
{
    struct linked *l = mf_container(read, struct linked, read);

    l->reading = false;
    if (l->s == NULL) {
        linked_free(l);
        return;
    }
    if (status == MF_NOMEM || (status == 0 && judge(l->s, &read->rec) != 0))
        l->all = true;
    go_on(l);
}

/* false: it is being read. */
static bool look_at(struct linked *l, uint64_t seq)
{
    struct store_rec r;
    int rc = store_peek(l->s->store, seq, &r);

    if (rc == 0 && judge(l->s, &r) != 0)
        l->all = true;
    if (rc != MF_AGAIN)
        return true;
    l->read = (struct store_read){.seq = seq, .done = on_read};
    l->reading = store_read(l->s->store, &l->read) == 0;
    return !l->reading;
}

static bool linked_run(struct work_task *t)
{
    struct linked *l = mf_container(t, struct linked, task);
    bool more = true;

    if (l->s->closing || l->s->governor == NULL)
        return false;
    do {
        uint64_t seq = next_message(l, &more);
        if (seq != 0 && !look_at(l, seq))
            return false;
    } while (more && !work_spent(l->s->host->loop));
    return more;
}

/* --- records that appear and cease ---------------------------------------------------------- */

bool linked_watches(const struct stream *s)
{
    return s->linked != NULL && s->governor != NULL && policy_has_links(s->governor) &&
           !lifetime_is_audit(s->governor);
}

struct upgrade {
    struct stream *s;
    size_t left;
};

/* A message that is not in memory is made infinite first and judged by the job. */
static void upgrade_one(struct stream *s, uint64_t seq, struct mf_slice subject)
{
    int64_t deadline_ns;
    uint16_t flags;
    struct store_rec r;

    if (!store_life(s->store, seq, &deadline_ns, &flags) || (flags & STORE_BITS) != 0)
        return;
    int rc = store_peek(s->store, seq, &r);
    if (rc == 0) {
        rc = judge(s, &r);
    } else if (rc == MF_AGAIN || store_next_accepted(s->store, seq) == seq) {
        rc = store_set_deadline(s->store, seq, 0, STORE_INFINITE, NULL);
        note_filter(s->linked, subject);
    }
    if (rc != 0 && rc != MF_NOTFOUND)
        note_filter(s->linked, subject);
}

static void upgrade_subject(struct upgrade *u, struct mf_slice subject)
{
    uint64_t count, seq = store_key_last_accepted(u->s->store, subject, &count);

    for (; seq != 0 && u->left > 0; seq = store_older(u->s->store, seq), u->left--)
        upgrade_one(u->s, seq, subject);
    if (seq != 0)
        note_filter(u->s->linked, subject);
}

static void upgrade(void *arg, struct mf_slice filter)
{
    struct upgrade *u = arg;

    if (subject_has_wildcard(filter))
        note_filter(u->s->linked, filter); /* perhaps many: the job's */
    else
        upgrade_subject(u, filter);
}

void linked_changed(struct stream *s, struct mf_slice subject, bool before)
{
    bool after = lifetime_is_permanent(s, subject);
    struct upgrade u = {s, UPGRADE_MAX};

    if (before == after)
        return;
    if (after)
        policy_linked_by(s->governor, subject, upgrade, &u);
    else
        policy_linked_by(s->governor, subject, note_filter, s->linked);
}

void linked_gone(struct stream *s, struct mf_slice subject)
{
    if (!linked_watches(s))
        return;
    if (subject.len == 0)
        note_all(s->linked);
    else if (!lifetime_is_permanent(s, subject))
        policy_linked_by(s->governor, subject, note_filter, s->linked);
}

/* --- life ----------------------------------------------------------------------------------- */

int linked_start(struct stream *s)
{
    struct linked *l;

    if (s->linked != NULL || s->governor == NULL || !policy_has_links(s->governor))
        return 0;
    if ((l = calloc(1, sizeof *l)) == NULL)
        return MF_NOMEM;
    l->s = s;
    l->task = (struct work_task){.run = linked_run, .cause = WORK_EXPIRE};
    s->linked = l;
    announce_watch(s);
    note_all(l);
    return 0;
}

void linked_stop(struct stream *s)
{
    struct linked *l = s->linked;

    s->linked = NULL;
    if (l == NULL)
        return;
    work_cancel(s->host->loop, &l->task);
    stream_subjects_free(l->subjects);
    l->subjects = NULL;
    l->s = NULL;
    if (!l->reading)
        linked_free(l);
}
