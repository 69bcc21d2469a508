/* check_log.c: reads the log record by record and distinguishes damage from the end.
 *
 * docs/disk-format.md, "The end of the log, tears and damage".  Whether a stretch without records
 * is damage or the end depends on the greatest synced position that any commit names, which may
 * stand further on, and where reading begins on the greatest first segment that a commit that
 * counts names. So a run is made with assumed values (check_log_guess(): the synced position of the
 * last segment that has commits, the greatest in every log a server wrote; the lowest file) and
 * looks at every commit; where one contradicts them, the caller runs again. */
#include "cli/check/check_impl.h"
#include "base/array.h"

#include "codec/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* --- finding records -------------------------------------------------------------------------- */

static void note_commit(struct run *r, const struct rec *rec)
{
    struct check_pos synced = {rd64(rec->p + 24), rd64(rec->p + 32)};

    if (pos_before(r->seen_synced, synced))
        r->seen_synced = synced;
    r->seen_commit = true;
}

/* *why: REC_OK if there is a valid record at off; its chain is not judged. */
static int record_at(struct run *r, uint64_t off, struct rec *out, enum rec_why *why,
                     struct mf_error *e)
{
    struct ctx *c = r->c;

    if (check_seg_load(c, off + MAX_FIXED, e) != 0)
        return e->code;
    *why = REC_NO_ROOM;
    if (off >= c->limit)
        return 0;
    *why = check_rec_fixed(c->buf + off, c->limit - off, off, c->key, out);
    if (*why != REC_OK)
        return 0;
    if (check_seg_load(c, off + out->padded, e) != 0)
        return e->code;
    *why = off + out->padded <= c->limit ? check_rec_data(out, c->key) : REC_NO_ROOM;
    if (*why == REC_OK && out->type == REC_COMMIT)
        note_commit(r, out);
    return 0;
}

/* The next valid record at or after off in this segment. */
static int next_valid(struct run *r, uint64_t off, struct rec *out, bool *found, struct mf_error *e)
{
    struct ctx *c = r->c;
    enum rec_why why = REC_NO_ROOM;

    *found = false;
    for (; off + 24 <= c->limit; off += 8) {
        if (c->loaded < off + 24 && check_seg_load(c, off + 24, e) != 0)
            return e->code;
        /* Nearly all that is no record ends here: this loop runs over every prepared segment. */
        if (c->loaded < off + 24 || (uint8_t)(c->buf[off + 12] - 1) >= REC_ERASE)
            continue;
        if (record_at(r, off, out, &why, e) != 0)
            return e->code;
        if (why == REC_OK) {
            *found = true;
            return 0;
        }
    }
    return 0;
}

/* Reads records that do not count: for their commits, and to know whether there are any. */
static int walk_aside(struct run *r, uint64_t off, struct mf_error *e)
{
    struct rec rec;
    bool found;

    for (;;) {
        if (next_valid(r, off, &rec, &found, e) != 0)
            return e->code;
        if (!found)
            return 0;
        r->follows = true;
        if (rec.type == REC_SEAL)
            return 0;
        off = rec.offset + rec.padded;
    }
}

int check_log_guess(struct run *r, struct mf_error *e)
{
    for (size_t i = r->c->segs; i > 0 && !r->seen_commit; i--)
        if (check_seg_begin(r->c, i - 1, e) != 0 || walk_aside(r, HEADER_PAGE, e) != 0)
            return e->code;
    r->follows = false;
    return 0;
}

/* --- erased messages -------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static bool is_erased(const struct ctx *c, uint64_t seq)
{
    return c->erased_count > 0 &&
           bsearch(&seq, c->erased, c->erased_count, sizeof seq, by_number) != NULL;
}

bool check_log_erased(struct run *r)
{
    struct ctx *c = r->c;
    uint64_t *seen = r->seen_erased;
    size_t n = r->seen_erased_count;
    bool again = false;

    /* Only if one may explain a message that this reading took for damaged. */
    if (n > 0 && r->hollow > 0) {
        qsort(seen, n, sizeof *seen, by_number);
        for (size_t i = 0; i < n && !again; i++)
            again = !is_erased(c, seen[i]);
    }
    if (again) {
        free(c->erased);
        c->erased = seen;
        c->erased_count = n;
    } else {
        free(seen);
    }
    r->seen_erased = NULL;
    return again;
}

