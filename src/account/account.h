/* account.h: separate subject spaces, and the exports and imports between them.
 *
 * Each account has its own router.  A stream import makes a subscription in the exporting account
 * deliver into the importing one; a service import makes requests in the importing account reach
 * the exporting one, with a private reply subject `_R_.<account>.<random>` that leads the answer
 * back. Cost: imports add O(1) per matching message; nothing for accounts without them. */
#ifndef MAYFLY_ACCOUNT_H
#define MAYFLY_ACCOUNT_H

#include "base/buf.h"
#include "config/options.h"
#include "router/router.h"

#define ACCOUNT_GLOBAL "$G"
#define ACCOUNT_SYSTEM "$SYS"

struct account;
struct accounts;

/* now_ns() is asked for expiry of reply subjects.  o stays the caller's and must live until the
 * next reload or accounts_free(): account_options() points into it. */
MF_MUSTCHECK int accounts_new(struct accounts **out, const struct options *o,
                              int64_t (*now_ns)(void *arg), void *arg, struct mf_error *e);
/* Reload: accounts keep their identity by name, routers and subscriptions stay; exports, imports,
 * mappings and limits are replaced.  On failure nothing changed.  Accounts that vanished are
 * reported to gone() (close their clients, take the server's own subscriptions out of their
 * routers); they are freed by a later reload or accounts_free(), when no subscription, client or
 * reference is left.  Not from inside deliver(). */
MF_MUSTCHECK int accounts_reload(struct accounts *as, const struct options *o,
                                 void (*gone)(void *arg, struct account *a), void *arg,
                                 struct mf_error *e);
void accounts_free(
    struct accounts *as); /* clients and their subscriptions are gone; NULL is fine */
/* Calls added() for each account there is now and for each one a reload brings later: the place to
 * subscribe services of the server itself in account_router(). */
void accounts_watch(struct accounts *as, void (*added)(void *arg, struct account *a), void *arg);
struct account *accounts_get(struct accounts *as, const char *name); /* or NULL */
struct account *accounts_global(struct accounts *as);
struct account *accounts_system(struct accounts *as); /* NULL with no_system_account */
size_t accounts_count(const struct accounts *as);
void accounts_each(struct accounts *as, void (*visit)(void *arg, struct account *a), void *arg);
/* Drops reply subjects that expired; returns when to call again (mono ns, 0: nothing waits).
 * O(service exports + expired). */
int64_t accounts_expire(struct accounts *as, int64_t now_ns);
/* Tells another account about a client, as one JSON object on one line: {"acc":"A","rtt":1200}, and
 * when `detailed` (the import says share: true, or it is the responder in a latency report) who it
 * is.  service: the account in between, when a request was passed on, or NULL.  *rtt_ns: its round
 * trip time, 0 if unknown.  false: nothing to tell.  Becomes the header Nats-Request-Info of
 * requests that cross a border, and part of latency reports.  Without fn there is no such header.
 */
typedef bool (*account_info_fn)(void *arg, const void *origin, bool detailed, const char *service,
                                struct mf_buf *json, int64_t *rtt_ns);
void accounts_set_request_info(struct accounts *as, account_info_fn fn, void *arg);

const char *account_name(const struct account *a);
bool account_is_system(const struct account *a);
struct router *account_router(struct account *a);
/* What was configured, for limits and pages; NULL for $G and $SYS without a block, and for an
 * account that is gone. */
const struct options_account *account_options(const struct account *a);
/* Keeps an account that a reload takes away until the last release. */
struct account *account_retain(struct account *a);
void account_release(struct account *a);

/* Subscribe as a client of this account: like router_subscribe, and also gets what stream imports
 * bring.  s->deliver sees the local (imported) subject. */
MF_MUSTCHECK int account_subscribe(struct account *a, struct mf_slice pattern,
                                   struct mf_slice queue, struct router_sub *s);
void account_unsubscribe(struct account *a, struct router_sub *s);
/* Subject mappings, for publishes of clients: nats-server checks the permission to publish on the
 * subject *after* the mapping, and "no responders" names that subject too.  account_map returns 0
 * if no mapping applies, else the bytes of the new subject in dst; MF_LIMIT if cap is too small;
 * MF_NOTFOUND if the weights leave this message out: the message is dropped on purpose.  Weighted
 * mappings may choose another subject at each call. */
bool account_may_map(const struct account *a, struct mf_slice subject); /* false: it maps to 0 */
ssize_t account_map(struct account *a, struct mf_slice subject, char *dst, size_t cap);
/* "$JS.<domain>.API.", behind which the JetStream API is mapped in this account; NULL: it is not.
 */
const char *account_domain_prefix(const struct account *a);
/* Publishes in this account, without mappings: local subscribers, service imports and stream
 * exports receive the message.  Returns the number of receivers, in any account. */
size_t account_publish(struct account *a, const struct router_msg *m);

struct account_counters { /* kept by the server, shown on pages */
    uint64_t in_msgs, in_bytes, out_msgs, out_bytes, slow_consumers;
    uint32_t clients, leafnodes;
    uint64_t total_clients, subs;
};
struct account_counters *account_counters(struct account *a);

struct account_import_info {
    bool service, invalid;
    const char *account, *subject, *local;
};
void account_each_import(const struct account *a,
                         void (*visit)(void *arg, const struct account_import_info *x), void *arg);

struct account_response_info { /* an answer that one of its services still owes */
    struct mf_slice subject;   /* where the service answers, in this account */
    struct mf_slice original;  /* where the answer goes, in `account` */
    const char *account;
    bool share, tracked; /* tracked: its latency is measured */
};
/* The oldest of each export first, max in all.  O(those). */
void account_each_response(const struct account *a, size_t max,
                           void (*visit)(void *arg, const struct account_response_info *x),
                           void *arg);

#endif
