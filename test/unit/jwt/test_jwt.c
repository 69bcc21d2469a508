/* test_jwt.c: tokens of another library are read, forged ones are refused with nats-server's texts,
 * and what is signed here can be read. */
#include "codec/base64.h"
#include "codec/jsonw.h"
#include "cases.h"
#include "jwt/jwt_activation.h"
#include "jwt/jwt_callout.h"
#include "jwt/jwt_operator.h"
#include "jwt/xkey.h"

#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

static struct jwt_key operator_key, account_key, server_key;
static struct mf_buf made;
static struct mf_error error;

void setUp(void)
{
    jwt_key_random(&operator_key, NKEY_OPERATOR);
    jwt_key_random(&account_key, NKEY_ACCOUNT);
    jwt_key_random(&server_key, NKEY_SERVER);
    error = (struct mf_error){0, ""};
}

void tearDown(void)
{
    mf_buf_fini(&made);
}

static struct jwt *read_token(const char *text)
{
    struct jwt *j = NULL;

    if (jwt_decode(&j, mf_str(text), &error) != 0)
        TEST_FAIL_MESSAGE(error.text);
    return j;
}

static const char *sign_token(const char *nats, const struct jwt_key *by, struct jwt_unsigned c)
{
    mf_buf_clear(&made);
    c.nats = mf_str(nats);
    if (c.sub == NULL)
        c.sub = USER_KEY;
    TEST_ASSERT_EQUAL(0, jwt_sign(&made, &c, by));
    return mf_buf_cstr(&made);
}

static struct jwt *read_nats(const char *nats, const struct jwt_key *by)
{
    return read_token(sign_token(nats, by, (struct jwt_unsigned){.iat = 1}));
}

static void refuse_token(const char *text, const char *why)
{
    struct jwt *j = NULL;

    TEST_ASSERT_LESS_THAN(0, jwt_decode(&j, mf_str(text), &error));
    TEST_ASSERT_EQUAL_STRING(why, error.text);
    TEST_ASSERT_NULL(j);
}

static void refuse_nats(const char *nats, const struct jwt_key *by, const char *why)
{
    refuse_token(sign_token(nats, by, (struct jwt_unsigned){.iat = 1}), why);
}

/* header, claims as they are, signed over what version 1 or 2 covers. */
static const char *sign_parts(const char *header, const char *claims, bool v1,
                              const struct jwt_key *by)
{
    uint8_t sig[64];
    size_t dot;
    struct mf_slice parts[] = {mf_str(header), mf_str(claims)};

    mf_buf_clear(&made);
    for (size_t i = 0; i < 2; i++) {
        base64_write(&made, parts[i], BASE64_URL);
        while (made.ptr[made.len - 1] == '=')
            made.len--;
        if (i == 0) {
            mf_buf_byte(&made, '.');
            dot = made.len;
        }
    }
    jwt_key_sign(by, v1 ? mf_slice(made.ptr + dot, made.len - dot) : mf_buf_slice(&made), sig);
    mf_buf_byte(&made, '.');
    base64_write(&made, mf_slice(sig, 64), BASE64_URL);
    while (made.ptr[made.len - 1] == '=')
        made.len--;
    return mf_buf_cstr(&made);
}

static const char head[] = "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}";

static char *claims_of(const char *fmt, const char *iss)
{
    static char text[1024];
    snprintf(text, sizeof text, fmt, iss);
    return text;
}

/* --- reading -----------------------------------------------------------------------------------
 */

