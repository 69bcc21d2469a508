/* view_io.c: see view_io.h. */
#include "view_io.h"

#include "must.h"

#define NAME 64

struct view_io {
    struct store_io io;
    struct store_io *all;
    char prefix[16];
};

static struct view_io *view_of(struct store_io *io)
{
    return mf_container(io, struct view_io, io);
}

static const char *full(struct store_io *io, const char *name, char dst[NAME])
{
    snprintf(dst, NAME, "%s%s", view_of(io)->prefix, name);
    return dst;
}

static int view_enter(struct store_io *io, struct mf_error *e)
{
    (void)io;
    (void)e;
    return 0;
}

static void view_leave(struct store_io *io)
{
    (void)io;
}

static int view_open(struct store_io *io, const char *name, bool create, struct store_file **out,
                     struct mf_error *e)
{
    char text[NAME];
    struct store_io *all = view_of(io)->all;

    return all->open(all, full(io, name, text), create, out, e);
}

static void view_close(struct store_io *io, struct store_file *f)
{
    view_of(io)->all->close(view_of(io)->all, f);
}

static int view_size(struct store_io *io, struct store_file *f, uint64_t *out, struct mf_error *e)
{
    return view_of(io)->all->size(view_of(io)->all, f, out, e);
}

static int view_pread(struct store_io *io, struct store_file *f, void *dst, size_t n, uint64_t off,
                      struct mf_error *e)
{
    return view_of(io)->all->pread(view_of(io)->all, f, dst, n, off, e);
}

static int view_pwrite(struct store_io *io, struct store_file *f, const void *src, size_t n,
                       uint64_t off, struct mf_error *e)
{
    return view_of(io)->all->pwrite(view_of(io)->all, f, src, n, off, e);
}

static int view_sync(struct store_io *io, struct store_file *f, struct mf_error *e)
{
    return view_of(io)->all->sync(view_of(io)->all, f, e);
}

static int view_truncate(struct store_io *io, struct store_file *f, uint64_t size,
                         struct mf_error *e)
{
    return view_of(io)->all->truncate(view_of(io)->all, f, size, e);
}

static const uint8_t *view_map(struct store_io *io, struct store_file *f, uint64_t size)
{
    return view_of(io)->all->map(view_of(io)->all, f, size);
}

static void view_unmap(struct store_io *io, const uint8_t *p, uint64_t size)
{
    view_of(io)->all->unmap(view_of(io)->all, p, size);
}

static bool view_resident(struct store_io *io, const uint8_t *p, uint64_t off, size_t n)
{
    return view_of(io)->all->resident(view_of(io)->all, p, off, n);
}

static int view_rename(struct store_io *io, const char *from, const char *to, struct mf_error *e)
{
    char a[NAME], b[NAME];

    return view_of(io)->all->rename(view_of(io)->all, full(io, from, a), full(io, to, b), e);
}

static int view_unlink(struct store_io *io, const char *name, struct mf_error *e)
{
    char text[NAME];

    return view_of(io)->all->unlink(view_of(io)->all, full(io, name, text), e);
}

static int view_syncdir(struct store_io *io, struct mf_error *e)
{
    return view_of(io)->all->syncdir(view_of(io)->all, e);
}

struct listing {
    const char *prefix;
    int (*visit)(void *arg, const char *name);
    void *arg;
};

static int visit_own(void *arg, const char *name)
{
    const struct listing *l = arg;
    size_t n = strlen(l->prefix);

    return strncmp(name, l->prefix, n) == 0 ? l->visit(l->arg, name + n) : 0;
}

static int view_list(struct store_io *io, int (*visit)(void *arg, const char *name), void *arg,
                     struct mf_error *e)
{
    struct listing l = {view_of(io)->prefix, visit, arg};

    return view_of(io)->all->list(view_of(io)->all, visit_own, &l, e);
}

static void view_free(struct store_io *io)
{
    free(view_of(io));
}

struct store_io *view_io_new(struct store_io *all, const char *prefix)
{
    struct view_io *v = must_alloc(NULL, 1, sizeof *v);

    *v = (struct view_io){.all = all,
                          .io = {.enter = view_enter,
                                 .leave = view_leave,
                                 .open = view_open,
                                 .close = view_close,
                                 .size = view_size,
                                 .pread = view_pread,
                                 .pwrite = view_pwrite,
                                 .sync = view_sync,
                                 .truncate = view_truncate,
                                 .map = view_map,
                                 .unmap = view_unmap,
                                 .resident = view_resident,
                                 .rename = view_rename,
                                 .unlink = view_unlink,
                                 .syncdir = view_syncdir,
                                 .list = view_list,
                                 .free = view_free}};
    snprintf(v->prefix, sizeof v->prefix, "%s", prefix);
    return &v->io;
}

struct store_io *view_io_all(struct store_io *view)
{
    return view_of(view)->all;
}

struct syncing {
    struct store_io *all;
    struct mf_error *e;
};

static int sync_one(void *arg, const char *name)
{
    struct syncing *s = arg;
    struct store_file *f;
    int rc = s->all->open(s->all, name, false, &f, s->e);

    if (rc != 0)
        return rc;
    rc = s->all->sync(s->all, f, s->e);
    s->all->close(s->all, f);
    return rc;
}

int view_io_sync_all(struct store_io *all, struct mf_error *e)
{
    return all->list(all, sync_one, &(struct syncing){all, e}, e);
}

static int say_one(void *arg, const char *name)
{
    (void)arg;
    (void)name;
    return 1;
}

bool view_io_any(struct store_io *all, const char *prefix)
{
    struct listing l = {prefix, say_one, NULL};
    struct mf_error e;

    return all->list(all, visit_own, &l, &e) == 1;
}
