/* sys_account.c: requests about accounts: by operators about any, by users about their own; and the
 * user of a request. */
#include "status/sys_impl.h"

#include "base/clock.h"
#include "session/login.h"
#include "subject/subject.h"

#include <stdlib.h>

/* --- by operators: $SYS.REQ.ACCOUNT.<name>.X -------------------------------------------------- */

/* The fourth token of the subject, as text; the caller frees. */
static char *asked_account(const struct sys_request *q)
{
    return mf_slice_dup(subject_token(q->msg->subject, 3));
}

static int connz_of(struct sys_request *q, const char *name, struct jsonw *w, struct mf_error *e)
{
    struct connz_query c = {0};

    (void)w;
    if (sys_options_connz(q->options, &c, e) != 0)
        return e->code;
    c.account = name;
    return page_connz(q->status, &c, q->doc, "data", e);
}

static int subsz_of(struct sys_request *q, const char *name, struct jsonw *w, struct mf_error *e)
{
    struct subsz_query s = {0};

    (void)w;
    if (sys_options_subsz(q->options, &s, e) != 0)
        return e->code;
    s.subs = true;
    s.account = name;
    return page_subsz(q->status, &s, q->doc, "data", e);
}

static int leafz_of(struct sys_request *q, const char *name, struct jsonw *w, struct mf_error *e)
{
    struct leafz_query l = {0};

    (void)w;
    if (sys_options_leafz(q->options, &l, e) != 0)
        return e->code;
    l.account = name;
    return page_leafz(q->status, &l, q->doc, "data", e);
}

static int jsz_of(struct sys_request *q, const char *name, struct jsonw *w, struct mf_error *e)
{
    struct js_status *js = q->status->js;

    (void)w;
    if (js == NULL)
        return mf_fail(e, MF_UNSUPPORTED, "jetstream not enabled");
    return js_status_jsz(js, sys_body(q), name, q->doc, "data", e);
}

static int info_of(struct sys_request *q, const char *name, struct jsonw *w, struct mf_error *e)
{
    struct account *a = accounts_get(q->status->accounts, name);

    if (a == NULL)
        return mf_fail(e, MF_NOTFOUND, "Account %s does not exist", name);
    page_account_detail(q->status, a, w, "data");
    return 0;
}

#define MAX_NAMES 1024

/* NULL: the accounts the options name, or all. */
static int statz_of(struct sys_request *q, const char *name, struct jsonw *w, struct mf_error *e)
{
    const char **names = calloc(MAX_NAMES, sizeof *names);
    bool unused = false;
    size_t n;
    int rc;

    (void)w;
    if (names == NULL)
        return mf_fail(e, MF_NOMEM, "accounts");
    rc = sys_options_accstatz(q->options, names, MAX_NAMES, &n, &unused, e);
    if (name != NULL) {
        names[0] = name;
        n = 1;
    }
    if (rc == 0 && !unused && !page_accstatz_any(q->status, names, n))
        rc = MF_AGAIN; /* no answer, as in nats-server: no account is in use */
    if (rc == 0)
        page_accstatz(q->status, names, n, unused, q->doc, "data");
    free(names);
    return rc;
}

static int with_name(struct sys_request *q, struct jsonw *w, struct mf_error *e,
                     int (*fn)(struct sys_request *, const char *, struct jsonw *,
                               struct mf_error *))
{
    char *name = asked_account(q);
    int rc;

    if (name == NULL)
        return mf_fail(e, MF_NOMEM, "account name");
    rc = fn(q, name, w, e);
    free(name);
    return rc;
}

static int get_subsz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return with_name(q, w, e, subsz_of);
}
static int get_connz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return with_name(q, w, e, connz_of);
}
static int get_leafz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return with_name(q, w, e, leafz_of);
}
static int get_jsz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return with_name(q, w, e, jsz_of);
}
static int get_info(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return with_name(q, w, e, info_of);
}

