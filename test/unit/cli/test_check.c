/* test_check.c: `mayfly check` reads a log as docs/disk-format.md says: what lives, where it ends,
 * what is part of it, which rules records keep. */
#include "support/check_image.h"

#include "unity.h"

static struct log_writer w;
static struct check_result res;

void setUp(void)
{
    lw_init(&w, 8192);
}
void tearDown(void)
{
    check_result_fini(&res);
    lw_fini(&w);
}

static void check(void)
{
    struct mf_error e = {.text = ""};

    check_result_fini(&res);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, image_check(&w, &res, &e), e.text);
}

static void check_clean(void)
{
    check();
    TEST_ASSERT_EQUAL_STRING("", res.damages > 0 ? res.damage[0].what : "");
    TEST_ASSERT_EQUAL_UINT64(0, res.damage_count);
}

static void assert_rule(const char *what)
{
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_INT(CHECK_RULE, res.damage[0].kind);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(res.damage[0].what, what), res.damage[0].what);
}

/* --- what lives ------------------------------------------------------------------------------- */

/* The reader and the naive model of the writer were written apart and must agree. */
static void test_store_with_every_record_kind_is_read_as_written(void)
{
    lw_all_kinds(&w, true);
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(lw_alive(&w), res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(8, res.live.messages); /* 2 4 6 9 10 11 21 22 */
    TEST_ASSERT_EQUAL_UINT64(2, res.live.blobs);
    TEST_ASSERT_EQUAL_UINT64(22, res.last_sequence);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.first_seq);
    TEST_ASSERT_EQUAL_UINT64(22, res.live.last_seq);
    TEST_ASSERT_EQUAL_UINT64(3, res.live.keys); /* even, odd and the empty one */
    TEST_ASSERT_EQUAL_UINT64(3, res.live.with_deadline);
    TEST_ASSERT_EQUAL_UINT64(0, res.live.past_deadline);
    TEST_ASSERT_FALSE(res.torn);
    TEST_ASSERT_EQUAL_UINT64(2, res.end_segment);
    TEST_ASSERT_EQUAL_UINT64(w.offset, res.end_offset);
    TEST_ASSERT_EQUAL_INT(CHECK_CP_NONE, res.checkpoint);
}

static void test_segments_account_for_every_byte(void)
{
    lw_all_kinds(&w, true);
    check_clean();
    TEST_ASSERT_EQUAL_size_t(2, res.segments);
    TEST_ASSERT_EQUAL_UINT64(w.offset - 4096, res.segment[1].used);
    TEST_ASSERT_EQUAL_UINT64(res.records, res.segment[0].records + res.segment[1].records);
    TEST_ASSERT_EQUAL_UINT64(3, res.segment[0].live); /* 4 9 10 */
    TEST_ASSERT_EQUAL_UINT64(7, res.segment[1].live); /* 2 6 11 21 22 and two blobs */
    TEST_ASSERT_LESS_THAN_UINT64(res.segment[0].used, res.segment[0].live_bytes);
}

static void test_deadlines_that_are_past_are_counted_and_alive(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 1, 9999, "k", "b", true);
    (void)lw_message(&w, 2, 10001, "k", "b", true);
    (void)lw_commit(&w);
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(1, res.live.past_deadline);
}

/* Promise 2: a new deadline must not bring back what a mark took. */
static void test_redeadline_behind_a_mark_revives_nothing(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 1, 100, "k", "b", true);
    (void)lw_message(&w, 2, 100, "k", "b", true);
    (void)lw_mark(&w, 100, 1, true);
    (void)lw_deadline(&w, 1, 500, true);
    (void)lw_deadline(&w, 2, 500, true);
    (void)lw_commit(&w);
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.first_seq);
}

/* Ranges far larger than what lives, and marks at the very ends of the numbers. */
static void test_huge_ranges_end_soon(void)
{
    lw_segment(&w);
    for (uint64_t s = 1; s < 12; s++)
        (void)lw_message(&w, s, 0, "k", "b", true);
    (void)lw_range(&w, 3, UINT64_MAX - 1, true);
    (void)lw_commit(&w);
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX - 1, res.last_sequence);
}

