/* cron_next.c: walks the calendar to the next firing.
 *
 * Within a span of the zone local time runs evenly, so the calendar is walked in local time, span
 * by span.  nats-server walks hour by hour in the zone itself and misses a whole day when summer
 * time begins at midnight in the Americas; here a time is missed only if no clock shows it. */
#include "cron/cron_impl.h"

#include "base/civil.h"
#include "base/clock.h"

#define NOT_FOUND INT64_MIN
#define YEARS     5

/* The first value from n on; negative: there is none. */
static int bit_from(uint64_t bits, int n)
{
    uint64_t left = n > 63 ? 0 : bits & ~(uint64_t)0 << n;

    return left == 0 ? -1 : __builtin_ctzll(left);
}

/* The first fitting second of a day from second s on; negative: none. */
static int64_t time_from(const struct cron *c, int64_t s)
{
    int hour0 = (int)(s / 3600), minute0 = (int)(s / 60 % 60), second, minute, hour;

    second = bit_from(c->second, (int)(s % 60));
    if (second < 0) {
        minute0++;
        second = bit_from(c->second, 0);
    }
    minute = bit_from(c->minute, minute0);
    if (minute != minute0)
        second = bit_from(c->second, 0);
    if (minute < 0) {
        hour0++;
        minute = bit_from(c->minute, 0);
    }
    hour = bit_from(c->hour, hour0);
    if (hour != hour0) {
        minute = bit_from(c->minute, 0);
        second = bit_from(c->second, 0);
    }
    return hour < 0 ? -1 : (int64_t)hour * 3600 + minute * 60 + second;
}

static bool day_fits(const struct cron *c, int64_t day, const struct civil *d)
{
    bool fits = (c->day >> d->day & 1) != 0;
    bool weekday_fits = (c->weekday >> civil_weekday(day) & 1) != 0;

    return c->any_day || c->any_weekday ? fits && weekday_fits : fits || weekday_fits;
}

/* The first fitting local second in [from, end). */
static int64_t search_span(const struct cron *c, int64_t from_s, int64_t end_s)
{
    int64_t day = civil_floor(from_s, CIVIL_DAY_S), in_day = from_s - day * CIVIL_DAY_S, found;

    for (; day * CIVIL_DAY_S < end_s; in_day = 0) {
        struct civil d = civil_of(day);

        if ((c->month >> d.month & 1) == 0) {
            day += civil_month_days(d.year, d.month) - d.day + 1;
            continue;
        }
        if (day_fits(c, day, &d) && (found = time_from(c, in_day)) >= 0)
            return day * CIVIL_DAY_S + found < end_s ? day * CIVIL_DAY_S + found : NOT_FOUND;
        day++;
    }
    return NOT_FOUND;
}

/* The first fitting second from t on. */
static int64_t next_fit(const struct cron *c, int64_t t_s)
{
    struct zone_span span = zone_at(c->zone, t_s);
    int64_t year = civil_of(civil_floor(t_s + span.offset_s, CIVIL_DAY_S)).year;
    int64_t limit = civil_days(year + YEARS + 1, 1, 1) * CIVIL_DAY_S, end, found;

    for (;;) {
        end = span.end_s < limit - span.offset_s ? span.end_s + span.offset_s : limit;
        found = search_span(c, t_s + span.offset_s, end);
        if (found != NOT_FOUND)
            return found - span.offset_s;
        if (end == limit)
            return NOT_FOUND;
        t_s = span.end_s;
        span = zone_at(c->zone, t_s);
    }
}

static int64_t fields_next(const struct cron *c, int64_t after_s)
{
    int64_t t = next_fit(c, after_s + 1);

    if (t == NOT_FOUND || t > INT64_MAX / CLOCK_S)
        return 0;
    return t <= 0 ? 1 : t * CLOCK_S;
}

static int64_t round_s(int64_t ns)
{
    int64_t rest = ns % CLOCK_S;

    if (rest < 0)
        rest += CLOCK_S;
    return civil_floor(ns, CLOCK_S) + (rest >= CLOCK_S / 2 ? 1 : 0);
}

static int64_t every_next(const struct cron *c, int64_t after_s)
{
    int64_t ns;

    if (__builtin_mul_overflow(after_s, CLOCK_S, &ns) ||
        __builtin_add_overflow(ns, c->every_ns, &ns))
        return INT64_MAX;
    return ns <= 0 ? 1 : ns;
}

int64_t cron_next(const struct cron *c, int64_t after_ns, int64_t now_ns)
{
    int64_t next;

    if (c->kind == CRON_AT)
        return c->at_ns;
    if (c->kind == CRON_EVERY) {
        next = every_next(c, round_s(after_ns));
        return next < now_ns ? every_next(c, round_s(now_ns)) : next;
    }
    next = fields_next(c, civil_floor(after_ns, CLOCK_S));
    return next != 0 && next < now_ns ? fields_next(c, round_s(now_ns)) : next;
}
