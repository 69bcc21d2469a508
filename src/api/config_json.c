/* config_json.c: stream configurations in and out of JSON, as nats-server 2.15.1 reads and writes
 * them: the same fields in the same order, the same ones left out when empty. */
#include "api/api_impl.h"

#include "base/log.h"

/* The server version and API level that responses show. */
#define LEVEL_TEXT   "5"
#define VERSION_TEXT "2.15.1"

/* --- words ------------------------------------------------------------------------------------ */

static const char *const retention_words[] = {"limits", "interest", "workqueue"};
static const char *const discard_words[] = {"old", "new"};
static const char *const storage_words[] = {"file", "memory"};
static const char *const compression_words[] = {"none", "s2"};

static int parse_word(struct mf_slice raw, const char *const *words, size_t n, bool any_case,
                      int *out, struct mf_error *e)
{
    struct mf_slice s =
        raw.len >= 2 && raw.ptr[0] == '"' ? mf_slice(raw.ptr + 1, raw.len - 2) : MF_SLICE_NONE;

    for (size_t i = 0; i < n; i++)
        if (any_case ? mf_eq_nocase(s, words[i]) : mf_eq_str(s, words[i])) {
            *out = (int)i;
            return 0;
        }
    return json_refuse_word(raw, e);
}

static int parse_retention(struct mf_slice raw, int *out, struct mf_error *e)
{
    return parse_word(raw, retention_words, MF_COUNT(retention_words), false, out, e);
}

static int parse_discard(struct mf_slice raw, int *out, struct mf_error *e)
{
    return parse_word(raw, discard_words, MF_COUNT(discard_words), true, out, e);
}

static int parse_storage(struct mf_slice raw, int *out, struct mf_error *e)
{
    return parse_word(raw, storage_words, MF_COUNT(storage_words), false, out, e);
}

/* nats-server reads a JSON string here and then parses it: escapes count, and other types get
 * another text. */
static int parse_compression(struct mf_slice raw, int *out, struct mf_error *e)
{
    char *word = NULL;
    struct arena mem = {NULL, 0, 0, false};
    int err = json_parse_string(raw, &word, &mem, e);

    if (err == 0) {
        err = MF_UNSUPPORTED;
        for (size_t i = 0; i < MF_COUNT(compression_words) && err != 0; i++)
            if (strcmp(word, compression_words[i]) == 0) {
                *out = (int)i;
                err = 0;
            }
        if (err != 0)
            mf_fail(e, err, "unknown compression algorithm");
    }
    arena_fini(&mem);
    return err;
}

static int parse_persist(struct mf_slice raw, int *out, struct mf_error *e)
{
    static const char *const words[] = {"default", "async"};

    if (mf_eq_str(raw, "\"\"")) {
        *out = PERSIST_DEFAULT;
        return 0;
    }
    return parse_word(raw, words, MF_COUNT(words), false, out, e);
}

/* --- tables ----------------------------------------------------------------------------------- */

#define FIELD(json, struct_name, member, what)                                                     \
    {                                                                                              \
        .name = (json), .kind = (what), .offset = offsetof(struct struct_name, member)             \
    }
#define NESTED(json, struct_name, member, what, of)                                                \
    {                                                                                              \
        .name = (json), .kind = (what), .offset = offsetof(struct struct_name, member),            \
        .type = &(of)                                                                              \
    }
#define WORD(json, member, how)                                                                    \
    {                                                                                              \
        .name = (json), .kind = JSON_ENUM, .offset = offsetof(struct stream_config, member),       \
        .parse = (how)                                                                             \
    }
#define TYPE(name, struct_name, list)                                                              \
    {                                                                                              \
        .go_name = (name), .size = sizeof(struct struct_name), .fields = (list),                   \
        .nfields = MF_COUNT(list)                                                                  \
    }

static const struct json_field mapping_fields[] = {
    FIELD("src", stream_mapping, src, JSON_STR),
    FIELD("dest", stream_mapping, dest, JSON_STR),
};
static const struct json_type mapping_type =
    TYPE("SubjectTransformConfig", stream_mapping, mapping_fields);

static const struct json_field external_fields[] = {
    FIELD("api", stream_external, api, JSON_STR),
    FIELD("deliver", stream_external, deliver, JSON_STR),
};
static const struct json_type external_type =
    TYPE("ExternalStream", stream_external, external_fields);

static const struct json_field source_consumer_fields[] = {
    FIELD("name", stream_source_consumer, name, JSON_STR),
    FIELD("deliver_subject", stream_source_consumer, deliver_subject, JSON_STR),
};
static const struct json_type source_consumer_type =
    TYPE("StreamConsumerSource", stream_source_consumer, source_consumer_fields);

