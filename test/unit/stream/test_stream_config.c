/* test_stream_config.c: what a stream's configuration may say.  The tables were answered by
 * nats-server 2.15.1; each row is one request to STREAM.CREATE. */
#include "stream/stream_config.h"

#include "support/config_rows.h"

#include "unity.h"

static struct stream_config out;
static struct js_error err;
static struct stream_config_world world;

void setUp(void)
{
    stream_config_init(&out);
    world =
        (struct stream_config_world){.max_stream_bytes_memory = -1, .max_stream_bytes_file = -1};
}

void tearDown(void)
{
    stream_config_fini(&out);
}

static int check(const struct stream_config *c)
{
    stream_config_fini(&out);
    return config_row_check(&out, c, &world, &err);
}

static void expect(const struct stream_config *c, const struct config_row *want, const char *who)
{
    TEST_ASSERT_EQUAL_INT_MESSAGE(MF_DENIED, check(c), who);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(want->text, err.text, who);
    TEST_ASSERT_EQUAL_UINT16_MESSAGE(want->code, err.code, who);
    TEST_ASSERT_EQUAL_UINT16_MESSAGE(want->err_code, err.err_code, who);
}

/* In the order in which they are checked. */
static const struct config_row refused[] = {
    CR_INVALID("stream name is required and can not contain '.', '*', '>', '\\', '/'",
               .name = CR_T("a*b")),
    CR_INVALID("stream name is required and can not contain '.', '*', '>', '\\', '/'",
               .name = CR_T("a>b")),
    CR_INVALID("stream name is too long, maximum allowed is 255", .name = CR_T(CR_X256)),
    CR_INVALID("stream description is too long, maximum allowed is 4096",
               .description = CR_T(CR_X4K "x")),
    CR_INVALID("stream metadata exceeds maximum size of 131072 bytes",
               .metadata = CR_META("k", CR_X128K)),
    CR_INVALID("maximum replicas is 5", .replicas = 6),
    CR_REFUSED(400, 10133, "replicas count cannot be negative", .replicas = -1),
    CR_REFUSED(400, 10157, "pedantic mode: max_msgs must be set to -1", .pedantic = true,
               .max_msgs = -2),
    CR_REFUSED(400, 10157, "pedantic mode: max_msgs_per_subject must be set to -1",
               .pedantic = true, .max_msgs_per_subject = -2),
    CR_REFUSED(400, 10157, "pedantic mode: max_bytes must be set to -1", .pedantic = true,
               .max_bytes = -2),
    CR_REFUSED(400, 10157, "pedantic mode: max_msg_size must be set to -1", .pedantic = true,
               .max_msg_size = -2),
    CR_REFUSED(400, 10157, "pedantic mode: max_consumers must be set to -1", .pedantic = true,
               .max_consumers = -2),
    CR_INVALID("max age can not be negative", .max_age_ns = -1),
    CR_INVALID("max age needs to be >= 100ms", .max_age_ns = 99 * CR_MS),
    CR_ENTANGLED(400, 10157, "pedantic mode: duplicate window cannot be bigger than max age",
                 .pedantic = true, .max_age_ns = 60 * CR_S),
    CR_INVALID("duplicates window can not be negative", .duplicate_window_ns = -1),
    CR_INVALID("duplicates window can not be larger then max age", .duplicate_window_ns = 20 * CR_S,
               .max_age_ns = 10 * CR_S),
    CR_INVALID("duplicates window needs to be >= 100ms", .duplicate_window_ns = 99 * CR_MS),
    CR_INVALID("roll-ups require the purge permission", .deny_purge = true, .allow_rollup = true),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use message TTLs", .allow_msg_counter = true,
               .allow_msg_ttl = true),
    CR_INVALID("counter stream cannot use message schedules", .allow_msg_counter = true,
               .allow_msg_schedules = true),
    CR_INVALID("counter stream can only use limits retention", .allow_msg_counter = true,
               .retention = RETENTION_INTEREST),
    CR_INVALID("counter stream can only use limits retention", .allow_msg_counter = true,
               .retention = RETENTION_WORKQUEUE),
    CR_INVALID("discard new per subject requires discard new policy to be set",
               .discard_new_per_subject = true),
    CR_ENTANGLED(500, 10052, "discard new per subject requires max msgs per subject > 0",
                 .discard_new_per_subject = true, .discard = DISCARD_NEW),
    CR_INVALID("subject delete marker TTL must be at least 1 second",
               .subject_delete_marker_ttl_ns = 999 * CR_MS),
    CR_INVALID("subject delete marker cannot be set if message TTLs are disabled", .pedantic = true,
               .subject_delete_marker_ttl_ns = 1 * CR_S),
    CR_ENTANGLED(500, 10052, "subject delete marker cannot be set if roll-ups are disabled",
                 .pedantic = true, .subject_delete_marker_ttl_ns = 1 * CR_S, .allow_msg_ttl = true),
    CR_INVALID("subject delete marker TTL must not be negative",
               .subject_delete_marker_ttl_ns = -1),
    CR_ENTANGLED(500, 10052, "message scheduling cannot use discard new",
                 .allow_msg_schedules = true, .discard = DISCARD_NEW),
    CR_ENTANGLED(500, 10052, "message scheduling cannot be set if roll-ups are disabled",
                 .pedantic = true, .allow_msg_schedules = true),
    CR_INVALID("async persist mode is only supported on file storage",
               .persist_mode = PERSIST_ASYNC, .storage = STORAGE_MEMORY),
    CR_INVALID("async persist mode is not supported on replicated streams",
               .persist_mode = PERSIST_ASYNC, .replicas = 3),
    CR_ENTANGLED(500, 10052, "async persist mode is not supported with atomic batch publish",
                 .persist_mode = PERSIST_ASYNC, .allow_atomic = true),
    CR_INVALID("invalid subject", .subjects = CR_STRS("a..b")),
    CR_INVALID("invalid subject", .subjects = CR_STRS("")),
    CR_INVALID("invalid subject", .subjects = CR_STRS("a b")),
    CR_INVALID("invalid subject", .subjects = CR_STRS("a.>.b")),
    CR_INVALID("invalid subject", .subjects = CR_STRS("ok", "x.")),
    CR_INVALID("subject \"a.*\" overlaps with \"a.b\"", .subjects = CR_STRS("a.*", "a.b")),
    CR_INVALID("subject \"a\" overlaps with \"a\"", .subjects = CR_STRS("a", "b", "a")),
    CR_INVALID("subject \"a.*.c\" overlaps with \"a.b.>\"",
               .subjects = CR_STRS("x", "a.*.c", "a.b.>")),
    CR_INVALID("subject \"q\\\"q\" overlaps with \"q\\\"q\"", .subjects = CR_STRS("q\"q", "q\"q")),
    CR_INVALID("capturing all subjects requires no-ack to be true", .subjects = CR_STRS(">")),
    CR_INVALID("capturing all subjects requires replicas of 1", .subjects = CR_STRS(">"),
               .no_ack = true, .replicas = 3),
    CR_INVALID("subjects that overlap with jetstream api require no-ack to be true",
               .subjects = CR_STRS("$JS.API.X")),
    CR_INVALID("subjects that overlap with jetstream api require no-ack to be true",
               .subjects = CR_STRS("*.>")),
    CR_INVALID("subjects that overlap with jetstream api require no-ack to be true",
               .subjects = CR_STRS("$JSC.a")),
    CR_INVALID("subjects that overlap with jetstream api require no-ack to be true",
               .subjects = CR_STRS("$NRG.a")),
    CR_INVALID("subject \"$JS.EVENT.>\" overlaps with \"$JS.>\"",
               .subjects = CR_STRS("$JS.EVENT.>", "$JS.>")),
    CR_INVALID("subjects that overlap with system api require no-ack to be true",
               .subjects = CR_STRS("$SYS.REQ")),
    CR_INVALID("subjects that overlap with system api require no-ack to be true",
               .subjects = CR_STRS("$SYS.>")),
    CR_REFUSED(400, 10155, "stream transform source: invalid subject a..b",
               .subject_transform = CR_MAPPING("a..b", "c")),
    CR_REFUSED(400, 10156,
               "stream transform: invalid mapping destination: wildcard index out of range in "
               "{{wildcard(2)}}: [2]",
               .subject_transform = CR_MAPPING("a.*", "b.{{wildcard(2)}}")),
    CR_REFUSED(400, 10156, "stream transform: invalid subject",
               .subject_transform = CR_MAPPING("a.*", "b.*")),
    CR_REFUSED(400, 10156,
               "stream transform: invalid mapping destination: unknown function in {{foo(1)}}",
               .subject_transform = CR_MAPPING("a.*", "b.{{foo(1)}}")),
    CR_REFUSED(400, 10156, "stream transform: invalid mapping destination: invalid transform",
               .subject_transform = CR_MAPPING("a.*", "b..c")),
    CR_REFUSED(400, 10156, "stream transform: invalid mapping destination: invalid transform in c",
               .subject_transform = CR_MAPPING("a.*", "b.>.c")),
    CR_REFUSED(400, 10156,
               "stream transform: invalid mapping destination: wildcard index out of range in "
               "{{wildcard(1)}}",
               .subject_transform = CR_MAPPING("a", "b.{{wildcard(1)}}")),
    CR_REFUSED(400, 10157, "pedantic mode: republish source can not be empty", .pedantic = true,
               .republish = CR_REPUBLISH("", "b")),
    CR_REFUSED(400, 10157, "pedantic mode: implicit republish based on subject transform",
               .pedantic = true, .subjects = CR_STRS("a"),
               .subject_transform = CR_MAPPING("a", "b"), .republish = CR_REPUBLISH(">", ">")),
    CR_INVALID("stream configuration for republish destination forms a cycle",
               .republish = CR_REPUBLISH(">", ">")),
    CR_INVALID("stream configuration for republish with transform from 'a..b' to 'x' not valid",
               .republish = CR_REPUBLISH("a..b", "x")),
    CR_INVALID("stream configuration for republish with transform from 'a.*' to 'x.$2' not valid",
               .republish = CR_REPUBLISH("a.*", "x.$2")),
    CR_INVALID("stream configuration for republish with transform from 'a.*' to 'x.>' not valid",
               .republish = CR_REPUBLISH("a.*", "x.>")),
    CR_INVALID("preferred server not permitted in placement",
               .placement = &(struct stream_placement){.preferred = CR_T("x")}),
    CR_REFUSED(500, 10074, "replicas > 1 not supported in non-clustered mode", .replicas = 2),
    CR_REFUSED(500, 10074, "replicas > 1 not supported in non-clustered mode", .replicas = 5),
};
/* Where one makes another of the above, or takes it away. */
static const struct config_row together[] = {
    CR_INVALID("duplicates window can not be negative", .pedantic = true, .max_age_ns = 60 * CR_S,
               .duplicate_window_ns = -1),
    CR_INVALID("duplicates window needs to be >= 100ms", .pedantic = true, .max_age_ns = 60 * CR_S,
               .duplicate_window_ns = 99 * CR_MS),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .allow_msg_ttl = true, .discard_new_per_subject = true, .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .allow_msg_ttl = true, .allow_msg_schedules = true, .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .allow_msg_schedules = true, .discard_new_per_subject = true,
               .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use message TTLs", .allow_msg_counter = true,
               .allow_msg_schedules = true, .pedantic = true,
               .subject_delete_marker_ttl_ns = 1 * CR_S, .allow_msg_ttl = true),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .allow_msg_schedules = true, .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .retention = RETENTION_INTEREST, .discard_new_per_subject = true,
               .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use message TTLs", .allow_msg_counter = true,
               .retention = RETENTION_INTEREST, .pedantic = true,
               .subject_delete_marker_ttl_ns = 1 * CR_S, .allow_msg_ttl = true),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .retention = RETENTION_INTEREST, .allow_msg_schedules = true,
               .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use message schedules", .allow_msg_counter = true,
               .retention = RETENTION_INTEREST, .pedantic = true, .allow_msg_schedules = true),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .retention = RETENTION_WORKQUEUE, .discard_new_per_subject = true,
               .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use message TTLs", .allow_msg_counter = true,
               .retention = RETENTION_WORKQUEUE, .pedantic = true,
               .subject_delete_marker_ttl_ns = 1 * CR_S, .allow_msg_ttl = true),
    CR_INVALID("counter stream cannot use discard new", .allow_msg_counter = true,
               .retention = RETENTION_WORKQUEUE, .allow_msg_schedules = true,
               .discard = DISCARD_NEW),
    CR_INVALID("counter stream cannot use message schedules", .allow_msg_counter = true,
               .retention = RETENTION_WORKQUEUE, .pedantic = true, .allow_msg_schedules = true),
    CR_INVALID("discard new per subject requires max msgs per subject > 0",
               .discard_new_per_subject = true, .discard = DISCARD_NEW),
    CR_INVALID("discard new per subject requires max msgs per subject > 0",
               .discard_new_per_subject = true, .allow_msg_schedules = true,
               .discard = DISCARD_NEW),
    CR_INVALID("subject delete marker cannot be set if roll-ups are disabled", .pedantic = true,
               .subject_delete_marker_ttl_ns = 1 * CR_S, .allow_msg_ttl = true),
    CR_INVALID("async persist mode is not supported on replicated streams",
               .persist_mode = PERSIST_ASYNC, .allow_atomic = true, .subjects = CR_STRS(">"),
               .no_ack = true, .replicas = 3),
    CR_INVALID("async persist mode is not supported on replicated streams",
               .persist_mode = PERSIST_ASYNC, .allow_atomic = true, .replicas = 2),
    CR_INVALID("async persist mode is not supported on replicated streams",
               .persist_mode = PERSIST_ASYNC, .allow_atomic = true, .replicas = 5),
};

