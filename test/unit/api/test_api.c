/* test_api.c: the JSON API on a real catalog in a temporary folder: what answers when, what waits
 * for what, and what happens when the ground goes away under a request.  The exact texts of all
 * answers are compared with nats-server's in test/interop/streams_api.mjs. */
#include "api/api.h"
#include "base/rand.h"

#include "api/api_impl.h"
#include "api/subject_page_impl.h"
#include "support/client_publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unity.h"

#define ONE "jetstream { store_dir: \"%s\" }\n"

static struct loop *loop;
static struct options *options;
static struct accounts *accounts;
static struct api *api;
static bool is_closed;
static char dir[64];

/* What came back on inbox N. */
#define INBOXES 64
static struct inbox {
    struct router_sub sub;
    struct account *account;
    char *text;
    unsigned count;
} inbox[INBOXES];
static unsigned used;

/* --- the world -------------------------------------------------------------------------------- */

static struct options *parse(const char *fmt)
{
    struct options *o;
    struct mf_error e;
    char text[4096];

    (void)snprintf(text, sizeof text, fmt, dir);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "test", &e), e.text);
    return o;
}

static int64_t no_time(void *arg)
{
    (void)arg;
    return 1;
}

static bool who(void *arg, const void *origin, struct mf_buf *json)
{
    (void)arg;
    mf_buf_puts(json, "{\"id\":7}");
    return origin != NULL;
}

static void start_api(void)
{
    struct api_setup setup = {.loop = loop,
                              .accounts = accounts,
                              .options = options,
                              .server_name = "one",
                              .server_id = "ID",
                              .version = "2.15.1",
                              .level = 5,
                              .client_info = who};
    struct mf_error e;

    TEST_ASSERT_EQUAL_MESSAGE(0, api_open(&api, &setup, &e), e.text);
}

static void start(const char *config)
{
    struct mf_error e;

    options = parse(config);
    TEST_ASSERT_EQUAL(0, accounts_new(&accounts, options, no_time, NULL, &e));
    start_api();
}

static void closed(void *arg)
{
    (void)arg;
    is_closed = true;
}

static void turns(int n)
{
    while (n-- > 0)
        loop_turn(loop);
}

static void stop_api(void)
{
    if (api == NULL)
        return;
    is_closed = false;
    api_close(api, closed, NULL);
    api = NULL;
    for (int i = 0; i < 1000 && !is_closed; i++)
        loop_turn(loop);
    TEST_ASSERT_TRUE_MESSAGE(is_closed, "the API never closed");
}

static void reload(const char *config)
{
    struct options *now = parse(config);
    struct mf_error e;

    TEST_ASSERT_EQUAL(0, accounts_reload(accounts, now, NULL, NULL, &e));
    api_reload(api, now);
    options_free(options);
    options = now;
}

void setUp(void)
{
    struct mf_error e;

    (void)snprintf(dir, sizeof dir, "/tmp/test_api.XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    loop_jobs_inline(loop);
    used = 0;
}

/* Before their account goes. */
static void forget_inboxes(void)
{
    for (unsigned i = 0; i < used; i++) {
        router_unsubscribe(account_router(inbox[i].account), &inbox[i].sub);
        free(inbox[i].text);
    }
    used = 0;
}

void tearDown(void)
{
    char command[128];

    stop_api();
    forget_inboxes();
    accounts_free(accounts);
    accounts = NULL;
    options_free(options);
    options = NULL;
    loop_free(loop);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    TEST_ASSERT_EQUAL(0, system(command)); /* NOLINT: a folder of our own making */
}

static bool received(struct router_sub *s, const struct router_msg *m)
{
    struct inbox *b = mf_container(s, struct inbox, sub);

    free(b->text);
    b->text = mf_slice_dup(m->msg->payload);
    b->count++;
    return true;
}

/* Sends; how many took it goes to *taken (may be NULL).  Returns the inbox of the answer. */
static struct inbox *send_as(const char *account, const char *subject, const char *hdr,
                             const char *body, size_t *taken)
{
    struct account *a = accounts_get(accounts, account);
    struct inbox *b = &inbox[used];
    char reply[32];
    struct mf_msg m = {.subject = mf_str(subject), .hdr = mf_str(hdr), .payload = mf_str(body)};
    size_t n;

    TEST_ASSERT_LESS_THAN_UINT(INBOXES, used);
    (void)snprintf(reply, sizeof reply, "_INBOX.%u", used++);
    *b = (struct inbox){.sub.deliver = received, .account = a};
    TEST_ASSERT_EQUAL(0,
                      router_subscribe(account_router(a), mf_str(reply), MF_SLICE_NONE, &b->sub));
    m.reply = mf_str(reply);
    n = client_publish(a, &(struct router_msg){.route = m.subject, .msg = &m, .origin = &m});
    if (taken != NULL)
        *taken = n;
    return b;
}

static struct inbox *send(const char *subject, const char *body)
{
    return send_as("$G", subject, "", body, NULL);
}

static const char *answer(struct inbox *b)
{
    for (int i = 0; i < 1000 && b->count == 0; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT_MESSAGE(1, b->count, "one answer");
    return b->text;
}

static const char *ask(const char *subject, const char *body)
{
    return answer(send(subject, body));
}

static void has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        printf("looked for %s\nin %s\n", part, text);
        TEST_FAIL();
    }
}

