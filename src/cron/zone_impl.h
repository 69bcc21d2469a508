/* zone_impl.h: time zones, from the system's zone files (TZif, RFC 9636).
 *
 * A zone is a row of spans; within one the offset to UTC does not change, so that local time runs
 * evenly.  NULL stands for UTC wherever a zone is asked for. */
#ifndef TTL_ZONE_H
#define TTL_ZONE_H

#include "base/base.h"

#define ZONE_NAME_MAX 255
#define ZONE_FOREVER  INT64_MAX

struct zone;
struct zone_span {
    int32_t offset_s; /* local time - UTC */
    int64_t end_s;    /* the first second, UTC, that is no longer in it; ZONE_FOREVER */
};

/* name: "UTC", "Local" (the machine's: $TZ, else /etc/localtime, else UTC) or the path of a file
 * under $TZDIR, else /usr/share/zoneinfo.  No name leads out of there.  Zones in use are shared:
 * many schedules name the same few.  MF_NOTFOUND: there is none; MF_NOMEM: memory or another
 * resource is short.  O(file); O(zones in use) for one in use. */
MF_MUSTCHECK int zone_open(struct zone **out, struct mf_slice name);
void zone_close(struct zone *z); /* the last one frees it; NULL is fine */
/* The same from the bytes of a file, not shared.  MF_CORRUPT, MF_NOMEM. */
MF_MUSTCHECK int zone_read(struct zone **out, struct mf_slice file);
/* The span that holds the second t_s, UTC.  O(log changes in the file). */
struct zone_span zone_at(const struct zone *z, int64_t t_s);

/* --- zone_rule.c: the rule after a file's last change, as POSIX writes it in TZ --------------- */

enum zone_day { ZONE_WEEKDAY, ZONE_JULIAN, ZONE_ORDINAL };
struct zone_change {
    enum zone_day kind;
    int month, week, day; /* ZONE_WEEKDAY: Mm.w.d; else only day: Jn (never counts the 29th of
                             February), n (from 0) */
    int32_t time_s;       /* local time before the change; may be on another day */
};
struct zone_rule {
    int32_t std_s, dst_s;
    bool has_dst;
    struct zone_change to_dst, to_std;
};
/* "CET-1CEST,M3.5.0,M10.5.0/3".  MF_INVAL. */
MF_MUSTCHECK int zone_rule_parse(struct zone_rule *r, struct mf_slice text);
struct zone_span zone_rule_at(const struct zone_rule *r, int64_t t_s);

#endif
