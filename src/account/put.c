/* put.c: accounts that are added, replaced and removed one by one.
 *
 * Each account knows from which others it imports; accounts.demands leads from a name to those who
 * import from it, whether or not an account of that name exists.  A change of one account builds
 * its exports and imports, and the imports of those accounts anew. */
#include "account/account_impl.h"

#include "codec/hash.h"

#include <stdlib.h>
#include <string.h>

/* --- who imports from whom -------------------------------------------------------------------- */

static struct demand *demand_find(const struct accounts *as, const char *name)
{
    struct table_node *n = table_first(&as->demands, hash_slice(mf_str(name)));

    for (; n != NULL; n = table_next(n)) {
        struct demand *d = mf_container(n, struct demand, node);
        if (strcmp(d->name, name) == 0)
            return d;
    }
    return NULL;
}

static void demand_put(struct accounts *as, struct demand *d)
{
    if (!mf_list_empty(&d->edges))
        return;
    table_del(&as->demands, &d->node);
    free(d);
}

static struct demand *demand_get(struct accounts *as, const char *name)
{
    struct demand *d = demand_find(as, name);
    size_t len = strlen(name);

    if (d != NULL)
        return d;
    d = calloc(1, sizeof *d + len + 1);
    if (d == NULL || table_add(&as->demands, &d->node, hash_slice(mf_str(name))) != 0) {
        free(d);
        return NULL;
    }
    memcpy(d->name, name, len);
    mf_list_init(&d->edges);
    return d;
}

static void edges_end(struct accounts *as, struct import_edge *edges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mf_list_del(&edges[i].link);
        demand_put(as, edges[i].of);
    }
    free(edges);
}

void edges_free(struct account *a)
{
    edges_end(a->as, a->edges, a->nedges);
    a->edges = NULL;
    a->nedges = 0;
}

/* The edges of a new configuration, beside those of the present one. */
static int edges_make(struct account *a, const struct options_account *oa, struct import_edge **out,
                      size_t *n)
{
    struct import_edge *edges = calloc(oa->nimports + 1, sizeof *edges);

    *n = 0;
    if (edges == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < oa->nimports; i++) {
        struct demand *d = demand_get(a->as, oa->imports[i].account);
        struct import_edge *ed = &edges[*n];
        if (d == NULL) {
            edges_end(a->as, edges, *n);
            return MF_NOMEM;
        }
        if (!mf_list_empty(&d->edges)) { /* an account adds all its edges in a row */
            const struct import_edge *last = mf_container(d->edges.prev, struct import_edge, link);
            if (last >= edges && last < edges + *n)
                continue;
        }
        *ed = (struct import_edge){.importer = a, .of = d};
        mf_list_push(&d->edges, &ed->link);
        ++*n;
    }
    *out = edges;
    return 0;
}

/* --- plans ------------------------------------------------------------------------------------ */

static void plan_begin(struct plan *p, struct accounts *as)
{
    const struct options *o = as->options;

    *p = (struct plan){.as = as, .o = o, .patient = true};
    if (!o->no_system_account)
        p->system = o->system_account != NULL ? o->system_account : ACCOUNT_SYSTEM;
}

static size_t count_importers(const struct demand *d)
{
    const struct mf_list *pos;
    size_t n = 0;

    if (d == NULL)
        return 0;
    mf_list_each(pos, &d->edges) n++;
    return n;
}

static void plan_importer(struct plan *p, struct account *a)
{
    if (a->entry != NULL || a->removed)
        return;
    p->entries[p->n] =
        (struct entry){.a = a, .options = a->options, .imports_only = a->options != NULL};
    a->entry = &p->entries[p->n++];
}

static void plan_importers(struct plan *p, const struct demand *d)
{
    struct mf_list *pos;

    if (d == NULL)
        return;
    mf_list_each(pos, &d->edges)
        plan_importer(p, mf_container(pos, struct import_edge, link)->importer);
}