static void test_an_operator_of_another_library_is_read(void)
{
    struct jwt *j = read_token(OPERATOR);

    TEST_ASSERT_EQUAL(JWT_OPERATOR, j->kind);
    TEST_ASSERT_EQUAL_STRING(OPERATOR_KEY, j->sub);
    TEST_ASSERT_EQUAL_STRING(OPERATOR_KEY, j->iss);
    TEST_ASSERT_EQUAL_STRING("OP", j->name);
    TEST_ASSERT_EQUAL(1, j->operator_claims->signing_keys.n);
    TEST_ASSERT_EQUAL_STRING(OPERATOR_SIGNING, j->operator_claims->signing_keys.at[0]);
    TEST_ASSERT_EQUAL_STRING(ACCOUNT_KEY, j->operator_claims->system_account);
    TEST_ASSERT_TRUE(j->operator_claims->strict_signing_key_usage);
    TEST_ASSERT_EQUAL_STRING("http://127.0.0.1:9/jwt", j->operator_claims->account_server_url);
    jwt_free(j);
}

static void check_shares(const struct jwt_account *a)
{
    TEST_ASSERT_EQUAL(2, a->nexports);
    TEST_ASSERT_EQUAL(JWT_SHARE_STREAM, a->exports[0]->type);
    TEST_ASSERT_TRUE(a->exports[0]->token_req);
    TEST_ASSERT_EQUAL(JWT_SHARE_SERVICE, a->exports[1]->type);
    TEST_ASSERT_EQUAL_STRING("Stream", a->exports[1]->response_type);
    TEST_ASSERT_EQUAL(1, a->nmappings);
    TEST_ASSERT_EQUAL_STRING("m.*", a->mappings[0].source);
    TEST_ASSERT_EQUAL(2, a->mappings[0].nto);
    TEST_ASSERT_EQUAL(60, a->mappings[0].to[1].weight);
    TEST_ASSERT_EQUAL_STRING("x", a->default_permissions.pub.deny.at[0]);
}

static void test_an_account_of_another_library_is_read(void)
{
    struct jwt *j = read_token(ACCOUNT);
    const struct jwt_account *a = j->account;
    const struct jwt_signing_key *k;

    TEST_ASSERT_EQUAL_STRING(OPERATOR_SIGNING, j->iss);
    TEST_ASSERT_EQUAL(10, a->limits.subs);
    TEST_ASSERT_EQUAL(1024, a->limits.payload);
    TEST_ASSERT_EQUAL(2000, a->limits.js.disk_storage);
    TEST_ASSERT_TRUE(a->limits.wildcards && jwt_js_enabled(&a->limits));
    TEST_ASSERT_EQUAL(2, a->nsigning_keys);
    TEST_ASSERT_NOT_NULL(k = jwt_account_signing_key(a, ACCOUNT_SIGNING));
    TEST_ASSERT_FALSE(k->scoped);
    TEST_ASSERT_NOT_NULL(k = jwt_account_signing_key(a, ACCOUNT_SCOPED));
    TEST_ASSERT_TRUE(k->scoped);
    TEST_ASSERT_EQUAL_STRING("r", k->role);
    TEST_ASSERT_EQUAL(7, k->template_grant.subs);
    TEST_ASSERT_EQUAL(-1, k->template_grant.payload); /* absent in a template: no limit */
    TEST_ASSERT_NULL(jwt_account_signing_key(a, USER_KEY));
    TEST_ASSERT_TRUE(jwt_revoked(&a->revocations, USER_KEY, 5000));
    TEST_ASSERT_FALSE(jwt_revoked(&a->revocations, USER_KEY, 5001));
    TEST_ASSERT_TRUE(jwt_revoked(&a->revocations, "UOTHER", 100));
    TEST_ASSERT_FALSE(jwt_revoked(&a->revocations, "UOTHER", 101));
    check_shares(a);
    jwt_free(j);
}

