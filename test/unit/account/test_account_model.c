/* test_account_model.c: random accounts, imports, subscriptions and messages against an
 * implementation so simple that it must be right: look at every subscription and every import for
 * every message. */
#include "support/account_world.h"

#include "base/rand.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

#define ACCOUNTS 4
#define SUBS     24
#define SUBJECT  48

static const char *const names[ACCOUNTS] = {"A", "B", "C", "D"};
static const char *const tokens[] = {"a", "b", "c"};
static const char *const patterns[] = {"*", "a", "b", "c", ">"};

/* What an import may look like: subject there, name here, and how to get from one to the other. */
struct shape {
    const char *subject, *to;
    unsigned moves; /* decimal digits: which wildcard fills each '*' of the local name; 9: none */
};
static const struct shape shapes[] = {
    {"a.*", NULL, 0},      {"a.*.*", "b.$2.$1", 21}, {"a.*.*", "*.c.*", 12}, {"b.>", "c.b.>", 0},
    {"a.b", "c", 9},       {"*.*", "a.b.$1.$2", 12}, {">", "b.>", 0},        {"c.*.>", NULL, 0},
    {"a.b.c", "a.b.c", 0}, {"*", "c.*.c", 1},
};
#define MODEL_IMPORTS 6

struct import {
    bool used;
    int importer, exporter;
    const struct shape *shape;
};

static struct world w;
static struct import imports[MODEL_IMPORTS];
static bool services; /* this round's imports are services, else streams */
static struct listener subs[SUBS];
static struct {
    bool on;
    int account;
    char pattern[SUBJECT], queue[4], name[8];
} models[SUBS];

/* Lines that must be heard, and for each queue who may have been chosen. */
static char expected[512][80];
static size_t nexpected;
static struct {
    char queue[4];
    char lines[SUBS * 8][80];
    size_t n;
} groups[3];
static size_t ngroups;

void setUp(void)
{
}

void tearDown(void)
{
}

/* --- the model -------------------------------------------------------------------------------- */

static void plain(int sub, const char *subject)
{
    TEST_ASSERT_LESS_THAN_size_t(MF_COUNT(expected), nexpected);
    snprintf(expected[nexpected++], sizeof expected[0], "%s %s", models[sub].name, subject);
}

static void queued(int sub, const char *subject)
{
    size_t g = 0;

    while (g < ngroups && strcmp(groups[g].queue, models[sub].queue) != 0)
        g++;
    if (g == ngroups) {
        snprintf(groups[g].queue, sizeof groups[g].queue, "%s", models[sub].queue);
        groups[g].n = 0;
        ngroups++;
    }
    snprintf(groups[g].lines[groups[g].n++], sizeof groups[g].lines[0], "%s %s", models[sub].name,
             subject);
}

static void offer(int account, const char *subject)
{
    for (int i = 0; i < SUBS; i++) {
        if (!models[i].on || models[i].account != account ||
            !subject_match(mf_str(models[i].pattern), mf_str(subject)))
            continue;
        if (models[i].queue[0] != '\0')
            queued(i, subject);
        else
            plain(i, subject);
    }
}

/* What the wildcards of a pattern stand for in a subject. */
static void parts_of(const char *pattern, const char *subject, struct mf_slice stars[4],
                     struct mf_slice *tail)
{
    struct mf_slice p = mf_str(pattern), s = mf_str(subject), pt, st;
    size_t n = 0;

    while (subject_next_token(&p, &pt)) {
        const uint8_t *from = s.ptr;
        size_t len = s.len;
        TEST_ASSERT_TRUE(subject_next_token(&s, &st));
        if (mf_eq_str(pt, ">"))
            *tail = mf_slice(from, len);
        else if (mf_eq_str(pt, "*"))
            stars[n++] = st;
    }
}

/* Fills the wildcards of `name` in order, by `moves`; a `$n` token is filled with the nth. */
static void fill(char out[SUBJECT], const char *name, unsigned moves, struct mf_slice stars[4],
                 struct mf_slice tail)
{
    struct mf_slice rest = mf_str(name), t;
    unsigned digits[4] = {0}, nd = 0, next = 0;
    int n = 0;

