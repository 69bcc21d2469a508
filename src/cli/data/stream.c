/* stream.c: `mayfly stream`: lists, shows, creates, changes and removes streams. */
#include "cli/data/data_impl.h"

#include "base/clock.h"
#include "cli/data/stream_config.h"
#include "cli/human.h"
#include "cli/table.h"

const struct cli_flag stream_ls_flags[] = {
    {"subject", 0, CLI_TEXT, "SUBJECT", "only streams that store this subject"},
    {"names", 0, CLI_SWITCH, NULL, "names only"},
    {0},
};
const struct cli_flag stream_force_flags[] = {
    {"force", 'f', CLI_SWITCH, NULL, "do not ask"},
    {0},
};

/* --- ls --------------------------------------------------------------------------------------- */

static void add_stream(struct table *t, const json_t *info)
{
    const json_t *config = json_object_get(info, "config"), *state = json_object_get(info, "state");
    const json_t *subjects = json_object_get(config, "subjects");
    char text[HUMAN_TEXT];
    int64_t last = request_time(state, "last_ts");
    size_t more = json_array_size(subjects);
    const char *first = json_string_value(json_array_get(subjects, 0));

    table_cell(t, "%s", request_text(config, "name"));
    if (first != NULL && more > 1)
        table_cell(t, "%s +%zu", first, more - 1);
    else
        table_cell(t, "%s", first == NULL ? "-" : first);
    table_cell(t, "%s", request_text(config, "storage"));
    table_cell(t, "%s", human_count(text, (uint64_t)request_int(state, "messages")));
    table_cell(t, "%s", human_bytes(text, (uint64_t)request_int(state, "bytes")));
    table_cell(t, "%lld", (long long)request_int(state, "consumer_count"));
    if (request_int(state, "messages") > 0 && last > 0)
        table_cell(t, "%s ago", human_duration(text, data_now() - last));
    else
        table_cell(t, "-");
}

static void print_list(struct cli *c, const json_t *all)
{
    static const char *const heads[] = {"NAME",  "SUBJECTS",  "STORAGE", "MESSAGES",
                                        "BYTES", "CONSUMERS", "LAST"};
    struct table t;
    json_t *info;
    size_t i;

    table_init(&t, &c->term, "lLLrrRR", heads);
    json_array_foreach((json_t *)all, i, info) add_stream(&t, info);
    table_print(&t);
}

static void print_names(struct cli *c, const json_t *all)
{
    json_t *info;
    size_t i;

    json_array_foreach((json_t *)all, i, info)
    {
        data_print_text(c, request_text(json_object_get(info, "config"), "name"));
        (void)fputc('\n', c->term.out);
    }
}

int stream_list_run(struct cli *c)
{
    const char *filter = cli_text(c, "subject");
    json_t *all = json_array(), *body = json_object();
    int rc = filter == NULL ? 0 : data_check_subject(c, filter, true);

    if (filter != NULL)
        (void)json_object_set_new(body, "subject", json_string(filter));
    if (rc == 0)
        rc = data_list(c, "STREAM.LIST", body, NULL, "streams", all);
    if (rc == 0 && cli_on(c, "names") && !c->json)
        print_names(c, all);
    else if (rc == 0)
        data_print_list(c, "streams", all,
                        "no streams: `mayfly stream create NAME --subjects 'name.>'` makes one",
                        print_list);
    json_decref(all);
    json_decref(body);
    return rc;
}

int stream_list_buckets(struct cli *c, const char *prefix, const char *none,
                        void (*print)(struct cli *c, const json_t *buckets))
{
    json_t *all = json_array(), *buckets = json_array(), *info;
    size_t i;
    int rc = data_list(c, "STREAM.LIST", NULL, NULL, "streams", all);

    json_array_foreach(all, i, info)
    {
        const char *name = request_text(json_object_get(info, "config"), "name");

        if (strncmp(name, prefix, strlen(prefix)) == 0)
            (void)json_array_append(buckets, info);
    }
    if (rc == 0)
        data_print_list(c, "buckets", buckets, none, print);
    json_decref(all);
    json_decref(buckets);
    return rc;
}

/* --- info ------------------------------------------------------------------------------------- */

