/* test_router.c: who gets what, by table and by situation.  See test_router_limits.c for cost and
 * bounds, test_router_model.c for the random walk. */
#include "support/router_receiver.h"

#include <stdio.h>
#include <stdlib.h>

void setUp(void)
{
    TEST_ASSERT_EQUAL_INT(0, router_new(&router, NULL));
}

/* After each test nobody is subscribed, and then router_free() asserts that no node is left. */
void tearDown(void)
{
    check();
    router_free(router);
}

/* --- delivery ------------------------------------------------------------------------------ */

/* The table is what nats-server 2.15.1 answers on the wire. */
static void test_each_subject_reaches_the_patterns_that_match(void)
{
    static const char *const patterns[] = {">",     "*",   "*.*",     "*.*.*", "a.*", "foo.*",
                                           "foo.>", "*.>", "foo.bar", "a.b",   "a.>"};
    static const struct {
        const char *subject, *receivers; /* one letter per pattern, x: gets it */
    } table[] = {
        {"a", "xx........."},         {"a.b", "x.x.x..x.xx"},    {"foo.bar", "x.x..xxxx.."},
        {"foo.*", "x.x..xxx..."},     {"foo.>", "x.x..xxx..."},  {">", "xx........."},
        {"*", "xx........."},         {"*.>", "x.x....x..."},    {"a.b.c", "x..x...x..x"},
        {"foo.a.b.c", "x.....xx..."}, {"foo.", "..........."},   {".a", "..........."},
        {"a..b", "..........."},      {"", "..........."},       {".", "..........."},
        {"foo.*.", "..........."},    {"FOO.bar", "x.x....x..."}};
    struct receiver x[MF_COUNT(patterns)] = {0};

    for (size_t i = 0; i < MF_COUNT(patterns); i++)
        join(&x[i], patterns[i], "");
    for (int round = 0; round < 3; round++) { /* from the trie, then from the cache */
        for (size_t t = 0; t < MF_COUNT(table); t++) {
            size_t n = publish(table[t].subject), want = 0;
            for (size_t i = 0; i < MF_COUNT(patterns); i++) {
                unsigned expected = table[t].receivers[i] == 'x';
                TEST_ASSERT_EQUAL_UINT_MESSAGE(expected, x[i].got, table[t].subject);
                want += expected;
                x[i].got = 0;
            }
            TEST_ASSERT_EQUAL_size_t(want, n);
            TEST_ASSERT_EQUAL(want > 0, router_has_interest(router, mf_str(table[t].subject)));
        }
    }
    for (size_t i = 0; i < MF_COUNT(patterns); i++)
        leave(&x[i]);
}

/* That nobody wants a subject is remembered too, and must be forgotten with the first who does. */
static void test_subject_that_nobody_wanted_reaches_its_first_subscriber(void)
{
    static const char *const patterns[] = {"a.b", "a.*", "*.b", "a.>", ">"};
    struct receiver other = {0};

    join(&other, "z", ""); /* without any subscription nothing is looked up */
    for (size_t i = 0; i < MF_COUNT(patterns); i++) {
        for (int queue = 0; queue < 2; queue++) {
            struct receiver x = {0};
            for (int n = 0; n < 3; n++)
                TEST_ASSERT_EQUAL_size_t(0, publish("a.b"));
            join(&x, patterns[i], queue ? "q" : "");
            TEST_ASSERT_EQUAL_size_t_MESSAGE(1, publish("a.b"), patterns[i]);
            TEST_ASSERT_TRUE(router_has_interest(router, MF_LIT("a.b")));
            leave(&x);
        }
    }
    leave(&other);
}

static void test_bad_patterns_are_refused_and_change_nothing(void)
{
    static const char *const bad[] = {"", ".", "a.", ".a", "a..b", ">.a", "a.>.b", "a b", "a\tb"};
    struct receiver x = {0};
    enum { MAX = 65535 };
    char *huge = calloc(1, MAX + 2);

    TEST_ASSERT_NOT_NULL(huge);
    for (size_t i = 0; i < MF_COUNT(bad); i++)
        TEST_ASSERT_EQUAL_INT(MF_INVAL,
                              router_subscribe(router, mf_str(bad[i]), MF_SLICE_NONE, &x.rs));
    memset(huge, 'x', MAX + 1);
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, router_subscribe(router, mf_str(huge), MF_SLICE_NONE, &x.rs));
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, router_subscribe(router, mf_str("a"), mf_str(huge), &x.rs));
    TEST_ASSERT_NULL(x.rs.node);
    free(huge);
}

