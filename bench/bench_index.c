/* bench_index.c: what the index of messages alone can do on one core, without disk.
 *
 *     bench_index [messages]        default: 10000000
 *
 * Keys are "$KV.sessions.%08d", all different, deadlines random over a day.  CPU times; for the
 * puts of a load also the median of 100 slices, which others on the machine disturb less. */
#include "store/index/index.h"

#include "base/rand.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DAY_NS INT64_C(86400000000000)
#define NOW_NS INT64_C(1700000000000000000)
#define KEY    21
#define SLICES 100
#define PRIME  1000000007u

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static void ok(int rc)
{
    if (rc != 0)
        abort();
}

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void report(const char *what, size_t n, int64_t ns)
{
    printf("%-44s %9zu %9.3f s %9.2f M/s %7.1f ns\n", what, n, (double)ns / 1e9,
           (double)n * 1e3 / (double)ns, (double)ns / (double)n);
    fflush(stdout);
}

/* snprintf would be a good part of what is measured. */
static struct mf_slice key_of(char dst[KEY], uint32_t number)
{
    memcpy(dst, "$KV.sessions.", 13);
    for (int i = KEY; i-- > 13; number /= 10)
        dst[i] = (char)('0' + number % 10);
    return mf_slice(dst, KEY);
}

static int64_t deadline_of(void)
{
    return NOW_NS + (int64_t)(rand_fast() % (uint64_t)DAY_NS) + 1;
}

static uint64_t seen;
static void kept(void *arg, uint64_t seq, uint64_t place)
{
    (void)arg;
    seen += seq ^ place;
}

/* What the caller itself does: keys and deadlines. */
static int64_t overhead(size_t n)
{
    int64_t start = cpu_ns();
    char text[KEY];

    for (size_t i = 0; i < n; i++)
        seen += key_of(text, (uint32_t)i).ptr[20] + (uint64_t)deadline_of();
    return cpu_ns() - start;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Fewer keys than messages: in no order. */
static uint32_t key_number(size_t i, size_t n, size_t keys)
{
    return keys < n ? (uint32_t)((i * UINT64_C(0x9E3779B97F4A7C15) >> 33) % keys) : (uint32_t)i;
}

static int64_t puts_of(struct index *ix, size_t n, size_t keys)
{
    int64_t slice[SLICES], start = cpu_ns(), sum = 0;
    char text[KEY];

    for (size_t s = 0; s < SLICES; s++) {
        for (size_t i = n * s / SLICES; i < n * (s + 1) / SLICES; i++)
            ok(index_load_put(ix, i + 1, key_of(text, key_number(i, n, keys)),
                              place_make(1, i * 8, 100, 0), deadline_of(), 0));
        slice[s] = cpu_ns() - start;
        start += slice[s];
        sum += slice[s];
    }
    qsort(slice, SLICES, sizeof slice[0], by_size);
    report("  puts, if all were like the median slice", n, slice[SLICES / 2] * SLICES);
    return sum;
}

static struct index *load(const char *what, size_t n, size_t keys, bool expect)
{
    struct index *ix = must(index_new('.', NOW_NS));

    ok(index_load_begin(ix));
    if (expect)
        ok(index_load_expect(ix, keys));
    int64_t put = puts_of(ix, n, keys);
    report(what, n, put);
    int64_t start = cpu_ns();
    ok(index_load_end(ix, NULL, kept, NULL));
    int64_t end = cpu_ns() - start;
    report("  end", n, end);
    report("  together, without making keys", n, put + end - overhead(n));
    printf("%-44s %9.1f B each, key of %d: %+.1f B\n", "  memory",
           (double)index_memory(ix) / (double)n, KEY, (double)index_memory(ix) / (double)n - KEY);
    return ix;
}

static struct index *add(size_t n)
{
    struct index *ix = must(index_new('.', NOW_NS));
    char text[KEY];
    uint32_t id;
    int64_t start = cpu_ns();

    for (size_t i = 0; i < n; i++)
        ok(index_add(ix, i + 1, key_of(text, (uint32_t)i), place_make(1, i * 8, 100, 0),
                     deadline_of(), &id));
    report("add", n, cpu_ns() - start - overhead(n));
    printf("%-44s %9.1f B each\n", "  memory", (double)index_memory(ix) / (double)n);
    return ix;
}

static void find(struct index *ix, size_t n)
{
    int64_t start = cpu_ns();

    for (size_t i = 0; i < n; i++)
        seen += index_place(ix, index_find(ix, rand_fast() % n + 1));
    report("find by sequence, random, and its place", n, cpu_ns() - start);
    start = cpu_ns();
    for (size_t i = 0; i < n; i++) {
        char text[KEY];
        uint32_t key = keys_find(index_keys(ix), key_of(text, (uint32_t)(rand_fast() % n)));
        seen += index_place(ix, index_key_last(ix, key));
    }
    report("last of a key, random, and its place", n, cpu_ns() - start);
}

static void expire(struct index *ix, size_t n)
{
    int64_t deadline, start = cpu_ns(), slice, longest = 0;
    size_t gone = 0;

    for (int64_t now = NOW_NS; gone < n; now += DAY_NS / 1000) {
        bool all;
        do {
            uint32_t id;
            slice = cpu_ns();
            all = index_advance(ix, now, 1000);
            for (int i = 0; i < 1000 && (id = index_due(ix, &deadline)) != INDEX_NONE;
                 i++, gone++) {
                index_hide(ix, id);
                index_remove(ix, id);
                all = false;
            }
            slice = cpu_ns() - slice;
            longest = slice > longest ? slice : longest;
        } while (!all);
    }
    report("expire: advance, due, hide, remove", n, cpu_ns() - start);
    printf("%-44s %9.3f ms\n", "  longest slice of 1,000", (double)longest / 1e6);
}

/* Every message once: i * prime mod n. */
static void remove_all(struct index *ix, size_t n, size_t stride, const char *what)
{
    int64_t start = cpu_ns(), one, longest = 0;
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        at = (at + stride) % n;
        if (i % 64 != 0) {
            index_remove(ix, index_find(ix, at + 1));
            continue;
        }
        one = cpu_ns();
        index_remove(ix, index_find(ix, at + 1));
        one = cpu_ns() - one;
        longest = one > longest ? one : longest;
    }
    report(what, n, cpu_ns() - start);
    printf("%-44s %9.3f ms; memory afterwards %zu B\n", "  longest of every 64th",
           (double)longest / 1e6, index_memory(ix));
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000000;

    index_free(load("load, 10 messages per key: puts", n, n / 10, true));
    index_free(load("load, number not expected: puts", n, n, false));
    struct index *ix = load("load: puts", n, n, true);
    find(ix, n);
    expire(ix, n);
    index_free(ix);
    ix = add(n);
    remove_all(ix, n, 1, "remove in order");
    index_free(ix);
    ix = add(n);
    remove_all(ix, n, PRIME, "remove at random");
    index_free(ix);
    printf("(%llu)\n", (unsigned long long)seen);
    return 0;
}
