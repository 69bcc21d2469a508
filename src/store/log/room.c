/* room.c: where the next record is written.  Nothing is accepted that has no room on disk yet.
 *
 * Happy path: the record fits into the current segment, whose space was allocated when it was made;
 * or into the spare, which becomes the next segment (segments.c).  Where there is no spare (a burst
 * that is faster than its preparation, a start) and the disk has plenty, the commit makes the file.
 * Where it is nearly full, the file is made here, on the loop: the only way to know before the
 * record is accepted whether there is space.  An accepted group without space would delay all later
 * groups, also the removals that would make room.
 *
 * The end of a segment is kept for removals: other records get there only when the next one is on
 * disk, too, or on its way with its space allocated.
 *
 * Failure: no space, or no descriptor: the record is refused, and messages until a spare can be
 * made.  Any other error: the commit makes the file, and finds out by itself.  Memory storage has
 * no disk to fill. */
#include "store/store_impl.h"

#include "base/array.h"
#include "base/log.h"

#include <stdlib.h>

/* Space of a new segment beside the message it was made for: a purge always fits. */
#define SLACK  4096u
#define PLENTY ((uint64_t)1 << 30)

/* n may be 0: a commit alone. */
static bool fits_segment(const struct segment *seg, size_t n)
{
    return seg->size >= seg->end + n + SEGMENT_TAIL;
}

/* The same, and its version knows all that the log holds. */
static bool accepts_records(const struct store *s, const struct segment *seg, size_t n)
{
    return seg->version >= s->log.needs && fits_segment(seg, n);
}

/* The part of a segment that only records which free space may use. */
static uint64_t reserve_of(const struct segment *seg)
{
    return seg->size / (seg->size <= 1u << 20 ? 2 : 4);
}

/* The least size of a segment for n bytes of records, in whole pages. */
static uint64_t least_size(size_t n)
{
    return (n + SEGMENT_PAGE + SEGMENT_TAIL + SEGMENT_PAGE - 1) / SEGMENT_PAGE * SEGMENT_PAGE;
}

/* The next segment is there, and large enough. */
static bool next_fits(const struct store *s, size_t n)
{
    uint64_t size = s->segs.ahead.file != NULL ? s->segs.ahead.size
                    : s->spare.ready           ? s->spare.size
                                               : 0;

    return size >= n + SEGMENT_PAGE + SEGMENT_TAIL;
}

bool room_left(const struct store *s, size_t need, bool frees)
{
    const struct segment *now = segs_current(s);

    if (s->commit.retrying)
        return false; /* nothing gets past the group that waits for space */
    if (!s->log.full)
        return true;
    return frees ? accepts_records(s, now, need) || next_fits(s, need)
                 : accepts_records(s, now, need + reserve_of(now));
}

/* So much space that even many stores cannot use it up within a turn of the loop. */
static bool has_plenty(const struct store *s, uint64_t size)
{
    return s->io->space != NULL && s->io->space(s->io) > PLENTY + 16 * size;
}

/* --- files made on the loop ----------------------------------------------------------------- */

static int blank_make(struct store *s, struct blank *b, uint64_t size, struct mf_error *e)
{
    char name[32];
    int rc = 0;

    if (b->file == NULL) {
        b->size = 0;
        b->id = ++s->segs.blanks;
        spare_name(b->id, name);
        rc = segment_file(s->io, name, size, &b->file, e);
    } else {
        b->grown = true;
        rc = segment_space(s->io, b->file, size, e);
        if (rc != 0 && s->io->truncate(s->io, b->file, b->size, NULL) != 0)
            rc = MF_IO; /* as large as it was, or a little larger */
    }
    if (rc == 0)
        b->size = size;
    return rc;
}

/* Messages are refused until it is over. */
static bool is_shortage(int code)
{
    return code == MF_FULL || code == MF_AGAIN;
}

/* As blank_make(); of the largest smaller size where there is no space, but not below least. */
static int blank_make_some(struct store *s, struct blank *b, uint64_t size, uint64_t least,
                           struct mf_error *e)
{
    int rc = MF_FULL;

