/* test_restore.c: restores of backups that were made to hold up the server: their work is done in
 * slices, and the result is the same.  Slices are counted, not timed. */
#include "codec/natsfile.h"
#include "support/api_world.h"

#include "codec/s2.h"
#include "codec/sha256.h"

#include "unity.h"

#define MSGS  2000
#define STEPS 8 /* of a slice; a turn of the loop may have a few slices */
#define FEW   4

static struct mf_buf block, index_, tar, s2;
static uint8_t last_check[HIGHWAY_BYTES];

void setUp(void)
{
    must_quiet();
    api_up("");
    block = index_ = tar = s2 = MF_BUF_INIT;
}

void tearDown(void)
{
    mf_buf_fini(&block);
    mf_buf_fini(&index_);
    mf_buf_fini(&tar);
    mf_buf_fini(&s2);
    api_down();
}

/* --- a backup, as nats-server 2.14 made them ---------------------------------------------------
 */

static void put_le(struct mf_buf *out, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        mf_buf_byte(out, (uint8_t)(v >> 8 * i));
}

static void put_uvarint(struct mf_buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        mf_buf_byte(out, (uint8_t)(v | 0x80));
    mf_buf_byte(out, (uint8_t)v);
}

static void put_record(uint64_t seq)
{
    uint8_t key[HIGHWAY_KEY];
    size_t from = block.len;
    struct highway h;

    natsfile_block_key("S", 1, key);
    put_le(&block, 22 + 3 + 1 + HIGHWAY_BYTES, 4);
    put_le(&block, seq, 8);
    put_le(&block, seq, 8); /* its time */
    put_le(&block, 3, 2);
    mf_buf_puts(&block, "s.ax");
    highway_init(&h, key);
    highway_add(&h, mf_slice(block.ptr + from + 4, 16));
    highway_add(&h, mf_slice(block.ptr + from + 22, 4));
    highway_end(&h, last_check);
    mf_buf_append(&block, last_check, sizeof last_check);
}

static void index_begin(uint64_t blocks)
{
    mf_buf_byte(&index_, 11);
    mf_buf_byte(&index_, 1);
    for (int i = 0; i < 7; i++) /* messages, bytes, first and last, no subjects */
        put_uvarint(&index_, 0);
    put_uvarint(&index_, blocks);
}

/* odd: those of its sequences that are deleted. */
static void put_block(uint64_t first, uint64_t last, bool odd)
{
    uint64_t nodes = odd ? MSGS / 2048 + 1 : 0;

    put_uvarint(&index_, 1);
    put_uvarint(&index_, 0);
    put_uvarint(&index_, first);
    put_uvarint(&index_, 0);
    put_uvarint(&index_, last);
    put_uvarint(&index_, 0);
    put_uvarint(&index_, nodes);
    if (nodes == 0)
        return;
    mf_buf_byte(&index_, 22);
    mf_buf_byte(&index_, 2);
    put_le(&index_, nodes, 4);
    put_le(&index_, 0, 4);
    for (uint64_t n = 0; n < nodes; n++) {
        put_le(&index_, n * 2048, 8);
        for (int i = 0; i < 32; i++)
            put_le(&index_, 0xaaaaaaaaaaaaaaaa, 8);
        put_le(&index_, 1, 2);
    }
}

static void index_end(void)
{
    uint8_t key[HIGHWAY_KEY], sum[HIGHWAY_BYTES];
    struct highway h;

    put_uvarint(&index_, 1);
    mf_buf_append(&index_, last_check, sizeof last_check);
    sha256(MF_LIT("S"), key);
    highway_init(&h, key);
    highway_add(&h, mf_buf_slice(&index_));
    highway_end(&h, sum);
    mf_buf_append(&index_, sum, sizeof sum);
}

static void put_file(const char *name, struct mf_slice bytes)
{
    char head[512] = "";
    unsigned sum = 8 * ' ';

    (void)snprintf(head, 100, "%s", name);
    (void)snprintf(head + 124, 12, "%011zo", bytes.len);
    head[156] = '0';
    for (size_t i = 0; i < sizeof head; i++)
        sum += (uint8_t)head[i];
    (void)snprintf(head + 148, 8, "%06o", sum);
    mf_buf_append(&tar, head, sizeof head);
    mf_buf_append(&tar, bytes.ptr, bytes.len);
    while (tar.len % sizeof head != 0)
        mf_buf_byte(&tar, 0);
}

static void pack(void)
{
    put_file("meta.inf", MF_LIT("{\"name\":\"S\"}"));
    put_file("msgs/1.blk", mf_buf_slice(&block));
    put_file("msgs/index.db", mf_buf_slice(&index_));
    for (int i = 0; i < 1024; i++)
        mf_buf_byte(&tar, 0);
    s2_frame_begin(&s2);
    s2_frame_add(&s2, mf_buf_slice(&tar));
}

