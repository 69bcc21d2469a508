/* store.c: open, attach and close.
 *
 * Open: enter the directory, recover (recover.h), or make the first segment; on any thread.
 * Attach: make the jobs and timers on a loop; from then on the store accepts writes.
 * Close: commit all accepted writes; commit a record that says all is synced; write a checkpoint;
 * free everything and leave the directory. close_step() does the next of these whenever a job
 * ended. */
#include "store/store_impl.h"

#include "base/clock.h"
#include "base/lend.h"
#include "base/log.h"
#include "base/rand.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_TMP "first.tmp"

const char *store_error(const struct store *s)
{
    return s->failed == 0 ? NULL : s->error;
}

bool store_full(const struct store *s)
{
    return s->log.full;
}

size_t store_index_bytes(const struct store *s)
{
    return index_memory(s->ix);
}

void store_stats(const struct store *s, struct store_stats *out)
{
    *out = s->stats;
    out->wheel_entries = index_deadlines(s->ix);
    out->index_bytes = index_memory(s->ix);
    if (s->purge.ix != NULL)
        out->index_bytes += index_memory(s->purge.ix);
}

/* --- open: a new store ---------------------------------------------------------------------- */

static int fresh_bytes(struct store *s, uint64_t size, struct store_file *f, struct mf_error *e)
{
    uint8_t *bytes = calloc(1, size);
    struct record r = {.type = RECORD_COMMIT,
                       .group = 1,
                       .synced = {1, SEGMENT_PAGE},
                       .first_segment = 1,
                       .last_seq = s->log.last_seq};
    uint32_t chain = 0;

    if (bytes == NULL)
        return mf_fail(e, MF_NOMEM, "first segment");
    segment_page_encode(bytes, s->crypt != NULL ? SEGMENT_CRYPT : SEGMENT_PLAIN, s->id, 1, size,
                        s->now_ns);
    record_encode(bytes + SEGMENT_PAGE, &r);
    record_finish(bytes + SEGMENT_PAGE, RECORD_COMMIT_SIZE, record_key(s->id, 1), SEGMENT_PAGE,
                  &chain, NULL);
    int rc = s->io->pwrite(s->io, f, bytes, size, 0, e);
    if (rc == 0 && s->o.sync != STORE_SYNC_NEVER)
        rc = s->io->sync(s->io, f, e);
    free(bytes);
    s->log.chain = chain;
    return rc;
}

/* Made under another name, then renamed: the directory holds a whole store or none. */
static int fresh_make(struct store *s, struct mf_error *e)
{
    uint64_t size = s->o.segment_min;
    struct store_file *f = NULL;
    char name[32];
    int rc = s->io->open(s->io, FIRST_TMP, true, &f, e);

    if (rc != 0)
        return rc;
    segment_name(name, 1);
    s->log.last_seq = s->log.committed_seq = s->o.first_seq - 1;
    if ((rc = fresh_bytes(s, size, f, e)) != 0 ||
        (rc = s->io->rename(s->io, FIRST_TMP, name, e)) != 0 ||
        (rc = s->io->syncdir(s->io, e)) != 0)
        goto err_close;
    if (segs_prepare(s) != 0) {
        rc = mf_fail(e, MF_NOMEM, "first segment");
        goto err_close;
    }
    struct segment *seg = segs_add(s, 1, size);
    seg->file = f;
    seg->end = SEGMENT_PAGE + RECORD_COMMIT_SIZE;
    s->log.group = s->log.first_segment = 1;
    s->log.committed = s->log.synced = (struct record_pos){1, seg->end};
    s->ix = index_new(s->o.separator, s->now_ns);
    return s->ix == NULL ? mf_fail(e, MF_NOMEM, "index") : 0;
err_close:
    s->io->close(s->io, f);
    return rc;
}

/* --- open: what was there ------------------------------------------------------------------- */

static int old_segment(struct store *s, const struct recovered_segment *r, struct mf_error *e)
{
    char name[32];
    struct mf_error why;

    if (segs_prepare(s) != 0)
        return mf_fail(e, MF_NOMEM, "segments");
    struct segment *seg = segs_add(s, r->number, r->size);
    seg->end = r->end;
    seg->live_count = r->live_count;
    seg->live_bytes = r->live_bytes;
    seg->version = r->version;
    if (r->version > SEGMENT_PLAIN && r->version > s->log.needs)
        s->log.needs = r->version;
    seg->copied = s->segs.count == 1; /* the cleaner may have copied from it */
    segment_name(name, r->number);
    int rc = s->io->open(s->io, name, false, &seg->file, &why);
    if (rc != 0)
        seg->file = NULL;
    if (rc != 0 && rc != MF_NOTFOUND) { /* the file exists: its messages must not be lost */
        if (e != NULL)
            *e = why;
        return rc;
    }
    seg->missing = rc != 0; /* recovery has reported it */
    return 0;
}

