/* client_auth.c: CONNECT: options and credentials of a client.
 *
 * Happy path: client_connect() parses the options and calls auth_check(), unless a login service
 * decides (client_login.c); then the client enters its account (client_enter.c). bcrypt takes tens
 * of milliseconds, so such passwords are checked by a worker: the connection is paused and
 * check_done() continues. At most CHECKS_AT_ONCE checks run; the others wait in auth_waiting, where
 * the address that was served last is chosen last. Failure: -ERR with nats-server's text, and
 * close. Reload while a worker checks: its result is about the old table, so the check is repeated
 * with the new one. Close while a check waits: the check is dropped.  Close while a worker checks:
 * the job outlives the client and finds client == NULL. */
#include "server/client_enter_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "session/through_proxy.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECKS_AT_ONCE LOOP_OUTSIDE_MOST
/* More than can be checked within any auth timeout; each is a connection that sends nothing else.
 */
#define CHECKS_WAITING_MAX 1024

struct client_job {
    struct mf_list link;    /* server.auth_waiting, then server.auth_jobs */
    bool running;           /* in auth_jobs */
    struct client *client;  /* NULL: the client closed */
    _Atomic bool cancelled; /* the client closed: the worker need not check */
    struct server *srv;
    struct loop_job *job;
    struct auth_request req; /* points into the copies below */
    char *user, *pass, *token, *nkey, *sig;
    char nonce[NONCE];
    struct auth *auth;
    struct auth_identity who;
    int status;
};

static const char *anonymous_user(const struct client *c)
{
    const struct options *o = c->srv->opts;

    if (c->kind == CLIENT_WS && o->websocket.no_auth_user != NULL)
        return o->websocket.no_auth_user;
    return o->no_auth_user;
}

enum auth_kind client_auth_kind(const struct client *c)
{
    return c->kind == CLIENT_WS ? AUTH_WEBSOCKET : AUTH_STANDARD;
}

bool client_must_login(const struct client *c)
{
    return login_required(c->srv->setup.login) ||
           auth_required_kind(c->srv->auth, client_auth_kind(c));
}

bool client_login_first(const struct client *c)
{
    struct auth_request r = {.kind = client_auth_kind(c), .no_auth_user = anonymous_user(c)};
    struct auth_identity who;

    if (!client_must_login(c))
        return false;
    if (login_required(c->srv->setup.login))
        return true;
    if (auth_is_slow(c->srv->auth, &r) || auth_check(c->srv->auth, &r, &who) != 0)
        return true;
    perms_release(who.perms); /* a client without credentials gets this user */
    return false;
}

/* --- checking credentials --------------------------------------------------------------------- */

/* Alternative names, then the subject in two forms. */
#define CERT_NAMES (MF_COUNT(((struct net_tls_peer *)0)->sans) + 2)

static void add_cert_names(const struct client *c, struct net_tls_peer *peer,
                           const char *names[CERT_NAMES], struct auth_request *r)
{
    const struct options *o = c->srv->opts;
    const struct options_tls *t = c->kind == CLIENT_WS ? &o->websocket.tls : &o->tls;

    if (!t->verify_and_map || !net_conn_is_secure(c->conn))
        return;
    net_conn_tls_peer(c->conn, peer);
    for (size_t i = 0; i < peer->nsans; i++)
        names[r->ncert_names++] = peer->sans[i];
    if (peer->subject[0] != '\0')
        names[r->ncert_names++] = peer->subject;
    if (peer->dn[0] != '\0') /* the last one is compared as a distinguished name */
        names[r->ncert_names++] = peer->dn;
    r->has_subject = peer->subject[0] != '\0' || peer->dn[0] != '\0';
    r->cert_names = names;
}

static void fill_request(const struct client *c, struct auth_request *r)
{
    const struct connect_opts *o = &c->opts;

    *r = (struct auth_request){
        .user = o->user,
        .pass = o->pass,
        .token = o->token,
        .nkey = o->nkey,
        .sig = o->sig,
        .nonce = mf_str(c->nonce),
        .kind = client_auth_kind(c),
        .now_ns = loop_wall_ns(c->srv->loop),
        .through_proxy = c->proxy_key != NULL,
    };
    r->no_auth_user = anonymous_user(c); /* auth_check() knows whether credentials were given */
}

