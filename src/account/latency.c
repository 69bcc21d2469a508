/* latency.c: the latency of a service, reported on the subject that its export names.
 *
 * One `struct latency` follows a sampled request.  It ends with exactly one report: 200 with the
 * first answer, 400 without a reply subject, 503 when the request has no receiver, 504 when no
 * answer arrives in time; or with no report, when a reload removes the service. */
#include "account/account_impl.h"

#include "base/clock.h"
#include "codec/jsonw.h"
#include "base/rand.h"

#include <stdlib.h>

struct latency {
    struct account *owner; /* of the service */
    char *subject;         /* where to report */
    int64_t sent_ns, rtt_ns;
    int64_t start_wall_ns;
    struct mf_buf requestor; /* JSON, or empty */
    struct mf_buf header;    /* JSON of the headers that requested it, or empty */
};

void latency_free(struct latency *l)
{
    if (l == NULL)
        return;
    mf_buf_fini(&l->requestor);
    mf_buf_fini(&l->header);
    free(l->subject);
    free(l);
}

/* --- sampling --------------------------------------------------------------------------------- */

/* The value of a header, its name compared without case, as tracing libraries write them. */
static bool find_header(struct mf_slice hdr, const char *name, struct mf_slice *value)
{
    size_t len = strlen(name);

    while (hdr.len > 2) {
        const uint8_t *end = memmem(hdr.ptr, hdr.len, "\r\n", 2);
        size_t line = end == NULL ? hdr.len : (size_t)(end - hdr.ptr);
        if (line > len && hdr.ptr[len] == ':' && mf_eq_nocase(mf_slice(hdr.ptr, len), name)) {
            *value = mf_slice(hdr.ptr + len + 1, line - len - 1);
            while (value->len > 0 && value->ptr[0] == ' ')
                *value = mf_slice(value->ptr + 1, value->len - 1);
            return true;
        }
        if (end == NULL)
            return false;
        hdr = mf_slice(hdr.ptr + line + 2, hdr.len - line - 2);
    }
    return false;
}

/* The nth part (from 0) of a text split by c; *parts: the number of parts. */
static struct mf_slice find_part(struct mf_slice s, char c, size_t nth, size_t *parts)
{
    struct mf_slice found = MF_SLICE_NONE;
    size_t start = 0;

