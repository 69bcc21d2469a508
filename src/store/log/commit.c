/* commit.c: commit groups.
 *
 * Happy path: a write calls commit_kick().  At the end of the loop's turn commit_start() ends the
 * commit group with a commit record and swaps it out as `image`. commit_work(), on a worker,
 * fills in the checks, makes new segments, writes and syncs. commit_done() applies the effects
 * that waited for the commit and calls the waiters.  Records that arrive meanwhile form the next
 * group: the slower the disk, the larger the groups.
 * Failure: after a failed write or sync nothing later may be acknowledged, or the log would have
 * a hole.  The store turns read-only, the written part of the group is overwritten (a refused
 * message must not exist after a restart), and every waiter gets the error.  A failed sync is
 * never retried.  Only a shortage (of space, descriptors, memory) is retried: nothing of the
 * group counts yet, so a second write is the same.
 * Where groups of several stores are ready in one turn, the commit journal writes them instead
 * (share_take(), journal.c): commit_done() follows as well.
 * Close: the queued group is committed, and then one more commit record that says all is synced. */
#include "store/store_impl.h"
#include "store/io/wipe.h"

#include "base/clock.h"
#include "base/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define BUF_KEEP    (8u << 20) /* a larger buffer is freed after use */
#define RANGES_KEEP 65536
#define RETRY_NS    (CLOCK_S / 5)

void commit_answer(struct mf_list *waits, int status)
{
    struct mf_list *n;

    while ((n = mf_list_pop(waits)) != NULL) {
        struct store_wait *w = mf_container(n, struct store_wait, node);
        w->done(w, status); /* may free w */
    }
}

static void commit_turn_end(struct loop_defer *d)
{
    struct store *s = mf_container(d, struct store, commit.defer);

    if (s->commit.running || gather_ready(&s->commit.gather, loop_mono_ns(s->loop)))
        commit_start(s);
    else
        loop_next(s->loop, d); /* events first: they bring the writers that are awaited */
}

void commit_kick(struct store *s)
{
    s->commit.defer.fn = commit_turn_end;
    loop_defer(s->loop, &s->commit.defer);
}

/* --- start ---------------------------------------------------------------------------------- */

/* Readers do not see an overdue message, though no sweep has written its mark yet.  Their answers
 * must hold after a crash, too: time goes on from here then, wherever the wall clock is. */
static void note_time_shown(struct store *s)
{
    if (s->now_ns > s->log.clock_ns && index_next_deadline(s->ix) <= s->now_ns)
        s->log.clock_ns = s->now_ns;
}

static void commit_trailer(struct store *s)
{
    struct image *im = &s->commit.filling;

    note_time_shown(s);
    struct record r = {.type = RECORD_COMMIT,
                       .group = ++s->log.group,
                       .synced = s->log.synced,
                       .first_segment = s->log.first_segment,
                       .last_seq = s->log.last_seq,
                       .mark = s->log.mark,
                       .clock_ns = s->log.clock_ns};
    /* room_place() kept the room, in the buffer and in the segment. */
    record_encode(im->buf.ptr + im->buf.len, &r);
    room_used(s, RECORD_COMMIT_SIZE);
    im->end = (struct record_pos){segs_current(s)->number, segs_current(s)->end};
    im->last_seq = s->log.last_seq;
}

/* Binds files late: the group before may have made a segment while this one filled. */
static void extents_bind(struct store *s)
{
    for (size_t i = 0; i < s->commit.filling.extents; i++) {
        struct extent *x = &s->commit.filling.extent[i];
        const struct segment *seg = segs_get(s, x->number);
        x->file = seg->file;
        x->blank = seg->blank;
        x->blank_id = seg->blank_id;
        x->grown = seg->grown;
        x->made = x->file != NULL && !seg->blank;
    }
}

