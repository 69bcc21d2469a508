/* ws_client.c: frames made and read by hand, so that wslay does not test itself. */
#include "ws_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

static const uint8_t mask_key[4] = {0x11, 0x82, 0x03, 0xf4};

void ws_request_text(struct mf_buf *out, const char *path, const char *headers)
{
    mf_buf_printf(out,
                  "GET %s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\nSec-WebSocket-Key: " WS_SAMPLE_KEY
                  "\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
                  path, headers);
}

bool ws_dial(struct tcp_client *c, int port, const char *headers)
{
    struct mf_buf request = MF_BUF_INIT;
    size_t head;
    bool good;

    tcp_dial(c, port);
    ws_request_text(&request, "/", headers);
    tcp_send(c, request.ptr, request.len);
    mf_buf_fini(&request);
    head = tcp_until(c, "\r\n\r\n");
    if (head == 0)
        fprintf(stderr, "ws_dial: no answer, %s\n", c->timed_out ? "timed out" : "ended");
    good = head > 0 && memcmp(c->in.ptr, "HTTP/1.1 101 ", 13) == 0;
    tcp_take(c, head);
    return good;
}

void ws_put(struct mf_buf *out, uint8_t first, const void *p, size_t n)
{
    const uint8_t *from = p;

    mf_buf_byte(out, first);
    if (n < 126) {
        mf_buf_byte(out, (uint8_t)(0x80 | n));
    } else if (n < 65536) {
        mf_buf_byte(out, 0x80 | 126);
        mf_buf_byte(out, (uint8_t)(n >> 8));
        mf_buf_byte(out, (uint8_t)n);
    } else {
        mf_buf_byte(out, 0x80 | 127);
        for (int shift = 56; shift >= 0; shift -= 8)
            mf_buf_byte(out, (uint8_t)((uint64_t)n >> shift));
    }
    mf_buf_append(out, mask_key, 4);
    for (size_t i = 0; i < n; i++)
        mf_buf_byte(out, from[i] ^ mask_key[i % 4]);
}

bool ws_send(struct tcp_client *c, uint8_t first, const void *p, size_t n)
{
    struct mf_buf frame = MF_BUF_INIT;
    bool sent;

    ws_put(&frame, first, p, n);
    sent = tcp_send(c, frame.ptr, frame.len);
    mf_buf_fini(&frame);
    return sent;
}

bool ws_next(struct tcp_client *c, struct ws_frame *f)
{
    size_t head = 2, extra;

    if (!tcp_fill(c, head))
        return false;
    f->first = c->in.ptr[0];
    f->masked = (c->in.ptr[1] & 0x80) != 0;
    f->length = c->in.ptr[1] & 0x7f;
    extra = f->length == 126 ? 2 : f->length == 127 ? 8 : 0;
    if (!tcp_fill(c, head + extra))
        return false;
    if (extra > 0)
        f->length = 0;
    for (size_t i = 0; i < extra; i++)
        f->length = f->length << 8 | c->in.ptr[head + i];
    head += extra;
    if (!tcp_fill(c, head + f->length))
        return false;
    f->payload = malloc(f->length + 1);
    if (f->payload == NULL)
        abort();
    memcpy(f->payload, c->in.ptr + head, f->length);
    f->payload[f->length] = '\0';
    tcp_take(c, head + f->length);
    return true;
}

static bool inflate_message(struct mf_buf *out, const struct mf_buf *in)
{
    static const uint8_t tail[4] = {0, 0, 0xff, 0xff};
    struct mf_buf all = MF_BUF_INIT;
    z_stream z = {.zalloc = Z_NULL};
    int rc = inflateInit2(&z, -MAX_WBITS);

    mf_buf_append(&all, in->ptr, in->len);
    mf_buf_append(&all, tail, sizeof tail);
    z.next_in = all.ptr;
    z.avail_in = (uInt)all.len;
    while (rc == Z_OK) {
        uint8_t *to = mf_buf_reserve(out, 65536);
        z.next_out = to;
        z.avail_out = 65536;
        rc = inflate(&z, Z_SYNC_FLUSH);
        out->len += 65536 - z.avail_out;
        if (z.avail_out > 0)
            break;
    }
    inflateEnd(&z);
    mf_buf_fini(&all);
    return rc == Z_OK || rc == Z_BUF_ERROR;
}

bool ws_collect(struct tcp_client *c, struct mf_buf *out, size_t n)
{
    struct mf_buf message = MF_BUF_INIT;
    bool deflated = false, inside = false, good = true;

    while (good && out->len < n) {
        struct ws_frame f;
        if (!ws_next(c, &f)) {
            good = false;
            break;
        }
        if ((f.first & 0x0f) == WS_PONG) { /* may stand between fragments */
            free(f.payload);
            continue;
        }
        if ((f.first & 0x0f) == WS_BIN && !inside)
            deflated = (f.first & WS_RSV1) != 0;
        else if ((f.first & ~WS_FIN) != WS_CONT || !inside)
            good = false; /* the bit belongs to the first frame only */
        inside = (f.first & WS_FIN) == 0;
        mf_buf_append(&message, f.payload, f.length);
        if (f.first & WS_FIN) {
            if (deflated)
                good = good && inflate_message(out, &message);
            else
                mf_buf_append(out, message.ptr, message.len);
            mf_buf_clear(&message);
        }
        free(f.payload);
    }
    mf_buf_fini(&message);
    return good;
}

void ws_compress(struct mf_buf *out, const void *p, size_t n)
{
    z_stream z = {.zalloc = Z_NULL};
    size_t room;
    uint8_t *to;

    if (deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    room = deflateBound(&z, n) + 16;
    to = mf_buf_reserve(out, room);
    z.next_in = (z_const Bytef *)p;
    z.avail_in = (uInt)n;
    z.next_out = to;
    z.avail_out = (uInt)room;
    if (to == NULL || deflate(&z, Z_SYNC_FLUSH) != Z_OK)
        abort();
    out->len += room - z.avail_out - 4;
    deflateEnd(&z);
}
