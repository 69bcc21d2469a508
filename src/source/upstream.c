/* upstream.c: names, subjects and requests that a follower sends to its upstream. */
#include "source/upstream_impl.h"

#include "codec/jsonw.h"
#include "codec/sha256.h"

#include <stdio.h>

#define API_PREFIX "$JS.API"

/* --- names ------------------------------------------------------------------------------------ */

static void put_hash(struct mf_buf *out, const char *before, const char *text)
{
    char hash[SHA256_SHORT];

    sha256_short(mf_str(text), hash);
    mf_buf_puts(out, before);
    mf_buf_puts(out, hash);
}

static void put_subjects(struct mf_buf *out, const struct stream_source *src, bool dest)
{
    const struct stream_mapping *map = src->transforms.at;

    for (size_t i = 0; i < src->transforms.n; i++) {
        const char *text = dest ? map[i].dest : map[i].src;
        if (i > 0)
            mf_buf_byte(out, '\f');
        mf_buf_puts(out, mf_has_text(text) ? text : ">");
    }
    if (src->transforms.n == 0)
        mf_buf_puts(out, !dest && mf_has_text(src->filter_subject) ? src->filter_subject : ">");
}

void upstream_index(struct mf_buf *out, const struct stream_source *src)
{
    mf_buf_puts(out, src->name);
    if (src->external != NULL)
        put_hash(out, ":", src->external->api == NULL ? "" : src->external->api);
    if (src->consumer != NULL)
        put_hash(out, ":C=", src->consumer->name == NULL ? "" : src->consumer->name);
    mf_buf_byte(out, ' ');
    put_subjects(out, src, false);
    mf_buf_byte(out, ' ');
    put_subjects(out, src, true);
}

static size_t named_so(const struct json_objects *siblings, const char *name)
{
    struct stream_source *const *at = siblings->at;
    size_t n = 0;

    for (size_t i = 0; i < siblings->n; i++)
        n += at[i] != NULL && at[i]->name != NULL && strcmp(at[i]->name, name) == 0;
    return n;
}

int upstream_consumer(char out[UPSTREAM_NAME], const struct upstream_who *who,
                      const struct stream_source *src, const struct json_objects *siblings)
{
    struct mf_buf b = MF_BUF_INIT;
    char hash[SHA256_SHORT];
    int rc = 0;

    mf_buf_printf(&b, "%s %s", who->stream, who->account);
    if (mf_has_text(who->domain))
        mf_buf_printf(&b, " %s", who->domain);
    sha256_short(mf_buf_slice(&b), hash);
    if (!who->mirror) {
        mf_buf_clear(&b);
        mf_buf_puts(&b, hash);
        if (siblings != NULL && named_so(siblings, src->name) > 1) {
            mf_buf_byte(&b, ' '); /* the stream is followed twice: the rest differs */
            upstream_index(&b, src);
        }
        sha256_short(mf_buf_slice(&b), hash);
    }
    if (mf_buf_failed(&b))
        rc = MF_NOMEM;
    mf_buf_fini(&b);
    (void)snprintf(out, UPSTREAM_NAME, "%s_%s", who->mirror ? "JS_MIRROR" : "JS_SRC", hash);
    return rc;
}

/* --- subjects --------------------------------------------------------------------------------- */

const char *upstream_filter(const struct stream_source *src)
{
    const struct stream_mapping *map = src->transforms.at;

    if (mf_has_text(src->filter_subject))
        return src->filter_subject;
    return src->transforms.n == 1 && mf_has_text(map[0].src) ? map[0].src : NULL;
}

/* Two dots become one: prefixes may end with one. */
static void collapse_dots(struct mf_buf *out, size_t from)
{
    size_t to = from;

    for (size_t i = from; i < out->len; i++) {
        out->ptr[to++] = out->ptr[i];
        if (out->ptr[i] == '.' && i + 1 < out->len && out->ptr[i + 1] == '.')
            i++;
    }
    out->len = to;
}

/* Our own domain's API has its plain name inside the server: mappings are for clients. */
static bool is_own_api(const struct upstream_who *who, const char *api)
{
    size_t n = mf_has_text(who->domain) ? strlen(who->domain) : 0;

    if (n == 0 || !mf_has_text(api) || strncmp(api, "$JS.", 4) != 0 ||
        strncmp(api + 4, who->domain, n) != 0)
        return false;
    api += 4 + n;
    return strcmp(api, ".API") == 0 || strcmp(api, ".API.") == 0;
}

