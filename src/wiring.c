/* wiring.c: connects the server with JetStream, leaf links and status.  Wiring only. */
#include "wiring.h"

#include "api/api.h"
#include "backup/backup.h"
#include "base/clock.h"
#include "base/log.h"
#include "leaf/leaf.h"
#include "operator/operator.h"
#include "status/js_status.h"
#include "status/status.h"

#include <stdio.h>
#include <stdlib.h>

/* --- operator mode ---------------------------------------------------------------------------- */

/* Its clients and links get their present rights, or end. */
static void renew_users(struct wiring *w, const struct operator_account *a)
{
    if (w->login.op == NULL)
        return; /* during the start */
    server_account_renew(w->server, a->account);
    if (w->leaf != NULL)
        leaf_account_renew(w->leaf, a->account);
}

static void account_changed(void *arg, struct operator_account *a, const struct jwt *before)
{
    struct wiring *w = arg;

    if (before != NULL)
        renew_users(w, a);
    if (w->api != NULL)
        api_account_changed(w->api, a->account);
}

static void account_ended(void *arg, struct operator_account *a)
{
    struct wiring *w = arg;

    renew_users(w, a);
    if (w->leaf != NULL)
        leaf_account_ended(w->leaf, a->account);
}

/* A reload removed it. */
static void account_gone(void *arg, struct operator_account *a)
{
    struct wiring *w = arg;

    callout_account_gone(&w->callout, a->account);
    server_account_gone(w->server, a->account);
    if (w->api != NULL)
        api_account_changed(w->api, a->account);
}

static void write_server(void *arg, struct jsonw *w)
{
    status_write_server(((struct wiring *)arg)->status, w);
}

static void load_accounts_with_streams(struct wiring *w, const struct options *o)
{
    char *root = options_store_dir(o), *dir = NULL;
    struct mf_buf b = MF_BUF_INIT;

    if (root != NULL) {
        mf_buf_printf(&b, "%s/jetstream", root);
        dir = mf_buf_failed(&b) ? NULL : mf_slice_dup(mf_buf_slice(&b));
    }
    if (dir != NULL)
        operator_load_folders(w->op, dir);
    mf_buf_fini(&b);
    free(root);
    free(dir);
}

static int open_operator(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct wiring *w = arg;
    struct operator_setup setup = {.loop = w->loop,
                                   .accounts = server_accounts(s),
                                   .options = o,
                                   .server_key = &w->key,
                                   .arg = w,
                                   .write_server = write_server,
                                   .changed = account_changed,
                                   .ended = account_ended,
                                   .gone = account_gone};

    if (!o->operator_set)
        return 0;
    w->server = s; /* claims may change before the start is over */
    if (operator_open(&w->op, &setup, e) != 0)
        return e->code;
    operator_login_open(&w->login, w->op);
    if (o->jetstream.enabled)
        load_accounts_with_streams(w, o);
    return 0;
}

static void reload_operator(void *arg, const struct options *o)
{
    struct wiring *w = arg;

    if (w->op != NULL)
        operator_reload(w->op, o);
}

static bool close_operator(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct wiring *w = arg;
    struct operator* op = w->op;

    w->op = NULL;
    operator_login_close(&w->login);
    return operator_close(op, closed, closed_arg);
}

/* --- auth callouts ---------------------------------------------------------------------------- */

static void identify_server(void *arg, struct jwt_server_id *id)
{
    struct wiring *w = arg;

    id->name = server_name(w->server);
    id->host = server_host(w->server, w->host);
    id->version = SERVER_NATS_VERSION;
}

static int open_callout(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct wiring *w = arg;
    struct callout_setup setup = {.loop = w->loop,
                                  .accounts = server_accounts(s),
                                  .options = o,
                                  .key = &w->key,
                                  .curve = &w->curve,
                                  .arg = w,
                                  .identify = identify_server,
                                  .op = w->op,
                                  .operator_logins = &w->login.service};

    (void)e;
    w->server = s;
    callout_open(&w->callout, &setup);
    return 0;
}

static void reload_callout(void *arg, const struct options *o)
{
    callout_reload(&((struct wiring *)arg)->callout, o);
}

