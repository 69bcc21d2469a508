/* test_marker.c: which death earns a marker, and the marker's bytes. */
#include "markers/marker.h"

#include "base/clock.h"
#include "proto/header.h"
#include "unity.h"

#define S CLOCK_S

void setUp(void)
{
}

void tearDown(void)
{
}

static void check_marker(const char *want, enum marker_reason why, int64_t ttl_ns, bool key)
{
    struct marker m;

    memset(&m, 'x', sizeof m);
    marker_write(&m, why, ttl_ns, key);
    TEST_ASSERT_EQUAL_UINT64(strlen(want), m.len);
    TEST_ASSERT_EQUAL_MEMORY(want, m.hdr, m.len);
    TEST_ASSERT_TRUE(header_valid(mf_slice(m.hdr, m.len)));
}

/* All 16 combinations: exactly one of them leads to a marker. */
static void test_marker_is_wanted_for_the_last_value_of_a_stream_with_markers_only(void)
{
    for (unsigned i = 0; i < 16; i++) {
        struct marker_facts f = {(i & 1) != 0 ? S : 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0};

        TEST_ASSERT_EQUAL(i == 3, marker_wanted(&f));
    }
}

/* Byte for byte what nats-server 2.15.1 stores: mirrors and clients compare. */
static void test_max_age_marker_is_that_of_nats_server(void)
{
    const char *want = "NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: 1s\r\n"
                       "Nats-Rollup: sub\r\n\r\n";

    TEST_ASSERT_EQUAL_UINT64(72, strlen(want));
    check_marker(want, MARKER_MAX_AGE, S, false);
}

static void test_ttl_is_shown_as_whole_seconds_in_go_text(void)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {2 * S, "2s"},         {30 * S, "30s"},
        {60 * S, "1m0s"},      {3661 * S, "1h1m1s"},
        {3600 * S, "1h0m0s"},  {S + S / 2, "1s"},
        {90 * S + 1, "1m30s"}, {INT64_MAX, "2562047h47m16s"},
    };
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct marker m;
        struct mf_slice value;

        marker_write(&m, MARKER_PURGE, rows[i].ns, true);
        TEST_ASSERT_TRUE(header_valid(mf_slice(m.hdr, m.len)));
        TEST_ASSERT_TRUE(header_get(mf_slice(m.hdr, m.len), "Nats-TTL", &value));
        TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(value, rows[i].text), rows[i].text);
    }
}

/* nats.js takes a marker without MaxAge for a value unless KV-Operation says otherwise, nats.c 3.4
 * any marker. */
static void test_markers_of_keys_speak_to_every_kv_client(void)
{
    check_marker("NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: 1m0s\r\n"
                 "Nats-Rollup: sub\r\nKV-Operation: PURGE\r\n\r\n",
                 MARKER_MAX_AGE, 60 * S, true);
    check_marker("NATS/1.0\r\nNats-Marker-Reason: Remove\r\nNats-TTL: 1m0s\r\n"
                 "Nats-Rollup: sub\r\nKV-Operation: DEL\r\n\r\n",
                 MARKER_REMOVE, 60 * S, true);
    check_marker("NATS/1.0\r\nNats-Marker-Reason: Purge\r\nNats-TTL: 1m0s\r\n"
                 "Nats-Rollup: sub\r\nKV-Operation: PURGE\r\n\r\n",
                 MARKER_PURGE, 60 * S, true);
}

static void test_other_markers_have_no_kv_line(void)
{
    check_marker("NATS/1.0\r\nNats-Marker-Reason: Remove\r\nNats-TTL: 1s\r\n"
                 "Nats-Rollup: sub\r\n\r\n",
                 MARKER_REMOVE, S, false);
    check_marker("NATS/1.0\r\nNats-Marker-Reason: Purge\r\nNats-TTL: 1s\r\n"
                 "Nats-Rollup: sub\r\n\r\n",
                 MARKER_PURGE, S, false);
}

static void test_keys_are_told_by_their_subject(void)
{
    static const char *const others[] = {"orders.1", "$KV", "$KV.", "$KVX.b.k", "a.$KV.b", "$kv.b"};

    TEST_ASSERT_TRUE(marker_of_key(MF_LIT("$KV.b.k")));
    for (size_t i = 0; i < MF_COUNT(others); i++)
        TEST_ASSERT_FALSE_MESSAGE(marker_of_key(mf_str(others[i])), others[i]);
}

/* A marker for a marker would never end. */
static bool is_tombstone(struct mf_slice hdr, bool strict)
{
    struct mf_slice reason = MF_SLICE_NONE, operation = MF_SLICE_NONE;

    (void)header_get(hdr, "Nats-Marker-Reason", &reason);
    (void)header_get(hdr, "KV-Operation", &operation);
    return marker_is_tombstone(reason, operation, strict);
}

static void test_every_marker_is_a_tombstone(void)
{
    for (int why = MARKER_MAX_AGE; why <= MARKER_PURGE; why++) {
        struct marker m;

        marker_write(&m, (enum marker_reason)why, S, true);
        TEST_ASSERT_TRUE(is_tombstone(mf_slice(m.hdr, m.len), false));
        TEST_ASSERT_TRUE(is_tombstone(mf_slice(m.hdr, m.len), true));
    }
}

static void test_tombstones_are_told_by_their_headers(void)
{
    static const struct {
        const char *hdr;
        bool strict, ours;
    } rows[] = {
        {"", false, false},
        {"NATS/1.0\r\n\r\n", false, false},
        {"NATS/1.0\r\nNats-TTL: 5\r\n\r\n", false, false},
        {"NATS/1.0\r\nNats-Marker-Reason: x\r\n\r\n", true, true},
        {"NATS/1.0\r\nNats-Marker-Reason: \r\n\r\n", false, false},
        {"NATS/1.0\r\nNats-Marker-Reason: \r\nKV-Operation: PURGE\r\n\r\n", true, true},
        {"NATS/1.0\r\nKV-Operation: PURGE\r\n\r\n", true, true},
        {"NATS/1.0\r\nKV-Operation: DEL\r\n\r\n", false, true},
        {"NATS/1.0\r\nKV-Operation: PUT\r\n\r\n", false, false},
        {"NATS/1.0\r\nKV-Operation: purge\r\n\r\n", false, false},
        {"NATS/1.0\r\nKV-Operation: DEL \r\n\r\n", false, false},
        {"NATS/1.0\r\nkv-operation: DEL\r\n\r\n", false, false},
        {"NATS/1.0\r\nX-KV-Operation: DEL\r\n\r\n", false, false},
        {"NATS/1.0\r\nKV-Operation: PUT\r\nKV-Operation: DEL\r\n\r\n", false, false},
    };
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct mf_slice hdr = mf_str(rows[i].hdr);

        TEST_ASSERT_EQUAL_MESSAGE(rows[i].strict, is_tombstone(hdr, true), rows[i].hdr);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].ours, is_tombstone(hdr, false), rows[i].hdr);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_marker_is_wanted_for_the_last_value_of_a_stream_with_markers_only);
    RUN_TEST(test_max_age_marker_is_that_of_nats_server);
    RUN_TEST(test_ttl_is_shown_as_whole_seconds_in_go_text);
    RUN_TEST(test_markers_of_keys_speak_to_every_kv_client);
    RUN_TEST(test_other_markers_have_no_kv_line);
    RUN_TEST(test_keys_are_told_by_their_subject);
    RUN_TEST(test_every_marker_is_a_tombstone);
    RUN_TEST(test_tombstones_are_told_by_their_headers);
    return UNITY_END();
}
