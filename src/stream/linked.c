/* linked.c: lives that are linked to another record (permanent_if).
 *
 * A permanent record appears: up to UPGRADE_MAX messages that link to it become infinite in its own
 * batch, so that they are safe when it is acknowledged.  The job upgrades further ones, and those
 * that found no room.  BLOB_LINK remembers them over a crash: it is written first in that batch,
 * and without it the record is refused.  A message that cannot be read in that moment may
 * belong to another rule: it becomes infinite unseen, and a blob keeps its former end until the job
 * has judged it.
 * A record is permanent again when a newer one is removed: noted in the batch of the removal.
 * A record ceases to be permanent (replaced by one that ends, removed, purged, given a deadline):
 * the job resolves messages that are infinite because of it again, from that moment on.
 *
 * The job looks at the messages of the noted subjects when those are on disk, or at all messages
 * where the subjects are too many.  At each start, and after a purge that names no subject, it
 * looks at all infinite messages, so a crash between a record and its job loses nothing.  Messages
 * that were set by hand, and those whose writer sent a TTL, stay as they are.
 * Failure: a message that cannot be changed now makes the job begin again after a pause. */
#include "stream/lifetime_impl.h"
#include "stream/linked_unseen_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define UPGRADE_MAX 64
#define FILTERS_MAX 64
#define NODES       64 /* of the tree of subjects in one step */
#define STEPS       256
#define PAUSE_NS    (CLOCK_S / 10)

enum walk_of { WALK_NONE, WALK_INFINITE, WALK_EVERY };

struct linked {
    struct stream *s; /* NULL: stopped */
    struct work_task task;
    struct loop_timer *timer;   /* after a failure */
    uint64_t end;               /* messages up to here must be on disk before they are looked at */
    char *filters[FILTERS_MAX]; /* to be looked at; the first one is under way */
    size_t n;
    enum walk_of wanted, walking;     /* walks over the stream: to come, and under way */
    uint64_t from;                    /* walking: the next sequence */
    struct stream_subjects *subjects; /* of the first filter; NULL: not begun */
    uint64_t seq;                     /* the message to look at next; 0: of the next subject */
    bool reading, waiting, noted;     /* noted: BLOB_LINK is there */
    struct store_read read;
    struct store_wait wait;
    struct unseen_set unseen;
};

/* --- one message ---------------------------------------------------------------------------- */

/* In the open batch. */
static int set_end(struct stream *s, uint64_t seq, int64_t deadline_ns, uint16_t bits)
{
    int rc = scope_set_end(s, seq, &deadline_ns, bits);

    return rc == MF_NOTFOUND ? 0 : rc; /* removed meanwhile */
}

/* Infinite by its link, or no more.  u: infinite unseen, or NULL.  In the open batch. */
static int judge_seen(struct stream *s, const struct store_rec *r, const struct unseen *u)
{
    bool infinite = (r->flags & STORE_INFINITE) != 0;
    int64_t now_ns = stream_now(s);
    struct policy_decision d;

    if (!linked_watches(s) || s->cfg.sealed || (r->flags & STORE_PINNED) != 0)
        return 0;
    if (u != NULL && infinite && !lifetime_may_be_linked(s, r))
        return set_end(s, r->seq, u->deadline_ns, 0);
    lifetime_stored_decide(s, s->governor, r, now_ns, &d);
    if (d.by == POLICY_BY_CLIENT) /* infinite: it was made so before its header could be read */
        return infinite && d.ttl != TTL_NEVER
                   ? set_end(s, r->seq, expire_deadline(s, r->ts_ns, d.ttl), 0)
                   : 0;
    if (d.ttl == TTL_NEVER)
        return infinite || d.by != POLICY_BY_RULE || !d.linked
                   ? 0
                   : set_end(s, r->seq, 0, STORE_INFINITE);
    if (!infinite || d.link_denied || !lifetime_may_be_linked(s, r))
        return 0; /* a policy that has changed acts on new messages alone */
    return set_end(s, r->seq, expire_deadline(s, now_ns, d.ttl), 0);
}

static int judge_message(struct stream *s, const struct store_rec *r)
{
    struct unseen *u = unseen_find(&s->linked->unseen, r->seq);
    int rc = judge_seen(s, r, u);

    if (rc == 0 && u != NULL)
        unseen_drop(&s->linked->unseen, s->store, u);
    return rc;
}

static int judge_alone(struct stream *s, const struct store_rec *r)
{
    int rc, end;

    store_begin(s->store, true);
    rc = judge_message(s, r);
    end = store_end(s->store, NULL);
    expire_arm(s);
    return rc != 0 ? rc : end;
}

