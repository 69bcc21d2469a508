/* ttl_stats.c: mayfly ttl stats: how many messages have a TTL, what expired and what will. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include "cli/ttl/ttl_draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BAR        40
#define BAR_NARROW 12
#define WIDE       72 /* columns of a window with room for the longer bars and lines */
#define GB         (1024.0 * 1024 * 1024)
#define HOUR_NS    (3600 * CLOCK_S)
/* No projection from less: a few messages of the first minutes say nothing about a rate. */

struct stats {
    struct cli *c;
    struct request_stream stream; /* name "": the whole account */
    json_t *stats, *policy, *hour;
    struct mf_buf below; /* what a narrow window shows below the table */
};

/* --- parts of the picture --------------------------------------------------------------------- */

static void print_head(struct stats *s)
{
    struct term *t = &s->c->term;
    struct mf_buf line = MF_BUF_INIT;
    const char *name = request_text(s->stats, "namespace");

    (void)fprintf(t->out, "%s", term_on(t, TERM_BOLD));
    term_print_safe(t, mf_str(name));
    (void)fprintf(t->out, "%s", term_off(t));
    if (s->policy != NULL) {
        ttl_policy_line(&line, s->policy);
        (void)fputs(t->width >= WIDE ? "   " : "\n  ", t->out);
        term_print_safe(t, mf_buf_slice(&line));
    } else if (s->stream.name[0] == '\0')
        (void)fprintf(t->out, "   %" PRId64 " stream%s", request_int(s->stats, "streams"),
                      request_int(s->stats, "streams") == 1 ? "" : "s");
    (void)fputc('\n', t->out);
    mf_buf_fini(&line);
}

static void add_state(struct table *table, struct stats *s, const char *name, const char *member,
                      uint64_t whole)
{
    const struct term *t = &s->c->term;
    uint64_t n = (uint64_t)request_int(s->stats, member);
    char count[HUMAN_TEXT], share[DRAW_SHARE];
    struct mf_buf bar = MF_BUF_INIT;

    table_cell(table, "  %s", name);
    table_cell(table, "%s", human_count(count, n));
    if (t->tty) {
        term_bar(t, &bar, whole == 0 ? 0 : (double)n / (double)whole,
                 t->width >= WIDE ? BAR : BAR_NARROW);
        table_cell(table, "%s", mf_buf_cstr(&bar));
    }
    table_cell(table, "%s", draw_share(share, n, whole));
    mf_buf_fini(&bar);
}

static uint64_t count_items(const struct stats *s)
{
    return (uint64_t)(request_int(s->stats, "items_with_ttl") +
                      request_int(s->stats, "items_infinite_ttl") +
                      request_int(s->stats, "items_without_ttl"));
}

static void print_states(struct stats *s)
{
    uint64_t whole = count_items(s);
    char count[HUMAN_TEXT];
    struct table table;

    table_init(&table, &s->c->term, s->c->term.tty ? "lrbr" : "lrr", NULL);
    add_state(&table, s, "with TTL", "items_with_ttl", whole);
    add_state(&table, s, "infinite", "items_infinite_ttl", whole);
    add_state(&table, s, "without", "items_without_ttl", whole);
    table_print(&table);
    if (request_int(s->stats, "markers") > 0)
        (void)fprintf(s->c->term.out, "  of these %s tombstone%s\n",
                      human_count(count, (uint64_t)request_int(s->stats, "markers")),
                      request_int(s->stats, "markers") == 1 ? "" : "s");
}

static void add_flow(struct table *table, struct stats *s, const char *name, uint64_t n,
                     uint64_t bytes, bool known, const char *more)
{
    char count[HUMAN_TEXT], size[HUMAN_TEXT];

    table_cell(table, "  %s", name);
    table_cell(table, "%s", human_count(count, n));
    table_cell(table, "%s", known ? human_bytes(size, bytes) : "");
    if (table->columns == 4)
        table_cell(table, "%s", more);
    else if (more[0] != '\0') /* a narrow window: in lines of their own, below */
        mf_buf_printf(&s->below, "  %s\n", more);
}

