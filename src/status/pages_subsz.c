/* pages_subsz.c: /subsz: statistics of all routers, and clients' subscriptions by cid, in slices.
 * O(accounts and clients); with a list O(subscriptions), because the total stands before it. */
#include "status/pages_impl.h"

#include "base/msort.h"
#include "subject/subject.h"

#include <stdlib.h>

#define SORT_MOVES 256
#define SUB_SLOTS  32 /* of a client's table of subscriptions, in one step */

struct subsz { /* a page under way */
    struct status *s;
    struct subsz_query q; /* its strings are in list.mem */
    struct page_accounts list;
    const char *key;
    size_t account; /* the next one */
    struct router_stats sum;
    double fanout;
    uint64_t *cids; /* of clients with subscriptions, in order */
    size_t n, cap, client;
    struct table_scan clients, subs;
    struct msort order;
    bool in_client, failed;
    struct jsonw *w;
    const struct account *of;             /* account of the client being listed */
    uint64_t total, seen, at, end, limit; /* listed are [at, end) of those seen */
};

static void subsz_free(void *state)
{
    struct subsz *z = state;

    free(z->cids);
    msort_fini(&z->order);
    page_accounts_fini(&z->list);
    free(z);
}

static bool account_wanted(const struct subsz_query *q, const char *name)
{
    return q->account == NULL || q->account[0] == '\0' || strcmp(q->account, name) == 0;
}

/* One account. */
static bool stats_step(struct doc *d, void *state)
{
    struct subsz *z = state;
    struct account *a;
    struct router_stats t;

    (void)d;
    if (z->account == z->list.n)
        return false;
    a = accounts_get(z->s->accounts, z->list.name[z->account++]);
    if (a == NULL || !account_wanted(&z->q, account_name(a)))
        return true;
    router_stats(account_router(a), &t);
    z->sum.subs += t.subs;
    z->sum.cache += t.cache;
    z->sum.inserts += t.inserts;
    z->sum.removes += t.removes;
    z->sum.matches += t.matches;
    z->sum.cache_hits += t.cache_hits;
    z->fanout += t.avg_fanout * (double)t.cache;
    if (t.max_fanout > z->sum.max_fanout)
        z->sum.max_fanout = t.max_fanout;
    return true;
}

/* Only clients' subscriptions are listed; the server's own are counted in the statistics alone. */
static void add_client(void *arg, const struct client *c)
{
    struct subsz *z = arg;
    struct client_info i;

    client_info_of(c, &i);
    if (i.nsubs == 0 || client_account(c) == NULL || !account_wanted(&z->q, i.account))
        return;
    if (z->n == z->cap) {
        size_t cap = z->cap == 0 ? 64 : 2 * z->cap;
        uint64_t *cids = realloc(z->cids, cap * sizeof *cids);
        if (cids == NULL) {
            z->failed = true;
            return;
        }
        z->cids = cids;
        z->cap = cap;
    }
    z->cids[z->n++] = i.cid;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static bool clients_step(struct doc *d, void *state)
{
    struct subsz *z = state;
    uint64_t *cids = z->cids;

    if (!z->q.subs)
        return false;
    if (z->failed)
        doc_fail(d, MF_NOMEM, "subscriptions");
    else if (server_clients_scan(z->s->server, &z->clients, add_client, z))
        return true;
    z->cids = NULL;
    if (cids != NULL && msort_init(&z->order, cids, z->n, sizeof *cids, by_number) != 0)
        doc_fail(d, MF_NOMEM, "subscriptions");
    return false;
}

static bool order_step(struct doc *d, void *state)
{
    struct subsz *z = state;

    (void)d;
    if (z->order.at == NULL)
        return false;
    if (msort_step(&z->order, SORT_MOVES))
        return true;
    z->cids = msort_take(&z->order);
    return false;
}

static void visit_sub(void *arg, const struct client_sub *sub)
{
    struct subsz *z = arg;
    const char *test = z->q.test;
    uint64_t i;

    if (test != NULL && test[0] != '\0' && !subject_match(sub->subject, mf_str(test)))
        return;
    i = z->seen++;
    if (z->w == NULL || i < z->at || i >= z->end)
        return;
    page_sub_detail(z->w, account_name(z->of), account_tag(z->of), sub);
}

/* Some subscriptions of one client; false: no more clients. */
static bool visit_some(struct subsz *z)
{
    const struct client *c;

    if (z->client == z->n)
        return false;
    c = server_find_client(z->s->server, z->cids[z->client]);
    if (c != NULL && !z->in_client)
        client_subs_begin(c, &z->subs);
    z->in_client = c != NULL;
    z->of = c != NULL ? client_account(c) : NULL;
    for (int i = 0; z->in_client && i < SUB_SLOTS; i++)
        z->in_client = client_subs_scan(c, &z->subs, visit_sub, z);
    if (!z->in_client)
        z->client++;
    return true;
}

static bool count_step(struct doc *d, void *state)
{
    (void)d;
    return visit_some(state);
}

static bool counts_step(struct doc *d, void *state)
{
    struct subsz *z = state;
    struct jsonw *w = &d->w;

    z->sum.avg_fanout = z->sum.cache > 0 ? z->fanout / (double)z->sum.cache : 0;
    z->total = z->seen;
    z->at = page_from(z->q.offset, (size_t)z->total);
    z->end = z->total - z->at > z->limit ? z->at + z->limit : z->total;
    page_begin(z->s, w, z->key);
    page_router_stats(&z->sum, w);
    jsonw_u64(w, "total", z->total);
    jsonw_i64(w, "offset", z->q.offset > 0 ? z->q.offset : 0);
    jsonw_u64(w, "limit", z->limit);
    z->client = z->n;
    if (z->at < z->end) {
        z->client = 0;
        z->seen = 0;
        z->w = w;
        jsonw_array(w, "subscriptions_list");
    }
    return false;
}

static bool list_step(struct doc *d, void *state)
{
    struct subsz *z = state;

    if (z->seen < z->end && visit_some(z))
        return true;
    if (z->w != NULL)
        jsonw_end(&d->w);
    jsonw_end(&d->w);
    return false;
}

#define DEFAULT_LIMIT 1024

static struct subsz *subsz_new(struct status *s, const struct subsz_query *q)
{
    struct subsz *z = calloc(1, sizeof *z);

    if (z == NULL)
        return NULL;
    z->s = s;
    z->q = *q;
    z->q.account = arena_str(&z->list.mem, q->account);
    z->q.test = arena_str(&z->list.mem, q->test);
    z->limit = q->limit > 0 ? (uint64_t)q->limit : DEFAULT_LIMIT;
    server_clients_begin(s->server, &z->clients);
    if (page_accounts_init(&z->list, s) == 0)
        return z;
    subsz_free(z);
    return NULL;
}

int page_subsz(struct status *s, const struct subsz_query *q, struct doc *d, const char *key,
               struct mf_error *e)
{
    static const doc_step steps[] = {stats_step,  clients_step, order_step, count_step,
                                     counts_step, list_step,    NULL};
    struct subsz *z;

    if (q->test != NULL && q->test[0] && !subject_valid_literal(mf_str(q->test)))
        return mf_fail(e, MF_INVAL, "invalid test subject, must be valid publish subject: %s",
                       q->test);
    z = subsz_new(s, q);
    if (z == NULL)
        return mf_fail(e, MF_NOMEM, "subscriptions");
    z->key = key;
    doc_add(d, steps, z, subsz_free);
    return 0;
}
