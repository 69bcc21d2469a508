/* work.c: time slices of tasks, round robin between owners, within one budget for each turn.
 *
 * Happy path: work_add() queues a task with its owner, and the owner in the ring; work_run() takes
 * the first owner's first task, runs a slice, and puts both at the end.  It stops when the turn's
 * budget is spent; the rest continues after the loop has polled its events. Events and tasks have
 * the same time in each turn, so neither starves the other.  Tasks that can wait have a ring of
 * their own and run last, with a smaller budget.
 * Failure: none; nothing here takes memory. */
#include "loop/loop_impl.h"

#include "base/clock.h"

#include <stdio.h>

#define TURN_NS  (2 * CLOCK_MS) /* all events of a turn; again, all slices of it */
#define SLICE_NS (CLOCK_MS / 2) /* one slice */
/* Budget of all tasks of a turn that can wait, and of each time slice of them.  A publish needs
 * two or three turns until it is acknowledged, and each may wait for this. */
#define PATIENT_NS (CLOCK_MS / 20)
#define SHARE      4 /* or so much of the time that other tasks had */

static const char *const cause_texts[] = {
#define CAUSE_TEXT(name, text) text,
    WORK_CAUSES(CAUSE_TEXT)
#undef CAUSE_TEXT
};

const char *work_cause_text(enum work_cause cause)
{
    return cause_texts[cause];
}

/* Work whose result nobody awaits within milliseconds. */
static bool is_patient(const struct work_task *t)
{
    return t->cause == WORK_REQUEST || t->cause == WORK_PAGE || t->cause == WORK_BACKUP;
}

static struct work_lane *lane_of(const struct work_task *t)
{
    return &t->owner->lane[is_patient(t)];
}

static void owner_ready(struct work_owner *o)
{
    for (int i = 0; i < 2 && o->lane[i].tasks.next == NULL; i++) {
        mf_list_init(&o->lane[i].tasks);
        mf_list_init(&o->lane[i].link);
    }
}

void work_add(struct loop *l, struct work_owner *o, struct work_task *t)
{
    if (t->owner != NULL)
        return;
    owner_ready(o);
    t->owner = o;
    struct work_lane *lane = lane_of(t);
    if (mf_list_empty(&lane->tasks))
        mf_list_push(&l->work.ring[is_patient(t)], &lane->link);
    mf_list_push(&lane->tasks, &t->link);
}

void work_discard(struct loop *l, struct work_task *t)
{
    work_add(l, &l->work.discarded, t);
}

static void unlink_task(struct work_task *t)
{
    struct work_lane *lane = lane_of(t);

    mf_list_del(&t->link);
    t->owner = NULL;
    if (mf_list_empty(&lane->tasks))
        mf_list_del(&lane->link);
}

void work_cancel(struct loop *l, struct work_task *t)
{
    (void)l;
    if (t->owner != NULL)
        unlink_task(t);
}

/* One time slice of the task whose turn it is. */
static void run_first(struct loop *l, bool patient)
{
    struct mf_list *ring = &l->work.ring[patient];
    struct work_lane *lane = mf_container(mf_list_first(ring), struct work_lane, link);
    struct work_task *t = mf_container(mf_list_first(&lane->tasks), struct work_task, link);
    struct work_owner *o = t->owner;
    enum work_cause cause = t->cause;
    const char *what = t->what;
    char who[64];

    /* Off the lists before the call, and the name copied: task and owner may be freed inside. */
    (void)snprintf(who, sizeof who, "%s", o->name == NULL ? "" : o->name);
    unlink_task(t);
    if (!mf_list_empty(&lane->tasks)) { /* the owner's next task waits for the other owners */
        mf_list_del(&lane->link);
        mf_list_push(ring, &lane->link);
    }
    l->work.slice_ns = patient ? PATIENT_NS : SLICE_NS;
    l->work.last = patient;
    l->work.slice_from_ns = l->meter.lap_ns != 0 ? l->meter.lap_ns : clock_mono_ns();
    l->work.looks = 0;
    l->work.in_slice = true;
    if (t->run(t))
        work_add(l, o, t);
    l->work.in_slice = false;
    work_lap(l, cause, what, who);
}

/* Time slices of one ring until their budget is spent; returns the time. */
static int64_t run_ring(struct loop *l, bool patient, int64_t from_ns, int64_t most_ns)
{
    while (!mf_list_empty(&l->work.ring[patient]) && l->meter.lap_ns - from_ns < most_ns)
        run_first(l, patient);
    return l->meter.lap_ns;
}

void loop_work_run(struct loop *l)
{
    int64_t from, share;

    if (!loop_work_waiting(l) || l->work.ran)
        return;
    l->work.ran = true;
    work_lap(l, WORK_OTHER, NULL, NULL);
    if (l->work.steps > 0) { /* one slice a turn, of either ring in turns */
        run_first(l, mf_list_empty(&l->work.ring[!l->work.last]) ? l->work.last : !l->work.last);
        return;
    }
    from = l->meter.lap_ns;
    share = (run_ring(l, false, from, TURN_NS) - from) / SHARE;
    from = l->meter.lap_ns;
    (void)run_ring(l, true, from, share > PATIENT_NS ? share : PATIENT_NS);
}

void loop_work_finish(struct loop *l)
{
    struct work_owner *o = &l->work.discarded;

    for (int i = 0; i < 2; i++)
        while (o->lane[i].tasks.next != NULL && !mf_list_empty(&o->lane[i].tasks)) {
            struct work_task *t =
                mf_container(mf_list_first(&o->lane[i].tasks), struct work_task, link);
            unlink_task(t);
            while (t->run(t))
                ;
        }
}

bool loop_work_waiting(const struct loop *l)
{
    return !mf_list_empty(&l->work.ring[false]) || !mf_list_empty(&l->work.ring[true]);
}

bool work_spent_every(struct loop *l, unsigned n)
{
    ++l->work.looks;
    if (l->work.steps > 0)
        return l->work.in_slice && l->work.looks >= l->work.steps;
    if (!l->running || l->work.looks % n != 0)
        return false;
    if (!l->work.in_slice)
        return clock_mono_ns() - loop_turn_start_ns(l) >= TURN_NS;
    return clock_mono_ns() - l->work.slice_from_ns >= l->work.slice_ns;
}

bool work_spent(struct loop *l)
{
    return work_spent_every(l, 1);
}

bool work_turn_spent(const struct loop *l)
{
    return l->running && l->work.steps == 0 && l->meter.lap_ns - loop_turn_start_ns(l) >= TURN_NS;
}

void work_set_steps(struct loop *l, unsigned steps)
{
    l->work.steps = steps;
}
