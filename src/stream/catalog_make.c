/* catalog_make.c: making, changing and deleting a stream.
 *
 * Making: the name is taken; a worker makes the folder and opens a store in it; back on the loop
 * the configuration is written as the store's first batch; when that is on disk the stream is
 * ready.  Failure: the folder is removed, the name is free.  A draft is ready before its folder has
 * its name; catalog_finish() writes the configuration first and names the folder after that.
 *
 * Deleting: the stream is not found any more, and a worker renames the folder away.  Failure: it is
 * found again, and nothing has changed.  Otherwise the delete is final: subjects and readers are
 * released, the store closes, and a worker removes its files; files it cannot remove are removed at
 * the next start. */
#include "stream/catalog_impl.h"

#include "base/le.h"
#include "base/log.h"

#include <assert.h>
#include <stdlib.h>

static void finish_op(struct entry *e, struct stream *s, const struct js_error *err)
{
    struct catalog_op *op = e->op;

    e->op = NULL;
    e->c->jobs--;
    op->done(op, s, err);
}

/* --- deleting the folder ------------------------------------------------------------------- */

static void remove_work(void *arg) /* on a worker */
{
    struct entry *e = arg;
    char draft[STORE_FOLDER_NAME];
    struct store_folder *f;

    e->status = catalog_folder(e->c, false, &f, &e->error);
    if (e->status != 0) /* the first stream of all, and not even that could be made */
        return;
    if (e->gone[0] != '\0') {
        store_folder_empty(f, e->gone);
        return;
    }
    if (e->state == ENTRY_MAKING || e->draft) {
        store_folder_draft_name(draft, e->name);
        e->status = store_folder_remove(f, draft, &e->error);
    }
    if ((e->state != ENTRY_MAKING && !e->draft) || e->named)
        e->status = store_folder_remove(f, e->name, &e->error);
}

static void run_job(struct entry *e, void (*work)(void *arg), void (*done)(void *arg))
{
    loop_job_free(e->job);
    e->job = loop_job_new(e->c->o.host->loop, LOOP_UPKEEP, work, done, e);
    if (e->job != NULL) {
        loop_job_submit(e->job);
        return;
    }
    work(e); /* no memory for a worker: better slow than never */
    done(e);
}

static void remove_then(struct entry *e, void (*done)(void *arg))
{
    run_job(e, remove_work, done);
}

/* --- making -------------------------------------------------------------------------------- */

static void make_undone(void *arg)
{
    struct entry *e = arg;
    struct catalog *c = e->c;
    struct js_error err;

    js_error_set_text(&err, JS_STREAM_CREATE, "%s", e->reason != NULL ? e->reason : "failed");
    finish_op(e, NULL, &err);
    entry_drop(e);
    catalog_check_closed(c);
}

static void store_closed(void *arg)
{
    struct entry *e = arg;

    e->store = NULL;
    e->io = NULL;
    if (e->cfg.storage == STORAGE_MEMORY)
        make_undone(e);
    else
        remove_then(e, make_undone);
}

static void make_failed(struct entry *e)
{
    log_error("stream %s: %s", e->name, e->error.text);
    e->reason = mf_slice_dup(mf_str(e->error.text));
    if (e->store != NULL)
        store_close(e->store, store_closed, e);
    else
        store_closed(e);
}

static void make_named(void *arg)
{
    struct entry *e = arg;
    struct catalog *c = e->c;
    struct stream *s;

    if (e->status == 0 && !e->draft)
        entry_share(e, e->store, &e->cfg);
    if (e->status != 0 ||
        stream_new(&s, &e->cfg, e->created_ns, e->store, c->o.host, &e->error) != 0) {
        make_failed(e);
        return;
    }
    e->store = NULL;
    e->stream = s;
    e->state = ENTRY_READY;
    c->ready++;
    c->o.added(c->o.arg, s);
    finish_op(e, s, NULL);
    entry_told(e);
    if (c->closing)
        catalog_close(c, c->closed, c->closed_arg);
}

static void name_work(void *arg) /* on a worker */
{
    struct entry *e = arg;

    e->status = store_io_dir_move(e->io, e->name, &e->error);
    e->named = store_io_dir_is(e->io, e->name); /* also if it is not known to be on disk */
}