/* --- what is noted -------------------------------------------------------------------------- */

static bool is_busy(const struct linked *l)
{
    return l->reading || l->waiting;
}

static void wake_job(struct linked *l)
{
    uint64_t msgs, bytes;

    if (l->s == NULL)
        return;
    store_accepted(l->s->store, &msgs, &bytes, &l->end);
    if (!is_busy(l))
        work_add(l->s->host->loop, l->s->owner, &l->task);
}

static void note_walk(struct linked *l, enum walk_of of)
{
    if (of > l->wanted)
        l->wanted = of;
    wake_job(l);
}

static void note_filter(void *arg, struct mf_slice filter)
{
    struct linked *l = arg;

    for (size_t i = 1; i < l->n; i++)
        if (mf_eq_str(filter, l->filters[i]))
            return;
    if (l->n == FILTERS_MAX || (l->filters[l->n] = mf_slice_dup(filter)) == NULL) {
        note_walk(l, WALK_EVERY);
        return;
    }
    l->n++;
    wake_job(l);
}

/* In the open batch: a start continues with the notes. */
static int note_on_disk(struct linked *l)
{
    int rc = l->noted ? 0 : store_blob_put(l->s->store, MF_LIT(BLOB_LINK), MF_LIT("1"), NULL);

    l->noted |= rc == 0;
    return rc;
}

/* All notes are done, and no unseen message is left. */
static void forget_on_disk(struct linked *l)
{
    unseen_clear(&l->unseen, l->s->store);
    if (l->noted && store_blob_del(l->s->store, MF_LIT(BLOB_LINK), NULL) == 0)
        l->noted = false;
}

static void end_filter(struct linked *l)
{
    stream_subjects_free(l->subjects);
    l->subjects = NULL;
    l->seq = 0;
}

static void next_filter(struct linked *l)
{
    end_filter(l);
    free(l->filters[0]);
    l->n--;
    memmove(l->filters, l->filters + 1, l->n * sizeof l->filters[0]);
}

/* --- the job -------------------------------------------------------------------------------- */

/* The newest of a subject first, as a record that appears does it: an older one outlives no newer
 * one (scope), and would be cut to the end that this one still has. */
static uint64_t next_of_every(struct linked *l)
{
    uint64_t seq = store_next(l->s->store, l->from), newer;

    if (seq == 0 || seq > l->end) {
        l->walking = WALK_NONE;
        return 0;
    }
    l->from = seq + 1;
    newer = store_newer(l->s->store, seq);
    if (newer != 0 && newer <= l->end)
        return 0;
    l->seq = store_older(l->s->store, seq);
    return seq;
}

/* The next message of the walk; 0 and *more: the step was used up. */
static uint64_t next_of_walk(struct linked *l, bool *more)
{
    size_t steps = STEPS;
    uint64_t seq;

    if (l->walking == WALK_EVERY)
        return next_of_every(l);
    seq = store_next_without_deadline(l->s->store, true, &l->from, &steps, more);
    if (seq != 0)
        l->from = seq + 1;
    else if (!*more)
        l->walking = WALK_NONE;
    return seq;
}

/* The next older one of the subject.  A removed one leads to no other: all again. */
static uint64_t next_of_history(struct linked *l)
{
    uint64_t seq = l->seq;
    uint16_t flags;

    l->seq = store_older(l->s->store, seq);
    if (!store_flags(l->s->store, seq, &flags)) {
        if (l->walking == WALK_NONE)
            note_filter(l, mf_str(l->filters[0]));
        else
            note_walk(l, WALK_EVERY);
    }
    return seq;
}

