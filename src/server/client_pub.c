/* client_pub.c: PUB and HPUB: permission, routing, "no responders", and stalling of a publisher
 * that is faster than its readers.  The hot path: no allocation, no system call. */
#include "server/client_trace_impl.h"
#include "server/server_impl.h"

#include "account/account_trace.h"
#include "proto/header.h"
#include "base/log.h"
#include "subject/subject.h"

#include <stdio.h>

#define LONG_FAN_OUT 128u /* receivers: their copies take long enough to be measured */

static void refuse_publish(struct client *c, const char *what, struct mf_slice subject,
                           struct msgtrace *t)
{
    struct mf_buf text = MF_BUF_INIT;
    char label[256];

    if (t != NULL) {
        mf_buf_printf(&text, "Permissions Violation for Publish%s \"%.*s\"", what, MF_FMT(subject));
        msgtrace_refused(t, mf_buf_cstr(&text));
        mf_buf_fini(&text);
    }
    client_send_err(c, "Permissions Violation for Publish%s \"%.*s\"", what, MF_FMT(subject));
    log_error("%s - Publish Violation - %s \"%.*s\"", client_label(c, label, sizeof label),
              what[1] == 'w' ? "Reply" : "Subject", MF_FMT(subject));
}

/* Subjects of the server's own protocols: closed to clients. */
static bool is_reserved_subject(struct mf_slice s)
{
    return (s.ptr[0] == '_' && mf_starts(s, "_GR_.")) || (s.ptr[0] == '$' && mf_starts(s, "$NRG."));
}
static bool is_reserved_reply(struct mf_slice r)
{
    return (r.ptr[0] == '_' && (mf_starts(r, "_R_.") || mf_starts(r, "_GR_."))) ||
           (r.ptr[0] == '$' && mf_starts(r, "$JS.ACK."));
}

/* --- reply subjects --------------------------------------------------------------------------- */

static void find_server_sub(void *arg, struct router_sub *rs)
{
    bool wild = rs->pattern.len > 0 && (rs->pattern.ptr[0] == '>' || mf_starts(rs->pattern, "*."));

    if (!rs->client && !wild)
        *(bool *)arg = true;
}

bool client_reaches_server(struct client *c, struct mf_slice subject)
{
    bool found = false;

    router_match(account_router(c->account), subject, find_server_sub, &found);
    return found;
}

/* The server answers to the reply subject without a check of permissions.  A client without the
 * permission to publish there must not use the server to do so, where the answer would be stored or
 * enter another account.  A subject that only clients subscribe to is an inbox. */
static bool is_reply_allowed(struct client *c, const struct mf_msg *m)
{
    return c->perms == NULL || mf_starts(m->reply, "_INBOX.") ||
           perms_can_publish(c->perms, m->reply) || !client_reaches_server(c, m->reply) ||
           !client_reaches_server(c, m->subject);
}

static bool check_publish(struct client *c, const struct mf_msg *m, struct msgtrace *t)
{
    if (MF_UNLIKELY(c->perms != NULL) && !perms_can_publish(c->perms, m->subject) &&
        !client_use_grant(c, m->subject)) {
        refuse_publish(c, " to", m->subject, t);
        return false;
    }
    if (MF_UNLIKELY(m->subject.len > 0 && is_reserved_subject(m->subject))) {
        refuse_publish(c, " to", m->subject, t);
        return false;
    }
    if (m->reply.len > 0 && MF_UNLIKELY(is_reserved_reply(m->reply) || !is_reply_allowed(c, m))) {
        refuse_publish(c, " with Reply of", m->reply, t);
        return false;
    }
    return true;
}

/* A request had no receiver: the requestor's own plain subscription on the reply subject gets a
 * 503. */
struct responder_search {
    struct client *client;
    struct sub *found;
};

static void find_own(void *arg, struct router_sub *rs)
{
    struct responder_search *q = arg;
    struct sub *sub = mf_container(rs, struct sub, rs);

    if (q->found == NULL && server_is_client_sub(rs) && sub->client == q->client &&
        rs->queue.len == 0)
        q->found = sub;
}

static void send_no_responders(struct client *c, const struct mf_msg *request)
{
    struct responder_search q = {c, NULL};
    struct mf_buf hdr = MF_BUF_INIT;
    struct mf_msg m = {.subject = request->reply};

    router_match(account_router(c->account), request->reply, find_own, &q);
    if (q.found == NULL)
        return;
    header_begin(&hdr, "503");
    header_add(&hdr, "Nats-Subject", request->subject);
    header_end(&hdr);
    m.hdr = mf_buf_slice(&hdr);
    if (!mf_buf_failed(&hdr))
        sub_send(q.found, &m);
    mf_buf_fini(&hdr);
}

