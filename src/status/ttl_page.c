/* ttl_page.c: /ttlz and the TTLZ request of the system account: the effective TTL policy of all
 * streams, and their counts, in pages.
 *
 * Accounts by name, streams by name, in slices.  O(streams) to find a page, and at most LIMIT_MAX
 * streams on it.  No message is visited: forecasts are in STATS and FORECAST, one stream at a time.
 */
#include "status/js_pages_impl.h"
#include "api/ttl_numbers.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define LIMIT     100
#define LIMIT_MAX 1000

struct ttlz_query {
    char *account, *stream; /* NULL or "": all */
    int64_t offset, limit;
};
struct ttlz { /* a document under way */
    struct js_status *st;
    struct ttlz_query q;
    struct arena mem; /* of the query */
    const char *key;
    struct js_walk walk;
    int64_t at; /* streams seen so far that were asked for */
};

static bool is_given(const char *text)
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

static void ttlz_free(void *state)
{
    struct ttlz *z = state;

    js_walk_fini(&z->walk);
    arena_fini(&z->mem);
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

static void visit_stream(struct ttlz *z, struct jsonw *w, struct stream *s)
{
    const struct ttlz_query *q = &z->q;

    if (is_given(q->stream) && strcmp(stream_name(s), q->stream) != 0)
        return;
    if (z->at >= q->offset && z->at - q->offset < q->limit) {
        jsonw_object(w, NULL);
        jsonw_str(w, "account", z->walk.accounts[z->walk.at]);
        ttl_json_policy(w, s, stream_policy(s));
        write_counts(w, s);
        jsonw_end(w);
    }
    z->at++;
}

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

static bool streams_step(struct doc *d, void *state)
{
    struct ttlz *z = state;
    struct js_walk *k = &z->walk;
    struct catalog_item x;

    if (k->at >= k->n)
        return false;
    if ((is_given(z->q.account) && strcmp(k->accounts[k->at], z->q.account) != 0) ||
        !js_walk_item(k, d, &x))
        js_walk_next_account(k);
    else if (x.stream != NULL)
        visit_stream(z, &d->w, x.stream);
    return true;
}

static bool end_step(struct doc *d, void *state)
{
    const struct ttlz *z = state;

    jsonw_end(&d->w);
    jsonw_i64(&d->w, "total", z->at);
    jsonw_end(&d->w);
    return false;
}

/* Takes z over, which may be NULL.  MF_PROTO: the query is wrong. */
static int add_steps(struct doc *d, struct ttlz *z, const char *key, struct mf_error *e)
{
    static const doc_step steps[] = {begin_step, streams_step, end_step, NULL};
    int rc = 0;

    if (z == NULL || z->mem.failed || js_walk_init(&z->walk, z->st, NULL) != 0)
        rc = mf_fail(e, MF_NOMEM, "accounts");
    else if (z->q.offset < 0 || z->q.limit < 1 || z->q.limit > LIMIT_MAX)
        rc = mf_fail(e, MF_PROTO, "offset must be 0 or more, limit from 1 to %d", LIMIT_MAX);
    if (rc == 0) {
        z->key = key;
        doc_add(d, steps, z, ttlz_free);
    } else if (z != NULL) {
        ttlz_free(z);
    }
    return rc;
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

static void get_ttlz(void *arg, const struct monitor_request *p, struct monitor_reply *r)
{
    struct ttlz_query q = {.limit = LIMIT};
    struct ttlz *z;
    struct mf_error e;
    int rc;

    if (monitor_param_i64(p, r, "offset", &q.offset) != 0 ||
        monitor_param_i64(p, r, "limit", &q.limit) != 0)
        return;
    z = ttlz_new(arg);
    if (z != NULL) {
        z->q = q;
        z->q.account = arena_str(&z->mem, monitor_param(p, "acc"));
        z->q.stream = arena_str(&z->mem, monitor_param(p, "stream"));
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
