/* test_claims.c: the requests on the system account about account JWTs, with every refusal. */
#include "base/clock.h"
#include "operator/claims.h"
#include "support/tokens.h"

#include <stdio.h>
#include <unistd.h>
#include <unity.h>

static char dir[64];
static struct loop *loop;
static struct accounts *accounts;
static struct options *o;
static struct trust *trust;
static struct resolver *resolver;
static struct claims *claims;
static struct token_key op, sign, sys, stranger;
static struct router_sub inbox;
static char answer[20000];
static size_t nanswers;
static char applied[200], removed[200], is_loaded[NKEY_TEXT];

static bool got_answer(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    nanswers++;
    snprintf(answer, sizeof answer, "%.*s", MF_FMT(m->msg->payload));
    return true;
}

static int64_t now_ns(void *arg)
{
    (void)arg;
    return clock_mono_ns();
}
static void write_server(void *arg, struct jsonw *w)
{
    (void)arg;
    jsonw_str(w, "name", "S");
}
static bool loaded(void *arg, const char *account)
{
    (void)arg;
    return strcmp(account, is_loaded) == 0;
}
static int apply(void *arg, const char *account, struct mf_slice jwt, struct mf_error *e)
{
    (void)jwt;
    if (!loaded(arg, account))
        return mf_fail(e, MF_NOTFOUND, "not loaded");
    snprintf(applied, sizeof applied, "%s", account);
    return 0;
}
static void gone(void *arg, const char *account)
{
    (void)arg;
    snprintf(removed, sizeof removed, "%s", account);
}

static void start(const char *kind)
{
    char more[300], text[8000], *t, *s;
    struct mf_error e = {0};
    snprintf(more, sizeof more, ",\"system_account\":\"%s\",\"signing_keys\":[\"%s\"]", sys.text,
             sign.text);
    t = token_make(&op, &op, "operator", 1700000000, 0, more);
    s = token_make(&op, &sys, "account", 1700000000, 0, "");
    snprintf(text, sizeof text, "operator: %s\nresolver_preload { %s: %s }\nresolver { ", t,
             sys.text, s);
    snprintf(text + strlen(text), sizeof text - strlen(text), kind, dir);
    free(t);
    free(s);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "t", &e), e.text);
    TEST_ASSERT_EQUAL(0, accounts_new(&accounts, o, now_ns, NULL, &e));
    TEST_ASSERT_EQUAL(0, trust_new(&trust, o, 1700000001, &e));
    struct resolver_setup rs = {loop, o, NULL};
    TEST_ASSERT_EQUAL_MESSAGE(0, resolver_open(&resolver, &rs, &e), e.text);
    struct claims_setup setup = {.loop = loop,
                                 .accounts = accounts,
                                 .options = o,
                                 .trust = trust,
                                 .resolver = resolver,
                                 .write_server = write_server,
                                 .loaded = loaded,
                                 .apply = apply,
                                 .removed = gone};
    TEST_ASSERT_EQUAL(0, claims_open(&claims, &setup, &e));
    inbox = (struct router_sub){.deliver = got_answer};
    TEST_ASSERT_EQUAL(0, router_subscribe(account_router(accounts_system(accounts)),
                                          mf_str("answers"), MF_SLICE_NONE, &inbox));
}

static void done(void *arg)
{
    *(bool *)arg = true;
}

static void turn(void)
{
    loop_turn(loop);
    usleep(200);
}

