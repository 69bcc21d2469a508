/* config_update.c: which configuration may replace which, and which may stand beside the others. */
#include "consumer/consumer_config.h"

#include "subject/pattern_set.h"

#define NAME_MAX_LEN 255

static bool is_empty(const char *s)
{
    return s == NULL || *s == '\0';
}

static bool text_equal(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

/* --- one after the other ---------------------------------------------------------------------- */

static bool same_start_time(const struct consumer_config *a, const struct consumer_config *b)
{
    return a->has_start_time == b->has_start_time &&
           (!a->has_start_time || a->opt_start_time_ns == b->opt_start_time_ns);
}

/* Finds a change of a fixed member, in nats-server's order; NULL: none. */
static const char *find_fixed_change(const struct consumer_config *now,
                                     const struct consumer_config *next)
{
    const struct {
        bool differs;
        const char *text;
    } rules[] = {
        {now->deliver_policy != next->deliver_policy, "deliver policy can not be updated"},
        {now->mem_storage != next->mem_storage, "storage type can not be updated"},
        {now->direct != next->direct, "direct can not be updated"},
        {now->sourcing != next->sourcing, "sourcing can not be updated"},
        {now->opt_start_seq != next->opt_start_seq, "start sequence can not be updated"},
        {!same_start_time(now, next), "start time can not be updated"},
        {now->ack_policy != next->ack_policy, "ack policy can not be updated"},
        {now->replay_policy != next->replay_policy, "replay policy can not be updated"},
        {now->idle_heartbeat_ns != next->idle_heartbeat_ns, "heart beats can not be updated"},
        {now->flow_control != next->flow_control, "flow control can not be updated"},
        {is_empty(now->deliver_subject) && !is_empty(next->deliver_subject),
         "can not update pull consumer to push based"},
        {!is_empty(now->deliver_subject) && is_empty(next->deliver_subject),
         "can not update push consumer to pull based"},
    };

    for (size_t i = 0; i < MF_COUNT(rules); i++)
        if (rules[i].differs)
            return rules[i].text;
    return NULL;
}

int consumer_config_check_update(const struct consumer_config *now,
                                 const struct consumer_config *next, bool bound, struct js_error *e)
{
    const char *text = find_fixed_change(now, next);

    if (text != NULL)
        return js_error_set(e, JS_CONSUMER_CREATE, text);
    if (bound && !text_equal(now->deliver_subject, next->deliver_subject))
        return js_error_set(e, JS_CONSUMER_NAME_EXIST);
    if (now->max_waiting != next->max_waiting)
        return js_error_set(e, JS_CONSUMER_CREATE, "max waiting can not be updated");
    return 0;
}

/* --- one beside the others -------------------------------------------------------------------- */

/* On a work queue a message belongs to one consumer: no subject may be wanted by two. */
static int check_unique(const struct consumer_config *c, const struct consumer_config_world *w,
                        struct js_error *e)
{
    struct pattern_set set;
    char *const *filters;
    size_t n = consumer_filters(c, &filters);
    int rc;

    if (w->claims == NULL || n == 0)
        return 0;
    rc = pattern_set_strings(&set, filters, n, NULL);
    if (rc == 0)
        rc = pattern_set_overlaps(&set, w->claims, w->self);
    pattern_set_fini(&set);
    if (rc == MF_LIMIT)
        return js_error_set(e, JS_CONSUMER_CREATE,
                            "filters have too many wildcards to be compared with other consumers");
    return rc > 0 ? js_error_set(e, JS_CONSUMER_WQ_CONSUMER_NOT_UNIQUE) : rc;
}

static int check_queue(const struct consumer_config *c, const struct consumer_config_world *w,
                       struct js_error *e)
{
    char *const *filters;

    if (w->stream->retention != RETENTION_WORKQUEUE || c->direct || c->sourcing)
        return 0;
    if (c->ack_policy != ACK_EXPLICIT && c->ack_policy != ACK_FLOW_CONTROL)
        return js_error_set(e, JS_CONSUMER_WQ_REQUIRES_EXPLICIT_ACK);
    if (c->deliver_policy != DELIVER_ALL)
        return js_error_set(e, JS_CONSUMER_WQ_CONSUMER_NOT_DELIVER_ALL);
    if (w->consumers == 0)
        return 0;
    if (consumer_filters(c, &filters) == 0)
        return js_error_set(e, JS_CONSUMER_WQ_MULTIPLE_UNFILTERED);
    return check_unique(c, w, e);
}

/* The stream's own limit; the account's, where it is tighter or the only one; else the server's. */
static uint64_t max_consumers(const struct consumer_config_world *w)
{
    int64_t max = w->stream->max_consumers;

    if (max <= 0 || (w->max_consumers > 0 && w->max_consumers < max))
        max = w->max_consumers;
    if (max > 0)
        return (uint64_t)max;
    return w->default_max_consumers <= 0 ? UINT64_MAX : (uint64_t)w->default_max_consumers;
}

int consumer_config_admit(const struct consumer_config *c, bool exists,
                          const struct consumer_config_world *w, struct js_error *e)
{
    const char *name = is_empty(c->durable_name) ? c->name : c->durable_name;
    int rc;

    if (exists)
        return w->stream->retention == RETENTION_WORKQUEUE ? check_unique(c, w, e) : 0;
    if (w->consumers >= max_consumers(w))
        return js_error_set(e, JS_MAXIMUM_CONSUMERS_LIMIT);
    rc = check_queue(c, w, e);
    if (rc == 0 && name != NULL && strlen(name) > NAME_MAX_LEN)
        rc = js_error_set(e, JS_CONSUMER_NAME_TOO_LONG, "255");
    return rc;
}
