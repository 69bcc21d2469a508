/* pages.c: registers the HTTP pages and parses their query strings. */
#include "status/pages_impl.h"

#include <stdio.h>
#include <strings.h>

static void json_begin(struct jsonw *w, struct monitor_reply *r)
{
    jsonw_begin(w, r->body, JSONW_PRETTY);
}

/* Answers 400 with the text of the error alone. */
static void refuse_query(struct monitor_reply *r, const struct mf_error *e)
{
    mf_buf_clear(r->body);
    r->status = 400;
    r->content_type = "text/plain; charset=utf-8";
    mf_buf_puts(r->body, e->text);
}

/* --- pages without parameters ----------------------------------------------------------------- */

static void get_varz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct jsonw w;

    (void)q;
    json_begin(&w, r);
    page_varz(arg, &w, NULL);
}
static void get_routez(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct jsonw w;

    (void)q;
    json_begin(&w, r);
    page_routez(arg, &w, NULL);
}
static void get_gatewayz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct jsonw w;

    (void)q;
    json_begin(&w, r);
    page_gatewayz(arg, &w, NULL);
}
/* Without JetStream: parameters are checked as with it. */
static void get_jsz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    static const char *const flags[] = {"accounts",          "streams", "consumers",
                                        "direct-consumers",  "config",  "raft",
                                        "stream-leader-only"};
    bool ignored, leader_only = false;
    int64_t number;
    struct mf_error e;
    struct jsonw w;

    for (size_t i = 0; i < MF_COUNT(flags); i++)
        if (monitor_param_bool(q, r, flags[i], &ignored) != 0)
            return;
    if (monitor_param_i64(q, r, "offset", &number) != 0 ||
        monitor_param_i64(q, r, "limit", &number) != 0 ||
        monitor_param_bool(q, r, "leader-only", &leader_only) != 0)
        return;
    if (leader_only) {
        mf_fail(&e, MF_INVAL, "filtered response: not leader");
        refuse_query(r, &e);
        return;
    }
    json_begin(&w, r);
    page_jsz(arg, &w, NULL);
}
static void get_ipqueuesz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    (void)arg, (void)q;
    mf_buf_puts(r->body, "{}");
}
static void get_raftz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    (void)arg, (void)q;
    r->status = 404;
    r->content_type = "text/plain; charset=utf-8";
    mf_buf_puts(r->body, "No Raft nodes registered");
}
static void get_stacksz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    (void)arg, (void)q;
    r->content_type = "text/plain; charset=utf-8";
    page_stacksz(r->body);
}
static void get_metrics(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    (void)q;
    r->content_type = "text/plain; version=0.0.4; charset=utf-8";
    page_metrics(arg, r->doc);
}
static void get_expvars(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct jsonw w;

    (void)q;
    r->content_type = "application/json; charset=utf-8";
    json_begin(&w, r);
    jsonw_object(&w, NULL);
    page_expvars(arg, &w);
    jsonw_end(&w);
}

/* --- pages with parameters -------------------------------------------------------------------- */

/* subs is a boolean, or "detail". */
static int param_subs(const struct monitor_request *q, struct monitor_reply *r,
                      struct connz_query *out)
{
    const char *text = monitor_param(q, "subs");

    if (text != NULL && strcasecmp(text, "detail") == 0) {
        out->subs_detail = true;
        return 0;
    }
    return monitor_param_bool(q, r, "subs", &out->subs);
}

static int param_state(const struct monitor_request *q, struct monitor_reply *r,
                       enum connz_state *out)
{
    const char *text = monitor_param(q, "state");
    struct mf_error e;

    if (text == NULL || text[0] == '\0' || strcasecmp(text, "open") == 0)
        *out = CONNZ_OPEN;
    else if (strcasecmp(text, "closed") == 0)
        *out = CONNZ_CLOSED;
    else if (strcasecmp(text, "any") == 0 || strcasecmp(text, "all") == 0)
        *out = CONNZ_ALL;
    else {
        mf_fail(&e, MF_INVAL, "Error decoding state for %s", text);
        refuse_query(r, &e);
        return MF_INVAL;
    }
    return 0;
}

