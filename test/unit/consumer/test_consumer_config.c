/* test_consumer_config.c: a consumer's configuration by itself, and what its stream, its account
 * and the other consumers have to say.  What nats-server says to each field and to any two of them
 * is compared in test_consumer_json.c. */
#include "consumer/consumer_config.h"

#include "support/config_rows.h"
#include "support/no_memory.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct stream_config stream;
static struct consumer_config_world world;
static struct js_error err;

#define DURATIONS(...)                                                                             \
    {                                                                                              \
        (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)               \
    }

void setUp(void)
{
    stream_config_init(&stream);
    stream.replicas = 1;
    stream.max_consumers = -1;
    world = (struct consumer_config_world){.stream = &stream,
                                           .max_ack_pending = -1,
                                           .account_max_ack_pending = -1,
                                           .max_consumers = -1};
    memset(&err, 0, sizeof err);
    fail_at = 0;
}

void tearDown(void)
{
}

static const struct consumer_config full = {
    .durable_name = CR_T("D"),
    .name = CR_T("D"),
    .description = CR_T("what it is for"),
    .deliver_policy = DELIVER_BY_TIME,
    .opt_start_seq = 7,
    .opt_start_time_ns = 8,
    .has_start_time = true,
    .ack_policy = ACK_EXPLICIT,
    .ack_wait_ns = 9,
    .max_deliver = 10,
    .backoff = DURATIONS(9, 11),
    .filter_subject = CR_T("f.>"),
    .filter_subjects = CR_STRS("a", "b.*"),
    .replay_policy = REPLAY_ORIGINAL,
    .rate_limit_bps = 12,
    .sample_freq = CR_T("50%"),
    .max_waiting = 13,
    .max_ack_pending = 14,
    .flow_control = true,
    .headers_only = true,
    .max_batch = 15,
    .max_expires_ns = 16,
    .max_bytes = 17,
    .deliver_subject = CR_T("to"),
    .deliver_group = CR_T("g"),
    .idle_heartbeat_ns = 18,
    .inactive_threshold_ns = 19,
    .replicas = 1,
    .mem_storage = true,
    .direct = true,
    .sourcing = true,
    .metadata = CR_META("k", "v"),
    .pause_until_ns = 20,
    .priority_groups = CR_STRS("one", "two"),
    .priority_policy = PRIORITY_PINNED,
    .priority_timeout_ns = 21,
};

/* --- copies ----------------------------------------------------------------------------------- */

static void test_copy_is_the_same_and_shares_nothing(void)
{
    struct consumer_config c;

    TEST_ASSERT_EQUAL(0, consumer_config_copy(&c, &full));
    TEST_ASSERT_TRUE(consumer_config_equal(&c, &full));
    TEST_ASSERT_TRUE(c.name != full.name && c.backoff.at != full.backoff.at);
    TEST_ASSERT_TRUE(c.filter_subjects.at != full.filter_subjects.at);
    TEST_ASSERT_TRUE(c.metadata.at[0].value != full.metadata.at[0].value);
    consumer_config_fini(&c);
}

/* There may be 100,000 of them, each most often with a name and a filter: one block, no slack. */
static void test_copy_takes_one_small_block(void)
{
    struct consumer_config small = {.name = CR_T("watcher"), .filter_subject = CR_T("$KV.B.>")}, c;
    long before = allocations;

    TEST_ASSERT_EQUAL(0, consumer_config_copy(&c, &small));
    TEST_ASSERT_EQUAL(before + 1, allocations);
    TEST_ASSERT_LESS_OR_EQUAL(64, c.mem.cap);
    consumer_config_fini(&c);
    consumer_config_init(&small);
    TEST_ASSERT_EQUAL(0, consumer_config_copy(&c, &small)); /* nothing at all */
    TEST_ASSERT_TRUE(consumer_config_equal(&c, &small));
    consumer_config_fini(&c);
}

static void test_copy_without_memory_leaves_an_empty_one(void)
{
    struct consumer_config c;

    fail_at = allocations + 1;
    TEST_ASSERT_EQUAL(MF_NOMEM, consumer_config_copy(&c, &full));
    TEST_ASSERT_NULL(c.name);
    consumer_config_fini(&c);
}

/* --- equal ------------------------------------------------------------------------------------ */

