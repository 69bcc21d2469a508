/* ingest_trace.c: traced messages that a stream takes: the event of the stream, with nats-server's
 * words for a refusal, which differ from those of the publish ack. */
#include "jetstream/jetstream_impl.h"

#include "msgtrace/msgtrace.h"
#include "proto/header.h"
#include "stream/js_error.h"

#include <stdlib.h>

struct ingest_trace {
    struct stream_trace state;
    struct msgtrace *trace;
    size_t event;
    struct mf_buf hdr; /* of the message, as the stream gets it */
};

struct ingest_trace *ingest_trace_begin(const struct router_msg *m, const char *stream,
                                        struct stream_publish *pub)
{
    struct ingest_trace *x = calloc(1, sizeof *x);
    struct mf_slice hdr = m->msg->hdr;

    if (x == NULL)
        return NULL;
    x->state.dry_run = m->dry_run;
    /* Whoever gets the stored message does not trace it again. */
    if (m->dry_run)
        mf_buf_append(&x->hdr, hdr.ptr, hdr.len);
    else
        header_set(&x->hdr, hdr, MSGTRACE_DEST, mf_str(MSGTRACE_DISABLED));
    if (mf_buf_failed(&x->hdr)) {
        free(x);
        return NULL;
    }
    x->trace = msgtrace_retain(m->trace);
    x->event = msgtrace_stream(m->trace, stream);
    pub->msg.hdr = mf_buf_slice(&x->hdr);
    pub->trace = &x->state;
    return x;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The text behind its last ": ". */
static const char *actual_value(const struct js_error *e)
{
    const char *at = strstr(e->text, ": "), *next;

    if (at == NULL)
        return "";
    while ((next = strstr(at + 2, ": ")) != NULL)
        at = next;
    return at + 2;
}

/* The sequence of the subject is compared first. */
static void tell_sequence(struct mf_buf *out, struct mf_slice hdr, const struct js_error *e)
{
    struct mf_slice v;

    if (header_get(hdr, "Nats-Expected-Last-Subject-Sequence", &v) &&
        !mf_eq_str(v, actual_value(e)))
        mf_buf_printf(out, "last sequence by subject mismatch: %.*s vs %s", MF_FMT(v),
                      actual_value(e));
    else if (header_get(hdr, "Nats-Expected-Last-Sequence", &v))
        mf_buf_printf(out, "last sequence mismatch: %.*s vs %s", MF_FMT(v), actual_value(e));
    else
        mf_buf_puts(out, e->text);
}

static void tell_error(struct mf_buf *out, struct mf_slice hdr, const struct js_error *e)
{
    struct mf_slice v = MF_SLICE_NONE;

    switch (e->err_code) {
    case JS_STREAM_WRONG_LAST_SEQUENCE_CODE:
        tell_sequence(out, hdr, e);
        break;
    case JS_STREAM_WRONG_LAST_MSG_ID_CODE:
        (void)header_get(hdr, "Nats-Expected-Last-Msg-Id", &v);
        mf_buf_printf(out, "last msgid mismatch: \"%.*s\" vs \"%s\"", MF_FMT(v), actual_value(e));
        break;
    case JS_STREAM_MESSAGE_EXCEEDS_MAXIMUM_CODE:
    case JS_STREAM_HEADER_EXCEEDS_MAXIMUM_CODE:
        mf_buf_puts(out, "maximum payload exceeded");
        break;
    case JS_MESSAGE_TTL_DISABLED_CODE:
        mf_buf_puts(out, "message TTL disabled");
        break;
    case JS_STREAM_NOT_MATCH_CODE:
    case JS_STREAM_ROLLUP_FAILED_CODE:
    case JS_STREAM_STORE_FAILED_CODE:
        mf_buf_puts(out, e->text);
        break;
    default:
        mf_buf_printf(out, "%s (%d)", e->text, e->err_code);
    }
}

void ingest_trace_end(struct ingest_trace *x, const struct stream_ack *a)
{
    struct mf_buf text = MF_BUF_INIT;

    if (x == NULL)
        return;
    if (a->duplicate)
        mf_buf_puts(&text, "msgid is duplicate");
    else if (a->error != NULL)
        tell_error(&text, mf_buf_slice(&x->hdr), a->error);
    msgtrace_stored(x->trace, x->event, mf_str(x->state.subject), x->state.no_interest,
                    text.len > 0 ? mf_buf_cstr(&text) : NULL);
    msgtrace_release(x->trace);
    mf_buf_fini(&text);
    mf_buf_fini(&x->hdr);
    free(x->state.subject);
    free(x);
}