static void test_many_messages_stay_apart(void)
{
    lw_fini(&w);
    lw_init(&w, 1 << 20);
    lw_segment(&w);
    for (uint64_t s = 1; s <= 5000; s++)
        (void)lw_message(&w, s * 7, 0, "k", "b", true);
    (void)lw_range(&w, 70, 700, true);
    for (uint64_t s = 1; s <= 5000; s += 2)
        (void)lw_removal(&w, s * 7, true);
    (void)lw_commit(&w);
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(2500 - 46, res.live.messages); /* even multiples but 10 to 100 */
    TEST_ASSERT_EQUAL_UINT64(35000, res.live.last_seq);
}

/* --- where the log ends ----------------------------------------------------------------------- */

static void test_empty_store_is_clean(void)
{
    lw_segment(&w);
    check_clean();
    TEST_ASSERT_FALSE(res.torn);
    TEST_ASSERT_EQUAL_UINT64(4096, res.end_offset);
}

static void test_directory_without_a_store_is_refused(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, image_check(&w, &res, &e));
}

/* A crash may leave any part of the last group.  Wherever it was cut, that is no damage, whole
 * batches count and no batch counts in part. */
static void test_last_group_cut_anywhere_is_a_torn_tail(void)
{
    uint64_t start, ends[4];

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    start = (lw_commit(&w), w.offset);
    (void)lw_message(&w, 2, 0, "k", "b", true);
    ends[0] = w.offset;
    (void)lw_message(&w, 3, 0, "k", "b", false);
    (void)lw_message(&w, 4, 0, "k", "b", true);
    ends[1] = w.offset;
    (void)lw_commit(&w);
    ends[2] = w.offset;
    for (uint64_t cut = ends[2]; cut >= start; cut -= 8) {
        struct lw_file *f = lw_segment_file(&w, 1);

        memset(f->data + cut, 0, 8);
        check_clean();
        TEST_ASSERT_EQUAL_UINT64(1u + (cut >= ends[0]) + 2 * (cut >= ends[1]), res.live.messages);
        TEST_ASSERT_EQUAL_INT(cut >= ends[0] && cut < ends[2], res.torn);
        TEST_ASSERT_EQUAL_UINT64(cut >= ends[2]   ? ends[2]
                                 : cut >= ends[1] ? ends[1]
                                 : cut >= ends[0] ? ends[0]
                                                  : start,
                                 res.end_offset);
    }
}

/* Sectors reach the disk in any order: the end of the group may be there and its beginning not. */
static void test_hole_in_the_last_group_is_a_torn_tail(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    at = lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    (void)lw_commit(&w);
    memset(lw_segment_file(&w, 1)->data + at, 0, 16);
    check_clean();
    TEST_ASSERT_TRUE(res.torn);
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(1, res.last_sequence);
    TEST_ASSERT_EQUAL_UINT64(at, res.stop_offset);
}

