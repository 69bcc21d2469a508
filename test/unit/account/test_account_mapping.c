/* test_account_mapping.c: subject mappings of accounts, those of the configuration and that of the
 * domain's name.  Expectations marked "asked" were seen on nats-server 2.15.1 first. */
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

static struct listener everything;

static void map_world(const char *source, struct options_mapping_dest *dests, size_t n)
{
    world_account(&w, "A");
    world_map(&w, "A", source, dests, n);
    world_start(&w);
    listen_to(&everything, &w, "A", "l", ">", "");
}

static int count_subject(int rounds, const char *say_subject, const char *subject)
{
    char line[64];
    int n = 0;

    snprintf(line, sizeof line, "%s%s", subject[0] != '\0' ? "l " : "", subject);
    for (int i = 0; i < rounds; i++) {
        say(&w, "A", say_subject, "", "");
        n += strcmp(heard(&w), line) == 0;
    }
    return n;
}

/* Asked: x 50 %, y 30 %, z 20 %. */
static void test_weights_choose_and_the_rest_stays(void)
{
    struct options_mapping_dest d[] = {{(char *)"y", 30, NULL}, {(char *)"z", 20, NULL}};

    map_world("x", d, 2);
    TEST_ASSERT_INT_WITHIN(250, 1500, count_subject(5000, "x", "y"));
    TEST_ASSERT_INT_WITHIN(250, 1000, count_subject(5000, "x", "z"));
    TEST_ASSERT_INT_WITHIN(250, 2500, count_subject(5000, "x", "x"));
    leave(&everything);
}

/* Asked: the source named among the destinations means that the rest is to be lost. */
static void test_weights_with_the_source_among_them_lose_the_rest(void)
{
    struct options_mapping_dest d[] = {{(char *)"l", 20, NULL}, {(char *)"m", 30, NULL}};
    char dst[8];
    bool lost = false;

    map_world("l", d, 2);
    TEST_ASSERT_INT_WITHIN(250, 2500, count_subject(5000, "l", ""));
    for (int i = 0; i < 1000 && !lost; i++)
        lost = account_map(world_get(&w, "A"), MF_LIT("l"), dst, sizeof dst) == MF_NOTFOUND;
    TEST_ASSERT_TRUE(lost);
    leave(&everything);
}

static void test_mapping_may_move_tokens_and_partition(void)
{
    struct options_mapping_dest d = {(char *)"s.{{partition(3,1,2)}}.$2.$1", 100, NULL};

    map_world("p.*.*", &d, 1);
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "p.a.b", "", ""));
    TEST_ASSERT_EQUAL_STRING("l s.0.b.a", heard(&w)); /* asked */
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "p.a.b.c", "", ""));
    TEST_ASSERT_EQUAL_STRING("l p.a.b.c", heard(&w));
    leave(&everything);
}

static void test_literal_sources_come_before_patterns(void)
{
    struct options_mapping_dest wide = {(char *)"d.>", 100, NULL}, one = {(char *)"kk", 100, NULL};

    world_account(&w, "A");
    world_map(&w, "A", "dup.>", &wide, 1);
    world_map(&w, "A", "dup.k", &one, 1);
    world_map(&w, "A", "a", &one, 1);
    world_map(&w, "A", "zz", &one, 1);
    world_start(&w);
    listen_to(&everything, &w, "A", "l", ">", "");
    TEST_ASSERT_EQUAL_INT(1, count_subject(1, "dup.k", "kk"));
    TEST_ASSERT_EQUAL_INT(1, count_subject(1, "dup.kk", "d.kk"));
    TEST_ASSERT_EQUAL_INT(1, count_subject(1, "a", "kk"));
    TEST_ASSERT_EQUAL_INT(1, count_subject(1, "zz", "kk"));
    TEST_ASSERT_EQUAL_INT(1, count_subject(1, "b", "b"));
    leave(&everything);
}

