/* test_options_errors.c: what is refused, and the words: file, line, column, what was expected.
 * Texts that nats-server prints too were compared with its own. */
#include "config/options.h"

#include "unity.h"

#include <stdio.h>

#define CALLOUT_ISSUER "ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA"

static struct mf_error e;

void setUp(void)
{
    e = (struct mf_error){0, ""};
}
void tearDown(void)
{
}

struct broken {
    const char *text, *want;
};

static void expect(const char *text, const char *want)
{
    struct options *o = NULL;
    e = (struct mf_error){0, ""};
    int rc = options_parse(&o, mf_str(text), "t.conf", &e);
    char both[1400];
    snprintf(both, sizeof both, "%s\n  gave: %s\n  want: %s", text, e.text, want);
    if (rc == 0)
        options_free(o);
    TEST_ASSERT_NOT_EQUAL_MESSAGE(0, rc, both);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, want), both);
    TEST_ASSERT_NULL_MESSAGE(strstr(e.text, "hunter2"), both); /* our password everywhere */
}

static void expect_all(const struct broken *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        expect(b[i].text, b[i].want);
}

/* --- keys and types --------------------------------------------------------------------------- */

static void test_unknown_keys_are_named_with_the_nearest_known_one(void)
{
    static const struct broken b[] = {
        {"foo: 1", "t.conf:1:1: unknown field \"foo\""},
        {"\n  prot: 1", "t.conf:2:3: unknown field \"prot\"; did you mean \"port\"?"},
        {"max-payload: 1", "unknown field \"max-payload\"; did you mean \"max_payload\"?"},
        {"jet_stream: true", "did you mean \"jetstream\"?"},
        {"jetstream { storedirr: x }", "did you mean \"storedir\"?"},
        {"authorization { usr: a }", "unknown field \"usr\"; did you mean \"user\"?"},
        {"authorization { max_payload: 1 }",
         "unknown field \"max_payload\"; it belongs at the top level"},
        {"tls { certfile: x }", "error parsing tls config, unknown field \"certfile\"; did you"},
        {"cluster { bogus: 1 }", "unknown field \"bogus\""},
        {"leafnodes { remotes: [{ bogus: 1 }] }", "t.conf:1:25: unknown field \"bogus\""},
        {"gateway { bogus: 1 }", "unknown field \"bogus\""},
        {"mqtt { bogus: 1 }", "unknown field \"bogus\""},
        {"websocket { bogus: 1 }", "unknown field \"bogus\""},
        {"accounts { A { bogus: 1 } }", "unknown field \"bogus\""},
        {"accounts { A { limits { bogus: 1 } } }",
         "Unknown field \"bogus\" parsing account limits"},
        {"accounts { A { jetstream { bogus: 1 } } }", "unknown field \"bogus\""},
        {"authorization { users: [{user: a, permissions: {bogus: 1}}] }",
         "Unknown field \"bogus\" parsing permissions"},
        {"authorization { users: [{user: a, permissions: {publish: {bogus: 1}}}] }",
         "only 'allow' or 'deny' are permitted"},
        {"jetstream { limits { bogus: 1 } }", "unknown field \"bogus\""},
        {"proxies { bogus: 1 }", "unknown field \"bogus\""},
    };
    expect_all(b, MF_COUNT(b));
}

