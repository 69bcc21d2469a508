/* base64.h: base64 (RFC 4648), with the standard alphabet or the one for URLs.  O(bytes). */
#ifndef MAYFLY_BASE64_H
#define MAYFLY_BASE64_H

#include "base/buf.h"

enum base64_alphabet { BASE64_STANDARD, BASE64_URL };

/* Appends the text of `bytes`, padded with '='. */
void base64_write(struct mf_buf *out, struct mf_slice bytes, enum base64_alphabet a);
/* Appends the bytes of `text`; padding may be missing.  0, MF_NOMEM, or MF_INVAL, which leaves *out
 * unchanged. */
MF_MUSTCHECK int base64_read(struct mf_buf *out, struct mf_slice text, enum base64_alphabet a);

#endif
