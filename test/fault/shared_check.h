/* shared_check.h: the files of one folder among those of several (view_io.h), for `mayfly check`.
 */
#ifndef TEST_SHARED_CHECK_H
#define TEST_SHARED_CHECK_H

#include "disk.h"

#include <stdio.h>

struct folder {
    struct disk *files;
    const char *prefix;
    char name[64];
    struct check_source all, src;
};

static inline const char *full_name(struct folder *f, const char *name)
{
    snprintf(f->name, sizeof f->name, "%s%s", f->prefix, name);
    return f->name;
}
static inline int folder_list(void *arg, int (*visit)(void *visit_arg, const char *name),
                              void *visit_arg, struct mf_error *e)
{
    const struct folder *f = arg;
    size_t n = strlen(f->prefix);
    int rc = 0;

    (void)e;
    for (size_t i = 0; i < f->files->files && rc == 0; i++)
        if (strncmp(f->files->file[i].name, f->prefix, n) == 0)
            rc = visit(visit_arg, f->files->file[i].name + n);
    return rc;
}

static inline int folder_size(void *arg, const char *name, uint64_t *out, struct mf_error *e)
{
    struct folder *f = arg;

    if (disk_find(f->files, full_name(f, name)) == NULL)
        return mf_fail(e, MF_NOTFOUND, "%s", name);
    return f->all.size(f->all.arg, f->name, out, e);
}

static inline int folder_pread(void *arg, const char *name, void *dst, size_t n, uint64_t off,
                               size_t *got, struct mf_error *e)
{
    struct folder *f = arg;

    return f->all.pread(f->all.arg, full_name(f, name), dst, n, off, got, e);
}

static inline void folder_init(struct folder *f, struct disk *files, const char *prefix)
{
    *f = (struct folder){.files = files, .prefix = prefix, .all = disk_source(files)};
    f->src = (struct check_source){folder_list, folder_size, folder_pread, f};
}

#endif
