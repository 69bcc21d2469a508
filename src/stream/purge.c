/* purge.c: STREAM.PURGE.
 *
 * A purge of everything is one record.  All others run in slices, one in each turn of the loop and
 * the first at once: with `keep`, the newest that stay are looked for first; then a purge by filter
 * walks the subjects that match, and one without removes ranges of sequences.  The removals of a
 * slice, and the markers of the subjects it empties, are one atomic batch.  A purge does not touch
 * messages that are stored while it is under way.
 * Failure: the purge ends with what it has removed, and is refused.
 * Close: purge_drop_all() refuses those under way. */
#include "stream/stream_impl.h"

#include "base/log.h"

#include <stdlib.h>

#define SLICE 250u /* messages removed in one slice: about half a millisecond with consumers */
#define STEPS (16 * SLICE) /* messages or nodes of the key tree looked at in one turn */

struct purge {
    struct stream_op *op;
    struct mf_list link; /* stream.purge.queue */
    char *filter;        /* NULL: all subjects */
    uint64_t below;      /* sequences less than this go */
    uint64_t serial;     /* the last sequence there was when it began */
    /* Looking for the newest `keep` that stay; 0: they are known. */
    uint64_t keep;
    uint64_t at;                 /* all subjects: the oldest of them so far */
    struct store_cursor *cursor; /* a filter: all that match, and the last of those found */
    uint64_t *newest, found;     /* a ring of `keep` */
    /* Removing: by filter, */
    struct store_keys *walk;
    char *subject; /* the one under way, when a slice ended in it */
    uint64_t last; /* what was removed of it last */
    uint64_t from; /* or by ranges: the next sequence */
    bool accepted; /* it counts what readers do not see yet, too */
    bool unmarked; /* a roll-up: subjects that lose their last message get no marker */
};

static void purge_free(struct purge *p)
{
    mf_list_del(&p->link);
    store_cursor_free(p->cursor);
    store_keys_free(p->walk);
    free(p->newest);
    free(p->subject);
    free(p->filter);
    free(p);
}

static void purge_end(struct stream *s, struct purge *p, int rc)
{
    struct stream_op *op = p->op;
    struct js_error e;

    purge_free(p);
    limits_count(s);
    /* A refusal too waits for what was done before it: after its answer a purge does nothing. */
    int failed = rc;
    if (rc == 0 || op->count > 0)
        failed = store_barrier(s->store, stream_op_wait(s, op));
    if (failed == 0) {
        op->refused = rc;
        s->inflight++;
        return;
    }
    stream_store_error(s, rc == 0 ? failed : rc, &e);
    stream_op_refuse(s, op, &e);
}

/* --- which stay ------------------------------------------------------------------------------- */

/* Those of all subjects: from the newest back. */
static void find_back(struct stream *s, struct purge *p, size_t *steps)
{
    for (; p->keep > 0 && *steps > 0; --*steps, p->keep--)
        if ((p->at = stream_prev(s, p->at - 1)) == 0)
            p->keep = 1; /* fewer are there */
    p->below = p->at;
}

/* Those of a filter, in the order of the stream: the last `keep` of them are noted.  A message that
 * expires meanwhile counts: it existed when the purge began. */
static int find_ahead(struct stream *s, struct purge *p, size_t *steps)
{
    bool more = false;
    int rc = 0;

    if (p->cursor == NULL) {
        p->newest = calloc(p->keep, sizeof *p->newest);
        rc = p->newest == NULL
                 ? MF_NOMEM
                 : store_cursor_new(&p->cursor, s->store, mf_str(p->filter), STORE_ALL, 0);
    }
    while (rc == 0 && p->keep > 0 && *steps > 0) {
        uint64_t before = store_cursor_steps(p->cursor), seq = store_cursor_next(p->cursor, &more);
        uint64_t taken = store_cursor_steps(p->cursor) - before + 1;
        *steps -= taken < *steps ? taken : *steps;
        if (seq != 0 && seq <= p->serial) {
            p->newest[p->found++ % p->keep] = seq;
        } else if (seq != 0 || !more) {
            p->below = p->found < p->keep ? 0 : p->newest[p->found % p->keep];
            p->keep = 0;
        }
    }
    return rc;
}

/* 0, and keep is 0: they are known. */
static int find_some(struct stream *s, struct purge *p, size_t *steps)
{
    struct stream_state t;

    if (p->at == 0 && p->cursor == NULL) { /* it begins */
        stream_state(s, &t);
        p->at = UINT64_MAX;
        if (t.msgs <= p->keep)
            p->keep = p->below = 0; /* all stay */
    }
    if (p->keep == 0)
        return 0;
    if (p->filter != NULL)
        return find_ahead(s, p, steps);
    find_back(s, p, steps);
    return 0;
}

