/* compress.c: bodies under `compression: s2`.  A body is an S2 block or it is as it came; which of
 * the two, the flag MSG_COMPRESSED of its message says. */
#include "stream/stream_impl.h"

#include "codec/s2.h"

#define BODY_MIN  256u         /* below, the header of a record outweighs what could be saved */
#define KEEP      (1u << 20)   /* a larger buffer is given back */
#define CLAIM_MAX (256u << 20) /* no message is that large: a block that says so is damaged */

struct mf_slice compress_body(struct stream *s, struct mf_slice body, uint16_t *flags)
{
    if (s->cfg.compression != COMPRESSION_S2 || body.len < BODY_MIN || body.len > CLAIM_MAX)
        return body;
    lend_clear(&s->buf.body);
    if (s->buf.body.cap > KEEP && s2_bound(body.len) <= KEEP)
        mf_buf_fini(&s->buf.body);
    uint8_t *p = mf_buf_reserve(&s->buf.body, s2_bound(body.len));
    if (p == NULL)
        return body; /* it is stored as it came */
    size_t n = s2_compress(p, body);
    if (n > body.len - body.len / 16)
        return body;
    s->buf.body.len = n;
    *flags |= MSG_COMPRESSED;
    return lend_slice(&s->buf.body);
}

int compress_undo(struct mf_slice stored, struct mf_buf *to, struct mf_slice *body)
{
    size_t n;

    if (s2_length(stored, &n) != 0 || n > CLAIM_MAX)
        return MF_CORRUPT;
    mf_buf_clear(to);
    uint8_t *p = mf_buf_reserve(to, n);
    if (p == NULL)
        return MF_NOMEM;
    if (s2_uncompress(p, n, stored) != 0)
        return MF_CORRUPT;
    to->len = n;
    *body = mf_buf_slice(to);
    return 0;
}
