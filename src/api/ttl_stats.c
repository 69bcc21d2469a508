/* ttl_stats.c: STATS and FORECAST of one stream: counts, the last hour, and what ends when.
 *
 * Counts are O(1).  The three numbers that look ahead come from one tally of the wheel (a day, or
 * `within`), collected in slices. */
#include "ttl_api.h"

#include "mayfly/clock.h"
#include "mayfly/stream_ahead.h"
#include "mayfly/stream_hour.h"

#include <stdlib.h>

#define HOUR_NS     (3600 * CLOCK_S)
#define DAY_NS      (24 * HOUR_NS)
#define EXACT       100000u /* messages whose bytes are counted one by one */
#define STEPS       256
#define BUCKETS     24
#define BUCKETS_MAX 200
#define CLIFF_MSGS  10000u

struct forecast_request {
    char *within;
    int64_t buckets;
};
static const struct json_field forecast_fields[] = {
    {.name = "within", .kind = JSON_STR, .offset = offsetof(struct forecast_request, within)},
    {.name = "buckets", .kind = JSON_INT, .offset = offsetof(struct forecast_request, buckets)},
};
static const struct json_type forecast_type = {"TTLForecastRequest",
                                               sizeof(struct forecast_request), forecast_fields,
                                               MF_COUNT(forecast_fields)};
static const struct json_type stats_type = {"TTLStatsRequest", sizeof(struct forecast_request),
                                            forecast_fields, 0};

struct look {
    struct api_call *call;
    int64_t created_ns; /* of its stream */
    int64_t from_ns, within_ns;
    struct stream_ahead *tally;
    struct stream_ahead *first; /* STATS: the next message to expire; NULL: not asked for */
    void (*answer)(struct look *k, struct stream *s, const struct store_forecast_sum *sum);
};

static void look_fini(void *state)
{
    struct look *k = state;

    stream_ahead_free(k->tally);
    stream_ahead_free(k->first);
}

static bool look_step(struct api_call *call)
{
    struct look *k = call->state;
    struct stream *s =
        call->aa->closing ? NULL : catalog_find(call->aa->catalog, api_call_token(call, 1));
    struct store_forecast_sum sum;

    if (s == NULL || stream_created_ns(s) != k->created_ns) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return false;
    }
    do {
        if ((k->first != NULL && !stream_ahead_step(k->first, STEPS)) ||
            !stream_ahead_step(k->tally, STEPS))
            continue;
        if (stream_forecast_sum(k->tally, &sum))
            k->answer(k, s, &sum);
        else
            ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return false;
    } while (!api_slice_spent(call->aa, 1));
    return true;
}

static void stats_answer(struct look *k, struct stream *s, const struct store_forecast_sum *sum);

static void look_start(struct api_call *call, struct stream *s, int64_t within_ns, unsigned buckets,
                       void (*answer)(struct look *k, struct stream *s,
                                      const struct store_forecast_sum *sum))
{
    struct look *k = calloc(1, sizeof *k);
    int64_t now_ns = api_now_ns(call->aa->api);
    struct store_forecast_opts o = {.from_ns = now_ns,
                                    .to_ns = now_ns + within_ns,
                                    .buckets = buckets,
                                    .exact = EXACT,
                                    .peak_ns = {CLOCK_S, 60 * CLOCK_S}};

    api_call_set_state(call, k, look_fini);
    if (k != NULL)
        *k = (struct look){
            .call = call,
            .created_ns = stream_created_ns(s),
            .from_ns = now_ns,
            .within_ns = within_ns,
            .tally = stream_forecast_new(s, &o),
            .first = answer == stats_answer
                         ? stream_page_new(s, (struct store_at){0, 0}, INT64_MAX, 1, MF_SLICE_NONE)
                         : NULL,
            .answer = answer};
    if (k == NULL || k->tally == NULL)
        api_reply_no_memory(call);
    else if (api_call_heard(call))
        api_call_slices(call, look_step);
}

/* --- STATS ------------------------------------------------------------------------------------ */

static void write_spread(struct jsonw *w, const struct stream_hour *h)
{
    jsonw_object(w, "lateness_ms");
    jsonw_f64(w, "p50", (double)h->late_p50_ns / 1e6);
    jsonw_f64(w, "p99", (double)h->late_p99_ns / 1e6);
    jsonw_f64(w, "max", (double)h->late_max_ns / 1e6);
    jsonw_end(w);
    jsonw_object(w, "requested_s");
    jsonw_i64(w, "p50", h->ttl_p50_s);
    jsonw_i64(w, "p99", h->ttl_p99_s);
    jsonw_i64(w, "max", h->ttl_max_s);
    jsonw_end(w);
}