static void test_wrong_types_say_what_is_expected(void)
{
    static const struct broken b[] = {
        {"port: \"4222\"", "t.conf:1:1: \"port\" expects an integer without quotes: write 4222"},
        {"max_payload: \"1MB\"", "\"max_payload\" expects an integer without quotes: write 1MB"},
        {"max_payload: 1X", "expects an integer such as 100, 10k or 1MB, got a string"},
        {"lame_duck_duration: 2m",
         "\"lame_duck_duration\" expects a duration: write \"2m\", with quotes"},
        {"port: 1.5", "\"port\" expects an integer, got a float"},
        {"host: 5", "\"host\" expects a string (put quotes around it), got an integer"},
        {"debug: \"yes\"", "\"debug\" expects true or false, got a string"},
        {"server_tags: [1]", "expected a string in the array, got an integer"},
        {"server_metadata: x", "Expected server_metadata to be a map"},
        {"authorization: x", "Expected authorization to be a map, got a string"},
        {"authorization { users: {} }", "Expected users field to be an array, got a map"},
        {"authorization { users: [x] }", "Expected user entry to be a map/struct, got a string"},
        {"authorization { token: 12345 }", "\"token\" expects a string (put quotes around it)"},
        {"tls: yes", "Expected tls to be a map"},
        {"tls { cert_file: 5 }", "expected 'cert_file' to be filename"},
        {"tls { verify: 1 }", "expected 'verify' to be a boolean"},
        {"cluster: 5", "Expected map to define cluster, got an integer"},
        {"gateway: x", "Expected gateway to be a map"},
        {"jetstream: 5", "Expected map, bool or string to define JetStream"},
        {"jetstream: maybe", "Expected 'enabled' or 'disabled' for string value, got 'maybe'"},
        {"jetstream { max_mem: \"10X\" }", "sizes defined as strings must end in K, M, G, T"},
        {"accounts: 5", "Expected accounts to be a map"},
        {"accounts { A: 5 }", "Expected map entries for accounts"},
        {"listen: true", "expected port or host:port, got a boolean"},
        {"ping_interval: true", "expects a duration such as"},
        {"log_format: xml", "\"log_format\" expects text or json"},
        {"feature_flags { x: 1 }", "\"x\" expects true or false"},
        {"operator: 5", "error parsing operators"},
    };
    expect_all(b, MF_COUNT(b));
}

/* Checks of the whole name the place of the part that is to blame. */
static void test_combinations_name_their_place(void)
{
    static const struct broken b[] = {
        {"debug: true\nno_auth_user: x", "t.conf:2:1: no_auth_user: \"x\" present"},
        {"\nwebsocket { port: -1 }", "t.conf:2:1: websocket requires TLS"},
        {"ws { port: -1\nno_tls: true\nNo_Auth_User: bob }", "t.conf:3:1: no_auth_user: \"bob\""},
        {"\nhttps_port: 8222", "t.conf:2:1: TLS cert and key required for HTTPS"},
        {"\n\nhttps: 8222", "t.conf:3:1: TLS cert and key required for HTTPS"},
        {"debug: true, system: X", "t.conf:1:14: error resolving system account"},
        {"jetstream {\ndomain: \"a.b\" }", "t.conf:2:1: invalid domain name"},
        {"jetstream {\nek: \"\" }", "t.conf:2:1: jetstream \"ek\" is empty: streams would"},
        {"jetstream { prev_key: abc }", "t.conf:1:1: jetstream \"prev_key\" is the key before"},
        {"jetstream { tpm { keys_file: k } }", "t.conf:1:1: jetstream encryption"},
        {"\nmax_payload: 65MB", "t.conf:2:1: max_payload (68157440)"},
        {"\nlame_duck_grace_period: \"3m\"", "t.conf:2:1: lame duck grace period"},
    };
    expect_all(b, MF_COUNT(b));
}

static void test_values_out_of_range_are_refused(void)
{
    static const struct broken b[] = {
        {"port: 65536", "port 65536 is out of range"},
        {"port: -2", "port -2 is out of range"},
        {"http: 70000", "port 70000 is out of range"},
        {"listen: foo", "could not parse address string \"foo\""},
        {"listen: \"::1:4222\"", "could not parse address string"},
        {"listen: \"a:b\"", "could not parse port \"b\""},
        {"server_name: \"a b\"", "server name cannot contain spaces"},
        {"max_payload: 3g", "max_payload value is too big"},
        {"max_payload: -2", "max_payload value is too small"},
        {"max_control_line: 4GB", "max_control_line value is too big"},
        {"max_sub_tokens: 256", "max_sub_tokens value is too big"},
        {"max_sub_tokens: 0", "max_sub_tokens value is too small"},
        {"max_payload: 65MB",
         "max_payload (68157440) cannot be higher than max_pending (67108864)"},
        {"ping_interval: xx", "error parsing ping_interval: time: invalid duration \"xx\""},
        {"ping_interval: \"-1s\"", "can not be negative"},
        {"lame_duck_duration: \"29s\"", "invalid lame_duck_duration of 29s, minimum is 30 seconds"},
        {"lame_duck_grace_period: \"-1s\"", "needs to be positive"},
        {"lame_duck_grace_period: \"3m\"",
         "should be strictly lower than lame duck duration (2m0s)"},
        {"jetstream { domain: \"a.b\" }", "invalid domain name: may not contain ., * or >"},
        {"jetstream { max_concurrent_io: 1 }", "between 4 and 8192"},
        {"jetstream { cipher: rot13 }", "Unknown cipher type: \"rot13\""},
        {"jetstream { tpm { keys_file: \"k\" } }", "streams would be on disk in the clear"},
        {"jetstream { scrub: \"-1s\" }", "at least 1s, or off"},
        {"jetstream { scrub: \"10ms\" }", "at least 1s, or off"},
        {"jetstream { scrub: often }", "scrub"},
        {"jetstream { sync_interval: \"-1s\" }", "can not be negative"},
        {"jetstream { compat: loose }", "\"compat\" expects strict"},
        {"jetstream { store_dir: a }\nstore_dir: b", "t.conf:2:1: Duplicate 'store_dir'"},
        {"https_port: 8443", "TLS cert and key required for HTTPS"},
        {"write_timeout: never", "write_timeout must be 'default', 'close' or 'retry'"},
    };
    expect_all(b, MF_COUNT(b));
}

