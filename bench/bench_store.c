/* bench_store.c: the store beside what bounds it: memory copies, the disk's own speed, its syncs.
 *
 *     bench_store DIR [MILLIONS [ROW]]     MILLIONS of live messages for reopening and memory (10);
 *                                          ROW: append, expire, purge or reopen alone
 *
 * Everything runs in DIR, which is emptied.  Figures are of one run on this machine; compare rows.
 */
#include "base/clock.h"
#include "loop/loop.h"
#include "base/rand.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BODY 128
#define KEY  "$KV.sessions.%08u"

static const char *dir;
static uint8_t body[BODY];

static void die(const char *what, const struct mf_error *e)
{
    fprintf(stderr, "bench_store: %s: %s\n", what, e == NULL ? "failed" : e->text);
    exit(1);
}

static void empty_dir(void)
{
    char path[4096];
    DIR *d = opendir(dir);
    struct dirent *n;

    while (d != NULL && (n = readdir(d)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", dir, n->d_name);
        if (n->d_name[0] != '.')
            unlink(path);
    }
    if (d != NULL)
        closedir(d);
    rmdir(dir);
}

static double seconds(int64_t from)
{
    return (double)(clock_mono_ns() - from) / 1e9;
}

static void row(const char *what, double value, const char *unit, const char *note)
{
    if (value >= 1e6)
        printf("%-46s %9.2f M%-8s %s\n", what, value / 1e6, unit, note);
    else if (value >= 1e4)
        printf("%-46s %9.1f k%-8s %s\n", what, value / 1e3, unit, note);
    else
        printf("%-46s %9.3f  %-8s %s\n", what, value, unit, note);
    fflush(stdout);
}

/* --- a store on a loop ---------------------------------------------------------------------- */

struct bench {
    struct loop *loop;
    struct store *s;
    bool closed;
};

static void on_closed(void *arg)
{
    ((struct bench *)arg)->closed = true;
}

static void bench_open(struct bench *b, enum store_sync sync)
{
    struct mf_error e;
    struct store_io *io;
    struct store_opts o = {
        .sync = sync, .sync_interval_ns = 120 * CLOCK_S, .pending_max = 32u << 20, .name = "bench"};

    *b = (struct bench){0};
    if (loop_new(&b->loop, &e) != 0 || store_io_dir(&io, dir, &e) != 0 ||
        store_open(&b->s, &o, io, &e) != 0 || store_attach(b->s, b->loop, &e) != 0)
        die("open", &e);
}

static void bench_close(struct bench *b)
{
    store_close(b->s, on_closed, b);
    while (!b->closed)
        loop_turn(b->loop);
    loop_free(b->loop);
}

static void settle(struct bench *b)
{
    while (!store_idle(b->s))
        loop_turn(b->loop);
}

/* --- what bounds it ------------------------------------------------------------------------- */

static double raw_write(uint64_t bytes)
{
    char path[4096];
    uint8_t *mb = calloc(1, 1 << 20);
    int64_t start;

    snprintf(path, sizeof path, "%s.raw", dir);
    memset(mb, 7, 1 << 20);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    start = clock_mono_ns();
    for (uint64_t n = 0; n < bytes; n += 1 << 20)
        if (write(fd, mb, 1 << 20) != 1 << 20)
            die("raw write", NULL);
    double s = seconds(start);
    close(fd);
    unlink(path);
    free(mb);
    return (double)bytes / s;
}

static double syncs_per_second(void)
{
    char path[4096];
    uint8_t *zero = calloc(1, 1 << 20);
    int n = 300;

    snprintf(path, sizeof path, "%s.raw", dir);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (write(fd, zero, 1 << 20) != 1 << 20 || fsync(fd) != 0)
        die("raw sync", NULL);
    int64_t start = clock_mono_ns();
    for (int i = 0; i < n; i++)
        if (pwrite(fd, body, 128, (i % 256) * 4096) != 128 || fdatasync(fd) != 0)
            die("raw sync", NULL);
    double s = seconds(start);
    close(fd);
    unlink(path);
    free(zero);
    return n / s;
}

/* --- append --------------------------------------------------------------------------------- */

static struct store_append *requests;
static size_t in_flight;

static void on_stored(struct store_wait *w, int status)
{
    (void)w;
    if (status != 0)
        die("append", NULL);
    in_flight--;
}

static int put(struct bench *b, struct store_append *a, const char *key, int64_t deadline_ns)
{
    a->key = mf_str(key);
    a->body = mf_slice(body, BODY);
    a->ts_ns = clock_wall_ns();
    a->deadline_ns = deadline_ns;
    return store_append(b->s, a);
}

/* All that was accepted is written, and synced where that is asked for. */
static void until_written(struct bench *b)
{
    struct store_wait written = {.done = on_stored};

    in_flight = 1;
    if (store_barrier(b->s, &written) != 0)
        die("barrier", NULL);
    while (in_flight > 0)
        loop_turn(b->loop);
}

static void append_relaxed(uint64_t n)
{
    struct bench b;
    static char key[1024][32];
    struct store_append a = {0};
    struct store_stats st;
    char note[160];

    for (unsigned i = 0; i < 1024; i++)
        snprintf(key[i], sizeof key[i], KEY, i);
    bench_open(&b, STORE_SYNC_INTERVAL);
    int64_t start = clock_mono_ns();
    for (uint64_t i = 0; i < n; i++) {
        while (put(&b, &a, key[i & 1023], 0) == MF_AGAIN)
            loop_turn(b.loop);
        if ((i & 4095) == 4095)
            loop_turn(b.loop);
    }
    until_written(&b);
    double s = seconds(start);
    store_stats(b.s, &st);
    settle(&b);
    double idle = seconds(start);
    double raw = raw_write(st.bytes_written);
    double part = (double)st.bytes_written / s / raw;
    snprintf(note, sizeof note, "%.2f of one thread's 1 MB writes (%.0f MB/s); half is asked for",
             part, raw / 1e6);
    row("append 128 B, relaxed", (double)n / s, "/s", note);
    row("  the checkpoint behind it", idle - s, "s", "until the store has nothing left to do");
    bench_close(&b);
    empty_dir();
}

static void append_durable(uint64_t n, size_t window)
{
    struct bench b;
    char key[32], note[160], what[64];

    double syncs = syncs_per_second();
    requests = calloc(window, sizeof *requests);
    bench_open(&b, STORE_SYNC_ALWAYS);
    int64_t start = clock_mono_ns();
    in_flight = 0;
    for (uint64_t i = 0; i < n;) {
        /* A request is free when all of its round are: simple, and no kinder than a real client. */
        while (in_flight < window && i < n) {
            struct store_append *a = &requests[i % window];
            a->wait.done = on_stored;
            snprintf(key, sizeof key, KEY, (unsigned)(i & 1023));
            if (put(&b, a, key, 0) != 0)
                break;
            in_flight++;
            i++;
        }
        loop_turn(b.loop);
    }
    while (in_flight > 0)
        loop_turn(b.loop);
    double s = seconds(start);
    snprintf(what, sizeof what, "append 128 B, durable, %zu in flight", window);
    snprintf(note, sizeof note, "%.0f messages a sync (one 4 KB fdatasync: %.0f us)",
             (double)n / s / syncs, 1e6 / syncs);
    row(what, (double)n / s, "/s", note);
    bench_close(&b);
    free(requests);
    empty_dir();
}

/* Of this thread: on a busy machine a turn may be long because others have the processor. */
static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * CLOCK_S + t.tv_nsec;
}

