/* ttl_account.c: STATS without a stream: the sum of all streams of the account.
 *
 * Streams are visited by name, each with a tally of its deadlines up to a day ahead, in slices.
 * O(streams) and the deadlines of the next day.  The first deadline is searched only in streams
 * that may have an earlier one than the best so far.  Streams that are added or removed meanwhile
 * may be counted or not. */
#include "api/ttl_api_impl.h"
#include "api/ttl_numbers.h"

#include "base/clock.h"

#include <stdlib.h>

#define HOURS  24
#define EXACT  100000u /* messages of a stream whose bytes are counted one by one */
#define STEPS  256
#define STREAM 4u /* steps of work.h for one stream: about a microsecond each */

struct account_request {
    char *filter;
    int64_t depth;
};
static const struct json_field account_fields[] = {
    {.name = "filter", .kind = JSON_STR, .offset = offsetof(struct account_request, filter)},
    {.name = "depth", .kind = JSON_INT, .offset = offsetof(struct account_request, depth)},
};
static const struct json_type account_type = {"TTLAccountStatsRequest",
                                              sizeof(struct account_request), account_fields,
                                              MF_COUNT(account_fields)};

struct census {
    struct ttl_numbers sum;
    uint64_t streams;   /* counted */
    struct mf_buf name; /* of the stream that is being counted, or was last */
    int64_t created_ns; /* of it */
    int64_t now_ns;
    struct stream_ahead *tally, *first; /* of it; NULL: none is being counted */
};

static void end_stream(struct census *c)
{
    stream_ahead_free(c->tally);
    stream_ahead_free(c->first);
    c->tally = c->first = NULL;
}

static void census_fini(void *state)
{
    struct census *c = state;

    end_stream(c);
    mf_buf_fini(&c->name);
}

/* --- one stream ------------------------------------------------------------------------------- */

/* MF_NOMEM. */
static int begin_stream(struct census *c, struct stream *s)
{
    struct store_forecast_opts o = {.from_ns = c->now_ns,
                                    .to_ns = c->now_ns + HOURS * 3600 * CLOCK_S,
                                    .buckets = HOURS,
                                    .exact = EXACT};
    int64_t next = stream_next_expiry(s);

    c->created_ns = stream_created_ns(s);
    if ((c->tally = stream_forecast_new(s, &o, MF_SLICE_NONE)) == NULL)
        return MF_NOMEM;
    if (next == 0 || (c->sum.next_ns != 0 && next >= c->sum.next_ns))
        return 0;
    c->first = stream_page_new(s, (struct store_at){0, 0}, INT64_MAX, 1, MF_SLICE_NONE);
    return c->first == NULL ? MF_NOMEM : 0;
}

static void add_stream(struct census *c, struct stream *s)
{
    struct store_forecast_sum day;
    const struct store_at *items;
    struct store_at next;
    bool more;

    c->streams++;
    ttl_numbers_add(&c->sum, s);
    if (stream_forecast_sum(c->tally, &day))
        ttl_numbers_add_ahead(&c->sum, s, &day);
    if (c->first != NULL && stream_page_items(c->first, &items, &more, &next) > 0)
        ttl_numbers_add_next(&c->sum, items[0].deadline_ns);
}

/* One that was deleted meanwhile, or made anew, is not counted. */
static void stream_step(struct census *c, struct catalog *all)
{
    struct stream *s = catalog_find(all, mf_buf_slice(&c->name));
    bool there = s != NULL && stream_created_ns(s) == c->created_ns;

    if (there && (!stream_ahead_step(c->tally, STEPS) ||
                  (c->first != NULL && !stream_ahead_step(c->first, STEPS))))
        return;
    if (there)
        add_stream(c, s);
    end_stream(c);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* The next stream by name.  0; MF_NOTFOUND: that was the last one; MF_NOMEM. */
static int next_stream(struct census *c, struct catalog *all)
{
    struct catalog_item item;

    if (!catalog_at(all, catalog_behind(all, mf_buf_slice(&c->name)), &item))
        return MF_NOTFOUND;
    mf_buf_clear(&c->name);
    mf_buf_puts(&c->name, item.name);
    if (mf_buf_failed(&c->name))
        return MF_NOMEM;
    return item.stream == NULL ? 0 : begin_stream(c, item.stream);
}

static void answer_census(struct api_call *call, struct census *c)
{
    struct jsonw *w = api_reply_begin(call);

    jsonw_str(w, "namespace", account_name(call->ja->account));
    ttl_numbers_write_items(w, &c->sum, true);
    ttl_numbers_write_past(w, &c->sum);
    ttl_numbers_write_more(w, &c->sum);
    ttl_numbers_write_totals(w, &c->sum);
    js_json_clock(w, jetstream_clock_steps(call->aa->api->js));
    jsonw_u64(w, "streams", c->streams);
    api_reply_end_quietly(call);
}

static bool account_step(struct api_call *call)
{
    struct census *c = call->state;
    struct catalog *all = call->ja->catalog;
    int rc = 0;

    if (call->ja->closing || all == NULL) {
        ttl_refuse(call, JS_NOT_ENABLED_FOR_ACCOUNT);
        return false;
    }
    if (!api_call_heard(call)) /* the reply has no subscriber any more */
        return false;
    do {
        if (c->tally != NULL)
            stream_step(c, all);
        else
            rc = next_stream(c, all);
    } while (rc == 0 && !js_slice_spent(call->ja, STREAM));
    if (rc == MF_NOTFOUND)
        answer_census(call, c);
    else if (rc != 0)
        api_reply_no_memory(call);
    return rc == 0;
}

void ttl_account_handle(struct api_call *call)
{
    struct account_request r = {0};
    struct census *c;

    if (!ttl_read(call, &account_type, &r))
        return;
    if ((r.filter != NULL && r.filter[0] != '\0') || r.depth != 0) {
        ttl_refuse_request(call, "filter and depth need a stream: $MAYFLY.TTL.STATS.<stream>");
        return;
    }
    c = calloc(1, sizeof *c);
    api_call_set_state(call, c, census_fini);
    if (c == NULL) {
        api_reply_no_memory(call);
        return;
    }
    c->name = MF_BUF_INIT;
    c->now_ns = jetstream_now_ns(call->aa->api->js);
    if (api_call_heard(call))
        api_call_slices(call, account_step);
}
