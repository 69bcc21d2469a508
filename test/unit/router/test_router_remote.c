/* test_router_remote.c: subscriptions of servers behind links. */
#include "support/router_receiver.h"

#include <stdio.h>

struct remote {
    struct router_remote peer;
    bool refuses;
    unsigned asked, sent;
    char queues[128]; /* of the last message */
};

static bool takes(struct router_remote *r, const struct router_msg *m)
{
    struct remote *x = mf_container(r, struct remote, peer);

    x->asked++;
    return !x->refuses && m->from != r;
}

static bool send(struct router_remote *r, const struct router_msg *m, const struct mf_slice *queue,
                 uint32_t n)
{
    struct remote *x = mf_container(r, struct remote, peer);

    (void)m;
    x->sent++;
    x->queues[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        size_t at = strlen(x->queues);
        (void)snprintf(x->queues + at, sizeof x->queues - at, "%.*s ", MF_FMT(queue[i]));
    }
    return true;
}

static struct remote a, b;
static struct receiver sub[8];
static size_t nsubs;

void setUp(void)
{
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT(0, router_new(&router, &e));
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    a.peer.takes = b.peer.takes = takes;
    a.peer.send = b.peer.send = send;
    memset(sub, 0, sizeof sub);
    nsubs = 0;
}

void tearDown(void)
{
    while (nsubs > 0)
        leave(&sub[--nsubs]);
    check();
    router_free(router);
    router_remote_fini(&a.peer);
    router_remote_fini(&b.peer);
}

static struct receiver *add(struct remote *r, const char *pattern, const char *queue)
{
    struct receiver *x = &sub[nsubs++];

    x->rs.remote = r == NULL ? NULL : &r->peer;
    join(x, pattern, queue);
    if (r != NULL)
        x->rs.deliver = NULL; /* it wants all */
    return x;
}

static size_t publish_from(struct remote *r, const char *subject, const struct mf_slice *queue,
                           uint32_t n)
{
    struct mf_msg msg = {.subject = mf_str(subject)};

    return router_publish(router, &(struct router_msg){.route = msg.subject,
                                                       .msg = &msg,
                                                       .from = r == NULL ? NULL : &r->peer,
                                                       .queue = queue,
                                                       .nqueues = n});
}

static void test_a_server_gets_a_message_once(void)
{
    struct receiver *here = add(NULL, "a.*", "");

    add(&a, "a.b", "");
    add(&a, "a.>", "");
    add(&a, "a.b", "q1");
    add(&a, "a.*", "q2");
    add(&b, "a.b", "");
    TEST_ASSERT_EQUAL_size_t(3, publish("a.b"));
    TEST_ASSERT_EQUAL_UINT(1, here->got);
    TEST_ASSERT_EQUAL_UINT(1, a.sent);
    TEST_ASSERT_EQUAL_UINT(1, a.asked);
    TEST_ASSERT_EQUAL_STRING("q1 q2 ", a.queues);
    TEST_ASSERT_EQUAL_UINT(1, b.sent);
    TEST_ASSERT_EQUAL_STRING("", b.queues);
    TEST_ASSERT_TRUE(router_has_exact(router, MF_LIT("a.b"), MF_SLICE_NONE));
}

static void test_a_group_is_left_to_a_server_only_without_members_here(void)
{
    struct receiver *here = add(NULL, "q", "G");

    add(&a, "q", "G");
    add(&b, "q", "G");
    for (int i = 0; i < 50; i++)
        TEST_ASSERT_EQUAL_size_t(1, publish("q"));
    TEST_ASSERT_EQUAL_UINT(50, here->got);
    TEST_ASSERT_EQUAL_UINT(0, a.sent + b.sent);
    here->refuse = true;
    for (int i = 0; i < 50; i++)
        TEST_ASSERT_EQUAL_size_t(1, publish("q"));
    TEST_ASSERT_EQUAL_UINT(50, a.sent + b.sent);
    TEST_ASSERT_TRUE(a.sent > 0 && b.sent > 0);
    TEST_ASSERT_EQUAL_STRING("G ", a.queues);
}

