/* ack.c: consumer acks: +ACK, -NAK, +WPI, +NXT, +TERM; redelivery. */
#include "consumer/consumer_impl.h"

#include "codec/json.h"
#include "base/log.h"

#include <stdlib.h>

#define UPTO_SLICE       1000 /* messages that are acknowledged in one turn */
#define MOVE_AT_ONCE     1000 /* that get another deadline in one turn; more do in slices */
#define MOVE_SLICE       256
#define ACK_WAIT_FLOW_NS (100LL * 365 * 24 * 3600 * CLOCK_S)

static int64_t wait_by(const struct consumer_config *cfg, const struct pend *e)
{
    size_t i = e->count == 0 ? 0 : e->count - 1;

    if (cfg->ack_policy == ACK_FLOW_CONTROL)
        return ACK_WAIT_FLOW_NS; /* a client that missed it asks for all that follow */
    if (cfg->backoff.n > 0)
        return cfg->backoff.at[i < cfg->backoff.n ? i : cfg->backoff.n - 1];
    return cfg->ack_wait_ns > 0 ? cfg->ack_wait_ns : 30 * CLOCK_S;
}

int64_t ack_wait_of(const struct consumer *c, const struct pend *e)
{
    return wait_by(&c->cfg, e);
}

/* Deadline under a new configuration; the time already waited counts. */
static int64_t move_deadline(const struct consumer_config *old, const struct consumer_config *now,
                             const struct pend *e, int64_t deadline_ns)
{
    int64_t from = deadline_ns - wait_by(old, e), is = wait_by(now, e);

    return from > 0 && is > NEVER - 1 - from ? NEVER - 1 : from + is;
}

struct waits {
    const struct consumer *c;
    struct consumer_config old;
};

static int64_t waits_until(const void *arg, const struct pend *e, int64_t deadline_ns)
{
    const struct waits *w = arg;

    return move_deadline(&w->old, &w->c->cfg, e, deadline_ns);
}

static void waits_free(void *arg)
{
    struct waits *w = arg;

    consumer_config_fini(&w->old);
    free(w);
}

bool ack_moves(struct consumer *c)
{
    return pending_move_step(&c->wait, waits_until, MOVE_SLICE);
}

/* Very many: in slices, when the consumer is pumped.  false: that is not possible. */
static bool move_later(struct consumer *c, const struct consumer_config *old)
{
    struct waits *w = c->wait.heaped <= MOVE_AT_ONCE ? NULL : calloc(1, sizeof *w);

    if (w == NULL)
        return false;
    w->c = c;
    if (consumer_config_copy(&w->old, old) == 0) {
        if (pending_move_begin(&c->wait, w, waits_free) == 0)
            return true;
        consumer_config_fini(&w->old);
    }
    free(w);
    return false;
}

static bool same_backoff(const struct consumer_config *a, const struct consumer_config *b)
{
    return a->backoff.n == b->backoff.n &&
           (a->backoff.n == 0 ||
            memcmp(a->backoff.at, b->backoff.at, a->backoff.n * sizeof *a->backoff.at) == 0);
}

bool ack_wait_fixed(const struct consumer *c, const struct consumer_config *next)
{
    return c->wait.nmoves >= PENDING_MOVES && !same_backoff(&c->cfg, next);
}

void ack_wait_updated(struct consumer *c, const struct consumer_config *old)
{
    const struct pend any = {.count = 0};
    struct waits w = {c, *old};

    if (!same_backoff(old, &c->cfg)) {
        if (move_later(c, old))
            pump_soon(c);
        else
            pending_move_all(&c->wait, waits_until, &w);
    } else if (c->cfg.backoff.n == 0) { /* the same for all */
        pending_shift(&c->wait, wait_by(&c->cfg, &any) - wait_by(old, &any));
    }
}

/* --- floors -------------------------------------------------------------------------------- */

/* When nothing waits, the floor is where delivery is; else just below the lowest that waits, if
 * the one at the floor no longer waits. */
