/* sys_request.c: requests of operators to a server: pages, statistics, and three orders: reload,
 * close a client, ask a client to leave. */
#include "status/sys_impl.h"

#include "base/log.h"

#include <stdlib.h>

/* --- pages ------------------------------------------------------------------------------------ */

static int get_varz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    (void)e;
    page_varz(q->status, w, "data");
    return 0;
}

static int get_subsz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    struct subsz_query s = {0};

    (void)w;
    if (sys_options_subsz(q->options, &s, e) != 0)
        return e->code;
    return page_subsz(q->status, &s, q->doc, "data", e);
}

static int get_connz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    struct connz_query c = {0};

    (void)w;
    if (sys_options_connz(q->options, &c, e) != 0)
        return e->code;
    return page_connz(q->status, &c, q->doc, "data", e);
}

static int get_routez(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    (void)e;
    page_routez(q->status, w, "data");
    return 0;
}

static int get_gatewayz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    (void)e;
    page_gatewayz(q->status, w, "data");
    return 0;
}

static int get_leafz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    struct leafz_query l = {0};

    (void)w;
    if (sys_options_leafz(q->options, &l, e) != 0)
        return e->code;
    return page_leafz(q->status, &l, q->doc, "data", e);
}

static int get_accountz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    const char *name = NULL;

    (void)w;
    if (sys_option_str(q->options, "account", &name, e) != 0)
        return e->code;
    return page_accountz(q->status, name, q->doc, "data", e);
}

static int get_jsz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    struct js_status *js = q->status->js;
    bool leader_only = false;

    if (js != NULL)
        return js_status_jsz(js, sys_body(q), NULL, q->doc, "data", e);
    if (sys_option_bool(q->options, "leader_only", &leader_only, e) != 0)
        return e->code;
    if (leader_only)
        return MF_AGAIN; /* no answer: another server leads */
    page_jsz(q->status, w, "data");
    return 0;
}

static int get_ttlz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    struct js_status *js = q->status->js;

    (void)w;
    if (js == NULL)
        return mf_fail(e, MF_UNSUPPORTED, "jetstream not enabled");
    return js_status_ttlz(js, sys_body(q), q->doc, "data", e);
}

static int get_healthz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    struct healthz_query h = {0};

    (void)w;
    if (sys_options_healthz(q->options, &h, e) != 0)
        return e->code;
    page_healthz(q->status, &h, q->doc, "data", NULL);
    return 0;
}

static int get_profilez(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    (void)q, (void)e;
    jsonw_object(w, "data");
    jsonw_null(w, "profile");
    jsonw_str(w, "error", "profiling is not supported");
    jsonw_end(w);
    return 0;
}

static int get_expvarz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    (void)e;
    jsonw_object(w, "data");
    page_expvars(q->status, w);
    jsonw_end(w);
    return 0;
}

static int get_empty(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    (void)q, (void)e;
    jsonw_object(w, "data");
    jsonw_end(w);
    return 0;
}

/* --- identity, statistics --------------------------------------------------------------------- */

static void run_idz(struct sys_request *q)
{
    struct mf_buf b = MF_BUF_INIT;
    char host[SERVER_HOST];
    struct jsonw w;

    jsonw_begin(&w, &b, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "name", server_name(q->status->server));
    jsonw_str(&w, "host", server_host(q->status->server, host));
    jsonw_str(&w, "id", q->status->id);
    jsonw_end(&w);
    if (q->msg->reply.len > 0)
        sys_publish(q->sys, q->account, q->msg->reply, MF_SLICE_NONE, &b);
    mf_buf_fini(&b);
}

/* Without a reply subject: an order to broadcast now. */
static void run_statsz(struct sys_request *q)
{
    struct mf_buf b = MF_BUF_INIT;

    if (q->msg->reply.len == 0) {
        sys_send_stats(q->sys);
        return;
    }
    sys_write_stats_msg(q->sys, &b);
    sys_publish(q->sys, q->account, q->msg->reply, MF_SLICE_NONE, &b);
    mf_buf_fini(&b);
}

/* --- orders ----------------------------------------------------------------------------------- */

/* Answers that have no data: success is the server part alone. */
static void answer_done(struct sys_request *q, const char *failure)
{
    if (q->msg->reply.len == 0)
        return;
    if (failure != NULL)
        sys_answer_error(q, 500, failure);
    else
        sys_answer_done(q);
}

static struct client *order_client(struct sys_request *q, const char *missing)
{
    uint64_t cid = 0;
    struct mf_error e;
    struct client *c;

