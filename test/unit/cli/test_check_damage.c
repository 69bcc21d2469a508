/* test_check_damage.c: every way to spoil a small store: `mayfly check` finds and locates it, or
 * what lives is the same.  By default one bit of each byte is flipped; MAYFLY_TORTURE=1 flips all
 * eight and throws more garbage. */
#include "support/check_image.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

static struct log_writer w;
static struct check_result res, before; /* before: of the sound store */
static bool torture;

void setUp(void)
{
    lw_init(&w, 8192);
    torture = getenv("MAYFLY_TORTURE") != NULL;
}
void tearDown(void)
{
    check_result_fini(&res);
    check_result_fini(&before);
    lw_fini(&w);
}

static void check(void)
{
    struct mf_error e = {.text = ""};

    check_result_fini(&res);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, image_check(&w, &res, &e), e.text);
}

/* A closed store of two segments with every kind of record, and a checkpoint in the middle. */
static void sound_store(bool checkpoint)
{
    struct log_writer half;

    lw_all_kinds(&w, true);
    if (checkpoint) { /* as the state was before the last group */
        lw_init(&half, 8192);
        lw_all_kinds(&half, false);
        lw_checkpoint(&w, half.segment, half.offset, half.chain);
        lw_fini(&half);
    }
    TEST_ASSERT_EQUAL_INT(0, image_check(&w, &before, NULL));
    TEST_ASSERT_EQUAL_UINT64(0, before.damage_count);
    TEST_ASSERT_EQUAL_INT(checkpoint ? CHECK_CP_MATCHES : CHECK_CP_NONE, before.checkpoint);
}

static bool same_state(void)
{
    return res.live.digest == before.live.digest && res.live.messages == before.live.messages &&
           res.last_sequence == before.last_sequence;
}

/* Is a byte of [off, off + n) of this file in what was reported? */
static bool located(const char *file, uint64_t off, uint64_t n)
{
    for (size_t i = 0; i < res.damages; i++) {
        const struct check_damage *d = &res.damage[i];

        if (strcmp(d->file, file) == 0 && d->offset < off + n && off < d->offset + d->length + 1)
            return true;
    }
    return false;
}

static void assert_found(const char *file, uint64_t off, uint64_t n)
{
    char text[96];

    (void)snprintf(text, sizeof text, "%s offset %u length %u", file, (unsigned)off, (unsigned)n);
    TEST_ASSERT_TRUE_MESSAGE(located(file, off, n) || same_state(), text);
}

/* --- bits, lengths, sectors ------------------------------------------------------------------- */

static void flip_all(struct lw_file *f, size_t from, size_t to)
{
    for (size_t at = from; at < to; at++)
        for (unsigned bit = torture ? 0 : at % 8; bit < 8; bit += torture ? 1 : 8) {
            f->data[at] ^= (uint8_t)(1u << bit);
            check();
            assert_found(f->name, at, 1);
            f->data[at] ^= (uint8_t)(1u << bit);
        }
}

static void test_flipped_bit_in_a_segment_is_found(void)
{
    sound_store(false);
    for (uint64_t n = 1; n <= 2; n++) {
        struct lw_file *f = lw_segment_file(&w, n);

        flip_all(f, 0, 64);
        flip_all(f, 2048, 2112);
        flip_all(f, 4096, n == 1 ? 4096 + (size_t)before.segment[0].used : (size_t)w.offset);
    }
}

/* Each byte of a record that counts is vouched for: not only is the state the same or the damage
 * found, it is found. */
static void test_flipped_bit_in_a_synced_record_is_always_located(void)
{
    struct lw_file *f;

    sound_store(false);
    f = lw_segment_file(&w, 1);
    for (size_t at = 4096; at < 4096 + before.segment[0].used; at++) {
        f->data[at] ^= (uint8_t)(0x80 >> at % 8);
        check();
        TEST_ASSERT_TRUE(located(f->name, at, 1));
        TEST_ASSERT_EQUAL_UINT64(1, res.damage_count);
        f->data[at] ^= (uint8_t)(0x80 >> at % 8);
    }
}

