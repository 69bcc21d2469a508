/* pages_account.c: /accountz, /accstatz and /subsz. */
#include "pages.h"

#include "mayfly/clock.h"
#include "mayfly/subject.h"

/* --- /accountz: names ------------------------------------------------------------------------- */

static void list_name(void *arg, struct account *a)
{
    jsonw_str(arg, NULL, account_name(a));
}

void page_router_stats(const struct router_stats *t, struct jsonw *w)
{
    jsonw_u64(w, "num_subscriptions", t->subs);
    jsonw_u64(w, "num_cache", t->cache);
    jsonw_u64(w, "num_inserts", t->inserts);
    jsonw_u64(w, "num_removes", t->removes);
    jsonw_u64(w, "num_matches", t->matches);
    jsonw_f64(w, "cache_hit_rate", t->matches ? (double)t->cache_hits / (double)t->matches : 0);
    jsonw_u64(w, "max_fanout", t->max_fanout);
    jsonw_f64(w, "avg_fanout", t->avg_fanout);
}

void page_account_detail(struct server *s, struct account *a, struct jsonw *w, const char *key)
{
    const struct account_counters *n = account_counters(a);
    struct router_stats t;

    router_stats(account_router(a), &t);
    jsonw_object(w, key);
    jsonw_str(w, "account_name", account_name(a));
    jsonw_time(w, "update_time", s->config_load_wall_ns);
    jsonw_opt_bool(w, "is_system", account_is_system(a));
    jsonw_bool(w, "expired", false);
    jsonw_bool(w, "complete", true);
    jsonw_bool(w, "jetstream_enabled", s->guest != NULL && s->guest->enabled(s->guest->arg, a));
    jsonw_u64(w, "leafnode_connections", n->leafnodes);
    jsonw_u64(w, "client_connections", n->clients);
    jsonw_u64(w, "subscriptions", t.subs);
    page_account_doors(s, a, w);
    jsonw_str(w, "name_tag", account_name(a));
    jsonw_object(w, "sublist_stats");
    page_router_stats(&t, w);
    jsonw_end(w);
    page_account_responses(a, w);
    jsonw_end(w);
}

int page_accountz(struct server *s, const char *account, struct jsonw *w, const char *key,
                  struct mf_error *e)
{
    struct account *a = account != NULL && account[0] ? accounts_get(s->accounts, account) : NULL;

    if (account != NULL && account[0] && a == NULL)
        return mf_fail(e, MF_NOTFOUND, "Account %s does not exist", account);
    page_begin(s, w, key);
    if (accounts_system(s->accounts) != NULL)
        jsonw_str(w, "system_account", account_name(accounts_system(s->accounts)));
    if (a != NULL) {
        page_account_detail(s, a, w, "account_detail");
    } else {
        jsonw_array(w, "accounts");
        accounts_each(s->accounts, list_name, w);
        jsonw_end(w);
    }
    jsonw_end(w);
    return 0;
}

/* --- /accstatz -------------------------------------------------------------------------------- */

static void traffic(struct jsonw *w, const char *key, uint64_t msgs, uint64_t bytes)
{
    static const char *const none[] = {"gateways", "routes", "leafs"};

    jsonw_object(w, key);
    jsonw_u64(w, "msgs", msgs);
    jsonw_u64(w, "bytes", bytes);
    for (size_t i = 0; i < MF_COUNT(none); i++) {
        jsonw_object(w, none[i]);
        jsonw_u64(w, "msgs", 0);
        jsonw_u64(w, "bytes", 0);
        jsonw_end(w);
    }
    jsonw_end(w);
}

void page_account_stat_fields(struct account *a, struct jsonw *w)
{
    const struct account_counters *n = account_counters(a);
    struct router_stats t;

    router_stats(account_router(a), &t);
    jsonw_str(w, "acc", account_name(a));
    jsonw_str(w, "name", account_name(a));
    jsonw_u64(w, "conns", n->clients);
    jsonw_u64(w, "leafnodes", n->leafnodes);
    jsonw_u64(w, "total_conns", n->clients + n->leafnodes);
    jsonw_u64(w, "num_subscriptions", t.subs);
    traffic(w, "sent", n->out_msgs, n->out_bytes);
    traffic(w, "received", n->in_msgs, n->in_bytes);
    jsonw_u64(w, "slow_consumers", n->slow_consumers);
}

static bool in_use(struct account *a)
{
    return account_counters(a)->clients + account_counters(a)->leafnodes > 0;
}

struct stat_walk {
    struct jsonw *w; /* NULL: only look whether there is any */
    bool unused, any;
};
static void stat_each(void *arg, struct account *a)
{
    struct stat_walk *walk = arg;

    if (!walk->unused && !in_use(a))
        return;
    walk->any = true;
    if (walk->w == NULL)
        return;
    jsonw_object(walk->w, NULL);
    page_account_stat_fields(a, walk->w);
    jsonw_end(walk->w);
}