static void test_pattern_and_queue_are_copies_until_unsubscribed(void)
{
    struct receiver x = {.rs.deliver = receive}, deeper = {0};
    char pattern[] = "a.b", queue[] = "q";

    TEST_ASSERT_EQUAL_INT(0, router_subscribe(router, mf_str(pattern), mf_str(queue), &x.rs));
    pattern[0] = queue[0] = '#';
    join(&deeper, "a.b.c", "");
    TEST_ASSERT_TRUE(mf_eq_str(x.rs.pattern, "a.b"));
    TEST_ASSERT_TRUE(mf_eq_str(x.rs.queue, "q"));
    leave(&x);
    leave(&x); /* harmless twice */
    TEST_ASSERT_EQUAL_size_t(0, x.rs.pattern.len);
    TEST_ASSERT_EQUAL_size_t(0, x.rs.queue.len);
    join(&x, "a.b", ""); /* now an inner node gets its pattern */
    TEST_ASSERT_TRUE(mf_eq_str(x.rs.pattern, "a.b"));
    leave(&x);
    check();
    leave(&deeper);
}

/* A queue named like a token, or like a wildcard, is still a queue. */
static void test_queue_names_are_not_tokens(void)
{
    struct receiver q = {0}, star = {0}, tail = {0};

    join(&q, "a", "b");
    join(&star, "a", "*");
    join(&tail, "a", ">");
    TEST_ASSERT_EQUAL_size_t(0, publish("a.b"));
    TEST_ASSERT_EQUAL_size_t(0, publish("a.*"));
    TEST_ASSERT_EQUAL_size_t(3, publish("a"));
    leave(&q);
    leave(&star);
    leave(&tail);
}

/* --- queue groups -------------------------------------------------------------------------- */

/* One of all members of a name, whatever pattern they came by, each with the same chance: ten
 * members under three patterns, chi-square with 9 degrees of freedom.  60 is exceeded by chance
 * once in some 10^9 runs. */
static void test_queue_is_served_once_and_fairly_across_patterns(void)
{
    static const char *const patterns[] = {"a.*", "a.*", "a.b", "a.b", "a.b",
                                           "a.>", "a.>", "a.>", "a.>", "a.>"};
    struct receiver x[10] = {0}, other = {0}, plain = {0};
    double chi = 0;

    for (size_t i = 0; i < 10; i++)
        join(&x[i], patterns[i], "q");
    join(&other, "*.b", "r");
    join(&plain, "a.b", "");
    for (int i = 0; i < 100000; i++)
        TEST_ASSERT_EQUAL_size_t(3, publish("a.b"));
    for (size_t i = 0; i < 10; i++) {
        chi += ((double)x[i].got - 10000) * ((double)x[i].got - 10000) / 10000;
        leave(&x[i]);
    }
    TEST_ASSERT_TRUE(chi < 60);
    TEST_ASSERT_EQUAL_UINT(100000, other.got);
    TEST_ASSERT_EQUAL_UINT(100000, plain.got);
    leave(&other);
    leave(&plain);
}

static void test_refusing_member_passes_it_on(void)
{
    struct receiver x[4] = {0};
    unsigned total = 0;

    for (size_t i = 0; i < 4; i++) {
        join(&x[i], i < 2 ? "a" : "*", "q");
        x[i].refuse = i != 3;
    }
    for (unsigned i = 1; i <= 200; i++) {
        TEST_ASSERT_EQUAL_size_t(1, publish("a"));
        TEST_ASSERT_EQUAL_UINT(i, x[3].got);
    }
    x[3].refuse = true;
    for (size_t i = 0; i < 4; i++)
        x[i].got = 0;
    TEST_ASSERT_EQUAL_size_t(0, publish("a")); /* each is asked once */
    for (size_t i = 0; i < 4; i++)
        total += x[i].got == 1;
    TEST_ASSERT_EQUAL_UINT(4, total);
    for (size_t i = 0; i < 4; i++)
        leave(&x[i]);
}

