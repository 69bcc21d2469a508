/* fuzz_natsfile.c: the files of an old backup of nats-server.  The first byte chooses:
 *
 *     't'  a tar, cut in two at the second byte: the same files as in one piece
 *     'b'  a message block; 'c' the same, checks put right
 *     'i'  an index; 'j' the same, its check put right
 *     'o'  a consumer's state
 *     'd'  a consumer's document of a newer archive */
#include "backup/consumer_backup_impl.h"
#include "codec/natsfile.h"
#include "codec/tar.h"
#include "fuzz.h"

#include "base/buf.h"
#include "codec/sha256.h"

#define MAX_BODY 1000

/* Names and sizes of all files, one after the other. */
static int read_files(struct mf_slice all, size_t cut, struct mf_buf *out)
{
    struct tar_reader t = {.left = 0};
    struct mf_slice in = mf_slice(all.ptr, cut);
    int rc = 0;

    for (;;) {
        size_t n = tar_data(&t, in).len;

        tar_take(&t, &in, n);
        rc = t.left > 0 ? MF_AGAIN : tar_next(&t, &in);
        if (rc == 0) {
            mf_buf_printf(out, "%s %llu\n", t.name, (unsigned long long)t.left);
            continue;
        }
        if (rc != MF_AGAIN || t.ended || in.ptr + in.len == all.ptr + all.len)
            break;
        in = mf_slice(in.ptr, (size_t)(all.ptr + all.len - in.ptr));
    }
    return rc;
}

static void read_tar(struct mf_slice in)
{
    struct mf_buf one = MF_BUF_INIT, two = MF_BUF_INIT;
    size_t cut = in.len == 0 ? 0 : in.ptr[0] * in.len / 256;
    int rc = read_files(in, in.len, &one);

    FUZZ_CHECK(read_files(in, cut, &two) == rc);
    FUZZ_CHECK(mf_eq(mf_buf_slice(&one), mf_buf_slice(&two)));
    mf_buf_fini(&one);
    mf_buf_fini(&two);
}

static void put_right(uint8_t *p, size_t len, const uint8_t key[HIGHWAY_KEY])
{
    size_t size = len < 22 ? 0 : (size_t)p[0] | (size_t)p[1] << 8, subject, mark;
    struct highway h;

    if (size < 30 || size > len || p[2] != 0 || (p[3] & 0x7f) != 0)
        return;
    subject = (size_t)p[20] | (size_t)p[21] << 8;
    mark = (p[3] & 0x80) != 0 ? 4 : 0;
    if (22 + subject + mark + 8 > size)
        return;
    highway_init(&h, key);
    highway_add(&h, mf_slice(p + 4, 16));
    highway_add(&h, mf_slice(p + 22, subject));
    highway_add(&h, mf_slice(p + 22 + subject + mark, size - 8 - 22 - subject - mark));
    highway_end(&h, p + size - 8);
}

static void read_block(uint8_t *p, size_t len, bool right)
{
    uint8_t key[HIGHWAY_KEY];
    struct natsfile_record r;

    natsfile_block_key("S", 1, key);
    while (len > 0) {
        if (right)
            put_right(p, len, key);
        if (natsfile_record(mf_slice(p, len), key, MAX_BODY, &r) != 0)
            break;
        FUZZ_CHECK(r.size >= 30 && r.size <= len);
        FUZZ_CHECK(r.hdr.len + r.payload.len <= MAX_BODY);
        FUZZ_CHECK(r.subject.len + r.hdr.len + r.payload.len < r.size);
        p += r.size;
        len -= r.size;
    }
}

static void read_index(uint8_t *p, size_t len, bool right)
{
    uint8_t key[HIGHWAY_KEY], check[HIGHWAY_BYTES];
    struct natsfile_index x;
    struct natsfile_block b;
    uint64_t seq, n = 0;
    uint32_t block;

    if (right && len >= 8) {
        struct highway h;

        sha256(MF_LIT("S"), key);
        highway_init(&h, key);
        highway_add(&h, mf_slice(p, len - 8));
        highway_end(&h, p + len - 8);
    }
    if (natsfile_index_open(&x, mf_slice(p, len), "S") != 0)
        return;
    while (x.blocks > 0 && natsfile_index_next(&x, &b) == 0)
        while (natsfile_set_next(&b.deleted, &seq))
            n++;
    FUZZ_CHECK(n <= len * 8);
    (void)!natsfile_index_end(&x, &block, check);
}

static void read_consumer(struct mf_slice in)
{
    struct consumer_backup b = {.has_state = true};
    struct mf_error e;

    consumer_config_init(&b.config);
    b.config.ack_policy = ACK_EXPLICIT;
    if (consumer_backup_from_file(in, &b.state, &b.mem) == 0)
        (void)!consumer_backup_check(&b, &e);
    consumer_backup_fini(&b);
}

static void read_document(struct mf_slice in)
{
    struct consumer_backup b;
    struct mf_error e;

    if (consumer_backup_read(in, &b, &e) == 0 && consumer_backup_check(&b, &e) == 0)
        for (size_t i = 1; i < b.state.n && !b.state.at[i].given_up; i++)
            FUZZ_CHECK(b.state.at[i - 1].sseq <= b.state.at[i].sseq);
    consumer_backup_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy;

    if (size == 0)
        return 0;
    size--;
    copy = malloc(size + (size == 0)); /* of just that size, so that a byte too far is seen */
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, data + 1, size);
    switch (data[0]) {
    case 't':
        read_tar(mf_slice(copy, size));
        break;
    case 'b':
    case 'c':
        read_block(copy, size, data[0] == 'c');
        break;
    case 'i':
    case 'j':
        read_index(copy, size, data[0] == 'j');
        break;
    case 'o':
        read_consumer(mf_slice(copy, size));
        break;
    case 'd':
        read_document(mf_slice(copy, size));
        break;
    default:
        break;
    }
    free(copy);
    return 0;
}
