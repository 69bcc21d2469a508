/* test_options_leaf.c: the leafnodes block into values, and what a reload finds changed. */
#include "config/options_leaf.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define SEED      "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
#define NKEY_USER "UADRIIJOHNEFKYTPPSEZNI5QXXFNPZHR7YFRQJJSH5GFSZTTQCGZUQLX"

static struct options *o, *next;

void setUp(void)
{
}
void tearDown(void)
{
    options_free(o);
    options_free(next);
    o = next = NULL;
}

static void load_into(struct options **out, const char *text)
{
    struct mf_error e = {0, ""};
    char what[1200];
    options_free(*out);
    *out = NULL;
    int rc = options_parse(out, mf_str(text), "t.conf", &e);
    snprintf(what, sizeof what, "%s\n  gave: %s", text, e.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, rc, what);
}
static void load(const char *text)
{
    load_into(&o, text);
}
static const struct options_leaf_remote *remote(const char *keys)
{
    char text[1024];
    snprintf(text, sizeof text, "leafnodes { remotes: [ { %s } ] }\naccounts { A { } }", keys);
    load(text);
    TEST_ASSERT_EQUAL(1, o->leaf->nremotes);
    return &o->leaf->remotes[0];
}
static const struct options_leaf_url *url(const char *text)
{
    char keys[512];
    snprintf(keys, sizeof keys, "url: \"%s\"", text);
    const struct options_leaf_remote *r = remote(keys);
    TEST_ASSERT_EQUAL(1, r->nurls);
    return &r->urls[0];
}
static bool warned(const char *text)
{
    for (size_t i = 0; i < o->warnings.n; i++)
        if (strstr(o->warnings.items[i], text) != NULL)
            return true;
    return false;
}

/* --- values ----------------------------------------------------------------------------------- */

static void test_no_block_has_the_defaults(void)
{
    load("port: 4222");
    TEST_ASSERT_FALSE(o->leafnodes.set);
    TEST_ASSERT_EQUAL(0, o->leaf->nremotes);
    TEST_ASSERT_EQUAL_INT64(CLOCK_S, o->leaf->reconnect_ns);
    TEST_ASSERT_EQUAL_INT64(CLOCK_S, o->leaf->dial_timeout_ns);
    TEST_ASSERT_EQUAL_INT64(2 * CLOCK_S, o->leaf->auth.timeout_ns);
    TEST_ASSERT_EQUAL_INT64(10 * CLOCK_S, o->leaf->write_deadline_ns);
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_AUTO, o->leaf->compression.mode);
    TEST_ASSERT_EQUAL(3, o->leaf->compression.nrtts);
    TEST_ASSERT_EQUAL_INT64(50 * CLOCK_MS, o->leaf->compression.rtt_ns[1]);
}

static void test_the_block_keeps_every_key(void)
{
    load(
        "leafnodes { listen: \"127.0.0.1:-1\", advertise: \"leaf.example:99\", no_advertise: true\n"
        "  authorization { user: l, password: pw, account: A, timeout: 3 }\n"
        "  min_version: \"2.10.7-beta\", compression: s2_best, reconnect: \"3s\"\n"
        "  dial_timeout: \"4s\", isolate: true, write_deadline: \"5s\", write_timeout: close }\n"
        "accounts { A { } }");
    const struct options_leaf *l = o->leaf;
    TEST_ASSERT_TRUE(o->leafnodes.set && o->leafnodes.listens && o->leafnodes.port == -1);
    TEST_ASSERT_EQUAL_STRING("127.0.0.1", o->leafnodes.host);
    TEST_ASSERT_EQUAL_STRING("leaf.example", l->advertise_host);
    TEST_ASSERT_EQUAL(99, l->advertise_port);
    TEST_ASSERT_TRUE(l->no_advertise && l->isolate);
    TEST_ASSERT_EQUAL_STRING("l", l->auth.user);
    TEST_ASSERT_EQUAL_STRING("pw", l->auth.password);
    TEST_ASSERT_EQUAL_STRING("A", l->auth.account);
    TEST_ASSERT_EQUAL_INT64(3 * CLOCK_S, l->auth.timeout_ns);
    TEST_ASSERT_EQUAL_STRING("2.10.7-beta", l->min_version);
    TEST_ASSERT_TRUE(l->min_version_parts[0] == 2 && l->min_version_parts[1] == 10 &&
                     l->min_version_parts[2] == 7);
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_BEST, l->compression.mode);
    TEST_ASSERT_EQUAL_INT64(3 * CLOCK_S, l->reconnect_ns);
    TEST_ASSERT_EQUAL_INT64(4 * CLOCK_S, l->dial_timeout_ns);
    TEST_ASSERT_EQUAL_INT64(5 * CLOCK_S, l->write_deadline_ns);
    TEST_ASSERT_EQUAL(OPTIONS_WRITE_CLOSE, l->write_timeout);
}

