/* journal_root.c: the commit journal of a server: below its store directory, beside the streams. */
#include "store/journal/journal_impl.h"

#include "store/io/folder.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* ACCOUNT/streams/NAME: one folder below the other, none through a link. */
static int find_folder(void *arg, const char *path, struct store_io **out, struct mf_error *e)
{
    struct store_folder *f = store_folder_retain(arg), *below;
    struct mf_slice rest = mf_str(path);
    char name[NAME_MAX + 1];
    int rc = 0;

    for (;;) {
        const char *slash = memchr(rest.ptr, '/', rest.len);
        size_t n = slash == NULL ? rest.len : (size_t)(slash - (const char *)rest.ptr);
        if (n == 0 || n > NAME_MAX) {
            rc = mf_fail(e, MF_NOTFOUND, "no such folder: %s", path);
            break;
        }
        memcpy(name, rest.ptr, n);
        name[n] = '\0';
        if ((rc = store_folder_open(&below, f, name, 0, e)) != 0)
            break;
        if (slash == NULL) {
            store_folder_release(below);
            rc = store_io_folder(out, f, name, e);
            break;
        }
        store_folder_release(f);
        f = below;
        rest = mf_slice(rest.ptr + n + 1, rest.len - n - 1);
    }
    store_folder_release(f);
    return rc;
}

/* The folder is open since before the first write, so no write error between is missed. */
static int sync_root(void *arg, struct mf_error *e)
{
    struct store_folder *root = arg;

    if (syncfs(root->fd) == 0)
        return 0;
    return mf_fail_errno(e, MF_IO, "sync the file system of %s", root->path);
}

static void release_root(void *arg)
{
    store_folder_release(arg);
}

int store_journal_open(struct store_journal **out, struct loop *l, struct store_folder *root,
                       struct mf_error *e)
{
    struct store_journal_opts o = {.find = find_folder,
                                   .sync_all = sync_root,
                                   .free = release_root,
                                   .arg = root,
                                   .fresh = !store_folder_has(root, STORE_JOURNAL_FOLDER)};
    struct store_io *io;
    int rc = store_io_folder(&io, root, STORE_JOURNAL_FOLDER, e);

    if (rc != 0)
        return rc;
    store_folder_retain(root);
    return store_journal_new(out, l, &o, io, e);
}
