/* test_login.c: user JWTs against the claims of their account: every check, and their order. */
#include "login_fixture.h"

static void test_a_user_of_the_account_key_gets_its_rights(void)
{
    struct attempt a = {.done = false};

    start("", "", "");
    admitted(&a, user_jwt(&acc, now + 100,
                          ",\"subs\":5,\"payload\":7,\"data\":-1,\"tags\":[\"x\",\"y\"],"
                          "\"pub\":{\"allow\":[\"p\"]}"));
    TEST_ASSERT_EQUAL_STRING(acc.text, account_name(a.r.account));
    TEST_ASSERT_EQUAL_INT64(5, a.r.max_subs);
    TEST_ASSERT_EQUAL_INT64(7, a.r.max_payload);
    TEST_ASSERT_EQUAL_INT64((now + 100) * CLOCK_S, a.r.deadline_ns);
    TEST_ASSERT_TRUE(perms_can_publish(a.r.perms, mf_str("p")));
    TEST_ASSERT_FALSE(perms_can_publish(a.r.perms, mf_str("q")));
    TEST_ASSERT_EQUAL_STRING(user.text, a.r.user->key);
    TEST_ASSERT_EQUAL_STRING(user.text, a.r.user->shown);
    TEST_ASSERT_EQUAL_STRING("N", a.r.user->name);
    TEST_ASSERT_EQUAL_STRING("N", a.r.user->account_name);
    TEST_ASSERT_EQUAL_STRING(acc.text, a.r.user->issuer);
    TEST_ASSERT_EQUAL_size_t(2, a.r.user->ntags);
    TEST_ASSERT_NOT_NULL(a.r.user->jwt);
    leave(&a);
}

static void test_a_bearer_needs_no_signature_and_its_token_is_not_kept(void)
{
    struct attempt a = {.done = false};
    char *jwt;

    start("", "", "");
    jwt = user_jwt(&acc, 0, FREE ",\"bearer_token\":true");
    log_in(&a, jwt, NULL);
    free(jwt);
    TEST_ASSERT_TRUE_MESSAGE(a.in, a.why);
    TEST_ASSERT_NULL(a.r.user->jwt);
    leave(&a);
}

static void test_a_scoped_user_gets_the_template(void)
{
    struct attempt a = {.done = false};
    char more[200];

    start("", "", "");
    snprintf(more, sizeof more, ",\"issuer_account\":\"%s\"", acc.text);
    admitted(&a, user_jwt(&scoped, 0, more));
    TEST_ASSERT_TRUE(perms_can_publish(a.r.perms, mf_str("own.N")));
    TEST_ASSERT_FALSE(perms_can_publish(a.r.perms, mf_str("own.M")));
    TEST_ASSERT_EQUAL_INT64(-1, a.r.max_subs);
    leave(&a);
    snprintf(more, sizeof more, ",\"issuer_account\":\"%s\",\"payload\":-1", acc.text);
    refused(user_jwt(&scoped, 0, more), sign_nonce(&user, NONCE_TEXT), "User JWT is not valid: ");
}

static void test_each_refusal_has_its_words(void)
{
    char more[300];

    start("", ",\"disallow_bearer\":true", "");
    refused(NULL, NULL, "Authentication requires a user JWT");
    refused(mf_slice_dup(mf_str("a.b")), NULL,
            "Authentication requires a user JWT: expected 3 chunks");
    refused(account_jwt("", ""), NULL, "not user claim");
    refused(user_jwt(&acc, now - 5, FREE), NULL, "User JWT no longer valid: [claim is expired]");
    refused(user_jwt(&other, 0, FREE), NULL, "Account JWT lookup error: account missing");
    snprintf(more, sizeof more, FREE ",\"issuer_account\":\"%s\"", acc.text);
    refused(user_jwt(&other, 0, more), NULL, "User JWT issuer is not known");
    refused(user_jwt(&acc, 0, FREE ",\"bearer_token\":true"), NULL,
            "Account does not allow bearer tokens");
    refused(user_jwt(&acc, 0, FREE ",\"allowed_connection_types\":[\"WEBSOCKET\"]"), NULL,
            "Connection type not allowed");
    refused(user_jwt(&acc, 0, FREE ",\"proxy_required\":true"), NULL, "trusted proxy");
    refused(user_jwt(&acc, 0, FREE), NULL, "Signature missing");
    refused(user_jwt(&acc, 0, FREE), mf_slice_dup(mf_str("%%%")), "Signature not valid base64");
    refused(user_jwt(&acc, 0, FREE), sign_nonce(&user, "onmlkjihgfedcba"),
            "Signature not verified");
    refused(user_jwt(&acc, 0, FREE), sign_nonce(&acc, NONCE_TEXT), "Signature not verified");
    refused(user_jwt(&acc, 0, FREE ",\"src\":[\"10.0.0.0/8\"]"), sign_nonce(&user, NONCE_TEXT),
            "Bad src Ip 127.0.0.1");
    refused(user_jwt(&acc, 0, FREE ",\"times\":[{\"start\":\"00:00:00\",\"end\":\"00:00:00\"}]"),
            sign_nonce(&user, NONCE_TEXT), "Outside connect times");
}

