/* options_accounts.c: accounts: users, limits, mappings; exports and imports are in
 * options_exports.c, what accounts say about each other in options_accounts_check.c. */
#include "config/options_impl.h"

#define ACCOUNT(member) offsetof(struct options_account, member)
#define LIMITS(member)  offsetof(struct options_js_limits, member)

/* --- JetStream limits ------------------------------------------------------------------------- */

static void read_js_size(struct opt *c, const struct conf_value *v, void *out)
{
    if (v->type != CONF_INT)
        opt_error(c, v, "Expected a parseable size for \"%s\", got %s (write 10GB without quotes)",
                  v->key, conf_type_name(v->type));
    else
        opt_int(c, v, out);
}

static void read_cluster_traffic(struct opt *c, const struct conf_value *v, void *limits)
{
    (void)limits;
    if (v->type != CONF_STRING ||
        (strcmp(v->u.s, "system") != 0 && strcmp(v->u.s, "owner") != 0 && v->u.s[0] != '\0'))
        opt_error(c, v, "Expected 'system' or 'owner' string value for \"%s\"", v->key);
}

static const struct opt_field js_limit_fields[] = {
    {"max_memory max_mem mem memory", OPT_FN, LIMITS(max_memory), read_js_size, 0, 0},
    {"max_store max_file max_disk store disk", OPT_FN, LIMITS(max_store), read_js_size, 0, 0},
    {"max_streams streams", OPT_FN, LIMITS(max_streams), read_js_size, 0, 0},
    {"max_consumers consumers", OPT_FN, LIMITS(max_consumers), read_js_size, 0, 0},
    {"max_bytes_required max_stream_bytes max_bytes", OPT_BOOL, LIMITS(max_bytes_required), NULL, 0,
     0},
    {"mem_max_stream_bytes memory_max_stream_bytes", OPT_FN, LIMITS(mem_max_stream_bytes),
     read_js_size, 0, 0},
    {"disk_max_stream_bytes store_max_stream_bytes", OPT_FN, LIMITS(disk_max_stream_bytes),
     read_js_size, 0, 0},
    {"max_ack_pending", OPT_FN, LIMITS(max_ack_pending), read_js_size, 0, 0},
    {"cluster_traffic", OPT_FN, OPT_DROP, read_cluster_traffic, 0, 0},
};

static void read_account_jetstream(struct opt *c, const struct conf_value *v, void *limits)
{
    struct options_js_limits *l = limits;
    if (v->type == CONF_BOOL) {
        l->enabled = v->u.b;
    } else if (opt_is_word(v, "enabled") || opt_is_word(v, "enable")) {
        l->enabled = true;
    } else if (opt_is_word(v, "disabled") || opt_is_word(v, "disable")) {
        l->enabled = false;
    } else if (v->type == CONF_STRING) {
        opt_error(c, v, "Expected 'enabled' or 'disabled' for string value, got '%s'", v->u.s);
    } else if (opt_is_map(c, v, "map, bool or string to define JetStream")) {
        l->enabled = true;
        opt_map(c, v, OPT_BLOCK(js_limit_fields), l);
    }
}

/* --- mappings --------------------------------------------------------------------------------- */

static void read_weight(struct opt *c, const struct conf_value *v, void *dest)
{
    struct options_mapping_dest *d = dest;
    uint64_t n = 101;
    if (v->type == CONF_INT) {
        n = v->u.i < 0 ? 101 : (uint64_t)v->u.i;
    } else if (v->type == CONF_STRING) {
        struct mf_slice s = mf_str(v->u.s);
        if (s.len > 0 && s.ptr[s.len - 1] == '%')
            s.len--;
        if (mf_parse_u64(s, &n) != 0)
            n = 101;
    }
    if (n > 100)
        opt_error(c, v, "Invalid weight for mapping destination: expected 0..100 or \"50%%\"");
    else
        d->weight = (double)n;
}

static const struct opt_field dest_fields[] = {
    {"destination dest", OPT_STRING, offsetof(struct options_mapping_dest, subject), NULL, 0, 0},
    {"weight", OPT_FN, 0, read_weight, 0, 0},
    {"cluster", OPT_STRING, offsetof(struct options_mapping_dest, cluster), NULL, 0, 0},
};

static void add_dest(struct opt *c, struct options_mapping *m, struct options_mapping_dest d)
{
    struct options_mapping_dest *grown = arena_grow(c->a, m->dests, m->ndests, sizeof d);
    if (grown == NULL)
        return;
    m->dests = grown;
    grown[m->ndests++] = d;
}

