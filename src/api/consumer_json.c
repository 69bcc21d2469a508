/* consumer_json.c: consumers' configurations in and out of JSON, and their infos, as nats-server
 * 2.15.1 reads and writes them: the same fields in the same order, the same ones left out when
 * empty. */
#include "api/api_impl.h"

#include "base/clock.h"

/* --- words ------------------------------------------------------------------------------------ */

static const char *const deliver_words[] = {
    "all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject"};
static const char *const ack_words[] = {"none", "all", "explicit", "flow_control"};
static const char *const replay_words[] = {"instant", "original"};
static const char *const priority_words[] = {"none", "overflow", "pinned_client", "prioritized"};
static const char *const action_words[] = {"", "create", "update"};

static bool find_word(struct mf_slice raw, const char *const *words, size_t n, int *out)
{
    if (raw.len < 2 || raw.ptr[0] != '"')
        return false;
    struct mf_slice s = mf_slice(raw.ptr + 1, raw.len - 2);
    for (size_t i = 0; i < n; i++)
        if (mf_eq_str(s, words[i])) {
            *out = (int)i;
            return true;
        }
    return false;
}

static int parse_deliver(struct mf_slice raw, int *out, struct mf_error *e)
{
    if (mf_eq_str(raw, "\"undefined\"")) {
        *out = DELIVER_ALL;
        return 0;
    }
    return find_word(raw, deliver_words, MF_COUNT(deliver_words), out) ? 0
                                                                       : json_refuse_word(raw, e);
}

static int parse_ack(struct mf_slice raw, int *out, struct mf_error *e)
{
    return find_word(raw, ack_words, MF_COUNT(ack_words), out) ? 0 : json_refuse_word(raw, e);
}

static int parse_replay(struct mf_slice raw, int *out, struct mf_error *e)
{
    return find_word(raw, replay_words, MF_COUNT(replay_words), out) ? 0 : json_refuse_word(raw, e);
}

/* These two are shown as they stand in the text. */
static int parse_priority(struct mf_slice raw, int *out, struct mf_error *e)
{
    if (find_word(raw, priority_words, MF_COUNT(priority_words), out))
        return 0;
    return mf_fail(e, MF_UNSUPPORTED, "unknown priority policy: %.*s", MF_FMT(raw));
}

static int parse_action(struct mf_slice raw, int *out, struct mf_error *e)
{
    if (find_word(raw, action_words, MF_COUNT(action_words), out))
        return 0;
    return mf_fail(e, MF_UNSUPPORTED, "unknown consumer action: %.*s", MF_FMT(raw));
}

/* --- tables ----------------------------------------------------------------------------------- */

#define FIELD(json, member, what)                                                                  \
    {                                                                                              \
        .name = (json), .kind = (what), .offset = offsetof(struct consumer_config, member)         \
    }
#define WORD(json, member, how)                                                                    \
    {                                                                                              \
        .name = (json), .kind = JSON_ENUM, .offset = offsetof(struct consumer_config, member),     \
        .parse = (how)                                                                             \
    }

static const struct json_field config_fields[] = {
    FIELD("durable_name", durable_name, JSON_STR),
    FIELD("name", name, JSON_STR),
    FIELD("description", description, JSON_STR),
    WORD("deliver_policy", deliver_policy, parse_deliver),
    FIELD("opt_start_seq", opt_start_seq, JSON_U64),
    {.name = "opt_start_time",
     .kind = JSON_TIME,
     .offset = offsetof(struct consumer_config, opt_start_time_ns),
     .set_offset = offsetof(struct consumer_config, has_start_time)},
    WORD("ack_policy", ack_policy, parse_ack),
    FIELD("ack_wait", ack_wait_ns, JSON_DURATION),
    FIELD("max_deliver", max_deliver, JSON_INT),
    FIELD("backoff", backoff, JSON_DURATIONS),
    FIELD("filter_subject", filter_subject, JSON_STR),
    FIELD("filter_subjects", filter_subjects, JSON_STRS),
    WORD("replay_policy", replay_policy, parse_replay),
    FIELD("rate_limit_bps", rate_limit_bps, JSON_U64),
    FIELD("sample_freq", sample_freq, JSON_STR),
    FIELD("max_waiting", max_waiting, JSON_INT),
    FIELD("max_ack_pending", max_ack_pending, JSON_INT),
    FIELD("flow_control", flow_control, JSON_BOOL),
    FIELD("headers_only", headers_only, JSON_BOOL),
    FIELD("max_batch", max_batch, JSON_INT),
    FIELD("max_expires", max_expires_ns, JSON_DURATION),
    FIELD("max_bytes", max_bytes, JSON_INT),
    FIELD("deliver_subject", deliver_subject, JSON_STR),
    FIELD("deliver_group", deliver_group, JSON_STR),
    FIELD("idle_heartbeat", idle_heartbeat_ns, JSON_DURATION),
    FIELD("inactive_threshold", inactive_threshold_ns, JSON_DURATION),
    FIELD("num_replicas", replicas, JSON_INT),
    FIELD("mem_storage", mem_storage, JSON_BOOL),
    FIELD("direct", direct, JSON_BOOL),
    FIELD("sourcing", sourcing, JSON_BOOL),
    FIELD("metadata", metadata, JSON_MAP),
    FIELD("pause_until", pause_until_ns, JSON_TIME),
    FIELD("priority_groups", priority_groups, JSON_STRS),
    WORD("priority_policy", priority_policy, parse_priority),
    FIELD("priority_timeout", priority_timeout_ns, JSON_DURATION),
};
const struct json_type consumer_config_json_type = {
    "ConsumerConfig", sizeof(struct consumer_config), config_fields, MF_COUNT(config_fields)};

