/* index_ahead.c: search for entries by deadline or by the lack of one. */
#include "store/index/index_impl.h"

void index_scan_begin(struct index *ix, struct wheel_scan *s, int64_t from_ns, int64_t to_ns)
{
    wheel_scan_begin(ix->wheel, s, from_ns, to_ns);
}

void index_scans_stop(struct index *ix)
{
    if (ix->wheel != NULL)
        wheel_scans_stop(ix->wheel);
}

uint64_t index_deadlines_between(const struct index *ix, int64_t from_ns, int64_t to_ns,
                                 uint64_t enough, uint64_t *steps)
{
    return ix->wheel == NULL ? 0 : wheel_between(ix->wheel, from_ns, to_ns, enough, steps);
}

uint32_t index_probe(const struct index *ix, uint32_t i, uint32_t of, int64_t *deadline_ns)
{
    uint32_t id;

    return ix->wheel != NULL && wheel_probe(ix->wheel, i, of, &id, deadline_ns) ? id : INDEX_NONE;
}

static unsigned bits_count(const uint64_t bits[BLOCK_WORDS])
{
    unsigned n = 0;

    for (unsigned i = 0; i < BLOCK_WORDS; i++)
        n += (unsigned)__builtin_popcountll(bits[i]);
    return n;
}

/* Has it any?  Hidden entries have left the wheel. */
static bool block_has(const struct block *b, bool infinite)
{
    if (infinite)
        return b->endless > 0;
    return b->count > b->timed + b->endless + bits_count(b->hidden);
}

/* The first in [from, used) of one block; BLOCK_SLOTS: none. */
static unsigned block_endless(const struct block *b, bool infinite, unsigned from, size_t *steps)
{
    for (unsigned i = index_block_next_live(b, from); i < BLOCK_SLOTS;
         i = index_block_next_live(b, i + 1)) {
        *steps -= *steps > 0;
        if (!bit_get(b->hidden, i) && bit_get(b->infinite, i) == infinite &&
            b->e[i].wheel_ref == WHEEL_NONE)
            return i;
    }
    return BLOCK_SLOTS;
}

uint32_t index_next_without_deadline(const struct index *ix, bool infinite, uint64_t *from_seq,
                                     size_t *steps)
{
    size_t at = index_dir_find(ix, *from_seq);

    for (at = at == DIR_NONE ? 0 : at; at < ix->dir.count; at++) {
        const struct block *b = dir_block(ix, at);
        if (*steps == 0)
            return INDEX_NONE;
        --*steps;
        if (*from_seq < b->base)
            *from_seq = b->base;
        if (block_has(b, infinite)) {
            unsigned slot =
                block_endless(b, infinite, index_block_lower(b, *from_seq - b->base), steps);
            if (slot < BLOCK_SLOTS)
                return block_id(b, slot);
        }
        if (block_last_seq(b) == UINT64_MAX)
            break;
        *from_seq = block_last_seq(b) + 1;
    }
    *steps += *steps == 0; /* that was all */
    return INDEX_NONE;
}
