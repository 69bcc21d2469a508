/* sys_impl.h: the server's own subscriptions in the accounts, requests to them, and events of the
 * system account; shared by the sys*.c files. */
#ifndef MAYFLY_STATUS_SYS_IMPL_H
#define MAYFLY_STATUS_SYS_IMPL_H

#include "status/pages_impl.h"

#include <jansson.h>

/* A request.  All of it is borrowed: for the length of the call, and of a page until its document
 * is sent or dropped. */
struct sys_request {
    struct sys *sys;
    struct status *status;
    struct account *account;   /* of the request and of the answer */
    const struct client *from; /* NULL: not from a client */
    const struct mf_msg *msg;
    json_t *options; /* the body; NULL when empty */
    struct doc *doc; /* the answer; a page that takes long adds steps */
};
/* The body of a request that has options; empty when it has none. */
static inline struct mf_slice sys_body(const struct sys_request *q)
{
    return q->options != NULL ? q->msg->payload : MF_SLICE_NONE;
}

/* An endpoint.  Either page, which writes the member "data" of the usual answer (or adds steps to
 * q->doc that do), or run, which answers in its own form. page returns 0 or an error: MF_PROTO
 * becomes code 400 (wrong options), all others 500; MF_AGAIN: no answer. */
struct sys_endpoint {
    const char *name;
    int (*page)(struct sys_request *q, struct jsonw *w, struct mf_error *e);
    void (*run)(struct sys_request *q);
    bool any_body; /* the body is not JSON options */
    bool at_once;  /* a page of one step that needs q->from: it waits for no other */
};

/* A subscription of the server's own. */
struct sys_service {
    struct router_sub rs;
    struct sys *sys;
    struct account *account;
    const struct sys_endpoint *endpoint;
};

/* State of every account: its services, and its place in the queue of CONNS events. */
#define SYS_ACCOUNT_SERVICES 4
struct sys_account {
    struct table_node node;   /* sys.accounts, by address */
    struct mf_list beat_link; /* sys.beats while it has connections, the next one due first */
    int64_t beat_ns;
    struct account *account;
    /* Requested pages, the oldest first: one of them is made at a time. sys_page.c */
    struct mf_list pages;      /* sys_page.link */
    struct mf_list pages_link; /* sys.asking while it waits for its turn */
    unsigned npages;
    struct work_owner work;
    size_t nservices;
    struct sys_service services[SYS_ACCOUNT_SERVICES];
};

/* A RELOAD request waits for the end of the turn: accounts cannot change during a publish. */
struct sys_reload {
    struct mf_list link;
    size_t len;
    char reply[];
};

struct sys {
    struct status *status;
    struct account *account; /* the system account */
    uint64_t seq;            /* messages with server information so far */
    bool silent;             /* SHUTDOWN was sent: no more events and answers */

    struct sys_service *services; /* of the system account */
    size_t nservices;
    struct table accounts; /* sys_account.node */
    size_t own_subs;       /* subscriptions of the server itself, in all accounts */

    struct loop_timer *stats_timer;
    int64_t stats_every_ns;
    struct router_observer stats_heard; /* while no statistics are sent: waits for a subscriber */
    struct mf_list beats; /* sys_account.beat_link: all have the same period, so this is a queue */
    struct loop_timer *beat_timer;

    struct mf_list asking; /* sys_account.pages_link: pages wait there, in turn */
    unsigned places;       /* pages that are being made */

    struct mf_list reloads; /* sys_reload.link */
    struct loop_defer reload_turn;
};

/* --- sys.c: subscriptions and answers --------------------------------------------------------- */
struct sys_account *sys_account_find(struct sys *y, const struct account *a); /* or NULL */
/* Publishes in an account as the server. */
void sys_publish(struct sys *y, struct account *a, struct mf_slice subject, struct mf_slice hdr,
                 const struct mf_buf *body);
/* Writes the member `server`.  Counts sys.seq. */
void sys_write_server(struct sys *y, struct jsonw *w);
/* The usual answer: {"server":{},"data":{}} or {"server":{},"error":{}}; the first is left open.
 * data: with "data": null, as nats-server's pages fail. */
void sys_answer_begin(struct sys_request *q, struct jsonw *w);
void sys_answer_failed(struct sys_request *q, int code, const char *text, bool data);
void sys_answer_error(struct sys_request *q, int code, const char *text);
void sys_answer_done(struct sys_request *q); /* the server part alone: an order was executed */

/* --- sys_page.c: pages, in slices where they are long ----------------------------------------- */
/* Answers, at once or later.  Owns q->options. */
void sys_page_answer(struct sys_request *q, const struct sys_endpoint *endpoint);
void sys_page_drop(struct sys *y, struct sys_account *x); /* all requested pages */

