/* pull_groups.c: priority groups: overflow, pinned client, prioritized.  Only the first group of a
 * consumer means anything, as in nats-server. */
#include "consumer_impl.h"

#include <stdio.h>
#include <stdlib.h>

static void refuse(struct consumer *c, struct mf_slice reply, const char *status)
{
    struct mf_buf *b = &c->group->hdr;

    mf_buf_clear(b);
    header_begin(b, status);
    header_end(b);
    struct mf_msg m = {.subject = reply, .hdr = mf_buf_slice(b)};
    (void)c->group->host->deliver(c->group->host->arg, reply, &m);
}

static bool known(const struct consumer *c, struct mf_slice group)
{
    for (size_t i = 0; i < c->cfg.priority_groups.n; i++)
        if (mf_eq_str(group, c->cfg.priority_groups.at[i]))
            return true;
    return false;
}

/* The rules of what a request may ask; NULL: fine. */
static const char *wrong(const struct consumer *c, const struct request *r, struct mf_slice group,
                         bool formal)
{
    int policy = c->cfg.priority_policy;

    if ((r->min_pending > 0 || r->min_ack_pending > 0) && policy != PRIORITY_OVERFLOW)
        return "400 Bad Request - Not a Overflow Priority consumer";
    if (r->id[0] != '\0' && policy != PRIORITY_PINNED)
        return "400 Bad Request - Not a Pinned Client Priority consumer";
    if (r->priority == 255)
        return "400 Bad Request - Priority must be between 0 and 9";
    if (policy == PRIORITY_NONE || !formal)
        return NULL;
    if (group.len == 0)
        return "400 Bad Request - Priority Group missing";
    if (!known(c, group))
        return "400 Bad Request - Invalid Priority Group";
    return NULL;
}

bool groups_admit(struct consumer *c, struct request *r, struct mf_slice group, bool formal,
                  struct mf_slice reply)
{
    const char *status = wrong(c, r, group, formal);

    if (status == NULL && c->cfg.priority_policy == PRIORITY_PINNED && r->id[0] != '\0' &&
        strcmp(r->id, c->pin) != 0)
        status = "423 Nats-Pin-Id mismatch";
    if (status != NULL) {
        refuse(c, reply, status);
        return false;
    }
    if (c->cfg.priority_policy == PRIORITY_PINNED && r->id[0] != '\0')
        c->pin_until_ns = group_after(c->group, c->cfg.priority_timeout_ns);
    return true;
}

bool groups_may_serve(struct consumer *c, const struct request *r)
{
    switch (c->cfg.priority_policy) {
    case PRIORITY_OVERFLOW:
        if (r->min_pending == 0 && r->min_ack_pending == 0)
            return true;
        return (r->min_pending > 0 && c->pending + 1 >= r->min_pending) ||
               (r->min_ack_pending > 0 && c->wait.count >= r->min_ack_pending);
    case PRIORITY_PINNED:
        return c->pin[0] == '\0' || strcmp(r->id, c->pin) == 0;
    default:
        return true;
    }
}

void groups_insert(struct consumer *c, struct request *r)
{
    struct mf_list *at = c->requests.prev;

    if (c->cfg.priority_policy == PRIORITY_PRIORITIZED)
        while (at != &c->requests && mf_container(at, struct request, link)->priority > r->priority)
            at = at->prev;
    mf_list_add_after(at, &r->link);
}

bool groups_pin(struct consumer *c, struct request *r)
{
    if (c->cfg.priority_policy != PRIORITY_PINNED)
        return false;
    if (c->pin[0] == '\0') {
        struct consumer_event ev = {.kind = CONSUMER_PINNED, .consumer = c};
        rand_nuid(c->pin);
        c->pinned_ns = group_now(c->group);
        ev.pinned_id = mf_str(c->pin);
        c->group->host->event(c->group->host->arg, &ev);
        snprintf(r->id, sizeof r->id, "%s", c->pin);
    }
    c->pin_until_ns = group_after(c->group, c->cfg.priority_timeout_ns);
    return true;
}

static void unpin(struct consumer *c, const char *reason)
{
    struct consumer_event ev = {.kind = CONSUMER_UNPINNED, .consumer = c, .reason = mf_str(reason)};
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &c->requests)
    {
        struct request *r = mf_container(pos, struct request, link);
        if (r->id[0] == '\0')
            continue;
        pull_status(c, r, "423 Nats-Wrong-Pin-Id", true);
        pull_drop(c, r);
    }
    c->pin[0] = '\0';
    c->group->host->event(c->group->host->arg, &ev);
    pump_soon(c);
}

void groups_timeout(struct consumer *c)
{
    if (c->pin[0] != '\0' && c->pin_until_ns <= group_mono(c->group))
        unpin(c, "timeout");
}

int consumer_unpin(struct consumer *c, struct mf_slice group, struct js_error *e)
{
    if (!known(c, group))
        return js_refuse(e, JS_CONSUMER_INVALID_PRIORITY_GROUP);
    unpin(c, "admin");
    return 0;
}
