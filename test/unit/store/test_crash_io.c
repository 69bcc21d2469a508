/* test_crash_io.c: what the power-cut files say is on the disk, mode by mode, in cases small enough
 * to list every disk there can be.  Linked with --wrap, so that allocations can be told to fail. */
#include "support/crash_io.h"
#include "support/no_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

static struct store_io *rec; /* the recorded files */
static struct mf_error e;

void setUp(void)
{
    TEST_ASSERT_EQUAL_INT(0, crash_io_new(&rec, NULL, &e));
}

void tearDown(void)
{
    fail_at = 0;
    rec->free(rec);
}

static void ok(int rc)
{
    if (rc != 0)
        TEST_FAIL_MESSAGE(e.text);
}

/* --- a script: each line is one change -------------------------------------------------------- */

static struct store_file *opened(struct store_io *io, const char *name, bool create)
{
    struct store_file *f = NULL;
    ok(io->open(io, name, create, &f, &e));
    return f;
}
static void create(const char *name)
{
    rec->close(rec, opened(rec, name, true));
}
static void write_n(const char *name, const void *bytes, size_t n, uint64_t at)
{
    struct store_file *f = opened(rec, name, false);
    ok(rec->pwrite(rec, f, bytes, n, at, &e));
    rec->close(rec, f);
}
static void write_at(const char *name, const char *text, uint64_t at)
{
    write_n(name, text, strlen(text), at);
}
static void truncate_to(const char *name, uint64_t size)
{
    struct store_file *f = opened(rec, name, false);
    ok(rec->truncate(rec, f, size, &e));
    rec->close(rec, f);
}
static void sync_file(const char *name)
{
    struct store_file *f = opened(rec, name, false);
    ok(rec->sync(rec, f, &e));
    rec->close(rec, f);
}
static void syncdir(void)
{
    ok(rec->syncdir(rec, &e));
}
static void rename_to(const char *from, const char *to)
{
    ok(rec->rename(rec, from, to, &e));
}
static void unlink_name(const char *name)
{
    ok(rec->unlink(rec, name, &e));
}
/* A file with this text, all of it durable. */
static void durable(const char *name, const char *text)
{
    create(name);
    write_at(name, text, 0);
    sync_file(name);
    syncdir();
}

/* --- a disk as text: "a=abc b=", sorted by name, zero bytes as '_' ---------------------------- */

struct listing {
    char name[16][16];
    size_t count;
};
static int collect(void *arg, const char *name)
{
    struct listing *l = arg;
    TEST_ASSERT_TRUE(l->count < MF_COUNT(l->name));
    snprintf(l->name[l->count++], sizeof l->name[0], "%s", name);
    return 0;
}
static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static size_t read_all(struct store_io *io, const char *name, uint8_t *dst, size_t cap)
{
    struct store_file *f = opened(io, name, false);
    uint64_t n = 0;
    ok(io->size(io, f, &n, &e));
    TEST_ASSERT_TRUE(n <= cap);
    ok(io->pread(io, f, dst, (size_t)n, 0, &e));
    io->close(io, f);
    return (size_t)n;
}

static void text_of(struct store_io *io, char *dst, size_t cap)
{
    struct listing l = {.count = 0};
    uint8_t bytes[64];
    size_t at = 0;

    ok(io->list(io, collect, &l, &e));
    qsort(l.name, l.count, sizeof l.name[0], compare);
    dst[0] = '\0';
    for (size_t i = 0; i < l.count; i++) {
        size_t n = read_all(io, l.name[i], bytes, sizeof bytes);
        for (size_t k = 0; k < n; k++)
            bytes[k] = bytes[k] == 0 ? '_' : bytes[k];
        at += (size_t)snprintf(dst + at, cap - at, "%s%s=%.*s", i == 0 ? "" : " ", l.name[i],
                               (int)n, (const char *)bytes);
        TEST_ASSERT_TRUE(at < cap);
    }
}

