/* claims.c: the claims services: subscriptions on the system account, requests, answers. */
#include "operator/claims_impl.h"

#include "base/log.h"
#include "base/rand.h"
#include "jwt/jwt.h"

#include <stdio.h>
#include <stdlib.h>

/* --- answers ---------------------------------------------------------------------------------- */

size_t claims_publish(struct claims *c, const char *subject, const char *reply,
                      struct mf_slice body)
{
    struct mf_msg m = {.subject = mf_str(subject), .reply = mf_str(reply), .payload = body};
    struct router_msg rm = {.route = m.subject, .msg = &m, .no_request = true};

    return c->stopped || subject[0] == '\0' ? 0 : account_publish(c->system, &rm);
}

void claims_begin_json(struct claims_request *q)
{
    jsonw_begin(&q->json, &q->out, JSONW_COMPACT);
    jsonw_object(&q->json, NULL);
    jsonw_object(&q->json, "server");
    q->claims->setup.write_server(q->claims->setup.arg, &q->json);
    jsonw_end(&q->json);
}

/* The answer may come back to a service here: nothing else refers to q any more. */
static void send_json(struct claims_request *q)
{
    if (!mf_buf_failed(&q->out))
        (void)claims_publish(q->claims, q->reply, NULL, mf_buf_slice(&q->out));
    claims_request_end(q);
}

static void write_answer(struct claims_request *q, const char *part, const char *account, int code,
                         const char *key, const char *text)
{
    claims_begin_json(q);
    jsonw_object(&q->json, part);
    jsonw_str(&q->json, "account", account);
    jsonw_i64(&q->json, "code", code);
    jsonw_str(&q->json, key, text);
    jsonw_end(&q->json);
    jsonw_end(&q->json);
    send_json(q);
}

void claims_answer(struct claims_request *q, const char *account, const char *message)
{
    char key[NKEY_TEXT];

    log_debug("%s - %s", message, account);
    snprintf(key, sizeof key, "%s", account);
    write_answer(q, "data", key, 200, "message", message);
}

void claims_refuse(struct claims_request *q, const char *account, const char *what, const char *why)
{
    char text[1024], key[NKEY_TEXT];

    snprintf(text, sizeof text, "%s - %s", what, why);
    snprintf(key, sizeof key, "%s", account);
    log_error("%s - %s", key, text);
    write_answer(q, "error", key, 500, "description", text);
}

/* --- requests --------------------------------------------------------------------------------- */

static void claims_free(struct claims *c)
{
    if (c->system != NULL)
        account_release(c->system);
    free(c);
}

void claims_request_end(struct claims_request *q)
{
    struct claims *c = q->claims;
    void (*closed)(void *arg) = c->closed;
    void *closed_arg = c->closed_arg;

    mf_list_del(&q->link);
    c->nrequests--;
    jwt_free(q->jwt);
    free((void *)(uintptr_t)q->body.ptr);
    mf_buf_fini(&q->out);
    free(q);
    if (closed == NULL || c->nrequests > 0)
        return;
    claims_free(c);
    closed(closed_arg);
}

/* The token of the subject that is an account's key; "" without one. */
static void take_account(char account[NKEY_TEXT], struct mf_slice subject)
{
    uint8_t raw[32];

    account[0] = '\0';
    while (subject.len > 0) {
        const uint8_t *dot = memchr(subject.ptr, '.', subject.len);
        size_t n = dot == NULL ? subject.len : (size_t)(dot - subject.ptr);
        if (nkey_decode(mf_slice(subject.ptr, n), NKEY_ACCOUNT, raw) == 0) {
            memcpy(account, subject.ptr, n);
            account[n] = '\0';
            return;
        }
        subject = dot == NULL ? MF_SLICE_NONE : mf_slice(dot + 1, subject.len - n - 1);
    }
}

static void refuse_request(struct claims_request *q, const char *why)
{
    claims_refuse(q, q->account[0] != '\0' ? q->account : "n/a", "claims request failed", why);
}

