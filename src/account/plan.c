/* plan.c: exports and imports of several accounts are built beside the present ones, then replace
 * them.
 *
 * Happy path: plan_add() finds or creates the accounts; plan_build() compiles their exports and
 * imports, subscribes the new service imports and makes the new shadows of present subscriptions;
 * plan_commit() swaps exports, imports and shadows and moves expected replies to the exports that
 * replace theirs; plan_tell() reports new and removed accounts.  Failure: plan_undo() undoes all
 * that was made.  No message is published meanwhile, so nobody sees the difference. */
#include "account/account_impl.h"

#include "codec/hash.h"

#include <stdlib.h>

/* The shadows a subscription will have. */
struct pair {
    struct router_sub *s;
    struct shadow *list;
};

/* --- accounts --------------------------------------------------------------------------------- */

static struct entry *plan_find(const struct plan *p, const char *name)
{
    const struct account *a = accounts_get(p->as, name);

    return a == NULL ? NULL : a->entry;
}

struct sharing *plan_exports_of(const struct account *a)
{
    if (a->entry == NULL || a->entry->imports_only)
        return a->sharing;
    return a->entry->leaving ? NULL : a->entry->sharing;
}

struct sharing *plan_imports_of(const struct account *a)
{
    return a->entry == NULL ? a->sharing : a->entry->leaving ? NULL : a->entry->sharing;
}

int plan_add(struct plan *p, const char *name, const struct options_account *oa, struct mf_error *e)
{
    uint64_t hash = hash_slice(mf_str(name));
    struct entry *en = plan_find(p, name);

    if (en != NULL) { /* $G or the system account, with a block of its own */
        if (en->options != NULL)
            return mf_fail(e, MF_EXISTS, "Duplicate Account Entry: %s", name);
        en->options = oa;
        return 0;
    }
    en = &p->entries[p->n];
    en->a = accounts_get(p->as, name);
    en->options = oa;
    if (en->a == NULL) {
        if (account_create(&en->a, p->as, name, e) != 0)
            return e->code;
        en->fresh = true;
    }
    p->n++;
    en->a->entry = en;
    en->named = en->fresh && table_add(&p->as->names, &en->a->by_name, hash) == 0;
    if (en->fresh && !en->named)
        return mf_fail(e, MF_NOMEM, "account %s", name);
    return 0;
}

/* --- their exports and imports ---------------------------------------------------------------- */

static int plan_cycles(struct plan *p, struct mf_error *e)
{
    struct sharing **all;
    int rc = 0;

    for (size_t i = 0; p->patient && i < p->n && rc == 0; i++)
        rc = sharing_drop_cycles(p->entries[i].sharing, p->entries[i].a, e);
    if (p->patient)
        return rc;
    all = calloc(p->n, sizeof *all);
    if (all == NULL)
        return mf_fail(e, MF_NOMEM, "accounts");
    for (size_t i = 0; i < p->n; i++)
        all[i] = p->entries[i].sharing;
    rc = sharing_check_cycles(all, p->n, e);
    free(all);
    return rc;
}

static bool is_system(const struct plan *p, const struct account *a)
{
    return p->system != NULL && strcmp(a->name, p->system) == 0;
}

static int plan_sharing(struct plan *p, struct mf_error *e)
{
    for (size_t i = 0; i < p->n; i++) { /* accounts that leave get none */
        struct entry *en = &p->entries[i];
        if (en->imports_only && (en->sharing = calloc(1, sizeof *en->sharing)) == NULL)
            return mf_fail(e, MF_NOMEM, "account %s", en->a->name);
        if (!en->imports_only &&
            sharing_new(&en->sharing, en->a, p->o, en->options, is_system(p, en->a), e) != 0)
            return e->code;
    }
    for (size_t i = 0; i < p->n; i++) {
        struct entry *en = &p->entries[i];
        if (en->options != NULL &&
            sharing_add_imports(en->sharing, en->a, en->options, p->patient, e) != 0)
            return e->code;
    }
    if (plan_cycles(p, e) != 0)
        return e->code;
    for (size_t i = 0; i < p->n; i++) {
        struct entry *en = &p->entries[i];
        for (; en->opened < en->sharing->nservices; en->opened++) {
            if (service_open(&en->sharing->services[en->opened]) != 0)
                return mf_fail(e, MF_NOMEM, "account %s: imports", en->a->name);
        }
    }
    return 0;
}

/* --- shadows of subscriptions that exist ------------------------------------------------------ */

static void collect_pair(void *arg, struct router_sub *s)
{
    struct plan *p = arg;

    if (shadows_tracks(s) && p->npairs < p->cap)
        p->pairs[p->npairs++].s = s;
}

static bool imports_streams(const struct entry *en)
{
    return en->sharing->nstreams > 0 || (en->a->sharing != NULL && en->a->sharing->nstreams > 0);
}

