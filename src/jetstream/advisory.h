/* advisory.h: events under $JS.EVENT.ADVISORY.> that others send (advisory.c). */
#ifndef API_ADVISORY_H
#define API_ADVISORY_H

#include "stream/stream_event.h"

struct api;
struct api_account;
struct api_call;
struct stream;

bool advisory_audited(const struct api_account *aa); /* does anybody listen to audits? */
/* Tells the auditors and frees the call; response: call->out. */
void advisory_audit(struct api_call *call, struct mf_slice response);
void advisory_api_limit(struct api *a, uint64_t dropped);
void events_drop(struct api_account *aa); /* those not sent yet */
void advisory_stream_action(struct api_account *aa, const char *stream, const char *action);
/* ttl_event.c: of streams' hosts. */
bool ttl_event_expiring(void *arg, struct stream *s, const struct stream_expiring *e);
bool ttl_event_heard(void *arg, struct stream *s, enum stream_ttl_kind kind);
void ttl_event_send(void *arg, struct stream *s, const struct stream_ttl_event *e);
void advisory_batch_abandoned(void *arg, struct stream *s, struct mf_slice batch,
                              const char *reason);
void advisory_snapshot_create(struct api_call *call, struct stream *s);
void advisory_snapshot_complete(struct api_account *aa, const char *stream, struct mf_slice client,
                                int64_t start_ns, int64_t end_ns, const char *error);
void advisory_restore_create(struct api_call *call, const char *stream);
void advisory_restore_complete(struct api_account *aa, const char *stream, struct mf_slice client,
                               int64_t start_ns, int64_t end_ns, uint64_t bytes);

#endif
