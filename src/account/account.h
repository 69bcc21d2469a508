/* account.h: accounts: separate subject spaces with exports and imports between them.
 *
 * Each account has its own router.  A stream import makes a subscription in the exporting account
 * deliver into the importing one; a service import forwards requests of the importing account to
 * the exporting one, with a private reply subject `_R_.<account>.<random>` that leads the answer
 * back.  Cost: imports add O(1) per matching message, and nothing for accounts without them. */
#ifndef MAYFLY_ACCOUNT_H
#define MAYFLY_ACCOUNT_H

#include "base/buf.h"
#include "base/list.h"
#include "config/options.h"
#include "router/router.h"

#define ACCOUNT_GLOBAL "$G"
#define ACCOUNT_SYSTEM "$SYS"

struct account;
struct accounts;

/* now_ns() is the clock for the expiry of reply subjects. o stays the caller's and must live until
 * the next reload or accounts_free(): account_options() points into it. */
MF_MUSTCHECK int accounts_new(struct accounts **out, const struct options *o,
                              int64_t (*now_ns)(void *arg), void *arg, struct mf_error *e);
/* Reload: accounts keep their identity by name, routers and subscriptions stay; exports, imports,
 * mappings and limits are replaced.  On failure nothing changed. gone() is called for each account
 * that was removed: it closes the clients of the account and ends the server's own subscriptions in
 * its router.  Removed accounts are freed by a later reload or accounts_free(), when no
 * subscription, client or reference is left.  Not from inside deliver(). */
MF_MUSTCHECK int accounts_reload(struct accounts *as, const struct options *o,
                                 void (*gone)(void *arg, struct account *a), void *arg,
                                 struct mf_error *e);
/* --- accounts one by one, beside those of the configuration ----------------------------------- */

/* Whether an account may import from an export that is restricted, and does not list it. */
typedef bool (*account_gate_fn)(void *arg, const struct account *exporter,
                                const struct options_export *x, const struct account *importer,
                                const struct options_import *im);
void accounts_set_gate(struct accounts *as, account_gate_fn fn, void *arg); /* before the first */
/* Adds the account oa->name, or replaces its exports, imports, mappings and limits; subscriptions
 * and expected replies stay.  An import that cannot be made (no such account or export, or the gate
 * refuses) becomes a fault of the account; it is made when a change of the exporter allows it.  oa
 * stays the caller's and must live until the account is put again, or dropped.  On failure nothing
 * changed.  O(its exports, imports and mappings; the imports of the accounts that import from it;
 * the subscriptions of all these that import streams), whatever the number of accounts.  A reload
 * leaves such accounts alone.  Not from inside deliver(). */
MF_MUSTCHECK int accounts_put(struct accounts *as, const struct options_account *oa,
                              struct account **out, struct mf_error *e);
/* Removes such an account, as a reload does.  Same cost. */
MF_MUSTCHECK int accounts_drop(struct accounts *as, const char *name,
                               void (*gone)(void *arg, struct account *a), void *arg,
                               struct mf_error *e);
/* Makes its imports anew: the gate may have changed its mind.  O(its imports and subscriptions). */
MF_MUSTCHECK int accounts_recheck(struct accounts *as, struct account *a, struct mf_error *e);
uint64_t accounts_built(const struct accounts *as); /* accounts that any change built, in all */
struct account_fault {
    const struct options_import *import;
    bool was_made; /* it worked before, under the same configuration */
    const char *why;
};
/* Imports that are not made at present.  Returns how many; visit may be NULL. */
size_t account_each_fault(const struct account *a,
                          void (*visit)(void *arg, const struct account_fault *f), void *arg);
/* Accounts of accounts_put() that name this one in an import. */
void account_each_importer(const struct account *a,
                           void (*visit)(void *arg, struct account *importer), void *arg);

void accounts_free(struct accounts *as); /* after all clients and subscriptions; NULL is fine */
/* Calls added() for each present account and for each one that a reload creates later: the place to
 * subscribe services of the server in account_router(). */
void accounts_watch(struct accounts *as, void (*added)(void *arg, struct account *a), void *arg);
struct account *accounts_get(struct accounts *as, const char *name); /* or NULL */
struct account *accounts_global(struct accounts *as);
struct account *accounts_system(struct accounts *as); /* NULL with no_system_account */
size_t accounts_count(const struct accounts *as);
void accounts_each(struct accounts *as, void (*visit)(void *arg, struct account *a), void *arg);
/* Drops reply subjects that expired; returns when to call again (mono ns, 0: nothing waits).
 * O(service exports + expired). */
int64_t accounts_expire(struct accounts *as, int64_t now_ns);
/* waits() is called when a reply subject waits and none did before: accounts_expire() is due later.
 */
