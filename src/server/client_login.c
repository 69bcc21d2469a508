/* client_login.c: clients whose login a service decides: user JWTs, auth callouts.
 *
 * Happy path: client_login_begin() pauses the connection and asks the service; login_done() enters
 * the account that it names, and the rest of the input is read. Failure: -ERR and the end; the
 * service has time limits of its own, and the client's timer is the last resort.  Close while the
 * service works: the login is cancelled.  Changes of the account's claims: renew.c. */
#include "server/client_enter_impl.h"

#include "base/clock.h"

#include <stdlib.h>

#define PATIENCE_NS                                                                                \
    (5 * CLOCK_S) /* for the service to keep its own limit, authorization.timeout                  \
                   */

struct client_login {
    struct login q;
    struct client *client;
};

static enum login_kind login_kind_of(const struct client *c)
{
    if (c->kind == CLIENT_WS)
        return LOGIN_WEBSOCKET;
    /* A socket of the file system is a network to nats-server, which has none. */
    return net_conn_is_local(c->conn) && strcmp(net_conn_ip(c->conn), "unix") != 0
               ? LOGIN_IN_PROCESS
               : LOGIN_STANDARD;
}

static void fill_login(const struct client *c, struct login *q)
{
    *q = (struct login){.connect = &c->opts,
                        .nonce = c->nonce,
                        .ip = client_ip(c),
                        .port = client_port(c),
                        .cid = c->cid,
                        .kind = login_kind_of(c),
                        .through_proxy = c->proxy_key != NULL,
                        .conn = c->conn,
                        .start_ns = c->start_wall_ns};
}

bool client_login_decided(const struct client *c, bool refused)
{
    const struct login_service *s = c->srv->setup.login;
    struct login q;

    fill_login(c, &q);
    q.refused = refused;
    return login_decided(s, &q);
}

int64_t client_login_patience(const struct client *c)
{
    return client_auth_timeout(c) + PATIENCE_NS;
}

static const char *text_or_none(const char *text)
{
    return text == NULL ? "" : text;
}

/* Users that an auth callout placed have no key of their own. */
static void log_login(const struct client *c, const struct login_user *u, const struct account *a)
{
    char label[256];

    if (u->key == NULL)
        return;
    log_debug("%s - Authenticated JWT: Client \"%s\" (claim-name: \"%s\") signed with \"%s\" by "
              "Account \"%s\" (claim-name: \"%s\")",
              client_label(c, label, sizeof label), text_or_none(u->key), text_or_none(u->name),
              text_or_none(u->issuer), account_name(a), text_or_none(u->account_name));
}

static bool enter_result(struct client *c, const struct login_result *r)
{
    struct client_entry e = {.account = r->account,
                             .perms = r->perms,
                             .deadline_ns = r->deadline_ns,
                             .max_subs = r->max_subs,
                             .max_payload = r->max_payload,
                             .name = r->user->shown,
                             .user = r->user};

    log_login(c, r->user, r->account);
    return client_enter(c, &e) && client_finish_connect(c);
}

static void login_done(struct login *q, const struct login_result *r,
                       const struct login_refusal *no)
{
    struct client_login *l = mf_container(q, struct client_login, q);
    struct client *c = l->client;

    c->login = NULL;
    free(l);
    if (c->phase != CLIENT_CHECKING) { /* it is closing */
        if (r != NULL) {
            perms_release(r->perms);
            login_user_release(r->user);
        }
    } else if (r == NULL) {
        client_refuse(c, no);
    } else if (enter_result(c, r)) {
        client_timer_pings(c);
        net_resume(c->conn);
    }
}

bool client_login_begin(struct client *c)
{
    const struct login_service *s = c->srv->setup.login;
    struct client_login *l = calloc(1, sizeof *l);

    if (l == NULL) {
        client_close(c, NULL, REASON_NO_MEMORY);
        return false;
    }
    l->client = c;
    fill_login(c, &l->q);
    l->q.done = login_done;
    c->login = l;
    c->phase = CLIENT_CHECKING;
    net_pause(c->conn);
    client_timer_start(c);
    if (s->start(s->arg, &l->q) != 0) {
        c->login = NULL;
        free(l);
        client_close(c, NULL, REASON_NO_MEMORY);
    }
    return false;
}

void client_login_abandon(struct client *c)
{
    const struct login_service *s = c->srv->setup.login;
    struct client_login *l = c->login;

    if (l == NULL)
        return;
    c->login = NULL;
    s->cancel(s->arg, &l->q);
    free(l);
}

/* --- changes of connected clients ------------------------------------------------------------- */

void client_login_renew(struct client *c)
{
    const struct login_service *s = c->srv->setup.login;
    struct login_refusal no = LOGIN_REFUSED(NULL);
    struct login_result now;

    if (s == NULL || s->renew == NULL || s->renew(s->arg, c->account, c->who, &now, &no) != 0) {
        notify_auth_failed(c, NULL);
        client_close(c, no.err, no.reason);
        return;
    }
    login_user_release(c->who);
    c->who = now.user;
    c->max_subs = now.max_subs;
    c->max_payload = now.max_payload;
    bool same = now.perms == c->perms;
    client_renew_perms(c, now.perms, now.deadline_ns);
    if (client_apply_limits(c) && !same)
        client_recheck_subs(c);
}
