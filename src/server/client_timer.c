/* client_timer.c: the one timer of a session.  Until CONNECT it is the authentication timeout (or,
 * for TLS-first listeners, the delay after which INFO is sent in clear); then it drives pings. */
#include "server/client_enter_impl.h"
#include "server/client_trace_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"

int64_t client_auth_timeout(const struct client *c)
{
    const struct options *o = c->srv->opts;
    const struct options_auth *a =
        c->kind == CLIENT_WS && o->websocket.auth.set ? &o->websocket.auth : &o->auth;
    const struct options_tls *t = c->kind == CLIENT_WS ? &o->websocket.tls : &o->tls;
    int64_t timeout = a->timeout_ns > 0 ? a->timeout_ns : 2 * CLOCK_S;
    int64_t with_tls = t->timeout_ns + CLOCK_S;

    /* The handshake precedes them and has its own limit; credentials get one more second. */
    return t->set && with_tls > timeout ? with_tls : timeout;
}

static bool needs_timer(const struct client *c)
{
    return c->phase < CLIENT_WAIT || client_login_first(c);
}

void client_timer_start(struct client *c)
{
    const struct options_tls *t = &c->srv->opts->tls;
    int64_t now = loop_mono_ns(c->srv->loop), after;

    if (!needs_timer(c)) {
        /* No credentials are required: pings begin even without CONNECT. */
        client_timer_pings(c);
        return;
    }
    if (c->phase == CLIENT_TLS_FIRST && t->handshake_first_fallback_ns > 0)
        after = t->handshake_first_fallback_ns;
    else if (c->phase < CLIENT_WAIT)
        after = (c->kind == CLIENT_WS ? c->srv->opts->websocket.tls.timeout_ns : t->timeout_ns);
    else
        after = c->login != NULL ? client_login_patience(c) : client_auth_timeout(c);
    loop_timer_arm(c->timer, now + after);
}

/* Arms the timer for the next ping or for the end of the credentials, whichever comes first. */
static void arm_next(struct client *c)
{
    int64_t next = c->next_ping_ns;

    if (c->deadline_wall_ns != 0) {
        int64_t left = c->deadline_wall_ns - loop_wall_ns(c->srv->loop);
        int64_t end = loop_mono_ns(c->srv->loop) + left;
        next = end < next ? end : next;
    }
    loop_timer_arm(c->timer, next);
}

static int64_t ping_every(const struct client *c)
{
    const struct options *o = c->srv->opts;

    return c->kind == CLIENT_WS && o->websocket.ping_interval_ns > 0 ? o->websocket.ping_interval_ns
                                                                     : o->ping_interval_ns;
}

/* The first ping is early, to measure the round trip time; a random delay keeps ten thousand
 * clients that reconnect together from being pinged together. */
void client_timer_pings(struct client *c)
{
    int64_t every = ping_every(c);

    /* The kernel reports the end of a peer on this machine, so an idle one is left alone. */
    if (net_conn_is_local(c->conn)) {
        c->next_ping_ns = INT64_MAX;
        if (c->deadline_wall_ns != 0)
            arm_next(c);
        else
            loop_timer_stop(c->timer);
        return;
    }
    int64_t first = every < 2 * CLOCK_S ? every : 2 * CLOCK_S;

    first += (int64_t)((double)first * 0.2 * rand_below(1000) / 1000.0);
    c->next_ping_ns = loop_mono_ns(c->srv->loop) + first;
    arm_next(c);
}

static void send_ping(struct client *c, int64_t now)
{
    c->pings_out++;
    c->ping_sent_ns = now;
    (void)net_write(c->conn, "PING\r\n", 6);
    client_trace_out(c, "PING");
}

void client_pong(struct client *c)
{
    if (c->ping_sent_ns != 0)
        c->rtt_ns = clock_mono_ns() - c->ping_sent_ns;
    c->ping_sent_ns = 0;
    c->pings_out = 0;
}

static bool have_credentials_ended(struct client *c)
{
    return c->deadline_wall_ns != 0 && loop_wall_ns(c->srv->loop) >= c->deadline_wall_ns;
}

static void check_pings(struct client *c)
{
    int64_t every = ping_every(c), now = loop_mono_ns(c->srv->loop);

    if (have_credentials_ended(c)) {
        client_close(c, "User Authentication Expired", REASON_AUTH_EXPIRED);
        return;
    }
    if (now >= c->next_ping_ns) {
        bool quiet = now - c->last_mono_ns >= every;
        /* An active client is alive; the first ping measures the round trip time anyway. */
        if ((quiet || c->rtt_ns == 0) && c->pings_out + 1 > c->srv->opts->ping_max) {
            c->srv->total.stale_connections++;
            client_close(c, "Stale Connection", REASON_STALE);
            return;
        }
        if (quiet || c->rtt_ns == 0)
            send_ping(c, now);
        c->next_ping_ns = now + every;
    }
    arm_next(c);
}

void client_timer_fired(void *client)
{
    struct client *c = client;
    char label[256];

    switch (c->phase) {
    case CLIENT_PROXY:
        client_proxy_late(c);
        return;
    case CLIENT_TLS_FIRST:
        if (c->srv->tls != NULL && c->srv->opts->tls.handshake_first_fallback_ns <= 0) {
            client_close(c, NULL, REASON_TLS);
            return;
        }
        client_send_info(c, false);
        c->phase = CLIENT_TLS_PEEK;
        if (!c->srv->opts->allow_non_tls || c->srv->tls == NULL)
            client_tls_begin(c);
        if (c->phase == CLIENT_TLS_PEEK || c->phase == CLIENT_TLS)
            client_timer_start(c);
        return;
    case CLIENT_TLS_PEEK:
        client_plain_begin(c); /* a peer that waits for INFO does not begin with TLS */
        return;
    case CLIENT_TLS:
        log_error("%s - TLS handshake error: timeout", client_label(c, label, sizeof label));
        client_close(c, "Secure Connection - TLS Required", REASON_TLS);
        return;
    case CLIENT_WAIT:
    case CLIENT_CHECKING:
        if (!c->connected && client_login_first(c))
            client_close(c, "Authentication Timeout", REASON_AUTH_TIMEOUT);
        else
            check_pings(c);
        return;
    case CLIENT_READY:
        check_pings(c);
        return;
    case CLIENT_CLOSING:
        return;
    }
}
