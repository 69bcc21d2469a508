/* js_metrics.c: JetStream in Prometheus' text format.
 *
 * Sums of the whole server are always there.  Series of single streams are for the first SHOWN
 * streams by account and name: a page must not grow with what clients create; how many are left out
 * is a metric of its own.  O(streams and consumers). */
#include "api_pages.h"
#include "consumer_metrics.h"

#include "mayfly/prom.h"

#include <stdlib.h>

#define SHOWN 1000u

struct row { /* one stream */
    const char *account, *stream;
    struct stream_state state;
    struct stream_stats stats;
    size_t consumers;
    bool ill;
};
struct metrics {
    struct row *rows; /* NULL: no memory for them; sums alone */
    size_t n, cap;
    const char *account;
    uint64_t streams, offline, ill;
    uint64_t origins, unreached, lag; /* of mirrors and sources */
    struct stream_state state;
    struct stream_stats stats;
    struct consumer_metrics consumers;
};

/* --- collecting ------------------------------------------------------------------------------- */

static void add_up(struct metrics *m, const struct row *r)
{
    m->streams++;
    m->ill += r->ill;
    m->state.msgs += r->state.msgs;
    m->state.bytes += r->state.bytes;
    m->state.subjects += r->state.subjects;
    m->state.deleted += r->state.deleted;
    m->state.with_ttl += r->state.with_ttl;
    m->stats.published += r->stats.published;
    m->stats.refused += r->stats.refused;
    m->stats.duplicates += r->stats.duplicates;
    m->stats.expired += r->stats.expired;
    m->stats.markers += r->stats.markers;
    m->stats.disk_bytes += r->stats.disk_bytes;
    m->stats.memory_bytes += r->stats.memory_bytes;
    m->stats.syncs += r->stats.syncs;
    m->stats.damage += r->stats.damage;
    if (r->stats.late_max_ns > m->stats.late_max_ns)
        m->stats.late_max_ns = r->stats.late_max_ns;
}

static void collect_origin(void *arg, const struct source_info *i)
{
    struct metrics *m = arg;

    m->origins++;
    m->unreached += i->error != NULL;
    m->lag += i->lag;
}

static void collect_stream(void *arg, struct stream *s)
{
    struct metrics *m = arg;
    struct row r = {.account = m->account, .stream = stream_name(s)};
    const struct source_wire *x = api_source_wire(s);

    sources_each(x == NULL ? NULL : x->sources, collect_origin, m);

    stream_state(s, &r.state);
    r.consumers = api_consumer_count(s);
    stream_stats(s, &r.stats);
    if (stream_config(s)->storage == STORAGE_MEMORY) { /* its "files" are memory, too */
        r.stats.memory_bytes += r.stats.disk_bytes;
        r.stats.disk_bytes = 0;
    }
    r.ill = stream_error(s) != NULL || r.stats.damage > 0;
    add_up(m, &r);
    consumer_metrics_add(&m->consumers, m->account, s);
    if (m->n < m->cap)
        m->rows[m->n++] = r;
}

static void collect_offline(void *arg, const char *name, const char *reason)
{
    (void)name, (void)reason;
    ((struct metrics *)arg)->offline++;
}

static void collect(struct metrics *m, struct api_account *const *at, size_t n)
{
    size_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += catalog_count(at[i]->catalog);
    m->cap = total < SHOWN ? total : SHOWN;
    m->rows = calloc(m->cap == 0 ? 1 : m->cap, sizeof *m->rows);
    if (m->rows == NULL)
        m->cap = 0;
    for (size_t i = 0; i < n; i++) {
        m->account = account_name(at[i]->account);
        catalog_each(at[i]->catalog, MF_SLICE_NONE, collect_stream, m);
        catalog_each_offline(at[i]->catalog, collect_offline, m);
    }
}

/* --- the whole server ------------------------------------------------------------------------- */

