/* io_files.c: the open files of directories, and which of them keep a descriptor.
 *
 * One mutex guards the lists and counts of all files.  It is held while a file is opened again, so
 * that two threads that use one file see one descriptor; never while bytes are read, written or
 * synced.
 * A file that was written and not synced keeps its descriptor: the kernel tells of a write error to
 * those who had the file open then. */
#include "io_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define KEEP_MOST 512

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mf_list idle = {&idle, &idle};
static unsigned idles, keep;

void io_files_keep(unsigned n)
{
    pthread_mutex_lock(&mutex);
    keep = n;
    pthread_mutex_unlock(&mutex);
}

static unsigned keep_max(void)
{
    struct rlimit files;

    if (keep == 0) {
        keep = KEEP_MOST;
        if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 8 < KEEP_MOST)
            keep = files.rlim_cur < 16 ? 2 : (unsigned)(files.rlim_cur / 8);
    }
    return keep;
}

/* --- under the mutex ------------------------------------------------------------------------ */

static void idle_leave(struct store_file *f)
{
    if (mf_list_empty(&f->idle))
        return;
    mf_list_del(&f->idle);
    idles--;
}

/* False: no file is idle. */
static bool close_oldest(void)
{
    if (mf_list_empty(&idle))
        return false;
    struct store_file *f = mf_container(idle.next, struct store_file, idle);
    idle_leave(f);
    close(f->fd);
    f->fd = -1;
    return true;
}

/* Where there is no descriptor left, unused files give theirs. */
static int open_at(int dir, const char *name, int flags, bool (*give)(void))
{
    int fd;

    do
        fd = openat(dir, name, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (fd < 0 && (errno == EINTR || ((errno == EMFILE || errno == ENFILE) && give())));
    return fd;
}

static int use(struct store_file *f)
{
    idle_leave(f);
    if (f->fd < 0)
        f->fd = open_at(f->dir, f->name, 0, close_oldest);
    f->users += f->fd >= 0;
    return f->fd;
}

static bool close_one(void)
{
    int error = errno;

    pthread_mutex_lock(&mutex);
    bool closed = close_oldest();
    pthread_mutex_unlock(&mutex);
    errno = error;
    return closed;
}

/* --- one file ------------------------------------------------------------------------------- */

struct store_file *io_files_open(int dir, struct mf_list *siblings, const char *name, bool create)
{
    struct store_file *f;

    if (strlen(name) >= FILES_NAME) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    f = calloc(1, sizeof *f);
    if (f == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    f->dir = dir;
    mf_list_init(&f->idle);
    snprintf(f->name, sizeof f->name, "%s", name);
    /* Without the mutex: the file system may be busy when a file is made. */
    f->fd = open_at(dir, name, create ? O_CREAT | O_EXCL : 0, close_one);
    if (f->fd < 0) {
        int error = errno;
        free(f);
        errno = error;
        return NULL;
    }
    f->users = 1;
    pthread_mutex_lock(&mutex);
    mf_list_push(siblings, &f->sibling);
    pthread_mutex_unlock(&mutex);
    io_files_done(f);
    return f;
}

void io_files_close(struct store_file *f)
{
    pthread_mutex_lock(&mutex);
    idle_leave(f);
    mf_list_del(&f->sibling);
    pthread_mutex_unlock(&mutex);
    if (f->fd >= 0)
        close(f->fd);
    free(f);
}

int io_files_use_sync(struct store_file *f, uint64_t *writes)
{
    pthread_mutex_lock(&mutex);
    int fd = use(f), error = errno;
    *writes = f->writes;
    pthread_mutex_unlock(&mutex);
    errno = error;
    return fd;
}

int io_files_use(struct store_file *f)
{
    uint64_t writes;

    return io_files_use_sync(f, &writes);
}

int io_files_write(struct store_file *f)
{
    pthread_mutex_lock(&mutex);
    int fd = use(f), error = errno;
    f->writes += fd >= 0;
    pthread_mutex_unlock(&mutex);
    errno = error;
    return fd;
}

void io_files_done(struct store_file *f)
{
    int error = errno; /* of the call that is over: the caller's */

    pthread_mutex_lock(&mutex);
    if (--f->users == 0 && f->writes == f->synced) {
        mf_list_push(&idle, &f->idle);
        if (++idles > keep_max())
            (void)close_oldest();
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
}

void io_files_synced(struct store_file *f, uint64_t writes)
{
    pthread_mutex_lock(&mutex);
    if (writes > f->synced)
        f->synced = writes;
    pthread_mutex_unlock(&mutex);
}

void io_files_renamed(struct mf_list *siblings, const char *from, const char *to)
{
    struct mf_list *pos;

    pthread_mutex_lock(&mutex);
    mf_list_each(pos, siblings)
    {
        struct store_file *f = mf_container(pos, struct store_file, sibling);
        if (strcmp(f->name, from) == 0)
            snprintf(f->name, sizeof f->name, "%s", to);
    }
    pthread_mutex_unlock(&mutex);
}
