/* recover_end.c: the result of recovery, and its work left to do on disk: the seal of a torn
 * tail, a sync of all that may not be synced yet, leftovers. */
#include "store/recover/recover_impl.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NAMED_MAX 1000 /* missing segments that are named one by one */

/* --- where it ends ---------------------------------------------------------------------------- */

/* A prepared segment that can be used as it is. */
static bool is_prepared(const struct seg *s)
{
    return s->state == SEG_GOOD && s->bytes == s->size && !s->any;
}

static void settle_kept(struct recover *r)
{
    uint64_t number = r->end.segment;
    size_t i;

    r->first_kept = recover_files_at(r, r->pass.first);
    i = recover_files_at(r, number + 1);
    while (i < r->segs && r->seg[i].number == number + 1 && is_prepared(&r->seg[i])) {
        number++;
        i++;
    }
    r->kept = i > r->first_kept ? i - r->first_kept : 0;
}

/* The checkpoint's position is the start of a segment that was never finished, or not even made:
 * the log ends in the one before. */
static bool settle_before(struct recover *r, size_t i, const struct seg *s)
{
    const struct pass *p = &r->pass;

    if (p->cut_type != 0 || p->cut.offset != SEGMENT_PAGE || i == 0 ||
        r->seg[i - 1].number + 1 != p->cut.segment || (s != NULL && is_prepared(s)))
        return false;
    r->end = (struct record_pos){r->seg[i - 1].number, r->seg[i - 1].size};
    r->sealed = true;
    return true;
}

/* True if a header or the checkpoint still has the store's id after everything behind the end is
 * deleted. */
static bool id_stays(const struct recover *r)
{
    for (size_t i = recover_files_at(r, r->pass.first); i < r->segs; i++)
        if (r->seg[i].number <= r->pass.cut.segment && r->seg[i].state <= SEG_HALF)
            return true;
    return r->checkpoint;
}

static void settle_seal(struct recover *r, struct seg *s)
{
    uint64_t at = r->pass.cut.offset, room = s->size - at;

    r->sealed = true;
    r->seal = room >= RECORD_SEAL_SIZE;
    s->end = room >= TIE_SIZE ? at + TIE_SIZE : r->seal ? at + RECORD_SEAL_SIZE : s->size;
    r->end.offset = s->end;
}

static void settle_end(struct recover *r)
{
    struct pass *p = &r->pass;
    size_t i = recover_files_at(r, p->cut.segment);
    struct seg *s = i < r->segs && r->seg[i].number == p->cut.segment ? &r->seg[i] : NULL;

    /* A commit names the first segment before the file below it is deleted: a missing file from
     * there on is damage. */
    if (p->first == 0 || p->first > p->start)
        p->first = p->start;
    r->end = p->cut;
    r->chain = p->cut_chain;
    if (settle_before(r, i, s))
        return;
    r->sealed =
        p->cut_type == RECORD_SEAL || s == NULL || !seg_readable(s) || p->cut.offset >= s->size;
    if (r->sealed)
        return;
    /* A file that lost its end is not written to any more either. */
    if (p->torn || s->bytes < s->size || s->state == SEG_BLIND || !id_stays(r))
        settle_seal(r, s);
}

/* Two facts may stand only in segments that will be deleted: a commit that does not count
 * distinguishes damage from the end (the next recovery would mistake the damage for the end), or
 * a header has the store's id.  Then a new segment records them. */
static int settle_knot(struct recover *r)
{
    struct pass *p = &r->pass;
    uint64_t number = r->end.segment + 1;
    size_t i = recover_files_at(r, number);
    bool there = i < r->segs && r->seg[i].number == number;
    bool told = !r->seal && p->damage.count > 0 && record_pos_cmp(p->synced, p->counted) > 0;

    if (!r->sealed || (!told && id_stays(r)) || (there && r->seg[i].state == SEG_FOREIGN))
        return 0;
    if (!there) {
        if (mf_array_reserve(&r->seg, &r->seg_cap, r->segs + 1, sizeof *r->seg) != 0)
            return mf_fail(r->e, MF_NOMEM, "list of segments");
        memmove(r->seg + i + 1, r->seg + i, (r->segs - i) * sizeof *r->seg);
        r->segs++;
    }
    r->seg[i] = (struct seg){.number = number,
                             .size = KNOT_SIZE,
                             .bytes = KNOT_SIZE,
                             .key = record_key(r->id, number),
                             .state = SEG_GOOD,
                             .any = true,
                             .version = SEGMENT_PLAIN};
    r->knot = true;
    r->end = (struct record_pos){number, SEGMENT_PAGE + TIE_SIZE};
    return 0;
}

