/* cron_impl.h: a parsed schedule, shared by its parser and the walk over the calendar. */
#ifndef TTL_CRON_INT_H
#define TTL_CRON_INT_H

#include "cron/cron.h"

#include "cron/zone_impl.h"

enum cron_kind { CRON_AT, CRON_EVERY, CRON_FIELDS };

struct cron {
    enum cron_kind kind;
    int64_t at_ns;    /* CRON_AT: 1 to INT64_MAX */
    int64_t every_ns; /* CRON_EVERY: at least a second */
    /* CRON_FIELDS: bit n stands for the value n.  Only the days may be empty. */
    uint64_t second, minute, hour, day, month, weekday;
    bool any_day, any_weekday; /* written as a star: does not restrict */
    struct zone *zone;         /* NULL: UTC */
};

/* cron_at.c: RFC 3339 as Go's time.Parse reads it.  Saturates to 1 and INT64_MAX.  MF_INVAL. */
MF_MUSTCHECK int cron_parse_time(struct mf_slice text, int64_t *ns);

#endif
