/* io_dir.c: the files under a store, in a directory of the file system. */
#include "io_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* dir and lock_fd are both open (locked) or both -1. */
struct dir_io {
    struct store_io io;
    int dir, lock_fd;
    size_t page;
    struct mf_list files; /* store_file.sibling */
    char path[];
};

/* Repeats what a signal interrupted.  That holds for fdatasync too: EINTR is no write error. */
#define RETRY(result, call)                                                                        \
    do                                                                                             \
        (result) = (call);                                                                         \
    while ((result) < 0 && errno == EINTR)

static struct dir_io *dir_of(struct store_io *io)
{
    return mf_container(io, struct dir_io, io);
}

static int code_of(int err)
{
    switch (err) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return MF_FULL;
    case EMFILE:
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

/* "verb DIR/NAME: strerror(errno)" */
static int failed(struct store_io *io, const char *verb, const char *name, struct mf_error *e)
{
    return mf_fail_errno(e, code_of(errno), "%s %s/%s", verb, dir_of(io)->path, name);
}

bool store_io_name_ok(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 && strcmp(name, STORE_IO_LOCK_NAME) != 0;
}

static int check_name(struct store_io *io, const char *name, struct mf_error *e)
{
    if (store_io_name_ok(name))
        return 0;
    return mf_fail(e, MF_INVAL, "file name '%s' in %s", name, dir_of(io)->path);
}

/* --- the directory and its lock --------------------------------------------------------------- */

/* A new directory is there after a power cut only once its parent is synced. */
static int sync_parent(const char *path, struct mf_error *e)
{
    size_t n = strlen(path);
    int rc = 0;

    while (n > 0 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    char *parent = n == 0 ? strdup(".") : mf_slice_dup(mf_slice(path, n));
    if (parent == NULL)
        return mf_fail(e, MF_NOMEM, "sync the parent of %s", path);
    int fd;
    RETRY(fd, open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int done = fd;
    if (fd >= 0)
        RETRY(done, fsync(fd));
    if (done < 0)
        rc = mf_fail_errno(e, code_of(errno), "sync directory %s", parent);
    if (fd >= 0)
        close(fd);
    free(parent);
    return rc;
}

static int open_dir(struct dir_io *d, struct mf_error *e)
{
    if (mkdir(d->path, 0700) != 0 && errno != EEXIST)
        return mf_fail_errno(e, code_of(errno), "create directory %s", d->path);
    RETRY(d->dir, open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (d->dir < 0)
        return mf_fail_errno(e, code_of(errno), "open directory %s", d->path);
    return 0;
}

/* No lock file yet: the directory is new, or the one who made it got no further.  So the parent is
 * synced before there is one, and never again: a start with many stores waits for no disk here. */
static int open_lock(struct dir_io *d, int *out, struct mf_error *e)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    int fd;

    RETRY(fd, openat(d->dir, STORE_IO_LOCK_NAME, flags));
    if (fd < 0 && errno == ENOENT) {
        int rc = sync_parent(d->path, e);
        if (rc != 0)
            return rc;
        RETRY(fd, openat(d->dir, STORE_IO_LOCK_NAME, flags | O_CREAT, 0600));
    }
    if (fd < 0)
        return failed(&d->io, "open", STORE_IO_LOCK_NAME, e);
    *out = fd;
    return 0;
}

static int refused(struct dir_io *d, int fd, struct mf_error *e)
{
    char text[24];
    ssize_t n = pread(fd, text, sizeof text, 0);
    uint64_t pid;

    while (n > 0 && text[n - 1] == '\n')
        n--;
    if (n <= 0 || mf_parse_u64(mf_slice(text, (size_t)n), &pid) != 0)
        return mf_fail(e, MF_EXISTS, "%s is in use by another process", d->path);
    if (pid == (uint64_t)getpid())
        return mf_fail(e, MF_EXISTS, "%s is already in use by this process (%llu)", d->path,
                       (unsigned long long)pid);
    return mf_fail(e, MF_EXISTS, "%s is in use by process %llu", d->path, (unsigned long long)pid);
}

/* flock belongs to the open file, so it also holds between two stores of one process, and ends
 * with the process however that ends.  The file stays: unlinking it would let two processes lock
 * two files of the same name.  The pid is only there to be read, so a full disk does not matter. */
static int take_lock(struct dir_io *d, struct mf_error *e)
{
    char pid[24];
    int fd = -1, done, rc = open_lock(d, &fd, e);

    if (rc != 0)
        return rc;
    RETRY(done, flock(fd, LOCK_EX | LOCK_NB));
    if (done != 0) {
        rc = errno == EWOULDBLOCK ? refused(d, fd, e)
                                  : failed(&d->io, "lock", STORE_IO_LOCK_NAME, e);
        close(fd);
        return rc;
    }
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)n, 0) != n)
        errno = 0;
    d->lock_fd = fd;
    return 0;
}

