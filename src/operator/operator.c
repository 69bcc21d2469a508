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

uint64_t operator_pinned_fails(const struct operator* op)
{
    return op->pinned_fails;
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

static void close_accounts(struct operator* op)
{
    struct table_node *n;
    size_t start = 0;

    loop_timer_free(op->fetch);
    op->fetch = NULL;
    while ((n = table_any(&op->accounts, &start)) != NULL)
        operator_entry_free(mf_container(n, struct operator_entry, node));
    table_fini(&op->accounts);
    accounts_set_gate(op->setup.accounts, NULL, NULL);
}

static void services_closed(void *arg)
{
    struct operator* op = arg;

    if (resolver_close(op->resolver, resolver_closed, op))
        resolver_closed(op);
}

bool operator_close(struct operator* op, void (*closed)(void *arg), void *arg)
{
    if (op == NULL)
        return true;
    op->closed = closed;
    op->closed_arg = arg;
    close_accounts(op);
    if (!claims_close(op->services, services_closed, op) ||
        !resolver_close(op->resolver, resolver_closed, op))
        return false;
    operator_free(op);
    return true;
}

/* --- reload ------------------------------------------------------------------------------------
 */

struct reload {
    struct operator_entry **all;
    size_t n;
};

static void collect_entry(void *arg, struct table_node *n)
{
    struct reload *r = arg;
    struct operator_entry *en = mf_container(n, struct operator_entry, node);

    en->admitted = trust_admits_account(en->op->trust, en->a.key);
    if (en->claims != NULL)
        r->all[r->n++] = en;
}

static int collect_accounts(struct operator* op, struct reload *r)
{
    struct table_scan scan;

    *r = (struct reload){.all = calloc(op->accounts.count + 1, sizeof(struct operator_entry *))};
    if (r->all == NULL)
        return MF_NOMEM;
    table_scan_begin(&scan, &op->accounts);
    while (table_scan(&op->accounts, &scan, collect_entry, r))
        ;
    return 0;
}

/* Another resolver_pinned_accounts: users are asked again. */
static void follow_pinned(struct operator_entry *en)
{
    const struct operator_setup *s = &en->op->setup;

    if (en->admitted != trust_admits_account(en->op->trust, en->a.key) && s->changed != NULL)
        s->changed(s->arg, &en->a, en->a.jwt);
}

static bool follow_resolver(struct operator* op, const struct options_resolver *was)
{
    const struct options *now = op->setup.options;
    struct mf_error e;

    if (was->kind != now->operators->resolver.kind) {
        log_warn("resolver: another kind is used after a restart");
        return false;
    }
    if (resolver_reload(op->resolver, now, &e) != 0) {
        log_error("resolver: %s", e.text);
        return false;
    }
    return was->kind == OPTIONS_RESOLVER_MEM;
}

void operator_reload(struct operator* op, const struct options *o)
{
    const struct options_resolver *was = &op->setup.options->operators->resolver;
    struct reload r;

    if (collect_accounts(op, &r) != 0) {
        log_error("operator mode: out of memory: accounts stay as they are");
        r.n = 0;
    }
    op->setup.options = o;
    trust_move(op->trust, o);
    bool asks = follow_resolver(op, was);
    for (size_t i = 0; i < r.n; i++) {
        follow_pinned(r.all[i]);
        if (asks) {
            r.all[i]->reloads = true;
            operator_load_start(r.all[i]);
        }
    }
    free(r.all);
}

/* --- the services about JWTs --------------------------------------------------------------------
 */

static void write_server(void *arg, struct jsonw *w)
{
    const struct operator* op = arg;

    if (op->setup.write_server != NULL)
        op->setup.write_server(op->setup.arg, w);
}

static bool is_loaded(void *arg, const char *account)
{
    return operator_account_find(arg, account) != NULL;
}

static int apply_jwt(void *arg, const char *account, struct mf_slice jwt, struct mf_error *e)
{
    struct operator_entry *en = operator_entry_find(arg, account);

    if (en == NULL || en->claims == NULL)
        return mf_fail(e, MF_NOTFOUND, "account not loaded");
    if (operator_account_apply(en, jwt, e) != 0)
        return e->code;
    operator_load_needs(en);
    operator_load_answer(en);
    return 0;
}

static void jwt_removed(void *arg, const char *account)
{
    struct operator_entry *en = operator_entry_find(arg, account);

    if (en != NULL && en->claims != NULL && !en->deleted)
        operator_account_delete(en);
}

static int open_services(struct operator* op, struct mf_error *e)
{
    struct claims_setup s = {.loop = op->setup.loop,
                             .accounts = op->setup.accounts,
                             .options = op->setup.options,
                             .trust = op->trust,
                             .resolver = op->resolver,
                             .arg = op,
                             .write_server = write_server,
                             .loaded = is_loaded,
                             .apply = apply_jwt,
                             .removed = jwt_removed};

    return claims_open(&op->services, &s, e);
}

/* --- start ------------------------------------------------------------------------------------ */

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
        operator_gate_open(op);
        if (operator_system_load(op, e) == 0 && open_services(op, e) == 0) {
            *out = op;
            return 0;
        }
    }
    if (!operator_close(op, open_undone, s->loop))
        loop_run(s->loop);
    return e->code;
}
