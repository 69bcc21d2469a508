/* consumer_wire.h: requests to consumers that need no JSON API. */
#ifndef JETSTREAM_CONSUMER_WIRE_H
#define JETSTREAM_CONSUMER_WIRE_H

#include "jetstream/js_account.h"
#include "router/router.h"

/* CONSUMER.MSG.NEXT; rest: the subject behind $JS.API.  False: no such consumer, so there is no
 * responder.  O(log streams), allocates nothing. */
bool consumer_wire_next(struct js_account *ja, const struct router_msg *m, struct mf_slice rest);
/* True during a delivery.  Receivers that run at once (a mirror is one) must not call back into the
 * consumer before the delivery has ended. */
bool consumer_wire_delivering(void);

#endif
