/* claims_account.c: claims of accounts: limits, signing keys, revocations, mappings. */
#include "jwt/claims_impl.h"

#include <stdlib.h>

#define AT(type, member) offsetof(type, member), NULL, NULL, 0

/* --- limits ------------------------------------------------------------------------------------
 */

#define JS(type, prefix)                                                                           \
    {"mem_storage", JSON_I64, AT(type, prefix mem_storage)},                                       \
        {"disk_storage", JSON_I64, AT(type, prefix disk_storage)},                                 \
        {"streams", JSON_I64, AT(type, prefix streams)},                                           \
        {"consumer", JSON_I64, AT(type, prefix consumer)},                                         \
        {"max_ack_pending", JSON_I64, AT(type, prefix max_ack_pending)},                           \
        {"mem_max_stream_bytes", JSON_I64, AT(type, prefix mem_max_stream_bytes)},                 \
        {"disk_max_stream_bytes", JSON_I64, AT(type, prefix disk_max_stream_bytes)},               \
    {                                                                                              \
        "max_bytes_required", JSON_BOOL, AT(type, prefix max_bytes_required)                       \
    }
static const struct json_field js_fields[] = {
    JS(struct jwt_js_limits, ),
};
static const struct json_type js_type = {"JetStreamLimits", sizeof(struct jwt_js_limits), js_fields,
                                         MF_COUNT(js_fields)};

struct limits_doc {
    struct jwt_account_limits l;
    struct mf_slice tiers;
};
static const struct json_field limits_fields[] = {
    {"subs", JSON_I64, AT(struct limits_doc, l.subs)},
    {"data", JSON_I64, AT(struct limits_doc, l.data)},
    {"payload", JSON_I64, AT(struct limits_doc, l.payload)},
    {"imports", JSON_I64, AT(struct limits_doc, l.imports)},
    {"exports", JSON_I64, AT(struct limits_doc, l.exports)},
    {"conn", JSON_I64, AT(struct limits_doc, l.conn)},
    {"leaf", JSON_I64, AT(struct limits_doc, l.leaf)},
    {"wildcards", JSON_BOOL, AT(struct limits_doc, l.wildcards)},
    {"disallow_bearer", JSON_BOOL, AT(struct limits_doc, l.disallow_bearer)},
    {"tiered_limits", JSON_RAW, AT(struct limits_doc, tiers)},
    JS(struct limits_doc, l.js.),
};
static const struct json_type limits_type = {"OperatorLimits", sizeof(struct limits_doc),
                                             limits_fields, MF_COUNT(limits_fields)};

static int compare_tiers(const void *a, const void *b)
{
    return strcmp(((const struct jwt_tier *)a)->name, ((const struct jwt_tier *)b)->name);
}

static int read_tiers(struct jwt_account_limits *l, struct mf_slice json, struct arena *mem,
                      struct mf_error *e)
{
    struct json_member *m = NULL;
    size_t n = 0;
    int err = jwt_split_members(&m, &n, json, mem, e);

    if (err != 0 || n == 0)
        return err;
    if ((l->tiers = arena_alloc(mem, n * sizeof *l->tiers)) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    for (size_t i = 0; i < n && err == 0; i++) {
        l->tiers[i].name = m[i].name;
        err = json_unmarshal(m[i].value, &js_type, &l->tiers[i].js, mem, e);
    }
    l->ntiers = n;
    l->js = (struct jwt_js_limits){0}; /* nats-server drops the flat ones without a word */
    qsort(l->tiers, n, sizeof *l->tiers, compare_tiers);
    return err;
}

static int read_limits(struct jwt_account_limits *l, struct mf_slice json, const struct jwt *j,
                       struct arena *mem, struct mf_error *e)
{
    struct limits_doc doc = {.tiers = MF_SLICE_NONE};
    int err = json.len == 0 ? 0 : json_unmarshal(json, &limits_type, &doc, mem, e);

    *l = doc.l;
    if (j->version == 1)
        l->js = (struct jwt_js_limits){0};
    else if (err == 0)
        err = read_tiers(l, doc.tiers, mem, e);
    return err;
}

bool jwt_js_enabled(const struct jwt_account_limits *l)
{
    if (l->ntiers == 0)
        return l->js.mem_storage != 0 || l->js.disk_storage != 0;
    for (size_t i = 0; i < l->ntiers; i++)
        if (l->tiers[i].js.mem_storage != 0 || l->tiers[i].js.disk_storage != 0)
            return true;
    return false;
}

/* --- signing keys ------------------------------------------------------------------------------
 */

struct scope_doc {
    char *kind, *key, *role, *description;
    struct mf_slice template_grant;
};
static const struct json_field scope_fields[] = {
    {"kind", JSON_STR, AT(struct scope_doc, kind)},
    {"key", JSON_STR, AT(struct scope_doc, key)},
    {"role", JSON_STR, AT(struct scope_doc, role)},
    {"description", JSON_STR, AT(struct scope_doc, description)},
    {"template", JSON_RAW, AT(struct scope_doc, template_grant)},
};
static const struct json_type scope_type = {"UserScope", sizeof(struct scope_doc), scope_fields,
                                            MF_COUNT(scope_fields)};

static int read_scope(struct jwt_signing_key *k, struct mf_slice json, struct arena *mem,
                      struct mf_error *e)
{
    struct scope_doc doc = {0};
    int err = json_unmarshal(json, &scope_type, &doc, mem, e);

