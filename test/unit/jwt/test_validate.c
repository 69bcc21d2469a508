/* test_validate.c: issues in nats-server's words; templates of scoped signing keys. */
#include "cases.h"
#include "jwt/jwt_scope.h"

#include <stdio.h>
#include <unity.h>

static struct jwt_key operator_key, account_key, user_key;
static struct mf_error error;

void setUp(void)
{
    jwt_key_random(&operator_key, NKEY_OPERATOR);
    jwt_key_random(&account_key, NKEY_ACCOUNT);
    jwt_key_random(&user_key, NKEY_USER);
}

void tearDown(void)
{
}

static struct jwt *make(const char *nats, const struct jwt_key *by, struct jwt_unsigned c)
{
    struct mf_buf b = MF_BUF_INIT;
    struct jwt *j = NULL;

    c.nats = mf_str(nats);
    TEST_ASSERT_EQUAL(0, jwt_sign(&b, &c, by));
    if (jwt_decode(&j, mf_buf_slice(&b), &error) != 0)
        TEST_FAIL_MESSAGE(error.text);
    mf_buf_fini(&b);
    return j;
}

static void expect_issues(const struct jwt *j, int64_t now_s, const char *want)
{
    struct jwt_issues issues = {.at = NULL};
    char text[4096], full[4096];

    TEST_ASSERT_EQUAL(0, jwt_validate(j, now_s, &issues));
    snprintf(full, sizeof full, "validation errors: [%s]", want);
    TEST_ASSERT_EQUAL_STRING(full, jwt_issues_text(&issues, text, sizeof text));
    jwt_issues_fini(&issues);
}

/* members: of "nats", behind limits without any limit. */
static void expect_account(const char *members, const char *want)
{
    char nats[4096];

    snprintf(nats, sizeof nats,
             "{\"type\":\"account\",\"version\":2,\"limits\":{\"imports\":-1,\"exports\":-1}%s%s}",
             members[0] == '\0' ? "" : ",", members);
    struct jwt *j = make(nats, &operator_key, (struct jwt_unsigned){.sub = ACCOUNT_KEY});
    expect_issues(j, 1000, want);
    jwt_free(j);
}

static void expect_user(const char *members, const char *want)
{
    char nats[2048];

    snprintf(nats, sizeof nats, "{\"type\":\"user\",\"version\":2%s%s}",
             members[0] == '\0' ? "" : ",", members);
    struct jwt *j = make(nats, &account_key, (struct jwt_unsigned){.sub = USER_KEY});
    expect_issues(j, 1000, want);
    jwt_free(j);
}

static void test_the_second_of_expiry_is_still_good(void)
{
    struct jwt *j = make("{\"type\":\"user\",\"version\":2}", &account_key,
                         (struct jwt_unsigned){.sub = USER_KEY, .exp = 100, .nbf = 50});
    struct jwt_issues issues = {.at = NULL};

    expect_issues(j, 100, "");
    expect_issues(j, 101, "claim is expired");
    expect_issues(j, 50, "");
    expect_issues(j, 49, "claim is not yet valid");
    TEST_ASSERT_EQUAL(0, jwt_validate(j, 101, &issues));
    TEST_ASSERT_FALSE(jwt_issues_blocking(&issues));
    TEST_ASSERT_TRUE(jwt_issues_any_but_warnings(&issues));
    jwt_issues_fini(&issues);
    jwt_free(j);
}

