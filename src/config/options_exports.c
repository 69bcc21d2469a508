/* options_exports.c: exports and imports of accounts, each for itself. */
#include "config/options_impl.h"

/* --- exports ---------------------------------------------------------------------------------- */

struct export_reading {
    struct options_export x;
    bool stream_seen, service_seen;
    const struct conf_value *service_only; /* first directive that only services have */
    const char *service_only_what;
};

static void service_only(struct export_reading *r, const struct conf_value *v, const char *what)
{
    if (r->service_only == NULL) {
        r->service_only = v;
        r->service_only_what = what;
    }
}

static void read_export_stream(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    if (v->type != CONF_STRING)
        opt_error(c, v, "Expected stream name to be string, got %s", conf_type_name(v->type));
    else if (r->service_seen)
        opt_error(c, v, "Detected stream \"%s\" but already saw a service", v->u.s);
    else
        r->stream_seen = opt_string(c, v, &r->x.subject);
}

static void read_export_service(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    if (v->type != CONF_STRING)
        opt_error(c, v, "Expected service name to be string, got %s", conf_type_name(v->type));
    else if (r->stream_seen)
        opt_error(c, v, "Detected service \"%s\" but already saw a stream", v->u.s);
    else
        r->service_seen = r->x.service = opt_string(c, v, &r->x.subject);
}

static void read_response(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    service_only(r, v, "response");
    if (v->type != CONF_STRING)
        opt_error(c, v, "Expected response type to be string, got %s", conf_type_name(v->type));
    else if (opt_is_word(v, "single") || opt_is_word(v, "singleton"))
        r->x.response = OPTIONS_RESPONSE_SINGLETON;
    else if (opt_is_word(v, "stream"))
        r->x.response = OPTIONS_RESPONSE_STREAM;
    else if (opt_is_word(v, "chunk") || opt_is_word(v, "chunked"))
        r->x.response = OPTIONS_RESPONSE_CHUNKED;
    else
        opt_error(c, v, "Unknown response type: \"%s\"; expected singleton, stream or chunked",
                  v->u.s);
}

static void read_threshold(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    service_only(r, v, "response");
    if (v->type == CONF_STRING && clock_parse_duration(mf_str(v->u.s), &r->x.threshold_ns) == 0)
        r->x.threshold_ns = opt_bounded(r->x.threshold_ns);
    else
        opt_error(c, v, "Expected response threshold to be a parseable time duration, got %s",
                  v->type == CONF_STRING ? v->u.s : conf_type_name(v->type));
}

static void read_export_accounts(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    if (!opt_is_array(c, v, "accounts to be an array of account names"))
        return;
    r->x.restricted = opt_strings(c, v, &r->x.accounts) && v->nitems > 0;
}

static void read_sampling(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    int percent;

    if (opt_is_word(v, "headers"))
        r->x.latency_percent = -1;
    else if (!opt_percent(v, &percent))
        opt_error(c, v, "bad sampling percentage, should be 1-100");
    else
        r->x.latency_percent = percent;
}

static const struct opt_field latency_fields[] = {
    {"sampling", OPT_FN, 0, read_sampling, 0, 0},
    {"subject", OPT_STRING, offsetof(struct export_reading, x.latency_subject), NULL, 0, 0},
};

static void read_latency(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    service_only(r, v, "latency");
    r->x.latency_percent = 100;
    if (v->type == CONF_STRING) {
        opt_string(c, v, &r->x.latency_subject);
    } else if (opt_is_map(c, v, "latency entry to be a map/struct or string")) {
        opt_map(c, v, OPT_BLOCK(latency_fields), r);
        if (r->x.latency_subject == NULL)
            opt_error(c, v, "Latency subject required, but missing");
    }
    if (r->x.latency_subject != NULL && !opt_text_subject_literal(r->x.latency_subject))
        opt_error(c, v, "invalid publish subject \"%s\" for service latency", r->x.latency_subject);
}

static void read_token_position(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    int64_t n;
    if (!opt_int(c, v, &n))
        return;
    if (n < 0 || n > 255)
        opt_error(c, v, "account_token_position is out of range: expected a token of the subject");
    else
        r->x.account_token_position = (unsigned)n;
}

static void read_export_trace(struct opt *c, const struct conf_value *v, void *reading)
{
    struct export_reading *r = reading;
    service_only(r, v, "allow_trace");
    (void)opt_bool(c, v, &r->x.allow_trace);
}

