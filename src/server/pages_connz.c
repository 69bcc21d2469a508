/* pages_connz.c: /connz: connections, open or closed, filtered, sorted and paged.
 * O(connections) to collect, O(n log n) to sort, O(shown) to render. */
#include "pages.h"

#include "mayfly/clock.h"
#include "mayfly/subject.h"

#include <stdio.h>
#include <stdlib.h>

struct row {
    struct conn_info info;
    const struct client *open; /* one of the two is set */
    const struct closed_client *closed;
    uint64_t order; /* what it is sorted by; equal ones by cid */
};
struct rows {
    struct row *at;
    size_t n;
    uint64_t total; /* in the account and state asked for, whatever the other filters say */
};

/* --- sorting ---------------------------------------------------------------------------------- */

enum sort_key {
    SORT_CID,
    SORT_START,
    SORT_SUBS,
    SORT_PENDING,
    SORT_MSGS_TO,
    SORT_MSGS_FROM,
    SORT_BYTES_TO,
    SORT_BYTES_FROM,
    SORT_LAST,
    SORT_IDLE,
    SORT_UPTIME,
    SORT_STOP,
    SORT_REASON,
    SORT_RTT,
};
static const char *const sort_names[] = {
    "cid",        "start", "subs", "pending", "msgs_to", "msgs_from", "bytes_to",
    "bytes_from", "last",  "idle", "uptime",  "stop",    "reason",    "rtt"};

static int sort_parse(const struct connz_query *q, enum sort_key *out, struct mf_error *e)
{
    *out = SORT_CID;
    if (q->sort == NULL || q->sort[0] == '\0')
        return 0;
    for (size_t i = 0; i < MF_COUNT(sort_names); i++)
        if (strcmp(q->sort, sort_names[i]) == 0) {
            *out = (enum sort_key)i;
            if ((*out == SORT_STOP || *out == SORT_REASON) && q->state != CONNZ_CLOSED)
                return mf_fail(e, MF_INVAL, "sort by %s only valid on closed connections", q->sort);
            return 0;
        }
    return mf_fail(e, MF_INVAL, "invalid sorting option: %s", q->sort);
}

static uint64_t sort_value(const struct conn_info *i, enum sort_key key, int64_t now)
{
    switch (key) {
    case SORT_CID:
    case SORT_START: /* cids are given in the order of arrival */
    case SORT_REASON:
        return i->cid;
    case SORT_SUBS:
        return i->nsubs;
    case SORT_PENDING:
        return i->pending;
    case SORT_MSGS_TO:
        return i->out_msgs;
    case SORT_MSGS_FROM:
        return i->in_msgs;
    case SORT_BYTES_TO:
        return i->out_bytes;
    case SORT_BYTES_FROM:
        return i->in_bytes;
    case SORT_LAST:
        return (uint64_t)i->last_ns;
    case SORT_IDLE:
        return (uint64_t)(now - i->last_ns);
    case SORT_UPTIME:
        return (uint64_t)((i->stop_ns != 0 ? i->stop_ns : now) - i->start_ns);
    case SORT_STOP:
        return (uint64_t)i->stop_ns;
    case SORT_RTT:
        return (uint64_t)i->rtt_ns;
    }
    return 0;
}

static int by_cid(const struct row *a, const struct row *b)
{
    return a->info.cid < b->info.cid ? -1 : a->info.cid > b->info.cid;
}
static int ascending(const void *x, const void *y)
{
    const struct row *a = x, *b = y;

    return a->order != b->order ? (a->order < b->order ? -1 : 1) : by_cid(a, b);
}
static int descending(const void *x, const void *y)
{
    const struct row *a = x, *b = y;

    return a->order != b->order ? (a->order > b->order ? -1 : 1) : by_cid(a, b);
}
static int by_reason(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    int d = strcmp(a->info.reason, b->info.reason);

    return d != 0 ? d : by_cid(a, b);
}

static void rows_sort(struct rows *r, enum sort_key key)
{
    int64_t now = clock_wall_ns();
    bool up = key == SORT_CID || key == SORT_START || key == SORT_UPTIME;

    for (size_t i = 0; i < r->n; i++)
        r->at[i].order = sort_value(&r->at[i].info, key, now);
    qsort(r->at, r->n, sizeof *r->at, key == SORT_REASON ? by_reason : up ? ascending : descending);
}

/* --- collecting ------------------------------------------------------------------------------- */

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}
static bool wants_text(const char *filter, const char *value)
{
    return !is_set(filter) || (value != NULL && strcmp(filter, value) == 0);
}

