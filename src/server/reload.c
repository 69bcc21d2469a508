/* reload.c: SIGHUP. The new configuration is loaded, and everything that can fail is built beside
 * the present one first; only then does it replace the present one, so a bad file changes nothing.
 */
#include "server/server_impl.h"

#include "base/log.h"
#include "server/client_enter_impl.h"
#include "server/service_impl.h"
#include "session/through_proxy.h"

#include <stdlib.h>

struct reload {
    struct options *opts;
    struct auth *auth;
    struct net_tls *tls, *ws_tls, *http_tls;
};

static void reload_drop(struct reload *r)
{
    auth_free(r->auth);
    net_tls_release(r->tls);
    net_tls_release(r->ws_tls);
    net_tls_release(r->http_tls);
    options_free(r->opts);
}

static int reload_build(struct server *s, struct reload *r, struct mf_error *e)
{
    const char *refusal;

    if (s->setup.reload == NULL)
        return mf_fail(e, MF_UNSUPPORTED, "can only reload from a configuration file");
    if (s->setup.reload(s->setup.reload_arg, &r->opts, e) != 0)
        return e->code;
    refusal = options_reload_refusal(s->opts, r->opts);
    if (refusal != NULL)
        return mf_fail(e, MF_UNSUPPORTED, "%s", refusal);
    if (auth_new(&r->auth, r->opts, e) != 0)
        return e->code;
    if (tls_setup(&r->tls, &r->opts->tls, e) != 0 ||
        tls_setup_pages(&r->http_tls, &r->opts->tls, e) != 0 ||
        tls_setup(&r->ws_tls, &r->opts->websocket.tls, e) != 0)
        return e->code;
    if (s->https != NULL && r->tls == NULL)
        return mf_fail(e, MF_INVAL, "https monitoring needs a tls block");
    return 0;
}

static void account_gone(void *arg, struct account *a)
{
    struct server *s = arg;
    struct mf_list *pos, *next;

    notify_account_removed(s, a);
    mf_list_each_safe(pos, next, &s->clients)
    {
        struct client *c = mf_container(pos, struct client, link);
        if (c->account == a)
            client_close(c, "Authorization Violation", REASON_AUTH_FAILURE);
    }
}

void server_account_gone(struct server *s, struct account *a)
{
    account_gone(s, a);
}

/* Closes clients whose credentials were removed; the others get the new limits and permissions. */
static void recheck_clients(struct server *s, const struct auth *old)
{
    struct mf_list *pos, *next;
    uint64_t kept = 0;

    mf_list_each_safe(pos, next, &s->clients)
    {
        struct client *c = mf_container(pos, struct client, link);
        if (c->phase == CLIENT_CLOSING)
            continue;
        if (c->proxy_key != NULL && !auth_proxy_trusted(s->opts, c->proxy_key))
            client_refuse(c, &PROXY_NOT_TRUSTED); /* also a login that waits for its answer */
        else if (c->in_account)
            client_reload(c, old);
        else
            c->limits.connect_only = client_login_first(c);
        if (c->limits.connect_only && c->phase == CLIENT_WAIT)
            client_timer_start(c); /* its authentication timeout begins */
        c->limits.max_control_line = (size_t)s->opts->max_control_line;
        net_set_write_deadline(c->conn, s->opts->write_deadline_ns);
        if (c->phase == CLIENT_CLOSING)
            continue;
        if (s->opts->max_connections > 0 && ++kept > (uint64_t)s->opts->max_connections)
            client_close(c, "maximum connections exceeded", REASON_MAX_CONNECTIONS);
    }
}

static void reload_apply(struct server *s, struct reload *r)
{
    struct auth *old_auth = s->auth;
    struct options *old_opts = s->opts;

    s->opts = r->opts;
    s->name = s->opts->server_name != NULL ? s->opts->server_name : s->id;
    s->auth = r->auth;
    net_tls_release(s->tls);
    net_tls_release(s->ws_tls);
    net_tls_release(s->http_tls);
    s->tls = r->tls;
    s->http_tls = r->http_tls;
    s->ws_tls = r->ws_tls;
    loop_spin(s->loop, s->opts->busy_poll_ns);
    ws_options_refresh(s);
    if (s->https != NULL)
        monitor_set_tls(s->https, s->http_tls);
    recheck_clients(s, old_auth);
    client_auth_retire(s, old_auth);
    files_move(s, old_opts);
    modules_reload(s);
    options_free(old_opts);
    s->config_load_wall_ns = loop_wall_ns(s->loop);
}

static void log_change(void *arg, const char *text)
{
    (void)arg;
    log_info("Reloaded: %s", text);
}

static int replace_options(struct server *s, struct mf_error *e)
{
    struct reload r = {0};

    if (reload_build(s, &r, e) != 0 || server_open_log(r.opts, s->setup.guest, e) != 0) {
        reload_drop(&r);
        return mf_wrap(e, "reload");
    }
    if (accounts_reload(s->accounts, r.opts, account_gone, s, e) != 0) {
        struct mf_error unable;
        if (server_open_log(s->opts, s->setup.guest, &unable) != 0)
            log_error("Back to the old log: %s", unable.text);
        reload_drop(&r);
        return mf_wrap(e, "reload");
    }
    options_changes(s->opts, r.opts, log_change, NULL);
    advice_log(r.opts, s->opts);
    reload_apply(s, &r);
    log_info("Reloaded server configuration");
    return 0;
}

int server_reload(struct server *s, struct mf_error *e)
{
    int rv;

    if (s->stopping)
        return mf_fail(e, MF_CLOSED, "server is shutting down");
    service_reloading(s->service);
    rv = replace_options(s, e);
    service_ready(s->service); /* with the old configuration, if the new one was refused */
    if (rv == 0)
        server_tell_state(s);
    else
        service_status(s->service, "Ready; the last reload was refused: %s", e->text);
    return rv;
}
