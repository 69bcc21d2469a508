/* info_json.c: states, infos and account info as responses show them: order and presence of members
 * are those of nats-server. */
#include "api/api_impl.h"

#include "stream/stream_damage.h"
#include "base/clock.h"
#include "source/source.h"

void base64_json_write(struct jsonw *w, const char *key, struct mf_slice bytes)
{
    static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = (bytes.len + 2) / 3 * 4;
    uint8_t *at;

    jsonw_raw(w, key, MF_LIT("\""));
    at = mf_buf_reserve(w->out, n + 1);
    if (at == NULL)
        return;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t v = (uint32_t)bytes.ptr[i] << 16 |
                     (left > 1 ? (uint32_t)bytes.ptr[i + 1] << 8 : 0u) |
                     (left > 2 ? (uint32_t)bytes.ptr[i + 2] : 0u);
        *at++ = (uint8_t)letter[v >> 18];
        *at++ = (uint8_t)letter[v >> 12 & 63];
        *at++ = left > 1 ? (uint8_t)letter[v >> 6 & 63] : '=';
        *at++ = left > 2 ? (uint8_t)letter[v & 63] : '=';
    }
    *at = '"';
    w->out->len += n + 1;
}

/* --- state ------------------------------------------------------------------------------------ */

void state_json_write_details(struct jsonw *w, const char *key, struct stream *s,
                              const struct state_details *d)
{
    struct stream_state st;

    if (d->state != NULL)
        st = *d->state;
    else
        stream_state(s, &st);
    jsonw_object(w, key);
    jsonw_u64(w, "messages", st.msgs);
    jsonw_u64(w, "bytes", st.bytes);
    jsonw_u64(w, "first_seq", st.first_seq);
    jsonw_time(w, "first_ts", st.first_ts_ns);
    jsonw_u64(w, "last_seq", st.last_seq);
    jsonw_time(w, "last_ts", st.last_ts_ns);
    jsonw_opt_u64(w, "num_subjects", st.subjects);
    if (d->subjects.len > 0)
        jsonw_raw(w, "subjects", d->subjects);
    jsonw_opt_u64(w, "num_deleted", st.deleted);
    if (st.deleted > 0 && d->deleted.len > 0)
        jsonw_raw(w, "deleted", d->deleted);
    if (stream_lost(s) > 0) { /* their sequences are unknown */
        jsonw_object(w, "lost");
        jsonw_null(w, "msgs");
        jsonw_u64(w, "bytes", 0);
        jsonw_end(w);
    }
    jsonw_u64(w, "consumer_count", js_consumer_count(s));
    jsonw_end(w);
}

void state_json_write(struct jsonw *w, const char *key, struct stream *s)
{
    state_json_write_details(w, key, s, &(struct state_details){.state = NULL});
}

/* --- mirror and sources
 * ------------------------------------------------------------------------------------ */

static void transforms_write(struct jsonw *w, const struct stream_source *src)
{
    const struct stream_mapping *map = src->transforms.at;

    if (src->transforms.n == 0)
        return;
    jsonw_array(w, "subject_transforms");
    for (size_t i = 0; i < src->transforms.n; i++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "src", map[i].src);
        jsonw_str(w, "dest", map[i].dest);
        jsonw_end(w);
    }
    jsonw_end(w);
}

struct origins {
    struct jsonw *w;
    bool mirror;
};

/* An update from a mirror to sources is in the configuration before the former origin is left. */
static void origin_write(void *arg, const struct source_info *i)
{
    const struct origins *o = arg;
    struct jsonw *w = o->w;
    const struct stream_source *src = i->config;

    if (i->mirror != o->mirror)
        return;
    jsonw_object(w, i->mirror ? "mirror" : NULL);
    jsonw_str(w, "name", src->name);
    if (src->external != NULL) {
        jsonw_object(w, "external");
        jsonw_str(w, "api", src->external->api);
        jsonw_str(w, "deliver", src->external->deliver);
        jsonw_end(w);
    }
    jsonw_u64(w, "lag", i->lag);
    jsonw_opt_u64(w, "seq", i->seq);
    jsonw_i64(w, "active", i->active_ns);
    if (i->error != NULL)
        js_json_error(w, i->error);
    jsonw_opt_str(w, "filter_subject", src->filter_subject);
    transforms_write(w, src);
    jsonw_end(w);
}

