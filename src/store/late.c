/* late.c: messages past their deadline that store_expire() did not remove yet: how many, how large,
 * and how many keys have nothing else.
 *
 * Readers do not see them, so store_state() leaves them out.  Counting them anew for each request
 * would make requests slow when many are due at once, and expiry slower still.  The sums are
 * therefore made by the first request and kept until nothing is late any more: each message is
 * added once, when its deadline has passed, and taken off when it leaves the index or is hidden.
 *
 * Invariant while `kept`: the sums hold exactly the entries of s->ix with a deadline <= upto_ns
 * that are not hidden.  All of these are on disk; where one is not, or a ring of messages is too
 * long to look at, the sums are made anew by the next request.  During a purge of everything
 * readers see another index: nothing is kept then. */
#include "store/store_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING_STEPS  64u   /* messages of one key that are looked at */
#define ADVANCE     4096u /* moves in the wheel by one call */
#define WHEEL_MOVES 8u    /* of one entry, at most */

/* A walk over messages that are late. */
struct late_walk {
    struct store *s;
    const struct index *ix;
    struct totals sum;
    uint64_t keys;
    int64_t after_ns, to_ns; /* the deadlines of this walk: (after, to] */
    bool unsure;             /* not all of it can be kept */
};

void late_forget(struct store *s)
{
    s->view.late = (struct late){.steps = s->view.late.steps};
}

static bool is_late(const struct index *ix, uint32_t id, int64_t to_ns)
{
    int64_t deadline_ns = index_deadline(ix, id);

    return deadline_ns != 0 && deadline_ns <= to_ns;
}

/* Looks at `id` and those before it, or behind it.  LATE: all are hidden or late. */
enum ring { RING_LATE, RING_SEEN, RING_LONG };
static enum ring ring_older(struct store *s, const struct index *ix, uint32_t id, int64_t to_ns)
{
    for (unsigned n = 0; id != INDEX_NONE; id = index_older(ix, id), n++) {
        if (n == RING_STEPS)
            return RING_LONG;
        s->view.late.steps++;
        if (!index_hidden(ix, id) && !is_late(ix, id, to_ns))
            return RING_SEEN;
    }
    return RING_LATE;
}

/* Is the entry the newest of its key that is late by this walk, and is every other one hidden from
 * readers? */
static bool key_went_dark(struct late_walk *w, uint32_t id)
{
    uint32_t at = id;
    enum ring older;

    for (unsigned n = 0; (at = index_newer(w->ix, at)) != INDEX_NONE; n++) {
        w->s->view.late.steps++;
        if (index_hidden(w->ix, at))
            continue;
        if (n == RING_STEPS)
            w->unsure = true;
        if (n == RING_STEPS || !is_late(w->ix, at, w->to_ns) || !is_late(w->ix, at, w->after_ns))
            return false;
    }
    older = ring_older(w->s, w->ix, index_older(w->ix, id), w->to_ns);
    w->unsure |= older == RING_LONG;
    return older == RING_LATE;
}

static void add_late(void *arg, uint32_t id, int64_t deadline_ns)
{
    struct late_walk *w = arg;

    (void)deadline_ns;
    w->s->view.late.steps++;
    if (index_seq(w->ix, id) > w->s->log.committed_seq)
        w->unsure = true; /* it is not counted yet */
    else
        totals_add(&w->sum, view_entry_totals_in(w->s, w->ix, id));
    w->keys += key_went_dark(w, id);
}

/* The same without a bound for each key: all late ones of the index that readers see. */
static void count_late(void *arg, uint32_t id, int64_t deadline_ns)
{
    struct late_walk *w = arg;
    uint32_t newer = index_newer(w->ix, id);
    struct store_key shown;

    (void)deadline_ns;
    w->s->view.late.steps++;
    if (index_seq(w->ix, id) <= w->s->log.committed_seq)
        totals_add(&w->sum, view_entry_totals_in(w->s, w->ix, id));
    else
        w->unsure = true;
    /* Once for each key: by the newest one that is not hidden. */
    while (newer != INDEX_NONE && index_hidden(w->ix, newer))
        newer = index_newer(w->ix, newer);
    w->keys += newer == INDEX_NONE && !view_key(w->s, index_key(w->ix, id), &shown);
}

/* All the way, in moves that each entry makes a few times in its life. */
static bool advance_wheel(struct index *ix, int64_t now_ns)
{
    size_t calls = index_deadlines(ix) / ADVANCE * WHEEL_MOVES + 2 * WHEEL_MOVES;

    while (calls-- > 0)
        if (index_advance(ix, now_ns, ADVANCE))
            return true;
    return false;
}

/* Adds the messages that became late since the last call.  O(these messages, and runs of them). */
static bool keep_up(struct store *s, struct index *ix)
{
    struct late_walk w = {
        .s = s, .ix = ix, .after_ns = s->view.late.upto_ns, .to_ns = s->now_ns, .unsure = false};

    if (!advance_wheel(ix, s->now_ns))
        return false; /* no memory: they are counted where they are */
    index_each_due(ix, w.after_ns, w.to_ns, add_late, &w);
    totals_add(&s->view.late.sum, w.sum);
    s->view.late.keys += w.keys;
    s->view.late.upto_ns = s->now_ns;
    return !w.unsure;
}

