/* wheel.h: hierarchical timer wheel over small numbers (ids), to the nanosecond.
 *
 * The owner numbers its objects (id) and keeps one word per object, its *ref*.  The wheel keeps
 * 12 bytes in a chunk for each id that has a deadline, and nothing for an id without one. add,
 * del and fire are O(1) (amortised over at most WHEEL_LEVELS moves); next is O(1); no call scans
 * all entries.
 *
 * Order: wheel_peek() returns (deadline, order(id)) ascending, exactly, never before the deadline.
 * Bounded: wheel_advance() does at most `budget` moves and says whether it is complete, so that a
 * million timers due at once never stop the caller for long.
 *
 * Time is a parameter.  A `now` smaller than an earlier one counts as the earlier one: due
 * entries stay due. */
#ifndef MAYFLY_WHEEL_H
#define MAYFLY_WHEEL_H

#include "base/list.h"

#define WHEEL_NONE UINT32_MAX /* the ref of an id that is not in the wheel */

struct wheel;

/* Location of the refs: ref of id = *(uint32_t *)(page[id >> bits] + at + (id & mask) * stride).
 * bits <= 31; ids are less than WHEEL_NONE.  The owner may replace `page` (growing it) at any
 * time with wheel_pages(). */
struct wheel_pages {
    uint8_t *const *page;
    unsigned bits;
    size_t at, stride;
};
struct wheel_owner {
    struct wheel_pages pages;
    /* The second sort key, for equal deadlines.  Must not change while the id is in the wheel. */
    uint64_t (*order)(void *arg, uint32_t id);
    void *arg;
};

struct wheel *wheel_new(const struct wheel_owner *o, int64_t now_ns); /* NULL: out of memory */
void wheel_free(struct wheel *w);                                     /* touches no ref */
void wheel_pages(struct wheel *w, uint8_t *const *page);

/* deadline_ns >= 0; a past deadline is due at once.  The id's ref must be WHEEL_NONE; this call
 * sets it.  MF_NOMEM: nothing changed. */
MF_MUSTCHECK int wheel_add(struct wheel *w, uint32_t id, int64_t deadline_ns);
/* Sets the ref to WHEEL_NONE.  Does nothing if it is WHEEL_NONE already. */
void wheel_del(struct wheel *w, uint32_t id);
/* The id is in the wheel. */
int64_t wheel_deadline(const struct wheel *w, uint32_t id);
/* The owner renumbers an object: its entry follows.  `to` must have no entry; `from` has none
 * afterwards.  Does nothing if `from` has none. */
void wheel_renumber(struct wheel *w, uint32_t from, uint32_t to);

/* Makes all entries due by now_ns available to wheel_peek(), in at most about `budget` moves.
 * True: complete.  False: call again (also when out of memory; nothing is lost). */
bool wheel_advance(struct wheel *w, int64_t now_ns, size_t budget);
/* The first due id, in order; it stays in the wheel until wheel_del().  WHEEL_NONE if nothing is
 * due or the last wheel_advance() returned false.  *deadline_ns is the entry's. */
uint32_t wheel_peek(struct wheel *w, int64_t *deadline_ns);

/* A time not later than the earliest deadline, and at most WHEEL_TICK_NS before it once
 * wheel_advance() has reached it; INT64_MAX when empty.  O(1). */
#define WHEEL_TICK_NS (1 << 20)
int64_t wheel_next(const struct wheel *w);
size_t wheel_count(const struct wheel *w);     /* entries, the due ones included */
size_t wheel_due_count(const struct wheel *w); /* entries that are due and not deleted; may include
                                                  some that are due within the current tick */
size_t wheel_memory(const struct wheel *w);    /* bytes held */
/* The deadlines of all entries with deadline < to_ns, in no order, to visit(); O(entries seen). For
 * forecasts. */
void wheel_each(const struct wheel *w, int64_t to_ns,
                void (*visit)(void *arg, uint32_t id, int64_t deadline_ns), void *arg);
/* Visits entries with deadlines in (after_ns, to_ns], after wheel_advance() was complete at
 * to_ns.  O(runs of up to 63 entries that are due, and the entries of runs that end after
 * after_ns). */
