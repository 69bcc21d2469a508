/* test_linked.c: lives that are linked to another record: a rate limiter's buckets and its configs.
 */
#include "stream/lifetime_impl.h"
#include "support/stream_world.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>

#define RULES                                                                                      \
    "[{\"id\":\"bucket\",\"subject\":\"bucket.*.*\",\"ttl\":\"100s\","                             \
    "\"permanent_if\":\"config.{{wildcard(1)}}.{{wildcard(2)}}\"},"                                \
    "{\"subject\":\"wide.*.*\",\"ttl\":\"100s\",\"permanent_if\":\"tenant.{{wildcard(1)}}\"},"     \
    "{\"id\":\"sync\",\"subject\":\"config.*.*\",\"header\":{\"Config-Source\":\"sync\"},"         \
    "\"ttl\":\"3 * header(Sync-Window)\"},"                                                        \
    "{\"id\":\"operator\",\"subject\":\"*.>\",\"ttl\":\"never\"}]"
#define SYNC "Config-Source: sync\r\nSync-Window: 60\r\n"

static struct world w;
static char *subjects[] = {(char *)"bucket.*.*", (char *)"config.*.*", (char *)"wide.*.*",
                           (char *)"tenant.*"};
static struct json_pair rules = {(char *)"mayfly.ttl.rules", (char *)RULES};
static const struct stream_config limits = {.name = (char *)"LIMITS",
                                            .subjects = {subjects, 4},
                                            .max_msgs_per_subject = 1,
                                            .allow_msg_ttl = true,
                                            .metadata = {&rules, 1, true}};

void setUp(void)
{
    world_init(&w);
    world_open(&w, &limits);
}

void tearDown(void)
{
    world_fini(&w);
}

static uint64_t put(const char *subject, const char *lines)
{
    struct world_ack a = world_publish(&w, subject, lines, "x");

    TEST_ASSERT_EQUAL_STRING("", a.text);
    return a.seq;
}

static struct stream_lifetime state(uint64_t seq)
{
    struct stream_lifetime l = {.deadline_ns = -1};

    (void)!stream_lifetime(w.stream, seq, &l);
    return l;
}

/* Until the job has looked at everything. */
static void settle(void)
{
    world_turns(&w);
    for (int i = 0; i < 200; i++)
        loop_turn(w.loop);
    world_turns(&w);
}

static void ends_in(int64_t s, uint64_t seq)
{
    TEST_ASSERT_EQUAL_INT64(s, (state(seq).deadline_ns - w.now_ns + CLOCK_S / 2) / CLOCK_S);
}

/* It would have ended a moment later: when the config is acknowledged it is safe. */
static void test_R001_04_a_bucket_is_infinite_in_the_batch_of_its_config(void)
{
    uint64_t bucket = put("bucket.alice.gpt4", NULL);

    ends_in(100, bucket);
    w.now_ns += 100 * CLOCK_S - 1000;
    (void)put("config.alice.gpt4", NULL);
    world_kill(&w); /* nothing but the acknowledged batch */
    world_open(&w, &limits);
    world_time(&w, w.now_ns + 10 * CLOCK_S);
    TEST_ASSERT_TRUE(state(bucket).infinite);
}

static void test_R004_03_a_config_that_ends_makes_nothing_permanent(void)
{
    uint64_t bucket = put("bucket.alice.gpt4", NULL), config = put("config.alice.gpt4", SYNC);

    settle();
    ends_in(180, config);
    ends_in(100, bucket);
    ends_in(100, put("bucket.alice.gpt4", NULL));
}

static void test_R004_08_a_bucket_written_under_a_config_is_infinite(void)
{
    (void)put("config.alice.gpt4", NULL);
    TEST_ASSERT_TRUE(state(put("bucket.alice.gpt4", NULL)).infinite);
    ends_in(100, put("bucket.alice.other", NULL));
}

