/* index_load.c: fills an empty index from the log.
 *
 * Happy path: puts come in ascending sequence.  Each waits in a queue of 16 while its key's place
 * in the key table is fetched from memory; then it is appended to the last block.  Entries keep
 * their deadline where the ring's links will be. index_load_end() passes over the blocks once, in
 * sequence order: it drops entries that the time mark covers, merges sparse neighbours, and makes
 * rings and wheel.
 * Otherwise: a put with a smaller sequence (a copy by the cleaner) is inserted where it belongs;
 * a full block is split.  No ids exist meanwhile, so entries may be moved freely. */
#include "store/index/index_impl.h"

#include <stdlib.h>

int index_load_begin(struct index *ix)
{
    ix->load = malloc(sizeof *ix->load);
    if (ix->load == NULL)
        return MF_NOMEM;
    ix->load->top = 0;
    ix->load->any = ix->load->known = false;
    ix->load->head = ix->load->count = 0;
    ix->load->bulk = NULL;
    return 0;
}

static void entry_set(struct index *ix, struct block *b, unsigned slot, uint32_t key,
                      const struct load_item *it)
{
    b->e[slot] = (struct entry){
        .place = it->place, .key = key, .wheel_ref = WHEEL_NONE, .deadline_ns = it->deadline_ns};
    index_block_set_live(ix, b, slot);
    index_block_set_bits(ix, b, slot, it->flags, it->deadline_ns);
}

int index_load_entry(struct index *ix, uint64_t seq, uint32_t key, uint64_t place,
                     int64_t deadline_ns, uint16_t flags)
{
    struct block *b;
    unsigned slot;

    if (index_dir_append(ix, seq, &b, &slot) != 0)
        return MF_NOMEM;
    b->e[slot] = (struct entry){
        .place = place, .key = key, .wheel_ref = WHEEL_NONE, .deadline_ns = deadline_ns};
    index_block_set_live(ix, b, slot);
    index_block_set_bits(ix, b, slot, flags, deadline_ns);
    return 0;
}

static int load_append(struct index *ix, const struct load_item *it, struct mf_slice key)
{
    uint32_t k;

    int rc = index_key_hold(ix, key, it->hash, &k);
    if (rc != 0)
        return rc;
    if (index_load_entry(ix, it->seq, k, it->place, it->deadline_ns, it->flags) != 0) {
        index_key_drop(ix, k);
        return MF_NOMEM;
    }
    ix->load->known = keys_value(ix->keys, k).count > 1;
    return 0;
}

static struct load_item *queue_at(struct load *q, unsigned i)
{
    return &q->item[(q->head + i) % LOAD_QUEUE];
}

int index_load_flush(struct index *ix, unsigned n)
{
    struct load *q = ix->load;

    for (; n > 0; n--) {
        const struct load_item *it = queue_at(q, 0);
        if (load_append(ix, it, mf_slice(it->key, it->len)) != 0)
            return MF_NOMEM;
        q->head = (q->head + 1) % LOAD_QUEUE;
        q->count--;
    }
    return 0;
}

/* Where the sequence waits in the queue; NULL: it does not. */
static struct load_item *queue_find(struct load *q, uint64_t seq)
{
    for (unsigned i = 0; i < q->count; i++)
        if (queue_at(q, i)->seq == seq)
            return queue_at(q, i);
    return NULL;
}

static bool load_queued(const struct index *ix, uint64_t seq)
{
    return ix->load->count > 0 && seq >= queue_at(ix->load, 0)->seq;
}

static void bits_insert(uint64_t bits[BLOCK_WORDS], unsigned at)
{
    unsigned word = at / 64;
    uint64_t below = (UINT64_C(1) << (at % 64)) - 1;

    for (unsigned i = BLOCK_WORDS - 1; i > word; i--)
        bits[i] = bits[i] << 1 | bits[i - 1] >> 63;
    bits[word] = (bits[word] & below) | (bits[word] & ~below) << 1;
}

/* Inserts an empty slot at `at`; the block has room. */
static void slot_insert(struct block *b, unsigned at)
{
    memmove(&b->e[at + 1], &b->e[at], (b->used - at) * sizeof b->e[0]);
    for (unsigned i = b->used; i > at; i--)
        block_set_delta(b, i, block_delta(b, i - 1));
    bits_insert(b->live, at);
    bits_insert(b->infinite, at);
    bits_insert(b->pinned, at);
    b->used++;
}

static void upper_half(uint64_t to[BLOCK_WORDS], uint64_t from[BLOCK_WORDS])
{
    memcpy(to, from + BLOCK_WORDS / 2, BLOCK_WORDS / 2 * sizeof to[0]);
    memset(from + BLOCK_WORDS / 2, 0, BLOCK_WORDS / 2 * sizeof to[0]);
}

