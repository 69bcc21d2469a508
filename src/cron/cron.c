/* cron.c: reads schedule patterns. */
#include "cron/cron_impl.h"

#include "base/clock.h"

#include <stdlib.h>

#define FIELDS 6

struct bounds {
    unsigned min, max;
    const char *const *names; /* names[i] is the value min + i */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};
static const struct bounds bounds[FIELDS] = {
    {0, 59, NULL}, {0, 59, NULL},        {0, 23, NULL},
    {1, 31, NULL}, {1, 12, month_names}, {0, 6, weekday_names},
};

static const struct {
    const char *name, *pattern;
} shorthands[] = {
    {"@yearly", "0 0 0 1 1 *"}, {"@annually", "0 0 0 1 1 *"}, {"@monthly", "0 0 0 1 * *"},
    {"@weekly", "0 0 0 * * 0"}, {"@daily", "0 0 0 * * *"},    {"@midnight", "0 0 0 * * *"},
    {"@hourly", "0 0 * * * *"},
};

/* The part of *s before the first c, which is dropped; all of it if there is none. */
static struct mf_slice take_until(struct mf_slice *s, char c)
{
    const uint8_t *at = s->len == 0 ? NULL : memchr(s->ptr, c, s->len);
    struct mf_slice part = mf_slice(s->ptr, at == NULL ? s->len : (size_t)(at - s->ptr));
    size_t used = at == NULL ? s->len : part.len + 1;

    *s = s->len == 0 ? *s : mf_slice(s->ptr + used, s->len - used);
    return part;
}

static bool has_char(struct mf_slice s, char c)
{
    return s.len > 0 && memchr(s.ptr, c, s.len) != NULL;
}

/* Go's Atoi: a plus is fine, and so are zeros in front. */
static int parse_number(struct mf_slice s, uint64_t *out)
{
    if (s.len > 0 && s.ptr[0] == '+')
        s = mf_slice(s.ptr + 1, s.len - 1);
    return mf_parse_u64(s, out) != 0 || *out > INT64_MAX ? MF_INVAL : 0;
}

static int parse_value(struct mf_slice s, const struct bounds *b, uint64_t *out)
{
    for (unsigned i = 0; b->names != NULL && b->names[i] != NULL; i++)
        if (mf_eq_nocase(s, b->names[i])) {
            *out = b->min + i;
            return 0;
        }
    return parse_number(s, out);
}

/* low[-high], where a star takes all and lets anything follow its hyphen, as in nats-server. */
static int parse_bounds(struct mf_slice range, const struct bounds *b, uint64_t *low,
                        uint64_t *high, bool *star)
{
    struct mf_slice first = take_until(&range, '-');

    *star = mf_eq_str(first, "*") || mf_eq_str(first, "?");
    if (*star) {
        *low = b->min;
        *high = b->max;
        return 0;
    }
    if (parse_value(first, b, low) != 0)
        return MF_INVAL;
    *high = *low;
    return 0;
}

static int parse_range(struct mf_slice expr, const struct bounds *b, uint64_t *bits, bool *any)
{
    struct mf_slice rest = expr, range = take_until(&rest, '/'), tail = range;
    uint64_t low, high, step = 1;
    bool star, stepped = has_char(expr, '/'), single = !has_char(range, '-');

    if (parse_bounds(range, b, &low, &high, &star) != 0)
        return MF_INVAL;
    (void)take_until(&tail, '-');
    if (!single && !star && parse_value(tail, b, &high) != 0) /* a second hyphen fails here too */
        return MF_INVAL;
    if (stepped) { /* so does a second slash */
        if (parse_number(rest, &step) != 0 || step == 0)
            return MF_INVAL;
        if (single)
            high = b->max; /* 5/10 goes on to the end */
    }
    if (low < b->min || high > b->max || low > high)
        return MF_INVAL;
    for (uint64_t v = low; v <= high; v += step) /* 59 + 2^63 is no overflow yet */
        *bits |= (uint64_t)1 << v;
    *any = *any || (star && step == 1);
    return 0;
}

