/* client.c: one client session from accept to close.
 *
 * Happy path: client_accept() sends INFO (after or before TLS), bytes_in() parses whole commands
 * straight from the read buffer, CONNECT enters an account, and a function of its own executes each
 * command. Failure: client_close() sends -ERR, flushes the output and closes; finish_close() is the
 * only place where a session ends: subscriptions are removed, the client leaves its account, memory
 * is freed. Waiting: while a worker checks credentials, or a slow reader stalls a publisher, the
 * connection is paused and net keeps the unparsed bytes. */
#include "server/client_trace_impl.h"
#include "server/server_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "loop/work.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes that an unauthenticated client may send while its password is being checked. */
#define UNKNOWN_KEPT_MAX (64u << 10)
#define LINGER_MS        1000
#define PATIENCE         16 /* commands between two checks whether others wait */

static const struct net_handler client_handler;

/* --- the list of open sessions ---------------------------------------------------------------- */

/* cids are consecutive, so they are their own hash. */
static int client_register(struct client *c)
{
    struct server *s = c->srv;

    if (table_add(&s->by_cid, &c->cid_node, c->cid) != 0)
        return MF_NOMEM;
    mf_list_push(&s->clients, &c->link);
    admission_add(c);
    s->nclients++;
    return 0;
}

static void client_unregister(struct client *c)
{
    mf_list_del(&c->link);
    admission_remove(c);
    table_del(&c->srv->by_cid, &c->cid_node);
    c->srv->nclients--;
}

/* --- lines to the client ---------------------------------------------------------------------- */

const char *client_ip(const struct client *c)
{
    if (c->proxied != NULL)
        return c->proxied->ip;
    return c->ws != NULL && c->ws->ip != NULL ? c->ws->ip : net_conn_ip(c->conn);
}

int client_port(const struct client *c)
{
    return c->proxied != NULL ? c->proxied->port : net_conn_port(c->conn);
}

void client_send_ok(struct client *c)
{
    if (!c->verbose)
        return;
    (void)net_write(c->conn, "+OK\r\n", 5);
    client_trace_out(c, "OK");
}

void client_send_err(struct client *c, const char *fmt, ...)
{
    struct mf_buf line = MF_BUF_INIT;
    va_list ap;

    mf_buf_puts(&line, "-ERR '");
    va_start(ap, fmt);
    mf_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    mf_buf_puts(&line, "'\r\n");
    if (!mf_buf_failed(&line)) {
        (void)net_write(c->conn, line.ptr, line.len);
        client_trace_out(c, "-ERR %.*s", (int)line.len - 9, (const char *)line.ptr + 6);
    }
    mf_buf_fini(&line);
}

void client_send_info(struct client *c, bool after_connect)
{
    struct mf_buf b = MF_BUF_INIT;

    c->sent_info = true;
    info_render(c, &b, after_connect);
    if (!mf_buf_failed(&b))
        (void)net_write(c->conn, b.ptr, b.len);
    mf_buf_fini(&b);
}

void client_send_ldm(struct client *c)
{
    if (c->connected && c->protocol >= 1)
        client_send_info(c, true);
}

static bool too_much_waits(const struct client *c)
{
    return net_queued(c->conn) > (uint64_t)c->srv->opts->max_pending;
}

void client_close(struct client *c, const char *err, enum reason reason)
{
    if (c->phase == CLIENT_CLOSING)
        return;
    if (err != NULL)
        client_send_err(c, "%s", err);
    c->close_reason = reason;
    c->phase = CLIENT_CLOSING;
    loop_timer_stop(c->timer);
    client_ws_farewell(c);
    /* Queued output is flushed, unless there is so much that the client seems not to read. */
    if (err != NULL && !too_much_waits(c))
        net_close_heard(c->conn, LINGER_MS);
    else
        net_close(c->conn, too_much_waits(c) ? 0 : LINGER_MS);
}

void client_slow(struct client *c)
{
    char label[256];

    c->srv->total.slow_consumers++;
    if (c->account != NULL)
        account_counters(c->account)->slow_consumers++;
    log_info("%s - Slow Consumer Detected: MaxPending of %lld Exceeded",
             client_label(c, label, sizeof label), (long long)c->srv->opts->max_pending);
    client_close(c, NULL, REASON_SLOW_PENDING);
}

/* --- the parse loop --------------------------------------------------------------------------- */

static void parse_failed(struct client *c, ssize_t why)
{
    char label[256];

    log_debug("%s - client parser error %zd", client_label(c, label, sizeof label), why);
    switch (why) {
    case PROTO_E_UNKNOWN:
        client_close(c, "Unknown Protocol Operation", REASON_PROTOCOL);
        break;
    case PROTO_E_LINE:
        client_close(c, "maximum control line exceeded", REASON_MAX_CONTROL_LINE);
        break;
    case PROTO_E_PAYLOAD:
        client_close(c, "Maximum Payload Violation", REASON_MAX_PAYLOAD);
        break;
    case PROTO_E_AUTH:
        notify_auth_failed(c, NULL);
        client_close(c, "Authorization Violation", REASON_AUTH_FAILURE);
        break;
    default:
        client_close(c, NULL, REASON_PARSE);
    }
}