/* The beginning of a batch behind the last commit is the start of a group that was cut. */
static void test_beginning_of_a_batch_behind_the_last_commit_is_a_torn_tail(void)
{
    uint64_t end;

    lw_segment(&w);
    (void)lw_commit(&w);
    end = w.offset;
    (void)lw_message(&w, 1, 0, "k", "b", false);
    check_clean();
    TEST_ASSERT_TRUE(res.torn);
    TEST_ASSERT_EQUAL_UINT64(0, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(0, res.last_sequence);
    TEST_ASSERT_EQUAL_UINT64(end, res.end_offset);
    TEST_ASSERT_EQUAL_UINT64(w.offset, res.stop_offset);
}

/* A range that skips is the only record of the sequences it skips, until a commit repeats them. */
static void test_skipped_sequences_are_known_without_a_commit(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    (void)lw_range(&w, 1, 40, true);
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(40, res.last_sequence);
    TEST_ASSERT_EQUAL_UINT64(0, res.live.messages);
}

/* Recovery writes a seal over a torn tail; records of the lost commit group remain behind it. */
static void test_what_lies_behind_a_seal_does_not_count(void)
{
    uint64_t at, end;
    uint32_t chain;

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    at = w.offset;
    chain = w.chain;
    w.keep_model = false;
    (void)lw_message(&w, 2, 0, "k", "torn", true);
    (void)lw_message(&w, 3, 0, "k", "torn", true);
    end = w.offset;
    w.offset = at;
    w.chain = chain;
    w.keep_model = true;
    lw_roll(&w);
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
    TEST_ASSERT_TRUE(res.torn); /* the page calls every end torn that no commit precedes */
    (void)lw_message(&w, 2, 0, "k", "new", true);
    (void)lw_commit_clean(&w);
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(2, res.last_sequence);
    TEST_ASSERT_LESS_THAN_UINT64(end, at);
}

/* The group spans two segments and only its second part reached the disk. */
static void test_records_in_a_later_segment_do_not_outlive_the_end(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    at = lw_message(&w, 2, 0, "k", "b", true);
    lw_roll(&w);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    (void)lw_commit(&w);
    memset(lw_segment_file(&w, 1)->data + at, 0, 4096 - (at - 4096));
    check_clean();
    TEST_ASSERT_TRUE(res.torn);
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
    TEST_ASSERT_TRUE(res.segment[1].after_end);
}

/* --- what is part of it ----------------------------------------------------------------------- */

/* A crash between the commit that gives a segment up and its unlink. */
static void test_leftover_segments_do_not_count(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_commit(&w);
    lw_roll(&w);
    (void)lw_removal(&w, 1, true);
    (void)lw_commit(&w);
    (void)lw_copy(&w, 2, true);
    w.first = 2;
    (void)lw_commit(&w);
    check_clean();
    TEST_ASSERT_TRUE(res.segment[0].leftover);
    TEST_ASSERT_EQUAL_UINT64(2, res.first_segment);
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
    lw_unlink(&w, "0000000000000001.log");
    check_clean();
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
}

/* Commits that go back are a writer's mistake; the greatest first segment counts all the same. */
static void test_first_segment_is_the_greatest_any_commit_names(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    lw_roll(&w);
    (void)lw_copy(&w, 1, true);
    w.first = 2;
    (void)lw_commit(&w);
    lw_roll(&w);
    w.first = 1;
    (void)lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_commit(&w);
    check();
    TEST_ASSERT_EQUAL_UINT64(2, res.first_segment);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
    assert_rule("first segment");
}

/* "A prepared next segment, with or without its header", fresh or recycled. */
static void test_prepared_segments_are_no_damage(void)
{
    struct lw_file *f;

    lw_all_kinds(&w, false);
    f = lw_create(&w, "0000000000000003.log", 8192);
    check_clean();
    TEST_ASSERT_FALSE(res.torn);
    memcpy(f->data, lw_segment_file(&w, 1)->data, 8192);
    check_clean();
    TEST_ASSERT_FALSE(res.torn);
    lw_header(&w, 3);
    check_clean();
    f->data[3] ^= 1;
    check_clean();
    TEST_ASSERT_TRUE(res.segment[2].after_end);
}

static void test_files_being_prepared_and_strangers_are_no_damage(void)
{
    lw_all_kinds(&w, true);
    (void)lw_create(&w, "checkpoint.tmp", 10);
    (void)lw_create(&w, "store.lock", 4);
    check_clean();
    TEST_ASSERT_EQUAL_size_t(0, res.notes);
    (void)lw_create(&w, "000000000000000A.log", 8192);
    (void)lw_create(&w, "0000000000000001.damaged", 8192);
    check_clean();
    TEST_ASSERT_EQUAL_size_t(2, res.notes);
}

static void test_newer_format_is_refused(void)
{
    struct mf_error e;

    lw_segment(&w);
    lw_segment_file(&w, 1)->data[8] = 5;
    check(); /* a flipped bit is no newer version */
    check_result_fini(&res);
    lw_reheader(&w, 1);
    TEST_ASSERT_EQUAL_INT(MF_UNSUPPORTED, image_check(&w, &res, &e));
    TEST_ASSERT_NOT_NULL(strstr(e.text, "version 5"));
}

/* --- rules ------------------------------------------------------------------------------------ */

static void test_sequence_that_does_not_ascend_breaks_a_rule(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_commit(&w);
    check();
    assert_rule("not greater than all before");
}

static void test_copy_of_what_never_was_breaks_a_rule(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    (void)lw_copy(&w, 9, true);
    (void)lw_commit(&w);
    check();
    assert_rule("never given");
}

static void test_mark_that_goes_back_breaks_a_rule(void)
{
    lw_segment(&w);
    (void)lw_mark(&w, 100, 5, true);
    (void)lw_mark(&w, 100, 4, true);
    w.mark_s = 5;
    (void)lw_commit(&w);
    check();
    assert_rule("it goes back");
}

static void test_deadline_at_the_mark_breaks_a_rule(void)
{
    lw_segment(&w);
    (void)lw_mark(&w, 100, 5, true);
    (void)lw_message(&w, 5, 100, "k", "b", true);
    (void)lw_message(&w, 6, 100, "k", "b", true);
    (void)lw_commit(&w);
    check();
    assert_rule("at or before the latest mark");
}

static void test_set_that_does_not_ascend_breaks_a_rule(void)
{
    static const uint64_t set[] = {3, 3};

    lw_segment(&w);
    (void)lw_set(&w, set, 2, true);
    (void)lw_commit(&w);
    check();
    assert_rule("not ascending");
}

static void test_open_batch_at_a_commit_breaks_a_rule_and_does_not_count(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_message(&w, 2, 0, "k", "b", false);
    (void)lw_commit(&w);
    check();
    assert_rule("not complete");
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
}

static void test_commits_that_contradict_the_log_break_rules(void)
{
    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    w.group--;
    (void)lw_commit(&w);
    check();
    assert_rule("group");
    w.last = 0;
    (void)lw_commit(&w);
    check();
    TEST_ASSERT_EQUAL_size_t(2, res.damages);
    w.last = 1;
    w.clock = 0;
    (void)lw_commit(&w);
    w.synced_offset += 8;
    (void)lw_commit(&w);
    check();
    TEST_ASSERT_EQUAL_size_t(4, res.damages);
    w.clock = 2000;
    (void)lw_commit(&w); /* says again how far it is synced, so all above counts */
    check();
    TEST_ASSERT_EQUAL_size_t(4, res.damages);
}

static void test_seal_that_skips_a_segment_breaks_a_rule(void)
{
    static const uint8_t fields[8] = {7};

    lw_segment(&w);
    (void)lw_commit(&w);
    (void)lw_record(&w, 9, 0, 0, fields, 8, NULL, 0);
    lw_segment(&w);
    (void)lw_commit(&w);
    check();
    assert_rule("next segment");
}

/* Reserved fields are part of validity: such a record is none. */
static void test_reserved_bits_make_a_record_invalid(void)
{
    static const uint8_t fields[8] = {1};

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    (void)lw_record(&w, 3, 3, 0, fields, 8, NULL, 0);
    (void)lw_commit(&w);
    (void)lw_commit_clean(&w);
    check();
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_INT(CHECK_RECORDS, res.damage[0].kind);
    TEST_ASSERT_EQUAL_UINT64(24, res.damage[0].length);
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_store_with_every_record_kind_is_read_as_written);
    RUN_TEST(test_segments_account_for_every_byte);
    RUN_TEST(test_deadlines_that_are_past_are_counted_and_alive);
    RUN_TEST(test_redeadline_behind_a_mark_revives_nothing);
    RUN_TEST(test_huge_ranges_end_soon);
    RUN_TEST(test_many_messages_stay_apart);
    RUN_TEST(test_empty_store_is_clean);
    RUN_TEST(test_directory_without_a_store_is_refused);
    RUN_TEST(test_last_group_cut_anywhere_is_a_torn_tail);
    RUN_TEST(test_hole_in_the_last_group_is_a_torn_tail);
    RUN_TEST(test_beginning_of_a_batch_behind_the_last_commit_is_a_torn_tail);
    RUN_TEST(test_skipped_sequences_are_known_without_a_commit);
    RUN_TEST(test_what_lies_behind_a_seal_does_not_count);
    RUN_TEST(test_records_in_a_later_segment_do_not_outlive_the_end);
    RUN_TEST(test_leftover_segments_do_not_count);
    RUN_TEST(test_first_segment_is_the_greatest_any_commit_names);
    RUN_TEST(test_prepared_segments_are_no_damage);
    RUN_TEST(test_files_being_prepared_and_strangers_are_no_damage);
    RUN_TEST(test_newer_format_is_refused);
    RUN_TEST(test_sequence_that_does_not_ascend_breaks_a_rule);
    RUN_TEST(test_copy_of_what_never_was_breaks_a_rule);
    RUN_TEST(test_mark_that_goes_back_breaks_a_rule);
    RUN_TEST(test_deadline_at_the_mark_breaks_a_rule);
    RUN_TEST(test_set_that_does_not_ascend_breaks_a_rule);
    RUN_TEST(test_open_batch_at_a_commit_breaks_a_rule_and_does_not_count);
    RUN_TEST(test_commits_that_contradict_the_log_break_rules);
    RUN_TEST(test_seal_that_skips_a_segment_breaks_a_rule);
    RUN_TEST(test_reserved_bits_make_a_record_invalid);
    return UNITY_END();
}
