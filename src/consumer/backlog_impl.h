/* backlog_impl.h: messages that a consumer has not looked at yet: reading and counting them. */
#ifndef CONSUMER_BACKLOG_H
#define CONSUMER_BACKLOG_H

#include "consumer/consumer.h"

struct backlog;

/* --- backlog.c --- */

/* A cursor over the messages that c wants, from a sequence on: of its list, or of all.  NULL: no
 * memory. */
struct backlog *backlog_new(struct consumer *c, bool list, uint64_t from);
/* The next message; 0: none now (*more: call again).  Steps are added to *steps. */
uint64_t backlog_step(struct backlog *w, bool *more, bool *dead, uint64_t *steps);
void backlog_end(struct backlog *w); /* NULL is fine */
/* The next message it wants, at or after todo.next; counts todo.pending down.  0: none now.  *dead:
 * not to be delivered. */
uint64_t backlog_next(struct consumer *c, bool *dead);
void backlog_return(struct consumer *c,
                    uint64_t seq); /* it could not be delivered: it is returned again */
void backlog_drop(struct consumer *c);
/* After an update: true if its filters changed; consumer_recount() follows. */
bool backlog_refilter(struct consumer *c, const struct consumer_config *old);
uint64_t backlog_last(const struct consumer *c); /* what it looked at, also what it does not want */
void backlog_begin_list(struct consumer *c, uint64_t from, uint64_t upto); /* begins a list */
void backlog_end_list(struct consumer *c);
/* Starts the list again, with those of its messages at or after a sequence.  False: the list was at
 * its end, and is ended. */
bool backlog_restart_list(struct consumer *c, uint64_t from);
/* The newest of its subject, but not of the list. */
bool backlog_is_closed(const struct consumer *c, uint64_t seq);
MF_MUSTCHECK int backlog_close(struct consumer *c, uint64_t seq); /* it is from now on */
void backlog_reopen(struct consumer *c, uint64_t seq);            /* it is removed */
/* The first message of the list; 0: not found in a few steps. */
uint64_t backlog_list_first(struct consumer *c);
bool backlog_lists(const struct consumer *c, uint64_t seq); /* its filters match */

/* --- count.c --- */

void consumer_recount(struct consumer *c); /* pending, from the stream; perhaps later */
/* todo.pending is not known yet, or very many acks are being processed: nothing is delivered. */
bool count_runs(const struct consumer *c);
void count_stop(struct consumer *c);               /* operations that wait for the count fail */
void count_gone(struct consumer *c, uint64_t seq); /* a message it wants ended */
void count_again(struct consumer *c);              /* memory was short: continues */

#endif
