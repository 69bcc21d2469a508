/* schedule_clock.c: schedules and a clock that is set.
 *
 * Deadlines are judged by a clock that never runs backwards (steady.h); schedules name moments of
 * the wall clock, so the wall clock fires them.  Set forward: what is due fires at once, once.  Set
 * back: one that comes again would wait until the clock is where it was, perhaps for years.  So
 * each is looked at again: its message is read as for a firing, and cron_set_back() decides.  @at
 * has one moment and waits for it. */
#include "stream/schedule_impl.h"

#include "base/clock.h"
#include "cron/cron.h"

/* How far the wall clock is behind the latest time that this stream has seen. */
static int64_t measure_lag(struct stream *s)
{
    int64_t now = stream_now(s), floor = store_clock_floor(s->store);

    return (now > floor ? now : floor) - stream_wall(s);
}

void schedule_clock_set_back(struct stream *s)
{
    struct schedules *t = s->schedules;
    int64_t wall = stream_wall(s);

    if (t == NULL || measure_lag(s) < CLOCK_S) /* none comes more often */
        return;
    for (size_t i = 0; i < t->table.count; i++) {
        struct schedule *x = t->heap[i];

        if (x == t->firing || x->next_ns <= wall)
            continue;
        if (x->kept_ns == 0)
            x->kept_ns = x->next_ns;
        x->next_ns = wall;
    }
    schedule_reorder(t);
}

void schedule_clock_stepped(struct stream *s)
{
    if (s->schedules != NULL && !s->schedules->busy)
        schedule_arm(s, 0);
}

bool schedule_replan(struct stream *s, struct schedule *x)
{
    const struct intake_headers *h = &s->schedules->h;
    int64_t kept = x->kept_ns, next = kept;
    struct cron *c;
    int rc = cron_parse(&c, h->schedule, h->schedule_zone);

    if (rc == CRON_NO_MEMORY)
        return false;
    if (rc == 0) {
        next = cron_set_back(c, kept, stream_wall(s), measure_lag(s));
        cron_free(c);
    }
    x->kept_ns = 0;
    if (next != kept) {
        schedule_move(s, x, next);
        return true;
    }
    schedule_place(s->schedules, x, kept); /* as its blob says */
    return true;
}
