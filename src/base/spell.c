/* spell.c: the distance between two words. */
#include "base/spell.h"

static uint8_t fold_letter(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint8_t)(c + ('a' - 'A'));
    return c == '-' ? '_' : c;
}

static bool same_letter(struct mf_slice a, size_t i, struct mf_slice b, size_t j)
{
    return fold_letter(a.ptr[i]) == fold_letter(b.ptr[j]);
}

unsigned spell_distance(struct mf_slice a, struct mf_slice b)
{
    unsigned rows[3][SPELL_MOST + 1];

    if (a.len > SPELL_MOST || b.len > SPELL_MOST)
        return SPELL_FAR;
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            unsigned best = before[j - 1] + !same_letter(a, i - 1, b, j - 1);

            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && same_letter(a, i - 1, b, j - 2) &&
                same_letter(a, i - 2, b, j - 1) && older[j - 2] + 1 < best)
                best = older[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a.len % 3][b.len];
}
