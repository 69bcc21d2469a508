/* stream_config.c: one table says which flag sets which field of a stream's configuration. */
#include "cli/data/stream_config.h"

#include "cli/data/data_impl.h"
#include "cli/human.h"

#include <stdlib.h>

#define TTL_PREFIX "mayfly.ttl."

/* Flags that only `create` and `edit` know; the table below gives the field of each. */
const struct cli_flag stream_config_flags[] = {
    {"subjects", 0, CLI_TEXTS, "SUBJECT", "subjects to store; several, or one list with commas"},
    {"description", 0, CLI_TEXT, "TEXT", "what the stream is for"},
    {"storage", 0, CLI_TEXT, "KIND", "file or memory"},
    {"retention", 0, CLI_TEXT, "KIND", "limits, interest or workqueue"},
    {"discard", 0, CLI_TEXT, "KIND", "old or new: at a limit discard the old, or refuse the new"},
    {"compression", 0, CLI_TEXT, "KIND", "none or s2"},
    {"max-msgs", 0, CLI_NUMBER, "N", "most messages (0: unlimited)"},
    {"max-msgs-per-subject", 0, CLI_NUMBER, "N", "most messages of a subject (0: unlimited)"},
    {"max-consumers", 0, CLI_NUMBER, "N", "most consumers (0: unlimited)"},
    {"max-bytes", 0, CLI_SIZE, "SIZE", "most bytes (0: unlimited)"},
    {"max-msg-size", 0, CLI_SIZE, "SIZE", "largest message (0: unlimited)"},
    {"max-age", 0, CLI_DURATION, "TIME", "how long a message lives at most (0s: unlimited)"},
    {"dupe-window", 0, CLI_DURATION, "TIME", "how long Nats-Msg-Id is remembered"},
    {"replicas", 0, CLI_NUMBER, "N", "copies in a cluster (1; Mayfly has no clusters)"},
    {"mirror", 0, CLI_TEXT, "STREAM", "be a copy of this stream"},
    {"source", 0, CLI_TEXTS, "STREAM", "copy the messages of this stream too"},
    {"marker-ttl", 0, CLI_DURATION, "TIME", "leave a delete marker for TIME when a subject ends"},
    {"allow-msg-ttl", 0, CLI_SWITCH, NULL, "messages may have a TTL of their own (Nats-TTL)"},
    {"allow-direct", 0, CLI_SWITCH, NULL, "clients may read messages directly (default)"},
    {"no-allow-direct", 0, CLI_SWITCH, NULL, "they may not"},
    {"allow-rollup", 0, CLI_SWITCH, NULL, "a message may replace all older ones (Nats-Rollup)"},
    {"no-allow-rollup", 0, CLI_SWITCH, NULL, "it may not"},
    {"deny-delete", 0, CLI_SWITCH, NULL, "single messages cannot be removed by request"},
    {"deny-purge", 0, CLI_SWITCH, NULL, "the stream cannot be purged"},
    {"metadata", 0, CLI_TEXTS, "K=V", "metadata; an empty V removes K"},
    {"ttl-policy", 0, CLI_TEXTS, "K=V", "TTL policy: mayfly.ttl.K in the metadata; default=24h"},
    {"config", 0, CLI_TEXT, "FILE", "a JSON document with the configuration; flags win over it"},
    {"dry-run", 0, CLI_SWITCH, NULL, "show what would be sent, change nothing"},
    {0},
};

static const struct field {
    const char *flag, *name;
    enum { WORD, LIMIT, NUMBER, BYTES, TIME, ON, OFF } kind;
    const char *words; /* allowed ones, with blanks around */
} fields[] = {
    {"description", "description", WORD, NULL},
    {"storage", "storage", WORD, " file memory "},
    {"retention", "retention", WORD, " limits interest workqueue "},
    {"discard", "discard", WORD, " old new "},
    {"compression", "compression", WORD, " none s2 "},
    {"max-msgs", "max_msgs", LIMIT, NULL},
    {"max-msgs-per-subject", "max_msgs_per_subject", LIMIT, NULL},
    {"max-consumers", "max_consumers", LIMIT, NULL},
    {"max-bytes", "max_bytes", BYTES, NULL},
    {"max-msg-size", "max_msg_size", BYTES, NULL},
    {"max-age", "max_age", TIME, NULL},
    {"dupe-window", "duplicate_window", TIME, NULL},
    {"replicas", "num_replicas", NUMBER, NULL},
    {"marker-ttl", "subject_delete_marker_ttl", TIME, NULL},
    {"allow-msg-ttl", "allow_msg_ttl", ON, NULL},
    {"allow-direct", "allow_direct", ON, NULL},
    {"no-allow-direct", "allow_direct", OFF, NULL},
    {"allow-rollup", "allow_rollup_hdrs", ON, NULL},
    {"no-allow-rollup", "allow_rollup_hdrs", OFF, NULL},
    {"deny-delete", "deny_delete", ON, NULL},
    {"deny-purge", "deny_purge", ON, NULL},
};

