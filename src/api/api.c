/* api.c: the API opened, reloaded, closed, and its part of each account.
 *
 * Close: account_stop() frees calls that wait for something, account_fini() the others, when the
 * account's catalog has closed and nothing is left that could answer them. */
#include "api/api_impl.h"
#include "api/ttl_api_impl.h"

#include <stdlib.h>

/* --- one account ------------------------------------------------------------------------------ */

static int account_init(void *arg, struct js_account *ja)
{
    struct api *a = arg;
    struct api_account *aa = calloc(1, sizeof *aa);

    if (aa == NULL)
        return MF_NOMEM;
    aa->api = a;
    aa->ja = ja;
    mf_list_init(&aa->calls);
    api_queue_init(aa);
    if (a->extension != NULL && a->extension->account_init(aa) != 0) {
        free(aa);
        return MF_NOMEM;
    }
    ja->above = aa;
    return 0;
}

struct wanted {
    const char *subject;
    bool imported;
};

static void find_import(void *arg, const struct account_import_info *x)
{
    struct wanted *w = arg;

    w->imported = w->imported || (x->service && strcmp(x->local, w->subject) == 0);
}

/* An account that imports another account's service as its own is served there. */
static int listen_service(struct account *acc, struct router_sub *sub, const char *subject,
                          struct mf_error *e)
{
    struct wanted w = {subject, false};

    account_each_import(acc, find_import, &w);
    if (!w.imported &&
        router_subscribe(account_router(acc), mf_str(subject), MF_SLICE_NONE, sub) != 0)
        return mf_fail(e, MF_NOMEM, "subscribe %s", subject);
    return 0;
}

static int account_listen(struct js_account *ja, struct mf_error *e)
{
    struct api_account *aa = api_account(ja);

    aa->api_sub.deliver = dispatch_api;
    aa->api_sub.dry_runs = true;
    aa->ttl_sub.deliver = dispatch_ttl;
    if (listen_service(ja->account, &aa->api_sub, "$JS.API.>", e) != 0)
        return MF_NOMEM;
    return account_is_system(ja->account)
               ? 0
               : listen_service(ja->account, &aa->ttl_sub, "$MAYFLY.TTL.>", e);
}

static void account_unlisten(struct js_account *ja)
{
    struct api_account *aa = api_account(ja);

    router_unsubscribe(account_router(ja->account), &aa->api_sub);
    router_unsubscribe(account_router(ja->account), &aa->ttl_sub);
}

/* Parked calls are freed: their streams will not become ready. */
static void account_stop(struct js_account *ja)
{
    struct api_account *aa = api_account(ja);
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &aa->calls)
    {
        struct api_call *call = mf_container(pos, struct api_call, link);
        if (!mf_list_empty(&call->busy.node) || call->settle.timer != NULL)
            api_call_free(call);
    }
    api_queue_stop(aa);
    if (aa->api->extension != NULL)
        aa->api->extension->account_stop(aa);
}

static void account_fini(struct js_account *ja)
{
    struct api_account *aa = api_account(ja);
    struct mf_list *n;

    while ((n = mf_list_first(&aa->calls)) != NULL)
        api_call_free(mf_container(n, struct api_call, link));
    if (aa->api->extension != NULL)
        aa->api->extension->account_fini(aa);
    free(aa);
}

static const struct jetstream_hooks hooks = {
    .account_init = account_init,
    .account_listen = account_listen,
    .account_unlisten = account_unlisten,
    .account_stop = account_stop,
    .account_fini = account_fini,
    .stream_codec = &config_json_codec,
    .consumer_codec = &consumer_json_codec,
};

/* --- open, reload, close ---------------------------------------------------------------------- */

int api_open(struct api **out, const struct api_setup *setup, struct mf_error *e)
{
    struct api *a = calloc(1, sizeof *a);
    struct jetstream_setup below = {.loop = setup->loop,
                                    .accounts = setup->accounts,
                                    .options = setup->options,
                                    .server_name = setup->server_name,
                                    .server_id = setup->server_id,
                                    .version = setup->version,
                                    .level = setup->level,
                                    .hooks = &hooks,
                                    .arg = a};
    int rc;

    if (a == NULL || (a->js = jetstream_new(&below)) == NULL) {
        free(a);
        return mf_fail(e, MF_NOMEM, "JetStream");
    }
    a->extension = setup->extension;
    a->client_info = setup->client_info;
    a->arg = setup->arg;
    rc = jetstream_start(a->js, e);
    if (rc != 0) {
        api_close(a, NULL, NULL);
        return rc; /* the caller adds that it is JetStream */
    }
    ttl_policies_opened(a);
    *out = a;
    return 0;
}

void api_reload(struct api *a, const struct options *o)
{
    jetstream_reload(a->js, o);
    if (o->jetstream.enabled)
        ttl_policies_reload(a);
}

void api_account_changed(struct api *a, struct account *acc)
{
    jetstream_account_changed(a->js, acc);
}

void api_leaving(struct api *a)
{
    jetstream_leaving(a->js);
}

static void finish_close(void *arg)
{
    struct api *a = arg;
    void (*closed)(void *arg) = a->closed;
    void *closed_arg = a->closed_arg;

    free(a);
    if (closed != NULL)
        closed(closed_arg);
}

void api_close(struct api *a, void (*closed)(void *arg), void *arg)
{
    a->closed = closed;
    a->closed_arg = arg;
    jetstream_close(a->js, finish_close, a);
}