/* A number of the API with its unit; estimates are marked. */
static const char *about(const json_t *doc)
{
    return request_bool(doc, "bytes_sampled") || request_bool(doc, "counts_approximate") ? "about "
                                                                                         : "";
}

/* How long the past is counted: since the first policy or expiry, or the start of the server. */
static int64_t counted_ns(const struct stats *s)
{
    return clock_wall_ns() - request_time(s->stats, "since");
}

static bool is_young(const struct stats *s)
{
    return counted_ns(s) < HOUR_NS;
}

/* Where the stream is heading; NULL: nobody can say yet. */
static const json_t *find_steady(const struct stats *s)
{
    const json_t *steady = json_object_get(s->hour, "steady");

    return ttl_is_steady(steady) ? steady : NULL;
}

static void add_past(struct table *table, struct stats *s)
{
    const json_t *late = json_object_get(s->stats, "lateness_ms");
    char more[160];

    (void)snprintf(more, sizeof more, "lateness p50 %.1f ms  p99 %.1f ms",
                   request_real(late, "p50"), request_real(late, "p99"));
    add_flow(table, s, is_young(s) ? "expired, so far" : "expired, last hour",
             (uint64_t)request_int(s->stats, "expired_last_hour"),
             (uint64_t)request_int(s->stats, "bytes_expired_last_hour"), true, more);
}

static void add_future(struct table *table, struct stats *s)
{
    const json_t *first = json_array_get(json_object_get(s->hour, "buckets"), 0);
    char more[160], count[HUMAN_TEXT], size[HUMAN_TEXT];

    (void)snprintf(more, sizeof more, "next day %s%s  %s", about(s->stats),
                   human_count(count, (uint64_t)request_int(s->stats, "expiring_next_day")),
                   human_bytes(size, (uint64_t)request_int(s->stats, "bytes_to_expire_soon")));
    add_flow(table, s, "expiring, next hour", (uint64_t)request_int(s->stats, "expiring_next_hour"),
             (uint64_t)request_int(first, "bytes"), first != NULL, more);
}

static void add_stored(struct table *table, struct stats *s)
{
    const json_t *steady = find_steady(s);
    char more[160] = "", count[HUMAN_TEXT], size[HUMAN_TEXT];

    if (steady != NULL)
        (void)snprintf(more, sizeof more, "heading for %s messages, %s",
                       human_count(count, (uint64_t)request_int(steady, "msgs")),
                       human_bytes(size, (uint64_t)request_int(steady, "bytes")));
    add_flow(table, s, is_young(s) ? "stored, so far" : "stored, last hour",
             (uint64_t)request_int(s->stats, "stored_last_hour"),
             (uint64_t)request_int(s->stats, "bytes_stored_last_hour"), true, more);
}

/* Streams with lifetimes have a past, as a whole: not those that nothing has a TTL in. */
static bool has_past(const struct stats *s)
{
    return json_object_get(s->stats, "stored_last_hour") != NULL &&
           json_object_get(s->stats, "since") != NULL;
}

/* The content of the stream now, or of the part that a filter names. */
static void add_held(struct table *table, struct stats *s)
{
    add_flow(table, s, "stored, now", count_items(s),
             (uint64_t)request_int(s->stats, "total_bytes"), true, "");
}

static void print_flows(struct stats *s)
{
    bool past = has_past(s);
    char time[HUMAN_TEXT];
    struct table table;

    table_init(&table, &s->c->term, s->c->term.width >= WIDE ? "lrrl" : "lrr", NULL);
    add_held(&table, s);
    if (past)
        add_past(&table, s);
    add_future(&table, s);
    if (past)
        add_stored(&table, s);
    table_print(&table);
    (void)fputs(mf_buf_cstr(&s->below), s->c->term.out);
    mf_buf_fini(&s->below);
    if (past && is_young(s))
        (void)fprintf(s->c->term.out, "  so far: since %s\n",
                      human_time(time, request_time(s->stats, "since")));
}

