/* natsfile.c: reads files of nats-server's file store. */
#include "codec/natsfile.h"

#include "base/clock.h"
#include "base/le.h"
#include "codec/sha256.h"

#include <stdio.h>

#define HEAD        22u /* of a record */
#define WITH_HDR    0x80000000u
#define ERASED      (1ULL << 63)
#define TOMBSTONE   (1ULL << 62)
#define SUBJECT_MAX 65535u

/* --- numbers -------------------------------------------------------------------------------- */

static uint64_t read_le(const uint8_t *p, unsigned n)
{
    struct mf_slice s = mf_slice(p, n);

    return le_take(&s, n);
}

static void skip_bytes(struct mf_slice *s, size_t n)
{
    *s = mf_slice(s->ptr + n, s->len - n);
}

bool natsfile_uvarint(struct mf_slice *s, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < s->len && i < 10; i++) {
        uint8_t b = s->ptr[i];

        if (i == 9 && b > 1)
            return false;
        v |= (uint64_t)(b & 0x7f) << (7 * i);
        if (b < 0x80) {
            skip_bytes(s, i + 1);
            *out = v;
            return true;
        }
    }
    return false;
}

static bool read_varint(struct mf_slice *s, int64_t *out)
{
    uint64_t v;

    if (!natsfile_uvarint(s, &v))
        return false;
    *out = (int64_t)(v >> 1 ^ (~(v & 1) + 1));
    return true;
}

/* --- blocks --------------------------------------------------------------------------------- */

void natsfile_block_key(const char *stream, uint32_t block, uint8_t key[HIGHWAY_KEY])
{
    char name[300];
    int n = snprintf(name, sizeof name, "%s-%u", stream, block);

    sha256(mf_slice(name, n < (int)sizeof name ? (size_t)n : sizeof name - 1), key);
}

static bool check_matches(struct mf_slice in, const uint8_t key[HIGHWAY_KEY], size_t subject,
                          size_t hdr_mark, size_t size)
{
    size_t body = HEAD + subject + hdr_mark;
    uint8_t sum[HIGHWAY_BYTES];
    struct highway h;

    highway_init(&h, key);
    highway_add(&h, mf_slice(in.ptr + 4, 16));
    highway_add(&h, mf_slice(in.ptr + HEAD, subject));
    highway_add(&h, mf_slice(in.ptr + body, size - HIGHWAY_BYTES - body));
    highway_end(&h, sum);
    return memcmp(sum, in.ptr + size - HIGHWAY_BYTES, sizeof sum) == 0;
}

int natsfile_record(struct mf_slice in, const uint8_t key[HIGHWAY_KEY], size_t max_body,
                    struct natsfile_record *r)
{
    size_t size, subject, mark, hdr = 0, body;
    uint64_t seq;

    *r = (struct natsfile_record){.seq = 0};
    if (in.len < HEAD)
        return MF_AGAIN;
    size = read_le(in.ptr, 4) & ~WITH_HDR;
    mark = (read_le(in.ptr, 4) & WITH_HDR) != 0 ? 4 : 0;
    seq = read_le(in.ptr + 4, 8);
    subject = read_le(in.ptr + 20, 2);
    r->seq = seq & ~(ERASED | TOMBSTONE);
    r->erased = (seq & ERASED) != 0 || seq == 0;
    r->tombstone = (seq & TOMBSTONE) != 0;
    r->ts_ns = (int64_t)read_le(in.ptr + 12, 8);
    r->size = size;
    if (size < HEAD + subject + mark + HIGHWAY_BYTES)
        return MF_CORRUPT;
    if (size > HEAD + SUBJECT_MAX + 4 + HIGHWAY_BYTES + (uint64_t)max_body)
        return MF_LIMIT;
    if (in.len < size)
        return MF_AGAIN;
    if (!check_matches(in, key, subject, mark, size))
        return MF_INVAL;
    memcpy(r->check, in.ptr + size - HIGHWAY_BYTES, sizeof r->check);
    if (r->erased || r->tombstone)
        return 0;
    body = size - HEAD - subject - mark - HIGHWAY_BYTES;
    if (mark != 0)
        hdr = read_le(in.ptr + HEAD + subject, 4);
    if (hdr > body)
        return MF_CORRUPT;
    if (body > max_body)
        return MF_LIMIT;
    r->subject = mf_slice(in.ptr + HEAD, subject);
    r->hdr = mf_slice(in.ptr + HEAD + subject + mark, hdr);
    r->payload = mf_slice(r->hdr.ptr + hdr, body - hdr);
    return 0;
}

