/* ask.c: requests to the service of an auth callout, and its responses.
 *
 * Happy path: ask_service() subscribes to a reply subject of its own and publishes; take_response()
 * keeps the first response and ends the subscription; look_at_response() reads it, in a time slice.
 * Nobody answers: time_out().  A refusal from inside start() waits for the same time slice.
 * Close: ask_drop(). */
#include "callout/callout_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "jwt/xkey.h"
#include "net/net.h"
#include "proto/header.h"

#include <stdio.h>
#include <stdlib.h>

#define AUDIENCE    "nats-authorization-request"
#define XKEY_HEADER "Nats-Server-Xkey"

/* --- responses -------------------------------------------------------------------------------- */

static void stop_listening(struct callout_login *l)
{
    if (l->account != NULL)
        router_unsubscribe(account_router(l->account), &l->sub);
    loop_timer_stop(l->timer);
}

static void queue_task(struct callout_login *l)
{
    work_add(l->callout->setup.loop, &l->callout->work, &l->task);
}

void ask_forget_response(struct callout_login *l)
{
    if (l->response != NULL)
        explicit_bzero(l->response, l->nresponse);
    free(l->response);
    l->response = NULL;
}

void ask_refuse_later(struct callout_login *l, const char *why)
{
    stop_listening(l);
    ask_forget_response(l);
    (void)snprintf(l->why, sizeof l->why, "%s", why);
    queue_task(l);
}

/* Inside somebody's publish: only keeps it. */
static bool take_response(struct router_sub *s, const struct router_msg *m)
{
    struct callout_login *l = mf_container(s, struct callout_login, sub);
    struct mf_slice body = m->msg->payload;

    stop_listening(l);
    l->response = malloc(body.len + 1);
    if (l->response == NULL) {
        ask_refuse_later(l, "No memory for an auth callout's response");
        return true;
    }
    if (body.len > 0)
        memcpy(l->response, body.ptr, body.len);
    l->nresponse = body.len;
    queue_task(l);
    return true;
}

static void read_response(struct callout_login *l)
{
    const struct callout *c = l->callout;
    bool operators = c->setup.op != NULL;
    struct answer_rules rules = {.account = account_name(l->account),
                                 .server_id = c->setup.key->text,
                                 .user_nkey = l->user_nkey,
                                 .curve = l->xkey != NULL ? c->setup.curve : NULL,
                                 .xkey = l->xkey,
                                 .signs = operators ? admit_signs : place_signs,
                                 .arg = l,
                                 .now_s = loop_wall_ns(c->setup.loop) / CLOCK_S};
    struct jwt *user;
    struct mf_error e;

    if (answer_read(&user, &rules, mf_slice(l->response, l->nresponse), &e) != 0)
        callout_refuse(l, e.text);
    else if (operators)
        admit_user(l, user);
    else
        place_user(l, user);
}

static bool look_at_response(struct work_task *t)
{
    struct callout_login *l = mf_container(t, struct callout_login, task);

    l->running = true;
    if (l->response != NULL)
        read_response(l);
    else
        callout_refuse(l, l->why);
    return false;
}

static void time_out(void *arg)
{
    struct callout_login *l = arg;
    struct login_refusal no = LOGIN_REFUSED(l->why);

    (void)snprintf(l->why, sizeof l->why,
                   "Authorization callout response not received in time on account \"%.100s\"",
                   account_name(l->account));
    log_debug("%s", l->why);
    no.account = l->account;
    callout_refuse_as(l, &no);
}

void ask_prepare(struct callout_login *l)
{
    l->sub.deliver = take_response;
    l->task =
        (struct work_task){.run = look_at_response, .what = "auth callout", .cause = WORK_OTHER};
}

void ask_drop(struct callout_login *l)
{
    stop_listening(l);
    loop_timer_free(l->timer);
    l->timer = NULL;
    if (!l->running)
        work_cancel(l->callout->setup.loop, &l->task);
    admit_cancel(l);
}

/* --- requests --------------------------------------------------------------------------------- */

#define CERTS_MOST 16

