/* walk.h: what a consumer has not looked at yet: walking it, counting it. */
#ifndef CONSUMER_WALK_H
#define CONSUMER_WALK_H

#include "consumer/consumer.h"

struct walk;

/* --- walk.c --- */

/* A walk of what it wants, from a sequence on: of the list, or of all.  NULL: no memory. */
struct walk *walk_new(struct consumer *c, bool list, uint64_t from);
/* The next one of it; 0: none now, and *more: only for this call.  Steps are added to *steps. */
uint64_t walk_step(struct walk *w, bool *more, bool *dead, uint64_t *steps);
void walk_end(struct walk *w); /* NULL is fine */
/* The next message it wants, at or after c->next; takes it off the count.  0: none now.  dead: not
 * to be delivered. */
uint64_t walk_next(struct consumer *c, bool *dead);
void walk_back(struct consumer *c, uint64_t seq); /* it could not be delivered: again next time */
void walk_free(struct consumer *c);
/* After an update: are its filters others now?  consumer_recount() follows. */
bool walk_over(struct consumer *c, const struct consumer_config *old);
uint64_t walk_last(const struct consumer *c); /* what it looked at, also what it does not want */
void walk_list(struct consumer *c, uint64_t from, uint64_t upto); /* begins a list */
void walk_list_end(struct consumer *c);
/* Begins the list anew, with what of it comes at or after a sequence.  False: it was at its end. */
bool walk_list_again(struct consumer *c, uint64_t from);
/* The newest of its subject, but not of the list. */
bool walk_is_closed(const struct consumer *c, uint64_t seq);
MF_MUSTCHECK int walk_close(struct consumer *c, uint64_t seq); /* it is from now on */
void walk_unclose(struct consumer *c, uint64_t seq);           /* it is removed */
/* The first message of the list; 0: not found in a few steps. */
uint64_t walk_list_first(struct consumer *c);
bool walk_lists(const struct consumer *c, uint64_t seq); /* its filters match */

/* --- count.c --- */

void consumer_recount(struct consumer *c); /* pending, from the stream; perhaps later */
/* Pending is not known yet, or acks of very many messages are being taken: nothing is delivered. */
bool count_runs(const struct consumer *c);
void count_stop(struct consumer *c);               /* who waits for it is told that it failed */
void count_gone(struct consumer *c, uint64_t seq); /* a message it wants, told of */
void count_again(struct consumer *c);              /* memory was short: goes on */

#endif
