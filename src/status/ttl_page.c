/* ttl_page.c: /ttlz and the TTLZ request of the system account: the effective TTL policy of all
 * streams, and their counts, in pages; on request their state, sums, a forecast, the next to
 * expire.
 *
 * Accounts by name, streams by name, in slices.  O(streams) to find a page, and at most LIMIT_MAX
 * streams on it.  Messages are visited only on request: for the exact next deadline of a stream
 * shown (at most NEXT_STEPS), for a list, and for a forecast (store_lives.h has its cost). */
#include "status/ttl_page_impl.h"
#include "api/ttl_numbers.h"

#include "base/clock.h"
#include "base/log.h"
#include "jetstream/js_json.h"

#include <stdlib.h>

#define LIMIT      100
#define LIMIT_MAX  1000
#define LIST_MAX   1000
#define STEPS      256  /* of a look ahead, in one step of the document */
#define NEXT_STEPS 8192 /* for the exact next deadline; beyond them its lower bound is shown */

struct ttlz_query {
    char *account, *stream; /* NULL or "": all */
    char *find;             /* a part of the name of a stream or account */
    char *within;           /* of the forecast */
    int64_t offset, limit;
    int64_t list, forecast; /* messages to list, parts of the forecast; 0: not wanted */
    bool state, sum, copies;
};
struct ttlz { /* a document under way */
    struct js_status *st;
    struct ttlz_query q;
    struct arena mem; /* of the query */
    const char *key;
    struct js_walk walk;
    int64_t at; /* streams seen so far that were asked for */
    /* The stream that is being visited, between its first and its last step. */
    bool visiting;
    struct stream_ahead *page; /* its next messages to expire; NULL: not wanted */
    uint64_t steps;            /* of page */
    bool paged;                /* page is whole */
    /* Of all streams asked for. */
    struct ttl_numbers sum;
    struct ttl_forecast *forecast; /* NULL: not wanted */
    int64_t spent_ns;              /* in looks ahead */
};

/* --- one stream ------------------------------------------------------------------------------- */

static void write_counts(struct ttlz *z, struct jsonw *w, struct stream *s)
{
    struct ttl_numbers n = {.expired = 0};
    const struct store_at *items;
    struct store_at next;
    bool more;

    ttl_numbers_add(&n, s);
    if (!z->paged)
        ttl_numbers_add_next(&n, stream_next_expiry(s));
    else if (stream_page_items(z->page, &items, &more, &next) > 0)
        ttl_numbers_add_next(&n, items[0].deadline_ns);
    jsonw_object(w, "stats");
    jsonw_u64(w, "items_with_ttl", n.lives.with);
    jsonw_u64(w, "items_without_ttl", n.lives.without);
    jsonw_u64(w, "items_infinite_ttl", n.lives.infinite);
    jsonw_u64(w, "expired_last_hour", n.hour.expired);
    jsonw_u64(w, "total_bytes", n.bytes);
    ttl_numbers_write_past(w, &n);
    ttl_numbers_write_more(w, &n);
    if (z->q.state && !z->paged && n.next_ns != 0)
        jsonw_bool(w, "next_expiry_approximate", true);
    ttl_numbers_write_totals(w, &n);
    jsonw_end(w);
}

/* Subjects are in memory: nothing is read from disk. */
static void write_item(struct ttlz *z, struct jsonw *w, struct stream *s, uint64_t seq)
{
    int64_t left_ms, now_ns = jetstream_now_ns(z->st->js);
    struct mf_slice subject = stream_subject_at(s, seq);
    struct stream_lifetime life;

    if (subject.len == 0 || !stream_lifetime(s, seq, &life))
        return; /* it ended meanwhile */
    left_ms = (life.deadline_ns - now_ns) / CLOCK_MS;
    jsonw_object(w, NULL);
    jsonw_slice(w, "subject", subject);
    jsonw_u64(w, "seq", seq);
    jsonw_time(w, "expires", life.deadline_ns);
    jsonw_i64(w, "left_ms", left_ms > 0 ? left_ms : 1);
    jsonw_bool(w, "pinned", life.pinned);
    jsonw_end(w);
}

static void write_list(struct ttlz *z, struct jsonw *w, struct stream *s)
{
    const struct store_at *items;
    struct store_at next;
    bool more = false;
    size_t n = z->paged ? stream_page_items(z->page, &items, &more, &next) : 0;

    jsonw_array(w, "expiring");
    for (size_t i = 0; i < n; i++)
        write_item(z, w, s, items[i].seq);
    jsonw_end(w);
    jsonw_bool(w, "expiring_more", more);
}