/* --- flags to fields -------------------------------------------------------------------------- */

static int apply_word(struct cli *c, const struct field *f, json_t *config)
{
    const char *text = cli_text(c, f->flag);
    char padded[64];

    if (text == NULL)
        return 0;
    if (f->words != NULL) {
        (void)snprintf(padded, sizeof padded, " %s ", text);
        if (strchr(text, ' ') != NULL || strstr(f->words, padded) == NULL)
            return cli_usage(c, "--%s is one of%s, not \"%s\"", f->flag, f->words, text);
    }
    if (json_object_set_new(config, f->name, json_string(text)) != 0)
        return cli_usage(c, "--%s is no UTF-8", f->flag);
    return 0;
}

static int apply_field(struct cli *c, const struct field *f, json_t *config)
{
    int64_t n = -1;

    switch (f->kind) {
    case WORD:
        return apply_word(c, f, config);
    case ON:
    case OFF:
        if (cli_on(c, f->flag))
            (void)json_object_set_new(config, f->name, json_boolean(f->kind == ON));
        return 0;
    case LIMIT:
    case NUMBER:
        n = cli_number(c, f->flag, -1);
        break;
    case BYTES:
        n = cli_size(c, f->flag, -1);
        break;
    case TIME:
        n = cli_duration(c, f->flag, -1);
        break;
    }
    if (n < 0)
        return 0;
    if (n == 0 && f->kind != TIME && f->kind != NUMBER)
        n = -1; /* the API's word for unlimited */
    (void)json_object_set_new(config, f->name, json_integer((json_int_t)n));
    return 0;
}

static int apply_subjects(struct cli *c, json_t *config)
{
    json_t *list = json_array();
    const char *text;
    int rc = 0;

    for (size_t i = 0; rc == 0 && (text = cli_text_at(c, "subjects", i)) != NULL; i++)
        while (rc == 0 && *text != '\0') {
            size_t n = strcspn(text, ",");
            char *one = mf_slice_dup(mf_trim(mf_slice(text, n)));

            rc = one == NULL ? cli_fail(c, CLI_USAGE, "out of memory")
                             : data_check_subject(c, one, true);
            if (rc == 0)
                (void)json_array_append_new(list, json_string(one));
            free(one);
            text += n + (text[n] == ',');
        }
    if (rc == 0 && json_array_size(list) > 0)
        (void)json_object_set(config, "subjects", list);
    json_decref(list);
    return rc;
}

static int apply_origins(struct cli *c, json_t *config)
{
    const char *mirror = cli_text(c, "mirror"), *source;
    json_t *list = json_array();
    int rc = mirror == NULL ? 0 : data_check_name(c, "stream", mirror);

    if (rc == 0 && mirror != NULL)
        (void)json_object_set_new(config, "mirror",
                                  json_pack("{s:o}", "name", data_json_text(mirror)));
    for (size_t i = 0; rc == 0 && (source = cli_text_at(c, "source", i)) != NULL; i++) {
        rc = data_check_name(c, "stream", source);
        (void)json_array_append_new(list, json_pack("{s:o}", "name", data_json_text(source)));
    }
    if (rc == 0 && json_array_size(list) > 0)
        (void)json_object_set(config, "sources", list);
    json_decref(list);
    return rc;
}

int stream_config_apply(struct cli *c, json_t *config)
{
    json_t *metadata = json_object();
    int rc = apply_subjects(c, config);

    if (rc == 0)
        rc = apply_origins(c, config);
    (void)json_object_update(metadata, json_object_get(config, "metadata"));
    for (size_t i = 0; rc == 0 && i < MF_COUNT(fields); i++)
        rc = apply_field(c, &fields[i], config);
    if (rc == 0)
        rc = data_merge_pairs(c, "metadata", "", metadata);
    if (rc == 0)
        rc = data_merge_pairs(c, "ttl-policy", TTL_PREFIX, metadata);
    if (rc == 0 && (json_object_size(metadata) > 0 || json_object_get(config, "metadata") != NULL))
        (void)json_object_set(config, "metadata", metadata);
    /* Markers have a TTL, which a stream must allow. */
    if (rc == 0 && cli_duration(c, "marker-ttl", 0) > 0)
        (void)json_object_set_new(config, "allow_msg_ttl", json_true());
    json_decref(metadata);
    return rc;
}

int stream_config_load(struct cli *c, json_t **config)
{
    const char *path = cli_text(c, "config");

    if (path != NULL)
        return data_read_json(c, path, config);
    *config = json_object();
    return 0;
}

