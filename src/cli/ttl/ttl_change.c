/* ttl_change.c: mayfly ttl set, touch, persist: of one message, or page after page of all that
 * match a key with wildcards. */
#include "cli/ttl/ttl_impl.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define PAGE 1000 /* the most that one request changes */

struct change {
    struct cli *c;
    const char *op; /* SET, TOUCH, PERSIST */
    struct request_stream stream;
    char subject[TTL_SUBJECT];
    json_t *body; /* SET: ttl or expires, if */
};

/* --- one message ------------------------------------------------------------------------------ */

/* 24h0m0s, to the second where that is close enough. */
static const char *format_left(char dst[CLOCK_TEXT], int64_t ms)
{
    if (ms >= 10000)
        ms = (ms + 500) / 1000 * 1000;
    return clock_duration(dst, ms * CLOCK_MS);
}

static void print_skipped(struct change *x)
{
    const char *cond = strcmp(x->op, "SET") == 0 ? cli_text(x->c, "if") : NULL;
    FILE *out = x->c->term.out;

    if (strcmp(x->op, "TOUCH") == 0)
        (void)fputs(" is unchanged: it has no deadline to renew, or nothing gives it a TTL\n", out);
    else if (cond != NULL)
        (void)fprintf(out, " is unchanged: --if %s does not hold\n", cond);
    else
        (void)fputs(" is unchanged\n", out);
}

static void print_one(struct change *x, const json_t *doc)
{
    struct term *t = &x->c->term;
    char left[CLOCK_TEXT], time[HUMAN_TEXT];

    term_print_safe(t, mf_str(request_key(&x->stream, request_text(doc, "subject"))));
    (void)fprintf(t->out, " %s %" PRId64, x->stream.bucket[0] != '\0' ? "rev" : "seq",
                  request_int(doc, "seq"));
    if (request_int(doc, "count") == 0) {
        print_skipped(x);
        return;
    }
    if (json_object_get(doc, "expires") == NULL)
        (void)fputs(" does not expire any more", t->out);
    else if (request_time(doc, "expires") <= clock_wall_ns() && request_int(doc, "left_ms") <= 1)
        (void)fputs(" expires now", t->out);
    else
        (void)fprintf(t->out, " expires in %s (%s)", format_left(left, request_int(doc, "left_ms")),
                      human_time(time, request_time(doc, "expires")));
    (void)fputs(request_bool(doc, "clamped") ? ", clamped to what is allowed here\n" : "\n",
                t->out);
}

static int change_one(struct change *x)
{
    char what[TTL_WHAT];
    json_t *doc = NULL;
    int rc;

    if (cli_number(x->c, "rev", 0) > 0)
        (void)json_object_set_new(x->body, "expect_seq", json_integer(cli_number(x->c, "rev", 0)));
    rc = ttl_request(x->c, x->body, ttl_what(what, x->c, cli_arg(x->c, 1)), &doc, "%s.%s.%s", x->op,
                     x->stream.name, x->subject);
    if (rc == 0 && x->c->json)
        request_print(x->c, doc);
    else if (rc == 0)
        print_one(x, doc);
    json_decref(doc);
    return rc;
}

/* --- all that match --------------------------------------------------------------------------- */

static void add_page(json_t *sum, const json_t *page)
{
    static const char *const counts[] = {"count", "skipped"};

    for (size_t i = 0; i < MF_COUNT(counts); i++)
        (void)json_object_set_new(
            sum, counts[i],
            json_integer(request_int(sum, counts[i]) + request_int(page, counts[i])));
}

static void print_sum(struct change *x, const json_t *sum, bool whole)
{
    char count[HUMAN_TEXT], skipped[HUMAN_TEXT];

    if (x->c->json) {
        request_print(x->c, sum);
        return;
    }
    (void)fprintf(x->c->term.out, "%s changed, %s skipped%s\n",
                  human_count(count, (uint64_t)request_int(sum, "count")),
                  human_count(skipped, (uint64_t)request_int(sum, "skipped")),
                  whole ? "" : ", then it was interrupted");
}