static int dir_lock(struct store_io *io, struct mf_error *e)
{
    struct dir_io *d = dir_of(io);

    if (d->lock_fd >= 0)
        return refused(d, d->lock_fd, e);
    int rc = open_dir(d, e);
    if (rc != 0)
        return rc;
    rc = take_lock(d, e);
    if (rc != 0) {
        close(d->dir);
        d->dir = -1;
    }
    return rc;
}

static void dir_unlock(struct store_io *io)
{
    struct dir_io *d = dir_of(io);

    if (d->lock_fd < 0)
        return;
    close(d->lock_fd);
    close(d->dir);
    d->lock_fd = d->dir = -1;
}

/* --- one file --------------------------------------------------------------------------------- */

static int dir_open(struct store_io *io, const char *name, bool create, struct store_file **out,
                    struct mf_error *e)
{
    int rc = check_name(io, name, e);

    if (rc != 0)
        return rc;
    struct store_file *f = io_files_open(dir_of(io)->dir, &dir_of(io)->files, name, create);
    if (f == NULL)
        return failed(io, create ? "create" : "open", name, e);
    *out = f;
    return 0;
}

static void dir_close(struct store_io *io, struct store_file *f)
{
    (void)io;
    io_files_close(f);
}

static int dir_size(struct store_io *io, struct store_file *f, uint64_t *out, struct mf_error *e)
{
    struct stat st;
    int fd = io_files_use(f);

    if (fd < 0)
        return failed(io, "open", f->name, e);
    int rc = fstat(fd, &st);
    io_files_done(f);
    if (rc != 0)
        return failed(io, "size of", f->name, e);
    *out = (uint64_t)st.st_size;
    return 0;
}

static int read_all(struct store_io *io, struct store_file *f, int fd, void *dst, size_t n,
                    uint64_t off, struct mf_error *e)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got;
        RETRY(got, pread(fd, (char *)dst + done, n - done, (off_t)(off + done)));
        if (got < 0)
            return mf_fail_errno(e, code_of(errno), "read %zu bytes at %llu of %s/%s", n,
                                 (unsigned long long)off, dir_of(io)->path, f->name);
        uint64_t at = off + done;
        if (got == 0)
            return mf_fail(
                e, MF_IO, "read %zu bytes at %llu of %s/%s: past its end, no byte at %llu", n,
                (unsigned long long)off, dir_of(io)->path, f->name, (unsigned long long)at);
        done += (size_t)got;
    }
    return 0;
}

static int dir_pread(struct store_io *io, struct store_file *f, void *dst, size_t n, uint64_t off,
                     struct mf_error *e)
{
    int fd = io_files_use(f);

    if (fd < 0)
        return failed(io, "open", f->name, e);
    int rc = read_all(io, f, fd, dst, n, off, e);
    io_files_done(f);
    return rc;
}

static int write_all(struct store_io *io, struct store_file *f, int fd, const void *src, size_t n,
                     uint64_t off, struct mf_error *e)
{
    size_t done = 0;

    while (done < n) {
        ssize_t put;
        RETRY(put, pwrite(fd, (const char *)src + done, n - done, (off_t)(off + done)));
        if (put == 0)
            errno = EIO; /* the system should have said why; to go round again might never end */
        if (put <= 0)
            return mf_fail_errno(e, code_of(errno), "write %zu bytes at %llu of %s/%s", n,
                                 (unsigned long long)off, dir_of(io)->path, f->name);
        done += (size_t)put;
    }
    return 0;
}

static int dir_pwrite(struct store_io *io, struct store_file *f, const void *src, size_t n,
                      uint64_t off, struct mf_error *e)
{
    int fd = io_files_write(f);

    if (fd < 0)
        return failed(io, "open", f->name, e);
    int rc = write_all(io, f, fd, src, n, off, e);
    io_files_done(f);
    return rc;
}

static int dir_sync(struct store_io *io, struct store_file *f, struct mf_error *e)
{
    uint64_t writes;
    int rc, fd = io_files_use_sync(f, &writes);

    if (fd < 0)
        return failed(io, "open", f->name, e); /* no sync was tried */
    RETRY(rc, fdatasync(fd));
    if (rc == 0)
        io_files_synced(f, writes);
    io_files_done(f);
    /* Final, also for want of space: see store_io_passes(). */
    return rc == 0 ? 0 : mf_fail_errno(e, MF_IO, "sync %s/%s", dir_of(io)->path, f->name);
}

