/* pages_health.c: /healthz: may this server be given work? */
#include "pages.h"

struct verdict {
    int code;           /* of HTTP */
    const char *status; /* without details */
    const char *type;   /* of the error, in details */
    const char *error;  /* NULL: healthy */
};

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static struct verdict judge(const struct server *s, const struct healthz_query *q)
{
    if (is_set(q->stream) && !is_set(q->account))
        return (struct verdict){400, "error", "BAD_REQUEST",
                                "\"account\" must not be empty when checking stream health"};
    if (is_set(q->consumer) && !is_set(q->stream))
        return (struct verdict){400, "error", "BAD_REQUEST",
                                "\"stream\" must not be empty when checking consumer health"};
    if (s->stopping || s->lame_duck)
        return (struct verdict){500, "error", "CONNECTION",
                                "failed to be ready for connections: the server is leaving"};
    /* Configured and asked for, but not served. */
    if (s->opts->jetstream.enabled && !q->js_server_only &&
        (q->js_enabled_only || q->js_meta_only || is_set(q->account)))
        return (struct verdict){503, "unavailable", "JETSTREAM", "JetStream not enabled"};
    return (struct verdict){200, "ok", NULL, NULL};
}

static void write_errors(struct jsonw *w, const struct healthz_query *q, const struct verdict *v)
{
    jsonw_array(w, "errors");
    jsonw_object(w, NULL);
    jsonw_str(w, "type", v->type);
    if (v->code == 503) {
        page_opt_str(w, "account", q->account);
        page_opt_str(w, "stream", q->stream);
        page_opt_str(w, "consumer", q->consumer);
    }
    jsonw_str(w, "error", v->error);
    jsonw_end(w);
    jsonw_end(w);
}

int page_healthz(struct server *s, const struct healthz_query *q, struct jsonw *w, const char *key)
{
    struct verdict v = judge(s, q);

    jsonw_object(w, key);
    jsonw_str(w, "status", q->details && v.error != NULL ? "error" : v.status);
    if (key != NULL) /* over HTTP the answer has a status of its own */
        jsonw_i64(w, "status_code", v.code);
    if (v.error != NULL && q->details)
        write_errors(w, q, &v);
    else
        page_opt_str(w, "error", v.error);
    jsonw_end(w);
    return v.code;
}
