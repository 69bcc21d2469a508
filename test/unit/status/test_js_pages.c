/* test_js_pages.c: what operators see of JetStream, from an api on a folder: choices that a page
 * with two accounts cannot show, options that are wrong, health, and every allocation failing once.
 * The exact documents are compared with nats-server's in test/interop/jsz.mjs. */
#include "api/api.h"
#include "monitor/doc.h"

#include "api/api_impl.h"
#include "status/js_status.h"
#include "support/no_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

static struct loop *loop;
static struct options *options;
static struct accounts *accounts;
static struct api *api;
static struct js_status *status;
static struct router_sub inbox;
static struct mf_buf out;
static struct doc doc;
static char dir[64];
static bool is_closed;
static unsigned answers;

static int64_t no_time(void *arg)
{
    (void)arg;
    return 1;
}
static bool nobody(void *arg, const void *origin, struct mf_buf *json)
{
    (void)arg, (void)origin, (void)json;
    return false;
}
static void closed(void *arg)
{
    (void)arg;
    is_closed = true;
}
static bool received(struct router_sub *s, const struct router_msg *m)
{
    (void)s, (void)m;
    answers++;
    return true;
}

static void ask_as(const char *account, const char *subject, const char *body)
{
    struct mf_msg m = {
        .subject = mf_str(subject), .payload = mf_str(body), .reply = MF_LIT("_INBOX")};

    answers = 0;
    (void)account_publish(accounts_get(accounts, account),
                          &(struct router_msg){.route = m.subject, .msg = &m});
    for (int i = 0; i < 1000 && answers == 0; i++)
        loop_turn(loop);
}

static void create(const char *stream)
{
    char subject[128], body[128];

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%s", stream);
    (void)snprintf(body, sizeof body, "{\"name\":\"%s\",\"storage\":\"memory\"}", stream);
    ask_as("A", subject, body);
    TEST_ASSERT_EQUAL_UINT(1, answers);
}

void setUp(void)
{
    struct api_setup setup = {.server_name = "one",
                              .server_id = "ID",
                              .version = "2.15.1",
                              .level = 5,
                              .client_info = nobody};
    struct mf_error e;
    char text[512];

    (void)snprintf(dir, sizeof dir, "/tmp/test_js_pages.XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    (void)snprintf(text, sizeof text,
                   "jetstream { store_dir: \"%s\" }\n"
                   "accounts { C { jetstream: enabled }, A { jetstream: enabled }, N {},"
                   " B { jetstream: enabled }, D { jetstream: enabled }, SYS {} }\n"
                   "system_account: SYS\n",
                   dir);
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    loop_jobs_inline(loop);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&options, mf_str(text), "test", &e), e.text);
    TEST_ASSERT_EQUAL(0, accounts_new(&accounts, options, no_time, NULL, &e));
    inbox = (struct router_sub){.deliver = received};
    TEST_ASSERT_EQUAL(0, router_subscribe(account_router(accounts_get(accounts, "A")),
                                          MF_LIT("_INBOX"), MF_SLICE_NONE, &inbox));
    setup.loop = loop;
    setup.accounts = accounts;
    setup.options = options;
    TEST_ASSERT_EQUAL_MESSAGE(0, api_open(&api, &setup, &e), e.text);
    TEST_ASSERT_NOT_NULL(status = js_status_new(api));
    create("S");
    create("T");
    ask_as("A", "$JS.API.CONSUMER.CREATE.S.k",
           "{\"stream_name\":\"S\",\"config\":{\"name\":\"k\",\"ack_policy\":\"none\"}}");
    TEST_ASSERT_EQUAL_UINT(1, answers);
}

void tearDown(void)
{
    char command[128];

    mf_buf_fini(&out);
    is_closed = false;
    js_status_stop(status);
    js_status_free(status);
    api_close(api, closed, NULL);
    for (int i = 0; i < 1000 && !is_closed; i++)
        loop_turn(loop);
    TEST_ASSERT_TRUE(is_closed);
    router_unsubscribe(account_router(accounts_get(accounts, "A")), &inbox);
    accounts_free(accounts);
    options_free(options);
    loop_free(loop);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    TEST_ASSERT_EQUAL(0, system(command)); /* NOLINT: a folder of our own making */
}

/* --- /jsz ------------------------------------------------------------------------------------- */

/* A document in one go, into out. */
static void begin(void)
{
    mf_buf_fini(&out);
    doc_init(&doc, loop, JSONW_COMPACT);
}
static int end(int rc)
{
    if (rc == 0) {
        doc_finish(&doc);
        rc = doc.rc;
    }
    out = doc.body;
    doc.body = MF_BUF_INIT;
    doc_fini(&doc);
    return rc;
}

