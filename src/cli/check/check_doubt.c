/* check_doubt.c: records that damage may hide.  docs/disk-format.md, "Repair".
 *
 * A stretch without records may have held a removal, a time mark or a new deadline of any message
 * given before it.  A message is beyond doubt if its own record lies behind the stretch, or a new
 * deadline does: only messages that are there get one.  If the time mark had passed the deadline
 * that can be read by then, the stretch held a later one.  Where the fixed part of a damaged
 * message is in order and the next record vouches for it, nothing but that message is hidden. */
#include "cli/check/check_impl.h"

#include "base/array.h"

#include <stdlib.h>

#define MESSAGE_MIN 56u /* bytes of the shortest message on disk */

/* Enters a message that cannot be read: its sequence was in use. */
static int enter_lost(struct run *r, const struct rec *rec)
{
    uint64_t seq = rd64(rec->p + 16);
    struct entry en = {.deadline = (int64_t)rd64(rec->p + 32),
                       .segment = NO_SEGMENT,
                       .length = rec->length - rec->fixed,
                       .flags = rec->flags};

    check_model_saw(r->m, seq);
    /* Of a copy the original may be left in a segment before it. */
    if (rec->type == REC_COPY && check_model_has(r->m, seq))
        return 0;
    return check_model_put(r->m, seq, &en);
}

int check_doubt_damage(struct run *r, struct check_pos p, uint64_t length, const struct rec *rec)
{
    struct doubt *d = &r->doubt;

    if (!d->want || length == 0)
        return 0;
    if (rec != NULL && (rec->type == REC_MESSAGE || rec->type == REC_COPY))
        return enter_lost(r, rec);
    d->blobs = p;
    if (rec != NULL && rec->type == REC_BLOB)
        return 0;
    if (d->about.segment == 0) {
        d->mark_t = r->m->mark_t;
        d->mark_s = r->m->mark_s;
        d->marked = r->m->marked;
    }
    d->about = p;
    d->count = 0;
    d->unseen += length / MESSAGE_MIN;
    return 0;
}

bool check_doubt_deadline(const struct run *r, uint64_t seq, const struct entry *en)
{
    const struct doubt *d = &r->doubt;
    struct model before = {.mark_t = d->mark_t, .mark_s = d->mark_s, .marked = d->marked};

    return pos_before(entry_pos(r->c, en), d->about) &&
           !model_is_marked(&before, en->deadline, seq);
}

int check_doubt_redeadline(struct run *r, uint64_t seq)
{
    struct doubt *d = &r->doubt;

    if (d->about.segment == 0 || !check_model_has(r->m, seq))
        return 0;
    if (mf_array_reserve(&d->alive, &d->cap, d->count + 1, sizeof *d->alive) != 0)
        return MF_NOMEM;
    d->alive[d->count++] = seq;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

void check_doubt_settle(struct doubt *d)
{
    if (d->count > 1)
        qsort(d->alive, d->count, sizeof *d->alive, by_number);
}

bool check_doubt_covers(const struct doubt *d, struct check_pos p, uint64_t seq)
{
    return pos_before(p, d->about) &&
           (d->count == 0 || bsearch(&seq, d->alive, d->count, sizeof seq, by_number) == NULL);
}

void check_doubt_fini(struct doubt *d)
{
    free(d->alive);
    *d = (struct doubt){.want = d->want};
}
