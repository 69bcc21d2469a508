/* consumer_api.h: requests about consumers and their documents. */
#ifndef API_CONSUMER_API_H
#define API_CONSUMER_API_H

#include "consumer/consumer.h"
#include "codec/jsonw.h"

struct api_account;
struct api_call;

/* --- consumer_json.c -------------------------------------------------------------------------- */

struct consumer_request { /* the body of a CREATE; all of it is in config.mem */
    char *stream_name;
    struct consumer_config config;
    int action; /* enum consumer_action */
    bool pedantic;
};
/* Of an r that is all zero; text of the error without "invalid JSON: ". */
MF_MUSTCHECK int consumer_request_decode(struct mf_slice text, bool strict,
                                         struct consumer_request *r, struct mf_error *e);
extern const struct consumer_codec consumer_json_codec;
extern const struct json_type consumer_config_json_type; /* struct consumer_config */
/* As a value with this key (NULL at the top).  server_metadata: add _nats.ver and _nats.level. */
void consumer_config_json_write(struct jsonw *w, const char *key, const struct consumer_config *c,
                                bool server_metadata);
/* The members of a ConsumerInfo, into the open object. */
void consumer_info_json_write(struct jsonw *w, struct consumer *c, int64_t now_ns,
                              bool server_metadata);
/* One element of a list of /jsz: the same members in an object of its own, the configuration only
 * if wanted.  While a new consumer's messages are being counted num_pending is what is counted so
 * far. */
void consumer_detail_json_write(struct jsonw *w, struct consumer *c, int64_t now_ns, bool config);

/* --- consumer_admin.c, consumer_manage.c ------------------------------------------------------ */

/* As api_call_stream(), and all of its consumers. */
struct consumers *api_call_consumers(struct api_call *call, unsigned token);
/* One of a backup: fills in what is left open and checks it, on a stream that will have the
 * configuration sc.  0, MF_NOMEM, or MF_DENIED with *e. */
MF_MUSTCHECK int consumer_restore_allowed(struct api_account *aa, struct consumers *g,
                                          const struct stream_config *sc, struct consumer_config *c,
                                          struct js_error *e);
/* Do all consumers of s fit into the consumer_limits an update brings? */
MF_MUSTCHECK int consumer_limits_allow(struct stream *s, const struct stream_config *next,
                                       struct js_error *e);
/* Advisories, before their stream is deleted and tells of itself. */
void consumers_tell_deleted(struct api_account *aa, struct stream *s);
void consumer_create_handle(struct api_call *call);
void consumer_info_handle(struct api_call *call);
void consumer_names_handle(struct api_call *call);
void consumer_list_handle(struct api_call *call);
void consumer_delete_handle(struct api_call *call);
void consumer_pause_handle(struct api_call *call);
void consumer_reset_handle(struct api_call *call);
void consumer_unpin_handle(struct api_call *call);

#endif