/* Deletes a segment that was prepared and not used: the log may need another size. */
static void delete_prepared(struct store *s, uint64_t number)
{
    struct mf_error why;
    char name[32];

    segment_name(name, number);
    if (s->io->unlink(s->io, name, &why) != 0)
        log_warn("store %s: %s", s->name, why.text); /* it will be replaced */
}

/* A gap in the numbers is a missing file: keep its number. */
static int old_segments(struct store *s, const struct recovery *r, struct mf_error *e)
{
    uint64_t next = r->segments > 0 ? r->segment[0].number : r->end.segment;
    int rc;

    for (size_t i = 0; i < r->segments; i++, next++) {
        if (r->segment[i].number > r->end.segment) {
            delete_prepared(s, r->segment[i].number);
            continue;
        }
        for (; next < r->segment[i].number; next++) {
            struct recovered_segment gone = {
                .number = next, .size = SEGMENT_PAGE, .end = SEGMENT_PAGE};
            if ((rc = old_segment(s, &gone, e)) != 0)
                return rc;
        }
        if ((rc = old_segment(s, &r->segment[i], e)) != 0)
            return rc;
    }
    /* Appends continue in the segment after a sealed one, or in a first one. */
    while (s->segs.count == 0 || segs_current(s)->number < r->end.segment + r->sealed) {
        uint64_t number = s->segs.count == 0 ? r->end.segment : segs_current(s)->number + 1;
        if (segs_prepare(s) != 0)
            return mf_fail(e, MF_NOMEM, "segments");
        segs_add(s, number, segs_next_size(s, 0));
    }
    s->commit.bare = r->sealed;
    return 0;
}

/* Reads the length of a message from its record, if its place has no room for it. */
static int old_length(struct store *s, uint64_t seq, uint64_t place, struct mf_error *e)
{
    struct segment *seg = segs_of(s, place);
    uint8_t head[RECORD_START + 32]; /* up to its cipher */
    struct mf_error why;
    uint64_t len = PLACE_LEN_MAX;
    int rc = MF_NOTFOUND;

    if (seg != NULL && seg->file != NULL)
        rc = s->io->pread(s->io, seg->file, head, sizeof head, place_offset(place), &why);
    if (store_io_is_shortage(rc))
        return mf_fail(e, rc, "%s", why.text);
    size_t fixed =
        record_fixed(RECORD_MESSAGE) + (rc == 0 && get_u16(head + 46) != 0 ? SEAL_ROOM : 0);
    if (rc == 0 && get_u32(head + 4) > fixed + len && get_u32(head + 4) < seg->size) {
        len = get_u32(head + 4) - fixed;
        seg->live_bytes += len - PLACE_LEN_MAX;
        s->view.all.bytes += len - PLACE_LEN_MAX;
    }
    return lengths_add(s, seq, len) == 0 ? 0 : mf_fail(e, MF_NOMEM, "lengths");
}

static int old_lengths(struct store *s, const struct recovered_sum *sum, struct mf_error *e)
{
    uint64_t left = sum->long_ones;
    int rc = 0;

    s->view.all = (struct totals){.msgs = sum->msgs,
                                  .bytes = sum->bytes,
                                  .flagged = {sum->flagged[0], sum->flagged[1]},
                                  .timed = index_deadlines(s->ix),
                                  .infinite = index_infinite(s->ix),
                                  .pinned = index_pinned(s->ix)};
    for (uint32_t id = index_next(s->ix, 0); left > 0 && id != INDEX_NONE && rc == 0;) {
        uint64_t seq = index_seq(s->ix, id), place = index_place(s->ix, id);
        if (place_len(place) == PLACE_LEN_MAX) {
            rc = old_length(s, seq, place, e);
            left--;
        }
        id = index_next(s->ix, seq + 1);
    }
    return rc;
}

