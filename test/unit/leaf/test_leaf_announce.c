/* test_leaf_announce.c: a new leaf link is told of much interest in time slices. */
#include "leaf/leaf_impl.h"

#include "loop/work.h"
#include "support/leaf_world.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define HUB     "leafnodes { listen: \"127.0.0.1:1\", compression: off }"
#define MANY    6000
#define AT_ONCE 1024       /* slots of the table that the first turn may visit */
#define STEP    50         /* slots in one time slice */
#define TURN    (2 * STEP) /* loop_turn() runs tasks before and after it looks for events */
#define LONG    4000       /* bytes of a long subject */

static struct loop *loop;
static struct leaf_world hub;
static struct leaf_peer peer;
static struct leaf_ear ears[MANY];

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
}

void tearDown(void)
{
    loop_free(loop);
}

static void listen_to_many(int n, size_t len)
{
    char *subject = malloc(len + 32);

    for (int i = 0; i < n; i++) {
        int at = snprintf(subject, len + 32, "many.%d.", i);
        memset(subject + at, 'x', len);
        subject[(size_t)at + len] = '\0';
        leaf_listen(&ears[i], accounts_global(hub.as), subject, "");
    }
    free(subject);
}

static void deafen_many(int n)
{
    for (int i = 0; i < n; i++)
        leaf_deafen(&ears[i]);
}

static bool is_usable(void *arg)
{
    (void)arg;
    return leaf_count(hub.lf) == 1;
}

static struct leaf_link *the_link(void)
{
    return mf_container(mf_list_first(&hub.lf->links), struct leaf_link, all);
}

static struct leaf_link *enter(void)
{
    leaf_peer_dial(&peer, loop, leaf_world_port(&hub));
    leaf_peer_expect(&peer, "INFO {");
    leaf_peer_send(&peer, "CONNECT {\"name\":\"P\",\"headers\":true,\"remote_account\":\"X\","
                          "\"server_id\":\"NP\"}\r\n");
    TEST_ASSERT_TRUE(leaf_until(loop, is_usable, NULL));
    return the_link();
}

static bool is_announced(void *arg)
{
    const struct leaf_link *l = arg;

    (void)leaf_peer_has(&peer, "\n"); /* reads */
    return l->phase != LEAF_USABLE || l->walk.at >= l->walk.cap;
}

/* The lines "LS+ many.<i>." and "LS- ..." that the peer got: +1 or -1 by the last one, 0: none. */
static void read_lines(signed char last[MANY])
{
    char *at;

    leaf_peer_send(&peer, "PING\r\n");
    leaf_peer_wait(&peer, "PONG\r\n");
    memset(last, 0, MANY);
    for (char *line = strtok_r((char *)(uintptr_t)mf_buf_cstr(&peer.in), "\r\n", &at); line != NULL;
         line = strtok_r(NULL, "\r\n", &at)) {
        int i;
        if (sscanf(line, "LS%*c many.%d.", &i) == 1 && i < MANY)
            last[i] = line[2] == '+' ? 1 : -1;
    }
}

static void close_hub(void)
{
    leaf_peer_close(&peer);
    leaf_world_close(&hub);
}

/* --- time slices ------------------------------------------------------------------------------ */

static void test_much_interest_is_announced_in_slices(void)
{
    static signed char last[MANY];
    struct leaf_link *l;
    size_t at;

    leaf_world_open(&hub, loop, "HUB", HUB, 0);
    work_set_steps(loop, STEP);
    listen_to_many(MANY, 1);
    l = enter();
    TEST_ASSERT_LESS_OR_EQUAL_size_t(AT_ONCE + TURN, l->walk.at);
    at = l->walk.at;
    while (at < l->walk.cap) {
        loop_turn(loop);
        TEST_ASSERT_LESS_OR_EQUAL_size_t(at + TURN, l->walk.at);
        at = l->walk.at;
    }
    read_lines(last);
    for (int i = 0; i < MANY; i++)
        TEST_ASSERT_EQUAL_INT(1, last[i]);
    deafen_many(MANY);
    close_hub();
}

