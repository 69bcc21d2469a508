/* loop.c: the loop's life, its clocks, and the hooks at the end of each turn.
 *
 * Happy path: loop_new(), owners make their timers and handles, loop_run() until loop_stop(),
 * owners free theirs, loop_free().
 * Failure: only loop_new() can fail; it undoes itself.
 * Close: loop_free() closes what is left, lets running jobs and close callbacks finish, runs what
 * was posted, all within DRAIN_MS.  A job that outlives this still points into the loop: the
 * memory is then left to the end of the process, and the log says so. */
#include "loop/loop_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <assert.h>
#include <stdlib.h>

#define DRAIN_MS 10000
/* A round runs the hooks that hooks add; a hook that adds itself forever must not stop the loop
 * from serving events, so a round ends after this many generations and continues after the events
 * were polled. */
#define DEFER_GENERATIONS 64

void loop_time_read(struct loop *l)
{
    l->mono_ns = clock_mono_ns();
    l->wall_ns = clock_wall_ns();
    l->time_known = l->running;
}

int64_t loop_mono_ns(const struct loop *l)
{
    if (!l->time_known)
        loop_time_read((struct loop *)l); /* const for the caller: only the memory of it changes */
    return l->mono_ns;
}

int64_t loop_wall_ns(const struct loop *l)
{
    if (!l->time_known)
        loop_time_read((struct loop *)l);
    return l->wall_ns;
}

static void append_hook(struct loop_defer **first, struct loop_defer **last, struct loop_defer *d)
{
    d->queued = true;
    d->next = NULL;
    if (*last == NULL)
        *first = d;
    else
        (*last)->next = d;
    *last = d;
}

void loop_defer(struct loop *l, struct loop_defer *d)
{
    if (d->queued)
        return;
    d->after = false;
    append_hook(&l->defer_first, &l->defer_last, d);
}

void loop_next(struct loop *l, struct loop_defer *d)
{
    if (d->queued)
        return;
    d->after = true;
    append_hook(&l->next_first, &l->next_last, d);
}

/* The events were polled: nodes of loop_next() run with the hooks of this turn. */
static void next_ready(struct loop *l)
{
    struct loop_defer *d = l->next_first;

    l->next_first = l->next_last = NULL;
    while (d != NULL) {
        struct loop_defer *after = d->next;
        d->after = false;
        append_hook(&l->defer_first, &l->defer_last, d);
        d = after;
    }
}

void loop_defer_cancel(struct loop *l, struct loop_defer *d)
{
    struct loop_defer **first = d->after ? &l->next_first : &l->defer_first;
    struct loop_defer **last = d->after ? &l->next_last : &l->defer_last;
    struct loop_defer *before = NULL;

    if (!d->queued)
        return;
    for (struct loop_defer *p = *first; p != d; p = p->next)
        before = p;
    if (before == NULL)
        *first = d->next;
    else
        before->next = d->next;
    if (*last == d)
        *last = before;
    d->next = NULL;
    d->queued = false;
}

static struct loop_defer *defer_pop(struct loop *l)
{
    struct loop_defer *d = l->defer_first;

    l->defer_first = d->next;
    if (l->defer_first == NULL)
        l->defer_last = NULL;
    d->next = NULL;
    d->queued = false; /* before the call: it may queue itself again, or free the node */
    return d;
}

static void defer_run(struct loop *l)
{
    for (int n = 0; n < DEFER_GENERATIONS && l->defer_first != NULL; n++) {
        /* A node that marks the end could be cancelled, so count.  Cancelled ones make the count
         * too large: then a few of the next generation run with this one, which is harmless. */
        size_t count = 0;
        for (const struct loop_defer *d = l->defer_first; d != NULL; d = d->next)
            count++;
        while (count-- > 0 && l->defer_first != NULL) {
            struct loop_defer *d = defer_pop(l);
            enum work_cause cause = d->cause;
            d->fn(d);
            work_lap(l, cause, NULL, NULL);
        }
    }
}

/* Hooks, then time slices of tasks within the budget, then the hooks that those queued. */
static void turn_run(struct loop *l)
{
    defer_run(l);
    if (!loop_work_waiting(l))
        return;
    loop_work_run(l);
    defer_run(l);
}

static void on_idle(uv_idle_t *h)
{
    (void)h; /* being active is all it is for */
}

static void on_prepare(uv_prepare_t *h)
{
    struct loop *l = h->data;

    turn_run(l);
    if (l->defer_first != NULL || l->next_first != NULL || loop_work_waiting(l))
        uv_idle_start(&l->idle, on_idle);
    else
        uv_idle_stop(&l->idle);
    l->time_known = false; /* time passes while waiting */
    loop_spin_before(l, loop_meter_end(l));
}

static void on_check(uv_check_t *h)
{
    loop_spin_after(h->data);
    next_ready(h->data);
    turn_run(h->data);
}

static void on_wake(uv_async_t *h)
{
    loop_post_run(h->data);
}

