/* pages_connz.c: /connz: connections, open or closed, filtered, sorted and paged, in slices.
 * O(connections) to collect, O(n log n) to sort, O(shown) to render.
 *
 * Between slices a page keeps the cids of open connections, and holds the records of closed ones.
 * A connection that closes after it was selected is not shown, so the list is rendered before the
 * count that precedes it. */
#include "status/connz_impl.h"
#include "status/pages_leaf_impl.h"

#include "base/clock.h"
#include "base/msort.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

/* --- a page under way ------------------------------------------------------------------------- */

#define DEFAULT_LIMIT 1024
#define SORT_MOVES    256
#define SUB_SLOTS     32           /* of a connection's table of subscriptions, in one step */
#define JOIN_BYTES    (256u << 10) /* copied in one step */

struct connz {
    struct status *s;
    struct connz_query q; /* its strings are in mem */
    struct arena mem;
    const char *key;
    enum connz_sort sort;
    int64_t limit, now_ns;
    struct connz_row *rows;
    size_t n, cap, at, to; /* rows; the next one to look at or to show; the last one to show */
    uint64_t total, shown; /* of the account and state in the query, before the other filters */
    struct table_scan clients, subs;
    struct msort order;
    bool sorting, in_row, found;
    struct mf_buf list; /* the connections as JSON */
    struct jsonw w;     /* writes that */
    size_t joined;
};

static void connz_free(void *state)
{
    struct connz *z = state;

    if (z->sorting)
        z->rows = msort_take(&z->order);
    for (size_t i = 0; i < z->n; i++)
        if (z->rows[i].closed != NULL)
            closed_release(z->rows[i].closed);
    free(z->rows);
    mf_buf_fini(&z->list);
    arena_fini(&z->mem);
    free(z);
}

/* --- collecting ------------------------------------------------------------------------------- */

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}
static bool matches_text(const char *filter, const char *value)
{
    return !is_set(filter) || (value != NULL && strcmp(filter, value) == 0);
}

static bool matches_query(const struct connz_query *q, const struct client_info *i)
{
    if (q->cid != 0)
        return i->cid == q->cid;
    return matches_text(q->user, i->user) && !is_set(q->mqtt_client);
}

static void add_row(struct connz *z, const struct client_info *i, struct closed_client *closed,
                    bool leaf)
{
    struct connz_row *rows;

    if (!matches_text(z->q.account, i->account))
        return;
    z->total++;
    if (!matches_query(&z->q, i))
        return;
    if (z->n == z->cap) {
        rows = realloc(z->rows, (z->cap == 0 ? 64 : 2 * z->cap) * sizeof *rows);
        if (rows == NULL) {
            z->w.out->failed = true;
            return;
        }
        z->rows = rows;
        z->cap = z->cap == 0 ? 64 : 2 * z->cap;
    }
    z->rows[z->n++] =
        (struct connz_row){i->cid, connz_sort_value(i, z->sort, z->now_ns), closed, leaf};
    if (closed != NULL)
        closed_hold(closed);
}

static void add_open(void *arg, const struct client *c)
{
    struct client_info i;

    client_info_of(c, &i);
    add_row(arg, &i, NULL, false);
}

static bool open_step(struct doc *d, void *state)
{
    struct connz *z = state;

    (void)d;
    return z->q.state != CONNZ_CLOSED &&
           server_clients_scan(z->s->server, &z->clients, add_open, z);
}

static void add_leaf(void *arg, const struct leaf_link *l)
{
    struct client_info i;

    page_leaf_client(l, &i);
    add_row(arg, &i, NULL, true);
}

static bool leaf_step(struct doc *d, void *state)
{
    struct connz *z = state;

    (void)d;
    if (z->q.state != CONNZ_CLOSED && z->s->leaf != NULL)
        leaf_each(z->s->leaf, add_leaf, z);
    return false;
}

/* Whether a message on the filter's subjects could reach a subscription of this client. */
static void look_at_sub(void *arg, const struct client_sub *sub)
{
    struct connz *z = arg;

    z->found = z->found || subject_overlap(sub->subject, mf_str(z->q.filter_subject));
}

static void look_at_leaf_sub(void *arg, struct mf_slice subject, struct mf_slice queue)
{
    look_at_sub(arg, &(struct client_sub){.subject = subject, .queue = queue});
}

