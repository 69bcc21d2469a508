/* shim.c: the calls of the server that the shim steps into (shim.h): files, the clock, accept. */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* REAL(NAME): the next definition of NAME: libc's, or a sanitizer's above it. */
#define REAL(name) ((__typeof__(&name))real(#name))

static struct shim_control none;
struct shim_control *shim_control = &none;

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void shim_init(void)
{
    const char *path = getenv("SHIM_CONTROL");
    int fd = path == NULL ? -1 : REAL(open)(path, O_RDWR | O_CLOEXEC);

    if (fd >= 0) {
        void *p = REAL(mmap)(NULL, sizeof *shim_control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED)
            shim_control = p;
        close(fd);
    }
    shim_disk_init();
}

bool shim_fails(enum shim_call call, int *error)
{
    struct shim_fault *f = &shim_control->fault[call];

    if (__atomic_load_n(&f->after, __ATOMIC_RELAXED) <= 0) {
        /* Not armed, or within the burst behind the first failure. */
        if (__atomic_load_n(&f->more, __ATOMIC_RELAXED) >= 0)
            return false;
        if (__atomic_add_fetch(&f->more, 1, __ATOMIC_RELAXED) > 0)
            return false;
    } else {
        if (__atomic_sub_fetch(&f->after, 1, __ATOMIC_RELAXED) != 0)
            return false;
        /* Negative: so many are still to fail. */
        __atomic_store_n(&f->more, -f->more, __ATOMIC_RELAXED);
    }
    __atomic_add_fetch(&f->hits, 1, __ATOMIC_RELAXED);
    *error = f->error;
    return true;
}

/* A call that fails returns -1 with errno set: true. */
static bool failed(enum shim_call call)
{
    int error = 0;

    if (!shim_fails(call, &error))
        return false;
    errno = error == 0 ? EIO : error;
    return true;
}

/* --- the clock ----------------------------------------------------------------------------------
 */

int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    static int (*next)(clockid_t, struct timespec *);

    if (next == NULL)
        next = REAL(clock_gettime);
    int rc = next(clock_id, tp);
    int64_t offset = __atomic_load_n(&shim_control->clock_offset_ns, __ATOMIC_RELAXED);
    int64_t still = __atomic_load_n(&shim_control->clock_still_ns, __ATOMIC_RELAXED);
    if (rc == 0 && clock_id == CLOCK_REALTIME && (offset != 0 || still != 0)) {
        int64_t ns = still != 0 ? still : (int64_t)tp->tv_sec * 1000000000 + tp->tv_nsec + offset;
        tp->tv_sec = ns / 1000000000;
        tp->tv_nsec = ns % 1000000000;
    }
    return rc;
}

/* --- files --------------------------------------------------------------------------------------
 */

