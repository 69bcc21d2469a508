/* table.h: rows and columns on a terminal.
 *
 * Cells are shown safely (term_safe()).  If the table is wider than the window, columns that it can
 * do without are left out, then the widest column of text gives way and its cells end with "…"; a
 * head is cut only when every other text is as narrow as it can be.  In a window that is still too
 * narrow, columns at the right are left out.  Without a terminal nothing is cut. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/term.h"

struct table_cell {
    char *text;
    enum term_style style;
};
struct table {
    const struct term *term;
    /* One letter a column: l text, r number, b bar (never cut).  L and R: the column is left out
     * where the window has no room for it, the last one first. */
    const char *align;
    size_t columns;
    struct table_cell *cells; /* row by row, the heads first */
    size_t n, cap;
    bool headed; /* the first row holds the heads */
    bool failed; /* out of memory: table_print() says so */
};

/* heads: as many as align has letters; NULL: a table without heads. */
void table_init(struct table *t, const struct term *term, const char *align,
                const char *const *heads);
void table_cell(struct table *t, const char *fmt, ...) MF_PRINTF(2, 3);
void table_styled(struct table *t, enum term_style style, const char *fmt, ...) MF_PRINTF(3, 4);
void table_print(struct table *t); /* and frees it */
void table_write(struct table *t,
                 struct mf_buf *out); /* the same into a buffer, for live screens */

/* Appends a safe text; one that is wider than `columns` ends with "…" there. */
void table_cut(struct mf_buf *out, const struct term *term, struct mf_slice text, size_t columns);

#endif
