/* ctx.c: shared by the connections of one loop: buffers, chunk pool, the list of noted work and
 * the list of running deadlines.
 *
 * Happy path: a net_* call notes work and puts its connection in `work`; the hook at the end of the
 * turn takes the list as it is and does it.  Work noted meanwhile waits for the next round.
 * Failure: no memory for the timer ends the connection that needed it.
 * Close: the last connection or listener to end frees the context. */
#include "net/net_impl.h"

#include "base/clock.h"

#include <limits.h>
#include <stdlib.h>

#define TICK_NS    (5 * CLOCK_MS) /* deadlines are looked at no more often than this */
#define ROUND      16             /* connections served between two looks at the clock */
#define TRIM_NS    (1 * CLOCK_S)
#define TRIM_ABOVE (128u << 10)

/* A loop and all on it belong to one thread, so its contexts need no lock. */
static _Thread_local struct mf_list contexts;

/* Frees the memory that a burst left in the pool.  Runs with the traffic, without a timer:
 * keep-alives come soon enough. */
static void trim_pools(struct net_ctx *x)
{
    int64_t now = loop_mono_ns(x->loop);

    if (now - x->trimmed_ns < TRIM_NS)
        return;
    x->trimmed_ns = now;
    chunk_pool_trim(&x->pool);
    net_lent_trim(x);
}

/* 2 MB in one call: a fraction of a millisecond. */
static void free_rubbish(struct loop_defer *d)
{
    struct net_ctx *x = mf_container(d, struct net_ctx, rubbish_hook);

    if (!chunk_queue_discard(&x->rubbish, 32))
        loop_next(x->loop, d);
}

void net_queue_end(struct net_ctx *x, struct chunk_queue *q)
{
    if (q->bytes <= POOL_MAX_BYTES) {
        chunk_queue_clear(q, &x->pool);
        return;
    }
    chunk_queue_splice(&x->rubbish, q);
    loop_next(x->loop, &x->rubbish_hook);
}

/* Is the turn's time over?  Then the other connections wait in their lanes. */
static bool round_is_over(struct net_ctx *x)
{
    work_lap(x->loop, WORK_WRITE, NULL, NULL);
    return work_turn_spent(x->loop);
}

static void on_hook(struct loop_defer *d)
{
    struct net_ctx *x = mf_container(d, struct net_ctx, hook);
    struct mf_list round, *p;
    unsigned n = 0;

    x->refs++; /* the last connection may end here */
    mf_list_init(&round);
    mf_list_move(&round, &x->work);
    x->works = 0;
    while ((p = mf_list_pop(&round)) != NULL) {
        net_conn_work(mf_container(p, struct net_conn, work));
        if (++n % ROUND == 0 && round_is_over(x))
            break;
    }
    while ((p = mf_list_pop(&round)) != NULL)
        net_lane_write(mf_container(p, struct net_conn, work));
    if (x->pool.bytes > TRIM_ABOVE || x->lents > 0)
        trim_pools(x);
    net_ctx_put(x);
}

/* Not a loop_timer: loop_free() frees those, and the last connection may end later. */
static void on_timer_closed(uv_handle_t *h)
{
    free(h);
}

static void timer_close(struct net_ctx *x)
{
    /* After loop_free() no callback says that libuv is done with the timer: it stays allocated. */
    if (x->timer != NULL && !uv_is_closing((uv_handle_t *)x->timer))
        uv_close((uv_handle_t *)x->timer, on_timer_closed);
    x->timer = NULL;
    x->timer_at = INT64_MAX;
}

static void on_timer(uv_timer_t *t);

static void timer_arm(struct net_ctx *x, int64_t at_ns)
{
    int64_t wait_ns = at_ns - loop_mono_ns(x->loop);

    x->timer_at = at_ns;
    if (!uv_is_closing((uv_handle_t *)x->timer))
        uv_timer_start(x->timer, on_timer, wait_ns <= 0 ? 0 : (uint64_t)(wait_ns / CLOCK_MS) + 1,
                       0);
}

