/* dial.c: the soliciting side: configured remotes, and the handshake with a hub.
 *
 * Happy path: dial_next() connects to the next address; the first INFO arrives (TLS follows, if it
 * or the remote says so); CONNECT is sent; the second INFO names the account and the permissions of
 * the hub's user; link_use().
 * Failure: dial_ended() arms the timer for the next attempt, for ever: after `reconnect` where a
 * link was lost, up to twice that where no connection was made, and 30 s later where trying again
 * cannot help soon (a loop, the same cluster name, a second way to the same hub). */
#include "leaf/leaf_impl.h"

#include "auth/creds.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "session/tls_setup.h"
#include "ws/ws_dial.h"

#include <stdio.h>
#include <stdlib.h>

#define ANSWER_NS      (2 * CLOCK_S)
#define MIN_VERSION_NS (5 * CLOCK_S)

/* --- attempts --------------------------------------------------------------------------------- */

static void arm_retry(struct leaf_remote *r, int64_t delay_ns)
{
    if (r->removed || r->leaf->leaving || r->opt->disabled)
        return;
    loop_timer_arm(r->timer, loop_mono_ns(r->leaf->loop) + delay_ns + r->delay_ns);
    r->delay_ns = 0;
}

static int64_t reconnect_ns(const struct leaf_remote *r)
{
    int64_t ns = leaf_options(r->leaf)->reconnect_ns;

    return ns > 0 ? ns : CLOCK_S;
}

static int64_t with_jitter(int64_t ns)
{
    uint64_t ms = (uint64_t)(ns / CLOCK_MS);

    return ns + (int64_t)rand_below(ms < UINT32_MAX ? (uint32_t)ms + 1 : UINT32_MAX) * CLOCK_MS;
}

static void report_failure(struct leaf_remote *r, const struct leaf_target *t, const char *why)
{
    const struct options *o = r->leaf->options;
    int64_t every = r->established > 0 ? o->reconnect_error_reports : o->connect_error_reports;

    r->attempts++;
    if (r->attempts == 1 || every <= 1 || r->attempts % (uint64_t)every == 0)
        log_error("Error trying to connect as leafnode to remote server \"%s:%d\" (attempt %llu): "
                  "%s",
                  t->host, t->port, (unsigned long long)r->attempts, why);
    else
        log_debug("Error trying to connect as leafnode to remote server \"%s:%d\" (attempt %llu): "
                  "%s",
                  t->host, t->port, (unsigned long long)r->attempts, why);
}

static void dial_secure(struct leaf_link *l);

static void connected(void *arg)
{
    struct leaf_link *l = arg;
    struct leaf_remote *r = l->remote;
    char label[LINK_LABEL];

    r->attempts = 0;
    l->phase = LEAF_WAIT_INFO;
    net_set_write_deadline(l->conn, leaf_options(l->leaf)->write_deadline_ns);
    log_info("%s - Leafnode connection created for account: %s", link_label(l, label),
             account_name(l->account));
    link_wait(l, r->opt->first_info_timeout_ns);
    if (!l->ws && r->opt->tls.set && r->opt->tls.handshake_first)
        dial_secure(l);
}

/* --- WebSocket -------------------------------------------------------------------------------- */

static void ws_ready(void *arg, struct net_conn *c, const struct ws_agreed *a)
{
    struct leaf_link *l = arg;

    (void)a;
    /* nats-server would wrap the frames in S2, which no proxy understands: permessage-deflate is
     * the compression of a WebSocket. */
    l->agreed = true;
    l->level = OPTIONS_COMPRESS_OFF;
    net_conn_set_handler(c, &link_handler, l);
    connected(l);
}

static void ws_failed(void *arg, enum net_why why, const char *text)
{
    struct leaf_link *l = arg;

    (void)why;
    loop_timer_stop(l->timer);
    dial_ended(l, text);
    link_free(l);
}

static int dial_ws(struct leaf_link *l, const struct leaf_target *t, const struct net_dial_to *to,
                   struct mf_error *e)
{
    static const struct ws_dial_handler handler = {.ready = ws_ready, .failed = ws_failed};
    const struct options_leaf_remote *o = l->remote->opt;
    struct options_tls block = o->tls;
    struct net_tls *tls = NULL;
    char path[1024];
    int rv;

