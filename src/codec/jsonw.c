/* jsonw.c: JSON written straight into a buffer, byte for byte as Go's encoding/json would. */
#include "codec/jsonw.h"

#include "base/clock.h"
#include "codec/float_text_impl.h"
#include "codec/json.h"
#include "base/utf8.h"

#include <assert.h>

void jsonw_begin(struct jsonw *w, struct mf_buf *out, enum jsonw_style style)
{
    *w = (struct jsonw){.out = out, .style = style};
}

static void put_newline(struct jsonw *w)
{
    if (w->style != JSONW_PRETTY)
        return;
    mf_buf_byte(w->out, '\n');
    for (int i = 0; i < w->depth; i++)
        mf_buf_append(w->out, "  ", 2);
}

/* The escape Go writes for this code point, or NULL if it needs none. */
static const char *escape_for(uint32_t rune, char tmp[8])
{
    static const char hex[] = "0123456789abcdef";

    switch (rune) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case 0x2028:
        return "\\u2028";
    case 0x2029:
        return "\\u2029";
    default:
        break;
    }
    if (rune >= 0x20 && rune != '<' && rune != '>' && rune != '&')
        return NULL;
    memcpy(tmp, "\\u00", 4);
    tmp[4] = hex[rune >> 4];
    tmp[5] = hex[rune & 15];
    tmp[6] = '\0';
    return tmp;
}

/* From blank to 0x7f all but " & < > and the backslash; by bits, as texts are most of an answer. */
static bool is_plain(uint8_t c)
{
    static const uint32_t plain[8] = {0, ~(1u << 2 | 1u << 6 | 1u << 28 | 1u << 30), ~(1u << 28),
                                      UINT32_MAX};

    return (plain[c >> 5] >> (c & 31) & 1) != 0;
}

static void put_escaped(struct mf_buf *out, struct mf_slice s)
{
    size_t from = 0, i = 0; /* [from,i) is plain and not written yet */

    while (i < s.len) {
        char tmp[8];
        uint32_t rune = 0;
        size_t n;
        if (is_plain(s.ptr[i])) {
            i++;
            continue;
        }
        n = utf8_next(s.ptr + i, s.len - i, &rune);
        const char *esc = n == 0 ? "\\ufffd" : escape_for(rune, tmp);
        if (esc != NULL) {
            mf_buf_append(out, s.ptr + from, i - from);
            mf_buf_puts(out, esc);
            from = i + (n == 0 ? 1 : n);
        }
        i += n == 0 ? 1 : n;
    }
    if (s.len > from)
        mf_buf_append(out, s.ptr + from, s.len - from);
}

static void put_quoted(struct mf_buf *out, struct mf_slice s)
{
    uint8_t *to = mf_buf_reserve(out, s.len + 2);
    size_t n = 0;

    if (to == NULL)
        return;
    for (*to = '"'; n < s.len && is_plain(s.ptr[n]); n++)
        to[n + 1] = s.ptr[n];
    out->len += n + 1;
    put_escaped(out, mf_slice(s.len == 0 ? s.ptr : s.ptr + n, s.len - n));
    mf_buf_byte(out, '"');
}

/* Writes the comma, line break and key before a value. */
static void put_lead(struct jsonw *w, const char *key)
{
    if (w->comma)
        mf_buf_byte(w->out, ',');
    if (w->depth > 0)
        put_newline(w);
    if (key != NULL) {
        put_quoted(w->out, mf_str(key));
        mf_buf_byte(w->out, ':');
        if (w->style == JSONW_PRETTY)
            mf_buf_byte(w->out, ' ');
    }
    w->comma = true;
}

static void open_level(struct jsonw *w, const char *key, char open, char close)
{
    assert(w->depth < JSONW_MAX_DEPTH);
    put_lead(w, key);
    mf_buf_byte(w->out, (uint8_t)open);
    w->close[w->depth++] = close;
    w->comma = false;
}

void jsonw_object(struct jsonw *w, const char *key)
{
    open_level(w, key, '{', '}');
}

void jsonw_array(struct jsonw *w, const char *key)
{
    open_level(w, key, '[', ']');
}

void jsonw_end(struct jsonw *w)
{
    assert(w->depth > 0);
    w->depth--;
    if (w->comma) /* Go closes an empty level on the line that opened it */
        put_newline(w);
    mf_buf_byte(w->out, (uint8_t)w->close[w->depth]);
    w->comma = true;
}

void jsonw_str(struct jsonw *w, const char *key, const char *value)
{
    jsonw_slice(w, key, mf_str(value));
}

void jsonw_slice(struct jsonw *w, const char *key, struct mf_slice value)
{
    put_lead(w, key);
    put_quoted(w->out, value);
}

void jsonw_i64(struct jsonw *w, const char *key, int64_t value)
{
    put_lead(w, key);
    if (value < 0)
        mf_buf_byte(w->out, '-');
    mf_buf_u64(w->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void jsonw_u64(struct jsonw *w, const char *key, uint64_t value)
{
    put_lead(w, key);
    mf_buf_u64(w->out, value);
}

void jsonw_f64(struct jsonw *w, const char *key, double value)
{
    char text[FLOAT_TEXT];

    put_lead(w, key);
    mf_buf_puts(w->out, float_text(text, value));
}

void jsonw_bool(struct jsonw *w, const char *key, bool value)
{
    put_lead(w, key);
    mf_buf_puts(w->out, value ? "true" : "false");
}

void jsonw_null(struct jsonw *w, const char *key)
{
    put_lead(w, key);
    mf_buf_puts(w->out, "null");
}

void jsonw_time(struct jsonw *w, const char *key, int64_t wall_ns)
{
    char text[CLOCK_TEXT];

    jsonw_str(w, key, clock_rfc3339(text, wall_ns));
}

void jsonw_text(struct jsonw *w, const char *key)
{
    put_lead(w, key);
    mf_buf_byte(w->out, '"');
}

void jsonw_piece(struct jsonw *w, struct mf_slice piece)
{
    put_escaped(w->out, piece);
}

void jsonw_text_end(struct jsonw *w)
{
    mf_buf_byte(w->out, '"');
}

void jsonw_raw(struct jsonw *w, const char *key, struct mf_slice json)
{
    put_lead(w, key);
    mf_buf_append(w->out, json.ptr, json.len);
}

/* --- left out when empty ---------------------------------------------------------------------- */

void jsonw_opt_str(struct jsonw *w, const char *key, const char *value)
{
    if (value != NULL && value[0] != '\0')
        jsonw_str(w, key, value);
}

void jsonw_opt_i64(struct jsonw *w, const char *key, int64_t value)
{
    if (value != 0)
        jsonw_i64(w, key, value);
}

void jsonw_opt_u64(struct jsonw *w, const char *key, uint64_t value)
{
    if (value != 0)
        jsonw_u64(w, key, value);
}

void jsonw_opt_bool(struct jsonw *w, const char *key, bool value)
{
    if (value)
        jsonw_bool(w, key, true);
}

void jsonw_opt_strs(struct jsonw *w, const char *key, const struct json_strs *value)
{
    if (value->n == 0)
        return;
    jsonw_array(w, key);
    for (size_t i = 0; i < value->n; i++)
        jsonw_str(w, NULL, value->at[i]);
    jsonw_end(w);
}
