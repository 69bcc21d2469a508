/* claims_ask.c: account JWTs between servers: LOOKUP, LIST and PACK of others, and the same
 * questions of this server.  Answers reach an inbox: one token after its prefix is the number of a
 * look-up, or "pack". */
#include "operator/claims_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/* --- LOOKUP ----------------------------------------------------------------------------------- */

/* Unknown accounts get an empty answer: the server that asks counts them. */
static void looked_up(struct resolver_lookup *l, int rc, struct mf_slice jwt, const char *why)
{
    struct claims_request *q = mf_container(l, struct claims_request, lookup);
    struct claims *c = q->claims;
    char reply[CLAIMS_SUBJECT];

    (void)why;
    memcpy(reply, q->reply, sizeof reply);
    claims_request_end(q);
    (void)claims_publish(c, reply, NULL, rc == 0 ? jwt : MF_SLICE_NONE);
}

void claims_run_lookup(struct claims_request *q)
{
    if (q->reply[0] == '\0' || q->account[0] == '\0') {
        claims_request_end(q);
        return;
    }
    memcpy(q->lookup.account, q->account, sizeof q->lookup.account);
    q->lookup.done = looked_up;
    q->lookup.local = true;
    resolver_lookup(q->claims->resolver, &q->lookup);
}

/* --- LIST ------------------------------------------------------------------------------------- */

static void list_account(struct resolver_walk *w, const char *account)
{
    struct claims_request *q = mf_container(w, struct claims_request, walk);

    jsonw_str(&q->json, NULL, account);
}

static void list_done(struct resolver_walk *w, int rc)
{
    struct claims_request *q = mf_container(w, struct claims_request, walk);
    struct claims *c = q->claims;
    struct mf_buf out = q->out;
    char reply[CLAIMS_SUBJECT];

    if (rc != 0) {
        mf_buf_clear(&q->out);
        claims_refuse(q, "", "list request error", mf_err_text(rc));
        return;
    }
    jsonw_end(&q->json);
    jsonw_end(&q->json);
    out = q->out;
    q->out = (struct mf_buf){0};
    memcpy(reply, q->reply, sizeof reply);
    claims_request_end(q);
    if (!mf_buf_failed(&out))
        (void)claims_publish(c, reply, NULL, mf_buf_slice(&out));
    mf_buf_fini(&out);
}

void claims_run_list(struct claims_request *q)
{
    if (q->reply[0] == '\0') {
        claims_request_end(q);
        return;
    }
    claims_begin_json(q);
    jsonw_array(&q->json, "data");
    q->walk.account = list_account;
    q->walk.done = list_done;
    resolver_walk(q->claims->resolver, &q->walk);
}

/* --- PACK ------------------------------------------------------------------------------------- */

static void pack_jwt(struct resolver_walk *w, const char *account, struct mf_slice jwt)
{
    struct claims_request *q = mf_container(w, struct claims_request, walk);
    struct mf_buf line = {0};

    mf_buf_printf(&line, "%s|", account);
    mf_buf_append(&line, jwt.ptr, jwt.len);
    if (!mf_buf_failed(&line))
        (void)claims_publish(q->claims, q->reply, NULL, mf_buf_slice(&line));
    mf_buf_fini(&line);
}

static void pack_done(struct resolver_walk *w, int rc)
{
    struct claims_request *q = mf_container(w, struct claims_request, walk);
    struct claims *c = q->claims;
    char reply[CLAIMS_SUBJECT];

    memcpy(reply, q->reply, sizeof reply);
    claims_request_end(q);
    if (rc == 0)
        (void)claims_publish(c, reply, NULL, MF_SLICE_NONE);
}

void claims_run_pack(struct claims_request *q)
{
    uint8_t own[32];

    if (q->reply[0] == '\0') {
        claims_request_end(q);
        return;
    }
    if (q->body.len == sizeof own && resolver_hash(q->claims->resolver, own) &&
        memcmp(own, q->body.ptr, sizeof own) == 0) {
        pack_done(&q->walk, 0);
        return;
    }
    q->walk.jwt = pack_jwt;
    q->walk.done = pack_done;
    resolver_walk(q->claims->resolver, &q->walk);
}

/* --- questions of this server ----------------------------------------------------------------- */

/* Whether somebody else may answer. */
static bool ask_others(struct claims *c, const char *subject, const char *reply,
                       struct mf_slice body)
{
    size_t n;

    c->asks = true;
    n = claims_publish(c, subject, reply, body);
    c->asks = false;
    return n > 0;
}

static bool ask_account(void *arg, uint64_t id, const char *account)
{
    struct claims *c = arg;
    char subject[128], reply[128];

    snprintf(subject, sizeof subject, "$SYS.REQ.ACCOUNT.%s.CLAIMS.LOOKUP", account);
    snprintf(reply, sizeof reply, "%s%llu.%s", c->inbox_prefix, (unsigned long long)id, account);
    return ask_others(c, subject, reply, MF_SLICE_NONE);
}

