/* advisory.c: events under $JS.EVENT.ADVISORY.>.  Each is written only when somebody listens:
 * asking is O(tokens of its subject). */
#include "jetstream/event.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENT "$JS.EVENT.ADVISORY."

bool event_open(struct event *v, struct api_account *aa, const char *type)
{
    char full[128];

    (void)snprintf(full, sizeof full, "io.nats.jetstream.%s", type);
    return event_open_as(v, aa, full);
}

bool event_open_as(struct event *v, struct api_account *aa, const char *full)
{
    char id[RAND_NUID + 1];

    if (!router_has_interest(account_router(aa->account), mf_str(v->subject)))
        return false;
    v->aa = aa;
    v->text = MF_BUF_INIT;
    rand_nuid(id);
    jsonw_begin(&v->w, &v->text, JSONW_COMPACT);
    jsonw_object(&v->w, NULL);
    jsonw_str(&v->w, "type", full);
    jsonw_str(&v->w, "id", id);
    jsonw_time(&v->w, "timestamp", api_now_ns(aa->api));
    return true;
}

/* kind and name make the subject: "STREAM.CREATED." and the stream.  false: nobody wants it. */
static bool event_begin(struct event *v, struct api_account *aa, const char *type, const char *kind,
                        const char *name)
{
    char full[96];
    int n = snprintf(v->subject, sizeof v->subject, EVENT "%s%s", kind, name);

    (void)snprintf(full, sizeof full, "advisory.v1.%s", type);
    return n > 0 && (size_t)n < sizeof v->subject && event_open(v, aa, full);
}

void event_domain(struct event *v)
{
    jsonw_opt_str(&v->w, "domain", api_domain(v->aa->api));
}

static void event_client(struct event *v, struct mf_slice client)
{
    if (client.len > 0)
        jsonw_raw(&v->w, "client", client);
    else
        jsonw_null(&v->w, "client");
}

void event_send(struct event *v)
{
    jsonw_end(&v->w);
    if (mf_buf_failed(&v->text))
        log_warn("account %s: event %s lost: out of memory", account_name(v->aa->account),
                 v->subject);
    else
        api_publish(v->aa, mf_str(v->subject), MF_SLICE_NONE, MF_SLICE_NONE,
                    mf_buf_slice(&v->text));
    mf_buf_fini(&v->text);
}

struct later {
    struct mf_list link;
    size_t subject_len, len;
    char bytes[];
};

static void send_all(struct loop_defer *d)
{
    struct api_account *aa = mf_container(d, struct api_account, tell);
    size_t n = aa->telling; /* what comes of these waits for the next round */

    aa->telling = 0;
    for (; n > 0; n--) {
        struct later *x = mf_container(mf_list_pop(&aa->told), struct later, link);
        api_publish(aa, mf_slice(x->bytes, x->subject_len), MF_SLICE_NONE, MF_SLICE_NONE,
                    mf_slice(x->bytes + x->subject_len, x->len));
        free(x);
    }
}

void event_send_later(struct event *v)
{
    struct later *x = NULL;
    size_t n = strlen(v->subject);

    jsonw_end(&v->w);
    if (!mf_buf_failed(&v->text))
        x = malloc(sizeof *x + n + v->text.len);
    if (x == NULL) {
        log_warn("account %s: event %s lost: out of memory", account_name(v->aa->account),
                 v->subject);
    } else {
        *x = (struct later){.subject_len = n, .len = v->text.len};
        memcpy(x->bytes, v->subject, n);
        memcpy(x->bytes + n, v->text.ptr, v->text.len);
        mf_list_push(&v->aa->told, &x->link);
        v->aa->telling++;
        v->aa->tell.fn = send_all;
        loop_defer(v->aa->api->loop, &v->aa->tell);
    }
    mf_buf_fini(&v->text);
}

void events_drop(struct api_account *aa)
{
    struct mf_list *pos, *next;

    loop_defer_cancel(aa->api->loop, &aa->tell);
    mf_list_each_safe(pos, next, &aa->told)
    {
        free(mf_container(pos, struct later, link));
    }
    mf_list_init(&aa->told);
}

