/* test_account_put.c: accounts that are added, replaced and removed one by one. */
#include "support/account_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

static struct world w;

/* One account with at most two exports and imports; kept until the end of the test. */
struct one {
    struct options_account oa;
    struct options_export exports[2];
    struct options_import imports[2];
};
static struct one a1, a2, b1, b2, c1;
static bool allowed;
static int asked;

static bool gate(void *arg, const struct account *exporter, const struct options_export *x,
                 const struct account *importer, const struct options_import *im)
{
    (void)arg, (void)exporter, (void)x, (void)importer, (void)im;
    asked++;
    return allowed;
}

void setUp(void)
{
    world_init(&w);
    world_start(&w);
    a1 = a2 = b1 = b2 = c1 = (struct one){0};
    allowed = false;
    asked = 0;
    accounts_set_gate(w.as, gate, NULL);
}

void tearDown(void)
{
    world_fini(&w);
}

static void exports(struct one *o, bool service, const char *subject)
{
    o->exports[o->oa.nexports++] =
        (struct options_export){.service = service, .subject = (char *)subject};
}

static void imports(struct one *o, bool service, const char *from, const char *subject)
{
    o->imports[o->oa.nimports++] = (struct options_import){
        .service = service, .account = (char *)from, .subject = (char *)subject};
}

static struct account *put(struct one *o, const char *name)
{
    struct account *a = NULL;
    struct mf_error e = {0};

    o->oa.name = (char *)name;
    o->oa.exports = o->exports;
    o->oa.imports = o->imports;
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, accounts_put(w.as, &o->oa, &a, &e), e.text);
    TEST_ASSERT_EQUAL_PTR(a, world_get(&w, name));
    TEST_ASSERT_EQUAL_PTR(&o->oa, account_options(a));
    return a;
}

/* The importer came first: its subscriptions begin to receive when the exporter appears. */
static void test_import_waits_for_its_exporter(void)
{
    struct listener l;

    imports(&a1, false, "B", "x.>");
    put(&a1, "A");
    TEST_ASSERT_EQUAL_size_t(1, account_each_fault(world_get(&w, "A"), NULL, NULL));
    listen_to(&l, &w, "A", "a", "x.*", "");
    exports(&b1, false, "x.>");
    put(&b1, "B");
    TEST_ASSERT_EQUAL_size_t(0, account_each_fault(world_get(&w, "A"), NULL, NULL));
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_STRING("a x.1", heard(&w));
    leave(&l);
}

static void note_invalid(void *arg, const struct account_import_info *x)
{
    *(int *)arg += x->invalid ? 100 : 1;
}

static int import_states(const char *name)
{
    int n = 0;

    account_each_import(world_get(&w, name), note_invalid, &n);
    return n;
}

static void test_export_that_ends_stops_the_import_and_comes_back(void)
{
    struct listener l, s;

    exports(&b1, false, "x.>");
    exports(&b1, true, "q");
    put(&b1, "B");
    imports(&a1, false, "B", "x.>");
    imports(&a1, true, "B", "q");
    put(&a1, "A");
    listen_to(&l, &w, "A", "a", "x.*", "");
    listen_to(&s, &w, "B", "s", "q", "");
    TEST_ASSERT_EQUAL_INT(2, import_states("A"));
    put(&b2, "B"); /* without exports */
    TEST_ASSERT_EQUAL_INT(200, import_states("A"));
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "A", "q", "r", ""));
    put(&b1, "B");
    TEST_ASSERT_EQUAL_INT(2, import_states("A"));
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "q", "r", ""));
    leave(&l);
    leave(&s);
}

