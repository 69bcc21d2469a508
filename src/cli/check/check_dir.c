/* check_dir.c: a store in a directory: its files and its lock.  Opens for reading only. */
#include "cli/check/check_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096u /* what one bad sector makes unreadable, at most */

static int open_file(struct check_dir *d, const char *name, struct mf_error *e)
{
    struct stat st;

    if (d->file >= 0 && strcmp(d->name, name) == 0)
        return 0;
    if (d->file >= 0)
        (void)close(d->file);
    /* Not to wait for the other end of a pipe. */
    d->file = openat(d->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (d->file < 0)
        return mf_fail_errno(e, MF_IO, "open %s", name);
    if (fstat(d->file, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(d->file);
        d->file = -1;
        return mf_fail(e, MF_IO, "open %s: it is not a regular file", name);
    }
    (void)snprintf(d->name, sizeof d->name, "%s", name);
    (void)posix_fadvise(d->file, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

static int dir_size(void *arg, const char *name, uint64_t *out, struct mf_error *e)
{
    struct check_dir *d = arg;
    struct stat st;

    if (open_file(d, name, e) != 0)
        return e->code;
    if (fstat(d->file, &st) != 0)
        return mf_fail_errno(e, MF_IO, "stat");
    *out = (uint64_t)st.st_size;
    return 0;
}

static int dir_pread(void *arg, const char *name, void *dst, size_t n, uint64_t off, size_t *got,
                     struct mf_error *e)
{
    struct check_dir *d = arg;
    uint8_t *p = dst;

    if (open_file(d, name, e) != 0)
        return e->code;
    for (*got = 0; *got < n;) {
        size_t left = n - *got, block = BLOCK - (size_t)((off + *got) % BLOCK);
        ssize_t k = pread(d->file, p + *got, left, (off_t)(off + *got));

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0 && errno == EIO && d->forgive) { /* the others around it may be fine */
            left = left < block ? left : block;
            k = pread(d->file, p + *got, left, (off_t)(off + *got));
            if (k < 0 && errno == EIO) {
                memset(p + *got, 0, left);
                d->unreadable += left;
                k = (ssize_t)left;
            }
        }
        if (k < 0)
            return mf_fail_errno(e, MF_IO, "read (copy the disk before you do anything else)");
        if (k == 0)
            return 0;
        *got += (size_t)k;
    }
    return 0;
}

static int dir_list(void *arg, int (*visit)(void *visit_arg, const char *name), void *visit_arg,
                    struct mf_error *e)
{
    struct check_dir *d = arg;
    const struct dirent *ent;
    struct stat st;
    DIR *list;
    int fd, rc = 0;

    fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return mf_fail_errno(e, MF_IO, "open the directory");
    list = fdopendir(fd);
    if (list == NULL) {
        rc = mf_fail_errno(e, MF_IO, "open the directory");
        (void)close(fd);
        return rc;
    }
    while (rc == 0 && (errno = 0, ent = readdir(list)) != NULL) {
        /* Directories below may be other stores. */
        if (fstatat(d->fd, ent->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
            rc = visit(visit_arg, ent->d_name);
    }
    if (rc == 0 && errno != 0)
        rc = mf_fail_errno(e, MF_IO, "read the directory");
    (void)closedir(list);
    return rc;
}

/* --- the lock --------------------------------------------------------------------------------- */

/* The pid a server wrote into the lock file, -1 when it did not. */
static int64_t read_pid(int fd)
{
    char text[24];
    ssize_t n = pread(fd, text, sizeof text, 0);
    size_t len = 0;
    uint64_t pid;

    while (n > 0 && len < (size_t)n && text[len] >= '0' && text[len] <= '9')
        len++;
    return mf_parse_u64(mf_slice(text, len), &pid) == 0 && pid <= INT32_MAX ? (int64_t)pid : -1;
}

/* ROOT/ACCOUNT/streams/NAME: the lock of all stores of a server is in ROOT.  Elsewhere (a copy)
 * there is none: -1 with ENOENT. */
static bool is_in_place(int dir)
{
    struct stat above, streams;

    return fstatat(dir, "..", &above, 0) == 0 &&
           fstatat(dir, "../../streams", &streams, AT_SYMLINK_NOFOLLOW) == 0 &&
           above.st_ino == streams.st_ino && above.st_dev == streams.st_dev;
}

static int open_lock(int dir)
{
    if (!is_in_place(dir)) {
        errno = ENOENT;
        return -1;
    }
    return openat(dir, "../../../.lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Takes the lock, shared: two checks may run side by side.  A store without a lock file gets none.
 * *pid: a server has it (o->no_lock). */
static int take_lock(int dir, const struct check_opts *o, int *lock, int64_t *pid,
                     struct mf_error *e)
{
    char who[40] = "";

    *pid = 0;
    *lock = open_lock(dir);
    if (*lock < 0 && errno == ENOENT)
        return 0;
    if (*lock < 0)
        return mf_fail_errno(e, MF_IO, "open the server's .lock");
    if (flock(*lock, LOCK_SH | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return mf_fail_errno(e, MF_IO, "lock the server's .lock");
    *pid = read_pid(*lock);
    if (o->no_lock)
        return 0;
    if (*pid > 0)
        (void)snprintf(who, sizeof who, " (pid %" PRId64 ")", *pid);
    return mf_fail(e, MF_EXISTS,
                   "a server%s has this store: stop it first, or read it as it is with --no-lock",
                   who);
}

/* --- the commit journal ----------------------------------------------------------------------- */

/* ROOT/.journal, if the store is in its place. */
static int open_journal(struct check_dir *d, struct mf_error *e)
{
    struct check_dir *j = NULL;
    int fd = -1;

    if (is_in_place(d->fd))
        fd = openat(d->fd, "../../../.journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && (j = calloc(1, sizeof *j)) == NULL) {
        (void)close(fd);
        return mf_fail(e, MF_NOMEM, "the commit journal");
    }
    if (j != NULL) {
        *j = (struct check_dir){.fd = fd, .file = -1, .lock = -1};
        j->own = (struct check_source){dir_list, dir_size, dir_pread, j};
    }
    d->journal = j;
    int rc = check_journal_open(&d->joined, &d->own, j == NULL ? NULL : &j->own, e);
    d->src = d->joined.src;
    return rc;
}

int check_dir_open(struct check_dir *d, const char *path, const struct check_opts *o,
                   struct mf_error *e)
{
    *d = (struct check_dir){.file = -1, .lock = -1};
    d->own = (struct check_source){dir_list, dir_size, dir_pread, d};
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0)
        return mf_fail_errno(e, MF_IO, "%s", path);
    if (take_lock(d->fd, o, &d->lock, &d->server_pid, e) != 0 || open_journal(d, e) != 0) {
        check_dir_close(d);
        return mf_wrap(e, "%s", path);
    }
    return 0;
}

void check_dir_close(struct check_dir *d)
{
    check_journal_close(&d->joined);
    if (d->journal != NULL)
        check_dir_close(d->journal);
    free(d->journal);
    d->journal = NULL;
    if (d->file >= 0)
        (void)close(d->file);
    if (d->lock >= 0)
        (void)close(d->lock);
    (void)close(d->fd);
}

int check_store(const char *dir, const struct check_opts *o, struct check_result *out,
                struct mf_error *e)
{
    struct check_dir d;
    struct mf_error own;
    int rc;

    if (e == NULL)
        e = &own;
    *out = (struct check_result){.damage = NULL};
    rc = check_dir_open(&d, dir, o, e);
    if (rc != 0)
        return rc;
    rc = check_files(&d.src, o, out, e);
    if (rc == 0)
        out->server_pid = d.server_pid;
    check_dir_close(&d);
    return rc == 0 ? 0 : mf_wrap(e, "%s", dir);
}
