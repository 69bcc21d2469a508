/* trace_send.c: finished traces of messages, as JSON on the subject that asked for them, compressed
 * where the headers of the message say so. */
#include "status/sys_impl.h"

#include "account/account_trace.h"
#include "codec/s2.h"
#include "base/log.h"
#include "monitor/monitor.h"

static const char *const coding_names[] = {
    [MSGTRACE_GZIP] = "gzip",
    [MSGTRACE_SNAPPY] = "snappy",
    [MSGTRACE_IDENTITY] = "identity",
};

/* false: no memory. */
static bool compress_body(struct mf_buf *body, enum msgtrace_coding coding)
{
    struct mf_buf packed = MF_BUF_INIT;
    bool ok = true;

    if (mf_buf_failed(body))
        return false;
    if (coding == MSGTRACE_GZIP) {
        ok = monitor_gzip(&packed, mf_buf_slice(body)) == 0;
    } else if (coding == MSGTRACE_SNAPPY) {
        s2_frame_begin_snappy(&packed);
        s2_frame_add(&packed, mf_buf_slice(body));
        ok = !mf_buf_failed(&packed);
    } else {
        return true;
    }
    mf_buf_fini(body);
    *body = packed;
    return ok;
}

/* The longest text of a trace that fits into max_payload with its header block: other servers close
 * a link over which more arrives.  Compression may make a text a little longer. */
static size_t most_bytes(const struct sys *y)
{
    int64_t max = server_options(y->status->server)->max_payload;
    size_t spare = 256;

    if (max < 0)
        return SIZE_MAX;
    spare += (size_t)max / 1024;
    return (size_t)max > spare ? (size_t)max - spare : 0;
}

static void send_trace(void *sys, struct account *a, const struct msgtrace *t)
{
    struct sys *y = sys;
    enum msgtrace_coding coding = msgtrace_coding(t);
    struct mf_buf body = MF_BUF_INIT, hdr = MF_BUF_INIT;
    size_t most = most_bytes(y);
    struct jsonw w;

    jsonw_begin(&w, &body, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_object(&w, "server");
    sys_write_server(y, &w);
    jsonw_end(&w);
    msgtrace_write(t, &w, most);
    jsonw_end(&w);
    if (body.len > most) {
        log_error("A message trace does not fit into max_payload and is not sent: \"%.*s\"",
                  MF_FMT(msgtrace_own_dest(t)));
        mf_buf_fini(&body);
        return;
    }
    if (coding != MSGTRACE_PLAIN)
        mf_buf_printf(&hdr, "NATS/1.0\r\nContent-Encoding: %s\r\n\r\n", coding_names[coding]);
    if (compress_body(&body, coding) && !mf_buf_failed(&hdr))
        sys_publish(y, a, msgtrace_own_dest(t), mf_buf_slice(&hdr), &body);
    mf_buf_fini(&body);
    mf_buf_fini(&hdr);
}

void sys_trace_start(struct sys *y)
{
    accounts_set_tracer(y->status->accounts, send_trace, y);
}

void sys_trace_stop(struct sys *y)
{
    accounts_set_tracer(y->status->accounts, NULL, NULL);
}
