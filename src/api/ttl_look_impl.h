/* ttl_look_impl.h: the data that STATS and FORECAST of one stream collect in slices before they
 * answer. */
#ifndef API_TTL_LOOK_IMPL_H
#define API_TTL_LOOK_IMPL_H

#include "api/ttl_api_impl.h"
#include "api/ttl_numbers.h"

#include "stream/stream_census.h"

#define TTL_LOOK_EXACT 100000u /* messages whose bytes are counted one by one */

/* Parts that are not needed are NULL.  The caller of ttl_look_new() creates them; they are freed
 * with the call. */
struct ttl_look {
    struct api_call *call;
    int64_t created_ns; /* of its stream */
    int64_t from_ns, within_ns;
    const char *filter; /* in the call's memory; NULL: all subjects */
    struct stream_census *census;
    struct stream_ahead *tally;
    struct stream_ahead *first; /* the next message to expire */
    struct stream_ahead *later; /* deadlines after `within` */
    void (*answer)(struct ttl_look *k, struct stream *s);
};
/* NULL: refused.  The look belongs to the call. */
struct ttl_look *ttl_look_new(struct api_call *call, struct stream *s, int64_t within_ns,
                              const char *filter);
/* Creates the tally of deadlines up to `within`; peaks: also the fullest moments.  MF_NOMEM. */
MF_MUSTCHECK int ttl_look_tally(struct ttl_look *k, struct stream *s, unsigned buckets, bool peaks);
/* Runs the steps of all parts, then answers; at once if the reply has no subscriber. */
void ttl_look_start(struct ttl_look *k);

/* Sets an empty filter to NULL.  False: not a valid filter. */
MF_MUSTCHECK bool ttl_filter_check(char **filter);

#endif
