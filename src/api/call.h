/* call.h: one request to the API, from its arrival to its reply, and the services that answer.
 *
 * A handler gets a struct api_call and answers it once, at once or later, with one of
 * api_reply_*(): those send the reply, count and audit the request, and free the call. */
#ifndef API_CALL_H
#define API_CALL_H

#include "api/queue.h"
#include "api/settle.h"
#include "base/arena.h"
#include "codec/jsonw.h"
#include "jetstream/js_account.h"

#define API_TYPE     "io.nats.jetstream.api.v1."
#define API_IDENTITY "Nats-Stream-Identity" /* header: one stream among those of a name */

struct api;
struct api_call;
struct json_type;

/* --- services --------------------------------------------------------------------------------- */

/* One request of a service. */
struct api_route {
    const char *pattern; /* behind the prefix: "STREAM.CREATE.*" */
    const char *type;    /* of the response, behind the service's */
    void (*handle)(struct api_call *call);
    void (*more)(struct api_call *call, struct jsonw *w); /* members of error replies, or NULL */
    bool with_client;                                     /* call->client is set, for advisories */
    bool own_order; /* the handler itself calls api_call_level() and api_call_enabled() */
};
struct api_service {        /* requests below one prefix */
    struct mf_slice prefix; /* "$JS.API." */
    const char *type;       /* the beginning of the type of its responses */
    const struct api_route *routes;
    size_t nroutes;
};

struct api_account;
/* A layer above: its service answers further requests under $JS.API; its state of an account is
 * api_account.extension. */
struct api_extension {
    const struct api_service *service;
    int (*account_init)(struct api_account *aa);  /* sets aa->extension; MF_NOMEM: not opened */
    void (*account_stop)(struct api_account *aa); /* ends all work before streams are closed */
    void (*account_fini)(struct api_account *aa); /* frees aa->extension */
    /* Adds the bytes that its streams reserve and that no catalog counts yet. */
    void (*reserved)(const struct api_account *aa, struct stream_usage *out);
};

/* The API of one account.  The layer above reads it; it writes `creating` and `extension`. */
struct api_account {
    struct api *api;
    struct js_account *ja;
    struct router_sub api_sub; /* $JS.API.> */
    struct router_sub ttl_sub; /* $MAYFLY.TTL.> */
    uint64_t total, errors;    /* requests that were answered */
    struct api_queue queue;
    struct mf_list calls; /* api_call.link: not answered yet */
    size_t creating;      /* streams of CREATE or a restore that the catalog does not count yet */
    void *extension;
};
static inline struct api_account *api_account(const struct js_account *ja)
{
    return ja->above;
}

/* The API of the server.  Layers above read it. */
struct api {
    struct jetstream *js;
    const struct api_extension *extension; /* NULL: none */
    bool (*client_info)(void *arg, const void *origin, struct mf_buf *json);
    void *arg;
    uint64_t total, errors, inflight; /* requests of all accounts */
    void (*closed)(void *arg);
    void *closed_arg;
};

/* --- a request -------------------------------------------------------------------------------- */

/* All slices are copies that live as long as the call. */
struct api_call {
    struct api_account *aa;
    struct js_account *ja; /* aa->ja */
    const struct api_service *service;
    struct mf_slice subject; /* in the form $JS.API.<...> */
    struct mf_slice rest;    /* of the subject, behind the service's prefix */
    struct mf_slice reply, hdr, body;
    struct mf_slice client; /* {"start":...}: the sender, as audit events show it; may be empty */
    const char *type;       /* of the response: "stream_create_response" */
    struct catalog_op op;
    struct stream_op sop;
    struct consumer_op cop;
    struct catalog_wait busy;
    struct settle settle;
    struct stream_load load;
    void *state;                /* the handler's own; freed with free(), */
    void (*state_fini)(void *); /* after this, unless it is NULL */
    /* Set by api_call_slices(): does one slice of the work.  True: there is more.  False: done, the
     * call may be freed. */
    bool (*step)(struct api_call *call);
    struct mf_list queued;         /* api_queue.calls */
    size_t queued_bytes;           /* 0: not queued */
    struct arena mem;              /* strings of the request */
    const struct api_route *route; /* NULL: an answer for the system account */
    bool soft;                     /* an error of the stream: not counted as one of the API */
    char identity[9];              /* API_IDENTITY of the reply, unless it is an error */
    struct mf_buf out;             /* the reply */
    struct jsonw w;
    struct mf_list link;
};
/* Replaces the handler's own memory.  state comes from malloc(), fini may be NULL. */
void api_call_set_state(struct api_call *call, void *state, void (*fini)(void *state));
void api_call_free(struct api_call *call); /* without a reply */
/* Reads the body as JSON; strings live in call->mem.  False: JS_INVALID_JSON was answered.
 * O(bytes). */
MF_MUSTCHECK bool api_call_read(struct api_call *call, const struct json_type *t, void *out);
/* True for no bytes and for an empty object. */
bool api_body_empty(struct mf_slice body);
/* Token `index` behind the prefix. */
struct mf_slice api_call_token(const struct api_call *call, unsigned index);
/* The stream that token `index` names.  NULL: an error was answered, or the call waits until the
 * stream is created or deleted and then runs again. */
struct stream *api_call_stream(struct api_call *call, unsigned token);
/* True if the stream is being created or deleted: the call waits and runs again. */
bool api_call_park(struct api_call *call, struct mf_slice name);

/* --- its reply -------------------------------------------------------------------------------- */

/* Starts the reply: {"type":"...", and leaves the object open in call->w. */
struct jsonw *api_reply_begin(struct api_call *call);
/* Closes the reply, sends and audits it, frees the call. */
void api_reply_end(struct api_call *call);
/* The same, neither counted nor audited (a successful MSG.GET). */
void api_reply_end_quietly(struct api_call *call);
/* {"type":...,"error":{...}} plus the members of write_more (NULL: none), or of the route. */
void api_reply_error(struct api_call *call, const struct js_error *e);
void api_reply_error_more(struct api_call *call, const struct js_error *e,
                          void (*write_more)(struct api_call *call, struct jsonw *w));
void api_reply_no_memory(struct api_call *call);
/* rc of a failed check: MF_NOMEM, or else *e. */
void api_reply_refused(struct api_call *call, int rc, const struct js_error *e);
/* rc of a failed JSON reader: MF_NOMEM, or else JS_INVALID_JSON with its text. */
void api_reply_unread(struct api_call *call, int rc, const struct mf_error *why);

#endif
