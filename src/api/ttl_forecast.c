/* ttl_forecast.c: FORECAST: how many messages of a stream expire when, and its steady state.
 *
 * One tally of the wheel up to `within`, in slices.  Later deadlines are counted in O(1), their
 * bytes one by one if the stream has few deadlines, else by the mean size of its messages.  With a
 * filter both come from a census of its subjects. */
#include "api/ttl_look_impl.h"

#include "base/clock.h"

#define DAY_NS      (24 * 3600 * CLOCK_S)
#define BUCKETS     24
#define BUCKETS_MAX 200

struct forecast_request {
    char *within, *filter;
    int64_t buckets;
};
static const struct json_field forecast_fields[] = {
    {.name = "within", .kind = JSON_STR, .offset = offsetof(struct forecast_request, within)},
    {.name = "filter", .kind = JSON_STR, .offset = offsetof(struct forecast_request, filter)},
    {.name = "buckets", .kind = JSON_INT, .offset = offsetof(struct forecast_request, buckets)},
};
static const struct json_type forecast_type = {"TTLForecastRequest",
                                               sizeof(struct forecast_request), forecast_fields,
                                               MF_COUNT(forecast_fields)};

/* --- the answer ------------------------------------------------------------------------------- */

static void write_buckets(struct ttl_look *k, struct stream *s,
                          const struct store_forecast_sum *sum, struct store_bucket *all)
{
    struct jsonw *w = &k->call->w;

    jsonw_array(w, "buckets");
    for (unsigned i = 0; i < sum->buckets; i++) {
        ttl_json_bucket(w, ttl_bucket_end(k->from_ns, k->within_ns, sum->buckets, i),
                        sum->bucket[i].msgs, stream_bucket_bytes(s, &sum->bucket[i]));
        stream_bucket_add(all, &sum->bucket[i]);
    }
    jsonw_end(w);
}

static void write_peak(struct jsonw *w, const struct store_forecast_sum *sum, uint64_t with)
{
    const struct store_peak *p = &sum->peak[0];
    double seconds = p->width_ns > CLOCK_S ? (double)p->width_ns / (double)CLOCK_S : 1;

    if (p->msgs > 0) {
        jsonw_object(w, "peak");
        jsonw_time(w, "at", p->at_ns);
        jsonw_u64(w, "msgs", p->msgs);
        jsonw_u64(w, "per_second", (uint64_t)((double)p->msgs / seconds));
        jsonw_end(w);
    }
    jsonw_bool(w, "cliff", ttl_is_cliff(sum, with));
}

/* Bytes of `msgs` messages that end behind the tally, whose own are `soon`.  *sampled is set where
 * that is an estimate. */
static uint64_t later_bytes(struct ttl_look *k, struct stream *s, uint64_t msgs, uint64_t soon,
                            bool *sampled)
{
    struct store_forecast_sum sum;
    struct stream_census_sum all;
    struct stream_state st;

    if (k->census != NULL) {
        stream_census_sum(k->census, &all);
        return msgs > 0 && all.with_bytes > soon ? all.with_bytes - soon : 0;
    }
    if (k->later != NULL && stream_forecast_sum(k->later, &sum))
        return stream_bucket_bytes(s, &sum.bucket[0]);
    stream_state(s, &st);
    *sampled |= msgs > 0;
    return st.msgs == 0 ? 0 : (uint64_t)((double)msgs * (double)st.bytes / (double)st.msgs);
}

static void write_later(struct ttl_look *k, struct stream *s, const struct stream_lives *lives,
                        const struct store_bucket *soon, bool *sampled)
{
    struct jsonw *w = &k->call->w;
    uint64_t msgs = lives->with > soon->msgs ? lives->with - soon->msgs : 0;

    jsonw_object(w, "later");
    jsonw_u64(w, "msgs", msgs);
    jsonw_u64(w, "bytes", later_bytes(k, s, msgs, stream_bucket_bytes(s, soon), sampled));
    jsonw_end(w);
}