/* Clients match on these codes and texts. */
static void test_each_violation_has_its_error(void)
{
    for (size_t i = 0; i < MF_COUNT(refused); i++)
        expect(&refused[i].c, &refused[i], refused[i].text);
    for (size_t i = 0; i < MF_COUNT(together); i++)
        expect(&together[i].c, &together[i], together[i].text);
}

/* Of two mistakes the same one is told as nats-server tells. */
static void test_of_two_violations_the_earlier_check_answers(void)
{
    struct stream_config both;
    size_t pairs = 0;

    for (size_t i = 0; i < MF_COUNT(refused); i++)
        for (size_t j = i + 1; j < MF_COUNT(refused); j++)
            if (!refused[i].entangled && !refused[j].entangled &&
                config_row_merge(&both, &refused[i].c, &refused[j].c)) {
                bool counter_first =
                    both.allow_msg_counter && both.subject_delete_marker_ttl_ns > 0;
                world.strict = counter_first; /* see the counter's own test */
                expect(&both, &refused[i], refused[j].text);
                pairs++;
            }
    TEST_ASSERT_GREATER_THAN_size_t(1500, pairs);
}

static void test_empty_request_gets_the_defaults(void)
{
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.name = CR_T("ORDERS")}));
    TEST_ASSERT_EQUAL_size_t(1, out.subjects.n);
    TEST_ASSERT_EQUAL_STRING("ORDERS", out.subjects.at[0]);
    TEST_ASSERT_EQUAL_INT64(-1, out.max_msgs);
    TEST_ASSERT_EQUAL_INT64(-1, out.max_bytes);
    TEST_ASSERT_EQUAL_INT64(-1, out.max_consumers);
    TEST_ASSERT_EQUAL_INT64(-1, out.max_msgs_per_subject);
    TEST_ASSERT_EQUAL_INT32(-1, out.max_msg_size);
    TEST_ASSERT_EQUAL_INT64(1, out.replicas);
    TEST_ASSERT_EQUAL_INT64(120 * CR_S, out.duplicate_window_ns);
    TEST_ASSERT_FALSE(out.allow_direct || out.allow_msg_ttl || out.allow_rollup);
}

