/* test_store_crypt.c: encrypted stores: what the files hold, other keys, changed keys and ciphers.
 */
#include "crypt_fixture.h"

#include <openssl/crypto.h>

/* --- what the files hold ---------------------------------------------------------------------- */

static void hold_nothing(const struct store_secret *secret)
{
    begin(secret);
    fill();
    assert_filled();
    drive_abandon(&d); /* as a kill leaves it: without a checkpoint */
    TEST_ASSERT_EQUAL_size_t(0, times_found(CANARY));
    drive_open(&d);
    assert_filled();
    drive_close(&d); /* with one */
    TEST_ASSERT_EQUAL_size_t(0, times_found(CANARY));
    drive_open(&d);
    assert_filled();
}

static void test_nothing_that_was_written_can_be_read_in_the_files(void)
{
    hold_nothing(&chacha);
    hold_nothing(&aes);
}

/* The same test finds it where nothing is encrypted: it would notice. */
static void test_a_plain_store_can_be_read_in_its_files(void)
{
    fill();
    drive_close(&d);
    TEST_ASSERT_GREATER_THAN_size_t(3 * MESSAGES, times_found(CANARY));
    drive_open(&d);
}

static struct store_read cold;
static char cold_body[32];
static int cold_status;

static void on_read(struct store_read *r, int status)
{
    cold_status = status;
    if (status == 0)
        snprintf(cold_body, sizeof cold_body, "%.*s", MF_FMT(r->rec.body));
}

/* A worker reads and opens it. */
static void test_a_message_that_is_not_in_memory_is_opened(void)
{
    struct mf_buf buf = MF_BUF_INIT;
    struct store_rec r;

    begin(&aes);
    uint64_t seq = put("k", "cold");
    fault_io_cold(d.io, true);
    reopen(&chacha);
    TEST_ASSERT_EQUAL_INT(MF_AGAIN, store_peek(d.store, seq, &r));
    cold = (struct store_read){.seq = seq, .done = on_read};
    cold_status = 1;
    TEST_ASSERT_EQUAL_INT(0, store_read(d.store, &cold));
    while (cold_status == 1)
        loop_turn(d.loop);
    TEST_ASSERT_EQUAL_INT(0, cold_status);
    TEST_ASSERT_EQUAL_STRING("cold", cold_body);
    TEST_ASSERT_EQUAL_INT(0, store_read_now(d.store, seq, &buf, &r));
    TEST_ASSERT_TRUE(mf_eq_str(r.body, "cold"));
    mf_buf_fini(&buf);
}

/* A place has no room for such a length: a start reads it from the record. */
static void test_a_message_longer_than_a_place_can_say_keeps_its_length(void)
{
    size_t n = (1u << 20) + 77;
    char *body = malloc(n);
    struct store_state before, after;
    struct mark m;

    TEST_ASSERT_NOT_NULL(body);
    memset(body, 'x', n);
    begin(&chacha);
    wait(&m);
    m.a.key = MF_LIT("k");
    m.a.body = mf_slice(body, n);
    TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &m.a));
    drive_idle(&d);
    store_state(d.store, &before);
    reopen(&chacha);
    store_state(d.store, &after);
    TEST_ASSERT_EQUAL_UINT64(before.bytes, after.bytes);
    TEST_ASSERT_EQUAL_UINT64(n + 1, after.bytes);
    struct store_rec r;
    TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, m.a.seq, &r));
    TEST_ASSERT_EQUAL_size_t(n, r.body.len);
    TEST_ASSERT_EQUAL_INT(0, memcmp(body, r.body.ptr, n));
    free(body);
}

/* OpenSSL's memory. */
static bool dry;
static void *take(size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return dry ? NULL : malloc(n);
}
static void *take_again(void *p, size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return dry ? NULL : realloc(p, n);
}
static void give_back(void *p, const char *file, int line)
{
    (void)file, (void)line;
    free(p);
}

/* --- other keys ------------------------------------------------------------------------------- */

