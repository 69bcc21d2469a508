/* test_reason.c: nats-server's words for the end of a connection, and WebSocket's numbers. */
#include "session/reason.h"

#include "unity.h"

void setUp(void)
{
}
void tearDown(void)
{
}

static void test_every_reason_has_a_text_and_a_status(void)
{
    TEST_ASSERT_NULL(reason_text(REASON_NONE));
    for (int r = REASON_NONE + 1; r <= REASON_READ; r++) {
        TEST_ASSERT_NOT_NULL(reason_text((enum reason)r));
        TEST_ASSERT_GREATER_OR_EQUAL_UINT(1000, reason_websocket((enum reason)r));
    }
    TEST_ASSERT_EQUAL_STRING("Slow Consumer (Write Deadline)", reason_text(REASON_SLOW_DEADLINE));
    TEST_ASSERT_EQUAL_UINT(1009, reason_websocket(REASON_MAX_PAYLOAD));
    TEST_ASSERT_EQUAL_UINT(1011, reason_websocket(REASON_KICKED));
}

/* A peer that hangs up is a client that closed; what net did has a name of its own. */
static void test_ends_that_nobody_asked_for_have_reasons(void)
{
    TEST_ASSERT_EQUAL_INT(REASON_SLOW_DEADLINE, reason_of_net(NET_CLOSED_SLOW));
    TEST_ASSERT_EQUAL_INT(REASON_TLS, reason_of_net(NET_CLOSED_TLS));
    TEST_ASSERT_EQUAL_INT(REASON_SHUTDOWN, reason_of_net(NET_CLOSED_LOCAL));
    TEST_ASSERT_EQUAL_INT(REASON_READ, reason_of_net(NET_CLOSED_RESET));
    TEST_ASSERT_EQUAL_INT(REASON_WRITE, reason_of_net(NET_CLOSED_WRITE));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_reason_has_a_text_and_a_status);
    RUN_TEST(test_ends_that_nobody_asked_for_have_reasons);
    return UNITY_END();
}
