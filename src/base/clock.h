/* clock.h: the only place, beside loop, that reads a clock; and the texts times are shown in. */
#ifndef MAYFLY_CLOCK_H
#define MAYFLY_CLOCK_H

#include "base/base.h"

#define CLOCK_S  1000000000LL
#define CLOCK_MS 1000000LL
#define CLOCK_US 1000LL

int64_t clock_wall_ns(void); /* since 1970, UTC; may step */
int64_t clock_mono_ns(void); /* never steps back */
int64_t clock_boot_ns(void); /* the same, and counts while the machine sleeps (steady.h) */

#define CLOCK_TEXT 64
/* RFC 3339 in UTC, trailing zeros of the fraction dropped as Go does: 2026-01-02T03:04:05.6Z.
 * 0 is the epoch; CLOCK_ZERO gives Go's zero time 0001-01-01T00:00:00Z. */
#define CLOCK_ZERO INT64_MIN
const char *clock_rfc3339(char dst[CLOCK_TEXT], int64_t wall_ns);
size_t clock_put_rfc3339(char dst[CLOCK_TEXT], int64_t wall_ns); /* without a NUL; its length */
/* Go's duration text: 1h2m3.5s, 1.5ms, 250µs, 0s. */
const char *clock_duration(char dst[CLOCK_TEXT], int64_t ns);
/* nats-server's uptime text: 5s, 12m39s, 1h2m3s, 3d4h5m6s, 1y2d3h4m5s. */
const char *clock_uptime(char dst[CLOCK_TEXT], int64_t ns);
/* Go's time.ParseDuration: "1h30m", "-1.5s", "100ms", "0".  MF_INVAL otherwise or on overflow. */
MF_MUSTCHECK int clock_parse_duration(struct mf_slice text, int64_t *ns);

#endif