static int jsz(const char *asked, const char *account, struct mf_error *e)
{
    begin();
    return end(js_status_jsz(status, mf_str(asked), account, &doc, NULL, e));
}

/* The accounts a query lists, "A B ": accounts alone have an id. */
static const char *listed(const char *asked)
{
    static const char id[] = "\"id\":\"";
    static char names[64];
    struct mf_error e;
    size_t len = 0;

    TEST_ASSERT_EQUAL_MESSAGE(0, jsz(asked, NULL, &e), asked);
    names[0] = '\0';
    for (const char *at = mf_buf_cstr(&out); (at = strstr(at, id)) != NULL; at++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%c ", at[sizeof id - 1]);
    return names;
}

static void test_jsz_pages_accounts_by_name(void)
{
    TEST_ASSERT_EQUAL_STRING("", listed(""));
    TEST_ASSERT_EQUAL_STRING("A B C D ", listed("{\"accounts\":true}"));
    TEST_ASSERT_EQUAL_STRING("B C ", listed("{\"accounts\":true,\"offset\":1,\"limit\":2}"));
    TEST_ASSERT_EQUAL_STRING("D ", listed("{\"accounts\":true,\"offset\":3,\"limit\":9}"));
    TEST_ASSERT_EQUAL_STRING("", listed("{\"accounts\":true,\"offset\":4}"));
    TEST_ASSERT_EQUAL_STRING("", listed("{\"accounts\":true,\"offset\":9223372036854775807}"));
    TEST_ASSERT_EQUAL_STRING("A B C D ",
                             listed("{\"accounts\":true,\"offset\":-9223372036854775808,"
                                    "\"limit\":9223372036854775807}"));
    TEST_ASSERT_EQUAL_STRING("A B C D ", listed("{\"accounts\":true,\"offset\":2,\"limit\":-1}"));
    TEST_ASSERT_EQUAL_STRING("C ", listed("{\"account\":\"C\",\"offset\":9}"));
    TEST_ASSERT_EQUAL_STRING("", listed("{\"account\":\"N\",\"streams\":true}"));
    TEST_ASSERT_EQUAL_STRING("A B C D ", listed("{\"consumer\":true}"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "\"total\":4}"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "\"streams\":2,\"consumers\":1,"));
}

static void test_jsz_refuses_wrong_options_and_accounts(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(MF_PROTO, jsz("{\"limit\":\"x\"}", NULL, &e));
    TEST_ASSERT_EQUAL_STRING("json: cannot unmarshal string into Go struct field "
                             "JszEventOptions.limit of type int",
                             e.text);
    TEST_ASSERT_EQUAL_INT(MF_PROTO, jsz("{", "A", &e));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, jsz("", "none", &e));
    TEST_ASSERT_EQUAL_STRING("account \"none\" not found", e.text);
    TEST_ASSERT_EQUAL_INT(MF_UNSUPPORTED, jsz("", "N", &e));
    TEST_ASSERT_EQUAL_STRING("account \"N\" not jetstream enabled", e.text);
}

/* --- health ----------------------------------------------------------------------------------- */

static char told[256];
static void tell(void *arg, const struct health_problem *p)
{
    ++*(int *)arg;
    (void)snprintf(told, sizeof told, "%d %s %s", p->status, p->type, p->text);
}
static int health(const char *account, const char *stream, const char *consumer)
{
    struct doc d;
    int n = 0;

    told[0] = '\0';
    doc_init(&d, loop, JSONW_COMPACT);
    js_status_health(status, &(struct health_query){account, stream, consumer}, &d, tell, &n);
    doc_finish(&d);
    TEST_ASSERT_EQUAL_INT(0, d.rc);
    doc_fini(&d);
    return n;
}

static void test_health_tells_of_what_is_not_there_once(void)
{
    TEST_ASSERT_EQUAL_INT(0, health(NULL, NULL, NULL));
    TEST_ASSERT_EQUAL_INT(0, health("", "", ""));
    TEST_ASSERT_EQUAL_INT(0, health("A", "S", ""));
    TEST_ASSERT_EQUAL_INT(0, health("B", NULL, NULL)); /* no streams, but it is served */
    TEST_ASSERT_EQUAL_INT(1, health("B", "S", "c"));
    TEST_ASSERT_EQUAL_STRING("404 STREAM JetStream stream \"S\" not found on account \"B\"", told);
    TEST_ASSERT_EQUAL_INT(1, health("N", "S", NULL));
    TEST_ASSERT_EQUAL_STRING("404 ACCOUNT JetStream account \"N\" not found", told);
    TEST_ASSERT_EQUAL_INT(1, health("A", "S", "c"));
    TEST_ASSERT_EQUAL_STRING(
        "404 CONSUMER JetStream consumer \"c\" not found for stream \"S\" on account \"A\"", told);
}