static void write_stream(struct ttlz *z, struct jsonw *w, struct stream *s)
{
    jsonw_object(w, NULL);
    js_account_write(z->st, w, z->walk.accounts[z->walk.at]);
    ttl_json_policy(w, s, stream_policy(s));
    write_counts(z, w, s);
    if (z->q.state) {
        state_json_write(w, "state", s);
        origins_json_write(w, s);
    }
    if (z->q.list > 0)
        write_list(z, w, s);
    jsonw_end(w);
}

static void ttlz_free(void *state)
{
    struct ttlz *z = state;

    js_walk_fini(&z->walk);
    arena_fini(&z->mem);
    stream_ahead_free(z->page);
    ttl_forecast_free(z->forecast);
    free(z);
}

static struct ttlz *ttlz_new(struct js_status *st)
{
    struct ttlz *z = calloc(1, sizeof *z);

    if (z != NULL) {
        z->st = st;
        z->q.limit = LIMIT;
    }
    return z;
}

static bool is_wanted(const struct ttlz_query *q, const struct account *a, struct stream *s)
{
    const struct stream_config *c = stream_config(s);

    if (mf_has_text(q->stream) && strcmp(stream_name(s), q->stream) != 0)
        return false;
    if (q->copies && c->mirror == NULL && c->sources.n == 0)
        return false;
    return !mf_has_text(q->find) || strcasestr(stream_name(s), q->find) != NULL ||
           strcasestr(account_name(a), q->find) != NULL ||
           strcasestr(account_tag(a), q->find) != NULL;
}

static bool is_shown(const struct ttlz *z)
{
    return z->at >= z->q.offset && z->at - z->q.offset < z->q.limit;
}

/* Starts the looks ahead that were asked for.  MF_NOMEM. */
static int begin_visit(struct ttlz *z, struct stream *s)
{
    size_t limit = z->q.list > 0 ? (size_t)z->q.list : 1;

    z->visiting = true;
    z->steps = 0;
    z->paged = false;
    if (is_shown(z) && (z->q.state || z->q.list > 0) && stream_next_expiry(s) != 0) {
        z->page = stream_page_new(s, (struct store_at){0, 0}, INT64_MAX, limit, MF_SLICE_NONE);
        if (z->page == NULL)
            return MF_NOMEM;
    }
    return z->forecast == NULL ? 0 : ttl_forecast_begin(z->forecast, s);
}

static bool step_look(struct ttlz *z)
{
    if (z->page != NULL && !z->paged && (z->q.list > 0 || z->steps < NEXT_STEPS)) {
        z->steps += STEPS;
        z->paged = stream_ahead_step(z->page, STEPS);
        return true;
    }
    return z->forecast != NULL && ttl_forecast_step(z->forecast, STEPS);
}

/* True: the looks ahead have more to do. */
static bool look_ahead(struct ttlz *z)
{
    int64_t before;
    bool more;

    if (z->page == NULL && z->forecast == NULL)
        return false;
    before = clock_mono_ns();
    more = step_look(z);
    z->spent_ns += clock_mono_ns() - before;
    return more;
}

/* s NULL: it was deleted meanwhile. */
static void end_visit(struct ttlz *z, struct jsonw *w, struct stream *s)
{
    if (s != NULL && is_shown(z))
        write_stream(z, w, s);
    if (s != NULL && z->q.sum) {
        ttl_numbers_add(&z->sum, s);
        ttl_numbers_add_next(&z->sum, stream_next_expiry(s));
    }
    if (z->forecast != NULL)
        ttl_forecast_end(z->forecast, s, z->walk.accounts[z->walk.at]);
    stream_ahead_free(z->page);
    z->page = NULL;
    z->visiting = false;
    z->at += s != NULL;
}

/* --- all streams ------------------------------------------------------------------------------ */

static bool begin_step(struct doc *d, void *state)
{
    struct ttlz *z = state;
    struct jsonw *w = &d->w;

    jsonw_object(w, z->key);
    jsonw_str(w, "server_id", z->st->js->setup.server_id);
    jsonw_time(w, "now", jetstream_now_ns(z->st->js));
    jsonw_i64(w, "offset", z->q.offset);
    jsonw_i64(w, "limit", z->q.limit);
    jsonw_array(w, "streams");
    return false;
}

