/* sweep.c: new deadlines for the messages that are stored, after max_age or allow_msg_ttl changed;
 * and their schedules, after those were allowed.
 *
 * Happy path: sweep_start() puts BLOB_SWEEP into the batch of the new configuration: the messages up
 * to the last one accepted, and the terms by which their deadlines were made (sweep_plan.c).  When
 * that is on disk sweep_slice() walks SLICE messages at a time.  A slice and the place it reached are
 * one batch, and the next one comes when it is on disk, so that a slow disk slows the sweep and not
 * the memory grow.  A message that is not in memory is read by a worker.
 * Another change meanwhile starts the walk again: the plan remembers which messages have which terms.
 * Failure: what does not work now is tried again after a pause.  A store that takes no writes any
 * more ends it; the blob stays, and the next start goes on.
 * Close: sweep_stop() leaves it to the last callback to free the memory. */
#include "sweep_plan.h"

#include "mayfly/clock.h"
#include "mayfly/header.h"
#include "mayfly/log.h"

#include <stdlib.h>

#define SLICE    512u /* messages: about a millisecond */
#define PAUSE_NS (CLOCK_S / 10)

struct sweep {
    struct stream *s; /* NULL: stopped */
    struct loop_timer *timer;
    struct sweep_plan plan;
    struct policy *policies[SWEEP_PARTS]; /* in force under the terms of each part; NULL: none */
    bool waiting, reading;
    struct store_wait wait;
    struct store_read read;
};

static void sweep_turn(void *arg);

static int note(struct stream *s, const struct sweep_plan *p, struct store_wait *w)
{
    uint8_t bytes[SWEEP_PLAN_MAX];
    size_t n = sweep_plan_write(p, bytes);

    return store_blob_put(s->store, MF_LIT(BLOB_SWEEP), mf_slice(bytes, n), w);
}

/* --- life ----------------------------------------------------------------------------------- */

static void maybe_free(struct sweep *w)
{
    if (w->s != NULL || w->waiting || w->reading)
        return;
    for (size_t i = 0; i < SWEEP_PARTS; i++)
        policy_free(w->policies[i]);
    free(w);
}

static void detach(struct sweep *w)
{
    loop_timer_free(w->timer);
    w->timer = NULL;
    w->s = NULL;
    maybe_free(w);
}

static void go_on(struct sweep *w, int64_t pause_ns)
{
    loop_timer_arm(w->timer, loop_mono_ns(w->s->host->loop) + pause_ns);
}

static void on_written(struct store_wait *wait, int status)
{
    struct sweep *w = mf_container(wait, struct sweep, wait);

    w->waiting = false;
    if (w->s == NULL)
        maybe_free(w);
    else if (status == 0)
        go_on(w, 0);
}

static struct sweep *sweep_new(struct stream *s)
{
    struct sweep *w = calloc(1, sizeof *w);

    if (w == NULL)
        return NULL;
    *w = (struct sweep){.s = s, .plan = {.next = 1}, .wait = {.done = on_written}};
    w->timer = loop_timer_new(s->host->loop, sweep_turn, w);
    if (w->timer == NULL) {
        free(w);
        return NULL;
    }
    return w;
}

