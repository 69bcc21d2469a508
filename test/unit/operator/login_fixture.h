/* login_fixture.h: an operator with accounts in memory, and logins of users: for test_login.c and
 * test_login_renew.c. */
#ifndef MAYFLY_TEST_LOGIN_FIXTURE_H
#define MAYFLY_TEST_LOGIN_FIXTURE_H

#include "base/clock.h"
#include "operator/operator_login.h"
#include "support/tokens.h"

#include <stdio.h>
#include <unistd.h>
#include <unity.h>

#define NONCE_TEXT "abcdefghijklmno"
#define FREE       ",\"subs\":-1,\"data\":-1,\"payload\":-1"
#define LIMITS                                                                                     \
    ",\"limits\":{\"subs\":-1,\"data\":-1,\"payload\":-1,\"imports\":-1,\"exports\":-1,"           \
    "\"conn\":-1,\"leaf\":-1,\"wildcards\":true%s}"

static char dir[64]; /* of a resolver; "": in memory */
static struct loop *loop;
static struct accounts *accounts;
static struct options *o;
static struct operator* op;
static struct operator_login service;
static struct token_key op_key, sys, acc, other, signing, scoped, user;
static long now, account_exp;
static const char *role, *extra; /* the template's subject, and more of it */

static inline int64_t clock_ns(void *arg)
{
    (void)arg;
    return clock_mono_ns();
}

/* The account acc with these limits and claims; signing and scoped are its keys. */
static inline char *account_jwt(const char *limits, const char *more)
{
    char text[3000], l[600];

    snprintf(l, sizeof l, LIMITS, limits);
    snprintf(text, sizeof text,
             "%s,\"signing_keys\":[\"%s\",{\"kind\":\"user_scope\",\"key\":\"%s\",\"role\":\"r\","
             "\"template\":{\"pub\":{\"allow\":[\"%s.{{name()}}\"]}" FREE "%s}}]%s",
             l, signing.text, scoped.text, role, extra, more);
    return token_make(&op_key, &acc, "account", 1700000000, account_exp, text);
}

static inline void start(const char *config, const char *limits, const char *more)
{
    char text[12000], sysmore[200], free_limits[600];
    struct mf_error e = {0};
    char *a = account_jwt(limits, more), *s, *t;

    snprintf(sysmore, sizeof sysmore, ",\"system_account\":\"%s\"", sys.text);
    snprintf(free_limits, sizeof free_limits, LIMITS, "");
    t = token_make(&op_key, &op_key, "operator", 1700000000, 0, sysmore);
    s = token_make(&op_key, &sys, "account", 1700000000, 0, free_limits);
    snprintf(text, sizeof text,
             "operator: %s\nresolver: MEM\nresolver_preload { %s: %s, %s: %s }\n%s\n", t, sys.text,
             s, acc.text, a, config);
    if (dir[0] != '\0')
        snprintf(
            text, sizeof text,
            "operator: %s\nresolver { type: full, dir: \"%s\" }\nresolver_preload { %s: %s }\n", t,
            dir, sys.text, s);
    free(t);
    free(s);
    free(a);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "t", &e), e.text);
    TEST_ASSERT_EQUAL(0, accounts_new(&accounts, o, clock_ns, NULL, &e));
    struct operator_setup setup = {.loop = loop, .accounts = accounts, .options = o};
    TEST_ASSERT_EQUAL_MESSAGE(0, operator_open(&op, &setup, &e), e.text);
    operator_login_open(&service, op);
}

/* Other claims of the account. */
static inline void reload(const char *limits, const char *more, const char *config)
{
    struct options *before = o, *next;
    char text[12000], sysmore[200], free_limits[600], *a = account_jwt(limits, more), *s, *t;
    struct mf_error e = {0};

    snprintf(sysmore, sizeof sysmore, ",\"system_account\":\"%s\"", sys.text);
    snprintf(free_limits, sizeof free_limits, LIMITS, "");
    t = token_make(&op_key, &op_key, "operator", 1700000000, 0, sysmore);
    s = token_make(&op_key, &sys, "account", 1700000000, 0, free_limits);
    snprintf(text, sizeof text,
             "operator: %s\nresolver: MEM\nresolver_preload { %s: %s, %s: %s }\n%s\n", t, sys.text,
             s, acc.text, a, config);
    free(t);
    free(s);
    free(a);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&next, mf_str(text), "t", &e), e.text);
    TEST_ASSERT_EQUAL(0, accounts_reload(accounts, next, NULL, NULL, &e));
    operator_reload(op, next);
    o = next;
    options_free(before);
}