static struct store_io *image(uint64_t at, enum crash_mode mode, uint64_t seed)
{
    struct store_io *io = NULL;
    TEST_ASSERT_EQUAL_INT(0, crash_io_image(rec, at, mode, seed, &io));
    return io;
}

static const char *disk(uint64_t at, enum crash_mode mode, uint64_t seed)
{
    static char text[512];
    struct store_io *io = image(at, mode, seed);
    text_of(io, text, sizeof text);
    io->free(io);
    return text;
}

#define SEEDS 400

/* Over many seeds each of these disks comes up, and no other.  They end with NULL. */
static void assert_disks(enum crash_mode mode, const char *const *want)
{
    unsigned seen[32] = {0};
    size_t n = 0;

    while (want[n] != NULL)
        n++;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const char *got = disk(crash_io_ops(rec), mode, seed);
        size_t i = 0;
        while (i < n && strcmp(want[i], got) != 0)
            i++;
        TEST_ASSERT_TRUE_MESSAGE(i < n, got);
        seen[i]++;
    }
    for (size_t i = 0; i < n; i++)
        TEST_ASSERT_TRUE_MESSAGE(seen[i] > 0, want[i]);
}
#define DISKS(mode, ...) assert_disks(mode, (const char *const[]){__VA_ARGS__, NULL})

static void assert_now(enum crash_mode mode, const char *want)
{
    TEST_ASSERT_EQUAL_STRING(want, disk(crash_io_ops(rec), mode, 1));
}

/* The two ends, at every cut of one story: the worst disk and the best one. */
static void test_drop_and_keep_at_every_cut(void)
{
    static const char *const want[][2] = {
        {"", ""},
        {"", "a="},           /* 1 create a */
        {"", "a=one"},        /* 2 write */
        {"", "a=one"},        /* 3 sync: the bytes, not the name */
        {"a=one", "a=one"},   /* 4 syncdir */
        {"a=one", "a=oNE!"},  /* 5 write */
        {"a=one", "b=oNE!"},  /* 6 rename a to b */
        {"b=one", "b=oNE!"},  /* 7 syncdir: the name, not the bytes */
        {"b=oNE!", "b=oNE!"}, /* 8 sync */
        {"b=oNE!", "b=oN"},   /* 9 truncate */
        {"b=oN", "b=oN"},     /* 10 sync */
        {"b=oN", ""},         /* 11 unlink */
        {"", ""},             /* 12 syncdir */
    };
    char text[64];

    create("a");
    write_at("a", "one", 0);
    sync_file("a");
    syncdir();
    write_at("a", "NE!", 1);
    rename_to("a", "b");
    syncdir();
    sync_file("b");
    truncate_to("b", 2);
    sync_file("b");
    unlink_name("b");
    syncdir();
    TEST_ASSERT_EQUAL_UINT64(MF_COUNT(want) - 1, crash_io_ops(rec));
    for (int round = 0; round < 2; round++) /* the second one steps back */
        for (size_t at = 0; at < MF_COUNT(want); at++) {
            TEST_ASSERT_EQUAL_STRING(want[at][0], disk(at, CRASH_DROP, 0));
            TEST_ASSERT_EQUAL_STRING(want[at][1], disk(at, CRASH_KEEP, 0));
        }
    struct store_io *none = NULL;
    TEST_ASSERT_EQUAL_INT(MF_INVAL, crash_io_image(rec, MF_COUNT(want), CRASH_KEEP, 0, &none));
    TEST_ASSERT_NULL(none);
    TEST_ASSERT_EQUAL_STRING("write 3 bytes at 1 of a",
                             crash_io_describe(rec, 5, text, sizeof text));
    TEST_ASSERT_EQUAL_STRING("truncate b to 2", crash_io_describe(rec, 9, text, sizeof text));
    TEST_ASSERT_EQUAL_STRING("rename a to b", crash_io_describe(rec, 6, text, sizeof text));
}

