/* io_dir.c: the files under a store, in a directory of the file system. */
#include "store/io/io_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static struct dir_io *dir_of(struct store_io *io)
{
    return mf_container(io, struct dir_io, io);
}

bool store_io_name_ok(const char *name)
{
    return name[0] != '\0' && strlen(name) <= NAME_MAX && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strcmp(name, STORE_IO_OLD_LOCK) != 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

#define WHERE_MAX 1024

/* "PARENT/DIR", for texts; the directory may be renamed meanwhile. */
static const char *print_path(struct dir_io *d, char dst[WHERE_MAX])
{
    io_fd_lock(d);
    snprintf(dst, WHERE_MAX, "%s/%s", d->parent->path, d->name);
    io_fd_unlock(d);
    return dst;
}

/* "verb DIR/NAME: strerror(errno)" */
static int fail_file(struct store_io *io, const char *verb, const char *name, struct mf_error *e)
{
    int err = errno;
    char dir[WHERE_MAX];

    print_path(dir_of(io), dir);
    errno = err;
    return mf_fail_errno(e, folder_io_code(err), "%s %s/%s", verb, dir, name);
}

static int check_name(struct store_io *io, const char *name, struct mf_error *e)
{
    char dir[WHERE_MAX];

    if (store_io_name_ok(name))
        return 0;
    return mf_fail(e, MF_INVAL, "file name '%s' in %s", name, print_path(dir_of(io), dir));
}

/* --- the directory ---------------------------------------------------------------------------- */

static int dir_enter(struct store_io *io, struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    struct store_folder *f;
    char text[WHERE_MAX];

    if (d->entered)
        return mf_fail(e, MF_EXISTS, "%s is in use", print_path(d, text));
    int rc = store_folder_open(&f, d->parent, d->name, STORE_FOLDER_MAKE, e);
    if (rc != 0)
        return rc;
    store_folder_release(f);
    d->entered = true;
    return 0;
}

static void dir_leave(struct store_io *io)
{
    dir_of(io)->entered = false;
}

int store_io_dir_move(struct store_io *io, const char *to, struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    char from[WHERE_MAX];
    int rc = check_name(io, to, e);

    if (rc != 0)
        return rc;
    print_path(d, from);
    io_fd_lock(d);
    rc = renameat(d->parent->fd, d->name, d->parent->fd, to);
    int err = errno;
    if (rc == 0)
        snprintf(d->name, sizeof d->name, "%s", to);
    io_fd_unlock(d);
    errno = err;
    if (rc != 0)
        return mf_fail_errno(e, folder_io_code(err), "rename %s to %s", from, to);
    return folder_sync(d->parent->fd, d->parent->path, e);
}

bool store_io_dir_is(struct store_io *io, const char *name)
{
    struct dir_io *d = dir_of(io);

    io_fd_lock(d);
    bool same = strcmp(d->name, name) == 0;
    io_fd_unlock(d);
    return same;
}

/* --- one file --------------------------------------------------------------------------------- */

static int dir_open(struct store_io *io, const char *name, bool create, struct store_file **out,
                    struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    const char *odd = NULL;
    char text[WHERE_MAX];
    int rc = check_name(io, name, e);

    if (rc != 0)
        return rc;
    struct store_file *f = io_fd_file(d, name, create, &odd);
    if (f == NULL && odd == NULL)
        return fail_file(io, create ? "create" : "open", name, e);
    if (f == NULL)
        return mf_fail(e, create ? folder_io_code(errno) : MF_IO, "open %s/%s: it is %s",
                       print_path(d, text), name, odd);
    *out = f;
    return 0;
}

static void dir_close(struct store_io *io, struct store_file *f)
{
    (void)io;
    io_fd_end(f);
}

static int dir_size(struct store_io *io, struct store_file *f, uint64_t *out, struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    struct stat st;
    int fd = io_fd_take(d, f), rc = fd < 0 ? -1 : fstat(fd, &st);

    if (fd >= 0)
        io_fd_release(f);
    if (rc != 0)
        return fail_file(io, "size of", f->name, e);
    *out = (uint64_t)st.st_size;
    return 0;
}

static int read_all(struct store_io *io, struct store_file *f, int fd, void *dst, size_t n,
                    uint64_t off, struct mf_error *e)
{
    char dir[WHERE_MAX];
    size_t done = 0;

    while (done < n) {
        ssize_t got = -1;
        if (fd >= 0)
            RETRY(got, pread(fd, (char *)dst + done, n - done, (off_t)(off + done)));
        int err = errno;
        if (got > 0) {
            done += (size_t)got;
            continue;
        }
        print_path(dir_of(io), dir);
        errno = err;
        uint64_t at = off + done;
        if (got < 0)
            return mf_fail_errno(e, folder_io_code(errno), "read %zu bytes at %llu of %s/%s", n,
                                 (unsigned long long)off, dir, f->name);
        return mf_fail(e, MF_IO, "read %zu bytes at %llu of %s/%s: past its end, no byte at %llu",
                       n, (unsigned long long)off, dir, f->name, (unsigned long long)at);
    }
    return 0;
}

static int dir_pread(struct store_io *io, struct store_file *f, void *dst, size_t n, uint64_t off,
                     struct mf_error *e)
{
    int fd = io_fd_take(dir_of(io), f), rc = read_all(io, f, fd, dst, n, off, e);

    if (fd >= 0)
        io_fd_release(f);
    return rc;
}

/* Drops runs of pages that were not in memory before. mincore() uses a mapping that is never
 * touched: a mapped page would not be dropped. */
static void drop_cold(int fd, uint64_t off, size_t n, const unsigned char *seen, size_t page)
{
    size_t pages = (n + page - 1) / page, from = 0;

    for (size_t i = 0; i <= pages; i++) {
        if (i < pages && (seen[i] & 1) == 0)
            continue;
        if (from < i)
            (void)posix_fadvise(fd, (off_t)(off + from * page), (off_t)((i - from) * page),
                                POSIX_FADV_DONTNEED);
        from = i + 1;
    }
}

#define ASIDE_PAGES 512u

static int dir_pread_aside(struct store_io *io, struct store_file *f, void *dst, size_t n,
                           uint64_t off, struct mf_error *e)
{
    size_t page = dir_of(io)->page, skew = (size_t)(off % page);
    unsigned char seen[ASIDE_PAGES];
    int fd = io_fd_take(dir_of(io), f), rc;
    bool known = false;

    if (fd >= 0 && n > 0 && n + skew <= ASIDE_PAGES * page) {
        void *p = mmap(NULL, n + skew, PROT_READ, MAP_SHARED, fd, (off_t)(off - skew));
        if (p != MAP_FAILED) {
            known = mincore(p, n + skew, seen) == 0;
            (void)munmap(p, n + skew);
        }
    }
    /* No readahead: pages of the next piece would look as if they were in use.  Other readers of
     * the file lack readahead for this moment. */
    if (known)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    rc = read_all(io, f, fd, dst, n, off, e);
    if (known) {
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
        drop_cold(fd, off - skew, n + skew, seen, page);
    }
    if (fd >= 0)
        io_fd_release(f);
    return rc;
}

static int write_all(struct store_io *io, struct store_file *f, int fd, const void *src, size_t n,
                     uint64_t off, struct mf_error *e)
{
    char dir[WHERE_MAX];
    size_t done = 0;

    while (done < n) {
        ssize_t put = -1;
        if (fd >= 0)
            RETRY(put, pwrite(fd, (const char *)src + done, n - done, (off_t)(off + done)));
        if (put == 0)
            errno = EIO; /* no errno from the system; a retry might never end */
        if (put <= 0) {
            int err = errno;
            print_path(dir_of(io), dir);
            errno = err;
            return mf_fail_errno(e, folder_io_code(errno), "write %zu bytes at %llu of %s/%s", n,
                                 (unsigned long long)off, dir, f->name);
        }
        done += (size_t)put;
    }
    return 0;
}

static int dir_pwrite(struct store_io *io, struct store_file *f, const void *src, size_t n,
                      uint64_t off, struct mf_error *e)
{
    int fd = io_fd_take_write(dir_of(io), f), rc = write_all(io, f, fd, src, n, off, e);

    if (fd >= 0)
        io_fd_release(f);
    return rc;
}

static int dir_sync(struct store_io *io, struct store_file *f, struct mf_error *e)
{
    char dir[WHERE_MAX];
    uint64_t writes;
    int fd = io_fd_take_sync(dir_of(io), f, &writes), rc;

    if (fd < 0)
        return fail_file(io, "open", f->name, e); /* no sync was tried */
    RETRY(rc, fdatasync(fd));
    if (rc == 0)
        io_fd_synced(f, writes);
    io_fd_release(f);
    if (rc == 0)
        return 0;
    int err = errno;
    print_path(dir_of(io), dir);
    errno = err;
    /* Final, also for want of space: see store_io_is_shortage(). */
    return mf_fail_errno(e, MF_IO, "sync %s/%s", dir, f->name);
}

static int dir_truncate(struct store_io *io, struct store_file *f, uint64_t size,
                        struct mf_error *e)
{
    int fd = io_fd_take_write(dir_of(io), f), rc = -1;

    if (fd >= 0) {
        RETRY(rc, ftruncate(fd, (off_t)size));
        io_fd_release(f);
    }
    return rc == 0 ? 0 : fail_file(io, "truncate", f->name, e);
}

static int dir_allocate(struct store_io *io, struct store_file *f, uint64_t size,
                        struct mf_error *e)
{
    int fd = io_fd_take_write(dir_of(io), f), rc;

    if (fd < 0)
        return fail_file(io, "allocate", f->name, e);
    do /* its result is the error */
        rc = posix_fallocate(fd, 0, (off_t)size);
    while (rc == EINTR);
    io_fd_release(f);
    if (rc == 0)
        return 0;
    if (rc == EOPNOTSUPP || rc == EINVAL) /* a file system without it: at least the size */
        return dir_truncate(io, f, size, e);
    errno = rc;
    return fail_file(io, "allocate", f->name, e);
}

static uint64_t dir_largest(struct store_io *io)
{
    struct rlimit size;

    (void)io;
    if (getrlimit(RLIMIT_FSIZE, &size) != 0 || size.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return (uint64_t)size.rlim_cur;
}

static uint64_t dir_space(struct store_io *io)
{
    struct statvfs v;

    if (dir_largest(io) != UINT64_MAX)
        return 0; /* free space does not bound the size of a file */
    int fd = io_fd_dir_locked(dir_of(io), O_PATH), rc = fd < 0 ? -1 : fstatvfs(fd, &v);
    io_fd_close(fd);
    return rc != 0 ? 0 : (uint64_t)v.f_bavail * v.f_frsize;
}

/* --- mappings --------------------------------------------------------------------------------- */

/* No madvise: the same mapping is replayed from end to end and read at random.  MADV_RANDOM would
 * make a cold replay one disk read per 4 KB page, MADV_SEQUENTIAL would drop pages behind a random
 * reader; the default reads around a miss and stops doing so after many misses, and what is cold
 * is read by a worker (see resident) where reading a little too much costs nobody's time. */
static const uint8_t *dir_map(struct store_io *io, struct store_file *f, uint64_t size)
{
    struct stat st;
    void *p = MAP_FAILED;
    int fd = size == 0 || size > SIZE_MAX ? -1 : io_fd_take(dir_of(io), f);

    if (fd < 0)
        return NULL;
    /* Touching a page past the file's end is SIGBUS, so there is no mapping of it. */
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size >= size)
        p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    io_fd_release(f);
    return p == MAP_FAILED ? NULL : p;
}

static void dir_unmap(struct store_io *io, const uint8_t *p, uint64_t size)
{
    (void)io;
    munmap((void *)p, (size_t)size);
}

/* One system call per 1 MB asked for (usually one: a record).  mincore() knows the page cache, so
 * a page nobody touched through this mapping counts as resident: to touch it waits for no disk. */
static bool dir_resident(struct store_io *io, const uint8_t *p, uint64_t off, size_t n)
{
    size_t page = dir_of(io)->page;
    uint64_t at = off / page * page, end = off + n;
    unsigned char seen[256];

    while (at < end) {
        uint64_t len = end - at < sizeof seen * page ? end - at : sizeof seen * page;
        size_t pages = (size_t)((len + page - 1) / page);
        if (mincore((void *)(p + at), (size_t)len, seen) != 0)
            return false;
        for (size_t i = 0; i < pages; i++)
            if ((seen[i] & 1) == 0)
                return false;
        at += len;
    }
    return true;
}

/* --- names ------------------------------------------------------------------------------------ */

static int dir_rename(struct store_io *io, const char *from, const char *to, struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    char text[WHERE_MAX];
    int rc = check_name(io, from, e);

    if (rc == 0)
        rc = check_name(io, to, e);
    if (rc != 0)
        return rc;
    print_path(d, text);
    io_fd_lock(d);
    int dir = io_fd_dir(d, O_PATH), done = -1;
    if (dir >= 0 && io_fd_keep_unnamed(d, dir, to))
        done = renameat(dir, from, dir, to);
    if (done == 0)
        io_fd_renamed(d, from, to);
    io_fd_close(dir);
    int err = errno;
    io_fd_unlock(d);
    errno = err;
    return done == 0 ? 0
                     : mf_fail_errno(e, folder_io_code(err), "rename %s/%s to %s", text, from, to);
}

static int dir_unlink(struct store_io *io, const char *name, struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    int rc = check_name(io, name, e);

    if (rc != 0)
        return rc;
    io_fd_lock(d);
    int dir = io_fd_dir(d, O_PATH), done = -1;
    if (dir >= 0 && io_fd_keep_unnamed(d, dir, name))
        done = unlinkat(dir, name, 0);
    io_fd_close(dir);
    int err = errno;
    io_fd_unlock(d);
    errno = err;
    return done == 0 ? 0 : fail_file(io, "unlink", name, e);
}

static int dir_syncdir(struct store_io *io, struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    char text[WHERE_MAX];
    int fd = io_fd_dir_locked(d, O_RDONLY), rc = -1;

    if (fd >= 0)
        RETRY(rc, fsync(fd));
    io_fd_close(fd);
    int err = errno;
    print_path(d, text);
    errno = err;
    /* A failed sync is final; one that lacked a descriptor was not tried and may follow later. */
    return rc == 0
               ? 0
               : mf_fail_errno(e, fd < 0 ? folder_io_code(err) : MF_IO, "sync directory %s", text);
}

static int dir_list(struct store_io *io, int (*visit)(void *arg, const char *name), void *arg,
                    struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    struct dirent *entry;
    char text[WHERE_MAX];
    int fd = io_fd_dir_locked(d, O_RDONLY), rc = 0;
    DIR *walk = fd < 0 ? NULL : fdopendir(fd);

    int err = errno;
    print_path(d, text);
    errno = err;
    if (walk == NULL) {
        rc = mf_fail_errno(e, folder_io_code(err), "list directory %s", text);
        io_fd_close(fd);
        return rc;
    }
    while (rc == 0 && (errno = 0, entry = readdir(walk)) != NULL) // NOLINT(concurrency-mt-unsafe)
        if (store_io_name_ok(entry->d_name))
            rc = visit(arg, entry->d_name);
    if (rc == 0 && errno != 0)
        rc = mf_fail_errno(e, folder_io_code(errno), "list directory %s", text);
    closedir(walk);
    return rc;
}

static void dir_free(struct store_io *io)
{
    if (io == NULL)
        return;
    store_folder_release(dir_of(io)->parent);
    free(dir_of(io));
}

int store_io_folder(struct store_io **out, struct store_folder *parent, const char *name,
                    struct mf_error *e)
{
    struct dir_io *d = calloc(1, sizeof *d);

    if (!store_io_name_ok(name)) {
        free(d);
        return mf_fail(e, MF_INVAL, "folder name '%s'", name);
    }
    if (d == NULL) {
        return mf_fail(e, MF_NOMEM, "directory %s/%s", parent->path, name);
    }
    d->io = (struct store_io){.enter = dir_enter,
                              .leave = dir_leave,
                              .open = dir_open,
                              .close = dir_close,
                              .size = dir_size,
                              .pread = dir_pread,
                              .pread_aside = dir_pread_aside,
                              .pwrite = dir_pwrite,
                              .sync = dir_sync,
                              .allocate = dir_allocate,
                              .truncate = dir_truncate,
                              .space = dir_space,
                              .largest = dir_largest,
                              .map = dir_map,
                              .unmap = dir_unmap,
                              .resident = dir_resident,
                              .rename = dir_rename,
                              .unlink = dir_unlink,
                              .syncdir = dir_syncdir,
                              .list = dir_list,
                              .free = dir_free};
    d->parent = store_folder_retain(parent);
    d->page = (size_t)sysconf(_SC_PAGESIZE);
    mf_list_init(&d->files);
    snprintf(d->name, sizeof d->name, "%s", name);
    *out = &d->io;
    return 0;
}

int store_io_dir(struct store_io **out, const char *path, struct mf_error *e)
{
    struct store_folder *parent;
    struct mf_slice all = mf_str(path), name, above;
    char text[PATH_MAX];
    int rc;

    while (all.len > 1 && all.ptr[all.len - 1] == '/')
        all.len--;
    name = above = all;
    while (above.len > 0 && above.ptr[above.len - 1] != '/')
        above.len--;
    name.ptr += above.len;
    name.len -= above.len;
    while (above.len > 1 && above.ptr[above.len - 1] == '/')
        above.len--;
    if (all.len >= sizeof text)
        return mf_fail(e, MF_LIMIT, "directory %s: the path is too long", path);
    snprintf(text, sizeof text, "%.*s", MF_FMT(above.len == 0 ? MF_LIT(".") : above));
    if ((rc = store_folder_at(&parent, text, e)) != 0)
        return rc;
    snprintf(text, sizeof text, "%.*s", MF_FMT(name));
    rc = store_io_folder(out, parent, text, e);
    store_folder_release(parent);
    return rc;
}
