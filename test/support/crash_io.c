/* crash_io.c: files that remember every change.  What a power cut makes of them: crash_cut.c. */
#include "crash_io.h"

#include "crash_log.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct crash_io {
    struct store_io io;
    struct store_io *under;
    pthread_mutex_t mutex; /* held over each change, so that the log has the order of the changes */
    struct crash_log log;
    struct mf_buf names; /* as they are now */
    struct crash_cut *cut;
};
struct store_file {
    struct store_file *under;
    uint32_t node;
};

static struct crash_io *crash_of(struct store_io *io)
{
    return mf_container(io, struct crash_io, io);
}

const char *crash_mode_name(enum crash_mode mode)
{
    static const char *const text[] = {
#define CRASH_MODE_TEXT(name, text) text,
        CRASH_MODE_LIST(CRASH_MODE_TEXT)
#undef CRASH_MODE_TEXT
    };
    return text[mode];
}

/* --- the log ---------------------------------------------------------------------------------- */

/* Everything that can fail for want of memory is done here, before the change itself: room for the
 * op and a name, and a copy of `n` bytes. */
static int prepare(struct crash_io *c, struct crash_op *op, const void *bytes, size_t n,
                   struct mf_error *e)
{
    struct crash_log *log = &c->log;

    if (log->count == log->cap) {
        size_t cap = log->cap == 0 ? 64 : 2 * log->cap;
        struct crash_op *p = realloc(log->ops, cap * sizeof *p);
        if (p == NULL)
            return mf_fail(e, MF_NOMEM, "record a change");
        log->ops = p;
        log->cap = cap;
    }
    if (mf_buf_reserve(&c->names, sizeof(struct crash_name)) == NULL) {
        c->names.failed = false; /* the next change may have more luck */
        return mf_fail(e, MF_NOMEM, "record a change");
    }
    if (n == 0)
        return 0;
    op->bytes = malloc(n);
    if (op->bytes == NULL)
        return mf_fail(e, MF_NOMEM, "record a change");
    memcpy(op->bytes, bytes, n);
    return 0;
}

static int prepare_name(struct crash_io *c, struct crash_op *op, const char *name,
                        struct mf_error *e)
{
    int rc = prepare(c, op, name, strlen(name) + 1, e);
    if (rc == 0)
        op->name = (const char *)op->bytes;
    return rc;
}

