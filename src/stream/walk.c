/* walk.c: one resumable walk over stored messages.
 *
 * Happy path: walk_slice() looks at w->slice messages.  What it writes and the place it reached
 * are one batch, and the next slice comes when that is on disk, so that a slow disk slows the walk
 * and not the memory grow.  A message that is not in memory is read by a worker.
 * Failure: what does not work now is tried again after a pause.  A store that takes no writes any
 * more ends the walk; the place that was noted stays, and the next start goes on from there.
 * Close: walk_stop() leaves it to the last callback to free the memory. */
#include "stream/walk_impl.h"

#include "base/clock.h"

#define PAUSE_NS (CLOCK_S / 10)

static void walk_turn(void *arg);

/* --- life ----------------------------------------------------------------------------------- */

static void maybe_free(struct walk *w)
{
    if (w->s == NULL && !w->waiting && !w->reading)
        w->ops->free(w);
}

void walk_stop(struct walk *w)
{
    loop_timer_free(w->timer);
    w->timer = NULL;
    w->s = NULL;
    maybe_free(w);
}

static void go_on(struct walk *w, int64_t pause_ns)
{
    if (!w->held)
        loop_timer_arm(w->timer, loop_mono_ns(w->s->host->loop) + pause_ns);
}

void walk_go(struct walk *w)
{
    w->held = false;
    if (!w->waiting && !w->reading)
        go_on(w, 0);
}

void walk_hold(struct walk *w)
{
    w->held = true;
    loop_timer_stop(w->timer);
}

static void on_written(struct store_wait *wait, int status)
{
    struct walk *w = mf_container(wait, struct walk, wait);

    w->waiting = false;
    if (w->s == NULL)
        maybe_free(w);
    else if (status == 0)
        go_on(w, w->gap_ns);
}

struct store_wait *walk_wait(struct walk *w)
{
    w->waiting = true;
    return &w->wait;
}

int walk_init(struct walk *w, struct stream *s, const struct walk_ops *ops)
{
    *w = (struct walk){
        .s = s, .ops = ops, .next = 1, .slice = WALK_SLICE, .wait = {.done = on_written}};
    w->timer = loop_timer_new(s->host->loop, walk_turn, w);
    return w->timer == NULL ? MF_NOMEM : 0;
}

/* --- slices --------------------------------------------------------------------------------- */

static bool hopeless(int rc)
{
    return rc == MF_READONLY || rc == MF_CLOSED;
}

/* One message that had to be read; what it needs and the place behind it are one batch. */
static int visit_read(struct walk *w, const struct store_rec *r)
{
    struct store *st = w->s->store;
    bool wrote = false;

    store_begin(st, true);
    int rc = w->ops->visit(w, r, &wrote);
    if (rc == 0) {
        w->next = r->seq + 1;
        if (wrote)
            rc = w->ops->note(w);
    }
    int end = store_end(st, NULL);
    if (wrote)
        expire_arm(w->s);
    return rc != 0 ? rc : end;
}

static void on_read(struct store_read *read, int status)
{
    struct walk *w = mf_container(read, struct walk, read);
    int rc = 0;

    w->reading = false;
    if (w->s == NULL) {
        maybe_free(w);
        return;
    }
    if (status == 0)
        rc = visit_read(w, &read->rec);
    else if (status == MF_NOMEM)
        rc = status;
    else
        w->next = read->seq + 1; /* gone or damaged: nothing to do for it */
    if (!hopeless(rc))
        go_on(w, rc == 0 ? w->gap_ns / w->slice : PAUSE_NS);
}

/* w->next is the first that is not done.  MF_AGAIN: it has to be read from disk. */
static int visit_some(struct walk *w, bool *wrote)
{
    struct store *st = w->s->store;
    struct store_rec r;

    for (unsigned n = 0; n < w->slice; n++) {
        uint64_t seq = store_next(st, w->next);
        if (seq == 0 || seq > w->end) {
            w->next = w->end + 1;
            return 0;
        }
        w->next = seq;
        int rc = store_peek(st, seq, &r);
        if (rc == 0)
            rc = w->ops->visit(w, &r, wrote);
        else if (rc == MF_NOTFOUND || rc == MF_CORRUPT)
            rc = 0;
        else if (rc == MF_AGAIN) {
            w->read = (struct store_read){.seq = seq, .done = on_read};
            return MF_AGAIN;
        }
        if (rc != 0)
            return rc == MF_AGAIN ? MF_FULL : rc; /* of the write: a pause */
        w->next = seq + 1;
    }
    return 0;
}

static void read_next(struct walk *w)
{
    int rc = store_read(w->s->store, &w->read);

    if (rc == 0)
        w->reading = true;
    else if (rc == MF_NOMEM)
        go_on(w, PAUSE_NS);
    else { /* gone, or damaged */
        w->next = w->read.seq + 1;
        go_on(w, 0);
    }
}

/* The place goes with what was written, or a crash between them would do it twice. */
static void walk_slice(struct walk *w)
{
    struct stream *s = w->s;
    bool wrote = false;

    store_begin(s->store, true);
    int rc = visit_some(w, &wrote), noted = wrote ? w->ops->note(w) : 0;
    if (noted != 0 && rc == 0)
        rc = noted;
    /* One that has to be read goes on from there, the others from here. */
    bool wait = wrote && rc == 0;
    int ended = store_end(s->store, wait ? &w->wait : NULL);
    if (wrote)
        expire_arm(s);
    if (ended != 0 || hopeless(rc))
        return;
    w->waiting = wait;
    if (rc == MF_AGAIN)
        read_next(w);
    else if (!wait)
        go_on(w, rc == 0 ? w->gap_ns : PAUSE_NS);
}

/* Readers, and so the walk, see what is on disk: the last message to look at comes first. */
static bool wait_for_disk(struct walk *w)
{
    if (store_committed(w->s->store) >= w->end)
        return false;
    w->waiting = store_barrier(w->s->store, &w->wait) == 0;
    if (!w->waiting)
        go_on(w, PAUSE_NS);
    return true;
}

static void walk_turn(void *arg)
{
    struct walk *w = arg;

    if (wait_for_disk(w))
        return;
    if (w->next <= w->end) {
        walk_slice(w);
        return;
    }
    int rc = w->ops->finish(w);
    if (rc != 0 && !hopeless(rc))
        go_on(w, PAUSE_NS);
}
