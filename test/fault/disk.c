/* disk.c: see disk.h. */
#include "disk.h"

#include "support/must.h"

#include "store/log/record.h"
#include "store/recover/recover.h"

struct taking {
    struct disk *d;
    struct store_io *io;
};

static int take_one(void *arg, const char *name)
{
    struct taking *t = arg;
    struct disk_file *f = &t->d->file[t->d->files++];
    struct store_file *open;
    struct mf_error e;
    uint64_t size;

    MUST(t->d->files <= DISK_FILES, "more files than expected");
    MUST(t->io->open(t->io, name, false, &open, &e) == 0 &&
             t->io->size(t->io, open, &size, &e) == 0,
         "%s", e.text);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->size = (size_t)size;
    f->bytes = must_alloc(NULL, f->size + 1, 1);
    MUST(t->io->pread(t->io, open, f->bytes, f->size, 0, &e) == 0, "%s", e.text);
    t->io->close(t->io, open);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct disk_file *)a)->name, ((const struct disk_file *)b)->name);
}

void disk_take_open(struct disk *d, struct store_io *io)
{
    struct mf_error e;

    *d = (struct disk){0};
    MUST(io->list(io, take_one, &(struct taking){d, io}, &e) == 0, "%s", e.text);
    qsort(d->file, d->files, sizeof d->file[0], by_name);
}

void disk_take(struct disk *d, struct store_io *io)
{
    struct mf_error e;

    MUST(io->enter(io, &e) == 0, "%s", e.text);
    disk_take_open(d, io);
    io->leave(io);
}

void disk_free(struct disk *d)
{
    for (size_t i = 0; i < d->files; i++)
        free(d->file[i].bytes);
    d->files = 0;
}

static bool left_out(const struct disk *d, const char *name)
{
    return d->without != NULL && strcmp(name, d->without) == 0;
}

struct store_io *disk_make(const struct disk *d)
{
    struct store_io *io;
    struct mf_error e;

    MUST(store_io_memory(&io, &e) == 0 && io->enter(io, &e) == 0, "%s", e.text);
    for (size_t i = 0; i < d->files; i++) {
        const struct disk_file *f = &d->file[i];
        struct store_file *open;
        if (left_out(d, f->name))
            continue;
        MUST(io->open(io, f->name, true, &open, &e) == 0 &&
                 io->pwrite(io, open, f->bytes, f->size, 0, &e) == 0,
             "%s", e.text);
        io->close(io, open);
    }
    io->leave(io);
    return io;
}

struct disk_file *disk_find(struct disk *d, const char *name)
{
    for (size_t i = 0; i < d->files; i++)
        if (strcmp(d->file[i].name, name) == 0 && !left_out(d, name))
            return &d->file[i];
    return NULL;
}

/* --- for mayfly check ------------------------------------------------------------------------- */

static int source_list(void *arg, int (*visit)(void *visit_arg, const char *name), void *visit_arg,
                       struct mf_error *e)
{
    const struct disk *d = arg;

    (void)e;
    for (size_t i = 0; i < d->files; i++) {
        if (left_out(d, d->file[i].name))
            continue;
        int rc = visit(visit_arg, d->file[i].name);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int source_size(void *arg, const char *name, uint64_t *out, struct mf_error *e)
{
    const struct disk_file *f = disk_find(arg, name);

    if (f == NULL)
        return mf_fail(e, MF_NOTFOUND, "%s", name);
    *out = f->size;
    return 0;
}

static int source_pread(void *arg, const char *name, void *dst, size_t n, uint64_t off, size_t *got,
                        struct mf_error *e)
{
    const struct disk_file *f = disk_find(arg, name);

    if (f == NULL)
        return mf_fail(e, MF_NOTFOUND, "%s", name);
    *got = off >= f->size ? 0 : f->size - off < n ? (size_t)(f->size - off) : n;
    if (*got > 0)
        memcpy(dst, f->bytes + off, *got);
    return 0;
}

struct check_source disk_source(struct disk *d)
{
    return (struct check_source){source_list, source_size, source_pread, d};
}

/* --- records ---------------------------------------------------------------------------------- */

static void span_of(struct disk_span *s, const struct record *r)
{
    s->type = r->type;
    switch (r->type) {
    case RECORD_MESSAGE:
    case RECORD_COPY:
    case RECORD_REMOVE:
    case RECORD_DEADLINE:
    case RECORD_ERASE:
        s->first = s->last = r->seq;
        break;
    case RECORD_RANGE:
        s->first = r->seq;
        s->last = r->seq_last;
        break;
    case RECORD_SET:
        s->set = must_alloc(NULL, r->count, sizeof *s->set);
        s->count = r->count;
        for (uint32_t i = 0; i < r->count; i++)
            s->set[i] = record_set_at(r, i);
        break;
    case RECORD_COMMIT:
        s->synced_segment = r->synced.segment;
        s->synced_offset = r->synced.offset;
        break;
    case RECORD_MARK:
        s->first = 1;
        s->last = UINT64_MAX;
        break;
    default:
        break;
    }
}

struct disk_span *disk_spans(const struct disk *d, size_t *n)
{
    struct disk_span *spans = NULL;
    size_t count = 0, cap = 0;
    uint64_t batch = 1;

    for (size_t i = 0; i < d->files; i++) {
        const struct disk_file *f = &d->file[i];
        struct segment_head head;
        uint64_t number, offset = SEGMENT_PAGE;
        struct record r;
        if (!segment_number(f->name, &number) || f->size < SEGMENT_PAGE)
            continue;
        MUST(segment_page_decode(f->bytes, &head) == 0, "the header of %s is damaged", f->name);
        uint64_t key = record_key(head.id, number);
        for (; offset < f->size &&
               record_read_head(f->bytes + offset, f->size - offset, key, offset, &r);
             offset += r.size) {
            if (count == cap) {
                cap = cap * 2 + 256;
                spans = must_alloc(spans, cap, sizeof *spans);
            }
            spans[count] = (struct disk_span){
                .file = i, .offset = offset, .size = r.size, .batch = batch, .segment = number};
            span_of(&spans[count++], &r);
            if (r.last || r.type == RECORD_COMMIT || r.type == RECORD_SEAL)
                batch++;
        }
    }
    *n = count;
    return spans;
}

void disk_spans_free(struct disk_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(spans[i].set);
    free(spans);
}
