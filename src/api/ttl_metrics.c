/* ttl_metrics.c: lifetimes of messages in Prometheus' text format.
 *
 * Series of single streams are for the first SHOWN streams by account and name, as in js_metrics.c.
 * All numbers are counts that streams keep anyway: O(streams) for the lateness, O(streams shown)
 * for the rest, no message is looked at. */
#include "api_pages.h"

#include "mayfly/backfill.h"
#include "mayfly/prom.h"
#include "mayfly/stream_ahead.h"
#include "mayfly/stream_hour.h"

#include <stdio.h>
#include <stdlib.h>

#define SHOWN 1000u

struct row { /* one stream */
    const char *account, *stream;
    struct stream_lives lives;
    const struct stream_ttl_stats *stats;
    const struct policy_view *policy; /* NULL: nobody says anything */
    uint64_t expired_bytes, backfill_left;
    double next_s; /* until the next deadline; negative: none */
};
struct metrics {
    struct row *rows; /* NULL: no memory for them; sums alone */
    size_t n, cap;
    const char *account;
    int64_t now_ns;
    struct stream_late late;
};

/* --- collecting ------------------------------------------------------------------------------- */

static uint64_t backfill_left(const struct stream *s)
{
    const struct backfill_status *b = backfill_status(s);

    if (b == NULL || (b->state != BACKFILL_RUNNING && b->state != BACKFILL_PAUSED))
        return 0;
    return b->total > b->seen ? b->total - b->seen : 0;
}

static double seconds_until(int64_t at_ns, int64_t now_ns)
{
    return at_ns == 0 ? -1 : at_ns > now_ns ? (double)(at_ns - now_ns) / 1e9 : 0;
}

static void collect_stream(void *arg, struct stream *s)
{
    struct metrics *m = arg;
    const struct policy *p = stream_policy(s);
    struct stream_hour h;
    struct row *r;

    stream_late_add(s, &m->late);
    if (m->n == m->cap)
        return;
    r = &m->rows[m->n++];
    stream_hour(s, &h);
    *r = (struct row){.account = m->account,
                      .stream = stream_name(s),
                      .stats = stream_ttl_stats(s),
                      .policy = p == NULL ? NULL : policy_view(p),
                      .expired_bytes = h.expired_bytes_total,
                      .backfill_left = backfill_left(s),
                      .next_s = seconds_until(stream_next_expiry(s), m->now_ns)};
    stream_lives(s, &r->lives);
}

/* --- one series per stream -------------------------------------------------------------------- */

static double v_with(const struct row *r)
{
    return (double)r->lives.with;
}
static double v_without(const struct row *r)
{
    return (double)r->lives.without;
}
static double v_infinite(const struct row *r)
{
    return (double)r->lives.infinite;
}
static double v_next(const struct row *r)
{
    return r->next_s;
}
static double v_expired_bytes(const struct row *r)
{
    return (double)r->expired_bytes;
}
static double v_clamped(const struct row *r)
{
    return (double)r->stats->clamped;
}
static double v_rejected(const struct row *r)
{
    return (double)r->stats->rejected;
}
static double v_would_set(const struct row *r)
{
    return (double)r->stats->would_set;
}
static double v_would_clamp(const struct row *r)
{
    return (double)r->stats->would_clamp;
}
static double v_would_reject(const struct row *r)
{
    return (double)r->stats->would_reject;
}
static double v_touched(const struct row *r)
{
    return (double)r->stats->touched;
}
static double v_read(const struct row *r)
{
    return (double)r->stats->touched_by_read;
}
static double v_set(const struct row *r)
{
    return (double)r->stats->set;
}
static double v_persisted(const struct row *r)
{
    return (double)r->stats->persisted;
}
static double v_warned(const struct row *r)
{
    return (double)r->stats->warned;
}
static double v_letters(const struct row *r)
{
    return (double)r->stats->dead_letters;
}
static double v_dropped(const struct row *r)
{
    return (double)r->stats->dead_letters_dropped;
}
static double v_governed(const struct row *r)
{
    return r->policy != NULL && r->policy->governed;
}
static double v_valid(const struct row *r)
{
    return r->policy == NULL || r->policy->invalid == NULL;
}
static double v_enforce(const struct row *r)
{
    if (r->policy == NULL || !r->policy->active)
        return 0;
    return r->policy->keys.enforce == POLICY_ENFORCE_AUDIT ? 1 : 2;
}
static double v_backfill(const struct row *r)
{
    return (double)r->backfill_left;
}