static void test_contents_of_accounts(void)
{
    expect_account("", "");
    expect_account("\"exports\":[{\"subject\":\"a.>\",\"type\":\"stream\"},{\"subject\":\"a.b\","
                   "\"type\":\"stream\"}]",
                   "stream export subject \"a.>\" already exports \"a.b\"");
    expect_account("\"imports\":[{\"subject\":\"a\",\"account\":\"X\",\"type\":\"service\"},"
                   "{\"subject\":\"a\",\"account\":\"X\",\"type\":\"service\"}]",
                   "overlapping subject namespace for \"a\" and \"a\" in same account \"X\"");
    expect_account("\"mappings\":{\"m.*\":[{\"subject\":\"x\",\"weight\":60},{\"subject\":\"y\","
                   "\"weight\":50}]}",
                   "Mapping \"m.*\" exceeds 100% among all of it's weighted to mappings");
    expect_account("\"mappings\":{\"m\":[{\"subject\":\"x\",\"weight\":101}]}",
                   "Mapping \"m\" has a weight 101 that exceeds 100 "
                   "Mapping \"m\" exceeds 100% among all of it's weighted to mappings");
    expect_account("\"exports\":[{\"subject\":\"a\",\"type\":\"service\","
                   "\"service_latency\":{\"sampling\":0,\"results\":\"x\"}}]",
                   "");
    /* A warning beside it is not named. */
    expect_account("\"imports\":[{\"subject\":\"a.*\",\"local_subject\":\"b\",\"to\":\"c\","
                   "\"account\":\"X\",\"type\":\"service\"}]",
                   "subject does not contain enough * or reference wildcards $[0-9] "
                   "Local Subject replaces To");
    expect_account("\"signing_keys\":[\"junk\"]", "\"junk\" is not a valid account signing key");
    expect_account("\"authorization\":{\"auth_users\":[\"x\"]}",
                   "AuthUser \"x\" is not a valid user public key");
    expect_account("\"trace\":{\"dest\":\"t.>\",\"sampling\":101}",
                   "the account Trace.Destination subject \"t.>\" is not a valid publish subject "
                   "the account Trace.Sampling value '101' is not valid, should be in the range "
                   "[1..100]");
    expect_account("\"cluster_traffic\":\"x\"", "unknown cluster traffic option: \"x\"");
    expect_account("\"exports\":[null],\"imports\":[null]",
                   "null import is not allowed null export is not allowed");
}

static void test_limits_of_accounts(void)
{
    struct jwt *j =
        make("{\"type\":\"account\",\"version\":2,\"limits\":{\"exports\":1,\"imports\":"
             "-1,\"tiered_limits\":{\"\":{}}},\"exports\":[{\"subject\":\"a.*\",\"type\":"
             "\"stream\"},{\"subject\":\"b\",\"type\":\"service\"}]}",
             &operator_key, (struct jwt_unsigned){.sub = ACCOUNT_KEY});

    expect_issues(
        j, 1,
        "Tiered JetStream Limits can not contain a blank \"\" tier name the account "
        "contains more exports than allowed by the operator the account contains wildcard "
        "exports that are not allowed by the operator");
    jwt_free(j);
}

static void test_activation_tokens_in_imports(void)
{
    struct mf_buf token = MF_BUF_INIT;
    char members[4096];
    struct jwt_unsigned c = {
        .sub = ACCOUNT_KEY,
        .nats = MF_LIT("{\"type\":\"activation\",\"version\":2,\"subject\":\"priv.x\",\"kind\":"
                       "\"service\"}")};

    TEST_ASSERT_EQUAL(0, jwt_sign(&token, &c, &account_key));
    snprintf(
        members, sizeof members,
        "\"imports\":[{\"subject\":\"priv.>\",\"account\":\"%s\",\"type\":\"stream\",\"token\":"
        "\"%s\"}]",
        account_key.text, mf_buf_cstr(&token));
    expect_account(members,
                   "mismatch between token import type service and type of import stream "
                   "activation token import subject \"priv.x\" doesn't match import \"priv.>\"");
    expect_account(
        "\"imports\":[{\"subject\":\"p\",\"account\":\"X\",\"type\":\"stream\",\"token\":"
        "\"x.y.z\"}]",
        "import \"p\" contains an invalid activation token");
    mf_buf_fini(&token);
}

