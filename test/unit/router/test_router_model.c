/* test_router_model.c: random subscribing, unsubscribing and publishing, also from inside
 * deliver(), against a plain list searched with subject_match().
 *
 * Every subscription is an allocation of its own, freed the moment it is unsubscribed: a router
 * that calls it once more is caught by the sanitizer. */
#include "router/router.h"

#include "base/rand.h"
#include "subject/subject.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define SUBS    160
#define OPS     150000
#define NESTING 3

/* The test's own generator, so that a failing seed can be run again: MODEL_SEED=n. */
static uint64_t seed, state;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

struct model_sub {
    struct router_sub rs;
    uint64_t born;
    unsigned slot;
    unsigned refuses; /* percent */
    char pattern[32], queue[8];
};

/* One publish under way. */
struct frame {
    struct frame *outer;
    struct mf_slice subject;
    uint64_t born; /* who is younger must not get it */
    struct model_sub *expect[SUBS];
    uint64_t expect_born[SUBS];
    size_t expected;
    uint64_t asked[SUBS * 2]; /* by birth */
    size_t asks;
    char names[SUBS][8]; /* queues that were served */
    size_t taken_names, taken_plain;
    unsigned depth;
};

static struct router *router;
static struct model_sub *subs[SUBS];
static uint64_t births;
static struct frame *top;
static uint64_t deliveries, nested, unsubs_inside, subs_inside, refusals, merges;

void setUp(void)
{
    const char *given = getenv("MODEL_SEED");

    seed = given != NULL ? strtoull(given, NULL, 10) : rand_fast() >> 16;
    state = seed;
    births = deliveries = nested = unsubs_inside = subs_inside = refusals = merges = 0;
    TEST_ASSERT_EQUAL_INT(0, router_new(&router, NULL));
}

void tearDown(void)
{
    printf("seed %llu: %llu deliveries, %llu nested publishes, %llu and %llu changes inside, %llu "
           "refusals, %llu merged groups\n",
           (unsigned long long)seed, (unsigned long long)deliveries, (unsigned long long)nested,
           (unsigned long long)subs_inside, (unsigned long long)unsubs_inside,
           (unsigned long long)refusals, (unsigned long long)merges);
}

static void random_subject(char dst[32], bool pattern)
{
    static const char *const words[] = {"a", "b", "c", "dd", "_INBOX", "*", ">"};
    unsigned tokens = 1 + below(4);
    size_t n = 0;

    for (unsigned i = 0; i < tokens; i++) {
        unsigned w = below(pattern || below(20) == 0 ? 7 : 5);
        if (pattern && w == 6 && i + 1 < tokens)
            w = 5;
        n += (size_t)snprintf(dst + n, 32 - n, "%s%s", i > 0 ? "." : "", words[w]);
    }
    if (!pattern && below(50) == 0)
        dst[below((uint32_t)n)] = '.'; /* an empty token, mostly */
}

static bool deliver(struct router_sub *rs, const struct router_msg *m);

static void subscribe_one(void)
{
    static const char *const queues[] = {"q", "qq", "a", "*", ">"};
    unsigned slot = below(SUBS);
    struct model_sub *s;

    if (subs[slot] != NULL)
        return;
    s = calloc(1, sizeof *s);
    TEST_ASSERT_NOT_NULL(s);
    random_subject(s->pattern, true);
    if (below(2) == 0)
        snprintf(s->queue, sizeof s->queue, "%s", queues[below(5)]);
    s->slot = slot;
    s->refuses = below(3) == 0 ? below(101) : 0;
    s->rs.deliver = deliver;
    s->born = ++births;
    subs[slot] = s;
    TEST_ASSERT_EQUAL_INT(0,
                          router_subscribe(router, mf_str(s->pattern), mf_str(s->queue), &s->rs));
    TEST_ASSERT_TRUE(mf_eq_str(s->rs.pattern, s->pattern));
    TEST_ASSERT_TRUE(mf_eq_str(s->rs.queue, s->queue));
}

static void unsubscribe_one(struct model_sub *s)
{
    if (s == NULL)
        return;
    subs[s->slot] = NULL;
    router_unsubscribe(router, &s->rs);
    TEST_ASSERT_NULL(s->rs.node);
    free(s);
}

static void publish_one(void);

/* What a receiver may do: anything. */
static void misbehave(unsigned depth)
{
    switch (below(24)) {
    case 0:
        unsubs_inside++;
        unsubscribe_one(subs[below(SUBS)]);
        break;
    case 1:
        subs_inside++;
        subscribe_one();
        break;
    case 2:
        if (depth < NESTING) {
            nested++;
            publish_one();
        }
        break;
    case 3: /* many at once */
        for (unsigned i = 0; i < 8; i++) {
            unsubs_inside++;
            unsubscribe_one(subs[below(SUBS)]);
            subs_inside++;
            subscribe_one();
        }
        break;
    default:
        break;
    }
}

