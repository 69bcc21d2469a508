/* test_leaf_accept.c: the accepting side of leaf links: a peer that the test plays logs in. */
#include "leaf/leaf.h"

#include "support/leaf_world.h"
#include "unity.h"

static struct loop *loop;

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
}

void tearDown(void)
{
    loop_free(loop);
}

#define HUB "leafnodes { listen: \"127.0.0.1:1\", compression: off }"

static struct leaf_world hub;
static struct leaf_peer peer;

/* --- a leaf that the test plays --------------------------------------------------------------- */

static void open_as_leaf(const char *text)
{
    leaf_world_open(&hub, loop, "HUB", text, 0);
    leaf_peer_dial(&peer, loop, leaf_world_port(&hub));
    leaf_peer_expect(&peer, "INFO {");
    leaf_peer_expect(&peer, "\"info_on_connect\":true");
    leaf_peer_expect(&peer, "\r\n");
}

static void close_as_leaf(void)
{
    leaf_peer_close(&peer);
    leaf_world_close(&hub);
}

static void enter_as_leaf(void)
{
    leaf_peer_send(&peer, "CONNECT {\"name\":\"P\",\"cluster\":\"P\",\"headers\":true,"
                          "\"remote_account\":\"X\",\"server_id\":\"NP\"}\r\n");
    leaf_peer_expect(&peer, "\"connect_info\":true");
    leaf_peer_expect(&peer, "LS+ $LDS.");
    leaf_peer_expect(&peer, "\r\n");
}

static void test_violations_are_answered_and_close(void)
{
    static const struct {
        const char *sent, *want;
    } row[] = {
        {"LS+ a..b\r\nPING\r\n", "-ERR 'Invalid Subscription'\r\nPONG\r\n"},
        {"BOGUS\r\n", "-ERR 'Unknown Protocol Operation'\r\n"},
        {"LMSG s 99999999\r\n", "-ERR 'Maximum Payload Violation'\r\n"},
        {"LMSG s 1\r\nabc\r\n", "-ERR 'Unknown Protocol Operation'\r\n"},
        {"LS+ foo q\r\n", ""},
        {"LMSG x\r\n", ""},
        {"SUB foo 1\r\n", ""},
    };

    for (size_t i = 0; i < MF_COUNT(row); i++) {
        open_as_leaf(HUB);
        enter_as_leaf();
        leaf_peer_send(&peer, row[i].sent);
        if (row[i].want[0] != '\0')
            leaf_peer_expect(&peer, row[i].want);
        if (i > 0)
            leaf_peer_until_end(&peer);
        close_as_leaf();
    }
}

static void test_strangers_are_refused_with_their_text(void)
{
    static const struct {
        const char *sent, *want;
    } row[] = {
        {"PING\r\n", "-ERR 'Authorization Violation'\r\n"},
        {"INFO {}\r\n", "-ERR 'Authorization Violation'\r\n"},
        {"CONNECT {\"lang\":\"go\"}\r\n", "-ERR 'attempted to connect to leaf node port'\r\n"},
        {"CONNECT {\"gateway\":\"GW\"}\r\n",
         "-ERR 'Rejecting connection from gateway \"GW\" on the leafnode port'\r\n"},
        {"CONNECT {\"cluster\":\"a b\"}\r\n", "-ERR 'cluster name cannot contain spaces'\r\n"},
        {"CONNECT {\"user\":\"l\",\"pass\":\"wrong\"}\r\n", "-ERR 'Authorization Violation'\r\n"},
    };

    for (size_t i = 0; i < MF_COUNT(row); i++) {
        open_as_leaf(
            "leafnodes { listen: \"127.0.0.1:1\", compression: off, authorization { user: l, "
            "password: right } }");
        leaf_peer_send(&peer, row[i].sent);
        leaf_peer_expect(&peer, row[i].want);
        leaf_peer_until_end(&peer);
        close_as_leaf();
    }
}

static void test_the_user_of_the_block_enters_its_account(void)
{
    open_as_leaf("accounts { A {} }\n leafnodes { listen: \"127.0.0.1:1\", compression: off, "
                 "authorization { user: l, password: right, account: A } }");
    leaf_peer_send(&peer, "CONNECT {\"user\":\"l\",\"pass\":\"right\"}\r\n");
    leaf_peer_expect(&peer, "\"remote_account\":\"A\"");
    leaf_peer_expect(&peer, "LS+ $LDS.");
    TEST_ASSERT_EQUAL_UINT32(1, account_counters(leaf_world_account(&hub, "A"))->leafnodes);
    close_as_leaf();
}

#define LIMITED                                                                                    \
    "accounts { A { users [ {user: u, password: p, permissions { publish: [\"ok.>\", \"zz.q\"], "  \
    "subscribe: \"in.>\" } } ] } }\n leafnodes { listen: \"127.0.0.1:1\", compression: off }"