void wheel_each_due(const struct wheel *w, int64_t after_ns, int64_t to_ns,
                    void (*visit)(void *arg, uint32_t id, int64_t deadline_ns), void *arg);

/* Counts of the entries of a slot by n parts of its time.  Parts are 1 s, 4 s, 20 minutes or 4 days
 * long and aligned to 1970; the first and the last are cut at the ends of the slot.  A slot with
 * few entries is one part. */
struct wheel_cells {
    int64_t from_ns, end_ns; /* of the slot */
    int64_t width_ns;        /* of a part */
    int64_t first;           /* part i begins at (first + i) * width_ns, or where the slot does */
    uint64_t entries;        /* of all parts */
    const uint32_t *count;   /* NULL: the slot is one part */
    uint32_t n;
};
static inline void wheel_part(const struct wheel_cells *c, uint32_t i, int64_t *at_ns,
                              int64_t *end_ns)
{
    int64_t at = (c->first + (int64_t)i) * c->width_ns;

    *at_ns = at > c->from_ns ? at : c->from_ns;
    *end_ns = c->width_ns < c->end_ns - at ? at + c->width_ns : c->end_ns;
}

/* Entries with deadlines in [from_ns, to_ns), slot by slot in the order of time, in pieces of
 * about `budget` entries, while the wheel keeps working.  Within a slot there is no order.  Cost:
 * the entries of the slots touched and nothing else; a slot is as long as it is far away (1 ms;
 * 268 ms, 69 s, 5 h, 52 days from as much ahead on).  First wheel_advance() is completed for the
 * present, if it is not.  Entries that are added, deleted or moved meanwhile may be visited or
 * not; one whose neighbour left may be visited twice. */
struct wheel_scan {
    struct wheel *wheel;    /* NULL: the wheel was freed, and nothing is left to visit */
    int64_t from_ns, to_ns; /* all before from_ns was visited */
    uint64_t steps;         /* entries visited so far */
    int64_t begin_ns;       /* of the current slot, not before from_ns; for visit() */
    int64_t end_ns;         /* of the current slot; for visit() */
    uint32_t bucket, chunk; /* of the current slot: this chunk and older ones are not visited yet */
    struct mf_list node;
    /* Optional, set by the owner after wheel_scan_begin(): called with the counts of each slot that
     * is not due.  true: no entry of the slot is visited.  8 parts are one step. */
    bool (*sum)(void *arg, const struct wheel_cells *cells);
};
enum wheel_scanned {
    WHEEL_SCAN_MORE, /* the budget is spent */
    WHEEL_SCAN_SLOT, /* all before from_ns was visited, which moved on */
    WHEEL_SCAN_BACK, /* entries visited at or after from_ns will be visited again: their slot was
                        split */
    WHEEL_SCAN_END,
};
void wheel_scan_begin(struct wheel *w, struct wheel_scan *s, int64_t from_ns, int64_t to_ns);
enum wheel_scanned wheel_scan_step(struct wheel_scan *s, size_t budget,
                                   void (*visit)(void *arg, uint32_t id, int64_t deadline_ns),
                                   void *arg);
void wheel_scan_end(struct wheel_scan *s); /* at any time; twice is allowed */
void wheel_scans_stop(struct wheel *w);    /* all scans have nothing left to visit */

/* Upper bound of the number of entries in [from_ns, to_ns): the entries of all parts (wheel_cells)
 * that overlap it, and all due ones.  It stops at `enough`.  Cost, added to *steps: an eighth of
 * the slots and of the parts of two of them. */
uint64_t wheel_between(const struct wheel *w, int64_t from_ns, int64_t to_ns, uint64_t enough,
                       uint64_t *steps);
/* Samples entries that are not due: the place i of `of` places spread evenly over the memory;
 * false: no entry is there.  O(1).  Each entry has the same chance. */
bool wheel_probe(const struct wheel *w, uint32_t i, uint32_t of, uint32_t *id,
                 int64_t *deadline_ns);

/* Walks everything and aborts with a message if an invariant is broken; for tests. */
void wheel_check(const struct wheel *w);

#endif
