/* test_stream_config_update.c: which configuration may replace which.  The rows were answered by
 * nats-server 2.15.1: CREATE of the first, UPDATE to the second. */
#include "stream/stream_config.h"

#include "support/config_rows.h"

#include "unity.h"

#include <stdio.h>

static const struct stream_config others[] = {{.name = CR_T("ORG"), .subjects = CR_STRS("org.>")}};

static const struct stream_config *find(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, others[0].name) == 0 ? &others[0] : NULL;
}

static struct stream_config_world world;
static struct stream_config now, next;
static struct js_error err;

void setUp(void)
{
    stream_config_init(&now);
    stream_config_init(&next);
    world = (struct stream_config_world){
        .max_stream_bytes_memory = -1, .max_stream_bytes_file = -1, .find = find};
}

void tearDown(void)
{
    stream_config_fini(&now);
    stream_config_fini(&next);
}

static int update(const struct stream_config *to)
{
    stream_config_fini(&next);
    world.update = true;
    int rc = config_row_check(&next, to, &world, &err);
    return rc != 0 ? rc : stream_config_check_update(&now, &next, &err);
}

/* As it would be stored; sealed only by an update, as ever. */
static void start(const struct stream_config *from)
{
    struct stream_config c = *from;

    c.sealed = false;
    world.update = false;
    stream_config_fini(&now);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, config_row_check(&now, &c, &world, &err), err.text);
    if (from->sealed) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, update(from), err.text);
        stream_config_fini(&now);
        now = next;
        stream_config_init(&next);
    }
}

