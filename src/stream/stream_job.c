/* stream_job.c: a job over all stored messages that survives restarts.
 *
 * Happy path: run_slice() visits j->slice messages.  Its writes and its position are one commit
 * batch.  The next slice follows the commit, so that a slow disk slows the job instead of growing
 * memory.  A message that is not in memory is read by a worker.
 * Failure: a failed step is tried again after a pause.  A store that refuses writes ends the job;
 * its stored position stays, and the next start continues from there.
 * Close: after stream_job_stop() the last callback frees the memory. */
#include "stream/stream_job_impl.h"

#include "base/clock.h"

#define PAUSE_NS    (CLOCK_S / 10)
#define SLICE_BYTES (1u << 20) /* of messages: those of an encrypted stream are opened */

static void run_turn(void *arg);

/* --- life ----------------------------------------------------------------------------------- */

static void maybe_free(struct stream_job *j)
{
    if (j->s == NULL && !j->waiting && !j->reading)
        j->ops->free(j);
}

void stream_job_stop(struct stream_job *j)
{
    loop_timer_free(j->timer);
    j->timer = NULL;
    j->s = NULL;
    maybe_free(j);
}

static void continue_after(struct stream_job *j, int64_t pause_ns)
{
    if (!j->held)
        loop_timer_arm(j->timer, loop_mono_ns(j->s->host->loop) + pause_ns);
}

void stream_job_continue(struct stream_job *j)
{
    j->held = false;
    if (!j->waiting && !j->reading)
        continue_after(j, 0);
}

void stream_job_pause(struct stream_job *j)
{
    j->held = true;
    loop_timer_stop(j->timer);
}

/* A slice that was cut short by the bytes of its messages is followed by a shorter pause. */
static int64_t gap_of(const struct stream_job *j)
{
    return j->gap_ns / j->slice * j->visited;
}

static void on_written(struct store_wait *wait, int status)
{
    struct stream_job *j = mf_container(wait, struct stream_job, wait);

    j->waiting = false;
    if (j->s == NULL)
        maybe_free(j);
    else if (status == 0)
        continue_after(j, gap_of(j));
}

struct store_wait *stream_job_wait(struct stream_job *j)
{
    j->waiting = true;
    return &j->wait;
}

int stream_job_init(struct stream_job *j, struct stream *s, const struct stream_job_ops *ops)
{
    *j = (struct stream_job){
        .s = s, .ops = ops, .next = 1, .slice = STREAM_JOB_SLICE, .wait = {.done = on_written}};
    j->timer = loop_timer_new(s->host->loop, run_turn, j);
    return j->timer == NULL ? MF_NOMEM : 0;
}

/* --- slices --------------------------------------------------------------------------------- */

static bool is_final(int rc)
{
    return rc == MF_READONLY || rc == MF_CLOSED;
}

/* Visits a message that was read from disk; its writes and the new position are one commit batch.
 */
static int visit_read(struct stream_job *j, const struct store_rec *r)
{
    struct store *st = j->s->store;
    bool wrote = false;

    store_begin(st, true);
    int rc = j->ops->visit(j, r, &wrote);
    if (rc == 0) {
        j->next = r->seq + 1;
        if (wrote)
            rc = j->ops->note(j);
    }
    int end = store_end(st, NULL);
    if (wrote)
        expire_arm(j->s);
    return rc != 0 ? rc : end;
}

static void on_read(struct store_read *read, int status)
{
    struct stream_job *j = mf_container(read, struct stream_job, read);
    int rc = 0;

    j->reading = false;
    if (j->s == NULL) {
        maybe_free(j);
        return;
    }
    if (status == 0)
        rc = visit_read(j, &read->rec);
    else if (status == MF_NOMEM)
        rc = status;
    else
        j->next = read->seq + 1; /* removed or damaged: nothing to do for it */
    if (!is_final(rc))
        continue_after(j, rc == 0 ? j->gap_ns / j->slice : PAUSE_NS);
}

/* j->next is the first message that is not done.  MF_AGAIN: it has to be read from disk. */
static int visit_some(struct stream_job *j, bool *wrote)
{
    struct store *st = j->s->store;
    struct store_rec r;
    size_t bytes = 0;

    j->visited = 0;
    for (unsigned n = 0; n < j->slice && bytes < SLICE_BYTES; n++) {
        uint64_t seq = store_next(st, j->next);
        if (seq == 0 || seq > j->end) {
            j->next = j->end + 1;
            return 0;
        }
        j->next = seq;
        int rc = store_peek(st, seq, &r);
        if (rc == 0) {
            bytes += r.key.len + r.head.len + r.body.len;
            rc = j->ops->visit(j, &r, wrote);
        } else if (rc == MF_NOTFOUND || rc == MF_CORRUPT)
            rc = 0;
        else if (rc == MF_AGAIN) {
            j->read = (struct store_read){.seq = seq, .done = on_read};
            return MF_AGAIN;
        }
        if (rc != 0)
            return rc == MF_AGAIN ? MF_FULL : rc; /* of the write: a pause */
        j->next = seq + 1;
        j->visited++;
    }
    return 0;
}

static void read_next(struct stream_job *j)
{
    int rc = store_read(j->s->store, &j->read);

    if (rc == 0)
        j->reading = true;
    else if (rc == MF_NOMEM)
        continue_after(j, PAUSE_NS);
    else { /* removed, or damaged */
        j->next = j->read.seq + 1;
        continue_after(j, 0);
    }
}

/* Position and writes are one commit batch, or a crash between them would repeat the writes. */
static void run_slice(struct stream_job *j)
{
    struct stream *s = j->s;
    bool wrote = false;

    store_begin(s->store, true);
    int rc = visit_some(j, &wrote), noted = wrote ? j->ops->note(j) : 0;
    if (noted != 0 && rc == 0)
        rc = noted;
    /* A slice that needs a read does not wait for its commit: the read continues the job. */
    bool wait = wrote && rc == 0;
    int ended = store_end(s->store, wait ? &j->wait : NULL);
    if (wrote)
        expire_arm(s);
    if (ended != 0 || is_final(rc))
        return;
    j->waiting = wait;
    if (rc == MF_AGAIN)
        read_next(j);
    else if (!wait)
        continue_after(j, rc == 0 ? gap_of(j) : PAUSE_NS);
}

/* Readers, and so the job, see committed messages only: waits for the commit of j->end. */
static bool wait_for_disk(struct stream_job *j)
{
    if (store_committed(j->s->store) >= j->end)
        return false;
    j->waiting = store_barrier(j->s->store, &j->wait) == 0;
    if (!j->waiting)
        continue_after(j, PAUSE_NS);
    return true;
}

static void run_turn(void *arg)
{
    struct stream_job *j = arg;

    if (wait_for_disk(j))
        return;
    if (j->next <= j->end) {
        run_slice(j);
        return;
    }
    int rc = j->ops->finish(j);
    if (rc != 0 && !is_final(rc))
        continue_after(j, PAUSE_NS);
}
