/* recover.c: the plan of recovery: checkpoint and tail, or the whole log.
 *
 * Happy path: names, headers, the checkpoint's head; the checkpoint into a new index; the log
 * from its position on; the result.
 * Otherwise: a checkpoint that is missing, damaged, or does not fit the log costs only time.  Its
 * index is dropped and the log is read from its first segment.  Only the last commits say which
 * segment is the first.  If segments below it were read (leftovers of a crash while they were
 * reclaimed), recovery begins again without them.
 * Failure: nothing on disk was changed before recover_end_disk(). */
#include "store/recover/recover_impl.h"

#include "store/crypt/crypt.h"

#include "base/rand.h"

#include <stdlib.h>

/* --- the checkpoint --------------------------------------------------------------------------- */

static int checkpoint_bad(struct recover *r, uint64_t offset, const char *what)
{
    return recover_files_damage(r, &r->damage, CHECKPOINT_NAME, offset, 0, what);
}

/* Could it be one? */
static bool position_ok(const struct checkpoint_head *h)
{
    return h->start.segment > 0 && h->start.segment < UINT64_MAX &&
           h->start.offset >= SEGMENT_PAGE && h->start.offset % 8 == 0 &&
           h->start.offset <= SEGMENT_MAX && h->first_segment <= h->start.segment;
}

static int read_checkpoint_head(struct recover *r)
{
    uint64_t bad;
    int rc = checkpoint_peek(r->io, &r->cp, &bad, r->e);

    if (rc == MF_NOTFOUND)
        return 0;
    if (rc == 0 && !position_ok(&r->cp))
        return checkpoint_bad(r, 32, "the checkpoint does not fit the log");
    r->checkpoint = rc == 0;
    if (rc == 0 && r->cp.cipher != SEAL_NONE && r->opener == NULL)
        return recover_fail_sealed(r, CHECKPOINT_NAME);
    if (rc == MF_CORRUPT)
        return checkpoint_bad(r, bad, "the checkpoint is damaged");
    return rc;
}

/* True if the log continues at the position of the checkpoint. */
struct fit {
    bool wrong;   /* no: records lie there that contradict it */
    bool unknown; /* damage before the position: read that too */
    uint64_t group, seen;
};

static bool fits_quickly(const struct recover *r, const struct seg *s, const struct seg_bytes *b,
                         struct fit *f)
{
    uint64_t at = r->cp.start.offset - RECORD_COMMIT_SIZE;
    struct record rec;

    if (r->cp.start.offset < SEGMENT_PAGE + RECORD_COMMIT_SIZE || r->cp.start.offset > b->size ||
        !record_read(b->base + at, RECORD_COMMIT_SIZE, s->key, at, &rec) ||
        rec.type != RECORD_COMMIT || rec.check != r->cp.chain)
        return false;
    f->group = rec.group;
    f->seen = rec.last_seq;
    return true;
}

/* Walks the segment up to the position. */
static void fits_slowly(const struct recover *r, const struct seg *s, const struct seg_bytes *b,
                        struct fit *f)
{
    uint64_t start = r->cp.start.offset, at;
    struct record rec;
    struct scan sc;
    bool broken, known = false;

    scan_init(&sc, b->base, b->size, s->key, SEGMENT_PAGE);
    sc.loose = sc.hollows = true;
    while (sc.offset < start) {
        enum scan_result got = scan_next(&sc, &rec, &at, &broken);
        if (got == SCAN_HOLLOW) /* erased, or damaged: its check is good in both cases */
            scan_pass(&sc, &rec);
        known = got == SCAN_RECORD || got == SCAN_HOLLOW;
        if (got == SCAN_END || (!known && sc.offset > start)) {
            f->unknown = true;
            return;
        }
        if (got == SCAN_RECORD && rec.type == RECORD_COMMIT) {
            f->group = rec.group;
            f->seen = rec.last_seq;
        }
    }
    f->wrong = sc.offset > start || (known && rec.check != r->cp.chain);
    f->unknown = !f->wrong && !known && start > SEGMENT_PAGE;
    if (f->wrong || start >= b->size)
        return;
    if (record_read(b->base + start, b->size - start, s->key, start, &rec))
        f->wrong = rec.chain != r->cp.chain;
}