/* --- who may connect -------------------------------------------------------------------------- */

static void test_users_that_do_not_fit_together_are_refused(void)
{
    static const struct broken b[] = {
        {"authorization { user: a, token: hunter2 }", "Cannot have a user/pass and token"},
        {"authorization { user: a, users: [] }",
         "Can not have a single user/pass and a users array"},
        {"authorization { token: hunter2, users: [] }", "Can not have a token and a users array"},
        {"authorization { users: [{user: a}, {user: a}] }", "t.conf:1:36: Duplicate user \"a\""},
        {"authorization { users: [{user: a}] }\naccounts { A { users: [{user: a}] } }",
         "t.conf:2:24: Duplicate user \"a\" detected"},
        {"authorization { user: a, pass: hunter2 }\naccounts { A { users: [{user: b}] } }",
         "Can not have a single user/pass and accounts"},
        {"authorization { token: hunter2 }\naccounts { A { users: [{user: b}] } }",
         "Can not have a token and accounts"},
        {"authorization { users: [{password: hunter2}] }", "User entry requires a user"},
        {"authorization { users: [{nkey: UABC}] }", "Not a valid public nkey for a user"},
        {"authorization { users: [{nkey: UADRIIJOHNEFKYTPPSEZNI5QXXFNPZHR7YFRQJJSH5GFSZTTQCGZUQLX, "
         "password: hunter2}] }",
         "Nkey users do not take usernames or passwords"},
        {"authorization { users: [{user: a, permissions: {publish: \"a..b\"}}] }",
         "subject \"a..b\" is not a valid subject"},
        {"authorization { users: [{user: a, permissions: {publish: \"a q\"}}] }",
         "is not a valid subject"},
        {"authorization { users: [{user: a, permissions: {subscribe: \"a q r\"}}] }",
         "is not a valid subject"},
        {"authorization { users: [{user: a, permissions: {subscribe: \"a b..c\"}}] }",
         "queue \"b..c\" is not a valid queue"},
        {"authorization { users: [{user: a, clients: [PIGEON]}] }",
         "unknown connection type \"PIGEON\""},
        {"authorization { users: [{user: a, permissions: {allow_responses: 5}}] }",
         "expected a boolean or a map"},
        {"no_auth_user: a", "no_auth_user: \"a\" present, but users/nkeys are not defined"},
        {"authorization { users: [{user: a}] }\nno_auth_user: b",
         "no_auth_user: \"b\" not present as user or nkey"},
        {"system_account: X", "error resolving system account: account missing: \"X\""},
        {"authorization { timeout: x }", "'timeout' time: invalid duration \"x\""},
        {"authorization { auth_callout { issuer: x, auth_users: [a] } }",
         "Expected callout user to be a valid public account nkey, got \"x\""},
        {"authorization { auth_callout { auth_users: [a] } }",
         "Authorization callouts require an issuer to be specified"},
        {"authorization { auth_callout { issuer: " CALLOUT_ISSUER " } }",
         "Authorization callouts require authorized users to be specified"},
        {"authorization { auth_callout { issuer: " CALLOUT_ISSUER ", users: [a], key: x } }",
         "Expected callout xkey to be a valid public xkey, got \"x\""},
        {"authorization { auth_callout { issuer: SAAX, users: [a] } }", "got \"a seed\""},
        {"authorization { auth_hook { issuer: " CALLOUT_ISSUER ", users: [a], "
         "allowed_accounts: [A, B] } }\naccounts { A {} }",
         "auth_callout allowed account \"B\" not found in configured accounts"},
        {"default_sentinel: abc", "default sentinel requires operators"},
        {"trusted_keys: abc", "required to be a valid public operator nkey"},
        {"operator: eyJhbGciOi", "error parsing operator JWT"},
        {"resolver: NOWHERE", "error parsing account resolver"},
        {"resolver { type: full }", "dir has no value"},
        {"resolver { type: cache, dir: x, allow_delete: true }",
         "CACHE does not accept allow_delete"},
        {"resolver_preload { A: x }", "invalid account JWT"},
    };
    expect_all(b, MF_COUNT(b));
}