/* O(timed) at most once a tick.  A connection makes progress by moving its own deadline only, so
 * most that are found here have a later one by now. */
static void on_timer(uv_timer_t *t)
{
    struct net_ctx *x = t->data;
    int64_t now = loop_mono_ns(x->loop), next = INT64_MAX;
    struct mf_list *p, *tmp;

    x->timer_at = INT64_MAX;
    mf_list_each_safe(p, tmp, &x->timed)
    {
        struct net_conn *c = mf_container(p, struct net_conn, timed);
        if (c->expires_ns > now) {
            next = c->expires_ns < next ? c->expires_ns : next;
            continue;
        }
        mf_list_del(p);
        net_conn_todo(c, TODO_EXPIRED); /* later: callbacks could change this list */
    }
    if (next != INT64_MAX) {
        timer_arm(x, next > now + TICK_NS ? next : now + TICK_NS);
    } else {
        timer_close(x);
    }
}

static uv_timer_t *timer_new(struct net_ctx *x)
{
    uv_timer_t *t = malloc(sizeof *t);

    if (t == NULL)
        return NULL;
    uv_timer_init(loop_uv(x->loop), t);
    t->data = x;
    return t;
}

void net_timed_set(struct net_conn *c, int64_t expires_ns)
{
    struct net_ctx *x = c->ctx;

    if (x->timer == NULL)
        x->timer = timer_new(x);
    if (x->timer == NULL) {
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0); /* rather than one that may hang for ever */
        return;
    }
    c->expires_ns = expires_ns;
    if (mf_list_empty(&c->timed))
        mf_list_push(&x->timed, &c->timed);
    if (expires_ns < x->timer_at)
        timer_arm(x, expires_ns);
}

void net_timed_stop(struct net_conn *c)
{
    mf_list_del(&c->timed);
}

static struct net_ctx *ctx_new(struct loop *l)
{
    struct net_ctx *x = calloc(1, sizeof *x);

    if (x == NULL)
        return NULL;
    x->wire = malloc(NET_READ_BUFFER);
    x->loop = l;
    x->lobby = x->wire == NULL ? NULL : net_lane_get(x, "");
    if (x->lobby == NULL) {
        free(x->wire);
        free(x);
        return NULL;
    }
    x->timer_at = INT64_MAX;
    x->hook = (struct loop_defer){.fn = on_hook, .cause = WORK_WRITE};
    x->rubbish_hook = (struct loop_defer){.fn = free_rubbish, .cause = WORK_CLOSE};
    x->works_max = NET_DIRTY_MAX;
    mf_list_init(&x->work);
    mf_list_init(&x->timed);
    mf_list_init(&x->lent);
    mf_list_init(&x->lent_spare);
    mf_list_push(&contexts, &x->link);
    return x;
}

struct net_ctx *net_ctx_get(struct loop *l)
{
    struct mf_list *p;
    struct net_ctx *x;

    if (contexts.next == NULL)
        mf_list_init(&contexts);
    mf_list_each(p, &contexts)
    {
        x = mf_container(p, struct net_ctx, link);
        if (x->loop == l) {
            x->refs++;
            return x;
        }
    }
    x = ctx_new(l);
    if (x != NULL)
        x->refs = 1;
    return x;
}

void net_ctx_put(struct net_ctx *x)
{
    if (--x->refs > 0)
        return;
    mf_list_del(&x->link);
    loop_defer_cancel(x->loop, &x->hook);
    loop_defer_cancel(x->loop, &x->rubbish_hook);
    (void)chunk_queue_discard(&x->rubbish, UINT_MAX);
    net_lanes_free(x);
    timer_close(x);
    chunk_pool_fini(&x->pool);
    net_lent_trim(x);
    free(x->plain);
    free(x->wire);
    free(x);
}

uint8_t *net_ctx_plain(struct net_ctx *x)
{
    if (x->plain == NULL)
        x->plain = malloc(NET_READ_BUFFER);
    return x->plain;
}