static const struct json_field request_fields[] = {
    {.name = "stream_name",
     .kind = JSON_STR,
     .offset = offsetof(struct consumer_request, stream_name)},
    {.name = "config",
     .kind = JSON_OBJECT,
     .offset = offsetof(struct consumer_request, config),
     .type = &consumer_config_json_type},
    {.name = "action",
     .kind = JSON_ENUM,
     .offset = offsetof(struct consumer_request, action),
     .parse = parse_action},
    {.name = "pedantic", .kind = JSON_BOOL, .offset = offsetof(struct consumer_request, pedantic)},
};
static const struct json_type request_type = {"CreateConsumerRequest",
                                              sizeof(struct consumer_request), request_fields,
                                              MF_COUNT(request_fields)};

/* --- in --------------------------------------------------------------------------------------- */

/* Go's zero time and no time at all mean the same here. */
static void drop_zero_pause(struct consumer_config *c)
{
    if (c->pause_until_ns == CLOCK_ZERO)
        c->pause_until_ns = 0;
}

int consumer_request_decode(struct mf_slice text, bool strict, struct consumer_request *r,
                            struct mf_error *e)
{
    int err = json_read(text, &request_type, r, &r->config.mem, strict, e);

    drop_zero_pause(&r->config);
    return err;
}

/* A blob of this version or of a later one: MF_UNSUPPORTED. */
static int stored_decode(struct mf_slice text, struct consumer_config *c, struct mf_error *e)
{
    int err = json_read(text, &consumer_config_json_type, c, &c->mem, true, e);

    drop_zero_pause(c);
    return err;
}

static int stored_encode(const struct consumer_config *c, struct mf_buf *out)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    consumer_config_json_write(&w, NULL, c, false);
    return mf_buf_failed(out) ? MF_NOMEM : 0;
}

const struct consumer_codec consumer_json_codec = {.encode = stored_encode,
                                                   .decode = stored_decode};

/* --- out -------------------------------------------------------------------------------------- */

static void write_delivery(struct jsonw *w, const struct consumer_config *c)
{
    jsonw_opt_str(w, "durable_name", c->durable_name);
    jsonw_opt_str(w, "name", c->name);
    jsonw_opt_str(w, "description", c->description);
    jsonw_str(w, "deliver_policy", deliver_words[c->deliver_policy]);
    jsonw_opt_u64(w, "opt_start_seq", c->opt_start_seq);
    if (c->has_start_time)
        jsonw_time(w, "opt_start_time", c->opt_start_time_ns);
    jsonw_str(w, "ack_policy", ack_words[c->ack_policy]);
    jsonw_opt_i64(w, "ack_wait", c->ack_wait_ns);
    jsonw_opt_i64(w, "max_deliver", c->max_deliver);
    if (c->backoff.n > 0) {
        jsonw_array(w, "backoff");
        for (size_t i = 0; i < c->backoff.n; i++)
            jsonw_i64(w, NULL, c->backoff.at[i]);
        jsonw_end(w);
    }
    jsonw_opt_str(w, "filter_subject", c->filter_subject);
    jsonw_opt_strs(w, "filter_subjects", &c->filter_subjects);
    jsonw_str(w, "replay_policy", replay_words[c->replay_policy]);
}