/* Moves the upper half of the full block at `at` to a new block. */
static int block_split(struct index *ix, size_t at)
{
    struct block *l = dir_block(ix, at), *r;
    unsigned half = BLOCK_SLOTS / 2;

    r = index_dir_add(ix, at + 1, BLOCK_SLOTS, block_seq(l, half));
    if (r == NULL)
        return MF_NOMEM;
    r = index_block_fit(ix, r, BLOCK_SLOTS, block_last_seq(l) - r->base);
    if (r == NULL) {
        index_dir_drop(ix, at + 1, 1);
        return MF_NOMEM;
    }
    for (unsigned i = half; i < l->used; i++) {
        r->e[i - half] = l->e[i];
        block_set_delta(r, i - half, (uint32_t)(block_seq(l, i) - r->base));
        r->count += bit_get(l->live, i);
        r->endless += bit_get(l->infinite, i);
    }
    upper_half(r->live, l->live);
    upper_half(r->infinite, l->infinite);
    upper_half(r->pinned, l->pinned);
    r->used = (uint16_t)(l->used - half);
    l->used = (uint16_t)half;
    l->count = (uint16_t)(l->count - r->count);
    l->endless = (uint16_t)(l->endless - r->endless);
    return 0;
}

/* Lowers the base of the first block to seq; its deltas are wide enough for that. */
static void block_rebase(struct index *ix, struct block *b, uint64_t seq)
{
    uint64_t shift = b->base - seq;

    for (unsigned i = 0; i < b->used; i++)
        block_set_delta(b, i, (uint32_t)(block_delta(b, i) + shift));
    b->base = ix->dir.base[ix->dir.head] = seq;
}

/* A dead slot for seq beside the block's slot `at`, where it belongs; BLOCK_SLOTS: none there. */
static unsigned slot_beside(const struct block *b, unsigned at)
{
    if (at < b->used && !bit_get(b->live, at))
        return at;
    return at > 0 && !bit_get(b->live, at - 1) ? at - 1 : BLOCK_SLOTS;
}

/* A slot of its own for a sequence that is not in any, wherever it belongs. */
static int load_room(struct index *ix, uint64_t seq, struct block **out, unsigned *slot)
{
    for (;;) {
        size_t at = index_dir_find(ix, seq);
        bool front = at == DIR_NONE;

        if (ix->dir.count == 0)
            return index_dir_append(ix, seq, out, slot);
        struct block *b = dir_block(ix, front ? 0 : at);
        unsigned s = front ? 0 : index_block_lower(b, seq - b->base);
        uint64_t delta = front ? block_last_seq(b) - seq : seq - b->base;
        bool apart = delta > UINT32_MAX;

        if (apart || (s == b->used && b->count == BLOCK_SLOTS)) {
            b = index_dir_add(ix, front ? 0 : at + 1, apart ? BLOCK_SMALL : BLOCK_SLOTS, seq);
            s = 0;
            if (b != NULL)
                b->used = 1;
        } else if (!front && slot_beside(b, s) < BLOCK_SLOTS) {
            s = slot_beside(b, s);
            b = index_block_fit(ix, b, 1, delta);
        } else if (b->used == BLOCK_SLOTS) {
            if (b->count < BLOCK_SLOTS)
                index_block_compact(ix, b);
            else if (block_split(ix, front ? 0 : at) != 0)
                return MF_NOMEM;
            continue; /* at most once: the block has room now */
        } else {
            b = index_block_fit(ix, b, b->used + 1u, delta);
            if (b != NULL && front)
                block_rebase(ix, b, seq);
            if (b != NULL)
                slot_insert(b, s);
        }
        if (b == NULL)
            return MF_NOMEM;
        block_set_delta(b, s, (uint32_t)(seq - b->base));
        *out = b;
        *slot = s;
        return 0;
    }
}

/* The slot of a sequence, dead or alive. */
static struct block *load_find(const struct index *ix, uint64_t seq, unsigned *slot)
{
    size_t at = index_dir_find(ix, seq);

    if (at == DIR_NONE)
        return NULL;
    struct block *b = dir_block(ix, at);
    *slot = index_block_lower(b, seq - b->base);
    return *slot < b->used && block_seq(b, *slot) == seq ? b : NULL;
}

/* A sequence that is not the greatest. */
static int load_insert(struct index *ix, const struct load_item *it, struct mf_slice key)
{
    unsigned slot;
    uint32_t k;
    struct block *b = load_find(ix, it->seq, &slot);

    if (b != NULL && bit_get(b->live, slot)) {
        b->e[slot].place = it->place;
        b->e[slot].deadline_ns = it->deadline_ns;
        index_block_set_bits(ix, b, slot, it->flags, it->deadline_ns);
        return 0;
    }
    int rc = index_key_hold(ix, key, keys_hash(ix->keys, key), &k);
    if (rc != 0)
        return rc;
    if (b == NULL && load_room(ix, it->seq, &b, &slot) != 0) {
        index_key_drop(ix, k);
        return MF_NOMEM;
    }
    entry_set(ix, b, slot, k, it);
    return 0;
}

