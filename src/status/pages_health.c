/* pages_health.c: /healthz: whether this server can serve requests.
 *
 * Problems are visited twice: for the status, which precedes them in the page, and to render them.
 */
#include "status/pages_impl.h"

#include "base/log.h"

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* --- finding ---------------------------------------------------------------------------------- */

static void report(health_tell fn, void *arg, int status, const char *type, const char *text)
{
    fn(arg, &(struct health_problem){.status = status, .type = type, .text = text});
}

static void find_problems(struct status *s, const struct healthz_query *q, health_tell fn,
                          void *arg)
{
    struct health_query what = {q->account, q->stream, q->consumer};

    if (is_set(q->stream) && !is_set(q->account))
        report(fn, arg, 400, "BAD_REQUEST",
               "\"account\" must not be empty when checking stream health");
    else if (is_set(q->consumer) && !is_set(q->stream))
        report(fn, arg, 400, "BAD_REQUEST",
               "\"stream\" must not be empty when checking consumer health");
    else if (server_is_stopping(s->server) || server_is_lame_duck(s->server))
        report(fn, arg, 500, "CONNECTION",
               "failed to be ready for connections: the server is leaving");
    else if (q->js_server_only || !server_options(s->server)->jetstream.enabled)
        return;
    else if (s->api == NULL)
        report(fn, arg, 503, "JETSTREAM", "JetStream not enabled");
    else if (!q->js_enabled_only)
        api_health(s->api, &what, fn, arg);
}

/* --- rendering -------------------------------------------------------------------------------- */

struct finding {
    struct jsonw *w;
    size_t n;
    int status; /* of the first one */
    bool http;  /* a load balancer: its answer is logged */
};

static void count_problem(void *arg, const struct health_problem *p)
{
    struct finding *f = arg;

    if (f->n++ == 0)
        f->status = p->status;
}

static void write_first(void *arg, const struct health_problem *p)
{
    struct finding *f = arg;

    if (f->n++ > 0)
        return;
    if (f->http)
        log_warn("Healthcheck failed: %s", p->text);
    jsonw_str(f->w, "error", p->text);
}

static void write_each(void *arg, const struct health_problem *p)
{
    struct finding *f = arg;

    jsonw_object(f->w, NULL);
    jsonw_str(f->w, "type", p->type);
    jsonw_opt_str(f->w, "account", p->account);
    jsonw_opt_str(f->w, "stream", p->stream);
    jsonw_opt_str(f->w, "consumer", p->consumer);
    jsonw_str(f->w, "error", p->text);
    jsonw_end(f->w);
}

static const char *status_text(const struct healthz_query *q, const struct finding *f)
{
    if (f->n == 0)
        return "ok";
    return q->details || f->status == 400 || f->status == 500 ? "error" : "unavailable";
}

int page_healthz(struct status *s, const struct healthz_query *q, struct jsonw *w, const char *key)
{
    struct finding f = {.status = 200}, written = {.w = w, .http = key == NULL};

    find_problems(s, q, count_problem, &f);
    jsonw_object(w, key);
    jsonw_str(w, "status", status_text(q, &f));
    if (key != NULL) /* over HTTP the answer has a status of its own */
        jsonw_i64(w, "status_code", f.status);
    if (f.n > 0 && q->details) {
        if (written.http)
            log_warn("Healthcheck failed: %zu errors", f.n);
        jsonw_array(w, "errors");
        find_problems(s, q, write_each, &written);
        jsonw_end(w);
    } else if (f.n > 0) {
        find_problems(s, q, write_first, &written);
    }
    jsonw_end(w);
    return f.status;
}
