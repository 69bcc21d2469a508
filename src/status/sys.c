/* sys.c: the server's own subscriptions: in the system account for operators, and a few in every
 * account for its users.
 *
 * Happy path: a request reaches accept_request(), its JSON options are read, the endpoint renders,
 * and the answer is published in the account of the request, within the same publish unless the
 * page takes long (sys_page.c). Failure: the usual answer with "error" instead of "data"; without
 * memory no answer. Stop: all subscriptions end, before the accounts are freed. */
#include "status/sys_impl.h"

#include "base/clock.h"
#include "codec/hash.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/* nats-server's flags of a server with JetStream: enabled, binary snapshots, Raft of accounts (set
 * by all such servers). */
#define JS_FLAGS 7

/* --- answers ---------------------------------------------------------------------------------- */

/* trace_verbose shows messages from and to the server itself. */
static bool is_traced(const struct sys *y)
{
    return server_options(y->status->server)->trace_verbose && log_enabled(LOG_TRACE_);
}

static void trace_publish(const struct sys *y, const struct mf_msg *m)
{
    int64_t max = server_options(y->status->server)->max_traced_msg_len;
    struct mf_slice shown = m->payload;
    bool cut = max > 0 && shown.len > (uint64_t)max;

    if (cut)
        shown.len = (size_t)max;
    log_trace("SYSTEM - <<- [PUB %.*s  %zu]", MF_FMT(m->subject), m->hdr.len + m->payload.len);
    if (!server_options(y->status->server)->trace_headers)
        log_trace("SYSTEM - <<- MSG_PAYLOAD: [\"%.*s%s\"]", MF_FMT(shown), cut ? "..." : "");
}

void sys_publish(struct sys *y, struct account *a, struct mf_slice subject, struct mf_slice hdr,
                 const struct mf_buf *body)
{
    struct mf_msg m = {.subject = subject, .hdr = hdr, .payload = mf_buf_slice(body)};
    struct router_msg rm = {.route = subject, .msg = &m, .no_request = true};

    if (y->silent || mf_buf_failed(body))
        return;
    if (is_traced(y))
        trace_publish(y, &m);
    (void)account_publish(a, &rm); /* mappings are for clients */
}

void sys_write_server(struct sys *y, struct jsonw *w)
{
    const struct status *s = y->status;
    char host[SERVER_HOST];

    jsonw_str(w, "name", server_name(s->server));
    jsonw_str(w, "host", server_host(s->server, host));
    jsonw_str(w, "id", s->id);
    jsonw_opt_str(w, "cluster",
                  server_options(s->server)->cluster.set ? server_options(s->server)->cluster.name
                                                         : NULL);
    jsonw_opt_str(w, "domain",
                  server_options(s->server)->jetstream.enabled
                      ? server_options(s->server)->jetstream.domain
                      : NULL);
    jsonw_str(w, "ver", SERVER_NATS_VERSION);
    page_labels(server_options(s->server), w);
    jsonw_bool(w, "jetstream", s->js != NULL);
    jsonw_i64(w, "flags", s->js != NULL ? JS_FLAGS : 0);
    jsonw_u64(w, "seq", ++y->seq);
    jsonw_time(w, "time", clock_wall_ns());
}

void sys_answer_begin(struct sys_request *q, struct jsonw *w)
{
    jsonw_object(w, NULL);
    jsonw_object(w, "server");
    sys_write_server(q->sys, w);
    jsonw_end(w);
}

void sys_answer_failed(struct sys_request *q, int code, const char *text, bool data)
{
    struct mf_buf b = MF_BUF_INIT;
    struct jsonw w;

    jsonw_begin(&w, &b, JSONW_COMPACT);
    sys_answer_begin(q, &w);
    if (data) /* as nats-server's pages */
        jsonw_null(&w, "data");
    jsonw_object(&w, "error");
    jsonw_i64(&w, "code", code);
    jsonw_opt_str(&w, "description", text);
    jsonw_end(&w);
    jsonw_end(&w);
    sys_publish(q->sys, q->account, q->msg->reply, MF_SLICE_NONE, &b);
    mf_buf_fini(&b);
}

void sys_answer_error(struct sys_request *q, int code, const char *text)
{
    sys_answer_failed(q, code, text, false);
}