struct ask_tls {
    struct net_tls_peer peer;
    struct jwt_client_tls tls;
    char *at[CERTS_MOST];
    struct json_strs certs; /* in at */
};

static void add_cert(void *arg, struct mf_slice pem)
{
    struct ask_tls *t = arg;
    size_t n = t->certs.n;

    if (n < MF_COUNT(t->at) && (t->at[n] = mf_slice_dup(pem)) != NULL)
        t->certs.n++;
}

/* NULL: no TLS. */
static struct jwt_client_tls *fill_tls(struct ask_tls *t, const struct login *q)
{
    bool verified = false;

    t->certs.at = t->at;
    if (q->conn == NULL || !net_conn_is_secure(q->conn))
        return NULL;
    net_conn_tls_peer(q->conn, &t->peer);
    net_conn_tls_chain(q->conn, &verified, add_cert, t);
    t->tls = (struct jwt_client_tls){.version = t->peer.version, .cipher = t->peer.cipher};
    if (verified)
        t->tls.verified_chain = t->certs;
    else
        t->tls.certs = t->certs;
    return &t->tls;
}

static void free_tls(struct ask_tls *t)
{
    for (size_t i = 0; i < t->certs.n; i++)
        free(t->at[i]);
}

/* The JWT that was checked: without one that can be read, the default sentinel. */
static const char *connect_jwt(const struct callout_login *l)
{
    const char *given = l->q->connect->jwt;
    const char *sentinel = l->callout->setup.options->operators->default_sentinel;
    struct jwt *j;

    if (l->callout->setup.op == NULL || sentinel == NULL)
        return given;
    if (!mf_has_text(given) || jwt_decode_as(&j, JWT_USER, mf_str(given), NULL) != 0)
        return sentinel;
    jwt_free(j);
    return given;
}

static void fill_client(const struct callout_login *l, struct jwt_auth_request *r)
{
    const struct login *q = l->q;
    const struct connect_opts *k = q->connect;
    const struct login_user *u = l->sentinel;
    bool leaf = q->kind == LOGIN_LEAFNODE || q->kind == LOGIN_LEAFNODE_WS;
    const struct options_user *nobody = callout_nobody(l);
    const char *user = callout_shown(l, NULL);

    r->client = (struct jwt_client_info){.host = q->ip,
                                         .id = q->cid,
                                         .user = user[0] == '\0' && u != NULL ? u->key : user,
                                         .name = k->name,
                                         .kind = leaf ? "Leafnode" : "Client",
                                         .type = leaf                         ? NULL
                                                 : q->kind == LOGIN_WEBSOCKET ? "websocket"
                                                                              : "nats",
                                         .nonce = mf_has_text(k->sig) ? q->nonce : NULL};
    if (u != NULL) {
        r->client.name_tag = u->name;
        r->client.tags = (struct json_strs){.at = u->tags, .n = u->ntags};
    }
    r->connect = (struct jwt_connect_opts){.jwt = connect_jwt(l),
                                           .nkey = k->nkey,
                                           .sig = k->sig,
                                           .auth_token = k->token,
                                           .user = k->user,
                                           .pass = k->pass,
                                           .name = k->name,
                                           .lang = k->lang,
                                           .version = k->version,
                                           .protocol = k->protocol};
    if (nobody != NULL) {
        r->connect.nkey = nobody->nkey;
        r->connect.user = nobody->user;
        r->connect.pass = nobody->password;
    }
}

/* The claims under "nats".  They hold what CONNECT holds, passwords too. */
static void write_claims(const struct callout_login *l, struct mf_buf *out)
{
    const struct callout_setup *s = &l->callout->setup;
    const struct options *o = s->options;
    struct ask_tls *tls = calloc(1, sizeof *tls); /* peers' names take 20 KB */
    struct jwt_auth_request r = {
        .server = {.id = s->key->text,
                   .cluster = o->cluster.set ? o->cluster.name : NULL,
                   .xkey = l->xkey != NULL ? s->curve->text : NULL,
                   .tags = {.at = o->server_tags.items, .n = o->server_tags.n}},
        .user_nkey = l->user_nkey};

    if (tls == NULL)
        return;
    s->identify(s->arg, &r.server);
    fill_client(l, &r);
    r.tls = fill_tls(tls, l->q);
    jwt_auth_request_write(out, &r);
    free_tls(tls);
    free(tls);
}