static const struct opt_field export_fields[] = {
    {"stream", OPT_FN, 0, read_export_stream, 0, 0},
    {"service", OPT_FN, 0, read_export_service, 0, 0},
    {"response response_type", OPT_FN, 0, read_response, 0, 0},
    {"threshold response_threshold response_max_time response_time", OPT_FN, 0, read_threshold, 0,
     0},
    {"accounts", OPT_FN, 0, read_export_accounts, 0, 0},
    {"latency", OPT_FN, 0, read_latency, 0, 0},
    {"account_token_position", OPT_FN, 0, read_token_position, 0, 0},
    {"allow_trace", OPT_FN, 0, read_export_trace, 0, 0},
};

/* The token at a position (from 1) must be a '*'. */
static bool token_is_star(const char *subject, unsigned position)
{
    for (; position > 1; position--) {
        subject = strchr(subject, '.');
        if (subject == NULL)
            return false;
        subject++;
    }
    return subject[0] == '*' && (subject[1] == '.' || subject[1] == '\0');
}

static void check_export(struct opt *c, const struct conf_value *v, const struct export_reading *r)
{
    const struct options_export *x = &r->x;
    const char *kind = x->service ? "service" : "stream";
    if (r->stream_seen && r->service_only != NULL)
        opt_error(c, r->service_only, "Detected %s directive on non-service", r->service_only_what);
    if (!opt_text_subject_valid(x->subject))
        opt_error(c, v, "Error adding %s export \"%s\": invalid subject", kind, x->subject);
    else if (x->account_token_position > 0 && x->restricted)
        opt_error(c, v,
                  "Error adding %s export \"%s\": account_token_position can only be used when the "
                  "export is public",
                  kind, x->subject);
    else if (x->account_token_position > 0 && !token_is_star(x->subject, x->account_token_position))
        opt_error(c, v,
                  "Error adding %s export \"%s\": account_token_position %u does not point at a "
                  "'*' wildcard",
                  kind, x->subject, x->account_token_position);
    else if (x->service && x->threshold_ns < 0)
        opt_error(c, v, "Error adding service export \"%s\": negative response threshold",
                  x->subject);
}

void opt_read_exports(struct opt *c, const struct conf_value *v, void *account)
{
    struct options_account *a = account;
    if (v->type != CONF_ARRAY) {
        opt_error(c, v, "Exports should be an array, got %s", conf_type_name(v->type));
        return;
    }
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *m = v->items[i];
        if (m->type != CONF_MAP) {
            opt_error(c, m, "Export Items should be a map with type entry, got %s",
                      conf_type_name(m->type));
            continue;
        }
        struct export_reading r = {.x = {.line = m->line, .col = m->col, .file = opt_file(c, m)}};
        size_t before = c->nerrors;
        opt_map(c, m, OPT_BLOCK(export_fields), &r);
        if (c->nerrors != before)
            continue;
        if (r.x.subject == NULL) {
            opt_error(c, m, "Export needs a stream or a service");
            continue;
        }
        check_export(c, m, &r);
        struct options_export *grown = arena_grow(c->a, a->exports, a->nexports, sizeof r.x);
        if (grown == NULL)
            return;
        a->exports = grown;
        grown[a->nexports++] = r.x;
    }
}

/* --- imports ---------------------------------------------------------------------------------- */

struct import_reading {
    struct options_import m;
    bool stream_seen, service_seen;
    const struct conf_value *trace, *to, *share;
};

static const struct opt_field source_fields[] = {
    {"account", OPT_STRING, offsetof(struct options_import, account), NULL, 0, 0},
    {"subject", OPT_STRING, offsetof(struct options_import, subject), NULL, 0, 0},
};

static void read_source(struct opt *c, const struct conf_value *v, struct import_reading *r,
                        const char *what)
{
    size_t before = c->nerrors;
    if (v->type != CONF_MAP) {
        opt_error(c, v, "%s entry should be an account map, got %s", what, conf_type_name(v->type));
        return;
    }
    opt_map(c, v, OPT_BLOCK(source_fields), &r->m);
    if (c->nerrors != before)
        return;
    if (r->m.account == NULL || r->m.account[0] == '\0' || r->m.subject == NULL ||
        r->m.subject[0] == '\0')
        opt_error(c, v, "Expect an account name and a subject");
}

static void read_import_stream(struct opt *c, const struct conf_value *v, void *reading)
{
    struct import_reading *r = reading;
    if (r->service_seen)
        opt_error(c, v, "Detected stream but already saw a service");
    else
        read_source(c, v, r, "Stream");
    r->stream_seen = true;
}