/* What makes a name holds back those who list names for the copy until it has its number. */
static bool makes(int flags)
{
    return (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

static int opened(int fd, int flags)
{
    if (fd >= 0)
        shim_disk_opened(fd, makes(flags));
    if (makes(flags))
        shim_disk_release();
    return fd;
}

int open(const char *file, int oflag, ...)
{
    va_list ap;

    va_start(ap, oflag);
    mode_t mode = (oflag & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (failed(SHIM_OPEN))
        return -1;
    if (makes(oflag))
        shim_disk_hold();
    return opened(REAL(open)(file, oflag, mode), oflag);
}

int openat(int fd, const char *file, int oflag, ...)
{
    va_list ap;

    va_start(ap, oflag);
    mode_t mode = (oflag & O_CREAT) != 0 ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (failed(SHIM_OPEN))
        return -1;
    if (makes(oflag))
        shim_disk_hold();
    return opened(REAL(openat)(fd, file, oflag, mode), oflag);
}

/* The same, as _FORTIFY_SOURCE calls it where there is no mode and the flags are no constant. */
int __openat_2(int fd, const char *file, int oflag); // NOLINT: glibc's name
int __openat_2(int fd, const char *file, int oflag)  // NOLINT: glibc's name
{
    return openat(fd, file, oflag & ~O_CREAT);
}

int close(int fd)
{
    static int (*next)(int);

    if (next == NULL)
        next = REAL(close);
    shim_disk_closed(fd);
    return next(fd);
}

ssize_t pread(int fd, void *buf, size_t nbytes, off_t offset)
{
    if (shim_disk_watches(fd) && failed(SHIM_PREAD))
        return -1;
    return REAL(pread)(fd, buf, nbytes, offset);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
    int error = 0;

    if (!shim_disk_watches(fd))
        return REAL(pwrite)(fd, buf, n, offset);
    if (shim_fails(SHIM_PWRITE, &error)) {
        if (error != 0) {
            errno = error;
            return -1;
        }
        n = (n + 1) / 2; /* a short write is no error */
    }
    ssize_t put = REAL(pwrite)(fd, buf, n, offset);
    if (put > 0)
        shim_disk_wrote(fd, offset, (size_t)put);
    return put;
}

/* With a durable copy the real disk need not be waited for. */
static int synced(int fd, int (*next)(int))
{
    if ((shim_disk_begins_dirty(fd) && failed(SHIM_FIRST_SYNC)) || failed(SHIM_SYNC)) {
        int error = errno;
        shim_disk_forgets(fd);
        errno = error;
        return -1;
    }
    if (!shim_disk_on())
        return next(fd);
    shim_disk_synced(fd);
    return 0;
}

/* Never fails by order: what a failure would leave behind is told by each file's own sync. */
int syncfs(int fd)
{
    if (!shim_disk_on())
        return REAL(syncfs)(fd);
    shim_disk_synced_all();
    return 0;
}

int fdatasync(int fildes)
{
    return synced(fildes, REAL(fdatasync));
}

int fsync(int fd)
{
    return synced(fd, REAL(fsync));
}

int ftruncate(int fd, off_t length)
{
    if (shim_disk_watches(fd) && failed(SHIM_TRUNCATE))
        return -1;
    int rc = REAL(ftruncate)(fd, length);
    if (rc == 0)
        shim_disk_cut(fd, length);
    return rc;
}

int posix_fallocate(int fd, off_t offset, off_t len)
{
    int error = 0;

    if (shim_disk_watches(fd) && shim_fails(SHIM_TRUNCATE, &error))
        return error == 0 ? EIO : error;
    return REAL(posix_fallocate)(fd, offset, len);
}

int renameat(int oldfd, const char *old, int newfd, const char *new)
{
    if (failed(SHIM_RENAME))
        return -1;
    shim_disk_hold();
    ino_t before = shim_disk_inode(newfd, new);
    int rc = REAL(renameat)(oldfd, old, newfd, new);
    if (rc == 0)
        shim_disk_gone(before);
    shim_disk_release();
    return rc;
}

int rename(const char *old, const char *new)
{
    return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

int unlinkat(int fd, const char *name, int flag)
{
    if (failed(SHIM_UNLINK))
        return -1;
    shim_disk_hold();
    ino_t before = shim_disk_inode(fd, name);
    int rc = REAL(unlinkat)(fd, name, flag);
    if (rc == 0)
        shim_disk_gone(before);
    shim_disk_release();
    return rc;
}

int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdirat(int fd, const char *path, mode_t mode)
{
    if (failed(SHIM_MKDIR))
        return -1;
    shim_disk_hold();
    int rc = REAL(mkdirat)(fd, path, mode);
    if (rc == 0)
        shim_disk_made(fd, path);
    shim_disk_release();
    return rc;
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);

    if (next == NULL)
        next = REAL(mmap);
    if (fd >= 0 && failed(SHIM_MMAP))
        return MAP_FAILED;
    return next(addr, len, prot, flags, fd, offset);
}

int accept4(int fd, struct sockaddr *addr, socklen_t *addr_len, int flags)
{
    return failed(SHIM_ACCEPT) ? -1 : REAL(accept4)(fd, addr, addr_len, flags);
}