/* --- what changes ----------------------------------------------------------------------------- */

static void add_change(json_t *changes, const char *prefix, const char *key, json_t *from,
                       json_t *to)
{
    char name[512];

    if (from == to || (from != NULL && to != NULL && json_equal(from, to)))
        return;
    if (from == NULL && (json_is_false(to) || (json_is_integer(to) && !json_integer_value(to))))
        return; /* absent and its zero value are the same */
    (void)snprintf(name, sizeof name, "%s%s", prefix, key);
    (void)json_object_set_new(changes, name, json_pack("{s:O?, s:O?}", "from", from, "to", to));
}

static void compare_objects(json_t *changes, const char *prefix, const json_t *from,
                            const json_t *to)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)from, key, value)
    {
        if (strncmp(key, "_nats.", 6) == 0 || (*prefix == '\0' && strcmp(key, "metadata") == 0))
            continue;
        add_change(changes, prefix, key, value, json_object_get(to, key));
    }
    json_object_foreach((json_t *)to, key, value)
    {
        if (strncmp(key, "_nats.", 6) == 0 || (*prefix == '\0' && strcmp(key, "metadata") == 0))
            continue;
        if (json_object_get(from, key) == NULL)
            add_change(changes, prefix, key, NULL, value);
    }
}

json_t *stream_config_compare(const json_t *from, const json_t *to)
{
    json_t *changes = json_object();

    compare_objects(changes, "", from, to);
    compare_objects(changes, "metadata.", json_object_get(from, "metadata"),
                    json_object_get(to, "metadata"));
    return changes;
}

static bool is_field(const char *name, int kind)
{
    for (size_t i = 0; i < MF_COUNT(fields); i++)
        if ((int)fields[i].kind == kind && strcmp(fields[i].name, name) == 0)
            return true;
    return false;
}

/* ["a", "b"] as a, b; false if a member is no string. */
static bool join_texts(const json_t *list, struct mf_buf *out)
{
    json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one) if (!json_is_string(one)) return false;
    json_array_foreach((json_t *)list, i, one)
    {
        mf_buf_puts(out, i == 0 ? "" : ", ");
        term_safe(out, mf_str(json_string_value(one)));
    }
    return true;
}

void stream_config_text(const char *field, const json_t *value, struct mf_buf *out)
{
    char text[HUMAN_TEXT];
    char *dump;

    if (value == NULL || json_is_null(value)) {
        mf_buf_puts(out, "unset");
    } else if (json_is_integer(value) && json_integer_value(value) < 0) {
        mf_buf_puts(out, "unlimited");
    } else if (json_is_integer(value) && is_field(field, TIME)) {
        int64_t ns = json_integer_value(value);

        mf_buf_puts(out, ns == 0 ? "none" : human_duration(text, ns));
    } else if (json_is_integer(value) && is_field(field, BYTES)) {
        mf_buf_puts(out, human_bytes(text, (uint64_t)json_integer_value(value)));
    } else if (json_is_integer(value)) {
        mf_buf_puts(out, human_count(text, (uint64_t)json_integer_value(value)));
    } else if (json_is_string(value)) {
        term_safe(out, mf_str(json_string_value(value)));
    } else if (json_is_boolean(value)) {
        mf_buf_puts(out, json_is_true(value) ? "yes" : "no");
    } else if (!json_is_array(value) || !join_texts(value, out)) {
        dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        term_safe(out, mf_str(dump));
        free(dump);
    }
}

void stream_config_add_row(struct table *t, const char *name, const char *field,
                           const json_t *value)
{
    struct mf_buf b = MF_BUF_INIT;

    stream_config_text(field, value, &b);
    table_styled(t, TERM_DIM, "%s", name);
    table_cell(t, "%s", mf_buf_cstr(&b));
    mf_buf_fini(&b);
}

void stream_config_add_metadata(struct table *t, const json_t *config)
{
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(config, "metadata"), key, value)
    {
        if (strncmp(key, "_nats.", 6) != 0)
            stream_config_add_row(t, key, "", value);
    }
}

void stream_config_print_changes(struct cli *c, const json_t *changes)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)changes, key, value)
    {
        struct mf_buf line = MF_BUF_INIT;

        term_safe(&line, mf_str(key));
        mf_buf_puts(&line, ": ");
        stream_config_text(key, json_object_get(value, "from"), &line);
        mf_buf_printf(&line, " -> %s", term_on(&c->term, TERM_GREEN));
        stream_config_text(key, json_object_get(value, "to"), &line);
        mf_buf_puts(&line, term_off(&c->term));
        (void)fprintf(c->term.out, "  %s\n", mf_buf_cstr(&line));
        mf_buf_fini(&line);
    }
}
