/* js_report.h: what the stream bench measured, by server, row and round, and the table of it. */
#ifndef MAYFLY_BENCH_JS_REPORT_H
#define MAYFLY_BENCH_JS_REPORT_H

#include <stdbool.h>

#define JS_ROUNDS 9

/* Both servers with every acknowledgement on disk, and both without. */
enum js_setup { NATS_SYNCED, NATS_DEFAULT, MAYFLY_DEFAULT, MAYFLY_RELAXED, JS_SETUPS };

enum js_row {
    ROW_ASYNC, /* eight of them: see js_async_row() */
    ROW_SYNC_1 = ROW_ASYNC + 8,
    ROW_SYNC_16,
    ROW_SYNC_64,
    ROW_KV_PUT,
    ROW_KV_PUT_TTL,
    ROW_GET,
    JS_LOADS,
    ROW_RSS_AFTER = JS_LOADS, /* from here on: single values */
    ROW_PLAIN,                /* seven: lag p50, max, other p50, p99, max, CPU, disk */
    ROW_MARKED = ROW_PLAIN + 7,
    ROW_SPREAD = ROW_MARKED + 7, /* three: p50, p99, max */
    ROW_KEY_BYTES = ROW_SPREAD + 3,
    ROW_AGAIN_KILLED,
    ROW_AGAIN_CLEAN,
    ROW_IDLE_RSS,
    JS_ROWS
};
struct js_cell {
    double value, cpu_us, p50_us, p99_us; /* a load has all four */
    bool known;
};
struct js_results {
    struct js_cell cell[JS_SETUPS][JS_ROWS][JS_ROUNDS];
    int rounds;
};
struct js_async {
    unsigned conns, window, keys, ttl_s;
};
struct js_async js_async_row(int i); /* 0 to 7 */

void js_report(struct js_results *r);

#endif