/* Rows of one name follow each other; the first one has its type and its help. */
static const struct {
    const char *name, *type, *help;
    const char *label, *value; /* NULL: account and stream alone */
    double (*of)(const struct row *r);
} series[] = {
    {"mayfly_stream_ttl_items", "gauge", "Messages by the state of their end.", "state", "with",
     v_with},
    {"mayfly_stream_ttl_items", NULL, NULL, "state", "without", v_without},
    {"mayfly_stream_ttl_items", NULL, NULL, "state", "infinite", v_infinite},
    {"mayfly_stream_expired_bytes_total", "counter", "Bytes of messages that reached their end.",
     NULL, NULL, v_expired_bytes},
    {"mayfly_stream_ttl_clamped_total", "counter", "TTLs of writers moved into the bounds.", NULL,
     NULL, v_clamped},
    {"mayfly_stream_ttl_rejected_total", "counter", "Publishes refused for their TTL.", NULL, NULL,
     v_rejected},
    {"mayfly_stream_ttl_audit_total", "counter", "What enforce: on would have done.", "would",
     "set", v_would_set},
    {"mayfly_stream_ttl_audit_total", NULL, NULL, "would", "clamp", v_would_clamp},
    {"mayfly_stream_ttl_audit_total", NULL, NULL, "would", "reject", v_would_reject},
    {"mayfly_stream_ttl_touched_total", "counter", "Messages renewed.", "by", "api", v_touched},
    {"mayfly_stream_ttl_touched_total", NULL, NULL, "by", "read", v_read},
    {"mayfly_stream_ttl_set_total", "counter", "Messages that got a deadline by hand.", NULL, NULL,
     v_set},
    {"mayfly_stream_ttl_persisted_total", "counter", "Messages whose end was taken away by hand.",
     NULL, NULL, v_persisted},
    {"mayfly_stream_ttl_warned_total", "counter", "Messages whose near end was told of.", NULL,
     NULL, v_warned},
    {"mayfly_stream_ttl_dead_letters_total", "counter", "Dead letters of expired messages.",
     "result", "stored", v_letters},
    {"mayfly_stream_ttl_dead_letters_total", NULL, NULL, "result", "dropped", v_dropped},
    {"mayfly_stream_ttl_governed", "gauge", "1: a policy can give messages a TTL.", NULL, NULL,
     v_governed},
    {"mayfly_stream_ttl_policy_valid", "gauge", "0: the stream's own keys are not understood.",
     NULL, NULL, v_valid},
    {"mayfly_stream_ttl_enforce", "gauge", "0: off or no policy, 1: audit, 2: on.", NULL, NULL,
     v_enforce},
    {"mayfly_stream_ttl_backfill_left", "gauge", "Messages that a backfill has still to look at.",
     NULL, NULL, v_backfill},
    /* the last one: a stream without a deadline has no such series */
    {"mayfly_stream_ttl_next_expiry_seconds", "gauge", "Until the next deadline, at the earliest.",
     NULL, NULL, v_next},
};

static void begin_series(struct mf_buf *b, const struct row *r, const char *name)
{
    prom_label(b, name, '{', "account", r->account);
    prom_label(b, "", ',', "stream", r->stream);
}