static int change_page(struct change *x, json_t **sum, bool *more)
{
    json_t *page = NULL;
    int rc = ttl_request(x->c, x->body, cli_arg(x->c, 0), &page, "%s.%s", x->op, x->stream.name);

    if (rc != 0)
        return rc;
    *more = request_bool(page, "more");
    (void)json_object_set_new(x->body, "from_seq", json_integer(request_int(page, "from_seq")));
    if (*sum == NULL) {
        *sum = json_incref(page);
        (void)json_object_del(*sum, "more");
        (void)json_object_del(*sum, "from_seq");
    } else
        add_page(*sum, page);
    json_decref(page);
    return 0;
}

static int change_matching(struct change *x)
{
    json_t *sum = NULL;
    bool more = true;
    int rc = 0;

    if (cli_number(x->c, "rev", 0) > 0)
        return cli_usage(x->c, "--rev goes with one key, not with wildcards");
    ttl_put_text(x->subject, "filter", x->body);
    (void)json_object_set_new(x->body, "limit", json_integer(PAGE));
    while (rc == 0 && more && !cli_interrupted())
        rc = change_page(x, &sum, &more);
    if (sum != NULL)
        print_sum(x, sum, !more);
    json_decref(sum);
    return rc != 0 ? rc : more ? CLI_USAGE : 0;
}

static int run_change(struct change *x)
{
    int rc = ttl_open_stream(x->c, &x->stream);

    if (rc == 0)
        rc = ttl_key_subject(x->c, &x->stream, cli_arg(x->c, 1), x->subject);
    if (rc == 0)
        rc = ttl_has_wildcard(x->subject) ? change_matching(x) : change_one(x);
    json_decref(x->body);
    return rc;
}

/* --- the commands ----------------------------------------------------------------------------- */

int ttl_touch_run(struct cli *c)
{
    struct change x = {.c = c, .op = "TOUCH", .body = json_object()};

    return run_change(&x);
}

int ttl_persist_run(struct cli *c)
{
    struct change x = {.c = c, .op = "PERSIST", .body = json_object()};

    return run_change(&x);
}

/* The TTL as the API reads it: a duration, or plain seconds. */
static int put_ttl(struct cli *c, const char *text, json_t *body)
{
    char go[CLOCK_TEXT];
    uint64_t seconds;
    int64_t ns;

    if (strcmp(text, "never") == 0)
        return cli_usage(c, "for no deadline: mayfly ttl persist %s %s", cli_arg(c, 0),
                         cli_arg(c, 1));
    if (mf_parse_u64(mf_str(text), &seconds) == 0) {
        ttl_put_text(text, "ttl", body);
        return 0;
    }
    if (cli_parse_duration(text, &ns) != 0)
        return cli_usage(c, "\"%s\" is no TTL: 90s, 1h30m, 7d, or seconds; 1s to 36500d", text);
    ttl_put_text(clock_duration(go, ns), "ttl", body);
    return 0;
}

static int read_set(struct cli *c, json_t *body)
{
    static const char *const conditions[] = {"set", "unset", "longer", "shorter"};
    const char *ttl = cli_arg(c, 2), *at = cli_text(c, "at"), *cond = cli_text(c, "if");
    int64_t ns;
    size_t i = 0;

    if ((ttl == NULL) == (at == NULL))
        return cli_usage(c, "give a TTL or --at TIME, one of both");
    while (cond != NULL && i < MF_COUNT(conditions) && strcmp(cond, conditions[i]) != 0)
        i++;
    if (i == MF_COUNT(conditions))
        return cli_usage(c, "--if must be set, unset, longer or shorter");
    ttl_put_text(cond, "if", body);
    if (ttl != NULL)
        return put_ttl(c, ttl, body);
    if (human_parse_time(at, &ns) != 0)
        return cli_usage(c, "--at: \"%s\" is no time like 2026-12-01T00:00:00Z", at);
    ttl_put_text(at, "expires", body);
    return 0;
}

int ttl_set_run(struct cli *c)
{
    struct change x = {.c = c, .op = "SET", .body = json_object()};
    int rc = read_set(c, x.body);

    if (rc != 0) {
        json_decref(x.body);
        return rc;
    }
    return run_change(&x);
}
