/* bench_report.c: results of measurements as tables, bars and JSON. */
#include "cli/ops/bench_impl.h"

#include "cli/human.h"
#include "cli/table.h"

#include <inttypes.h>

#define BAR 40

const char *bench_duration(char dst[32], int64_t ns)
{
    double us = (double)ns / 1e3;

    if (us < 999.5)
        (void)snprintf(dst, 32, "%.0fus", us);
    else if (us < 999950)
        (void)snprintf(dst, 32, us < 99950 ? "%.1fms" : "%.0fms", us / 1e3);
    else
        (void)snprintf(dst, 32, "%.2fs", us / 1e6);
    return dst;
}

static double rate_of(const struct bench_result *r)
{
    return r->seconds > 0 ? (double)r->done / r->seconds : 0;
}

#define WIDE 80 /* columns: below, the table has no bytes */

static void put_result(struct table *t, const struct bench_result *r)
{
    char text[HUMAN_TEXT];

    table_styled(t, TERM_BOLD, "%s", r->name);
    table_cell(t, "%s", human_count(text, r->done));
    table_cell(t, "%.2f s", r->seconds);
    table_cell(t, "%s", human_rate(text, rate_of(r)));
    if (t->term->width >= WIDE)
        table_cell(t, "%s/s", human_bytes(text, (uint64_t)(rate_of(r) * (double)r->size)));
    if (r->latency.n == 0) {
        for (int i = 0; i < 3; i++)
            table_cell(t, "-");
    } else {
        table_cell(t, "%s", bench_duration(text, bench_hist_at(&r->latency, 0.5)));
        table_cell(t, "%s", bench_duration(text, bench_hist_at(&r->latency, 0.99)));
        table_cell(t, "%s", bench_duration(text, r->latency.worst));
    }
    table_styled(t, r->errors > 0 ? TERM_RED : TERM_PLAIN, "%s", human_count(text, r->errors));
}

void bench_print_results(struct cli *c, const char *title, const struct bench_result *r, size_t n)
{
    static const char *const heads[] = {"",    "MESSAGES", "TIME",  "RATE",  "BYTES",
                                        "P50", "P99",      "WORST", "ERRORS"};
    static const char *const narrow[] = {"",    "MESSAGES", "TIME",  "RATE",
                                         "P50", "P99",      "WORST", "ERRORS"};
    bool wide = c->term.width >= WIDE;
    struct table t;

    (void)fprintf(c->term.out, "%s\n\n", title);
    table_init(&t, &c->term, wide ? "lrrrrrrrr" : "lrrrrrrr", wide ? heads : narrow);
    for (size_t i = 0; i < n; i++)
        put_result(&t, &r[i]);
    table_print(&t);
    for (size_t i = 0; i < n; i++)
        if (r[i].latency.n > 0) {
            (void)fprintf(c->term.out, "\nTime to the answer, %s:\n", r[i].name);
            bench_print_histogram(c, &r[i].latency);
        }
    for (size_t i = 0; i < n; i++)
        if (r[i].errors > 0)
            (void)cli_fail(c, 0, "%s: the first error: %s", r[i].name, r[i].error);
}

void bench_print_histogram(struct cli *c, const struct bench_hist *h)
{
    uint64_t most = 1;
    struct table t;
    int64_t from = 1;

    while (from * 2 <= h->least)
        from *= 2;
    for (int64_t at = from; at <= h->worst; at *= 2) {
        uint64_t n = bench_hist_between(h, at == from ? 0 : at, at * 2);

        most = n > most ? n : most;
    }
    table_init(&t, &c->term, c->term.tty ? "rbr" : "rr", NULL);
    for (int64_t at = from; at <= h->worst || at == from; at *= 2) {
        uint64_t n = bench_hist_between(h, at == from ? 0 : at, at * 2);
        struct mf_buf bar = MF_BUF_INIT;
        char text[HUMAN_TEXT];

        table_cell(&t, "up to %s", bench_duration(text, at * 2));
        if (c->term.tty) {
            term_bar(&c->term, &bar, (double)n / (double)most, BAR);
            table_cell(&t, "%s", mf_buf_cstr(&bar));
        }
        table_cell(&t, "%s", human_count(text, n));
        mf_buf_fini(&bar);
    }
    table_print(&t);
}

static json_t *histogram_json(const struct bench_hist *h)
{
    json_t *list = json_array();

    for (int64_t at = 1; at <= h->worst && at < INT64_MAX / 4; at *= 2) {
        uint64_t n = bench_hist_between(h, at == 1 ? 0 : at, at * 2);

        if (n > 0)
            (void)json_array_append_new(list, json_pack("{s:I, s:I}", "upto_ns", (json_int_t)at * 2,
                                                        "count", (json_int_t)n));
    }
    return list;
}

json_t *bench_result_json(const struct bench_result *r)
{
    json_t *doc =
        json_pack("{s:s, s:I, s:I, s:f, s:f, s:f}", "name", r->name, "done", (json_int_t)r->done,
                  "errors", (json_int_t)r->errors, "seconds", r->seconds, "per_second", rate_of(r),
                  "bytes_per_second", rate_of(r) * (double)r->size);

    if (r->latency.n > 0)
        (void)json_object_set_new(
            doc, "latency_ns",
            json_pack("{s:I, s:I, s:I, s:o}", "p50", (json_int_t)bench_hist_at(&r->latency, 0.5),
                      "p99", (json_int_t)bench_hist_at(&r->latency, 0.99), "worst",
                      (json_int_t)r->latency.worst, "histogram", histogram_json(&r->latency)));
    if (r->errors > 0)
        (void)json_object_set_new(doc, "error", json_string(r->error));
    return doc;
}
