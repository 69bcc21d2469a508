/* test_options_operator.c: operator mode in the configuration: operators, trusted keys, resolvers,
 * preloads, pinned accounts, the sentinel; what is refused, in nats-server's words. */
#include "config/options_operator.h"
#include "support/tokens.h"

#include <stdio.h>
#include <unity.h>

static struct token_key op, op2, sign, sys, acc;
static struct options *o;

void setUp(void)
{
    op = token_key(NKEY_OPERATOR, 1);
    op2 = token_key(NKEY_OPERATOR, 2);
    sign = token_key(NKEY_OPERATOR, 3);
    sys = token_key(NKEY_ACCOUNT, 1);
    acc = token_key(NKEY_ACCOUNT, 2);
    o = NULL;
}
void tearDown(void)
{
    options_free(o);
}

static char *operator_token(const char *more)
{
    return token_make(&op, &op, "operator", 1700000000, 0, more);
}

/* In conf: %1 is the operator's token. */
static int parse(const char *token, const char *conf, struct mf_error *e)
{
    struct mf_buf text = {0};
    int rc;

    for (; *conf != '\0'; conf++) {
        if (conf[0] == '%' && conf[1] == '1') {
            mf_buf_puts(&text, token);
            conf++;
        } else {
            mf_buf_byte(&text, (uint8_t)*conf);
        }
    }
    rc = options_parse(&o, mf_buf_slice(&text), "t.conf", e);
    mf_buf_fini(&text);
    return rc;
}

static void load(const char *token, const char *conf)
{
    struct mf_error e = {0};

    TEST_ASSERT_EQUAL_MESSAGE(0, parse(token, conf, &e), e.text);
}

static void refuse(const char *token, const char *conf, const char *words)
{
    struct mf_error e = {0};

    TEST_ASSERT_NOT_EQUAL(0, parse(token, conf, &e));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, words), e.text);
}

static bool trusts(const char *key)
{
    for (size_t i = 0; i < o->operators->trusted.n; i++)
        if (strcmp(o->operators->trusted.items[i], key) == 0)
            return true;
    return false;
}

static void test_an_operator_gives_its_keys_and_system_account(void)
{
    char more[400];
    snprintf(more, sizeof more, ",\"signing_keys\":[\"%s\"],\"system_account\":\"%s\"", sign.text,
             sys.text);
    char *t = operator_token(more), conf[4096],
         *s = token_make(&sign, &sys, "account", 1700000000, 0, "");
    snprintf(conf, sizeof conf, "operator: %%1\nresolver: MEM\nresolver_preload { %s: %s }",
             sys.text, s);
    load(t, conf);
    TEST_ASSERT_TRUE(o->operator_set && trusts(op.text) && trusts(sign.text));
    TEST_ASSERT_EQUAL_STRING(sys.text, o->system_account);
    TEST_ASSERT_EQUAL(OPTIONS_RESOLVER_MEM, o->operators->resolver.kind);
    TEST_ASSERT_EQUAL(1, o->operators->preload.n);
    TEST_ASSERT_EQUAL_STRING(s, o->operators->preload.items[0].value);
    free(s);
    free(t);
}

static void test_a_strict_operator_signs_with_its_signing_keys_alone(void)
{
    char more[300];
    snprintf(more, sizeof more, ",\"signing_keys\":[\"%s\"],\"strict_signing_key_usage\":true",
             sign.text);
    char *t = operator_token(more);
    load(t, "operator: %1\nresolver: MEMORY");
    TEST_ASSERT_TRUE(!trusts(op.text) && trusts(sign.text));
    free(t);
}

/* nats-server starts with it: anybody could have written this operator's name. */
static void test_an_operator_signed_by_another_key_is_refused(void)
{
    char *t = token_make(&op2, &op, "operator", 1700000000, 0, "");
    refuse(t, "operator: %1\nresolver: MEM", "is not signed by itself");
    free(t);
}