static void visit_next(struct ttlz *z, struct doc *d)
{
    struct js_walk *k = &z->walk;
    struct catalog_item x;

    if ((mf_has_text(z->q.account) && strcmp(k->accounts[k->at], z->q.account) != 0) ||
        !js_walk_item(k, d, &x))
        js_walk_next_account(k);
    else if (x.stream != NULL && is_wanted(&z->q, k->ja->account, x.stream)) {
        if (begin_visit(z, x.stream) != 0)
            doc_fail(d, MF_NOMEM, "out of memory");
        else if (!look_ahead(z))
            end_visit(z, &d->w, x.stream); /* most streams: in one step */
    }
}

static bool streams_step(struct doc *d, void *state)
{
    struct ttlz *z = state;

    if (z->visiting) {
        struct stream *s = js_walk_stream(&z->walk, d);
        if (s == NULL || !look_ahead(z))
            end_visit(z, &d->w, s);
        return true;
    }
    if (z->walk.at >= z->walk.n)
        return false;
    visit_next(z, d);
    return true;
}

/* Counts since the start, by lateness: the difference of two looks is the lateness between them. */
static void write_lateness(struct jsonw *w, const struct stream_hour *h)
{
    jsonw_array(w, "lateness");
    for (size_t i = 0; i < STREAM_LATE_BUCKETS; i++) {
        jsonw_object(w, NULL);
        if (i + 1 < STREAM_LATE_BUCKETS)
            jsonw_f64(w, "to_ms", (double)stream_late_bounds_ns[i] / 1e6);
        jsonw_u64(w, "msgs", h->late[i]);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void write_sum(struct ttlz *z, struct jsonw *w)
{
    const struct ttl_numbers *n = &z->sum;

    jsonw_object(w, "sum");
    jsonw_i64(w, "streams", z->at);
    jsonw_u64(w, "messages", n->messages);
    jsonw_u64(w, "items_with_ttl", n->lives.with);
    jsonw_u64(w, "items_without_ttl", n->lives.without);
    jsonw_u64(w, "items_infinite_ttl", n->lives.infinite);
    jsonw_u64(w, "expired_last_hour", n->hour.expired);
    jsonw_u64(w, "total_bytes", n->bytes);
    ttl_numbers_write_past(w, n);
    ttl_numbers_write_more(w, n);
    ttl_numbers_write_totals(w, n);
    write_lateness(w, &n->hour);
    jsonw_end(w);
}

static bool end_step(struct doc *d, void *state)
{
    struct ttlz *z = state;

    jsonw_end(&d->w);
    jsonw_i64(&d->w, "total", z->at);
    js_json_clock(&d->w, jetstream_clock_steps(z->st->js));
    if (z->q.sum)
        write_sum(z, &d->w);
    if (z->forecast != NULL)
        ttl_forecast_write(z->forecast, z->st, &d->w);
    if (z->spent_ns > 0) /* so that a reader can ask less often where it is much */
        jsonw_f64(&d->w, "cost_ms", (double)z->spent_ns / 1e6);
    jsonw_end(&d->w);
    return false;
}

/* 0, or MF_PROTO with a text that says what is possible. */
static int check_query(const struct ttlz_query *q, struct mf_error *e)
{
    if (q->offset < 0 || q->limit < 1 || q->limit > LIMIT_MAX)
        return mf_fail(e, MF_PROTO, "offset must be 0 or more, limit from 1 to %d", LIMIT_MAX);
    if (q->list < 0 || q->list > LIST_MAX)
        return mf_fail(e, MF_PROTO, "list must be 1 to %d messages", LIST_MAX);
    if (q->list > 0 && !mf_has_text(q->stream))
        return mf_fail(e, MF_PROTO, "list needs a stream: ?acc=ACCOUNT&stream=STREAM&list=20");
    if (q->forecast < 0 || q->forecast > TTL_FORECAST_MAX)
        return mf_fail(e, MF_PROTO, "forecast must be 1 to %d parts", TTL_FORECAST_MAX);
    return 0;
}

/* MF_NOMEM, MF_PROTO. */
static int start_forecast(struct ttlz *z, struct mf_error *e)
{
    bool one = mf_has_text(z->q.stream);

    if (z->q.forecast == 0)
        return 0;
    return ttl_forecast_new(&z->forecast, jetstream_now_ns(z->st->js), z->q.within,
                            (unsigned)z->q.forecast, one, e);
}

/* Takes z over, which may be NULL.  MF_PROTO: the query is wrong. */
static int add_steps(struct doc *d, struct ttlz *z, const char *key, struct mf_error *e)
{
    static const doc_step steps[] = {begin_step, streams_step, end_step, NULL};
    int rc = 0;

    if (z == NULL || z->mem.failed || js_walk_init(&z->walk, z->st, NULL) != 0)
        rc = mf_fail(e, MF_NOMEM, "accounts");
    else if ((rc = check_query(&z->q, e)) == 0)
        rc = start_forecast(z, e);
    if (rc == 0) {
        z->key = key;
        doc_add(d, steps, z, ttlz_free);
    } else if (z != NULL) {
        ttlz_free(z);
    }
    return rc;
}

/* --- asked by a message ----------------------------------------------------------------------- */

#define FIELD(name_, kind_, member_)                                                               \
    {                                                                                              \
        .name = name_, .kind = kind_, .offset = offsetof(struct ttlz_query, member_)               \
    }
static const struct json_field fields[] = {
    FIELD("account", JSON_STR, account), FIELD("stream", JSON_STR, stream),
    FIELD("find", JSON_STR, find),       FIELD("within", JSON_STR, within),
    FIELD("offset", JSON_INT, offset),   FIELD("limit", JSON_INT, limit),
    FIELD("list", JSON_INT, list),       FIELD("forecast", JSON_INT, forecast),
    FIELD("state", JSON_BOOL, state),    FIELD("sum", JSON_BOOL, sum),
    FIELD("copies", JSON_BOOL, copies),
};
static const struct json_type query_type = {"TtlzEventOptions", sizeof(struct ttlz_query), fields,
                                            MF_COUNT(fields)};

int js_status_ttlz(struct js_status *st, struct mf_slice options, struct doc *d, const char *key,
                   struct mf_error *e)
{
    struct ttlz *z = ttlz_new(st);
    int rc = 0;

    if (z != NULL && options.len > 0)
        rc = json_unmarshal(options, &query_type, &z->q, &z->mem, e);
    if (rc == 0)
        return add_steps(d, z, key, e);
    ttlz_free(z);
    return rc == MF_INVAL ? (e->code = MF_PROTO) : rc;
}

/* --- asked over HTTP -------------------------------------------------------------------------- */

static int read_params(const struct monitor_request *p, struct monitor_reply *r,
                       struct ttlz_query *q)
{
    if (monitor_param_i64(p, r, "offset", &q->offset) != 0 ||
        monitor_param_i64(p, r, "limit", &q->limit) != 0 ||
        monitor_param_i64(p, r, "list", &q->list) != 0 ||
        monitor_param_i64(p, r, "forecast", &q->forecast) != 0 ||
        monitor_param_bool(p, r, "state", &q->state) != 0 ||
        monitor_param_bool(p, r, "sum", &q->sum) != 0 ||
        monitor_param_bool(p, r, "copies", &q->copies) != 0)
        return MF_INVAL;
    return 0;
}

static void get_ttlz(void *arg, const struct monitor_request *p, struct monitor_reply *r)
{
    struct ttlz_query q = {.limit = LIMIT};
    struct ttlz *z;
    struct mf_error e;
    int rc;

    if (read_params(p, r, &q) != 0)
        return;
    z = ttlz_new(arg);
    if (z != NULL) {
        z->q = q;
        z->q.account = arena_str(&z->mem, monitor_param(p, "acc"));
        z->q.stream = arena_str(&z->mem, monitor_param(p, "stream"));
        z->q.find = arena_str(&z->mem, monitor_param(p, "find"));
        z->q.within = arena_str(&z->mem, monitor_param(p, "within"));
    }
    rc = add_steps(r->doc, z, NULL, &e);
    if (rc == 0)
        return;
    r->status = rc == MF_PROTO ? 400 : 500;
    r->content_type = "text/plain; charset=utf-8";
    mf_buf_puts(r->body, e.text);
}

void ttl_pages(struct js_status *st, struct monitor *m)
{
    if (monitor_add(m, "/ttlz", get_ttlz, st) != 0)
        log_error("JetStream: no page /ttlz: out of memory");
}
