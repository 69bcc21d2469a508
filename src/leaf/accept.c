/* accept.c: the accepting side: other servers attach to this one.
 *
 * Happy path: leaf_accept() sends INFO with a nonce (TLS follows, if it is configured); CONNECT
 * arrives; login.c finds the account; the answer is an INFO with the permissions of the user, then
 * all interest; link_use().
 * Failure: -ERR with nats-server's text, and close. */
#include "leaf/leaf_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "session/tls_setup.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define TLS_HELLO 0x16 /* the first byte of a TLS client */

int accept_tls(struct leaf *lf, struct mf_error *e)
{
    struct net_tls *made;
    int rv = tls_setup(&made, &leaf_options(lf)->tls, e);

    if (rv != 0)
        return mf_wrap(e, "leafnodes");
    net_tls_release(lf->tls);
    lf->tls = made;
    return 0;
}

/* --- INFO ------------------------------------------------------------------------------------- */

static struct json_strs borrow(const struct options_list *l)
{
    return (struct json_strs){l->items, l->n};
}

static bool is_any(const char *host)
{
    return host == NULL || host[0] == '\0' || strcmp(host, "0.0.0.0") == 0 ||
           strcmp(host, "::") == 0;
}

/* The address under which the peer may find this server again. */
static void own_address(const struct leaf_link *l, char url[300])
{
    const struct options_leaf *o = leaf_options(l->leaf);
    const char *host = o->advertise_host;
    int port = o->advertise_port;

    if (host == NULL)
        host = is_any(l->leaf->options->leafnodes.host) ? net_conn_local_ip(l->conn)
                                                        : l->leaf->options->leafnodes.host;
    if (port == 0)
        port = l->leaf->setup.port(l->leaf->setup.arg);
    (void)snprintf(url, 300, strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d", host, port);
}

void accept_send_info(struct leaf_link *l, bool answer)
{
    struct leaf *lf = l->leaf;
    const struct options *o = lf->options;
    const struct options_permissions *p = perms_options(l->perms);
    struct hello_subjects import, export;
    struct mf_buf line = MF_BUF_INIT;
    char ip[80], url[300], *urls[1] = {url};
    struct hello_info i = {.server_id = lf->setup.server_id,
                           .server_name = lf->setup.server_name,
                           .version = lf->setup.version,
                           .go = lf->setup.go_version,
                           .host = is_any(o->leafnodes.host) ? "0.0.0.0" : o->leafnodes.host,
                           .port = lf->setup.port(lf->setup.arg),
                           .ip = ip,
                           .nonce = answer ? NULL : l->nonce,
                           .cluster = leaf_cluster(lf, false),
                           .domain = leaf_domain(lf),
                           .proto = HELLO_TRACES,
                           .max_payload = o->max_payload,
                           .client_id = (int64_t)l->id,
                           .api_level = lf->setup.api_level,
                           .headers = !o->no_header_support,
                           .auth_required = true,
                           .tls_required = lf->tls != NULL && !l->ws,
                           .tls_verify = leaf_options(lf)->tls.verify,
                           .jetstream = o->jetstream.enabled,
                           .info_on_connect = true};

    l->told = true;
    if (!answer && !l->ws && leaf_options(lf)->compression.mode != OPTIONS_COMPRESS_NONE)
        i.compression = options_compress_name(leaf_options(lf)->compression.mode);
    own_address(l, url);
    (void)snprintf(ip, sizeof ip, "%s:%d", net_conn_local_ip(l->conn), (int)i.port);
    if (!leaf_options(lf)->no_advertise)
        i.urls = (struct json_strs){urls, 1};
    if (answer) {
        i.connect_info = true;
        i.remote_account = account_name(l->account);
        i.system = account_is_system(l->account);
    }
    if (answer && p != NULL) {
        import = (struct hello_subjects){borrow(&p->subscribe.allow), borrow(&p->subscribe.deny)};
        export = (struct hello_subjects){borrow(&p->publish.allow), borrow(&p->publish.deny)};
        i.import = &import;
        i.export = &export;
    }
    hello_info_write(&line, &i);
    if (!mf_buf_failed(&line))
        (void)net_write(l->conn, line.ptr, line.len);
    mf_buf_fini(&line);
}

/* --- begin ------------------------------------------------------------------------------------ */

static int64_t login_ns(const struct leaf *lf)
{
    const struct options_leaf *o = leaf_options(lf);
    int64_t ns = o->auth.timeout_ns > 0 ? o->auth.timeout_ns : 2 * CLOCK_S;
    int64_t with_tls = o->tls.timeout_ns + CLOCK_S;

    return lf->tls != NULL && with_tls > ns ? with_tls : ns;
}

static void begin_tls(struct leaf_link *l)
{
    const struct options_tls *t = &leaf_options(l->leaf)->tls;
    struct mf_error e;

    l->phase = LEAF_SECURING;
    link_wait(l, t->timeout_ns > 0 ? t->timeout_ns : 2 * CLOCK_S);
    if (net_conn_secure(l->conn, l->leaf->tls, &e) != 0) {
        link_log_error(l, "TLS leafnode handshake error: %s", e.text);
        link_close(l, NULL, REASON_TLS);
    }
}

static void wait_login(struct leaf_link *l)
{
    l->phase = LEAF_WAIT_LOGIN;
    link_wait(l, login_ns(l->leaf));
}

/* INFO, then TLS if it is configured. */
static void tell_first(struct leaf_link *l)
{
    accept_send_info(l, false);
    if (l->leaf->tls != NULL && !l->ws)
        begin_tls(l);
    else
        wait_login(l);
}

/* TLS may come before INFO: always, or if the peer begins with it in time. */
static void greet(struct leaf_link *l)
{
    const struct options_tls *t = &leaf_options(l->leaf)->tls;

    if (l->ws || l->leaf->tls == NULL || !t->handshake_first) {
        tell_first(l);
    } else if (t->handshake_first_fallback_ns <= 0) {
        begin_tls(l);
    } else {
        l->phase = LEAF_PEEKING;
        link_wait(l, t->handshake_first_fallback_ns);
    }
}

void accept_peeked(struct leaf_link *l, uint8_t first)
{
    if (first == TLS_HELLO && l->leaf->tls != NULL)
        begin_tls(l);
    else
        tell_first(l);
}

/* Too many connections have not logged in.  The log says it once, until half of them have gone. */
static bool is_crowded(struct leaf *lf)
{
    if (lf->strangers <= LEAF_UNKNOWN_MAX / 2)
        lf->crowded = false;
    if (lf->strangers < LEAF_UNKNOWN_MAX)
        return false;
    if (!lf->crowded)
        log_warn("Leafnode: %u connections have not logged in yet; until some of them do or time "
                 "out, further ones are closed",
                 lf->strangers);
    lf->crowded = true;
    return true;
}

void leaf_accept(struct leaf *lf, struct net_conn *conn, bool ws)
{
    struct leaf_link *l;
    char label[LINK_LABEL];

    if (lf->leaving || is_crowded(lf) || (l = link_new(lf, NULL)) == NULL) {
        net_close(conn, 0);
        return;
    }
    lf->totals.accepted++;
    l->conn = conn;
    nonce_make(l->nonce);
    l->ws = ws;
    if (ws)
        net_conn_set_handler(conn, &link_handler, l);
    else
        net_conn_start(conn, &link_handler, l);
    net_set_kept_max(conn, 4u * VERB_LINE_MAX);
    net_set_write_deadline(conn, leaf_options(lf)->write_deadline_ns);
    log_info("%s - Leafnode connection created", link_label(l, label));
    greet(l);
}

static bool is_pinned(const struct leaf_link *l, const struct options_tls *t)
{
    struct net_tls_peer peer;

    if (t->pinned.n == 0)
        return true;
    net_conn_tls_peer(l->conn, &peer);
    for (size_t i = 0; i < t->pinned.n; i++)
        if (strcmp(t->pinned.items[i], peer.spki_sha256) == 0)
            return true;
    return false;
}

void accept_secured(struct leaf_link *l)
{
    if (!is_pinned(l, &leaf_options(l->leaf)->tls)) {
        link_log_error(l, "TLS leafnode handshake error: certificate not pinned");
        link_close(l, NULL, REASON_TLS);
        return;
    }
    if (!l->told)
        accept_send_info(l, false);
    wait_login(l);
}

/* --- CONNECT ---------------------------------------------------------------------------------- */

void accept_refused(struct leaf_link *l)
{
    link_log_error(l, "authentication error%s%s%s", l->user != NULL ? " - User \"" : "",
                   l->user != NULL ? l->user : "", l->user != NULL ? "\"" : "");
    link_close(l, "Authorization Violation", REASON_AUTH_FAILURE);
}

void accept_refused_by(struct leaf_link *l, const struct login_refusal *no)
{
    const char *key = no->user != NULL ? no->user->key : NULL;
    char label[LINK_LABEL];

    if (no->why != NULL && no->loud)
        link_log_error(l, "%s", no->why);
    else if (no->why != NULL)
        log_debug("%s - %s", link_label(l, label), no->why);
    link_log_error(l, "authentication error%s%s%s", key != NULL ? " - JWT User \"" : "",
                   key != NULL ? key : "", key != NULL ? "\"" : "");
    if (no->account != NULL && l->leaf->setup.refused != NULL)
        l->leaf->setup.refused(l->leaf->setup.arg, l, no);
    link_close(l, no->err, no->reason);
}

static void refuse_with(struct leaf_link *l, const char *text, enum reason reason)
{
    link_log_error(l, "%s", text);
    link_close(l, text, reason);
}

static bool check_document(struct leaf_link *l, const struct hello_connect *c)
{
    const char *own = leaf_cluster(l->leaf, false);

    if (c->lang != NULL && c->lang[0] != '\0') {
        refuse_with(l, "attempted to connect to leaf node port", REASON_WRONG_PORT);
    } else if (c->gateway != NULL && c->gateway[0] != '\0') {
        link_log_error(l, "Rejecting connection from gateway \"%s\" on the leafnode port",
                       c->gateway);
        link_send_err(l, "Rejecting connection from gateway \"%s\" on the leafnode port",
                      c->gateway);
        link_close(l, NULL, REASON_WRONG_PORT);
    } else if (c->cluster != NULL && strchr(c->cluster, ' ') != NULL) {
        refuse_with(l, "cluster name cannot contain spaces", REASON_PROTOCOL);
    } else if (c->cluster != NULL && own != NULL && strcmp(c->cluster, own) == 0) {
        refuse_with(l, "remote leafnode has same cluster name", REASON_CLUSTER_NAMES);
    } else {
        return true;
    }
    return false;
}

/* CONNECT of a nats-server does not tell the largest message that it takes; the largest one that
 * was sent is the one that it refused, because a larger one would have been refused before. */
void accept_too_large(struct leaf_link *l)
{
    struct leaf *lf = l->leaf;
    struct leaf_refusal *r = &lf->refusals[lf->refusal_at++ % LEAF_REFUSALS];

    if (l->server_id == NULL || l->largest == 0)
        return;
    (void)snprintf(r->server_id, sizeof r->server_id, "%s", l->server_id);
    r->size = l->largest;
    link_log_error(l, "\"%s\" takes no message of %zu bytes: larger ones are dropped from now on",
                   l->name != NULL ? l->name : "", l->largest);
}

/* The smallest size that the server refused, less one; 0: none is known. */
static size_t known_limit(const struct leaf_link *l)
{
    size_t limit = 0;

    for (size_t i = 0; i < LEAF_REFUSALS && l->server_id != NULL; i++) {
        const struct leaf_refusal *r = &l->leaf->refusals[i];
        if (r->size > 0 && strcmp(r->server_id, l->server_id) == 0 &&
            (limit == 0 || r->size - 1 < limit))
            limit = r->size - 1;
    }
    return limit;
}

static void keep_identity(struct leaf_link *l, const struct hello_connect *c)
{
    l->name = link_keep(l, c->name);
    l->server_id = link_keep(l, c->server_id);
    l->cluster = link_keep(l, c->cluster);
    l->domain = link_keep(l, c->domain);
    l->version = link_keep(l, c->version);
    l->remote_account = link_keep(l, c->remote_account);
    l->headers = c->headers && !l->leaf->options->no_header_support;
    l->traces = l->headers && c->protocol >= HELLO_TRACES;
    l->spoke = c->is_hub;
    l->isolated = c->isolate || leaf_options(l->leaf)->isolate;
    l->max_out = c->max_payload > 0 ? (size_t)c->max_payload : known_limit(l);
    if (c->user != NULL && c->user[0] != '\0')
        l->user = mf_slice_dup(mf_str(c->user));
    for (size_t i = 0; i < c->deny_pub.n; i++) {
        char **at = arena_grow(&l->mem, l->peer_deny.at, l->peer_deny.n, sizeof(char *));
        char *text = arena_str(&l->mem, c->deny_pub.at[i]);
        if (at == NULL || text == NULL)
            return;
        l->peer_deny.at = at;
        at[l->peer_deny.n++] = text;
    }
}

static void read_connect(struct leaf_link *l, struct mf_slice json)
{
    struct arena mem = {.chunks = NULL};
    struct hello_connect c;
    struct mf_error e;

    if (hello_connect_read(json, &c, &mem, &e) != 0) {
        link_log_error(l, "CONNECT: %s", e.text);
        link_close(l, NULL, REASON_PROTOCOL);
    } else if (check_document(l, &c)) {
        keep_identity(l, &c);
        if (l->mem.failed)
            link_close(l, NULL, REASON_NO_MEMORY);
        else
            login_check(l, &c);
    }
    arena_fini(&mem);
}

/* The soliciting server wants to compress: its INFO in clear names the mode, and is answered with
 * the first INFO again, compressed. */
static void read_info(struct leaf_link *l, struct mf_slice json)
{
    enum options_compress own = leaf_options(l->leaf)->compression.mode, mode;
    struct arena mem = {.chunks = NULL};
    struct hello_info i;
    struct mf_error e;

    if (own == OPTIONS_COMPRESS_NONE || own == OPTIONS_COMPRESS_OFF || l->agreed || l->ws) {
        link_log_error(l, "INFO instead of CONNECT");
        link_close(l, "Authorization Violation", REASON_AUTH_FAILURE);
        return;
    }
    if (hello_info_read(json, &i, &mem, &e) != 0) {
        link_log_error(l, "INFO: %s", e.text);
        link_close(l, NULL, REASON_PROTOCOL);
    } else if (options_compress_agree(own, mf_str(i.compression), &mode) != 0) {
        link_send_err(l, "unsupported route compression mode \"%s\"", i.compression);
        link_close(l, NULL, REASON_PROTOCOL);
    } else if (mode != OPTIONS_COMPRESS_NONE && mode != OPTIONS_COMPRESS_OFF) {
        l->agreed = true;
        if (link_compress(l, mode))
            accept_send_info(l, false);
        else
            link_close(l, NULL, REASON_NO_MEMORY);
    }
    arena_fini(&mem);
}

void accept_command(struct leaf_link *l, const struct verb_cmd *cmd)
{
    if (cmd->op == VERB_INFO) {
        read_info(l, cmd->args);
        return;
    }
    if (cmd->op == VERB_CONNECT) {
        read_connect(l, cmd->args);
        return;
    }
    link_log_error(l, "the first line is no CONNECT");
    link_close(l, "Authorization Violation", REASON_AUTH_FAILURE);
}

/* --- into the account ------------------------------------------------------------------------- */

static const char *text_or_none(const char *s)
{
    return s != NULL ? s : "";
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(text_or_none(a), text_or_none(b)) == 0;
}

/* A connection of the same server to the same account is the dead predecessor of this one. */
static void evict_predecessor(struct leaf_link *l)
{
    struct mf_list *pos, *next;
    char label[LINK_LABEL];

    if (l->remote_account == NULL)
        return;
    mf_list_each_safe(pos, next, &l->leaf->links)
    {
        struct leaf_link *o = mf_container(pos, struct leaf_link, all);
        if (o == l || o->remote != NULL || o->phase != LEAF_USABLE || o->account != l->account ||
            !same_text(o->name, l->name) || !same_text(o->cluster, l->cluster) ||
            !same_text(o->remote_account, l->remote_account))
            continue;
        log_info("%s - Replacing connection from same server", link_label(l, label));
        if (!same_text(o->server_id, l->server_id))
            log_warn("%s - Server \"%s\" at %s (id %s) has the name of the one at %s (id %s): two "
                     "servers of one name replace each other for ever; give each a server_name of "
                     "its own",
                     link_label(l, label), text_or_none(l->name), net_conn_ip(l->conn),
                     text_or_none(l->server_id), net_conn_ip(o->conn), text_or_none(o->server_id));
        link_close(o, "Duplicate Remote LeafNode Connection", REASON_DUPLICATE_LEAF);
        return;
    }
}

static bool is_account_full(struct leaf_link *l)
{
    const struct options_account *o = account_options(l->account);

    return o != NULL && o->max_leafnodes >= 0 &&
           account_counters(l->account)->leafnodes >= (uint64_t)o->max_leafnodes;
}

static bool check_version(struct leaf_link *l)
{
    const struct options_leaf *o = leaf_options(l->leaf);
    unsigned v[3], *min = (unsigned *)o->min_version_parts;

    if (o->min_version == NULL)
        return true;
    if (hello_version(l->version, v) == 0 && (v[0] != min[0]   ? v[0] > min[0]
                                              : v[1] != min[1] ? v[1] > min[1]
                                                               : v[2] >= min[2]))
        return true;
    link_log_error(l, "connection rejected since minimum version required is \"%s\"",
                   o->min_version);
    link_send_err(l, "connection rejected since minimum version required is \"%s\"",
                  o->min_version);
    link_close(l, NULL, REASON_MIN_VERSION);
    return false;
}

void accept_entered(struct leaf_link *l, const struct auth_identity *who)
{
    l->account = accounts_get(l->leaf->setup.accounts, who->account);
    l->perms = who->perms;
    l->deadline_wall_ns = who->deadline_ns;
    free(l->user);
    l->user = who->name != NULL && who->name[0] != '\0' ? mf_slice_dup(mf_str(who->name)) : NULL;
    if (l->account == NULL) {
        refuse_with(l, "Missing Account", REASON_MISSING_ACCOUNT);
        return;
    }
    evict_predecessor(l);
    if (is_account_full(l)) {
        refuse_with(l, "maximum account active connections exceeded",
                    REASON_MAX_ACCOUNT_CONNECTIONS);
        return;
    }
    if (account_is_system(l->account) && l->domain != NULL &&
        strcmp(l->domain, leaf_domain(l->leaf)) == 0)
        link_log_error(l,
                       "\"%s\" connects to the system account with this server's JetStream domain "
                       "\"%s\" and would share its streams: not supported. Set another "
                       "jetstream { domain } there",
                       l->name != NULL ? l->name : "", l->domain);
    accept_send_info(l, true);
    if (!check_version(l))
        return;
    if (rules_set_denies(l, &l->peer_deny) != 0) {
        link_close(l, NULL, REASON_NO_MEMORY);
        return;
    }
    link_use(l);
}

void accept_admitted(struct leaf_link *l, const struct login_result *r)
{
    login_user_release(l->who);
    l->who = r->user;
    l->max_subs = r->max_subs;
    accept_entered(l, &(struct auth_identity){.account = account_name(r->account),
                                              .name = r->user->shown,
                                              .perms = r->perms,
                                              .deadline_ns = r->deadline_ns});
}

/* --- after a reload --------------------------------------------------------------------------- */

static bool same_list(const struct options_list *a, const struct options_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

static bool same_perms(const struct perms *a, const struct perms *b)
{
    const struct options_permissions *x = perms_options(a), *y = perms_options(b);

    if (x == NULL || y == NULL)
        return x == y;
    return x->publish.allow_set == y->publish.allow_set &&
           x->subscribe.allow_set == y->subscribe.allow_set &&
           same_list(&x->publish.allow, &y->publish.allow) &&
           same_list(&x->publish.deny, &y->publish.deny) &&
           same_list(&x->subscribe.allow, &y->subscribe.allow) &&
           same_list(&x->subscribe.deny, &y->subscribe.deny);
}

/* The spoke learns of new permissions by INFO.  That they ended cannot be said: it connects again.
 */
void accept_renew(struct leaf_link *l, struct perms *now)
{
    struct perms *old = l->perms;

    if (same_perms(old, now)) {
        perms_release(now);
        return;
    }
    if (now == NULL) {
        link_close(l, NULL, REASON_REMOTE_REMOVED);
        return;
    }
    l->perms = now;
    accept_send_info(l, true);
    realm_announce_again(l, old);
    perms_release(old);
}
