/* info.c: the INFO line.  Field order is nats-server's; false and empty ones are left out. */
#include "server/server_impl.h"

#include "codec/jsonw.h"

#include <stdlib.h>

static void info_tls(struct jsonw *w, const struct client *c)
{
    const struct options *o = c->srv->opts;
    const struct options_tls *tls = c->kind == CLIENT_WS ? &o->websocket.tls : &o->tls;
    bool on = c->kind == CLIENT_WS ? c->srv->ws_tls != NULL : client_speaks_tls(c);
    bool optional = c->kind == CLIENT_TCP && o->allow_non_tls;

    if (!on)
        return;
    jsonw_opt_bool(w, "tls_required", !optional);
    jsonw_opt_bool(w, "tls_verify", tls->verify || tls->verify_and_map);
    jsonw_opt_bool(w, "tls_available", optional);
}

static void info_listener(struct jsonw *w, const struct client *c)
{
    const struct server *s = c->srv;
    bool ws = c->kind == CLIENT_WS;
    char room[SERVER_HOST];
    const char *host = ws ? s->opts->websocket.host : server_host(s, room);

    jsonw_str(w, "host", host == NULL ? "0.0.0.0" : host);
    if (ws)
        jsonw_i64(w, "port", s->ws_listener == NULL ? 0 : net_listener_port(s->ws_listener));
    else
        jsonw_i64(w, "port", server_port(s));
}

static void info_client(struct jsonw *w, const struct client *c, bool after_connect)
{
    const struct server *s = c->srv;

    jsonw_u64(w, "client_id", c->cid);
    if (c->phase != CLIENT_PROXY) /* not known yet */
        jsonw_opt_str(w, "client_ip", client_ip(c));
    if (!after_connect)
        jsonw_opt_str(w, "nonce", c->nonce);
    jsonw_opt_str(w, "cluster", s->opts->cluster.set ? s->opts->cluster.name : NULL);
    jsonw_opt_str(w, "domain", s->opts->jetstream.enabled ? s->opts->jetstream.domain : NULL);
    jsonw_opt_bool(w, "ldm", s->lame_duck || c->leave);
    if (after_connect && c->account != NULL) {
        jsonw_bool(w, "connect_info", true);
        jsonw_str(w, "remote_account", account_name(c->account));
        jsonw_opt_bool(w, "acc_is_sys", account_is_system(c->account));
    }
}

void info_render(const struct client *c, struct mf_buf *out, bool after_connect)
{
    const struct server *s = c->srv;
    struct jsonw w;

    mf_buf_puts(out, "INFO ");
    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "server_id", s->id);
    jsonw_str(&w, "server_name", s->name);
    jsonw_str(&w, "version", SERVER_NATS_VERSION);
    jsonw_i64(&w, "proto", 1);
    jsonw_str(&w, "go", SERVER_GO_VERSION);
    jsonw_str(&w, "mayfly", SERVER_MAYFLY_VERSION);
    info_listener(&w, c);
    jsonw_bool(&w, "headers", !s->opts->no_header_support);
    /* no_auth_user lets anybody in, so nothing is required (and clients need not refuse). */
    jsonw_opt_bool(&w, "auth_required", client_login_first(c));
    info_tls(&w, c);
    /* After CONNECT the account's limit counts: clients refuse themselves what we would close for.
     */
    jsonw_u64(&w, "max_payload",
              after_connect ? c->limits.max_payload : (uint64_t)s->opts->max_payload);
    jsonw_opt_bool(&w, "jetstream", s->jetstream);
    info_client(&w, c, after_connect);
    jsonw_i64(&w, "api_lvl", SERVER_API_LEVEL);
    jsonw_opt_str(&w, "xkey", s->setup.xkey);
    jsonw_end(&w);
    mf_buf_puts(out, " \r\n");
}
