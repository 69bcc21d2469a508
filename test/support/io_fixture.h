/* io_fixture.h: files of each kind in a fresh directory, and words to ask about them. */
#ifndef TEST_IO_FIXTURE_H
#define TEST_IO_FIXTURE_H

#include "store/store_io.h"

#include "crash_io.h"
#include "fault_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unity.h"

static char root[64], path[96]; /* path: root/store */
static struct store_io *io;
static struct mf_error e;

static inline int make_dir(struct store_io **out)
{
    return store_io_dir(out, path, &e);
}
static inline int make_memory(struct store_io **out)
{
    return store_io_memory(out, &e);
}
static inline int make_crash(struct store_io **out)
{
    return crash_io_new(out, NULL, &e);
}
static inline int make_fault(struct store_io **out)
{
    struct store_io *under;
    int rc = store_io_memory(&under, &e);
    if (rc == 0 && (rc = fault_io_new(out, under, &e)) != 0)
        under->free(under);
    return rc;
}
static const struct kind {
    const char *name;
    int (*make)(struct store_io **out);
} kinds[] = {
    {"dir", make_dir}, {"memory", make_memory}, {"crash", make_crash}, {"fault", make_fault}};
static const struct kind *kind = kinds;

static inline void ok(int rc)
{
    if (rc != 0)
        TEST_FAIL_MESSAGE(e.text);
}

static inline int remove_name(void *arg, const char *name)
{
    (void)arg;
    return io->unlink(io, name, &e);
}

static inline void fixture_up(void)
{
    snprintf(root, sizeof root, "/tmp/mayfly-io-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(root));
    snprintf(path, sizeof path, "%s/store", root);
    ok(kind->make(&io));
    ok(io->enter(io, &e));
}

static inline void fixture_down(void)
{
    ok(io->list(io, remove_name, NULL, &e));
    io->free(io);
    rmdir(path);
    TEST_ASSERT_EQUAL_INT(0, rmdir(root));
}

static inline struct store_file *create(const char *name, const void *bytes, size_t n)
{
    struct store_file *f = NULL;
    ok(io->open(io, name, true, &f, &e));
    ok(io->pwrite(io, f, bytes, n, 0, &e));
    return f;
}

static inline void put(const char *name, const char *text)
{
    io->close(io, create(name, text, strlen(text)));
}

static inline struct store_file *open_there(const char *name)
{
    struct store_file *f = NULL;
    ok(io->open(io, name, false, &f, &e));
    return f;
}

static inline uint64_t size_of(struct store_file *f)
{
    uint64_t n = 0;
    ok(io->size(io, f, &n, &e));
    return n;
}

static inline void assert_bytes(struct store_file *f, const void *want, size_t n)
{
    uint8_t *got = malloc(n + 1);
    TEST_ASSERT_EQUAL_UINT64(n, size_of(f));
    ok(io->pread(io, f, got, n, 0, &e));
    TEST_ASSERT_TRUE(memcmp(want, got, n) == 0);
    free(got);
}

static inline void assert_file(const char *name, const char *want)
{
    struct store_file *f = open_there(name);
    assert_bytes(f, want, strlen(want));
    io->close(io, f);
}

static inline void assert_missing(const char *name)
{
    struct store_file *f = NULL;
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, io->open(io, name, false, &f, &e));
    TEST_ASSERT_NULL(f); /* written on success only */
}

static inline int count_name(void *arg, const char *name)
{
    *(size_t *)arg += strlen(name);
    return 0;
}

#endif
