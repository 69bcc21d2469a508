/* store_lives.h: deadlines of messages: two bits, counts, and scans ahead.  A part of store.h.
 *
 * A message has a deadline, or is infinite (it has none on purpose), or has neither yet.  Scans
 * ahead visit visible messages in steps: a step is one entry or block, some nanoseconds each.  A
 * call does about the requested number of steps, and the caller continues in a later turn.
 * Nothing is held between calls but positions in the wheel, so messages are added and removed
 * meanwhile: a message that changes may be shown as it was, or not at all; an overdue message is
 * not shown. */
#ifndef MAYFLY_STORE_LIVES_H
#define MAYFLY_STORE_LIVES_H

#include "base/base.h"

struct store;

/* Two flags of a message that the store itself understands and counts.  A message without a
 * deadline and without STORE_INFINITE merely has none yet. */
#define STORE_INFINITE 8u  /* no deadline on purpose; without effect beside a deadline */
#define STORE_PINNED   16u /* its deadline, or that it has none, was set by request */
#define STORE_BITS     (STORE_INFINITE | STORE_PINNED)

/* Numbers of accepted messages with a deadline, STORE_INFINITE, STORE_PINNED.  O(1); overdue
 * messages count. */
struct store_lives {
    uint64_t deadlines, infinite, pinned;
};
void store_lives(const struct store *s, struct store_lives *out);

/* Facts about a message for counts, with one look-up and without reading it.  False: no such
 * message.  shown: it is visible.  late: it is overdue, and would be visible otherwise. */
struct store_facts {
    bool shown, late;
    int64_t deadline_ns; /* 0: none */
    uint16_t flags;      /* the two low ones and STORE_BITS */
    uint64_t bytes;      /* of key, head and body */
    uint64_t newer;      /* the next message of its key, shown or not; 0: none */
};
bool store_facts(const struct store *s, uint64_t seq, struct store_facts *out);

/* Deadlines up to to_ns of present messages, in no order.  O(visited). */
void store_each_deadline(const struct store *s, int64_t to_ns,
                         void (*visit)(void *arg, uint64_t seq, int64_t deadline_ns), void *arg);

/* --- by deadline ------------------------------------------------------------------------------ */

struct store_at {
    int64_t deadline_ns;
    uint64_t seq;
};
/* A page of messages, exactly by (deadline, sequence): the first `limit` behind `after` that end
 * before to_ns. after {0, 0}: from the present on. want(), if any, is called only for messages
 * that would be on the page so far.  Cost: the entries of the wheel's slots that the page touches
 * (wheel.h): the first slot may hold many, and all of them are visited.  NULL: out of memory, or
 * no limit. */
struct store_page;
struct store_page *store_page_new(struct store *s, struct store_at after, int64_t to_ns,
                                  size_t limit, bool (*want)(void *arg, uint64_t seq), void *arg);
bool store_page_step(struct store_page *p, size_t steps); /* true: it is there */
/* The items of the page, in order, without messages that were removed meanwhile.  *more: another
 * page may follow, behind *next.  A page with limit 1 has the next message to expire. */
size_t store_page_items(struct store_page *p, const struct store_at **items, bool *more,
                        struct store_at *next);
uint64_t store_page_steps(const struct store_page *p); /* so far */
void store_page_free(struct store_page *p);            /* before its store is closed; may be NULL */

/* Histogram of deadlines: [from_ns, to_ns) in `buckets` equal parts (the last may be longer), and
 * the fullest moments.
 *
 * Up to `exact` messages in that time: each is visited, and all numbers are exact.  Cost: the
 * entries of the slots that overlap the time, without slots of more than `exact` entries.
 * More than `exact` and STORE_FORECAST_PROBES: the counts are summed that the wheel keeps for parts
 * of its slots (wheel_cells).  A part counts where its middle lies.  It is at most an eighth of a
 * bucket long and, for peaks, 4 s.  Entries of slots with longer parts are visited, up to
 * STORE_FORECAST_LOOK; after that any part is used that is no longer than a bucket.
 * Peaks of whole seconds or minutes are exact where parts are no longer.  Of the slots with longer
 * parts the four with the fullest part are visited, up to STORE_FORECAST_LOOK messages, if they may
 * hold the peak; in the other slots a part is the moment.  A second that lies across the edge of
 * such a slot counts in halves.
 * Bytes are estimated from the messages that STORE_FORECAST_PROBES probes of the wheel find.  Cost:
 * the slots and their parts (at most 4,400 each, 8 for a step), the probes, and the visited
 * messages; it does not grow with the number of messages.
 * With want() each message is visited.  Of the visited messages beyond `exact` one in
 * STORE_FORECAST_EACH is sampled for its bytes and counts for all of them. */
#define STORE_FORECAST_EACH   64u
#define STORE_FORECAST_LOOK   200000u
#define STORE_FORECAST_PROBES 4096u
struct store_bucket {
    uint64_t msgs, bytes;
    uint64_t flagged; /* those with the second flag (store_accepted_flagged()); as exact as bytes */
};
struct store_peak {
    int64_t at_ns, width_ns; /* width: as wished; longer far ahead, where slots are long */
    uint64_t msgs;
};
struct store_forecast_opts {
    int64_t from_ns, to_ns;
    unsigned buckets; /* 1 or more */
    uint64_t exact;
    int64_t
        peak_ns[2]; /* the widths of two kinds of moments, a second and a minute; 0: not wanted */
    bool (*want)(void *arg, uint64_t seq); /* counts these only; NULL: all */
    void *arg;
};
struct store_forecast_sum {
    const struct store_bucket *bucket;
    unsigned buckets;
    bool sampled;              /* not all bytes are exact */
    int64_t blurred_ns;        /* edges of buckets are off by half of it at most; 0: exact */
    struct store_peak peak[2]; /* of all moments of a kind the one with most messages per time */
};
struct store_forecast;
struct store_forecast *store_forecast_new(struct store *s,
                                          const struct store_forecast_opts *o); /* NULL */
bool store_forecast_step(struct store_forecast *t, size_t steps); /* true: it is there */
void store_forecast_sum(const struct store_forecast *t, struct store_forecast_sum *out);
uint64_t store_forecast_steps(const struct store_forecast *t);
void store_forecast_free(struct store_forecast *t); /* as above */

/* --- without a deadline ----------------------------------------------------------------------- */

/* The first visible message at or after *from_seq that is infinite, or (infinite false) has
 * neither the bit nor a deadline.  0: none; with *more the steps are used up: call again with the
 * new *from_seq.  *steps is counted down.  Blocks of 256 that hold none cost one step. */
uint64_t store_next_without_deadline(const struct store *s, bool infinite, uint64_t *from_seq,
                                     size_t *steps, bool *more);

#endif
