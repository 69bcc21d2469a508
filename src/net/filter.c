/* filter.c: a filter between the handler and the wire (or TLS). */
#include "net/net_impl.h"

#define FILTER_LINGER_MS 1000 /* for the last word of a filter that gave up */

void net_conn_set_filter(struct net_conn *c, const struct net_filter *f, void *state)
{
    struct net_ext *x;

    if ((c->flags & CONN_CLOSING) || net_conn_need_ext(c) != 0) {
        if (f->free != NULL)
            f->free(state);
        if (!(c->flags & CONN_CLOSING))
            net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return;
    }
    x = c->ext;
    x->filter = f;
    x->filter_state = state;
    net_app_splice(c, x->tls != NULL ? &x->mid : &x->send);
    /* a rest that is TLS stays that; what is in it will be the filter's */
    net_conn_swapped(c, c->kept_for == FOR_TLS ? FOR_TLS : FOR_FILTER);
    net_conn_todo(c, TODO_FLUSH);
}

/* --- bytes out -------------------------------------------------------------------------------- */

int net_filter_wire(struct net_conn *c, const uint8_t *p, size_t n)
{
    struct net_ext *x = c->ext;

    if (c->flags & (CONN_BROKEN | CONN_DONE))
        return MF_CLOSED;
    if (chunk_queue_append(x->tls != NULL ? &x->mid : &x->send, &c->ctx->pool, p, n) != 0) {
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return MF_NOMEM;
    }
    c->tail.sealed += n;
    if (!(c->flags & CONN_PUMPING))
        net_conn_todo(c, TODO_FLUSH);
    return 0;
}

void net_filter_pump(struct net_conn *c)
{
    struct net_ext *x = c->ext;
    const struct chunk_queue *out = x->tls != NULL ? &x->mid : &x->send;

    while (c->app.bytes > 0 && out->bytes < NET_PUMP_MAX && !(c->flags & CONN_BROKEN)) {
        const struct chunk *k = c->app.head;
        size_t n = k->end - k->start;
        if (n > 0 && x->filter->encode(x->filter_state, c, k->data + k->start, n) != 0) {
            c->flags |= CONN_BROKEN;
            net_conn_end(c, NET_CLOSED_FILTER, 0, 0);
            return;
        }
        c->tail.sealed -= n;
        net_app_drop(c, n);
    }
    if ((c->flags & CONN_CLOSING) && !(c->flags & CONN_FAREWELL) && c->app.bytes == 0) {
        c->flags |= CONN_FAREWELL;
        if (x->filter->farewell != NULL)
            x->filter->farewell(x->filter_state, c, (enum net_why)c->why);
    }
}

/* --- bytes in --------------------------------------------------------------------------------- */

void net_filter_input(struct net_conn *c, const uint8_t *p, size_t n)
{
    struct net_ext *x = c->ext;

    if (c->flags & CONN_CLOSING)
        return;
    if (c->kept_for == FOR_FILTER && c->carry.len > 0) {
        net_carry_append(c, p, n); /* paused before the filter saw its first bytes */
        return;
    }
    if (x->filter->decode(x->filter_state, c, p, n) != 0)
        net_conn_end(c, NET_CLOSED_FILTER, FILTER_LINGER_MS, 0);
}

void net_filter_more(struct net_conn *c)
{
    if (c->flags & CONN_CLOSING)
        return;
    c->flags |= CONN_MORE;
    net_lane_read(c);
}
