/* throttle.c: tasks that remove many messages wait for the disk now and then.
 *
 * What is removed leaves the index when its group is on disk, all of it in one turn.  Slices that
 * went on meanwhile would make such a group as large as the disk is slow.
 * Happy path: a task asks stream_hold() before each slice; with very many removals on their way it
 * is noted, and added again behind them.
 * Close: nobody is added any more. */
#include "stream/stream_impl.h"

#define MOST 4000u /* removals on their way: about two milliseconds when they are on disk */

static void go_on(struct store_wait *w, int status)
{
    struct stream *s = mf_container(w, struct stream, throttle.wait);

    (void)status; /* a store that takes no more writes refuses the next slice */
    s->throttle.waits = false;
    for (size_t i = 0; i < MF_COUNT(s->throttle.task); i++) {
        struct work_task *t = s->throttle.task[i];
        s->throttle.task[i] = NULL;
        if (t != NULL && !s->closing)
            work_add(s->host->loop, s->owner, t);
    }
}

bool stream_hold(struct stream *s, struct work_task *t)
{
    size_t i = 0;

    if (store_removing(s->store) < MOST)
        return false;
    while (i < MF_COUNT(s->throttle.task) && s->throttle.task[i] != t &&
           s->throttle.task[i] != NULL)
        i++;
    if (i == MF_COUNT(s->throttle.task))
        return false;
    if (!s->throttle.waits) {
        s->throttle.wait.done = go_on;
        s->throttle.waits = store_barrier(s->store, &s->throttle.wait) == 0;
    }
    s->throttle.task[i] = s->throttle.waits ? t : NULL;
    return s->throttle.waits;
}

void stream_unhold(struct stream *s, const struct work_task *t)
{
    for (size_t i = 0; i < MF_COUNT(s->throttle.task); i++)
        if (s->throttle.task[i] == t)
            s->throttle.task[i] = NULL;
}