static void test_negative_limits_mean_unlimited(void)
{
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.max_msgs = -7,
                                                           .max_bytes = INT64_MIN,
                                                           .max_consumers = -2,
                                                           .max_msgs_per_subject = -3,
                                                           .max_msg_size = INT32_MIN}));
    TEST_ASSERT_EQUAL_INT64(-1, out.max_msgs);
    TEST_ASSERT_EQUAL_INT64(-1, out.max_bytes);
    TEST_ASSERT_EQUAL_INT64(-1, out.max_consumers);
    TEST_ASSERT_EQUAL_INT64(-1, out.max_msgs_per_subject);
    TEST_ASSERT_EQUAL_INT32(-1, out.max_msg_size);
}

/* An id cannot be remembered longer than its message lives. */
static void test_duplicate_window_follows_max_age_and_the_servers_limit(void)
{
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.max_age_ns = 60 * CR_S}));
    TEST_ASSERT_EQUAL_INT64(60 * CR_S, out.duplicate_window_ns);
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.max_age_ns = 100 * CR_MS}));
    TEST_ASSERT_EQUAL_INT64(100 * CR_MS, out.duplicate_window_ns);
    world.default_duplicate_window_ns = 30 * CR_S;
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.name = NULL}));
    TEST_ASSERT_EQUAL_INT64(30 * CR_S, out.duplicate_window_ns);
    TEST_ASSERT_EQUAL_INT(MF_DENIED,
                          check(&(struct stream_config){.duplicate_window_ns = 31 * CR_S}));
    TEST_ASSERT_EQUAL_STRING("duplicates window can not be larger then server limit of 30s",
                             err.text);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(&(struct stream_config){.pedantic = true}));
    TEST_ASSERT_EQUAL_STRING(
        "pedantic mode: duplicate window limits are higher than current limits", err.text);
}

