/* recover_apply.c: effects of a record on the state that is being built: commit batches, index,
 * blobs.
 *
 * A batch counts from its last record on: until then only the offsets of its records are kept.
 * Time marks are applied lazily: messages that the last mark covers are dropped when loading
 * ends.  Until then a message that the marks so far cover counts as expired, and no later
 * re-deadline revives it. */
#include "store/recover/recover_impl.h"

#include "codec/hash.h"

#include "base/array.h"

#include <stdlib.h>

int recover_pass_begin(struct recover *r)
{
    struct pass *p = &r->pass;

    *p = (struct pass){0};
    mf_list_init(&p->borrowed);
    p->ix = index_new(r->separator, r->now_ns);
    if (p->ix == NULL || index_load_begin(p->ix) != 0)
        return mf_fail(r->e, MF_NOMEM, "index");
    return 0;
}

static void blob_free(struct rblob *b)
{
    mf_list_del(&b->borrowed);
    free(b->own);
    free(b);
}

void recover_pass_fini(struct pass *p)
{
    struct table_node *n;
    size_t start = 0;

    while ((n = table_any(&p->blobs, &start)) != NULL) {
        table_del(&p->blobs, n);
        blob_free(mf_container(n, struct rblob, node));
    }
    table_fini(&p->blobs);
    index_free(p->ix);
    free(p->damage.at);
    free(p->batch);
    free(p->excuses.at);
    free(p->erased.at);
    *p = (struct pass){0};
}

/* --- blobs ------------------------------------------------------------------------------------ */

static struct rblob *blob_get(struct pass *p, struct mf_slice name)
{
    uint64_t hash = hash_slice(name);
    struct table_node *n = table_first(&p->blobs, hash);

    for (; n != NULL; n = table_next(n)) {
        struct rblob *b = mf_container(n, struct rblob, node);
        if (mf_eq(mf_slice(b->name, b->name_len), name))
            return b;
    }
    struct rblob *b = calloc(1, sizeof *b + name.len + 1);
    if (b == NULL)
        return NULL;
    mf_list_init(&b->borrowed);
    b->name_len = name.len;
    if (name.len > 0)
        memcpy(b->name, name.ptr, name.len);
    if (table_add(&p->blobs, &b->node, hash) != 0) {
        free(b);
        return NULL;
    }
    return b;
}

/* The bytes are borrowed until recover_pass_own_blobs(). */
int recover_pass_blob(struct pass *p, struct mf_slice name, struct mf_slice bytes, uint64_t segment,
                      bool deleted)
{
    struct rblob *b = blob_get(p, name);

    if (b == NULL)
        return MF_NOMEM;
    free(b->own);
    b->own = NULL;
    b->bytes = deleted ? MF_SLICE_NONE : bytes;
    b->segment = segment;
    b->deleted = deleted;
    mf_list_del(&b->borrowed);
    if (b->bytes.len > 0)
        mf_list_push(&p->borrowed, &b->borrowed);
    return 0;
}

int recover_pass_own_blobs(struct pass *p)
{
    struct mf_list *n;

    while ((n = mf_list_first(&p->borrowed)) != NULL) {
        struct rblob *b = mf_container(n, struct rblob, borrowed);
        b->own = malloc(b->bytes.len);
        if (b->own == NULL)
            return MF_NOMEM;
        memcpy(b->own, b->bytes.ptr, b->bytes.len);
        b->bytes.ptr = b->own;
        mf_list_del(n);
    }
    return 0;
}

/* --- one record ------------------------------------------------------------------------------- */

static void raise_mark(struct pass *p, struct record_mark m)
{
    if (m.time_ns > p->mark.time_ns || (m.time_ns == p->mark.time_ns && m.seq > p->mark.seq))
        p->mark = m;
    if (m.time_ns > p->clock_ns)
        p->clock_ns = m.time_ns;
}

