/* info_json.c: states, infos, account info and errors, as responses show them: the order of members
 * and which of them are left out are nats-server's. */
#include "api/api_impl.h"

#include "stream/stream_damage.h"
#include "base/clock.h"

void error_json_write(struct jsonw *w, const struct js_error *e)
{
    jsonw_object(w, "error");
    jsonw_u64(w, "code", e->code);
    jsonw_u64(w, "err_code", e->err_code);
    jsonw_str(w, "description", e->text);
    jsonw_end(w);
}

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
    if (stream_lost(s) > 0) { /* which ones they were, nobody can tell any more */
        jsonw_object(w, "lost");
        jsonw_null(w, "msgs");
        jsonw_u64(w, "bytes", 0);
        jsonw_end(w);
    }
    jsonw_u64(w, "consumer_count", api_consumer_count(s));
    jsonw_end(w);
}

void state_json_write(struct jsonw *w, const char *key, struct stream *s)
{
    state_json_write_details(w, key, s, &(struct state_details){.state = NULL});
}

/* --- stream info ------------------------------------------------------------------------------ */

void info_json_write_details(struct jsonw *w, struct api_account *aa, struct stream *s,
                             unsigned flags, const struct state_details *d)
{
    const struct stream_config *c = stream_config(s);

    config_json_write(w, "config", c, (flags & INFO_METADATA) != 0);
    jsonw_time(w, "created", stream_created_ns(s));
    state_json_write_details(w, "state", s, d);
    if ((flags & INFO_DOMAIN) != 0)
        jsonw_opt_str(w, "domain", api_domain(aa->api));
    if ((flags & INFO_CLUSTER) != 0) {
        jsonw_object(w, "cluster");
        jsonw_str(w, "leader", aa->api->setup.server_name);
        jsonw_end(w);
    }
    origins_json_write(w, s);
    jsonw_time(w, "ts", api_now_ns(aa->api));
}

void info_json_write(struct jsonw *w, struct api_account *aa, struct stream *s, unsigned flags)
{
    info_json_write_details(w, aa, s, flags, &(struct state_details){.state = NULL});
}

/* --- account info ----------------------------------------------------------------------------- */

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

void account_json_write(struct jsonw *w, struct api_account *aa)
{
    struct stream_usage reserved = {0, 0};

    catalog_reserved(aa->catalog, &reserved);
    jsonw_i64(w, "memory", aa->usage.memory);
    jsonw_i64(w, "storage", aa->usage.file);
    jsonw_i64(w, "reserved_memory", reserved.memory);
    jsonw_i64(w, "reserved_storage", reserved.file);
    jsonw_u64(w, "streams", catalog_count(aa->catalog));
    jsonw_u64(w, "consumers", api_account_consumers(aa));
    limits_write(w, aa->limits);
    jsonw_opt_str(w, "domain", api_domain(aa->api));
    jsonw_object(w, "api");
    jsonw_u64(w, "level", aa->api->setup.level);
    jsonw_u64(w, "total", aa->api_total);
    jsonw_u64(w, "errors", aa->api_errors);
    jsonw_end(w);
}
