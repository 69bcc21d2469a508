/* test_store_checkpoint.c: the checkpoint's bytes, and recovery from checkpoint and tail: the same
 * answers as from the log alone, whatever the checkpoint is worth. */
#include "support/log_maker.h"
#include "support/recovery_text.h"

#include "codec/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

static struct log_maker m;
static struct checkpoint_head head; /* of the position noted last */

void setUp(void)
{
    maker_init(&m, 1);
}
void tearDown(void)
{
    maker_fini(&m);
}

static void files_free(struct store_io *io)
{
    io->leave(io);
    io->free(io);
}

/* The log stands here now: the checkpoint's position. */
static void note_position(void)
{
    head = (struct checkpoint_head){.start = maker_pos(&m),
                                    .chain = m.chain,
                                    .last_seq = m.last_seq,
                                    .first_segment = m.first_segment,
                                    .mark = m.mark,
                                    .clock_ns = 1};
    memcpy(head.id, m.id, STORE_ID);
}

/* Writes the checkpoint with the state that the log has now: as fuzzy as can be, if the position
 * was noted before. */
static void checkpoint_now(struct store_io *io, const struct log_maker *log)
{
    struct store_io *now = maker_files(log);
    struct recovery r;
    struct mf_slice name = MF_SLICE_NONE, bytes = MF_SLICE_NONE;

    recover_ok(&r, now);
    if (r.blobs > 0) {
        name = mf_slice(r.blob[0].name, r.blob[0].name_len);
        bytes = mf_slice(r.blob[0].bytes, r.blob[0].bytes_len);
    }
    maker_checkpoint(io, &head, r.index, name, bytes);
    recovery_fini(&r);
    files_free(now);
}

/* --- the bytes -------------------------------------------------------------------------------- */

static int no_blob(void *arg, struct mf_slice name, struct mf_slice bytes)
{
    struct mf_buf *b = arg;

    mf_buf_printf(b, "%.*s=%.*s;", MF_FMT(name), MF_FMT(bytes));
    return 0;
}

static int load(struct store_io *io, struct index **ix, struct checkpoint_head *h,
                struct mf_buf *blobs, uint64_t *bad)
{
    struct mf_error e;

    *ix = index_new('.', 0);
    TEST_ASSERT_EQUAL(0, index_load_begin(*ix));
    int rc = checkpoint_load(io, NULL, *ix, h, no_blob, blobs, bad, &e);
    if (rc == 0)
        TEST_ASSERT_EQUAL(0, index_load_end(*ix, &(struct record_mark){0, 0}, NULL, NULL));
    return rc;
}

/* Deltas beyond 32 bits, empty and longest keys, removing entries, several blocks, blobs. */
static void test_an_index_goes_to_bytes_and_back(void)
{
    static const uint64_t seq[] = {1, 2, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1,
                                   UINT64_MAX - 1};
    static char longest[KEYS_MAX];
    struct index *ix = index_new('.', 0), *back;
    struct checkpoint_head h = {.start = {7, 4096}, .chain = 5, .last_seq = 99, .clock_ns = -4}, g;
    struct mf_buf blobs = MF_BUF_INIT;
    struct log_maker none = {0};
    struct store_io *io = maker_files(&none);
    uint64_t bad;
    uint32_t id;

    memset(longest, 'k', sizeof longest);
    for (unsigned i = 0; i < MF_COUNT(seq); i++) {
        struct mf_slice key = i == 1   ? mf_slice(longest, sizeof longest)
                              : i == 2 ? MF_SLICE_NONE
                                       : MF_LIT("a.b");
        TEST_ASSERT_EQUAL(0, index_add(ix, seq[i], key, place_make(i, 4096, i, 1),
                                       i == 3 ? 0 : (int64_t)i * 100, &id));
    }
    index_set_removing(ix, index_find(ix, 1));
    maker_checkpoint(io, &h, ix, MF_LIT("conf"), MF_LIT("{}"));
    TEST_ASSERT_EQUAL(0, load(io, &back, &g, &blobs, &bad));
    index_check(back);
    TEST_ASSERT_EQUAL(MF_COUNT(seq) - 1, index_count(back));
    for (unsigned i = 1; i < MF_COUNT(seq); i++) {
        uint32_t a = index_find(ix, seq[i]), b = index_find(back, seq[i]);
        uint8_t ka[KEYS_MAX], kb[KEYS_MAX];
        TEST_ASSERT_NOT_EQUAL(INDEX_NONE, b);
        TEST_ASSERT_EQUAL_UINT64(index_place(ix, a), index_place(back, b));
        TEST_ASSERT_EQUAL_INT64(index_deadline(ix, a), index_deadline(back, b));
        TEST_ASSERT_TRUE(mf_eq(keys_text(index_keys(ix), index_key(ix, a), ka),
                               keys_text(index_keys(back), index_key(back, b), kb)));
    }
    TEST_ASSERT_EQUAL_STRING("conf={};", mf_buf_cstr(&blobs));
    TEST_ASSERT_EQUAL_UINT64(4, g.messages);
    TEST_ASSERT_EQUAL_UINT64(7, g.start.segment);
    TEST_ASSERT_EQUAL_UINT32(5, g.chain);
    TEST_ASSERT_EQUAL_UINT64(99, g.last_seq);
    TEST_ASSERT_EQUAL_INT64(-4, g.clock_ns);
    mf_buf_fini(&blobs);
    index_free(ix);
    index_free(back);
    files_free(io);
}

