/* dedup.c: the ids of messages within the window, in memory: a queue in the order of sequences and
 * a hash table over it.  About 40 bytes an id. */
#include "stream/dedup_impl.h"

#include "base/array.h"
#include "codec/checksum.h"
#include "base/rand.h"

#include <assert.h>
#include <stdlib.h>

#define SLOTS_MIN 64u
#define MOVE      8u          /* slots of the old table at each call */
#define POS_MOD   0xFFFFFFFEu /* more ids than this there never are */
#define GONE      0xFFFFFFFFu /* in the old table: was here */
#define IDS_MAX   (1u << 31)
#define NOWHERE   SIZE_MAX

struct dedup *dedup_new(void)
{
    struct dedup *d = calloc(1, sizeof *d);

    if (d != NULL)
        rand_bytes(d->seed, sizeof d->seed); /* dedup_load() may bring back an earlier one */
    return d;
}

void dedup_free(struct dedup *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->blocks; i++)
        free(d->block[d->block_head + i]);
    free(d->block);
    free(d->now.at);
    free(d->old.at);
    free(d->chunk);
    mf_buf_fini(&d->buf);
    free(d);
}

void id_hash(const struct dedup *d, struct mf_slice id, uint64_t hash[2])
{
    hash[0] = checksum64(id.ptr, id.len, d->seed[0]);
    hash[1] = checksum64(id.ptr, id.len, d->seed[1]);
}

/* --- table ---------------------------------------------------------------------------------- */

static uint32_t slot_of(uint64_t pos)
{
    return (uint32_t)(pos % POS_MOD) + 1;
}

static uint64_t pos_of(const struct dedup *d, uint32_t slot)
{
    return d->head + ((uint64_t)slot - 1 + POS_MOD - d->head % POS_MOD) % POS_MOD;
}

static size_t slots_find(const struct dedup *d, const struct id_slots *t, const uint64_t hash[2])
{
    if (t->cap == 0)
        return NOWHERE;
    for (size_t i = hash[0] & (t->cap - 1); t->at[i] != 0; i = (i + 1) & (t->cap - 1)) {
        if (t->at[i] == GONE)
            continue;
        const struct id_entry *e = id_at(d, pos_of(d, t->at[i]));
        if (e->hash[0] == hash[0] && e->hash[1] == hash[1])
            return i;
    }
    return NOWHERE;
}

static void slots_put(struct id_slots *t, uint64_t hash, uint32_t slot)
{
    size_t i = hash & (t->cap - 1);

    while (t->at[i] != 0)
        i = (i + 1) & (t->cap - 1);
    t->at[i] = slot;
    t->used++;
}

/* Closes the gap, so that no search has to pass removed ids. */
static void slots_del(const struct dedup *d, struct id_slots *t, size_t i)
{
    size_t mask = t->cap - 1;

    for (size_t j = (i + 1) & mask; t->at[j] != 0; j = (j + 1) & mask) {
        size_t home = id_at(d, pos_of(d, t->at[j]))->hash[0] & mask;
        if (((j - home) & mask) < ((j - i) & mask))
            continue; /* it would come to lie before its home */
        t->at[i] = t->at[j];
        i = j;
    }
    t->at[i] = 0;
    t->used--;
}

static void slots_move(struct dedup *d, size_t n)
{
    if (d->old.cap == 0)
        return;
    for (; n > 0 && d->moved < d->old.cap; n--, d->moved++) {
        uint32_t slot = d->old.at[d->moved];
        if (slot == 0 || slot == GONE)
            continue;
        slots_put(&d->now, id_at(d, pos_of(d, slot))->hash[0], slot);
        d->old.at[d->moved] = GONE;
    }
    if (d->moved < d->old.cap)
        return;
    free(d->old.at);
    d->old = (struct id_slots){0};
}

static int slots_resize(struct dedup *d, size_t cap)
{
    uint32_t *at = calloc(cap, sizeof *at);

    if (at == NULL)
        return MF_NOMEM;
    slots_move(d, SIZE_MAX); /* was over long ago: see MOVE */
    d->old = d->now;
    d->moved = 0;
    d->now = (struct id_slots){.at = at, .cap = cap};
    return 0;
}

/* Room for one more.  The ids in the old table move to the new one, so all are counted. */
static int slots_reserve(struct dedup *d)
{
    uint64_t count = d->tail - d->head + 1;

    if (count > IDS_MAX)
        return MF_NOMEM;
    if (d->now.cap == 0)
        return slots_resize(d, SLOTS_MIN);
    return count * 4 > d->now.cap * 3 ? slots_resize(d, 2 * d->now.cap) : 0;
}

/* Smaller again after a peak. */
static void slots_shrink(struct dedup *d)
{
    uint64_t count = d->tail - d->head;

    slots_move(d, MOVE);
    if (count == 0) {
        free(d->now.at);
        free(d->old.at);
        d->now = d->old = (struct id_slots){0};
    } else if (d->old.cap == 0 && d->now.cap > SLOTS_MIN && count * 8 < d->now.cap &&
               slots_resize(d, d->now.cap / 2) != 0) {
        return; /* no memory for it now: later */
    }
}

static void slots_forget(struct dedup *d, const uint64_t hash[2])
{
    size_t i = slots_find(d, &d->now, hash);

    if (i != NOWHERE) {
        slots_del(d, &d->now, i);
    } else if ((i = slots_find(d, &d->old, hash)) != NOWHERE) {
        d->old.at[i] = GONE;
    }
}

