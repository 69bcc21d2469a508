/* jetstream.c: JetStream of every account: opened, changed by reloads, closed.
 *
 * When an account loses JetStream or is removed, its struct moves to jetstream_impl.leaving: its
 * catalog closes all streams, then the struct is freed.  Until then the account itself is retained,
 * because streams and calls still publish in it.  If the account is configured again meanwhile, the
 * new struct has no streams until the old catalog has closed their folders. */
#include "jetstream/advisory.h"
#include "jetstream/jetstream_impl.h"
#include "jetstream/js_store_impl.h"

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

/* Read anew each time: a timestamp from the beginning of the turn could be older than the publish
 * and end the message too early. */
int64_t jetstream_now_ns(struct jetstream *js)
{
    struct jetstream_impl *x = jetstream_impl(js);
    int64_t wall_ns = clock_wall_ns(); /* first, see steady.h */
    int64_t ahead_ns = x->clock.shown_ns - x->clock.mono_ns;
    int64_t now_ns = steady_now(&x->clock, wall_ns, clock_boot_ns());

    /* A step forward: who asked acts by it, so what is due by it is swept and on disk soon. */
    if (MF_UNLIKELY(now_ns - x->clock.mono_ns > ahead_ns + CLOCK_STEP_NS) && x->clock_timer != NULL)
        loop_timer_arm(x->clock_timer, loop_mono_ns(js->loop));
    else if (MF_UNLIKELY(x->look_ns != CLOCK_LOOK_NS) && x->clock_timer != NULL) {
        x->look_ns = CLOCK_LOOK_NS; /* no longer idle */
        loop_timer_arm(x->clock_timer, loop_mono_ns(js->loop) + CLOCK_LOOK_NS);
    }
    x->asked = true;
    return now_ns;
}

int64_t jetstream_wall_ns(struct jetstream *js)
{
    (void)js;
    return clock_wall_ns();
}

const char *jetstream_domain(const struct jetstream *js)
{
    const char *domain = js->options->jetstream.domain;

    return domain == NULL ? "" : domain;
}

/* --- the host of streams ---------------------------------------------------------------------- */

static int64_t host_now(void *arg)
{
    struct js_account *ja = arg;

    return jetstream_now_ns(ja->js);
}

static int64_t host_wall(void *arg)
{
    struct js_account *ja = arg;

    return jetstream_wall_ns(ja->js);
}

static void host_publish(void *arg, const struct mf_msg *m)
{
    struct js_account *ja = arg;

    (void)account_publish(ja->account,
                          &(struct router_msg){.route = m->subject, .msg = m, .no_request = true});
}

static void stream_added(void *arg, struct stream *s)
{
    struct js_account *ja = arg;
    struct mf_error e;

    /* A time that a stream has seen as past is past for all streams. */
    steady_raise(&jetstream_impl(ja->js)->clock, stream_clock_floor(s));
    if (ingest_add(ja, s) != 0)
        log_error("account %s: stream %s hears nothing: out of memory", account_name(ja->account),
                  stream_name(s));
    else if (wire_open(ja, s, &e) != 0)
        log_error("account %s: consumers of stream %s: %s", account_name(ja->account),
                  stream_name(s), e.text);
    source_wire_follow(ja, s);
    sources_retry(&js_wire(ja)->source_host, stream_name(s));
}

/* Sources end before the new subjects are subscribed: a promoted mirror must not store a message
 * twice. */
static void stream_changed(void *arg, struct stream *s)
{
    source_wire_follow(arg, s);
    ingest_change(s);
}

/* The stream is being deleted, or the account closes. */
static void stream_removed(void *arg, struct stream *s)
{
    struct js_account *ja = arg;

    source_wire_close(ja, s, !ja->closing);
    wire_close(ja, s, !ja->closing);
    direct_forget(s);
    ingest_remove(s);
    if (!ja->closing)
        sources_retry(&js_wire(ja)->source_host, stream_name(s));
}

