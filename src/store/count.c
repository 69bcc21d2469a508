/* count.c: number of messages and keys that match a pattern, for readers.
 *
 * The prefixes of keys have sums of the messages and keys below them (keys.h).  These sums cover
 * all sequences, including messages that are not committed yet.  So a count of a range either
 * corrects the sums by the messages outside, or visits the messages inside, whichever is shorter.
 * Where neither is short the answer is "too many": the caller counts with a cursor, one time
 * slice after the other. */
#include "store/store_impl.h"

#define STEPS 4096u /* messages or nodes visited in one call */

static uint64_t not_hidden(const struct index *ix)
{
    return index_count(ix) - index_hidden_count(ix);
}

/* Adds the messages of one key that are not hidden; false: more than *budget steps. */
static bool add_key(const struct index *ix, uint32_t key, struct keys_sum *sum, size_t *budget)
{
    uint32_t n = 0;

    if (index_hidden_count(ix) == 0) {
        n = index_key_count(ix, key);
    } else {
        for (uint32_t id = index_key_last(ix, key); id != INDEX_NONE; id = index_older(ix, id)) {
            if (*budget == 0)
                return false;
            --*budget;
            n += !index_hidden(ix, id);
        }
    }
    sum->msgs += n;
    sum->keys += n > 0;
    return true;
}

bool count_sums(const struct index *ix, struct mf_slice pattern, size_t budget,
                struct keys_sum *sum)
{
    struct keys_walk *w = keys_walk_new(index_keys(ix), pattern);
    uint32_t key;

    *sum = (struct keys_sum){0, 0};
    if (w == NULL)
        return false;
    while ((key = keys_walk_sum(w, sum, &budget)) != KEYS_NONE) {
        if (budget == 0 || !add_key(ix, key, sum, &budget)) {
            keys_walk_end(w);
            return false;
        }
    }
    if (budget == 0)
        keys_walk_end(w);
    return budget > 0;
}