static void read_import_service(struct opt *c, const struct conf_value *v, void *reading)
{
    struct import_reading *r = reading;
    if (r->stream_seen)
        opt_error(c, v, "Detected service but already saw a stream");
    else
        read_source(c, v, r, "Service");
    r->service_seen = r->m.service = true;
}

static void read_to(struct opt *c, const struct conf_value *v, void *reading)
{
    struct import_reading *r = reading;
    r->to = v;
    opt_string(c, v, &r->m.to);
}

static void read_import_trace(struct opt *c, const struct conf_value *v, void *reading)
{
    struct import_reading *r = reading;
    r->trace = v;
    (void)opt_bool(c, v, &r->m.allow_trace);
}

static const struct opt_field import_fields[] = {
    {"stream", OPT_FN, 0, read_import_stream, 0, 0},
    {"service", OPT_FN, 0, read_import_service, 0, 0},
    {"prefix", OPT_STRING, offsetof(struct import_reading, m.prefix), NULL, 0, 0},
    {"to", OPT_FN, 0, read_to, 0, 0},
    {"share", OPT_BOOL, offsetof(struct import_reading, m.share), NULL, 0, 0},
    {"allow_trace", OPT_FN, 0, read_import_trace, 0, 0},
};

static void check_import(struct opt *c, const struct conf_value *v, struct import_reading *r)
{
    struct options_import *m = &r->m;
    if (m->to != NULL && m->to[0] == '\0')
        m->to = NULL;
    if (m->prefix != NULL && m->prefix[0] == '\0')
        m->prefix = NULL;
    if (r->service_seen && r->trace != NULL)
        opt_error(c, r->trace, "Detected allow_trace directive on a non-stream");
    else if (r->stream_seen && m->to != NULL && m->prefix != NULL)
        opt_error(c, r->to, "Stream import can not have a 'prefix' and a 'to' property");
    else if (!opt_text_subject_valid(m->subject))
        opt_error(c, v, "Error adding %s import \"%s\": invalid subject",
                  m->service ? "service" : "stream", m->subject);
    else if (!m->service && m->prefix != NULL && !opt_text_subject_literal(m->prefix))
        opt_error(c, v,
                  "Error adding stream import \"%s\": stream import prefix can not contain "
                  "wildcard tokens",
                  m->subject);
}

static char *local_name(struct opt *c, const struct options_import *m)
{
    if (!m->service && m->prefix != NULL)
        return arena_printf(c->a, "%s.%s", m->prefix, m->subject);
    return m->to != NULL ? opt_text_untokenize(c->a, m->to) : m->subject;
}

static bool same_service(const struct options_import *a, const struct options_import *b)
{
    const char *at = a->to == NULL ? a->subject : a->to, *bt = b->to == NULL ? b->subject : b->to;
    return a->service && b->service && strcmp(a->account, b->account) == 0 && strcmp(at, bt) == 0;
}

void opt_read_imports(struct opt *c, const struct conf_value *v, void *account)
{
    struct options_account *a = account;
    if (v->type != CONF_ARRAY) {
        opt_error(c, v, "Imports should be an array, got %s", conf_type_name(v->type));
        return;
    }
    if (!opt_is_few(c, v))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *m = v->items[i];
        if (m->type != CONF_MAP) {
            opt_error(c, m, "Import Items should be a map with type entry, got %s",
                      conf_type_name(m->type));
            continue;
        }
        struct import_reading r = {.m = {.line = m->line, .col = m->col, .file = opt_file(c, m)}};
        size_t before = c->nerrors;
        opt_map(c, m, OPT_BLOCK(import_fields), &r);
        if (c->nerrors != before)
            continue;
        if (r.m.subject == NULL) {
            opt_error(c, m, "Import needs a stream or a service");
            continue;
        }
        check_import(c, m, &r);
        r.m.local = local_name(c, &r.m);
        if (r.m.local == NULL)
            return;
        for (size_t k = 0; k < a->nimports; k++)
            if (same_service(&a->imports[k], &r.m))
                opt_error(c, m,
                          "Duplicate service import subject \"%s\", previously used in import for "
                          "account \"%s\", subject \"%s\"",
                          r.m.to == NULL ? r.m.subject : r.m.to, a->imports[k].account,
                          a->imports[k].subject);
        struct options_import *grown = arena_grow(c->a, a->imports, a->nimports, sizeof r.m);
        if (grown == NULL)
            return;
        a->imports = grown;
        grown[a->nimports++] = r.m;
    }
}
