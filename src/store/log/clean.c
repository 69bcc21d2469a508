/* clean.c: the cleaner: reclaims the first segment (docs/disk-format.md).
 *
 * Happy path: a first segment without live data is reclaimed, or one with little live data when
 * more than half of the log is dead.  A worker reads it piece by piece; copies of live messages
 * are appended like all writes; the cleaner waits until they are committed.  Then it waits once
 * more for all that was accepted, and renames the file to be the next spare, or unlinks it.
 * Failure: without room for copies the cleaner tries again later.  After a file could not be
 * renamed or unlinked it stops until the next start, except after a shortage.  Messages that
 * cannot be read are reported and removed, and the file is kept as *.damaged.
 * Close: at the end of the step that runs. */
#include "store/store_impl.h"

#include "base/clock.h"
#include "base/lend.h"
#include "base/log.h"
#define RETRY_NS (CLOCK_S / 2)

#include <stdio.h>
#include <stdlib.h>

#define SLICE  (256u << 10)
#define MARGIN 2048u /* of the room kept on a full disk: for time marks and the commits between */

static void clean_next(struct store *s);

/* --- whether -------------------------------------------------------------------------------- */

/* True if reclaiming is cheap, because little is live; or due, because more than half of the log
 * is dead; or wanted, because it is not encrypted and the store is. */
static bool wants_reclaim(const struct store *s)
{
    const struct segment *first = segs_first(s);
    uint64_t used = 0, live = 0;

    for (size_t i = 0; i + 1 < s->segs.count; i++) {
        const struct segment *seg = s->segs.at[s->segs.head + i];
        used += seg->end - SEGMENT_PAGE;
        live += segment_live(seg);
    }
    /* Its copies are sealed, and need room for that. */
    uint64_t boxes = clean_is_plain(s, first) ? SEAL_ROOM * (first->live_count + first->blobs) : 0;
    /* On a full disk only segments that can surely be reclaimed whole: copies that do not fit
     * would use up the room kept for removals and gain nothing. */
    if (s->log.full)
        return used > live + first->size / 2 &&
               room_left(s, segment_live(first) + boxes + 8 * first->live_count + MARGIN, true);
    return clean_is_plain(s, first) || 4 * segment_live(first) < first->end - SEGMENT_PAGE ||
           used > 2 * live + 2 * segs_current(s)->size;
}

/* A log of one segment, large and nearly dead: continue in a small one, so that this one can be
 * reclaimed. */
static bool has_outgrown(struct store *s)
{
    const struct segment *now = segs_current(s);
    uint64_t used = now->end - SEGMENT_PAGE;
    int64_t quick_until = segs_quick_until(s);

    if (s->segs.count != 1 || !store_idle(s) || used <= 4 * store_live(s) + SEGMENT_PAGE)
        return false;
    /* A log that fills fast may fill again at once; but without writes nothing would wake the
     * cleaner. */
    if (quick_until != 0)
        loop_timer_arm(s->clean.later, quick_until + 1);
    return now->size > 4 * segs_next_size(s, 0);
}

static void clean_later(void *arg)
{
    struct store *s = arg;

    loop_timer_stop(s->clean.later);
    s->clean.waits = false;
    store_progress(s);
}

static bool is_held(const struct store *s, const struct segment *first)
{
    return first->readers > 0 || first->erasing > 0 || first->number >= s->log.committed.segment ||
           (s->check.stage != CHECK_IDLE && first->number >= s->check.head.start.segment) ||
           (s->scrub.busy && first->number >= s->scrub.number);
}

bool clean_reclaims(const struct store *s, const struct segment *seg)
{
    return s->clean.stage == CLEAN_RECLAIM && s->clean.number == seg->number;
}

void clean_kick(struct store *s)
{
    struct cleaner *c = &s->clean;
    struct segment *first = segs_first(s);

    if (c->stage == CLEAN_SYNC) {
        if (record_pos_cmp(s->log.synced, c->need) >= 0)
            clean_next(s);
        else
            commit_sync(s); /* another sync was at work, which had begun before */
        return;
    }
    /* Copies are not committed yet: messages read now would be copied twice. */
    if (s->commit.filling.moves + s->commit.image.moves > 0)
        return;
    if (c->stage != CLEAN_IDLE || c->stuck || c->waits || s->close.begun || s->failed != 0 ||
        s->commit.retrying)
        return;
    if (has_outgrown(s)) {
        spare_trim(s); /* or the log would continue in that one */
        room_roll(s);
    }
    if (s->segs.count < 2 || is_held(s, first))
        return;
    c->number = first->number;
    c->file = first->file;
    c->key = first->key;
    c->offset = SEGMENT_PAGE;
    c->end = first->end;
    c->quarantine = c->lost = false;
    c->kept_room = s->log.full; /* wants_reclaim() looks whether it is enough */
    if (first->live_count == 0 && first->blobs == 0)
        c->offset = c->end;
    else if (!wants_reclaim(s))
        return;
    c->stage = CLEAN_COPIED;
    clean_next(s);
}

