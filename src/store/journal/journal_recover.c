/* journal_recover.c: a start: what is in the journal is written to the segments again.
 *
 * The parts of all entries are sorted by folder and segment, in their order, so that each file is
 * opened once.  A part whose store or segment is not there any more is passed over: the store was
 * deleted, or the segment reclaimed.  All of it is synced before the journal's files are removed:
 * a few segments one by one, many with the whole file system.  A crash in between repeats it,
 * which changes nothing.
 * Failure: the start fails, and nothing is removed. */
#include "store/journal/journal_impl.h"

#include "base/array.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdlib.h>

#define FILE_MAX (1u << 30)

struct redo {
    struct journal_part part;
    size_t order;
};
struct recovery_file {
    uint8_t *all;
    uint64_t size;
    struct journal_head head;
    char name[32];
    bool there, good;
};
struct redoing {
    struct store_journal *j;
    struct recovery_file file[JOURNAL_FILES];
    struct redo *redo;
    size_t redos, cap;
    uint64_t passed; /* parts without a segment */
    bool few;        /* segments: each is synced alone */
    struct mf_error *e;
};

/* --- reading ---------------------------------------------------------------------------------- */

static int read_file(struct redoing *r, unsigned i)
{
    struct recovery_file *f = &r->file[i];
    struct store_io *io = r->j->io;
    struct store_file *file;
    uint32_t version = 0;

    journal_file_name(i, f->name);
    int rc = io->open(io, f->name, false, &file, r->e);
    if (rc == MF_NOTFOUND)
        return 0;
    if (rc != 0)
        return rc;
    f->there = true;
    rc = io->size(io, file, &f->size, r->e);
    if (rc == 0 && f->size > FILE_MAX)
        rc = mf_fail(r->e, MF_CORRUPT, "%s is too large", f->name);
    if (rc == 0 && f->size >= JOURNAL_PAGE) {
        f->all = malloc(f->size);
        rc = f->all == NULL ? mf_fail(r->e, MF_NOMEM, "read %s", f->name)
                            : io->pread(io, file, f->all, f->size, 0, r->e);
    }
    io->close(io, file);
    if (rc != 0 || f->all == NULL)
        return rc;
    rc = journal_page_decode(f->all, &f->head, &version);
    if (rc == MF_UNSUPPORTED)
        return mf_fail(r->e, rc, "%s has version %u, this server reads only up to %u", f->name,
                       version, JOURNAL_VERSION);
    if (rc == MF_CORRUPT)
        log_error("commit journal: the header of %s is damaged: the last commits of some streams "
                  "may be lost",
                  f->name);
    f->good = rc == 0;
    return 0;
}

static int keep_parts(struct redoing *r, struct journal_entry *x, bool *bad)
{
    enum journal_state state;
    struct journal_part p;

    while (journal_part_next(x, &p, &state)) {
        *bad |= state == JOURNAL_BAD;
        if (state != JOURNAL_GOOD)
            continue;
        if (mf_array_reserve(&r->redo, &r->cap, r->redos + 1, sizeof *r->redo) != 0)
            return mf_fail(r->e, MF_NOMEM, "entries of the commit journal");
        r->redo[r->redos] = (struct redo){p, r->redos};
        r->redos++;
    }
    return 0;
}

/* The end of the entries is where none follows.  A bad place with an entry behind it is damage:
 * that entry was written after the sync of all before it. */
static int read_entries(struct redoing *r, struct recovery_file *f)
{
    uint64_t bad_at = 0;
    struct journal_entry x;
    int rc = 0;

    for (uint64_t at = JOURNAL_PAGE; at < f->size && rc == 0;) {
        bool bad = false;
        if (!journal_entry_read(f->all, f->size, f->head.key, at, &x)) {
            bad_at = bad_at == 0 ? at : bad_at;
            at += 8;
            continue;
        }
        if (bad_at != 0)
            log_error("commit journal: %s is damaged at %" PRIu64 ", before %" PRIu64
                      ": commits of some streams may be lost; their own checks tell",
                      f->name, bad_at, x.offset);
        rc = keep_parts(r, &x, &bad);
        bad_at = bad ? x.offset : 0;
        at += x.size;
    }
    return rc;
}

/* --- writing again ---------------------------------------------------------------------------- */

static int compare_paths(const struct journal_part *a, const struct journal_part *b)
{
    if (a->path_len != b->path_len)
        return a->path_len < b->path_len ? -1 : 1;
    return memcmp(a->path, b->path, a->path_len);
}

static int by_place(const void *a, const void *b)
{
    const struct redo *x = a, *y = b;
    int c = compare_paths(&x->part, &y->part);

    if (c == 0 && x->part.segment != y->part.segment)
        c = x->part.segment < y->part.segment ? -1 : 1;
    return c != 0 ? c : x->order < y->order ? -1 : 1;
}

/* MF_NOTFOUND: the file is another segment's by now. */
static int check_segment(struct redoing *r, struct store_io *io, struct store_file *f,
                         uint64_t number, struct segment_head *h)
{
    uint8_t page[SEGMENT_PAGE];
    uint64_t size;
    int rc = io->size(io, f, &size, r->e);

    if (rc != 0 || size < SEGMENT_PAGE)
        return rc != 0 ? rc : MF_NOTFOUND;
    if ((rc = io->pread(io, f, page, sizeof page, 0, r->e)) != 0)
        return rc;
    if (segment_page_decode(page, h) != 0 || h->number != number)
        return MF_NOTFOUND;
    h->size = h->size < size ? h->size : size;
    return 0;
}