/* A block is at most 1 MiB unless one entry is larger, so that a reader can bound what it takes. */
static void test_blocks_stay_below_their_limit(void)
{
    struct index *ix = index_new('.', 0);
    struct mf_buf b = MF_BUF_INIT;
    static char key[60000];
    struct checkpoint_head h = {0};
    uint64_t from = 0;
    uint32_t id;

    memset(key, 'k', sizeof key);
    for (unsigned i = 0; i < 40; i++) {
        key[0] = (char)('A' + i);
        TEST_ASSERT_EQUAL(0, index_add(ix, i + 1, mf_slice(key, sizeof key), 0, 0, &id));
    }
    unsigned blocks = 0;
    while (checkpoint_messages(ix, &from, 1000, 128 + b.len, &b, &h)) {
        blocks++;
        TEST_ASSERT_LESS_OR_EQUAL(blocks * CHECKPOINT_LARGE, b.len);
    }
    TEST_ASSERT_EQUAL(3, blocks);
    TEST_ASSERT_EQUAL_UINT64(40, h.messages);
    TEST_ASSERT_EQUAL_UINT64(41, from);
    mf_buf_fini(&b);
    index_free(ix);
}

static struct mf_slice checkpoint_bytes(struct store_io *io)
{
    static uint8_t bytes[8192];

    return mf_slice(bytes, maker_read(io, CHECKPOINT_NAME, bytes, sizeof bytes));
}

/* A log with a checkpoint in the middle, and what must come out of it. */
static struct store_io *log_with_checkpoint(void)
{
    maker_message(&m, 1, "a.1", "x", 100);
    maker_message(&m, 2, "a.2", "x", 0);
    maker_message(&m, 3, "a.3", "x", 900);
    maker_blob(&m, "config", "from the log");
    maker_commit(&m);
    maker_message(&m, 4, "a.4", "x", 0);
    maker_commit(&m);
    note_position();
    struct log_maker then = m;
    then.seg[1] = malloc(MAKER_SIZE);
    memcpy(then.seg[1], m.seg[1], MAKER_SIZE);
    maker_message(&m, 5, "a.5", "x", 0);
    maker_remove(&m, 2);
    maker_commit(&m);
    struct store_io *io = maker_files(&m);
    checkpoint_now(io, &then);
    free(then.seg[1]);
    return io;
}

