/* patrol.c: see store_patrol.h.
 *
 * Happy path: timer_fired() chooses the next piece of the store at the head of the ring > a worker
 * reads and checks it record by record > slice_done() notes where to continue, and the timer is
 * set for the next piece.  After the end of a store the next one follows.
 * Damage: where a piece holds anything but a valid record in chain, the whole segment is read and
 * walked over (scrub.c), which finds where the damage begins and ends.  Then the store counts the
 * messages in it, writes its blobs of that segment again and makes a checkpoint.  A message
 * without its data is damage if the index still has it there; the index does not have erased
 * messages.
 * Close: a store leaves at once, or when the piece that is being read is done. */
#include "store/store_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "store/store_patrol.h"

#include <stdlib.h>

#define SLICE      (1u << 20)
#define WAKES      64u             /* in a period, at least: new stores are noticed */
#define FIRST_NS   (60 * CLOCK_S)  /* after a start, at most: a server may be restarted often */
#define YIELD_NS   (50 * CLOCK_MS) /* while its store commits */
#define YIELDS_MAX 40u
#define HEAD_MAX   80u /* bytes of the longest fixed part */

struct store_patrol {
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_job *job;
    struct mf_list ring; /* store.patrolled.node; the head is the one at work */
    size_t count;
    uint64_t slices; /* of all stores, when they were visited last */
    int64_t period_ns;
    bool busy, begun, visiting; /* visiting: the head of the ring, from `number` and `offset` on */
    unsigned yields;
    size_t left; /* stores of this round */
    struct store_patrol_stats stats;

    /* The slice.  The worker's while busy. */
    struct store *s;
    uint64_t number, offset;
    uint8_t *buf;
    size_t cap;
    uint64_t want;     /* bytes of a message that is longer than a slice; else 0 */
    uint64_t seq;      /* the last sequence before this segment */
    uint64_t next;     /* offset of the slice after this one; 0: the segment is done */
    uint64_t read;     /* bytes */
    bool whole;        /* the segment is walked over as a whole */
    struct scrubber c; /* the segment, its chain, what was found */
};

/* --- on the worker ---------------------------------------------------------------------------- */

static int read_aside(struct scrubber *c, void *dst, size_t n, uint64_t off)
{
    struct mf_error e;

    if (c->file == NULL)
        return MF_IO;
    if (c->io->pread_aside != NULL)
        return c->io->pread_aside(c->io, c->file, dst, n, off, &e);
    return c->io->pread(c->io, c->file, dst, n, off, &e);
}

static int reserve_buffer(struct store_patrol *p, uint64_t n)
{
    uint8_t *buf;

    if (n <= p->cap)
        return 0;
    buf = realloc(p->buf, n);
    if (buf == NULL)
        return MF_NOMEM;
    p->buf = buf;
    p->cap = n;
    return 0;
}

/* Checks the record at `at` of the piece, of which `have` bytes were read.  1: valid, 0: more
 * bytes are needed (*need), -1: not valid. */
static int check_record(struct store_patrol *p, uint64_t at, uint64_t have, struct record *r,
                        uint64_t *need)
{
    struct scrubber *c = &p->c;
    uint64_t offset = p->offset + at, room = c->limit - offset;
    bool whole;

    *need = HEAD_MAX < room ? HEAD_MAX : room;
    if (have - at < *need)
        return 0;
    if (!record_read_head(p->buf + at, room, c->key, offset, r) ||
        (c->chain_known && r->chain != c->chain))
        return -1;
    *need = r->size;
    if (have - at < r->size)
        return 0;
    whole = record_read_data(p->buf + at, c->key, offset, r);
    if (!whole && r->type != RECORD_MESSAGE && r->type != RECORD_COPY)
        return -1;
    if (!whole)
        scrub_hollow(c, offset, r);
    c->chain = r->check;
    c->chain_known = true;
    return 1;
}

static void check_slice(struct store_patrol *p, uint64_t have)
{
    struct scrubber *c = &p->c;
    struct record r;
    uint64_t at = 0, need = 0;
    int ok = 1;

    while (p->offset + at < c->limit && (ok = check_record(p, at, have, &r, &need)) > 0) {
        at += r.size;
        if (r.type == RECORD_MESSAGE)
            c->seq = r.seq;
        if (r.type == RECORD_SEAL) {
            p->next = 0;
            return;
        }
    }
    p->next = p->offset + at;
    if (ok < 0 || (p->next == c->limit && !c->last))
        p->whole = true; /* damage, or no seal */
    else if (p->next == c->limit)
        p->next = 0;
    else if (at == 0)
        p->want = need; /* with more bytes, next time */
}

static void read_slice(struct store_patrol *p)
{
    struct scrubber *c = &p->c;
    uint64_t n = c->limit - p->offset;

    if (reserve_buffer(p, p->want > SLICE ? p->want : SLICE) != 0) {
        c->status = MF_NOMEM;
        return;
    }
    n = n < p->cap ? n : p->cap;
    c->status = read_aside(c, p->buf, n, p->offset);
    if (store_io_is_shortage(c->status))
        return;
    p->read += n;
    p->want = 0;
    if (c->status != 0) {
        c->status = 0;
        p->whole = true;
        return;
    }
    check_slice(p, n);
}