/* An erase record explains a message without its data only if it was called synced. */
static int apply_erase(struct run *r, const struct rec *rec)
{
    struct check_pos at = {r->c->seg[r->c->cur].number, rec->offset};

    check_model_remove(r->m, rd64(rec->p + 16));
    if (r->quiet || !pos_before(at, r->synced))
        return 0;
    if (mf_array_reserve(&r->seen_erased, &r->seen_erased_cap, r->seen_erased_count + 1,
                         sizeof *r->seen_erased) != 0)
        return MF_NOMEM;
    r->seen_erased[r->seen_erased_count++] = rd64(rec->p + 16);
    return 0;
}

/* A message in chain whose data is not what was written: is it an erased one? */
static bool is_hollow(struct run *r, const struct rec *rec, struct check_pos at)
{
    bool zeros = true;

    if ((rec->type != REC_MESSAGE && rec->type != REC_COPY) || !pos_before(at, r->synced))
        return false;
    if (!is_erased(r->c, rd64(rec->p + 16))) {
        r->hollow++;
        return false;
    }
    for (uint32_t i = rec->fixed; i < rec->padded && zeros; i++)
        zeros = rec->p[i] == 0;
    r->unfinished += !zeros;
    return true;
}

/* --- what records mean ------------------------------------------------------------------------ */

/* The sequences that may have been in the damage since the last record: up to this one. */
static void resolve_damages(struct run *r, uint64_t upto)
{
    struct check_result *res = r->c->res;

    if (r->quiet)
        return;
    for (; r->unresolved < res->damages; r->unresolved++) {
        struct check_damage *d = &res->damage[r->unresolved];

        if (d->first_seq != 0 && d->first_seq <= upto)
            d->last_seq = upto;
        else
            d->first_seq = d->last_seq = 0;
    }
}

static enum check_opened open_record(struct run *r, const struct rec *rec, const uint8_t **data)
{
    struct ctx *c = r->c;
    enum check_opened opened = check_rec_open(c, rec, data);
    const struct seg *s = &c->seg[c->cur];

    if (check_rec_cipher(rec) == SEAL_NONE && s->usable && s->version >= SEALED_VERSION) {
        if (!r->quiet)
            (void)check_found(c, CHECK_RULE, s->number, rec->offset, rec->padded,
                              "%s: it is not encrypted, and its segment is",
                              check_rec_type_text(rec->type));
        return CHECK_UNOPENED;
    }
    if (opened == CHECK_UNOPENED && !r->quiet)
        (void)check_found(c, CHECK_RULE, c->seg[c->cur].number, rec->offset, rec->padded,
                          "%s: it does not open with the key", check_rec_type_text(rec->type));
    if (check_rec_cipher(rec) == SEAL_NONE && !r->quiet)
        c->crypt.plain_records++;
    return opened;
}

static int apply_message(struct run *r, const struct rec *rec)
{
    uint64_t seq = rd64(rec->p + 16);
    uint16_t key_len = rd16(rec->p + 44);
    struct entry en = {
        .deadline = (int64_t)rd64(rec->p + 32),
        .segment = (uint32_t)r->c->cur,
        .off8 = (uint32_t)(rec->offset / 8),
        .length = check_rec_length(rec),
        .key_len = key_len,
        .flags = flags_hold(rec->flags, (int64_t)rd64(rec->p + 32)),
    };
    const uint8_t *data;

    if (rec->type == REC_MESSAGE && seq > 0)
        resolve_damages(r, seq - 1);
    if (rec->type == REC_MESSAGE && r->doubt.first_seq == 0)
        r->doubt.first_seq = seq;
    check_model_saw(r->m, seq);
    /* The content of an erased message is unknown; its erase record follows. */
    if (is_erased(r->c, seq) && check_rec_data(rec, r->c->key) != REC_OK)
        return 0;
    switch (open_record(r, rec, &data)) {
    case CHECK_OPEN_NOMEM:
        return MF_NOMEM;
    case CHECK_UNOPENED:
        return 0; /* the server leaves it out, too */
    case CHECK_UNREAD:
        break;
    default:
        en.key_hash = checksum64(data, key_len, 0);
    }
    return check_model_put(r->m, seq, &en);
}

