/* object.c: meta records of the object store, and the commands about them. */
#include "cli/data/object.h"

#include "base/clock.h"
#include "cli/data/data_impl.h"
#include "cli/data/kv.h"
#include "cli/data/reader.h"
#include "cli/human.h"
#include "cli/table.h"
#include "codec/base64.h"

#include <stdlib.h>

const struct cli_flag object_create_flags[] = {
    {"ttl", 0, CLI_DURATION, "TIME", "how long objects live at most (unlimited)"},
    {"storage", 0, CLI_TEXT, "KIND", "file or memory"},
    {"max-bytes", 0, CLI_SIZE, "SIZE", "most bytes of the bucket (unlimited)"},
    {"description", 0, CLI_TEXT, "TEXT", "what the bucket is for"},
    {"metadata", 0, CLI_TEXTS, "K=V", "metadata"},
    {"compression", 0, CLI_SWITCH, NULL, "compress on disk (s2)"},
    {0},
};

/* --- format ----------------------------------------------------------------------------------- */

int object_init(struct cli *c, const char *bucket, struct object_bucket *b)
{
    if (strncmp(bucket, "obj:", 4) == 0)
        bucket += 4;
    *b = (struct object_bucket){.name = bucket};
    if (!kv_is_bucket(bucket))
        return cli_usage(c, "\"%s\" is no name of a bucket: letters, digits, - and _", bucket);
    (void)snprintf(b->stream, sizeof b->stream, "OBJ_%s", bucket);
    (void)snprintf(b->chunks, sizeof b->chunks, "$O.%s.C.", bucket);
    (void)snprintf(b->metas, sizeof b->metas, "$O.%s.M.", bucket);
    return 0;
}

static void put_meta_subject(const struct object_bucket *b, const char *name, struct mf_buf *out)
{
    mf_buf_puts(out, b->metas);
    base64_write(out, mf_str(name), BASE64_URL);
}

void object_digest_text(const uint8_t digest[SHA256_BYTES], char dst[64])
{
    struct mf_buf b = MF_BUF_INIT;

    base64_write(&b, mf_slice(digest, SHA256_BYTES), BASE64_URL);
    (void)snprintf(dst, 64, "SHA-256=%s", mf_buf_cstr(&b));
    mf_buf_fini(&b);
}

bool object_digest_matches(const char *text, const uint8_t digest[SHA256_BYTES])
{
    struct mf_buf b = MF_BUF_INIT;
    bool same = false;

    if (strncmp(text, "SHA-256=", 8) == 0 &&
        (base64_read(&b, mf_str(text + 8), BASE64_URL) == 0 ||
         base64_read(&b, mf_str(text + 8), BASE64_STANDARD) == 0))
        same = b.len == SHA256_BYTES && memcmp(b.ptr, digest, SHA256_BYTES) == 0;
    mf_buf_fini(&b);
    return same;
}

/* Some clients store no time in the record; the time of its message is right for all. */
static void set_time(json_t *meta, const struct message *m)
{
    char when[CLOCK_TEXT];

    (void)json_object_set_new(meta, "mtime", json_string(clock_rfc3339(when, m->time_ns)));
}

int object_find(struct cli *c, const struct object_bucket *b, const char *name, bool quiet,
                bool deleted, json_t **meta)
{
    struct mf_buf subject = MF_BUF_INIT;
    struct message m;
    json_error_t e;
    char what[512];
    bool gone = false;
    int rc;

    *meta = NULL;
    (void)snprintf(what, sizeof what, "%s/%s", b->name, name);
    put_meta_subject(b, name, &subject);
    rc = message_get_last(c, b->stream, mf_buf_cstr(&subject), what, quiet, &m);
    mf_buf_fini(&subject);
    if (rc != 0 || m.msg == NULL)
        return rc;
    *meta = json_loadb(natsMsg_GetData(m.msg), (size_t)natsMsg_GetDataLength(m.msg), 0, &e);
    if (message_end(&m) != NULL || (*meta != NULL && request_bool(*meta, "deleted") && !deleted))
        gone = true;
    else if (!json_is_object(*meta))
        rc = cli_fail(c, CLI_REFUSED, "the meta record of %s is no JSON object", what);
    else
        set_time(*meta, &m);
    message_fini(&m);
    if (gone && !quiet)
        rc = cli_fail(c, CLI_NOT_FOUND, "no such object: %s", what);
    if (rc != 0 || gone) {
        json_decref(*meta);
        *meta = NULL;
    }
    return rc;
}