static void command_ping(struct client *c)
{
    c->last_mono_ns = loop_mono_ns(c->srv->loop);
    (void)net_write(c->conn, "PONG\r\n", 6);
    client_trace_out(c, "PONG");
    if (c->connected && !c->sent_connect_info && c->protocol >= 1) {
        c->sent_connect_info = true;
        client_send_info(c, true);
    }
}

/* false: parsing stops, the rest of the input waits. */
static bool command_run(struct client *c, const struct proto_cmd *cmd)
{
    switch (cmd->op) {
    case PROTO_PUB:
    case PROTO_HPUB:
        client_publish(c, cmd);
        return !c->stall_wanted;
    case PROTO_SUB:
        client_subscribe(c, cmd);
        return true;
    case PROTO_UNSUB:
        client_unsubscribe(c, cmd);
        return true;
    case PROTO_PING:
        command_ping(c);
        return true;
    case PROTO_PONG:
        client_pong(c);
        return true;
    case PROTO_CONNECT:
        return client_connect(c, cmd->args);
    case PROTO_INFO: /* sent by servers only; ignored as in nats-server */
        if (!connect_info_ok(cmd->args))
            client_close(c, NULL, REASON_PARSE);
        return true;
    case PROTO_OK:
        return true;
    case PROTO_ERR:
        client_close(c, NULL, REASON_CLIENT_CLOSED);
        return true;
    }
    return true;
}

static void stall_begin(struct client *c)
{
    struct server *s = c->srv;

    c->stall_wanted = false;
    if (c->stalled || c->phase == CLIENT_CLOSING)
        return;
    c->stalled = true;
    s->total.stalled++;
    c->stalls++;
    if (mf_list_empty(&s->stalled))
        loop_timer_arm(s->stall_timer, loop_mono_ns(s->loop) + 5 * CLOCK_MS);
    mf_list_push(&s->stalled, &c->stall_link);
    net_pause(c->conn);
}

/* Whether other connections wait.  A long command ends with a measurement of its own; the time of
 * short ones is checked now and then. */
static inline bool turn_is_over(struct client *c, unsigned commands)
{
    struct loop *l = c->srv->loop;

    return work_turn_spent(l) || (commands % PATIENCE == 0 && work_spent(l));
}

static size_t commands_in(struct client *c, const uint8_t *p, size_t n)
{
    size_t done = 0;
    unsigned commands = 0;

    while (done < n && c->phase != CLIENT_CLOSING) {
        struct proto_cmd cmd;
        ssize_t used = proto_parse(p + done, n - done, &c->limits, &cmd);
        if (used == 0)
            return done;
        if (used < 0) {
            parse_failed(c, used);
            return n;
        }
        done += (size_t)used;
        if (MF_UNLIKELY(log_enabled(LOG_TRACE_)))
            client_trace_in(c, &cmd, mf_slice(p + done - used, (size_t)used));
        /* A first command other than CONNECT, where no credentials are required. */
        if (MF_UNLIKELY(c->account == NULL) && cmd.op <= PROTO_UNSUB && cmd.op != PROTO_CONNECT &&
            !client_enter_anonymous(c))
            return n;
        if (!command_run(c, &cmd))
            break;
        if (MF_UNLIKELY(turn_is_over(c, ++commands))) {
            net_yield(c->conn);
            break;
        }
    }
    /* Answers to its own commands count too: a peer could send PINGs and never read a PONG. */
    if (MF_UNLIKELY(too_much_waits(c)) && c->phase != CLIENT_CLOSING)
        client_slow(c);
    if (c->stall_wanted)
        stall_begin(c);
    return c->phase == CLIENT_CLOSING ? n : done;
}

/* --- TLS on the way in ------------------------------------------------------------------------ */

void client_plain_begin(struct client *c)
{
    c->phase = CLIENT_WAIT;
    if (!c->sent_info)
        client_send_info(c, false);
    client_timer_start(c);
}

void client_tls_begin(struct client *c)
{
    struct mf_error e;
    char label[256];

    if (c->srv->tls == NULL) { /* a reload removed TLS before the first byte arrived */
        client_plain_begin(c);
        return;
    }
    c->phase = CLIENT_TLS;
    if (net_conn_secure(c->conn, c->srv->tls, &e) != 0) {
        log_error("%s - TLS: %s", client_label(c, label, sizeof label), e.text);
        client_close(c, NULL, REASON_TLS);
        return;
    }
    client_timer_start(c); /* the delay of a fallback is not the handshake's limit */
}

