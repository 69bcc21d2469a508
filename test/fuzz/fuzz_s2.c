/* fuzz_s2.c: first byte 0: a framed stream, cut in two at the second byte; 2: the same with chunks
 * of 4 KiB at most; 1: a block; else: bytes to compress, as a block and as frames, which must come
 * back. */
#include "fuzz.h"
#include "codec/s2.h"

static void read_stream(struct mf_slice in, size_t cut, size_t most)
{
    struct mf_buf out = MF_BUF_INIT;
    struct s2_reader r;
    int rc, rounds = 0;

    cut = cut < in.len ? cut : in.len;
    s2_reader_init(&r);
    r.chunk_max = most;
    rc = s2_reader_feed(&r, mf_slice(in.ptr, cut), &out);
    if (rc == 0)
        rc = s2_reader_feed(&r, mf_slice(in.ptr + cut, in.len - cut), &out);
    while (rc == 0 && s2_reader_more(&r) && rounds++ < 8) {
        mf_buf_clear(&out);
        rc = s2_reader_feed(&r, MF_SLICE_NONE, &out);
        FUZZ_CHECK(out.len <= S2_READ_MAX + (most == 0 ? S2_CHUNK_MAX : most));
    }
    FUZZ_CHECK(rc != 0 || most == 0 || r.in.len - r.done <= in.len);
    s2_reader_fini(&r);
    mf_buf_fini(&out);
}

static void read_block(struct mf_slice in)
{
    uint8_t *out;
    size_t n;

    if (s2_length(in, &n) != 0 || n > (1u << 20))
        return;
    out = malloc(n + 1);
    FUZZ_CHECK(out != NULL);
    (void)!s2_uncompress(out, n, in);
    free(out);
}

static void round_trip(struct mf_slice in)
{
    struct mf_buf frames = MF_BUF_INIT, back = MF_BUF_INIT;
    uint8_t *block = malloc(s2_bound(in.len)), *out = malloc(in.len + 1);
    struct s2_reader r;
    size_t n, m;

    FUZZ_CHECK(block != NULL && out != NULL);
    m = s2_compress(block, in);
    FUZZ_CHECK(m <= s2_bound(in.len));
    FUZZ_CHECK(s2_length(mf_slice(block, m), &n) == 0 && n == in.len);
    FUZZ_CHECK(s2_uncompress(out, n, mf_slice(block, m)) == 0);
    FUZZ_CHECK(mf_eq(in, mf_slice(out, n)));
    s2_frame_begin(&frames);
    s2_frame_add(&frames, mf_slice(in.ptr, in.len / 2));
    s2_frame_begin(&frames);
    s2_frame_add_plain(&frames, mf_slice(in.ptr + in.len / 2, in.len - in.len / 2));
    s2_reader_init(&r);
    FUZZ_CHECK(s2_reader_feed(&r, mf_buf_slice(&frames), &back) == 0);
    FUZZ_CHECK(s2_reader_clean(&r) && mf_eq(in, mf_buf_slice(&back)));
    s2_reader_fini(&r);
    mf_buf_fini(&frames);
    mf_buf_fini(&back);
    free(block);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (data[0] == 0 || data[0] == 2)
        read_stream(mf_slice(data + 2, size - 2), data[1], data[0] == 2 ? 4096 : 0);
    else if (data[0] == 1)
        read_block(mf_slice(data + 1, size - 1));
    else if (size <= (1u << 20))
        round_trip(mf_slice(data + 1, size - 1));
    return 0;
}
