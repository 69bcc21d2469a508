/* fuzz_checkpoint.c: recovery with a checkpoint that holds anything, beside a small log.  The first
 * byte chooses: 'r' the file as it is; 'c' with the checks of head and blocks put right, so that
 * what they say is looked at; 'h' the same with a head that fits the log.
 *
 * Recovery must not fail, the index must be sound, and a checkpoint that was not used must not have
 * changed what is there. */
#include "fuzz.h"
#include "support/log_maker.h"
#include "support/recovery_text.h"

#include "codec/checksum.h"

#define FILE_MAX 65536

static void put_head_right(uint8_t *p, size_t n, const struct checkpoint_head *fits)
{
    struct checkpoint_head h = {.messages = get_u64(p + 56), .blobs = get_u64(p + 64)};

    if (fits != NULL) {
        uint64_t messages = h.messages, blobs = h.blobs;
        h = *fits;
        h.messages = messages;
        h.blobs = blobs;
        h.file_size = n;
        checkpoint_encode_head(p, &h);
        return;
    }
    put_u32(p + 8, 1);
    put_u32(p + 12, CHECKPOINT_HEADER);
    put_u32(p + 52, 0);
    put_u64(p + 112, n);
    put_u64(p + 120, checksum64(p, 120, 0));
}

static void put_blocks_right(uint8_t *p, size_t n)
{
    for (size_t at = CHECKPOINT_HEADER; n - at >= CHECKPOINT_BLOCK;) {
        uint32_t length = get_u32(p + at + 8);
        if (length < CHECKPOINT_BLOCK || length > n - at)
            return;
        put_u64(p + at, checksum64(p + at + 8, length - 8, at));
        at += length;
    }
}

static void small_log(struct log_maker *m, struct checkpoint_head *fits)
{
    maker_init(m, 1);
    maker_message(m, 1, "a.b", "x", 0);
    maker_message(m, 2, "a.c", "x", 100);
    maker_commit(m);
    *fits = (struct checkpoint_head){
        .start = maker_pos(m), .chain = m->chain, .last_seq = 2, .first_segment = 1};
    memcpy(fits->id, m->id, STORE_ID);
    maker_remove(m, 1);
    maker_deadline(m, 2, 200);
    maker_copy(m, 4, "a.d", "y", 0);
    maker_commit(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct checkpoint_head fits;
    struct log_maker m;
    struct recovery r;

    if (size < 1 || size > FILE_MAX)
        return 0;
    uint8_t mode = data[0];
    size_t n = size - 1;
    uint8_t *file = malloc(n > 0 ? n : 1);
    if (file == NULL)
        return 0;
    memcpy(file, data + 1, n);
    small_log(&m, &fits);
    if (mode != 'r' && n >= CHECKPOINT_HEADER) {
        put_head_right(file, n, mode == 'h' ? &fits : NULL);
        put_blocks_right(file, n);
    }
    if (n >= CHECKPOINT_HEADER &&
        checkpoint_decode_head(file, &(struct checkpoint_head){0}) == MF_UNSUPPORTED)
        file[8] ^= 0xff; /* refused, rightly: damage it */
    struct store_io *io = maker_files(&m);
    char *want = recover_text(io);
    maker_write(io, CHECKPOINT_NAME, file, n);
    recover_ok(&r, io);
    char *text = recovery_text(&r);
    /* A good head is believed even if what follows is damaged: it may know of later sequences. */
    if (n < CHECKPOINT_HEADER || checkpoint_decode_head(file, &fits) != 0)
        FUZZ_CHECK(strcmp(text, want) == 0);
    FUZZ_CHECK(r.from_checkpoint || r.checkpoint_bytes == 0);
    free(text);
    free(want);
    recovery_fini(&r);
    free(file);
    io->leave(io);
    io->free(io);
    maker_fini(&m);
    return 0;
}
