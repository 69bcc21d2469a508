/* read.c: reads of whole messages. store_peek() reads from the mapping of the segment, without a
 * system call, where the pages are known to be in memory. store_read() has a worker read the
 * file.  Every read verifies the record: damaged bytes are never returned.
 *
 * The kernel is asked once for each window of a segment and epoch of a few seconds whether its
 * pages are in memory.  A page that is evicted within an epoch costs one wait for the disk. */
#include "store/store_impl.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOW   (256u << 10)
#define EPOCH_NS (5 * CLOCK_S)

#define RETRY_NS (CLOCK_S / 10)

struct read_job {
    struct mf_list later; /* store.reads.later, or alone */
    struct store *s;
    struct store_read *r;
    struct loop_job *job;
    struct store_io *io;
    const struct crypt *crypt;
    struct store_file *file;
    uint64_t number, key, offset, limit, seq;
    uint32_t version; /* of the segment */
    size_t guess;     /* bytes to read at first */
    uint8_t *buf;
    struct record rec;
    int status;
};

static uint32_t current_epoch(struct store *s)
{
    int64_t now = s->loop == NULL ? 0 : loop_mono_ns(s->loop);

    if (now - s->reads.epoch_ns >= EPOCH_NS || s->reads.epoch == 0) {
        s->reads.epoch_ns = now;
        s->reads.epoch++;
    }
    return s->reads.epoch;
}

static bool map_segment(struct store *s, struct segment *seg)
{
    if (seg->map == NULL && seg->file != NULL)
        seg->map = s->io->map(s->io, seg->file, seg->size);
    return seg->map != NULL;
}

static bool in_memory(struct store *s, struct segment *seg, uint64_t offset, uint64_t len)
{
    size_t windows = (seg->size + WINDOW - 1) / WINDOW;
    uint32_t now = current_epoch(s);

    if (seg->seen == NULL)
        seg->seen = calloc(windows, sizeof *seg->seen);
    if (seg->seen == NULL)
        return false;
    for (uint64_t w = offset / WINDOW; w <= (offset + len) / WINDOW && w < windows; w++) {
        if (seg->seen[w] == now)
            continue;
        uint64_t at = w * WINDOW, n = seg->size - at < WINDOW ? seg->size - at : WINDOW;
        if (!s->io->resident(s->io, seg->map, at, n)) {
            /* Not the whole window: ask for the record alone, and remember nothing. */
            return s->io->resident(s->io, seg->map, offset, len);
        }
        seg->seen[w] = now;
    }
    return true;
}

static void rec_fill(const struct index *ix, uint32_t id, const struct record *r,
                     struct store_rec *out)
{
    *out = (struct store_rec){.seq = r->seq,
                              .ts_ns = r->ts_ns,
                              .deadline_ns = index_deadline(ix, id),
                              .flags = (r->flags & (uint16_t)~STORE_BITS) | index_bits(ix, id),
                              .key = r->key,
                              .head = r->head,
                              .body = r->body};
}

/* A record that cannot be read is reported once for its place. */
static int read_damaged(struct store *s, uint64_t seq, uint64_t number, uint64_t offset,
                        uint64_t len)
{
    struct store_damage d = {.offset = offset,
                             .length = len,
                             .first_seq = seq,
                             .last_seq = seq,
                             .what = "the message cannot be read"};

    segment_name(d.file, number);
    (void)damage_add(s, &d);
    return MF_CORRUPT;
}

/* version: of its segment. */
static bool is_message(const struct record *r, uint64_t seq, uint32_t version)
{
    return (r->type == RECORD_MESSAGE || r->type == RECORD_COPY) && r->seq == seq &&
           !(version >= SEGMENT_CRYPT && record_is_bare(r));
}

/* Bytes of its record; of one without a box in an encrypted store some of the next one, too. */
static uint64_t record_span(const struct store *s, const struct index *ix, uint32_t id,
                            const struct segment *seg)
{
    uint64_t offset = place_offset(index_place(ix, id));
    uint64_t len = record_message_size(view_entry_bytes_in(s, ix, id), 0, 0);

    if (s->crypt != NULL && seg != NULL && seg->size >= offset + len + SEAL_ROOM)
        len += SEAL_ROOM;
    return len;
}