/* The idle bucket gets its full life from that moment on, not at its next write. */
static void test_R004_11_a_config_that_is_replaced_by_one_that_ends(void)
{
    (void)put("config.alice.gpt4", NULL);
    uint64_t bucket = put("bucket.alice.gpt4", NULL);
    w.now_ns += 500 * CLOCK_S;
    (void)put("config.alice.gpt4", SYNC);
    settle();
    TEST_ASSERT_FALSE(state(bucket).infinite);
    ends_in(100, bucket);
}

/* scope: subject: the new one takes the permanent one before it along. */
static void test_a_config_with_a_history_that_is_replaced_by_one_that_ends(void)
{
    struct stream_config deep = limits;

    world_close(&w);
    deep.max_msgs_per_subject = 3;
    world_open(&w, &deep);
    uint64_t config = put("config.alice.gpt4", NULL), bucket = put("bucket.alice.gpt4", NULL);
    (void)put("config.alice.gpt4", SYNC);
    settle();
    TEST_ASSERT_FALSE(state(config).infinite);
    ends_in(100, bucket);
}

static void test_R001_14_a_config_that_is_removed(void)
{
    uint64_t config = put("config.alice.gpt4", NULL), bucket = put("bucket.alice.gpt4", NULL);

    w.now_ns += 500 * CLOCK_S;
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, config));
    settle();
    ends_in(100, bucket);
}

/* Killed before the job has begun: the next start looks at what is infinite. */
static void test_a_config_that_went_without_its_job(void)
{
    struct stream_config unlinked = limits;

    uint64_t config = put("config.alice.gpt4", NULL), bucket = put("bucket.alice.gpt4", NULL);
    world_close(&w);
    unlinked.metadata = (struct json_map){0};
    world_open(&w, &unlinked);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, config));
    world_close(&w);
    world_open(&w, &limits);
    settle();
    ends_in(100, bucket);
}

static void test_a_config_that_is_purged(void)
{
    (void)put("config.alice.gpt4", NULL);
    (void)put("config.bob.gpt4", NULL);
    uint64_t a = put("bucket.alice.gpt4", NULL), b = put("bucket.bob.gpt4", NULL), purged;
    TEST_ASSERT_EQUAL_INT(0, world_purge(&w, "config.>", 0, 0, &purged));
    settle();
    ends_in(100, a);
    ends_in(100, b);
}

/* Killed between the removal and the job: the next start looks at what is infinite. */
static void test_a_kill_before_the_job_loses_nothing(void)
{
    uint64_t config = put("config.alice.gpt4", NULL), bucket = put("bucket.alice.gpt4", NULL);

    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, config));
    world_kill(&w);
    world_open(&w, &limits);
    settle();
    TEST_ASSERT_FALSE(state(bucket).infinite);
    ends_in(100, bucket);
}

static void test_a_writer_who_sends_a_ttl_is_heard_before_the_link(void)
{
    uint64_t bucket = put("bucket.alice.gpt4", "Nats-TTL: 30\r\n");

    (void)put("config.alice.gpt4", NULL);
    settle();
    ends_in(30, bucket);
}

/* One record, many messages: those that are not in its batch follow by the job. */
static void test_a_link_of_many(void)
{
    char subject[40];
    uint64_t first = 0;

    for (int i = 0; i < 300; i++) {
        snprintf(subject, sizeof subject, "wide.alice.%d", i);
        uint64_t seq = put(subject, NULL);
        first = first == 0 ? seq : first;
    }
    uint64_t other = put("wide.bob.1", NULL);
    uint64_t tenant = put("tenant.alice", NULL);
    settle();
    for (int i = 0; i < 300; i++)
        TEST_ASSERT_TRUE(state(first + (uint64_t)i).infinite);
    ends_in(100, other);
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, tenant));
    settle();
    for (int i = 0; i < 300; i++)
        ends_in(100, first + (uint64_t)i);
}

static int told;
static void on_disk(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    told = e == NULL ? 0 : e->err_code;
}

