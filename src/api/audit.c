/* audit.c: events about requests: $JS.EVENT.ADVISORY.API for each request, and
 * API.LIMIT_REACHED when requests are dropped. */
#include "api/api_impl.h"

#include "base/log.h"
#include "jetstream/event.h"

#include <stdlib.h>

bool advisory_audited(const struct api_account *aa)
{
    return router_has_interest(account_router(aa->ja->account), MF_LIT("$JS.EVENT.ADVISORY.API"));
}

/* An audit of a long request or response, written in slices; call->state. */
struct audit {
    struct event v;
    struct mf_slice request, response; /* their remaining parts */
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
        spent = js_slice_spent(call->ja, 2);
    }
    while (!spent && audit_piece(x, &x->response))
        spent = js_slice_spent(call->ja, 2);
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

    if (x == NULL || !event_advisory(&x->v, call->ja, "api_audit", "API", "")) {
        if (x == NULL)
            log_warn("account %s: an audit is lost: out of memory",
                     account_name(call->ja->account));
        free(x);
        api_call_free(call);
        return;
    }
    api_call_set_state(call, x, audit_fini);
    x->request = call->body;
    x->response = response;
    x->requested = call->body.len == 0;
    jsonw_str(&x->v.w, "server", call->aa->api->js->setup.server_name);
    event_client(&x->v, call->client);
    jsonw_slice(&x->v.w, "subject", call->subject);
    jsonw_text(&x->v.w, x->requested ? "response" : "request");
    api_call_slices(call, audit_step);
}

static void audit_now(struct api_call *call, struct mf_slice response)
{
    struct event v;

    /* Most requests have no listener, and formatting the subject costs more than asking. */
    if (!advisory_audited(call->aa) || !event_advisory(&v, call->ja, "api_audit", "API", ""))
        return;
    jsonw_str(&v.w, "server", call->aa->api->js->setup.server_name);
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

    if (is_long && !call->ja->closing && advisory_audited(call->aa)) {
        audit_later(call, response);
        return;
    }
    audit_now(call, response);
    api_call_free(call);
}

void advisory_api_limit(struct api *a, uint64_t dropped)
{
    struct js_account *sys = js_account_system(a->js);
    struct event v;

    if (sys == NULL || !event_advisory(&v, sys, "api_limit_reached", "API.LIMIT_REACHED", ""))
        return;
    jsonw_str(&v.w, "server", a->js->setup.server_name);
    event_domain(&v);
    jsonw_u64(&v.w, "dropped", dropped);
    event_send(&v);
}
