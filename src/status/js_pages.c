/* js_pages.c: JetStream in /varz and /healthz, and in the log at the start. */
#include "status/js_pages_impl.h"

#include "stream/stream_damage.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

struct js_status *js_status_new(struct api *a)
{
    struct js_status *st = calloc(1, sizeof *st);

    if (st == NULL)
        return NULL;
    st->api = a;
    st->js = a->js;
    return st;
}

void js_status_stop(struct js_status *st)
{
    ttl_outlook_free(st);
}

void js_status_free(struct js_status *st)
{
    free(st);
}

bool js_status_enabled(struct js_status *st, const struct account *acc)
{
    const struct js_account *ja = js_account_of(st->js, acc);

    return ja != NULL && ja->limits != NULL;
}

/* --- config, stats, limits -------------------------------------------------------------------- */

/* Negative is no limit, like 0. */
static void opt_limit(struct jsonw *w, const char *key, int64_t value)
{
    if (value > 0)
        jsonw_i64(w, key, value);
}

/* compress_ok is nats-server's only when both limits are configured. */
void js_config_write(struct js_status *st, struct jsonw *w, bool paths)
{
    const struct options_jetstream *js = &st->js->options->jetstream;
    bool relaxed = js->sync_interval_ns > 0;

    jsonw_object(w, "config");
    jsonw_i64(w, "max_memory", st->js->max.memory);
    jsonw_i64(w, "max_storage", st->js->max.file);
    if (paths)
        jsonw_str(w, "store_dir", st->js->store_dir);
    jsonw_i64(w, "sync_interval", relaxed ? js->sync_interval_ns : 120 * CLOCK_S);
    jsonw_opt_bool(w, "sync_always", !relaxed);
    jsonw_opt_str(w, "domain", js->domain);
    jsonw_opt_bool(w, "compress_ok", js->max_memory > 0 && js->max_store > 0);
    jsonw_opt_str(w, "unique_tag", js->unique_tag);
    jsonw_opt_bool(w, "strict", js->strict);
    jsonw_end(w);
}

void js_account_write(const struct js_status *st, struct jsonw *w, const char *name)
{
    const struct account *a = accounts_get(st->js->accounts, name);

    jsonw_str(w, "account", name);
    if (a != NULL && strcmp(account_tag(a), name) != 0)
        jsonw_str(w, "account_tag", account_tag(a));
}

void js_limits_write(struct js_status *st, struct jsonw *w)
{
    const struct options_jetstream *js = &st->js->options->jetstream;

    jsonw_object(w, "limits");
    opt_limit(w, "max_request_batch", js->max_request_batch);
    opt_limit(w, "max_ack_pending", js->max_ack_pending);
    opt_limit(w, "max_ha_assets", js->max_ha_assets);
    opt_limit(w, "max_duplicate_window", js->duplicate_window_ns);
    opt_limit(w, "max_batch_inflight_per_stream", js->batch_max_inflight_per_stream);
    opt_limit(w, "max_batch_inflight_total", js->batch_max_inflight_total);
    opt_limit(w, "max_batch_size", js->batch_max_msgs);
    opt_limit(w, "max_batch_timeout", js->batch_timeout_ns);
    jsonw_i64(w, "default_max_consumers", limits_default_max_consumers(js));
    jsonw_end(w);
}

void js_stats_write(struct js_status *st, struct jsonw *w)
{
    struct stream_usage reserved;
    struct mf_list *pos;
    size_t n = 0;

    mf_list_each(pos, &st->js->list) n +=
        mf_container(pos, struct js_account, link)->catalog != NULL;
    limits_reserved(st->api, &reserved);
    jsonw_i64(w, "memory", st->js->usage.memory);
    jsonw_i64(w, "storage", st->js->usage.file);
    jsonw_i64(w, "reserved_memory", reserved.memory);
    jsonw_i64(w, "reserved_storage", reserved.file);
    jsonw_u64(w, "accounts", n);
    jsonw_i64(w, "ha_assets", 0);
    jsonw_object(w, "api");
    jsonw_u64(w, "level", st->js->setup.level);
    jsonw_u64(w, "total", st->api->total);
    jsonw_u64(w, "errors", st->api->errors);
    jsonw_opt_u64(w, "inflight", st->api->inflight);
    jsonw_end(w);
}

void js_status_varz(struct js_status *st, struct jsonw *w, bool paths)
{
    js_config_write(st, w, paths);
    jsonw_object(w, "stats");
    js_stats_write(st, w);
    jsonw_end(w);
    js_limits_write(st, w);
}

/* --- health ----------------------------------------------------------------------------------- */

struct checkup {
    const char *account;
    const char *dir, *folder; /* of the account's streams, and of the one looked at */
    health_report_fn tell;
    void *arg;
};

static void report_problem(const struct checkup *c, struct health_problem p, const char *fmt, ...)
    MF_PRINTF(3, 4);
