/* router.h: subscriptions by subject.  One router is one subject space (an account).
 *
 * A trie of tokens holds the patterns; a bounded cache keeps the matches of recent subjects while
 * they are valid. subscribe and unsubscribe: O(tokens of the pattern). publish: O(tokens + matching
 * subscriptions), independent of other subscriptions; O(1) + matches when cached.  No call walks
 * all subscriptions or all of the cache, except those that say so.  Memory per subscription: the
 * struct below, and for the first subscription to a pattern one node per token that no other
 * pattern shares: 64 bytes and its text (the last node: the pattern's text), plus about 24 bytes of
 * malloc and table.  The cache takes at most 1 MB for subjects of usual length, 5 MB at worst.
 *
 * Re-entrancy: deliver() and visit() may subscribe, unsubscribe any subscription and publish.  A
 * subscription that was unsubscribed is not called any more and may be freed at once; a
 * subscription made during a publish does not receive that message. */
#ifndef MAYFLY_ROUTER_H
#define MAYFLY_ROUTER_H

#include "base/list.h"

struct router;
struct router_sub;
struct router_remote;
struct msgtrace;

/* A message being published. route selects the subscriptions and may differ from msg->subject,
 * which receivers see.  Tokens of route are literal, even '*' and '>'; a route with an empty token
 * reaches nobody. origin: the publisher (a client), for echo and loop checks; may be NULL.
 * no_request: no publisher had a permission for this subject: the server sent the message (an
 * answer, a delivery, a republished copy), or it is an answer from another account.  The JetStream
 * API does not execute such a message.
 * from: the link on which the message arrived; NULL: it was published here.  Such a message has no
 * origin, and reaches only the queue groups that the other server lists; any_queue: a mapping or an
 * import gave it another subject, of which that server knows no groups: all groups are reached.
 * trace: what happens to the message is noted there; NULL: it is not traced. dry_run: it is traced,
 * and not delivered. */
struct router_msg {
    struct mf_slice route;
    const struct mf_msg *msg;
    const void *origin;
    const struct router_remote *from;
    const struct mf_slice *queue;
    uint32_t nqueues;
    bool any_queue;
    bool no_request;
    bool dry_run;
    struct msgtrace *trace;
};

/* Another server, behind a link.  Embedded in its owner, which zeroes it and fills the functions.
 * Its subscriptions (router_sub.remote) receive each message once, after the subscribers of this
 * server, however many of them match.  A member of a queue group behind a link is chosen only if no
 * member on this server took the message.  Both functions must not use the router. */
struct router_remote {
    /* false: it does not take this message (it sent it, it may not see it). */
    bool (*takes)(struct router_remote *r, const struct router_msg *m);
    /* Sends it; queue: the groups in which the other server chooses a member.  false: not sent. */
    bool (*send)(struct router_remote *r, const struct router_msg *m, const struct mf_slice *queue,
                 uint32_t nqueues);
    /* The account's: its ways to other accounts, from which messages are imported. */
    void *passages;
    /* The router's, for the length of a publish: */
    struct router_remote *next;
    struct mf_slice *queue;
    size_t room;
    uint32_t nqueues;
    uint8_t state;
};
void router_remote_fini(struct router_remote *r);

/* Embedded in its owner, which zeroes it, fills `deliver` and frees it after router_unsubscribe().
 */
struct router_sub {
    /* true: accepted. false: refused (echo off, permission, closing); in a queue group the next
     * member is tried. */
    bool (*deliver)(struct router_sub *s, const struct router_msg *m);
    /* The router's: */
    struct mf_slice pattern, queue; /* copies, valid while subscribed; empty otherwise */
    void *node;                     /* NULL: not subscribed */
    uint32_t pos;
    bool client; /* the owner's: the subscription of a client, not one of the server itself */
    /* The owner's: deliver() knows dry runs.  Others count as receivers of such a message, and are
     * not called. */
    bool dry_runs;
    /* The owner's: the server behind a link that has this subscription.  deliver() receives nothing
     * then, but says whether the subscription wants the message, and must not use the router; NULL:
     * it wants all. */
    struct router_remote *remote;
    /* The account's: its subscriptions in other accounts (account_subscribe). */
    void *shadows;
};

MF_MUSTCHECK int router_new(struct router **out, struct mf_error *e);
void router_free(
    struct router *r); /* no subscriptions and observers left; not from inside deliver() */
/* queue empty: a plain subscription.  MF_INVAL: bad pattern; MF_LIMIT: pattern or queue longer than
 * 65535 bytes; MF_NOMEM.  On failure nothing changed. */
MF_MUSTCHECK int router_subscribe(struct router *r, struct mf_slice pattern, struct mf_slice queue,
                                  struct router_sub *s);
void router_unsubscribe(struct router *r, struct router_sub *s); /* harmless twice */
/* Returns the number of receivers: every plain match, and one member, chosen at random, of each
 * queue name among all matching patterns. 0 without memory to list the matches:
 * router_search_failed().
 */
size_t router_publish(struct router *r, const struct router_msg *m);
/* Whether any subscription matches.  Does not call deliver(). */
bool router_has_interest(struct router *r, struct mf_slice subject);
/* Whether a subscription to exactly this subject exists, not to a pattern. queue empty: a plain
 * subscription; else: a member of that queue group.  O(tokens + matching patterns). */
bool router_has_exact(struct router *r, struct mf_slice subject, struct mf_slice queue);
/* The number of subscriptions that ended. */
uint64_t router_count_ended(const struct router *r);

/* Observer of the subscriptions of a router.  Embedded in its owner, which zeroes it, fills the
 * first three members and frees it after router_unobserve().  Either function may be NULL.
 * subscribed(): s can be found already, but its owner is still inside router_subscribe().
 * unsubscribed(): s is not called any more; its pattern and queue are still set.
 * Both must not publish or change the router, and unsubscribed() must not search it.  Both may call
 * router_unobserve() for their own observer. */
struct router_observer {
    void (*subscribed)(void *arg, const struct router_sub *s);
    void (*unsubscribed)(void *arg, const struct router_sub *s);
    void *arg;
    struct mf_list link; /* the router's */
};
/* Observers are notified in the order they were added.  Both calls are harmless twice. */
void router_observe(struct router *r, struct router_observer *o);
void router_unobserve(struct router_observer *o);
/* Calls visit for each subscription that matches the literal subject (all queue members too). */
void router_match(struct router *r, struct mf_slice subject,
                  void (*visit)(void *arg, struct router_sub *s), void *arg);
/* Whether the last search found no memory: its result "nobody" may be wrong.  Must be called right
 * after the search: receivers may search, too. */
bool router_search_failed(const struct router *r);
/* Every subscription, unordered; visit must not change the router. */
void router_each(struct router *r, void (*visit)(void *arg, struct router_sub *s), void *arg);

/* matches and cache_hits count publishes; the fan-outs are those of cached subjects, as in
 * nats-server (a queue group counts once).  O(cache). */
struct router_stats {
    uint64_t subs, cache, inserts, removes, matches, cache_hits, max_fanout;
    double avg_fanout;
};
void router_stats(struct router *r, struct router_stats *out);

/* For tests: NULL, or the name of a broken invariant.  O(everything). */
const char *router_check(struct router *r);

#endif
