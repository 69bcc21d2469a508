/* io_memory.c: the files under a store, in memory.
 *
 * A file's bytes lie in one block, so that they can be mapped.  A mapped block never moves: a
 * file that outgrows it gets a larger block, and the old one stays until its last unmap; until
 * then writes change both.  That happens O(log size) times in a file's life.  Stores map files
 * that have their final size, so almost every file has exactly one block. */
#include "store/store_io.h"

#include "base/buf.h"
#include "codec/hash.h"
#include "base/table.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEADER 64 /* before the bytes of a block, so that unmap() finds it */
#define BIG    ((size_t)1 << 20)

/* Bytes beyond the file's size are zero, so growing within a block touches nothing.  From BIG on a
 * block is a mapping of its own: lazily filled, moved without copying, given back when freed. */
struct block {
    struct block *older;
    struct store_file *file;
    size_t cap; /* bytes after the header */
    size_t maps;
};
_Static_assert(sizeof(struct block) <= HEADER, "the header has room");

/* The first block holds all of the file: cap >= size; older ones are mapped.  No block: size 0. */
struct store_file {
    pthread_mutex_t mutex; /* size, blocks and what is in them */
    uint64_t size;
    struct block *blocks;
    size_t refs; /* its name, its opens, its mappings; under the io's mutex */
};
struct entry {
    struct table_node node;
    struct store_file *file;
    char name[];
};
/* The two mutexes are never held together. */
struct memory_io {
    struct store_io io;
    pthread_mutex_t mutex;
    struct table names;
    bool entered;
};

static struct memory_io *memory_of(struct store_io *io)
{
    return mf_container(io, struct memory_io, io);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static uint8_t *bytes_of(struct block *b)
{
    return (uint8_t *)b + HEADER;
}

static bool is_big(size_t cap)
{
    return cap >= BIG;
}

static struct block *block_new(struct store_file *f, size_t cap)
{
    struct block *b;

    if (is_big(cap)) {
        void *p =
            mmap(NULL, HEADER + cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        b = p == MAP_FAILED ? NULL : p;
    } else {
        b = calloc(1, HEADER + cap);
    }
    if (b == NULL)
        return NULL;
    b->file = f;
    b->cap = cap;
    return b;
}

static void block_free(struct block *b)
{
    if (b != NULL && is_big(b->cap))
        munmap(b, HEADER + b->cap);
    else
        free(b);
}

/* Doubles while small; a large one, which the system moves without copying, by a quarter. */
static size_t grown_size(size_t cap, size_t need)
{
    size_t next = is_big(cap) ? cap + cap / 4 : 2 * cap;
    return next < need ? need : next;
}

static int reserve_block(struct store_file *f, size_t need)
{
    struct block *old = f->blocks;

    if (need <= (old == NULL ? 0 : old->cap))
        return 0;
    size_t cap = grown_size(old == NULL ? 0 : old->cap, need);
    if (old != NULL && old->maps == 0 && is_big(old->cap)) {
        void *p = mremap(old, HEADER + old->cap, HEADER + cap, MREMAP_MAYMOVE);
        if (p == MAP_FAILED)
            return MF_FULL;
        f->blocks = p;
        f->blocks->cap = cap;
        return 0;
    }
    struct block *b = block_new(f, cap);
    if (b == NULL)
        return MF_FULL;
    if (old != NULL)
        memcpy(bytes_of(b), bytes_of(old), (size_t)f->size);
    if (old != NULL && old->maps == 0) {
        b->older = old->older;
        block_free(old);
    } else {
        b->older = old;
    }
    f->blocks = b;
    return 0;
}

/* Zeroes [from, to); whole pages of a big block are returned to the system. */
static void block_clear(struct block *b, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (to > b->cap)
        to = b->cap;
    if (from >= to)
        return;
    if (is_big(b->cap)) {
        size_t first = (HEADER + from + page - 1) / page * page, last = HEADER + to;
        if (first < last && madvise((uint8_t *)b + first, last - first, MADV_DONTNEED) == 0)
            to = first - HEADER;
    }
    memset(bytes_of(b) + from, 0, to - from);
}

/* Gives back what a truncated file needs no more.  Without success it only keeps more. */
static void shrink_file(struct store_file *f)
{
    struct block *b = f->blocks;

    if (b == NULL || b->maps != 0 || is_big(b->cap))
        return;
    if (f->size == 0) {
        f->blocks = b->older;
        block_free(b);
        return;
    }
    if (f->size > b->cap / 2)
        return;
    b = realloc(b, HEADER + (size_t)f->size);
    if (b == NULL)
        return;
    b->cap = (size_t)f->size;
    f->blocks = b;
}

/* --- names ------------------------------------------------------------------------------------ */

static struct entry *find_entry(struct memory_io *m, const char *name)
{
    uint64_t hash = hash_bytes(name, strlen(name));

