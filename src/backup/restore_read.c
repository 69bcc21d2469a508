/* restore_read.c: documents of a backup that may be long: consumers, and the index of a tar.
 *
 * Happy path: the bytes are copied (or taken over); a worker reads them; read_done() hands on the
 * result.  One at a time for each restore.
 * Failure: the receiver of the result calls restore_fail().
 * Close: restore_read_drop() detaches the worker from the restore; its result is freed when it is
 * done. */
#include "backup/restore_impl.h"

#include "codec/json.h"

#include <stdio.h>
#include <stdlib.h>

enum what { READ_CONSUMER, READ_STATE, READ_INDEX };

struct restore_read {
    struct restore *r; /* NULL: dropped */
    struct loop_job *job;
    enum what what;
    char name[256]; /* of the consumer; of the stream */
    struct mf_buf text, config;
    int rc;
    struct mf_error why;
    struct consumer_backup b;
    bool unsound; /* and why: */
    struct mf_error bad;
    /* The index: */
    struct mf_buf *home; /* the owner of its bytes */
    uint32_t block;
    uint8_t check[HIGHWAY_BYTES];
    struct natsfile_index index;
    void (*then)(struct restore *r, const struct natsfile_index *i);
};

size_t restore_read_memory(const struct restore_read *x)
{
    return x == NULL ? 0 : x->text.len + x->config.len;
}

static void read_free(struct restore_read *x)
{
    loop_job_free(x->job);
    mf_buf_fini(&x->text);
    mf_buf_fini(&x->config);
    consumer_backup_fini(&x->b);
    free(x);
}

void restore_read_drop(struct restore *r)
{
    if (r->read != NULL)
        r->read->r = NULL;
    r->read = NULL;
}

/* --- on a worker ---------------------------------------------------------------------------- */

/* Of a tar: the configuration is JSON, the state is not. */
static int read_state(struct restore_read *x)
{
    int rc;

    x->b = (struct consumer_backup){.has_config = true, .has_state = true};
    consumer_config_init(&x->b.config);
    rc = json_unmarshal(mf_buf_slice(&x->config), &consumer_config_json_type, &x->b.config,
                        &x->b.config.mem, &x->why);
    if (rc != 0)
        return rc;
    rc = consumer_backup_from_file(mf_buf_slice(&x->text), &x->b.state, &x->b.mem);
    if (rc != 0)
        x->unsound = mf_fail(&x->bad, MF_INVAL, "%s",
                             rc == MF_NOMEM ? mf_err_text(rc) : "corrupt state file") != 0;
    return 0;
}

static int read_index(struct restore_read *x)
{
    uint8_t check[HIGHWAY_BYTES];
    struct natsfile_index i;
    struct natsfile_block b;
    uint32_t block;

    if (natsfile_index_open(&i, mf_buf_slice(&x->text), x->name) != 0)
        return MF_CORRUPT;
    x->index = i;
    while (i.blocks > 0)
        if (natsfile_index_next(&i, &b) != 0 || !natsfile_set_sound(&b.deleted))
            return MF_CORRUPT;
    return natsfile_index_end(&i, &block, check) == 0 && block == x->block &&
                   memcmp(check, x->check, sizeof check) == 0
               ? 0
               : MF_CORRUPT;
}

static void read_work(void *arg)
{
    struct restore_read *x = arg;

    if (x->what == READ_INDEX) {
        x->rc = read_index(x);
        return;
    }
    x->rc = x->what == READ_STATE ? read_state(x)
                                  : consumer_backup_read(mf_buf_slice(&x->text), &x->b, &x->why);
    if (x->rc == 0 && !x->unsound && x->b.has_config && x->b.has_state)
        x->unsound = consumer_backup_check(&x->b, &x->bad) != 0;
}

/* --- back on the loop ----------------------------------------------------------------------- */

static void give_consumer(struct restore_read *x)
{
    struct restore *r = x->r;

    if (x->rc != 0) {
        restore_fail(r, "failed to decode consumer \"%s\" %s: %s", x->name,
                     x->what == READ_STATE ? "config" : "state", x->why.text);
        return;
    }
    restore_add_consumer(r, x->name, &x->b, x->unsound ? x->bad.text : NULL);
    x->b = (struct consumer_backup){.has_config = false}; /* taken over */
    consumer_config_init(&x->b.config);
}

static void read_done(void *arg)
{
    struct restore_read *x = arg;
    struct restore *r = x->r;

    if (r != NULL) {
        r->read = NULL;
        if (x->what == READ_INDEX) {
            mf_buf_fini(x->home);
            *x->home = x->text;
            x->text = (struct mf_buf)MF_BUF_INIT;
            x->then(r, x->rc == 0 ? &x->index : NULL);
        } else {
            give_consumer(x);
        }
        restore_wake(r);
    }
    read_free(x);
}

/* --- asking --------------------------------------------------------------------------------- */

static struct restore_read *read_new(struct restore *r, enum what what, struct mf_slice name)
{
    struct restore_read *x = calloc(1, sizeof *x);

    if (x == NULL)
        return NULL;
    consumer_config_init(&x->b.config);
    x->r = r;
    x->what = what;
    (void)snprintf(x->name, sizeof x->name, "%.*s", MF_FMT(name));
    x->job = loop_job_new(r->aa->ja->js->loop, LOOP_OUTSIDE, read_work, read_done, x);
    return x;
}

/* x may be NULL: no memory. */
static void read_submit(struct restore *r, struct restore_read *x)
{
    if (x == NULL || x->job == NULL || mf_buf_failed(&x->text) || mf_buf_failed(&x->config)) {
        if (x != NULL)
            read_free(x);
        restore_fail(r, "%s", mf_err_text(MF_NOMEM));
        return;
    }
    r->read = x;
    loop_job_submit(x->job);
}

void restore_read_consumer(struct restore *r, struct mf_slice name, struct mf_slice text)
{
    struct restore_read *x = read_new(r, READ_CONSUMER, name);

    if (x != NULL)
        mf_buf_append(&x->text, text.ptr, text.len);
    read_submit(r, x);
}

void restore_read_state(struct restore *r, struct mf_slice name, struct mf_slice config,
                        struct mf_slice state)
{
    struct restore_read *x = read_new(r, READ_STATE, name);

    if (x != NULL) {
        mf_buf_append(&x->text, state.ptr, state.len);
        mf_buf_append(&x->config, config.ptr, config.len);
    }
    read_submit(r, x);
}

void restore_read_index(struct restore *r, struct mf_buf *bytes, uint32_t block,
                        const uint8_t check[HIGHWAY_BYTES],
                        void (*then)(struct restore *r, const struct natsfile_index *i))
{
    struct restore_read *x = read_new(r, READ_INDEX, mf_str(r->name));

    if (x != NULL) {
        x->home = bytes;
        x->block = block;
        memcpy(x->check, check, sizeof x->check);
        x->then = then;
        x->text = *bytes;
        *bytes = (struct mf_buf)MF_BUF_INIT;
    }
    read_submit(r, x);
}
