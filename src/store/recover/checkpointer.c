/* checkpointer.c: writes checkpoints in the background.
 *
 * Happy path: check_start() notes the end of the log. check_fill() encodes a piece of the index,
 * a job writes it, and so on; the store continues to work, so the checkpoint is fuzzy.  The blobs
 * follow.  Then the checkpointer waits until all that the checkpoint may show is committed, and
 * check_finish_work() writes the head, syncs, renames.
 * Failure: the old checkpoint stays; the next attempt follows after as many bytes of log, or, if
 * one is due for another reason, after a pause.
 * Close: store_close() requests a checkpoint and waits for it. */
#include "store/store_impl.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define SLICE     4096        /* entries */
#define VAIN      10000       /* messages */
#define LOG_BYTES (32u << 20) /* of log at least between two; else as much as the last one had */
#define RETRY_NS  (2 * CLOCK_S)

static void check_fill(struct store *s);

/* --- begin ---------------------------------------------------------------------------------- */

static void check_start(struct store *s)
{
    struct checkpointer *c = &s->check;
    struct record_pos start = s->log.committed;
    uint32_t chain = s->log.chain;

    if (!erase_start_of_log(s, &start, &chain))
        return; /* when that has ended */
    c->stage = CHECK_FILL;
    mf_list_move(&c->waits, &c->next_waits);
    c->head = (struct checkpoint_head){.start = start, .chain = chain, .cipher = store_cipher(s)};
    c->seal = s->crypt == NULL ? NULL : s->crypt->check;
    memcpy(c->head.id, s->id, STORE_ID);
    c->offset = CHECKPOINT_HEADER;
    c->from_seq = 0;
    c->since = 0;
    c->file = NULL;
    c->io = s->io;
    c->status = 0;
    mf_buf_clear(&c->buf);
    check_fill(s);
}

void checkpoint_kick(struct store *s)
{
    struct checkpointer *c = &s->check;
    uint64_t enough = c->last_bytes > LOG_BYTES ? c->last_bytes : LOG_BYTES;

    /* Most messages of the last checkpoint were removed: a new one frees its space. */
    bool vain = c->last_messages > 8 * s->view.all.msgs + VAIN;

    if (c->stage != CHECK_IDLE || s->failed != 0 || s->loop == NULL || s->commit.retrying)
        return;
    bool due = c->since >= enough || ((vain || c->plain) && !c->put_off);
    if (!mf_list_empty(&c->next_waits) || (!s->o.no_checkpoint && !s->close.begun && due))
        check_start(s);
}

static void check_later(void *arg)
{
    struct store *s = arg;

    s->check.put_off = false;
    store_progress(s);
}

/* The reason for it is still there: without a pause the next attempt would follow at once. */
static void check_put_off(struct store *s)
{
    if (s->close.begun)
        return;
    s->check.put_off = true;
    loop_timer_arm(s->check.later, loop_mono_ns(s->loop) + RETRY_NS);
}

int store_checkpoint(struct store *s, struct store_wait *w)
{
    int rc = write_check(s);

    if (rc != 0)
        return rc;
    if (w == NULL || w->done == NULL)
        return MF_INVAL; /* a waiter or a reason is required */
    mf_list_push(&s->check.next_waits, &w->node);
    checkpoint_kick(s);
    return 0;
}

/* --- slices --------------------------------------------------------------------------------- */

static int open_tmp(struct checkpointer *c)
{
    int rc = c->io->open(c->io, CHECKPOINT_TMP, true, &c->file, &c->error);

    if (rc == MF_EXISTS && c->io->unlink(c->io, CHECKPOINT_TMP, &c->error) == 0)
        rc = c->io->open(c->io, CHECKPOINT_TMP, true, &c->file, &c->error);
    return rc;
}

static void check_write_work(void *arg) /* on a worker */
{
    struct checkpointer *c = arg;

    if (c->status == 0 && c->file == NULL)
        c->status = open_tmp(c);
    if (c->seal != NULL)
        checkpoint_seal(c->buf.ptr, c->buf.len, c->offset, c->seal);
    if (c->status == 0 && c->buf.len > 0)
        c->status = c->io->pwrite(c->io, c->file, c->buf.ptr, c->buf.len, c->offset, &c->error);
}

static void check_end(struct store *s, int status)
{
    struct checkpointer *c = &s->check;
    struct mf_list done;

    mf_list_init(&done);
    mf_list_move(&done, &c->waits);
    for (size_t i = 0; i < c->dirties; i++)
        segs_get(s, c->dirty[i].number)->readers--;
    c->dirties = 0;
    c->stage = CHECK_IDLE;
    if (c->file != NULL)
        s->io->close(s->io, c->file);
    c->file = NULL;
    mf_buf_fini(&c->buf);
    if (status == 0) {
        c->last_bytes = c->head.file_size;
        c->last_messages = c->head.messages;
        c->plain = false;
        s->stats.checkpoints++;
    } else {
        log_warn("store %s: no checkpoint this time: %s", s->name, c->error.text);
        check_put_off(s);
    }
    commit_answer(&done, status);
    store_progress(s);
}

/* --- end ------------------------------------------------------------------------------------ */

