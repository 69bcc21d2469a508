/* test_store_crypt_plain.c: stores that were plain before they got a key, and what in an encrypted
 * store is not sealed. */
#include "crypt_fixture.h"

#include "base/clock.h"

/* --- stores that were plain ------------------------------------------------------------------- */

static void test_a_plain_store_is_encrypted_in_the_background(void)
{
    fill();
    TEST_ASSERT_EQUAL_INT(0, store_remove(d.store, 5, NULL));
    drive_idle(&d);
    reopen(&aes);
    TEST_ASSERT_EQUAL_UINT64(MESSAGES - 1, messages());
    wait_encrypted();
    drive_abandon(&d);
    TEST_ASSERT_EQUAL_size_t(0, times_found(CANARY));
    drive_open(&d);
    TEST_ASSERT_EQUAL_UINT64(MESSAGES - 1, messages());
    assert_gone(5);
    struct store_rec r;
    TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, 6, &r));
    TEST_ASSERT_TRUE(mf_starts(r.body, CANARY " body 5"));
    struct mf_error e;
    drive_close(&d);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, try_open(NULL, &e));
    TEST_ASSERT_EQUAL_INT(0, try_open(&aes, &e));
}

/* Whichever operation fails for good: a later start reads everything, and ends the work. */
static void test_encrypting_a_plain_store_may_be_cut_anywhere(void)
{
    bool hit = true;

    for (uint64_t nth = 1; hit; nth += 1 + nth / 8) {
        struct mf_error e;
        begin(NULL);
        fill();
        drive_close(&d);
        fault_io_arm(d.io, &(struct fault_plan){.nth = nth, .code = MF_IO, .forever = true});
        if (try_open(&chacha, &e) == 0) {
            for (int i = 0; i < 300; i++)
                drive_turn(&d);
            hit = fault_io_hit(d.io);
            fault_io_disarm(d.io);
            while (!store_idle(d.store))
                drive_turn(&d);
            drive_abandon(&d);
        }
        fault_io_disarm(d.io);
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, try_open(&chacha, &e), e.text);
        assert_filled();
        wait_encrypted();
        drive_close(&d);
        TEST_ASSERT_EQUAL_size_t(0, times_found(CANARY));
        drive_open(&d);
        assert_filled();
    }
}

/* --- what is not sealed ----------------------------------------------------------------------- */

static const char first_log[] = "0000000000000001.log";

/* The plain segment, as one of this version, with a key file for it and nothing else. */
static void forge(uint32_t version)
{
    struct disk files;
    struct mf_error e;
    struct segment_head h;

    begin(NULL);
    put("k", "in the clear");
    drive_abandon(&d);
    disk_take(&files, d.io);
    const struct disk_file *f = disk_find(&files, first_log);
    TEST_ASSERT_NOT_NULL(f);
    TEST_ASSERT_EQUAL_INT(0, segment_page_decode(f->bytes, &h));
    segment_page_encode(f->bytes, version, h.id, h.number, h.size, h.created_ns);
    TEST_ASSERT_EQUAL_INT(0, try_open(&chacha, &e));
    drive_abandon(&d);
    struct disk made;
    disk_take(&made, d.io);
    for (size_t i = 0; i < made.files; i++)
        if (strcmp(made.file[i].name, "store.key") != 0 &&
            strcmp(made.file[i].name, first_log) != 0)
            drop_file(made.file[i].name);
    write_file(first_log, f->bytes, f->size);
    disk_free(&made);
    disk_free(&files);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, try_open(&chacha, &e), e.text);
}

static void test_a_plain_message_in_an_encrypted_segment_is_damage(void)
{
    forge(SEGMENT_BITS);
    assert_body(1, "in the clear");
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    forge(SEGMENT_CRYPT);
    TEST_ASSERT_EQUAL_UINT64(0, messages());
    assert_gone(1);
    TEST_ASSERT_EQUAL_size_t(1, store_damage_count(d.store));
}

/* Such a segment may be a plain one: nothing in it is lost, now and at the next start. */
static void test_a_plain_segment_without_a_header_stays_plain(void)
{
    static const uint8_t zeros[SEGMENT_PAGE];
    struct disk files;
    struct mf_error e;

    drive_fini(&d);
    start((struct store_opts){.segment_min = 64u << 10,
                              .segment_max = 64u << 10,
                              .name = "test",
                              .sync = STORE_SYNC_NEVER});
    fill();
    drive_abandon(&d);
    TEST_ASSERT_EQUAL_INT(0, try_open(&chacha, &e)); /* it has a key, and is plain yet */
    drive_abandon(&d);
    disk_take(&files, d.io);
    const struct disk_file *last = NULL;
    for (size_t i = 0; i < files.files; i++)
        if (mf_ends(mf_str(files.file[i].name), ".log") &&
            memmem(files.file[i].bytes, files.file[i].size, CANARY, sizeof CANARY - 1) != NULL &&
            (last == NULL || strcmp(files.file[i].name, last->name) > 0))
            last = &files.file[i];
    TEST_ASSERT_TRUE(last != NULL && strcmp(last->name, first_log) != 0);
    write_file(last->name, zeros, sizeof zeros);
    disk_free(&files);
    for (int i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, try_open(&chacha, &e), e.text);
        assert_filled();
        drive_abandon(&d);
    }
    drive_open(&d);
}

/* On a full disk: not one attempt after the other. */
static void test_a_checkpoint_that_fails_is_tried_again_after_a_pause(void)
{
    struct store_stats before, after;
    int64_t end = clock_mono_ns() + 60 * CLOCK_S;

    put("k", "v");
    drive_close(&d);
    d.opts.secret = &chacha;
    drive_open(&d);
    fault_io_arm(d.io, &(struct fault_plan){
                           .kinds = FAULT_CREATE, .nth = 1, .code = MF_FULL, .forever = true});
    store_stats(d.store, &before);
    uint64_t tried = fault_io_count(d.io, FAULT_CREATE);
    for (int64_t until = clock_mono_ns() + CLOCK_S; clock_mono_ns() < until;)
        drive_turn(&d);
    TEST_ASSERT_TRUE(fault_io_hit(d.io));
    TEST_ASSERT_LESS_THAN_UINT64(20, fault_io_count(d.io, FAULT_CREATE) - tried);
    fault_io_disarm(d.io);
    do {
        drive_turn(&d);
        store_stats(d.store, &after);
        TEST_ASSERT_TRUE(clock_mono_ns() < end);
    } while (after.checkpoints == before.checkpoints);
    assert_body(1, "v");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_plain_store_is_encrypted_in_the_background);
    RUN_TEST(test_encrypting_a_plain_store_may_be_cut_anywhere);
    RUN_TEST(test_a_plain_message_in_an_encrypted_segment_is_damage);
    RUN_TEST(test_a_plain_segment_without_a_header_stays_plain);
    RUN_TEST(test_a_checkpoint_that_fails_is_tried_again_after_a_pause);
    return UNITY_END();
}
