/* pages_account.c: /accountz and /accstatz. */
#include "status/pages_impl.h"

#include <stdlib.h>

/* --- names of accounts, for pages in slices --------------------------------------------------- */

int page_accounts_add(struct page_accounts *l, const char *name)
{
    const char **names = l->name, *copy = arena_str(&l->mem, name);

    if (copy != NULL && l->n == l->cap) {
        names = realloc(names, (l->cap == 0 ? 16 : 2 * l->cap) * sizeof *names);
        if (names != NULL) {
            l->name = names;
            l->cap = l->cap == 0 ? 16 : 2 * l->cap;
        }
    }
    if (copy == NULL || names == NULL)
        return MF_NOMEM;
    l->name[l->n++] = copy;
    return 0;
}

struct listing {
    struct page_accounts *list;
    int rc;
};
static void keep_name(void *arg, struct account *a)
{
    struct listing *k = arg;

    if (k->rc == 0)
        k->rc = page_accounts_add(k->list, account_name(a));
}

int page_accounts_init(struct page_accounts *l, struct status *s)
{
    struct listing k = {l, 0};

    accounts_each(s->accounts, keep_name, &k);
    return k.rc != 0 || l->mem.failed ? MF_NOMEM : 0;
}

void page_accounts_fini(struct page_accounts *l)
{
    free(l->name);
    arena_fini(&l->mem);
}

/* --- /accountz ------------------------------------------------------------------------- */

void page_router_stats(const struct router_stats *t, struct jsonw *w)
{
    jsonw_u64(w, "num_subscriptions", t->subs);
    jsonw_u64(w, "num_cache", t->cache);
    jsonw_u64(w, "num_inserts", t->inserts);
    jsonw_u64(w, "num_removes", t->removes);
    jsonw_u64(w, "num_matches", t->matches);
    jsonw_f64(w, "cache_hit_rate", t->matches ? (double)t->cache_hits / (double)t->matches : 0);
    jsonw_u64(w, "max_fanout", t->max_fanout);
    jsonw_f64(w, "avg_fanout", t->avg_fanout);
}

void page_account_detail(struct status *s, struct account *a, struct jsonw *w, const char *key)
{
    const struct account_counters *n = account_counters(a);
    struct router_stats t;

    router_stats(account_router(a), &t);
    jsonw_object(w, key);
    jsonw_str(w, "account_name", account_name(a));
    page_account_times(s, a, w);
    jsonw_bool(w, "jetstream_enabled", s->js != NULL && js_status_enabled(s->js, a));
    jsonw_u64(w, "leafnode_connections", n->leafnodes);
    jsonw_u64(w, "client_connections", n->clients);
    jsonw_u64(w, "subscriptions", t.subs);
    page_account_exports(s, a, w);
    page_account_claims(s, a, w);
    jsonw_object(w, "sublist_stats");
    page_router_stats(&t, w);
    jsonw_end(w);
    page_account_responses(a, w);
    jsonw_end(w);
}

struct accountz { /* a page under way */
    struct status *s;
    struct page_accounts list;
    const char *key, *of; /* of NULL: the names */
    size_t at;
};

static void accountz_free(void *state)
{
    struct accountz *z = state;

    page_accounts_fini(&z->list);
    free(z);
}

static bool accountz_begin_step(struct doc *d, void *state)
{
    struct accountz *z = state;
    struct account *a = z->of == NULL ? NULL : accounts_get(z->s->accounts, z->of);

    page_begin(z->s, &d->w, z->key);
    if (accounts_system(z->s->accounts) != NULL)
        jsonw_str(&d->w, "system_account", account_name(accounts_system(z->s->accounts)));
    if (a != NULL)
        page_account_detail(z->s, a, &d->w, "account_detail");
    else if (z->of == NULL)
        jsonw_array(&d->w, "accounts");
    return false;
}

static bool accountz_names_step(struct doc *d, void *state)
{
    struct accountz *z = state;

    if (z->at < z->list.n) {
        jsonw_str(&d->w, NULL, z->list.name[z->at++]);
        return true;
    }
    if (z->of == NULL)
        jsonw_end(&d->w);
    jsonw_end(&d->w);
    return false;
}

int page_accountz(struct status *s, const char *account, struct doc *d, const char *key,
                  struct mf_error *e)
{
    static const doc_step steps[] = {accountz_begin_step, accountz_names_step, NULL};
    bool one = account != NULL && account[0] != '\0';
    struct accountz *z;

