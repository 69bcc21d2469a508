/* record.h: the records of the log (docs/disk-format.md): encoding, checking, reading.  No I/O. */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "base/base.h"

#define SEGMENT_PAGE   4096u /* the header page; records start here */
#define SEGMENT_HEADER 64u
#define SEGMENT_MAX    (128u << 20) /* place has 24 bits for offset / 8 */
#define STORE_ID       16
#define RECORD_START   16 /* the part common to all types */
#define RECORD_SET_MAX 65536u

enum record_type {
    RECORD_MESSAGE = 1,
    RECORD_COPY = 2,
    RECORD_REMOVE = 3,
    RECORD_RANGE = 4,
    RECORD_SET = 5,
    RECORD_DEADLINE = 6,
    RECORD_MARK = 7,
    RECORD_COMMIT = 8,
    RECORD_SEAL = 9,
    RECORD_BLOB = 10,
    RECORD_ERASE = 11, /* a removal, after which the data of the message is overwritten */
};
#define RECORD_LAST 1u /* bits: the last of its batch */
/* Flags of a message, a copy and a re-deadline that the store itself understands. */
#define RECORD_INFINITE 8u  /* no deadline on purpose */
#define RECORD_PINNED   16u /* its deadline was set by request */
#define RECORD_BITS     (RECORD_INFINITE | RECORD_PINNED)

struct seal; /* codec/seal.h */

struct record_pos { /* a place in the log; ordered by segment, then offset */
    uint64_t segment, offset;
};
static inline int record_pos_cmp(struct record_pos a, struct record_pos b)
{
    if (a.segment != b.segment)
        return a.segment < b.segment ? -1 : 1;
    return a.offset < b.offset ? -1 : a.offset > b.offset;
}

/* Time mark: every message up to this (deadline, sequence) has expired. */
struct record_mark {
    int64_t time_ns;
    uint64_t seq;
};
static inline bool record_mark_covers(struct record_mark m, int64_t deadline_ns, uint64_t seq)
{
    return deadline_ns != 0 &&
           (deadline_ns < m.time_ns || (deadline_ns == m.time_ns && seq <= m.seq));
}

/* A record, decoded; slices point into the source.  Only fields of its type are set. */
struct record {
    uint8_t type;
    bool last;
    uint16_t flags;
    uint32_t check, chain;
    uint32_t size; /* with padding: the next record starts here */
    uint64_t seq;  /* message, copy, removal, deadline, erase; first of a range */
    uint64_t seq_last;
    int64_t ts_ns, deadline_ns;
    struct mf_slice key, head, body; /* a blob's name is its key */
    uint8_t cipher;                  /* of message, copy and blob: if not 0, these slices lie in */
    const uint8_t *box; /* (seal.h), sealed until record_open().  Encoded: NULL: yet to be sealed */
    bool deleted;       /* blob */
    const uint8_t *set; /* count x u64, unaligned: record_set_at() */
    uint32_t count;
    struct record_mark mark; /* mark, commit */
    uint64_t group, first_segment, last_seq, next_segment;
    struct record_pos synced;
    struct record_pos victim; /* erase: where the message lies */
    int64_t clock_ns;
};

/* Seed of the checks of one segment. */
uint64_t record_key(const uint8_t id[STORE_ID], uint64_t segment);
static inline uint64_t record_seed(uint64_t key, uint64_t offset)
{
    return key + offset * 0x9E3779B97F4A7C15u;
}

/* Bytes of such a record with its padding. */
static inline size_t record_pad(size_t n)
{
    return (n + 7) & ~(size_t)7;
}
size_t record_fixed(uint8_t type); /* 0: no such type */
size_t record_message_size(size_t key, size_t head, size_t body);
size_t record_blob_size(size_t name, size_t body);
#define RECORD_REMOVE_SIZE   24u
#define RECORD_RANGE_SIZE    32u
#define RECORD_DEADLINE_SIZE 32u
#define RECORD_MARK_SIZE     32u
#define RECORD_COMMIT_SIZE   80u
#define RECORD_SEAL_SIZE     24u
#define RECORD_ERASE_SIZE    40u
static inline size_t record_set_size(size_t count)
{
    return 32 + 8 * count;
}

/* Writes r at dst, which has room for its size, zero padding included, except check, chain and
 * data check: record_finish(), on the worker, fills these in, and seals what has a cipher and no
 * box.  Such a record has SEAL_ROOM more than its size; of one with a box, the box is copied.
 * Returns the size.  A message's and a blob's slices are copied; a set's sequences are read from
 * `set` (may be unaligned). */
size_t record_encode(uint8_t *dst, const struct record *r);
/* Seals the records that are to be, and fills in data check, chain and check of every record in
 * [p, p+n), which lies at `offset` of the segment with this key; *chain is the check of the record
 * before and then of the last one.  seal: NULL if none is to be sealed. */
void record_finish(uint8_t *p, size_t n, uint64_t key, uint64_t offset, uint32_t *chain,
                   struct seal *seal);
/* Sets the last-of-batch bit of a record not finished yet. */
void record_set_last(uint8_t *p);

/* Reads the record at p, of which n bytes are available (up to the segment's end).  True if and
 * only if it is valid: *out is set.  The chain is not checked.  Reads nothing past n. */
bool record_read(const uint8_t *p, size_t n, uint64_t key, uint64_t offset, struct record *out);
/* A message, a copy or a blob that is in no box: none is in a segment of SEGMENT_CRYPT. */
bool record_is_bare(const struct record *r);
/* Tests only the type, which may be any byte. */
bool record_holds_message(const uint8_t *p);
/* Only the fixed part is checked (no data check): *out, or false.  For skipping bodies. */
bool record_read_head(const uint8_t *p, size_t n, uint64_t key, uint64_t offset,
                      struct record *out);
/* True if the data of a record with a valid head matches its check. */
bool record_read_data(const uint8_t *p, uint64_t key, uint64_t offset, const struct record *r);
uint64_t record_set_at(const struct record *r, uint32_t i);
/* Opens the box of a record that was read, if it has one: the slices then lie in dst, which has
 * room for record_len().  False: it does not open with this key (seal NULL: with none). */
MF_MUSTCHECK bool record_open(struct record *r, struct seal *seal, uint8_t *dst);
static inline size_t record_len(const struct record *r)
{
    return r->key.len + r->head.len + r->body.len;
}

#define SEGMENT_VERSION 4u /* the newest supported version */
#define SEGMENT_PLAIN   2u /* version of new segments; an older one holds no erase record */
#define SEGMENT_BITS    3u /* from here on a re-deadline may have flags */
#define SEGMENT_CRYPT   4u /* all messages, copies and blobs in it are sealed; older: none is */
/* Segment header, the whole page: both copies. */
void segment_page_encode(uint8_t page[SEGMENT_PAGE], uint32_t version, const uint8_t id[STORE_ID],
                         uint64_t number, uint64_t size, int64_t now_ns);
struct segment_head {
    uint8_t id[STORE_ID];
    uint64_t number, size;
    int64_t created_ns;
    bool damaged;        /* one of the two copies is, */
    uint32_t damaged_at; /* this one */
    uint32_t version;
};
/* 0, MF_CORRUPT (neither copy is good), MF_UNSUPPORTED (a greater version). */
MF_MUSTCHECK int segment_page_decode(const uint8_t page[SEGMENT_PAGE], struct segment_head *out);

/* Little endian, unaligned. */
static inline void put_u16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}
static inline void put_u32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}
static inline void put_u64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}
static inline uint16_t get_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t get_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the store's files are little endian; add byte swaps to put_* and get_*"
#endif

#endif