void accounts_on_wait(struct accounts *as, void (*waits)(void *arg), void *arg);
/* Describes a client to another account, as one JSON object on one line: {"acc":"A","rtt":1200};
 * with `detailed` (the import says share: true, or the client is the responder in a latency report)
 * also its identity. service: the account in between, when a request was forwarded, or NULL.
 * *rtt_ns: its round trip time, 0 if unknown. false: there is no client.  The text becomes the
 * header Nats-Request-Info of requests that enter another account, and part of latency reports.
 * Without fn there is no such header. */
typedef bool (*account_info_fn)(void *arg, const void *origin, bool detailed, const char *service,
                                struct mf_buf *json, int64_t *rtt_ns);
void accounts_set_request_info(struct accounts *as, account_info_fn fn, void *arg);

const char *account_name(const struct account *a);
const char *account_tag(const struct account *a); /* the name for people: that in its claims */
bool account_is_system(const struct account *a);
struct router *account_router(struct account *a);
/* The configuration, for limits and pages; NULL for $G and $SYS without a block, and for a removed
 * account. */
const struct options_account *account_options(const struct account *a);
/* Keeps an account that a reload removes until the last release. */
struct account *account_retain(struct account *a);
void account_release(struct account *a);

/* Subscribes as a client of this account: like router_subscribe, and also receives messages of
 * stream imports. s->deliver sees the local (imported) subject. */
MF_MUSTCHECK int account_subscribe(struct account *a, struct mf_slice pattern,
                                   struct mf_slice queue, struct router_sub *s);
void account_unsubscribe(struct account *a, struct router_sub *s);
/* Subject mappings, for publishes of clients: nats-server checks the permission to publish on the
 * subject *after* the mapping, and "no responders" names that subject too.  account_map returns 0
 * if no mapping applies, else the bytes of the new subject in dst; MF_LIMIT if cap is too small;
 * MF_NOTFOUND if the weights leave this message out: the message is dropped on purpose.  Weighted
 * mappings may choose another subject at each call. */
bool account_may_map(const struct account *a,
                     struct mf_slice subject); /* false: account_map() returns 0 */
ssize_t account_map(struct account *a, struct mf_slice subject, char *dst, size_t cap);
/* "$JS.<domain>.API.", the prefix under which the JetStream API is mapped in this account, or NULL.
 */
const char *account_domain_prefix(const struct account *a);
/* Publishes in this account, without mappings: local subscribers, service imports and stream
 * exports receive the message.  Returns the number of receivers, in any account. */
size_t account_publish(struct account *a, const struct router_msg *m);

/* --- for links to other servers --------------------------------------------------------------- */

/* Links announce the subscriptions of an account to other servers.  A part of the server that
 * serves many subjects with one wide subscription (`$JS.ACK.>`) declares here which of them it
 * needs.  The struct is its owner's and outlives the account's use of it. */
struct account_declarer {
    void *arg;
    /* Calls visit with each pattern that is declared. */
    void (*each)(void *arg, void (*visit)(void *v, struct mf_slice pattern), void *v);
    /* A link of the account became usable, or told of an API that it leads to. */
    void (*linked)(void *arg);
};
void account_set_declarer(struct account *a, const struct account_declarer *d); /* NULL: none */
/* A pattern is declared, or not any more. */
void account_declare(struct account *a, struct mf_slice pattern, bool on);
/* The reader of all this: the links of the account. */
struct account_linker {
    void *arg;
    void (*declared)(void *arg, struct mf_slice pattern, bool on);
};
void account_set_linker(struct account *a, const struct account_linker *l); /* NULL: none */
bool account_has_linker(const struct account *a); /* it has links, or may have some */
void account_each_declared(const struct account *a, void (*visit)(void *v, struct mf_slice pattern),
                           void *v);
/* The sources of the account's mappings, those of the domain among them. */
void account_each_mapping(const struct account *a, void (*visit)(void *v, struct mf_slice pattern),
                          void *v);
void account_linked(struct account *a); /* tells the declarer */

struct account_counters { /* kept by the server, shown on pages */
    uint64_t in_msgs, in_bytes, out_msgs, out_bytes, slow_consumers;
    uint64_t leaf_in_msgs, leaf_in_bytes, leaf_out_msgs, leaf_out_bytes; /* part of those above */
    uint32_t clients, leafnodes;
    uint64_t total_clients, subs;
};
struct account_counters *account_counters(struct account *a);
/* Sessions of clients in this account, the oldest first: kept by the server. */
struct mf_list *account_sessions(struct account *a);

struct account_import_info {
    bool service, invalid;
    const char *account, *subject, *local;
};
void account_each_import(const struct account *a,
                         void (*visit)(void *arg, const struct account_import_info *x), void *arg);

struct account_response_info { /* an answer expected of one of its services */
    struct mf_slice subject;   /* where the service answers, in this account */
    struct mf_slice original;  /* the reply subject of the requestor, in `account` */
    const char *account;
    bool share, tracked; /* tracked: its latency is measured */
};
/* The oldest of each export first, max in all.  O(those). */
void account_each_response(const struct account *a, size_t max,
                           void (*visit)(void *arg, const struct account_response_info *x),
                           void *arg);

#endif