static void test_contents_of_users(void)
{
    expect_user("\"src\":[\"10.0.0.0/8\",\"::1/128\"],\"times\":[{\"start\":\"9:00:00\",\"end\":"
                "\"17:00:00\"}],\"times_location\":\"UTC\",\"sub\":{\"allow\":[\"a q\"]}",
                "");
    expect_user("\"src\":[\"10.0.0.0/33\"]", "invalid cidr \"10.0.0.0/33\" in user src limits");
    expect_user("\"times\":[{\"start\":\"24:00:00\"}]",
                "start in time range is invalid \"24:00:00\" time ranges end must contain an end");
    expect_user("\"pub\":{\"allow\":[\"a q\"]}",
                "Permission Subject \"a q\" is not allowed to contain queue");
    expect_user("\"sub\":{\"deny\":[\"a b c\"]}", "Permission Subject \"a b c\" contains too many "
                                                  "spaces");
    expect_user("\"pub\":{\"allow\":[\".a..b\"]}",
                "subject \".a..b\" cannot start or end with a `.` subject \".a..b\" cannot contain "
                "consecutive `.`");
    expect_user("\"issuer_account\":\"x\"", "account_id is not an account public key");
}

static void test_a_flood_of_issues_is_cut(void)
{
    struct mf_buf b = MF_BUF_INIT;
    struct jwt_issues issues = {.at = NULL};

    mf_buf_puts(&b, "{\"type\":\"user\",\"version\":2,\"pub\":{\"allow\":[\"\"");
    for (int i = 0; i < 5000; i++)
        mf_buf_puts(&b, ",\"\"");
    mf_buf_puts(&b, "]}}");
    struct jwt *j = make(mf_buf_cstr(&b), &account_key, (struct jwt_unsigned){.sub = USER_KEY});
    TEST_ASSERT_EQUAL(0, jwt_validate(j, 1, &issues));
    TEST_ASSERT_EQUAL(JWT_ISSUES_MAX, issues.n);
    TEST_ASSERT_TRUE(jwt_issues_blocking(&issues));
    jwt_issues_fini(&issues);
    jwt_free(j);
    mf_buf_fini(&b);
}

/* --- templates ---------------------------------------------------------------------------------
 */

static char lists[1024];

static void show_list(const char *word, const struct json_strs *l)
{
    for (size_t i = 0; i < l->n; i++)
        snprintf(lists + strlen(lists), sizeof lists - strlen(lists), "%s%s", i == 0 ? word : ",",
                 l->at[i]);
}

/* permissions: of the template.  The subjects of the user it makes, or the error. */
static const char *expand(const char *permissions, const char *name)
{
    char nats[2048];
    struct arena mem = {0};
    struct jwt_grant g;

    snprintf(
        nats, sizeof nats,
        "{\"type\":\"account\",\"version\":2,\"tags\":[\"env:test\"],\"signing_keys\":[{\"kind\""
        ":\"user_scope\",\"key\":\"%s\",\"template\":{%s}}]}",
        account_key.text, permissions);
    struct jwt *a =
        make(nats, &operator_key, (struct jwt_unsigned){.sub = ACCOUNT_KEY, .name = "APP"});
    struct jwt *u = make("{\"type\":\"user\",\"version\":2,\"issuer_account\":\"" ACCOUNT_KEY "\","
                         "\"tags\":[\"dep:x\",\"dep:y\",\"loc:z\"]}",
                         &account_key, (struct jwt_unsigned){.sub = USER_KEY, .name = name});
    const struct jwt_signing_key *k = jwt_account_signing_key(a->account, account_key.text);
    TEST_ASSERT_NOT_NULL(k);
    TEST_ASSERT_EQUAL(0, jwt_scope_check(k, u, &error));
    lists[0] = '\0';
    if (jwt_scope_expand(&g, &k->template_grant, u, a, &mem, &error) != 0) {
        snprintf(lists, sizeof lists, "refused: %s", error.text);
    } else {
        show_list("+", &g.perms.pub.allow);
        show_list("-", &g.perms.pub.deny);
    }
    arena_fini(&mem);
    jwt_free(a);
    jwt_free(u);
    return lists;
}