static void test_users_of_another_library_are_read(void)
{
    struct jwt *j = read_token("  " USER "\r\n");
    const struct jwt_grant *g = &j->user->grant;

    TEST_ASSERT_EQUAL_STRING(USER, j->text);
    TEST_ASSERT_EQUAL(4000000000, j->exp);
    TEST_ASSERT_EQUAL(2, g->perms.pub.allow.n);
    TEST_ASSERT_EQUAL(2, g->perms.resp->max);
    TEST_ASSERT_EQUAL(1000000000, g->perms.resp->ttl_ns);
    TEST_ASSERT_TRUE(g->bearer_token);
    TEST_ASSERT_EQUAL_STRING("10.0.0.0/8", g->src.at[0]);
    TEST_ASSERT_EQUAL_STRING(ACCOUNT_KEY, jwt_user_account(j));
    jwt_free(j);
    j = read_token(USER_SIGNED);
    TEST_ASSERT_EQUAL_STRING(ACCOUNT_SIGNING, j->iss);
    TEST_ASSERT_EQUAL_STRING(ACCOUNT_KEY, jwt_user_account(j));
    jwt_free(j);
    j = read_token(ACTIVATION);
    TEST_ASSERT_EQUAL_STRING(IMPORTER_KEY, j->sub);
    TEST_ASSERT_EQUAL_STRING("a.>", j->activation->subject);
    jwt_free(j);
}

static void test_names_match_in_any_case_and_unknown_ones_are_skipped(void)
{
    struct jwt *j = read_nats("{\"TYPE\":\"user\",\"Version\":2,\"new\":{\"a\":[1]},\"SUBS\":4,"
                              "\"limits\":{\"subs\":9},\"src\":\"1.2.3.4/32, 5.6.7.8/32\"}",
                              &account_key);

    TEST_ASSERT_EQUAL(JWT_USER, j->kind);
    TEST_ASSERT_EQUAL(4, j->user->grant.subs);
    TEST_ASSERT_EQUAL(0, j->user->grant.payload); /* absent: nothing allowed */
    TEST_ASSERT_EQUAL(2, j->user->grant.src.n);
    TEST_ASSERT_EQUAL_STRING("5.6.7.8/32", j->user->grant.src.at[1]);
    jwt_free(j);
}

static void test_flat_limits_are_dropped_beside_tiers(void)
{
    struct jwt *j = read_nats("{\"type\":\"account\",\"version\":2,\"limits\":{\"disk_storage\":5,"
                              "\"tiered_limits\":{\"R3\":{\"streams\":2},\"R1\":{\"streams\":1,"
                              "\"mem_storage\":9}}}}",
                              &operator_key);
    const struct jwt_account_limits *l = &j->account->limits;

    TEST_ASSERT_EQUAL(0, l->js.disk_storage);
    TEST_ASSERT_EQUAL(2, l->ntiers);
    TEST_ASSERT_EQUAL_STRING("R1", l->tiers[0].name);
    TEST_ASSERT_EQUAL(9, l->tiers[0].js.mem_storage);
    TEST_ASSERT_TRUE(jwt_js_enabled(l));
    jwt_free(j);
}

static void test_version_1_covers_the_claims_alone(void)
{
    char *claims = claims_of("{\"type\":\"user\",\"iss\":\"%s\",\"sub\":\"U\",\"issuer_account\":"
                             "\"ACC\",\"tags\":[\"a:b\"],\"nats\":{}}",
                             account_key.text);
    struct jwt *j =
        read_token(sign_parts("{\"typ\":\"jwt\",\"alg\":\"ed25519\"}", claims, true, &account_key));

    TEST_ASSERT_EQUAL(1, j->version);
    TEST_ASSERT_EQUAL(-1, j->user->grant.subs);
    TEST_ASSERT_EQUAL_STRING("ACC", j->user->issuer_account);
    TEST_ASSERT_EQUAL_STRING("a:b", j->tags.at[0]);
    jwt_free(j);
    refuse_token(sign_parts(head, claims, false, &account_key),
                 "claim failed V1 signature verification");
    claims = claims_of("{\"type\":\"user\",\"iss\":\"%s\",\"nats\":{\"max\":3}}", account_key.text);
    refuse_token(sign_parts(head, claims, true, &account_key),
                 "jwtV1 user: deprecated Max/Times in jwtV2");
}

