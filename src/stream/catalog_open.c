/* catalog_open.c: what is on disk when the server starts.
 *
 * What a crash leaves of streams that were being made or deleted has names no stream has, and goes.
 * Anything else that cannot be served stays as it is, and is listed with the reason. */
#include "catalog_impl.h"

#include "mayfly/le.h"
#include "mayfly/log.h"
#include "mayfly/store_folder.h"

#include <stdlib.h>

static void offline(struct entry *e, const char *why)
{
    log_error("stream %s is offline: %s", e->name, why);
    e->state = ENTRY_OFFLINE;
    e->reason = mf_slice_dup(mf_str(why));
}

static void nothing(void *arg)
{
    (void)arg;
}

static int64_t created_of(struct store *st)
{
    struct mf_slice b;

    if (!store_blob_get(st, MF_LIT(BLOB_CREATED), &b) || b.len != 8)
        return 0;
    return (int64_t)le64_get(b.ptr);
}

/* The configuration decides how the store is opened (sync), and is in the store: it is opened with
 * the careful choice first. */
static int open_store(struct entry *e, struct store_opts *o, struct mf_error *err)
{
    struct store_io *io;
    char *path = entry_path(e, e->name);
    int rc;

    if (path == NULL)
        return mf_fail(err, MF_NOMEM, "%s", e->name);
    rc = store_io_dir(&io, path, err);
    free(path);
    if (rc == 0 && (rc = store_open(&e->store, o, io, err)) != 0)
        io->free(io);
    return rc;
}

static void shut(struct entry *e)
{
    store_close(e->store, nothing, NULL); /* never attached: closed at once */
    e->store = NULL;
}

static int read_config(struct entry *e, struct mf_error *err)
{
    struct mf_slice text;
    int rc;

    if (!store_blob_get(e->store, MF_LIT(BLOB_CONFIG), &text))
        return mf_fail(err, MF_NOTFOUND, "its configuration is lost; run `mayfly check` on it");
    rc = e->c->o.codec.decode(text, &e->cfg, err);
    if (rc == 0 && (e->cfg.name == NULL || strcmp(e->cfg.name, e->name) != 0))
        rc = mf_fail(err, MF_CORRUPT, "its configuration is of another stream");
    return rc;
}

static int bring_up(struct entry *e, struct mf_error *err)
{
    struct catalog *c = e->c;
    const struct stream_host *h = c->o.host;
    struct store_opts o;
    int rc;

    entry_store_opts(e, &e->cfg, &o);
    store_set_sync(e->store, o.sync, o.sync_interval_ns);
    e->created_ns = created_of(e->store);
    if ((rc = store_attach(e->store, h->loop, err)) != 0)
        return rc;
    return stream_new(&e->stream, &e->cfg, e->created_ns, e->store, h, err);
}

static void load_one(struct catalog *c, struct entry *e)
{
    struct store_opts o;
    struct mf_error err;

    entry_store_opts(e, &e->cfg, &o);
    o.now_ns = c->o.host->now_ns(c->o.host->arg);
    if (open_store(e, &o, &err) != 0) {
        offline(e, err.text);
        return;
    }
    if (read_config(e, &err) != 0) {
        shut(e);
        offline(e, err.text);
        return;
    }
    if (claims_take(&e->claims, e, &e->cfg) != 0) {
        shut(e);
        offline(e, mf_err_text(MF_NOMEM));
        return;
    }
    if (bring_up(e, &err) != 0) {
        claims_drop(&e->claims, c);
        offline(e, err.text); /* the store's jobs may run: it stays until the end */
        return;
    }
    e->store = NULL;
    e->state = ENTRY_READY;
    c->ready++;
}

static int note_name(void *arg, const char *name)
{
    struct catalog *c = arg;

    if (!stream_name_valid(name)) {
        log_warn("%s/%s is not a stream: left alone", c->dir, name);
        return 0;
    }
    return entry_add(c, mf_str(name)) == NULL ? MF_NOMEM : 0;
}

int catalog_open(struct catalog **out, const struct catalog_opts *o, struct mf_error *e)
{
    struct catalog *c = calloc(1, sizeof *c);
    int rc;

    if (c == NULL || (c->dir = mf_slice_dup(mf_str(o->dir))) == NULL) {
        free(c);
        return mf_fail(e, MF_NOMEM, "streams");
    }
    c->o = *o;
    c->o.dir = c->dir;
    store_folder_tidy(c->dir);
    rc = store_folder_list(c->dir, note_name, c, e);
    if (rc != 0) {
        while (c->count > 0)
            entry_drop(c->at[c->count - 1]);
        free(c->at);
        free(c->dir);
        free(c);
        return rc == MF_NOMEM ? mf_fail(e, rc, "streams") : rc;
    }
    for (size_t i = 0; i < c->count;) {
        struct entry *entry = c->at[i];
        load_one(c, entry);
        if (i < c->count && c->at[i] == entry)
            i++;
    }
    for (size_t i = 0; i < c->count; i++)
        if (c->at[i]->state == ENTRY_READY)
            o->added(o->arg, c->at[i]->stream);
    *out = c;
    return 0;
}
