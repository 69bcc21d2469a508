/* utf8.c: finds well-formed UTF-8 sequences in untrusted bytes. */
#include "base/utf8.h"

#include "base/buf.h"

size_t utf8_next(const uint8_t *p, size_t n, uint32_t *rune)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len;
    uint32_t r;

    if (p[0] < 0x80) {
        *rune = p[0];
        return 1;
    }
    if ((p[0] & 0xe0) == 0xc0) {
        len = 2;
        r = p[0] & 0x1f;
    } else if ((p[0] & 0xf0) == 0xe0) {
        len = 3;
        r = p[0] & 0x0f;
    } else if ((p[0] & 0xf8) == 0xf0) {
        len = 4;
        r = p[0] & 0x07;
    } else {
        return 0;
    }
    if (n < len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        r = r << 6 | (p[i] & 0x3f);
    }
    if (r < smallest[len] || r > 0x10ffff || (r >= 0xd800 && r <= 0xdfff))
        return 0;
    *rune = r;
    return len;
}

/* The letter of the short escape (\n, \t), or 0. */
static char escape_letter(uint32_t rune)
{
    static const char from[] = "\a\b\f\n\r\t\v\"\\", to[] = "abfnrtv\"\\";
    const char *p = rune == 0 || rune > 0x7f ? NULL : strchr(from, (int)rune);

    return p == NULL ? '\0' : to[p - from];
}

/* Spaces other than the blank, invisible and private characters: the common ones of those that Go
 * does not print. */
static bool is_unprintable(uint32_t r)
{
    return (r >= 0x80 && r <= 0xa0) || r == 0xad || (r >= 0x2000 && r <= 0x200f) ||
           (r >= 0x2028 && r <= 0x202f) || (r >= 0xe000 && r <= 0xf8ff) || r == 0x3000 ||
           r == 0xfeff || (r & 0xfffe) == 0xfffe;
}

void utf8_quote(struct mf_buf *out, struct mf_slice s)
{
    struct mf_slice rest = s;

    mf_buf_byte(out, '"');
    while (rest.len > 0) {
        uint32_t rune = 0;
        size_t n = utf8_next(rest.ptr, rest.len, &rune);
        if (n == 0) {
            n = 1;
            mf_buf_printf(out, "\\x%02x", rest.ptr[0]);
        } else if (escape_letter(rune) != '\0') {
            mf_buf_printf(out, "\\%c", escape_letter(rune));
        } else if (rune < 0x20 || rune == 0x7f) {
            mf_buf_printf(out, "\\x%02x", (unsigned)rune);
        } else if (is_unprintable(rune)) {
            mf_buf_printf(out, rune > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)rune);
        } else {
            mf_buf_append(out, rest.ptr, n);
        }
        rest = mf_slice(rest.ptr + n, rest.len - n);
    }
    mf_buf_byte(out, '"');
}