int index_load_expect(struct index *ix, size_t messages)
{
    return keys_reserve(ix->keys, messages);
}

int index_load_put(struct index *ix, uint64_t seq, struct mf_slice key, uint64_t place,
                   int64_t deadline_ns, uint16_t flags)
{
    struct load *q = ix->load;

    if ((q->any && seq <= q->top) || key.len > LOAD_KEY) {
        struct load_item it = {
            .seq = seq, .place = place, .deadline_ns = deadline_ns, .flags = flags};
        int rc = index_load_flush(ix, q->count);
        if (rc == 0)
            rc = load_insert(ix, &it, key);
        if (rc != 0)
            return rc;
    } else {
        if (q->count == LOAD_QUEUE && index_load_flush(ix, 1) != 0)
            return MF_NOMEM;
        struct load_item *it = queue_at(q, q->count);
        it->seq = seq;
        it->place = place;
        it->deadline_ns = deadline_ns;
        it->flags = flags;
        it->hash = keys_hash(ix->keys, key);
        keys_prefetch(ix->keys, it->hash);
        it->len = (uint32_t)key.len;
        if (key.len > 0)
            memcpy(it->key, key.ptr, key.len);
        q->count++;
        if (q->known)
            keys_prefetch_node(ix->keys, queue_at(q, q->count / 2)->hash);
    }
    if (!q->any || seq > q->top)
        q->top = seq;
    q->any = true;
    return 0;
}

bool index_load_get(const struct index *ix, uint64_t seq, uint64_t *place, int64_t *deadline_ns)
{
    unsigned slot;

    if (load_queued(ix, seq)) {
        const struct load_item *it = queue_find(ix->load, seq);
        if (it == NULL)
            return false;
        *place = it->place;
        *deadline_ns = it->deadline_ns;
        return true;
    }
    const struct block *b = load_find(ix, seq, &slot);
    if (b == NULL || !bit_get(b->live, slot))
        return false;
    *place = b->e[slot].place;
    *deadline_ns = b->e[slot].deadline_ns;
    return true;
}

void index_load_deadline(struct index *ix, uint64_t seq, int64_t deadline_ns, uint16_t flags)
{
    unsigned slot;

    if (load_queued(ix, seq)) {
        struct load_item *it = queue_find(ix->load, seq);
        if (it != NULL) {
            it->deadline_ns = deadline_ns;
            it->flags = flags;
        }
        return;
    }
    struct block *b = load_find(ix, seq, &slot);
    if (b == NULL || !bit_get(b->live, slot))
        return;
    b->e[slot].deadline_ns = deadline_ns;
    index_block_set_bits(ix, b, slot, flags, deadline_ns);
}

static void queue_del(struct load *q, uint64_t first, uint64_t last)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < q->count; i++) {
        struct load_item *it = queue_at(q, i);
        if (it->seq >= first && it->seq <= last)
            continue;
        if (kept != i)
            *queue_at(q, kept) = *it;
        kept++;
    }
    q->count = kept;
}

/* Takes [first, last] out of one block. */
static void block_del(struct index *ix, struct block *b, uint64_t first, uint64_t last)
{
    unsigned i = first <= b->base ? 0 : index_block_lower(b, first - b->base);

    for (i = index_block_next_live(b, i); i < BLOCK_SLOTS; i = index_block_next_live(b, i + 1)) {
        if (block_seq(b, i) > last)
            return;
        index_key_drop(ix, b->e[i].key);
        index_block_set_dead(ix, b, i);
    }
}

void index_load_del(struct index *ix, uint64_t first, uint64_t last)
{
    queue_del(ix->load, first, last);
    size_t from = index_dir_find(ix, first), to = index_dir_find(ix, last);

    if (to == DIR_NONE || first > last)
        return;
    from = from == DIR_NONE ? 0 : from;
    struct block *l = dir_block(ix, from), *r = dir_block(ix, to);
    unsigned l_had = l->count, r_had = r->count;
    for (size_t i = from; i <= to; i++)
        block_del(ix, dir_block(ix, i), first, last);
    /* Between the two, all are empty. */
    bool l_stays = l->count > 0, r_stays = r->count > 0;
    size_t gone = from + l_stays, end = to + !r_stays;
    if (gone < end)
        index_dir_drop(ix, gone, end - gone);
    /* One of them is enough: l may have swallowed r. */
    if (l_stays && l->count < l_had)
        index_dir_after_loss(ix, l, l_had);
    else if (r_stays && r->count < r_had)
        index_dir_after_loss(ix, r, r_had);
}