static int old_restore(struct store *s, struct recovery *r, struct mf_error *e)
{
    memcpy(s->id, r->id, STORE_ID);
    s->ix = r->index;
    r->index = NULL;
    s->log.chain = r->chain;
    s->log.group = r->group;
    s->log.last_seq = s->log.committed_seq = r->last_seq;
    s->log.mark = r->mark;
    s->log.clock_ns = r->clock_ns;
    s->check.last_bytes = r->checkpoint_bytes;
    s->stats.recovered_records = r->records;
    s->stats.recovered_from_checkpoint = r->from_checkpoint;
    s->stats.torn_tail = r->torn;
    s->stats.torn = r->torn_at;
    if (r->torn)
        log_warn("store %s: %s at %llu: the last writes before a crash were cut off, %llu bytes; "
                 "none of them was acknowledged",
                 s->name, r->torn_at.file, (unsigned long long)r->torn_at.offset,
                 (unsigned long long)r->torn_at.length);
    for (size_t i = 0; i < r->damages; i++)
        (void)damage_add(s, &r->damage[i]);
    int rc = old_segments(s, r, e);
    if (rc != 0 || (rc = old_lengths(s, &r->sum, e)) != 0)
        return rc;
    /* A missing first segment stays named, until the log has moved on. */
    s->log.first_segment = segs_first(s)->number;
    if (r->first_segment != 0 && r->first_segment < s->log.first_segment)
        s->log.first_segment = r->first_segment;
    const struct segment *now = segs_current(s);
    s->log.committed = s->log.synced = (struct record_pos){now->number, now->end};
    for (size_t i = 0; i < r->blobs; i++)
        if (blob_restore(s, &r->blob[i]) != 0)
            return mf_fail(e, MF_NOMEM, "blobs");
    for (size_t i = 0; i < r->erases; i++)
        if (erase_restore(s, &r->erase[i]) != 0)
            return mf_fail(e, MF_NOMEM, "erased messages");
    return 0;
}

/* --- open ----------------------------------------------------------------------------------- */

/* No segment is larger than a file may be.  largest: UINT64_MAX: no limit. */
static void options_fill(struct store_opts *o, uint64_t largest)
{
    o->first_seq = o->first_seq == 0 ? 1 : o->first_seq;
    o->segment_min = o->segment_min == 0 ? SEGMENT_MIN_DEFAULT : o->segment_min;
    o->segment_max = o->segment_max == 0 ? SEGMENT_MAX_DEFAULT : o->segment_max;
    if (o->segment_max > SEGMENT_MAX)
        o->segment_max = SEGMENT_MAX;
    if (o->segment_max > largest)
        o->segment_max = (uint32_t)(largest / SEGMENT_PAGE * SEGMENT_PAGE);
    if (o->segment_max < 2 * SEGMENT_PAGE)
        o->segment_max = 2 * SEGMENT_PAGE;
    if (o->segment_min < 2 * SEGMENT_PAGE)
        o->segment_min = 2 * SEGMENT_PAGE;
    if (o->segment_min > o->segment_max)
        o->segment_min = o->segment_max;
    /* A whole number of pages. */
    o->segment_min = (o->segment_min + SEGMENT_PAGE - 1) / SEGMENT_PAGE * SEGMENT_PAGE;
    o->pending_max = o->pending_max == 0 ? PENDING_MAX_DEFAULT : o->pending_max;
    o->separator = o->separator == 0 ? '.' : o->separator;
}

static void detach_store(struct store *s)
{
    patrol_leave(s);
    loop_defer_cancel(s->loop, &s->damage.census);
    spare_fini(s);
    room_fini(s);
    clean_fini(s);
    checkpoint_fini(s);
    scrub_fini(s);
    loop_job_free(s->commit.job);
    loop_job_free(s->sync.job);
    loop_job_free(s->erase.job);
    loop_timer_free(s->commit.retry_timer);
    loop_timer_free(s->sync.timer);
    loop_timer_free(s->reads.retry);
    loop_defer_cancel(s->loop, &s->commit.defer);
    loop_defer_cancel(s->loop, &s->close.defer);
}

static void store_free(struct store *s)
{
    share_leave(s, s->close.committed && s->failed == 0);
    image_fini(&s->commit.filling);
    image_fini(&s->commit.image);
    image_fini(&s->sync.image);
    mf_buf_fini(&s->batch.buf);
    free(s->batch.msgs);
    ranges_fini(&s->view.hidden_ranges);
    free(s->view.removing_keys.key);
    free(s->view.removing_keys.count);
    tally_drop_all(s);
    lengths_fini(s);
    blob_fini(s);
    erase_fini(s);
    if (s->loop != NULL)
        detach_store(s);
    opened_fini(&s->opened, s->loop);
    segs_fini(s);
    crypt_free(s->crypt);
    purge_fini(s);
    index_free(s->ix);
    damage_fini(s);
    free(s->name);
    free(s);
}