    (void)snprintf(path, sizeof path, "%s/leafnode", t->path != NULL ? t->path : "");
    block.set = true;
    if ((t->tls || o->tls.set) && tls_setup(&tls, &block, e) != 0)
        return e->code;
    struct ws_target target = {.host = t->host,
                               .port = t->port,
                               .path = path,
                               .tls = tls,
                               .tls_name = remote_is_address(t->host) ? l->remote->tls_name : NULL,
                               .compression = o->ws_compression,
                               .no_masking = o->ws_no_masking,
                               .spread = true,
                               .dial_ns = to->timeout_ns,
                               .tls_ns = o->tls.timeout_ns};
    if (o->proxy.set && o->proxy.tls) {
        net_tls_release(tls);
        return mf_fail(e, MF_UNSUPPORTED, "proxy: TLS to the proxy itself is not available");
    }
    if (o->proxy.set) {
        target.proxy_host = o->proxy.host;
        target.proxy_port = o->proxy.port;
        target.proxy_user = o->proxy.user;
        target.proxy_password = o->proxy.password;
        target.dial_ns = target.proxy_ns = o->proxy.timeout_ns;
    }
    l->ws = true;
    rv = ws_dial(&l->conn, l->leaf->loop, &target, &handler, l, e);
    net_tls_release(tls);
    return rv;
}

static int dial_target(struct leaf_link *l, const struct leaf_target *t, struct mf_error *e)
{
    const struct options_leaf_remote *o = l->remote->opt;
    struct net_dial_to to = {.host = t->host,
                             .port = t->port,
                             .timeout_ns = o->dial_timeout_ns > 0 ? o->dial_timeout_ns : CLOCK_S,
                             .spread = true};

    return t->ws ? dial_ws(l, t, &to, e)
                 : net_dial(&l->conn, l->leaf->loop, &to, connected, &link_handler, l, e);
}

static void dial_now(struct leaf_remote *r)
{
    struct leaf_target *t;
    struct leaf_link *l;
    struct mf_error e;

    r->at = r->at + 1 >= r->ntargets ? 0 : r->at + 1;
    t = &r->targets[r->at];
    l = link_new(r->leaf, r);
    if (l == NULL) {
        arm_retry(r, with_jitter(reconnect_ns(r)));
        return;
    }
    l->account = r->account;
    log_debug("Trying to connect as leafnode to remote server on \"%s:%d\"", t->host, t->port);
    if (dial_target(l, t, &e) != 0) {
        report_failure(r, t, e.text);
        link_free(l);
        arm_retry(r, with_jitter(reconnect_ns(r)));
        return;
    }
    r->conn = l;
}

static void report_account(struct leaf_remote *r, const char *why)
{
    int64_t every = r->leaf->options->connect_error_reports;

    r->attempts++;
    if (r->attempts == 1 || every <= 1 || r->attempts % (uint64_t)every == 0)
        log_error("Unable to lookup account %s for solicited leafnode connection: %s",
                  r->opt->account, why);
}

static void account_found(void *to, struct account *a, const char *why)
{
    struct leaf_remote *r = to;

    r->want = NULL;
    remote_set_account(r, a);
    if (a != NULL) {
        dial_now(r);
        return;
    }
    report_account(r, why);
    arm_retry(r, reconnect_ns(r));
}

void dial_next(void *arg)
{
    struct leaf_remote *r = arg;
    const struct leaf_setup *s = &r->leaf->setup;

    if (r->conn != NULL || r->want != NULL || r->removed || r->ntargets == 0 || r->leaf->leaving)
        return;
    if (s->want_account == NULL) {
        dial_now(r);
        return;
    }
    r->want = s->want_account(s->arg, r->opt->account, account_found, r);
    if (r->want == NULL)
        arm_retry(r, reconnect_ns(r));
}

void dial_ended(struct leaf_link *l, const char *why)
{
    struct leaf_remote *r = l->remote;

    if (r->conn == l)
        r->conn = NULL;
    if (why != NULL && r->at < r->ntargets)
        report_failure(r, &r->targets[r->at], why[0] != '\0' ? why : "i/o timeout");
    if (r->removed)
        remote_gone(r);
    else
        arm_retry(r, why != NULL ? with_jitter(reconnect_ns(r)) : reconnect_ns(r));
}

void dial_refused(struct leaf_link *l, struct mf_slice text)
{
    struct leaf_remote *r = l->remote;
    char label[LINK_LABEL];

    if (memmem(text.ptr, text.len, "Loop detected", 13) != NULL) {
        r->delay_ns = LEAF_PENALTY_NS;
    } else if (memmem(text.ptr, text.len, "same cluster name", 17) != NULL) {
        log_error("%s - Leafnode connection dropped with same cluster name error. Delaying attempt "
                  "to reconnect for 30s",
                  link_label(l, label));
        r->delay_ns = LEAF_PENALTY_NS;
    } else if (memmem(text.ptr, text.len, "minimum version", 15) != NULL) {
        r->delay_ns = MIN_VERSION_NS;
    }
}

