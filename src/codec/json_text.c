/* json_text.c: strings out of JSON, and strings as Go's errors show them. */
#include "codec/json_scan_impl.h"

#include "base/utf8.h"

#include <stdio.h>

void json_text_add(struct json_text *t, struct mf_slice s)
{
    size_t room = sizeof t->at - 1 - t->len;

    if (t->full)
        return;
    if (s.len > room) {
        t->full = true;
        s.len = room;
        /* s[room] is there: if it continues a character, the whole character goes. */
        while (s.len > 0 && (s.ptr[s.len] & 0xc0) == 0x80)
            s.len--;
    }
    if (s.len > 0)
        memcpy(t->at + t->len, s.ptr, s.len);
    t->len += s.len;
    t->at[t->len] = '\0';
}

void json_text_puts(struct json_text *t, const char *s)
{
    json_text_add(t, mf_str(s));
}

/* Go's unicode.IsPrint: false for controls, formats, private use, every space but ' '.
 * (Unassigned code points are not listed: they change with each version of Unicode.) */
static bool is_printable(uint32_t r)
{
    static const struct {
        uint32_t from, to;
    } no[] = {
        {0, 0x1f},          {0x7f, 0xa0},       {0xad, 0xad},        {0x600, 0x605},
        {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},      {0x890, 0x891},
        {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},    {0x2000, 0x200f},
        {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},    {0xd800, 0xf8ff},
        {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},    {0xfffe, 0xffff},
        {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},  {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff},
    };

    for (size_t i = 0; i < MF_COUNT(no); i++)
        if (r >= no[i].from && r <= no[i].to)
            return false;
    return true;
}

bool json_text_plain(struct mf_slice s)
{
    for (size_t i = 0, n; i < s.len; i += n) {
        uint32_t r;

        n = utf8_next(s.ptr + i, s.len - i, &r);
        if (n == 0 || r == ' ' || r == '`' || r == 0xfffd || !is_printable(r))
            return false;
    }
    return true;
}

static void quote_rune(struct json_text *t, uint32_t r, struct mf_slice bytes)
{
    static const char letters[] = "abtnvfr"; /* of 7 to 13 */
    char tmp[16];

    if (r == '"' || r == '\\')
        snprintf(tmp, sizeof tmp, "\\%c", (char)r);
    else if (r >= 7 && r <= 13)
        snprintf(tmp, sizeof tmp, "\\%c", letters[r - 7]);
    else if (r < ' ' || r == 0x7f)
        snprintf(tmp, sizeof tmp, "\\x%02x", (unsigned)r);
    else if (is_printable(r)) {
        json_text_add(t, bytes);
        return;
    } else {
        snprintf(tmp, sizeof tmp, r < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)r);
    }
    json_text_puts(t, tmp);
}

void json_text_quote(struct json_text *t, struct mf_slice s)
{
    json_text_puts(t, "\"");
    for (size_t i = 0; i < s.len && !t->full;) {
        uint32_t r;
        size_t n = utf8_next(s.ptr + i, s.len - i, &r);

        if (n == 0) {
            char byte[8];

            snprintf(byte, sizeof byte, "\\x%02x", s.ptr[i]);
            json_text_puts(t, byte);
            i++;
        } else {
            quote_rune(t, r, mf_slice(s.ptr + i, n));
            i += n;
        }
    }
    json_text_puts(t, "\"");
}

static uint8_t *put_rune(uint8_t *to, uint32_t r)
{
    if (r < 0x80) {
        *to++ = (uint8_t)r;
    } else if (r < 0x800) {
        *to++ = (uint8_t)(0xc0 | r >> 6);
        *to++ = (uint8_t)(0x80 | (r & 0x3f));
    } else if (r < 0x10000) {
        *to++ = (uint8_t)(0xe0 | r >> 12);
        *to++ = (uint8_t)(0x80 | (r >> 6 & 0x3f));
        *to++ = (uint8_t)(0x80 | (r & 0x3f));
    } else {
        *to++ = (uint8_t)(0xf0 | r >> 18);
        *to++ = (uint8_t)(0x80 | (r >> 12 & 0x3f));
        *to++ = (uint8_t)(0x80 | (r >> 6 & 0x3f));
        *to++ = (uint8_t)(0x80 | (r & 0x3f));
    }
    return to;
}

/* The four digits of \uXXXX at p; false: no such escape. */
static bool parse_hex4(const uint8_t *p, const uint8_t *end, uint32_t *out)
{
    uint32_t v = 0;

    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return false;
    for (int i = 2; i < 6; i++) {
        uint8_t c = p[i];

        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            v = v << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

/* The escape at p, a known one; *rune is what it stands for.  Returns its length. */
static size_t unescape_char(const uint8_t *p, const uint8_t *end, uint32_t *rune)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *c;
    uint32_t high, low;

    if (!parse_hex4(p, end, &high)) {
        c = strchr(from, p[1]);
        *rune = c != NULL ? (uint32_t)to[c - from] : p[1];
        return 2;
    }
    *rune = high;
    if (high < 0xd800 || high > 0xdfff)
        return 6;
    if (high < 0xdc00 && parse_hex4(p + 6, end, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *rune = 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
        return 12;
    }
    *rune = 0xfffd;
    return 6;
}

int json_unquote(struct mf_slice raw, struct arena *mem, bool c_string, struct mf_slice *out)
{
    const uint8_t *p = raw.ptr + 1, *end = raw.ptr + raw.len - 1;
    size_t room = raw.len - 2;

    for (const uint8_t *q = p; q < end; q++)
        if (*q >= 0x80)
            room += 2; /* one bad byte becomes three; escapes only shrink */
    uint8_t *to = arena_alloc(mem, room + 1), *start = to;
    if (to == NULL)
        return MF_NOMEM;
    while (p < end) {
        uint32_t r;
        size_t n;

        if (*p == '\\') {
            n = unescape_char(p, end, &r);
        } else if ((n = utf8_next(p, (size_t)(end - p), &r)) == 0) {
            n = 1;
            r = 0xfffd;
        }
        to = put_rune(to, r == 0 && c_string ? 0xfffd : r);
        p += n;
    }
    *to = '\0';
    *out = mf_slice(start, (size_t)(to - start));
    return 0;
}
