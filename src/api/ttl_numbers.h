/* ttl_numbers.h: counts and policies of lifetimes as JSON, shared by the TTL API and pages. */
#ifndef API_TTL_NUMBERS_H
#define API_TTL_NUMBERS_H

#include "codec/jsonw.h"
#include "stream/stream_ahead.h"
#include "stream/stream_hour.h"
#include "stream/stream_ttl.h"

struct ttl_numbers {
    struct stream_lives lives;
    uint64_t messages, bytes, overdue;
    uint64_t ending[2], ending_bytes; /* within an hour, within a day; within a day */
    bool sampled;                     /* ending_bytes is an estimate */
    int64_t blurred_ns;               /* as store_forecast_sum.blurred_ns */
    int64_t next_ns;                  /* the first deadline; 0: none */
    struct stream_hour hour;
    struct stream_ttl_stats ttl;
    uint64_t expired, removed; /* since the start */
};
/* Adds the counts of a stream, without forecasts.  O(1) plus O(overdue messages). */
void ttl_numbers_add(struct ttl_numbers *n, struct stream *s);
/* Adds a forecast of the next day in 24 buckets; the first deadline. */
void ttl_numbers_add_ahead(struct ttl_numbers *n, struct stream *s,
                           const struct store_forecast_sum *day);
void ttl_numbers_add_next(struct ttl_numbers *n, int64_t next_ns);

/* Members of the open object: by state, "expired_last_hour", forecasts. */
void ttl_numbers_write_items(struct jsonw *w, const struct ttl_numbers *n, bool past);
/* The last hour, "pinned" and so on. */
void ttl_numbers_write_past(struct jsonw *w, const struct ttl_numbers *n);
void ttl_numbers_write_more(struct jsonw *w, const struct ttl_numbers *n);
/* "totals", "decided", "audit", "lateness_ms", "requested_s". */
void ttl_numbers_write_totals(struct jsonw *w, const struct ttl_numbers *n);

/* POLICY's members of the open object; p: the stream's policy, or one that is tried out. */
void ttl_json_policy(struct jsonw *w, struct stream *s, const struct policy *p);

/* "counts_approximate" and "resolution_ms"; nothing if blurred_ns is 0: the counts are exact. */
void ttl_json_blurred(struct jsonw *w, int64_t blurred_ns);
/* A part of a forecast, in an array: its end, its messages and bytes. */
void ttl_json_bucket(struct jsonw *w, int64_t to_ns, uint64_t msgs, uint64_t bytes);
int64_t ttl_bucket_end(int64_t from_ns, int64_t within_ns, unsigned buckets, unsigned i);
/* Whether a minute of it takes more than TTL_CLIFF_MSGS messages and a tenth of all `with` a
 * deadline. */
#define TTL_CLIFF_MSGS 10000u
bool ttl_is_cliff(const struct store_forecast_sum *sum, uint64_t with);
/* The time of a forecast: a duration of 1m to 36500d.  Else MF_INVAL. */
MF_MUSTCHECK int ttl_parse_within(const char *text, int64_t *within_ns);
/* "<key>": {...} */
void ttl_json_steady(struct jsonw *w, const char *key, const struct stream_steady *y);

#endif
