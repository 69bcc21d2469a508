/* lane.c: connections of one account take turns with those of the others.
 *
 * Happy path: a turn has time for everything.  Input is read when the socket has some, output is
 * written at the end of the turn, and lanes are not used.
 * Load: once the turn's time is over, connections with input or output that waits queue up in
 * their lane.  Each lane is an owner of work with two tasks, one that reads and one that writes.
 * While connections of a lane wait, the others of that lane queue up behind them.
 * Close: a connection that ends leaves the queues.  Lanes are freed with the context. */
#include "net/net_impl.h"

#include "codec/hash.h"

#include <stdlib.h>

static bool read_some(struct work_task *t)
{
    struct net_lane *lane = mf_container(t, struct net_lane, reads);
    struct net_ctx *x = lane->ctx;
    struct mf_list *p;
    bool more;

    x->refs++; /* the last connection may end here */
    do {
        p = mf_list_pop(&lane->readable);
        if (p != NULL)
            net_read_turn(mf_container(p, struct net_conn, ready));
    } while (p != NULL && !work_spent(x->loop));
    more = !mf_list_empty(&lane->readable);
    net_ctx_put(x);
    return more;
}

static void work_conn(struct net_conn *c)
{
    c->flags &= ~(unsigned)CONN_LANED;
    net_conn_work(c);
}

static bool write_some(struct work_task *t)
{
    struct net_lane *lane = mf_container(t, struct net_lane, writes);
    struct net_ctx *x = lane->ctx;
    struct mf_list *p;
    bool more;

    x->refs++;
    do {
        p = mf_list_pop(&lane->dirty);
        if (p != NULL)
            work_conn(mf_container(p, struct net_conn, work));
    } while (p != NULL && !work_spent(x->loop));
    more = !mf_list_empty(&lane->dirty);
    net_ctx_put(x);
    return more;
}

static struct net_lane *lane_find(struct net_ctx *x, struct mf_slice name)
{
    for (struct table_node *n = table_first(&x->lanes, hash_slice(name)); n != NULL;
         n = table_next(n)) {
        struct net_lane *lane = mf_container(n, struct net_lane, node);
        if (mf_eq_str(name, lane->name))
            return lane;
    }
    return NULL;
}

static struct net_lane *lane_new(struct net_ctx *x, struct mf_slice name)
{
    struct net_lane *lane = calloc(1, sizeof *lane + name.len + 1);

    if (lane == NULL)
        return NULL;
    if (name.len > 0)
        memcpy(lane->name, name.ptr, name.len);
    lane->ctx = x;
    lane->owner.name = lane->name;
    lane->reads = (struct work_task){.run = read_some, .cause = WORK_READ};
    lane->writes = (struct work_task){.run = write_some, .cause = WORK_WRITE};
    mf_list_init(&lane->readable);
    mf_list_init(&lane->dirty);
    if (table_add(&x->lanes, &lane->node, hash_slice(name)) != 0) {
        free(lane);
        return NULL;
    }
    return lane;
}

struct net_lane *net_lane_get(struct net_ctx *x, const char *name)
{
    struct net_lane *lane = lane_find(x, mf_str(name));

    return lane != NULL ? lane : lane_new(x, mf_str(name));
}

void net_conn_set_lane(struct net_conn *c, const char *name)
{
    struct net_lane *lane = c->ctx == NULL ? NULL : net_lane_get(c->ctx, name);

    if (lane != NULL) /* else it stays where it is: served, only not apart from the others */
        c->lane = lane;
}

void net_lane_read(struct net_conn *c)
{
    struct net_lane *lane = c->lane;

    if (!mf_list_empty(&c->ready))
        return;
    mf_list_push(&lane->readable, &c->ready);
    work_add(c->ctx->loop, &lane->owner, &lane->reads);
}

void net_lane_write(struct net_conn *c)
{
    struct net_lane *lane = c->lane;

    c->flags |= CONN_LANED;
    mf_list_push(&lane->dirty, &c->work);
    work_add(c->ctx->loop, &lane->owner, &lane->writes);
}

void net_lanes_free(struct net_ctx *x)
{
    struct table_node *n;
    size_t at = 0;

    while ((n = table_any(&x->lanes, &at)) != NULL) {
        struct net_lane *lane = mf_container(n, struct net_lane, node);
        work_cancel(x->loop, &lane->reads);
        work_cancel(x->loop, &lane->writes);
        table_del(&x->lanes, n);
        free(lane);
    }
    table_fini(&x->lanes);
}
