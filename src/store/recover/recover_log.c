/* recover_log.c: walks the log in order, over damage, to its end.
 *
 * Happy path: segment after segment, each from its first record to its seal, the last one to
 * where no valid record follows.
 * Otherwise: bytes that are no record are either damage or the end of the log.  That depends on
 * the synced position, and so on all commits behind them.  Therefore the rest of the log is
 * searched, once (look_ahead), before the walk continues. */
#include "store/recover/recover_impl.h"

#include <stdlib.h>

#define MISSING_MAX 1000 /* missing files that are named one by one */

/* --- looking ahead ---------------------------------------------------------------------------- */

static void facts_add(struct seg_facts *f, const struct seg *s, uint64_t at,
                      const struct record *rec)
{
    struct record_pos end = {s->number, at + rec->size};

    f->any = true;
    if (rec->type == RECORD_ERASE && f->erases != NULL) {
        struct erase x = {rec->seq, {s->number, at}, rec->victim};
        f->nomem |= recover_erases_add(f->erases, &x) != 0;
    }
    if (rec->type == RECORD_SEAL)
        f->erases = NULL; /* what lies behind it was cut off */
    if (rec->type != RECORD_COMMIT)
        return;
    f->group = rec->group;
    if (record_pos_cmp(rec->synced, end) <= 0 && record_pos_cmp(rec->synced, f->synced) > 0)
        f->synced = rec->synced;
}

/* Every valid record from where the scan stands, in chain or not. */
static void facts_scan(struct seg_facts *f, const struct seg *s, struct scan sc)
{
    struct record rec;
    enum scan_result got;
    uint64_t at;
    bool broken;

    sc.loose = true;
    sc.hollows = false;
    while ((got = scan_next(&sc, &rec, &at, &broken)) != SCAN_END)
        if (got == SCAN_RECORD)
            facts_add(f, s, at, &rec);
}

int recover_seg_look(struct recover *r, size_t i, struct seg_facts *out)
{
    struct seg *s = &r->seg[i];
    struct seg_bytes b;
    struct scan sc;

    *out = (struct seg_facts){.erases = out->erases};
    s->looked = true;
    if (!seg_readable(s) || s->bytes <= SEGMENT_PAGE)
        return 0;
    int rc = recover_seg_open(r, s, &b);
    if (rc != 0)
        return rc;
    scan_init(&sc, b.base, b.size, s->key, SEGMENT_PAGE);
    facts_scan(out, s, sc);
    recover_seg_close(r, &b);
    s->any = out->any;
    return 0;
}

static int by_seq(const void *a, const void *b)
{
    const struct erase *x = a, *y = b;

    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static void add_facts(struct pass *p, const struct seg_facts *f)
{
    if (record_pos_cmp(f->synced, p->synced) > 0)
        p->synced = f->synced;
}

/* Facts from the rest of the log: of the open segment (sc may be NULL) and all from `next` on. */
static int look_ahead(struct recover *r, const struct seg *s, const struct scan *sc, size_t next)
{
    struct pass *p = &r->pass;
    struct seg_facts f = {.erases = &p->excuses};

    if (p->ahead)
        return 0;
    if (sc != NULL)
        facts_scan(&f, s, *sc);
    add_facts(p, &f);
    for (; next < r->segs && !f.nomem; next++) {
        f.erases = &p->excuses;
        int rc = recover_seg_look(r, next, &f);
        if (rc != 0)
            return rc;
        add_facts(p, &f);
    }
    if (f.nomem)
        return mf_fail(r->e, MF_NOMEM, "list of erased messages");
    if (p->excuses.count > 1)
        qsort(p->excuses.at, p->excuses.count, sizeof *p->excuses.at, by_seq);
    p->ahead = true;
    return 0;
}

/* Was the data of this message overwritten on purpose?  Then an erase record follows it, and both
 * were called synced before the overwriting began. */
static bool is_erased(const struct pass *p, struct record_pos at, uint64_t seq)
{
    size_t low = 0, high = p->excuses.count;

    if (record_pos_cmp(at, p->synced) >= 0)
        return false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (p->excuses.at[mid].seq < seq)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < p->excuses.count && p->excuses.at[low].seq == seq; low++)
        if (record_pos_cmp(at, p->excuses.at[low].at) < 0 &&
            record_pos_cmp(p->excuses.at[low].at, p->synced) < 0)
            return true;
    return false;
}

