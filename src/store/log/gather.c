/* gather.c: decides whether a commit group waits a moment for the writers that were just
 * answered.
 *
 * Writers that wait for their acknowledgement before they write again split into two halves: the
 * group of one half is written while the other half fills the next group, which starts as soon as
 * the first is done.  Then each sync covers only half of them, for ever.  Therefore a group
 * behind another one starts when all writers that were just answered have written again, or after
 * half the time of the last commit: the halves join.  A lone writer never waits: it is all that
 * was answered.  Where writers do not return so soon, or the loop and not the disk is the limit,
 * waiting is disabled, and tried again after twice as many commits as the time before. */
#include "store/log/gather.h"

#include "base/clock.h"

#define WAIT_MAX_NS (CLOCK_MS / 2)
#define WRITER_NS                                                                                  \
    10000 /* what a synchronous writer costs the loop, about: a read, a write, its wake-ups */
#define SKIP_MAX 31

void gather_started(struct gather *g, int64_t now_ns)
{
    g->goal = 0;
    g->in_flight = g->waiting;
    g->waiting = 0;
    g->started_ns = now_ns;
}

void gather_done(struct gather *g, int64_t now_ns)
{
    int64_t took = now_ns - g->started_ns, wait = took / 2;
    unsigned all = g->in_flight + g->waiting;

    /* The more there are, the longer the loop works for them: then it must not wait for the disk,
     * nor the disk for it. */
    if (g->in_flight == 0 || all > took / WRITER_NS)
        return;
    if (g->skip > 0) {
        g->skip--;
        return;
    }
    g->goal = all - all / 8; /* the slowest writers are not awaited */
    g->until_ns = now_ns + (wait < WAIT_MAX_NS ? wait : WAIT_MAX_NS);
}

bool gather_ready(struct gather *g, int64_t now_ns)
{
    if (g->goal == 0)
        return true;
    if (g->waiting >= g->goal) {
        g->given_up = 0;
    } else if (now_ns < g->until_ns) {
        return false;
    } else if (g->waiting > 0) { /* no writer at all: nothing was delayed */
        g->given_up = g->given_up < SKIP_MAX ? 2 * g->given_up + 1 : SKIP_MAX;
        g->skip = g->given_up;
    }
    g->goal = 0;
    return true;
}
