/* import_watch.c: a store must not be in use.
 *
 * nats-server locks nothing.  On Linux /proc shows the files that processes of this user have open
 * (of all users, to root), and their command lines (import_running.c).  A server on another machine
 * is seen only by what it changes: names, sizes and times of all files are compared before and
 * after the read. */
#include "cli/import/import_impl.h"

#include "codec/hash.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_open(const char *pid, const char *dir, size_t len)
{
    char path[300], link[4096];
    struct dirent *d;
    bool found = false;
    DIR *fds;

    (void)snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    fds = opendir(path);
    if (fds == NULL)
        return false;
    while (!found && (d = readdir(fds)) != NULL) {
        ssize_t n = readlinkat(dirfd(fds), d->d_name, link, sizeof link);

        found = n > (ssize_t)len && memcmp(link, dir, len) == 0 && link[len] == '/';
    }
    (void)closedir(fds);
    return found;
}

pid_t import_user_of(const char *dir)
{
    size_t len = strlen(dir);
    struct dirent *d;
    uint64_t pid = 0;
    DIR *proc = opendir("/proc");

    if (proc == NULL)
        return 0;
    while (pid == 0 && (d = readdir(proc)) != NULL)
        if (mf_parse_u64(mf_str(d->d_name), &pid) != 0 || pid == (uint64_t)getpid() ||
            (!has_open(d->d_name, dir, len) && !import_runs_on(d->d_name, dir)))
            pid = 0;
    (void)closedir(proc);
    return (pid_t)pid;
}

/* --- did it change? ------------------------------------------------------------------------- */

static void mark_file(struct import_marks *k, const char *path, const struct stat *st)
{
    struct import_mark one = {.size = (uint64_t)st->st_size,
                              .inode = (uint64_t)st->st_ino,
                              .mtime_ns = st->st_mtim.tv_sec * 1000000000LL + st->st_mtim.tv_nsec};

    k->files++;
    /* A sum: folders are read in no order. */
    k->sum += hash_slice(mf_str(path)) * 31 + hash_bytes(&one, sizeof one);
}

/* Depth: a stream's folder has obs/NAME/FILE. */
static int mark_folder(struct import_marks *k, const char *dir, int depth)
{
    char path[4096];
    struct dirent *d;
    struct stat st;
    int rc = 0;
    DIR *list = opendir(dir);

    if (list == NULL)
        return MF_IO;
    while (rc == 0 && (d = readdir(list)) != NULL) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", dir, d->d_name) >= (int)sizeof path ||
            lstat(path, &st) != 0)
            rc = MF_IO;
        else if (S_ISDIR(st.st_mode) && depth > 0)
            rc = mark_folder(k, path, depth - 1);
        else if (S_ISREG(st.st_mode))
            mark_file(k, path, &st);
    }
    (void)closedir(list);
    return rc;
}

int import_mark(struct import_marks *k, const char *dir)
{
    *k = (struct import_marks){.sum = 0};
    return mark_folder(k, dir, 4);
}

bool import_changed(const struct import_stream *x)
{
    struct import_marks now;

    return import_mark(&now, x->dir) != 0 || now.sum != x->marks.sum || now.files != x->marks.files;
}