/* The number of the last commit group, if the segment at i has none. */
static int find_group(struct recover *r, size_t i, struct fit *f)
{
    while (f->group == 0 && i-- > 0) {
        struct seg_facts facts = {0};
        int rc = recover_seg_look(r, i, &facts);
        if (rc != 0)
            return rc;
        f->group = facts.group;
    }
    return 0;
}

static int checkpoint_fits(struct recover *r, size_t i, struct fit *f)
{
    struct seg_bytes b;
    int rc = recover_seg_open(r, &r->seg[i], &b);

    *f = (struct fit){.seen = r->cp.last_seq};
    if (rc != 0)
        return rc;
    if (!fits_quickly(r, &r->seg[i], &b, f))
        fits_slowly(r, &r->seg[i], &b, f);
    recover_seg_close(r, &b);
    return find_group(r, i, f);
}

static int checkpoint_blob(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct pass *p = arg;
    int rc = recover_pass_blob(p, name, bytes, 0, false);

    return rc != 0 ? rc : recover_pass_own_blobs(p);
}

/* --- passes ----------------------------------------------------------------------------------- */

static void segs_reset(struct recover *r)
{
    for (size_t i = 0; i < r->segs; i++) {
        r->seg[i].end = r->seg[i].size;
        r->seg[i].looked = r->seg[i].any = false;
    }
}

/* Facts from the checkpoint's head alone: the log was synced up to its state. */
static int begin_pass(struct recover *r)
{
    segs_reset(r);
    int rc = recover_pass_begin(r);
    if (rc != 0 || !r->checkpoint)
        return rc;
    r->pass.last_seq = r->cp.last_seq;
    r->pass.clock_ns = r->cp.clock_ns;
    r->pass.synced = r->pass.counted = r->cp.start;
    return 0;
}

/* Replays from the checkpoint's position; *ok: false, if in the end it cannot be relied on. */
static int replay_tail(struct recover *r, const struct fit *f, bool *ok)
{
    struct checkpoint_head h;
    uint64_t bad;
    int rc = begin_pass(r);

    if (rc != 0)
        return rc;
    rc = checkpoint_load(r->io, r->opener, r->pass.ix, &h, checkpoint_blob, &r->pass, &bad, r->e);
    if (rc == MF_CORRUPT)
        return checkpoint_bad(r, bad, "the checkpoint is damaged");
    if (rc != 0)
        return rc;
    r->pass.first = r->cp.first_segment;
    r->pass.group = f->group;
    r->pass.seen = f->seen;
    r->pass.chain = r->cp.chain;
    r->pass.chain_known = !f->unknown;
    rc = recover_log_walk(r, r->cp.start.segment, f->unknown ? SEGMENT_PAGE : r->cp.start.offset);
    /* Segments between it and the log's first were reclaimed since, with their records. */
    *ok = r->pass.first <= r->cp.start.segment;
    return rc;
}

static int finish_try(struct recover *r, int rc, bool *done)
{
    if (rc == 0 && *done)
        r->cp_bytes = r->cp.file_size;
    else
        recover_pass_fini(&r->pass);
    return rc;
}

/* There is nothing to replay; only the number of the last group is not in the checkpoint. */
static int replay_none(struct recover *r, size_t i, bool *done)
{
    struct fit f = {.seen = r->cp.last_seq};
    int rc = find_group(r, i, &f);

    return rc != 0 ? rc : finish_try(r, replay_tail(r, &f, done), done);
}