static void stored_write(const struct metrics *m, struct mf_buf *b)
{
    prom_metric(b, "mayfly_jetstream_streams", "gauge", "Streams that are served.",
                (double)m->streams);
    prom_metric(b, "mayfly_jetstream_streams_offline", "gauge",
                "Streams on disk that cannot be served.", (double)m->offline);
    prom_metric(b, "mayfly_jetstream_streams_unhealthy", "gauge",
                "Streams that are read-only or damaged.", (double)m->ill);
    prom_metric(b, "mayfly_jetstream_streams_unlisted", "gauge",
                "Streams without series of their own: there are too many.",
                (double)(m->streams - m->n));
    prom_metric(b, "mayfly_jetstream_origins", "gauge", "Streams that mirrors and sources follow.",
                (double)m->origins);
    prom_metric(b, "mayfly_jetstream_origins_unreached", "gauge",
                "Those that cannot be followed now.", (double)m->unreached);
    prom_metric(b, "mayfly_jetstream_origins_lag", "gauge", "Messages of theirs still to come.",
                (double)m->lag);
    prom_metric(b, "mayfly_jetstream_messages", "gauge", "Messages in all streams.",
                (double)m->state.msgs);
    prom_metric(b, "mayfly_jetstream_bytes", "gauge", "Their bytes, as limits count them.",
                (double)m->state.bytes);
    prom_metric(b, "mayfly_jetstream_subjects", "gauge", "Subjects in all streams.",
                (double)m->state.subjects);
    prom_metric(b, "mayfly_jetstream_disk_bytes", "gauge", "Bytes of all files of streams.",
                (double)m->stats.disk_bytes);
    prom_metric(b, "mayfly_jetstream_resident_bytes", "gauge",
                "Memory of all indexes, and of memory streams.", (double)m->stats.memory_bytes);
    prom_metric(b, "mayfly_jetstream_damage", "gauge", "Places found damaged on disk.",
                (double)m->stats.damage);
}

static void done_write(const struct metrics *m, struct mf_buf *b)
{
    prom_metric(b, "mayfly_jetstream_published_total", "counter", "Messages stored for publishers.",
                (double)m->stats.published);
    prom_metric(b, "mayfly_jetstream_refused_total", "counter", "Publishes refused with an error.",
                (double)m->stats.refused);
    prom_metric(b, "mayfly_jetstream_duplicates_total", "counter",
                "Publishes that were there already.", (double)m->stats.duplicates);
    prom_metric(b, "mayfly_jetstream_syncs_total", "counter", "Times data was forced to disk.",
                (double)m->stats.syncs);
    prom_metric(b, "mayfly_jetstream_expired_total", "counter", "Messages that reached their end.",
                (double)m->stats.expired);
    prom_metric(b, "mayfly_jetstream_markers_total", "counter", "Delete markers written.",
                (double)m->stats.markers);
    prom_metric(b, "mayfly_jetstream_deadlines", "gauge",
                "Messages with a deadline: entries of all timer wheels.",
                (double)m->state.with_ttl);
    prom_metric(b, "mayfly_jetstream_expiry_late_max_seconds", "gauge",
                "The longest a message outlived its deadline in the last minute or two.",
                (double)m->stats.late_max_ns / 1e9);
}

static void server_write(struct api *a, size_t accounts, struct mf_buf *b)
{
    struct stream_usage reserved;

    api_reserved(a, &reserved);
    prom_metric(b, "mayfly_jetstream_accounts", "gauge", "Accounts with JetStream.",
                (double)accounts);
    prom_metric(b, "mayfly_jetstream_storage_used_bytes", "gauge", "Used by file streams.",
                (double)a->usage.file);
    prom_metric(b, "mayfly_jetstream_storage_reserved_bytes", "gauge", "Promised to file streams.",
                (double)reserved.file);
    prom_metric(b, "mayfly_jetstream_storage_max_bytes", "gauge", "Limit of file streams.",
                (double)a->max.file);
    prom_metric(b, "mayfly_jetstream_memory_used_bytes", "gauge", "Used by memory streams.",
                (double)a->usage.memory);
    prom_metric(b, "mayfly_jetstream_memory_reserved_bytes", "gauge", "Promised to memory streams.",
                (double)reserved.memory);
    prom_metric(b, "mayfly_jetstream_memory_max_bytes", "gauge", "Limit of memory streams.",
                (double)a->max.memory);
    prom_metric(b, "mayfly_jetstream_api_requests_total", "counter", "Requests of the API.",
                (double)a->api_total);
    prom_metric(b, "mayfly_jetstream_api_errors_total", "counter", "Those answered with an error.",
                (double)a->api_errors);
    prom_metric(b, "mayfly_jetstream_api_inflight", "gauge", "Those not answered yet.",
                (double)a->inflight);
}

/* --- one series per stream -------------------------------------------------------------------- */