/* The slices of a sealed message lie in memory of this turn then.  0, MF_CORRUPT or MF_NOMEM. */
static int open_message(struct store *s, struct record *r)
{
    uint8_t *dst;

    if (r->cipher == SEAL_NONE)
        return 0;
    if (s->crypt == NULL)
        return MF_CORRUPT;
    if ((dst = opened_take(&s->opened, s->loop, record_len(r))) == NULL)
        return MF_NOMEM;
    return record_open(r, s->crypt->loop, dst) ? 0 : MF_CORRUPT;
}

/* The same in place: in a buffer of the caller. */
static bool open_in_place(struct record *r, struct seal *seal)
{
    return record_open(r, seal, (uint8_t *)r->key.ptr);
}

/* dead: also an overdue message. */
static bool is_readable(const struct store *s, uint32_t id, bool dead)
{
    return id != INDEX_NONE && (dead ? view_present(s, id) : view_visible(s, id));
}

static int peek_message(struct store *s, uint64_t seq, bool dead, struct store_rec *out)
{
    uint32_t id = index_find(view_index(s), seq);
    struct record r;

    if (!is_readable(s, id, dead))
        return MF_NOTFOUND;
    struct segment *seg = segs_of(s, index_place(view_index(s), id));
    uint64_t offset = place_offset(index_place(view_index(s), id)),
             len = record_span(s, view_index(s), id, seg);
    if (seg == NULL || seg->missing || offset + len > seg->size)
        return MF_CORRUPT;
    if (!map_segment(s, seg) || !in_memory(s, seg, offset, len))
        return MF_AGAIN;
    if (!record_read(seg->map + offset, seg->size - offset, seg->key, offset, &r) ||
        !is_message(&r, seq, seg->version))
        return read_damaged(s, seq, seg->number, offset, len);
    int rc = open_message(s, &r);
    if (rc == MF_NOMEM)
        return MF_AGAIN; /* a worker has its own memory for it, or says that there is none */
    if (rc != 0)
        return read_damaged(s, seq, seg->number, offset, len);
    rec_fill(view_index(s), id, &r, out);
    return 0;
}

int store_peek(struct store *s, uint64_t seq, struct store_rec *out)
{
    return peek_message(s, seq, false, out);
}

int store_peek_overdue(struct store *s, uint64_t seq, struct store_rec *out)
{
    return peek_message(s, seq, true, out);
}

/* --- from disk ------------------------------------------------------------------------------ */

static void read_work(void *arg) /* on a worker */
{
    struct read_job *j = arg;
    struct mf_error e;

    j->buf = malloc(j->guess);
    j->status =
        j->buf == NULL ? MF_NOMEM : j->io->pread(j->io, j->file, j->buf, j->guess, j->offset, &e);
    if (j->status == 0 && !(record_read(j->buf, j->guess, j->key, j->offset, &j->rec) &&
                            is_message(&j->rec, j->seq, j->version)))
        j->status = MF_CORRUPT;
    if (j->status != 0 || j->rec.cipher == SEAL_NONE)
        return;
    struct seal *seal = j->crypt == NULL ? NULL : crypt_reader(j->crypt);
    if (j->crypt != NULL && seal == NULL)
        j->status = MF_NOMEM;
    else if (!open_in_place(&j->rec, seal))
        j->status = MF_CORRUPT;
    seal_free(seal);
}

static void read_end(struct read_job *j, int status)
{
    struct store *s = j->s;
    uint32_t id = index_find(view_index(s), j->seq);

    segs_get(s, j->number)->readers--;
    if (!is_readable(s, id, j->r->dead))
        status = MF_NOTFOUND; /* removed meanwhile */
    else if (status == MF_CORRUPT || status == MF_IO)
        status = read_damaged(s, j->seq, j->number, j->offset, j->guess);
    else if (status == 0)
        rec_fill(view_index(s), id, &j->rec, &j->r->rec);
    s->reads.count--;
    j->r->done(j->r, status);
    free(j->buf);
    loop_job_free(j->job);
    free(j);
}

