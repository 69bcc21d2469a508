/* test_account.c: accounts apart, stream imports, and what is refused.
 * Expectations marked "asked" were seen on nats-server 2.15.1 first. */
#include "support/account_world.h"

#include <stdio.h>

#include "unity.h"

static struct world w;

void setUp(void)
{
    world_init(&w);
}

void tearDown(void)
{
    if (w.as != NULL)
        world_fini(&w);
}

/* --- apart ------------------------------------------------------------------------------------ */

static void test_accounts_do_not_hear_each_other(void)
{
    struct listener a, b;

    world_account(&w, "A");
    world_account(&w, "B");
    world_start(&w);
    listen_to(&a, &w, "A", "a", ">", "");
    listen_to(&b, &w, "B", "b", ">", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "x", "", ""));
    TEST_ASSERT_EQUAL_STRING("a x", heard(&w));
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "$G", "x", "", ""));
    leave(&a);
    leave(&a); /* harmless twice */
    leave(&b);
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "A", "x", "", ""));
}

static void test_global_and_system_account_are_always_there(void)
{
    world_account(&w, "A")->max_payload = 5;
    world_start(&w);
    TEST_ASSERT_EQUAL_size_t(3, accounts_count(w.as));
    TEST_ASSERT_EQUAL_STRING("$G", account_name(accounts_global(w.as)));
    TEST_ASSERT_EQUAL_STRING("$SYS", account_name(accounts_system(w.as)));
    TEST_ASSERT_TRUE(account_is_system(accounts_system(w.as)));
    TEST_ASSERT_FALSE(account_is_system(accounts_global(w.as)));
    TEST_ASSERT_NULL(account_options(accounts_global(w.as)));
    TEST_ASSERT_EQUAL_INT64(5, account_options(world_get(&w, "A"))->max_payload);
    TEST_ASSERT_NULL(accounts_get(w.as, "nobody"));
}

static void test_system_account_may_have_another_name_or_be_left_out(void)
{
    w.o.system_account = (char *)"ADM";
    world_account(&w, "ADM");
    world_start(&w);
    TEST_ASSERT_EQUAL_STRING("ADM", account_name(accounts_system(w.as)));
    TEST_ASSERT_NOT_NULL(account_options(accounts_system(w.as)));
    TEST_ASSERT_EQUAL_size_t(2, accounts_count(w.as));
    world_fini(&w);
    w.o.no_system_account = true;
    world_start(&w);
    TEST_ASSERT_NULL(accounts_system(w.as));
}

/* --- stream imports --------------------------------------------------------------------------- */

#define MAX_SUBS 12
static struct listener subs[MAX_SUBS];

/* "a|b|c": one listener each, named by its pattern, in account A. */
static size_t listen_all(const char *patterns, char *copy, size_t cap)
{
    size_t n = 0;

    snprintf(copy, cap, "%s", patterns);
    for (char *save, *p = strtok_r(copy, "|", &save); p != NULL; p = strtok_r(NULL, "|", &save))
        listen_to(&subs[n++], &w, "A", p, p, "");
    return n;
}

