/* test_leaf.c: leaf links between servers on one loop, and with a peer that the test plays. */
#include "leaf/leaf.h"

#include "base/log.h"
#include "support/leaf_world.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

#define HUB  "leafnodes { listen: \"127.0.0.1:1\", compression: off }"
#define LEAF "leafnodes { compression: off, remotes [ { url: \"nats-leaf://127.0.0.1:PORT\" } ] }"

#define INFO                                                                                       \
    "INFO {\"server_id\":\"NPEER\",\"server_name\":\"PEER\",\"version\":\"2.15.1\",\"proto\":3,"   \
    "\"headers\":true,\"max_payload\":1000,\"client_id\":7,\"nonce\":\"abc\","                     \
    "\"info_on_connect\":true,\"leafnode_urls\":[\"127.0.0.1:1\"]} \r\n"
#define ANSWER                                                                                     \
    "INFO {\"server_id\":\"NPEER\",\"connect_info\":true,\"remote_account\":\"ACC\"} \r\n"

/* --- two servers ------------------------------------------------------------------------------ */

static struct leaf_world hub, leaf;

static bool both_usable(void *arg)
{
    (void)arg;
    return leaf_count(hub.lf) == 1 && leaf_count(leaf.lf) == 1;
}

static void open_pair(const char *hub_text, const char *leaf_text)
{
    leaf_world_open(&hub, loop, "HUB", hub_text, 0);
    leaf_world_open(&leaf, loop, "LEAF", leaf_text, leaf_world_port(&hub));
    TEST_ASSERT_TRUE(leaf_until(loop, both_usable, NULL));
}

static void close_pair(void)
{
    leaf_world_close(&leaf);
    leaf_world_close(&hub);
}

struct count {
    const unsigned *got;
    unsigned want;
};

static bool is_counted(void *arg)
{
    struct count *c = arg;

    return *c->got >= c->want;
}

static void await_count(const unsigned *got, unsigned want)
{
    TEST_ASSERT_TRUE(leaf_until(loop, is_counted, &(struct count){got, want}));
    TEST_ASSERT_EQUAL_UINT(want, *got);
}

struct interest {
    struct account *a;
    const char *subject;
    bool want;
};

static bool is_interest(void *arg)
{
    struct interest *i = arg;

    return router_has_interest(account_router(i->a), mf_str(i->subject)) == i->want;
}

static void await_interest(struct account *a, const char *subject, bool want)
{
    TEST_ASSERT_TRUE_MESSAGE(leaf_until(loop, is_interest, &(struct interest){a, subject, want}),
                             subject);
}

static void test_a_message_crosses_with_reply_and_header(void)
{
    struct leaf_ear ear;

    open_pair(HUB, LEAF);
    struct account *here = accounts_global(hub.as), *there = accounts_global(leaf.as);
    leaf_listen(&ear, there, "foo.*", "");
    await_interest(here, "foo.1", true);
    TEST_ASSERT_EQUAL_size_t(1,
                             leaf_say(here, "foo.1", "_INBOX.1", "NATS/1.0\r\nA: b\r\n\r\n", "x"));
    await_count(&ear.got, 1);
    TEST_ASSERT_EQUAL_STRING("foo.1 _INBOX.1 NATS/1.0\r\nA: b\r\n\r\n x", ear.last);
    leaf_deafen(&ear);
    await_interest(here, "foo.1", false);
    TEST_ASSERT_EQUAL_size_t(0, leaf_say(here, "foo.1", "_INBOX.1", "", "x"));
    close_pair();
}

/* The same the other way: the spoke publishes. */
static void test_a_message_of_the_leaf_reaches_the_hub_once(void)
{
    struct leaf_ear plain, wild, back;

    open_pair(HUB, LEAF);
    struct account *here = accounts_global(leaf.as), *there = accounts_global(hub.as);
    leaf_listen(&plain, there, "a.b", "");
    leaf_listen(&wild, there, "a.>", "");
    await_interest(here, "a.c", true);
    await_interest(here, "a.b", true);
    leaf_listen(&back, here, "a.b", ""); /* a message never comes back to its server */
    await_interest(there, "a.b", true);
    leaf_turns(loop, 20);
    (void)leaf_say(here, "a.b", "", "", "x");
    await_count(&plain.got, 1);
    await_count(&wild.got, 1);
    leaf_turns(loop, 20);
    TEST_ASSERT_EQUAL_UINT(1, plain.got);
    TEST_ASSERT_EQUAL_UINT(1, back.got);
    leaf_deafen(&plain);
    leaf_deafen(&wild);
    leaf_deafen(&back);
    close_pair();
}