static void floor_move(struct consumer *c, uint64_t dseq)
{
    const struct pend *first = pending_first(&c->wait);

    if (first == NULL) {
        c->floor.dseq = c->delivered.dseq;
        c->floor.sseq = c->delivered.sseq;
    } else if (dseq == c->floor.dseq + 1 && first->dseq > c->floor.dseq) {
        c->floor.dseq = first->dseq - 1;
        c->floor.sseq = first->sseq - 1;
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
        floor_move(c, c->floor.dseq + 1); /* the lowest that waits is the lowest there is */
    c->wait.lost = false;
}

void ack_lost(struct consumer *c, struct pend *e)
{
    if (c->lost.at != c->set->told || e->dseq > c->lost.dseq)
        c->lost.dseq = e->dseq;
    c->lost.at = c->set->told;
    c->floor.acked_ns = consumers_now(c->set);
    ack_settled(c, e);
}

static void remove_pending(struct consumer *c, struct pend *e)
{
    state_touch(c, e->sseq);
    pending_remove(&c->wait, e);
}

void ack_forget_given(struct consumer *c, uint64_t first, uint64_t last)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &c->wait.given)
    {
        struct pend *e = mf_container(pos, struct pend, order);
        if (e->sseq > last)
            break;
        if (e->sseq >= first)
            remove_pending(c, e);
    }
}

void ack_forget_all(struct consumer *c)
{
    state_touch_waiting(c);
    pending_discard(&c->wait, c->set->host->loop);
}

void ack_lost_all(struct consumer *c)
{
    if (c->wait.count > 0) {
        c->lost.dseq = c->floor.dseq = c->delivered.dseq;
        c->floor.sseq = c->delivered.sseq;
        c->lost.at = c->set->told;
        c->floor.acked_ns = consumers_now(c->set);
    }
    ack_forget_all(c);
}

void ack_forget_given_one(struct consumer *c, uint64_t sseq)
{
    struct pend *e = pending_given(&c->wait, sseq);

    if (e != NULL)
        remove_pending(c, e);
}

void ack_gone(struct consumer *c, uint64_t sseq)
{
    struct pend *e = pending_find(&c->wait, sseq);

    ack_forget_given_one(c, sseq);
    if (e == NULL)
        return;
    /* nats-server counts how often it came again here. */
    consumer_send_event(c, CONSUMER_TERMINATED, sseq, e->dseq, e->count > 1 ? e->count - 1 : 1,
                        MF_LIT("Unacknowledged message was deleted"));
    ack_lost(c, e);
    pump_soon(c); /* there may be room for another */
}

/* --- kinds of acks ------------------------------------------------------------------------- */

/* The numbers in the subject of an ack. */
struct told {
    uint64_t deliveries, sseq, dseq;
};

/* For a redelivered message the metric names the delivery that was acknowledged. */
static void sample_ack(struct consumer *c, const struct pend *e, const struct told *t)
{
    struct consumer_event ev = {.kind = CONSUMER_ACKED,
                                .consumer = c,
                                .stream_seq = e->sseq,
                                .consumer_seq = t->dseq,
                                .deliveries = t->deliveries};

    if (c->sampling.percent == 0 ||
        (c->sampling.percent < 100 && rand_below(100) >= c->sampling.percent))
        return;
    ev.ack_time_ns = consumers_now(c->set) - (e->sent_ns > 0 ? e->sent_ns : 0);
    c->set->host->event(c->set->host->arg, &ev);
}

/* --- everything up to a message: ack_policy all ------------------------------------------- */

/* Pending messages first, then given-up ones, which the ack covers too.  True: *seq is the next
 * one; its entry is removed unless *kept (the stream could not remove the message). */
static bool upto_next(struct consumer *c, uint64_t *seq, bool *kept)
{
    struct pend *e = pending_first(&c->wait);
    struct mf_list *given = mf_list_first(&c->wait.given);
    bool waits = e != NULL && e->sseq <= c->upto.sseq;

    if (!waits)
        e = given == NULL ? NULL : mf_container(given, struct pend, order);
    if (e == NULL || e->sseq > c->upto.sseq)
        return false;
    *seq = e->sseq;
    *kept = !retention_acked(c, *seq);
    if (*kept)
        return true;
    if (!waits) {
        ack_forget_given_one(c, *seq);
        return true;
    }
    c->upto.last = e->dseq > c->upto.last ? e->dseq : c->upto.last;
    pending_remove(&c->wait, e);
    state_touch(c, *seq);
    return true;
}