/* --- copying -------------------------------------------------------------------------------- */

static void read_work(void *arg) /* on a worker */
{
    struct cleaner *c = arg;

    c->status = c->io->pread(c->io, c->file, c->buf, c->len, c->offset, &c->error);
}

/* 0; MF_NOTFOUND: the record is not needed. */
static int copy_message(struct store *s, const struct record *r, uint64_t offset)
{
    uint32_t id = index_find(s->ix, r->seq);
    uint64_t from = id == INDEX_NONE ? 0 : index_place(s->ix, id);
    struct record copy = *r;
    struct record_pos at;
    int rc;

    if (id == INDEX_NONE || !view_accepted(s, id) || place_offset(from) != offset ||
        segs_of(s, from) != segs_first(s))
        return MF_NOTFOUND;
    if (record_is_bare(r) && segs_first(s)->version >= SEGMENT_CRYPT)
        return MF_NOTFOUND; /* no reader takes it: it is dropped as lost */
    size_t len = record_len(r), size = r->size;
    if (r->cipher == SEAL_NONE) { /* a sealed one moves as it is */
        copy.cipher = store_cipher(s);
        size += store_box(s);
    }
    uint8_t *p = write_open(s, size, s->clean.kept_room, &at, &rc);
    if (p == NULL)
        return rc;
    uint64_t to = place_make(at.segment, at.offset, len, r->flags);
    if ((rc = image_moved(&s->commit.filling, r->seq, from, to)) != 0)
        return rc;
    copy.type = RECORD_COPY;
    copy.deadline_ns = index_deadline(s->ix, id);
    copy.flags = (r->flags & (uint16_t)~STORE_BITS) | index_bits(s->ix, id);
    record_encode(p, &copy);
    write_close(s, p, size);
    segs_first(s)->copied = true;
    s->stats.copied_bytes += size;
    return 0;
}

/* Copies every whole record in the piece and moves the offset behind it.  Not 0: call again
 * later. */
static int copy_slice(struct store *s)
{
    struct cleaner *c = &s->clean;
    size_t at = 0;
    struct record r;
    int rc = 0;

    while (at < c->len && rc == 0) {
        if (!record_read(c->buf + at, c->len - at, c->key, c->offset + at, &r)) {
            /* Cut off by the end of the slice, or damaged: then the next good one is looked for. */
            uint64_t need = c->len - at < RECORD_START ? RECORD_START : get_u32(c->buf + at + 4);
            bool cut = c->offset + c->len < c->end && need > c->len - at &&
                       c->offset + at + need <= c->end;
            if (cut && at > 0)
                break;
            if (cut && record_pad(need) > c->len) {
                c->cap = record_pad(need); /* a larger slice */
                return 0;
            }
            at += 8;
            continue;
        }
        if (r.type == RECORD_MESSAGE || r.type == RECORD_COPY)
            rc = copy_message(s, &r, c->offset + at);
        if (rc == MF_NOTFOUND)
            rc = 0;
        if (rc == 0)
            at += r.size;
    }
    c->offset += at > c->len ? c->len : at;
    return rc;
}

static void clean_pause(struct store *s)
{
    s->clean.stage = CLEAN_IDLE;
    free(s->clean.buf);
    s->clean.buf = NULL;
    s->clean.cap = 0;
}

static void clean_committed(struct store_wait *w, int status)
{
    struct store *s = mf_container(w, struct store, clean.wait);

    if (status != 0) {
        clean_pause(s);
        return;
    }
    clean_next(s);
}

static void wait_commit(struct store *s)
{
    s->clean.wait.done = clean_committed;
    if (!commit_barrier(s, &s->clean.wait))
        clean_next(s);
}

static void clean_put_off(struct store *s)
{
    if (s->close.begun)
        return;
    s->clean.waits = true;
    loop_timer_arm(s->clean.later, loop_mono_ns(s->loop) + RETRY_NS);
}