/* Some subscriptions of the row at `at`.  false: those were all. */
static bool scan_row(struct connz *z)
{
    const struct connz_row *r = &z->rows[z->at];
    const struct client *c = r->leaf ? NULL : server_find_client(z->s->server, r->cid);
    const struct leaf_link *l = r->leaf ? leaf_find(z->s->leaf, r->cid) : NULL;
    bool more = c != NULL || l != NULL;

    if (more && !z->in_row) {
        if (l != NULL)
            leaf_subs_begin(l, &z->subs);
        else
            client_subs_begin(c, &z->subs);
    }
    z->in_row = more;
    for (int i = 0; more && !z->found && i < SUB_SLOTS; i++)
        more = l != NULL ? leaf_subs_scan(l, &z->subs, look_at_leaf_sub, z)
                         : client_subs_scan(c, &z->subs, look_at_sub, z);
    return more;
}

/* Rows that stay are moved to `to`. */
static bool filter_step(struct doc *d, void *state)
{
    struct connz *z = state;

    (void)d;
    if (!is_set(z->q.filter_subject) || strcmp(z->q.filter_subject, ">") == 0 || z->q.cid != 0)
        return false;
    if (z->at == z->n) {
        z->n = z->to;
        return false;
    }
    if (scan_row(z) && !z->found)
        return true;
    if (z->found)
        z->rows[z->to++] = z->rows[z->at];
    z->at++;
    z->in_row = z->found = false;
    return true;
}

static void add_closed(void *arg, struct closed_client *k)
{
    add_row(arg, &k->info, k, false);
}

/* All in one step: at most max_closed_clients, and they are held. */
static bool closed_step(struct doc *d, void *state)
{
    struct connz *z = state;

    (void)d;
    if (z->q.state != CONNZ_OPEN)
        server_each_closed(z->s->server, add_closed, z);
    return false;
}

static bool sort_step(struct doc *d, void *state)
{
    struct connz *z = state;
    connz_compare cmp = connz_sort_compare(z->sort);

    if (z->n < 2)
        return false;
    if (!z->sorting) {
        struct connz_row *rows = malloc(z->n * sizeof *rows);
        if (rows != NULL)
            memcpy(rows, z->rows, z->n * sizeof *rows);
        if (rows == NULL || msort_init(&z->order, rows, z->n, sizeof *rows, cmp) != 0) {
            doc_fail(d, MF_NOMEM, "connz");
            return false;
        }
        free(z->rows);
        z->rows = NULL;
        z->sorting = true;
    }
    if (msort_step(&z->order, SORT_MOVES))
        return true;
    z->rows = msort_take(&z->order);
    z->sorting = false;
    return false;
}

/* --- rendering -------------------------------------------------------------------------------- */

void page_sub_detail(struct jsonw *w, const char *account, const char *tag,
                     const struct client_sub *sub)
{
    jsonw_object(w, NULL);
    jsonw_opt_str(w, "account", account);
    jsonw_opt_str(w, "account_tag", tag);
    jsonw_slice(w, "subject", sub->subject);
    if (sub->queue.len > 0)
        jsonw_slice(w, "qgroup", sub->queue);
    jsonw_slice(w, "sid", sub->sid);
    jsonw_u64(w, "msgs", sub->msgs);
    jsonw_opt_u64(w, "max", sub->max);
    jsonw_u64(w, "cid", sub->cid);
    jsonw_end(w);
}

static void write_sub(struct jsonw *w, const struct connz_query *q, const struct client_info *of,
                      const struct client_sub *sub)
{
    if (q->subs_detail)
        page_sub_detail(w, of != NULL ? of->account : NULL, of != NULL ? of->account_tag : NULL,
                        sub);
    else
        jsonw_slice(w, NULL, sub->subject);
}

static void write_open_sub(void *arg, const struct client_sub *sub)
{
    struct connz *z = arg;

    write_sub(&z->w, &z->q, NULL, sub);
}

/* With the account of a closed connection, as in nats-server. */
static void write_closed_subs(struct jsonw *w, const struct connz_query *q,
                              const struct closed_client *k)
{
    for (size_t i = 0; i < k->nsubs; i++)
        write_sub(w, q, &k->info, &k->subs[i]);
}

static void row_times(struct jsonw *w, const struct client_info *i, int64_t now)
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
    jsonw_str(w, "uptime", clock_uptime(text, connz_time_since(i->start_ns, end)));
    jsonw_str(w, "idle", clock_uptime(text, connz_time_since(i->last_ns, end)));
}

static void row_traffic(struct jsonw *w, const struct client_info *i)
{
    jsonw_u64(w, "pending_bytes", i->pending);
    jsonw_u64(w, "in_msgs", i->in_msgs);
    jsonw_u64(w, "out_msgs", i->out_msgs);
    jsonw_u64(w, "in_bytes", i->in_bytes);
    jsonw_u64(w, "out_bytes", i->out_bytes);
    jsonw_opt_u64(w, "stalls", i->stalls);
    jsonw_u64(w, "subscriptions", i->nsubs);
}