/* --- sys.c: start and stop -------------------------------------------------------------------- */
MF_MUSTCHECK int sys_start(struct status *s, struct mf_error *e); /* s->sys; NULL without account */
void sys_stop(struct status *s);
void sys_account_removed(struct sys *y, struct account *a);

/* --- trace_send.c: traces of messages --------------------------------------------------------- */
void sys_trace_start(struct sys *y);
void sys_trace_stop(struct sys *y);

/* --- sys_event.c ------------------------------------------------------------------------------ */
MF_MUSTCHECK int sys_event_start(struct sys *y, struct mf_error *e);
void sys_event_stop(struct sys *y);
/* {"server":{},"statsz":{}} */
void sys_write_stats_msg(struct sys *y, struct mf_buf *out);
/* The account's connection counts, as a CONNS event. */
void sys_write_conns_msg(struct sys *y, struct account *a, struct mf_buf *out);
/* Events of the server; y NULL: nothing is sent. */
void sys_client_connected(struct sys *y, const struct client *c);
void sys_client_left(struct sys *y, const struct client *c);
/* A link of the account became usable or ended. */
void sys_leaf_changed(struct sys *y, struct account *a, const struct client_info *i, bool up);
void sys_auth_failed(struct sys *y, const struct client *c, const struct login_refusal *no);
void sys_leaf_refused(struct sys *y, struct client_info *i, const struct login_refusal *no);
void sys_lame_duck(struct status *s);
void sys_shutdown(struct status *s); /* the last event */
void sys_send_stats(struct sys *y);  /* on the broadcast subject, if it has subscribers */

/* --- sys_request.c ---------------------------------------------------------------------------- */
extern const struct sys_endpoint sys_server_pages[];   /* $SYS.REQ.SERVER.{PING,id}.<name> */
extern const struct sys_endpoint sys_server_actions[]; /* $SYS.REQ.SERVER.<id>.<name> */
extern const struct sys_endpoint sys_ping;             /* $SYS.REQ.SERVER.PING */
extern const size_t sys_nserver_pages, sys_nserver_actions;
void sys_reload_stop(struct sys *y);

/* --- sys_account.c ---------------------------------------------------------------------------- */
extern const struct sys_endpoint sys_account_pages[]; /* $SYS.REQ.ACCOUNT.<name>.<page> */
extern const size_t sys_naccount_pages;
extern const struct sys_endpoint sys_all_statz; /* $SYS.REQ.ACCOUNT.PING.STATZ, system account */
extern const struct sys_endpoint sys_debug_subscribers, sys_nsubs;
/* Requests of users about their own account. */
extern const struct sys_endpoint sys_user_info, sys_own_connz, sys_own_statz;

/* --- sys_options.c: the JSON of a request ----------------------------------------------------- */
/* *out NULL for an empty body or `null`; else the caller's.  MF_PROTO with the reason. */
MF_MUSTCHECK int sys_options_parse(struct mf_slice body, json_t **out, struct mf_error *e);
/* *excluded: server_name, cluster, host, tags, domain or exact_match select other servers. */
MF_MUSTCHECK int sys_options_filter(const struct status *s, const json_t *o, bool *excluded,
                                    struct mf_error *e);
/* Fields as Go's decoder finds them: the name in any case, null and absent leave *out alone.
 * MF_PROTO for a value of another type.  Strings are borrowed. */
MF_MUSTCHECK int sys_option_bool(const json_t *o, const char *key, bool *out, struct mf_error *e);
MF_MUSTCHECK int sys_option_i64(const json_t *o, const char *key, int64_t *out, struct mf_error *e);
MF_MUSTCHECK int sys_option_u64(const json_t *o, const char *key, uint64_t *out,
                                struct mf_error *e);
MF_MUSTCHECK int sys_option_str(const json_t *o, const char *key, const char **out,
                                struct mf_error *e);
MF_MUSTCHECK int sys_options_connz(const json_t *o, struct connz_query *q, struct mf_error *e);
MF_MUSTCHECK int sys_options_subsz(const json_t *o, struct subsz_query *q, struct mf_error *e);
MF_MUSTCHECK int sys_options_leafz(const json_t *o, struct leafz_query *q, struct mf_error *e);
MF_MUSTCHECK int sys_options_healthz(const json_t *o, struct healthz_query *q, struct mf_error *e);
/* accounts (at most max of them are borrowed into names) and include_unused. */
MF_MUSTCHECK int sys_options_accstatz(const json_t *o, const char **names, size_t max, size_t *n,
                                      bool *unused, struct mf_error *e);

#endif