void commit_start(struct store *s)
{
    struct image t;

    if (s->commit.running || s->failed != 0 ||
        (s->commit.filling.buf.len == 0 && mf_list_empty(&s->commit.waiting) && !s->commit.bare))
        return;
    assert(!s->batch.open); /* a commit batch never outlives the call that began it */
    if (s->hooks.before_commit != NULL && s->commit.filling.buf.len > 0)
        s->hooks.before_commit(s->hooks.before_commit_arg);
    if (s->commit.filling.buf.len > 0 || s->commit.bare)
        commit_trailer(s);
    s->commit.bare = false;
    extents_bind(s);
    t = s->commit.image;
    s->commit.image = s->commit.filling;
    s->commit.filling = t;
    mf_list_move(&s->commit.in_flight, &s->commit.waiting);
    mf_list_move(&s->erase.in_flight, &s->erase.filling);
    gather_started(&s->commit.gather, loop_mono_ns(s->loop));
    s->commit.running = true;
    s->commit.image.io = s->io;
    s->commit.image.sync = s->o.sync == STORE_SYNC_ALWAYS;
    s->commit.image.chain = s->log.chain;
    s->commit.image.seal = s->crypt == NULL ? NULL : s->crypt->commit;
    s->commit.image.status = 0;
    memcpy(s->commit.image.id, s->id, STORE_ID);
    s->commit.image.now_ns = s->log.clock_ns;
    if (!share_take(s))
        loop_job_submit(s->commit.job);
}

void store_on_commit(struct store *s, void (*fn)(void *arg), void *arg)
{
    s->hooks.before_commit = fn;
    s->hooks.before_commit_arg = arg;
}

void store_on_resume(struct store *s, void (*fn)(void *arg), void *arg)
{
    s->hooks.resumed = fn;
    s->hooks.resumed_arg = arg;
}

bool commit_bare(struct store *s)
{
    struct record_pos at;
    int code;

    s->commit.bare = room_place(s, 0, true, &at, &code) != NULL;
    if (s->commit.bare)
        commit_kick(s);
    return s->commit.bare;
}

/* --- on the worker -------------------------------------------------------------------------- */

/* A new file, or one that was made ahead and gets its name now. */
static int make_file(struct image *im, struct extent *x)
{
    char name[32], from[32];

    segment_name(name, x->number);
    if (x->file == NULL)
        return segment_file(im->io, name, x->size, &x->file, &im->error);
    spare_name(x->blank_id, from);
    /* The length is synced before a header that names it: else a power cut could leave a file
     * that looks cut off. */
    int rc = x->grown ? im->io->sync(im->io, x->file, &im->error) : 0;
    if (rc != 0) {
        im->sync_failed = true;
        return rc;
    }
    x->grown = false;
    rc = im->io->rename(im->io, from, name, &im->error);
    x->blank = rc != 0;
    return rc;
}

static int make_segment(struct image *im, struct extent *x)
{
    uint8_t page[SEGMENT_PAGE];
    int rc = x->file == NULL || x->blank ? make_file(im, x) : 0;

    if (rc != 0)
        return rc;
    segment_page_encode(page, x->version, im->id, x->number, x->size, im->now_ns);
    rc = im->io->pwrite(im->io, x->file, page, sizeof page, 0, &im->error);
    if (rc == 0)
        x->made = true;
    return rc;
}

void commit_finish(struct image *im)
{
    if (!im->finished)
        for (size_t i = 0; i < im->extents; i++)
            record_finish(im->buf.ptr + im->extent[i].at, im->extent[i].len, im->extent[i].key,
                          im->extent[i].offset, &im->chain, im->seal);
    im->finished = true;
}

int commit_spread(struct image *im)
{
    int rc = 0;

    for (size_t i = 0; i < im->extents && rc == 0; i++) {
        const struct extent *x = &im->extent[i];
        if (x->len > 0)
            rc =
                im->io->pwrite(im->io, x->file, im->buf.ptr + x->at, x->len, x->offset, &im->error);
    }
    return rc;
}

/* A file keeps its descriptor until its bytes are synced.  Stores that each hold one and wait for
 * another would wait for ever. */
