/* test_account_remote.c: stream imports of subscriptions that belong to servers behind links. */
#include "support/account_world.h"

#include <stdio.h>

#include "unity.h"

struct remote {
    struct router_remote peer;
    bool refuses;
    unsigned asked, sent;
    char last[256]; /* the last message: its route, what it shows, its queues */
};

static bool takes(struct router_remote *r, const struct router_msg *m)
{
    struct remote *x = mf_container(r, struct remote, peer);

    (void)m;
    x->asked++;
    return !x->refuses;
}

static bool send(struct router_remote *r, const struct router_msg *m, const struct mf_slice *queue,
                 uint32_t n)
{
    struct remote *x = mf_container(r, struct remote, peer);

    x->sent++;
    snprintf(x->last, sizeof x->last, "%.*s %.*s", MF_FMT(m->route), MF_FMT(m->msg->subject));
    for (uint32_t i = 0; i < n; i++) {
        size_t at = strlen(x->last);
        snprintf(x->last + at, sizeof x->last - at, " %.*s", MF_FMT(queue[i]));
    }
    return true;
}

#define MAX_SUBS 6

static struct world w;
static struct remote a, b;
static struct router_sub subs[MAX_SUBS];
static size_t nsubs;

/* Account A imports x.> of B, and what it exports is used by nobody else. */
void setUp(void)
{
    a = b = (struct remote){.peer = {.takes = takes, .send = send}};
    world_init(&w);
    world_account(&w, "B");
    world_account(&w, "A");
    world_export(&w, "B", false, "x.>");
}

static void leave_all(void)
{
    while (nsubs > 0)
        account_unsubscribe(world_get(&w, "A"), &subs[--nsubs]);
}

/* The imports leave nothing behind at a link. */
void tearDown(void)
{
    leave_all();
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", "x.1.2", "", ""));
    TEST_ASSERT_NULL(a.peer.passages);
    TEST_ASSERT_NULL(b.peer.passages);
    router_remote_fini(&a.peer);
    router_remote_fini(&b.peer);
    world_fini(&w);
}

static void announce(struct remote *r, const char *pattern, const char *queue)
{
    struct router_sub *s = &subs[nsubs++];

    *s = (struct router_sub){.remote = &r->peer, .client = true};
    TEST_ASSERT_EQUAL_INT(0,
                          account_subscribe(world_get(&w, "A"), mf_str(pattern), mf_str(queue), s));
}

/* What the next message of B becomes at the link; "": it does not cross. */
static const char *crossed(struct remote *r, const char *subject)
{
    unsigned before = r->sent;

    r->last[0] = '\0';
    say(&w, "B", subject, "", "");
    TEST_ASSERT_TRUE(r->sent - before <= 1);
    return r->last;
}

