/* clock_look.c: looks at the clock, for streams and consumers that wait for a time.
 *
 * Timers run on the monotonic clock; deadlines, schedules and pauses on the wall clock.  After the
 * wall clock was set forward (or the machine slept) more may be due; after it was set back,
 * schedules must wait longer.  A look every second finds such steps and notifies the streams; one
 * forward is found by the first that needs the time.  Inside another program an idle server must
 * not wake up for that: there the looks become rare while nobody asks for the time, and end if no
 * message has a deadline and no schedule or consumer waits. */
#include "jetstream/jetstream_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define CLOCK_LOOK_MOST_NS (64 * CLOCK_S)

static void step_clock(void *arg, struct stream *s)
{
    struct consumers *g = js_consumers(s);

    if (*(const bool *)arg)
        stream_clock_set_back(s);
    else
        stream_clock_stepped(s);
    if (g != NULL)
        consumers_clock_stepped(g);
}

const struct clock_steps *jetstream_clock_steps(const struct jetstream *js)
{
    return &jetstream_impl(js)->steps;
}

/* One line for each: lifetimes may surprise after it. */
static void count_steps(struct jetstream_impl *x)
{
    int64_t before_ns = clock_boot_ns(), wall_ns = clock_wall_ns();
    char by[CLOCK_TEXT];

    if (clock_steps_look(&x->steps, before_ns, wall_ns, clock_boot_ns()))
        log_warn("the clock was set %s by %s", x->steps.last_ns < 0 ? "back" : "forward",
                 clock_duration(by, llabs(x->steps.last_ns)));
}

static bool waits_for_clock(const struct js_account *ja)
{
    struct catalog_item item;
    struct stream_state st;

    for (size_t i = 0; ja->catalog != NULL && catalog_at(ja->catalog, i, &item); i++) {
        if (item.stream == NULL)
            continue;
        stream_state(item.stream, &st);
        if (st.with_ttl > 0 || js_consumer_count(item.stream) > 0 ||
            stream_config(item.stream)->allow_msg_schedules ||
            (st.msgs > 0 && stream_config(item.stream)->max_age_ns > 0))
            return true;
    }
    return false;
}

/* 0: no look is needed. */
static int64_t next_look_ns(const struct jetstream_impl *x)
{
    struct mf_list *pos;

    if (!x->js.options->embedded || x->asked)
        return CLOCK_LOOK_NS;
    mf_list_each(pos, &x->js.list)
    {
        if (waits_for_clock(mf_container(pos, struct js_account, link)))
            return x->look_ns < CLOCK_LOOK_MOST_NS ? x->look_ns * 2 : CLOCK_LOOK_MOST_NS;
    }
    return 0;
}

void jetstream_clock_look(void *arg)
{
    struct jetstream *js = arg;
    struct jetstream_impl *x = jetstream_impl(js);
    int64_t mono_ns = loop_mono_ns(js->loop), look_ns = next_look_ns(x);
    int64_t ahead_ns = jetstream_now_ns(js) - mono_ns, wall_ns = jetstream_wall_ns(js) - mono_ns;
    bool raised = ahead_ns > x->ahead_ns + CLOCK_STEP_NS, back = wall_ns < x->wall_ns - CLOCK_S / 2;
    bool moved = back || llabs(wall_ns - x->wall_ns) > CLOCK_STEP_NS;
    struct mf_list *pos;

    count_steps(x);
    /* Raised alone: a stream knows of a later time than the clock shows. */
    back = back || (raised && !moved);
    if (raised || moved)
        mf_list_each(pos, &js->list)
        {
            struct js_account *ja = mf_container(pos, struct js_account, link);
            if (ja->catalog != NULL)
                catalog_each(ja->catalog, MF_SLICE_NONE, step_clock, &back);
        }
    x->ahead_ns = ahead_ns;
    x->wall_ns = moved ? wall_ns : x->wall_ns; /* small steps add up */
    x->asked = false;
    x->look_ns = look_ns;
    if (look_ns > 0)
        loop_timer_arm(x->clock_timer, loop_mono_ns(js->loop) + look_ns);
    else
        loop_timer_stop(x->clock_timer);
}