/* --- the index -------------------------------------------------------------------------------- */

struct counting {
    struct recover *r;
    uint64_t last; /* no entry lies in a later segment */
};

static void count_stray(struct strays *st, uint64_t number, uint64_t seq)
{
    for (size_t i = st->count; i-- > 0;) {
        if (st->at[i].number == number) {
            st->at[i].last_seq = seq;
            return;
        }
    }
    if (st->count == NAMED_MAX)
        return;
    if (mf_array_reserve(&st->at, &st->cap, st->count + 1, sizeof *st->at) != 0) {
        st->failed = true;
        return;
    }
    st->at[st->count++] = (struct stray){number, seq, seq};
}

static void count_kept(void *arg, uint64_t seq, uint64_t place)
{
    struct counting *c = arg;
    struct recover *r = c->r;
    uint64_t number = c->last - ((c->last - place_segment(place)) & 0x3FFFF);
    /* Without gaps, which is nearly always, the index follows from the number. */
    size_t i = r->first_kept + (size_t)(number - r->pass.first);

    r->sum.msgs++;
    r->sum.bytes += place_len(place);
    r->sum.flagged[0] += place_flags(place) & 1;
    r->sum.flagged[1] += place_flags(place) >> 1;
    r->sum.long_ones += place_len(place) == PLACE_LEN_MAX;
    if (number < r->pass.first || i >= r->segs || r->seg[i].number != number)
        i = recover_files_at(r, number);
    if (number < r->pass.first || i >= r->segs || r->seg[i].number != number) {
        count_stray(&r->strays, number, seq);
        return;
    }
    struct seg *s = &r->seg[i];
    s->live_count++;
    s->live_bytes += place_len(place);
    if (place_offset(place) + RECORD_START > s->bytes) {
        if (s->lost_first == 0)
            s->lost_first = seq;
        s->lost_last = seq;
    }
}

int recover_end_index(struct recover *r)
{
    struct pass *p = &r->pass;

    if (!r->id_known)
        return 0;
    settle_end(r);
    int rc = settle_knot(r);
    if (rc != 0)
        return rc;
    settle_kept(r);
    struct counting c = {r, r->end.segment};
    if (r->checkpoint && r->cp.start.segment > c.last)
        c.last = r->cp.start.segment;
    struct record_mark gone = p->mark;
    if (r->checkpoint && (r->cp.mark.time_ns > gone.time_ns ||
                          (r->cp.mark.time_ns == gone.time_ns && r->cp.mark.seq > gone.seq)))
        gone = r->cp.mark;
    p->mark = gone;
    if (index_load_end(p->ix, &gone, count_kept, &c) != 0 || r->strays.failed)
        return mf_fail(r->e, MF_NOMEM, "index");
    return 0;
}

/* --- damage beside the log -------------------------------------------------------------------- */

static void name_seqs(struct damages *d, uint64_t first, uint64_t last)
{
    d->at[d->count - 1].first_seq = first;
    d->at[d->count - 1].last_seq = last;
}

