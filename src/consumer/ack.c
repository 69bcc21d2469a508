/* ack.c: what clients say about messages they got. */
#include "consumer_impl.h"

#include "mayfly/log.h"

#include <stdlib.h>

int64_t ack_wait_of(const struct consumer *c, const struct pend *e)
{
    size_t i = e->count == 0 ? 0 : e->count - 1;

    if (c->cfg.backoff.n > 0)
        return c->cfg.backoff.at[i < c->cfg.backoff.n ? i : c->cfg.backoff.n - 1];
    return c->cfg.ack_wait_ns > 0 ? c->cfg.ack_wait_ns : 30 * CLOCK_S;
}

/* --- floors -------------------------------------------------------------------------------- */

/* When nothing waits, the floor is where delivery is; else just below the lowest that waits, if
 * the one that stood on the floor has gone. */
static void floor_move(struct consumer *c, uint64_t dseq)
{
    const struct pend *first = pending_first(&c->wait);

    if (first == NULL) {
        c->floor_dseq = c->dseq;
        c->floor_sseq = c->sseq;
    } else if (dseq == c->floor_dseq + 1 && first->dseq > c->floor_dseq) {
        c->floor_dseq = first->dseq - 1;
        c->floor_sseq = first->sseq - 1;
    }
}

void ack_settled(struct consumer *c, struct pend *e)
{
    uint64_t dseq = e->dseq, sseq = e->sseq;

    pending_remove(&c->wait, e);
    floor_move(c, dseq);
    state_touch(c, sseq);
}

void ack_floor_after_loss(struct consumer *c)
{
    if (c->wait.lost)
        floor_move(c, c->floor_dseq + 1); /* the lowest that waits is the lowest there is */
    c->wait.lost = false;
}

void ack_gone(struct consumer *c, uint64_t sseq, bool requested)
{
    struct pend *e = pending_find(&c->wait, sseq);

    if (e == NULL)
        return;
    consumer_tell(c, CONSUMER_TERMINATED, sseq, e->dseq, e->count,
                  requested ? MF_LIT("Unacknowledged message was deleted")
                            : MF_LIT("Message deleted by stream limits"));
    ack_settled(c, e);
    pump_soon(c); /* there may be room for another */
}

/* --- kinds of acks ------------------------------------------------------------------------- */

static void sample(struct consumer *c, const struct pend *e)
{
    struct consumer_event ev = {.kind = CONSUMER_ACKED,
                                .consumer = c,
                                .stream_seq = e->sseq,
                                .consumer_seq = e->dseq,
                                .deliveries = e->count,
                                .ack_time_ns = group_now(c->group) - e->sent_ns};

    if (c->sample == 0 || (c->sample < 100 && rand_below(100) >= c->sample))
        return;
    c->group->host->event(c->group->host->arg, &ev);
}

/* Everything up to this one: ack_policy all. */
static void ack_upto(struct consumer *c, uint64_t sseq, uint64_t dseq)
{
    struct pend *e;

    while ((e = pending_first(&c->wait)) != NULL && e->sseq <= sseq) {
        uint64_t seq = e->sseq;
        pending_remove(&c->wait, e);
        state_touch(c, seq);
        retention_acked(c, seq);
    }
    if (dseq > c->floor_dseq && dseq <= c->dseq) {
        c->floor_dseq = dseq;
        c->floor_sseq = sseq;
    }
}

static void ack_one(struct consumer *c, uint64_t sseq, uint64_t dseq)
{
    struct pend *e = pending_find(&c->wait, sseq);

    c->acked_ns = group_now(c->group);
    if (e != NULL)
        sample(c, e);
    if (c->cfg.ack_policy == ACK_ALL || c->cfg.ack_policy == ACK_FLOW_CONTROL) {
        ack_upto(c, sseq, dseq);
    } else if (e != NULL) {
        ack_settled(c, e);
        retention_acked(c, sseq);
    }
}

static void term(struct consumer *c, uint64_t sseq, uint64_t dseq, struct mf_slice reason)
{
    struct pend *e = pending_find(&c->wait, sseq);

    if (e == NULL)
        return;
    consumer_tell(c, CONSUMER_TERMINATED, sseq, dseq, e->count, reason);
    ack_settled(c, e);
    retention_acked(c, sseq);
}

/* Given up: it was delivered as often as it may be.  It stays in the stream. */
static void exhausted(struct consumer *c, struct pend *e)
{
    consumer_tell(c, CONSUMER_MAX_DELIVERIES, e->sseq, e->dseq, e->count, MF_SLICE_NONE);
    state_touch(c, e->sseq);
    pending_remove(&c->wait, e);
}

static bool may_again(const struct consumer *c, const struct pend *e)
{
    return c->cfg.max_deliver <= 0 || e->count < (uint64_t)c->cfg.max_deliver;
}