static int sync_written(struct image *im, int shortage)
{
    struct mf_error e;

    for (size_t i = 0; i < im->extents; i++) {
        const struct extent *x = &im->extent[i];
        int rc = x->file == NULL || x->blank ? 0 : im->io->sync(im->io, x->file, &e);
        if (rc != 0 && !store_io_untried(rc)) {
            im->sync_failed = true;
            im->error = e;
            return rc;
        }
    }
    return shortage;
}

static int write_extents(struct image *im)
{
    int rc = 0;

    for (size_t i = 0; i < im->extents && rc == 0; i++) {
        struct extent *x = &im->extent[i];
        if (x->len == 0)
            continue; /* opened for a record that was refused */
        if (!x->made) {
            rc = make_segment(im, x);
            im->named = true;
        }
        if (rc == 0)
            rc =
                im->io->pwrite(im->io, x->file, im->buf.ptr + x->at, x->len, x->offset, &im->error);
    }
    if (rc == MF_AGAIN && im->sync)
        return sync_written(im, rc);
    if (rc != 0 || !im->sync)
        return rc;
    for (size_t i = 0; i < im->extents && rc == 0; i++)
        if (im->extent[i].len > 0)
            rc = im->io->sync(im->io, im->extent[i].file, &im->error);
    im->sync_failed = rc != 0;
    if (rc == 0 && im->named) {
        rc = im->io->syncdir(im->io, &im->error);
        im->sync_failed = rc != 0 && !store_io_untried(rc);
        im->named = rc != 0;
    }
    return rc;
}

/* Overwrites from the end to the beginning: at no time a part of the group looks complete. */
static void withdraw_group(struct image *im)
{
    bool changed = false;

    im->status = im->journal == NULL ? 0 : journal_void_group(im->journal, im->id, im, &im->error);
    for (size_t i = im->extents; i-- > 0;) {
        struct extent *x = &im->extent[i];
        if (x->len == 0 || x->file == NULL || x->blank)
            continue; /* no part of it is in the log */
        int rc = wipe_range(im->io, x->file, x->offset, x->offset + x->len, &changed, &im->error);
        if (rc == 0 && changed)
            rc = im->io->sync(im->io, x->file, &im->error);
        im->status = im->status == 0 ? rc : im->status;
    }
}

void commit_work(void *arg)
{
    struct image *im = arg;

    if (im->withdraw) {
        withdraw_group(im);
        return;
    }
    commit_finish(im);
    im->sync_failed = false;
    im->status = write_extents(im);
}

/* --- done ----------------------------------------------------------------------------------- */

void store_fail(struct store *s, int code, const char *text)
{
    if (s->failed != 0)
        return;
    s->failed = code;
    snprintf(s->error, sizeof s->error, "%s", text);
    log_error("store %s: %s: read-only from here on; what was acknowledged is safe. Mend the disk, "
              "then restart the server",
              s->name, s->error);
}

/* Files that the worker made now belong to their segments. */
static void adopt_files(struct store *s)
{
    struct image *im = &s->commit.image;

    for (size_t i = 0; i < im->extents; i++) {
        struct segment *seg = segs_get(s, im->extent[i].number);
        if (im->extent[i].len == 0)
            continue;
        seg->file = im->extent[i].file;
        seg->blank = im->extent[i].blank;
        seg->grown = im->extent[i].grown;
        seg->dirty = seg->dirty || !im->sync || im->journal != NULL;
    }
}

static void apply_removed(struct store *s, struct range r)
{
    if (s->purge.ix != NULL && r.first <= s->purge.upto)
        purge_hide(s, r);
    for (uint32_t id = index_next(s->ix, r.first); id != INDEX_NONE;
         id = index_next(s->ix, r.first)) {
        uint64_t seq = index_seq(s->ix, id);
        if (seq > r.last || seq > s->log.committed_seq)
            return;
        r.first = seq + 1;
        if (index_removing(s->ix, id))
            removing_done(s, id);
    }
}

/* Copies count from now on.  The removal of a message that was removed meanwhile lies behind the
 * copy. */