    for (struct table_node *n = table_first(&m->names, hash); n != NULL; n = table_next(n)) {
        struct entry *entry = mf_container(n, struct entry, node);
        if (strcmp(entry->name, name) == 0)
            return entry;
    }
    return NULL;
}

/* Under the mutex.  Takes a reference of f's over; NULL when out of memory. */
static struct entry *add_entry(struct memory_io *m, const char *name, struct store_file *f)
{
    size_t n = strlen(name);
    struct entry *entry = malloc(sizeof *entry + n + 1);

    if (entry == NULL)
        return NULL;
    entry->file = f;
    memcpy(entry->name, name, n + 1);
    if (table_add(&m->names, &entry->node, hash_bytes(name, n)) != 0) {
        free(entry);
        return NULL;
    }
    return entry;
}

static struct store_file *file_new(void)
{
    struct store_file *f = calloc(1, sizeof *f);

    if (f == NULL)
        return NULL;
    pthread_mutex_init(&f->mutex, NULL);
    f->refs = 1;
    return f;
}

static void file_free(struct store_file *f)
{
    while (f->blocks != NULL) {
        struct block *b = f->blocks;
        f->blocks = b->older;
        block_free(b);
    }
    pthread_mutex_destroy(&f->mutex);
    free(f);
}

static void release_file(struct memory_io *m, struct store_file *f)
{
    pthread_mutex_lock(&m->mutex);
    bool last = --f->refs == 0;
    pthread_mutex_unlock(&m->mutex);
    if (last)
        file_free(f);
}

static int memory_enter(struct store_io *io, struct mf_error *e)
{
    struct memory_io *m = memory_of(io);

    pthread_mutex_lock(&m->mutex);
    bool was = m->entered;
    m->entered = true;
    pthread_mutex_unlock(&m->mutex);
    return was ? mf_fail(e, MF_EXISTS, "these files in memory are already in use") : 0;
}

static void memory_leave(struct store_io *io)
{
    struct memory_io *m = memory_of(io);

    pthread_mutex_lock(&m->mutex);
    m->entered = false;
    pthread_mutex_unlock(&m->mutex);
}

static int open_locked(struct memory_io *m, const char *name, bool create, struct store_file **out)
{
    struct entry *entry = find_entry(m, name);

    if (entry == NULL && !create)
        return MF_NOTFOUND;
    if (entry != NULL && create)
        return MF_EXISTS;
    if (entry == NULL) {
        struct store_file *f = file_new();
        if (f == NULL)
            return MF_NOMEM;
        entry = add_entry(m, name, f);
        if (entry == NULL) {
            file_free(f);
            return MF_NOMEM;
        }
    }
    entry->file->refs++;
    *out = entry->file;
    return 0;
}

static int memory_open(struct store_io *io, const char *name, bool create, struct store_file **out,
                       struct mf_error *e)
{
    struct memory_io *m = memory_of(io);

    if (!store_io_name_ok(name))
        return mf_fail(e, MF_INVAL, "file name '%s'", name);
    pthread_mutex_lock(&m->mutex);
    int rc = open_locked(m, name, create, out);
    pthread_mutex_unlock(&m->mutex);
    return rc == 0 ? 0
                   : mf_fail(e, rc, "%s %s in memory: %s", create ? "create" : "open", name,
                             mf_err_text(rc));
}

static void memory_close(struct store_io *io, struct store_file *f)
{
    release_file(memory_of(io), f);
}

/* Under the mutex; *gone: the file that had this name. */
static int rename_locked(struct memory_io *m, const char *from, const char *to,
                         struct store_file **gone)
{
    struct entry *source = find_entry(m, from), *target = find_entry(m, to);