static void free_job(struct client_job *j)
{
    char **secrets[] = {&j->user, &j->pass, &j->token, &j->nkey, &j->sig};

    for (size_t i = 0; i < MF_COUNT(secrets); i++) {
        if (*secrets[i] != NULL)
            explicit_bzero(*secrets[i], strlen(*secrets[i]));
        free(*secrets[i]);
    }
    loop_job_free(j->job);
    free(j);
}

static void check_work(void *arg) /* in a worker: touches nothing but the job and the auth table */
{
    struct client_job *j = arg;

    /* Clients that reconnect faster than a check takes must not delay the others. */
    j->status = atomic_load(&j->cancelled) ? MF_DENIED : auth_check(j->auth, &j->req, &j->who);
}

static bool check_credentials(struct client *c);

/* An auth callout may know those whom the table does not know.  Always false: parsing stops. */
static bool refuse_or_ask(struct client *c)
{
    if (client_login_decided(c, true))
        return client_login_begin(c);
    client_refuse(c, NULL);
    return false;
}

/* Returns whether parsing continues. who.account and who.name borrow from the table of the job. */
static bool apply_result(struct client *c, struct client_job *j)
{
    bool waiting = c != NULL && c->phase == CLIENT_CHECKING;
    bool outdated = j->auth != j->srv->auth;

    if (waiting && !outdated && j->status == 0)
        return client_enter_table(c, &j->who) && client_finish_connect(c);
    if (j->status == 0)
        perms_release(j->who.perms);
    if (!waiting)
        return false;
    if (outdated)
        return check_credentials(c);
    return refuse_or_ask(c);
}

/* --- the queue of checks ---------------------------------------------------------------------- */

static void remove_waiting(struct client_job *j)
{
    mf_list_del(&j->link);
    j->srv->nauth_waiting--;
}

/* Many checks of one address delay those of another address by one check, not by all. */
static struct client_job *next_waiting(const struct server *s)
{
    struct mf_list *pos;

    mf_list_each(pos, &s->auth_waiting)
    {
        struct client_job *j = mf_container(pos, struct client_job, link);
        if (strcmp(net_conn_ip(j->client->conn), s->auth_last_ip) != 0)
            return j;
    }
    return mf_container(s->auth_waiting.next, struct client_job, link);
}

static void start_checks(struct server *s)
{
    while (s->nauth_running < CHECKS_AT_ONCE && !mf_list_empty(&s->auth_waiting)) {
        struct client_job *j = next_waiting(s);
        remove_waiting(j);
        snprintf(s->auth_last_ip, sizeof s->auth_last_ip, "%s", net_conn_ip(j->client->conn));
        j->auth = s->auth;
        j->running = true;
        s->nauth_running++;
        mf_list_push(&s->auth_jobs, &j->link);
        loop_job_submit(j->job);
    }
}

static void check_done(void *arg)
{
    struct client_job *j = arg;
    struct client *c = j->client;
    struct server *s = j->srv;
    struct auth *table = j->auth;

    mf_list_del(&j->link);
    s->nauth_running--;
    start_checks(s); /* the worker continues meanwhile */
    if (c != NULL)
        c->job = NULL;
    if (apply_result(c, j))
        net_resume(c->conn);
    free_job(j);
    if (table != s->auth)
        client_auth_retire(s, table);
    server_auth_idle(s);
}

void client_auth_retire(struct server *s, struct auth *old)
{
    struct mf_list *pos;

    mf_list_each(pos, &s->auth_jobs)
    {
        if (mf_container(pos, struct client_job, link)->auth == old)
            return; /* the last one that reads it calls again */
    }
    auth_free(old);
}

static bool queue_check(struct client *c)
{
    struct server *s = c->srv;
    const struct connect_opts *o = &c->opts;

    if (s->nauth_waiting >= CHECKS_WAITING_MAX) { /* it would time out before its turn */
        client_close(c, "Authentication Timeout", REASON_AUTH_TIMEOUT);
        return false;
    }
    struct client_job *j = calloc(1, sizeof *j);
    if (j == NULL)
        goto err;
    j->client = c;
    j->srv = s;
    fill_request(c, &j->req);
    j->req.user = j->user = o->user != NULL ? mf_slice_dup(mf_str(o->user)) : NULL;
    j->req.pass = j->pass = o->pass != NULL ? mf_slice_dup(mf_str(o->pass)) : NULL;
    j->req.token = j->token = o->token != NULL ? mf_slice_dup(mf_str(o->token)) : NULL;
    j->req.nkey = j->nkey = o->nkey != NULL ? mf_slice_dup(mf_str(o->nkey)) : NULL;
    j->req.sig = j->sig = o->sig != NULL ? mf_slice_dup(mf_str(o->sig)) : NULL;
    j->req.no_auth_user = NULL; /* slow checks are about a password, which was given */
    memcpy(j->nonce, c->nonce, sizeof j->nonce);
    j->req.nonce = mf_str(j->nonce);
    j->job = loop_job_new(s->loop, LOOP_OUTSIDE, check_work, check_done, j);
    if (j->job == NULL)
        goto err;
    c->job = j;
    c->phase = CLIENT_CHECKING;
    mf_list_push(&s->auth_waiting, &j->link);
    s->nauth_waiting++;
    net_pause(c->conn);
    start_checks(s);
    return false; /* the rest of the input waits */
err:
    if (j != NULL)
        free_job(j);
    client_close(c, NULL, REASON_NO_MEMORY);
    return false;
}

