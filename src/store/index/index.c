/* index.c: the index of messages: creation, changes, queries. */
#include "store/index/index_impl.h"
#include "store/log/record.h"

#include <stdlib.h>

static uint64_t entry_order(void *arg, uint32_t id)
{
    return index_seq(arg, id);
}

int index_wheel_add(struct index *ix, uint32_t id, int64_t deadline_ns)
{
    if (ix->wheel == NULL) {
        struct wheel_owner owner = {
            .pages = {.page = (uint8_t *const *)(void *)ix->page,
                      .bits = BLOCK_BITS,
                      .at = offsetof(struct block, e) + offsetof(struct entry, wheel_ref),
                      .stride = sizeof(struct entry)},
            .order = entry_order,
            .arg = ix,
        };
        ix->wheel = wheel_new(&owner, ix->now_ns);
        if (ix->wheel == NULL)
            return MF_NOMEM;
    }
    int rc = wheel_add(ix->wheel, id, deadline_ns);
    index_block(ix, id)->timed += rc == 0;
    return rc;
}

static void wheel_out(struct index *ix, uint32_t id)
{
    if (index_entry(ix, id)->wheel_ref == WHEEL_NONE)
        return;
    index_block(ix, id)->timed--;
    wheel_del(ix->wheel, id);
}

struct index *index_new(char separator, int64_t now_ns)
{
    struct index *ix = calloc(1, sizeof *ix);

    if (ix == NULL)
        return NULL;
    ix->separator = separator;
    ix->now_ns = now_ns;
    ix->keys = keys_new(separator);
    if (ix->keys == NULL) {
        free(ix);
        return NULL;
    }
    return ix;
}

void index_free(struct index *ix)
{
    if (ix == NULL)
        return;
    for (size_t i = 0; i < ix->pages; i++)
        free(ix->page[i]);
    free(ix->page);
    free(ix->spare);
    free(ix->dir.base);
    free(ix->load);
    if (ix->wheel != NULL)
        wheel_free(ix->wheel);
    keys_free(ix->keys);
    free(ix);
}

int index_add(struct index *ix, uint64_t seq, struct mf_slice key, uint64_t place,
              int64_t deadline_ns, uint32_t *id)
{
    struct block *b;
    unsigned slot;
    uint32_t k;
    int rc = index_key_hold(ix, key, keys_hash(ix->keys, key), &k);

    if (rc != 0)
        return rc;
    if (index_dir_append(ix, seq, &b, &slot) != 0)
        goto err_key;
    b->e[slot] = (struct entry){.place = place, .key = k, .wheel_ref = WHEEL_NONE};
    if (deadline_ns != 0 && index_wheel_add(ix, block_id(b, slot), deadline_ns) != 0)
        goto err_slot;
    index_block_set_live(ix, b, slot);
    *id = block_id(b, slot);
    index_ring_link(ix, *id);
    return 0;
err_slot:
    index_dir_unappend(ix, b);
err_key:
    index_key_drop(ix, k);
    return MF_NOMEM;
}

void index_set_removing(struct index *ix, uint32_t id)
{
    bit_put(index_block(ix, id)->removing, index_slot(id), true);
}

void index_hide(struct index *ix, uint32_t id)
{
    bool before = index_hidden(ix, id);

    index_set_removing(ix, id);
    bit_put(index_block(ix, id)->hidden, index_slot(id), true);
    wheel_out(ix, id);
    if (!before)
        index_ring_hidden(ix, id);
}

bool index_hidden(const struct index *ix, uint32_t id)
{
    return bit_get(index_block(ix, id)->hidden, index_slot(id));
}

bool index_removing(const struct index *ix, uint32_t id)
{
    return bit_get(index_block(ix, id)->removing, index_slot(id));
}

void index_remove(struct index *ix, uint32_t id)
{
    struct block *b = index_block(ix, id);

    wheel_out(ix, id);
    index_ring_unlink(ix, id);
    index_block_set_dead(ix, b, index_slot(id));
    index_dir_after_loss(ix, b, b->count + 1u);
}

void index_set_place(struct index *ix, uint32_t id, uint64_t place)
{
    index_entry(ix, id)->place = place;
}

/* The new deadline is added for the scratch entry first: if memory runs out, the old one is
 * unchanged. */