/* Parts [from, to) are of one segment. */
static int redo_segment(struct redoing *r, struct store_io *io, size_t from, size_t to)
{
    char name[32];
    struct segment_head h;
    struct store_file *f;

    segment_name(name, r->redo[from].part.segment);
    int rc = io->open(io, name, false, &f, r->e);
    if (rc != 0)
        return rc;
    rc = check_segment(r, io, f, r->redo[from].part.segment, &h);
    for (size_t i = from; i < to && rc == 0; i++) {
        const struct journal_part *p = &r->redo[i].part;
        if (memcmp(p->id, h.id, STORE_ID) != 0 || p->offset < SEGMENT_PAGE || p->offset > h.size ||
            p->len > h.size - p->offset) {
            r->passed++;
            continue;
        }
        rc = io->pwrite(io, f, p->bytes, p->len, p->offset, r->e);
        r->j->stats.recovered++;
    }
    if (rc == 0 && r->few)
        rc = io->sync(io, f, r->e);
    io->close(io, f);
    return rc;
}

static int redo_store(struct redoing *r, size_t from, size_t to)
{
    struct store_io *io;
    char *path = mf_slice_dup(mf_slice(r->redo[from].part.path, r->redo[from].part.path_len));
    int rc = path == NULL ? mf_fail(r->e, MF_NOMEM, "entries of the commit journal")
                          : r->j->o.find(r->j->o.arg, path, &io, r->e);

    free(path);
    if (rc == MF_NOTFOUND)
        r->passed += to - from;
    if (rc != 0)
        return rc == MF_NOTFOUND ? 0 : rc;
    if ((rc = io->enter(io, r->e)) == 0) {
        for (size_t i = from, n; i < to && rc == 0; i = n) {
            for (n = i; n < to && r->redo[n].part.segment == r->redo[i].part.segment;)
                n++;
            rc = redo_segment(r, io, i, n);
            if (rc == MF_NOTFOUND) {
                r->passed += n - i;
                rc = 0;
            }
        }
        if (rc == 0 && r->few)
            rc = io->syncdir(io, r->e);
        io->leave(io);
    }
    io->free(io);
    return rc;
}

/* Syncing the file system waits for what other programs wrote, too: not worth it for a few. */
static bool few_segments(const struct redoing *r)
{
    uint32_t most = r->j->o.sync_each != 0 ? r->j->o.sync_each : JOURNAL_SYNC_EACH, n = 1;

    for (size_t i = 1; i < r->redos && n <= most; i++) {
        const struct journal_part *a = &r->redo[i - 1].part, *b = &r->redo[i].part;
        n += compare_paths(a, b) != 0 || a->segment != b->segment;
    }
    return n <= most;
}

static int redo_all(struct redoing *r)
{
    int rc = 0;

    if (r->redos == 0)
        return 0;
    qsort(r->redo, r->redos, sizeof *r->redo, by_place);
    r->few = few_segments(r);
    for (size_t i = 0, n; i < r->redos && rc == 0; i = n) {
        for (n = i; n < r->redos && compare_paths(&r->redo[n].part, &r->redo[i].part) == 0;)
            n++;
        rc = redo_store(r, i, n);
    }
    if (rc == 0 && !r->few)
        rc = r->j->o.sync_all(r->j->o.arg, r->e);
    if (rc == 0)
        log_info("commit journal: %" PRIu64
                 " parts of commits were written to their streams again, "
                 "%" PRIu64 " belong to none",
                 r->j->stats.recovered, r->passed);
    return rc;
}

/* --- all -------------------------------------------------------------------------------------- */

/* Their names may not come back: by then the streams may have erased what is in them. */
static int remove_files(struct redoing *r)
{
    struct store_io *io = r->j->io;
    bool any = false;
    int rc = 0;

    for (unsigned i = 0; i < JOURNAL_FILES && rc == 0; i++) {
        any |= r->file[i].there;
        if (r->file[i].there)
            rc = io->unlink(io, r->file[i].name, r->e);
    }
    return rc == 0 && any ? io->syncdir(io, r->e) : rc;
}

int journal_recover(struct store_journal *j, struct mf_error *e)
{
    struct redoing r = {.j = j, .e = e};
    int rc = 0;

    for (unsigned i = 0; i < JOURNAL_FILES && rc == 0; i++)
        rc = read_file(&r, i);
    /* In the order of their generations. */
    unsigned first = r.file[0].head.generation > r.file[1].head.generation ? 1 : 0;
    for (unsigned i = 0; i < JOURNAL_FILES && rc == 0; i++)
        if (r.file[(first + i) % JOURNAL_FILES].good)
            rc = read_entries(&r, &r.file[(first + i) % JOURNAL_FILES]);
    if (rc == 0)
        rc = redo_all(&r);
    if (rc == 0)
        rc = remove_files(&r);
    for (unsigned i = 0; i < JOURNAL_FILES; i++)
        free(r.file[i].all);
    free(r.redo);
    return rc;
}