/* A member on the publisher's server is chosen before one behind the link. */
static void test_a_queue_group_prefers_members_of_its_own_server(void)
{
    struct leaf_ear here_ear, there_ear;

    open_pair(HUB, LEAF);
    struct account *here = accounts_global(hub.as), *there = accounts_global(leaf.as);
    leaf_listen(&there_ear, there, "q", "G");
    await_interest(here, "q", true);
    for (int i = 0; i < 20; i++)
        TEST_ASSERT_EQUAL_size_t(1, leaf_say(here, "q", "", "", "x"));
    await_count(&there_ear.got, 20);
    leaf_listen(&here_ear, here, "q", "G");
    for (int i = 0; i < 20; i++)
        TEST_ASSERT_EQUAL_size_t(1, leaf_say(here, "q", "", "", "x"));
    leaf_turns(loop, 20);
    TEST_ASSERT_EQUAL_UINT(20, here_ear.got);
    TEST_ASSERT_EQUAL_UINT(20, there_ear.got);
    leaf_deafen(&here_ear);
    leaf_deafen(&there_ear);
    close_pair();
}

static void test_counters_of_links_are_kept(void)
{
    open_pair(HUB, LEAF);
    TEST_ASSERT_EQUAL_UINT32(1, account_counters(accounts_global(hub.as))->leafnodes);
    leaf_world_close(&leaf);
    struct count gone = {&hub.downs, 1};
    TEST_ASSERT_TRUE(leaf_until(loop, is_counted, &gone));
    TEST_ASSERT_EQUAL_UINT32(0, account_counters(accounts_global(hub.as))->leafnodes);
    TEST_ASSERT_EQUAL_UINT(1, hub.ups);
    leaf_world_close(&hub);
}

static void test_a_remote_dials_until_there_is_a_hub(void)
{
    struct leaf_peer p;

    leaf_peer_listen(&p, loop);
    close(p.listener);
    p.listener = -1;
    leaf_world_open(&leaf, loop, "LEAF",
                    "leafnodes { compression: off, reconnect: 20ms, remotes [ { url: "
                    "\"nats-leaf://127.0.0.1:PORT\" } ] }",
                    p.port);
    leaf_turns(loop, 20);
    leaf_world_open(&hub, loop, "HUB", HUB, 0);
    leaf_world_reload(&leaf,
                      "leafnodes { compression: off, reconnect: 20ms, remotes [ { url: "
                      "\"nats-leaf://127.0.0.1:PORT\" } ] }",
                      leaf_world_port(&hub));
    TEST_ASSERT_TRUE(leaf_until(loop, both_usable, NULL));
    close_pair();
    leaf_peer_close(&p);
}

/* A reload that changes one remote leaves the link of the other alone. */
static void test_a_reload_keeps_links_that_did_not_change(void)
{
    char text[512];

    leaf_world_open(&hub, loop, "HUB",
                    "accounts { A { users [ {user: a, password: a} ] }, B { users [ {user: b, "
                    "password: b} ] } }\n" HUB,
                    0);
    int port = leaf_world_port(&hub);
    (void)snprintf(text, sizeof text,
                   "accounts { A {}, B {} }\n leafnodes { compression: off, remotes [ "
                   "{ url: \"nats-leaf://a:a@127.0.0.1:%d\", account: A }, "
                   "{ url: \"nats-leaf://b:b@127.0.0.1:%d\", account: B } ] }",
                   port, port);
    leaf_world_open(&leaf, loop, "LEAF", text, 0);
    struct count up = {&leaf.ups, 2};
    TEST_ASSERT_TRUE(leaf_until(loop, is_counted, &up));
    (void)snprintf(text, sizeof text,
                   "accounts { A {}, B {} }\n leafnodes { compression: off, remotes [ "
                   "{ url: \"nats-leaf://a:a@127.0.0.1:%d\", account: A } ] }",
                   port);
    leaf_world_reload(&leaf, text, 0);
    struct count down = {&leaf.downs, 1};
    TEST_ASSERT_TRUE(leaf_until(loop, is_counted, &down));
    leaf_turns(loop, 50);
    TEST_ASSERT_EQUAL_UINT(1, leaf.downs);
    TEST_ASSERT_EQUAL_UINT32(1, leaf_count(leaf.lf));
    TEST_ASSERT_EQUAL_UINT32(1, account_counters(leaf_world_account(&leaf, "A"))->leafnodes);
    close_pair();
}