/* Asked: each row.  heard: "subscription subject", sorted. */
static void test_stream_import_table_of_the_real_server_holds(void)
{
    static const struct {
        const char *exported, *imported, *to, *prefix, *subs, *pub, *heard;
    } rows[] = {
        {"x.*.*", "x.*.*", "y.$2.$1", NULL, "y.>|y.a.*|y.*.b|y.b.a|*.b.*|>|*.>", "x.a.b",
         "*.> y.b.a|*.b.* y.b.a|> y.b.a|y.> y.b.a|y.b.a y.b.a"},
        {"x.*.*", "x.*.*", "y.{{wildcard(2)}}.{{wildcard(1)}}", NULL, "y.>|y.*.a|y.b.*|*.b.*",
         "x.a.b", "*.b.* y.b.a|y.*.a y.b.a|y.> y.b.a|y.b.* y.b.a"},
        {"x.>", "x.>", "y.>", NULL, "y.>|y.*|y.a.*|y.*.b|*.*.b|*.*", "x.a",
         "*.* y.a|y.* y.a|y.> y.a"},
        {"x.>", "x.>", "y.>", NULL, "y.>|y.*|y.a.*|y.*.b|*.*.b|*.*", "x.a.b",
         "*.*.b y.a.b|y.*.b y.a.b|y.> y.a.b|y.a.* y.a.b"},
        {"x.*", "x.*", NULL, "p.", "p.x.*|p.x.1|p.x.2|x.1", "x.1", "p.x.* p.x.1|p.x.1 p.x.1"},
        {"x.*", "x.*", NULL, "p", "p.x.*|p.x.1|>", "x.1", "> p.x.1|p.x.* p.x.1|p.x.1 p.x.1"},
        {"x.*", "x.1", NULL, NULL, "x.*|x.1|x.2", "x.1", "x.* x.1|x.1 x.1"},
        {"x.*", "x.1", NULL, NULL, "x.*|x.1|x.2", "x.2", ""},
        {">", ">", NULL, "all", "all.>|all.a|*.a|all.*.b", "a",
         "*.a all.a|all.> all.a|all.a all.a"},
        {">", ">", NULL, "all", "all.>|all.a|*.a|all.*.b", "c.b", "all.*.b all.c.b|all.> all.c.b"},
        {">", ">", NULL, NULL, ">|a|*.b", "c.b", "*.b c.b|> c.b"},
        {"lit", "lit", "local.lit", NULL, "local.*|local.lit|>|lit", "lit",
         "> local.lit|local.* local.lit|local.lit local.lit"},
        {"s.*.x", "s.*.x", "t.$1", NULL, "t.*|t.5|t.>|t.*.z", "s.5.x", "t.* t.5|t.5 t.5|t.> t.5"},
        {"s.*.x", "s.*.x", "t.*", NULL, "t.*|t.6|>", "s.5.x", "> t.5|t.* t.5"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        char copy[128];
        world_init(&w);
        world_account(&w, "B");
        world_account(&w, "A");
        world_export(&w, "B", false, rows[i].exported);
        world_import(&w, "A", false, "B", rows[i].imported, rows[i].to)->prefix =
            (char *)rows[i].prefix;
        world_start(&w);
        size_t n = listen_all(rows[i].subs, copy, sizeof copy);
        say(&w, "B", rows[i].pub, "", "");
        TEST_ASSERT_EQUAL_STRING_MESSAGE(rows[i].heard, heard(&w), rows[i].subs);
        for (size_t k = 0; k < n; k++)
            leave(&subs[k]);
        TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", rows[i].pub, "", "")); /* nothing is left behind */
        world_fini(&w);
    }
}

/* Asked.  Each import brings its own copy. */
static void test_overlapping_imports_deliver_once_each(void)
{
    struct listener l;

    world_account(&w, "B");
    world_account(&w, "A");
    world_export(&w, "B", false, "x.*");
    world_import(&w, "A", false, "B", "x.*", NULL);
    world_import(&w, "A", false, "B", "x.1", "q");
    world_start(&w);
    listen_to(&l, &w, "A", "l", ">", "");
    TEST_ASSERT_EQUAL_size_t(2, say(&w, "B", "x.1", "re.ply", "hi"));
    TEST_ASSERT_EQUAL_STRING("l q >re.ply =hi|l x.1 >re.ply =hi", heard(&w));
    leave(&l);
}

/* Asked: about a third each.  One name is one group, wherever its members are. */
static void test_queue_members_share_across_accounts(void)
{
    struct listener a1, a2, b;
    const int rounds = 3000;

    world_account(&w, "B");
    world_account(&w, "A");
    world_export(&w, "B", false, "pub.>");
    world_import(&w, "A", false, "B", "pub.>", NULL)->prefix = (char *)"from.b";
    world_start(&w);
    listen_to(&a1, &w, "A", "a1", "from.b.pub.q", "q");
    listen_to(&a2, &w, "A", "a2", "from.b.pub.*", "q");
    listen_to(&b, &w, "B", "b", "pub.q", "q");
    for (int i = 0; i < rounds; i++) {
        TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "pub.q", "", ""));
        heard(&w);
    }
    TEST_ASSERT_EQUAL_size_t(rounds, a1.count + a2.count + b.count);
    TEST_ASSERT_INT_WITHIN(rounds / 10, rounds / 3, a1.count);
    TEST_ASSERT_INT_WITHIN(rounds / 10, rounds / 3, a2.count);
    a1.refuse = b.refuse = true; /* then the one who takes it gets all */
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "pub.q", "", ""));
    TEST_ASSERT_EQUAL_STRING("a2 from.b.pub.q", heard(&w));
    leave(&a1);
    leave(&a2);
    leave(&b);
}

/* Asked: C exports to B, B exports the same to A: A hears what B says, not what C says. */
static void test_streams_are_not_passed_on(void)
{
    struct listener a, b;

    world_account(&w, "A");
    world_account(&w, "B");
    world_account(&w, "C");
    world_export(&w, "C", false, "st.>");
    world_export(&w, "B", false, "st.>");
    world_import(&w, "B", false, "C", "st.>", NULL);
    world_import(&w, "A", false, "B", "st.>", NULL);
    world_start(&w);
    listen_to(&a, &w, "A", "a", "st.>", "");
    listen_to(&b, &w, "B", "b", "st.>", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "C", "st.1", "", ""));
    TEST_ASSERT_EQUAL_STRING("b st.1", heard(&w));
    TEST_ASSERT_EQUAL_size_t(2, say(&w, "B", "st.2", "", ""));
    TEST_ASSERT_EQUAL_STRING("a st.2|b st.2", heard(&w));
    leave(&a);
    leave(&b);
}

