/* remove.c: MSG.DELETE and purges.
 *
 * A purge of everything is one record.  One by filter walks the subjects that match, a slice in
 * each turn of the loop; what a slice removes, and the markers of the subjects it empties, are one
 * atomic batch.  A message that comes while a purge is under way is not touched by it. */
#include "stream_impl.h"

#include "mayfly/log.h"

#include <stdlib.h>

#define SLICE 1000 /* messages removed in one turn */

static void op_done(struct store_wait *w, int status)
{
    struct stream_op *op = mf_container(w, struct stream_op, wait);
    struct stream *s = op->stream;
    struct js_error e;

    s->inflight--;
    status = status == 0 ? op->refused : status;
    if (status == 0 && op->swept != NULL)
        announce_swept(s, mf_str(op->swept));
    free(op->swept);
    op->swept = NULL;
    if (status == 0) {
        announce_soon(s);
        op->done(op, NULL, op->count);
        return;
    }
    stream_store_error(s, status, &e);
    op->done(op, &e, 0);
}

struct store_wait *stream_op_wait(struct stream *s, struct stream_op *op)
{
    op->stream = s;
    op->refused = 0;
    op->wait.done = op_done;
    return &op->wait;
}

static void op_refuse(struct stream *s, struct stream_op *op, const struct js_error *e)
{
    op->stream = s;
    free(op->swept);
    op->swept = NULL;
    op->done(op, e, 0);
}

/* --- one message --------------------------------------------------------------------------- */

static int remove_allowed(struct stream *s, uint64_t seq, struct js_error *e)
{
    uint64_t msgs, bytes, last;
    char text[32];

    if (s->cfg.sealed)
        return js_refuse(e, JS_STREAM_SEALED);
    if (s->cfg.deny_delete)
        return js_refuse_text(e, JS_STREAM_MSG_DELETE_FAILED, "message delete not permitted");
    if (seq > 0 && stream_next(s, seq) == seq)
        return 0;
    /* nats-server's kinds of storage have different words for what is not there. */
    store_accepted(s->store, &msgs, &bytes, &last);
    uint64_t first = stream_next(s, 0);
    if (!s->memory && seq > last)
        return js_refuse_text(e, JS_STREAM_MSG_DELETE_FAILED, "stream store EOF");
    if (!s->memory && (first == 0 || seq < first))
        return js_refuse_text(e, JS_STREAM_MSG_DELETE_FAILED, "no message found");
    text[proto_put_u64((uint8_t *)text, seq)] = '\0';
    return js_refuse(e, JS_SEQUENCE_NOT_FOUND, text);
}

/* The subject of a message that is there, in memory or not. */
static int subject_of(struct stream *s, uint64_t seq, char **out)
{
    struct mf_buf b = MF_BUF_INIT;
    struct store_rec r;
    int rc = store_peek(s->store, seq, &r);

    if (rc == MF_AGAIN)
        rc = store_read_now(s->store, seq, &b, &r);
    if (rc == 0 && (*out = mf_slice_dup(r.key)) == NULL)
        rc = MF_NOMEM;
    mf_buf_fini(&b);
    return rc;
}

static int remove_one(struct stream *s, uint64_t seq, bool erase, struct store_wait *w)
{
    bool marks = s->cfg.subject_delete_marker_ttl_ns > 0 && !s->host->strict;
    char *subject = NULL;
    uint16_t flags = 0;
    uint64_t count;
    int rc;

    /* A damaged message has no subject to tell of; it can still go. */
    if ((marks || s->schedules != NULL) && subject_of(s, seq, &subject) == MF_NOMEM)
        return MF_NOMEM;
    if (marks && subject != NULL && (rc = expire_settle(s, mf_str(subject))) != 0) {
        free(subject); /* the dead beside it would be left */
        return rc;
    }
    store_begin(s->store, true);
    /* Readers may still see one that is on its way out. */
    rc = store_flags(s->store, seq, &flags) ? store_reserve(s->store, 2) : MF_NOTFOUND;
    if (rc == 0 && erase)
        rc = store_erase_ready(s->store, seq);
    if (rc == 0)
        rc = dedup_before_removal(s->dedup, s->store, seq, seq);
    if (rc == 0 && marks && subject != NULL) {
        (void)store_key_last_accepted(s->store, mf_str(subject), &count);
        rc = expire_mark(s, mf_str(subject), seq, count == 1, flags, MARKER_REMOVE);
    }
    if (rc == 0)
        rc = erase ? store_erase(s->store, seq, w) : store_remove(s->store, seq, NULL);
    if (rc == 0 && s->schedules != NULL && subject != NULL)
        schedule_removed(s, mf_str(subject), seq);
    free(subject);
    int end = store_end(s->store, rc == 0 && !erase ? w : NULL);
    return rc == 0 ? end : rc;
}