void ttl_json_totals(struct jsonw *w, struct stream *s, const struct stream_hour *h)
{
    const struct stream_ttl_stats *t = stream_ttl_stats(s);
    struct stream_stats st;

    stream_stats(s, &st);
    jsonw_object(w, "totals");
    jsonw_u64(w, "expired", st.expired);
    jsonw_u64(w, "expired_bytes", h->expired_bytes_total);
    jsonw_u64(w, "touched", t->touched);
    jsonw_u64(w, "touched_by_read", t->touched_by_read);
    jsonw_u64(w, "set", t->set);
    jsonw_u64(w, "persisted", t->persisted);
    jsonw_u64(w, "clamped", t->clamped);
    jsonw_u64(w, "rejected", t->rejected);
    jsonw_u64(w, "rule_clamped", t->rule_clamped);
    jsonw_u64(w, "warned", t->warned);
    jsonw_u64(w, "dead_letters", t->dead_letters);
    jsonw_u64(w, "dead_letters_dropped", t->dead_letters_dropped);
    jsonw_end(w);
    jsonw_object(w, "decided");
    for (int by = 0; by < POLICY_BYS; by++)
        jsonw_u64(w, policy_by_word((enum policy_by)by), t->decided[by]);
    jsonw_end(w);
    jsonw_object(w, "audit");
    jsonw_u64(w, "would_set", t->would_set);
    jsonw_u64(w, "would_clamp", t->would_clamp);
    jsonw_u64(w, "would_reject", t->would_reject);
    jsonw_end(w);
    write_spread(w, h);
}

static void write_next(struct jsonw *w, struct look *k)
{
    const struct store_at *items;
    struct store_at next;
    bool more;

    if (k->first != NULL && stream_page_items(k->first, &items, &more, &next) > 0)
        jsonw_time(w, "next_expiry", items[0].deadline_ns);
}

static void stats_answer(struct look *k, struct stream *s, const struct store_forecast_sum *sum)
{
    struct jsonw *w = api_reply_begin(k->call);
    struct store_bucket day = {0};
    struct stream_lives lives;
    struct stream_state state;
    struct stream_hour h;
    struct mf_buf name = MF_BUF_INIT;

    stream_lives(s, &lives);
    stream_state(s, &state);
    stream_hour(s, &h);
    for (unsigned i = 0; i < sum->buckets; i++)
        stream_bucket_add(&day, &sum->bucket[i]);
    mf_buf_puts(&name, account_name(k->call->aa->account));
    mf_buf_byte(&name, '/');
    mf_buf_puts(&name, stream_name(s));
    jsonw_slice(w, "namespace", mf_buf_slice(&name));
    mf_buf_fini(&name);
    jsonw_u64(w, "items_with_ttl", lives.with);
    jsonw_u64(w, "items_without_ttl", lives.without);
    jsonw_u64(w, "items_infinite_ttl", lives.infinite);
    jsonw_u64(w, "expired_last_hour", h.expired);
    jsonw_u64(w, "expiring_next_hour", sum->bucket[0].msgs);
    jsonw_u64(w, "expiring_next_day", day.msgs);
    jsonw_u64(w, "total_bytes", state.bytes);
    jsonw_u64(w, "bytes_to_expire_soon", stream_bucket_bytes(s, &day));
    jsonw_str(w, "soon", "24h0m0s");
    jsonw_bool(w, "bytes_sampled", sum->sampled);
    if (h.since_ns != 0)
        jsonw_time(w, "since", h.since_ns);
    jsonw_u64(w, "stored_last_hour", h.stored);
    jsonw_u64(w, "bytes_stored_last_hour", h.stored_bytes);
    jsonw_u64(w, "bytes_expired_last_hour", h.expired_bytes);
    jsonw_u64(w, "pinned", lives.pinned);
    write_next(w, k);
    ttl_json_totals(w, s, &h);
    api_reply_end_quietly(k->call);
}

void ttl_stats_handle(struct api_call *call)
{
    struct forecast_request r = {0};
    struct stream *s;

    if (ttl_read(call, &stats_type, &r) && (s = api_call_stream(call, 1)) != NULL)
        look_start(call, s, DAY_NS, 24, stats_answer);
}