/* --- sets of sequences ---------------------------------------------------------------------- */

#define SET_HEAD 10u /* 22, version, u32 nodes, u32 members */

/* Takes one off the front of *s. */
static bool set_open(struct natsfile_set *x, struct mf_slice *s)
{
    uint64_t nodes, size;

    if (s->len < SET_HEAD || s->ptr[0] != 22 || (s->ptr[1] != 1 && s->ptr[1] != 2))
        return false;
    *x = (struct natsfile_set){.words = s->ptr[1] == 1 ? 64 : 32};
    nodes = read_le(s->ptr + 2, 4);
    size = (x->words + 1) * 8 + 2; /* base, words, u16 height */
    if (nodes > (s->len - SET_HEAD) / size)
        return false;
    x->left = mf_slice(s->ptr + SET_HEAD, (size_t)(nodes * size));
    skip_bytes(s, SET_HEAD + x->left.len);
    return true;
}

bool natsfile_set_next(struct natsfile_set *x, uint64_t *seq)
{
    while (x->bits == 0) {
        if (x->at > 0 && x->at == x->words) {
            skip_bytes(&x->left, 2);
            x->at = 0;
        }
        if (x->left.len == 0)
            return false;
        if (x->at == 0) {
            x->base = read_le(x->left.ptr, 8);
            skip_bytes(&x->left, 8);
        }
        x->bits = read_le(x->left.ptr, 8);
        skip_bytes(&x->left, 8);
        x->at++;
    }
    *seq = x->base + (x->at - 1) * 64 + (uint64_t)__builtin_ctzll(x->bits);
    x->bits &= x->bits - 1;
    return true;
}

bool natsfile_set_sound(const struct natsfile_set *x)
{
    size_t size = (x->words + 1) * 8 + 2;

    for (size_t at = 0; at + size <= x->left.len; at += size) {
        uint64_t any = 0;

        for (size_t i = 1; i <= x->words; i++)
            any |= read_le(x->left.ptr + at + 8 * i, 8);
        if (any == 0)
            return false;
    }
    return true;
}

/* --- the index ------------------------------------------------------------------------------ */

static bool skip_subjects(struct natsfile_index *x)
{
    uint64_t n, len, total, block;

    if (!natsfile_uvarint(&x->left, &n))
        return false;
    for (; n > 0; n--) {
        if (!natsfile_uvarint(&x->left, &len) || len > x->left.len)
            return false;
        if (len == 0)
            continue;
        skip_bytes(&x->left, (size_t)len);
        if (!natsfile_uvarint(&x->left, &total) || !natsfile_uvarint(&x->left, &block) ||
            ((total > 1 || x->version >= 4) && !natsfile_uvarint(&x->left, &block)))
            return false;
    }
    return true;
}

int natsfile_index_open(struct natsfile_index *x, struct mf_slice bytes, const char *stream)
{
    uint8_t key[HIGHWAY_KEY], sum[HIGHWAY_BYTES];
    struct highway h;
    int64_t first_ts;

    if (bytes.len < 2 + sizeof sum)
        return MF_CORRUPT;
    bytes.len -= sizeof sum;
    sha256(mf_str(stream), key);
    highway_init(&h, key);
    highway_add(&h, bytes);
    highway_end(&h, sum);
    if (memcmp(sum, bytes.ptr + bytes.len, sizeof sum) != 0 || bytes.ptr[0] != 11 ||
        bytes.ptr[1] < 1 || bytes.ptr[1] > 4)
        return MF_CORRUPT;
    *x = (struct natsfile_index){.version = bytes.ptr[1], .left = bytes};
    skip_bytes(&x->left, 2);
    return natsfile_uvarint(&x->left, &x->msgs) && natsfile_uvarint(&x->left, &x->bytes) &&
                   natsfile_uvarint(&x->left, &x->first_seq) && read_varint(&x->left, &first_ts) &&
                   natsfile_uvarint(&x->left, &x->last_seq) &&
                   read_varint(&x->left, &x->last_ts_ns) && skip_subjects(x) &&
                   natsfile_uvarint(&x->left, &x->blocks)
               ? 0
               : MF_CORRUPT;
}

