/* ports.c: the addresses that a configuration listens on: none twice, and which are in use now. */
#include "server/server_impl.h"

#include <stdio.h>

struct port {
    const char *what, *host;
    int port;
};
#define PORTS_MOST 8

static size_t list_ports(const struct options *o, struct port out[PORTS_MOST])
{
    const struct options_block *blocks[] = {&o->leafnodes, &o->cluster, &o->gateway, &o->mqtt};
    static const char *const names[] = {"leafnodes", "cluster", "gateway", "mqtt"};
    size_t n = 0;

    if (!o->dont_listen)
        out[n++] = (struct port){"clients", o->host, o->port};
    if (o->http_port != 0)
        out[n++] = (struct port){"monitoring", o->http_host, o->http_port};
    if (o->https_port != 0)
        out[n++] = (struct port){"monitoring", o->http_host, o->https_port};
    if (o->websocket.set)
        out[n++] = (struct port){"websocket", o->websocket.host, o->websocket.port};
    for (size_t i = 0; i < MF_COUNT(blocks); i++)
        if (blocks[i]->set && blocks[i]->listens)
            out[n++] = (struct port){names[i], blocks[i]->host, blocks[i]->port};
    return n;
}

bool ports_is_any(const char *host)
{
    return host == NULL || host[0] == '\0' || strcmp(host, "0.0.0.0") == 0 ||
           strcmp(host, "::") == 0;
}

static bool collide(const struct port *a, const struct port *b)
{
    return a->port > 0 && a->port == b->port &&
           (ports_is_any(a->host) || ports_is_any(b->host) || strcmp(a->host, b->host) == 0);
}

static int check_pairs(const struct port *p, size_t n, struct mf_error *e)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (collide(&p[i], &p[k]))
                return mf_fail(e, MF_INVAL,
                               "port %d is for %s and for %s: give each a port of its own",
                               p[i].port, p[i].what, p[k].what);
    return 0;
}

int ports_check(const struct options *o, struct mf_error *e)
{
    struct port p[PORTS_MOST];

    return check_pairs(p, list_ports(o, p), e);
}

int ports_probe(const struct options *o, void (*say)(void *arg, const char *text), void *arg,
                struct mf_error *e)
{
    struct port p[PORTS_MOST];
    size_t n = list_ports(o, p);
    char text[640], address[PORTS_MOST][NET_ADDRESS];

    for (size_t i = 0; i < n; i++) {
        struct mf_error why;
        int rv = net_listen_probe(p[i].host, p[i].port, address[i], &why);
        if (rv == 0)
            p[i].host = address[i];
        if (rv != 0 && rv != MF_EXISTS)
            return mf_fail(e, rv, "%s: %s", p[i].what, why.text);
        if (rv == MF_EXISTS) {
            snprintf(text, sizeof text,
                     "%s: %s; a start succeeds when the program that listens there has ended",
                     p[i].what, why.text);
            say(arg, text);
        }
    }
    return check_pairs(p, n, e); /* names stand for the same address, perhaps */
}
