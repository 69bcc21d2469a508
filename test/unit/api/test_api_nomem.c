/* test_api_nomem.c: every allocation that serving a request makes fails once.  The requester hears
 * something or nothing, but the server goes on, and what it has is as it was. */
#include "api/api.h"
#include "base/clock.h"

#include "api/api_impl.h"
#include "backup/backup_impl.h"
#include "codec/archive.h"
#include "codec/s2.h"
#include "support/no_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

static struct loop *loop;
static struct options *options;
static struct accounts *accounts;
static struct api *api;
static bool is_closed;
static char dir[64], answer[1 << 16];
static unsigned answers;
static struct router_sub inbox, audit;

static int64_t no_time(void *arg)
{
    (void)arg;
    return 1;
}

static bool who(void *arg, const void *origin, struct mf_buf *json)
{
    (void)arg;
    (void)origin;
    mf_buf_puts(json, "{}");
    return true;
}

static void closed(void *arg)
{
    (void)arg;
    is_closed = true;
}

static bool received(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    (void)snprintf(answer, sizeof answer, "%.*s", MF_FMT(m->msg->payload));
    answers++;
    return true;
}

static bool ignored(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    (void)m;
    return true;
}

void setUp(void)
{
    struct api_setup setup = {
        .server_name = "one", .version = "2.15.1", .level = 5, .extension = &backup_extension};
    struct mf_error e;
    struct router *r;
    char text[256];

    (void)snprintf(dir, sizeof dir, "/tmp/test_api.XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    (void)snprintf(text, sizeof text, "jetstream { store_dir: \"%s\" }\n", dir);
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    loop_jobs_inline(loop);
    TEST_ASSERT_EQUAL(0, options_parse(&options, mf_str(text), "test", &e));
    TEST_ASSERT_EQUAL(0, accounts_new(&accounts, options, no_time, NULL, &e));
    r = account_router(accounts_global(accounts));
    inbox = (struct router_sub){.deliver = received};
    audit = (struct router_sub){.deliver = ignored};
    TEST_ASSERT_EQUAL(0, router_subscribe(r, MF_LIT("_INBOX"), MF_SLICE_NONE, &inbox));
    TEST_ASSERT_EQUAL(0, router_subscribe(r, MF_LIT("$JS.EVENT.>"), MF_SLICE_NONE, &audit));
    setup.loop = loop;
    setup.accounts = accounts;
    setup.options = options;
    setup.client_info = who;
    TEST_ASSERT_EQUAL_MESSAGE(0, api_open(&api, &setup, &e), e.text);
}

void tearDown(void)
{
    struct router *r = account_router(accounts_global(accounts));
    char command[128];

    is_closed = false;
    api_close(api, closed, NULL);
    for (int i = 0; i < 1000 && !is_closed; i++)
        loop_turn(loop);
    TEST_ASSERT_TRUE(is_closed);
    router_unsubscribe(r, &inbox);
    router_unsubscribe(r, &audit);
    accounts_free(accounts);
    options_free(options);
    loop_free(loop);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    TEST_ASSERT_EQUAL(0, system(command)); /* NOLINT: a folder of our own making */
}

static struct mf_slice header; /* of the next request */
static bool to_the_end; /* allocations fail until it is answered, not in the first turn only */

/* nth 0: nothing fails.  true: so many allocations were made that the nth one failed. */
static bool ask(const char *subject, const char *body, long nth)
{
    struct mf_msg m = {
        .subject = mf_str(subject), .reply = MF_LIT("_INBOX"), .payload = mf_str(body)};
    m.hdr = header;
    long before = allocations;
    int64_t end_ns;
    bool failed;

    answers = 0;
    fail_at = nth == 0 ? 0 : before + nth;
    (void)account_publish(accounts_global(accounts),
                          &(struct router_msg){.route = m.subject, .msg = &m});
    failed = nth != 0 && allocations - before >= nth;
    if (!to_the_end)
        fail_at = 0;
    /* A job that could not be queued inline runs in a worker, which takes its time. */
    end_ns = clock_mono_ns() + 60 * CLOCK_S;
    for (int i = 0; answers == 0 && (i < 50 || (api->inflight > 0 && clock_mono_ns() < end_ns));
         i++)
        loop_turn(loop);
    if (to_the_end)
        failed = nth != 0 && allocations - before >= nth;
    fail_at = 0;
    return failed;
}

static void expect(const char *subject, const char *body, const char *part)
{
    (void)ask(subject, body, 0);
    TEST_ASSERT_EQUAL_UINT(1, answers);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(answer, part), answer);
}