/* --- a hub that the test plays ---------------------------------------------------------------- */

static struct leaf_peer peer;

static void open_with_hub(const char *text)
{
    leaf_peer_listen(&peer, loop);
    leaf_world_open(&leaf, loop, "LEAF", text, peer.port);
    leaf_peer_accept(&peer);
    leaf_peer_send(&peer, INFO);
    leaf_peer_expect(&peer, "CONNECT {");
    leaf_peer_expect(&peer, "}\r\n");
    leaf_peer_send(&peer, ANSWER);
    leaf_peer_expect(&peer, "LS+ $LDS.");
    leaf_peer_expect(&peer, "\r\n");
}

static void close_with_hub(void)
{
    leaf_peer_close(&peer);
    leaf_world_close(&leaf);
}

static void test_interest_is_announced_on_its_first_and_last_subscriber(void)
{
    struct leaf_ear a, b;

    open_with_hub(LEAF);
    struct account *acc = accounts_global(leaf.as);
    leaf_listen(&a, acc, "foo", "");
    leaf_listen(&b, acc, "foo", "");
    leaf_peer_send(&peer, "PING\r\n");
    leaf_peer_expect(&peer, "LS+ foo\r\nPONG\r\n"); /* once */
    leaf_deafen(&a);
    leaf_peer_send(&peer, "PING\r\n");
    leaf_peer_wait(&peer, "PONG\r\n");
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "LS-"));
    leaf_peer_expect(&peer, "PONG\r\n");
    leaf_deafen(&b);
    leaf_peer_expect(&peer, "LS- foo\r\n");
    leaf_listen(&a, acc, "q", "G");
    leaf_peer_expect(&peer, "LS+ q G 1\r\n");
    leaf_listen(&b, acc, "q", "G");
    leaf_peer_expect(&peer, "LS+ q G 2\r\n");
    leaf_deafen(&b);
    leaf_peer_expect(&peer, "LS+ q G 1\r\n");
    leaf_deafen(&a);
    leaf_peer_expect(&peer, "LS- q G\r\n");
    close_with_hub();
}

/* A consumer's delivery names its deliver subject, and shows the stored one behind '@'. */
static void test_a_delivery_crosses_with_both_subjects(void)
{
    struct leaf_ear ear;

    open_with_hub(LEAF);
    struct account *acc = accounts_global(leaf.as);
    struct mf_msg m = {MF_LIT("l.1"), MF_LIT("$JS.ACK.L.D.1.1.1.9.1"), MF_SLICE_NONE, MF_LIT("hi")};
    leaf_peer_send(&peer, "LS+ _INBOX.p\r\n");
    await_interest(acc, "_INBOX.p", true);
    (void)account_publish(acc, &(struct router_msg){.route = MF_LIT("_INBOX.p"), .msg = &m});
    leaf_peer_expect(&peer, "LMSG _INBOX.p $JS.ACK.L.D.1.1.1.9.1@l.1 2\r\nhi\r\n");
    leaf_listen(&ear, acc, "_INBOX.q", "");
    leaf_peer_send(&peer, "LMSG _INBOX.q $JS.ACK.H.D.1.1.1.9.1@h.1 2\r\nyo\r\n");
    await_count(&ear.got, 1);
    TEST_ASSERT_EQUAL_STRING("h.1 $JS.ACK.H.D.1.1.1.9.1  yo", ear.last);
    leaf_deafen(&ear);
    close_with_hub();
}