static void row_tls(struct jsonw *w, const struct connz_query *q, const struct client_info *i,
                    const struct client *open)
{
    struct net_tls_peer peer;

    jsonw_opt_str(w, "tls_version", i->tls_version);
    jsonw_opt_str(w, "tls_cipher_suite", i->tls_cipher);
    if (q->auth && open != NULL && i->tls_version != NULL) {
        client_tls_peer(open, &peer);
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
    jsonw_opt_bool(w, "tls_first", i->tls_first);
}

static bool in_global(const struct client_info *i)
{
    return i->account == NULL || strcmp(i->account, ACCOUNT_GLOBAL) == 0;
}

/* Up to the subscriptions.  open NULL: it is closed. */
static void row_begin(struct connz *z, const struct client_info *i, const struct client *open)
{
    struct jsonw *w = &z->w;
    const struct connz_query *q = &z->q;

    jsonw_object(w, NULL);
    jsonw_u64(w, "cid", i->cid);
    jsonw_str(w, "kind", i->kind == CLIENT_LEAF ? "Leafnode" : "Client");
    jsonw_opt_str(w, "type",
                  i->kind == CLIENT_LEAF ? NULL
                  : i->kind == CLIENT_WS ? "websocket"
                                         : "nats");
    jsonw_str(w, "ip", i->ip);
    jsonw_i64(w, "port", i->port);
    row_times(w, i, z->now_ns);
    row_traffic(w, i);
    jsonw_opt_str(w, "name", i->name);
    jsonw_opt_str(w, "lang", i->lang);
    jsonw_opt_str(w, "version", i->version);
    row_tls(w, q, i, open);
    if (q->auth) {
        jsonw_opt_str(w, "authorized_user", i->user);
        jsonw_opt_str(w, "account", in_global(i) ? NULL : i->account);
    }
    if ((q->subs || q->subs_detail) && i->nsubs > 0)
        jsonw_array(w, q->subs_detail ? "subscriptions_list_detail" : "subscriptions_list");
    z->shown++;
}

static void row_end(struct connz *z, const struct client_info *i, const struct client *open)
{
    struct client_info shown = *i;
    bool global = in_global(i);

    if (open == NULL && i->who == NULL)
        shown.issuer = NULL;
    if (z->q.auth)
        page_user_identity(&z->w, &shown,
                           global && open == NULL ? NULL
                           : global               ? ACCOUNT_GLOBAL
                                                  : i->account_tag,
                           true);
    page_proxy(&z->w, i->proxy_key);
    jsonw_end(&z->w);
    z->at++;
}

static void closed_row(struct connz *z, const struct closed_client *k)
{
    row_begin(z, &k->info, NULL);
    if ((z->q.subs || z->q.subs_detail) && k->info.nsubs > 0) {
        write_closed_subs(&z->w, &z->q, k);
        jsonw_end(&z->w);
    }
    row_end(z, &k->info, NULL);
}

/* All of an open connection, or some subscriptions of it. */
static void open_row(struct connz *z, const struct client *c)
{
    struct client_info i;

    client_info_of(c, &i);
    if (!z->in_row) {
        row_begin(z, &i, c);
        z->in_row = (z->q.subs || z->q.subs_detail) && i.nsubs > 0;
        client_subs_begin(c, &z->subs);
    }
    for (int k = 0; z->in_row && k < SUB_SLOTS; k++)
        if (!client_subs_scan(c, &z->subs, write_open_sub, z)) {
            jsonw_end(&z->w);
            z->in_row = false;
        }
    if (!z->in_row)
        row_end(z, &i, c);
}

static void write_leaf_sub(void *arg, struct mf_slice subject, struct mf_slice queue)
{
    struct connz *z = arg;
    struct client_sub sub = {
        .subject = subject, .queue = queue, .sid = subject, .cid = z->rows[z->at].cid};

    write_sub(&z->w, &z->q, NULL, &sub);
}

/* All of a leaf link, or some of what its peer announced. */
static void leaf_row(struct connz *z, const struct leaf_link *l)
{
    struct client_info i;

    page_leaf_client(l, &i);
    if (!z->in_row) {
        row_begin(z, &i, NULL);
        z->in_row = (z->q.subs || z->q.subs_detail) && i.nsubs > 0;
        leaf_subs_begin(l, &z->subs);
    }
    for (int k = 0; z->in_row && k < SUB_SLOTS; k++)
        if (!leaf_subs_scan(l, &z->subs, write_leaf_sub, z)) {
            jsonw_end(&z->w);
            z->in_row = false;
        }
    if (!z->in_row)
        row_end(z, &i, NULL);
}

static bool rows_step(struct doc *d, void *state)
{
    struct connz *z = state;
    const struct connz_row *r;
    const struct client *c;
    const struct leaf_link *l;

    (void)d;
    if (z->at == z->to)
        return false;
    r = &z->rows[z->at];
    l = r->leaf ? leaf_find(z->s->leaf, r->cid) : NULL;
    c = r->closed != NULL || r->leaf ? NULL : server_find_client(z->s->server, r->cid);
    if (r->closed != NULL) {
        closed_row(z, r->closed);
    } else if (c != NULL) {
        open_row(z, c);
    } else if (l != NULL) {
        leaf_row(z, l);
    } else { /* it closed in between */
        if (z->in_row) {
            jsonw_end(&z->w);
            jsonw_end(&z->w);
        }
        z->in_row = false;
        z->at++;
    }
    return true;
}

/* --- the document ----------------------------------------------------------------------------- */

static bool begin_step(struct doc *d, void *state)
{
    struct connz *z = state;

    page_begin(z->s, &d->w, z->key);
    z->at = page_from(z->q.offset, z->n);
    z->to = z->n - z->at > (uint64_t)z->limit ? z->at + (size_t)z->limit : z->n;
    z->w = d->w;
    z->w.out = &z->list;
    z->w.comma = true;
    jsonw_array(&z->w, "connections");
    return false;
}

static bool counts_step(struct doc *d, void *state)
{
    struct connz *z = state;
    struct jsonw *w = &d->w;

    jsonw_end(&z->w);
    if (mf_buf_failed(&z->list)) {
        doc_fail(d, MF_NOMEM, "connz");
        return false;
    }
    jsonw_u64(w, "num_connections", z->shown);
    jsonw_u64(w, "total", z->total);
    jsonw_i64(w, "offset", z->q.offset > 0 ? z->q.offset : 0);
    jsonw_i64(w, "limit", z->limit);
    return false;
}

static bool join_step(struct doc *d, void *state)
{
    struct connz *z = state;
    size_t left = z->list.len - z->joined, n = left < JOIN_BYTES ? left : JOIN_BYTES;

    mf_buf_append(&d->body, z->list.ptr + z->joined, n);
    z->joined += n;
    if (z->joined < z->list.len)
        return true;
    jsonw_end(&d->w);
    return false;
}

static int query_check(const struct connz_query *q, enum connz_sort *sort, struct mf_error *e)
{
    if (connz_sort_parse(q, sort, e) != 0)
        return e->code;
    if (is_set(q->filter_subject) && strcmp(q->filter_subject, ">") != 0 && !is_set(q->account))
        return mf_fail(e, MF_INVAL, "filter by subject only valid with account filtering");
    return 0;
}

static struct connz *connz_new(struct status *s, const struct connz_query *q)
{
    struct connz *z = calloc(1, sizeof *z);

    if (z == NULL)
        return NULL;
    z->s = s;
    z->q = *q;
    z->q.sort = NULL;
    z->q.user = arena_str(&z->mem, q->user);
    z->q.account = arena_str(&z->mem, q->account);
    z->q.filter_subject = arena_str(&z->mem, q->filter_subject);
    z->q.mqtt_client = arena_str(&z->mem, q->mqtt_client);
    z->limit = q->cid != 0 ? 1 : q->limit > 0 ? q->limit : DEFAULT_LIMIT;
    z->now_ns = clock_wall_ns();
    z->w.out = &z->list;
    server_clients_begin(s->server, &z->clients);
    if (!z->mem.failed)
        return z;
    connz_free(z);
    return NULL;
}

int page_connz(struct status *s, const struct connz_query *q, struct doc *d, const char *key,
               struct mf_error *e)
{
    static const doc_step steps[] = {open_step,  leaf_step, filter_step, closed_step, sort_step,
                                     begin_step, rows_step, counts_step, join_step,   NULL};
    enum connz_sort sort;
    struct connz *z;

    if (query_check(q, &sort, e) != 0)
        return e->code;
    z = connz_new(s, q);
    if (z == NULL)
        return mf_fail(e, MF_NOMEM, "connz");
    z->sort = sort;
    z->key = key;
    doc_add(d, steps, z, connz_free);
    return 0;
}
