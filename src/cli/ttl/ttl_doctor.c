/* ttl_doctor.c: mayfly ttl doctor: asks for all that the checks need, of one stream or of all. */
#include "cli/ttl/ttl_doctor_impl.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { ASK_STATS, ASK_FORECAST, ASK_INFINITE, ASKS };

static struct ttl_ask make_ask(char *subject, json_t *body)
{
    return (struct ttl_ask){.subject = subject, .body = body};
}

static void add_asks(struct cli *c, const char *stream, struct ttl_ask *at)
{
    char subject[TTL_SUBJECT];

    at[ASK_STATS] = make_ask(strdup(ttl_subject(subject, c, "STATS.%s", stream)), NULL);
    at[ASK_FORECAST] = make_ask(strdup(ttl_subject(subject, c, "FORECAST.%s", stream)),
                                json_pack("{s:i}", "buckets", 1));
    at[ASK_INFINITE] = make_ask(strdup(ttl_subject(subject, c, "LIST.%s", stream)),
                                json_pack("{s:s,s:i}", "state", "infinite", "limit", 1000));
}

/* The findings from `first` on are of this stream: ACCOUNT/STREAM. */
static void name_findings(struct doctor *d, size_t first, const json_t *stats)
{
    for (size_t i = first; i < json_array_size(d->findings); i++)
        ttl_put_text(request_text(stats, "namespace"), "namespace", json_array_get(d->findings, i));
}

static void check_streams(struct doctor *d, json_t *policies, struct ttl_ask *asks,
                          struct ttl_ask *infos)
{
    json_t *policy;
    size_t i;

    json_array_foreach(policies, i, policy)
    {
        struct ttl_ask *at = asks + i * ASKS;
        size_t first = json_array_size(d->findings);
        struct doctor_facts f = {.stream = request_text(policy, "stream"),
                                 .policy = policy,
                                 .info = infos[i].answer,
                                 .stats = at[ASK_STATS].answer,
                                 .forecast = at[ASK_FORECAST].answer,
                                 .infinite = at[ASK_INFINITE].answer};

        doctor_check(d, &f);
        name_findings(d, first, f.stats);
    }
}

/* The policies of all streams, or of the one that was named. */
static int load_policies(struct cli *c, json_t **policies)
{
    struct request_stream s;
    json_t *doc = NULL;
    int rc;

    if (cli_arg(c, 0) == NULL) {
        *policies = ttl_policies(c, &rc);
        return rc;
    }
    if ((rc = ttl_open_stream(c, &s)) != 0)
        return rc;
    rc = ttl_request(c, NULL, cli_arg(c, 0), &doc, "POLICY.%s", s.name);
    if (rc == 0)
        *policies = json_pack("[o]", doc);
    return rc;
}

/* The configurations: those who may only look at lifetimes are examined without them. */
static int load_infos(struct cli *c, json_t *policies, struct ttl_ask *infos)
{
    size_t n = json_array_size(policies), i;
    char subject[TTL_SUBJECT];
    json_t *policy;
    int rc;

    json_array_foreach(policies, i, policy)
    {
        (void)snprintf(subject, sizeof subject, "%s.STREAM.INFO.%s", connect_api_prefix(c),
                       request_text(policy, "stream"));
        infos[i] = make_ask(strdup(subject), NULL);
    }
    rc = ttl_ask_all(c, infos, n, true);
    if (rc == 0 && n > 0 && infos[0].answer == NULL)
        (void)cli_fail(c, 0, "no answer to %s: history, mirrors and subjects are left out",
                       infos[0].subject);
    return rc;
}