/* Room for the account of the name, and for all that import from it. */
static int plan_room(struct plan *p, const struct demand *d, struct mf_error *e)
{
    p->entries = calloc(count_importers(d) + 1, sizeof *p->entries);
    return p->entries == NULL ? mf_fail(e, MF_NOMEM, "accounts") : 0;
}

static int plan_end(struct plan *p, int rc, void (*gone)(void *arg, struct account *a), void *arg)
{
    if (rc != 0) {
        plan_undo(p);
    } else {
        plan_commit(p);
        plan_tell(p, gone, arg);
    }
    plan_fini(p);
    return rc;
}

/* --- one account ------------------------------------------------------------------------------ */

int accounts_put(struct accounts *as, const struct options_account *oa, struct account **out,
                 struct mf_error *e)
{
    const struct demand *d = demand_find(as, oa->name);
    struct import_edge *edges = NULL;
    struct account *a = NULL;
    struct mf_error mine;
    struct plan p;
    size_t nedges = 0;
    int rc;

    if (e == NULL)
        e = &mine;
    plan_begin(&p, as);
    rc = plan_room(&p, d, e);
    if (rc == 0)
        rc = plan_add(&p, oa->name, oa, e);
    if (rc == 0) {
        plan_importers(&p, d);
        a = p.entries[0].a;
        rc = plan_build(&p, e);
    }
    if (rc == 0 && edges_make(a, oa, &edges, &nedges) != 0)
        rc = mf_fail(e, MF_NOMEM, "account %s", oa->name);
    if (rc == 0) {
        edges_free(a);
        a->edges = edges;
        a->nedges = nedges;
        a->single = true;
        if (out != NULL)
            *out = a;
    }
    return plan_end(&p, rc, NULL, NULL);
}

int accounts_drop(struct accounts *as, const char *name, void (*gone)(void *arg, struct account *a),
                  void *arg, struct mf_error *e)
{
    struct account *a = accounts_get(as, name);
    const struct demand *d = demand_find(as, name);
    struct mf_error mine;
    struct plan p;
    int rc;

    if (e == NULL)
        e = &mine;
    if (a == NULL || !a->single || a->system)
        return mf_fail(e, MF_NOTFOUND, "account %s", name);
    plan_begin(&p, as);
    rc = plan_room(&p, d, e);
    if (rc == 0) {
        p.entries[p.n] = (struct entry){.a = a, .leaving = true};
        a->entry = &p.entries[p.n++];
        plan_importers(&p, d);
        rc = plan_build(&p, e);
    }
    if (rc == 0)
        edges_free(a);
    return plan_end(&p, rc, gone, arg);
}

int accounts_recheck(struct accounts *as, struct account *a, struct mf_error *e)
{
    struct mf_error mine;
    struct plan p;
    int rc;

    if (e == NULL)
        e = &mine;
    if (a->options == NULL || !a->single)
        return 0;
    plan_begin(&p, as);
    rc = plan_room(&p, NULL, e);
    if (rc == 0) {
        plan_importer(&p, a);
        rc = plan_build(&p, e);
    }
    return plan_end(&p, rc, NULL, NULL);
}

void accounts_set_gate(struct accounts *as, account_gate_fn fn, void *arg)
{
    as->gate = fn;
    as->gate_arg = arg;
}

uint64_t accounts_built(const struct accounts *as)
{
    return as->built;
}

size_t account_each_fault(const struct account *a,
                          void (*visit)(void *arg, const struct account_fault *f), void *arg)
{
    for (size_t i = 0; i < a->sharing->nfaults && visit != NULL; i++) {
        const struct import_fault *f = &a->sharing->faults[i];
        visit(arg, &(struct account_fault){f->options, f->was_made, f->why});
    }
    return a->sharing->nfaults;
}

void account_each_importer(const struct account *a,
                           void (*visit)(void *arg, struct account *importer), void *arg)
{
    const struct demand *d = demand_find(a->as, a->name);
    struct mf_list *pos, *next;

    if (d == NULL)
        return;
    mf_list_each_safe(pos, next, &d->edges)
        visit(arg, mf_container(pos, struct import_edge, link)->importer);
}
