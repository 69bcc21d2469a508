/* ttl_backfill.c: mayfly ttl backfill: applies the policy to stored messages, and waits for it. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

struct backfill {
    struct cli *c;
    struct request_stream stream;
    const char *action;
    json_t *doc; /* the last answer */
};

/* --- one answer ------------------------------------------------------------------------------- */

/* 988,120 get a deadline (default 988,120) */
static void put_decided(struct mf_buf *out, const json_t *job)
{
    json_t *decided = json_object_get(job, "decided"), *value;
    const char *by, *comma = " (";
    char count[HUMAN_TEXT];

    json_object_foreach(decided, by, value)
    {
        mf_buf_puts(out, comma);
        term_safe(out, mf_str(by));
        mf_buf_printf(out, " %s", human_count(count, (uint64_t)json_integer_value(value)));
        comma = ", ";
    }
    if (comma[0] == ',')
        mf_buf_puts(out, ")");
}

static void put_count(struct mf_buf *out, const json_t *job, const char *member, const char *text)
{
    char count[HUMAN_TEXT];

    mf_buf_printf(out, "   %s %s", human_count(count, (uint64_t)request_int(job, member)), text);
}

/* A text of the server, as it may be shown. */
static void put_text(struct mf_buf *out, const char *name, const char *text)
{
    mf_buf_puts(out, name);
    term_safe(out, mf_str(text));
}