static void test_users_and_nkey_of_the_authorization_are_kept(void)
{
    load("leafnodes { port: -1, authorization { users: [ {user: a, password: b, account: A},"
         " {user: c} ] } }\naccounts { A { } }");
    TEST_ASSERT_EQUAL(2, o->leaf->auth.nusers);
    TEST_ASSERT_EQUAL_STRING("A", o->leaf->auth.users[0].account);
    TEST_ASSERT_NULL(o->leaf->auth.users[1].account);
    load("leafnodes { port: -1, authorization { nkey: " NKEY_USER " } }");
    TEST_ASSERT_EQUAL_STRING(NKEY_USER, o->leaf->auth.nkey);
}

static void test_advertise_has_an_optional_port_and_brackets(void)
{
    load("leafnodes { port: -1, advertise: \"[::1]:7\" }");
    TEST_ASSERT_EQUAL_STRING("::1", o->leaf->advertise_host);
    TEST_ASSERT_EQUAL(7, o->leaf->advertise_port);
    load("leafnodes { port: -1, advertise: \"h\" }");
    TEST_ASSERT_EQUAL_STRING("h", o->leaf->advertise_host);
    TEST_ASSERT_EQUAL(0, o->leaf->advertise_port);
}

static void test_a_remote_keeps_every_key(void)
{
    const struct options_leaf_remote *r = remote(
        "urls: [\"nats-leaf://a:1\", \"nats-leaf://b\"], account: A, nkey: " SEED ", hub: true,"
        "no_randomize: true, deny_imports: [\"x.*\", y], deny_exports: z, ws_compression: true,"
        "ws_no_masking: true, isolate: true, request_isolation: true, compression: accept,"
        "first_info_timeout: \"3s\", dial_timeout: \"4s\", disabled: true,"
        "ignore_discovered_servers: true, tls { handshake_first: true, timeout: 5, insecure: true "
        "}");
    TEST_ASSERT_EQUAL(2, r->nurls);
    TEST_ASSERT_EQUAL_STRING("nats-leaf://b:7422", r->urls[1].shown);
    TEST_ASSERT_EQUAL_STRING("A", r->account);
    TEST_ASSERT_EQUAL_STRING(SEED, r->nkey);
    TEST_ASSERT_TRUE(r->hub && r->no_randomize && r->ws_compression && r->ws_no_masking);
    TEST_ASSERT_TRUE(r->isolate && r->request_isolation && r->disabled && r->ignore_discovered);
    TEST_ASSERT_EQUAL(2, r->deny_imports.n);
    TEST_ASSERT_EQUAL_STRING("y", r->deny_imports.items[1]);
    TEST_ASSERT_EQUAL_STRING("z", r->deny_exports.items[0]);
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_ACCEPT, r->compression.mode);
    TEST_ASSERT_EQUAL_INT64(3 * CLOCK_S, r->first_info_timeout_ns);
    TEST_ASSERT_EQUAL_INT64(4 * CLOCK_S, r->dial_timeout_ns);
    TEST_ASSERT_TRUE(r->tls.set && r->tls.handshake_first && r->tls.insecure);
    TEST_ASSERT_EQUAL_INT64(5 * CLOCK_S, r->tls.timeout_ns);
    TEST_ASSERT_FALSE(r->ws);
    TEST_ASSERT_EQUAL_STRING("urls=[\"nats-leaf://a:1\" \"nats-leaf://b:7422\"], account=\"A\"",
                             r->label);
    TEST_ASSERT_NULL(strstr(r->label, SEED));
}

