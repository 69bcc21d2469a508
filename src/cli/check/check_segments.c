/* check_segments.c: lists segment files, checks their names, headers and sizes, and loads one. */
#include "cli/check/check_impl.h"
#include "base/array.h"

#include "codec/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LOAD_CHUNK (UINT64_C(1) << 20) /* small enough to be hashed while still in the cache */

void check_seg_name(char dst[24], uint64_t number)
{
    (void)snprintf(dst, 24, "%016" PRIx64 ".log", number);
}

/* --- listing ---------------------------------------------------------------------------------- */

/* The number of a segment's name: 16 lower case hexadecimal digits and ".log"; 0: it is none. */
static uint64_t number_of(const char *name)
{
    uint64_t n = 0;

    if (strlen(name) != 20 || strcmp(name + 16, ".log") != 0)
        return 0;
    for (int i = 0; i < 16; i++) {
        char ch = name[i];

        if (ch >= '0' && ch <= '9')
            n = n * 16 + (uint64_t)(ch - '0');
        else if (ch >= 'a' && ch <= 'f')
            n = n * 16 + (uint64_t)(ch - 'a' + 10);
        else
            return 0;
    }
    return n;
}

static int add_segment(struct ctx *c, uint64_t number)
{
    if (mf_array_reserve(&c->seg, &c->seg_cap, c->segs + 1, sizeof *c->seg) != 0)
        return MF_NOMEM;
    c->seg[c->segs++] = (struct seg){.number = number};
    return 0;
}

