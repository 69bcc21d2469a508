/* pipe_read.c: the read side of the framing: wire bytes to plain bytes.
 *
 * Payload is passed on as it arrives, compressed or not, whatever size its frame claims; nothing is
 * gathered but control frames (125 bytes at most).  So a peer cannot make us hold memory, and the
 * limit on a compressed message bounds the work a few bytes can cause.
 * Order: plain bytes gather in a slab and are handed on when it is full and at the end of the call:
 * many small frames make one call of the handler. */
#include "ws/pipe_impl.h"

#include <stdio.h>

/* No pong is sent while this many bytes wait: a peer that pings and never reads must not cost
 * memory.  RFC 6455 5.5.3 lets us answer only some. */
#define PONG_QUEUE_MAX (256u << 10)

struct reading {
    struct ws_pipe *w;
    struct net_conn *c;
    struct ws_reader *r;
    struct ws_slab *out;
};

static int fail_frame(struct ws_pipe *w, unsigned status, const char *text)
{
    ws_pipe_choose_close(w, status, text, strlen(text));
    return MF_PROTO;
}

static void hand_on(struct reading *g)
{
    size_t n = g->out->len;

    g->out->len = 0;
    if (n > 0 && !net_closing(g->c))
        net_filter_plain(g->c, g->out->bytes, n);
}

/* --- payload ---------------------------------------------------------------------------------- */
static void put_plain(struct reading *g, const uint8_t *p, size_t n)
{
    while (n > 0) {
        size_t room = WS_SLAB - g->out->len, piece = n < room ? n : room;
        memcpy(g->out->bytes + g->out->len, p, piece);
        g->out->len += piece;
        p += piece;
        n -= piece;
        if (g->out->len == WS_SLAB)
            hand_on(g);
    }
}

/* Inflates straight into the slab. */
static int put_deflated(struct reading *g, const uint8_t *p, size_t n)
{
    struct ws_pipe *w = g->w;
    z_stream *z = &w->inflater->z;
    int rc = Z_OK;

    z->next_in = (z_const Bytef *)p;
    z->avail_in = (uInt)n;
    /* A full slab may hide more output behind an input that is used up. */
    for (bool more = n > 0; more && !w->inflate_done && !net_closing(g->c);) {
        size_t before = g->out->len;
        z->next_out = g->out->bytes + before;
        z->avail_out = (uInt)(WS_SLAB - before);
        rc = inflate(z, Z_NO_FLUSH);
        g->out->len = WS_SLAB - z->avail_out;
        w->inflated += g->out->len - before;
        if (w->inflated > w->max_message) {
            g->out->len -= (size_t)(w->inflated - w->max_message);
            return fail_frame(w, WS_CLOSE_TOO_BIG, "message too big");
        }
        if (rc == Z_MEM_ERROR)
            return MF_NOMEM;
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return fail_frame(w, WS_CLOSE_BAD_DATA, "invalid compressed data");
        w->inflate_done = rc == Z_STREAM_END; /* the rest of the message means nothing */
        more = z->avail_in > 0 || z->avail_out == 0;
        if (z->avail_out == 0)
            hand_on(g);
    }
    return 0;
}

/* The sync marker that the sender took off, and a final empty block: a stream that does not end
 * right there was cut short. */
static int finish_deflated(struct reading *g)
{
    static const uint8_t tail[] = {0, 0, 0xff, 0xff, 1, 0, 0, 0xff, 0xff};
    struct ws_pipe *w = g->w;
    int rc = 0;

    if (w->inflater->z.total_in > 0) { /* else an empty message, sent without any block */
        rc = put_deflated(g, tail, sizeof tail);
        if (rc == 0 && !w->inflate_done && !net_closing(g->c))
            rc = fail_frame(w, WS_CLOSE_BAD_DATA, "incomplete compressed data");
    }
    ws_inflater_give(w->inflater);
    w->inflater = NULL;
    w->message_deflated = false;
    return rc;
}

/* --- control frames --------------------------------------------------------------------------- */
static bool valid_status(unsigned s)
{
    if (s < 1000 || s >= 5000 || (s >= 1016 && s <= 2999))
        return false;
    return s != 1004 && s != 1005 && s != 1006 && s != 1015;
}

static bool valid_utf8(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t code = p[i];
        unsigned more = code < 0x80 ? 0 : code < 0xe0 ? 1 : code < 0xf0 ? 2 : 3;
        uint32_t least = more == 1 ? 0x80 : more == 2 ? 0x800 : more == 3 ? 0x10000 : 0;
        if ((code >= 0x80 && code < 0xc2) || code > 0xf4 || more > n - i - 1)
            return false;
        code &= more == 0 ? 0x7fu : 0x3fu >> more;
        for (i++; more > 0; more--, i++) {
            if ((p[i] & 0xc0) != 0x80)
                return false;
            code = code << 6 | (p[i] & 0x3fu);
        }
        if (code < least || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
            return false;
    }
    return true;
}

/* The peer gets its own status back, and an empty frame for an empty one. */
static int close_frame(struct reading *g)
{
    static const char bad_text[] = "invalid utf8 body in close frame";
    const uint8_t *p = g->r->control;
    size_t n = g->r->control_len;
    unsigned status = n < 2 ? 0 : (unsigned)p[0] << 8 | p[1];
    char text[48];

    if (n == 1)
        return fail_frame(g->w, WS_CLOSE_PROTOCOL, "close frame payload cannot be 1 byte");
    if (n >= 2 && !valid_status(status)) {
        snprintf(text, sizeof text, "invalid close status code %u", status);
        return fail_frame(g->w, WS_CLOSE_PROTOCOL, text);
    }
    if (n == 0)
        g->w->close_chosen = true; /* close_len is 0 */
    else if (!valid_utf8(p + 2, n - 2))
        ws_pipe_choose_close(g->w, WS_CLOSE_BAD_DATA, bad_text, sizeof bad_text - 1);
    else
        ws_pipe_choose_close(g->w, status, p + 2, n - 2);
    return MF_CLOSED;
}

