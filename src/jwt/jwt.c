/* jwt.c: a token's text to its claims.
 *
 * The parts are checked in the order in which nats-server checks them, so that a token that is
 * wrong in several ways gets the same error: number of parts, header, claims, version, signature,
 * signer. */
#include "jwt/claims_impl.h"

#include "codec/base64.h"

#include <sodium.h>
#include <stdlib.h>

struct parts {
    struct mf_slice header, claims, sig;
    struct mf_slice signed_v2; /* header and claims with their dot */
};

/* --- base64 and JSON ---------------------------------------------------------------------------
 */

/* Appends the bytes of a part.  Go's text for a character that is none of base64. */
static int read_part(struct mf_buf *out, struct mf_slice text, struct mf_error *e)
{
    size_t i = 0;

    while (i < text.len && (mf_starts(mf_slice(text.ptr + i, 1), "-") || text.ptr[i] == '_' ||
                            (text.ptr[i] >= '0' && text.ptr[i] <= '9') ||
                            ((text.ptr[i] | 0x20) >= 'a' && (text.ptr[i] | 0x20) <= 'z')))
        i++;
    if (i < text.len || text.len % 4 == 1)
        return mf_fail(e, MF_INVAL, "illegal base64 data at input byte %zu", i);
    if (mf_buf_reserve(out, text.len / 4 * 3 + 4) == NULL) /* no copy of a secret is left behind */
        return mf_fail(e, MF_NOMEM, "JWT");
    int err = base64_read(out, text, BASE64_URL);
    return err == 0 ? 0 : mf_fail(e, err, "illegal base64 data at input byte %zu", i);
}

static void wipe_buf(struct mf_buf *b)
{
    if (b->ptr != NULL)
        explicit_bzero(b->ptr, b->cap);
    mf_buf_fini(b);
}

struct head {
    char *typ, *alg;
};
static const struct json_field head_fields[] = {
    {"typ", JSON_STR, offsetof(struct head, typ), NULL, NULL, 0},
    {"alg", JSON_STR, offsetof(struct head, alg), NULL, NULL, 0},
};
static const struct json_type head_type = {"Header", sizeof(struct head), head_fields,
                                           MF_COUNT(head_fields)};

/* *old: signed as version 1 tokens were (asked only for tokens that do not tell their version). */
static int read_head(struct jwt *j, struct mf_slice part, bool *old, struct mf_error *e)
{
    struct head h = {NULL, NULL};
    struct mf_buf json = MF_BUF_INIT;
    int err = read_part(&json, part, e);

    if (err == 0)
        err = json_unmarshal(mf_buf_slice(&json), &head_type, &h, &j->mem, e);
    mf_buf_fini(&json);
    if (err != 0)
        return err;
    const char *typ = h.typ == NULL ? "" : h.typ, *alg = h.alg == NULL ? "" : h.alg;
    if (!mf_eq_nocase(mf_str(typ), "jwt"))
        return mf_fail(e, MF_UNSUPPORTED, "not supported type \"%.40s\"", typ);
    *old = mf_eq_nocase(mf_str(alg), "ed25519");
    if (!*old && !mf_eq_nocase(mf_str(alg), "ed25519-nkey"))
        return mf_fail(e, MF_UNSUPPORTED, "unexpected \"%.40s\" algorithm", alg);
    return 0;
}

/* --- common claims -----------------------------------------------------------------------------
 */

struct common {
    char *aud, *jti, *iss, *name, *sub;
    int64_t iat, exp, nbf;
    char *type, *issuer_account; /* version 1 */
    struct json_strs tags;
    struct mf_slice nats;
};
#define COMMON(member) offsetof(struct common, member), NULL, NULL, 0
static const struct json_field common_fields[] = {
    {"aud", JSON_STR, COMMON(aud)},    {"jti", JSON_STR, COMMON(jti)},
    {"iss", JSON_STR, COMMON(iss)},    {"name", JSON_STR, COMMON(name)},
    {"sub", JSON_STR, COMMON(sub)},    {"iat", JSON_I64, COMMON(iat)},
    {"exp", JSON_I64, COMMON(exp)},    {"nbf", JSON_I64, COMMON(nbf)},
    {"type", JSON_STR, COMMON(type)},  {"issuer_account", JSON_STR, COMMON(issuer_account)},
    {"tags", JSON_STRS, COMMON(tags)}, {"nats", JSON_RAW, COMMON(nats)},
};
static const struct json_type common_type = {"ClaimsData", sizeof(struct common), common_fields,
                                             MF_COUNT(common_fields)};