/* --- handshake -------------------------------------------------------------------------------- */

static void refuse_hub(struct leaf_link *l, enum reason reason, int64_t delay_ns)
{
    l->remote->delay_ns = delay_ns;
    link_close(l, NULL, reason);
}

static void become_usable(struct leaf_link *l, const struct hello_subjects *import,
                          const struct hello_subjects *export)
{
    int rv = rules_set_user(l, import, export);

    l->isolated = l->remote->opt->isolate || leaf_options(l->leaf)->isolate;
    if (rv != 0 || (rv = rules_set_denies(l, NULL)) != 0) {
        link_close(l, NULL, rv == MF_NOMEM ? REASON_NO_MEMORY : REASON_PROTOCOL);
        return;
    }
    l->remote->established++;
    link_use(l);
}

/* Reads the file each time: it may have been replaced.  Without it the login is tried as it is, and
 * the hub refuses it. */
static bool load_creds(const struct leaf_link *l, struct creds *out)
{
    const struct options_leaf_remote *o = l->remote->opt;
    struct mf_error e;
    int rv = MF_NOTFOUND;

    if (o->credentials != NULL)
        rv = creds_load(out, o->credentials, &e);
    else if (o->nkey != NULL)
        rv = creds_from_seed(out, mf_str(o->nkey), &e);
    else
        return false;
    if (rv != 0)
        link_log_error(l, "credentials of the remote: %s", e.text);
    return rv == 0;
}

static void send_connect(struct leaf_link *l)
{
    struct leaf *lf = l->leaf;
    const struct leaf_remote *r = l->remote;
    const struct options *o = lf->options;
    const struct options_list *deny = &r->opt->deny_imports;
    struct hello_connect c = {.version = lf->setup.version,
                              .server_id = lf->setup.server_id,
                              .name = lf->setup.server_name,
                              .domain = leaf_domain(lf),
                              .cluster = leaf_cluster(lf, true),
                              .is_hub = r->opt->hub,
                              .headers = !o->no_header_support,
                              .jetstream = o->jetstream.enabled,
                              .isolate = r->opt->request_isolation,
                              .compress_mode = (l->compression != NULL ? l->compression : "off"),
                              .remote_account = account_name(l->account),
                              .protocol = HELLO_TRACES,
                              .max_payload = o->max_payload,
                              .deny_pub = {deny->items, deny->n}};
    struct mf_buf line = MF_BUF_INIT;
    const struct leaf_target *user = remote_user(r);
    struct creds creds = {.jwt = NULL};
    char sig[CREDS_SIG];

    if (load_creds(l, &creds)) {
        creds_sign(&creds, mf_str(l->nonce), sig);
        c.sig = sig;
        c.jwt = creds.jwt;
        c.nkey = creds.jwt == NULL ? creds.nkey : NULL;
    }
    if (user != NULL) {
        c.user = user->user;
        c.pass = user->password;
        c.token = user->password == NULL ? user->user : NULL;
    }
    hello_connect_write(&line, &c);
    creds_wipe(&creds);
    if (mf_buf_failed(&line)) {
        link_close(l, NULL, REASON_NO_MEMORY);
    } else {
        (void)net_write(l->conn, line.ptr, line.len);
        explicit_bzero(line.ptr, line.len);
        l->phase = LEAF_WAIT_ANSWER;
        link_wait(l, ANSWER_NS);
        if (!l->answers) /* an old hub */
            become_usable(l, NULL, NULL);
    }
    mf_buf_fini(&line);
}

/* Names in certificates are those of the configuration: a hub announces addresses. */
static void dial_secure(struct leaf_link *l)
{
    struct leaf_remote *r = l->remote;
    const struct leaf_target *t = &r->targets[r->at < r->ntargets ? r->at : 0];
    const char *name = remote_is_address(t->host) && r->tls_name != NULL ? r->tls_name : t->host;
    struct options_tls block = r->opt->tls;
    struct net_tls *tls = NULL;
    struct mf_error e;

    block.set = true;
    l->phase = LEAF_SECURING;
    l->refilter = true; /* the rest of the input is TLS */
    link_wait(l, block.timeout_ns > 0 ? block.timeout_ns : ANSWER_NS);
    if (tls_setup(&tls, &block, &e) != 0 || net_conn_secure_client(l->conn, tls, name, &e) != 0) {
        link_log_error(l, "TLS leafnode handshake error: %s", e.text);
        link_close(l, NULL, REASON_TLS);
    }
    net_tls_release(tls);
}

