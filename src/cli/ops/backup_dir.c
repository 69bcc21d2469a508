/* backup_dir.c: see backup_dir.h. */
#include "cli/ops/backup_dir.h"

#include "base/clock.h"

#include "cli/plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTIAL ".partial"

bool backup_dir_is_name(const char *stream)
{
    size_t n = strcspn(stream, " .*>/\\\t\r\n\f");

    return n > 0 && n < 256 && stream[n] == '\0';
}

int backup_dir_path(char dst[BACKUP_DIR_PATH], const char *dir, const char *name,
                    struct mf_error *e)
{
    int n = snprintf(dst, BACKUP_DIR_PATH, "%s/%s", dir, name);

    return n > 0 && n < BACKUP_DIR_PATH ? 0 : mf_fail(e, MF_LIMIT, "the path %s is too long", dir);
}

/* Makes the folder and those above it, for the owner alone. */
static int make_folder(const char *dir, struct mf_error *e)
{
    char path[BACKUP_DIR_PATH];
    size_t n = strlen(dir);
    struct stat st;

    if (n == 0 || n >= sizeof path)
        return mf_fail(e, MF_INVAL, "the name of the folder is empty or too long");
    memcpy(path, dir, n + 1);
    for (char *p = path + 1;; p++) {
        char was = *p;

        if (was != '/' && was != '\0')
            continue;
        *p = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return mf_fail_errno(e, MF_IO, "make the folder %s", path);
        *p = was;
        if (was == '\0')
            break;
    }
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return mf_fail(e, MF_IO, "%s is no folder", dir);
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int check_size(struct backup_dir *d, const char *path, struct mf_error *e)
{
    const json_t *own = json_object_get(d->meta, "mayfly");
    json_int_t want = json_integer_value(json_object_get(own, "archive_bytes"));
    struct stat st;

    if (stat(path, &st) != 0)
        return mf_fail_errno(e, MF_CORRUPT, "%s", path);
    if (!S_ISREG(st.st_mode))
        return mf_fail(e, MF_CORRUPT, "%s is no plain file", path);
    d->bytes = (uint64_t)st.st_size;
    if (own != NULL && (json_int_t)st.st_size != want)
        return mf_fail(e, MF_CORRUPT, "%s has %lld bytes, " BACKUP_DIR_META " says %lld", path,
                       (long long)st.st_size, (long long)want);
    d->digest = json_string_value(json_object_get(own, "archive_sha256"));
    return 0;
}

/* NULL: there is no configuration, or it has no name. */
static const char *config_name(const json_t *meta)
{
    return json_string_value(json_object_get(json_object_get(meta, "config"), "name"));
}

int backup_dir_open(struct backup_dir *d, const char *dir, struct mf_error *e)
{
    char meta[BACKUP_DIR_PATH], data[BACKUP_DIR_PATH];
    json_error_t why;
    FILE *f;
    int rc;

    *d = (struct backup_dir){.meta = NULL};
    if (backup_dir_path(meta, dir, BACKUP_DIR_META, e) != 0 ||
        backup_dir_path(data, dir, BACKUP_DIR_DATA, e) != 0)
        return MF_LIMIT;
    if (access(meta, F_OK) != 0)
        return mf_fail(e, MF_NOTFOUND, "%s holds no finished backup (no " BACKUP_DIR_META ")", dir);
    if ((f = plain_file_open(meta, e)) == NULL)
        return MF_IO;
    d->meta = json_loadf(f, 0, &why);
    (void)fclose(f);
    if (config_name(d->meta) == NULL)
        rc = mf_fail(e, MF_CORRUPT, "%s holds no configuration of a stream%s%s", meta,
                     d->meta == NULL ? ": " : "", d->meta == NULL ? why.text : "");
    else if (!backup_dir_is_name(config_name(d->meta)))
        rc = mf_fail(e, MF_CORRUPT, "%s names a stream \"%s\", which no stream is called", meta,
                     config_name(d->meta));
    else
        rc = check_size(d, data, e);
    if (rc != 0) {
        json_decref(d->meta);
        d->meta = NULL;
    }
    return rc;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int open_partial(const struct backup_writer *w, const char *name, struct mf_error *e)
{
    char path[BACKUP_DIR_PATH];
    int fd;

    if (backup_dir_path(path, w->dir, name, e) != 0)
        return -1;
    (void)unlink(path); /* of a backup that was killed; never written through a link */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        (void)mf_fail_errno(e, MF_IO, "%s", path);
    return fd;
}

int backup_writer_begin(struct backup_writer *w, const char *dir, struct mf_error *e)
{
    *w = (struct backup_writer){.fd = -1};
    if (snprintf(w->dir, sizeof w->dir, "%s", dir) >= (int)sizeof w->dir)
        return mf_fail(e, MF_LIMIT, "the path %s is too long", dir);
    if (make_folder(dir, e) != 0)
        return MF_IO;
    w->fd = open_partial(w, BACKUP_DIR_DATA PARTIAL, e);
    return w->fd < 0 ? MF_IO : 0;
}

static int write_all(int fd, struct mf_slice bytes, struct mf_error *e)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return mf_fail_errno(e, MF_IO, "write");
        bytes = mf_slice(bytes.ptr + n, bytes.len - (size_t)n);
    }
    return 0;
}

