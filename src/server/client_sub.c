/* client_sub.c: SUB, UNSUB and deliveries to a client's subscriptions. */
#include "server/client_trace_impl.h"
#include "server/server_impl.h"

#include "codec/hash.h"
#include "msgtrace/msgtrace.h"
#include "base/log.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

static bool sub_deliver(struct router_sub *rs, const struct router_msg *m);

bool server_is_client_sub(const struct router_sub *rs)
{
    return rs->deliver == sub_deliver;
}

/* --- SUB -------------------------------------------------------------------------------------- */

static struct sub *sub_find(const struct client *c, struct mf_slice sid)
{
    for (struct table_node *n = table_first(&c->subs, hash_slice(sid)); n != NULL;
         n = table_next(n)) {
        struct sub *sub = mf_container(n, struct sub, node);
        if (mf_eq(mf_slice(sub->sid, sub->sid_len), sid))
            return sub;
    }
    return NULL;
}

static void refuse_subscription(struct client *c, struct mf_slice subject, struct mf_slice queue)
{
    char label[256];

    if (queue.len > 0)
        client_send_err(c,
                        "Permissions Violation for Subscription to \"%.*s\" using queue \"%.*s\"",
                        MF_FMT(subject), MF_FMT(queue));
    else
        client_send_err(c, "Permissions Violation for Subscription to \"%.*s\"", MF_FMT(subject));
    log_error("%s - Subscription Violation - Subject \"%.*s\"",
              client_label(c, label, sizeof label), MF_FMT(subject));
}

static bool check_subscribe(struct client *c, struct mf_slice subject, struct mf_slice queue)
{
    if (mf_eq_str(queue, "_sys_") || !perms_can_subscribe(c->perms, subject, queue)) {
        refuse_subscription(c, subject, queue);
        return false;
    }
    return true;
}

static bool check_limits(struct client *c, struct mf_slice subject)
{
    const struct options *o = c->srv->opts;

    if (o->max_sub_tokens > 0 && subject_tokens(subject) > (uint64_t)o->max_sub_tokens) {
        client_send_err(c, "Permissions Violation for Subscription to \"%.*s\", too many tokens",
                        MF_FMT(subject));
        return false;
    }
    if (client_subs_full(c)) {
        client_send_err(c, "maximum subscriptions exceeded");
        return false;
    }
    return true;
}

static struct sub *sub_new(struct client *c, const struct proto_cmd *cmd)
{
    struct sub *sub = calloc(1, sizeof *sub + cmd->sid.len);

    if (sub == NULL)
        return NULL;
    sub->client = c;
    sub->rs.deliver = sub_deliver;
    sub->rs.client = true;
    sub->rs.dry_runs = true;
    sub->sid_len = (uint32_t)cmd->sid.len;
    memcpy(sub->sid, cmd->sid.ptr, cmd->sid.len);
    sub->filtered = perms_filter_needed_queue(c->perms, cmd->subject, cmd->queue);
    return sub;
}

void client_subscribe(struct client *c, const struct proto_cmd *cmd)
{
    struct sub *sub;

    c->last_mono_ns = loop_mono_ns(c->srv->loop);
    if (!subject_valid(cmd->subject)) {
        client_send_err(c, "Invalid Subject");
        return;
    }
    if (!check_subscribe(c, cmd->subject, cmd->queue) || !check_limits(c, cmd->subject))
        return;
    if (sub_find(c, cmd->sid) == NULL) { /* a sid in use keeps its first subscription */
        sub = sub_new(c, cmd);
        if (sub == NULL || table_add(&c->subs, &sub->node, hash_slice(cmd->sid)) != 0)
            goto err_free;
        if (account_subscribe(c->account, cmd->subject, cmd->queue, &sub->rs) != 0)
            goto err_del;
        account_counters(c->account)->subs++;
        c->srv->nsubs++;
    }
    client_send_ok(c);
    return;
err_del:
    table_del(&c->subs, &sub->node);
err_free:
    free(sub);
    client_close(c, NULL, REASON_NO_MEMORY);
}

/* --- UNSUB ------------------------------------------------------------------------------------ */

static void sub_free(struct sub *sub)
{
    struct client *c = sub->client;

    if (MF_UNLIKELY(log_enabled(LOG_TRACE_)))
        client_trace_delsub(c, mf_slice(sub->sid, sub->sid_len));
    account_unsubscribe(c->account, &sub->rs);
    table_del(&c->subs, &sub->node);
    account_counters(c->account)->subs--;
    c->srv->nsubs--;
    free(sub);
}

void client_unsubscribe(struct client *c, const struct proto_cmd *cmd)
{
    struct sub *sub = sub_find(c, cmd->sid);

    c->last_mono_ns = loop_mono_ns(c->srv->loop);
    if (sub != NULL && cmd->max > sub->delivered)
        sub->max = cmd->max;
    else if (sub != NULL)
        sub_free(sub);
    client_send_ok(c);
}

bool client_drop_subs(struct client *c, bool sliced)
{
    struct table_node *n;

    while ((n = table_any(&c->subs, &c->subs_at)) != NULL) {
        sub_free(mf_container(n, struct sub, node));
        if (sliced && work_spent_every(c->srv->loop, 16))
            return c->subs.count == 0;
    }
    return true;
}