static void test_flipped_bit_in_a_checkpoint_is_located_and_harmless(void)
{
    struct lw_file *f;

    sound_store(true);
    f = lw_file(&w, "checkpoint");
    for (size_t at = 0; at < f->size; at++) {
        f->data[at] ^= (uint8_t)(1u << at % 8);
        check();
        TEST_ASSERT_TRUE(same_state());
        TEST_ASSERT_TRUE(located("checkpoint", at, 1));
        TEST_ASSERT_EQUAL_INT(CHECK_CP_DAMAGED, res.checkpoint);
        f->data[at] ^= (uint8_t)(1u << at % 8);
    }
}

/* A file of whole pages, unreadable and beyond what is known to be synced, may be left by a crash:
 * then it shows as a torn tail. */
static void test_file_cut_at_any_length_is_found(void)
{
    sound_store(false);
    for (uint64_t n = 1; n <= 2; n++) {
        struct lw_file *f = lw_segment_file(&w, n);

        for (size_t size = 0; size < 8192; size += torture ? 1 : 7) {
            f->size = size;
            check();
            if (res.torn && size % 4096 == 0)
                continue;
            TEST_ASSERT_GREATER_THAN_UINT64(0, res.damage_count);
            TEST_ASSERT_TRUE(located(f->name, size, 8192 - size));
        }
        f->size = 8192;
    }
}

static void test_checkpoint_cut_at_any_length_is_found(void)
{
    struct lw_file *f;
    size_t size;

    sound_store(true);
    f = lw_file(&w, "checkpoint");
    size = f->size;
    for (f->size = 0; f->size < size; f->size++) {
        check();
        TEST_ASSERT_TRUE(same_state());
        TEST_ASSERT_EQUAL_INT(CHECK_CP_DAMAGED, res.checkpoint);
    }
}

#define SECTOR 512

/* With the last commits gone, nothing is left to say that their groups were ever synced: then it is
 * a torn tail, and said to be one. */
static bool cut_short(uint64_t segment, size_t sector)
{
    return res.torn && segment == w.segment && sector < w.offset && sector + SECTOR > w.offset - 80;
}

static void test_sector_zeroed_copied_or_swapped_is_found(void)
{
    sound_store(false);
    for (uint64_t n = 1; n <= 2; n++) {
        struct lw_file *f = lw_segment_file(&w, n), *o = lw_segment_file(&w, 3 - n);
        uint8_t keep[8192], other[8192];

        memcpy(keep, f->data, sizeof keep);
        memcpy(other, o->data, sizeof other);
        for (size_t a = 0; a < 8192; a += SECTOR) {
            memset(f->data + a, 0, SECTOR);
            check();
            if (!cut_short(n, a))
                assert_found(f->name, a, SECTOR);
            for (size_t b = 0; b < 8192; b += SECTOR) {
                memcpy(f->data + a, keep + b, SECTOR); /* duplicated: b lies at a as well */
                check();
                if (!cut_short(n, a))
                    assert_found(f->name, a, SECTOR);
                memcpy(f->data + b, keep + a, SECTOR); /* swapped */
                check();
                /* One of the two may be looked at by nobody. */
                if (!located(f->name, b, SECTOR) && !cut_short(n, a) && !cut_short(n, b))
                    assert_found(f->name, a, SECTOR);
                memcpy(f->data, keep, sizeof keep);
                memcpy(f->data + a, other + b, SECTOR); /* misdirected from the other segment */
                check();
                if (!cut_short(n, a))
                    assert_found(f->name, a, SECTOR);
                memcpy(f->data, keep, sizeof keep);
            }
        }
    }
}

/* --- one damage at a time --------------------------------------------------------------------- */

static void test_damage_names_the_sequences_between_its_neighbours(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    at = lw_message(&w, 5, 0, "k", "b", true);
    (void)lw_message(&w, 6, 0, "k", "b", true);
    (void)lw_message(&w, 9, 0, "k", "b", true);
    (void)lw_commit(&w);
    (void)lw_commit_clean(&w);
    lw_segment_file(&w, 1)->data[at + 20] ^= 1;
    check();
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_INT(CHECK_RECORDS, res.damage[0].kind);
    TEST_ASSERT_EQUAL_STRING("0000000000000001.log", res.damage[0].file);
    TEST_ASSERT_EQUAL_UINT64(at, res.damage[0].offset);
    TEST_ASSERT_EQUAL_UINT64(64, res.damage[0].length);
    TEST_ASSERT_EQUAL_UINT64(4, res.damage[0].first_seq);
    TEST_ASSERT_EQUAL_UINT64(5, res.damage[0].last_seq);
    TEST_ASSERT_EQUAL_UINT64(3, res.live.messages);
    TEST_ASSERT_FALSE(res.torn);
}