/* Without a list of queues no queue group gets a message from a link. */
static void test_queue_groups_need_to_be_listed(void)
{
    struct leaf_ear plain, q1, q2;

    open_with_hub(LEAF);
    struct account *acc = accounts_global(leaf.as);
    leaf_listen(&plain, acc, "s", "");
    leaf_listen(&q1, acc, "s", "q1");
    leaf_listen(&q2, acc, "s", "q2");
    leaf_peer_send(&peer, "LMSG s 1\r\nx\r\n");
    await_count(&plain.got, 1);
    TEST_ASSERT_EQUAL_UINT(0, q1.got + q2.got);
    leaf_peer_send(&peer, "LMSG s | q2 1\r\nx\r\n");
    await_count(&plain.got, 2);
    TEST_ASSERT_EQUAL_UINT(0, q1.got);
    TEST_ASSERT_EQUAL_UINT(1, q2.got);
    leaf_deafen(&plain);
    leaf_deafen(&q1);
    leaf_deafen(&q2);
    close_with_hub();
}

/* The hub's INFO says 1000 bytes. */
static void test_a_message_too_large_for_the_hub_is_dropped_and_the_link_stays(void)
{
    char large[1200];

    open_with_hub(LEAF);
    struct account *acc = accounts_global(leaf.as);
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    leaf_peer_send(&peer, "LS+ s\r\n");
    await_interest(acc, "s", true);
    (void)leaf_say(acc, "s", "", "", large);
    (void)leaf_say(acc, "s", "", "", "small");
    leaf_peer_expect(&peer, "\r\nsmall\r\n");
    TEST_ASSERT_EQUAL_UINT32(1, leaf_count(leaf.lf));
    close_with_hub();
}

static void test_interest_in_a_denied_subject_is_not_announced(void)
{
    struct leaf_ear a, b, c;

    open_with_hub("leafnodes { compression: off, remotes [ { url: \"nats-leaf://127.0.0.1:PORT\", "
                  "deny_imports: \"no.in.>\", deny_exports: \"no.out.>\" } ] }");
    struct account *acc = accounts_global(leaf.as);
    leaf_listen(&a, acc, "no.in.x", "");
    leaf_listen(&b, acc, "$JS.API.CONSUMER.MSG.NEXT.S.C", "");
    leaf_listen(&c, acc, "yes", "");
    leaf_peer_wait(&peer, "LS+ yes\r\n");
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "no.in"));
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "MSG.NEXT"));
    leaf_peer_send(&peer, "LS+ >\r\nLMSG no.in.x 1\r\nx\r\nPING\r\n");
    leaf_peer_expect(&peer, "PONG\r\n");
    TEST_ASSERT_EQUAL_UINT(0, a.got);
    TEST_ASSERT_EQUAL_size_t(0, leaf_say(acc, "no.out.x", "", "", "x"));
    TEST_ASSERT_EQUAL_size_t(1, leaf_say(acc, "out", "", "", "x"));
    leaf_peer_expect(&peer, "LMSG out 1\r\n");
    leaf_deafen(&a);
    leaf_deafen(&b);
    leaf_deafen(&c);
    close_with_hub();
}

static void test_permissions_of_the_hub_are_kept(void)
{
    struct leaf_ear a, b;

    leaf_peer_listen(&peer, loop);
    leaf_world_open(&leaf, loop, "LEAF", LEAF, peer.port);
    struct account *acc = accounts_global(leaf.as);
    leaf_listen(&a, acc, "sub.a", "");
    leaf_listen(&b, acc, "zz", "");
    leaf_peer_accept(&peer);
    leaf_peer_send(&peer, INFO);
    leaf_peer_expect(&peer, "}\r\n");
    leaf_peer_send(&peer, "INFO {\"connect_info\":true,\"remote_account\":\"ACC\",\"import\":"
                          "{\"allow\":[\"sub.\\u003e\"]},\"export\":{\"allow\":[\"pub.\\u003e\"]}} "
                          "\r\nLS+ >\r\nPING\r\n");
    leaf_peer_wait(&peer, "LS+ sub.a\r\n");
    leaf_peer_wait(&peer, "PONG\r\n");
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "LS+ zz"));
    leaf_peer_expect(&peer, "PONG\r\n");
    TEST_ASSERT_EQUAL_size_t(1, leaf_say(acc, "zz", "", "", "x")); /* its own subscriber alone */
    TEST_ASSERT_EQUAL_size_t(1, leaf_say(acc, "pub.a", "", "", "x"));
    leaf_peer_expect(&peer, "LMSG pub.a 1\r\n");
    /* Later permissions replace them. */
    leaf_peer_send(&peer, "INFO {\"import\":{\"allow\":[\"zz\"]},\"export\":{}} \r\n");
    leaf_peer_expect(&peer, "LS+ zz\r\n");
    leaf_deafen(&a);
    leaf_deafen(&b);
    close_with_hub();
}

