/* io_fd.c: descriptors of the files of stores: see io_dir.h. */
#include "store/io/io_dir.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP_MOST 512

static unsigned keep_wanted; /* io_fd_keep(): constant but in tests */

struct io_fds *io_fds_new(void)
{
    struct io_fds *x = calloc(1, sizeof *x);

    if (x == NULL)
        return NULL;
    atomic_init(&x->refs, 1);
    pthread_mutex_init(&x->mutex, NULL); /* does not fail on Linux */
    mf_list_init(&x->idle);
    return x;
}

void io_fds_release(struct io_fds *x)
{
    if (atomic_fetch_sub(&x->refs, 1) > 1)
        return;
    pthread_mutex_destroy(&x->mutex);
    free(x);
}

static struct io_fds *fds_of(const struct dir_io *d)
{
    return d->parent->fds;
}

void io_fd_lock(struct dir_io *d)
{
    int err = errno;

    pthread_mutex_lock(&fds_of(d)->mutex);
    errno = err;
}

void io_fd_unlock(struct dir_io *d)
{
    int err = errno;

    pthread_mutex_unlock(&fds_of(d)->mutex);
    errno = err;
}

void io_fd_keep(unsigned n)
{
    keep_wanted = n;
}

void store_folder_keep_files(struct store_folder *f, unsigned n)
{
    pthread_mutex_lock(&f->fds->mutex);
    f->fds->keep = n;
    pthread_mutex_unlock(&f->fds->mutex);
}

void io_fd_close(int fd)
{
    int err = errno;

    if (fd >= 0)
        close(fd);
    errno = err;
}

/* --- with the lock held ---------------------------------------------------------------------- */

static unsigned keep_max(struct io_fds *x)
{
    struct rlimit files;

    if (keep_wanted != 0)
        return keep_wanted;
    if (x->keep == 0) {
        x->keep = KEEP_MOST;
        if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 8 < KEEP_MOST)
            x->keep = files.rlim_cur < 16 ? 2 : (unsigned)(files.rlim_cur / 8);
    }
    return x->keep;
}

static void idle_leave(struct store_file *f)
{
    if (mf_list_empty(&f->idle))
        return;
    mf_list_del(&f->idle);
    fds_of(f->dir)->idles--;
}

/* False: no file is idle. */
static bool close_oldest(struct io_fds *x)
{
    if (mf_list_empty(&x->idle))
        return false;
    struct store_file *f = mf_container(x->idle.next, struct store_file, idle);
    idle_leave(f);
    io_fd_close(f->fd);
    f->fd = -1;
    return true;
}

/* If no descriptor is left, unused files are closed. */
static bool try_again(struct io_fds *x, int fd)
{
    return fd < 0 && (errno == EINTR || ((errno == EMFILE || errno == ENFILE) && close_oldest(x)));
}