/* It is whole: now it may have its name, unless it is a draft. */
static void make_committed(struct store_wait *w, int status)
{
    struct entry *e = mf_container(w, struct entry, wait);

    if (status != 0) {
        mf_fail(&e->error, status, "%s",
                store_error(e->store) != NULL ? store_error(e->store) : "");
        make_failed(e);
        return;
    }
    e->status = 0;
    if (e->cfg.storage == STORAGE_MEMORY || e->draft) {
        make_named(e);
        return;
    }
    loop_job_free(e->job);
    e->job = loop_job_new(e->c->o.host->loop, LOOP_UPKEEP, name_work, make_named, e);
    if (e->job == NULL) {
        mf_fail(&e->error, MF_NOMEM, "%s", e->name);
        make_failed(e);
        return;
    }
    loop_job_submit(e->job);
}

static int write_config(struct entry *e)
{
    struct mf_buf text = MF_BUF_INIT;
    uint8_t created[8];
    int rc = e->c->o.codec.encode(&e->cfg, &text);

    le64_put(created, (uint64_t)e->created_ns);
    e->wait.done = make_committed;
    if (rc == 0) {
        store_begin(e->store, false);
        rc = store_blob_put(e->store, MF_LIT(BLOB_CONFIG), mf_buf_slice(&text), NULL);
        if (rc == 0)
            rc = store_blob_put(e->store, MF_LIT(BLOB_CREATED), mf_slice(created, 8), NULL);
        int end = store_end(e->store, rc == 0 ? &e->wait : NULL);
        rc = rc == 0 ? end : rc;
    }
    mf_buf_fini(&text);
    return rc;
}

static void make_work(void *arg) /* on a worker */
{
    struct entry *e = arg;
    struct store_io *io = NULL;
    struct store_folder *f;
    struct store_opts o;
    char draft[STORE_FOLDER_NAME];

    entry_store_opts(e, &e->cfg, &o);
    o.now_ns = e->created_ns;
    if (e->cfg.storage == STORAGE_MEMORY) {
        e->status = store_io_memory(&io, &e->error);
    } else {
        store_folder_draft_name(draft, e->name);
        e->status = catalog_folder(e->c, true, &f, &e->error);
        if (e->status == 0) /* of an attempt that failed before */
            e->status = store_folder_remove(f, draft, &e->error);
        if (e->status == 0)
            e->status = store_io_folder(&io, f, draft, &e->error);
    }
    if (e->status != 0)
        return;
    if ((e->status = store_open(&e->store, &o, io, &e->error)) != 0)
        io->free(io);
    else if (e->cfg.storage != STORAGE_MEMORY)
        e->io = io;
}

static void make_opened(void *arg)
{
    struct entry *e = arg;
    int rc = e->status;

    if (rc == 0)
        rc = store_attach(e->store, e->c->o.host->loop, &e->error);
    if (rc == 0 && (rc = write_config(e)) != 0)
        mf_fail(&e->error, rc, "write the configuration: %s", mf_err_text(rc));
    if (rc != 0)
        make_failed(e);
}

static void create_entry(struct catalog *c, struct stream_config *cfg, int64_t created_ns,
                         bool draft, struct catalog_op *op)
{
    struct entry *e = entry_add(c, mf_str(cfg->name));
    struct js_error err;

    if (e != NULL)
        e->job = loop_job_new(c->o.host->loop, LOOP_UPKEEP, make_work, make_opened, e);
    if (e == NULL || e->job == NULL || claims_add(&e->claims, e, cfg) != 0) {
        if (e != NULL)
            entry_drop(e);
        stream_config_fini(cfg);
        stream_config_init(cfg);
        js_error_set_text(&err, JS_STREAM_CREATE, "%s", mf_err_text(MF_NOMEM));
        op->done(op, NULL, &err);
        return;
    }
    e->state = ENTRY_MAKING;
    e->cfg = *cfg;
    stream_config_init(cfg);
    e->created_ns = created_ns != 0 ? created_ns : c->o.host->now_ns(c->o.host->arg);
    e->op = op;
    e->draft = draft;
    c->jobs++;
    loop_job_submit(e->job);
}

