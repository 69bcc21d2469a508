/* spin.c: busy-polls for events before the loop blocks.
 *
 * A thread that sleeps is woken through the scheduler and, where its core slept as well, through
 * the hypervisor: tens of microseconds, more than a message costs.  Where the next event comes
 * within that time again and again (a request follows its reply, a sync is about to end), polling
 * is faster than sleeping.  So the loop learns how long it usually waits, and polls only where
 * that has been short; it stops when another thread wants its core.
 * Cost: no system call while the loop is busy or its waits are long. */
#include "loop/loop_impl.h"

#include "base/clock.h"

#include <poll.h>
#include <sys/resource.h>

#define TRUST     16 /* short waits, less four for each long one */
#define TRUST_MAX 32
#define LOOKS     8               /* between two questions to the clock */
#define GUARD     64              /* waits between two looks at who else wants the core */
#define EVICTED   (GUARD / 4)     /* more than by those whom we woke ourselves */
#define REST_NS   (50 * CLOCK_MS) /* how long they have it then */

/* How often the scheduler took the core away from this thread. */
static long count_evictions(void)
{
    struct rusage u;

    return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nivcsw : 0;
}

static void learn_delay(struct loop *l, bool quick)
{
    if (quick)
        l->spin.trust += l->spin.trust < TRUST_MAX;
    else
        l->spin.trust -= l->spin.trust < 4 ? l->spin.trust : 4;
}

static bool others_wait(struct loop *l, int64_t now)
{
    if (l->spin.looked++ == 0)
        l->spin.evictions = count_evictions();
    if (l->spin.looked < GUARD)
        return false;
    l->spin.looked = 0;
    if (count_evictions() - l->spin.evictions < EVICTED)
        return false;
    l->spin.rest_until_ns = now + REST_NS;
    return true;
}

void loop_spin_before(struct loop *l, int64_t now_ns)
{
    struct pollfd ready = {.fd = uv_backend_fd(&l->uv), .events = POLLIN};
    int64_t now = now_ns, until;
    int timeout;

    l->spin.from_ns = 0;
    if (l->spin.max_ns == 0 || (timeout = uv_backend_timeout(&l->uv)) == 0)
        return;
    l->spin.from_ns = now;
    if (l->spin.trust < TRUST || now < l->spin.rest_until_ns || others_wait(l, now))
        return;
    until = now + l->spin.max_ns;
    if (timeout > 0 && now + (timeout - 1) * CLOCK_MS < until)
        return; /* a timer comes first */
    do {
        for (int i = 0; i < LOOKS; i++)
            if (poll(&ready, 1, 0) != 0)
                return;
        now = clock_mono_ns();
    } while (now < until);
}

void loop_spin_after(struct loop *l)
{
    if (l->spin.from_ns == 0)
        return;
    /* The clock was read by the first event's handler, or now: nobody wanted to know. */
    learn_delay(l, loop_mono_ns(l) - l->spin.from_ns < l->spin.max_ns);
    l->spin.from_ns = 0;
}

void loop_spin(struct loop *l, int64_t max_ns)
{
    l->spin.max_ns = uv_available_parallelism() > 1 ? max_ns : 0; /* who would bring the event? */
}
