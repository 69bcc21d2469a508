/* test_answer.c: responses of an auth callout's service: each rule, in clear and sealed. */
#include "callout/answer.h"

#include "jwt/jwt_callout.h"
#include "jwt/xkey.h"

#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

#define NOW 1800000000

static struct jwt_key issuer, stranger, server, server_curve, service_curve, asked;
static struct answer_rules rules;
static struct jwt *user;
static struct mf_error e;

static bool signs(const void *arg, const char *signer)
{
    return strcmp(arg, signer) == 0;
}

void setUp(void)
{
    rules = (struct answer_rules){.account = "AUTH",
                                  .server_id = server.text,
                                  .user_nkey = asked.text,
                                  .signs = signs,
                                  .arg = issuer.text,
                                  .now_s = NOW};
    user = NULL;
    e = (struct mf_error){0};
}
void tearDown(void)
{
    jwt_free(user);
}

/* --- making ----------------------------------------------------------------------------------- */

struct made {
    struct mf_buf text;
};

static struct mf_slice sign(struct made *m, const struct jwt_key *by, const char *sub,
                            const char *aud, int64_t exp, const char *nats)
{
    struct jwt_unsigned c = {
        .aud = aud, .sub = sub, .iat = NOW - 10, .exp = exp, .nats = mf_str(nats)};

    m->text = MF_BUF_INIT;
    TEST_ASSERT_EQUAL(0, jwt_sign(&m->text, &c, by));
    return mf_buf_slice(&m->text);
}

static struct mf_slice make_user(struct made *m, const char *sub, int64_t exp)
{
    return sign(m, &issuer, sub, "APP", exp, "{\"type\":\"user\",\"version\":2,\"subs\":-1}");
}

static struct mf_slice make_response(struct made *m, const struct jwt_key *by, const char *jwt,
                                     const char *error)
{
    struct jwt_auth_response r = {.jwt = jwt, .error = error};
    struct mf_buf nats = MF_BUF_INIT;

    jwt_auth_response_write(&nats, &r);
    struct mf_slice out = sign(m, by, asked.text, server.text, 0, mf_buf_cstr(&nats));
    mf_buf_fini(&nats);
    return out;
}

/* A response that is fine, by this signer. */
static struct mf_slice make_good(struct made *m, const struct jwt_key *by)
{
    struct made u;
    struct mf_slice out;

    (void)make_user(&u, asked.text, 0);
    out = make_response(m, by, mf_buf_cstr(&u.text), NULL);
    mf_buf_fini(&u.text);
    return out;
}

static void expect_refused(struct mf_slice body, const char *why)
{
    TEST_ASSERT_EQUAL(MF_DENIED, answer_read(&user, &rules, body, &e));
    TEST_ASSERT_EQUAL_STRING(why, e.text);
    TEST_ASSERT_NULL(user);
}

/* --- in clear --------------------------------------------------------------------------------- */

static void test_a_good_response_names_its_user(void)
{
    struct made m;

    TEST_ASSERT_EQUAL_MESSAGE(0, answer_read(&user, &rules, make_good(&m, &issuer), &e), e.text);
    TEST_ASSERT_EQUAL_STRING(asked.text, user->sub);
    TEST_ASSERT_EQUAL_STRING("APP", user->aud);
    mf_buf_fini(&m.text);
}

/* The signer is looked at before the contents: a stranger cannot make the server say its words. */
static void test_a_stranger_is_refused_whatever_it_says(void)
{
    struct made m;

    expect_refused(make_good(&m, &stranger), "Auth callout signing key is unknown");
    mf_buf_fini(&m.text);
    expect_refused(make_response(&m, &stranger, NULL, "hello"),
                   "Auth callout signing key is unknown");
    mf_buf_fini(&m.text);
}

static void test_an_error_is_shown_with_its_text(void)
{
    struct made m;

    expect_refused(make_response(&m, &issuer, NULL, "go away"),
                   "Auth callout service returned an error: go away");
    mf_buf_fini(&m.text);
}