void catalog_create(struct catalog *c, struct stream_config *cfg, int64_t created_ns,
                    struct catalog_op *op)
{
    create_entry(c, cfg, created_ns, false, op);
}

void catalog_create_draft(struct catalog *c, struct stream_config *cfg, struct catalog_op *op)
{
    create_entry(c, cfg, 0, true, op);
}

bool catalog_is_draft(struct catalog *c, struct mf_slice name)
{
    size_t at;
    const struct entry *e = entry_find(c, name, &at);

    return e != NULL && e->draft;
}

/* --- changing ------------------------------------------------------------------------------ */

/* The stream may have closed while its folder got its name. */
static void update_done(struct entry *e, const struct js_error *err)
{
    struct catalog *c = e->c;
    bool there = err == NULL && e->stream != NULL;

    e->finishing = false;
    if (there)
        c->o.changed(c->o.arg, e->stream);
    finish_op(e, there ? e->stream : NULL, err);
    entry_told(e);
    catalog_check_closed(c);
}

static void finish_named(void *arg)
{
    struct entry *e = arg;
    struct catalog *c = e->c;
    bool closing = e->moving && c->closing; /* then it was left for now */
    struct js_error err;

    e->moving = false;
    if (e->status != 0) {
        log_error("stream %s: %s", e->name, e->error.text);
        js_error_set_text(&err, JS_STREAM_CREATE, "%s", e->error.text);
    } else {
        e->draft = false;
        if (e->stream != NULL)
            entry_share(e, e->stream->store, &e->stream->cfg);
    }
    update_done(e, e->status != 0 ? &err : NULL);
    if (closing)
        catalog_close(c, c->closed, c->closed_arg);
}

/* The final configuration is on disk. */
static void finish_name(struct entry *e)
{
    e->status = 0;
    if (e->stream->memory) {
        finish_named(e);
        return;
    }
    loop_job_free(e->job);
    e->job = loop_job_new(e->c->o.host->loop, LOOP_UPKEEP, name_work, finish_named, e);
    if (e->job != NULL) {
        e->moving = true;
        loop_job_submit(e->job);
        return;
    }
    e->status = mf_fail(&e->error, MF_NOMEM, "%s", e->name);
    finish_named(e);
}

static void stream_updated(struct stream_op *sop, const struct js_error *err, uint64_t count)
{
    struct entry *e = mf_container(sop, struct entry, update);

    (void)count;
    if (e->stream->cfg.subjects.at == e->wanted_subjects) { /* else all is as it was */
        struct claims old = e->claims;
        e->claims = e->wanted;
        e->wanted = old;
    }
    claims_drop(&e->wanted, e->c);
    if (err == NULL && e->finishing)
        finish_name(e);
    else
        update_done(e, err);
}

void catalog_update(struct catalog *c, struct stream *s, struct stream_config *cfg,
                    struct catalog_op *op)
{
    struct mf_buf text = MF_BUF_INIT;
    size_t at;
    struct entry *e = entry_find(c, mf_str(s->cfg.name), &at);
    int rc = c->o.codec.encode(cfg, &text);

    assert(e->op == NULL); /* catalog_busy() comes first */
    if (rc == 0)
        rc = claims_add(&e->wanted, e, cfg);
    if (rc != 0) {
        struct js_error err;
        js_error_set_text(&err, JS_STREAM_UPDATE, "%s", mf_err_text(rc));
        mf_buf_fini(&text);
        e->finishing = false;
        op->done(op, NULL, &err);
        return;
    }
    e->op = op;
    e->update.done = stream_updated;
    c->jobs++;
    e->wanted_subjects = cfg->subjects.at;
    stream_update(s, cfg, mf_buf_slice(&text), &e->update);
    mf_buf_fini(&text);
}

void catalog_finish(struct catalog *c, struct stream *s, struct stream_config *cfg,
                    struct catalog_op *op)
{
    size_t at;
    struct entry *e = entry_find(c, mf_str(s->cfg.name), &at);

    e->finishing = e->draft;
    catalog_update(c, s, cfg, op);
}