static const struct json_field source_fields[] = {
    FIELD("name", stream_source, name, JSON_STR),
    FIELD("opt_start_seq", stream_source, opt_start_seq, JSON_U64),
    {.name = "opt_start_time",
     .kind = JSON_TIME,
     .offset = offsetof(struct stream_source, opt_start_time_ns),
     .set_offset = offsetof(struct stream_source, has_start_time)},
    FIELD("filter_subject", stream_source, filter_subject, JSON_STR),
    NESTED("subject_transforms", stream_source, transforms, JSON_OBJECTS, mapping_type),
    NESTED("external", stream_source, external, JSON_POINTER, external_type),
    NESTED("consumer", stream_source, consumer, JSON_POINTER, source_consumer_type),
};
static const struct json_type source_type = TYPE("StreamSource", stream_source, source_fields);

static const struct json_field placement_fields[] = {
    FIELD("cluster", stream_placement, cluster, JSON_STR),
    FIELD("tags", stream_placement, tags, JSON_STRS),
    FIELD("preferred", stream_placement, preferred, JSON_STR),
};
static const struct json_type placement_type =
    TYPE("Placement", stream_placement, placement_fields);

static const struct json_field republish_fields[] = {
    FIELD("src", stream_republish, src, JSON_STR),
    FIELD("dest", stream_republish, dest, JSON_STR),
    FIELD("headers_only", stream_republish, headers_only, JSON_BOOL),
};
static const struct json_type republish_type =
    TYPE("RePublish", stream_republish, republish_fields);

static const struct json_field consumer_limits_fields[] = {
    FIELD("inactive_threshold", stream_consumer_limits, inactive_threshold_ns, JSON_DURATION),
    FIELD("max_ack_pending", stream_consumer_limits, max_ack_pending, JSON_INT),
};
static const struct json_type consumer_limits_type =
    TYPE("StreamConsumerLimits", stream_consumer_limits, consumer_limits_fields);

static const struct json_field config_fields[] = {
    FIELD("name", stream_config, name, JSON_STR),
    FIELD("description", stream_config, description, JSON_STR),
    FIELD("subjects", stream_config, subjects, JSON_STRS),
    WORD("retention", retention, parse_retention),
    FIELD("max_consumers", stream_config, max_consumers, JSON_INT),
    FIELD("max_msgs", stream_config, max_msgs, JSON_I64),
    FIELD("max_bytes", stream_config, max_bytes, JSON_I64),
    FIELD("max_age", stream_config, max_age_ns, JSON_DURATION),
    FIELD("max_msgs_per_subject", stream_config, max_msgs_per_subject, JSON_I64),
    FIELD("max_msg_size", stream_config, max_msg_size, JSON_I32),
    WORD("discard", discard, parse_discard),
    WORD("storage", storage, parse_storage),
    FIELD("num_replicas", stream_config, replicas, JSON_INT),
    FIELD("no_ack", stream_config, no_ack, JSON_BOOL),
    FIELD("duplicate_window", stream_config, duplicate_window_ns, JSON_DURATION),
    NESTED("placement", stream_config, placement, JSON_POINTER, placement_type),
    NESTED("mirror", stream_config, mirror, JSON_POINTER, source_type),
    NESTED("sources", stream_config, sources, JSON_POINTERS, source_type),
    WORD("compression", compression, parse_compression),
    FIELD("first_seq", stream_config, first_seq, JSON_U64),
    NESTED("subject_transform", stream_config, subject_transform, JSON_POINTER, mapping_type),
    NESTED("republish", stream_config, republish, JSON_POINTER, republish_type),
    FIELD("allow_direct", stream_config, allow_direct, JSON_BOOL),
    FIELD("mirror_direct", stream_config, mirror_direct, JSON_BOOL),
    FIELD("discard_new_per_subject", stream_config, discard_new_per_subject, JSON_BOOL),
    FIELD("sealed", stream_config, sealed, JSON_BOOL),
    FIELD("deny_delete", stream_config, deny_delete, JSON_BOOL),
    FIELD("deny_purge", stream_config, deny_purge, JSON_BOOL),
    FIELD("allow_rollup_hdrs", stream_config, allow_rollup, JSON_BOOL),
    NESTED("consumer_limits", stream_config, consumer_limits, JSON_OBJECT, consumer_limits_type),
    FIELD("allow_msg_ttl", stream_config, allow_msg_ttl, JSON_BOOL),
    FIELD("subject_delete_marker_ttl", stream_config, subject_delete_marker_ttl_ns, JSON_DURATION),
    FIELD("allow_msg_counter", stream_config, allow_msg_counter, JSON_BOOL),
    FIELD("allow_atomic", stream_config, allow_atomic, JSON_BOOL),
    FIELD("allow_msg_schedules", stream_config, allow_msg_schedules, JSON_BOOL),
    WORD("persist_mode", persist_mode, parse_persist),
    FIELD("allow_batched", stream_config, allow_batched, JSON_BOOL),
    FIELD("metadata", stream_config, metadata, JSON_MAP),
    FIELD("pedantic", stream_config, pedantic, JSON_BOOL), /* the last: requests only */
};
const struct json_type config_json_type = {
    .go_name = "StreamConfig",
    .size = sizeof(struct stream_config),
    .fields = config_fields,
    .nfields = MF_COUNT(config_fields) - 1,
};
static const struct json_type request_type =
    TYPE("StreamConfigRequest", stream_config, config_fields);

