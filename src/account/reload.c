/* reload.c: a whole configuration is built beside the present one, then replaces it.
 *
 * Happy path: plan_build() finds or creates the accounts, compiles their exports and imports,
 * subscribes the new service imports and makes the new shadows of present subscriptions;
 * plan_commit() swaps exports, imports and shadows, moves expected replies to the exports that
 * replace theirs, and reports the removed accounts.  Failure: everything that the plan made is
 * undone.  No message is published meanwhile, so nobody sees the difference. */
#include "account/account_impl.h"

#include "codec/hash.h"

#include <stdlib.h>

struct entry {
    struct account *a;
    const struct options_account *options;
    struct sharing *sharing; /* the new ones; after the commit the old ones */
    size_t opened;           /* service imports subscribed so far */
    bool fresh, leaving;     /* created by this plan; no longer configured */
    bool planned, named;     /* in plan.names; fresh and in accounts.names */
};

/* The shadows a subscription will have. */
struct pair {
    struct router_sub *s;
    struct shadow *list;
};

struct plan {
    struct accounts *as;
    const struct options *o;
    const char *system; /* name, NULL: none */
    struct entry *entries;
    size_t n;
    struct table names;
    struct pair *pairs;
    size_t npairs, cap;
};

/* --- accounts ----------------------------------------------------------------------------------
 */

static struct entry *plan_find(struct plan *p, const char *name)
{
    struct table_node *n = table_first(&p->names, hash_slice(mf_str(name)));

    for (; n != NULL; n = table_next(n)) {
        struct account *a = mf_container(n, struct account, planned);
        if (strcmp(a->name, name) == 0)
            return a->entry;
    }
    return NULL;
}

static struct account *plan_lookup(void *arg, const char *name, struct sharing **sharing)
{
    struct entry *en = plan_find(arg, name);

    if (en == NULL)
        return NULL;
    *sharing = en->sharing;
    return en->a;
}

static int plan_account(struct plan *p, const char *name, const struct options_account *oa,
                        struct mf_error *e)
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
    en->planned = table_add(&p->names, &en->a->planned, hash) == 0;
    en->named = en->fresh && table_add(&p->as->names, &en->a->by_name, hash) == 0;
    if (!en->planned || (en->fresh && !en->named))
        return mf_fail(e, MF_NOMEM, "account %s", name);
    return 0;
}

static int plan_accounts(struct plan *p, struct mf_error *e)
{
    const struct options *o = p->o;
    struct mf_list *pos;

    p->entries = calloc(o->naccounts + 2 + p->as->n, sizeof *p->entries);
    if (p->entries == NULL)
        return mf_fail(e, MF_NOMEM, "accounts");
    if (plan_account(p, ACCOUNT_GLOBAL, NULL, e) != 0 ||
        (p->system != NULL && plan_account(p, p->system, NULL, e) != 0))
        return e->code;
    for (size_t i = 0; i < o->naccounts; i++) {
        if (plan_account(p, o->accounts[i].name, &o->accounts[i], e) != 0)
            return e->code;
    }
    mf_list_each(pos, &p->as->all)
    {
        struct account *a = mf_container(pos, struct account, link);
        if (a->entry == NULL) {
            p->entries[p->n] = (struct entry){.a = a, .leaving = true};
            a->entry = &p->entries[p->n++];
        }
    }
    return 0;
}

/* --- their exports and imports ---------------------------------------------------------------- */

static int plan_cycles(struct plan *p, struct mf_error *e)
{
    struct sharing **all = calloc(p->n, sizeof *all);
    int rc;

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
        if (sharing_new(&en->sharing, en->a, p->o, en->options, is_system(p, en->a), e) != 0)
            return e->code;
    }
    for (size_t i = 0; i < p->n; i++) {
        struct entry *en = &p->entries[i];
        if (en->options != NULL &&
            sharing_add_imports(en->sharing, en->a, en->options, plan_lookup, p, e) != 0)
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

static int plan_build(struct plan *p, struct mf_error *e)
{
    if (!p->o->no_system_account)
        p->system = p->o->system_account != NULL ? p->o->system_account : ACCOUNT_SYSTEM;
    if (plan_accounts(p, e) != 0 || plan_sharing(p, e) != 0)
        return e->code;
    return plan_shadows(p, e);
}

static void plan_undo(struct plan *p)
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
        if (en->planned)
            table_del(&p->names, &en->a->planned);
        en->planned = false;
        en->a->entry = NULL;
        if (en->fresh)
            account_destroy(en->a);
    }
}

