/* kv.c: names and keys of KV buckets, and the commands about whole buckets. */
#include "cli/data/kv.h"

#include "base/clock.h"
#include "cli/data/data_impl.h"
#include "cli/human.h"
#include "cli/table.h"

#include <ctype.h>

#define MARKERS_NS (1 * CLOCK_S)

const struct cli_flag kv_create_flags[] = {
    {"history", 0, CLI_NUMBER, "N", "values kept for each key, 1 to 64 (1)"},
    {"ttl", 0, CLI_DURATION, "TIME", "how long every value lives at most (unlimited)"},
    {"marker-ttl", 0, CLI_DURATION, "TIME",
     "how long watchers can see that a key ended (1s; 0s: no markers)"},
    {"storage", 0, CLI_TEXT, "KIND", "file or memory"},
    {"max-bytes", 0, CLI_SIZE, "SIZE", "most bytes of the bucket (unlimited)"},
    {"max-value", 0, CLI_SIZE, "SIZE", "largest value (unlimited)"},
    {"description", 0, CLI_TEXT, "TEXT", "what the bucket is for"},
    {"metadata", 0, CLI_TEXTS, "K=V", "metadata"},
    {"ttl-policy", 0, CLI_TEXTS, "K=V", "TTL policy: mayfly.ttl.K in the metadata; default=24h"},
    {"compression", 0, CLI_SWITCH, NULL, "compress on disk (s2)"},
    {0},
};

/* --- names ------------------------------------------------------------------------------------ */

bool kv_is_bucket(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

    return n > 0 && name[n] == '\0' && n < 200;
}

int kv_init(struct cli *c, const char *bucket, struct kv *kv)
{
    if (strncmp(bucket, "kv:", 3) == 0)
        bucket += 3;
    *kv = (struct kv){.bucket = bucket};
    if (!kv_is_bucket(bucket))
        return cli_usage(c, "\"%s\" is no name of a bucket: letters, digits, - and _", bucket);
    (void)snprintf(kv->stream, sizeof kv->stream, "KV_%s", bucket);
    (void)snprintf(kv->prefix, sizeof kv->prefix, "$KV.%s.", bucket);
    return 0;
}

int kv_check_key(struct cli *c, const char *key, bool wild)
{
    size_t n = strlen(key);
    bool ok = n > 0 && key[0] != '.' && key[n - 1] != '.' && strstr(key, "..") == NULL;

    for (size_t i = 0; ok && i < n; i++)
        ok = (unsigned char)key[i] < 128 &&
             (isalnum((unsigned char)key[i]) || strchr("-/=._", key[i]) != NULL ||
              (wild && strchr("*>", key[i]) != NULL));
    if (ok && (!wild || data_is_subject(key, true)))
        return 0;
    return cli_usage(c, "\"%s\" is no key: letters, digits, - / = . and _, no dot at the ends%s",
                     key, wild ? ", and * or > as whole tokens" : "");
}

int kv_open_key(struct cli *c, struct kv *kv)
{
    int rc = kv_init(c, cli_arg(c, 0), kv);

    if (rc == 0)
        rc = kv_check_key(c, cli_arg(c, 1), false);
    return rc == 0 ? connect_open(c) : rc;
}

void kv_subject(const struct kv *kv, const char *key, struct mf_buf *out)
{
    mf_buf_puts(out, kv->prefix);
    mf_buf_puts(out, key);
}

const char *kv_key(const struct kv *kv, const struct message *m)
{
    const char *subject = natsMsg_GetSubject(m->msg);
    size_t n = strlen(kv->prefix);

    return strncmp(subject, kv->prefix, n) == 0 ? subject + n : subject;
}

const char *kv_operation(const struct message *m)
{
    const char *end = message_end(m);

    return end == NULL ? "put" : end;
}

json_t *kv_to_json(const struct kv *kv, const struct message *m, bool value)
{
    char when[CLOCK_TEXT];
    struct mf_buf key = MF_BUF_INIT;
    json_t *doc = json_object();
    const char *ttl = message_header(m, "Nats-TTL");

    term_safe(&key, mf_str(kv_key(kv, m)));
    (void)json_object_set_new(doc, "bucket", json_string(kv->bucket));
    (void)json_object_set_new(doc, "key", json_string(mf_buf_cstr(&key)));
    (void)json_object_set_new(doc, "revision", json_integer((json_int_t)m->seq));
    (void)json_object_set_new(doc, "operation", json_string(kv_operation(m)));
    (void)json_object_set_new(doc, "time", json_string(clock_rfc3339(when, m->time_ns)));
    if (ttl != NULL && message_end(m) == NULL)
        (void)json_object_set_new(doc, "ttl", json_string(ttl));
    if (value)
        data_bytes_to_json(doc, "value", message_data(m->msg));
    mf_buf_fini(&key);
    return doc;
}

/* --- ls and info ------------------------------------------------------------------------------ */

