/* test_rand.c: random bytes, identifiers, and the seeded hash. */
#include "base/rand.h"

#include "codec/hash.h"

#include <ctype.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unity.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* Every byte of the request must be written: 64 KiB is more than one answer of the kernel may be
 * without interruption.  A byte stays zero in 8 fills with probability 2^-64. */
static void test_random_bytes_fill_the_whole_request(void)
{
    enum { N = 65536 };
    uint8_t *seen = calloc(1, N), *once = malloc(N);

    TEST_ASSERT_NOT_NULL(seen);
    TEST_ASSERT_NOT_NULL(once);
    for (int i = 0; i < 8; i++) {
        memset(once, 0, N);
        rand_bytes(once, N);
        for (size_t k = 0; k < N; k++)
            seen[k] |= once[k];
    }
    for (size_t k = 0; k < N; k++)
        TEST_ASSERT_NOT_EQUAL(0, seen[k]);
    rand_bytes(NULL, 0);
    free(seen);
    free(once);
}

static void test_choice_stays_below_its_bound_and_takes_every_value(void)
{
    unsigned count[7] = {0};

    for (int i = 0; i < 70000; i++) {
        uint32_t n = rand_below(7);
        TEST_ASSERT_TRUE(n < 7);
        count[n]++;
    }
    /* 10000 expected each, sigma 93: ten sigma never happens. */
    for (int i = 0; i < 7; i++)
        TEST_ASSERT_UINT_WITHIN(930, 10000, count[i]);
    TEST_ASSERT_EQUAL_UINT32(0, rand_below(1));
}

static void *first_choice(void *arg)
{
    *(uint64_t *)arg = rand_fast();
    return NULL;
}

/* Thread-local state that every thread seeded alike would repeat itself. */
static void test_threads_do_not_share_a_sequence(void)
{
    uint64_t first[4];
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL(0, pthread_create(&t[i], NULL, first_choice, &first[i]));
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            TEST_ASSERT_TRUE(first[i] != first[k]);
}

static void test_identifier_has_22_characters_of_base_62_each_equally_likely(void)
{
    unsigned count[128] = {0};
    char id[RAND_NUID + 1], last[RAND_NUID + 1] = "";

    for (int i = 0; i < 620000 / RAND_NUID; i++) {
        rand_nuid(id);
        TEST_ASSERT_EQUAL_size_t(22, strlen(id));
        TEST_ASSERT_TRUE(strcmp(id, last) != 0);
        memcpy(last, id, sizeof last);
        for (const char *p = id; *p != '\0'; p++) {
            TEST_ASSERT_TRUE(isalnum((unsigned char)*p));
            count[(unsigned char)*p]++;
        }
    }
    /* About 10000 expected each, sigma 99.  A bare remainder of 256 would give 12100 to the first.
     */
    for (int c = 0; c < 128; c++)
        if (isalnum(c))
            TEST_ASSERT_UINT_WITHIN(900, 10000, count[c]);
}

static uint64_t hash_in_another_process(void)
{
    uint64_t h = 0;
    int ends[2];

    TEST_ASSERT_EQUAL(0, pipe(ends));
    pid_t pid = fork();
    TEST_ASSERT_TRUE(pid >= 0);
    if (pid == 0) {
        h = hash_bytes("abc", 3);
        _exit(write(ends[1], &h, sizeof h) == (ssize_t)sizeof h ? 0 : 1);
    }
    TEST_ASSERT_EQUAL(sizeof h, read(ends[0], &h, sizeof h));
    waitpid(pid, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    return h;
}

/* Else a client could prepare subjects that all fall into one slot.  Runs before any hash is taken
 * in this process, so that each child chooses for itself. */
static void test_each_process_hashes_differently(void)
{
    TEST_ASSERT_TRUE(hash_in_another_process() != hash_in_another_process());
}

enum { RACERS = 2, RACES = 60 };

static atomic_int at_the_start;

static void *hash_abc(void *arg)
{
    atomic_fetch_add(&at_the_start, 1);
    while (atomic_load(&at_the_start) < RACERS)
        sched_yield(); /* not a barrier: waking up takes longer than the race */
    *(uint64_t *)arg = hash_bytes("abc", 3);
    return NULL;
}

static int race_for_the_seed(void)
{
    uint64_t h[RACERS];
    pthread_t t[RACERS];

    for (int i = 0; i < RACERS; i++)
        if (pthread_create(&t[i], NULL, hash_abc, &h[i]) != 0)
            return 2;
    for (int i = 0; i < RACERS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < RACERS; i++)
        if (h[i] != hash_slice(MF_LIT("abc")))
            return 1;
    return 0;
}

/* The seed is chosen once in a process, so each race is run in a process of its own.  Before any
 * hash is taken in this one. */
static void test_threads_agree_on_the_hash_from_the_first_call_on(void)
{
    for (int i = 0; i < RACES; i++) {
        int status = -1;
        pid_t pid = fork();
        TEST_ASSERT_TRUE(pid >= 0);
        if (pid == 0)
            _exit(race_for_the_seed());
        TEST_ASSERT_EQUAL(pid, waitpid(pid, &status, 0));
        TEST_ASSERT_EQUAL(0, status);
    }
}

static void test_hash_depends_on_every_byte_and_the_length(void)
{
    uint8_t bytes[300] = {0};

    for (size_t n = 0; n < sizeof bytes; n++) {
        uint64_t h = hash_bytes(bytes, n);
        TEST_ASSERT_EQUAL_HEX64(h, hash_bytes(bytes, n));
        TEST_ASSERT_TRUE(h != hash_bytes(bytes, n + 1 < sizeof bytes ? n + 1 : 0));
        for (size_t i = 0; i < n; i++) {
            bytes[i] ^= 1;
            TEST_ASSERT_TRUE(h != hash_bytes(bytes, n));
            bytes[i] ^= 1;
        }
    }
    TEST_ASSERT_EQUAL_HEX64(hash_bytes("", 0), hash_slice(MF_SLICE_NONE));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_process_hashes_differently);
    RUN_TEST(test_threads_agree_on_the_hash_from_the_first_call_on);
    RUN_TEST(test_random_bytes_fill_the_whole_request);
    RUN_TEST(test_choice_stays_below_its_bound_and_takes_every_value);
    RUN_TEST(test_threads_do_not_share_a_sequence);
    RUN_TEST(test_identifier_has_22_characters_of_base_62_each_equally_likely);
    RUN_TEST(test_hash_depends_on_every_byte_and_the_length);
    return UNITY_END();
}