static void test_reading_and_failing_calls_are_no_changes(void)
{
    struct store_file *f = NULL;

    durable("a", "one");
    uint64_t n = crash_io_ops(rec);
    TEST_ASSERT_EQUAL_INT(MF_EXISTS, rec->open(rec, "a", true, &f, &e));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, rec->unlink(rec, "x", &e));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, rec->rename(rec, "x", "y", &e));
    write_at("a", "", 0);
    TEST_ASSERT_EQUAL_STRING("a=one", disk(n, CRASH_DROP, 0));
    TEST_ASSERT_EQUAL_UINT64(n, crash_io_ops(rec));
}

/* Where nothing is unsynced a crash test needs one image, not all modes: so this must be right. */
static void test_unsynced_counts_and_none_means_one_disk(void)
{
    struct crash_unsynced u;

    durable("a", "one");
    create("b");
    write_at("b", "x", 0);
    write_at("a", "y", 0);
    ok(crash_io_unsynced(rec, crash_io_ops(rec), &u));
    TEST_ASSERT_EQUAL_size_t(2, u.writes);
    TEST_ASSERT_EQUAL_size_t(1, u.names);
    unlink_name("b"); /* its write is of no importance once the unlink is durable */
    sync_file("a");
    syncdir();
    ok(crash_io_unsynced(rec, crash_io_ops(rec), &u));
    TEST_ASSERT_EQUAL_size_t(0, u.writes);
    TEST_ASSERT_EQUAL_size_t(0, u.names);
    for (int mode = 0; mode < CRASH_MODES; mode++)
        for (uint64_t seed = 0; seed < 20; seed++)
            TEST_ASSERT_EQUAL_STRING("a=yne", disk(crash_io_ops(rec), mode, seed));
}

static void test_zeros_keeps_names_and_sizes_without_the_bytes(void)
{
    durable("a", "one");
    write_at("a", "ONE+more", 0);
    create("b");
    write_at("b", "two", 2);
    assert_now(CRASH_ZEROS, "a=one_____ b=_____");
    truncate_to("a", 1);
    assert_now(CRASH_ZEROS, "a=one b=_____");
}

static void test_prefix_keeps_the_order_of_all_changes(void)
{
    durable("a", "--");
    create("b");
    write_at("a", "1", 0);
    write_at("b", "2", 0);
    write_at("a", "3", 1);
    DISKS(CRASH_PREFIX, "a=--", "a=-- b=", "a=1- b=", "a=1- b=2", "a=13 b=2");
}

/* fsync of a new file says nothing of its name, and a lost unlink brings the bytes back. */
static void test_lost_names_are_a_prefix_with_all_bytes_or_none(void)
{
    durable("old", "o");
    write_at("old", "O", 0);
    create("new");
    write_at("new", "n", 0);
    sync_file("new");
    unlink_name("old");
    DISKS(CRASH_LOST_NAMES, "old=o", "old=O", "new=n old=o", "new=n old=O", "new=n");
}

/* A blob replaced by rename: the old or the new one, whatever else happens. */
static void test_lost_renames_leave_old_or_new(void)
{
    durable("blob", "1");
    create("tmp");
    write_at("tmp", "2", 0);
    sync_file("tmp");
    rename_to("tmp", "blob");
    DISKS(CRASH_LOST_NAMES, "blob=1", "blob=1 tmp=2", "blob=2");
    DISKS(CRASH_MIXED_NAMES, "blob=1", "blob=1 tmp=2", "blob=2");
    syncdir();
    DISKS(CRASH_MIXED_NAMES, "blob=2");
    durable("x", "x");
    rename_to("x", "blob");
    unlink_name("blob"); /* of what was x: alone it takes nothing */
    DISKS(CRASH_MIXED_NAMES, "blob=2 x=x", "blob=x", "");
}

/* Not in order: the unlink of one may survive while the creation before it does not; but a file
 * has one name. */
static void test_mixed_names_are_any_subset(void)
{
    durable("x", "x");
    create("a");
    rename_to("x", "y");
    rename_to("y", "z");
    DISKS(CRASH_MIXED_NAMES, "x=x", "y=x", "z=x", "a= x=x", "a= y=x", "a= z=x");
}