static void test_another_key_or_none_opens_nothing_and_changes_nothing(void)
{
    const struct store_secret *wrong[] = {&second, NULL};
    const char *said[] = {"does not open store.key", "no key is configured"};
    struct disk before, after;
    struct mf_error e;

    begin(&chacha);
    fill();
    drive_abandon(&d); /* a start has something to do */
    disk_take(&before, d.io);
    for (size_t i = 0; i < 2; i++) {
        TEST_ASSERT_EQUAL_INT(MF_DENIED, try_open(wrong[i], &e));
        TEST_ASSERT_NOT_NULL(strstr(e.text, said[i]));
        TEST_ASSERT_NULL(strstr(e.text, "second"));
        disk_take(&after, d.io);
        assert_same(&before, &after);
        disk_free(&after);
    }
    disk_free(&before);
    TEST_ASSERT_EQUAL_INT(0, try_open(&chacha, &e));
    assert_filled();
}

static void test_no_memory_is_not_a_wrong_key(void)
{
    struct mf_error e;

    begin(&aes);
    put("k", "v");
    drive_close(&d);
    dry = true;
    int rc = try_open(&aes, &e);
    dry = false;
    TEST_ASSERT_EQUAL_INT(MF_NOMEM, rc);
    reopen_closed(&aes);
    assert_body(1, "v");
}

/* A new key must not take the place of the one that is lost. */
static void test_without_its_key_file_nothing_is_changed(void)
{
    struct disk before, after;
    struct mf_error e;

    begin(&chacha);
    fill();
    drive_close(&d);
    drop_file("store.key");
    disk_take(&before, d.io);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, try_open(&chacha, &e));
    TEST_ASSERT_NOT_NULL(strstr(e.text, "store.key"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, try_open(NULL, &e));
    disk_take(&after, d.io);
    assert_same(&before, &after);
    disk_free(&before);
    disk_free(&after);
    begin(&chacha);
}

/* The configured key opens the files of all streams. */
static void test_the_key_file_of_another_stream_changes_nothing(void)
{
    struct disk other, mine, now;
    struct mf_error e;

    begin(&chacha);
    put("k", "of another one");
    drive_close(&d);
    disk_take(&other, d.io);
    begin(&chacha);
    put("k", "v");
    drive_abandon(&d); /* a start has something to do */
    const struct disk_file *f = disk_find(&other, "store.key");
    TEST_ASSERT_NOT_NULL(f);
    write_file("store.key", f->bytes, f->size);
    disk_take(&mine, d.io);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, try_open(&chacha, &e));
    TEST_ASSERT_NOT_NULL(strstr(e.text, "store.key belongs to another stream"));
    disk_take(&now, d.io);
    assert_same(&mine, &now);
    disk_free(&other);
    disk_free(&mine);
    disk_free(&now);
    begin(&chacha);
}

/* A crash after the key file, and before the first segment. */
static void test_a_key_file_alone_is_that_of_a_new_store(void)
{
    struct mf_error e;

    begin(&chacha);
    drive_close(&d);
    drop_file("checkpoint");
    drop_file("0000000000000001.log");
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, try_open(&chacha, &e), e.text);
    uint64_t seq = put("k", "v");
    reopen(&chacha);
    assert_body(seq, "v");
}

/* --- changes ---------------------------------------------------------------------------------- */

static void test_the_key_before_opens_it_once_and_then_no_more(void)
{
    struct mf_error e;

    begin(&chacha);
    fill();
    reopen(&rotated);
    assert_filled();
    drive_close(&d);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, try_open(&chacha, &e));
    TEST_ASSERT_EQUAL_INT(0, try_open(&second, &e));
    assert_filled();
}

/* Whichever operation of the change fails, or is the last before a crash: one of both keys opens
 * it, so both together always do. */