static void slice_work(void *arg)
{
    struct store_patrol *p = arg;
    struct scrubber *c = &p->c;
    uint8_t page[SEGMENT_PAGE];

    c->status = 0;
    p->read = 0;
    p->next = p->offset;
    if (p->whole) {
        c->hollows = 0;
        c->seq = p->seq;
        scrub_whole(c, read_aside);
        p->next = 0;
        return;
    }
    if (p->offset == SEGMENT_PAGE) {
        c->status = read_aside(c, page, sizeof page, 0);
        if (store_io_is_shortage(c->status))
            return;
        p->whole = c->status != 0 || !scrub_page_ok(c, page);
        c->status = 0;
    }
    if (!p->whole)
        read_slice(p);
}

/* --- on the loop ------------------------------------------------------------------------------ */

static struct store *head_of(const struct store_patrol *p)
{
    struct mf_list *n = mf_list_first(&p->ring);

    return n == NULL ? NULL : mf_container(n, struct store, patrolled.node);
}

static void arm_timer(struct store_patrol *p)
{
    uint64_t steps = p->slices > WAKES ? p->slices : WAKES;
    int64_t gap_ns = p->period_ns / (int64_t)steps;

    if (!p->begun && gap_ns > FIRST_NS)
        gap_ns = FIRST_NS;
    if (p->period_ns > 0 && p->count > 0 && !p->busy)
        loop_timer_arm(p->timer, loop_mono_ns(p->loop) + gap_ns);
}

static void count_slices(struct store_patrol *p, struct store *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->segs.count; i++)
        n += 1 + s->segs.at[s->segs.head + i]->end / SLICE;
    p->slices += n - s->patrolled.slices;
    s->patrolled.slices = n;
}

static void visit_store(struct store_patrol *p, struct store *s)
{
    p->visiting = true;
    p->want = 0;
    p->number = segs_first(s)->number;
    p->offset = SEGMENT_PAGE;
    p->c.chain_known = false;
    p->c.seq = 0;
    count_slices(p, s);
}

/* After a start: anywhere. */
static void begin_round(struct store_patrol *p)
{
    struct store *s;

    p->begun = true;
    for (uint32_t n = rand_below((uint32_t)p->count); n > 0; n--)
        mf_list_push(&p->ring, mf_list_pop(&p->ring));
    p->left = p->count;
    s = head_of(p);
    visit_store(p, s);
    p->number += rand_below((uint32_t)s->segs.count);
}

static void end_visit(struct store_patrol *p)
{
    p->visiting = false;
    mf_list_push(&p->ring, mf_list_pop(&p->ring));
    if (p->left > 1) {
        p->left--;
        return;
    }
    p->left = p->count;
    p->stats.rounds++;
    p->stats.round_end_ns = clock_wall_ns();
}

/* The segment to read next; NULL: none is left in this store. */
static struct segment *next_segment(struct store_patrol *p, struct store *s)
{
    for (;; p->number++, p->offset = SEGMENT_PAGE) {
        struct segment *seg = segs_first(s);

        if (p->number < seg->number) { /* reclaimed meanwhile */
            p->number = seg->number;
            p->offset = SEGMENT_PAGE;
            p->c.chain_known = false;
        }
        if (p->number > s->log.committed.segment)
            return NULL;
        seg = segs_get(s, p->number);
        if (seg->file == NULL || clean_reclaims(s, seg)) {
            p->c.chain_known = false;
            continue;
        }
        if (p->number < s->log.committed.segment || s->log.committed.offset > SEGMENT_PAGE)
            return seg;
    }
}

static void read_next(struct store_patrol *p, struct store *s, struct segment *seg)
{
    struct scrubber *c = &p->c;

    c->number = p->number;
    c->last = p->number == s->log.committed.segment;
    c->limit = c->last ? s->log.committed.offset : seg->size;
    c->size = seg->size;
    c->key = seg->key;
    c->io = s->io;
    c->file = seg->file;
    c->count = 0;
    if (p->offset == SEGMENT_PAGE)
        p->seq = c->seq;
    seg->readers++;
    s->patrolled.busy = p->busy = true;
    p->s = s;
    loop_job_submit(p->job);
}

static void timer_fired(void *arg)
{
    struct store_patrol *p = arg;
    struct store *s = head_of(p);
    struct segment *seg = NULL;

    if (s == NULL || p->busy || p->period_ns <= 0)
        return;
    if (!p->begun) {
        begin_round(p);
        s = head_of(p);
    }
    if (!p->visiting)
        visit_store(p, s);
    if (s->commit.running && p->yields++ < YIELDS_MAX) {
        loop_timer_arm(p->timer, loop_mono_ns(p->loop) + YIELD_NS);
        return;
    }
    p->yields = 0;
    seg = s->failed == 0 ? next_segment(p, s) : NULL;
    if (seg == NULL) {
        end_visit(p);
        arm_timer(p);
        return;
    }
    read_next(p, s, seg);
}