/* Restores it; the turns of the loop that its end took. */
static unsigned restore_all(void)
{
    char to[128];

    restore_begin("\"subjects\":[\"s.>\"]", to);
    TEST_ASSERT_TRUE(request(to, mf_buf_slice(&s2)));
    work_set_steps(loop, STEPS);
    TEST_ASSERT_TRUE(request(to, MF_SLICE_NONE));
    work_set_steps(loop, 0);
    TEST_ASSERT_NULL_MESSAGE(strstr(answer, "\"error\""), answer);
    return turns;
}

/* --- tests ---------------------------------------------------------------------------------------
 */

static void test_deleted_messages_of_an_index_are_looked_for_in_slices(void)
{
    for (uint64_t seq = 1; seq <= MSGS; seq++)
        put_record(seq);
    index_begin(1);
    put_block(1, MSGS, true);
    index_end();
    pack();
    TEST_ASSERT_GREATER_OR_EQUAL_UINT(MSGS / 2 / STEPS / FEW, restore_all());
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(answer, "\"messages\":1000,"), answer);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(answer, "\"last_seq\":2000,"), answer);
}

/* Blocks that lie far behind each other: all between them is deleted. */
static void test_gaps_between_blocks_are_walked_in_slices(void)
{
    for (uint64_t seq = 1; seq <= MSGS; seq++)
        put_record(seq);
    index_begin(2);
    put_block(1, 1, false);
    put_block(MSGS, MSGS, false);
    index_end();
    pack();
    TEST_ASSERT_GREATER_OR_EQUAL_UINT(MSGS / STEPS / FEW, restore_all());
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(answer, "\"messages\":2,"), answer);
}

/* Many blocks that say nothing cost steps, too. */
static void test_blocks_that_say_nothing_are_walked_in_slices(void)
{
    put_record(1);
    index_begin(20 * MSGS);
    for (int i = 0; i < 20 * MSGS; i++)
        put_block(1, 1, false);
    index_end();
    pack();
    TEST_ASSERT_GREATER_OR_EQUAL_UINT(20 * MSGS / STEPS / FEW, restore_all());
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(answer, "\"messages\":1,"), answer);
}

/* An index that nats-server would not write is passed over: its blocks must do. */
static void test_an_index_with_sets_of_nothing_is_passed_over(void)
{
    for (uint64_t seq = 1; seq <= 10; seq++)
        put_record(seq);
    index_begin(1);
    put_block(1, 10, true);
    memset(index_.ptr + index_.len - 32 * 8 - 2, 0, (size_t)32 * 8);
    index_end();
    pack();
    (void)restore_all();
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(answer, "\"messages\":10,"), answer);
}

/* What it held for itself is free again, whatever came. */
static void test_nothing_is_held_after_a_restore(void)
{
    const struct api_account *aa = api_world_account();
    char to[128];

    for (uint64_t seq = 1; seq <= 10; seq++)
        put_record(seq);
    index_begin(1);
    put_block(1, 10, false);
    index_end();
    pack();
    for (size_t cut = 0; cut < s2.len; cut += 1 + s2.len / 20) {
        restore_begin("\"subjects\":[\"s.>\"],\"max_bytes\":1000000", to);
        TEST_ASSERT_EQUAL_size_t(1, aa->creating);
        if (cut > 0)
            TEST_ASSERT_TRUE(request(to, mf_slice(s2.ptr, cut)));
        TEST_ASSERT_TRUE(request(to, MF_SLICE_NONE));
        TEST_ASSERT_NOT_NULL(strstr(answer, "\"error\""));
        for (int i = 0; i < 100 && catalog_count(aa->ja->catalog) > 0; i++)
            loop_turn(loop);
        TEST_ASSERT_TRUE(aa->creating == 0 && backup_account(aa)->nrestores == 0 &&
                         backup_account(aa)->restore_memory == 0);
        TEST_ASSERT_TRUE(aa->ja->usage.file == 0 && api->js->usage.file == 0);
    }
    (void)restore_all();
    TEST_ASSERT_TRUE(aa->creating == 0 && backup_account(aa)->nrestores == 0 &&
                     backup_account(aa)->restore_memory == 0);
    TEST_ASSERT_EQUAL_INT64((int64_t)10 * (22 + 3 + 1 + HIGHWAY_BYTES), aa->ja->usage.file);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_deleted_messages_of_an_index_are_looked_for_in_slices);
    RUN_TEST(test_gaps_between_blocks_are_walked_in_slices);
    RUN_TEST(test_blocks_that_say_nothing_are_walked_in_slices);
    RUN_TEST(test_an_index_with_sets_of_nothing_is_passed_over);
    RUN_TEST(test_nothing_is_held_after_a_restore);
    return UNITY_END();
}
