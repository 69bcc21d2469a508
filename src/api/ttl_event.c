/* ttl_event.c: events about lifetimes, written only where somebody listens. */
#include "event.h"

#include "mayfly/clock.h"
#include "mayfly/lend.h"
#include "mayfly/stream_ttl.h"

#define EXPIRING "$MAYFLY.EVENT.TTL.EXPIRING."

static void write_expiring(struct mf_buf *out, struct stream *s, const struct stream_expiring *e)
{
    struct jsonw w;
    char text[CLOCK_TEXT];

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "type", "io.mayfly.event.v1.ttl_expiring");
    jsonw_str(&w, "stream", stream_name(s));
    jsonw_slice(&w, "subject", e->subject);
    jsonw_u64(&w, "seq", e->seq);
    jsonw_time(&w, "expires", e->deadline_ns);
    jsonw_i64(&w, "left_ms", e->left_ns / CLOCK_MS);
    jsonw_str(&w, "warn", clock_duration(text, e->warn_ns));
    jsonw_end(&w);
}

bool ttl_event_expiring(void *arg, struct stream *s, const struct stream_expiring *e)
{
    struct api_account *aa = arg;
    struct mf_buf *subject = lend_take(), text = MF_BUF_INIT;
    bool sent = false;

    if (subject == NULL)
        return false;
    mf_buf_puts(subject, EXPIRING);
    mf_buf_puts(subject, stream_name(s));
    mf_buf_byte(subject, '.');
    mf_buf_append(subject, e->subject.ptr, e->subject.len);
    if (!mf_buf_failed(subject) &&
        router_has_interest(account_router(aa->account), mf_buf_slice(subject))) {
        write_expiring(&text, s, e);
        if ((sent = !mf_buf_failed(&text)))
            api_publish(aa, mf_buf_slice(subject), MF_SLICE_NONE, MF_SLICE_NONE,
                        mf_buf_slice(&text));
    }
    mf_buf_fini(&text);
    lend_give(subject);
    return sent;
}