    if (source == NULL)
        return MF_NOTFOUND;
    if (source == target)
        return 0;
    if (target != NULL) {
        *gone = target->file;
        target->file = source->file;
    } else if (add_entry(m, to, source->file) == NULL) {
        return MF_NOMEM;
    }
    table_del(&m->names, &source->node);
    free(source);
    return 0;
}

static int memory_rename(struct store_io *io, const char *from, const char *to, struct mf_error *e)
{
    struct memory_io *m = memory_of(io);
    struct store_file *gone = NULL;

    if (!store_io_name_ok(from) || !store_io_name_ok(to))
        return mf_fail(e, MF_INVAL, "file name '%s' or '%s'", from, to);
    pthread_mutex_lock(&m->mutex);
    int rc = rename_locked(m, from, to, &gone);
    pthread_mutex_unlock(&m->mutex);
    if (gone != NULL)
        release_file(m, gone);
    return rc == 0 ? 0 : mf_fail(e, rc, "rename %s to %s in memory: %s", from, to, mf_err_text(rc));
}

static int memory_unlink(struct store_io *io, const char *name, struct mf_error *e)
{
    struct memory_io *m = memory_of(io);
    struct store_file *gone = NULL;

    if (!store_io_name_ok(name))
        return mf_fail(e, MF_INVAL, "file name '%s'", name);
    pthread_mutex_lock(&m->mutex);
    struct entry *entry = find_entry(m, name);
    if (entry != NULL) {
        gone = entry->file;
        table_del(&m->names, &entry->node);
        free(entry);
    }
    pthread_mutex_unlock(&m->mutex);
    if (gone == NULL)
        return mf_fail(e, MF_NOTFOUND, "unlink %s in memory: not found", name);
    release_file(m, gone);
    return 0;
}

static int memory_syncdir(struct store_io *io, struct mf_error *e)
{
    (void)io, (void)e;
    return 0;
}

/* The names are copied first: the visitor may open and unlink. */
static int memory_list(struct store_io *io, int (*visit)(void *arg, const char *name), void *arg,
                       struct mf_error *e)
{
    struct memory_io *m = memory_of(io);
    struct mf_buf names = MF_BUF_INIT;
    int rc = 0;