static void test_a_name_taken_again_never_mixes_the_two_files(void)
{
    durable("a", "old");
    unlink_name("a");
    create("a");
    write_at("a", "new", 0);
    sync_file("a");
    DISKS(CRASH_LOST_NAMES, "a=old", "", "a=new");
    DISKS(CRASH_MIXED_NAMES, "a=old", "", "a=new");
}

static void test_reordered_takes_each_file_whole_or_not(void)
{
    durable("a", "--");
    durable("b", "--");
    write_at("a", "1", 0);
    write_at("b", "2", 0);
    write_at("a", "3", 1);
    DISKS(CRASH_REORDERED, "a=-- b=--", "a=13 b=--", "a=-- b=2-", "a=13 b=2-");
}

/* 'a' everywhere and durable, then 'b' over [300, 1500): three sectors touched, each by itself. */
static void test_each_sector_is_old_or_new_by_itself(void)
{
    uint8_t old[2048], new[1200], got[2048];
    unsigned seen = 0;

    memset(old, 'a', sizeof old);
    memset(new, 'b', sizeof new);
    create("f");
    write_n("f", old, sizeof old, 0);
    sync_file("f");
    syncdir();
    write_n("f", new, sizeof new, 300);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct store_io *io = image(crash_io_ops(rec), CRASH_SECTORS, seed);
        TEST_ASSERT_EQUAL_size_t(2048, read_all(io, "f", got, sizeof got));
        io->free(io);
        unsigned bits = 0;
        for (size_t i = 0; i < 3; i++)
            bits |= got[i == 0 ? 300 : i * 512] == 'b' ? 1u << i : 0;
        for (size_t i = 0; i < sizeof got; i++) {
            bool touched = i >= 300 && i < 1500;
            TEST_ASSERT_EQUAL_HEX8(touched && (bits >> i / 512 & 1) ? 'b' : 'a', got[i]);
        }
        seen |= 1u << bits;
    }
    TEST_ASSERT_EQUAL_HEX(0xff, seen); /* all eight */
}

/* The page cache has one state of a sector at a time: no later write without the earlier one. */
static void test_a_sector_never_shows_a_later_write_without_an_earlier(void)
{
    durable("a", "---");
    write_at("a", "1", 0);
    write_at("a", "2", 1);
    write_at("a", "3", 2);
    DISKS(CRASH_SECTORS, "a=---", "a=1--", "a=12-", "a=123");
}

/* Growing: the size of some moment, and zeros where the bytes did not make it. */
static void test_a_size_may_be_there_without_the_bytes_and_the_reverse(void)
{
    durable("a", "-");
    write_at("a", "12", 0);
    truncate_to("a", 4);
    DISKS(CRASH_SECTORS, "a=-", "a=1", "a=-_", "a=12", "a=-___", "a=12__");
    sync_file("a");
    truncate_to("a", 0);
    write_at("a", "x", 3);
    DISKS(CRASH_SECTORS, "a=12__", "a=", "a=____", "a=___x");
}

static void test_torn_cuts_the_last_write_in_its_last_sector(void)
{
    uint8_t bytes[1300], got[2048];
    bool shorter = false, zeros = false;

    memset(bytes, 'n', sizeof bytes);
    durable("g", "-");
    create("f");
    write_n("f", bytes, 200, 0);
    write_at("g", "G", 0);
    write_n("f", bytes, 1300, 200); /* to 1500: its last sector begins at 1024 */
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct store_io *io = image(crash_io_ops(rec), CRASH_TORN, seed);
        size_t n = read_all(io, "f", got, sizeof got), there = 0;
        while (there < n && got[there] == 'n')
            there++;
        TEST_ASSERT_TRUE(there >= 1024 && there < 1500);
        for (size_t i = there; i < n; i++)
            TEST_ASSERT_EQUAL_HEX8(0, got[i]);
        TEST_ASSERT_TRUE(n == there || n == 1500);
        shorter |= n < 1500;
        zeros |= n == 1500;
        TEST_ASSERT_EQUAL_size_t(1, read_all(io, "g", got, sizeof got));
        TEST_ASSERT_EQUAL_CHAR('G', got[0]);
        io->free(io);
    }
    TEST_ASSERT_TRUE(shorter && zeros);
}

