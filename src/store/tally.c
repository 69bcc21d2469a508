/* tally.c: counts of messages by pattern that are kept and follow their reader.
 *
 * A tally is the number of messages that match a pattern in a range of sequences.  Removals
 * correct it, new messages are counted by the next request, and a reader that advances moves the
 * beginning.  So a reader that asks for one part of the stream after the other pays for the
 * messages it passes, not for the rest of the stream.
 *
 * At most TALLIES are kept; the least recently used one is replaced.  A removal updates each of
 * them.  A tally is dropped after more removals without a request than it took steps to make. */
#include "store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#define TALLIES 32
#define STEPS   4096u      /* messages looked at in one call */
#define PATIENT (1u << 16) /* removals that every tally outlives */

/* n messages in [first, last].  On its way to [to_first, to_last], which are the same when it has
 * arrived. */
struct tally {
    struct mf_list link; /* tally_list.list, the one asked for last is last */
    uint64_t first, last, n;
    uint64_t to_first, to_last;
    uint64_t work;     /* messages looked at for it */
    uint64_t removals; /* since it was asked for */
    struct mf_slice pattern;
    uint8_t text[]; /* the pattern */
};

static void tally_drop(struct store *s, struct tally *t)
{
    mf_list_del(&t->link);
    s->tally.count--;
    free(t);
}

void tally_drop_all(struct store *s)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &s->tally.list)
        tally_drop(s, mf_container(pos, struct tally, link));
}

static struct tally *tally_add(struct store *s, struct mf_slice pattern, uint64_t first,
                               uint64_t last, uint64_t n)
{
    struct tally *t = malloc(sizeof *t + pattern.len);

    if (t == NULL)
        return NULL;
    if (s->tally.count == TALLIES)
        tally_drop(s, mf_container(mf_list_first(&s->tally.list), struct tally, link));
    *t = (struct tally){
        .first = first, .last = last, .n = n, .to_first = first, .to_last = last, .work = 0};
    memcpy(t->text, pattern.ptr, pattern.len);
    t->pattern = mf_slice(t->text, pattern.len);
    mf_list_push(&s->tally.list, &t->link);
    s->tally.count++;
    return t;
}

static bool has_arrived(const struct tally *t)
{
    return t->first == t->to_first && t->last == t->to_last;
}

/* --- moving ----------------------------------------------------------------------------------- */

static uint64_t counts_message(const struct index *ix, uint32_t id, const struct tally *t)
{
    return !index_hidden(ix, id) && keys_matches(index_keys(ix), index_key(ix, id), t->pattern);
}

/* The sequence of the next message from `seq` up to `last`, or of the one before it from `seq` down
 * to `last`; 0: none. */
static uint64_t step_message(const struct index *ix, uint64_t seq, uint64_t last, bool up,
                             uint32_t *id)
{
    *id = up ? index_next(ix, seq) : index_prev(ix, seq);
    if (*id == INDEX_NONE)
        return 0;
    uint64_t at = index_seq(ix, *id);
    return (up ? at > last : at < last) ? 0 : at;
}

/* Each moves one end by one message; false: that end has arrived. */
static bool move_first(const struct index *ix, struct tally *t)
{
    bool up = t->first < t->to_first;
    uint32_t id;

    if (t->first == t->to_first)
        return false;
    uint64_t seq = up ? step_message(ix, t->first, t->to_first - 1, true, &id)
                      : step_message(ix, t->first - 1, t->to_first, false, &id);
    if (seq != 0)
        t->n = up ? t->n - counts_message(ix, id, t) : t->n + counts_message(ix, id, t);
    t->first = seq == 0 ? t->to_first : up ? seq + 1 : seq;
    return true;
}

static bool move_last(const struct index *ix, struct tally *t)
{
    bool up = t->last < t->to_last;
    uint32_t id;

    if (t->last == t->to_last)
        return false;
    uint64_t seq = up ? step_message(ix, t->last + 1, t->to_last, true, &id)
                      : step_message(ix, t->last, t->to_last + 1, false, &id);
    if (seq != 0)
        t->n = up ? t->n + counts_message(ix, id, t) : t->n - counts_message(ix, id, t);
    t->last = seq == 0 ? t->to_last : up ? seq : seq - 1;
    return true;
}

static void tally_move(struct store *s, struct tally *t)
{
    const struct index *ix = view_index(s);
    size_t n = 0;

    while (n < STEPS && (move_first(ix, t) || move_last(ix, t)))
        n++;
    t->work += n;
    s->tally.steps += n;
}

/* --- asking ----------------------------------------------------------------------------------- */