/* A message without its data: damage, if it is still there. */
static void judge_hollows(struct store_patrol *p, struct store *s)
{
    for (size_t i = 0; i < p->c.hollows; i++) {
        const struct hollow *h = &p->c.hollow[i];
        uint32_t id = index_find(s->ix, h->seq);
        struct store_damage d = {.offset = h->offset,
                                 .length = h->length,
                                 .first_seq = h->seq,
                                 .last_seq = h->seq,
                                 .what = "the message cannot be read"};

        if (id == INDEX_NONE || place_offset(index_place(s->ix, id)) != h->offset ||
            place_segment(index_place(s->ix, id)) != (h->segment & 0x3FFFF))
            continue;
        segment_name(d.file, h->segment);
        p->stats.damaged += damage_add(s, &d);
    }
    p->c.hollows = 0;
}

static void checkpoint_saved(struct store_wait *w, int status)
{
    struct store *s = mf_container(w, struct store, patrolled.saved);

    s->patrolled.saving = false;
    if (status != 0 && !s->close.begun)
        log_warn("store %s: no checkpoint after damage: %s", s->name, mf_err_text(status));
}

/* The index and the blobs have the data of a damaged stretch: they are written again elsewhere.
 * Blobs from a checkpoint count for the first segment. */
static void save_damaged(struct store *s, uint64_t number)
{
    if (blob_move(s, number) != 0 || blob_move(s, segs_first(s)->number) != 0)
        log_warn("store %s: small values in the damage could not be written again", s->name);
    if (s->patrolled.saving)
        return;
    s->patrolled.saved.done = checkpoint_saved;
    s->patrolled.saving = store_checkpoint(s, &s->patrolled.saved) == 0;
}

static void add_damage(struct store_patrol *p, struct store *s)
{
    uint64_t before = p->stats.damaged;

    for (size_t i = 0; i < p->c.count; i++)
        p->stats.damaged += damage_add(s, &p->c.found[i]);
    if (p->stats.damaged == before || s->close.begun || s->failed != 0)
        return;
    damage_count(s);
    save_damaged(s, p->c.number);
}

static void slice_done(void *arg)
{
    struct store_patrol *p = arg;
    struct store *s = p->s;
    struct scrubber *c = &p->c;

    segs_get(s, c->number)->readers--;
    s->patrolled.busy = p->busy = false;
    p->s = NULL;
    p->stats.bytes += p->read;
    judge_hollows(p, s);
    if (p->next == 0 && c->status == 0 && p->whole)
        add_damage(p, s);
    if (c->status != 0 || s != head_of(p)) {
        p->whole = false; /* a shortage, or the store leaves: the same slice, or another store */
        p->visiting = s == head_of(p) && p->visiting;
    } else if (p->next == 0) {
        p->whole = false;
        p->want = 0;
        p->number++;
        p->offset = SEGMENT_PAGE;
    } else if (!p->whole) {
        p->offset = p->next;
    }
    if (p->cap > SLICE) { /* it was for one long message */
        free(p->buf);
        p->buf = NULL;
        p->cap = 0;
    }
    store_progress(s);
    arm_timer(p);
}

/* --- coming and going ------------------------------------------------------------------------- */

void patrol_join(struct store *s)
{
    struct store_patrol *p = s->o.patrol;

    if (p == NULL)
        return;
    mf_list_push(&p->ring, &s->patrolled.node);
    s->patrolled.slices = 1;
    p->slices++;
    if (p->count++ == 0)
        arm_timer(p);
}

void patrol_leave(struct store *s)
{
    struct store_patrol *p = s->o.patrol;

    if (p == NULL || mf_list_empty(&s->patrolled.node))
        return;
    p->visiting = p->visiting && s != head_of(p);
    mf_list_del(&s->patrolled.node);
    p->slices -= s->patrolled.slices;
    p->left -= p->left > 0 && p->left == p->count;
    p->count--;
}

struct store_patrol *store_patrol_new(struct loop *l)
{
    struct store_patrol *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->loop = l;
    mf_list_init(&p->ring);
    p->timer = loop_timer_new(l, timer_fired, p);
    p->job = loop_job_new(l, LOOP_UPKEEP, slice_work, slice_done, p);
    if (p->timer != NULL && p->job != NULL)
        return p;
    store_patrol_free(p);
    return NULL;
}

void store_patrol_free(struct store_patrol *p)
{
    if (p == NULL)
        return;
    loop_timer_free(p->timer);
    if (p->job != NULL)
        loop_job_free(p->job);
    free(p->c.found);
    free(p->c.hollow);
    free(p->buf);
    free(p);
}

void store_patrol_period(struct store_patrol *p, int64_t ns)
{
    if (ns == p->period_ns)
        return; /* a reload must not put off the next slice */
    p->period_ns = ns;
    loop_timer_stop(p->timer);
    arm_timer(p);
}

void store_patrol_stats(const struct store_patrol *p, struct store_patrol_stats *out)
{
    *out = p->stats;
}
