/* bench_wheel.c: the timer wheel beside a binary heap, in one run.
 *     bench_wheel [TIMERS]          (default 10,000,000)
 * Both keep a position per id, so that both can delete.  Deadlines lie within one hour; time goes
 * in steps of 1 ms, and what is due is taken at each step, as a server does.  Times are of CPU. */
#include "wheel/wheel.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS     1000000LL
#define HOUR   (3600 * 1000 * MS)
#define START  (1790000000LL * 1000 * MS)
#define SLICE  1000
#define BUDGET 4096

static double seconds(void) /* of CPU, so that the machine's other work does not count */
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static uint64_t rnd(void) /* xorshift64*: the same numbers in every run */
{
    static uint64_t x = 88172645463325252u;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    return x * UINT64_C(2685821657736338717);
}
static void *must(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "bench_wheel: out of memory\n");
        exit(1);
    }
    return p;
}

/* --- the binary heap -----------------------------------------------------------------------------
 */

struct item {
    int64_t deadline;
    uint32_t id;
};
struct heap {
    struct item *item;
    uint32_t *place; /* by id */
    size_t n;
};

static bool before(const struct item *a, const struct item *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->id < b->id;
}
static void heap_set(struct heap *h, size_t i, struct item x)
{
    h->item[i] = x;
    h->place[x.id] = (uint32_t)i;
}
static void heap_fix(struct heap *h, size_t i, struct item x)
{
    while (i > 0 && before(&x, &h->item[(i - 1) / 2])) {
        heap_set(h, i, h->item[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (size_t c; (c = 2 * i + 1) < h->n; i = c) {
        if (c + 1 < h->n && before(&h->item[c + 1], &h->item[c]))
            c++;
        if (!before(&h->item[c], &x))
            break;
        heap_set(h, i, h->item[c]);
    }
    heap_set(h, i, x);
}
static void heap_add(struct heap *h, uint32_t id, int64_t deadline)
{
    heap_fix(h, h->n++, (struct item){deadline, id});
}
static void heap_del(struct heap *h, uint32_t id)
{
    size_t i = h->place[id];

    h->place[id] = WHEEL_NONE;
    if (i != --h->n)
        heap_fix(h, i, h->item[h->n]);
}

/* --- both, behind the same few words -------------------------------------------------------------
 */

struct timers {
    struct wheel *wheel; /* NULL: the heap */
    struct heap heap;
    uint32_t *ref;
    uint8_t *page[1];
    uint64_t fired;
    int64_t last; /* deadlines must come in order */
};

static uint64_t order(void *arg, uint32_t id)
{
    (void)arg;
    return id;
}
static void timers_init(struct timers *t, bool wheel, size_t n)
{
    struct wheel_owner o = {{t->page, 31, 0, sizeof(uint32_t)}, order, NULL};

    *t = (struct timers){.ref = must(malloc(n * sizeof *t->ref))};
    memset(t->ref, 0xff, n * sizeof *t->ref);
    t->page[0] = (uint8_t *)t->ref;
    if (wheel) {
        t->wheel = must(wheel_new(&o, START));
    } else {
        t->heap.place = t->ref;
        t->heap.item = must(malloc(n * sizeof *t->heap.item));
        memset(t->heap.item, 0, n * sizeof *t->heap.item); /* no page faults in the figures */
    }
}
static void timers_free(struct timers *t)
{
    wheel_free(t->wheel);
    free(t->heap.item);
    free(t->ref);
}
static void add(struct timers *t, uint32_t id, int64_t deadline)
{
    if (t->wheel == NULL)
        heap_add(&t->heap, id, deadline);
    else if (wheel_add(t->wheel, id, deadline) != 0)
        must(NULL);
}
static void del(struct timers *t, uint32_t id)
{
    if (t->wheel == NULL)
        heap_del(&t->heap, id);
    else
        wheel_del(t->wheel, id);
}
/* Takes what is due, at most `max`; how many it was. */
static size_t fire(struct timers *t, int64_t now, size_t max)
{
    size_t n = 0;
    int64_t d;

    for (; n < max; n++) {
        if (t->wheel != NULL) {
            if (wheel_pop(t->wheel, &d) == WHEEL_NONE)
                break;
        } else {
            if (t->heap.n == 0 || t->heap.item[0].deadline > now)
                break;
            d = t->heap.item[0].deadline;
            heap_del(&t->heap, t->heap.item[0].id);
        }
        if (d < t->last || d > now) {
            fprintf(stderr, "bench_wheel: fired out of order\n");
            exit(1);
        }
        t->last = d;
    }
    t->fired += n;
    return n;
}
static void run_hour(struct timers *t)
{
    for (int64_t now = START; now <= START + HOUR; now += MS) {
        while (t->wheel != NULL && !wheel_advance(t->wheel, now, BUDGET))
            ;
        fire(t, now, SIZE_MAX);
    }
}

/* --- rows ----------------------------------------------------------------------------------------
 */

struct result {
    double adds, fires, both, dels, worst_us, bytes;
};

/* ascending: the i-th timer has the i-th deadline, as when all have the same TTL. */
static struct result row_hour(bool wheel, size_t n, bool ascending)
{
    struct timers t;
    struct result r = {0};
    double a, b, c;

    timers_init(&t, wheel, n);
    a = seconds();
    for (size_t i = 0; i < n; i++)
        add(&t, (uint32_t)i,
            START + (ascending ? (int64_t)((double)HOUR / (double)n * (double)i)
                               : (int64_t)(rnd() % HOUR)));
    b = seconds();
    r.bytes = (wheel ? (double)wheel_memory(t.wheel) / (double)n : sizeof(struct item));
    run_hour(&t);
    c = seconds();
    if (t.fired != n)
        must(NULL);
    r.adds = (double)n / (b - a);
    r.fires = (double)n / (c - b);
    r.both = 2 * (double)n / (c - a);
    timers_free(&t);
    return r;
}

/* Nine in ten are deleted before their time, in no order, as when sessions are touched. */
static struct result row_delete(bool wheel, size_t n)
{
    struct timers t;
    struct result r = {0};
    uint32_t *who = must(malloc(n * sizeof *who));
    double a, b, c, d;

    for (size_t i = 0; i < n; i++) {
        size_t j = rnd() % (i + 1);
        who[i] = who[j];
        who[j] = (uint32_t)i;
    }
    timers_init(&t, wheel, n);
    a = seconds();
    for (size_t i = 0; i < n; i++)
        add(&t, (uint32_t)i, START + (int64_t)(rnd() % HOUR));
    b = seconds();
    for (size_t i = 0; i < n / 10 * 9; i++)
        del(&t, who[i]);
    c = seconds();
    r.bytes = wheel ? (double)wheel_memory(t.wheel) / (double)(n - n / 10 * 9) : 0;
    run_hour(&t);
    d = seconds();
    r.adds = (double)n / (b - a);
    r.dels = (double)(n / 10 * 9) / (c - b);
    r.both = (double)(2 * n) / (d - a);
    timers_free(&t);
    free(who);
    return r;
}

/* All due at one nanosecond, taken in slices; the longest single call counts.  Added in order of
 * their ids, as when many get the same deadline one after the other, or in no order. */
static struct result row_instant(bool wheel, size_t n, bool ascending)
{
    struct timers t;
    struct result r = {0};
    const int64_t at = START + HOUR / 2;
    double a, b, s;
    bool done = false;

    timers_init(&t, wheel, n);
    a = seconds();
    for (size_t i = 0; i < n; i++)
        add(&t, (uint32_t)(ascending ? i : i * 7919 % n), at);
    b = seconds();
    while (t.fired < n) {
        s = seconds();
        if (wheel && !done)
            done = wheel_advance(t.wheel, at, BUDGET);
        else
            fire(&t, at, SLICE);
        s = (seconds() - s) * 1e6;
        r.worst_us = s > r.worst_us ? s : r.worst_us;
    }
    r.adds = (double)n / (b - a);
    r.fires = (double)n / (seconds() - b);
    r.both = 2 * (double)n / (seconds() - a);
    timers_free(&t);
    return r;
}

static void line(const char *what, double wheel, double heap, bool lower)
{
    printf("  %-34s %14.2f %14.2f %8.1fx\n", what, wheel, heap,
           lower ? heap / wheel : wheel / heap);
}

static void table(const char *title, struct result w, struct result h)
{
    printf("%s\n", title);
    line("M adds/s", w.adds / 1e6, h.adds / 1e6, false);
    if (w.dels > 0)
        line("M deletes/s", w.dels / 1e6, h.dels / 1e6, false);
    if (w.fires > 0)
        line("M fires/s", w.fires / 1e6, h.fires / 1e6, false);
    line("M operations/s, all together", w.both / 1e6, h.both / 1e6, false);
    if (w.worst_us > 0)
        line("longest single call, us", w.worst_us, h.worst_us, true);
    if (w.bytes > 0)
        printf("  %-34s %14.2f\n", "wheel: bytes per entry then", w.bytes);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000000,
           million = n < 1000000 ? n : 1000000;

    if (n < 10 || n > 1000000000) {
        fprintf(stderr, "usage: bench_wheel [TIMERS], 10 to 1000000000\n");
        return 2;
    }
    printf("%zu timers within an hour, steps of 1 ms\n  %-34s %14s %14s %9s\n", n, "", "wheel",
           "binary heap", "ratio");
    table("random deadlines", row_hour(true, n, false), row_hour(false, n, false));
    table("ascending deadlines", row_hour(true, n, true), row_hour(false, n, true));
    table("nine in ten deleted early", row_delete(true, n), row_delete(false, n));
    printf("%zu due at one instant, in slices of %d (advance: budget %d)\n", million, SLICE,
           BUDGET);
    table("added in order", row_instant(true, million, true), row_instant(false, million, true));
    table("added in no order", row_instant(true, million, false),
          row_instant(false, million, false));
    return 0;
}