/* action "create" of one that is there succeeds only if nothing differs: no field may be forgotten.
 */
static void test_every_field_makes_a_difference(void)
{
    const struct consumer_config none = {.name = NULL};
    static const struct {
        size_t at, size;
    } fields[] = {
#define F(f) {offsetof(struct consumer_config, f), sizeof(((struct consumer_config *)0)->f)}
        F(durable_name),
        F(name),
        F(description),
        F(deliver_policy),
        F(opt_start_seq),
        F(has_start_time),
        F(ack_policy),
        F(ack_wait_ns),
        F(max_deliver),
        F(backoff),
        F(filter_subject),
        F(filter_subjects),
        F(replay_policy),
        F(rate_limit_bps),
        F(sample_freq),
        F(max_waiting),
        F(max_ack_pending),
        F(flow_control),
        F(headers_only),
        F(max_batch),
        F(max_expires_ns),
        F(max_bytes),
        F(deliver_subject),
        F(deliver_group),
        F(idle_heartbeat_ns),
        F(inactive_threshold_ns),
        F(replicas),
        F(mem_storage),
        F(direct),
        F(sourcing),
        F(metadata),
        F(pause_until_ns),
        F(priority_groups),
        F(priority_policy),
        F(priority_timeout_ns),
    };

    for (size_t i = 0; i < MF_COUNT(fields); i++) {
        struct consumer_config c = none;
        char which[32];
        memcpy((char *)&c + fields[i].at, (const char *)&full + fields[i].at, fields[i].size);
        (void)snprintf(which, sizeof which, "field %zu", i);
        TEST_ASSERT_FALSE_MESSAGE(consumer_config_equal(&c, &none), which);
        TEST_ASSERT_FALSE_MESSAGE(consumer_config_equal(&none, &c), which);
        TEST_ASSERT_TRUE_MESSAGE(consumer_config_equal(&c, &c), which);
    }
}

static void test_what_the_server_writes_into_metadata_makes_none(void)
{
    struct consumer_config a = {.metadata = CR_META("_nats.req.level", "1")}, b = {.name = NULL};

    TEST_ASSERT_TRUE(consumer_config_equal(&a, &b));
    a.name = CR_T(""); /* the same as none */
    TEST_ASSERT_TRUE(consumer_config_equal(&a, &b));
}

static void test_times_and_lists_are_compared_by_value(void)
{
    struct consumer_config a = {.has_start_time = true, .opt_start_time_ns = 1}, b = a;

    b.opt_start_time_ns = 2;
    TEST_ASSERT_FALSE(consumer_config_equal(&a, &b));
    a.has_start_time = b.has_start_time = false;
    TEST_ASSERT_TRUE(consumer_config_equal(&a, &b));
    a.filter_subjects = (struct json_strs)CR_STRS("x", "y");
    b.filter_subjects = (struct json_strs)CR_STRS("y", "x");
    TEST_ASSERT_FALSE(consumer_config_equal(&a, &b));
}

/* --- levels ----------------------------------------------------------------------------------- */

static void test_level_follows_from_what_is_used(void)
{
    TEST_ASSERT_EQUAL(0, consumer_config_level(&(struct consumer_config){.name = NULL}));
    TEST_ASSERT_EQUAL(1, consumer_config_level(&(struct consumer_config){.pause_until_ns = 1}));
    TEST_ASSERT_EQUAL(
        1, consumer_config_level(&(struct consumer_config){.priority_policy = PRIORITY_OVERFLOW}));
    TEST_ASSERT_EQUAL(1,
                      consumer_config_level(&(struct consumer_config){.priority_timeout_ns = -1}));
    TEST_ASSERT_EQUAL(
        4, consumer_config_level(&(struct consumer_config){.ack_policy = ACK_FLOW_CONTROL}));
}

static void test_stamp_replaces_what_the_client_sent_back(void)
{
    struct consumer_config c;

    TEST_ASSERT_EQUAL(0, consumer_config_copy(&c, &(struct consumer_config){
                                                      .metadata = CR_META("_nats.ver", "1.2.3")}));
    TEST_ASSERT_EQUAL(0, consumer_config_stamp(&c));
    TEST_ASSERT_EQUAL(1, c.metadata.n);
    TEST_ASSERT_EQUAL_STRING("_nats.req.level", c.metadata.at[0].key);
    TEST_ASSERT_EQUAL_STRING("0", c.metadata.at[0].value);
    consumer_config_fini(&c);
}