/* Every bit: damage is named, and the answers are those of the log alone. */
static void test_a_damaged_checkpoint_only_costs_time(void)
{
    struct store_io *io = log_with_checkpoint();
    struct mf_slice good = checkpoint_bytes(io);
    uint8_t *bytes = malloc(good.len);
    struct recovery r;

    memcpy(bytes, good.ptr, good.len);
    recover_ok(&r, io);
    TEST_ASSERT_TRUE(r.from_checkpoint);
    TEST_ASSERT_EQUAL_UINT64(good.len, r.checkpoint_bytes);
    TEST_ASSERT_EQUAL_UINT64(3, r.records); /* the tail only */
    TEST_ASSERT_EQUAL_UINT64(3, r.group);
    TEST_ASSERT_EQUAL(0, r.damages);
    char *want = recovery_text(&r);
    TEST_ASSERT_NOT_NULL(strstr(want, "blob config = from the log"));
    recovery_fini(&r);
    for (size_t bit = 0; bit < good.len * 8; bit += 3) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        maker_write(io, CHECKPOINT_NAME, bytes, good.len);
        recover_ok(&r, io);
        char *text = recovery_text(&r);
        TEST_ASSERT_EQUAL_STRING(want, text);
        TEST_ASSERT_FALSE(r.from_checkpoint);
        TEST_ASSERT_EQUAL_UINT64(0, r.checkpoint_bytes);
        TEST_ASSERT_EQUAL(1, r.damages);
        TEST_ASSERT_EQUAL_STRING("checkpoint", r.damage[0].file);
        TEST_ASSERT_TRUE(r.damage[0].offset <= bit / 8);
        free(text);
        recovery_fini(&r);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t len = 0; len < good.len; len += 5) {
        maker_write(io, CHECKPOINT_NAME, bytes, len);
        recover_ok(&r, io);
        TEST_ASSERT_FALSE(r.from_checkpoint);
        TEST_ASSERT_EQUAL(1, r.damages);
        recovery_fini(&r);
    }
    free(want);
    free(bytes);
    files_free(io);
}

/* Good checks, but sequences that do not ascend over the blocks: a writer's mistake is not loaded.
 */
static void test_blocks_out_of_order_are_damage(void)
{
    struct store_io *io = log_with_checkpoint();
    struct mf_slice good = checkpoint_bytes(io);
    uint8_t *b = malloc(good.len);
    struct recovery r;

    memcpy(b, good.ptr, good.len);
    size_t second = CHECKPOINT_HEADER + get_u32(b + CHECKPOINT_HEADER + 8);
    size_t n = get_u32(b + second + 8);
    put_u64(b + second + 16, 3);
    put_u64(b + second, checksum64(b + second + 8, n - 8, second));
    maker_write(io, CHECKPOINT_NAME, b, good.len);
    recover_ok(&r, io);
    TEST_ASSERT_FALSE(r.from_checkpoint);
    TEST_ASSERT_EQUAL(1, r.damages);
    TEST_ASSERT_EQUAL_UINT64(second, r.damage[0].offset);
    recovery_fini(&r);
    free(b);
    files_free(io);
}

static void test_a_checkpoint_of_a_greater_version_is_refused(void)
{
    struct store_io *io = log_with_checkpoint();
    struct mf_slice good = checkpoint_bytes(io);
    uint8_t *b = malloc(good.len);
    struct recovery r;
    struct mf_error e;

    memcpy(b, good.ptr, good.len);
    put_u32(b + 8, 4);
    put_u64(b + 120, checksum64(b, 120, 0));
    maker_write(io, CHECKPOINT_NAME, b, good.len);
    maker_write(io, "x.tmp", "x", 1);
    TEST_ASSERT_EQUAL(MF_UNSUPPORTED, recover(&r, io, NULL, '.', 0, &e));
    uint8_t x[4];
    TEST_ASSERT_EQUAL(1, maker_read(io, "x.tmp", x, sizeof x));
    free(b);
    files_free(io);
}

/* --- fuzzy ------------------------------------------------------------------------------------ */

/* The checkpoint shows any moment from its position on; replay makes it exact.  Every entry is
 * touched after the position in one of the ways there are, and the checkpoint is taken after each
 * record. */