void stream_remove(struct stream *s, uint64_t seq, bool erase, struct stream_op *op)
{
    struct js_error e;
    int rc;

    op->count = 1;
    op->swept = NULL;
    if (remove_allowed(s, seq, &e) != 0) {
        op_refuse(s, op, &e);
        return;
    }
    rc = remove_one(s, seq, erase, stream_op_wait(s, op));
    if (rc != 0) {
        js_refuse_text(&e, JS_STREAM_MSG_DELETE_FAILED, "%s", mf_err_text(rc));
        op_refuse(s, op, &e);
        return;
    }
    s->inflight++;
    limits_count(s);
    expire_arm(s);
}

int stream_drop(struct stream *s, uint64_t seq, struct store_wait *w)
{
    int rc;

    store_begin(s->store, true);
    if ((rc = dedup_before_removal(s->dedup, s->store, seq, seq)) == 0)
        rc = store_remove(s->store, seq, NULL);
    int end = store_end(s->store, rc == 0 ? w : NULL);
    limits_count(s);
    return rc == 0 ? end : rc;
}

/* --- purge: everything --------------------------------------------------------------------- */

/* In one record; what is not on disk yet too. */
static int drop_range(struct stream *s, uint64_t from, uint64_t upto, struct store_wait *w)
{
    int rc;

    store_begin(s->store, true);
    if ((rc = dedup_before_removal(s->dedup, s->store, from, upto)) == 0)
        rc = store_remove_range(s->store, from, upto, NULL);
    int end = store_end(s->store, rc == 0 ? w : NULL);
    return rc == 0 ? end : rc;
}

int stream_drop_all(struct stream *s)
{
    uint64_t msgs, bytes, last, first = store_first_accepted(s->store);
    int rc = 0;

    stream_emptied(s);
    store_accepted(s->store, &msgs, &bytes, &last);
    if (msgs > 0)
        rc = drop_range(s, first, last, NULL);
    limits_count(s);
    return rc;
}

static uint64_t messages_between(struct stream *s, uint64_t first, uint64_t last)
{
    struct stream_state t;
    uint64_t n = 0;

    stream_state(s, &t);
    if (first <= t.first_seq && last >= t.last_seq)
        return t.msgs;
    for (uint64_t seq = stream_next(s, first); seq != 0 && seq <= last;
         seq = stream_next(s, seq + 1))
        n++;
    return n;
}

/* The first sequence that stays when the newest `keep` do; 0: all stay. */
static uint64_t keep_from(struct stream *s, uint64_t keep)
{
    struct stream_state t;
    uint64_t seq = UINT64_MAX;

    stream_state(s, &t);
    if (t.msgs <= keep)
        return 0;
    for (; keep > 0; keep--)
        seq = stream_prev(s, seq - 1);
    return seq;
}

