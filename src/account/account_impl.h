/* account_impl.h: accounts from inside: routers, exports and imports.
 *
 *   importing account                              exporting account
 *   client's SUB  -- struct shadow  ------------>  subscribed there for it       (stream import)
 *   client's PUB  -> struct service_import  ---->  published there, reply `_R_`  (service import)
 *   its inbox     <---------------- struct reply <- `_R_.<account>.>` answered
 *
 * `struct sharing` holds the configured exports, imports and mappings of one account.  A reload
 * builds a new one and replaces the old one as a whole.  accounts_put() does so for one account;
 * accounts that import from it get new imports and keep the rest. */
#ifndef MAYFLY_ACCOUNT_IMPL_H
#define MAYFLY_ACCOUNT_IMPL_H

#include "account/account.h"
#include "base/list.h"
#include "base/table.h"
#include "subject/transform.h"

struct acc_export {
    struct account *owner;
    bool service;
    char *subject;
    const struct options_export *options; /* valid as long as those of its account */
    enum options_response response;
    int64_t threshold_ns; /* a later answer is dropped */
    char *latency_subject;
    int latency_percent; /* -1: sampled where a header requests it */
    /* Expected replies, the oldest first: all replies of an export wait equally long. */
    struct mf_list waiting;
    size_t nwaiting, waiting_bytes;
};

struct stream_import {
    struct account *importer, *exporter;
    char *subject;               /* there */
    char *local;                 /* here */
    struct transform *fwd, *rev; /* there to here and back; NULL: no wildcards, or the same name */
    bool same;
    uint64_t seen;                        /* cycles.c: the walk that met it last */
    const struct options_import *options; /* valid as long as those of the importer */
};

struct service_import {
    struct router_sub sub; /* on `local`, in the importer's router */
    struct account *importer, *exporter;
    char *subject;        /* there */
    char *local;          /* here */
    struct transform *tr; /* here to there; NULL: always `subject`, or the same name */
    bool same, share;
    struct acc_export *export;
    uint64_t seen;
    const struct options_import *options;
};

/* An import that is not made at present, in an account that may wait for others. */
struct import_fault {
    const struct options_import *options;
    bool was_made; /* since its configuration was given */
    char *why;
};

struct entry;
struct sharing {
    struct acc_export *exports;
    size_t nexports;
    struct stream_import *streams;
    size_t nstreams;
    struct service_import *services;
    size_t nservices;
    struct import_fault *faults; /* room for one for each import */
    size_t nfaults;
    bool hides_domain;         /* a service import takes the place of the JetStream domain */
    struct mappings *mappings; /* NULL: none */
};

/* Accounts that import from the account of this name, which may not exist. */
struct demand {
    struct table_node node; /* accounts.demands */
    struct mf_list edges;   /* import_edge.link */
    char name[];
};
struct import_edge {
    struct mf_list link;
    struct account *importer;
    struct demand *of;
};

struct account {
    struct mf_list link, sessions; /* in accounts.all or accounts.gone; sessions: the server's */
    struct table_node by_name;
    struct entry *entry;       /* plan.c: its entry in the present plan */
    struct import_edge *edges; /* put.c: one for each account that it imports from */
    size_t nedges;
    bool single; /* made by accounts_put(): a reload leaves it alone */
    struct accounts *as;
    char *name;
    bool system, removed;
    unsigned refs;
    uint64_t nsubs; /* through account_subscribe() */
    struct router *router;
    const struct options_account *options;
    struct sharing *sharing;
    struct account_counters counters;
    const struct account_declarer *declarer;
    const struct account_linker *linker;
    /* Answers to requests from other accounts: `_R_.XXXXXX.>`, subscribed at the first request. */
    struct router_sub reply_sub;
    char reply_prefix[12];
    struct table replies;
    struct mf_list owned, asked; /* reply.owned, reply.asked: those it owns, those to it */
};

/* A message that entered another account is being published in this call.  Lives on the stack. */
struct hop {
    const struct mf_msg *msg;        /* as published on the far side */
    const struct acc_export *export; /* that it passed */
    bool share;                      /* of the first import on the way */
    const struct hop *before;        /* the hop before this one */
    struct hop *outer;               /* accounts.hops of the call around this one */
};

