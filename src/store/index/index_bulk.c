/* index_bulk.c: fills an empty index from a checkpoint, with a second thread.
 *
 * Happy path: the caller's thread reads and hashes.  The lane gets pieces of PIECE messages and
 * finds or makes their keys; it owns the key set meanwhile, and waits for memory most of the
 * time.  When a piece comes back, the caller's thread appends its messages to the blocks.
 * Failure: the first error is kept, later pieces are skipped, and everything is freed with the
 * index.  Small numbers of messages use index_load_put() instead. */
#include "store/index/index_impl.h"
#include "store/log/lane.h"

#include <stdlib.h>

#define PIECES 16u
#define PIECE  4096u
#define FAR    32u /* a key's place in the table is fetched so long before it is looked at, */
#define NEAR   12u /* and its node, if it may be there */

struct bulk_item {
    uint64_t seq, place;
    int64_t deadline_ns;
    struct keys_hint hint;
    const uint8_t *key;
    uint32_t len, id;
    uint16_t flags;
};
struct bulk_piece {
    unsigned count;
    int rc;
    struct bulk_item item[PIECE];
};
struct index_bulk {
    struct index *ix;
    struct lane *lane;
    struct keys_prefix prefix; /* of the caller's thread */
    struct keys_stock *stock;  /* filled while the lane is idle; NULL: not wanted */
    struct keys_bulk *keys;    /* of the lane: keys that are likely new; NULL: out of memory */
    bool apart;                /* of the lane: new keys are added to `keys` */
    bool known;                /* of the lane: the last key had messages already */
    bool failed;               /* of the lane: `keys` must not be used any more */
    int rc;
    unsigned at;       /* the piece that is being filled */
    uint64_t appended; /* pieces that are done */
    struct bulk_piece piece[PIECES];
};

/* Nearly all are new.  Where that ceases to be, they are looked up from the next piece on. */
static void make_keys(struct index_bulk *b, struct bulk_piece *p)
{
    for (unsigned i = 0; i < p->count && p->rc == 0; i++) {
        struct bulk_item *it = &p->item[i];
        if (i + FAR < p->count && !p->item[i + FAR].hint.same)
            keys_prefetch(b->ix->keys, p->item[i + FAR].hint.parent);
        if (i + NEAR < p->count && !p->item[i + NEAR].hint.same)
            keys_prefetch_node(b->ix->keys, p->item[i + NEAR].hint.parent);
        p->rc = keys_bulk_add(b->keys, mf_slice(it->key, it->len), it->hint, &it->id);
    }
    if (p->rc == 0 && keys_bulk_wasteful(b->keys)) {
        p->rc = keys_bulk_flush(b->keys);
        b->apart = false;
    }
}

static void find_keys(struct index_bulk *b, struct bulk_piece *p)
{
    struct keys *keys = b->ix->keys;
    unsigned known = 0;

    for (unsigned i = 0; i < FAR && i < p->count; i++)
        keys_prefetch(keys, p->item[i].hint.hash);
    for (unsigned i = 0; i < p->count && p->rc == 0; i++) {
        struct bulk_item *it = &p->item[i];
        if (i + FAR < p->count) {
            keys_prefetch(keys, p->item[i + FAR].hint.hash);
            __builtin_prefetch(p->item[i + FAR].key);
        }
        if (b->known && i + NEAR < p->count)
            keys_prefetch_node(keys, p->item[i + NEAR].hint.hash);
        p->rc = index_key_hold(b->ix, mf_slice(it->key, it->len), it->hint.hash, &it->id);
        if (p->rc == 0)
            known += b->known = keys_value(keys, it->id).count > 1;
    }
    b->apart = b->keys != NULL && known < p->count / 16;
}

static void lane_work(void *arg, unsigned number) /* on the lane */
{
    struct index_bulk *b = arg;
    struct bulk_piece *p = &b->piece[number];

    p->rc = b->failed ? MF_NOMEM : 0;
    if (b->apart)
        make_keys(b, p);
    else
        find_keys(b, p);
    b->failed = p->rc != 0;
}

int index_bulk_begin(struct index *ix, size_t messages)
{
    struct index_bulk *b;

    if (messages < INDEX_BULK)
        return 0;
    b = malloc(sizeof *b);
    if (b == NULL)
        return 0; /* slower, but it can do without */
    b->ix = ix;
    b->prefix.len = 0;
    b->prefix.hash = 0;
    b->keys = keys_bulk_new(ix->keys);
    b->stock = messages >= INDEX_MANY ? keys_stock_new(ix->keys) : NULL;
    b->known = b->apart = b->failed = false;
    b->rc = 0;
    b->at = 0;
    b->appended = 0;
    b->piece[0].count = 0;
    b->lane = lane_new(PIECES, lane_work, b);
    if (b->lane == NULL) {
        keys_stock_free(ix->keys);
        keys_bulk_free(b->keys);
        free(b);
        return 0;
    }
    ix->load->bulk = b;
    return 0;
}