/* New permissions end a subscription that the former ones allowed. */
static void tell_removed(struct client *c, const struct sub *sub)
{
    struct mf_slice subject = sub->rs.pattern, sid = mf_slice(sub->sid, sub->sid_len);
    char label[256];

    client_send_err(c, "Permissions Violation for Subscription to \"%.*s\" (sid \"%.*s\")",
                    MF_FMT(subject), MF_FMT(sid));
    log_info("%s - Removed sub \"%.*s\" (sid \"%.*s\") - not authorized",
             client_label(c, label, sizeof label), MF_FMT(subject), MF_FMT(sid));
}

void client_recheck_subs(struct client *c)
{
    struct sub **refused = calloc(c->subs.count + 1, sizeof *refused);
    size_t n = 0;

    if (refused == NULL) { /* a client must not keep outdated permissions */
        client_close(c, NULL, REASON_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < c->subs.cap; i++)
        for (struct table_node *at = c->subs.slot[i]; at != NULL; at = at->next) {
            struct sub *sub = mf_container(at, struct sub, node);
            sub->filtered = perms_filter_needed_queue(c->perms, sub->rs.pattern, sub->rs.queue);
            if (!perms_can_subscribe(c->perms, sub->rs.pattern, sub->rs.queue))
                refused[n++] = sub;
        }
    for (size_t i = 0; i < n; i++) { /* after the walk: deleting may shrink the table */
        tell_removed(c, refused[i]);
        sub_free(refused[i]);
    }
    free(refused);
}

/* --- deliveries ------------------------------------------------------------------------------- */

/* Returns the bytes of header and payload sent, or -1. */
static ssize_t sub_write(struct sub *sub, const struct mf_msg *m)
{
    struct client *c = sub->client;

    return delivery_write(&c->output, c->conn, mf_slice(sub->sid, sub->sid_len), m, c->headers);
}

static void count_delivery(struct sub *sub, size_t bytes)
{
    struct client *c = sub->client;
    struct account_counters *counters = account_counters(c->account);

    sub->delivered++;
    c->out_msgs++;
    c->out_bytes += bytes;
    c->srv->total.out_msgs++;
    c->srv->total.out_bytes += bytes;
    counters->out_msgs++;
    counters->out_bytes += bytes;
}

/* Not a delivery: not counted, and does not use up an UNSUB's maximum. */
void sub_send(struct sub *sub, const struct mf_msg *m)
{
    if (sub->client->phase != CLIENT_CLOSING)
        (void)sub_write(sub, m);
}

/* A slow reader stalls the publishers that fill its queue, for a few milliseconds at a time, so
 * that it can catch up.  A reader that reads nothing stalls nobody: it is closed when its queue is
 * full. */
static void check_queue(struct client *c, const struct router_msg *m)
{
    size_t queued = net_queued(c->conn), max = (size_t)c->srv->opts->max_pending;

    if (MF_LIKELY(queued < max / 4 * 3))
        return;
    if (queued > max) {
        client_slow(c);
    } else if (m->origin != NULL && m->origin != c && !c->srv->opts->no_fast_producer_stall &&
               delivery_is_read(&c->output, queued, loop_mono_ns(c->srv->loop))) {
        struct client *publisher = (struct client *)m->origin;
        publisher->stall_wanted = true;
    }
}

static bool deliver_traced(struct sub *sub, const struct router_msg *m);

static bool sub_deliver(struct router_sub *rs, const struct router_msg *m)
{
    struct sub *sub = mf_container(rs, struct sub, rs);
    struct client *c = sub->client;
    ssize_t bytes;

    if (MF_UNLIKELY(m->trace != NULL))
        return deliver_traced(sub, m);
    if (MF_UNLIKELY(c->phase == CLIENT_CLOSING) || (m->origin == c && !c->echo))
        return false;
    if (MF_UNLIKELY(sub->filtered) &&
        !perms_can_deliver_queue(c->perms, m->msg->subject, rs->queue))
        return false;
    bytes = sub_write(sub, m->msg);
    if (MF_UNLIKELY(bytes < 0))
        return false;
    count_delivery(sub, (size_t)bytes);
    if (MF_UNLIKELY(log_enabled(LOG_DEBUG_)))
        client_trace_delivery(sub, m->msg);
    if (MF_UNLIKELY(c->perms != NULL) && m->msg->reply.len > 0)
        client_grant_reply(c, m->origin, m->msg->reply);
    check_queue(c, m);
    if (MF_UNLIKELY(sub->max != 0) && sub->delivered >= sub->max)
        sub_free(sub);
    return true;
}

/* --- traced messages -------------------------------------------------------------------------- */

void client_trace_peer(const struct client *c, struct msgtrace_peer *out)
{
    *out = (struct msgtrace_peer){.kind = MSGTRACE_CLIENT,
                                  .cid = c->cid,
                                  .name = c->opts.name,
                                  .account = account_name(c->account)};
}

static const char *why_not(const struct sub *sub, const struct router_msg *m)
{
    const struct client *c = sub->client;

    if (m->origin == c && !c->echo)
        return "Not delivered because of no echo";
    if (sub->filtered && !perms_can_deliver_queue(c->perms, m->msg->subject, sub->rs.queue))
        return "Not delivered because subscription denies this subject";
    return c->phase == CLIENT_CLOSING ? "Not delivered because client is closed" : NULL;
}

static bool deliver_traced(struct sub *sub, const struct router_msg *m)
{
    struct router_msg untraced = *m;
    const char *error = why_not(sub, m);
    struct msgtrace_peer to;

    client_trace_peer(sub->client, &to);
    msgtrace_delivered(m->trace, &to, sub->rs.pattern, sub->rs.queue, error);
    if (error != NULL)
        return false;
    untraced.trace = NULL;
    return m->dry_run || sub_deliver(&sub->rs, &untraced);
}
