/* claims_other.c: claims of operators, of auth callouts, and of requests to delete accounts. */
#include "jwt/claims_impl.h"

#define AT(type, member) offsetof(type, member), NULL, NULL, 0

static const char *given(const char *s)
{
    return s == NULL ? "" : s;
}

static int read_into(const struct jwt_reading *r, const struct json_type *t, void **out)
{
    *out = arena_alloc(&r->j->mem, t->size);
    if (*out == NULL)
        return mf_fail(r->e, MF_NOMEM, "JWT");
    return json_unmarshal(r->nats, t, *out, &r->j->mem, r->e);
}

/* --- operator ----------------------------------------------------------------------------------
 */

#define OPERATOR(member) AT(struct jwt_operator, member)
static const struct json_field operator_fields[] = {
    {"signing_keys", JSON_STRS, OPERATOR(signing_keys)},
    {"operator_service_urls", JSON_STRS, OPERATOR(operator_service_urls)},
    {"account_server_url", JSON_STR, OPERATOR(account_server_url)},
    {"system_account", JSON_STR, OPERATOR(system_account)},
    {"assert_server_version", JSON_STR, OPERATOR(assert_server_version)},
    {"strict_signing_key_usage", JSON_BOOL, OPERATOR(strict_signing_key_usage)},
};
static const struct json_type operator_type = {"Operator", sizeof(struct jwt_operator),
                                               operator_fields, MF_COUNT(operator_fields)};

int jwt_read_operator(const struct jwt_reading *r)
{
    void *out;
    int err = read_into(r, &operator_type, &out);

    if (err != 0)
        return err;
    struct jwt_operator *o = r->j->operator_claims = out;
    o->account_server_url = jwt_text(o->account_server_url);
    o->system_account = jwt_text(o->system_account);
    o->assert_server_version = jwt_text(o->assert_server_version);
    return 0;
}

/* --- auth callout ------------------------------------------------------------------------------
 */

#define SERVER(member) AT(struct jwt_server_id, member)
static const struct json_field server_fields[] = {
    {"name", JSON_STR, SERVER(name)},       {"host", JSON_STR, SERVER(host)},
    {"id", JSON_STR, SERVER(id)},           {"version", JSON_STR, SERVER(version)},
    {"cluster", JSON_STR, SERVER(cluster)}, {"xkey", JSON_STR, SERVER(xkey)},
    {"tags", JSON_STRS, SERVER(tags)},
};
static const struct json_type server_type = {"ServerID", sizeof(struct jwt_server_id),
                                             server_fields, MF_COUNT(server_fields)};
#define CLIENT(member) AT(struct jwt_client_info, member)
static const struct json_field client_fields[] = {
    {"host", JSON_STR, CLIENT(host)},       {"id", JSON_U64, CLIENT(id)},
    {"user", JSON_STR, CLIENT(user)},       {"name", JSON_STR, CLIENT(name)},
    {"tags", JSON_STRS, CLIENT(tags)},      {"name_tag", JSON_STR, CLIENT(name_tag)},
    {"kind", JSON_STR, CLIENT(kind)},       {"type", JSON_STR, CLIENT(type)},
    {"mqtt_id", JSON_STR, CLIENT(mqtt_id)}, {"nonce", JSON_STR, CLIENT(nonce)},
};
static const struct json_type client_type = {"ClientInformation", sizeof(struct jwt_client_info),
                                             client_fields, MF_COUNT(client_fields)};
#define CONNECT(member) AT(struct jwt_connect_opts, member)
static const struct json_field connect_fields[] = {
    {"jwt", JSON_STR, CONNECT(jwt)},         {"nkey", JSON_STR, CONNECT(nkey)},
    {"sig", JSON_STR, CONNECT(sig)},         {"auth_token", JSON_STR, CONNECT(auth_token)},
    {"user", JSON_STR, CONNECT(user)},       {"pass", JSON_STR, CONNECT(pass)},
    {"name", JSON_STR, CONNECT(name)},       {"lang", JSON_STR, CONNECT(lang)},
    {"version", JSON_STR, CONNECT(version)}, {"protocol", JSON_INT, CONNECT(protocol)},
};
static const struct json_type connect_type = {"ConnectOptions", sizeof(struct jwt_connect_opts),
                                              connect_fields, MF_COUNT(connect_fields)};
