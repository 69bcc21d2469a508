/* fuzz_ws.c: WebSocket frames as any peer may send them, and our own frames read back.
 *
 * First byte: bit 0 compression agreed, bit 1 masking waived, bit 2 a browser; second byte: the
 * size of pieces the rest is cut into.  However it is cut, the same plain bytes, the same frames
 * back and the same verdict must come out. */
#include "fuzz.h"
#include "base/buf.h"
#include "ws/pipe_impl.h"

#define MAX_MESSAGE 200000

/* A connection as the filter sees it: two buffers. */
struct net_conn {
    struct net_tail tail; /* net_queued() looks here */
    struct mf_buf plain, wire;
};

void net_filter_plain(struct net_conn *c, const uint8_t *p, size_t n)
{
    FUZZ_CHECK(n > 0);
    mf_buf_append(&c->plain, p, n);
}

int net_filter_wire(struct net_conn *c, const uint8_t *p, size_t n)
{
    mf_buf_append(&c->wire, p, n);
    return 0;
}

bool net_closing(const struct net_conn *c)
{
    (void)c;
    return false;
}

static void conn_fini(struct net_conn *c)
{
    mf_buf_fini(&c->plain);
    mf_buf_fini(&c->wire);
}

/* Feeds the bytes in pieces, and says goodbye; the last result. */
static int run(struct net_conn *c, const struct ws_verdict *v, const uint8_t *p, size_t n,
               size_t piece)
{
    struct ws_pipe *w = ws_pipe_new(v, MAX_MESSAGE);
    int rc = 0;

    FUZZ_CHECK(w != NULL);
    for (size_t at = 0; rc == 0 && at < n; at += piece)
        rc = ws_pipe_filter.decode(w, c, p + at, piece < n - at ? piece : n - at);
    ws_pipe_filter.farewell(w, c, NET_CLOSED_FILTER);
    FUZZ_CHECK(ws_pipe_filter.encode(w, c, p, n) == 0); /* after a close frame: nothing */
    ws_pipe_filter.free(w);
    return rc;
}

/* What we frame, we can read, whole or in pieces, small frames for browsers. */
static void round_trip(const struct ws_verdict *v, const uint8_t *p, size_t n, size_t piece)
{
    struct ws_verdict unmasked = *v;
    struct net_conn to = {.plain = MF_BUF_INIT}, from = {.plain = MF_BUF_INIT};
    struct ws_pipe *w;

    unmasked.no_masking = true;
    w = ws_pipe_new(&unmasked, MAX_MESSAGE);
    FUZZ_CHECK(w != NULL);
    for (size_t at = 0; at < n; at += piece)
        FUZZ_CHECK(ws_pipe_filter.encode(w, &to, p + at, piece < n - at ? piece : n - at) == 0);
    for (size_t at = 0; at < to.wire.len; at += piece)
        FUZZ_CHECK(ws_pipe_filter.decode(w, &from, to.wire.ptr + at,
                                         piece < to.wire.len - at ? piece : to.wire.len - at) == 0);
    FUZZ_CHECK(mf_eq(mf_buf_slice(&from.plain), mf_slice(p, n)));
    FUZZ_CHECK(from.wire.len == 0);
    FUZZ_CHECK(w->reader == NULL && w->inflater == NULL); /* idle: owns nothing */
    ws_pipe_filter.free(w);
    conn_fini(&to);
    conn_fini(&from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct net_conn whole = {.plain = MF_BUF_INIT}, cut = {.plain = MF_BUF_INIT};
    struct ws_verdict v = {.status = 101};
    static bool kept;
    size_t piece;

    if (size < 2)
        return 0;
    if (!kept)
        ws_pool_retain(); /* making the deflater anew would take most of the time */
    kept = true;
    v.compress = data[0] & 1;
    v.no_masking = data[0] & 2;
    v.browser = data[0] & 4;
    piece = data[1] == 0 ? 1 : data[1];
    data += 2;
    size -= 2;
    FUZZ_CHECK(run(&whole, &v, data, size, size + 1) == run(&cut, &v, data, size, piece));
    FUZZ_CHECK(mf_eq(mf_buf_slice(&whole.plain), mf_buf_slice(&cut.plain)));
    FUZZ_CHECK(mf_eq(mf_buf_slice(&whole.wire), mf_buf_slice(&cut.wire)));
    round_trip(&v, data, size, piece);
    conn_fini(&whole);
    conn_fini(&cut);
    return 0;
}