static void test_a_change_of_the_key_may_be_cut_anywhere(void)
{
    bool hit = true;

    for (uint64_t nth = 1; hit; nth++) {
        struct mf_error e;
        begin(&chacha);
        put("k", "v");
        drive_close(&d);
        fault_io_arm(d.io, &(struct fault_plan){.nth = nth, .code = MF_IO, .forever = true});
        bool opened = try_open(&rotated, &e) == 0;
        hit = fault_io_hit(d.io);
        if (opened)
            drive_abandon(&d);
        fault_io_disarm(d.io);
        bool first = try_open(&chacha, &e) == 0;
        if (!first)
            TEST_ASSERT_EQUAL_INT(0, try_open(&second, &e));
        assert_body(1, "v");
        reopen(&rotated);
        assert_body(1, "v");
        TEST_ASSERT_LESS_THAN_UINT64(200, nth);
    }
}

/* The file as it was opens: a full disk does not take the stream offline. */
static void test_a_key_file_that_cannot_be_written_stays_until_the_next_start(void)
{
    struct mf_error e;

    begin(&chacha);
    put("k", "v");
    drive_close(&d);
    fault_io_arm(d.io, &(struct fault_plan){
                           .kinds = FAULT_CREATE, .nth = 1, .code = MF_FULL, .forever = true});
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, try_open(&rotated, &e), e.text);
    TEST_ASSERT_TRUE(fault_io_hit(d.io));
    assert_body(1, "v");
    drive_abandon(&d);
    fault_io_disarm(d.io);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, try_open(&second, &e));
    reopen_closed(&rotated);
    drive_close(&d);
    reopen_closed(&second);
    assert_body(1, "v");
}

/* A new one has no other file: without it nothing would be sealed. */
static void test_a_store_whose_key_file_cannot_be_made_is_not_opened(void)
{
    struct mf_error e;

    put("k", "v");
    drive_close(&d);
    fault_io_arm(d.io, &(struct fault_plan){
                           .kinds = FAULT_CREATE, .nth = 1, .code = MF_FULL, .forever = true});
    TEST_ASSERT_EQUAL_INT(MF_FULL, try_open(&chacha, &e));
    TEST_ASSERT_NOT_NULL(strstr(e.text, "its key file could not be made"));
    fault_io_disarm(d.io);
    reopen_closed(&chacha);
    assert_body(1, "v");
}

static void test_messages_of_both_ciphers_are_read(void)
{
    begin(&chacha);
    uint64_t a = put("k", "by chacha");
    reopen(&aes);
    uint64_t b = put("k", "by aes");
    assert_body(a, "by chacha");
    assert_body(b, "by aes");
    reopen(&chacha);
    assert_body(a, "by chacha");
    assert_body(b, "by aes");
    drive_close(&d);
    TEST_ASSERT_EQUAL_size_t(0, times_found("by "));
    drive_open(&d);
}

int main(void)
{
    if (CRYPTO_set_mem_functions(take, take_again, give_back) != 1)
        return 1;
    UNITY_BEGIN();
    RUN_TEST(test_nothing_that_was_written_can_be_read_in_the_files);
    RUN_TEST(test_a_plain_store_can_be_read_in_its_files);
    RUN_TEST(test_a_message_that_is_not_in_memory_is_opened);
    RUN_TEST(test_a_message_longer_than_a_place_can_say_keeps_its_length);
    RUN_TEST(test_another_key_or_none_opens_nothing_and_changes_nothing);
    RUN_TEST(test_no_memory_is_not_a_wrong_key);
    RUN_TEST(test_without_its_key_file_nothing_is_changed);
    RUN_TEST(test_the_key_file_of_another_stream_changes_nothing);
    RUN_TEST(test_a_key_file_alone_is_that_of_a_new_store);
    RUN_TEST(test_the_key_before_opens_it_once_and_then_no_more);
    RUN_TEST(test_a_change_of_the_key_may_be_cut_anywhere);
    RUN_TEST(test_a_key_file_that_cannot_be_written_stays_until_the_next_start);
    RUN_TEST(test_a_store_whose_key_file_cannot_be_made_is_not_opened);
    RUN_TEST(test_messages_of_both_ciphers_are_read);
    return UNITY_END();
}