static void test_a_version_2_token_may_have_the_old_algorithm(void)
{
    char *claims =
        claims_of("{\"iss\":\"%s\",\"sub\":\"U\",\"nats\":{\"type\":\"user\",\"version\":"
                  "2}}",
                  account_key.text);
    jwt_free(read_token(
        sign_parts("{\"typ\":\"Jwt\",\"alg\":\"ED25519\"}", claims, false, &account_key)));
}

/* --- refusing ----------------------------------------------------------------------------------
 */

static void test_wrong_forms_have_nats_servers_texts(void)
{
    char *claims =
        claims_of("{\"iss\":\"%s\",\"nats\":{\"type\":\"user\",\"version\":2}}", account_key.text);

    refuse_token("", "expected 3 chunks");
    refuse_token("a.b", "expected 3 chunks");
    refuse_token("a.b.c.d", "expected 3 chunks");
    refuse_token("..", "unexpected end of JSON input");
    refuse_token("a=.b.c", "illegal base64 data at input byte 1");
    refuse_token(sign_parts("{\"typ\":\"JWS\",\"alg\":\"ed25519\"}", claims, false, &account_key),
                 "not supported type \"JWS\"");
    refuse_token(sign_parts("{\"typ\":\"JWT\",\"alg\":\"none\"}", claims, false, &account_key),
                 "unexpected \"none\" algorithm");
    refuse_token(sign_parts("{\"typ\":\"JWT\"}", claims, false, &account_key),
                 "unexpected \"\" algorithm");
    refuse_token(sign_parts(head, "{\"iss\":", false, &account_key),
                 "unexpected end of JSON input");
    refuse_nats("{\"type\":\"user\",\"version\":3}", &account_key,
                "JWT was generated by a newer version ");
    refuse_nats("{\"type\":\"user\"}", &account_key,
                "library supports version 2 or less - received 0");
    refuse_nats("{\"type\":\"cluster\",\"version\":2}", &account_key,
                "ClusterClaims are not supported");
}

static void test_forged_signatures_are_refused(void)
{
    char text[4096];
    static const char nats[] = "{\"type\":\"user\",\"version\":2}";
    const char *by_a = sign_token(nats, &account_key, (struct jwt_unsigned){.iat = 1});

    snprintf(text, sizeof text, "%s", by_a);
    char *sig = strrchr(text, '.') + 1;
    sig[3] = sig[3] == 'A' ? 'B' : 'A';
    refuse_token(text, "claim failed V2 signature verification");
    sig[0] = '\0'; /* none at all */
    refuse_token(text, "claim failed V2 signature verification");
    /* Signed by another key than iss names. */
    refuse_token(sign_parts(head,
                            claims_of("{\"iss\":\"%s\",\"nats\":{\"type\":\"user\",\"version\""
                                      ":2}}",
                                      ACCOUNT_KEY),
                            false, &account_key),
                 "claim failed V2 signature verification");
}

static void test_each_kind_has_its_signers(void)
{
    refuse_nats("{\"type\":\"user\",\"version\":2}", &operator_key,
                "unable to validate expected prefixes - [account]");
    refuse_nats("{\"type\":\"operator\",\"version\":2}", &account_key,
                "unable to validate expected prefixes - [operator]");
    refuse_nats("{\"type\":\"account\",\"version\":2}", &server_key,
                "unable to validate expected prefixes - [account operator]");
    refuse_nats("{\"type\":\"authorization_response\",\"version\":2}", &server_key,
                "unable to validate expected prefixes - [account]");
    refuse_nats("{\"type\":\"authorization_request\",\"version\":2}", &account_key,
                "unable to validate expected prefixes - [server]");
    jwt_free(read_nats("{\"type\":\"anything\",\"version\":2}", &server_key));
}