static int examine(struct cli *c, struct doctor *d, json_t *policies)
{
    size_t n = json_array_size(policies), i;
    struct ttl_ask *asks = calloc(n * ASKS + 1, sizeof *asks);
    struct ttl_ask *infos = calloc(n + 1, sizeof *infos);
    int64_t before = clock_wall_ns(), after;
    json_t *policy;
    int rc;

    if (asks == NULL || infos == NULL) {
        free(asks);
        free(infos);
        return cli_fail(c, CLI_USAGE, "out of memory");
    }
    json_array_foreach(policies, i, policy)
        add_asks(c, request_text(policy, "stream"), asks + i * ASKS);
    rc = ttl_ask_all(c, asks, n * ASKS, false);
    after = clock_wall_ns();
    if (rc == 0)
        rc = load_infos(c, policies, infos);
    if (rc == 0) {
        check_streams(d, policies, asks, infos);
        if (n > 0) {
            doctor_check_clock(d, request_time(asks[ASK_FORECAST].answer, "from"), before, after);
            doctor_check_steps(d, asks[ASK_STATS].answer);
        }
    }
    ttl_ask_free(asks, n * ASKS);
    ttl_ask_free(infos, n);
    return rc;
}

/* APP/EVENTS; the account that needs no name is left out. */
static const char *shown_name(const json_t *finding)
{
    const char *name = request_text(finding, "namespace");

    return name[0] == '\0' || strncmp(name, "$G/", 3) == 0 ? request_text(finding, "stream") : name;
}

static enum term_style level_style(const json_t *finding)
{
    return strcmp(request_text(finding, "level"), "WARN") == 0 ? TERM_YELLOW : TERM_BLUE;
}

static void print_table(struct cli *c, const struct doctor *d)
{
    struct table t;
    json_t *f;
    size_t i;

    table_init(&t, &c->term, "llll", NULL);
    json_array_foreach(d->findings, i, f)
    {
        table_styled(&t, level_style(f), "%s", request_text(f, "level"));
        table_cell(&t, "%s", shown_name(f));
        table_cell(&t, "%s", request_text(f, "text"));
        table_styled(&t, TERM_DIM, "%s", request_text(f, "advice"));
    }
    table_print(&t);
}

/* One below the other, for windows in which a table would cut the advice. */
static void print_below(struct cli *c, const struct doctor *d)
{
    struct term *t = &c->term;
    json_t *f;
    size_t i;

    json_array_foreach(d->findings, i, f)
    {
        (void)fprintf(t->out, "%s%s%s  ", term_on(t, level_style(f)), request_text(f, "level"),
                      term_off(t));
        term_print_safe(t, mf_str(shown_name(f)));
        (void)fputs("\n  ", t->out);
        term_print_safe(t, mf_str(request_text(f, "text")));
        (void)fprintf(t->out, "\n  %s", term_on(t, TERM_DIM));
        term_print_safe(t, mf_str(request_text(f, "advice")));
        (void)fprintf(t->out, "%s\n", term_off(t));
    }
}

static void widen(size_t *columns, const char *text)
{
    size_t n = strlen(text);

    *columns = n > *columns ? n : *columns;
}

static void print_findings(struct cli *c, const struct doctor *d, size_t streams)
{
    size_t name = 0, text = 0, advice = 0, i;
    json_t *f;

    if (json_array_size(d->findings) == 0) {
        (void)fprintf(c->term.out, "nothing found in %zu stream%s\n", streams,
                      streams == 1 ? "" : "s");
        return;
    }
    json_array_foreach(d->findings, i, f)
    {
        widen(&name, shown_name(f));
        widen(&text, request_text(f, "text"));
        widen(&advice, request_text(f, "advice"));
    }
    if (name + text + advice + 10 <= (size_t)c->term.width) /* WARN and the blanks between */
        print_table(c, d);
    else
        print_below(c, d);
}

int ttl_doctor_run(struct cli *c)
{
    struct doctor d = {.findings = json_array()};
    json_t *policies = NULL, *doc;
    int rc = load_policies(c, &policies);

    if (rc == 0)
        rc = examine(c, &d, policies);
    if (rc == 0 && c->json) {
        doc = json_pack("{s:I,s:O}", "streams", (json_int_t)json_array_size(policies), "findings",
                        d.findings);
        request_print(c, doc);
        json_decref(doc);
    } else if (rc == 0)
        print_findings(c, &d, json_array_size(policies));
    if (rc == 0 && json_array_size(d.findings) > 0)
        rc = CLI_FOUND;
    json_decref(policies);
    json_decref(d.findings);
    return rc;
}
