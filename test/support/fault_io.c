/* fault_io.c: files that fail when told to. */
#include "fault_io.h"

#include <pthread.h>
#include <stdlib.h>

struct fault_io {
    struct store_io io;
    struct store_io *under;
    pthread_mutex_t mutex; /* what follows */
    struct fault_plan plan;
    bool armed, hit, cold;
    uint64_t seen; /* of the plan's kinds, since it was armed */
    uint64_t count[FAULT_KINDS];
    uint64_t budget;
    pthread_mutex_t growing; /* from the look at what is used to the write that uses it */
};

/* What is to become of one operation. */
struct verdict {
    int code; /* 0: go on */
    bool half, after;
};

static struct fault_io *fault_of(struct store_io *io)
{
    return mf_container(io, struct fault_io, io);
}

static struct verdict judge(struct fault_io *f, enum fault_kind kind)
{
    struct verdict v = {0};
    const struct fault_plan *p = &f->plan;

    pthread_mutex_lock(&f->mutex);
    f->count[__builtin_ctz(kind)]++;
    if (f->armed && ((p->kinds == 0 ? FAULT_ALL : p->kinds) & kind) != 0) {
        f->seen++;
        if (f->seen == p->nth || (p->forever && f->seen > p->nth)) {
            v = (struct verdict){.code = p->code, .half = p->half, .after = p->after};
            f->hit = true;
        }
    }
    pthread_mutex_unlock(&f->mutex);
    return v;
}

static int fault(struct verdict v, const char *what, struct mf_error *e)
{
    return mf_fail(e, v.code, "%s: fault asked for: %s", what, mf_err_text(v.code));
}

/* The common shape: fail before or after `call`, or just do it. */
#define PASS(kind, what, call)                                                                     \
    do {                                                                                           \
        struct verdict v = judge(f, kind);                                                         \
        if (v.code == 0)                                                                           \
            return (call);                                                                         \
        int rc = v.after ? (call) : 0;                                                             \
        return rc != 0 ? rc : fault(v, what, e);                                                   \
    } while (0)

/* --- the directory ---------------------------------------------------------------------------- */

static int fault_enter(struct store_io *io, struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    struct verdict v =
        judge(f, FAULT_ENTER); /* one that was entered would have no one to leave it */
    return v.code == 0 ? f->under->enter(f->under, e) : fault(v, "enter", e);
}

static void fault_leave(struct store_io *io)
{
    fault_of(io)->under->leave(fault_of(io)->under);
}

static int fault_open(struct store_io *io, const char *name, bool create, struct store_file **out,
                      struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    struct verdict v = judge(f, create ? FAULT_CREATE : FAULT_OPEN);
    struct store_file *file;

    if (v.code == 0)
        return f->under->open(f->under, name, create, out, e);
    if (v.after) {
        int rc = f->under->open(f->under, name, create, &file, e);
        if (rc != 0)
            return rc;
        f->under->close(f->under, file);
    }
    return fault(v, create ? "create" : "open", e);
}

static void fault_close(struct store_io *io, struct store_file *file)
{
    fault_of(io)->under->close(fault_of(io)->under, file);
}

static int fault_rename(struct store_io *io, const char *from, const char *to, struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    PASS(FAULT_RENAME, "rename", f->under->rename(f->under, from, to, e));
}

static int fault_unlink(struct store_io *io, const char *name, struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    PASS(FAULT_UNLINK, "unlink", f->under->unlink(f->under, name, e));
}

static int fault_syncdir(struct store_io *io, struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    PASS(FAULT_SYNCDIR, "syncdir", f->under->syncdir(f->under, e));
}

static int fault_list(struct store_io *io, int (*visit)(void *arg, const char *name), void *arg,
                      struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    PASS(FAULT_LIST, "list", f->under->list(f->under, visit, arg, e));
}

/* --- the budget ------------------------------------------------------------------------------- */