static void publish(const char *subject, const char *payload)
{
    has(ask(subject, payload), "\"seq\":");
}

/* --- what waits for what ---------------------------------------------------------------------- */

/* The answer is a promise: it may not come before the stream is on disk. */
static void test_create_is_answered_when_the_stream_is_on_disk(void)
{
    char path[128];
    struct inbox *b;

    start(ONE);
    b = send("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\"}");
    TEST_ASSERT_EQUAL_UINT(0, b->count);
    has(answer(b), "\"did_create\":true");
    (void)snprintf(path, sizeof path, "%s/jetstream/$G/streams/S", dir);
    TEST_ASSERT_EQUAL(0, access(path, F_OK));
}

/* Requests for one name that come in one read are served in their order. */
static void test_requests_for_a_busy_name_wait_their_turn(void)
{
    struct inbox *b[5];

    start(ONE);
    b[0] = send("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\"}");
    b[1] = send("$JS.API.STREAM.INFO.S", "");
    b[2] = send("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\",\"max_msgs\":1}");
    b[3] = send("$JS.API.STREAM.DELETE.S", "");
    b[4] = send("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\",\"max_msgs\":2}");
    has(answer(b[4]), "\"max_msgs\":2,");
    has(answer(b[0]), "\"did_create\":true");
    has(answer(b[1]), "\"state\":{\"messages\":0");
    has(answer(b[2]), "\"err_code\":10058");
    has(answer(b[3]), "\"success\":true");
}

/* Each update is checked against the one before it, not against what it was when both were sent. */
static void test_updates_of_one_stream_come_one_after_the_other(void)
{
    struct inbox *b[3];

    start(ONE);
    ask("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\"}");
    b[0] = send("$JS.API.STREAM.UPDATE.S", "{\"name\":\"S\",\"deny_purge\":true}");
    b[1] = send("$JS.API.STREAM.UPDATE.S", "{\"name\":\"S\"}");
    b[2] = send("$JS.API.STREAM.DELETE.S", "{}");
    has(answer(b[0]), "\"deny_purge\":true");
    has(answer(b[1]), "can not cancel deny purge");
    has(answer(b[2]), "\"success\":true");
    has(ask("$JS.API.STREAM.NAMES", ""), "\"streams\":null");
}

/* Two that are each within the limits, but not both. */
static void test_streams_being_made_count_for_the_limits(void)
{
    static const char *const body[] = {
        "{\"name\":\"S\",\"max_bytes\":600}",
        "{\"name\":\"T\",\"max_bytes\":600}",
        "{\"name\":\"U\",\"subjects\":[\"S\"]}",
        "{\"name\":\"V\"}",
        "{\"name\":\"W\"}",
    };
    static const char *const want[] = {"\"did_create\":true", "\"err_code\":10047",
                                       "\"err_code\":10065", "\"did_create\":true",
                                       "\"err_code\":10027"};
    struct inbox *b[MF_COUNT(body)];

    start("jetstream { store_dir: \"%s\" }\naccounts {\n A { jetstream { max_streams: 2, "
          "max_store: 1000 } }\n}\n");
    for (size_t i = 0; i < MF_COUNT(body); i++) {
        char subject[] = "$JS.API.STREAM.CREATE.S";
        subject[sizeof subject - 2] = (char)('S' + i);
        b[i] = send_as("A", subject, "", body[i], NULL);
    }
    for (size_t i = 0; i < MF_COUNT(body); i++)
        has(answer(b[i]), want[i]);
    has(answer(send_as("A", "$JS.API.INFO", "", "", NULL)), "\"total\":5,\"errors\":3}");
}

/* --- who is served ---------------------------------------------------------------------------- */

