/* test_login_renew.c: what new claims of an account mean for users who are connected. */
#include "login_fixture.h"
#include "operator/operator_impl.h"

static void reload_account(const char *limits, const char *more)
{
    reload(limits, more, "");
    for (int i = 0; i < 10; i++)
        loop_turn(loop);
}

static void renewed(struct attempt *a, const char *err, enum reason reason)
{
    struct login_result r;
    struct login_refusal no;

    TEST_ASSERT_EQUAL(MF_DENIED,
                      service.service.renew(service.service.arg, a->r.account, a->r.user, &r, &no));
    if (err == NULL)
        TEST_ASSERT_NULL(no.err);
    else
        TEST_ASSERT_EQUAL_STRING(err, no.err);
    TEST_ASSERT_EQUAL(reason, no.reason);
}

static struct login_result stays(struct attempt *a)
{
    struct login_result r;
    struct login_refusal no;

    TEST_ASSERT_EQUAL(0,
                      service.service.renew(service.service.arg, a->r.account, a->r.user, &r, &no));
    perms_release(r.perms);
    login_user_release(r.user);
    return r;
}

static void test_revocations_end_users_that_were_issued_before(void)
{
    struct attempt a = {.done = false};
    char more[200];

    start("", "", "");
    admitted(&a, user_jwt(&acc, 0, FREE));
    (void)stays(&a);
    snprintf(more, sizeof more, ",\"revocations\":{\"%s\":%ld}", user.text, now - 11);
    reload_account("", more);
    (void)stays(&a); /* issued a second later */
    snprintf(more, sizeof more, ",\"revocations\":{\"%s\":%ld}", user.text, now - 10);
    reload_account("", more);
    renewed(&a, "User Authentication Revoked", REASON_REVOKED);
    snprintf(more, sizeof more, ",\"revocations\":{\"*\":%ld}", now - 10);
    reload_account("", more);
    renewed(&a, "User Authentication Revoked", REASON_REVOKED);
    leave(&a);
}

static void test_bearers_end_when_they_are_not_allowed_any_more(void)
{
    struct attempt a = {.done = false}, b = {.done = false};

    start("", "", "");
    admitted(&a, user_jwt(&acc, 0, FREE ",\"bearer_token\":true"));
    admitted(&b, user_jwt(&acc, 0, FREE));
    reload_account(",\"disallow_bearer\":true", "");
    renewed(&a, "Authorization Violation", REASON_AUTH_FAILURE);
    (void)stays(&b);
    leave(&a);
    leave(&b);
}

static void test_users_end_with_their_signing_key_or_another_template(void)
{
    struct attempt own = {.done = false}, plain = {.done = false}, held = {.done = false};
    struct token_key scoped_before = scoped, signing_before = signing;
    char more[200];

    start("", "", "");
    snprintf(more, sizeof more, FREE ",\"issuer_account\":\"%s\"", acc.text);
    admitted(&own, user_jwt(&acc, 0, FREE));
    admitted(&plain, user_jwt(&signing, 0, more));
    snprintf(more, sizeof more, ",\"issuer_account\":\"%s\"", acc.text);
    admitted(&held, user_jwt(&scoped, 0, more));
    signing = token_key(NKEY_ACCOUNT, 77);
    reload_account("", "");
    (void)stays(&own);
    (void)stays(&held);
    renewed(&plain, NULL, REASON_AUTH_FAILURE);
    signing = signing_before;
    reload_account("", "");
    (void)stays(&plain);
    scoped = token_key(NKEY_ACCOUNT, 78);
    reload_account("", "");
    renewed(&held, NULL, REASON_AUTH_FAILURE);
    scoped = scoped_before;
    reload_account("", "");
    (void)stays(&held);
    role = "other";
    reload_account("", "");
    renewed(&held, NULL, REASON_AUTH_FAILURE);
    (void)stays(&plain);
    leave(&own);
    leave(&plain);
    leave(&held);
}

static void test_defaults_reach_those_who_use_them(void)
{
    struct attempt a = {.done = false}, b = {.done = false};

    start("", "", "");
    admitted(&a, user_jwt(&acc, 0, FREE));
    admitted(&b, user_jwt(&acc, 0, FREE ",\"sub\":{\"deny\":[\"x\"]}"));
    reload_account("", ",\"default_permissions\":{\"pub\":{\"deny\":[\"no\"]}}");
    const struct operator_account *oa = operator_account_find(op, acc.text);
    TEST_ASSERT_EQUAL_PTR(oa->defaults, stays(&a).perms);
    TEST_ASSERT_EQUAL_PTR(b.r.perms, stays(&b).perms);
    leave(&a);
    leave(&b);
}

/* --- the end of an account --------------------------------------------------------------------
 */

static int told;

static void account_is_missing(struct operator_load *q, struct operator_account *a, const char *why)
{
    (void)q, (void)why;
    TEST_ASSERT_NULL(a);
    told++;
}

/* An account that expires, and waits for the one it imports from, is removed meanwhile: nothing of
 * it is left that could run. */
static void test_a_dropped_account_waits_for_nothing(void)
{
    struct operator_load q = {.done = account_is_missing};
    struct operator_entry *en;
    char more[400], *jwt;
    struct mf_error e;

    start("", "", "");
    account_exp = now + 1000;
    snprintf(more, sizeof more,
             ",\"imports\":[{\"name\":\"i\",\"subject\":\"s\",\"account\":\"%s\","
             "\"type\":\"stream\"}]",
             other.text);
    jwt = account_jwt("", more);
    en = operator_entry_new(op, acc.text);
    TEST_ASSERT_EQUAL(0, operator_account_apply(en, mf_str(jwt), &e));
    free(jwt);
    operator_load_needs(en);
    TEST_ASSERT_EQUAL(1, en->needs_open);
    TEST_ASSERT_NOT_NULL(en->timer);
    memcpy(q.account, acc.text, sizeof acc.text);
    operator_load(op, &q);
    told = 0;
    operator_account_drop(en);
    TEST_ASSERT_EQUAL_INT(1, told);
    TEST_ASSERT_NULL(operator_entry_find(op, acc.text));
}

static struct operator_entry *answered;

static void answer_again(struct operator_load *q, struct operator_account *a, const char *why)
{
    (void)q;
    TEST_ASSERT_NULL(a);
    TEST_ASSERT_NOT_NULL(why);
    if (told++ == 0)
        operator_load_answer(answered); /* as accounts do that import from each other */
}

static void test_an_account_lives_while_it_tells_those_who_wait(void)
{
    struct operator_load q[2] = {{.done = answer_again}, {.done = answer_again}};

    start("", "", "");
    told = 0;
    for (int i = 0; i < 2; i++) {
        memcpy(q[i].account, other.text, sizeof other.text);
        operator_load(op, &q[i]);
    }
    answered = operator_entry_find(op, other.text);
    TEST_ASSERT_NOT_NULL(answered);
    for (int64_t limit = clock_mono_ns() + 10 * CLOCK_S; told < 2; loop_turn(loop))
        TEST_ASSERT_TRUE(clock_mono_ns() < limit);
    TEST_ASSERT_NULL(operator_entry_find(op, other.text));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_revocations_end_users_that_were_issued_before);
    RUN_TEST(test_bearers_end_when_they_are_not_allowed_any_more);
    RUN_TEST(test_users_end_with_their_signing_key_or_another_template);
    RUN_TEST(test_defaults_reach_those_who_use_them);
    RUN_TEST(test_a_dropped_account_waits_for_nothing);
    RUN_TEST(test_an_account_lives_while_it_tells_those_who_wait);
    return UNITY_END();
}
