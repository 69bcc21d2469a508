/* pages_health.c: /healthz: whether this server can serve requests.
 *
 * The status stands first in the page and is known last.  Problems are therefore collected beside
 * the page, in slices, and the last step writes all of it. */
#include "status/pages_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>

#define REPEAT_NS                                                                                  \
    (60 * CLOCK_S) /* between two lines in the log about the same number of problems */

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* --- finding ---------------------------------------------------------------------------------- */

static void report_problem(health_report_fn fn, void *arg, int status, const char *type,
                           const char *text)
{
    fn(arg, &(struct health_problem){.status = status, .type = type, .text = text});
}

static void find_problems(struct status *s, const struct healthz_query *q, struct doc *d,
                          health_report_fn fn, void *arg)
{
    struct health_query what = {q->account, q->stream, q->consumer};

    if (is_set(q->stream) && !is_set(q->account))
        report_problem(fn, arg, 400, "BAD_REQUEST",
                       "\"account\" must not be empty when checking stream health");
    else if (is_set(q->consumer) && !is_set(q->stream))
        report_problem(fn, arg, 400, "BAD_REQUEST",
                       "\"stream\" must not be empty when checking consumer health");
    else if (server_is_stopping(s->server) || server_is_lame_duck(s->server))
        report_problem(fn, arg, 500, "CONNECTION",
                       "failed to be ready for connections: the server is leaving");
    else if (q->js_server_only || !server_options(s->server)->jetstream.enabled)
        return;
    else if (s->js == NULL)
        report_problem(fn, arg, 503, "JETSTREAM", "JetStream not enabled");
    else if (!q->js_enabled_only)
        js_status_health(s->js, &what, d, fn, arg);
}

/* --- rendering -------------------------------------------------------------------------------- */

struct findings {
    struct status *s;
    const char *key;
    int *to; /* where the status is wanted, or NULL */
    size_t n;
    int status;           /* of the first one */
    bool details;         /* all are wanted, not the first alone */
    struct mf_buf first;  /* its text */
    struct mf_buf errors; /* a list, in JSON */
    struct jsonw w;       /* writes into errors */
};

static void findings_free(void *state)
{
    struct findings *f = state;

    mf_buf_fini(&f->first);
    mf_buf_fini(&f->errors);
    free(f);
}

static void collect_problem(void *arg, const struct health_problem *p)
{
    struct findings *f = arg;

    if (f->n++ == 0) {
        f->status = p->status;
        mf_buf_puts(&f->first, p->text);
    }
    if (!f->details)
        return;
    jsonw_object(&f->w, NULL);
    jsonw_str(&f->w, "type", p->type);
    jsonw_opt_str(&f->w, "account", p->account);
    jsonw_opt_str(&f->w, "stream", p->stream);
    jsonw_opt_str(&f->w, "consumer", p->consumer);
    jsonw_str(&f->w, "error", p->text);
    jsonw_end(&f->w);
}

static const char *status_text(const struct findings *f)
{
    if (f->n == 0)
        return "ok";
    return f->details || f->status == 400 || f->status == 500 ? "error" : "unavailable";
}

/* A load balancer asks each few seconds, and an open status page too: what they were told is in the
 * log when it changes, and then once a minute. */
static void log_findings(struct findings *f)
{
    struct status *s = f->s;
    int64_t now_ns = loop_mono_ns(s->loop);
    bool known = f->n == s->unwell && now_ns - s->unwell_at_ns < REPEAT_NS;

    s->unwell = f->n;
    if (f->n == 0 || known)
        return;
    s->unwell_at_ns = now_ns;
    if (f->details)
        log_warn("Healthcheck failed: %zu errors", f->n);
    else
        log_warn("Healthcheck failed: %s", mf_buf_cstr(&f->first));
}

static bool write_step(struct doc *d, void *state)
{
    struct findings *f = state;
    bool http = f->key == NULL;

    jsonw_end(&f->w);
    if (mf_buf_failed(&f->first) || mf_buf_failed(&f->errors)) {
        doc_fail(d, MF_NOMEM, "out of memory");
        return false;
    }
    jsonw_object(&d->w, f->key);
    jsonw_str(&d->w, "status", status_text(f));
    if (!http) /* over HTTP the answer has a status of its own */
        jsonw_i64(&d->w, "status_code", f->status);
    if (http)
        log_findings(f);
    if (f->n > 0 && f->details)
        jsonw_raw(&d->w, "errors", mf_buf_slice(&f->errors));
    else if (f->n > 0)
        jsonw_str(&d->w, "error", mf_buf_cstr(&f->first));
    jsonw_end(&d->w);
    if (f->to != NULL)
        *f->to = f->status;
    return false;
}

void page_healthz(struct status *s, const struct healthz_query *q, struct doc *d, const char *key,
                  int *status)
{
    static const doc_step steps[] = {write_step, NULL};
    struct findings *f = calloc(1, sizeof *f);

    if (f != NULL) {
        *f = (struct findings){
            .s = s, .key = key, .to = status, .status = 200, .details = q->details};
        jsonw_begin(&f->w, &f->errors, JSONW_COMPACT);
        jsonw_array(&f->w, NULL);
        find_problems(s, q, d, collect_problem, f);
    }
    doc_add(d, steps, f, findings_free);
}
