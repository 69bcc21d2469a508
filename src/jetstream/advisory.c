/* advisory.c: advisories about streams, under $JS.EVENT.ADVISORY.STREAM.>. */
#include "jetstream/advisory.h"

#include "jetstream/event.h"

/* --- streams ---------------------------------------------------------------------------------- */

void advisory_stream_action(struct js_account *ja, const char *stream, const char *action)
{
    const char *kind = strcmp(action, "create") == 0   ? "STREAM.CREATED."
                       : strcmp(action, "delete") == 0 ? "STREAM.DELETED."
                                                       : "STREAM.UPDATED.";
    struct event v;

    if (!event_advisory(&v, ja, "stream_action", kind, stream))
        return;
    jsonw_str(&v.w, "stream", stream);
    jsonw_str(&v.w, "action", action);
    event_domain(&v);
    event_send(&v);
}

static void batch_abandoned(struct js_account *to, const char *account, const char *stream,
                            struct mf_slice batch, const char *reason)
{
    struct event v;

    if (!event_advisory(&v, to, "stream_batch_abandoned", "STREAM.BATCH_ABANDONED.", stream))
        return;
    if (account != NULL)
        jsonw_str(&v.w, "account", account);
    jsonw_str(&v.w, "stream", stream);
    event_domain(&v);
    jsonw_slice(&v.w, "batch", batch);
    jsonw_str(&v.w, "reason", reason);
    event_send_later(&v);
}

void advisory_batch_abandoned(void *arg, struct stream *s, struct mf_slice batch,
                              const char *reason)
{
    struct js_account *ja = arg, *sys = js_account_system(ja->js);

    batch_abandoned(ja, NULL, stream_name(s), batch, reason);
    if (sys != NULL)
        batch_abandoned(sys, account_name(ja->account), stream_name(s), batch, reason);
}