static void print_decisions(struct stats *s)
{
    const json_t *decided = json_object_get(s->stats, "decided"), *value;
    const json_t *totals = json_object_get(s->stats, "totals");
    const json_t *audit = json_object_get(s->stats, "audit");
    FILE *out = s->c->term.out;
    uint64_t all = 0;
    const char *by;

    if (!has_past(s))
        return;
    json_object_foreach((json_t *)decided, by, value) all += (uint64_t)json_integer_value(value);
    if (all > 0)
        (void)fputs("  decided by ", out);
    json_object_foreach((json_t *)decided, by, value) if (json_integer_value(value) > 0)(void)
        fprintf(out, "  %s %.0f %%", by, 100.0 * (double)json_integer_value(value) / (double)all);
    if (all > 0)
        (void)fputs(s->c->term.width >= WIDE ? "      " : "\n", out);
    (void)fprintf(out, "  clamped %" PRId64 "  rejected %" PRId64 "\n",
                  request_int(totals, "clamped"), request_int(totals, "rejected"));
    if (request_int(audit, "would_set") + request_int(audit, "would_clamp") +
            request_int(audit, "would_reject") >
        0)
        (void)fprintf(out,
                      "  audit: would set %" PRId64 "  clamp %" PRId64 "  reject %" PRId64 "\n",
                      request_int(audit, "would_set"), request_int(audit, "would_clamp"),
                      request_int(audit, "would_reject"));
}

static void print_rest(struct stats *s)
{
    int64_t next = request_time(s->stats, "next_expiry");
    int64_t overdue = request_int(s->stats, "overdue");
    char text[HUMAN_TEXT];

    if (next != 0)
        (void)fprintf(s->c->term.out, "  next expiry  %s", human_time(text, next));
    if (overdue > 0)
        (void)fprintf(s->c->term.out, "%soverdue %" PRId64, next != 0 ? "     " : "  ", overdue);
    if (next != 0 || overdue > 0)
        (void)fputc('\n', s->c->term.out);
}

static void print_groups(struct stats *s)
{
    static const char *const heads[] = {"PREFIX",   "ITEMS", "WITH",    "WITHOUT",
                                        "INFINITE", "BYTES", "AGE P50", "AGE P99"};
    static const char *const counts[] = {"items", "with", "without", "infinite"};
    const json_t *groups = json_object_get(s->stats, "groups"), *g;
    struct table table;
    char text[HUMAN_TEXT];
    size_t i;

    if (groups == NULL)
        return;
    (void)fputc('\n', s->c->term.out);
    table_init(&table, &s->c->term, "lrrrrrrr", heads);
    json_array_foreach((json_t *)groups, i, g)
    {
        table_cell(&table, "%s", request_key(&s->stream, request_text(g, "prefix")));
        for (size_t k = 0; k < MF_COUNT(counts); k++)
            table_cell(&table, "%s", human_count(text, (uint64_t)request_int(g, counts[k])));
        table_cell(&table, "%s", human_bytes(text, (uint64_t)request_int(g, "bytes")));
        table_cell(&table, "%s", human_duration(text, request_int(g, "age_p50_s") * CLOCK_S));
        table_cell(&table, "%s", human_duration(text, request_int(g, "age_p99_s") * CLOCK_S));
    }
    table_print(&table);
}

/* --- the command ------------------------------------------------------------------------------ */

/* --price: what the bytes cost in a month, and what those that expired would. */
static int read_price(struct cli *c, double *price)
{
    const char *text = cli_text(c, "price");
    char *end;

    *price = -1;
    if (text == NULL)
        return 0;
    *price = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*price) || *price < 0)
        return cli_usage(c, "--price: %s is no amount of money for a GB and month", text);
    return 0;
}

/* "  costs        12.50 a month: 125.0 GB stored now" */
static void print_amount(struct stats *s, const char *what, double bytes, double price,
                         const char *why)
{
    double amount = bytes / GB * price;
    char size[HUMAN_TEXT];

    (void)fprintf(s->c->term.out, "  %-12s %s%.2f a month: %s %s\n", what,
                  amount > 0 && amount < 0.005 ? "below " : "",
                  amount > 0 && amount < 0.005 ? 0.01 : amount, human_bytes(size, (uint64_t)bytes),
                  why);
}