static void report_problem(const struct checkup *c, struct health_problem p, const char *fmt, ...)
{
    struct mf_buf b = MF_BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    mf_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    p.text = mf_buf_failed(&b) ? "out of memory" : mf_buf_cstr(&b);
    c->tell(c->arg, &p);
    mf_buf_fini(&b);
}

static struct health_problem make_problem(const struct checkup *c, const char *stream)
{
    return (struct health_problem){
        .status = 503, .type = "STREAM", .account = c->account, .stream = stream};
}

/* How to get back to green.  Paths are those below store_dir: the page may be public. */
static void tell_damage(const struct checkup *c, struct stream *s, const struct stream_damage *d)
{
    const char *name = stream_name(s);
    struct mf_buf which = MF_BUF_INIT;

    for (size_t i = 0; i < d->seqs; i++)
        mf_buf_printf(&which, "%s%llu", i == 0 ? " (sequence " : ", ",
                      (unsigned long long)d->seq[i]);
    if (d->seqs > 0)
        mf_buf_puts(&which, d->messages > d->seqs ? ", ...)" : ")");
    report_problem(
        c, make_problem(c, name),
        "JetStream stream '%s > %s' is damaged on disk: %llu message%s %s%s in %zu place%s. %sStop "
        "the server, run `mayfly check --repair SRC --to DST` with SRC %s in store_dir/jetstream, "
        "keep SRC, and put DST in its place: it holds all that can be read.",
        c->account, name, (unsigned long long)d->messages, d->messages == 1 ? "" : "s",
        d->found_at_start ? "may be lost" : "cannot be read", mf_buf_cstr(&which), d->places,
        d->places == 1 ? "" : "s",
        d->found_at_start || d->seqs == 0
            ? ""
            : "Delete them (nats stream rmm) or purge them, and this is over. Or: ",
        c->folder);
    mf_buf_fini(&which);
}

static void check_stream(struct checkup *c, struct stream *s)
{
    const char *name = stream_name(s), *error = stream_error(s);
    struct mf_buf folder = MF_BUF_INIT;
    struct stream_damage d;

    if (error != NULL)
        report_problem(c, make_problem(c, name), "JetStream stream '%s > %s' write error: %s",
                       c->account, name, error);
    else if (stream_damage(s, &d)) {
        mf_buf_printf(&folder, "%s/%s", c->dir, name);
        c->folder = mf_buf_cstr(&folder);
        tell_damage(c, s, &d);
        mf_buf_fini(&folder);
    }
}

static void check_offline(const struct checkup *c, const char *name, const char *reason)
{
    report_problem(c, make_problem(c, name),
                   "JetStream stream '%s > %s' could not be recovered: %s", c->account, name,
                   reason);
}

static void check_one(struct checkup *c, struct js_account *ja, const struct health_query *q)
{
    struct mf_slice name = mf_str(q->stream);
    struct stream *s = catalog_find(ja->catalog, name);
    const char *reason = s == NULL ? catalog_offline(ja->catalog, name) : NULL;
    struct health_problem none = {
        .status = 404, .type = "STREAM", .account = q->account, .stream = q->stream};

    c->account = q->account;
    c->dir = ja->dir;
    if (reason != NULL)
        check_offline(c, q->stream, reason);
    else if (s == NULL)
        report_problem(c, none, "JetStream stream \"%s\" not found on account \"%s\"", q->stream,
                       q->account);
    else
        check_stream(c, s);
    if (s == NULL || q->consumer == NULL || *q->consumer == '\0')
        return;
    if (js_consumers(s) != NULL && consumers_find(js_consumers(s), mf_str(q->consumer)) != NULL)
        return;
    none.type = "CONSUMER";
    none.consumer = q->consumer;
    report_problem(c, none,
                   "JetStream consumer \"%s\" not found for stream \"%s\" on account \"%s\"",
                   q->consumer, q->stream, q->account);
}

/* All streams of an account or of all, a stream at a time. */
struct health_walk {
    struct js_walk walk;
    struct checkup c;
};

static void health_free(void *state)
{
    struct health_walk *h = state;

    js_walk_fini(&h->walk);
    free(h);
}

static bool health_step(struct doc *d, void *state)
{
    struct health_walk *h = state;
    struct js_walk *k = &h->walk;
    struct js_account *ja = js_walk_account(k, d);
    struct catalog_item x;

    if (k->at >= k->n)
        return false;
    if (ja == NULL || !js_walk_item(k, d, &x)) {
        js_walk_next_account(k);
        return true;
    }
    h->c.account = k->accounts[k->at];
    h->c.dir = ja->dir;
    if (x.stream != NULL)
        check_stream(&h->c, x.stream);
    else if (x.reason != NULL)
        check_offline(&h->c, x.name, x.reason);
    return true;
}