    if (sys_option_u64(q->options, "cid", &cid, &e) != 0) {
        if (q->msg->reply.len > 0)
            sys_answer_error(q, 400, e.text);
        return NULL;
    }
    c = server_find_client(q->status->server, cid);
    if (c == NULL || client_is_closing(c)) {
        answer_done(q, missing);
        return NULL;
    }
    return c;
}

static void run_kick(struct sys_request *q)
{
    struct client *c = order_client(q, "no such client or leafnode id");
    if (c == NULL)
        return;
    answer_done(q, NULL); /* before the close: a client may kick itself */
    client_kick(c);
}

static void run_ldm(struct sys_request *q)
{
    struct client *c = order_client(q, "no such client id");
    if (c == NULL)
        return;
    if (!client_ask_to_leave(c)) {
        answer_done(q, "client does not support Lame Duck Mode or is not ready to receive the "
                       "notification");
        return;
    }
    answer_done(q, NULL);
}

/* --- reload ----------------------------------------------------------------------------------- */

static void reload_answer(struct sys *y, const struct sys_reload *r, int rc, const char *text)
{
    struct mf_msg m = {.reply = mf_slice(r->reply, r->len)};
    struct sys_request q = {.sys = y, .status = y->status, .account = y->account, .msg = &m};

    answer_done(&q, rc == 0 ? NULL : text);
}

static void reload_now(struct loop_defer *d)
{
    struct sys *y = mf_container(d, struct sys, reload_turn);
    struct mf_list waiting, *pos, *next;
    struct mf_error e = {0, ""};
    int rc;

    mf_list_init(&waiting);
    mf_list_move(&waiting, &y->reloads);
    rc = server_is_stopping(y->status->server) ? mf_fail(&e, MF_CLOSED, "server is shutting down")
                                               : server_reload(y->status->server, &e);
    if (rc != 0)
        log_error("Reload: %s", e.text);
    mf_list_each_safe(pos, next, &waiting)
    {
        struct sys_reload *r = mf_container(pos, struct sys_reload, link);
        reload_answer(y, r, rc, e.text);
        free(r);
    }
}

static void run_reload(struct sys_request *q)
{
    struct sys *y = q->sys;
    struct sys_reload *r = malloc(sizeof *r + q->msg->reply.len + 1);

    if (r == NULL) {
        answer_done(q, "out of memory");
        return;
    }
    r->len = q->msg->reply.len;
    memcpy(r->reply, q->msg->reply.ptr != NULL ? (const char *)q->msg->reply.ptr : "", r->len);
    mf_list_push(&y->reloads, &r->link);
    y->reload_turn.fn = reload_now;
    loop_defer(y->status->loop, &y->reload_turn);
}

void sys_reload_stop(struct sys *y)
{
    struct mf_list *pos, *next;

    loop_defer_cancel(y->status->loop, &y->reload_turn);
    mf_list_each_safe(pos, next, &y->reloads) free(mf_container(pos, struct sys_reload, link));
    mf_list_init(&y->reloads);
}

/* --- the tables ------------------------------------------------------------------------------- */

const struct sys_endpoint sys_server_pages[] = {
    {.name = "IDZ", .run = run_idz, .any_body = true},
    {.name = "STATSZ", .run = run_statsz},
    {.name = "VARZ", .page = get_varz},
    {.name = "SUBSZ", .page = get_subsz},
    {.name = "CONNZ", .page = get_connz},
    {.name = "ROUTEZ", .page = get_routez},
    {.name = "GATEWAYZ", .page = get_gatewayz},
    {.name = "LEAFZ", .page = get_leafz},
    {.name = "ACCOUNTZ", .page = get_accountz},
    {.name = "JSZ", .page = get_jsz},
    {.name = "TTLZ", .page = get_ttlz},
    {.name = "HEALTHZ", .page = get_healthz},
    {.name = "PROFILEZ", .page = get_profilez},
    {.name = "EXPVARZ", .page = get_expvarz},
    {.name = "IPQUEUESZ", .page = get_empty},
    {.name = "RAFTZ", .page = get_empty},
};
const size_t sys_nserver_pages = MF_COUNT(sys_server_pages);

const struct sys_endpoint sys_server_actions[] = {
    {.name = "RELOAD", .run = run_reload},
    {.name = "KICK", .run = run_kick},
    {.name = "LDM", .run = run_ldm},
};
const size_t sys_nserver_actions = MF_COUNT(sys_server_actions);

const struct sys_endpoint sys_ping = {.name = "PING", .run = run_statsz};
