/* test_leaf_wants.c: remotes whose accounts are loaded when somebody needs them (operator mode):
 * they dial when the account is there, again and again until it is, and stop with it. */
#include "leaf/leaf.h"

#include "support/leaf_world.h"
#include "unity.h"

#include <stdio.h>
#include <string.h>

static struct loop *loop;
static struct leaf_world hub, leaf;

/* The requests for accounts, as an operator would get them. */
static struct {
    void (*done)(void *to, struct account *a, const char *why);
    void *to;
    char name[60];
    unsigned asked, cancelled;
    bool open;
} want;

static void *ask(void *arg, const char *name,
                 void (*done)(void *to, struct account *a, const char *why), void *to)
{
    (void)arg;
    TEST_ASSERT_FALSE_MESSAGE(want.open, "one request at a time");
    want.done = done;
    want.to = to;
    want.open = true;
    want.asked++;
    snprintf(want.name, sizeof want.name, "%s", name);
    return &want;
}

static void cancel(void *arg, void *request)
{
    (void)arg;
    TEST_ASSERT_EQUAL_PTR(&want, request);
    TEST_ASSERT_TRUE(want.open);
    want.open = false;
    want.cancelled++;
}

static void answer(struct account *a, const char *why)
{
    TEST_ASSERT_TRUE(want.open);
    want.open = false;
    want.done(want.to, a, why);
}

#define LEAF                                                                                       \
    "accounts { X { } }, leafnodes { compression: off, reconnect: 10ms, remotes [ { account: X, "  \
    "url: \"nats-leaf://127.0.0.1:PORT\" } ] }"

static bool is_asked(void *arg)
{
    return want.open && want.asked >= *(unsigned *)arg;
}
static void await_asked(unsigned n)
{
    TEST_ASSERT_TRUE(leaf_until(loop, is_asked, &n));
}

static bool are_linked(void *arg)
{
    return leaf_count(leaf.lf) == *(unsigned *)arg && leaf_count(hub.lf) == *(unsigned *)arg;
}
static void await_links(unsigned n)
{
    TEST_ASSERT_TRUE(leaf_until(loop, are_linked, &n));
}

void setUp(void)
{
    struct mf_error e;

    memset(&want, 0, sizeof want);
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
    leaf_world_open(&hub, loop, "HUB", "leafnodes { listen: \"127.0.0.1:1\", compression: off }",
                    0);
    leaf_world_wants(ask, cancel);
    leaf_world_open(&leaf, loop, "LEAF", LEAF, leaf_world_port(&hub));
    leaf_world_wants(NULL, NULL);
}

void tearDown(void)
{
    leaf_world_close(&leaf);
    leaf_world_close(&hub);
    loop_free(loop);
}

static void test_a_remote_dials_when_its_account_is_there(void)
{
    await_asked(1);
    TEST_ASSERT_EQUAL_STRING("X", want.name);
    leaf_turns(loop, 20);
    TEST_ASSERT_EQUAL_UINT(1, want.asked);
    TEST_ASSERT_EQUAL_UINT32(0, leaf_count(leaf.lf));
    answer(leaf_world_account(&leaf, "X"), NULL);
    await_links(1);
}

static void test_an_unknown_account_is_asked_for_again(void)
{
    for (unsigned n = 1; n <= 3; n++) {
        await_asked(n);
        answer(NULL, "account missing");
    }
    await_asked(4);
    answer(leaf_world_account(&leaf, "X"), NULL);
    await_links(1);
}

/* The end of the server, or of the remote, while the request is under way. */
static void test_a_request_is_cancelled_with_its_remote(void)
{
    await_asked(1);
    leaf_world_reload(&leaf, "accounts { X { } }, leafnodes { compression: off }", 0);
    TEST_ASSERT_EQUAL_UINT(1, want.cancelled);
    leaf_world_reload(&leaf, LEAF, leaf_world_port(&hub));
    await_asked(2);
    /* tearDown closes with the second request open. */
}

static void test_the_end_of_an_account_ends_its_links_until_it_is_back(void)
{
    struct account *x = leaf_world_account(&leaf, "X");

    await_asked(1);
    answer(x, NULL);
    await_links(1);
    leaf_account_ended(leaf.lf, accounts_global(leaf.as)); /* another one */
    leaf_turns(loop, 20);
    TEST_ASSERT_EQUAL_UINT32(1, leaf_count(leaf.lf));
    leaf_account_ended(leaf.lf, x);
    await_asked(2);
    TEST_ASSERT_EQUAL_UINT32(0, leaf_count(leaf.lf));
    answer(NULL, "account expired");
    await_asked(3);
    answer(x, NULL);
    await_links(1);
}

static void test_a_removed_account_is_looked_for(void)
{
    struct account *x = leaf_world_account(&leaf, "X");

    await_asked(1);
    answer(x, NULL);
    await_links(1);
    leaf_account_removed(leaf.lf, x);
    await_asked(2);
    await_links(0);
    answer(x, NULL);
    await_links(1);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_remote_dials_when_its_account_is_there);
    RUN_TEST(test_an_unknown_account_is_asked_for_again);
    RUN_TEST(test_a_request_is_cancelled_with_its_remote);
    RUN_TEST(test_the_end_of_an_account_ends_its_links_until_it_is_back);
    RUN_TEST(test_a_removed_account_is_looked_for);
    return UNITY_END();
}