/* The same flip is damage where a later commit says that all was synced, else the end. */
static void test_only_what_was_synced_can_be_damaged(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    at = lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_commit(&w);
    lw_segment_file(&w, 1)->data[at + 20] ^= 1;
    check();
    TEST_ASSERT_EQUAL_UINT64(0, res.damage_count);
    TEST_ASSERT_TRUE(res.torn);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    (void)lw_commit(&w);
    check();
    TEST_ASSERT_EQUAL_UINT64(1, res.damage_count);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(2, res.damage[0].first_seq);
    TEST_ASSERT_EQUAL_UINT64(2, res.damage[0].last_seq);
}

/* A valid record that does not follow the one before it is a stale one: not to be believed.  The
 * next is believed again: "its own chain field is not judged". */
static void test_record_out_of_chain_is_damage(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    w.chain ^= 1;
    at = lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    (void)lw_commit(&w);
    check();
    TEST_ASSERT_EQUAL_UINT64(0, res.damage_count); /* nothing was synced: the end */
    TEST_ASSERT_TRUE(res.torn);
    TEST_ASSERT_EQUAL_UINT64(1, res.live.messages);
    (void)lw_commit_clean(&w);
    check();
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_UINT64(at, res.damage[0].offset);
    TEST_ASSERT_EQUAL_UINT64(64, res.damage[0].length);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
    TEST_ASSERT_EQUAL_UINT64(3, res.live.last_seq);
}

/* The first record of all follows nothing. */
static void test_first_record_of_all_has_no_chain(void)
{
    lw_segment(&w);
    w.chain = 1;
    (void)lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_commit(&w);
    (void)lw_commit_clean(&w);
    check();
    TEST_ASSERT_EQUAL_UINT64(1, res.damage_count);
}

/* No message follows the damage; the commit tells how far the sequences went. */
static void test_commit_tells_the_sequences_of_the_damage_before_it(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", true);
    at = lw_message(&w, 2, 0, "k", "b", true);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    (void)lw_commit(&w);
    (void)lw_commit_clean(&w);
    memset(lw_segment_file(&w, 1)->data + at, 0xee, 128);
    (void)lw_message(&w, 9, 0, "k", "b", true);
    (void)lw_commit(&w);
    check();
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_UINT64(2, res.damage[0].first_seq);
    TEST_ASSERT_EQUAL_UINT64(3, res.damage[0].last_seq);
}

/* A commit far behind may be the only one to say so. */
static void test_commit_in_a_later_segment_tells_damage_from_the_end(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_commit(&w);
    at = lw_message(&w, 1, 0, "k", "b", true);
    (void)lw_message(&w, 2, 0, "k", "b", true);
    lw_roll(&w);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    (void)lw_commit(&w);
    lw_roll(&w);
    (void)lw_message(&w, 4, 0, "k", "b", true);
    (void)lw_commit(&w);
    memset(lw_segment_file(&w, 1)->data + at, 0, 8192 - at);
    check();
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_UINT64(8192 - at, res.damage[0].length);
    TEST_ASSERT_EQUAL_UINT64(1, res.damage[0].first_seq);
    TEST_ASSERT_EQUAL_UINT64(2, res.damage[0].last_seq);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
}

/* Of a batch that was synced and then damaged, what is left counts. */
static void test_batch_cut_by_damage_keeps_its_rest(void)
{
    uint64_t at;

    lw_segment(&w);
    (void)lw_message(&w, 1, 0, "k", "b", false);
    at = lw_message(&w, 2, 0, "k", "b", false);
    (void)lw_message(&w, 3, 0, "k", "b", true);
    (void)lw_commit(&w);
    (void)lw_commit_clean(&w);
    lw_segment_file(&w, 1)->data[at] ^= 1;
    check();
    TEST_ASSERT_EQUAL_UINT64(1, res.damage_count);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
}