/* The change came about (rc is 0) or did not. */
static int finish(struct crash_io *c, struct crash_op *op, int rc)
{
    if (rc != 0) {
        free(op->bytes);
        return rc;
    }
    crash_names_apply(&c->names, op);
    c->log.ops[c->log.count++] = *op;
    return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static int crash_enter(struct store_io *io, struct mf_error *e)
{
    return crash_of(io)->under->enter(crash_of(io)->under, e);
}

static void crash_leave(struct store_io *io)
{
    crash_of(io)->under->leave(crash_of(io)->under);
}

static int create_locked(struct crash_io *c, const char *name, struct store_file *f,
                         struct mf_error *e)
{
    struct crash_op op = {.kind = CHANGE_CREATE, .node = c->log.nodes};
    int rc = prepare_name(c, &op, name, e);

    if (rc == 0)
        rc = finish(c, &op, c->under->open(c->under, name, true, &f->under, e));
    if (rc != 0)
        return rc;
    f->node = c->log.nodes++;
    return 0;
}

static int open_locked(struct crash_io *c, const char *name, struct store_file *f,
                       struct mf_error *e)
{
    int rc = c->under->open(c->under, name, false, &f->under, e);
    if (rc == 0)
        f->node = crash_names_find(&c->names, name)->node;
    return rc;
}

static int crash_open(struct store_io *io, const char *name, bool create, struct store_file **out,
                      struct mf_error *e)
{
    struct crash_io *c = crash_of(io);
    struct store_file *f = malloc(sizeof *f);

    if (f == NULL)
        return mf_fail(e, MF_NOMEM, "open %s", name);
    pthread_mutex_lock(&c->mutex);
    int rc = create ? create_locked(c, name, f, e) : open_locked(c, name, f, e);
    pthread_mutex_unlock(&c->mutex);
    if (rc == 0)
        *out = f;
    else
        free(f);
    return rc;
}

static void crash_close(struct store_io *io, struct store_file *f)
{
    crash_of(io)->under->close(crash_of(io)->under, f->under);
    free(f);
}

static int rename_locked(struct crash_io *c, const char *from, const char *to, struct mf_error *e)
{
    const struct crash_name *old = crash_names_find(&c->names, from);
    struct crash_op op = {.kind = CHANGE_RENAME};
    struct mf_buf both = MF_BUF_INIT;

    mf_buf_append(&both, from, strlen(from) + 1);
    mf_buf_append(&both, to, strlen(to) + 1);
    int rc = mf_buf_failed(&both) ? mf_fail(e, MF_NOMEM, "rename %s", from)
                                  : prepare(c, &op, both.ptr, both.len, e);
    mf_buf_fini(&both);
    if (rc != 0)
        return rc;
    op.name = (const char *)op.bytes;
    op.to = op.name + strlen(from) + 1;
    op.node = old == NULL ? CRASH_NO_NODE : old->node; /* then the rename fails */
    return finish(c, &op, c->under->rename(c->under, from, to, e));
}

static int crash_rename(struct store_io *io, const char *from, const char *to, struct mf_error *e)
{
    struct crash_io *c = crash_of(io);

    pthread_mutex_lock(&c->mutex);
    int rc = rename_locked(c, from, to, e);
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

static int crash_unlink(struct store_io *io, const char *name, struct mf_error *e)
{
    struct crash_io *c = crash_of(io);
    struct crash_op op = {.kind = CHANGE_UNLINK};

    pthread_mutex_lock(&c->mutex);
    const struct crash_name *old = crash_names_find(&c->names, name);
    op.node = old == NULL ? CRASH_NO_NODE : old->node;
    int rc = prepare_name(c, &op, name, e);
    if (rc == 0)
        rc = finish(c, &op, c->under->unlink(c->under, name, e));
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

static int crash_syncdir(struct store_io *io, struct mf_error *e)
{
    struct crash_io *c = crash_of(io);
    struct crash_op op = {.kind = CHANGE_SYNCDIR, .node = CRASH_NO_NODE};

    pthread_mutex_lock(&c->mutex);
    int rc = prepare(c, &op, NULL, 0, e);
    if (rc == 0)
        rc = finish(c, &op, c->under->syncdir(c->under, e));
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

static int crash_list(struct store_io *io, int (*visit)(void *arg, const char *name), void *arg,
                      struct mf_error *e)
{
    return crash_of(io)->under->list(crash_of(io)->under, visit, arg, e);
}

/* --- one file --------------------------------------------------------------------------------- */

static int crash_size(struct store_io *io, struct store_file *f, uint64_t *out, struct mf_error *e)
{
    return crash_of(io)->under->size(crash_of(io)->under, f->under, out, e);
}

static int crash_pread(struct store_io *io, struct store_file *f, void *dst, size_t n, uint64_t off,
                       struct mf_error *e)
{
    return crash_of(io)->under->pread(crash_of(io)->under, f->under, dst, n, off, e);
}

static int crash_pwrite(struct store_io *io, struct store_file *f, const void *src, size_t n,
                        uint64_t off, struct mf_error *e)
{
    struct crash_io *c = crash_of(io);
    struct crash_op op = {.kind = CHANGE_WRITE, .node = f->node, .off = off, .len = n};

    if (n == 0)
        return 0;
    pthread_mutex_lock(&c->mutex);
    int rc = prepare(c, &op, src, n, e);
    if (rc == 0)
        rc = finish(c, &op, c->under->pwrite(c->under, f->under, src, n, off, e));
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

static int crash_sync(struct store_io *io, struct store_file *f, struct mf_error *e)
{
    struct crash_io *c = crash_of(io);
    struct crash_op op = {.kind = CHANGE_SYNC, .node = f->node};

    pthread_mutex_lock(&c->mutex);
    int rc = prepare(c, &op, NULL, 0, e);
    if (rc == 0)
        rc = finish(c, &op, c->under->sync(c->under, f->under, e));
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

static int crash_truncate(struct store_io *io, struct store_file *f, uint64_t size,
                          struct mf_error *e)
{
    struct crash_io *c = crash_of(io);
    struct crash_op op = {.kind = CHANGE_TRUNCATE, .node = f->node, .len = size};

    pthread_mutex_lock(&c->mutex);
    int rc = prepare(c, &op, NULL, 0, e);
    if (rc == 0)
        rc = finish(c, &op, c->under->truncate(c->under, f->under, size, e));
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

static const uint8_t *crash_map(struct store_io *io, struct store_file *f, uint64_t size)
{
    return crash_of(io)->under->map(crash_of(io)->under, f->under, size);
}

static void crash_unmap(struct store_io *io, const uint8_t *p, uint64_t size)
{
    crash_of(io)->under->unmap(crash_of(io)->under, p, size);
}

static bool crash_resident(struct store_io *io, const uint8_t *p, uint64_t off, size_t n)
{
    return crash_of(io)->under->resident(crash_of(io)->under, p, off, n);
}

/* --- images ----------------------------------------------------------------------------------- */

uint64_t crash_io_ops(struct store_io *io)
{
    struct crash_io *c = crash_of(io);

    pthread_mutex_lock(&c->mutex);
    uint64_t n = c->log.count - c->log.base;
    pthread_mutex_unlock(&c->mutex);
    return n;
}

/* Under the mutex. */
static int move_to(struct crash_io *c, uint64_t at)
{
    if (at > c->log.count - c->log.base)
        return MF_INVAL;
    return crash_cut_move(c->cut, &c->log, c->log.base + (size_t)at);
}

int crash_io_image(struct store_io *io, uint64_t at, enum crash_mode mode, uint64_t seed,
                   struct store_io **out)
{
    struct crash_io *c = crash_of(io);

    pthread_mutex_lock(&c->mutex);
    int rc = move_to(c, at);
    if (rc == 0)
        rc = crash_cut_image(c->cut, &c->log, mode, seed, out);
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

int crash_io_unsynced(struct store_io *io, uint64_t at, struct crash_unsynced *out)
{
    struct crash_io *c = crash_of(io);

    pthread_mutex_lock(&c->mutex);
    int rc = move_to(c, at);
    if (rc == 0)
        *out = crash_cut_unsynced(c->cut);
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

/* The name a file had just before op i; O(i), only for texts. */
static const char *name_before(const struct crash_log *log, size_t i, uint32_t node)
{
    while (i-- > 0)
        if (log->ops[i].node == node && log->ops[i].kind == CHANGE_RENAME)
            return log->ops[i].to;
        else if (log->ops[i].node == node && log->ops[i].kind == CHANGE_CREATE)
            return log->ops[i].name;
    return "?";
}

static void describe(const struct crash_log *log, size_t i, char *dst, size_t cap)
{
    const struct crash_op *op = &log->ops[i];
    unsigned long long off = op->off, len = op->len;

    switch (op->kind) {
    case CHANGE_CREATE:
        snprintf(dst, cap, "create %s", op->name);
        break;
    case CHANGE_WRITE:
        snprintf(dst, cap, "write %llu bytes at %llu of %s", len, off,
                 name_before(log, i, op->node));
        break;
    case CHANGE_TRUNCATE:
        snprintf(dst, cap, "truncate %s to %llu", name_before(log, i, op->node), len);
        break;
    case CHANGE_RENAME:
        snprintf(dst, cap, "rename %s to %s", op->name, op->to);
        break;
    case CHANGE_UNLINK:
        snprintf(dst, cap, "unlink %s", op->name);
        break;
    case CHANGE_SYNC:
        snprintf(dst, cap, "sync %s", name_before(log, i, op->node));
        break;
    case CHANGE_SYNCDIR:
        snprintf(dst, cap, "syncdir");
        break;
    }
}

const char *crash_io_describe(struct store_io *io, uint64_t op, char *dst, size_t cap)
{
    struct crash_io *c = crash_of(io);

    pthread_mutex_lock(&c->mutex);
    if (op == 0 || op > c->log.count - c->log.base)
        snprintf(dst, cap, "no change");
    else
        describe(&c->log, c->log.base + (size_t)op - 1, dst, cap);
    pthread_mutex_unlock(&c->mutex);
    return dst;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static void crash_free(struct store_io *io)
{
    if (io == NULL)
        return;
    struct crash_io *c = crash_of(io);
    if (c->under != NULL)
        c->under->free(c->under);
    crash_cut_free(c->cut);
    for (size_t i = 0; i < c->log.count; i++)
        free(c->log.ops[i].bytes);
    free(c->log.ops);
    mf_buf_fini(&c->names);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}

struct adoption {
    struct crash_io *c;
    struct mf_error *e;
};

/* A file that is there already, as three ops that make it. */
static int adopt(void *arg, const char *name)
{
    struct crash_io *c = ((struct adoption *)arg)->c;
    struct mf_error *e = ((struct adoption *)arg)->e;
    struct crash_op create = {.kind = CHANGE_CREATE, .node = c->log.nodes};
    struct crash_op write = {.kind = CHANGE_WRITE, .node = c->log.nodes};
    struct crash_op sync = {.kind = CHANGE_SYNC, .node = c->log.nodes};
    struct store_file *f;
    int rc = c->under->open(c->under, name, false, &f, e);

    if (rc != 0)
        return rc;
    rc = c->under->size(c->under, f, &write.len, e);
    write.bytes = rc == 0 && write.len > 0 ? malloc((size_t)write.len) : NULL;
    if (rc == 0 && write.len > 0)
        rc = write.bytes == NULL
                 ? mf_fail(e, MF_NOMEM, "record %s", name)
                 : c->under->pread(c->under, f, write.bytes, (size_t)write.len, 0, e);
    c->under->close(c->under, f);
    if (rc == 0)
        rc = prepare_name(c, &create, name, e);
    if (rc != 0) {
        free(write.bytes);
        return rc;
    }
    finish(c, &create, 0);
    c->log.nodes++;
    rc = prepare(c, &write, NULL, 0, e);
    if (write.len > 0 || rc != 0)
        rc = finish(c, &write, rc);
    if (rc == 0)
        rc = prepare(c, &sync, NULL, 0, e);
    return rc != 0 ? rc : finish(c, &sync, 0);
}

static int adopt_all(struct crash_io *c, struct mf_error *e)
{
    struct adoption a = {c, e};
    struct crash_op op = {.kind = CHANGE_SYNCDIR, .node = CRASH_NO_NODE};
    int rc = c->under->list(c->under, adopt, &a, e);

    if (rc == 0)
        rc = prepare(c, &op, NULL, 0, e);
    if (rc == 0)
        rc = finish(c, &op, 0);
    c->log.base = c->log.count;
    return rc;
}

static const struct store_io calls = {.enter = crash_enter,
                                      .leave = crash_leave,
                                      .open = crash_open,
                                      .close = crash_close,
                                      .size = crash_size,
                                      .pread = crash_pread,
                                      .pwrite = crash_pwrite,
                                      .sync = crash_sync,
                                      .truncate = crash_truncate,
                                      .map = crash_map,
                                      .unmap = crash_unmap,
                                      .resident = crash_resident,
                                      .rename = crash_rename,
                                      .unlink = crash_unlink,
                                      .syncdir = crash_syncdir,
                                      .list = crash_list,
                                      .free = crash_free};

int crash_io_new(struct store_io **out, struct store_io *under, struct mf_error *e)
{
    struct crash_io *c = calloc(1, sizeof *c);
    int rc = 0;

    if (c == NULL)
        return mf_fail(e, MF_NOMEM, "crash io");
    /* The memory of one image serves the next: page faults would be nine tenths of its cost. */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    pthread_mutex_init(&c->mutex, NULL);
    c->io = calls;
    c->under = under;
    c->cut = crash_cut_new();
    if (c->cut == NULL)
        rc = mf_fail(e, MF_NOMEM, "crash io");
    if (rc == 0)
        rc = under == NULL ? store_io_memory(&c->under, e) : adopt_all(c, e);
    if (rc != 0) {
        if (under != NULL)
            c->under = NULL; /* stays the caller's */
        crash_free(&c->io);
        return rc;
    }
    *out = &c->io;
    return 0;
}
