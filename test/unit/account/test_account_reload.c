/* test_account_reload.c: a new configuration while subscriptions and requests are under way. */
#include "support/account_world.h"

#include "base/clock.h"

#include <stdio.h>

#include "unity.h"

static struct world w;

void setUp(void)
{
    world_init(&w);
    world_account(&w, "B");
    world_account(&w, "A");
}

void tearDown(void)
{
    world_fini(&w);
}

static void reload(void)
{
    struct mf_error e = {0};

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, world_reload(&w, &e), e.text);
}

/* Asked of nats-server 2.15.1: the same sequence, the same deliveries. */
static void test_subscriptions_follow_the_imports(void)
{
    struct listener a, q;

    world_export(&w, "B", false, "x.>");
    world_start(&w);
    listen_to(&a, &w, "A", "a", "x.>", "");
    listen_to(&q, &w, "A", "q", "*.1", "work");
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", "x.1", "", ""));
    world_import(&w, "A", false, "B", "x.>", NULL);
    reload();
    TEST_ASSERT_EQUAL_size_t(2, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_STRING("a x.1|q x.1", heard(&w));
    w.imports[1][0].prefix = (char *)"p";
    reload();
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", "x.1", "", ""));
    w.imports[1][0].prefix = NULL;
    w.imports[1][0].to = (char *)"y.>";
    reload();
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_STRING("q y.1", heard(&w));
    TEST_ASSERT_EQUAL_size_t(2, say(&w, "A", "x.1", "", "")); /* at home nothing changed */
    heard(&w);
    w.accounts[1].nimports = 0;
    reload();
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", "x.1", "", ""));
    leave(&a);
    leave(&q);
}

static void test_requests_under_way_find_back_after_a_reload(void)
{
    struct listener in, service;
    char kept[64], lost[64];

    world_export(&w, "B", true, "s");
    world_export(&w, "B", true, "t");
    world_import(&w, "A", true, "B", "s", NULL);
    world_import(&w, "A", true, "B", "t", NULL);
    world_start(&w);
    listen_to(&in, &w, "A", "in", "inbox", "");
    listen_to(&service, &w, "B", "b", "*", "");
    say(&w, "A", "s", "inbox", "");
    snprintf(kept, sizeof kept, "%s", last_reply(&w));
    say(&w, "A", "t", "inbox", "");
    snprintf(lost, sizeof lost, "%s", last_reply(&w));
    heard(&w);
    w.accounts[0].nexports = 1; /* t is gone, s stays */
    w.exports[0][0].threshold_ns = CLOCK_S;
    w.accounts[1].nimports = 1;
    reload();
    TEST_ASSERT_EQUAL_INT64(w.now_ns + CLOCK_S, accounts_expire(w.as, w.now_ns));
    say(&w, "B", kept, "", "kept");
    say(&w, "B", lost, "", "lost");
    TEST_ASSERT_EQUAL_STRING("in inbox =kept", heard(&w));
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "A", "t", "", ""));
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "s", "", ""));
    TEST_ASSERT_EQUAL_STRING("b s", heard(&w)); /* once: the old import is not there any more */
    leave(&in);
    leave(&service);
}

/* A mistake in the file must cost nothing. */
static void test_failed_reload_changes_nothing(void)
{
    struct options_mapping_dest d = {(char *)"other", 100, NULL};
    struct listener a, b;
    struct mf_error e;

    world_export(&w, "B", false, "x.>");
    world_export(&w, "B", true, "s");
    world_import(&w, "A", false, "B", "x.>", NULL);
    world_import(&w, "A", true, "B", "s", NULL);
    world_start(&w);
    listen_to(&a, &w, "A", "a", "x.>", "");
    listen_to(&b, &w, "B", "b", "s", "");
    world_account(&w, "NEW");
    world_map(&w, "B", "x.1", &d, 1);
    w.imports[1][0].to = (char *)"y.>";
    world_import(&w, "A", true, "B", "forbidden", NULL);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, world_reload(&w, &e));
    TEST_ASSERT_NULL(accounts_get(w.as, "NEW"));
    TEST_ASSERT_EQUAL_size_t(3 + 1, accounts_count(w.as));
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "s", "", ""));
    TEST_ASSERT_EQUAL_STRING("a x.1|b s", heard(&w));
    leave(&a);
    leave(&b);
}

struct news {
    char text[128];
    struct listener *who;
};

static void note_gone(void *arg, struct account *a)
{
    struct news *n = arg;

    strncat(n->text, account_name(a), sizeof n->text - strlen(n->text) - 1);
    TEST_ASSERT_NULL(account_options(a));
    if (n->who != NULL)
        leave(n->who);
}

static void note_new(void *arg, struct account *a)
{
    struct news *n = arg;

    strncat(n->text, account_name(a), sizeof n->text - strlen(n->text) - 1);
}