/* Number of entries that fit the last block without growing; 0: it must grow, or a new block is
 * needed. */
static unsigned append_run(struct index *ix, const struct bulk_item *it, unsigned count)
{
    struct block *b = ix->dir.count == 0 ? NULL : dir_block(ix, ix->dir.count - 1);
    unsigned n = 0, used = b == NULL ? 0 : b->used;

    while (b != NULL && n < count && used < b->cap && it[n].seq - b->base <= UINT16_MAX) {
        block_set_delta(b, used, (uint32_t)(it[n].seq - b->base));
        b->e[used] = (struct entry){.place = it[n].place,
                                    .key = it[n].id,
                                    .wheel_ref = WHEEL_NONE,
                                    .deadline_ns = it[n].deadline_ns};
        bit_put(b->live, used, true);
        if (MF_UNLIKELY(it[n].flags != 0))
            index_block_set_bits(ix, b, used, it[n].flags, it[n].deadline_ns);
        used++;
        n++;
    }
    if (n > 0) {
        b->used = (uint16_t)used;
        b->count = (uint16_t)(b->count + n);
        ix->count += n;
    }
    return n;
}

static int append_piece(struct index_bulk *b)
{
    struct bulk_piece *p = &b->piece[b->appended % PIECES];
    struct load *q = b->ix->load;

    b->appended++;
    while (b->stock != NULL && !lane_done(b->lane, b->appended) && keys_stock_fill(b->stock))
        ;
    lane_wait(b->lane, b->appended);
    if (b->rc == 0)
        b->rc = p->rc;
    for (unsigned i = 0; i < p->count && b->rc == 0;) {
        unsigned n = append_run(b->ix, &p->item[i], p->count - i);
        const struct bulk_item *it = &p->item[i];
        if (n == 0)
            b->rc = index_load_entry(b->ix, it->seq, it->id, it->place, it->deadline_ns, it->flags);
        i += n == 0 ? 1 : n;
    }
    if (b->rc == 0 && p->count > 0) {
        q->top = p->item[p->count - 1].seq;
        q->any = true;
    }
    return b->rc;
}

/* Hands the filled piece to the lane, after the piece behind it is done. */
static int submit_piece(struct index_bulk *b)
{
    lane_submit(b->lane);
    if (lane_submitted(b->lane) - b->appended == PIECES - 1)
        (void)append_piece(b);
    b->at = lane_next(b->lane);
    b->piece[b->at].count = 0;
    return b->rc;
}

int index_bulk_put(struct index *ix, uint64_t seq, struct mf_slice key, uint64_t place,
                   int64_t deadline_ns, uint16_t flags)
{
    struct index_bulk *b = ix->load->bulk;

    if (b == NULL)
        return index_load_put(ix, seq, key, place, deadline_ns, flags);
    struct bulk_piece *p = &b->piece[b->at];
    p->item[p->count++] = (struct bulk_item){.seq = seq,
                                             .place = place,
                                             .hint = keys_hash_apart(ix->keys, key, &b->prefix),
                                             .deadline_ns = deadline_ns,
                                             .flags = flags,
                                             .key = key.ptr,
                                             .len = (uint32_t)key.len};
    return p->count == PIECE ? submit_piece(b) : 0;
}

/* Entries of a key that was made twice get the real one. */
static int join_twins(struct index_bulk *b)
{
    struct index *ix = b->ix;
    int rc = b->keys == NULL ? 0 : keys_bulk_flush(b->keys);

    if (rc != 0 || b->keys == NULL || keys_bulk_twins(b->keys) == 0)
        return rc;
    for (size_t i = 0; i < ix->dir.count; i++) {
        struct block *block = dir_block(ix, i);
        for (unsigned s = 0; s < block->used; s++) {
            struct keys_value v = keys_value(ix->keys, block->e[s].key);
            if (v.count == 0)
                block->e[s].key = v.last;
        }
    }
    return 0;
}

int index_bulk_end(struct index *ix)
{
    struct index_bulk *b = ix->load->bulk;

    if (b == NULL)
        return 0;
    lane_submit(b->lane);
    while (b->appended < lane_submitted(b->lane))
        (void)append_piece(b);
    lane_free(b->lane);
    keys_stock_free(ix->keys);
    int rc = b->rc == 0 ? join_twins(b) : b->rc;
    if (rc != 0 && b->keys != NULL) /* the entries name twins: leave them to index_free() */
        keys_bulk_forget(b->keys);
    keys_bulk_free(b->keys);
    free(b);
    ix->load->bulk = NULL;
    return rc;
}