static void add_config(struct table *t, const json_t *config)
{
    static const struct {
        const char *name, *field;
        bool always;
    } rows[] = {{"description", "description", false},
                {"subjects", "subjects", true},
                {"storage", "storage", true},
                {"retention", "retention", true},
                {"max messages", "max_msgs", true},
                {"per subject", "max_msgs_per_subject", true},
                {"max bytes", "max_bytes", true},
                {"max message", "max_msg_size", true},
                {"max age", "max_age", true},
                {"discard", "discard", true},
                {"dupe window", "duplicate_window", true},
                {"message TTLs", "allow_msg_ttl", false},
                {"marker TTL", "subject_delete_marker_ttl", false},
                {"direct reads", "allow_direct", false},
                {"rollup", "allow_rollup_hdrs", false},
                {"deny delete", "deny_delete", false},
                {"deny purge", "deny_purge", false},
                {"sealed", "sealed", false},
                {"compression", "compression", false},
                {"mirror", "mirror", false},
                {"sources", "sources", false},
                {"republish", "republish", false},
                {"replicas", "num_replicas", true}};

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        json_t *v = json_object_get(config, rows[i].field);

        if (rows[i].always ? v != NULL : v != NULL && !json_is_false(v))
            stream_config_add_row(t, rows[i].name, rows[i].field, v);
    }
    stream_config_add_metadata(t, config);
}

static void add_state(struct table *t, const json_t *state)
{
    char text[HUMAN_TEXT];
    int64_t last = request_time(state, "last_ts"), first = request_time(state, "first_ts");

    table_styled(t, TERM_DIM, "messages");
    table_cell(t, "%s", human_count(text, (uint64_t)request_int(state, "messages")));
    table_styled(t, TERM_DIM, "bytes");
    table_cell(t, "%s", human_bytes(text, (uint64_t)request_int(state, "bytes")));
    table_styled(t, TERM_DIM, "sequences");
    table_cell(t, "%lld to %lld", (long long)request_int(state, "first_seq"),
               (long long)request_int(state, "last_seq"));
    if (request_int(state, "messages") > 0) {
        table_styled(t, TERM_DIM, "oldest");
        table_cell(t, "%s ago", human_duration(text, data_now() - first));
        table_styled(t, TERM_DIM, "newest");
        table_cell(t, "%s ago", human_duration(text, data_now() - last));
    }
    table_styled(t, TERM_DIM, "removed inside");
    table_cell(t, "%s", human_count(text, (uint64_t)request_int(state, "num_deleted")));
    table_styled(t, TERM_DIM, "subjects held");
    table_cell(t, "%s", human_count(text, (uint64_t)request_int(state, "num_subjects")));
    table_styled(t, TERM_DIM, "consumers");
    table_cell(t, "%lld", (long long)request_int(state, "consumer_count"));
}

static void print_info(struct cli *c, const json_t *info)
{
    const json_t *config = json_object_get(info, "config");
    char when[HUMAN_TEXT];
    struct table t;

    (void)fputs(term_on(&c->term, TERM_BOLD), c->term.out);
    data_print_text(c, request_text(config, "name"));
    (void)fprintf(c->term.out, "%s   created %s\n", term_off(&c->term),
                  human_time(when, request_time(info, "created")));
    table_init(&t, &c->term, "ll", NULL);
    add_config(&t, config);
    add_state(&t, json_object_get(info, "state"));
    table_print(&t);
}

int stream_show(struct cli *c, const char *stream, const char *what)
{
    json_t *doc = NULL;
    int rc = request_api(c, NULL, what, &doc, NULL, "STREAM.INFO.%s", stream);

    if (rc != 0)
        return rc;
    if (c->json)
        request_print(c, doc);
    else
        print_info(c, doc);
    json_decref(doc);
    return 0;
}

int stream_info_run(struct cli *c)
{
    struct request_stream s;
    int rc = request_find_stream(c, cli_arg(c, 0), &s);

    return rc != 0 ? rc : stream_show(c, s.name, cli_arg(c, 0));
}

/* --- create and edit -------------------------------------------------------------------------- */

/* Servers answer the same for a new stream and for one that exists with the same configuration.  A
 * new one is no older than the request, by the clock of the server. */
static bool is_new(const json_t *info, int64_t took_ns)
{
    return request_time(info, "ts") - request_time(info, "created") <= took_ns + CLOCK_MS;
}

int stream_create_config(struct cli *c, const json_t *config, const char *what, const char *word)
{
    json_t *doc = NULL;
    int rc = connect_open(c);
    int64_t sent = clock_mono_ns();

    if (rc == 0)
        rc = request_api(c, config, what, &doc, NULL, "STREAM.CREATE.%s",
                         request_text(config, "name"));
    if (rc != 0)
        return rc;
    if (c->json)
        request_print(c, doc);
    else
        data_say(c, "%s %s %s", word, what,
                 is_new(doc, clock_mono_ns() - sent) ? "is created" : "exists already");
    json_decref(doc);
    return 0;
}