/* A requester that hears "nobody there" would give up; one that hears nothing waits. */
static void test_what_is_no_request_is_taken_but_not_answered(void)
{
    struct inbox *b;
    size_t taken;

    start(ONE);
    b = send_as("$G", "$JS.API.BOGUS", "", "", &taken);
    TEST_ASSERT_EQUAL_size_t(1, taken);
    (void)send_as("$G", "$JS.API.DIRECT.GET.S", "", "{\"seq\":1}", &taken);
    TEST_ASSERT_EQUAL_size_t(0, taken);
    turns(10);
    TEST_ASSERT_EQUAL_UINT(0, b->count);
}

/* Lists that nobody needs are not read: a million of elements would keep all others waiting. */
static void test_a_request_of_too_many_elements_is_refused(void)
{
    enum { MOST = 100000 };
    static char text[4 * MOST + 100];
    size_t n;

    start(ONE);
    for (int over = 0; over < 2; over++) {
        n = (size_t)snprintf(text, sizeof text, "{\"name\":\"S\",\"subjects\":["); /* one comma */
        for (int i = 0; i < MOST - 1 + over; i++, n += 3)
            memcpy(text + n, "\"\",", 3);
        (void)snprintf(text + n, sizeof text - n, "\"\"]}");
        has(answer(send("$JS.API.STREAM.CREATE.S", text)),
            over ? "10025,\"description\":\"invalid JSON: more than 100000 elements\""
                 : "maximum number of subjects is");
    }
}

static void test_accounts_without_jetstream_are_told_so(void)
{
    start("jetstream { store_dir: \"%s\" }\naccounts {\n A { jetstream: enabled }\n B { }\n}\n");
    has(answer(send_as("A", "$JS.API.INFO", "", "", NULL)), "\"streams\":0");
    has(answer(send_as("B", "$JS.API.STREAM.LIST", "", "", NULL)),
        "\"err_code\":10039,\"description\":\"JetStream not enabled for account\"},\"total\":0,"
        "\"offset\":0,\"limit\":0,\"streams\":[]}");
    has(answer(send_as("$G", "$JS.API.INFO", "", "", NULL)), "account_info_response\",\"error\"");
    has(answer(send_as("$SYS", "$JS.API.BOGUS", "", "", NULL)), "system_response\",\"error\"");
}

static void test_the_level_is_checked_before_everything_else(void)
{
    static const char *const fine[] = {"0", "5", "+5", "-7", "", "   4"};
    static const char *const bad[] = {"6", "x", "5 ", "0x1", "99999999999999999999", "-", "5.0"};
    char hdr[128];

    start("jetstream { store_dir: \"%s\" }\naccounts {\n B { }\n}\n");
    for (size_t i = 0; i < MF_COUNT(fine); i++) {
        (void)snprintf(hdr, sizeof hdr, "NATS/1.0\r\nNats-Required-Api-Level:%s\r\n\r\n", fine[i]);
        has(answer(send_as("B", "$JS.API.INFO", hdr, "", NULL)), "10039");
    }
    for (size_t i = 0; i < MF_COUNT(bad); i++) {
        (void)snprintf(hdr, sizeof hdr, "NATS/1.0\r\nNats-Required-Api-Level: %s\r\n\r\n", bad[i]);
        has(answer(send_as("B", "$JS.API.INFO", hdr, "", NULL)), "10185");
    }
}

static void test_the_domain_is_another_name_of_the_api(void)
{
    size_t taken;

    start("jetstream { store_dir: \"%s\", domain: hub }\n");
    has(ask("$JS.hub.API.STREAM.CREATE.S", "{\"name\":\"S\",\"subjects\":[\"$KV.b.>\"]}"), "\"S\"");
    has(ask("$JS.API.STREAM.INFO.S", ""), "\"domain\":\"hub\",\"cluster\":{\"leader\":\"one\"}");
    has(ask("$JS.hub.API.$KV.b.k", "v"), "\"seq\":1");
    (void)send_as("$G", "$JS.hub.API.BOGUS", "", "", &taken);
    TEST_ASSERT_EQUAL_size_t(0, taken);
    (void)send_as("$G", "$JS.hub.API.STREAM.BOGUS", "", "", &taken);
    TEST_ASSERT_EQUAL_size_t(1, taken);
}

/* --- accounts and servers that go away -------------------------------------------------------- */

