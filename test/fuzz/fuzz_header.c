/* fuzz_header.c: a header block as any publisher may send it.  First byte: which name, second: how
 * many of the following bytes are a value to set; the rest is the block. */
#include "fuzz.h"
#include "proto/header.h"

static const char *const names[] = {"A", "Nats-TTL", "Nats-Msg-Id", "a", "Nats-Expected-Stream"};

static size_t walk(struct mf_slice block)
{
    struct mf_slice name, value;
    size_t pos = 0, last = 0, n = 0;

    while (header_next(block, &pos, &name, &value)) {
        FUZZ_CHECK(pos > last && pos <= block.len);
        FUZZ_CHECK(name.len > 0 && name.ptr >= block.ptr);
        FUZZ_CHECK(value.ptr + value.len + 2 == block.ptr + pos);
        last = pos;
        n++;
    }
    return n;
}

/* The value as it must come back: line breaks became blanks, blanks in front are skipped. */
static void check_value(struct mf_slice got, struct mf_slice want)
{
    while (want.len > 0 && (want.ptr[0] == ' ' || want.ptr[0] == '\r' || want.ptr[0] == '\n')) {
        want.ptr++;
        want.len--;
    }
    FUZZ_CHECK(got.len == want.len);
    for (size_t i = 0; i < got.len; i++) {
        bool brk = want.ptr[i] == '\r' || want.ptr[i] == '\n';

        FUZZ_CHECK(got.ptr[i] == (brk ? ' ' : want.ptr[i]));
    }
}

static void check_set(struct mf_slice block, const char *name, struct mf_slice value)
{
    struct mf_buf once = MF_BUF_INIT, twice = MF_BUF_INIT;
    struct mf_slice got;

    header_set(&once, block, name, value);
    FUZZ_CHECK(header_get(mf_buf_slice(&once), name, &got));
    check_value(got, value);
    if (block.len == 0 || header_valid(block))
        FUZZ_CHECK(header_valid(mf_buf_slice(&once)));
    header_set(&twice, mf_buf_slice(&once), name, value);
    FUZZ_CHECK(mf_eq(mf_buf_slice(&once), mf_buf_slice(&twice)));
    mf_buf_fini(&once);
    mf_buf_fini(&twice);
}

static void check_remove(struct mf_slice block, const char *name)
{
    struct mf_buf out = MF_BUF_INIT;
    struct mf_slice got;

    header_remove(&out, block, name);
    FUZZ_CHECK(!header_get(mf_buf_slice(&out), name, &got));
    FUZZ_CHECK(out.len <= block.len);
    if (header_valid(block))
        FUZZ_CHECK(out.len == 0 || header_valid(mf_buf_slice(&out)));
    mf_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mf_slice value, block, got;
    const char *name;

    if (size < 2)
        return 0;
    name = names[data[0] % MF_COUNT(names)];
    value = mf_slice(data + 2, data[1] % 32 < size - 2 ? data[1] % 32 : size - 2);
    block = mf_slice(value.ptr + value.len, size - 2 - value.len);
    if (header_get(block, name, &got))
        FUZZ_CHECK(got.ptr >= block.ptr && got.ptr + got.len <= block.ptr + block.len);
    (void)walk(block);
    check_set(block, name, value);
    check_remove(block, name);
    return 0;
}