struct accounts {
    struct mf_list all, gone; /* gone: not configured any more, but still in use */
    struct table names;
    struct table demands; /* demand.node, by name */
    size_t n;
    uint64_t built; /* accounts whose exports or imports were built, ever */
    uint64_t walks; /* cycles.c */
    const struct options *options;
    account_gate_fn gate;
    void *gate_arg;
    struct account *global, *system;
    int64_t (*now_ns)(void *arg);
    void *now_arg;
    struct hop *hops;
    size_t nreplies;
    void (*waits)(void *arg); /* the first reply waits */
    void *waits_arg;
    account_info_fn info;
    void *info_arg, *tracer_arg;
    void (*tracer)(void *arg, struct account *a, const struct msgtrace *t);
    void (*added)(void *arg, struct account *a);
    void *added_arg;
};

/* --- account.c -------------------------------------------------------------------------------- */
MF_MUSTCHECK int account_create(struct account **out, struct accounts *as, const char *name,
                                struct mf_error *e);
void account_destroy(struct account *a); /* nobody uses it */

/* --- sharing.c: compiled configuration -------------------------------------------------------- */
MF_MUSTCHECK int sharing_new(struct sharing **out, struct account *a, const struct options *o,
                             const struct options_account *oa, bool system, struct mf_error *e);
/* Exports and mappings first, for all accounts; then imports, which need the others' exports.
 * patient: an import that cannot be made becomes a fault, and the others are made. */
MF_MUSTCHECK int sharing_add_imports(struct sharing *d, struct account *a,
                                     const struct options_account *oa, bool patient,
                                     struct mf_error *e);
/* Drops imports that lead back to their start; each becomes a fault. */
MF_MUSTCHECK int sharing_drop_cycles(struct sharing *d, struct account *a, struct mf_error *e);
/* Exchanges the imports of both: an account whose exports and mappings stay. */
void sharing_swap_imports(struct sharing *a, struct sharing *b);
void sharing_free(
    struct sharing *d); /* after its service imports were unsubscribed and its replies dropped */

/* --- plan.c: changes several accounts as one ---------------------------------------------------*/
struct entry {
    struct account *a;
    const struct options_account *options;
    struct sharing *sharing; /* the new ones; after the commit the old ones */
    size_t opened;           /* service imports subscribed so far */
    bool fresh, leaving;     /* created by this plan; no longer configured */
    bool named;              /* fresh and in accounts.names */
    bool imports_only;       /* exports and mappings stay */
};
struct pair;
struct plan {
    struct accounts *as;
    const struct options *o;
    const char *system; /* name, NULL: none */
    struct entry *entries;
    size_t n;
    struct pair *pairs;
    size_t npairs, cap;
    bool patient;
};
/* Finds or creates the account and gives it an entry; there must be room. */
MF_MUSTCHECK int plan_add(struct plan *p, const char *name, const struct options_account *oa,
                          struct mf_error *e);
/* Builds all that the entries need.  After a failure plan_undo() is due. */
MF_MUSTCHECK int plan_build(struct plan *p, struct mf_error *e);
void plan_commit(struct plan *p);
void plan_tell(struct plan *p, void (*gone)(void *arg, struct account *a), void *arg);
void plan_undo(struct plan *p);
void plan_fini(struct plan *p);
/* Exports and imports that the account will have.  NULL: it will not exist. */
struct sharing *plan_exports_of(const struct account *a);
struct sharing *plan_imports_of(const struct account *a);

/* --- put.c: accounts one by one ----------------------------------------------------------------*/
void edges_free(struct account *a); /* it imports from nobody any more */

/* --- cycles.c --------------------------------------------------------------------------------- */
MF_MUSTCHECK int sharing_check_cycles(struct sharing **all, size_t n, struct mf_error *e);
/* Whether one import leads back to itself, in the accounts as the plan has them.  O(imports that it
 * leads to). */
bool stream_cycles(struct stream_import *im);
bool service_cycles(struct service_import *im);

/* --- mapping.c -------------------------------------------------------------------------------- */
struct mappings;
/* The place of the account. whole_domain: the system account, where the prefix of the domain leads
 * to every subject of the API. */
struct mapping_place {
    const char *cluster, *domain; /* NULL: none */
    bool whole_domain;
    /* The domain that the plain names of the API lead to, in an account without JetStream. */
    const char *other_domain; /* NULL: none */
};
MF_MUSTCHECK int mappings_new(struct mappings **out, const struct options_mapping *list, size_t n,
                              const struct mapping_place *place, struct mf_error *e);
