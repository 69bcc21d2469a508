/* clock_text.c: times and durations as text, in the forms Go and nats-server use. */
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

/* Writes ".fff" without zeros at the end, nothing for 0.  frac has `width` decimal digits.  Returns
 * the bytes written. */
static size_t put_fraction(char *dst, size_t cap, uint64_t frac, int width)
{
    if (frac == 0)
        return 0;
    while (frac % 10 == 0) {
        frac /= 10;
        width--;
    }
    int n = snprintf(dst, cap, ".%0*" PRIu64, width, frac);
    return n < 0 ? 0 : (size_t)n;
}

static char *put_digits(char *at, unsigned v, unsigned n)
{
    for (unsigned i = n; i > 0; i--, v /= 10)
        at[i - 1] = (char)('0' + v % 10);
    return at + n;
}

/* Five times as fast as libc's calendar; every reply to a direct get has a date.  Years are
 * counted from March, so that the odd day is the last one; days from 1 March of the year 0. */
static char *put_date(char *at, int64_t days)
{
    uint64_t z = (uint64_t)(days + 719468); /* int64 nanoseconds reach back to 1677 only */
    unsigned day = (unsigned)(z % 146097);
    unsigned year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    unsigned doy = day - (365 * year + year / 4 - year / 100), month = (5 * doy + 2) / 153;

    at = put_digits(at, year + (unsigned)(z / 146097) * 400 + (month >= 10), 4);
    *at++ = '-';
    at = put_digits(at, month < 10 ? month + 3 : month - 9, 2);
    *at++ = '-';
    return put_digits(at, doy - (153 * month + 2) / 5 + 1, 2);
}

size_t clock_put_rfc3339(char dst[CLOCK_TEXT], int64_t wall_ns)
{
    int64_t s = wall_ns / CLOCK_S, frac = wall_ns % CLOCK_S;
    char *at = dst;

    if (wall_ns == CLOCK_ZERO) {
        memcpy(dst, "0001-01-01T00:00:00Z", 20);
        return 20;
    }
    if (frac < 0) { /* the fraction counts forward before 1970 too */
        frac += CLOCK_S;
        s--;
    }
    int64_t days = s / 86400, left = s % 86400;
    if (left < 0) {
        left += 86400;
        days--;
    }
    unsigned sec = (unsigned)left;
    at = put_date(at, days);
    *at++ = 'T';
    at = put_digits(at, sec / 3600, 2);
    *at++ = ':';
    at = put_digits(at, sec / 60 % 60, 2);
    *at++ = ':';
    at = put_digits(at, sec % 60, 2);
    if (frac != 0) {
        *at++ = '.';
        at = put_digits(at, (unsigned)frac, 9);
        while (at[-1] == '0')
            at--;
    }
    *at++ = 'Z';
    return (size_t)(at - dst);
}

const char *clock_rfc3339(char dst[CLOCK_TEXT], int64_t wall_ns)
{
    dst[clock_put_rfc3339(dst, wall_ns)] = '\0';
    return dst;
}

/* A number and its unit; answers of the TTL API have one or two each, so without printf. */
static size_t put_part(char *dst, uint64_t v, char unit)
{
    unsigned n = 1;

    for (uint64_t rest = v; rest >= 10; rest /= 10)
        n++;
    dst[n] = unit;
    for (unsigned i = n; i > 0; i--, v /= 10)
        dst[i - 1] = (char)('0' + v % 10);
    return n + 1;
}

/* Below a second Go picks the largest unit that leaves a whole part. */
static void put_subsecond(char *dst, size_t cap, uint64_t u)
{
    uint64_t unit = 1;
    int width = 0;
    const char *name = "ns";

    if (u >= (uint64_t)CLOCK_MS) {
        unit = (uint64_t)CLOCK_MS;
        width = 6;
        name = "ms";
    } else if (u >= (uint64_t)CLOCK_US) {
        unit = (uint64_t)CLOCK_US;
        width = 3;
        name = "\xc2\xb5s"; /* U+00B5, the micro sign */
    }
    size_t n = (size_t)snprintf(dst, cap, "%" PRIu64, u / unit);
    n += put_fraction(dst + n, cap - n, u % unit, width);
    snprintf(dst + n, cap - n, "%s", name);
}

const char *clock_duration(char dst[CLOCK_TEXT], int64_t ns)
{
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns; /* INT64_MIN has no positive twin */
    const uint64_t second = (uint64_t)CLOCK_S;
    size_t n = 0;

    if (u == 0) {
        snprintf(dst, CLOCK_TEXT, "0s");
        return dst;
    }
    if (ns < 0)
        dst[n++] = '-';
    if (u < second) {
        put_subsecond(dst + n, CLOCK_TEXT - n, u);
        return dst;
    }
    uint64_t s = u / second;
    if (s >= 3600)
        n += put_part(dst + n, s / 3600, 'h');
    if (s >= 60)
        n += put_part(dst + n, s / 60 % 60, 'm');
    n += put_part(dst + n, s % 60, 's');
    if (u % second != 0) {
        n += put_fraction(dst + n - 1, CLOCK_TEXT - n, u % second, 9);
        dst[n - 1] = 's';
    }
    dst[n] = '\0';
    return dst;
}

const char *clock_uptime(char dst[CLOCK_TEXT], int64_t ns)
{
    int64_t s = ns / CLOCK_S, m = s / 60, h = m / 60, d = h / 24, y = d / 365;
    size_t n = 0;

    if (y > 0)
        n += (size_t)snprintf(dst + n, CLOCK_TEXT - n, "%" PRId64 "y", y);
    if (d > 0)
        n += (size_t)snprintf(dst + n, CLOCK_TEXT - n, "%" PRId64 "d", d % 365);
    if (h > 0)
        n += (size_t)snprintf(dst + n, CLOCK_TEXT - n, "%" PRId64 "h", h % 24);
    if (m > 0)
        n += (size_t)snprintf(dst + n, CLOCK_TEXT - n, "%" PRId64 "m", m % 60);
    snprintf(dst + n, CLOCK_TEXT - n, "%" PRId64 "s", s % 60);
    return dst;
}
