/* stall.c: the meter: how long turns take, and which work took longest in those that were too long.
 *
 * A turn begins when libuv has fetched events (its own clock tells when, in whole milliseconds) and
 * ends right before the loop waits again.  Each piece of work ends with a lap. */
#include "loop/loop_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

#define LOG_NS (100 * CLOCK_MS) /* stalls of this length are logged */

int64_t loop_turn_start_ns(const struct loop *l)
{
    struct loop_meter *m = &((struct loop *)l)->meter; /* const for the caller: a memory of it */

    if (m->from_ns == 0)
        m->from_ns = (int64_t)uv_now(&l->uv) * CLOCK_MS;
    return m->from_ns;
}

/* Names are copied: their owners may be freed before the turn ends. */
static void note_worst(struct loop_meter *m, int64_t took_ns, enum work_cause cause,
                       const char *what, const char *who)
{
    m->worst_ns = took_ns;
    m->worst = cause;
    m->what[0] = m->who[0] = '\0';
    if (took_ns < WORK_STALL_NS)
        return;
    (void)snprintf(m->what, sizeof m->what, "%s", what == NULL ? "" : what);
    (void)snprintf(m->who, sizeof m->who, "%s", who == NULL ? "" : who);
}

void work_lap(struct loop *l, enum work_cause cause, const char *what, const char *who)
{
    struct loop_meter *m = &l->meter;
    int64_t now, from;

    if (!l->running)
        return;
    now = clock_mono_ns();
    from = m->lap_ns != 0 ? m->lap_ns : loop_turn_start_ns(l);
    m->lap_ns = now;
    if (now - from > m->worst_ns)
        note_worst(m, now - from, cause, what, who);
}

static void log_stall(const struct loop_meter *m, int64_t took_ns)
{
    log_warn("The server answered nobody for %lld ms; %lld ms of it: %s%s%s%s%s",
             (long long)(took_ns / CLOCK_MS), (long long)(m->worst_ns / CLOCK_MS),
             work_cause_text(m->worst), m->what[0] == '\0' ? "" : ", ", m->what,
             m->who[0] == '\0' ? "" : ", account ", m->who);
}

int64_t loop_meter_end(struct loop *l)
{
    struct loop_meter *m = &l->meter;
    int64_t now = clock_mono_ns(), took = now - loop_turn_start_ns(l);

    if (took > m->stalls.longest_ns)
        m->stalls.longest_ns = took;
    if (took >= WORK_STALL_NS) {
        int64_t rest = now - (m->lap_ns != 0 ? m->lap_ns : m->from_ns);
        if (rest > m->worst_ns)
            note_worst(m, rest, WORK_OTHER, NULL, NULL);
        m->stalls.turns[m->worst]++;
        m->stalls.ns[m->worst] += took;
        if (took >= LOG_NS)
            log_stall(m, took);
    }
    m->from_ns = m->lap_ns = m->worst_ns = 0;
    l->work.ran = false;
    return now;
}

const struct work_stalls *work_stalls(const struct loop *l)
{
    return &l->meter.stalls;
}