static const struct row {
    struct stream_config now, next;
    uint16_t code, err_code;
    const char *text; /* NULL: accepted */
    bool better;      /* so only if strict */
} rows[] = {
    {{}, {.replicas = 3}, 500, 10074, "replicas > 1 not supported in non-clustered mode", false},
    {{},
     {.storage = STORAGE_MEMORY},
     500,
     10052,
     "stream configuration update can not change storage type",
     false},
    {{.storage = STORAGE_MEMORY},
     {},
     500,
     10052,
     "stream configuration update can not change storage type",
     false},
    {{},
     {.retention = RETENTION_WORKQUEUE},
     500,
     10052,
     "stream configuration update can not change retention policy to/from workqueue",
     false},
    {{.retention = RETENTION_WORKQUEUE},
     {},
     500,
     10052,
     "stream configuration update can not change retention policy to/from workqueue",
     false},
    {{.retention = RETENTION_WORKQUEUE},
     {.retention = RETENTION_INTEREST},
     500,
     10052,
     "stream configuration update can not change retention policy to/from workqueue",
     false},
    {{.sealed = true},
     {},
     500,
     10052,
     "stream configuration update can not unseal a sealed stream",
     false},
    {{.sealed = true},
     {.sealed = true},
     500,
     10052,
     "stream configuration update can not cancel deny message deletes",
     false},
    {{.sealed = true},
     {.sealed = true, .deny_delete = true},
     500,
     10052,
     "stream configuration update can not cancel deny purge",
     false},
    {{.deny_delete = true},
     {},
     500,
     10052,
     "stream configuration update can not cancel deny message deletes",
     false},
    {{.deny_purge = true},
     {},
     500,
     10052,
     "stream configuration update can not cancel deny purge",
     false},
    {{.deny_purge = true},
     {.deny_purge = true, .subject_delete_marker_ttl_ns = 1 * CR_S},
     500,
     10052,
     "stream configuration update can not cancel deny purge",
     false},
    {{.deny_purge = true},
     {.deny_purge = true, .allow_msg_schedules = true},
     500,
     10052,
     "stream configuration update can not cancel deny purge",
     false},
    {{},
     {.mirror = CR_SOURCE(.name = CR_T("ORG"))},
     400,
     10055,
     "stream mirror configuration can not be updated",
     false},
    {{.mirror = CR_SOURCE(.name = CR_T("ORG"))},
     {.mirror = CR_SOURCE(.name = CR_T("NONE"))},
     400,
     10055,
     "stream mirror configuration can not be updated",
     false},
    {{.mirror = CR_SOURCE(.name = CR_T("ORG"))},
     {.mirror = CR_SOURCE(.name = CR_T("ORG"), .opt_start_seq = 3)},
     400,
     10055,
     "stream mirror configuration can not be updated",
     false},
    {{.mirror = CR_SOURCE(.name = CR_T("ORG"))},
     {.mirror = CR_SOURCE(.name = CR_T("ORG"), .filter_subject = CR_T("x"))},
     400,
     10055,
     "stream mirror configuration can not be updated",
     false},
    {{},
     {.discard_new_per_subject = true},
     500,
     10052,
     "discard new per subject requires discard new policy to be set",
     false},
    {{.allow_msg_ttl = true}, {}, 500, 10052, "message TTL status can not be disabled", false},
    {{.subject_delete_marker_ttl_ns = 1 * CR_S},
     {},
     500,
     10052,
     "message TTL status can not be disabled",
     false},
    {{.allow_msg_counter = true},
     {},
     500,
     10052,
     "stream configuration update can not change message counter setting",
     false},
    {{},
     {.allow_msg_counter = true},
     500,
     10052,
     "stream configuration update can not change message counter setting",
     false},
    {{.allow_msg_schedules = true}, {}, 500, 10052, "message schedules can not be disabled", false},
    {{},
     {.persist_mode = PERSIST_ASYNC},
     500,
     10052,
     "stream configuration update can not change persist mode",
     false},
    {{.persist_mode = PERSIST_ASYNC},
     {},
     500,
     10052,
     "stream configuration update can not change persist mode",
     false},
    {{}, {.max_age_ns = -1}, 500, 10052, "max age can not be negative", false},
    {{}, {.mirror_direct = true}, 0, 0, NULL, false},
    {{.storage = STORAGE_MEMORY,
      .retention = RETENTION_WORKQUEUE,
      .deny_delete = true,
      .deny_purge = true,
      .allow_msg_ttl = true,
      .allow_msg_schedules = true,
      .discard = DISCARD_OLD},
     {.replicas = 2},
     500,
     10074,
     "replicas > 1 not supported in non-clustered mode",
     false},
    {{.storage = STORAGE_MEMORY,
      .retention = RETENTION_WORKQUEUE,
      .deny_delete = true,
      .deny_purge = true,
      .allow_msg_ttl = true},
     {},
     500,
     10052,
     "stream configuration update can not change storage type",
     false},
    {{.retention = RETENTION_WORKQUEUE,
      .deny_delete = true,
      .deny_purge = true,
      .allow_msg_ttl = true},
     {},
     500,
     10052,
     "stream configuration update can not change retention policy to/from workqueue",
     false},
    {{.deny_delete = true, .deny_purge = true, .allow_msg_ttl = true},
     {},
     500,
     10052,
     "stream configuration update can not cancel deny message deletes",
     false},
    {{.deny_purge = true, .allow_msg_ttl = true},
     {.mirror = CR_SOURCE(.name = CR_T("ORG"))},
     500,
     10052,
     "stream configuration update can not cancel deny purge",
     false},
    {{.allow_msg_ttl = true},
     {.mirror = CR_SOURCE(.name = CR_T("ORG"))},
     400,
     10055,
     "stream mirror configuration can not be updated",
     false},
    {{.allow_msg_ttl = true, .allow_msg_schedules = true},
     {},
     500,
     10052,
     "message TTL status can not be disabled",
     false},
    {{.allow_msg_ttl = true, .allow_msg_schedules = true},
     {.allow_msg_counter = true},
     500,
     10052,
     "message TTL status can not be disabled",
     false},
    {{.allow_msg_schedules = true},
     {.allow_msg_counter = true},
     500,
     10052,
     "stream configuration update can not change message counter setting",
     false},
    {{.allow_msg_counter = true},
     {.persist_mode = PERSIST_ASYNC},
     500,
     10052,
     "stream configuration update can not change message counter setting",
     false},
    {{.allow_msg_schedules = true},
     {.persist_mode = PERSIST_ASYNC},
     500,
     10052,
     "message schedules can not be disabled",
     false},
    {{}, {.retention = RETENTION_INTEREST}, 0, 0, NULL, false},
    {{.retention = RETENTION_INTEREST}, {}, 0, 0, NULL, false},
    {{}, {.sealed = true}, 0, 0, NULL, false},
    {{.mirror = CR_SOURCE(.name = CR_T("ORG"))}, {.subjects = CR_STRS("pp")}, 0, 0, NULL, false},
    {{.mirror = CR_SOURCE(.name = CR_T("ORG"))},
     {.mirror = CR_SOURCE(.name = CR_T("ORG"))},
     0,
     0,
     NULL,
     false},
    {{}, {.allow_msg_ttl = true}, 0, 0, NULL, false},
    {{}, {.subject_delete_marker_ttl_ns = 1 * CR_S}, 0, 0, NULL, false},
    {{.subject_delete_marker_ttl_ns = 5 * CR_S}, {.allow_msg_ttl = true}, 0, 0, NULL, false},
    {{}, {.allow_atomic = true, .allow_batched = true}, 0, 0, NULL, false},
    {{.allow_atomic = true, .allow_batched = true}, {}, 0, 0, NULL, false},
    {{},
     {.compression = COMPRESSION_S2,
      .max_msgs = 5,
      .max_bytes = 100,
      .max_age_ns = 60 * CR_S,
      .max_consumers = 3,
      .max_msg_size = 10,
      .max_msgs_per_subject = 2},
     0,
     0,
     NULL,
     false},
    {{},
     {.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("ORG"))), .subjects = CR_STRS("S")},
     0,
     0,
     NULL,
     false},
    {{}, {.allow_msg_schedules = true}, 0, 0, NULL, false},
    {{}, {.deny_delete = true, .deny_purge = true}, 0, 0, NULL, false},
    {{.first_seq = 5}, {.first_seq = 9}, 0, 0, NULL, false},
    {{.first_seq = 5}, {}, 0, 0, NULL, false},
    {{},
     {.subject_transform = CR_MAPPING("S", "t"), .republish = CR_REPUBLISH("t", "r")},
     0,
     0,
     NULL,
     false},
    {{},
     {.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .filter_subject = CR_T("o..a")))},
     0,
     0,
     NULL,
     true},
    {{.sealed = true, .subject_delete_marker_ttl_ns = 1 * CR_S},
     {.sealed = true,
      .subject_delete_marker_ttl_ns = 1 * CR_S,
      .allow_msg_ttl = true,
      .deny_delete = true,
      .deny_purge = true,
      .discard = DISCARD_NEW},
     500,
     10052,
     "stream configuration update can not cancel deny purge",
     true},
    {{.sealed = true, .allow_msg_counter = true},
     {.sealed = true,
      .allow_msg_counter = true,
      .deny_delete = true,
      .deny_purge = true,
      .discard = DISCARD_NEW},
     500,
     10052,
     "counter stream cannot use discard new",
     true},
    {{.sealed = true, .allow_msg_schedules = true},
     {.sealed = true,
      .allow_msg_schedules = true,
      .deny_delete = true,
      .deny_purge = true,
      .discard = DISCARD_NEW},
     500,
     10052,
     "message scheduling cannot use discard new",
     true},
    {{.sealed = true},
     {.sealed = true, .deny_delete = true, .deny_purge = true, .discard = DISCARD_NEW},
     0,
     0,
     NULL,
     false},
    {{.allow_msg_counter = true}, {.allow_msg_counter = true, .sealed = true}, 0, 0, NULL, false},
};