/* --- without memory --------------------------------------------------------------------------- */

static bool nth_fails(long n, void (*fn)(void))
{
    long before = allocations;

    fail_at = before + n;
    fn();
    fail_at = 0;
    return allocations - before >= n;
}
static void look_jsz(void)
{
    struct mf_error e;

    if (jsz("{\"account\":\"A\",\"streams\":true,\"consumer\":true,\"config\":true}", NULL, &e) !=
        0)
        mf_buf_clear(&out);
}
static void look_ttlz(void)
{
    struct mf_error e;

    begin();
    if (end(js_status_ttlz(status, MF_LIT("{\"account\":\"A\",\"limit\":5}"), &doc, NULL, &e)) != 0)
        mf_buf_clear(&out);
}
static void look_metrics(void)
{
    begin();
    js_status_metrics(status, &doc);
    (void)end(0);
}
static void look_health(void)
{
    TEST_ASSERT_EQUAL_INT(1, health("Z", NULL, NULL)); /* ill, even if it cannot say how */
}

static void test_pages_without_memory_are_short_and_do_no_harm(void)
{
    long n;

    for (n = 1; nth_fails(n, look_jsz); n++)
        TEST_ASSERT_LESS_THAN_INT64(1000, n);
    TEST_ASSERT_GREATER_THAN_INT64(3, n);
    TEST_ASSERT_FALSE(mf_buf_failed(&out));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "\"stream_detail\":[{\"name\":\"S\""));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "\"consumer_detail\":[{\"stream_name\":\"S\""));
    for (n = 1; nth_fails(n, look_ttlz); n++)
        TEST_ASSERT_LESS_THAN_INT64(1000, n);
    TEST_ASSERT_GREATER_THAN_INT64(2, n);
    TEST_ASSERT_NOT_NULL(
        strstr(mf_buf_cstr(&out), "\"streams\":[{\"account\":\"A\",\"stream\":\"S\""));
    for (n = 1; nth_fails(n, look_metrics); n++)
        TEST_ASSERT_LESS_THAN_INT64(1000, n);
    TEST_ASSERT_GREATER_THAN_INT64(2, n);
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "mayfly_jetstream_streams 2\n"));
    TEST_ASSERT_NOT_NULL(
        strstr(mf_buf_cstr(&out), "mayfly_stream_messages{account=\"A\",stream=\"T\"} 0\n"));
    TEST_ASSERT_NOT_NULL(strstr(
        mf_buf_cstr(&out), "mayfly_consumer_lag{account=\"A\",stream=\"S\",consumer=\"k\"} 0\n"));
    TEST_ASSERT_NOT_NULL(
        strstr(mf_buf_cstr(&out), "mayfly_stream_ttl_enforce{account=\"A\",stream=\"T\"} 0\n"));
    for (n = 1; nth_fails(n, look_health); n++)
        TEST_ASSERT_LESS_THAN_INT64(1000, n);
}

static void purge(void)
{
    ask_as("SYS", "$JS.API.ACCOUNT.PURGE.A", "");
}

/* Whatever finds no memory: the streams are there or they are gone, and a later request works. */
static void test_purging_an_account_without_memory_does_no_harm(void)
{
    struct router_sub sys = {.deliver = received};
    struct account *system = accounts_get(accounts, "SYS");

    TEST_ASSERT_EQUAL(
        0, router_subscribe(account_router(system), MF_LIT("_INBOX"), MF_SLICE_NONE, &sys));
    for (long n = 1; nth_fails(n, purge); n++)
        TEST_ASSERT_LESS_THAN_INT64(1000, n);
    purge();
    TEST_ASSERT_EQUAL_UINT(1, answers);
    TEST_ASSERT_EQUAL_STRING("A ", listed("{\"account\":\"A\",\"streams\":true}"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "\"streams\":0,\"consumers\":0,"));
    create("S");
    router_unsubscribe(account_router(system), &sys);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_jsz_pages_accounts_by_name);
    RUN_TEST(test_jsz_refuses_wrong_options_and_accounts);
    RUN_TEST(test_health_tells_of_what_is_not_there_once);
    RUN_TEST(test_pages_without_memory_are_short_and_do_no_harm);
    RUN_TEST(test_purging_an_account_without_memory_does_no_harm);
    return UNITY_END();
}