/* PERSIST makes a synced config permanent, SET takes that back. */
static void test_links_follow_deadlines_set_by_hand(void)
{
    struct stream_op op = {.done = on_disk};
    uint64_t bucket = put("bucket.alice.gpt4", NULL), config = put("config.alice.gpt4", SYNC);
    struct stream_deadline_change c = {.seq = config, .infinite = true, .pinned = true};

    stream_change_deadlines(w.stream, STREAM_LIFE_PERSIST, &c, 1, &op);
    settle();
    TEST_ASSERT_TRUE(state(bucket).infinite);
    c = (struct stream_deadline_change){.seq = config, .deadline_ns = w.now_ns + CLOCK_S};
    stream_change_deadlines(w.stream, STREAM_LIFE_SET, &c, 1, &op);
    settle();
    ends_in(100, bucket);
}

/* Many messages of one record: the first ones are safe with its ack, and a kill loses none of the
 * others. */
static void test_R001_12_a_kill_amid_an_upgrade_of_many_loses_none(void)
{
    char subject[40];

    for (int i = 0; i < 300; i++) {
        snprintf(subject, sizeof subject, "wide.alice.%d", i);
        (void)put(subject, NULL);
    }
    (void)put("tenant.alice", NULL);
    world_kill(&w);
    world_open(&w, &limits);
    settle();
    for (uint64_t seq = 1; seq <= 300; seq++)
        TEST_ASSERT_TRUE(state(seq).infinite);
    TEST_ASSERT_EQUAL_size_t(0, world_blobs(&w, BLOB_LINK));
}

/* Both in one turn: its header cannot be read yet when the record is stored. */
static void test_a_writers_ttl_counts_also_where_it_is_not_on_disk_yet(void)
{
    struct world_ack a, b;

    world_send(&w, "bucket.alice.gpt4", NULL, "Nats-TTL: 30\r\n", "x", &a);
    world_send(&w, "config.alice.gpt4", NULL, NULL, "x", &b);
    settle();
    ends_in(30, a.seq);
}

/* The job waits for what is on its way: the bucket was written a moment before the record ceased.
 */
static void test_a_record_that_ceases_right_behind_its_bucket(void)
{
    struct world_ack a, b, c;

    world_send(&w, "config.alice.gpt4", NULL, NULL, "x", &a);
    world_send(&w, "bucket.alice.gpt4", NULL, NULL, "x", &b);
    world_send(&w, "config.alice.gpt4", NULL, SYNC, "x", &c);
    settle();
    ends_in(100, b.seq);
}

static void reopen_with(const char *text)
{
    struct stream_config c = limits;
    struct json_pair pairs[] = {{(char *)"mayfly.ttl.enforce", (char *)"audit"}, rules};

    if (text != NULL)
        pairs[1].value = (char *)text;
    c.metadata = (struct json_map){text == NULL ? pairs : pairs + 1, text == NULL ? 2 : 1, true};
    c.max_age_ns = 7 * 86400 * CLOCK_S;
    world_close(&w);
    world_open(&w, &c);
    settle();
}

/* Audit changes nothing, and a changed rule acts on new messages alone. */
static void test_infinite_messages_stay_so_under_audit_and_other_rules(void)
{
    uint64_t config = put("config.alice.gpt4", NULL), bucket = put("bucket.alice.gpt4", NULL);

    reopen_with(NULL);
    TEST_ASSERT_TRUE(state(config).infinite && state(bucket).infinite);
    reopen_with("[{\"subject\":\"bucket.*.*\",\"ttl\":\"100s\","
                "\"permanent_if\":\"config.{{wildcard(1)}}.{{wildcard(2)}}\"},"
                "{\"subject\":\"*.>\",\"ttl\":\"30d\"}]");
    TEST_ASSERT_TRUE(state(config).infinite && state(bucket).infinite);
}

static void on_update(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    TEST_ASSERT_NULL(e);
}

static void set_max_age(const struct stream_config *of, int64_t max_age_ns)
{
    static struct stream_op op;
    struct stream_config next;

    stream_config_init(&next);
    op = (struct stream_op){.done = on_update};
    TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&next, of));
    next.max_age_ns = max_age_ns;
    stream_update(w.stream, &next, MF_LIT("x"), &op);
    stream_config_fini(&next);
    for (int i = 0; i < 100000 && w.stream->redeadline != NULL; i++) {
        loop_turn(w.loop);
        world_turns(&w);
    }
    TEST_ASSERT_NULL(w.stream->redeadline);
    settle();
}