/* A list; its empty entries are skipped. */
static int parse_field(struct mf_slice field, const struct bounds *b, uint64_t *bits, bool *any)
{
    *bits = 0;
    *any = false;
    while (field.len > 0) {
        struct mf_slice expr = take_until(&field, ',');

        if (expr.len > 0 && parse_range(expr, b, bits, any) != 0)
            return MF_INVAL;
    }
    return 0;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next word, or an empty one at the end. */
static struct mf_slice take_word(struct mf_slice *s)
{
    size_t from = 0, to;

    while (from < s->len && is_blank(s->ptr[from]))
        from++;
    to = from;
    while (to < s->len && !is_blank(s->ptr[to]))
        to++;
    struct mf_slice word = mf_slice(s->ptr + from, to - from);
    *s = mf_slice(s->ptr + to, s->len - to);
    return word;
}

static int parse_fields(struct cron *c, struct mf_slice pattern)
{
    uint64_t *const bits[FIELDS] = {&c->second, &c->minute, &c->hour,
                                    &c->day,    &c->month,  &c->weekday};
    bool any[FIELDS];

    for (size_t i = 0; i < FIELDS; i++) {
        struct mf_slice word = take_word(&pattern);

        if (word.len == 0 || parse_field(word, &bounds[i], bits[i], &any[i]) != 0)
            return MF_INVAL;
    }
    if (take_word(&pattern).len > 0)
        return MF_INVAL;
    c->any_day = any[3];
    c->any_weekday = any[5];
    c->kind = CRON_FIELDS;
    /* A list of nothing never fires.  (A day without any may have its weekdays.) */
    return c->second == 0 || c->minute == 0 || c->hour == 0 || c->month == 0 ? MF_INVAL : 0;
}

static int parse_pattern(struct cron *c, struct mf_slice pattern)
{
    if (mf_starts(pattern, "@at ")) {
        c->kind = CRON_AT;
        return cron_parse_time(mf_slice(pattern.ptr + 4, pattern.len - 4), &c->at_ns);
    }
    if (mf_starts(pattern, "@every ")) {
        c->kind = CRON_EVERY;
        if (clock_parse_duration(mf_slice(pattern.ptr + 7, pattern.len - 7), &c->every_ns) != 0)
            return MF_INVAL;
        return c->every_ns < CLOCK_S ? MF_INVAL : 0;
    }
    for (size_t i = 0; i < MF_COUNT(shorthands); i++)
        if (mf_eq_str(pattern, shorthands[i].name))
            return parse_fields(c, mf_str(shorthands[i].pattern));
    return pattern.len == 0 ? MF_INVAL : parse_fields(c, pattern);
}

static int open_zone(struct zone **out, struct mf_slice zone)
{
    int rc;

    *out = NULL;
    if (zone.len == 0)
        return zone.ptr == NULL ? 0 : CRON_BAD_ZONE;
    rc = zone_open(out, zone);
    if (rc != 0)
        return rc == MF_NOMEM ? CRON_NO_MEMORY : CRON_BAD_ZONE;
    return 0;
}

int cron_check_zone(struct mf_slice zone)
{
    struct zone *z;
    int rc = open_zone(&z, zone);

    zone_close(z);
    return rc;
}

int cron_local_time(struct mf_slice zone, int64_t t_s, int32_t *offset_s, int64_t *until_s)
{
    struct zone *z;
    int rc = open_zone(&z, zone);

    if (rc == 0) {
        struct zone_span span = zone_at(z, t_s);
        *offset_s = span.offset_s;
        *until_s = span.end_s;
    }
    zone_close(z);
    return rc;
}

int cron_parse(struct cron **out, struct mf_slice pattern, struct mf_slice zone)
{
    struct cron c = {0}, *kept;
    int rc = open_zone(&c.zone, zone);

    if (rc != 0)
        return rc;
    rc = CRON_BAD_PATTERN;
    if (parse_pattern(&c, pattern) != 0 || (zone.len > 0 && c.kind != CRON_FIELDS))
        goto err_zone;
    rc = CRON_NO_MEMORY;
    kept = malloc(sizeof *kept);
    if (kept == NULL)
        goto err_zone;
    *kept = c;
    *out = kept;
    return 0;
err_zone:
    zone_close(c.zone);
    return rc;
}

void cron_free(struct cron *c)
{
    if (c == NULL)
        return;
    zone_close(c->zone);
    free(c);
}

bool cron_once(const struct cron *c)
{
    return c->kind == CRON_AT;
}

int64_t cron_set_back(const struct cron *c, int64_t next_ns, int64_t now_ns, int64_t back_ns)
{
    int64_t again = cron_once(c) ? 0 : cron_next(c, now_ns, now_ns);
    int64_t after = again == 0 ? 0 : cron_next(c, again, again);

    if (after == 0 || again >= next_ns)
        return next_ns;
    return back_ns > after - again ? again : next_ns;
}