void origins_json_write(struct jsonw *w, struct stream *s)
{
    const struct stream_config *c = stream_config(s);

    if (c->mirror == NULL && c->sources.n == 0)
        return;
    if (c->mirror == NULL)
        jsonw_array(w, "sources");
    sources_each(js_sources(s), origin_write, &(struct origins){w, c->mirror != NULL});
    if (c->mirror == NULL)
        jsonw_end(w);
}

/* --- stream info ------------------------------------------------------------------------------ */

void info_json_write_details(struct jsonw *w, struct js_account *ja, struct stream *s,
                             unsigned flags, const struct state_details *d)
{
    const struct stream_config *c = stream_config(s);

    config_json_write(w, "config", c, (flags & INFO_METADATA) != 0);
    jsonw_time(w, "created", stream_created_ns(s));
    state_json_write_details(w, "state", s, d);
    if ((flags & INFO_DOMAIN) != 0)
        jsonw_opt_str(w, "domain", jetstream_domain(ja->js));
    if ((flags & INFO_CLUSTER) != 0) {
        jsonw_object(w, "cluster");
        jsonw_str(w, "leader", ja->js->setup.server_name);
        jsonw_end(w);
    }
    origins_json_write(w, s);
    jsonw_time(w, "ts", jetstream_now_ns(ja->js));
}

void info_json_write(struct jsonw *w, struct js_account *ja, struct stream *s, unsigned flags)
{
    info_json_write_details(w, ja, s, flags, &(struct state_details){.state = NULL});
}

/* --- account info ----------------------------------------------------------------------------- */

static const struct options_js_limits zero_limits;

static void limits_write(struct jsonw *w, const struct options_js_limits *l)
{
    jsonw_object(w, "limits");
    jsonw_i64(w, "max_memory", l->max_memory);
    jsonw_i64(w, "max_storage", l->max_store);
    jsonw_i64(w, "max_streams", l->max_streams);
    jsonw_i64(w, "max_consumers", l->max_consumers);
    jsonw_i64(w, "max_ack_pending", l->max_ack_pending);
    jsonw_i64(w, "memory_max_stream_bytes", l->mem_max_stream_bytes);
    jsonw_i64(w, "storage_max_stream_bytes", l->disk_max_stream_bytes);
    jsonw_bool(w, "max_bytes_required", l->max_bytes_required);
    jsonw_end(w);
}

struct account_use {
    struct stream_usage used, reserved;
    uint64_t streams, consumers;
};
static const struct account_use unused;

static void use_write(struct jsonw *w, const struct account_use *u,
                      const struct options_js_limits *l)
{
    jsonw_i64(w, "memory", u->used.memory);
    jsonw_i64(w, "storage", u->used.file);
    jsonw_i64(w, "reserved_memory", u->reserved.memory);
    jsonw_i64(w, "reserved_storage", u->reserved.file);
    jsonw_u64(w, "streams", u->streams);
    jsonw_u64(w, "consumers", u->consumers);
    limits_write(w, l);
}

static void tier_write(struct jsonw *w, const char *name, const struct account_use *u,
                       const struct options_js_limits *l)
{
    jsonw_object(w, name);
    use_write(w, u, l);
    jsonw_end(w);
}

/* All streams here have one replica, so what is used stands in R1, even where that has no limits.
 */
static void tiers_write(struct jsonw *w, const struct js_account *ja, const struct account_use *u)
{
    jsonw_object(w, "tiers");
    if (ja->limits->none && u->streams > 0)
        tier_write(w, "R1", u, &zero_limits);
    for (size_t i = 0; i < ja->ntiers; i++) {
        const struct options_js_tier *t = &ja->tiers[i];
        tier_write(w, t->name, strcmp(t->name, "R1") == 0 ? u : &unused, &t->limits);
    }
    jsonw_end(w);
}

void account_json_write(struct jsonw *w, struct api_account *aa)
{
    const struct js_account *ja = aa->ja;
    struct account_use u = {.used = ja->usage,
                            .streams = catalog_count(ja->catalog),
                            .consumers = js_account_consumers(ja)};

    catalog_reserved(ja->catalog, &u.reserved);
    use_write(w, &u, ja->ntiers > 0 ? &zero_limits : ja->limits);
    jsonw_opt_str(w, "domain", jetstream_domain(aa->api->js));
    jsonw_object(w, "api");
    jsonw_u64(w, "level", aa->api->js->setup.level);
    jsonw_u64(w, "total", aa->total);
    jsonw_u64(w, "errors", aa->errors);
    jsonw_end(w);
    if (ja->ntiers > 0)
        tiers_write(w, ja, &u);
}
