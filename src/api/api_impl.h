/* api_impl.h: the JetStream API's insides, shared by the files of this folder only.
 *
 * api.c: open, close, accounts that come and go.  dispatch.c: which request is it, who answers.
 * queue.c: requests that wait for their account's share of the loop's time.  settle.c: those that
 * wait for the disk.  call.c: one request and its reply.  stream_admin.c: CREATE, UPDATE, DELETE,
 * PURGE.  stream_limits.c: what an account may have.  stream_list.c: NAMES, LIST, account info.
 * stream_info.c: STREAM.INFO.  subject_page.c: the subjects of an INFO.  msg_api.c: MSG.GET,
 * MSG.DELETE.  direct*.c: DIRECT.GET.  config_json.c, info_json.c: configurations, states and infos
 * as JSON.  ingest.c: publishes into streams, pub acks.  snapshot.c, restore*.c, archive.c:
 * backups. advisory.c: $JS.EVENT.>.  consumer_admin.c, consumer_manage.c, consumer_json.c: requests
 * about consumers (consumer_api.h).  consumer_wire.c, consumer_wait.c, consumer_advisory.c:
 * consumers and the world around them.  source_wire.c: mirrors and sources.  jsz.c, js_pages.c,
 * js_metrics.c, api_pages.h: /jsz and what other pages show of streams. */
#ifndef API_IMPL_H
#define API_IMPL_H

#include "jetstream/advisory.h"
#include "api/consumer_api.h"
#include "jetstream/consumer_wire.h"
#include "api/queue.h"
#include "api/settle.h"
#include "jetstream/source_wire.h"

#include "account/account.h"
#include "api/api.h"
#include "base/buf.h"
#include "stream/catalog.h"
#include "consumer/consumer.h"
#include "codec/jsonw.h"
#include "base/list.h"
#include "base/steady.h"
#include "loop/work.h"

#define API_TYPE "io.nats.jetstream.api.v1."

struct api_route;
struct api_service {        /* requests below one prefix */
    struct mf_slice prefix; /* "$JS.API." */
    const char *type;       /* the beginning of the type of its responses */
    const struct api_route *routes;
    size_t nroutes;
};
extern const struct api_service api_jetstream; /* dispatch.c */
extern const struct api_service api_ttl;       /* ttl_api.c: $MAYFLY.TTL.> */

/* JetStream of one account. */
struct api_account {
    struct api *api;
    struct account *account;
    struct mf_list link; /* api.accounts */
    struct stream_host host;
    struct catalog *catalog; /* NULL: JetStream is not enabled for this account */
    const struct options_js_limits *limits;
    struct stream_usage usage;
    struct router_sub api_sub;           /* $JS.API.> */
    struct router_sub ttl_sub;           /* $MAYFLY.TTL.> */
    struct router_sub ack_sub, flow_sub; /* $JS.ACK.> and $JS.FC.> */
    struct consumer_host consumer_host;
    struct consumer_waits waits;
    struct source_host source_host;
    struct table mirrors; /* source_wire.c: those that answer direct gets of their origin */
    char hash[9];         /* of its name, as newer ack subjects show it */
    uint64_t api_total, api_errors;
    struct mf_list restores, snapshots; /* under way */
    size_t nrestores, nsnapshots;
    size_t restore_memory;  /* bytes that restores keep in memory */
    struct work_owner work; /* its share of the loop's time */
    struct api_queue queue;
    struct direct_queue direct;
    struct mf_list calls; /* api_call.link: not answered yet */
    struct mf_list told;  /* advisory.c: events to be sent at the end of the turn */
    size_t telling;       /* how many */
    struct loop_defer tell;
    char *dir;       /* where its streams are; NULL: no JetStream */
    size_t creating; /* streams that CREATE or a restore waits for: not counted yet */
    bool closing;    /* in api.leaving: its catalog closes, then it is freed */
};

