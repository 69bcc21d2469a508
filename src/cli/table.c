/* table.c: see table.h. */
#include "cli/table.h"

#include "base/array.h"
#include "base/utf8.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

#define GAP         2 /* blanks between columns */
#define NARROWEST   8 /* a column of text is not cut below this */
#define MAX_COLUMNS 32
#define LEFT_OUT    SIZE_MAX /* the width of a column that is not shown */

static void add_cell(struct table *t, enum term_style style, struct mf_slice text)
{
    struct mf_buf safe = MF_BUF_INIT;

    if (mf_array_reserve(&t->cells, &t->cap, t->n + 1, sizeof *t->cells) != 0) {
        t->failed = true;
        return;
    }
    term_safe(&safe, text);
    t->cells[t->n].style = style;
    t->cells[t->n].text = mf_slice_dup(mf_buf_slice(&safe));
    t->failed |= t->cells[t->n].text == NULL || mf_buf_failed(&safe);
    t->n++;
    mf_buf_fini(&safe);
}

void table_init(struct table *t, const struct term *term, const char *align,
                const char *const *heads)
{
    *t = (struct table){
        .term = term, .align = align, .columns = strlen(align), .headed = heads != NULL};
    for (size_t i = 0; heads != NULL && i < t->columns; i++)
        add_cell(t, TERM_BOLD, mf_str(heads[i]));
}

static void format_cell(struct table *t, enum term_style style, const char *fmt, va_list ap)
{
    struct mf_buf text = MF_BUF_INIT;

    mf_buf_vprintf(&text, fmt, ap);
    add_cell(t, style, mf_buf_slice(&text));
    mf_buf_fini(&text);
}

void table_cell(struct table *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    format_cell(t, TERM_PLAIN, fmt, ap);
    va_end(ap);
}

void table_styled(struct table *t, enum term_style style, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    format_cell(t, style, fmt, ap);
    va_end(ap);
}

/* --- widths ----------------------------------------------------------------------------------- */

static void measure_columns(const struct table *t, size_t *width)
{
    memset(width, 0, t->columns * sizeof *width);
    for (size_t i = 0; i < t->n; i++) {
        size_t w = term_columns(mf_str(t->cells[i].text));

        if (w > width[i % t->columns])
            width[i % t->columns] = w;
    }
}

static bool is_text(const struct table *t, size_t column)
{
    return tolower((unsigned char)t->align[column]) == 'l';
}

/* A column of text can be as narrow as this and still show its head. */
static size_t least_width(const struct table *t, size_t column, size_t width)
{
    size_t head = t->headed && column < t->n ? term_columns(mf_str(t->cells[column].text)) : 0;
    size_t least = head > NARROWEST ? head : NARROWEST;

    return is_text(t, column) && width > least ? least : width;
}

/* Leaves out columns that may be left out, the last one first, until the others have room. */
static void drop_columns(const struct table *t, size_t *width)
{
    size_t least = 0, window = (size_t)t->term->width;

    for (size_t i = 0; i < t->columns; i++)
        least += least_width(t, i, width[i]) + (i > 0 ? GAP : 0);
    for (size_t i = t->columns; i-- > 0 && least > window;)
        if (isupper((unsigned char)t->align[i])) {
            least -= least_width(t, i, width[i]) + GAP;
            width[i] = LEFT_OUT;
        }
}

static size_t measure_row(const struct table *t, const size_t *width)
{
    size_t total = 0;

    for (size_t i = 0; i < t->columns; i++)
        if (width[i] != LEFT_OUT)
            total += width[i] + (i > 0 ? GAP : 0);
    return total;
}

/* Leaves out the column at the right; the first two always stay. */
static bool drop_last(const struct table *t, size_t *width)
{
    size_t last = t->columns;

    while (last > 2 && width[last - 1] == LEFT_OUT)
        last--;
    if (last <= 2)
        return false;
    width[last - 1] = LEFT_OUT;
    return true;
}

