/* ttl.c: reads Nats-TTL: `never`, a Go duration, or plain seconds, in this order. */
#include "ttl/ttl.h"

#include "base/clock.h"

static bool all_digits(struct mf_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return s.len > 0;
}

/* --- as nats-server 2.15.1 -------------------------------------------------------------------- */

/* It keeps whole seconds, multiplies them by 10^9 and adds the timestamp, all modulo 2^64.  A
 * product below 0 leads to a date in the past, just as a sum beyond the last date does: one value
 * stands for both. */
static int64_t wrapped_ns(int64_t s)
{
    int64_t ns = (int64_t)((uint64_t)s * (uint64_t)CLOCK_S);

    return ns <= 0 ? INT64_MAX : ns;
}

static int parse_strict(struct mf_slice value, int64_t *ttl_ns)
{
    int64_t ns, s;
    uint64_t sum = 0;

    if (clock_parse_duration(value, &ns) == 0) {
        if (ns < CLOCK_S)
            return MF_INVAL;
        /* Go's Duration.Seconds() is a double: just below a second may become one. */
        int64_t whole = ns / CLOCK_S;
        s = (int64_t)((double)whole + (double)(ns % CLOCK_S) / 1e9);
    } else {
        if (!all_digits(value))
            return MF_INVAL;
        for (size_t i = 0; i < value.len; i++)
            sum = sum * 10 + (uint64_t)(value.ptr[i] - '0');
        s = (int64_t)sum;
        if (s < 0)
            return MF_INVAL;
    }
    *ttl_ns = s == 0 ? TTL_NONE : wrapped_ns(s);
    return 0;
}

/* --- ours ------------------------------------------------------------------------------------- */

static size_t unit_len(struct mf_slice s)
{
    static const char *const units[] = {"ns", "us", "\xc2\xb5s", "\xce\xbcs", "ms", "s", "h", "m"};

    for (size_t i = 0; i < MF_COUNT(units); i++)
        if (mf_starts(s, units[i]))
            return strlen(units[i]);
    return 0;
}

static size_t digits_len(struct mf_slice s)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
        n++;
    return n;
}

/* A duration by its form, not negative: if Go refuses it, it is too large. */
static bool looks_like_duration(struct mf_slice s)
{
    if (s.len > 0 && s.ptr[0] == '+')
        s = mf_slice(s.ptr + 1, s.len - 1);
    if (s.len == 0)
        return false;
    while (s.len > 0) {
        size_t whole = digits_len(s), n = whole, fraction = 0, unit;

        if (n < s.len && s.ptr[n] == '.') {
            fraction = digits_len(mf_slice(s.ptr + n + 1, s.len - n - 1));
            n += 1 + fraction;
        }
        unit = unit_len(mf_slice(s.ptr + n, s.len - n));
        if (whole + fraction == 0 || unit == 0)
            return false;
        s = mf_slice(s.ptr + n + unit, s.len - n - unit);
    }
    return true;
}

/* Does the text have only zeros?  "0.1ns" also becomes 0, but is not meant as "none". */
static bool only_zeros(struct mf_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] >= '1' && s.ptr[i] <= '9')
            return false;
    return true;
}

static int parse_ours(struct mf_slice value, int64_t *ttl_ns)
{
    int64_t ns;
    uint64_t s;

    if (all_digits(value)) {
        bool fits = mf_parse_u64(value, &s) == 0 && s <= (uint64_t)(INT64_MAX / CLOCK_S);

        *ttl_ns = fits ? (int64_t)s * CLOCK_S : TTL_NEVER; /* "0" is TTL_NONE */
        return 0;
    }
    if (clock_parse_duration(value, &ns) != 0) {
        *ttl_ns = TTL_NEVER;
        return looks_like_duration(value) ? 0 : MF_INVAL;
    }
    if (ns == 0 && only_zeros(value)) {
        *ttl_ns = TTL_NONE;
        return 0;
    }
    if (ns < CLOCK_S)
        return MF_INVAL;
    /* Up to the whole millisecond: early would be a broken promise. */
    ns = ns > INT64_MAX - CLOCK_MS ? ns : (ns + CLOCK_MS - 1) / CLOCK_MS * CLOCK_MS;
    *ttl_ns = ns;
    return 0;
}

int ttl_parse(struct mf_slice value, bool strict, int64_t *ttl_ns)
{
    int64_t ns = TTL_NONE;
    int rc = 0;

    if (mf_eq_nocase(value, "never"))
        ns = TTL_NEVER;
    else if (value.len > 0)
        rc = strict ? parse_strict(value, &ns) : parse_ours(value, &ns);
    if (rc == 0)
        *ttl_ns = ns;
    return rc;
}

int64_t ttl_deadline(int64_t ts_ns, int64_t ttl_ns, bool strict)
{
    int64_t at;

    if (ttl_ns <= 0)
        return 0;
    if (__builtin_add_overflow(ts_ns, ttl_ns, &at))
        return strict ? 1 : 0;
    return at <= 0 ? 1 : at; /* 0 would mean never */
}
