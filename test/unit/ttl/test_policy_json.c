/* test_policy_json.c: one value out of a payload, within bounds of bytes and depth. */
#include "ttl/policy_json_find_impl.h"

#include "ttl/policy.h"
#include "support/guard.h"
#include "unity.h"

#include <stdio.h>

void setUp(void)
{
}

void tearDown(void)
{
    guard_free();
}

static uint32_t scanned;

static bool find(const char *payload, const char *pointer, struct mf_slice *value)
{
    size_t n = strlen(payload);

    scanned = 0;
    return policy_json_find(mf_slice(guard_copy(payload, n), n), pointer, value, &scanned);
}

static void check_found(const char *payload, const char *pointer, const char *want)
{
    struct mf_slice value;
    char text[256];

    TEST_ASSERT_TRUE_MESSAGE(find(payload, pointer, &value), payload);
    snprintf(text, sizeof text, "%.*s", MF_FMT(value));
    TEST_ASSERT_EQUAL_STRING(want, text);
    TEST_ASSERT_LESS_OR_EQUAL(strlen(payload), scanned);
}

static void check_absent(const char *payload, const char *pointer)
{
    struct mf_slice value;

    TEST_ASSERT_FALSE_MESSAGE(find(payload, pointer, &value), payload);
}

static void test_values_are_found_by_pointer(void)
{
    check_found("{\"a\":1}", "/a", "1");
    check_found(" { \"a\" : 1 } ", "/a", "1");
    check_found("\t{\r\"a\"\n:\t1\r}", "/a", "1");
    check_found("{\"b\":{\"a\":2},\"a\":[1,2]}", "/a", "[1,2]");
    check_found("{\"b\":{\"a\":2},\"a\":[1,2]}", "/b/a", "2");
    check_found("{\"a\":[1,{\"x\":[\"]\",\"\\\"}\"]},{\"y\":\"z\"}]}", "/a/2/y", "\"z\"");
    check_found("[[1,2],[3,4]]", "/1/0", "3");
    check_found("{\"a\":1,\"a\":2}", "/a", "1");
    check_found("{\"\":{\"\":7}}", "//", "7");
    check_found("{\"a\":true}", "/a", "true");
    check_found("{\"a\":1}", "", "{\"a\":1}");
    check_found("{\"a\\\"b\":0,\"a\":5}", "/a", "5");
    check_found("{\"a\":{\"b\":1}}garbage", "/a", "{\"b\":1}");
}

static void test_values_that_are_not_there(void)
{
    static const struct {
        const char *payload, *pointer;
    } rows[] = {{"", "/a"},
                {"   ", "/a"},
                {"1", ""},
                {"\"a\"", ""},
                {"{}", "/a"},
                {"[]", "/0"},
                {"[1]", "/1"},
                {"[1]", "/a"},
                {"[1,2]", "/01"},
                {"[1]", "/-1"},
                {"{\"a\":1}", "/b"},
                {"{\"a\":1}", "/a/b"},
                {"{\"a\"", "/a"},
                {"{\"a\":", "/a"},
                {"{\"a\":1", "/a"},
                {"{\"a\":\"x", "/a"},
                {"{\"a\":\"x\\", "/a"},
                {"{\"a\":[1}", "/a"},
                {"{\"a\":{]}", "/a"},
                {"{\"a\" 1}", "/a"},
                {"{a:1}", "/a"},
                {"{\"b\":}", "/a"},
                {"{\"b\":1 \"a\":1}", "/a"},
                {"{\"\\u0061\":1}", "/a"},
                {"[", "/0"},
                {"{", "/a"},
                {"[1,", "/1"},
                {"{\"a\":,}", "/a"},
                {"{\"b\":{]\"x\",\"a\":1}", "/a"},
                {"[18446744073709551616]", "/18446744073709551616"}};

    for (size_t i = 0; i < MF_COUNT(rows); i++)
        check_absent(rows[i].payload, rows[i].pointer);
}

/* Cut at every byte: nothing is read behind the end, and nothing half is a value. */
static void test_payloads_cut_anywhere(void)
{
    static const char whole[] = "{\"x\":[\"\\\"\",{\"y\":null}],\"limits\":[{\"capacity\":10}]}";
    struct mf_slice value;

    for (size_t n = 0; n < sizeof whole - 1; n++) {
        bool found =
            policy_json_find(mf_slice(guard_copy(whole, n), n), "/limits", &value, &scanned);

        TEST_ASSERT_EQUAL(n >= sizeof whole - 2, found); /* the last '}' is not looked at */
    }
}

/* Eight levels are read, the ninth is too deep: on the way, in what is skipped, and in the value.
 */
