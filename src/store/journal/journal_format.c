/* journal_format.c: the bytes of the commit journal: header page, entries and their parts. */
#include "store/journal/journal_format.h"

#include "codec/checksum.h"

#define MAGIC       "MAYFLYJN"
#define SECOND_COPY 2048u

enum { /* offsets inside a copy of the header */
       AT_VERSION = 8,
       AT_START = 12,
       AT_GENERATION = 16,
       AT_KEY = 24,
       AT_CHECK = 32,
};
enum { /* inside the head of an entry */
       ENTRY_CHECK = 0,
       ENTRY_TAG = 8,   /* the seed: a look-alike in a message is passed over without a check */
       ENTRY_HEAD = 16, /* length of this head with the heads of the parts */
       ENTRY_PARTS = 20,
       ENTRY_DATA = 24,
};
enum { /* inside the head of a part */
       PART_ID = 0,
       PART_SEGMENT = 16,
       PART_OFFSET = 24,
       PART_CHECK = 32, /* of its bytes */
       PART_LEN = 40,
       PART_PATH_LEN = 44,
       PART_PATH = 48,
};

/* --- header ----------------------------------------------------------------------------------- */

static void encode_copy(uint8_t *page, uint32_t at, const struct journal_head *h)
{
    uint8_t *p = page + at;

    memcpy(p, MAGIC, 8);
    put_u32(p + AT_VERSION, JOURNAL_VERSION);
    put_u32(p + AT_START, JOURNAL_PAGE);
    put_u64(p + AT_GENERATION, h->generation);
    put_u64(p + AT_KEY, h->key);
    put_u64(p + AT_CHECK, checksum64(p, AT_CHECK, at));
}

void journal_page_encode(uint8_t page[JOURNAL_PAGE], const struct journal_head *h)
{
    memset(page, 0, JOURNAL_PAGE);
    encode_copy(page, 0, h);
    encode_copy(page, SECOND_COPY, h);
}

static int check_copy(const uint8_t *page, uint32_t at, uint32_t *version)
{
    const uint8_t *p = page + at;

    if (memcmp(p, MAGIC, 8) != 0 || checksum64(p, AT_CHECK, at) != get_u64(p + AT_CHECK))
        return MF_CORRUPT;
    *version = get_u32(p + AT_VERSION);
    if (*version > JOURNAL_VERSION)
        return MF_UNSUPPORTED;
    return *version == JOURNAL_VERSION && get_u32(p + AT_START) == JOURNAL_PAGE ? 0 : MF_CORRUPT;
}

int journal_page_decode(const uint8_t page[JOURNAL_PAGE], struct journal_head *out,
                        uint32_t *version)
{
    const uint8_t *p = page;
    int one = check_copy(page, 0, version);
    size_t n = 0;

    if (one == MF_UNSUPPORTED)
        return one;
    if (one != 0) {
        int two = check_copy(page, SECOND_COPY, version);
        if (two == MF_UNSUPPORTED)
            return two;
        while (n < JOURNAL_PAGE && page[n] == 0)
            n++;
        if (two != 0)
            return n == JOURNAL_PAGE ? MF_NOTFOUND : MF_CORRUPT;
        p = page + SECOND_COPY;
    }
    *out = (struct journal_head){get_u64(p + AT_GENERATION), get_u64(p + AT_KEY)};
    return 0;
}

/* --- entries ---------------------------------------------------------------------------------- */

static void encode_part(uint8_t *head, uint8_t *data, const struct journal_part *p, uint64_t key,
                        uint64_t offset)
{
    size_t padded = record_pad(p->len);

    memcpy(data, p->bytes, p->len);
    memset(data + p->len, 0, padded - p->len);
    memset(head, 0, JOURNAL_PART + record_pad(p->path_len));
    memcpy(head + PART_ID, p->id, STORE_ID);
    put_u64(head + PART_SEGMENT, p->segment);
    put_u64(head + PART_OFFSET, p->offset);
    put_u64(head + PART_CHECK, checksum64(data, padded, record_seed(key, offset)));
    put_u32(head + PART_LEN, p->len);
    put_u16(head + PART_PATH_LEN, (uint16_t)p->path_len);
    memcpy(head + PART_PATH, p->path, p->path_len);
}

