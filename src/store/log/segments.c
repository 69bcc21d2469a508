/* segments.c: the files of the log, and the spare file for the next segment.
 *
 * Happy path: spare_kick() > prepare_work(), on a worker, one piece after the other, so that
 * commits find the disk free in between > prepare_done().  A new segment uses the file (room.c),
 * and the commit renames it (commit.c).
 * Failure: without space, smaller files are tried.  A file smaller than segment_min is for removals
 * alone: with it, or with none, the store is full until a retry succeeds.  After any other error
 * there is no spare, and the next segment meets the error itself.
 * Close: a running piece is waited for, the file unlinked. */
#include "store/store_impl.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define SLICE      (1u << 20)
#define RETRY_NS   (CLOCK_S / 2)
#define QUICKLY_NS (2 * CLOCK_S) /* a segment filled faster than this: the next is larger */

/* --- by number ------------------------------------------------------------------------------ */

struct segment *segs_first(const struct store *s)
{
    return s->segs.at[s->segs.head];
}

struct segment *segs_current(const struct store *s)
{
    return s->segs.at[s->segs.head + s->segs.count - 1];
}

struct segment *segs_get(const struct store *s, uint64_t number)
{
    if (s->segs.count == 0 || number < segs_first(s)->number)
        return NULL;
    uint64_t i = number - segs_first(s)->number;
    return i < s->segs.count ? s->segs.at[s->segs.head + i] : NULL;
}

struct segment *segs_of(const struct store *s, uint64_t place)
{
    uint64_t first = segs_first(s)->number;

    /* The place has the low 18 bits; there are never more segments than that. */
    return segs_get(s, first + ((place_segment(place) - first) & 0x3FFFF));
}

static int segs_room(struct segments *g)
{
    if (g->head + g->count < g->cap)
        return 0;
    if (g->head > g->cap / 2) {
        memmove(g->at, g->at + g->head, g->count * sizeof *g->at);
        g->head = 0;
        return 0;
    }
    return mf_array_reserve(&g->at, &g->cap, g->head + g->count + 1, sizeof *g->at);
}

int segs_prepare(struct store *s)
{
    if (s->segs.kept == NULL)
        s->segs.kept = calloc(1, sizeof *s->segs.kept);
    return s->segs.kept == NULL ? MF_NOMEM : segs_room(&s->segs);
}

struct segment *segs_add(struct store *s, uint64_t number, uint64_t size)
{
    struct segment *seg = s->segs.kept;

    s->segs.kept = NULL;
    seg->number = number;
    seg->size = size;
    seg->key = record_key(s->id, number);
    seg->version = s->log.needs > SEGMENT_PLAIN ? s->log.needs : SEGMENT_PLAIN;
    seg->end = SEGMENT_PAGE;
    seg->opened_mono_ns = s->loop == NULL ? 0 : loop_mono_ns(s->loop);
    s->segs.at[s->segs.head + s->segs.count++] = seg;
    return seg;
}

static void segment_free(struct store *s, struct segment *seg)
{
    if (seg->map != NULL)
        s->io->unmap(s->io, seg->map, seg->size);
    if (seg->file != NULL)
        s->io->close(s->io, seg->file);
    free(seg->seen);
    free(seg);
}

void segs_drop_first(struct store *s)
{
    segment_free(s, segs_first(s));
    s->segs.head++;
    s->segs.count--;
}

void segs_fini(struct store *s)
{
    while (s->segs.count > 0)
        segs_drop_first(s);
    free(s->segs.at);
    free(s->segs.kept);
    s->segs = (struct segments){0};
}

/* --- sizes ---------------------------------------------------------------------------------- */

static uint64_t pow2_at_least(uint64_t n)
{
    uint64_t p = SEGMENT_PAGE;
    while (p < n)
        p *= 2;
    return p;
}

/* About an eighth of what is alive, so that a small store is small on disk and a large one has few
 * files; a log that is written fast gets larger ones, in steps of four. */
int64_t segs_quick_until(const struct store *s)
{
    const struct segment *now = s->segs.count == 0 ? NULL : segs_current(s);
    bool quick = now != NULL && s->loop != NULL && now->end > now->size / 2 &&
                 loop_mono_ns(s->loop) - now->opened_mono_ns < QUICKLY_NS;

    return quick ? now->opened_mono_ns + QUICKLY_NS : 0;
}

uint64_t segs_next_size(const struct store *s, size_t need)
{
    const struct segment *now = s->segs.count == 0 ? NULL : segs_current(s);
    uint64_t size = pow2_at_least(store_live(s) / 8);

    if (segs_quick_until(s) != 0 && size < 4 * now->size)
        size = 4 * now->size;
    if (size > s->o.segment_max)
        size = s->o.segment_max;
    if (size < s->o.segment_min)
        size = s->o.segment_min;
    uint64_t least = pow2_at_least(need + SEGMENT_PAGE + SEGMENT_TAIL);
    return size < least ? least : size;
}

