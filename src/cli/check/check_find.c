/* check_find.c: see check_find.h. */
#include "cli/check/check_find.h"

#include "base/buf.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAX_DEPTH 16

static int add_path(struct check_paths *all, const char *path)
{
    char **list = realloc(all->path, (all->count + 1) * sizeof(*list));

    if (list == NULL)
        return MF_NOMEM;
    all->path = list;
    list[all->count] = mf_slice_dup(mf_str(path));
    if (list[all->count] == NULL)
        return MF_NOMEM;
    all->count++;
    return 0;
}

static int find_stores(struct check_paths *all, const char *path, int depth, struct mf_error *e);

/* Every stream of nats-server has a meta.inf, and none of ours. */
static int note_foreign(struct check_paths *all, const char *path, const char *name)
{
    if (strcmp(name, "meta.inf") != 0 || all->foreign != NULL)
        return 0;
    all->foreign = mf_slice_dup(mf_str(path));
    return all->foreign == NULL ? MF_NOMEM : 0;
}

/* Below `path`; *store: a file there says that it is a store itself. */
static int look_at(struct check_paths *all, const char *path, const char *name, int depth,
                   bool *store, struct mf_error *e)
{
    struct mf_buf below = MF_BUF_INIT;
    struct stat st;
    int rc = 0;

    mf_buf_printf(&below, "%s%s%s", path, mf_ends(mf_str(path), "/") ? "" : "/", name);
    if (mf_buf_failed(&below) || mf_buf_cstr(&below)[0] == '\0')
        rc = mf_fail(e, MF_NOMEM, "%s", path);
    else if (lstat(mf_buf_cstr(&below), &st) != 0)
        rc = errno == ENOENT ? 0 : mf_fail_errno(e, MF_IO, "%s", mf_buf_cstr(&below));
    else if (!S_ISDIR(st.st_mode) && note_foreign(all, path, name) != 0)
        rc = mf_fail(e, MF_NOMEM, "%s", path);
    else if (!S_ISDIR(st.st_mode))
        *store |= mf_ends(mf_str(name), ".log") || strcmp(name, "checkpoint") == 0;
    else if (depth < MAX_DEPTH)
        rc = find_stores(all, mf_buf_cstr(&below), depth + 1, e);
    mf_buf_fini(&below);
    return rc;
}

static int find_stores(struct check_paths *all, const char *path, int depth, struct mf_error *e)
{
    const struct dirent *ent;
    bool store = false;
    int rc = 0;
    DIR *d = opendir(path);

    if (d == NULL)
        return mf_fail_errno(e, MF_IO, "%s", path);
    while (rc == 0 && (errno = 0, ent = readdir(d)) != NULL)
        if (strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0)
            rc = look_at(all, path, ent->d_name, depth, &store, e);
    if (rc == 0 && errno != 0)
        rc = mf_fail_errno(e, MF_IO, "%s", path);
    (void)closedir(d);
    if (rc == 0 && store && add_path(all, path) != 0)
        rc = mf_fail(e, MF_NOMEM, "%s", path);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int check_find(struct check_paths *out, const char *dir, struct mf_error *e)
{
    *out = (struct check_paths){.path = NULL};
    if (find_stores(out, dir, 0, e) == 0) {
        if (out->foreign != NULL)
            (void)mf_fail(e, MF_UNSUPPORTED,
                          "%s is a stream of nats-server: its files cannot be checked, and no "
                          "mayflyd starts on them. Copy it with mayfly import",
                          out->foreign);
        else if (out->count == 0)
            (void)mf_fail(e, MF_NOTFOUND,
                          "%s: no store here or below (a store has *.log files): name the "
                          "server's store_dir",
                          dir);
        else {
            qsort(out->path, out->count, sizeof(*out->path), by_path);
            return 0;
        }
    }
    check_paths_fini(out);
    return e->code;
}

void check_paths_fini(struct check_paths *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->path[i]);
    free(p->path);
    free(p->foreign);
    *p = (struct check_paths){.path = NULL};
}