void late_sum(struct store *s, struct totals *sum, uint64_t *keys)
{
    struct index *ix = view_index(s);
    struct late_walk w = {.s = s, .ix = ix, .to_ns = s->now_ns};

    if (index_next_deadline(ix) > s->now_ns) {
        late_forget(s);
    } else if (s->view.late.kept && keep_up(s, ix)) {
        w.sum = s->view.late.sum;
        w.keys = s->view.late.keys;
    } else {
        index_each_deadline(ix, s->now_ns + 1, count_late, &w);
        s->view.late = (struct late){.kept = !w.unsure && ix == s->ix,
                                     .upto_ns = s->now_ns,
                                     .sum = w.sum,
                                     .keys = w.keys,
                                     .steps = s->view.late.steps};
    }
    *sum = w.sum;
    *keys = w.keys;
}

uint64_t store_overdue_steps(const struct store *s)
{
    return s->view.late.steps;
}

void store_overdue_check(struct store *s)
{
    struct late_walk w = {.s = s, .ix = s->ix, .to_ns = s->now_ns};
    struct totals sum;
    uint64_t keys;

    late_sum(s, &sum, &keys);
    if (!s->view.late.kept)
        return;
    index_each_deadline(s->ix, s->now_ns + 1, count_late, &w);
    if (memcmp(&w.sum, &sum, sizeof sum) == 0 && w.keys == keys)
        return;
    fprintf(stderr, "late: %llu messages, %llu keys are kept; %llu, %llu are there\n",
            (unsigned long long)sum.msgs, (unsigned long long)keys, (unsigned long long)w.sum.msgs,
            (unsigned long long)w.keys);
    abort();
}

/* --- what happens to messages meanwhile ------------------------------------------------------- */

bool late_counts(const struct store *s, uint32_t id)
{
    return s->view.late.kept && is_late(s->ix, id, s->view.late.upto_ns);
}

void late_hidden(struct store *s, struct totals t, size_t dark_keys)
{
    totals_sub(&s->view.late.sum, t);
    s->view.late.keys -= dark_keys;
}

void late_added(struct store *s, uint32_t id)
{
    uint32_t older = index_older(s->ix, id);

    if (is_late(s->ix, id, s->view.late.upto_ns)) {
        s->view.late.kept = false; /* born late, and not on disk */
        return;
    }
    while (older != INDEX_NONE && index_hidden(s->ix, older))
        older = index_older(s->ix, older);
    if (older == INDEX_NONE)
        return;
    switch (ring_older(s, s->ix, older, s->view.late.upto_ns)) {
    case RING_LATE: /* its key had nothing that readers see; now it counts again */
        s->view.late.keys--;
        break;
    case RING_LONG:
        s->view.late.kept = false;
        break;
    case RING_SEEN:
        break;
    }
}

/* A message that was not late leaves, one of several: its key may have nothing else that is seen.
 */
static void lose_seen(struct store *s, uint32_t id)
{
    uint32_t at = id;
    bool late = false;

    for (unsigned n = 0; (at = index_newer(s->ix, at)) != INDEX_NONE; n++) {
        if (!index_hidden(s->ix, at) && !is_late(s->ix, at, s->view.late.upto_ns))
            return;
        late |= !index_hidden(s->ix, at);
        if (n == RING_STEPS) {
            s->view.late.kept = false;
            return;
        }
    }
    for (at = index_older(s->ix, id); at != INDEX_NONE && !late; at = index_older(s->ix, at))
        late = !index_hidden(s->ix, at);
    enum ring older = ring_older(s, s->ix, index_older(s->ix, id), s->view.late.upto_ns);
    s->view.late.kept = older != RING_LONG;
    s->view.late.keys += late && older == RING_LATE;
}

/* Are all others of its key hidden? */
static bool is_alone(struct store *s, uint32_t id)
{
    uint32_t at = id;

    while ((at = index_newer(s->ix, at)) != INDEX_NONE)
        if (!index_hidden(s->ix, at))
            return false;
    for (at = index_older(s->ix, id); at != INDEX_NONE; at = index_older(s->ix, at))
        if (!index_hidden(s->ix, at))
            return false;
    return true;
}

void late_gone(struct store *s, uint32_t id)
{
    if (late_counts(s, id)) {
        totals_sub(&s->view.late.sum, view_entry_totals(s, id));
        s->view.late.keys -= is_alone(s, id);
    } else if (index_key_count(s->ix, index_key(s->ix, id)) > 1) {
        lose_seen(s, id);
    }
}

void late_moved(struct store *s, uint32_t id)
{
    struct late_walk w = {
        .s = s, .ix = s->ix, .after_ns = s->view.late.upto_ns, .to_ns = s->view.late.upto_ns};

    if (!is_late(s->ix, id, s->view.late.upto_ns))
        return;
    add_late(&w, id, s->view.late.upto_ns);
    totals_add(&s->view.late.sum, w.sum);
    s->view.late.keys += w.keys;
    s->view.late.kept = !w.unsure;
}