static int apply_message(struct pass *p, uint64_t segment, uint64_t at, const struct record *rec)
{
    if (rec->seq == 0) /* no message has it: only a forger writes this */
        return 0;
    if (rec->seq > p->last_seq)
        p->last_seq = rec->seq;
    uint64_t len = rec->key.len + rec->head.len + rec->body.len;
    return index_load_put(p->ix, rec->seq, rec->key, place_make(segment, at, len, rec->flags),
                          rec->deadline_ns, rec->flags & RECORD_BITS);
}

static void apply_deadline(struct pass *p, const struct record *rec)
{
    uint64_t place;
    int64_t deadline_ns;

    if (index_load_get(p->ix, rec->seq, &place, &deadline_ns) &&
        !record_mark_covers(p->mark, deadline_ns, rec->seq))
        index_load_deadline(p->ix, rec->seq, rec->deadline_ns, rec->flags);
}

int recover_erases_add(struct erases *e, const struct erase *x)
{
    if (mf_array_reserve(&e->at, &e->cap, e->count + 1, sizeof *e->at) != 0)
        return MF_NOMEM;
    e->at[e->count++] = *x;
    return 0;
}

static int apply_erase(struct pass *p, uint64_t segment, uint64_t at, const struct record *rec)
{
    struct erase x = {rec->seq, {segment, at}, rec->victim};

    index_load_del(p->ix, rec->seq, rec->seq);
    return recover_erases_add(&p->erased, &x);
}

static int apply_record(struct pass *p, uint64_t segment, uint64_t at, const struct record *rec)
{
    switch (rec->type) {
    case RECORD_MESSAGE:
    case RECORD_COPY:
        return apply_message(p, segment, at, rec);
    case RECORD_REMOVE:
        index_load_del(p->ix, rec->seq, rec->seq);
        return 0;
    case RECORD_RANGE:
        if (rec->seq <= rec->seq_last)
            index_load_del(p->ix, rec->seq, rec->seq_last);
        if (rec->seq_last > p->last_seq)
            p->last_seq = rec->seq_last;
        return 0;
    case RECORD_SET:
        for (uint32_t i = 0; i < rec->count; i++) {
            uint64_t seq = record_set_at(rec, i);
            index_load_del(p->ix, seq, seq);
        }
        return 0;
    case RECORD_DEADLINE:
        apply_deadline(p, rec);
        return 0;
    case RECORD_ERASE:
        return apply_erase(p, segment, at, rec);
    case RECORD_MARK:
        raise_mark(p, rec->mark);
        return 0;
    default: /* RECORD_BLOB */
        return recover_pass_blob(p, rec->key, rec->body, segment, rec->deleted);
    }
}

/* A sealed record, opened first.  One that does not open was not written by this store. */
static int apply_sealed(struct recover *r, const struct seg *s, uint64_t at,
                        const struct record *rec)
{
    struct pass *p = &r->pass;
    struct record opened = *rec;
    char name[32];

    if (record_is_bare(rec) && s->version >= SEGMENT_CRYPT)
        return recover_seg_damage(r, &p->damage, s->number, at, rec->size,
                                  "a record is not encrypted in an encrypted segment");
    if (record_is_bare(rec) && s->version == 0)
        r->seg[recover_files_at(r, s->number)].bare = true;
    if (rec->cipher == SEAL_NONE)
        return apply_record(p, s->number, at, rec) == 0 ? 0 : mf_fail(r->e, MF_NOMEM, "index");
    if (r->opener == NULL) {
        segment_name(name, s->number);
        return recover_fail_sealed(r, name);
    }
    mf_buf_clear(&r->plain);
    uint8_t *dst = mf_buf_reserve(&r->plain, record_len(rec) + 1);
    if (dst == NULL)
        return mf_fail(r->e, MF_NOMEM, "record of %zu bytes", record_len(rec));
    if (!record_open(&opened, r->opener, dst))
        return recover_seg_damage(r, &p->damage, s->number, at, rec->size,
                                  "a record does not open with the key");
    if (apply_record(p, s->number, at, &opened) != 0)
        return mf_fail(r->e, MF_NOMEM, "index");
    /* A blob borrows its bytes, and the next record takes their place. */
    return recover_pass_own_blobs(p) == 0 ? 0 : mf_fail(r->e, MF_NOMEM, "blobs");
}

