/* claims_share.c: exports, imports and revocations of an account's claims; activation tokens. */
#include "jwt/claims_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define AT(type, member) offsetof(type, member), NULL, NULL, 0

char *jwt_text(char *s)
{
    return s == NULL ? (char *)(uintptr_t) "" : s; /* texts of claims are not written */
}

/* --- maps --------------------------------------------------------------------------------------
 */

struct ordered {
    struct json_member m;
    size_t at;
};

static int compare_members(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    int c = strcmp(x->m.name, y->m.name);

    return c != 0 ? c : (x->at > y->at) - (x->at < y->at);
}

/* Sorted by name; of equal names only the last stays. */
static int keep_last(struct json_member *m, size_t *n)
{
    struct ordered *tmp = malloc((*n + 1) * sizeof *tmp);
    size_t kept = 0;

    if (tmp == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < *n; i++)
        tmp[i] = (struct ordered){m[i], i};
    qsort(tmp, *n, sizeof *tmp, compare_members);
    for (size_t i = 0; i < *n; i++)
        if (i + 1 == *n || strcmp(tmp[i].m.name, tmp[i + 1].m.name) != 0)
            m[kept++] = tmp[i].m;
    free(tmp);
    *n = kept;
    return 0;
}

int jwt_split_members(struct json_member **m, size_t *n, struct mf_slice json, struct arena *mem,
                      struct mf_error *e)
{
    *n = 0;
    if (json.len == 0 || json.ptr[0] == 'n')
        return 0;
    int err = json_split_object(json, m, n, mem, e);
    return err != 0 ? err : keep_last(*m, n);
}

struct number_doc {
    int64_t at;
};
static const struct json_field number_fields[] = {
    {"at", JSON_I64, AT(struct number_doc, at)},
};
static const struct json_type number_type = {"RevocationList", sizeof(struct number_doc),
                                             number_fields, MF_COUNT(number_fields)};

static int read_number(int64_t *out, struct mf_slice raw, struct arena *mem, struct mf_error *e)
{
    struct number_doc doc = {0};
    char text[64];

    *out = 0;
    if (raw.len > 40)
        return mf_fail(e, MF_INVAL, "json: cannot unmarshal a revocation into int64");
    int n = snprintf(text, sizeof text, "{\"at\":%.*s}", MF_FMT(raw));
    int err = json_unmarshal(mf_slice(text, (size_t)n), &number_type, &doc, mem, e);
    *out = doc.at;
    return err;
}

/* Sorted already by jwt_split_members(). */
int jwt_read_revocations(struct jwt_revocations *out, struct mf_slice json, struct arena *mem,
                         struct mf_error *e)
{
    struct json_member *m = NULL;
    size_t n = 0;
    int err = jwt_split_members(&m, &n, json, mem, e);

