/* ttl_metrics.c: lifetimes of messages in Prometheus' text format.
 *
 * Series of single streams are for the first SHOWN streams by account and name, as in js_metrics.c.
 * All numbers are counts that streams keep anyway: O(streams) for the lateness, O(streams shown)
 * for the rest, no message is looked at; in slices. */
#include "status/js_pages_impl.h"

#include "stream/backfill.h"
#include "base/clock_steps.h"
#include "monitor/prom.h"
#include "stream/stream_ahead.h"
#include "stream/stream_hour.h"

#include <stdio.h>
#include <stdlib.h>

#define SHOWN 1000u

struct row { /* one stream */
    const char *account, *stream;
    struct stream_lives lives;
    struct stream_ttl_stats stats;
    bool governed, valid; /* its policy */
    uint8_t enforce;
    uint64_t expired_bytes, backfill_left;
    double next_s; /* until the next deadline; negative: none */
};
struct metrics { /* a document under way */
    struct js_status *st;
    struct js_walk walk;
    struct arena mem; /* of the names in rows and soon */
    struct row *rows; /* NULL: no memory for them; sums alone */
    size_t n, cap;
    struct ttl_soon *soon;
    size_t nsoon;
    size_t series, at; /* the next one to write */
    bool headed;       /* the series has its head */
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

static uint8_t enforce_of(const struct policy_view *p)
{
    if (p == NULL || !p->active)
        return 0;
    return p->keys.enforce == POLICY_ENFORCE_AUDIT ? 1 : 2;
}

static void collect_stream(struct metrics *m, struct stream *s)
{
    const struct policy *p = stream_policy(s);
    const struct policy_view *v = p == NULL ? NULL : policy_view(p);
    struct stream_hour h;
    struct row *r;

    stream_late_add(s, &m->late);
    if (m->n == m->cap)
        return;
    r = &m->rows[m->n];
    stream_hour(s, &h);
    *r = (struct row){.account = m->walk.accounts[m->walk.at], /* the walk keeps these */
                      .stream = arena_str(&m->mem, stream_name(s)),
                      .stats = *stream_ttl_stats(s),
                      .governed = v != NULL && v->governed,
                      .valid = v == NULL || v->invalid == NULL,
                      .enforce = enforce_of(v),
                      .expired_bytes = h.expired_bytes_total,
                      .backfill_left = backfill_left(s),
                      .next_s = seconds_until(stream_next_expiry(s), m->now_ns)};
    stream_lives(s, &r->lives);
    m->n += r->stream != NULL;
}

static bool collect_step(struct doc *d, void *state)
{
    struct metrics *m = state;
    struct catalog_item x;

    if (m->walk.at >= m->walk.n)
        return false;
    if (!js_walk_item(&m->walk, d, &x))
        js_walk_next_account(&m->walk);
    else if (x.stream != NULL)
        collect_stream(m, x.stream);
    return true;
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
    return (double)r->stats.clamped;
}
static double v_rejected(const struct row *r)
{
    return (double)r->stats.rejected;
}
static double v_would_set(const struct row *r)
{
    return (double)r->stats.would_set;
}
static double v_would_clamp(const struct row *r)
{
    return (double)r->stats.would_clamp;
}
static double v_would_reject(const struct row *r)
{
    return (double)r->stats.would_reject;
}
static double v_touched(const struct row *r)
{
    return (double)r->stats.touched;
}
static double v_read(const struct row *r)
{
    return (double)r->stats.touched_by_read;
}
static double v_set(const struct row *r)
{
    return (double)r->stats.set;
}
static double v_persisted(const struct row *r)
{
    return (double)r->stats.persisted;
}
static double v_warned(const struct row *r)
{
    return (double)r->stats.warned;
}
static double v_letters(const struct row *r)
{
    return (double)r->stats.dead_letters;
}
static double v_dropped(const struct row *r)
{
    return (double)r->stats.dead_letters_dropped;
}
static double v_governed(const struct row *r)
{
    return r->governed;
}
static double v_valid(const struct row *r)
{
    return r->valid;
}
static double v_enforce(const struct row *r)
{
    return r->enforce;
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

/* The next sample of `count`, in which series; false: that was the last of `all` series. */
static bool advance_sample(struct metrics *m, size_t count, size_t all)
{
    if (++m->at < count)
        return true;
    m->at = 0;
    return ++m->series < all;
}

static bool streams_step(struct doc *d, void *state)
{
    struct metrics *m = state;
    const struct row *r;
    size_t k = m->series;
    double value;

    if (m->n == 0 || k == MF_COUNT(series))
        return false;
    r = &m->rows[m->at];
    value = series[k].of(r);
    if (m->at == 0)
        m->headed = series[k].type == NULL;
    if (value >= 0) {
        if (!m->headed)
            prom_head(&d->body, series[k].name, series[k].type, series[k].help);
        m->headed = true;
        begin_series(&d->body, r, series[k].name);
        if (series[k].label != NULL)
            prom_label(&d->body, "", ',', series[k].label, series[k].value);
        prom_value(&d->body, "}", value);
    }
    (void)advance_sample(m, m->n, MF_COUNT(series));
    return true;
}

static bool decided_step(struct doc *d, void *state)
{
    static const char name[] = "mayfly_stream_ttl_decided_total";
    struct metrics *m = state;
    const struct row *r;

    if (m->n == 0 || m->at == m->n)
        return false;
    r = &m->rows[m->at];
    if (m->at++ == 0)
        prom_head(&d->body, name, "counter",
                  "Messages stored under a policy, by who decided their TTL.");
    for (int by = 0; by < POLICY_BYS; by++) {
        begin_series(&d->body, r, name);
        prom_label(&d->body, "", ',', "by", policy_by_word((enum policy_by)by));
        prom_value(&d->body, "}", (double)r->stats.decided[by]);
    }
    return true;
}

/* --- next expiries ---------------------------------------------------------------------------- */

/* A copy: the result of the last look may be replaced between two slices. */
static bool soon_copy_step(struct doc *d, void *state)
{
    struct metrics *m = state;
    const struct ttl_soon *soon;
    struct js_account **at;
    size_t n, count;

    (void)d;
    m->at = m->series = 0;
    if (js_enabled_accounts(m->st, &at, &n) != 0)
        return false;
    soon = ttl_outlook(m->st, at, n, &count);
    free(at);
    m->soon = count == 0 ? NULL : arena_alloc(&m->mem, count * sizeof *m->soon);
    for (size_t i = 0; m->soon != NULL && i < count; i++) {
        struct ttl_soon *to = &m->soon[m->nsoon];
        *to = soon[i];
        to->account = arena_str(&m->mem, soon[i].account);
        to->stream = arena_str(&m->mem, soon[i].stream);
        m->nsoon += soon[i].known && to->account != NULL && to->stream != NULL;
    }
    return false;
}

/* First the messages of all, then the bytes. */
static bool soon_step(struct doc *d, void *state)
{
    static const char *const within[] = {"1h", "1d"};
    struct metrics *m = state;
    bool bytes = m->series == 1;
    const char *name = bytes ? "mayfly_stream_ttl_expiring_bytes" : "mayfly_stream_ttl_expiring";
    const struct ttl_soon *r;

    if (m->nsoon == 0)
        return false;
    r = &m->soon[m->at];
    if (m->at == 0)
        prom_head(&d->body, name, "gauge",
                  bytes ? "Bytes of messages that end soon." : "Messages that end soon.");
    for (size_t k = 0; k < MF_COUNT(within); k++) {
        prom_label(&d->body, name, '{', "account", r->account);
        prom_label(&d->body, "", ',', "stream", r->stream);
        prom_label(&d->body, "", ',', "within", within[k]);
        prom_value(&d->body, "}", (double)(bytes ? r->bytes[k] : r->msgs[k]));
    }
    return advance_sample(m, m->nsoon, 2);
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

static void clock_write(const struct clock_steps *c, struct mf_buf *b)
{
    prom_metric(b, "mayfly_clock_steps_total", "counter",
                "Steps of the wall clock since the start.", (double)c->count);
    prom_metric(b, "mayfly_clock_last_step_seconds", "gauge",
                "How far the last step of the wall clock went; negative: back.",
                (double)c->last_ns / 1e9);
}

static bool server_step(struct doc *d, void *state)
{
    const struct metrics *m = state;

    late_write(&m->late, &d->body);
    clock_write(jetstream_clock_steps(m->st->js), &d->body);
    return false;
}

static void metrics_free(void *state)
{
    struct metrics *m = state;

    js_walk_fini(&m->walk);
    arena_fini(&m->mem);
    free(m->rows);
    free(m);
}

void ttl_metrics_add(struct js_status *st, struct doc *d)
{
    static const doc_step steps[] = {collect_step,   server_step, streams_step, decided_step,
                                     soon_copy_step, soon_step,   NULL};
    struct metrics *m = calloc(1, sizeof *m);

    if (m != NULL && js_walk_init(&m->walk, st, NULL) != 0) {
        metrics_free(m);
        m = NULL;
    }
    if (m != NULL) {
        m->st = st;
        m->now_ns = jetstream_now_ns(st->js);
        m->rows = calloc(SHOWN, sizeof *m->rows);
        m->cap = m->rows == NULL ? 0 : SHOWN;
    }
    doc_add(d, steps, m, metrics_free);
}