/* Messages would go round a loop until the marks are there. */
static void test_marks_are_announced_first(void)
{
    struct leaf_ear mark[20];
    struct leaf_link *l;
    char line[64];

    leaf_world_open(&hub, loop, "HUB", HUB, 0);
    work_set_steps(loop, STEP);
    listen_to_many(MANY, 1);
    for (unsigned i = 0; i < MF_COUNT(mark); i++) {
        (void)snprintf(line, sizeof line, "$LDS.other%u", i);
        leaf_listen(&mark[i], accounts_global(hub.as), line, "");
    }
    l = enter();
    work_cancel(loop, &l->announce);
    for (unsigned i = 0; i < MF_COUNT(mark); i++) {
        (void)snprintf(line, sizeof line, "LS+ $LDS.other%u\r\n", i);
        leaf_peer_wait(&peer, line);
        leaf_deafen(&mark[i]);
    }
    deafen_many(MANY);
    close_hub();
}

/* What changes while the walk is half way is right at its end, on either side of it. */
static void test_changes_meanwhile_are_announced(void)
{
    static signed char last[MANY];
    struct leaf_link *l;

    leaf_world_open(&hub, loop, "HUB", HUB, 0);
    work_set_steps(loop, STEP);
    listen_to_many(MANY / 2, 1);
    l = enter();
    TEST_ASSERT_TRUE(work_queued(&l->announce));
    work_cancel(loop, &l->announce);
    for (int i = 0; i < MANY / 2; i += 2)
        leaf_deafen(&ears[i]);
    for (int i = MANY / 2; i < MANY; i++) { /* the table grows */
        char subject[32];
        (void)snprintf(subject, sizeof subject, "many.%d.x", i);
        leaf_listen(&ears[i], accounts_global(hub.as), subject, "");
    }
    realm_announce_more(l);
    TEST_ASSERT_TRUE(leaf_until(loop, is_announced, l));
    read_lines(last);
    for (int i = 0; i < MANY; i++)
        TEST_ASSERT_EQUAL_INT(i >= MANY / 2 || i % 2 == 1, last[i] == 1);
    for (int i = 0; i < MANY; i++)
        if (i >= MANY / 2 || i % 2 == 1)
            leaf_deafen(&ears[i]);
    close_hub();
}

/* --- more than may wait for a peer ------------------------------------------------------------ */

static bool is_paused(void *arg)
{
    const struct leaf_link *l = arg;

    return l->phase != LEAF_USABLE || !work_queued(&l->announce);
}

static void test_more_interest_than_max_pending_waits_for_the_peer(void)
{
    static signed char last[MANY];
    struct leaf_link *l;
    const size_t most = 4u << 20;

    leaf_world_open(&hub, loop, "HUB", "max_pending: 4194304\nmax_payload: 1000\n" HUB, 0);
    listen_to_many(MANY, LONG);
    l = enter();
    TEST_ASSERT_TRUE(leaf_until(loop, is_paused, l)); /* the peer reads nothing */
    leaf_turns(loop, 100);
    TEST_ASSERT_EQUAL(LEAF_USABLE, l->phase);
    TEST_ASSERT_LESS_THAN_size_t(l->walk.cap, l->walk.at);
    TEST_ASSERT_FALSE(work_queued(&l->announce));
    TEST_ASSERT_LESS_THAN_size_t(most / 4, net_queued(l->conn));
    TEST_ASSERT_TRUE(leaf_until(loop, is_announced, l));
    TEST_ASSERT_EQUAL(LEAF_USABLE, l->phase);
    read_lines(last);
    for (int i = 0; i < MANY; i++)
        TEST_ASSERT_EQUAL_INT(1, last[i]);
    deafen_many(MANY);
    close_hub();
}

