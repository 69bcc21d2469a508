/* cross.c: messages over a link.
 *
 * Out: the router calls cross_takes() and, once for each message, cross_send().  The line names the
 * routed subject; a consumer's delivery shows another one, which travels behind '@' in the reply.
 * In: cross_receive() publishes in the account of the link, as a client would. */
#include "leaf/leaf_impl.h"

#include "account/account_trace.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define OVERSIZED_LOG_NS (60 * CLOCK_S)

static struct leaf_link *link_of(struct router_remote *r)
{
    return mf_container(r, struct leaf_link, peer);
}

/* --- out -------------------------------------------------------------------------------------- */

static bool is_same_cluster(const struct leaf_link *l, const struct router_remote *from)
{
    const struct leaf_link *other = mf_container(from, const struct leaf_link, peer);

    return other == l || (l->cluster_hash == other->cluster_hash && l->cluster != NULL &&
                          other->cluster != NULL && strcmp(l->cluster, other->cluster) == 0);
}

bool cross_takes(struct router_remote *r, const struct router_msg *m)
{
    const struct leaf_link *l = link_of(r);

    if (MF_UNLIKELY(l->phase != LEAF_USABLE))
        return false;
    if (m->from != NULL && is_same_cluster(l, m->from))
        return false;
    if (MF_LIKELY(rules_may_send(l, m->route)))
        return true;
    if (m->trace != NULL)
        cross_trace_denied(l, m);
    return false;
}

struct outgoing {
    struct verb_line line;
};

static size_t write_line(const void *arg, uint8_t *dst)
{
    return verb_line_write(dst, &((const struct outgoing *)arg)->line);
}

/* The other server would close the link, and the next one as well if the message is sent again.  It
 * counts as sent: its receiver, a mirror for example, asks again in its own time. */
static void drop_oversized(struct leaf_link *l, const struct router_msg *m, size_t size)
{
    int64_t now = loop_mono_ns(l->leaf->loop);
    char label[LINK_LABEL];

    l->oversized++;
    if (l->oversized_logged_ns != 0 && now - l->oversized_logged_ns < OVERSIZED_LOG_NS)
        return;
    l->oversized_logged_ns = now;
    log_error("%s - Message on \"%.*s\" dropped: %zu bytes, and max_payload of \"%s\" is %zu "
              "(%llu dropped so far)",
              link_label(l, label), MF_FMT(m->route), size, l->name == NULL ? "" : l->name,
              l->max_out, (unsigned long long)l->oversized);
}

static void count_out(struct leaf_link *l, size_t bytes)
{
    struct account_counters *a = account_counters(l->account);

    l->out_msgs++;
    l->out_bytes += bytes;
    a->out_msgs++;
    a->out_bytes += bytes;
    a->leaf_out_msgs++;
    a->leaf_out_bytes += bytes;
    l->leaf->totals.out_msgs++;
    l->leaf->totals.out_bytes += bytes;
}

/* The peer would end the link at a longer line.  The groups that do not fit get nothing. */
static void fit_line(struct leaf_link *l, struct verb_line *line)
{
    size_t room = verb_line_room(line);

    while (room > VERB_LINE_MAX && line->nqueues > 0)
        room -= line->queue[--line->nqueues].len + 1;
    log_debug("lid:%llu - \"%.*s\" is sent for %u queue groups, and no more: the line is full",
              (unsigned long long)l->id, MF_FMT(line->subject), line->nqueues);
}

static bool send_message(struct leaf_link *l, const struct router_msg *m,
                         const struct mf_slice *queue, uint32_t nqueues)
{
    const struct mf_msg *msg = m->msg;
    size_t hdr = l->headers ? msg->hdr.len : 0;
    struct outgoing out = {.line = {.subject = m->route,
                                    .reply = msg->reply,
                                    .queue = queue,
                                    .nqueues = nqueues,
                                    .hdr = hdr,
                                    .size = hdr + msg->payload.len}};
    ssize_t bytes;

    if (MF_UNLIKELY(l->max_out > 0 && out.line.size > l->max_out)) {
        drop_oversized(l, m, out.line.size);
        return true;
    }
    if (MF_UNLIKELY(mf_starts(msg->reply, "$JS.ACK.")) && !mf_eq(m->route, msg->subject))
        out.line.shown = msg->subject;
    if (MF_UNLIKELY(verb_line_room(&out.line) > VERB_LINE_MAX))
        fit_line(l, &out.line);
    bytes = delivery_write_line(&l->output, l->conn, verb_line_room(&out.line), write_line, &out,
                                msg, l->headers);
    if (bytes < 0)
        return false;
    if (MF_UNLIKELY(log_enabled(LOG_TRACE_)))
        show_message(l, &out.line, msg);
    if (MF_UNLIKELY((size_t)bytes > l->largest))
        l->largest = (size_t)bytes;
    count_out(l, (size_t)bytes);
    link_check_queue(l, m->origin);
    return true;
}

