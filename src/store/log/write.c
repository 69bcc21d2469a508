/* write.c: the calls that write.  Each puts whole records into the commit group that fills, and
 * changes the index at once.  A removed message is `removing` until the group is committed
 * (commit.c): readers still see it, checks of writers do not count it. */
#include "store/store_impl.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>

void write_add_wait(struct store *s, struct store_wait *w)
{
    if (w == NULL || w->done == NULL)
        return;
    mf_list_push(&s->commit.waiting, &w->node);
    s->commit.gather.waiting++;
}

/* --- one record ----------------------------------------------------------------------------- */

int write_check(struct store *s)
{
    if (s->failed != 0)
        return MF_READONLY;
    if (s->close.begun)
        return MF_CLOSED;
    return s->loop == NULL ? MF_INVAL : 0;
}

/* Room in the open batch.  The batch gets its place when it ends, so this call ensures that there
 * will be one.  A removal in the batch may use the room kept for removals, and so may the whole
 * batch: otherwise an accepted value would exist beside the one it replaces. */
static uint8_t *open_in_batch(struct store *s, size_t size, bool frees, int *code)
{
    size_t need = s->batch.buf.len + size + RECORD_MARK_SIZE; /* a mark may follow */
    size_t whole = need + s->batch.reserved;

    if (whole > BATCH_MAX) {
        *code = MF_LIMIT;
        return NULL;
    }
    if (!room_for(s, need, s->batch.frees || frees) ||
        (s->batch.reserved > 0 && !room_for(s, whole, true))) {
        *code = MF_FULL;
        return NULL;
    }
    if ((*code = room_prepare(s)) != 0)
        return NULL;
    s->batch.uses_reserve |= frees;
    s->batch.buf.failed = s->commit.filling.buf.failed = false;
    uint8_t *p = mf_buf_reserve(&s->batch.buf, size + RECORD_MARK_SIZE + s->batch.reserved);
    if (p == NULL ||
        mf_buf_reserve(&s->commit.filling.buf, RECORD_SEAL_SIZE + whole + SEGMENT_TAIL) == NULL) {
        *code = MF_NOMEM;
        return NULL;
    }
    return p;
}

uint8_t *write_open(struct store *s, size_t size, bool frees, struct record_pos *at, int *code)
{
    *at = (struct record_pos){0, s->batch.buf.len};
    return s->batch.open ? open_in_batch(s, size, frees, code)
                         : room_place(s, size, frees, at, code);
}

void write_close(struct store *s, uint8_t *p, size_t size)
{
    if (s->batch.open) {
        s->batch.last = s->batch.buf.len;
        s->batch.buf.len += size;
        return;
    }
    record_set_last(p);
    room_used(s, size);
    commit_kick(s);
}

/* --- append --------------------------------------------------------------------------------- */

int store_append_ready(struct store *s)
{
    int rc = write_check(s);

    if (rc != 0)
        return rc;
    /* Batches that free space are never delayed. */
    if (!(s->batch.open && s->batch.frees) &&
        s->commit.filling.buf.len + s->batch.buf.len + s->commit.image.buf.len > s->o.pending_max) {
        s->log.starved = true;
        return MF_AGAIN;
    }
    return 0;
}

static int check_append(struct store *s, const struct store_append *a, size_t size)
{
    int rc = store_append_ready(s);

    if (rc != 0)
        return rc;
    return a->key.len > KEYS_MAX || a->body.len > BATCH_MAX || a->head.len > BATCH_MAX ||
                   size > BATCH_MAX - RECORD_MARK_SIZE
               ? MF_LIMIT
               : 0;
}

/* No deadline may lie at or before the time mark, or a replay would treat the message as expired.
 */
static int64_t raise_deadline(const struct store *s, int64_t deadline_ns)
{
    if (deadline_ns == 0 || deadline_ns > s->log.mark.time_ns)
        return deadline_ns < 0 ? 1 : deadline_ns;
    return s->log.mark.time_ns + 1;
}

static void count_append(struct store *s, const struct store_append *a, size_t len)
{
    struct totals *t = &s->commit.filling.added;

    t->msgs++;
    t->bytes += len;
    t->flagged[0] += a->flags & 1u;
    t->flagged[1] += a->flags >> 1 & 1u;
    t->timed += a->deadline_ns != 0;
    if (MF_UNLIKELY(a->flags & STORE_BITS)) {
        t->infinite += (a->flags & STORE_INFINITE) != 0 && a->deadline_ns == 0;
        t->pinned += (a->flags & STORE_PINNED) != 0;
    }
    s->log.last_seq = a->seq;
    /* A replicated message may have the time of a clock that is ahead: our clock does not follow
     * it. */
    int64_t past = s->now_ns != 0 && s->now_ns < a->ts_ns ? s->now_ns : a->ts_ns;
    if (past > s->log.clock_ns)
        s->log.clock_ns = past;
    s->stats.appends++;
}

