/* test_url.c: account JWTs behind a URL: a small web server of the test answers well and badly. */
#include "base/clock.h"
#include "net/net.h"
#include "operator/resolver.h"
#include "support/tokens.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include <unity.h>

static struct loop *loop;
static struct net_listener *web;
static struct resolver *r;
static struct options *o;
static const char *next_answer; /* NULL: none comes */
static char last_request[2000];
static size_t nrequests, nopen;
static bool hang_up;

struct peer {
    struct net_conn *c;
};

/* --- the web server --------------------------------------------------------------------------- */

static size_t web_bytes(void *arg, const uint8_t *p, size_t n)
{
    struct peer *x = arg;

    if (n < 4 || memcmp(p + n - 4, "\r\n\r\n", 4) != 0)
        return 0;
    snprintf(last_request, sizeof last_request, "%.*s", (int)n, (const char *)p);
    nrequests++;
    if (next_answer != NULL) {
        TEST_ASSERT_EQUAL(0, net_write(x->c, next_answer, strlen(next_answer)));
        if (hang_up)
            net_close(x->c, 100);
    }
    return n;
}

static void web_closed(void *arg, enum net_why why, const char *text)
{
    (void)why, (void)text;
    free(arg);
    nopen--;
}

static const struct net_handler web_handler = {.bytes = web_bytes, .closed = web_closed};

static void web_accepted(void *arg, struct net_conn *c)
{
    struct peer *x = calloc(1, sizeof *x);

    (void)arg;
    x->c = c;
    nopen++;
    net_conn_start(c, &web_handler, x);
}

/* --- fixture ---------------------------------------------------------------------------------- */

static int try_open(const char *url, struct mf_error *e)
{
    struct token_key op = token_key(NKEY_OPERATOR, 1);
    char *t = token_make(&op, &op, "operator", 1700000000, 0, ""), text[2000];
    struct resolver_setup s;

    snprintf(text, sizeof text, "operator: %s\nresolver: 'URL(%s)'", t, url);
    free(t);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "t", e), e->text);
    s = (struct resolver_setup){.loop = loop, .options = o};
    return resolver_open(&r, &s, e);
}

static void open_it(const char *fmt)
{
    struct mf_error e = {0};
    char url[200];

    next_answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    snprintf(url, sizeof url, fmt, net_listener_port(web)); /* NOLINT */
    TEST_ASSERT_EQUAL_MESSAGE(0, try_open(url, &e), e.text);
}

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    TEST_ASSERT_EQUAL(0, net_listen(&web, loop, "127.0.0.1", 0, web_accepted, NULL, &e));
    nrequests = 0;
    hang_up = false;
}

static void closed(void *arg)
{
    *(bool *)arg = true;
}

void tearDown(void)
{
    bool done = false;

    if (r != NULL && !resolver_close(r, closed, &done))
        while (!done)
            loop_turn(loop);
    r = NULL;
    options_free(o);
    o = NULL;
    while (nopen > 0)
        loop_turn(loop);
    net_listener_close(web);
    loop_free(loop);
}

struct asked {
    struct resolver_lookup q;
    int rc;
    bool done;
    char text[4096], why[400];
};

static void looked(struct resolver_lookup *q, int rc, struct mf_slice jwt, const char *why)
{
    struct asked *a = mf_container(q, struct asked, q);

    a->rc = rc;
    a->done = true;
    snprintf(a->text, sizeof a->text, "%.*s", MF_FMT(jwt));
    snprintf(a->why, sizeof a->why, "%s", why);
}

static struct asked look_up(const char *answer)
{
    struct asked a = {.q.done = looked};
    struct token_key k = token_key(NKEY_ACCOUNT, 1);