static int try_checkpoint(struct recover *r, bool *done)
{
    struct record_pos start = r->cp.start;
    size_t i = recover_files_at(r, start.segment);
    struct fit f;

    /* The start of a segment that was not made yet is a position, too. */
    if (i == r->segs && i > 0 && r->seg[i - 1].number + 1 == start.segment &&
        start.offset == SEGMENT_PAGE)
        return replay_none(r, i, done);
    if (i == r->segs || r->seg[i].number != start.segment || !seg_readable(&r->seg[i]))
        return 0;
    if (start.offset > r->seg[i].size) {
        /* Without a header the length of the file is unknown: the file was cut, not the
         * checkpoint. */
        if (r->seg[i].state == SEG_BLIND)
            return 0;
        r->checkpoint = false;
        return checkpoint_bad(r, 32, "the checkpoint does not fit the log");
    }
    int rc = checkpoint_fits(r, i, &f);
    if (rc != 0)
        return rc;
    if (f.wrong) {
        r->checkpoint = false;
        return checkpoint_bad(r, 32, "the checkpoint does not fit the log");
    }
    return finish_try(r, replay_tail(r, &f, done), done);
}

static int whole_log(struct recover *r)
{
    uint64_t from = r->segs > 0 ? r->seg[0].number : r->cp.first_segment;

    for (;;) {
        int rc = begin_pass(r);
        if (rc != 0)
            return rc;
        r->pass.chain_known = from == 1; /* the first record of all has chain 0 */
        if ((rc = recover_log_walk(r, from, SEGMENT_PAGE)) != 0)
            return rc;
        if (r->pass.first <= from)
            return 0;
        /* A commit is in no segment below the first it names, so there is one. */
        from = r->seg[recover_files_at(r, r->pass.first)].number;
        recover_pass_fini(&r->pass);
    }
}

static int read_store(struct recover *r)
{
    bool done = false;
    int rc = 0;

    recover_files_owner(r);
    if (r->owner != NULL && r->id_known && memcmp(r->owner, r->id, STORE_ID) != 0)
        return mf_fail(r->e, MF_DENIED,
                       CRYPT_FILE " belongs to another stream: put the file of this one back from "
                                  "a backup; nothing was changed");
    if (r->checkpoint && memcmp(r->cp.id, r->id, STORE_ID) != 0) {
        r->checkpoint = false;
        rc = checkpoint_bad(r, 16, "the checkpoint belongs to another store");
    }
    if (!r->id_known) {
        if (r->owner != NULL) /* a crash came before the first segment */
            memcpy(r->id, r->owner, STORE_ID);
        else
            rand_bytes(r->id, STORE_ID);
        return rc;
    }
    if (rc == 0 && r->checkpoint)
        rc = try_checkpoint(r, &done);
    if (rc == 0 && !done)
        rc = whole_log(r);
    return rc;
}

static void recover_fini(struct recover *r)
{
    recover_pass_fini(&r->pass);
    free(r->seg);
    free(r->damage.at);
    free(r->strays.at);
    mf_buf_fini(&r->tmp);
    mf_buf_fini(&r->plain);
}

int recover(struct recovery *out, struct store_io *io, const struct crypt *crypt, char separator,
            int64_t now_ns, struct mf_error *e)
{
    struct mf_error story;
    struct recover r = {.io = io,
                        .opener = crypt == NULL ? NULL : crypt->loop,
                        .owner = crypt == NULL ? NULL : crypt->id,
                        .separator = separator,
                        .now_ns = now_ns};
    int rc;

    r.e = e != NULL ? e : &story;
    *out = (struct recovery){0};
    if ((rc = recover_files_list(&r)) == 0 && (rc = recover_files_heads(&r)) == 0 &&
        (rc = read_checkpoint_head(&r)) == 0 && (rc = read_store(&r)) == 0 &&
        (rc = recover_end_index(&r)) == 0 && (rc = recover_end_result(&r, out)) == 0)
        rc = recover_end_disk(&r);
    if (rc == 0) {
        out->chain = r.chain; /* the seal's check is known only now */
        out->group = r.pass.group;
        /* A damaged one may hold anything. */
        out->plain_checkpoint = r.checkpoint ? r.cp.cipher == SEAL_NONE : r.damage.count > 0;
    } else {
        recovery_fini(out);
    }
    recover_fini(&r);
    return rc;
}

void recovery_fini(struct recovery *out)
{
    index_free(out->index);
    for (size_t i = 0; i < out->blobs; i++) {
        free(out->blob[i].name);
        free(out->blob[i].bytes);
    }
    free(out->blob);
    free(out->segment);
    free(out->erase);
    free(out->damage);
    *out = (struct recovery){0};
}