static void test_a_remote_without_keys_has_the_defaults(void)
{
    load("leafnodes { dial_timeout: \"7s\", remotes: [ { url: \"nats://h\" } ] }");
    const struct options_leaf_remote *r = &o->leaf->remotes[0];
    TEST_ASSERT_EQUAL_STRING("$G", r->account);
    TEST_ASSERT_EQUAL_INT64(7 * CLOCK_S, r->dial_timeout_ns);
    TEST_ASSERT_EQUAL_INT64(CLOCK_S, r->first_info_timeout_ns);
    TEST_ASSERT_EQUAL_INT64(2 * CLOCK_S, r->tls.timeout_ns);
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_AUTO, r->compression.mode);
    TEST_ASSERT_FALSE(r->tls.set || r->proxy.set);
}

static void test_credentials_below_the_home_directory_are_found(void)
{
    char expected[1024];
    setenv("HOME", "/home/ann", 1);
    snprintf(expected, sizeof expected, "/home/ann/leaf.creds");
    TEST_ASSERT_EQUAL_STRING(expected,
                             remote("url: \"nats://h\", creds: \"~/leaf.creds\"")->credentials);
    TEST_ASSERT_EQUAL_STRING("/x.creds",
                             remote("url: \"nats://h\", creds: \"/x.creds\"")->credentials);
}

static void test_the_proxy_is_kept_in_parts(void)
{
    const struct options_leaf_remote *r = remote("url: \"ws://h\", proxy { url: \"http://p:3128\", "
                                                 "username: u, password: v, timeout: \"9s\" }");
    TEST_ASSERT_TRUE(r->ws && r->proxy.set && !r->proxy.tls);
    TEST_ASSERT_EQUAL_STRING("p", r->proxy.host);
    TEST_ASSERT_EQUAL(3128, r->proxy.port);
    TEST_ASSERT_EQUAL_STRING("u", r->proxy.user);
    TEST_ASSERT_EQUAL_STRING("v", r->proxy.password);
    TEST_ASSERT_EQUAL_INT64(9 * CLOCK_S, r->proxy.timeout_ns);
    r = remote("url: \"ws://h\", dial_timeout: \"6s\", proxy { url: \"http://p\" }");
    TEST_ASSERT_EQUAL(80, r->proxy.port);
    TEST_ASSERT_EQUAL_INT64(6 * CLOCK_S, r->proxy.timeout_ns);
    r = remote("url: \"ws://h\", proxy { url: \"https://p\" }");
    TEST_ASSERT_TRUE(r->proxy.tls && r->proxy.port == 443);
    TEST_ASSERT_TRUE(warned("TLS to the proxy itself is not available"));
}

static void test_what_has_no_effect_is_said(void)
{
    remote("url: \"nats://h\", jetstream_cluster_migrate: true");
    TEST_ASSERT_TRUE(warned("jetstream_cluster_migrate: no effect"));
    remote("url: \"nats://h\", jetstream_cluster_migrate: false");
    TEST_ASSERT_FALSE(warned("jetstream_cluster_migrate: no effect"));
    remote("account: A");
    TEST_ASSERT_TRUE(warned("a remote without url does nothing"));
}

/* --- URLs ------------------------------------------------------------------------------------- */

static void test_user_info_is_kept_apart_from_what_is_shown(void)
{
    const struct options_leaf_url *u = url("nats-leaf://joe:p%40ss@host.example:1234");
    TEST_ASSERT_EQUAL_STRING("joe", u->user);
    TEST_ASSERT_EQUAL_STRING("p@ss", u->password);
    TEST_ASSERT_EQUAL_STRING("host.example", u->host);
    TEST_ASSERT_EQUAL(1234, u->port);
    TEST_ASSERT_EQUAL_STRING("nats-leaf://host.example:1234", u->shown);
    TEST_ASSERT_NULL(strstr(o->leaf->remotes[0].label, "joe"));
    u = url("nats-leaf://token@h");
    TEST_ASSERT_EQUAL_STRING("token", u->user);
    TEST_ASSERT_NULL(u->password);
    u = url("nats-leaf://u:@h");
    TEST_ASSERT_EQUAL_STRING("", u->password);
    u = url("nats-leaf://u:a@b@h");
    TEST_ASSERT_EQUAL_STRING("a@b", u->password);
    TEST_ASSERT_EQUAL_STRING("h", u->host);
    u = url("nats-leaf://u%zz:%@h");
    TEST_ASSERT_EQUAL_STRING("u%zz", u->user);
    TEST_ASSERT_EQUAL_STRING("%", u->password);
}