static void test_refusals_are_not_counted(void)
{
    struct receiver x[3] = {{.refuse = true}, {.refuse = false}, {.refuse = true}};

    for (size_t i = 0; i < 3; i++)
        join(&x[i], "a", "");
    TEST_ASSERT_EQUAL_size_t(1, publish("a"));
    for (size_t i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL_UINT(1, x[i].got);
        leave(&x[i]);
    }
}

/* --- re-entrancy --------------------------------------------------------------------------- */

static void act_leave_and_free(struct receiver *self)
{
    leave(self);
    free(self);
}

/* Auto-unsubscribe of very many in one publish must not be quadratic (it would take hours). */
static void test_everybody_leaves_during_one_publish(void)
{
    enum { MANY = 300000 };

    for (int i = 0; i < MANY; i++) {
        struct receiver *x = calloc(1, sizeof *x);
        TEST_ASSERT_NOT_NULL(x);
        x->act = act_leave_and_free;
        join(x, i % 2 == 0 ? "a.b" : "a.*", "");
    }
    TEST_ASSERT_EQUAL_size_t(MANY, publish("a.b"));
    TEST_ASSERT_EQUAL_size_t(0, publish("a.b"));
}

/* One member of a large group at a time: O(1) each, not O(group). */
static void test_members_of_a_large_group_leave_one_by_one(void)
{
    enum { MANY = 200000 };
    struct receiver *x = calloc(MANY, sizeof *x);

    TEST_ASSERT_NOT_NULL(x);
    for (int i = 0; i < MANY; i++) {
        x[i].act = act_leave;
        join(&x[i], "a", "q");
    }
    for (int i = 0; i < MANY; i++)
        TEST_ASSERT_EQUAL_size_t(1, publish("a"));
    TEST_ASSERT_EQUAL_size_t(0, publish("a"));
    for (int i = 0; i < MANY; i++)
        TEST_ASSERT_EQUAL_UINT(1, x[i].got);
    free(x);
}

static void act_free_others(struct receiver *self)
{
    struct receiver **others = self->arg;

    for (; *others != NULL; others++) {
        leave(*others);
        free(*others);
        *others = NULL;
    }
}

/* Who is unsubscribed before his turn is not called, and may be freed at once. */
static void test_the_first_unsubscribes_all_others(void)
{
    static const char *const patterns[] = {"a.b", "a.*", "a.>", "*.b", ">", "a.b"};
    struct receiver first = {.act = act_free_others}, *others[7] = {0};

    for (int order = 0; order < 2; order++) {
        first.arg = others;
        first.got = 0;
        if (order == 0)
            join(&first, "a.b", "");
        for (size_t i = 0; i < 6; i++) {
            others[i] = calloc(1, sizeof *others[i]);
            TEST_ASSERT_NOT_NULL(others[i]);
            join(others[i], patterns[i], i == 5 ? "q" : "");
        }
        if (order == 1)
            join(&first, "a.b", "");
        size_t n = publish("a.b");
        TEST_ASSERT_EQUAL_UINT(1, first.got);
        TEST_ASSERT_TRUE(n >= 1 && n <= 7);
        TEST_ASSERT_NULL(others[0]);
        check();
        TEST_ASSERT_EQUAL_size_t(1, publish("a.b"));
        leave(&first);
    }
}

static void act_subscribe(struct receiver *self)
{
    static const char *const patterns[] = {"a.b", "a.*", ">", "*.b", "a.>", "*.*"};
    struct receiver *fresh = self->arg;

    self->act = NULL;
    for (size_t i = 0; i < MF_COUNT(patterns); i++)
        for (size_t q = 0; q < 2; q++)
            join(&fresh[2 * i + q], patterns[i], q == 0 ? "" : "q");
}