    *out = (struct jwt_revocations){NULL, 0};
    if (err != 0 || n == 0)
        return err;
    if ((out->at = arena_alloc(mem, n * sizeof *out->at)) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    for (size_t i = 0; i < n && err == 0; i++) {
        out->at[i].key = m[i].name;
        err = read_number(&out->at[i].at, m[i].value, mem, e);
    }
    out->n = n;
    return err;
}

static int compare_revocations(const void *a, const void *b)
{
    return strcmp(((const struct jwt_revocation *)a)->key, ((const struct jwt_revocation *)b)->key);
}

static bool revokes(const struct jwt_revocations *r, const char *key, int64_t issued_at)
{
    struct jwt_revocation want = {.key = (char *)(uintptr_t)key};
    const struct jwt_revocation *got =
        bsearch(&want, r->at, r->n, sizeof *r->at, compare_revocations);

    return got != NULL && issued_at <= got->at;
}

bool jwt_revoked(const struct jwt_revocations *r, const char *key, int64_t issued_at)
{
    return r->n > 0 && (revokes(r, "*", issued_at) || revokes(r, key, issued_at));
}

/* --- exports -----------------------------------------------------------------------------------
 */

int jwt_parse_share(struct mf_slice raw, int *out, struct mf_error *e)
{
    if (mf_eq_str(raw, "\"stream\""))
        *out = JWT_SHARE_STREAM;
    else if (mf_eq_str(raw, "\"service\""))
        *out = JWT_SHARE_SERVICE;
    else
        return mf_fail(e, MF_INVAL, "unknown export type %.*s", (int)(raw.len < 60 ? raw.len : 60),
                       (const char *)raw.ptr);
    return 0;
}

const char *jwt_share_word(enum jwt_share s)
{
    return s == JWT_SHARE_STREAM ? "stream" : s == JWT_SHARE_SERVICE ? "service" : "unknown";
}

/* A number, or "headers". */
static int parse_sampling(struct mf_slice raw, int *out, struct mf_error *e)
{
    uint64_t n = 0;
    bool negative = raw.ptr[0] == '-';

    if (mf_eq_nocase(raw, "\"headers\"")) {
        *out = 0;
        return 0;
    }
    if (negative)
        raw = mf_slice(raw.ptr + 1, raw.len - 1);
    if (mf_parse_u64(raw, &n) != 0 || n > 1000000)
        return mf_fail(e, MF_INVAL, "unknown sampling %.*s", (int)(raw.len < 40 ? raw.len : 40),
                       (const char *)raw.ptr);
    *out = negative ? -1 : (int)n; /* 0 stands for "headers" */
    return 0;
}

static const struct json_field latency_fields[] = {
    {"sampling", JSON_ENUM, offsetof(struct jwt_latency, sampling), NULL, parse_sampling, 0},
    {"results", JSON_STR, AT(struct jwt_latency, results)},
};
static const struct json_type latency_type = {"ServiceLatency", sizeof(struct jwt_latency),
                                              latency_fields, MF_COUNT(latency_fields)};
struct export_doc {
    struct jwt_export x;
    int type;
    struct mf_slice revocations;
};
#define EXPORT(member) AT(struct export_doc, member)
static const struct json_field export_fields[] = {
    {"name", JSON_STR, EXPORT(x.name)},
    {"subject", JSON_STR, EXPORT(x.subject)},
    {"type", JSON_ENUM, offsetof(struct export_doc, type), NULL, jwt_parse_share, 0},
    {"token_req", JSON_BOOL, EXPORT(x.token_req)},
    {"revocations", JSON_RAW, EXPORT(revocations)},
    {"response_type", JSON_STR, EXPORT(x.response_type)},
    {"response_threshold", JSON_DURATION, EXPORT(x.response_threshold_ns)},
    {"service_latency", JSON_POINTER, offsetof(struct export_doc, x.latency), &latency_type, NULL,
     0},
    {"account_token_position", JSON_U64, EXPORT(x.account_token_position)},
    {"advertise", JSON_BOOL, EXPORT(x.advertise)},
    {"allow_trace", JSON_BOOL, EXPORT(x.allow_trace)},
    {"description", JSON_STR, EXPORT(x.description)},
    {"info_url", JSON_STR, EXPORT(x.info_url)},
};
static const struct json_type export_type = {"Export", sizeof(struct export_doc), export_fields,
                                             MF_COUNT(export_fields)};

static int read_export(struct jwt_export **out, struct mf_slice json, struct arena *mem,
                       struct mf_error *e)
{
    struct export_doc doc = {.type = JWT_SHARE_UNKNOWN};
    int err;

    if (json.ptr[0] == 'n')
        return 0;
    if ((err = json_unmarshal(json, &export_type, &doc, mem, e)) != 0)
        return err;
    if ((*out = arena_alloc(mem, sizeof **out)) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    doc.x.type = (enum jwt_share)doc.type;
    doc.x.name = jwt_text(doc.x.name);
    doc.x.subject = jwt_text(doc.x.subject);
    doc.x.response_type = jwt_text(doc.x.response_type);
    doc.x.description = jwt_text(doc.x.description);
    doc.x.info_url = jwt_text(doc.x.info_url);
    if (doc.x.latency != NULL)
        doc.x.latency->results = jwt_text(doc.x.latency->results);
    **out = doc.x;
    return jwt_read_revocations(&(*out)->revocations, doc.revocations, mem, e);
}

static int split_list(struct mf_slice **items, size_t *n, struct mf_slice json, struct arena *mem,
                      struct mf_error *e)
{
    size_t offset;

    *n = 0;
    if (json.len == 0 || json.ptr[0] == 'n')
        return 0;
    return json_split_array(json, items, n, &offset, mem, e);
}

int jwt_read_exports(struct jwt_account *a, struct mf_slice json, struct arena *mem,
                     struct mf_error *e)
{
    struct mf_slice *items = NULL;
    int err = split_list(&items, &a->nexports, json, mem, e);

