/* test_account_claims.c: what the claims of an account become: names, limits, tiers. */
#include "operator/operator_impl.h"
#include "support/tokens.h"

#include <unity.h>

static struct token_key op, account;
static struct operator_claims *claims;

/* more: members of "nats", after a comma. */
static const struct options_account *take(const char *more)
{
    char *text = token_make(&op, &account, "account", 1, 0, more);
    struct mf_error e;
    struct jwt *j;

    operator_claims_free(claims);
    claims = NULL;
    TEST_ASSERT_EQUAL_MESSAGE(0, jwt_decode_as(&j, JWT_ACCOUNT, mf_str(text), &e), e.text);
    free(text);
    TEST_ASSERT_EQUAL_MESSAGE(0, operator_claims_new(&claims, j, &e), e.text);
    return &claims->options;
}

void setUp(void)
{
    op = token_key(NKEY_OPERATOR, 1);
    account = token_key(NKEY_ACCOUNT, 1);
}
void tearDown(void)
{
    operator_claims_free(claims);
    claims = NULL;
}

/* Pages and events name accounts by both. */
static void test_name_is_the_key_and_tag_the_name(void)
{
    const struct options_account *o = take("");

    TEST_ASSERT_EQUAL_STRING(account.text, o->name);
    TEST_ASSERT_EQUAL_STRING("N", o->tag);
}

/* Absent is 0, which allows nothing; negative is no limit. */
static void test_limits_of_connections(void)
{
    const struct options_account *o = take("");

    TEST_ASSERT_EQUAL_INT64(0, o->max_connections);
    TEST_ASSERT_EQUAL_INT64(0, o->max_leafnodes);
    TEST_ASSERT_EQUAL_INT64(0, o->max_subscriptions);
    TEST_ASSERT_EQUAL_INT64(0, o->max_payload);
    o = take(",\"limits\":{\"conn\":3,\"leaf\":-1,\"subs\":-7,\"payload\":100}");
    TEST_ASSERT_EQUAL_INT64(3, o->max_connections);
    TEST_ASSERT_EQUAL_INT64(-1, o->max_leafnodes);
    TEST_ASSERT_EQUAL_INT64(-1, o->max_subscriptions);
    TEST_ASSERT_EQUAL_INT64(100, o->max_payload);
}

static void test_jetstream_is_off_without_storage_whatever_else_is_set(void)
{
    TEST_ASSERT_FALSE(take("")->js.enabled);
    TEST_ASSERT_FALSE(take(",\"limits\":{\"streams\":5,\"consumer\":5}")->js.enabled);
    TEST_ASSERT_TRUE(take(",\"limits\":{\"mem_storage\":1}")->js.enabled);
    TEST_ASSERT_TRUE(take(",\"limits\":{\"disk_storage\":-1}")->js.enabled);
}

/* One of both storages may be 0: none of that kind.  Counts of 0 are no limit, and stay 0. */
static void test_flat_limits(void)
{
    const struct options_js_limits *l =
        &take(",\"limits\":{\"disk_storage\":-1,\"streams\":0,\"consumer\":4,\"max_ack_pending\":0,"
              "\"mem_max_stream_bytes\":0,\"disk_max_stream_bytes\":7,\"max_bytes_required\":true}")
             ->js;

    TEST_ASSERT_EQUAL_INT64(0, l->max_memory);
    TEST_ASSERT_EQUAL_INT64(-1, l->max_store);
    TEST_ASSERT_EQUAL_INT64(0, l->max_streams);
    TEST_ASSERT_EQUAL_INT64(4, l->max_consumers);
    TEST_ASSERT_EQUAL_INT64(-1, l->max_ack_pending);
    TEST_ASSERT_EQUAL_INT64(-1, l->mem_max_stream_bytes);
    TEST_ASSERT_EQUAL_INT64(7, l->disk_max_stream_bytes);
    TEST_ASSERT_TRUE(l->max_bytes_required);
    TEST_ASSERT_FALSE(l->none);
    TEST_ASSERT_EQUAL(0, claims->options.njs_tiers);
}

/* Streams have one replica here: R1 is what applies, and flat limits beside tiers do not. */
static void test_tiers_replace_flat_limits(void)
{
    const struct options_account *o =
        take(",\"limits\":{\"disk_storage\":5,\"streams\":9,\"tiered_limits\":{"
             "\"R3\":{\"disk_storage\":300},\"R1\":{\"mem_storage\":100,\"streams\":2}}}");

    TEST_ASSERT_EQUAL(2, o->njs_tiers);
    TEST_ASSERT_EQUAL_STRING("R1", o->js_tiers[0].name);
    TEST_ASSERT_EQUAL_INT64(300, o->js_tiers[1].limits.max_store);
    TEST_ASSERT_TRUE(o->js.enabled);
    TEST_ASSERT_FALSE(o->js.none);
    TEST_ASSERT_EQUAL_INT64(100, o->js.max_memory);
    TEST_ASSERT_EQUAL_INT64(0, o->js.max_store);
    TEST_ASSERT_EQUAL_INT64(2, o->js.max_streams);
}

/* The account has JetStream, and may store nothing on this server. */
static void test_tiers_without_r1(void)
{
    const struct options_account *o =
        take(",\"limits\":{\"tiered_limits\":{\"R3\":{\"disk_storage\":-1}}}");

    TEST_ASSERT_TRUE(o->js.enabled);
    TEST_ASSERT_TRUE(o->js.none);
    TEST_ASSERT_EQUAL_INT64(0, o->js.max_store);
    TEST_ASSERT_FALSE(take(",\"limits\":{\"tiered_limits\":{\"R1\":{\"streams\":3}}}")->js.enabled);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_name_is_the_key_and_tag_the_name);
    RUN_TEST(test_limits_of_connections);
    RUN_TEST(test_jetstream_is_off_without_storage_whatever_else_is_set);
    RUN_TEST(test_flat_limits);
    RUN_TEST(test_tiers_replace_flat_limits);
    RUN_TEST(test_tiers_without_r1);
    return UNITY_END();
}