int natsfile_index_next(struct natsfile_index *x, struct natsfile_block *b)
{
    uint64_t index, more;
    int64_t ts;

    *b = (struct natsfile_block){.index = 0};
    if (!natsfile_uvarint(&x->left, &index) || index > UINT32_MAX ||
        !natsfile_uvarint(&x->left, &b->bytes) || !natsfile_uvarint(&x->left, &b->first) ||
        !read_varint(&x->left, &ts) || !natsfile_uvarint(&x->left, &b->last) ||
        !read_varint(&x->left, &ts) || !natsfile_uvarint(&x->left, &b->ndeleted) ||
        (x->version >= 2 && !natsfile_uvarint(&x->left, &more)) ||
        (x->version >= 3 && !natsfile_uvarint(&x->left, &more)))
        return MF_CORRUPT;
    b->index = (uint32_t)index;
    x->blocks--;
    return b->ndeleted == 0 || set_open(&b->deleted, &x->left) ? 0 : MF_CORRUPT;
}

int natsfile_index_end(struct natsfile_index *x, uint32_t *block, uint8_t check[HIGHWAY_BYTES])
{
    uint64_t index;

    if (!natsfile_uvarint(&x->left, &index) || index > UINT32_MAX || x->left.len != HIGHWAY_BYTES)
        return MF_CORRUPT;
    *block = (uint32_t)index;
    memcpy(check, x->left.ptr, HIGHWAY_BYTES);
    return 0;
}

/* --- consumers ------------------------------------------------------------------------------ */

/* Are both lists there?  *s: from the timestamps' base on; n: entries of the first list. */
static bool count_entries(struct mf_slice s, uint8_t version, uint64_t n, uint64_t *again)
{
    uint64_t v;

    for (uint64_t i = n > 0 ? n * (version == 2 ? 3 : 2) + 1 : 0; i > 0; i--)
        if (!natsfile_uvarint(&s, &v))
            return false;
    return natsfile_uvarint(&s, again) && *again <= s.len / 2;
}

int natsfile_consumer_open(struct natsfile_consumer *x, struct mf_slice bytes)
{
    uint8_t version = bytes.len < 2 ? 0 : bytes.ptr[1];
    uint64_t n = 0;

    *x = (struct natsfile_consumer){.version = version};
    if (version < 1 || version > 2 || bytes.ptr[0] != 22)
        return MF_CORRUPT;
    skip_bytes(&bytes, 2);
    if (!natsfile_uvarint(&bytes, &x->floor_dseq) || !natsfile_uvarint(&bytes, &x->floor_sseq) ||
        !natsfile_uvarint(&bytes, &x->dseq) || !natsfile_uvarint(&bytes, &x->sseq))
        return MF_CORRUPT;
    if (version == 1) { /* the distance from the floor to the next one */
        x->dseq += x->floor_dseq > 1 ? x->floor_dseq - 1 : 0;
        x->sseq += x->floor_sseq > 1 ? x->floor_sseq - 1 : 0;
    }
    if (!natsfile_uvarint(&bytes, &n) || n > bytes.len / 2 ||
        !count_entries(bytes, version, n, &x->redelivered))
        return MF_CORRUPT;
    if (n > 0 && !read_varint(&bytes, &x->base))
        return MF_CORRUPT;
    x->pending = n;
    x->left = bytes;
    return 0;
}

/* Timestamps are seconds before (version 1: after) the base. */
int natsfile_consumer_pending(struct natsfile_consumer *x, uint64_t *sseq, uint64_t *dseq,
                              int64_t *sent_ns)
{
    int64_t ts;

    *dseq = 0;
    if (!natsfile_uvarint(&x->left, sseq) ||
        (x->version == 2 && !natsfile_uvarint(&x->left, dseq)) || !read_varint(&x->left, &ts))
        return MF_CORRUPT;
    *sseq += x->floor_sseq;
    *dseq += x->version == 2 ? x->floor_dseq : 0;
    if ((x->version == 1 ? __builtin_add_overflow(x->base, ts, &ts)
                         : __builtin_sub_overflow(x->base, ts, &ts)) ||
        __builtin_mul_overflow(ts, CLOCK_S, sent_ns))
        *sent_ns = 0;
    x->pending--;
    return 0;
}

int natsfile_consumer_again(struct natsfile_consumer *x, uint64_t *sseq, uint64_t *count)
{
    uint64_t n;

    if (!x->counted && !natsfile_uvarint(&x->left, &n))
        return MF_CORRUPT;
    x->counted = true;
    if (!natsfile_uvarint(&x->left, sseq) || !natsfile_uvarint(&x->left, count))
        return MF_CORRUPT;
    *sseq += x->floor_sseq;
    x->redelivered--;
    return 0;
}
