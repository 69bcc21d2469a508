/* ttl_top.c: mayfly ttl top: streams by the rate of their expiries, redrawn each second. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STREAMS_MAX 1000 /* asked each second; more streams are named in a line below the table */
#define STEP_MS     1000

struct row {
    char *name;
    json_t *stats;             /* STATS' answer of this round */
    int64_t expired, taken_ns; /* totals.expired of the round before, -1: none */
    double per_second;
};
struct top {
    struct cli *c;
    struct row *rows;
    size_t n, more; /* more: streams beyond STREAMS_MAX */
    int64_t rounds; /* printed tables until the end, -1: no end */
};

static void free_rows(struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(rows[i].name);
        json_decref(rows[i].stats);
    }
    free(rows);
}

static bool is_live(const struct cli *c)
{
    return c->term.tty && c->term.cursor && !c->json;
}

/* --- the figures ------------------------------------------------------------------------------ */

static struct row *find_row(struct top *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->rows[i].name, name) == 0)
            return &t->rows[i];
    return NULL;
}

/* The streams as they are now; what is known of the round before stays. */
static int load_streams(struct top *t)
{
    struct row *rows;
    json_t *policies, *p;
    size_t i, n;
    int rc;

    if ((policies = ttl_policies(t->c, &rc)) == NULL)
        return rc;
    n = json_array_size(policies);
    t->more = n > STREAMS_MAX ? n - STREAMS_MAX : 0;
    n = n > STREAMS_MAX ? STREAMS_MAX : n;
    rows = calloc(n + 1, sizeof *rows);
    json_array_foreach(policies, i, p)
    {
        const char *name = request_text(p, "stream");
        struct row *old = find_row(t, name);

        if (rows == NULL || i == n)
            break;
        rows[i].name = strdup(name);
        rows[i].expired = old == NULL ? -1 : old->expired;
        rows[i].taken_ns = old == NULL ? 0 : old->taken_ns;
    }
    json_decref(policies);
    if (rows == NULL)
        return cli_fail(t->c, CLI_USAGE, "out of memory");
    free_rows(t->rows, t->n);
    t->rows = rows;
    t->n = n;
    return 0;
}

static void take_stats(struct row *r, json_t *stats)
{
    int64_t now = clock_mono_ns();
    int64_t expired = request_int(json_object_get(stats, "totals"), "expired");

    r->stats = json_incref(stats);
    if (r->expired >= 0 && expired >= r->expired && now > r->taken_ns) /* less: a new start */
        r->per_second =
            (double)(expired - r->expired) / ((double)(now - r->taken_ns) / (double)CLOCK_S);
    r->expired = expired;
    r->taken_ns = now;
}

static int load_stats(struct top *t)
{
    struct ttl_ask *asks = calloc(t->n + 1, sizeof *asks);
    char subject[TTL_SUBJECT];
    int rc = 0;

    if (asks == NULL)
        return cli_fail(t->c, CLI_USAGE, "out of memory");
    for (size_t i = 0; i < t->n; i++)
        asks[i].subject = strdup(ttl_subject(subject, t->c, "STATS.%s", t->rows[i].name));
    rc = ttl_ask_all(t->c, asks, t->n, false);
    for (size_t i = 0; rc == 0 && i < t->n; i++)
        if (asks[i].answer != NULL && json_object_get(asks[i].answer, "error") == NULL)
            take_stats(&t->rows[i], asks[i].answer);
    ttl_ask_free(asks, t->n);
    return rc;
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->per_second != y->per_second)
        return x->per_second < y->per_second ? 1 : -1;
    if (request_int(x->stats, "expiring_next_hour") != request_int(y->stats, "expiring_next_hour"))
        return request_int(x->stats, "expiring_next_hour") <
                       request_int(y->stats, "expiring_next_hour")
                   ? 1
                   : -1;
    return strcmp(x->name, y->name);
}

/* --- showing ---------------------------------------------------------------------------------- */

static void add_row(struct table *table, const struct row *r)
{
    const json_t *late = json_object_get(r->stats, "lateness_ms");
    int64_t overdue = request_int(r->stats, "overdue");
    char text[HUMAN_TEXT];

    table_cell(table, "%s", r->name);
    table_styled(table, r->per_second > 0 ? TERM_GREEN : TERM_PLAIN, "%s",
                 human_rate(text, r->per_second));
    table_cell(table, "%.1f ms", request_real(late, "p99"));
    table_styled(table, overdue > 0 ? TERM_RED : TERM_PLAIN, "%s",
                 human_count(text, (uint64_t)overdue));
    table_cell(table, "%s",
               human_count(text, (uint64_t)request_int(r->stats, "expiring_next_hour")));
    table_cell(table, "%s", human_count(text, (uint64_t)request_int(r->stats, "items_with_ttl")));
    table_cell(table, "%s",
               human_count(text, (uint64_t)request_int(r->stats, "items_without_ttl")));
}

