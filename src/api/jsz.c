/* jsz.c: /jsz and the JSZ requests of the system account: what JetStream holds, as one document.
 *
 * Sums are over all streams, so a page costs O(streams), and O(streams and consumers shown) in
 * bytes.
 */
#include "api_pages.h"

#include "consumer_api.h"

#include "mayfly/clock.h"
#include "mayfly/log.h"

#include <stdlib.h>

#define DEFAULT_LIMIT 1024 /* accounts on a page */

struct jsz_query {
    char *account;
    bool accounts, streams, consumers, direct_consumers, config, leader_only, raft,
        stream_leader_only;
    int64_t offset, limit;
};

/* --- sums ------------------------------------------------------------------------------------- */

struct sums {
    uint64_t streams, consumers, messages, bytes;
};

static void sum_stream(void *arg, struct stream *s)
{
    struct sums *t = arg;
    struct stream_state st;

    stream_state(s, &st);
    t->streams++;
    t->consumers += api_consumer_count(s);
    t->messages += st.msgs;
    t->bytes += st.bytes;
}

static int by_name(const void *a, const void *b)
{
    struct api_account *const *x = a, *const *y = b;

    return strcmp(account_name((*x)->account), account_name((*y)->account));
}

int api_enabled_accounts(struct api *a, struct api_account ***out, size_t *n)
{
    struct api_account **at;
    struct mf_list *pos;
    size_t count = 0;

    mf_list_each(pos, &a->list) count++;
    at = calloc(count == 0 ? 1 : count, sizeof *at);
    if (at == NULL)
        return MF_NOMEM;
    count = 0;
    mf_list_each(pos, &a->list)
    {
        struct api_account *aa = mf_container(pos, struct api_account, link);
        if (aa->catalog != NULL)
            at[count++] = aa;
    }
    if (count > 1)
        qsort(at, count, sizeof *at, by_name);
    *out = at;
    *n = count;
    return 0;
}

/* --- one account ------------------------------------------------------------------------------ */

struct detail {
    struct jsonw *w;
    struct api_account *aa;
    const struct jsz_query *q;
    bool direct; /* consumers_write(): those that mirrors and sources read with, or the others */
    size_t shown;
};

static void consumer_write(void *arg, struct consumer *c)
{
    struct detail *d = arg;

    if (consumer_config(c)->direct != d->direct)
        return;
    if (d->shown++ == 0)
        jsonw_array(d->w, d->direct ? "direct_consumer_detail" : "consumer_detail");
    consumer_detail_json_write(d->w, c, api_now_ns(d->aa->api), d->q->config);
}

/* A list that would be empty is left out, as there.  O(consumers of the stream). */
static void consumers_write(const struct detail *of, struct stream *s, bool direct)
{
    struct detail d = {of->w, of->aa, of->q, direct, 0};

    if (api_consumers(s) == NULL)
        return;
    consumers_each(api_consumers(s), consumer_write, &d);
    if (d.shown > 0)
        jsonw_end(d.w);
}

static void stream_write(void *arg, struct stream *s)
{
    struct detail *d = arg;
    struct jsonw *w = d->w;

    jsonw_object(w, NULL);
    jsonw_str(w, "name", stream_name(s));
    jsonw_time(w, "created", stream_created_ns(s));
    jsonw_object(w, "cluster");
    jsonw_str(w, "leader", d->aa->api->setup.server_name);
    jsonw_end(w);
    if (d->q->config)
        config_json_write(w, "config", stream_config(s), false);
    state_json_write(w, "state", s);
    if (d->q->consumers)
        consumers_write(d, s, false);
    if (d->q->consumers && d->q->direct_consumers) /* only beside the others: nats-server's way */
        consumers_write(d, s, true);
    origins_json_write(w, s);
    jsonw_end(w);
}

/* With its key in a $SYS answer, without one in a list.  What an account may have is shown as what
 * is reserved for it, without a limit as 2^64-1: nats-server's way. */