/* A shortage passes; any other error of the disk ends the cleaning. */
static void clean_failed(struct store *s, const char *what)
{
    struct cleaner *c = &s->clean;

    if (store_io_is_shortage(c->status)) {
        clean_put_off(s);
        return;
    }
    log_error("store %s: %s: %s: disk space is not freed until the next start", s->name, what,
              c->error.text);
    c->stuck = true;
}

static void read_done(void *arg)
{
    struct store *s = mf_container(arg, struct store, clean);

    segs_get(s, s->clean.number)->readers--;
    bool ends = s->clean.status != 0 || s->close.begun || s->failed != 0;
    if (ends || copy_slice(s) != 0) {
        clean_pause(s);
        if (s->clean.status != 0)
            clean_failed(s, "clean");
        else if (!ends && !s->log.full) /* a full store has its own way back */
            clean_put_off(s);
        store_progress(s);
        return;
    }
    s->clean.stage = CLEAN_COPIED;
    wait_commit(s);
}

static void read_start(struct store *s)
{
    struct cleaner *c = &s->clean;
    size_t want = c->cap > SLICE ? c->cap : SLICE;
    uint8_t *buf = realloc(c->buf, want);

    if (buf == NULL) {
        clean_pause(s);
        return;
    }
    c->buf = buf;
    c->cap = 0; /* larger once only */
    c->len = c->end - c->offset < want ? c->end - c->offset : want;
    c->stage = CLEAN_READ;
    c->io = s->io;
    segs_get(s, c->number)->readers++;
    loop_job_submit(c->read_job);
}

/* --- what could not be copied --------------------------------------------------------------- */

static void lost_report(struct store *s, uint32_t id)
{
    struct store_damage d = {.offset = place_offset(index_place(s->ix, id)),
                             .length = record_message_size(view_entry_bytes_in(s, s->ix, id), 0, 0),
                             .first_seq = index_seq(s->ix, id),
                             .last_seq = index_seq(s->ix, id),
                             .what = "the message cannot be read"};

    segment_name(d.file, s->clean.number);
    (void)damage_add(s, &d);
}

static bool is_readable(struct store *s, uint32_t id)
{
    struct store_rec rec;

    return store_peek(s, index_seq(s->ix, id), &rec) == 0;
}

/* Only after damage: visits every message. */
static int drop_lost(struct store *s)
{
    int rc = 0;

    for (uint32_t id = index_next(s->ix, 0); id != INDEX_NONE && rc == 0;) {
        uint64_t seq = index_seq(s->ix, id);
        if (view_accepted(s, id) && segs_of(s, index_place(s->ix, id)) == segs_first(s)) {
            if (is_readable(s, id))
                return MF_INVAL; /* then it is not lost, and something else is wrong */
            lost_report(s, id);
            rc = store_remove(s, seq, NULL);
        }
        id = index_next(s->ix, seq + 1);
    }
    return rc;
}

/* --- giving it up --------------------------------------------------------------------------- */

static void reclaim_work(void *arg) /* on a worker */
{
    struct cleaner *c = arg;
    char name[32];

    segment_name(name, c->number);
    if (c->to[0] != '\0')
        c->status = c->io->rename(c->io, name, c->to, &c->error);
    else
        c->status = c->io->unlink(c->io, name, &c->error);
    if (c->status == MF_NOTFOUND)
        c->status = 0; /* a missing one */
    c->sync_failed = false;
    if (c->status == 0) {
        c->status = c->io->syncdir(c->io, &c->error);
        c->sync_failed = c->status != 0 && !store_io_untried(c->status);
    }
    if (c->status == 0 && c->file != NULL && !c->to_spare) {
        c->io->close(c->io, c->file); /* here, because the file system frees the space now */
        c->file = NULL;
    }
}

static void reclaim_done(void *arg)
{
    struct store *s = mf_container(arg, struct store, clean);
    struct cleaner *c = &s->clean;
    struct segment *seg = segs_first(s);

    clean_pause(s);
    seg->file = c->file;
    if (c->status != 0) {
        if (c->sync_failed)
            store_fail(s, c->status, c->error.text);
        clean_failed(s, "give up a segment");
        if (c->to_spare)
            s->spare.busy = false;
        store_progress(s);
        return;
    }
    if (c->quarantine)
        log_error("store %s: a segment with damaged messages was kept as %s", s->name, c->to);
    if (c->to_spare) {
        s->spare.busy = false;
        spare_offer(s, seg->file, seg->size);
        seg->file = NULL;
    }
    segs_drop_first(s);
    spare_again(s);
    s->stats.segments_freed++;
    store_progress(s);
}

