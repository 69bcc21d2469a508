/* nats_walk.c: reads all blocks of a stream of nats-server: once to check and count, once more for
 * each walk over the messages that exist. */
#include "cli/import/nats_block.h"
#include "cli/import/nats_store_impl.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

#define BLOCK_MAX (2ULL << 30)

struct walk {
    struct nats_store *s;
    nats_visit *visit;
    nats_progress *progress;
    void *arg;
    bool note;      /* the first round: damage and tombstones are noted */
    uint64_t read;  /* bytes of files */
    uint64_t last;  /* sequence of the last message */
    size_t dead_at; /* in s->dead */
    uint64_t *gone; /* deleted in this block, by index.db; sorted */
    size_t ngone, gone_cap, gone_at;
    uint64_t in_block; /* messages of this block that exist */
    bool hurt;         /* this block is damaged */
    uint64_t seen;     /* highest sequence of a message, existing or not */
    struct gap {       /* damage, until the record behind it is read; size 0: none */
        size_t at, size;
        const char *why;
    } gap;
};

/* --- which messages exist ------------------------------------------------------------------- */

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static const struct nats_range *find_range(const struct nats_store *s, uint32_t block)
{
    for (size_t i = 0; i < s->nranges; i++)
        if (s->ranges[i].block == block)
            return &s->ranges[i];
    return NULL;
}

static int list_gone(struct walk *w, const struct nats_range *g)
{
    struct natsfile_set set = g->deleted;
    uint64_t seq;

    w->ngone = w->gone_at = 0;
    while (natsfile_set_next(&set, &seq)) {
        if (mf_array_reserve(&w->gone, &w->gone_cap, w->ngone + 1, sizeof *w->gone) != 0)
            return MF_NOMEM;
        w->gone[w->ngone++] = seq;
    }
    if (w->ngone > 1)
        qsort(w->gone, w->ngone, sizeof *w->gone, by_sequence);
    return 0;
}

/* Is seq in the sorted list?  Asked with growing sequences. */
static bool is_listed(const uint64_t *list, size_t n, size_t *at, uint64_t seq)
{
    while (*at < n && list[*at] < seq)
        (*at)++;
    return *at < n && list[*at] == seq;
}

static bool exists(struct walk *w, const struct nats_range *g, const struct natsfile_record *r)
{
    struct nats_store *s = w->s;

    if (r->tombstone || r->erased || r->seq <= w->last || r->seq > INT64_MAX)
        return false;
    if (s->indexed)
        return r->seq >= g->first && r->seq <= g->last &&
               !is_listed(w->gone, w->ngone, &w->gone_at, r->seq);
    return !is_listed(s->dead, s->ndead, &w->dead_at, r->seq);
}

/* --- one block ------------------------------------------------------------------------------ */

static int note_tombstone(struct nats_store *s, uint64_t seq)
{
    if (mf_array_reserve(&s->dead, &s->dead_cap, s->ndead + 1, sizeof *s->dead) != 0)
        return MF_NOMEM;
    s->dead[s->ndead++] = seq;
    return 0;
}

/* Notes the damage before a record of message `next`; 0: no message follows in the block. */
static void close_gap(struct walk *w, uint32_t block, const struct nats_range *g, uint64_t next)
{
    unsigned long long from = w->seen + 1, to = next > 0 ? next - 1 : g != NULL ? g->last : 0;
    char lost[120];

    if (w->gap.size == 0)
        return;
    if (to == 0)
        (void)snprintf(lost, sizeof lost, "sequences from %llu on are lost in this file", from);
    else if (to < from)
        (void)snprintf(lost, sizeof lost, "no sequence is missing");
    else
        (void)snprintf(lost, sizeof lost, "sequences %llu to %llu", from, to);
    nats_notes_add(&w->s->damage, "%s/%u.blk: byte %zu: %s (%zu bytes are passed over): %s",
                   w->s->msgs, block, w->gap.at, w->gap.why, w->gap.size, lost);
    w->gap.size = 0;
}

