/* cron.h: when a message schedule fires.  Pure but for reading the zone's file (cron_parse).
 *
 *     @at 2026-01-02T03:04:05Z     once; RFC 3339 with any offset and fraction
 *     @every 1m30s                 a Go duration of at least a second
 *     0 30 14 * * *                cron with seconds: s m h day month weekday (0: Sunday)
 *     @yearly @annually @monthly @weekly @daily @midnight @hourly
 *
 * A field of cron is a list of *, ?, n, n-m, each with an optional /step; months and weekdays have
 * names of three letters, too.  When both day and weekday are restricted, one of them is enough. */
#ifndef MAYFLY_CRON_H
#define MAYFLY_CRON_H

#include "base/base.h"

struct cron;
enum cron_error { CRON_BAD_PATTERN = -1, CRON_BAD_ZONE = -2, CRON_NO_MEMORY = -3 };
/* zone: IANA name, "UTC" or "Local"; without one (ptr NULL) it is UTC.  A header that is there but
 * empty (len 0, ptr not NULL) is CRON_BAD_ZONE.  Only cron patterns may have one, "@hourly" and its
 * kind too; with @at and @every even a good one is CRON_BAD_PATTERN.  The zone is checked first. 0
 * or a cron_error.  O(length), and a small file for a zone that is not in use. */
MF_MUSTCHECK int cron_parse(struct cron **out, struct mf_slice pattern, struct mf_slice zone);
/* Checks the zone alone, as cron_parse does: a message without a pattern may not name a wrong one
 * either. */
MF_MUSTCHECK int cron_check_zone(struct mf_slice zone);
/* Local time in a zone (as above): *offset_s ahead of UTC at the second t_s, and before *until_s,
 * when the offset may become another one (INT64_MAX: it stays).  0 or a cron_error. */
MF_MUSTCHECK int cron_local_time(struct mf_slice zone, int64_t t_s, int32_t *offset_s,
                                 int64_t *until_s);
void cron_free(struct cron *c); /* NULL is fine */
bool cron_once(const struct cron *c);

/* When to fire next.  0: never.
 *
 *     at publish        cron_next(c, now, now): 0 means that the pattern is invalid (10189): it
 *                       names no date in the next five years, such as the 30th of February
 *     at each firing    cron_next(c, t, now), t being the moment for which it was due: the result
 *                       is Nats-Schedule-Next
 *
 * @at: its moment, which may be past (fire at once).  Never 0; a moment before 1970 is 1, one too
 * late for a date INT64_MAX. @every: after_ns rounded to the nearest second, plus the interval;
 * when that is before now_ns, now_ns rounded plus the interval: missed firings are one. cron: the
 * first second later than after_ns whose local time fits; when that is before now_ns, the first
 * later than now_ns rounded to the nearest second.  Local times that summer time skips do not
 * fire; those it repeats fire twice.
 *
 * O(days until then), at most five years of them. */
int64_t cron_next(const struct cron *c, int64_t after_ns, int64_t now_ns);
/* The clock was set back by back_ns, to now_ns, while a firing at next_ns was planned: when to fire
 * instead.  Set back by less than the time between two firings: next_ns stays, so that no moment
 * fires twice; that firing is late.  By more: the former clock was wrong, and the schedule starts
 * anew from now_ns.  @at: next_ns. */
int64_t cron_set_back(const struct cron *c, int64_t next_ns, int64_t now_ns, int64_t back_ns);

#endif