static bool deliver(struct router_sub *rs, const struct router_msg *m)
{
    struct model_sub *s = mf_container(rs, struct model_sub, rs);
    struct frame *f = top;
    bool take = below(100) >= s->refuses;

    deliveries++;
    TEST_ASSERT_EQUAL_PTR(s, subs[s->slot]);
    TEST_ASSERT_TRUE(mf_eq(f->subject, m->route));
    TEST_ASSERT_TRUE_MESSAGE(s->born <= f->born, "subscribed during the publish");
    TEST_ASSERT_TRUE(subject_match(mf_str(s->pattern), f->subject));
    for (size_t i = 0; i < f->asks; i++)
        TEST_ASSERT_TRUE_MESSAGE(f->asked[i] != s->born, "asked twice");
    f->asked[f->asks++] = s->born;
    if (s->queue[0] != '\0') {
        for (size_t i = 0; i < f->taken_names; i++)
            TEST_ASSERT_TRUE_MESSAGE(strcmp(f->names[i], s->queue) != 0, "two of one queue");
        if (take)
            memcpy(f->names[f->taken_names++], s->queue, sizeof s->queue);
    } else {
        f->taken_plain += take;
    }
    refusals += !take;
    misbehave(f->depth); /* s may be gone now */
    return take;
}

static bool was_asked(const struct frame *f, uint64_t born)
{
    for (size_t i = 0; i < f->asks; i++)
        if (f->asked[i] == born)
            return true;
    return false;
}

static bool was_taken(const struct frame *f, const char *queue)
{
    for (size_t i = 0; i < f->taken_names; i++)
        if (strcmp(f->names[i], queue) == 0)
            return true;
    return false;
}

static void expect_receivers(struct frame *f)
{
    for (unsigned i = 0; i < SUBS; i++) {
        if (subs[i] == NULL || !subject_match(mf_str(subs[i]->pattern), f->subject))
            continue;
        for (size_t k = 0; subs[i]->queue[0] != '\0' && k < f->expected; k++)
            merges += strcmp(f->expect[k]->queue, subs[i]->queue) == 0 &&
                      strcmp(f->expect[k]->pattern, subs[i]->pattern) != 0;
        f->expect_born[f->expected] = subs[i]->born;
        f->expect[f->expected++] = subs[i];
    }
}

/* Who matched at the start and is still there was asked, unless his queue was served by another. */
static void check_receivers(const struct frame *f)
{
    for (unsigned i = 0; i < SUBS; i++) {
        const struct model_sub *s = subs[i];
        bool expected = false;
        if (s == NULL)
            continue;
        for (size_t k = 0; k < f->expected; k++)
            expected = expected || f->expect_born[k] == s->born;
        if (!expected)
            continue;
        if (s->queue[0] == '\0' || !was_taken(f, s->queue))
            TEST_ASSERT_TRUE_MESSAGE(was_asked(f, s->born), "left out");
    }
}

static void publish_one(void)
{
    struct frame *f = calloc(1, sizeof *f);
    char subject[32];
    struct mf_msg msg = {.payload = MF_LIT("x")};

    TEST_ASSERT_NOT_NULL(f);
    random_subject(subject, false);
    f->subject = mf_str(subject);
    f->born = births;
    f->outer = top;
    f->depth = top == NULL ? 1 : top->depth + 1;
    expect_receivers(f);
    TEST_ASSERT_EQUAL(f->expected > 0, router_has_interest(router, f->subject));
    top = f;
    msg.subject = f->subject;
    size_t n = router_publish(router, &(struct router_msg){.route = f->subject, .msg = &msg});
    top = f->outer;
    TEST_ASSERT_EQUAL_size_t(f->taken_plain + f->taken_names, n);
    check_receivers(f);
    free(f);
}

static void count_match(void *arg, struct router_sub *rs)
{
    struct model_sub *s = mf_container(rs, struct model_sub, rs);

    TEST_ASSERT_EQUAL_PTR(s, subs[s->slot]);
    ++*(size_t *)arg;
}

static void check_all(void)
{
    size_t live = 0, seen = 0, matching = 0, matched = 0;
    struct router_stats st;
    char subject[32];
    const char *wrong = router_check(router);

    TEST_ASSERT_NULL_MESSAGE(wrong, wrong);
    random_subject(subject, false);
    for (unsigned i = 0; i < SUBS; i++) {
        live += subs[i] != NULL;
        matching += subs[i] != NULL && subject_match(mf_str(subs[i]->pattern), mf_str(subject));
    }
    router_each(router, count_match, &seen);
    router_match(router, mf_str(subject), count_match, &matched);
    router_stats(router, &st);
    TEST_ASSERT_EQUAL_size_t(live, seen);
    TEST_ASSERT_EQUAL_size_t(matching, matched);
    TEST_ASSERT_EQUAL_UINT64(live, st.subs);
    TEST_ASSERT_EQUAL_UINT64(live, st.inserts - st.removes);
}

/* The crowd grows and shrinks, so that the table, the slots and the cache do too. */
static void test_random_life_agrees_with_a_list(void)
{
    for (unsigned op = 0; op < OPS; op++) {
        unsigned crowd = op / 5000 % 3, what = below(10);
        if (what < 6)
            publish_one();
        else if (what < (crowd == 0 ? 9u : crowd == 1 ? 8u : 7u))
            subscribe_one();
        else
            unsubscribe_one(subs[below(SUBS)]);
        if (op % 512 == 0)
            check_all();
    }
    for (unsigned i = 0; i < SUBS; i++)
        unsubscribe_one(subs[i]);
    check_all();
    router_free(router); /* asserts that no node is left */
    TEST_ASSERT_GREATER_THAN_UINT64(0, nested);
    TEST_ASSERT_GREATER_THAN_UINT64(0, merges);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_random_life_agrees_with_a_list);
    return UNITY_END();
}