static void test_an_empty_response_has_no_reason(void)
{
    expect_refused(mf_str(""),
                   "Auth callout violation: \"no reason supplied\" on account \"AUTH\"");
}

/* A response that was meant for another login, or for another server, must not be replayed. */
static void test_a_response_is_for_one_user_and_one_server(void)
{
    struct made u, m;
    char nats[4000];

    (void)make_user(&u, asked.text, 0);
    (void)snprintf(nats, sizeof nats,
                   "{\"type\":\"authorization_response\",\"version\":2,\"jwt\":\"%s\"}",
                   mf_buf_cstr(&u.text));
    struct jwt_key other;
    jwt_key_random(&other, NKEY_USER);
    expect_refused(sign(&m, &issuer, other.text, server.text, 0, nats),
                   "Auth callout violation: auth callout response is not for expected user");
    mf_buf_fini(&m.text);
    jwt_key_random(&other, NKEY_SERVER);
    expect_refused(sign(&m, &issuer, asked.text, other.text, 0, nats),
                   "Auth callout violation: auth callout response is not for server");
    mf_buf_fini(&m.text);
    expect_refused(sign(&m, &issuer, asked.text, server.text, NOW - 1, nats),
                   "Authorization response had validation errors: claim is expired");
    mf_buf_fini(&m.text);
    mf_buf_fini(&u.text);
}

static void test_a_user_is_the_one_that_was_asked_about_and_valid(void)
{
    struct made u, m;
    struct jwt_key other;
    char why[300];

    jwt_key_random(&other, NKEY_USER);
    (void)make_user(&u, other.text, 0);
    (void)snprintf(why, sizeof why,
                   "Expected authorized user of \"%s\" but got \"%s\" on account \"AUTH\"",
                   asked.text, other.text);
    expect_refused(make_response(&m, &issuer, mf_buf_cstr(&u.text), NULL), why);
    mf_buf_fini(&u.text);
    mf_buf_fini(&m.text);
    (void)make_user(&u, asked.text, NOW - 1);
    expect_refused(make_response(&m, &issuer, mf_buf_cstr(&u.text), NULL),
                   "Error validating user JWT: claim is expired");
    mf_buf_fini(&u.text);
    mf_buf_fini(&m.text);
}

static void test_what_is_no_token_or_another_kind_is_refused(void)
{
    struct made m;

    expect_refused(mf_str("x"), "Expected 3 chunks");
    expect_refused(make_user(&m, asked.text, 0), "Not an authorization response claim");
    mf_buf_fini(&m.text);
    expect_refused(make_response(&m, &issuer, "a.b", NULL), "Expected 3 chunks");
    mf_buf_fini(&m.text);
}

static void test_a_changed_byte_is_refused(void)
{
    struct made m;
    struct mf_slice body = make_good(&m, &issuer);

    for (size_t i = 0; i < body.len; i += 7) {
        char was = (char)m.text.ptr[i];
        m.text.ptr[i] = (uint8_t)(was == 'A' ? 'B' : 'A');
        if (answer_read(&user, &rules, body, &e) == 0) {
            /* Bits behind the end of a part, which base64 drops. */
            jwt_free(user);
            user = NULL;
            TEST_ASSERT_TRUE(i + 1 == body.len || m.text.ptr[i + 1] == '.');
        }
        m.text.ptr[i] = (uint8_t)was;
    }
    mf_buf_fini(&m.text);
}

/* --- sealed ----------------------------------------------------------------------------------- */

static void seal(struct mf_buf *out, struct mf_slice plain, const struct jwt_key *by)
{
    *out = MF_BUF_INIT;
    TEST_ASSERT_EQUAL(0, xkey_seal(out, plain, by, mf_str(server_curve.text)));
}

static void use_curves(void)
{
    rules.curve = &server_curve;
    rules.xkey = service_curve.text;
}