static bool find_id(const struct dedup *d, const uint64_t hash[2], uint64_t *pos)
{
    size_t i = slots_find(d, &d->now, hash);
    const struct id_slots *t = i != NOWHERE ? &d->now : &d->old;

    if (i == NOWHERE)
        i = slots_find(d, &d->old, hash);
    if (i == NOWHERE)
        return false;
    *pos = pos_of(d, t->at[i]);
    return true;
}

/* --- queue ---------------------------------------------------------------------------------- */

static int block_reserve(struct dedup *d)
{
    if (d->tail / BLOCK_IDS < d->first_block + d->blocks)
        return 0;
    if (d->block_head + d->blocks == d->block_cap) {
        if (d->block_head > d->blocks) {
            memmove(d->block, d->block + d->block_head, d->blocks * sizeof *d->block);
            d->block_head = 0;
        } else if (mf_array_reserve(&d->block, &d->block_cap, d->block_cap + 1,
                                    sizeof(struct id_entry *)) != 0) {
            return MF_NOMEM;
        }
    }
    struct id_entry *b = malloc(BLOCK_IDS * sizeof *b);
    if (b == NULL)
        return MF_NOMEM;
    if (d->blocks == 0)
        d->first_block = d->tail / BLOCK_IDS;
    d->block[d->block_head + d->blocks++] = b;
    return 0;
}

int id_push(struct dedup *d, const struct id_entry *e)
{
    int rc = block_reserve(d);

    assert(d->head == d->tail || id_at(d, d->tail - 1)->seq < e->seq);
    if (rc != 0 || (rc = slots_reserve(d)) != 0)
        return rc;
    slots_move(d, MOVE);
    slots_forget(d, e->hash); /* an older one with this id: the newest counts */
    *id_at(d, d->tail) = *e;
    slots_put(&d->now, e->hash[0], slot_of(d->tail));
    d->tail++;
    return 0;
}

static void raise_position(uint64_t *pos, uint64_t to)
{
    if (*pos < to)
        *pos = to;
}

static void drop_one(struct dedup *d)
{
    const struct id_entry *e = id_at(d, d->head);
    uint64_t pos;

    if (find_id(d, e->hash, &pos) && pos == d->head) /* else a newer one has the id */
        slots_forget(d, e->hash);
    d->head++;
    if (d->head % BLOCK_IDS == 0) {
        free(d->block[d->block_head++]);
        d->blocks--;
        d->first_block++;
        if (d->blocks == 0)
            d->block_head = 0;
    }
    slots_move(d, MOVE);
}

void id_drop(struct dedup *d, int64_t until_ns, size_t max)
{
    while (max-- > 0 && d->head < d->tail && id_at(d, d->head)->ts_ns <= until_ns)
        drop_one(d);
    raise_position(&d->base, d->head);
    raise_position(&d->open, d->head);
    raise_position(&d->fresh, d->head);
    slots_shrink(d);
}

void dedup_withdraw(struct dedup *d, uint64_t from_seq)
{
    /* Those that are in a chunk already stay: a crash would bring them back all the same. */
    while (d->tail > d->fresh && id_at(d, d->tail - 1)->seq >= from_seq) {
        slots_forget(d, id_at(d, d->tail - 1)->hash);
        d->tail--;
    }
}

uint64_t id_lower(const struct dedup *d, uint64_t from, uint64_t seq)
{
    uint64_t low = from, high = d->tail;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        if (id_at(d, mid)->seq < seq)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* --- asking and adding ------------------------------------------------------------------------ */

uint64_t dedup_find(struct dedup *d, struct mf_slice id, int64_t now_ns, int64_t window_ns)
{
    uint64_t hash[2], pos;

    if (window_ns <= 0)
        return 0;
    id_drop(d, now_ns - window_ns, MOVE);
    if (d->head == d->tail)
        return 0;
    id_hash(d, id, hash);
    if (!find_id(d, hash, &pos) || id_at(d, pos)->ts_ns <= now_ns - window_ns)
        return 0;
    return id_at(d, pos)->seq;
}

int dedup_reserve(struct dedup *d)
{
    int rc = block_reserve(d);

    return rc != 0 ? rc : slots_reserve(d);
}

int dedup_add(struct dedup *d, struct mf_slice id, uint64_t seq, int64_t ts_ns)
{
    struct id_entry e = {.seq = seq, .ts_ns = ts_ns};

    id_hash(d, id, e.hash);
    return id_push(d, &e);
}

bool dedup_check(const struct dedup *d)
{
    size_t found = 0, slots = 0;
    uint64_t pos;

    for (uint64_t p = d->head; p < d->tail; p++) {
        if (p > d->head && id_at(d, p)->seq <= id_at(d, p - 1)->seq)
            return false;
        if (!find_id(d, id_at(d, p)->hash, &pos) || pos < p)
            return false; /* a later one may have taken the id, never an earlier one */
        found += pos == p;
    }
    for (size_t i = 0; i < d->now.cap; i++)
        slots += d->now.at[i] != 0;
    if (slots != d->now.used)
        return false;
    for (size_t i = 0; i < d->old.cap; i++)
        slots += d->old.at[i] != 0 && d->old.at[i] != GONE;
    return slots == found && d->head <= d->base && d->base <= d->open && d->open <= d->fresh &&
           d->fresh <= d->tail;
}
