/* test_api_queue.c: requests that wait: for nobody nothing is read, there are limits, and nothing
 * breaks when streams or the account go away half way. */
#include "jetstream/direct_impl.h"
#include "loop/loop_impl.h"
#include "support/api_tenants.h"

#define ONE_LEFT                                                                                   \
    "jetstream { store_dir: \"%s\"\n%s\n}\n"                                                       \
    "accounts { A {}, B { jetstream: enabled } }\n"

static struct js_account *served(const char *name)
{
    return js_account_of(api->js, accounts_get(accounts, name));
}

static struct api_account *account_of(const char *name)
{
    return api_account(served(name));
}

static struct direct_queue *direct_of(const char *name)
{
    return &js_wire(served(name))->direct;
}

/* --- nobody listens --------------------------------------------------------------------------- */

static void test_nothing_is_read_for_nobody(void)
{
    struct api_account *aa;
    uint64_t total;

    start("");
    create("A", "S", "");
    fill("A", "S", 2000, 10, 1);
    aa = account_of("A");
    total = aa->total;
    work_set_steps(loop, 1);
    send_to("A", "$JS.API.STREAM.INFO.S", "nobody", "{\"deleted_details\":true}");
    send_to("A", "$JS.API.STREAM.INFO.S", "", "{\"subjects_filter\":\">\"}");
    send_to("A", "$JS.API.STREAM.LIST", "nobody", "");
    send_to("A", "$JS.API.STREAM.NAMES", "nobody", "");
    send_to("A", "$JS.API.CONSUMER.LIST.S", "nobody", "");
    send_to("A", "$JS.API.STREAM.MSG.GET.S", "nobody", "{\"last_by_subj\":\"S.*.7\"}");
    send_to("A", "$JS.API.DIRECT.GET.S", "nobody", "{\"batch\":2000,\"seq\":1}");
    send_to("A", "$JS.API.DIRECT.GET.S", "nobody", "{\"multi_last\":[\"S.>\"]}");
    send_to("A", "$JS.API.DIRECT.GET.S", "nobody", "{\"last_by_subj\":\"S.*.7\"}");
    TEST_ASSERT_EQUAL_UINT64(total + 5, aa->total); /* they count as served */
    TEST_ASSERT_EQUAL_size_t(0, aa->queue.inflight);
    TEST_ASSERT_EQUAL_size_t(0, direct_of("A")->nbatches);
    TEST_ASSERT_FALSE(work_queued(&aa->queue.task));
    send_to("A", "$JS.API.STREAM.PURGE.S", "nobody", ""); /* an effect needs no listener */
    work_set_steps(loop, 0);
    settle();
    has(ask("A", "$JS.API.STREAM.INFO.S", ""), "\"state\":{\"messages\":0");
}

static void test_audits_are_listeners_too(void)
{
    struct inbox *audits;

    start("");
    create("A", "S", "");
    audits = listen_on("A", "$JS.EVENT.ADVISORY.API");
    send_to("A", "$JS.API.STREAM.NAMES", "nobody", "");
    settle();
    TEST_ASSERT_EQUAL_UINT(1, audits->count);
    has(mf_buf_cstr(&audits->text), "\\\"streams\\\":[\\\"S\\\"]");
}

/* A long answer is told to auditors in slices, too; not a byte is missing. */
static void test_a_long_audit_is_written_in_slices(void)
{
    struct inbox *audits, *b;
    struct mf_buf want = MF_BUF_INIT;

    start("");
    create("A", "S", "");
    fill("A", "S", 6000, 10, 1);
    audits = listen_on("A", "$JS.EVENT.ADVISORY.API");
    work_set_steps(loop, 3);
    b = send_as("A", "$JS.API.STREAM.INFO.S", "{\"subjects_filter\":\">\"}");
    wait_for(b);
    TEST_ASSERT_EQUAL_UINT(0, audits->count);
    wait_for(send_as("B", "$JS.API.INFO", ""));
    TEST_ASSERT_EQUAL_UINT(0, audits->count);
    wait_for(audits);
    mf_buf_puts(&want, "\"request\":\"{\\\"subjects_filter\\\":\\\"\\u003e\\\"}\",\"response\":\"");
    for (size_t i = 0; i + 1 < b->text.len; i++) {
        if (b->text.ptr[i] == '"' || b->text.ptr[i] == '\\')
            mf_buf_byte(&want, '\\');
        mf_buf_byte(&want, b->text.ptr[i]);
    }
    mf_buf_puts(&want, "\"}\n");
    has(mf_buf_cstr(&audits->text), mf_buf_cstr(&want));
    mf_buf_fini(&want);
    settle();
    TEST_ASSERT_EQUAL_size_t(0, account_of("A")->queue.inflight);
}