/* Compression is agreed by an INFO in clear; the hub repeats its own one, compressed. */
static void propose_compression(struct leaf_link *l, enum options_compress mode)
{
    enum options_compress own = link_compression(l)->mode;
    struct hello_info i = {.client_id = (int64_t)l->id,
                           .compression =
                               options_compress_name(own == OPTIONS_COMPRESS_AUTO ? own : mode)};
    struct mf_buf line = MF_BUF_INIT;

    hello_info_write(&line, &i);
    if (mf_buf_failed(&line) || net_write(l->conn, line.ptr, line.len) != 0 ||
        !link_compress(l, mode)) {
        link_close(l, NULL, REASON_NO_MEMORY);
    } else {
        l->phase = LEAF_WAIT_INFO;
        link_wait(l, l->remote->opt->first_info_timeout_ns);
    }
    mf_buf_fini(&line);
}

static void dial_hello(struct leaf_link *l)
{
    enum options_compress mode;

    if (l->agreed) {
        send_connect(l);
        return;
    }
    l->agreed = true;
    if (options_compress_agree(link_compression(l)->mode, mf_str(l->their_compression), &mode) !=
        0) {
        link_log_error(l, "the other server has an unknown compression mode \"%s\"",
                       l->their_compression);
        mode = OPTIONS_COMPRESS_OFF;
    }
    if (mode != OPTIONS_COMPRESS_NONE && mode != OPTIONS_COMPRESS_OFF) {
        propose_compression(l, mode);
        return;
    }
    l->level = mode;
    send_connect(l);
}

void dial_secured(struct leaf_link *l)
{
    if (l->informed) {
        dial_hello(l);
        return;
    }
    l->phase = LEAF_WAIT_INFO;
    link_wait(l, l->remote->opt->first_info_timeout_ns);
}

static bool is_wrong_port(const struct hello_info *i)
{
    return i->client_id == 0 || (i->urls.n == 0 && !i->info_on_connect);
}

/* An attached server of the same cluster: what it tells this hub would come back to it. */
static bool is_attached(const struct leaf_link *l, const char *cluster)
{
    struct mf_list *pos;

    mf_list_each(pos, &l->leaf->links)
    {
        const struct leaf_link *other = mf_container(pos, struct leaf_link, all);
        if (other->remote == NULL && other->phase == LEAF_USABLE && other->account == l->account &&
            other->cluster != NULL && strcmp(other->cluster, cluster) == 0)
            return true;
    }
    return false;
}

static bool check_hub(struct leaf_link *l, const struct hello_info *i)
{
    if (is_wrong_port(i)) {
        link_log_error(l, "attempted to connect to wrong port: no listener for leaf nodes");
        link_close(l, NULL, REASON_WRONG_PORT);
        return false;
    }
    if (i->server_id != NULL && strcmp(i->server_id, l->leaf->setup.server_id) == 0) {
        link_log_error(l,
                       "The remote is this server itself: remove its url from leafnodes.remotes. "
                       "Delaying attempt to reconnect for 30s");
        refuse_hub(l, REASON_CLUSTER_NAMES, LEAF_PENALTY_NS);
        return false;
    }
    if (i->cluster != NULL && strchr(i->cluster, ' ') != NULL) {
        link_close(l, "cluster name cannot contain spaces", REASON_PROTOCOL);
        return false;
    }
    if (i->cluster != NULL && is_attached(l, i->cluster)) {
        link_log_error(l,
                       "Loop detected for leafnode account=\"%s\": a server of cluster \"%s\" is "
                       "attached to this one. Delaying attempt to reconnect for 30s",
                       account_name(l->account), i->cluster);
        refuse_hub(l, REASON_LOOP, LEAF_PENALTY_NS);
        return false;
    }
    return true;
}

/* A tls:// URL means it, too: credentials must not leave in clear because the hub forgot TLS. */
static bool wants_tls(const struct leaf_link *l)
{
    const struct leaf_remote *r = l->remote;

    return r->opt->tls.set || (r->at < r->ntargets && r->targets[r->at].tls);
}