/* --- some subjects ---------------------------------------------------------------------------- */

/* Takes messages of one subject away, oldest first; true: none is left that should go. */
static bool purge_subject(struct stream *s, struct purge *p, struct mf_slice subject, size_t *left,
                          int *rc)
{
    bool marks = s->cfg.subject_delete_marker_ttl_ns > 0 && !s->host->strict && !p->unmarked;
    uint64_t seq, count;
    uint16_t flags = 0;

    for (;; --*left) {
        seq = store_key_next_accepted(s->store, subject, p->last);
        if (seq == 0 || seq >= p->below || seq > p->serial)
            return true;
        if (*left == 0)
            return false;
        (void)store_flags(s->store, seq, &flags);
        if ((*rc = store_reserve(s->store, 1)) == 0)
            *rc = dedup_before_removal(s->dedup, s->store, seq, seq);
        /* The marker is stored before the last message is removed, and the purge does not cover
         * it. */
        if (*rc == 0 && marks) {
            (void)store_key_last_accepted(s->store, subject, &count);
            *rc = expire_mark(s, subject, seq, count == 1, flags, MARKER_PURGE);
        }
        if (*rc == 0)
            *rc = store_remove(s->store, seq, NULL);
        if (*rc != 0)
            return false;
        if (s->schedules != NULL)
            schedule_removed(s, subject, seq);
        p->last = seq;
        p->op->count++;
    }
}

/* Expired messages are removed before the others, or one of them could seem to be the last. */
static int settle_between(struct stream *s, struct mf_slice subject)
{
    int rc = store_end(s->store, NULL), settled = expire_settle(s, subject);

    store_begin(s->store, true);
    return rc == 0 ? settled : rc;
}

/* The next subject that loses messages; *steps 0: perhaps there is one, later. */
static bool purge_next(struct purge *p, uint32_t *steps, int *rc)
{
    struct mf_slice subject;
    struct store_key k;

    while (store_keys_some(p->walk, steps, &subject, &k)) {
        if (k.first_seq < p->below && k.first_seq <= p->serial) {
            p->last = 0;
            p->subject = mf_slice_dup(subject);
            *rc = p->subject == NULL ? MF_NOMEM : 0;
            return p->subject != NULL;
        }
        if (*steps == 0)
            return false;
    }
    return false;
}

/* true: there is more to do. */
static bool purge_some(struct stream *s, struct purge *p, int *rc)
{
    size_t left = stream_throttle_slice(s, SLICE);
    uint32_t steps = STEPS;

    if (p->walk == NULL && (p->walk = store_keys_new(s->store, mf_str(p->filter))) == NULL)
        *rc = MF_NOMEM;
    else if (p->unmarked) /* of messages before it, committed or not */
        store_keys_unseen(p->walk);
    store_begin(s->store, true);
    while (*rc == 0 && (p->subject != NULL || purge_next(p, &steps, rc))) {
        if (store_key_overdue(s->store, mf_str(p->subject), 0) != 0 &&
            (*rc = settle_between(s, mf_str(p->subject))) != 0)
            break;
        if (!purge_subject(s, p, mf_str(p->subject), &left, rc))
            break;
        free(p->subject);
        p->subject = NULL;
    }
    int end = store_end(s->store, NULL);
    *rc = *rc == 0 ? end : *rc;
    expire_arm(s); /* markers */
    return p->subject != NULL || steps == 0;
}

/* --- a range ---------------------------------------------------------------------------------- */

/* The next messages of it; true: there is more to do. */
static bool purge_range(struct stream *s, struct purge *p, int *rc)
{
    uint64_t upto = p->below - 1 < p->serial ? p->below - 1 : p->serial, last = 0, count = 0;
    uint64_t seq = store_next_accepted(s->store, p->from);
    size_t most = stream_throttle_slice(s, SLICE);

    for (size_t n = 0; n < most && seq != 0 && seq <= upto; n++) {
        count += p->accepted || stream_next(s, seq) == seq;
        last = seq;
        seq = store_next_accepted(s->store, seq + 1);
    }
    bool more = seq != 0 && seq <= upto;
    if (last != 0)
        *rc = stream_drop_range(s, p->from, more ? last : upto, NULL);
    if (last == 0 || *rc != 0)
        return false;
    p->op->count += count;
    p->from = last + 1;
    return more;
}

/* --- slices ----------------------------------------------------------------------------------- */

