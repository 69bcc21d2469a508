/* retention.c: streams that keep messages only while somebody needs them: work queues (until one
 * consumer has acknowledged) and interest (until all have that want them). */
#include "consumer_impl.h"

#include "mayfly/log.h"

#define SLICE 500

static bool needs(const struct consumer *c, const struct stream_msg *m)
{
    if (pending_find(&c->wait, m->seq) != NULL)
        return true;
    return (m->seq >= c->next || walk_snapshot_has(c, m->seq)) &&
           consumer_wants(&c->cfg, m->subject);
}

static bool anybody_needs(const struct consumers *g, const struct stream_msg *m)
{
    for (size_t i = 0; i < g->count; i++)
        if (needs(g->at[i], m))
            return true;
    return false;
}

/* Whether it is looked at at all can be said without reading it. */
static bool all_past(const struct consumers *g, uint64_t seq)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->at[i]->next <= seq || g->at[i]->snapshot != NULL ||
            pending_find(&g->at[i]->wait, seq) != NULL)
            return false;
    return true;
}

static void drop(struct consumers *g, uint64_t seq)
{
    int rc = stream_drop(g->stream, seq, NULL);

    if (rc != 0 && rc != MF_NOTFOUND)
        log_warn("stream %s: message %llu is acknowledged but stays: %s", stream_name(g->stream),
                 (unsigned long long)seq, mf_err_text(rc));
}

void retention_acked(struct consumer *c, uint64_t sseq)
{
    struct consumers *g = c->group;
    int policy = stream_config(g->stream)->retention;
    struct stream_msg m;

    if (policy == RETENTION_LIMITS)
        return;
    if (policy == RETENTION_WORKQUEUE || all_past(g, sseq) ||
        (stream_get(g->stream, sseq, &m) == 0 && !anybody_needs(g, &m)))
        drop(g, sseq);
}

bool retention_wanted(void *group, struct mf_slice subject)
{
    struct consumers *g = group;

    return router_has_interest(g->filters, subject);
}

static void sweep(struct loop_defer *d)
{
    struct consumers *g = mf_container(d, struct consumers, sweep);
    struct stream_msg m;
    uint64_t seq;

    for (int n = 0; n < SLICE; n++) {
        seq = stream_next(g->stream, g->sweep_at);
        if (seq == 0 || seq > g->told) {
            g->sweeping = false;
            return;
        }
        g->sweep_at = seq + 1;
        if (all_past(g, seq) || (stream_get(g->stream, seq, &m) == 0 && !anybody_needs(g, &m)))
            drop(g, seq);
    }
    loop_timer_arm(g->sweep_timer, group_mono(g));
}

void retention_sweep_fire(void *group)
{
    sweep(&((struct consumers *)group)->sweep);
}

void retention_sweep(struct consumers *g)
{
    if (stream_config(g->stream)->retention != RETENTION_INTEREST || g->closing)
        return;
    g->sweep_at = 0;
    if (g->sweep_timer == NULL)
        g->sweep_timer = loop_timer_new(g->host->loop, retention_sweep_fire, g);
    if (g->sweep_timer == NULL)
        return;
    g->sweeping = true;
    loop_timer_arm(g->sweep_timer, group_mono(g));
}
