/* recover_disk.c: changes of recovery on disk, after all else succeeded: a sync of everything
 * that may only be in the page cache, the end of a torn tail, and leftovers.
 *
 * A crash in between does no harm: records behind the new end are deleted only after it is
 * synced. */
#include "store/recover/recover_impl.h"

#include "store/io/wipe.h"

#include <inttypes.h>
#include <stdio.h>

#define ASIDE_MAX 1000 /* files of one number that may lie aside */

/* Writes a commit that calls all before it synced, and a seal: the torn end may have held the
 * only commit that distinguishes damage from the end.  Only the seal, if there is no room for
 * both. */
static size_t encode_tie(struct recover *r, uint8_t dst[TIE_SIZE], struct record_pos at,
                         uint64_t key, uint64_t room)
{
    struct pass *p = &r->pass;
    struct record commit = {.type = RECORD_COMMIT,
                            .synced = at,
                            .first_segment = p->first,
                            .last_seq = p->last_seq,
                            .mark = p->mark,
                            .clock_ns = p->clock_ns};
    struct record seal = {.type = RECORD_SEAL, .next_segment = at.segment + 1};
    size_t n = 0;

    if (room >= TIE_SIZE) {
        commit.group = ++p->group;
        n = record_encode(dst, &commit);
    }
    n += record_encode(dst + n, &seal);
    record_finish(dst, n, key, at.offset, &r->chain, NULL);
    return n;
}

/* Repairs a header that a power cut tore before it was synced: the log continues behind it, and
 * the next recovery would report damage in a synced segment. */
static int mend_header(struct recover *r, struct store_file *f, struct seg *s)
{
    uint8_t page[SEGMENT_PAGE];
    uint64_t size = s->size;

    if ((s->state != SEG_HALF && s->state != SEG_BLIND) || !seg_unsynced(r, s))
        return 0;
    size = (size + SEGMENT_PAGE - 1) / SEGMENT_PAGE * SEGMENT_PAGE; /* the file's may be anything */
    /* It is unsynced, so all that counts in it was read. */
    if (s->version == 0)
        s->version = r->opener != NULL && !s->bare ? SEGMENT_CRYPT : SEGMENT_BITS;
    segment_page_encode(page, s->version, r->id, s->number, size, r->pass.clock_ns);
    return r->io->pwrite(r->io, f, page, sizeof page, 0, r->e);
}

/* Syncs everything that no commit calls synced: after a crash of the process alone it may be in
 * the page cache only, and later acknowledgements depend on it. */
static int sync_one(struct recover *r, struct seg *s, bool tie)
{
    uint8_t bytes[TIE_SIZE];
    struct store_file *f;
    char name[32];

    segment_name(name, s->number);
    int rc = r->io->open(r->io, name, false, &f, r->e);
    if (rc != 0)
        return rc;
    rc = mend_header(r, f, s);
    if (rc == 0 && tie) {
        struct record_pos at = r->pass.cut;
        size_t n = encode_tie(r, bytes, at, s->key, s->size - at.offset);
        rc = r->io->pwrite(r->io, f, bytes, n, at.offset, r->e);
    }
    if (rc == 0)
        rc = r->io->sync(r->io, f, r->e);
    r->io->close(r->io, f);
    return rc;
}

static int sync_log(struct recover *r)
{
    uint64_t from = r->pass.synced.segment, to = r->end.segment - r->knot;
    size_t i;
    int rc = 0;

    if (from > to)
        from = to;
    if (from < r->pass.first)
        from = r->pass.first;
    for (i = recover_files_at(r, from); i < r->segs && r->seg[i].number <= to && rc == 0; i++)
        rc = sync_one(r, &r->seg[i], false);
    /* Only now a commit may call it synced. */
    if (rc == 0 && r->seal)
        rc = sync_one(r, &r->seg[recover_files_at(r, to)], true);
    return rc;
}

/* Behind the end of a log that was not closed lie remains of the last commit group: copies of
 * messages among them, which a later erasure would not find. */