static void stat_walk(struct server *s, const char *const *only, size_t nonly,
                      struct stat_walk *walk)
{
    for (size_t i = 0; i < nonly; i++) {
        struct account *a = accounts_get(s->accounts, only[i]);
        if (a != NULL)
            stat_each(walk, a);
    }
    if (nonly == 0)
        accounts_each(s->accounts, stat_each, walk);
}

bool page_accstatz_any(struct server *s, const char *const *only, size_t nonly)
{
    struct stat_walk walk = {.w = NULL};

    stat_walk(s, only, nonly, &walk);
    return walk.any;
}

void page_accstatz(struct server *s, const char *const *only, size_t nonly, bool unused,
                   struct jsonw *w, const char *key)
{
    struct stat_walk walk = {.w = w, .unused = unused};

    page_begin(s, w, key);
    jsonw_array(w, "account_statz");
    stat_walk(s, only, nonly, &walk);
    jsonw_end(w);
    jsonw_end(w);
}

/* --- /subsz ----------------------------------------------------------------------------------- */

struct subs_walk {
    const struct subsz_query *q;
    struct jsonw *w;
    struct account *account;
    uint64_t total, at, end; /* matching so far; those to list are [at, end) */
    struct router_stats sum;
    double fanout;
    bool list;
};

static bool account_wanted(const struct subsz_query *q, const struct account *a)
{
    return q->account == NULL || q->account[0] == '\0' || strcmp(q->account, account_name(a)) == 0;
}

static void stats_each(void *arg, struct account *a)
{
    struct subs_walk *walk = arg;
    struct router_stats t;

    if (!account_wanted(walk->q, a))
        return;
    router_stats(account_router(a), &t);
    walk->sum.subs += t.subs;
    walk->sum.cache += t.cache;
    walk->sum.inserts += t.inserts;
    walk->sum.removes += t.removes;
    walk->sum.matches += t.matches;
    walk->sum.cache_hits += t.cache_hits;
    walk->fanout += t.avg_fanout * (double)t.cache;
    if (t.max_fanout > walk->sum.max_fanout)
        walk->sum.max_fanout = t.max_fanout;
}

void page_sub_of(const struct sub *sub, struct page_sub *out)
{
    *out = (struct page_sub){.subject = sub->rs.pattern,
                             .queue = sub->rs.queue,
                             .sid = mf_slice(sub->sid, sub->sid_len),
                             .msgs = sub->delivered,
                             .max = sub->max,
                             .cid = sub->client->cid};
}

/* Only clients' subscriptions are listed; the server's own are counted in the statistics alone. */
static void sub_each(void *arg, struct router_sub *rs)
{
    struct subs_walk *walk = arg;
    const struct subsz_query *q = walk->q;
    struct page_sub sub;
    uint64_t i;

    if (!sub_is_client(rs) ||
        (q->test != NULL && q->test[0] != '\0' && !subject_match(rs->pattern, mf_str(q->test))))
        return;
    i = walk->total++;
    if (!walk->list || i < walk->at || i >= walk->end)
        return;
    page_sub_of(mf_container(rs, struct sub, rs), &sub);
    page_sub_detail(walk->w, account_name(walk->account), &sub);
}

static void subs_of(void *arg, struct account *a)
{
    struct subs_walk *walk = arg;

    if (!account_wanted(walk->q, a))
        return;
    walk->account = a;
    router_each(account_router(a), sub_each, walk);
}

#define DEFAULT_LIMIT 1024

int page_subsz(struct server *s, const struct subsz_query *q, struct jsonw *w, const char *key,
               struct mf_error *e)
{
    struct subs_walk walk = {.q = q, .w = w};
    uint64_t limit = q->limit > 0 ? (uint64_t)q->limit : DEFAULT_LIMIT, total;

    if (q->test != NULL && q->test[0] && !subject_valid_literal(mf_str(q->test)))
        return mf_fail(e, MF_INVAL, "invalid test subject, must be valid publish subject: %s",
                       q->test);
    accounts_each(s->accounts, stats_each, &walk);
    walk.sum.avg_fanout = walk.sum.cache > 0 ? walk.fanout / (double)walk.sum.cache : 0;
    if (q->subs)
        accounts_each(s->accounts, subs_of, &walk); /* counts, so that total comes first */
    total = walk.total;
    walk.at = page_from(q->offset, (size_t)total);
    walk.end = total - walk.at > limit ? walk.at + limit : total;
    page_begin(s, w, key);
    page_router_stats(&walk.sum, w);
    jsonw_u64(w, "total", total);
    jsonw_i64(w, "offset", q->offset > 0 ? q->offset : 0);
    jsonw_u64(w, "limit", limit);
    if (walk.at < walk.end) {
        walk.list = true;
        walk.total = 0;
        jsonw_array(w, "subscriptions_list");
        accounts_each(s->accounts, subs_of, &walk);
        jsonw_end(w);
    }
    jsonw_end(w);
    return 0;
}