static void purge_all(struct stream *s, uint64_t below, uint64_t keep, struct stream_op *op)
{
    /* What came before the purge goes, on disk or not. */
    uint64_t msgs, bytes, left, last, first = store_first_accepted(s->store);
    struct js_error e;
    int rc;

    store_accepted(s->store, &msgs, &bytes, &last);
    uint64_t upto = below > 0 ? below - 1 : last;
    if (keep > 0) {
        uint64_t stays = keep_from(s, keep);
        upto = stays == 0 ? 0 : stays - 1;
    }
    if (upto > last && upto > INT64_MAX)
        upto = last > INT64_MAX ? last : INT64_MAX; /* numbers must not run out */
    op->count = first == 0 ? 0 : messages_between(s, first, upto);
    if (upto == 0 || ((first == 0 || first > upto) && upto <= last)) {
        rc = store_barrier(s->store, stream_op_wait(s, op));
    } else {
        bool waiting = s->inflight > 0;
        uint64_t from = first == 0 || first > upto ? upto : first;
        rc = drop_range(s, from, upto, stream_op_wait(s, op));
        if (rc == 0 && waiting) { /* readers did not see all of them yet */
            store_accepted(s->store, &left, &bytes, &last);
            op->count = msgs - left;
        }
    }
    if (rc != 0) {
        stream_store_error(s, rc, &e);
        op_refuse(s, op, &e);
        return;
    }
    s->inflight++;
    limits_count(s);
}

/* --- purge: some subjects ------------------------------------------------------------------ */

struct purge {
    struct stream_op *op;
    struct mf_list link; /* stream.purges */
    struct store_keys *walk;
    uint64_t below;  /* sequences less than this go */
    uint64_t serial; /* the last sequence there was when it began */
    char *subject;   /* the one under way, when a slice ended in it */
};

static void purge_end(struct stream *s, struct purge *p, int rc)
{
    struct stream_op *op = p->op;
    struct js_error e;

    mf_list_del(&p->link);
    store_keys_free(p->walk);
    free(p->subject);
    free(p);
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
    op_refuse(s, op, &e);
}

/* Takes messages of one subject away, oldest first; true: none is left that should go. */
static bool purge_subject(struct stream *s, struct purge *p, struct mf_slice subject, size_t *left,
                          int *rc)
{
    bool marks = s->cfg.subject_delete_marker_ttl_ns > 0 && !s->host->strict;
    uint64_t seq, count;
    uint16_t flags = 0;

    for (;; --*left) {
        seq = store_key_first_accepted(s->store, subject);
        if (seq == 0 || seq >= p->below || seq > p->serial)
            return true;
        if (*left == 0)
            return false;
        (void)store_flags(s->store, seq, &flags);
        if ((*rc = store_reserve(s->store, 1)) == 0)
            *rc = dedup_before_removal(s->dedup, s->store, seq, seq);
        /* The marker stands before the last one goes, and is not itself of this purge. */
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
        p->op->count++;
    }
}

/* Its dead go before the living, or it could look as if one of them had been the last. */
static int settle_between(struct stream *s, struct mf_slice subject)
{
    int rc = store_end(s->store, NULL), settled = expire_settle(s, subject);

    store_begin(s->store, true);
    return rc == 0 ? settled : rc;
}

static bool purge_next(struct purge *p, int *rc)
{
    struct mf_slice subject;
    struct store_key k;

    free(p->subject);
    p->subject = NULL;
    while (store_keys_next(p->walk, &subject, &k))
        if (k.first_seq < p->below && k.first_seq <= p->serial) {
            p->subject = mf_slice_dup(subject);
            *rc = p->subject == NULL ? MF_NOMEM : 0;
            return p->subject != NULL;
        }
    return false;
}

/* The next slice of the first purge; true: there is more to do. */
static bool purge_slice(struct stream *s)
{
    struct purge *p;
    size_t left = SLICE;
    int rc = 0;

    if (s->closing || mf_list_empty(&s->purges))
        return false;
    p = mf_container(mf_list_first(&s->purges), struct purge, link);
    (void)stream_now(s);
    store_begin(s->store, true);
    while (rc == 0 && (p->subject != NULL || purge_next(p, &rc))) {
        if (store_key_overdue(s->store, mf_str(p->subject), 0) != 0 &&
            (rc = settle_between(s, mf_str(p->subject))) != 0)
            break;
        if (!purge_subject(s, p, mf_str(p->subject), &left, &rc))
            break;
        free(p->subject);
        p->subject = NULL;
    }
    int end = store_end(s->store, NULL);
    rc = rc == 0 ? end : rc;
    announce_poke(s);
    expire_arm(s); /* markers */
    if (rc != 0 || p->subject == NULL)
        purge_end(s, p, rc);
    return !mf_list_empty(&s->purges);
}

