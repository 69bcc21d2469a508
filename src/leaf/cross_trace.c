/* cross_trace.c: traced messages over a link.  The other server traces on: it finds the number of
 * its hop in the header, and sends a trace of its own. */
#include "leaf/leaf_impl.h"

#include "account/account_trace.h"
#include "proto/header.h"

#define DENIED "Not delivered because publish denied for this subject"
#define UNABLE "Not delivered because remote does not support message tracing"
#define UNTRACED                                                                                   \
    "Message delivered but remote does not support message tracing so no trace event generated "   \
    "from there"

static struct msgtrace_peer peer_of(const struct leaf_link *l)
{
    return (struct msgtrace_peer){
        .kind = MSGTRACE_LEAF, .cid = l->id, .name = l->name, .account = account_name(l->account)};
}

void cross_trace_denied(const struct leaf_link *l, const struct router_msg *m)
{
    struct msgtrace_peer to = peer_of(l);

    (void)msgtrace_next_hop(m->trace);
    msgtrace_delivered(m->trace, &to, MF_SLICE_NONE, MF_SLICE_NONE, DENIED);
}

bool cross_trace_out(const struct leaf_link *l, const struct router_msg *m, struct mf_buf *hdr)
{
    const char *error = l->traces ? NULL : m->dry_run ? UNABLE : UNTRACED;
    struct msgtrace_peer to = peer_of(l);

    header_set(hdr, m->msg->hdr, MSGTRACE_HOP, msgtrace_next_hop(m->trace));
    msgtrace_delivered(m->trace, &to, MF_SLICE_NONE, MF_SLICE_NONE, error);
    return (l->traces || !m->dry_run) && !mf_buf_failed(hdr);
}

static bool may_publish(const void *link, struct mf_slice subject)
{
    return rules_may_receive(link, subject);
}

bool cross_trace_in(struct leaf_link *l, struct router_msg *rm, struct mf_msg *msg,
                    struct mf_buf *hdr)
{
    char label[LINK_LABEL];
    struct account_publisher who = {
        .peer = peer_of(l), .label = link_label(l, label), .may_publish = may_publish, .who = l};
    struct mf_slice dest = MF_SLICE_NONE;
    enum account_trace asked = account_trace_begin(l->account, &who, msg, hdr, &rm->trace, &dest);

    if (asked == ACCOUNT_TRACE_DENIED) {
        link_log_error(l, "Publish Violation on \"%.*s\", the destination of a trace",
                       MF_FMT(dest));
        link_send_err(l, "Permissions Violation for Publish to \"%.*s\"", MF_FMT(dest));
    }
    rm->dry_run = msgtrace_is_only(rm->trace);
    return asked == ACCOUNT_TRACE_NONE || asked == ACCOUNT_TRACE_YES;
}