struct sum {
    struct store_io *under;
    uint64_t bytes;
};

static int add_size(void *arg, const char *name)
{
    struct sum *s = arg;
    struct store_file *file;
    uint64_t size;

    if (s->under->open(s->under, name, false, &file, NULL) != 0)
        return 0; /* unlinked by another thread since */
    if (s->under->size(s->under, file, &size, NULL) == 0)
        s->bytes += size;
    s->under->close(s->under, file);
    return 0;
}

uint64_t fault_io_used(struct store_io *io)
{
    struct sum s = {.under = fault_of(io)->under};
    return s.under->list(s.under, add_size, &s, NULL) == 0 ? s.bytes : UINT64_MAX;
}

static uint64_t budget_of(struct fault_io *f)
{
    pthread_mutex_lock(&f->mutex);
    uint64_t budget = f->budget;
    pthread_mutex_unlock(&f->mutex);
    return budget;
}

/* The size this file may have, if it wants to be `want` bytes. */
static uint64_t may_grow_to(struct fault_io *f, struct store_file *file, uint64_t want)
{
    uint64_t size, budget = budget_of(f);

    if (budget == UINT64_MAX || f->under->size(f->under, file, &size, NULL) != 0 || want <= size)
        return want;
    uint64_t used = fault_io_used(&f->io), left = used < budget ? budget - used : 0;
    return want - size <= left ? want : size + left;
}

static int write_in_budget(struct fault_io *f, struct store_file *file, const void *src, size_t n,
                           uint64_t off, struct mf_error *e)
{
    pthread_mutex_lock(&f->growing);
    uint64_t end = may_grow_to(f, file, off + n);
    size_t fits = end >= off + n ? n : end > off ? (size_t)(end - off) : 0;
    int rc = fits == 0 ? 0 : f->under->pwrite(f->under, file, src, fits, off, e);
    pthread_mutex_unlock(&f->growing);
    if (rc == 0 && fits < n)
        rc = mf_fail(e, MF_FULL, "write %zu bytes: the budget is used up", n);
    return rc;
}

static int truncate_in_budget(struct fault_io *f, struct store_file *file, uint64_t size,
                              struct mf_error *e)
{
    pthread_mutex_lock(&f->growing);
    int rc = may_grow_to(f, file, size) < size
                 ? mf_fail(e, MF_FULL, "truncate: the budget is used up")
                 : f->under->truncate(f->under, file, size, e);
    pthread_mutex_unlock(&f->growing);
    return rc;
}

/* --- one file --------------------------------------------------------------------------------- */

static int fault_size(struct store_io *io, struct store_file *file, uint64_t *out,
                      struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    PASS(FAULT_SIZE, "size", f->under->size(f->under, file, out, e));
}

static int fault_pread(struct store_io *io, struct store_file *file, void *dst, size_t n,
                       uint64_t off, struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    PASS(FAULT_READ, "read", f->under->pread(f->under, file, dst, n, off, e));
}

static int fault_pwrite(struct store_io *io, struct store_file *file, const void *src, size_t n,
                        uint64_t off, struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    struct verdict v = judge(f, FAULT_WRITE);

    if (v.code == 0)
        return write_in_budget(f, file, src, n, off, e);
    size_t done = v.after ? n : v.half ? n / 2 : 0;
    int rc = done == 0 ? 0 : write_in_budget(f, file, src, done, off, e);
    return rc != 0 ? rc : fault(v, "write", e);
}

static int fault_sync(struct store_io *io, struct store_file *file, struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    PASS(FAULT_SYNC, "sync", f->under->sync(f->under, file, e));
}

static int fault_truncate(struct store_io *io, struct store_file *file, uint64_t size,
                          struct mf_error *e)
{
    struct fault_io *f = fault_of(io);
    PASS(FAULT_TRUNCATE, "truncate", truncate_in_budget(f, file, size, e));
}