/* Mirrors and sourced streams take what comes. */
static void test_mirror_and_sourced_stream_have_no_default_window_or_subject(void)
{
    TEST_ASSERT_EQUAL_INT(0,
                          check(&(struct stream_config){.mirror = CR_SOURCE(.name = CR_T("O"))}));
    TEST_ASSERT_EQUAL_INT64(0, out.duplicate_window_ns);
    TEST_ASSERT_EQUAL_size_t(0, out.subjects.n);
    TEST_ASSERT_EQUAL_INT(
        0, check(&(struct stream_config){.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("O")))}));
    TEST_ASSERT_EQUAL_INT64(0, out.duplicate_window_ns);
    TEST_ASSERT_EQUAL_size_t(0, out.subjects.n);
}

/* Requirement: markers imply TTLs, roll-ups and purging unless the request is pedantic. */
static void test_marker_ttl_turns_on_what_it_needs(void)
{
    TEST_ASSERT_EQUAL_INT(
        0, check(&(struct stream_config){.subject_delete_marker_ttl_ns = 1500 * CR_MS,
                                         .deny_purge = true}));
    TEST_ASSERT_TRUE(out.allow_msg_ttl && out.allow_rollup);
    TEST_ASSERT_FALSE(out.deny_purge);
    TEST_ASSERT_EQUAL_INT64(1500 * CR_MS, out.subject_delete_marker_ttl_ns);
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.subject_delete_marker_ttl_ns = CR_S,
                                                           .pedantic = true,
                                                           .allow_msg_ttl = true,
                                                           .allow_rollup = true}));
}