/* Asked: destinations for another cluster leave the subject as it is. */
static void test_cluster_chooses_the_destinations(void)
{
    struct options_mapping_dest d[] = {{(char *)"east1", 100, (char *)"east"},
                                       {(char *)"any", 100, NULL}};

    map_world("x", d, 1);
    TEST_ASSERT_EQUAL_INT(1, count_subject(1, "x", "x"));
    leave(&everything);
    world_fini(&w);
    world_init(&w);
    map_world("x", d, 2);
    TEST_ASSERT_EQUAL_INT(1, count_subject(1, "x", "any"));
    leave(&everything);
    world_fini(&w);
    world_init(&w);
    w.o.cluster.set = true;
    w.o.cluster.name = (char *)"east";
    map_world("x", d, 2);
    TEST_ASSERT_EQUAL_INT(1, count_subject(1, "x", "east1"));
    leave(&everything);
}

static void test_mappings_of_the_options_are_those_of_the_global_account(void)
{
    struct options_mapping_dest d = {(char *)"y", 100, NULL};
    struct options_mapping m = {(char *)"x", &d, 1};
    struct listener l;
    char dst[8];

    w.o.mappings = &m;
    w.o.nmappings = 1;
    world_account(&w, "A");
    world_start(&w);
    TEST_ASSERT_TRUE(account_may_map(accounts_global(w.as), MF_LIT("x")));
    TEST_ASSERT_FALSE(account_may_map(world_get(&w, "A"), MF_LIT("x")));
    TEST_ASSERT_EQUAL_INT(1, account_map(accounts_global(w.as), MF_LIT("x"), dst, sizeof dst));
    TEST_ASSERT_EQUAL_CHAR('y', dst[0]);
    TEST_ASSERT_EQUAL_INT(0, account_map(accounts_global(w.as), MF_LIT("z"), dst, sizeof dst));
    TEST_ASSERT_EQUAL_INT(MF_LIMIT, account_map(accounts_global(w.as), MF_LIT("x"), dst, 0));
    listen_to(&l, &w, "$G", "g", "*", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "$G", "x", "", ""));
    TEST_ASSERT_EQUAL_STRING("g y", heard(&w));
    leave(&l);
}

/* What an account makes of a subject: the mapped one, the same one, or "lost". */
static const char *mapped(const char *account, const char *subject)
{
    static char dst[128];
    ssize_t n = account_map(world_get(&w, account), mf_str(subject), dst, sizeof dst - 1);

    if (n <= 0)
        return n == 0 ? subject : "lost";
    TEST_ASSERT_TRUE(account_may_map(world_get(&w, account), mf_str(subject)));
    dst[n] = '\0';
    return dst;
}

/* asked: the nine mappings of the own domain; the system account has a single wide one. */
static void test_the_domains_name_is_mapped_to_the_plain_one(void)
{
    static const char *const same[] = {
        "$JS.hub.API",       "$JS.hub.API.BOGUS", "$JS.hub.API.INFO.x", "$JS.hub.API.STREAM",
        "$JS.hub2.API.INFO", "$JS.API.INFO",      "x.$JS.hub.API.INFO"};
    struct options_mapping_dest d = {(char *)"$JS.hub.API.INFO", 100, NULL};
    struct options_mapping_dest own = {(char *)"taken", 100, NULL};

    w.o.jetstream.enabled = true;
    w.o.jetstream.domain = (char *)"hub";
    world_account(&w, "A");
    world_map(&w, "A", "once", &d, 1);
    world_map(&w, "A", "$JS.hub.API.STREAM.LIST", &own, 1);
    world_start(&w);
    TEST_ASSERT_EQUAL_STRING("$JS.API.INFO", mapped("A", "$JS.hub.API.INFO"));
    TEST_ASSERT_EQUAL_STRING("$JS.API.STREAM.DELETE.X", mapped("A", "$JS.hub.API.STREAM.DELETE.X"));
    TEST_ASSERT_EQUAL_STRING("$JS.API.DIRECT.GET.X", mapped("$G", "$JS.hub.API.DIRECT.GET.X"));
    TEST_ASSERT_EQUAL_STRING("$KV.b.k", mapped("A", "$JS.hub.API.$KV.b.k"));
    TEST_ASSERT_EQUAL_STRING("$OBJ.b.k", mapped("A", "$JS.hub.API.$OBJ.b.k"));
    TEST_ASSERT_EQUAL_STRING("$JS.API.BOGUS", mapped("$SYS", "$JS.hub.API.BOGUS"));
    for (size_t i = 0; i < MF_COUNT(same); i++)
        TEST_ASSERT_EQUAL_STRING(same[i], mapped("A", same[i]));
    /* The configuration's mappings come first, and only one is applied. */
    TEST_ASSERT_EQUAL_STRING("taken", mapped("A", "$JS.hub.API.STREAM.LIST"));
    TEST_ASSERT_EQUAL_STRING("$JS.hub.API.INFO", mapped("A", "once"));
    TEST_ASSERT_FALSE(account_may_map(accounts_global(w.as), MF_LIT("x")));
    TEST_ASSERT_FALSE(account_may_map(accounts_global(w.as), MF_SLICE_NONE));
    TEST_ASSERT_EQUAL_INT(
        MF_LIMIT, account_map(accounts_global(w.as), MF_LIT("$JS.hub.API.INFO"), (char[4]){0}, 4));
}