/* The policies by which the deadlines of each part were made. */
static int compile_parts(struct sweep *w)
{
    for (size_t i = 0; i < w->plan.n; i++) {
        int rc = sweep_policy(w->s, &w->plan.parts[i].terms, &w->policies[i]);
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

int sweep_start(struct stream *s, const struct sweep_terms *before)
{
    struct sweep *w = sweep_new(s);
    int rc;

    if (w == NULL)
        return MF_NOMEM;
    if (s->sweep != NULL)
        w->plan = s->sweep->plan;
    rc = sweep_plan_change(&w->plan, before, last_accepted(s));
    if (rc == 0 && (rc = compile_parts(w)) == 0)
        rc = note(s, &w->plan, &w->wait);
    if (rc != 0) {
        detach(w);
        return rc;
    }
    w->waiting = true;
    sweep_stop(s);
    s->sweep = w;
    return 0;
}

int sweep_resume(struct stream *s)
{
    struct mf_slice bytes;

    if (!store_blob_get(s->store, MF_LIT(BLOB_SWEEP), &bytes))
        return 0;
    struct sweep *w = sweep_new(s);
    if (w == NULL)
        return MF_NOMEM;
    sweep_plan_read(&w->plan, bytes, last_accepted(s));
    if (compile_parts(w) != 0) {
        detach(w);
        return MF_NOMEM;
    }
    sweep_stop(s);
    s->sweep = w;
    go_on(w, 0);
    return 0;
}

void sweep_stop(struct stream *s)
{
    struct sweep *w = s->sweep;

    s->sweep = NULL;
    if (w != NULL)
        detach(w);
}

/* --- one message ---------------------------------------------------------------------------- */

/* 0, or why it has to wait.  *wrote: something was not as it should be. */
static int sweep_one(struct sweep *w, const struct store_rec *r, bool *wrote)
{
    struct stream *s = w->s;
    const struct sweep_part *part = sweep_plan_part(&w->plan, r->seq);
    uint16_t flags = 0;
    int rc = schedule_found(s, r, wrote);

    if (rc != 0 || !store_flags(s->store, r->seq, &flags) || (flags & STORE_BITS) != 0)
        return rc; /* set by hand, or without an end on purpose: it stays so */
    int64_t deadline_ns = sweep_deadline(
        s, r, &part->terms, w->policies[part - w->plan.parts], stream_now(s));
    bool scope = scope_holds(s);
    if (scope)
        deadline_ns = scope_cut(s, r->seq, deadline_ns);
    if (deadline_ns == r->deadline_ns)
        return 0;
    rc = store_set_deadline(s->store, r->seq, deadline_ns, 0, NULL);
    *wrote |= rc == 0;
    if (rc == 0 && scope)
        rc = scope_lower(s, store_older(s->store, r->seq), deadline_ns);
    return rc == MF_NOTFOUND ? 0 : rc; /* it went meanwhile */
}

/* --- slices --------------------------------------------------------------------------------- */

static bool hopeless(int rc)
{
    return rc == MF_READONLY || rc == MF_CLOSED;
}

/* One message that had to be read; its deadline and the place behind it are one batch. */
static int sweep_read(struct sweep *w, const struct store_rec *r)
{
    struct store *st = w->s->store;
    bool wrote = false;

    store_begin(st, true);
    int rc = sweep_one(w, r, &wrote);
    if (rc == 0) {
        w->plan.next = r->seq + 1;
        if (wrote)
            rc = note(w->s, &w->plan, NULL);
    }
    int end = store_end(st, NULL);
    if (wrote)
        expire_arm(w->s);
    return rc != 0 ? rc : end;
}

static void on_read(struct store_read *read, int status)
{
    struct sweep *w = mf_container(read, struct sweep, read);
    int rc = 0;

    w->reading = false;
    if (w->s == NULL) {
        maybe_free(w);
        return;
    }
    if (status == 0)
        rc = sweep_read(w, &read->rec);
    else if (status == MF_NOMEM)
        rc = status;
    else
        w->plan.next = read->seq + 1; /* gone or damaged: nothing to do for it */
    if (!hopeless(rc))
        go_on(w, rc == 0 ? 0 : PAUSE_NS);
}

/* Walks; plan.next is the first that is not done.  MF_AGAIN: it has to be read from disk. */
static int walk(struct sweep *w, bool *wrote)
{
    struct store *st = w->s->store;
    uint64_t end = sweep_plan_end(&w->plan);
    struct store_rec r;

    for (unsigned n = 0; n < SLICE; n++) {
        uint64_t seq = store_next(st, w->plan.next);
        if (seq == 0 || seq > end) {
            w->plan.next = end + 1;
            return 0;
        }
        w->plan.next = seq;
        int rc = store_peek(st, seq, &r);
        if (rc == 0)
            rc = sweep_one(w, &r, wrote);
        else if (rc == MF_NOTFOUND || rc == MF_CORRUPT)
            rc = 0;
        else if (rc == MF_AGAIN) {
            w->read = (struct store_read){.seq = seq, .done = on_read};
            return MF_AGAIN;
        }
        if (rc != 0)
            return rc == MF_AGAIN ? MF_FULL : rc; /* of the write: a pause */
        w->plan.next = seq + 1;
    }
    return 0;
}

static void sweep_finish(struct sweep *w)
{
    struct stream *s = w->s;
    int rc = store_blob_del(s->store, MF_LIT(BLOB_SWEEP), NULL);

    if (rc != 0 && rc != MF_NOTFOUND) {
        if (!hopeless(rc))
            go_on(w, PAUSE_NS);
        return;
    }
    log_debug("stream %s: all messages have their new deadlines", s->cfg.name);
    sweep_stop(s);
    expire_arm(s);
}

static void read_next(struct sweep *w)
{
    int rc = store_read(w->s->store, &w->read);

    if (rc == 0)
        w->reading = true;
    else if (rc == MF_NOMEM)
        go_on(w, PAUSE_NS);
    else { /* gone, or damaged */
        w->plan.next = w->read.seq + 1;
        go_on(w, 0);
    }
}

/* The place goes with the deadlines, or a crash between them would renew what was renewed. */
static void sweep_slice(struct sweep *w)
{
    struct stream *s = w->s;
    struct sweep_plan before = w->plan;
    bool wrote = false;

    store_begin(s->store, true);
    int rc = walk(w, &wrote), noted = wrote ? note(s, &w->plan, NULL) : 0;
    if (noted != 0 && rc == 0)
        rc = noted;
    /* One that has to be read goes on from there, the others from here. */
    bool wait = wrote && rc == 0;
    int ended = store_end(s->store, wait ? &w->wait : NULL);
    if (wrote)
        expire_arm(s);
    if (ended != 0 || hopeless(rc)) {
        w->plan = before;
        return;
    }
    w->waiting = wait;
    if (rc == MF_AGAIN)
        read_next(w);
    else if (!wait)
        go_on(w, rc == 0 ? 0 : PAUSE_NS);
}

/* Readers, and so the walk, see what is on disk: the last message of the plan comes first. */
static bool wait_for_disk(struct sweep *w)
{
    if (store_committed(w->s->store) >= sweep_plan_end(&w->plan))
        return false;
    w->waiting = store_barrier(w->s->store, &w->wait) == 0;
    if (!w->waiting)
        go_on(w, PAUSE_NS);
    return true;
}

static void sweep_turn(void *arg)
{
    struct sweep *w = arg;

    if (wait_for_disk(w))
        return;
    if (w->plan.next > sweep_plan_end(&w->plan))
        sweep_finish(w);
    else
        sweep_slice(w);
}