static int dir_allocate(struct store_io *io, struct store_file *f, uint64_t size,
                        struct mf_error *e)
{
    int rc, fd = io_files_write(f);

    if (fd < 0)
        return failed(io, "open", f->name, e);
    do /* its result is the error */
        rc = posix_fallocate(fd, 0, (off_t)size);
    while (rc == EINTR);
    io_files_done(f);
    if (rc == 0)
        return 0;
    if (rc == EOPNOTSUPP || rc == EINVAL) /* a file system without it: at least the size */
        return io->truncate(io, f, size, e);
    errno = rc;
    return failed(io, "allocate", f->name, e);
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
        return 0; /* free space says nothing about what a file may take */
    if (fstatvfs(mf_container(io, struct dir_io, io)->dir, &v) != 0)
        return 0;
    return (uint64_t)v.f_bavail * v.f_frsize;
}

static int dir_truncate(struct store_io *io, struct store_file *f, uint64_t size,
                        struct mf_error *e)
{
    int rc, fd = io_files_write(f);

    if (fd < 0)
        return failed(io, "open", f->name, e);
    RETRY(rc, ftruncate(fd, (off_t)size));
    io_files_done(f);
    return rc == 0 ? 0 : failed(io, "truncate", f->name, e);
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
    int fd = io_files_use(f);

    (void)io;
    if (fd < 0)
        return NULL;
    /* Touching a page past the file's end is SIGBUS, so there is no mapping of it. */
    if (size > 0 && size <= SIZE_MAX && fstat(fd, &st) == 0 && (uint64_t)st.st_size >= size)
        p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    io_files_done(f);
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
    int rc = check_name(io, from, e);

    if (rc == 0)
        rc = check_name(io, to, e);
    if (rc != 0)
        return rc;
    if (renameat(d->dir, from, d->dir, to) != 0)
        return mf_fail_errno(e, code_of(errno), "rename %s/%s to %s", d->path, from, to);
    io_files_renamed(&d->files, from, to);
    return 0;
}

static int dir_unlink(struct store_io *io, const char *name, struct mf_error *e)
{
    int rc = check_name(io, name, e);

    if (rc != 0)
        return rc;
    return unlinkat(dir_of(io)->dir, name, 0) == 0 ? 0 : failed(io, "unlink", name, e);
}

static int dir_syncdir(struct store_io *io, struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    int rc;

    RETRY(rc, fsync(d->dir));
    return rc == 0 ? 0 : mf_fail_errno(e, MF_IO, "sync directory %s", d->path);
}

/* Directories are not ours: "lost+found" is in every root of an ext4 file system. */
static bool is_directory(int dir, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int dir_list(struct store_io *io, int (*visit)(void *arg, const char *name), void *arg,
                    struct mf_error *e)
{
    struct dir_io *d = dir_of(io);
    struct dirent *entry;
    int fd, rc = 0;

    /* Opened anew, since a duplicate of d->dir would share its position with other walks. */
    RETRY(fd, openat(d->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *walk = fd < 0 ? NULL : fdopendir(fd);
    if (walk == NULL) {
        rc = mf_fail_errno(e, code_of(errno), "list directory %s", d->path);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    while (rc == 0 && (errno = 0, entry = readdir(walk)) != NULL) // NOLINT(concurrency-mt-unsafe)
        if (store_io_name_ok(entry->d_name) && !is_directory(fd, entry))
            rc = visit(arg, entry->d_name);
    if (rc == 0 && errno != 0)
        rc = mf_fail_errno(e, code_of(errno), "list directory %s", d->path);
    closedir(walk);
    return rc;
}

static void dir_free(struct store_io *io)
{
    if (io == NULL)
        return;
    dir_unlock(io);
    free(dir_of(io));
}

int store_io_dir(struct store_io **out, const char *path, struct mf_error *e)
{
    size_t n = strlen(path) + 1;
    struct dir_io *d = malloc(sizeof *d + n);

    if (d == NULL)
        return mf_fail(e, MF_NOMEM, "directory %s", path);
    d->io = (struct store_io){.lock = dir_lock,
                              .unlock = dir_unlock,
                              .open = dir_open,
                              .close = dir_close,
                              .size = dir_size,
                              .pread = dir_pread,
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
    d->dir = d->lock_fd = -1;
    mf_list_init(&d->files);
    d->page = (size_t)sysconf(_SC_PAGESIZE);
    memcpy(d->path, path, n);
    *out = &d->io;
    return 0;
}