/* Could a message on the filter's subjects reach any subscription of this client? */
static bool has_subject(const struct client *c, const char *filter)
{
    if (!is_set(filter) || strcmp(filter, ">") == 0)
        return true;
    for (size_t i = 0; i < c->subs.cap; i++)
        for (struct table_node *n = c->subs.slot[i]; n != NULL; n = n->next)
            if (subject_overlap(mf_container(n, struct sub, node)->rs.pattern, mf_str(filter)))
                return true;
    return false;
}

static bool wanted(const struct connz_query *q, const struct row *row)
{
    if (q->cid != 0)
        return row->info.cid == q->cid;
    return wants_text(q->user, row->info.user) && !is_set(q->mqtt_client) &&
           (row->open == NULL || has_subject(row->open, q->filter_subject));
}

static void rows_take(struct rows *r, const struct connz_query *q, const struct row *row)
{
    if (!wants_text(q->account, row->info.account))
        return;
    r->total++;
    if (wanted(q, row))
        r->at[r->n++] = *row;
}

static int rows_collect(struct server *s, const struct connz_query *q, struct rows *r,
                        struct mf_error *e)
{
    struct mf_list *pos;

    *r = (struct rows){.at = calloc(s->nclients + s->nclosed + 1, sizeof *r->at)};
    if (r->at == NULL)
        return mf_fail(e, MF_NOMEM, "connz");
    if (q->state != CONNZ_CLOSED)
        mf_list_each(pos, &s->clients)
        {
            struct row row = {.open = mf_container(pos, struct client, link)};
            conn_info_of(row.open, &row.info);
            rows_take(r, q, &row);
        }
    if (q->state != CONNZ_OPEN)
        mf_list_each(pos, &s->closed)
        {
            struct row row = {.closed = mf_container(pos, struct closed_client, link)};
            row.info = row.closed->info;
            rows_take(r, q, &row);
        }
    return 0;
}

/* --- rendering -------------------------------------------------------------------------------- */

void page_sub_detail(struct jsonw *w, const char *account, const struct page_sub *sub)
{
    jsonw_object(w, NULL);
    jsonw_opt_str(w, "account", account);
    jsonw_opt_str(w, "account_tag", account);
    jsonw_slice(w, "subject", sub->subject);
    if (sub->queue.len > 0)
        jsonw_slice(w, "qgroup", sub->queue);
    jsonw_slice(w, "sid", sub->sid);
    jsonw_u64(w, "msgs", sub->msgs);
    jsonw_opt_u64(w, "max", sub->max);
    jsonw_u64(w, "cid", sub->cid);
    jsonw_end(w);
}

static void one_sub(struct jsonw *w, const struct connz_query *q, const char *account,
                    const struct page_sub *sub)
{
    if (q->subs_detail)
        page_sub_detail(w, account, sub);
    else
        jsonw_slice(w, NULL, sub->subject);
}

static void open_subs(struct jsonw *w, const struct connz_query *q, const struct client *c)
{
    for (size_t i = 0; i < c->subs.cap; i++)
        for (struct table_node *n = c->subs.slot[i]; n != NULL; n = n->next) {
            struct page_sub sub;
            page_sub_of(mf_container(n, struct sub, node), &sub);
            one_sub(w, q, NULL, &sub);
        }
}

/* Of a closed connection the account is told too, as nats-server does. */
static void closed_subs(struct jsonw *w, const struct connz_query *q, const struct closed_client *k)
{
    for (size_t i = 0; i < k->nsubs; i++) {
        const struct sub_info *u = &k->subs[i];
        struct page_sub sub = {
            mf_str(u->subject), mf_str(u->queue), mf_str(u->sid), u->msgs, u->max, k->info.cid};
        one_sub(w, q, k->info.account, &sub);
    }
}

static void row_subs(struct jsonw *w, const struct connz_query *q, const struct row *r)
{
    if ((!q->subs && !q->subs_detail) || r->info.nsubs == 0)
        return;
    jsonw_array(w, q->subs_detail ? "subscriptions_list_detail" : "subscriptions_list");
    if (r->open != NULL)
        open_subs(w, q, r->open);
    else
        closed_subs(w, q, r->closed);
    jsonw_end(w);
}

static void row_times(struct jsonw *w, const struct conn_info *i, int64_t now)
{
    char text[CLOCK_TEXT];
    int64_t end = i->stop_ns != 0 ? i->stop_ns : now;

    jsonw_time(w, "start", i->start_ns);
    jsonw_time(w, "last_activity", i->last_ns);
    if (i->stop_ns != 0) {
        jsonw_time(w, "stop", i->stop_ns);
        jsonw_opt_str(w, "reason", i->reason);
    }
    jsonw_str(w, "rtt", clock_duration(text, i->rtt_ns));
    jsonw_str(w, "uptime", clock_uptime(text, end - i->start_ns));
    jsonw_str(w, "idle", clock_uptime(text, end - i->last_ns));
}