/* A stream without a policy: writers decide, and perhaps nothing there ever expires. */
static bool is_ungoverned(const struct stats *s)
{
    return s->policy != NULL && !request_bool(s->policy, "governed");
}

static void print_price(struct stats *s, double price)
{
    double expired = request_real(json_object_get(s->stats, "totals"), "expired_bytes");
    const json_t *steady = find_steady(s);
    char why[HUMAN_TEXT + 32], since[HUMAN_TEXT];

    if (price < 0)
        return;
    print_amount(s, "costs", request_real(s->stats, "total_bytes"), price,
                 "stored now (a GB is 1024 MB)");
    if (request_int(steady, "msgs") > 0)
        print_amount(s, "heading for", request_real(steady, "bytes"), price,
                     "if it goes on as in this hour");
    (void)snprintf(why, sizeof why, "expired since %s",
                   human_time(since, request_time(s->stats, "since")));
    if (has_past(s) && (expired > 0 || !is_ungoverned(s)))
        print_amount(s, "saved", expired, price, why);
}

/* --depth counts tokens of keys; those of a bucket stand behind two others: $KV.<bucket>. */
static json_int_t subject_depth(const struct stats *s)
{
    json_int_t depth = cli_number(s->c, "depth", 0);

    return depth > 0 && s->stream.key_prefix[0] != '\0' ? depth + 2 : depth;
}

static int ask_stats(struct stats *s)
{
    json_t *body = json_object();
    int rc;

    if (s->stream.name[0] == '\0') {
        rc = ttl_request(s->c, body, NULL, &s->stats, "STATS");
    } else {
        ttl_put_filter(s->c, &s->stream, body);
        if (subject_depth(s) > 0)
            (void)json_object_set_new(body, "depth", json_integer(subject_depth(s)));
        rc = ttl_request(s->c, body, cli_arg(s->c, 0), &s->stats, "STATS.%s", s->stream.name);
    }
    json_decref(body);
    return rc;
}

/* The figures that the picture has beside the answer of STATS, for those who may ask. */
static void ask_more(struct stats *s)
{
    json_t *body = json_pack("{s:s,s:i}", "within", "1h", "buckets", 1);
    bool denied;

    ttl_put_filter(s->c, &s->stream, body);
    s->policy = ttl_ask_one(s->c, NULL, &denied, "POLICY.%s", s->stream.name);
    if (denied)
        (void)cli_fail(s->c, 0, "no answer to $MAYFLY.TTL.POLICY.%s: the policy is left out",
                       s->stream.name);
    s->hour = ttl_ask_one(s->c, body, &denied, "FORECAST.%s", s->stream.name);
    if (denied)
        (void)cli_fail(s->c, 0,
                       "no answer to $MAYFLY.TTL.FORECAST.%s: bytes of the next hour are left out",
                       s->stream.name);
    json_decref(body);
}

int ttl_stats_run(struct cli *c)
{
    struct stats s = {.c = c};
    double price;
    int rc = read_price(c, &price);

    if (rc == 0 && cli_arg(c, 0) == NULL &&
        (cli_text(c, "filter") != NULL || cli_number(c, "depth", 0) > 0))
        rc = cli_usage(c, "--filter and --depth need a STREAM");
    if (rc == 0)
        rc = cli_arg(c, 0) == NULL ? connect_open(c) : ttl_open_stream(c, &s.stream);
    if (rc == 0)
        rc = ask_stats(&s);
    if (rc == 0 && c->json)
        request_print(c, s.stats);
    if (rc == 0 && !c->json && s.stream.name[0] != '\0')
        ask_more(&s);
    if (rc == 0 && !c->json) {
        print_head(&s);
        print_states(&s);
        print_flows(&s);
        print_decisions(&s);
        print_rest(&s);
        print_price(&s, price);
        print_groups(&s);
    }
    json_decref(s.stats);
    json_decref(s.policy);
    json_decref(s.hour);
    return rc;
}
