/* client_proxy.c: the header of a load balancer (proxy_protocol), before the bytes of a client.
 *
 * Happy path: client_proxy_begin() arms the timer; client_proxy_read() finds a header and the
 * client goes by the address in it from here on.  Without a header the connection is an ordinary
 * one, as with nats-server.  Failure: a bad header, or none within PROXY_TIME. */
#include "server/server_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define PROXY_TIME (5 * CLOCK_S)

void client_proxy_begin(struct client *c)
{
    c->phase = CLIENT_PROXY;
    loop_timer_arm(c->timer, loop_mono_ns(c->srv->loop) + PROXY_TIME);
}

static void refuse_header(struct client *c, const char *why)
{
    log_warn("Error reading PROXY protocol header from %s:%d: %s", client_ip(c), client_port(c),
             why);
    client_close(c, NULL, REASON_PROTOCOL);
}

void client_proxy_late(struct client *c)
{
    refuse_header(c, "i/o timeout");
}

static void keep_peer(struct client *c, const struct proxy_peer *peer)
{
    if (peer->ip[0] == '\0')
        return;
    c->proxied = malloc(sizeof *c->proxied);
    if (c->proxied == NULL)
        client_close(c, NULL, REASON_NO_MEMORY);
    else
        *c->proxied = *peer;
}

size_t client_proxy_read(struct client *c, const uint8_t *p, size_t n)
{
    struct proxy_peer peer;
    struct mf_error e;
    ssize_t used = proxy_parse(p, n, &peer, &e);

    if (used == PROXY_MORE)
        return 0;
    if (used == PROXY_BAD) {
        refuse_header(c, e.text);
        return n;
    }
    if (used > 0)
        keep_peer(c, &peer);
    if (c->phase != CLIENT_CLOSING)
        client_begin(c);
    return used > 0 ? (size_t)used : 0;
}