/* All of them were acknowledged: the floors. */
static void upto_floor(struct consumer *c)
{
    const struct pend *e = pending_first(&c->wait);
    uint64_t sseq = c->upto.sseq, dseq = c->upto.dseq, last = c->upto.last;

    /* A number from before a reset, above all numbers since; or the ack ends nothing (it is older
     * than a reset, or was given up) and a lower number waits: the floor stays below that one, or
     * its own ack would not count. */
    if ((dseq > c->delivered.dseq && sseq <= c->delivered.sseq) ||
        (last == 0 && e != NULL && e->dseq <= dseq))
        dseq = last;
    /* Without a number (flow control accepts any subject) the floor is unknown. */
    if (sseq != UINT64_MAX && dseq > c->floor.dseq && dseq <= c->delivered.dseq) {
        c->floor.dseq = dseq;
        c->floor.sseq = sseq;
    }
}

static void upto_end(struct consumer *c)
{
    c->upto.sseq = c->upto.dseq = c->upto.last = 0;
}

enum upto_result { UPTO_DONE, UPTO_MORE, UPTO_FAILED };

/* Failed: one has to leave the stream, which was not possible. */
static enum upto_result upto_slice(struct consumer *c, size_t max)
{
    uint64_t seq;
    bool kept = false;

    for (; max > 0; max--) {
        if (!upto_next(c, &seq, &kept)) {
            upto_floor(c);
            upto_end(c);
            return UPTO_DONE;
        }
        if (kept) {
            upto_end(c);
            return UPTO_FAILED;
        }
    }
    return UPTO_MORE;
}

/* False: only a part was acknowledged, and the ack is not confirmed.  Very many messages are
 * acknowledged in later turns, and the confirmation waits for them (ack_confirm()). */
static bool ack_upto(struct consumer *c, uint64_t sseq, uint64_t dseq)
{
    if (sseq > c->upto.sseq) {
        c->upto.sseq = sseq;
        c->upto.dseq = dseq;
    }
    enum upto_result r = upto_slice(c, UPTO_SLICE);
    if (r == UPTO_MORE)
        count_again(c);
    return r != UPTO_FAILED;
}

/* A confirmation that waits. */
struct upto_reply {
    struct upto_reply *next;
    size_t len;
    uint8_t text[];
};

/* Without memory for it the client asks again. */
static void ack_confirm(struct consumer *c, struct mf_slice reply)
{
    struct upto_reply **at = &c->upto.replies, *r;

    if (c->upto.sseq == 0) {
        state_confirm(c, reply);
        return;
    }
    if ((r = malloc(sizeof *r + reply.len)) == NULL)
        return;
    r->next = NULL;
    r->len = reply.len;
    memcpy(r->text, reply.ptr, reply.len);
    while (*at != NULL)
        at = &(*at)->next;
    *at = r;
}

static void confirm_all(struct consumer *c, bool done)
{
    struct upto_reply *r = c->upto.replies;

    c->upto.replies = NULL;
    while (r != NULL) {
        struct upto_reply *next = r->next;
        if (done)
            state_confirm(c, mf_slice(r->text, r->len));
        free(r);
        r = next;
    }
}

void ack_upto_go_on(struct consumer *c)
{
    enum upto_result r = upto_slice(c, UPTO_SLICE);

    if (r != UPTO_MORE)
        confirm_all(c, r == UPTO_DONE);
}

void ack_upto_stop(struct consumer *c)
{
    upto_end(c);
    confirm_all(c, false);
}

/* False: the message must be removed and that failed.  Its ack does not count and is not confirmed,
 * so it is delivered again. */
