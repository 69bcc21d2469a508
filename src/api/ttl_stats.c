/* ttl_stats.c: STATS of one stream: counts by state, the last hour, and the next expiries.
 *
 * Counts are O(1).  The three forecast numbers come from a tally of the wheel up to a day ahead.
 * With a filter all of them come from a census of its subjects, and so do groups. */
#include "api/ttl_look_impl.h"

#include "base/clock.h"

#define DAY_NS    (24 * 3600 * CLOCK_S)
#define DEPTH_MAX 8

struct stats_request {
    char *filter;
    int64_t depth;
};
static const struct json_field stats_fields[] = {
    {.name = "filter", .kind = JSON_STR, .offset = offsetof(struct stats_request, filter)},
    {.name = "depth", .kind = JSON_INT, .offset = offsetof(struct stats_request, depth)},
};
static const struct json_type stats_type = {"TTLStatsRequest", sizeof(struct stats_request),
                                            stats_fields, MF_COUNT(stats_fields)};

/* --- the answer ------------------------------------------------------------------------------- */

static void write_namespace(struct jsonw *w, struct api_account *aa, struct stream *s)
{
    struct mf_buf name = MF_BUF_INIT;

    mf_buf_puts(&name, account_name(aa->ja->account));
    mf_buf_byte(&name, '/');
    mf_buf_puts(&name, stream_name(s));
    jsonw_slice(w, "namespace", mf_buf_slice(&name));
    mf_buf_fini(&name);
}

static void write_groups(struct jsonw *w, struct stream_census *c)
{
    const struct stream_group *g;
    size_t n = stream_census_groups(c, &g);

    jsonw_bool(w, "ages_sampled", stream_census_sampled(c));
    jsonw_array(w, "groups");
    for (size_t i = 0; i < n; i++, g++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "prefix", g->prefix);
        jsonw_u64(w, "items", g->items);
        jsonw_u64(w, "with", g->with);
        jsonw_u64(w, "without", g->without);
        jsonw_u64(w, "infinite", g->infinite);
        jsonw_u64(w, "bytes", g->bytes);
        jsonw_i64(w, "age_p50_s", g->age_p50_s);
        jsonw_i64(w, "age_p99_s", g->age_p99_s);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* Of some subjects: the past of a stream is not kept by subject, so that is left out. */
static void write_filtered(struct jsonw *w, struct ttl_look *k)
{
    struct stream_census_sum sum;
    struct ttl_numbers n = {.expired = 0};

    stream_census_sum(k->census, &sum);
    n.lives = sum.lives;
    n.bytes = sum.bytes;
    memcpy(n.ending, sum.ending, sizeof n.ending);
    n.ending_bytes = sum.ending_bytes;
    n.next_ns = sum.next_ns;
    n.overdue = sum.overdue;
    jsonw_str(w, "filter", k->filter);
    ttl_numbers_write_items(w, &n, false);
    ttl_numbers_write_more(w, &n);
}

static void write_all(struct jsonw *w, struct ttl_look *k, struct stream *s)
{
    struct ttl_numbers n = {.expired = 0};
    struct store_forecast_sum day;
    const struct store_at *items;
    struct store_at next;
    bool more;

    stream_hour_begin(s); /* somebody wants to know: a stream without a policy counts from now on */
    ttl_numbers_add(&n, s);
    if (stream_forecast_sum(k->tally, &day))
        ttl_numbers_add_ahead(&n, s, &day);
    if (stream_page_items(k->first, &items, &more, &next) > 0)
        ttl_numbers_add_next(&n, items[0].deadline_ns);
    ttl_numbers_write_items(w, &n, true);
    ttl_numbers_write_past(w, &n);
    ttl_numbers_write_more(w, &n);
    ttl_numbers_write_totals(w, &n);
    js_json_clock(w, jetstream_clock_steps(k->call->aa->api->js));
}

static void stats_answer(struct ttl_look *k, struct stream *s)
{
    struct jsonw *w = api_reply_begin(k->call);

    write_namespace(w, k->call->aa, s);
    if (k->filter != NULL)
        write_filtered(w, k);
    else
        write_all(w, k, s);
    if (k->census != NULL && stream_census_is_grouped(k->census))
        write_groups(w, k->census);
    api_reply_end_quietly(k->call);
}

/* --- the request ------------------------------------------------------------------------------ */

/* MF_NOMEM. */
static int make_parts(struct ttl_look *k, struct stream *s, unsigned depth)
{
    if (k->filter != NULL || depth > 0) {
        k->census = stream_census_new(s, mf_str(k->filter), depth);
        if (k->census == NULL)
            return MF_NOMEM;
    }
    if (k->filter != NULL)
        return 0;
    k->first = stream_page_new(s, (struct store_at){0, 0}, INT64_MAX, 1, MF_SLICE_NONE);
    return k->first == NULL ? MF_NOMEM : ttl_look_tally(k, s, 24, false);
}

void ttl_stats_handle(struct api_call *call)
{
    struct stats_request r = {0};
    struct ttl_look *k;
    struct stream *s;

    if (!ttl_read(call, &stats_type, &r))
        return;
    if (!ttl_filter_check(&r.filter)) {
        ttl_refuse_request(call, TTL_BAD_FILTER);
        return;
    }
    if (r.depth < 0 || r.depth > DEPTH_MAX) {
        ttl_refuse_request(call, "depth must be 0 to 8");
        return;
    }
    if ((s = api_call_stream(call, 1)) == NULL ||
        (k = ttl_look_new(call, s, DAY_NS, r.filter)) == NULL)
        return;
    k->answer = stats_answer;
    if (make_parts(k, s, (unsigned)r.depth) != 0)
        api_reply_no_memory(call);
    else
        ttl_look_start(k);
}