static void test_a_checkpoint_taken_at_any_later_moment_is_exact(void)
{
    static const uint64_t set[] = {7};

    for (uint64_t s = 1; s <= 9; s++)
        maker_message(&m, s, "k", "x", s == 3 ? 50 : s == 4 ? 50 : 0);
    maker_commit(&m);
    note_position();
    for (unsigned moment = 0; moment <= 12; moment++) {
        struct log_maker log;
        maker_init(&log, 1);
        memcpy(log.seg[1], m.seg[1], MAKER_SIZE);
        uint8_t *keep = log.seg[1];
        log = m;
        log.seg[1] = keep;
        struct store_io *io = NULL;
        struct log_maker then = {0};
        for (unsigned i = 0; i <= 12; i++) {
            if (i == moment) {
                then = log;
                then.seg[1] = malloc(MAKER_SIZE);
                memcpy(then.seg[1], log.seg[1], MAKER_SIZE);
            }
            switch (i) {
            case 0:
                maker_deadline(&log, 3, 70);
                break;
            case 1:
                maker_copy(&log, 3, "k", "moved", 70);
                break;
            case 2:
                maker_mark(&log, 60, 0);
                break;
            case 3:
                maker_deadline(&log, 4, 500);
                break; /* dead by the mark */
            case 4:
                maker_deadline(&log, 3, 400);
                break;
            case 5:
                maker_message(&log, 10, "k", "new", 80);
                break;
            case 6:
                maker_remove(&log, 1);
                break;
            case 7:
                maker_set(&log, set, 1);
                break;
            case 8:
                maker_deadline(&log, 10, 90);
                break;
            case 9:
                maker_mark(&log, 85, 0);
                break;
            case 10:
                maker_range(&log, 8, 9);
                break;
            case 11:
                maker_remove(&log, 10);
                break;
            default:
                maker_commit(&log);
                break;
            }
        }
        io = maker_files(&log);
        char *want = recover_text(io);
        checkpoint_now(io, &then);
        struct recovery r;
        recover_ok(&r, io);
        TEST_ASSERT_TRUE(r.from_checkpoint);
        char *text = recovery_text(&r);
        TEST_ASSERT_EQUAL_STRING(want, text);
        TEST_ASSERT_EQUAL(0, r.damages);
        recovery_fini(&r);
        /* The same with a head that was taken late. */
        head.mark = then.mark;
        head.last_seq = then.last_seq;
        checkpoint_now(io, &then);
        recover_ok(&r, io);
        char *late = recovery_text(&r);
        TEST_ASSERT_EQUAL_STRING(want, late);
        recovery_fini(&r);
        head.mark = m.mark;
        head.last_seq = m.last_seq;
        free(want);
        free(text);
        free(late);
        files_free(io);
        free(then.seg[1]);
        free(log.seg[1]);
    }
}

/* --- what it is worth ------------------------------------------------------------------------- */

/* Its position's segment was given up since: the log alone has the truth. */
static void test_a_checkpoint_older_than_the_log_is_not_used(void)
{
    struct recovery r;

    maker_message(&m, 1, "old", "x", 0);
    maker_commit(&m);
    note_position();
    struct log_maker then = m;
    struct store_io *pre = maker_files(&then);
    checkpoint_now(pre, &then);
    uint8_t bytes[4096];
    size_t n = maker_read(pre, CHECKPOINT_NAME, bytes, sizeof bytes);
    files_free(pre);
    maker_remove(&m, 1);
    maker_commit(&m);
    maker_seal(&m);
    m.first_segment = 2;
    maker_message(&m, 2, "new", "x", 0);
    maker_commit(&m);
    for (int leftover = 0; leftover < 2; leftover++) {
        m.made[1] = leftover;
        struct store_io *io = maker_files(&m);
        maker_write(io, CHECKPOINT_NAME, bytes, n);
        recover_ok(&r, io);
        TEST_ASSERT_FALSE(r.from_checkpoint);
        TEST_ASSERT_EQUAL(1, index_count(r.index));
        TEST_ASSERT_EQUAL(INDEX_NONE, index_find(r.index, 1));
        TEST_ASSERT_EQUAL(0, r.damages);
        TEST_ASSERT_EQUAL_UINT64(2, r.first_segment);
        recovery_fini(&r);
        files_free(io);
    }
}

