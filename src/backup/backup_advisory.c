/* backup_advisory.c: advisories about snapshots and restores. */
#include "backup/backup_impl.h"

#include "jetstream/event.h"

void advisory_snapshot_create(struct api_call *call, struct stream *s)
{
    struct event v;

    if (!event_advisory(&v, call->ja, "snapshot_create", "STREAM.SNAPSHOT_CREATE.", stream_name(s)))
        return;
    jsonw_str(&v.w, "stream", stream_name(s));
    state_json_write(&v.w, "state", s);
    event_client(&v, call->client);
    event_domain(&v);
    event_send(&v);
}

void advisory_snapshot_complete(struct api_account *aa, const char *stream, struct mf_slice client,
                                int64_t start_ns, int64_t end_ns, const char *error)
{
    struct event v;

    if (!event_advisory(&v, aa->ja, "snapshot_complete", "STREAM.SNAPSHOT_COMPLETE.", stream))
        return;
    jsonw_str(&v.w, "stream", stream);
    jsonw_time(&v.w, "start", start_ns);
    jsonw_time(&v.w, "end", end_ns);
    event_client(&v, client);
    event_domain(&v);
    jsonw_opt_str(&v.w, "error", error);
    event_send(&v);
}

void advisory_restore_create(struct api_call *call, const char *stream)
{
    struct event v;

    if (!event_advisory(&v, call->ja, "restore_create", "STREAM.RESTORE_CREATE.", stream))
        return;
    jsonw_str(&v.w, "stream", stream);
    event_client(&v, call->client);
    event_domain(&v);
    event_send(&v);
}

void advisory_restore_complete(struct api_account *aa, const char *stream, struct mf_slice client,
                               int64_t start_ns, int64_t end_ns, uint64_t bytes)
{
    struct event v;

    if (!event_advisory(&v, aa->ja, "restore_complete", "STREAM.RESTORE_COMPLETE.", stream))
        return;
    jsonw_str(&v.w, "stream", stream);
    jsonw_time(&v.w, "start", start_ns);
    jsonw_time(&v.w, "end", end_ns);
    jsonw_u64(&v.w, "bytes", bytes);
    event_client(&v, client);
    event_domain(&v);
    event_send(&v);
}
