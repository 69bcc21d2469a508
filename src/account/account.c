/* account.c: accounts by name; subscribing and publishing in one of them. */
#include "account/account_impl.h"

#include "codec/hash.h"

#include <assert.h>
#include <stdlib.h>

/* --- one account ------------------------------------------------------------------------------ */

int account_create(struct account **out, struct accounts *as, const char *name, struct mf_error *e)
{
    struct account *a = calloc(1, sizeof *a);

    if (a == NULL || (a->name = mf_slice_dup(mf_str(name))) == NULL) {
        free(a);
        return mf_fail(e, MF_NOMEM, "account %s", name);
    }
    a->as = as;
    mf_list_init(&a->link);
    mf_list_init(&a->sessions);
    mf_list_init(&a->owned);
    mf_list_init(&a->asked);
    if (router_new(&a->router, e) != 0) {
        free(a->name);
        free(a);
        return mf_wrap(e, "account %s", name);
    }
    *out = a;
    return 0;
}

void account_destroy(struct account *a)
{
    mf_list_del(&a->link);
    router_unsubscribe(a->router, &a->reply_sub);
    router_free(a->router);
    table_fini(&a->replies);
    sharing_free(a->sharing);
    free(a->name);
    free(a);
}

const char *account_name(const struct account *a)
{
    return a->name;
}

const char *account_tag(const struct account *a)
{
    return a->options != NULL && a->options->tag != NULL ? a->options->tag : a->name;
}

bool account_is_system(const struct account *a)
{
    return a->system;
}

struct router *account_router(struct account *a)
{
    return a->router;
}

const struct options_account *account_options(const struct account *a)
{
    return a->options;
}

struct account *account_retain(struct account *a)
{
    a->refs++;
    return a;
}

void account_release(struct account *a)
{
    if (a != NULL) {
        assert(a->refs > 0);
        a->refs--;
    }
}

struct account_counters *account_counters(struct account *a)
{
    return &a->counters;
}

struct mf_list *account_sessions(struct account *a)
{
    return &a->sessions;
}

void account_each_import(const struct account *a,
                         void (*visit)(void *arg, const struct account_import_info *x), void *arg)
{
    for (size_t i = 0; i < a->sharing->nstreams; i++) {
        const struct stream_import *im = &a->sharing->streams[i];
        visit(arg, &(struct account_import_info){
                       .account = im->exporter->name, .subject = im->subject, .local = im->local});
    }
    for (size_t i = 0; i < a->sharing->nservices; i++) {
        const struct service_import *im = &a->sharing->services[i];
        visit(arg, &(struct account_import_info){.service = true,
                                                 .account = im->exporter->name,
                                                 .subject = im->subject,
                                                 .local = im->local});
    }
    for (size_t i = 0; i < a->sharing->nfaults; i++) { /* those that worked before */
        const struct options_import *im = a->sharing->faults[i].options;
        if (a->sharing->faults[i].was_made)
            visit(arg, &(struct account_import_info){.service = im->service,
                                                     .invalid = true,
                                                     .account = im->account,
                                                     .subject = im->subject,
                                                     .local = im->local != NULL ? im->local
                                                              : im->to != NULL  ? im->to
                                                                                : im->subject});
    }
}

/* --- what its clients do ---------------------------------------------------------------------- */

int account_subscribe(struct account *a, struct mf_slice pattern, struct mf_slice queue,
                      struct router_sub *s)
{
    struct shadow *list = NULL;
    int rc = router_subscribe(a->router, pattern, queue, s);

    if (rc != 0)
        return rc;
    if (MF_UNLIKELY(a->sharing->nstreams > 0) && (rc = shadows_make(&list, a->sharing, s)) != 0) {
        router_unsubscribe(a->router, s);
        return rc;
    }
    s->shadows = list != NULL ? list : &shadow_none;
    a->nsubs++;
    return 0;
}

void account_unsubscribe(struct account *a, struct router_sub *s)
{
    struct shadow *list = s->shadows;

    router_unsubscribe(a->router, s);
    if (list == NULL)
        return;
    s->shadows = NULL;
    a->nsubs--;
    shadows_free(list);
}

bool account_may_map(const struct account *a, struct mf_slice subject)
{
    return a->sharing->mappings != NULL && mappings_concern(a->sharing->mappings, subject);
}

const char *account_domain_prefix(const struct account *a)
{
    return mappings_domain(a->sharing->mappings);
}

ssize_t account_map(struct account *a, struct mf_slice subject, char *dst, size_t cap)
{
    return a->sharing->mappings == NULL ? 0
                                        : mappings_apply(a->sharing->mappings, subject, dst, cap);
}

size_t account_publish(struct account *a, const struct router_msg *m)
{
    return router_publish(a->router, m);
}

/* --- all of them ------------------------------------------------------------------------------ */

struct account *accounts_get(struct accounts *as, const char *name)
{
    struct table_node *n = table_first(&as->names, hash_slice(mf_str(name)));

    for (; n != NULL; n = table_next(n)) {
        struct account *a = mf_container(n, struct account, by_name);
        if (strcmp(a->name, name) == 0)
            return a;
    }
    return NULL;
}

struct account *accounts_global(struct accounts *as)
{
    return as->global;
}

struct account *accounts_system(struct accounts *as)
{
    return as->system;
}

size_t accounts_count(const struct accounts *as)
{
    return as->n;
}

void accounts_each(struct accounts *as, void (*visit)(void *arg, struct account *a), void *arg)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &as->all) visit(arg, mf_container(pos, struct account, link));
}

void accounts_watch(struct accounts *as, void (*added)(void *arg, struct account *a), void *arg)
{
    as->added = added;
    as->added_arg = arg;
    if (added != NULL)
        accounts_each(as, added, arg);
}

void accounts_set_request_info(struct accounts *as, account_info_fn fn, void *arg)
{
    as->info = fn;
    as->info_arg = arg;
}