static void get_connz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct connz_query c = {.sort = monitor_param(q, "sort"),
                            .user = monitor_param(q, "user"),
                            .account = monitor_param(q, "acc"),
                            .mqtt_client = monitor_param(q, "mqtt_client")};
    struct mf_error e;

    if (monitor_param_bool(q, r, "auth", &c.auth) != 0 || param_subs(q, r, &c) != 0 ||
        monitor_param_i64(q, r, "offset", &c.offset) != 0 ||
        monitor_param_i64(q, r, "limit", &c.limit) != 0 ||
        monitor_param_u64(q, r, "cid", &c.cid) != 0 || param_state(q, r, &c.state) != 0)
        return;
    if (page_connz(arg, &c, r->doc, NULL, &e) != 0)
        refuse_query(r, &e);
}

static void get_subsz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct subsz_query s = {.account = monitor_param(q, "acc"), .test = monitor_param(q, "test")};
    struct mf_error e;

    if (monitor_param_bool(q, r, "subs", &s.subs) != 0 ||
        monitor_param_i64(q, r, "offset", &s.offset) != 0 ||
        monitor_param_i64(q, r, "limit", &s.limit) != 0)
        return;
    if (page_subsz(arg, &s, r->doc, NULL, &e) != 0)
        refuse_query(r, &e);
}

static void get_leafz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct leafz_query l = {.account = monitor_param(q, "acc")};
    struct mf_error e;

    if (monitor_param_bool(q, r, "subs", &l.subs) != 0)
        return;
    if (page_leafz(arg, &l, r->doc, NULL, &e) != 0)
        refuse_query(r, &e);
}

static void get_accountz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct mf_error e;

    if (page_accountz(arg, monitor_param(q, "acc"), r->doc, NULL, &e) != 0)
        refuse_query(r, &e);
}

static void get_accstatz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    bool unused = false;

    if (monitor_param_bool(q, r, "unused", &unused) == 0)
        page_accstatz(arg, NULL, 0, unused, r->doc, NULL);
}

static void get_healthz(void *arg, const struct monitor_request *q, struct monitor_reply *r)
{
    struct healthz_query h = {.account = monitor_param(q, "account"),
                              .stream = monitor_param(q, "stream"),
                              .consumer = monitor_param(q, "consumer")};

    if (monitor_param_bool(q, r, "js-enabled", &h.js_enabled_only) != 0 ||
        monitor_param_bool(q, r, "js-enabled-only", &h.js_enabled_only) != 0 ||
        monitor_param_bool(q, r, "js-server-only", &h.js_server_only) != 0 ||
        monitor_param_bool(q, r, "js-meta-only", &h.js_meta_only) != 0 ||
        monitor_param_bool(q, r, "details", &h.details) != 0)
        return;
    jsonw_begin(&r->doc->w, r->body, JSONW_COMPACT); /* the one page nats-server does not indent */
    r->urgent = true;
    page_healthz(arg, &h, r->doc, NULL, &r->status);
}

int pages_register(struct status *s, struct monitor *m)
{
    static const struct {
        const char *path;
        monitor_page page;
    } pages[] = {
        {"/varz", get_varz},           {"/connz", get_connz},
        {"/subsz", get_subsz},         {"/subscriptionsz", get_subsz},
        {"/accountz", get_accountz},   {"/accstatz", get_accstatz},
        {"/healthz", get_healthz},     {"/routez", get_routez},
        {"/gatewayz", get_gatewayz},   {"/leafz", get_leafz},
        {"/ipqueuesz", get_ipqueuesz}, {"/raftz", get_raftz},
        {"/metrics", get_metrics},     {"/stacksz", get_stacksz},
        {"/debug/vars", get_expvars},
    };

    for (size_t i = 0; i < MF_COUNT(pages); i++)
        if (monitor_add(m, pages[i].path, pages[i].page, s) != 0)
            return MF_NOMEM;
    if (page_root_register(m) != 0)
        return MF_NOMEM;
    if (s->js != NULL)
        js_status_pages(s->js, m);
    else if (monitor_add(m, "/jsz", get_jsz, s) != 0)
        return MF_NOMEM;
    return 0;
}