static void test_another_kind_is_named(void)
{
    struct jwt *j = NULL;

    TEST_ASSERT_EQUAL(MF_INVAL, jwt_decode_as(&j, JWT_ACCOUNT, mf_str(USER), &error));
    TEST_ASSERT_EQUAL_STRING("not account claim", error.text);
    TEST_ASSERT_EQUAL(MF_INVAL, jwt_decode_as(&j, JWT_USER, mf_str(OPERATOR), &error));
    TEST_ASSERT_EQUAL_STRING("not user claim", error.text);
    TEST_ASSERT_NULL(j);
}

static void test_a_token_above_the_limit_is_not_read(void)
{
    struct jwt *j = NULL;
    char *text = malloc(JWT_SIZE_MAX + 2);

    memset(text, 'a', JWT_SIZE_MAX + 1);
    text[JWT_SIZE_MAX + 1] = '\0';
    TEST_ASSERT_EQUAL(MF_LIMIT, jwt_decode(&j, mf_str(text), &error));
    free(text);
}

static void test_deep_claims_are_refused_without_recursion(void)
{
    struct mf_buf b = MF_BUF_INIT;

    mf_buf_puts(&b, "{\"type\":\"account\",\"version\":2,\"x\":");
    for (int i = 0; i < 20000; i++)
        mf_buf_byte(&b, '[');
    struct jwt *j = NULL;
    const char *token = sign_token(mf_buf_cstr(&b), &operator_key, (struct jwt_unsigned){.iat = 1});
    TEST_ASSERT_EQUAL(MF_INVAL, jwt_decode(&j, mf_str(token), &error));
    mf_buf_fini(&b);
}

/* --- deleting accounts, callouts ---------------------------------------------------------------
 */

static void test_the_accounts_of_a_generic_token_are_listed(void)
{
    struct jwt *j = read_nats("{\"accounts\":[\"A1\",\"A2\"]}", &operator_key);

    TEST_ASSERT_EQUAL(JWT_GENERIC, j->kind);
    TEST_ASSERT_EQUAL(2, j->accounts->n);
    TEST_ASSERT_EQUAL_STRING("A2", j->accounts->at[1]);
    jwt_free(j);
    j = read_nats("{\"accounts\":[1]}", &operator_key);
    TEST_ASSERT_NULL(j->accounts);
    jwt_free(j);
}

static void test_a_callout_request_can_be_read_again(void)
{
    struct mf_buf nats = MF_BUF_INIT;
    struct jwt_client_tls tls = {.version = "1.3", .cipher = "C"};
    struct jwt_auth_request q = {
        .server = {.name = "S", .host = "0.0.0.0", .id = server_key.text, .version = "1"},
        .user_nkey = USER_KEY,
        .client = {.host = "127.0.0.1", .id = 7, .kind = "Client", .type = "nats"},
        .connect = {.user = "bob", .pass = "p\"w", .protocol = 1},
        .tls = &tls,
    };

    jwt_auth_request_write(&nats, &q);
    struct jwt *j = read_token(
        sign_token(mf_buf_cstr(&nats), &server_key,
                   (struct jwt_unsigned){.aud = "nats-authorization-request", .exp = 9}));
    TEST_ASSERT_EQUAL_STRING("nats-authorization-request", j->aud);
    TEST_ASSERT_EQUAL_STRING(USER_KEY, j->request->user_nkey);
    TEST_ASSERT_EQUAL(7, j->request->client.id);
    TEST_ASSERT_EQUAL_STRING("p\"w", j->request->connect.pass);
    TEST_ASSERT_EQUAL_STRING("1.3", j->request->tls->version);
    jwt_free(j);
    mf_buf_fini(&nats);
}

/* --- xkeys -------------------------------------------------------------------------------------
 */