struct api {
    struct loop *loop;
    struct accounts *accounts;
    const struct options *options;
    struct api_setup setup;
    char *store_dir;           /* <store_dir>/jetstream, for texts */
    struct store_folder *root; /* the same, opened and locked */
    struct steady clock;
    int64_t ahead_ns, wall_ns; /* both clocks against the monotonic one, when looked at */
    struct loop_timer *clock_timer;
    struct store_patrol *patrol; /* reads the files of all streams at a pace */
    struct mf_list list;         /* api_account.link: one for each account there is */
    struct mf_list leaving;      /* api_account.link: lost JetStream or their account */
    struct loop_defer ended;
    struct stream_usage usage, max; /* of the whole server */
    uint64_t api_total, api_errors, inflight;
    uint64_t batches, fast_batches;
    struct ttl_outlook *outlook; /* NULL: nobody has scraped yet */
    bool closing;
    size_t open_catalogs;
    void (*closed)(void *arg);
    void *closed_arg;
};

/* --- call.c: one request ---------------------------------------------------------------------- */

/* A request lives on the heap from its arrival to its reply; everything in it is a copy. */
struct api_call {
    struct api_account *aa;
    const struct api_service *service;
    struct mf_slice subject; /* in the form $JS.API.<...> */
    struct mf_slice rest;    /* of it, behind the service's prefix */
    struct mf_slice reply, hdr, body;
    struct mf_slice client; /* {"start":...}: who asks, as audit events show it; may be empty */
    const char *type;       /* response type suffix, "stream_create_response" */
    struct catalog_op op;
    struct stream_op sop;
    struct consumer_op cop;
    struct catalog_wait busy;
    struct settle settle;
    struct stream_load load;
    void *state;                /* the handler's own; freed with free(), */
    void (*state_fini)(void *); /* after this, unless it is NULL */
    /* Set by api_call_slices(): the rest of the work, one slice.  true: there is more.  false: that
     * was all, the call may be freed. */
    bool (*step)(struct api_call *call);
    struct mf_list queued;         /* api_queue.calls */
    size_t queued_bytes;           /* 0: not queued */
    struct arena mem;              /* strings of the request */
    const struct api_route *route; /* NULL: an answer for the system account */
    bool soft;                     /* the error is the stream's: not counted as one of the API */
    char identity[9];              /* Nats-Stream-Identity of the reply, unless it is an error */
    struct mf_buf out;             /* the reply being written */
    struct jsonw w;
    struct mf_list link;
};
/* Starts the reply: {"type":"...", and leaves the object open in call->w. */
struct jsonw *api_reply_begin(struct api_call *call);
/* Closes it, sends it, tells the auditors, frees the call. */
void api_reply_end(struct api_call *call);
/* {"type":...,"error":{...}} plus what the route (or write_more, may be NULL) adds: NAMES, LIST,
 * INFO and PURGE show their zeros. */
void api_reply_error(struct api_call *call, const struct js_error *e);
void api_reply_error_more(struct api_call *call, const struct js_error *e,
                          void (*write_more)(struct api_call *call, struct jsonw *w));
/* Not counted, not audited (a successful MSG.GET). */
void api_reply_end_quietly(struct api_call *call);
void api_call_free(struct api_call *call);
void api_call_unheard(struct api_call *call); /* counts it as served and frees it */
/* The handler's own memory; frees what was there.  state comes from malloc(), fini may be NULL. */
void api_call_set_state(struct api_call *call, void *state, void (*fini)(void *state));
/* A copy of the request m, whose subject behind the service's prefix is rest; NULL: out of memory.
 * with_client: remember who asked. */
struct api_call *api_call_new(struct api_account *aa, const struct api_service *service,
                              const struct router_msg *m, struct mf_slice rest, bool with_client);
