/* ttl_forecast.c: mayfly ttl forecast: how many messages expire when, as bars. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define BAR_MAX   40
#define BAR_MIN   6
#define ROW_OTHER 34 /* columns of a row beside its bar, without the mark of a cliff */

struct forecast {
    struct cli *c;
    struct request_stream stream;
    json_t *doc;
    int bar;      /* columns, 0: none */
    int64_t most; /* messages of the fullest bucket */
};

static void measure(struct forecast *f)
{
    json_t *buckets = json_object_get(f->doc, "buckets"), *b;
    int room = f->c->term.width - ROW_OTHER;
    size_t i;

    json_array_foreach(buckets, i, b) if (request_int(b, "msgs") > f->most) f->most =
        request_int(b, "msgs");
    if (f->c->term.tty)
        f->bar = room > BAR_MAX ? BAR_MAX : room < BAR_MIN ? BAR_MIN : room;
}

/* "cliff: 412,000 in one second at 03:00:00", beside the bucket of the peak. */
static void add_peak(struct forecast *f, struct table *t, int64_t from, int64_t to)
{
    const json_t *peak = json_object_get(f->doc, "peak");
    int64_t at = request_time(peak, "at");
    char count[HUMAN_TEXT], text[HUMAN_TEXT];

    if (!request_bool(f->doc, "cliff") || at < from || at >= to)
        table_cell(t, "%s", "");
    else
        table_styled(t, TERM_RED, "cliff: %s a second at %s",
                     human_count(count, (uint64_t)request_int(peak, "per_second")),
                     human_clock(text, at));
}

static void add_bucket(struct forecast *f, struct table *t, int64_t offset, int64_t from,
                       const json_t *b)
{
    struct mf_buf bar = MF_BUF_INIT;
    int64_t n = request_int(b, "msgs");
    char text[HUMAN_TEXT];

    if (offset == 0)
        table_cell(t, "  now");
    else
        table_cell(t, "  +%s", human_duration(text, offset));
    if (f->bar > 0) {
        term_bar(&f->c->term, &bar, f->most == 0 ? 0 : (double)n / (double)f->most, f->bar);
        table_cell(t, "%s", mf_buf_cstr(&bar));
    }
    table_cell(t, "%s", human_count(text, (uint64_t)n));
    table_cell(t, "%s", human_bytes(text, (uint64_t)request_int(b, "bytes")));
    add_peak(f, t, from, request_time(b, "to"));
    mf_buf_fini(&bar);
}

static void print_buckets(struct forecast *f)
{
    json_t *buckets = json_object_get(f->doc, "buckets"), *b;
    int64_t begin = request_time(f->doc, "from"), from = begin;
    struct table t;
    size_t i;

    table_init(&t, &f->c->term, f->bar > 0 ? "lbrrl" : "lrrl", NULL);
    json_array_foreach(buckets, i, b)
    {
        add_bucket(f, &t, from - begin, from, b);
        from = request_time(b, "to");
    }
    table_print(&t);
}

static void print_rest(struct forecast *f)
{
    const json_t *later = json_object_get(f->doc, "later");
    const json_t *steady = json_object_get(f->doc, "steady");
    char a[HUMAN_TEXT], b[HUMAN_TEXT], d[HUMAN_TEXT];
    FILE *out = f->c->term.out;
    bool narrow = f->c->term.width < 64;

    (void)fprintf(out, "  later %s    without %s    infinite %s\n",
                  human_count(a, (uint64_t)request_int(later, "msgs")),
                  human_count(b, (uint64_t)request_int(f->doc, "without")),
                  human_count(d, (uint64_t)request_int(f->doc, "infinite")));
    if (ttl_is_steady(steady))
        (void)fprintf(out, "  heading for %s messages, %s,%sat %s with a TTL\n",
                      human_count(a, (uint64_t)request_int(steady, "msgs")),
                      human_bytes(b, (uint64_t)request_int(steady, "bytes")), narrow ? "\n  " : " ",
                      human_rate(d, request_real(steady, "per_second")));
    if (request_bool(f->doc, "counts_approximate"))
        (void)fprintf(out, "  edges of the buckets are exact to %s\n",
                      human_duration(a, request_int(f->doc, "resolution_ms") * CLOCK_MS));
    if (request_bool(f->doc, "bytes_sampled"))
        (void)fputs("  bytes are estimates\n", out);
}

int ttl_forecast_run(struct cli *c)
{
    struct forecast f = {.c = c};
    json_t *body = json_object();
    int rc = ttl_open_stream(c, &f.stream);

    ttl_put_duration(c, "within", "within", body);
    ttl_put_filter(c, &f.stream, body);
    if (cli_number(c, "buckets", -1) >= 0)
        (void)json_object_set_new(body, "buckets", json_integer(cli_number(c, "buckets", 0)));
    if (rc == 0)
        rc = ttl_request(c, body, cli_arg(c, 0), &f.doc, "FORECAST.%s", f.stream.name);
    if (rc == 0 && c->json)
        request_print(c, f.doc);
    else if (rc == 0) {
        measure(&f);
        print_buckets(&f);
        print_rest(&f);
    }
    json_decref(body);
    json_decref(f.doc);
    return rc;
}