static void count_publish(struct client *c, size_t bytes)
{
    struct server *s = c->srv;
    struct account_counters *counters = account_counters(c->account);

    c->in_msgs++;
    c->in_bytes += bytes;
    s->total.in_msgs++;
    s->total.in_bytes += bytes;
    counters->in_msgs++;
    counters->in_bytes += bytes;
    c->last_mono_ns = loop_mono_ns(s->loop);
}

/* m has the subject after the account's mappings: permissions and "no responders" refer to it. t
 * NULL: it is not traced. */
static void publish_message(struct client *c, const struct mf_msg *m, struct msgtrace *t)
{
    struct router_msg rm = {
        .route = m->subject, .msg = m, .origin = c, .trace = t, .dry_run = msgtrace_is_only(t)};

    if (!check_publish(c, m, t))
        return;
    client_send_ok(c);
    size_t receivers = account_publish(c->account, &rm);
    if (MF_UNLIKELY(receivers >= LONG_FAN_OUT))
        work_lap(c->srv->loop, WORK_READ, "fan-out", account_name(c->account));
    if (receivers == 0 && m->reply.len > 0 && c->no_responders)
        send_no_responders(c, m);
}

static void publish_mapped(struct client *c, struct mf_msg *m, struct msgtrace *t)
{
    char small[1024];
    struct mf_buf large = MF_BUF_INIT; /* a mapping may lengthen the subject */
    uint8_t *at = (uint8_t *)small;
    size_t room = sizeof small;
    ssize_t n;

    while ((n = account_map(c->account, m->subject, (char *)at, room)) == MF_LIMIT) {
        room *= 4;
        at = mf_buf_reserve(&large, room);
        if (at == NULL) { /* no memory: the message is dropped */
            mf_buf_fini(&large);
            return;
        }
    }
    if (n > 0) {
        m->subject = mf_slice(at, (size_t)n);
        msgtrace_mapped(t, m->subject);
    }
    if (n >= 0)
        publish_message(c, m, t);
    else /* the weights leave this one out: dropped on purpose */
        client_send_ok(c);
    mf_buf_fini(&large);
}

static inline void publish_any(struct client *c, struct mf_msg *m, struct msgtrace *t)
{
    if (MF_UNLIKELY(account_may_map(c->account, m->subject)))
        publish_mapped(c, m, t);
    else
        publish_message(c, m, t);
}

/* --- traces ----------------------------------------------------------------------------------- */

static bool may_publish(const void *client, struct mf_slice subject)
{
    const struct client *c = client;

    return c->perms == NULL || perms_can_publish(c->perms, subject);
}

static void publish_traced(struct client *c, struct mf_msg *m)
{
    char label[256];
    struct account_publisher who = {
        .label = client_label(c, label, sizeof label), .may_publish = may_publish, .who = c};
    struct mf_buf hdr = MF_BUF_INIT;
    struct mf_slice dest = MF_SLICE_NONE;
    enum account_trace asked;
    struct msgtrace *t;

    client_trace_peer(c, &who.peer);
    asked = account_trace_begin(c->account, &who, m, &hdr, &t, &dest);
    if (asked == ACCOUNT_TRACE_DENIED)
        refuse_publish(c, " to", dest, NULL);
    else if (asked != ACCOUNT_TRACE_DROP)
        publish_any(c, m, t);
    msgtrace_release(t);
    mf_buf_fini(&hdr);
}

void client_publish(struct client *c, const struct proto_cmd *cmd)
{
    struct mf_msg m = {cmd->subject, cmd->reply, cmd->hdr, cmd->payload};

    count_publish(c, cmd->hdr.len + cmd->payload.len);
    if (c->pedantic && !subject_valid_literal(cmd->subject))
        client_send_err(c, "Invalid Publish Subject");
    if (MF_UNLIKELY(log_enabled(LOG_TRACE_)))
        client_trace_payload(c, &m);
    if (MF_UNLIKELY(m.hdr.len >= MSGTRACE_LEAST) && MF_UNLIKELY(msgtrace_asked(m.hdr)))
        publish_traced(c, &m);
    else
        publish_any(c, &m, NULL);
}

/* Resumes all stalled publishers, five milliseconds after the first of them was stalled. */
void client_unstall_all(void *server)
{
    struct server *s = server;
    struct mf_list held, *n;

    mf_list_init(&held);
    mf_list_move(&held, &s->stalled);
    while ((n = mf_list_pop(&held)) != NULL) {
        struct client *c = mf_container(n, struct client, stall_link);
        c->stalled = false;
        if (c->phase == CLIENT_READY || c->phase == CLIENT_WAIT)
            net_resume(c->conn);
    }
}