/* A torn last record is how a killed server leaves its file, and no damage. */
static void note_damage(struct walk *w, const struct nats_block *b, uint32_t block)
{
    struct nats_store *s = w->s;
    bool last = block == s->blocks[s->nblocks - 1];

    w->hurt = true;
    if (!w->note)
        return;
    if (b->torn && last && !s->indexed) {
        s->torn = true;
        nats_notes_add(&s->remarks, "%s/%u.blk: the last record, at byte %zu, is cut off", s->msgs,
                       block, b->bad_at);
        return;
    }
    w->gap = (struct gap){.at = b->bad_at, .size = b->bad_size, .why = b->why};
}

static int take_record(struct walk *w, const struct nats_range *g, const struct natsfile_record *r)
{
    struct nats_store *s = w->s;

    if (w->note && r->seq > s->last_seq && r->seq <= INT64_MAX &&
        (!s->indexed || r->seq <= g->last)) {
        s->last_seq = r->seq;
        s->last_ts_ns = r->ts_ns;
    }
    if (w->note && r->tombstone && !s->indexed)
        return note_tombstone(s, r->seq);
    if (w->visit == NULL && !s->indexed)
        return 0; /* tombstones of later blocks are not known yet */
    if (!exists(w, g, r))
        return 0;
    w->last = r->seq;
    w->in_block++;
    return w->visit == NULL ? 0 : w->visit(w->arg, r);
}

static int walk_records(struct walk *w, uint32_t block, const struct nats_range *g,
                        struct mf_slice bytes)
{
    struct natsfile_record r;
    struct nats_block b;
    int rc;

    nats_block_open(&b, bytes, w->s->name, block);
    while ((rc = nats_block_next(&b, &r)) != MF_AGAIN) {
        if (rc == MF_CORRUPT) {
            note_damage(w, &b, block);
            continue;
        }
        if (!r.tombstone && r.seq > w->seen && r.seq <= INT64_MAX) {
            close_gap(w, block, g, r.seq);
            w->seen = r.seq;
        }
        rc = take_record(w, g, &r);
        if (rc != 0)
            return rc;
    }
    close_gap(w, block, g, 0);
    return 0;
}

/* The records of a compressed block into *plain; of a damaged one those before the damage, which is
 * noted.  False: no memory. */
static bool unpack_block(struct walk *w, uint32_t block, const struct mf_buf *file,
                         struct mf_buf *plain, int *rc)
{
    *rc = nats_block_unpack(mf_buf_slice(file), plain);
    w->s->packed = true;
    if (*rc == 0)
        return true;
    if (*rc == MF_NOMEM)
        return false;
    w->hurt = true;
    if (w->note)
        nats_notes_add(&w->s->damage, "%s/%u.blk: byte 0: compressed, and it cannot be unpacked%s",
                       w->s->msgs, block,
                       *rc == MF_UNSUPPORTED ? ": unknown compression" : " completely");
    *rc = 0;
    return true; /* the records before the damage */
}

static void check_count(struct walk *w, uint32_t block, const struct nats_range *g)
{
    if (w->note && w->s->indexed && !w->hurt && w->in_block != g->count)
        nats_notes_add(&w->s->damage, "%s/%u.blk: %llu messages; index.db counts %llu", w->s->msgs,
                       block, (unsigned long long)w->in_block, (unsigned long long)g->count);
}

static int walk_block(struct walk *w, uint32_t block, struct mf_error *e)
{
    struct mf_buf file = MF_BUF_INIT, plain = MF_BUF_INIT;
    const struct nats_range *g = find_range(w->s, block);
    char name[40];
    int rc;

    if (w->s->indexed && g == NULL)
        return 0; /* nats-server ignores it too */
    (void)snprintf(name, sizeof name, "%s/%u.blk", w->s->msgs, block);
    rc = nats_store_read(w->s->dir, name, BLOCK_MAX, &file, e);
    if (rc != 0)
        return rc;
    w->in_block = 0;
    w->hurt = false;
    if (w->s->indexed) {
        rc = list_gone(w, g);
        w->seen = g->first > w->seen + 1 ? g->first - 1 : w->seen;
    }
    if (rc == 0 && nats_block_packed(mf_buf_slice(&file))) {
        if (unpack_block(w, block, &file, &plain, &rc))
            rc = walk_records(w, block, g, mf_buf_slice(&plain));
    } else if (rc == 0) {
        rc = walk_records(w, block, g, mf_buf_slice(&file));
    }
    if (rc == 0)
        check_count(w, block, g);
    w->read += file.len;
    if (rc == 0 && w->progress != NULL && w->progress(w->arg, w->read) != 0)
        rc = MF_CLOSED;
    mf_buf_fini(&file);
    mf_buf_fini(&plain);
    return rc == 0 ? 0 : rc == MF_NOMEM ? mf_fail(e, rc, "%s/%s", w->s->dir, name) : rc;
}