static void first_info(struct leaf_link *l, const struct hello_info *i)
{
    if (!check_hub(l, i))
        return;
    l->name = link_keep(l, i->server_name);
    l->server_id = link_keep(l, i->server_id);
    l->version = link_keep(l, i->version);
    l->domain = link_keep(l, i->domain);
    /* A standalone hub counts as a cluster of its own. */
    l->cluster = link_keep(l, i->cluster != NULL ? i->cluster : i->server_name);
    l->headers = i->headers && !l->leaf->options->no_header_support;
    l->traces = l->headers && i->proto >= HELLO_TRACES;
    l->max_out = i->max_payload > 0 ? (size_t)i->max_payload : 0;
    l->their_compression = link_keep(l, i->compression);
    l->answers = i->info_on_connect;
    l->informed = true;
    (void)snprintf(l->nonce, sizeof l->nonce, "%s", i->nonce != NULL ? i->nonce : "");
    remote_learn(l->remote, l->remote->opt->ws ? &i->ws_urls : &i->urls);
    if ((i->tls_required || wants_tls(l)) && !net_conn_is_secure(l->conn) && !l->ws &&
        l->phase == LEAF_WAIT_INFO) {
        l->refilter = true; /* nothing more is read in clear */
        dial_secure(l);
        return;
    }
    dial_hello(l);
}

/* Two links to the same account of one hub: every message would cross twice. */
static const struct leaf_link *find_twin(const struct leaf_link *l)
{
    struct mf_list *pos;

    mf_list_each(pos, &l->leaf->links)
    {
        const struct leaf_link *o = mf_container(pos, struct leaf_link, all);
        if (o == l || o->remote == NULL || o->phase != LEAF_USABLE || o->account != l->account ||
            o->remote_account == NULL || l->remote_account == NULL ||
            strcmp(o->remote_account, l->remote_account) != 0)
            continue;
        if ((o->server_id != NULL && l->server_id != NULL &&
             strcmp(o->server_id, l->server_id) == 0) ||
            (o->cluster != NULL && l->cluster != NULL && strcmp(o->cluster, l->cluster) == 0))
            return o;
    }
    return NULL;
}

static void second_info(struct leaf_link *l, const struct hello_info *i)
{
    const struct leaf_link *twin;

    l->remote_account = link_keep(l, i->remote_account);
    twin = find_twin(l);
    if (twin != NULL) {
        link_log_error(l,
                       "Remote %s refused: it leads to account %s of \"%s\", as another remote of "
                       "account %s does; each message would arrive twice. Delaying attempt to "
                       "reconnect for 30s",
                       l->remote->opt->label, l->remote_account,
                       twin->name != NULL ? twin->name : "", account_name(l->account));
        refuse_hub(l, REASON_DUPLICATE_LEAF, LEAF_PENALTY_NS);
        return;
    }
    if (i->system && account_is_system(l->account) && l->domain != NULL &&
        strcmp(l->domain, leaf_domain(l->leaf)) == 0) {
        link_log_error(
            l,
            "Remote %s refused: it connects the system accounts of servers with the same "
            "JetStream domain \"%s\", which would make this server part of that cluster. "
            "Set another jetstream { domain } here",
            l->remote->opt->label, l->domain);
        refuse_hub(l, REASON_CLUSTER_NAMES, LEAF_PENALTY_NS);
        return;
    }
    become_usable(l, i->import, i->export);
}

static void later_info(struct leaf_link *l, const struct hello_info *i)
{
    int rv = 0;

    remote_learn(l->remote, l->remote->opt->ws ? &i->ws_urls : &i->urls);
    if (i->import != NULL || i->export != NULL)
        rv = rules_set_user(l, i->import, i->export);
    if (rv != 0)
        link_close(l, NULL, rv == MF_NOMEM ? REASON_NO_MEMORY : REASON_PROTOCOL);
}

void dial_info(struct leaf_link *l, struct mf_slice json)
{
    struct arena mem = {.chunks = NULL};
    struct hello_info i;
    struct mf_error e;

    if (hello_info_read(json, &i, &mem, &e) != 0) {
        link_log_error(l, "INFO: %s", e.text);
        link_close(l, NULL, REASON_PROTOCOL);
    } else if (l->phase == LEAF_WAIT_INFO) {
        first_info(l, &i);
    } else if (l->phase == LEAF_WAIT_ANSWER) {
        second_info(l, &i);
    } else if (l->phase == LEAF_USABLE) {
        later_info(l, &i);
    }
    arena_fini(&mem);
}