uint64_t segs_smaller(uint64_t size, uint64_t least)
{
    uint64_t quarter = size / 4 / SEGMENT_PAGE * SEGMENT_PAGE;

    return size <= least ? 0 : quarter < least ? least : quarter;
}

/* An eighth of what is free, so that one log that is written fast leaves space for others. */
uint64_t segs_modest(const struct store *s, uint64_t size)
{
    uint64_t space = s->io->space == NULL ? 0 : s->io->space(s->io);

    while (space > 0 && size > space / 8 && size > s->o.segment_min)
        size = segs_smaller(size, s->o.segment_min);
    return size;
}

/* --- the spare ------------------------------------------------------------------------------ */

void spare_name(uint32_t id, char dst[32])
{
    snprintf(dst, 32, "spare-%u.tmp", id);
}

int segment_space(struct store_io *io, struct store_file *f, uint64_t size, struct mf_error *e)
{
    return io->allocate != NULL ? io->allocate(io, f, size, e) : io->truncate(io, f, size, e);
}

int segment_file(struct store_io *io, const char *name, uint64_t size, struct store_file **out,
                 struct mf_error *e)
{
    int rc = io->open(io, name, true, out, e);

    if (rc == MF_EXISTS && io->unlink(io, name, e) == 0)
        rc = io->open(io, name, true, out, e); /* left by an attempt before */
    if (rc != 0) {
        *out = NULL;
        return rc;
    }
    if ((rc = segment_space(io, *out, size, e)) != 0) {
        io->close(io, *out);
        *out = NULL;
        (void)io->unlink(io, name, NULL); /* it may hold a part of the space */
    }
    return rc;
}

static void spare_later(struct store *s)
{
    s->spare.later = !s->close.begun;
    if (!s->close.begun)
        loop_timer_arm(s->spare.retry, loop_mono_ns(s->loop) + RETRY_NS);
}

void spare_lacks_space(struct store *s, const struct mf_error *e)
{
    if (!s->log.full)
        log_error("store %s: no %s for the next segment: messages are refused until there is "
                  "(%s)",
                  s->name, e->code == MF_AGAIN ? "descriptor" : "space", e->text);
    s->log.full = true;
    if (!s->spare.busy)
        spare_later(s);
}

static void spare_suffices(struct store *s)
{
    if (s->log.full)
        log_info("store %s: there is space again", s->name);
    s->log.full = false;
}

static void drop_work(struct store *s)
{
    char name[32];

    spare_name(s->spare.id, name);
    s->io->close(s->io, s->spare.file);
    s->spare.status = s->io->unlink(s->io, name, &s->spare.error);
}

static void drop_done(struct store *s)
{
    struct spare *p = &s->spare;

    if (p->status != 0)
        log_warn("store %s: %s", s->name, p->error.text); /* deleted at the next open */
    p->file = NULL;
    p->busy = p->dropping = false;
    store_progress(s);
}

/* A new file with its space: p->got is p->size, or of the largest smaller size that the disk has.
 */
static int prepare_file(struct store *s) /* on a worker */
{
    struct spare *p = &s->spare;
    char name[32];

    spare_name(p->id, name);
    for (uint64_t size = p->size; size != 0; size = segs_smaller(size, SEGMENT_TINY)) {
        p->got = size;
        p->status = segment_file(s->io, name, size, &p->file, &p->error);
        if (p->status != MF_FULL)
            break;
    }
    return p->status;
}

static void prepare_work(void *arg) /* on a worker */
{
    struct store *s = arg;
    struct spare *p = &s->spare;
    static const uint8_t zeros[SLICE];

    if (p->dropping) {
        drop_work(s);
        return;
    }
    p->status = 0;
    if (p->file == NULL && prepare_file(s) != 0)
        return;
    if (s->o.sync != STORE_SYNC_ALWAYS) {
        /* Nobody waits for a sync here: reserving the space is enough. */
        p->written = p->got;
        return;
    }
    size_t n = p->got - p->written < SLICE ? (size_t)(p->got - p->written) : SLICE;
    p->status = s->io->pwrite(s->io, p->file, zeros, n, p->written, &p->error);
    if (p->status == 0)
        p->status = s->io->sync(s->io, p->file, &p->error);
    if (p->status == 0)
        p->written += n;
}