/* Reads a request's body; what it needs is in call->mem.  false: 10025 was answered. */
MF_MUSTCHECK bool api_call_read(struct api_call *call, const struct json_type *t, void *out);
/* Nothing, or an empty object. */
bool api_body_empty(struct mf_slice body);
/* The request's token `index` behind the prefix. */
struct mf_slice api_call_token(const struct api_call *call, unsigned index);
/* Serves it (again, after it was parked). */
void api_call_run(struct api_call *call);
/* MF_NOMEM and the like while serving. */
void api_reply_no_memory(struct api_call *call);
/* The same for a request there was not even memory to keep. */
void api_send_no_memory(struct api_account *aa, const struct api_service *service,
                        struct mf_slice subject, struct mf_slice reply, const char *type);
/* rc of a check that failed: MF_NOMEM, or what *e says. */
void api_reply_refused(struct api_call *call, int rc, const struct js_error *e);
/* rc of a reader of JSON that failed: MF_NOMEM, or 10025 with its text. */
void api_reply_unread(struct api_call *call, int rc, const struct mf_error *why);

/* The stream a request names (its token `index` behind the prefix), or NULL after the error was
 * answered or the call was parked: then it is dispatched again when the stream is ready. */
struct stream *api_call_stream(struct api_call *call, unsigned token);

/* Is the stream being made or deleted?  Then the call waits and runs again. */
bool api_call_park(struct api_call *call, struct mf_slice name);

/* One row of dispatch.c's table. */
struct api_route {
    const char *pattern; /* behind the prefix: "STREAM.CREATE.*" */
    const char *type;
    void (*handle)(struct api_call *call);
    void (*more)(struct api_call *call, struct jsonw *w); /* members of error replies, or NULL */
    bool with_client; /* it is told of who asks, in advisories */
    bool own_order;   /* the handler itself calls api_call_level() and api_call_enabled() */
};
/* Is the API level it asks for served, and does its account have JetStream?  false: answered. */
MF_MUSTCHECK bool api_call_level(struct api_call *call);
MF_MUSTCHECK bool api_call_enabled(struct api_call *call);
/* Does this server serve the level the request's header asks for? */
bool api_level_served(const struct api *a, struct mf_slice hdr);
/* deliver() of api_account.api_sub and of ttl_sub. */
bool dispatch_api(struct router_sub *sub, const struct router_msg *m);
bool dispatch_ttl(struct router_sub *sub, const struct router_msg *m);

/* --- api.c ------------------------------------------------------------------------------------ */

const char *api_domain(const struct api *a); /* "" without one */

/* Sends in the name of the server. */
void api_publish(struct api_account *aa, struct mf_slice subject, struct mf_slice reply,
                 struct mf_slice hdr, struct mf_slice payload);
int64_t api_now_ns(struct api *a);  /* the steady clock */
int64_t api_wall_ns(struct api *a); /* the wall clock: schedules, pauses */

/* --- documents ----------------------------------------------------------------------------- */

/* config_json.c.  decode: a request's body or a stored blob; text of the error without "invalid
 * JSON: ". */
MF_MUSTCHECK int config_json_decode(struct mf_slice text, bool strict, struct stream_config *c,
                                    struct mf_error *e);
/* As a value with this key (NULL at the top). server_metadata: add _nats.ver and _nats.level. */
void config_json_write(struct jsonw *w, const char *key, const struct stream_config *c,
                       bool server_metadata);
extern const struct catalog_codec config_json_codec;
/* "metadata": two sorted lists as one, its own pairs and the server's. */
void metadata_json_write(struct jsonw *w, const struct json_map *m, bool server_metadata);
extern const struct json_type
    config_json_type; /* struct stream_config; for documents that contain one */

/* info_json.c */
void state_json_write(struct jsonw *w, const char *key, struct stream *s);
/* config, created, state, [domain], [cluster], [mirror], [sources], ts: what responses about a
 * stream share. */
/* What STREAM.INFO shows when asked, written already. */
struct state_details {
    const struct stream_state *state; /* as it was when the rest was collected; NULL: as it is */
    struct mf_slice subjects;         /* the object; empty: it is left out */
    struct mf_slice deleted;          /* the array; empty: it is left out */
};
void state_json_write_details(struct jsonw *w, const char *key, struct stream *s,
                              const struct state_details *d);