static void test_schemes_ports_paths_and_addresses(void)
{
    const struct options_leaf_url *u = url("WSS://h:443/a/b/?q=1");
    TEST_ASSERT_TRUE(u->ws && u->tls && u->port == 443);
    TEST_ASSERT_EQUAL_STRING("wss", u->scheme);
    TEST_ASSERT_EQUAL_STRING("/a/b", u->path);
    TEST_ASSERT_EQUAL_STRING("wss://h:443/a/b", u->shown);
    u = url("ws://h");
    TEST_ASSERT_TRUE(u->ws && !u->tls && u->port == 7422 && u->path[0] == '\0');
    u = url("tls://[::1]:99");
    TEST_ASSERT_TRUE(!u->ws && u->tls && u->port == 99);
    TEST_ASSERT_EQUAL_STRING("::1", u->host);
    TEST_ASSERT_EQUAL_STRING("tls://[::1]:99", u->shown);
    u = url("nats://[fe80::2]");
    TEST_ASSERT_EQUAL_STRING("fe80::2", u->host);
    TEST_ASSERT_EQUAL(7422, u->port);
    u = url("hub:7000"); /* nats-server accepts it and never connects */
    TEST_ASSERT_EQUAL_STRING("hub", u->host);
    TEST_ASSERT_EQUAL(7000, u->port);
    TEST_ASSERT_EQUAL_STRING("hub:7000", u->shown);
}

/* --- compression ------------------------------------------------------------------------------ */

static void test_compression_words_and_thresholds(void)
{
    static const struct {
        const char *text;
        enum options_compress mode;
    } rows[] = {
        {"true", OPTIONS_COMPRESS_AUTO},     {"false", OPTIONS_COMPRESS_OFF},
        {"ON", OPTIONS_COMPRESS_AUTO},       {"disabled", OPTIONS_COMPRESS_OFF},
        {"accept", OPTIONS_COMPRESS_ACCEPT}, {"not_supported", OPTIONS_COMPRESS_NONE},
        {"fast", OPTIONS_COMPRESS_FAST},     {"S2_Better", OPTIONS_COMPRESS_BETTER},
        {"{}", OPTIONS_COMPRESS_AUTO},       {"{mode: best}", OPTIONS_COMPRESS_BEST},
    };
    char text[200];
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        snprintf(text, sizeof text, "leafnodes { compression: %s }", rows[i].text);
        load(text);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].mode, o->leaf->compression.mode, text);
    }
    load("leafnodes { compression { mode: s2_auto, rtts: [\"0s\", \"5ms\", \"20ms\", \"0s\"] } }");
    TEST_ASSERT_EQUAL(3, o->leaf->compression.nrtts); /* a 0 at the end says nothing */
    TEST_ASSERT_EQUAL_INT64(0, o->leaf->compression.rtt_ns[0]);
    TEST_ASSERT_EQUAL_INT64(20 * CLOCK_MS, o->leaf->compression.rtt_ns[2]);
}

static void test_thresholds_that_no_level_fits_are_refused(void)
{
    static const char *const rows[][2] = {
        {"[\"50ms\", \"10ms\"]", "ascending order"},
        {"[\"1ms\", \"2ms\", \"3ms\", \"4ms\", \"5ms\"]", "no more than 4"},
        {"[\"0s\"]", "at least one RTT threshold"},
    };
    char text[200];
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct mf_error e = {0, ""};
        snprintf(text, sizeof text, "leafnodes { compression { mode: auto, rtts: %s } }",
                 rows[i][0]);
        TEST_ASSERT_EQUAL(MF_INVAL, options_parse(&o, mf_str(text), "t.conf", &e));
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, rows[i][1]), e.text);
    }
}

