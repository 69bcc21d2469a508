/* journal_format.h: the bytes of the commit journal (docs/disk-format.md).  No I/O.  A header of
 * a part: see journal_impl.h. */
#ifndef STORE_JOURNAL_FORMAT_H
#define STORE_JOURNAL_FORMAT_H

#include "store/log/record.h"

#include "base/buf.h"

#define JOURNAL_VERSION 1u
#define JOURNAL_PAGE    4096u /* the header page; entries start here */
#define JOURNAL_FILES   2
#define JOURNAL_HEAD    32u /* of an entry, before the heads of its parts */
#define JOURNAL_PART    48u /* of a part, before its path */

/* Header page: two copies, so that one damaged sector loses nothing. */
struct journal_head {
    uint64_t generation, key; /* key: random, new with each generation */
};
void journal_page_encode(uint8_t page[JOURNAL_PAGE], const struct journal_head *h);
/* 0, MF_NOTFOUND (only zeros: the file is empty), MF_CORRUPT, MF_UNSUPPORTED (*version). */
MF_MUSTCHECK int journal_page_decode(const uint8_t page[JOURNAL_PAGE], struct journal_head *out,
                                     uint32_t *version);

/* The bytes of one commit group that lie in one segment. */
struct journal_part {
    uint8_t id[STORE_ID];
    uint64_t segment, offset;
    uint32_t len;
    const char *path; /* of the store's folder, below that of the server */
    size_t path_len;
    const uint8_t *bytes;
};
static inline size_t journal_part_size(size_t path_len, size_t len)
{
    return JOURNAL_PART + record_pad(path_len) + record_pad(len);
}
/* Writes an entry of these parts at the end of b; it will lie at `offset` of the file.  MF_NOMEM.
 */
MF_MUSTCHECK int journal_entry_encode(struct mf_buf *b, const struct journal_part *p, size_t n,
                                      uint64_t key, uint64_t offset);

/* An entry with a good head. */
struct journal_entry {
    uint64_t offset, size; /* of the whole entry */
    uint64_t key;
    const uint8_t *start;
    uint32_t parts; /* left for journal_part_next() */
    const uint8_t *next_part, *next_bytes;
};
/* The entry at `offset` of the file's bytes; false: no good head. */
bool journal_entry_read(const uint8_t *file, uint64_t size, uint64_t key, uint64_t offset,
                        struct journal_entry *out);
enum journal_state {
    JOURNAL_GOOD,
    JOURNAL_VOID, /* wiped: nothing of it counts */
    JOURNAL_BAD,  /* damaged, or never written whole */
};
/* The next part; false: it was the last. */
bool journal_part_next(struct journal_entry *e, struct journal_part *out,
                       enum journal_state *state);

#endif
