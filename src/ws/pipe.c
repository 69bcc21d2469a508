/* pipe.c: the write side of the framing, and the way a connection ends.
 *
 * Happy path: net hands over plain bytes, they leave as binary frames.
 * Failure: the read side chooses the close frame and returns a code; net asks for the farewell and
 * closes.
 * Close: as on failure, with the status of ws_set_farewell(). */
#include "ws/pipe_impl.h"

#include "base/rand.h"

#include <stdlib.h>

#define BROWSER_FRAME  4096 /* nats-server: browsers behave better with small frames */
#define COMPRESS_ABOVE 64   /* smaller payloads only grow */
#define COMPRESS_PIECE (64u << 10)
#define DEFAULT_MAX    (64u << 20)

/* --- frames ----------------------------------------------------------------------------------- */
static ssize_t wire_send(const uint8_t *p, size_t n, int flags, void *arg)
{
    struct net_conn *const *to = arg;

    (void)flags;
    return net_filter_wire(*to, p, n) == 0 ? (ssize_t)n : -1;
}

static int make_mask(uint8_t *key, size_t n, void *arg)
{
    (void)arg;
    rand_bytes(key, n);
    return 0;
}

int ws_pipe_send(const struct ws_pipe *w, struct net_conn *c, unsigned opcode, bool fin,
                 bool deflated, const uint8_t *p, size_t n)
{
    static const struct wslay_frame_callbacks callbacks = {.send_callback = wire_send,
                                                           .genmask_callback = make_mask};
    static _Thread_local struct net_conn *to; /* of the frame being sent */
    struct wslay_frame_iocb frame = {
        .fin = fin,
        .rsv = deflated ? WSLAY_RSV1_BIT : WSLAY_RSV_NONE,
        .opcode = (uint8_t)opcode,
        .mask = w->masks,
        .payload_length = n,
        .data = p,
        .data_length = n,
    };
    wslay_frame_context_ptr writer = ws_writer_get(&callbacks, &to, w->masks);

    if (writer == NULL)
        return MF_NOMEM;
    to = c;
    if (wslay_frame_send(writer, &frame) == (ssize_t)n)
        return 0;
    ws_writer_drop(w->masks);
    return MF_CLOSED;
}

/* Each frame is a message of its own. */
static int send_plain(struct ws_pipe *w, struct net_conn *c, const uint8_t *p, size_t n)
{
    int rc = 0;

    for (size_t piece; n > 0 && rc == 0; p += piece, n -= piece) {
        piece = w->browser && n > BROWSER_FRAME ? BROWSER_FRAME : n;
        rc = ws_pipe_send(w, c, WSLAY_BINARY_FRAME, true, false, p, piece);
    }
    return rc;
}

/* One message, in fragments for a browser; only its first frame carries the bit. */
static int send_deflated(struct ws_pipe *w, struct net_conn *c, const uint8_t *p, size_t n)
{
    struct mf_slice z = ws_deflate(p, n);
    unsigned opcode = WSLAY_BINARY_FRAME;
    int rc = 0;

    if (z.len == 0 || z.len >= n)
        return send_plain(w, c, p, n);
    for (size_t piece; z.len > 0 && rc == 0; z.ptr += piece, z.len -= piece) {
        piece = w->browser && !w->whole_deflated && z.len > BROWSER_FRAME ? BROWSER_FRAME : z.len;
        rc = ws_pipe_send(w, c, opcode, piece == z.len, opcode == WSLAY_BINARY_FRAME, z.ptr, piece);
        opcode = WSLAY_CONTINUATION_FRAME;
    }
    return rc;
}

static int pipe_encode(void *state, struct net_conn *c, const uint8_t *p, size_t n)
{
    struct ws_pipe *w = state;
    int rc = 0;

    if (w->close_sent)
        return 0;
    if (!w->compress || n <= COMPRESS_ABOVE)
        return send_plain(w, c, p, n);
    for (size_t piece; n > 0 && rc == 0; p += piece, n -= piece) {
        piece = n > COMPRESS_PIECE ? COMPRESS_PIECE : n; /* bounds what the deflater holds */
        rc = send_deflated(w, c, p, piece);
    }
    return rc;
}

/* --- the end ---------------------------------------------------------------------------------- */
void ws_pipe_choose_close(struct ws_pipe *w, unsigned status, const void *text, size_t n)
{
    if (w->close_chosen)
        return;
    w->close_chosen = true;
    w->close[0] = (uint8_t)(status >> 8);
    w->close[1] = (uint8_t)status;
    if (n <= WS_CONTROL_MAX - 2) {
        memcpy(w->close + 2, text, n);
    } else { /* cut, and say so */
        n = WS_CONTROL_MAX - 2;
        memcpy(w->close + 2, text, n - 3);
        memcpy(w->close + 2 + n - 3, "...", 3);
    }
    w->close_len = (uint8_t)(2 + n);
}

void ws_set_farewell(struct ws_pipe *w, unsigned status, const char *text)
{
    ws_pipe_choose_close(w, status, text, strlen(text));
}

static void pipe_farewell(void *state, struct net_conn *c, enum net_why why)
{
    struct ws_pipe *w = state;

    (void)why;
    if (w->close_sent)
        return;
    ws_pipe_choose_close(w, WS_CLOSE_GOING_AWAY, "", 0);
    w->close_sent = true;
    /* A failure means that the connection is beyond farewells. */
    (void)ws_pipe_send(w, c, WSLAY_CONNECTION_CLOSE, true, false, w->close, w->close_len);
}

/* --- life ------------------------------------------------------------------------------------- */
struct ws_pipe *ws_pipe_new(const struct ws_verdict *v, size_t max_message)
{
    struct ws_pipe *w = calloc(1, sizeof *w);

    if (w == NULL)
        return NULL;
    w->masked = !v->no_masking;
    w->compress = v->compress;
    w->browser = v->browser;
    w->whole_deflated = v->whole_deflated;
    w->max_message = max_message > 0 ? max_message : DEFAULT_MAX;
    ws_pool_retain();
    return w;
}

static void pipe_free(void *state)
{
    struct ws_pipe *w = state;

    ws_reader_drop(w->reader); /* in the middle of a frame: of no use to others */
    ws_inflater_give(w->inflater);
    ws_pool_release();
    free(w);
}

const struct net_filter ws_pipe_filter = {
    .decode = ws_pipe_decode,
    .encode = pipe_encode,
    .farewell = pipe_farewell,
    .free = pipe_free,
};
