/* reload.c: a whole configuration replaces the present one, or nothing does. */
#include "account/account_impl.h"

#include <stdlib.h>

/* Accounts of accounts_put() are no part of the configuration. */
static bool is_single(struct accounts *as, const char *name)
{
    const struct account *a = accounts_get(as, name);

    return a != NULL && a->single;
}

static int plan_accounts(struct plan *p, struct mf_error *e)
{
    const struct options *o = p->o;
    struct mf_list *pos;

    p->entries = calloc(o->naccounts + 2 + p->as->n, sizeof *p->entries);
    if (p->entries == NULL)
        return mf_fail(e, MF_NOMEM, "accounts");
    if (plan_add(p, ACCOUNT_GLOBAL, NULL, e) != 0 ||
        (p->system != NULL && !is_single(p->as, p->system) && plan_add(p, p->system, NULL, e) != 0))
        return e->code;
    for (size_t i = 0; i < o->naccounts; i++) {
        if (plan_add(p, o->accounts[i].name, &o->accounts[i], e) != 0)
            return e->code;
    }
    mf_list_each(pos, &p->as->all)
    {
        struct account *a = mf_container(pos, struct account, link);
        if (a->entry == NULL && !a->single) {
            p->entries[p->n] = (struct entry){.a = a, .leaving = true};
            a->entry = &p->entries[p->n++];
        }
    }
    return 0;
}

int accounts_reload(struct accounts *as, const struct options *o,
                    void (*gone)(void *arg, struct account *a), void *arg, struct mf_error *e)
{
    struct plan p = {.as = as, .o = o};
    struct mf_error mine;
    int rc;

    if (e == NULL)
        e = &mine;
    if (!o->no_system_account)
        p.system = o->system_account != NULL ? o->system_account : ACCOUNT_SYSTEM;
    rc = plan_accounts(&p, e);
    if (rc == 0)
        rc = plan_build(&p, e);
    if (rc != 0) {
        plan_undo(&p);
    } else {
        plan_commit(&p);
        plan_tell(&p, gone, arg); /* last: these call out */
    }
    plan_fini(&p);
    return rc;
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
            edges_free(a);
            account_destroy(a);
        }
    }
    table_fini(&as->names);
    table_fini(&as->demands);
    free(as);
}