static void test_modes_of_both_sides_agree_as_in_nats_server(void)
{
    enum { NONE = OPTIONS_COMPRESS_NONE, OFF = OPTIONS_COMPRESS_OFF };
    enum { ACCEPT = OPTIONS_COMPRESS_ACCEPT, AUTO = OPTIONS_COMPRESS_AUTO };
    enum { FAST = OPTIONS_COMPRESS_FAST, BEST = OPTIONS_COMPRESS_BEST };
    static const struct {
        int own;
        const char *theirs;
        int out;
    } rows[] = {
        {OFF, "", NONE},
        {OFF, "not supported", NONE},
        {OFF, "off", OFF},
        {OFF, "accept", OFF},
        {OFF, "s2_auto", OFF},
        {ACCEPT, "", NONE},
        {ACCEPT, "off", OFF},
        {ACCEPT, "accept", OFF},
        {ACCEPT, "s2_best", BEST},
        {ACCEPT, "s2_auto", FAST},
        {AUTO, "", NONE},
        {AUTO, "off", OFF},
        {AUTO, "accept", AUTO},
        {AUTO, "s2_fast", AUTO},
        {BEST, "s2_uncompressed", BEST},
        {NONE, "s2_auto", NONE},
    };
    enum options_compress out;
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        TEST_ASSERT_EQUAL(0, options_compress_agree((enum options_compress)rows[i].own,
                                                    mf_str(rows[i].theirs), &out));
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].out, out, rows[i].theirs);
    }
    TEST_ASSERT_EQUAL(MF_INVAL,
                      options_compress_agree(OPTIONS_COMPRESS_AUTO, MF_LIT("bogus"), &out));
}

static void test_the_level_follows_the_round_trip_time(void)
{
    struct options_compression p = {OPTIONS_COMPRESS_AUTO, {10, 50, 100, 0}, 3};
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_UNCOMPRESSED, options_compress_level(&p, 10));
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_FAST, options_compress_level(&p, 11));
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_BETTER, options_compress_level(&p, 100));
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_BEST, options_compress_level(&p, 101));
    p = (struct options_compression){OPTIONS_COMPRESS_AUTO, {0, 50, 0, 0}, 2};
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_FAST, options_compress_level(&p, 1)); /* 0: not used */
    TEST_ASSERT_EQUAL(OPTIONS_COMPRESS_FAST, options_compress_level(&p, 51));
}

/* --- reload ----------------------------------------------------------------------------------- */

static enum options_leaf_change compare(const char *before, const char *after, char *what,
                                        size_t cap)
{
    char text[1024];
    snprintf(text, sizeof text, "leafnodes { remotes: [ { url: \"nats://u:p@h\", %s } ] }", before);
    load_into(&o, text);
    snprintf(text, sizeof text, "leafnodes { remotes: [ { url: \"nats://u:p@h\", %s } ] }", after);
    load_into(&next, text);
    const struct options_leaf_remote *old = options_leaf_find(o->leaf, &next->leaf->remotes[0]);
    TEST_ASSERT_NOT_NULL(old);
    return options_leaf_compare(old, &next->leaf->remotes[0], what, cap);
}

static void test_a_changed_remote_is_told_apart_from_a_new_one(void)
{
    static const char *const others[] = {
        "url: \"nats://h2\"",
        "url: \"nats://h\", account: A",
        "url: \"nats://u:q@h\"", /* rotated: the old link ends, a new one is made */
        ("url: \"nats://h\", nkey: " SEED),
        "url: \"nats://h\", creds: \"/x\"",
    };
    char text[1024];
    load_into(&o, "leafnodes { remotes: [ { url: \"nats://h\" } ] }");
    for (size_t i = 0; i < MF_COUNT(others); i++) {
        snprintf(text, sizeof text, "leafnodes { remotes: [ { %s } ] }\naccounts { A { } }",
                 others[i]);
        load_into(&next, text);
        TEST_ASSERT_NULL_MESSAGE(options_leaf_find(o->leaf, &next->leaf->remotes[0]), others[i]);
    }
}