void sys_answer_done(struct sys_request *q)
{
    struct mf_buf b = MF_BUF_INIT;
    struct jsonw w;

    jsonw_begin(&w, &b, JSONW_COMPACT);
    sys_answer_begin(q, &w);
    jsonw_end(&w);
    sys_publish(q->sys, q->account, q->msg->reply, MF_SLICE_NONE, &b);
    mf_buf_fini(&b);
}

/* --- requests --------------------------------------------------------------------------------- */

static void request_run(const struct sys_service *v, struct sys_request *q)
{
    struct mf_error e;
    bool excluded = false;

    if (!v->endpoint->any_body && (sys_options_parse(q->msg->payload, &q->options, &e) != 0 ||
                                   sys_options_filter(q->status, q->options, &excluded, &e) != 0)) {
        if (q->msg->reply.len > 0)
            sys_answer_error(q, 400, e.text);
    } else if (!excluded && v->endpoint->page != NULL) {
        sys_page_answer(q, v->endpoint);
        return;
    } else if (!excluded) {
        v->endpoint->run(q);
    }
    json_decref(q->options);
}

static bool accept_request(struct router_sub *rs, const struct router_msg *m)
{
    struct sys_service *v = mf_container(rs, struct sys_service, rs);
    struct sys_request q = {.sys = v->sys,
                            .status = v->sys->status,
                            .account = v->account,
                            .from = m->origin,
                            .msg = m->msg};

    if (!v->sys->silent)
        request_run(v, &q);
    return true;
}

/* --- subscriptions ---------------------------------------------------------------------------- */

static int service_add(struct sys *y, struct sys_service *v, struct account *a,
                       const struct sys_endpoint *endpoint, const char *subject, struct mf_error *e)
{
    int rc;

    *v = (struct sys_service){.sys = y, .account = a, .endpoint = endpoint};
    v->rs.deliver = accept_request;
    rc = router_subscribe(account_router(a), mf_str(subject), MF_SLICE_NONE, &v->rs);
    if (rc != 0)
        return mf_fail(e, rc, "subscribe %s", subject);
    y->own_subs++;
    if (is_traced(y) && a == y->account)
        log_trace("SYSTEM - <<- [SUB %s  %llu]", subject, (unsigned long long)y->own_subs);
    return 0;
}

static void service_remove(struct sys_service *v)
{
    router_unsubscribe(account_router(v->account), &v->rs);
    v->sys->own_subs--;
}

static int add_subject(struct sys *y, const struct sys_endpoint *endpoint, const char *subject,
                       struct mf_error *e)
{
    if (service_add(y, &y->services[y->nservices], y->account, endpoint, subject, e) != 0)
        return e->code;
    y->nservices++;
    return 0;
}

static int add_named(struct sys *y, const struct sys_endpoint *list, size_t n, const char *prefix,
                     const char *middle, struct mf_error *e)
{
    char subject[160];

    for (size_t i = 0; i < n; i++) {
        snprintf(subject, sizeof subject, "%s.%s.%s", prefix, middle, list[i].name);
        if (add_subject(y, &list[i], subject, e) != 0)
            return e->code;
    }
    return 0;
}

static int system_services(struct sys *y, struct mf_error *e)
{
    const char *id = y->status->id;

    y->services = calloc(2 * sys_nserver_pages + sys_nserver_actions + sys_naccount_pages + 5,
                         sizeof *y->services);
    if (y->services == NULL)
        return mf_fail(e, MF_NOMEM, "services");
    if (add_named(y, sys_server_pages, sys_nserver_pages, "$SYS.REQ.SERVER", "PING", e) != 0 ||
        add_named(y, sys_server_pages, sys_nserver_pages, "$SYS.REQ.SERVER", id, e) != 0 ||
        add_named(y, sys_server_actions, sys_nserver_actions, "$SYS.REQ.SERVER", id, e) != 0 ||
        add_named(y, sys_account_pages, sys_naccount_pages, "$SYS.REQ.ACCOUNT", "*", e) != 0 ||
        add_subject(y, &sys_ping, "$SYS.REQ.SERVER.PING", e) != 0 ||
        add_subject(y, &sys_all_statz, "$SYS.REQ.ACCOUNT.PING.STATZ", e) != 0 ||
        add_subject(y, &sys_nsubs, "$SYS.REQ.ACCOUNT.NSUBS", e) != 0 ||
        add_subject(y, &sys_user_info, "$SYS.REQ.USER.INFO", e) != 0 ||
        add_subject(y, &sys_debug_subscribers, "$SYS.DEBUG.SUBSCRIBERS", e) != 0)
        return e->code;
    return 0;
}