static uint64_t next_of_subjects(struct linked *l)
{
    struct stream_subject x;
    uint32_t nodes = NODES;
    uint64_t seq, count;

    if (l->subjects == NULL &&
        (l->subjects = stream_subjects_new(l->s, mf_str(l->filters[0]))) == NULL) {
        next_filter(l); /* without memory for a list of subjects: all messages */
        l->wanted = WALK_EVERY;
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

/* 0 and *more: the step was used up.  0 and !*more: all is done. */
static uint64_t next_message(struct linked *l, bool *more)
{
    uint64_t seq;

    *more = true;
    if (l->seq != 0)
        return next_of_history(l);
    if (l->walking == WALK_NONE && l->n > 0)
        return next_of_subjects(l);
    if (l->walking == WALK_NONE) {
        l->walking = l->wanted;
        l->wanted = WALK_NONE;
        l->from = 1;
    }
    if (l->walking == WALK_NONE) {
        *more = false;
        return 0;
    }
    seq = next_of_walk(l, more);
    *more = true;
    return seq;
}

static void linked_free(struct linked *l)
{
    while (l->n > 0)
        free(l->filters[--l->n]);
    stream_subjects_free(l->subjects);
    unseen_fini(&l->unseen);
    free(l);
}

/* false: it is over for now. */
static bool may_go_on(struct linked *l)
{
    if (l->s != NULL)
        return !l->s->closing;
    if (!is_busy(l))
        linked_free(l);
    return false;
}

/* From the beginning of what is noted, after a pause; a store that failed accepts nothing more. */
static void try_again(struct linked *l, int rc)
{
    if (rc == MF_READONLY || rc == MF_CLOSED)
        return;
    end_filter(l);
    if (l->walking > l->wanted)
        l->wanted = l->walking;
    l->walking = WALK_NONE;
    if (l->n == 0 && l->wanted == WALK_NONE)
        l->wanted = WALK_EVERY;
    loop_timer_arm(l->timer, loop_mono_ns(l->s->host->loop) + PAUSE_NS);
}

static void on_pause(void *arg)
{
    wake_job(arg);
}

static void on_read(struct store_read *read, int status)
{
    struct linked *l = mf_container(read, struct linked, read);
    int rc = 0;

    l->reading = false;
    if (!may_go_on(l))
        return;
    if (status == 0)
        rc = judge_alone(l->s, &read->rec);
    else if (status == MF_NOMEM)
        rc = status;
    if (rc != 0)
        try_again(l, rc);
    else
        work_add(l->s->host->loop, l->s->owner, &l->task);
}

static void on_disk(struct store_wait *wait, int status)
{
    struct linked *l = mf_container(wait, struct linked, wait);

    l->waiting = false;
    if (may_go_on(l) && status == 0)
        work_add(l->s->host->loop, l->s->owner, &l->task);
}

/* A noted message may not be committed yet: then readers, and so the job, do not see it. */
static bool waits_for_disk(struct linked *l)
{
    if (store_committed(l->s->store) >= l->end)
        return false;
    l->wait = (struct store_wait){.done = on_disk};
    l->waiting = store_barrier(l->s->store, &l->wait) == 0;
    if (!l->waiting)
        try_again(l, MF_AGAIN);
    return true;
}

/* 0: done with it.  MF_AGAIN: it is being read.  Otherwise: not now. */
static int look_at(struct linked *l, uint64_t seq)
{
    struct store_rec r;
    int rc = store_peek(l->s->store, seq, &r);

    if (rc == 0) {
        rc = judge_alone(l->s, &r);
        return rc == MF_AGAIN ? MF_FULL : rc;
    }
    if (rc != MF_AGAIN)
        return rc == MF_NOMEM ? rc : 0;
    l->read = (struct store_read){.seq = seq, .done = on_read};
    l->reading = store_read(l->s->store, &l->read) == 0;
    return l->reading ? MF_AGAIN : 0;
}

static bool linked_run(struct work_task *t)
{
    struct linked *l = mf_container(t, struct linked, task);
    bool more = true;

    if (l->s->closing || !linked_watches(l->s) || waits_for_disk(l))
        return false;
    do {
        uint64_t seq = next_message(l, &more);
        int rc = seq == 0 ? 0 : look_at(l, seq);
        if (rc == MF_AGAIN)
            return false;
        if (rc != 0) {
            try_again(l, rc);
            return false;
        }
    } while (more && !work_spent(l->s->host->loop));
    if (!more)
        forget_on_disk(l);
    return more;
}

/* --- records that appear and cease ---------------------------------------------------------- */

bool linked_governs(const struct stream *s)
{
    return s->governor != NULL && policy_has_links(s->governor) && !lifetime_is_audit(s->governor);
}

struct upgrade {
    struct stream *s;
    size_t left;
};

/* A message that is not in memory is made infinite first and judged by the job. */
static int upgrade_unseen(struct stream *s, uint64_t seq, int64_t deadline_ns)
{
    int rc = unseen_add(&s->linked->unseen, s->store, seq, deadline_ns);

    return rc == 0 ? set_end(s, seq, 0, STORE_INFINITE) : rc;
}

static void upgrade_one(struct stream *s, uint64_t seq, struct mf_slice subject)
{
    int64_t deadline_ns;
    uint16_t flags;
    struct store_rec r;

    if (!store_life(s->store, seq, &deadline_ns, &flags) || (flags & STORE_BITS) != 0)
        return;
    int rc = store_peek(s->store, seq, &r);
    if (rc == 0) {
        rc = judge_message(s, &r);
    } else if (rc == MF_AGAIN || store_next_accepted(s->store, seq) == seq) {
        rc = upgrade_unseen(s, seq, deadline_ns);
        note_filter(s->linked, subject);
    }
    if (rc != 0)
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

/* The first subjects now; the job looks at all of them. */
static void upgrade_matching(struct upgrade *u, struct mf_slice filter)
{
    struct store_keys *walk = store_keys_new(u->s->store, filter);
    struct mf_slice key;
    struct store_key k;

    while (walk != NULL && u->left > 0 && store_keys_next(walk, &key, &k))
        upgrade_subject(u, key);
    store_keys_free(walk);
    note_filter(u->s->linked, filter);
}

static void upgrade_filter(void *arg, struct mf_slice filter)
{
    struct upgrade *u = arg;

    if (subject_has_wildcard(filter))
        upgrade_matching(u, filter);
    else
        upgrade_subject(u, filter);
}

int linked_prepare(struct stream *s, struct mf_slice subject, bool before)
{
    if (before || !linked_concerns(s, subject))
        return 0;
    int rc = note_on_disk(s->linked);
    if (rc == 0)
        wake_job(s->linked); /* it forgets the note */
    return rc;
}

void linked_changed(struct stream *s, struct mf_slice subject, bool before)
{
    bool after = lifetime_is_permanent(s, subject);
    struct upgrade u = {s, UPGRADE_MAX};

    if (before == after)
        return;
    if (after && policy_view(s->governor)->operator_denies_never)
        return; /* nothing becomes permanent by it */
    if (after)
        policy_linked_by(s->governor, subject, upgrade_filter, &u);
    else
        policy_linked_by(s->governor, subject, note_filter, s->linked);
}

void linked_changed_many(struct stream *s, struct mf_slice subject, bool before)
{
    bool after = lifetime_is_permanent(s, subject);

    if (before == after)
        return;
    policy_linked_by(s->governor, subject, note_filter, s->linked);
}

int linked_leaves(struct stream *s, uint64_t seq)
{
    int64_t deadline_ns;
    uint16_t flags;

    if (!linked_watches(s) || s->cfg.max_msgs_per_subject == 1 || store_newer(s->store, seq) != 0 ||
        !store_life(s->store, store_older(s->store, seq), &deadline_ns, &flags) ||
        deadline_ns != 0 || (flags & MSG_TOMBSTONE) != 0)
        return 0;
    struct mf_slice subject = store_key_at(s->store, seq);
    if (!policy_is_link(s->governor, subject))
        return 0;
    policy_linked_by(s->governor, subject, note_filter, s->linked);
    return note_on_disk(s->linked);
}

void linked_look(struct stream *s, struct mf_slice subject)
{
    note_filter(s->linked, subject);
}

void linked_gone(struct stream *s, struct mf_slice subject)
{
    if (!linked_watches(s))
        return;
    if (subject.len == 0)
        note_walk(s->linked, WALK_INFINITE);
    else
        policy_linked_by(s->governor, subject, note_filter, s->linked);
}

/* --- life ----------------------------------------------------------------------------------- */

int linked_start(struct stream *s)
{
    struct linked *l = s->linked;
    struct mf_slice bytes;

    if (s->governor == NULL || !policy_has_links(s->governor))
        return 0;
    if (l == NULL) {
        if ((l = calloc(1, sizeof *l)) == NULL)
            return MF_NOMEM;
        l->s = s;
        l->task = (struct work_task){.run = linked_run, .cause = WORK_EXPIRE};
        if ((l->timer = loop_timer_new(s->host->loop, on_pause, l)) == NULL) {
            free(l);
            return MF_NOMEM;
        }
        s->linked = l;
        notify_watch(s);
        l->noted = store_blob_get(s->store, MF_LIT(BLOB_LINK), &bytes);
        unseen_load(&l->unseen, s->store);
    }
    note_walk(l, l->noted ? WALK_EVERY : WALK_INFINITE);
    return 0;
}

void linked_stop(struct stream *s)
{
    struct linked *l = s->linked;

    s->linked = NULL;
    if (l == NULL)
        return;
    work_cancel(s->host->loop, &l->task);
    loop_timer_free(l->timer);
    stream_subjects_free(l->subjects);
    l->subjects = NULL;
    l->s = NULL;
    if (!is_busy(l))
        linked_free(l);
}