/* The next slice of the first purge; true: there is more to do. */
static bool purge_slice(struct stream *s)
{
    struct purge *p;
    size_t steps = STEPS;
    bool more = true;
    int rc = 0;

    if (s->closing || mf_list_empty(&s->purge.queue) || stream_throttle(s, &s->purge.task))
        return false;
    p = mf_container(mf_list_first(&s->purge.queue), struct purge, link);
    (void)stream_now(s);
    if (p->keep > 0)
        rc = find_some(s, p, &steps);
    if (rc == 0 && p->keep == 0) {
        if (p->below == 0)
            more = false; /* all stay */
        else
            more = p->filter == NULL ? purge_range(s, p, &rc) : purge_some(s, p, &rc);
        notify_after_commit(s);
    }
    if (rc != 0 || !more)
        purge_end(s, p, rc);
    return !mf_list_empty(&s->purge.queue);
}

static bool purge_run(struct work_task *t)
{
    return purge_slice(mf_container(t, struct stream, purge.task));
}

/* The first slice at once (or not), the others between the work of others. */
static void purge_go(struct stream *s, bool at_once)
{
    s->purge.task.run = purge_run;
    s->purge.task.cause = WORK_REMOVE;
    s->purge.task.what = "purge";
    if (!at_once || purge_slice(s))
        work_add(s->host->loop, s->owner, &s->purge.task);
}

/* NULL: no memory. */
static struct purge *purge_new(struct mf_slice filter, struct purge with)
{
    struct purge *p = malloc(sizeof *p);

    if (p == NULL)
        return NULL;
    *p = with;
    p->filter = filter.len == 0 ? NULL : mf_slice_dup(filter);
    if (filter.len > 0 && p->filter == NULL) {
        free(p);
        return NULL;
    }
    return p;
}

static void purge_start(struct stream *s, struct purge *p, struct stream_op *op, bool at_once)
{
    uint64_t msgs, bytes;

    op->count = 0;
    op->stream = s;
    p->op = op;
    p->accepted = s->inflight > 0; /* readers do not see all of them yet */
    store_accepted(s->store, &msgs, &bytes, &p->serial);
    mf_list_push(&s->purge.queue, &p->link);
    if (mf_list_first(&s->purge.queue) == &p->link)
        purge_go(s, at_once);
}

/* One that runs in slices; no filter: from the sequence `from` on. */
static void purge_begin(struct stream *s, struct mf_slice filter, struct purge with,
                        struct stream_op *op)
{
    struct purge *p = purge_new(filter, with);
    struct js_error e;

    if (p != NULL) {
        purge_start(s, p, op, true);
        return;
    }
    stream_store_error(s, MF_NOMEM, &e);
    stream_op_refuse(s, op, &e);
}

/* --- the rest of a roll-up -------------------------------------------------------------------- */

struct purge_rest {
    struct stream_op op;
    struct store_wait *wait;
    struct purge *purge;
};

static void rest_done(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct purge_rest *r = mf_container(op, struct purge_rest, op);
    struct stream *s = op->stream;
    struct store_wait *wait = r->wait;

    (void)count;
    free(r);
    s->purge.rests--;
    /* Messages that could not be removed stay, as after a limit; the new message is stored. */
    if (e != NULL && !s->closing)
        log_warn("stream %s: a rollup is not complete: %s", s->cfg.name, e->text);
    if (wait != NULL)
        wait->done(wait, s->closing ? MF_CLOSED : 0);
}

/* How many messages a roll-up removes, at most. */
static uint64_t count_rolled(struct stream *s, const struct intake *in)
{
    uint64_t count = 0, bytes, last;

    if (in->rollup == ROLLUP_SUBJECT)
        (void)store_key_last_accepted(s->store, in->subject, &count);
    else if (in->rollup == ROLLUP_MATCHING)
        store_accepted(s->store, &count, &bytes, &last);
    return count;
}

/* No subject: it removes nothing.  NULL: no memory. */
static struct purge_rest *rest_new(struct mf_slice subject)
{
    struct purge_rest *r = calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    r->op.done = rest_done;
    r->op.purge_filter = subject.len == 0 ? NULL : mf_slice_dup(subject);
    if (subject.len == 0 || r->op.purge_filter != NULL)
        r->purge = purge_new(subject, (struct purge){.from = 1, .unmarked = true});
    if (r->purge == NULL) {
        free(r->op.purge_filter);
        free(r);
        return NULL;
    }
    return r;
}

static void start_rest(struct stream *s, struct purge_rest *r, struct store_wait *wait)
{
    r->wait = wait;
    s->purge.rests++;
    purge_start(s, r->purge, &r->op, false); /* no callback runs inside of this call */
}

