/* stream_json.h: configurations, states and infos of streams as JSON.  Order and presence of
 * members are those of nats-server. */
#ifndef API_STREAM_JSON_H
#define API_STREAM_JSON_H

#include "codec/json.h"
#include "codec/jsonw.h"
#include "stream/catalog.h"
#include "stream/stream.h"

struct api_account;
struct js_account;

/* --- config_json.c ---------------------------------------------------------------------------- */

/* Reads a request's body or a stored configuration; its error text lacks "invalid JSON: ". */
MF_MUSTCHECK int config_json_decode(struct mf_slice text, bool strict, struct stream_config *c,
                                    struct mf_error *e);
/* A value with this key (NULL at the top).  server_metadata: adds _nats.ver and _nats.level. */
void config_json_write(struct jsonw *w, const char *key, const struct stream_config *c,
                       bool server_metadata);
/* "metadata": own pairs and those of the server, merged in order. */
void metadata_json_write(struct jsonw *w, const struct json_map *m, bool server_metadata);
extern const struct catalog_codec config_json_codec;
extern const struct json_type config_json_type; /* struct stream_config */

/* --- info_json.c ------------------------------------------------------------------------------ */

void state_json_write(struct jsonw *w, const char *key, struct stream *s);
/* Optional parts of a state, already written. */
struct state_details {
    const struct stream_state *state; /* when the parts were collected; NULL: the current one */
    struct mf_slice subjects;         /* an object; empty: left out */
    struct mf_slice deleted;          /* an array; empty: left out */
};
void state_json_write_details(struct jsonw *w, const char *key, struct stream *s,
                              const struct state_details *d);
/* Members config, created, state, [domain], [cluster], [mirror], [sources], ts of a stream info. */
enum info_flags { INFO_DOMAIN = 1, INFO_CLUSTER = 2, INFO_METADATA = 4 };
void info_json_write(struct jsonw *w, struct js_account *ja, struct stream *s, unsigned flags);
void info_json_write_details(struct jsonw *w, struct js_account *ja, struct stream *s,
                             unsigned flags, const struct state_details *d);
/* "mirror" or "sources", if the stream has origins. */
void origins_json_write(struct jsonw *w, struct stream *s);
void account_json_write(struct jsonw *w, struct api_account *aa);
void base64_json_write(struct jsonw *w, const char *key, struct mf_slice bytes);

#endif