static int wheel_set(struct index *ix, uint32_t id, int64_t deadline_ns)
{
    if (deadline_ns == 0) {
        wheel_out(ix, id);
        return 0;
    }
    if (index_entry(ix, id)->wheel_ref == WHEEL_NONE)
        return index_wheel_add(ix, id, deadline_ns);
    struct block *scratch = ix->page[0];
    scratch->base = index_seq(ix, id);
    if (wheel_add(ix->wheel, block_id(scratch, 0), deadline_ns) != 0)
        return MF_NOMEM;
    wheel_del(ix->wheel, id);
    wheel_renumber(ix->wheel, block_id(scratch, 0), id);
    return 0;
}

int index_set_deadline(struct index *ix, uint32_t id, int64_t deadline_ns)
{
    int rc = wheel_set(ix, id, deadline_ns);

    if (rc == 0)
        index_set_bits(ix, id, index_bits(ix, id)); /* it is not infinite any more */
    return rc;
}

void index_set_bits(struct index *ix, uint32_t id, uint16_t flags)
{
    index_block_set_bits(ix, index_block(ix, id), index_slot(id), flags, index_deadline(ix, id));
}

uint16_t index_bits(const struct index *ix, uint32_t id)
{
    const struct block *b = index_block(ix, id);
    unsigned slot = index_slot(id);

    return (uint16_t)((bit_get(b->infinite, slot) ? RECORD_INFINITE : 0u) |
                      (bit_get(b->pinned, slot) ? RECORD_PINNED : 0u));
}

size_t index_infinite(const struct index *ix)
{
    return ix->infinite;
}

size_t index_pinned(const struct index *ix)
{
    return ix->pinned;
}

uint32_t index_find(const struct index *ix, uint64_t seq)
{
    size_t at = index_dir_find(ix, seq);

    if (at == DIR_NONE)
        return INDEX_NONE;
    const struct block *b = dir_block(ix, at);
    unsigned slot = index_block_lower(b, seq - b->base);
    if (slot == b->used || block_seq(b, slot) != seq || !bit_get(b->live, slot))
        return INDEX_NONE;
    return block_id(b, slot);
}

uint32_t index_next(const struct index *ix, uint64_t from_seq)
{
    size_t at = index_dir_find(ix, from_seq);

    if (at == DIR_NONE) {
        at = 0;
    } else {
        const struct block *b = dir_block(ix, at);
        unsigned slot = index_block_next_live(b, index_block_lower(b, from_seq - b->base));
        if (slot < BLOCK_SLOTS)
            return block_id(b, slot);
        at++;
    }
    if (at >= ix->dir.count)
        return INDEX_NONE;
    const struct block *b = dir_block(ix, at);
    return block_id(b, index_block_next_live(b, 0));
}

uint32_t index_prev(const struct index *ix, uint64_t from_seq)
{
    size_t at = index_dir_find(ix, from_seq);

    if (at == DIR_NONE)
        return INDEX_NONE;
    const struct block *b = dir_block(ix, at);
    unsigned end = index_block_lower(b, from_seq - b->base);
    if (end < b->used && block_seq(b, end) == from_seq)
        end++; /* [0, end) is at or before */
    unsigned slot = end == 0 ? BLOCK_SLOTS : index_block_prev_live(b, end - 1);
    if (slot < BLOCK_SLOTS)
        return block_id(b, slot);
    if (at == 0)
        return INDEX_NONE;
    b = dir_block(ix, at - 1);
    return block_id(b, index_block_prev_live(b, BLOCK_SLOTS - 1));
}

uint64_t index_seq(const struct index *ix, uint32_t id)
{
    return block_seq(index_block(ix, id), index_slot(id));
}

uint64_t index_place(const struct index *ix, uint32_t id)
{
    return index_entry(ix, id)->place;
}

int64_t index_deadline(const struct index *ix, uint32_t id)
{
    bool never = index_entry(ix, id)->wheel_ref == WHEEL_NONE;

    return never ? 0 : wheel_deadline(ix->wheel, id);
}

uint16_t index_life(const struct index *ix, uint32_t id)
{
    if (ix->wheel == NULL && (ix->infinite | ix->pinned) == 0)
        return 0;
    const struct block *b = index_block(ix, id);
    unsigned slot = index_slot(id);
    uint16_t life = b->e[slot].wheel_ref != WHEEL_NONE || bit_get(b->hidden, slot);

    return (ix->infinite | ix->pinned) == 0 ? life : life | index_bits(ix, id);
}

uint32_t index_key(const struct index *ix, uint32_t id)
{
    return index_entry(ix, id)->key;
}