static bool ack_one(struct consumer *c, const struct told *t, bool sampled)
{
    struct pend *e = pending_find(&c->wait, t->sseq);

    if (c->cfg.ack_policy == ACK_ALL || c->cfg.ack_policy == ACK_FLOW_CONTROL) {
        if (t->dseq <= c->floor.dseq || t->sseq <= c->floor.sseq)
            return true;
        c->floor.acked_ns = consumers_now(c->set);
        return ack_upto(c, t->sseq, t->dseq);
    }
    if (!retention_acked(c, t->sseq)) /* also where it does not wait: a reset left it behind */
        return false;
    c->floor.acked_ns = consumers_now(c->set);
    ack_forget_given_one(c, t->sseq);
    if (e != NULL) {
        if (sampled)
            sample_ack(c, e, t);
        ack_settled(c, e);
    }
    return true;
}

/* Acknowledges the message, and sends the event even if it was not pending. */
static bool terminate_message(struct consumer *c, const struct told *t, bool known,
                              struct mf_slice reason)
{
    if (known && !ack_one(c, t, false))
        return false;
    consumer_send_event(c, CONSUMER_TERMINATED, t->sseq, t->dseq, t->deliveries, reason);
    return true;
}

/* The message reached max_deliver.  It stays in the stream for other readers, also in a stream with
 * interest retention where all other consumers acknowledged it. */
static void give_up_message(struct consumer *c, struct pend *e)
{
    consumer_send_event(c, CONSUMER_MAX_DELIVERIES, e->sseq, e->dseq, e->count, MF_SLICE_NONE);
    state_touch(c, e->sseq);
    if (stream_config(c->set->stream)->retention == RETENTION_INTEREST)
        pending_give_up(&c->wait, e);
    else
        pending_remove(&c->wait, e);
}

static bool may_again(const struct consumer *c, const struct pend *e)
{
    return c->cfg.max_deliver <= 0 || e->count < (uint64_t)c->cfg.max_deliver;
}

bool ack_given_up(struct consumer *c, struct pend *e)
{
    if (may_again(c, e))
        return false;
    give_up_message(c, e);
    return true;
}

struct nak_options {
    int64_t delay;
};
static const struct json_field nak_fields[] = {
    {.name = "delay", .kind = JSON_DURATION, .offset = offsetof(struct nak_options, delay)},
};
static const struct json_type nak_type = {"ConsumerNakOptions", sizeof(struct nak_options),
                                          nak_fields, MF_COUNT(nak_fields)};

/* {"delay": N} in nanoseconds, or a Go duration.  False, and anything below 0: at once. */
static bool nak_delay(struct mf_slice text, int64_t *delay)
{
    struct nak_options o = {0};
    struct arena mem = {0};
    struct mf_error e;
    int rc = 0;

    *delay = 0;
    text = mf_trim(text);
    if (text.len == 0)
        return false;
    if (text.ptr[0] == '{')
        rc = json_unmarshal(text, &nak_type, &o, &mem, &e);
    else
        rc = clock_parse_duration(text, &o.delay);
    arena_fini(&mem);
    if (rc == 0 && o.delay > 0)
        *delay = o.delay;
    return rc == 0;
}

static void handle_nak(struct consumer *c, const struct told *t, struct mf_slice arg)
{
    struct pend *e = pending_find(&c->wait, t->sseq);
    int64_t delay;
    bool asked = nak_delay(arg, &delay);

    if (e == NULL || t->dseq > c->delivered.dseq + 1)
        return;
    if (t->dseq <= c->floor.dseq && e->dseq > c->floor.dseq)
        return; /* old; a floor that a purge moved over what still waits does not count */
    consumer_send_event(c, CONSUMER_NAKED, t->sseq, t->dseq, t->deliveries, MF_SLICE_NONE);
    if (asked) /* as in nats-server: a new time to wait counts as activity, here and below */
        c->delivered.at_ns = consumers_now(c->set);
    if (delay == 0 && !mf_list_empty(&e->queued))
        return; /* it keeps its place */
    if (delay == 0 || pending_await(&c->wait, e, consumers_delay(c->set, delay)) != 0)
        pending_requeue(&c->wait, e);
    state_touch(c, t->sseq);
}

