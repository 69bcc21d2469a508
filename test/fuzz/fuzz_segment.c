/* fuzz_segment.c: recovery of segments that hold anything.  The first byte chooses what the rest
 * is:
 *
 *     'r'  the bytes of the first segment, as they are
 *     'c'  the same, with the checks of everything that could be a record put right
 *     'p'  a program: records, seals, flipped bytes, lost segments (see step())
 *
 * Recovery must not fail, the index must be sound, and a second recovery must find the same. */
#include "fuzz.h"
#include "support/log_maker.h"
#include "support/recovery_text.h"

#include "codec/checksum.h"

struct input {
    const uint8_t *p, *end;
};

static uint8_t take(struct input *in)
{
    return in->p < in->end ? *in->p++ : 0;
}

/* A small number mostly; sometimes a very large one. */
static uint64_t take_number(struct input *in)
{
    uint8_t b = take(in);

    return b < 0xf0 ? b : UINT64_MAX >> (b & 15) * 4;
}

/* What looks like a record at `at` gets right checks, so that its fields are looked at. */
static size_t put_right(struct log_maker *m, uint64_t at)
{
    uint8_t *p = m->seg[1] + at;
    uint64_t seed = record_seed(record_key(m->id, 1), at);
    size_t room = MAKER_SIZE - at, length = get_u32(p + 4) & 0xfff, fixed = record_fixed(p[12]);

    if (fixed == 0 || length < fixed || record_pad(length) > room)
        return 8;
    put_u32(p + 4, (uint32_t)length);
    size_t size = record_pad(length);
    uint64_t data = checksum64(p + fixed, size - fixed, seed);
    if (p[12] == RECORD_MESSAGE || p[12] == RECORD_COPY)
        put_u64(p + 48, data);
    else if (p[12] == RECORD_SET || p[12] == RECORD_BLOB)
        put_u64(p + 24, data);
    put_u32(p + 8, m->chain);
    m->chain = (uint32_t)checksum64(p + 4, fixed - 4, seed);
    put_u32(p, m->chain);
    return size;
}

static void fill_bytes(struct log_maker *m, struct input *in, bool right)
{
    size_t n = (size_t)(in->end - in->p), room = MAKER_SIZE - SEGMENT_PAGE;

    memcpy(m->seg[1] + SEGMENT_PAGE, in->p, n < room ? n : room);
    for (uint64_t at = SEGMENT_PAGE; right && at + RECORD_COMMIT_SIZE <= MAKER_SIZE;)
        at += put_right(m, at);
}

static void add_record(struct log_maker *m, struct input *in, uint8_t type)
{
    static uint8_t bytes[256];
    struct record r = {.type = type, .last = take(in) & 1, .seq = take_number(in)};

    memset(bytes, 'b', sizeof bytes);
    r.seq_last = r.last_seq = take_number(in);
    r.deadline_ns = r.mark.time_ns = r.clock_ns = (int64_t)take_number(in);
    r.mark.seq = r.first_segment = r.group = take_number(in);
    r.key = mf_slice(bytes, take(in) % 16);
    r.body = mf_slice(bytes, take(in));
    r.synced = (struct record_pos){take(in) % (MAKER_SEGMENTS + 1), take(in) * 64u};
    r.set = bytes;
    r.count = type == RECORD_SET ? take(in) % 16 : 0;
    if (type == RECORD_COMMIT)
        r.last = false;
    if (type != RECORD_MESSAGE && type != RECORD_COPY && type != RECORD_BLOB)
        r.key = r.body = MF_SLICE_NONE;
    maker_add(m, &r);
}

static void step(struct log_maker *m, struct input *in)
{
    uint8_t op = take(in) % 16;

    if (maker_pos(m).offset + 1024 > MAKER_SIZE)
        op = 9;
    if (op >= RECORD_MESSAGE && op != RECORD_SEAL && op <= RECORD_BLOB) {
        add_record(m, in, op);
    } else if (op == 9) {
        if (m->number < MAKER_SEGMENTS)
            maker_seal(m);
        else
            in->p = in->end;
    } else if (op == 11) {
        maker_commit(m);
    } else if (op == 12) { /* a byte changes */
        uint8_t *seg = m->seg[1 + take(in) % m->number];
        seg[(take(in) << 8 | take(in)) % MAKER_SIZE] ^= take(in);
    } else if (op == 13) {
        m->chain ^= take(in);
    } else if (op == 14) { /* the rest of a segment is lost */
        uint8_t *seg = m->seg[1 + take(in) % m->number];
        size_t at = (take(in) << 8 | take(in)) % MAKER_SIZE;
        memset(seg + at, 0, MAKER_SIZE - at);
    } else {
        m->made[1 + take(in) % m->number] = op == 15;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    struct log_maker m;
    uint8_t mode = take(&in);

    maker_init(&m, 1);
    if (mode == 'p') {
        while (in.p < in.end)
            step(&m, &in);
    } else {
        fill_bytes(&m, &in, mode == 'c');
    }
    struct store_io *io = maker_files(&m);
    char *text = recover_text(io), *again = recover_text(io);
    if (strcmp(text, again) != 0)
        fprintf(stderr, "first:\n%ssecond:\n%s", text, again);
    FUZZ_CHECK(strcmp(text, again) == 0);
    free(text);
    free(again);
    io->leave(io);
    io->free(io);
    maker_fini(&m);
    return 0;
}
