/* summary.c: summaries of lifetime events (summary_impl.h).
 *
 * The first event of a kind opens its summary, if there is interest.  Later events are added.  The
 * summary is sent and closed one second after it was opened. */
#include "stream/summary_impl.h"

#include "base/clock.h"

#include <stdlib.h>

#define GATHER_NS CLOCK_S
#define DEAF_NS   (CLOCK_S / 10) /* before the host is asked again about interest */

struct summary {
    bool open;
    int64_t due_ns;  /* open: sent at this time; of the loop's clock */
    int64_t deaf_ns; /* closed: no interest until this time */
    struct stream_ttl_event e;
    struct mf_buf first, last; /* their subjects */
};

struct summaries {
    struct stream *s;
    struct loop_timer *timer;
    struct summary at[STREAM_TTL_KINDS];
};

static void arm_timer(struct summaries *t)
{
    int64_t next_ns = INT64_MAX;

    for (int k = 0; k < STREAM_TTL_KINDS; k++)
        if (t->at[k].open && t->at[k].due_ns < next_ns)
            next_ns = t->at[k].due_ns;
    if (next_ns != INT64_MAX)
        loop_timer_arm(t->timer, next_ns);
}

static void free_summary(struct summary *x)
{
    mf_buf_fini(&x->first);
    mf_buf_fini(&x->last);
}

/* Closes the summary first: its receivers may cause the next one. */
static void send_summary(struct summaries *t, struct summary *at)
{
    struct summary x = *at;
    struct stream *s = t->s;

    *at = (struct summary){.first = MF_BUF_INIT, .last = MF_BUF_INIT};
    x.e.first.subject = mf_buf_slice(&x.first);
    x.e.last.subject = mf_buf_slice(&x.last);
    s->host->ttl_event(s->host->arg, s, &x.e);
    free_summary(&x);
}

void summary_send_due(struct stream *s, int64_t mono_ns)
{
    for (int k = 0; k < STREAM_TTL_KINDS && s->summaries != NULL; k++)
        if (s->summaries->at[k].open && s->summaries->at[k].due_ns <= mono_ns)
            send_summary(s->summaries, &s->summaries->at[k]);
    if (s->summaries != NULL)
        arm_timer(s->summaries);
}

static void on_timer(void *arg)
{
    struct stream *s = arg;

    summary_send_due(s, loop_mono_ns(s->host->loop));
}

static struct summaries *summaries_new(struct stream *s)
{
    struct summaries *t = calloc(1, sizeof *t);

    if (t == NULL || (t->timer = loop_timer_new(s->host->loop, on_timer, s)) == NULL) {
        free(t);
        return NULL;
    }
    t->s = s;
    return s->summaries = t;
}

void summary_stop(struct stream *s)
{
    struct summaries *t = s->summaries;

    if (t == NULL)
        return;
    for (int k = 0; k < STREAM_TTL_KINDS; k++)
        free_summary(&t->at[k]);
    loop_timer_free(t->timer);
    free(t);
    s->summaries = NULL;
}

/* The summary to add to; NULL: no interest, or no memory. */
static struct summary *open_summary(struct stream *s, enum stream_ttl_kind kind)
{
    struct summaries *t = s->summaries;
    struct summary *x;

    if (s->host->ttl_event == NULL || s->closing || (t == NULL && (t = summaries_new(s)) == NULL))
        return NULL;
    x = &t->at[kind];
    if (x->open)
        return x;
    int64_t now_ns = loop_mono_ns(s->host->loop);
    if (now_ns < x->deaf_ns)
        return NULL;
    if (!s->host->ttl_heard(s->host->arg, s, kind)) {
        x->deaf_ns = now_ns + DEAF_NS;
        return NULL;
    }
    x->open = true;
    x->due_ns = now_ns + GATHER_NS;
    x->e = (struct stream_ttl_event){.kind = kind};
    arm_timer(t);
    return x;
}

static void add_mention(struct summary *x, struct mf_slice subject,
                        const struct stream_ttl_mention *m)
{
    if (x->e.count++ == 0) {
        x->e.first = *m;
        mf_buf_append(&x->first, subject.ptr, subject.len);
    }
    x->e.last = *m;
    mf_buf_clear(&x->last);
    mf_buf_append(&x->last, subject.ptr, subject.len);
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* A stream without a policy is plain JetStream, and nats-server has no such event. */
void summary_add_expired(struct stream *s, const struct summary_death *d)
{
    struct summary *x = s->governor == NULL ? NULL : open_summary(s, STREAM_TTL_EXPIRED);

    if (x == NULL)
        return;
    add_mention(x, d->subject, &(struct stream_ttl_mention){.seq = d->seq});
    x->e.bytes += d->bytes;
    x->e.markers += d->markers;
    x->e.dead_letters += d->dead_letters;
    if (d->late_ns > x->e.late_max_ns)
        x->e.late_max_ns = d->late_ns;
}

void summary_add_expiring(struct stream *s, const struct stream_expiring *e)
{
    struct summary *x = open_summary(s, STREAM_TTL_EXPIRING);

    if (x == NULL)
        return;
    add_mention(x, e->subject, &(struct stream_ttl_mention){.seq = e->seq});
    x->e.warn_ns = e->warn_ns;
}

void summary_add_decision(struct stream *s, struct mf_slice subject,
                          const struct policy_decision *d)
{
    bool audit = policy_view(s->governor)->keys.enforce == POLICY_ENFORCE_AUDIT;
    bool rejected = d->verdict == POLICY_REJECTED;
    struct summary *x;
    struct stream_ttl_mention m = {.seq = 0};

    if (d->verdict == POLICY_OK)
        return;
    x = open_summary(s, audit      ? STREAM_TTL_AUDIT
                        : rejected ? STREAM_TTL_REJECTED
                                   : STREAM_TTL_CLAMPED);
    if (x == NULL)
        return;
    policy_ttl_text(m.asked, d->asked);
    if (d->limit == TTL_NEVER)
        memcpy(m.limit, "deny", sizeof "deny");
    else
        policy_ttl_text(m.limit, d->limit);
    add_mention(x, subject, &m);
    x->e.would_clamp += audit && !rejected;
    x->e.would_reject += audit && rejected;
}

void summary_add_would_set(struct stream *s, struct mf_slice subject)
{
    struct summary *x = open_summary(s, STREAM_TTL_AUDIT);

    if (x == NULL)
        return;
    add_mention(x, subject, &(struct stream_ttl_mention){.seq = 0});
    x->e.would_set++;
}

void summary_count_change(struct stream *s, enum stream_ttl_kind kind)
{
    struct summary *x = open_summary(s, kind);

    if (x != NULL)
        x->e.count++;
}