static uint32_t or_default(int64_t value, uint32_t usual)
{
    return value <= 0 ? usual : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Called again after a reload: streams read their host each time. */
static void host_fill(struct js_account *ja)
{
    const struct options_jetstream *opts = &ja->js->options->jetstream;
    struct stream_host *h = &ja->host;

    h->loop = ja->js->loop;
    h->patrol = ja->js->patrol;
    h->journal = ja->js->journal;
    h->owner = &ja->work;
    h->now_ns = host_now;
    h->wall_ns = host_wall;
    h->publish = host_publish;
    h->batch_abandoned = advisory_batch_abandoned;
    h->ttl_expiring = advisory_ttl_expiring;
    h->ttl_heard = advisory_ttl_heard;
    h->ttl_event = advisory_ttl_send;
    h->arg = ja;
    h->account = account_name(ja->account);
    h->strict = opts->compat_strict;
    h->ttl = &ja->js->options->ttl;
    h->account_usage = &ja->usage;
    h->server_usage = &ja->js->usage;
    h->account_max = (struct stream_usage){ja->limits->max_memory, ja->limits->max_store, -1};
    h->account_none = ja->limits->none;
    h->server_max = ja->js->max;
    h->batches = &jetstream_impl(ja->js)->batches;
    h->fast_batches = &jetstream_impl(ja->js)->fast_batches;
    h->batch_max_msgs = or_default(opts->batch_max_msgs, 1000);
    /* 0: atomic and fast batches have defaults of their own. */
    h->batch_max_per_stream = or_default(opts->batch_max_inflight_per_stream, 0);
    h->batch_max_total = or_default(opts->batch_max_inflight_total, 0);
    h->batch_timeout_ns = opts->batch_timeout_ns > 0 ? opts->batch_timeout_ns : 10 * CLOCK_S;
}

/* --- limits and catalogs of accounts ---------------------------------------------------------- */

/* True if only the accounts that always exist are configured. */
static bool global_only(const struct options *o)
{
    if (o->operator_set)
        return false;
    for (size_t i = 0; i < o->naccounts; i++)
        if (strcmp(o->accounts[i].name, ACCOUNT_GLOBAL) != 0 &&
            (o->system_account == NULL || strcmp(o->accounts[i].name, o->system_account) != 0))
            return false;
    return true;
}

/* NULL: no JetStream. */
static const struct options_js_limits *limits_of(struct jetstream *js, struct account *acc)
{
    const struct options_account *oa = account_options(acc);

    if (account_is_system(acc))
        return NULL;
    if (oa != NULL && oa->js.enabled)
        return &oa->js;
    return acc == accounts_global(js->accounts) && global_only(js->options) ? &no_limits : NULL;
}

static void take_limits(struct js_account *ja, const struct options_js_limits *limits)
{
    const struct options_account *oa = limits == NULL ? NULL : account_options(ja->account);
    bool own = oa != NULL && limits == &oa->js;

    ja->limits = limits;
    ja->tiers = own ? oa->js_tiers : NULL;
    ja->ntiers = own ? oa->njs_tiers : 0;
}

static bool folder_in_use(const struct jetstream *js, const char *dir)
{
    const struct mf_list *pos;

    mf_list_each(pos, &jetstream_impl(js)->leaving)
    {
        const struct js_account *ja = mf_container(pos, struct js_account, link);
        if (ja->dir != NULL && strcmp(ja->dir, dir) == 0)
            return true;
    }
    return false;
}

static int catalog_begin(struct js_account *ja, struct mf_error *e)
{
    const struct options_jetstream *opts = &ja->js->options->jetstream;
    char *dir = js_store_folder(account_name(ja->account));
    struct catalog_opts o = {
        .root = jetstream_impl(ja->js)->root,
        .dir = dir,
        .codec = *ja->js->setup.hooks->stream_codec,
        .host = &ja->host,
        .sync_interval_ns = opts->sync_interval_ns,
        .secret = jetstream_impl(ja->js)->secret,
        .added = stream_added,
        .changed = stream_changed,
        .removed = stream_removed,
        .arg = ja,
    };
    int rc;

    if (dir == NULL)
        return mf_fail(e, MF_NOMEM, "JetStream");
    if (folder_in_use(ja->js, dir)) { /* catalog_ended() tries again */
        free(dir);
        return 0;
    }
    host_fill(ja);
    rc = catalog_open(&ja->catalog, &o, e);
    if (rc != 0) {
        free(dir);
        return rc;
    }
    ja->dir = dir;
    jetstream_impl(ja->js)->open_catalogs++;
    return 0;
}

/* --- one account ------------------------------------------------------------------------------ */

static int listen_all(struct js_account *ja, struct mf_error *e)
{
    if (ja->js->setup.hooks->account_listen(ja, e) != 0)
        return MF_NOMEM;
    return ja->catalog != NULL ? wire_listen(ja, e) : 0;
}

static void unlisten_account(struct js_account *ja)
{
    ja->js->setup.hooks->account_unlisten(ja);
    wire_unlisten(ja);
    declare_fini(ja);
}

static void account_free(struct js_account *ja)
{
    ja->js->setup.hooks->account_fini(ja);
    mf_list_del(&ja->link);
    events_drop(ja);
    waits_fini(ja);
    source_wire_fini(ja);
    account_release(ja->account);
    free(ja->dir);
    free(js_wire(ja));
}

static int account_open(struct jetstream *js, struct account *acc, struct mf_error *e)
{
    struct js_wire *wire = calloc(1, sizeof *wire);
    struct js_account *ja = &wire->account;

    if (wire == NULL)
        return mf_fail(e, MF_NOMEM, "account %s", account_name(acc));
    ja->js = js;
    ja->account = acc;
    ja->work.name = account_name(acc);
    mf_list_init(&wire->events);
    if (table_add(&jetstream_impl(js)->by_account, &ja->node, js_account_hash(acc)) != 0) {
        free(wire);
        return mf_fail(e, MF_NOMEM, "account %s", account_name(acc));
    }
    if (js->setup.hooks->account_init(js->setup.arg, ja) != 0) {
        table_del(&jetstream_impl(js)->by_account, &ja->node);
        free(wire);
        return mf_fail(e, MF_NOMEM, "account %s", account_name(acc));
    }
    (void)account_retain(acc);
    direct_queue_init(ja);
    mf_list_push(&js->list, &ja->link);
    wire_init(ja);
    source_wire_init(ja);
    take_limits(ja, limits_of(js, acc));
    if ((ja->limits != NULL && catalog_begin(ja, e) != 0) || listen_all(ja, e) != 0)
        return mf_wrap(e, "account %s", account_name(acc));
    return 0;
}

static void maybe_ended(struct jetstream *js);

/* An account of this name may wait for the folder: the same one, or its successor. */
static void catalog_ended(void *arg)
{
    struct js_account *ja = arg;
    struct jetstream *js = ja->js;
    struct account *next = accounts_get(js->accounts, account_name(ja->account));

    jetstream_impl(js)->open_catalogs--;
    account_free(ja);
    if (!jetstream_impl(js)->closing && next != NULL)
        jetstream_account_changed(js, next);
    maybe_ended(js);
}

/* Accepts no more requests. */
static void account_close(struct js_account *ja)
{
    struct catalog *c = ja->catalog;

    unlisten_account(ja);
    ja->closing = true;
    take_limits(ja, &no_limits); /* its own belong to the options, which may be freed before it */
    ja->host.ttl = NULL;         /* so does the ttl block */
    mf_list_del(&ja->link);
    table_del(&jetstream_impl(ja->js)->by_account, &ja->node);
    mf_list_push(&jetstream_impl(ja->js)->leaving, &ja->link);
    ja->js->setup.hooks->account_stop(ja);
    if (c == NULL) {
        account_free(ja);
        return;
    }
    direct_stop(ja);
    catalog_close(c, catalog_ended, ja);
}

/* --- all of them ------------------------------------------------------------------------------ */

struct opening {
    struct jetstream *js;
    struct mf_error *e;
    int rc;
};

static void open_if_new(void *arg, struct account *acc)
{
    struct opening *o = arg;
    struct mf_error why;

    if (js_account_of(o->js, acc) != NULL)
        return;
    if (account_open(o->js, acc, &why) != 0) {
        if (o->rc == 0 && o->e != NULL)
            *o->e = why;
        o->rc = why.code;
    }
}

/* Closes an account that was removed or lost JetStream; else applies its limits and opens its
 * catalog. */
static void account_follow(struct js_account *ja)
{
    struct jetstream *js = ja->js;
    bool there = accounts_get(js->accounts, account_name(ja->account)) == ja->account;
    const struct options_js_limits *limits = there ? limits_of(js, ja->account) : NULL;
    struct mf_error e;

    if (!there || (limits == NULL && ja->catalog != NULL)) {
        account_close(ja);
        return;
    }
    take_limits(ja, limits);
    if (limits != NULL) {
        host_fill(ja);
        if (ja->catalog == NULL && catalog_begin(ja, &e) != 0)
            log_error("account %s: %s", account_name(ja->account), e.text);
    }
    unlisten_account(ja); /* imports may have changed */
    if (listen_all(ja, &e) != 0)
        log_error("account %s: %s", account_name(ja->account), e.text);
}

static void accounts_follow(struct jetstream *js)
{
    struct opening o = {.js = js};
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &js->list)
        account_follow(mf_container(pos, struct js_account, link));
    accounts_each(js->accounts, open_if_new, &o);
    if (o.rc != 0)
        log_error("JetStream: an account is not served: %s", mf_err_text(o.rc));
}

