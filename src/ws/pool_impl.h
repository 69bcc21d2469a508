/* pool_impl.h: objects that WebSocket connections share, so that an idle one owns next to nothing.
 *
 * A reader (4 KB, wslay's receive state) is held only between the first and the last byte of a
 * frame, an inflater (40 KB) only inside a compressed message, a slab only inside one call.  The
 * deflaters (30 and 256 KB) serve everybody: no context survives a message.  All of it belongs to
 * the loop thread and is freed with the last connection. */
#ifndef MAYFLY_WS_POOL_H
#define MAYFLY_WS_POOL_H

#include "base/pool.h"
#include "ws/unmask_impl.h"

#include <wslay/wslay.h>
#include <zlib.h>

#define WS_CONTROL_MAX 125
#define WS_SLAB        (64u << 10)

struct ws_reader {
    struct mf_spare spare;
    wslay_frame_context_ptr ctx;
    struct ws_unmask feed; /* what ctx reads from */
    uint64_t framed;       /* bytes of whole frames: feed.given at a frame boundary */
    bool inside;           /* a frame has begun */
    uint64_t off;          /* payload bytes of it so far */
    size_t control_len;
    uint8_t control[WS_CONTROL_MAX];
};
struct ws_inflater {
    struct mf_spare spare;
    z_stream z;
};
struct ws_slab {
    struct mf_spare spare;
    size_t len;
    uint8_t bytes[WS_SLAB];
};

void ws_pool_retain(void); /* one for each connection */
void ws_pool_release(void);

/* take: NULL when out of memory.  give: NULL is fine. */
struct ws_reader *ws_reader_take(void);
void ws_reader_give(struct ws_reader *r);
void ws_reader_drop(struct ws_reader *r); /* its state is not at a frame boundary */
struct ws_inflater *ws_inflater_take(void);
void ws_inflater_give(struct ws_inflater *i);
struct ws_slab *ws_slab_take(void);
void ws_slab_give(struct ws_slab *s);

/* The send state; every frame is sent whole, so it is always at a frame boundary.  It is made
 * with the callbacks and the argument of the first call. */
wslay_frame_context_ptr ws_writer_get(const struct wslay_frame_callbacks *callbacks, void *arg,
                                      bool masked);
void ws_writer_drop(bool masked); /* a frame was cut short by a failure */

/* Compresses n bytes as one message (RFC 7692 7.2.1, no context); the result is borrowed until the
 * next call.  Empty: out of memory, send the message as it is. */
struct mf_slice ws_deflate(const uint8_t *p, size_t n);

#endif