static void forget_account(void *arg, uint64_t id)
{
    (void)arg, (void)id; /* a late answer names a number that nobody knows */
}

static void merge_fired(void *arg)
{
    struct claims *c = arg;
    char reply[128];
    uint8_t hash[32];

    loop_timer_arm(c->merge, loop_mono_ns(c->setup.loop) + c->interval_ns);
    if (!resolver_hash(c->resolver, hash))
        return;
    snprintf(reply, sizeof reply, "%spack", c->inbox_prefix);
    (void)ask_others(c, "$SYS.REQ.CLAIMS.PACK", reply, mf_slice(hash, sizeof hash));
}

/* --- answers ---------------------------------------------------------------------------------- */

static void merge_stored(struct resolver_change *q, int rc, const char *why)
{
    if (rc != 0 && rc != MF_CLOSED)
        log_warn("resolver: the JWT of %s of another server was not stored: %s", q->account, why);
    free(q);
}

/* "<account>|<jwt>" */
static void merge_line(struct claims *c, struct mf_slice line)
{
    struct resolver_change *q;
    struct mf_slice jwt;
    struct mf_error e;

    if (line.len < NKEY_TEXT || line.ptr[NKEY_TEXT - 1] != '|')
        return;
    q = calloc(1, sizeof *q);
    if (q == NULL)
        return;
    memcpy(q->account, line.ptr, NKEY_TEXT - 1);
    q->done = merge_stored;
    jwt = mf_slice(line.ptr + NKEY_TEXT, line.len - NKEY_TEXT);
    if (claims_check(c, q->account, jwt, &e) != 0) {
        log_warn("resolver: the JWT of %s of another server is not stored: %s", q->account, e.text);
        free(q);
        return;
    }
    resolver_store(c->resolver, q, jwt, true);
}

static void merge_lines(struct claims *c, struct mf_slice body)
{
    while (body.len > 0) {
        const uint8_t *end = memchr(body.ptr, '\n', body.len);
        size_t n = end == NULL ? body.len : (size_t)(end - body.ptr);
        merge_line(c, mf_slice(body.ptr, n));
        body = end == NULL ? MF_SLICE_NONE : mf_slice(end + 1, body.len - n - 1);
    }
}

static void account_answered(struct claims *c, struct mf_slice rest, struct mf_slice jwt)
{
    const uint8_t *dot = memchr(rest.ptr, '.', rest.len);
    struct mf_error e;
    char account[NKEY_TEXT];
    uint64_t id;

    if (dot == NULL || rest.len - (size_t)(dot + 1 - rest.ptr) != NKEY_TEXT - 1 || jwt.len == 0 ||
        mf_parse_u64(mf_slice(rest.ptr, (size_t)(dot - rest.ptr)), &id) != 0)
        return;
    memcpy(account, dot + 1, NKEY_TEXT - 1);
    account[NKEY_TEXT - 1] = '\0';
    if (claims_check(c, account, jwt, &e) == 0)
        resolver_found(c->resolver, id, jwt);
    else
        log_warn("resolver: the JWT of %s of another server is not used: %s", account, e.text);
}

static bool accept_answer(struct router_sub *rs, const struct router_msg *m)
{
    struct claims *c = mf_container(rs, struct claims, inbox);
    size_t n = strlen(c->inbox_prefix);
    struct mf_slice rest = m->msg->subject;

    if (c->stopped || rest.len < n)
        return true;
    rest = mf_slice(rest.ptr + n, rest.len - n);
    if (mf_eq_str(rest, "pack"))
        merge_lines(c, m->msg->payload);
    else
        account_answered(c, rest, m->msg->payload);
    return true;
}

int claims_ask_start(struct claims *c, struct mf_error *e)
{
    char pattern[80];
    int rc;

    c->asking = (struct resolver_asking){c, ask_account, forget_account};
    if (c->kind == OPTIONS_RESOLVER_FULL) {
        c->merge = loop_timer_new(c->setup.loop, merge_fired, c);
        if (c->merge == NULL)
            return mf_fail(e, MF_NOMEM, "claims services");
    }
    snprintf(pattern, sizeof pattern, "%s>", c->inbox_prefix);
    c->inbox.deliver = accept_answer;
    rc = router_subscribe(account_router(c->system), mf_str(pattern), MF_SLICE_NONE, &c->inbox);
    if (rc != 0)
        return mf_fail(e, rc, "subscribe %s", pattern);
    if (c->merge != NULL)
        loop_timer_arm(c->merge, loop_mono_ns(c->setup.loop) + c->interval_ns);
    resolver_ask_others(c->resolver, &c->asking);
    return 0;
}

void claims_ask_stop(struct claims *c)
{
    resolver_ask_others(c->resolver, NULL);
    loop_timer_free(c->merge);
    c->merge = NULL;
    router_unsubscribe(account_router(c->system), &c->inbox);
}
