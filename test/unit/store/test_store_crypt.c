/* test_store_crypt.c: encrypted stores: what the files hold, other keys, changed keys and ciphers,
 * stores that were plain. */
#include "fault/disk.h"
#include "support/store_fixture.h"

#include "base/clock.h"
#include "store/log/record.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#define CANARY "canary-Zx81"

static const struct store_secret chacha = {STORE_CHACHA, {(const uint8_t *)"first", 5}, {NULL, 0}};
static const struct store_secret aes = {STORE_AES, {(const uint8_t *)"first", 5}, {NULL, 0}};
static const struct store_secret second = {STORE_CHACHA, {(const uint8_t *)"second", 6}, {NULL, 0}};
static const struct store_secret rotated = {
    STORE_CHACHA, {(const uint8_t *)"second", 6}, {(const uint8_t *)"first", 5}};

/* Instead of the one that setUp() made. */
static void begin(const struct store_secret *secret)
{
    drive_fini(&d);
    start((struct store_opts){
        .segment_min = 64u << 10, .segment_max = 64u << 10, .name = "test", .secret = secret});
}

static void reopen_closed(const struct store_secret *secret)
{
    d.opts.secret = secret;
    drive_open(&d);
}

static void reopen(const struct store_secret *secret)
{
    drive_close(&d);
    reopen_closed(secret);
}

static int try_open(const struct store_secret *secret, struct mf_error *e)
{
    d.opts.secret = secret;
    return drive_try_open(&d, e);
}

static size_t times_in(const struct disk *files, const char *text)
{
    size_t n = 0, len = strlen(text);

    for (size_t i = 0; i < files->files; i++)
        for (size_t at = 0; at + len <= files->file[i].size; at++)
            n += memcmp(files->file[i].bytes + at, text, len) == 0;
    return n;
}

/* Of a closed store. */
static size_t times_found(const char *text)
{
    struct disk files;

    disk_take(&files, d.io);
    size_t n = times_in(&files, text);
    disk_free(&files);
    return n;
}

/* The upkeep encrypts what was plain, without a write of the owner. */
static void wait_encrypted(void)
{
    int64_t end = clock_mono_ns() + 60 * CLOCK_S;

    for (size_t n = 1; n > 0 || !store_idle(d.store);) {
        struct disk files;
        drive_turn(&d);
        disk_take_open(&files, d.io);
        n = times_in(&files, CANARY);
        disk_free(&files);
        TEST_ASSERT_TRUE(clock_mono_ns() < end);
    }
}

static void assert_same(const struct disk *a, const struct disk *b)
{
    TEST_ASSERT_EQUAL_size_t(a->files, b->files);
    for (size_t i = 0; i < a->files; i++) {
        TEST_ASSERT_EQUAL_STRING(a->file[i].name, b->file[i].name);
        TEST_ASSERT_EQUAL_size_t(a->file[i].size, b->file[i].size);
        TEST_ASSERT_EQUAL_INT(0, memcmp(a->file[i].bytes, b->file[i].bytes, a->file[i].size));
    }
}

#define MESSAGES 300

static void fill(void)
{
    char key[64], body[200];

    for (int i = 0; i < MESSAGES; i++) {
        struct mark m;
        snprintf(key, sizeof key, CANARY ".%d", i % 17);
        snprintf(body, sizeof body, CANARY " body %d %0*d", i, i % 100, 0);
        wait(&m);
        m.a.key = mf_str(key);
        m.a.head = MF_LIT(CANARY " head");
        m.a.body = mf_str(body);
        TEST_ASSERT_EQUAL_INT(0, store_append(d.store, &m.a));
        drive_idle(&d);
        TEST_ASSERT_EQUAL_INT(0, m.status);
    }
    TEST_ASSERT_EQUAL_INT(
        0, store_blob_put(d.store, MF_LIT(CANARY " name"), MF_LIT(CANARY " value"), NULL));
    drive_idle(&d);
}

static void assert_filled(void)
{
    struct store_rec r[3];
    struct mf_slice blob;
    struct store_key k;
    char text[64];

    TEST_ASSERT_EQUAL_UINT64(MESSAGES, messages());
    TEST_ASSERT_EQUAL_size_t(0, store_damage_count(d.store));
    for (int i = 0; i + 2 < MESSAGES; i += 7) {
        /* Several in a turn: each stays valid. */
        for (int n = 0; n < 3; n++)
            TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, (uint64_t)(i + n + 1), &r[n]));
        for (int n = 0; n < 3; n++) {
            snprintf(text, sizeof text, CANARY " body %d ", i + n);
            TEST_ASSERT_TRUE(mf_starts(r[n].body, text));
            TEST_ASSERT_TRUE(mf_eq_str(r[n].head, CANARY " head"));
            snprintf(text, sizeof text, CANARY ".%d", (i + n) % 17);
            TEST_ASSERT_TRUE(mf_eq_str(r[n].key, text));
        }
    }
    TEST_ASSERT_TRUE(store_key(d.store, MF_LIT(CANARY ".3"), &k));
    TEST_ASSERT_EQUAL_UINT64(4, k.first_seq);
    TEST_ASSERT_TRUE(store_blob_get(d.store, MF_LIT(CANARY " name"), &blob));
    TEST_ASSERT_TRUE(mf_eq_str(blob, CANARY " value"));
}

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

static void drop_file(const char *name)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, d.io->enter(d.io, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->unlink(d.io, name, &e));
    d.io->leave(d.io);
}

static void write_file(const char *name, const uint8_t *bytes, size_t n)
{
    struct store_file *f;
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, d.io->enter(d.io, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->open(d.io, name, false, &f, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->pwrite(d.io, f, bytes, n, 0, &e));
    d.io->close(d.io, f);
    d.io->leave(d.io);
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
    RUN_TEST(test_a_plain_store_is_encrypted_in_the_background);
    RUN_TEST(test_encrypting_a_plain_store_may_be_cut_anywhere);
    RUN_TEST(test_a_plain_message_in_an_encrypted_segment_is_damage);
    RUN_TEST(test_a_plain_segment_without_a_header_stays_plain);
    RUN_TEST(test_a_checkpoint_that_fails_is_tried_again_after_a_pause);
    return UNITY_END();
}