#define TLS_HELLO 0x16

/* The first byte distinguishes TLS from plain text. true: plain text. */
static bool tls_peek(struct client *c, uint8_t first)
{
    bool plain_ok = c->phase == CLIENT_TLS_PEEK && c->srv->opts->allow_non_tls;

    if (first == TLS_HELLO || !plain_ok)
        client_tls_begin(c);
    else
        client_plain_begin(c);
    return c->phase == CLIENT_WAIT;
}

static size_t bytes_in(void *arg, const uint8_t *p, size_t n);

/* The header of a load balancer, and what stands behind it unless that is for TLS. */
static size_t proxied_in(struct client *c, const uint8_t *p, size_t n)
{
    size_t used = client_proxy_read(c, p, n);
    bool more = used < n && c->phase != CLIENT_PROXY && c->phase != CLIENT_TLS;

    return more ? used + bytes_in(c, p + used, n - used) : used;
}

static size_t bytes_in(void *arg, const uint8_t *p, size_t n)
{
    struct client *c = arg;

    if (MF_UNLIKELY(c->phase == CLIENT_PROXY))
        return proxied_in(c, p, n);
    if ((c->phase == CLIENT_TLS_FIRST || c->phase == CLIENT_TLS_PEEK) && !tls_peek(c, p[0]))
        return 0;
    if (c->phase == CLIENT_CLOSING)
        return n;
    if (c->phase == CLIENT_CHECKING || c->stalled)
        return 0; /* paused, but net may pass on bytes it had read */
    return commands_in(c, p, n);
}

static bool pinned_ok(const struct client *c, const struct options_tls *t)
{
    struct net_tls_peer peer;

    if (t->pinned.n == 0)
        return true;
    net_conn_tls_peer(c->conn, &peer);
    for (size_t i = 0; i < t->pinned.n; i++)
        if (strcmp(t->pinned.items[i], peer.spki_sha256) == 0)
            return true;
    return false;
}

static void finish_tls(void *arg)
{
    struct client *c = arg;
    char label[256];

    if (c->phase != CLIENT_TLS)
        return;
    if (!pinned_ok(c, &c->srv->opts->tls)) {
        log_error("%s - TLS handshake error: certificate not pinned",
                  client_label(c, label, sizeof label));
        client_close(c, NULL, REASON_TLS);
        return;
    }
    c->phase = CLIENT_WAIT;
    c->tls_first = !c->sent_info;
    if (!c->sent_info)
        client_send_info(c, false);
    client_timer_start(c);
}

/* --- begin and end ---------------------------------------------------------------------------- */

void client_free(struct client *c)
{
    loop_timer_free(c->timer);
    connect_opts_fini(&c->opts);
    grants_fini(&c->grants);
    perms_release(c->perms);
    login_user_release(c->who);
    table_fini(&c->subs);
    free(c->user);
    free(c->proxy_key);
    free(c->proxied);
    client_ws_free(c->ws);
    free(c);
}

static void finish_close(void *arg, enum net_why why, const char *text)
{
    struct client *c = arg;
    struct server *s = c->srv;
    char label[256];

    if (c->close_reason == REASON_NONE)
        c->close_reason = reason_of_net(why);
    c->phase = CLIENT_CLOSING;
    if (why == NET_CLOSED_SLOW) {
        s->total.slow_consumers++;
        if (c->account != NULL)
            account_counters(c->account)->slow_consumers++;
        log_info("%s - Slow Consumer Detected: WriteDeadline exceeded",
                 client_label(c, label, sizeof label));
    }
    if (why == NET_CLOSED_TLS)
        log_error("%s - TLS handshake error: %s", client_label(c, label, sizeof label), text);
    log_debug("%s - Client connection closed: %s", client_label(c, label, sizeof label),
              reason_text(c->close_reason));
    if (c->stalled)
        mf_list_del(&c->stall_link);
    client_auth_abandon(c);
    closed_remember(c);
    client_leave_account(c);
    client_unregister(c);
    departed_add(c);
    server_client_gone(s);
}

static const struct net_handler client_handler = {
    .bytes = bytes_in, .drained = NULL, .secured = finish_tls, .closed = finish_close};