static bool close_callout(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    (void)closed, (void)closed_arg;
    callout_close(&((struct wiring *)arg)->callout);
    return true;
}

/* --- JetStream -------------------------------------------------------------------------------- */

static bool client_info(void *arg, const void *origin, struct mf_buf *json)
{
    (void)arg;
    return status_client_info(origin, json);
}

static int open_jetstream(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct wiring *w = arg;
    int64_t from_ns = clock_mono_ns();
    char took[CLOCK_TEXT];

    if (!o->jetstream.enabled)
        return 0;
    w->name = mf_slice_dup(mf_str(server_name(s)));
    if (w->name == NULL)
        return mf_fail(e, MF_NOMEM, "server name");
    struct api_setup setup = {.loop = w->loop,
                              .accounts = server_accounts(s),
                              .options = o,
                              .server_name = w->name,
                              .server_id = server_id(s),
                              .version = SERVER_NATS_VERSION,
                              .level = SERVER_API_LEVEL,
                              .client_info = client_info,
                              .extension = &backup_extension};
    log_info("Starting JetStream");
    if (api_open(&w->api, &setup, e) != 0)
        return e->code;
    js_status_log_start(w->api);
    js_status_log_recovered(w->api, clock_mono_ns() - from_ns);
    log_info("Took %s to start JetStream", clock_duration(took, clock_mono_ns() - from_ns));
    return 0;
}

static void reload_jetstream(void *arg, const struct options *o)
{
    struct wiring *w = arg;

    if (w->api != NULL)
        api_reload(w->api, o);
}

static void leave_jetstream(void *arg)
{
    struct wiring *w = arg;

    if (w->api != NULL)
        api_leaving(w->api);
}

static bool close_jetstream(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct wiring *w = arg;

    if (w->api == NULL)
        return true;
    api_close(w->api, closed, closed_arg);
    w->api = NULL;
    return false;
}

/* --- leaf links ------------------------------------------------------------------------------- */

static uint64_t next_id(void *arg)
{
    return server_next_cid(((struct wiring *)arg)->server);
}

static void stall_publisher(void *arg, const void *origin)
{
    server_stall(((struct wiring *)arg)->server, origin);
}

static int leaf_port(void *arg)
{
    return server_open_port(((struct wiring *)arg)->server, SERVER_LEAFNODES, 0);
}

static void leaf_changed(void *arg, const struct leaf_link *l, bool up)
{
    status_leaf_changed(((struct wiring *)arg)->status, l, up);
}

static void leaf_refused(void *arg, const struct leaf_link *l, const struct login_refusal *no)
{
    status_leaf_refused(((struct wiring *)arg)->status, l, no);
}

static void accept_leaf(void *arg, struct net_conn *c, bool ws)
{
    leaf_accept(((struct wiring *)arg)->leaf, c, ws);
}

static void leaf_account_gone(void *arg, struct account *a)
{
    leaf_account_removed(((struct wiring *)arg)->leaf, a);
}

struct leaf_want { /* the account of a remote */
    struct operator_load load;
    void (*done)(void *to, struct account *a, const char *why);
    void *to;
};

static void want_met(struct operator_load *q, struct operator_account *a, const char *why)
{
    struct leaf_want want = *mf_container(q, struct leaf_want, load);

    free(mf_container(q, struct leaf_want, load));
    if (a != NULL && a->expired)
        want.done(want.to, NULL, "account expired");
    else
        want.done(want.to, a == NULL ? NULL : a->account, why);
}

static void *want_account(void *arg, const char *name,
                          void (*done)(void *to, struct account *a, const char *why), void *to)
{
    struct leaf_want *want = calloc(1, sizeof *want);

    if (want == NULL)
        return NULL;
    *want = (struct leaf_want){.load = {.done = want_met}, .done = done, .to = to};
    (void)snprintf(want->load.account, sizeof want->load.account, "%s", name);
    operator_load(((struct wiring *)arg)->op, &want->load);
    return want;
}

static void want_cancel(void *arg, void *want)
{
    (void)arg;
    operator_load_cancel(&((struct leaf_want *)want)->load);
    free(want);
}

