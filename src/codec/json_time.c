/* json_time.c: RFC 3339 times, read and refused as Go's time.Parse does it.
 *
 *     2006-01-02T15:04:05[.999999999](Z|+07:00)
 *
 * The elements are tried from left to right; the first that fails is named in the error.  A value
 * out of its range has another error than one that is no number. */
#include "codec/json_scan_impl.h"

#include "base/civil.h"
#include "base/clock.h"

#include <stdio.h>

#define LAYOUT "2006-01-02T15:04:05Z07:00"

struct parse {
    struct mf_slice all, rest;
    struct mf_error *e;
};

/* Quotes as Go's time package does: bytes beyond ASCII as \xNN. */
static void quote_text(struct json_text *t, struct mf_slice s)
{
    json_text_puts(t, "\"");
    for (size_t i = 0; i < s.len && !t->full; i++) {
        char tmp[8];

        if (s.ptr[i] >= 0x80 || s.ptr[i] < ' ')
            snprintf(tmp, sizeof tmp, "\\x%02x", s.ptr[i]);
        else
            snprintf(tmp, sizeof tmp, "%s%c", s.ptr[i] == '"' || s.ptr[i] == '\\' ? "\\" : "",
                     s.ptr[i]);
        json_text_puts(t, tmp);
    }
    json_text_puts(t, "\"");
}

static int fail_mismatch(struct parse *p, struct mf_slice at, const char *element)
{
    struct json_text t = {.len = 0};

    json_text_puts(&t, "parsing time ");
    quote_text(&t, p->all);
    json_text_puts(&t, " as \"" LAYOUT "\": cannot parse ");
    quote_text(&t, at);
    json_text_puts(&t, " as \"");
    json_text_puts(&t, element);
    json_text_puts(&t, "\"");
    return mf_fail(p->e, MF_INVAL, "%s", t.at);
}

static int refuse_time(struct parse *p, const char *why, struct mf_slice extra)
{
    struct json_text t = {.len = 0};

    json_text_puts(&t, "parsing time ");
    quote_text(&t, p->all);
    json_text_puts(&t, ": ");
    json_text_puts(&t, why);
    if (extra.len > 0)
        quote_text(&t, extra);
    return mf_fail(p->e, MF_INVAL, "%s", t.at);
}

static bool digit_at(struct mf_slice s, size_t i)
{
    return i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9';
}

static void skip_bytes(struct parse *p, size_t n)
{
    p->rest = mf_slice(p->rest.ptr + n, p->rest.len - n);
}

/* `before`, then a number of `width` digits. */
static int parse_number(struct parse *p, const char *before, const char *element, size_t width,
                        unsigned *out)
{
    size_t n = 0;

    *out = 0;
    if (before[0] != '\0') {
        if (!mf_starts(p->rest, before))
            return fail_mismatch(p, p->rest, before);
        skip_bytes(p, 1);
    }
    while (n < width && digit_at(p->rest, n))
        *out = *out * 10 + (unsigned)(p->rest.ptr[n++] - '0');
    /* Go takes one digit for the hour, by an old mistake that clients may rely on. */
    if (n < width && !(n == 1 && before[0] == 'T'))
        return fail_mismatch(p, p->rest, element);
    skip_bytes(p, n);
    return 0;
}

/* The digits behind a point or comma; those beyond the ninth are skipped. */
static void parse_fraction(struct parse *p, int64_t *ns)
{
    int64_t unit = CLOCK_S / 10;

    if (p->rest.len < 2 || (p->rest.ptr[0] != '.' && p->rest.ptr[0] != ',') ||
        !digit_at(p->rest, 1))
        return;
    skip_bytes(p, 1);
    for (; digit_at(p->rest, 0); skip_bytes(p, 1), unit /= 10)
        *ns += (p->rest.ptr[0] - '0') * unit;
}

static int parse_zone(struct parse *p, int64_t *offset_s)
{
    struct mf_slice s = p->rest;
    bool east;

    *offset_s = 0;
    if (s.len > 0 && s.ptr[0] == 'Z') {
        skip_bytes(p, 1);
        return 0;
    }
    if (s.len < 6 || s.ptr[3] != ':' || !digit_at(s, 1) || !digit_at(s, 2) || !digit_at(s, 4) ||
        !digit_at(s, 5))
        return fail_mismatch(p, s, "Z07:00");
    int64_t hours = (s.ptr[1] - '0') * 10 + (s.ptr[2] - '0');
    int64_t minutes = (s.ptr[4] - '0') * 10 + (s.ptr[5] - '0');
    if (hours > 24)
        return refuse_time(p, "time zone offset hour out of range", MF_SLICE_NONE);
    if (minutes > 60)
        return refuse_time(p, "time zone offset minute out of range", MF_SLICE_NONE);
    east = s.ptr[0] == '+';
    if (!east && s.ptr[0] != '-')
        return fail_mismatch(p, s, "Z07:00");
    skip_bytes(p, 6);
    *offset_s = (hours * 60 + minutes) * 60 * (east ? 1 : -1);
    return 0;
}

static int64_t to_ns(int64_t seconds, int64_t ns)
{
    static const int64_t zero_s = -62135596800; /* 0001-01-01 */
    int64_t out;

    if (seconds == zero_s && ns == 0)
        return CLOCK_ZERO;
    if (__builtin_mul_overflow(seconds, CLOCK_S, &out) || __builtin_add_overflow(out, ns, &out))
        return seconds < 0 ? INT64_MIN + 1 : INT64_MAX;
    return out == CLOCK_ZERO ? out + 1 : out;
}

int json_parse_time(struct mf_slice text, int64_t *out, struct mf_error *e)
{
    struct parse p = {text, text, e};
    unsigned year, month, day, hour, minute, second;
    int64_t ns = 0, offset_s;

    if (parse_number(&p, "", "2006", 4, &year) != 0 || parse_number(&p, "-", "01", 2, &month) != 0)
        return MF_INVAL;
    if (month < 1 || month > 12)
        return refuse_time(&p, "month out of range", MF_SLICE_NONE);
    if (parse_number(&p, "-", "02", 2, &day) != 0 || parse_number(&p, "T", "15", 2, &hour) != 0)
        return MF_INVAL;
    if (hour > 23)
        return refuse_time(&p, "hour out of range", MF_SLICE_NONE);
    if (parse_number(&p, ":", "04", 2, &minute) != 0)
        return MF_INVAL;
    if (minute > 59)
        return refuse_time(&p, "minute out of range", MF_SLICE_NONE);
    if (parse_number(&p, ":", "05", 2, &second) != 0)
        return MF_INVAL;
    if (second > 59)
        return refuse_time(&p, "second out of range", MF_SLICE_NONE);
    parse_fraction(&p, &ns);
    if (parse_zone(&p, &offset_s) != 0)
        return MF_INVAL;
    if (p.rest.len > 0)
        return refuse_time(&p, "extra text: ", p.rest);
    if (day < 1 || day > (unsigned)civil_month_days(year, (int)month))
        return refuse_time(&p, "day out of range", MF_SLICE_NONE);
    *out = to_ns(civil_days(year, (int)month, (int)day) * CIVIL_DAY_S + hour * 3600 + minute * 60 +
                     second - offset_s,
                 ns);
    return 0;
}
