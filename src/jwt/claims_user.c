/* claims_user.c: claims of users, and the fields that a template shares with them. */
#include "jwt/jwt_impl.h"

#define PERMISSION(member) offsetof(struct jwt_permission, member), NULL, NULL, 0
static const struct json_field permission_fields[] = {
    {"allow", JSON_STRS, PERMISSION(allow)},
    {"deny", JSON_STRS, PERMISSION(deny)},
};
static const struct json_type permission_type = {"Permission", sizeof(struct jwt_permission),
                                                 permission_fields, MF_COUNT(permission_fields)};
#define RESP(member) offsetof(struct jwt_resp, member), NULL, NULL, 0
static const struct json_field resp_fields[] = {
    {"max", JSON_INT, RESP(max)},
    {"ttl", JSON_DURATION, RESP(ttl_ns)},
};
static const struct json_type resp_type = {"ResponsePermission", sizeof(struct jwt_resp),
                                           resp_fields, MF_COUNT(resp_fields)};
#define TIMES(member) offsetof(struct jwt_times, member), NULL, NULL, 0
static const struct json_field times_fields[] = {
    {"start", JSON_STR, TIMES(start)},
    {"end", JSON_STR, TIMES(end)},
};
static const struct json_type times_type = {"TimeRange", sizeof(struct jwt_times), times_fields,
                                            MF_COUNT(times_fields)};

#define AT(type, member) offsetof(type, member), NULL, NULL, 0
#define PERMISSIONS(type, prefix)                                                                  \
    {"pub", JSON_OBJECT, offsetof(type, prefix pub), &permission_type, NULL, 0},                   \
        {"sub", JSON_OBJECT, offsetof(type, prefix sub), &permission_type, NULL, 0},               \
    {                                                                                              \
        "resp", JSON_POINTER, offsetof(type, prefix resp), &resp_type, NULL, 0                     \
    }
static const struct json_field permissions_fields[] = {
    PERMISSIONS(struct jwt_permissions, ),
};
const struct json_type jwt_permissions_type = {"Permissions", sizeof(struct jwt_permissions),
                                               permissions_fields, MF_COUNT(permissions_fields)};

struct grant_doc {
    struct jwt_grant g;
    struct mf_slice src; /* a list, or one text with commas */
};
static const struct json_field grant_fields[] = {
    PERMISSIONS(struct grant_doc, g.perms.),
    {"src", JSON_RAW, AT(struct grant_doc, src)},
    {"times", JSON_OBJECTS, offsetof(struct grant_doc, g.times), &times_type, NULL, 0},
    {"times_location", JSON_STR, AT(struct grant_doc, g.times_location)},
    {"subs", JSON_I64, AT(struct grant_doc, g.subs)},
    {"data", JSON_I64, AT(struct grant_doc, g.data)},
    {"payload", JSON_I64, AT(struct grant_doc, g.payload)},
    {"bearer_token", JSON_BOOL, AT(struct grant_doc, g.bearer_token)},
    {"proxy_required", JSON_BOOL, AT(struct grant_doc, g.proxy_required)},
    {"allowed_connection_types", JSON_STRS, AT(struct grant_doc, g.connection_types)},
};
static const struct json_type grant_type = {"UserPermissionLimits", sizeof(struct grant_doc),
                                            grant_fields, MF_COUNT(grant_fields)};

struct strs_doc {
    struct json_strs list;
};
static const struct json_field strs_fields[] = {
    {"src", JSON_STRS, AT(struct strs_doc, list)},
};
static const struct json_type strs_type = {"CIDRList", sizeof(struct strs_doc), strs_fields,
                                           MF_COUNT(strs_fields)};

static int add_src(struct json_strs *l, struct mf_slice one, struct arena *mem)
{
    one = mf_trim(one);
    if (one.len == 0)
        return 0;
    char **at = arena_grow(mem, l->at, l->n, sizeof *at);
    if (at == NULL || (at[l->n] = arena_dup(mem, one)) == NULL)
        return MF_NOMEM;
    l->at = at;
    l->n++;
    return 0;
}

static int split_src(struct json_strs *l, struct mf_slice text, struct arena *mem)
{
    int err = 0;

    while (err == 0 && text.len > 0) {
        const uint8_t *comma = memchr(text.ptr, ',', text.len);
        size_t n = comma == NULL ? text.len : (size_t)(comma - text.ptr);

        err = add_src(l, mf_slice(text.ptr, n), mem);
        text = comma == NULL ? MF_SLICE_NONE : mf_slice(comma + 1, text.len - n - 1);
    }
    return err;
}

static int read_src(struct json_strs *l, struct mf_slice raw, struct arena *mem, struct mf_error *e)
{
    char *text = NULL;

    *l = (struct json_strs){NULL, 0};
    if (raw.len == 0 || raw.ptr[0] == 'n')
        return 0;
    if (raw.ptr[0] == '"') {
        int err = json_parse_string(raw, &text, mem, e);
        return err != 0 ? err : split_src(l, mf_str(text), mem);
    }
    struct strs_doc doc = {{NULL, 0}};
    char *object = arena_printf(mem, "{\"src\":%.*s}", MF_FMT(raw));
    if (object == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    int err = json_unmarshal(mf_str(object), &strs_type, &doc, mem, e);
    *l = doc.list;
    return err;
}

int jwt_read_grant(struct jwt_grant *g, struct mf_slice json, struct arena *mem, struct mf_error *e)
{
    struct grant_doc doc = {*g, MF_SLICE_NONE};
    int err = json_unmarshal(json, &grant_type, &doc, mem, e);

    if (err == 0)
        err = read_src(&doc.g.src, doc.src, mem, e);
    *g = doc.g;
    return err;
}

struct user_doc {
    char *issuer_account;
    int64_t max; /* version 1 */
};
static const struct json_field user_fields[] = {
    {"issuer_account", JSON_STR, AT(struct user_doc, issuer_account)},
    {"max", JSON_I64, AT(struct user_doc, max)},
};
static const struct json_type user_type = {"User", sizeof(struct user_doc), user_fields,
                                           MF_COUNT(user_fields)};

int jwt_read_user(const struct jwt_reading *r)
{
    struct jwt *j = r->j;
    struct user_doc doc = {NULL, -1};
    struct jwt_user *u = arena_alloc(&j->mem, sizeof *u);

    if (u == NULL)
        return mf_fail(r->e, MF_NOMEM, "JWT");
    if (j->version == 1)
        u->grant.subs = u->grant.data = u->grant.payload = -1;
    int err = jwt_read_grant(&u->grant, r->nats, &j->mem, r->e);
    if (err == 0)
        err = json_unmarshal(r->nats, &user_type, &doc, &j->mem, r->e);
    if (err != 0)
        return err;
    if (j->version == 1 && doc.max != -1)
        return mf_fail(r->e, MF_UNSUPPORTED, "jwtV1 user: deprecated Max/Times in jwtV2");
    u->issuer_account =
        j->version == 1 ? arena_str(&j->mem, r->v1_issuer_account) : doc.issuer_account;
    j->user = u;
    return j->mem.failed ? mf_fail(r->e, MF_NOMEM, "JWT") : 0;
}

bool jwt_permissions_empty(const struct jwt_permissions *p)
{
    return p->pub.allow.n == 0 && p->pub.deny.n == 0 && p->sub.allow.n == 0 && p->sub.deny.n == 0 &&
           p->resp == NULL;
}

const char *jwt_user_account(const struct jwt *user)
{
    return mf_has_text(user->user->issuer_account) ? user->user->issuer_account : user->iss;
}