static int wipe_rest(struct recover *r)
{
    const struct pass *p = &r->pass;
    size_t i = recover_files_at(r, p->cut.segment);
    struct store_file *f;
    char name[32];
    bool changed = false;

    if ((p->tied && !p->torn) || p->damage.count > 0 || i < r->first_kept ||
        i >= r->first_kept + r->kept || r->seg[i].number != p->cut.segment)
        return 0;
    segment_name(name, p->cut.segment);
    int rc = r->io->open(r->io, name, false, &f, r->e);
    if (rc != 0)
        return rc;
    /* r->end may be in the knot, behind this segment. */
    rc = wipe_range(r->io, f, r->seal ? r->seg[i].end : p->cut.offset, r->seg[i].bytes, &changed,
                    r->e);
    if (rc == 0 && changed)
        rc = r->io->sync(r->io, f, r->e);
    r->io->close(r->io, f);
    return rc;
}

static int make_knot(struct recover *r)
{
    static const char tmp[] = "knot.tmp";
    uint8_t bytes[KNOT_SIZE] = {0};
    struct record_pos at = {r->end.segment, SEGMENT_PAGE};
    struct store_file *f;
    char name[32];

    segment_page_encode(bytes, SEGMENT_PLAIN, r->id, at.segment, KNOT_SIZE, r->pass.clock_ns);
    encode_tie(r, bytes + SEGMENT_PAGE, at, record_key(r->id, at.segment), TIE_SIZE);
    int rc = r->io->open(r->io, tmp, true, &f, r->e);
    if (rc != 0)
        return rc;
    rc = r->io->pwrite(r->io, f, bytes, sizeof bytes, 0, r->e);
    if (rc == 0)
        rc = r->io->sync(r->io, f, r->e);
    r->io->close(r->io, f);
    segment_name(name, at.segment);
    if (rc == 0)
        rc = r->io->rename(r->io, tmp, name, r->e);
    return rc != 0 ? rc : r->io->syncdir(r->io, r->e);
}

/* Under a name that nothing has: one that lies aside already is kept. */
static int put_aside(struct recover *r, const char *name)
{
    char to[64];

    for (int n = 0; n < ASIDE_MAX; n++) {
        struct store_file *f;
        if (n == 0)
            snprintf(to, sizeof to, "%s.damaged", name);
        else
            snprintf(to, sizeof to, "%s.%d.damaged", name, n);
        int rc = r->io->open(r->io, to, false, &f, r->e);
        if (rc == MF_NOTFOUND)
            return r->io->rename(r->io, name, to, r->e);
        if (rc != 0)
            return rc;
        r->io->close(r->io, f);
    }
    return mf_fail(r->e, MF_EXISTS, "too many files %s.*.damaged", name);
}

static int drop_segments(struct recover *r, bool *changed)
{
    char name[32];

    for (size_t i = 0; i < r->segs; i++) {
        if (r->id_known && i >= r->first_kept && i < r->first_kept + r->kept)
            continue;
        segment_name(name, r->seg[i].number);
        int rc = r->seg[i].aside ? put_aside(r, name) : r->io->unlink(r->io, name, r->e);
        if (rc != 0)
            return rc;
        *changed = true;
    }
    return 0;
}

int recover_end_disk(struct recover *r)
{
    bool changed = false;
    int rc = r->id_known ? sync_log(r) : 0;

    if (rc == 0 && r->id_known)
        rc = wipe_rest(r);

    for (size_t at = 0; at < r->tmp.len && rc == 0;) {
        const char *name = (const char *)r->tmp.ptr + at;
        rc = r->io->unlink(r->io, name, r->e);
        at += strlen(name) + 1;
        changed = true;
    }
    if (rc == 0 && r->knot)
        rc = make_knot(r);
    if (rc == 0)
        rc = drop_segments(r, &changed);
    /* A prepared segment may have its name in the cache only. */
    bool spare = r->kept > 0 && r->seg[r->first_kept + r->kept - 1].number > r->end.segment;
    if (rc == 0 && (changed || spare))
        rc = r->io->syncdir(r->io, r->e);
    return rc;
}