static void count_gained(struct segment *seg, uint64_t len)
{
    seg->live_count++;
    seg->live_bytes += len;
}

static int note_in_batch(struct open_batch *b, uint64_t seq, uint64_t offset, uint64_t where)
{
    if (b->msg_count == b->msg_cap &&
        mf_array_reserve(&b->msgs, &b->msg_cap, b->msg_count + 1, sizeof *b->msgs) != 0)
        return MF_NOMEM;
    b->msgs[b->msg_count++] = (struct moved){seq, offset, where};
    return 0;
}

static int append_record(struct store *s, const struct store_append *a, const struct record *r,
                         size_t size, size_t len)
{
    struct record_pos at;
    uint32_t id;
    int rc;
    uint8_t *p = write_open(s, size, false, &at, &rc);

    if (p == NULL)
        return rc;
    /* In a batch the place is not known yet: place_batch(). */
    uint64_t where = place_make(at.segment, s->batch.open ? 0 : at.offset, len, a->flags);
    if (s->batch.open && (rc = note_in_batch(&s->batch, r->seq, at.offset, where)) != 0)
        return rc;
    if ((rc = lengths_add(s, r->seq, len)) == 0 &&
        (rc = index_add(s->ix, r->seq, a->key, where, r->deadline_ns, &id)) != 0)
        lengths_del(s, r->seq, len);
    if (rc != 0) {
        s->batch.msg_count -= s->batch.open;
        return rc;
    }
    if (MF_UNLIKELY(a->flags & STORE_BITS))
        index_set_bits(s->ix, id, r->flags);
    record_encode(p, r);
    write_close(s, p, size);
    removing_key_grew(s, id);
    view_key_shown(s, id);
    if (MF_UNLIKELY(s->view.late.kept))
        late_added(s, id);
    if (!s->batch.open)
        count_gained(segs_current(s), len);
    return 0;
}

int store_append(struct store *s, struct store_append *a)
{
    size_t len = a->key.len + a->head.len + a->body.len;
    size_t size = record_message_size(a->key.len, a->head.len, a->body.len) + store_box(s);
    int rc = check_append(s, a, size);

    if (rc != 0)
        return rc;
    struct record r = {.type = RECORD_MESSAGE,
                       .flags = a->flags,
                       .seq = s->log.last_seq + 1,
                       .ts_ns = a->ts_ns,
                       .deadline_ns = raise_deadline(s, a->deadline_ns),
                       .cipher = store_cipher(s),
                       .key = a->key,
                       .head = a->head,
                       .body = a->body};
    if (MF_UNLIKELY(a->flags & STORE_INFINITE) && a->deadline_ns != 0)
        r.flags &= (uint16_t)~STORE_INFINITE; /* no meaning beside a deadline */
    if ((rc = append_record(s, a, &r, size, len)) != 0) {
        s->log.starved |= rc == MF_FULL;
        return rc;
    }
    a->seq = r.seq;
    count_append(s, a, len);
    write_add_wait(s, &a->wait);
    return 0;
}

/* --- remove, re-deadline -------------------------------------------------------------------- */

static int note_removal(struct ranges *noted, const struct record *r)
{
    int rc = 0;

    if (r->type != RECORD_SET)
        return ranges_add(noted, r->seq, r->type == RECORD_RANGE ? r->seq_last : r->seq);
    for (uint32_t i = 0; i < r->count && rc == 0; i++)
        rc = ranges_add(noted, record_set_at(r, i), record_set_at(r, i));
    return rc;
}

int write_removal(struct store *s, const struct record *r, size_t size)
{
    struct record_pos at;
    struct ranges *noted = &s->commit.filling.removed;
    size_t count = noted->count;
    uint64_t last = count > 0 ? noted->at[count - 1].last : 0;
    size_t spare = s->batch.reserved;
    int rc;

    s->batch.reserved -= size < spare ? size : spare; /* uses its own reservation */
    uint8_t *p = write_open(s, size, true, &at, &rc);
    if (p == NULL || (rc = note_removal(noted, r)) != 0) {
        noted->count = count; /* and the last one as it was, should it have grown */
        if (count > 0)
            noted->at[count - 1].last = last;
        s->batch.reserved = spare;
        return rc;
    }
    record_encode(p, r);
    write_close(s, p, size);
    return 0;
}