/* asked: an account without JetStream that imports the API of another one has no domain. */
static void test_an_imported_api_has_no_name_of_the_domain(void)
{
    w.o.jetstream.enabled = true;
    w.o.jetstream.domain = (char *)"hub";
    world_account(&w, "A")->js.enabled = true;
    world_account(&w, "B");
    world_account(&w, "C");
    world_export(&w, "A", true, "$JS.API.>");
    world_import(&w, "B", true, "A", "$JS.API.>", NULL);
    world_import(&w, "C", true, "A", "$JS.API.>", "from.a.>");
    world_start(&w);
    TEST_ASSERT_EQUAL_STRING("$JS.hub.API.INFO", mapped("B", "$JS.hub.API.INFO"));
    TEST_ASSERT_EQUAL_STRING("$JS.API.INFO", mapped("C", "$JS.hub.API.INFO"));
    TEST_ASSERT_EQUAL_STRING("$JS.API.INFO", mapped("A", "$JS.hub.API.INFO"));
}

static void collect(void *arg, struct mf_slice pattern)
{
    char *text = arg;
    size_t n = strlen(text);

    (void)snprintf(text + n, 256 - n, "%.*s ", MF_FMT(pattern));
}

/* default_js_domain: the plain names lead there, in an account without JetStream. */
static void test_a_default_domain_serves_accounts_without_jetstream(void)
{
    struct options_pair pairs[] = {{(char *)"A", (char *)"hub"}, {(char *)"B", (char *)"hub"}};
    char sources[256] = "";

    w.o.jetstream.enabled = true;
    w.o.jetstream.domain = (char *)"own";
    w.o.default_js_domains = (struct options_pairs){pairs, 2};
    world_account(&w, "A");
    world_account(&w, "B")->js.enabled = true;
    world_start(&w);
    TEST_ASSERT_EQUAL_STRING("$JS.hub.API.INFO", mapped("A", "$JS.API.INFO"));
    TEST_ASSERT_EQUAL_STRING("$JS.hub.API.$KV.b.k", mapped("A", "$KV.b.k"));
    TEST_ASSERT_EQUAL_STRING("$JS.hub.API.$OBJ.x", mapped("A", "$OBJ.x"));
    TEST_ASSERT_EQUAL_STRING("$JS.hub.API.INFO", mapped("A", "$JS.hub.API.INFO"));
    TEST_ASSERT_EQUAL_STRING("$JS.API.INFO", mapped("B", "$JS.API.INFO"));
    TEST_ASSERT_EQUAL_STRING("$KV.b.k", mapped("B", "$KV.b.k"));
    /* Other servers are told of the names that lead here, not of those that lead away. */
    account_each_mapping(world_get(&w, "B"), collect, sources);
    TEST_ASSERT_EQUAL_STRING("$JS.own.API.> $MAYFLY.own.TTL.> ", sources);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_weights_choose_and_the_rest_stays);
    RUN_TEST(test_weights_with_the_source_among_them_lose_the_rest);
    RUN_TEST(test_mapping_may_move_tokens_and_partition);
    RUN_TEST(test_literal_sources_come_before_patterns);
    RUN_TEST(test_cluster_chooses_the_destinations);
    RUN_TEST(test_mappings_of_the_options_are_those_of_the_global_account);
    RUN_TEST(test_the_domains_name_is_mapped_to_the_plain_one);
    RUN_TEST(test_a_default_domain_serves_accounts_without_jetstream);
    RUN_TEST(test_an_imported_api_has_no_name_of_the_domain);
    return UNITY_END();
}