static void test_schedules_turn_on_rollups(void)
{
    TEST_ASSERT_EQUAL_INT(
        0, check(&(struct stream_config){.allow_msg_schedules = true, .deny_purge = true}));
    TEST_ASSERT_TRUE(out.allow_rollup);
    TEST_ASSERT_FALSE(out.deny_purge || out.allow_msg_ttl);
}

/* nats-server takes it and cannot load it again: the stream is gone after a restart. */
static void test_counter_with_marker_ttl_is_refused_unless_strict(void)
{
    const struct stream_config c = {.allow_msg_counter = true,
                                    .subject_delete_marker_ttl_ns = CR_S};

    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(&c));
    TEST_ASSERT_EQUAL_STRING("counter stream cannot use message TTLs", err.text);
    world.strict = true;
    TEST_ASSERT_EQUAL_INT(0, check(&c));
    TEST_ASSERT_TRUE(out.allow_msg_ttl);
}

/* What is accepted must pass again when it is read back from disk, and unchanged. */
static void test_checked_configuration_passes_again_unchanged(void)
{
    const struct stream_config rows[] = {
        {.name = NULL},
        {.subject_delete_marker_ttl_ns = CR_S, .max_age_ns = 5 * CR_S},
        {.allow_msg_schedules = true},
        {.allow_msg_counter = true},
        {.subjects = CR_STRS("a"),
         .subject_transform = CR_MAPPING("a", "b"),
         .republish = CR_REPUBLISH(">", ">")},
        {.republish = CR_REPUBLISH("", "r.>")},
        {.sealed = true, .allow_msg_counter = true, .discard = DISCARD_NEW, .deny_purge = true},
        {.sealed = true, .allow_msg_schedules = true, .discard = DISCARD_NEW, .deny_purge = true},
        {.sealed = true,
         .allow_msg_ttl = true,
         .subject_delete_marker_ttl_ns = CR_S,
         .discard = DISCARD_NEW,
         .deny_purge = true},
    };
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct stream_config once;
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, check(&rows[i]), err.text);
        TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&once, &out));
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, stream_config_check(&out, &world, &err), err.text);
        TEST_ASSERT_TRUE(stream_config_equal(&once, &out));
        if (rows[i].sealed)
            TEST_ASSERT_TRUE(out.deny_purge && !out.allow_rollup); /* kept verbatim */
        stream_config_fini(&once);
    }
}