void mappings_free(struct mappings *m);
/* false: mappings_apply() would return 0.  Cheap, for the hot path. */
bool mappings_concern(const struct mappings *m, struct mf_slice subject);
void mappings_hide_domain(struct mappings *m, bool hidden);
const char *mappings_domain(const struct mappings *m); /* its prefix, or NULL */
/* The source of each mapping; m may be NULL. */
void mappings_each(const struct mappings *m, void (*visit)(void *v, struct mf_slice pattern),
                   void *v);
/* Like account_map(). */
ssize_t mappings_apply(const struct mappings *m, struct mf_slice subject, char *dst, size_t cap);

/* --- text.c: computed subjects ---------------------------------------------------------------- */
/* Room on the stack for almost all subjects, on the heap for the longest. */
struct text {
    char room[512];
    char *more;
    struct mf_slice s;
};
void text_fini(struct text *t);
/* > 0: t->s holds the result; else the result of the transform. */
ssize_t text_transform(struct text *t, const struct transform *tr, struct mf_slice subject);
ssize_t text_map(struct text *t, const struct mappings *m, struct mf_slice subject);
/* The pattern of all subjects that both patterns match; 0: none. */
ssize_t text_intersect(struct text *t, struct mf_slice a, struct mf_slice b);
/* The wildcards of tr's source mapped onto those of its destination. */
ssize_t text_pattern(struct text *t, const struct transform *tr, struct mf_slice pattern);

/* --- shadow.c: stream imports ----------------------------------------------------------------- */
struct shadow;
/* Marks a subscription made by account_subscribe() that has no shadows. */
extern struct shadow shadow_none;
/* Subscribes in the exporting account for each import that overlaps s. *out NULL: none does. */
MF_MUSTCHECK int shadows_make(struct shadow **out, const struct sharing *d, struct router_sub *s);
void shadows_free(struct shadow *list);          /* NULL and shadow_none are fine */
bool shadows_tracks(const struct router_sub *s); /* s came through account_subscribe() */

/* --- service.c -------------------------------------------------------------------------------- */
MF_MUSTCHECK int service_open(struct service_import *si);
void service_close(struct service_import *si);
/* Publishes m in `to`, as one hop behind the message `from`. */
size_t hop_publish(struct account *to, const struct router_msg *m, const struct acc_export *export,
                   bool share, const struct hop *before);
const struct hop *hop_find(const struct accounts *as, const struct mf_msg *msg);
/* deliver() of account.reply_sub. */
bool answer_deliver(struct router_sub *s, const struct router_msg *m);

/* --- reply.c ---------------------------------------------------------------------------------- */
struct reply;
struct latency;
/* Creates a subject in owner's space that leads to `reply` in `to`.  Owns lat (or NULL). */
struct reply *reply_new(struct account *owner, struct account *to, struct acc_export *export,
                        struct mf_slice reply, bool share, struct latency *lat);
struct mf_slice reply_subject(const struct reply *r);
struct mf_slice reply_original(const struct reply *r);
struct account *reply_to(const struct reply *r);
struct acc_export *reply_export(const struct reply *r);
bool reply_share(const struct reply *r);
/* Called before and after the delivery of an answer m: r is not freed in between, even if dropped.
 */
void reply_hold(struct reply *r, const struct router_msg *m);
void reply_served(struct reply *r, bool taken, bool empty);
struct reply *reply_find(struct account *owner, struct mf_slice subject);
enum reply_end { REPLY_ANSWERED, REPLY_NO_DELIVERY, REPLY_TIMEOUT, REPLY_FORGOTTEN };
void reply_drop(struct reply *r, enum reply_end why);
void export_drop_replies(struct acc_export *x);
void export_adopt_replies(struct acc_export *x, struct acc_export *old);
/* Replies that lead to or from an account that is being removed. */
void account_drop_replies(struct account *a);

/* --- latency.c: latency of services ----------------------------------------------------------- */
/* NULL: this request is not sampled. */
struct latency *latency_start(struct service_import *si, const struct router_msg *m);
/* Each of these ends it; NULL is fine. */
void latency_bad_request(struct latency *l);
void latency_answered(struct latency *l, const struct router_msg *m);
void latency_failed(struct latency *l, enum reply_end why);
void latency_free(struct latency *l);

#endif
