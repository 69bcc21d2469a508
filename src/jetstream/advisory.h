/* advisory.h: advisories about streams and consumers, under $JS.EVENT.ADVISORY.>. */
#ifndef JETSTREAM_ADVISORY_H
#define JETSTREAM_ADVISORY_H

#include "consumer/consumer.h"
#include "stream/stream_event.h"

struct js_account;

/* action: "create", "modify" or "delete". */
void advisory_stream_action(struct js_account *ja, const char *stream, const char *action);
/* consumer_host.event; arg is the js_account. */
void consumer_advisory(void *arg, const struct consumer_event *e);

/* Members of a stream_host; arg is the js_account. */
void advisory_batch_abandoned(void *arg, struct stream *s, struct mf_slice batch,
                              const char *reason);
bool advisory_ttl_expiring(void *arg, struct stream *s, const struct stream_expiring *e);
bool advisory_ttl_heard(void *arg, struct stream *s, enum stream_ttl_kind kind);
void advisory_ttl_send(void *arg, struct stream *s, const struct stream_ttl_event *e);

#endif
