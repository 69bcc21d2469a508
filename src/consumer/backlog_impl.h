/* walk.h: what a consumer has not looked at yet: walking it, counting it. */
#ifndef CONSUMER_BACKLOG_H
#define CONSUMER_BACKLOG_H

#include "consumer/consumer.h"

struct backlog;

/* --- backlog.c --- */

/* A walk of what it wants, from a sequence on: of the list, or of all.  NULL: no memory. */
struct backlog *backlog_new(struct consumer *c, bool list, uint64_t from);
/* The next one of it; 0: none now, and *more: only for this call.  Steps are added to *steps. */
uint64_t backlog_step(struct backlog *w, bool *more, bool *dead, uint64_t *steps);
void backlog_end(struct backlog *w); /* NULL is fine */
/* The next message it wants, at or after c->todo.next; takes it off the count.  0: none now.  dead:
 * not to be delivered. */
uint64_t backlog_next(struct consumer *c, bool *dead);
void backlog_return(struct consumer *c,
                    uint64_t seq); /* it could not be delivered: again next time */
void backlog_drop(struct consumer *c);
/* After an update: are its filters others now?  consumer_recount() follows. */
bool backlog_refilter(struct consumer *c, const struct consumer_config *old);
uint64_t backlog_last(const struct consumer *c); /* what it looked at, also what it does not want */
void backlog_begin_list(struct consumer *c, uint64_t from, uint64_t upto); /* begins a list */
void backlog_end_list(struct consumer *c);
/* The newest of its subject, but not of the list. */
bool backlog_is_closed(const struct consumer *c, uint64_t seq);
MF_MUSTCHECK int backlog_close(struct consumer *c, uint64_t seq); /* it is from now on */
void backlog_reopen(struct consumer *c, uint64_t seq);            /* it is removed */
/* The first message of the list; 0: not found in a few steps. */
uint64_t backlog_list_first(struct consumer *c);
bool backlog_lists(const struct consumer *c, uint64_t seq); /* its filters match */

/* --- count.c --- */

void consumer_recount(struct consumer *c); /* pending, from the stream; perhaps later */
/* Pending is not known yet, or acks of very many messages are being taken: nothing is delivered. */
bool count_runs(const struct consumer *c);
void count_stop(struct consumer *c);               /* who waits for it is told that it failed */
void count_gone(struct consumer *c, uint64_t seq); /* a message it wants, told of */
void count_again(struct consumer *c);              /* memory was short: goes on */

#endif