/* --- a change of permissions ------------------------------------------------------------------ */

static void listen_to_two_kinds(void)
{
    char subject[32];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(subject, sizeof subject, "many.%d.%c", i, i % 2 == 0 ? 'x' : 'y');
        leaf_listen(&ears[i], accounts_global(hub.as), subject, "");
    }
}

/* A reload gives the user of the link a permission to publish everything but these. */
static void deny(struct leaf_link *l, const char *pattern)
{
    char *items[] = {(char *)(uintptr_t)pattern};
    struct options_permissions o = {.publish.deny = {.items = items, .n = 1}};
    struct perms *p;
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, perms_new(&p, &o, &e));
    accept_renew(l, p);
}

static struct leaf_link *enter_with_two_kinds(void)
{
    struct leaf_link *l;

    leaf_world_open(&hub, loop, "HUB", HUB, 0);
    work_set_steps(loop, STEP);
    listen_to_two_kinds();
    l = enter();
    TEST_ASSERT_TRUE(leaf_until(loop, is_announced, l));
    return l;
}

static void test_a_change_of_permissions_is_announced_in_slices(void)
{
    static signed char last[MANY];
    struct leaf_link *l = enter_with_two_kinds();
    size_t at;

    deny(l, "many.*.x");
    at = l->walk.at;
    TEST_ASSERT_LESS_OR_EQUAL_size_t(AT_ONCE, at);
    while (l->walking != LEAF_WALK_NONE) {
        loop_turn(loop);
        TEST_ASSERT_LESS_OR_EQUAL_size_t(at + TURN, l->walk.at);
        at = l->walk.at;
    }
    read_lines(last);
    for (int i = 0; i < MANY; i++)
        TEST_ASSERT_EQUAL_INT(i % 2 == 0 ? -1 : 1, last[i]);
    deafen_many(MANY);
    close_hub();
}

/* The second change comes while the first one is half announced, and some interest ends. */
static void test_two_changes_of_permissions_are_both_announced(void)
{
    static signed char last[MANY];
    struct leaf_link *l = enter_with_two_kinds();

    deny(l, "many.*.x");
    TEST_ASSERT_TRUE(work_queued(&l->announce));
    work_cancel(loop, &l->announce);
    for (int i = 0; i < MANY / 2; i++)
        leaf_deafen(&ears[i]);
    deny(l, "many.*.y");
    TEST_ASSERT_TRUE(leaf_until(loop, is_announced, l));
    read_lines(last);
    for (int i = 0; i < MANY; i++)
        TEST_ASSERT_EQUAL_INT(i >= MANY / 2 && i % 2 == 0 ? 1 : -1, last[i]);
    for (int i = MANY / 2; i < MANY; i++)
        leaf_deafen(&ears[i]);
    close_hub();
}

static void test_a_link_may_end_while_it_is_told(void)
{
    for (int shutdown = 0; shutdown < 2; shutdown++) {
        leaf_world_open(&hub, loop, "HUB", HUB, 0);
        work_set_steps(loop, STEP);
        listen_to_many(MANY, 1);
        TEST_ASSERT_TRUE(work_queued(&enter()->announce));
        if (shutdown)
            leaf_leaving(hub.lf);
        leaf_peer_close(&peer);
        leaf_turns(loop, 3);
        deafen_many(MANY);
        close_hub();
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_much_interest_is_announced_in_slices);
    RUN_TEST(test_marks_are_announced_first);
    RUN_TEST(test_changes_meanwhile_are_announced);
    RUN_TEST(test_more_interest_than_max_pending_waits_for_the_peer);
    RUN_TEST(test_a_change_of_permissions_is_announced_in_slices);
    RUN_TEST(test_two_changes_of_permissions_are_both_announced);
    RUN_TEST(test_a_link_may_end_while_it_is_told);
    return UNITY_END();
}
