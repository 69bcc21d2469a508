/* folder_root.c: the top directory of a server's stores: found from the operator's path, checked,
 * and locked for one process. */
#include "store/io/folder.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* --- finding it ------------------------------------------------------------------------------- */

/* Where a walk along a path stands: fd is a handle (O_PATH) of the first `done` bytes. */
struct reach {
    int fd;
    size_t done;
    char path[PATH_MAX];
    bool made; /* the last part was made: from here on links are not the operator's */
};

static int open_part(struct reach *r, const char *part, bool make, struct mf_error *e)
{
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC, fd, rc;

    RETRY(fd, openat(r->fd, part, flags | (r->made ? O_NOFOLLOW : 0)));
    if (fd < 0 && errno == ENOENT && make) {
        if ((rc = folder_make_fd(r->fd, part, r->path, e)) != 0)
            return rc;
        r->made = true;
        RETRY(fd, openat(r->fd, part, flags | O_NOFOLLOW));
    }
    if (fd < 0 && errno == ENOTDIR)
        return mf_fail(
            e, MF_INVAL,
            "storage directory is not a directory: %s: move it away, or set another store_dir",
            r->path);
    if (fd < 0)
        return mf_fail_errno(e, errno == EACCES ? MF_DENIED : folder_io_code(errno),
                             "open folder %s", r->path);
    close(r->fd);
    r->fd = fd;
    return 0;
}

/* Opens part by part, so that a missing part is made in the folder that was checked.  MF_NOTFOUND
 * (without make): fd is the last existing folder. */