/* A checkpoint copied from elsewhere: the records at its position do not continue it. */
static void test_a_checkpoint_that_contradicts_the_log_is_not_used(void)
{
    struct store_io *io = log_with_checkpoint();
    char *want = recover_text(io);
    struct recovery r;

    for (int wrong = 0; wrong < 5; wrong++) {
        struct checkpoint_head h = head;
        struct index *ix = index_new('.', 0);
        if (wrong == 0)
            h.chain ^= 1;
        else if (wrong == 1)
            h.start.offset += 8;
        else if (wrong == 2)
            h.start.offset = SEGMENT_PAGE + 4;
        else if (wrong == 3)
            h.id[0] ^= 1;
        else
            h.start.offset = SEGMENT_PAGE; /* the chain goes on from 0 there */
        h.last_seq = 1000;
        maker_checkpoint(io, &h, ix, MF_SLICE_NONE, MF_SLICE_NONE);
        recover_ok(&r, io);
        char *text = recovery_text(&r);
        TEST_ASSERT_EQUAL_STRING(want, text);
        TEST_ASSERT_FALSE(r.from_checkpoint);
        TEST_ASSERT_EQUAL(1, r.damages);
        TEST_ASSERT_EQUAL_STRING("checkpoint", r.damage[0].file);
        free(text);
        recovery_fini(&r);
        index_free(ix);
    }
    free(want);
    files_free(io);
}

/* The log was cut before the position (a file that lost its end): damage.  What the checkpoint
 * still knows stays in the index, and is named. */
static void test_a_log_shorter_than_its_checkpoint_is_damage(void)
{
    struct recovery r;

    maker_message(&m, 1, "a", "x", 0);
    maker_commit(&m);
    struct record_pos two = maker_message(&m, 2, "a", "x", 0);
    maker_commit(&m);
    note_position();
    for (int zeros = 0; zeros < 2; zeros++) {
        struct store_io *io = maker_files(&m);
        checkpoint_now(io, &m);
        if (zeros) {
            uint8_t part[MAKER_SIZE] = {0};
            memcpy(part, m.seg[1], two.offset);
            maker_write(io, "0000000000000001.log", part, sizeof part);
        } else {
            maker_write(io, "0000000000000001.log", m.seg[1], two.offset);
        }
        for (int again = 0; again < 2; again++) {
            recover_ok(&r, io);
            TEST_ASSERT_TRUE(r.from_checkpoint);
            TEST_ASSERT_EQUAL(2, index_count(r.index));
            TEST_ASSERT_EQUAL(1, r.damages);
            TEST_ASSERT_EQUAL_UINT64(two.offset, r.damage[0].offset);
            TEST_ASSERT_EQUAL_UINT64(MAKER_SIZE - two.offset, r.damage[0].length);
            TEST_ASSERT_EQUAL_UINT64(2, r.damage[0].first_seq);
            TEST_ASSERT_EQUAL_UINT64(2, r.damage[0].last_seq);
            TEST_ASSERT_TRUE(r.sealed);
            TEST_ASSERT_EQUAL_UINT64(2, r.last_seq);
            recovery_fini(&r);
        }
        files_free(io);
    }
}

