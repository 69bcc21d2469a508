/* departed.c: removes the subscriptions of closed connections, in slices.
 *
 * A connection may have a million subscriptions, and the removal of one takes about a microsecond.
 * Up to AT_ONCE of them are removed when the connection closes.  A client with more is kept in
 * server.departed: it is counted nowhere and receives nothing (its phase is CLIENT_CLOSING), and
 * one task removes its subscriptions between other work. */
#include "server/server_impl.h"

#define AT_ONCE 1024 /* about a millisecond */

static bool drop_some(struct work_task *t)
{
    struct server *s = mf_container(t, struct server, departing);
    struct mf_list *p = mf_list_first(&s->departed);

    if (p == NULL)
        return false;
    if (client_drop_subs(mf_container(p, struct client, link), true)) {
        mf_list_del(p);
        client_free(mf_container(p, struct client, link));
    }
    return !mf_list_empty(&s->departed);
}

void departed_add(struct client *c)
{
    struct server *s = c->srv;

    if (s->stopping || c->subs.count <= AT_ONCE) {
        (void)client_drop_subs(c, false);
        client_free(c);
        return;
    }
    loop_timer_stop(c->timer);
    c->conn = NULL;
    mf_list_push(&s->departed, &c->link);
    s->departing.run = drop_some;
    s->departing.cause = WORK_CLOSE;
    work_add(s->loop, &s->upkeep, &s->departing);
}

void departed_finish(struct server *s)
{
    struct mf_list *p;

    work_cancel(s->loop, &s->departing);
    while ((p = mf_list_pop(&s->departed)) != NULL) {
        struct client *c = mf_container(p, struct client, link);
        (void)client_drop_subs(c, false);
        client_free(c);
    }
}