static bool accept_request(struct router_sub *rs, const struct router_msg *m)
{
    struct claims_service *v = mf_container(rs, struct claims_service, rs);
    struct claims *c = v->claims;
    struct claims_request *q;

    if (c->asks)
        return false;
    if (c->stopped || m->msg->reply.len >= CLAIMS_SUBJECT)
        return true;
    q = calloc(1, sizeof *q);
    if (q == NULL)
        return true;
    mf_list_init(&q->link);
    q->claims = c;
    if (m->msg->reply.len > 0)
        memcpy(q->reply, m->msg->reply.ptr, m->msg->reply.len);
    take_account(q->account, m->msg->subject);
    mf_list_push(&c->requests, &q->link);
    if (c->nrequests++ >= CLAIMS_MOST)
        refuse_request(q, "too many requests wait, try again later");
    else if (m->msg->payload.len > JWT_SIZE_MAX)
        refuse_request(q, "the body is too large for a JWT");
    else if ((q->body = mf_slice(mf_slice_dup(m->msg->payload), m->msg->payload.len)).ptr == NULL)
        refuse_request(q, "out of memory");
    else
        v->run(q);
    return true;
}

/* --- start and stop --------------------------------------------------------------------------- */

static int add_service(struct claims *c, const char *subject, const char *queue,
                       void (*run)(struct claims_request *q), struct mf_error *e)
{
    struct claims_service *v = &c->services[c->nservices];
    int rc;

    v->claims = c;
    v->run = run;
    v->rs.deliver = accept_request;
    rc = router_subscribe(account_router(c->system), mf_str(subject), mf_str(queue), &v->rs);
    if (rc != 0)
        return mf_fail(e, rc, "subscribe %s", subject);
    c->nservices++;
    return 0;
}

static int subscribe_all(struct claims *c, struct mf_error *e)
{
    bool full = c->kind == OPTIONS_RESOLVER_FULL,
         directory = full || c->kind == OPTIONS_RESOLVER_CACHE;

    if (add_service(c, "$SYS.REQ.ACCOUNT.*.CLAIMS.UPDATE", NULL, claims_run_update, e) != 0 ||
        add_service(c, "$SYS.ACCOUNT.*.CLAIMS.UPDATE", NULL, claims_run_update, e) != 0)
        return e->code;
    if (directory && (add_service(c, "$SYS.REQ.CLAIMS.UPDATE", NULL, claims_run_update, e) != 0 ||
                      add_service(c, "$SYS.REQ.CLAIMS.LIST", NULL, claims_run_list, e) != 0 ||
                      add_service(c, "$SYS.REQ.CLAIMS.DELETE", NULL, claims_run_delete, e) != 0))
        return e->code;
    if (full &&
        (add_service(c, "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP", NULL, claims_run_lookup, e) != 0 ||
         add_service(c, "$SYS.REQ.CLAIMS.PACK", "responder", claims_run_pack, e) != 0))
        return e->code;
    return claims_ask_start(c, e);
}

int claims_open(struct claims **out, const struct claims_setup *s, struct mf_error *e)
{
    const struct options_resolver *o = &s->options->operators->resolver;
    struct claims *c = calloc(1, sizeof *c);
    char word[RAND_NUID + 1];

    if (c == NULL)
        return mf_fail(e, MF_NOMEM, "claims services");
    c->setup = *s;
    c->setup.options = NULL;
    c->trust = s->trust;
    c->resolver = s->resolver;
    c->kind = o->kind;
    c->allow_delete = o->allow_delete || o->kind == OPTIONS_RESOLVER_CACHE;
    c->interval_ns = o->interval_ns;
    mf_list_init(&c->requests);
    rand_nuid(word);
    snprintf(c->inbox_prefix, sizeof c->inbox_prefix, "$SYS._INBOX.%s.", word);
    if (accounts_system(s->accounts) != NULL) {
        c->system = account_retain(accounts_system(s->accounts));
        if (subscribe_all(c, e) != 0) {
            int rc = e->code;
            (void)claims_close(c, NULL, NULL);
            return rc;
        }
    }
    *out = c;
    return 0;
}

bool claims_close(struct claims *c, void (*closed)(void *arg), void *arg)
{
    struct mf_list *pos, *next;

    if (c == NULL)
        return true;
    c->stopped = true;
    for (size_t i = 0; i < c->nservices; i++)
        router_unsubscribe(account_router(c->system), &c->services[i].rs);
    if (c->system != NULL)
        claims_ask_stop(c);
    mf_list_each_safe(pos, next, &c->requests)
    {
        struct claims_request *q = mf_container(pos, struct claims_request, link);
        bool waits = q->lookup.resolver != NULL || q->walk.resolver != NULL || q->turn.queued;
        loop_defer_cancel(c->setup.loop, &q->turn);
        resolver_cancel(&q->lookup);
        resolver_walk_cancel(&q->walk);
        if (waits)
            claims_request_end(q);
    }
    if (c->nrequests > 0) {
        c->closed = closed;
        c->closed_arg = arg;
        return false;
    }
    claims_free(c);
    return true;
}