static void print_list(struct cli *c, const json_t *all)
{
    static const char *const heads[] = {"BUCKET", "SUBJECTS", "BYTES", "HISTORY",
                                        "TTL",    "STORAGE",  "LAST"};
    struct table t;
    json_t *info;
    size_t i;

    table_init(&t, &c->term, "lrrRRLR", heads);
    json_array_foreach((json_t *)all, i, info)
    {
        const json_t *config = json_object_get(info, "config");
        const json_t *state = json_object_get(info, "state");
        int64_t last = request_time(state, "last_ts"), age = request_int(config, "max_age");
        char text[HUMAN_TEXT];

        table_cell(&t, "%s", request_text(config, "name") + 3);
        table_cell(&t, "%s", human_count(text, (uint64_t)request_int(state, "num_subjects")));
        table_cell(&t, "%s", human_bytes(text, (uint64_t)request_int(state, "bytes")));
        table_cell(&t, "%lld", (long long)request_int(config, "max_msgs_per_subject"));
        table_cell(&t, "%s", age == 0 ? "-" : human_duration(text, age));
        table_cell(&t, "%s", request_text(config, "storage"));
        if (request_int(state, "messages") > 0 && last > 0)
            table_cell(&t, "%s ago", human_duration(text, data_now() - last));
        else
            table_cell(&t, "-");
    }
    table_print(&t);
}

int kv_list_run(struct cli *c)
{
    if (cli_arg(c, 0) != NULL)
        return kv_keys_run(c);
    return stream_list_buckets(c, "KV_", "no buckets: `mayfly kv create NAME` makes one",
                               print_list);
}

int kv_info_run(struct cli *c)
{
    struct kv kv;
    int rc = kv_init(c, cli_arg(c, 0), &kv);

    return rc != 0 ? rc : stream_show(c, kv.stream, kv.bucket);
}

/* --- create and rm ---------------------------------------------------------------------------- */

static int set_metadata(struct cli *c, json_t *config)
{
    json_t *metadata = json_object();
    int rc = data_merge_pairs(c, "metadata", "", metadata);

    if (rc == 0)
        rc = data_merge_pairs(c, "ttl-policy", "mayfly.ttl.", metadata);
    if (json_object_size(metadata) > 0)
        (void)json_object_set(config, "metadata", metadata);
    json_decref(metadata);
    return rc;
}

/* The window of duplicates is two minutes, or the bucket's TTL where that is shorter, as the
 * official clients set it. */
static int make_config(struct cli *c, const struct kv *kv, json_t *config)
{
    int64_t ttl = cli_duration(c, "ttl", 0), markers = cli_duration(c, "marker-ttl", MARKERS_NS);
    int64_t window = 120 * CLOCK_S;
    const char *storage = cli_text(c, "storage"), *about = cli_text(c, "description");
    char subject[310];

    if (ttl > 0 && ttl < window)
        window = ttl;
    (void)snprintf(subject, sizeof subject, "%s>", kv->prefix);
    (void)json_object_update_new(
        config,
        json_pack("{s:s, s:[s], s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:b, s:b, s:b, s:b, s:i}",
                  "name", kv->stream, "subjects", subject, "retention", "limits",
                  "max_msgs_per_subject", (json_int_t)cli_number(c, "history", 1), "max_bytes",
                  (json_int_t)cli_size(c, "max-bytes", -1), "max_msg_size",
                  (json_int_t)cli_size(c, "max-value", -1), "max_age", (json_int_t)ttl,
                  "duplicate_window", (json_int_t)window, "storage",
                  storage == NULL ? "file" : storage, "discard", "new", "allow_rollup_hdrs", 1,
                  "deny_delete", 1, "allow_direct", 1, "allow_msg_ttl", 1, "num_replicas", 1));
    if (markers > 0)
        (void)json_object_set_new(config, "subject_delete_marker_ttl", json_integer(markers));
    if (about != NULL)
        (void)json_object_set_new(config, "description", json_string(about));
    if (cli_on(c, "compression"))
        (void)json_object_set_new(config, "compression", json_string("s2"));
    return set_metadata(c, config);
}

int kv_create_run(struct cli *c)
{
    int64_t history = cli_number(c, "history", 1);
    const char *storage = cli_text(c, "storage");
    json_t *config = json_object();
    struct kv kv;
    int rc = kv_init(c, cli_arg(c, 0), &kv);

    if (rc == 0 && (history < 1 || history > 64))
        rc = cli_usage(c, "--history is 1 to 64");
    if (rc == 0 && storage != NULL && strcmp(storage, "file") != 0 &&
        strcmp(storage, "memory") != 0)
        rc = cli_usage(c, "--storage is file or memory, not \"%s\"", storage);
    if (rc == 0)
        rc = make_config(c, &kv, config);
    if (rc == 0)
        rc = stream_create_config(c, config, kv.bucket, "bucket");
    json_decref(config);
    return rc;
}

int kv_rm_run(struct cli *c)
{
    struct kv kv;
    int rc = kv_init(c, cli_arg(c, 0), &kv);

    return rc != 0 ? rc : stream_remove(c, kv.stream, kv.bucket, "bucket");
}