static void expect(const struct row *r, size_t at)
{
    char who[200];

    snprintf(who, sizeof who, "row %zu: %s", at, r->text == NULL ? "accepted" : r->text);
    start(&r->now);
    TEST_ASSERT_EQUAL_INT_MESSAGE(r->text == NULL ? 0 : MF_DENIED, update(&r->next), who);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(r->text == NULL ? "" : r->text, err.text, who);
    TEST_ASSERT_EQUAL_UINT16_MESSAGE(r->code, err.code, who);
    TEST_ASSERT_EQUAL_UINT16_MESSAGE(r->err_code, err.err_code, who);
}

/* Clients match on these codes and texts; the order is nats-server's. */
static void test_each_change_has_its_answer(void)
{
    for (size_t i = 0; i < MF_COUNT(rows); i++)
        if (!rows[i].better)
            expect(&rows[i], i);
}

static void test_each_change_has_the_upstream_answer_if_strict(void)
{
    world.strict = true;
    for (size_t i = 0; i < MF_COUNT(rows); i++)
        expect(&rows[i], i);
}

static void test_sealing_closes_everything(void)
{
    start(&(struct stream_config){.max_age_ns = 60 * CR_S, .allow_rollup = true});
    TEST_ASSERT_EQUAL_INT(0, update(&(struct stream_config){
                                 .max_age_ns = 60 * CR_S, .allow_rollup = true, .sealed = true}));
    TEST_ASSERT_EQUAL_INT64(0, next.max_age_ns);
    TEST_ASSERT_EQUAL_INT(DISCARD_NEW, next.discard);
    TEST_ASSERT_TRUE(next.sealed && next.deny_delete && next.deny_purge);
    TEST_ASSERT_FALSE(next.allow_rollup);
}

