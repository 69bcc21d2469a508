/* consumer_wire.h: consumers and the world around them: who hears their messages, what clients tell
 * them, who waits for a subscriber, and events about them. */
#ifndef API_CONSUMER_WIRE_H
#define API_CONSUMER_WIRE_H

#include "consumer/consumer.h"
#include "loop/loop.h"
#include "router/router.h"
#include "base/table.h"

struct api_account;

/* --- consumer_wire.c -------------------------------------------------------------------------- */

void wire_init(struct api_account *aa);
/* Acks and flow control: $JS.ACK.> and $JS.FC.>. */
MF_MUSTCHECK int wire_listen(struct api_account *aa, struct mf_error *e);
void wire_unlisten(struct api_account *aa);
/* Loads the consumers of a stream; and ends them, before the stream ends. */
MF_MUSTCHECK int wire_open(struct api_account *aa, struct stream *s, struct mf_error *e);
void wire_close(struct api_account *aa, struct stream *s, bool deleted);
/* MSG.NEXT; rest: the subject behind $JS.API.  false: there is no such consumer, so nobody answers.
 * O(log streams), allocates nothing. */
bool wire_next(struct api_account *aa, const struct router_msg *m, struct mf_slice rest);
/* Is a consumer delivering right now?  Nothing that a receiver of the message does at once (a
 * mirror is one) may come back into the consumer before the delivery has ended. */
bool wire_delivering(void);

/* --- consumer_admin.c ------------------------------------------------------------------------- */

#define API_IDENTITY "Nats-Stream-Identity"
/* Tells a stream from an earlier one of its name: the hash of when it was made. */
void api_stream_identity(const struct stream *s, char out[9]);

/* --- consumer_wait.c -------------------------------------------------------------------------- */

/* Push consumers that wait for a subscriber, in the account's router. */
struct consumer_waits {
    struct table by_subject; /* waiter.node */
    struct mf_list woken;    /* waiter.link: somebody came; they are told at the end of the turn */
    struct loop_defer wake;
    struct router_observer observer; /* observes while somebody waits */
    bool lost;                       /* there was no memory to note one: look at all there are */
};

void waits_init(struct api_account *aa);
void waits_fini(struct api_account *aa);
/* O(1).  A subscription on a literal subject then costs O(1), one on a pattern O(those that wait);
 * nothing while nobody waits.  on, again: its deliver subject changed. */
void waits_set(struct api_account *aa, struct consumer *c, bool on);
void waits_drop(struct api_account *aa,
                const struct consumers *g); /* all of a stream; O(waiting) */

/* --- consumer_advisory.c ---------------------------------------------------------------------- */

/* consumer_host.event; arg is the api_account. */
void consumer_advisory(void *arg, const struct consumer_event *e);

#endif