/* --- open, reload, close ---------------------------------------------------------------------- */

struct jetstream *jetstream_new(const struct jetstream_setup *setup)
{
    struct jetstream_impl *x = calloc(1, sizeof *x);

    if (x == NULL)
        return NULL;
    x->js.loop = setup->loop;
    x->js.accounts = setup->accounts;
    x->js.options = setup->options;
    x->js.setup = *setup;
    mf_list_init(&x->js.list);
    mf_list_init(&x->leaving);
    steady_init(&x->clock, clock_wall_ns(), clock_boot_ns(), 0);
    return &x->js;
}

/* After a failed start some catalogs may be open.  No client was served, but they must be closed
 * before the process ends. */
int jetstream_start(struct jetstream *js, struct mf_error *e)
{
    struct jetstream_impl *x = jetstream_impl(js);
    struct opening o = {.js = js, .e = e};

    o.rc = js_store_open(js, e);
    if (o.rc == 0 && (x->clock_timer = loop_timer_new(js->loop, jetstream_clock_look, js)) == NULL)
        o.rc = mf_fail(e, MF_NOMEM, "timers");
    if (o.rc == 0 && (js->patrol = store_patrol_new(js->loop)) == NULL)
        o.rc = mf_fail(e, MF_NOMEM, "scrub");
    if (o.rc == 0) {
        store_patrol_period(js->patrol, js->options->jetstream.scrub_ns);
        jetstream_clock_look(js);
    }
    if (o.rc == 0 && js->options->jetstream.enabled)
        accounts_each(js->accounts, open_if_new, &o);
    return o.rc;
}