static void test_every_function_of_a_template(void)
{
    TEST_ASSERT_EQUAL_STRING(
        "+bob." USER_KEY ".APP." ACCOUNT_KEY,
        expand("\"pub\":{\"allow\":[\"{{name()}}.{{ Subject() }}.{{account-name()}}."
               "{{ACCOUNT-subject()}}\"]}",
               "bob"));
    TEST_ASSERT_EQUAL_STRING(
        "+x.z.test.>,y.z.test.>,plain",
        expand("\"pub\":{\"allow\":[\"{{tag(dep)}}.{{tag(Loc)}}.{{account-tag(env)}}.>\",\"plain\""
               "]}",
               "bob"));
    TEST_ASSERT_EQUAL_STRING("+x.x,y.x,x.y,y.y",
                             expand("\"pub\":{\"allow\":[\"{{tag(dep)}}.{{tag(dep)}}\"]}", "b"));
}

static void test_values_that_are_missing_or_invalid(void)
{
    TEST_ASSERT_EQUAL_STRING("+a", expand("\"pub\":{\"allow\":[\"{{tag(no)}}\",\"a\"]}", "b"));
    TEST_ASSERT_EQUAL_STRING("->", expand("\"pub\":{\"allow\":[\"{{tag(no)}}\"]}", "b"));
    TEST_ASSERT_EQUAL_STRING("refused: generated invalid subject",
                             expand("\"pub\":{\"deny\":[\"{{tag(no)}}\"]}", "b"));
    TEST_ASSERT_EQUAL_STRING("->", expand("\"pub\":{\"allow\":[\"u.{{name()}}\"]}", "a b"));
    TEST_ASSERT_EQUAL_STRING("refused: generated invalid subject",
                             expand("\"pub\":{\"deny\":[\"u.{{name()}}\"]}", "a b"));
    TEST_ASSERT_EQUAL_STRING("refused: template operation what() is not defined",
                             expand("\"pub\":{\"allow\":[\"{{what()}}\"]}", "b"));
}

static void test_too_many_combinations_are_refused(void)
{
    char permissions[512];
    size_t n = (size_t)snprintf(permissions, sizeof permissions, "\"pub\":{\"allow\":[\"");

    for (int i = 0; i < 13; i++) /* 2^13 */
        n += (size_t)snprintf(permissions + n, sizeof permissions - n, "%s{{tag(dep)}}",
                              i == 0 ? "" : ".");
    snprintf(permissions + n, sizeof permissions - n, "\"]}");
    TEST_ASSERT_EQUAL_STRING("refused: template generated too many subjects",
                             expand(permissions, "b"));
}

static void test_a_scoped_user_has_nothing_of_its_own(void)
{
    static const char *const own[] = {"\"subs\":-1",
                                      "\"bearer_token\":true",
                                      "\"pub\":{\"allow\":[\"a\"]}",
                                      "\"allowed_connection_types\":[\"STANDARD\"]",
                                      "\"resp\":{\"max\":1}",
                                      "\"src\":[\"::/0\"]"};
    struct jwt_signing_key k = {.key = account_key.text, .scoped = true};
    char nats[512];

    for (size_t i = 0; i < MF_COUNT(own); i++) {
        snprintf(nats, sizeof nats, "{\"type\":\"user\",\"version\":2,%s}", own[i]);
        struct jwt *u = make(nats, &account_key, (struct jwt_unsigned){.sub = USER_KEY});
        TEST_ASSERT_EQUAL(MF_DENIED, jwt_scope_check(&k, u, &error));
        TEST_ASSERT_EQUAL_STRING("scoped users require no permissions or limits set", error.text);
        jwt_free(u);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_second_of_expiry_is_still_good);
    RUN_TEST(test_contents_of_accounts);
    RUN_TEST(test_limits_of_accounts);
    RUN_TEST(test_activation_tokens_in_imports);
    RUN_TEST(test_contents_of_users);
    RUN_TEST(test_a_flood_of_issues_is_cut);
    RUN_TEST(test_every_function_of_a_template);
    RUN_TEST(test_values_that_are_missing_or_invalid);
    RUN_TEST(test_too_many_combinations_are_refused);
    RUN_TEST(test_a_scoped_user_has_nothing_of_its_own);
    return UNITY_END();
}