static int control_frame(struct reading *g, unsigned opcode)
{
    switch (opcode) {
    case WSLAY_CONNECTION_CLOSE:
        return close_frame(g);
    case WSLAY_PING:
        if (net_queued(g->c) > PONG_QUEUE_MAX)
            return 0;
        return ws_pipe_send(g->w, g->c, WSLAY_PONG, true, false, g->r->control, g->r->control_len);
    default:
        return 0;
    }
}

/* --- frames ----------------------------------------------------------------------------------- */
static int begin_message(struct ws_pipe *w, bool deflated)
{
    if (w->in_message)
        return fail_frame(
            w, WS_CLOSE_PROTOCOL,
            "new message started before final frame for previous message was received");
    w->in_message = true;
    w->message_deflated = deflated;
    w->inflated = 0;
    w->inflate_done = false;
    if (!deflated)
        return 0;
    w->inflater = ws_inflater_take();
    return w->inflater == NULL ? MF_NOMEM : 0;
}

/* Text frames carry bytes as binary ones do, as in nats-server. */
static int begin_frame(struct ws_pipe *w, const struct wslay_frame_iocb *f)
{
    bool deflated = wslay_get_rsv1(f->rsv) != 0;

    if (wslay_get_rsv2(f->rsv) || wslay_get_rsv3(f->rsv))
        return fail_frame(w, WS_CLOSE_PROTOCOL, "RSV2 and RSV3 must be clear");
    if (deflated && !w->compress)
        return fail_frame(w, WS_CLOSE_PROTOCOL,
                          "compressed frame received without negotiated permessage-deflate");
    switch (f->opcode) {
    case WSLAY_CONNECTION_CLOSE:
    case WSLAY_PING:
    case WSLAY_PONG:
        return deflated ? fail_frame(w, WS_CLOSE_PROTOCOL, "control frame must not be compressed")
                        : 0;
    case WSLAY_TEXT_FRAME:
    case WSLAY_BINARY_FRAME:
        return begin_message(w, deflated);
    case WSLAY_CONTINUATION_FRAME:
        return !w->in_message || deflated
                   ? fail_frame(w, WS_CLOSE_PROTOCOL, "invalid continuation frame")
                   : 0;
    default:
        return fail_frame(w, WS_CLOSE_PROTOCOL, "unknown opcode");
    }
}

static int frame_payload(struct reading *g, const struct wslay_frame_iocb *f)
{
    struct ws_reader *r = g->r;

    if (wslay_is_ctrl_frame(f->opcode)) { /* wslay refuses more than 125 bytes */
        memcpy(r->control + r->control_len, f->data, f->data_length);
        r->control_len += f->data_length;
        return 0;
    }
    if (g->w->message_deflated)
        return put_deflated(g, f->data, f->data_length);
    put_plain(g, f->data, f->data_length);
    return 0;
}

static int end_frame(struct reading *g, const struct wslay_frame_iocb *f)
{
    struct ws_reader *r = g->r;
    uint64_t length = f->payload_length;

    r->framed += 2 + (length < 126 ? 0 : length < 65536 ? 2 : 8) + length;
    r->inside = false;
    if (wslay_is_ctrl_frame(f->opcode))
        return control_frame(g, f->opcode);
    if (!f->fin)
        return 0;
    g->w->in_message = false;
    return g->w->message_deflated ? finish_deflated(g) : 0;
}

/* Until the bytes are used up (0), the peer says goodbye (MF_CLOSED), or something is wrong. */
static int read_frames(struct reading *g)
{
    struct ws_reader *r = g->r;
    int rc = 0;

    while (rc == 0 && !net_closing(g->c)) {
        struct wslay_frame_iocb f;
        ssize_t got = wslay_frame_recv(r->ctx, &f);
        if (got == WSLAY_ERR_WANT_READ)
            return r->feed.violated ? fail_frame(g->w, WS_CLOSE_PROTOCOL, "mask bit missing") : 0;
        if (got < 0)
            return fail_frame(g->w, WS_CLOSE_PROTOCOL, "invalid frame header");
        if (!r->inside) {
            r->inside = true;
            r->off = 0;
            r->control_len = 0;
            rc = begin_frame(g->w, &f);
        }
        if (rc == 0)
            rc = frame_payload(g, &f);
        r->off += (uint64_t)got;
        if (rc == 0 && r->off == f.payload_length)
            rc = end_frame(g, &f);
    }
    return rc;
}

int ws_pipe_decode(void *state, struct net_conn *c, const uint8_t *p, size_t n)
{
    struct ws_pipe *w = state;
    struct reading g = {.w = w, .c = c};
    int rc;

    if (w->close_chosen && w->close_sent)
        return 0; /* what follows our close frame is of no interest */
    g.r = w->reader != NULL ? w->reader : ws_reader_take();
    g.out = ws_slab_take();
    w->reader = g.r;
    if (g.r == NULL || g.out == NULL) {
        ws_slab_give(g.out);
        return MF_NOMEM;
    }
    g.r->feed.in = p;
    g.r->feed.left = n;
    g.r->feed.demand = w->masked;
    rc = read_frames(&g);
    hand_on(&g); /* also what came before a violation: it was right */
    ws_slab_give(g.out);
    if (rc == 0 && g.r->feed.given == g.r->framed && ws_unmask_idle(&g.r->feed)) {
        w->reader = NULL;
        ws_reader_give(g.r);
    }
    return rc;
}