int journal_entry_encode(struct mf_buf *b, const struct journal_part *p, size_t n, uint64_t key,
                         uint64_t offset)
{
    size_t heads = JOURNAL_HEAD, data = 0, at = JOURNAL_HEAD;

    for (size_t i = 0; i < n; i++) {
        heads += JOURNAL_PART + record_pad(p[i].path_len);
        data += record_pad(p[i].len);
    }
    uint8_t *to = mf_buf_reserve(b, heads + data);
    if (mf_buf_failed(b))
        return MF_NOMEM;
    for (size_t i = 0, from = heads; i < n; i++) {
        encode_part(to + at, to + from, &p[i], key, offset + from);
        at += JOURNAL_PART + record_pad(p[i].path_len);
        from += record_pad(p[i].len);
    }
    put_u64(to + ENTRY_TAG, record_seed(key, offset));
    put_u32(to + ENTRY_HEAD, (uint32_t)heads);
    put_u32(to + ENTRY_PARTS, (uint32_t)n);
    put_u64(to + ENTRY_DATA, data);
    put_u64(to + ENTRY_CHECK, checksum64(to + 8, heads - 8, record_seed(key, offset)));
    b->len += heads + data;
    return 0;
}

/* The heads of the parts add up: the check confirms the bytes, and this the lengths in them. */
static bool parts_add_up(const uint8_t *p, uint32_t head, uint32_t parts, uint64_t data)
{
    uint64_t at = JOURNAL_HEAD, sum = 0;

    for (uint32_t i = 0; i < parts; i++) {
        if (at + JOURNAL_PART > head)
            return false;
        sum += record_pad(get_u32(p + at + PART_LEN));
        at += JOURNAL_PART + record_pad(get_u16(p + at + PART_PATH_LEN));
    }
    return at == head && sum == data;
}

bool journal_entry_read(const uint8_t *file, uint64_t size, uint64_t key, uint64_t offset,
                        struct journal_entry *out)
{
    uint64_t room = offset < size ? size - offset : 0;

    if (room < JOURNAL_HEAD)
        return false;
    const uint8_t *p = file + offset;
    if (get_u64(p + ENTRY_TAG) != record_seed(key, offset))
        return false;
    uint32_t head = get_u32(p + ENTRY_HEAD), parts = get_u32(p + ENTRY_PARTS);
    uint64_t data = get_u64(p + ENTRY_DATA);
    if (head < JOURNAL_HEAD + JOURNAL_PART || head > room || data > room - head || parts == 0 ||
        checksum64(p + 8, head - 8, record_seed(key, offset)) != get_u64(p + ENTRY_CHECK) ||
        !parts_add_up(p, head, parts, data))
        return false;
    *out = (struct journal_entry){offset, head + data, key, p, parts, p + JOURNAL_HEAD, p + head};
    return true;
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool all_zeros(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

bool journal_part_next(struct journal_entry *e, struct journal_part *out, enum journal_state *state)
{
    const uint8_t *h = e->next_part;

    if (e->parts == 0)
        return false;
    e->parts--;
    *out = (struct journal_part){.segment = get_u64(h + PART_SEGMENT),
                                 .offset = get_u64(h + PART_OFFSET),
                                 .len = get_u32(h + PART_LEN),
                                 .path = (const char *)h + PART_PATH,
                                 .path_len = get_u16(h + PART_PATH_LEN),
                                 .bytes = e->next_bytes};
    memcpy(out->id, h + PART_ID, STORE_ID);
    size_t padded = record_pad(out->len);
    uint64_t at = e->offset + (uint64_t)(out->bytes - e->start);
    if (checksum64(out->bytes, padded, record_seed(e->key, at)) == get_u64(h + PART_CHECK))
        *state = JOURNAL_GOOD;
    else
        *state = all_zeros(out->bytes, padded) ? JOURNAL_VOID : JOURNAL_BAD;
    e->next_part = h + JOURNAL_PART + record_pad(out->path_len);
    e->next_bytes += padded;
    return true;
}
