/* delivery_impl.h: deliveries, consumer acks, pull requests, push consumers.  A part of
 * consumer_impl.h. */
#ifndef CONSUMER_DELIVERY_H
#define CONSUMER_DELIVERY_H

#include "consumer/consumer.h"

struct pend;
struct request;

/* pump.c */
void pump_soon(struct consumer *c);
void pump_later(struct consumer *c); /* memory is short: tries again after a moment */
void pump(struct consumer *c, size_t budget);
/* Delivers the message that was just stored, if nothing stands before it.  true: delivered. */
bool pump_direct(struct consumer *c, const struct stream_msg *m);
void pump_timer(struct consumer *c); /* arms the timer for the earliest event */
bool pump_paused(struct consumer *c);
/* pause.c: when it ends, from the clock as it is now. */
void pause_plan(struct consumer *c);

/* ack.c */
int64_t ack_wait_of(const struct consumer *c, const struct pend *e); /* till its redelivery */
/* O(1); with another backoff O(pending), in slices where those are very many: ack_moves() does one
 * step, false: there is no more to do. */
void ack_wait_updated(struct consumer *c, const struct consumer_config *old);
bool ack_moves(struct consumer *c);
/* Too many changes of its backoff are unfinished: this one cannot be made yet. */
bool ack_wait_fixed(const struct consumer *c, const struct consumer_config *next);
void ack_timeouts(struct consumer *c);
bool ack_given_up(struct consumer *c,
                  struct pend *e); /* max_deliver is reached: given up, with an advisory */
void ack_forget_given_one(struct consumer *c, uint64_t sseq); /* O(1) */
/* All that waits and all that was given up; ack_lost_all(): because the messages were removed.
 * O(pages). */
void ack_forget_all(struct consumer *c);
void ack_lost_all(struct consumer *c);
/* Removes the given-up messages of this range.  O(given up) */
void ack_forget_given(struct consumer *c, uint64_t first, uint64_t last);
/* It needs no ack any more: the ack floor moves, the entry is freed. */
void ack_settled(struct consumer *c, struct pend *e);
void ack_floor_after_loss(struct consumer *c);     /* loading: over removed messages */
void ack_lost(struct consumer *c, struct pend *e); /* its message was removed */
void ack_gone(struct consumer *c, uint64_t sseq);  /* the message was removed */
void ack_upto_go_on(struct consumer *c);           /* the next slice of `upto` */
void ack_upto_stop(struct consumer *c);            /* without a confirmation */
void ack_flow(struct consumer *c, uint64_t sseq, uint64_t dseq); /* from a flow control reply */

/* pull.c */
/* The request that gets the next message; NULL: none.  passed: requests skipped for this message.
 */
struct request *pull_next(struct consumer *c, size_t *passed);
void pull_served(struct consumer *c, struct request *r, size_t bytes);
void pull_drop(struct consumer *c, struct request *r);
bool pull_there(const struct consumer *c, const struct request *r); /* its client is subscribed */
void pull_prune(struct consumer *c);             /* drops requests without a subscribed client */
uint64_t pull_waiting(const struct consumer *c); /* requests that have not expired.  O(requests) */
void pull_status(struct consumer *c, struct request *r, const char *status, bool pending_headers);
void pull_timeouts(struct consumer *c);
int64_t pull_next_time(const struct consumer *c);
void pull_end_all(struct consumer *c, const char *status, bool pending_headers);
void pull_exhausted(struct consumer *c); /* no message is left: answers requests that do not wait */
void pull_nobody(struct consumer *c);    /* messages may be left, but not for them: the same */
bool replay_waits(struct consumer *c, const struct stream_msg *m); /* pump.c: its time is to come */
/* push.c */
MF_MUSTCHECK int push_init(struct consumer *c);
bool push_ready(struct consumer *c, const struct stream_msg *m); /* may be delivered now */
void push_sent(struct consumer *c, size_t bytes);
void push_lost(struct consumer *c);                 /* nobody received it */
bool push_bound(struct consumer *c);                /* the bound subscription still exists */
void push_ask_acks(struct consumer *c, bool again); /* that come with flow control */
void push_look(struct consumer *c);                 /* looks for interest */
void push_timeouts(struct consumer *c);
int64_t push_next_time(const struct consumer *c);

#endif