static void plan_fini(struct plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct entry *en = &p->entries[i];
        if (en->planned) {
            table_del(&p->names, &en->a->planned);
            en->a->entry = NULL;
        }
        sharing_free(en->sharing);
    }
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

static void forget_replies(struct accounts *as, const struct account *leaving)
{
    struct mf_list *pos;

    if (as->nreplies == 0)
        return;
    mf_list_each(pos, &as->all)
    {
        struct sharing *d = mf_container(pos, struct account, link)->sharing;
        for (size_t i = 0; i < d->nexports; i++)
            export_drop_replies_of(&d->exports[i], leaving);
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
        a->entry = NULL;
    }
}

static void plan_commit(struct plan *p)
{
    struct accounts *as = p->as;

    free_unused(as);
    swap_shadows(p);
    for (size_t i = 0; i < p->n; i++)
        swap_sharing(&p->entries[i]);
    for (size_t i = 0; i < p->n; i++)
        place_account(as, &p->entries[i]);
    for (size_t i = 0; i < p->n; i++) {
        if (p->entries[i].leaving)
            forget_replies(as, p->entries[i].a);
        p->entries[i].a->system = is_system(p, p->entries[i].a);
    }
    as->global = accounts_get(as, ACCOUNT_GLOBAL);
    as->system = p->system == NULL ? NULL : accounts_get(as, p->system);
}

int accounts_reload(struct accounts *as, const struct options *o,
                    void (*gone)(void *arg, struct account *a), void *arg, struct mf_error *e)
{
    struct plan p = {.as = as, .o = o};
    struct mf_error mine;
    int rc;

    if (e == NULL)
        e = &mine;
    rc = plan_build(&p, e);
    if (rc != 0) {
        plan_undo(&p);
        plan_fini(&p);
        return rc;
    }
    plan_commit(&p);
    for (size_t i = 0; i < p.n; i++) { /* last: these call out */
        if (p.entries[i].fresh && as->added != NULL)
            as->added(as->added_arg, p.entries[i].a);
        if (p.entries[i].leaving && gone != NULL)
            gone(arg, p.entries[i].a);
    }
    plan_fini(&p);
    return 0;
}

int accounts_new(struct accounts **out, const struct options *o, int64_t (*now_ns)(void *arg),
                 void *arg, struct mf_error *e)
{
    struct accounts *as = calloc(1, sizeof *as);
    int rc;

    if (as == NULL)
        return mf_fail(e, MF_NOMEM, "accounts");
    mf_list_init(&as->all);
    mf_list_init(&as->gone);
    as->now_ns = now_ns;
    as->now_arg = arg;
    rc = accounts_reload(as, o, NULL, NULL, e);
    if (rc != 0) {
        accounts_free(as);
        return rc;
    }
    *out = as;
    return 0;
}

static void close_sharing(struct account *a)
{
    for (size_t i = 0; i < a->sharing->nservices; i++)
        service_close(&a->sharing->services[i]);
    for (size_t i = 0; i < a->sharing->nexports; i++)
        export_drop_replies(&a->sharing->exports[i]);
}

void accounts_free(struct accounts *as)
{
    struct mf_list *lists[2], *n;

    if (as == NULL)
        return;
    lists[0] = &as->all;
    lists[1] = &as->gone;
    for (size_t i = 0; i < 2; i++) {
        mf_list_each(n, lists[i]) close_sharing(mf_container(n, struct account, link));
    }
    for (size_t i = 0; i < 2; i++) {
        while ((n = mf_list_first(lists[i])) != NULL) {
            struct account *a = mf_container(n, struct account, link);
            if (!a->removed)
                table_del(&as->names, &a->by_name);
            account_destroy(a);
        }
    }
    free(as);
}