/* --- in --------------------------------------------------------------------------------------- */

int config_json_decode(struct mf_slice text, bool strict, struct stream_config *c,
                       struct mf_error *e)
{
    return json_read(text, &request_type, c, &c->mem, strict, e);
}

/* Earlier versions marked a stream that was being restored by a key of its metadata.  Clients could
 * set that key too, so a stream that has it is never deleted for it: an operator has to look. */
#define OLD_MARK STREAM_METADATA_RESERVED "restoring"

static void drop_old_mark(struct stream_config *c)
{
    struct json_map *m = &c->metadata;
    struct json_pair *at = m->at;
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        if (strcmp(at[i].key, OLD_MARK) != 0)
            at[n++] = at[i];
    if (n < m->n)
        log_warn("stream %s: its metadata had \"" OLD_MARK
                 "\": an older version may have ended while "
                 "it restored this stream; if messages are missing, delete it and restore it again",
                 c->name);
    m->n = n;
}

/* A blob of this version or of a later one: MF_UNSUPPORTED. */
static int stored_decode(struct mf_slice text, struct stream_config *c, struct mf_error *e)
{
    int err = json_read(text, &config_json_type, c, &c->mem, true, e);

    if (err == 0)
        drop_old_mark(c);
    return err;
}

static int stored_encode(const struct stream_config *c, struct mf_buf *out)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    config_json_write(&w, NULL, c, false);
    return mf_buf_failed(out) ? MF_NOMEM : 0;
}

const struct catalog_codec config_json_codec = {.encode = stored_encode, .decode = stored_decode};

/* --- out -------------------------------------------------------------------------------------- */

static void write_mapping(struct jsonw *w, const char *key, const struct stream_mapping *m)
{
    jsonw_object(w, key);
    jsonw_str(w, "src", m->src);
    jsonw_str(w, "dest", m->dest);
    jsonw_end(w);
}

static void write_source_route(struct jsonw *w, const struct stream_source *s)
{
    if (s->external != NULL) {
        jsonw_object(w, "external");
        jsonw_str(w, "api", s->external->api);
        jsonw_str(w, "deliver", s->external->deliver);
        jsonw_end(w);
    }
    if (s->consumer != NULL) {
        jsonw_object(w, "consumer");
        jsonw_opt_str(w, "name", s->consumer->name);
        jsonw_opt_str(w, "deliver_subject", s->consumer->deliver_subject);
        jsonw_end(w);
    }
}

static void write_source(struct jsonw *w, const char *key, const struct stream_source *s)
{
    const struct stream_mapping *maps = s->transforms.at;

    jsonw_object(w, key);
    jsonw_str(w, "name", s->name);
    jsonw_opt_u64(w, "opt_start_seq", s->opt_start_seq);
    if (s->has_start_time)
        jsonw_time(w, "opt_start_time", s->opt_start_time_ns);
    jsonw_opt_str(w, "filter_subject", s->filter_subject);
    if (s->transforms.n > 0) {
        jsonw_array(w, "subject_transforms");
        for (size_t i = 0; i < s->transforms.n; i++)
            write_mapping(w, NULL, &maps[i]);
        jsonw_end(w);
    }
    write_source_route(w, s);
    jsonw_end(w);
}

static void write_origin(struct jsonw *w, const struct stream_config *c)
{
    struct stream_source *const *sources = c->sources.at;

    if (c->placement != NULL) {
        jsonw_object(w, "placement");
        jsonw_opt_str(w, "cluster", c->placement->cluster);
        jsonw_opt_strs(w, "tags", &c->placement->tags);
        jsonw_opt_str(w, "preferred", c->placement->preferred);
        jsonw_end(w);
    }
    if (c->mirror != NULL)
        write_source(w, "mirror", c->mirror);
    if (c->sources.n == 0)
        return;
    jsonw_array(w, "sources");
    for (size_t i = 0; i < c->sources.n; i++) {
        if (sources[i] == NULL)
            jsonw_null(w, NULL);
        else
            write_source(w, NULL, sources[i]);
    }
    jsonw_end(w);
}