static int apply_blob(struct run *r, const struct rec *rec)
{
    uint16_t name_len = rd16(rec->p + 20);
    const uint8_t *name;

    switch (open_record(r, rec, &name)) {
    case CHECK_OPEN_NOMEM:
        return MF_NOMEM;
    case CHECK_OPENED:
        break;
    default:
        return 0;
    }
    return check_model_blob(r->m, mf_slice(name, name_len),
                            mf_slice(name + name_len, rd32(rec->p + 16)),
                            (rd16(rec->p + 22) & 1) != 0,
                            &(struct blob){.segment = (uint32_t)r->c->cur,
                                           .off8 = (uint32_t)(rec->offset / 8),
                                           .padded = rec->padded});
}

static int apply_deadline(struct run *r, const struct rec *rec)
{
    uint64_t seq = rd64(rec->p + 16);
    const struct entry *en = check_model_find(r->m, seq);

    if (en == NULL)
        return 0;
    check_model_set_deadline(r->m, seq, (int64_t)rd64(rec->p + 24), rec->flags,
                             check_doubt_deadline(r, seq, en));
    return check_doubt_redeadline(r, seq);
}

static void apply_commit(struct run *r, const struct rec *rec)
{
    int64_t clock = (int64_t)rd64(rec->p + 72);

    resolve_damages(r, rd64(rec->p + 48));
    check_model_saw(r->m, rd64(rec->p + 48));
    /* T = 0, S = 0 stands for "no mark yet"; as a mark it would take nothing. */
    check_model_mark(r->m, (int64_t)rd64(rec->p + 56), rd64(rec->p + 64));
    if (clock > r->m->clock || !r->any_group)
        r->m->clock = clock;
    r->group = rd64(rec->p + 16);
    r->commit_first = rd64(rec->p + 40);
    if (r->commit_first > r->seen_first)
        r->seen_first = r->commit_first;
    r->any_group = r->last_known = true;
    r->doubt.unseen = 0;
}

static int apply_record(struct run *r, const struct rec *rec)
{
    struct check_segment *s = &r->c->res->segment[r->c->cur];
    uint64_t a = rd64(rec->p + 16), b = rec->fixed >= 32 ? rd64(rec->p + 24) : 0;

    if (!r->quiet) {
        check_rules_record(r, rec);
        s->records++;
        s->used += rec->padded;
        r->c->res->records++;
    }
    r->last_type = rec->type;
    if (rec->type != REC_SEAL)
        r->tied = rec->type == REC_COMMIT && rd64(rec->p + 24) == r->c->seg[r->c->cur].number &&
                  rd64(rec->p + 32) == rec->offset;
    switch (rec->type) {
    case REC_MESSAGE:
    case REC_COPY:
        return apply_message(r, rec);
    case REC_REMOVAL:
        check_model_remove(r->m, a);
        break;
    case REC_ERASE:
        return apply_erase(r, rec);
    case REC_RANGE:
        check_model_remove_range(r->m, a, b);
        check_model_saw(r->m, b);
        break;
    case REC_SET:
        for (uint32_t i = 0; i < rd32(rec->p + 16); i++)
            check_model_remove(r->m, rd64(rec->p + 32 + (size_t)i * 8));
        break;
    case REC_DEADLINE:
        return apply_deadline(r, rec);
    case REC_MARK:
        check_model_mark(r->m, (int64_t)a, b);
        break;
    case REC_COMMIT:
        apply_commit(r, rec);
        break;
    case REC_BLOB:
        return apply_blob(r, rec);
    default:
        break;
    }
    return 0;
}