static void apply_moved(struct store *s, const struct moved *m)
{
    bool old = s->purge.ix != NULL && m->seq <= s->purge.upto;
    struct index *ix = old ? s->purge.ix : s->ix;
    uint32_t id = index_find(ix, m->seq);
    struct segment *from = segs_of(s, m->from), *to = segs_of(s, m->to);

    if (id == INDEX_NONE || index_place(ix, id) != m->from || from == NULL)
        return;
    uint64_t len = view_entry_bytes_in(s, ix, id);
    index_set_place(ix, id, m->to);
    if (old) {
        from->purged_count--;
        from->purged_bytes -= len;
        to->purged_count++;
        to->purged_bytes += len;
    }
    from->live_count--;
    from->live_bytes -= len;
    to->live_count++;
    to->live_bytes += len;
}

static void commit_apply(struct store *s)
{
    struct image *im = &s->commit.image;

    totals_add(&s->view.all, im->added);
    if (im->buf.len > 0) {
        s->log.committed_seq = im->last_seq;
        s->log.committed = im->end;
        s->log.chain = im->chain;
        if (im->sync)
            s->log.synced = im->end;
        s->stats.groups++;
        s->stats.syncs += im->sync;
        s->stats.bytes_written += im->buf.len;
        s->check.since += im->buf.len;
    }
    if (im->purge)
        purge_apply(s);
    for (size_t i = 0; i < im->moves; i++)
        apply_moved(s, &im->moved[i]);
    for (size_t i = 0; i < im->removed.count; i++)
        apply_removed(s, im->removed.at[i]);
    for (size_t i = 0; i < im->expired.count; i++)
        if (ranges_add(&s->view.hidden_ranges, im->expired.at[i].first, im->expired.at[i].last) !=
            0)
            apply_removed(s, im->expired.at[i]); /* no memory to put it off */
    hidden_free(s);
}

/* Empties the image; memory of an ordinary size is kept. */
static void image_reset(struct image *im)
{
    if (im->buf.cap > BUF_KEEP)
        mf_buf_fini(&im->buf);
    mf_buf_clear(&im->buf);
    if (im->removed.cap > RANGES_KEEP)
        ranges_fini(&im->removed);
    if (im->expired.cap > RANGES_KEEP)
        ranges_fini(&im->expired);
    im->removed.count = im->expired.count = 0;
    im->extents = im->moves = 0;
    im->added = (struct totals){0};
    im->new_keys = 0;
    im->finished = im->purge = im->named = false;
    im->journal = NULL;
}

static const char *name_shortage(int code)
{
    return code == MF_NOMEM ? "memory" : code == MF_AGAIN ? "descriptor" : "space";
}

/* A shortage is temporary, and writing a group again changes nothing.  Never retried after a
 * failed sync. */
static bool commit_again(struct store *s)
{
    if (!store_io_is_shortage(s->commit.image.status) || s->commit.image.sync_failed)
        return false;
    if (!s->log.full)
        log_error("store %s: no %s to write a commit group, waiting for some (%s)", s->name,
                  name_shortage(s->commit.image.status), s->commit.image.error.text);
    s->log.full = s->commit.retrying = true;
    if (s->close.begun)
        return false; /* its waiters are refused */
    s->commit.retry_armed = true;
    loop_timer_arm(s->commit.retry_timer, loop_mono_ns(s->loop) + RETRY_NS);
    return true;
}

static void commit_resume(struct store *s)
{
    log_info("store %s: the commit group that waited is written", s->name);
    s->log.full = s->commit.retrying = false; /* the spare reports it if there is no space */
    if (s->hooks.resumed != NULL)
        s->hooks.resumed(s->hooks.resumed_arg);
}

void commit_retry(void *arg)
{
    struct store *s = arg;

    s->commit.retry_armed = false;
    loop_timer_stop(s->commit.retry_timer);
    loop_job_submit(s->commit.job);
}

/* The group failed for good.  False: the worker overwrites the written part, and commit_done()
 * follows once more. */
static bool commit_withdrawn(struct store *s)
{
    struct image *im = &s->commit.image;

    if (im->withdraw) {
        im->withdraw = false;
        if (im->status != 0)
            log_error("store %s: refused messages may exist after a restart: %s", s->name,
                      im->error.text);
        return true;
    }
    store_fail(s, im->status, im->error.text);
    im->withdraw = true;
    loop_job_submit(s->commit.job);
    return false;
}

