/* ttl_policy_set.c: mayfly ttl policy --set: reads the configuration of the stream, changes its
 * metadata, and updates the stream.  --dry-run asks the server what would change instead. */
#include "cli/ttl/ttl_policy_impl.h"

#include <inttypes.h>
#include <stdio.h>

#define PREFIX "mayfly.ttl."

int policy_read_keys(struct cli *c, json_t **keys)
{
    *keys = json_object();
    for (size_t i = 0; cli_text_at(c, "set", i) != NULL; i++) {
        const char *text = cli_text_at(c, "set", i), *equals = strchr(text, '=');
        bool whole = strncmp(text, PREFIX, strlen(PREFIX)) == 0;
        char name[128];

        if (equals == NULL || equals == text || equals - text > 64)
            return cli_usage(c, "--set: \"%s\" is not KEY=VALUE", text);
        (void)snprintf(name, sizeof name, "%s%.*s", whole ? "" : PREFIX, (int)(equals - text),
                       text);
        if (json_object_set_new(*keys, name, json_string(equals + 1)) != 0)
            return cli_usage(c, "--set: \"%s\" is no UTF-8", text);
    }
    return 0;
}

/* --- what would change ------------------------------------------------------------------------ */

static void print_way(struct cli *c, const char *from, const json_t *n)
{
    char change[HUMAN_TEXT], now[HUMAN_TEXT];

    (void)fprintf(
        c->term.out,
        "  backfill --which all --from %-8s %s would change, %s of them would end at once\n", from,
        human_count(change, (uint64_t)request_int(n, "change")),
        human_count(now, (uint64_t)request_int(n, "expire_now")));
}

static void print_steady(struct cli *c, const char *name, const json_t *y)
{
    char count[HUMAN_TEXT], size[HUMAN_TEXT];

    (void)fprintf(c->term.out, "  heading for %s messages, %s (%s)\n",
                  human_count(count, (uint64_t)request_int(y, "msgs")),
                  human_bytes(size, (uint64_t)request_int(y, "bytes")), name);
}

static void print_dry_run(struct cli *c, const json_t *doc)
{
    const json_t *b = json_object_get(doc, "backfill");
    char seen[HUMAN_TEXT];

    (void)fputs("dry run, nothing was changed; with these keys:\n", c->term.out);
    policy_print(c, doc);
    (void)fprintf(c->term.out,
                  "new messages follow at once; %s stored ones follow by a backfill:\n",
                  human_count(seen, (uint64_t)request_int(b, "seen")));
    print_way(c, "now", json_object_get(b, "from_now"));
    print_way(c, "written", json_object_get(b, "from_written"));
    if (ttl_is_steady(json_object_get(doc, "steady_before")))
        print_steady(c, "now", json_object_get(doc, "steady_before"));
    if (ttl_is_steady(json_object_get(doc, "steady")))
        print_steady(c, "then", json_object_get(doc, "steady"));
}

static int try_keys(struct cli *c, const struct request_stream *s, json_t *keys)
{
    json_t *body = json_pack("{s:O}", "what_if", keys), *doc = NULL;
    int rc = ttl_request(c, body, cli_arg(c, 0), &doc, "POLICY.%s", s->name);

    if (rc == 0 && c->json)
        request_print(c, doc);
    else if (rc == 0)
        print_dry_run(c, doc);
    json_decref(body);
    json_decref(doc);
    return rc;
}

/* --- the change ------------------------------------------------------------------------------- */

/* Copies the keys into the metadata; an empty value removes its key. */
static void merge_keys(json_t *config, json_t *keys)
{
    json_t *metadata = json_object_get(config, "metadata"), *value;
    const char *key;

    if (!json_is_object(metadata)) {
        metadata = json_object();
        (void)json_object_set_new(config, "metadata", metadata);
    }
    json_object_foreach(keys, key, value)
    {
        if (json_string_length(value) == 0)
            (void)json_object_del(metadata, key);
        else
            (void)json_object_set(metadata, key, value);
    }
}

static int update_stream(struct cli *c, const struct request_stream *s, json_t *keys)
{
    json_t *info = NULL, *answer = NULL, *config;
    struct request_error err = {.code = 0};
    int rc = request_api(c, NULL, cli_arg(c, 0), &info, NULL, "STREAM.INFO.%s", s->name);

    if (rc != 0)
        return rc;
    config = json_object_get(info, "config");
    merge_keys(config, keys);
    rc = request_api(c, config, NULL, &answer, &err, "STREAM.UPDATE.%s", s->name);
    if (rc == 0 && err.code != 0)
        rc = request_refused(c, &err, NULL);
    json_decref(info);
    json_decref(answer);
    return rc;
}

int policy_set(struct cli *c, const struct request_stream *s)
{
    json_t *keys = NULL, *doc = NULL;
    int rc = policy_read_keys(c, &keys);

    if (rc == 0 && cli_on(c, "dry-run")) {
        rc = try_keys(c, s, keys);
    } else if (rc == 0) {
        /* A nats-server would store the keys and do nothing: ask for the TTL API first. */
        rc = ttl_request(c, NULL, cli_arg(c, 0), &doc, "POLICY.%s", s->name);
        json_decref(doc);
        doc = NULL;
        if (rc == 0)
            rc = update_stream(c, s, keys);
        if (rc == 0)
            rc = ttl_request(c, NULL, cli_arg(c, 0), &doc, "POLICY.%s", s->name);
        if (rc == 0 && c->json)
            request_print(c, doc);
        else if (rc == 0)
            policy_print(c, doc);
    }
    json_decref(keys);
    json_decref(doc);
    return rc;
}