/* Applies the open batch, which ends at `end`.  Its records lie side by side and are known to be
 * valid, so nothing but its beginning was remembered. */
static int apply_batch(struct run *r, uint64_t end)
{
    struct ctx *c = r->c;
    struct rec rec;
    int rc = 0;

    for (uint64_t off = r->batch_start; r->batch_open && off < end && rc == 0; off += rec.padded) {
        if (check_rec_fixed(c->buf + off, c->limit - off, off, c->key, &rec) != REC_OK)
            break;
        rc = apply_record(r, &rec);
    }
    r->batch_open = false;
    return rc;
}

/* One valid record in chain. */
static int take_record(struct run *r, const struct rec *rec)
{
    uint64_t end = rec->offset + rec->padded;
    bool whole = true;
    int rc;

    if (rec->type == REC_COMMIT || rec->type == REC_SEAL) {
        if (r->batch_open)
            check_rules_open_batch(r, rec);
        r->batch_open = false;
        rc = apply_record(r, rec);
    } else if (!r->batch_open && rec->last) {
        rc = apply_record(r, rec);
    } else {
        if (!r->batch_open)
            r->batch_start = rec->offset;
        r->batch_open = true;
        whole = rec->last;
        rc = whole ? apply_batch(r, end) : 0;
    }
    if (whole)
        r->end = (struct check_pos){r->c->seg[r->c->cur].number, end};
    r->chain = rec->check;
    r->chain_known = true;
    return rc;
}

/* --- stretches -------------------------------------------------------------------------------- */

/* `only`: the one record it consists of; NULL: there may be anything in it. */
static int note_damage(struct run *r, enum check_kind kind, struct check_pos at, uint64_t length,
                       const struct rec *only, const char *what)
{
    struct check_damage *d;
    uint64_t first = r->m->last + 1;

    r->chain_known = r->last_known = false;
    if (check_doubt_damage(r, at, length, only) != 0)
        return MF_NOMEM;
    if (r->quiet)
        return 0;
    d = check_found(r->c, kind, at.segment, at.offset, length, "%s", what);
    if (d != NULL) {
        d->first_seq = first;
        d->alone = only != NULL && (only->type == REC_MESSAGE || only->type == REC_COPY);
    }
    return 0;
}

/* No record in chain at p; bad: one whose fixed part is in order, or NULL.  *off: where to go on,
 * 0: this segment is done. */
static int skip_damage(struct run *r, struct check_pos p, enum rec_why why, const struct rec *bad,
                       uint64_t *off, struct mf_error *e)
{
    const struct seg *s = &r->c->seg[r->c->cur];
    struct rec rec;
    uint64_t end;
    bool found;
    int rc;

    if (next_valid(r, p.offset + 8, &rec, &found, e) != 0)
        return e->code;
    *off = found ? rec.offset : 0;
    if (!pos_before(p, r->synced)) {
        r->ended = true;
        r->stop = p;
        r->follows = found;
        return found ? walk_aside(r, rec.offset, e) : 0;
    }
    /* A synced batch was complete: of one that damage cut, the remaining records count. */
    if (apply_batch(r, p.offset) != 0)
        return mf_fail(e, MF_NOMEM, "read the log");
    end = found ? rec.offset : s->size;
    /* The record behind it vouches for its fixed part, and so for where it ends. */
    if (!found || bad == NULL || end != p.offset + bad->padded || rec.chain != bad->check)
        bad = NULL;
    if (p.offset < end)
        rc = note_damage(r, CHECK_RECORDS, p, end - p.offset, bad, check_rec_why_text(why));
    else if ((rc = note_damage(r, CHECK_RULE, p, 0, NULL, "the segment ends without a seal")) == 0)
        rc = check_doubt_damage(r, p, MAX_SEGMENT, NULL); /* the file may have been longer */
    return rc == 0 ? 0 : mf_fail(e, MF_NOMEM, "read the log");
}

