/* catalog_open.c: what is on disk when the server starts.
 *
 * Folders of streams that were being made or deleted at a crash have names that no stream has, and
 * are removed.  A stream that cannot be served is left unchanged, and is listed with the reason. */
#include "stream/catalog_impl.h"

#include "base/le.h"
#include "base/log.h"

#include <stdlib.h>

static void set_offline(struct entry *e, const char *why)
{
    log_error("stream %s is offline: %s", e->name, why);
    e->state = ENTRY_OFFLINE;
    e->reason = mf_slice_dup(mf_str(why));
}

static void ignore_close(void *arg)
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

static int is_log(void *arg, const char *name)
{
    (void)arg;
    return mf_ends(mf_str(name), ".log") || strcmp(name, "checkpoint") == 0;
}

/* A stream's folder gets its name when it is whole.  So one without a log is not a stream that was
 * just made: opening it as a store would fill somebody else's folder. */
static int look_inside(struct entry *e, struct mf_error *err)
{
    struct store_folder *f;
    int rc = store_folder_open(&f, e->c->folder, e->name, 0, err);

    if (rc != 0)
        return rc;
    if (store_folder_has(f, CATALOG_NATS_FILE))
        rc = mf_fail(err, MF_UNSUPPORTED,
                     "%s is a stream of nats-server, which is not touched: move its folder out of "
                     "the store directory, then copy the stream with mayfly import",
                     store_folder_path(f));
    else if ((rc = store_folder_list(f, is_log, NULL, err)) == 0)
        rc = mf_fail(err, MF_NOTFOUND, "%s holds no stream: it has no log", store_folder_path(f));
    else if (rc > 0)
        rc = 0;
    store_folder_release(f);
    return rc;
}

/* The configuration decides how the store is opened (sync), and is in the store: it is opened with
 * the careful choice first. */
static int open_store(struct entry *e, struct store_opts *o, struct mf_error *err)
{
    int rc = look_inside(e, err);

    if (rc == 0)
        rc = store_io_folder(&e->io, e->c->folder, e->name, err);
    if (rc == 0 && (rc = store_open(&e->store, o, e->io, err)) != 0) {
        e->io->free(e->io);
        e->io = NULL;
    }
    return rc;
}

static void close_store(struct entry *e)
{
    store_close(e->store, ignore_close, NULL); /* never attached: closed at once */
    e->store = NULL;
    e->io = NULL;
}

static int read_config(struct entry *e, struct mf_error *err)
{
    struct mf_slice text;
    int rc;

    if (!store_blob_get(e->store, MF_LIT(BLOB_CONFIG), &text))
        return mf_fail(
            err, MF_NOTFOUND,
            "its configuration is lost; stop the server and give it back with `mayfly check "
            "--repair SRC --to DST --config FILE`");
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
    entry_share(e, e->store, &e->cfg);
    return stream_new(&e->stream, &e->cfg, e->created_ns, e->store, h, err);
}

static void load_one(struct catalog *c, struct entry *e)
{
    struct store_opts o;
    struct mf_error err;

    entry_store_opts(e, &e->cfg, &o);
    o.now_ns = c->o.host->now_ns(c->o.host->arg);
    if (open_store(e, &o, &err) != 0) {
        set_offline(e, err.text);
        return;
    }
    if (read_config(e, &err) != 0) {
        close_store(e);
        set_offline(e, err.text);
        return;
    }
    if (claims_add(&e->claims, e, &e->cfg) != 0) {
        close_store(e);
        set_offline(e, mf_err_text(MF_NOMEM));
        return;
    }
    if (bring_up(e, &err) != 0) {
        claims_drop(&e->claims, c);
        set_offline(e, err.text); /* the store's jobs may run: it stays until the end */
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
        log_warn("%s/%s is not a stream: left alone", store_folder_path(c->folder), name);
        return 0;
    }
    return entry_add(c, mf_str(name)) == NULL ? MF_NOMEM : 0;
}

static int find_streams(struct catalog *c, struct mf_error *e)
{
    struct store_folder *f;
    int rc = catalog_folder(c, false, &f, e);

    if (rc == MF_NOTFOUND)
        return 0;
    if (rc == 0)
        rc = store_folder_check(f, e);
    if (rc != 0)
        return rc;
    store_folder_tidy(f);
    rc = store_folder_list(f, note_name, c, e);
    return rc == MF_NOMEM ? mf_fail(e, rc, "streams") : rc;
}

static struct catalog *catalog_new(const struct catalog_opts *o)
{
    struct catalog *c = calloc(1, sizeof *c);

    if (c == NULL || (c->dir = mf_slice_dup(mf_str(o->dir))) == NULL ||
        pthread_mutex_init(&c->mutex, NULL) != 0) {
        if (c != NULL)
            free(c->dir);
        free(c);
        return NULL;
    }
    c->o = *o;
    c->o.dir = c->dir;
    return c;
}

int catalog_open(struct catalog **out, const struct catalog_opts *o, struct mf_error *e)
{
    struct catalog *c = catalog_new(o);
    int rc;

    if (c == NULL)
        return mf_fail(e, MF_NOMEM, "streams");
    if ((rc = find_streams(c, e)) != 0) {
        catalog_free(c);
        return rc;
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