static bool purge_run(struct work_task *t)
{
    return purge_slice(mf_container(t, struct stream, purging));
}

/* The first slice at once, the others between the work of others. */
static void purge_go(struct stream *s)
{
    s->purging.run = purge_run;
    s->purging.cause = WORK_REMOVE;
    s->purging.what = "purge";
    if (purge_slice(s))
        work_add(s->host->loop, s->owner, &s->purging);
}

/* The first message that matches after `skip` others; *seq is 0 if there are not that many, and
 * *skipped tells how many there are. */
static int match_after(struct stream *s, struct mf_slice filter, uint64_t skip, uint64_t *seq,
                       uint64_t *skipped)
{
    struct store_cursor *c;
    bool more = false;
    int rc = store_cursor_new(&c, s->store, filter, STORE_ALL, 0);

    if (rc != 0)
        return rc;
    for (*skipped = 0; (*seq = store_cursor_next(c, &more)) != 0 || more;)
        if (*seq != 0 && (*skipped)++ == skip)
            break;
    store_cursor_free(c);
    return 0;
}

/* `keep` counts over all subjects of the filter: the sequence from which on all stay; 0: fewer are
 * there. */
static int filter_keep(struct stream *s, struct mf_slice filter, uint64_t keep, uint64_t *below)
{
    uint64_t all;
    int rc = match_after(s, filter, UINT64_MAX, below, &all);

    if (rc != 0 || all <= keep)
        return rc;
    return match_after(s, filter, all - keep, below, &all);
}

static void purge_some(struct stream *s, struct mf_slice filter, uint64_t below, uint64_t keep,
                       struct stream_op *op)
{
    struct purge *p = calloc(1, sizeof *p);
    uint64_t msgs, bytes;
    struct js_error e;

    if (p != NULL && ((keep > 0 && filter_keep(s, filter, keep, &p->below) != 0) ||
                      (p->walk = store_keys_new(s->store, filter)) == NULL)) {
        free(p);
        p = NULL;
    }
    if (p == NULL) {
        stream_store_error(s, MF_NOMEM, &e);
        op_refuse(s, op, &e);
        return;
    }
    op->count = 0;
    op->stream = s;
    p->op = op;
    if (keep == 0)
        p->below = below > 0 ? below : UINT64_MAX;
    store_accepted(s->store, &msgs, &bytes, &p->serial);
    mf_list_push(&s->purges, &p->link);
    if (mf_list_first(&s->purges) == &p->link)
        purge_go(s);
}

void stream_purge(struct stream *s, struct mf_slice filter, uint64_t below, uint64_t keep,
                  struct stream_op *op)
{
    struct js_error e;

    if (s->cfg.sealed || s->cfg.deny_purge) {
        if (s->cfg.sealed)
            js_refuse(&e, JS_STREAM_SEALED);
        else
            js_refuse_text(&e, JS_STREAM_PURGE_FAILED, "stream purge not permitted");
        op_refuse(s, op, &e);
        return;
    }
    op->swept = mf_slice_dup(filter); /* without it consumers learn of each message alone */
    if (filter.len == 0 || mf_eq_str(filter, ">")) {
        s->emptied = s->emptied || (below == 0 && keep == 0);
        purge_all(s, below, keep, op);
    } else {
        purge_some(s, filter, below, keep, op);
    }
}

void purge_drop_all(struct stream *s)
{
    struct js_error e;

    js_refuse(&e, JS_STREAM_NOT_FOUND);
    while (!mf_list_empty(&s->purges)) {
        struct purge *p = mf_container(mf_list_first(&s->purges), struct purge, link);
        struct stream_op *op = p->op;
        mf_list_del(&p->link);
        store_keys_free(p->walk);
        free(p->subject);
        free(p);
        op_refuse(s, op, &e);
    }
}