    pthread_mutex_lock(&m->mutex);
    for (size_t i = 0; i < m->names.cap; i++)
        for (struct table_node *n = m->names.slot[i]; n != NULL; n = n->next) {
            const struct entry *entry = mf_container(n, struct entry, node);
            mf_buf_append(&names, entry->name, strlen(entry->name) + 1);
        }
    pthread_mutex_unlock(&m->mutex);
    if (mf_buf_failed(&names))
        rc = mf_fail(e, MF_NOMEM, "list files in memory");
    for (size_t at = 0; rc == 0 && at < names.len;) {
        const char *name = (const char *)names.ptr + at;
        at += strlen(name) + 1;
        rc = visit(arg, name);
    }
    mf_buf_fini(&names);
    return rc;
}

/* --- one file --------------------------------------------------------------------------------- */

static int memory_size(struct store_io *io, struct store_file *f, uint64_t *out, struct mf_error *e)
{
    (void)io, (void)e;
    pthread_mutex_lock(&f->mutex);
    *out = f->size;
    pthread_mutex_unlock(&f->mutex);
    return 0;
}

static int memory_pread(struct store_io *io, struct store_file *f, void *dst, size_t n,
                        uint64_t off, struct mf_error *e)
{
    (void)io;
    pthread_mutex_lock(&f->mutex);
    uint64_t size = f->size;
    bool inside = off <= size && n <= size - off;
    if (inside && n > 0)
        memcpy(dst, bytes_of(f->blocks) + off, n);
    pthread_mutex_unlock(&f->mutex);
    if (inside || n == 0)
        return 0;
    return mf_fail(e, MF_IO, "read %zu bytes at %llu of a file in memory: it ends at %llu", n,
                   (unsigned long long)off, (unsigned long long)size);
}

/* Limit of a block, so that sizes never overflow. */
static bool too_large(uint64_t off, uint64_t n)
{
    return n > SIZE_MAX / 4 || off > SIZE_MAX / 4;
}

static int memory_pwrite(struct store_io *io, struct store_file *f, const void *src, size_t n,
                         uint64_t off, struct mf_error *e)
{
    (void)io;
    if (n == 0)
        return 0;
    pthread_mutex_lock(&f->mutex);
    int rc = too_large(off, n) ? MF_FULL : reserve_block(f, (size_t)off + n);
    for (struct block *b = rc == 0 ? f->blocks : NULL; b != NULL; b = b->older)
        if (off < b->cap)
            memcpy(bytes_of(b) + off, src, n < b->cap - off ? n : (size_t)(b->cap - off));
    if (rc == 0 && off + n > f->size)
        f->size = off + n;
    pthread_mutex_unlock(&f->mutex);
    return rc == 0 ? 0
                   : mf_fail(e, rc, "write %zu bytes at %llu of a file in memory: out of memory", n,
                             (unsigned long long)off);
}

static int memory_sync(struct store_io *io, struct store_file *f, struct mf_error *e)
{
    (void)io, (void)f, (void)e;
    return 0;
}

static int memory_truncate(struct store_io *io, struct store_file *f, uint64_t size,
                           struct mf_error *e)
{
    (void)io;
    pthread_mutex_lock(&f->mutex);
    int rc = too_large(size, 0) ? MF_FULL : reserve_block(f, (size_t)size);
    if (rc == 0) {
        for (struct block *b = f->blocks; b != NULL; b = b->older)
            block_clear(b, (size_t)size, (size_t)f->size);
        f->size = size;
        shrink_file(f);
    }
    pthread_mutex_unlock(&f->mutex);
    return rc == 0 ? 0
                   : mf_fail(e, rc, "truncate a file in memory to %llu bytes: out of memory",
                             (unsigned long long)size);
}

/* --- mappings --------------------------------------------------------------------------------- */

static const uint8_t *memory_map(struct store_io *io, struct store_file *f, uint64_t size)
{
    struct memory_io *m = memory_of(io);
    const uint8_t *p = NULL;

    pthread_mutex_lock(&f->mutex);
    if (size > 0 && size <= f->size) {
        f->blocks->maps++;
        p = bytes_of(f->blocks);
    }
    pthread_mutex_unlock(&f->mutex);
    if (p == NULL)
        return NULL;
    pthread_mutex_lock(&m->mutex);
    f->refs++; /* the caller's open holds it until here */
    pthread_mutex_unlock(&m->mutex);
    return p;
}

static void memory_unmap(struct store_io *io, const uint8_t *p, uint64_t size)
{
    struct block *b = (struct block *)(void *)((uint8_t *)p - HEADER);
    struct store_file *f = b->file;

    (void)size;
    pthread_mutex_lock(&f->mutex);
    if (--b->maps == 0 && b != f->blocks) {
        struct block **at = &f->blocks;
        while (*at != b)
            at = &(*at)->older;
        *at = b->older;
        block_free(b);
    }
    pthread_mutex_unlock(&f->mutex);
    release_file(memory_of(io), f);
}

static bool memory_resident(struct store_io *io, const uint8_t *p, uint64_t off, size_t n)
{
    (void)io, (void)p, (void)off, (void)n;
    return true; /* if it is swapped out there is no better place to read it from */
}

/* Files that are still open or mapped are an error of the caller and leak. */
static void memory_free(struct store_io *io)
{
    if (io == NULL)
        return;
    struct memory_io *m = memory_of(io);
    size_t start = 0;
    for (struct table_node *n; (n = table_any(&m->names, &start)) != NULL;) {
        struct entry *entry = mf_container(n, struct entry, node);
        table_del(&m->names, n);
        release_file(m, entry->file);
        free(entry);
    }
    table_fini(&m->names);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

int store_io_memory(struct store_io **out, struct mf_error *e)
{
    struct memory_io *m = calloc(1, sizeof *m);

    if (m == NULL)
        return mf_fail(e, MF_NOMEM, "files in memory");
    m->io = (struct store_io){.enter = memory_enter,
                              .leave = memory_leave,
                              .open = memory_open,
                              .close = memory_close,
                              .size = memory_size,
                              .pread = memory_pread,
                              .pwrite = memory_pwrite,
                              .sync = memory_sync,
                              .truncate = memory_truncate,
                              .map = memory_map,
                              .unmap = memory_unmap,
                              .resident = memory_resident,
                              .rename = memory_rename,
                              .unlink = memory_unlink,
                              .syncdir = memory_syncdir,
                              .list = memory_list,
                              .free = memory_free};
    pthread_mutex_init(&m->mutex, NULL);
    *out = &m->io;
    return 0;
}