int backup_writer_add(struct backup_writer *w, struct mf_slice bytes, struct mf_error *e)
{
    w->bytes += bytes.len;
    return write_all(w->fd, bytes, e) == 0 ? 0 : mf_wrap(e, "%s", w->dir);
}

static int sync_dir(const char *dir, struct mf_error *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) != 0 ? mf_fail_errno(e, MF_IO, "sync %s", dir) : 0;

    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static int rename_partial(const struct backup_writer *w, const char *name, struct mf_error *e)
{
    char from[BACKUP_DIR_PATH], to[BACKUP_DIR_PATH];

    if (backup_dir_path(to, w->dir, name, e) != 0)
        return MF_LIMIT;
    if (snprintf(from, sizeof from, "%s" PARTIAL, to) >= (int)sizeof from)
        return mf_fail(e, MF_LIMIT, "the path %s is too long", w->dir);
    return rename(from, to) == 0 ? 0 : mf_fail_errno(e, MF_IO, "rename %s", from);
}

static int write_meta(const struct backup_writer *w, const json_t *meta, struct mf_error *e)
{
    char *text = json_dumps(meta, JSON_INDENT(2));
    int fd = text == NULL ? -1 : open_partial(w, BACKUP_DIR_META PARTIAL, e), rc = MF_IO;

    if (text == NULL)
        rc = mf_fail(e, MF_NOMEM, BACKUP_DIR_META);
    if (fd >= 0) {
        rc = write_all(fd, mf_str(text), e);
        if (rc == 0 && fsync(fd) != 0)
            rc = mf_fail_errno(e, MF_IO, "sync " BACKUP_DIR_META);
        (void)close(fd);
    }
    free(text);
    return rc;
}

/* An older backup of the folder ends with its backup.json, before its archive is replaced. */
static int replace_files(struct backup_writer *w, const json_t *meta, struct mf_error *e)
{
    char old[BACKUP_DIR_PATH];
    int rc = write_meta(w, meta, e);

    if (rc == 0)
        rc = backup_dir_path(old, w->dir, BACKUP_DIR_META, e);
    if (rc == 0 && unlink(old) != 0 && errno != ENOENT)
        rc = mf_fail_errno(e, MF_IO, "remove %s", old);
    if (rc == 0)
        rc = rename_partial(w, BACKUP_DIR_DATA, e);
    if (rc == 0)
        rc = sync_dir(w->dir, e);
    if (rc == 0)
        rc = rename_partial(w, BACKUP_DIR_META, e);
    return rc == 0 ? sync_dir(w->dir, e) : rc;
}

int backup_writer_finish(struct backup_writer *w, json_t *meta, const struct backup_scan *s,
                         const char *digest, struct mf_error *e)
{
    char made[CLOCK_TEXT];
    json_t *own = json_pack("{s:I, s:s, s:I, s:I, s:I, s:s}", "archive_bytes", (json_int_t)s->bytes,
                            "archive_sha256", digest, "unpacked_bytes", (json_int_t)s->unpacked,
                            "messages", (json_int_t)s->messages, "consumers",
                            (json_int_t)s->consumers, "made", clock_rfc3339(made, clock_wall_ns()));
    bool synced = fsync(w->fd) == 0;

    synced = close(w->fd) == 0 && synced;
    w->fd = -1;
    if (own == NULL || json_object_set_new(meta, "mayfly", own) != 0)
        return mf_fail(e, MF_NOMEM, BACKUP_DIR_META);
    if (!synced)
        return mf_fail_errno(e, MF_IO, "sync %s", w->dir);
    return replace_files(w, meta, e);
}

void backup_writer_drop(struct backup_writer *w)
{
    char path[BACKUP_DIR_PATH];

    if (w->fd >= 0)
        (void)close(w->fd);
    w->fd = -1;
    if (backup_dir_path(path, w->dir, BACKUP_DIR_DATA PARTIAL, NULL) == 0)
        (void)unlink(path);
    if (backup_dir_path(path, w->dir, BACKUP_DIR_META PARTIAL, NULL) == 0)
        (void)unlink(path);
}
