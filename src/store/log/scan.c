/* scan.c: walks the bytes of one segment, record by record, over damage too. */
#include "store/log/scan.h"

#define STEP 8u /* records start at multiples of it */

void scan_init(struct scan *s, const uint8_t *base, uint64_t size, uint64_t key, uint64_t offset)
{
    *s = (struct scan){.base = base, .size = size, .key = key, .offset = offset};
    s->budget = 4 * size;
}

/* True if a record could start here, by its length, type and bits.  24 bytes are readable.  Zeros
 * fail, and most text: as a length it exceeds the segment. */
static bool is_plausible(const uint8_t *p, uint64_t room)
{
    uint32_t length = get_u32(p + 4);
    uint8_t type = p[12];

    return length >= RECORD_REMOVE_SIZE && length <= room && type >= RECORD_MESSAGE &&
           type <= RECORD_ERASE && p[13] <= RECORD_LAST;
}

static bool is_zeros64(const uint8_t *p)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < 64; i += 8)
        any |= get_u64(p + i);
    return any == 0;
}

/* The first valid record at or after `from`; s->size: none. */
static uint64_t find_record(struct scan *s, uint64_t from)
{
    struct record r;

    while (s->size >= RECORD_REMOVE_SIZE && from <= s->size - RECORD_REMOVE_SIZE) {
        const uint8_t *p = s->base + from;
        uint64_t room = s->size - from;
        if (is_plausible(p, room)) {
            if (record_read_head(p, room, s->key, from, &r) && r.size <= s->budget) {
                s->budget -= r.size;
                if (record_read_data(p, s->key, from, &r))
                    return from;
            }
            from += STEP;
        } else if (room >= 64 && get_u64(p) == 0 && is_zeros64(p)) {
            from += 64; /* a record that starts in here would show its length in here */
        } else {
            from += STEP;
        }
    }
    return s->size;
}

void scan_pass(struct scan *s, const struct record *r)
{
    s->offset += r->size;
    s->chain = r->check;
    s->chain_known = true;
}

enum scan_result scan_look(struct scan *s, uint64_t at)
{
    s->offset = find_record(s, at + STEP);
    s->chain_known = false;
    return s->offset < s->size ? SCAN_STRETCH : SCAN_END;
}

enum scan_result scan_next(struct scan *s, struct record *out, uint64_t *at, bool *broken)
{
    uint64_t from = s->offset, room = from < s->size ? s->size - from : 0;
    const uint8_t *p = s->base + (room > 0 ? from : 0);

    *at = from;
    *broken = false;
    if (record_read_head(p, room, s->key, from, out)) {
        bool whole = out->size <= s->budget && record_read_data(p, s->key, from, out);
        bool follows = s->loose || !s->chain_known || out->chain == s->chain;
        if (whole && follows) {
            scan_pass(s, out);
            return SCAN_RECORD;
        }
        if (!whole)
            s->budget -= out->size < s->budget ? out->size : s->budget;
        *broken = !whole;
        if (s->hollows && !whole && follows &&
            (out->type == RECORD_MESSAGE || out->type == RECORD_COPY))
            return SCAN_HOLLOW;
    }
    return scan_look(s, from);
}
