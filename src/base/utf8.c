/* utf8.c: finds the well-formed sequences among bytes nobody vouches for. */
#include "mayfly/utf8.h"

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