/* Without a rule of its own a record ends by max_age, and is permanent where there is none. */
static void test_a_change_of_max_age_reaches_linked_messages_at_once(void)
{
    static struct json_pair link = {(char *)"mayfly.ttl.rules",
                                    (char *)"[{\"subject\":\"wide.*.*\",\"ttl\":\"100s\","
                                            "\"permanent_if\":\"tenant.{{wildcard(1)}}\"}]"};
    struct stream_config c = limits;

    c.metadata = (struct json_map){&link, 1, true};
    world_close(&w);
    world_open(&w, &c);
    (void)put("tenant.a", NULL);
    (void)put("tenant.b", NULL);
    uint64_t a = put("wide.a.x", NULL), b = put("wide.b.x", NULL);
    TEST_ASSERT_TRUE(state(a).infinite && state(b).infinite);
    set_max_age(&c, 3600 * CLOCK_S);
    ends_in(100, a);
    ends_in(100, b);
    set_max_age(&c, 0);
    TEST_ASSERT_TRUE(state(a).infinite && state(b).infinite);
}

/* The operator denies `never` later: new buckets end, and an old one ends when its config does. */
static void test_links_under_an_operator_who_denies_never(void)
{
    static struct policy_server srv = {.set = true, .keys = POLICY_KEYS_INIT};
    uint64_t config = put("config.a.x", NULL), old = put("bucket.a.x", NULL);

    TEST_ASSERT_TRUE(state(old).infinite);
    srv.keys.never = POLICY_NEVER_DENY;
    w.host.ttl = &srv;
    TEST_ASSERT_EQUAL_INT(1, stream_policy_reload(w.stream));
    settle();
    TEST_ASSERT_TRUE(state(config).infinite && state(old).infinite);
    uint64_t late = put("bucket.b.x", NULL), other;
    other = put("config.b.x", NULL); /* no TTL at all: nothing but that is left to it */
    TEST_ASSERT_EQUAL_INT64(0, state(other).deadline_ns);
    TEST_ASSERT_FALSE(state(other).infinite);
    settle();
    ends_in(100, late);
    ends_in(100, put("bucket.b.x", NULL));
    TEST_ASSERT_EQUAL_INT(0, world_remove(&w, config));
    settle();
    ends_in(100, old);
    w.host.ttl = NULL;
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_R001_04_a_bucket_is_infinite_in_the_batch_of_its_config);
    RUN_TEST(test_R004_03_a_config_that_ends_makes_nothing_permanent);
    RUN_TEST(test_R004_08_a_bucket_written_under_a_config_is_infinite);
    RUN_TEST(test_R004_11_a_config_that_is_replaced_by_one_that_ends);
    RUN_TEST(test_a_config_with_a_history_that_is_replaced_by_one_that_ends);
    RUN_TEST(test_R001_14_a_config_that_is_removed);
    RUN_TEST(test_a_config_that_went_without_its_job);
    RUN_TEST(test_a_config_that_is_purged);
    RUN_TEST(test_a_kill_before_the_job_loses_nothing);
    RUN_TEST(test_a_writer_who_sends_a_ttl_is_heard_before_the_link);
    RUN_TEST(test_a_link_of_many);
    RUN_TEST(test_links_follow_deadlines_set_by_hand);
    RUN_TEST(test_R001_12_a_kill_amid_an_upgrade_of_many_loses_none);
    RUN_TEST(test_a_writers_ttl_counts_also_where_it_is_not_on_disk_yet);
    RUN_TEST(test_a_record_that_ceases_right_behind_its_bucket);
    RUN_TEST(test_infinite_messages_stay_so_under_audit_and_other_rules);
    RUN_TEST(test_a_change_of_max_age_reaches_linked_messages_at_once);
    RUN_TEST(test_links_under_an_operator_who_denies_never);
    return UNITY_END();
}