    if (least < s->o.segment_min)
        least = s->o.segment_min;
    if (size < least)
        size = least;
    for (; rc == MF_FULL && size != 0; size = segs_smaller(size, least))
        rc = blank_make(s, b, size, e);
    return rc;
}

/* A new file, or a larger one; false: there is no space. */
static bool next_make(struct store *s, size_t n)
{
    struct spare *p = &s->spare;
    struct mf_error e;

    if (s->segs.ahead.file == NULL && has_plenty(s, segs_next_size(s, n))) {
        s->segs.made_blind = segs_current(s)->number + 1;
        return true;
    }
    if (s->segs.ahead.file == NULL && p->ready && !p->busy) { /* too small: it grows */
        s->segs.ahead =
            (struct blank){.file = p->file, .size = p->size, .id = p->id, .grown = p->grown};
        p->file = NULL;
        p->ready = false;
        p->size = 0;
    }
    bool had = s->segs.ahead.file != NULL;
    int rc =
        blank_make_some(s, &s->segs.ahead, segs_modest(s, segs_next_size(s, n)), least_size(n), &e);
    if (is_shortage(rc) && !had && !p->allocated)
        spare_lacks_space(s, &e);
    else if (rc != 0 && !is_shortage(rc))
        s->segs.made_blind = segs_current(s)->number + 1;
    return !is_shortage(rc);
}

/* The file that is there for the next segment; none: the commit makes one. */
static struct blank next_take(struct store *s, size_t need)
{
    struct blank b = {.size = segs_next_size(s, need)};
    struct spare *p = &s->spare;

    if (!next_fits(s, need))
        return b;
    if (s->segs.ahead.file != NULL) {
        b = s->segs.ahead;
        s->segs.ahead = (struct blank){0};
        return b;
    }
    b = (struct blank){.file = p->file, .size = p->size, .id = p->id, .grown = p->grown};
    p->file = NULL;
    p->ready = false;
    p->size = p->written = 0;
    return b;
}

/* The segment after a seal that ended the log has no file yet. */
static bool here_made(struct store *s)
{
    struct segment *now = segs_current(s);
    struct blank b = {0};
    struct mf_error e;

    if (now->file != NULL || s->segs.made_blind >= now->number)
        return true;
    if (s->spare.ready) { /* nothing was placed here yet: it is as large as that one */
        b = next_take(s, 0);
        now->size = b.size;
        now->file = b.file;
        now->blank = true;
        now->blank_id = b.id;
        now->grown = b.grown;
        return true;
    }
    if (has_plenty(s, now->size)) {
        s->segs.made_blind = now->number;
        return true;
    }
    int rc = blank_make_some(s, &b, now->size, s->o.segment_min, &e);
    if (is_shortage(rc))
        spare_lacks_space(s, &e);
    else if (rc != 0)
        s->segs.made_blind = now->number;
    else
        now->size = b.size; /* nothing was placed here yet */
    now->file = b.file;
    now->blank = b.file != NULL;
    now->blank_id = b.id;
    return !is_shortage(rc);
}

static bool next_made(struct store *s, size_t n)
{
    return next_fits(s, n) || s->segs.made_blind == segs_current(s)->number + 1 || next_make(s, n);
}

bool room_for(struct store *s, size_t n, bool frees)
{
    const struct segment *now = segs_current(s);

    if (!room_left(s, n, frees) || !here_made(s) || !room_left(s, n, frees))
        return false; /* a tiny spare that became this segment may be too small */
    if (accepts_records(s, now, n + (frees ? 0 : reserve_of(now))))
        return true;
    if (s->log.full)
        return true; /* in the next, which is there */
    if (accepts_records(s, now, n))
        return (s->spare.allocated && s->spare.size >= s->o.segment_min) || next_made(s, 0);
    return next_made(s, n + (frees ? 0 : SLACK));
}

/* --- taking it ------------------------------------------------------------------------------ */

