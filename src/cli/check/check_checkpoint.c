/* check_checkpoint.c: reads a checkpoint.  docs/disk-format.md, "Checkpoint". */
#include "cli/check/check_impl.h"

#include "codec/checksum.h"

#include <inttypes.h>
#include <stdlib.h>

#define CP_HEADER   128u
#define BLOCK_HEAD  24u
#define BLOCK_LIMIT (1u << 20) /* unless one entry is larger */
#define ENTRY       22u        /* bytes of a message, without bits and key */

/* The first reason stays. */
void check_cp_bad(struct cp *cp, uint64_t offset, uint64_t length, const char *why)
{
    cp->usable = false;
    if (cp->why != NULL)
        return;
    cp->why = why;
    cp->why_offset = offset;
    cp->why_length = length;
}

/* --- header ----------------------------------------------------------------------------------- */

static void take_header(struct cp *cp, const uint8_t *p)
{
    memcpy(cp->id, p + 16, 16);
    cp->pos = (struct check_pos){rd64(p + 32), rd64(p + 40)};
    cp->chain = rd32(p + 48);
    cp->messages = rd64(p + 56);
    cp->blobs = rd64(p + 64);
    cp->last_seq = rd64(p + 72);
    cp->mark_t = (int64_t)rd64(p + 80);
    cp->mark_s = rd64(p + 88);
    cp->clock = (int64_t)rd64(p + 96);
    cp->first = rd64(p + 104);
    cp->size = rd64(p + 112);
    cp->bits = rd32(p + 8) >= 2;
    cp->cipher = (uint8_t)rd32(p + 52);
    cp->header_ok = cp->usable = true;
}

int check_cp_open(struct ctx *c, struct cp *cp, struct mf_error *e)
{
    uint8_t p[CP_HEADER];
    uint64_t actual = 0;
    size_t got = 0;
    int rc;

    *cp = (struct cp){.usable = false};
    if (!c->has_checkpoint)
        return 0;
    rc = c->src->size(c->src->arg, CHECKPOINT_NAME, &actual, e);
    if (rc == 0)
        rc = c->src->pread(c->src->arg, CHECKPOINT_NAME, p, sizeof p, 0, &got, e);
    if (rc != 0)
        return mf_wrap(e, CHECKPOINT_NAME);
    c->total += actual;
    if (got < sizeof p || memcmp(p, "MAYFLYCP", 8) != 0 ||
        checksum64(p, CP_HEADER - 8, 0) != rd64(p + CP_HEADER - 8)) {
        check_cp_bad(cp, 0, got < sizeof p ? got : sizeof p, "the header is not valid");
        return 0;
    }
    if (rd32(p + 8) > CP_VERSION)
        return mf_fail(e, MF_UNSUPPORTED,
                       CHECKPOINT_NAME ": format version %" PRIu32 ", this tool knows %u: use the "
                                       "mayfly that came with the server",
                       rd32(p + 8), CP_VERSION);
    if (rd32(p + 8) == 0 || rd32(p + 12) != CP_HEADER ||
        (rd32(p + 8) < 3 ? rd32(p + 52) != SEAL_NONE : !seal_known(rd32(p + 52))) ||
        rd64(p + 32) == 0 || rd64(p + 40) < HEADER_PAGE || rd64(p + 40) % 8 != 0) {
        check_cp_bad(cp, 0, CP_HEADER, "the header says what it must not");
        return 0;
    }
    take_header(cp, p);
    if (cp->size != actual)
        check_cp_bad(cp, actual < cp->size ? actual : cp->size,
                     actual < cp->size ? cp->size - actual : actual - cp->size,
                     "the file does not have the size its header says");
    return 0;
}

/* --- blocks ----------------------------------------------------------------------------------- */

struct loader {
    struct ctx *c;
    struct cp *cp;
    struct model *m;
    uint8_t *buf;
    size_t cap;
    uint64_t messages, blobs, last; /* last: the sequence before */
    bool in_blobs;
    bool too_long; /* of one entry: then its block may be */
};

/* The index of the segment a place names, by the low 18 bits of its number. */
static uint32_t segment_of(const struct loader *l, uint64_t place)
{
    uint64_t first = l->c->res->first_segment;
    uint64_t number = first + (((place >> 46) - first) & 0x3ffff);
    size_t i = check_seg_at_or_after(l->c, number);

    return i < l->c->segs && l->c->seg[i].number == number ? (uint32_t)i : NO_SEGMENT;
}

/* The bits of an entry whose 22 bytes are there: where its key starts; 0: it is not in order. */
static uint64_t entry_bits(const struct loader *l, const uint8_t *p, uint64_t room, uint16_t *bits)
{
    *bits = 0;
    if (rd64(p + 12) >> 63 == 0)
        return ENTRY;
    if (!l->cp->bits || room <= ENTRY)
        return 0;
    *bits = p[ENTRY];
    bool wrong = *bits == 0 || (*bits & ~MSG_BITS) != 0 ||
                 ((*bits & MSG_INFINITE) != 0 && (rd64(p + 12) & INT64_MAX) != 0);
    return wrong ? 0 : ENTRY + 1;
}

