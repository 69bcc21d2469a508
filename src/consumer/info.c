/* info.c: the state of a consumer for CONSUMER.INFO. */
#include "consumer/consumer_impl.h"

const char *consumer_name(const struct consumer *c)
{
    return c->name;
}

const struct consumer_config *consumer_config(const struct consumer *c)
{
    return &c->cfg;
}

struct consumers *consumer_set_of(const struct consumer *c)
{
    return c->set;
}

void consumer_set_data(struct consumer *c, void *data)
{
    c->data = data;
}

void *consumer_data(const struct consumer *c)
{
    return c->data;
}

void consumer_info(struct consumer *c, struct consumer_info *out)
{
    int64_t now = consumers_wall(c->set);
    bool paused = c->cfg.pause_until_ns > now;

    consumers_catch_up(c->set);
    if (c->push != NULL && c->push->active)
        push_look(c); /* unsubscribing sends no notification */
    pull_prune(c);
    *out = (struct consumer_info){.created_ns = c->created_ns,
                                  .delivered_cseq = c->delivered.dseq,
                                  .delivered_sseq = c->delivered.sseq,
                                  .floor_cseq = c->floor.dseq,
                                  .floor_sseq = c->floor.sseq,
                                  .delivered_at_ns = c->delivered.at_ns,
                                  .acked_at_ns = c->floor.acked_ns,
                                  .ack_pending = c->wait.count,
                                  .redelivered = c->cfg.max_deliver == 1 ? 0 : c->wait.redelivered,
                                  .waiting = pull_waiting(c),
                                  .pending = c->todo.pending,
                                  .push_bound = c->push != NULL && c->push->active,
                                  .paused = paused,
                                  .pause_remaining_ns = paused ? c->cfg.pause_until_ns - now : 0,
                                  .pinned_id = c->pin.id,
                                  .pinned_at_ns = c->pin.since_ns};
}
