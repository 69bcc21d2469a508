/* pending_impl.h: messages that were delivered and not acknowledged, and those that were given up.
 *
 * Find, add and remove are O(1) (adding out of order: O(those between it and the nearer end));
 * moving a deadline is O(log of those waiting). */
#ifndef PENDING_H
#define PENDING_H

#include "base/base.h"
#include "base/list.h"
#include "loop/loop.h"
#include "base/table.h"

/* One message.  It is in `by_seq`, in `order`, and either in the heap (its ack is awaited until
 * deadline_ns) or in `redeliver`.  One that was given up is in `by_seq` and `given` only: interest
 * retention keeps its message until a late ack. */
struct pend {
    struct table_node node;
    struct mf_list order;         /* pending.order or pending.given: by stream sequence */
    struct mf_list queued;        /* pending.redeliver, or in no list */
    uint64_t sseq, dseq;          /* dseq: of its first delivery */
    int64_t sent_ns, deadline_ns; /* deadline_ns: less pending.shift_ns */
    uint32_t count : 31;          /* deliveries */
    uint32_t given_up : 1;
    uint32_t heap; /* place + 1; 0: not there */
};
/* Of those whose ack is awaited: some that have still to be given another deadline, in any order.
 * Until then none of them is due.  pend.heap is their place here. */
struct pending_move {
    struct pending_move *next;
    struct pend **at;
    size_t n;
    int64_t shift_ns, latest_ns; /* as those of pending when it began */
    void *arg;
    void (*drop)(void *arg);
};
struct pending {
    struct table by_seq;
    struct mf_list order, redeliver, given;
    struct pend **heap; /* the earliest deadline first, then the lowest sequence */
    size_t heaped, heap_cap;
    size_t count, redelivered; /* that wait; redelivered: those with count > 1 */
    size_t given_up;
    size_t *given_sum;          /* the same of all consumers of a stream, or NULL */
    int64_t shift_ns;           /* pending_shift() */
    int64_t latest_ns;          /* no deadline in the heap is later; INT64_MIN: none waits there */
    struct pending_move *moves; /* the latest first */
    unsigned nmoves;
    bool lost;     /* some were removed before a restart */
    bool unsorted; /* many are added in any order: pending_sort() follows */
};

void pending_init(struct pending *p, size_t *given_sum);
void pending_fini(struct pending *p); /* O(all), see pending_discard() */
/* Empties it: O(1), and the memory of very many is freed in slices. */
void pending_discard(struct pending *p, struct loop *l);
/* Are there any, and none outside of [first, last]?  O(1); false where they are not sorted. */
bool pending_within(const struct pending *p, uint64_t first, uint64_t last);
void pending_leave(struct pending *p); /* its given up count in no sum any more */
struct pend *pending_find(const struct pending *p, uint64_t sseq);  /* one that waits */
struct pend *pending_given(const struct pending *p, uint64_t sseq); /* one that was given up */
struct pend *pending_first(const struct pending *p);                /* the lowest sequence */
MF_MUSTCHECK int pending_add(struct pending *p, uint64_t sseq, uint64_t dseq, struct pend **out);
void pending_give_up(struct pending *p, struct pend *e);
void pending_remove(struct pending *p, struct pend *e);
void pending_sort(struct pending *p);
/* Awaits its ack until then; MF_NOMEM: it stays where it was. */
MF_MUSTCHECK int pending_await(struct pending *p, struct pend *e, int64_t deadline_ns);
/* New deadlines for all that are awaited: later by so much, O(1); or each as until() says, with the
 * one it has, O(those). */
typedef int64_t (*pending_until)(const void *arg, const struct pend *e, int64_t deadline_ns);
void pending_shift(struct pending *p, int64_t by_ns);
void pending_move_all(struct pending *p, pending_until until, const void *arg);
/* The same in steps, for very many: O(1), then O(n log n) in all.  arg is kept until all that are
 * awaited now were moved or removed, then dropped.  MF_NOMEM: nothing was done, arg is the
 * caller's. */
#define PENDING_MOVES 8
MF_MUSTCHECK int pending_move_begin(struct pending *p, void *arg, void (*drop)(void *arg));
/* At most so many; false: all were moved. */
bool pending_move_step(struct pending *p, pending_until until, unsigned many);
int64_t pending_latest(const struct pending *p);         /* the latest deadline; INT64_MIN: none */
void pending_requeue(struct pending *p, struct pend *e); /* to be delivered again */
int64_t pending_next(const struct pending *p);           /* the earliest deadline, NEVER */
struct pend *pending_due(struct pending *p, int64_t now_ns); /* NULL: none */
struct pend *pending_again(const struct pending *p);         /* the first to be delivered again */

#endif