/* Recovery writes to an image; and it may be cut off in turn. */
static void test_an_image_is_read_write_and_can_be_recorded_again(void)
{
    durable("a", "one");
    write_at("a", "ONE", 0);
    struct store_io *first = image(crash_io_ops(rec), CRASH_KEEP, 0), *again = rec;
    ok(first->enter(first, &e));
    first->leave(first);
    TEST_ASSERT_EQUAL_INT(0, crash_io_new(&rec, first, &e));
    TEST_ASSERT_EQUAL_UINT64(0, crash_io_ops(rec));
    for (int mode = 0; mode < CRASH_MODES; mode++) /* what was found is durable */
        TEST_ASSERT_EQUAL_STRING("a=ONE", disk(0, mode, 7));
    write_at("a", "!", 3);
    create("empty");
    TEST_ASSERT_EQUAL_STRING("a=ONE", disk(2, CRASH_DROP, 0));
    TEST_ASSERT_EQUAL_STRING("a=ONE! empty=", disk(2, CRASH_KEEP, 0));
    struct store_io *third = image(2, CRASH_KEEP, 0);
    rec->free(rec);
    rec = again;
    struct store_file *f = opened(third, "a", false); /* outlives what it was made from */
    const uint8_t *p = third->map(third, f, 4);
    TEST_ASSERT_EQUAL_MEMORY("ONE!", p, 4);
    TEST_ASSERT_TRUE(third->resident(third, p, 0, 4));
    ok(third->pwrite(third, f, "1", 1, 0, &e));
    TEST_ASSERT_EQUAL_MEMORY("1NE!", p, 4);
    third->unmap(third, p, 4);
    third->close(third, f);
    third->free(third);
    assert_now(CRASH_KEEP, "a=ONE"); /* nobody else's bytes changed */
}

/* --- against a naive model -------------------------------------------------------------------- */

enum { NAMES = 4, STEPS = 400, WIDTH = 8 };
struct content {
    char bytes[WIDTH];
    size_t len;
};
/* Files by number; a name holds one, or -1.  Copied whole wherever something becomes durable. */
static struct model {
    struct content now[STEPS], safe[STEPS];
    int names[NAMES], safe_names[NAMES], count;
} model;

static void model_text(const struct content *c, const int *names, char *dst, size_t cap)
{
    size_t at = 0;

    dst[0] = '\0';
    for (int i = 0; i < NAMES; i++)
        if (names[i] >= 0)
            at += (size_t)snprintf(dst + at, cap - at, "%s%c=%.*s", at == 0 ? "" : " ", 'a' + i,
                                   (int)c[names[i]].len, c[names[i]].bytes);
}

/* One random change to both; false: it did not apply. */
static bool random_change(uint64_t r)
{
    int i = (int)((r >> 8) % NAMES), to = (int)((r >> 16) % NAMES), node = model.names[i];
    char name[] = {(char)('a' + i), '\0'}, other[] = {(char)('a' + to), '\0'};
    struct content *c = node < 0 ? NULL : &model.now[node];
    size_t at = c == NULL ? 0 : (r >> 24) % (c->len + 1);
    char text[] = {(char)('A' + (r >> 32) % 26), '\0'};

    if (r % 16 == 0) {
        syncdir();
        memcpy(model.safe_names, model.names, sizeof model.names);
    } else if (c == NULL) {
        create(name);
        model.names[i] = model.count++;
    } else if (r % 16 < 9) {
        if (at == WIDTH)
            return false;
        write_at(name, text, at);
        c->bytes[at] = text[0];
        c->len = at + 1 > c->len ? at + 1 : c->len;
    } else if (r % 16 == 9) {
        truncate_to(name, at);
        c->len = at;
    } else if (r % 16 < 13) {
        sync_file(name);
        model.safe[node] = *c;
    } else if (r % 16 < 15) {
        rename_to(name, other);
        model.names[i] = -1;
        model.names[to] = node;
    } else {
        unlink_name(name);
        model.names[i] = -1;
    }
    return true;
}