int write_check_removal(struct store *s, uint64_t seq, uint32_t *id)
{
    int rc = write_check(s);

    *id = index_find(s->ix, seq);
    return rc == 0 && (*id == INDEX_NONE || !view_accepted(s, *id)) ? MF_NOTFOUND : rc;
}

int store_remove(struct store *s, uint64_t seq, struct store_wait *w)
{
    struct record r = {.type = RECORD_REMOVE, .seq = seq};
    uint32_t id;
    int rc = write_check_removal(s, seq, &id);

    if (rc != 0 || (rc = write_removal(s, &r, RECORD_REMOVE_SIZE)) != 0)
        return rc;
    removing_add(s, id);
    write_add_wait(s, w);
    return 0;
}

static void remove_range(struct store *s, uint64_t first, uint64_t last)
{
    for (uint32_t id = index_next(s->ix, first); id != INDEX_NONE;) {
        uint64_t seq = index_seq(s->ix, id);
        if (seq > last)
            return;
        if (view_accepted(s, id))
            removing_add(s, id);
        id = seq == UINT64_MAX ? INDEX_NONE : index_next(s->ix, seq + 1);
    }
}

int store_remove_range(struct store *s, uint64_t first, uint64_t last, struct store_wait *w)
{
    struct record r = {.type = RECORD_RANGE, .seq = first, .seq_last = last};
    int rc = write_check(s);

    if (rc != 0)
        return rc;
    if (first > last || first == 0 || last == UINT64_MAX)
        return MF_INVAL;
    struct index *fresh = purge_prepare(s, first, last);
    if ((rc = write_removal(s, &r, RECORD_RANGE_SIZE)) != 0) {
        index_free(fresh);
        return rc;
    }
    if (fresh != NULL)
        purge_begin(s, fresh, last);
    else
        remove_range(s, first, last);
    if (last > s->log.last_seq)
        s->log.last_seq = last;
    write_add_wait(s, w);
    return 0;
}

static int remove_some(struct store *s, const uint64_t *seqs, size_t n)
{
    struct record r = {.type = RECORD_SET, .set = (const uint8_t *)seqs, .count = (uint32_t)n};
    int rc = write_removal(s, &r, record_set_size(n));

    for (size_t i = 0; i < n && rc == 0; i++) {
        uint32_t id = index_find(s->ix, seqs[i]);
        if (id != INDEX_NONE && view_accepted(s, id))
            removing_add(s, id);
    }
    return rc;
}

int store_remove_set(struct store *s, const uint64_t *seqs, size_t n, struct store_wait *w)
{
    bool own = !s->batch.open && n > RECORD_SET_MAX;
    int rc = write_check(s);

    if (rc != 0)
        return rc;
    for (size_t i = 1; i < n; i++)
        if (seqs[i - 1] >= seqs[i])
            return MF_INVAL;
    if (record_set_size(n) + (n / RECORD_SET_MAX + 1) * 32 > BATCH_MAX)
        return MF_LIMIT;
    /* A large set needs several records, in one batch. */
    if (own)
        store_begin(s, true);
    for (size_t i = 0; i < n && rc == 0; i += RECORD_SET_MAX)
        rc = remove_some(s, seqs + i, n - i < RECORD_SET_MAX ? n - i : RECORD_SET_MAX);
    if (own) {
        int end = store_end(s, NULL);
        rc = rc == 0 ? end : rc;
    }
    if (rc != 0)
        return rc;
    write_add_wait(s, w);
    if (n == 0)
        commit_kick(s);
    return 0;
}

/* The totals that count an accepted message. */
static struct totals *counted_in(struct store *s, uint64_t seq)
{
    if (seq <= s->log.committed_seq)
        return &s->view.all;
    return s->commit.running && seq <= s->commit.image.last_seq ? &s->commit.image.added
                                                                : &s->commit.filling.added;
}

/* On a full disk only an earlier deadline may use the room that is kept for removals. */
static bool ends_sooner(int64_t before_ns, int64_t after_ns)
{
    return after_ns != 0 && (before_ns == 0 || after_ns < before_ns);
}

