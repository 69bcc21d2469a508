/* fuzz_jwt.c: the first byte 't': a token's text.  Else the claims under "nats" of a token that is
 * signed here, by a key whose kind that byte names: what can be decoded is validated, and templates
 * are expanded. */
#include "fuzz.h"
#include "jwt/jwt_scope.h"

static const struct jwt_key *signer(uint8_t letter)
{
    static struct jwt_key keys[3];
    static const enum nkey_kind kinds[] = {NKEY_OPERATOR, NKEY_ACCOUNT, NKEY_SERVER};

    for (size_t i = 0; i < MF_COUNT(keys) && keys[i].text[0] == '\0'; i++)
        jwt_key_random(&keys[i], kinds[i]);
    return &keys[letter == 'A' ? 1 : letter == 'N' ? 2 : 0];
}

static struct jwt *make_user(void)
{
    struct mf_buf b = MF_BUF_INIT;
    struct jwt *j = NULL;
    struct jwt_unsigned c = {
        .name = "bob",
        .sub = "U",
        .nats = MF_LIT("{\"type\":\"user\",\"version\":2,\"tags\":[\"a:1\",\"a:2\",\"b:\"]}")};

    FUZZ_CHECK(jwt_sign(&b, &c, signer('A')) == 0);
    FUZZ_CHECK(jwt_decode(&j, mf_buf_slice(&b), NULL) == 0);
    mf_buf_fini(&b);
    return j;
}

static void expand_all(const struct jwt *account)
{
    struct jwt *user = make_user();

    for (size_t i = 0; i < account->account->nsigning_keys; i++) {
        const struct jwt_signing_key *k = &account->account->signing_keys[i];
        struct arena mem = {0};
        struct jwt_grant g;

        FUZZ_CHECK(i == 0 || strcmp(k[-1].key, k->key) <= 0);
        if (jwt_scope_expand(&g, &k->template_grant, user, account, &mem, NULL) == 0)
            FUZZ_CHECK((g.perms.pub.allow.n > 0) == (k->template_grant.perms.pub.allow.n > 0) ||
                       g.perms.pub.deny.n > 0);
        arena_fini(&mem);
    }
    jwt_free(user);
}

static void look_at(const struct jwt *j)
{
    struct jwt_issues issues = {.at = NULL};
    char text[256];

    FUZZ_CHECK(j->iss != NULL && j->sub != NULL && j->name != NULL && j->aud != NULL);
    FUZZ_CHECK(jwt_validate(j, 1700000000, &issues) == 0 && issues.n <= JWT_ISSUES_MAX);
    FUZZ_CHECK(strlen(jwt_issues_text(&issues, text, sizeof text)) < sizeof text);
    jwt_issues_fini(&issues);
    if (j->kind == JWT_ACCOUNT)
        expand_all(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mf_buf token = MF_BUF_INIT;
    struct jwt *j = NULL;

    if (size == 0)
        return 0;
    if (data[0] == 't') {
        mf_buf_append(&token, data + 1, size - 1);
    } else {
        struct jwt_unsigned c = {.sub = "A", .nats = mf_slice(data + 1, size - 1)};
        FUZZ_CHECK(jwt_sign(&token, &c, signer(data[0])) == 0);
    }
    if (jwt_decode(&j, mf_buf_slice(&token), NULL) == 0) {
        look_at(j);
        jwt_free(j);
    }
    mf_buf_fini(&token);
    return 0;
}