static void test_random_scripts_agree_with_a_naive_model(void)
{
    static char want[STEPS + 1][2][128];
    uint64_t r = 2024;
    size_t n = 0;

    memset(&model, 0, sizeof model);
    memset(model.names, -1, sizeof model.names);
    memset(model.safe_names, -1, sizeof model.safe_names);
    while (n < STEPS) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        if (!random_change(r >> 16))
            continue;
        n++;
        model_text(model.safe, model.safe_names, want[n][0], sizeof want[n][0]);
        model_text(model.now, model.names, want[n][1], sizeof want[n][1]);
    }
    TEST_ASSERT_EQUAL_UINT64(n, crash_io_ops(rec));
    for (size_t k = 0; k <= n; k++) {
        size_t at = k % 3 == 2 ? k / 2 : k; /* back and forth */
        TEST_ASSERT_EQUAL_STRING(want[at][0], disk(at, CRASH_DROP, 0));
        TEST_ASSERT_EQUAL_STRING(want[at][1], disk(at, CRASH_KEEP, 0));
        for (int mode = 0; mode < CRASH_MODES; mode++) { /* built without a mishap, and again */
            char first[512];
            snprintf(first, sizeof first, "%s", disk(at, mode, k));
            TEST_ASSERT_EQUAL_STRING(first, disk(at, mode, k));
        }
    }
}

/* Whichever allocation fails, the next try builds the same disk. */
static void test_any_failed_allocation_is_said_and_forgotten(void)
{
    durable("a", "one");
    write_at("a", "two", 1);
    create("b");
    write_at("b", "new", 0);
    rename_to("b", "c");
    for (int mode = 0; mode < CRASH_MODES; mode++) {
        bool hit = true;
        char want[512];
        snprintf(want, sizeof want, "%s", disk(crash_io_ops(rec), mode, 5));
        for (long n = 1; hit; n++) {
            struct store_io *io = NULL, *back = image(0, CRASH_DROP, 0); /* to the start */
            back->free(back);
            allocations = 0;
            fail_at = n;
            int rc = crash_io_image(rec, crash_io_ops(rec), mode, 5, &io);
            hit = allocations >= n;
            fail_at = 0;
            TEST_ASSERT_TRUE(rc == 0 || (rc == MF_NOMEM && io == NULL));
            if (rc == 0)
                io->free(io);
            TEST_ASSERT_EQUAL_STRING(want, disk(crash_io_ops(rec), mode, 5));
        }
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_drop_and_keep_at_every_cut);
    RUN_TEST(test_reading_and_failing_calls_are_no_changes);
    RUN_TEST(test_unsynced_counts_and_none_means_one_disk);
    RUN_TEST(test_zeros_keeps_names_and_sizes_without_the_bytes);
    RUN_TEST(test_prefix_keeps_the_order_of_all_changes);
    RUN_TEST(test_lost_names_are_a_prefix_with_all_bytes_or_none);
    RUN_TEST(test_lost_renames_leave_old_or_new);
    RUN_TEST(test_mixed_names_are_any_subset);
    RUN_TEST(test_a_name_taken_again_never_mixes_the_two_files);
    RUN_TEST(test_reordered_takes_each_file_whole_or_not);
    RUN_TEST(test_each_sector_is_old_or_new_by_itself);
    RUN_TEST(test_a_sector_never_shows_a_later_write_without_an_earlier);
    RUN_TEST(test_a_size_may_be_there_without_the_bytes_and_the_reverse);
    RUN_TEST(test_torn_cuts_the_last_write_in_its_last_sector);
    RUN_TEST(test_an_image_is_read_write_and_can_be_recorded_again);
    RUN_TEST(test_random_scripts_agree_with_a_naive_model);
    RUN_TEST(test_any_failed_allocation_is_said_and_forgotten);
    return UNITY_END();
}