#define TWO  "jetstream { store_dir: \"%s\" }\naccounts {\n A { jetstream: enabled }\n B { }\n}\n"
#define LOST "jetstream { store_dir: \"%s\" }\naccounts {\n A { jetstream: disabled }\n B { }\n}\n"
#define GONE "jetstream { store_dir: \"%s\" }\naccounts {\n B { }\n}\n"

static void test_jetstream_that_a_reload_takes_and_gives_back_keeps_its_streams(void)
{
    start(TWO);
    answer(send_as("A", "$JS.API.STREAM.CREATE.S", "", "{\"name\":\"S\"}", NULL));
    has(answer(send_as("A", "S", "", "x", NULL)), "\"seq\":1");
    reload(LOST);
    has(answer(send_as("A", "$JS.API.STREAM.INFO.S", "", "", NULL)), "10039");
    turns(50);
    reload(TWO);
    has(answer(send_as("A", "$JS.API.STREAM.INFO.S", "", "", NULL)), "\"messages\":1");
}

/* Given back before the old one has let go of its folders: two of them in one folder would be the
 * end of it. */
static void test_jetstream_that_comes_back_at_once_waits_for_the_old_one(void)
{
    start(TWO);
    answer(send_as("A", "$JS.API.STREAM.CREATE.S", "", "{\"name\":\"S\"}", NULL));
    has(answer(send_as("A", "S", "", "x", NULL)), "\"seq\":1");
    reload(LOST);
    reload(TWO);
    turns(50);
    has(answer(send_as("A", "$JS.API.STREAM.INFO.S", "", "", NULL)), "\"messages\":1");
    has(answer(send_as("A", "S", "", "x", NULL)), "\"seq\":2");
}

/* The sanitizer tells if a late answer touches what is gone. */
static void test_requests_under_way_when_their_account_vanishes_do_no_harm(void)
{
    start(TWO);
    answer(send_as("A", "$JS.API.STREAM.CREATE.S", "", "{\"name\":\"S\"}", NULL));
    (void)send_as("A", "$JS.API.STREAM.CREATE.T", "", "{\"name\":\"T\"}", NULL);
    (void)send_as("A", "$JS.API.STREAM.INFO.T", "", "", NULL);
    (void)send_as("A", "$JS.API.STREAM.UPDATE.S", "", "{\"name\":\"S\",\"max_msgs\":5}", NULL);
    (void)send_as("A", "$JS.API.STREAM.DELETE.S", "", "", NULL);
    (void)send_as("A", "S", "", "x", NULL);
    forget_inboxes();
    reload(GONE);
    turns(50);
    reload(TWO);
    turns(50);
    has(answer(send_as("A", "$JS.API.STREAM.INFO.S", "", "", NULL)), "\"max_msgs\":5");
    has(answer(send_as("A", "$JS.API.STREAM.NAMES", "", "", NULL)), "[\"S\",\"T\"]");
}

static void test_requests_under_way_at_the_end_do_no_harm(void)
{
    start(ONE);
    ask("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\"}");
    publish("S", "x");
    (void)send("$JS.API.STREAM.CREATE.T", "{\"name\":\"T\"}");
    (void)send("$JS.API.STREAM.DELETE.T", "");
    (void)send("$JS.API.STREAM.PURGE.S", "");
    (void)send("$JS.API.STREAM.MSG.GET.S", "{\"start_time\":\"2020-01-01T00:00:00Z\"}");
    stop_api();
    start_api();
    has(ask("$JS.API.STREAM.NAMES", ""), "[\"S\",\"T\"]");
}

/* An account's name may be anything; its streams stay in our folder. */
static void test_the_folder_of_an_account_is_one_folder(void)
{
    char path[128];

    start("jetstream { store_dir: \"%s\" }\naccounts {\n \"../a/b\" { jetstream: enabled }\n}\n");
    answer(send_as("../a/b", "$JS.API.STREAM.CREATE.S", "", "{\"name\":\"S\"}", NULL));
    (void)snprintf(path, sizeof path, "%s/jetstream/%%2E.%%2Fa%%2Fb/streams/S", dir);
    TEST_ASSERT_EQUAL_MESSAGE(0, access(path, F_OK), path);
}