static char *jwt_of_sub(const char *sub)
{
    char claims[600];

    snprintf(claims, sizeof claims,
             "{\"iss\":\"%s\",\"sub\":\"%s\",\"iat\":%ld,\"nats\":{\"type\":\"user\",\"version\":2,"
             "\"bearer_token\":true" FREE "}}",
             acc.text, sub, now - 10);
    return token_sign(&acc, claims);
}

/* A bearer signs nothing, so that its key is looked at before. */
static void test_a_user_has_the_key_of_a_user_or_an_account(void)
{
    struct token_key server = token_key(NKEY_SERVER, 1);
    struct attempt a = {.done = false};
    char longer[NKEY_TEXT + 10];

    start("", "", "");
    snprintf(longer, sizeof longer, "%sAA", user.text);
    refused(jwt_of_sub(""), NULL, "User nkey not valid");
    refused(jwt_of_sub("X"), NULL, "User nkey not valid");
    refused(jwt_of_sub(longer), NULL, "User nkey not valid");
    refused(jwt_of_sub(server.text), NULL, "User nkey not valid");
    admitted(&a, jwt_of_sub(other.text));
    leave(&a);
}

/* Whoever reads the JWT of a bearer is that user; that it is one may stand in the template. */
static void test_a_refusal_shows_no_bearers_jwt(void)
{
    char more[200];

    start("", "", "");
    TEST_ASSERT_TRUE(refused(user_jwt(&acc, 0, FREE), NULL, "Signature missing"));
    TEST_ASSERT_FALSE(refused(user_jwt(&acc, now - 5, FREE), NULL, "no longer valid"));
    TEST_ASSERT_FALSE(refused(user_jwt(&other, 0, FREE), NULL, "account missing"));
    TEST_ASSERT_FALSE(
        refused(user_jwt(&acc, 0, FREE ",\"bearer_token\":true,\"src\":[\"10.0.0.0/8\"]"), NULL,
                "Bad src Ip"));
    tearDown();
    setUp();
    extra = ",\"bearer_token\":true,\"src\":[\"10.0.0.0/8\"]";
    start("", "", "");
    snprintf(more, sizeof more, ",\"issuer_account\":\"%s\"", acc.text);
    TEST_ASSERT_FALSE(refused(user_jwt(&scoped, 0, more), NULL, "Bad src Ip"));
    TEST_ASSERT_FALSE(refused(user_jwt(&scoped, now - 5, more), NULL, "no longer valid"));
}

/* The first check that fails is the one in the log: nats-server's order. */
static void test_checks_have_an_order(void)
{
    char more[300];

    start("", ",\"disallow_bearer\":true", ",\"revocations\":{\"*\":9999999999}");
    snprintf(more, sizeof more, FREE ",\"proxy_required\":true");
    refused(user_jwt(&acc, now - 5, more), NULL, "trusted proxy");
    refused(user_jwt(&other, now - 5, FREE), NULL, "no longer valid");
    snprintf(more, sizeof more,
             FREE ",\"issuer_account\":\"%s\",\"bearer_token\":true,"
                  "\"allowed_connection_types\":[\"MQTT\"]",
             acc.text);
    refused(user_jwt(&other, 0, more), NULL, "issuer is not known");
    refused(user_jwt(&signing, 0, more), NULL, "does not allow bearer");
    refused(user_jwt(&acc, 0, FREE ",\"allowed_connection_types\":[\"MQTT\"]"), NULL,
            "Connection type");
    refused(user_jwt(&acc, 0, FREE ",\"src\":[\"10.0.0.0/8\"]"), NULL, "Signature missing");
    refused(user_jwt(&acc, 0, FREE ",\"src\":[\"10.0.0.0/8\"]"), sign_nonce(&user, NONCE_TEXT),
            "User authentication revoked");
}

