/* float_text.c: a double in the shortest digits that read back the same. */
#include "codec/float_text_impl.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 17 /* always enough for a double */

/* 0.d1d2d3... * 10^point, no zero at either end. */
struct digits {
    char d[MAX_DIGITS + 1];
    int n, point;
};

static double value_of(const struct digits *x)
{
    char text[MAX_DIGITS + 16];

    snprintf(text, sizeof text, "0.%se%d", x->d, x->point);
    return strtod(text, NULL);
}

/* The next larger number of as many digits. */
static void step_up(struct digits *x)
{
    int i = x->n - 1;

    while (i >= 0 && x->d[i] == '9')
        x->d[i--] = '0';
    if (i >= 0) {
        x->d[i]++;
    } else {
        x->d[0] = '1';
        x->point++;
    }
}

/* v rounded to n digits.  v is positive and finite. */
static void round_to(struct digits *x, double v, int n)
{
    char text[MAX_DIGITS + 16];

    snprintf(text, sizeof text, "%.*e", n - 1, v); /* d.ddde+XX */
    x->d[0] = text[0];
    if (n > 1)
        memcpy(x->d + 1, text + 2, (size_t)n - 1);
    x->d[n] = '\0';
    x->n = n;
    x->point = atoi(strchr(text, 'e') + 1) + 1;
}

static void find_shortest(struct digits *x, double v)
{
    /* DBL_DIG digits survive a normal number unchanged: if fewer would do, zeros show at the end.
     */
    for (int n = v < DBL_MIN ? 1 : DBL_DIG; n <= MAX_DIGITS; n++) {
        round_to(x, v, n);
        if (value_of(x) == v)
            break;
        /* At a power of two the gap above is twice the gap below, so the neighbour above may read
         * back as v although the nearest number of n digits does not. */
        step_up(x);
        if (value_of(x) == v)
            break;
    }
    while (x->n > 1 && x->d[x->n - 1] == '0')
        x->d[--x->n] = '\0';
}

static void put_plain(char *p, const struct digits *x)
{
    if (x->point <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = x->point; i < 0; i++)
            *p++ = '0';
    }
    for (int i = 0; i < x->n || i < x->point; i++) {
        if (i == x->point && i > 0)
            *p++ = '.';
        *p++ = i < x->n ? x->d[i] : '0';
    }
    *p = '\0';
}

const char *float_text(char dst[FLOAT_TEXT], double v)
{
    struct digits x = {.d = "", .n = 0, .point = 0};
    char *p = dst;

    if (!isfinite(v))
        v = 0;
    if (signbit(v)) {
        *p++ = '-';
        v = -v;
    }
    if (v == 0) {
        memcpy(p, "0", 2);
        return dst;
    }
    find_shortest(&x, v);
    if (v < 1e-6 || v >= 1e21)
        snprintf(p, (size_t)(dst + FLOAT_TEXT - p), "%c%s%se%+d", x.d[0], x.n > 1 ? "." : "",
                 x.d + 1, x.point - 1);
    else
        put_plain(p, &x);
    return dst;
}