static void draw_table(struct top *t, struct mf_buf *out)
{
    static const char *const heads[] = {"STREAM",    "EXPIRED", "LATE P99", "OVERDUE",
                                        "NEXT HOUR", "WITH",    "WITHOUT"};
    static const char *const narrow[] = {"STREAM", "EXPIRED", "LATE", "DUE", "1H", "WITH", "W/O"};
    double sum = 0;
    struct table table;
    char text[HUMAN_TEXT], clock[HUMAN_TEXT];

    for (size_t i = 0; i < t->n; i++)
        sum += t->rows[i].per_second;
    mf_buf_printf(out, "%s  %zu stream%s  %s expired%s\n", human_clock(clock, clock_wall_ns()),
                  t->n, t->n == 1 ? "" : "s", human_rate(text, sum),
                  t->c->term.width >= 48 && is_live(t->c) ? "   q leaves" : "");
    table_init(&table, &t->c->term, "lrrrrrr", t->c->term.width < 72 ? narrow : heads);
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].stats != NULL)
            add_row(&table, &t->rows[i]);
    table_write(&table, out);
    if (t->more > 0)
        mf_buf_printf(out, "and %zu streams more, not asked\n", t->more);
}

static void print_json(struct top *t)
{
    json_t *doc = json_object(), *streams = json_array();
    char time[CLOCK_TEXT];

    ttl_put_text(clock_rfc3339(time, clock_wall_ns()), "time", doc);
    for (size_t i = 0; i < t->n; i++) {
        json_t *s = t->rows[i].stats;

        if (s == NULL)
            continue;
        ttl_put_text(t->rows[i].name, "stream", s);
        (void)json_object_set_new(s, "expired_per_second", json_real(t->rows[i].per_second));
        (void)json_array_append(streams, s);
    }
    (void)json_object_set_new(doc, "streams", streams);
    (void)json_dumpf(doc, t->c->term.out, JSON_COMPACT);
    (void)fputc('\n', t->c->term.out);
    (void)fflush(t->c->term.out);
    json_decref(doc);
}

static void show_round(struct top *t)
{
    struct mf_buf out = MF_BUF_INIT;

    qsort(t->rows, t->n, sizeof *t->rows, compare_rows);
    term_resize(&t->c->term); /* the window may have changed since the last round */
    if (t->c->json)
        print_json(t);
    else {
        draw_table(t, &out);
        term_live_frame(&t->c->term, mf_buf_slice(&out));
    }
    mf_buf_fini(&out);
}

static int load_round(struct top *t)
{
    int rc = load_streams(t);

    return rc == 0 ? load_stats(t) : rc;
}

/* The first round is shown at once on a terminal.  A rate needs two, so others wait for it. */
static int run_rounds(struct top *t)
{
    bool live = is_live(t->c);
    int rc = load_round(t);

    if (rc == 0 && live)
        show_round(t);
    while (rc == 0 && t->rounds != 0 && ferror(t->c->term.out) == 0 &&
           term_live_wait(&t->c->term, STEP_MS)) {
        rc = load_round(t);
        if (rc == 0 && !cli_interrupted())
            show_round(t);
        t->rounds -= t->rounds > 0;
    }
    return cli_interrupted() ? 0 : rc; /* Ctrl-C is how to leave */
}

int ttl_top_run(struct cli *c)
{
    bool live = is_live(c);
    struct top t = {.c = c, .rounds = cli_number(c, "count", live ? -1 : 1)};
    json_t *doc = NULL;
    int rc = connect_open(c);

    if (rc == 0) /* errors of the first request stay on the screen */
        rc = ttl_request(c, NULL, NULL, &doc, "POLICY");
    json_decref(doc);
    if (rc == 0) {
        if (live)
            term_live_begin(&c->term);
        rc = run_rounds(&t);
        if (live)
            term_live_end(&c->term);
        if (live && rc != 0) /* the first report went with the screen */
            (void)cli_fail(c, rc, "the server at %s does not answer any more", connect_url(c));
    }
    free_rows(t.rows, t.n);
    return rc;
}