static void read_dest(struct opt *c, const struct conf_value *v, struct options_mapping *m)
{
    struct options_mapping_dest d = {.weight = -1};
    size_t before = c->nerrors;
    if (v->type != CONF_MAP) {
        opt_error(c, v, "Expected an entry for the mapping destination: { destination, weight }");
        return;
    }
    opt_map(c, v, OPT_BLOCK_AS(dest_fields, "Unknown field ", " for mapping destination"), &d);
    if (c->nerrors != before)
        return;
    if (d.subject == NULL)
        opt_error(c, v, "Missing destination for mapping of \"%s\"", m->source);
    else if (d.weight < 0)
        opt_error(c, v, "Missing weight for mapping destination \"%s\"", d.subject);
    else
        add_dest(c, m, d);
}

/* Weights of one cluster (or of all) sum up to 100 at most. */
static void check_weights(struct opt *c, const struct conf_value *v,
                          const struct options_mapping *m)
{
    for (size_t i = 0; i < m->ndests; i++) {
        double sum = 0;
        for (size_t k = 0; k < m->ndests; k++) {
            const char *a = m->dests[i].cluster, *b = m->dests[k].cluster;
            if (mf_eq_str(mf_str(a), b == NULL ? "" : b)) {
                sum += m->dests[k].weight;
                if (k < i && strcmp(m->dests[i].subject, m->dests[k].subject) == 0) {
                    opt_error(c, v, "Error adding mapping for \"%s\" : duplicate entry for \"%s\"",
                              m->source, m->dests[i].subject);
                    return;
                }
            }
        }
        if (sum > 100) {
            opt_error(c, v, "Error adding mapping for \"%s\" : total weight needs to be <= 100",
                      m->source);
            return;
        }
    }
}

static void read_mapping(struct opt *c, const struct conf_value *v, struct options_mapping *m)
{
    if (v->type == CONF_STRING) {
        struct options_mapping_dest d = {.subject = arena_str(c->a, v->u.s), .weight = 100};
        if (d.subject != NULL)
            add_dest(c, m, d);
    } else if (v->type == CONF_ARRAY && opt_is_few(c, v)) {
        for (size_t i = 0; i < v->nitems; i++)
            read_dest(c, v->items[i], m);
    } else if (v->type != CONF_ARRAY) {
        read_dest(c, v, m);
    }
    for (size_t i = 0; i < m->ndests; i++) {
        const char *bad = opt_text_mapping_error(c->a, m->source, m->dests[i].subject);
        if (bad != NULL)
            opt_error(c, v, "Error adding mapping for \"%s\" to \"%s\" : %s", m->source,
                      m->dests[i].subject, bad);
    }
    check_weights(c, v, m);
}

void opt_read_mappings(struct opt *c, const struct conf_value *v, struct options_mapping **out,
                       size_t *n)
{
    if (!opt_is_map(c, v, "mappings to be a map of subjects"))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        struct options_mapping m = {.source = arena_str(c->a, v->items[i]->key)};
        if (m.source == NULL)
            return;
        if (!opt_text_subject_valid(m.source)) {
            opt_error(c, v->items[i], "Subject \"%s\" is not a valid subject", m.source);
            continue;
        }
        read_mapping(c, v->items[i], &m);
        struct options_mapping *grown = arena_grow(c->a, *out, *n, sizeof m);
        if (grown == NULL)
            return;
        *out = grown;
        grown[(*n)++] = m;
    }
}

/* --- an account ------------------------------------------------------------------------------- */

static void read_account_mappings(struct opt *c, const struct conf_value *v, void *account)
{
    struct options_account *a = account;
    opt_read_mappings(c, v, &a->mappings, &a->nmappings);
}

static void read_account_nkey(struct opt *c, const struct conf_value *v, void *account)
{
    struct options_account *a = account;
    if (v->type != CONF_STRING || !opt_text_nkey_valid(v->u.s, 'A'))
        opt_error(c, v, "Not a valid public nkey for an account");
    else
        opt_string(c, v, &a->nkey);
}

static void read_account_users(struct opt *c, const struct conf_value *v, void *account)
{
    struct options_account *a = account;
    opt_read_users(c, v, &a->users, &a->nusers);
    for (size_t i = 0; i < a->nusers; i++)
        a->users[i].account = a->name;
}

static void read_account_permissions(struct opt *c, const struct conf_value *v, void *account)
{
    ((struct options_account *)account)->default_permissions = opt_read_permissions(c, v);
}

static void read_max_leafnodes(struct opt *c, const struct conf_value *v, void *account)
{
    struct options_account *a = account;
    int64_t n;
    if (!opt_int(c, v, &n))
        return;
    if (n < INT32_MIN || n > INT32_MAX) {
        opt_error(c, v, "%s value is too %s", v->key, n < 0 ? "small" : "big");
        return;
    }
    a->max_leafnodes = n;
}

static const struct opt_field limit_fields[] = {
    {"max_connections max_conn", OPT_INT, ACCOUNT(max_connections), NULL, INT32_MIN, INT32_MAX},
    {"max_subscriptions max_subs", OPT_INT, ACCOUNT(max_subscriptions), NULL, INT32_MIN, INT32_MAX},
    {"max_payload max_pay", OPT_INT, ACCOUNT(max_payload), NULL, INT32_MIN, INT32_MAX},
    {"max_leafnodes max_leafs", OPT_FN, 0, read_max_leafnodes, 0, 0},
};