/* A request is under way while its exporter, and then its importer, is replaced. */
static void test_answers_find_back_after_both_were_replaced(void)
{
    struct listener inbox, s;
    char reply[64];

    exports(&b1, true, "q");
    put(&b1, "B");
    imports(&a1, true, "B", "q");
    put(&a1, "A");
    listen_to(&inbox, &w, "A", "inbox", "in.*", "");
    listen_to(&s, &w, "B", "s", "q", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "q", "in.1", "?"));
    snprintf(reply, sizeof reply, "%s", last_reply(&w));
    heard(&w);
    b2 = b1;
    put(&b2, "B");
    a2 = a1;
    put(&a2, "A");
    say(&w, "B", reply, "", "!");
    TEST_ASSERT_EQUAL_STRING("inbox in.1 =!", heard(&w));
    leave(&inbox);
    leave(&s);
}

static void test_restricted_export_asks_the_gate_and_recheck_asks_again(void)
{
    struct listener l;

    exports(&b1, false, "x.>");
    b1.exports[0].restricted = true;
    put(&b1, "B");
    imports(&a1, false, "B", "x.1");
    allowed = true;
    put(&a1, "A");
    TEST_ASSERT_EQUAL_INT(1, asked);
    listen_to(&l, &w, "A", "a", ">", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
    allowed = false;
    TEST_ASSERT_EQUAL_INT(0, accounts_recheck(w.as, world_get(&w, "A"), NULL));
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "B", "x.1", "", ""));
    TEST_ASSERT_EQUAL_INT(100, import_states("A"));
    allowed = true;
    put(&b1, "B");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x.1", "", ""));
    heard(&w);
    leave(&l);
}

/* An import under a new configuration that never worked is not shown, as on nats-server. */
static void test_import_that_never_worked_is_not_listed(void)
{
    exports(&b1, false, "x.>");
    b1.exports[0].restricted = true;
    put(&b1, "B");
    imports(&a1, false, "B", "x.1");
    put(&a1, "A");
    TEST_ASSERT_EQUAL_INT(0, import_states("A"));
    TEST_ASSERT_EQUAL_size_t(1, account_each_fault(world_get(&w, "A"), NULL, NULL));
}

static void test_import_that_closes_a_cycle_is_left_out(void)
{
    struct listener l;

    exports(&a1, true, "q");
    imports(&a1, true, "B", "q");
    put(&a1, "A");
    exports(&b1, true, "q");
    imports(&b1, true, "C", "q");
    put(&b1, "B");
    exports(&c1, true, "q");
    imports(&c1, true, "A", "q");
    put(&c1, "C"); /* the importer B is linked to C, and C to A: one of them is refused */
    TEST_ASSERT_EQUAL_size_t(1, account_each_fault(world_get(&w, "A"), NULL, NULL) +
                                    account_each_fault(world_get(&w, "B"), NULL, NULL) +
                                    account_each_fault(world_get(&w, "C"), NULL, NULL));
    listen_to(&l, &w, "C", "c", "q", "");
    say(&w, "A", "q", "", ""); /* ends */
    heard(&w);
    leave(&l);
}

static void count_gone(void *arg, struct account *a)
{
    (void)a;
    ++*(int *)arg;
}

static void test_dropped_account_leaves_no_reply_and_no_import(void)
{
    struct listener inbox, s;
    char reply[64];
    int gone = 0;

    exports(&b1, true, "q");
    put(&b1, "B");
    imports(&a1, true, "B", "q");
    put(&a1, "A");
    listen_to(&inbox, &w, "A", "inbox", "in.*", "");
    listen_to(&s, &w, "B", "s", "q", "");
    say(&w, "A", "q", "in.1", "?");
    snprintf(reply, sizeof reply, "%s", last_reply(&w));
    a2.oa.nimports = 0;
    put(&a2, "A"); /* the reply is still expected */
    heard(&w);
    TEST_ASSERT_EQUAL_INT(0, accounts_drop(w.as, "A", count_gone, &gone, NULL));
    TEST_ASSERT_EQUAL_INT(1, gone);
    TEST_ASSERT_NULL(accounts_get(w.as, "A"));
    say(&w, "B", reply, "", "!");
    TEST_ASSERT_EQUAL_STRING("", heard(&w));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, accounts_drop(w.as, "A", NULL, NULL, NULL));
    leave(&inbox);
    leave(&s);
    put(&a1, "A");
    TEST_ASSERT_EQUAL_INT(0, accounts_drop(w.as, "B", NULL, NULL, NULL));
    TEST_ASSERT_EQUAL_INT(100, import_states("A"));
}