static void read_done(void *arg)
{
    struct read_job *j = arg;
    struct store *s = j->s;

    if (j->status == MF_AGAIN && !s->close.begun) { /* no descriptor: there will be one */
        free(j->buf);
        j->buf = NULL;
        mf_list_push(&s->reads.later, &j->later);
        loop_timer_arm(s->reads.retry, loop_mono_ns(s->loop) + RETRY_NS);
        return;
    }
    read_end(j, j->status == MF_AGAIN ? MF_NOMEM : j->status);
    store_progress(s);
}

void read_retry(void *arg)
{
    struct store *s = arg;
    struct mf_list *n;

    while ((n = mf_list_pop(&s->reads.later)) != NULL)
        loop_job_submit(mf_container(n, struct read_job, later)->job);
}

int store_read(struct store *s, struct store_read *r)
{
    uint32_t id = index_find(view_index(s), r->seq);

    if (!is_readable(s, id, r->dead))
        return MF_NOTFOUND;
    struct segment *seg = segs_of(s, index_place(view_index(s), id));
    uint64_t offset = place_offset(index_place(view_index(s), id)),
             len = record_span(s, view_index(s), id, seg);
    if (seg == NULL || seg->missing || seg->file == NULL || offset + len > seg->size)
        return MF_CORRUPT;
    struct read_job *j = calloc(1, sizeof *j);
    if (j == NULL || (j->job = loop_job_new(s->loop, LOOP_READ, read_work, read_done, j)) == NULL) {
        free(j);
        return MF_NOMEM;
    }
    mf_list_init(&j->later);
    j->s = s;
    j->r = r;
    j->io = s->io;
    j->crypt = s->crypt;
    j->file = seg->file;
    j->number = seg->number;
    j->key = seg->key;
    j->version = seg->version;
    j->offset = offset;
    j->guess = len;
    j->seq = r->seq;
    seg->readers++;
    s->reads.count++;
    loop_job_submit(j->job);
    return 0;
}

/* --- waiting for the disk --------------------------------------------------------------------- */

static int read_waiting(struct store *s, const struct index *ix, uint32_t id, struct mf_buf *buf,
                        struct store_rec *out)
{
    struct segment *seg = segs_of(s, index_place(ix, id));
    uint64_t offset = place_offset(index_place(ix, id)), len = record_span(s, ix, id, seg);
    uint64_t seq = index_seq(ix, id);
    struct mf_error e;
    struct record r;

    *out = (struct store_rec){.seq = seq};
    if (seg == NULL || seg->missing || seg->file == NULL || offset + len > seg->size)
        return MF_CORRUPT;
    mf_buf_clear(buf);
    uint8_t *p = mf_buf_reserve(buf, len);
    if (p == NULL)
        return MF_NOMEM;
    int rc = s->io->pread(s->io, seg->file, p, len, offset, &e);
    if (store_io_is_shortage(rc))
        return rc; /* a shortage is no damage */
    if (rc != 0 || !record_read(p, len, seg->key, offset, &r) ||
        !is_message(&r, seq, seg->version) ||
        !open_in_place(&r, s->crypt == NULL ? NULL : s->crypt->loop))
        return read_damaged(s, seq, seg->number, offset, len);
    rec_fill(ix, id, &r, out);
    return 0;
}

int store_read_now(struct store *s, uint64_t seq, struct mf_buf *buf, struct store_rec *out)
{
    uint32_t id = index_find(view_index(s), seq);

    if (id == INDEX_NONE || !view_visible(s, id))
        return MF_NOTFOUND;
    return read_waiting(s, view_index(s), id, buf, out);
}

int store_read_back(struct store *s, uint64_t from_seq, struct mf_buf *buf, struct store_rec *out)
{
    uint32_t id =
        index_prev(s->ix, from_seq < s->log.committed_seq ? from_seq : s->log.committed_seq);

    while (id != INDEX_NONE && (index_hidden(s->ix, id) || !view_accepted(s, id)))
        id = index_prev(s->ix, index_seq(s->ix, id) - 1);
    return id == INDEX_NONE ? MF_NOTFOUND : read_waiting(s, s->ix, id, buf, out);
}
