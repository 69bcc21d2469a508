/* test_policy_random.c: random policies and messages against the promises of policy.h; allocations
 * that fail while compiling; no allocation at all while a message is resolved; comparisons of
 * subjects are counted.  (Linked with --wrap.) */
#include "subject/subject.h"
#include "ttl/policy_subjects_impl.h"
#include "support/no_memory.h"
#include "support/pick.h"
#include "support/policy_world.h"

#define ROUNDS 20000

static uint64_t steps;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
bool __real_subject_is_subset(struct mf_slice a, struct mf_slice b);
bool __wrap_subject_is_subset(struct mf_slice a, struct mf_slice b);
bool __wrap_subject_is_subset(struct mf_slice a, struct mf_slice b)
{
    steps++;
    return __real_subject_is_subset(a, b);
}
int __real_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q);
int __wrap_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q);
int __wrap_pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                             struct pattern_query *q)
{
    int rc = __real_pattern_tree_join(a, b, q);

    steps += q->steps;
    return rc;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static struct pick pick;

void setUp(void)
{
    world_reset();
}

void tearDown(void)
{
    memory_disarm();
    world_fini();
}

static const char *any(const char *const *from, size_t n)
{
    return from[pick_below(&pick, (uint32_t)n)];
}
#define ANY(...)                                                                                   \
    any((const char *const[]){__VA_ARGS__},                                                        \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static const char *any_duration(void)
{
    return ANY("1s", "10s", "1m", "90s", "1h", "24h", "30d", "36500d", "86400", "1.5s");
}

static int64_t any_ns(void)
{
    int64_t ns;

    TEST_ASSERT_EQUAL(0, policy_parse_duration(mf_str(any_duration()), &ns));
    return ns;
}

static void pick_level(struct policy_keys *k)
{
    *k = (struct policy_keys)POLICY_KEYS_INIT;
    if (pick_chance(&pick, 40))
        k->default_ttl = pick_chance(&pick, 20) ? TTL_NEVER : any_ns();
    if (pick_chance(&pick, 30))
        k->max_ns = any_ns();
    if (pick_chance(&pick, 20))
        k->min_ns = any_ns();
    k->never = pick_below(&pick, 3);
    k->bounds = pick_below(&pick, 3);
    k->enforce = pick_below(&pick, 4);
    k->scope = pick_below(&pick, 3);
    if (pick_chance(&pick, 20))
        k->pattern = ANY("cache", "graph", "object", "pubsub", "nothing");
}

static void pick_server(struct policy_namespace n[2])
{
    memset(n, 0, 2 * sizeof *n);
    pick_level(&n[0].keys);
    pick_level(&n[1].keys);
    n[0].stream = ANY("S", "KV_*", "OBJ_*", "nope");
    world.srv = (struct policy_server){
        .set = pick_chance(&pick, 80), .namespaces = n, .nnamespaces = pick_below(&pick, 3)};
    pick_level(&world.srv.keys);
    world.srv.keys.min_ns = POLICY_UNSET;
    world.srv.keys.pattern = NULL;
}

static void pick_rules(void)
{
    static char text[2048];
    size_t len = 1, n = pick_below(&pick, 4);

    text[0] = '[';
    for (size_t i = 0; i < n; i++) {
        len += (size_t)snprintf(
            text + len, sizeof text - len, "%s{\"subject\":\"%s\",%s\"ttl\":\"%s\"%s}",
            i > 0 ? "," : "", ANY(">", "s.*", "s.a.>", "*.a", "s.b"),
            ANY("", "", "\"header\":{\"A\":\"1\"},", "\"header\":{\"A\":\"*\",\"B\":\"2\"},"),
            ANY("1h", "never", "none", "2 * header(A)", "fill(json(/l))", "0.001 * fill(header(L))",
                "until(json(/e))", "json(/a/b)", "1000 * 365d", "until(header(A))"),
            pick_chance(&pick, 10) ? ",\"permanent_if\":\"c.x\"" : "");
    }
    snprintf(text + len, sizeof text - len, "]");
    world_set("rules", text);
}

static void pick_stream(void)
{
    world_subjects(">", NULL);
    world.s.name = ANY("S", "KV_x", "OBJ_x", "T");
    world.s.max_age_ns = pick_chance(&pick, 30) ? any_ns() : 0;
    world.s.marker_ttl_ns = pick_chance(&pick, 30) ? any_ns() : 0;
    world.s.max_msgs_per_subject = pick_chance(&pick, 50) ? 1 : -1;
    world.s.limits_retention = pick_chance(&pick, 80);
    world.s.mirror = pick_chance(&pick, 5);
    world.s.counter = pick_chance(&pick, 5);
    world.s.stored = pick_chance(&pick, 50);
    if (pick_chance(&pick, 40))
        world_set("default", pick_chance(&pick, 20) ? ANY("never", "none") : any_duration());
    if (pick_chance(&pick, 30))
        world_set("max", any_duration());
    if (pick_chance(&pick, 20))
        world_set("min", any_duration());
    if (pick_chance(&pick, 20))
        world_set("bounds", ANY("clamp", "reject"));
    if (pick_chance(&pick, 20))
        world_set("never", ANY("allow", "deny"));
    if (pick_chance(&pick, 20))
        world_set("pattern", ANY("cache", "graph", "object", "pubsub"));
    if (pick_chance(&pick, 50))
        pick_rules();
}

static void pick_message(struct policy_message *m)
{
    *m = (struct policy_message){
        .subject = mf_str(ANY("s.a", "s.b", "s.a.b", "c.x", "$O.x.C.y", "$O.x.M.y", "z")),
        .hdr = mf_str(ANY("", "NATS/1.0\r\nA: 1\r\n\r\n", "NATS/1.0\r\nA: 99\r\nB: 2\r\n\r\n",
                          "NATS/1.0\r\nL: 1/1/1,5/1e-9/1e9\r\n\r\n", "NATS/1.0\r\nA", "A: 1",
                          "NATS/1.0\r\nA: 999999999999999999999\r\nL: /,/,\r\n\r\n")),
        .payload = mf_str(ANY("", "{}",
                              "{\"l\":[{\"capacity\":1,\"refill_amount\":1e-300,"
                              "\"refill_period_seconds\":1e300}],\"e\":5}",
                              "{\"e\":\"2030-01-01T00:00:00Z\"", "{\"a\":{\"b\":1e9}}",
                              "{\"a\":{\"b\":5},\"e\":1790000001}", "[[[[[[[[[[[[", "\"")),
        .ts_ns = pick_chance(&pick, 90) ? T0 : INT64_MAX,
        .client_ttl = pick_chance(&pick, 50)   ? TTL_NONE
                      : pick_chance(&pick, 20) ? TTL_NEVER
                                               : any_ns(),
        .copy = pick_chance(&pick, 20),
        .permanent = pick_chance(&pick, 50) ? world_permanent : NULL,
    };
    world.permanent = pick_chance(&pick, 50) ? "c.x" : NULL;
}

/* The largest duration that the policy may let through. */
static int64_t highest(const struct policy_view *v, const struct policy_message *m)
{
    int64_t most = v->keys.max_ns > 0 ? v->keys.max_ns : POLICY_TTL_MAX_NS;
    int64_t floor = world.s.max_msgs_per_subject == 1 ? 0 : world.s.marker_ttl_ns / S * S;

    if (mf_starts(m->subject, "$O.x.C."))
        most += H;
    return most > floor ? most : floor;
}

static void check_decision(const struct policy_message *m, const struct policy_decision *d)
{
    const struct policy_view *v = policy_view(world.p);
    char text[POLICY_REFUSAL], by[POLICY_BY_TEXT];

    TEST_ASSERT_TRUE(d->ttl == TTL_NONE || d->ttl == TTL_NEVER || d->ttl >= S);
    TEST_ASSERT_TRUE(strlen(policy_by_text(by, world.p, d)) > 0);
    TEST_ASSERT_LESS_OR_EQUAL(POLICY_RULES_MAX, d->rules_tried);
    if (d->verdict == POLICY_REJECTED) {
        TEST_ASSERT_FALSE(m->copy);
        TEST_ASSERT_EQUAL_INT64(m->client_ttl, d->ttl);
        TEST_ASSERT_TRUE(strlen(policy_refusal(text, d)) > 0);
        return;
    }
    if (d->verdict == POLICY_CLAMPED)
        TEST_ASSERT_NOT_EQUAL_INT64(TTL_NONE, m->client_ttl);
    if (d->ttl > 0)
        TEST_ASSERT_LESS_OR_EQUAL_INT64(highest(v, m), d->ttl);
    if (d->ttl > 0 && v->keys.min_ns > 0)
        TEST_ASSERT_GREATER_OR_EQUAL_INT64(v->keys.min_ns, d->ttl);
    if (m->client_ttl > 0)
        TEST_ASSERT_EQUAL(POLICY_BY_CLIENT, d->by);
    if (d->ttl == TTL_NEVER && v->keys.never == POLICY_NEVER_DENY && d->by == POLICY_BY_CLIENT) {
        struct policy_message silent = *m;
        struct policy_decision alone;

        silent.client_ttl = TTL_NONE;
        policy_resolve(world.p, &silent, &alone);
        TEST_ASSERT_EQUAL_INT64(TTL_NEVER, alone.ttl);
    }
    if (!v->governed && v->active && m->client_ttl == TTL_NONE)
        TEST_ASSERT_EQUAL_INT64(TTL_NONE, d->ttl);
}

/* Any policy that compiles keeps its bounds for any message, without any allocation. */
static void test_random_policies_keep_their_promises(void)
{
    unsigned compiled = 0, refused = 0, rejected = 0, by[POLICY_BYS] = {0};

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct policy_namespace n[2];

        pick.state = i;
        world_reset();
        pick_server(n);
        pick_stream();
        if (world_try() != 0)
            refused++;
        if (world.p == NULL)
            continue;
        compiled++;
        for (unsigned j = 0; j < 4; j++) {
            struct policy_message m;
            struct policy_decision d;

            pick_message(&m);
            memory_arm(0);
            policy_resolve(world.p, &m, &d);
            memory_disarm();
            TEST_ASSERT_FALSE(memory_hit);
            check_decision(&m, &d);
            by[d.by]++;
            rejected += d.verdict == POLICY_REJECTED;
        }
    }
    /* The choices reach every kind of end. */
    TEST_ASSERT_GREATER_THAN(ROUNDS / 3, compiled);
    TEST_ASSERT_GREATER_THAN(ROUNDS / 50, refused);
    TEST_ASSERT_GREATER_THAN(100, rejected);
    for (unsigned i = 0; i < POLICY_BYS; i++)
        TEST_ASSERT_GREATER_THAN_MESSAGE(100, by[i], policy_by_word((enum policy_by)i));
}

static void visit(void *arg, struct mf_slice filter)
{
    *(size_t *)arg += filter.len;
}

static void test_nothing_is_allocated_for_a_message(void)
{
    static const char hdr[] = "NATS/1.0\r\nA: 1\r\nL: 1000/10/60\r\n\r\n";
    struct policy_message m = {.subject = MF_LIT("bucket.a.b"),
                               .hdr = mf_str(hdr),
                               .payload = MF_LIT("{\"x\":[1],\"e\":\"2030-01-01T00:00:00Z\"}"),
                               .ts_ns = T0,
                               .permanent = world_permanent,
                               .trace = world_trace};
    char text[POLICY_REFUSAL];
    size_t bytes = 0;

    world_subjects(">", NULL);
    world_set("max", "1h");
    world_set("rules",
              "[{\"subject\":\"bucket.*.*\",\"permanent_if\":\"config.$1.$2\"},"
              "{\"header\":{\"A\":\"1\",\"B\":\"*\"},\"ttl\":\"1h\"},{\"ttl\":\"fill(json(/l))\"},"
              "{\"ttl\":\"until(json(/q))\"},{\"ttl\":\"until(json(/e))\"}]");
    world_compile();
    memory_arm(0);
    policy_resolve(world.p, &m, &world.d);
    policy_linked_by(world.p, MF_LIT("config.a.b"), visit, &bytes);
    policy_refusal(text, &world.d);
    memory_disarm();
    TEST_ASSERT_FALSE(memory_hit);
    TEST_ASSERT_EQUAL_INT64(H, world.d.ttl);
    TEST_ASSERT_EQUAL(4, world.d.rule);
    TEST_ASSERT_EQUAL_size_t(strlen("bucket.a.b"), bytes);
}

/* The 1st, 2nd, 3rd... allocation fails, until a run meets no failure. */
static void test_compiling_survives_any_failed_allocation(void)
{
    struct policy_namespace n = {.keys = POLICY_KEYS_INIT};
    long nth = 0;

    n.keys.on_expire = "gone";
    world.srv = (struct policy_server){
        .set = true, .keys = POLICY_KEYS_INIT, .namespaces = &n, .nnamespaces = 1};
    world_subjects("s.>", "dead.s.>");
    world_set("default", "24h");
    world_set("pattern", "cache");
    world_set("on_expire", "dead");
    world_set("rules", "[{\"id\":\"a\",\"subject\":\"s.*\",\"ttl\":\"header(X)\",\"header\":"
                       "{\"A\":\"1\"},\"permanent_if\":\"s.c.$1\"},{\"ttl\":\"json(/a)\"}]");
    for (;; nth++) {
        int rc;

        world_fini();
        memory_arm(nth);
        rc = policy_compile(&world.p, &world.s, &world.srv, &world.e);
        memory_disarm();
        if (!memory_hit)
            break;
        TEST_ASSERT_EQUAL(MF_NOMEM, rc);
        TEST_ASSERT_NULL(world.p);
    }
    TEST_ASSERT_NOT_NULL(world.p);
    TEST_ASSERT_GREATER_THAN(2, nth);
    world.s.stored = true;
    world_set("moon", "full"); /* not understood */
    for (nth = 0; nth < 10000; nth++) {
        world_fini();
        memory_arm(nth);
        int rc = policy_compile_stored(&world.p, &world.s, &world.srv);
        memory_disarm();
        if (!memory_hit)
            break;
        TEST_ASSERT_EQUAL(MF_NOMEM, rc);
        TEST_ASSERT_NULL(world.p);
    }
    TEST_ASSERT_NOT_NULL(policy_view(world.p)->invalid);
    TEST_ASSERT_GREATER_THAN(1, nth);
}

/* Covering and overlapping, against each subject for itself. */
static void test_subjects_are_compared_as_one_by_one(void)
{
    for (unsigned i = 0; i < 3000; i++) {
        char text[4][32], *list[3] = {text[0], text[1], text[2]};
        struct json_strs strs = {list, 1 + i % 3};
        struct subjects s;
        bool cover = false, overlap = false;

        pick.state = i;
        for (unsigned j = 0; j < 4; j++)
            snprintf(text[j], sizeof text[j], "%s%s%s", ANY("a", "b", "*"),
                     ANY(".a", ".b", ".*", ""), ANY(".>", ".a", ".*", ""));
        TEST_ASSERT_EQUAL(0, policy_subjects_init(&s, &strs));
        for (size_t j = 0; j < strs.n; j++) {
            cover = cover || subject_is_subset(mf_str(text[3]), mf_str(text[j]));
            overlap = overlap || subject_overlap(mf_str(text[3]), mf_str(text[j]));
        }
        TEST_ASSERT_EQUAL_MESSAGE(cover, policy_subjects_cover(&s, mf_str(text[3])), text[3]);
        TEST_ASSERT_EQUAL_MESSAGE(overlap, policy_subjects_overlap(&s, mf_str(text[3])), text[3]);
        policy_subjects_fini(&s);
    }
}

static uint64_t count_steps(size_t n)
{
    static char names[4000][48], *list[4000];
    struct json_strs strs = {list, n};

    for (size_t i = 0; i < n; i += 2) {
        snprintf(names[i], sizeof names[i], "s.n%zu.>", i);
        snprintf(names[i + 1], sizeof names[i + 1], "dead.s.n%zu.>", i);
        list[i] = names[i];
        list[i + 1] = names[i + 1];
    }
    world_reset();
    world.s.subjects = &strs;
    world_set("on_expire", "dead");
    world_set("rules", "[{\"subject\":\"*.n2.x\",\"ttl\":\"1h\"},{\"ttl\":\"1h\"}]");
    steps = 0;
    world_compile();
    world.s.subjects = &world.subjects;
    return steps;
}

/* A request with very many subjects is checked in steps linear in their number. */
static void test_costs_of_many_subjects_are_linear(void)
{
    uint64_t few = count_steps(400), many = count_steps(4000);

    TEST_ASSERT_GREATER_THAN_UINT64(100, few);
    TEST_ASSERT_LESS_THAN_UINT64(12 * few, many);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_random_policies_keep_their_promises);
    RUN_TEST(test_nothing_is_allocated_for_a_message);
    RUN_TEST(test_compiling_survives_any_failed_allocation);
    RUN_TEST(test_subjects_are_compared_as_one_by_one);
    RUN_TEST(test_costs_of_many_subjects_are_linear);
    return UNITY_END();
}
