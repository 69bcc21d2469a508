/* api_impl.h: shared by the files of the JSON API.
 *
 * api.c: open, reload, close.  dispatch.c: routes a request to its handler.  queue.c: requests that
 * wait for their account's share of the loop's time.  settle.c: reads that wait for the disk.
 * call.c: one request and its reply.  audit.c: events about requests.  stream_admin.c: CREATE,
 * UPDATE, DELETE, PURGE.  stream_limits.c: limits of accounts.  stream_list.c: NAMES, LIST, account
 * info.  stream_info.c, subject_page.c: STREAM.INFO.  msg_api.c: MSG.GET, MSG.DELETE.
 * config_json.c, info_json.c: documents of streams.  consumer_admin.c, consumer_manage.c,
 * consumer_json.c: consumers.  account_purge.c: ACCOUNT.PURGE.  ttl_*.c: $MAYFLY.TTL.>. */
#ifndef API_IMPL_H
#define API_IMPL_H

#include "api/api.h"
#include "api/call.h"
#include "api/consumer_api_impl.h"
#include "api/limits.h"
#include "api/stream_json.h"
#include "base/buf.h"
#include "jetstream/advisory.h"
#include "jetstream/js_json.h"
#include "stream/js_error.h"

extern const struct api_service api_jetstream; /* dispatch.c */
extern const struct api_service api_ttl;       /* ttl_api.c: $MAYFLY.TTL.> */

/* --- call.c ----------------------------------------------------------------------------------- */

/* Copies the request m, whose subject behind the service's prefix is rest.  with_client: the
 * sender, too.  NULL: no memory. */
struct api_call *api_call_new(struct api_account *aa, const struct api_service *service,
                              const struct router_msg *m, struct mf_slice rest, bool with_client);
/* Counts the request as served and frees it. */
void api_call_unheard(struct api_call *call);
/* The error reply of a request that could not even be copied. */
void api_send_no_memory(struct api_account *aa, const struct api_service *service,
                        struct mf_slice subject, struct mf_slice reply, const char *type);

/* --- dispatch.c ------------------------------------------------------------------------------- */

/* Serves the call; again after it was parked. */
void api_call_run(struct api_call *call);
/* Checks the API level that the request asks for, and that its account has JetStream.  False: an
 * error was answered. */
MF_MUSTCHECK bool api_call_level(struct api_call *call);
MF_MUSTCHECK bool api_call_enabled(struct api_call *call);
/* deliver() of api_account.api_sub and of ttl_sub. */
bool dispatch_api(struct router_sub *sub, const struct router_msg *m);
bool dispatch_ttl(struct router_sub *sub, const struct router_msg *m);

/* --- audit.c ---------------------------------------------------------------------------------- */

bool advisory_audited(const struct api_account *aa); /* audit events have a subscriber */
/* Sends the audit event of a call and frees the call; response: call->out. */
void advisory_audit(struct api_call *call, struct mf_slice response);
void advisory_api_limit(struct api *a, uint64_t dropped);

/* --- handlers --------------------------------------------------------------------------------- */

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

#endif