static void streams_write(const struct metrics *m, struct mf_buf *b)
{
    for (size_t k = 0; k < MF_COUNT(series); k++) {
        const char *type = series[k].type;
        for (size_t i = 0; i < m->n; i++) {
            double value = series[k].of(&m->rows[i]);
            if (value < 0)
                continue;
            if (type != NULL)
                prom_head(b, series[k].name, type, series[k].help);
            type = NULL;
            begin_series(b, &m->rows[i], series[k].name);
            if (series[k].label != NULL)
                prom_label(b, "", ',', series[k].label, series[k].value);
            prom_value(b, "}", value);
        }
    }
}

static void decided_write(const struct metrics *m, struct mf_buf *b)
{
    static const char name[] = "mayfly_stream_ttl_decided_total";

    if (m->n > 0)
        prom_head(b, name, "counter", "Messages stored under a policy, by who decided their TTL.");
    for (size_t i = 0; i < m->n; i++) {
        for (int by = 0; by < POLICY_BYS; by++) {
            begin_series(b, &m->rows[i], name);
            prom_label(b, "", ',', "by", policy_by_word((enum policy_by)by));
            prom_value(b, "}", (double)m->rows[i].stats->decided[by]);
        }
    }
}

static void soon_series(const struct ttl_soon *at, size_t n, bool bytes, struct mf_buf *b)
{
    static const char *const within[] = {"1h", "1d"};
    const char *name = bytes ? "mayfly_stream_ttl_expiring_bytes" : "mayfly_stream_ttl_expiring";
    bool headed = false;

    for (size_t i = 0; i < n; i++) {
        if (!at[i].known)
            continue;
        if (!headed)
            prom_head(b, name, "gauge",
                      bytes ? "Bytes of messages that end soon." : "Messages that end soon.");
        headed = true;
        for (size_t k = 0; k < MF_COUNT(within); k++) {
            prom_label(b, name, '{', "account", at[i].account);
            prom_label(b, "", ',', "stream", at[i].stream);
            prom_label(b, "", ',', "within", within[k]);
            prom_value(b, "}", (double)(bytes ? at[i].bytes[k] : at[i].msgs[k]));
        }
    }
}

static void soon_write(struct api *a, struct api_account *const *at, size_t n, struct mf_buf *b)
{
    size_t count;
    const struct ttl_soon *soon = ttl_outlook(a, at, n, &count);

    soon_series(soon, count, false, b);
    soon_series(soon, count, true, b);
}

/* --- the whole server ------------------------------------------------------------------------- */

static void late_write(const struct stream_late *l, struct mf_buf *b)
{
    static const char name[] = "mayfly_jetstream_expiry_late_seconds";
    uint64_t sum = 0;
    char le[32];

    prom_head(b, name, "histogram",
              "How long messages outlived their deadline before their removal.");
    for (size_t i = 0; i < STREAM_LATE_BUCKETS; i++) {
        sum += l->count[i];
        if (i + 1 < STREAM_LATE_BUCKETS)
            (void)snprintf(le, sizeof le, "%g", (double)stream_late_bounds_ns[i] / 1e9);
        mf_buf_puts(b, name);
        prom_label(b, "_bucket", '{', "le", i + 1 < STREAM_LATE_BUCKETS ? le : "+Inf");
        prom_value(b, "}", (double)sum);
    }
    mf_buf_puts(b, name);
    prom_value(b, "_sum", l->sum_s);
    mf_buf_puts(b, name);
    prom_value(b, "_count", (double)sum);
}

void ttl_metrics_write(struct api *a, struct api_account *const *at, size_t n, struct mf_buf *out)
{
    struct metrics m = {.now_ns = api_now_ns(a)};
    size_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += catalog_count(at[i]->catalog);
    m.cap = total < SHOWN ? total : SHOWN;
    m.rows = calloc(m.cap == 0 ? 1 : m.cap, sizeof *m.rows);
    if (m.rows == NULL)
        m.cap = 0;
    for (size_t i = 0; i < n; i++) {
        m.account = account_name(at[i]->account);
        catalog_each(at[i]->catalog, MF_SLICE_NONE, collect_stream, &m);
    }
    late_write(&m.late, out);
    streams_write(&m, out);
    decided_write(&m, out);
    soon_write(a, at, n, out);
    free(m.rows);
}