static const struct json_field tls_fields[] = {
    {"version", JSON_STR, AT(struct jwt_client_tls, version)},
    {"cipher", JSON_STR, AT(struct jwt_client_tls, cipher)},
    {"certs", JSON_STRS, AT(struct jwt_client_tls, certs)},
};
static const struct json_type tls_type = {"ClientTLS", sizeof(struct jwt_client_tls), tls_fields,
                                          MF_COUNT(tls_fields)};
#define REQUEST(member) offsetof(struct jwt_auth_request, member)
static const struct json_field request_fields[] = {
    {"server_id", JSON_OBJECT, REQUEST(server), &server_type, NULL, 0},
    {"user_nkey", JSON_STR, REQUEST(user_nkey), NULL, NULL, 0},
    {"client_info", JSON_OBJECT, REQUEST(client), &client_type, NULL, 0},
    {"connect_opts", JSON_OBJECT, REQUEST(connect), &connect_type, NULL, 0},
    {"client_tls", JSON_POINTER, REQUEST(tls), &tls_type, NULL, 0},
};
static const struct json_type request_type = {"AuthorizationRequest",
                                              sizeof(struct jwt_auth_request), request_fields,
                                              MF_COUNT(request_fields)};

int jwt_read_auth_request(const struct jwt_reading *r)
{
    void *out;
    int err = read_into(r, &request_type, &out);

    if (err != 0)
        return err;
    struct jwt_auth_request *q = r->j->request = out;
    q->user_nkey = given(q->user_nkey);
    return 0;
}

#define RESPONSE(member) AT(struct jwt_auth_response, member)
static const struct json_field response_fields[] = {
    {"jwt", JSON_STR, RESPONSE(jwt)},
    {"error", JSON_STR, RESPONSE(error)},
    {"issuer_account", JSON_STR, RESPONSE(issuer_account)},
};
static const struct json_type response_type = {"AuthorizationResponse",
                                               sizeof(struct jwt_auth_response), response_fields,
                                               MF_COUNT(response_fields)};

int jwt_read_auth_response(const struct jwt_reading *r)
{
    void *out;
    int err = read_into(r, &response_type, &out);

    if (err != 0)
        return err;
    struct jwt_auth_response *a = r->j->response = out;
    a->jwt = given(a->jwt);
    a->error = given(a->error);
    a->issuer_account = given(a->issuer_account);
    return 0;
}

/* --- generic -----------------------------------------------------------------------------------
 */

struct accounts_doc {
    struct mf_slice raw;
};
static const struct json_field accounts_fields[] = {
    {"accounts", JSON_RAW, AT(struct accounts_doc, raw)},
};
static const struct json_type accounts_type = {"GenericClaims", sizeof(struct accounts_doc),
                                               accounts_fields, MF_COUNT(accounts_fields)};

/* Any contents are fine; a list of texts under "accounts" is kept. */
int jwt_read_generic(const struct jwt_reading *r)
{
    struct arena *mem = &r->j->mem;
    struct accounts_doc doc = {MF_SLICE_NONE};
    struct mf_slice *items;
    size_t n, offset;

    r->j->accounts = NULL;
    if (json_unmarshal(r->nats, &accounts_type, &doc, mem, NULL) != 0 || doc.raw.len == 0 ||
        doc.raw.ptr[0] != '[')
        return mem->failed ? mf_fail(r->e, MF_NOMEM, "JWT") : 0;
    int err = json_split_array(doc.raw, &items, &n, &offset, mem, r->e);
    if (err != 0)
        return err;
    struct json_strs *l = arena_alloc(mem, sizeof *l);
    if (l == NULL || (l->at = arena_alloc(mem, (n + 1) * sizeof *l->at)) == NULL)
        return mf_fail(r->e, MF_NOMEM, "JWT");
    for (size_t i = 0; i < n; i++)
        if (items[i].ptr[0] != '"')
            return 0;
        else if ((err = json_parse_string(items[i], &l->at[i], mem, r->e)) != 0)
            return err;
    l->n = n;
    r->j->accounts = l;
    return 0;
}