void upstream_subject(struct mf_buf *out, const struct upstream_who *who,
                      const struct stream_source *src, const char *verb, const char *name,
                      const char *filter)
{
    bool plain = src->external == NULL || is_own_api(who, src->external->api);
    size_t start = out->len;

    mf_buf_printf(out, "%s.%s.%s", plain ? API_PREFIX : src->external->api, verb, src->name);
    if (name != NULL)
        mf_buf_printf(out, ".%s", name);
    if (filter != NULL)
        mf_buf_printf(out, ".%s", filter);
    if (src->external != NULL && !mf_buf_failed(out))
        collapse_dots(out, start);
}

void upstream_deliver(struct mf_buf *out, const struct upstream_who *who,
                      const struct stream_source *src, const char *unique)
{
    bool prefixed = src->external != NULL && mf_has_text(src->external->deliver);
    size_t start = out->len;

    mf_buf_printf(out, "%s.%s.%s", prefixed ? src->external->deliver : "$JS",
                  who->mirror ? "M" : "S", unique);
    if (prefixed && !mf_buf_failed(out))
        collapse_dots(out, start);
}

/* --- the request ------------------------------------------------------------------------------ */

#define ACK_WAIT_NS  79200000000000
#define HEARTBEAT_NS 1000000000
#define INACTIVE_NS  10000000000

static void put_start(struct jsonw *w, const struct upstream_start *from)
{
    if (from->by_time) {
        jsonw_str(w, "deliver_policy", "by_start_time");
        jsonw_time(w, "opt_start_time", from->time_ns);
    } else if (from->seq > 0) {
        jsonw_str(w, "deliver_policy", "by_start_sequence");
        jsonw_u64(w, "opt_start_seq", from->seq);
    } else {
        jsonw_str(w, "deliver_policy", "all");
    }
}

static void put_filters(struct jsonw *w, const struct stream_source *src)
{
    const struct stream_mapping *map = src->transforms.at;

    jsonw_opt_str(w, "filter_subject", upstream_filter(src));
    if (src->transforms.n < 2)
        return;
    jsonw_array(w, "filter_subjects");
    for (size_t i = 0; i < src->transforms.n; i++)
        jsonw_str(w, NULL, mf_has_text(map[i].src) ? map[i].src : ">");
    jsonw_end(w);
}

static void put_metadata(struct jsonw *w, const struct upstream_who *who)
{
    bool m = who->mirror;

    jsonw_object(w, "metadata");
    jsonw_str(w, m ? "_nats.mirror.acc" : "_nats.src.acc", who->account);
    if (mf_has_text(who->domain))
        jsonw_str(w, m ? "_nats.mirror.domain" : "_nats.src.domain", who->domain);
    jsonw_str(w, m ? "_nats.mirror.stream" : "_nats.src.stream", who->stream);
    jsonw_end(w);
}

void upstream_create(struct mf_buf *out, const struct upstream_who *who,
                     const struct stream_source *src, const char *name, const char *deliver,
                     const struct upstream_start *from, bool sourcing)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "stream_name", src->name);
    jsonw_object(&w, "config");
    jsonw_str(&w, "name", name);
    put_start(&w, from);
    jsonw_str(&w, "ack_policy", "none");
    jsonw_i64(&w, "ack_wait", ACK_WAIT_NS);
    jsonw_i64(&w, "max_deliver", 1);
    put_filters(&w, src);
    jsonw_str(&w, "replay_policy", "instant");
    jsonw_bool(&w, "flow_control", true);
    jsonw_str(&w, "deliver_subject", deliver);
    jsonw_i64(&w, "idle_heartbeat", HEARTBEAT_NS);
    jsonw_i64(&w, "inactive_threshold", INACTIVE_NS);
    jsonw_i64(&w, "num_replicas", 0);
    jsonw_bool(&w, "direct", true);
    jsonw_opt_bool(&w, "sourcing", sourcing);
    put_metadata(&w, who);
    jsonw_end(&w);
    jsonw_str(&w, "action", "");
    jsonw_end(&w);
}
