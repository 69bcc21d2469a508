/* recover_files.c: the directory of a store: names, headers, the store they belong to, the bytes
 * of a segment. */
#include "store/recover/recover_impl.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_DIGITS 16

void segment_name(char dst[32], uint64_t number)
{
    snprintf(dst, 32, "%016" PRIx64 ".log", number);
}

bool segment_number(const char *name, uint64_t *number)
{
    uint64_t n = 0;

    for (int i = 0; i < NAME_DIGITS; i++) {
        char c = name[i];
        if (c >= '0' && c <= '9')
            n = n << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            n = n << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    /* The last number has no successor: no log gets that far. */
    if (strcmp(name + NAME_DIGITS, ".log") != 0 || n == 0 || n == UINT64_MAX)
        return false;
    *number = n;
    return true;
}

/* --- damage ----------------------------------------------------------------------------------- */

int recover_files_damage(struct recover *r, struct damages *d, const char *file, uint64_t offset,
                         uint64_t length, const char *what)
{
    if (mf_array_reserve(&d->at, &d->cap, d->count + 1, sizeof *d->at) != 0)
        return mf_fail(r->e, MF_NOMEM, "list of damage");
    struct store_damage *s = &d->at[d->count++];
    *s = (struct store_damage){.offset = offset, .length = length, .what = what};
    snprintf(s->file, sizeof s->file, "%s", file);
    return 0;
}

int recover_seg_damage(struct recover *r, struct damages *d, uint64_t number, uint64_t offset,
                       uint64_t length, const char *what)
{
    char name[32];

    segment_name(name, number);
    return recover_files_damage(r, d, name, offset, length, what);
}

/* --- names ------------------------------------------------------------------------------------ */

static int visit_name(void *arg, const char *name)
{
    struct recover *r = arg;
    uint64_t number;

    if (mf_ends(mf_str(name), ".tmp")) {
        mf_buf_append(&r->tmp, name, strlen(name) + 1);
        return mf_buf_failed(&r->tmp) ? MF_NOMEM : 0;
    }
    if (!segment_number(name, &number))
        return 0;
    if (mf_array_reserve(&r->seg, &r->seg_cap, r->segs + 1, sizeof *r->seg) != 0)
        return MF_NOMEM;
    r->seg[r->segs++] = (struct seg){.number = number};
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct seg *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

int recover_files_list(struct recover *r)
{
    int rc = r->io->list(r->io, visit_name, r, r->e);

    if (rc == MF_NOMEM)
        return mf_fail(r->e, MF_NOMEM, "list of segments");
    if (rc == 0 && r->segs > 1)
        qsort(r->seg, r->segs, sizeof *r->seg, by_number);
    return rc;
}

size_t recover_files_at(const struct recover *r, uint64_t number)
{
    size_t low = 0, high = r->segs;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->seg[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* --- headers ---------------------------------------------------------------------------------- */

int recover_fail_sealed(struct recover *r, const char *file)
{
    return mf_fail(r->e, MF_DENIED,
                   "%s is encrypted, and the file store.key that belongs to it is missing: put it "
                   "back from a backup; nothing was changed",
                   file);
}

static int read_head(struct recover *r, struct seg *s, struct store_file *f, const char *name)
{
    uint8_t page[SEGMENT_PAGE];
    struct segment_head h;
    uint64_t size;
    int rc = r->io->size(r->io, f, &size, r->e);

    if (rc != 0)
        return rc;
    s->state = SEG_BLIND;
    s->size = s->bytes = size < SEGMENT_MAX ? size : SEGMENT_MAX;
    s->end = s->size;
    /* The rest of a truncated page may hold the first copy. */
    memset(page, 0, sizeof page);
    size_t n = size < sizeof page ? (size_t)size : sizeof page;
    if (n > 0 && (rc = r->io->pread(r->io, f, page, n, 0, r->e)) != 0)
        return rc;
    rc = segment_page_decode(page, &h);
    if (rc == MF_UNSUPPORTED)
        return mf_fail(r->e, rc, "%s has version %u, this server reads only up to %u", name,
                       h.version, SEGMENT_VERSION);
    if (rc == 0 && h.number != s->number) { /* then the second copy may be the right one */
        struct segment_head second;
        memset(page, 0, SEGMENT_HEADER);
        if (segment_page_decode(page, &second) == 0 && second.number == s->number)
            h = second;
    }
    if (rc != 0 || h.size < SEGMENT_PAGE || h.size > SEGMENT_MAX)
        return 0;
    s->headed = true;
    memcpy(s->id, h.id, STORE_ID);
    /* Still that of the segment it was made from: what was written since may be there or not. */
    if (h.number != s->number)
        return 0;
    if (h.version >= SEGMENT_CRYPT && r->opener == NULL)
        return recover_fail_sealed(r, name);
    s->state = h.damaged ? SEG_HALF : SEG_GOOD;
    s->bad_at = h.damaged_at;
    s->version = h.version;
    s->size = s->end = h.size;
    s->bytes = size < h.size ? size : h.size;
    return 0;
}

int recover_files_heads(struct recover *r)
{
    char name[32];

    for (size_t i = 0; i < r->segs; i++) {
        struct store_file *f;
        segment_name(name, r->seg[i].number);
        int rc = r->io->open(r->io, name, false, &f, r->e);
        if (rc != 0)
            return rc;
        rc = read_head(r, &r->seg[i], f, name);
        r->io->close(r->io, f);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static size_t count_votes(const struct recover *r, const uint8_t id[STORE_ID])
{
    size_t n = 0;

    for (size_t i = 0; i < r->segs; i++)
        n += r->seg[i].headed && memcmp(r->seg[i].id, id, STORE_ID) == 0;
    return n;
}

/* The id of most headers; of as many, the checkpoint's, then the lowest number's.  O(segments) as
 * long as they agree. */
static void choose_id(struct recover *r)
{
    size_t best = 0;

    if (r->checkpoint) {
        memcpy(r->id, r->cp.id, STORE_ID);
        r->id_known = true;
        best = count_votes(r, r->id);
    }
    for (size_t i = 0; i < r->segs && best * 2 < r->segs; i++) {
        if (!r->seg[i].headed || (r->id_known && memcmp(r->seg[i].id, r->id, STORE_ID) == 0))
            continue;
        size_t n = count_votes(r, r->seg[i].id);
        if (n > best || !r->id_known) {
            memcpy(r->id, r->seg[i].id, STORE_ID);
            best = n;
            r->id_known = true;
        }
    }
}

void recover_files_owner(struct recover *r)
{
    choose_id(r);
    for (size_t i = 0; i < r->segs; i++) {
        struct seg *s = &r->seg[i];
        if (s->headed && memcmp(s->id, r->id, STORE_ID) != 0)
            s->state = SEG_FOREIGN;
        s->key = record_key(r->id, s->number);
    }
}

/* --- bytes ------------------------------------------------------------------------------------ */

int recover_seg_open(struct recover *r, const struct seg *s, struct seg_bytes *out)
{
    struct store_file *f;
    char name[32];

    *out = (struct seg_bytes){.size = s->bytes};
    if (s->bytes == 0)
        return 0;
    segment_name(name, s->number);
    int rc = r->io->open(r->io, name, false, &f, r->e);
    if (rc != 0)
        return rc;
    out->base = r->io->map(r->io, f, s->bytes);
    out->mapped = out->base != NULL;
    if (!out->mapped) {
        uint8_t *all = malloc(s->bytes);
        if (all == NULL)
            rc = mf_fail(r->e, MF_NOMEM, "read %s", name);
        else if ((rc = r->io->pread(r->io, f, all, s->bytes, 0, r->e)) != 0)
            free(all);
        else
            out->base = all;
    }
    r->io->close(r->io, f);
    return rc;
}

void recover_seg_close(struct recover *r, struct seg_bytes *b)
{
    if (b->mapped)
        r->io->unmap(r->io, b->base, b->size);
    else
        free((void *)b->base);
    *b = (struct seg_bytes){0};
}

/* Only zeros?  A file that was made and not written yet is. */
int recover_seg_blank(struct recover *r, const struct seg *s, bool *blank)
{
    struct seg_bytes b;
    uint64_t i = 0;
    int rc = recover_seg_open(r, s, &b);

    if (rc != 0)
        return rc;
    while (i < b.size && b.base[i] == 0)
        i++;
    *blank = i == b.size;
    recover_seg_close(r, &b);
    return 0;
}
