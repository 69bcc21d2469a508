/* stream_ahead.h: which messages of a stream end when, without walking the others.
 *
 * A look ahead runs in steps, over several turns.  Its stream may be closed meanwhile: then it has
 * nothing more to show.  Costs are those of store_lives.h: the entries of the wheel's slots that a
 * page or a tally touches. */
#ifndef MAYFLY_STREAM_AHEAD_H
#define MAYFLY_STREAM_AHEAD_H

#include "store/store_lives.h"
#include "stream/stream_ttl.h"

struct stream_ahead;
/* The first `limit` messages behind `after` in the order of (deadline, sequence) that end before
 * to_ns; after {0, 0}: from now on.  filter: of these subjects only; empty: of all.  NULL: out of
 * memory. */
struct stream_ahead *stream_page_new(struct stream *s, struct store_at after, int64_t to_ns,
                                     size_t limit, struct mf_slice filter);
size_t stream_page_items(struct stream_ahead *a, const struct store_at **items, bool *more,
                         struct store_at *next);
/* How many end when, of these subjects (empty: of all); as store_forecast_new(). */
struct stream_ahead *stream_forecast_new(struct stream *s, const struct store_forecast_opts *o,
                                         struct mf_slice filter);
bool stream_forecast_sum(const struct stream_ahead *a,
                         struct store_forecast_sum *out);     /* false: closed */
bool stream_ahead_step(struct stream_ahead *a, size_t steps); /* true: it is there, or closed */
void stream_ahead_free(struct stream_ahead *a);               /* NULL is fine */

/* Adds one part of a forecast to another. */
static inline void stream_bucket_add(struct store_bucket *sum, const struct store_bucket *b)
{
    sum->msgs += b->msgs;
    sum->bytes += b->bytes;
    sum->flagged += b->flagged;
}

/* The first message at or after *from_seq that is infinite, or has no end yet;
 * store_next_without_deadline().
 */
uint64_t stream_next_without_deadline(struct stream *s, bool infinite, uint64_t *from_seq,
                                      size_t *steps, bool *more);

/* Bytes of the messages of a bucket, as STREAM.INFO counts them. */
uint64_t stream_bucket_bytes(const struct stream *s, const struct store_bucket *b);

/* Counts by the state of messages.  O(1); what is past its deadline and not swept yet counts. */
struct stream_lives {
    uint64_t with, infinite, without;
    uint64_t pinned, markers; /* of those three; markers: also tombstones of clients */
};
void stream_lives(struct stream *s, struct stream_lives *out);
/* Overdue messages of these subjects.  Cost: as store_count_overdue(). */
uint64_t stream_overdue(struct stream *s, struct mf_slice filter);
int64_t
stream_next_expiry(const struct stream *s); /* the first deadline at the earliest; 0: none */

#endif
