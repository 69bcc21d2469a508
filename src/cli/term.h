/* term.h: what a person sees: window, colours, text that cannot harm the terminal, live screens. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include "base/buf.h"

#include <stdio.h>

struct term {
    FILE *out;
    bool tty;     /* stdout is a terminal: bars */
    bool cursor;  /* TERM is not dumb: the cursor can be moved, for live screens and progress */
    bool colours; /* a terminal, no --no-color, no NO_COLOR, TERM is not dumb */
    bool utf8;    /* the locale shows bars and boxes; else '#' and '-' stand for them */
    int width;    /* columns; 80 if unknown, unlimited (INT_MAX) if stdout is no terminal */
    int height;
};

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_RED, TERM_YELLOW, TERM_GREEN, TERM_BLUE };

void term_init(struct term *t, bool no_color);
void term_resize(struct term *t); /* asks for the window's size again */

/* Sequences that switch a style on and off; "" without colours. */
const char *term_on(const struct term *t, enum term_style s);
const char *term_off(const struct term *t);

/* Appends s as it may be shown: control characters and bytes that are no UTF-8 as \x1b.  On a
 * terminal without UTF-8 all but ASCII is shown as \u00e4. */
void term_safe(struct mf_buf *out, struct mf_slice s);
/* Whether s may be printed as it is; line ends are. */
bool term_is_safe(struct mf_slice s);
void term_print_safe(const struct term *t, struct mf_slice s);
/* Columns that s takes when shown; sequences of term_on() take none. */
size_t term_columns(struct mf_slice s);

/* Appends a bar of `share` (0..1) of `width` columns, filled up with blanks to that width. */
void term_bar(const struct term *t, struct mf_buf *out, double share, int width);

/* A screen that is redrawn: begin, then a frame each time; end restores the terminal.  Without a
 * terminal a frame is printed once below the other.  term_live_wait() waits for `ms`, or until a
 * key: false when the user wants to leave (q, Ctrl-C). */
void term_live_begin(struct term *t);
void term_live_frame(struct term *t, struct mf_slice text);
bool term_live_wait(struct term *t, int ms);
void term_live_end(struct term *t);

/* Progress on stderr, if that is a terminal: `restoring ORDERS  ██████▌      42 %  12.1 MB/s`. */
struct term_progress {
    const struct term *term;
    char label[64];
    uint64_t total, done; /* total 0: unknown */
    int64_t began_ns, shown_ns;
    bool shows;
};
void term_progress_begin(struct term_progress *p, const struct term *t, const char *label,
                         uint64_t total);
void term_progress_set(struct term_progress *p, uint64_t done);
void term_progress_end(struct term_progress *p); /* clears the line */

#endif
