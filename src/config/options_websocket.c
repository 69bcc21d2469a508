/* options_websocket.c: the websocket block. */
#include "config/options_impl.h"

#define WS(member) offsetof(struct options_websocket, member)

static void read_listen(struct opt *c, const struct conf_value *v, void *websocket)
{
    struct options_websocket *w = websocket;
    char *host = NULL;
    if (opt_listen(c, v, &host, &w->port))
        w->host = host;
}

static void read_handshake_timeout(struct opt *c, const struct conf_value *v, void *out)
{
    int64_t ns;
    if (v->type != CONF_INT && v->type != CONF_STRING)
        opt_error(c, v, "error parsing handshake timeout: expected seconds or \"2s\", got %s",
                  conf_type_name(v->type));
    else if (opt_seconds(c, v, "handshake timeout", &ns) && ns > 0)
        *(int64_t *)out = ns;
}

static void read_origins(struct opt *c, const struct conf_value *v, void *out)
{
    struct options_list *l = out;
    size_t from = l->n;
    if (!opt_strings(c, v, l))
        return;
    for (size_t i = from; i < l->n; i++) {
        const char *o = l->items[i];
        if (!opt_text_url_scheme(o, "http") && !opt_text_url_scheme(o, "https"))
            opt_error(
                c, v,
                "unable to parse allowed origin \"%s\": allowed origins must be absolute URLs "
                "with http or https scheme",
                o);
        else if (opt_text_url_redacted(c->a, o) == NULL)
            opt_error(c, v, "unable to parse allowed origin \"%s\": host is required", o);
    }
}

static void read_headers(struct opt *c, const struct conf_value *v, void *out)
{
    static const char *const ours[] = {"host", "content-length", "connection", "upgrade",
                                       "nats-no-masking"};
    char *value;
    if (!opt_is_map(c, v, "headers to be a map of strings"))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *h = v->items[i];
        if (!opt_string(c, h, &value))
            continue;
        bool bad = strpbrk(h->key, " \t\r\n:") != NULL || strpbrk(value, "\r\n") != NULL;
        for (size_t k = 0; k < MF_COUNT(ours); k++)
            bad = bad || mf_eq_nocase(mf_str(h->key), ours[k]);
        if (bad)
            opt_error(c, h, "websocket: invalid header \"%s\" not allowed", h->key);
        else if (strlen(h->key) >= 14 && mf_eq_nocase(mf_slice(h->key, 14), "sec-websocket-"))
            opt_error(c, h,
                      "websocket: invalid header \"%s\", \"Sec-WebSocket-\" prefix not allowed",
                      h->key);
        else
            opt_pair_add(c, out, h->key, value);
    }
}

static const struct opt_field ws_fields[] = {
    {"listen", OPT_FN, 0, read_listen, 0, 0},
    {"port", OPT_PORT, WS(port), NULL, 0, 0},
    {"host net", OPT_STRING, WS(host), NULL, 0, 0},
    {"advertise", OPT_STRING, WS(advertise), NULL, 0, 0},
    {"no_tls", OPT_BOOL, WS(no_tls), NULL, 0, 0},
    {"tls", OPT_FN, WS(tls), opt_read_tls, 0, 0},
    {"same_origin", OPT_BOOL, WS(same_origin), NULL, 0, 0},
    {"allowed_origins allowed_origin allow_origins allow_origin origins origin", OPT_FN,
     WS(allowed_origins), read_origins, 0, 0},
    {"compression compress", OPT_BOOL, WS(compression), NULL, 0, 0},
    {"handshake_timeout", OPT_FN, WS(handshake_timeout_ns), read_handshake_timeout, 0, 0},
    {"authorization authentication", OPT_FN, WS(auth), opt_read_simple_auth, 0, 0},
    {"no_auth_user", OPT_STRING, WS(no_auth_user), NULL, 0, 0},
    {"jwt_cookie", OPT_STRING, WS(jwt_cookie), NULL, 0, 0},
    {"user_cookie", OPT_STRING, WS(user_cookie), NULL, 0, 0},
    {"pass_cookie", OPT_STRING, WS(pass_cookie), NULL, 0, 0},
    {"token_cookie", OPT_STRING, WS(token_cookie), NULL, 0, 0},
    {"headers", OPT_FN, WS(headers), read_headers, 0, 0},
    {"ping_interval", OPT_DURATION, WS(ping_interval_ns), NULL, 0, 0},
};

void opt_read_websocket(struct opt *c, const struct conf_value *v, void *websocket)
{
    struct options_websocket *w = websocket;
    if (!opt_is_map(c, v, "websocket to be a map"))
        return;
    w->handshake_timeout_ns = 2 * CLOCK_S;
    opt_map(c, v, OPT_BLOCK(ws_fields), w);
    w->set = w->port != 0; /* without a port the rest does not matter, as nats-server has it */
}
