/* test_check_checkpoint.c: a checkpoint is right if, with the log behind its position, it gives
 * what the whole log gives: also when it shows some of what came later. */
#include "support/check_image.h"

#include <stdio.h>

#include "unity.h"

static struct log_writer w;
static struct check_result res;
static struct {
    uint64_t segment, offset;
    uint32_t chain;
} here;

void setUp(void)
{
    lw_init(&w, 8192);
}
void tearDown(void)
{
    check_result_fini(&res);
    lw_fini(&w);
}

static void remember_position(void)
{
    here.segment = w.segment;
    here.offset = w.offset;
    here.chain = w.chain;
}

static void checkpoint_now(void)
{
    lw_checkpoint(&w, here.segment, here.offset, here.chain);
}

static void check_is(enum check_cp want)
{
    struct mf_error e = {.text = ""};

    check_result_fini(&res);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, image_check(&w, &res, &e), e.text);
    TEST_ASSERT_EQUAL_INT_MESSAGE(want, res.checkpoint, res.damages > 0 ? res.damage[0].what : "");
    TEST_ASSERT_EQUAL_INT(want == CHECK_CP_DIFFERS || want == CHECK_CP_DAMAGED ||
                              want == CHECK_CP_EXPLAINED,
                          res.damage_count > 0);
}

/* Two segments, half of the history before the position, and some of each kind behind it. */
static void history_before(void)
{
    lw_segment(&w);
    (void)lw_blob(&w, "config", "1", true);
    for (uint64_t s = 1; s <= 9; s++)
        (void)lw_message(&w, s, s % 2 == 0 ? (int64_t)(1000 * s) : 0, "key", "b", true);
    (void)lw_removal(&w, 1, true);
    (void)lw_commit(&w);
    remember_position();
}

static void history_after(int step)
{
    static const uint64_t set[] = {5};

    switch (step) {
    case 0:
        (void)lw_message(&w, 10, 0, "new", "b", true);
        break;
    case 1:
        (void)lw_deadline(&w, 2, 50000, true);
        break;
    case 2:
        (void)lw_mark(&w, 3000, 3, true); /* 2 would be gone but for its new deadline */
        break;
    case 3:
        (void)lw_removal(&w, 3, true);
        break;
    case 4:
        (void)lw_commit(&w);
        lw_roll(&w);
        break;
    case 5:
        (void)lw_copy(&w, 7, true);
        break;
    case 6:
        (void)lw_set(&w, set, 1, true);
        break;
    case 7:
        (void)lw_range(&w, 9, 9, true);
        break;
    case 8:
        (void)lw_blob(&w, "config", "2", true);
        break;
    case 9:
        (void)lw_blob(&w, "more", "x", true);
        break;
    case 10:
        (void)lw_deadline(&w, 2, 60000, true);
        break;
    default:
        (void)lw_mark(&w, 55000, 0, true); /* takes 4, 6, 8; not 2 */
        break;
    }
}

#define STEPS 12

/* Taken at each moment after the position, it shows more and more of what came later. */
static void test_fuzzy_checkpoint_is_mended_by_replay(void)
{
    for (int moment = 0; moment <= STEPS; moment++) {
        lw_fini(&w);
        lw_init(&w, 8192);
        history_before();
        for (int step = 0; step < STEPS; step++) {
            if (step == moment)
                checkpoint_now();
            history_after(step);
        }
        if (moment == STEPS)
            checkpoint_now();
        (void)lw_commit(&w);
        check_is(CHECK_CP_MATCHES);
        TEST_ASSERT_EQUAL_UINT64(lw_alive(&w), res.live.messages);
        TEST_ASSERT_EQUAL_UINT64(3, res.live.messages); /* 2, 7, 10 */
        TEST_ASSERT_EQUAL_UINT64(res.live.messages, res.cp_messages);
        TEST_ASSERT_EQUAL_UINT64(2, res.cp_blobs);
        TEST_ASSERT_EQUAL_UINT64(10, res.cp_last_sequence);
    }
}