static int reach_folder(struct reach *r, const char *path, bool make, struct mf_error *e)
{
    size_t n = strlen(path);
    int rc = 0;

    *r = (struct reach){.fd = -1};
    if (n == 0 || n >= sizeof r->path)
        return mf_fail(e, n == 0 ? MF_INVAL : MF_LIMIT, "store directory: the path is %s",
                       n == 0 ? "empty" : "too long");
    RETRY(r->fd, open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (r->fd < 0)
        return mf_fail_errno(e, MF_IO, "open folder %s", path[0] == '/' ? "/" : ".");
    while (rc == 0 && r->done < n) {
        size_t from = r->done + strspn(path + r->done, "/");
        size_t to = from + strcspn(path + from, "/");
        char part[NAME_MAX + 1];
        if (to == from)
            break;
        if (to - from >= sizeof part)
            return mf_fail(e, MF_LIMIT, "store directory: a name in the path is too long");
        memcpy(part, path + from, to - from);
        part[to - from] = '\0';
        memcpy(r->path, path, to);
        r->path[to] = '\0';
        rc = open_part(r, part, make, e);
        if (rc == 0)
            r->done = to;
    }
    if (rc != 0) /* fd is what the path is up to here */
        snprintf(r->path, sizeof r->path, "%.*s", r->done > 0 ? (int)r->done : 1,
                 r->done > 0 || path[0] == '/' ? path : ".");
    return rc;
}

static void reach_end(struct reach *r)
{
    if (r->fd >= 0)
        close(r->fd);
}

/* path/name, or its text too long. */
static int join_path(char dst[PATH_MAX], const char *path, const char *name, struct mf_error *e)
{
    bool slash = mf_ends(mf_str(path), "/");

    if ((size_t)snprintf(dst, PATH_MAX, "%s%s%s", path, slash ? "" : "/", name) >= PATH_MAX)
        return mf_fail(e, MF_LIMIT, "store directory: the path is too long");
    return 0;
}

int store_folder_at(struct store_folder **out, const char *path, struct mf_error *e)
{
    int fd;

    RETRY(fd, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0)
        return mf_fail_errno(e, folder_io_code(errno), "open folder %s", path);
    return folder_wrap(out, fd, path, NULL, e);
}

int store_folder_root(struct store_folder **out, const char *path, const char *name,
                      struct mf_error *e)
{
    char whole[PATH_MAX];
    struct reach r;
    int fd, rc = reach_folder(&r, path, true, e);

    if (rc == 0 && (rc = join_path(whole, path, name, e)) == 0) {
        rc = folder_open_fd(r.fd, name, whole, &fd, e);
        if (rc == MF_NOTFOUND && (rc = folder_make_fd(r.fd, name, whole, e)) == 0)
            rc = folder_open_fd(r.fd, name, whole, &fd, e);
    }
    reach_end(&r);
    return rc == 0 ? folder_wrap(out, fd, whole, NULL, e) : rc;
}

/* --- may it be used? -------------------------------------------------------------------------- */

static int check_writable(int dir, const char *path, struct mf_error *e)
{
    if (faccessat(dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0)
        return 0;
    return mf_fail_errno(e, errno == EROFS ? MF_READONLY : MF_DENIED, "write in folder %s", path);
}

/* May a folder be made here?  The kernel's own trees look writable to root. */
static int check_makes(int dir, const char *path, struct mf_error *e)
{
    struct statfs fs;

    if (fstatfs(dir, &fs) == 0 && (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC))
        return mf_fail(e, MF_DENIED, "make a folder in %s: it is the kernel's", path);
    return check_writable(dir, path, e);
}

int store_folder_check(struct store_folder *f, struct mf_error *e)
{
    int rc = folder_trust(f->fd, f->path, e);

    return rc != 0 ? rc : check_writable(f->fd, f->path, e);
}

int store_folder_probe(struct store_folder **out, const char *path, const char *name,
                       struct mf_error *e)
{
    char whole[PATH_MAX];
    struct reach r;
    int fd = -1, rc = reach_folder(&r, path, false, e);

    *out = NULL;
    if (rc == 0 && (rc = join_path(whole, path, name, e)) == 0)
        rc = folder_open_fd(r.fd, name, whole, &fd, e);
    if (rc == MF_NOTFOUND && r.fd >= 0) /* it would be made here */
        rc = check_makes(r.fd, r.path, e);
    reach_end(&r);
    if (rc == 0 && fd >= 0)
        rc = folder_wrap(out, fd, whole, NULL, e);
    return rc;
}

/* --- the lock --------------------------------------------------------------------------------- */

/* Only readers (`mayfly check`) share it; a server's hold excludes all. */
static int explain_refusal(struct store_folder *f, int fd, struct mf_error *e)
{
    char text[24];
    ssize_t n = pread(fd, text, sizeof text, 0);
    size_t len = 0;
    uint64_t pid;
    int shared;

    RETRY(shared, flock(fd, LOCK_SH | LOCK_NB));
    if (shared == 0)
        return mf_fail(e, MF_EXISTS,
                       "%s is being read by mayfly check: start again when it is done", f->path);
    while (n > 0 && len < (size_t)n && text[len] >= '0' && text[len] <= '9')
        len++;
    if (mf_parse_u64(mf_slice(text, len), &pid) != 0)
        return mf_fail(e, MF_EXISTS, "%s is in use by another process", f->path);
    if (pid == (uint64_t)getpid())
        return mf_fail(e, MF_EXISTS, "%s is already in use by this process (%llu)", f->path,
                       (unsigned long long)pid);
    return mf_fail(e, MF_EXISTS,
                   "%s is in use by process %llu; stop it, or name another store_dir (-sd DIR)",
                   f->path, (unsigned long long)pid);
}

/* The pid is for people.  It is overwritten in place, so that a full disk does not matter; if
 * that fails the file has no pid rather than a wrong one. */
static void write_pid(int fd)
{
    char pid[24];
    int n = snprintf(pid, sizeof pid, "%-10ld\n", (long)getpid());

    if (pwrite(fd, pid, (size_t)n, 0) != n && ftruncate(fd, 0) != 0)
        errno = 0;
}

/* flock belongs to the open file: it holds between two servers in one process, whatever path leads
 * to the file, and ends with the process.  The file stays: unlinking it would let two processes
 * lock two files of the same name. */
int store_folder_claim(struct store_folder *f, struct mf_error *e)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct stat st;
    int fd, done, rc = store_folder_check(f, e);

    if (rc != 0)
        return rc;
    RETRY(fd, openat(f->fd, STORE_FOLDER_LOCK, flags, 0600));
    if (fd < 0)
        return mf_fail_errno(e, folder_io_code(errno), "open %s/" STORE_FOLDER_LOCK, f->path);
    if (fstat(fd, &st) != 0)
        rc = mf_fail_errno(e, folder_io_code(errno), "look at %s/" STORE_FOLDER_LOCK, f->path);
    else if (!S_ISREG(st.st_mode))
        rc = mf_fail(e, MF_DENIED, "%s/" STORE_FOLDER_LOCK " is %s, not a file", f->path,
                     folder_file_kind(st.st_mode));
    if (rc != 0) {
        close(fd);
        return rc;
    }
    RETRY(done, flock(fd, LOCK_EX | LOCK_NB));
    if (done != 0) {
        rc = errno == EWOULDBLOCK ? explain_refusal(f, fd, e)
                                  : mf_fail_errno(e, MF_IO, "lock %s/" STORE_FOLDER_LOCK, f->path);
        close(fd);
        return rc;
    }
    write_pid(fd);
    f->lock_fd = fd;
    return 0;
}
