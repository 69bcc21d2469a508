/* pages_metrics.c: /metrics in Prometheus' text format, in slices.  O(accounts), and the metrics of
 * JetStream. */
#include "status/pages_leaf_impl.h"

#include "base/clock.h"
#include "monitor/prom.h"

#include <stdlib.h>

static void server_metrics(struct status *s, struct mf_buf *b)
{
    const struct server_counters *t = server_counters(s->server);

    prom_metric(b, "mayfly_connections", "gauge", "Open client connections.",
                server_clients(s->server));
    prom_metric(b, "mayfly_connections_total", "counter",
                "Client connections accepted since start.", (double)t->total_connections);
    prom_metric(b, "mayfly_max_connections", "gauge", "Configured limit of client connections.",
                (double)server_options(s->server)->max_connections);
    prom_metric(b, "mayfly_subscriptions", "gauge", "Client subscriptions in all accounts.",
                (double)server_subs(s->server));
    prom_metric(b, "mayfly_in_msgs_total", "counter", "Messages received from clients.",
                (double)t->in_msgs);
    prom_metric(b, "mayfly_in_bytes_total", "counter",
                "Header and payload bytes received from clients.", (double)t->in_bytes);
    prom_metric(b, "mayfly_out_msgs_total", "counter", "Messages delivered to clients.",
                (double)t->out_msgs);
    prom_metric(b, "mayfly_out_bytes_total", "counter",
                "Header and payload bytes delivered to clients.", (double)t->out_bytes);
    prom_metric(b, "mayfly_slow_consumers_total", "counter",
                "Clients closed because they read too slowly.", (double)t->slow_consumers);
    prom_metric(b, "mayfly_stale_connections_total", "counter",
                "Clients closed because they answered no pings.", (double)t->stale_connections);
    prom_metric(b, "mayfly_stalled_publishers_total", "counter",
                "Times a publisher was held up by a slow reader.", (double)t->stalled);
    prom_metric(b, "mayfly_uptime_seconds", "gauge", "Seconds since the server started.",
                (double)(clock_mono_ns() - server_start_mono_ns(s->server)) / 1e9);
    prom_metric(b, "mayfly_config_load_time_seconds", "gauge", "When the configuration was loaded.",
                (double)server_config_load_ns(s->server) / 1e9);
    prom_metric(b, "mayfly_lame_duck", "gauge", "1 while the server is leaving.",
                server_is_lame_duck(s->server));
}

static void process_metrics(struct status *s, struct mf_buf *b)
{
    struct page_usage u;

    page_usage(s, &u);
    prom_metric(b, "process_cpu_seconds_total", "counter", "User and system CPU time.",
                u.cpu_seconds);
    prom_metric(b, "process_resident_memory_bytes", "gauge", "Resident memory.", (double)u.rss);
    prom_metric(b, "process_virtual_memory_bytes", "gauge", "Virtual memory.", (double)u.vsize);
    prom_metric(b, "process_threads", "gauge", "Threads: the loop and its workers.",
                (double)u.threads);
    if (u.fds > 0)
        prom_metric(b, "process_open_fds", "gauge", "Open file descriptors.", (double)u.fds);
    prom_metric(b, "process_max_fds", "gauge", "Limit of open file descriptors.",
                (double)u.max_fds);
    prom_metric(b, "process_start_time_seconds", "gauge", "Start time since the epoch.",
                (double)server_start_wall_ns(s->server) / 1e9);
}

/* Turns of the event loop that took 10 ms or more, by the kind of work that took longest. */
static void stall_metrics(struct status *s, struct mf_buf *b)
{
    const struct work_stalls *w = work_stalls(s->loop);

    prom_head(b, "mayfly_stalls_total", "counter",
              "Turns of the event loop of 10 ms and more, by what took longest.");
    for (int i = 0; i < WORK_NCAUSES; i++) {
        prom_label(b, "mayfly_stalls_total", '{', "cause", work_cause_text(i));
        prom_value(b, "}", (double)w->turns[i]);
    }
    prom_head(b, "mayfly_stall_seconds_total", "counter", "How long those turns took.");
    for (int i = 0; i < WORK_NCAUSES; i++) {
        prom_label(b, "mayfly_stall_seconds_total", '{', "cause", work_cause_text(i));
        prom_value(b, "}", (double)w->ns[i] / 1e9);
    }
    prom_metric(b, "mayfly_longest_turn_seconds", "gauge",
                "The longest turn of the event loop since start.", (double)w->longest_ns / 1e9);
}

