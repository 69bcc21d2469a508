/* ttl_numbers.c: the counts that STATS shows, gathered and written (ttl_numbers.h). */
#include "api/ttl_numbers.h"

#include "api/ttl_api_impl.h"
#include "base/clock.h"

/* --- gathering -------------------------------------------------------------------------------- */

static void add_ttl(struct stream_ttl_stats *sum, const struct stream_ttl_stats *t)
{
    for (int by = 0; by < POLICY_BYS; by++)
        sum->decided[by] += t->decided[by];
    sum->clamped += t->clamped;
    sum->rejected += t->rejected;
    sum->rule_clamped += t->rule_clamped;
    sum->would_set += t->would_set;
    sum->would_clamp += t->would_clamp;
    sum->would_reject += t->would_reject;
    sum->set += t->set;
    sum->touched += t->touched;
    sum->touched_by_read += t->touched_by_read;
    sum->persisted += t->persisted;
    sum->dead_letters += t->dead_letters;
    sum->dead_letters_dropped += t->dead_letters_dropped;
    sum->warned += t->warned;
}

void ttl_numbers_add(struct ttl_numbers *n, struct stream *s)
{
    struct stream_lives lives;
    struct stream_state state;
    struct stream_hour hour;
    struct stream_stats stats;

    stream_lives(s, &lives);
    stream_state(s, &state);
    stream_hour(s, &hour);
    stream_stats(s, &stats);
    n->lives.with += lives.with;
    n->lives.infinite += lives.infinite;
    n->lives.without += lives.without;
    n->lives.pinned += lives.pinned;
    n->lives.markers += lives.markers;
    n->messages += state.msgs;
    n->bytes += state.bytes;
    n->overdue += state.overdue;
    stream_hour_add(&n->hour, &hour);
    stream_hour_quantiles(&n->hour);
    add_ttl(&n->ttl, stream_ttl_stats(s));
    n->expired += stats.expired;
    n->removed += stats.removed;
}

void ttl_numbers_add_ahead(struct ttl_numbers *n, struct stream *s,
                           const struct store_forecast_sum *day)
{
    struct store_bucket all = {0};

    for (unsigned i = 0; i < day->buckets; i++)
        stream_bucket_add(&all, &day->bucket[i]);
    n->ending[0] += day->bucket[0].msgs;
    n->ending[1] += all.msgs;
    n->ending_bytes += stream_bucket_bytes(s, &all);
    n->sampled |= day->sampled;
    if (day->blurred_ns > n->blurred_ns)
        n->blurred_ns = day->blurred_ns;
}

void ttl_numbers_add_next(struct ttl_numbers *n, int64_t next_ns)
{
    if (next_ns != 0 && (n->next_ns == 0 || next_ns < n->next_ns))
        n->next_ns = next_ns;
}

/* --- writing ---------------------------------------------------------------------------------- */

void ttl_numbers_write_items(struct jsonw *w, const struct ttl_numbers *n, bool past)
{
    jsonw_u64(w, "items_with_ttl", n->lives.with);
    jsonw_u64(w, "items_without_ttl", n->lives.without);
    jsonw_u64(w, "items_infinite_ttl", n->lives.infinite);
    if (past)
        jsonw_u64(w, "expired_last_hour", n->hour.expired);
    jsonw_u64(w, "expiring_next_hour", n->ending[0]);
    jsonw_u64(w, "expiring_next_day", n->ending[1]);
    jsonw_u64(w, "total_bytes", n->bytes);
    jsonw_u64(w, "bytes_to_expire_soon", n->ending_bytes);
    jsonw_str(w, "soon", "24h0m0s");
    jsonw_bool(w, "bytes_sampled", n->sampled);
    ttl_json_blurred(w, n->blurred_ns);
}

void ttl_numbers_write_past(struct jsonw *w, const struct ttl_numbers *n)
{
    if (n->hour.since_ns != 0)
        jsonw_time(w, "since", n->hour.since_ns);
    jsonw_u64(w, "stored_last_hour", n->hour.stored);
    jsonw_u64(w, "bytes_stored_last_hour", n->hour.stored_bytes);
    jsonw_u64(w, "bytes_expired_last_hour", n->hour.expired_bytes);
}

void ttl_numbers_write_more(struct jsonw *w, const struct ttl_numbers *n)
{
    jsonw_u64(w, "pinned", n->lives.pinned);
    jsonw_u64(w, "markers", n->lives.markers);
    if (n->next_ns != 0)
        jsonw_time(w, "next_expiry", n->next_ns);
    jsonw_u64(w, "overdue", n->overdue);
}

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

void ttl_numbers_write_totals(struct jsonw *w, const struct ttl_numbers *n)
{
    const struct stream_ttl_stats *t = &n->ttl;

    jsonw_object(w, "totals");
    jsonw_u64(w, "expired", n->expired);
    jsonw_u64(w, "expired_bytes", n->hour.expired_bytes_total);
    jsonw_u64(w, "removed", n->removed);
    jsonw_u64(w, "touched", t->touched);
    jsonw_u64(w, "touched_by_read", t->touched_by_read);
    jsonw_u64(w, "set", t->set);
    jsonw_u64(w, "persisted", t->persisted);
    jsonw_u64(w, "warned", t->warned);
    jsonw_u64(w, "dead_letters", t->dead_letters);
    jsonw_u64(w, "dead_letters_dropped", t->dead_letters_dropped);
    jsonw_u64(w, "clamped", t->clamped);
    jsonw_u64(w, "rejected", t->rejected);
    jsonw_u64(w, "rule_clamped", t->rule_clamped);
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
    write_spread(w, &n->hour);
}

void ttl_json_blurred(struct jsonw *w, int64_t blurred_ns)
{
    if (blurred_ns == 0)
        return;
    jsonw_bool(w, "counts_approximate", true);
    jsonw_i64(w, "resolution_ms", (blurred_ns + 999999) / 1000000);
}

/* --- forecasts -------------------------------------------------------------------------------- */

void ttl_json_bucket(struct jsonw *w, int64_t to_ns, uint64_t msgs, uint64_t bytes)
{
    jsonw_object(w, NULL);
    jsonw_time(w, "to", to_ns);
    jsonw_u64(w, "msgs", msgs);
    jsonw_u64(w, "bytes", bytes);
    jsonw_end(w);
}

int64_t ttl_bucket_end(int64_t from_ns, int64_t within_ns, unsigned buckets, unsigned i)
{
    return i + 1 == buckets ? from_ns + within_ns
                            : from_ns + within_ns / (int64_t)buckets * (int64_t)(i + 1);
}

bool ttl_is_cliff(const struct store_forecast_sum *sum, uint64_t with)
{
    uint64_t minute = sum->peak[1].msgs;

    return minute > TTL_CLIFF_MSGS && minute > with / 10;
}

int ttl_parse_within(const char *text, int64_t *within_ns)
{
    int64_t ns;

    if (policy_parse_duration(mf_str(text), &ns) != 0 || ns < 60 * CLOCK_S)
        return MF_INVAL;
    *within_ns = ns;
    return 0;
}

void ttl_json_steady(struct jsonw *w, const char *key, const struct stream_steady *y)
{
    jsonw_object(w, key);
    jsonw_u64(w, "msgs", y->msgs);
    jsonw_u64(w, "bytes", y->bytes);
    jsonw_f64(w, "per_second", y->per_second);
    jsonw_f64(w, "mean_ttl_s", y->mean_ttl_s);
    jsonw_f64(w, "covered_s", y->covered_s);
    jsonw_end(w);
}
