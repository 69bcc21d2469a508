/* api.c: JetStream of every account: opened, followed through reloads, closed.
 *
 * Every account has a struct api_account while it is configured: one without JetStream must answer,
 * too (that it has none).  When JetStream or the account goes away, the struct moves to
 * api.leaving: its catalog closes its streams, then it is freed; meanwhile the account itself is
 * kept, because streams and calls still speak in it.  If the account comes back before that, the
 * new one has no streams until the old catalog has let go of their folders. */
#include "api/api_pages.h"
#include "api/api_store.h"
#include "api/ttl_api.h"
#include "api/direct.h"

#include "base/clock.h"
#include "base/lend.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

static const struct options_js_limits no_limits = {
    .enabled = true,
    .max_memory = -1,
    .max_store = -1,
    .max_streams = -1,
    .max_consumers = -1,
    .max_ack_pending = -1,
    .mem_max_stream_bytes = -1,
    .disk_max_stream_bytes = -1,
};

/* Read anew each time: a message stamped with the beginning of the turn could be older than its
 * publisher, and so die too early for him. */
int64_t api_now_ns(struct api *a)
{
    int64_t wall_ns = clock_wall_ns(); /* first, see steady.h */

    return steady_now(&a->clock, wall_ns, clock_boot_ns());
}

int64_t api_wall_ns(struct api *a)
{
    (void)a;
    return clock_wall_ns();
}

const char *api_domain(const struct api *a)
{
    const char *domain = a->options->jetstream.domain;

    return domain == NULL ? "" : domain;
}

/* --- the streams' world ----------------------------------------------------------------------- */

static int64_t host_now(void *arg)
{
    struct api_account *aa = arg;

    return api_now_ns(aa->api);
}

static int64_t host_wall(void *arg)
{
    struct api_account *aa = arg;

    return api_wall_ns(aa->api);
}

static void host_publish(void *arg, const struct mf_msg *m)
{
    struct api_account *aa = arg;

    (void)account_publish(aa->account,
                          &(struct router_msg){.route = m->subject, .msg = m, .no_request = true});
}

static void stream_added(void *arg, struct stream *s)
{
    struct api_account *aa = arg;
    struct mf_error e;

    /* What a stream says was already past is past for all. */
    steady_raise(&aa->api->clock, stream_clock_floor(s));
    if (ingest_add(aa, s) != 0)
        log_error("account %s: stream %s hears nothing: out of memory", account_name(aa->account),
                  stream_name(s));
    else if (wire_open(aa, s, &e) != 0)
        log_error("account %s: consumers of stream %s: %s", account_name(aa->account),
                  stream_name(s), e.text);
    source_wire_follow(aa, s);
    sources_kick(&aa->source_host, stream_name(s));
}

/* What it followed ends before it hears others: a mirror that is promoted has one voice. */
static void stream_changed(void *arg, struct stream *s)
{
    source_wire_follow(arg, s);
    ingest_change(arg, s);
}

/* It is being deleted, or all of the account's are being closed. */
static void stream_removed(void *arg, struct stream *s)
{
    struct api_account *aa = arg;

    source_wire_close(aa, s, !aa->closing);
    wire_close(aa, s, !aa->closing);
    direct_forget(s);
    ingest_remove(aa, s);
    if (!aa->closing)
        sources_kick(&aa->source_host, stream_name(s));
}

