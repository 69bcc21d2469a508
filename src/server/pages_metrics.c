/* pages_metrics.c: /metrics in Prometheus' text format. */
#include "pages.h"

#include "mayfly/clock.h"

#include <stdlib.h>

static void metric(struct mf_buf *b, const char *name, const char *type, const char *help,
                   double value)
{
    mf_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type, name, value);
}

/* Label values may hold anything a configuration may. */
static void label(struct mf_buf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"')
            mf_buf_byte(b, '\\');
        if (*text == '\n')
            mf_buf_puts(b, "\\n");
        else
            mf_buf_byte(b, (uint8_t)*text);
    }
}

static void server_metrics(struct server *s, struct mf_buf *b)
{
    const struct server_counters *t = &s->total;

    metric(b, "mayfly_connections", "gauge", "Open client connections.", s->nclients);
    metric(b, "mayfly_connections_total", "counter", "Client connections accepted since start.",
           (double)t->total_connections);
    metric(b, "mayfly_max_connections", "gauge", "Configured limit of client connections.",
           (double)s->opts->max_connections);
    metric(b, "mayfly_subscriptions", "gauge", "Client subscriptions in all accounts.",
           (double)s->nsubs);
    metric(b, "mayfly_in_msgs_total", "counter", "Messages received from clients.",
           (double)t->in_msgs);
    metric(b, "mayfly_in_bytes_total", "counter", "Header and payload bytes received from clients.",
           (double)t->in_bytes);
    metric(b, "mayfly_out_msgs_total", "counter", "Messages delivered to clients.",
           (double)t->out_msgs);
    metric(b, "mayfly_out_bytes_total", "counter", "Header and payload bytes delivered to clients.",
           (double)t->out_bytes);
    metric(b, "mayfly_slow_consumers_total", "counter",
           "Clients closed because they read too slowly.", (double)t->slow_consumers);
    metric(b, "mayfly_stale_connections_total", "counter",
           "Clients closed because they answered no pings.", (double)t->stale_connections);
    metric(b, "mayfly_stalled_publishers_total", "counter",
           "Times a publisher was held up by a slow reader.", (double)t->stalled);
    metric(b, "mayfly_uptime_seconds", "gauge", "Seconds since the server started.",
           (double)(clock_mono_ns() - s->start_mono_ns) / 1e9);
    metric(b, "mayfly_config_load_time_seconds", "gauge", "When the configuration was loaded.",
           (double)s->config_load_wall_ns / 1e9);
    metric(b, "mayfly_lame_duck", "gauge", "1 while the server is leaving.", s->lame_duck);
}

static void process_metrics(struct server *s, struct mf_buf *b)
{
    struct page_usage u;

    page_usage(s, &u);
    metric(b, "process_cpu_seconds_total", "counter", "User and system CPU time.", u.cpu_seconds);
    metric(b, "process_resident_memory_bytes", "gauge", "Resident memory.", (double)u.rss);
    metric(b, "process_virtual_memory_bytes", "gauge", "Virtual memory.", (double)u.vsize);
    metric(b, "process_threads", "gauge", "Threads: the loop and its workers.", (double)u.threads);
    if (u.fds > 0)
        metric(b, "process_open_fds", "gauge", "Open file descriptors.", (double)u.fds);
    metric(b, "process_max_fds", "gauge", "Limit of open file descriptors.", (double)u.max_fds);
    metric(b, "process_start_time_seconds", "gauge", "Start time since the epoch.",
           (double)s->start_wall_ns / 1e9);
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

    mf_buf_printf(walk->out, "%s{account=\"", walk->series->name);
    label(walk->out, account_name(a));
    mf_buf_printf(walk->out, "\"} %.17g\n", walk->series->value(a));
}

void page_metrics(struct server *s, struct mf_buf *out)
{
    mf_buf_printf(out,
                  "# HELP mayfly_info What is running.\n# TYPE mayfly_info gauge\n"
                  "mayfly_info{version=\"%s\",nats_version=\"%s\",server_id=\"%s\",server_name=\"",
                  SERVER_MAYFLY_VERSION, SERVER_NATS_VERSION, s->id);
    label(out, s->name);
    mf_buf_puts(out, "\"} 1\n");
    server_metrics(s, out);
    process_metrics(s, out);
    for (size_t i = 0; i < MF_COUNT(series); i++) {
        struct series_walk walk = {out, &series[i]};
        mf_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", series[i].name, series[i].help,
                      series[i].name, series[i].type);
        accounts_each(s->accounts, series_each, &walk);
    }
}
