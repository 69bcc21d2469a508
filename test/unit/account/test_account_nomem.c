/* test_account_nomem.c: memory runs out at the 1st, 2nd, 3rd... allocation.  What failed left
 * nothing behind, and what was there before still works.  (Linked with --wrap for the allocator.)
 */
#include "support/account_world.h"
#include "support/client_publish.h"
#include "support/no_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

static struct world w;

/* Counts only: the log of the others allocates. */
static size_t taken;
static bool count(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    (void)m;
    taken++;
    return true;
}

static void describe(void)
{
    static struct options_mapping_dest d = {(char *)"mapped.$1", 100, NULL};

    world_init(&w);
    world_account(&w, "B");
    world_account(&w, "A");
    world_export(&w, "B", false, "x.>");
    world_export(&w, "B", true, "s.*");
    world_export(&w, "B", true, "lat")->latency_subject = (char *)"report";
    w.exports[0][2].latency_percent = 100;
    world_import(&w, "A", false, "B", "x.>", "y.>");
    world_import(&w, "A", true, "B", "s.*", "t.*");
    world_import(&w, "A", true, "B", "lat", NULL);
    world_map(&w, "A", "m.*", &d, 1);
}

void setUp(void)
{
    describe();
}

void tearDown(void)
{
    memory_disarm();
    if (w.as != NULL)
        world_fini(&w);
}

static size_t send(const char *account, const char *subject, const char *reply)
{
    struct mf_msg msg = {.subject = mf_str(subject), .reply = mf_str(reply)};
    struct router_msg rm = {.route = msg.subject, .msg = &msg};

    return client_publish(world_get(&w, account), &rm);
}

static void test_starting_fails_whole(void)
{
    struct mf_error e;
    int rc, n = 0;

    do {
        memory_arm(n++);
        rc = world_try(&w, &e);
        memory_disarm();
        TEST_ASSERT_TRUE(rc == 0 || memory_hit);
        if (rc == 0 && memory_hit) /* what it could do without: a larger table, a narrower shadow */
            world_fini(&w);
    } while (memory_hit);
    TEST_ASSERT_GREATER_THAN_INT(20, n);
}

static bool takes_all(struct router_remote *r, const struct router_msg *m)
{
    (void)r;
    (void)m;
    return true;
}

static bool count_sent(struct router_remote *r, const struct router_msg *m,
                       const struct mf_slice *queue, uint32_t n)
{
    (void)r;
    (void)m;
    (void)queue;
    (void)n;
    taken++;
    return true;
}

static void subscribe_without_memory(struct router_sub s)
{
    int rc, n = 0;

    world_start(&w);
    do {
        memory_arm(n++);
        rc = account_subscribe(world_get(&w, "A"), MF_LIT("y.*"), MF_SLICE_NONE, &s);
        memory_disarm();
        taken = 0;
        send("B", "x.1", "");
        send("A", "y.1", "");
        TEST_ASSERT_EQUAL_size_t(rc == 0 ? 2 : 0, taken);
    } while (rc != 0);
    TEST_ASSERT_GREATER_THAN_INT(2, n);
    account_unsubscribe(world_get(&w, "A"), &s);
}

static void test_subscribing_fails_whole(void)
{
    subscribe_without_memory((struct router_sub){.deliver = count});
}

static void test_subscribing_for_a_link_fails_whole(void)
{
    struct router_remote peer = {.takes = takes_all, .send = count_sent};

    subscribe_without_memory((struct router_sub){.remote = &peer});
    TEST_ASSERT_NULL(peer.passages);
    router_remote_fini(&peer);
}

static void test_reloading_fails_whole(void)
{
    struct router_sub a = {.deliver = count}, b = {.deliver = count};
    struct mf_error e;
    int rc, n = 0;

    world_start(&w);
    TEST_ASSERT_EQUAL_INT(0,
                          account_subscribe(world_get(&w, "A"), MF_LIT("*.1"), MF_SLICE_NONE, &a));
    TEST_ASSERT_EQUAL_INT(0,
                          account_subscribe(world_get(&w, "B"), MF_LIT("s.1"), MF_SLICE_NONE, &b));
    world_account(&w, "NEW");
    w.imports[1][0].to = (char *)"z.>";
    w.imports[1][1].to = (char *)"u.*";
    do {
        memory_arm(n++);
        rc = world_reload(&w, &e);
        memory_disarm();
        TEST_ASSERT_TRUE(rc == 0 || memory_hit);
        TEST_ASSERT_EQUAL(rc == 0, accounts_get(w.as, "NEW") != NULL);
        TEST_ASSERT_EQUAL_size_t(1, send("B", "x.1", ""));
        taken = 0;
        send("A", rc == 0 ? "u.1" : "t.1", "");
        TEST_ASSERT_GREATER_OR_EQUAL_size_t(1, taken);
        TEST_ASSERT_EQUAL_size_t(1, send("B", "s.1", ""));
    } while (rc != 0);
    TEST_ASSERT_GREATER_THAN_INT(20, n);
    account_unsubscribe(world_get(&w, "A"), &a);
    account_unsubscribe(world_get(&w, "B"), &b);
}

static char seen[64];
static bool keep_reply(struct router_sub *s, const struct router_msg *m)
{
    snprintf(seen, sizeof seen, "%.*s", MF_FMT(m->msg->reply));
    return count(s, m);
}

/* A message may get lost then, but nothing else. */
static void test_requests_without_memory_are_not_delivered(void)
{
    struct router_sub in = {.deliver = count}, b = {.deliver = keep_reply};
    int n = 0;

    world_start(&w);
    TEST_ASSERT_EQUAL_INT(
        0, account_subscribe(world_get(&w, "A"), MF_LIT("inbox"), MF_SLICE_NONE, &in));
    TEST_ASSERT_EQUAL_INT(0,
                          account_subscribe(world_get(&w, "B"), MF_LIT("lat"), MF_SLICE_NONE, &b));
    do {
        size_t got;
        taken = 0;
        seen[0] = '\0';
        memory_arm(n++);
        got = send("A", "lat", "inbox");
        memory_disarm();
        TEST_ASSERT_EQUAL_size_t(got, taken);
        bool request_hit = memory_hit;
        if (got == 1) {
            memory_arm(n);
            send("B", seen, "ask.back");
        }
        memory_hit |= request_hit;
        memory_disarm();
        accounts_expire(w.as, INT64_MAX / 2);
    } while (memory_hit);
    TEST_ASSERT_GREATER_THAN_INT(2, n);
    TEST_ASSERT_EQUAL_size_t(2, taken);
    account_unsubscribe(world_get(&w, "A"), &in);
    account_unsubscribe(world_get(&w, "B"), &b);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_starting_fails_whole);
    RUN_TEST(test_subscribing_fails_whole);
    RUN_TEST(test_subscribing_for_a_link_fails_whole);
    RUN_TEST(test_reloading_fails_whole);
    RUN_TEST(test_requests_without_memory_are_not_delivered);
    return UNITY_END();
}