static uint32_t or_default(int64_t value, uint32_t usual)
{
    return value <= 0 ? usual : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Also after a reload: streams look at their host each time. */
static void host_fill(struct api_account *aa)
{
    const struct options_jetstream *js = &aa->api->options->jetstream;
    struct stream_host *h = &aa->host;

    h->loop = aa->api->loop;
    h->patrol = aa->api->patrol;
    h->owner = &aa->work;
    h->now_ns = host_now;
    h->wall_ns = host_wall;
    h->publish = host_publish;
    h->batch_abandoned = advisory_batch_abandoned;
    h->ttl_expiring = ttl_event_expiring;
    h->ttl_heard = ttl_event_heard;
    h->ttl_event = ttl_event_send;
    h->arg = aa;
    h->account = account_name(aa->account);
    h->strict = js->compat_strict;
    h->ttl = &aa->api->options->ttl;
    h->account_usage = &aa->usage;
    h->server_usage = &aa->api->usage;
    h->account_max = (struct stream_usage){aa->limits->max_memory, aa->limits->max_store};
    h->server_max = aa->api->max;
    h->batches = &aa->api->batches;
    h->fast_batches = &aa->api->fast_batches;
    h->batch_max_msgs = or_default(js->batch_max_msgs, 1000);
    /* 0: atomic and fast batches have defaults of their own. */
    h->batch_max_per_stream = or_default(js->batch_max_inflight_per_stream, 0);
    h->batch_max_total = or_default(js->batch_max_inflight_total, 0);
    h->batch_timeout_ns = js->batch_timeout_ns > 0 ? js->batch_timeout_ns : 10 * CLOCK_S;
}

/* --- which account has what ------------------------------------------------------------------- */

/* Nothing but the accounts that are always there. */
static bool global_only(const struct options *o)
{
    for (size_t i = 0; i < o->naccounts; i++)
        if (strcmp(o->accounts[i].name, ACCOUNT_GLOBAL) != 0 &&
            (o->system_account == NULL || strcmp(o->accounts[i].name, o->system_account) != 0))
            return false;
    return true;
}

/* NULL: no JetStream. */
static const struct options_js_limits *limits_of(struct api *a, struct account *acc)
{
    const struct options_account *oa = account_options(acc);

    if (account_is_system(acc))
        return NULL;
    if (oa != NULL && oa->js.enabled)
        return &oa->js;
    return acc == accounts_global(a->accounts) && global_only(a->options) ? &no_limits : NULL;
}

static bool folder_in_use(const struct api *a, const char *dir)
{
    const struct mf_list *pos;

    mf_list_each(pos, &a->leaving)
    {
        const struct api_account *aa = mf_container(pos, struct api_account, link);
        if (aa->dir != NULL && strcmp(aa->dir, dir) == 0)
            return true;
    }
    return false;
}

static int catalog_begin(struct api_account *aa, struct mf_error *e)
{
    const struct options_jetstream *js = &aa->api->options->jetstream;
    char *dir = api_store_folder(account_name(aa->account));
    struct catalog_opts o = {
        .root = aa->api->root,
        .dir = dir,
        .codec = config_json_codec,
        .host = &aa->host,
        .sync_interval_ns = js->sync_interval_ns,
        .added = stream_added,
        .changed = stream_changed,
        .removed = stream_removed,
        .arg = aa,
    };
    int rc;

    if (dir == NULL)
        return mf_fail(e, MF_NOMEM, "JetStream");
    if (folder_in_use(aa->api, dir)) { /* catalog_ended() comes back to it */
        free(dir);
        return 0;
    }
    host_fill(aa);
    rc = catalog_open(&aa->catalog, &o, e);
    if (rc != 0) {
        free(dir);
        return rc;
    }
    aa->dir = dir;
    aa->api->open_catalogs++;
    return 0;
}

/* --- one account ------------------------------------------------------------------------------ */

struct taken {
    const char *subject;
    bool yes;
};

static void find_import(void *arg, const struct account_import_info *x)
{
    struct taken *t = arg;

    t->yes = t->yes || (x->service && strcmp(x->local, t->subject) == 0);
}

/* An account that imports another account's service as its own is served there. */
static int listen_service(struct api_account *aa, struct router_sub *sub, const char *subject,
                          struct mf_error *e)
{
    struct taken imported = {subject, false};

    account_each_import(aa->account, find_import, &imported);
    if (!imported.yes &&
        router_subscribe(account_router(aa->account), mf_str(subject), MF_SLICE_NONE, sub) != 0)
        return mf_fail(e, MF_NOMEM, "subscribe %s", subject);
    return 0;
}

static int listen_api(struct api_account *aa, struct mf_error *e)
{
    aa->api_sub.deliver = dispatch_api;
    aa->ttl_sub.deliver = dispatch_ttl;
    if (listen_service(aa, &aa->api_sub, "$JS.API.>", e) != 0 ||
        (!account_is_system(aa->account) &&
         listen_service(aa, &aa->ttl_sub, "$MAYFLY.TTL.>", e) != 0))
        return MF_NOMEM;
    return aa->catalog != NULL ? wire_listen(aa, e) : 0;
}

static void unlisten(struct api_account *aa)
{
    router_unsubscribe(account_router(aa->account), &aa->api_sub);
    router_unsubscribe(account_router(aa->account), &aa->ttl_sub);
    wire_unlisten(aa);
}

static void account_free(struct api_account *aa)
{
    struct mf_list *n;

    while ((n = mf_list_first(&aa->calls)) != NULL) /* nothing is left that could answer them */
        api_call_free(mf_container(n, struct api_call, link));
    mf_list_del(&aa->link);
    events_drop(aa);
    waits_fini(aa);
    source_wire_fini(aa);
    account_release(aa->account);
    free(aa->dir);
    free(aa);
}

static int account_open(struct api *a, struct account *acc, struct mf_error *e)
{
    struct api_account *aa = calloc(1, sizeof *aa);

    if (aa == NULL)
        return mf_fail(e, MF_NOMEM, "account %s", account_name(acc));
    aa->api = a;
    aa->account = account_retain(acc);
    aa->work.name = account_name(acc);
    mf_list_init(&aa->restores);
    mf_list_init(&aa->snapshots);
    mf_list_init(&aa->calls);
    mf_list_init(&aa->told);
    queue_init(aa);
    direct_queue_init(aa);
    mf_list_push(&a->list, &aa->link);
    wire_init(aa);
    source_wire_init(aa);
    aa->limits = limits_of(a, acc);
    if ((aa->limits != NULL && catalog_begin(aa, e) != 0) || listen_api(aa, e) != 0)
        return mf_wrap(e, "account %s", account_name(acc));
    return 0;
}

static void maybe_ended(struct api *a);
static void accounts_follow(struct api *a);

static void catalog_ended(void *arg)
{
    struct api_account *aa = arg;
    struct api *a = aa->api;

    a->open_catalogs--;
    account_free(aa);
    if (!a->closing)
        accounts_follow(a);
    maybe_ended(a);
}

/* Takes no more requests.  Parked ones go: what they wait for is not theirs to wait for. */
static void account_close(struct api_account *aa)
{
    struct catalog *c = aa->catalog;
    struct mf_list *pos, *next;

    unlisten(aa);
    aa->closing = true;
    aa->limits = &no_limits; /* its own are the options', which may go before it */
    aa->host.ttl = NULL;     /* so is the ttl block */
    mf_list_each_safe(pos, next, &aa->calls)
    {
        struct api_call *call = mf_container(pos, struct api_call, link);
        if (!mf_list_empty(&call->busy.node) || call->settle.timer != NULL)
            api_call_free(call);
    }
    queue_stop(aa);
    mf_list_del(&aa->link);
    mf_list_push(&aa->api->leaving, &aa->link);
    if (c == NULL) {
        account_free(aa);
        return;
    }
    direct_stop(aa);
    snapshots_stop(aa);
    restores_stop(aa);
    catalog_close(c, catalog_ended, aa);
}

/* --- all of them ------------------------------------------------------------------------------ */

struct api_account *api_account_of(struct api *a, const struct account *acc)
{
    struct mf_list *pos;

    mf_list_each(pos, &a->list)
    {
        struct api_account *aa = mf_container(pos, struct api_account, link);
        if (aa->account == acc)
            return aa;
    }
    return NULL;
}

struct opening {
    struct api *a;
    struct mf_error *e;
    int rc;
};

static void open_if_new(void *arg, struct account *acc)
{
    struct opening *o = arg;
    struct mf_error why;

    if (api_account_of(o->a, acc) != NULL)
        return;
    if (account_open(o->a, acc, &why) != 0) {
        if (o->rc == 0 && o->e != NULL)
            *o->e = why;
        o->rc = why.code;
    }
}

/* Those that lost what they had; the others get their limits, and what they gained. */
static void account_follow(struct api_account *aa)
{
    struct api *a = aa->api;
    bool there = accounts_get(a->accounts, account_name(aa->account)) == aa->account;
    const struct options_js_limits *limits = there ? limits_of(a, aa->account) : NULL;
    struct mf_error e;

    if (!there || (limits == NULL && aa->catalog != NULL)) {
        account_close(aa);
        return;
    }
    aa->limits = limits;
    if (limits != NULL) {
        host_fill(aa);
        if (aa->catalog == NULL && catalog_begin(aa, &e) != 0)
            log_error("account %s: %s", account_name(aa->account), e.text);
    }
    unlisten(aa); /* imports may have changed */
    if (listen_api(aa, &e) != 0)
        log_error("account %s: %s", account_name(aa->account), e.text);
}

static void accounts_follow(struct api *a)
{
    struct opening o = {.a = a};
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &a->list)
        account_follow(mf_container(pos, struct api_account, link));
    accounts_each(a->accounts, open_if_new, &o);
    if (o.rc != 0)
        log_error("JetStream: an account is not served: %s", mf_err_text(o.rc));
}