static void test_depth_is_bounded(void)
{
    check_found("[[[[[[[[1]]]]]]]]", "/0/0/0/0/0/0/0/0", "1");
    check_absent("[[[[[[[[[1]]]]]]]]]", "/0/0/0/0/0/0/0/0/0");
    check_found("[[[[[[[[1]]]]]]],5]", "/1", "5");
    check_absent("[[[[[[[[[1]]]]]]]],5]", "/1");
    check_found("[[[[[[[[1]]]]]]]]", "", "[[[[[[[[1]]]]]]]]");
    check_absent("[[[[[[[[[1]]]]]]]]]", "");
}

static char big[1 << 20];

static void test_depth_bombs_cost_little(void)
{
    struct mf_slice value;

    memset(big, '[', sizeof big - 1);
    TEST_ASSERT_FALSE(find(big, "/0", &value));
    TEST_ASSERT_LESS_THAN(16, scanned);
    memset(big, '{', sizeof big - 1);
    TEST_ASSERT_FALSE(find(big, "/a", &value));
    TEST_ASSERT_LESS_THAN(16, scanned);
}

/* The value must end within the first 16 KB. */
static void test_scanned_bytes_are_bounded(void)
{
    static const char tail[] = "\",\"a\":5}";
    struct mf_slice value;

    memset(big, 'x', sizeof big - 1);
    memcpy(big, "{\"x\":\"", 6);
    memcpy(big + POLICY_JSON_SCAN_MAX - strlen(tail), tail, strlen(tail));
    TEST_ASSERT_TRUE(find(big, "/a", &value));
    TEST_ASSERT_LESS_OR_EQUAL(POLICY_JSON_SCAN_MAX, scanned);
    memset(big, 'x', POLICY_JSON_SCAN_MAX);
    memcpy(big, "{\"x\":\"", 6);
    memcpy(big + POLICY_JSON_SCAN_MAX - strlen(tail) + 2, tail, strlen(tail));
    TEST_ASSERT_FALSE(find(big, "/a", &value));
    TEST_ASSERT_EQUAL(POLICY_JSON_SCAN_MAX, scanned);
}

static void check_fill(const char *text, double capacity)
{
    struct limit l = {0, 0, 0};
    size_t n = strlen(text);

    scanned = 0;
    TEST_ASSERT_EQUAL_MESSAGE(
        capacity > 0, policy_json_find_fill(mf_slice(guard_copy(text, n), n), "", &l, &scanned),
        text);
    if (capacity > 0)
        TEST_ASSERT_TRUE(l.capacity == capacity);
    TEST_ASSERT_LESS_OR_EQUAL(n, scanned);
}

static void test_the_slowest_limit(void)
{
    check_fill("{\"capacity\":4,\"refill_amount\":2,\"refill_period_seconds\":3}", 4);
    check_fill("[{\"capacity\":4,\"refill_amount\":2,\"refill_period_seconds\":3},"
               "{\"capacity\":5,\"refill_amount\":2,\"refill_period_seconds\":1}]",
               4);
    check_fill(
        "[{\"refill_period_seconds\":3,\"name\":\"x\",\"refill_amount\":2,\"capacity\":4.5}]", 4.5);
    check_fill("{\"capacity\":4,\"refill_amount\":2}", 0);
    check_fill("[[{\"capacity\":4,\"refill_amount\":2,\"refill_period_seconds\":3}]]", 0);
    check_fill("[{\"capacity\":4,\"refill_amount\":2,\"refill_period_seconds\":3} 5]", 0);
    check_fill("[{\"capacity\":4,\"refill_amount\":2,\"refill_period_seconds\":3},", 0);
    check_fill("[{\"capacity\":4,\"refill_amount\":2,\"refill_period_seconds\":3,}]", 0);
    check_fill("[{\"capacity\":4,\"refill_amount\":2,\"refill_period_seconds\":3},\"x]", 0);
    check_fill("[]", 0);
    check_fill("{}", 0);
    check_fill("5", 0);
    check_fill("\"x\"", 0);
    check_fill("{\"capacity\":4,\"refill_amount\":2,\"refill_period_seconds\":1e400}", 0);
    check_fill("{\"capacity\":true,\"refill_amount\":2,\"refill_period_seconds\":1}", 0);
    check_fill("{\"capacity\":1111111111222222222233333333334444444444555555555566666666667777,"
               "\"refill_amount\":2,\"refill_period_seconds\":1}",
               0);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_values_are_found_by_pointer);
    RUN_TEST(test_values_that_are_not_there);
    RUN_TEST(test_payloads_cut_anywhere);
    RUN_TEST(test_depth_is_bounded);
    RUN_TEST(test_depth_bombs_cost_little);
    RUN_TEST(test_scanned_bytes_are_bounded);
    RUN_TEST(test_the_slowest_limit);
    return UNITY_END();
}