/* Requests that only look: whatever failed, they are answered, and so is the next one. */
static void test_looking_without_memory_does_no_harm(void)
{
    static const char *const requests[][2] = {
        {"$JS.API.INFO", ""},
        {"$JS.API.STREAM.INFO.S", "{\"subjects_filter\":\">\",\"deleted_details\":true}"},
        {"$JS.API.STREAM.NAMES", "{\"subject\":\"s.>\"}"},
        {"$JS.API.STREAM.LIST", "{}"},
        {"$JS.API.STREAM.MSG.GET.S", "{\"last_by_subj\":\"s.a\"}"},
        {"$JS.API.STREAM.MSG.GET.S", "{\"start_time\":\"2020-01-01T00:00:00Z\"}"},
        {"$JS.API.STREAM.MSG.GET.S", "{\"last_by_subj\":\"*.a\"}"},
        {"$JS.API.STREAM.MSG.GET.S", "{\"next_by_subj\":\"*.b\"}"},
        {"$JS.API.CONSUMER.NAMES.S", ""},
        {"$JS.API.CONSUMER.LIST.S", ""},
        {"$JS.API.DIRECT.GET.S", "{\"last_by_subj\":\"*.a\"}"},
        {"$JS.API.DIRECT.GET.S", "{\"next_by_subj\":\"*.b\",\"seq\":1}"},
        {"$JS.API.DIRECT.GET.S", "{\"multi_last\":[\"none.*\",\"s.x\",\"*.y\"]}"},
        {"$JS.API.STREAM.INFO.none", ""},
        {"$JS.API.STREAM.DELETE.none", ""},
    };

    expect("$JS.API.STREAM.CREATE.S",
           "{\"name\":\"S\",\"subjects\":[\"s.>\"],\"allow_direct\":true}", "did_create");
    expect("s.a", "x", "\"seq\":1");
    expect("s.b", "x", "\"seq\":2");
    to_the_end = true;
    for (size_t i = 0; i < MF_COUNT(requests); i++) {
        for (long n = 1; ask(requests[i][0], requests[i][1], n); n++) {
            TEST_ASSERT_EQUAL_UINT_MESSAGE(1, answers, requests[i][0]);
            TEST_ASSERT_LESS_THAN_INT64(10000, n);
        }
        TEST_ASSERT_EQUAL_UINT(1, answers);
    }
    to_the_end = false;
    expect("$JS.API.STREAM.INFO.S", "", "\"messages\":2");
}

/* Requests of the TTL API: each tells of the shortage (10023), and the next one is served. */
static void test_the_ttl_api_without_memory_says_so(void)
{
    static const char *const requests[][2] = {
        {"GET.S.s.a", ""},
        {"LIST.S", "{\"within\":\"48h\",\"filter\":\"s.>\"}"},
        {"LIST.S", "{\"state\":\"without\"}"},
        {"STATS.S", ""},
        {"STATS.S", "{\"depth\":2}"},
        {"STATS.S", "{\"filter\":\"s.*\",\"depth\":1}"},
        {"STATS", ""},
        {"FORECAST.S", ""},
        {"FORECAST.S", "{\"filter\":\"s.*\"}"},
        {"POLICY.S", "{\"what_if\":{\"mayfly.ttl.default\":\"1h\"}}"},
        {"POLICY", ""},
        {"SET.S", "{\"filter\":\"s.*\",\"ttl\":\"1h\"}"},
        {"TOUCH.S.s.a", ""},
        {"PERSIST.S.s.b", ""},
    };
    char subject[64];

    expect("$JS.API.STREAM.CREATE.S",
           "{\"name\":\"S\",\"subjects\":[\"s.>\"],\"storage\":\"memory\","
           "\"metadata\":{\"mayfly.ttl.default\":\"24h\"}}",
           "did_create");
    expect("s.a", "x", "\"seq\":1");
    expect("s.b", "x", "\"seq\":2");
    to_the_end = true;
    for (size_t i = 0; i < MF_COUNT(requests); i++) {
        unsigned told = 0;
        (void)snprintf(subject, sizeof subject, "$MAYFLY.TTL.%s", requests[i][0]);
        for (long n = 1; ask(subject, requests[i][1], n); n++) {
            TEST_ASSERT_EQUAL_UINT_MESSAGE(1, answers, subject);
            told += strstr(answer, "\"err_code\":10023") != NULL;
            TEST_ASSERT_LESS_THAN_INT64(10000, n);
        }
        TEST_ASSERT_GREATER_THAN_UINT_MESSAGE(0, told, subject);
        TEST_ASSERT_EQUAL_UINT(1, answers);
        TEST_ASSERT_NULL_MESSAGE(strstr(answer, "\"error\""), answer);
    }
    to_the_end = false;
    expect("$MAYFLY.TTL.STATS", "", "\"items_infinite_ttl\":1,");
}