/* --- the clock ----------------------------------------------------------------------------------
 * Timers run on the monotonic clock, deadlines, schedules and pauses on the wall clock.  When that
 * is set forward (or the machine slept) what was far away may be due now; when it is set back,
 * schedules wait for what is far away: look every second, which costs nothing, and tell the
 * streams. */

#define CLOCK_LOOK_NS CLOCK_S
#define CLOCK_STEP_NS (10 * CLOCK_MS)

static void stepped(void *arg, struct stream *s)
{
    struct consumers *g = api_consumers(s);

    if (*(const bool *)arg)
        stream_clock_set_back(s);
    else
        stream_clock_stepped(s);
    if (g != NULL)
        consumers_clock_stepped(g);
}

static void clock_look(void *arg)
{
    struct api *a = arg;
    int64_t mono_ns = loop_mono_ns(a->loop);
    int64_t ahead_ns = api_now_ns(a) - mono_ns, wall_ns = api_wall_ns(a) - mono_ns;
    bool raised = ahead_ns > a->ahead_ns + CLOCK_STEP_NS, back = wall_ns < a->wall_ns - CLOCK_S / 2;
    bool moved = back || llabs(wall_ns - a->wall_ns) > CLOCK_STEP_NS;
    struct mf_list *pos;

    /* Raised alone: a stream knows of a later time than the clock shows. */
    back = back || (raised && !moved);
    if (raised || moved)
        mf_list_each(pos, &a->list)
        {
            struct api_account *aa = mf_container(pos, struct api_account, link);
            if (aa->catalog != NULL)
                catalog_each(aa->catalog, MF_SLICE_NONE, stepped, &back);
        }
    a->ahead_ns = ahead_ns;
    a->wall_ns = moved ? wall_ns : a->wall_ns; /* small steps add up */
    loop_timer_arm(a->clock_timer, loop_mono_ns(a->loop) + CLOCK_LOOK_NS);
}

