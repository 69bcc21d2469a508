/* log_file.c: the log's file: append, reopen, rotate by size, purge old ones. */
#include "base/log_sink_impl.h"

#include "base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define FILE_MODE  0640 /* as nats-server: subjects and user names are not for everybody */
#define STAMP_TEXT "0000.00.00.00.00.00.000000000"

bool log_fd_write(int fd, struct mf_slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = mf_slice(bytes.ptr + n, bytes.len - (size_t)n);
    }
    return true;
}

static int open_path(const char *path, int *fd, uint64_t *size, struct mf_error *e)
{
    struct stat st;
    int n = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, FILE_MODE);

    if (n < 0)
        return mf_fail_errno(e, MF_IO, "open log file %s", path);
    if (fstat(n, &st) != 0) {
        mf_fail_errno(e, MF_IO, "stat log file %s", path);
        close(n);
        return MF_IO;
    }
    *fd = n;
    *size = (uint64_t)st.st_size;
    return 0;
}

int log_file_open(struct log_file *f, const struct log_options *o, struct mf_error *e)
{
    struct log_file made = {
        .limit = o->size_limit, .size_limit = o->size_limit, .max_files = o->max_files};

    made.path = mf_slice_dup(mf_str(o->file));
    if (made.path == NULL)
        return mf_fail(e, MF_NOMEM, "open log file %s", o->file);
    int rc = open_path(made.path, &made.fd, &made.size, e);
    if (rc != 0) {
        free(made.path);
        return rc;
    }
    *f = made;
    return 0;
}

int log_file_reopen(struct log_file *f, struct mf_error *e)
{
    int former = f->fd, rc = open_path(f->path, &f->fd, &f->size, e);

    if (rc != 0)
        return rc;
    close(former);
    f->limit = f->size_limit;
    return 0;
}

void log_file_close(struct log_file *f)
{
    close(f->fd);
    free(f->path);
    *f = (struct log_file){.fd = -1};
}

void log_file_write(struct log_file *f, struct mf_slice line)
{
    if (log_fd_write(f->fd, line))
        f->size += line.len;
}

bool log_file_due(const struct log_file *f)
{
    return f->limit != 0 && f->size > f->limit;
}

static void put_stamp(char dst[sizeof STAMP_TEXT], int64_t wall_ns, bool utc)
{
    time_t s = (time_t)(wall_ns / CLOCK_S);
    struct tm tm;

    if (utc)
        gmtime_r(&s, &tm);
    else
        localtime_r(&s, &tm);
    size_t n = strftime(dst, sizeof STAMP_TEXT, "%Y.%m.%d.%H.%M.%S", &tm);
    snprintf(dst + n, sizeof STAMP_TEXT - n, ".%09d", (int)(wall_ns % CLOCK_S));
}

/* Is `name` = base "." stamp?  Anything else beside the log is not ours to delete. */
static bool is_backup(const char *name, const char *base)
{
    static const char form[] = STAMP_TEXT;
    size_t n = strlen(base);

    if (strncmp(name, base, n) != 0 || name[n] != '.' || strlen(name + n + 1) != sizeof form - 1)
        return false;
    for (const char *p = name + n + 1, *f = form; *f != '\0'; p++, f++)
        if (*f == '.' ? *p != '.' : *p < '0' || *p > '9')
            return false;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **at;
    size_t n, cap;
};

static bool names_add(struct names *v, const char *name)
{
    if (mf_array_reserve(&v->at, &v->cap, v->n + 1, sizeof *v->at) != 0)
        return false;
    v->at[v->n] = mf_slice_dup(mf_str(name));
    if (v->at[v->n] == NULL)
        return false;
    v->n++;
    return true;
}

/* The oldest first: the stamps sort as text.  Without memory only a part is read; the next
 * rotation continues. */
static void names_read(struct names *v, DIR *dir, const char *base)
{
    const struct dirent *d;

    while ((d = readdir(dir)) != NULL)
        if (is_backup(d->d_name, base) && !names_add(v, d->d_name))
            break;
    if (v->n > 0)
        qsort(v->at, v->n, sizeof *v->at, by_name);
}

/* max_files counts the file being written, as nats-server's logfile_max_num does. */
static void purge_backups(const struct log_file *f, struct mf_buf *said)
{
    struct names v = {NULL, 0, 0};
    const char *slash = strrchr(f->path, '/');
    const char *base = slash == NULL ? f->path : slash + 1;
    size_t dir_len = slash == NULL ? 0 : (size_t)(slash - f->path) + 1;
    char *dir_name = mf_slice_dup(dir_len == 0 ? MF_LIT("./") : mf_slice(f->path, dir_len));
    DIR *dir = dir_name == NULL ? NULL : opendir(dir_name);

    if (dir == NULL) {
        mf_buf_printf(
            said, "EUnable to read the folder of %s for log purge, will attempt next rotation\n",
            f->path);
        free(dir_name);
        return;
    }
    names_read(&v, dir, base);
    for (size_t i = 0; v.n >= f->max_files && i <= v.n - f->max_files; i++) {
        if (unlinkat(dirfd(dir), v.at[i], 0) != 0) {
            mf_buf_printf(
                said, "EUnable to remove backup log file \"%s\" (%s), will attempt next rotation\n",
                v.at[i], strerror(errno));
            break;
        }
        mf_buf_printf(said, "IPurged log file \"%s\"\n", v.at[i]);
    }
    for (size_t i = 0; i < v.n; i++)
        free(v.at[i]);
    free(v.at);
    closedir(dir);
    free(dir_name);
}

/* Rotation failed: the log continues in the old file and tries again at twice the size. */
static void rotate_later(struct log_file *f, const char *why, struct mf_buf *said)
{
    f->limit = f->limit > UINT64_MAX / 2 ? UINT64_MAX : f->limit * 2;
    mf_buf_printf(said, "EUnable to rotate log (%s), will attempt next rotation at size %llu\n",
                  why, (unsigned long long)f->limit);
}

void log_file_rotate(struct log_file *f, int64_t wall_ns, bool utc, struct mf_buf *said)
{
    char when[sizeof STAMP_TEXT];
    struct mf_buf to = MF_BUF_INIT;
    struct mf_error e;

    put_stamp(when, wall_ns, utc);
    mf_buf_printf(&to, "%s.%s", f->path, when);
    const char *backup = mf_buf_cstr(&to);
    if (mf_buf_failed(&to)) {
        rotate_later(f, mf_err_text(MF_NOMEM), said);
    } else if (rename(f->path, backup) != 0) {
        rotate_later(f, strerror(errno), said);
    } else if (log_file_reopen(f, &e) != 0) {
        /* f->fd still writes to the renamed file: give it back its name. */
        if (rename(backup, f->path) != 0)
            mf_buf_printf(said, "ELog goes on in \"%s\"\n", backup);
        rotate_later(f, e.text, said);
    } else {
        mf_buf_printf(said, "IRotated log, backup saved as \"%s\"\n", backup);
        if (f->max_files > 0)
            purge_backups(f, said);
    }
    mf_buf_fini(&to);
}
