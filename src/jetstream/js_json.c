/* js_json.c: errors, TTL policies, steps of the clock and backfill jobs as JSON. */
#include "jetstream/js_json.h"

#include "base/clock.h"
#include "base/clock_steps.h"
#include "stream/backfill.h"
#include "stream/js_error.h"
#include "ttl/policy.h"

#include <stdio.h>

void js_json_error(struct jsonw *w, const struct js_error *e)
{
    jsonw_object(w, "error");
    jsonw_u64(w, "code", e->code);
    jsonw_u64(w, "err_code", e->err_code);
    jsonw_str(w, "description", e->text);
    jsonw_end(w);
}

/* --- TTL policies ----------------------------------------------------------------------------- */

/* Of a stream without any policy: plain JetStream. */
static const struct policy_view plain = {.keys = {.default_ttl = POLICY_UNSET,
                                                  .min_ns = POLICY_UNSET,
                                                  .max_ns = POLICY_UNSET,
                                                  .bounds = POLICY_BOUNDS_CLAMP,
                                                  .never = POLICY_NEVER_ALLOW,
                                                  .scope = POLICY_SCOPE_MESSAGE,
                                                  .slide = POLICY_SLIDE_WRITE,
                                                  .enforce = POLICY_ENFORCE_ON}};

const struct policy_view *js_policy_view(const struct policy *p)
{
    return p == NULL ? &plain : policy_view(p);
}

/* The value of a key as text; "" where it has none. */
static const char *value_text(const struct policy_view *v, enum policy_key k,
                              char text[POLICY_TEXT])
{
    switch (k) {
    case POLICY_DEFAULT:
        return policy_ttl_text(text, v->keys.default_ttl);
    case POLICY_MIN:
        return policy_ttl_text(text, v->keys.min_ns);
    case POLICY_MAX:
        return policy_ttl_text(text, v->keys.max_ns);
    case POLICY_WARN:
        return v->keys.warn_ns <= 0 ? "0s" : policy_ttl_text(text, v->keys.warn_ns);
    case POLICY_PATTERN:
        return v->keys.pattern != NULL ? v->keys.pattern : v->inferred != NULL ? v->inferred : "";
    case POLICY_ON_EXPIRE:
        return v->keys.on_expire != NULL ? v->keys.on_expire : "";
    default:
        return policy_word(&v->keys, k);
    }
}

static void write_rules(struct jsonw *w, const struct policy_view *v, const uint64_t *hits)
{
    jsonw_array(w, "rules");
    for (size_t i = 0; i < v->nrules; i++) {
        const struct policy_rule_text *r = &v->rules[i];
        jsonw_object(w, NULL);
        jsonw_str(w, "id", r->id);
        jsonw_str(w, "subject", r->subject);
        if (r->nheaders > 0) {
            jsonw_object(w, "header");
            for (size_t k = 0; k < r->nheaders; k++)
                jsonw_str(w, r->headers[k].key, r->headers[k].value);
            jsonw_end(w);
        }
        jsonw_str(w, "ttl", r->ttl);
        jsonw_opt_str(w, "permanent_if", r->permanent_if);
        if (hits != NULL)
            jsonw_u64(w, "decided", hits[i]);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static const char *origin_text(const struct policy_view *v, enum policy_key k, char text[24])
{
    switch (v->origin[k]) {
    case POLICY_OF_STREAM:
        return "stream";
    case POLICY_OF_NAMESPACE:
        (void)snprintf(text, 24, "namespace %u", v->namespace_no);
        return text;
    case POLICY_OF_SERVER:
        return "server";
    default:
        return "built in";
    }
}

void js_json_policy(struct jsonw *w, const struct policy *p, const uint64_t *hits)
{
    const struct policy_view *v = js_policy_view(p);
    char text[POLICY_TEXT], origin[24];

    jsonw_object(w, "policy");
    for (int k = 0; k < POLICY_RULES; k++)
        jsonw_str(w, policy_key_name((enum policy_key)k), value_text(v, (enum policy_key)k, text));
    write_rules(w, v, hits);
    jsonw_end(w);
    jsonw_object(w, "origin");
    for (int k = 0; k < POLICY_RULES; k++)
        if (value_text(v, (enum policy_key)k, text)[0] != '\0')
            jsonw_str(w, policy_key_name((enum policy_key)k),
                      origin_text(v, (enum policy_key)k, origin));
    if (v->nrules > 0)
        jsonw_str(w, policy_key_name(POLICY_RULES), origin_text(v, POLICY_RULES, origin));
    jsonw_end(w);
}

void js_json_clock(struct jsonw *w, const struct clock_steps *c)
{
    char text[CLOCK_TEXT];

    jsonw_object(w, "clock");
    jsonw_u64(w, "steps", c->count);
    if (c->count > 0) {
        jsonw_str(w, "last_step", clock_duration(text, c->last_ns));
        jsonw_time(w, "last_step_at", c->at_ns);
    }
    jsonw_end(w);
}

/* --- backfill jobs --------------------------------------------------------------------------- */

static const char *const states[] = {"running", "paused", "done", "stopped", "failed"};

static void write_progress(struct jsonw *w, const struct backfill_status *st, int64_t now_ns)
{
    int64_t took_ns = now_ns - st->started_ns;
    double per_second = took_ns > 0 ? (double)st->seen * 1e9 / (double)took_ns : 0;
    bool running = st->state == BACKFILL_RUNNING;

    jsonw_u64(w, "seen", st->seen);
    jsonw_u64(w, "total", st->total);
    jsonw_u64(w, "set", st->set);
    jsonw_u64(w, "infinite", st->infinite);
    jsonw_u64(w, "unchanged", st->unchanged);
    jsonw_u64(w, "pinned", st->pinned);
    jsonw_u64(w, "expire_now", st->expire_now);
    jsonw_u64(w, "errors", st->errors);
    jsonw_i64(w, "per_second", running ? (int64_t)per_second : 0);
    jsonw_i64(w, "left_s",
              running && per_second > 0 && st->total > st->seen
                  ? (int64_t)((double)(st->total - st->seen) / per_second)
                  : 0);
}

void js_json_job(struct jsonw *w, const struct backfill_status *st, int64_t now_ns)
{
    char text[CLOCK_TEXT];

    jsonw_object(w, "job");
    jsonw_str(w, "id", st->id);
    jsonw_str(w, "state", states[st->state]);
    jsonw_opt_str(w, "error", st->error);
    jsonw_bool(w, "dry_run", st->opts.dry_run);
    jsonw_str(w, "which", st->opts.all ? "all" : "without");
    jsonw_str(w, "filter", st->opts.filter[0] == '\0' ? ">" : st->opts.filter);
    jsonw_str(w, "from", st->opts.written ? "written" : "now");
    jsonw_str(w, "spread", clock_duration(text, st->opts.spread_ns));
    jsonw_time(w, "started", st->started_ns);
    jsonw_time(w, "base", st->base_ns);
    write_progress(w, st, now_ns);
    jsonw_object(w, "decided");
    for (int by = 0; by < POLICY_BYS; by++)
        jsonw_opt_u64(w, policy_by_word((enum policy_by)by), st->decided[by]);
    jsonw_end(w);
    jsonw_end(w);
}