int object_store_meta(struct cli *c, const struct object_bucket *b, const char *name,
                      const json_t *meta)
{
    struct mf_buf subject = MF_BUF_INIT;
    char *text = json_dumps(meta, JSON_COMPACT);
    natsMsg *m = NULL;
    json_t *ack = NULL;
    int rc;

    put_meta_subject(b, name, &subject);
    rc = text == NULL ? cli_fail(c, CLI_USAGE, "out of memory")
                      : data_new_msg(c, &m, mf_buf_cstr(&subject), NULL, mf_str(text));
    if (rc == 0 && natsMsgHeader_Set(m, "Nats-Rollup", "sub") != NATS_OK)
        rc = cli_fail(c, CLI_USAGE, "out of memory");
    if (rc == 0)
        rc = data_publish(c, m, b->name, &ack, NULL);
    json_decref(ack);
    natsMsg_Destroy(m);
    free(text);
    mf_buf_fini(&subject);
    return rc;
}

void object_purge_chunks(struct cli *c, const struct object_bucket *b, const char *nuid)
{
    struct request_error err;
    char filter[400];
    json_t *body, *doc = NULL;

    if (!data_is_name(nuid)) /* wildcards would purge the chunks of others */
        return;
    (void)snprintf(filter, sizeof filter, "%s%.64s", b->chunks, nuid);
    body = json_pack("{s:s}", "filter", filter);
    if (body != NULL &&
        request_api(c, body, b->name, &doc, &err, "STREAM.PURGE.%s", b->stream) == 0)
        json_decref(doc);
    json_decref(body);
}

/* --- ls --------------------------------------------------------------------------------------- */

static void print_buckets(struct cli *c, const json_t *buckets)
{
    static const char *const heads[] = {"BUCKET", "BYTES", "STORAGE", "DESCRIPTION"};
    struct table t;
    json_t *info;
    size_t i;

    table_init(&t, &c->term, "lrLL", heads);
    json_array_foreach((json_t *)buckets, i, info)
    {
        const json_t *config = json_object_get(info, "config");
        uint64_t bytes = (uint64_t)request_int(json_object_get(info, "state"), "bytes");
        char text[HUMAN_TEXT];

        table_cell(&t, "%s", request_text(config, "name") + 4);
        table_cell(&t, "%s", human_bytes(text, bytes));
        table_cell(&t, "%s", request_text(config, "storage"));
        table_cell(&t, "%s", request_text(config, "description"));
    }
    table_print(&t);
}

static void print_objects(struct cli *c, const json_t *list)
{
    static const char *const heads[] = {"NAME", "SIZE", "CHUNKS", "STORED"};
    struct table t;
    json_t *meta;
    size_t i;

    table_init(&t, &c->term, "lrRL", heads);
    json_array_foreach((json_t *)list, i, meta)
    {
        char text[HUMAN_TEXT];

        table_cell(&t, "%s", request_text(meta, "name"));
        table_cell(&t, "%s", human_bytes(text, (uint64_t)request_int(meta, "size")));
        table_cell(&t, "%lld", (long long)request_int(meta, "chunks"));
        table_cell(&t, "%s", human_time(text, request_time(meta, "mtime")));
    }
    table_print(&t);
}

static int read_metas(struct cli *c, const struct object_bucket *b, json_t *list)
{
    char filter[310];
    struct reader r;
    struct reader_options o = {
        .stream = b->stream, .filter = filter, .what = b->name, .from = READER_LAST_PER_SUBJECT};
    int rc;

    (void)snprintf(filter, sizeof filter, "%s>", b->metas);
    rc = reader_open(&r, c, &o);
    if (rc != 0)
        return rc;
    while (rc == 0 && !r.ended) {
        struct message m;
        json_error_t e;

        rc = reader_next(&r, &m, 1000);
        if (rc == 0 && m.msg != NULL) {
            json_t *meta =
                json_loadb(natsMsg_GetData(m.msg), (size_t)natsMsg_GetDataLength(m.msg), 0, &e);

            if (json_is_object(meta) && !request_bool(meta, "deleted")) {
                set_time(meta, &m);
                (void)json_array_append(list, meta);
            }
            json_decref(meta);
        }
        message_fini(&m);
        if (rc == 0 && cli_interrupted())
            rc = cli_fail(c, CLI_USAGE, "interrupted");
    }
    reader_close(&r);
    return rc;
}

int object_list_run(struct cli *c)
{
    struct object_bucket b;
    json_t *list;
    int rc;

    if (cli_arg(c, 0) == NULL)
        return stream_list_buckets(
            c, "OBJ_", "no object buckets: `mayfly object create NAME` makes one", print_buckets);
    rc = object_init(c, cli_arg(c, 0), &b);
    if (rc != 0)
        return rc;
    list = json_array();
    rc = read_metas(c, &b, list);
    if (rc == 0)
        data_print_list(c, "objects", list,
                        "no objects: `mayfly object put BUCKET FILE` stores one", print_objects);
    json_decref(list);
    return rc;
}

