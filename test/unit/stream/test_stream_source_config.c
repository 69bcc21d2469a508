/* test_stream_source_config.c: what mirrors and sources may ask for.  The rows were answered by
 * nats-server 2.15.1, with the streams of `others` in its account. */
#include "stream/stream_config.h"

#include "support/config_rows.h"

#include "unity.h"

#include <stdio.h>

static struct stream_config out;
static struct js_error err;

static const struct stream_config others[] = {
    {.name = CR_T("ORG"), .subjects = CR_STRS("org.>"), .max_msg_size = 100, .allow_direct = true},
    {.name = CR_T("CYC"), .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("S")))},
    {.name = CR_T("CYC2"), .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("CYC")))},
    {.name = CR_T("CYC3"),
     .subjects = CR_STRS("c3"),
     .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("S"), .filter_subject = CR_T("other")))},
    {.name = CR_T("MIR"), .mirror = CR_SOURCE(.name = CR_T("S"))},
};
static const struct stream_config everything = {
    .name = CR_T("ALL"), .subjects = CR_STRS(">"), .no_ack = true};
static bool see_everything;

static const struct stream_config *find(void *arg, const char *name)
{
    (void)arg;
    if (see_everything && strcmp(name, everything.name) == 0)
        return &everything;
    for (size_t i = 0; i < MF_COUNT(others); i++)
        if (strcmp(others[i].name, name) == 0)
            return &others[i];
    return NULL;
}

static struct stream_config_world world;