/* A publisher is told, and told the truth: a sequence means that it is stored. */
static void test_publishing_without_memory_is_answered(void)
{
    char body[32];
    int stored = 0;

    expect("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\",\"subjects\":[\"s.>\"]}", "did_create");
    for (long n = 1; ask("s.a", "x", n); n++) {
        TEST_ASSERT_EQUAL_UINT(1, answers);
        stored += strstr(answer, "\"error\"") == NULL;
        TEST_ASSERT_LESS_THAN_INT64(10000, n);
    }
    stored += answers == 1 && strstr(answer, "\"error\"") == NULL;
    (void)snprintf(body, sizeof body, "\"messages\":%d", stored);
    expect("$JS.API.STREAM.INFO.S", "", body);
}

/* An ack also promises that the same id is not stored again: without memory for the id, no ack. */
static void test_no_ack_without_memory_for_the_id(void)
{
    char text[64];
    bool failed = true;

    for (long n = 1; failed; n++) {
        expect("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\",\"subjects\":[\"s.>\"]}", "did_create");
        int len = snprintf(text, sizeof text, "NATS/1.0\r\nNats-Msg-Id: %ld\r\n\r\n", n);
        header = mf_slice(text, (size_t)len);
        failed = ask("s.a", "x", n);
        TEST_ASSERT_EQUAL_UINT(1, answers);
        if (strstr(answer, "\"error\"") == NULL)
            expect("s.a", "x", "\"duplicate\"");
        header = MF_SLICE_NONE;
        expect("$JS.API.STREAM.DELETE.S", "", "success");
        TEST_ASSERT_LESS_THAN_INT64(10000, n);
    }
}

/* Requests that change something: it is done or it is not, and the answer tells which. */
static void test_changing_without_memory_changes_all_or_nothing(void)
{
    for (long n = 1; ask("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\"}", n); n++) {
        bool made = answers == 1 && strstr(answer, "did_create") != NULL;
        TEST_ASSERT_LESS_OR_EQUAL_UINT(1, answers);
        expect("$JS.API.STREAM.DELETE.S", "", made ? "success" : "10059");
    }
    for (long n = 1; ask("$JS.API.STREAM.UPDATE.S", "{\"name\":\"S\",\"max_msgs\":7}", n); n++) {
        bool made = answers == 1 && strstr(answer, "\"max_msgs\":7") != NULL;
        expect("$JS.API.STREAM.INFO.S", "", made ? "\"max_msgs\":7" : "\"max_msgs\":-1");
        expect("$JS.API.STREAM.UPDATE.S", "{\"name\":\"S\"}", "\"max_msgs\":-1");
    }
    for (long n = 1; ask("$JS.API.STREAM.PURGE.S", "{\"filter\":\"S\"}", n); n++)
        TEST_ASSERT_LESS_OR_EQUAL_UINT(1, answers);
    for (long n = 1; ask("$JS.API.STREAM.DELETE.S", "", n); n++) {
        bool gone = answers == 1 && strstr(answer, "success") != NULL;
        expect("$JS.API.STREAM.INFO.S", "", gone ? "10059" : "\"messages\":0");
        expect("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\",\"max_msgs\":7}", "did_create");
    }
}

