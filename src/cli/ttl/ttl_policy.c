/* ttl_policy.c: mayfly ttl policy: the effective policy with the origin of each value, and a
 * try-out of one message (--test).  Changes (--set): ttl_policy_set.c. */
#include "cli/ttl/ttl_policy_impl.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PAYLOAD_MAX 16384 /* the server reads no more for a policy */

/* --- the policy ------------------------------------------------------------------------------- */

static void add_key(struct table *t, const json_t *doc, const char *key)
{
    const char *value = request_text(json_object_get(doc, "policy"), key);
    bool set = value[0] != '\0';

    table_cell(t, "%s", key);
    table_styled(t, set ? TERM_PLAIN : TERM_DIM, "%s", set ? value : "-");
    table_styled(t, TERM_DIM, "%s", request_text(json_object_get(doc, "origin"), key));
}

static void print_keys(struct cli *c, const json_t *doc)
{
    bool pairs = c->term.tty && c->term.width >= 80; /* two keys a line, as they are short */
    const json_t *policy = json_object_get(doc, "policy"), *value;
    struct table t;
    const char *key;
    size_t n = 0;

    table_init(&t, &c->term, pairs ? "lllllll" : "lll", NULL);
    json_object_foreach((json_t *)policy, key, value)
    {
        if (!json_is_string(value)) /* rules */
            continue;
        if (pairs && n % 2 == 1)
            table_cell(&t, "   ");
        add_key(&t, doc, key);
        n++;
    }
    for (; pairs && n % 2 == 1; n++)
        for (int i = 0; i < 4; i++)
            table_cell(&t, "%s", "");
    table_print(&t);
}

static void print_rules(struct cli *c, const json_t *doc)
{
    json_t *rules = json_object_get(json_object_get(doc, "policy"), "rules"), *rule;
    size_t i;

    json_array_foreach(rules, i, rule)
    {
        char *text = json_dumps(rule, JSON_COMPACT);

        (void)fprintf(c->term.out, "rule %zu  ", i + 1);
        term_print_safe(&c->term, mf_str(text));
        (void)fputc('\n', c->term.out);
        free(text);
    }
}

static void print_notes(struct cli *c, const json_t *doc)
{
    json_t *notes = json_object_get(doc, "notes"), *note;
    size_t i;

    json_array_foreach(notes, i, note)
    {
        (void)fprintf(c->term.out, "%snote%s  ", term_on(&c->term, TERM_YELLOW),
                      term_off(&c->term));
        term_print_safe(&c->term, mf_str(json_string_value(note)));
        (void)fputc('\n', c->term.out);
    }
}

void policy_print(struct cli *c, const json_t *doc)
{
    struct term *t = &c->term;
    struct mf_buf line = MF_BUF_INIT;

    ttl_policy_line(&line, doc);
    (void)fputs(term_on(t, TERM_BOLD), t->out);
    term_print_safe(t, mf_str(request_text(doc, "stream")));
    (void)fprintf(t->out, "%s   ", term_off(t));
    term_print_safe(t, mf_buf_slice(&line));
    (void)fputc('\n', t->out);
    print_keys(c, doc);
    print_rules(c, doc);
    (void)fprintf(t->out, "max_age %s   marker_ttl %s   allow_msg_ttl %s\n",
                  request_text(doc, "max_age"), request_text(doc, "marker_ttl"),
                  request_bool(doc, "allow_msg_ttl") ? "yes" : "no");
    print_notes(c, doc);
    mf_buf_fini(&line);
}

/* --- all streams ------------------------------------------------------------------------------ */

static int list_policies(struct cli *c)
{
    static const char *const heads[] = {"STREAM", "POLICY"};
    json_t *all, *doc;
    struct table t;
    size_t i;
    int rc;

    if ((all = ttl_policies(c, &rc)) == NULL)
        return rc;
    if (c->json) {
        doc = json_pack("{s:I,s:O}", "total", (json_int_t)json_array_size(all), "streams", all);
        request_print(c, doc);
        json_decref(doc);
    } else {
        table_init(&t, &c->term, "ll", heads);
        json_array_foreach(all, i, doc)
        {
            struct mf_buf line = MF_BUF_INIT;

            ttl_policy_line(&line, doc);
            table_cell(&t, "%s", request_text(doc, "stream"));
            table_cell(&t, "%s", mf_buf_cstr(&line));
            mf_buf_fini(&line);
        }
        table_print(&t);
    }
    json_decref(all);
    return 0;
}

/* --- one message, tried out ------------------------------------------------------------------- */

/* K:V, with or without a blank behind the colon. */
static int put_header(struct cli *c, const char *text, json_t *headers)
{
    const char *colon = strchr(text, ':');
    char name[256];

    if (colon == NULL || colon == text || colon - text >= (int)sizeof name)
        return cli_usage(c, "--header: \"%s\" is not NAME:VALUE", text);
    (void)snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    colon += 1 + strspn(colon + 1, " ");
    if (json_object_set_new(headers, name, json_string(colon)) != 0)
        return cli_usage(c, "--header: \"%s\" is no UTF-8", text);
    return 0;
}

static int read_payload_file(struct cli *c, const char *path, char *text, size_t *len)
{
    FILE *f = fopen(path, "rb");

    if (f == NULL)
        return cli_fail(c, CLI_USAGE, "%s: %s", path, strerror(errno));
    *len = fread(text, 1, PAYLOAD_MAX + 1, f);
    (void)fclose(f);
    return 0;
}

