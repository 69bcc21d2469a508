/* js_metrics.c: JetStream in the text format of Prometheus.
 *
 * Sums of the whole server are always shown.  Series of single streams are shown for the first
 * SHOWN streams by account and name, because clients must not make the page grow without bound; the
 * number left out is a metric of its own.  O(streams and consumers), in slices: streams are visited
 * once, then their samples are written. */
#include "status/js_pages_impl.h"
#include "status/consumer_metrics_impl.h"

#include "monitor/prom.h"
#include "source/source.h"

#include <stdlib.h>

#define SHOWN 1000u

struct row { /* one stream */
    const char *account, *stream;
    struct stream_state state;
    struct stream_stats stats;
    size_t consumers;
    bool ill;
};
struct metrics { /* a document under way */
    struct js_status *st;
    struct js_walk walk;
    struct arena mem; /* of the names in rows */
    struct row *rows; /* NULL: no memory for them; sums alone */
    size_t n, cap;
    size_t series, at; /* the next one to write */
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

static void keep_row(struct metrics *m, struct row *r)
{
    const char *account = m->walk.accounts[m->walk.at]; /* the walk keeps these */

    r->account = account;
    r->stream = m->n < m->cap ? arena_str(&m->mem, r->stream) : NULL;
    if (r->stream != NULL)
        m->rows[m->n++] = *r;
}

static void collect_stream(struct metrics *m, struct stream *s)
{
    struct row r = {.stream = stream_name(s)};

    sources_each(js_sources(s), collect_origin, m);
    stream_state(s, &r.state);
    r.consumers = js_consumer_count(s);
    stream_stats(s, &r.stats);
    if (stream_config(s)->storage == STORAGE_MEMORY) { /* its "files" are memory, too */
        r.stats.memory_bytes += r.stats.disk_bytes;
        r.stats.disk_bytes = 0;
    }
    r.ill = stream_error(s) != NULL || r.stats.damage > 0;
    add_up(m, &r);
    keep_row(m, &r);
}

/* One consumer of the stream that was visited last; false: no more. */
static bool collect_consumer(struct metrics *m, const struct doc *d)
{
    struct js_walk *k = &m->walk;
    struct stream *s = *k->stream == '\0' ? NULL : js_walk_stream(k, d);
    struct consumer *c = s == NULL ? NULL : js_walk_consumer(k, s);

    if (c == NULL)
        return false;
    consumer_metrics_add(&m->consumers, k->accounts[k->at], k->stream, c);
    return true;
}

static bool collect_step(struct doc *d, void *state)
{
    struct metrics *m = state;
    struct catalog_item x;

    if (m->walk.at >= m->walk.n)
        return false;
    if (collect_consumer(m, d))
        return true;
    if (!js_walk_item(&m->walk, d, &x))
        js_walk_next_account(&m->walk);
    else if (x.stream != NULL)
        collect_stream(m, x.stream);
    else
        m->offline += x.reason != NULL;
    return true;
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

static void server_write(struct js_status *st, size_t accounts, struct mf_buf *b)
{
    struct stream_usage reserved;

    limits_reserved(st->api, &reserved);
    prom_metric(b, "mayfly_jetstream_accounts", "gauge", "Accounts with JetStream.",
                (double)accounts);
    prom_metric(b, "mayfly_jetstream_storage_used_bytes", "gauge", "Used by file streams.",
                (double)st->js->usage.file);
    prom_metric(b, "mayfly_jetstream_storage_reserved_bytes", "gauge", "Promised to file streams.",
                (double)reserved.file);
    prom_metric(b, "mayfly_jetstream_storage_max_bytes", "gauge", "Limit of file streams.",
                (double)st->js->max.file);
    prom_metric(b, "mayfly_jetstream_memory_used_bytes", "gauge", "Used by memory streams.",
                (double)st->js->usage.memory);
    prom_metric(b, "mayfly_jetstream_memory_reserved_bytes", "gauge", "Promised to memory streams.",
                (double)reserved.memory);
    prom_metric(b, "mayfly_jetstream_memory_max_bytes", "gauge", "Limit of memory streams.",
                (double)st->js->max.memory);
    prom_metric(b, "mayfly_jetstream_api_requests_total", "counter", "Requests of the API.",
                (double)st->api->total);
    prom_metric(b, "mayfly_jetstream_api_errors_total", "counter", "Those answered with an error.",
                (double)st->api->errors);
    prom_metric(b, "mayfly_jetstream_api_inflight", "gauge", "Those not answered yet.",
                (double)st->api->inflight);
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

/* One sample. */
static bool streams_step(struct doc *d, void *state)
{
    struct metrics *m = state;
    const struct row *r;

    if (m->n == 0 || m->series == MF_COUNT(series)) /* a head needs samples */
        return false;
    r = &m->rows[m->at];
    if (m->at == 0)
        prom_head(&d->body, series[m->series].name, series[m->series].type, series[m->series].help);
    prom_label(&d->body, series[m->series].name, '{', "account", r->account);
    prom_label(&d->body, "", ',', "stream", r->stream);
    prom_value(&d->body, "}", series[m->series].value(r));
    if (++m->at == m->n) {
        m->at = 0;
        m->series++;
    }
    return true;
}

static void scrub_write(struct js_status *st, struct mf_buf *b)
{
    struct store_patrol_stats s;

    store_patrol_stats(st->js->patrol, &s);
    prom_metric(b, "mayfly_scrub_bytes_total", "counter", "Bytes of files read to find damage.",
                (double)s.bytes);
    prom_metric(b, "mayfly_scrub_damaged_total", "counter", "Damaged places found that way.",
                (double)s.damaged);
    prom_metric(b, "mayfly_scrub_rounds_total", "counter",
                "Times the files of all streams were read.", (double)s.rounds);
    prom_metric(b, "mayfly_scrub_last_round_timestamp_seconds", "gauge",
                "When the last such round ended; 0: none yet.", (double)s.round_end_ns / 1e9);
}

static void journal_write(const struct js_status *st, struct mf_buf *b)
{
    struct jetstream_shared s;

    jetstream_shared(st->js, &s);
    prom_metric(b, "mayfly_journal_entries_total", "counter",
                "Syncs of the commit journal, each for commits of several streams.",
                (double)s.syncs);
    prom_metric(b, "mayfly_journal_commits_total", "counter",
                "Commits of streams that were synced that way.", (double)s.commits);
    prom_metric(b, "mayfly_journal_bytes_total", "counter", "Bytes written to the commit journal.",
                (double)s.bytes);
    prom_metric(b, "mayfly_journal_turned_away_total", "counter",
                "Commits that found the commit journal full, and were synced alone.",
                (double)s.turned_away);
}

static bool sums_step(struct doc *d, void *state)
{
    const struct metrics *m = state;

    server_write(m->st, m->walk.n, &d->body);
    stored_write(m, &d->body);
    done_write(m, &d->body);
    scrub_write(m->st, &d->body);
    journal_write(m->st, &d->body);
    return false;
}

static bool consumers_step(struct doc *d, void *state)
{
    struct metrics *m = state;

    if (m->at == 0)
        consumer_metrics_write(&m->consumers, &d->body);
    consumer_metrics_write_series(&m->consumers, m->at, &d->body);
    return ++m->at < CONSUMER_METRICS;
}

static void metrics_free(void *state)
{
    struct metrics *m = state;

    consumer_metrics_fini(&m->consumers);
    js_walk_fini(&m->walk);
    arena_fini(&m->mem);
    free(m->rows);
    free(m);
}

void js_status_metrics(struct js_status *st, struct doc *d)
{
    static const doc_step steps[] = {collect_step, sums_step, streams_step, consumers_step, NULL};
    struct metrics *m = calloc(1, sizeof *m);

    if (m != NULL && js_walk_init(&m->walk, st, NULL) != 0) {
        metrics_free(m);
        m = NULL;
    }
    if (m != NULL) {
        m->st = st;
        m->rows = calloc(SHOWN, sizeof *m->rows);
        m->cap = m->rows == NULL ? 0 : SHOWN;
    }
    doc_add(d, steps, m, metrics_free);
    ttl_metrics_add(st, d);
}
