/* token.c: the common claims of a token, without its signature. */
#include "operator/token_impl.h"

#include "codec/base64.h"
#include "codec/json.h"

struct peeked {
    char *sub;
    double iat, exp;
};
static const struct json_field peeked_fields[] = {
    {.name = "sub", .kind = JSON_STR, .offset = offsetof(struct peeked, sub)},
    {.name = "iat", .kind = JSON_F64, .offset = offsetof(struct peeked, iat)},
    {.name = "exp", .kind = JSON_F64, .offset = offsetof(struct peeked, exp)},
};
static const struct json_type peeked_type = {"ClaimsData", sizeof(struct peeked), peeked_fields,
                                             MF_COUNT(peeked_fields)};

static int64_t whole_seconds(double s)
{
    return s > 0 && s < 1e15 ? (int64_t)s : 0;
}

int token_peek(struct mf_slice text, struct token_times *out)
{
    const uint8_t *first, *second;
    struct mf_buf json = {0};
    struct arena mem = {0};
    struct peeked p = {0};
    int rc = MF_INVAL;

    first = text.len == 0 ? NULL : memchr(text.ptr, '.', text.len);
    if (first == NULL)
        return MF_INVAL;
    first++;
    second = memchr(first, '.', (size_t)(text.ptr + text.len - first));
    if (second == NULL)
        return MF_INVAL;
    if (base64_read(&json, mf_slice(first, (size_t)(second - first)), BASE64_URL) == 0 &&
        json_unmarshal(mf_buf_slice(&json), &peeked_type, &p, &mem, NULL) == 0) {
        enum nkey_kind kind;
        struct mf_slice sub = mf_str(p.sub);
        if (nkey_is_public(sub, &kind) && kind == NKEY_ACCOUNT) {
            memcpy(out->sub, p.sub, sub.len + 1);
            out->iat = whole_seconds(p.iat);
            out->exp = whole_seconds(p.exp);
            rc = 0;
        }
    }
    arena_fini(&mem);
    mf_buf_fini(&json);
    return rc;
}