static void test_users_of_accounts_that_are_not_pinned_are_counted(void)
{
    char config[200];
    struct attempt a = {.done = false};

    snprintf(config, sizeof config, "resolver_pinned_accounts: [%s]", other.text);
    start(config, "", "");
    refused(user_jwt(&acc, 0, FREE), sign_nonce(&user, NONCE_TEXT),
            "not listed as operator pinned account");
    TEST_ASSERT_EQUAL_UINT64(1, operator_pinned_fails(op));
    admitted(&a, user_jwt(&sys, 0, FREE)); /* the system account always is */
    leave(&a);
}

static void test_a_sentinel_stands_in_for_a_jwt_that_cannot_be_read(void)
{
    char config[2000];
    char *sentinel = token_make(&acc, &user, "user", now - 10, 0, FREE ",\"bearer_token\":true");
    struct attempt a = {.done = false}, b = {.done = false};

    snprintf(config, sizeof config, "default_sentinel: \"%s\"", sentinel);
    free(sentinel);
    start(config, "", "");
    log_in(&a, NULL, NULL);
    TEST_ASSERT_TRUE_MESSAGE(a.in, a.why);
    leave(&a);
    log_in(&b, "eyJx.y.z", NULL);
    TEST_ASSERT_TRUE_MESSAGE(b.in, b.why);
    leave(&b);
    refused(user_jwt(&acc, now - 5, FREE), NULL, "no longer valid"); /* one that can be read */
}

static void test_a_login_that_is_cancelled_says_nothing(void)
{
    struct attempt a = {.done = false}, b = {.done = false}, c = {.done = false};
    char *jwt;

    start("", "", "");
    jwt = user_jwt(&acc, 0, FREE);
    begin(&a, jwt, sign_nonce(&user, NONCE_TEXT));
    service.service.cancel(service.service.arg, &a.q); /* on this thread */
    begin(&b, jwt, sign_nonce(&user, NONCE_TEXT));
    begin(&c, jwt, sign_nonce(&user, NONCE_TEXT));
    service.service.cancel(service.service.arg, &c.q); /* a worker has it */
    free(jwt);
    for (int64_t limit = clock_mono_ns() + 10 * CLOCK_S; !b.done; loop_turn(loop))
        TEST_ASSERT_TRUE(clock_mono_ns() < limit);
    TEST_ASSERT_FALSE(a.done);
    TEST_ASSERT_FALSE(c.done);
    TEST_ASSERT_TRUE(b.in);
    service.service.cancel(service.service.arg, &a.q); /* harmless */
    leave(&b);
    end(&a);
    end(&b);
    end(&c);
}

/* The look-up reads a directory in a worker, which may be faster than this thread: then once more.
 */
static bool cancel_during_lookup(const char *jwt)
{
    struct attempt a = {.done = false};

    begin(&a, jwt, sign_nonce(&user, NONCE_TEXT));
    loop_turn(loop);
    bool early = !a.done;
    service.service.cancel(service.service.arg, &a.q);
    for (int i = 0; i < 50; i++) {
        loop_turn(loop);
        usleep(200);
    }
    TEST_ASSERT_EQUAL(early, !a.done);
    end(&a);
    return early;
}

