/* pages_exports.c: mappings, exports and imports of an account in /accountz, with those of the
 * server itself: nats-server builds the latter from ordinary exports and imports. */
#include "status/pages_impl.h"

#include "jwt/jwt_account.h"
#include "subject/subject.h"

#include <stdlib.h>

static void show_latency(struct jsonw *w, const char *key, const struct options_export *x)
{
    if (x->latency_subject == NULL)
        return;
    jsonw_object(w, key);
    if (x->latency_percent < 0)
        jsonw_str(w, "sampling", "headers");
    else
        jsonw_i64(w, "sampling", x->latency_percent);
    jsonw_str(w, "results", x->latency_subject);
    jsonw_end(w);
}

static void show_export(struct jsonw *w, const struct options_export *x,
                        const struct jwt_export *claim)
{
    static const char *const responses[] = {"Singleton", "Streamed", "Chunked"};

    jsonw_object(w, NULL);
    jsonw_str(w, "subject", x->subject);
    jsonw_str(w, "type", x->service ? "service" : "stream");
    jsonw_opt_bool(w, "token_req", claim != NULL && claim->token_req);
    if (x->service)
        jsonw_str(w, "response_type", responses[x->response]);
    show_latency(w, "service_latency", x);
    page_names(w, "approved_accounts", &x->accounts);
    if (claim != NULL)
        page_revocations(w, "revoked_activations", &claim->revocations);
    jsonw_end(w);
}

/* Exports of the system account to all others. */
static const struct {
    const char *subject, *response;
} own_exports[] = {
    {"$SYS.REQ.ACCOUNT.*.CONNZ", "Streamed"},
    {"$SYS.REQ.ACCOUNT.*.STATZ", "Streamed"},
    {"$SYS.REQ.USER.*.INFO", "Singleton"},
    {"$SYS.DEBUG.SUBSCRIBERS", "Singleton"},
    {"$JS.API.>", "Singleton"}, /* the last: only with JetStream */
};
static const struct {
    const char *kind, *what, *local;
} own_imports[] = {
    {"ACCOUNT", "CONNZ", "$SYS.REQ.ACCOUNT.PING.CONNZ"},
    {"ACCOUNT", "CONNZ", "$SYS.REQ.SERVER.PING.CONNZ"},
    {"ACCOUNT", "STATZ", "$SYS.REQ.ACCOUNT.PING.STATZ"},
    {"USER", "INFO", "$SYS.REQ.USER.INFO"},
};

static void show_exports(struct status *s, struct account *a, struct jsonw *w)
{
    const struct options_account *o = account_options(a);
    struct jwt_export *const *claims = page_export_claims(s, a);
    size_t n = o != NULL ? o->nexports : 0, own = MF_COUNT(own_exports) - (s->js == NULL);

    if (n == 0 && !account_is_system(a))
        return;
    jsonw_array(w, "exports");
    for (size_t i = 0; account_is_system(a) && i < own; i++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "subject", own_exports[i].subject);
        jsonw_str(w, "type", "service");
        jsonw_str(w, "response_type", own_exports[i].response);
        jsonw_end(w);
    }
    for (size_t i = 0; i < n; i++)
        if (o->exports[i].service)
            show_export(w, &o->exports[i], claims != NULL ? claims[i] : NULL);
    for (size_t i = 0; i < n; i++)
        if (!o->exports[i].service)
            show_export(w, &o->exports[i], claims != NULL ? claims[i] : NULL);
    jsonw_end(w);
}

struct import_walk {
    struct status *s;
    struct jsonw *w;
    const struct options_account *options;
    bool service; /* streams come first */
};

/* The export behind a service import, as configured; NULL for one of the server's own. */
static const struct options_export *export_of(struct status *s, const struct account_import_info *x)
{
    struct account *a = x->service ? accounts_get(s->accounts, x->account) : NULL;
    const struct options_account *o = a != NULL ? account_options(a) : NULL;

    for (size_t i = 0; o != NULL && i < o->nexports; i++)
        if (o->exports[i].service &&
            subject_is_subset(mf_str(x->subject), mf_str(o->exports[i].subject)))
            return &o->exports[i];
    return NULL;
}

static void import_fields(struct status *s, struct jsonw *w, const struct account_import_info *x,
                          bool share)
{
    const struct options_export *from = export_of(s, x);

    jsonw_object(w, NULL);
    jsonw_str(w, "subject", x->subject);
    jsonw_str(w, "account", x->account);
    if (x->service)
        jsonw_str(w, "to", x->local);
    jsonw_str(w, "local_subject", x->local);
    jsonw_str(w, "type", x->service ? "service" : "stream");
    jsonw_bool(w, "invalid", x->invalid);
    jsonw_bool(w, "share", share);
    jsonw_bool(w, "tracking", false);
    if (from != NULL)
        show_latency(w, "latency", from);
    jsonw_end(w);
}

static bool import_shares(const struct options_account *o, const struct account_import_info *x)
{
    for (size_t i = 0; o != NULL && i < o->nimports; i++) {
        const struct options_import *m = &o->imports[i];
        if (m->share && m->service == x->service && strcmp(m->account, x->account) == 0 &&
            strcmp(m->to != NULL ? m->to : m->subject, x->local) == 0)
            return true;
    }
    return false;
}

static void show_import(void *arg, const struct account_import_info *x)
{
    struct import_walk *walk = arg;

    if (x->service == walk->service)
        import_fields(walk->s, walk->w, x, import_shares(walk->options, x));
}

