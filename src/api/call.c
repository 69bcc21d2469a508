/* call.c: one request, from its arrival to its reply.
 *
 * Happy path: api_call_new() copies the request; its handler answers at once, or starts work that
 * answers later (long work: in slices, queue.c), with api_reply_*(), which send, count, audit and
 * free the call.
 * Busy: a request for a stream that is being created or deleted waits (parked) and then runs again
 * from the start.
 * Settling: a read waits for earlier writes of its stream (settle.c) and then runs again.
 * Close: parked calls of a closing account are freed at once, the others when its catalog has
 * closed. */
#include "api/api_impl.h"

#include "codec/json.h"
#include "base/log.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define REPLY_BYTES 448 /* most answers fit in: they grow no buffer */

/* --- a request -------------------------------------------------------------------------------- */

struct api_call *api_call_new(struct api_account *aa, const struct api_service *service,
                              const struct router_msg *m, struct mf_slice rest, bool with_client)
{
    struct mf_slice prefix = service->prefix;
    struct mf_buf who = MF_BUF_INIT;
    struct api *a = aa->api;
    struct api_call *call;
    uint8_t *at;

    if (with_client && a->client_info != NULL && !a->client_info(a->arg, m->origin, &who))
        mf_buf_clear(&who);
    call = mf_buf_failed(&who)
               ? NULL
               : calloc(1, sizeof *call + prefix.len + rest.len + m->msg->reply.len +
                               m->msg->hdr.len + m->msg->payload.len + who.len);
    if (call == NULL) {
        mf_buf_fini(&who);
        return NULL;
    }
    at = (uint8_t *)(call + 1);
    call->aa = aa;
    call->ja = aa->ja;
    call->service = service;
    call->subject = mf_slice(at, prefix.len + rest.len);
    mf_slice_put(&at, prefix);
    call->rest = mf_slice_put(&at, rest);
    call->reply = mf_slice_put(&at, m->msg->reply);
    call->hdr = mf_slice_put(&at, m->msg->hdr);
    call->body = mf_slice_put(&at, m->msg->payload);
    call->client = mf_slice_put(&at, mf_buf_slice(&who));
    mf_buf_fini(&who);
    mf_list_init(&call->busy.node);
    mf_list_init(&call->queued);
    mf_list_push(&aa->calls, &call->link);
    a->inflight++;
    aa->queue.inflight++;
    return call;
}

void api_call_set_state(struct api_call *call, void *state, void (*fini)(void *state))
{
    if (call->state != NULL && call->state_fini != NULL)
        call->state_fini(call->state);
    free(call->state);
    call->state = state;
    call->state_fini = fini;
}

void api_call_free(struct api_call *call)
{
    call->aa->api->inflight--;
    call->aa->queue.inflight--;
    api_call_dequeue(call);
    mf_list_del(&call->link);
    api_settle_cancel(call);
    mf_list_del(&call->busy.node); /* in no list unless parked */
    mf_buf_fini(&call->out);
    api_call_set_state(call, NULL, NULL);
    arena_fini(&call->mem);
    free(call);
}

struct mf_slice api_call_token(const struct api_call *call, unsigned index)
{
    return subject_token(call->rest, index);
}