static int one_statz(struct sys_request *q, const char *name, struct jsonw *w, struct mf_error *e)
{
    if (strcmp(name, "PING") == 0)
        return MF_AGAIN; /* sys_all_statz answers */
    return statz_of(q, name, w, e);
}
static int get_statz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return with_name(q, w, e, one_statz);
}
static int get_all_statz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return statz_of(q, NULL, w, e);
}

/* Answers with the event itself; no answer for an account without connections. */
static void run_conns(struct sys_request *q)
{
    char *name = asked_account(q);
    struct account *a = name != NULL ? accounts_get(q->status->accounts, name) : NULL;
    struct mf_buf b = MF_BUF_INIT;
    const char *acc = name;
    struct mf_error e;

    if (a != NULL && q->msg->reply.len > 0 && account_counters(a)->clients > 0 &&
        sys_option_str(q->options, "acc", &acc, &e) == 0 && strcmp(acc, name) == 0) {
        sys_write_conns_msg(q->sys, a, &b);
        sys_publish(q->sys, q->account, q->msg->reply, MF_SLICE_NONE, &b);
    }
    mf_buf_fini(&b);
    free(name);
}

const struct sys_endpoint sys_account_pages[] = {
    {.name = "SUBSZ", .page = get_subsz}, {.name = "CONNZ", .page = get_connz},
    {.name = "LEAFZ", .page = get_leafz}, {.name = "JSZ", .page = get_jsz},
    {.name = "INFO", .page = get_info},   {.name = "STATZ", .page = get_statz},
    {.name = "CONNS", .run = run_conns},
};
const size_t sys_naccount_pages = MF_COUNT(sys_account_pages);
const struct sys_endpoint sys_all_statz = {.name = "STATZ", .page = get_all_statz};

/* --- by users, about their own account -------------------------------------------------------- */

static int own_connz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return connz_of(q, account_name(q->account), w, e);
}
static int own_statz(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    return statz_of(q, account_name(q->account), w, e);
}
const struct sys_endpoint sys_own_connz = {.name = "CONNZ", .page = own_connz};
const struct sys_endpoint sys_own_statz = {.name = "STATZ", .page = own_statz};

static void write_permission(struct jsonw *w, const char *key, const struct options_permission *p)
{
    jsonw_object(w, key);
    page_names(w, "allow", &p->allow);
    page_names(w, "deny", &p->deny);
    jsonw_end(w);
}

