/* test_js_documents.c: documents about JetStream are made in slices: other accounts are served in
 * between, the steps grow with what is shown, what goes meanwhile does no harm, and the text is
 * that of a document made in one go.  Steps are counted, not time. */
#include "monitor/doc.h"
#include "status/js_status.h"
#include "support/api_tenants.h"

static struct js_status *status;
static struct doc doc;
static struct work_owner owner;
static unsigned finished;

static void open_status(void)
{
    start("");
    TEST_ASSERT_NOT_NULL(status = js_status_new(api));
}

static void close_status(void)
{
    js_status_stop(status);
    js_status_free(status);
}

static void done(struct doc *d)
{
    (void)d;
    finished++;
}

static void begin(const char *options_json, const char *account)
{
    struct mf_error e;

    finished = 0;
    doc_init(&doc, loop, JSONW_COMPACT);
    TEST_ASSERT_EQUAL(0, js_status_jsz(status, mf_str(options_json), account, &doc, NULL, &e));
}

#define ALL "{\"streams\":true,\"consumer\":true,\"config\":true}"

/* Turns of one slice of so many steps each, until it is whole. */
static unsigned turns_to_the_end(void)
{
    unsigned turns = 0;

    doc_start(&doc, &owner, done);
    for (; finished == 0 && turns < 100000; turns++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(1, finished);
    TEST_ASSERT_EQUAL_INT(0, doc.rc);
    return turns;
}

static void streams(const char *account, unsigned from, unsigned to)
{
    char name[32];

    for (unsigned i = from; i < to; i++) {
        (void)snprintf(name, sizeof name, "%s%05u", account, i);
        create(account, name, "");
        forget_inboxes();
    }
}

static unsigned turns_of(const char *what)
{
    unsigned turns;

    begin(what, NULL);
    turns = turns_to_the_end();
    doc_fini(&doc);
    return turns;
}

static void test_steps_grow_with_the_streams(void)
{
    unsigned small, large, two;

    open_status();
    streams("A", 0, 100);
    work_set_steps(loop, 10);
    small = turns_of(ALL);
    work_set_steps(loop, 0);
    streams("A", 100, 1000);
    work_set_steps(loop, 10);
    large = turns_of(ALL);
    TEST_ASSERT_GREATER_THAN_UINT(5 * small, large);
    TEST_ASSERT_LESS_THAN_UINT(15 * small, large);
    TEST_ASSERT_GREATER_THAN_UINT(100, large); /* two steps for each stream; a turn has 20 */
    work_set_steps(loop, 0);
    streams("B", 0, 1000);
    work_set_steps(loop, 10);
    two = turns_of(ALL);
    TEST_ASSERT_UINT_WITHIN(large / 5, 2 * large, two);
    close_status();
}

static void test_others_are_served_between_the_slices(void)
{
    struct inbox *b;

    open_status();
    streams("A", 0, 300);
    create("B", "T", "");
    work_set_steps(loop, 3);
    begin(ALL, NULL);
    doc_start(&doc, &owner, done);
    b = send_as("B", "$JS.API.STREAM.NAMES", "");
    TEST_ASSERT_LESS_THAN_UINT(5, wait_for(b));
    TEST_ASSERT_EQUAL_UINT(0, finished);
    doc_fini(&doc); /* its reader has gone */
    for (int i = 0; i < 500; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(0, finished);
    close_status();
}

/* Whatever the slices, the text is the same (but for the moment it was made). */
static void test_slices_do_not_change_the_text(void)
{
    struct mf_buf whole;

    open_status();
    streams("A", 0, 20);
    create("B", "T", "");
    for (unsigned i = 0; i < 30; i++) {
        char subject[64], body[128];
        (void)snprintf(subject, sizeof subject, "$JS.API.CONSUMER.CREATE.A00003.c%02u", i);
        (void)snprintf(body, sizeof body,
                       "{\"stream_name\":\"A00003\",\"config\":{\"name\":\"c%02u\"}}", i);
        has(ask("A", subject, body), "\"created\"");
    }
    begin(ALL, "A");
    doc_finish(&doc);
    whole = doc.body;
    doc.body = MF_BUF_INIT;
    doc_fini(&doc);
    has(mf_buf_cstr(&whole), "\"stream_detail\":[");
    for (unsigned steps = 1; steps < 9; steps += 3) {
        char *a, *b;
        work_set_steps(loop, steps);
        begin(ALL, "A");
        (void)turns_to_the_end();
        work_set_steps(loop, 0);
        /* Consumers tell the time. */
        TEST_ASSERT_EQUAL_size_t(
            30,
            consumers_count(js_consumers(catalog_find(
                js_account_of(api->js, accounts_get(accounts, "A"))->catalog, MF_LIT("A00003")))));
        a = strstr(mf_buf_cstr(&whole), "\"consumer_detail\"");
        b = strstr(mf_buf_cstr(&doc.body), "\"consumer_detail\"");
        TEST_ASSERT_TRUE((a == NULL) == (b == NULL));
        a = strstr(mf_buf_cstr(&whole), "\"name\":\"A00004\"");
        b = strstr(mf_buf_cstr(&doc.body), "\"name\":\"A00004\"");
        TEST_ASSERT_NOT_NULL(a);
        TEST_ASSERT_NOT_NULL(b);
        TEST_ASSERT_EQUAL_STRING(a, b);
        doc_fini(&doc);
    }
    mf_buf_fini(&whole);
    close_status();
}

/* Streams go and come while their page is made, the one it stands at too. */
static void test_streams_go_while_they_are_shown(void)
{
    char subject[64];

    open_status();
    streams("A", 0, 60);
    has(ask("A", "$JS.API.CONSUMER.CREATE.A00020.c",
            "{\"stream_name\":\"A00020\",\"config\":{\"name\":\"c\"}}"),
        "\"created\"");
    begin(ALL, NULL);
    work_set_steps(loop, 1);
    doc_start(&doc, &owner, done);
    while (strstr(mf_buf_cstr(&doc.body), "\"name\":\"A00020\"") == NULL)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(0, finished);
    work_set_steps(loop, 0);
    for (unsigned i = 19; i < 40; i++) {
        (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.DELETE.A%05u", i);
        (void)send_as("A", subject, "");
        if (i == 20)
            work_set_steps(loop, 1);
    }
    work_set_steps(loop, 1);
    for (int i = 0; finished == 0 && i < 100000; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_INT(0, doc.rc);
    TEST_ASSERT_EQUAL_UINT(1, finished);
    has(mf_buf_cstr(&doc.body), "\"name\":\"A00059\"");
    TEST_ASSERT_EQUAL_INT(0, doc.w.depth);
    doc_fini(&doc);
    close_status();
}

static void test_metrics_go_through_streams_in_slices(void)
{
    unsigned turns;

    open_status();
    streams("A", 0, 200);
    fill("A", "A00199", 3, 3, 1);
    work_set_steps(loop, 10);
    finished = 0;
    doc_init(&doc, loop, JSONW_COMPACT);
    js_status_metrics(status, &doc);
    turns = turns_to_the_end();
    TEST_ASSERT_GREATER_THAN_UINT(200 * 30 / 20, turns); /* each has more than 30 samples */
    has(mf_buf_cstr(&doc.body), "mayfly_stream_messages{account=\"A\",stream=\"A00199\"} 3\n");
    doc_fini(&doc);
    close_status();
}

static void tell(void *arg, const struct health_problem *p)
{
    (void)p;
    ++*(unsigned *)arg;
}

static unsigned turns_of_health(const char *account)
{
    unsigned problems = 0, turns;

    finished = 0;
    doc_init(&doc, loop, JSONW_COMPACT);
    js_status_health(status, &(struct health_query){.account = account}, &doc, tell, &problems);
    turns = turns_to_the_end();
    doc_fini(&doc);
    TEST_ASSERT_EQUAL_UINT(0, problems);
    return turns;
}

static void test_health_goes_through_streams_in_slices(void)
{
    unsigned small, large;

    open_status();
    streams("A", 0, 100);
    streams("B", 0, 100);
    work_set_steps(loop, 10);
    small = turns_of_health("A");
    TEST_ASSERT_UINT_WITHIN(small / 5 + 1, 2 * small, turns_of_health(NULL));
    work_set_steps(loop, 0);
    streams("A", 100, 1000);
    work_set_steps(loop, 10);
    large = turns_of_health("A");
    TEST_ASSERT_GREATER_THAN_UINT(40, large); /* a step for each stream; a turn has 20 */
    TEST_ASSERT_LESS_THAN_UINT(15 * small, large);
    close_status();
}

/* The stream that was looked at last goes, and the account's others are still looked at. */
static void test_health_goes_on_when_streams_go(void)
{
    unsigned problems = 0;
    char subject[64];

    open_status();
    streams("A", 0, 60);
    finished = 0;
    doc_init(&doc, loop, JSONW_COMPACT);
    js_status_health(status, &(struct health_query){.account = "A"}, &doc, tell, &problems);
    work_set_steps(loop, 1);
    doc_start(&doc, &owner, done);
    for (int i = 0; i < 10; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(0, finished);
    work_set_steps(loop, 0);
    for (unsigned i = 0; i < 60; i += 2) {
        (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.DELETE.A%05u", i);
        (void)send_as("A", subject, "");
    }
    for (int i = 0; finished == 0 && i < 100000; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(1, finished);
    TEST_ASSERT_EQUAL_INT(0, doc.rc);
    TEST_ASSERT_EQUAL_UINT(0, problems);
    doc_fini(&doc);
    close_status();
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_steps_grow_with_the_streams);
    RUN_TEST(test_others_are_served_between_the_slices);
    RUN_TEST(test_slices_do_not_change_the_text);
    RUN_TEST(test_streams_go_while_they_are_shown);
    RUN_TEST(test_metrics_go_through_streams_in_slices);
    RUN_TEST(test_health_goes_through_streams_in_slices);
    RUN_TEST(test_health_goes_on_when_streams_go);
    return UNITY_END();
}