bool api_call_read(struct api_call *call, const struct json_type *t, void *out)
{
    bool strict = call->aa->api->js->options->jetstream.strict;
    struct mf_error why;
    int rc = json_read(call->body, t, out, &call->mem, strict, &why);

    if (rc != 0)
        api_reply_unread(call, rc, &why);
    return rc == 0;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool api_body_empty(struct mf_slice body)
{
    static const char want[] = "{}";
    size_t got = 0;

    for (size_t i = 0; i < body.len; i++) {
        if (is_blank(body.ptr[i]))
            continue;
        if (got == 2 || body.ptr[i] != (uint8_t)want[got])
            return false;
        got++;
    }
    return body.len == 0 || got == 2;
}

/* --- its stream ------------------------------------------------------------------------------- */

static void resume_parked(struct catalog_wait *w)
{
    struct api_call *call = mf_container(w, struct api_call, busy);

    if (call->ja->closing)
        api_call_free(call);
    else
        api_call_run(call);
}

bool api_call_park(struct api_call *call, struct mf_slice name)
{
    call->busy.done = resume_parked;
    return catalog_busy(call->ja->catalog, name, &call->busy);
}

struct stream *api_call_stream(struct api_call *call, unsigned token)
{
    struct mf_slice name = api_call_token(call, token);
    struct catalog *c = call->ja->catalog;
    struct stream *s = catalog_find(c, name);
    const char *reason;
    struct js_error e;

    if (s != NULL)
        return s;
    if (api_call_park(call, name))
        return NULL;
    reason = catalog_offline(c, name);
    if (reason != NULL)
        js_error_set(&e, JS_STREAM_OFFLINE_REASON, reason);
    else
        js_error_set(&e, JS_STREAM_NOT_FOUND);
    api_reply_error(call, &e);
    return NULL;
}

/* --- its reply -------------------------------------------------------------------------------- */

struct jsonw *api_reply_begin(struct api_call *call)
{
    mf_buf_clear(&call->out);
    (void)mf_buf_reserve(&call->out, REPLY_BYTES);
    jsonw_begin(&call->w, &call->out, JSONW_COMPACT);
    jsonw_object(&call->w, NULL);
    jsonw_text(&call->w, "type");
    jsonw_piece(&call->w, mf_str(call->service->type));
    jsonw_piece(&call->w, mf_str(call->type));
    jsonw_text_end(&call->w);
    return &call->w;
}

static void count_call(struct api_account *aa, bool error)
{
    if (aa->ja->catalog == NULL)
        return; /* as in nats-server: an account without JetStream has no counters */
    aa->total++;
    aa->api->total++;
    if (error) {
        aa->errors++;
        aa->api->errors++;
    }
}

/* Without memory for an answer, this one needs none. */
void api_send_no_memory(struct api_account *aa, const struct api_service *service,
                        struct mf_slice subject, struct mf_slice reply, const char *type)
{
    char text[256];
    int n = snprintf(text, sizeof text,
                     "{\"type\":\"%s%s\",\"error\":{\"code\":503,\"err_code\":%d,"
                     "\"description\":\"insufficient resources\"}}",
                     service->type, type, JS_INSUFFICIENT_RESOURCES_CODE);

    log_error("account %s: %.*s: out of memory", account_name(aa->ja->account), MF_FMT(subject));
    count_call(aa, true);
    if (reply.len > 0)
        js_publish(aa->ja, reply, MF_SLICE_NONE, MF_SLICE_NONE, mf_slice(text, (size_t)n));
}

static void send_out_of_memory(struct api_call *call)
{
    api_send_no_memory(call->aa, call->service, call->subject, call->reply, call->type);
    api_call_free(call);
}

void api_call_unheard(struct api_call *call)
{
    count_call(call->aa, false);
    api_call_free(call);
}

static void finish_reply(struct api_call *call, bool error, bool quietly)
{
    char hdr[64];
    int hdr_len = 0;
    struct mf_slice text;

    jsonw_end(&call->w);
    if (mf_buf_failed(&call->out)) {
        send_out_of_memory(call);
        return;
    }
    text = mf_buf_slice(&call->out);
    if (!quietly)
        count_call(call->aa, error && !call->soft);
    if (call->identity[0] != '\0' && !error)
        hdr_len =
            snprintf(hdr, sizeof hdr, "NATS/1.0\r\n" API_IDENTITY ": %s\r\n\r\n", call->identity);
    if (call->reply.len > 0)
        js_publish(call->ja, call->reply, MF_SLICE_NONE, mf_slice(hdr, (size_t)hdr_len), text);
    if (quietly)
        api_call_free(call);
    else
        advisory_audit(call, text);
}

void api_reply_end(struct api_call *call)
{
    finish_reply(call, false, false);
}

void api_reply_end_quietly(struct api_call *call)
{
    finish_reply(call, false, true);
}

void api_reply_error_more(struct api_call *call, const struct js_error *e,
                          void (*write_more)(struct api_call *call, struct jsonw *w))
{
    struct jsonw *w = api_reply_begin(call);

    js_json_error(w, e);
    if (write_more != NULL)
        write_more(call, w);
    finish_reply(call, true, false);
}

void api_reply_error(struct api_call *call, const struct js_error *e)
{
    api_reply_error_more(call, e, call->route == NULL ? NULL : call->route->more);
}

void api_reply_no_memory(struct api_call *call)
{
    struct js_error e;

    js_error_set(&e, JS_INSUFFICIENT_RESOURCES);
    api_reply_error(call, &e);
}

void api_reply_refused(struct api_call *call, int rc, const struct js_error *e)
{
    if (rc == MF_NOMEM)
        api_reply_no_memory(call);
    else
        api_reply_error(call, e);
}

void api_reply_unread(struct api_call *call, int rc, const struct mf_error *why)
{
    struct js_error e;

    js_error_set(&e, JS_INVALID_JSON, why->text);
    api_reply_refused(call, rc, &e);
}
