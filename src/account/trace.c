/* trace.c: which messages of an account are traced, and where their traces are sent.  The answers
 * are nats-server's, in its order. */
#include "account/trace_impl.h"

#include "base/log.h"
#include "base/rand.h"
#include "subject/subject.h"

void accounts_set_tracer(struct accounts *as, account_trace_fn fn, void *arg)
{
    as->tracer = fn;
    as->tracer_arg = arg;
}

static void send_trace(void *account, struct msgtrace *t)
{
    struct account *a = account;

    if (a->as->tracer != NULL)
        a->as->tracer(a->as->tracer_arg, a, t);
    msgtrace_free(t);
    account_release(a);
}

/* The message is delivered, and neither this server nor another one traces it. */
static enum account_trace disable_trace(struct mf_msg *m, struct mf_buf *hdr)
{
    if (msgtrace_set_dest(hdr, m->hdr, mf_str(MSGTRACE_DISABLED)))
        m->hdr = mf_buf_slice(hdr);
    return ACCOUNT_TRACE_NONE;
}

static enum account_trace leave_out(const struct msgtrace_request *q)
{
    return q->only ? ACCOUNT_TRACE_DROP : ACCOUNT_TRACE_NONE;
}

/* Subjects of the server's own protocols. */
static bool is_dest_reserved(const struct account *a, struct mf_slice dest)
{
    return mf_starts(dest, "_GR_.") || (!a->system && mf_starts(dest, "$NRG."));
}

enum account_trace account_trace_begin(struct account *a, const struct account_publisher *p,
                                       struct mf_msg *m, struct mf_buf *hdr, struct msgtrace **out,
                                       struct mf_slice *dest)
{
    const struct options_account *o = a->options;
    struct msgtrace_request q;

    *out = NULL;
    if (!msgtrace_read(m->hdr, &q))
        return ACCOUNT_TRACE_NONE;
    if (q.forged) {
        log_error("%s - Message tracing disabled because of header \"Nats-Trace-Origin-Account\"",
                  p->label);
        return q.only ? ACCOUNT_TRACE_DROP : disable_trace(m, hdr);
    }
    if (q.external && (o == NULL || o->trace_dest == NULL))
        return ACCOUNT_TRACE_NONE;
    *dest = q.external ? mf_str(o->trace_dest) : q.dest;
    if (p->peer.kind == MSGTRACE_CLIENT) {
        q.hop = MF_SLICE_NONE;
        if (q.external && o->trace_sampling < 100 && rand_below(100) >= (uint32_t)o->trace_sampling)
            return disable_trace(m, hdr);
    }
    if (!subject_valid_literal(*dest)) {
        log_error("%s - Destination \"%.*s\" is not valid, won't be able to trace events", p->label,
                  MF_FMT(*dest));
        return leave_out(&q);
    }
    /* The account chose the destination of an external trace: the publisher named none, needs no
     * permission for it, and its message is never refused. */
    if (q.external && is_dest_reserved(a, *dest))
        return ACCOUNT_TRACE_NONE;
    if (!q.external &&
        (is_dest_reserved(a, *dest) || (p->may_publish != NULL && !p->may_publish(p->who, *dest))))
        return ACCOUNT_TRACE_DENIED;
    *out = msgtrace_new(&q, *dest, &p->peer, m, send_trace, a);
    if (*out == NULL) /* no memory */
        return leave_out(&q);
    (void)account_retain(a);
    return ACCOUNT_TRACE_YES;
}

/* --- on the way to another account ------------------------------------------------------------ */

bool trace_cross(struct router_msg *rm, struct mf_msg *msg, struct mf_buf *hdr, bool allowed)
{
    struct msgtrace *t = rm->trace;

    if (allowed && msgtrace_set_dest(hdr, msg->hdr, msgtrace_dest(t))) {
        msg->hdr = mf_buf_slice(hdr);
        return true;
    }
    if (rm->dry_run)
        return false;
    rm->trace = NULL;
    mf_buf_clear(hdr);
    (void)disable_trace(msg, hdr);
    return true;
}
