/* restore_consumers.c: the consumers of an archive.  They stand before the messages, so they are
 * read (by a worker) as they arrive, and created when all messages are stored.  They deliver
 * nothing before the stream is complete. */
#include "backup/restore_impl.h"

#include <stdlib.h>

struct restore_consumer {
    struct mf_list link; /* restore.consumers, or restore.making */
    struct restore *r;
    struct consumer_backup b;
    struct consumer_op op;
    char name[];
};

static void drop_consumer(struct restore_consumer *x)
{
    mf_list_del(&x->link);
    consumer_backup_fini(&x->b);
    free(x);
}

void restore_drop_consumers(struct restore *r)
{
    struct mf_list *pos;

    while ((pos = mf_list_pop(&r->consumers)) != NULL)
        drop_consumer(mf_container(pos, struct restore_consumer, link));
}

/* --- reading -------------------------------------------------------------------------------- */

/* The name it is known by; NULL: its document speaks of another. */
static const char *name_of(struct consumer_config *c, const char *name)
{
    const char *durable = c->durable_name == NULL ? "" : c->durable_name;

    if (*durable != '\0' && strcmp(durable, name) != 0)
        return NULL;
    if (c->name != NULL && *c->name != '\0' && strcmp(c->name, name) != 0)
        return NULL;
    c->name = arena_str(&c->mem, name);
    return c->name;
}

static bool is_sound(struct restore_consumer *x, const char *bad_state)
{
    struct consumer_backup *b = &x->b;
    struct restore *r = x->r;
    const char *name = x->name;

    if (!b->has_config)
        restore_fail(r, "consumer \"%s\" is missing config", name);
    else if (!b->has_state)
        restore_fail(r, "consumer \"%s\" is missing state", name);
    else if (!consumer_name_valid(name) || name_of(&b->config, name) == NULL)
        restore_fail(r, "failed to add consumer \"%s\": its name does not match its config", name);
    else if (bad_state != NULL)
        restore_fail(r, "failed to set consumer \"%s\" state: %s", name, bad_state);
    return !r->failed;
}

void restore_add_consumer(struct restore *r, const char *name, struct consumer_backup *b,
                          const char *bad_state)
{
    struct restore_consumer *x = calloc(1, sizeof *x + strlen(name) + 1);

    if (x == NULL) {
        restore_fail(r, "%s", mf_err_text(MF_NOMEM));
        consumer_backup_fini(b);
        return;
    }
    mf_list_init(&x->link);
    x->r = r;
    memcpy(x->name, name, strlen(name));
    x->b = *b;
    r->consumer_bytes += sizeof *x + b->state.n * sizeof *b->state.at;
    if (is_sound(x, bad_state) && restore_within(r))
        mf_list_push(&r->consumers, &x->link);
    else
        drop_consumer(x);
}

void restore_take_consumer(struct restore *r, const struct archive_entry *e)
{
    struct mf_slice name = MF_SLICE_NONE;

    if (mf_starts(e->name, ARCHIVE_CONSUMERS))
        name = mf_slice(e->name.ptr + strlen(ARCHIVE_CONSUMERS),
                        e->name.len - strlen(ARCHIVE_CONSUMERS));
    if (name.len == 0 || name.len > 255 || e->seq != 0) {
        restore_fail(r, "expected consumer, found \"%.*s\"", MF_FMT(e->name));
        return;
    }
    if (e->skipped) {
        restore_fail(r, "consumer \"%.*s\" is too large", MF_FMT(name));
        return;
    }
    r->consumers_read++;
    restore_read_consumer(r, name, e->payload);
}

/* --- making --------------------------------------------------------------------------------- */

static void cannot_add(struct restore *r, const char *name, const struct js_error *e)
{
    restore_fail(r, "failed to add consumer \"%s\": %s (%d)", name, e->text, e->err_code);
}

static void finish_make(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    struct restore_consumer *x = mf_container(op, struct restore_consumer, op);
    struct restore *r = x->r;

    r->making--;
    if (c == NULL)
        cannot_add(r, x->name, e);
    else if (r->failed)
        restore_fail_with(r, &r->error); /* cleans up when this was the last under way */
    drop_consumer(x);
    restore_wake(r);
}

static void make_consumer(struct restore_consumer *x, struct consumers *g)
{
    struct restore *r = x->r;
    struct js_error e;
    int rc;

    if (consumers_find(g, mf_str(x->name)) != NULL)
        rc = js_error_set(&e, JS_CONSUMER_ALREADY_EXISTS);
    else
        rc = limits_consumer_allowed(r->aa, g, &r->cfg, &x->b.config, &e);
    if (rc == MF_NOMEM)
        js_error_set(&e, JS_INSUFFICIENT_RESOURCES);
    if (rc != 0) {
        cannot_add(r, x->name, &e);
        drop_consumer(x);
        return;
    }
    x->op.done = finish_make;
    r->making++;
    consumer_restore(g, &x->b.config, mf_str(x->name), &x->b.state, &x->op);
}

int restore_make_consumers(struct restore *r, struct stream *s)
{
    struct consumers *g = js_consumers(s);
    struct mf_list *pos;

    if (!mf_list_empty(&r->consumers) && g == NULL)
        restore_fail(r, "failed to add consumers: %s", mf_err_text(MF_NOMEM));
    while (!r->failed && (pos = mf_list_pop(&r->consumers)) != NULL) {
        make_consumer(mf_container(pos, struct restore_consumer, link), g);
        if (work_spent(r->aa->ja->js->loop))
            break;
    }
    if (r->failed)
        return 0;
    if (!mf_list_empty(&r->consumers) && r->making == 0)
        restore_wake(r);
    return mf_list_empty(&r->consumers) && r->making == 0 ? 0 : MF_AGAIN;
}
