/* consumer_json.h: configurations and infos of consumers as JSON. */
#ifndef API_CONSUMER_JSON_H
#define API_CONSUMER_JSON_H

#include "codec/jsonw.h"
#include "consumer/consumer.h"

struct consumer_request { /* the body of a CREATE; all of it is in config.mem */
    char *stream_name;
    struct consumer_config config;
    int action; /* enum consumer_action */
    bool pedantic;
};
/* *r is all zero before.  The text of the error lacks "invalid JSON: ". */
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
/* An element of a list of /jsz: the same members as an object, the configuration only if wanted.
 * While the messages of a new consumer are being counted, num_pending is the count so far. */
void consumer_detail_json_write(struct jsonw *w, struct consumer *c, int64_t now_ns, bool config);

#endif