/* --- deleting ------------------------------------------------------------------------------ */

static void delete_done(void *arg)
{
    struct entry *e = arg;
    struct catalog *c = e->c;
    struct js_error err;

    if (e->status == 0) {
        finish_op(e, NULL, NULL);
        entry_drop(e);
    } else { /* discarded, and still there: a restart shows it again */
        log_error("stream %s: %s", e->name, e->error.text);
        js_error_set_text(&err, JS_STREAM_DELETE, "%s", e->error.text);
        e->state = ENTRY_OFFLINE;
        e->reason = mf_slice_dup(mf_str(e->error.text));
        finish_op(e, NULL, &err);
        entry_told(e);
    }
    catalog_check_closed(c);
}

static void delete_closed(void *arg)
{
    struct entry *e = arg;

    e->stream = NULL;
    e->io = NULL;
    e->status = 0;
    if (e->cfg.storage == STORAGE_MEMORY)
        delete_done(e);
    else
        remove_then(e, delete_done);
}

/* Out of service. */
static void take_out(struct entry *e)
{
    struct catalog *c = e->c;

    e->state = ENTRY_DELETING;
    e->cfg.storage = e->stream->cfg.storage;
    if (e->op->gone != NULL)
        e->op->gone(e->op, e->stream);
    c->o.removed(c->o.arg, e->stream);
    stream_close(e->stream, delete_closed, e);
}

static void rename_work(void *arg) /* on a worker */
{
    struct entry *e = arg;
    char draft[STORE_FOLDER_NAME];
    struct mf_error back;

    store_folder_draft_name(draft, e->name);
    store_folder_removed_name(e->gone);
    e->status = store_io_dir_move(e->io, e->gone, &e->error);
    /* Renamed, but perhaps not on disk: it must have one name or the other. */
    if (e->status != 0 && store_io_dir_is(e->io, e->gone) &&
        store_io_dir_move(e->io, e->draft ? draft : e->name, &back) != 0)
        log_error("stream %s: %s", e->name, back.text);
    if (!store_io_dir_is(e->io, e->gone))
        e->gone[0] = '\0';
}

/* The delete failed.  Its subjects are its own again; another stream may have taken them in the
 * moment between, which is worth a line. */
static void come_back(struct entry *e)
{
    struct catalog *c = e->c;

    e->leaving = false;
    c->ready++;
    if (catalog_overlaps(c, &e->stream->cfg, e->name) != 0)
        log_warn("stream %s has subjects of a stream that was made while it was to be deleted",
                 e->name);
    if (claims_add(&e->claims, e, &e->stream->cfg) != 0)
        log_error("stream %s: no memory to keep its subjects from others", e->name);
}

static void rename_done(void *arg)
{
    struct entry *e = arg;
    struct catalog *c = e->c;
    struct js_error err;

    e->moving = false;
    if (e->status != 0)
        log_error("stream %s: delete: %s", e->name, e->error.text);
    if (e->gone[0] != '\0') {
        take_out(e);
        return;
    }
    come_back(e);
    js_error_set_text(&err, JS_STREAM_DELETE, "%s", e->error.text);
    finish_op(e, NULL, &err);
    entry_told(e);
    if (c->closing)
        catalog_close(c, c->closed, c->closed_arg);
}

static struct entry *begin_delete(struct catalog *c, const struct stream *s, struct catalog_op *op)
{
    size_t at;
    struct entry *e = entry_find(c, mf_str(s->cfg.name), &at);

    assert(e->op == NULL);
    e->op = op;
    e->leaving = true;
    claims_drop(&e->claims, c);
    c->ready--;
    c->jobs++;
    return e;
}

void catalog_delete(struct catalog *c, struct stream *s, struct catalog_op *op)
{
    struct entry *e = begin_delete(c, s, op);

    if (s->cfg.storage == STORAGE_MEMORY) {
        take_out(e);
        return;
    }
    e->moving = true;
    run_job(e, rename_work, rename_done);
}

void catalog_discard(struct catalog *c, struct stream *s, struct catalog_op *op)
{
    take_out(begin_delete(c, s, op));
}