bool cross_send(struct router_remote *r, const struct router_msg *m, const struct mf_slice *queue,
                uint32_t nqueues)
{
    struct leaf_link *l = link_of(r);
    struct mf_buf hdr = MF_BUF_INIT;
    struct mf_msg numbered;
    struct router_msg rm;
    bool sent;

    if (MF_UNLIKELY(l->phase != LEAF_USABLE))
        return false;
    if (MF_LIKELY(m->trace == NULL))
        return send_message(l, m, queue, nqueues);
    numbered = *m->msg;
    rm = *m;
    rm.msg = &numbered;
    sent = cross_trace_out(l, m, &hdr);
    numbered.hdr = mf_buf_slice(&hdr);
    sent = sent && send_message(l, &rm, queue, nqueues);
    mf_buf_fini(&hdr);
    return sent;
}

/* --- in --------------------------------------------------------------------------------------- */

static void count_in(struct leaf_link *l, size_t bytes)
{
    struct account_counters *a = account_counters(l->account);

    l->in_msgs++;
    l->in_bytes += bytes;
    a->in_msgs++;
    a->in_bytes += bytes;
    a->leaf_in_msgs++;
    a->leaf_in_bytes += bytes;
    l->leaf->totals.in_msgs++;
    l->leaf->totals.in_bytes += bytes;
}

static bool list_queues(struct leaf_link *l, const struct verb_cmd *cmd)
{
    struct mf_slice rest = cmd->queues;

    if (cmd->nqueues > 0 &&
        mf_array_reserve(&l->queue, &l->queue_room, cmd->nqueues, sizeof *l->queue) != 0)
        return false;
    for (uint32_t i = 0; i < cmd->nqueues; i++)
        (void)verb_next_queue(&rest, &l->queue[i]);
    return true;
}

/* A violation at the hub closes the link, as nats-server does: the spoke knows its permissions and
 * keeps them.  A nats-server knows nothing of Mayfly's own subjects. */
static void refuse_message(struct leaf_link *l, struct mf_slice subject)
{
    if (l->spoke || mf_starts(subject, "$MAYFLY.")) {
        log_debug("lid:%llu - message on \"%.*s\" dropped: not permitted",
                  (unsigned long long)l->id, MF_FMT(subject));
        return;
    }
    link_log_error(l, "Publish Violation on \"%.*s\" - Check other side configuration",
                   MF_FMT(subject));
    link_send_err(l, "Permissions Violation for Publish to \"%.*s\"", MF_FMT(subject));
    link_close(l, NULL, REASON_PROTOCOL);
}

/* The subject after the account's mappings.  false: the message is dropped. */
static bool map_subject(struct account *a, struct router_msg *m, struct mf_msg *msg,
                        struct mf_buf *text)
{
    size_t room = 512;
    ssize_t n;
    uint8_t *at;

    if (!account_may_map(a, m->route))
        return true;
    do {
        at = mf_buf_reserve(text, room);
        if (at == NULL)
            return false;
        n = account_map(a, m->route, (char *)at, room);
        room *= 4;
    } while (n == MF_LIMIT);
    if (n > 0) {
        msgtrace_mapped(m->trace, mf_slice(at, (size_t)n));
        if (mf_eq(msg->subject, m->route))
            msg->subject = mf_slice(at, (size_t)n);
        m->route = mf_slice(at, (size_t)n);
        m->any_queue = true;
    }
    return n >= 0;
}

void cross_receive(struct leaf_link *l, const struct verb_cmd *cmd)
{
    struct mf_msg msg = {cmd->subject, cmd->reply, cmd->hdr, cmd->payload};
    struct router_msg rm = {
        .route = cmd->subject, .msg = &msg, .from = &l->peer, .nqueues = cmd->nqueues};
    struct mf_buf mapped = MF_BUF_INIT, hdr = MF_BUF_INIT;

    count_in(l, cmd->hdr.len + cmd->payload.len);
    if (!rules_may_receive(l, cmd->subject)) {
        refuse_message(l, cmd->subject);
        return;
    }
    if (!list_queues(l, cmd))
        return; /* no memory: the message is lost, as on a link that breaks */
    rm.queue = l->queue;
    (void)verb_split_reply(&msg.reply, &msg.subject);
    if ((MF_LIKELY(!msgtrace_asked(msg.hdr)) || cross_trace_in(l, &rm, &msg, &hdr)) &&
        map_subject(l->account, &rm, &msg, &mapped))
        (void)account_publish(l->account, &rm);
    msgtrace_release(rm.trace);
    mf_buf_fini(&mapped);
    mf_buf_fini(&hdr);
}