/* Makes the widest column of text narrower by one; with `heads` only one whose head stays whole. */
static bool narrow_widest(const struct table *t, size_t *width, bool heads)
{
    size_t widest = t->columns;

    for (size_t i = 0; i < t->columns; i++)
        if (is_text(t, i) && width[i] != LEFT_OUT &&
            width[i] > (heads ? least_width(t, i, width[i]) : NARROWEST) &&
            (widest == t->columns || width[i] > width[widest]))
            widest = i;
    if (widest < t->columns)
        width[widest]--;
    return widest < t->columns;
}

/* Leaves out columns that the table can do without, then makes the widest column of text narrower
 * until the table fits the window; heads are cut last.  Where that is not enough, columns at the
 * right are left out. */
static void fit_window(const struct table *t, size_t *width)
{
    drop_columns(t, width);
    while (measure_row(t, width) > (size_t)t->term->width)
        if (!narrow_widest(t, width, true) && !narrow_widest(t, width, false) &&
            !drop_last(t, width))
            return; /* the terminal wraps the lines */
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Appends the first `columns` columns of text. */
static void put_cut(struct mf_buf *out, const struct term *term, struct mf_slice s, size_t columns)
{
    size_t used = 0, i = 0;

    while (i < s.len) {
        uint32_t rune;
        size_t n = utf8_next(s.ptr + i, s.len - i, &rune);
        size_t w = term_columns(mf_slice(s.ptr + i, n == 0 ? 1 : n));

        if (used + w > columns - 1)
            break;
        used += w;
        i += n == 0 ? 1 : n;
    }
    mf_buf_append(out, s.ptr, i);
    mf_buf_puts(out, term->utf8 ? "…" : "~");
    for (used++; used < columns; used++)
        mf_buf_byte(out, ' ');
}

void table_cut(struct mf_buf *out, const struct term *term, struct mf_slice text, size_t columns)
{
    if (term_columns(text) > columns && columns > 0)
        put_cut(out, term, text, columns);
    else
        mf_buf_append(out, text.ptr, text.len);
}

static void put_blanks(struct mf_buf *out, size_t n)
{
    while (n-- > 0)
        mf_buf_byte(out, ' ');
}

static void put_cell(const struct table *t, struct mf_buf *out, const struct table_cell *cell,
                     size_t column, size_t width)
{
    size_t w = term_columns(mf_str(cell->text)), pad = w < width ? width - w : 0;

    if (tolower((unsigned char)t->align[column]) == 'r')
        put_blanks(out, pad);
    mf_buf_puts(out, cell->style == TERM_PLAIN ? "" : term_on(t->term, cell->style));
    if (w > width)
        put_cut(out, t->term, mf_str(cell->text), width);
    else
        mf_buf_puts(out, cell->text);
    mf_buf_puts(out, cell->style == TERM_PLAIN ? "" : term_off(t->term));
    if (tolower((unsigned char)t->align[column]) != 'r')
        put_blanks(out, pad);
}

static void drop_trailing_blanks(struct mf_buf *out)
{
    while (out->len > 0 && out->ptr[out->len - 1] == ' ')
        out->len--;
}

void table_write(struct table *t, struct mf_buf *out)
{
    size_t width[MAX_COLUMNS];

    if (!t->failed && t->columns > 0 && t->columns <= MAX_COLUMNS) {
        measure_columns(t, width);
        fit_window(t, width);
        for (size_t i = 0; i < t->n; i++) {
            size_t column = i % t->columns;

            if (width[column] != LEFT_OUT) {
                put_blanks(out, column > 0 ? GAP : 0);
                put_cell(t, out, &t->cells[i], column, width[column]);
            }
            if (column + 1 < t->columns && i + 1 < t->n)
                continue;
            drop_trailing_blanks(out);
            mf_buf_byte(out, '\n');
        }
    } else
        mf_buf_puts(out, "out of memory\n");
    for (size_t i = 0; i < t->n; i++)
        free(t->cells[i].text);
    free(t->cells);
    t->cells = NULL;
    t->n = t->cap = 0;
}

void table_print(struct table *t)
{
    struct mf_buf out = MF_BUF_INIT;

    table_write(t, &out);
    if (out.len > 0)
        (void)fwrite(out.ptr, 1, out.len, t->term->out);
    mf_buf_fini(&out);
}
