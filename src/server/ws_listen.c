/* ws_listen.c: WebSocket clients: the listener, and the handshake's part of a session. */
#include "server/server_impl.h"

#include "base/log.h"

#include <stdlib.h>

/* Handler until the upgrade, while the connection belongs to ws. */
static void before_closed(void *arg, enum net_why why, const char *text)
{
    (void)arg, (void)why;
    log_debug("WebSocket handshake ended: %s", text != NULL ? text : "closed");
}
static size_t before_bytes(void *arg, const uint8_t *p, size_t n)
{
    (void)arg, (void)p;
    return n;
}
static const struct net_handler before_upgrade = {.bytes = before_bytes, .closed = before_closed};

static void ws_accepted(void *arg, struct net_conn *c)
{
    struct server *s = arg;
    struct mf_error e;

    net_conn_start(c, &before_upgrade, NULL);
    if (s->ws_tls != NULL && net_conn_secure(c, s->ws_tls, &e) != 0) {
        log_error("WebSocket TLS: %s", e.text);
        net_close(c, 0);
        return;
    }
    ws_accept(c, s->loop, &s->ws_opts, client_accept_ws, s);
}

/* The limit of an inflated message.  It may hold many commands; a message of more than a few of the
 * largest is an attack. */
static size_t message_limit(const struct options *o)
{
    size_t most = 64u << 20, limit = 4 * (size_t)o->max_payload;

    if (limit < 1u << 20)
        limit = 1u << 20;
    return limit < most ? limit : most;
}

void ws_options_refresh(struct server *s)
{
    const struct options_websocket *w = &s->opts->websocket;

    mf_buf_clear(&s->ws_headers);
    for (size_t i = 0; i < w->headers.n; i++)
        mf_buf_printf(&s->ws_headers, "%s: %s\r\n", w->headers.items[i].key,
                      w->headers.items[i].value);
    s->ws_opts = (struct ws_options){
        .compression = w->compression,
        .same_origin = w->same_origin,
        .origins = (const char *const *)w->allowed_origins.items,
        .norigins = w->allowed_origins.n,
        .handshake_timeout_ns = w->handshake_timeout_ns,
        .max_message = message_limit(s->opts),
        .tls = s->ws_tls != NULL,
        .headers = s->ws_headers.len > 0 ? mf_buf_cstr(&s->ws_headers) : NULL,
    };
}

int ws_listen(struct server *s, struct mf_error *e)
{
    const struct options_websocket *w = &s->opts->websocket;

    if (!w->set)
        return 0;
    ws_options_refresh(s);
    if (net_listen(&s->ws_listener, s->loop, w->host, w->port, ws_accepted, s, e) != 0)
        return mf_wrap(e, "Unable to listen for websocket connections");
    log_info("Listening for websocket clients on %s://%s:%d", s->ws_tls != NULL ? "wss" : "ws",
             net_listener_host(s->ws_listener), net_listener_port(s->ws_listener));
    return 0;
}

/* --- a session's part ------------------------------------------------------------------------- */

static char *copy_cookie(const struct ws_request *r, const char *name)
{
    struct mf_slice value =
        r->cookie != NULL && name != NULL ? ws_cookie(r->cookie, name) : MF_SLICE_NONE;

    return value.len > 0 ? mf_slice_dup(value) : NULL;
}

struct client_ws *client_ws_new(const struct server *s, const struct ws_request *r)
{
    const struct options_websocket *o = &s->opts->websocket;
    struct client_ws *w = calloc(1, sizeof *w);

    if (w == NULL)
        return NULL;
    w->pipe = r->pipe;
    w->ip = r->client_ip != NULL ? mf_slice_dup(mf_str(r->client_ip)) : NULL;
    w->user = copy_cookie(r, o->user_cookie);
    w->pass = copy_cookie(r, o->pass_cookie);
    w->token = copy_cookie(r, o->token_cookie);
    w->jwt = copy_cookie(r, o->jwt_cookie);
    return w;
}

void client_ws_free(struct client_ws *w)
{
    if (w == NULL)
        return;
    free(w->ip);
    free(w->user);
    free(w->pass);
    free(w->token);
    free(w->jwt);
    free(w);
}

static void stand_in(char **field, const char *cookie_value)
{
    if (mf_has_text(*field) || cookie_value == NULL)
        return;
    free(*field);
    *field = mf_slice_dup(mf_str(cookie_value));
}

void client_ws_cookies(struct client *c)
{
    if (c->ws == NULL)
        return;
    stand_in(&c->opts.user, c->ws->user);
    stand_in(&c->opts.pass, c->ws->pass);
    stand_in(&c->opts.token, c->ws->token);
    stand_in(&c->opts.jwt, c->ws->jwt);
}

void client_ws_farewell(const struct client *c)
{
    if (c->ws != NULL)
        ws_set_farewell(c->ws->pipe, reason_websocket(c->close_reason),
                        reason_text(c->close_reason));
}