/* --- FORECAST --------------------------------------------------------------------------------- */

static void write_buckets(struct look *k, struct stream *s, const struct store_forecast_sum *sum,
                          uint64_t *msgs)
{
    struct jsonw *w = &k->call->w;

    jsonw_array(w, "buckets");
    for (unsigned i = 0; i < sum->buckets; i++) {
        jsonw_object(w, NULL);
        jsonw_time(w, "to",
                   i + 1 == sum->buckets
                       ? k->from_ns + k->within_ns
                       : k->from_ns + k->within_ns / (int64_t)sum->buckets * (int64_t)(i + 1));
        jsonw_u64(w, "msgs", sum->bucket[i].msgs);
        jsonw_u64(w, "bytes", stream_bucket_bytes(s, &sum->bucket[i]));
        jsonw_end(w);
        *msgs += sum->bucket[i].msgs;
    }
    jsonw_end(w);
}

static void write_peak(struct jsonw *w, const struct store_forecast_sum *sum, uint64_t with)
{
    const struct store_peak *p = &sum->peak[0], *minute = &sum->peak[1];
    uint64_t seconds = p->width_ns > CLOCK_S ? (uint64_t)(p->width_ns / CLOCK_S) : 1;

    if (p->msgs > 0) {
        jsonw_object(w, "peak");
        jsonw_time(w, "at", p->at_ns);
        jsonw_u64(w, "msgs", p->msgs);
        jsonw_u64(w, "per_second", p->msgs / seconds);
        jsonw_end(w);
    }
    jsonw_bool(w, "cliff", minute->msgs > CLIFF_MSGS && minute->msgs > with / 10);
}

/* Where the stream is heading: the rate of the last hour times the mean TTL given in it. */
static void write_steady(struct jsonw *w, struct stream *s, int64_t now_ns)
{
    struct stream_hour h;
    double seconds, rate, mean;

    stream_hour(s, &h);
    seconds = h.since_ns == 0 ? 0 : (double)(now_ns - h.since_ns) / 1e9;
    seconds = seconds > 3600 ? 3600 : seconds < 1 ? 1 : seconds;
    rate = (double)h.ttls / seconds;
    mean = h.ttls == 0 ? 0 : h.ttl_sum_s / (double)h.ttls;
    jsonw_object(w, "steady");
    jsonw_u64(w, "msgs", (uint64_t)(rate * mean));
    jsonw_u64(w, "bytes",
              h.stored == 0 ? 0
                            : (uint64_t)(rate * mean * (double)h.stored_bytes / (double)h.stored));
    jsonw_f64(w, "per_second", rate);
    jsonw_f64(w, "mean_ttl_s", mean);
    jsonw_end(w);
}

static void forecast_answer(struct look *k, struct stream *s, const struct store_forecast_sum *sum)
{
    struct jsonw *w = api_reply_begin(k->call);
    uint64_t soon = 0;
    struct stream_lives lives;
    char text[CLOCK_TEXT];

    stream_lives(s, &lives);
    jsonw_str(w, "stream", stream_name(s));
    jsonw_time(w, "from", k->from_ns);
    jsonw_str(w, "within", clock_duration(text, k->within_ns));
    write_buckets(k, s, sum, &soon);
    jsonw_object(w, "later");
    jsonw_u64(w, "msgs", lives.with > soon ? lives.with - soon : 0);
    jsonw_end(w);
    jsonw_u64(w, "without", lives.without);
    jsonw_u64(w, "infinite", lives.infinite);
    jsonw_bool(w, "bytes_sampled", sum->sampled);
    write_peak(w, sum, lives.with);
    write_steady(w, s, k->from_ns);
    api_reply_end_quietly(k->call);
}

void ttl_forecast_handle(struct api_call *call)
{
    struct forecast_request r = {.buckets = BUCKETS};
    int64_t within = DAY_NS;
    struct stream *s;

    if (!ttl_read(call, &forecast_type, &r))
        return;
    if (r.buckets < 1 || r.buckets > BUCKETS_MAX ||
        (r.within != NULL && r.within[0] != '\0' &&
         (policy_parse_duration(mf_str(r.within), &within) != 0 || within < 60 * CLOCK_S))) {
        ttl_refuse(call, JS_BAD_REQUEST);
        return;
    }
    if ((s = api_call_stream(call, 1)) != NULL)
        look_start(call, s, within, (unsigned)r.buckets, forecast_answer);
}