static int open_leaf(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct wiring *w = arg;
    struct leaf_setup setup = {.loop = w->loop,
                               .accounts = server_accounts(s),
                               .options = o,
                               .server_id = server_id(s),
                               .server_name = server_name(s),
                               .version = SERVER_NATS_VERSION,
                               .go_version = SERVER_GO_VERSION,
                               .api_level = SERVER_API_LEVEL,
                               .next_id = next_id,
                               .stall = stall_publisher,
                               .logins = &w->callout.service,
                               .port = leaf_port,
                               .changed = leaf_changed,
                               .refused = leaf_refused,
                               .arg = w};

    if (w->op != NULL) {
        setup.want_account = want_account;
        setup.want_cancel = want_cancel;
    }
    w->server = s; /* a reload may add remotes */
    if (leaf_open(&w->leaf, &setup, e) != 0)
        return e->code;
    w->leaf_observer = (struct server_observer){.arg = w, .account_removed = leaf_account_gone};
    server_observe(s, &w->leaf_observer);
    server_on_leafnode(s, accept_leaf, w);
    return 0;
}

static void reload_leaf(void *arg, const struct options *o)
{
    struct wiring *w = arg;

    if (w->leaf != NULL)
        leaf_reload(w->leaf, o);
}

static void leave_leaf(void *arg)
{
    struct wiring *w = arg;

    if (w->leaf != NULL)
        leaf_leaving(w->leaf);
}

static bool close_leaf(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct wiring *w = arg;
    struct leaf *lf = w->leaf;

    if (lf == NULL)
        return true;
    w->leaf = NULL;
    server_unobserve(&w->leaf_observer);
    return leaf_close(lf, closed, closed_arg);
}

/* --- status ----------------------------------------------------------------------------------- */

static int open_status(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct wiring *w = arg;

    (void)o;
    if (status_open(&w->status, s, w->api, e) != 0)
        return e->code;
    status_show_leaf(w->status, w->leaf);
    status_show_operator(w->status, w->op);
    return 0;
}

static void leave_status(void *arg)
{
    status_leaving(((struct wiring *)arg)->status);
}

static bool close_status(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct wiring *w = arg;

    (void)closed, (void)closed_arg;
    status_close(w->status);
    w->status = NULL;
    return true;
}

/* --- all of them ------------------------------------------------------------------------------ */

int wiring_start(struct wiring *w, struct server_setup *setup, struct mf_error *e)
{
    w->modules[0] = (struct server_module){.name = "operator mode",
                                           .arg = w,
                                           .open = open_operator,
                                           .reload = reload_operator,
                                           .close = close_operator};
    w->modules[1] = (struct server_module){.name = "auth callout",
                                           .arg = w,
                                           .open = open_callout,
                                           .reload = reload_callout,
                                           .close = close_callout};
    w->modules[2] = (struct server_module){.name = "JetStream",
                                           .arg = w,
                                           .open = open_jetstream,
                                           .reload = reload_jetstream,
                                           .leaving = leave_jetstream,
                                           .close = close_jetstream};
    w->modules[3] = (struct server_module){.name = "leafnodes",
                                           .arg = w,
                                           .open = open_leaf,
                                           .reload = reload_leaf,
                                           .leaving = leave_leaf,
                                           .close = close_leaf};
    w->modules[4] = (struct server_module){.name = "status",
                                           .arg = w,
                                           .open = open_status,
                                           .leaving = leave_status,
                                           .close = close_status};
    jwt_key_random(&w->key, NKEY_SERVER);
    jwt_key_random(&w->curve, NKEY_CURVE);
    setup->id = w->key.text;
    setup->xkey = w->curve.text;
    setup->login = &w->callout.service;
    setup->modules = w->modules;
    setup->nmodules = MF_COUNT(w->modules);
    if (server_start(&w->server, w->loop, setup, e) == 0)
        return 0;
    w->server = NULL; /* a module knew it already */
    return e->code;
}

void wiring_end(struct wiring *w)
{
    server_free(w->server);
    w->server = NULL;
    free(w->name);
    w->name = NULL;
    jwt_key_wipe(&w->key);
    jwt_key_wipe(&w->curve);
}
