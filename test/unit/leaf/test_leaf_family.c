/* test_leaf_family.c: links of one cluster are told nothing of each other, at a cost that does not
 * grow with the square of their number. */
#include "leaf/leaf_impl.h"

#include "support/leaf_world.h"
#include "unity.h"

#include <stdio.h>

#define HUB  "leafnodes { listen: \"127.0.0.1:1\", compression: off }"
#define MOST 48

static struct loop *loop;
static struct leaf_world hub;
static struct leaf_peer peers[MOST];
static unsigned npeers;

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
    leaf_world_open(&hub, loop, "HUB", HUB, 0);
    npeers = 0;
}

void tearDown(void)
{
    while (npeers > 0)
        leaf_peer_close(&peers[--npeers]);
    leaf_world_close(&hub);
    loop_free(loop);
}

/* cluster NULL: it names none. */
static struct leaf_peer *enter(const char *cluster)
{
    struct leaf_peer *p = &peers[npeers];
    char line[256];

    leaf_peer_dial(p, loop, leaf_world_port(&hub));
    leaf_peer_expect(p, "INFO {");
    (void)snprintf(
        line, sizeof line,
        "CONNECT {\"name\":\"P%u\",\"server_id\":\"N%u\",\"remote_account\":\"X\"%s%s%s}\r\n",
        npeers, npeers, cluster == NULL ? "" : ",\"cluster\":\"", cluster == NULL ? "" : cluster,
        cluster == NULL ? "" : "\"");
    npeers++;
    leaf_peer_send(p, line);
    leaf_peer_expect(p, "LS+ $LDS.");
    return p;
}

/* All that the hub did because of the text is known when this returns. */
static void tell(struct leaf_peer *p, const char *text)
{
    leaf_peer_send(p, text);
    leaf_peer_send(p, "PING\r\n");
    leaf_peer_expect(p, "PONG\r\n");
}

static void hear(struct leaf_peer *p, const char *line, bool want)
{
    leaf_peer_send(p, "PING\r\n");
    leaf_peer_wait(p, "PONG\r\n");
    TEST_ASSERT_EQUAL_INT_MESSAGE(want, leaf_peer_has(p, line), line);
    leaf_peer_expect(p, "PONG\r\n");
}

static uint64_t looks(void)
{
    return mf_container(mf_list_first(&hub.lf->realms), struct leaf_realm, link)->looks;
}

/* --- what is told ----------------------------------------------------------------------------- */

static void test_members_of_a_cluster_hear_nothing_of_each_other(void)
{
    struct leaf_peer *a = enter("K"), *b = enter("K"), *watcher = enter("W");

    tell(a, "LS+ s\r\n");
    hear(watcher, "LS+ s\r\n", true);
    tell(b, "LS+ s\r\n");
    hear(watcher, "LS+ s\r\n", false);
    hear(a, " s\r\n", false);
    tell(a, "LS- s\r\n");
    hear(watcher, "LS- s\r\n", false);
    tell(b, "LS- s\r\n");
    hear(watcher, "LS- s\r\n", true);
    hear(a, " s\r\n", false);
    hear(b, " s\r\n", false);
}

static void test_weights_of_a_cluster_are_left_out_together(void)
{
    struct leaf_peer *a = enter("K"), *b = enter("K"), *watcher = enter("W");

    tell(a, "LS+ s q 2\r\n");
    tell(b, "LS+ s q 3\r\n");
    hear(watcher, "LS+ s q 5\r\n", true);
    tell(watcher, "LS+ s q 7\r\n");
    hear(a, "LS+ s q 7\r\n", true);
    hear(b, "LS+ s q 7\r\n", true);
    tell(b, "LS+ s q 0\r\n");
    hear(watcher, "LS+ s q 2\r\n", true);
    tell(b, "LS+ s q 1\r\n");
    hear(watcher, "LS+ s q 3\r\n", true);
    hear(a, " s q", false);
}

/* The second cluster is told when the third one is all that is left, and not before. */
static void test_the_last_holders_learn_when_the_others_end(void)
{
    struct leaf_peer *a = enter("A"), *b = enter("B"), *c = enter(NULL);

    tell(a, "LS+ s\r\n");
    tell(b, "LS+ s\r\n");
    hear(a, "LS+ s\r\n", true);
    tell(c, "LS+ s\r\n");
    hear(a, " s\r\n", false);
    tell(a, "LS- s\r\n");
    hear(a, " s\r\n", false);
    hear(b, "LS- s\r\n", false);
    tell(b, "LS- s\r\n");
    hear(c, "LS- s\r\n", true);
    hear(a, " s\r\n", false);
    tell(c, "LS- s\r\n");
    hear(a, "LS- s\r\n", true);
    hear(b, "LS- s\r\n", true);
}

static void test_a_member_that_comes_back_is_not_told_of_its_cluster(void)
{
    struct leaf_peer *b;

    tell(enter("K"), "LS+ s\r\nLS+ s q 4\r\n");
    b = enter("K");
    hear(b, " s", false);
}

/* --- cost ------------------------------------------------------------------------------------- */

/* One more line of a peer. */
static uint64_t cost_of(struct leaf_peer *p, const char *line)
{
    uint64_t before = looks();

    tell(p, line);
    return looks() - before;
}

static void test_a_line_costs_no_more_than_the_links_of_its_cluster(void)
{
    for (unsigned n = 0; n < MOST; n++)
        (void)enter("K");
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * MOST + 4, cost_of(&peers[0], "LS+ s\r\n"));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * MOST + 4, cost_of(&peers[1], "LS+ s\r\n"));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * MOST + 4, cost_of(&peers[2], "LS+ s q 1\r\n"));
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(2 * MOST + 4, cost_of(&peers[0], "LS- s\r\n"));
}

/* Everybody subscribes to the same subject: from the fourth on, no link is looked at. */
static void test_what_all_know_already_costs_nothing(void)
{
    char name[16];

    for (unsigned n = 0; n < MOST; n++) {
        (void)snprintf(name, sizeof name, "C%u", n);
        (void)enter(name);
    }
    for (unsigned n = 0; n < 3; n++)
        tell(&peers[n], "LS+ s\r\n");
    for (unsigned n = 3; n < MOST; n++)
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(4, cost_of(&peers[n], "LS+ s\r\n"));
    for (unsigned n = 3; n < MOST; n++)
        TEST_ASSERT_LESS_OR_EQUAL_UINT64(4, cost_of(&peers[n], "LS- s\r\n"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_members_of_a_cluster_hear_nothing_of_each_other);
    RUN_TEST(test_weights_of_a_cluster_are_left_out_together);
    RUN_TEST(test_the_last_holders_learn_when_the_others_end);
    RUN_TEST(test_a_member_that_comes_back_is_not_told_of_its_cluster);
    RUN_TEST(test_a_line_costs_no_more_than_the_links_of_its_cluster);
    RUN_TEST(test_what_all_know_already_costs_nothing);
    return UNITY_END();
}