static struct client *client_new(struct server *s, struct net_conn *conn, enum client_kind kind)
{
    struct client *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->srv = s;
    c->conn = conn;
    c->kind = kind;
    c->cid = ++s->next_cid;
    c->phase = CLIENT_WAIT;
    c->opts = CONNECT_OPTS_INIT;
    c->verbose = c->pedantic = c->echo = true;
    c->limits = (struct proto_limits){
        .max_control_line = (size_t)s->opts->max_control_line,
        .max_payload = (size_t)s->opts->max_payload,
        .connect_only = client_login_first(c),
    };
    c->start_wall_ns = loop_wall_ns(s->loop);
    c->start_mono_ns = c->last_mono_ns = loop_mono_ns(s->loop);
    c->timer = loop_timer_new(s->loop, client_timer_fired, c);
    c->max_subs = c->max_payload = -1;
    if (auth_needs_nonce(s->auth) || login_required(s->setup.login) ||
        s->opts->trusted_proxies.n > 0)
        nonce_make(c->nonce);
    mf_list_init(&c->link);
    mf_list_init(&c->stall_link);
    mf_list_init(&c->unknown_link);
    mf_list_init(&c->session_link);
    grants_init(&c->grants);
    if (c->timer == NULL || client_register(c) != 0) {
        client_free(c);
        return NULL;
    }
    s->total.total_connections++;
    return c;
}

static bool tls_throttled(struct server *s)
{
    int64_t now = loop_mono_ns(s->loop), limit = s->opts->tls.rate_limit;

    if (limit <= 0)
        return false;
    if (now - s->tls_window_ns >= CLOCK_S) {
        s->tls_window_ns = now;
        s->tls_in_window = 0;
    }
    return ++s->tls_in_window > limit;
}

/* A peer on this machine, without a network between, needs no TLS. */
bool client_speaks_tls(const struct client *c)
{
    return c->srv->tls != NULL && !net_conn_is_local(c->conn);
}

void client_begin(struct client *c)
{
    struct server *s = c->srv;
    const struct options_tls *t = &s->opts->tls;
    bool tls = client_speaks_tls(c);

    c->phase = CLIENT_WAIT;
    if (!c->sent_info) {
        c->phase = t->handshake_first_fallback_ns > 0 ? CLIENT_TLS_FIRST : CLIENT_TLS;
        if (c->phase == CLIENT_TLS)
            client_tls_begin(c);
    } else if (tls && s->opts->allow_non_tls) {
        c->phase = CLIENT_TLS_PEEK;
    } else if (tls) {
        client_tls_begin(c);
    }
    if (c->phase != CLIENT_CLOSING)
        client_timer_start(c);
}

static void client_greet(struct client *c)
{
    struct server *s = c->srv;
    bool tls = client_speaks_tls(c);
    bool proxied = s->opts->proxy_protocol && !net_conn_is_local(c->conn);

    if (tls && tls_throttled(s)) {
        client_close(c, "Connection throttling is active. Please try again later.", REASON_TLS);
        return;
    }
    if (proxied)
        client_proxy_begin(c);
    if (!tls || !s->opts->tls.handshake_first)
        client_send_info(c, false);
    if (!proxied)
        client_begin(c);
}

static bool client_admit(struct client *c)
{
    net_set_write_deadline(c->conn, c->srv->opts->write_deadline_ns);
    if (!admission_allows(c)) {
        client_send_info(c, false);
        client_close(c, "maximum connections exceeded", REASON_MAX_CONNECTIONS);
        return false;
    }
    return true;
}

void client_accept(struct server *s, struct net_conn *conn)
{
    struct client *c = s->stopping ? NULL : client_new(s, conn, CLIENT_TCP);
    char label[256];

    if (c == NULL) {
        net_close(conn, 0);
        return;
    }
    net_conn_start(conn, &client_handler, c);
    log_debug("%s - Client connection created", client_label(c, label, sizeof label));
    if (client_admit(c))
        client_greet(c);
}

void client_accept_ws(void *server, struct net_conn *conn, const struct ws_request *r)
{
    struct server *s = server;
    bool leaf = mf_ends(mf_str(r->path), "/leafnode");
    struct client *c = s->stopping || leaf ? NULL : client_new(s, conn, CLIENT_WS);
    char label[256];

    if (leaf && !s->stopping && s->leafnode != NULL && s->opts->leafnodes.listens) {
        s->leafnode(s->leafnode_arg, conn, true);
        return;
    }
    if (leaf)
        log_error("%s:%d - Not configured to accept leaf node connections: set leafnodes { port }",
                  net_conn_ip(conn), net_conn_port(conn));
    if (c == NULL) {
        net_close(conn, 0);
        return;
    }
    c->ws = client_ws_new(s, r);
    net_set_kept_max(conn, UNKNOWN_KEPT_MAX);
    net_conn_set_handler(conn, &client_handler, c);
    log_debug("%s - WebSocket client connection created", client_label(c, label, sizeof label));
    if (!pinned_ok(c, &s->opts->websocket.tls)) {
        log_error("%s - TLS handshake error: certificate not pinned",
                  client_label(c, label, sizeof label));
        client_close(c, NULL, REASON_TLS);
        return;
    }
    if (!client_admit(c))
        return;
    client_send_info(c, false);
    client_timer_start(c);
}