/* {"delay": N} in nanoseconds, or a Go duration; anything else: at once. */
static int64_t nak_delay(struct mf_slice text)
{
    int64_t ns;
    uint64_t n;

    while (text.len > 0 && text.ptr[0] == ' ')
        text = mf_slice(text.ptr + 1, text.len - 1);
    if (text.len == 0)
        return 0;
    if (text.ptr[0] == '{') {
        const uint8_t *p = memmem(text.ptr, text.len, "\"delay\"", 7);
        const uint8_t *end = text.ptr + text.len;
        if (p == NULL)
            return 0;
        for (p += 7; p < end && (*p == ' ' || *p == ':' || *p == '\t' || *p == '\n'); p++)
            ;
        const uint8_t *digits = p;
        while (p < end && *p >= '0' && *p <= '9')
            p++;
        return mf_parse_u64(mf_slice(digits, (size_t)(p - digits)), &n) == 0 && n < INT64_MAX / 2
                   ? (int64_t)n
                   : 0;
    }
    return clock_parse_duration(text, &ns) == 0 && ns > 0 ? ns : 0;
}

static void nak(struct consumer *c, uint64_t sseq, uint64_t dseq, struct mf_slice arg)
{
    struct pend *e = pending_find(&c->wait, sseq);
    int64_t delay = nak_delay(arg);

    if (e == NULL)
        return;
    consumer_tell(c, CONSUMER_NAKED, sseq, dseq, e->count, MF_SLICE_NONE);
    if (!may_again(c, e) && delay == 0) {
        exhausted(c, e);
        return;
    }
    if (delay == 0 || pending_await(&c->wait, e, group_after(c->group, delay)) != 0)
        pending_requeue(&c->wait, e);
    state_touch(c, sseq);
}

static void in_progress(struct consumer *c, uint64_t sseq)
{
    struct pend *e = pending_find(&c->wait, sseq);

    if (e == NULL || e->heap == 0)
        return;
    e->sent_ns = group_now(c->group);
    (void)!pending_await(&c->wait, e, group_after(c->group, ack_wait_of(c, e)));
    state_touch(c, sseq);
}

void ack_flow(struct consumer *c, uint64_t sseq, uint64_t dseq)
{
    if (sseq <= c->sseq)
        ack_one(c, sseq, dseq);
}

/* --- in ------------------------------------------------------------------------------------ */

static bool starts(struct mf_slice body, const char *word, struct mf_slice *rest)
{
    size_t n = strlen(word);

    if (!mf_starts(body, word))
        return false;
    *rest = mf_slice(body.ptr + n, body.len - n);
    return true;
}

/* <delivered>.<stream seq>.<consumer seq>.<time>.<pending> */
static bool numbers(struct mf_slice tokens, uint64_t *sseq, uint64_t *dseq)
{
    uint64_t n;

    return subject_tokens(tokens) >= 5 && mf_parse_u64(subject_token(tokens, 0), &n) == 0 &&
           mf_parse_u64(subject_token(tokens, 1), sseq) == 0 &&
           mf_parse_u64(subject_token(tokens, 2), dseq) == 0;
}

bool consumer_ack(struct consumer *c, struct mf_slice tokens, struct mf_slice reply,
                  struct mf_slice body)
{
    uint64_t sseq, dseq;
    struct mf_slice rest = MF_SLICE_NONE;
    bool next = false;

    if (c->cfg.ack_policy == ACK_NONE)
        return false;
    if (c->held || !numbers(tokens, &sseq, &dseq))
        return true; /* a stranger's; nobody is hurt */
    consumer_alive(c);
    if (sseq > c->sseq)
        return true; /* it was never delivered */
    if (body.len == 0 || mf_eq_str(body, "+ACK") || mf_eq_str(body, "+OK"))
        ack_one(c, sseq, dseq);
    else if (starts(body, "+NXT", &rest))
        next = true, ack_one(c, sseq, dseq);
    else if (starts(body, "-NAK", &rest))
        nak(c, sseq, dseq, rest);
    else if (mf_eq_str(body, "+WPI"))
        in_progress(c, sseq);
    else if (starts(body, "+TERM", &rest))
        term(c, sseq, dseq, mf_trim(rest));
    if (next && reply.len > 0)
        consumer_pull(c, reply, mf_trim(rest), MF_SLICE_NONE);
    else if (reply.len > 0)
        state_confirm(c, reply);
    pump_soon(c);
    return true;
}

/* --- nobody said anything ------------------------------------------------------------------ */

void ack_timeouts(struct consumer *c)
{
    int64_t now = group_mono(c->group);
    struct pend *e;

    while ((e = pending_due(&c->wait, now)) != NULL) {
        if (may_again(c, e))
            pending_requeue(&c->wait, e);
        else
            exhausted(c, e);
    }
}