static void test_accounts_that_do_not_fit_together_are_refused(void)
{
    static const struct broken b[] = {
        {"accounts [A, A]", "t.conf:1:14: Duplicate Account Entry: A"},
        {"accounts { \"$G\" {} }", "\"$G\" is a Reserved Account"},
        {"accounts { A { nkey: x } }", "Not a valid public nkey for an account"},
        {"accounts { A { imports: [{service: {account: B, subject: x}}] } }",
         "t.conf:1:26: \"B\" account not defined for service import"},
        {"accounts { A { imports: [{stream: {account: B, subject: x}}] }, B {} }",
         "Error adding stream import \"x\": stream import not authorized"},
        {"accounts { A { imports: [{service: {account: B, subject: x}}] }, B { exports: [{service: "
         "x, accounts: [C]}] }, C {} }",
         "Error adding service import \"x\": service import not authorized"},
        {"accounts { A { exports: [{stream: x, accounts: [Z]}] } }",
         "\"Z\" account not defined for stream export"},
        {"accounts { A { exports: [{stream: \"x.*\", account_token_position: 2}] }, B { imports: "
         "[{stream: {account: A, subject: \"x.C\"}}] } }",
         "stream import not authorized"},
        {"accounts { A { exports: [{stream: \"x.y\", account_token_position: 2}] } }",
         "does not point at a '*'"},
        {"accounts { A { exports: [{stream: x}], imports: [{stream: {account: B, subject: x}}] }, "
         "B { exports: [{stream: x}], imports: [{stream: {account: A, subject: x}}] } }",
         "import forms a cycle"},
        {"accounts { A { exports: [{service: x}], imports: [{service: {account: B, subject: x}}] "
         "}, B { exports: [{service: x}], imports: [{service: {account: A, subject: x}}] } }",
         "import forms a cycle"},
        {"accounts { A { exports: [{stream: x}] }, B { imports: [{stream: {account: A, subject: "
         "x}}, {stream: {account: A, subject: x}}] } }",
         "stream import already exists"},
        {"accounts { A { exports: [{service: x}, {service: y}] }, B { imports: [{service: "
         "{account: A, subject: x}, to: l}, {service: {account: A, subject: y}, to: l}] } }",
         "Duplicate service import subject \"l\", previously used in import for account \"A\""},
        {"accounts { A { exports: [{stream: \"x.*\"}] }, B { imports: [{stream: {account: A, "
         "subject: \"x.*\"}, prefix: \"p.*\"}] } }",
         "prefix can not contain wildcard tokens"},
        {"accounts { A { exports: [{stream: \"x.*\"}] }, B { imports: [{stream: {account: A, "
         "subject: \"x.*\"}, to: y}] } }",
         "not using all of the token wildcard(s)"},
        {"accounts { A { exports: [{stream: x, response: stream}] } }",
         "Detected response directive on non-service"},
        {"accounts { A { exports: [{stream: x, service: y}] } }",
         "Detected service \"y\" but already saw a stream"},
        {"accounts { A { exports: [{service: x, response: twice}] } }",
         "Unknown response type: \"twice\""},
        {"accounts { A { exports: [{service: x, latency: {sampling: 200, subject: l}}] } }",
         "bad sampling percentage, should be 1-100"},
        {"accounts { A { exports: [{}] } }", "Export needs a stream or a service"},
        {"accounts { A { imports: [{stream: {account: A}}] } }",
         "Expect an account name and a subject"},
    };
    expect_all(b, MF_COUNT(b));
}

