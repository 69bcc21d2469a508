/* utf8.h: finds well-formed UTF-8 sequences in untrusted bytes.  O(1). */
#ifndef MAYFLY_UTF8_H
#define MAYFLY_UTF8_H

#include "base/base.h"

/* Length (1..4) of the well-formed sequence at p and its code point in *rune; 0 if the bytes there
 * are no UTF-8 (too long forms, surrogates and values beyond U+10FFFF included).  n > 0. */
size_t utf8_next(const uint8_t *p, size_t n, uint32_t *rune);

/* Appends s as Go's %q writes it, between quotes: what cannot be printed is escaped. */
struct mf_buf;
void utf8_quote(struct mf_buf *out, struct mf_slice s);

#endif