static void write_limits(struct jsonw *w, const struct consumer_config *c)
{
    jsonw_opt_u64(w, "rate_limit_bps", c->rate_limit_bps);
    jsonw_opt_str(w, "sample_freq", c->sample_freq);
    jsonw_opt_i64(w, "max_waiting", c->max_waiting);
    jsonw_opt_i64(w, "max_ack_pending", c->max_ack_pending);
    jsonw_opt_bool(w, "flow_control", c->flow_control);
    jsonw_opt_bool(w, "headers_only", c->headers_only);
    jsonw_opt_i64(w, "max_batch", c->max_batch);
    jsonw_opt_i64(w, "max_expires", c->max_expires_ns);
    jsonw_opt_i64(w, "max_bytes", c->max_bytes);
    jsonw_opt_str(w, "deliver_subject", c->deliver_subject);
    jsonw_opt_str(w, "deliver_group", c->deliver_group);
    jsonw_opt_i64(w, "idle_heartbeat", c->idle_heartbeat_ns);
    jsonw_opt_i64(w, "inactive_threshold", c->inactive_threshold_ns);
    jsonw_i64(w, "num_replicas", c->replicas);
    jsonw_opt_bool(w, "mem_storage", c->mem_storage);
    jsonw_opt_bool(w, "direct", c->direct);
    jsonw_opt_bool(w, "sourcing", c->sourcing);
}

void consumer_config_json_write(struct jsonw *w, const char *key, const struct consumer_config *c,
                                bool server_metadata)
{
    jsonw_object(w, key);
    write_delivery(w, c);
    write_limits(w, c);
    metadata_json_write(w, &c->metadata, server_metadata);
    if (c->pause_until_ns != 0)
        jsonw_time(w, "pause_until", c->pause_until_ns);
    jsonw_opt_strs(w, "priority_groups", &c->priority_groups);
    if (c->priority_policy != PRIORITY_NONE)
        jsonw_str(w, "priority_policy", priority_words[c->priority_policy]);
    jsonw_opt_i64(w, "priority_timeout", c->priority_timeout_ns);
    jsonw_end(w);
}

/* --- info ------------------------------------------------------------------------------------- */

static void write_place(struct jsonw *w, const char *key, uint64_t consumer_seq,
                        uint64_t stream_seq, int64_t last_ns)
{
    jsonw_object(w, key);
    jsonw_u64(w, "consumer_seq", consumer_seq);
    jsonw_u64(w, "stream_seq", stream_seq);
    if (last_ns != 0)
        jsonw_time(w, "last_active", last_ns);
    jsonw_end(w);
}

/* Only the first group has a state. */
static void write_group(struct jsonw *w, const struct consumer_config *c,
                        const struct consumer_info *i)
{
    if (c->priority_groups.n == 0)
        return;
    jsonw_array(w, "priority_groups");
    jsonw_object(w, NULL);
    jsonw_str(w, "group", c->priority_groups.at[0]);
    jsonw_opt_str(w, "pinned_client_id", i->pinned_id);
    jsonw_time(w, "pinned_ts", i->pinned_at_ns == 0 ? CLOCK_ZERO : i->pinned_at_ns);
    jsonw_end(w);
    jsonw_end(w);
}

static void write_head(struct jsonw *w, const struct consumer *c, const struct consumer_info *i)
{
    jsonw_str(w, "stream_name", stream_name(consumers_stream(consumer_set_of(c))));
    jsonw_str(w, "name", consumer_name(c));
    jsonw_time(w, "created", i->created_ns);
}

static void write_progress(struct jsonw *w, const struct consumer *c, const struct consumer_info *i,
                           int64_t now_ns)
{
    write_place(w, "delivered", i->delivered_cseq, i->delivered_sseq, i->delivered_at_ns);
    write_place(w, "ack_floor", i->floor_cseq, i->floor_sseq, i->acked_at_ns);
    jsonw_u64(w, "num_ack_pending", i->ack_pending);
    jsonw_u64(w, "num_redelivered", i->redelivered);
    jsonw_u64(w, "num_waiting", i->waiting);
    jsonw_u64(w, "num_pending", i->pending);
    jsonw_opt_bool(w, "push_bound", i->push_bound);
    jsonw_opt_bool(w, "paused", i->paused);
    if (i->paused)
        jsonw_opt_i64(w, "pause_remaining", i->pause_remaining_ns);
    jsonw_time(w, "ts", now_ns);
    write_group(w, consumer_config(c), i);
}

void consumer_info_json_write(struct jsonw *w, struct consumer *c, int64_t now_ns,
                              bool server_metadata)
{
    struct consumer_info i;

    consumer_info(c, &i);
    write_head(w, c, &i);
    consumer_config_json_write(w, "config", consumer_config(c), server_metadata);
    write_progress(w, c, &i, now_ns);
}

void consumer_detail_json_write(struct jsonw *w, struct consumer *c, int64_t now_ns, bool config)
{
    struct consumer_info i;

    consumer_info(c, &i);
    jsonw_object(w, NULL);
    write_head(w, c, &i);
    if (config)
        consumer_config_json_write(w, "config", consumer_config(c), false);
    write_progress(w, c, &i, now_ns);
    jsonw_end(w);
}
