/* closed.c: the last connections that ended, for /connz?state=closed.  At most max_closed_clients
 * of them, each in one small allocation; remembering one is O(its subscriptions, at most 32). */
#include "server/server_int.h"

#include "base/clock.h"

#include <stdlib.h>

/* Below a millisecond only whole microseconds are shown. */
int64_t conn_rtt_ns(const struct client *c)
{
    int64_t rtt = c->rtt_ns > 0 ? c->rtt_ns : c->hello_ns;

    return rtt > CLOCK_US && rtt < CLOCK_MS ? rtt / CLOCK_US * CLOCK_US : rtt;
}

/* Who it is, or, before it was let in, who it says it is; never a secret. */
const char *conn_user(const struct client *c)
{
    if (c->user != NULL)
        return c->user;
    if (c->opts.nkey != NULL)
        return c->opts.nkey;
    if (c->opts.user != NULL)
        return c->opts.user;
    return c->by_token || c->opts.token != NULL ? "[REDACTED]" : NULL;
}

bool conn_has_issuer(const struct client *c)
{
    return c->user != NULL && c->opts.nkey != NULL && strcmp(c->user, c->opts.nkey) == 0;
}

void conn_info_of(const struct client *c, struct conn_info *out)
{
    struct net_tls_peer peer;
    int64_t quiet = loop_mono_ns(c->srv->loop) - c->last_mono_ns;

    *out = (struct conn_info){
        .cid = c->cid,
        .kind = c->kind,
        .ip = client_ip(c),
        .port = net_conn_port(c->conn),
        .start_ns = c->start_wall_ns,
        .last_ns = loop_wall_ns(c->srv->loop) - quiet,
        .reason = c->close_reason,
        .rtt_ns = conn_rtt_ns(c),
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
        .account = c->account != NULL ? account_name(c->account) : ACCOUNT_GLOBAL,
        .user = conn_user(c),
    };
    if (net_conn_is_secure(c->conn)) {
        net_conn_tls_peer(c->conn, &peer);
        out->tls_version = peer.version;
        out->tls_cipher = peer.cipher;
        out->tls_first = c->tls_first;
    }
}

/* Strings are laid one after the other behind the struct; counted first, copied second. */
struct strings {
    char *at; /* NULL: only count */
    size_t bytes;
};
static void keep(struct strings *s, const char **text)
{
    size_t n;

    if (*text == NULL)
        return;
    n = strlen(*text) + 1;
    if (s->at != NULL) {
        memcpy(s->at, *text, n);
        *text = s->at;
        s->at += n;
    }
    s->bytes += n;
}

static void keep_slice(struct strings *s, struct mf_slice text, const char **out)
{
    if (s->at != NULL) {
        memcpy(s->at, text.ptr, text.len);
        s->at[text.len] = '\0';
        *out = s->at;
        s->at += text.len + 1;
    }
    s->bytes += text.len + 1;
}

static void keep_info(struct strings *s, struct conn_info *i)
{
    keep(s, &i->ip);
    keep(s, &i->name);
    keep(s, &i->lang);
    keep(s, &i->version);
    keep(s, &i->account);
    keep(s, &i->user);
    /* reason and TLS names are literals or live in OpenSSL's tables */
}

/* Ten thousand closed clients with long subjects must not hold a gigabyte.  Counting and copying
 * add up the same bytes, so both passes stop at the same subscription. */
#define CLOSED_TEXT 4096

static size_t keep_subs(struct strings *s, const struct client *c, struct sub_info *out)
{
    size_t n = 0;

    for (size_t i = 0; i < c->subs.cap; i++)
        for (struct table_node *at = c->subs.slot[i];
             at != NULL && n < CLOSED_SUBS && s->bytes < CLOSED_TEXT; at = at->next) {
            struct sub *sub = mf_container(at, struct sub, node);
            struct sub_info info = {.msgs = sub->delivered, .max = sub->max};
            keep_slice(s, sub->rs.pattern, &info.subject);
            if (sub->rs.queue.len > 0)
                keep_slice(s, sub->rs.queue, &info.queue);
            keep_slice(s, mf_slice(sub->sid, sub->sid_len), &info.sid);
            if (out != NULL)
                out[n] = info;
            n++;
        }
    return n;
}

static void forget(struct closed_client *k)
{
    k->gone = true;
    if (k->held == 0)
        free(k);
}

void closed_hold(struct closed_client *k)
{
    k->held++;
}

void closed_release(struct closed_client *k)
{
    if (--k->held == 0 && k->gone)
        free(k);
}

void closed_remember(struct client *c)
{
    struct server *s = c->srv;
    struct strings count = {NULL, 0}, copy;
    struct conn_info info;
    struct closed_client *k;
    size_t nsubs;

    if (s->stopping || s->opts->max_closed_clients <= 0)
        return;
    conn_info_of(c, &info);
    info.stop_ns = loop_wall_ns(s->loop);
    keep_info(&count, &info);
    nsubs = keep_subs(&count, c, NULL);
    k = malloc(sizeof *k + nsubs * sizeof *k->subs + count.bytes);
    if (k == NULL)
        return;
    k->info = info;
    k->held = 0;
    k->gone = false;
    k->nsubs = nsubs;
    k->subs = (struct sub_info *)(void *)(k + 1);
    copy = (struct strings){(char *)(k->subs + nsubs), 0};
    keep_info(&copy, &k->info);
    keep_subs(&copy, c, k->subs);
    mf_list_push(&s->closed, &k->link);
    if (++s->nclosed > (uint64_t)s->opts->max_closed_clients) {
        forget(mf_container(mf_list_pop(&s->closed), struct closed_client, link));
        s->nclosed--;
    }
}

void closed_free_all(struct server *s)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &s->closed) forget(mf_container(pos, struct closed_client, link));
    mf_list_init(&s->closed);
    s->nclosed = 0;
}