static int damage_heads(struct recover *r, struct damages *d)
{
    for (size_t i = r->first_kept; i < r->first_kept + r->kept; i++) {
        const struct seg *s = &r->seg[i];
        int rc = 0;
        if (seg_unsynced(r, s))
            continue;
        if (s->state == SEG_HALF)
            rc = recover_seg_damage(r, d, s->number, s->bad_at, SEGMENT_HEADER,
                                    "one copy of the header is damaged");
        else if (s->state == SEG_BLIND)
            rc = recover_seg_damage(r, d, s->number, 0, SEGMENT_PAGE, "the header is damaged");
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* A segment has its size before it has a header, so no crash leaves it shorter. */
static int damage_sizes(struct recover *r, struct damages *d)
{
    for (size_t i = r->first_kept; i < r->first_kept + r->kept; i++) {
        const struct seg *s = &r->seg[i];
        char name[32];
        size_t k = 0;
        if (s->bytes == s->size || !seg_readable(s))
            continue;
        segment_name(name, s->number);
        while (k < d->count && (strcmp(d->at[k].file, name) != 0 || d->at[k].offset > s->bytes ||
                                d->at[k].offset + d->at[k].length < s->size))
            k++;
        if (k < d->count)
            continue; /* a stretch that covers it */
        int rc = recover_seg_damage(r, d, s->number, s->bytes, s->size - s->bytes,
                                    "the file is shorter than it was");
        if (rc != 0)
            return rc;
        name_seqs(d, s->lost_first, s->lost_last);
    }
    return 0;
}

/* Between the log's first segment and the place where reading began. */
static int damage_before(struct recover *r, struct damages *d)
{
    uint64_t number = r->pass.first, start = r->pass.start;

    if (start > number && start - number > NAMED_MAX + r->kept)
        number = start - NAMED_MAX - r->kept;
    for (; number < start; number++) {
        size_t i = recover_files_at(r, number);
        bool there = i < r->segs && r->seg[i].number == number;
        if (there && seg_readable(&r->seg[i]))
            continue;
        int rc = there ? recover_seg_damage(r, d, number, 0, r->seg[i].size,
                                            "the segment is not the log's")
                       : recover_seg_damage(r, d, number, 0, 0, "the segment is missing");
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Entries of the checkpoint in segments that are not there. */
static int damage_strays(struct recover *r, struct damages *d)
{
    char name[32];

    for (size_t i = 0; i < r->strays.count; i++) {
        const struct stray *st = &r->strays.at[i];
        size_t k = 0;
        segment_name(name, st->number);
        while (k < d->count && (d->at[k].length != 0 || strcmp(d->at[k].file, name) != 0))
            k++;
        if (k == d->count) {
            int rc = recover_seg_damage(r, d, st->number, 0, 0, "the segment is missing");
            if (rc != 0)
                return rc;
        }
        d->at[k].first_seq = st->first_seq;
        d->at[k].last_seq = st->last_seq;
    }
    return 0;
}

/* The damage of a file that is not kept; NULL: it is a leftover of a crash.  A segment has its
 * size, in whole pages, before it has a header. */
static const char *wrong_with(struct recover *r, struct seg *s, bool beyond, bool blank)
{
    if (s->state == SEG_FOREIGN)
        return "the segment belongs to another store";
    if (beyond && s->state <= SEG_HALF && s->bytes < s->size)
        return "the file is shorter than it was";
    if (beyond && s->state == SEG_BLIND && s->size % SEGMENT_PAGE != 0)
        return "a segment never has this size";
    /* One that was not synced yet when the power failed may hold anything. */
    if (s->state == SEG_BLIND && !s->any && !blank && (!r->id_known || !seg_unsynced(r, s)))
        return "the header is damaged, nothing can be read";
    return NULL;
}

static int damage_aside(struct recover *r, struct damages *d)
{
    for (size_t i = 0; i < r->segs; i++) {
        struct seg *s = &r->seg[i];
        bool blank = true, beyond = !r->id_known || i >= r->first_kept;
        int rc = 0;
        if (r->id_known && i >= r->first_kept && i < r->first_kept + r->kept)
            continue;
        if (s->state == SEG_BLIND && beyond && (rc = recover_seg_blank(r, s, &blank)) != 0)
            return rc;
        const char *what = wrong_with(r, s, beyond, blank);
        if (what == NULL)
            continue;
        s->aside = true;
        bool cut = s->bytes < s->size && s->state != SEG_FOREIGN;
        rc = recover_seg_damage(r, d, s->number, cut ? s->bytes : 0, s->size - (cut ? s->bytes : 0),
                                what);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int all_damage(struct recover *r, struct damages *d)
{
    int rc = 0;

    *d = r->damage;
    r->damage = (struct damages){0};
    if (r->id_known && (rc = damage_heads(r, d)) == 0)
        rc = damage_before(r, d);
    for (size_t i = 0; i < r->pass.damage.count && rc == 0; i++) {
        const struct store_damage *from = &r->pass.damage.at[i];
        rc = recover_files_damage(r, d, from->file, from->offset, from->length, from->what);
        if (rc == 0)
            name_seqs(d, from->first_seq, from->last_seq);
    }
    if (rc == 0)
        rc = damage_sizes(r, d);
    if (rc == 0)
        rc = damage_strays(r, d);
    if (rc == 0)
        rc = damage_aside(r, d);
    return rc;
}

/* --- the result ------------------------------------------------------------------------------- */

static int move_segments(struct recover *r, struct recovery *out)
{
    out->segment = calloc(r->kept > 0 ? r->kept : 1, sizeof *out->segment);
    if (out->segment == NULL)
        return mf_fail(r->e, MF_NOMEM, "list of segments");
    for (size_t i = 0; i < r->kept; i++) {
        const struct seg *s = &r->seg[r->first_kept + i];
        uint64_t end = s->number > r->end.segment    ? SEGMENT_PAGE
                       : s->number == r->end.segment ? r->end.offset
                                                     : s->end;
        out->segment[i] = (struct recovered_segment){.number = s->number,
                                                     .size = s->size,
                                                     .end = end,
                                                     .live_count = s->live_count,
                                                     .live_bytes = s->live_bytes,
                                                     .blobs = s->blobs,
                                                     .version = s->version};
    }
    out->segments = r->kept;
    return 0;
}

/* A blob that only the checkpoint knows lies somewhere before its position: it counts for the first
 * segment, so that it is copied in time. */
static void blob_count(struct recover *r, struct rblob *b)
{
    if (b->segment == 0)
        b->segment = r->first_kept < r->segs ? r->seg[r->first_kept].number : r->end.segment;
    size_t i = recover_files_at(r, b->segment);
    if (i < r->segs && r->seg[i].number == b->segment)
        r->seg[i].blobs++;
}

static int move_blob(struct recover *r, struct rblob *b, struct recovery *out)
{
    struct recovered_blob *to = &out->blob[out->blobs];

    to->name = mf_slice_dup(mf_slice(b->name, b->name_len));
    if (b->own == NULL)
        b->own = malloc(1); /* no bytes */
    if (to->name == NULL || b->own == NULL) {
        free(to->name);
        return mf_fail(r->e, MF_NOMEM, "blobs");
    }
    to->name_len = b->name_len;
    to->bytes = b->own;
    to->bytes_len = b->bytes.len;
    b->own = NULL;
    blob_count(r, b);
    to->segment = b->segment;
    out->blobs++;
    return 0;
}

static int move_blobs(struct recover *r, struct recovery *out)
{
    struct table *t = &r->pass.blobs;

    out->blob = calloc(t->count > 0 ? t->count : 1, sizeof *out->blob);
    if (out->blob == NULL)
        return mf_fail(r->e, MF_NOMEM, "blobs");
    for (size_t i = 0; i < t->cap; i++) {
        for (struct table_node *n = t->slot[i]; n != NULL; n = n->next) {
            struct rblob *b = mf_container(n, struct rblob, node);
            int rc = b->deleted ? 0 : move_blob(r, b, out);
            if (rc != 0)
                return rc;
        }
    }
    return 0;
}

/* From the end of the log to the end of that segment, or of its available bytes. */
static void name_torn(const struct recover *r, struct store_damage *out)
{
    struct record_pos at = r->pass.torn_at;
    size_t i = recover_files_at(r, at.segment);
    const struct seg *s = i < r->segs && r->seg[i].number == at.segment ? &r->seg[i] : NULL;

    segment_name(out->file, at.segment);
    out->offset = s == NULL ? 0 : s->bytes < at.offset ? s->bytes : at.offset;
    out->length = s != NULL && s->size > out->offset ? s->size - out->offset : 1;
    out->what = "torn tail";
}

static int move_erased(struct recover *r, struct recovery *out)
{
    const struct erases *e = &r->pass.erased;

    out->erase = calloc(e->count > 0 ? e->count : 1, sizeof *out->erase);
    if (out->erase == NULL)
        return mf_fail(r->e, MF_NOMEM, "list of erased messages");
    for (; out->erases < e->count; out->erases++)
        out->erase[out->erases] =
            (struct recovered_erase){e->at[out->erases].seq, e->at[out->erases].victim};
    return 0;
}

int recover_end_result(struct recover *r, struct recovery *out)
{
    struct pass *p = &r->pass;
    struct damages d;
    int rc = all_damage(r, &d);

    out->damage = d.at;
    out->damages = d.count;
    memcpy(out->id, r->id, STORE_ID);
    out->fresh = !r->id_known;
    if (rc != 0 || out->fresh)
        return rc;
    if ((rc = move_blobs(r, out)) != 0 || (rc = move_segments(r, out)) != 0 ||
        (rc = move_erased(r, out)) != 0)
        return rc;
    out->index = p->ix;
    p->ix = NULL;
    out->end = r->end;
    out->sealed = r->sealed;
    out->chain = r->chain;
    out->group = p->group;
    out->first_segment = p->first;
    out->last_seq = p->last_seq;
    out->mark = p->mark;
    out->clock_ns = p->clock_ns > p->mark.time_ns ? p->clock_ns : p->mark.time_ns;
    out->records = p->records;
    out->from_checkpoint = r->cp_bytes > 0;
    out->checkpoint_bytes = r->cp_bytes;
    out->sum = r->sum;
    out->torn = p->torn;
    if (p->torn)
        name_torn(r, &out->torn_at);
    return 0;
}