    if (err != 0)
        return err;
    if (doc.kind == NULL || strcmp(doc.kind, "user_scope") != 0)
        return mf_fail(e, MF_UNSUPPORTED, "unknown signing key scope \"%.60s\"",
                       doc.kind == NULL ? "" : doc.kind);
    k->scoped = true;
    k->key = jwt_text(doc.key);
    k->role = jwt_text(doc.role);
    k->description = jwt_text(doc.description);
    k->template_grant.subs = k->template_grant.data = k->template_grant.payload = -1;
    return doc.template_grant.len == 0
               ? 0
               : jwt_read_grant(&k->template_grant, doc.template_grant, mem, e);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct jwt_signing_key *)a)->key,
                  ((const struct jwt_signing_key *)b)->key);
}

static int read_signing_keys(struct jwt_account *a, struct mf_slice json, struct arena *mem,
                             struct mf_error *e)
{
    struct mf_slice *items;
    size_t n = 0, offset;
    int err;

    if (json.len == 0 || json.ptr[0] == 'n')
        return 0;
    if ((err = json_split_array(json, &items, &n, &offset, mem, e)) != 0 || n == 0)
        return err;
    if ((a->signing_keys = arena_alloc(mem, n * sizeof *a->signing_keys)) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    for (size_t i = 0; i < n && err == 0; i++) {
        struct jwt_signing_key *k = &a->signing_keys[a->nsigning_keys];

        k->key = k->role = k->description = jwt_text(NULL);
        if (items[i].ptr[0] == '"')
            err = json_parse_string(items[i], &k->key, mem, e);
        else if (items[i].ptr[0] == '{')
            err = read_scope(k, items[i], mem, e);
        else
            continue; /* nats-server skips what is neither */
        a->nsigning_keys++;
    }
    if (err == 0)
        qsort(a->signing_keys, a->nsigning_keys, sizeof *a->signing_keys, compare_keys);
    return err;
}

const struct jwt_signing_key *jwt_account_signing_key(const struct jwt_account *a, const char *key)
{
    struct jwt_signing_key want = {.key = (char *)(uintptr_t)key};

    return a->nsigning_keys == 0 ? NULL
                                 : bsearch(&want, a->signing_keys, a->nsigning_keys,
                                           sizeof *a->signing_keys, compare_keys);
}

/* --- mappings ----------------------------------------------------------------------------------
 */

struct weighted_doc {
    char *subject, *cluster;
    int64_t weight;
};
static const struct json_field weighted_fields[] = {
    {"subject", JSON_STR, AT(struct weighted_doc, subject)},
    {"cluster", JSON_STR, AT(struct weighted_doc, cluster)},
    {"weight", JSON_I64, AT(struct weighted_doc, weight)},
};
static const struct json_type weighted_type = {"WeightedMapping", sizeof(struct weighted_doc),
                                               weighted_fields, MF_COUNT(weighted_fields)};

static int read_mapping(struct jwt_mapping *to, const struct json_member *m, struct arena *mem,
                        struct mf_error *e)
{
    struct mf_slice *items;
    size_t n = 0, offset;
    int err;

    to->source = m->name;
    if (m->value.ptr[0] == 'n')
        return 0;
    if ((err = json_split_array(m->value, &items, &n, &offset, mem, e)) != 0 || n == 0)
        return err;
    if ((to->to = arena_alloc(mem, n * sizeof *to->to)) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    for (size_t i = 0; i < n; i++) {
        struct weighted_doc doc = {0};

        if ((err = json_unmarshal(items[i], &weighted_type, &doc, mem, e)) != 0)
            return err;
        if (doc.weight < 0 || doc.weight > 255)
            return mf_fail(e, MF_INVAL,
                           "json: cannot unmarshal number %lld into Go struct field "
                           "WeightedMapping.weight of type uint8",
                           (long long)doc.weight);
        to->to[i] =
            (struct jwt_weighted){jwt_text(doc.subject), jwt_text(doc.cluster), (int)doc.weight};
    }
    to->nto = n;
    return 0;
}

static int compare_mappings(const void *a, const void *b)
{
    return strcmp(((const struct jwt_mapping *)a)->source, ((const struct jwt_mapping *)b)->source);
}

static int read_mappings(struct jwt_account *a, struct mf_slice json, struct arena *mem,
                         struct mf_error *e)
{
    struct json_member *m = NULL;
    size_t n = 0;
    int err = jwt_split_members(&m, &n, json, mem, e);

