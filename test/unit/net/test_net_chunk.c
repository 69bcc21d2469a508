/* test_net_chunk.c: the byte queues against a plain buffer, and what the pool keeps. */
#include "net/chunk_impl.h"

#include "unity.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct chunk_pool pool;

void setUp(void)
{
    memset(&pool, 0, sizeof pool);
}

void tearDown(void)
{
    chunk_pool_fini(&pool);
}

#define MODEL (4u << 20)

/* Compares the bytes of q through iovecs of any number. */
static void check_queue(const struct chunk_queue *q, const uint8_t *want, size_t n, int max)
{
    struct iovec iov[64];
    size_t total, at = 0;
    int k = chunk_queue_iov(q, iov, max, &total);

    TEST_ASSERT_EQUAL(n, q->bytes);
    TEST_ASSERT_EQUAL(n == 0, k == 0);
    for (int i = 0; i < k; i++) {
        TEST_ASSERT_GREATER_THAN(0, iov[i].iov_len);
        TEST_ASSERT_EQUAL_MEMORY(want + at, iov[i].iov_base, iov[i].iov_len);
        at += iov[i].iov_len;
    }
    TEST_ASSERT_EQUAL(total, at);
    TEST_ASSERT_LESS_OR_EQUAL(n, at);
}

/* Random appends, drops and splices do what they do to a plain buffer. */
static void test_random_operations_agree_with_a_plain_buffer(void)
{
    struct chunk_queue q = {NULL, NULL, 0}, other = {NULL, NULL, 0};
    uint8_t *model = malloc(MODEL);
    size_t from = 0, to = 0;
    unsigned seed = 11;

    TEST_ASSERT_NOT_NULL(model);
    for (size_t i = 0; i < MODEL; i++)
        model[i] = (uint8_t)rand_r(&seed);
    for (int step = 0; step < 4000; step++) {
        size_t n = 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 16 == 0 ? 90000 : 700);
        switch (rand_r(&seed) % 4) {
        case 0:
            if (to + n <= MODEL) {
                TEST_ASSERT_EQUAL(0, chunk_queue_append(&q, &pool, model + to, n));
                to += n;
            }
            break;
        case 1: /* through a second queue, which may be left with an empty chunk */
            if (to + n <= MODEL) {
                chunk_queue_push(&other, chunk_get(&pool, 10, 0));
                TEST_ASSERT_EQUAL(0, chunk_queue_append(&other, &pool, model + to, n));
                chunk_queue_splice(&q, &other);
                TEST_ASSERT_EQUAL(0, other.bytes);
                to += n;
            }
            break;
        default:
            n = n < to - from ? n : to - from;
            chunk_queue_drop(&q, &pool, n);
            from += n;
        }
        check_queue(&q, model + from, to - from, 1 + (int)(rand_r(&seed) % 64));
    }
    TEST_ASSERT_GREATER_THAN(MODEL / 4, to);
    chunk_queue_clear(&q, &pool);
    check_queue(&q, NULL, 0, 4);
    free(model);
}

static void test_chunk_fits_what_is_asked_and_hinted(void)
{
    struct chunk *small = chunk_get(&pool, 1, 0), *hinted = chunk_get(&pool, 1, 10000000);
    struct chunk *exact = chunk_get(&pool, 1000000, 0);

    TEST_ASSERT_LESS_THAN(1024, small->cap);
    TEST_ASSERT_GREATER_THAN(60000, hinted->cap);
    TEST_ASSERT_LESS_THAN(70000, hinted->cap); /* a hint never makes more than the largest class */
    TEST_ASSERT_EQUAL(1000000, exact->cap);
    TEST_ASSERT_NULL(chunk_get(&pool, (size_t)UINT32_MAX + 1, 0));
    chunk_put(&pool, small);
    chunk_put(&pool, hinted);
    TEST_ASSERT_EQUAL(1024 + 65536, pool.bytes);
    chunk_put(&pool, exact); /* too large to keep */
    TEST_ASSERT_EQUAL(1024 + 65536, pool.bytes);
    TEST_ASSERT_EQUAL_PTR(small, chunk_get(&pool, 5, 0)); /* the same memory again */
    chunk_put(&pool, small);
}

static void test_pool_is_bounded_and_trims_what_is_not_used(void)
{
    static struct chunk *c[400];

    for (size_t i = 0; i < MF_COUNT(c); i++)
        c[i] = chunk_get(&pool, 60000, 0);
    for (size_t i = 0; i < MF_COUNT(c); i++)
        chunk_put(&pool, c[i]);
    TEST_ASSERT_LESS_OR_EQUAL(POOL_MAX_BYTES, pool.bytes);
    TEST_ASSERT_GREATER_THAN(POOL_MAX_BYTES / 2, pool.bytes);
    chunk_pool_trim(&pool); /* the pool was empty within this period: all of it was used */
    TEST_ASSERT_GREATER_THAN(POOL_MAX_BYTES / 2, pool.bytes);
    c[0] = chunk_get(&pool, 60000, 0);
    chunk_put(&pool, c[0]);
    chunk_pool_trim(&pool); /* only one was */
    TEST_ASSERT_EQUAL(65536, pool.bytes);
    chunk_pool_trim(&pool);
    TEST_ASSERT_EQUAL(0, pool.bytes);
}

#define LEFT  400u
#define SMALL 2000u /* more in all than what lies about on the heap */

/* Pages of these chunks that are in memory. */
static size_t resident(uint8_t *const at[LEFT])
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
    unsigned char in;

    for (size_t i = 0; i < LEFT; i++)
        for (size_t k = 0; k < 60000 / page; k++) {
            void *p = (void *)((uintptr_t)(at[i] + k * page) / page * page);
            n += mincore(p, page, &in) == 0 && (in & 1); /* not 0: not even mapped */
        }
    return n;
}

/* Although small things lie between them that stay. */
static void test_what_is_discarded_goes_back_to_the_kernel(void)
{
    static uint8_t *at[LEFT], *small[LEFT];
    struct chunk_queue q = {NULL, NULL, 0};

    for (size_t i = 0; i < LEFT; i++) {
        struct chunk *c = chunk_get(&pool, 60000, 0);
        TEST_ASSERT_NOT_NULL(c);
        at[i] = c->data;
        memset(c->data, 'x', c->cap);
        c->end = c->cap;
        chunk_queue_push(&q, c);
        small[i] = malloc(SMALL);
        TEST_ASSERT_NOT_NULL(small[i]);
        memset(small[i], (int)(i & 0xff), SMALL);
    }
    size_t before = resident(at);
    TEST_ASSERT_GREATER_THAN(0, before);
    TEST_ASSERT_FALSE(chunk_queue_discard(&q, LEFT - 1));
    TEST_ASSERT_EQUAL(q.head->cap, q.bytes);
    TEST_ASSERT_TRUE(chunk_queue_discard(&q, 2));
    TEST_ASSERT_EQUAL(0, q.bytes);
    TEST_ASSERT_NULL(q.tail);
    TEST_ASSERT_LESS_OR_EQUAL(before / 5, resident(at)); /* but for their edges */
    for (size_t i = 0; i < LEFT; i++) {
        for (size_t k = 0; k < SMALL; k++)
            TEST_ASSERT_EQUAL_UINT8(i & 0xff, small[i][k]);
        free(small[i]);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_random_operations_agree_with_a_plain_buffer);
    RUN_TEST(test_chunk_fits_what_is_asked_and_hinted);
    RUN_TEST(test_pool_is_bounded_and_trims_what_is_not_used);
    RUN_TEST(test_what_is_discarded_goes_back_to_the_kernel);
    return UNITY_END();
}
