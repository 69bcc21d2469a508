/* jsz.c: /jsz and the JSZ requests of the system account: all of JetStream as one document, made in
 * slices.
 *
 * Sums are over all streams, so a page costs O(streams), and O(streams and consumers shown) in
 * bytes.  Sums are of the time before the list: streams added or removed while it is written change
 * the list alone. */
#include "status/js_pages_impl.h"

#include "api/consumer_json.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define DEFAULT_LIMIT 1024 /* accounts on a page */

struct jsz_query {
    char *account;
    char *lag_stream; /* lagging: of this stream alone; NULL or "": of all */
    int64_t lagging;  /* Mayfly's own: so many consumers with the greatest lag */
    bool accounts, streams, consumers, direct_consumers, config, leader_only, raft,
        stream_leader_only;
    int64_t offset, limit;
};

/* --- a document under way --------------------------------------------------------------------- */

struct sums {
    uint64_t streams, consumers, messages, bytes;
};

struct jsz {
    struct js_status *st;
    struct jsz_query q;
    struct arena mem; /* of the query */
    const char *key;
    struct js_walk walk;
    struct sums sums;
    size_t end; /* the accounts to show end here */
    /* Objects that are open in the document. */
    bool list, account, streams, stream;
    bool direct, consumers; /* which consumers are walked; their list is open */
    int64_t now_ns;
    struct jsz_lag *lag; /* NULL: not asked for */
};

static void jsz_free(void *state)
{
    struct jsz *z = state;

    js_walk_fini(&z->walk);
    arena_fini(&z->mem);
    jsz_lag_free(z->lag);
    free(z);
}

/* Sums are over all streams, shown or not. */
static bool sum_step(struct doc *d, void *state)
{
    struct jsz *z = state;
    struct catalog_item x;
    struct stream_state st;

    if (!js_walk_item(&z->walk, d, &x)) {
        js_walk_next_account(&z->walk);
        return z->walk.at < z->walk.n;
    }
    if (x.stream == NULL)
        return true;
    stream_state(x.stream, &st);
    z->sums.streams++;
    z->sums.consumers += js_consumer_count(x.stream);
    z->sums.messages += st.msgs;
    z->sums.bytes += st.bytes;
    return true;
}

/* --- one account ------------------------------------------------------------------------------ */

/* With its key in a $SYS answer, without one in a list.  As in nats-server, the limit of an account
 * is shown as reserved, 2^64-1 without a limit. */
static void account_open(struct jsz *z, struct jsonw *w, const struct js_account *ja,
                         const char *key)
{
    jsonw_object(w, key);
    jsonw_str(w, "name", account_tag(ja->account));
    jsonw_str(w, "id", account_name(ja->account));
    jsonw_i64(w, "memory", ja->usage.memory);
    jsonw_i64(w, "storage", ja->usage.file);
    jsonw_u64(w, "reserved_memory", ja->ntiers > 0 ? 0 : (uint64_t)ja->limits->max_memory);
    jsonw_u64(w, "reserved_storage", ja->ntiers > 0 ? 0 : (uint64_t)ja->limits->max_store);
    jsonw_i64(w, "accounts", 0);
    jsonw_i64(w, "ha_assets", 0);
    jsonw_object(w, "api");
    jsonw_i64(w, "level", 0);
    jsonw_u64(w, "total", api_account(ja)->total);
    jsonw_u64(w, "errors", api_account(ja)->errors);
    jsonw_end(w);
    z->account = true;
    z->streams = z->q.streams && catalog_count(ja->catalog) > 0;
    if (z->streams)
        jsonw_array(w, "stream_detail");
}

static void account_close(struct jsz *z, struct jsonw *w)
{
    if (z->streams)
        jsonw_end(w);
    jsonw_end(w);
    z->account = z->streams = false;
    js_walk_next_account(&z->walk);
}

static void stream_open(struct jsz *z, struct jsonw *w, struct stream *s)
{
    jsonw_object(w, NULL);
    jsonw_str(w, "name", stream_name(s));
    jsonw_time(w, "created", stream_created_ns(s));
    jsonw_object(w, "cluster");
    jsonw_str(w, "leader", z->st->js->setup.server_name);
    jsonw_end(w);
    if (z->q.config)
        config_json_write(w, "config", stream_config(s), false);
    state_json_write(w, "state", s);
    z->stream = true;
    z->direct = false;
}

