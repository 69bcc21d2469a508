/* dir_file.c: the files of a directory resolver. */
#include "operator/dir_file_impl.h"

#include "jwt/jwt.h"
#include "operator/token_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SIZE (NKEY_TEXT + 16)

static int make_path(const char *path, struct mf_error *e)
{
    char part[4096];
    size_t n = strlen(path);

    if (n >= sizeof part)
        return mf_fail(e, MF_INVAL, "resolver directory: path too long");
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST && (i == n || errno != EACCES))
            return mf_fail_errno(e, MF_IO, "create resolver directory %s", part);
    }
    return 0;
}

int dir_file_open(int *fd, const char *path, struct mf_error *e)
{
    if (make_path(path, e) != 0)
        return e->code;
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return mf_fail_errno(e, MF_IO, "open resolver directory %s", path);
    if (faccessat(*fd, ".", W_OK | X_OK, 0) != 0) {
        int rc = mf_fail_errno(e, MF_IO, "write to resolver directory %s", path);
        close(*fd);
        return rc;
    }
    return 0;
}

bool dir_file_account(const char *name, char account[NKEY_TEXT])
{
    size_t n = strlen(name);
    uint8_t raw[32];

    if (n != NKEY_TEXT - 1 + strlen(DIR_SUFFIX) || strcmp(name + NKEY_TEXT - 1, DIR_SUFFIX) != 0 ||
        nkey_decode(mf_slice(name, NKEY_TEXT - 1), NKEY_ACCOUNT, raw) != 0)
        return false;
    memcpy(account, name, NKEY_TEXT - 1);
    account[NKEY_TEXT - 1] = '\0';
    return true;
}

static void make_name(char dst[NAME_SIZE], const char *account, const char *suffix)
{
    snprintf(dst, NAME_SIZE, "%.56s%s", account, suffix);
}

/* A link may lead out of the directory, and opening a pipe would wait for its writer. */
static int read_all(int f, struct mf_buf *out, struct mf_error *e)
{
    struct stat st;
    ssize_t n = 1;

    if (fstat(f, &st) != 0)
        return mf_fail_errno(e, MF_IO, "look at it");
    if (!S_ISREG(st.st_mode))
        return mf_fail(e, MF_CORRUPT, "no regular file");
    while (n > 0) {
        uint8_t *to = mf_buf_reserve(out, 4096);
        if (to == NULL)
            return mf_fail(e, MF_NOMEM, "read");
        n = read(f, to, 4096);
        if (n < 0 && errno != EINTR)
            return mf_fail_errno(e, MF_IO, "read");
        out->len += n > 0 ? (size_t)n : 0;
        n = n < 0 ? 1 : n;
        if (out->len > JWT_SIZE_MAX)
            return mf_fail(e, MF_CORRUPT, "too large");
    }
    return 0;
}

static int check_owner(const char *account, struct mf_slice text, struct mf_error *e)
{
    struct token_times t;

    if (token_peek(text, &t) != 0)
        return mf_fail(e, MF_CORRUPT, "no JWT of an account");
    return strcmp(t.sub, account) == 0 ? 0 : mf_fail(e, MF_CORRUPT, "the JWT of %s", t.sub);
}

int dir_file_read(int fd, const char *account, struct mf_buf *out, struct mf_error *e)
{
    char name[NAME_SIZE];
    size_t before = out->len;
    int f, rc;

    make_name(name, account, DIR_SUFFIX);
    f = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (f < 0) {
        if (errno == ENOENT)
            return mf_fail(e, MF_NOTFOUND, "%s", name);
        rc = errno == ELOOP ? MF_CORRUPT : MF_IO;
        return mf_fail_errno(e, rc, "open %s", name);
    }
    rc = read_all(f, out, e);
    close(f);
    if (rc == 0) {
        struct mf_slice text = mf_trim(mf_slice(out->ptr + before, out->len - before));
        rc = check_owner(account, text, e);
        if (rc == 0 && text.len < out->len - before) {
            memmove(out->ptr + before, text.ptr, text.len);
            out->len = before + text.len;
        }
    }
    if (rc != 0) {
        out->len = before;
        mf_wrap(e, "%s", name);
    }
    return rc;
}

static int write_all(int f, struct mf_slice text, struct mf_error *e)
{
    size_t at = 0;

    while (at < text.len) {
        ssize_t n = write(f, text.ptr + at, text.len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return mf_fail_errno(e, errno == ENOSPC || errno == EDQUOT ? MF_FULL : MF_IO, "write");
        at += (size_t)n;
    }
    return 0;
}

int dir_file_begin(int fd, const char *account, struct mf_slice text, int *file, struct mf_error *e)
{
    char beside[NAME_SIZE];
    int f, rc;

    make_name(beside, account, ".new");
    if (unlinkat(fd, beside, 0) != 0 && errno != ENOENT) /* a crash left it */
        return mf_fail_errno(e, MF_IO, "remove %s", beside);
    f = openat(fd, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (f < 0)
        return mf_fail_errno(e, errno == ENOSPC ? MF_FULL : MF_IO, "create %s", beside);
    rc = write_all(f, text, e);
    if (rc != 0) {
        mf_wrap(e, "%s", beside);
        (void)close(f);
        (void)unlinkat(fd, beside, 0);
        return rc;
    }
    (void)sync_file_range(f, 0, 0,
                          SYNC_FILE_RANGE_WRITE); /* only begins, so an error shows later */
    *file = f;
    return 0;
}

int dir_file_finish(int fd, const char *account, int file, struct mf_error *e)
{
    char name[NAME_SIZE], beside[NAME_SIZE];
    int rc = 0;

    make_name(name, account, DIR_SUFFIX);
    make_name(beside, account, ".new");
    if (fsync(file) != 0)
        rc = mf_fail_errno(e, errno == ENOSPC ? MF_FULL : MF_IO, "sync %s", beside);
    if (close(file) != 0 && rc == 0)
        rc = mf_fail_errno(e, MF_IO, "close %s", beside);
    if (rc == 0 && renameat(fd, beside, fd, name) != 0)
        rc = mf_fail_errno(e, MF_IO, "rename %s", beside);
    if (rc != 0)
        (void)unlinkat(fd, beside, 0);
    return rc;
}

int dir_file_remove(int fd, const char *account, bool hard, struct mf_error *e)
{
    char name[NAME_SIZE], deleted[NAME_SIZE];
    int rc;

    make_name(name, account, DIR_SUFFIX);
    make_name(deleted, account, DIR_SUFFIX ".deleted");
    rc = hard ? unlinkat(fd, name, 0) : renameat(fd, name, fd, deleted);
    return rc == 0 || errno == ENOENT ? 0 : mf_fail_errno(e, MF_IO, "remove %s", name);
}

int dir_file_sync(int fd, struct mf_error *e)
{
    return fsync(fd) == 0 ? 0 : mf_fail_errno(e, MF_IO, "sync resolver directory");
}