bool count_covers(const struct index *ix, struct mf_slice pattern)
{
    struct keys_sum sum;

    return index_hidden_keys(ix) == 0 && count_sums(ix, pattern, 16, &sum) &&
           sum.msgs == not_hidden(ix);
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Messages in [first, last], the shorter side of the index being counted. */
static uint64_t count_range(const struct index *ix, uint64_t first, uint64_t last)
{
    uint32_t newest = index_prev(ix, UINT64_MAX), oldest = index_next(ix, 0);

    if (newest == INDEX_NONE)
        return 0;
    uint64_t high = index_seq(ix, newest), low = index_seq(ix, oldest);
    if (last > high)
        last = high;
    if (first <= low)
        first = 0;
    if (first > last)
        return 0;
    if ((first > low ? first - low : 0) + (high - last) >= last - first)
        return index_range_count(ix, first, last);
    uint64_t n = not_hidden(ix);
    if (first > low)
        n -= index_range_count(ix, 0, first - 1);
    if (last < high)
        n -= index_range_count(ix, last + 1, high);
    return n;
}

/* Subtracts a matching message from sums that include it; its key too, if it is the oldest
 * message of the key that is not hidden. */
static void count_one(const struct index *ix, uint32_t id, struct mf_slice pattern,
                      struct keys_sum *sum)
{
    uint32_t older = id;

    if (index_hidden(ix, id) || !keys_matches(index_keys(ix), index_key(ix, id), pattern))
        return;
    sum->msgs++;
    do
        older = index_older(ix, older);
    while (older != INDEX_NONE && index_hidden(ix, older));
    sum->keys += older == INDEX_NONE;
}

/* Goes over the messages in [first, last]; keys: those whose oldest message is among them. */
static struct keys_sum count_matching(const struct index *ix, struct mf_slice pattern,
                                      uint64_t first, uint64_t last)
{
    struct keys_sum sum = {0, 0};

    for (uint32_t id = index_next(ix, first); id != INDEX_NONE;) {
        uint64_t seq = index_seq(ix, id);
        if (seq > last)
            break;
        count_one(ix, id, pattern, &sum);
        id = seq == UINT64_MAX ? INDEX_NONE : index_next(ix, seq + 1);
    }
    return sum;
}

/* The messages of all keys that match, of which there are few. */
static uint64_t count_by_key(const struct index *ix, struct mf_slice pattern, uint64_t first,
                             uint64_t last)
{
    struct keys_walk *w = keys_walk_new(index_keys(ix), pattern);
    uint64_t n = 0;
    uint32_t key;

    while (w != NULL && (key = keys_walk_next(w)) != KEYS_NONE)
        for (uint32_t id = index_key_last(ix, key); id != INDEX_NONE; id = index_older(ix, id))
            n += index_seq(ix, id) >= first && index_seq(ix, id) <= last && !index_hidden(ix, id);
    return n;
}

enum count_way count_briefly(struct store *s, struct mf_slice pattern, uint64_t first,
                             uint64_t last, uint64_t *out)
{
    const struct index *ix = view_index(s);
    uint64_t all = not_hidden(ix), inside;
    struct keys_sum sum;

    last = last < s->log.committed_seq ? last : s->log.committed_seq;
    *out = 0;
    if (first > last || (inside = count_range(ix, first, last)) == 0)
        return COUNT_CHEAP;
    bool sums = count_sums(ix, pattern, STEPS, &sum);
    if (sums && sum.msgs == all) {
        *out = inside;
    } else if (sums && all - inside <= STEPS && all - inside < inside) {
        *out = sum.msgs - (first > 0 ? count_matching(ix, pattern, 0, first - 1).msgs : 0) -
               count_matching(ix, pattern, last + 1, UINT64_MAX).msgs;
        return inside <= STEPS ? COUNT_CHEAP : COUNT_FROM_ENDS;
    } else if (inside <= STEPS) {
        *out = count_matching(ix, pattern, first, last).msgs;
    } else if (sums && sum.msgs <= STEPS) {
        *out = sum.msgs == 0 ? 0 : count_by_key(ix, pattern, first, last);
    } else {
        return COUNT_LONG;
    }
    return COUNT_CHEAP;
}

bool store_count(struct store *s, struct mf_slice pattern, uint64_t first, uint64_t last,
                 uint64_t *out)
{
    return count_briefly(s, pattern, first, last, out) != COUNT_LONG;
}

struct overdue_count {
    struct store *s;
    struct mf_slice pattern;
    uint64_t first, last, n;
};

static void count_overdue(void *arg, uint32_t id, int64_t deadline_ns)
{
    struct overdue_count *o = arg;
    const struct index *ix = view_index(o->s);
    uint64_t seq = index_seq(ix, id);

    (void)deadline_ns;
    o->s->view.late.steps++;
    o->n += seq >= o->first && seq <= o->last && view_present(o->s, id) &&
            keys_matches(index_keys(ix), index_key(ix, id), o->pattern);
}

/* Walks the keys that match, if they have few messages.  False: they have more. */
static bool count_overdue_by_key(struct overdue_count *o)
{
    const struct index *ix = view_index(o->s);
    struct keys_walk *w;
    struct keys_sum sum;
    uint32_t key;

    if (!count_sums(ix, o->pattern, STEPS, &sum) || sum.msgs > STEPS ||
        (w = keys_walk_new(index_keys(ix), o->pattern)) == NULL)
        return false;
    while ((key = keys_walk_next(w)) != KEYS_NONE)
        for (uint32_t id = index_key_last(ix, key); id != INDEX_NONE; id = index_older(ix, id)) {
            uint64_t seq = index_seq(ix, id);
            o->s->view.late.steps++;
            o->n += seq >= o->first && seq <= o->last && view_present(o->s, id) &&
                    view_overdue(o->s, ix, id);
        }
    return true;
}

uint64_t store_count_overdue(struct store *s, struct mf_slice pattern, uint64_t first,
                             uint64_t last)
{
    struct overdue_count o = {s, pattern, first, last, 0};
    uint32_t front = index_next(view_index(s), 0);
    struct totals late;
    uint64_t keys;

    if (index_next_deadline(view_index(s)) > s->now_ns)
        return 0;
    if (front != INDEX_NONE && first <= index_seq(view_index(s), front) &&
        last >= s->log.committed_seq && count_covers(view_index(s), pattern)) {
        late_sum(s, &late, &keys);
        o.n = late.msgs;
    } else if (!count_overdue_by_key(&o)) {
        index_each_deadline(view_index(s), s->now_ns + 1, count_overdue, &o);
    }
    return o.n;
}

bool store_count_keys(struct store *s, struct mf_slice pattern, uint64_t last, uint64_t *out)
{
    const struct index *ix = view_index(s);
    struct keys_sum sum;

    last = last < s->log.committed_seq ? last : s->log.committed_seq;
    *out = 0;
    if (last == 0 || index_count(ix) == 0)
        return true;
    if (!count_sums(ix, pattern, STEPS, &sum) || count_range(ix, last + 1, UINT64_MAX) > STEPS)
        return false;
    *out = sum.keys - count_matching(ix, pattern, last + 1, UINT64_MAX).keys;
    return true;
}

/* --- the newest ------------------------------------------------------------------------------- */

/* Back from the end for as many steps as there are keys, then by key: at most twice as long as the
 * shorter of the two ways. */
uint64_t count_newest(const struct store *s, const struct index *ix, struct mf_slice pattern,
                      bool (*counts)(const struct store *s, uint32_t id))
{
    struct keys_sum sum;
    uint64_t steps = count_sums(ix, pattern, STEPS, &sum) ? sum.keys : STEPS, last = 0;
    uint32_t key;

    for (uint32_t id = index_prev(ix, UINT64_MAX); id != INDEX_NONE && steps > 0; steps--) {
        uint64_t seq = index_seq(ix, id);
        if (counts(s, id) && keys_matches(index_keys(ix), index_key(ix, id), pattern))
            return seq;
        id = seq == 0 ? INDEX_NONE : index_prev(ix, seq - 1);
    }
    struct keys_walk *w = keys_walk_new(index_keys(ix), pattern);
    while (w != NULL && (key = keys_walk_next(w)) != KEYS_NONE)
        for (uint32_t id = index_key_last(ix, key); id != INDEX_NONE; id = index_older(ix, id)) {
            if (index_seq(ix, id) <= last)
                break;
            if (counts(s, id))
                last = index_seq(ix, id);
        }
    return last;
}
