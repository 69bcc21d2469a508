/* clock_parse.c: reads durations exactly as Go's time.ParseDuration does.
 *
 *     [+-] ( "0" | { [digits] [ "." [digits] ] unit } )      at least one digit before each unit
 *
 * The magnitude is summed unsigned up to 2^63, which only a negative duration may reach. */
#include "base/clock.h"

#define MAGNITUDE_MAX ((uint64_t)1 << 63)

static bool is_digit(struct mf_slice s)
{
    return s.len > 0 && s.ptr[0] >= '0' && s.ptr[0] <= '9';
}

static struct mf_slice skip_bytes(struct mf_slice s, size_t n)
{
    return mf_slice(s.ptr + n, s.len - n);
}

/* The digits before the point. */
static int parse_whole(struct mf_slice *s, uint64_t *out)
{
    uint64_t x = 0;

    for (; is_digit(*s); *s = skip_bytes(*s, 1)) {
        if (x > MAGNITUDE_MAX / 10)
            return MF_INVAL;
        x = x * 10 + (uint64_t)(s->ptr[0] - '0');
        if (x > MAGNITUDE_MAX)
            return MF_INVAL;
    }
    *out = x;
    return 0;
}

/* The digits after the point as *out / *scale.  Digits that no longer fit are below any unit's
 * precision and are skipped. */
static void parse_fraction(struct mf_slice *s, uint64_t *out, double *scale)
{
    bool full = false;

    *out = 0;
    *scale = 1;
    for (; is_digit(*s); *s = skip_bytes(*s, 1)) {
        if (full)
            continue;
        if (*out > (MAGNITUDE_MAX - 1) / 10) {
            full = true;
            continue;
        }
        uint64_t y = *out * 10 + (uint64_t)(s->ptr[0] - '0');
        if (y > MAGNITUDE_MAX) {
            full = true;
            continue;
        }
        *out = y;
        *scale *= 10;
    }
}

static int parse_unit(struct mf_slice *s, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        {"ns", 1},
        {"us", (uint64_t)CLOCK_US},
        {"\xc2\xb5s", (uint64_t)CLOCK_US}, /* U+00B5, the micro sign */
        {"\xce\xbcs", (uint64_t)CLOCK_US}, /* U+03BC, the Greek letter */
        {"ms", (uint64_t)CLOCK_MS},
        {"s", (uint64_t)CLOCK_S},
        {"m", 60 * (uint64_t)CLOCK_S},
        {"h", 3600 * (uint64_t)CLOCK_S},
    };
    size_t n = 0;

    while (n < s->len && s->ptr[n] != '.' && !is_digit(skip_bytes(*s, n)))
        n++;
    for (size_t i = 0; i < MF_COUNT(units); i++)
        if (mf_eq_str(mf_slice(s->ptr, n), units[i].name)) {
            *ns = units[i].ns;
            *s = skip_bytes(*s, n);
            return 0;
        }
    return MF_INVAL;
}

/* One "12.5ms", added to *sum. */
static int parse_term(struct mf_slice *s, uint64_t *sum)
{
    uint64_t x, frac = 0, ns;
    double scale = 1;
    size_t before = s->len, digits;

    if (parse_whole(s, &x) != 0)
        return MF_INVAL;
    digits = before - s->len;
    if (s->len > 0 && s->ptr[0] == '.') {
        *s = skip_bytes(*s, 1);
        before = s->len;
        parse_fraction(s, &frac, &scale);
        digits += before - s->len;
    }
    if (digits == 0 || parse_unit(s, &ns) != 0 || x > MAGNITUDE_MAX / ns)
        return MF_INVAL;
    x *= ns;
    if (frac > 0) {
        x += (uint64_t)((double)frac * ((double)ns / scale)); /* Go's own rounding */
        if (x > MAGNITUDE_MAX)
            return MF_INVAL;
    }
    *sum += x; /* both at most 2^63: 2^64 wraps to 0, so look at the carry too */
    return *sum < x || *sum > MAGNITUDE_MAX ? MF_INVAL : 0;
}

int clock_parse_duration(struct mf_slice text, int64_t *ns)
{
    struct mf_slice s = text;
    uint64_t sum = 0;
    bool negative = false;

    if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+')) {
        negative = s.ptr[0] == '-';
        s = skip_bytes(s, 1);
    }
    if (s.len == 0)
        return MF_INVAL;
    if (mf_eq_str(s, "0")) {
        *ns = 0;
        return 0;
    }
    while (s.len > 0)
        if (parse_term(&s, &sum) != 0)
            return MF_INVAL;
    if (!negative && sum >= MAGNITUDE_MAX)
        return MF_INVAL;
    *ns = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return 0;
}
