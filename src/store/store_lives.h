/* store_lives.h: the ends of messages: two bits, counts, and looking ahead.  A part of store.h.
 *
 * A message has a deadline, or is infinite (it has none on purpose), or has neither yet.  What
 * looks ahead shows what readers see, in steps: a step is an entry or a block looked at, some
 * nanoseconds each; a call does about as many as it is told, and the caller goes on in a later
 * turn.  Nothing is held between calls but places in the wheel, so messages come and go meanwhile:
 * what changes may be shown as it was, or not at all; what is past its deadline is not shown. */
#ifndef MAYFLY_STORE_LIVES_H
#define MAYFLY_STORE_LIVES_H

#include "base/base.h"

struct store;

/* Two flags of a message that the store itself understands, counts and finds by (store_lives). A
 * message without a deadline and without STORE_INFINITE merely has none yet. */
#define STORE_INFINITE 8u  /* it has no deadline on purpose; without effect beside a deadline */
#define STORE_PINNED   16u /* its end, or that it has none, was set by hand */
#define STORE_BITS     (STORE_INFINITE | STORE_PINNED)

/* How many accepted messages have a deadline, STORE_INFINITE, STORE_PINNED.  O(1); what is past its
 * deadline and not swept yet counts. */
struct store_lives {
    uint64_t deadlines, infinite, pinned;
};
void store_lives(const struct store *s, struct store_lives *out);

/* All that a count needs to know of a message, with one look-up and without reading it.  False: it
 * is not there.  shown: readers see it. */
struct store_facts {
    bool shown;
    int64_t deadline_ns; /* 0: none */
    uint16_t flags;      /* the two low ones and STORE_BITS */
    uint64_t bytes;      /* of key, head and body */
    uint64_t newer;      /* the next message of its key, shown or not; 0: none */
};
bool store_facts(const struct store *s, uint64_t seq, struct store_facts *out);

/* Deadlines up to to_ns of messages that are there, in no order.  O(those). */
void store_each_deadline(const struct store *s, int64_t to_ns,
                         void (*visit)(void *arg, uint64_t seq, int64_t deadline_ns), void *arg);

/* --- by deadline ------------------------------------------------------------------------------ */

struct store_at {
    int64_t deadline_ns;
    uint64_t seq;
};
/* A page of messages, exactly by (deadline, sequence): the first `limit` behind `after` that end
 * before to_ns.  after {0, 0}: from the present on.  want(), if any, is asked only for what would
 * be on the page so far.  Cost: the entries of the wheel's slots that the page touches (wheel.h):
 * the first slot may hold many, and all of them are looked at.  NULL: out of memory, or no limit.
 */
struct store_page;
struct store_page *store_page_new(struct store *s, struct store_at after, int64_t to_ns,
                                  size_t limit, bool (*want)(void *arg, uint64_t seq), void *arg);
bool store_page_step(struct store_page *p, size_t steps); /* true: it is there */
/* What is on it, in order, without what went meanwhile.  *more: another page may follow, behind
 * *next. The first of a page of one is the next message to expire. */
size_t store_page_items(struct store_page *p, const struct store_at **items, bool *more,
                        struct store_at *next);
uint64_t store_page_steps(const struct store_page *p); /* so far */
void store_page_free(struct store_page *p); /* before its store is closed; NULL is fine */

/* How many messages end when: [from_ns, to_ns) in `buckets` equal parts (the last may be longer),
 * and the fullest moments.  Bytes are exact for the first `exact` messages; of the others one in
 * STORE_FORECAST_EACH is asked and counts for all of them.  Cost: the entries of the slots that
 * overlap the time, and a look at the message for each whose bytes are asked. */
#define STORE_FORECAST_EACH 64u
struct store_bucket {
    uint64_t msgs, bytes;
    uint64_t flagged; /* those with the second flag (store_accepted_flagged()); as exact as bytes */
};
struct store_peak {
    int64_t at_ns, width_ns; /* width: at least as wished; longer far ahead, where slots are long */
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

/* The first message at or after *from_seq that readers see and that is infinite, or (false) has
 * neither bit nor deadline; 0: none, and *more says that the steps are used up: ask again with the
 * *from_seq that it left.  *steps is counted down.  Blocks of 256 that hold none cost one step. */
uint64_t store_next_endless(const struct store *s, bool infinite, uint64_t *from_seq, size_t *steps,
                            bool *more);

#endif