/* A lost segment before the position: the entries in it are named and stay. */
static void test_entries_in_a_missing_segment_are_named(void)
{
    struct recovery r;

    for (uint64_t s = 1; s <= 6; s++) {
        maker_message(&m, s, "a", "x", 0);
        maker_commit(&m);
        if (s % 2 == 0)
            maker_seal(&m);
    }
    maker_message(&m, 7, "a", "x", 0);
    maker_commit(&m);
    note_position();
    for (unsigned lost = 1; lost <= 2; lost++) {
        struct store_io *io = maker_files(&m);
        struct mf_error e;
        char name[32];
        checkpoint_now(io, &m);
        segment_name(name, lost);
        TEST_ASSERT_EQUAL(0, io->unlink(io, name, &e));
        recover_ok(&r, io);
        TEST_ASSERT_TRUE(r.from_checkpoint);
        TEST_ASSERT_EQUAL(7, index_count(r.index));
        TEST_ASSERT_EQUAL(1, r.damages);
        TEST_ASSERT_EQUAL_STRING(name, r.damage[0].file);
        TEST_ASSERT_EQUAL_UINT64(lost * 2 - 1, r.damage[0].first_seq);
        TEST_ASSERT_EQUAL_UINT64(lost * 2, r.damage[0].last_seq);
        recovery_fini(&r);
        files_free(io);
    }
    /* Shorter than it was: only what lay beyond. */
    struct store_io *io = maker_files(&m);
    checkpoint_now(io, &m);
    maker_write(io, "0000000000000001.log", m.seg[1], SEGMENT_PAGE + 150);
    recover_ok(&r, io);
    TEST_ASSERT_EQUAL(7, index_count(r.index));
    TEST_ASSERT_EQUAL(1, r.damages);
    TEST_ASSERT_EQUAL_UINT64(SEGMENT_PAGE + 150, r.damage[0].offset);
    TEST_ASSERT_EQUAL_UINT64(2, r.damage[0].first_seq);
    TEST_ASSERT_EQUAL_UINT64(2, r.damage[0].last_seq);
    recovery_fini(&r);
    files_free(io);
}

/* The position may be the start of a segment that is not made yet (after a tear was cut). */
static void test_a_position_in_a_segment_not_made_yet_is_one(void)
{
    struct recovery r;

    maker_message(&m, 1, "a", "x", 0);
    maker_commit(&m);
    maker_seal(&m);
    note_position();
    for (int made = 0; made < 2; made++) {
        m.made[2] = made;
        struct store_io *io = maker_files(&m);
        checkpoint_now(io, &m);
        recover_ok(&r, io);
        TEST_ASSERT_TRUE(r.from_checkpoint);
        TEST_ASSERT_EQUAL(0, r.damages);
        TEST_ASSERT_EQUAL_UINT64(1, r.group);
        TEST_ASSERT_EQUAL_UINT32(m.chain, r.chain);
        TEST_ASSERT_EQUAL_UINT64(made ? 2 : 1, r.end.segment);
        TEST_ASSERT_EQUAL(!made, r.sealed);
        recovery_fini(&r);
        files_free(io);
    }
}

/* Segments all lost, the checkpoint there: what is known is that sequences were given. */
static void test_a_checkpoint_without_a_log_keeps_the_last_sequence(void)
{
    struct log_maker none = {0};
    struct recovery r;

    maker_message(&m, 1, "a", "x", 0);
    maker_commit(&m);
    note_position();
    struct store_io *io = maker_files(&none);
    checkpoint_now(io, &m);
    recover_ok(&r, io);
    TEST_ASSERT_FALSE(r.fresh);
    TEST_ASSERT_EQUAL_UINT64(1, r.last_seq);
    TEST_ASSERT_EQUAL(0, index_count(r.index));
    TEST_ASSERT_EQUAL(1, r.damages);
    TEST_ASSERT_EQUAL_UINT64(1, r.damage[0].first_seq);
    TEST_ASSERT_EQUAL_UINT64(1, r.damage[0].last_seq);
    TEST_ASSERT_TRUE(r.sealed);
    recovery_fini(&r);
    files_free(io);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_index_goes_to_bytes_and_back);
    RUN_TEST(test_blocks_stay_below_their_limit);
    RUN_TEST(test_a_damaged_checkpoint_only_costs_time);
    RUN_TEST(test_blocks_out_of_order_are_damage);
    RUN_TEST(test_a_checkpoint_of_a_greater_version_is_refused);
    RUN_TEST(test_a_checkpoint_taken_at_any_later_moment_is_exact);
    RUN_TEST(test_a_checkpoint_older_than_the_log_is_not_used);
    RUN_TEST(test_a_checkpoint_that_contradicts_the_log_is_not_used);
    RUN_TEST(test_a_log_shorter_than_its_checkpoint_is_damage);
    RUN_TEST(test_entries_in_a_missing_segment_are_named);
    RUN_TEST(test_a_position_in_a_segment_not_made_yet_is_one);
    RUN_TEST(test_a_checkpoint_without_a_log_keeps_the_last_sequence);
    return UNITY_END();
}
