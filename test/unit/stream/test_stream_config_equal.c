/* test_stream_config_equal.c: configurations copied, compared and stamped. */
#include "stream/stream_config.h"

#include "support/config_rows.h"

#include "unity.h"

static struct stream_config out;
static struct js_error err;

void setUp(void)
{
    stream_config_init(&out);
}

void tearDown(void)
{
    stream_config_fini(&out);
}

static int check(const struct stream_config *c)
{
    const struct stream_config_world world = {.max_stream_bytes_memory = -1,
                                              .max_stream_bytes_file = -1};
    stream_config_fini(&out);
    return config_row_check(&out, c, &world, &err);
}

/* The level tells an older server not to touch the stream. */
static void test_stamp_writes_the_level_and_drops_what_only_responses_have(void)
{
    static const struct {
        struct stream_config c;
        const char *level;
    } rows[] = {
        {{.name = NULL}, "0"},
        {{.allow_msg_ttl = true}, "1"},
        {{.subject_delete_marker_ttl_ns = CR_S}, "1"},
        {{.allow_msg_counter = true}, "2"},
        {{.allow_atomic = true}, "2"},
        {{.allow_msg_schedules = true, .allow_msg_ttl = true}, "2"},
        {{.persist_mode = PERSIST_ASYNC}, "2"},
        {{.allow_batched = true, .allow_atomic = true}, "4"},
    };
    static struct json_pair sent[] = {{CR_T("Z"), CR_T("1")},
                                      {CR_T("_nats.level"), CR_T("9")},
                                      {CR_T("_nats.req.level"), CR_T("9")},
                                      {CR_T("_nats.ver"), CR_T("9")},
                                      {CR_T("z"), CR_T("2")}};
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct stream_config c = rows[i].c;
        c.metadata = (struct json_map){sent, MF_COUNT(sent), true};
        TEST_ASSERT_EQUAL_INT(0, check(&c));
        TEST_ASSERT_EQUAL_INT(0, stream_config_stamp(&out));
        TEST_ASSERT_EQUAL_size_t(3, out.metadata.n);
        TEST_ASSERT_EQUAL_STRING("Z", out.metadata.at[0].key);
        TEST_ASSERT_EQUAL_STRING("_nats.req.level", out.metadata.at[1].key);
        TEST_ASSERT_EQUAL_STRING(rows[i].level, out.metadata.at[1].value);
        TEST_ASSERT_EQUAL_STRING("z", out.metadata.at[2].key);
    }
}

/* The same CREATE twice is fine, whatever of the server's own metadata comes back with it. */
static void test_equality_ignores_the_servers_own_metadata(void)
{
    struct stream_config same;

    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.metadata = CR_META("k", "v")}));
    TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&same, &out));
    TEST_ASSERT_EQUAL_INT(0, stream_config_stamp(&out));
    TEST_ASSERT_TRUE(stream_config_equal(&same, &out));
    same.metadata.at[0].value = CR_T("w");
    TEST_ASSERT_FALSE(stream_config_equal(&same, &out));
    same.metadata.n = 0;
    TEST_ASSERT_FALSE(stream_config_equal(&same, &out));
    stream_config_fini(&same);
}

/* Each says one thing. */
static const struct stream_config said[] = {
    {.name = CR_T("n")},
    {.description = CR_T("d")},
    {.subjects = CR_STRS("a")},
    {.retention = RETENTION_INTEREST},
    {.max_consumers = 1},
    {.max_msgs = 1},
    {.max_bytes = 1},
    {.max_age_ns = 1},
    {.max_msgs_per_subject = 1},
    {.max_msg_size = 1},
    {.discard = DISCARD_NEW},
    {.storage = STORAGE_MEMORY},
    {.replicas = 1},
    {.no_ack = true},
    {.duplicate_window_ns = 1},
    {.placement = &(struct stream_placement){.cluster = CR_T("c")}},
    {.placement = &(struct stream_placement){.preferred = CR_T("p")}},
    {.placement = &(struct stream_placement){.tags = CR_STRS("t")}},
    {.mirror = CR_SOURCE(.name = CR_T("m"))},
    {.mirror = CR_SOURCE(.opt_start_seq = 1)},
    {.mirror = CR_SOURCE(.has_start_time = true)},
    {.mirror = CR_SOURCE(.has_start_time = true, .opt_start_time_ns = 1)},
    {.mirror = CR_SOURCE(.filter_subject = CR_T("f"))},
    {.mirror = CR_SOURCE(.transforms = CR_MAPS(CR_MAP("a", "")))},
    {.mirror = CR_SOURCE(.transforms = CR_MAPS(CR_MAP("a", "b")))},
    {.mirror = CR_SOURCE(.external = CR_EXTERNAL("a", ""))},
    {.mirror = CR_SOURCE(.external = CR_EXTERNAL("", "d"))},
    {.mirror = CR_SOURCE(.consumer = CR_CONSUMER("c", ""))},
    {.mirror = CR_SOURCE(.consumer = CR_CONSUMER("", "d"))},
    {.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("s")))},
    {.sources = CR_SOURCES(NULL)},
    {.compression = COMPRESSION_S2},
    {.first_seq = 1},
    {.subject_transform = CR_MAPPING("a", "")},
    {.subject_transform = CR_MAPPING("", "b")},
    {.republish = CR_REPUBLISH("a", "")},
    {.republish = CR_REPUBLISH("", "b")},
    {.republish = &(struct stream_republish){.headers_only = true}},
    {.allow_direct = true},
    {.mirror_direct = true},
    {.discard_new_per_subject = true},
    {.sealed = true},
    {.deny_delete = true},
    {.deny_purge = true},
    {.allow_rollup = true},
    {.consumer_limits = {.inactive_threshold_ns = 1}},
    {.consumer_limits = {.max_ack_pending = 1}},
    {.allow_msg_ttl = true},
    {.subject_delete_marker_ttl_ns = 1},
    {.allow_msg_counter = true},
    {.allow_atomic = true},
    {.allow_msg_schedules = true},
    {.allow_batched = true},
    {.persist_mode = PERSIST_ASYNC},
    {.metadata = CR_META("k", "v")},
    {.metadata = CR_META("k", "w")},
    {.name = NULL},
};

/* Whatever a client can say: a copy says it, too, and without it the configuration is another. */
static void test_every_field_is_copied_and_compared(void)
{
    for (size_t i = 0; i < MF_COUNT(said); i++) {
        struct stream_config first; /* freed before its copy is read: nothing is shared */
        TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&first, &said[i]));
        TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&out, &first));
        TEST_ASSERT_TRUE(first.name == NULL || first.name != said[i].name);
        TEST_ASSERT_TRUE(first.description == NULL || first.description != said[i].description);
        stream_config_fini(&first);
        for (size_t j = 0; j < MF_COUNT(said); j++)
            TEST_ASSERT_EQUAL_INT(i == j, stream_config_equal(&out, &said[j]));
        stream_config_fini(&out);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_stamp_writes_the_level_and_drops_what_only_responses_have);
    RUN_TEST(test_equality_ignores_the_servers_own_metadata);
    RUN_TEST(test_every_field_is_copied_and_compared);
    return UNITY_END();
}
