/* operator.c: operator mode opened, reloaded and closed. */
#include "operator/operator_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/* --- small answers -----------------------------------------------------------------------------
 */

const struct trust *operator_trust(const struct operator* op)
{
    return op->trust;
}

const struct jwt_key *operator_server_key(const struct operator* op)
{
    return op->setup.server_key;
}

struct loop *operator_loop(const struct operator* op)
{
    return op->setup.loop;
}

const struct options *operator_options(const struct operator* op)
{
    return op->setup.options;
}

struct accounts *operator_accounts(const struct operator* op)
{
    return op->setup.accounts;
}

size_t operator_count(const struct operator* op)
{
    return op->nloaded;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void operator_free(struct operator* op)
{
    trust_free(op->trust);
    free(op);
}

static void resolver_closed(void *arg)
{
    struct operator* op = arg;
    void (*closed)(void *arg) = op->closed;
    void *closed_arg = op->closed_arg;

    operator_free(op);
    closed(closed_arg);
}

bool operator_close(struct operator* op, void (*closed)(void *arg), void *arg)
{
    struct table_node *n;
    size_t start = 0;

    if (op == NULL)
        return true;
    while ((n = table_any(&op->accounts, &start)) != NULL)
        operator_entry_free(mf_container(n, struct operator_entry, node));
    table_fini(&op->accounts);
    op->closed = closed;
    op->closed_arg = arg;
    if (!resolver_close(op->resolver, resolver_closed, op))
        return false;
    operator_free(op);
    return true;
}

/* --- start ------------------------------------------------------------------------------------ */

struct first_load { /* an account that the start waits for */
    struct operator_load load;
    struct operator* op;
    char why[160]; /* "": it is there */
};

static void first_loaded(struct operator_load *q, struct operator_account *a, const char *why)
{
    struct first_load *f = mf_container(q, struct first_load, load);

    if (a == NULL)
        snprintf(f->why, sizeof f->why, "%s", why);
    if (--f->op->opening == 0)
        loop_stop(f->op->setup.loop);
}

static void load_first(struct operator* op, struct first_load *f, const char *key)
{
    *f = (struct first_load){.load.done = first_loaded, .op = op};
    snprintf(f->load.account, sizeof f->load.account, "%s", key);
    op->opening++;
    operator_load(op, &f->load);
}

static int load_system(struct operator* op, struct mf_error *e)
{
    const struct options *o = op->setup.options;
    struct first_load f;

    if (o->no_system_account || o->system_account == NULL ||
        strcmp(o->system_account, ACCOUNT_SYSTEM) == 0)
        return 0;
    load_first(op, &f, o->system_account);
    loop_run(op->setup.loop);
    operator_load_cancel(&f.load);
    return f.why[0] == '\0' ? 0
                            : mf_fail(e, MF_NOTFOUND, "error resolving system account: %s", f.why);
}

static void open_undone(void *arg)
{
    loop_stop(arg);
}

int operator_open(struct operator** out, const struct operator_setup *s, struct mf_error *e)
{
    struct resolver_setup rs = {.loop = s->loop, .options = s->options};
    struct operator* op = calloc(1, sizeof *op);

    if (op == NULL)
        return mf_fail(e, MF_NOMEM, "operator mode");
    op->setup = *s;
    if (trust_new(&op->trust, s->options, loop_wall_ns(s->loop) / CLOCK_S, e) == 0 &&
        resolver_open(&op->resolver, &rs, e) == 0) {
        trust_log(op->trust);
        if (load_system(op, e) == 0) {
            *out = op;
            return 0;
        }
    }
    if (!operator_close(op, open_undone, s->loop))
        loop_run(s->loop);
    return e->code;
}