/* --- expiry --------------------------------------------------------------------------------- */

static void fill(struct bench *b, uint64_t n, int64_t due)
{
    struct store_append a = {0};
    char key[32];

    for (uint64_t i = 0; i < n; i++) {
        snprintf(key, sizeof key, KEY, (unsigned)i);
        while (put(b, &a, key, due) == MF_AGAIN)
            loop_turn(b->loop);
        if ((i & 4095) == 4095)
            loop_turn(b->loop);
    }
    settle(b);
}

/* Waits for the disk to be given back, then tells how much is left, and when. */
static void disk_afterwards(struct bench *b)
{
    int64_t start = clock_mono_ns(), quiet = start + 3 * CLOCK_S;
    struct store_state st;
    char note[96];

    do {
        loop_turn(b->loop);
        store_state(b->s, &st);
    } while (st.disk_bytes > 1 << 20 && clock_mono_ns() < quiet);
    snprintf(note, sizeof note, "of about 200 MB, after %.1f s; %llu segments", seconds(start),
             (unsigned long long)st.segments);
    row("  disk afterwards", (double)st.disk_bytes / 1e6, "MB", note);
}

/* How long this thread is not there in a loop that does nothing, at most: others have its
 * processor, or the host does. */
static double away_ms(double s)
{
    int64_t start = clock_mono_ns(), last = start, worst = 0;

    while ((double)(last - start) < s * 1e9) {
        int64_t t = clock_mono_ns();
        worst = t - last > worst ? t - last : worst;
        last = t;
    }
    return (double)worst / 1e6;
}