/* Memory for what room_place() may need beside the buffer: two extents (the seal's and the next),
 * and a segment.  So that a batch, whose effects are in the index already, always finds its place.
 */
int room_prepare(struct store *s)
{
    struct image *im = &s->commit.filling;

    if (im->extents + 2 > im->extent_cap &&
        mf_array_reserve(&im->extent, &im->extent_cap, im->extents + 2, sizeof *im->extent) != 0)
        return MF_NOMEM;
    if (s->segs.count > 0x3FFFF - 8)
        return MF_LIMIT; /* a place could not tell the segments apart */
    return segs_prepare(s);
}

static void extent_open(struct store *s)
{
    struct image *im = &s->commit.filling;
    const struct segment *seg = segs_current(s);

    if (im->extents > 0 && im->extent[im->extents - 1].number == seg->number)
        return;
    im->extent[im->extents++] = (struct extent){.number = seg->number,
                                                .key = seg->key,
                                                .offset = seg->end,
                                                .size = seg->size,
                                                .version = seg->version,
                                                .at = im->buf.len};
}

void room_used(struct store *s, size_t n)
{
    struct image *im = &s->commit.filling;

    im->buf.len += n;
    im->extent[im->extents - 1].len += n;
    segs_current(s)->end += n;
}

/* Ends the current segment with a seal; its room was kept. */
static void roll_segment(struct store *s, size_t need)
{
    struct segment *old = segs_current(s);
    struct record seal = {.type = RECORD_SEAL, .next_segment = old->number + 1};
    struct blank b = next_take(s, need);

    extent_open(s);
    struct segment *next = segs_add(s, old->number + 1, b.size);
    next->file = b.file;
    next->blank = b.file != NULL;
    next->blank_id = b.id;
    next->grown = b.grown;
    /* The old one is not the current one any more: count the seal by hand. */
    record_encode(s->commit.filling.buf.ptr + s->commit.filling.buf.len, &seal);
    s->commit.filling.buf.len += RECORD_SEAL_SIZE;
    s->commit.filling.extent[s->commit.filling.extents - 1].len += RECORD_SEAL_SIZE;
    old->end += RECORD_SEAL_SIZE;
}

uint8_t *room_place(struct store *s, size_t n, bool frees, struct record_pos *at, int *code)
{
    /* A seal before it, and what ends the group after it. */
    size_t most = RECORD_SEAL_SIZE + n + SEGMENT_TAIL;

    s->commit.filling.buf.failed = false; /* an attempt for each call */
    if (!room_for(s, n, frees)) {
        *code = MF_FULL;
        return NULL;
    }
    if ((*code = room_prepare(s)) != 0)
        return NULL;
    if (mf_buf_reserve(&s->commit.filling.buf, most) == NULL) {
        *code = MF_NOMEM;
        return NULL;
    }
    if (!accepts_records(s, segs_current(s), n))
        roll_segment(s, n);
    extent_open(s);
    *at = (struct record_pos){segs_current(s)->number, segs_current(s)->end};
    return s->commit.filling.buf.ptr + s->commit.filling.buf.len;
}

bool room_roll(struct store *s)
{
    s->commit.filling.buf.failed = false;
    if (s->commit.retrying || !here_made(s) ||
        (s->log.full ? !next_fits(s, 0) : !next_made(s, 0)) || room_prepare(s) != 0 ||
        mf_buf_reserve(&s->commit.filling.buf, RECORD_SEAL_SIZE + SEGMENT_TAIL) == NULL)
        return false;
    roll_segment(s, 0);
    extent_open(s); /* its room, in memory too, was seen to above: from here on nothing fails */
    s->commit.bare = true;
    commit_kick(s);
    return true;
}

void room_fini(struct store *s)
{
    char name[32];

    if (s->segs.ahead.file == NULL)
        return;
    s->io->close(s->io, s->segs.ahead.file);
    spare_name(s->segs.ahead.id, name);
    if (s->close.committed && s->io->unlink(s->io, name, NULL) != 0)
        log_warn("store %s: %s stays until the next start", s->name, name);
    s->segs.ahead = (struct blank){0};
}