#define AS_USER "CONNECT {\"user\":\"u\",\"pass\":\"p\",\"headers\":true}\r\n"

static void test_permissions_of_a_user_are_sent_and_enforced(void)
{
    static const struct {
        const char *sent, *want;
    } row[] = {
        {"LMSG no.x 1\r\nx\r\n", "-ERR 'Permissions Violation for Publish to \"no.x\"'\r\n"},
        {"LS+ no.y\r\n", "-ERR 'Permissions Violation for Subscription to \"no.y\"'\r\n"},
    };
    struct leaf_ear ok, no;

    for (size_t i = 0; i < MF_COUNT(row); i++) {
        open_as_leaf(LIMITED);
        struct account *a = leaf_world_account(&hub, "A");
        leaf_listen(&ok, a, "ok.1", "");
        leaf_listen(&no, a, "no.x", "");
        leaf_peer_send(&peer, AS_USER);
        leaf_peer_expect(&peer, "\"import\":{\"allow\":[\"in.\\u003e\"]},\"export\":{\"allow\":"
                                "[\"ok.\\u003e\",\"zz.q\"]}");
        leaf_peer_wait(&peer, "LS+ ok.1\r\n");
        leaf_peer_send(&peer, "LMSG ok.1 1\r\nx\r\nLS+ in.a\r\nLS+ *.b\r\nPING\r\n");
        leaf_peer_wait(&peer, "PONG\r\n");
        TEST_ASSERT_FALSE(leaf_peer_has(&peer, "LS+ no.x"));
        leaf_peer_expect(&peer, "PONG\r\n");
        TEST_ASSERT_EQUAL_UINT(1, ok.got);
        TEST_ASSERT_EQUAL_size_t(1, leaf_say(a, "in.b", "", "", "x"));
        TEST_ASSERT_EQUAL_size_t(0, leaf_say(a, "out.b", "", "", "x"));
        leaf_peer_send(&peer, row[i].sent);
        leaf_peer_expect(&peer, row[i].want);
        leaf_peer_until_end(&peer);
        TEST_ASSERT_EQUAL_UINT(0, no.got);
        leaf_deafen(&ok);
        leaf_deafen(&no);
        close_as_leaf();
    }
}

/* The connection of before is dead, and its server is here again. */
static void test_a_predecessor_is_replaced(void)
{
    struct leaf_peer again;

    open_as_leaf(HUB);
    enter_as_leaf();
    leaf_peer_dial(&again, loop, leaf_world_port(&hub));
    leaf_peer_send(&again, "CONNECT {\"name\":\"P\",\"cluster\":\"P\",\"remote_account\":\"X\","
                           "\"server_id\":\"NP\"}\r\n");
    leaf_peer_expect(&again, "LS+ $LDS.");
    leaf_peer_expect(&peer, "-ERR 'Duplicate Remote LeafNode Connection'\r\n");
    leaf_peer_until_end(&peer);
    TEST_ASSERT_EQUAL_UINT32(1, leaf_count(hub.lf));
    leaf_peer_close(&again);
    close_as_leaf();
}

static void test_two_leafs_learn_of_each_other_unless_they_are_of_one_cluster(void)
{
    struct leaf_peer second, third;

    open_as_leaf(HUB);
    enter_as_leaf();
    leaf_peer_dial(&second, loop, leaf_world_port(&hub));
    leaf_peer_send(&second, "CONNECT {\"name\":\"P2\",\"cluster\":\"P\"}\r\n");
    leaf_peer_expect(&second, "LS+ $LDS.");
    leaf_peer_dial(&third, loop, leaf_world_port(&hub));
    leaf_peer_send(&third, "CONNECT {\"name\":\"T\",\"cluster\":\"T\"}\r\n");
    leaf_peer_expect(&third, "LS+ $LDS.");
    leaf_peer_expect(&third, "\r\n");
    leaf_peer_send(&peer, "LS+ from.p\r\nLS+ q G 2\r\n");
    leaf_peer_expect(&third, "LS+ from.p\r\n");
    leaf_peer_expect(&third, "LS+ q G 2\r\n");
    leaf_peer_send(&second, "LS+ q G 3\r\nPING\r\n");
    leaf_peer_expect(&third, "LS+ q G 5\r\n"); /* the sum */
    leaf_peer_wait(&second, "PONG\r\n");
    TEST_ASSERT_FALSE(leaf_peer_has(&second, "from.p"));
    leaf_peer_expect(&second, "PONG\r\n");
    leaf_peer_send(&third, "LMSG from.p 1\r\nx\r\n");
    leaf_peer_expect(&peer, "LMSG from.p 1\r\nx\r\n");
    leaf_peer_send(&second, "LMSG from.p 1\r\ny\r\nPING\r\n"); /* one cluster: no echo */
    leaf_peer_expect(&second, "PONG\r\n");
    leaf_peer_send(&peer, "PING\r\n");
    leaf_peer_wait(&peer, "PONG\r\n");
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "LMSG"));
    leaf_peer_expect(&peer, "PONG\r\n");
    leaf_peer_close(&peer);
    leaf_peer_expect(&third, "LS- from.p\r\n");
    leaf_peer_close(&second);
    leaf_peer_close(&third);
    leaf_world_close(&hub);
}

