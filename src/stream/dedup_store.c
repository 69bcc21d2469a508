/* dedup_store.c: the ids of messages across restarts.
 *
 * The header of a message holds its id, so a start reads the last messages.  The ids of removed
 * messages, and those of too many messages to read at a start, are in chunks: blobs of ids in the
 * order of their sequences.  All ids up to some sequence are in chunks, and those after it are in
 * messages.
 *
 *     ids/<16 hex digits: its first sequence>        ids/upto
 *      0  u8   version: 1                              0  u8   version: 1
 *      1  u64  seed[0]   9  u64  seed[1]               1  u64  seed[0]   9  u64  seed[1]
 *     17  of each id: u64 hash[0], u64 hash[1],       17  u64  the chunks have all ids of messages
 *         u64 seq, i64 ts_ns                               up to this sequence
 *
 * All little endian.  When CHUNK_IDS have gathered they become one large chunk.  The removal of a
 * message before that would lose its id: then the gathered ids are written first, as a small chunk,
 * which is written again with the next ones until it has SMALL_IDS.  The large one replaces them.
 * A crash between leaves ids in two chunks, which is harmless. */
#include "stream/dedup_impl.h"

#include "base/array.h"
#include "base/clock.h"
#include "proto/header.h"
#include "base/le.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define VERSION     1
#define HEAD_BYTES  17u
#define ID_BYTES    32u
#define CHUNK_IDS   4096u
#define SMALL_IDS   64u
#define UPTO_EVERY  65536u
#define DROP_IDS    256u /* at one upkeep */
#define DROP_CHUNKS 8u
#define RETRY_NS    CLOCK_S
#define BLOB_UPTO   BLOB_IDS "upto"
#define NAME_BYTES  (sizeof BLOB_IDS + 16)

static struct mf_slice chunk_name(char dst[NAME_BYTES], uint64_t seq)
{
    snprintf(dst, NAME_BYTES, BLOB_IDS "%016" PRIx64, seq);
    return mf_str(dst);
}

/* --- writing -------------------------------------------------------------------------------- */

static void head_put(const struct dedup *d, uint8_t *p)
{
    p[0] = VERSION;
    le64_put(p + 1, d->seed[0]);
    le64_put(p + 9, d->seed[1]);
}

static int chunk_put(struct dedup *d, struct store *st, uint64_t name, uint64_t from, uint64_t to)
{
    size_t len = HEAD_BYTES + (size_t)(to - from) * ID_BYTES;
    char text[NAME_BYTES];

    mf_buf_clear(&d->buf);
    uint8_t *p = mf_buf_reserve(&d->buf, len);
    if (p == NULL)
        return MF_NOMEM;
    head_put(d, p);
    p += HEAD_BYTES;
    for (uint64_t pos = from; pos < to; pos++, p += ID_BYTES) {
        const struct id_entry *e = id_at(d, pos);
        le64_put(p, e->hash[0]);
        le64_put(p + 8, e->hash[1]);
        le64_put(p + 16, e->seq);
        le64_put(p + 24, (uint64_t)e->ts_ns);
    }
    d->buf.len = len;
    return store_blob_put(st, chunk_name(text, name), mf_buf_slice(&d->buf), NULL);
}

static int chunk_reserve(struct dedup *d)
{
    return mf_array_reserve(&d->chunk, &d->chunk_cap, d->chunks + 1, sizeof *d->chunk);
}

static void chunk_insert(struct dedup *d, size_t i, struct id_chunk c)
{
    memmove(d->chunk + i + 1, d->chunk + i, (d->chunks - i) * sizeof c);
    d->chunk[i] = c;
    d->chunks++;
}

static void chunk_remove(struct dedup *d, size_t i)
{
    d->chunks--;
    memmove(d->chunk + i, d->chunk + i + 1, (d->chunks - i) * sizeof *d->chunk);
    d->large -= i < d->large;
}

/* Deletes the blob of a chunk and forgets it; false: not now. */
static bool chunk_del(struct dedup *d, struct store *st, size_t i)
{
    char text[NAME_BYTES];
    int rc = store_blob_del(st, chunk_name(text, d->chunk[i].name), NULL);

    if (rc != 0 && rc != MF_NOTFOUND)
        return false;
    chunk_remove(d, i);
    return true;
}

/* Writes all gathered ids into small chunks. */
static int write_small(struct dedup *d, struct store *st)
{
    while (d->fresh < d->tail) {
        bool again = d->fresh > d->open; /* the open one is there already, the last of all */
        uint64_t to = d->tail - d->open > CHUNK_IDS ? d->open + CHUNK_IDS : d->tail;
        uint64_t name = again ? d->chunk[d->chunks - 1].name : id_at(d, d->open)->seq;
        int rc = chunk_reserve(d);

        if (rc != 0 || (rc = chunk_put(d, st, name, d->open, to)) != 0)
            return rc;
        d->chunks -= again;
        d->chunk[d->chunks++] =
            (struct id_chunk){name, id_at(d, to - 1)->seq, (uint32_t)(to - d->open)};
        d->fresh = to;
        if (to - d->open >= SMALL_IDS)
            d->open = to;
    }
    return 0;
}

