/* zone_rule.c: the yearly rule at the end of a zone file.
 *
 *     std offset [ dst [offset] [ , start[/time] , end[/time] ] ]
 *
 * POSIX offsets are added to local time to get UTC, so west is positive: the sign is inverted
 * here. */
#include "cron/zone_impl.h"

#include "base/civil.h"

#define HOUR_S 3600

static bool take_char(struct mf_slice *s, char c)
{
    if (s->len == 0 || s->ptr[0] != (uint8_t)c)
        return false;
    *s = mf_slice(s->ptr + 1, s->len - 1);
    return true;
}

static bool digit_next(struct mf_slice s)
{
    return s.len > 0 && s.ptr[0] >= '0' && s.ptr[0] <= '9';
}

static bool take_number(struct mf_slice *s, int low, int high, int *out)
{
    int n = 0;

    if (!digit_next(*s))
        return false;
    for (; digit_next(*s); *s = mf_slice(s->ptr + 1, s->len - 1)) {
        n = n * 10 + (s->ptr[0] - '0');
        if (n > high)
            return false;
    }
    *out = n;
    return n >= low;
}

/* "CEST" or "<+0330>". */
static bool take_name(struct mf_slice *s)
{
    size_t n = 0;

    if (take_char(s, '<')) {
        while (n < s->len && s->ptr[n] != '>')
            n++;
        *s = mf_slice(s->ptr + n, s->len - n);
        return n >= 3 && take_char(s, '>');
    }
    while (n < s->len && ((s->ptr[n] | 0x20) >= 'a' && (s->ptr[n] | 0x20) <= 'z'))
        n++;
    *s = mf_slice(s->ptr + n, s->len - n);
    return n >= 3;
}

/* [+-]h[:m[:s]] */
static bool take_time(struct mf_slice *s, int max_hours, int32_t *out)
{
    bool negative = take_char(s, '-');
    int h, m = 0, sec = 0;

    if (!negative)
        (void)take_char(s, '+');
    if (!take_number(s, 0, max_hours, &h))
        return false;
    if (take_char(s, ':')) {
        if (!take_number(s, 0, 59, &m))
            return false;
        if (take_char(s, ':') && !take_number(s, 0, 59, &sec))
            return false;
    }
    *out = h * HOUR_S + m * 60 + sec;
    if (negative)
        *out = -*out;
    return true;
}

static bool take_change(struct mf_slice *s, struct zone_change *c)
{
    bool ok;

    if (!take_char(s, ','))
        return false;
    if (take_char(s, 'M')) {
        c->kind = ZONE_WEEKDAY;
        ok = take_number(s, 1, 12, &c->month) && take_char(s, '.') &&
             take_number(s, 1, 5, &c->week) && take_char(s, '.') && take_number(s, 0, 6, &c->day);
    } else if (take_char(s, 'J')) {
        c->kind = ZONE_JULIAN;
        ok = take_number(s, 1, 365, &c->day);
    } else {
        c->kind = ZONE_ORDINAL;
        ok = take_number(s, 0, 365, &c->day);
    }
    c->time_s = 2 * HOUR_S;
    return ok && (!take_char(s, '/') || take_time(s, 167, &c->time_s));
}

int zone_rule_parse(struct zone_rule *out, struct mf_slice text)
{
    struct zone_rule r = {0};
    struct mf_slice s = text;

    if (!take_name(&s) || !take_time(&s, 24, &r.std_s))
        return MF_INVAL;
    r.std_s = -r.std_s;
    if (s.len > 0) {
        r.has_dst = true;
        r.dst_s = r.std_s + HOUR_S;
        if (!take_name(&s))
            return MF_INVAL;
        if (s.len > 0 && s.ptr[0] != ',') {
            if (!take_time(&s, 24, &r.dst_s))
                return MF_INVAL;
            r.dst_s = -r.dst_s;
        }
        if (s.len == 0)
            s = MF_LIT(",M3.2.0,M11.1.0"); /* what everybody assumes when none is given */
        if (!take_change(&s, &r.to_dst) || !take_change(&s, &r.to_std))
            return MF_INVAL;
    }
    if (s.len > 0)
        return MF_INVAL;
    *out = r;
    return 0;
}

/* The moment of a change in a year, UTC; offset_s: of the time before it. */
static int64_t change_at(const struct zone_change *c, int64_t year, int32_t offset_s)
{
    int64_t days;

    if (c->kind == ZONE_WEEKDAY) {
        days = civil_days(year, c->month, 1);
        days += (c->day - civil_weekday(days) + 7) % 7 + 7 * (c->week - 1);
        if (days >= civil_days(year, c->month, 1) + civil_month_days(year, c->month))
            days -= 7; /* week 5 is the last one, be it the fourth */
    } else {
        days = civil_days(year, 1, 1) + c->day;
        if (c->kind == ZONE_JULIAN && (!civil_leap(year) || c->day < 60))
            days--;
    }
    return days * CIVIL_DAY_S + c->time_s - offset_s;
}

static void consider_change(int64_t at, int32_t offset_s, int64_t t_s, int64_t *since,
                            struct zone_span *o)
{
    if (at > t_s) {
        if (at < o->end_s)
            o->end_s = at;
    } else if (at >= *since) {
        *since = at;
        o->offset_s = offset_s;
    }
}

/* Changes may lie up to a week outside their year, hence the years around.  When summer time ends
 * in the very second in which it begins again, it never ends: the later one counts. */
struct zone_span zone_rule_at(const struct zone_rule *r, int64_t t_s)
{
    struct zone_span out = {r->std_s, ZONE_FOREVER};
    int64_t year = civil_of(civil_floor(t_s + r->std_s, CIVIL_DAY_S)).year, since = INT64_MIN;

    if (!r->has_dst)
        return out;
    for (int64_t y = year - 2; y <= year + 1; y++) {
        bool south = change_at(&r->to_std, y, r->dst_s) < change_at(&r->to_dst, y, r->std_s);

        if (south)
            consider_change(change_at(&r->to_std, y, r->dst_s), r->std_s, t_s, &since, &out);
        consider_change(change_at(&r->to_dst, y, r->std_s), r->dst_s, t_s, &since, &out);
        if (!south)
            consider_change(change_at(&r->to_std, y, r->dst_s), r->std_s, t_s, &since, &out);
    }
    return out;
}
