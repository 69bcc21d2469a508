/* resolver_mem.c: account JWTs of the configuration (resolver_preload).  A reload replaces them. */
#include "operator/resolver_impl.h"

#include "base/table.h"
#include "codec/hash.h"

#include <stdlib.h>

struct mem_account {
    struct table_node node;
    const struct options_pair *pair; /* in the options */
};
struct mem_resolver {
    struct resolver r;
    struct table accounts;
    struct mem_account *items;
};

static const char *find_jwt(const struct mem_resolver *m, const char *account)
{
    struct table_node *n = table_first(&m->accounts, hash_slice(mf_str(account)));

    for (; n != NULL; n = table_next(n)) {
        const struct mem_account *a = mf_container(n, struct mem_account, node);
        if (strcmp(a->pair->key, account) == 0)
            return a->pair->value;
    }
    return NULL;
}

static int fill_table(struct mem_resolver *m, const struct options *o, struct mf_error *e)
{
    const struct options_pairs *l = &o->operators->preload;
    struct mem_account *items = calloc(l->n > 0 ? l->n : 1, sizeof *items);
    struct table t = {0};

    if (items == NULL)
        return mf_fail(e, MF_NOMEM, "resolver_preload");
    for (size_t i = 0; i < l->n; i++) {
        items[i].pair = &l->items[i];
        if (table_add(&t, &items[i].node, hash_slice(mf_str(l->items[i].key))) != 0) {
            table_fini(&t);
            free(items);
            return mf_fail(e, MF_NOMEM, "resolver_preload");
        }
    }
    table_fini(&m->accounts);
    free(m->items);
    m->accounts = t;
    m->items = items;
    return 0;
}

static void answer_lookup(struct loop_defer *d)
{
    struct resolver_lookup *q = mf_container(d, struct resolver_lookup, turn);
    const char *jwt = find_jwt((const struct mem_resolver *)q->resolver, q->account);

    if (jwt == NULL)
        resolver_finish(q, MF_NOTFOUND, MF_SLICE_NONE, "account missing");
    else
        resolver_finish(q, 0, mf_str(jwt), "");
}

static void mem_lookup(struct resolver *r, struct resolver_lookup *q)
{
    q->turn.fn = answer_lookup;
    loop_defer(r->loop, &q->turn);
}

static int mem_reload(struct resolver *r, const struct options *o, struct mf_error *e)
{
    return fill_table((struct mem_resolver *)r, o, e);
}

static bool mem_close(struct resolver *r, void (*closed)(void *arg), void *arg)
{
    struct mem_resolver *m = (struct mem_resolver *)r;

    (void)closed, (void)arg;
    table_fini(&m->accounts);
    free(m->items);
    free(m);
    return true;
}

static const struct resolver_ops mem_ops = {
    .close = mem_close, .reload = mem_reload, .lookup = mem_lookup};

int resolver_mem_open(struct resolver **out, const struct resolver_setup *s, struct mf_error *e)
{
    struct mem_resolver *m = calloc(1, sizeof *m);

    if (m == NULL)
        return mf_fail(e, MF_NOMEM, "resolver");
    m->r = (struct resolver){&mem_ops, OPTIONS_RESOLVER_MEM, s->loop};
    if (fill_table(m, s->options, e) != 0) {
        free(m);
        return e->code;
    }
    *out = &m->r;
    return 0;
}