void setUp(void)
{
    stream_config_init(&out);
    see_everything = false;
    world = (struct stream_config_world){
        .max_stream_bytes_memory = -1, .max_stream_bytes_file = -1, .find = find};
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

static void expect(const struct config_row *row)
{
    char who[160];

    snprintf(who, sizeof who, "%s: %s", row->c.mirror != NULL ? "mirror" : "source",
             row->text == NULL ? "accepted" : row->text);
    TEST_ASSERT_EQUAL_INT_MESSAGE(row->text == NULL ? 0 : MF_DENIED, check(&row->c), who);
    TEST_ASSERT_EQUAL_STRING_MESSAGE(row->text == NULL ? "" : row->text, err.text, who);
    TEST_ASSERT_EQUAL_UINT16_MESSAGE(row->code, err.code, who);
    TEST_ASSERT_EQUAL_UINT16_MESSAGE(row->err_code, err.err_code, who);
}

static const struct config_row rows[] = {
    CR_REFUSED(400, 10143, "stream mirrors can not have first sequence configured",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .first_seq = 2),
    CR_REFUSED(400, 10034, "stream mirrors can not contain subjects",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .subjects = CR_STRS("a")),
    CR_REFUSED(400, 10031, "stream mirrors can not also contain other sources",
               .mirror = CR_SOURCE(.name = CR_T("ORG")),
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B")))),
    CR_REFUSED(400, 10173, "stream mirrors can not also calculate counters",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .allow_msg_counter = true),
    CR_REFUSED(400, 10198, "stream mirrors can not also use atomic publishing",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .allow_atomic = true),
    CR_REFUSED(400, 10209, "stream mirrors can not also use batch publishing",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .allow_batched = true),
    CR_REFUSED(400, 10186, "stream mirrors can not also schedule messages",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .allow_msg_schedules = true),
    CR_REFUSED(400, 10213, "stream mirror consumer config is invalid",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .consumer = CR_CONSUMER("a.b", "d"))),
    CR_REFUSED(400, 10213, "stream mirror consumer config is invalid",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .consumer = CR_CONSUMER("c", "d.*"))),
    CR_REFUSED(400, 10213, "stream mirror consumer config is invalid",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .consumer = CR_CONSUMER("c", ""))),
    CR_REFUSED(400, 10213, "stream mirror consumer config is invalid",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .consumer = CR_CONSUMER("c", "d"),
                                   .opt_start_seq = 3)),
    CR_REFUSED(400, 10213, "stream mirror consumer config is invalid",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .consumer = CR_CONSUMER("c", "d"),
                                   .opt_start_time_ns = 1704067200 * CR_S, .has_start_time = true)),
    CR_REFUSED(400, 10213, "stream mirror consumer config is invalid",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .consumer = CR_CONSUMER("c", "d"),
                                   .filter_subject = CR_T("f"))),
    CR_REFUSED(400, 10150,
               "mirror with multiple subject transforms cannot also have a single subject filter",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .filter_subject = CR_T("f"),
                                   .transforms = CR_MAPS(CR_MAP("x", "")))),
    CR_INVALID("subject delete markers forbidden on mirrors",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .subject_delete_marker_ttl_ns = 1 * CR_S),
    CR_REFUSED(400, 10151, "mirror transform source: invalid subject o..a",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .transforms = CR_MAPS(CR_MAP("o..a", "")))),
    CR_REFUSED(
        400, 10154,
        "mirror transform: invalid mapping destination: wildcard index out of range in $2: [2]",
        .mirror = CR_SOURCE(.name = CR_T("ORG"), .transforms = CR_MAPS(CR_MAP("a.*", "b.$2")))),
    CR_REFUSED(400, 10152, "mirror subject filters can not overlap",
               .mirror = CR_SOURCE(.name = CR_T("ORG"),
                                   .transforms = CR_MAPS(CR_MAP("a.*", ""), CR_MAP("a.b", "")))),
    CR_REFUSED(400, 10152, "mirror subject filters can not overlap",
               .mirror = CR_SOURCE(.name = CR_T("ORG"),
                                   .transforms = CR_MAPS(CR_MAP("", ""), CR_MAP("", "")))),
    CR_REFUSED(400, 10152, "mirror subject filters can not overlap",
               .mirror = CR_SOURCE(.name = CR_T("ORG"),
                                   .transforms = CR_MAPS(CR_MAP("", ""), CR_MAP(">", "")))),
    CR_REFUSED(400, 10152, "mirror subject filters can not overlap",
               .mirror = CR_SOURCE(.name = CR_T("ORG"),
                                   .transforms = CR_MAPS(CR_MAP("a.*", ""), CR_MAP("*.b", ""),
                                                         CR_MAP("x..y", "")))),
    CR_REFUSED(400, 10142, "mirrored stream name is invalid",
               .mirror = CR_SOURCE(.name = CR_T("a.b"))),
    CR_REFUSED(400, 10142, "mirrored stream name is invalid",
               .mirror = CR_SOURCE(.name = CR_T(""))),
    CR_REFUSED(400, 10030, "stream mirror must have max message size >= source",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .max_msg_size = 50),
    CR_REFUSED(400, 10157,
               "pedantic mode: origin stream has direct get set, mirror has it disabled",
               .mirror = CR_SOURCE(.name = CR_T("ORG")), .pedantic = true),
    CR_REFUSED(400, 10187, "stream source can not also schedule messages",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"))), .allow_msg_schedules = true),
    CR_REFUSED(400, 10141, "sourced stream name is invalid", .sources = CR_SOURCES(NULL)),
    CR_REFUSED(400, 10141, "sourced stream name is invalid",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("")))),
    CR_REFUSED(400, 10141, "sourced stream name is invalid",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("a.b")))),
    CR_REFUSED(400, 10141, "sourced stream name is invalid",
               .sources = CR_SOURCES(
                   CR_SOURCE(.name = CR_T("a b"), .external = CR_EXTERNAL("$JS.x.API", "")))),
    CR_REFUSED(400, 10140, "duplicate source configuration detected",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B")), CR_SOURCE(.name = CR_T("B")))),
    CR_REFUSED(400, 10140, "duplicate source configuration detected",
               .sources = CR_SOURCES(
                   CR_SOURCE(.name = CR_T("B"), .filter_subject = CR_T("f")),
                   CR_SOURCE(.name = CR_T("B"), .transforms = CR_MAPS(CR_MAP("f", ""))))),
    CR_REFUSED(400, 10140, "duplicate source configuration detected",
               .sources = CR_SOURCES(
                   CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("$JS.x.API", "d1")),
                   CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("$JS.x.API", "d2")))),
    CR_REFUSED(400, 10144,
               "source with multiple subject transforms cannot also have a single subject filter",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .filter_subject = CR_T("f"),
                                               .transforms = CR_MAPS(CR_MAP("x", ""))))),
    CR_REFUSED(400, 10145, "source transform source: invalid subject o..a",
               .sources = CR_SOURCES(
                   CR_SOURCE(.name = CR_T("B"), .transforms = CR_MAPS(CR_MAP("o..a", ""))))),
    CR_REFUSED(
        400, 10146,
        "source transform: invalid mapping destination: wildcard index out of range in $2: [2]",
        .sources =
            CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .transforms = CR_MAPS(CR_MAP("a.*", "b.$2"))))),
    CR_REFUSED(400, 10147, "source filters can not overlap",
               .sources = CR_SOURCES(
                   CR_SOURCE(.name = CR_T("B"),
                             .transforms = CR_MAPS(CR_MAP("a.*", ""), CR_MAP("a.b", ""))))),
    CR_REFUSED(400, 10147, "source filters can not overlap",
               .sources =
                   CR_SOURCES(CR_SOURCE(.name = CR_T("B"),
                                        .transforms = CR_MAPS(CR_MAP("a", ""), CR_MAP("b", ""),
                                                              CR_MAP("a", ""))))),
    CR_REFUSED(400, 10145, "source transform source: invalid subject x..y",
               .sources =
                   CR_SOURCES(CR_SOURCE(.name = CR_T("B"),
                                        .transforms = CR_MAPS(CR_MAP("a.*", ""), CR_MAP("a.b", ""),
                                                              CR_MAP("x..y", ""))))),
    CR_REFUSED(400, 10215, "stream source consumer config is invalid",
               .sources =
                   CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .consumer = CR_CONSUMER("a.b", "d")))),
    CR_REFUSED(400, 10215, "stream source consumer config is invalid",
               .sources =
                   CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .consumer = CR_CONSUMER("c", "d.*")))),
    CR_REFUSED(400, 10215, "stream source consumer config is invalid",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .consumer = CR_CONSUMER("c", "d"),
                                               .opt_start_seq = 2))),
    CR_REFUSED(400, 10215, "stream source consumer config is invalid",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .consumer = CR_CONSUMER("c", "d"),
                                               .filter_subject = CR_T("x")))),
    CR_REFUSED(400, 10216, "duplicate stream source consumer detected",
               .sources =
                   CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .consumer = CR_CONSUMER("c", "d")),
                              CR_SOURCE(.name = CR_T("B"), .consumer = CR_CONSUMER("c", "e"),
                                        .transforms = CR_MAPS(CR_MAP("x", ""))))),
    CR_REFUSED(400, 10140, "duplicate source configuration detected",
               .sources =
                   CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .consumer = CR_CONSUMER("c", "d")),
                              CR_SOURCE(.name = CR_T("B"), .consumer = CR_CONSUMER("c", "e")))),
    CR_REFUSED(400, 10046, "stream source must have max message size >= target",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("ORG"))), .max_msg_size = 50),
    CR_REFUSED(400, 10024, "stream external delivery prefix a.* must not contain wildcards",
               .mirror =
                   CR_SOURCE(.name = CR_T("ORG"), .external = CR_EXTERNAL("$JS.x.API", "a.*"))),
    CR_REFUSED(400, 10024, "stream external delivery prefix a..b must not contain wildcards",
               .sources = CR_SOURCES(
                   CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("$JS.x.API", "a..b")))),
    CR_REFUSED(400, 10022, "stream external delivery prefix org overlaps with stream subject org.>",
               .sources = CR_SOURCES(
                   CR_SOURCE(.name = CR_T("ORG")),
                   CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("$JS.x.API", "org")))),
    CR_INVALID("stream external api prefix \"$JS.*.API\" must be a valid subject without wildcards",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .external = CR_EXTERNAL("$JS.*.API", ""))),
    CR_REFUSED(400, 10021, "stream external api prefix $JS.API must not overlap with $JS.API",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .external = CR_EXTERNAL("$JS.API", ""))),
    CR_REFUSED(400, 10021, "stream external api prefix $JS.API must not overlap with $JS.API",
               .sources = CR_SOURCES(
                   CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("$JS.API", "d")))),
    CR_INVALID("detected cycle", .mirror = CR_SOURCE(.name = CR_T("S"))),
    CR_INVALID("detected cycle", .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("S")))),
    CR_ACCEPTED(.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("S"), .filter_subject = CR_T("zz")))),
    CR_INVALID("detected cycle",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("S"), .filter_subject = CR_T("a.b"))),
               .subjects = CR_STRS("a.*")),
    CR_INVALID("detected cycle", .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("CYC")))),
    CR_INVALID("detected cycle", .mirror = CR_SOURCE(.name = CR_T("CYC"))),
    CR_INVALID("detected cycle", .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("CYC2")))),
    CR_ACCEPTED(.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("CYC3")))),
    CR_INVALID("detected cycle", .mirror = CR_SOURCE(.name = CR_T("MIR"))),
    CR_REFUSED(500, 10049, "subject filter 'o..a' for the mirror invalid subject",
               .mirror = CR_SOURCE(.name = CR_T("ORG"), .filter_subject = CR_T("o..a"))),
    CR_REFUSED(500, 10049, "subject filter 'o..a' for the source: invalid subject",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .filter_subject = CR_T("o..a")))),
    CR_REFUSED(500, 10049, "subject filter ' x' for the source: invalid subject",
               .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B")),
                                     CR_SOURCE(.name = CR_T("C"), .filter_subject = CR_T(" x")))),
    CR_ACCEPTED(.mirror = CR_SOURCE(.name = CR_T("ORG"))),
    CR_ACCEPTED(.mirror = CR_SOURCE(.name = CR_T("ORG")), .max_msg_size = 100),
    CR_ACCEPTED(.mirror = CR_SOURCE(.name = CR_T("NONE"))),
    CR_ACCEPTED(.mirror = CR_SOURCE(.name = CR_T("ORG"), .consumer = CR_CONSUMER("c", "d"))),
    CR_ACCEPTED(.mirror =
                    CR_SOURCE(.name = CR_T("ORG"), .external = CR_EXTERNAL("$JS.API.x", "d"))),
    CR_ACCEPTED(.mirror = CR_SOURCE(.name = CR_T(""), .external = CR_EXTERNAL("$JS.x.API", ""))),
    CR_ACCEPTED(.mirror = CR_SOURCE(.name = CR_T("ORG"),
                                    .transforms = CR_MAPS(CR_MAP("", ""), CR_MAP("a", "")))),
    CR_ACCEPTED(.mirror =
                    CR_SOURCE(.name = CR_T("ORG"), .opt_start_seq = 3,
                              .opt_start_time_ns = 1704067200 * CR_S, .has_start_time = true)),
    CR_ACCEPTED(.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B")),
                                      CR_SOURCE(.name = CR_T("B"), .filter_subject = CR_T("f")))),
    CR_ACCEPTED(.sources = CR_SOURCES(
                    CR_SOURCE(.name = CR_T("B")),
                    CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("$JS.x.API", "")))),
    CR_ACCEPTED(.sources =
                    CR_SOURCES(CR_SOURCE(.name = CR_T("B"),
                                         .transforms = CR_MAPS(CR_MAP("", ""), CR_MAP("", ""))))),
    CR_ACCEPTED(.sources = CR_SOURCES(
                    CR_SOURCE(.name = CR_T("B"),
                              .transforms = CR_MAPS(CR_MAP("a.*", ""), CR_MAP("*.b", ""))))),
    CR_ACCEPTED(.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("S"), .filter_subject = CR_T("zz"))),
                .subjects = CR_STRS("a.*")),
    CR_ACCEPTED(.sources =
                    CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("", "")))),
    CR_ACCEPTED(.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("ORG"))),
                .subject_delete_marker_ttl_ns = 1 * CR_S),
};

