/* ttl_page.c: /ttlz and the TTLZ request of the system account: the effective TTL policy of all
 * streams, and their counts, in pages.
 *
 * Accounts by name, streams by name.  O(streams) to find a page, and at most LIMIT_MAX streams on
 * it; no message is looked at: what looks ahead is STATS and FORECAST, one stream at a time. */
#include "api_pages.h"
#include "ttl_numbers.h"

#include "mayfly/clock.h"
#include "mayfly/log.h"

#include <stdlib.h>

#define LIMIT     100
#define LIMIT_MAX 1000

struct ttlz_query {
    const char *account, *stream; /* NULL or "": all */
    int64_t offset, limit;
};
struct page {
    const struct ttlz_query *q;
    struct jsonw *w;
    const char *account;
    int64_t at; /* streams seen so far that were asked for */
};

static bool named(const char *text)
{
    return text != NULL && *text != '\0';
}

static void write_counts(struct jsonw *w, struct stream *s)
{
    struct ttl_numbers n = {.expired = 0};

    ttl_numbers_add(&n, s);
    ttl_numbers_add_next(&n, stream_next_expiry(s));
    jsonw_object(w, "stats");
    jsonw_u64(w, "items_with_ttl", n.lives.with);
    jsonw_u64(w, "items_without_ttl", n.lives.without);
    jsonw_u64(w, "items_infinite_ttl", n.lives.infinite);
    jsonw_u64(w, "expired_last_hour", n.hour.expired);
    jsonw_u64(w, "total_bytes", n.bytes);
    ttl_numbers_write_past(w, &n);
    ttl_numbers_write_more(w, &n);
    ttl_numbers_write_totals(w, &n);
    jsonw_end(w);
}

static void visit_stream(void *arg, struct stream *s)
{
    struct page *p = arg;
    const struct ttlz_query *q = p->q;

    if (named(q->stream) && strcmp(stream_name(s), q->stream) != 0)
        return;
    if (p->at >= q->offset && p->at - q->offset < q->limit) {
        jsonw_object(p->w, NULL);
        jsonw_str(p->w, "account", p->account);
        ttl_json_policy(p->w, s, stream_policy(s));
        write_counts(p->w, s);
        jsonw_end(p->w);
    }
    p->at++;
}

static int ttlz_write(struct api *a, const struct ttlz_query *q, struct jsonw *w, const char *key,
                      struct mf_error *e)
{
    struct page p = {.q = q, .w = w};
    struct api_account **at;
    size_t n;

    if (q->offset < 0 || q->limit < 1 || q->limit > LIMIT_MAX)
        return mf_fail(e, MF_PROTO, "offset must be 0 or more, limit from 1 to %d", LIMIT_MAX);
    if (api_enabled_accounts(a, &at, &n) != 0)
        return mf_fail(e, MF_NOMEM, "accounts");
    jsonw_object(w, key);
    jsonw_str(w, "server_id", a->setup.server_id);
    jsonw_time(w, "now", api_now_ns(a));
    jsonw_i64(w, "offset", q->offset);
    jsonw_i64(w, "limit", q->limit);
    jsonw_array(w, "streams");
    for (size_t i = 0; i < n; i++) {
        p.account = account_name(at[i]->account);
        if (!named(q->account) || strcmp(p.account, q->account) == 0)
            catalog_each(at[i]->catalog, MF_SLICE_NONE, visit_stream, &p);
    }
    jsonw_end(w);
    jsonw_i64(w, "total", p.at);
    jsonw_end(w);
    free(at);
    return 0;
}

/* --- asked by a message ----------------------------------------------------------------------- */

static const struct json_field fields[] = {
    {.name = "account", .kind = JSON_STR, .offset = offsetof(struct ttlz_query, account)},
    {.name = "stream", .kind = JSON_STR, .offset = offsetof(struct ttlz_query, stream)},
    {.name = "offset", .kind = JSON_INT, .offset = offsetof(struct ttlz_query, offset)},
    {.name = "limit", .kind = JSON_INT, .offset = offsetof(struct ttlz_query, limit)},
};
static const struct json_type query_type = {"TtlzEventOptions", sizeof(struct ttlz_query), fields,
                                            MF_COUNT(fields)};

int api_ttlz(struct api *a, struct mf_slice options, struct jsonw *w, const char *key,
             struct mf_error *e)
{
    struct ttlz_query q = {.limit = LIMIT};
    struct arena mem = {.chunks = NULL};
    int rc = 0;

    if (options.len > 0)
        rc = json_unmarshal(options, &query_type, &q, &mem, e);
    if (rc == MF_INVAL)
        rc = e->code = MF_PROTO;
    if (rc == 0)
        rc = ttlz_write(a, &q, w, key, e);
    arena_fini(&mem);
    return rc;
}

/* --- asked over HTTP -------------------------------------------------------------------------- */

static void get_ttlz(void *arg, const struct monitor_request *p, struct monitor_reply *r)
{
    struct ttlz_query q = {
        .account = monitor_param(p, "acc"), .stream = monitor_param(p, "stream"), .limit = LIMIT};
    struct mf_error e;
    struct jsonw w;
    int rc;

    if (monitor_param_i64(p, r, "offset", &q.offset) != 0 ||
        monitor_param_i64(p, r, "limit", &q.limit) != 0)
        return;
    jsonw_begin(&w, r->body, JSONW_PRETTY);
    rc = ttlz_write(arg, &q, &w, NULL, &e);
    if (rc == 0)
        return;
    mf_buf_clear(r->body);
    r->status = rc == MF_PROTO ? 400 : 500;
    r->content_type = "text/plain; charset=utf-8";
    mf_buf_puts(r->body, e.text);
}

void ttl_pages(struct api *a, struct monitor *m)
{
    if (monitor_add(m, "/ttlz", get_ttlz, a) != 0)
        log_error("JetStream: no page /ttlz: out of memory");
}
