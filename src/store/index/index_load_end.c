/* index_load_end.c: the passes over all blocks that end loading.
 *
 * Happy path: entries that the time mark covers are dropped.  Then, block by block in sequence
 * order, sparse neighbours are merged, deadlines are added to the wheel, and the lane makes the
 * rings of the blocks before.  A block that was handed over belongs to the lane: the keys,
 * `newer` and `older` of its entries; `wheel_ref` stays the caller's (the wheel may sort due
 * entries).  Without a second thread, or for few messages, the caller does both in turn.
 * Failure: the lane finishes its work, and everything is freed with the index. */
#include "store/index/index_impl.h"
#include "store/log/lane.h"
#include "store/log/record.h"

#include <stdlib.h>

#define AHEAD  16u /* a key is fetched so long before its entry is linked, then the ring's ends */
#define PIECES 64u
#define PIECE  16u /* blocks */

struct link_piece {
    unsigned count;
    uint32_t block[PIECE];
};

struct finish {
    struct index *ix;
    struct record_mark gone;
    void (*kept)(void *arg, uint64_t seq, uint64_t place);
    void *arg;
    struct lane *lane; /* NULL: rings are made at once */
    unsigned at;       /* the piece that is being filled */
    struct link_piece piece[PIECES];
};

static void leave_out(struct finish *f, struct block *b)
{
    for (unsigned i = index_block_next_live(b, 0); i < BLOCK_SLOTS;
         i = index_block_next_live(b, i + 1)) {
        if (record_mark_covers(f->gone, b->e[i].deadline_ns, block_seq(b, i))) {
            index_key_drop(f->ix, b->e[i].key);
            index_block_set_dead(f->ix, b, i);
        }
    }
}

/* Merges sparse neighbours; true: r was freed. */
static bool join_blocks(struct index *ix, struct block *l, struct block *r)
{
    uint64_t delta = block_last_seq(r) - l->base;
    unsigned count = l->count + r->count;

    if (count > (delta > UINT16_MAX && !l->wide ? BLOCK_MERGE : BLOCK_SLOTS) || delta > UINT32_MAX)
        return false;
    l = index_block_fit(ix, l, count, delta);
    if (l == NULL)
        return false;
    index_block_absorb(ix, l, r);
    index_block_free(ix, r);
    return true;
}

static bool is_live(const struct block *b, unsigned slot)
{
    return slot < b->used && bit_get(b->live, slot);
}

static void fetch_key(const struct index *ix, const struct block *b, unsigned slot)
{
    if (is_live(b, slot))
        keys_prefetch_id(ix->keys, b->e[slot].key);
}

/* The newest so far, and half way on, through it, the oldest: index_ring_link() writes to both. */
static void fetch_ring(const struct index *ix, const struct block *b, unsigned slot, bool oldest)
{
    uint32_t last = is_live(b, slot) ? keys_value(ix->keys, b->e[slot].key).last : KEYS_NONE;

    if (last != KEYS_NONE)
        __builtin_prefetch(index_entry(ix, oldest ? index_entry(ix, last)->newer : last), 1);
}

static void link_rings(struct index *ix, uint32_t number)
{
    const struct block *b = ix->page[number];

    for (unsigned i = 0; i < AHEAD; i++)
        fetch_key(ix, b, i);
    for (unsigned i = index_block_next_live(b, 0); i < BLOCK_SLOTS;
         i = index_block_next_live(b, i + 1)) {
        fetch_key(ix, b, i + AHEAD);
        fetch_ring(ix, b, i + AHEAD / 2, false);
        fetch_ring(ix, b, i + AHEAD / 4, true);
        index_ring_link(ix, block_id(b, i));
    }
}

static void lane_work(void *arg, unsigned piece) /* on the lane */
{
    struct finish *f = arg;

    for (unsigned i = 0; i < f->piece[piece].count; i++)
        link_rings(f->ix, f->piece[piece].block[i]);
}

static void hand_over(struct finish *f, uint32_t number)
{
    struct link_piece *p = &f->piece[f->at];

    if (f->lane == NULL) {
        link_rings(f->ix, number);
        return;
    }
    p->block[p->count++] = number;
    if (p->count < PIECE)
        return;
    lane_submit(f->lane);
    f->at = lane_next(f->lane);
    f->piece[f->at].count = 0;
}

static int finish_block(struct finish *f, uint32_t number)
{
    struct index *ix = f->ix;
    struct block *b = ix->page[number];

    if (b->cap > BLOCK_SMALL && b->count <= b->cap / 16) { /* a lonely one */
        index_block_shrink(ix, b, b->cap / 4);
        b = ix->page[number];
    }
    for (unsigned i = index_block_next_live(b, 0); i < BLOCK_SLOTS;
         i = index_block_next_live(b, i + 1)) {
        int64_t deadline_ns = b->e[i].deadline_ns;
        if (deadline_ns != 0 && index_wheel_add(ix, block_id(b, i), deadline_ns) != 0)
            return MF_NOMEM;
        if (f->kept != NULL)
            f->kept(f->arg, block_seq(b, i), b->e[i].place);
    }
    hand_over(f, number);
    return 0;
}

/* A block is finished when it is sure that the next one does not join it. */
static int finish_all(struct finish *f)
{
    struct index *ix = f->ix;
    struct directory *d = &ix->dir;
    size_t kept = d->head, end = d->head + d->count;

    for (size_t i = d->head; i < end; i++) {
        uint32_t number = d->block[i];
        struct block *b = ix->page[number];
        if (b->count == 0) {
            index_block_free(ix, b);
            continue;
        }
        if (kept > d->head) {
            uint32_t before = d->block[kept - 1];
            if (join_blocks(ix, ix->page[before], b))
                continue;
            if (finish_block(f, before) != 0)
                return MF_NOMEM;
        }
        d->base[kept] = b->base;
        d->block[kept++] = number;
    }
    if (kept > d->head && finish_block(f, d->block[kept - 1]) != 0)
        return MF_NOMEM;
    d->count = kept - d->head;
    return 0;
}

static int finish_with_lane(struct finish *f)
{
    struct index *ix = f->ix;

    /* Before the lane starts: keys may be freed. */
    for (size_t i = 0; f->gone.time_ns != 0 && i < ix->dir.count; i++)
        leave_out(f, dir_block(ix, i));
    if (ix->count >= INDEX_BULK)
        f->lane = lane_new(PIECES, lane_work, f); /* NULL: slower, but it can do without */
    int rc = finish_all(f);
    if (f->lane != NULL)
        lane_submit(f->lane);
    lane_free(f->lane);
    return rc;
}

int index_load_end(struct index *ix, const struct record_mark *gone,
                   void (*kept)(void *arg, uint64_t seq, uint64_t place), void *arg)
{
    struct finish f = {.ix = ix, .kept = kept, .arg = arg};

    if (gone != NULL)
        f.gone = *gone;
    if (index_load_flush(ix, ix->load->count) != 0 || finish_with_lane(&f) != 0)
        return MF_NOMEM;
    free(ix->load);
    ix->load = NULL;
    if (ix->dir.count == 0)
        index_dir_clear(ix);
    return 0;
}