static void read_limits(struct opt *c, const struct conf_value *v, void *account)
{
    if (opt_is_map(c, v, "account limits to be a map/struct"))
        opt_map(c, v, OPT_BLOCK_AS(limit_fields, "Unknown field ", " parsing account limits"),
                account);
}

static void read_trace_dest(struct opt *c, const struct conf_value *v, void *account)
{
    struct options_account *a = account;
    if (v->type != CONF_STRING)
        opt_error(c, v, "Field \"%s\" should be a string, got %s", v->key, conf_type_name(v->type));
    else if (!opt_text_subject_literal(v->u.s))
        opt_error(c, v, "Trace destination \"%s\" is not valid", v->u.s);
    else
        opt_string(c, v, &a->trace_dest);
}

static void read_trace_sampling(struct opt *c, const struct conf_value *v, void *account)
{
    if (!opt_percent(v, &((struct options_account *)account)->trace_sampling))
        opt_error(c, v, "Trace destination sampling value is invalid, needs to be [1..100]");
}

static const struct opt_field trace_fields[] = {
    {"dest", OPT_FN, 0, read_trace_dest, 0, 0},
    {"sampling", OPT_FN, 0, read_trace_sampling, 0, 0},
};

static void read_msg_trace(struct opt *c, const struct conf_value *v, void *account)
{
    struct options_account *a = account;
    size_t before = c->nerrors;
    a->trace_sampling = 100;
    if (v->type == CONF_STRING)
        read_trace_dest(c, v, a);
    else if (opt_is_map(c, v, "account message trace to be a string or a map/struct"))
        opt_map(c, v,
                OPT_BLOCK_AS(trace_fields, "Unknown field ",
                             " parsing account message trace map/struct"),
                a);
    if (v->type == CONF_MAP && a->trace_dest == NULL && c->nerrors == before)
        opt_deprecated(c, v, "Trace destination sampling ignored since no destination was set");
}

static const struct opt_field account_fields[] = {
    {"nkey", OPT_FN, 0, read_account_nkey, 0, 0},
    {"users", OPT_FN, 0, read_account_users, 0, 0},
    {"default_permissions", OPT_FN, 0, read_account_permissions, 0, 0},
    {"exports", OPT_FN, 0, opt_read_exports, 0, 0},
    {"imports", OPT_FN, 0, opt_read_imports, 0, 0},
    {"jetstream", OPT_FN, ACCOUNT(js), read_account_jetstream, 0, 0},
    {"mappings maps", OPT_FN, 0, read_account_mappings, 0, 0},
    {"limits", OPT_FN, 0, read_limits, 0, 0},
    {"msg_trace trace_dest", OPT_FN, 0, read_msg_trace, 0, 0},
};

static struct options_account *add_account(struct opt *c, const struct conf_value *at,
                                           const char *name)
{
    struct options *o = c->o;
    if (strcmp(name, "$G") == 0) {
        opt_error(c, at, "\"$G\" is a Reserved Account");
        return NULL;
    }
    struct options_account *grown =
        arena_grow(c->a, o->accounts, o->naccounts, sizeof *o->accounts);
    if (grown == NULL)
        return NULL;
    o->accounts = grown;
    struct options_account *a = &grown[o->naccounts++];
    *a = (struct options_account){
        .name = arena_str(c->a, name),
        .js = {.max_memory = -1,
               .max_store = -1,
               .max_streams = -1,
               .max_consumers = -1,
               .max_ack_pending = -1,
               .mem_max_stream_bytes = -1,
               .disk_max_stream_bytes = -1},
        .max_connections = -1,
        .max_subscriptions = -1,
        .max_payload = -1,
        .max_leafnodes = -1,
        .line = at->line,
        .col = at->col,
        .file = opt_file(c, at),
    };
    return a;
}

/* accounts: [A, B] */
static void read_account_names(struct opt *c, const struct conf_value *v)
{
    for (size_t i = 0; i < v->nitems; i++) {
        char *name;
        if (opt_string(c, v->items[i], &name))
            add_account(c, v->items[i], name);
    }
}

void opt_read_accounts(struct opt *c, const struct conf_value *v, void *options)
{
    (void)options;
    if (v->type == CONF_ARRAY) {
        read_account_names(c, v);
        return;
    }
    if (!opt_is_map(c, v, "accounts to be a map of accounts, or an array of names"))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *m = v->items[i];
        if (m->used) /* a variable */
            continue;
        if (m->type != CONF_MAP) {
            opt_error(c, m, "Expected map entries for accounts");
            continue;
        }
        struct options_account *a = add_account(c, m, m->key);
        if (a == NULL)
            continue;
        opt_map(c, m, OPT_BLOCK(account_fields), a);
        opt_apply_default_permissions(a->users, a->nusers, a->default_permissions);
    }
}
