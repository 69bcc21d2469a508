/* source.h: streams that follow streams: mirrors and sources.
 *
 * Who follows speaks the upstream's own language in its account's router, as a client would: it
 * asks for a consumer, listens to what that delivers, answers its flow control and watches its
 * heartbeats.  So the upstream may be in the same account, in one whose API is imported, or behind
 * a domain's prefix, and there is one way for all of them.
 *
 * Costs: nothing is allocated per message once the pool is filled; an idle one wakes up every ten
 * seconds.  Everything belongs to the loop thread. */
#ifndef MAYFLY_SOURCE_H
#define MAYFLY_SOURCE_H

#include "account/account.h"
#include "loop/loop.h"
#include "stream/stream.h"

struct sources; /* all that one stream follows */

/* The world around them; one for all of an account, and it outlives them. */
struct source_host {
    struct loop *loop;
    struct account *account;
    const char *(*domain)(void *arg); /* as it is now; "": none */
    /* A mirror is as good as caught up with its upstream; told once, until it follows anew. */
    void (*caught_up)(void *arg, struct stream *s);
    void *arg;
    struct mf_list all; /* source's own; source_host_init() */
};
void source_host_init(struct source_host *h);

/* Brings *all (NULL at first) up to what the stream's configuration says: begins to follow, goes on
 * or ends.  NULL afterwards: it follows nobody.  It begins in a later turn.  MF_NOMEM: what was
 * followed before still is. */
MF_MUSTCHECK int sources_follow(struct sources **all, struct stream *s, struct source_host *h,
                                struct mf_error *e);
/* Before the stream closes.  forever: upstreams are told that nobody comes back.  NULL is fine. */
void sources_close(struct sources *all, bool forever);
/* A stream of this name was made or deleted in the account: who waits for it looks now, who follows
 * it looks again.  O(streams that follow others). */
void sources_kick(struct source_host *h, const char *upstream);

/* A mirror that was near the end of its upstream since it follows it. */
bool sources_caught_up(const struct sources *all);

struct source_info {
    const struct stream_source *config;
    bool mirror;
    uint64_t lag, seq;            /* messages to come; the last one taken, as the upstream counts */
    int64_t active_ns;            /* since it was heard of; -1: never */
    const struct js_error *error; /* why it could not be followed; NULL: it is */
};
/* In the order of the configuration; all may be NULL. */
void sources_each(const struct sources *all, void (*visit)(void *arg, const struct source_info *i),
                  void *arg);

void source_fini(void); /* frees the pool of copies under way; at the very end */

#endif
