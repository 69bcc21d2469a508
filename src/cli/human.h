/* human.h: numbers, sizes and times as people read them. */
#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

#include "base/base.h"

#define HUMAN_TEXT 48

const char *human_count(char dst[HUMAN_TEXT], uint64_t n);       /* 2,388 */
const char *human_bytes(char dst[HUMAN_TEXT], uint64_t n);       /* 41.2 MB, in steps of 1,024 */
const char *human_rate(char dst[HUMAN_TEXT], double per_second); /* 12,300/s */
/* Two units, the rest cut off: 12m31s, 23h5m, 6d2h, 850ms, 0s. */
const char *human_duration(char dst[HUMAN_TEXT], int64_t ns);
const char *human_time(char dst[HUMAN_TEXT], int64_t wall_ns);  /* 2026-11-18 09:00:00Z */
const char *human_clock(char dst[HUMAN_TEXT], int64_t wall_ns); /* 09:00:00, UTC */
/* One or more URLs as they may be shown: without user, password and token. */
const char *human_url(char *dst, size_t size, const char *urls);
/* RFC 3339 as the API writes it to nanoseconds since 1970; MF_INVAL if it is none. */
MF_MUSTCHECK int human_parse_time(const char *text, int64_t *wall_ns);

#endif