/* nats-server shows level 1 while a time is set, even one that has passed. */
static void test_pause_is_stamped_and_takes_no_more_room(void)
{
    struct consumer_config c;

    TEST_ASSERT_EQUAL(0, consumer_config_copy(&c, &(struct consumer_config){.name = CR_T("C")}));
    TEST_ASSERT_EQUAL(0, consumer_config_set_pause(&c, 5));
    TEST_ASSERT_EQUAL_INT64(5, c.pause_until_ns);
    TEST_ASSERT_EQUAL_STRING("1", c.metadata.at[0].value);
    TEST_ASSERT_EQUAL_STRING("C", c.name);
    TEST_ASSERT_LESS_OR_EQUAL(64, c.mem.cap);
    for (long n = 1; n <= 3; n++) { /* all or nothing */
        fail_at = allocations + n;
        TEST_ASSERT_EQUAL(MF_NOMEM, consumer_config_set_pause(&c, 0));
        TEST_ASSERT_EQUAL_INT64(5, c.pause_until_ns);
    }
    fail_at = 0;
    TEST_ASSERT_EQUAL(0, consumer_config_set_pause(&c, 0));
    TEST_ASSERT_EQUAL_STRING("0", c.metadata.at[0].value);
    consumer_config_fini(&c);
}

/* --- limits ----------------------------------------------------------------------------------- */

static int check(const struct consumer_config *row, struct consumer_config *out)
{
    TEST_ASSERT_EQUAL(0, consumer_config_copy(out, row));
    return consumer_config_check(out, &world, &err);
}

static void refused(const struct consumer_config *row, uint16_t err_code, const char *text)
{
    struct consumer_config c;

    TEST_ASSERT_EQUAL(MF_DENIED, check(row, &c));
    TEST_ASSERT_EQUAL(err_code, err.err_code);
    TEST_ASSERT_EQUAL_STRING(text, err.text);
    consumer_config_fini(&c);
}

static void test_pending_acks_are_bounded_by_server_account_and_stream(void)
{
    const struct consumer_config c = {.ack_policy = ACK_EXPLICIT, .max_ack_pending = 100};
    struct consumer_config got;

    world.max_ack_pending = 90;
    refused(&c, 10121, "consumer max ack pending exceeds system limit of 90");
    world.account_max_ack_pending = 80;
    refused(&c, 10121, "consumer max ack pending exceeds system limit of 90");
    world.max_ack_pending = 0;
    refused(&c, 10121, "consumer max ack pending exceeds system limit of 80");
    world.account_max_ack_pending = -1;
    stream.consumer_limits.max_ack_pending = 70;
    refused(&c, 10121, "consumer max ack pending exceeds system limit of 70");
    stream.consumer_limits.max_ack_pending = 0;
    world.max_ack_pending = 500;
    world.account_max_ack_pending = 400;
    TEST_ASSERT_EQUAL(0, check(&(struct consumer_config){.ack_policy = ACK_ALL}, &got));
    TEST_ASSERT_EQUAL(400, got.max_ack_pending); /* the default gives way */
    consumer_config_fini(&got);
}

static void test_request_batches_are_bounded_by_the_server(void)
{
    struct consumer_config got;

    world.max_request_batch = 10;
    refused(&(struct consumer_config){.max_batch = 11}, 10125,
            "consumer max request batch exceeds server limit of 10");
    TEST_ASSERT_EQUAL(0, check(&(struct consumer_config){.name = NULL}, &got));
    TEST_ASSERT_EQUAL(10, got.max_batch);
    consumer_config_fini(&got);
    TEST_ASSERT_EQUAL(0, check(&(struct consumer_config){.deliver_subject = CR_T("q")}, &got));
    TEST_ASSERT_EQUAL(0, got.max_batch);
    consumer_config_fini(&got);
    world.pedantic = true;
    refused(&(struct consumer_config){.name = NULL}, 10157,
            "pedantic mode: max_request_batch must be set if it's JetStream limits are set");
}