static void show_own_imports(struct status *s, struct account *a, struct jsonw *w)
{
    struct account *system = accounts_system(s->accounts);

    for (size_t i = 0; i < MF_COUNT(own_imports); i++) {
        struct mf_buf subject = MF_BUF_INIT;
        bool info = strcmp(own_imports[i].what, "INFO") == 0;
        struct account_import_info x = {
            .service = true, .account = account_name(system), .local = own_imports[i].local};
        if (a == system && !info) /* it asks about all accounts */
            continue;
        mf_buf_printf(&subject, "$SYS.REQ.%s.%s.%s", own_imports[i].kind, account_name(a),
                      own_imports[i].what);
        x.subject = mf_buf_cstr(&subject);
        import_fields(s, w, &x, info);
        mf_buf_fini(&subject);
    }
    if (a != system && s->js != NULL) {
        struct account_import_info x = {.service = true,
                                        .account = account_name(system),
                                        .subject = "$JS.API.>",
                                        .local = "$JS.API.>"};
        import_fields(s, w, &x, true);
    }
}

static void show_imports(struct status *s, struct account *a, struct jsonw *w)
{
    struct import_walk walk = {.s = s, .w = w, .options = account_options(a)};
    struct account *system = accounts_system(s->accounts);

    if (system == NULL && (walk.options == NULL || walk.options->nimports == 0))
        return;
    jsonw_array(w, "imports");
    account_each_import(a, show_import, &walk);
    walk.service = true;
    account_each_import(a, show_import, &walk);
    if (system != NULL)
        show_own_imports(s, a, w);
    jsonw_end(w);
}

static void show_dest(struct jsonw *w, const char *subject, double weight, const char *cluster)
{
    jsonw_object(w, NULL);
    jsonw_str(w, "subject", subject);
    jsonw_f64(w, "weight", weight);
    jsonw_opt_str(w, "cluster", cluster);
    jsonw_end(w);
}

/* The API under the name of the server's domain is one more mapping. */
static void show_domain(struct jsonw *w, const char *prefix, bool whole)
{
    static const char *const names[] = {"$KV.>", "$OBJ.>", "ACCOUNT.>", "CONSUMER.>", "DIRECT.>",
                                        "INFO",  "META.>", "SERVER.>",  "STREAM.>"};
    static const char *const all[] = {">"};

    for (size_t i = 0; i < (whole ? MF_COUNT(all) : MF_COUNT(names)); i++) {
        const char *name = whole ? all[i] : names[i];
        struct mf_buf from = MF_BUF_INIT, to = MF_BUF_INIT;

        mf_buf_printf(&from, "%s%s", prefix, name);
        mf_buf_printf(&to, "%s%s", name[0] == '$' ? "" : "$JS.API.", name);
        if (!mf_buf_failed(&from) && !mf_buf_failed(&to)) {
            jsonw_array(w, mf_buf_cstr(&from));
            show_dest(w, mf_buf_cstr(&to), 100, NULL);
            jsonw_end(w);
        }
        mf_buf_fini(&from);
        mf_buf_fini(&to);
    }
}

static void show_mappings(struct status *s, struct account *a, struct jsonw *w)
{
    const struct options_account *o = account_options(a);
    bool global = a == accounts_global(s->accounts) && server_options(s->server)->nmappings > 0;
    const struct options_mapping *list = global      ? server_options(s->server)->mappings
                                         : o != NULL ? o->mappings
                                                     : NULL;
    size_t n = global ? server_options(s->server)->nmappings : o != NULL ? o->nmappings : 0;

    const char *domain = account_domain_prefix(a);

    if (n == 0 && domain == NULL)
        return;
    jsonw_object(w, "mappings");
    if (domain != NULL)
        show_domain(w, domain, account_is_system(a));
    for (size_t i = 0; i < n; i++) {
        jsonw_array(w, list[i].source);
        for (size_t d = 0; d < list[i].ndests; d++)
            show_dest(w, list[i].dests[d].subject, list[i].dests[d].weight,
                      list[i].dests[d].cluster);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* Bounds the page: clients decide how many answers are expected. */
#define MAX_RESPONSES 1024

struct response_walk {
    struct jsonw *w;
    size_t shown;
};

static void show_response(void *arg, const struct account_response_info *x)
{
    struct response_walk *walk = arg;
    struct jsonw *w = walk->w;
    char *subject = mf_slice_dup(x->subject), *original = mf_slice_dup(x->original);

    if (subject != NULL && original != NULL) {
        if (walk->shown++ == 0)
            jsonw_object(w, "responses");
        jsonw_object(w, subject);
        jsonw_str(w, "subject", original);
        jsonw_str(w, "account", x->account);
        jsonw_str(w, "to", subject);
        jsonw_str(w, "local_subject", subject);
        jsonw_i64(w, "type", 2); /* nats-server's number of a service */
        jsonw_bool(w, "invalid", false);
        jsonw_bool(w, "share", x->share);
        jsonw_bool(w, "tracking", x->tracked);
        jsonw_end(w);
    }
    free(subject);
    free(original);
}

void page_account_responses(struct account *a, struct jsonw *w)
{
    struct response_walk walk = {w, 0};

    account_each_response(a, MAX_RESPONSES, show_response, &walk);
    if (walk.shown > 0)
        jsonw_end(w);
}

void page_account_exports(struct status *s, struct account *a, struct jsonw *w)
{
    show_mappings(s, a, w);
    show_exports(s, a, w);
    show_imports(s, a, w);
}