/* --- open, reload, close ---------------------------------------------------------------------- */

/* After a failed start there are catalogs that are open: nobody was served, so they hold nothing
 * that must be told, but they must be closed before the process ends. */
int api_open(struct api **out, const struct api_setup *setup, struct mf_error *e)
{
    struct api *a = calloc(1, sizeof *a);
    struct opening o = {.a = a, .e = e};

    if (a == NULL)
        return mf_fail(e, MF_NOMEM, "JetStream");
    a->loop = setup->loop;
    a->accounts = setup->accounts;
    a->options = setup->options;
    a->setup = *setup;
    mf_list_init(&a->list);
    mf_list_init(&a->leaving);
    steady_init(&a->clock, clock_wall_ns(), clock_boot_ns(), 0);
    o.rc = api_store_open(a, e);
    if (o.rc == 0 && (a->clock_timer = loop_timer_new(a->loop, clock_look, a)) == NULL)
        o.rc = mf_fail(e, MF_NOMEM, "timers");
    if (o.rc == 0 && (a->patrol = store_patrol_new(a->loop)) == NULL)
        o.rc = mf_fail(e, MF_NOMEM, "scrub");
    if (o.rc == 0) {
        store_patrol_period(a->patrol, a->options->jetstream.scrub_ns);
        clock_look(a);
    }
    if (o.rc == 0 && a->options->jetstream.enabled)
        accounts_each(a->accounts, open_if_new, &o);
    if (o.rc != 0) {
        api_close(a, NULL, NULL);
        return o.rc; /* the server says that it is JetStream */
    }
    ttl_policies_opened(a);
    *out = a;
    return 0;
}

void api_reload(struct api *a, const struct options *o)
{
    a->options = a->setup.options = o;
    store_patrol_period(a->patrol, o->jetstream.scrub_ns);
    if (!a->options->jetstream.enabled)
        return;
    accounts_follow(a);
    ttl_policies_reload(a);
}

static void ended(struct loop_defer *d)
{
    struct api *a = mf_container(d, struct api, ended);
    void (*closed)(void *arg) = a->closed;
    void *arg = a->closed_arg;

    ingest_fini();
    lend_fini();
    source_fini();
    loop_timer_free(a->clock_timer);
    store_patrol_free(a->patrol);
    api_store_close(a);
    free(a);
    if (closed != NULL)
        closed(arg);
}

static void maybe_ended(struct api *a)
{
    if (!a->closing || a->open_catalogs > 0)
        return;
    a->ended.fn = ended;
    loop_defer(a->loop, &a->ended);
}

static void tell_leaving(void *arg, struct stream *s)
{
    struct consumers *g = api_consumers(s);

    (void)arg;
    if (g != NULL)
        consumers_leaving(g);
}

void api_leaving(struct api *a)
{
    struct mf_list *pos;

    mf_list_each(pos, &a->list)
    {
        struct api_account *aa = mf_container(pos, struct api_account, link);
        if (aa->catalog != NULL)
            catalog_each(aa->catalog, MF_SLICE_NONE, tell_leaving, NULL);
    }
}

void api_close(struct api *a, void (*closed)(void *arg), void *arg)
{
    struct mf_list *n;

    a->closed = closed;
    a->closed_arg = arg;
    a->closing = true;
    ttl_outlook_free(a);
    while ((n = mf_list_first(&a->list)) != NULL)
        account_close(mf_container(n, struct api_account, link));
    maybe_ended(a);
}
