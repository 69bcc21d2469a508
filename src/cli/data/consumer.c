/* consumer.c: `mayfly consumer`: lists, shows, creates and removes consumers. */
#include "cli/data/data_impl.h"

#include "base/clock.h"
#include "cli/data/stream_config.h"
#include "cli/human.h"
#include "cli/table.h"

const struct cli_flag consumer_create_flags[] = {
    {"filter", 0, CLI_TEXTS, "SUBJECT",
     "only messages of this subject; may be given several times"},
    {"deliver", 0, CLI_TEXT, "FROM",
     "all, last, new, last_per_subject, a sequence, or a time back (1h)"},
    {"ack", 0, CLI_TEXT, "KIND", "explicit (default), all or none"},
    {"ack-wait", 0, CLI_DURATION, "TIME", "deliver again without a consumer ack after TIME"},
    {"max-deliver", 0, CLI_NUMBER, "N", "deliver a message at most N times (0: unlimited)"},
    {"max-ack-pending", 0, CLI_NUMBER, "N", "most messages without a consumer ack"},
    {"inactive", 0, CLI_DURATION, "TIME", "remove the consumer when nobody uses it for TIME"},
    {"headers-only", 0, CLI_SWITCH, NULL, "deliver headers, not payloads"},
    {"description", 0, CLI_TEXT, "TEXT", "what the consumer is for"},
    {"metadata", 0, CLI_TEXTS, "K=V", "metadata"},
    {"config", 0, CLI_TEXT, "FILE", "a JSON document with the configuration; flags win over it"},
    {0},
};

/* --- ls and info ------------------------------------------------------------------------------ */

static void print_list(struct cli *c, const json_t *all)
{
    static const char *const heads[] = {"NAME",    "FILTER",  "ACK", "PENDING",
                                        "UNACKED", "WAITING", "LAST"};
    struct table t;
    json_t *info;
    size_t i;

    table_init(&t, &c->term, "lLLrRRR", heads);
    json_array_foreach((json_t *)all, i, info)
    {
        const json_t *config = json_object_get(info, "config");
        const json_t *delivered = json_object_get(info, "delivered");
        const char *filter = request_text(config, "filter_subject");
        int64_t last = request_time(delivered, "last_active");
        char text[HUMAN_TEXT];

        if (*filter == '\0')
            filter =
                json_string_value(json_array_get(json_object_get(config, "filter_subjects"), 0));
        table_cell(&t, "%s", request_text(info, "name"));
        table_cell(&t, "%s", filter == NULL ? "-" : filter);
        table_cell(&t, "%s", request_text(config, "ack_policy"));
        table_cell(&t, "%s", human_count(text, (uint64_t)request_int(info, "num_pending")));
        table_cell(&t, "%s", human_count(text, (uint64_t)request_int(info, "num_ack_pending")));
        table_cell(&t, "%lld", (long long)request_int(info, "num_waiting"));
        if (last > 0)
            table_cell(&t, "%s ago", human_duration(text, data_now() - last));
        else
            table_cell(&t, "-");
    }
    table_print(&t);
}

int consumer_list_run(struct cli *c)
{
    struct request_stream s;
    char subject[300];
    json_t *all = json_array();
    int rc = request_find_stream(c, cli_arg(c, 0), &s);

    if (rc == 0) {
        (void)snprintf(subject, sizeof subject, "CONSUMER.LIST.%s", s.name);
        rc = data_list(c, subject, NULL, cli_arg(c, 0), "consumers", all);
    }
    if (rc == 0)
        data_print_list(c, "consumers", all,
                        "no consumers: `mayfly consumer create STREAM NAME` makes one", print_list);
    json_decref(all);
    return rc;
}

static void add_number(struct table *t, const char *name, int64_t n)
{
    char text[HUMAN_TEXT];

    table_styled(t, TERM_DIM, "%s", name);
    table_cell(t, "%s", human_count(text, (uint64_t)n));
}