static void spare_drop(struct store *s)
{
    struct spare *p = &s->spare;
    struct mf_error e;
    char name[32];

    if (p->file != NULL) {
        s->io->close(s->io, p->file);
        spare_name(p->id, name);
        if (s->io->unlink(s->io, name, &e) != 0)
            log_warn("store %s: %s", s->name, e.text); /* deleted at the next open */
    }
    p->file = NULL;
    p->ready = false;
    p->size = p->written = 0;
}

static void prepare_start(struct store *s, uint64_t size)
{
    struct spare *p = &s->spare;

    p->size = size;
    p->written = 0;
    p->grown = false;
    p->busy = true;
    p->id = ++s->segs.blanks;
    loop_job_submit(p->job);
}

static void prepare_done(void *arg)
{
    struct store *s = arg;
    struct spare *p = &s->spare;

    if (p->dropping) {
        drop_done(s);
        return;
    }
    p->busy = p->allocated = false;
    p->size = p->got;
    if (p->status == MF_FULL && p->file != NULL && p->size > SEGMENT_TINY && !s->close.begun) {
        /* No space was reserved with the file's size: a smaller one may do. */
        uint64_t size = segs_smaller(p->size, SEGMENT_TINY);
        spare_drop(s);
        prepare_start(s, size);
        return;
    }
    if (p->status != 0) {
        spare_drop(s);
        bool lacks = p->status == MF_FULL || p->status == MF_AGAIN;
        if (lacks && s->segs.ahead.file == NULL) {
            spare_lacks_space(s, &p->error);
        } else if (!lacks) {
            log_warn("store %s: prepare a segment: %s", s->name, p->error.text);
            s->log.full = s->commit.retrying; /* unknown: room.c finds out */
        }
        spare_later(s);
    } else if (p->written < p->size) {
        if (s->close.begun) {
            spare_drop(s);
        } else {
            p->busy = true;
            p->allocated = s->io->allocate != NULL;
            loop_job_submit(p->job);
            return;
        }
    } else {
        p->ready = true;
        if (p->size < s->o.segment_min)
            spare_lacks_space(s, &p->error);
        else
            spare_suffices(s);
    }
    store_progress(s);
}

static bool spare_wanted(const struct store *s)
{
    const struct segment *now = segs_current(s);

    return s->log.full || now->end > now->size / 2;
}

/* On a worker, because the file system frees its space then: milliseconds for a large one. */
void spare_trim(struct store *s)
{
    struct spare *p = &s->spare;

    if (!p->ready || p->busy || p->size <= 4 * segs_next_size(s, 0))
        return;
    p->ready = false;
    p->busy = p->dropping = true;
    p->size = p->written = 0;
    loop_job_submit(p->job);
}

void spare_kick(struct store *s)
{
    struct spare *p = &s->spare;

    if (s->segs.ahead.file != NULL && !p->busy && !p->ready) { /* one is there already */
        p->id = s->segs.ahead.id;
        spare_offer(s, s->segs.ahead.file, s->segs.ahead.size);
        p->grown = s->segs.ahead.grown;
        s->segs.ahead = (struct blank){0};
    }
    /* Much larger than is wanted by now: give the space back. */
    if (!spare_wanted(s))
        spare_trim(s);
    if (p->busy || p->later || s->close.begun || s->failed != 0 || !spare_wanted(s))
        return;
    if (p->ready && s->log.full && p->size < s->o.segment_min)
        spare_drop(s); /* a tiny one: there may be space for more by now */
    if (p->ready)
        return;
    prepare_start(s, segs_modest(s, segs_next_size(s, 0)));
}

void spare_again(struct store *s)
{
    loop_timer_stop(s->spare.retry);
    s->spare.later = false;
}

static void spare_retry(void *arg)
{
    spare_again(arg);
    spare_kick(arg);
}

/* The caller has renamed the file to the spare's name. */
void spare_offer(struct store *s, struct store_file *f, uint64_t size)
{
    struct spare *p = &s->spare;

    p->file = f;
    p->size = p->written = size;
    p->grown = false;
    p->ready = true;
    spare_suffices(s);
}

int spare_init(struct store *s)
{
    s->spare.job = loop_job_new(s->loop, LOOP_UPKEEP, prepare_work, prepare_done, s);
    s->spare.retry = loop_timer_new(s->loop, spare_retry, s);
    return s->spare.job == NULL || s->spare.retry == NULL ? MF_NOMEM : 0;
}

void spare_fini(struct store *s)
{
    if (s->spare.file != NULL) {
        if (s->close.committed)
            spare_drop(s);
        else
            s->io->close(s->io, s->spare.file); /* abandoned: the next open deletes it */
    }
    loop_job_free(s->spare.job);
    loop_timer_free(s->spare.retry);
}