/* --- one series per account ------------------------------------------------------------------- */

enum {
    V_CLIENTS,
    V_SUBS,
    V_IN_MSGS,
    V_IN_BYTES,
    V_OUT_MSGS,
    V_OUT_BYTES,
    V_SLOW,
    V_MATCHES,
    V_CACHE_HITS,
    V_COUNT
};
static const struct {
    const char *name, *type, *help;
} series[V_COUNT] = {
    {"mayfly_account_connections", "gauge", "Open client connections."},
    {"mayfly_account_subscriptions", "gauge", "Client subscriptions."},
    {"mayfly_account_in_msgs_total", "counter", "Messages received."},
    {"mayfly_account_in_bytes_total", "counter", "Bytes received."},
    {"mayfly_account_out_msgs_total", "counter", "Messages delivered."},
    {"mayfly_account_out_bytes_total", "counter", "Bytes delivered."},
    {"mayfly_account_slow_consumers_total", "counter", "Slow clients closed."},
    {"mayfly_router_matches_total", "counter", "Subjects looked up."},
    {"mayfly_router_cache_hits_total", "counter", "Look-ups answered by the cache."},
};

struct account_row {
    double value[V_COUNT];
};
struct metrics { /* a page under way */
    struct status *s;
    struct page_accounts list;
    struct account_row *rows; /* one for each account */
    size_t at, series;
};

static void metrics_free(void *state)
{
    struct metrics *m = state;

    page_accounts_fini(&m->list);
    free(m->rows);
    free(m);
}

/* Collects one account; a removed one counts 0. */
static bool collect_step(struct doc *d, void *state)
{
    struct metrics *m = state;
    struct account *a;
    struct router_stats t;

    (void)d;
    if (m->at == m->list.n) {
        m->at = 0;
        return false;
    }
    a = accounts_get(m->s->accounts, m->list.name[m->at]);
    if (a != NULL) {
        const struct account_counters *n = account_counters(a);
        router_stats(account_router(a), &t);
        m->rows[m->at] = (struct account_row){{
            [V_CLIENTS] = n->clients,
            [V_SUBS] = (double)n->subs,
            [V_IN_MSGS] = (double)n->in_msgs,
            [V_IN_BYTES] = (double)n->in_bytes,
            [V_OUT_MSGS] = (double)n->out_msgs,
            [V_OUT_BYTES] = (double)n->out_bytes,
            [V_SLOW] = (double)n->slow_consumers,
            [V_MATCHES] = (double)t.matches,
            [V_CACHE_HITS] = (double)t.cache_hits,
        }};
    }
    m->at++;
    return true;
}

/* One sample. */
static bool accounts_step(struct doc *d, void *state)
{
    struct metrics *m = state;
    struct mf_buf *b = &d->body;
    size_t k = m->series;

    if (k == V_COUNT)
        return false;
    if (m->at == 0)
        prom_head(b, series[k].name, series[k].type, series[k].help);
    if (m->at < m->list.n) {
        prom_label(b, series[k].name, '{', "account", m->list.name[m->at]);
        prom_value(b, "}", m->rows[m->at].value[k]);
        m->at++;
    }
    if (m->at >= m->list.n) {
        m->at = 0;
        m->series++;
    }
    return true;
}

static bool server_step(struct doc *d, void *state)
{
    struct status *s = ((struct metrics *)state)->s;
    struct mf_buf *out = &d->body;

    prom_head(out, "mayfly_info", "gauge", "What is running.");
    prom_label(out, "mayfly_info", '{', "version", SERVER_MAYFLY_VERSION);
    prom_label(out, "", ',', "nats_version", SERVER_NATS_VERSION);
    prom_label(out, "", ',', "server_id", s->id);
    prom_label(out, "", ',', "server_name", server_name(s->server));
    prom_value(out, "}", 1);
    server_metrics(s, out);
    stall_metrics(s, out);
    process_metrics(s, out);
    return false;
}

void page_metrics(struct status *s, struct doc *d)
{
    static const doc_step steps[] = {server_step, collect_step, accounts_step, NULL};
    struct metrics *m = calloc(1, sizeof *m);

    if (m != NULL) {
        m->s = s;
        if (page_accounts_init(&m->list, s) == 0)
            m->rows = calloc(m->list.n + 1, sizeof *m->rows);
        if (m->rows == NULL) {
            metrics_free(m);
            m = NULL;
        }
    }
    doc_add(d, steps, m, metrics_free);
    page_leaf_metrics(s, d);
    if (s->js != NULL)
        js_status_metrics(s->js, d);
}