static void test_one_header_copy_is_enough(void)
{
    sound_store(false);
    lw_segment_file(&w, 1)->data[40] ^= 4;
    check();
    TEST_ASSERT_TRUE(same_state());
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_INT(CHECK_HEADER, res.damage[0].kind);
}

/* The records vouch for themselves: the name and another file's header are enough to read them. */
static void test_records_behind_a_ruined_header_are_read(void)
{
    sound_store(false);
    memset(lw_segment_file(&w, 1)->data, 0xff, 4096);
    check();
    TEST_ASSERT_TRUE(same_state());
    TEST_ASSERT_EQUAL_size_t(2, res.damages);
    memset(lw_segment_file(&w, 2)->data, 0xff, 4096);
    check(); /* nobody knows the store's id any more */
    TEST_ASSERT_EQUAL_UINT64(0, res.live.messages);
    TEST_ASSERT_GREATER_OR_EQUAL_size_t(2, res.damages);
}

static void test_file_of_another_store_is_damage(void)
{
    struct log_writer other;

    sound_store(true);
    lw_init(&other, 8192);
    other.id[0] ^= 1;
    lw_all_kinds(&other, true);
    memcpy(lw_segment_file(&w, 1)->data, lw_segment_file(&other, 1)->data, 8192);
    lw_fini(&other);
    check();
    TEST_ASSERT_EQUAL_UINT64(before.damage_count + 2, res.damage_count);
    TEST_ASSERT_EQUAL_INT(CHECK_RECORDS, res.damage[0].kind);
    TEST_ASSERT_EQUAL_UINT64(4096, res.damage[0].length);
    TEST_ASSERT_EQUAL_INT(CHECK_HEADER, res.damage[1].kind);
}

/* --- files that are gone ---------------------------------------------------------------------- */

static void three_segments(void)
{
    for (uint64_t s = 1; s <= 3; s++) {
        if (s == 1)
            lw_segment(&w);
        else
            lw_roll(&w);
        (void)lw_message(&w, s, 0, "k", "b", true);
        (void)lw_commit(&w);
    }
    (void)lw_commit_clean(&w);
}

static void assert_missing(uint64_t segment, uint64_t seq)
{
    check();
    TEST_ASSERT_EQUAL_size_t(1, res.damages);
    TEST_ASSERT_EQUAL_INT(CHECK_MISSING, res.damage[0].kind);
    TEST_ASSERT_EQUAL_UINT64(segment, res.damage[0].segment);
    TEST_ASSERT_EQUAL_UINT64(seq, res.damage[0].first_seq);
    TEST_ASSERT_EQUAL_UINT64(seq, res.damage[0].last_seq);
    TEST_ASSERT_EQUAL_UINT64(2, res.live.messages);
}

static void test_missing_segment_in_the_middle_is_damage(void)
{
    three_segments();
    lw_unlink(&w, "0000000000000002.log");
    assert_missing(2, 2);
}

static void test_missing_first_segment_is_damage(void)
{
    three_segments();
    lw_unlink(&w, "0000000000000001.log");
    assert_missing(1, 1);
}

/* Nothing in the log knows of its last file; the checkpoint does. */
static void test_missing_last_segment_is_damage_if_the_checkpoint_knows_it(void)
{
    three_segments();
    lw_checkpoint(&w, w.segment, w.offset, w.chain);
    lw_unlink(&w, "0000000000000003.log");
    assert_missing(3, 3);
    TEST_ASSERT_EQUAL_INT(CHECK_CP_EXPLAINED, res.checkpoint);
    TEST_ASSERT_EQUAL_UINT64(1, res.lost);
    TEST_ASSERT_EQUAL_UINT64(3, res.cp_messages);
}

/* A crash may lose the name of one prepared file and keep that of the next. */
static void test_gap_behind_the_end_is_no_damage(void)
{
    three_segments();
    (void)lw_create(&w, "0000000000000005.log", 8192);
    lw_header(&w, 5);
    check();
    TEST_ASSERT_EQUAL_UINT64(0, res.damage_count);
    TEST_ASSERT_FALSE(res.torn);
    (void)lw_create(&w, "ffffffffffffffff.log", 8192);
    check();
    TEST_ASSERT_EQUAL_UINT64(0, res.damage_count);
}

