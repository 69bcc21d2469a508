/* crypt_fixture.h: encrypted stores for tests: keys, what their files hold, and files that go. */
#ifndef TEST_CRYPT_FIXTURE_H
#define TEST_CRYPT_FIXTURE_H

#include "fault/disk.h"
#include "support/store_fixture.h"

#include "base/clock.h"
#include "store/log/record.h"

#include <stdlib.h>

#define CANARY "canary-Zx81"

static const struct store_secret chacha
    __attribute__((unused)) = {STORE_CHACHA, {(const uint8_t *)"first", 5}, {NULL, 0}};
static const struct store_secret aes
    __attribute__((unused)) = {STORE_AES, {(const uint8_t *)"first", 5}, {NULL, 0}};
static const struct store_secret second
    __attribute__((unused)) = {STORE_CHACHA, {(const uint8_t *)"second", 6}, {NULL, 0}};
static const struct store_secret rotated __attribute__((unused)) = {
    STORE_CHACHA, {(const uint8_t *)"second", 6}, {(const uint8_t *)"first", 5}};

/* Instead of the one that setUp() made. */
static inline void begin(const struct store_secret *secret)
{
    drive_fini(&d);
    start((struct store_opts){
        .segment_min = 64u << 10, .segment_max = 64u << 10, .name = "test", .secret = secret});
}

static inline void reopen_closed(const struct store_secret *secret)
{
    d.opts.secret = secret;
    drive_open(&d);
}

static inline void reopen(const struct store_secret *secret)
{
    drive_close(&d);
    reopen_closed(secret);
}

static inline int try_open(const struct store_secret *secret, struct mf_error *e)
{
    d.opts.secret = secret;
    return drive_try_open(&d, e);
}

static inline size_t times_in(const struct disk *files, const char *text)
{
    size_t n = 0, len = strlen(text);

    for (size_t i = 0; i < files->files; i++)
        for (size_t at = 0; at + len <= files->file[i].size; at++)
            n += memcmp(files->file[i].bytes + at, text, len) == 0;
    return n;
}

/* Of a closed store. */
static inline size_t times_found(const char *text)
{
    struct disk files;

    disk_take(&files, d.io);
    size_t n = times_in(&files, text);
    disk_free(&files);
    return n;
}

/* The upkeep encrypts what was plain, without a write of the owner. */
static inline void wait_encrypted(void)
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

static inline void assert_same(const struct disk *a, const struct disk *b)
{
    TEST_ASSERT_EQUAL_size_t(a->files, b->files);
    for (size_t i = 0; i < a->files; i++) {
        TEST_ASSERT_EQUAL_STRING(a->file[i].name, b->file[i].name);
        TEST_ASSERT_EQUAL_size_t(a->file[i].size, b->file[i].size);
        TEST_ASSERT_EQUAL_INT(0, memcmp(a->file[i].bytes, b->file[i].bytes, a->file[i].size));
    }
}

#define MESSAGES 300

static inline void fill(void)
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

static inline void assert_filled(void)
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

static inline void drop_file(const char *name)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, d.io->enter(d.io, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->unlink(d.io, name, &e));
    d.io->leave(d.io);
}

static inline void write_file(const char *name, const uint8_t *bytes, size_t n)
{
    struct store_file *f;
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, d.io->enter(d.io, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->open(d.io, name, false, &f, &e));
    TEST_ASSERT_EQUAL_INT(0, d.io->pwrite(d.io, f, bytes, n, 0, &e));
    d.io->close(d.io, f);
    d.io->leave(d.io);
}

#endif