static uint64_t gap_between(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

/* About how many messages lie between; UINT64_MAX: the two ranges do not touch. */
static uint64_t distance_to(const struct tally *t, uint64_t first, uint64_t last)
{
    if (t->first > last + 1 || first > t->last + 1)
        return UINT64_MAX;
    return gap_between(t->first, first) + gap_between(t->last, last);
}

/* The one that is on its way there, else the nearest; *far: about how many messages away. */
static struct tally *tally_nearest(struct store *s, struct mf_slice pattern, uint64_t first,
                                   uint64_t last, uint64_t *far)
{
    struct tally *best = NULL;
    struct mf_list *pos;

    *far = last - first + 1;
    mf_list_each(pos, &s->tally.list)
    {
        struct tally *t = mf_container(pos, struct tally, link);
        if (!mf_eq(t->pattern, pattern))
            continue;
        uint64_t d = distance_to(t, first, last);
        if (t->to_first == first && t->to_last == last) {
            *far = 0;
            return t;
        }
        if (d < *far) {
            *far = d;
            best = t;
        }
    }
    return best;
}

/* One to move there.  The nearest tally may be asked for again, so a copy moves where the way is
 * long.  NULL: counted at once, or (*rc) no memory. */
static struct tally *tally_take(struct store *s, struct mf_slice pattern, uint64_t first,
                                uint64_t last, uint64_t *out, int *rc)
{
    uint64_t far;
    struct tally *t = tally_nearest(s, pattern, first, last, &far);

    *rc = 0;
    if (t != NULL && (far == 0 || (far <= STEPS / 2 && has_arrived(t))))
        return t;
    switch (count_briefly(s, pattern, first, last, out)) {
    case COUNT_CHEAP:
        return NULL;
    case COUNT_FROM_ENDS:
        (void)!tally_add(s, pattern, first, last, *out);
        return NULL;
    case COUNT_LONG:
        break;
    }
    t = t == NULL ? tally_add(s, pattern, first, first - 1, 0)
                  : tally_add(s, pattern, t->first, t->last, t->n);
    *rc = t == NULL ? MF_NOMEM : 0;
    return t;
}

int store_tally(struct store *s, struct mf_slice pattern, uint64_t first, uint64_t last,
                uint64_t *out)
{
    struct tally *t;
    int rc;

    first = first == 0 ? 1 : first;
    last = last < s->log.committed_seq ? last : s->log.committed_seq;
    *out = 0;
    if (first > last || (t = tally_take(s, pattern, first, last, out, &rc)) == NULL)
        return first > last ? 0 : rc;
    t->to_first = first;
    t->to_last = last;
    t->removals = 0;
    mf_list_del(&t->link);
    mf_list_push(&s->tally.list, &t->link);
    tally_move(s, t);
    *out = t->n;
    return has_arrived(t) ? 0 : MF_AGAIN;
}

void store_tally_pass(struct store *s, struct mf_slice pattern, uint64_t first, uint64_t seq)
{
    const struct index *ix = view_index(s);
    struct mf_list *pos;
    struct tally *t = NULL;

    first = first == 0 ? 1 : first;
    mf_list_each(pos, &s->tally.list)
    {
        t = mf_container(pos, struct tally, link);
        if (t->first == first && has_arrived(t) && mf_eq(t->pattern, pattern))
            break;
        t = NULL;
    }
    if (t == NULL)
        return;
    if (seq > t->last) {
        t->last = seq;
        t->n = 0;
    } else if (index_next_deadline(ix) <= s->now_ns) { /* it may pass over some that expired */
        t->to_first = seq + 1;
        while (move_first(ix, t))
            s->tally.steps++;
    } else {
        t->n--;
    }
    t->first = seq + 1;
    t->to_first = t->first;
    t->to_last = t->last;
}

uint64_t store_tally_steps(const struct store *s)
{
    return s->tally.steps;
}

/* --- removals --------------------------------------------------------------------------------- */

void tally_gone(struct store *s, const struct index *ix, uint32_t id)
{
    uint64_t seq = index_seq(ix, id);
    struct mf_list *pos, *next;

    if (ix != view_index(s)) /* it was never counted */
        return;
    mf_list_each_safe(pos, next, &s->tally.list)
    {
        struct tally *t = mf_container(pos, struct tally, link);
        if (t->removals++ > PATIENT + t->work)
            tally_drop(s, t);
        else if (seq >= t->first && seq <= t->last &&
                 keys_matches(index_keys(ix), index_key(ix, id), t->pattern))
            t->n--;
    }
}
