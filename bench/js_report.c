/* js_report.c: see js_report.h. */
#include "js_report.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const setup_names[JS_SETUPS] = {"nats, synced", "nats", "mayfly", "mayfly, rlx"};

struct single {
    int row;
    const char *name, *format;
};
static const struct single singles[] = {
    {ROW_RSS_AFTER, "RSS after all of the above, MB", "%.1f"},
    {ROW_PLAIN + 0, "due in one second, plain: lag p50, s", "%.3f"},
    {ROW_PLAIN + 1, "  lag max, s", "%.3f"},
    {ROW_PLAIN + 2, "  another publisher p50, ms", "%.2f"},
    {ROW_PLAIN + 3, "  another publisher p99, ms", "%.2f"},
    {ROW_PLAIN + 4, "  another publisher max, ms", "%.2f"},
    {ROW_PLAIN + 5, "  CPU s per million", "%.2f"},
    {ROW_PLAIN + 6, "  disk 2 s after, MB", "%.1f"},
    {ROW_MARKED + 0, "same with markers: lag p50, s", "%.3f"},
    {ROW_MARKED + 1, "  lag max, s", "%.3f"},
    {ROW_MARKED + 2, "  another publisher p50, ms", "%.2f"},
    {ROW_MARKED + 3, "  another publisher p99, ms", "%.2f"},
    {ROW_MARKED + 4, "  another publisher max, ms", "%.2f"},
    {ROW_MARKED + 5, "  CPU s per million", "%.2f"},
    {ROW_MARKED + 6, "  disk 2 s after, markers alive, MB", "%.1f"},
    {ROW_SPREAD + 0, "20 k/s due, with markers: lag p50, ms", "%.2f"},
    {ROW_SPREAD + 1, "  lag p99, ms", "%.2f"},
    {ROW_SPREAD + 2, "  lag max, ms", "%.2f"},
    {ROW_KEY_BYTES, "memory of a key with TTL, B", "%.0f"},
    {ROW_AGAIN_KILLED, "restart after kill -9, s", "%.3f"},
    {ROW_AGAIN_CLEAN, "restart after a clean stop, s", "%.3f"},
    {ROW_IDLE_RSS, "idle RSS, MB", "%.1f"},
};

struct js_async js_async_row(int i)
{
    return (struct js_async){.conns = (i & 4) != 0 ? 4 : 1,
                             .window = (i & 4) != 0 ? 256 : 1000,
                             .keys = (i & 2) != 0 ? 1000000 : 1,
                             .ttl_s = (i & 1) != 0 ? 3600 : 0};
}

static void load_name(int row, char *dst, size_t cap)
{
    static const char *const rest[] = {
        "1 synchronous publisher", "16 synchronous publishers", "64 synchronous publishers",
        "KV put, 4 x 64",          "KV put, TTL and markers",   "direct get, 4 x 64",
    };
    struct js_async a = js_async_row(row - ROW_ASYNC);

    if (row >= ROW_SYNC_1)
        snprintf(dst, cap, "%s", rest[row - ROW_SYNC_1]);
    else
        snprintf(dst, cap, "async %u x %u, %s%s", a.conns, a.window,
                 a.keys > 1 ? "1 M subjects" : "1 subject", a.ttl_s > 0 ? ", TTL" : "");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static bool measured(const struct js_results *r, int row)
{
    bool any = false;

    for (int s = 0; s < JS_SETUPS; s++)
        any = any || r->cell[s][row][0].known;
    return any;
}

/* The median of the field at this offset; negative when it was not measured. */
static double median(const struct js_results *r, int setup, int row, size_t field)
{
    double v[JS_ROUNDS];
    size_t n = 0;

    for (int i = 0; i < r->rounds; i++) {
        const struct js_cell *c = &r->cell[setup][row][i];
        if (c->known)
            memcpy(&v[n++], (const char *)c + field, sizeof v[0]);
    }
    if (n == 0)
        return -1;
    qsort(v, n, sizeof v[0], by_value);
    return v[n / 2];
}

static void print_ratio(double ours, double theirs)
{
    if (ours > 0 && theirs > 0)
        printf(" %8.2fx", ours / theirs);
    else
        printf(" %9s", "-");
}

static void load_line(const struct js_results *r, int row, const char *name, size_t field,
                      const char *format, bool ratios)
{
    double v[JS_SETUPS];
    char text[32];

    printf("%-38s", name);
    for (int s = 0; s < JS_SETUPS; s++) {
        v[s] = median(r, s, row, field);
        snprintf(text, sizeof text, format, v[s]);
        printf(" %12s", v[s] < 0 ? "-" : text);
    }
    if (ratios) {
        print_ratio(v[MAYFLY_DEFAULT], v[NATS_SYNCED]);
        print_ratio(v[MAYFLY_DEFAULT], v[NATS_DEFAULT]);
        print_ratio(v[MAYFLY_RELAXED], v[NATS_DEFAULT]);
    }
    printf("\n");
}

static void report_loads(const struct js_results *r)
{
    char name[64];

    printf("\n%-38s", "per second");
    for (int s = 0; s < JS_SETUPS; s++)
        printf(" %12s", setup_names[s]);
    printf("  m/n-sync       m/n   rlx/n\n");
    for (int row = 0; row < JS_LOADS; row++) {
        if (!measured(r, row))
            continue;
        load_name(row, name, sizeof name);
        load_line(r, row, name, offsetof(struct js_cell, value), "%.0f", true);
        if (row >= ROW_SYNC_1 && row <= ROW_SYNC_64) {
            load_line(r, row, "  p50, us", offsetof(struct js_cell, p50_us), "%.0f", false);
            load_line(r, row, "  p99, us", offsetof(struct js_cell, p99_us), "%.0f", false);
        }
        load_line(r, row, "  server CPU each, us", offsetof(struct js_cell, cpu_us), "%.2f", false);
    }
}

void js_report(struct js_results *r)
{
    report_loads(r);
    printf("\n");
    for (size_t i = 0; i < sizeof singles / sizeof singles[0]; i++)
        if (measured(r, singles[i].row))
            load_line(r, singles[i].row, singles[i].name, offsetof(struct js_cell, value),
                      singles[i].format, false);
}