static void expire_at_once(uint64_t n)
{
    struct bench b;
    char note[160];
    int64_t due = clock_wall_ns() + 3600 * CLOCK_S, worst = 0;
    bool more = true;
    uint64_t dead = 0;

    bench_open(&b, STORE_SYNC_ALWAYS);
    fill(&b, n, due);
    int64_t start = clock_mono_ns(), begun = cpu_ns();
    while (dead < n) {
        int64_t t = clock_mono_ns();
        dead += store_expire(b.s, due, 1000, NULL, NULL, &more);
        loop_turn(b.loop);
        t = clock_mono_ns() - t;
        worst = t > worst ? t : worst;
    }
    until_written(&b);
    double s = seconds(start);
    double work = (double)(cpu_ns() - begun) / 1e9;
    snprintf(note, sizeof note,
             "0.3 s is asked for; %.3f s of work here; longest turn %.2f ms (5 ms)", work,
             (double)worst / 1e6);
    row("expire 1 M due at once", s, "s", note);
    settle(&b);
    row("  the upkeep behind it", seconds(start) - s, "s",
        "until the store has nothing left to do");
    row("  an empty loop as long is away, at most", away_ms(s), "ms",
        "the host's or others' share");
    disk_afterwards(&b);
    bench_close(&b);
    empty_dir();
}

/* --- purge ---------------------------------------------------------------------------------- */

static void on_purged(struct store_wait *w, int status)
{
    (void)w;
    if (status != 0)
        die("purge", NULL);
    in_flight--;
}

static void purge_all(uint64_t n)
{
    struct bench b;
    struct store_wait w = {.done = on_purged};
    char note[160];
    int64_t worst = 0;

    bench_open(&b, STORE_SYNC_ALWAYS);
    fill(&b, n, clock_wall_ns() + 3600 * CLOCK_S);
    in_flight = 1;
    int64_t start = clock_mono_ns();
    if (store_remove_range(b.s, 1, n, &w) != 0)
        die("purge", NULL);
    int64_t call = clock_mono_ns() - start;
    while (in_flight > 0 || !store_idle(b.s)) { /* a turn waits for the disk: count its work only */
        int64_t t = cpu_ns();
        loop_turn(b.loop);
        t = cpu_ns() - t;
        worst = t > worst ? t : worst;
    }
    snprintf(note, sizeof note, "the call %.2f ms, most work in a turn %.2f ms (5 ms)",
             (double)call / 1e6, (double)worst / 1e6);
    row("purge 1 M, all upkeep included", seconds(start), "s", note);
    disk_afterwards(&b);
    bench_close(&b);
    empty_dir();
}

/* --- reopen, memory, reads ------------------------------------------------------------------ */

static uint64_t rss(void)
{
    unsigned long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%lu %lu", &all, &pages) != 2)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return (uint64_t)pages * 4096;
}

/* What the system takes to hand out that much memory, to two threads as the store has them. */
static void *touch(void *half)
{
    size_t n = *(size_t *)half;
    uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        die("memory", NULL);
    for (size_t i = 0; i < n; i += 4096)
        p[i] = 1;
    munmap(p, n);
    return NULL;
}

static void touch_memory(uint64_t bytes)
{
    size_t half = bytes / 2;
    pthread_t other;
    char note[96];
    int64_t start = clock_mono_ns();

    if (pthread_create(&other, NULL, touch, &half) != 0)
        die("thread", NULL);
    touch(&half);
    pthread_join(other, NULL);
    snprintf(note, sizeof note, "%.0f MB, as the index takes, by two threads", (double)bytes / 1e6);
    row("  fresh memory from the system", seconds(start), "s", note);
}