static double v_messages(const struct row *r)
{
    return (double)r->state.msgs;
}
static double v_bytes(const struct row *r)
{
    return (double)r->state.bytes;
}
static double v_last_seq(const struct row *r)
{
    return (double)r->state.last_seq;
}
static double v_subjects(const struct row *r)
{
    return (double)r->state.subjects;
}
static double v_consumers(const struct row *r)
{
    return (double)r->consumers;
}
static double v_deadlines(const struct row *r)
{
    return (double)r->state.with_ttl;
}
static double v_published(const struct row *r)
{
    return (double)r->stats.published;
}
static double v_refused(const struct row *r)
{
    return (double)r->stats.refused;
}
static double v_duplicates(const struct row *r)
{
    return (double)r->stats.duplicates;
}
static double v_expired(const struct row *r)
{
    return (double)r->stats.expired;
}
static double v_markers(const struct row *r)
{
    return (double)r->stats.markers;
}
static double v_late(const struct row *r)
{
    return (double)r->stats.late_max_ns / 1e9;
}
static double v_disk(const struct row *r)
{
    return (double)r->stats.disk_bytes;
}
static double v_healthy(const struct row *r)
{
    return r->ill ? 0 : 1;
}

static const struct {
    const char *name, *type, *help;
    double (*value)(const struct row *r);
} series[] = {
    {"mayfly_stream_messages", "gauge", "Messages.", v_messages},
    {"mayfly_stream_bytes", "gauge", "Bytes, as limits count them.", v_bytes},
    {"mayfly_stream_last_seq", "gauge", "The last sequence.", v_last_seq},
    {"mayfly_stream_subjects", "gauge", "Subjects.", v_subjects},
    {"mayfly_stream_consumers", "gauge", "Consumers.", v_consumers},
    {"mayfly_stream_deadlines", "gauge", "Messages with a deadline.", v_deadlines},
    {"mayfly_stream_published_total", "counter", "Messages stored for publishers.", v_published},
    {"mayfly_stream_refused_total", "counter", "Publishes refused.", v_refused},
    {"mayfly_stream_duplicates_total", "counter", "Publishes there already.", v_duplicates},
    {"mayfly_stream_expired_total", "counter", "Messages that reached their end.", v_expired},
    {"mayfly_stream_markers_total", "counter", "Delete markers written.", v_markers},
    {"mayfly_stream_expiry_late_max_seconds", "gauge",
     "The longest a message outlived its deadline in the last minute or two.", v_late},
    {"mayfly_stream_disk_bytes", "gauge", "Bytes of its files.", v_disk},
    {"mayfly_stream_healthy", "gauge", "0: read-only or damaged.", v_healthy},
};

static void streams_write(const struct metrics *m, struct mf_buf *b)
{
    for (size_t k = 0; k < MF_COUNT(series) && m->n > 0; k++) { /* a head needs samples */
        prom_head(b, series[k].name, series[k].type, series[k].help);
        for (size_t i = 0; i < m->n; i++) {
            prom_label(b, series[k].name, '{', "account", m->rows[i].account);
            prom_label(b, "", ',', "stream", m->rows[i].stream);
            prom_value(b, "}", series[k].value(&m->rows[i]));
        }
    }
}

static void scrub_write(struct api *a, struct mf_buf *b)
{
    struct store_patrol_stats st;

    store_patrol_stats(a->patrol, &st);
    prom_metric(b, "mayfly_scrub_bytes_total", "counter", "Bytes of files read to find damage.",
                (double)st.bytes);
    prom_metric(b, "mayfly_scrub_damaged_total", "counter", "Damaged places found that way.",
                (double)st.damaged);
    prom_metric(b, "mayfly_scrub_rounds_total", "counter",
                "Times the files of all streams were read.", (double)st.rounds);
    prom_metric(b, "mayfly_scrub_last_round_timestamp_seconds", "gauge",
                "When the last such round ended; 0: none yet.", (double)st.round_end_ns / 1e9);
}

void api_write_metrics(struct api *a, struct mf_buf *out)
{
    struct metrics m = {.rows = NULL};
    struct api_account **at;
    size_t n;

    if (api_enabled_accounts(a, &at, &n) != 0)
        return;
    collect(&m, at, n);
    server_write(a, n, out);
    stored_write(&m, out);
    done_write(&m, out);
    scrub_write(a, out);
    streams_write(&m, out);
    consumer_metrics_write(&m.consumers, out);
    consumer_metrics_fini(&m.consumers);
    ttl_metrics_write(a, at, n, out);
    free(m.rows);
    free(at);
}