static void at_boundary(struct run *r, struct check_pos p)
{
    if (r->cp == NULL || r->quiet || !pos_equal(p, r->cp->pos))
        return;
    r->cp->at_record = true;
    r->cp->chain_differs = r->chain_known && r->chain != r->cp->chain;
}

/* The records of one segment, from off on. */
static int walk_segment(struct run *r, uint64_t off, struct mf_error *e)
{
    struct check_pos p = {r->c->seg[r->c->cur].number, off};
    enum rec_why why;
    struct rec rec;

    while (!r->ended) {
        at_boundary(r, p);
        if (record_at(r, p.offset, &rec, &why, e) != 0)
            return e->code;
        if (why == REC_OK && r->chain_known && rec.chain != r->chain)
            why = REC_OUT_OF_CHAIN;
        if (why == REC_BAD_DATA && (!r->chain_known || rec.chain == r->chain) &&
            is_hollow(r, &rec, p))
            why = REC_OK;
        if (why == REC_OK) {
            if (take_record(r, &rec) != 0)
                return mf_fail(e, MF_NOMEM, "read the log");
            p.offset += rec.padded;
            if (rec.type == REC_SEAL) {
                at_boundary(r, p);
                return 0;
            }
            continue;
        }
        if (skip_damage(r, p, why, why == REC_BAD_DATA ? &rec : NULL, &off, e) != 0)
            return e->code;
        if (r->ended || off == 0)
            return 0;
        p.offset = off;
    }
    return 0;
}

/* Segments from `number` to before `next` are not there. */
static int skip_missing(struct run *r, uint64_t number, uint64_t next, struct mf_error *e)
{
    struct check_pos p = {number, HEADER_PAGE};
    char what[96];

    at_boundary(r, p);
    if (!pos_before(p, r->synced)) {
        r->ended = true;
        r->stop = p;
        return 0;
    }
    (void)snprintf(what, sizeof what,
                   next - number == 1 ? "the file is missing"
                                      : "%" PRIu64 " files are missing from here on",
                   next - number);
    if (note_damage(r, CHECK_MISSING, p, 0, NULL, what) != 0 ||
        check_doubt_damage(r, p, (next - number) * MAX_SEGMENT, NULL) != 0)
        return mf_fail(e, MF_NOMEM, "read the log");
    return 0;
}

int check_log_run(struct run *r, struct check_pos from, struct mf_error *e)
{
    struct ctx *c = r->c;
    size_t i = check_seg_at_or_after(c, from.segment);
    uint64_t expect = from.segment;
    int rc = 0;

    for (size_t k = 0; k < i && !r->quiet && rc == 0; k++) {
        rc = check_seg_begin(c, k, e);
        if (rc == 0)
            rc = walk_aside(r, HEADER_PAGE, e);
        c->res->segment[k].leftover = true;
    }
    r->follows = false;
    r->end = r->stop = from;
    for (; i < c->segs && rc == 0; i++) {
        uint64_t number = c->seg[i].number;

        if (!r->ended && number != expect)
            rc = skip_missing(r, expect, number, e);
        if (rc == 0)
            rc = check_seg_begin(c, i, e);
        if (rc == 0 && r->ended) {
            if (!r->quiet)
                c->res->segment[i].after_end = true;
            rc = walk_aside(r, HEADER_PAGE, e);
        } else if (rc == 0) {
            rc = walk_segment(r, number == from.segment ? from.offset : HEADER_PAGE, e);
        }
        expect = number + 1;
    }
    if (rc == 0 && !r->ended) {
        r->stop = (struct check_pos){expect, HEADER_PAGE};
        rc = skip_missing(r, expect, r->synced.segment + 1, e);
    }
    if (r->batch_open)
        r->follows = true; /* its beginning is there, its end is not */
    r->batch_open = false;
    return rc;
}