/* nats-server refuses a sealed stream its own configuration, or flips deny_purge at a restart. */
static void test_sealed_configuration_may_be_sent_back_as_it_is(void)
{
    const struct stream_config sealed[] = {
        {.sealed = true, .subject_delete_marker_ttl_ns = CR_S},
        {.sealed = true, .allow_msg_counter = true},
        {.sealed = true, .allow_msg_schedules = true},
        {.sealed = true, .max_age_ns = 5 * CR_S},
    };
    for (size_t i = 0; i < MF_COUNT(sealed); i++) {
        struct stream_config same;
        start(&sealed[i]);
        TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&same, &now));
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, update(&same), err.text);
        TEST_ASSERT_TRUE(stream_config_equal(&now, &next));
        TEST_ASSERT_TRUE(next.deny_purge && !next.allow_rollup);
        stream_config_fini(&same);
    }
}

/* nats-server takes the new value and empties the stream at its next start. */
static void test_first_seq_stays_unless_strict(void)
{
    start(&(struct stream_config){.first_seq = 5});
    TEST_ASSERT_EQUAL_INT(0, update(&(struct stream_config){.first_seq = 9}));
    TEST_ASSERT_EQUAL_UINT64(5, next.first_seq);
    TEST_ASSERT_EQUAL_INT(0, update(&(struct stream_config){.first_seq = 0}));
    TEST_ASSERT_EQUAL_UINT64(5, next.first_seq);
    world.strict = true;
    TEST_ASSERT_EQUAL_INT(0, update(&(struct stream_config){.first_seq = 9}));
    TEST_ASSERT_EQUAL_UINT64(9, next.first_seq);
}

/* nats-server takes it and cannot load the stream again. */
static void test_bad_source_filter_is_refused(void)
{
    start(&(struct stream_config){.name = NULL});
    TEST_ASSERT_EQUAL_INT(
        MF_DENIED,
        update(&(struct stream_config){
            .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .filter_subject = CR_T("o..a")))}));
    TEST_ASSERT_EQUAL_STRING("subject filter 'o..a' for the source: invalid subject", err.text);
    TEST_ASSERT_EQUAL_UINT16(10069, err.err_code);
}

static void test_another_name_is_no_update(void)
{
    start(&(struct stream_config){.name = CR_T("A")});
    TEST_ASSERT_EQUAL_INT(MF_DENIED, update(&(struct stream_config){.name = CR_T("B")}));
    TEST_ASSERT_EQUAL_STRING("stream configuration name must match original", err.text);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_change_has_its_answer);
    RUN_TEST(test_each_change_has_the_upstream_answer_if_strict);
    RUN_TEST(test_sealing_closes_everything);
    RUN_TEST(test_sealed_configuration_may_be_sent_back_as_it_is);
    RUN_TEST(test_first_seq_stays_unless_strict);
    RUN_TEST(test_bad_source_filter_is_refused);
    RUN_TEST(test_another_name_is_no_update);
    return UNITY_END();
}