static inline void done_closing(void *arg)
{
    *(bool *)arg = true;
}

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    op_key = token_key(NKEY_OPERATOR, 1);
    sys = token_key(NKEY_ACCOUNT, 1);
    acc = token_key(NKEY_ACCOUNT, 2);
    other = token_key(NKEY_ACCOUNT, 3);
    signing = token_key(NKEY_ACCOUNT, 4);
    scoped = token_key(NKEY_ACCOUNT, 5);
    user = token_key(NKEY_USER, 1);
    now = (long)(clock_wall_ns() / CLOCK_S);
    account_exp = 0;
    role = "own";
    extra = "";
    dir[0] = '\0';
}

void tearDown(void)
{
    bool closed = false;

    operator_login_close(&service);
    if (!operator_close(op, done_closing, &closed))
        while (!closed)
            loop_turn(loop);
    op = NULL;
    accounts_free(accounts);
    accounts = NULL;
    options_free(o);
    o = NULL;
    loop_free(loop);
}

/* --- logins ----------------------------------------------------------------------------------- */

struct attempt {
    struct login q;
    struct connect_opts c;
    bool done, in, shown; /* shown: a refusal keeps the JWT */
    struct login_result r;
    char why[300], err[100], key[NKEY_TEXT];
};

static inline void attempt_done(struct login *q, const struct login_result *r,
                                const struct login_refusal *no)
{
    struct attempt *a = mf_container(q, struct attempt, q);

    TEST_ASSERT_FALSE(a->done);
    a->done = true;
    a->in = r != NULL;
    if (r != NULL) {
        a->r = *r;
        return;
    }
    snprintf(a->why, sizeof a->why, "%s", no->why);
    snprintf(a->err, sizeof a->err, "%s", no->err);
    a->shown = no->user != NULL && no->user->jwt != NULL;
    snprintf(a->key, sizeof a->key, "%s",
             no->user != NULL && no->user->key != NULL ? no->user->key : "");
}

static inline char *sign_nonce(const struct token_key *by, const char *nonce)
{
    uint8_t sig[crypto_sign_BYTES];
    struct mf_buf t = {0};

    crypto_sign_detached(sig, NULL, (const uint8_t *)nonce, strlen(nonce), by->secret);
    token_part(&t, mf_slice(sig, sizeof sig));
    return (char *)(uintptr_t)mf_buf_cstr(&t);
}

static inline void begin(struct attempt *a, const char *jwt, char *sig)
{
    a->c.jwt = jwt == NULL ? NULL : mf_slice_dup(mf_str(jwt));
    a->c.sig = sig;
    a->q.connect = &a->c;
    a->q.nonce = NONCE_TEXT;
    if (a->q.ip == NULL)
        a->q.ip = "127.0.0.1";
    a->q.done = attempt_done;
    TEST_ASSERT_TRUE(service.service.decides(service.service.arg, &a->q));
    TEST_ASSERT_EQUAL(0, service.service.start(service.service.arg, &a->q));
    TEST_ASSERT_FALSE(a->done); /* never from inside */
}

static inline void end(struct attempt *a)
{
    free(a->c.jwt);
    free(a->c.sig);
    a->c = (struct connect_opts){0};
}

static inline void log_in(struct attempt *a, const char *jwt, char *sig)
{
    begin(a, jwt, sig);
    for (int64_t limit = clock_mono_ns() + 10 * CLOCK_S; !a->done; loop_turn(loop))
        TEST_ASSERT_TRUE(clock_mono_ns() < limit);
    TEST_ASSERT_NULL(a->q.state);
    end(a);
}

static inline void leave(struct attempt *a)
{
    perms_release(a->r.perms);
    login_user_release(a->r.user);
}

static inline char *user_jwt(const struct token_key *by, long exp, const char *more)
{
    return token_make(by, &user, "user", now - 10, exp, more);
}

/* A login that is refused: for the log.  Whether pages show its JWT. */
static inline bool refused(char *jwt, char *sig, const char *why)
{
    struct attempt a = {.done = false};

    log_in(&a, jwt, sig);
    free(jwt);
    TEST_ASSERT_FALSE_MESSAGE(a.in, why);
    if (strstr(a.why, why) == NULL)
        TEST_FAIL_MESSAGE(a.why);
    TEST_ASSERT_EQUAL_STRING("Authorization Violation", a.err);
    return a.shown;
}

static inline void admitted(struct attempt *a, char *jwt)
{
    *a = (struct attempt){.q.ip = a->q.ip, .q.kind = a->q.kind};
    log_in(a, jwt, sign_nonce(&user, NONCE_TEXT));
    free(jwt);
    if (!a->in)
        TEST_FAIL_MESSAGE(a->why);
}

#endif