/* Clients match on these codes and texts. */
static void test_each_request_has_its_answer(void)
{
    for (size_t i = 0; i < MF_COUNT(rows); i++)
        expect(&rows[i]);
}

/* Not in `others`: with it, everything overlaps. */
static void test_delivery_prefix_may_not_fall_into_a_stream_of_everything(void)
{
    const struct config_row row[] = {
        CR_REFUSED(400, 10022, "stream external delivery prefix pfx overlaps with stream subject >",
                   .sources = CR_SOURCES(
                       CR_SOURCE(.name = CR_T("ALL")),
                       CR_SOURCE(.name = CR_T("B"), .external = CR_EXTERNAL("$JS.x.API", "pfx")))),
    };
    see_everything = true;
    expect(&row[0]);
}

/* What a mirror excludes is told before what its origin is. */
static void test_of_two_violations_the_earlier_check_answers(void)
{
    const struct config_row order[] = {
        CR_REFUSED(400, 10143, "stream mirrors can not have first sequence configured",
                   .mirror = CR_SOURCE(.name = CR_T("a.b")), .first_seq = 2,
                   .subjects = CR_STRS("a..b")),
        CR_REFUSED(400, 10034, "stream mirrors can not contain subjects",
                   .mirror = CR_SOURCE(.name = CR_T("S")), .subjects = CR_STRS("a..b"),
                   .allow_atomic = true),
        CR_REFUSED(400, 10031, "stream mirrors can not also contain other sources",
                   .mirror = CR_SOURCE(.name = CR_T("S")), .sources = CR_SOURCES(NULL)),
        CR_REFUSED(500, 10074, "replicas > 1 not supported in non-clustered mode",
                   .mirror = CR_SOURCE(.name = CR_T("ORG"), .filter_subject = CR_T("o..a")),
                   .replicas = 3),
        CR_REFUSED(500, 10052,
                   "stream configuration for republish with transform from 'a..b' to 'x' not valid",
                   .mirror = CR_SOURCE(.name = CR_T("ORG")),
                   .republish = CR_REPUBLISH("a..b", "x")),
        CR_REFUSED(500, 10052, "detected cycle",
                   .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("S"))),
                   .subjects = CR_STRS("a..b")),
        CR_REFUSED(500, 10052, "max age can not be negative",
                   .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("S"))), .max_age_ns = -1),
        {{.sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .filter_subject = CR_T("o..a"))),
          .subjects = CR_STRS("a", "a")},
         500,
         10052,
         "subject \"a\" overlaps with \"a\"",
         false},
    };
    for (size_t i = 0; i < MF_COUNT(order); i++)
        expect(&order[i]);
}