static void test_a_server_that_refuses_does_not_count(void)
{
    a.refuses = true;
    add(&a, "s", "");
    add(&a, "s", "G");
    TEST_ASSERT_EQUAL_size_t(0, publish("s"));
    TEST_ASSERT_EQUAL_UINT(0, a.sent);
    a.refuses = false;
    TEST_ASSERT_EQUAL_size_t(1, publish("s"));
    TEST_ASSERT_EQUAL_size_t(0, publish_from(&a, "s", NULL, 0)); /* its own message */
}

static void test_a_message_from_a_link_reaches_the_listed_groups(void)
{
    struct mf_slice listed[] = {MF_LIT("q2")};
    struct receiver *plain = add(NULL, "s", ""), *q1 = add(NULL, "s", "q1"),
                    *q2 = add(NULL, "s", "q2");

    add(&b, "s", "q1");
    TEST_ASSERT_EQUAL_size_t(1, publish_from(&a, "s", NULL, 0));
    TEST_ASSERT_EQUAL_size_t(2, publish_from(&a, "s", listed, 1));
    TEST_ASSERT_EQUAL_UINT(2, plain->got);
    TEST_ASSERT_EQUAL_UINT(0, q1->got + b.sent);
    TEST_ASSERT_EQUAL_UINT(1, q2->got);
}

/* A receiver publishes to the same servers from inside its delivery. */
static void publish_again(struct receiver *x)
{
    x->act = NULL;
    (void)publish("a.b");
}

static void test_a_nested_publish_disturbs_no_server(void)
{
    struct receiver *here = add(NULL, "a.b", "");

    add(&a, "a.b", "");
    add(&a, "a.*", "G");
    here->act = publish_again;
    TEST_ASSERT_EQUAL_size_t(2, publish("a.b"));
    TEST_ASSERT_EQUAL_UINT(2, a.sent);
    TEST_ASSERT_EQUAL_STRING("G ", a.queues);
}

/* A receiver ends the subscription of a server, whose turn comes later. */
static void end_remote(struct receiver *x)
{
    leave(x->arg);
}

static void test_a_subscription_that_ended_is_not_served(void)
{
    struct receiver *here = add(NULL, "s", ""), *there = add(&a, "s", "");

    here->act = end_remote;
    here->arg = there;
    TEST_ASSERT_EQUAL_size_t(1, publish("s"));
    TEST_ASSERT_EQUAL_UINT(0, a.sent);
}

static bool wants_none(struct router_sub *s, const struct router_msg *m)
{
    (void)s;
    (void)m;
    return false;
}

static void test_a_subscription_of_a_server_may_refuse_for_itself(void)
{
    add(&a, "s", "")->rs.deliver = wants_none;
    add(&a, "*", "G")->rs.deliver = wants_none;
    TEST_ASSERT_EQUAL_size_t(0, publish("s"));
    TEST_ASSERT_EQUAL_UINT(0, a.asked);
    add(&b, "s", "G");
    add(&a, "s", "");
    TEST_ASSERT_EQUAL_size_t(2, publish("s"));
    TEST_ASSERT_EQUAL_STRING("", a.queues);
    TEST_ASSERT_EQUAL_STRING("G ", b.queues);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_server_gets_a_message_once);
    RUN_TEST(test_a_group_is_left_to_a_server_only_without_members_here);
    RUN_TEST(test_a_server_that_refuses_does_not_count);
    RUN_TEST(test_a_message_from_a_link_reaches_the_listed_groups);
    RUN_TEST(test_a_nested_publish_disturbs_no_server);
    RUN_TEST(test_a_subscription_that_ended_is_not_served);
    RUN_TEST(test_a_subscription_of_a_server_may_refuse_for_itself);
    return UNITY_END();
}