static void test_an_operator_comes_from_a_file_bare_or_between_dashes(void)
{
    static const char *const forms[] = {
        "%s", "%s\n", "-----BEGIN JWT-----\n%s\n------END JWT------\n", "---\r\n%s\r\n---\r\n"};
    char *t = operator_token(""), path[] = "/tmp/mayfly-operator-XXXXXX", conf[200];
    int fd = mkstemp(path);
    TEST_ASSERT_GREATER_OR_EQUAL(0, fd);
    snprintf(conf, sizeof conf, "operator: \"%s\"\nresolver: MEM", path);
    for (size_t i = 0; i < MF_COUNT(forms); i++) {
        FILE *f = fopen(path, "w");
        fprintf(f, forms[i], t); /* NOLINT */
        fclose(f);
        load(t, conf);
        TEST_ASSERT_TRUE(trusts(op.text));
        options_free(o);
        o = NULL;
    }
    remove(path);
    refuse(t, conf, "error parsing operator JWT: open ");
    fclose(fdopen(fd, "r"));
    free(t);
}

static void test_resolvers_have_nats_servers_defaults(void)
{
    char more[200];
    snprintf(more, sizeof more, ",\"system_account\":\"%s\"", sys.text);
    char *t = operator_token(more);
    const struct options_resolver *r;
    load(t, "operator: %1\nresolver { type: full, dir: \"x\" }");
    r = &o->operators->resolver;
    TEST_ASSERT_TRUE(r->kind == OPTIONS_RESOLVER_FULL && r->limit == 0 && !r->allow_delete);
    TEST_ASSERT_TRUE(r->interval_ns == 60000000000 && r->timeout_ns == 1900000000);
    options_free(o);
    load(t, "operator: %1\nresolver { type: cache, dir: \"x\", ttl: \"1h\", timeout: \"1s\" }");
    r = &o->operators->resolver;
    TEST_ASSERT_TRUE(r->kind == OPTIONS_RESOLVER_CACHE && r->limit == 1000);
    TEST_ASSERT_TRUE(r->ttl_ns == 3600000000000 && r->timeout_ns == 1000000000);
    options_free(o);
    load(t, "operator: %1\nresolver: 'URL(http://h:9090/jwt/v1/accounts)'");
    TEST_ASSERT_EQUAL_STRING("http://h:9090/jwt/v1/accounts/", o->operators->resolver.url);
    free(t);
}

static void test_an_operator_names_its_account_server(void)
{
    char *t = operator_token(",\"account_server_url\":\"http://h:9090/jwt/v1/\"");
    load(t, "operator: %1");
    TEST_ASSERT_EQUAL(OPTIONS_RESOLVER_URL, o->operators->resolver.kind);
    TEST_ASSERT_EQUAL_STRING("http://h:9090/jwt/v1/accounts/", o->operators->resolver.url);
    free(t);
}

static void test_a_preload_under_another_key_is_left_out(void)
{
    char *t = operator_token(""), *a = token_make(&op, &acc, "account", 1700000000, 0, "");
    char conf[2000];
    snprintf(conf, sizeof conf, "operator: %%1\nresolver: MEM\nresolver_preload { %s: %s }",
             sys.text, a);
    load(t, conf);
    TEST_ASSERT_EQUAL(0, o->operators->preload.n);
    free(a);
    free(t);
}

