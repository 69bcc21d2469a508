/* test_callout.c: logins that an auth callout decides: requests, responses, and every early end.
 * The service is a subscription here. */
#include "base/clock.h"
#include "callout/callout.h"
#include "config/options_callout.h"

#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

static struct loop *loop;
static struct accounts *accounts;
static struct options *o;
static struct callout callout;
static struct jwt_key issuer, server, curve;
static struct router_sub service;
static char reply[100], request[4000]; /* the last one */
static size_t requests;

struct visitor { /* a login */
    struct login q;
    struct connect_opts connect;
    int done; /* times */
    bool accepted;
    char why[300], shown[100], account[50], event[50];
};

static int64_t now_ns(void *arg)
{
    (void)arg;
    return clock_mono_ns();
}
static void identify(void *arg, struct jwt_server_id *id)
{
    (void)arg;
    id->name = "S";
    id->host = "h";
    id->version = "1";
}
static bool take_request(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    requests++;
    (void)snprintf(reply, sizeof reply, "%.*s", MF_FMT(m->msg->reply));
    (void)snprintf(request, sizeof request, "%.*s", MF_FMT(m->msg->payload));
    return true;
}

static void start(const char *more, const char *timeout)
{
    struct mf_error e = {0};
    char text[1000];

    (void)snprintf(text, sizeof text,
                   "accounts { AUTH { users: [{user: auth, password: p}] }, APP {}, OTHER { users: "
                   "[{user: o, password: p}] } }\n"
                   "authorization { timeout: \"%s\", auth_callout { issuer: %s, account: AUTH, "
                   "auth_users: [auth], %s } }\n",
                   timeout, issuer.text, more);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "t", &e), e.text);
    TEST_ASSERT_EQUAL(0, accounts_new(&accounts, o, now_ns, NULL, &e));
    callout_open(&callout, &(struct callout_setup){.loop = loop,
                                                   .accounts = accounts,
                                                   .options = o,
                                                   .key = &server,
                                                   .curve = &curve,
                                                   .identify = identify});
    service = (struct router_sub){.deliver = take_request};
    TEST_ASSERT_EQUAL(0, router_subscribe(account_router(accounts_get(accounts, "AUTH")),
                                          mf_str("$SYS.REQ.USER.AUTH"), MF_SLICE_NONE, &service));
    requests = 0;
}

void setUp(void)
{
    TEST_ASSERT_EQUAL(0, loop_new(&loop, NULL));
}
void tearDown(void)
{
    callout_close(&callout);
    router_unsubscribe(account_router(accounts_get(accounts, "AUTH")), &service);
    accounts_free(accounts);
    options_free(o);
    loop_free(loop);
}

/* --- visitors --------------------------------------------------------------------------------- */

static void done(struct login *q, const struct login_result *r, const struct login_refusal *no)
{
    struct visitor *v = mf_container(q, struct visitor, q);

    v->done++;
    v->accepted = r != NULL;
    if (r == NULL) {
        (void)snprintf(v->why, sizeof v->why, "%s", no->why);
        (void)snprintf(v->event, sizeof v->event, "%s",
                       no->account != NULL ? account_name(no->account) : "");
        return;
    }
    (void)snprintf(v->shown, sizeof v->shown, "%s", r->user->shown);
    (void)snprintf(v->account, sizeof v->account, "%s", account_name(r->account));
    perms_release(r->perms);
    login_user_release(r->user);
}

static void visit(struct visitor *v, const char *name)
{
    *v = (struct visitor){.connect = {.user = (char *)name, .pass = (char *)"p"}};
    v->q = (struct login){
        .connect = &v->connect, .nonce = "", .ip = "127.0.0.1", .cid = 7, .done = done};
    TEST_ASSERT_TRUE(callout.service.decides(callout.service.arg, &v->q));
    TEST_ASSERT_EQUAL(0, callout.service.start(callout.service.arg, &v->q));
    TEST_ASSERT_EQUAL(0, v->done); /* never from inside */
}

static void turn_until(const int *flag)
{
    int64_t end = clock_mono_ns() + 20 * CLOCK_S;

    while (*flag == 0 && clock_mono_ns() < end)
        loop_turn(loop);
    TEST_ASSERT_NOT_EQUAL(0, *flag);
}

static void respond(const char *subject, struct mf_slice body)
{
    struct mf_msg m = {.subject = mf_str(subject), .payload = body};
    struct router_msg rm = {.route = m.subject, .msg = &m};

    (void)account_publish(accounts_get(accounts, "AUTH"), &rm);
}