/* --- the API ---------------------------------------------------------------------------------- */

bool advisory_audited(const struct api_account *aa)
{
    return router_has_interest(account_router(aa->account), MF_LIT(EVENT "API"));
}

/* An audit of a long request or response, written in slices; call->state. */
struct audit {
    struct event v;
    struct mf_slice request, response; /* what is left of them */
    bool requested;                    /* the request is complete */
};
#define AUDIT_AT_ONCE 65536
#define AUDIT_PIECE   4096

static void audit_fini(void *state)
{
    mf_buf_fini(&((struct audit *)state)->v.text);
}

/* true: there is more of the text. */
static bool audit_piece(struct audit *x, struct mf_slice *left)
{
    size_t n = left->len < AUDIT_PIECE ? left->len : AUDIT_PIECE;

    while (n > 0 && n < left->len && (left->ptr[n] & 0xC0) == 0x80)
        n--; /* not inside of a character */
    n = n == 0 && left->len > 0 ? 1 : n;
    jsonw_piece(&x->v.w, mf_slice(left->ptr, n));
    *left = mf_slice(left->ptr + n, left->len - n);
    return left->len > 0;
}

static bool audit_step(struct api_call *call)
{
    struct audit *x = call->state;
    bool spent = false;

    while (!x->requested && !spent) {
        x->requested = !audit_piece(x, &x->request);
        if (x->requested) {
            jsonw_text_end(&x->v.w);
            jsonw_text(&x->v.w, "response");
        }
        spent = api_slice_spent(call->aa, 2);
    }
    while (!spent && audit_piece(x, &x->response))
        spent = api_slice_spent(call->aa, 2);
    if (spent)
        return true;
    jsonw_text_end(&x->v.w);
    event_domain(&x->v);
    event_send(&x->v);
    api_call_free(call);
    return false;
}

static void audit_later(struct api_call *call, struct mf_slice response)
{
    struct audit *x = calloc(1, sizeof *x);

    if (x == NULL || !event_begin(&x->v, call->aa, "api_audit", "API", "")) {
        if (x == NULL)
            log_warn("account %s: an audit is lost: out of memory",
                     account_name(call->aa->account));
        free(x);
        api_call_free(call);
        return;
    }
    api_call_set_state(call, x, audit_fini);
    x->request = call->body;
    x->response = response;
    x->requested = call->body.len == 0;
    jsonw_str(&x->v.w, "server", call->aa->api->setup.server_name);
    event_client(&x->v, call->client);
    jsonw_slice(&x->v.w, "subject", call->subject);
    jsonw_text(&x->v.w, x->requested ? "response" : "request");
    api_call_slices(call, audit_step);
}

static void audit_now(struct api_call *call, struct mf_slice response)
{
    struct event v;

    if (!event_begin(&v, call->aa, "api_audit", "API", ""))
        return;
    jsonw_str(&v.w, "server", call->aa->api->setup.server_name);
    event_client(&v, call->client);
    jsonw_slice(&v.w, "subject", call->subject);
    if (call->body.len > 0)
        jsonw_slice(&v.w, "request", call->body);
    jsonw_slice(&v.w, "response", response);
    event_domain(&v);
    event_send(&v);
}

void advisory_audit(struct api_call *call, struct mf_slice response)
{
    bool is_long = call->body.len + response.len > AUDIT_AT_ONCE;

    if (is_long && !call->aa->closing && advisory_audited(call->aa)) {
        audit_later(call, response);
        return;
    }
    audit_now(call, response);
    api_call_free(call);
}

/* The system account hears of some events, too; NULL: there is none. */
static struct api_account *system_of(struct api *a)
{
    struct account *sys = accounts_system(a->accounts);
    struct mf_list *pos;

    mf_list_each(pos, &a->list)
    {
        struct api_account *aa = mf_container(pos, struct api_account, link);
        if (aa->account == sys)
            return aa;
    }
    return NULL;
}