/* The worst of both: entries from before, the header's mark from after a message was lifted. */
static void test_mark_of_the_header_takes_nothing_the_log_lifts(void)
{
    int64_t t;

    history_before();
    t = 3000;
    checkpoint_now(); /* shows 2 with deadline 2000 */
    memcpy(lw_file(&w, "checkpoint")->data + 80, &t, 8);
    lw_checkpoint_seal(&w);
    for (int step = 0; step < STEPS; step++)
        history_after(step);
    (void)lw_commit(&w);
    check_is(CHECK_CP_MATCHES);
}

static void test_checkpoint_at_the_very_end_matches(void)
{
    history_before();
    checkpoint_now();
    check_is(CHECK_CP_MATCHES);
    (void)lw_seal(&w); /* the end of a segment and the start of the next are one position */
    remember_position();
    checkpoint_now();
    check_is(CHECK_CP_MATCHES);
    lw_segment(&w);
    remember_position();
    checkpoint_now();
    check_is(CHECK_CP_MATCHES);
}

static void test_checkpoint_of_an_empty_store_matches(void)
{
    lw_segment(&w);
    remember_position();
    checkpoint_now();
    check_is(CHECK_CP_MATCHES);
}

/* --- wrong, with all checks right ------------------------------------------------------------- */

static void test_message_too_many_differs(void)
{
    history_before();
    w.msg[1].alive = true;
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
    TEST_ASSERT_NOT_NULL(strstr(res.damage[0].what, "1 messages too many"));
    TEST_ASSERT_EQUAL_UINT64(8, res.live.messages); /* the log is the truth */
}

static void test_message_too_few_differs(void)
{
    history_before();
    w.msg[9].alive = false;
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
    TEST_ASSERT_NOT_NULL(strstr(res.damage[0].what, "1 missing"));
}

static void test_wrong_deadline_place_or_key_differs(void)
{
    struct lw_msg keep;

    history_before();
    keep = w.msg[4];
    w.msg[4].deadline++;
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
    w.msg[4] = keep;
    w.msg[4].place += 1 << 22;
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
    w.msg[4] = keep;
    w.msg[4].key[0]++;
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
    TEST_ASSERT_NOT_NULL(strstr(res.damage[0].what, "1 differ (first: 4)"));
    w.msg[4] = keep;
    checkpoint_now();
    check_is(CHECK_CP_MATCHES);
}

static void test_wrong_blob_or_last_sequence_differs(void)
{
    history_before();
    w.blob[0].body[0]++;
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
    w.blob[0].name[0] = '\0';
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
    (void)lw_blob(&w, "config", "1", true);
    (void)lw_commit(&w);
    w.last++;
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
}

static void test_counts_that_do_not_add_up_are_damage(void)
{
    history_before();
    checkpoint_now();
    lw_file(&w, "checkpoint")->data[56]++;
    lw_checkpoint_seal(&w);
    check_is(CHECK_CP_DAMAGED);
}

static void test_entries_out_of_order_are_damage(void)
{
    history_before();
    checkpoint_now();
    /* The second entry of the first block: delta 0.  An entry is 22 bytes and the key. */
    memset(lw_file(&w, "checkpoint")->data + 128 + 24 + 25, 0, 4);
    lw_checkpoint_seal(&w);
    check_is(CHECK_CP_DAMAGED);
    TEST_ASSERT_EQUAL_UINT64(128, res.damage[0].offset);
}

/* Its mark would take message 4, and nothing in the log does. */
static void test_mark_the_log_does_not_know_differs(void)
{
    history_before();
    w.mark_t = 5000;
    checkpoint_now();
    check_is(CHECK_CP_DIFFERS);
}

static void test_blobs_before_messages_are_damage(void)
{
    struct lw_file *f;
    uint8_t copy[4096];
    size_t last = 128, n, size;

    history_before();
    checkpoint_now();
    f = lw_file(&w, "checkpoint");
    size = f->size - 128;
    TEST_ASSERT_LESS_THAN_size_t(sizeof copy, size);
    while (last + f->data[last + 8] < f->size) /* blocks are short here: one byte of length */
        last += f->data[last + 8];
    n = f->size - last;
    memcpy(copy, f->data + last, n);
    memcpy(copy + n, f->data + 128, size - n);
    memcpy(f->data + 128, copy, size);
    lw_checkpoint_seal(&w);
    check_is(CHECK_CP_DAMAGED);
}

