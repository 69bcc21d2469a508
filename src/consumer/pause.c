/* pause.c: pauses a consumer, after the commit of the pause.  Its end is a time of the wall clock.
 */
#include "consumer/consumer_impl.h"

void pause_plan(struct consumer *c)
{
    if (pump_paused(c))
        c->timers.pause_at_ns =
            consumers_delay(c->set, c->cfg.pause_until_ns - consumers_wall(c->set));
    else if (c->timers.pause_at_ns != NEVER)
        c->timers.pause_at_ns = consumers_mono(c->set); /* the clock was set: it ends now */
}

void consumer_pause(struct consumer *c, int64_t until_ns, struct consumer_op *op)
{
    int64_t before_ns = c->cfg.pause_until_ns;
    bool changed = until_ns != before_ns;
    int rc = consumer_config_set_pause(&c->cfg, until_ns);

    if (rc != 0) {
        consumer_op_fail(op, rc);
        return;
    }
    state_touch(c, 0);
    rc = state_flush(c);
    if (rc == 0 && c->stored)
        rc = consumer_op_wait(c, op);
    if (rc != 0) {
        c->cfg.pause_until_ns = before_ns;
        state_touch(c, 0); /* should the new one be written */
        consumer_op_fail(op, rc);
        return;
    }
    c->timers.pause_at_ns = NEVER;
    pause_plan(c);
    if (changed)
        consumer_send_event(c, CONSUMER_PAUSED, 0, 0, 0, MF_SLICE_NONE);
    pump_soon(c);
    pump_timer(c);
    if (!c->stored && (rc = consumer_op_wait(c, op)) != 0)
        consumer_op_fail(op, rc);
}