/* Names what the damage before this record may have cost: up to lost_to. */
void recover_pass_seen(struct pass *p, uint64_t seq, uint64_t lost_to)
{
    for (; p->open < p->damage.count; p->open++) {
        struct store_damage *d = &p->damage.at[p->open];
        if (d->first_seq != 0 && d->first_seq <= lost_to)
            d->last_seq = lost_to;
        else
            d->first_seq = 0;
    }
    if (seq > p->seen)
        p->seen = seq;
}

static void apply_commit(struct pass *p, const struct seg *s, struct record_pos end,
                         const struct record *rec)
{
    recover_pass_seen(p, rec->last_seq, rec->last_seq);
    if (rec->last_seq > p->last_seq)
        p->last_seq = rec->last_seq;
    if (rec->clock_ns > p->clock_ns)
        p->clock_ns = rec->clock_ns;
    raise_mark(p, rec->mark);
    p->group = rec->group;
    /* A commit speaks of what is before it. */
    if (record_pos_cmp(rec->synced, end) <= 0 && record_pos_cmp(rec->synced, p->counted) > 0)
        p->counted = rec->synced;
    if (record_pos_cmp(p->counted, p->synced) > 0)
        p->synced = p->counted;
    if (rec->first_segment > p->first && rec->first_segment <= s->number)
        p->first = rec->first_segment;
}

/* --- batches ---------------------------------------------------------------------------------- */

/* An erased message counts only to complete the batch: its erase record follows. */
#define HOLLOW UINT64_C(1) /* offsets are multiples of 8 */

static int batch_push(struct recover *r, uint64_t at)
{
    struct pass *p = &r->pass;

    if (p->batched == p->batch_cap &&
        mf_array_reserve(&p->batch, &p->batch_cap, p->batched + 1, sizeof *p->batch) != 0)
        return mf_fail(r->e, MF_NOMEM, "batch of %zu records", p->batched);
    p->batch[p->batched++] = at;
    return 0;
}

int recover_pass_batch(struct recover *r, const struct seg *s, const struct scan *sc)
{
    struct pass *p = &r->pass;
    struct record rec;

    for (size_t i = 0; i < p->batched; i++) {
        uint64_t at = p->batch[i] & ~HOLLOW;
        if (p->batch[i] & HOLLOW)
            continue;
        /* Its data was checked when it was read the first time. */
        if (record_read_head(sc->base + at, sc->size - at, s->key, at, &rec)) {
            int rc = apply_sealed(r, s, at, &rec);
            if (rc != 0)
                return rc;
        }
    }
    p->batched = 0;
    return 0;
}

static void cut_here(struct pass *p, struct record_pos end, const struct record *rec)
{
    p->cut = end;
    p->cut_chain = rec->check;
    p->cut_type = rec->type;
}

int recover_pass_record(struct recover *r, const struct seg *s, const struct scan *sc, uint64_t at,
                        const struct record *rec, bool hollow)
{
    struct pass *p = &r->pass;
    struct record_pos end = {s->number, at + rec->size};

    p->records++;
    if (rec->type == RECORD_COMMIT || rec->type == RECORD_SEAL) {
        p->batched = 0; /* a batch without its end: cut by a seal after a tear */
        if (rec->type == RECORD_COMMIT) {
            apply_commit(p, s, end, rec);
            p->tied = rec->synced.segment == s->number && rec->synced.offset == at;
        }
        cut_here(p, end, rec);
        return 0;
    }
    p->tied = false;
    if (rec->type == RECORD_MESSAGE)
        recover_pass_seen(p, rec->seq, rec->seq - 1);
    if (!rec->last || p->batched > 0) {
        int rc = batch_push(r, hollow ? at | HOLLOW : at);
        if (rc != 0 || !rec->last)
            return rc;
        rc = recover_pass_batch(r, s, sc);
        if (rc != 0)
            return rc;
    } else if (!hollow) {
        int rc = apply_sealed(r, s, at, rec);
        if (rc != 0)
            return rc;
    }
    cut_here(p, end, rec);
    return 0;
}