static void test_a_login_that_is_cancelled_while_its_account_is_looked_up_says_nothing(void)
{
    char *jwt, command[200];
    int tries = 0;

    snprintf(dir, sizeof dir, "/tmp/mayfly-login-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    start("", "", "");
    jwt = user_jwt(&other, 0, FREE);
    while (!cancel_during_lookup(jwt))
        TEST_ASSERT_TRUE(++tries < 1000);
    free(jwt);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    TEST_ASSERT_EQUAL(0, system(command)); /* NOLINT */
}

static void test_users_of_an_expired_account_are_refused(void)
{
    account_exp = now - 5;
    start("", "", "");
    refused(user_jwt(&acc, 0, FREE), sign_nonce(&user, NONCE_TEXT), "Account JWT has expired");
}

static void test_many_logins_at_a_time_are_all_answered(void)
{
    static struct attempt all[40];
    char *good, *bad;

    start("", "", "");
    good = user_jwt(&acc, 0, FREE);
    bad = user_jwt(&other, 0, FREE);
    memset(all, 0, sizeof all);
    for (size_t i = 0; i < MF_COUNT(all); i++)
        begin(&all[i], i % 3 == 0 ? bad : good, sign_nonce(&user, NONCE_TEXT));
    free(good);
    free(bad);
    for (size_t i = 0; i < MF_COUNT(all); i++) {
        for (int64_t limit = clock_mono_ns() + 10 * CLOCK_S; !all[i].done; loop_turn(loop))
            TEST_ASSERT_TRUE(clock_mono_ns() < limit);
        TEST_ASSERT_EQUAL(i % 3 != 0, all[i].in);
        leave(&all[i]);
        end(&all[i]);
    }
}

/* What the callout asks: no nonce, any kind of connection. */
static struct operator_admission *last_done;
static bool last_in;
static void admission_done(struct operator_admission *q, const struct login_result *r,
                           const struct login_refusal *no)
{
    (void)no;
    last_done = q;
    last_in = r != NULL;
    if (r != NULL) {
        perms_release(r->perms);
        login_user_release(r->user);
    }
}

static void admit(struct operator_admission *q, const struct login *login, unsigned skip,
                  const char *more)
{
    char *text = user_jwt(&acc, 0, more);
    struct mf_error e;

    *q = (struct operator_admission){.login = login, .skip = skip, .done = admission_done};
    TEST_ASSERT_EQUAL(0, jwt_decode_as(&q->user, JWT_USER, mf_str(text), &e));
    free(text);
    last_done = NULL;
    operator_admit(op, q);
    TEST_ASSERT_NULL(last_done);
}

static void test_checks_may_be_skipped_and_the_one_that_failed_is_told(void)
{
    struct connect_opts c = {0};
    struct login login = {.connect = &c, .nonce = NONCE_TEXT, .ip = "127.0.0.1"};
    struct operator_admission q;
    const char *more = FREE ",\"allowed_connection_types\":[\"WEBSOCKET\"]";

    start("", "", "");
    admit(&q, &login, 0, more);
    while (last_done == NULL)
        loop_turn(loop);
    TEST_ASSERT_FALSE(last_in);
    TEST_ASSERT_EQUAL(OPERATOR_CONNECTION, q.failed);
    admit(&q, &login, OPERATOR_SKIP(OPERATOR_CONNECTION), more);
    while (last_done == NULL)
        loop_turn(loop);
    TEST_ASSERT_EQUAL(OPERATOR_SIGNATURE, q.failed);
    admit(&q, &login, OPERATOR_SKIP(OPERATOR_CONNECTION) | OPERATOR_SKIP(OPERATOR_SIGNATURE), more);
    while (last_done == NULL)
        loop_turn(loop);
    TEST_ASSERT_TRUE(last_in);
    TEST_ASSERT_EQUAL(OPERATOR_ADMITTED, q.failed);
    admit(&q, &login, 0, more);
    operator_admit_cancel(&q);
    for (int i = 0; i < 5; i++)
        loop_turn(loop);
    TEST_ASSERT_NULL(last_done);
}

/* The look-up of the account may take longer than a reload. */
static void test_a_reload_that_pins_other_accounts_reaches_logins_under_way(void)
{
    struct connect_opts c = {0};
    struct login login = {.connect = &c, .nonce = NONCE_TEXT, .ip = "127.0.0.1"};
    struct operator_admission q;
    char config[200];

    start("", "", "");
    admit(&q, &login, OPERATOR_SKIP(OPERATOR_SIGNATURE), FREE);
    snprintf(config, sizeof config, "resolver_pinned_accounts: [%s]", other.text);
    reload("", "", config);
    while (last_done == NULL)
        loop_turn(loop);
    TEST_ASSERT_FALSE(last_in);
    TEST_ASSERT_EQUAL(OPERATOR_PINNED, q.failed);
    admit(&q, &login, OPERATOR_SKIP(OPERATOR_SIGNATURE) | OPERATOR_SKIP(OPERATOR_PINNED), FREE);
    while (last_done == NULL)
        loop_turn(loop);
    TEST_ASSERT_TRUE(last_in);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_user_of_the_account_key_gets_its_rights);
    RUN_TEST(test_a_bearer_needs_no_signature_and_its_token_is_not_kept);
    RUN_TEST(test_a_scoped_user_gets_the_template);
    RUN_TEST(test_each_refusal_has_its_words);
    RUN_TEST(test_a_user_has_the_key_of_a_user_or_an_account);
    RUN_TEST(test_a_refusal_shows_no_bearers_jwt);
    RUN_TEST(test_checks_have_an_order);
    RUN_TEST(test_users_of_accounts_that_are_not_pinned_are_counted);
    RUN_TEST(test_a_sentinel_stands_in_for_a_jwt_that_cannot_be_read);
    RUN_TEST(test_a_login_that_is_cancelled_says_nothing);
    RUN_TEST(test_a_login_that_is_cancelled_while_its_account_is_looked_up_says_nothing);
    RUN_TEST(test_users_of_an_expired_account_are_refused);
    RUN_TEST(test_many_logins_at_a_time_are_all_answered);
    RUN_TEST(test_checks_may_be_skipped_and_the_one_that_failed_is_told);
    RUN_TEST(test_a_reload_that_pins_other_accounts_reaches_logins_under_way);
    return UNITY_END();
}
