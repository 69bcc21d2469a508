/* republish.c: copies of what is stored, on other subjects.
 *
 * A copy is written when its message is accepted, for a message may be removed before it is on disk
 * (a key with one value, written twice in a moment), and sent when it is on disk.  Streams that do
 * not republish keep nothing; the others what is on its way to the disk. */
#include "stream/stream_impl.h"

#include "base/clock.h"
#include "base/log.h"

/* In front of each copy: what follows it, in this order. */
struct copy {
    uint64_t seq;
    size_t subject, hdr, payload;
};

static void add_number(struct mf_buf *b, const char *name, uint64_t n)
{
    uint8_t text[20];

    header_add(b, name, mf_slice(text, proto_put_u64(text, n)));
}

static void write_headers(struct stream *s, const struct stream_msg *m, uint64_t previous,
                          struct mf_buf *b)
{
    char time[CLOCK_TEXT];

    if (m->hdr.len > 2)
        mf_buf_append(b, m->hdr.ptr, m->hdr.len - 2); /* without the empty line */
    else
        header_begin(b, NULL);
    header_add(b, "Nats-Stream", mf_str(s->cfg.name));
    header_add(b, "Nats-Subject", m->subject);
    add_number(b, "Nats-Sequence", m->seq);
    header_add(b, "Nats-Time-Stamp", mf_slice(time, clock_put_rfc3339(time, m->ts_ns)));
    add_number(b, "Nats-Last-Sequence", previous);
    if (s->cfg.republish->headers_only)
        add_number(b, "Nats-Msg-Size", m->payload.len);
    header_end(b);
}

void republish_note(struct stream *s, const struct stream_msg *m, uint64_t previous)
{
    char subject[4096];
    struct mf_buf *b = &s->notify.copies;
    struct copy c = {.seq = m->seq};
    size_t start = b->len;

    if (s->republish == NULL)
        return;
    ssize_t n = transform_apply(s->republish, m->subject, subject, sizeof subject);
    if (n <= 0)
        return;
    c.subject = (size_t)n;
    c.payload = s->cfg.republish->headers_only ? 0 : m->payload.len;
    mf_buf_append(b, &c, sizeof c);
    mf_buf_append(b, subject, c.subject);
    size_t head = b->len;
    write_headers(s, m, previous, b);
    c.hdr = b->len - head;
    mf_buf_append(b, m->payload.ptr, c.payload);
    if (mf_buf_failed(b)) {
        log_warn("stream %s: no memory to republish message %llu", s->cfg.name,
                 (unsigned long long)m->seq);
        b->len = start;
        b->failed = false;
        return;
    }
    memcpy(b->ptr + start, &c, sizeof c);
}

static void send_copy(struct stream *s, const struct copy *c, const uint8_t *p)
{
    struct mf_msg out = {.subject = mf_slice(p, c->subject),
                         .hdr = mf_slice(p + c->subject, c->hdr),
                         .payload = mf_slice(p + c->subject + c->hdr, c->payload)};

    s->host->publish(s->host->arg, &out);
}

bool republish_send(struct stream *s, size_t max)
{
    /* A receiver of a copy may publish to this stream: copies of that are put into a new buffer. */
    struct mf_buf b = s->notify.copies;
    uint64_t on_disk = store_committed(s->store);
    size_t at = 0;
    struct copy c = {0};
    bool over = false;

    s->notify.copies = (struct mf_buf)MF_BUF_INIT;
    while (at < b.len && !over) {
        memcpy(&c, b.ptr + at, sizeof c);
        if (c.seq > on_disk)
            break;
        at += sizeof c;
        send_copy(s, &c, b.ptr + at);
        at += c.subject + c.hdr + c.payload;
        over = --max == 0 || work_spent_every(s->host->loop, 8);
    }
    mf_buf_consume(&b, at);
    mf_buf_append(&b, s->notify.copies.ptr, s->notify.copies.len);
    mf_buf_fini(&s->notify.copies);
    s->notify.copies = b;
    return over && b.len > 0;
}