void commit_done(void *arg) /* back on the loop */
{
    struct store *s = mf_container(arg, struct store, commit.image);
    bool failed = s->commit.image.status != 0 || s->commit.image.withdraw;
    int status = failed ? MF_READONLY : 0;
    struct mf_list done;

    adopt_files(s);
    if (failed && ((!s->commit.image.withdraw && commit_again(s)) || !commit_withdrawn(s)))
        return;
    mf_list_init(&done);
    mf_list_move(&done, &s->commit.in_flight);
    if (status == 0) {
        if (s->commit.retrying)
            commit_resume(s);
        struct record_pos before = s->log.committed;
        uint32_t chain = s->log.chain;
        commit_apply(s);
        erase_committed(s, before, chain);
    } else {
        mf_list_move(&done, &s->commit.waiting);
    }
    if (s->o.gather && s->commit.image.sync && !s->close.begun && status == 0)
        gather_done(&s->commit.gather, loop_mono_ns(s->loop));
    image_reset(&s->commit.image);
    s->commit.running = false;
    if (gather_ready(&s->commit.gather, loop_mono_ns(s->loop)))
        commit_start(s); /* the disk works while waiters are called */
    else if (s->commit.filling.buf.len > 0 || s->commit.bare || !mf_list_empty(&s->commit.waiting))
        commit_kick(s);
    commit_answer(&done, status);
    store_progress(s);
}

bool commit_barrier(struct store *s, struct store_wait *w)
{
    if (s->commit.filling.buf.len > 0 || s->commit.bare || !mf_list_empty(&s->commit.waiting)) {
        write_add_wait(s, w);
        commit_kick(s);
        return true;
    }
    if (s->commit.running) {
        mf_list_push(&s->commit.in_flight, &w->node);
        return true;
    }
    return false;
}

/* --- relaxed mode: a sync now and then ------------------------------------------------------ */

void commit_sync(void *arg)
{
    struct store *s = arg;
    struct image *im = &s->sync.image;

    bool whole = true;

    if (s->sync.running || s->failed != 0)
        return;
    im->extents = 0;
    for (size_t i = 0; i < s->segs.count; i++) {
        struct segment *seg = s->segs.at[s->segs.head + i];
        if (!seg->dirty || seg->file == NULL || clean_reclaims(s, seg))
            continue;
        if (image_extent(im, (struct extent){.file = seg->file, .number = seg->number}) != 0) {
            whole = false; /* the next sync covers the rest */
            break;
        }
        seg->dirty = false;
        seg->readers++;
    }
    s->sync.upto = whole ? s->log.committed : s->log.synced;
    s->sync.running = true;
    im->io = s->io;
    loop_job_submit(s->sync.job);
}

void commit_sync_work(void *arg)
{
    struct image *im = arg;

    im->status = 0;
    for (size_t i = 0; i < im->extents && im->status == 0; i++)
        im->status = im->io->sync(im->io, im->extent[i].file, &im->error);
    if (im->status == 0)
        im->status = im->io->syncdir(im->io, &im->error);
}

void commit_sync_done(void *arg)
{
    struct store *s = mf_container(arg, struct store, sync.image);

    s->sync.running = false;
    for (size_t i = 0; i < s->sync.image.extents; i++)
        segs_get(s, s->sync.image.extent[i].number)->readers--;
    if (s->sync.image.status != 0) {
        store_fail(s, s->sync.image.status, s->sync.image.error.text);
    } else {
        if (record_pos_cmp(s->log.synced, s->sync.upto) < 0) /* the journal may be ahead */
            s->log.synced = s->sync.upto;
        s->stats.syncs++;
    }
    if (s->o.sync == STORE_SYNC_INTERVAL && !s->close.begun)
        loop_timer_arm(s->sync.timer, loop_mono_ns(s->loop) + s->o.sync_interval_ns);
    store_progress(s);
}
