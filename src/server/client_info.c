/* client_info.c: open connections as pages and events show them, and orders of operators. */
#include "server/server_impl.h"

#include "base/clock.h"

/* Below a millisecond only whole microseconds are shown. */
int64_t client_rtt_ns(const struct client *c)
{
    int64_t rtt = c->rtt_ns > 0 ? c->rtt_ns : c->hello_ns;

    return rtt > CLOCK_US && rtt < CLOCK_MS ? rtt / CLOCK_US * CLOCK_US : rtt;
}

/* The authenticated user, or the user of CONNECT before that; never a secret. */
const char *client_user(const struct client *c)
{
    if (c->user != NULL)
        return c->user;
    if (c->opts.nkey != NULL)
        return c->opts.nkey;
    if (c->opts.user != NULL)
        return c->opts.user;
    return c->by_token || c->opts.token != NULL ? "[REDACTED]" : NULL;
}

const struct login_user *client_who(const struct client *c)
{
    return c->who;
}

static const char *issuer_of(const struct client *c)
{
    if (c->account == NULL)
        return NULL;
    if (c->who != NULL)
        return c->who->issuer;
    return c->user != NULL && c->opts.nkey != NULL && strcmp(c->user, c->opts.nkey) == 0
               ? account_name(c->account)
               : NULL;
}

void client_info_of(const struct client *c, struct client_info *out)
{
    struct net_tls_peer peer;
    int64_t quiet = loop_mono_ns(c->srv->loop) - c->last_mono_ns;

    *out = (struct client_info){
        .cid = c->cid,
        .kind = c->kind,
        .ip = client_ip(c),
        .port = client_port(c),
        .start_ns = c->start_wall_ns,
        .last_ns = loop_wall_ns(c->srv->loop) - quiet,
        .reason = reason_text(c->close_reason),
        .rtt_ns = client_rtt_ns(c),
        .pending = net_queued(c->conn),
        .in_msgs = c->in_msgs,
        .in_bytes = c->in_bytes,
        .out_msgs = c->out_msgs,
        .out_bytes = c->out_bytes,
        .stalls = c->stalls,
        .nsubs = c->subs.count,
        .name = c->opts.name,
        .lang = c->opts.lang,
        .version = c->opts.version,
        .proxy_key = c->proxy_key,
        .account = c->account != NULL ? account_name(c->account) : ACCOUNT_GLOBAL,
        .account_tag = c->account != NULL ? account_tag(c->account) : ACCOUNT_GLOBAL,
        .user = client_user(c),
        .issuer = issuer_of(c),
        .who = c->who,
        .refused = c->account == NULL,
    };
    if (net_conn_is_secure(c->conn)) {
        net_conn_tls_peer(c->conn, &peer);
        out->tls_version = peer.version;
        out->tls_cipher = peer.cipher;
        out->tls_first = c->tls_first;
    }
}

struct server *client_server(const struct client *c)
{
    return c->srv;
}
struct account *client_account(const struct client *c)
{
    return c->account;
}
const struct perms *client_perms(const struct client *c)
{
    return c->perms;
}
int64_t client_deadline_ns(const struct client *c)
{
    return c->deadline_wall_ns;
}
bool client_is_closing(const struct client *c)
{
    return c->phase == CLIENT_CLOSING;
}
void client_tls_peer(const struct client *c, struct net_tls_peer *out)
{
    net_conn_tls_peer(c->conn, out);
}

/* --- in slices -------------------------------------------------------------------------------- */

struct subs_visit {
    void (*visit)(void *arg, const struct client_sub *sub);
    void *arg;
};

static void visit_sub(void *arg, struct table_node *n)
{
    const struct subs_visit *v = arg;
    const struct sub *sub = mf_container(n, struct sub, node);

    v->visit(v->arg, &(struct client_sub){.subject = sub->rs.pattern,
                                          .queue = sub->rs.queue,
                                          .sid = mf_slice(sub->sid, sub->sid_len),
                                          .msgs = sub->delivered,
                                          .max = sub->max,
                                          .cid = sub->client->cid});
}

void client_subs_begin(const struct client *c, struct table_scan *scan)
{
    table_scan_begin(scan, &c->subs);
}

bool client_subs_scan(const struct client *c, struct table_scan *scan,
                      void (*visit)(void *arg, const struct client_sub *sub), void *arg)
{
    struct subs_visit v = {visit, arg};

    return table_scan(&c->subs, scan, visit_sub, &v);
}

struct clients_visit {
    void (*visit)(void *arg, const struct client *c);
    void *arg;
};

static void visit_client(void *arg, struct table_node *n)
{
    const struct clients_visit *v = arg;

    v->visit(v->arg, mf_container(n, struct client, cid_node));
}

void server_clients_begin(const struct server *s, struct table_scan *scan)
{
    table_scan_begin(scan, &s->by_cid);
}

bool server_clients_scan(const struct server *s, struct table_scan *scan,
                         void (*visit)(void *arg, const struct client *c), void *arg)
{
    struct clients_visit v = {visit, arg};

    return table_scan(&s->by_cid, scan, visit_client, &v);
}

struct client *server_find_client(const struct server *s, uint64_t cid)
{
    struct table_node *n = table_first(&s->by_cid, cid);

    return n == NULL ? NULL : mf_container(n, struct client, cid_node);
}

/* --- orders ----------------------------------------------------------------------------------- */

void client_kick(struct client *c)
{
    client_close(c, NULL, REASON_KICKED);
}

bool client_ask_to_leave(struct client *c)
{
    if (!c->connected || c->protocol < 1 || !c->sent_connect_info)
        return false;
    c->leave = true;
    client_send_ldm(c);
    c->leave = false;
    return true;
}