/* --- every account ---------------------------------------------------------------------------- */

static uint64_t address_hash(const struct account *a)
{
    return hash_bytes(&a, sizeof a);
}

struct sys_account *sys_account_find(struct sys *y, const struct account *a)
{
    for (struct table_node *n = table_first(&y->accounts, address_hash(a)); n != NULL;
         n = table_next(n)) {
        struct sys_account *x = mf_container(n, struct sys_account, node);
        if (x->account == a)
            return x;
    }
    return NULL;
}

static void account_drop(struct sys *y, struct sys_account *x)
{
    for (size_t i = 0; i < x->nservices; i++)
        service_remove(&x->services[i]);
    sys_page_drop(y, x);
    mf_list_del(&x->beat_link);
    table_del(&y->accounts, &x->node);
    free(x);
}

static int account_services(struct sys *y, struct sys_account *x, struct mf_error *e)
{
    static const struct {
        const char *subject;
        const struct sys_endpoint *endpoint;
    } own[SYS_ACCOUNT_SERVICES] = {
        {"$SYS.REQ.USER.INFO", &sys_user_info},
        {"$SYS.REQ.ACCOUNT.PING.CONNZ", &sys_own_connz},
        {"$SYS.REQ.SERVER.PING.CONNZ", &sys_own_connz},
        {"$SYS.REQ.ACCOUNT.PING.STATZ", &sys_own_statz},
    };

    for (size_t i = 0; i < MF_COUNT(own); i++) {
        if (service_add(y, &x->services[i], x->account, own[i].endpoint, own[i].subject, e) != 0)
            return e->code;
        x->nservices++;
    }
    return 0;
}

static int add_account(struct sys *y, struct account *a)
{
    struct sys_account *x;
    struct mf_error e;

    if (sys_account_find(y, a) != NULL)
        return 0;
    x = calloc(1, sizeof *x);
    if (x == NULL)
        return MF_NOMEM;
    x->account = a;
    x->work.name = account_name(a);
    mf_list_init(&x->beat_link);
    mf_list_init(&x->pages);
    mf_list_init(&x->pages_link);
    if (table_add(&y->accounts, &x->node, address_hash(a)) != 0) {
        free(x);
        return MF_NOMEM;
    }
    if (a != y->account && account_services(y, x, &e) != 0) {
        account_drop(y, x);
        log_error("account %s: %s", account_name(a), e.text);
        return e.code;
    }
    return 0;
}

void sys_account_removed(struct sys *y, struct account *a)
{
    struct sys_account *x = y != NULL ? sys_account_find(y, a) : NULL;

    if (x != NULL)
        account_drop(y, x);
}

static void account_seen(void *arg, struct account *a)
{
    if (add_account(arg, a) != 0)
        log_error("account %s: no system services: out of memory", account_name(a));
}

/* --- start and stop --------------------------------------------------------------------------- */

int sys_start(struct status *s, struct mf_error *e)
{
    struct sys *y;

    if (accounts_system(s->accounts) == NULL)
        return 0;
    y = calloc(1, sizeof *y);
    if (y == NULL)
        return mf_fail(e, MF_NOMEM, "system account");
    y->status = s;
    y->account = accounts_system(s->accounts);
    mf_list_init(&y->beats);
    mf_list_init(&y->asking);
    mf_list_init(&y->reloads);
    s->sys = y;
    if (system_services(y, e) != 0 || sys_event_start(y, e) != 0)
        return mf_wrap(e, "system account");
    accounts_watch(s->accounts, account_seen, y);
    sys_trace_start(y);
    return 0;
}

void sys_stop(struct status *s)
{
    struct sys *y = s->sys;
    struct table_node *n;
    size_t at = 0;

    if (y == NULL)
        return;
    accounts_watch(s->accounts, NULL, NULL);
    y->silent = true;
    sys_trace_stop(y);
    sys_event_stop(y);
    sys_reload_stop(y);
    while ((n = table_any(&y->accounts, &at)) != NULL)
        account_drop(y, mf_container(n, struct sys_account, node));
    for (size_t i = 0; i < y->nservices; i++)
        service_remove(&y->services[i]);
    table_fini(&y->accounts);
    free(y->services);
    free(y);
    s->sys = NULL;
}
