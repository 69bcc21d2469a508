/* touch.c: deadlines that are set by hand, and renewed: SET, TOUCH, PERSIST, and reads (slide). */
#include "stream/lifetime_impl.h"

#include "base/clock.h"

#include <stdlib.h>

bool stream_subject_pending(struct stream *s, struct mf_slice subject)
{
    struct store_key k;
    uint64_t count, accepted = store_key_last_accepted(s->store, subject, &count);

    return accepted != 0 && (!store_key(s->store, subject, &k) || k.last_seq != accepted);
}

static int change_life(struct stream *s, struct stream_deadline_change *c)
{
    int64_t deadline_ns = c->deadline_ns;
    int rc = scope_set_end(
        s, c->seq, &deadline_ns,
        (uint16_t)((c->infinite ? STORE_INFINITE : 0) | (c->pinned ? STORE_PINNED : 0)));

    c->cut = deadline_ns != 0 && (c->deadline_ns == 0 || deadline_ns < c->deadline_ns);
    c->deadline_ns = deadline_ns;
    c->infinite &= deadline_ns == 0;
    c->done = rc == 0;
    return rc == MF_NOTFOUND ? 0 : rc;
}

/* Others may be linked to it: their lives follow in the same batch. */
static int change_one(struct stream *s, struct stream_deadline_change *c)
{
    char *subject = linked_watches(s) ? mf_slice_dup(store_key_at(s->store, c->seq)) : NULL;
    bool before = subject != NULL && lifetime_is_permanent(s, mf_str(subject));
    int rc = 0;

    if (subject == NULL && linked_watches(s))
        return MF_NOMEM;
    if (subject != NULL && c->deadline_ns == 0)
        rc = linked_prepare(s, mf_str(subject), before);
    if (rc == 0)
        rc = change_life(s, c);
    if (subject != NULL)
        linked_changed(s, mf_str(subject), before);
    if (subject != NULL && c->infinite && !c->pinned)
        linked_look(s, mf_str(subject)); /* its record may have ceased since that was decided */
    free(subject);
    return rc;
}

static uint64_t *counter_of(struct stream *s, enum stream_life_cause why)
{
    switch (why) {
    case STREAM_LIFE_SET:
        return &s->ttl_stats.set;
    case STREAM_LIFE_TOUCH:
        return &s->ttl_stats.touched;
    case STREAM_LIFE_READ:
        return &s->ttl_stats.touched_by_read;
    default:
        return &s->ttl_stats.persisted;
    }
}

/* Refused half way: the accepted records stay, and the answer reports the error when they are on
 * disk. */
void stream_change_deadlines(struct stream *s, enum stream_life_cause why,
                             struct stream_deadline_change *at, size_t n, struct stream_op *op)
{
    struct js_error e;
    int rc = 0, end;

    op->purge_filter = NULL;
    op->count = 0;
    if (check_sealed(s, &e) != 0) {
        op->done(op, &e, 0);
        return;
    }
    (void)stream_now(s);
    store_begin(s->store, false);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = change_one(s, &at[i]);
        op->count += at[i].done;
    }
    end = store_end(s->store, stream_op_wait(s, op));
    op->refused = rc;
    *counter_of(s, why) += op->count;
    expire_arm(s);
    if (end == 0) {
        s->inflight++;
        return;
    }
    stream_store_error(s, end, &e);
    op->done(op, &e, 0);
}

/* --- slide: read ------------------------------------------------------------------------------ */

/* A life that was renewed so short a time ago is not renewed again: a busy key costs few records.
 */
#define SLIDE_PART   64
#define SLIDE_MAX_NS (300 * CLOCK_S)

/* The renewed deadline; 0: it stays as it is.  A read shortens no life, and a tombstone is no
 * value. */
static int64_t slide_to(struct stream *s, const struct stream_msg *m, int64_t now_ns)
{
    struct policy_decision d;
    struct stream_lifetime l;

    if (!stream_lifetime(s, m->seq, &l) || l.deadline_ns == 0 || l.pinned || l.tombstone ||
        !stream_ttl_decide(s, m, now_ns, &d))
        return 0;
    int64_t deadline_ns = expire_deadline(s, now_ns, d.ttl);
    int64_t grain_ns = (deadline_ns - now_ns) / SLIDE_PART;

    if (grain_ns > SLIDE_MAX_NS)
        grain_ns = SLIDE_MAX_NS;
    return deadline_ns > l.deadline_ns + grain_ns ? deadline_ns : 0;
}

void stream_slide_read(struct stream *s, const struct stream_msg *m)
{
    int64_t now_ns = stream_now(s);
    struct stream_deadline_change c = {.seq = m->seq};
    struct js_error e;

    if (s->closing || check_sealed(s, &e) != 0 || (c.deadline_ns = slide_to(s, m, now_ns)) == 0)
        return;
    store_begin(s->store, false);
    int rc = change_one(s, &c), end = store_end(s->store, NULL);
    if (rc == 0 && end == 0)
        s->ttl_stats.touched_by_read += c.done; /* refused: it ends when it would have ended */
}