int loop_new(struct loop **out, struct mf_error *e)
{
    struct loop *l = calloc(1, sizeof *l);
    int rc;

    if (l == NULL)
        return mf_fail(e, MF_NOMEM, "event loop");
    if ((rc = uv_loop_init(&l->uv)) != 0)
        goto err_free;
    if ((rc = uv_async_init(&l->uv, &l->wake, on_wake)) != 0)
        goto err_loop;
    uv_prepare_init(&l->uv, &l->prepare);
    uv_check_init(&l->uv, &l->check);
    uv_idle_init(&l->uv, &l->idle);
    l->wake.data = l->prepare.data = l->check.data = l->idle.data = l;
    /* libuv runs prepare handles last-started first: ours, the first, sees what others queue. */
    uv_prepare_start(&l->prepare, on_prepare);
    uv_check_start(&l->check, on_check);
    pthread_mutex_init(&l->mutex, NULL);
    loop_jobs_begin(l);
    mf_list_init(&l->timers);
    mf_list_init(&l->signals);
    mf_list_init(&l->work.ring[false]);
    mf_list_init(&l->work.ring[true]);
    *out = l;
    return 0;
err_loop:
    uv_loop_close(&l->uv);
err_free:
    free(l);
    return mf_fail(e, MF_IO, "event loop: %s", uv_strerror(rc));
}

void loop_run(struct loop *l)
{
    l->running = true;
    l->time_known = false;
    uv_run(&l->uv, UV_RUN_DEFAULT);
    defer_run(l); /* those that close callbacks queued after the last check */
    l->running = l->time_known = false;
}

void loop_turn(struct loop *l)
{
    l->running = true;
    l->time_known = false;
    uv_run(&l->uv, UV_RUN_NOWAIT);
    turn_run(l);
    l->work.ran = false;
    l->running = l->time_known = false;
}

void loop_stop(struct loop *l)
{
    uv_stop(&l->uv);
}

struct uv_loop_s *loop_uv(struct loop *l)
{
    return &l->uv;
}

static bool is_own(const struct loop *l, const uv_handle_t *h)
{
    return h == (const uv_handle_t *)&l->wake || h == (const uv_handle_t *)&l->prepare ||
           h == (const uv_handle_t *)&l->check || h == (const uv_handle_t *)&l->idle;
}

static void close_foreign(uv_handle_t *h, void *arg)
{
    if (!uv_is_closing(h) && !is_own(arg, h))
        uv_close(h, NULL); /* the memory is the owner's */
}

static void close_own(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, NULL);
}

static void on_drain_timeout(uv_timer_t *h)
{
    uv_stop(h->loop);
}

/* Runs until no job, no closing handle, no posted call and no hook is left, or the time is up.  The
 * handles without a reference do not count as a reason to run. */
static void drain_handles(struct loop *l)
{
    int64_t deadline = clock_mono_ns() + DRAIN_MS * CLOCK_MS;
    uv_timer_t limit;

    uv_unref((uv_handle_t *)&l->wake);
    uv_unref((uv_handle_t *)&l->prepare);
    uv_unref((uv_handle_t *)&l->check);
    uv_unref((uv_handle_t *)&l->idle);
    defer_run(l); /* what was put off may still want its timers and handles */
    loop_timers_free(l);
    loop_signals_free(l);
    uv_walk(&l->uv, close_foreign, l);
    uv_timer_init(&l->uv, &limit);
    uv_unref((uv_handle_t *)&limit);
    uv_update_time(&l->uv);
    uv_timer_start(&limit, on_drain_timeout, DRAIN_MS, 0);
    do {
        if (l->jobs > 0) { /* the end of one wakes the loop */
            uv_ref((uv_handle_t *)&l->wake);
            uv_run(&l->uv, UV_RUN_ONCE);
            uv_unref((uv_handle_t *)&l->wake);
        } else {
            uv_run(&l->uv, UV_RUN_DEFAULT);
        }
        loop_post_run(l);
        l->work.ran = false;
        turn_run(l);
    } while ((uv_loop_alive(&l->uv) || l->jobs > 0 || loop_post_waiting(l) ||
              l->defer_first != NULL || loop_work_waiting(l)) &&
             clock_mono_ns() < deadline);
    if (l->jobs > 0)
        return;                       /* its worker will still wake this loop */
    uv_walk(&l->uv, close_own, NULL); /* the limit too */
    uv_run(&l->uv, UV_RUN_NOWAIT);
}

void loop_free(struct loop *l)
{
    if (l == NULL)
        return;
    assert(!l->running);
    l->running = true; /* the callbacks that finish now are in a turn like any other */
    drain_handles(l);
    loop_work_finish(l);
    l->running = false;
    if (l->jobs > 0 || uv_loop_close(&l->uv) != 0) {
        log_error("A worker did not finish within %d s of the end", DRAIN_MS / 1000);
        return;
    }
    loop_jobs_end(l);
    pthread_mutex_destroy(&l->mutex);
    free(l);
}
