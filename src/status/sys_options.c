/* sys_options.c: options of $SYS requests: a JSON object, read like Go's decoder: unknown members
 * are ignored, names match in any case. */
#include "status/sys_impl.h"

#include <strings.h>

int sys_options_parse(struct mf_slice body, json_t **out, struct mf_error *e)
{
    json_error_t why;

    *out = NULL;
    if (body.len == 0)
        return 0;
    *out = json_loadb((const char *)body.ptr, body.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (*out == NULL)
        return mf_fail(e, MF_PROTO, "invalid JSON: %s", why.text);
    if (json_is_object(*out))
        return 0;
    if (json_is_null(*out)) {
        json_decref(*out);
        *out = NULL;
        return 0;
    }
    json_decref(*out);
    *out = NULL;
    return mf_fail(e, MF_PROTO, "invalid JSON: an object is expected");
}

/* --- single fields ---------------------------------------------------------------------------- */

static const json_t *find_field(const json_t *o, const char *key)
{
    const json_t *exact = o != NULL ? json_object_get(o, key) : NULL;
    const char *name;
    json_t *value;

    if (exact != NULL || o == NULL)
        return exact;
    json_object_foreach((json_t *)o, name, value)
    {
        if (strcasecmp(name, key) == 0)
            return value;
    }
    return NULL;
}

static int wrong_type(const char *key, const char *wanted, struct mf_error *e)
{
    return mf_fail(e, MF_PROTO, "invalid JSON: %s must be %s", key, wanted);
}

int sys_option_bool(const json_t *o, const char *key, bool *out, struct mf_error *e)
{
    const json_t *v = find_field(o, key);

    if (v == NULL || json_is_null(v))
        return 0;
    if (!json_is_boolean(v))
        return wrong_type(key, "true or false", e);
    *out = json_is_true(v);
    return 0;
}

int sys_option_i64(const json_t *o, const char *key, int64_t *out, struct mf_error *e)
{
    const json_t *v = find_field(o, key);

    if (v == NULL || json_is_null(v))
        return 0;
    if (!json_is_integer(v))
        return wrong_type(key, "a whole number", e);
    *out = json_integer_value(v);
    return 0;
}

int sys_option_u64(const json_t *o, const char *key, uint64_t *out, struct mf_error *e)
{
    int64_t value = (int64_t)*out;

    if (sys_option_i64(o, key, &value, e) != 0)
        return e->code;
    if (value < 0)
        return wrong_type(key, "zero or more", e);
    *out = (uint64_t)value;
    return 0;
}

int sys_option_str(const json_t *o, const char *key, const char **out, struct mf_error *e)
{
    const json_t *v = find_field(o, key);

    if (v == NULL || json_is_null(v))
        return 0;
    if (!json_is_string(v))
        return wrong_type(key, "a string", e);
    *out = json_string_value(v);
    return 0;
}

/* An array of strings; *out stays NULL when absent. */
static int option_list(const json_t *o, const char *key, const json_t **out, struct mf_error *e)
{
    const json_t *v = find_field(o, key);

    if (v == NULL || json_is_null(v))
        return 0;
    if (!json_is_array(v))
        return wrong_type(key, "an array of strings", e);
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!json_is_string(json_array_get(v, i)))
            return wrong_type(key, "an array of strings", e);
    *out = v;
    return 0;
}

/* --- filters ---------------------------------------------------------------------------------- */

static bool matches_text(const char *filter, const char *value, bool exact)
{
    if (filter == NULL || filter[0] == '\0')
        return true;
    if (value == NULL)
        value = "";
    return exact ? strcmp(filter, value) == 0 : strstr(value, filter) != NULL;
}

static bool has_tag(const struct options *o, const char *tag)
{
    for (size_t i = 0; i < o->server_tags.n; i++)
        if (strcasecmp(o->server_tags.items[i], tag) == 0)
            return true;
    return false;
}