static void test_mappings_and_domains_that_lead_nowhere_are_refused(void)
{
    static const struct broken b[] = {
        {"mappings { \"a..b\": c }", "Subject \"a..b\" is not a valid subject"},
        {"mappings { a: { destination: b } }", "Missing weight for mapping destination \"b\""},
        {"mappings { a: [{destination: b, weight: 60}, {destination: c, weight: 60}] }",
         "total weight needs to be <= 100"},
        {"mappings { a: { destination: b, weight: 101 } }", "Invalid weight"},
        {"mappings { \"a.*\": \"b.$2\" }", "wildcard index out of range"},
        {"mappings { \"a.*\": \"b.$2\" }", "out of range in $2: [2]"},
        {"mappings { \"a.*\": \"b.{{WILDCARD(1)}}\" }", "t.conf:1:"}, /* with its place */
        {"mappings { \"a.*\": \"b.{{nope(1)}}\" }", "unknown function"},
        {"mappings { \"a.*\": \"b.{{partition()}}\" }", "invalid or in the wrong format"},
        {"mappings { \"a.*\": \"b.{{split(1)}}\" }", "not enough arguments"},
        {"mappings { \"a.*\": \"b.*\" }", "can not stand in a destination"},
        {"mappings { \"a.>\": b }", "'>' must end both"},
        {"default_js_domain { A: hub }", "references non existing account \"A\""},
        {"no_system_account: true\naccounts { A { exports: [{service: x, latency: l}] } }",
         "system account not setup"},
    };
    expect_all(b, MF_COUNT(b));
}

/* nats-server accepts these odd destinations, and so does the transform that runs later. */
static void test_mappings_that_nats_server_accepts_are_accepted(void)
{
    static const char *const fine[] = {
        "mappings { \"a.*\": \"b.$0\" }",
        "mappings { \"a.*\": \"b.{{wildcard(0)}}\" }",
        "mappings { \"a.*\": \"b.{{splitFromRight(1,-1)}}\" }",
        "mappings { \"a.*\": \"b.{{partition(-3,1)}}\" }",
        ("accounts { A { exports: [{stream: \"x.>\"}] }, "
         "B { imports: [{stream: {account: A, subject: \"x.*\"}, to: \"y.$1.*\"}] } }"),
    };

    for (size_t i = 0; i < MF_COUNT(fine); i++) {
        struct options *o = NULL;
        int rc = options_parse(&o, mf_str(fine[i]), "t.conf", &e);
        TEST_ASSERT_EQUAL_MESSAGE(0, rc, rc == 0 ? "" : e.text);
        options_free(o);
    }
}

/* --- TLS, listeners --------------------------------------------------------------------------- */

#define CERT "cert_file: \"/dev/null\", key_file: \"/dev/null\""