void advisory_api_limit(struct api *a, uint64_t dropped)
{
    struct api_account *sys = system_of(a);
    struct event v;

    if (sys == NULL || !event_begin(&v, sys, "api_limit_reached", "API.LIMIT_REACHED", ""))
        return;
    jsonw_str(&v.w, "server", a->setup.server_name);
    event_domain(&v);
    jsonw_u64(&v.w, "dropped", dropped);
    event_send(&v);
}

/* --- streams ---------------------------------------------------------------------------------- */

void advisory_stream_action(struct api_account *aa, const char *stream, const char *action)
{
    const char *kind = strcmp(action, "create") == 0   ? "STREAM.CREATED."
                       : strcmp(action, "delete") == 0 ? "STREAM.DELETED."
                                                       : "STREAM.UPDATED.";
    struct event v;

    if (!event_begin(&v, aa, "stream_action", kind, stream))
        return;
    jsonw_str(&v.w, "stream", stream);
    jsonw_str(&v.w, "action", action);
    event_domain(&v);
    event_send(&v);
}

static void batch_abandoned(struct api_account *to, const char *account, const char *stream,
                            struct mf_slice batch, const char *reason)
{
    struct event v;

    if (!event_begin(&v, to, "stream_batch_abandoned", "STREAM.BATCH_ABANDONED.", stream))
        return;
    if (account != NULL)
        jsonw_str(&v.w, "account", account);
    jsonw_str(&v.w, "stream", stream);
    event_domain(&v);
    jsonw_slice(&v.w, "batch", batch);
    jsonw_str(&v.w, "reason", reason);
    event_send_later(&v);
}

void advisory_batch_abandoned(void *arg, struct stream *s, struct mf_slice batch,
                              const char *reason)
{
    struct api_account *aa = arg, *sys = system_of(aa->api);

    batch_abandoned(aa, NULL, stream_name(s), batch, reason);
    if (sys != NULL)
        batch_abandoned(sys, account_name(aa->account), stream_name(s), batch, reason);
}

/* --- backups ---------------------------------------------------------------------------------- */

void advisory_snapshot_create(struct api_call *call, struct stream *s)
{
    struct event v;

    if (!event_begin(&v, call->aa, "snapshot_create", "STREAM.SNAPSHOT_CREATE.", stream_name(s)))
        return;
    jsonw_str(&v.w, "stream", stream_name(s));
    state_json_write(&v.w, "state", s);
    event_client(&v, call->client);
    event_domain(&v);
    event_send(&v);
}

void advisory_snapshot_complete(struct api_account *aa, const char *stream, struct mf_slice client,
                                int64_t start_ns, int64_t end_ns, const char *error)
{
    struct event v;

    if (!event_begin(&v, aa, "snapshot_complete", "STREAM.SNAPSHOT_COMPLETE.", stream))
        return;
    jsonw_str(&v.w, "stream", stream);
    jsonw_time(&v.w, "start", start_ns);
    jsonw_time(&v.w, "end", end_ns);
    event_client(&v, client);
    event_domain(&v);
    jsonw_opt_str(&v.w, "error", error);
    event_send(&v);
}

void advisory_restore_create(struct api_call *call, const char *stream)
{
    struct event v;

    if (!event_begin(&v, call->aa, "restore_create", "STREAM.RESTORE_CREATE.", stream))
        return;
    jsonw_str(&v.w, "stream", stream);
    event_client(&v, call->client);
    event_domain(&v);
    event_send(&v);
}

void advisory_restore_complete(struct api_account *aa, const char *stream, struct mf_slice client,
                               int64_t start_ns, int64_t end_ns, uint64_t bytes)
{
    struct event v;

    if (!event_begin(&v, aa, "restore_complete", "STREAM.RESTORE_COMPLETE.", stream))
        return;
    jsonw_str(&v.w, "stream", stream);
    jsonw_time(&v.w, "start", start_ns);
    jsonw_time(&v.w, "end", end_ns);
    jsonw_u64(&v.w, "bytes", bytes);
    event_client(&v, client);
    event_domain(&v);
    event_send(&v);
}
