/* pages_metrics.c: /metrics in Prometheus' text format. */
#include "pages.h"

#include "mayfly/clock.h"
#include "mayfly/prom.h"

#include <stdlib.h>

static void server_metrics(struct server *s, struct mf_buf *b)
{
    const struct server_counters *t = &s->total;

    prom_metric(b, "mayfly_connections", "gauge", "Open client connections.", s->nclients);
    prom_metric(b, "mayfly_connections_total", "counter",
                "Client connections accepted since start.", (double)t->total_connections);
    prom_metric(b, "mayfly_max_connections", "gauge", "Configured limit of client connections.",
                (double)s->opts->max_connections);
    prom_metric(b, "mayfly_subscriptions", "gauge", "Client subscriptions in all accounts.",
                (double)s->nsubs);
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
                (double)(clock_mono_ns() - s->start_mono_ns) / 1e9);
    prom_metric(b, "mayfly_config_load_time_seconds", "gauge", "When the configuration was loaded.",
                (double)s->config_load_wall_ns / 1e9);
    prom_metric(b, "mayfly_lame_duck", "gauge", "1 while the server is leaving.", s->lame_duck);
}

static void process_metrics(struct server *s, struct mf_buf *b)
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
                (double)s->start_wall_ns / 1e9);
}

/* Turns of the event loop that took 10 ms or more, by the kind of work that took longest. */
static void stall_metrics(struct server *s, struct mf_buf *b)
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

struct account_series {
    const char *name, *type, *help;
    double (*value)(struct account *a);
};
static double v_clients(struct account *a)
{
    return account_counters(a)->clients;
}
static double v_subs(struct account *a)
{
    return (double)account_counters(a)->subs;
}
static double v_in_msgs(struct account *a)
{
    return (double)account_counters(a)->in_msgs;
}
static double v_in_bytes(struct account *a)
{
    return (double)account_counters(a)->in_bytes;
}
static double v_out_msgs(struct account *a)
{
    return (double)account_counters(a)->out_msgs;
}
static double v_out_bytes(struct account *a)
{
    return (double)account_counters(a)->out_bytes;
}
static double v_slow(struct account *a)
{
    return (double)account_counters(a)->slow_consumers;
}
static double v_matches(struct account *a)
{
    struct router_stats t;

    router_stats(account_router(a), &t);
    return (double)t.matches;
}
static double v_cache_hits(struct account *a)
{
    struct router_stats t;

    router_stats(account_router(a), &t);
    return (double)t.cache_hits;
}
static const struct account_series series[] = {
    {"mayfly_account_connections", "gauge", "Open client connections.", v_clients},
    {"mayfly_account_subscriptions", "gauge", "Client subscriptions.", v_subs},
    {"mayfly_account_in_msgs_total", "counter", "Messages received.", v_in_msgs},
    {"mayfly_account_in_bytes_total", "counter", "Bytes received.", v_in_bytes},
    {"mayfly_account_out_msgs_total", "counter", "Messages delivered.", v_out_msgs},
    {"mayfly_account_out_bytes_total", "counter", "Bytes delivered.", v_out_bytes},
    {"mayfly_account_slow_consumers_total", "counter", "Slow clients closed.", v_slow},
    {"mayfly_router_matches_total", "counter", "Subjects looked up.", v_matches},
    {"mayfly_router_cache_hits_total", "counter", "Look-ups answered by the cache.", v_cache_hits},
};

struct series_walk {
    struct mf_buf *out;
    const struct account_series *series;
};
static void series_each(void *arg, struct account *a)
{
    struct series_walk *walk = arg;

    prom_label(walk->out, walk->series->name, '{', "account", account_name(a));
    prom_value(walk->out, "}", walk->series->value(a));
}

void page_metrics(struct server *s, struct mf_buf *out)
{
    prom_head(out, "mayfly_info", "gauge", "What is running.");
    prom_label(out, "mayfly_info", '{', "version", SERVER_MAYFLY_VERSION);
    prom_label(out, "", ',', "nats_version", SERVER_NATS_VERSION);
    prom_label(out, "", ',', "server_id", s->id);
    prom_label(out, "", ',', "server_name", s->name);
    prom_value(out, "}", 1);
    server_metrics(s, out);
    stall_metrics(s, out);
    process_metrics(s, out);
    for (size_t i = 0; i < MF_COUNT(series); i++) {
        struct series_walk walk = {out, &series[i]};
        prom_head(out, series[i].name, series[i].type, series[i].help);
        accounts_each(s->accounts, series_each, &walk);
    }
    if (s->guest != NULL)
        s->guest->metrics(s->guest->arg, out);
}
