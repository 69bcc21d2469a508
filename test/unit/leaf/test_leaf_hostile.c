/* test_leaf_hostile.c: leaf links whose peer, or whose moment, is a bad one. */
#include "leaf/leaf_impl.h"
#include "leaf/leaf_view.h"

#include "support/leaf_world.h"
#include "unity.h"

#include <stdlib.h>

static struct loop *loop;
static struct leaf_world world;
static struct leaf_peer peer;

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
}

void tearDown(void)
{
    loop_free(loop);
}

#define INFO                                                                                       \
    "INFO {\"server_id\":\"NPEER\",\"server_name\":\"PEER\",\"version\":\"2.15.1\","               \
    "\"headers\":true,\"max_payload\":1000,\"client_id\":7,\"nonce\":\"abc\","                     \
    "\"info_on_connect\":true} \r\n"
#define ANSWER "INFO {\"server_id\":\"NPEER\",\"connect_info\":true,\"remote_account\":\"X\"} \r\n"

/* --- a removed remote ------------------------------------------------------------------------- */

static void count_remote(void *arg, const struct leaf_remote_info *r)
{
    (void)r;
    ++*(unsigned *)arg;
}

static void test_a_removed_remote_is_not_shown_while_its_link_ends(void)
{
    unsigned shown = 0;

    leaf_peer_listen(&peer, loop);
    leaf_world_open(
        &world, loop, "LEAF",
        "leafnodes { compression: off, remotes [ { url: \"nats-leaf://127.0.0.1:PORT\" } ] }",
        peer.port);
    leaf_peer_accept(&peer);
    leaf_peer_send(&peer, INFO);
    leaf_peer_expect(&peer, "CONNECT {");
    leaf_peer_send(&peer, ANSWER);
    leaf_peer_expect(&peer, "LS+ $LDS.");
    leaf_each_remote(world.lf, count_remote, &shown);
    TEST_ASSERT_EQUAL_UINT(1, shown);
    leaf_world_reload(&world, "leafnodes { compression: off, remotes [] }", 0);
    leaf_each_remote(world.lf, count_remote, &shown);
    TEST_ASSERT_EQUAL_UINT(1, shown);
    leaf_peer_until_end(&peer);
    leaf_peer_close(&peer);
    leaf_world_close(&world);
}

/* --- a reload while a password is checked ----------------------------------------------------- */

#define BCRYPT "$2a$04$1j0zwHZdKlzqqUwQPMrCge1wg8K3q3e0jJpDsyZb8JqS8OLrtLwk."

static bool is_checking(void *arg)
{
    (void)arg;
    return world.lf->njobs == 1;
}

static bool is_checked(void *arg)
{
    (void)arg;
    return world.lf->njobs == 0;
}

static void test_a_user_who_is_removed_while_the_password_is_checked_does_not_enter(void)
{
    leaf_world_open(
        &world, loop, "HUB",
        "accounts { A { users [ { user: u, password: \"" BCRYPT "\" } ] }, B {} }\n"
        "leafnodes { listen: \"127.0.0.1:1\", compression: off, authorization { timeout: 60 } }",
        0);
    leaf_peer_dial(&peer, loop, leaf_world_port(&world));
    leaf_peer_expect(&peer, "INFO {");
    leaf_peer_send(&peer, "CONNECT {\"name\":\"X\",\"user\":\"u\",\"pass\":\"secret\"}\r\n");
    TEST_ASSERT_TRUE(leaf_until(loop, is_checking, NULL));
    leaf_world_reload(
        &world,
        "accounts { A { users [ { user: w, password: w } ] }, B {} }\n"
        "leafnodes { listen: \"127.0.0.1:1\", compression: off, authorization { timeout: 60 } }",
        0);
    TEST_ASSERT_TRUE(leaf_until(loop, is_checked, NULL));
    TEST_ASSERT_EQUAL_UINT32(0, leaf_count(world.lf));
    leaf_peer_until_end(&peer);
    TEST_ASSERT_FALSE(leaf_peer_has(&peer, "Timeout"));
    leaf_peer_close(&peer);
    leaf_world_close(&world);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_removed_remote_is_not_shown_while_its_link_ends);
    RUN_TEST(test_a_user_who_is_removed_while_the_password_is_checked_does_not_enter);
    return UNITY_END();
}