struct generic {
    char *type;
    int64_t version;
    struct json_strs tags;
};
#define GENERIC(member) offsetof(struct generic, member), NULL, NULL, 0
static const struct json_field generic_fields[] = {
    {"type", JSON_STR, GENERIC(type)},
    {"version", JSON_INT, GENERIC(version)},
    {"tags", JSON_STRS, GENERIC(tags)},
};
static const struct json_type generic_type = {"GenericFields", sizeof(struct generic),
                                              generic_fields, MF_COUNT(generic_fields)};

static const struct {
    const char *word, *not_this; /* the error of jwt_decode_as() */
    enum jwt_kind kind;
    int (*read)(const struct jwt_reading *r);
    enum nkey_kind signers[2];
    const char *prefixes;
} kinds[] = {
    {"operator",
     "not operator claim",
     JWT_OPERATOR,
     jwt_read_operator,
     {NKEY_OPERATOR, NKEY_OPERATOR},
     "operator"},
    {"account",
     "not account claim",
     JWT_ACCOUNT,
     jwt_read_account,
     {NKEY_ACCOUNT, NKEY_OPERATOR},
     "account operator"},
    {"user", "not user claim", JWT_USER, jwt_read_user, {NKEY_ACCOUNT, NKEY_ACCOUNT}, "account"},
    {"activation",
     "not activation claim",
     JWT_ACTIVATION,
     jwt_read_activation,
     {NKEY_ACCOUNT, NKEY_OPERATOR},
     "account operator"},
    {"authorization_request",
     "not an authorization request claim",
     JWT_AUTH_REQUEST,
     jwt_read_auth_request,
     {NKEY_SERVER, NKEY_SERVER},
     "server"},
    {"authorization_response",
     "not an authorization response claim",
     JWT_AUTH_RESPONSE,
     jwt_read_auth_response,
     {NKEY_ACCOUNT, NKEY_ACCOUNT},
     "account"},
};

/* The index in kinds[], or its length: generic. */
static size_t find_kind(const char *word)
{
    size_t i = 0;

    while (i < MF_COUNT(kinds) && strcmp(kinds[i].word, word) != 0)
        i++;
    return i;
}

static void take_common(struct jwt *j, const struct common *c, const struct generic *g)
{
    j->aud = jwt_text(c->aud);
    j->jti = jwt_text(c->jti);
    j->iss = jwt_text(c->iss);
    j->name = jwt_text(c->name);
    j->sub = jwt_text(c->sub);
    j->iat = c->iat;
    j->exp = c->exp;
    j->nbf = c->nbf;
    j->tags = j->version == 1 ? c->tags : g->tags;
}

static int read_claims(struct jwt *j, struct mf_slice part, struct mf_error *e)
{
    struct common c = {0};
    struct generic g = {0};
    struct mf_buf json = MF_BUF_INIT;
    int err = read_part(&json, part, e);

    if (err == 0 && (j->claims = arena_dup(&j->mem, mf_buf_slice(&json))) == NULL)
        err = mf_fail(e, MF_NOMEM, "JWT");
    if (err == 0)
        err = json_unmarshal(mf_buf_slice(&json), &common_type, &c, &j->mem, e);
    if (err == 0 && c.nats.len > 0 && !mf_has_text(c.type))
        err = json_unmarshal(c.nats, &generic_type, &g, &j->mem, e);
    wipe_buf(&json);
    if (err != 0)
        return err;
    const char *word = jwt_text(mf_has_text(c.type) ? c.type : g.type);
    size_t i = find_kind(word);
    if (!mf_has_text(c.type) && g.version > 2)
        return mf_fail(e, MF_UNSUPPORTED, "JWT was generated by a newer version ");
    if (strcmp(word, "cluster") == 0 || strcmp(word, "server") == 0)
        return mf_fail(e, MF_UNSUPPORTED, "%s are not supported",
                       word[0] == 'c' ? "ClusterClaims" : "ServerClaims");
    j->version = mf_has_text(c.type) ? 1 : (int)(g.version < 0 ? 0 : g.version);
    j->kind = i < MF_COUNT(kinds) ? kinds[i].kind : JWT_GENERIC;
    if (j->kind != JWT_GENERIC && j->version == 0)
        return mf_fail(e, MF_UNSUPPORTED, "library supports version 2 or less - received %lld",
                       (long long)g.version);
    take_common(j, &c, &g);
    struct jwt_reading r = {j, c.nats.len > 0 ? c.nats : MF_LIT("{}"), jwt_text(c.issuer_account),
                            e};
    return i < MF_COUNT(kinds) ? kinds[i].read(&r) : jwt_read_generic(&r);
}

/* --- signature ---------------------------------------------------------------------------------
 */