int purge_rest_new(struct stream *s, struct intake *in, uint64_t *most, uint64_t now)
{
    uint64_t count = count_rolled(s, in);

    if (count <= *most) {
        *most -= count;
        return 0;
    }
    struct purge_rest *r = rest_new(in->subject);
    if (r == NULL)
        return MF_NOMEM;
    in->rest = r;
    in->roll_now = in->rollup == ROLLUP_SUBJECT ? now : 0;
    return 0;
}

void purge_rest(struct stream *s, struct intake *in, int status, struct store_wait *wait)
{
    struct purge_rest *r = in->rest;

    in->rest = NULL;
    if (status == 0) {
        r->purge->below = in->seq;
        start_rest(s, r, wait);
        return;
    }
    mf_list_init(&r->purge->link);
    purge_free(r->purge);
    free(r->op.purge_filter);
    free(r);
}

/* A rest that removes nothing: purges end in their order. */
int purge_barrier(struct stream *s, struct store_wait *wait)
{
    if (s->purge.rests == 0)
        return store_barrier(s->store, wait);
    struct purge_rest *r = rest_new(MF_SLICE_NONE);
    if (r == NULL)
        return MF_NOMEM;
    start_rest(s, r, wait);
    return 0;
}

/* --- everything ------------------------------------------------------------------------------- */

/* Messages that readers see from `first` on, which is the first for writers. */
static uint64_t messages_from(struct stream *s, uint64_t first)
{
    struct stream_state t;
    uint64_t n = 0;

    stream_state(s, &t);
    for (uint64_t seq = stream_next(s, 0); seq != 0 && seq < first; seq = stream_next(s, seq + 1))
        n++;
    return t.msgs - n;
}

static void purge_all(struct stream *s, uint64_t below, struct stream_op *op)
{
    /* Accepted messages are purged, on disk or not. */
    uint64_t msgs, bytes, left, last, first = store_first_accepted(s->store);
    struct js_error e;
    int rc;

    store_accepted(s->store, &msgs, &bytes, &last);
    uint64_t upto = below > 0 ? below - 1 : last;
    if (upto < last) {
        purge_begin(s, MF_SLICE_NONE, (struct purge){.below = below, .from = 1}, op);
        return;
    }
    if (upto > last && upto > INT64_MAX)
        upto = last > INT64_MAX ? last : INT64_MAX; /* numbers must not run out */
    op->count = first == 0 ? 0 : messages_from(s, first);
    if (upto == 0 || (first == 0 && upto <= last)) {
        rc = store_barrier(s->store, stream_op_wait(s, op));
    } else {
        bool waiting = s->inflight > 0;
        rc = stream_drop_range(s, first == 0 ? upto : first, upto, stream_op_wait(s, op));
        if (rc == 0 && waiting) { /* readers did not see all of them yet */
            store_accepted(s->store, &left, &bytes, &last);
            op->count = msgs - left;
        }
    }
    if (rc != 0) {
        stream_store_error(s, rc, &e);
        stream_op_refuse(s, op, &e);
        return;
    }
    s->inflight++;
    limits_count(s);
}

void stream_purge(struct stream *s, struct mf_slice filter, uint64_t below, uint64_t keep,
                  struct stream_op *op)
{
    bool all = filter.len == 0 || mf_eq_str(filter, ">");
    struct js_error e;

    if (s->cfg.sealed || s->cfg.deny_purge) {
        if (s->cfg.sealed)
            js_error_set(&e, JS_STREAM_SEALED);
        else
            js_error_set_text(&e, JS_STREAM_PURGE_FAILED, "stream purge not permitted");
        stream_op_refuse(s, op, &e);
        return;
    }
    op->purge_filter = mf_slice_dup(filter); /* without it consumers learn of each message alone */
    if (all && keep == 0) {
        s->emptied = s->emptied || below == 0;
        purge_all(s, below, op);
        return;
    }
    if (keep > 0)
        below = 0;
    else if (below == 0)
        below = UINT64_MAX;
    purge_begin(s, all ? MF_SLICE_NONE : filter,
                (struct purge){.below = below, .keep = keep, .from = 1}, op);
}

void purge_drop_all(struct stream *s)
{
    struct js_error e;

    js_error_set(&e, JS_STREAM_NOT_FOUND);
    while (!mf_list_empty(&s->purge.queue)) {
        struct purge *p = mf_container(mf_list_first(&s->purge.queue), struct purge, link);
        struct stream_op *op = p->op;
        purge_free(p);
        stream_op_refuse(s, op, &e);
    }
}
