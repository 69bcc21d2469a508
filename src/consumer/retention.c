/* retention.c: streams that keep messages only while somebody needs them: work queues (until one
 * consumer has acknowledged) and interest (until all have that want them). */
#include "consumer_impl.h"

#include "mayfly/log.h"

#define SLICE 500

/* A message that is being read for it is neither to come nor delivered. */
static bool reads(const struct consumer *c, uint64_t seq)
{
    return c->loading && c->load.seq == seq;
}

static bool needs(const struct consumer *c, uint64_t seq, struct mf_slice subject)
{
    if (pending_find(&c->wait, seq) != NULL || reads(c, seq))
        return true;
    return (seq >= c->next || walk_snapshot_has(c, seq)) && consumer_wants(&c->cfg, subject);
}

/* Nothing of this reads it: the subject is in memory. */
static bool anybody_needs(const struct consumers *g, uint64_t seq)
{
    struct mf_slice subject = stream_subject_at(g->stream, seq);

    for (size_t i = 0; i < g->count; i++)
        if (needs(g->at[i], seq, subject))
            return true;
    return false;
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

    if (policy == RETENTION_LIMITS)
        return;
    if (policy == RETENTION_WORKQUEUE || !anybody_needs(g, sseq))
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
    uint64_t seq;

    for (int n = 0; n < SLICE; n++) {
        seq = stream_next(g->stream, g->sweep_at);
        if (seq == 0 || (g->watching && seq > g->told))
            return;
        g->sweep_at = seq + 1;
        if (!anybody_needs(g, seq))
            drop(g, seq);
    }
    loop_next(g->host->loop, &g->sweep);
}

void retention_sweep(struct consumers *g)
{
    if (stream_config(g->stream)->retention != RETENTION_INTEREST || g->closing)
        return;
    g->sweep_at = 0;
    g->sweep.fn = sweep;
    loop_next(g->host->loop, &g->sweep);
}
