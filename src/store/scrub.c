/* scrub.c: reads all segments once, to find damage before a reader does.
 *
 * Happy path: store_scrub() > segment by segment, a job walks its records (from the mapping, or
 * from a copy it reads) > scrub_done() stores the damage it found > at the end the waiters are
 * called.
 * Failure: a file that cannot be read is reported as damaged as a whole.
 * Close: at the end of the segment that is being read.
 *
 * A message without its data is damage unless an erase record for it follows, in the same segment
 * or a later one.  So such messages are kept to the end. */
#include "store/store_impl.h"

#include "store/log/scan.h"

#include "base/array.h"

#include <stdlib.h>

/* --- on the worker -------------------------------------------------------------------------- */

static void add_damage(struct scrubber *c, uint64_t offset, uint64_t length, uint64_t next_seq,
                       const char *what)
{
    if (mf_array_reserve(&c->found, &c->cap, c->count + 1, sizeof *c->found) != 0) {
        c->status = MF_NOMEM;
        return;
    }
    struct store_damage *d = &c->found[c->count++];
    *d = (struct store_damage){.offset = offset, .length = length, .what = what};
    segment_name(d->file, c->number);
    if (next_seq > c->seq + 1 && c->seq > 0) {
        d->first_seq = c->seq + 1;
        d->last_seq = next_seq - 1;
    }
}

void scrub_hollow(struct scrubber *c, uint64_t offset, const struct record *r)
{
    if (mf_array_reserve(&c->hollow, &c->hollow_cap, c->hollows + 1, sizeof *c->hollow) != 0) {
        c->status = MF_NOMEM;
        return;
    }
    c->hollow[c->hollows++] = (struct hollow){c->number, offset, r->size, r->seq};
}

static void check_page(struct scrubber *c, const uint8_t *base)
{
    struct segment_head h;
    int rc = segment_page_decode(base, &h);

    if (rc != 0)
        add_damage(c, 0, SEGMENT_PAGE, 0, "the header is damaged");
    else if (h.number != c->number) /* a copy that was written to the wrong place */
        add_damage(c, 0, SEGMENT_HEADER, 0, "one copy of the header is damaged");
    else if (h.damaged)
        add_damage(c, h.damaged_at, SEGMENT_HEADER, 0, "one copy of the header is damaged");
}

static void walk_records(struct scrubber *c, const uint8_t *base)
{
    struct scan sc;
    struct record r;
    uint64_t at, hole = 0, hole_end = 0;
    bool broken;
    enum scan_result got;

    scan_init(&sc, base, c->limit, c->key, SEGMENT_PAGE);
    sc.chain = c->chain;
    sc.chain_known = c->chain_known;
    sc.hollows = true;
    while ((got = scan_next(&sc, &r, &at, &broken)) != SCAN_END) {
        if (got == SCAN_STRETCH) {
            if (hole_end > 0)
                add_damage(c, hole, hole_end - hole, 0, "records are damaged");
            hole = at;
            hole_end = sc.offset;
            continue;
        }
        if (got == SCAN_HOLLOW) {
            scan_pass(&sc, &r);
            scrub_hollow(c, at, &r);
        }
        if (r.type == RECORD_ERASE && c->hollows > 0)
            mf_buf_append(&c->erased, &r.seq, sizeof r.seq);
        if (r.type == RECORD_MESSAGE) {
            if (hole_end > 0)
                add_damage(c, hole, hole_end - hole, r.seq, "records are damaged");
            hole_end = 0;
            c->seq = r.seq;
        }
        if (r.type == RECORD_SEAL)
            break;
    }
    if (hole_end > 0)
        add_damage(c, hole, hole_end - hole, 0, "records are damaged");
    c->chain = sc.chain;
    c->chain_known = sc.chain_known;
    if (got == SCAN_END && at < c->limit)
        add_damage(c, at, c->limit - at, 0,
                   c->last ? "records are damaged" : "the seal is missing");
}

bool scrub_page_ok(struct scrubber *c, const uint8_t *page)
{
    struct segment_head h;

    return segment_page_decode(page, &h) == 0 && h.number == c->number && !h.damaged;
}

#define BLOCK 4096u /* what one bad sector makes unreadable, at most */

/* Zeros stand for what cannot be read. */
static int read_around(struct scrubber *c, uint8_t *dst,
                       int (*read)(struct scrubber *c, void *dst, size_t n, uint64_t off))
{
    for (uint64_t at = 0; at < c->limit; at += BLOCK) {
        size_t n = c->limit - at < BLOCK ? (size_t)(c->limit - at) : BLOCK;
        int rc = read(c, dst + at, n, at);

        if (store_io_is_shortage(rc))
            return rc;
        if (rc != 0)
            memset(dst + at, 0, n);
    }
    return 0;
}

void scrub_whole(struct scrubber *c,
                 int (*read)(struct scrubber *c, void *dst, size_t n, uint64_t off))
{
    uint8_t *copy = malloc(c->limit);

    c->status = copy == NULL ? MF_NOMEM : read(c, copy, c->limit, 0);
    if (copy != NULL && c->status != 0 && !store_io_is_shortage(c->status))
        c->status = read_around(c, copy, read);
    if (c->status == 0) {
        c->chain_known = false; /* it is that of the slice, not of the beginning */
        check_page(c, copy);
        walk_records(c, copy);
    }
    free(copy);
}

