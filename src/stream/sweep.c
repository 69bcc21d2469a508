/* sweep.c: new deadlines for the messages that are stored, after max_age or allow_msg_ttl changed;
 * and their schedules, after those were allowed.
 *
 * Happy path: sweep_start() puts BLOB_SWEEP into the batch of the new configuration; when that is
 * on disk sweep_begin() fixes the last message to look at (later ones are stored with the right
 * deadline) and waits until that one is on disk too; then sweep_slice() walks SLICE messages at a
 * time.  A slice is one batch, and the next one comes when it is on disk, so that a slow disk slows
 * the sweep and not the memory grow.  A message that is not in memory is read by a worker.
 * Failure: what does not work now is tried again after a pause.  A store that takes no writes any
 * more ends it; the blob stays, and the next start goes on.
 * Close: sweep_stop() leaves it to the last callback to free the memory.  A second start stops the
 * first sweep in the same way. */
#include "stream_impl.h"

#include "mayfly/clock.h"
#include "mayfly/header.h"
#include "mayfly/le.h"
#include "mayfly/log.h"

#include <stdlib.h>

#define VERSION    1
#define BLOB_BYTES 17   /* u8 version, u64 next, u64 end (0: not fixed yet), little endian */
#define SLICE      512u /* messages: about a millisecond */
#define NOTE_EVERY 16u  /* slices */
#define PAUSE_NS   (CLOCK_S / 10)

struct sweep {
    struct stream *s; /* NULL: stopped */
    struct loop_timer *timer;
    uint64_t next, end;
    unsigned slices; /* since next was noted in the blob */
    bool begun, waiting, reading;
    struct store_wait wait;
    struct store_read read;
};

static void sweep_turn(void *arg);

static int note(struct stream *s, uint64_t next, uint64_t end, struct store_wait *w)
{
    uint8_t bytes[BLOB_BYTES] = {VERSION};

    le64_put(bytes + 1, next);
    le64_put(bytes + 9, end);
    return store_blob_put(s->store, MF_LIT(BLOB_SWEEP), mf_slice(bytes, sizeof bytes), w);
}

/* --- life ----------------------------------------------------------------------------------- */

static void maybe_free(struct sweep *w)
{
    if (w->s == NULL && !w->waiting && !w->reading)
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
    *w = (struct sweep){.s = s, .next = 1, .wait = {.done = on_written}};
    w->timer = loop_timer_new(s->host->loop, sweep_turn, w);
    if (w->timer == NULL) {
        free(w);
        return NULL;
    }
    return w;
}

int sweep_start(struct stream *s)
{
    struct sweep *w = sweep_new(s);

    if (w == NULL)
        return MF_NOMEM;
    int rc = note(s, 1, 0, &w->wait);
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
    if (bytes.len == BLOB_BYTES && bytes.ptr[0] == VERSION) {
        w->next = le64_get(bytes.ptr + 1);
        w->end = le64_get(bytes.ptr + 9);
        w->begun = w->end != 0;
    } /* else: of another version; all messages again is never wrong */
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

static int64_t deadline_of(const struct stream *s, const struct store_rec *r)
{
    int64_t ttl_ns = TTL_NONE;
    struct mf_slice value;

    if (s->cfg.allow_msg_ttl && header_get(r->head, "Nats-TTL", &value) &&
        ttl_parse(value, s->host->strict, &ttl_ns) != 0)
        ttl_ns = TTL_NONE;
    return expire_deadline(s, r->ts_ns, ttl_ns);
}

/* 0, or why it has to wait.  *wrote: something was not as it should be. */
static int sweep_one(struct stream *s, const struct store_rec *r, bool *wrote)
{
    int64_t deadline_ns = deadline_of(s, r);
    int rc = schedule_found(s, r, wrote);

    if (rc != 0 || deadline_ns == r->deadline_ns || (r->flags & (MSG_INFINITE | MSG_PINNED)) != 0)
        return rc; /* as it should be, or decided otherwise than by this configuration */
    rc = store_set_deadline(s->store, r->seq, deadline_ns, 0, NULL);
    *wrote |= rc == 0;
    return rc == MF_NOTFOUND ? 0 : rc; /* it went meanwhile */
}

/* --- slices --------------------------------------------------------------------------------- */

static bool hopeless(int rc)
{
    return rc == MF_READONLY || rc == MF_CLOSED;
}

static void on_read(struct store_read *read, int status)
{
    struct sweep *w = mf_container(read, struct sweep, read);
    bool wrote = false;
    int rc = 0;

    w->reading = false;
    if (w->s == NULL) {
        maybe_free(w);
        return;
    }
    if (status == 0)
        rc = sweep_one(w->s, &read->rec, &wrote);
    else if (status == MF_NOMEM)
        rc = status;
    if (rc == 0)
        w->next = read->seq + 1; /* gone or damaged: nothing to do for it */
    if (wrote)
        expire_arm(w->s);
    if (!hopeless(rc))
        go_on(w, rc == 0 ? 0 : PAUSE_NS);
}

/* Walks; w->next is the first that is not done.  MF_AGAIN: it has to be read from disk. */
static int walk(struct sweep *w, bool *wrote)
{
    struct store *st = w->s->store;
    struct store_rec r;

    for (unsigned n = 0; n < SLICE; n++) {
        uint64_t seq = store_next(st, w->next);
        if (seq == 0 || seq > w->end) {
            w->next = w->end + 1;
            return 0;
        }
        w->next = seq;
        int rc = store_peek(st, seq, &r);
        if (rc == 0)
            rc = sweep_one(w->s, &r, wrote);
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
        w->next = w->read.seq + 1;
        go_on(w, 0);
    }
}

static void sweep_slice(struct sweep *w)
{
    struct stream *s = w->s;
    bool wrote = false;

    store_begin(s->store, true);
    int rc = walk(w, &wrote);
    if (++w->slices >= NOTE_EVERY && note(s, w->next, w->end, NULL) == 0) {
        w->slices = 0;
        wrote = true;
    }
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
        go_on(w, rc == 0 ? 0 : PAUSE_NS);
}

static void sweep_begin(struct sweep *w)
{
    uint64_t msgs, bytes, last;

    store_accepted(w->s->store, &msgs, &bytes, &last);
    int rc = note(w->s, w->next, last, &w->wait);
    if (rc == 0) {
        w->waiting = w->begun = true;
        w->end = last;
    } else if (!hopeless(rc)) {
        go_on(w, PAUSE_NS);
    }
}

static void sweep_turn(void *arg)
{
    struct sweep *w = arg;

    if (!w->begun)
        sweep_begin(w);
    else if (w->next > w->end)
        sweep_finish(w);
    else
        sweep_slice(w);
}