/* Neither at the pattern being visited, nor at one still to come, nor at a new one. */
static void test_new_subscriptions_do_not_get_the_running_message(void)
{
    struct receiver fresh[12] = {0}, x = {.act = act_subscribe, .arg = fresh}, last = {0};

    join(&x, "a.b", "");
    join(&last, ">", "q");
    TEST_ASSERT_EQUAL_size_t(2, publish("a.b"));
    for (size_t i = 0; i < 12; i++)
        TEST_ASSERT_EQUAL_UINT(0, fresh[i].got);
    check();
    TEST_ASSERT_EQUAL_size_t(1 + 6 + 1, publish("a.b"));
    for (size_t i = 0; i < 12; i++)
        leave(&fresh[i]);
    leave(&x);
    leave(&last);
}

static void act_publish_again(struct receiver *self)
{
    unsigned *depth = self->arg;

    if (*depth == 0)
        return;
    --*depth;
    TEST_ASSERT_EQUAL_size_t(3, publish("a.b"));
}

static void test_publishes_nest(void)
{
    unsigned depth = 1000;
    struct receiver x[3] = {0};

    x[0].act = act_publish_again;
    x[0].arg = &depth;
    join(&x[0], "a.b", "");
    join(&x[1], "a.*", "");
    join(&x[2], "a.b", "q");
    TEST_ASSERT_EQUAL_size_t(3, publish("a.b"));
    for (size_t i = 0; i < 3; i++) {
        TEST_ASSERT_EQUAL_UINT(1001, x[i].got);
        leave(&x[i]);
    }
}

static void act_check_interest(struct receiver *self)
{
    leave(self);
    TEST_ASSERT_FALSE(router_has_interest(router, mf_str("a")));
    TEST_ASSERT_EQUAL_size_t(0, publish("a"));
    check();
    join(self, "a", ""); /* the same place, while its node is being visited */
    TEST_ASSERT_TRUE(router_has_interest(router, mf_str("a")));
}

static void test_interest_is_gone_with_the_last_even_during_its_delivery(void)
{
    struct receiver x = {.act = act_check_interest}, elsewhere = {0};

    join(&elsewhere, "b", "");
    join(&x, "a", "");
    TEST_ASSERT_EQUAL_size_t(1, publish("a"));
    TEST_ASSERT_EQUAL_UINT(1, x.got);
    leave(&x);
    leave(&elsewhere);
}

static void visit_and_leave(void *arg, struct router_sub *rs)
{
    ++*(unsigned *)arg;
    router_unsubscribe(router, rs);
}

static void test_match_visits_all_members_and_may_unsubscribe_them(void)
{
    struct receiver x[6] = {0};
    unsigned seen = 0;

    for (size_t i = 0; i < 6; i++)
        join(&x[i], i % 2 == 0 ? "a.b" : "a.*", i < 4 ? "q" : "");
    router_match(router, mf_str("a.c"), visit_and_leave, &seen);
    TEST_ASSERT_EQUAL_UINT(3, seen);
    router_match(router, mf_str("a.b"), visit_and_leave, &seen);
    TEST_ASSERT_EQUAL_UINT(6, seen);
}

/* --- who is there ---------------------------------------------------------------------------- */

/* A push consumer is bound by who subscribed to its subject itself, in its group if it has one: a
 * spy on ">" must not take its messages away. */
static void test_exact_interest_leaves_out_patterns_and_other_groups(void)
{
    struct receiver tail = {0}, star = {0}, plain = {0}, other = {0}, member = {0};
    struct mf_slice subject = MF_LIT("a.b"), q = MF_LIT("q");

    TEST_ASSERT_FALSE(router_has_exact(router, subject, MF_SLICE_NONE));
    join(&tail, ">", "");
    join(&star, "a.*", "q");
    join(&other, "a.b", "p");
    TEST_ASSERT_FALSE(router_has_exact(router, subject, MF_SLICE_NONE));
    TEST_ASSERT_FALSE(router_has_exact(router, subject, q));
    join(&plain, "a.b", "");
    TEST_ASSERT_TRUE(router_has_exact(router, subject, MF_SLICE_NONE));
    TEST_ASSERT_FALSE(router_has_exact(router, subject, q));
    join(&member, "a.b", "q");
    TEST_ASSERT_TRUE(router_has_exact(router, subject, q));
    TEST_ASSERT_FALSE(router_has_exact(router, MF_LIT("a.c"), q));
    leave(&plain);
    TEST_ASSERT_FALSE(router_has_exact(router, subject, MF_SLICE_NONE));
    leave(&member);
    TEST_ASSERT_FALSE(router_has_exact(router, subject, q));
    leave(&tail);
    leave(&star);
    leave(&other);
}