static const uint8_t *fault_map(struct store_io *io, struct store_file *file, uint64_t size)
{
    struct fault_io *f = fault_of(io);
    return judge(f, FAULT_MAP).code != 0 ? NULL : f->under->map(f->under, file, size);
}

static void fault_unmap(struct store_io *io, const uint8_t *p, uint64_t size)
{
    fault_of(io)->under->unmap(fault_of(io)->under, p, size);
}

static bool fault_resident(struct store_io *io, const uint8_t *p, uint64_t off, size_t n)
{
    struct fault_io *f = fault_of(io);

    pthread_mutex_lock(&f->mutex);
    bool cold = f->cold;
    pthread_mutex_unlock(&f->mutex);
    return !cold && f->under->resident(f->under, p, off, n);
}

/* --- orders ----------------------------------------------------------------------------------- */

void fault_io_arm(struct store_io *io, const struct fault_plan *plan)
{
    struct fault_io *f = fault_of(io);

    pthread_mutex_lock(&f->mutex);
    f->plan = *plan;
    f->armed = true;
    f->hit = false;
    f->seen = 0;
    pthread_mutex_unlock(&f->mutex);
}

void fault_io_disarm(struct store_io *io)
{
    struct fault_io *f = fault_of(io);

    pthread_mutex_lock(&f->mutex);
    f->armed = false;
    pthread_mutex_unlock(&f->mutex);
}

bool fault_io_hit(struct store_io *io)
{
    struct fault_io *f = fault_of(io);

    pthread_mutex_lock(&f->mutex);
    bool hit = f->hit;
    pthread_mutex_unlock(&f->mutex);
    return hit;
}

uint64_t fault_io_count(struct store_io *io, uint32_t kinds)
{
    struct fault_io *f = fault_of(io);
    uint64_t n = 0;

    pthread_mutex_lock(&f->mutex);
    for (unsigned i = 0; i < FAULT_KINDS; i++)
        if ((kinds >> i & 1) != 0)
            n += f->count[i];
    pthread_mutex_unlock(&f->mutex);
    return n;
}

void fault_io_budget(struct store_io *io, uint64_t bytes)
{
    struct fault_io *f = fault_of(io);

    pthread_mutex_lock(&f->mutex);
    f->budget = bytes;
    pthread_mutex_unlock(&f->mutex);
}

void fault_io_cold(struct store_io *io, bool cold)
{
    struct fault_io *f = fault_of(io);

    pthread_mutex_lock(&f->mutex);
    f->cold = cold;
    pthread_mutex_unlock(&f->mutex);
}

static void fault_free(struct store_io *io)
{
    if (io == NULL)
        return;
    struct fault_io *f = fault_of(io);
    f->under->free(f->under);
    pthread_mutex_destroy(&f->mutex);
    pthread_mutex_destroy(&f->growing);
    free(f);
}

int fault_io_new(struct store_io **out, struct store_io *under, struct mf_error *e)
{
    struct fault_io *f = calloc(1, sizeof *f);

    if (f == NULL)
        return mf_fail(e, MF_NOMEM, "fault io");
    f->io = (struct store_io){.enter = fault_enter,
                              .leave = fault_leave,
                              .open = fault_open,
                              .close = fault_close,
                              .size = fault_size,
                              .pread = fault_pread,
                              .pwrite = fault_pwrite,
                              .sync = fault_sync,
                              .truncate = fault_truncate,
                              .map = fault_map,
                              .unmap = fault_unmap,
                              .resident = fault_resident,
                              .rename = fault_rename,
                              .unlink = fault_unlink,
                              .syncdir = fault_syncdir,
                              .list = fault_list,
                              .free = fault_free};
    f->under = under;
    f->budget = UINT64_MAX;
    pthread_mutex_init(&f->mutex, NULL);
    pthread_mutex_init(&f->growing, NULL);
    *out = &f->io;
    return 0;
}