/* A consumer's delivery is routed by one subject and shows another. */
static void test_shown_subject_is_kept_when_the_route_is_another(void)
{
    struct listener l;
    struct mf_msg msg = {.subject = MF_LIT("orders.1")};
    struct router_msg rm = {.route = MF_LIT("deliver.x"), .msg = &msg};

    world_account(&w, "B");
    world_account(&w, "A");
    world_export(&w, "B", false, "deliver.>");
    world_import(&w, "A", false, "B", "deliver.>", "mine.>");
    world_start(&w);
    listen_to(&l, &w, "A", "l", "mine.x", "");
    TEST_ASSERT_EQUAL_size_t(1, account_publish(world_get(&w, "B"), &rm));
    TEST_ASSERT_EQUAL_STRING("l orders.1", heard(&w));
    leave(&l);
}

/* Longer than the room kept on the stack. */
static void test_very_long_subjects_cross_too(void)
{
    static char subject[5000], expected[5100];
    struct listener l;

    memset(subject, 'a', sizeof subject - 1);
    memcpy(subject, "x.", 2);
    snprintf(expected, sizeof expected, "%s", subject);
    expected[0] = 'y';
    world_account(&w, "B");
    world_account(&w, "A");
    world_export(&w, "B", false, "x.*");
    world_import(&w, "A", false, "B", "x.*", "y.*");
    world_start(&w);
    listen_to(&l, &w, "A", "l", expected, "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", subject, "", ""));
    TEST_ASSERT_EQUAL_size_t(1, l.count);
    leave(&l);
}

/* --- unsubscribing inside a delivery ---------------------------------------------------------- */

static void leave_both(struct listener *l, const struct router_msg *m)
{
    struct listener *other = l->arg;

    (void)m;
    leave(other);
    leave(l);
}

/* The server does this for UNSUB with a maximum: the shadow goes while it delivers. */
static void test_listeners_may_leave_while_a_shadow_delivers(void)
{
    struct listener a[4];

    world_account(&w, "B");
    world_account(&w, "A");
    world_export(&w, "B", false, "x.>");
    world_import(&w, "A", false, "B", "x.>", "y.>");
    world_start(&w);
    for (size_t i = 0; i < MF_COUNT(a); i++) {
        listen_to(&a[i], &w, "A", "a", i % 2 == 0 ? "y.1" : "y.>", i < 2 ? "" : "q");
        a[i].on = leave_both;
        a[i].arg = &a[(i + 1) % MF_COUNT(a)];
    }
    TEST_ASSERT_GREATER_OR_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_GREATER_OR_EQUAL_size_t(0, say(&w, "B", "x.1", "", ""));
    heard(&w);
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", "x.1", "", ""));
    for (size_t i = 0; i < MF_COUNT(a); i++)
        leave(&a[i]);
}

/* --- what is refused -------------------------------------------------------------------------- */

/* Imports that are not allowed, or that lead in a circle. */
static void build_forbidden(int which)
{
    static char *only_c[] = {(char *)"C"};
    struct options_export *x;

    switch (which) {
    case 0: /* circle of services */
        world_export(&w, "A", true, "x");
        world_export(&w, "B", true, "y");
        world_import(&w, "A", true, "B", "y", "x");
        world_import(&w, "B", true, "A", "x", "y");
        return;
    case 1: /* circle of streams through three */
        world_export(&w, "A", false, "x");
        world_export(&w, "B", false, "x");
        world_export(&w, "C", false, "x");
        world_import(&w, "A", false, "B", "x", NULL);
        world_import(&w, "B", false, "C", "x", NULL);
        world_import(&w, "C", false, "A", "x", NULL);
        return;
    case 2:
        x = world_export(&w, "B", false, "x.*");
        x->restricted = true;
        x->accounts = (struct options_list){only_c, 1};
        world_import(&w, "A", false, "B", "x.*", NULL);
        return;
    case 3:
        world_export(&w, "B", true, "x.*")->account_token_position = 2;
        world_import(&w, "A", true, "B", "x.C", NULL);
        return;
    case 4:
        world_export(&w, "B", true, "x");
        world_import(&w, "A", true, "B", "nope", NULL);
        return;
    case 5:
        world_import(&w, "A", true, "ZZ", "x", NULL);
        return;
    default:
        world_export(&w, "B", false, "x.*");
        world_import(&w, "A", false, "B", "x.>", NULL);
    }
}

