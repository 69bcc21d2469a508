/* consumer_api_impl.h: requests about consumers: consumer_admin.c, consumer_manage.c. */
#ifndef API_CONSUMER_API_IMPL_H
#define API_CONSUMER_API_IMPL_H

#include "api/consumer_json.h"

struct api_call;
struct js_account;

/* As api_call_stream(), and returns all consumers of the stream. */
struct consumers *api_call_consumers(struct api_call *call, unsigned token);
/* Do all consumers of s fit into the consumer_limits of an update? */
MF_MUSTCHECK int consumer_limits_allow(struct stream *s, const struct stream_config *next,
                                       struct js_error *e);
/* Sends the advisories of all consumers before their stream is deleted. */
void consumers_tell_deleted(struct js_account *ja, struct stream *s);
/* Tells a stream from an earlier one of its name: the hash of its creation time. */
void api_stream_identity(const struct stream *s, char out[9]);
void consumer_create_handle(struct api_call *call);
void consumer_info_handle(struct api_call *call);
void consumer_names_handle(struct api_call *call);
void consumer_list_handle(struct api_call *call);
void consumer_delete_handle(struct api_call *call);
void consumer_pause_handle(struct api_call *call);
void consumer_reset_handle(struct api_call *call);
void consumer_unpin_handle(struct api_call *call);

#endif
