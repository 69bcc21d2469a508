/* journal_void.c: wiping groups in the journal: of messages that are erased, and of commits that
 * failed behind it.  The bytes of a part become zeros; such a part counts as none. */
#include "store/journal/journal_impl.h"

#include <stdlib.h>

struct voiding {
    const uint8_t *id;
    const uint64_t *seqs; /* ascending; NULL: the parts of im */
    size_t n;
    const struct image *im;
};

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static bool holds_message(const struct voiding *v, const struct journal_part *p)
{
    uint64_t key = record_key(p->id, p->segment);
    struct record r;

    for (size_t at = 0;
         at < p->len && record_read_head(p->bytes + at, p->len - at, key, p->offset + at, &r);
         at += r.size)
        if ((r.type == RECORD_MESSAGE || r.type == RECORD_COPY) &&
            bsearch(&r.seq, v->seqs, v->n, sizeof *v->seqs, by_number) != NULL)
            return true;
    return false;
}

static bool is_meant(const struct voiding *v, const struct journal_part *p)
{
    if (memcmp(p->id, v->id, STORE_ID) != 0)
        return false;
    if (v->seqs != NULL)
        return holds_message(v, p);
    for (size_t i = 0; i < v->im->extents; i++)
        if (v->im->extent[i].len > 0 && v->im->extent[i].number == p->segment &&
            v->im->extent[i].offset == p->offset)
            return true;
    return false;
}

static int void_entry(struct store_journal *j, struct journal_file *f, const uint8_t *all,
                      struct journal_entry *x, const struct voiding *v, bool *changed,
                      struct mf_error *e)
{
    enum journal_state state;
    struct journal_part p;
    int rc = 0;

    while (rc == 0 && journal_part_next(x, &p, &state)) {
        if (state != JOURNAL_GOOD || !is_meant(v, &p))
            continue;
        uint8_t *zeros = calloc(1, record_pad(p.len));
        if (zeros == NULL)
            return mf_fail(e, MF_NOMEM, "wipe in the commit journal");
        rc = j->io->pwrite(j->io, f->file, zeros, record_pad(p.len), (uint64_t)(p.bytes - all), e);
        free(zeros);
        *changed = true;
    }
    return rc;
}

static int void_file(struct store_journal *j, struct journal_file *f, const struct voiding *v,
                     struct mf_error *e)
{
    struct journal_entry x;
    bool changed = false;

    pthread_mutex_lock(&j->lock);
    uint64_t end = f->end, key = f->head.key;
    pthread_mutex_unlock(&j->lock);
    if (end <= JOURNAL_PAGE)
        return 0;
    uint8_t *all = malloc(end);
    if (all == NULL)
        return mf_fail(e, MF_NOMEM, "wipe in the commit journal");
    int rc = j->io->pread(j->io, f->file, all, end, 0, e);
    for (uint64_t at = JOURNAL_PAGE; at < end && rc == 0;) {
        if (!journal_entry_read(all, end, key, at, &x)) {
            at += 8; /* it was emptied meanwhile, or is damaged */
            continue;
        }
        rc = void_entry(j, f, all, &x, v, &changed, e);
        at += x.size;
    }
    free(all);
    if (rc == 0 && changed)
        rc = j->io->sync(j->io, f->file, e);
    return rc;
}

static int void_all(struct store_journal *j, const struct voiding *v, struct mf_error *e)
{
    int rc = 0;

    pthread_mutex_lock(&j->wiping);
    for (unsigned i = 0; i < JOURNAL_FILES && rc == 0; i++)
        rc = void_file(j, &j->file[i], v, e);
    pthread_mutex_unlock(&j->wiping);
    return rc;
}

int journal_void_messages(struct store_journal *j, const uint8_t id[16], const uint64_t *seqs,
                          size_t n, struct mf_error *e)
{
    return void_all(j, &(struct voiding){.id = id, .seqs = seqs, .n = n}, e);
}

int journal_void_group(struct store_journal *j, const uint8_t id[16], const struct image *im,
                       struct mf_error *e)
{
    return void_all(j, &(struct voiding){.id = id, .im = im}, e);
}