/* The first CHUNK_IDS that are in no large chunk become one; it replaces the small ones. */
static int write_large(struct dedup *d, struct store *st)
{
    uint64_t to = d->base + CHUNK_IDS;
    struct id_chunk c = {id_at(d, d->base)->seq, id_at(d, to - 1)->seq, CHUNK_IDS};
    int rc = chunk_reserve(d);

    if (rc != 0 || (rc = chunk_put(d, st, c.name, d->base, to)) != 0)
        return rc;
    mf_buf_fini(&d->buf); /* the next small one needs far less */
    for (size_t i = d->large; i < d->chunks;) {
        if (d->chunk[i].name == c.name)
            chunk_remove(d, i); /* its blob is the new one */
        else if (d->chunk[i].last_seq > c.last_seq || !chunk_del(d, st, i))
            i++;
    }
    chunk_insert(d, d->large++, c);
    d->base = to;
    if (d->open < to)
        d->open = to;
    if (d->fresh < to)
        d->fresh = to;
    return 0;
}

static int write_upto(struct dedup *d, struct store *st, uint64_t upto)
{
    uint8_t bytes[HEAD_BYTES + 8];

    if (upto <= d->upto)
        return 0;
    head_put(d, bytes);
    le64_put(bytes + HEAD_BYTES, upto);
    int rc = store_blob_put(st, MF_LIT(BLOB_UPTO), mf_slice(bytes, sizeof bytes), NULL);
    if (rc == 0)
        d->upto = upto;
    return rc;
}

int dedup_before_removal(struct dedup *d, struct store *st, uint64_t first, uint64_t last)
{
    if (d->fresh == d->tail || last < id_at(d, d->fresh)->seq || first > id_at(d, d->tail - 1)->seq)
        return 0;
    uint64_t pos = id_lower(d, d->fresh, first);
    if (pos == d->tail || id_at(d, pos)->seq > last)
        return 0;
    int rc = write_small(d, st);
    /* On a full disk removals go on.  The ids are written with the next: only a crash in between
     * loses them. */
    d->owed = rc != 0;
    return rc == MF_NOMEM ? rc : 0;
}

static int gather_chunks(struct dedup *d, struct store *st, uint64_t last_seq)
{
    int rc = d->owed ? write_small(d, st) : 0;

    d->owed = rc != 0;
    if (rc == 0 && d->tail - d->base >= CHUNK_IDS && (rc = write_large(d, st)) == 0)
        rc = write_upto(d, st, d->chunk[d->large - 1].last_seq);
    if (rc == 0 && last_seq > d->upto && last_seq - d->upto >= UPTO_EVERY &&
        (rc = write_small(d, st)) == 0)
        rc = write_upto(d, st, last_seq);
    return rc;
}

void dedup_upkeep(struct dedup *d, struct store *st, uint64_t last_seq, int64_t now_ns,
                  int64_t window_ns)
{
    id_drop(d, now_ns - (window_ns > 0 ? window_ns : 0), DROP_IDS);
    for (size_t n = 0; n < DROP_CHUNKS && d->chunks > 0; n++) {
        if (d->head < d->tail && d->chunk[0].last_seq >= id_at(d, d->head)->seq)
            break;
        if (!chunk_del(d, st, 0))
            break;
    }
    if (now_ns >= d->retry_ns && gather_chunks(d, st, last_seq) != 0)
        d->retry_ns = now_ns + RETRY_NS; /* not at every message */
}

/* --- start ---------------------------------------------------------------------------------- */

struct loading {
    struct dedup *d;
    struct id_entry *at;
    size_t count, cap;
    int64_t until_ns; /* ids of this time and before are out of the window */
    uint64_t covered; /* the last sequence in a chunk */
    bool seeded;
    int rc;
};

static bool is_ids(struct mf_slice name, struct mf_slice bytes)
{
    if (!mf_starts(name, BLOB_IDS))
        return false;
    if (bytes.len >= HEAD_BYTES && bytes.ptr[0] == VERSION)
        return true;
    log_warn("stream: blob %.*s is of an unknown kind: its ids are not known", MF_FMT(name));
    return false;
}

static void seed_visit(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct loading *x = arg;

    if (x->seeded || !is_ids(name, bytes))
        return;
    x->d->seed[0] = le64_get(bytes.ptr + 1);
    x->d->seed[1] = le64_get(bytes.ptr + 9);
    x->seeded = true;
}

static int loading_add(struct loading *x, const struct id_entry *e)
{
    if (e->ts_ns <= x->until_ns)
        return 0;
    if (mf_array_reserve(&x->at, &x->cap, x->count + 1, sizeof *x->at) != 0)
        return MF_NOMEM;
    x->at[x->count++] = *e;
    return 0;
}