/* The same for consumers. */
static void test_consumers_without_memory_are_made_whole_or_not_at_all(void)
{
    static const char make[] = "{\"stream_name\":\"S\",\"config\":{\"durable_name\":\"C\","
                               "\"filter_subjects\":[\"s.a\",\"s.*.b\"],\"backoff\":[1,2],"
                               "\"metadata\":{\"k\":\"v\"}}}";
    static const char change[] = "{\"stream_name\":\"S\",\"config\":{\"durable_name\":\"C\","
                                 "\"description\":\"new\"}}";
    static const char *const look[][2] = {
        {"$JS.API.CONSUMER.INFO.S.C", ""},
        {"$JS.API.CONSUMER.NAMES.S", "{\"offset\":0}"},
        {"$JS.API.CONSUMER.LIST.S", ""},
        {"$JS.API.CONSUMER.PAUSE.S.none", "{}"},
        {"$JS.API.CONSUMER.UNPIN.S.C", "{\"group\":\"g\"}"},
        {"$JS.API.CONSUMER.CREATE.S.C",
         "{\"stream_name\":\"S\",\"config\":{\"sample_freq\":\"x\"}}"},
    };

    expect("$JS.API.STREAM.CREATE.S", "{\"name\":\"S\",\"subjects\":[\"s.>\"]}", "did_create");
    for (long n = 1; ask("$JS.API.CONSUMER.CREATE.S.C", make, n); n++) {
        bool made = answers == 1 && strstr(answer, "\"name\":\"C\"") != NULL;
        TEST_ASSERT_LESS_OR_EQUAL_UINT(1, answers);
        expect("$JS.API.CONSUMER.DELETE.S.C", "", made ? "success" : "10014");
    }
    for (size_t i = 0; i < MF_COUNT(look); i++) {
        for (long n = 1; ask(look[i][0], look[i][1], n); n++)
            TEST_ASSERT_LESS_OR_EQUAL_UINT(1, answers);
        TEST_ASSERT_EQUAL_UINT(1, answers);
    }
    for (long n = 1; ask("$JS.API.CONSUMER.CREATE.S.C", change, n); n++) {
        bool made = answers == 1 && strstr(answer, "\"description\":\"new\"") != NULL;
        expect("$JS.API.CONSUMER.INFO.S.C", "", made ? "\"description\":\"new\"" : "\"k\":\"v\"");
        expect("$JS.API.CONSUMER.CREATE.S.C", make, "\"k\":\"v\"");
    }
    for (long n = 1;
         ask("$JS.API.CONSUMER.PAUSE.S.C", "{\"pause_until\":\"2090-01-01T00:00:00Z\"}", n); n++)
        TEST_ASSERT_LESS_OR_EQUAL_UINT(1, answers);
    expect("$JS.API.CONSUMER.INFO.S.C", "", "\"paused\":true");
    for (long n = 1; ask("$JS.API.CONSUMER.DELETE.S.C", "", n); n++) {
        bool gone = answers == 1 && strstr(answer, "success") != NULL;
        expect("$JS.API.CONSUMER.INFO.S.C", "", gone ? "10014" : "\"name\":\"C\"");
        expect("$JS.API.CONSUMER.CREATE.S.C", make, "\"name\":\"C\"");
    }
}

/* --- restores ------------------------------------------------------------------------------- */

static void read_asset(const char *name, struct mf_buf *out)
{
    char path[512];
    uint8_t part[4096];
    size_t n;
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/snapshot/%s", ASSETS, name);
    f = fopen(path, "rb");
    TEST_ASSERT_NOT_NULL_MESSAGE(f, path);
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        mf_buf_append(out, part, n);
    (void)fclose(f);
}

/* Five messages and a consumer that waits for two of them. */
static void make_archive(struct mf_buf *out)
{
    static const char state[] = "{\"first_seq\":1,\"last_seq\":6,\"consumer_count\":1}";
    static const char consumer[] =
        "{\"config\":{\"durable_name\":\"C\",\"ack_policy\":\"explicit\"},\"state\":{"
        "\"delivered\":{\"consumer_seq\":4,\"stream_seq\":3},"
        "\"ack_floor\":{\"consumer_seq\":1,\"stream_seq\":1},\"redelivered\":{\"2\":1},\"pending\":"
        "{\"2\":{\"Sequence\":2,\"Timestamp\":5},\"3\":{\"Sequence\":3,\"Timestamp\":5}}}}";
    struct mf_buf raw = MF_BUF_INIT;

    archive_begin(&raw);
    archive_add(&raw, &(struct archive_entry){
                          .name = MF_LIT("state.json"), .ts_ns = 1, .payload = mf_str(state)});
    archive_add(&raw, &(struct archive_entry){
                          .name = MF_LIT("consumers/C"), .ts_ns = 1, .payload = mf_str(consumer)});
    for (uint64_t seq = 1; seq <= 5; seq++)
        archive_add(&raw, &(struct archive_entry){.name = MF_LIT("s.a"), .ts_ns = 1, .seq = seq});
    archive_end(&raw);
    s2_frame_begin(out);
    s2_frame_add(out, mf_buf_slice(&raw));
    mf_buf_fini(&raw);
}