static void test_inactivity_is_bounded_by_the_stream(void)
{
    stream.consumer_limits.inactive_threshold_ns = 90 * CR_S;
    refused(&(struct consumer_config){.inactive_threshold_ns = 91 * CR_S}, 10153,
            "consumer inactive threshold exceeds system limit of 1m30s");
}

static int admit(const struct consumer_config *c, bool exists)
{
    memset(&err, 0, sizeof err);
    return consumer_config_admit(c, exists, &world, &err);
}

/* As answered by nats-server: the cap holds only where nobody said how many. */
static void test_number_of_consumers_has_a_limit(void)
{
    static const struct {
        int64_t of_stream, of_account;
        int64_t fallback;
        size_t max;
    } rows[] = {
        {-1, -1, 1000, 1000}, {-1, -1, 100000, 100000},
        {0, 0, 7, 7},         {1200, -1, 1000, 1200},
        {1200, 5, 1000, 5},   {3, 5, 1000, 3},
        {-1, 2, -1, 2},       {-1, 2000, 1000, 2000},
        {5, -1, 3, 5},        {-1, 4, 3, 4},
        {-1, 2, 3, 2},
    };
    const struct consumer_config c = {.name = CR_T("N")};

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        stream.max_consumers = rows[i].of_stream;
        world.max_consumers = rows[i].of_account;
        world.default_max_consumers = rows[i].fallback;
        world.consumers = rows[i].max - 1;
        TEST_ASSERT_EQUAL(0, admit(&c, false));
        world.consumers++;
        TEST_ASSERT_EQUAL(MF_DENIED, admit(&c, false));
        TEST_ASSERT_EQUAL(10026, err.err_code);
        TEST_ASSERT_EQUAL(0, admit(&c, true)); /* what is there may stay */
    }
}

static void test_long_names_are_refused_last(void)
{
    struct consumer_config c = {.durable_name = CR_T(CR_X256)};

    TEST_ASSERT_EQUAL(MF_DENIED, admit(&c, false));
    TEST_ASSERT_EQUAL_STRING("consumer name is too long, maximum allowed is 255", err.text);
    c = (struct consumer_config){.name = CR_T(CR_X256), .deliver_policy = DELIVER_NEW};
    TEST_ASSERT_EQUAL(MF_DENIED, admit(&c, false));
    TEST_ASSERT_EQUAL(10102, err.err_code);
    stream.retention = RETENTION_WORKQUEUE;
    TEST_ASSERT_EQUAL(MF_DENIED, admit(&c, false));
    TEST_ASSERT_EQUAL(10098, err.err_code);
}

/* --- work queues ------------------------------------------------------------------------------ */

struct list {
    const struct consumer_config *at[4];
};

/* The filters of those in the list, as their stream would have them. */
static struct pattern_entry claimed[8];

static void claim(struct pattern_tree *t, const struct list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < MF_COUNT(l->at) && l->at[i] != NULL; i++) {
        char *const *filter;
        size_t filters = consumer_filters(l->at[i], &filter);
        for (size_t k = 0; k < (filters == 0 ? 1 : filters); k++, n++) {
            TEST_ASSERT_LESS_THAN(MF_COUNT(claimed), n);
            claimed[n] = (struct pattern_entry){
                .text = filters == 0 ? MF_LIT(">") : mf_str(filter[k]), .owner = l->at[i]};
            TEST_ASSERT_EQUAL(0, pattern_tree_add(t, &claimed[n]));
        }
    }
}

#define QUEUE(...) (&(const struct consumer_config){.ack_policy = ACK_EXPLICIT, __VA_ARGS__})

/* A message of a work queue has one owner; nats-server's own words for whoever would be a second.
 */