int store_open(struct store **out, const struct store_opts *o, struct store_io *io,
               struct mf_error *e)
{
    struct store *s = calloc(1, sizeof *s);
    struct recovery r = {0};
    int rc;

    if (s == NULL)
        return mf_fail(e, MF_NOMEM, "store");
    s->o = *o;
    options_fill(&s->o, io->largest != NULL ? io->largest(io) : UINT64_MAX);
    s->io = io;
    s->now_ns = o->now_ns;
    mf_list_init(&s->tally.list);
    mf_list_init(&s->commit.waiting);
    mf_list_init(&s->commit.in_flight);
    mf_list_init(&s->blobs.in_batch);
    mf_list_init(&s->reads.later);
    mf_list_init(&s->patrolled.node);
    mf_list_init(&s->share.node);
    mf_list_init(&s->erase.filling);
    mf_list_init(&s->erase.in_flight);
    mf_list_init(&s->erase.due);
    mf_list_init(&s->erase.working);
    s->name = mf_slice_dup(mf_str(o->name == NULL ? "" : o->name));
    if (s->name == NULL) {
        rc = mf_fail(e, MF_NOMEM, "store");
        goto err_free;
    }
    if ((rc = io->enter(io, e)) != 0)
        goto err_free;
    if ((rc = crypt_load(&s->crypt, io, o->secret, e)) != 0)
        goto err_leave;
    if ((rc = recover(&r, io, s->crypt, s->o.separator, s->now_ns, e)) != 0)
        goto err_leave;
    memcpy(s->id, r.id, STORE_ID);
    s->o.secret = NULL; /* the caller's */
    if ((rc = crypt_settle(s, o->secret, &r, e)) == 0)
        rc = r.fresh ? fresh_make(s, e) : old_restore(s, &r, e);
    recovery_fini(&r);
    if (rc != 0)
        goto err_leave;
    *out = s;
    return 0;
err_leave:
    io->leave(io);
err_free:
    store_free(s);
    mf_wrap(e, "open store %s", o->name == NULL ? "" : o->name);
    return rc;
}

void store_set_sync(struct store *s, enum store_sync sync, int64_t interval_ns)
{
    s->o.sync = sync;
    s->o.sync_interval_ns = interval_ns;
}

int store_attach(struct store *s, struct loop *l, struct mf_error *e)
{
    assert(s->loop == NULL);
    s->loop = l;
    s->commit.job = loop_job_new(l, LOOP_DISK, commit_work, commit_done, &s->commit.image);
    s->sync.job = loop_job_new(l, LOOP_DISK, commit_sync_work, commit_sync_done, &s->sync.image);
    s->commit.retry_timer = loop_timer_new(l, commit_retry, s);
    s->sync.timer = loop_timer_new(l, commit_sync, s);
    s->reads.retry = loop_timer_new(l, read_retry, s);
    if (s->commit.job == NULL || s->sync.job == NULL || s->commit.retry_timer == NULL ||
        s->sync.timer == NULL || s->reads.retry == NULL || spare_init(s) != 0 ||
        clean_init(s) != 0 || checkpoint_init(s) != 0 || scrub_init(s) != 0 || erase_init(s) != 0 ||
        purge_init(s) != 0) {
        detach_store(s);
        s->loop = NULL; /* as before the call: its close has nothing to wait for */
        return mf_fail(e, MF_NOMEM, "attach store %s", s->name);
    }
    segs_current(s)->opened_mono_ns = loop_mono_ns(l);
    if (s->o.sync == STORE_SYNC_INTERVAL)
        loop_timer_arm(s->sync.timer, loop_mono_ns(l) + s->o.sync_interval_ns);
    if (s->commit.bare)
        commit_bare(s); /* so that the segment after the seal begins with a commit */
    if (segs_current(s)->version < SEGMENT_PLAIN || clean_is_plain(s, segs_current(s)))
        room_roll(s); /* so that records that older servers do not know can follow */
    erase_kick(s);
    if (clean_is_plain(s, segs_first(s)) || s->check.plain)
        loop_timer_arm(s->clean.later, loop_mono_ns(l)); /* nothing else may wake the upkeep */
    patrol_join(s);
    return 0;
}

/* --- going on ------------------------------------------------------------------------------- */

static bool jobs_running(const struct store *s)
{
    return s->commit.running || s->sync.running || s->spare.busy || s->clean.stage != CLEAN_IDLE ||
           s->check.stage != CHECK_IDLE || s->scrub.busy || s->reads.count > 0 ||
           s->purge.freeing || s->patrolled.busy || s->erase.stage == ERASE_WIPE;
}