/* --- create, info, rm ------------------------------------------------------------------------- */

int object_create_run(struct cli *c)
{
    const char *storage = cli_text(c, "storage"), *about = cli_text(c, "description");
    char chunks[310], metas[310];
    struct object_bucket b;
    json_t *config, *metadata;
    int rc = object_init(c, cli_arg(c, 0), &b);

    if (rc == 0 && storage != NULL && strcmp(storage, "file") != 0 &&
        strcmp(storage, "memory") != 0)
        rc = cli_usage(c, "--storage is file or memory, not \"%s\"", storage);
    if (rc != 0)
        return rc;
    (void)snprintf(chunks, sizeof chunks, "%s>", b.chunks);
    (void)snprintf(metas, sizeof metas, "%s>", b.metas);
    config = json_pack("{s:s, s:[s, s], s:s, s:I, s:I, s:s, s:s, s:b, s:b, s:i}", "name", b.stream,
                       "subjects", chunks, metas, "retention", "limits", "max_age",
                       (json_int_t)cli_duration(c, "ttl", 0), "max_bytes",
                       (json_int_t)cli_size(c, "max-bytes", -1), "storage",
                       storage == NULL ? "file" : storage, "discard", "new", "allow_rollup_hdrs", 1,
                       "allow_direct", 1, "num_replicas", 1);
    metadata = json_object();
    rc = data_merge_pairs(c, "metadata", "", metadata);
    if (json_object_size(metadata) > 0)
        (void)json_object_set(config, "metadata", metadata);
    if (about != NULL)
        (void)json_object_set_new(config, "description", json_string(about));
    if (cli_on(c, "compression"))
        (void)json_object_set_new(config, "compression", json_string("s2"));
    if (rc == 0)
        rc = stream_create_config(c, config, b.name, "bucket");
    json_decref(metadata);
    json_decref(config);
    return rc;
}

static void print_meta(struct cli *c, const json_t *meta)
{
    char text[HUMAN_TEXT];
    struct table t;

    table_init(&t, &c->term, "ll", NULL);
    table_cell(&t, "name");
    table_cell(&t, "%s", request_text(meta, "name"));
    if (*request_text(meta, "description") != '\0') {
        table_cell(&t, "description");
        table_cell(&t, "%s", request_text(meta, "description"));
    }
    table_cell(&t, "size");
    table_cell(&t, "%s (%lld bytes)", human_bytes(text, (uint64_t)request_int(meta, "size")),
               (long long)request_int(meta, "size"));
    table_cell(&t, "chunks");
    table_cell(&t, "%lld", (long long)request_int(meta, "chunks"));
    table_cell(&t, "digest");
    table_cell(&t, "%s", request_text(meta, "digest"));
    table_cell(&t, "written");
    table_cell(&t, "%s", request_text(meta, "mtime"));
    table_print(&t);
}

int object_info_run(struct cli *c)
{
    struct object_bucket b;
    json_t *doc = NULL;
    const char *name = cli_arg(c, 1);
    int rc = object_init(c, cli_arg(c, 0), &b);

    if (rc == 0 && name == NULL)
        return stream_show(c, b.stream, b.name);
    if (rc == 0)
        rc = connect_open(c);
    if (rc == 0)
        rc = object_find(c, &b, name, false, false, &doc);
    if (rc != 0)
        return rc;
    if (c->json)
        request_print(c, doc);
    else
        print_meta(c, doc);
    json_decref(doc);
    return 0;
}

int object_rm_run(struct cli *c)
{
    struct object_bucket b;
    const char *name = cli_arg(c, 1);
    json_t *meta = NULL;
    int rc = object_init(c, cli_arg(c, 0), &b);

    if (rc == 0)
        rc = connect_open(c);
    if (rc != 0)
        return rc;
    if (name == NULL)
        return stream_remove(c, b.stream, b.name, "bucket");
    rc = object_find(c, &b, name, false, false, &meta);
    if (rc != 0)
        return rc;
    (void)json_object_update_new(meta, json_pack("{s:b, s:i, s:i, s:s}", "deleted", 1, "size", 0,
                                                 "chunks", 0, "digest", ""));
    rc = object_store_meta(c, &b, name, meta);
    if (rc == 0)
        object_purge_chunks(c, &b, request_text(meta, "nuid"));
    if (rc == 0 && c->json)
        request_print(c, meta);
    else if (rc == 0)
        data_say(c, "%s/%s is removed", b.name, name);
    json_decref(meta);
    return rc;
}