static int write_deadline(struct store *s, uint32_t id, const struct record *r)
{
    uint32_t needs = s->log.needs;
    struct record_pos at;
    int rc;

    if (r->flags != 0 && needs < SEGMENT_BITS)
        s->log.needs = SEGMENT_BITS; /* a segment that may hold it: room.c */
    bool frees = ends_sooner(index_deadline(s->ix, id), r->deadline_ns);
    uint8_t *p = write_open(s, RECORD_DEADLINE_SIZE, frees, &at, &rc);
    if (p == NULL || (rc = index_set_deadline(s->ix, id, r->deadline_ns)) != 0) {
        s->log.needs = needs;
        return rc;
    }
    record_encode(p, r);
    write_close(s, p, RECORD_DEADLINE_SIZE);
    return 0;
}

int store_set_deadline(struct store *s, uint64_t seq, int64_t deadline_ns, uint16_t flags,
                       struct store_wait *w)
{
    struct record r = {.type = RECORD_DEADLINE,
                       .seq = seq,
                       .deadline_ns = raise_deadline(s, deadline_ns),
                       .flags = flags};
    uint32_t id = index_find(s->ix, seq);
    int rc = write_check(s);

    if (rc != 0)
        return rc;
    if ((flags & ~STORE_BITS) != 0 || (deadline_ns != 0 && (flags & STORE_INFINITE) != 0))
        return MF_INVAL;
    if (id == INDEX_NONE || !view_accepted(s, id) || view_overdue(s, s->ix, id))
        return MF_NOTFOUND; /* an overdue message has expired: nothing revives it */
    struct totals before = view_entry_totals(s, id);
    if ((rc = write_deadline(s, id, &r)) != 0)
        return rc;
    index_set_bits(s->ix, id, flags);
    totals_sub(counted_in(s, seq), before);
    totals_add(counted_in(s, seq), view_entry_totals(s, id));
    if (s->view.late.kept)
        late_moved(s, id);
    write_add_wait(s, w);
    return 0;
}

/* --- batches -------------------------------------------------------------------------------- */

void store_begin(struct store *s, bool frees)
{
    assert(!s->batch.open);
    s->batch.open = true;
    s->batch.frees = s->batch.uses_reserve = frees;
    mf_buf_clear(&s->batch.buf);
    s->batch.msg_count = s->batch.reserved = 0;
}

int store_reserve(struct store *s, size_t removals)
{
    size_t more = removals * RECORD_RANGE_SIZE, before = s->batch.reserved;
    bool frees = s->batch.uses_reserve;
    int rc = write_check(s);

    assert(s->batch.open && more >= removals);
    if (rc != 0)
        return rc;
    s->batch.reserved += more;
    /* Earlier reservations may not be used up yet. */
    if (ranges_reserve(&s->commit.filling.removed, s->batch.reserved / RECORD_REMOVE_SIZE) != 0)
        rc = MF_NOMEM;
    else if (open_in_batch(s, 0, true, &rc) != NULL)
        rc = 0;
    s->batch.uses_reserve = frees; /* only if a removal is written */
    if (rc != 0)
        s->batch.reserved = before;
    s->log.starved |= rc == MF_FULL;
    return rc;
}

static void place_batch(struct store *s, struct record_pos at)
{
    for (size_t i = 0; i < s->batch.msg_count; i++) {
        const struct moved *m = &s->batch.msgs[i];
        uint32_t id = index_find(s->ix, m->seq);
        uint64_t where =
            place_make(at.segment, at.offset + m->from, place_len(m->to), place_flags(m->to));
        index_set_place(s->ix, id, where);
        count_gained(segs_current(s), view_entry_bytes_in(s, s->ix, id));
    }
}

int store_end(struct store *s, struct store_wait *w)
{
    struct record_pos at;
    int rc;

    assert(s->batch.open);
    s->batch.open = false;
    if ((rc = write_check(s)) != 0)
        return rc; /* the batch is empty */
    if (s->batch.buf.len > 0) {
        record_set_last(s->batch.buf.ptr + s->batch.last);
        uint8_t *p = room_place(s, s->batch.buf.len, s->batch.uses_reserve, &at, &rc);
        assert(p != NULL); /* open_in_batch() ensured it */
        memcpy(p, s->batch.buf.ptr, s->batch.buf.len);
        room_used(s, s->batch.buf.len);
        place_batch(s, at);
        blob_place(s, at.segment);
        s->stats.batches++;
    }
    mf_buf_clear(&s->batch.buf);
    write_add_wait(s, w);
    commit_kick(s);
    return 0;
}

bool store_wait_pending(struct store *s, struct store_wait *w)
{
    return write_check(s) == 0 && commit_barrier(s, w);
}

int store_barrier(struct store *s, struct store_wait *w)
{
    int rc = write_check(s);

    if (rc != 0)
        return rc;
    write_add_wait(s, w);
    commit_kick(s);
    return 0;
}