/* The seal proves who sent it, so that the signer may be any account. */
static void test_a_sealed_response_may_have_any_signer(void)
{
    struct made m;
    struct mf_buf sealed;

    use_curves();
    seal(&sealed, make_good(&m, &stranger), &service_curve);
    TEST_ASSERT_EQUAL_MESSAGE(0, answer_read(&user, &rules, mf_buf_slice(&sealed), &e), e.text);
    mf_buf_fini(&m.text);
    mf_buf_fini(&sealed);
}

static void test_a_response_in_clear_to_a_sealed_request_needs_the_signer(void)
{
    struct made m;

    use_curves();
    expect_refused(make_good(&m, &stranger), "Auth callout signing key is unknown");
    mf_buf_fini(&m.text);
    TEST_ASSERT_EQUAL(0, answer_read(&user, &rules, make_good(&m, &issuer), &e));
    mf_buf_fini(&m.text);
}

#define CANNOT "Error decrypting auth callout response on account \"AUTH\": nkeys: "
static void test_a_seal_of_others_is_refused(void)
{
    struct made m;
    struct mf_buf sealed;

    use_curves();
    struct jwt_key other;
    jwt_key_random(&other, NKEY_CURVE);
    seal(&sealed, make_good(&m, &issuer), &other);
    expect_refused(mf_buf_slice(&sealed), CANNOT "could not decrypt input");
    mf_buf_fini(&sealed);
    seal(&sealed, mf_buf_slice(&m.text), &service_curve);
    for (size_t n = 1; n < sealed.len; n += 13) {
        TEST_ASSERT_EQUAL(MF_DENIED,
                          answer_read(&user, &rules, mf_slice(sealed.ptr, sealed.len - n), &e));
        TEST_ASSERT_NULL(user);
    }
    expect_refused(mf_str("short"), CANNOT "encrypted input is not valid");
    expect_refused(mf_str("this is no seal, but as long as one is"),
                   CANNOT "encrypted input wrong version");
    mf_buf_fini(&m.text);
    mf_buf_fini(&sealed);
}

/* A server that did not seal its request opens nothing. */
static void test_a_sealed_response_to_a_request_in_clear_is_no_token(void)
{
    struct made m;
    struct mf_buf sealed;

    seal(&sealed, make_good(&m, &issuer), &service_curve);
    TEST_ASSERT_EQUAL(MF_DENIED, answer_read(&user, &rules, mf_buf_slice(&sealed), &e));
    TEST_ASSERT_NULL(user);
    mf_buf_fini(&m.text);
    mf_buf_fini(&sealed);
}

int main(void)
{
    jwt_key_random(&issuer, NKEY_ACCOUNT);
    jwt_key_random(&stranger, NKEY_ACCOUNT);
    jwt_key_random(&server, NKEY_SERVER);
    jwt_key_random(&server_curve, NKEY_CURVE);
    jwt_key_random(&service_curve, NKEY_CURVE);
    jwt_key_random(&asked, NKEY_USER);
    UNITY_BEGIN();
    RUN_TEST(test_a_good_response_names_its_user);
    RUN_TEST(test_a_stranger_is_refused_whatever_it_says);
    RUN_TEST(test_an_error_is_shown_with_its_text);
    RUN_TEST(test_an_empty_response_has_no_reason);
    RUN_TEST(test_a_response_is_for_one_user_and_one_server);
    RUN_TEST(test_a_user_is_the_one_that_was_asked_about_and_valid);
    RUN_TEST(test_what_is_no_token_or_another_kind_is_refused);
    RUN_TEST(test_a_changed_byte_is_refused);
    RUN_TEST(test_a_sealed_response_may_have_any_signer);
    RUN_TEST(test_a_response_in_clear_to_a_sealed_request_needs_the_signer);
    RUN_TEST(test_a_seal_of_others_is_refused);
    RUN_TEST(test_a_sealed_response_to_a_request_in_clear_is_no_token);
    return UNITY_END();
}