/* s NULL: the stream was deleted, and the rest of it is unknown. */
static void stream_close(struct jsz *z, struct jsonw *w, struct stream *s)
{
    if (s != NULL)
        origins_json_write(w, s);
    jsonw_end(w);
    z->stream = false;
}

/* A list that would be empty is left out, as there. */
static void consumer_write(struct jsz *z, struct jsonw *w, struct consumer *c)
{
    if (consumer_config(c)->direct != z->direct)
        return;
    if (!z->consumers)
        jsonw_array(w, z->direct ? "direct_consumer_detail" : "consumer_detail");
    z->consumers = true;
    consumer_detail_json_write(w, c, z->now_ns, z->q.config);
}

/* One consumer of the stream that is open, or its end. */
static void stream_step(struct jsz *z, struct doc *d)
{
    struct stream *s = js_walk_stream(&z->walk, d);
    struct consumer *c = s == NULL || !z->q.consumers ? NULL : js_walk_consumer(&z->walk, s);

    if (c != NULL) {
        consumer_write(z, &d->w, c);
        return;
    }
    if (z->consumers)
        jsonw_end(&d->w);
    z->consumers = false;
    if (s != NULL && z->q.consumers && z->q.direct_consumers && !z->direct) {
        z->direct = true; /* only beside the others: nats-server's way */
        z->walk.consumer[0] = '\0';
        return;
    }
    stream_close(z, &d->w, s);
}

/* One stream of the account that is open, or a piece of one; false: no more. */
static bool account_step(struct jsz *z, struct doc *d)
{
    struct catalog_item x;

    if (z->stream) {
        stream_step(z, d);
        return true;
    }
    if (!z->streams || !js_walk_item(&z->walk, d, &x))
        return false;
    if (x.stream == NULL)
        return true;
    stream_open(z, &d->w, x.stream);
    if (!z->q.consumers)
        stream_close(z, &d->w, x.stream);
    return true;
}

static bool accounts_step(struct doc *d, void *state)
{
    struct jsz *z = state;
    struct js_account *ja;

    if (z->account) {
        if (!account_step(z, d))
            account_close(z, &d->w);
        return true;
    }
    if (z->walk.at >= z->end)
        return false;
    ja = js_walk_account(&z->walk, d);
    if (ja == NULL)
        js_walk_next_account(&z->walk);
    else
        account_open(z, &d->w, ja, z->list ? NULL : z->key);
    return true;
}

/* --- the document ----------------------------------------------------------------------------- */