    *parts = 0;
    for (size_t i = 0; i <= s.len; i++) {
        if (i < s.len && s.ptr[i] != (uint8_t)c)
            continue;
        if ((*parts)++ == nth)
            found = mf_slice(s.ptr + start, i - start);
        start = i + 1;
    }
    return found;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The lowest bit of the flags, one or two hex digits, says "sampled". */
static bool flags_sampled(struct mf_slice flags)
{
    return flags.len >= 1 && flags.len <= 2 && hex_digit(flags.ptr[0]) >= 0 &&
           hex_digit(flags.ptr[flags.len - 1]) >= 0 && (hex_digit(flags.ptr[flags.len - 1]) & 1);
}

/* Shown as Go writes header names. */
static void show_header(struct jsonw *w, struct mf_slice hdr, const char *name)
{
    struct mf_slice value;

    if (!find_header(hdr, name, &value))
        return;
    jsonw_array(w, name);
    jsonw_slice(w, NULL, value);
    jsonw_end(w);
}

static bool b3_single_denies(struct mf_slice b3)
{
    size_t n;
    struct mf_slice third = find_part(b3, '-', 2, &n);

    return (n > 2 && mf_eq_str(third, "0")) || (n == 1 && mf_eq_str(b3, "0"));
}

/* Headers of distributed tracing: Jaeger, Zipkin B3 in two forms, W3C. The first one present
 * decides, and its headers are part of the report. */
static bool header_sampled(struct mf_slice hdr, struct jsonw *w)
{
    struct mf_slice v;
    size_t n;

    if (find_header(hdr, "Uber-Trace-Id", &v)) {
        struct mf_slice flags = find_part(v, ':', 3, &n);
        if (n != 4 || !flags_sampled(flags))
            return false;
        show_header(w, hdr, "Uber-Trace-Id");
        return true;
    }
    bool decided = find_header(hdr, "X-B3-Sampled", &v);
    if (decided && mf_eq_str(v, "0"))
        return false;
    if ((decided && mf_eq_str(v, "1")) || find_header(hdr, "X-B3-Traceid", &v)) {
        show_header(w, hdr, "X-B3-Parentspanid");
        show_header(w, hdr, "X-B3-Sampled");
        show_header(w, hdr, "X-B3-Spanid");
        show_header(w, hdr, "X-B3-Traceid");
        return true;
    }
    if (find_header(hdr, "B3", &v)) {
        show_header(w, hdr, "B3");
        return !b3_single_denies(v);
    }
    if (find_header(hdr, "Traceparent", &v)) {
        struct mf_slice flags = find_part(v, '-', 3, &n);
        show_header(w, hdr, "Traceparent");
        show_header(w, hdr, "Tracestate");
        return n == 4 && flags.len == 2 && flags_sampled(flags);
    }
    return false;
}

static bool is_sampled(const struct acc_export *x, struct mf_slice hdr, struct mf_buf *shown)
{
    struct jsonw w;
    bool yes;

    if (x->latency_percent >= 100 ||
        (x->latency_percent > 0 && rand_below(100) < (uint32_t)x->latency_percent))
        return true;
    jsonw_begin(&w, shown, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    yes = header_sampled(hdr, &w);
    jsonw_end(&w);
    return yes;
}

struct latency *latency_start(struct service_import *si, const struct router_msg *m)
{
    struct accounts *as = si->importer->as;
    const struct acc_export *x = si->export;
    struct mf_buf shown = MF_BUF_INIT;
    struct latency *l;

    if (MF_LIKELY(x->latency_subject == NULL) || x->response != OPTIONS_RESPONSE_SINGLETON)
        return NULL;
    if (!is_sampled(x, m->msg->hdr, &shown) || (l = calloc(1, sizeof *l)) == NULL) {
        mf_buf_fini(&shown);
        return NULL;
    }
    l->header = shown;
    l->owner = x->owner;
    l->subject = mf_slice_dup(mf_str(x->latency_subject));
    l->sent_ns = as->now_ns(as->now_arg);
    if (as->info != NULL && m->origin != NULL &&
        !as->info(as->info_arg, m->origin, si->share, NULL, &l->requestor, &l->rtt_ns))
        mf_buf_clear(&l->requestor);
    l->start_wall_ns = clock_wall_ns() - l->rtt_ns;
    if (l->subject == NULL) {
        latency_free(l);
        return NULL;
    }
    return l;
}

/* --- reports ---------------------------------------------------------------------------------- */

struct outcome {
    int status;
    const char *description; /* NULL: all is well */
    struct mf_slice responder;
    int64_t service_ns, total_ns;
};

static void report_latency(struct latency *l, const struct outcome *o)
{
    struct mf_buf body = MF_BUF_INIT;
    struct jsonw w;
    char id[RAND_NUID + 1];

    rand_nuid(id);
    jsonw_begin(&w, &body, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "type", "io.nats.server.metric.v1.service_latency");
    jsonw_str(&w, "id", id);
    jsonw_time(&w, "timestamp", clock_wall_ns());
    jsonw_i64(&w, "status", o->status);
    if (o->description != NULL)
        jsonw_str(&w, "description", o->description);
    if (l->requestor.len > 0)
        jsonw_raw(&w, "requestor", mf_buf_slice(&l->requestor));
    if (o->responder.len > 0)
        jsonw_raw(&w, "responder", o->responder);
    if (l->header.len > 2)
        jsonw_raw(&w, "header", mf_buf_slice(&l->header));
    jsonw_time(&w, "start", l->start_wall_ns);
    jsonw_i64(&w, "service", o->service_ns);
    jsonw_i64(&w, "system", 0);
    jsonw_i64(&w, "total", o->total_ns);
    jsonw_end(&w);
    if (!mf_buf_failed(&body)) {
        struct mf_msg msg = {.subject = mf_str(l->subject), .payload = mf_buf_slice(&body)};
        struct router_msg rm = {.route = msg.subject, .msg = &msg, .no_request = true};
        account_publish(l->owner, &rm);
    }
    mf_buf_fini(&body);
    latency_free(l);
}

void latency_bad_request(struct latency *l)
{
    if (l != NULL)
        report_latency(l, &(struct outcome){.status = 400, .description = "Bad Request"});
}

void latency_failed(struct latency *l, enum reply_end why)
{
    if (l == NULL)
        return;
    if (why == REPLY_NO_DELIVERY)
        report_latency(l, &(struct outcome){.status = 503, .description = "Service Unavailable"});
    else
        report_latency(l, &(struct outcome){.status = 504, .description = "Service Timeout"});
}

void latency_answered(struct latency *l, const struct router_msg *m)
{
    struct accounts *as;
    struct mf_buf responder = MF_BUF_INIT;
    int64_t rtt = 0, took;

    if (l == NULL)
        return;
    as = l->owner->as;
    took = as->now_ns(as->now_arg) - l->sent_ns;
    if (as->info != NULL && m->origin != NULL &&
        !as->info(as->info_arg, m->origin, true, NULL, &responder, &rtt))
        mf_buf_clear(&responder);
    /* The round trip times of both clients are not part of the service's time. */
    report_latency(l, &(struct outcome){.status = 200,
                                        .responder = mf_buf_slice(&responder),
                                        .service_ns = took > rtt ? took - rtt : 0,
                                        .total_ns = l->rtt_ns + took});
    mf_buf_fini(&responder);
}