static int put_payload(struct cli *c, json_t *test)
{
    const char *given = cli_text(c, "payload");
    char *text;
    size_t len = 0;
    int rc = 0;

    if (given == NULL)
        return 0;
    if ((text = malloc(PAYLOAD_MAX + 1)) == NULL)
        return cli_fail(c, CLI_USAGE, "out of memory");
    if (given[0] == '@') {
        rc = read_payload_file(c, given + 1, text, &len);
    } else {
        len = strlen(given);
        memcpy(text, given, len > PAYLOAD_MAX ? PAYLOAD_MAX + 1 : len);
    }
    if (rc == 0 && len > PAYLOAD_MAX)
        rc = cli_usage(c, "--payload: at most %d bytes, as much as a policy reads", PAYLOAD_MAX);
    if (rc == 0 && json_object_set_new(test, "payload", json_stringn(text, len)) != 0)
        rc = cli_usage(c, "--payload: no UTF-8 text");
    free(text);
    return rc;
}

static int make_test(struct cli *c, const struct request_stream *s, json_t *body)
{
    json_t *test = json_object(), *headers = json_object();
    char subject[TTL_SUBJECT];
    int rc = ttl_key_subject(c, s, cli_text(c, "test"), subject);

    if (rc == 0)
        ttl_put_text(subject, "subject", test);
    ttl_put_text(cli_text(c, "ttl"), "Nats-TTL", headers);
    for (size_t i = 0; rc == 0 && cli_text_at(c, "header", i) != NULL; i++)
        rc = put_header(c, cli_text_at(c, "header", i), headers);
    if (rc == 0)
        rc = put_payload(c, test);
    (void)json_object_set_new(test, "headers", headers);
    (void)json_object_set_new(body, "test", test);
    return rc;
}

/* test alice.x --ttl 48h: client: 48h0m0s > max 720h0m0s: within > expires 2026-11-19 09:00:00Z */
static void print_test(struct cli *c, const json_t *doc)
{
    const json_t *result = json_object_get(doc, "result");
    json_t *trace = json_object_get(doc, "trace"), *line;
    struct term *t = &c->term;
    char time[HUMAN_TEXT];
    size_t i;

    (void)fputs("test ", t->out);
    term_print_safe(t, mf_str(cli_text(c, "test")));
    if (cli_text(c, "ttl") != NULL)
        (void)fprintf(t->out, " --ttl %s", cli_text(c, "ttl"));
    (void)fputs(": ", t->out);
    json_array_foreach(trace, i, line)
    {
        term_print_safe(t, mf_str(json_string_value(line)));
        (void)fputs(" > ", t->out);
    }
    if (json_object_get(result, "error") != NULL) {
        (void)fprintf(t->out, "%srefused: ", term_on(t, TERM_RED));
        term_print_safe(t, mf_str(request_text(json_object_get(result, "error"), "description")));
        (void)fprintf(t->out, "%s\n", term_off(t));
    } else if (json_object_get(result, "expires") != NULL)
        (void)fprintf(t->out, "expires %s (%s by %s)\n",
                      human_time(time, request_time(result, "expires")),
                      request_text(result, "ttl"), request_text(result, "decided_by"));
    else
        (void)fprintf(t->out, "%s (by %s)\n",
                      strcmp(request_text(result, "state"), "infinite") == 0 ? "never expires"
                                                                             : "no deadline",
                      request_text(result, "decided_by"));
}

static int test_policy(struct cli *c, const struct request_stream *s)
{
    json_t *body = json_object(), *doc = NULL, *keys = NULL;
    int rc = make_test(c, s, body);

    if (rc == 0 && cli_text_at(c, "set", 0) != NULL) {
        rc = policy_read_keys(c, &keys);
        (void)json_object_set_new(body, "policy", keys);
    }
    if (rc == 0)
        rc = ttl_request(c, body, cli_arg(c, 0), &doc, "POLICY.%s", s->name);
    if (rc == 0 && c->json)
        request_print(c, doc);
    else if (rc == 0)
        print_test(c, doc);
    if (rc == 0 && json_object_get(json_object_get(doc, "result"), "error") != NULL)
        rc = CLI_FOUND;
    json_decref(body);
    json_decref(doc);
    return rc;
}

/* --- the command ------------------------------------------------------------------------------ */

static int check_flags(struct cli *c)
{
    bool test = cli_text(c, "test") != NULL, set = cli_text_at(c, "set", 0) != NULL;

    if (cli_arg(c, 0) == NULL && (test || set))
        return cli_usage(c, "--test and --set need a STREAM");
    if (!test && (cli_text(c, "ttl") != NULL || cli_text(c, "payload") != NULL ||
                  cli_text_at(c, "header", 0) != NULL))
        return cli_usage(c, "--ttl, --header and --payload go with --test KEY");
    if (cli_on(c, "dry-run") && !set)
        return cli_usage(c, "--dry-run goes with --set KEY=VALUE");
    if (test && set && !cli_on(c, "dry-run"))
        return cli_usage(c, "--test tries the keys of --set and changes nothing: add --dry-run");
    return 0;
}

int ttl_policy_run(struct cli *c)
{
    struct request_stream s;
    json_t *doc = NULL;
    int rc = check_flags(c);

    if (rc != 0)
        return rc;
    if (cli_arg(c, 0) == NULL)
        return list_policies(c);
    if ((rc = ttl_open_stream(c, &s)) != 0)
        return rc;
    if (cli_text(c, "test") != NULL)
        return test_policy(c, &s);
    if (cli_text_at(c, "set", 0) != NULL)
        return policy_set(c, &s);
    rc = ttl_request(c, NULL, cli_arg(c, 0), &doc, "POLICY.%s", s.name);
    if (rc == 0 && c->json)
        request_print(c, doc);
    else if (rc == 0)
        policy_print(c, doc);
    json_decref(doc);
    return rc;
}