static void test_tls_and_listeners_that_can_not_work_are_refused(void)
{
    static const struct broken b[] = {
        {"tls { cert_file: \"/dev/null\" }", "missing 'key_file' in TLS configuration"},
        {"tls { key_file: \"/dev/null\" }", "missing 'cert_file' in TLS configuration"},
        {"tls { cert_file: \"/nope/c\", key_file: \"/dev/null\" }",
         "t.conf:1:1: error parsing X509 certificate/key pair: open /nope/c: No such file"},
        {"tls { " CERT ", ca_file: \"/nope/ca\" }", "open /nope/ca: No such file"},
        {"tls { " CERT ", certs: [{" CERT "}] }", "cannot combine 'cert_file' option with 'certs'"},
        {"tls { certs: [{cert_file: \"/dev/null\"}] }", "both 'cert_file' and 'key_file'"},
        {"tls { " CERT ", cipher_suites: [] }", "'cipher_suites' cannot be empty"},
        {"tls { " CERT ", cipher_suites: [ROT13] }", "unrecognized cipher ROT13"},
        {"tls { " CERT ", cipher_suites: [TLS_RSA_WITH_RC4_128_SHA] }",
         "insecure cipher suites configured without 'allow_insecure_cipher_suites' option set"},
        {"tls { " CERT ", curve_preferences: [Curve1] }", "unrecognized curve preference Curve1"},
        {"tls { " CERT ", min_version: \"1.1\" }", "unsupported TLS version: TLS 1.1"},
        {"tls { " CERT ", min_version: \"9\" }", "unknown version: 9"},
        {"tls { " CERT ", min_version: 1.2 }", "'min_version' wrong type"},
        {"tls { " CERT ", pinned_certs: [abc] }", "does not look like hex-encoded sha256"},
        {"tls { " CERT ", handshake_first: perhaps }", "value \"perhaps\" is invalid"},
        {"tls { " CERT ", timeout: [] }", "'timeout' wrong type"},
        {"tls { " CERT ", verify_cert_and_check_known_urls: true }",
         "not supported in this context"},
        {"websocket { port: 80 }", "websocket requires TLS configuration"},
        {"websocket { port: 80, no_tls: true, allowed_origins: x }", "must be absolute URLs"},
        {"websocket { port: 80, no_tls: true, jwt_cookie: x }",
         "trusted operators or trusted keys"},
        {"websocket { port: 80, no_tls: true, headers { Host: x } }",
         "invalid header \"Host\" not allowed"},
        {"websocket { port: 80, no_tls: true, headers { Sec-WebSocket-Key: x } }",
         "prefix not allowed"},
        {"websocket { port: 80, no_tls: true, authorization { token: hunter2 } }\nauthorization { "
         "users: [{user: a}] }",
         "websocket authentication token not compatible"},
        {"cluster { name: \"a b\" }", "cluster name cannot contain spaces"},
        {"cluster { routes: [\"nats://u:hunter2@h:x\"] }", "error parsing route url"},
        {"cluster { routes: [\":hunter2\"] }", "error parsing route url"},
        {"cluster { authorization { users: [] } }", "does not allow multiple users"},
        {"cluster { authorization { token: hunter2 } }", "does not support tokens"},
        {"cluster { compression: lzma }", "unsupported compression mode \"lzma\""},
        {"gateway { port: 7222 }", "gateway has no name"},
        {"gateway { name: g }", "has no port specified"},
        {"gateway { name: g, port: 1, gateways: [{name: h}] }", "gateway \"h\" has no URL"},
        {"gateway { name: g, port: 1 }\ncluster { name: c }", "cluster name conflicts"},
        {"mqtt { port: 1883 }", "mqtt requires JetStream"},
        {"leafnodes { remotes: [{url: \"nats://h\", account: X}] }",
         "cannot find local account \"X\" specified in leafnode"},
        {"leafnodes { remotes: [{url: \"nats://h\"}, {url: \"nats://h\"}] }", "duplicate remote"},
        {"leafnodes { remotes: [{urls: [\"nats://h\", \"ws://h\"]}] }",
         "mix of websocket and non-websocket"},
        {"leafnodes { remotes: [{url: \"nats://h\", nkey: hunter2}] }", "not a valid seed"},
        {"leafnodes { min_version: \"2.7.0\" }", "at least 2.8.0"},
        {"leafnodes { authorization { user: a, users: [{user: b}] } }",
         "can not have a single user/pass and a users array"},
        {"cluster { port: 1, name: c }\njetstream: true", "requires `server_name` to be set"},
        {"proxies { trusted: [{key: x}] }", "invalid proxy key"},
    };
    expect_all(b, MF_COUNT(b));
}

/* --- many ------------------------------------------------------------------------------------- */

static void test_all_errors_are_told_at_once_as_far_as_they_fit(void)
{
    expect("foo: 1\nport: x\nbar: 2", "t.conf:1:1: unknown field \"foo\"\nt.conf:2:1: \"port\"");
    TEST_ASSERT_NOT_NULL(strstr(e.text, "t.conf:3:1: unknown field \"bar\""));
    char many[4096];
    size_t n = 0;
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "unknown_%d: 1\n", i);
    expect(many, "t.conf:1:1: unknown field \"unknown_0\"");
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, "more errors"), e.text);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_unknown_keys_are_named_with_the_nearest_known_one);
    RUN_TEST(test_wrong_types_say_what_is_expected);
    RUN_TEST(test_combinations_name_their_place);
    RUN_TEST(test_values_out_of_range_are_refused);
    RUN_TEST(test_users_that_do_not_fit_together_are_refused);
    RUN_TEST(test_accounts_that_do_not_fit_together_are_refused);
    RUN_TEST(test_mappings_and_domains_that_lead_nowhere_are_refused);
    RUN_TEST(test_mappings_that_nats_server_accepts_are_accepted);
    RUN_TEST(test_tls_and_listeners_that_can_not_work_are_refused);
    RUN_TEST(test_all_errors_are_told_at_once_as_far_as_they_fit);
    return UNITY_END();
}