static void test_the_own_mark_coming_back_is_a_loop(void)
{
    char line[64];

    leaf_peer_listen(&peer, loop);
    leaf_world_open(&leaf, loop, "LEAF", LEAF, peer.port);
    leaf_peer_accept(&peer);
    leaf_peer_send(&peer, INFO);
    leaf_peer_expect(&peer, "}\r\n");
    leaf_peer_send(&peer, ANSWER);
    leaf_peer_expect(&peer, "LS+ $LDS.");
    while (peer.in.len < 22)
        leaf_turns(loop, 1), (void)leaf_peer_has(&peer, "\r\n");
    (void)snprintf(line, sizeof line, "LS+ $LDS.%.22s\r\n", (char *)peer.in.ptr);
    leaf_peer_send(&peer, line);
    leaf_peer_expect(&peer, "-ERR 'Loop detected for leafnode account=\"$G\". Delaying attempt to "
                            "reconnect for 30s'\r\n");
    leaf_peer_until_end(&peer);
    close_with_hub();
}

static void test_a_port_that_is_not_for_leaf_nodes_is_named(void)
{
    leaf_peer_listen(&peer, loop);
    leaf_world_open(&leaf, loop, "LEAF", LEAF, peer.port);
    leaf_peer_accept(&peer);
    leaf_peer_send(&peer, "INFO {\"server_id\":\"X\",\"client_id\":5,\"max_payload\":1000} \r\n");
    leaf_peer_until_end(&peer);
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "CONNECT"));
    close_with_hub();
}

static void test_a_second_way_to_the_same_hub_is_refused(void)
{
    struct leaf_peer other;
    char text[512];

    leaf_peer_listen(&peer, loop);
    leaf_peer_listen(&other, loop);
    (void)snprintf(
        text, sizeof text,
        "leafnodes { compression: off, remotes [ { url: \"nats-leaf://127.0.0.1:%d\" }, { "
        "url: \"nats-leaf://127.0.0.1:%d\" } ] }",
        peer.port, other.port);
    leaf_world_open(&leaf, loop, "LEAF", text, 0);
    leaf_peer_accept(&peer);
    leaf_peer_accept(&other);
    leaf_peer_send(&peer, INFO);
    leaf_peer_expect(&peer, "}\r\n");
    leaf_peer_send(&peer, ANSWER);
    leaf_peer_expect(&peer, "LS+ $LDS.");
    leaf_peer_send(&other, INFO);
    leaf_peer_expect(&other, "}\r\n");
    leaf_peer_send(&other, ANSWER);
    leaf_peer_until_end(&other);
    TEST_ASSERT_FALSE(leaf_peer_has(&other, "LS+"));
    TEST_ASSERT_EQUAL_UINT32(1, leaf_count(leaf.lf));
    leaf_peer_close(&other);
    close_with_hub();
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_message_crosses_with_reply_and_header);
    RUN_TEST(test_a_message_of_the_leaf_reaches_the_hub_once);
    RUN_TEST(test_a_queue_group_prefers_members_of_its_own_server);
    RUN_TEST(test_counters_of_links_are_kept);
    RUN_TEST(test_a_remote_dials_until_there_is_a_hub);
    RUN_TEST(test_a_reload_keeps_links_that_did_not_change);
    RUN_TEST(test_interest_is_announced_on_its_first_and_last_subscriber);
    RUN_TEST(test_a_delivery_crosses_with_both_subjects);
    RUN_TEST(test_queue_groups_need_to_be_listed);
    RUN_TEST(test_a_message_too_large_for_the_hub_is_dropped_and_the_link_stays);
    RUN_TEST(test_interest_in_a_denied_subject_is_not_announced);
    RUN_TEST(test_permissions_of_the_hub_are_kept);
    RUN_TEST(test_the_own_mark_coming_back_is_a_loop);
    RUN_TEST(test_a_port_that_is_not_for_leaf_nodes_is_named);
    RUN_TEST(test_a_second_way_to_the_same_hub_is_refused);
    return UNITY_END();
}