static void wipe_buffer(struct mf_buf *b)
{
    if (b->ptr != NULL)
        explicit_bzero(b->ptr, b->cap);
    mf_buf_fini(b);
}

/* The request as it is sent: a JWT, sealed for the service if it has a key. */
static int write_request(const struct callout_login *l, const char *subject, struct mf_buf *out)
{
    const struct callout_setup *s = &l->callout->setup;
    int64_t now_s = loop_wall_ns(s->loop) / CLOCK_S;
    int64_t until_s = (loop_wall_ns(s->loop) + s->options->auth.timeout_ns) / CLOCK_S;
    struct jwt_unsigned c = {.aud = AUDIENCE, .sub = subject, .iat = now_s, .exp = until_s};
    struct mf_buf nats = MF_BUF_INIT, jwt = MF_BUF_INIT;
    int rc = MF_NOMEM;

    write_claims(l, &nats);
    c.nats = mf_buf_slice(&nats);
    if (!mf_buf_failed(&nats) && nats.len > 0)
        rc = jwt_sign(l->xkey != NULL ? &jwt : out, &c, s->key);
    if (rc == 0 && l->xkey != NULL)
        rc = xkey_seal(out, mf_buf_slice(&jwt), s->curve, mf_str(l->xkey));
    wipe_buffer(&nats);
    wipe_buffer(&jwt);
    return rc;
}

static void publish_request(struct callout_login *l, struct mf_slice body)
{
    struct mf_buf hdr = MF_BUF_INIT;
    struct mf_msg m = {
        .subject = mf_str(AUTH_CALLOUT_SUBJECT), .reply = mf_str(l->reply), .payload = body};
    struct router_msg rm = {.route = m.subject, .msg = &m, .no_request = true};

    if (l->xkey != NULL) {
        header_begin(&hdr, NULL);
        header_add(&hdr, XKEY_HEADER, mf_str(l->callout->setup.curve->text));
        header_end(&hdr);
        m.hdr = mf_buf_slice(&hdr);
    }
    if (!mf_buf_failed(&hdr))
        (void)account_publish(l->account, &rm);
    mf_buf_fini(&hdr);
}

/* Nobody else can guess the subject on which the response is awaited, nor the key of the user. */
static void make_names(struct callout_login *l)
{
    char id[RAND_NUID + 1];
    struct jwt_key key;

    rand_nuid(id);
    (void)snprintf(l->reply, sizeof l->reply, "$SYS._INBOX.%.11s.%s", id, id + 11);
    jwt_key_random(&key, NKEY_USER); /* its private half is never needed */
    (void)snprintf(l->user_nkey, sizeof l->user_nkey, "%s", key.text);
    jwt_key_wipe(&key);
}

void ask_service(struct callout_login *l, struct account *a, const char *xkey, const char *subject)
{
    struct loop *loop = l->callout->setup.loop;
    struct mf_buf body = MF_BUF_INIT;

    l->account = account_retain(a);
    if (l->callout->nlogins > CALLOUT_MOST) {
        ask_refuse_later(l, "Too many logins wait for auth callouts");
        return;
    }
    l->xkey = mf_has_text(xkey) ? mf_slice_dup(mf_str(xkey)) : NULL;
    l->timer = loop_timer_new(loop, time_out, l);
    make_names(l);
    if (l->timer == NULL || (mf_has_text(xkey) && l->xkey == NULL) ||
        router_subscribe(account_router(a), mf_str(l->reply), MF_SLICE_NONE, &l->sub) != 0 ||
        write_request(l, subject, &body) != 0) {
        ask_refuse_later(l, "No memory for an auth callout");
    } else {
        loop_timer_arm(l->timer, loop_mono_ns(loop) + l->callout->setup.options->auth.timeout_ns);
        publish_request(l, mf_buf_slice(&body));
    }
    wipe_buffer(&body);
}
