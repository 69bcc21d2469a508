/* mayfly_calls.c: questions to a running server, each answered on its loop. */
#include "mayfly_impl.h"

#include "api/api.h"
#include "base/clock.h"
#include "monitor/monitor.h"
#include "net/net.h"
#include "server/server_state.h"
#include "status/js_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void mayfly_put_line(void *arg, enum log_level level, const char *line)
{
    static const char *const names[] = {"FTL", "ERR", "WRN", "INF", "DBG", "TRC"};
    const struct mayfly *m = arg;

    if (m->log_line != NULL)
        m->log_line(m->log_arg, (int)level, line);
    else if (m->log_stderr)
        dprintf(STDERR_FILENO, "[%s] %s\n", names[level], line);
}

/* --- addresses -------------------------------------------------------------------------------- */

struct address {
    int which;
    char *dst;
    size_t cap;
};

static int write_url(const struct address *a, const char *scheme, const char *host, int port,
                     struct mf_error *e)
{
    bool any = host == NULL || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    bool six = !any && strchr(host, ':') != NULL;
    int n = snprintf(a->dst, a->cap, "%s://%s%s%s:%d", scheme, six ? "[" : "",
                     any ? "127.0.0.1" : host, six ? "]" : "", port);

    if (n < 0 || (size_t)n >= a->cap)
        return mf_fail(e, MF_LIMIT, "the address has %d bytes, there is room for %zu", n, a->cap);
    return port;
}

static int write_path(const struct address *a, const char *path, struct mf_error *e)
{
    int n = snprintf(a->dst, a->cap, "unix:%s", path);

    if (n < 0 || (size_t)n >= a->cap)
        return mf_fail(e, MF_LIMIT, "the address has %d bytes, there is room for %zu", n, a->cap);
    return 0;
}

static int find_client_address(const struct server *s, const struct address *a, struct mf_error *e)
{
    const struct net_listener *l = server_client_listener(s, a->which == MAYFLY_UNIX);

    if (l == NULL)
        return mf_fail(e, MF_NOTFOUND, "no such listener is open");
    if (a->which == MAYFLY_UNIX)
        return write_path(a, net_listener_path(l), e);
    return write_url(a, server_has_tls(s) ? "tls" : "nats", net_listener_host(l),
                     net_listener_port(l), e);
}

static int find_address(struct mayfly *m, struct mayfly_call *c)
{
    static const struct {
        enum server_listener listener;
        const char *scheme;
    } others[] = {[MAYFLY_MONITOR] = {SERVER_HTTP, "http"},
                  [MAYFLY_MONITOR_TLS] = {SERVER_HTTPS, "https"},
                  [MAYFLY_WEBSOCKET] = {SERVER_WEBSOCKET, "ws"}};
    const struct address *a = c->arg;
    const struct server *s = m->w.server;
    const struct options *o = server_options(s);
    int port;

    if (a->which == MAYFLY_CLIENTS || a->which == MAYFLY_UNIX)
        return find_client_address(s, a, c->e);
    port = server_open_port(s, others[a->which].listener, 0);
    if (port == 0)
        return mf_fail(c->e, MF_NOTFOUND, "no such listener is open");
    if (a->which != MAYFLY_WEBSOCKET)
        return write_url(a, others[a->which].scheme, o->http_host, port, c->e);
    return write_url(a, o->websocket.tls.set ? "wss" : "ws", o->websocket.host, port, c->e);
}

int mayfly_address(struct mayfly *m, int which, char *dst, size_t cap, struct mayfly_error *error)
{
    struct mf_error own, *e = mayfly_error_of(error, &own);
    struct address a = {.which = which, .dst = dst, .cap = cap};
    struct mayfly_call c = {.run = find_address, .arg = &a, .e = e};

    if (which < MAYFLY_CLIENTS || which > MAYFLY_WEBSOCKET || (dst == NULL && cap > 0))
        return mf_fail(e, MF_INVAL, "mayfly_address: no such kind of address: %d", which);
    return mayfly_ask(m, &c);
}

/* --- statistics ------------------------------------------------------------------------------- */

static int count_all(struct mayfly *m, struct mayfly_call *c)
{
    const struct server *s = m->w.server;
    const struct server_counters *n = server_counters(s);
    struct mayfly_statistics *out = c->arg;
    struct js_totals js = {0};

    if (m->w.api != NULL)
        js_status_totals(m->w.api, &js);
    *out = (struct mayfly_statistics){
        .size = sizeof *out,
        .connections = server_clients(s),
        .total_connections = n->total_connections,
        .subscriptions = server_subs(s),
        .in_messages = n->in_msgs,
        .in_bytes = n->in_bytes,
        .out_messages = n->out_msgs,
        .out_bytes = n->out_bytes,
        .slow_consumers = n->slow_consumers,
        .streams = js.streams,
        .consumers = js.consumers,
        .stored_messages = js.msgs,
        .stored_bytes = js.bytes,
        .uptime_ns = clock_mono_ns() - server_start_mono_ns(s),
    };
    return 0;
}

int mayfly_stats(struct mayfly *m, struct mayfly_statistics *out, struct mayfly_error *error)
{
    struct mf_error own, *e = mayfly_error_of(error, &own);
    struct mayfly_call c = {.run = count_all, .arg = out, .e = e};

    if (out == NULL || out->size < sizeof *out)
        return mf_fail(e, MF_INVAL, "mayfly_statistics.size: expected %zu", sizeof *out);
    return mayfly_ask(m, &c);
}

/* --- reload ----------------------------------------------------------------------------------- */

static int reload(struct mayfly *m, struct mayfly_call *c)
{
    char **text = c->arg, *before = m->source.text;
    int rv;

    if (*text != NULL && m->source.file != NULL)
        return mf_fail(c->e, MF_INVAL, "the server was started with a configuration file");
    if (*text != NULL)
        m->source.text = *text;
    rv = server_reload(m->w.server, c->e);
    if (*text == NULL)
        return rv;
    *text = rv == 0 ? before : *text; /* the one that is not in use any more */
    m->source.text = rv == 0 ? m->source.text : before;
    return rv;
}

int mayfly_reload(struct mayfly *m, const char *config, struct mayfly_error *error)
{
    struct mf_error own, *e = mayfly_error_of(error, &own);
    char *text = config != NULL ? mf_slice_dup(mf_str(config)) : NULL;
    struct mayfly_call c = {.run = reload, .arg = &text, .e = e};
    int rv;

    if (config != NULL && text == NULL)
        return mf_fail(e, MF_NOMEM, "configuration");
    rv = mayfly_ask(m, &c);
    free(text);
    return rv;
}