/* Direct gets of a mirror follow its origin. */
static void test_mirror_inherits_direct_gets(void)
{
    TEST_ASSERT_EQUAL_INT(0,
                          check(&(struct stream_config){.mirror = CR_SOURCE(.name = CR_T("ORG"))}));
    TEST_ASSERT_TRUE(out.mirror_direct);
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.mirror = CR_SOURCE(.name = CR_T("ORG")),
                                                           .mirror_direct = true,
                                                           .pedantic = true}));
    TEST_ASSERT_EQUAL_INT(0,
                          check(&(struct stream_config){.mirror = CR_SOURCE(.name = CR_T("NONE")),
                                                        .mirror_direct = true}));
    TEST_ASSERT_TRUE(out.mirror_direct);
}

/* A stored stream must load even if an origin changed meanwhile: then nobody else is looked at. */
static void test_without_others_only_the_configuration_itself_counts(void)
{
    const struct stream_config c = {.mirror = CR_SOURCE(.name = CR_T("ORG")), .max_msg_size = 50};

    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(&c));
    world.find = NULL;
    TEST_ASSERT_EQUAL_INT(0, check(&c));
}

/* The name is compared first: a stream of that name answers "already in use", not "bad filter". */
static void test_bad_filter_of_a_known_name_is_left_to_the_comparison(void)
{
    const struct stream_config c = {
        .name = CR_T("CYC3"),
        .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("B"), .filter_subject = CR_T("o..a")))};

    TEST_ASSERT_EQUAL_INT(0, check(&c));
}

