/* consumer_wire_impl.h: consumers of an account and its router: subscriptions, interest, waiting.
 */
#ifndef JETSTREAM_CONSUMER_WIRE_IMPL_H
#define JETSTREAM_CONSUMER_WIRE_IMPL_H

#include "consumer/consumer.h"
#include "loop/loop.h"
#include "router/router.h"
#include "base/table.h"

struct js_account;

/* --- consumer_wire.c -------------------------------------------------------------------------- */

void wire_init(struct js_account *ja);
/* Acks and flow control: $JS.ACK.> and $JS.FC.>. */
MF_MUSTCHECK int wire_listen(struct js_account *ja, struct mf_error *e);
void wire_unlisten(struct js_account *ja);
/* Loads the consumers of a stream; closes them before the stream is closed. */
MF_MUSTCHECK int wire_open(struct js_account *ja, struct stream *s, struct mf_error *e);
void wire_close(struct js_account *ja, struct stream *s, bool deleted);

/* --- consumer_wait.c -------------------------------------------------------------------------- */

/* Push consumers without a subscriber. */
struct consumer_waits {
    struct table by_subject; /* waiter.node */
    struct mf_list
        woken; /* waiter.link: a subscriber came; they are notified at the end of the turn */
    struct loop_defer wake;
    struct router_observer observer; /* observes while a consumer waits */
    bool lost; /* a waiter was not noted for lack of memory: all consumers are looked at */
};

void waits_init(struct js_account *ja);
void waits_fini(struct js_account *ja);
/* Notes (on) or forgets that c waits for a subscriber; called again when its deliver subject
 * changes.  O(1).  While consumers wait, a subscription costs O(1) if literal, else O(waiting). */
void waits_set(struct js_account *ja, struct consumer *c, bool on);
void waits_drop(struct js_account *ja, const struct consumers *g); /* all of a stream; O(waiting) */

#endif