static void test_work_queue_gives_no_subject_to_two(void)
{
    const struct {
        struct list others;
        const struct consumer_config *c;
        uint16_t err_code; /* 0: accepted */
        bool exists;
    } rows[] = {
        {{{NULL}}, QUEUE(.name = NULL), 0, false},
        {{{QUEUE(.filter_subject = CR_T("a"))}}, QUEUE(.name = NULL), 10099, false},
        {{{QUEUE(.filter_subject = CR_T("a"))}}, QUEUE(.filter_subject = CR_T("b")), 0, false},
        {{{QUEUE(.filter_subject = CR_T("a"))}}, QUEUE(.filter_subject = CR_T("a")), 10100, false},
        {{{QUEUE(.filter_subject = CR_T("a.*.c"))}},
         QUEUE(.filter_subject = CR_T("a.b.*")),
         10100,
         false},
        {{{QUEUE(.name = NULL)}}, QUEUE(.filter_subject = CR_T("b")), 10100, false},
        {{{QUEUE(.filter_subjects = CR_STRS("x", "y.>")), QUEUE(.filter_subject = CR_T("z"))}},
         QUEUE(.filter_subjects = CR_STRS("q", "y.1")),
         10100,
         false},
        {{{QUEUE(.filter_subjects = CR_STRS("x", "y.>")), QUEUE(.filter_subject = CR_T("z"))}},
         QUEUE(.filter_subjects = CR_STRS("q", "y")),
         0,
         false},
        /* An update is only asked for its filters. */
        {{{QUEUE(.filter_subject = CR_T("a"))}}, QUEUE(.name = NULL), 0, true},
        {{{QUEUE(.filter_subject = CR_T("a"))}}, QUEUE(.filter_subject = CR_T(">")), 10100, true},
    };

    stream.retention = RETENTION_WORKQUEUE;
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct list others = rows[i].others;
        struct pattern_tree claims = {0};
        claim(&claims, &others);
        world.claims = &claims;
        world.consumers = (others.at[0] != NULL) + (others.at[1] != NULL);
        TEST_ASSERT_EQUAL(rows[i].err_code == 0 ? 0 : MF_DENIED, admit(rows[i].c, rows[i].exists));
        TEST_ASSERT_EQUAL(rows[i].err_code, err.err_code);
        world.self = others.at[0]; /* who is alone meets nobody */
        if (others.at[1] == NULL && rows[i].exists)
            TEST_ASSERT_EQUAL(0, admit(rows[i].c, true));
        world.self = NULL;
        pattern_tree_fini(&claims);
    }
    world.claims = NULL;
}

static void test_copiers_are_no_owners(void)
{
    const struct consumer_config c = {.direct = true, .deliver_policy = DELIVER_NEW};

    stream.retention = RETENTION_WORKQUEUE;
    world.consumers = 3;
    TEST_ASSERT_EQUAL(0, admit(&c, false));
}

/* --- names and filters ------------------------------------------------------------------------ */

static void test_filters_are_one_or_many_or_none(void)
{
    struct consumer_config c = {.filter_subject = CR_T("a.*")};
    char *const *at;

    TEST_ASSERT_EQUAL(1, consumer_filters(&c, &at));
    TEST_ASSERT_EQUAL_STRING("a.*", at[0]);
    c = (struct consumer_config){.filter_subjects = CR_STRS("x", "y.>")};
    TEST_ASSERT_EQUAL(2, consumer_filters(&c, &at));
    c = (struct consumer_config){.filter_subject = CR_T("")};
    TEST_ASSERT_EQUAL(0, consumer_filters(&c, &at));
}

/* Filters are compared in a tree, and lists that it cannot compare are refused. */
static struct consumer_config *many_filters(const char *format, const char *other, size_t n)
{
    static struct consumer_config c;

    consumer_config_fini(&c);
    c.filter_subjects.at = arena_alloc(&c.mem, n * sizeof(char *));
    c.filter_subjects.n = n;
    for (size_t i = 0; i < n; i++)
        c.filter_subjects.at[i] = arena_printf(&c.mem, i < n / 2 ? format : other, i);
    return &c;
}