static void test_an_isolated_leaf_learns_of_no_other(void)
{
    struct leaf_peer other;
    struct leaf_ear ear;

    open_as_leaf(HUB);
    leaf_peer_send(&peer, "CONNECT {\"name\":\"I\",\"cluster\":\"I\",\"isolate\":true}\r\n");
    leaf_peer_expect(&peer, "LS+ $LDS.");
    leaf_peer_dial(&other, loop, leaf_world_port(&hub));
    leaf_peer_send(&other,
                   "CONNECT {\"name\":\"O\",\"cluster\":\"O\"}\r\nLS+ $LDS.o\r\nLS+ from.o\r\n"
                   "PING\r\n");
    leaf_peer_expect(&other, "PONG\r\n");
    leaf_listen(&ear, accounts_global(hub.as), "local", "");
    leaf_peer_wait(&peer, "LS+ local\r\n");
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "from.o"));
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "$LDS.o")); /* each leaf would cost each other one */
    leaf_peer_send(&peer, "LS+ from.i\r\n");
    leaf_peer_expect(&other, "LS+ from.i\r\n");
    leaf_deafen(&ear);
    leaf_peer_close(&other);
    close_as_leaf();
}

static void test_a_flood_of_interest_is_refused(void)
{
    struct mf_buf b = MF_BUF_INIT;

    open_as_leaf("max_subscriptions: 1000\n" HUB);
    enter_as_leaf();
    for (int i = 0; i <= 1000; i++)
        mf_buf_printf(&b, "LS+ flood.%d\r\n", i);
    leaf_peer_send_bytes(&peer, b.ptr, b.len);
    leaf_peer_expect(&peer, "-ERR 'maximum subscriptions exceeded'\r\n");
    leaf_peer_until_end(&peer);
    TEST_ASSERT_FALSE(
        router_has_interest(account_router(accounts_global(hub.as)), MF_LIT("flood.1")));
    mf_buf_fini(&b);
    close_as_leaf();
}

/* A leaf's CONNECT does not tell the largest message it takes; its error does. */
static void test_a_message_that_a_leaf_refused_is_not_sent_again(void)
{
    struct leaf_peer again;

    open_as_leaf(HUB);
    enter_as_leaf();
    struct account *a = accounts_global(hub.as);
    leaf_peer_send(&peer, "LS+ s\r\nPING\r\n");
    leaf_peer_expect(&peer, "PONG\r\n");
    (void)leaf_say(a, "s", "", "", "0123456789");
    leaf_peer_expect(&peer, "LMSG s 10\r\n");
    leaf_peer_send(&peer, "-ERR 'Maximum Payload Violation'\r\nPING\r\n");
    leaf_peer_expect(&peer, "PONG\r\n");
    leaf_peer_dial(&again, loop, leaf_world_port(&hub));
    leaf_peer_send(&again, "CONNECT {\"name\":\"P\",\"cluster\":\"P\",\"remote_account\":\"X\","
                           "\"server_id\":\"NP\"}\r\nLS+ s\r\nPING\r\n");
    leaf_peer_expect(&again, "PONG\r\n");
    (void)leaf_say(a, "s", "", "", "0123456789");
    (void)leaf_say(a, "s", "", "", "012345678");
    leaf_peer_wait(&again, "LMSG s 9\r\n");
    TEST_ASSERT_FALSE(leaf_peer_has(&again, "LMSG s 10\r\n"));
    leaf_peer_close(&again);
    close_as_leaf();
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_violations_are_answered_and_close);
    RUN_TEST(test_strangers_are_refused_with_their_text);
    RUN_TEST(test_the_user_of_the_block_enters_its_account);
    RUN_TEST(test_permissions_of_a_user_are_sent_and_enforced);
    RUN_TEST(test_a_predecessor_is_replaced);
    RUN_TEST(test_two_leafs_learn_of_each_other_unless_they_are_of_one_cluster);
    RUN_TEST(test_an_isolated_leaf_learns_of_no_other);
    RUN_TEST(test_a_message_that_a_leaf_refused_is_not_sent_again);
    RUN_TEST(test_a_flood_of_interest_is_refused);
    return UNITY_END();
}