    if (one && accounts_get(s->accounts, account) == NULL)
        return mf_fail(e, MF_NOTFOUND, "Account %s does not exist", account);
    z = calloc(1, sizeof *z);
    if (z == NULL)
        return mf_fail(e, MF_NOMEM, "accounts");
    z->s = s;
    z->key = key;
    z->of = one ? arena_str(&z->list.mem, account) : NULL;
    if (z->list.mem.failed || (!one && page_accounts_init(&z->list, s) != 0)) {
        accountz_free(z);
        return mf_fail(e, MF_NOMEM, "accounts");
    }
    doc_add(d, steps, z, accountz_free);
    return 0;
}

/* --- /accstatz -------------------------------------------------------------------------------- */

struct traffic {
    uint64_t msgs, bytes;
};

static void traffic_fields(struct jsonw *w, struct traffic t)
{
    jsonw_u64(w, "msgs", t.msgs);
    jsonw_u64(w, "bytes", t.bytes);
}

static void write_traffic(struct jsonw *w, const char *key, struct traffic all,
                          struct traffic leafs)
{
    static const char *const none[] = {"gateways", "routes"};

    jsonw_object(w, key);
    traffic_fields(w, all);
    for (size_t i = 0; i < MF_COUNT(none); i++) {
        jsonw_object(w, none[i]);
        traffic_fields(w, (struct traffic){0});
        jsonw_end(w);
    }
    jsonw_object(w, "leafs");
    traffic_fields(w, leafs);
    jsonw_end(w);
    jsonw_end(w);
}

void page_account_stat_fields(struct account *a, struct jsonw *w)
{
    const struct account_counters *n = account_counters(a);
    struct router_stats t;

    router_stats(account_router(a), &t);
    jsonw_str(w, "acc", account_name(a));
    jsonw_str(w, "name", account_tag(a));
    jsonw_u64(w, "conns", n->clients);
    jsonw_u64(w, "leafnodes", n->leafnodes);
    jsonw_u64(w, "total_conns", n->clients + n->leafnodes);
    jsonw_u64(w, "num_subscriptions", t.subs);
    write_traffic(w, "sent", (struct traffic){n->out_msgs, n->out_bytes},
                  (struct traffic){n->leaf_out_msgs, n->leaf_out_bytes});
    write_traffic(w, "received", (struct traffic){n->in_msgs, n->in_bytes},
                  (struct traffic){n->leaf_in_msgs, n->leaf_in_bytes});
    jsonw_u64(w, "slow_consumers", n->slow_consumers);
}

static bool in_use(struct account *a)
{
    return account_counters(a)->clients + account_counters(a)->leafnodes > 0;
}

static void any_in_use(void *arg, struct account *a)
{
    bool *any = arg;

    *any = *any || in_use(a);
}

bool page_accstatz_any(struct status *s, const char *const *only, size_t nonly)
{
    bool any = false;

    for (size_t i = 0; i < nonly; i++) {
        struct account *a = accounts_get(s->accounts, only[i]);
        if (a != NULL)
            any_in_use(&any, a);
    }
    if (nonly == 0)
        accounts_each(s->accounts, any_in_use, &any);
    return any;
}

struct accstatz { /* a page under way */
    struct status *s;
    struct page_accounts list;
    const char *key;
    size_t at;
    bool unused;
};

static void accstatz_free(void *state)
{
    struct accstatz *z = state;

    page_accounts_fini(&z->list);
    free(z);
}

static bool accstatz_begin_step(struct doc *d, void *state)
{
    struct accstatz *z = state;

    page_begin(z->s, &d->w, z->key);
    jsonw_array(&d->w, "account_statz");
    return false;
}

static bool accstatz_step(struct doc *d, void *state)
{
    struct accstatz *z = state;
    struct account *a;

    if (z->at == z->list.n) {
        jsonw_end(&d->w);
        jsonw_end(&d->w);
        return false;
    }
    a = accounts_get(z->s->accounts, z->list.name[z->at++]);
    if (a != NULL && (z->unused || in_use(a))) {
        jsonw_object(&d->w, NULL);
        page_account_stat_fields(a, &d->w);
        jsonw_end(&d->w);
    }
    return true;
}

void page_accstatz(struct status *s, const char *const *only, size_t nonly, bool unused,
                   struct doc *d, const char *key)
{
    static const doc_step steps[] = {accstatz_begin_step, accstatz_step, NULL};
    struct accstatz *z = calloc(1, sizeof *z);
    int rc = 0;

    if (z != NULL) {
        *z = (struct accstatz){.s = s, .key = key, .unused = unused};
        for (size_t i = 0; rc == 0 && i < nonly; i++)
            rc = page_accounts_add(&z->list, only[i]);
        if (nonly == 0)
            rc = page_accounts_init(&z->list, s);
    }
    if (rc != 0) {
        accstatz_free(z);
        z = NULL;
    }
    doc_add(d, steps, z, accstatz_free);
}