static void scrub_work(void *arg)
{
    struct scrubber *c = arg;
    uint8_t *copy = NULL;
    struct mf_error e;

    c->status = 0;
    if (c->last && c->limit == SEGMENT_PAGE)
        return; /* nothing is in it yet; it may not even be made */
    if (c->limit < SEGMENT_PAGE) {
        add_damage(c, 0, SEGMENT_PAGE, 0, "the header is damaged");
        c->chain_known = false;
        c->unread = true;
        return;
    }
    if (c->map == NULL) {
        copy = malloc(c->limit);
        if (copy == NULL) {
            c->status = MF_NOMEM;
            return;
        }
        int rc = c->file == NULL ? MF_IO : c->io->pread(c->io, c->file, copy, c->limit, 0, &e);
        if (store_io_is_shortage(rc)) { /* nothing is known of the file */
            c->status = rc;
            free(copy);
            return;
        }
        if (rc != 0) {
            add_damage(c, 0, c->size, 0, "the file cannot be read");
            c->chain_known = false;
            c->unread = true;
            free(copy);
            return;
        }
    }
    check_page(c, copy != NULL ? copy : c->map);
    walk_records(c, copy != NULL ? copy : c->map);
    free(copy);
}

/* --- on the loop ---------------------------------------------------------------------------- */

static void scrub_segment(struct store *s)
{
    struct scrubber *c = &s->scrub;
    struct segment *seg = segs_get(s, c->number);

    c->last = c->number == s->log.committed.segment;
    c->limit = c->last ? s->log.committed.offset : seg->size;
    c->size = seg->size;
    c->key = seg->key;
    c->io = s->io;
    c->file = seg->file;
    if (seg->map == NULL && seg->file != NULL)
        seg->map = s->io->map(s->io, seg->file, seg->size);
    c->map = seg->map;
    c->count = 0;
    seg->readers++;
    loop_job_submit(c->job);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Sequences, in a buffer. */
static bool is_among(const struct mf_buf *sorted, uint64_t seq)
{
    size_t n = sorted->len / sizeof seq;

    return n > 0 && bsearch(&seq, sorted->ptr, n, sizeof seq, by_number) != NULL;
}

static void sort_numbers(struct mf_buf *b)
{
    if (b->len > sizeof(uint64_t))
        qsort(b->ptr, b->len / sizeof(uint64_t), sizeof(uint64_t), by_number);
}

/* Reports messages without data that no erase record explains.  If a file could not be read,
 * erase records may be missing: then only messages that are still in the index count. */
static void report_hollows(struct store *s)
{
    struct scrubber *c = &s->scrub;

    c->unread |= mf_buf_failed(&c->erased) || mf_buf_failed(&c->meanwhile);
    sort_numbers(&c->erased);
    sort_numbers(&c->meanwhile);
    for (size_t i = 0; i < c->hollows; i++) {
        const struct hollow *h = &c->hollow[i];
        struct store_damage d = {.offset = h->offset,
                                 .length = h->length,
                                 .first_seq = h->seq,
                                 .last_seq = h->seq,
                                 .what = "records are damaged"};
        if (is_among(&c->erased, h->seq) || is_among(&c->meanwhile, h->seq) ||
            (c->unread && index_find(s->ix, h->seq) == INDEX_NONE))
            continue;
        segment_name(d.file, h->segment);
        (void)damage_add(s, &d);
    }
}

static void scrub_end(struct store *s, int status)
{
    struct mf_list done;

    if (status == 0 && s->scrub.last) /* else it did not reach the end */
        report_hollows(s);
    free(s->scrub.hollow);
    s->scrub.hollow = NULL;
    s->scrub.hollows = s->scrub.hollow_cap = 0;
    mf_buf_fini(&s->scrub.erased);
    mf_buf_fini(&s->scrub.meanwhile);
    s->scrub.busy = false;
    mf_list_init(&done);
    mf_list_move(&done, &s->scrub.waits);
    commit_answer(&done, status);
    store_progress(s);
}

static void scrub_done(void *arg)
{
    struct store *s = mf_container(arg, struct store, scrub);
    struct scrubber *c = &s->scrub;

    segs_get(s, c->number)->readers--;
    for (size_t i = 0; i < c->count; i++)
        (void)damage_add(s, &c->found[i]);
    if (c->status != 0 || c->last || s->close.begun) {
        scrub_end(s, c->status);
        return;
    }
    c->number++;
    scrub_segment(s);
}

int store_scrub(struct store *s, struct store_wait *w)
{
    struct scrubber *c = &s->scrub;

    if (s->close.begun || s->loop == NULL)
        return MF_CLOSED;
    if (w != NULL && w->done != NULL)
        mf_list_push(&c->waits, &w->node);
    if (c->busy)
        return 0;
    c->busy = true;
    c->unread = false;
    erase_notify_scrub(s);
    c->number = segs_first(s)->number + clean_reclaims(s, segs_first(s));
    c->chain_known = false;
    c->seq = 0;
    scrub_segment(s);
    return 0;
}

int scrub_init(struct store *s)
{
    mf_list_init(&s->scrub.waits);
    s->scrub.job = loop_job_new(s->loop, LOOP_UPKEEP, scrub_work, scrub_done, &s->scrub);
    return s->scrub.job == NULL ? MF_NOMEM : 0;
}

void scrub_fini(struct store *s)
{
    loop_job_free(s->scrub.job);
    free(s->scrub.found);
    free(s->scrub.hollow);
    mf_buf_fini(&s->scrub.erased);
    mf_buf_fini(&s->scrub.meanwhile);
}