/* Accounts [*from, *end) of the n are shown.  An account named in the request takes precedence. */
static void choose_accounts(const struct jsz_query *q, const struct js_walk *k, size_t *from,
                            size_t *end)
{
    int64_t limit = q->limit == 0 ? DEFAULT_LIMIT : q->limit;
    bool named = q->account != NULL && *q->account != '\0';

    *from = *end = 0;
    for (size_t i = 0; named && i < k->n; i++) {
        if (strcmp(k->accounts[i], q->account) == 0) {
            *from = i;
            *end = i + 1;
            return;
        }
    }
    if (!q->accounts && (!q->streams || named))
        return;
    *end = k->n;
    if (limit < 0) /* nats-server: all of them, whatever the offset */
        return;
    *from = q->offset <= 0 ? 0 : (uint64_t)q->offset > k->n ? k->n : (size_t)q->offset;
    if ((uint64_t)limit < k->n - *from)
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

static bool begin_step(struct doc *d, void *state)
{
    struct jsz *z = state;
    struct js_status *st = z->st;
    struct jsonw *w = &d->w;
    size_t from;

    choose_accounts(&z->q, &z->walk, &from, &z->end);
    js_walk_rewind(&z->walk, from);
    jsonw_object(w, z->key);
    js_stats_write(st, w);
    jsonw_str(w, "server_id", st->js->setup.server_id);
    jsonw_time(w, "now", clock_wall_ns());
    js_config_write(st, w, true);
    js_limits_write(st, w);
    sums_write(w, &z->sums, z->q.raft);
    z->list = from < z->end;
    if (z->list)
        jsonw_array(w, "account_details");
    return false;
}

static bool list_end_step(struct doc *d, void *state)
{
    struct jsz *z = state;

    if (z->list)
        jsonw_end(&d->w);
    js_walk_rewind(&z->walk, 0);
    if (z->q.lagging > 0 && (z->lag = jsz_lag_new(&z->walk, z->q.account, z->q.lag_stream,
                                                  (size_t)z->q.lagging)) == NULL)
        doc_fail(d, MF_NOMEM, "out of memory");
    return false;
}

static bool lag_collect_step(struct doc *d, void *state)
{
    struct jsz *z = state;

    return z->lag != NULL && jsz_lag_collect(z->lag, d);
}

static bool lag_write_step(struct doc *d, void *state)
{
    struct jsz *z = state;

    return z->lag != NULL && jsz_lag_write(z->lag, d, z->now_ns);
}

static bool end_step(struct doc *d, void *state)
{
    struct jsz *z = state;

    jsonw_u64(&d->w, "total", z->walk.n);
    jsonw_end(&d->w);
    return false;
}

static const doc_step all_steps[] = {sum_step,         begin_step,     accounts_step, list_end_step,
                                     lag_collect_step, lag_write_step, end_step,      NULL};
static const doc_step one_steps[] = {accounts_step, NULL};

/* account NULL: the whole document.  z may be NULL: no memory. */
static void add_steps(struct doc *d, struct jsz *z, const char *account, const char *key)
{
    if (z != NULL && (z->mem.failed || js_walk_init(&z->walk, z->st, account) != 0)) {
        jsz_free(z);
        z = NULL;
    }
    if (z != NULL) {
        z->key = key;
        z->end = z->walk.n;
        z->now_ns = jetstream_now_ns(z->st->js);
        z->q.streams = z->q.streams || (account == NULL && z->q.consumers);
    }
    doc_add(d, account == NULL ? all_steps : one_steps, z, jsz_free);
}

static struct jsz *jsz_new(struct js_status *st)
{
    struct jsz *z = calloc(1, sizeof *z);

    if (z != NULL)
        z->st = st;
    return z;
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

static int check_account(struct js_status *st, const char *name, struct mf_error *e)
{
    struct account *acc = accounts_get(st->js->accounts, name);
    struct js_account *ja = acc == NULL ? NULL : js_account_of(st->js, acc);

    if (acc == NULL)
        return mf_fail(e, MF_NOTFOUND, "account \"%s\" not found", name);
    if (ja == NULL || ja->catalog == NULL)
        return mf_fail(e, MF_UNSUPPORTED, "account \"%s\" not jetstream enabled", name);
    return 0;
}

int js_status_jsz(struct js_status *st, struct mf_slice options, const char *account, struct doc *d,
                  const char *key, struct mf_error *e)
{
    struct jsz *z = jsz_new(st);
    int rc = z == NULL ? mf_fail(e, MF_NOMEM, "out of memory") : 0;

    if (rc == 0 && options.len > 0)
        rc = json_unmarshal(options, &query_type, &z->q, &z->mem, e);
    if (rc == MF_INVAL)
        rc = e->code = MF_PROTO;
    if (rc == 0 && account != NULL)
        rc = check_account(st, account, e);
    if (rc == 0)
        add_steps(d, z, account, key);
    else if (z != NULL)
        jsz_free(z);
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
        monitor_param_i64(p, r, "lagging", &q->lagging) != 0 ||
        monitor_param_bool(p, r, "leader-only", &q->leader_only) != 0 ||
        monitor_param_bool(p, r, "raft", &q->raft) != 0 ||
        monitor_param_bool(p, r, "stream-leader-only", &q->stream_leader_only) != 0)
        return MF_INVAL;
    if (q->lagging >= 0 && q->lagging <= JSZ_LAG_MAX)
        return 0;
    r->status = 400;
    r->content_type = "text/plain; charset=utf-8";
    mf_buf_printf(r->body, "lagging must be 1 to %d consumers", JSZ_LAG_MAX);
    return MF_INVAL;
}

static void serve_page(void *arg, const struct monitor_request *p, struct monitor_reply *r)
{
    struct jsz_query q = {.account = NULL};
    struct jsz *z;

    if (read_params(p, r, &q) != 0)
        return;
    z = jsz_new(arg);
    if (z != NULL) {
        z->q = q;
        z->q.account = arena_str(&z->mem, monitor_param(p, "acc"));
        z->q.lag_stream = arena_str(&z->mem, monitor_param(p, "stream"));
    }
    add_steps(r->doc, z, NULL, NULL);
}

void js_status_pages(struct js_status *st, struct monitor *m)
{
    if (monitor_add(m, "/jsz", serve_page, st) != 0)
        log_error("JetStream: no page /jsz: out of memory");
    ttl_pages(st, m);
}
