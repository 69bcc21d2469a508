/* header.c: the NATS/1.0 header block as lines of text; nothing is decoded into a map.
 *
 *     NATS/1.0[ status[ description]] CRLF
 *     name ":" value CRLF ...
 *     CRLF
 *
 * Blocks come from publishers and are relayed unseen, so look-ups work on any bytes: a line ends
 * at CRLF (a lone CR or LF is part of it) or with the block, the first line is never a header. */
#include "proto/header.h"

static const char magic[] = "NATS/1.0";
enum { MAGIC_LEN = sizeof magic - 1, EMPTY_LEN = MAGIC_LEN + 4 /* two CRLF */ };

/* The line at *pos without its CRLF; *pos moves behind it.  False at the end of the block. */
static bool line_next(struct mf_slice block, size_t *pos, struct mf_slice *line)
{
    size_t from = *pos;

    if (from >= block.len)
        return false;
    for (size_t at = from; at < block.len; at++) {
        const uint8_t *lf = memchr(block.ptr + at, '\n', block.len - at);

        if (lf == NULL)
            break;
        at = (size_t)(lf - block.ptr);
        if (at > from && lf[-1] == '\r') {
            *line = mf_slice(block.ptr + from, at - 1 - from);
            *pos = at + 1;
            return true;
        }
    }
    *line = mf_slice(block.ptr + from, block.len - from);
    *pos = block.len;
    return true;
}

static bool line_is(struct mf_slice line, struct mf_slice name)
{
    return line.len > name.len && line.ptr[name.len] == ':' &&
           memcmp(line.ptr, name.ptr, name.len) == 0;
}

static struct mf_slice line_value(struct mf_slice line, size_t name_len)
{
    size_t at = name_len + 1;

    while (at < line.len && line.ptr[at] == ' ')
        at++;
    return mf_slice(line.ptr + at, line.len - at);
}

bool header_get(struct mf_slice block, const char *name, struct mf_slice *value)
{
    struct mf_slice key = mf_str(name), line;
    size_t pos = 0;

    if (!line_next(block, &pos, &line))
        return false;
    while (line_next(block, &pos, &line)) {
        if (line_is(line, key)) {
            *value = line_value(line, key.len);
            return true;
        }
    }
    return false;
}

/* "NATS/1.0", alone or followed by a blank and the status. */
static bool status_valid(struct mf_slice line)
{
    return line.len >= MAGIC_LEN && memcmp(line.ptr, magic, MAGIC_LEN) == 0 &&
           (line.len == MAGIC_LEN || line.ptr[MAGIC_LEN] == ' ');
}

/* Whether the line that ended at pos had a CRLF, which the last one may lack. */
static bool line_closed(struct mf_slice block, size_t pos)
{
    return pos >= 2 && block.ptr[pos - 1] == '\n' && block.ptr[pos - 2] == '\r';
}

bool header_next(struct mf_slice block, size_t *pos, struct mf_slice *name, struct mf_slice *value)
{
    struct mf_slice line;
    const uint8_t *colon;
    size_t at = *pos;

    if (at == 0) {
        if (!line_next(block, &at, &line) || !status_valid(line))
            return false;
        *pos = at;
    }
    if (!line_next(block, &at, &line) || !line_closed(block, at))
        return false;
    if (line.len == 0) { /* the end: stand behind it, so that header_valid() sees what follows */
        *pos = at;
        return false;
    }
    colon = memchr(line.ptr, ':', line.len);
    if (colon == NULL || colon == line.ptr)
        return false;
    *pos = at;
    *name = mf_slice(line.ptr, (size_t)(colon - line.ptr));
    *value = line_value(line, name->len);
    return true;
}

bool header_valid(struct mf_slice block)
{
    struct mf_slice name, value;
    size_t pos = 0;

    while (header_next(block, &pos, &name, &value))
        continue;
    /* The last CRLF must be the empty line's: of a header line's own, pos stands in front of the
     * next line, and there is none. */
    return pos == block.len && pos >= EMPTY_LEN && memcmp(block.ptr + pos - 4, "\r\n\r\n", 4) == 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

void header_begin(struct mf_buf *b, const char *status)
{
    mf_buf_append(b, magic, MAGIC_LEN);
    if (status != NULL && *status != '\0') {
        mf_buf_byte(b, ' ');
        mf_buf_puts(b, status);
    }
    mf_buf_append(b, "\r\n", 2);
}

/* A line break inside a value would forge the next header: it becomes a blank, as in Go's
 * http.Header.Write. */
static void value_put(struct mf_buf *b, struct mf_slice value)
{
    for (size_t i = 0; i < value.len;) {
        size_t start = i;

        while (i < value.len && value.ptr[i] != '\r' && value.ptr[i] != '\n')
            i++;
        mf_buf_append(b, value.ptr + start, i - start);
        for (; i < value.len && (value.ptr[i] == '\r' || value.ptr[i] == '\n'); i++)
            mf_buf_byte(b, ' ');
    }
}

void header_add(struct mf_buf *b, const char *name, struct mf_slice value)
{
    mf_buf_puts(b, name);
    mf_buf_append(b, ": ", 2);
    value_put(b, value);
    mf_buf_append(b, "\r\n", 2);
}

void header_end(struct mf_buf *b)
{
    mf_buf_append(b, "\r\n", 2);
}

void header_remove(struct mf_buf *out, struct mf_slice block, const char *name)
{
    struct mf_slice key = mf_str(name), line;
    size_t pos = 0, from = 0, start = out->len;
    bool removed = false;

    (void)line_next(block, &pos, &line); /* the status line stays */
    for (size_t at = pos; line_next(block, &pos, &line); at = pos) {
        if (line_is(line, key)) {
            mf_buf_append(out, block.ptr + from, at - from);
            from = pos;
            removed = true;
        }
    }
    if (block.len > from)
        mf_buf_append(out, block.ptr + from, block.len - from);
    if (removed && !mf_buf_failed(out) && out->len - start <= EMPTY_LEN)
        out->len = start;
}

/* The place of a new line: in front of the empty line; at the end if there is none. */
static size_t insert_at(struct mf_slice block)
{
    if (block.len >= 4 && memcmp(block.ptr + block.len - 4, "\r\n\r\n", 4) == 0)
        return block.len - 2;
    return block.len;
}

void header_set(struct mf_buf *out, struct mf_slice block, const char *name, struct mf_slice value)
{
    struct mf_slice key = mf_str(name), line;
    size_t pos = 0, last = insert_at(block);

    /* Readers skip blanks in front, so they would only add up where a value is set again. */
    while (value.len > 0 && memchr(" \r\n", value.ptr[0], 3) != NULL)
        value = mf_slice(value.ptr + 1, value.len - 1);
    if (block.len == 0) {
        header_begin(out, NULL);
        header_add(out, name, value);
        header_end(out);
        return;
    }
    (void)line_next(block, &pos, &line);
    for (size_t at = pos; line_next(block, &pos, &line); at = pos) {
        if (!line_is(line, key))
            continue;
        size_t blank = line.len > key.len + 1 && line.ptr[key.len + 1] == ' ' ? 1 : 0;
        mf_buf_append(out, block.ptr, at + key.len + 1 + blank);
        value_put(out, value);
        mf_buf_append(out, "\r\n", 2);
        mf_buf_append(out, block.ptr + pos, block.len - pos);
        return;
    }
    mf_buf_append(out, block.ptr, last);
    if (last == block.len && !line_closed(block, last))
        mf_buf_append(out, "\r\n", 2);
    header_add(out, name, value);
    header_end(out);
}