int sys_options_filter(const struct status *s, const json_t *o, bool *excluded, struct mf_error *e)
{
    const char *name = NULL, *cluster = NULL, *host = NULL, *domain = NULL;
    const char *own_cluster =
        server_options(s->server)->cluster.set ? server_options(s->server)->cluster.name : NULL;
    const char *own_domain = server_options(s->server)->jetstream.enabled
                                 ? server_options(s->server)->jetstream.domain
                                 : NULL;
    char own_host[SERVER_HOST];
    const json_t *tags = NULL;
    bool exact = false;

    *excluded = false;
    if (o == NULL)
        return 0;
    if (sys_option_str(o, "server_name", &name, e) != 0 ||
        sys_option_str(o, "cluster", &cluster, e) != 0 ||
        sys_option_str(o, "host", &host, e) != 0 || sys_option_str(o, "domain", &domain, e) != 0 ||
        sys_option_bool(o, "exact_match", &exact, e) != 0 || option_list(o, "tags", &tags, e) != 0)
        return e->code;
    *excluded = !matches_text(name, server_name(s->server), exact) ||
                !matches_text(cluster, own_cluster, exact) ||
                !matches_text(host, server_host(s->server, own_host), exact) ||
                !matches_text(domain, own_domain, true);
    for (size_t i = 0; i < json_array_size(tags); i++)
        *excluded = *excluded ||
                    !has_tag(server_options(s->server), json_string_value(json_array_get(tags, i)));
    return 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

int sys_options_connz(const json_t *o, struct connz_query *q, struct mf_error *e)
{
    int64_t state = CONNZ_OPEN;

    if (sys_option_str(o, "sort", &q->sort, e) != 0 ||
        sys_option_bool(o, "auth", &q->auth, e) != 0 ||
        sys_option_bool(o, "subscriptions", &q->subs, e) != 0 ||
        sys_option_bool(o, "subscriptions_detail", &q->subs_detail, e) != 0 ||
        sys_option_i64(o, "offset", &q->offset, e) != 0 ||
        sys_option_i64(o, "limit", &q->limit, e) != 0 ||
        sys_option_u64(o, "cid", &q->cid, e) != 0 || sys_option_i64(o, "state", &state, e) != 0 ||
        sys_option_str(o, "user", &q->user, e) != 0 ||
        sys_option_str(o, "acc", &q->account, e) != 0 ||
        sys_option_str(o, "mqtt_client", &q->mqtt_client, e) != 0 ||
        sys_option_str(o, "filter_subject", &q->filter_subject, e) != 0)
        return e->code;
    q->state = state == CONNZ_CLOSED ? CONNZ_CLOSED : state == CONNZ_ALL ? CONNZ_ALL : CONNZ_OPEN;
    return 0;
}

int sys_options_subsz(const json_t *o, struct subsz_query *q, struct mf_error *e)
{
    if (sys_option_i64(o, "offset", &q->offset, e) != 0 ||
        sys_option_i64(o, "limit", &q->limit, e) != 0 ||
        sys_option_bool(o, "subscriptions", &q->subs, e) != 0 ||
        sys_option_str(o, "account", &q->account, e) != 0 ||
        sys_option_str(o, "test", &q->test, e) != 0)
        return e->code;
    return 0;
}

int sys_options_leafz(const json_t *o, struct leafz_query *q, struct mf_error *e)
{
    if (sys_option_bool(o, "subscriptions", &q->subs, e) != 0 ||
        sys_option_str(o, "account", &q->account, e) != 0)
        return e->code;
    return 0;
}

int sys_options_healthz(const json_t *o, struct healthz_query *q, struct mf_error *e)
{
    if (sys_option_bool(o, "js-enabled-only", &q->js_enabled_only, e) != 0 ||
        sys_option_bool(o, "js-enabled", &q->js_enabled_only, e) != 0 ||
        sys_option_bool(o, "js-server-only", &q->js_server_only, e) != 0 ||
        sys_option_bool(o, "js-meta-only", &q->js_meta_only, e) != 0 ||
        sys_option_bool(o, "details", &q->details, e) != 0 ||
        sys_option_str(o, "account", &q->account, e) != 0 ||
        sys_option_str(o, "stream", &q->stream, e) != 0 ||
        sys_option_str(o, "consumer", &q->consumer, e) != 0)
        return e->code;
    return 0;
}

int sys_options_accstatz(const json_t *o, const char **names, size_t max, size_t *n, bool *unused,
                         struct mf_error *e)
{
    const json_t *list = NULL;

    *n = 0;
    if (option_list(o, "accounts", &list, e) != 0 ||
        sys_option_bool(o, "include_unused", unused, e) != 0)
        return e->code;
    for (size_t i = 0; i < json_array_size(list) && *n < max; i++)
        names[(*n)++] = json_string_value(json_array_get(list, i));
    return 0;
}