    if (err != 0 || a->nexports == 0)
        return err;
    if ((a->exports = arena_alloc(mem, a->nexports * sizeof(struct jwt_export *))) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    for (size_t i = 0; i < a->nexports && err == 0; i++)
        err = read_export(&a->exports[i], items[i], mem, e);
    return err;
}

/* --- imports -----------------------------------------------------------------------------------
 */

struct import_doc {
    struct jwt_import i;
    int type;
};
#define IMPORT(member) AT(struct import_doc, i.member)
static const struct json_field import_fields[] = {
    {"name", JSON_STR, IMPORT(name)},
    {"subject", JSON_STR, IMPORT(subject)},
    {"account", JSON_STR, IMPORT(account)},
    {"token", JSON_STR, IMPORT(token)},
    {"to", JSON_STR, IMPORT(to)},
    {"local_subject", JSON_STR, IMPORT(local_subject)},
    {"type", JSON_ENUM, offsetof(struct import_doc, type), NULL, jwt_parse_share, 0},
    {"share", JSON_BOOL, IMPORT(share)},
    {"allow_trace", JSON_BOOL, IMPORT(allow_trace)},
};
static const struct json_type import_type = {"Import", sizeof(struct import_doc), import_fields,
                                             MF_COUNT(import_fields)};

static int read_import(struct jwt_import **out, struct mf_slice json, struct arena *mem,
                       struct mf_error *e)
{
    struct import_doc doc = {.type = JWT_SHARE_UNKNOWN};
    int err;

    if (json.ptr[0] == 'n')
        return 0;
    if ((err = json_unmarshal(json, &import_type, &doc, mem, e)) != 0)
        return err;
    if ((*out = arena_alloc(mem, sizeof **out)) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    doc.i.type = (enum jwt_share)doc.type;
    char **texts[] = {&doc.i.name,  &doc.i.subject, &doc.i.account,
                      &doc.i.token, &doc.i.to,      &doc.i.local_subject};
    for (size_t i = 0; i < MF_COUNT(texts); i++)
        *texts[i] = jwt_text(*texts[i]);
    **out = doc.i;
    return 0;
}

int jwt_read_imports(struct jwt_account *a, struct mf_slice json, struct arena *mem,
                     struct mf_error *e)
{
    struct mf_slice *items = NULL;
    int err = split_list(&items, &a->nimports, json, mem, e);

    if (err != 0 || a->nimports == 0)
        return err;
    if ((a->imports = arena_alloc(mem, a->nimports * sizeof(struct jwt_import *))) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    for (size_t i = 0; i < a->nimports && err == 0; i++)
        err = read_import(&a->imports[i], items[i], mem, e);
    return err;
}

/* --- activation --------------------------------------------------------------------------------
 */

struct activation_doc {
    char *subject, *issuer_account;
    int kind;
};
static const struct json_field activation_fields[] = {
    {"subject", JSON_STR, AT(struct activation_doc, subject)},
    {"issuer_account", JSON_STR, AT(struct activation_doc, issuer_account)},
    {"kind", JSON_ENUM, offsetof(struct activation_doc, kind), NULL, jwt_parse_share, 0},
};
static const struct json_type activation_type = {"Activation", sizeof(struct activation_doc),
                                                 activation_fields, MF_COUNT(activation_fields)};
static const struct json_field activation_v1_fields[] = {
    {"subject", JSON_STR, AT(struct activation_doc, subject)},
    {"type", JSON_ENUM, offsetof(struct activation_doc, kind), NULL, jwt_parse_share, 0},
};
static const struct json_type activation_v1_type = {"Activation", sizeof(struct activation_doc),
                                                    activation_v1_fields,
                                                    MF_COUNT(activation_v1_fields)};

int jwt_read_activation(const struct jwt_reading *r)
{
    struct jwt *j = r->j;
    bool v1 = j->version == 1;
    struct activation_doc doc = {.kind = JWT_SHARE_UNKNOWN};
    struct jwt_activation *a = arena_alloc(&j->mem, sizeof *a);
    int err = a == NULL ? mf_fail(r->e, MF_NOMEM, "JWT")
                        : json_unmarshal(r->nats, v1 ? &activation_v1_type : &activation_type, &doc,
                                         &j->mem, r->e);

    if (err != 0)
        return err;
    a->subject = jwt_text(doc.subject);
    a->kind = (enum jwt_share)doc.kind;
    a->issuer_account =
        jwt_text(v1 ? arena_str(&j->mem, r->v1_issuer_account) : doc.issuer_account);
    j->activation = a;
    return 0;
}
