/* pull_groups.c: priority groups: overflow, pinned client, prioritized.  A consumer has one pin,
 * whichever of its groups a request names, as in nats-server. */
#include "consumer/pull_groups_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define PRIORITY_PLAIN 10 /* of a request that is no document: behind all others */

static void refuse_pull(struct consumer *c, struct mf_slice reply, const char *status)
{
    struct mf_buf *b = lend_take();

    if (b == NULL)
        return;
    header_begin(b, status);
    header_end(b);
    struct mf_msg m = {.subject = reply, .hdr = mf_buf_slice(b)};
    if (!mf_buf_failed(b))
        (void)c->set->host->deliver(c->set->host->arg, reply, &m);
    lend_give(b);
}

static bool is_group(const struct consumer *c, struct mf_slice group)
{
    for (size_t i = 0; i < c->cfg.priority_groups.n; i++)
        if (mf_eq_str(group, c->cfg.priority_groups.at[i]))
            return true;
    return false;
}

/* Checks the request against the priority policy; NULL: fine. */
static const char *find_mistake(const struct consumer *c, const struct request *r,
                                struct mf_slice group, bool formal)
{
    int policy = c->cfg.priority_policy;

    if ((r->min_pending != 0 || r->min_ack_pending != 0) && policy != PRIORITY_OVERFLOW)
        return "400 Bad Request - Not a Overflow Priority consumer";
    if (r->id[0] != '\0' && policy != PRIORITY_PINNED)
        return "400 Bad Request - Not a Pinned Client Priority consumer";
    if (r->priority == 255)
        return "400 Bad Request - Priority must be between 0 and 9";
    if (policy == PRIORITY_NONE || !formal)
        return NULL;
    if (group.len == 0)
        return "400 Bad Request - Priority Group missing";
    if (!is_group(c, group))
        return "400 Bad Request - Invalid Priority Group";
    return NULL;
}

bool groups_admit(struct consumer *c, struct request *r, struct mf_slice group, bool formal,
                  struct mf_slice reply)
{
    const char *status = find_mistake(c, r, group, formal);

    /* While no client is pinned, a stale id is refused only when there is a message to deliver. */
    if (status == NULL && c->cfg.priority_policy == PRIORITY_PINNED && r->id[0] != '\0' &&
        c->pin.id[0] != '\0' && strcmp(r->id, c->pin.id) != 0)
        status = "423 Nats-Pin-Id mismatch";
    if (status != NULL) {
        refuse_pull(c, reply, status);
        return false;
    }
    if (formal && c->cfg.priority_policy != PRIORITY_NONE)
        snprintf(r->group, sizeof r->group, "%.*s", (int)group.len, (const char *)group.ptr);
    if (!formal)
        r->priority = PRIORITY_PLAIN;
    if (c->cfg.priority_policy == PRIORITY_PINNED && r->id[0] != '\0')
        c->pin.until_ns = consumers_delay(c->set, c->cfg.priority_timeout_ns);
    return true;
}

enum turn groups_turn(struct consumer *c, const struct request *r)
{
    switch (c->cfg.priority_policy) {
    case PRIORITY_OVERFLOW:
        if ((r->min_pending <= 0 && r->min_ack_pending <= 0) ||
            (r->min_pending > 0 && c->todo.pending + 1 >= (uint64_t)r->min_pending) ||
            (r->min_ack_pending > 0 && c->wait.count >= (uint64_t)r->min_ack_pending))
            return TURN_SERVE;
        return TURN_PASS;
    case PRIORITY_PINNED:
        if (strcmp(r->id, c->pin.id) == 0)
            return TURN_SERVE;
        return r->id[0] == '\0' ? TURN_PASS : TURN_END;
    default:
        return TURN_SERVE;
    }
}

void groups_insert(struct consumer *c, struct request *r)
{
    struct mf_list *at = c->pulls.list.prev;

    if (c->cfg.priority_policy == PRIORITY_PRIORITIZED)
        while (at != &c->pulls.list &&
               mf_container(at, struct request, link)->priority > r->priority)
            at = at->prev;
    mf_list_add_after(at, &r->link);
}

void groups_sort(struct consumer *c)
{
    struct mf_list all, *n;

    mf_list_init(&all);
    mf_list_move(&all, &c->pulls.list);
    while ((n = mf_list_pop(&all)) != NULL)
        groups_insert(c, mf_container(n, struct request, link));
}

/* A client keeps its pin only by new requests in time: a delivery does not extend it. */
bool groups_pin(struct consumer *c, struct request *r, bool *fresh)
{
    struct consumer_event ev = {.kind = CONSUMER_PINNED, .consumer = c};

    *fresh = false;
    if (c->cfg.priority_policy != PRIORITY_PINNED)
        return false;
    if (c->pin.id[0] != '\0' || r->group[0] == '\0')
        return true;
    *fresh = true;
    rand_nuid(c->pin.id);
    snprintf(r->id, sizeof r->id, "%s", c->pin.id);
    snprintf(c->pin.group, sizeof c->pin.group, "%s", r->group);
    c->pin.since_ns = consumers_now(c->set);
    c->pin.until_ns = consumers_delay(c->set, c->cfg.priority_timeout_ns);
    ev.pinned_id = mf_str(c->pin.id);
    ev.group = mf_str(c->pin.group);
    c->set->host->event(c->set->host->arg, &ev);
    return true;
}

void groups_unpin(struct consumer *c)
{
    c->pin.id[0] = '\0';
    c->pin.since_ns = 0;
}

/* Requests that still have the id are refused when there is a message to deliver. */
static void unpin_group(struct consumer *c, struct mf_slice group, const char *reason)
{
    struct consumer_event ev = {
        .kind = CONSUMER_UNPINNED, .consumer = c, .group = group, .reason = mf_str(reason)};

    groups_unpin(c);
    c->set->host->event(c->set->host->arg, &ev);
    pump_soon(c);
}

void groups_timeout(struct consumer *c)
{
    if (c->pin.id[0] != '\0' && c->pin.until_ns <= consumers_mono(c->set))
        unpin_group(c, mf_str(c->pin.group), "timeout");
}

int consumer_unpin(struct consumer *c, struct mf_slice group, struct js_error *e)
{
    if (!is_group(c, group))
        return js_error_set(e, JS_CONSUMER_INVALID_PRIORITY_GROUP);
    unpin_group(c, group, "admin");
    return 0;
}