/* Names that cannot be. */
static void build_misnamed(int which)
{
    static struct options_mapping_dest heavy[] = {{(char *)"y", 60, NULL}, {(char *)"z", 60, NULL}};
    static struct options_mapping_dest twice[] = {{(char *)"y", 10, NULL}, {(char *)"y", 10, NULL}};

    switch (which) {
    case 7:
        world_export(&w, "B", false, "x.*.*");
        world_import(&w, "A", false, "B", "x.*.*", "y.*");
        return;
    case 8:
        world_export(&w, "B", true, "x");
        world_export(&w, "B", true, "z");
        world_import(&w, "A", true, "B", "x", "y");
        world_import(&w, "A", true, "B", "z", "y");
        return;
    case 9:
        world_export(&w, "B", false, "x");
        world_import(&w, "A", false, "B", "x", "y");
        world_import(&w, "A", false, "B", "x", "z");
        return;
    case 10:
        world_export(&w, "B", false, "x.*");
        world_import(&w, "A", false, "B", "x.*", NULL)->prefix = (char *)"p.*";
        return;
    case 11:
        world_map(&w, "A", "x", heavy, 2);
        return;
    case 12:
        world_map(&w, "A", "x", twice, 2);
        return;
    default:
        world_account(&w, "A");
    }
}

/* Asked: the words after the place are nats-server's. */
static void test_impossible_imports_are_refused_in_the_words_operators_know(void)
{
    static const char *const texts[] = {
        "import forms a cycle",
        "import forms a cycle",
        "Error adding stream import \"x.*\": stream import not authorized",
        "Error adding service import \"x.C\": service import not authorized",
        "Error adding service import \"nope\": service import not authorized",
        "\"ZZ\" account not defined for service import",
        "Error adding stream import \"x.>\": stream import not authorized",
        "failed to create mapping transform for stream import subject from \"x.*.*\" to \"y.*\"",
        "Duplicate service import subject \"y\", previously used in import for account \"B\"",
        "Error adding stream import \"x\": stream import already exists",
        "stream import prefix can not contain wildcard tokens",
        "total weight needs to be <= 100",
        "duplicate entry for \"y\"",
        "Duplicate Account Entry: A",
    };

    for (size_t i = 0; i < MF_COUNT(texts); i++) {
        struct mf_error e = {0};
        world_init(&w);
        world_account(&w, "A");
        world_account(&w, "B");
        world_account(&w, "C");
        if (i < 7)
            build_forbidden((int)i);
        else
            build_misnamed((int)i);
        TEST_ASSERT_NOT_EQUAL_INT(0, world_try(&w, &e));
        TEST_ASSERT_NULL(w.as);
        if (strstr(e.text, texts[i]) == NULL)
            TEST_FAIL_MESSAGE(e.text);
    }
}

static void test_private_exports_open_to_those_they_name(void)
{
    static char *only_a[] = {(char *)"A"};
    struct options_export *x;
    struct listener l;

    world_account(&w, "A");
    world_account(&w, "B");
    x = world_export(&w, "B", false, "x.*");
    x->restricted = true;
    x->accounts = (struct options_list){only_a, 1};
    world_export(&w, "B", false, "y.*")->account_token_position = 2;
    world_import(&w, "A", false, "B", "x.*", NULL);
    world_import(&w, "A", false, "B", "y.A", NULL);
    world_start(&w);
    listen_to(&l, &w, "A", "l", ">", "");
    say(&w, "B", "x.1", "", "");
    say(&w, "B", "y.A", "", "");
    say(&w, "B", "y.C", "", "");
    TEST_ASSERT_EQUAL_STRING("l x.1|l y.A", heard(&w));
    leave(&l);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_accounts_do_not_hear_each_other);
    RUN_TEST(test_global_and_system_account_are_always_there);
    RUN_TEST(test_system_account_may_have_another_name_or_be_left_out);
    RUN_TEST(test_stream_import_table_of_the_real_server_holds);
    RUN_TEST(test_overlapping_imports_deliver_once_each);
    RUN_TEST(test_queue_members_share_across_accounts);
    RUN_TEST(test_streams_are_not_passed_on);
    RUN_TEST(test_shown_subject_is_kept_when_the_route_is_another);
    RUN_TEST(test_very_long_subjects_cross_too);
    RUN_TEST(test_listeners_may_leave_while_a_shadow_delivers);
    RUN_TEST(test_impossible_imports_are_refused_in_the_words_operators_know);
    RUN_TEST(test_private_exports_open_to_those_they_name);
    return UNITY_END();
}
