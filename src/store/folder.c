/* folder.c: folders of stores.  A folder that is to go is first renamed to a name no store has, so
 * that it is there as a whole or not at all. */
#include "mayfly/store_folder.h"

#include "mayfly/hash.h"
#include "mayfly/log.h"
#include "mayfly/rand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define GONE  ".gone-" /* followed by a random name */
#define DRAFT ".new-"  /* followed by a hash of the name it will have, which may be long */

static int sync_folder(const char *path, struct mf_error *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return mf_fail_errno(e, MF_IO, "open folder %s", path);
    int rc = fsync(fd);
    close(fd);
    return rc == 0 ? 0 : mf_fail_errno(e, MF_IO, "sync folder %s", path);
}

/* One level; its name is on disk when this returns. */
static int make_one(char *path, char *slash, struct mf_error *e)
{
    int rc;

    if (mkdir(path, 0700) != 0)
        return errno == EEXIST
                   ? 0
                   : mf_fail_errno(e, errno == ENOSPC ? MF_FULL : MF_IO, "make folder %s", path);
    if (slash == NULL)
        return sync_folder(".", e);
    *slash = '\0';
    rc = sync_folder(slash == path ? "/" : path, e);
    *slash = '/';
    return rc;
}

int store_folder_make(const char *path, struct mf_error *e)
{
    char copy[PATH_MAX];
    char *before = NULL;
    int rc;

    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
        return mf_fail(e, MF_LIMIT, "make folder: the path is too long");
    for (char *p = copy + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        rc = make_one(copy, before != NULL ? before : copy[0] == '/' ? copy : NULL, e);
        *p = '/';
        if (rc != 0)
            return rc;
        before = p;
    }
    return make_one(copy, before != NULL ? before : copy[0] == '/' ? copy : NULL, e);
}

int store_folder_list(const char *path, int (*visit)(void *arg, const char *name), void *arg,
                      struct mf_error *e)
{
    DIR *d = opendir(path);
    struct dirent *entry;
    int rc = 0;

    if (d == NULL)
        return errno == ENOENT ? 0 : mf_fail_errno(e, MF_IO, "list folder %s", path);
    while (rc == 0 && (entry = readdir(d)) != NULL)
        if (entry->d_name[0] != '.')
            rc = visit(arg, entry->d_name);
    closedir(d);
    return rc;
}

/* Files first, then the folder.  Stores have no folders inside. */
static int empty_and_remove(const char *parent, const char *name, struct mf_error *e)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *d;
    int rc = 0;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", parent, name) >= sizeof path)
        return mf_fail(e, MF_LIMIT, "remove %s: the path is too long", name);
    if ((d = opendir(path)) == NULL)
        return errno == ENOENT ? 0 : mf_fail_errno(e, MF_IO, "open folder %s", path);
    while ((entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(d), entry->d_name, 0) != 0 && errno != ENOENT)
            rc = mf_fail_errno(e, MF_IO, "remove %s/%s", path, entry->d_name);
    }
    closedir(d);
    if (rc == 0 && rmdir(path) != 0)
        rc = mf_fail_errno(e, MF_IO, "remove folder %s", path);
    return rc;
}

int store_folder_remove(const char *parent, const char *name, struct mf_error *e)
{
    char from[PATH_MAX], to[PATH_MAX], gone[64], id[RAND_NUID + 1];
    struct mf_error later;

    rand_nuid(id);
    snprintf(gone, sizeof gone, GONE "%s", id);
    if ((size_t)snprintf(from, sizeof from, "%s/%s", parent, name) >= sizeof from ||
        (size_t)snprintf(to, sizeof to, "%s/%s", parent, gone) >= sizeof to)
        return mf_fail(e, MF_LIMIT, "remove %s: the path is too long", name);
    if (rename(from, to) != 0)
        return errno == ENOENT ? 0 : mf_fail_errno(e, MF_IO, "rename %s", from);
    if (sync_folder(parent, e) != 0)
        return e->code;
    if (empty_and_remove(parent, gone, &later) != 0)
        log_warn("%s; it is removed at the next start", later.text);
    return 0;
}

void store_folder_tidy(const char *parent)
{
    DIR *d = opendir(parent);
    struct dirent *entry;
    struct mf_error e;

    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL)
        if ((strncmp(entry->d_name, GONE, sizeof GONE - 1) == 0 ||
             strncmp(entry->d_name, DRAFT, sizeof DRAFT - 1) == 0) &&
            empty_and_remove(parent, entry->d_name, &e) != 0)
            log_warn("%s", e.text);
    closedir(d);
}

void store_folder_draft(char *dst, size_t cap, const char *name)
{
    snprintf(dst, cap, DRAFT "%016llx", (unsigned long long)hash_slice(mf_str(name)));
}

int store_folder_finish(const char *parent, const char *name, bool *named, struct mf_error *e)
{
    char from[PATH_MAX], to[PATH_MAX], draft[64];

    *named = false;
    store_folder_draft(draft, sizeof draft, name);
    if ((size_t)snprintf(from, sizeof from, "%s/%s", parent, draft) >= sizeof from ||
        (size_t)snprintf(to, sizeof to, "%s/%s", parent, name) >= sizeof to)
        return mf_fail(e, MF_LIMIT, "%s: the path is too long", name);
    if (rename(from, to) != 0)
        return mf_fail_errno(e, MF_IO, "rename %s", from);
    *named = true;
    return sync_folder(parent, e);
}