int stream_create_run(struct cli *c)
{
    const char *name = cli_arg(c, 0);
    json_t *config = NULL;
    int rc = data_check_name(c, "stream", name);

    if (rc == 0)
        rc = stream_config_load(c, &config);
    if (rc != 0)
        return rc;
    if (json_object_get(config, "config") != NULL) { /* a document of `stream info --json` */
        json_t *inner = json_incref(json_object_get(config, "config"));

        json_decref(config);
        config = inner;
    }
    if (cli_text(c, "config") == NULL)
        (void)json_object_set_new(config, "allow_direct", json_true());
    if (json_object_get(config, "storage") == NULL)
        (void)json_object_set_new(config, "storage", json_string("file"));
    (void)json_object_set_new(config, "name", json_string(name));
    rc = stream_config_apply(c, config);
    if (rc == 0 && cli_on(c, "dry-run"))
        request_print(c, config);
    else if (rc == 0)
        rc = stream_create_config(c, config, name, "stream");
    json_decref(config);
    return rc;
}

/* Shows what differs, and sends it. */
static int update_config(struct cli *c, const char *name, const json_t *from, const json_t *to)
{
    json_t *changes = stream_config_compare(from, to), *doc = NULL;
    bool dry = cli_on(c, "dry-run");
    int rc = 0;

    if (!dry && json_object_size(changes) > 0)
        rc = request_api(c, to, cli_arg(c, 0), &doc, NULL, "STREAM.UPDATE.%s", name);
    if (rc == 0 && c->json) {
        json_t *out = json_pack("{s:s, s:b, s:O}", "stream", name, "updated",
                                !dry && json_object_size(changes) > 0, "changes", changes);

        request_print(c, out);
        json_decref(out);
    } else if (rc == 0) {
        if (json_object_size(changes) == 0)
            data_say(c, "%s: nothing to change", name);
        else
            data_say(c, "%s %s:", name, dry ? "would change" : "changed");
        stream_config_print_changes(c, changes);
    }
    json_decref(doc);
    json_decref(changes);
    return rc;
}

int stream_edit_run(struct cli *c)
{
    struct request_stream s;
    json_t *doc = NULL, *file = NULL, *from, *to;
    int rc = stream_config_load(c, &file);

    if (rc == 0)
        rc = request_find_stream(c, cli_arg(c, 0), &s);
    if (rc == 0)
        rc = request_api(c, NULL, cli_arg(c, 0), &doc, NULL, "STREAM.INFO.%s", s.name);
    if (rc != 0) {
        json_decref(file);
        return rc;
    }
    from = json_object_get(doc, "config");
    to = json_deep_copy(from);
    (void)json_object_update(
        to, json_object_get(file, "config") != NULL ? json_object_get(file, "config") : file);
    (void)json_object_set_new(to, "name", json_string(s.name));
    rc = stream_config_apply(c, to);
    if (rc == 0)
        rc = update_config(c, s.name, from, to);
    json_decref(to);
    json_decref(doc);
    json_decref(file);
    return rc;
}

/* --- rm --------------------------------------------------------------------------------------- */

int stream_remove(struct cli *c, const char *stream, const char *what, const char *word)
{
    json_t *doc = NULL;
    const json_t *state;
    char n[HUMAN_TEXT], b[HUMAN_TEXT];
    int rc = request_api(c, NULL, what, &doc, NULL, "STREAM.INFO.%s", stream);

    if (rc != 0)
        return rc;
    state = json_object_get(doc, "state");
    rc = data_confirm(c, "Remove the %s %s with %s messages (%s)?", word, what,
                      human_count(n, (uint64_t)request_int(state, "messages")),
                      human_bytes(b, (uint64_t)request_int(state, "bytes")));
    json_decref(doc);
    if (rc != 0)
        return rc;
    rc = request_api(c, NULL, what, &doc, NULL, "STREAM.DELETE.%s", stream);
    if (rc != 0)
        return rc;
    if (c->json)
        request_print(c, doc);
    else
        data_say(c, "%s %s is removed", word, what);
    json_decref(doc);
    return 0;
}

int stream_rm_run(struct cli *c)
{
    struct request_stream s;
    int rc = request_find_stream(c, cli_arg(c, 0), &s);

    return rc != 0 ? rc : stream_remove(c, s.name, s.name, "stream");
}
