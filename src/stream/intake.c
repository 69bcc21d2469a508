/* intake.c: the headers of a message that mean something to a stream, found in one pass. */
#include "stream/stream_impl.h"

#define PLAIN "NATS/1.0\r\n"
#define FIELD(name, member)                                                                        \
    {                                                                                              \
        name, sizeof(name) - 1, offsetof(struct intake_headers, member)                            \
    }

static const struct field {
    const char *name;
    size_t len, offset;
} fields[] = {
    FIELD("Nats-TTL", ttl),
    FIELD("Nats-Msg-Id", msg_id),
    FIELD("Nats-Rollup", rollup),
    FIELD("KV-Operation", kv_operation),
    FIELD("Nats-Expected-Stream", expected_stream),
    FIELD("Nats-Expected-Last-Sequence", expected_last_seq),
    FIELD("Nats-Expected-Last-Msg-Id", expected_last_msg_id),
    FIELD("Nats-Expected-Last-Subject-Sequence", expected_subject_seq),
    FIELD("Nats-Expected-Last-Subject-Sequence-Subject", expected_subject_seq_subject),
    FIELD("Nats-Incr", incr),
    FIELD("Nats-Batch-Id", batch_id),
    FIELD("Nats-Batch-Sequence", batch_seq),
    FIELD("Nats-Batch-Commit", batch_commit),
    FIELD("Nats-Schedule", schedule),
    FIELD("Nats-Schedule-Target", schedule_target),
    FIELD("Nats-Schedule-Source", schedule_source),
    FIELD("Nats-Schedule-TTL", schedule_ttl),
    FIELD("Nats-Schedule-Rollup", schedule_rollup),
    FIELD("Nats-Schedule-Time-Zone", schedule_zone),
    FIELD("Nats-Schedule-Next", schedule_next),
    FIELD("Nats-Scheduler", scheduler),
    FIELD("Nats-Stream-Source", stream_source),
    FIELD("Nats-Required-Api-Level", required_level),
    FIELD("Nats-Marker-Reason", marker_reason),
    FIELD("Mayfly-TTL", show_ttl),
    FIELD("Nats-Request-Info", request_info),
};

static void take_header(struct intake_headers *h, struct mf_slice name, struct mf_slice value)
{
    /* Most lines are the application's own. */
    if (name.len < 8 || (name.ptr[0] != 'N' && name.ptr[0] != 'K' && name.ptr[0] != 'M'))
        return;
    for (size_t i = 0; i < MF_COUNT(fields); i++) {
        const struct field *f = &fields[i];
        if (f->len != name.len || memcmp(f->name, name.ptr, name.len) != 0)
            continue;
        struct mf_slice *at = (struct mf_slice *)(void *)((char *)h + f->offset);
        if (at->ptr == NULL) /* the first one wins, even if it is empty */
            *at = value;
        return;
    }
}

/* *h is empty. */
static void find_headers(struct mf_slice hdr, struct intake_headers *h)
{
    const uint8_t *p, *end;

    if (hdr.len == 0 || (p = memchr(hdr.ptr, '\n', hdr.len)) == NULL)
        return; /* nothing behind the status line */
    end = hdr.ptr + hdr.len;
    for (p++; p < end;) {
        const uint8_t *eol = memchr(p, '\n', (size_t)(end - p));
        if (eol == NULL)
            eol = end;
        const uint8_t *colon = memchr(p, ':', (size_t)(eol - p));
        if (colon != NULL && colon > p) {
            const uint8_t *v = colon + 1, *last = eol;
            if (last > v && last[-1] == '\r')
                last--;
            while (v < last && *v == ' ')
                v++;
            take_header(h, mf_slice(p, (size_t)(colon - p)), mf_slice(v, (size_t)(last - v)));
        }
        p = eol + 1;
    }
}

void intake_read(struct mf_slice hdr, struct intake_headers *h)
{
    *h = (struct intake_headers){0};
    find_headers(hdr, h);
}

int intake_replace(struct stream *s, struct intake *in, struct mf_buf *out)
{
    if (mf_buf_failed(out)) {
        mf_buf_fini(out);
        return MF_NOMEM;
    }
    lend_clear(&s->buf.header);
    mf_buf_fini(&s->buf.header);
    s->buf.header = *out;
    in->hdr = lend_slice(&s->buf.header);
    intake_read(in->hdr, &in->h);
    return 0;
}

/* The block without its status and without Nats-Request-Info, in s->buf.header; the same without
 * memory. */
static struct mf_slice clean_headers(struct stream *s, struct mf_slice hdr, bool odd)
{
    const uint8_t *eol;
    struct mf_buf out = MF_BUF_INIT;

    if (odd && (eol = memchr(hdr.ptr, '\n', hdr.len)) != NULL) {
        mf_buf_puts(&out, PLAIN);
        mf_buf_append(&out, eol + 1, (size_t)(hdr.ptr + hdr.len - eol - 1));
    } else {
        mf_buf_append(&out, hdr.ptr, hdr.len);
    }
    lend_clear(&s->buf.header);
    header_remove(&s->buf.header, mf_buf_slice(&out), "Nats-Request-Info");
    bool failed = mf_buf_failed(&out) || mf_buf_failed(&s->buf.header);
    mf_buf_fini(&out);
    return failed ? hdr : lend_slice(&s->buf.header);
}

void intake_clean(struct stream *s, struct intake *in)
{
    bool odd = in->hdr.len >= sizeof PLAIN - 1 && memcmp(in->hdr.ptr, PLAIN, sizeof PLAIN - 1) != 0;

    find_headers(in->hdr, &in->h);
    if (!odd && in->h.request_info.ptr == NULL)
        return;
    in->hdr = clean_headers(s, in->hdr, odd);
    intake_read(in->hdr, &in->h);
}