struct news {
    unsigned n;
    char pattern[32], queue[32];
    bool there;
};

static void take_note(struct news *w, const struct router_sub *s)
{
    w->n++;
    (void)snprintf(w->pattern, sizeof w->pattern, "%.*s", MF_FMT(s->pattern));
    (void)snprintf(w->queue, sizeof w->queue, "%.*s", MF_FMT(s->queue));
}
static void note(void *arg, const struct router_sub *s)
{
    struct news *w = arg;

    take_note(w, s);
    w->there = router_has_interest(router, s->pattern);
}
static void note_end(void *arg, const struct router_sub *s)
{
    take_note(arg, s);
}

/* Who waits for a subscriber is told of each one that succeeded, when it can be seen already, and
 * of nothing else: not of refusals, not of who leaves, not after it stopped listening. */
static void test_an_observer_is_notified_of_each_subscription_that_succeeds(void)
{
    struct receiver x[3] = {0};
    struct router_sub bad = {.deliver = receive};
    struct news w = {0};
    struct router_observer o = {.subscribed = note, .arg = &w};

    join(&x[0], "before", "");
    router_observe(router, &o);
    join(&x[1], "a.b", "q");
    TEST_ASSERT_EQUAL_UINT(1, w.n);
    TEST_ASSERT_EQUAL_STRING("a.b", w.pattern);
    TEST_ASSERT_EQUAL_STRING("q", w.queue);
    TEST_ASSERT_TRUE(w.there);
    TEST_ASSERT_EQUAL_INT(MF_INVAL, router_subscribe(router, mf_str("a..b"), MF_SLICE_NONE, &bad));
    leave(&x[1]);
    TEST_ASSERT_EQUAL_UINT(1, w.n);
    join(&x[1], "a.>", "");
    TEST_ASSERT_EQUAL_UINT(2, w.n);
    TEST_ASSERT_EQUAL_STRING("a.>", w.pattern);
    TEST_ASSERT_EQUAL_STRING("", w.queue);
    router_unobserve(&o);
    join(&x[2], "c", "");
    TEST_ASSERT_EQUAL_UINT(2, w.n);
    for (size_t i = 0; i < MF_COUNT(x); i++)
        leave(&x[i]);
}

/* A link to another server needs both events, beside those who only wait for subscribers. */
static void test_observers_are_notified_of_both_events_in_their_order(void)
{
    struct receiver x[2] = {0};
    struct news came = {0}, went = {0}, both = {0};
    struct router_observer o[] = {{.subscribed = note, .arg = &came},
                                  {.unsubscribed = note_end, .arg = &went},
                                  {.subscribed = note, .unsubscribed = note_end, .arg = &both}};

    for (size_t i = 0; i < MF_COUNT(o); i++)
        router_observe(router, &o[i]);
    router_observe(router, &o[0]); /* once is enough */
    join(&x[0], "a.*", "q");
    join(&x[1], "a.*", "");
    TEST_ASSERT_EQUAL_UINT(2, came.n);
    TEST_ASSERT_EQUAL_UINT(0, went.n);
    TEST_ASSERT_EQUAL_UINT(2, both.n);
    leave(&x[0]);
    leave(&x[0]); /* it is gone already: no event */
    TEST_ASSERT_EQUAL_UINT(1, went.n);
    TEST_ASSERT_EQUAL_STRING("a.*", went.pattern);
    TEST_ASSERT_EQUAL_STRING("q", went.queue);
    leave(&x[1]);
    TEST_ASSERT_EQUAL_UINT(2, went.n);
    TEST_ASSERT_EQUAL_STRING("", went.queue);
    TEST_ASSERT_EQUAL_UINT(4, both.n);
    TEST_ASSERT_EQUAL_UINT(2, came.n);
    for (size_t i = 0; i < MF_COUNT(o); i++)
        router_unobserve(&o[i]);
    router_unobserve(&o[0]);
}