static void test_accounts_that_go_are_reported_and_shut(void)
{
    struct listener a, b;
    struct news n = {"", &a};
    struct mf_error e;

    world_export(&w, "B", false, "x");
    world_export(&w, "B", true, "s");
    world_import(&w, "A", false, "B", "x", NULL);
    world_import(&w, "A", true, "B", "s", NULL);
    world_start(&w);
    listen_to(&a, &w, "A", "a", ">", "");
    listen_to(&b, &w, "B", "b", ">", "");
    say(&w, "A", "s", "inbox", "");
    world_drop_account(&w, "A");
    TEST_ASSERT_EQUAL_INT(0, accounts_reload(w.as, &w.o, note_gone, &n, &e));
    TEST_ASSERT_EQUAL_STRING("A", n.text);
    TEST_ASSERT_NULL(accounts_get(w.as, "A"));
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, w.now_ns)); /* its request has no way back */
    heard(&w);
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x", "", ""));
    TEST_ASSERT_EQUAL_STRING("b x", heard(&w));
    leave(&b);
}

/* Clients are closed by and by: until then their account stays usable, though nobody finds it. */
static void test_account_that_went_stays_while_somebody_uses_it(void)
{
    struct listener a;
    struct news n = {"", NULL};
    struct account *old;
    struct mf_error e;

    world_export(&w, "B", false, "x");
    world_import(&w, "A", false, "B", "x", NULL);
    world_start(&w);
    listen_to(&a, &w, "A", "a", ">", "");
    old = account_retain(world_get(&w, "A"));
    account_counters(old)->clients = 1;
    world_drop_account(&w, "A");
    TEST_ASSERT_EQUAL_INT(0, accounts_reload(w.as, &w.o, note_gone, &n, &e));
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", "x", "", ""));
    world_account(&w, "A"); /* comes back: another account of the same name */
    reload();
    TEST_ASSERT_TRUE(old != world_get(&w, "A"));
    TEST_ASSERT_EQUAL_STRING("A", account_name(old));
    struct mf_msg msg = {.subject = MF_LIT("y")};
    struct router_msg rm = {.route = msg.subject, .msg = &msg};
    TEST_ASSERT_EQUAL_size_t(1, account_publish(old, &rm));
    TEST_ASSERT_EQUAL_STRING("a y", heard(&w));
    leave(&a);
    account_counters(old)->clients = 0;
    reload(); /* still retained */
    TEST_ASSERT_EQUAL_STRING("A", account_name(old));
    account_release(old);
    reload(); /* the sanitizer tells if this one frees what is used, or nothing */
}

static void test_new_accounts_are_announced(void)
{
    struct news n = {"", NULL};

    world_start(&w);
    accounts_watch(w.as, note_new, &n);
    TEST_ASSERT_EQUAL_STRING("$G$SYSBA", n.text);
    n.text[0] = '\0';
    world_account(&w, "C");
    reload();
    TEST_ASSERT_EQUAL_STRING("C", n.text);
    reload();
    TEST_ASSERT_EQUAL_STRING("C", n.text);
}

static void test_mappings_and_limits_follow_the_configuration(void)
{
    struct options_mapping_dest d = {(char *)"y", 100, NULL};
    struct listener a;

    world_start(&w);
    listen_to(&a, &w, "A", "a", ">", "");
    world_map(&w, "A", "x", &d, 1);
    w.accounts[1].max_connections = 7;
    reload();
    say(&w, "A", "x", "", "");
    TEST_ASSERT_EQUAL_STRING("a y", heard(&w));
    TEST_ASSERT_EQUAL_INT64(7, account_options(world_get(&w, "A"))->max_connections);
    w.accounts[1].nmappings = 0;
    reload();
    say(&w, "A", "x", "", "");
    TEST_ASSERT_EQUAL_STRING("a x", heard(&w));
    leave(&a);
}

static void test_system_account_may_move(void)
{
    world_start(&w);
    TEST_ASSERT_EQUAL_STRING("$SYS", account_name(accounts_system(w.as)));
    w.o.system_account = (char *)"B";
    reload();
    TEST_ASSERT_EQUAL_STRING("B", account_name(accounts_system(w.as)));
    TEST_ASSERT_NULL(accounts_get(w.as, "$SYS"));
    w.o.system_account = NULL;
    reload();
    TEST_ASSERT_FALSE(account_is_system(world_get(&w, "B")));
}

static void count_import(void *arg, const struct account_import_info *x)
{
    snprintf(arg, 128, "%s %s %s %s", x->service ? "service" : "stream", x->account, x->subject,
             x->local);
}

static void test_imports_can_be_listed(void)
{
    char text[128];

    world_export(&w, "B", true, "x.*");
    world_import(&w, "A", true, "B", "x.*", "y.$1");
    world_start(&w);
    account_each_import(world_get(&w, "A"), count_import, text);
    TEST_ASSERT_EQUAL_STRING("service B x.* y.*", text);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_subscriptions_follow_the_imports);
    RUN_TEST(test_requests_under_way_find_back_after_a_reload);
    RUN_TEST(test_failed_reload_changes_nothing);
    RUN_TEST(test_accounts_that_go_are_reported_and_shut);
    RUN_TEST(test_account_that_went_stays_while_somebody_uses_it);
    RUN_TEST(test_new_accounts_are_announced);
    RUN_TEST(test_mappings_and_limits_follow_the_configuration);
    RUN_TEST(test_system_account_may_move);
    RUN_TEST(test_imports_can_be_listed);
    return UNITY_END();
}