static void test_position_that_is_none_is_damage(void)
{
    history_before();
    here.offset -= 8;
    checkpoint_now();
    check_is(CHECK_CP_DAMAGED);
    here.offset += 8;
    here.chain ^= 1;
    checkpoint_now();
    check_is(CHECK_CP_DAMAGED);
}

static void test_checkpoint_of_another_store_is_not_used(void)
{
    history_before();
    lw_roll(&w);
    (void)lw_commit(&w);
    w.id[3] ^= 1;
    checkpoint_now();
    w.id[3] ^= 1;
    check_is(CHECK_CP_DAMAGED);
    TEST_ASSERT_EQUAL_UINT64(8, res.live.messages);
}

/* --- with a damaged log ----------------------------------------------------------------------- */

/* The checkpoint tells which of the messages in a damaged stretch were alive. */
static void test_checkpoint_counts_what_damage_took(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    at = lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    (void)lw_commit(&w);
    remember_position();
    checkpoint_now();
    lw_segment_file(&w, 1)->data[at + 1] ^= 1;
    check_is(CHECK_CP_EXPLAINED);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(3, res.cp_messages);
    TEST_ASSERT_EQUAL_UINT64(1, res.lost);
    TEST_ASSERT_EQUAL_UINT64(1, res.damage[0].lost);
}

/* Its position is synced: what lies before it is damage, never a torn tail. */
static void test_position_tells_damage_from_the_end(void)
{
    uint64_t at;

    lw_segment(&w);
    at = lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    remember_position();
    lw_segment_file(&w, 1)->data[at + 1] ^= 1;
    check_is(CHECK_CP_NONE);
    TEST_ASSERT_TRUE(res.torn);
    checkpoint_now();
    check_is(CHECK_CP_EXPLAINED);
    TEST_ASSERT_FALSE(res.torn);
}

/* All files below the first are gone and a live message was neither removed nor copied. */
static void test_message_in_a_file_given_up_is_damage(void)
{
    history_before();
    lw_roll(&w);
    for (uint64_t s = 2; s <= 8; s++)
        (void)lw_copy(&w, s, true);
    (void)lw_blob(&w, "config", "1", true);
    (void)lw_commit(&w);
    w.first = 2;
    (void)lw_commit(&w);
    remember_position();
    checkpoint_now(); /* shows 9, which nobody copied */
    lw_unlink(&w, "0000000000000001.log");
    check_result_fini(&res);
    TEST_ASSERT_EQUAL_INT(0, image_check(&w, &res, NULL));
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_INT(CHECK_MISSING, res.damage[0].kind);
    TEST_ASSERT_NOT_NULL(strstr(res.damage[0].what, "sequence 9"));
    TEST_ASSERT_EQUAL_UINT64(1, res.lost);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_fuzzy_checkpoint_is_mended_by_replay);
    RUN_TEST(test_mark_of_the_header_takes_nothing_the_log_lifts);
    RUN_TEST(test_checkpoint_at_the_very_end_matches);
    RUN_TEST(test_checkpoint_of_an_empty_store_matches);
    RUN_TEST(test_message_too_many_differs);
    RUN_TEST(test_message_too_few_differs);
    RUN_TEST(test_wrong_deadline_place_or_key_differs);
    RUN_TEST(test_wrong_blob_or_last_sequence_differs);
    RUN_TEST(test_counts_that_do_not_add_up_are_damage);
    RUN_TEST(test_entries_out_of_order_are_damage);
    RUN_TEST(test_mark_the_log_does_not_know_differs);
    RUN_TEST(test_blobs_before_messages_are_damage);
    RUN_TEST(test_position_that_is_none_is_damage);
    RUN_TEST(test_checkpoint_of_another_store_is_not_used);
    RUN_TEST(test_checkpoint_counts_what_damage_took);
    RUN_TEST(test_position_tells_damage_from_the_end);
    RUN_TEST(test_message_in_a_file_given_up_is_damage);
    return UNITY_END();
}