bool store_idle(const struct store *s)
{
    return !jobs_running(s) && s->commit.filling.buf.len == 0 && !s->commit.bare &&
           mf_list_empty(&s->commit.waiting) && s->view.hidden_ranges.count == 0 &&
           !erase_pending(s);
}

static void close_step(struct store *s);

static void notify_ready(struct store *s)
{
    if (!s->log.starved || s->log.full || s->commit.retrying || s->failed != 0 ||
        s->commit.filling.buf.len > s->o.pending_max / 2)
        return;
    s->log.starved = false;
    if (s->o.ready != NULL)
        s->o.ready(s->o.ready_arg);
}

/* A store that failed writes nothing any more: fails all waiters. */
static void refuse_waiting(struct store *s)
{
    struct mf_list refused;

    if (s->failed == 0 || s->commit.running)
        return;
    mf_list_init(&refused);
    mf_list_move(&refused, &s->commit.waiting);
    mf_list_move(&refused, &s->check.next_waits); /* there will be no checkpoint */
    commit_answer(&refused, MF_READONLY);
    erase_refuse(s, MF_READONLY);
}

void store_progress(struct store *s)
{
    refuse_waiting(s);
    if (s->close.begun) {
        close_step(s);
        return;
    }
    spare_kick(s);
    erase_kick(s);
    clean_kick(s);
    checkpoint_kick(s);
    notify_ready(s);
}

/* --- close ---------------------------------------------------------------------------------- */

static void close_now(struct loop_defer *d)
{
    struct store *s = mf_container(d, struct store, close.defer);
    void (*closed)(void *) = s->close.closed;
    void *arg = s->close.closed_arg;
    struct store_io *io = s->io;

    lend_idle();
    if (s->loop != NULL) { /* remaining waiters fail */
        commit_answer(&s->commit.waiting, MF_READONLY);
        commit_answer(&s->check.next_waits, MF_CLOSED);
    }
    store_free(s);
    io->leave(io);
    io->free(io);
    closed(arg);
}

static void close_checkpointed(struct store_wait *w, int status)
{
    (void)w; /* close_step() continues in any case: the log is complete */
    (void)status;
}

static void close_step(struct store *s)
{
    if (s->clean.stage == CLEAN_SYNC)
        s->clean.stage = CLEAN_IDLE; /* nothing will wake it */
    if (jobs_running(s) || s->view.freeing_hidden)
        return;
    if (s->failed == 0 &&
        (s->commit.filling.buf.len > 0 || s->commit.bare || !mf_list_empty(&s->commit.waiting))) {
        commit_start(s);
        return;
    }
    if (s->failed == 0 && erase_pending(s)) {
        erase_kick(s);
        return;
    }
    if (s->failed == 0 && s->close.stage == 0) {
        s->close.stage = 1;
        if (s->o.sync == STORE_SYNC_INTERVAL || share_lives(s)) {
            s->o.sync = STORE_SYNC_ALWAYS;
            commit_sync(s); /* syncs the rest of the relaxed mode, or what is in the journal */
            return;
        }
    }
    if (s->failed == 0 && s->close.stage == 1) {
        s->close.stage = 2;
        s->log.synced = s->log.committed; /* where this last commit record will lie */
        if (commit_bare(s)) {
            commit_start(s);
            return;
        }
    }
    if (s->failed == 0 && s->close.stage == 2 && !s->o.no_checkpoint) {
        s->close.stage = 3;
        s->close.wait.done = close_checkpointed;
        mf_list_push(&s->check.next_waits, &s->close.wait.node);
        checkpoint_kick(s);
        return;
    }
    s->close.committed = true;
    s->close.defer.fn = close_now;
    loop_defer(s->loop, &s->close.defer);
}

void store_close(struct store *s, void (*closed)(void *arg), void *arg)
{
    s->close.closed = closed;
    s->close.closed_arg = arg;
    if (s->loop == NULL) {
        close_now(&s->close.defer);
        return;
    }
    assert(!s->close.begun);
    s->close.begun = true;
    patrol_leave(s);
    loop_timer_stop(s->sync.timer);
    loop_timer_stop(s->spare.retry);
    loop_timer_stop(s->clean.later);
    loop_timer_stop(s->check.later);
    loop_timer_stop(s->reads.retry);
    read_retry(s); /* a last attempt, too */
    if (s->commit.retry_armed)
        commit_retry(s); /* a last attempt */
    close_step(s);
}

void store_abandon(struct store *s)
{
    struct store_io *io = s->io;

    store_free(s);
    io->leave(io);
    io->free(io);
}