/* --- garbage ---------------------------------------------------------------------------------- */

static uint64_t dice;
static uint32_t roll(uint32_t n)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)((dice >> 32) % n);
}

static void spoil(struct lw_file *f)
{
    size_t at = roll((uint32_t)f->size), n = 1 + roll(700);

    if (at + n > f->size)
        n = f->size - at;
    switch (roll(5)) {
    case 0:
        f->data[at] ^= (uint8_t)(1 + roll(255));
        break;
    case 1:
        memset(f->data + at, (int)roll(256), n);
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            f->data[at + i] = (uint8_t)roll(256);
        break;
    case 3: {
        size_t to = roll((uint32_t)(f->size - n + 1));

        memmove(f->data + to, f->data + at, n);
        break;
    }
    default:
        if (roll(8) == 0)
            f->size = 1 + roll((uint32_t)f->size);
    }
}

/* No promise about what is found, but an answer each time, and no crash. */
static void test_garbage_never_breaks_the_reader(void)
{
    for (uint64_t seed = 1; seed <= (torture ? 100000u : 1500u); seed++) {
        dice = seed * UINT64_C(0x9E3779B97F4A7C15);
        lw_fini(&w);
        lw_init(&w, 8192);
        lw_all_kinds(&w, roll(2) == 0);
        if (roll(2) == 0)
            lw_checkpoint(&w, w.segment, w.offset, w.chain);
        for (uint32_t n = 1 + roll(6); n > 0; n--)
            spoil(&w.file[roll((uint32_t)w.files)]);
        check();
    }
}

/* Fixed parts that look right everywhere: the reader must not hash megabytes at each offset. */
static void test_plausible_junk_is_read_in_linear_time(void)
{
    struct lw_file *f;

    lw_fini(&w);
    lw_init(&w, 4 << 20);
    lw_segment(&w);
    f = lw_segment_file(&w, 1);
    for (size_t at = 4096; at + 16 <= f->size; at += 16) {
        static const uint8_t head[16] = {1, 2, 3, 4, 0, 0, 0x20, 0, 5, 6, 7, 8, 1, 1, 0, 0};

        memcpy(f->data + at, head, 16); /* a message of 2 MiB, if the check were right */
    }
    check();
    TEST_ASSERT_EQUAL_UINT64(0, res.records);
    TEST_ASSERT_EQUAL_UINT64(0, res.damage_count); /* nothing says that it was ever synced */
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_flipped_bit_in_a_segment_is_found);
    RUN_TEST(test_flipped_bit_in_a_synced_record_is_always_located);
    RUN_TEST(test_flipped_bit_in_a_checkpoint_is_located_and_harmless);
    RUN_TEST(test_file_cut_at_any_length_is_found);
    RUN_TEST(test_checkpoint_cut_at_any_length_is_found);
    RUN_TEST(test_sector_zeroed_copied_or_swapped_is_found);
    RUN_TEST(test_damage_names_the_sequences_between_its_neighbours);
    RUN_TEST(test_only_what_was_synced_can_be_damaged);
    RUN_TEST(test_record_out_of_chain_is_damage);
    RUN_TEST(test_first_record_of_all_has_no_chain);
    RUN_TEST(test_commit_tells_the_sequences_of_the_damage_before_it);
    RUN_TEST(test_commit_in_a_later_segment_tells_damage_from_the_end);
    RUN_TEST(test_batch_cut_by_damage_keeps_its_rest);
    RUN_TEST(test_one_header_copy_is_enough);
    RUN_TEST(test_records_behind_a_ruined_header_are_read);
    RUN_TEST(test_file_of_another_store_is_damage);
    RUN_TEST(test_missing_segment_in_the_middle_is_damage);
    RUN_TEST(test_missing_first_segment_is_damage);
    RUN_TEST(test_missing_last_segment_is_damage_if_the_checkpoint_knows_it);
    RUN_TEST(test_gap_behind_the_end_is_no_damage);
    RUN_TEST(test_garbage_never_breaks_the_reader);
    RUN_TEST(test_plausible_junk_is_read_in_linear_time);
    return UNITY_END();
}