/* Does a valid record lie in the segments from i on?  After look_ahead(). */
static bool any_from(const struct recover *r, size_t i)
{
    for (; i < r->segs; i++)
        if (r->seg[i].any)
            return true;
    return false;
}

/* --- damage and the end ----------------------------------------------------------------------- */

static int note_damage(struct recover *r, uint64_t number, uint64_t offset, uint64_t length,
                       struct record_pos go_on, const char *what)
{
    struct pass *p = &r->pass;
    int rc = recover_seg_damage(r, &p->damage, number, offset, length, what);

    if (rc != 0)
        return rc;
    /* Nothing known before it: only at the very start of a log does that mean sequence 1. */
    p->damage.at[p->damage.count - 1].first_seq = p->seen > 0 || p->start == 1 ? p->seen + 1 : 0;
    p->chain_known = false;
    p->cut = go_on;
    p->cut_type = CUT_DAMAGE;
    return 0;
}

/* Does a log end like this?  With a whole group; or with a seal that recovery wrote.  The writer's
 * own seals are in the middle of a group, so one at the end lost the rest of it. */
static bool ends_whole(const struct pass *p)
{
    return p->cut_type == 0 || p->cut_type == RECORD_COMMIT || p->cut_type == CUT_DAMAGE ||
           (p->cut_type == RECORD_SEAL && p->tied);
}

/* The log ends at `at`, in segment i. */
static void end_log(struct recover *r, size_t i, uint64_t at, bool follows)
{
    struct pass *p = &r->pass;

    p->ended = true;
    r->seg[i].end = p->cut.segment == r->seg[i].number ? p->cut.offset : SEGMENT_PAGE;
    p->torn = follows || !ends_whole(p) || p->batched > 0;
    p->torn_at = (struct record_pos){r->seg[i].number, at};
    if (p->batched > 0)
        p->torn_at.offset = p->batch[0] & ~UINT64_C(7);
    p->batched = 0;
}

static int handle_stretch(struct recover *r, size_t i, const struct scan *sc, uint64_t at)
{
    struct seg *s = &r->seg[i];
    struct record_pos here = {s->number, at}, go_on = {s->number, sc->offset};
    int rc = look_ahead(r, s, sc, i + 1);

    if (rc != 0)
        return rc;
    s->any = true;
    if (record_pos_cmp(here, r->pass.synced) >= 0) {
        end_log(r, i, at, true);
        return 0;
    }
    rc = recover_pass_batch(r, s, sc);
    if (rc == 0)
        rc = note_damage(r, s->number, at, sc->offset - at, go_on, "records are damaged");
    return rc;
}

/* Nothing valid from `at` on, and no seal. */
static int no_more(struct recover *r, size_t i, const struct scan *sc, uint64_t at)
{
    struct seg *s = &r->seg[i];
    struct record_pos here = {s->number, at}, go_on = {s->number, s->size};
    int rc = look_ahead(r, s, NULL, i + 1);

    if (rc != 0)
        return rc;
    if (record_pos_cmp(here, r->pass.synced) >= 0) {
        end_log(r, i, at, any_from(r, i + 1));
        return 0;
    }
    if ((rc = recover_pass_batch(r, s, sc)) != 0)
        return rc;
    s->end = at < s->bytes ? at : s->bytes;
    bool shorter = s->bytes < s->size && at >= s->bytes;
    return note_damage(r, s->number, s->end, s->size - s->end, go_on,
                       shorter ? "the file is shorter than it was" : "records are damaged");
}

/* --- the walk --------------------------------------------------------------------------------- */

/* A message without its data: erased, or no record at all. */
static int judge_hollow(struct recover *r, size_t i, struct scan *sc, const struct record *rec,
                        uint64_t at, enum scan_result *got)
{
    struct seg *s = &r->seg[i];
    int rc = look_ahead(r, s, sc, i + 1);

    if (rc != 0)
        return rc;
    if (is_erased(&r->pass, (struct record_pos){s->number, at}, rec->seq)) {
        scan_pass(sc, rec);
        *got = SCAN_RECORD;
    } else {
        *got = scan_look(sc, at);
    }
    return 0;
}

