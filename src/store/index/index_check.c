/* index_check.c: tests every invariant of the index.  For tests: O(everything). */
#include "store/index/index_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "index: %s:%d: broken: %s\n", __func__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void check_bits(const struct block *b)
{
    unsigned count = 0, endless = 0;

    for (unsigned i = 0; i < BLOCK_SLOTS; i++) {
        count += bit_get(b->live, i);
        must(i < b->used || !bit_get(b->live, i));
        must(bit_get(b->live, i) || !bit_get(b->removing, i));
        must(bit_get(b->removing, i) || !bit_get(b->hidden, i));
        must(bit_get(b->live, i) || !(bit_get(b->infinite, i) || bit_get(b->pinned, i)));
        endless += bit_get(b->infinite, i);
    }
    must(count == b->count && count > 0);
    must(endless == b->endless);
    must(b->used <= b->cap);
    must(b->cap == BLOCK_SMALL || b->cap == BLOCK_SMALL * 4 || b->cap == BLOCK_SLOTS);
    for (unsigned i = 1; i < b->used; i++)
        must(block_delta(b, i) > block_delta(b, i - 1));
}

static void check_directory(const struct index *ix)
{
    size_t count = 0;

    must(ix->dir.head + ix->dir.count <= ix->dir.cap);
    for (size_t i = 0; i < ix->dir.count; i++) {
        uint32_t number = ix->dir.block[ix->dir.head + i];
        must(number > 0 && number < ix->pages);
        const struct block *b = ix->page[number];
        must(b != NULL && b->number == number);
        must(b->base == dir_base(ix, i));
        must(i + 1 == ix->dir.count || block_last_seq(b) < dir_base(ix, i + 1));
        must(index_dir_find(ix, b->base) == i && index_dir_find(ix, block_last_seq(b)) == i);
        check_bits(b);
        count += b->count;
    }
    must(count == ix->count);
    must(ix->dir.count + ix->spares + (ix->pages > 0) == ix->pages);
    must(ix->pages <= ix->page_cap);
    for (size_t i = 0; i < ix->spares; i++)
        must(ix->spare[i] < ix->pages && ix->page[ix->spare[i]] == NULL);
    must(ix->pages == 0 || ix->page[0]->e[0].wheel_ref == WHEEL_NONE);
}

/* From the newest back to the oldest; each is seen from its key's newest exactly once. */
static size_t check_ring(const struct index *ix, uint32_t key)
{
    struct keys_value v = keys_value(ix->keys, key);
    uint32_t id = v.last;
    size_t n = 0;

    do {
        const struct entry *e = index_entry(ix, id);
        must(bit_get(index_block(ix, id)->live, index_slot(id)));
        must(e->key == key);
        must(index_entry(ix, e->older)->newer == id);
        must(index_entry(ix, e->newer)->older == id);
        must(e->older == v.last || index_seq(ix, e->older) < index_seq(ix, id));
        must(n < v.count);
        id = e->older;
        n++;
    } while (id != v.last);
    must(n == v.count);
    return n;
}

/* Contribution of a key to the sums of prefixes: its entries that are not hidden. */
static struct keys_sum sum_of_key(const void *arg, uint32_t key)
{
    const struct index *ix = arg;
    struct keys_sum sum = {0, 0};

    for (uint32_t id = index_key_last(ix, key); id != INDEX_NONE; id = index_older(ix, id))
        sum.msgs += !index_hidden(ix, id);
    sum.keys = sum.msgs > 0;
    return sum;
}

/* Rings and wheel; while loading there are none, but keys count their entries. */
static void check_entries(const struct index *ix)
{
    size_t keys = 0, ringed = 0, timed = 0, infinite = 0, pinned = 0;

    for (size_t i = 0; i < ix->dir.count; i++) {
        const struct block *b = dir_block(ix, i);
        size_t before = timed;
        for (unsigned s = index_block_next_live(b, 0); s < BLOCK_SLOTS;
             s = index_block_next_live(b, s + 1)) {
            const struct entry *e = &b->e[s];
            must(keys_value(ix->keys, e->key).count > 0);
            must(!bit_get(b->hidden, s) || e->wheel_ref == WHEEL_NONE);
            timed += e->wheel_ref != WHEEL_NONE;
            infinite += bit_get(b->infinite, s);
            pinned += bit_get(b->pinned, s);
            must(!bit_get(b->infinite, s) || e->wheel_ref == WHEEL_NONE);
            if (ix->load == NULL && keys_value(ix->keys, e->key).last == block_id(b, s)) {
                keys++;
                ringed += check_ring(ix, e->key);
            }
        }
        must(timed - before == b->timed);
    }
    must(timed == index_deadlines(ix));
    must(infinite == ix->infinite && pinned == ix->pinned);
    if (ix->load == NULL) {
        must(keys == keys_count(ix->keys));
        must(ringed == ix->count);
    }
}

void index_check(const struct index *ix)
{
    check_directory(ix);
    check_entries(ix);
    keys_check(ix->keys);
    if (ix->load == NULL) {
        struct keys_sum all = keys_total(ix->keys);
        keys_check_sums(ix->keys, sum_of_key, ix);
        must(all.msgs == ix->count - ix->hidden);
        must(all.keys == keys_count(ix->keys) - ix->hidden_keys);
    }
    if (ix->wheel != NULL)
        wheel_check(ix->wheel);
}
