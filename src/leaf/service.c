/* service.c: logins that a login service decides: user JWTs of servers that attach.
 *
 * Happy path: service_begin() pauses the link and asks; service_done() lets it into the account
 * that the answer names.  Failure: -ERR and the end.  Close while the service works: it is
 * cancelled. Changes of the account's claims: the links of this account alone are looked at. */
#include "leaf/leaf_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

/* More than a service takes by itself, beside the timeout of a callout. */
#define PATIENCE_NS (10 * CLOCK_S)

struct leaf_login {
    struct login q;
    struct leaf_link *link;
    struct connect_opts opts; /* copies: CONNECT is gone when the answer comes */
};

static void login_free_copies(struct leaf_login *s)
{
    connect_opts_forget(&s->opts);
    connect_opts_fini(&s->opts);
    free(s);
}

bool service_decides(const struct leaf_link *l, const struct hello_connect *c)
{
    const struct login_service *s = l->leaf->setup.logins;
    struct connect_opts o = {.user = (char *)c->user, /* read only */
                             .pass = (char *)c->pass,
                             .token = (char *)c->token,
                             .nkey = (char *)c->nkey,
                             .jwt = (char *)c->jwt};
    struct login q = {.connect = &o, .nonce = l->nonce, .conn = l->conn};

    q.kind = l->ws ? LOGIN_LEAFNODE_WS : LOGIN_LEAFNODE;
    return login_decided(s, &q);
}

static void service_done(struct login *q, const struct login_result *r,
                         const struct login_refusal *no)
{
    struct leaf_login *s = mf_container(q, struct leaf_login, q);
    struct leaf_link *l = s->link;

    l->service = NULL;
    l->phase = LEAF_WAIT_LOGIN;
    login_free_copies(s);
    if (r == NULL)
        accept_refused_by(l, no);
    else
        accept_admitted(l, r);
    if (l->phase != LEAF_CLOSING)
        net_resume(l->conn);
}

static bool copy_credentials(struct connect_opts *o, const struct hello_connect *c)
{
    const char *from[] = {c->user, c->pass, c->token, c->nkey, c->sig, c->jwt, c->name, c->version};
    char **to[] = {&o->user, &o->pass, &o->token, &o->nkey,
                   &o->sig,  &o->jwt,  &o->name,  &o->version};

    for (size_t i = 0; i < MF_COUNT(from); i++) {
        *to[i] = leaf_copy_text(from[i]);
        if (from[i] != NULL && *to[i] == NULL)
            return false;
    }
    return true;
}

void service_begin(struct leaf_link *l, const struct hello_connect *c)
{
    const struct login_service *service = l->leaf->setup.logins;
    struct leaf_login *s = calloc(1, sizeof *s);

    if (s == NULL) {
        link_close(l, NULL, REASON_NO_MEMORY);
        return;
    }
    s->link = l;
    s->opts = CONNECT_OPTS_INIT;
    s->opts.protocol = (int)c->protocol;
    s->q = (struct login){.connect = &s->opts,
                          .nonce = l->nonce,
                          .ip = net_conn_ip(l->conn),
                          .port = net_conn_port(l->conn),
                          .cid = l->id,
                          .kind = l->ws ? LOGIN_LEAFNODE_WS : LOGIN_LEAFNODE,
                          .through_proxy = l->proxy_key != NULL,
                          .conn = l->conn,
                          .start_ns = l->start_wall_ns,
                          .done = service_done};
    if (!copy_credentials(&s->opts, c) || service->start(service->arg, &s->q) != 0) {
        login_free_copies(s);
        link_close(l, NULL, REASON_NO_MEMORY);
        return;
    }
    l->service = s;
    l->phase = LEAF_CHECKING;
    net_pause(l->conn);
    link_wait(l, l->leaf->options->auth.timeout_ns + PATIENCE_NS);
}

void service_abandon(struct leaf_link *l)
{
    const struct login_service *service = l->leaf->setup.logins;

    if (l->service == NULL)
        return;
    service->cancel(service->arg, &l->service->q);
    login_free_copies(l->service);
    l->service = NULL;
}

/* --- changes ---------------------------------------------------------------------------------- */

void service_renew(struct leaf_link *l)
{
    const struct login_service *s = l->leaf->setup.logins;
    struct login_refusal no = LOGIN_REFUSED(NULL);
    struct login_result now;

    if (s == NULL || s->renew == NULL || s->renew(s->arg, l->account, l->who, &now, &no) != 0) {
        link_log_error(l, "%s", no.err != NULL ? no.err : reason_text(no.reason));
        link_close(l, no.err, no.reason);
        return;
    }
    login_user_release(l->who);
    l->who = now.user;
    l->max_subs = now.max_subs;
    if (l->deadline_wall_ns != now.deadline_ns) {
        l->deadline_wall_ns = now.deadline_ns;
        link_wait_ping(l, 0);
    }
    accept_renew(l, now.perms);
}

void leaf_account_renew(struct leaf *lf, const struct account *a)
{
    struct leaf_realm *realm = NULL;
    struct mf_list *pos, *head;

    mf_list_each(pos, &lf->realms)
    {
        struct leaf_realm *r = mf_container(pos, struct leaf_realm, link);
        if (r->account == a)
            realm = r;
    }
    if (realm == NULL)
        return;
    head = &realm->links; /* the realm ends with its last link */
    for (pos = head->next; pos != head;) {
        struct leaf_link *l = mf_container(pos, struct leaf_link, in_realm);
        pos = pos->next;
        if (l->who != NULL && l->phase == LEAF_USABLE)
            service_renew(l);
    }
}