static void check_finish_work(void *arg) /* on a worker */
{
    struct checkpointer *c = arg;
    uint8_t head[CHECKPOINT_HEADER];

    for (size_t i = 0; i < c->dirties && c->status == 0; i++)
        c->status = c->io->sync(c->io, c->dirty[i].file, &c->error);
    if (c->status == 0 && c->dirties > 0) /* their names, before one that builds on them */
        c->status = c->io->syncdir(c->io, &c->error);
    c->sync_failed = c->status != 0;
    checkpoint_encode_head(head, &c->head);
    if (c->status == 0)
        c->status = c->io->pwrite(c->io, c->file, head, sizeof head, 0, &c->error);
    if (c->status == 0)
        c->status = c->io->sync(c->io, c->file, &c->error);
    if (c->status == 0)
        c->status = c->io->rename(c->io, CHECKPOINT_TMP, CHECKPOINT_NAME, &c->error);
    if (c->status == 0) {
        c->status = c->io->syncdir(c->io, &c->error);
        c->sync_failed = c->status != 0;
    }
}

static void check_finish_done(void *arg)
{
    struct store *s = mf_container(arg, struct store, check);

    /* The kernel reports an error once: the next sync of the log would not return it. */
    if (s->check.sync_failed)
        store_fail(s, s->check.status, s->check.error.text);
    check_end(s, s->check.status);
}

/* Relaxed mode: all messages of the checkpoint must be synced before it counts. */
static int collect_dirty(struct store *s)
{
    struct checkpointer *c = &s->check;

    for (size_t i = 0; i < s->segs.count; i++) {
        struct segment *seg = s->segs.at[s->segs.head + i];
        if (!seg->dirty || seg->file == NULL || clean_reclaims(s, seg))
            continue;
        if (mf_array_reserve(&c->dirty, &c->dirty_cap, c->dirties + 1, sizeof *c->dirty) != 0)
            return mf_fail(&c->error, MF_NOMEM, "checkpoint");
        c->dirty[c->dirties++] = (struct dirty_file){seg->file, seg->number};
        seg->readers++;
    }
    return 0;
}

static void check_committed(struct store_wait *w, int status)
{
    struct store *s = mf_container(w, struct store, check.wait);

    if (status == 0)
        status = collect_dirty(s);
    else
        mf_fail(&s->check.error, status, "the log could not be written");
    if (status != 0) {
        check_end(s, status);
        return;
    }
    s->check.stage = CHECK_FINISH;
    loop_job_submit(s->check.finish_job);
}

static void blob_add(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct checkpointer *c = arg;

    /* A block for each: a value may be large. */
    size_t start = checkpoint_blobs_begin(&c->buf, &c->head);
    checkpoint_blobs_add(&c->buf, start, name, bytes);
    checkpoint_blobs_end(&c->buf, start, c->offset + start);
    c->head.blobs++;
}

static void check_last(struct store *s)
{
    struct checkpointer *c = &s->check;

    c->head.last_seq = s->log.last_seq;
    c->head.mark = s->log.mark;
    c->head.clock_ns = s->log.clock_ns;
    c->head.first_segment = s->log.first_segment;
    c->head.file_size = c->offset;
    c->stage = CHECK_WAIT;
    c->wait.done = check_committed;
    if (!commit_barrier(s, &c->wait))
        check_committed(&c->wait, 0);
}

static void check_write_done(void *arg)
{
    struct store *s = mf_container(arg, struct store, check);
    struct checkpointer *c = &s->check;

    c->offset += c->buf.len;
    mf_buf_clear(&c->buf);
    if (c->status != 0 || s->failed != 0) {
        if (c->status == 0)
            mf_fail(&c->error, c->status = MF_READONLY, "the store failed");
        check_end(s, c->status);
        return;
    }
    if (c->from_seq == UINT64_MAX)
        check_last(s);
    else
        check_fill(s);
}

static void check_fill(struct store *s)
{
    struct checkpointer *c = &s->check;

    if (!checkpoint_messages(s->ix, &c->from_seq, SLICE, c->offset, &c->buf, &c->head)) {
        c->from_seq = UINT64_MAX;
        store_blob_each(s, blob_add, c);
    }
    if (mf_buf_failed(&c->buf)) {
        c->status = mf_fail(&c->error, MF_NOMEM, "checkpoint");
        mf_buf_clear(&c->buf);
    }
    loop_job_submit(c->write_job);
}

int checkpoint_init(struct store *s)
{
    mf_list_init(&s->check.waits);
    mf_list_init(&s->check.next_waits);
    s->check.write_job =
        loop_job_new(s->loop, LOOP_UPKEEP, check_write_work, check_write_done, &s->check);
    s->check.finish_job =
        loop_job_new(s->loop, LOOP_UPKEEP, check_finish_work, check_finish_done, &s->check);
    s->check.later = loop_timer_new(s->loop, check_later, s);
    return s->check.write_job == NULL || s->check.finish_job == NULL || s->check.later == NULL
               ? MF_NOMEM
               : 0;
}

void checkpoint_fini(struct store *s)
{
    loop_job_free(s->check.write_job);
    loop_job_free(s->check.finish_job);
    loop_timer_free(s->check.later);
    if (s->check.file != NULL)
        s->io->close(s->io, s->check.file);
    mf_buf_fini(&s->check.buf);
    free(s->check.dirty);
}