static void test_reload_leaves_such_accounts_alone(void)
{
    struct mf_error e = {0};
    struct listener l;

    exports(&b1, false, "x");
    put(&b1, "B");
    imports(&a1, false, "B", "x");
    put(&a1, "A");
    listen_to(&l, &w, "A", "a", "x", "");
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, world_reload(&w, &e), e.text);
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "x", "", ""));
    TEST_ASSERT_EQUAL_PTR(&b1.oa, account_options(world_get(&w, "B")));
    heard(&w);
    leave(&l);
}

static void test_system_account_may_be_put(void)
{
    TEST_ASSERT_TRUE(account_is_system(put(&a1, "$SYS")));
    TEST_ASSERT_EQUAL_PTR(world_get(&w, "$SYS"), accounts_system(w.as));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, accounts_drop(w.as, "$SYS", NULL, NULL, NULL));
}

static void test_bad_account_changes_nothing(void)
{
    struct mf_error e = {0};

    exports(&b1, false, "x");
    put(&b1, "B");
    exports(&b2, false, "x..y");
    imports(&b2, false, "C", "z");
    b2.oa.name = (char *)"B";
    b2.oa.exports = b2.exports;
    b2.oa.imports = b2.imports;
    TEST_ASSERT_NOT_EQUAL_INT(0, accounts_put(w.as, &b2.oa, NULL, &e));
    TEST_ASSERT_EQUAL_PTR(&b1.oa, account_options(world_get(&w, "B")));
    b2.oa.name = (char *)"D";
    TEST_ASSERT_NOT_EQUAL_INT(0, accounts_put(w.as, &b2.oa, NULL, &e));
    TEST_ASSERT_NULL(accounts_get(w.as, "D"));
}

/* Ten thousand accounts, one of which exports to three: a change builds one, or four. */
static void test_change_builds_the_account_and_its_importers_alone(void)
{
    struct one *many = calloc(10000, sizeof *many);
    char(*names)[16] = calloc(10000, sizeof *names);
    uint64_t before;

    TEST_ASSERT_NOT_NULL(many);
    TEST_ASSERT_NOT_NULL(names);
    for (int i = 0; i < 10000; i++) {
        snprintf(names[i], sizeof names[i], "A%d", i);
        exports(&many[i], true, "q");
        if (i % 3000 == 1)
            imports(&many[i], true, "A0", "q");
        put(&many[i], names[i]);
    }
    before = accounts_built(w.as);
    put(&many[1], names[1]);
    TEST_ASSERT_EQUAL_UINT64(before + 1, accounts_built(w.as));
    put(&many[0], names[0]);
    TEST_ASSERT_EQUAL_UINT64(before + 1 + 1 + 4, accounts_built(w.as));
    TEST_ASSERT_EQUAL_INT(0, accounts_drop(w.as, names[2], NULL, NULL, NULL));
    TEST_ASSERT_EQUAL_UINT64(before + 1 + 1 + 4 + 1, accounts_built(w.as));
    accounts_free(w.as);
    world_start(&w);
    free(many);
    free(names);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_import_waits_for_its_exporter);
    RUN_TEST(test_export_that_ends_stops_the_import_and_comes_back);
    RUN_TEST(test_answers_find_back_after_both_were_replaced);
    RUN_TEST(test_restricted_export_asks_the_gate_and_recheck_asks_again);
    RUN_TEST(test_import_that_never_worked_is_not_listed);
    RUN_TEST(test_import_that_closes_a_cycle_is_left_out);
    RUN_TEST(test_dropped_account_leaves_no_reply_and_no_import);
    RUN_TEST(test_reload_leaves_such_accounts_alone);
    RUN_TEST(test_system_account_may_be_put);
    RUN_TEST(test_bad_account_changes_nothing);
    RUN_TEST(test_change_builds_the_account_and_its_importers_alone);
    return UNITY_END();
}
