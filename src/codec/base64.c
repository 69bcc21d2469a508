/* base64.c: base64 with both alphabets of RFC 4648. */
#include "codec/base64.h"

static const char *letters_of(enum base64_alphabet a)
{
    return a == BASE64_URL ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                           : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

void base64_write(struct mf_buf *out, struct mf_slice bytes, enum base64_alphabet a)
{
    const char *letters = letters_of(a);
    uint8_t *to = mf_buf_reserve(out, (bytes.len + 2) / 3 * 4);

    if (to == NULL)
        return;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t v = (uint32_t)bytes.ptr[i] << 16;

        if (n > 1)
            v |= (uint32_t)bytes.ptr[i + 1] << 8;
        if (n > 2)
            v |= bytes.ptr[i + 2];
        *to++ = (uint8_t)letters[v >> 18];
        *to++ = (uint8_t)letters[v >> 12 & 63];
        *to++ = n > 1 ? (uint8_t)letters[v >> 6 & 63] : '=';
        *to++ = n > 2 ? (uint8_t)letters[v & 63] : '=';
    }
    out->len += (bytes.len + 2) / 3 * 4;
}

static int value_of(uint8_t c, enum base64_alphabet a)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == (a == BASE64_URL ? '-' : '+'))
        return 62;
    return c == (a == BASE64_URL ? '_' : '/') ? 63 : -1;
}

int base64_read(struct mf_buf *out, struct mf_slice text, enum base64_alphabet a)
{
    size_t before = out->len;
    uint32_t v = 0;
    unsigned bits = 0;
    size_t pads = 0;

    while (text.len > 0 && pads < 2 && text.ptr[text.len - 1] == '=') {
        text.len--;
        pads++;
    }
    if (text.len % 4 == 1 || (pads > 0 && (text.len + pads) % 4 != 0))
        return MF_INVAL;
    for (size_t i = 0; i < text.len; i++) {
        int d = value_of(text.ptr[i], a);

        if (d < 0) {
            out->len = before;
            return MF_INVAL;
        }
        v = v << 6 | (uint32_t)d;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            mf_buf_byte(out, (uint8_t)(v >> bits));
        }
    }
    return mf_buf_failed(out) ? MF_NOMEM : 0;
}
