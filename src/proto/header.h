/* header.h: the NATS/1.0 header block: look up, set and remove, in one pass, no tree.
 * Keys are matched exactly (case too), only at the start of a line and directly followed by ':'.
 * Blocks may be any bytes a publisher sent; reading never leaves them.  Everything is O(block).
 * Writing appends to the mf_buf; ask mf_buf_failed() at the end. */
#ifndef MAYFLY_HEADER_H
#define MAYFLY_HEADER_H

#include "base/buf.h"

/* The first one's value, leading spaces skipped, up to CRLF (or the end of the block). */
bool header_get(struct mf_slice block, const char *name, struct mf_slice *value);
/* Walks all lines: first call with *pos = 0; false at the end (*pos then stands behind the empty
 * line) or at a malformed line (*pos stands before it). */
bool header_next(struct mf_slice block, size_t *pos, struct mf_slice *name, struct mf_slice *value);
/* Starts a block ("NATS/1.0[ status]\r\n"; status may be NULL); header_add lines; header_end closes
 * it.  CR and LF inside a value become blanks, so that no value can forge a header. */
void header_begin(struct mf_buf *b, const char *status);
void header_add(struct mf_buf *b, const char *name, struct mf_slice value);
void header_end(struct mf_buf *b);
/* Copies block to out without every line `name` / with `name` set to value (in the first such
 * line, which is the one that counts; or it is added at the end).  An empty block becomes a new
 * one. Removing the last line of a block without status adds nothing to out.  block may not point
 * into out. */
void header_remove(struct mf_buf *out, struct mf_slice block, const char *name);
void header_set(struct mf_buf *out, struct mf_slice block, const char *name, struct mf_slice value);
/* Well-formed from "NATS/1.0" to the empty line, nothing behind it. */
bool header_valid(struct mf_slice block);

#endif