static void write_steady(struct jsonw *w, struct stream *s)
{
    struct stream_hour h;

    stream_hour(s, &h);
    struct stream_steady y = stream_steady(&h);
    ttl_json_steady(w, "steady", &y);
}

static void write_forecast(struct ttl_look *k, struct stream *s,
                           const struct store_forecast_sum *sum)
{
    struct jsonw *w = api_reply_begin(k->call);
    struct store_bucket soon = {0};
    struct stream_census_sum of;
    char text[CLOCK_TEXT];
    bool sampled = sum->sampled;

    if (k->census != NULL)
        stream_census_sum(k->census, &of);
    else
        stream_lives(s, &of.lives);
    jsonw_str(w, "stream", stream_name(s));
    jsonw_opt_str(w, "filter", k->filter);
    jsonw_time(w, "from", k->from_ns);
    jsonw_str(w, "within", clock_duration(text, k->within_ns));
    write_buckets(k, s, sum, &soon);
    write_later(k, s, &of.lives, &soon, &sampled);
    jsonw_u64(w, "without", of.lives.without);
    jsonw_u64(w, "infinite", of.lives.infinite);
    jsonw_bool(w, "bytes_sampled", sampled);
    ttl_json_blurred(w, sum->blurred_ns);
    write_peak(w, sum, of.lives.with);
    if (k->filter == NULL) /* rates are not kept by subject */
        write_steady(w, s);
    api_reply_end_quietly(k->call);
}

static void forecast_answer(struct ttl_look *k, struct stream *s)
{
    struct store_forecast_sum sum;

    if (stream_forecast_sum(k->tally, &sum))
        write_forecast(k, s, &sum);
    else
        ttl_refuse(k->call, JS_STREAM_NOT_FOUND);
}

/* --- the request ------------------------------------------------------------------------------ */

/* MF_NOMEM. */
static int make_parts(struct ttl_look *k, struct stream *s, unsigned buckets)
{
    struct stream_lives lives;
    struct store_forecast_opts rest = {.from_ns = k->from_ns + k->within_ns,
                                       .to_ns = INT64_MAX,
                                       .buckets = 1,
                                       .exact = TTL_LOOK_EXACT};

    stream_lives(s, &lives);
    if (k->filter != NULL) {
        if ((k->census = stream_census_new(s, mf_str(k->filter), 0)) == NULL)
            return MF_NOMEM;
    } else if (lives.with <= TTL_LOOK_EXACT) {
        if ((k->later = stream_forecast_new(s, &rest, MF_SLICE_NONE)) == NULL)
            return MF_NOMEM;
    }
    return ttl_look_tally(k, s, buckets, true);
}

/* NULL: *within is there. */
static const char *find_mistake(struct forecast_request *r, int64_t *within)
{
    if (r->buckets < 1 || r->buckets > BUCKETS_MAX)
        return "buckets must be 1 to 200";
    if (r->within != NULL && r->within[0] != '\0' && ttl_parse_within(r->within, within) != 0)
        return "within must be a duration of 1m to 36500d";
    return ttl_filter_check(&r->filter) ? NULL : TTL_BAD_FILTER;
}

void ttl_forecast_handle(struct api_call *call)
{
    struct forecast_request r = {.buckets = BUCKETS};
    int64_t within = DAY_NS;
    struct ttl_look *k;
    struct stream *s;
    const char *why;

    if (!ttl_read(call, &forecast_type, &r))
        return;
    if ((why = find_mistake(&r, &within)) != NULL) {
        ttl_refuse_request(call, why);
        return;
    }
    if ((s = api_call_stream(call, 1)) == NULL ||
        (k = ttl_look_new(call, s, within, r.filter)) == NULL)
        return;
    k->answer = forecast_answer;
    if (make_parts(k, s, (unsigned)r.buckets) != 0)
        api_reply_no_memory(call);
    else
        ttl_look_start(k);
}