static void print_info(struct cli *c, const json_t *info)
{
    const char *key;
    char when[HUMAN_TEXT];
    json_t *value;
    struct table t;

    (void)fputs(term_on(&c->term, TERM_BOLD), c->term.out);
    data_print_text(c, request_text(info, "stream_name"));
    (void)fputs(" > ", c->term.out);
    data_print_text(c, request_text(info, "name"));
    (void)fprintf(c->term.out, "%s   created %s\n", term_off(&c->term),
                  human_time(when, request_time(info, "created")));
    table_init(&t, &c->term, "ll", NULL);
    json_object_foreach(json_object_get(info, "config"), key, value)
    {
        bool time = strcmp(key, "ack_wait") == 0 || strcmp(key, "inactive_threshold") == 0 ||
                    strcmp(key, "idle_heartbeat") == 0 || strcmp(key, "max_expires") == 0;

        if (strcmp(key, "durable_name") != 0 && strcmp(key, "metadata") != 0)
            stream_config_add_row(&t, key, time ? "max_age" : key, value);
    }
    stream_config_add_metadata(&t, json_object_get(info, "config"));
    add_number(&t, "delivered up to",
               request_int(json_object_get(info, "delivered"), "stream_seq"));
    add_number(&t, "acknowledged up to",
               request_int(json_object_get(info, "ack_floor"), "stream_seq"));
    add_number(&t, "to be delivered", request_int(info, "num_pending"));
    add_number(&t, "without an ack", request_int(info, "num_ack_pending"));
    add_number(&t, "redelivered", request_int(info, "num_redelivered"));
    add_number(&t, "waiting pulls", request_int(info, "num_waiting"));
    table_print(&t);
}

/* The consumer that the arguments STREAM and CONSUMER name: its stream and its info. */
static int find_consumer(struct cli *c, struct request_stream *s, json_t **info)
{
    int rc = data_check_name(c, "consumer", cli_arg(c, 1));

    *info = NULL;
    if (rc == 0)
        rc = request_find_stream(c, cli_arg(c, 0), s);
    if (rc == 0)
        rc = request_api(c, NULL, cli_arg(c, 1), info, NULL, "CONSUMER.INFO.%s.%s", s->name,
                         cli_arg(c, 1));
    return rc;
}

int consumer_info_run(struct cli *c)
{
    struct request_stream s;
    json_t *doc;
    int rc = find_consumer(c, &s, &doc);

    if (rc != 0)
        return rc;
    if (c->json)
        request_print(c, doc);
    else
        print_info(c, doc);
    json_decref(doc);
    return 0;
}

/* --- create and rm ---------------------------------------------------------------------------- */

static int set_start(struct cli *c, json_t *config)
{
    const char *from = cli_text(c, "deliver");
    char when[CLOCK_TEXT];
    uint64_t seq;
    int64_t ago;

    if (from == NULL) {
        if (json_object_get(config, "deliver_policy") == NULL)
            (void)json_object_set_new(config, "deliver_policy", json_string("all"));
        return 0;
    }
    (void)json_object_del(config, "opt_start_seq"); /* of --config; the flag wins */
    (void)json_object_del(config, "opt_start_time");
    if (strcmp(from, "all") == 0 || strcmp(from, "last") == 0 || strcmp(from, "new") == 0 ||
        strcmp(from, "last_per_subject") == 0) {
        (void)json_object_set_new(config, "deliver_policy", json_string(from));
    } else if (mf_parse_u64(mf_str(from), &seq) == 0 && seq > 0) {
        (void)json_object_set_new(config, "deliver_policy", json_string("by_start_sequence"));
        (void)json_object_set_new(config, "opt_start_seq", json_integer((json_int_t)seq));
    } else if (cli_parse_duration(from, &ago) == 0) {
        (void)json_object_set_new(config, "deliver_policy", json_string("by_start_time"));
        (void)json_object_set_new(config, "opt_start_time",
                                  json_string(clock_rfc3339(when, data_now() - ago)));
    } else {
        return cli_usage(c,
                         "--deliver is all, last, new, last_per_subject, a sequence or a time "
                         "back like 1h; not \"%s\"",
                         from);
    }
    return 0;
}

static int set_filters(struct cli *c, json_t *config)
{
    json_t *list = json_array();
    const char *one;
    int rc = 0;

    for (size_t i = 0; rc == 0 && (one = cli_text_at(c, "filter", i)) != NULL; i++) {
        rc = data_check_subject(c, one, true);
        (void)json_array_append_new(list, json_string(one));
    }
    if (json_array_size(list) > 0) { /* of --config; the flag wins */
        (void)json_object_del(config, "filter_subject");
        (void)json_object_del(config, "filter_subjects");
    }
    if (json_array_size(list) == 1)
        (void)json_object_set(config, "filter_subject", json_array_get(list, 0));
    else if (json_array_size(list) > 1)
        (void)json_object_set(config, "filter_subjects", list);
    json_decref(list);
    return rc;
}

