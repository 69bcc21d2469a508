/* timer.c: one-shot timers on the monotonic clock, never early.
 *
 * libuv counts its time in whole milliseconds of the monotonic clock, rounded down, and compares a
 * timer's due time with that.  So a due time rounded up to whole milliseconds is never met early,
 * and it does not matter how old libuv's idea of "now" is: it is subtracted here and added there.
 */
#include "loop/loop_impl.h"

#include "base/clock.h"

#include <stdlib.h>

struct loop_timer {
    uv_timer_t uv;
    struct mf_list link; /* in loop.timers */
    struct loop *loop;
    void (*fire)(void *arg);
    void *arg;
    int64_t at_ns;
};

struct loop_timer *loop_timer_new(struct loop *l, void (*fire)(void *arg), void *arg)
{
    struct loop_timer *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    uv_timer_init(&l->uv, &t->uv);
    t->uv.data = t;
    t->loop = l;
    t->fire = fire;
    t->arg = arg;
    mf_list_push(&l->timers, &t->link);
    return t;
}

static void on_timer(uv_timer_t *h)
{
    struct loop_timer *t = h->data;
    struct loop *l = t->loop;

    loop_time_read(l); /* the callback shall find a time that is not before its own */
    l->in_timer = true;
    if (l->mono_ns < t->at_ns)
        loop_timer_arm(t, t->at_ns); /* the two clocks disagree after all */
    else
        t->fire(t->arg); /* it may free t */
    l->in_timer = false;
    work_lap(l, WORK_TIMER, NULL, NULL);
}

void loop_timer_arm(struct loop_timer *t, int64_t at_mono_ns)
{
    uint64_t now_ms = uv_now(&t->loop->uv), at_ms = 0;
    /* libuv serves due timers until none is left.  One that arms itself for now, from its own
     * callback, would be served forever: it gets its turn a millisecond later, after the sockets.
     */
    uint64_t wait_ms = t->loop->in_timer ? 1 : 0;

    if (at_mono_ns > 0)
        at_ms = (uint64_t)(at_mono_ns / CLOCK_MS) + (at_mono_ns % CLOCK_MS > 0);
    if (at_ms > now_ms + wait_ms)
        wait_ms = at_ms - now_ms;
    t->at_ns = at_mono_ns;
    uv_timer_start(&t->uv, on_timer, wait_ms, 0);
}

void loop_timer_stop(struct loop_timer *t)
{
    if (t != NULL)
        uv_timer_stop(&t->uv);
}

static void on_closed(uv_handle_t *h)
{
    free(h->data);
}

void loop_timer_free(struct loop_timer *t)
{
    if (t == NULL)
        return;
    mf_list_del(&t->link);
    uv_close((uv_handle_t *)&t->uv, on_closed);
}

void loop_timers_free(struct loop *l)
{
    struct mf_list *p;

    while ((p = mf_list_first(&l->timers)) != NULL)
        loop_timer_free(mf_container(p, struct loop_timer, link));
}