void setUp(void)
{
    struct mf_error e;

    snprintf(dir, sizeof dir, "/tmp/mayfly-claims-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    op = token_key(NKEY_OPERATOR, 1);
    sign = token_key(NKEY_OPERATOR, 2);
    stranger = token_key(NKEY_OPERATOR, 3);
    sys = token_key(NKEY_ACCOUNT, 1000);
    applied[0] = removed[0] = is_loaded[0] = '\0';
}

void tearDown(void)
{
    char command[200];
    bool closed = false;

    if (!claims_close(claims, done, &closed))
        while (!closed)
            turn();
    closed = false;
    if (!resolver_close(resolver, done, &closed))
        while (!closed)
            turn();
    router_unsubscribe(account_router(accounts_system(accounts)), &inbox);
    trust_free(trust);
    accounts_free(accounts);
    options_free(o);
    loop_free(loop);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    TEST_ASSERT_EQUAL(0, system(command)); /* NOLINT */
}

/* How many services got it. */
static size_t send(const char *subject, const char *body, size_t len)
{
    struct mf_msg m = {
        .subject = mf_str(subject), .reply = mf_str("answers"), .payload = mf_slice(body, len)};
    struct router_msg rm = {.route = m.subject, .msg = &m};

    nanswers = 0;
    answer[0] = '\0';
    return account_publish(accounts_system(accounts), &rm);
}

static const char *ask(const char *subject, const char *body)
{
    TEST_ASSERT_EQUAL_MESSAGE(1, send(subject, body, strlen(body)), subject);
    for (int64_t end = clock_mono_ns() + 5 * CLOCK_S; nanswers == 0; turn())
        TEST_ASSERT_TRUE(clock_mono_ns() < end);
    return answer;
}

static void expect(const char *subject, const char *body, const char *words)
{
    const char *got = ask(subject, body);

    if (strstr(got, words) == NULL)
        TEST_FAIL_MESSAGE(got);
}

static struct token_key account(uint32_t n)
{
    return token_key(NKEY_ACCOUNT, n);
}

static char *token(const struct token_key *by, uint32_t n, const char *more)
{
    struct token_key a = account(n);

    return token_make(by, &a, "account", 1700000000, 0, more);
}

static const char *subject_of(const char *fmt, uint32_t n)
{
    static char s[200];
    struct token_key a = account(n);

    snprintf(s, sizeof s, fmt, a.text); /* NOLINT */
    return s;
}

#define FULL "type: full, dir: \"%s\", allow_delete: true }"

static void test_an_update_is_stored_applied_and_confirmed(void)
{
    char *t = token(&op, 1, ""), want[200];
    struct token_key a = account(1);

    start(FULL);
    snprintf(want, sizeof want,
             "{\"server\":{\"name\":\"S\"},\"data\":{\"account\":\"%s\",\"code\":200,\"message\":"
             "\"jwt updated\"}}",
             a.text);
    TEST_ASSERT_EQUAL_STRING(want, ask("$SYS.REQ.CLAIMS.UPDATE", t));
    TEST_ASSERT_EQUAL_STRING("", applied);
    snprintf(is_loaded, sizeof is_loaded, "%s", a.text);
    TEST_ASSERT_EQUAL_STRING(want, ask(subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.UPDATE", 1), t));
    TEST_ASSERT_EQUAL_STRING(a.text, applied);
    TEST_ASSERT_EQUAL_STRING(want, ask(subject_of("$SYS.ACCOUNT.%s.CLAIMS.UPDATE", 1), t));
    TEST_ASSERT_EQUAL_STRING(t, ask(subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.LOOKUP", 1), ""));
    TEST_ASSERT_EQUAL_STRING("", ask(subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.LOOKUP", 2), ""));
    TEST_ASSERT_NOT_NULL(strstr(ask("$SYS.REQ.CLAIMS.LIST", ""), a.text));
    TEST_ASSERT_NOT_NULL(strstr(answer, sys.text));
    free(t);
}

static void test_requests_that_are_too_many_or_too_large_are_told(void)
{
    char *t = token(&op, 1, ""), *large = malloc(JWT_SIZE_MAX + 2);

    start(FULL);
    for (int i = 0; i < CLAIMS_MOST; i++) {
        (void)send("$SYS.REQ.CLAIMS.UPDATE", t, strlen(t));
        TEST_ASSERT_EQUAL(0, nanswers);
    }
    (void)send("$SYS.REQ.CLAIMS.UPDATE", t, strlen(t));
    TEST_ASSERT_NOT_NULL(strstr(answer, "claims request failed - too many requests wait"));
    while (nanswers < CLAIMS_MOST)
        turn();
    memset(large, 'e', JWT_SIZE_MAX + 1);
    large[JWT_SIZE_MAX + 1] = '\0';
    expect("$SYS.REQ.CLAIMS.UPDATE", large, "too large for a JWT");
    free(large);
    free(t);
}

static void test_an_update_that_nobody_trusts_is_refused_and_not_stored(void)
{
    char *foreign = token(&stranger, 1, ""), *good = token(&sign, 2, ""),
         *bad = token(&op, 3, ",\"signing_keys\":[\"junk\"]"), *cut;
    struct token_key one = account(1);
    char *own = token_make(&one, &one, "account", 1700000000, 0, "");

    start(FULL);
    expect("$SYS.REQ.CLAIMS.UPDATE", foreign,
           "\"description\":\"jwt update resulted in error - account validation failed");
    expect("$SYS.REQ.CLAIMS.UPDATE", own, "account validation failed");
    expect("$SYS.REQ.CLAIMS.UPDATE", "x",
           "{\"account\":\"n/a\",\"code\":500,\"description\":\"jwt update resulted in error - "
           "expected 3 chunks\"}");
    expect("$SYS.REQ.CLAIMS.UPDATE", "", "expected 3 chunks");
    expect(subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.UPDATE", 1), good,
           "jwt update resulted in error - subject does not match jwt content");
    expect("$SYS.REQ.CLAIMS.UPDATE", bad, "jwt validation failed - validation errors: [");
    cut = mf_slice_dup(mf_slice(good, strlen(good) - 10));
    expect("$SYS.REQ.CLAIMS.UPDATE", cut, "jwt update resulted in error");
    TEST_ASSERT_EQUAL_STRING("", ask(subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.LOOKUP", 1), ""));
    expect("$SYS.REQ.CLAIMS.UPDATE", good, "jwt updated"); /* a signing key, as in a roll-over */
    free(foreign);
    free(good);
    free(bad);
    free(cut);
    free(own);
}

static char *delete_token(const struct token_key *by, const struct token_key *of, const char *list)
{
    return token_make(by, of, "generic", 1700000000, 0, list);
}

static void test_a_delete_needs_an_operator_and_reaches_loaded_accounts(void)
{
    struct token_key a = account(1), b = account(2);
    char *t = token(&op, 1, ""), list[300], want[100], system_list[200];
    start(FULL);
    expect("$SYS.REQ.CLAIMS.UPDATE", t, "jwt updated");
    snprintf(list, sizeof list, ",\"accounts\":[\"%s\",\"%s\"]", a.text, b.text);
    snprintf(system_list, sizeof system_list, ",\"accounts\":[\"%s\"]", sys.text);
    const struct {
        const struct token_key *by, *of;
        const char *list, *words;
    } cases[] = {{&op, &sign, list, "not self signed"},
                 {&stranger, &stranger, list, "not trusted"},
                 {&op, &op, "", "malformed request"},
                 {&op, &op, ",\"accounts\":[\"x\"]", "malformed request"},
                 {&op, &op, system_list, "not allowed to delete system account"}};
    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        char *d = delete_token(cases[i].by, cases[i].of, cases[i].list);
        snprintf(want, sizeof want, "failed - %s", cases[i].words);
        expect("$SYS.REQ.CLAIMS.DELETE", d, want);
        free(d);
    }
    expect("$SYS.REQ.CLAIMS.DELETE", "x", "failed - expected 3 chunks");
    TEST_ASSERT_EQUAL_STRING("", removed);
    char *d = delete_token(&op, &op, list);
    expect("$SYS.REQ.CLAIMS.DELETE", d, "\"message\":\"deleted 2 accounts\"");
    TEST_ASSERT_EQUAL_STRING(b.text, removed);
    TEST_ASSERT_EQUAL_STRING("", ask(subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.LOOKUP", 1), ""));
    free(d);
    free(t);
}

static void test_a_delete_must_be_allowed(void)
{
    struct token_key a = account(1);
    char list[200];
    start("type: full, dir: \"%s\" }");
    snprintf(list, sizeof list, ",\"accounts\":[\"%s\"]", a.text);
    char *d = delete_token(&op, &op, list);
    expect("$SYS.REQ.CLAIMS.DELETE", d, "failed - delete must be enabled in server config");
    free(d);
}

static void test_a_pack_has_every_token_and_ends_empty(void)
{
    char *t = token(&op, 1, "");
    uint8_t hash[32] = {1};
    start(FULL);
    expect("$SYS.REQ.CLAIMS.UPDATE", t, "jwt updated");
    TEST_ASSERT_EQUAL(1, send("$SYS.REQ.CLAIMS.PACK", (char *)hash, 32));
    for (int64_t end = clock_mono_ns() + 5 * CLOCK_S; nanswers < 3; turn())
        TEST_ASSERT_TRUE(clock_mono_ns() < end);
    TEST_ASSERT_EQUAL_STRING("", answer);
    TEST_ASSERT_TRUE(resolver_hash(resolver, hash));
    TEST_ASSERT_EQUAL(1, send("$SYS.REQ.CLAIMS.PACK", (char *)hash, 32));
    TEST_ASSERT_EQUAL(1, nanswers); /* the same: only the end */
    TEST_ASSERT_EQUAL_STRING("", answer);
    free(t);
}

static void test_a_cache_keeps_what_is_loaded_alone(void)
{
    char *t = token(&op, 1, "");
    struct token_key a = account(1);
    start("type: cache, dir: \"%s\" }");
    expect("$SYS.REQ.CLAIMS.UPDATE", t, "jwt update cache skipped");
    snprintf(is_loaded, sizeof is_loaded, "%s", a.text);
    expect("$SYS.REQ.CLAIMS.UPDATE", t, "jwt updated cache");
    TEST_ASSERT_NOT_NULL(strstr(ask("$SYS.REQ.CLAIMS.LIST", ""), a.text));
    expect("$SYS.REQ.CLAIMS.UPDATE", "x", "jwt update cache resulted in error - expected 3 chunks");
    TEST_ASSERT_EQUAL(0, send(subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.LOOKUP", 1), "", 0));
    TEST_ASSERT_EQUAL(0, send("$SYS.REQ.CLAIMS.PACK", "", 0));
    free(t);
}

static void test_mem_changes_loaded_accounts_alone(void)
{
    char *t = token(&op, 1, ""), *foreign = token(&stranger, 1, "");
    struct token_key a = account(1);
    start("type: mem }");
    TEST_ASSERT_EQUAL(0, send("$SYS.REQ.CLAIMS.UPDATE", t, strlen(t)));
    TEST_ASSERT_EQUAL(0, send("$SYS.REQ.CLAIMS.LIST", "", 0));
    const char *subject = subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.UPDATE", 1);
    expect(subject, t, "jwt update skipped");
    snprintf(is_loaded, sizeof is_loaded, "%s", a.text);
    expect(subject, t, "jwt updated");
    expect(subject, "", "jwt update error - request body is empty");
    expect(subject, foreign, "jwt update resulted in error - account validation failed");
    free(t);
    free(foreign);
}

struct asked {
    struct resolver_lookup q;
    bool done;
    int rc;
};
static void looked(struct resolver_lookup *q, int rc, struct mf_slice jwt, const char *why)
{
    (void)jwt, (void)why;
    mf_container(q, struct asked, q)->done = true;
    mf_container(q, struct asked, q)->rc = rc;
}

/* A question of this server is not its own to answer. */
static void test_nobody_else_is_asked_when_there_is_nobody(void)
{
    struct asked a = {.q.done = looked};
    struct token_key one = account(1);
    int64_t from;
    start(FULL);
    from = clock_mono_ns();
    memcpy(a.q.account, one.text, sizeof a.q.account);
    resolver_lookup(resolver, &a.q);
    while (!a.done)
        turn();
    TEST_ASSERT_EQUAL(MF_NOTFOUND, a.rc);
    TEST_ASSERT_TRUE(clock_mono_ns() - from < CLOCK_S);
}

static bool other_answers(struct router_sub *s, const struct router_msg *m)
{
    struct mf_msg back = {.subject = m->msg->reply, .payload = mf_str(answer)};
    struct router_msg rm = {.route = back.subject, .msg = &back};

    (void)s;
    (void)account_publish(accounts_system(accounts), &rm);
    return true;
}

/* Another server's answer is checked like an update, used and kept. */
static void test_another_server_is_asked_and_not_trusted_more_than_a_client(void)
{
    struct token_key one = account(1);
    char *foreign = token(&stranger, 1, ""), *good = token(&op, 1, "");
    struct router_sub other = {.deliver = other_answers};
    start("type: full, dir: \"%s\", timeout: \"100ms\" }");
    TEST_ASSERT_EQUAL(0, router_subscribe(account_router(accounts_system(accounts)),
                                          mf_str("$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP"), MF_SLICE_NONE,
                                          &other));
    for (int i = 0; i < 2; i++) {
        struct asked a = {.q.done = looked};
        snprintf(answer, sizeof answer, "%s", i == 0 ? foreign : good);
        memcpy(a.q.account, one.text, sizeof a.q.account);
        resolver_lookup(resolver, &a.q);
        while (!a.done)
            turn();
        TEST_ASSERT_EQUAL(i == 0 ? MF_TIMEOUT : 0, a.rc);
    }
    router_unsubscribe(account_router(accounts_system(accounts)), &other);
    const char *subject = subject_of("$SYS.REQ.ACCOUNT.%s.CLAIMS.LOOKUP", 1);
    for (int64_t end = clock_mono_ns() + 5 * CLOCK_S; strcmp(ask(subject, ""), good) != 0;)
        TEST_ASSERT_TRUE(clock_mono_ns() < end); /* it is being stored */
    free(foreign);
    free(good);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_update_is_stored_applied_and_confirmed);
    RUN_TEST(test_requests_that_are_too_many_or_too_large_are_told);
    RUN_TEST(test_an_update_that_nobody_trusts_is_refused_and_not_stored);
    RUN_TEST(test_a_delete_needs_an_operator_and_reaches_loaded_accounts);
    RUN_TEST(test_a_delete_must_be_allowed);
    RUN_TEST(test_a_pack_has_every_token_and_ends_empty);
    RUN_TEST(test_a_cache_keeps_what_is_loaded_alone);
    RUN_TEST(test_mem_changes_loaded_accounts_alone);
    RUN_TEST(test_nobody_else_is_asked_when_there_is_nobody);
    RUN_TEST(test_another_server_is_asked_and_not_trusted_more_than_a_client);
    return UNITY_END();
}
