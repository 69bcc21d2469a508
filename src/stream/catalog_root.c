/* catalog_root.c: the directory of all streams of a server: whose it is, and that it is free. */
#include "stream/catalog_impl.h"

#include <stdlib.h>

#define NAME "jetstream" /* as nats-server calls it; so its streams are found, and refused */

/* --- streams of nats-server ------------------------------------------------------------------- */

/* Opened one level at a time; nothing is created and no owner is judged. */
struct look {
    struct store_folder *in;
    struct mf_error *e;
    bool streams; /* `in` holds streams, not accounts */
};

/* MF_UNSUPPORTED: found one.  A folder that cannot be opened is skipped: its later user reports the
 * error. */
static int look_at(void *arg, const char *name)
{
    struct look *l = arg;
    struct store_folder *f, *streams;
    struct mf_error ignored;
    int rc = 0;

    if (store_folder_open(&f, l->in, name, STORE_FOLDER_ANY, &ignored) != 0)
        return 0;
    if (l->streams && store_folder_has(f, CATALOG_NATS_FILE))
        rc = mf_fail(l->e, MF_UNSUPPORTED,
                     "%s is a stream of nats-server, which is not touched: start with another "
                     "store_dir, then copy the streams of the stopped nats-server with mayfly "
                     "import DIR, where DIR is its store_dir",
                     store_folder_path(f));
    else if (!l->streams &&
             store_folder_open(&streams, f, "streams", STORE_FOLDER_ANY, &ignored) == 0) {
        struct look below = {.in = streams, .e = l->e, .streams = true};
        rc = store_folder_list(streams, look_at, &below, &ignored) == MF_UNSUPPORTED
                 ? MF_UNSUPPORTED
                 : 0;
        store_folder_release(streams);
    }
    store_folder_release(f);
    return rc;
}

static int find_foreign(struct store_folder *root, struct mf_error *e)
{
    struct look l = {.in = root, .e = e};

    return store_folder_list(root, look_at, &l, e);
}

/* --- the directory ---------------------------------------------------------------------------- */

/* Errors about the path itself name the directory; one of them has nats-server's words.  The others
 * say where, but not of what. */
static int name_directory(int rc, struct mf_error *e)
{
    return rc == 0 || rc == MF_INVAL || rc == MF_LIMIT ? rc : mf_wrap(e, "store directory");
}

int catalog_root_open(struct store_folder **out, const char *store_dir, struct mf_error *e)
{
    struct store_folder *f;
    int rc = store_folder_root(&f, store_dir, NAME, e);

    if (rc == 0 && (find_foreign(f, e) != 0 || store_folder_claim(f, e) != 0)) {
        store_folder_release(f);
        rc = e->code;
    }
    if (rc != 0)
        return name_directory(rc, e);
    *out = f;
    return 0;
}

void catalog_root_files(struct store_folder *root, unsigned n)
{
    store_folder_keep_files(root, n);
}

int catalog_root_check(const char *store_dir, struct mf_error *e)
{
    struct store_folder *f;
    int rc = store_folder_probe(&f, store_dir, NAME, e);

    if (rc == 0 && f != NULL && (rc = find_foreign(f, e)) == 0)
        rc = store_folder_check(f, e);
    store_folder_release(f);
    return name_directory(rc, e);
}

void catalog_root_close(struct store_folder *root)
{
    store_folder_release(root);
}

bool catalog_root_has(struct store_folder *root, const char *dir)
{
    return store_folder_has(root, dir);
}