    next_answer = answer;
    memcpy(a.q.account, k.text, sizeof a.q.account);
    resolver_lookup(r, &a.q);
    TEST_ASSERT_FALSE(a.done);
    while (!a.done) {
        loop_turn(loop);
        usleep(100);
    }
    return a;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_the_start_asks_once_and_each_account_is_one_request(void)
{
    struct token_key k = token_key(NKEY_ACCOUNT, 1);
    char want[200];
    struct asked a;

    open_it("http://127.0.0.1:%d/jwt/v1/accounts");
    TEST_ASSERT_EQUAL(1, nrequests);
    TEST_ASSERT_EQUAL(0, strncmp(last_request, "GET /jwt/v1/accounts/ HTTP/1.0\r\n", 32));
    a = look_up("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc\r\n");
    TEST_ASSERT_EQUAL_MESSAGE(0, a.rc, a.why);
    TEST_ASSERT_EQUAL_STRING("abc", a.text);
    snprintf(want, sizeof want, "GET /jwt/v1/accounts/%s HTTP/1.0\r\n", k.text);
    TEST_ASSERT_EQUAL(0, strncmp(last_request, want, strlen(want)));
    TEST_ASSERT_EQUAL(2, nrequests);
    hang_up = true;
    a = look_up("HTTP/1.0 200 OK\r\n\r\nto the end");
    TEST_ASSERT_EQUAL_MESSAGE(0, a.rc, a.why);
    TEST_ASSERT_EQUAL_STRING("to the end", a.text);
}

static void test_user_and_password_of_the_url_are_sent_and_not_shown(void)
{
    struct asked a;

    open_it("http://joe:s3%%20cret@127.0.0.1:%d/");
    a = look_up("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    TEST_ASSERT_NOT_NULL(strstr(last_request, "Authorization: Basic am9lOnMzIGNyZXQ=\r\n"));
    TEST_ASSERT_EQUAL(MF_NOTFOUND, a.rc);
    TEST_ASSERT_NULL(strstr(a.why, "s3"));
    TEST_ASSERT_EQUAL(0, strncmp(a.why, "could not fetch <\"http://127.0.0.1:", 35));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(a.why, ">: 404 Not Found"), a.why);
}

static void test_bad_answers_are_no_tokens(void)
{
    static const char *const bad[] = {
        "HTTP/1.1 500 Internal Server Error\r\n\r\n",
        "HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\ncut",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
        "MEOW\r\n\r\n",
        "HTTP/1.1 200",
        "",
    };

    open_it("http://127.0.0.1:%d/");
    hang_up = true;
    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        struct asked a = look_up(bad[i]);
        TEST_ASSERT_NOT_EQUAL_MESSAGE(0, a.rc, bad[i]);
        TEST_ASSERT_EQUAL_STRING("", a.text);
    }
}

static void test_a_server_that_does_not_answer_is_given_up(void)
{
    int64_t from;
    struct asked a;

    open_it("http://127.0.0.1:%d/");
    from = clock_mono_ns();
    a = look_up(NULL);
    TEST_ASSERT_EQUAL(MF_TIMEOUT, a.rc);
    TEST_ASSERT_TRUE(clock_mono_ns() - from >= 1900 * CLOCK_MS);
}

static void test_a_look_up_can_be_cancelled(void)
{
    struct asked a = {.q.done = looked};

    open_it("http://127.0.0.1:%d/");
    next_answer = NULL;
    resolver_lookup(r, &a.q);
    loop_turn(loop);
    resolver_cancel(&a.q);
    TEST_ASSERT_FALSE(a.done);
}

static void test_a_server_that_can_not_be_asked_is_refused_at_the_start(void)
{
    struct mf_error e = {0};

    TEST_ASSERT_NOT_EQUAL(0, try_open("http://127.0.0.1:1/jwt/", &e));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, "could not fetch <\"http://127.0.0.1:1/jwt/\">"),
                                 e.text);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, "efused"), e.text);
}

/* More than there may be connections wait for one; who is beyond those, too, is refused. */
static void test_many_look_ups_wait_for_a_connection(void)
{
    enum { MANY = 600, BEYOND = 5000 };
    struct asked *all = calloc(BEYOND, sizeof *all);
    struct token_key k = token_key(NKEY_ACCOUNT, 1);
    struct rlimit files;
    size_t refused = 0;

    TEST_ASSERT_EQUAL(0, getrlimit(RLIMIT_NOFILE, &files));
    files.rlim_cur = files.rlim_max;
    TEST_ASSERT_EQUAL(0, setrlimit(RLIMIT_NOFILE, &files));
    open_it("http://127.0.0.1:%d/");
    hang_up = true;
    next_answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    for (size_t n = MANY; n <= BEYOND; n += BEYOND - MANY) {
        memset(all, 0, BEYOND * sizeof *all);
        for (size_t i = 0; i < n; i++) {
            all[i].q.done = looked;
            memcpy(all[i].q.account, k.text, sizeof k.text);
            resolver_lookup(r, &all[i].q);
        }
        for (size_t i = 0; n == MANY && i < n; i++) {
            while (!all[i].done)
                loop_turn(loop);
            TEST_ASSERT_EQUAL_MESSAGE(0, all[i].rc, all[i].why);
        }
    }
    while (!all[BEYOND - 1].done)
        loop_turn(loop);
    for (size_t i = 0; i < BEYOND; i++) {
        refused += all[i].rc == MF_LIMIT;
        resolver_cancel(&all[i].q); /* connected, waiting, or answered */
    }
    TEST_ASSERT_EQUAL(MF_LIMIT, all[BEYOND - 1].rc);
    TEST_ASSERT_TRUE(refused >= BEYOND - 512 - 4096 && refused <= BEYOND - 4096);
    free(all);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_start_asks_once_and_each_account_is_one_request);
    RUN_TEST(test_user_and_password_of_the_url_are_sent_and_not_shown);
    RUN_TEST(test_bad_answers_are_no_tokens);
    RUN_TEST(test_a_server_that_does_not_answer_is_given_up);
    RUN_TEST(test_a_look_up_can_be_cancelled);
    RUN_TEST(test_a_server_that_can_not_be_asked_is_refused_at_the_start);
    RUN_TEST(test_many_look_ups_wait_for_a_connection);
    return UNITY_END();
}