static void print_job(struct backfill *b)
{
    const json_t *job = json_object_get(b->doc, "job");
    bool dry = request_bool(job, "dry_run");
    struct mf_buf line = MF_BUF_INIT;
    char a[HUMAN_TEXT], d[HUMAN_TEXT];

    put_text(&line, dry ? "dry run " : "", request_text(job, "state"));
    put_text(&line, ": which ", request_text(job, "which"));
    put_text(&line, ", from ", request_text(job, "from"));
    if (strcmp(request_text(job, "spread"), "0s") != 0)
        put_text(&line, ", spread ", ttl_duration_text(a, request_text(job, "spread")));
    if (strcmp(request_text(job, "filter"), ">") != 0)
        put_text(&line, ", filter ", request_key(&b->stream, request_text(job, "filter")));
    mf_buf_puts(&line, "\n");
    put_count(&line, job, "seen", "seen");
    if (request_int(job, "seen") < request_int(job, "total"))
        mf_buf_printf(&line, " of %s", human_count(a, (uint64_t)request_int(job, "total")));
    put_count(&line, job, "set", dry ? "get a deadline" : "got a deadline");
    put_decided(&line, job);
    if (request_int(job, "infinite") > 0)
        put_count(&line, job, "infinite", "never expire");
    put_count(&line, job, "unchanged", "unchanged");
    put_count(&line, job, "pinned", "pinned");
    put_count(&line, job, "expire_now", dry ? "would end at once" : "ended at once");
    if (request_int(job, "errors") > 0)
        put_count(&line, job, "errors", "errors");
    if (request_int(job, "per_second") > 0)
        mf_buf_printf(&line, "   %s, %s left",
                      human_rate(a, (double)request_int(job, "per_second")),
                      human_duration(d, request_int(job, "left_s") * CLOCK_S));
    mf_buf_puts(&line, "\n");
    (void)fputs(mf_buf_cstr(&line), b->c->term.out);
    mf_buf_fini(&line);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static bool is_running(const struct backfill *b)
{
    return strcmp(request_text(json_object_get(b->doc, "job"), "state"), "running") == 0;
}

static int ask(struct backfill *b, const json_t *body)
{
    json_t *doc = NULL;
    int rc = ttl_request(b->c, body, cli_arg(b->c, 0), &doc, "BACKFILL.%s", b->stream.name);

    if (rc == 0) {
        json_decref(b->doc);
        b->doc = doc;
    }
    return rc;
}

static bool shows_progress(const struct backfill *b)
{
    return b->c->term.cursor && isatty(STDERR_FILENO) == 1;
}

/* On stderr, where that is a terminal. */
static void show_progress(struct backfill *b)
{
    const json_t *job = json_object_get(b->doc, "job");
    double total = (double)request_int(job, "total");
    struct mf_buf bar = MF_BUF_INIT;
    char rate[HUMAN_TEXT];

    if (!shows_progress(b))
        return;
    term_bar(&b->c->term, &bar, total <= 0 ? 0 : (double)request_int(job, "seen") / total, 24);
    (void)fprintf(stderr, "\r%s  %3.0f %%  %s\033[K", mf_buf_cstr(&bar),
                  total <= 0 ? 0 : 100 * (double)request_int(job, "seen") / total,
                  human_rate(rate, (double)request_int(job, "per_second")));
    mf_buf_fini(&bar);
}

static int wait_for_end(struct backfill *b)
{
    json_t *status = json_pack("{s:s}", "action", "status");
    int rc = 0, pause_ms = 5;

    while (rc == 0 && is_running(b) && !cli_interrupted()) {
        show_progress(b);
        (void)poll(NULL, 0, pause_ms); /* longer and longer: short jobs end at once */
        pause_ms = pause_ms < 200 ? pause_ms * 2 : 200;
        if (!cli_interrupted())
            rc = ask(b, status);
    }
    if (shows_progress(b))
        (void)fputs("\r\033[K", stderr);
    json_decref(status);
    return cli_interrupted() ? 0 : rc; /* Ctrl-C ends the wait, perhaps within a request */
}

/* --- the command ------------------------------------------------------------------------------ */

static int check_word(struct cli *c, const char *flag, const char *one, const char *two)
{
    const char *text = cli_text(c, flag);

    if (text == NULL || strcmp(text, one) == 0 || strcmp(text, two) == 0)
        return 0;
    return cli_usage(c, "--%s must be %s or %s", flag, one, two);
}

static bool has_start_flag(struct cli *c)
{
    return cli_on(c, "dry-run") || cli_text(c, "which") != NULL || cli_text(c, "from") != NULL ||
           cli_text(c, "filter") != NULL || cli_duration(c, "spread", -1) >= 0 ||
           cli_number(c, "rate", -1) >= 0 || cli_number(c, "expire-now", -1) >= 0 ||
           cli_on(c, "no-wait");
}

static int read_action(struct backfill *b)
{
    static const char *const actions[] = {"start", "status", "pause", "resume", "stop"};
    struct cli *c = b->c;
    size_t i = 0;
    int rc;

    b->action = cli_arg(c, 1) == NULL ? "start" : cli_arg(c, 1);
    while (i < MF_COUNT(actions) && strcmp(b->action, actions[i]) != 0)
        i++;
    if (i == MF_COUNT(actions))
        return cli_usage(c, "\"%s\" is none of start, status, pause, resume, stop", b->action);
    if (i != 0 && has_start_flag(c))
        return cli_usage(c, "flags go with the start of a backfill, not with %s", b->action);
    if ((rc = check_word(c, "which", "without", "all")) != 0)
        return rc;
    return check_word(c, "from", "now", "written");
}

static json_t *make_body(struct backfill *b)
{
    json_t *body = json_pack("{s:s}", "action", b->action);
    struct cli *c = b->c;

    if (cli_on(c, "dry-run"))
        (void)json_object_set_new(body, "dry_run", json_true());
    ttl_put_text(cli_text(c, "which"), "which", body);
    ttl_put_text(cli_text(c, "from"), "from", body);
    ttl_put_duration(c, "spread", "spread", body);
    ttl_put_filter(c, &b->stream, body);
    if (cli_number(c, "rate", -1) >= 0)
        (void)json_object_set_new(body, "rate", json_integer(cli_number(c, "rate", 0)));
    if (cli_number(c, "expire-now", -1) >= 0)
        (void)json_object_set_new(body, "expire_now", json_integer(cli_number(c, "expire-now", 0)));
    return body;
}

/* A job that ended badly is a refusal: its error says what to do. */
static int judge_end(struct backfill *b)
{
    const json_t *job = json_object_get(b->doc, "job");

    if (strcmp(b->action, "start") != 0)
        return 0;
    if (strcmp(request_text(job, "state"), "failed") == 0)
        return cli_fail(b->c, CLI_REFUSED, "refused: %s", request_text(job, "error"));
    if (is_running(b) && !b->c->json)
        (void)fprintf(b->c->term.out, "it goes on: mayfly ttl backfill %s status\n",
                      cli_arg(b->c, 0));
    return 0;
}

int ttl_backfill_run(struct cli *c)
{
    struct backfill b = {.c = c};
    json_t *body = NULL;
    int rc = read_action(&b);

    if (rc == 0)
        rc = ttl_open_stream(c, &b.stream);
    if (rc == 0) {
        body = make_body(&b);
        rc = ask(&b, body);
    }
    if (rc == 0 && strcmp(b.action, "start") == 0 && !cli_on(c, "no-wait"))
        rc = wait_for_end(&b);
    if (rc == 0 && c->json)
        request_print(c, b.doc);
    else if (rc == 0)
        print_job(&b);
    if (rc == 0)
        rc = judge_end(&b);
    json_decref(body);
    json_decref(b.doc);
    return rc;
}