    for (unsigned m = moves; m > 0; m /= 10)
        digits[nd++] = m % 10;
    while (subject_next_token(&rest, &t)) {
        if (mf_eq_str(t, ">"))
            t = tail;
        else if (mf_eq_str(t, "*") || t.ptr[0] == '$')
            t = nd > next ? stars[digits[nd - 1 - next] - 1] : stars[next], next++;
        n += snprintf(out + n, (size_t)(SUBJECT - n), "%s%.*s", n > 0 ? "." : "", MF_FMT(t));
    }
}

static void to_local(const struct shape *s, const char *subject, char out[SUBJECT])
{
    struct mf_slice stars[4], tail = MF_SLICE_NONE;

    if (s->to == NULL || strcmp(s->to, s->subject) == 0) {
        snprintf(out, SUBJECT, "%s", subject);
        return;
    }
    parts_of(s->subject, subject, stars, &tail);
    fill(out, s->to, s->moves, stars, tail);
}

/* The local name with all its fillers as wildcards. */
static void local_pattern(const struct shape *s, char out[SUBJECT])
{
    struct mf_slice star = MF_LIT("*"), stars[4] = {star, star, star, star};

    if (s->to == NULL)
        snprintf(out, SUBJECT, "%s", s->subject);
    else
        fill(out, s->to, 0, stars, MF_LIT(">"));
}

/* Backwards: each wildcard of the subject there takes what stands at its place here. */
static void to_remote(const struct shape *s, const char *subject, char out[SUBJECT])
{
    struct mf_slice here[4], there[4], tail = MF_SLICE_NONE;
    char pattern[SUBJECT];
    unsigned digits[4] = {0}, nd = 0;

    local_pattern(s, pattern);
    parts_of(pattern, subject, here, &tail);
    for (unsigned m = s->moves; m > 0 && m != 9; m /= 10)
        digits[nd++] = m % 10;
    for (unsigned i = 0; i < 4; i++)
        there[i] = i < nd || nd == 0 ? here[i] : MF_SLICE_NONE;
    for (unsigned i = 0; i < nd; i++)
        there[digits[nd - 1 - i] - 1] = here[i];
    fill(out, s->subject, 0, there, tail);
}

static void model_publish(int account, const char *subject)
{
    offer(account, subject);
    for (int i = 0; i < MODEL_IMPORTS; i++) {
        const struct import *d = &imports[i];
        char other[SUBJECT], pattern[SUBJECT];
        if (!d->used)
            continue;
        if (!services && d->exporter == account &&
            subject_match(mf_str(d->shape->subject), mf_str(subject))) {
            to_local(d->shape, subject, other);
            offer(d->importer, other);
        }
        local_pattern(d->shape, pattern);
        if (services && d->importer == account && subject_match(mf_str(pattern), mf_str(subject))) {
            to_remote(d->shape, subject, other);
            model_publish(d->exporter, other);
        }
    }
}

/* --- random worlds ---------------------------------------------------------------------------- */

/* The same subject of the same account twice is refused, and the same name for it here too. */
static bool clash(const struct import *a, const struct import *b)
{
    char here[SUBJECT], there[SUBJECT];

    local_pattern(a->shape, here);
    local_pattern(b->shape, there);
    return a->importer == b->importer && a->exporter == b->exporter &&
           (strcmp(a->shape->subject, b->shape->subject) == 0 || strcmp(here, there) == 0);
}

/* Exporters stand before importers, so there are no circles. */
static void choose_imports(void)
{
    for (int i = 0; i < MODEL_IMPORTS; i++) {
        struct import *d = &imports[i];
        d->importer = 1 + (int)rand_below(ACCOUNTS - 1);
        d->exporter = (int)rand_below((uint32_t)d->importer);
        d->shape = &shapes[rand_below(MF_COUNT(shapes))];
        d->used = true;
        for (int k = 0; k < i; k++)
            d->used = d->used && !(imports[k].used && clash(&imports[k], d));
    }
}

static void write_options(void)
{
    world_init(&w);
    for (int i = 0; i < ACCOUNTS; i++) {
        world_account(&w, names[i]);
        for (size_t k = 0; k < MF_COUNT(shapes); k++) {
            bool known = false;
            for (size_t j = 0; j < k; j++)
                known |= strcmp(shapes[j].subject, shapes[k].subject) == 0;
            if (!known)
                world_export(&w, names[i], services, shapes[k].subject);
        }
    }
    for (int i = 0; i < MODEL_IMPORTS; i++) {
        if (imports[i].used)
            world_import(&w, names[imports[i].importer], services, names[imports[i].exporter],
                         imports[i].shape->subject, imports[i].shape->to);
    }
}