static void in_progress(struct consumer *c, uint64_t sseq)
{
    struct pend *e = pending_find(&c->wait, sseq);

    if (e == NULL)
        return;
    c->delivered.at_ns = consumers_now(c->set);
    if (e->heap == 0)
        return;
    e->sent_ns = c->delivered.at_ns;
    (void)!pending_await(&c->wait, e, consumers_delay(c->set, ack_wait_of(c, e)));
    state_touch(c, sseq);
}

void ack_flow(struct consumer *c, uint64_t sseq, uint64_t dseq)
{
    if (sseq <= c->delivered.sseq)
        (void)ack_one(c, &(struct told){0, sseq, dseq}, true);
}

/* --- in ------------------------------------------------------------------------------------ */

static bool split_word(struct mf_slice body, const char *word, struct mf_slice *rest)
{
    size_t n = strlen(word);

    if (!mf_starts(body, word))
        return false;
    *rest = mf_slice(body.ptr + n, body.len - n);
    return true;
}

/* As in nats-server, a token that is no number counts as the largest number. */
static uint64_t read_number(struct mf_slice token)
{
    uint64_t n;

    return mf_parse_u64(token, &n) == 0 ? n : UINT64_MAX;
}

/* A message that was never delivered cannot be acknowledged. */
static bool was_delivered(const struct consumer *c, const struct told *t)
{
    return t->sseq <= c->delivered.sseq || c->cfg.flow_control;
}

/* Executes the ack's verb.  True: a confirmation is due; the ack of a message that was never
 * delivered gets none. */
static bool handle_ack(struct consumer *c, const struct told *t, struct mf_slice body)
{
    bool known = was_delivered(c, t);
    bool zero = stream_config(c->set->stream)->retention == RETENTION_LIMITS &&
                c->cfg.ack_policy == ACK_EXPLICIT; /* as in nats-server: sequence 0 is answered */
    struct mf_slice rest = MF_SLICE_NONE;

    if (body.len == 0 || mf_eq_str(body, "+ACK") || mf_eq_str(body, "+OK")) {
        return known && ack_one(c, t, true) && (t->sseq != 0 || zero);
    }
    if (split_word(body, "+TERM", &rest)) {
        return terminate_message(c, t, known, mf_trim(rest)) && known && (t->sseq != 0 || zero);
    }
    if (split_word(body, "-NAK", &rest))
        handle_nak(c, t, rest);
    else if (mf_eq_str(body, "+WPI"))
        in_progress(c, t->sseq);
    return t->sseq != 0;
}

/* tokens: <delivered>.<stream seq>.<consumer seq>.<time>.<pending> */
bool consumer_ack(struct consumer *c, struct mf_slice tokens, struct mf_slice reply,
                  struct mf_slice body)
{
    struct mf_slice rest = MF_SLICE_NONE;

    if (c->cfg.ack_policy == ACK_NONE)
        return false;
    if (c->held || subject_tokens(tokens) < 5)
        return true; /* ignored: being restored, or no ack of ours */
    struct told t = {read_number(subject_token(tokens, 0)), read_number(subject_token(tokens, 1)),
                     read_number(subject_token(tokens, 2))};
    consumer_alive(c);
    if (split_word(body, "+NXT", &rest)) {
        if (was_delivered(c, &t))
            (void)ack_one(c, &t, true);
        if (reply.len > 0)
            consumer_pull(c, reply, mf_trim(rest), MF_SLICE_NONE);
    } else if (handle_ack(c, &t, body) && reply.len > 0) {
        ack_confirm(c, reply);
    }
    pump_soon(c);
    return true;
}

/* --- timeouts ------------------------------------------------------------------------------ */

void ack_timeouts(struct consumer *c)
{
    int64_t now = consumers_mono(c->set);
    struct pend *e;

    /* Those that are left are due in the next turn: the timer is armed for them. */
    for (int n = 0; n < UPTO_SLICE && (e = pending_due(&c->wait, now)) != NULL; n++) {
        if (!ack_given_up(c, e))
            pending_requeue(&c->wait, e);
    }
}