static bool verify_sig(const struct jwt *j, struct mf_slice text, struct mf_slice sig)
{
    enum nkey_kind kind;
    uint8_t key[32];

    return sodium_init() >= 0 && sig.len == crypto_sign_BYTES &&
           nkey_is_public(mf_str(j->iss), &kind) && nkey_decode(mf_str(j->iss), kind, key) == 0 &&
           crypto_sign_verify_detached(sig.ptr, text.ptr, text.len, key) == 0;
}

static int check_signature(const struct jwt *j, const struct parts *p, bool old, struct mf_error *e)
{
    struct mf_buf sig = MF_BUF_INIT;
    int err = read_part(&sig, p->sig, e);
    bool v1 = j->kind == JWT_GENERIC ? old : j->version == 1;

    if (err == 0 && !verify_sig(j, v1 ? p->claims : p->signed_v2, mf_buf_slice(&sig)))
        err = mf_fail(e, MF_DENIED, "claim failed V%d signature verification", v1 ? 1 : 2);
    mf_buf_fini(&sig);
    return err;
}

bool jwt_is_key(const char *text, enum nkey_kind kind)
{
    uint8_t raw[32];
    return nkey_decode(mf_str(text), kind, raw) == 0;
}

static int check_signer(const struct jwt *j, struct mf_error *e)
{
    for (size_t i = 0; i < MF_COUNT(kinds); i++) {
        if (kinds[i].kind != j->kind || jwt_is_key(j->iss, kinds[i].signers[0]) ||
            jwt_is_key(j->iss, kinds[i].signers[1]))
            continue;
        return mf_fail(e, MF_DENIED, "unable to validate expected prefixes - [%s]",
                       kinds[i].prefixes);
    }
    return 0;
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static int split(struct parts *p, struct mf_slice text, struct mf_error *e)
{
    const uint8_t *end = text.ptr + text.len;
    const uint8_t *a = text.len == 0 ? NULL : memchr(text.ptr, '.', text.len);
    const uint8_t *b = a == NULL ? NULL : memchr(a + 1, '.', (size_t)(end - a - 1));

    if (b == NULL || memchr(b + 1, '.', (size_t)(end - b - 1)) != NULL)
        return mf_fail(e, MF_INVAL, "expected 3 chunks");
    p->header = mf_slice(text.ptr, (size_t)(a - text.ptr));
    p->claims = mf_slice(a + 1, (size_t)(b - a - 1));
    p->sig = mf_slice(b + 1, (size_t)(end - b - 1));
    p->signed_v2 = mf_slice(text.ptr, (size_t)(b - text.ptr));
    return 0;
}

/* The text without line ends, NUL behind it. */
static char *copy_text(struct arena *mem, struct mf_slice text)
{
    char *to = arena_alloc(mem, text.len + 1);
    size_t n = 0;

    for (size_t i = 0; to != NULL && i < text.len; i++)
        if (text.ptr[i] != '\r' && text.ptr[i] != '\n')
            to[n++] = (char)text.ptr[i];
    return to;
}

static int decode(struct jwt *j, struct mf_slice text, struct mf_error *e)
{
    struct parts p = {0};
    bool old;
    int err;

    if ((j->text = copy_text(&j->mem, text)) == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    if ((err = split(&p, mf_str(j->text), e)) != 0 ||
        (err = read_head(j, p.header, &old, e)) != 0 || (err = read_claims(j, p.claims, e)) != 0 ||
        (err = check_signature(j, &p, old, e)) != 0)
        return err;
    return check_signer(j, e);
}

int jwt_decode(struct jwt **out, struct mf_slice text, struct mf_error *e)
{
    text = mf_trim(text);
    if (text.len > JWT_SIZE_MAX)
        return mf_fail(e, MF_LIMIT, "JWT is longer than %u bytes", JWT_SIZE_MAX);
    struct jwt *j = calloc(1, sizeof *j);
    if (j == NULL)
        return mf_fail(e, MF_NOMEM, "JWT");
    int err = decode(j, text, e);
    if (err != 0) {
        jwt_free(j);
        return err;
    }
    *out = j;
    return 0;
}

int jwt_decode_as(struct jwt **out, enum jwt_kind kind, struct mf_slice text, struct mf_error *e)
{
    struct jwt *j;
    const char *why = "not a generic claim";
    int err = jwt_decode(&j, text, e);

    if (err != 0)
        return err;
    if (j->kind == kind) {
        *out = j;
        return 0;
    }
    jwt_free(j);
    for (size_t i = 0; i < MF_COUNT(kinds); i++)
        if (kinds[i].kind == kind)
            why = kinds[i].not_this;
    return mf_fail(e, MF_INVAL, "%s", why);
}

void jwt_free(struct jwt *j)
{
    if (j == NULL)
        return;
    arena_wipe(&j->mem);
    free(j);
}