static int read_records(struct recover *r, size_t i, struct scan *sc)
{
    struct pass *p = &r->pass;
    struct seg *s = &r->seg[i];
    struct record rec;
    uint64_t at;
    bool broken;
    int rc;

    for (;;) {
        enum scan_result got = scan_next(sc, &rec, &at, &broken);
        bool hollow = got == SCAN_HOLLOW;
        if (hollow && (rc = judge_hollow(r, i, sc, &rec, at, &got)) != 0)
            return rc;
        switch (got) {
        case SCAN_HOLLOW: /* not any more */
        case SCAN_RECORD:
            s->any = true;
            if ((rc = recover_pass_record(r, s, sc, at, &rec, hollow)) != 0)
                return rc;
            if (rec.type == RECORD_SEAL) {
                s->end = sc->offset;
                return 0;
            }
            break;
        case SCAN_STRETCH:
            if ((rc = handle_stretch(r, i, sc, at)) != 0 || p->ended)
                return rc;
            break;
        case SCAN_END:
            return no_more(r, i, sc, at);
        }
    }
}

/* Replay that starts in the middle, behind a commit: does that one call all before itself synced?
 */
static bool tied_before(const struct seg *s, const struct seg_bytes *b, uint64_t offset)
{
    struct record rec;
    uint64_t at = offset - RECORD_COMMIT_SIZE;

    return offset >= SEGMENT_PAGE + RECORD_COMMIT_SIZE && offset <= b->size &&
           record_read(b->base + at, RECORD_COMMIT_SIZE, s->key, at, &rec) &&
           rec.type == RECORD_COMMIT && rec.synced.segment == s->number && rec.synced.offset == at;
}

static int read_segment(struct recover *r, size_t i, uint64_t offset)
{
    struct pass *p = &r->pass;
    struct seg *s = &r->seg[i];
    struct seg_bytes b;
    struct scan sc;
    int rc = recover_seg_open(r, s, &b);

    if (rc != 0)
        return rc;
    scan_init(&sc, b.base, b.size, s->key, offset);
    sc.chain = p->chain;
    sc.chain_known = p->chain_known;
    sc.hollows = true;
    if (offset > SEGMENT_PAGE)
        p->tied = tied_before(s, &b, offset);
    rc = read_records(r, i, &sc);
    p->chain = sc.chain;
    p->chain_known = sc.chain_known;
    if (recover_pass_own_blobs(p) != 0 && rc == 0)
        rc = mf_fail(r->e, MF_NOMEM, "blobs");
    recover_seg_close(r, &b);
    return rc;
}

/* Segment `number` is missing, or not part of the log; the next existing one has index i. */
static int handle_hole(struct recover *r, uint64_t *number, size_t i)
{
    struct pass *p = &r->pass;
    bool there = i < r->segs && r->seg[i].number == *number;
    int rc = look_ahead(r, NULL, NULL, i);

    if (rc != 0)
        return rc;
    if (record_pos_cmp((struct record_pos){*number, SEGMENT_PAGE}, p->synced) >= 0) {
        p->ended = true;
        p->torn = any_from(r, i) || !ends_whole(p);
        p->torn_at = (struct record_pos){*number, SEGMENT_PAGE};
        return 0;
    }
    struct record_pos go_on = {*number, there ? r->seg[i].size : SEGMENT_PAGE};
    const char *what = there ? "the segment belongs to another store" : "the segment is missing";
    if ((rc = note_damage(r, *number, 0, there ? r->seg[i].size : 0, go_on, what)) != 0)
        return rc;
    /* Of a wide gap not every file is named: the numbers are whatever a name claims. */
    uint64_t next = i < r->segs ? r->seg[i].number : p->synced.segment;
    if (!there && next > *number && next - *number > MISSING_MAX)
        *number = next - MISSING_MAX;
    else
        ++*number;
    return 0;
}

int recover_log_walk(struct recover *r, uint64_t number, uint64_t offset)
{
    struct pass *p = &r->pass;
    size_t i = recover_files_at(r, number);

    p->start = number;
    p->cut = (struct record_pos){number, offset};
    p->cut_chain = p->chain;
    while (!p->ended) {
        int rc;
        bool there = i < r->segs && r->seg[i].number == number;
        if (there && seg_readable(&r->seg[i])) {
            rc = read_segment(r, i, offset);
            number++;
        } else {
            rc = handle_hole(r, &number, i);
        }
        if (rc != 0)
            return rc;
        i += there;
        offset = SEGMENT_PAGE;
    }
    recover_pass_seen(p, p->last_seq, p->last_seq);
    return 0;
}
