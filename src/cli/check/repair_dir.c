/* repair_dir.c: see repair_dir.h. */
#include "cli/check/repair_dir.h"

#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *join_path(const char *a, const char *between, const char *b)
{
    struct mf_buf text = MF_BUF_INIT;
    char *path;

    mf_buf_printf(&text, "%s%s%s", a, between, b);
    path = mf_buf_failed(&text) ? NULL : mf_slice_dup(mf_buf_slice(&text));
    mf_buf_fini(&text);
    return path;
}

/* --- where it may go -------------------------------------------------------------------------- */

/* 0: not there, or an empty folder. */
static int judge_place(const char *path, struct mf_error *e)
{
    const struct dirent *ent;
    bool empty = true;
    DIR *d = opendir(path);

    if (d == NULL && errno == ENOENT)
        return 0;
    if (d == NULL)
        return mf_fail_errno(e, MF_EXISTS, "--to %s: name a folder that is not there yet", path);
    while ((ent = readdir(d)) != NULL)
        empty &= strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0;
    (void)closedir(d);
    if (!empty)
        return mf_fail(e, MF_EXISTS,
                       "--to %s: it is not empty: name a folder that is not there yet", path);
    return 0;
}

/* Nothing may be written into the source. */
static int judge_apart(const char *src, const char *to, struct mf_error *e)
{
    char *above = mf_slice_dup(mf_str(to)), *slash;
    char *a = realpath(src, NULL), *b = NULL;
    size_t n = a == NULL ? 0 : strlen(a);
    int rc = 0;

    if (above == NULL) {
        free(a);
        return mf_fail(e, MF_NOMEM, "--to %s", to);
    }
    slash = strrchr(above, '/');
    if (slash != NULL)
        slash[slash == above] = '\0';
    b = realpath(slash == NULL ? "." : above, NULL);
    if (a == NULL || b == NULL)
        rc = mf_fail_errno(e, MF_IO, "%s", a == NULL ? src : slash == NULL ? "." : above);
    else if (strncmp(a, b, n) == 0 && (b[n] == '/' || b[n] == '\0' || n == 1))
        rc = mf_fail(e, MF_INVAL,
                     "--to %s lies in %s: nothing is written there; name another place", to, src);
    free(above);
    free(a);
    free(b);
    return rc;
}

static char *without_slashes(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return mf_slice_dup(mf_slice(path, n));
}

/* --- writing ---------------------------------------------------------------------------------- */

/* A server does not open files of another user: run by root, the copy gets the owner of the
 * source. */
static int give_owner(const struct repair_dir *d, int fd)
{
    return d->uid < 0 ? 0 : fchown(fd, (uid_t)d->uid, (gid_t)d->gid);
}

static int sync_folder(const char *path, const struct repair_dir *d, struct mf_error *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

    if (fd < 0 || (d != NULL && give_owner(d, fd) != 0) || fsync(fd) != 0)
        rc = mf_fail_errno(e, MF_IO, "sync %s", path);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static int write_all(int fd, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static int put_file(void *arg, const char *name, const uint8_t *bytes, size_t n, struct mf_error *e)
{
    struct repair_dir *d = arg;
    int fd = openat(d->store, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = 0;

    if (fd < 0 || give_owner(d, fd) != 0 || write_all(fd, bytes, n) != 0 || fsync(fd) != 0)
        rc = mf_fail_errno(e, MF_IO, "write %s/%s", d->partial, name);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

int repair_dir_begin(struct repair_dir *d, const char *src, const char *to, struct mf_error *e)
{
    struct stat st;

    *d = (struct repair_dir){.store = -1, .uid = -1, .gid = -1, .sink = {.put = put_file}};
    d->sink.arg = d;
    d->to = without_slashes(to);
    d->partial = d->to == NULL ? NULL : join_path(d->to, "", ".partial");
    if (d->partial == NULL)
        return mf_fail(e, MF_NOMEM, "--to %s", to);
    if (judge_place(d->to, e) != 0 || judge_apart(src, d->to, e) != 0)
        return e->code;
    if (geteuid() == 0 && stat(src, &st) == 0) {
        d->uid = (int64_t)st.st_uid;
        d->gid = (int64_t)st.st_gid;
    }
    d->made = mkdir(d->partial, 0700) == 0;
    if (d->made)
        return 0;
    if (errno == EEXIST)
        return mf_fail(e, MF_EXISTS, "%s is there: a repair was cut short; delete it and try again",
                       d->partial);
    return mf_fail_errno(e, MF_IO, "make %s", d->partial);
}

/* Makes each folder on the way to `below`. */
static int make_folders(struct repair_dir *d, char *path, size_t done, struct mf_error *e)
{
    for (char *p = path + done; *p != '\0';) {
        char *slash = strchr(p + 1, '/');

        if (slash != NULL)
            *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return mf_fail_errno(e, MF_IO, "make %s", path);
        if (sync_folder(path, d, e) != 0)
            return e->code;
        if (slash == NULL)
            break;
        *slash = '/';
        p = slash;
    }
    return 0;
}

int repair_dir_store(struct repair_dir *d, const char *below, struct mf_error *e)
{
    char *path = join_path(d->partial, *below == '\0' ? "" : "/", below);
    int rc;

    if (path == NULL)
        return mf_fail(e, MF_NOMEM, "%s", below);
    rc = make_folders(d, path, strlen(d->partial), e);
    if (rc == 0) {
        d->store = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (d->store < 0)
            rc = mf_fail_errno(e, MF_IO, "open %s", path);
    }
    free(path);
    return rc;
}

int repair_dir_store_end(struct repair_dir *d, struct mf_error *e)
{
    int rc = fsync(d->store) == 0 ? 0 : mf_fail_errno(e, MF_IO, "sync a folder of %s", d->partial);

    (void)close(d->store);
    d->store = -1;
    return rc;
}

int repair_dir_end(struct repair_dir *d, struct mf_error *e)
{
    char *above = mf_slice_dup(mf_str(d->to)), *slash = above == NULL ? NULL : strrchr(above, '/');
    int rc;

    if (above == NULL)
        return mf_fail(e, MF_NOMEM, "--to %s", d->to);
    if (slash != NULL)
        slash[slash == above] = '\0';
    rc = sync_folder(d->partial, d, e);
    if (rc == 0 && rename(d->partial, d->to) != 0) /* over an empty folder, too */
        rc = mf_fail_errno(e, MF_IO, "rename %s to %s", d->partial, d->to);
    if (rc == 0)
        rc = sync_folder(slash == NULL ? "." : above, NULL, e);
    free(above);
    return rc;
}

void repair_dir_fini(struct repair_dir *d)
{
    if (d->store >= 0)
        (void)close(d->store);
    if (d->made && rmdir(d->partial) != 0 && errno == ENOTEMPTY)
        (void)cli_fail(NULL, 0, "%s holds a part of the copy: delete it", d->partial);
    free(d->to);
    free(d->partial);
}