static bool restoring(void)
{
    struct js_account *ja = mf_container(mf_list_first(&api->js->list), struct js_account, link);

    return !mf_list_empty(&backup_account(api_account(ja))->restores);
}

/* false: nobody answered. */
static bool send_chunk(const char *to, struct mf_slice bytes)
{
    struct mf_msg m = {.subject = mf_str(to), .reply = MF_LIT("_INBOX"), .payload = bytes};
    int64_t end_ns;

    answers = 0;
    (void)account_publish(accounts_global(accounts),
                          &(struct router_msg){.route = m.subject, .msg = &m});
    end_ns = clock_mono_ns() + CLOCK_S;
    while (answers == 0 && restoring() && clock_mono_ns() < end_ns)
        loop_turn(loop);
    return answers > 0;
}

/* The nth allocation of a whole restore fails.  true: there were so many.  *heard: it was answered,
 * which needs memory, too. */
static bool restore_once(struct mf_slice bytes, long nth, bool *heard)
{
    long before;
    bool failed, done = false;
    char to[128] = "";

    expect("$JS.API.STREAM.RESTORE.S",
           "{\"config\":{\"name\":\"S\",\"subjects\":[\"s.>\"]},\"state\":{}}", "deliver_subject");
    TEST_ASSERT_EQUAL(1, sscanf(strstr(answer, "$JS.SNAPSHOT"), "%127[^\"]", to));
    before = allocations;
    fail_at = before + nth;
    (void)send_chunk(to, bytes);
    for (int i = 0; i < 3 && !done; i++)
        done = send_chunk(to, MF_SLICE_NONE);
    failed = allocations - before >= nth;
    fail_at = 0;
    *heard = done;
    return failed;
}

static void restore_all_or_nothing(struct mf_slice bytes)
{
    bool failed = true;

    for (long n = 1; failed; n++) {
        bool made, heard;

        TEST_ASSERT_LESS_THAN_INT64(10000, n);
        failed = restore_once(bytes, n, &heard);
        TEST_ASSERT_TRUE(heard || failed);
        if (!heard) { /* given up after 5 s */
            int64_t end_ns = clock_mono_ns() + 60 * CLOCK_S;
            while (restoring() && clock_mono_ns() < end_ns)
                loop_turn(loop);
            (void)ask("$JS.API.STREAM.INFO.S", "", 0);
        }
        made = strstr(answer, "\"error\"") == NULL;
        TEST_ASSERT_TRUE_MESSAGE(made || failed, answer);
        expect("$JS.API.STREAM.INFO.S", "", made ? "\"messages\":5" : "10059");
        if (!made)
            continue;
        expect("$JS.API.CONSUMER.INFO.S.C", "", "\"num_redelivered\":");
        expect("$JS.API.STREAM.DELETE.S", "", "success");
    }
}

static void test_a_restore_without_memory_leaves_all_or_nothing(void)
{
    struct mf_buf bytes = MF_BUF_INIT;

    make_archive(&bytes);
    restore_all_or_nothing(mf_buf_slice(&bytes));
    mf_buf_clear(&bytes);
    read_asset("nats-tar.s2", &bytes);
    restore_all_or_nothing(mf_buf_slice(&bytes));
    mf_buf_fini(&bytes);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_looking_without_memory_does_no_harm);
    RUN_TEST(test_the_ttl_api_without_memory_says_so);
    RUN_TEST(test_publishing_without_memory_is_answered);
    RUN_TEST(test_no_ack_without_memory_for_the_id);
    RUN_TEST(test_changing_without_memory_changes_all_or_nothing);
    RUN_TEST(test_consumers_without_memory_are_made_whole_or_not_at_all);
    RUN_TEST(test_a_restore_without_memory_leaves_all_or_nothing);
    return UNITY_END();
}