/* One message entry at p.  Its length, 0 when it is not in order, negative out of memory. */
static int64_t load_message(struct loader *l, const uint8_t *p, uint64_t room, uint64_t base,
                            bool first)
{
    uint64_t seq, place, length, fixed;
    struct entry en;
    uint16_t bits;

    if (room < ENTRY || (fixed = entry_bits(l, p, room, &bits)) == 0 ||
        room < fixed + (uint64_t)rd16(p + 20))
        return 0;
    length = fixed + (uint64_t)rd16(p + 20);
    seq = (first ? base : l->last) + rd32(p);
    if (seq <= l->last || (!first && rd32(p) == 0))
        return 0;
    place = rd64(p + 4);
    en = (struct entry){
        .deadline = (int64_t)(rd64(p + 12) & INT64_MAX),
        .key_hash = checksum64(p + fixed, rd16(p + 20), 0),
        .segment = segment_of(l, place),
        .off8 = (uint32_t)(place >> 22 & 0xffffff),
        .length = (uint32_t)(place >> 2 & 0xfffff),
        .key_len = rd16(p + 20),
        .flags = (uint16_t)((place & 3) | bits),
    };
    l->last = seq;
    l->messages++;
    return check_model_put(l->m, seq, &en) != 0 ? MF_NOMEM : (int64_t)length;
}

static int64_t load_blob(struct loader *l, const uint8_t *p, uint64_t room)
{
    uint64_t name, body;

    if (room < 6)
        return 0;
    name = rd16(p);
    body = rd32(p + 2);
    if (room < 6 + name + body ||
        check_model_find_blob(l->m, mf_slice(p + 6, (size_t)name)) != NULL) /* twice */
        return 0;
    l->blobs++;
    if (check_model_blob(l->m, mf_slice(p + 6, (size_t)name), mf_slice(p + 6 + name, (size_t)body),
                         false, &(struct blob){.segment = NO_SEGMENT}) != 0)
        return MF_NOMEM;
    return (int64_t)(6 + name + body);
}

/* The entries of a block whose check is right.  1: in order, 0: not, negative: out of memory. */
static int load_entries(struct loader *l, const uint8_t *p, uint64_t length)
{
    uint64_t base = rd64(p + 16), at = BLOCK_HEAD;
    uint32_t count = rd32(p + 12);

    if (base == 0)
        l->in_blobs = true;
    else if (l->in_blobs)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t n = base == 0 ? load_blob(l, p + at, length - at)
                              : load_message(l, p + at, length - at, base, i == 0);

        if (n <= 0)
            return n < 0 ? MF_NOMEM : 0;
        if (n > (int64_t)(BLOCK_LIMIT - BLOCK_HEAD))
            l->too_long = true;
        at += (uint64_t)n;
    }
    return at == length ? 1 : 0;
}

/* The block at *at.  Where it is not in order the checkpoint is no longer usable. */
static int load_block(struct loader *l, uint64_t *at, struct mf_error *e)
{
    const struct check_source *src = l->c->src;
    uint64_t left = l->cp->size - *at, length, whole;
    uint8_t head[BLOCK_HEAD];
    size_t got = 0;
    int rc;

    if (src->pread(src->arg, CHECKPOINT_NAME, head, sizeof head, *at, &got, e) != 0)
        return e->code;
    length = got == sizeof head ? rd32(head + 8) : 0;
    if (length < BLOCK_HEAD || length > left) {
        check_cp_bad(l->cp, *at, left, "the length of a block is not possible");
        return 0;
    }
    if (length > l->cap) {
        free(l->buf);
        l->cap = 0;
        l->buf = malloc((size_t)length);
        if (l->buf == NULL)
            return mf_fail(e, MF_NOMEM, "a block of %" PRIu64 " bytes", length);
        l->cap = (size_t)length;
    }
    if (src->pread(src->arg, CHECKPOINT_NAME, l->buf, (size_t)length, *at, &got, e) != 0)
        return e->code;
    check_progress(l->c, got);
    if (got < length || checksum64(l->buf + 8, (size_t)length - 8, *at) != rd64(head)) {
        check_cp_bad(l->cp, *at, length, "the check of a block does not match");
        return 0;
    }
    l->too_long = false;
    whole = length;
    switch (check_cp_open_block(l->c, (enum seal_cipher)l->cp->cipher, l->buf, &length, *at)) {
    case CHECK_UNREAD:
        l->cp->unread = true;
        *at += whole;
        return 0;
    case CHECK_UNOPENED:
        check_cp_bad(l->cp, *at, whole, "a block does not open with the key");
        return 0;
    case CHECK_OPEN_NOMEM:
        rc = -1;
        break;
    default:
        rc = load_entries(l, l->buf, length);
    }
    if (rc < 0)
        return mf_fail(e, MF_NOMEM, "load the checkpoint");
    if (rc == 0)
        check_cp_bad(l->cp, *at, length, "the entries of a block are not in order");
    else if (length > BLOCK_LIMIT && !l->too_long)
        check_cp_bad(l->cp, *at, length, "a block is larger than 1 MiB for no reason");
    *at += whole;
    return 0;
}

int check_cp_load(struct ctx *c, struct cp *cp, struct model *m, struct mf_error *e)
{
    struct loader l = {.c = c, .cp = cp, .m = m};
    uint64_t at = CP_HEADER;
    int rc = 0;

    while (cp->usable && at < cp->size && rc == 0)
        rc = load_block(&l, &at, e);
    free(l.buf);
    if (rc == 0 && cp->usable && !cp->unread &&
        (l.messages != cp->messages || l.blobs != cp->blobs))
        check_cp_bad(cp, 56, 16, "it does not hold as many messages and blobs as its header says");
    check_model_saw(m, cp->last_seq);
    return rc == 0 ? 0 : mf_wrap(e, CHECKPOINT_NAME);
}