/* What a client sends next must find the effect of its request, however much waits. */
static void test_a_client_s_request_does_not_wait_for_others(void)
{
    struct inbox *b, *late;
    struct mf_msg m = {.subject = MF_LIT("$JS.API.STREAM.PURGE.S"), .reply = MF_LIT("_I.purge")};

    start("");
    create("A", "S", "");
    fill("A", "S", 3000, 10, 1);
    work_set_steps(loop, 2);
    (void)send_as("A", "$JS.API.STREAM.INFO.S", "{\"subjects_filter\":\">\"}");
    late = send_as("A", "$JS.API.STREAM.MSG.GET.S", "{\"seq\":1}"); /* of nobody: behind the INFO */
    b = listen_on("A", "_I.purge");
    (void)account_publish(accounts_get(accounts, "A"),
                          &(struct router_msg){.route = m.subject, .msg = &m, .origin = &m});
    wait_for(b);
    has(mf_buf_cstr(&b->text), "\"success\":true");
    TEST_ASSERT_EQUAL_UINT(0, late->count);
    wait_for(late);
    has(mf_buf_cstr(&late->text), "\"err_code\":10037"); /* it was purged before */
}

static void test_a_batch_ends_when_its_listener_goes(void)
{
    struct inbox *b;

    start("");
    create("A", "S", "");
    fill("A", "S", 2000, 10, 1);
    work_set_steps(loop, 2);
    b = send_as("A", "$JS.API.DIRECT.GET.S", "{\"batch\":2000,\"seq\":1}");
    loop_turn(loop);
    TEST_ASSERT_EQUAL_size_t(1, direct_of("A")->nbatches);
    router_unsubscribe(account_router(b->account), &b->sub);
    settle();
    TEST_ASSERT_EQUAL_size_t(0, direct_of("A")->nbatches);
    TEST_ASSERT_LESS_THAN_UINT(1000, b->count);
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_requests_above_the_limit_are_dropped_and_others_are_served(void)
{
    struct inbox *b[5], *other;

    start("request_queue_limit: 3");
    create("A", "S", "");
    fill("A", "S", 1000, 10, 1);
    work_set_steps(loop, 1);
    for (unsigned i = 0; i < MF_COUNT(b); i++)
        b[i] = send_as("A", "$JS.API.STREAM.INFO.S", "{\"subjects_filter\":\">\"}");
    other = send_as("B", "$JS.API.INFO", "");
    wait_for(other);
    work_set_steps(loop, 0);
    settle();
    for (unsigned i = 0; i < MF_COUNT(b); i++)
        TEST_ASSERT_EQUAL_UINT(i < 3 ? 1 : 0, b[i]->count);
}

static void test_many_batches_are_all_answered(void)
{
    struct inbox *b[100];

    start("");
    create("A", "S", "");
    fill("A", "S", 600, 10, 1);
    work_set_steps(loop, 5);
    for (unsigned i = 0; i < MF_COUNT(b); i++)
        b[i] = send_as("A", "$JS.API.DIRECT.GET.S",
                       i % 2 == 0 ? "{\"batch\":600,\"seq\":1}" : "{\"last_by_subj\":\"S.*.7\"}");
    TEST_ASSERT_LESS_OR_EQUAL_size_t(16, direct_of("A")->nbatches);
    for (unsigned i = 0; i < MF_COUNT(b); i++) {
        wait_for(b[i]);
        TEST_ASSERT_EQUAL_UINT(i % 2 == 0 ? 601 : 1, b[i]->count);
    }
    TEST_ASSERT_EQUAL_size_t(0, direct_of("A")->nbatches);
    TEST_ASSERT_EQUAL_size_t(0, direct_of("A")->later_bytes);
}

static void queue_get(unsigned i)
{
    char reply[32], subject[32];

    (void)snprintf(reply, sizeof reply, "order.%u", i);
    (void)snprintf(subject, sizeof subject, "S.0.%u", i % 10);
    direct_queue_add(served("A"), &(struct direct_get){.name = MF_LIT("S"),
                                                       .subject = mf_str(subject),
                                                       .reply = mf_str(reply)});
}

static void test_queued_direct_gets_are_answered_in_their_order(void)
{
    struct inbox *b;
    char *at;

    start("");
    create("A", "S", "");
    fill("A", "S", 10, 1, 1);
    b = listen_on("A", "order.>");
    work_set_steps(loop, 2);
    for (unsigned i = 0; i < 50; i++)
        queue_get(i);
    TEST_ASSERT_EQUAL_UINT(0, b->count);
    send_to("A", "$JS.API.DIRECT.GET.S.S.0.0", "order.last", ""); /* behind the others */
    for (unsigned i = 0; i < 200 && b->count < 51; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(51, b->count);
    at = (char *)mf_buf_cstr(&b->text);
    for (unsigned i = 0; i < 50; i++) {
        char want[48];
        (void)snprintf(want, sizeof want, "Nats-Subject: S.0.%u\r", i % 10);
        at = strstr(at, "Nats-Subject:");
        TEST_ASSERT_EQUAL_STRING_LEN(want, at, strlen(want));
        at++;
    }
}

/* The turn's time is measured after a large body, so that the next get waits for its turn; a small
 * one is too short for a look at the clock. */
static void test_a_direct_get_of_a_large_body_is_measured(void)
{
    static char body[70000];
    bool measured[2];

    start("");
    create("A", "S", "");
    memset(body, 'x', sizeof body - 1);
    send_to("A", "S.large", "", body);
    send_to("A", "S.small", "", "x");
    settle();
    (void)listen_on("A", "order.>");
    for (int large = 0; large < 2; large++) {
        loop->running = true;
        loop->meter.lap_ns = 0;
        send_to("A", large != 0 ? "$JS.API.DIRECT.GET.S.S.large" : "$JS.API.DIRECT.GET.S.S.small",
                "order.1", "");
        measured[large] = loop->meter.lap_ns != 0;
        loop->running = false;
    }
    TEST_ASSERT_FALSE(measured[0]);
    TEST_ASSERT_TRUE(measured[1]);
}

/* However many come: none is dropped. */
static void test_a_full_queue_of_direct_gets_serves_the_oldest(void)
{
    enum { MANY = 6000 };
    struct inbox *b;

    start("");
    create("A", "S", "");
    fill("A", "S", 10, 1, 1);
    b = listen_on("A", "order.>");
    for (unsigned i = 0; i < MANY; i++)
        queue_get(i);
    TEST_ASSERT_EQUAL_UINT(MANY - 4096, b->count);
    for (unsigned i = 0; i < 10000 && b->count < MANY; i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_UINT(MANY, b->count);
}

/* --- the ground goes away --------------------------------------------------------------------- */

static void request_anything(unsigned stream)
{
    static const char *const requests[][2] = {
        {"STREAM.INFO.S%u", "{\"subjects_filter\":\">\",\"deleted_details\":true}"},
        {"STREAM.INFO.S%u", "{\"deleted_details\":true}"},
        {"STREAM.LIST", ""},
        {"STREAM.NAMES", "{\"subject\":\">\"}"},
        {"CONSUMER.LIST.S%u", ""},
        {"CONSUMER.NAMES.S%u", ""},
        {"STREAM.MSG.GET.S%u", "{\"last_by_subj\":\"*.3.*\"}"},
        {"STREAM.MSG.GET.S%u", "{\"next_by_subj\":\"*.3.*\",\"seq\":20}"},
        {"DIRECT.GET.S%u", "{\"last_by_subj\":\"*.3.*\"}"},
        {"DIRECT.GET.S%u", "{\"next_by_subj\":\"*.*.9\",\"seq\":2}"},
        {"DIRECT.GET.S%u", "{\"batch\":300,\"seq\":1,\"next_by_subj\":\"*.3.>\"}"},
        {"DIRECT.GET.S%u", "{\"batch\":300,\"seq\":9}"},
        {"DIRECT.GET.S%u", "{\"multi_last\":[\">\"]}"},
        {"DIRECT.GET.S%u", "{\"multi_last\":[\"*.1.*\",\"*.2.*\"],\"up_to_seq\":70}"},
        {"STREAM.PURGE.S%u", ""},
        {"STREAM.PURGE.S%u", "{\"filter\":\"*.3.*\"}"},
        {"STREAM.DELETE.S%u", ""},
        {"STREAM.MSG.DELETE.S%u", "{\"seq\":7}"},
        {"CONSUMER.DELETE.S%u.C", ""},
    };
    const char *const *r = requests[rand_below(MF_COUNT(requests))];
    char subject[64] = "$JS.API.";

    (void)snprintf(subject + 8, sizeof subject - 8, r[0], stream); /* NOLINT: of the table above */
    send_to("A", subject, "answers.x", r[1]);
}

static void make_again(unsigned stream)
{
    char name[16], subject[64], body[160];

    (void)snprintf(name, sizeof name, "S%u", stream);
    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%s", name);
    (void)snprintf(body, sizeof body,
                   "{\"name\":\"%s\",\"subjects\":[\"%s.>\"],\"storage\":\"memory\","
                   "\"allow_direct\":true,\"max_msgs_per_subject\":3}",
                   name, name);
    send_to("A", subject, "answers.x", body);
    (void)snprintf(subject, sizeof subject, "$JS.API.CONSUMER.CREATE.%s.C", name);
    (void)snprintf(body, sizeof body,
                   "{\"stream_name\":\"%s\",\"config\":{\"name\":\"C\",\"durable_name\":\"C\","
                   "\"ack_policy\":\"explicit\"}}",
                   name);
    send_to("A", subject, "answers.x", body);
}

static void random_deed(void)
{
    unsigned stream = rand_below(3);
    char subject[32];

    if (rand_below(8) == 0)
        make_again(stream);
    for (unsigned i = 0; i < 20; i++) {
        (void)snprintf(subject, sizeof subject, "S%u.%u.%u", stream, rand_below(5), rand_below(40));
        send_to("A", subject, "", "x");
    }
    for (unsigned i = 0; i < 4; i++)
        request_anything(rand_below(3));
}

static void test_streams_that_go_away_half_way_do_no_harm(void)
{
    struct api_account *aa;
    struct inbox *b;

    start("");
    aa = account_of("A");
    b = listen_on("A", "answers.>");
    for (unsigned round = 0; round < 1500; round++) {
        work_set_steps(loop, 1 + rand_below(4));
        random_deed();
        loop_turn(loop);
        mf_buf_clear(&b->text);
    }
    work_set_steps(loop, 0);
    for (int i = 0; i < 100000 && (direct_of("A")->nbatches + aa->queue.inflight > 0 || i < 50);
         i++)
        loop_turn(loop);
    TEST_ASSERT_EQUAL_size_t(0, direct_of("A")->nbatches);
    TEST_ASSERT_EQUAL_size_t(0, aa->queue.bytes);
    TEST_ASSERT_EQUAL_size_t(0, aa->queue.inflight);
}

static void test_an_account_that_loses_jetstream_half_way_does_no_harm(void)
{
    for (unsigned round = 0; round < 30; round++) {
        struct options *now;
        struct mf_error e;

        if (round == 0) {
            start("");
            (void)listen_on("A", "answers.>");
        }
        work_set_steps(loop, 1);
        for (unsigned i = 0; i < 6; i++)
            random_deed();
        loop_turn(loop);
        now = parse(round % 2 == 0 ? ONE_LEFT : TWO, "");
        TEST_ASSERT_EQUAL(0, accounts_reload(accounts, now, NULL, NULL, &e));
        api_reload(api, now);
        options_free(options);
        options = now;
        for (unsigned i = rand_below(5); i > 0; i--)
            loop_turn(loop);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_nothing_is_read_for_nobody);
    RUN_TEST(test_audits_are_listeners_too);
    RUN_TEST(test_a_long_audit_is_written_in_slices);
    RUN_TEST(test_a_client_s_request_does_not_wait_for_others);
    RUN_TEST(test_a_batch_ends_when_its_listener_goes);
    RUN_TEST(test_requests_above_the_limit_are_dropped_and_others_are_served);
    RUN_TEST(test_many_batches_are_all_answered);
    RUN_TEST(test_queued_direct_gets_are_answered_in_their_order);
    RUN_TEST(test_a_direct_get_of_a_large_body_is_measured);
    RUN_TEST(test_a_full_queue_of_direct_gets_serves_the_oldest);
    RUN_TEST(test_streams_that_go_away_half_way_do_no_harm);
    RUN_TEST(test_an_account_that_loses_jetstream_half_way_does_no_harm);
    return UNITY_END();
}