static void test_more_filters_than_can_be_compared_are_refused(void)
{
    const struct {
        const char *format, *other;
        size_t n;
        const char *text; /* NULL: accepted */
    } rows[] = {
        {"a.%zu", "b.%zu", CONSUMER_FILTERS_MAX, NULL},
        {"a.%zu.*", "*.b.%zu", CONSUMER_FILTERS_MAX, NULL},
        {"a.%zu", "b.%zu", CONSUMER_FILTERS_MAX + 1, "maximum number of filter subjects is 8000"},
        {"a.b.c.d.e.f.%zu", "b.c.d.e.f.g.%zu", CONSUMER_FILTERS_MAX,
         "maximum number of tokens in all filter subjects is 50000"},
        {"a.%zu", "a.%zu.>", 100, NULL},
        {"a.%zu.b", "a.*.b", 3, "consumer subject filters cannot overlap"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct consumer_config *c = many_filters(rows[i].format, rows[i].other, rows[i].n);
        int rc = consumer_config_check(c, &world, &err);
        TEST_ASSERT_EQUAL_INT_MESSAGE(rows[i].text == NULL ? 0 : MF_DENIED, rc, rows[i].format);
        if (rc != 0)
            TEST_ASSERT_EQUAL_STRING(rows[i].text, err.text);
    }
    consumer_config_fini(many_filters("a", "a", 0));
}

static void test_names_of_groups(void)
{
    TEST_ASSERT_TRUE(consumer_group_valid("aZ09/_=-"));
    TEST_ASSERT_TRUE(consumer_group_valid(CR_X16));
    TEST_ASSERT_FALSE(consumer_group_valid(CR_X16 "x"));
    TEST_ASSERT_FALSE(consumer_group_valid(""));
    TEST_ASSERT_FALSE(consumer_group_valid(NULL));
    TEST_ASSERT_FALSE(consumer_group_valid("a+b")); /* whatever the error's text says */
}

/* Compared pair by pair they would stop the server for a second. */
static void test_many_literal_filters_are_no_work(void)
{
    enum { N = CONSUMER_FILTERS_MAX };
    struct consumer_config c;
    char(*names)[12] = calloc(N, sizeof *names);

    consumer_config_init(&c);
    c.filter_subjects.at = calloc(N, sizeof *c.filter_subjects.at);
    c.filter_subjects.n = N;
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "f.%zu", i);
        c.filter_subjects.at[i] = names[i];
    }
    TEST_ASSERT_EQUAL(0, consumer_config_check(&c, &world, &err));
    memcpy(names[N - 1], names[5], sizeof names[5]);
    TEST_ASSERT_EQUAL(MF_DENIED, consumer_config_check(&c, &world, &err));
    TEST_ASSERT_EQUAL(10138, err.err_code);
    free(c.filter_subjects.at);
    free(names);
}

static void test_check_without_memory_says_so(void)
{
    const struct consumer_config rows[] = {{.filter_subjects = CR_STRS("a", "b")},
                                           {.sample_freq = CR_T("abc")}};

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct consumer_config c;
        int rc = MF_NOMEM;
        TEST_ASSERT_EQUAL(0, consumer_config_copy(&c, &rows[i]));
        for (long n = 1; rc == MF_NOMEM; n++) {
            TEST_ASSERT_LESS_THAN(20, n);
            fail_at = allocations + n;
            rc = consumer_config_check(&c, &world, &err);
            if (n == 1)
                TEST_ASSERT_EQUAL(MF_NOMEM, rc);
        }
        fail_at = 0;
        TEST_ASSERT_EQUAL(i == 0 ? 0 : MF_DENIED, rc);
        consumer_config_fini(&c);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_copy_is_the_same_and_shares_nothing);
    RUN_TEST(test_copy_takes_one_small_block);
    RUN_TEST(test_copy_without_memory_leaves_an_empty_one);
    RUN_TEST(test_every_field_makes_a_difference);
    RUN_TEST(test_what_the_server_writes_into_metadata_makes_none);
    RUN_TEST(test_times_and_lists_are_compared_by_value);
    RUN_TEST(test_level_follows_from_what_is_used);
    RUN_TEST(test_stamp_replaces_what_the_client_sent_back);
    RUN_TEST(test_pause_is_stamped_and_takes_no_more_room);
    RUN_TEST(test_pending_acks_are_bounded_by_server_account_and_stream);
    RUN_TEST(test_request_batches_are_bounded_by_the_server);
    RUN_TEST(test_inactivity_is_bounded_by_the_stream);
    RUN_TEST(test_number_of_consumers_has_a_limit);
    RUN_TEST(test_long_names_are_refused_last);
    RUN_TEST(test_work_queue_gives_no_subject_to_two);
    RUN_TEST(test_copiers_are_no_owners);
    RUN_TEST(test_filters_are_one_or_many_or_none);
    RUN_TEST(test_more_filters_than_can_be_compared_are_refused);
    RUN_TEST(test_names_of_groups);
    RUN_TEST(test_many_literal_filters_are_no_work);
    RUN_TEST(test_check_without_memory_says_so);
    return UNITY_END();
}