/* Two ways to one origin are no circle. */
static void test_two_ways_to_one_origin_are_accepted(void)
{
    const struct stream_config c = {
        .sources = CR_SOURCES(CR_SOURCE(.name = CR_T("ORG"), .filter_subject = CR_T("org.a")),
                              CR_SOURCE(.name = CR_T("ORG"), .filter_subject = CR_T("org.b")),
                              CR_SOURCE(.name = CR_T("B")))};

    TEST_ASSERT_EQUAL_INT(0, check(&c));
}

/* Thousands of distinct sources are named by hash, not compared in pairs. */
static void test_many_sources_are_checked_quickly(void)
{
    enum { N = STREAM_SOURCES_MAX + 1 };
    static struct stream_source s[N];
    static struct stream_source *at[N];
    static char names[N][8];

    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "s%zu", i);
        s[i].name = names[i];
        at[i] = &s[i];
    }
    TEST_ASSERT_EQUAL_INT(0, check(&(struct stream_config){.sources = {at, N - 1}}));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(&(struct stream_config){.sources = {at, N}}));
    TEST_ASSERT_EQUAL_STRING("maximum number of sources is 500", err.text);
    s[N - 2].name = names[0];
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(&(struct stream_config){.sources = {at, N - 1}}));
    TEST_ASSERT_EQUAL_UINT16(10140, err.err_code);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_request_has_its_answer);
    RUN_TEST(test_delivery_prefix_may_not_fall_into_a_stream_of_everything);
    RUN_TEST(test_of_two_violations_the_earlier_check_answers);
    RUN_TEST(test_mirror_inherits_direct_gets);
    RUN_TEST(test_without_others_only_the_configuration_itself_counts);
    RUN_TEST(test_bad_filter_of_a_known_name_is_left_to_the_comparison);
    RUN_TEST(test_two_ways_to_one_origin_are_accepted);
    RUN_TEST(test_many_sources_are_checked_quickly);
    return UNITY_END();
}