static void row_traffic(struct jsonw *w, const struct conn_info *i)
{
    jsonw_u64(w, "pending_bytes", i->pending);
    jsonw_u64(w, "in_msgs", i->in_msgs);
    jsonw_u64(w, "out_msgs", i->out_msgs);
    jsonw_u64(w, "in_bytes", i->in_bytes);
    jsonw_u64(w, "out_bytes", i->out_bytes);
    jsonw_opt_u64(w, "stalls", i->stalls);
    jsonw_u64(w, "subscriptions", i->nsubs);
}

static void row_tls(struct jsonw *w, const struct connz_query *q, const struct row *r)
{
    struct net_tls_peer peer;

    jsonw_opt_str(w, "tls_version", r->info.tls_version);
    jsonw_opt_str(w, "tls_cipher_suite", r->info.tls_cipher);
    if (q->auth && r->open != NULL && r->info.tls_version != NULL) {
        net_conn_tls_peer(r->open->conn, &peer);
        if (peer.cert_sha256[0] != '\0') {
            jsonw_array(w, "tls_peer_certs");
            jsonw_object(w, NULL);
            jsonw_opt_str(w, "subject", peer.subject);
            jsonw_opt_str(w, "spki_sha256", peer.spki_sha256);
            jsonw_opt_str(w, "cert_sha256", peer.cert_sha256);
            jsonw_end(w);
            jsonw_end(w);
        }
    }
    jsonw_opt_bool(w, "tls_first", r->info.tls_first);
}

static void row_render(struct jsonw *w, const struct connz_query *q, const struct row *r,
                       int64_t now)
{
    const struct conn_info *i = &r->info;
    bool global = i->account == NULL || strcmp(i->account, ACCOUNT_GLOBAL) == 0;

    jsonw_object(w, NULL);
    jsonw_u64(w, "cid", i->cid);
    jsonw_str(w, "kind", "Client");
    jsonw_str(w, "type", i->kind == CLIENT_WS ? "websocket" : "nats");
    jsonw_str(w, "ip", i->ip);
    jsonw_i64(w, "port", i->port);
    row_times(w, i, now);
    row_traffic(w, i);
    jsonw_opt_str(w, "name", i->name);
    jsonw_opt_str(w, "lang", i->lang);
    jsonw_opt_str(w, "version", i->version);
    row_tls(w, q, r);
    if (q->auth) {
        jsonw_opt_str(w, "authorized_user", i->user);
        jsonw_opt_str(w, "account", global ? NULL : i->account);
    }
    row_subs(w, q, r);
    if (q->auth && r->open != NULL && conn_has_issuer(r->open))
        jsonw_str(w, "issuer_key", i->account);
    if (q->auth && (r->open != NULL || !global))
        jsonw_str(w, "name_tag", global ? ACCOUNT_GLOBAL : i->account);
    jsonw_end(w);
}

#define DEFAULT_LIMIT 1024

static int query_check(const struct connz_query *q, enum sort_key *sort, struct mf_error *e)
{
    if (sort_parse(q, sort, e) != 0)
        return e->code;
    if (is_set(q->filter_subject) && strcmp(q->filter_subject, ">") != 0 && !is_set(q->account))
        return mf_fail(e, MF_INVAL, "filter by subject only valid with account filtering");
    return 0;
}

int page_connz(struct server *s, const struct connz_query *q, struct jsonw *w, const char *key,
               struct mf_error *e)
{
    struct rows r;
    enum sort_key sort;
    int64_t now = clock_wall_ns();
    int64_t limit = q->cid != 0 ? 1 : q->limit > 0 ? q->limit : DEFAULT_LIMIT;
    size_t from, to;

    if (query_check(q, &sort, e) != 0 || rows_collect(s, q, &r, e) != 0)
        return e->code;
    rows_sort(&r, sort);
    from = page_from(q->offset, r.n);
    to = r.n - from > (uint64_t)limit ? from + (size_t)limit : r.n;
    page_begin(s, w, key);
    jsonw_u64(w, "num_connections", to - from);
    jsonw_u64(w, "total", r.total);
    jsonw_i64(w, "offset", q->offset > 0 ? q->offset : 0);
    jsonw_i64(w, "limit", limit);
    jsonw_array(w, "connections");
    for (size_t i = from; i < to; i++)
        row_render(w, q, &r.at[i], now);
    jsonw_end(w);
    jsonw_end(w);
    free(r.at);
    return 0;
}