static void account_write(struct jsonw *w, const char *key, struct api_account *aa,
                          const struct jsz_query *q)
{
    struct detail d = {w, aa, q, false, 0};

    jsonw_object(w, key);
    jsonw_str(w, "name", account_name(aa->account));
    jsonw_str(w, "id", account_name(aa->account));
    jsonw_i64(w, "memory", aa->usage.memory);
    jsonw_i64(w, "storage", aa->usage.file);
    jsonw_u64(w, "reserved_memory", (uint64_t)aa->limits->max_memory);
    jsonw_u64(w, "reserved_storage", (uint64_t)aa->limits->max_store);
    jsonw_i64(w, "accounts", 0);
    jsonw_i64(w, "ha_assets", 0);
    jsonw_object(w, "api");
    jsonw_i64(w, "level", 0);
    jsonw_u64(w, "total", aa->api_total);
    jsonw_u64(w, "errors", aa->api_errors);
    jsonw_end(w);
    if (q->streams && catalog_count(aa->catalog) > 0) {
        jsonw_array(w, "stream_detail");
        catalog_each(aa->catalog, MF_SLICE_NONE, stream_write, &d);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* --- the document ----------------------------------------------------------------------------- */

/* Those to show are [*from, *end) of the n.  One that is named and there goes before all else. */
static void choose(const struct jsz_query *q, struct api_account *const *at, size_t n, size_t *from,
                   size_t *end)
{
    int64_t limit = q->limit == 0 ? DEFAULT_LIMIT : q->limit;
    bool named = q->account != NULL && *q->account != '\0';

    *from = *end = 0;
    for (size_t i = 0; named && i < n; i++) {
        if (strcmp(account_name(at[i]->account), q->account) == 0) {
            *from = i;
            *end = i + 1;
            return;
        }
    }
    if (!q->accounts && (!q->streams || named))
        return;
    *end = n;
    if (limit < 0) /* nats-server: all of them, whatever the offset */
        return;
    *from = q->offset <= 0 ? 0 : (uint64_t)q->offset > n ? n : (size_t)q->offset;
    if ((uint64_t)limit < n - *from)
        *end = *from + (size_t)limit;
}

static void sums_write(struct jsonw *w, const struct sums *t, bool raft)
{
    jsonw_u64(w, "streams", t->streams);
    if (raft && t->streams > 0)
        jsonw_u64(w, "streams_leader", t->streams);
    jsonw_u64(w, "consumers", t->consumers);
    if (raft && t->consumers > 0)
        jsonw_u64(w, "consumers_leader", t->consumers);
    jsonw_u64(w, "messages", t->messages);
    jsonw_u64(w, "bytes", t->bytes);
}

static int jsz_write(struct api *a, struct jsz_query *q, struct jsonw *w, const char *key,
                     struct mf_error *e)
{
    struct api_account **at;
    struct sums t = {0, 0, 0, 0};
    size_t n, from, end;

    if (api_enabled_accounts(a, &at, &n) != 0)
        return mf_fail(e, MF_NOMEM, "accounts");
    q->streams = q->streams || q->consumers;
    choose(q, at, n, &from, &end);
    for (size_t i = 0; i < n; i++)
        catalog_each(at[i]->catalog, MF_SLICE_NONE, sum_stream, &t);
    jsonw_object(w, key);
    api_stats_write(a, w);
    jsonw_str(w, "server_id", a->setup.server_id);
    jsonw_time(w, "now", clock_wall_ns());
    api_config_write(a, w, true);
    api_limits_write(a, w);
    sums_write(w, &t, q->raft);
    if (from < end) {
        jsonw_array(w, "account_details");
        for (size_t i = from; i < end; i++)
            account_write(w, NULL, at[i], q);
        jsonw_end(w);
    }
    jsonw_u64(w, "total", n);
    jsonw_end(w);
    free(at);
    return 0;
}

/* --- asked by a message ----------------------------------------------------------------------- */

#define FIELD(name_, kind_, member_)                                                               \
    {                                                                                              \
        .name = name_, .kind = kind_, .offset = offsetof(struct jsz_query, member_)                \
    }
static const struct json_field fields[] = {
    FIELD("account", JSON_STR, account),
    FIELD("accounts", JSON_BOOL, accounts),
    FIELD("streams", JSON_BOOL, streams),
    FIELD("consumer", JSON_BOOL, consumers),
    FIELD("direct_consumer", JSON_BOOL, direct_consumers),
    FIELD("config", JSON_BOOL, config),
    FIELD("leader_only", JSON_BOOL, leader_only),
    FIELD("offset", JSON_INT, offset),
    FIELD("limit", JSON_INT, limit),
    FIELD("raft", JSON_BOOL, raft),
    FIELD("stream_leader_only", JSON_BOOL, stream_leader_only),
};
static const struct json_type query_type = {"JszEventOptions", sizeof(struct jsz_query), fields,
                                            MF_COUNT(fields)};

static int one_account(struct api *a, const char *name, const struct jsz_query *q, struct jsonw *w,
                       const char *key, struct mf_error *e)
{
    struct account *acc = accounts_get(a->accounts, name);
    struct api_account *aa = acc == NULL ? NULL : api_account_of(a, acc);

    if (acc == NULL)
        return mf_fail(e, MF_NOTFOUND, "account \"%s\" not found", name);
    if (aa == NULL || aa->catalog == NULL)
        return mf_fail(e, MF_UNSUPPORTED, "account \"%s\" not jetstream enabled", name);
    account_write(w, key, aa, q);
    return 0;
}

int api_jsz(struct api *a, struct mf_slice options, const char *account, struct jsonw *w,
            const char *key, struct mf_error *e)
{
    struct jsz_query q = {.account = NULL};
    struct arena mem = {.chunks = NULL};
    int rc = 0;

    if (options.len > 0)
        rc = json_unmarshal(options, &query_type, &q, &mem, e);
    if (rc == MF_INVAL)
        rc = e->code = MF_PROTO;
    if (rc == 0)
        rc = account == NULL ? jsz_write(a, &q, w, key, e) : one_account(a, account, &q, w, key, e);
    arena_fini(&mem);
    return rc;
}

/* --- asked over HTTP -------------------------------------------------------------------------- */

static int read_params(const struct monitor_request *p, struct monitor_reply *r,
                       struct jsz_query *q)
{
    if (monitor_param_bool(p, r, "accounts", &q->accounts) != 0 ||
        monitor_param_bool(p, r, "streams", &q->streams) != 0 ||
        monitor_param_bool(p, r, "consumers", &q->consumers) != 0 ||
        monitor_param_bool(p, r, "direct-consumers", &q->direct_consumers) != 0 ||
        monitor_param_bool(p, r, "config", &q->config) != 0 ||
        monitor_param_i64(p, r, "offset", &q->offset) != 0 ||
        monitor_param_i64(p, r, "limit", &q->limit) != 0 ||
        monitor_param_bool(p, r, "leader-only", &q->leader_only) != 0 ||
        monitor_param_bool(p, r, "raft", &q->raft) != 0 ||
        monitor_param_bool(p, r, "stream-leader-only", &q->stream_leader_only) != 0)
        return MF_INVAL;
    return 0;
}

static void page(void *arg, const struct monitor_request *p, struct monitor_reply *r)
{
    const char *account = monitor_param(p, "acc");
    struct jsz_query q = {.account = mf_slice_dup(mf_str(account))};
    struct mf_error e = {MF_NOMEM, "out of memory"};
    struct jsonw w;

    if (read_params(p, r, &q) == 0) {
        jsonw_begin(&w, r->body, JSONW_PRETTY);
        if (q.account == NULL || jsz_write(arg, &q, &w, NULL, &e) != 0) {
            mf_buf_clear(r->body);
            r->status = 500;
            r->content_type = "text/plain; charset=utf-8";
            mf_buf_puts(r->body, e.text);
        }
    }
    free(q.account);
}

void api_pages(struct api *a, struct monitor *m)
{
    if (monitor_add(m, "/jsz", page, a) != 0)
        log_error("JetStream: no page /jsz: out of memory");
    ttl_pages(a, m);
}
