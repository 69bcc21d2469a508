/* source.h: mirrors and sources: streams that follow upstream streams.
 *
 * A follower uses the upstream's JetStream API in its account's router, as a client does: it
 * creates a consumer, receives its deliveries, answers its flow control and watches its heartbeats.
 * So the upstream may be in the same account, in one whose API is imported, or behind a domain's
 * prefix.
 *
 * Costs: no allocation per message once the pool is filled; an idle follower wakes up every ten
 * seconds.  Everything belongs to the loop thread. */
#ifndef MAYFLY_SOURCE_H
#define MAYFLY_SOURCE_H

#include "account/account.h"
#include "loop/loop.h"
#include "stream/stream.h"

struct sources; /* all upstreams of one stream */

/* Callbacks of the layer above; one for all streams of an account, and it outlives them. */
struct source_host {
    struct loop *loop;
    struct account *account;
    const char *(*domain)(void *arg); /* the present domain; "": none */
    /* A mirror has nearly caught up with its upstream.  Called once, until it follows anew. */
    void (*caught_up)(void *arg, struct stream *s);
    void *arg;
    struct mf_list all; /* source's own; source_host_init() */
};
void source_host_init(struct source_host *h);

/* Makes *all (NULL at first) match the stream's configuration: followers begin, continue or end.
 * *all NULL afterwards: the stream has no upstream.  New followers begin in a later turn.
 * MF_NOMEM: the former ones are unchanged. */
MF_MUSTCHECK int sources_follow(struct sources **all, struct stream *s, struct source_host *h,
                                struct mf_error *e);
/* Before the stream closes.  forever: the consumers on the upstreams are deleted.  NULL is fine. */
void sources_close(struct sources *all, bool forever);
/* A stream of this name was created or deleted in the account: its followers ask for a consumer
 * again.  O(streams that follow others). */
void sources_retry(struct source_host *h, const char *upstream);

/* A link to another server became usable, or it leads to an API that was out of reach: those that
 * wait ask at once, requests that may be lost are sent again, and those that follow ask again
 * unless they hear of their upstream within two seconds.  O(followers). */
void sources_linked(struct source_host *h);

/* The mirror has nearly caught up with its upstream since it began to follow. */
bool sources_caught_up(const struct sources *all);

struct source_info {
    const struct stream_source *config;
    bool mirror;
    uint64_t lag, seq; /* messages to come; the last message received, in the upstream's sequence */
    int64_t active_ns; /* since the last delivery or heartbeat; -1: never */
    const struct js_error *error; /* why it cannot be followed; NULL: it is */
};
/* In the order of the configuration; all may be NULL. */
void sources_each(const struct sources *all, void (*visit)(void *arg, const struct source_info *i),
                  void *arg);

void source_fini(void); /* frees the pool of publishes; at the end of the process */

#endif