static void write_permissions(struct jsonw *w, const struct options_permissions *p)
{
    jsonw_object(w, "permissions");
    write_permission(w, "publish", &p->publish);
    write_permission(w, "subscribe", &p->subscribe);
    if (p->responses_set) {
        jsonw_object(w, "responses");
        jsonw_i64(w, "max", p->responses_max);
        jsonw_i64(w, "ttl", p->responses_expires_ns);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static int get_user_info(struct sys_request *q, struct jsonw *w, struct mf_error *e)
{
    const struct client *c = q->from;
    int64_t deadline_ns, now_ns = loop_wall_ns(q->status->loop);

    if (c == NULL)
        return mf_fail(e, MF_PROTO, "only a client has a user");
    jsonw_object(w, "data");
    jsonw_str(w, "user", client_user(c));
    jsonw_str(w, "account", account_name(client_account(c)));
    jsonw_str(w, "account_name", account_tag(client_account(c)));
    if (client_who(c) != NULL)
        jsonw_opt_str(w, "user_name", client_who(c)->name);
    if (client_perms(c) != NULL)
        write_permissions(w, perms_options(client_perms(c)));
    deadline_ns = client_deadline_ns(c);
    if (deadline_ns > now_ns)
        jsonw_i64(w, "expires", (deadline_ns - now_ns) / CLOCK_S * CLOCK_S);
    jsonw_end(w);
    return 0;
}
const struct sys_endpoint sys_user_info = {
    .name = "INFO", .page = get_user_info, .any_body = true, .at_once = true};

/* --- $SYS.DEBUG.SUBSCRIBERS: how many clients would get this subject -------------------------- */

struct subscriber_count {
    struct mf_slice subject, queue;
    uint64_t n;
};

static void count_sub(void *arg, struct router_sub *rs)
{
    struct subscriber_count *k = arg;

    if (server_is_client_sub(rs) && (k->queue.len == 0 || mf_eq(k->queue, rs->queue)))
        k->n++;
}

static void count_covered(void *arg, struct router_sub *rs)
{
    struct subscriber_count *k = arg;

    if (subject_is_subset(rs->pattern, k->subject))
        count_sub(arg, rs);
}

static struct mf_slice next_word(struct mf_slice *text)
{
    size_t at = 0, end;

    while (at < text->len && (text->ptr[at] == ' ' || text->ptr[at] == '\t' ||
                              text->ptr[at] == '\r' || text->ptr[at] == '\n'))
        at++;
    for (end = at; end < text->len && text->ptr[end] > ' '; end++)
        ;
    struct mf_slice word = mf_slice(text->ptr + at, end - at);
    *text = mf_slice(text->ptr + end, text->len - end);
    return word;
}

static void count_subscribers(struct router *r, struct subscriber_count *k)
{
    if (subject_valid_literal(k->subject))
        router_match(r, k->subject, count_sub, k);
    else if (subject_valid(k->subject))
        router_each(r, count_covered, k);
}

static void answer_count(struct sys_request *q, const struct subscriber_count *k)
{
    struct mf_buf b = MF_BUF_INIT;

    mf_buf_printf(&b, "%llu", (unsigned long long)k->n);
    sys_publish(q->sys, q->account, q->msg->reply, MF_SLICE_NONE, &b);
    mf_buf_fini(&b);
}

static void run_debug_subscribers(struct sys_request *q)
{
    struct mf_slice text = q->msg->payload;
    struct subscriber_count k = {.n = 0};
    struct router *r = account_router(q->from != NULL ? client_account(q->from) : q->account);

    if (q->msg->reply.len == 0)
        return;
    k.subject = next_word(&text);
    k.queue = next_word(&text);
    count_subscribers(r, &k);
    answer_count(q, &k);
}
const struct sys_endpoint sys_debug_subscribers = {
    .name = "SUBSCRIBERS", .run = run_debug_subscribers, .any_body = true};

/* --- $SYS.REQ.ACCOUNT.NSUBS: the same, asked by another server -------------------------------- */

static int decode_sextet(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

/* Decodes a queue in place: Go writes bytes as base64. false: not base64. */
static bool decode_base64(char *text, size_t *len)
{
    size_t n = strcspn(text, "="), out = 0;
    uint32_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        int six = decode_sextet(text[i]);
        if (six < 0)
            return false;
        bits = bits << 6 | (uint32_t)six;
        if (i % 4 != 0)
            text[out++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xff);
    }
    *len = out;
    return true;
}

/* No answer where nats-server gives none: invalid options, an account that is not in use. */
static void run_nsubs(struct sys_request *q)
{
    const char *name = "", *subject = "", *queue = "";
    json_t *o = NULL;
    struct mf_error e;
    struct subscriber_count k = {.n = 0};
    struct account *a = NULL;
    char *bytes = NULL;

    if (q->msg->reply.len > 0 && q->msg->payload.len > 0 &&
        sys_options_parse(q->msg->payload, &o, &e) == 0 &&
        sys_option_str(o, "acc", &name, &e) == 0 &&
        sys_option_str(o, "subject", &subject, &e) == 0 &&
        sys_option_str(o, "queue", &queue, &e) == 0)
        a = accounts_get(q->status->accounts, name);
    if (a != NULL && account_counters(a)->clients + account_counters(a)->leafnodes > 0 &&
        (bytes = mf_slice_dup(mf_str(queue))) != NULL && decode_base64(bytes, &k.queue.len)) {
        k.queue.ptr = (const uint8_t *)bytes;
        k.subject = mf_str(subject);
        count_subscribers(account_router(a), &k);
        answer_count(q, &k);
    }
    free(bytes);
    json_decref(o);
}
const struct sys_endpoint sys_nsubs = {.name = "NSUBS", .run = run_nsubs, .any_body = true};
