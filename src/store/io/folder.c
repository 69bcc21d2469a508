/* folder.c: open directories above stores: ownership checks, listing, removal by rename. */
#include "store/io/folder.h"

#include "codec/hash.h"
#include "base/log.h"
#include "base/rand.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GONE  ".gone-" /* followed by a random name */
#define DRAFT ".new-"  /* followed by a hash of the name it will have, which may be long */

int folder_io_code(int err)
{
    switch (err) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return MF_FULL;
    case EMFILE: /* too many descriptors: no statement about the disk */
    case ENFILE:
    case EAGAIN:
        return MF_AGAIN;
    case ENOENT:
        return MF_NOTFOUND;
    case EEXIST:
        return MF_EXISTS;
    case ENOMEM:
        return MF_NOMEM;
    default:
        return MF_IO;
    }
}

const char *folder_file_kind(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a named pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFBLK:
    case S_IFCHR:
        return "a device";
    default:
        return "a file";
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

int folder_wrap(struct store_folder **out, int fd, const char *path, struct store_folder *parent,
                struct mf_error *e)
{
    size_t n = strlen(path) + 1;
    struct store_folder *f = malloc(sizeof *f + n);

    if (f == NULL || (parent == NULL && (f->fds = io_fds_new()) == NULL)) {
        free(f);
        close(fd);
        return mf_fail(e, MF_NOMEM, "folder %s", path);
    }
    if (parent != NULL) {
        f->fds = parent->fds;
        atomic_fetch_add(&f->fds->refs, 1);
    }
    atomic_init(&f->refs, 1);
    f->fd = fd;
    f->lock_fd = -1;
    memcpy(f->path, path, n);
    *out = f;
    return 0;
}

struct store_folder *store_folder_retain(struct store_folder *f)
{
    atomic_fetch_add(&f->refs, 1);
    return f;
}

void store_folder_release(struct store_folder *f)
{
    if (f == NULL || atomic_fetch_sub(&f->refs, 1) > 1)
        return;
    if (f->lock_fd >= 0)
        close(f->lock_fd);
    close(f->fd);
    io_fds_release(f->fds);
    free(f);
}

const char *store_folder_path(const struct store_folder *f)
{
    return f->path;
}

/* O_NONBLOCK: without O_DIRECTORY's help, opening a pipe would wait for a writer. */
int folder_open_fd(int dir, const char *name, const char *path, int *out, struct mf_error *e)
{
    struct stat st;
    int fd;

    RETRY(fd, openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd >= 0) {
        *out = fd;
        return 0;
    }
    int err = errno;
    if ((err == ENOTDIR || err == ELOOP) && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISDIR(st.st_mode))
        return mf_fail(
            e, MF_DENIED, "%s is %s, not a directory%s", path, folder_file_kind(st.st_mode),
            S_ISLNK(st.st_mode) ? "; links below the store directory are not followed" : "");
    errno = err;
    return mf_fail_errno(e, err == EACCES ? MF_DENIED : folder_io_code(err), "open folder %s",
                         path);
}

static const char *user_name(uid_t uid, char *buf, size_t n)
{
    struct passwd pw, *found = NULL;
    char space[1024];

    if (getpwuid_r(uid, &pw, space, sizeof space, &found) == 0 && found != NULL)
        snprintf(buf, n, "%s (uid %ld)", found->pw_name, (long)uid);
    else
        snprintf(buf, n, "uid %ld", (long)uid);
    return buf;
}

int folder_trust(int fd, const char *path, struct mf_error *e)
{
    char owner[80], self[80];
    struct stat st;

    if (fstat(fd, &st) != 0)
        return mf_fail_errno(e, folder_io_code(errno), "look at folder %s", path);
    if (st.st_uid != geteuid())
        return mf_fail(e, MF_DENIED,
                       "folder %s (mode %04o) belongs to %s, and this server runs as %s: start it "
                       "as the owner, or give it the folder with chown -R",
                       path, (unsigned)st.st_mode & 07777,
                       user_name(st.st_uid, owner, sizeof owner),
                       user_name(geteuid(), self, sizeof self));
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return mf_fail(e, MF_DENIED,
                       "folder %s (owner %s, mode %04o) may be written by others: take that away "
                       "with chmod go-w",
                       path, user_name(st.st_uid, owner, sizeof owner),
                       (unsigned)st.st_mode & 07777);
    return 0;
}

int folder_sync(int fd, const char *path, struct mf_error *e)
{
    int rc;

    RETRY(rc, fsync(fd));
    return rc == 0 ? 0 : mf_fail_errno(e, folder_io_code(errno), "sync folder %s", path);
}

int folder_make_fd(int dir, const char *name, const char *path, struct mf_error *e)
{
    int fd, rc;

    if (mkdirat(dir, name, 0700) != 0) {
        if (errno == EEXIST)
            return 0;
        rc = errno == EACCES || errno == EPERM ? MF_DENIED
             : errno == EROFS                  ? MF_READONLY
                                               : folder_io_code(errno);
        return mf_fail_errno(e, rc, "make folder %s", path);
    }
    RETRY(fd, openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0) /* one may write in a folder that one may not read; then it cannot be synced */
        return errno == EACCES
                   ? 0
                   : mf_fail_errno(e, folder_io_code(errno), "open the parent of %s", path);
    rc = folder_sync(fd, path, e);
    close(fd);
    return rc;
}

int store_folder_open(struct store_folder **out, struct store_folder *parent, const char *name,
                      unsigned flags, struct mf_error *e)
{
    char path[PATH_MAX];
    int fd = -1, rc;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", parent->path, name) >= sizeof path)
        return mf_fail(e, MF_LIMIT, "folder %s: the path is too long", name);
    rc = folder_open_fd(parent->fd, name, path, &fd, e);
    if (rc == MF_NOTFOUND && (flags & STORE_FOLDER_MAKE) != 0) {
        rc = folder_make_fd(parent->fd, name, path, e);
        if (rc == 0)
            rc = folder_open_fd(parent->fd, name, path, &fd, e);
    }
    if (rc != 0)
        return rc;
    if ((flags & STORE_FOLDER_ANY) == 0 && (rc = folder_trust(fd, path, e)) != 0) {
        close(fd);
        return rc;
    }
    return folder_wrap(out, fd, path, parent, e);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Opened anew: a duplicate of f->fd would share its position with other walks. */
static DIR *open_walk(int dir, const char *name)
{
    int fd;

    RETRY(fd, openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d == NULL && fd >= 0) {
        int err = errno;
        close(fd);
        errno = err;
    }
    return d;
}

int store_folder_list(struct store_folder *f, int (*visit)(void *arg, const char *name), void *arg,
                      struct mf_error *e)
{
    DIR *d = open_walk(f->fd, ".");
    struct dirent *entry;
    int rc = 0;

    if (d == NULL)
        return mf_fail_errno(e, folder_io_code(errno), "list folder %s", f->path);
    while (rc == 0 && (errno = 0, entry = readdir(d)) != NULL) // NOLINT(concurrency-mt-unsafe)
        if (entry->d_name[0] != '.')
            rc = visit(arg, entry->d_name);
    if (rc == 0 && errno != 0)
        rc = mf_fail_errno(e, folder_io_code(errno), "list folder %s", f->path);
    closedir(d);
    return rc;
}

bool store_folder_has(struct store_folder *f, const char *name)
{
    struct stat st;

    return fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Files first, then the folder.  Stores have no folders inside.  A link in the place of the folder
 * or of a file is removed itself: what it points to stays. */
static int empty_and_remove(struct store_folder *f, const char *name, struct mf_error *e)
{
    DIR *d = open_walk(f->fd, name);
    struct dirent *entry;
    int rc = 0;

    if (d == NULL && errno == ENOENT)
        return 0;
    if (d == NULL && (errno == ENOTDIR || errno == ELOOP))
        return unlinkat(f->fd, name, 0) == 0 || errno == ENOENT
                   ? 0
                   : mf_fail_errno(e, MF_IO, "remove %s/%s", f->path, name);
    if (d == NULL)
        return mf_fail_errno(e, MF_IO, "open folder %s/%s", f->path, name);
    while ((entry = readdir(d)) != NULL) { // NOLINT(concurrency-mt-unsafe)
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(d), entry->d_name, 0) != 0 && errno != ENOENT)
            rc = mf_fail_errno(e, MF_IO, "remove %s/%s/%s", f->path, name, entry->d_name);
    }
    closedir(d);
    if (rc == 0 && unlinkat(f->fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        rc = mf_fail_errno(e, MF_IO, "remove folder %s/%s", f->path, name);
    return rc;
}

void store_folder_removed_name(char dst[STORE_FOLDER_NAME])
{
    char id[RAND_NUID + 1];

    rand_nuid(id);
    snprintf(dst, STORE_FOLDER_NAME, GONE "%s", id);
}

void store_folder_draft_name(char dst[STORE_FOLDER_NAME], const char *name)
{
    snprintf(dst, STORE_FOLDER_NAME, DRAFT "%016llx", (unsigned long long)hash_slice(mf_str(name)));
}

int store_folder_remove(struct store_folder *f, const char *name, struct mf_error *e)
{
    char gone[STORE_FOLDER_NAME];

    store_folder_removed_name(gone);
    if (renameat(f->fd, name, f->fd, gone) != 0)
        return errno == ENOENT ? 0 : mf_fail_errno(e, MF_IO, "rename %s/%s", f->path, name);
    if (folder_sync(f->fd, f->path, e) != 0)
        return e->code;
    store_folder_empty(f, gone);
    return 0;
}

void store_folder_empty(struct store_folder *f, const char *gone)
{
    struct mf_error e;

    if (empty_and_remove(f, gone, &e) != 0)
        log_warn("%s; it is removed at the next start", e.text);
}

void store_folder_tidy(struct store_folder *f)
{
    DIR *d = open_walk(f->fd, ".");
    struct dirent *entry;
    struct mf_error e;

    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL) // NOLINT(concurrency-mt-unsafe)
        if ((strncmp(entry->d_name, GONE, sizeof GONE - 1) == 0 ||
             strncmp(entry->d_name, DRAFT, sizeof DRAFT - 1) == 0) &&
            empty_and_remove(f, entry->d_name, &e) != 0)
            log_warn("%s", e.text);
    closedir(d);
}
