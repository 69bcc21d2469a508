/* ttl_draw.h: pictures of lifetimes: a time line, a bar with its share.  Pure: no clock, no I/O. */
#ifndef CLI_TTL_DRAW_H
#define CLI_TTL_DRAW_H

#include "cli/term.h"

struct draw_life {
    int64_t written_ns, now_ns, expires_ns;
    int64_t warn_ns; /* the moment of the warning, 0: none */
};
/* `09:00 written ──────●──── 08:00 warning ── 09:00 expires (in 12m31s)`, as wide as the window
 * allows.  Where the window is narrower than DRAW_LIFE_MIN columns, too narrow for the texts, or is
 * none, one moment stands in each line.  Lines begin with two blanks. */
#define DRAW_LIFE_MIN 72
void draw_life(struct mf_buf *out, const struct term *t, const struct draw_life *l);

/* 99.5 %: of a part of a whole.  A part that is not all is never shown as 100.0, and one that is
 * not nothing never as 0.0. */
#define DRAW_SHARE 16
const char *draw_share(char dst[DRAW_SHARE], uint64_t part, uint64_t whole);

#endif