static void note_once(void *arg, const struct router_sub *s)
{
    struct router_observer *o = arg;

    (void)s;
    router_unobserve(o);
    o->arg = NULL;
}

static void test_an_observer_may_leave_while_it_is_notified(void)
{
    struct receiver x[2] = {0};
    struct news w = {0};
    struct router_observer first = {.subscribed = note_once, .arg = &first};
    struct router_observer second = {.subscribed = note, .arg = &w};

    router_observe(router, &first);
    router_observe(router, &second);
    join(&x[0], "a", "");
    TEST_ASSERT_NULL(first.arg);
    join(&x[1], "b", "");
    TEST_ASSERT_EQUAL_UINT(2, w.n);
    router_unobserve(&second);
    leave(&x[0]);
    leave(&x[1]);
}

static size_t publish_dry(const char *subject, const char *trace)
{
    struct mf_msg msg = {.subject = mf_str(subject)};

    return router_publish(router, &(struct router_msg){.route = msg.subject,
                                                       .msg = &msg,
                                                       .trace = (struct msgtrace *)trace,
                                                       .dry_run = true});
}

/* A dry run executes nothing: whoever does not know it is not called, and counts as a receiver. */
static void test_a_dry_run_reaches_those_that_know_it(void)
{
    static char trace; /* no router looks inside */
    struct receiver server = {0}, client = {0}, member = {0}, other = {0};

    client.rs.dry_runs = member.rs.dry_runs = true;
    join(&server, "s", "");
    join(&client, "*", "");
    join(&member, "s", "g");
    join(&other, "s", "h");
    TEST_ASSERT_EQUAL_size_t(4, publish_dry("s", &trace));
    TEST_ASSERT_EQUAL_UINT(0, server.got);
    TEST_ASSERT_EQUAL_UINT(1, client.got);
    TEST_ASSERT_EQUAL_UINT(1, member.got);
    TEST_ASSERT_EQUAL_UINT(0, other.got);
    TEST_ASSERT_EQUAL_size_t(0, publish_dry("nobody.here", &trace));
    leave(&server);
    leave(&other);
    TEST_ASSERT_EQUAL_size_t(2, publish("s"));
    leave(&client);
    leave(&member);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_each_subject_reaches_the_patterns_that_match);
    RUN_TEST(test_subject_that_nobody_wanted_reaches_its_first_subscriber);
    RUN_TEST(test_bad_patterns_are_refused_and_change_nothing);
    RUN_TEST(test_pattern_and_queue_are_copies_until_unsubscribed);
    RUN_TEST(test_queue_names_are_not_tokens);
    RUN_TEST(test_queue_is_served_once_and_fairly_across_patterns);
    RUN_TEST(test_refusing_member_passes_it_on);
    RUN_TEST(test_refusals_are_not_counted);
    RUN_TEST(test_everybody_leaves_during_one_publish);
    RUN_TEST(test_members_of_a_large_group_leave_one_by_one);
    RUN_TEST(test_the_first_unsubscribes_all_others);
    RUN_TEST(test_new_subscriptions_do_not_get_the_running_message);
    RUN_TEST(test_publishes_nest);
    RUN_TEST(test_interest_is_gone_with_the_last_even_during_its_delivery);
    RUN_TEST(test_match_visits_all_members_and_may_unsubscribe_them);
    RUN_TEST(test_exact_interest_leaves_out_patterns_and_other_groups);
    RUN_TEST(test_an_observer_is_notified_of_each_subscription_that_succeeds);
    RUN_TEST(test_observers_are_notified_of_both_events_in_their_order);
    RUN_TEST(test_an_observer_may_leave_while_it_is_notified);
    RUN_TEST(test_a_dry_run_reaches_those_that_know_it);
    return UNITY_END();
}