void client_auth_abandon(struct client *c)
{
    struct client_job *j = c->job;

    client_login_abandon(c);
    if (j == NULL)
        return;
    c->job = NULL;
    if (j->running) {
        atomic_store(&j->cancelled, true);
        j->client = NULL;
        return;
    }
    remove_waiting(j);
    free_job(j);
}

/* It came without the proxy that it needs.  Always false. */
static bool refuse_direct(struct client *c)
{
    client_refuse(c, &PROXY_IS_REQUIRED);
    return false;
}

static bool check_credentials(struct client *c)
{
    struct auth_request r;
    struct auth_identity who;
    struct net_tls_peer peer;
    const char *names[CERT_NAMES];

    fill_request(c, &r);
    add_cert_names(c, &peer, names, &r);
    if (auth_is_slow(c->srv->auth, &r))
        return queue_check(c);
    if (auth_check(c->srv->auth, &r, &who) != 0)
        return auth_wants_proxy(c->srv->auth, &r) ? refuse_direct(c) : refuse_or_ask(c);
    return client_enter_table(c, &who) && client_finish_connect(c);
}

/* false: a proxy that nobody trusts; the client is refused. */
static bool check_proxy(struct client *c)
{
    const struct options *o = c->srv->opts;
    const char *key;

    if (c->opts.proxy_sig == NULL) /* a second CONNECT came the same way */
        return true;
    if (auth_proxy_check(o, c->opts.proxy_sig, mf_str(c->nonce), &key) == AUTH_PROXY_UNKNOWN) {
        client_refuse(c, &PROXY_NOT_TRUSTED);
        return false;
    }
    free(c->proxy_key);
    c->proxy_key = NULL;
    if (key != NULL && (c->proxy_key = mf_slice_dup(mf_str(key))) == NULL) {
        client_close(c, NULL, REASON_NO_MEMORY);
        return false;
    }
    return true;
}

bool client_connect(struct client *c, struct mf_slice json)
{
    struct connect_opts *o = &c->opts;
    struct mf_error e;
    char label[256];

    c->last_mono_ns = loop_mono_ns(c->srv->loop);
    c->hello_ns = clock_mono_ns() - c->start_mono_ns;
    if (connect_parse(json, o, &e) != 0) {
        log_debug("%s - %s", client_label(c, label, sizeof label), e.text);
        client_close(c, NULL, REASON_PARSE);
        return false;
    }
    if (o->account_named) {
        client_refuse(c, NULL);
        return false;
    }
    if (!check_proxy(c))
        return false;
    client_ws_cookies(c);
    c->verbose = o->verbose;
    c->pedantic = o->pedantic;
    c->echo = o->echo;
    c->headers = o->headers && !c->srv->opts->no_header_support;
    c->no_responders = o->no_responders;
    c->protocol = (uint8_t)o->protocol;
    if (c->connected) { /* a second CONNECT starts anew */
        (void)client_drop_subs(c, false);
        grants_fini(&c->grants);
    }
    if (client_login_decided(c, false))
        return client_login_begin(c);
    if (c->in_account && c->who == NULL && o->pass == NULL && o->token == NULL && o->sig == NULL) {
        return client_apply_limits(c) &&
               client_finish_connect(c); /* without credentials it keeps its user */
    }
    return check_credentials(c);
}

bool client_enter_anonymous(struct client *c)
{
    struct auth_request r;
    struct auth_identity who;

    fill_request(c, &r);
    if (auth_check(c->srv->auth, &r, &who) != 0) {
        client_refuse(c, auth_wants_proxy(c->srv->auth, &r) ? &PROXY_IS_REQUIRED : NULL);
        return false;
    }
    return client_enter_table(c, &who);
}