static void fill_and_die(uint64_t n)
{
    struct bench b;
    struct store_append a = {0};
    char key[32];
    int64_t day = clock_wall_ns() + 3600 * CLOCK_S;

    bench_open(&b, STORE_SYNC_ALWAYS);
    for (uint64_t i = 0; i < n; i++) {
        snprintf(key, sizeof key, KEY, (unsigned)i);
        int64_t dl = day + (int64_t)(rand_fast() % (86400ull * CLOCK_S));
        while (put(&b, &a, key, dl) == MF_AGAIN)
            loop_turn(b.loop);
        if ((i & 4095) == 4095)
            loop_turn(b.loop);
    }
    settle(&b);
    kill(getpid(), SIGKILL);
}

static void reads(struct bench *b, uint64_t n)
{
    struct store_rec rec;
    char key[32];
    uint64_t ok = 0, cold = 0, rounds = 1000000;
    struct store_key k;

    int64_t start = clock_mono_ns();
    for (uint64_t i = 0; i < rounds; i++) {
        int rc = store_peek(b->s, 1 + rand_fast() % n, &rec);
        ok += rc == 0;
        cold += rc == MF_AGAIN;
    }
    double s = seconds(start);
    char note[96];
    snprintf(note, sizeof note, "%.1f %% in memory", 100.0 * (double)ok / (double)(ok + cold));
    row("random reads", (double)rounds / s, "/s", note);
    start = clock_mono_ns();
    ok = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        snprintf(key, sizeof key, KEY, (unsigned)(rand_fast() % n));
        ok += store_key(b->s, mf_str(key), &k);
    }
    s = seconds(start);
    row("last of a key, random", (double)rounds / s, "/s", ok == rounds ? "" : "some not found!");
}

static void reopen(uint64_t n)
{
    struct bench b;
    struct store_stats st;
    struct store_state state;
    char note[200];
    pid_t child = fork();

    if (child == 0)
        fill_and_die(n);
    waitpid(child, NULL, 0);
    uint64_t before = rss();
    int64_t start = clock_mono_ns();
    bench_open(&b, STORE_SYNC_ALWAYS);
    double s = seconds(start);
    store_stats(b.s, &st);
    store_state(b.s, &state);
    snprintf(note, sizeof note, "%.1f M live, %s, %.2f M records replayed; 1 s is asked for",
             (double)state.msgs / 1e6,
             st.recovered_from_checkpoint ? "checkpoint and tail" : "whole log",
             (double)st.recovered_records / 1e6);
    row("reopen after kill -9", s, "s", note);
    if (state.msgs != n)
        die("messages are missing", NULL);
    size_t key = strlen("$KV.sessions.00000000");
    snprintf(note, sizeof note, "beside the key (%zu B); 64 is asked for; %.1f by RSS", key,
             (double)(rss() - before) / (double)n - (double)key);
    row("memory per live key with a deadline", (double)st.index_bytes / (double)n - (double)key,
        "B", note);
    reads(&b, n);
    bench_close(&b);
    start = clock_mono_ns();
    bench_open(&b, STORE_SYNC_ALWAYS);
    row("reopen after a clean end", seconds(start), "s", "");
    touch_memory(st.index_bytes);
    bench_close(&b);
    empty_dir();
}

static bool wanted(const char *only, const char *row)
{
    return only == NULL || strcmp(only, row) == 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_store DIR [MILLIONS [append|expire|purge|reopen]]\n");
        return 2;
    }
    const char *only = argc > 3 ? argv[3] : NULL;
    dir = argv[1];
    uint64_t millions = argc > 2 ? strtoull(argv[2], NULL, 10) : 10;
    memset(body, 'x', sizeof body);
    empty_dir();
    if (wanted(only, "append")) {
        append_relaxed(5000000);
        append_durable(2000000, 1000);
        append_durable(3000, 1);
    }
    if (wanted(only, "expire"))
        expire_at_once(1000000);
    if (wanted(only, "purge"))
        purge_all(1000000);
    if (wanted(only, "reopen"))
        reopen(millions * 1000000);
    return 0;
}