static void random_subject(char out[SUBJECT], bool pattern)
{
    unsigned depth = 1 + rand_below(4);
    int n = 0;

    for (unsigned i = 0; i < depth; i++) {
        const char *t = tokens[rand_below(3)];
        if (pattern)
            t = patterns[rand_below(i + 1 == depth ? 5 : 4)];
        n += snprintf(out + n, (size_t)(SUBJECT - n), "%s%s", i > 0 ? "." : "", t);
    }
}

static void toggle(int i)
{
    if (models[i].on) {
        leave(&subs[i]);
        models[i].on = false;
        return;
    }
    models[i].account = (int)rand_below(ACCOUNTS);
    random_subject(models[i].pattern, true);
    snprintf(models[i].name, sizeof models[i].name, "s%d", i);
    models[i].queue[0] = '\0';
    if (!services && rand_below(3) == 0)
        snprintf(models[i].queue, sizeof models[i].queue, "q%u", rand_below(2));
    listen_to(&subs[i], &w, names[models[i].account], models[i].name, models[i].pattern,
              models[i].queue);
    models[i].on = true;
}

static bool strike(const char *line)
{
    for (size_t i = 0; i < w.nlog; i++) {
        if (w.log[i] != NULL && strcmp(w.log[i], line) == 0) {
            free(w.log[i]);
            w.log[i] = w.log[--w.nlog];
            return true;
        }
    }
    return false;
}

static void compare(int account, const char *subject)
{
    char text[128];
    size_t n;

    nexpected = ngroups = 0;
    model_publish(account, subject);
    n = say(&w, names[account], subject, "", "");
    if (!services) /* a service import counts once, however many took it over there */
        TEST_ASSERT_EQUAL_size_t_MESSAGE(nexpected + ngroups, n, subject);
    for (size_t i = 0; i < nexpected; i++) {
        snprintf(text, sizeof text, "PUB %s in %s: %s not heard", subject, names[account],
                 expected[i]);
        TEST_ASSERT_TRUE_MESSAGE(strike(expected[i]), text);
    }
    for (size_t g = 0; g < ngroups; g++) {
        bool found = false;
        for (size_t i = 0; i < groups[g].n && !found; i++)
            found = strike(groups[g].lines[i]);
        TEST_ASSERT_TRUE_MESSAGE(found, subject);
    }
    snprintf(text, sizeof text, "PUB %s in %s: heard %s", subject, names[account],
             w.nlog > 0 ? w.log[0] : "");
    TEST_ASSERT_EQUAL_size_t_MESSAGE(0, w.nlog, text);
}

/* Keeps the running accounts while the options are written anew. */
static void new_imports(bool start)
{
    struct accounts *as = start ? NULL : w.as;
    struct mf_error e = {0};

    choose_imports();
    write_options();
    w.as = as;
    if (start)
        world_start(&w);
    else
        TEST_ASSERT_EQUAL_INT_MESSAGE(0, world_reload(&w, &e), e.text);
}

static void run_world(void)
{
    char subject[SUBJECT];

    memset(models, 0, sizeof models);
    new_imports(true);
    for (int step = 0; step < 400; step++) {
        if (rand_below(100) == 0)
            new_imports(false);
        else if (rand_below(3) == 0)
            toggle((int)rand_below(SUBS));
        random_subject(subject, false);
        compare((int)rand_below(ACCOUNTS), subject);
    }
    for (int i = 0; i < SUBS; i++) {
        if (models[i].on)
            toggle(i);
    }
    for (int i = 0; i < ACCOUNTS; i++) {
        struct router_stats st;
        router_stats(account_router(world_get(&w, names[i])), &st);
        TEST_ASSERT_EQUAL_UINT64(services ? w.accounts[i].nimports : 0, st.subs);
    }
    world_fini(&w);
}

static void test_streams_and_queues_agree_with_the_model(void)
{
    services = false;
    for (int i = 0; i < 100; i++)
        run_world();
}

static void test_services_agree_with_the_model(void)
{
    services = true;
    for (int i = 0; i < 100; i++)
        run_world();
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_streams_and_queues_agree_with_the_model);
    RUN_TEST(test_services_agree_with_the_model);
    return UNITY_END();
}