/* --- pages of subjects ------------------------------------------------------------------------ */

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Any page of any number of subjects is what sorting them all would have given. */
static void test_pages_of_subjects_are_in_order(void)
{
    static char all[500][24];
    struct js_account *ja;
    struct stream *s;

    start(ONE);
    ask("$JS.API.STREAM.CREATE.S",
        "{\"name\":\"S\",\"subjects\":[\"s.>\"],\"storage\":\"memory\"}");
    for (size_t i = 0; i < MF_COUNT(all); i++) {
        struct mf_msg m = {.subject = MF_SLICE_NONE};
        (void)snprintf(all[i], sizeof all[i], "s.%u.%zu", rand_below(1000), i);
        m.subject = mf_str(all[i]);
        client_publish(accounts_global(accounts),
                       &(struct router_msg){.route = m.subject, .msg = &m});
    }
    turns(20);
    qsort(all, MF_COUNT(all), sizeof all[0], by_text);
    ja = mf_container(mf_list_first(&api->js->list), struct js_account, link);
    s = catalog_find(ja->catalog, MF_LIT("S"));
    for (uint64_t from = 0; from < 600; from += 37) {
        struct subject_page *p = subject_page_new(api_account(ja), s, MF_LIT("s.>"), from, 90);
        struct mf_buf want = MF_BUF_INIT;
        struct mf_slice text;
        uint64_t total;

        TEST_ASSERT_NOT_NULL(p);
        while (subject_page_step(p))
            continue;
        TEST_ASSERT_EQUAL(0, subject_page_done(p, &total, &text));
        TEST_ASSERT_EQUAL_UINT64(500, total);
        for (uint64_t i = from; i < from + 90 && i < 500; i++)
            mf_buf_printf(&want, "%s\"%s\":1", i == from ? "{" : ",", all[i]);
        if (from < 500)
            mf_buf_byte(&want, '}');
        TEST_ASSERT_TRUE(mf_eq(mf_buf_slice(&want), text));
        subject_page_free(p);
        mf_buf_fini(&want);
    }
}

/* --- messages and events ---------------------------------------------------------------------- */

static void test_bytes_of_a_message_come_back_as_they_were(void)
{
    static const struct {
        const char *payload, *text;
    } cases[] = {{"a", "YQ=="}, {"ab", "YWI="}, {"abc", "YWJj"}, {"\xff\xfe?>", "//4/Pg=="}};
    char want[64], request[32];

    start(ONE);
    ask("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\"}");
    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        publish("S", cases[i].payload);
        (void)snprintf(want, sizeof want, "\"data\":\"%s\",\"time\"", cases[i].text);
        (void)snprintf(request, sizeof request, "{\"seq\":%zu}", i + 1);
        has(ask("$JS.API.STREAM.MSG.GET.S", request), want);
    }
}

static void test_audits_tell_who_asked_what_and_was_told_what(void)
{
    struct inbox *b;

    start(ONE);
    b = &inbox[used++];
    *b = (struct inbox){.sub.deliver = received, .account = accounts_global(accounts)};
    TEST_ASSERT_EQUAL(0,
                      router_subscribe(account_router(accounts_global(accounts)),
                                       MF_LIT("$JS.EVENT.ADVISORY.API"), MF_SLICE_NONE, &b->sub));
    ask("$JS.API.STREAM.INFO.S", "{\"offset\":1}");
    has(answer(b), "\"server\":\"one\",\"client\":{\"id\":7},\"subject\":\"$JS.API.STREAM.INFO.S\","
                   "\"request\":\"{\\\"offset\\\":1}\",\"response\":\"{\\\"type\\\":");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_create_is_answered_when_the_stream_is_on_disk);
    RUN_TEST(test_requests_for_a_busy_name_wait_their_turn);
    RUN_TEST(test_updates_of_one_stream_come_one_after_the_other);
    RUN_TEST(test_streams_being_made_count_for_the_limits);
    RUN_TEST(test_what_is_no_request_is_taken_but_not_answered);
    RUN_TEST(test_a_request_of_too_many_elements_is_refused);
    RUN_TEST(test_accounts_without_jetstream_are_told_so);
    RUN_TEST(test_the_level_is_checked_before_everything_else);
    RUN_TEST(test_the_domain_is_another_name_of_the_api);
    RUN_TEST(test_jetstream_that_a_reload_takes_and_gives_back_keeps_its_streams);
    RUN_TEST(test_jetstream_that_comes_back_at_once_waits_for_the_old_one);
    RUN_TEST(test_requests_under_way_when_their_account_vanishes_do_no_harm);
    RUN_TEST(test_requests_under_way_at_the_end_do_no_harm);
    RUN_TEST(test_the_folder_of_an_account_is_one_folder);
    RUN_TEST(test_pages_of_subjects_are_in_order);
    RUN_TEST(test_bytes_of_a_message_come_back_as_they_were);
    RUN_TEST(test_audits_tell_who_asked_what_and_was_told_what);
    return UNITY_END();
}