static bool chunk_parse(struct mf_slice name, uint64_t *seq)
{
    *seq = 0;
    if (name.len != NAME_BYTES - 1)
        return false;
    for (size_t i = sizeof BLOB_IDS - 1; i < name.len; i++) {
        const char digits[] = "0123456789abcdef";
        const char *p = memchr(digits, name.ptr[i], 16);
        if (p == NULL)
            return false;
        *seq = *seq << 4 | (uint64_t)(p - digits);
    }
    return true;
}

static void chunk_visit(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct loading *x = arg;
    struct id_chunk c = {0};
    size_t n;

    if (x->rc != 0 || !is_ids(name, bytes) || le64_get(bytes.ptr + 1) != x->d->seed[0] ||
        le64_get(bytes.ptr + 9) != x->d->seed[1] || !chunk_parse(name, &c.name))
        return;
    n = (bytes.len - HEAD_BYTES) / ID_BYTES;
    for (size_t i = 0; i < n && x->rc == 0; i++) {
        const uint8_t *p = bytes.ptr + HEAD_BYTES + i * ID_BYTES;
        struct id_entry e = {
            {le64_get(p), le64_get(p + 8)}, le64_get(p + 16), (int64_t)le64_get(p + 24)};
        if (e.seq > c.last_seq)
            c.last_seq = e.seq;
        x->rc = loading_add(x, &e);
    }
    if (c.last_seq > x->covered)
        x->covered = c.last_seq;
    c.count = (uint32_t)n;
    if (x->rc == 0 && (x->rc = chunk_reserve(x->d)) == 0)
        x->d->chunk[x->d->chunks++] = c;
}

/* Backwards, as only the newest are within the window. */
static int read_messages(struct loading *x, struct store *st)
{
    struct mf_buf b = MF_BUF_INIT;
    struct mf_slice id;
    struct store_rec r;
    int rc = 0;

    for (uint64_t seq = UINT64_MAX; rc == 0 && seq > x->d->upto; seq = r.seq - 1) {
        rc = store_read_back(st, seq, &b, &r);
        if (rc == MF_CORRUPT && r.seq > x->d->upto) {
            rc = 0; /* the store has said so; its id is lost with it */
            continue;
        }
        if (rc != 0 || r.seq <= x->d->upto || r.ts_ns <= x->until_ns)
            break;
        if (header_get(r.head, "Nats-Msg-Id", &id) && id.len > 0) {
            struct id_entry e = {.seq = r.seq, .ts_ns = r.ts_ns};
            id_hash(x->d, id, e.hash);
            rc = loading_add(x, &e);
        }
    }
    mf_buf_fini(&b);
    return rc == MF_NOTFOUND || rc == MF_CORRUPT ? 0 : rc;
}

static int entry_order(const void *a, const void *b)
{
    const struct id_entry *x = a, *y = b;

    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int chunk_order(const void *a, const void *b)
{
    const struct id_chunk *x = a, *y = b;

    return x->name < y->name ? -1 : x->name > y->name;
}

/* The last chunks, while they are small together, are to become a large one. */
static void place_chunks(struct dedup *d, uint64_t covered)
{
    size_t small = 0;

    if (d->chunks > 1)
        qsort(d->chunk, d->chunks, sizeof *d->chunk, chunk_order);
    d->large = d->chunks;
    while (d->large > 0 && small + d->chunk[d->large - 1].count < CHUNK_IDS)
        small += d->chunk[--d->large].count;
    d->fresh = d->open = id_lower(d, d->head, covered + 1);
    d->base = d->large < d->chunks ? id_lower(d, d->head, d->chunk[d->large].name) : d->open;
}

int dedup_load(struct dedup *d, struct stream *s, int64_t now_ns, int64_t window_ns)
{
    struct loading x = {.d = d, .until_ns = now_ns - (window_ns > 0 ? window_ns : 0)};
    struct mf_slice upto;

    store_blob_each(s->store, seed_visit, &x);
    if (store_blob_get(s->store, MF_LIT(BLOB_UPTO), &upto) && upto.len == HEAD_BYTES + 8 &&
        upto.ptr[0] == VERSION)
        d->upto = le64_get(upto.ptr + HEAD_BYTES);
    store_blob_each(s->store, chunk_visit, &x);
    if (x.rc == 0)
        x.rc = read_messages(&x, s->store);
    if (x.rc == 0 && x.count > 1)
        qsort(x.at, x.count, sizeof *x.at, entry_order);
    for (size_t i = 0; i < x.count && x.rc == 0; i++)
        if (i == 0 || x.at[i].seq != x.at[i - 1].seq)
            x.rc = id_push(d, &x.at[i]);
    free(x.at);
    if (x.rc == 0)
        place_chunks(d, x.covered);
    return x.rc;
}