static void test_what_does_not_fit_is_refused_in_nats_servers_words(void)
{
    char with_sys[200];
    snprintf(with_sys, sizeof with_sys, ",\"system_account\":\"%s\"", sys.text);
    char *t = operator_token(""), *ts = operator_token(with_sys), conf[1000];
    static const struct {
        const char *conf, *words;
    } plain[] = {
        {"operator: %1", "operators require an account resolver to be configured"},
        {"operator: %1\nresolver { type: full, dir: x }",
         "using nats based account resolver - the system account needs to be specified in "
         "configuration or the operator jwt"},
        {"operator: %1\nresolver: MEM\naccounts { A {} }",
         "operators do not allow Accounts to be configured directly"},
        {"operator: %1\nresolver: MEM\nauthorization { users: [{user: a}] }",
         "operators do not allow users to be configured directly"},
        {"operator: %1\nresolver: MEM\nno_auth_user: a",
         "no_auth_user not compatible with Trusted Operator"},
        {"operator: %1\nresolver: MEM\ndefault_sentinel: x", "default sentinel JWT not valid"},
        {"operator: %1\nresolver: MEM\nresolver_pinned_accounts: FOO",
         "pinned account key \"FOO\" is not a valid public account nkey"},
        {"operator: %1\nresolver: NONE",
         "error parsing account resolver, should be MEM or  URL(\"url\") or a map containing dir "
         "and type state=[FULL|CACHE])"},
    };
    for (size_t i = 0; i < MF_COUNT(plain); i++)
        refuse(t, plain[i].conf, plain[i].words);
    refuse(ts, "operator: %1\nresolver: MEM", "error resolving system account: account missing");
    snprintf(conf, sizeof conf,
             "operator: %%1\nresolver { type: full, dir: x }\nsystem_account: %s", acc.text);
    refuse(ts, conf, "system_account in config and operator JWT must be identical");
    snprintf(conf, sizeof conf, "operator: %%1\nresolver: MEM\ntrusted_keys: %s", op2.text);
    refuse(t, conf, "conflicting options for 'TrustedKeys' and 'TrustedOperators'");
    snprintf(conf, sizeof conf, "trusted_keys: %s\nresolver { type: full, dir: x }", op2.text);
    refuse(t, conf, "Could not start resolver: no operator key found");
    free(t);
    free(ts);
}

static void test_an_operator_asks_for_a_version(void)
{
    static const struct {
        const char *version, *words;
    } cases[] = {
        {"9.0.0", "expected major version 9 > server major version 2"},
        {"2.99.0", "expected minor version 99 > server minor version 15"},
        {"2.15.9", "expected update version 9 > server update version 1"},
        {"2.x", "asserted server version must be of the form <major>.<minor>.<update>"},
        {"2.15.1", NULL},
        {"2.9.99", NULL},
        {"1.99.99", NULL},
    };
    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        char more[100];
        snprintf(more, sizeof more, ",\"assert_server_version\":\"%s\"", cases[i].version);
        char *t = operator_token(more);
        if (cases[i].words != NULL)
            refuse(t, "operator: %1\nresolver: MEM", cases[i].words);
        else
            load(t, "operator: %1\nresolver: MEM");
        options_free(o);
        o = NULL;
        free(t);
    }
}

static void test_a_sentinel_is_a_bearer_token(void)
{
    struct token_key user = token_key(NKEY_USER, 1);
    char *t = operator_token(""), conf[2000];
    static const struct {
        const char *more;
        bool good;
    } cases[] = {{",\"bearer_token\":true,\"subs\":-1", true},
                 {",\"subs\":-1,\"payload\":-1,\"data\":-1", false},
                 {"", true}}; /* as a user of a scoped key looks */
    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        char *s = token_make(&acc, &user, "user", 1700000000, 0, cases[i].more);
        snprintf(conf, sizeof conf, "operator: %%1\nresolver: MEM\ndefault_sentinel: %s", s);
        if (cases[i].good) {
            load(t, conf);
            TEST_ASSERT_EQUAL_STRING(s, o->operators->default_sentinel);
        } else {
            refuse(t, conf, "default sentinel must be a bearer token");
        }
        options_free(o);
        o = NULL;
        free(s);
    }
    free(t);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_operator_gives_its_keys_and_system_account);
    RUN_TEST(test_a_strict_operator_signs_with_its_signing_keys_alone);
    RUN_TEST(test_an_operator_signed_by_another_key_is_refused);
    RUN_TEST(test_an_operator_comes_from_a_file_bare_or_between_dashes);
    RUN_TEST(test_resolvers_have_nats_servers_defaults);
    RUN_TEST(test_an_operator_names_its_account_server);
    RUN_TEST(test_a_preload_under_another_key_is_left_out);
    RUN_TEST(test_what_does_not_fit_is_refused_in_nats_servers_words);
    RUN_TEST(test_an_operator_asks_for_a_version);
    RUN_TEST(test_a_sentinel_is_a_bearer_token);
    return UNITY_END();
}
