/* claims_impl.h: the claims services from inside: claims.c subscriptions and answers,
 * claims_update.c UPDATE and DELETE, claims_ask.c LOOKUP, LIST, PACK and questions to others.
 * Private to operator. */
#ifndef MAYFLY_OPERATOR_CLAIMS_IMPL_H
#define MAYFLY_OPERATOR_CLAIMS_IMPL_H

#include "operator/claims.h"

#define CLAIMS_SERVICES 8
#define CLAIMS_SUBJECT  256

struct claims_request;
struct claims_service {
    struct router_sub rs;
    struct claims *claims; /* NULL: not subscribed */
    void (*run)(struct claims_request *q);
};

struct claims {
    struct claims_setup setup;
    struct account *system; /* retained */
    enum options_resolver_kind kind;
    bool allow_delete;
    int64_t interval_ns;
    const struct trust *trust;
    struct resolver *resolver;
    struct resolver_asking asking;
    void (*closed)(void *arg);
    void *closed_arg;
    struct claims_service services[CLAIMS_SERVICES];
    size_t nservices;
    struct mf_list requests; /* claims_request.link */
    size_t nrequests;
    bool stopped, asks; /* asks: a question is being published: it is not for this server */
    struct router_sub inbox;
    char inbox_prefix[64];
    struct loop_timer *merge; /* FULL: the next comparison with others */
};

struct claims_request {
    struct mf_list link;
    struct claims *claims;
    char reply[CLAIMS_SUBJECT];    /* "": nobody waits */
    char account[NKEY_TEXT];       /* of the subject, or of the token; "": none */
    struct jwt *jwt;               /* UPDATE */
    struct mf_slice body;          /* a copy */
    struct resolver_change change; /* UPDATE, DELETE */
    struct resolver_lookup lookup;
    struct resolver_walk walk;
    struct mf_buf out;
    struct jsonw json;
    struct loop_defer
        turn;       /* UPDATE without a directory: accounts do not change inside deliver() */
    size_t done, n; /* DELETE: accounts */
};

void claims_request_end(struct claims_request *q); /* frees */
/* Publishes in the system account. The number of receivers. */
size_t claims_publish(struct claims *c, const char *subject, const char *reply,
                      struct mf_slice body);
/* {"server":{},"data":{"account":,"code":200,"message":}}; ends the request. */
void claims_answer(struct claims_request *q, const char *account, const char *message);
/* {"server":{},"error":{"account":,"code":500,"description":"what - why"}}; ends the request. */
void claims_refuse(struct claims_request *q, const char *account, const char *what,
                   const char *why);
void claims_begin_json(struct claims_request *q);

/* claims_update.c */
void claims_run_update(struct claims_request *q);
void claims_run_delete(struct claims_request *q);
/* A token of this account, signed by a trusted key, without blocking errors.  NULL *out is never
 * left on success. */
MF_MUSTCHECK int claims_check(const struct claims *c, const char *account, struct mf_slice text,
                              struct mf_error *e);

/* claims_ask.c */
void claims_run_lookup(struct claims_request *q);
void claims_run_list(struct claims_request *q);
void claims_run_pack(struct claims_request *q);
MF_MUSTCHECK int claims_ask_start(struct claims *c, struct mf_error *e);
void claims_ask_stop(struct claims *c);

#endif