static void test_changes_say_whether_the_link_is_made_again(void)
{
    static const struct {
        const char *before, *after, *what;
        enum options_leaf_change change;
    } rows[] = {
        {"", "", "", OPTIONS_LEAF_SAME},
        {"", "disabled: true", "disabled", OPTIONS_LEAF_RECONNECTS},
        {"", "hub: true", "hub", OPTIONS_LEAF_RECONNECTS},
        {"deny_imports: a", "deny_imports: [a, b]", "deny_imports", OPTIONS_LEAF_RECONNECTS},
        {"deny_exports: a", "", "deny_exports", OPTIONS_LEAF_RECONNECTS},
        {"", "compression: off", "compression", OPTIONS_LEAF_RECONNECTS},
        {"compression: fast", "compression: best", "compression", OPTIONS_LEAF_APPLIES},
        {"compression: fast", "compression: accept", "compression", OPTIONS_LEAF_RECONNECTS},
        {"", "compression { mode: auto, rtts: [\"1ms\"] }", "compression", OPTIONS_LEAF_APPLIES},
        {"", "tls { timeout: 9 }", "tls", OPTIONS_LEAF_APPLIES},
        {"", "dial_timeout: \"9s\", first_info_timeout: \"8s\"", "first_info_timeout, dial_timeout",
         OPTIONS_LEAF_APPLIES},
        {"", "isolate: true, request_isolation: true",
         "isolate_leafnode_interest, request_isolation", OPTIONS_LEAF_RECONNECTS},
        {"", "no_randomize: true, ignore_discovered_servers: true",
         "no_randomize, ignore_discovered_servers", OPTIONS_LEAF_APPLIES},
    };
    char what[200];
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        enum options_leaf_change c = compare(rows[i].before, rows[i].after, what, sizeof what);
        TEST_ASSERT_EQUAL_STRING(rows[i].what, what);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].change, c, rows[i].after);
    }
    char tiny[8];
    TEST_ASSERT_EQUAL(
        OPTIONS_LEAF_RECONNECTS,
        compare("", "hub: true, deny_imports: a, deny_exports: b", tiny, sizeof tiny));
    TEST_ASSERT_EQUAL_STRING("hub, de", tiny);
}

static void test_changes_of_the_block(void)
{
    static const struct {
        const char *before, *after, *what;
        enum options_leaf_change change;
    } rows[] = {
        {"port: -1", "port: -1", "", OPTIONS_LEAF_SAME},
        {"port: -1", "port: -1, reconnect: \"3s\"", "reconnect", OPTIONS_LEAF_APPLIES},
        {"authorization { user: a, password: b }", "authorization { user: a, password: c }",
         "authorization", OPTIONS_LEAF_RECONNECTS},
        {"authorization { users: [{user: a}] }", "authorization { users: [{user: a}, {user: b}] }",
         "authorization", OPTIONS_LEAF_RECONNECTS},
        {"authorization { timeout: 3 }", "authorization { timeout: 4 }", "authorization timeout",
         OPTIONS_LEAF_APPLIES},
        {"", "min_version: \"2.9.0\"", "min_version", OPTIONS_LEAF_RECONNECTS},
        {"", "compression: off", "compression", OPTIONS_LEAF_RECONNECTS},
        {"advertise: a", "advertise: b, write_timeout: close", "advertise, write_timeout",
         OPTIONS_LEAF_APPLIES},
    };
    char text[300], what[200];
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        snprintf(text, sizeof text, "leafnodes { %s }", rows[i].before);
        load_into(&o, text);
        snprintf(text, sizeof text, "leafnodes { %s }", rows[i].after);
        load_into(&next, text);
        enum options_leaf_change c =
            options_leaf_compare_block(o->leaf, next->leaf, what, sizeof what);
        TEST_ASSERT_EQUAL_STRING(rows[i].what, what);
        TEST_ASSERT_EQUAL_MESSAGE(rows[i].change, c, rows[i].after);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_no_block_has_the_defaults);
    RUN_TEST(test_the_block_keeps_every_key);
    RUN_TEST(test_users_and_nkey_of_the_authorization_are_kept);
    RUN_TEST(test_advertise_has_an_optional_port_and_brackets);
    RUN_TEST(test_a_remote_keeps_every_key);
    RUN_TEST(test_a_remote_without_keys_has_the_defaults);
    RUN_TEST(test_credentials_below_the_home_directory_are_found);
    RUN_TEST(test_the_proxy_is_kept_in_parts);
    RUN_TEST(test_what_has_no_effect_is_said);
    RUN_TEST(test_user_info_is_kept_apart_from_what_is_shown);
    RUN_TEST(test_schemes_ports_paths_and_addresses);
    RUN_TEST(test_compression_words_and_thresholds);
    RUN_TEST(test_thresholds_that_no_level_fits_are_refused);
    RUN_TEST(test_modes_of_both_sides_agree_as_in_nats_server);
    RUN_TEST(test_the_level_follows_the_round_trip_time);
    RUN_TEST(test_a_changed_remote_is_told_apart_from_a_new_one);
    RUN_TEST(test_changes_say_whether_the_link_is_made_again);
    RUN_TEST(test_changes_of_the_block);
    return UNITY_END();
}
