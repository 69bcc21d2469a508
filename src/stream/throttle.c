/* throttle.c: tasks that remove many messages wait for commits.
 *
 * Removed messages leave the index when their commit group is committed, all in one turn.  Without
 * a limit a slow disk would make such a group very large.
 * Happy path: a task calls stream_throttle() before each time slice.  If too many removals wait for
 * their commit, the task is noted, and queued again after it.
 * Close: no task is queued any more. */
#include "stream/stream_impl.h"

/* Removals that wait for a commit: about two milliseconds of work after it.  A consumer that learns
 * of each costs as much as three of them. */
#define MOST     4000u
#define CONSUMER 3u
#define LEAST    16u /* so that a purge goes on, however many consumers there are */

static size_t most_removals(const struct stream *s)
{
    struct mf_list *pos;
    size_t consumers = 0, most;

    for (pos = s->notify.observers.next; pos != &s->notify.observers; pos = pos->next) {
        const struct stream_observer *o = mf_container(pos, struct stream_observer, node);
        consumers += o->count == NULL ? 1 : o->count(o);
    }
    most = MOST / (1 + CONSUMER * consumers);
    return most < LEAST ? LEAST : most;
}

size_t stream_throttle_slice(const struct stream *s, size_t n)
{
    size_t most = most_removals(s);

    return most < n ? most : n;
}

static void queue_tasks(struct store_wait *w, int status)
{
    struct stream *s = mf_container(w, struct stream, throttle.wait);

    (void)status; /* a store that accepts no more writes refuses the next slice */
    s->throttle.waits = false;
    for (size_t i = 0; i < MF_COUNT(s->throttle.task); i++) {
        struct work_task *t = s->throttle.task[i];
        s->throttle.task[i] = NULL;
        if (t != NULL && !s->closing)
            work_add(s->host->loop, s->owner, t);
    }
}

bool stream_throttle(struct stream *s, struct work_task *t)
{
    size_t i = 0;

    if (store_removing(s->store) < most_removals(s))
        return false;
    while (i < MF_COUNT(s->throttle.task) && s->throttle.task[i] != t &&
           s->throttle.task[i] != NULL)
        i++;
    if (i == MF_COUNT(s->throttle.task))
        return false;
    if (!s->throttle.waits) {
        s->throttle.wait.done = queue_tasks;
        s->throttle.waits = store_barrier(s->store, &s->throttle.wait) == 0;
    }
    s->throttle.task[i] = s->throttle.waits ? t : NULL;
    return s->throttle.waits;
}

void stream_throttle_cancel(struct stream *s, const struct work_task *t)
{
    for (size_t i = 0; i < MF_COUNT(s->throttle.task); i++)
        if (s->throttle.task[i] == t)
            s->throttle.task[i] = NULL;
}