static int set_config(struct cli *c, json_t *config)
{
    static const char *const times[][2] = {{"ack-wait", "ack_wait"},
                                           {"inactive", "inactive_threshold"}};
    static const char *const numbers[][2] = {{"max-deliver", "max_deliver"},
                                             {"max-ack-pending", "max_ack_pending"}};
    const char *ack = cli_text(c, "ack"), *about = cli_text(c, "description");
    json_t *metadata = json_object();
    int rc = set_start(c, config);

    if (rc == 0)
        rc = set_filters(c, config);
    if (rc == 0 && ack != NULL && strcmp(ack, "explicit") != 0 && strcmp(ack, "all") != 0 &&
        strcmp(ack, "none") != 0)
        rc = cli_usage(c, "--ack is explicit, all or none, not \"%s\"", ack);
    if (ack != NULL || json_object_get(config, "ack_policy") == NULL)
        (void)json_object_set_new(config, "ack_policy",
                                  json_string(ack == NULL ? "explicit" : ack));
    if (about != NULL)
        (void)json_object_set_new(config, "description", json_string(about));
    for (size_t i = 0; i < MF_COUNT(times); i++)
        if (cli_duration(c, times[i][0], -1) >= 0)
            (void)json_object_set_new(config, times[i][1],
                                      json_integer(cli_duration(c, times[i][0], 0)));
    for (size_t i = 0; i < MF_COUNT(numbers); i++) {
        int64_t n = cli_number(c, numbers[i][0], -1);

        if (n >= 0)
            (void)json_object_set_new(config, numbers[i][1], json_integer(n == 0 ? -1 : n));
    }
    if (cli_on(c, "headers-only"))
        (void)json_object_set_new(config, "headers_only", json_true());
    if (rc == 0)
        rc = data_merge_pairs(c, "metadata", "", metadata);
    if (json_object_size(metadata) > 0)
        (void)json_object_set(config, "metadata", metadata);
    json_decref(metadata);
    return rc;
}

/* The subject names the filter, so that permissions can be given for it. */
static int send_config(struct cli *c, const char *stream, const json_t *config)
{
    const char *filter = request_text(config, "filter_subject"), *name = cli_arg(c, 1);
    json_t *doc = NULL, *body = json_pack("{s:s, s:O, s:s}", "stream_name", stream, "config",
                                          config, "action", "create");
    int rc = request_api(c, body, name, &doc, NULL, "CONSUMER.CREATE.%s.%s%s%s", stream, name,
                         *filter == '\0' ? "" : ".", filter);

    json_decref(body);
    if (rc != 0)
        return rc;
    if (c->json)
        request_print(c, doc);
    else
        data_say(c, "consumer %s of %s is there, %lld message%s to deliver", name, stream,
                 (long long)request_int(doc, "num_pending"),
                 request_int(doc, "num_pending") == 1 ? "" : "s");
    json_decref(doc);
    return 0;
}

int consumer_create_run(struct cli *c)
{
    const char *path = cli_text(c, "config"), *name = cli_arg(c, 1);
    struct request_stream s;
    json_t *config = NULL;
    int rc = data_check_name(c, "consumer", name);

    if (rc == 0 && path != NULL)
        rc = data_read_json(c, path, &config);
    else if (rc == 0)
        config = json_object();
    if (rc == 0)
        rc = set_config(c, config);
    if (rc == 0)
        rc = request_find_stream(c, cli_arg(c, 0), &s);
    if (rc == 0) {
        (void)json_object_set_new(config, "name", json_string(name));
        (void)json_object_set_new(config, "durable_name", json_string(name));
        rc = send_config(c, s.name, config);
    }
    json_decref(config);
    return rc;
}

int consumer_rm_run(struct cli *c)
{
    struct request_stream s;
    json_t *doc;
    int rc = find_consumer(c, &s, &doc);

    json_decref(doc);
    doc = NULL;
    if (rc == 0)
        rc = data_confirm(c, "Remove the consumer %s of %s?", cli_arg(c, 1), s.name);
    if (rc == 0)
        rc = request_api(c, NULL, cli_arg(c, 1), &doc, NULL, "CONSUMER.DELETE.%s.%s", s.name,
                         cli_arg(c, 1));
    if (rc != 0)
        return rc;
    if (c->json)
        request_print(c, doc);
    else
        data_say(c, "consumer %s of %s is removed", cli_arg(c, 1), s.name);
    json_decref(doc);
    return 0;
}