static void write_limits(struct jsonw *w, const struct stream_config *c)
{
    jsonw_str(w, "name", c->name);
    jsonw_opt_str(w, "description", c->description);
    jsonw_opt_strs(w, "subjects", &c->subjects);
    jsonw_str(w, "retention", retention_words[c->retention]);
    jsonw_i64(w, "max_consumers", c->max_consumers);
    jsonw_i64(w, "max_msgs", c->max_msgs);
    jsonw_i64(w, "max_bytes", c->max_bytes);
    jsonw_i64(w, "max_age", c->max_age_ns);
    jsonw_i64(w, "max_msgs_per_subject", c->max_msgs_per_subject);
    jsonw_opt_i64(w, "max_msg_size", c->max_msg_size);
    jsonw_str(w, "discard", discard_words[c->discard]);
    jsonw_str(w, "storage", storage_words[c->storage]);
    jsonw_i64(w, "num_replicas", c->replicas);
    jsonw_opt_bool(w, "no_ack", c->no_ack);
    jsonw_opt_i64(w, "duplicate_window", c->duplicate_window_ns);
}

static void write_switches(struct jsonw *w, const struct stream_config *c)
{
    jsonw_bool(w, "allow_direct", c->allow_direct);
    jsonw_bool(w, "mirror_direct", c->mirror_direct);
    jsonw_opt_bool(w, "discard_new_per_subject", c->discard_new_per_subject);
    jsonw_bool(w, "sealed", c->sealed);
    jsonw_bool(w, "deny_delete", c->deny_delete);
    jsonw_bool(w, "deny_purge", c->deny_purge);
    jsonw_bool(w, "allow_rollup_hdrs", c->allow_rollup);
    jsonw_object(w, "consumer_limits");
    jsonw_opt_i64(w, "inactive_threshold", c->consumer_limits.inactive_threshold_ns);
    jsonw_opt_i64(w, "max_ack_pending", c->consumer_limits.max_ack_pending);
    jsonw_end(w);
    jsonw_bool(w, "allow_msg_ttl", c->allow_msg_ttl);
    jsonw_opt_i64(w, "subject_delete_marker_ttl", c->subject_delete_marker_ttl_ns);
    jsonw_opt_bool(w, "allow_msg_counter", c->allow_msg_counter);
    jsonw_opt_bool(w, "allow_atomic", c->allow_atomic);
    jsonw_opt_bool(w, "allow_msg_schedules", c->allow_msg_schedules);
    if (c->persist_mode == PERSIST_ASYNC)
        jsonw_str(w, "persist_mode", "async");
    jsonw_opt_bool(w, "allow_batched", c->allow_batched);
}

/* Two sorted lists as one: the stream's own pairs and the server's.  The server's win. */
void metadata_json_write(struct jsonw *w, const struct json_map *m, bool server_metadata)
{
    static const struct {
        const char *key, *value;
    } ours[] = {{"_nats.level", LEVEL_TEXT}, {"_nats.ver", VERSION_TEXT}};
    size_t o = server_metadata ? 0 : MF_COUNT(ours), i = 0;

    if (m->n == 0 && !server_metadata)
        return;
    jsonw_object(w, "metadata");
    while (i < m->n || o < MF_COUNT(ours)) {
        int order = i == m->n ? 1 : o == MF_COUNT(ours) ? -1 : strcmp(m->at[i].key, ours[o].key);
        if (order < 0) {
            jsonw_str(w, m->at[i].key, m->at[i].value);
            i++;
        } else {
            jsonw_str(w, ours[o].key, ours[o].value);
            o++;
            i += order == 0;
        }
    }
    jsonw_end(w);
}

void config_json_write(struct jsonw *w, const char *key, const struct stream_config *c,
                       bool server_metadata)
{
    jsonw_object(w, key);
    write_limits(w, c);
    write_origin(w, c);
    jsonw_str(w, "compression", compression_words[c->compression]);
    jsonw_opt_u64(w, "first_seq", c->first_seq);
    if (c->subject_transform != NULL)
        write_mapping(w, "subject_transform", c->subject_transform);
    if (c->republish != NULL) {
        jsonw_object(w, "republish");
        jsonw_opt_str(w, "src", c->republish->src);
        jsonw_str(w, "dest", c->republish->dest);
        jsonw_opt_bool(w, "headers_only", c->republish->headers_only);
        jsonw_end(w);
    }
    write_switches(w, c);
    metadata_json_write(w, &c->metadata, server_metadata);
    jsonw_end(w);
}
