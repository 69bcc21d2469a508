/* unmask_impl.h: unmasks a stream of frames before wslay reads it.
 *
 * wslay unmasks byte by byte, 8 ns each: most of the time of a busy connection.  Here eight bytes
 * are done at once, in the copy to wslay's buffer that is made anyway.  wslay gets the same frames
 * without mask bit and key, and checks everything else.
 * Positions: [0, head_len) of head holds the header that is arriving; after it payload_left bytes
 * of payload follow. */
#ifndef MAYFLY_WS_UNMASK_H
#define MAYFLY_WS_UNMASK_H

#include "base/base.h"

#define WS_HEAD_MAX 14

struct ws_unmask {
    const uint8_t *in; /* wire bytes not taken yet */
    size_t left;
    bool demand;    /* an unmasked frame ends the feed */
    bool violated;  /* such a frame came */
    uint64_t given; /* bytes handed on, over all */
    uint64_t payload_left;
    size_t phase; /* where in the key the next byte is */
    uint8_t key[4];
    uint8_t head_len;
    uint8_t head[WS_HEAD_MAX];
};

/* Writes at most n bytes to dst (n >= WS_HEAD_MAX, or it may write none); 0: the input is used
 * up.  O(n). */
size_t ws_unmask_give(struct ws_unmask *u, uint8_t *dst, size_t n);
/* No frame has begun. */
bool ws_unmask_idle(const struct ws_unmask *u);

#endif