static void test_subjects_that_only_look_forbidden_are_accepted(void)
{
    const struct stream_config rows[] = {
        {.subjects = CR_STRS("*")},
        {.subjects = CR_STRS("$JS.EVENT.>")},
        {.subjects = CR_STRS("$SYS.ACCOUNT.x", "$SYS.ACCOUNT.y")},
        {.subjects = CR_STRS(">"), .no_ack = true},
        {.subjects = CR_STRS("$JS.API.>", "$SYS.>"), .no_ack = true},
        {.subjects = CR_STRS("a.*.c", "a.b", "b.*.c", "a.*.d")},
    };
    for (size_t i = 0; i < MF_COUNT(rows); i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, check(&rows[i]), err.text);
}

/* Control characters and quotes as Go's %q shows them. */
static void test_overlapping_subjects_are_quoted(void)
{
    TEST_ASSERT_EQUAL_INT(
        MF_DENIED, check(&(struct stream_config){
                       .subjects = CR_STRS("a\xc3\xa9\x01\xc2\xad", "a\xc3\xa9\x01\xc2\xad")}));
    TEST_ASSERT_EQUAL_STRING(
        "subject \"a\xc3\xa9\\x01\\u00ad\" overlaps with \"a\xc3\xa9\\x01\\u00ad\"", err.text);
}

static void test_republish_of_all_means_the_transformed_subject(void)
{
    TEST_ASSERT_EQUAL_INT(0,
                          check(&(struct stream_config){.subjects = CR_STRS("a"),
                                                        .subject_transform = CR_MAPPING("a", "b"),
                                                        .republish = CR_REPUBLISH(">", ">")}));
    TEST_ASSERT_EQUAL_STRING("b", out.republish->src);
    TEST_ASSERT_EQUAL_STRING("b", out.republish->dest);
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.republish = CR_REPUBLISH("", "r.>")}));
    TEST_ASSERT_EQUAL_STRING(">", out.republish->src);
}

static void test_empty_placement_is_none(void)
{
    struct stream_placement p = {.cluster = NULL};

    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.placement = &p}));
    TEST_ASSERT_NULL(out.placement);
    p.cluster = CR_T("c1");
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.placement = &p}));
    TEST_ASSERT_EQUAL_STRING("c1", out.placement->cluster);
}

static void test_account_limits_bound_max_bytes(void)
{
    world.max_bytes_required = true;
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(&(struct stream_config){.name = NULL}));
    TEST_ASSERT_EQUAL_STRING("account requires a stream config to have max bytes set", err.text);
    TEST_ASSERT_EQUAL_UINT16(10113, err.err_code);
    world.max_stream_bytes_file = 1000;
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.max_bytes = 1000}));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(&(struct stream_config){.max_bytes = 1001}));
    TEST_ASSERT_EQUAL_STRING("stream max bytes exceeds account limit max stream bytes", err.text);
    TEST_ASSERT_EQUAL_UINT16(10122, err.err_code);
    TEST_ASSERT_EQUAL_INT(
        0, check(&(struct stream_config){.max_bytes = 1001, .storage = STORAGE_MEMORY}));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_violation_has_its_error);
    RUN_TEST(test_of_two_violations_the_earlier_check_answers);
    RUN_TEST(test_empty_request_gets_the_defaults);
    RUN_TEST(test_negative_limits_mean_unlimited);
    RUN_TEST(test_duplicate_window_follows_max_age_and_the_servers_limit);
    RUN_TEST(test_mirror_and_sourced_stream_have_no_default_window_or_subject);
    RUN_TEST(test_marker_ttl_turns_on_what_it_needs);
    RUN_TEST(test_schedules_turn_on_rollups);
    RUN_TEST(test_counter_with_marker_ttl_is_refused_unless_strict);
    RUN_TEST(test_checked_configuration_passes_again_unchanged);
    RUN_TEST(test_subjects_that_only_look_forbidden_are_accepted);
    RUN_TEST(test_overlapping_subjects_are_quoted);
    RUN_TEST(test_republish_of_all_means_the_transformed_subject);
    RUN_TEST(test_empty_placement_is_none);
    RUN_TEST(test_account_limits_bound_max_bytes);
    return UNITY_END();
}