/* The ring is closed; where the sequence turns round, it ends. */
uint32_t index_older(const struct index *ix, uint32_t id)
{
    uint32_t older = index_entry(ix, id)->older;

    return older != id && index_seq(ix, older) < index_seq(ix, id) ? older : INDEX_NONE;
}

uint32_t index_newer(const struct index *ix, uint32_t id)
{
    uint32_t newer = index_entry(ix, id)->newer;

    return newer != id && index_seq(ix, newer) > index_seq(ix, id) ? newer : INDEX_NONE;
}

uint32_t index_key_last(const struct index *ix, uint32_t key)
{
    return keys_value(ix->keys, key).last;
}

uint32_t index_key_first(const struct index *ix, uint32_t key)
{
    return index_entry(ix, index_key_last(ix, key))->newer;
}

uint32_t index_key_count(const struct index *ix, uint32_t key)
{
    return keys_value(ix->keys, key).count;
}

struct keys *index_keys(const struct index *ix)
{
    return ix->keys;
}

size_t index_count(const struct index *ix)
{
    return ix->count;
}

size_t index_hidden_count(const struct index *ix)
{
    return ix->hidden;
}

size_t index_hidden_keys(const struct index *ix)
{
    return ix->hidden_keys;
}

/* Of one block, in slots [from, to). */
static uint64_t block_range_count(const struct block *b, unsigned from, unsigned to)
{
    uint64_t n = 0;

    for (unsigned w = from / 64; w < BLOCK_WORDS && w * 64 < to; w++) {
        uint64_t bits = b->live[w] & ~b->hidden[w];
        if (from > w * 64)
            bits &= UINT64_MAX << (from - w * 64);
        if (to < w * 64 + 64)
            bits &= UINT64_MAX >> (w * 64 + 64 - to);
        n += (uint64_t)__builtin_popcountll(bits);
    }
    return n;
}

uint64_t index_range_count(const struct index *ix, uint64_t first, uint64_t last)
{
    size_t at = index_dir_find(ix, first);
    uint64_t n = 0;

    for (at = at == DIR_NONE ? 0 : at; at < ix->dir.count && dir_base(ix, at) <= last; at++) {
        const struct block *b = dir_block(ix, at);
        unsigned from = first <= b->base ? 0 : index_block_lower(b, first - b->base), to = b->used;
        if (block_last_seq(b) > last) {
            to = index_block_lower(b, last - b->base);
            to += block_seq(b, to) == last;
        }
        n += block_range_count(b, from, to);
    }
    return n;
}

bool index_advance(struct index *ix, int64_t now_ns, size_t budget)
{
    if (now_ns > ix->now_ns)
        ix->now_ns = now_ns;
    return ix->wheel == NULL || wheel_advance(ix->wheel, now_ns, budget);
}

uint32_t index_due(struct index *ix, int64_t *deadline_ns)
{
    return ix->wheel == NULL ? INDEX_NONE : wheel_peek(ix->wheel, deadline_ns);
}

int64_t index_next_deadline(const struct index *ix)
{
    return ix->wheel == NULL ? INT64_MAX : wheel_next(ix->wheel);
}

size_t index_deadlines(const struct index *ix)
{
    return ix->wheel == NULL ? 0 : wheel_count(ix->wheel);
}

void index_each_deadline(const struct index *ix, int64_t to_ns,
                         void (*visit)(void *arg, uint32_t id, int64_t deadline_ns), void *arg)
{
    if (ix->wheel != NULL)
        wheel_each(ix->wheel, to_ns, visit, arg);
}

void index_each_due(const struct index *ix, int64_t after_ns, int64_t to_ns,
                    void (*visit)(void *arg, uint32_t id, int64_t deadline_ns), void *arg)
{
    if (ix->wheel != NULL)
        wheel_each_due(ix->wheel, after_ns, to_ns, visit, arg);
}

uint64_t index_moves(const struct index *ix)
{
    return ix->moves;
}

size_t index_memory(const struct index *ix)
{
    size_t n = sizeof *ix + ix->block_bytes;

    n += ix->page_cap * (sizeof(struct block *) + sizeof ix->spare[0]);
    n += ix->dir.cap * (sizeof ix->dir.base[0] + sizeof ix->dir.block[0]);
    n += ix->load == NULL ? 0 : sizeof *ix->load;
    n += ix->wheel == NULL ? 0 : wheel_memory(ix->wheel);
    return n + keys_memory(ix->keys);
}