static int plan_shadows(struct plan *p, struct mf_error *e)
{
    size_t at = 0;

    for (size_t i = 0; i < p->n; i++)
        p->cap += imports_streams(&p->entries[i]) ? p->entries[i].a->nsubs : 0;
    p->pairs = calloc(p->cap + 1, sizeof *p->pairs);
    if (p->pairs == NULL)
        return mf_fail(e, MF_NOMEM, "subscriptions");
    for (size_t i = 0; i < p->n; i++) {
        struct entry *en = &p->entries[i];
        if (!imports_streams(en))
            continue;
        router_each(en->a->router, collect_pair, p);
        for (; at < p->npairs; at++) {
            if (shadows_make(&p->pairs[at].list, en->sharing, p->pairs[at].s) != 0)
                return mf_fail(e, MF_NOMEM, "account %s: imports", en->a->name);
        }
    }
    return 0;
}

int plan_build(struct plan *p, struct mf_error *e)
{
    return plan_sharing(p, e) != 0 ? e->code : plan_shadows(p, e);
}

void plan_undo(struct plan *p)
{
    for (size_t i = 0; i < p->npairs; i++)
        shadows_free(p->pairs[i].list);
    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < p->entries[i].opened; k++)
            service_close(&p->entries[i].sharing->services[k]);
    }
    for (size_t i = 0; i < p->n; i++) {
        struct entry *en = &p->entries[i];
        if (en->named)
            table_del(&p->as->names, &en->a->by_name);
        en->a->entry = NULL;
        if (en->fresh)
            account_destroy(en->a);
        en->a = NULL;
    }
}

void plan_fini(struct plan *p)
{
    for (size_t i = 0; i < p->n; i++)
        sharing_free(p->entries[i].sharing);
    free(p->pairs);
    free(p->entries);
}

/* --- commit ----------------------------------------------------------------------------------- */

static bool in_use(const struct account *a)
{
    return a->refs > 0 || a->nsubs > 0 || a->counters.clients > 0 || a->counters.leafnodes > 0;
}

/* Accounts that an earlier reload removed and that nobody uses any more. */
static void free_unused(struct accounts *as)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &as->gone)
    {
        struct account *a = mf_container(pos, struct account, link);
        if (!in_use(a))
            account_destroy(a);
    }
}

static void swap_shadows(struct plan *p)
{
    for (size_t i = 0; i < p->npairs; i++) {
        struct router_sub *s = p->pairs[i].s;
        struct shadow *old = s->shadows;
        s->shadows = p->pairs[i].list != NULL ? p->pairs[i].list : &shadow_none;
        shadows_free(old);
    }
}

static struct acc_export *same_export(struct sharing *d, const struct acc_export *old)
{
    for (size_t i = 0; i < d->nexports; i++) {
        if (d->exports[i].service == old->service &&
            strcmp(d->exports[i].subject, old->subject) == 0)
            return &d->exports[i];
    }
    return NULL;
}

static void swap_sharing(struct entry *en)
{
    struct sharing *old = en->a->sharing, *now = en->sharing;

    if (en->imports_only) {
        sharing_swap_imports(old, now);
        for (size_t i = 0; i < now->nservices; i++)
            service_close(&now->services[i]);
        return;
    }
    en->a->sharing = now;
    en->a->options = en->options;
    en->sharing = old;
    if (old == NULL)
        return;
    for (size_t i = 0; i < old->nservices; i++)
        service_close(&old->services[i]);
    for (size_t i = 0; i < old->nexports; i++) {
        struct acc_export *x = same_export(now, &old->exports[i]);
        if (x != NULL)
            export_adopt_replies(x, &old->exports[i]);
        else
            export_drop_replies(&old->exports[i]);
    }
}

static void place_account(struct accounts *as, struct entry *en)
{
    struct account *a = en->a;

    if (en->fresh) {
        mf_list_push(&as->all, &a->link);
        as->n++;
    } else if (en->leaving) {
        table_del(&as->names, &a->by_name);
        mf_list_del(&a->link);
        mf_list_push(&as->gone, &a->link);
        as->n--;
        a->removed = true;
        account_drop_replies(a);
    }
}

/* A removed account keeps its links and subscriptions for a while, and no domain. */
static void finish_entry(struct plan *p, struct entry *en)
{
    en->a->system = is_system(p, en->a);
    en->a->entry = NULL;
    if (en->a->sharing->mappings != NULL)
        mappings_hide_domain(en->a->sharing->mappings, en->a->sharing->hides_domain);
}

void plan_commit(struct plan *p)
{
    struct accounts *as = p->as;

    free_unused(as);
    swap_shadows(p);
    for (size_t i = 0; i < p->n; i++)
        swap_sharing(&p->entries[i]);
    for (size_t i = 0; i < p->n; i++)
        place_account(as, &p->entries[i]);
    for (size_t i = 0; i < p->n; i++)
        finish_entry(p, &p->entries[i]);
    as->built += p->n;
    as->options = p->o;
    as->global = accounts_get(as, ACCOUNT_GLOBAL);
    as->system = p->system == NULL ? NULL : accounts_get(as, p->system);
}

void plan_tell(struct plan *p, void (*gone)(void *arg, struct account *a), void *arg)
{
    struct accounts *as = p->as;

    for (size_t i = 0; i < p->n; i++) {
        if (p->entries[i].fresh && as->added != NULL)
            as->added(as->added_arg, p->entries[i].a);
        if (p->entries[i].leaving && gone != NULL)
            gone(arg, p->entries[i].a);
    }
}