static void test_a_message_of_another_library_is_opened(void)
{
    struct jwt_key us;
    struct mf_buf plain = MF_BUF_INIT;
    uint8_t sealed[256];
    size_t n = strlen(SEALED_HEX) / 2;

    for (size_t i = 0; i < n; i++)
        sealed[i] =
            (uint8_t)strtoul((char[]){SEALED_HEX[2 * i], SEALED_HEX[2 * i + 1], 0}, NULL, 16);
    TEST_ASSERT_EQUAL(0, jwt_key_from_seed(&us, mf_str(CURVE_SEED)));
    TEST_ASSERT_EQUAL(0, xkey_open(&plain, mf_slice(sealed, n), &us, mf_str(CURVE_FROM)));
    TEST_ASSERT_EQUAL_STRING("hello, service", mf_buf_cstr(&plain));
    for (size_t i = 0; i < n; i++) { /* any changed byte, any missing end */
        mf_buf_clear(&plain);
        sealed[i] ^= 1;
        TEST_ASSERT_EQUAL(MF_DENIED,
                          xkey_open(&plain, mf_slice(sealed, n), &us, mf_str(CURVE_FROM)));
        sealed[i] ^= 1;
        TEST_ASSERT_EQUAL(MF_DENIED,
                          xkey_open(&plain, mf_slice(sealed, i), &us, mf_str(CURVE_FROM)));
        TEST_ASSERT_EQUAL(0, plain.len);
    }
    mf_buf_fini(&plain);
}

static void test_sealed_messages_are_for_one_key(void)
{
    struct jwt_key a, b, other;
    struct mf_buf sealed = MF_BUF_INIT, plain = MF_BUF_INIT;

    jwt_key_random(&a, NKEY_CURVE);
    jwt_key_random(&b, NKEY_CURVE);
    jwt_key_random(&other, NKEY_CURVE);
    TEST_ASSERT_EQUAL('X', a.text[0]);
    TEST_ASSERT_EQUAL(0, xkey_seal(&sealed, MF_LIT("secret"), &a, mf_str(b.text)));
    TEST_ASSERT_EQUAL(6 + XKEY_OVERHEAD, sealed.len);
    TEST_ASSERT_EQUAL(0, xkey_open(&plain, mf_buf_slice(&sealed), &b, mf_str(a.text)));
    TEST_ASSERT_EQUAL_STRING("secret", mf_buf_cstr(&plain));
    TEST_ASSERT_EQUAL(MF_DENIED, xkey_open(&plain, mf_buf_slice(&sealed), &other, mf_str(a.text)));
    TEST_ASSERT_EQUAL(MF_INVAL, xkey_seal(&sealed, MF_LIT("x"), &a, mf_str(ACCOUNT_KEY)));
    mf_buf_fini(&sealed);
    mf_buf_fini(&plain);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_operator_of_another_library_is_read);
    RUN_TEST(test_an_account_of_another_library_is_read);
    RUN_TEST(test_users_of_another_library_are_read);
    RUN_TEST(test_names_match_in_any_case_and_unknown_ones_are_skipped);
    RUN_TEST(test_flat_limits_are_dropped_beside_tiers);
    RUN_TEST(test_version_1_covers_the_claims_alone);
    RUN_TEST(test_a_version_2_token_may_have_the_old_algorithm);
    RUN_TEST(test_wrong_forms_have_nats_servers_texts);
    RUN_TEST(test_forged_signatures_are_refused);
    RUN_TEST(test_each_kind_has_its_signers);
    RUN_TEST(test_another_kind_is_named);
    RUN_TEST(test_a_token_above_the_limit_is_not_read);
    RUN_TEST(test_deep_claims_are_refused_without_recursion);
    RUN_TEST(test_the_accounts_of_a_generic_token_are_listed);
    RUN_TEST(test_a_callout_request_can_be_read_again);
    RUN_TEST(test_a_message_of_another_library_is_opened);
    RUN_TEST(test_sealed_messages_are_for_one_key);
    return UNITY_END();
}
