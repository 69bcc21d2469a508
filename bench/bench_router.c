/* bench_router.c: what the router alone can do on one core: no sockets, deliver() only counts.
 *
 *     bench_router [subscriptions...]        default: 1000 1000000
 *
 * Times are CPU times, and the best of several slices: on a shared machine the others only ever
 * add to it. */
#include "base/rand.h"
#include "router/router.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SUBJECT 40
#define HOT     1000
#define SLICES  61
#define ROUNDS  50000u

static uint64_t delivered;

static bool count(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    (void)m;
    delivered++;
    return true;
}

struct load {
    struct router *r;
    struct router_sub *sub;
    uint32_t n, next;
    const char *prefix, *suffix; /* subject: prefix, number, suffix */
    struct mf_msg hot[HOT];
    char hot_text[HOT][SUBJECT];
};

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static void report(const char *what, uint32_t subs, double ns)
{
    printf("%-44s %8u subs %9.2f M/s %8.1f ns\n", what, subs, 1e3 / ns, ns);
    fflush(stdout);
}

/* The quickest of some slices of `rounds` calls, in ns per call. */
static double best(void (*one)(struct load *l), struct load *l, uint32_t rounds)
{
    double least = 1e18;

    for (int s = 0; s < SLICES; s++) {
        int64_t start = cpu_ns();
        for (uint32_t i = 0; i < rounds; i++)
            one(l);
        double ns = (double)(cpu_ns() - start) / rounds;
        least = ns < least ? ns : least;
    }
    return least;
}

static void subscribe(struct load *l, struct router_sub *s, const char *pattern, const char *queue)
{
    s->deliver = count;
    if (router_subscribe(l->r, mf_str(pattern), mf_str(queue), s) != 0)
        abort();
}

static size_t publish(struct load *l, struct mf_slice subject)
{
    struct mf_msg msg = {.subject = subject};

    return router_publish(l->r, &(struct router_msg){.route = subject, .msg = &msg});
}

/* snprintf would be half of what is measured. */
static struct mf_slice subject_of(const struct load *l, char dst[SUBJECT], uint32_t number,
                                  const char *suffix)
{
    char digits[10];
    size_t n = strlen(l->prefix), d = sizeof digits, m = strlen(suffix);

    memcpy(dst, l->prefix, n);
    do {
        digits[--d] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(dst + n, digits + d, sizeof digits - d);
    n += sizeof digits - d;
    memcpy(dst + n, suffix, m);
    return mf_slice(dst, n + m);
}

static void load_open(struct load *l, uint32_t n, const char *prefix, const char *suffix)
{
    char text[SUBJECT];

    *l = (struct load){.n = n, .prefix = prefix, .suffix = suffix};
    l->sub = must(calloc(n, sizeof *l->sub));
    if (router_new(&l->r, NULL) != 0)
        abort();
    size_t before = heap();
    int64_t start = cpu_ns();
    for (uint32_t i = 0; i < n; i++) {
        l->sub[i].deliver = count;
        if (router_subscribe(l->r, subject_of(l, text, i, suffix), MF_SLICE_NONE, &l->sub[i]) != 0)
            abort();
    }
    snprintf(text, sizeof text, "subscribe %s<i>%s", prefix, suffix);
    report(text, n, (double)(cpu_ns() - start) / n);
    printf("%-44s %8u subs %9.1f B, and %zu B in the owner\n", "  router memory per subscription",
           n, (double)(heap() - before) / n, sizeof(struct router_sub));
    for (uint32_t i = 0; i < HOT; i++)
        l->hot[i].subject = subject_of(l, l->hot_text[i], i % n, suffix);
}

static void load_close(struct load *l)
{
    int64_t start = cpu_ns();

    for (uint32_t i = 0; i < l->n; i++)
        router_unsubscribe(l->r, &l->sub[i]);
    report("unsubscribe", l->n, (double)(cpu_ns() - start) / l->n);
    router_free(l->r);
    free(l->sub);
}

static void publish_one(struct load *l)
{
    const struct mf_msg *m = &l->hot[0];

    router_publish(l->r, &(struct router_msg){.route = m->subject, .msg = m});
}

static void publish_hot(struct load *l)
{
    const struct mf_msg *m = &l->hot[l->next];

    router_publish(l->r, &(struct router_msg){.route = m->subject, .msg = m});
    l->next = l->next + 1 == HOT ? 0 : l->next + 1;
}

static void publish_any(struct load *l)
{
    char text[SUBJECT];

    publish(l, subject_of(l, text, rand_below(l->n), l->suffix));
}

/* Never the same subject twice: what a cache can do nothing for. */
static void publish_unique(struct load *l)
{
    char text[SUBJECT], end[10] = ".aaaaaaaa";
    uint32_t v = l->next++;

    for (int i = 1; i < 9; i++, v >>= 4)
        end[i] = (char)('a' + (v & 15));
    publish(l, subject_of(l, text, rand_below(l->n), end));
}

/* An old-style client: SUB inbox, request, answer, UNSUB. */
static void request(struct load *l)
{
    struct router_sub inbox = {0};
    char subject[48] = "_INBOX.aaaaaaaaaaaaaaaa";
    uint64_t v = rand_fast();

    for (int i = 7; i < 23; i++, v >>= 4)
        subject[i] = (char)('a' + (v & 15));
    subscribe(l, &inbox, subject, "");
    publish(l, MF_LIT("service.time"));
    publish(l, mf_str(subject));
    router_unsubscribe(l->r, &inbox);
}

static void publish_wide(struct load *l)
{
    publish(l, MF_LIT("wide.news"));
}

static void bench_wide(struct load *l, const char *what, uint32_t members, const char *queue)
{
    struct router_sub *sub = must(calloc(members, sizeof *sub));
    bool group = queue[0] != '\0';

    for (uint32_t i = 0; i < members; i++)
        subscribe(l, &sub[i], "wide.news", queue);
    double ns = best(publish_wide, l, group ? ROUNDS : ROUNDS * 4 / members);
    report(what, members, group ? ns : ns / members);
    for (uint32_t i = 0; i < members; i++)
        router_unsubscribe(l->r, &sub[i]);
    free(sub);
}

static void bench(struct load *l, uint32_t n)
{
    struct router_sub service = {0};

    load_open(l, n, "orders.eu.", "");
    report("publish, cached, one subject", n, best(publish_one, l, ROUNDS));
    report("publish, cached, 1000 subjects", n, best(publish_hot, l, ROUNDS));
    report("publish, random over all subjects", n, best(publish_any, l, ROUNDS));
    subscribe(l, &service, "service.time", "workers");
    report("SUB inbox, request, reply, UNSUB", n, best(request, l, ROUNDS / 4));
    router_unsubscribe(l->r, &service);
    bench_wide(l, "deliveries, one subject to all of", 1000, "");
    bench_wide(l, "publish to a queue group of", 100, "q");
    load_close(l);

    load_open(l, n, "dev.", ".*");
    report("publish, random over all patterns", n, best(publish_any, l, ROUNDS));
    report("publish, never the same subject twice", n, best(publish_unique, l, ROUNDS));
    load_close(l);
}

int main(int argc, char **argv)
{
    struct load *l = must(calloc(1, sizeof *l));

    if (argc == 1) {
        bench(l, 1000);
        bench(l, 1000000);
    }
    for (int i = 1; i < argc; i++)
        bench(l, (uint32_t)strtoul(argv[i], NULL, 10));
    free(l);
    return 0;
}