static void reclaim_start(struct store *s)
{
    struct cleaner *c = &s->clean;
    struct segment *seg = segs_first(s);
    char name[32];

    if (is_held(s, seg)) { /* a read of it began meanwhile: continue when it ends */
        clean_pause(s);
        return;
    }
    c->stage = CLEAN_RECLAIM;
    c->io = s->io;
    c->to[0] = '\0';
    /* A file with messages that live on as copies is not reused: should one of them be erased,
     * nothing of it may be left there. */
    c->to_spare = !c->quarantine && !seg->copied && !clean_is_plain(s, seg) && !s->spare.ready &&
                  !s->spare.busy && seg->file != NULL && seg->size >= segs_next_size(s, 0) &&
                  seg->size <= 4 * segs_next_size(s, 0);
    if (c->to_spare) {
        s->spare.busy = true;
        s->spare.id = ++s->segs.blanks;
        spare_name(s->spare.id, c->to);
    } else if (c->quarantine) {
        segment_name(name, c->number);
        snprintf(c->to, sizeof c->to, "%.16s.damaged", name);
    }
    lend_idle();
    if (seg->map != NULL)
        s->io->unmap(s->io, seg->map, seg->size);
    seg->map = NULL;
    c->file = seg->file;
    seg->file = NULL; /* nothing is read from it any more */
    loop_job_submit(c->reclaim_job);
}

/* --- the order of it ------------------------------------------------------------------------ */

static void clean_emptied(struct store *s)
{
    struct segment *seg = segs_get(s, s->clean.number);

    /* Hidden messages that are still in the index, or a purge: they are not lost, only not
     * subtracted yet. */
    if (seg->live_count > 0 && (s->view.hidden_ranges.count > 0 || s->purge.ix != NULL)) {
        clean_pause(s);
        return;
    }
    if (seg->live_count > 0 && !s->clean.lost && drop_lost(s) == 0) {
        s->clean.lost = true;
        s->clean.quarantine = !seg->missing;
        wait_commit(s);
        return;
    }
    if (seg->live_count > 0 || seg->blobs > 0) {
        log_error("store %s: segment %llu still has %llu messages and %u blobs after they were "
                  "copied: disk space is not freed until the next start",
                  s->name, (unsigned long long)seg->number, (unsigned long long)seg->live_count,
                  seg->blobs);
        s->clean.stuck = true; /* never reclaim live data */
        clean_pause(s);
        return;
    }
    /* First a commit names the next segment as the first: otherwise the missing file would count
     * as damage. */
    s->log.first_segment = s->clean.number + 1;
    if (!commit_bare(s)) {
        s->log.first_segment = s->clean.number;
        clean_pause(s);
        return;
    }
    s->clean.stage = CLEAN_FIRST;
    wait_commit(s);
}

static void reclaim_when_committed(struct store *s)
{
    if (s->o.sync != STORE_SYNC_INTERVAL) {
        reclaim_start(s);
        return;
    }
    s->clean.stage = CLEAN_SYNC;
    s->clean.need = s->log.committed;
    commit_sync(s);
}

static void clean_next(struct store *s)
{
    struct cleaner *c = &s->clean;
    struct segment *seg = segs_get(s, c->number);

    if (s->close.begun || s->failed != 0) {
        clean_pause(s);
        return;
    }
    if (c->stage == CLEAN_EMPTY) {
        clean_emptied(s);
        return;
    }
    if (c->stage == CLEAN_FIRST) {
        reclaim_when_committed(s);
        return;
    }
    if (c->stage == CLEAN_SYNC) {
        reclaim_start(s);
        return;
    }
    if (c->offset < c->end && seg->live_count > 0 && !seg->missing) {
        read_start(s);
        return;
    }
    if (seg->blobs > 0 && blob_move(s, c->number) != 0) {
        clean_pause(s);
        return;
    }
    c->stage = CLEAN_EMPTY;
    wait_commit(s);
}

int clean_init(struct store *s)
{
    s->clean.read_job = loop_job_new(s->loop, LOOP_UPKEEP, read_work, read_done, &s->clean);
    s->clean.reclaim_job =
        loop_job_new(s->loop, LOOP_UPKEEP, reclaim_work, reclaim_done, &s->clean);
    s->clean.later = loop_timer_new(s->loop, clean_later, s);
    return s->clean.read_job == NULL || s->clean.reclaim_job == NULL || s->clean.later == NULL
               ? MF_NOMEM
               : 0;
}

void clean_fini(struct store *s)
{
    loop_job_free(s->clean.read_job);
    loop_job_free(s->clean.reclaim_job);
    loop_timer_free(s->clean.later);
    free(s->clean.buf);
}