/* The user key that the last request names. */
static void asked_user(char key[NKEY_TEXT])
{
    struct jwt *j;

    TEST_ASSERT_EQUAL(0, jwt_decode_as(&j, JWT_AUTH_REQUEST, mf_str(request), NULL));
    TEST_ASSERT_EQUAL_STRING(server.text, j->iss);
    TEST_ASSERT_EQUAL_STRING(issuer.text, j->sub);
    (void)snprintf(key, NKEY_TEXT, "%s", j->request->user_nkey);
    jwt_free(j);
}

/* The service accepts the last request, and places the user in this account. */
static void accept_last(const char *account, const char *name)
{
    char key[NKEY_TEXT];
    struct mf_buf user = MF_BUF_INIT, nats = MF_BUF_INIT, out = MF_BUF_INIT;

    asked_user(key);
    struct jwt_unsigned u = {.sub = key,
                             .aud = account,
                             .name = name,
                             .nats = MF_LIT("{\"type\":\"user\",\"version\":2}")};
    TEST_ASSERT_EQUAL(0, jwt_sign(&user, &u, &issuer));
    jwt_auth_response_write(&nats, &(struct jwt_auth_response){.jwt = mf_buf_cstr(&user)});
    struct jwt_unsigned r = {.sub = key, .aud = server.text, .nats = mf_buf_slice(&nats)};
    TEST_ASSERT_EQUAL(0, jwt_sign(&out, &r, &issuer));
    respond(reply, mf_buf_slice(&out));
    mf_buf_fini(&user);
    mf_buf_fini(&nats);
    mf_buf_fini(&out);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_an_accepted_user_is_placed(void)
{
    struct visitor v;

    start("", "60s");
    visit(&v, "x");
    TEST_ASSERT_EQUAL(1, requests);
    accept_last("APP", "bob");
    TEST_ASSERT_EQUAL(0, v.done); /* not inside the service's publish */
    turn_until(&v.done);
    TEST_ASSERT_TRUE_MESSAGE(v.accepted, v.why);
    TEST_ASSERT_EQUAL_STRING("APP", v.account);
    TEST_ASSERT_EQUAL_STRING("bob", v.shown);
    TEST_ASSERT_EQUAL(0, callout.nlogins);
}

static void test_auth_users_and_users_of_other_accounts_are_not_asked_about(void)
{
    struct connect_opts auth = {.user = (char *)"auth"}, other = {.user = (char *)"o"};
    struct login q = {.connect = &auth, .refused = true};

    start("allowed_accounts: [APP]", "60s");
    TEST_ASSERT_FALSE(callout.service.decides(&callout, &q));
    q = (struct login){.connect = &other};
    TEST_ASSERT_FALSE(callout.service.decides(&callout, &q));
    q.refused = true; /* wrong password: perhaps the service knows it */
    TEST_ASSERT_TRUE(callout.service.decides(&callout, &q));
    q = (struct login){.connect = &other, .kind = LOGIN_LEAFNODE};
    TEST_ASSERT_TRUE(callout.service.decides(&callout, &q));
}

static void test_allowed_accounts_limit_where_users_are_placed(void)
{
    static const char *const names[] = {"APP", "AUTH", "OTHER", "$G"};
    struct visitor v;

    start("allowed_accounts: [APP]", "60s");
    for (size_t i = 0; i < MF_COUNT(names); i++) {
        v = (struct visitor){.connect = {.user = (char *)"x"}};
        v.q = (struct login){.connect = &v.connect, .nonce = "", .ip = "::1", .done = done};
        TEST_ASSERT_EQUAL(0, callout.service.start(&callout, &v.q));
        accept_last(names[i], NULL);
        turn_until(&v.done);
        TEST_ASSERT_EQUAL_MESSAGE(i < 2, v.accepted, names[i]);
    }
    TEST_ASSERT_EQUAL_STRING("Account \"$G\" not permitted as valid account option for auth "
                             "callout for account \"AUTH\"",
                             v.why);
}

static void test_without_a_response_the_time_ends(void)
{
    struct visitor v;

    start("", "20ms");
    visit(&v, "x");
    turn_until(&v.done);
    TEST_ASSERT_FALSE(v.accepted);
    TEST_ASSERT_EQUAL_STRING(
        "Authorization callout response not received in time on account \"AUTH\"", v.why);
    TEST_ASSERT_EQUAL_STRING("AUTH", v.event);
    accept_last("APP", "late"); /* to a login that is over */
    loop_turn(loop);
    TEST_ASSERT_EQUAL(1, v.done);
}

/* Each has its own reply subject and its own user key: a slow one holds up nobody. */
static void test_logins_do_not_wait_for_each_other(void)
{
    struct visitor slow, quick;
    char first_reply[100], first_user[NKEY_TEXT], user[NKEY_TEXT];

    start("", "60s");
    visit(&slow, "slow");
    (void)snprintf(first_reply, sizeof first_reply, "%s", reply);
    asked_user(first_user);
    visit(&quick, "quick");
    asked_user(user);
    TEST_ASSERT_NOT_EQUAL(0, strcmp(first_reply, reply));
    TEST_ASSERT_NOT_EQUAL(0, strcmp(first_user, user));
    accept_last("APP", NULL);
    turn_until(&quick.done);
    TEST_ASSERT_TRUE(quick.accepted);
    TEST_ASSERT_EQUAL_STRING("quick", quick.shown);
    TEST_ASSERT_EQUAL(0, slow.done);
    respond(first_reply, mf_str(""));
    turn_until(&slow.done);
    TEST_ASSERT_FALSE(slow.accepted);
}

/* At each stage: waiting, with a response that is not looked at yet, refused and not told yet. */
static void test_a_cancelled_login_is_never_called(void)
{
    struct visitor v;

    start("", "60s");
    for (int stage = 0; stage < 3; stage++) {
        visit(&v, "x");
        if (stage == 1)
            accept_last("APP", NULL);
        if (stage == 2)
            callout_account_gone(&callout, accounts_get(accounts, "AUTH"));
        callout.service.cancel(&callout, &v.q);
        callout.service.cancel(&callout, &v.q); /* harmless */
        for (int i = 0; i < 5; i++)
            loop_turn(loop);
        TEST_ASSERT_EQUAL(0, v.done);
        TEST_ASSERT_EQUAL(0, callout.nlogins);
    }
}

static void test_a_removed_account_refuses_those_that_wait(void)
{
    struct visitor v;

    start("", "60s");
    visit(&v, "x");
    callout_account_gone(&callout, accounts_get(accounts, "APP"));
    for (int i = 0; i < 5; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL(0, v.done);
    callout_account_gone(&callout, accounts_get(accounts, "AUTH"));
    turn_until(&v.done);
    TEST_ASSERT_FALSE(v.accepted);
}

/* The second response, and one to a login that has one already, change nothing. */
static void test_only_the_first_response_counts(void)
{
    struct visitor v;

    start("", "60s");
    visit(&v, "x");
    accept_last("APP", "first");
    respond(reply, mf_str("garbage"));
    turn_until(&v.done);
    TEST_ASSERT_TRUE(v.accepted);
    TEST_ASSERT_EQUAL_STRING("first", v.shown);
    for (int i = 0; i < 5; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL(1, v.done);
}

/* Logins that wait take memory: more than so many are refused, in a turn of their own. */
static void test_too_many_logins_are_refused(void)
{
    static struct visitor v; /* the last login is under way until tearDown() */

    start("", "60s");
    callout.nlogins += CALLOUT_MOST;
    visit(&v, "x");
    TEST_ASSERT_EQUAL(0, requests);
    turn_until(&v.done);
    TEST_ASSERT_EQUAL_STRING("Too many logins wait for auth callouts", v.why);
    callout.nlogins -= CALLOUT_MOST;
    visit(&v, "x");
    TEST_ASSERT_EQUAL(1, requests);
}

static void test_logins_under_way_end_with_the_service(void)
{
    struct visitor v;

    start("", "60s");
    visit(&v, "x");
    callout_close(&callout);
    for (int i = 0; i < 5; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL(0, v.done);
    TEST_ASSERT_NULL(callout.service.decides);
}

int main(void)
{
    jwt_key_random(&issuer, NKEY_ACCOUNT);
    jwt_key_random(&server, NKEY_SERVER);
    jwt_key_random(&curve, NKEY_CURVE);
    UNITY_BEGIN();
    RUN_TEST(test_an_accepted_user_is_placed);
    RUN_TEST(test_auth_users_and_users_of_other_accounts_are_not_asked_about);
    RUN_TEST(test_allowed_accounts_limit_where_users_are_placed);
    RUN_TEST(test_without_a_response_the_time_ends);
    RUN_TEST(test_logins_do_not_wait_for_each_other);
    RUN_TEST(test_a_cancelled_login_is_never_called);
    RUN_TEST(test_a_removed_account_refuses_those_that_wait);
    RUN_TEST(test_only_the_first_response_counts);
    RUN_TEST(test_too_many_logins_are_refused);
    RUN_TEST(test_logins_under_way_end_with_the_service);
    return UNITY_END();
}