void jetstream_reload(struct jetstream *js, const struct options *o)
{
    js->options = js->setup.options = o;
    store_patrol_period(js->patrol, o->jetstream.scrub_ns);
    if (js->options->jetstream.enabled)
        accounts_follow(js);
}

void jetstream_account_changed(struct jetstream *js, struct account *acc)
{
    struct js_account *ja = js_account_of(js, acc);
    struct opening o = {.js = js};

    if (!js->options->jetstream.enabled)
        return;
    if (ja != NULL)
        account_follow(ja);
    if (accounts_get(js->accounts, account_name(acc)) == acc)
        open_if_new(&o, acc); /* one that lost JetStream still answers requests */
    if (o.rc != 0)
        log_error("JetStream: account %s is not served: %s", account_name(acc), mf_err_text(o.rc));
}

static void finish_close(void *ended)
{
    struct jetstream_impl *x = ended;
    void (*closed)(void *arg) = x->closed;
    void *arg = x->closed_arg;

    ingest_fini();
    lend_fini();
    source_fini();
    loop_timer_free(x->clock_timer);
    store_patrol_free(x->js.patrol);
    js_store_close(&x->js);
    table_fini(&x->by_account);
    free(x);
    if (closed != NULL)
        closed(arg);
}

static void close_journal(struct loop_defer *d)
{
    struct jetstream_impl *x = mf_container(d, struct jetstream_impl, ended);

    if (x->js.journal != NULL)
        store_journal_close(x->js.journal, finish_close, x);
    else
        finish_close(x);
}

static void maybe_ended(struct jetstream *js)
{
    struct jetstream_impl *x = jetstream_impl(js);

    if (!x->closing || x->open_catalogs > 0)
        return;
    x->ended.fn = close_journal;
    loop_defer(js->loop, &x->ended);
}

static void notify_leaving(void *arg, struct stream *s)
{
    struct consumers *g = js_consumers(s);

    (void)arg;
    if (g != NULL)
        consumers_shut_down(g);
}

void jetstream_leaving(struct jetstream *js)
{
    struct mf_list *pos;

    mf_list_each(pos, &js->list)
    {
        struct js_account *ja = mf_container(pos, struct js_account, link);
        if (ja->catalog != NULL)
            catalog_each(ja->catalog, MF_SLICE_NONE, notify_leaving, NULL);
    }
}

void jetstream_close(struct jetstream *js, void (*closed)(void *arg), void *arg)
{
    struct jetstream_impl *x = jetstream_impl(js);
    struct mf_list *n;

    x->closed = closed;
    x->closed_arg = arg;
    x->closing = true;
    while ((n = mf_list_first(&js->list)) != NULL)
        account_close(mf_container(n, struct js_account, link));
    maybe_ended(js);
}