    if (err != 0 || n == 0)
        return err;
    if ((a->mappings = arena_alloc(mem, n * sizeof *a->mappings)) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    for (size_t i = 0; i < n && err == 0; i++)
        err = read_mapping(&a->mappings[i], &m[i], mem, e);
    a->nmappings = n;
    if (err == 0)
        qsort(a->mappings, n, sizeof *a->mappings, compare_mappings);
    return err;
}

/* --- the account -------------------------------------------------------------------------------
 */

struct account_doc {
    struct mf_slice limits, signing_keys, revocations, mappings, exports, imports;
    struct jwt_account a;
};
#define DOC(member) AT(struct account_doc, member)
static const struct json_field callout_fields[] = {
    {"auth_users", JSON_STRS, AT(struct jwt_callout, auth_users)},
    {"allowed_accounts", JSON_STRS, AT(struct jwt_callout, allowed_accounts)},
    {"xkey", JSON_STR, AT(struct jwt_callout, xkey)},
};
static const struct json_type callout_type = {"ExternalAuthorization", sizeof(struct jwt_callout),
                                              callout_fields, MF_COUNT(callout_fields)};
static const struct json_field trace_fields[] = {
    {"dest", JSON_STR, AT(struct jwt_trace, dest)},
    {"sampling", JSON_INT, AT(struct jwt_trace, sampling)},
};
static const struct json_type trace_type = {"MsgTrace", sizeof(struct jwt_trace), trace_fields,
                                            MF_COUNT(trace_fields)};
static const struct json_field account_fields[] = {
    {"limits", JSON_RAW, DOC(limits)},
    {"signing_keys", JSON_RAW, DOC(signing_keys)},
    {"revocations", JSON_RAW, DOC(revocations)},
    {"mappings", JSON_RAW, DOC(mappings)},
    {"exports", JSON_RAW, DOC(exports)},
    {"imports", JSON_RAW, DOC(imports)},
    {"default_permissions", JSON_OBJECT, offsetof(struct account_doc, a.default_permissions),
     &jwt_permissions_type, NULL, 0},
    {"authorization", JSON_OBJECT, offsetof(struct account_doc, a.authorization), &callout_type,
     NULL, 0},
    {"trace", JSON_POINTER, offsetof(struct account_doc, a.trace), &trace_type, NULL, 0},
    {"cluster_traffic", JSON_STR, DOC(a.cluster_traffic)},
    {"description", JSON_STR, DOC(a.description)},
    {"info_url", JSON_STR, DOC(a.info_url)},
};
static const struct json_type account_type = {"Account", sizeof(struct account_doc), account_fields,
                                              MF_COUNT(account_fields)};

int jwt_read_account(const struct jwt_reading *r)
{
    struct jwt *j = r->j;
    struct arena *mem = &j->mem;
    struct account_doc doc = {.limits = MF_SLICE_NONE};
    struct jwt_account *a = arena_alloc(mem, sizeof *a);
    int err;

    if (a == NULL)
        return mf_fail(r->e, MF_NOMEM, "JWT");
    if ((err = json_unmarshal(r->nats, &account_type, &doc, mem, r->e)) != 0)
        return err;
    *a = doc.a;
    a->cluster_traffic = jwt_text(a->cluster_traffic);
    a->description = jwt_text(a->description);
    a->info_url = jwt_text(a->info_url);
    a->authorization.xkey = jwt_text(a->authorization.xkey);
    if (a->trace != NULL)
        a->trace->dest = jwt_text(a->trace->dest);
    if ((err = read_limits(&a->limits, doc.limits, j, mem, r->e)) != 0 ||
        (err = read_signing_keys(a, doc.signing_keys, mem, r->e)) != 0 ||
        (err = jwt_read_revocations(&a->revocations, doc.revocations, mem, r->e)) != 0 ||
        (err = read_mappings(a, doc.mappings, mem, r->e)) != 0 ||
        (err = jwt_read_exports(a, doc.exports, mem, r->e)) != 0 ||
        (err = jwt_read_imports(a, doc.imports, mem, r->e)) != 0)
        return err;
    j->account = a;
    return 0;
}