/* account NULL: all of them. */
static void health_add(struct js_status *st, const char *account, const struct checkup *c,
                       struct doc *d)
{
    static const doc_step steps[] = {health_step, NULL};
    struct health_walk *h = calloc(1, sizeof *h);

    if (h != NULL && js_walk_init(&h->walk, st, account) != 0) {
        health_free(h);
        h = NULL;
    }
    if (h != NULL)
        h->c = *c;
    doc_add(d, steps, h, health_free);
}

void js_status_health(struct js_status *st, const struct health_query *q, struct doc *d,
                      health_report_fn told, void *arg)
{
    struct checkup c = {.tell = told, .arg = arg};
    struct account *acc;
    struct js_account *ja;

    if (q->account == NULL || *q->account == '\0') {
        health_add(st, NULL, &c, d);
        return;
    }
    acc = accounts_get(st->js->accounts, q->account);
    ja = acc == NULL ? NULL : js_account_of(st->js, acc);
    if (ja == NULL || ja->catalog == NULL)
        report_problem(
            &c, (struct health_problem){.status = 404, .type = "ACCOUNT", .account = q->account},
            "JetStream account \"%s\" not found", q->account);
    else if (q->stream == NULL || *q->stream == '\0')
        health_add(st, q->account, &c, d);
    else
        check_one(&c, ja, q);
}

/* --- the log ---------------------------------------------------------------------------------- */

#define SIZE_TEXT 32

static const char *size_text(char dst[SIZE_TEXT], int64_t bytes)
{
    static const char unit[] = "KMGTPE";
    double x = (double)bytes;
    size_t i = 0;

    if (bytes < 1024) {
        snprintf(dst, SIZE_TEXT, "%lld B", (long long)bytes);
        return dst;
    }
    for (x /= 1024; x >= 1024 && unit[i + 1] != '\0'; i++)
        x /= 1024;
    snprintf(dst, SIZE_TEXT, "%.2f %cB", x, unit[i]);
    return dst;
}

void js_status_log_start(const struct api *a)
{
    const struct jetstream *j = a->js;
    const struct options_jetstream *js = &j->options->jetstream;
    char text[SIZE_TEXT];

    if (options_store_dir_temporary(j->options))
        log_warn("Temporary storage directory used, data could be lost on system reboot");
    log_info("---------------- JETSTREAM ----------------");
    log_info("  Strict:          %s", js->strict ? "true" : "false");
    log_info("  Max Memory:      %s", size_text(text, j->max.memory));
    log_info("  Max Storage:     %s", size_text(text, j->max.file));
    log_info("  Store Directory: \"%s\"", j->store_dir);
    if (*jetstream_domain(j) != '\0')
        log_info("  Domain:          %s", jetstream_domain(j));
    log_info("  API Level:       %u", j->setup.level);
    log_info("-------------------------------------------");
}

struct recovered {
    uint64_t streams, offline, msgs, with_ttl, overdue;
};

static void count_account(const struct js_account *ja, struct recovered *r)
{
    struct catalog_item item;
    struct stream_state st;

    for (size_t i = 0; ja->catalog != NULL && catalog_at(ja->catalog, i, &item); i++) {
        if (item.stream == NULL) {
            r->offline++;
            continue;
        }
        stream_state(item.stream, &st);
        r->streams++;
        r->msgs += st.msgs;
        r->with_ttl += st.with_ttl;
        r->overdue += st.overdue;
    }
}

void js_status_totals(const struct api *a, struct js_totals *out)
{
    struct mf_list *pos;

    *out = (struct js_totals){0};
    mf_list_each(pos, &a->js->list)
    {
        const struct js_account *ja = mf_container(pos, struct js_account, link);
        struct catalog_item item;
        struct stream_state st;
        out->consumers += js_account_consumers(ja);
        for (size_t i = 0; ja->catalog != NULL && catalog_at(ja->catalog, i, &item); i++) {
            if (item.stream == NULL)
                continue;
            stream_state(item.stream, &st);
            out->streams++;
            out->msgs += st.msgs;
            out->bytes += st.bytes;
        }
    }
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

void js_status_log_recovered(const struct api *a, int64_t took_ns)
{
    struct recovered r = {0};
    struct mf_list *pos;
    char took[CLOCK_TEXT];

    mf_list_each(pos, &a->js->list) count_account(mf_container(pos, struct js_account, link), &r);
    log_info("Recovered %llu stream%s with %llu message%s (%llu with a deadline) in %s",
             (unsigned long long)r.streams, plural(r.streams), (unsigned long long)r.msgs,
             plural(r.msgs), (unsigned long long)r.with_ttl, clock_duration(took, took_ns));
    if (r.overdue > 0)
        log_info("%llu message%s expired while the server was stopped",
                 (unsigned long long)r.overdue, plural(r.overdue));
    if (r.offline > 0)
        log_warn("%llu stream%s cannot be served; /healthz says why", (unsigned long long)r.offline,
                 plural(r.offline));
}