static int visit_name(void *arg, const char *name)
{
    struct ctx *c = arg;
    struct mf_slice s = mf_str(name);
    uint64_t number = number_of(name);

    if (number != 0)
        return add_segment(c, number);
    if (strcmp(name, KEY_NAME) == 0)
        c->crypt.there = true;
    else if (strcmp(name, CHECKPOINT_NAME) == 0)
        c->has_checkpoint = true;
    else if (mf_ends(s, ".damaged"))
        check_note(c, "%.60s was taken out of service because it held damage; kept for inspection",
                   name);
    else if (mf_ends(s, ".log"))
        check_note(c, "%.60s is not a segment's name and is ignored; move it away", name);
    else if (strcmp(name, "store.lock") != 0 && !mf_ends(s, ".tmp"))
        check_note(c, "%.60s does not belong to a store and is ignored", name);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct seg *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* --- headers ---------------------------------------------------------------------------------- */

static int read_copy(struct seg *s, int which, const uint8_t *p, struct mf_error *e)
{
    uint64_t size = rd64(p + 40);
    const uint8_t *id = p + 16;

    if (memcmp(p, "MAYFLYSG", 8) != 0 ||
        checksum64(p, 56, which == 0 ? 0 : HEADER_COPY) != rd64(p + 56))
        return 0;
    if (rd32(p + 8) > FORMAT_VERSION)
        return mf_fail(e, MF_UNSUPPORTED,
                       "format version %" PRIu32 ", this tool knows %u: use the mayfly that came "
                       "with the server",
                       rd32(p + 8), FORMAT_VERSION);
    if (rd32(p + 8) == 0 || rd32(p + 12) != HEADER_PAGE || rd64(p + 32) != s->number ||
        size % HEADER_PAGE != 0 || size < 2 * HEADER_PAGE || size > MAX_SEGMENT)
        return 0;
    if (which == 1 && s->copy_ok[0])
        s->differ = size != s->size || memcmp(id, s->id, 16) != 0;
    s->copy_ok[which] = true;
    if (which == 0 || !s->copy_ok[0]) {
        s->size = size;
        s->version = rd32(p + 8);
        memcpy(s->id, id, 16);
    }
    return 0;
}

static int read_header(struct ctx *c, struct seg *s, struct mf_error *e)
{
    uint8_t page[HEADER_PAGE];
    char name[24];
    size_t got = 0;
    int rc;

    check_seg_name(name, s->number);
    rc = c->src->size(c->src->arg, name, &s->actual, e);
    if (rc == 0)
        rc = c->src->pread(c->src->arg, name, page, sizeof page, 0, &got, e);
    if (rc == 0 && got >= HEADER_BYTES)
        rc = read_copy(s, 0, page, e);
    if (rc == 0 && got >= HEADER_COPY + HEADER_BYTES)
        rc = read_copy(s, 1, page + HEADER_COPY, e);
    c->res->bytes += s->actual;
    c->total += s->actual;
    return rc == 0 ? 0 : mf_wrap(e, "%s", name);
}

int check_seg_scan(struct ctx *c, struct mf_error *e)
{
    int rc = c->src->list(c->src->arg, visit_name, c, e);

    if (rc == MF_NOMEM || c->nomem)
        return mf_fail(e, MF_NOMEM, "list the files");
    if (rc != 0)
        return rc;
    if (c->segs > 1)
        qsort(c->seg, c->segs, sizeof *c->seg, by_number);
    for (size_t i = 0; i < c->segs && rc == 0; i++)
        rc = read_header(c, &c->seg[i], e);
    return rc;
}

/* The id most files agree on (Boyer and Moore's vote): a file of another store, copied here by
 * mistake, must not make the others look foreign. */
void check_seg_choose_id(struct ctx *c, const uint8_t *cp_id)
{
    const uint8_t *best = cp_id;
    size_t votes = cp_id != NULL ? 1 : 0;

    for (size_t i = 0; i < c->segs; i++) {
        const struct seg *s = &c->seg[i];

        if (!s->copy_ok[0] && !s->copy_ok[1])
            continue;
        if (votes == 0)
            best = s->id;
        if (memcmp(best, s->id, 16) == 0)
            votes++;
        else
            votes--;
    }
    if (best != NULL)
        memcpy(c->res->store_id, best, 16);
    for (size_t i = 0; i < c->segs; i++) {
        struct seg *s = &c->seg[i];

        s->usable =
            (s->copy_ok[0] || s->copy_ok[1]) && memcmp(s->id, c->res->store_id, sizeof s->id) == 0;
        if (!s->usable)
            s->size = s->actual;
    }
}

static void report_header(struct ctx *c, const struct seg *s)
{
    for (int i = 0; i < 2; i++)
        if (!s->copy_ok[i])
            (void)check_found(c, CHECK_HEADER, s->number, i == 0 ? 0 : HEADER_COPY, HEADER_BYTES,
                              "the %s copy of the header is not valid%s",
                              i == 0 ? "first" : "second",
                              s->copy_ok[1 - i] ? "; the other one is" : "");
    if (!s->usable && (s->copy_ok[0] || s->copy_ok[1]))
        (void)check_found(c, CHECK_HEADER, s->number, 0, HEADER_PAGE, "a file of another store");
    else if (s->differ)
        (void)check_found(c, CHECK_HEADER, s->number, HEADER_COPY, HEADER_BYTES,
                          "the two copies of the header differ");
}

static void report_size(struct ctx *c, const struct seg *s)
{
    if (s->usable && s->actual < s->size)
        (void)check_found(c, CHECK_SIZE, s->number, s->actual, s->size - s->actual,
                          "the file is shorter than its header says");
    else if (s->usable && s->actual > s->size)
        (void)check_found(c, CHECK_SIZE, s->number, s->size, s->actual - s->size,
                          "the file is longer than its header says");
    else if (!s->usable && (s->actual % HEADER_PAGE != 0 || s->actual < 2 * HEADER_PAGE ||
                            s->actual > MAX_SEGMENT))
        (void)check_found(c, CHECK_SIZE, s->number, s->actual, 0,
                          "a segment never has this size (%" PRIu64 " bytes)", s->actual);
}

void check_seg_report(struct ctx *c, struct check_pos synced, uint64_t first)
{
    for (size_t i = 0; i < c->segs; i++) {
        const struct seg *s = &c->seg[i];

        if (s->number < first)
            continue;
        /* A header is on disk before anything in its segment is called synced; until then a crash
         * may have left any part of it, and a file without its size. */
        bool known = pos_before((struct check_pos){s->number, HEADER_PAGE}, synced);
        if (known || s->usable || s->actual % HEADER_PAGE != 0)
            report_size(c, s);
        if (known)
            report_header(c, s);
        else if (!s->copy_ok[0] || !s->copy_ok[1])
            check_note(
                c, "%016" PRIx64 ".log: the header is not complete; nothing in it was synced yet",
                s->number);
    }
}

size_t check_seg_at_or_after(const struct ctx *c, uint64_t number)
{
    size_t lo = 0, hi = c->segs;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (c->seg[mid].number < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* --- loading ---------------------------------------------------------------------------------- */

void check_progress(struct ctx *c, uint64_t bytes)
{
    c->done += bytes;
    if (c->o->progress != NULL)
        c->o->progress(c->o->arg, c->done < c->total ? c->done : c->total, c->total);
}

int check_seg_begin(struct ctx *c, size_t index, struct mf_error *e)
{
    const struct seg *s = &c->seg[index];
    uint64_t limit = s->size < s->actual ? s->size : s->actual;

    limit = (limit < MAX_SEGMENT ? limit : MAX_SEGMENT) / 8 * 8;
    if (limit > c->buf_cap) {
        free(c->buf); /* nothing in it is worth the copy realloc would make */
        c->buf_cap = 0;
        c->buf = malloc((size_t)limit);
        if (c->buf == NULL)
            return mf_fail(e, MF_NOMEM, "a buffer of %" PRIu64 " bytes", limit);
        c->buf_cap = (size_t)limit;
    }
    c->cur = index;
    c->loaded = 0;
    c->limit = limit;
    c->key = check_rec_key(c->res->store_id, s->number);
    return 0;
}

int check_seg_load(struct ctx *c, uint64_t upto, struct mf_error *e)
{
    char name[24];

    if (upto > c->limit)
        upto = c->limit;
    while (c->loaded < upto) {
        uint64_t n = c->limit - c->loaded < LOAD_CHUNK ? c->limit - c->loaded : LOAD_CHUNK;
        size_t got = 0;

        check_seg_name(name, c->seg[c->cur].number);
        if (c->src->pread(c->src->arg, name, c->buf + c->loaded, (size_t)n, c->loaded, &got, e) !=
            0)
            return mf_wrap(e, "%s: offset %" PRIu64, name, c->loaded);
        c->loaded += got;
        check_progress(c, got);
        if (got < n) { /* somebody cut it while we read */
            c->limit = c->loaded = c->loaded / 8 * 8;
            return 0;
        }
    }
    return 0;
}