enum info_flags { INFO_DOMAIN = 1, INFO_CLUSTER = 2, INFO_METADATA = 4 };
void info_json_write(struct jsonw *w, struct api_account *aa, struct stream *s, unsigned flags);
void info_json_write_details(struct jsonw *w, struct api_account *aa, struct stream *s,
                             unsigned flags, const struct state_details *d);
/* source_wire.c: mirror and sources, if it has any. */
void origins_json_write(struct jsonw *w, struct stream *s);
void account_json_write(struct jsonw *w, struct api_account *aa);
void base64_json_write(struct jsonw *w, const char *key, struct mf_slice bytes);
void error_json_write(struct jsonw *w, const struct js_error *e);

/* --- handlers ------------------------------------------------------------------------------ */

void stream_create_handle(struct api_call *call);
void stream_update_handle(struct api_call *call);
void stream_delete_handle(struct api_call *call);
void stream_purge_handle(struct api_call *call);
void stream_info_handle(struct api_call *call);
void stream_names_handle(struct api_call *call);
void stream_list_handle(struct api_call *call);
void account_info_handle(struct api_call *call);
void msg_get_handle(struct api_call *call);
void msg_delete_handle(struct api_call *call);
void snapshot_handle(struct api_call *call);
void restore_handle(struct api_call *call);
/* Account limits and overlap, rules 8, 11 and 13 of CREATE; also for restore.  0: create it.  1:
 * the same stream is there already.  MF_DENIED with *e. */
int stream_create_allowed(struct api_account *aa, const struct stream_config *c,
                          struct js_error *e);
/* The rules of a configuration by itself, with the account's limits and the server's defaults; what
 * is left out is filled in. */
enum config_use { CONFIG_CREATE, CONFIG_UPDATE, CONFIG_RESTORE };
MF_MUSTCHECK int stream_config_allowed(struct api_account *aa, struct stream_config *c,
                                       enum config_use use, struct js_error *e);
/* stream_limits.c: bytes that streams of the account, of all accounts, reserved; those that are
 * being restored too. */
void api_account_reserved(const struct api_account *aa, struct stream_usage *out);
void api_reserved(struct api *a, struct stream_usage *out);
/* Rule 8 alone.  now: the stream it replaces, or NULL. */
MF_MUSTCHECK int stream_limits_allow(struct api_account *aa, const struct stream_config *c,
                                     const struct stream_config *now, struct js_error *e);
/* Rules 8 (but the number of streams) and 13 of an update. */
MF_MUSTCHECK int stream_update_allowed(struct api_account *aa, const struct stream_config *now,
                                       const struct stream_config *next, struct js_error *e);

/* direct.c: messages to $JS.API.DIRECT.GET.>; rest: behind $JS.API.  false: nobody answers here (no
 * such stream, or not allowed). */
bool direct_get(struct api_account *aa, const struct router_msg *m, struct mf_slice rest);
/* Before its catalog closes: end direct gets, snapshots, restores (and their streams). */
void direct_stop(struct api_account *aa);
void snapshots_stop(struct api_account *aa);
void restores_stop(struct api_account *aa);
void restores_reserved(const struct api_account *aa, struct stream_usage *out);

MF_MUSTCHECK int ingest_add(struct api_account *aa, struct stream *s);
void ingest_change(struct api_account *aa, struct stream *s);
void ingest_remove(struct api_account *aa, struct stream *s);
void ingest_fini(void); /* frees the pool of pending publishes */

/* --- consumers -------------------------------------------------------------------------------- */

/* ingest.c keeps them beside the stream: all of its consumers; NULL: they could not be loaded. */
struct consumers *api_consumers(struct stream *s);
void ingest_set_consumers(struct stream *s, struct consumers *g);
size_t api_consumer_count(struct stream *s);                  /* of the stream; O(1) */
uint64_t api_account_consumers(const struct api_account *aa); /* O(streams) */

#endif