int io_fd_dir(struct dir_io *d, int flags)
{
    int fd = -1;

    errno = EBADF;
    if (!d->entered)
        return -1;
    do
        fd = openat(d->parent->fd, d->name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (try_again(fds_of(d), fd));
    return fd;
}

/* O_NONBLOCK, because a pipe would make us wait for its writer. */
static int open_own(struct io_fds *x, int dir, const char *name, int flags, const char **odd)
{
    struct stat st;
    int fd;

    do
        fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
    while (try_again(x, fd));
    if (fd < 0 && (errno == ELOOP || errno == ENXIO || errno == EISDIR) &&
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
        *odd = folder_file_kind(st.st_mode);
    if (fd < 0 || (flags & O_EXCL) != 0) /* just made: a file, and ours */
        return fd;
    if (fstat(fd, &st) == 0) {
        if (S_ISREG(st.st_mode) && st.st_uid == geteuid())
            return fd;
        *odd = S_ISREG(st.st_mode) ? "another user's" : folder_file_kind(st.st_mode);
        errno = EACCES;
    }
    io_fd_close(fd);
    return -1;
}

static int open_in(struct dir_io *d, const char *name, int flags, const char **odd)
{
    int dir = io_fd_dir(d, O_PATH), fd = dir < 0 ? -1 : open_own(fds_of(d), dir, name, flags, odd);

    io_fd_close(dir);
    return fd;
}

static int use_file(struct dir_io *d, struct store_file *f)
{
    const char *odd = NULL;

    idle_leave(f);
    errno = ESTALE; /* removed by another process */
    if (f->fd < 0 && !f->unlinked)
        f->fd = open_in(d, f->name, 0, &odd);
    f->users += f->fd >= 0;
    return f->fd;
}

/* A file of that name which is open must keep a descriptor: it cannot be opened again. */
bool io_fd_keep_unnamed(struct dir_io *d, int dir, const char *name)
{
    struct mf_list *pos;
    const char *odd;

    mf_list_each(pos, &d->files)
    {
        struct store_file *f = mf_container(pos, struct store_file, node);
        if (f->unlinked || strcmp(f->name, name) != 0)
            continue;
        if (f->fd < 0 && (f->fd = open_own(fds_of(d), dir, name, 0, &odd)) < 0 && errno != ENOENT)
            return false;
        idle_leave(f);
        f->unlinked = true;
    }
    return true;
}

void io_fd_renamed(struct dir_io *d, const char *from, const char *to)
{
    struct mf_list *pos;

    mf_list_each(pos, &d->files)
    {
        struct store_file *f = mf_container(pos, struct store_file, node);
        if (!f->unlinked && strcmp(f->name, from) == 0)
            snprintf(f->name, sizeof f->name, "%s", to);
    }
}

/* --- calls of workers and the loop ------------------------------------------------------------ */

int io_fd_dir_locked(struct dir_io *d, int flags)
{
    io_fd_lock(d);
    int fd = io_fd_dir(d, flags);
    io_fd_unlock(d);
    return fd;
}

struct store_file *io_fd_file(struct dir_io *d, const char *name, bool create, const char **odd)
{
    struct store_file *f = calloc(1, sizeof *f);

    if (f == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    f->dir = d;
    snprintf(f->name, sizeof f->name, "%s", name);
    mf_list_init(&f->idle);
    io_fd_lock(d);
    f->fd = open_in(d, name, create ? O_CREAT | O_EXCL : 0, odd);
    if (f->fd >= 0)
        mf_list_push(&d->files, &f->node);
    io_fd_unlock(d);
    if (f->fd < 0) {
        int err = errno;
        free(f);
        errno = err;
        return NULL;
    }
    f->users = 1;
    io_fd_release(f);
    return f;
}

void io_fd_end(struct store_file *f)
{
    io_fd_lock(f->dir);
    idle_leave(f);
    mf_list_del(&f->node);
    io_fd_unlock(f->dir);
    io_fd_close(f->fd);
    free(f);
}

int io_fd_take_sync(struct dir_io *d, struct store_file *f, uint64_t *writes)
{
    io_fd_lock(d);
    int fd = use_file(d, f);
    *writes = f->writes;
    io_fd_unlock(d);
    return fd;
}

int io_fd_take(struct dir_io *d, struct store_file *f)
{
    uint64_t writes;

    return io_fd_take_sync(d, f, &writes);
}

int io_fd_take_write(struct dir_io *d, struct store_file *f)
{
    io_fd_lock(d);
    int fd = use_file(d, f);
    f->writes += fd >= 0;
    io_fd_unlock(d);
    return fd;
}

void io_fd_synced(struct store_file *f, uint64_t writes)
{
    io_fd_lock(f->dir);
    if (writes > f->synced)
        f->synced = writes;
    io_fd_unlock(f->dir);
}

void io_fd_release(struct store_file *f)
{
    io_fd_lock(f->dir);
    if (--f->users == 0 && f->writes == f->synced && !f->unlinked) {
        struct io_fds *x = fds_of(f->dir);
        mf_list_push(&x->idle, &f->idle);
        if (++x->idles > keep_max(x))
            (void)close_oldest(x);
    }
    io_fd_unlock(f->dir);
}