static int walk_blocks(struct walk *w, struct mf_error *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < w->s->nblocks; i++)
        rc = walk_block(w, w->s->blocks[i], e);
    free(w->gone);
    return rc;
}

/* --- rounds --------------------------------------------------------------------------------- */

struct count {
    struct nats_store *s;
    nats_progress *progress;
    void *arg;
    uint64_t before; /* bytes of the round before */
};

static bool has_ttl(struct mf_slice hdr)
{
    return hdr.len > 0 && memmem(hdr.ptr, hdr.len, "\nNats-TTL:", 10) != NULL;
}

static int count_message(void *arg, const struct natsfile_record *r)
{
    struct nats_store *s = ((struct count *)arg)->s;
    uint64_t body = r->hdr.len + r->payload.len;

    if (s->count == 0) {
        s->first_seq = r->seq;
        s->first_ts_ns = r->ts_ns;
    }
    s->count++;
    s->bytes += r->size;
    s->with_ttl += has_ttl(r->hdr);
    nats_source_see(s, r->hdr);
    if (body > s->largest) {
        s->largest = body;
        s->largest_seq = r->seq;
    }
    return 0;
}

static int pass_progress(void *arg, uint64_t bytes)
{
    struct count *c = arg;

    return c->progress == NULL ? 0 : c->progress(c->arg, c->before + bytes);
}

/* The last sequence may be higher than all that is left on disk: index.db remembers it.  If
 * index.db does not fit the blocks, it should be older than they are. */
static void settle_ends(struct nats_store *s)
{
    if (s->index_last > s->last_seq && s->index_last <= INT64_MAX) {
        if (!s->indexed)
            nats_notes_add(&s->damage,
                           "%s: the blocks end with sequence %llu, index.db with %llu: sequences "
                           "between are lost",
                           s->msgs, (unsigned long long)s->last_seq,
                           (unsigned long long)s->index_last);
        s->last_seq = s->index_last;
        s->last_ts_ns = s->index_last_ts_ns;
    }
    if (s->count == 0)
        s->first_seq = s->last_seq + 1;
    s->deleted = s->last_seq + 1 - s->first_seq - s->count;
}

int nats_store_scan(struct nats_store *s, nats_progress *progress, void *arg, struct mf_error *e)
{
    struct count c = {.s = s, .progress = progress, .arg = arg};
    struct walk w = {.s = s, .note = true, .progress = pass_progress, .arg = &c};
    int rc;

    if (s->indexed)
        w.visit = count_message;
    rc = walk_blocks(&w, e);
    s->files_bytes = w.read;
    if (rc == 0 && !s->indexed) {
        if (s->ndead > 1)
            qsort(s->dead, s->ndead, sizeof *s->dead, by_sequence);
        c.before = w.read;
        w = (struct walk){.s = s, .visit = count_message, .progress = pass_progress, .arg = &c};
        rc = walk_blocks(&w, e);
    }
    if (rc == 0) {
        settle_ends(s);
        nats_source_settle(s);
    }
    return rc;
}

int nats_store_walk(struct nats_store *s, nats_visit *visit, nats_progress *progress, void *arg,
                    struct mf_error *e)
{
    struct walk w = {.s = s, .visit = visit, .progress = progress, .arg = arg};

    return walk_blocks(&w, e);
}
