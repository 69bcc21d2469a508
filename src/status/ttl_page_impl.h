/* ttl_page_impl.h: the forecast of /ttlz: how many messages of many streams expire when. */
#ifndef STATUS_TTL_PAGE_IMPL_H
#define STATUS_TTL_PAGE_IMPL_H

#include "status/js_pages_impl.h"

#include "stream/stream_ahead.h"

#define TTL_FORECAST_MAX 200 /* parts */

struct ttl_forecast;
/* From now_ns on.  within: a duration, NULL or "": a day.  one: of a single stream, so more of it
 * is counted exactly.  MF_PROTO: within is wrong, and *e says what is right; MF_NOMEM. */
MF_MUSTCHECK int ttl_forecast_new(struct ttl_forecast **out, int64_t now_ns, const char *within,
                                  unsigned parts, bool one, struct mf_error *e);
/* One stream after another: begin, steps until one returns false, end. */
MF_MUSTCHECK int ttl_forecast_begin(struct ttl_forecast *f, struct stream *s); /* MF_NOMEM */
bool ttl_forecast_step(struct ttl_forecast *f, size_t steps); /* true: there is more */
/* s NULL: the stream was deleted, and does not count. */
void ttl_forecast_end(struct ttl_forecast *f, struct stream *s, const char *account);
void ttl_forecast_write(const struct ttl_forecast *f, const struct js_status *st,
                        struct jsonw *w);       /* "forecast": {...} */
void ttl_forecast_free(struct ttl_forecast *f); /* NULL is fine */

#endif
