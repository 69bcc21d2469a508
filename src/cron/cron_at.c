/* cron_at.c: a moment in RFC 3339, with the liberties of Go's time.Parse:
 *
 *     2026-01-02T03:04:05[.digits](Z|+hh:mm)
 *
 * the hour may have one digit, the point may be a comma; digits beyond nanoseconds are skipped; an
 * offset may have 24 hours and 60 minutes; there is no second 60. */
#include "cron/cron_impl.h"

#include "base/civil.h"
#include "base/clock.h"

static bool digit_at(struct mf_slice s, size_t i)
{
    return i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9';
}

static bool take_char(struct mf_slice *s, char c)
{
    if (s->len == 0 || s->ptr[0] != (uint8_t)c)
        return false;
    *s = mf_slice(s->ptr + 1, s->len - 1);
    return true;
}

/* At least `least` and at most `most` digits, as many as there are. */
static bool take_digits(struct mf_slice *s, size_t least, size_t most, int high, int *out)
{
    size_t n = 0;

    *out = 0;
    while (n < most && digit_at(*s, n))
        *out = *out * 10 + (s->ptr[n++] - '0');
    if (n < least || *out > high)
        return false;
    *s = mf_slice(s->ptr + n, s->len - n);
    return true;
}

static bool take_fraction(struct mf_slice *s, int64_t *ns)
{
    int64_t scale = CLOCK_S;
    size_t n = 1;

    *ns = 0;
    if (s->len == 0 || (s->ptr[0] != '.' && s->ptr[0] != ','))
        return true;
    if (!digit_at(*s, 1))
        return false;
    for (; digit_at(*s, n); n++) {
        scale /= 10; /* 0 from the tenth digit on */
        *ns += scale * (s->ptr[n] - '0');
    }
    *s = mf_slice(s->ptr + n, s->len - n);
    return true;
}

static bool take_offset(struct mf_slice *s, int64_t *offset_s)
{
    int h, m;
    bool west;

    *offset_s = 0;
    if (take_char(s, 'Z'))
        return true;
    west = take_char(s, '-');
    if (!west && !take_char(s, '+'))
        return false;
    if (!take_digits(s, 2, 2, 24, &h) || !take_char(s, ':') || !take_digits(s, 2, 2, 60, &m))
        return false;
    *offset_s = (west ? -1 : 1) * (h * 3600 + m * 60);
    return true;
}

int cron_parse_time(struct mf_slice text, int64_t *ns)
{
    struct mf_slice s = text;
    int year, month, day, h, m, sec;
    int64_t frac, offset_s, t;

    if (!take_digits(&s, 4, 4, 9999, &year) || !take_char(&s, '-') ||
        !take_digits(&s, 2, 2, 12, &month) || !take_char(&s, '-') ||
        !take_digits(&s, 2, 2, 31, &day) || !take_char(&s, 'T') || !take_digits(&s, 1, 2, 23, &h) ||
        !take_char(&s, ':') || !take_digits(&s, 2, 2, 59, &m) || !take_char(&s, ':') ||
        !take_digits(&s, 2, 2, 59, &sec) || !take_fraction(&s, &frac) ||
        !take_offset(&s, &offset_s) || s.len > 0)
        return MF_INVAL;
    if (month < 1 || day < 1 || day > civil_month_days(year, month))
        return MF_INVAL;
    t = civil_days(year, month, day) * CIVIL_DAY_S + h * 3600 + m * 60 + sec - offset_s;
    if (t < 0 || (t == 0 && frac == 0))
        *ns = 1;
    else if (t >= INT64_MAX / CLOCK_S)
        *ns = INT64_MAX;
    else
        *ns = t * CLOCK_S + frac;
    return 0;
}