static void test_a_message_crosses_once_with_all_queues(void)
{
    world_import(&w, "A", false, "B", "x.>", "y.>");
    world_start(&w);
    announce(&a, "y.1", "");
    announce(&a, "y.*", "");
    announce(&a, "y.1", "q");
    announce(&b, "y.>", "");
    TEST_ASSERT_EQUAL_size_t(2, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_STRING("y.1 y.1 q", a.last);
    TEST_ASSERT_EQUAL_STRING("y.1 y.1", b.last);
    TEST_ASSERT_EQUAL_UINT(1, a.sent);
    TEST_ASSERT_EQUAL_UINT(1, a.asked);
    TEST_ASSERT_EQUAL_UINT(1, b.sent);
    account_unsubscribe(world_get(&w, "A"), &subs[1]);
    TEST_ASSERT_EQUAL_STRING("", crossed(&a, "x.2"));
    TEST_ASSERT_EQUAL_STRING("y.1 y.1 q", crossed(&a, "x.1"));
    a.refuses = true;
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
}

static void test_a_group_with_a_member_here_stays_here(void)
{
    struct listener here;

    world_import(&w, "A", false, "B", "x.>", NULL);
    world_start(&w);
    announce(&a, "x.1", "q");
    listen_to(&here, &w, "A", "here", "x.*", "q");
    for (int i = 0; i < 50; i++)
        TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_size_t(50, here.count);
    TEST_ASSERT_EQUAL_UINT(0, a.sent);
    leave(&here);
    TEST_ASSERT_EQUAL_STRING("x.1 x.1 q", crossed(&a, "x.1"));
}

/* $1 twice and $2 never: the shadows are wider than their owners, which are asked one by one. */
static void test_an_import_that_cannot_be_narrowed_asks_each_subscription(void)
{
    w.exports[0][0].subject = (char *)"x.*.*";
    world_import(&w, "A", false, "B", "x.*.*", "y.$1.$1");
    world_start(&w);
    announce(&a, "y.2.2", "");
    announce(&a, "y.2.*", "q");
    announce(&a, "y.1.1", "r");
    announce(&b, "y.2.2", "");
    TEST_ASSERT_EQUAL_STRING("y.2.2 y.2.2 q", crossed(&a, "x.2.1"));
    TEST_ASSERT_EQUAL_STRING("y.1.1 y.1.1 r", crossed(&a, "x.1.2"));
    TEST_ASSERT_EQUAL_STRING("", crossed(&a, "x.3.1"));
    TEST_ASSERT_EQUAL_UINT(1, b.sent);
    TEST_ASSERT_EQUAL_UINT(1, b.asked);
}

/* A consumer's delivery is routed by one subject and shows another. */
static void test_a_delivery_keeps_what_it_shows(void)
{
    struct mf_msg msg = {.subject = MF_LIT("stored")};

    world_import(&w, "A", false, "B", "x.1", "local");
    world_start(&w);
    announce(&a, "local", "");
    TEST_ASSERT_EQUAL_size_t(
        1, account_publish(world_get(&w, "B"),
                           &(struct router_msg){.route = MF_LIT("x.1"), .msg = &msg}));
    TEST_ASSERT_EQUAL_STRING("local stored", a.last);
}

static void test_links_follow_a_reload_of_the_imports(void)
{
    struct mf_error e = {0};

    world_import(&w, "A", false, "B", "x.>", NULL);
    world_start(&w);
    announce(&a, "x.1", "");
    announce(&a, ">", "");
    announce(&b, "y.*", "q");
    TEST_ASSERT_EQUAL_STRING("x.1 x.1", crossed(&a, "x.1"));
    TEST_ASSERT_EQUAL_UINT(0, b.sent);
    w.imports[1][0].to = (char *)"y.>";
    TEST_ASSERT_EQUAL_INT(0, world_reload(&w, &e));
    TEST_ASSERT_EQUAL_STRING("y.1 y.1", crossed(&a, "x.1"));
    TEST_ASSERT_EQUAL_STRING("y.1 y.1 q", b.last);
    w.imports[1][0].account = (char *)"nobody"; /* refused: nothing changes */
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, world_reload(&w, &e));
    TEST_ASSERT_EQUAL_STRING("y.1 y.1", crossed(&a, "x.1"));
    w.accounts[1].nimports = 0;
    TEST_ASSERT_EQUAL_INT(0, world_reload(&w, &e));
    TEST_ASSERT_NULL(a.peer.passages);
    TEST_ASSERT_EQUAL_STRING("", crossed(&a, "x.1"));
}

static void test_the_exporting_account_goes(void)
{
    struct mf_error e = {0};

    world_import(&w, "A", false, "B", "x.>", NULL);
    world_start(&w);
    announce(&a, "x.1", "");
    TEST_ASSERT_EQUAL_STRING("x.1 x.1", crossed(&a, "x.1"));
    leave_all();
    TEST_ASSERT_NULL(a.peer.passages);
    announce(&a, "x.*", "q");
    TEST_ASSERT_EQUAL_STRING("x.1 x.1 q", crossed(&a, "x.1"));
    w.accounts[1].nimports = 0;
    world_drop_account(&w, "B");
    TEST_ASSERT_EQUAL_INT(0, world_reload(&w, &e));
    TEST_ASSERT_NULL(a.peer.passages);
    world_account(&w, "B");
    TEST_ASSERT_EQUAL_INT(0, world_reload(&w, &e));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_message_crosses_once_with_all_queues);
    RUN_TEST(test_a_group_with_a_member_here_stays_here);
    RUN_TEST(test_an_import_that_cannot_be_narrowed_asks_each_subscription);
    RUN_TEST(test_a_delivery_keeps_what_it_shows);
    RUN_TEST(test_links_follow_a_reload_of_the_imports);
    RUN_TEST(test_the_exporting_account_goes);
    return UNITY_END();
}
