/* test_options.c: configuration texts into values: each option, its aliases, units and defaults. */
#include "config/options.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static struct options *o;
static struct mf_error e;

void setUp(void)
{
    o = NULL;
    e = (struct mf_error){0, ""};
}
void tearDown(void)
{
    options_free(o);
    o = NULL;
}

static void load(const char *text)
{
    char what[1200];
    options_free(o);
    o = NULL;
    int rc = options_parse(&o, mf_str(text), "t.conf", &e);
    snprintf(what, sizeof what, "%s\n  gave: %s", text, e.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, rc, what);
}

/* The text loads, and then this is true. */
#define HOLDS(text, condition)                                                                     \
    do {                                                                                           \
        load(text);                                                                                \
        TEST_ASSERT_TRUE_MESSAGE(condition, text "   =>   " #condition);                           \
    } while (0)

static bool is(const char *a, const char *b)
{
    return a != NULL && strcmp(a, b) == 0;
}

static bool warned(const char *text)
{
    for (size_t i = 0; i < o->warnings.n; i++)
        if (strstr(o->warnings.items[i], text) != NULL)
            return true;
    return false;
}

#define NKEY_USER "UADRIIJOHNEFKYTPPSEZNI5QXXFNPZHR7YFRQJJSH5GFSZTTQCGZUQLX"

/* --- server ----------------------------------------------------------------------------------- */

static void test_nothing_configured_gives_the_defaults(void)
{
    load("# nothing\n");
    TEST_ASSERT_TRUE(warned("config has no values or is empty"));
    load("debug: false");
    TEST_ASSERT_EQUAL_STRING("0.0.0.0", o->host);
    TEST_ASSERT_EQUAL_STRING("0.0.0.0", o->http_host);
    TEST_ASSERT_EQUAL_STRING("", o->http_base_path);
    TEST_ASSERT_EQUAL_STRING("$SYS", o->system_account);
    TEST_ASSERT_EQUAL(4222, o->port);
    TEST_ASSERT_EQUAL(0, o->http_port);
    TEST_ASSERT_NULL(o->server_name);
    TEST_ASSERT_TRUE(o->logtime);
    TEST_ASSERT_EQUAL_INT64(1048576, o->max_payload);
    TEST_ASSERT_EQUAL_INT64(4096, o->max_control_line);
    TEST_ASSERT_EQUAL_INT64(67108864, o->max_pending);
    TEST_ASSERT_EQUAL_INT64(65536, o->max_connections);
    TEST_ASSERT_EQUAL_INT64(10000, o->max_closed_clients);
    TEST_ASSERT_EQUAL_INT64(120 * CLOCK_S, o->ping_interval_ns);
    TEST_ASSERT_EQUAL_INT64(2, o->ping_max);
    TEST_ASSERT_EQUAL_INT64(10 * CLOCK_S, o->write_deadline_ns);
    TEST_ASSERT_EQUAL_INT64(120 * CLOCK_S, o->lame_duck_duration_ns);
    TEST_ASSERT_EQUAL_INT64(10 * CLOCK_S, o->lame_duck_grace_ns);
    TEST_ASSERT_EQUAL_INT64(2 * CLOCK_S, o->auth.timeout_ns);
    TEST_ASSERT_FALSE(o->jetstream.enabled);
    TEST_ASSERT_TRUE(o->jetstream.sync_always); /* durable unless told otherwise */
    TEST_ASSERT_TRUE(o->jetstream.strict);
    TEST_ASSERT_EQUAL_INT64(-1, o->jetstream.max_memory);
    TEST_ASSERT_EQUAL(0, o->warnings.n);
}

static void test_addresses_are_read_in_every_form(void)
{
    HOLDS("port: 5", o->port == 5);
    HOLDS("port: -1", o->port == -1);
    HOLDS("port: 0", o->port == 4222);
    HOLDS("listen: 5", o->port == 5 && is(o->host, "0.0.0.0"));
    HOLDS("listen: 127.0.0.1:-1", o->port == -1 && is(o->host, "127.0.0.1"));
    HOLDS("listen: \"localhost:4443\"", o->port == 4443 && is(o->host, "localhost"));
    HOLDS("listen: \"[::1]:4443\"", o->port == 4443 && is(o->host, "::1"));
    HOLDS("listen: \":4443\"", o->port == 4443 && is(o->host, "0.0.0.0"));
    HOLDS("net: h", is(o->host, "h") && is(o->http_host, "h"));
    HOLDS("host: h", is(o->host, "h"));
    HOLDS("http: 8222", o->http_port == 8222);
    HOLDS("http: \"127.0.0.1:-1\"", o->http_port == -1 && is(o->http_host, "127.0.0.1"));
    HOLDS("monitor_port: 8222", o->http_port == 8222);
    HOLDS("http_port: 8222, http_base_path: mon/", is(o->http_base_path, "/mon"));
    HOLDS("http_base_path: \"/\"", is(o->http_base_path, ""));
    HOLDS("client_advertise: \"a:1\"", is(o->client_advertise, "a:1"));
    HOLDS("server_name: s1", is(o->server_name, "s1"));
    HOLDS("server_tags: [a, \"b:c\"]", o->server_tags.n == 2 && is(o->server_tags.items[1], "b:c"));
    HOLDS("server_tags: x", o->server_tags.n == 1);
    HOLDS("server_tags: [\" Az:B \", \"az:b\", \"\"]",
          o->server_tags.n == 1 && is(o->server_tags.items[0], "az:b"));
    HOLDS("server_metadata { k: v }",
          o->server_metadata.n == 1 && is(o->server_metadata.items[0].value, "v"));
    HOLDS("pidfile: a", is(o->pid_file, "a"));
    HOLDS("pid_file: a, ports_file_dir: d", is(o->ports_file_dir, "d"));
}

static void test_log_options_are_read(void)
{
    HOLDS("debug: true", o->debug && !o->trace);
    HOLDS("trace: on", o->trace && !o->trace_verbose);
    HOLDS("trace_verbose: yes", o->trace && o->trace_verbose);
    HOLDS("trace_headers: yes", o->trace);
    HOLDS("logtime: false", !o->logtime);
    HOLDS("logtime_utc: true", o->logtime_utc);
    HOLDS("logfile: a, log_size_limit: 1MB", is(o->log_file, "a") && o->log_size_limit == 1048576);
    HOLDS("log_file: a, logfile_max_num: 3", o->log_max_num == 3);
    HOLDS("logfile_max_num: -1", o->log_max_num == 0);
    HOLDS("log_format: json", o->log_json);
    HOLDS("log_format: text", !o->log_json);
    HOLDS("syslog: true, remote_syslog: \"udp://h:514\"",
          o->syslog && is(o->remote_syslog, "udp://h:514"));
    HOLDS("max_traced_msg_len: 10", o->max_traced_msg_len == 10);
}

static void test_limits_and_timers_are_read(void)
{
    HOLDS("max_payload: 10k", o->max_payload == 10000);
    HOLDS("max_payload: -1", o->max_payload == 67108864); /* no limit but max_pending */
    HOLDS("max_payload: 0", o->max_payload == 1048576);
    HOLDS("max_payload: 10MB", warned("discouraged"));
    HOLDS("max_control_line: 1k", o->max_control_line == 1000);
    HOLDS("max_pending: 2GB", o->max_pending == 2147483648);
    HOLDS("max_connections: 5", o->max_connections == 5);
    HOLDS("max_conn: 0", o->max_connections == -1);
    HOLDS("max_subs: 5", o->max_subscriptions == 5);
    HOLDS("max_subscriptions: -1", o->max_subscriptions == 0);
    HOLDS("max_sub_tokens: 16", o->max_sub_tokens == 16);
    HOLDS("max_closed_clients: 7", o->max_closed_clients == 7);
    HOLDS("ping_interval: \"2m\"", o->ping_interval_ns == 120 * CLOCK_S);
    HOLDS("ping_interval: 10s", o->ping_interval_ns == 10 * CLOCK_S);
    HOLDS("ping_max: 5, write_deadline: \"1.5s\"", o->write_deadline_ns == 1500 * CLOCK_MS);
    HOLDS("lame_duck_duration: \"4m\"", o->lame_duck_duration_ns == 240 * CLOCK_S);
    HOLDS("lame_duck_grace_period: 5s", o->lame_duck_grace_ns == 5 * CLOCK_S);
    HOLDS("no_header_support: true", o->no_header_support);
    HOLDS("no_sublist_cache: true", o->disable_sublist_cache);
    HOLDS("no_fast_producer_stall: true", o->no_fast_producer_stall);
    HOLDS("debug: true", o->busy_poll_ns == 150 * CLOCK_US);
    HOLDS("busy_poll: \"50us\"", o->busy_poll_ns == 50 * CLOCK_US);
    HOLDS("busy_poll: \"0s\"", o->busy_poll_ns == 0);
}

/* 2m without quotes is two million; nats-server takes that many seconds, and so do we, aloud. */
static void test_a_bare_number_for_a_duration_is_seconds_with_a_warning(void)
{
    HOLDS("ping_interval: 2m", o->ping_interval_ns == 2000000 * CLOCK_S);
    TEST_ASSERT_TRUE(warned("ping_interval should be converted to a duration"));
    TEST_ASSERT_TRUE(warned("write \"2m\""));
    HOLDS("write_deadline: 5", o->write_deadline_ns == 5 * CLOCK_S);
}

/* --- authorization ---------------------------------------------------------------------------- */

static void test_authorization_forms_are_read(void)
{
    HOLDS("authorization { token: t }", o->auth.set && is(o->auth.token, "t"));
    HOLDS("authorization { user: u, pass: p, timeout: 0.5 }",
          is(o->auth.user, "u") && is(o->auth.password, "p") &&
              o->auth.timeout_ns == 500 * CLOCK_MS);
    HOLDS("authorization { username: u, password: \"1\", timeout: \"3s\" }",
          o->auth.timeout_ns == 3 * CLOCK_S);
    HOLDS("authorization { users: [ {user: a, password: $2a$11$x}, {nkey: " NKEY_USER "} ] }",
          o->auth.nusers == 2 && is(o->auth.users[0].password, "$2a$11$x") &&
              is(o->auth.users[1].nkey, NKEY_USER) && o->auth.users[1].user == NULL);
    HOLDS("authorization { users: [] }", o->auth.users_set && o->auth.nusers == 0);
    HOLDS("authorization { users: [{user: a, clients: [standard, WEBSOCKET]}] }",
          is(o->auth.users[0].connection_types.items[0], "STANDARD"));
    HOLDS("authorization { users = [{user: a}] }\nno_auth_user: a", is(o->no_auth_user, "a"));
    load("authorization { users [\n\n  {user: a}\n] }");
    TEST_ASSERT_EQUAL(3, o->auth.users[0].line);
    TEST_ASSERT_EQUAL_STRING("t.conf", o->auth.users[0].file);
}

static void test_permissions_tell_an_empty_list_from_an_absent_one(void)
{
    const struct options_permissions *p;
    load("authorization { users: [{user: a, permissions: { publish: x, subscribe: {deny: [y, \"z "
         "q\"]} } }] }");
    p = o->auth.users[0].permissions;
    TEST_ASSERT_TRUE(p->publish.allow_set);
    TEST_ASSERT_EQUAL_STRING("x", p->publish.allow.items[0]);
    TEST_ASSERT_FALSE(p->subscribe.allow_set);
    TEST_ASSERT_EQUAL_STRING("z q", p->subscribe.deny.items[1]);
    TEST_ASSERT_FALSE(p->responses_set);
    load("authorization { users: [{user: a, permissions: { pub: [], allow_responses: true }}] }");
    p = o->auth.users[0].permissions;
    TEST_ASSERT_TRUE(p->publish.allow_set);
    TEST_ASSERT_EQUAL(0, p->publish.allow.n);
    TEST_ASSERT_EQUAL_INT64(1, p->responses_max);
    TEST_ASSERT_EQUAL_INT64(120 * CLOCK_S, p->responses_expires_ns);
    load("authorization { users: [{user: a, permissions: { allow_responses: {max: -1, expires: "
         "\"1m\"} }}] }");
    p = o->auth.users[0].permissions;
    TEST_ASSERT_TRUE(p->publish.allow_set); /* nothing but responses */
    TEST_ASSERT_EQUAL_INT64(-1, p->responses_max);
    TEST_ASSERT_EQUAL_INT64(60 * CLOCK_S, p->responses_expires_ns);
}

static void test_default_permissions_reach_users_without_their_own(void)
{
    load("authorization { default_permissions { publish: d }\n users: [{user: a}, {user: b, "
         "permissions {publish: own}}] }\n"
         "accounts { A { users: [{user: c}], default_permissions: {subscribe: s} } }");
    TEST_ASSERT_EQUAL_PTR(o->auth.default_permissions, o->auth.users[0].permissions);
    TEST_ASSERT_EQUAL_STRING("own", o->auth.users[1].permissions->publish.allow.items[0]);
    TEST_ASSERT_EQUAL_STRING("s", o->accounts[0].users[0].permissions->subscribe.allow.items[0]);
}

/* --- accounts --------------------------------------------------------------------------------- */

static void test_accounts_are_read(void)
{
    load("accounts {\n"
         "  A { users: [{user: a, password: b}], jetstream: enabled,\n"
         "      limits { max_conn: 5, max_subs: 6, max_pay: 7, max_leafs: 8 }\n"
         "      mappings { foo: bar, \"x.*\": [{dest: \"y.$1\", weight: 40%}, {destination: "
         "\"z.{{wildcard(1)}}\", weight: 60}] } }\n"
         "  B { jetstream { max_mem: 1GB, max_file: 2GB, max_streams: 3, max_consumers: 4, "
         "max_bytes_required: true, max_ack_pending: 5 } }\n"
         "  SYS {}\n}\nsystem_account: SYS\nmappings { m: n }\n");
    TEST_ASSERT_EQUAL(3, o->naccounts);
    const struct options_account *a = &o->accounts[0], *b = &o->accounts[1];
    TEST_ASSERT_EQUAL_STRING("A", a->name);
    TEST_ASSERT_EQUAL_STRING("A", a->users[0].account);
    TEST_ASSERT_TRUE(a->js.enabled && a->js.max_store == -1);
    TEST_ASSERT_TRUE(a->max_connections == 5 && a->max_subscriptions == 6 && a->max_payload == 7 &&
                     a->max_leafnodes == 8);
    TEST_ASSERT_EQUAL(2, a->nmappings);
    TEST_ASSERT_TRUE(a->mappings[0].dests[0].weight == 100);
    TEST_ASSERT_TRUE(a->mappings[1].dests[0].weight == 40);
    TEST_ASSERT_EQUAL_STRING("y.$1", a->mappings[1].dests[0].subject);
    TEST_ASSERT_EQUAL_INT64(2147483648, b->js.max_store);
    TEST_ASSERT_TRUE(b->js.max_bytes_required && b->js.max_ack_pending == 5);
    TEST_ASSERT_EQUAL_INT64(-1, b->max_connections);
    TEST_ASSERT_EQUAL_STRING("SYS", o->system_account);
    TEST_ASSERT_EQUAL_STRING("n", o->mappings[0].dests[0].subject);
    HOLDS("accounts: [A, B]", o->naccounts == 2 && is(o->accounts[1].name, "B"));
    HOLDS("accounts { a {}, A {} }", o->naccounts == 2); /* names have a case */
    HOLDS("accounts { x: 5, A { limits { max_conn: $x } } }", o->naccounts == 1);
}

static void test_exports_and_imports_are_read(void)
{
    load("accounts {\n"
         "  A { exports: [ {stream: \"s.>\"}, {stream: p, accounts: [B]},\n"
         "        {service: q, response: stream, threshold: \"2s\", latency: {sampling: 50%, "
         "subject: lat}, allow_trace: true},\n"
         "        {service: \"acc.*\", account_token_position: 2} ] }\n"
         "  B { imports: [ {stream: {account: A, subject: \"s.x\"}, prefix: pre}, {stream: "
         "{account: A, subject: p}, to: mine},\n"
         "        {service: {account: A, subject: q}, to: r, share: true}, {service: {account: A, "
         "subject: \"acc.B\"}} ] }\n}\n");
    const struct options_export *x = o->accounts[0].exports;
    TEST_ASSERT_EQUAL(4, o->accounts[0].nexports);
    TEST_ASSERT_FALSE(x[0].service || x[0].restricted);
    TEST_ASSERT_TRUE(x[1].restricted && x[1].accounts.n == 1);
    TEST_ASSERT_TRUE(x[2].service && x[2].response == OPTIONS_RESPONSE_STREAM && x[2].allow_trace);
    TEST_ASSERT_EQUAL_INT64(2 * CLOCK_S, x[2].threshold_ns);
    TEST_ASSERT_EQUAL(50, x[2].latency_percent);
    TEST_ASSERT_EQUAL_STRING("lat", x[2].latency_subject);
    TEST_ASSERT_EQUAL(2, x[3].account_token_position);
    const struct options_import *m = o->accounts[1].imports;
    TEST_ASSERT_EQUAL(4, o->accounts[1].nimports);
    TEST_ASSERT_EQUAL_STRING("pre", m[0].prefix);
    TEST_ASSERT_EQUAL_STRING("mine", m[1].to);
    TEST_ASSERT_TRUE(m[2].service && m[2].share);
    TEST_ASSERT_EQUAL_STRING("r", m[2].to);
    TEST_ASSERT_NULL(m[3].to);
    TEST_ASSERT_EQUAL(5, m[0].line);
}

/* --- TLS -------------------------------------------------------------------------------------- */

#define CERT "cert_file: \"/dev/null\", key_file: \"/dev/null\""

static void test_tls_blocks_are_read_with_openssl_names(void)
{
    HOLDS("tls { " CERT " }", o->tls.set && o->tls.ncerts == 1 &&
                                  o->tls.timeout_ns == 2 * CLOCK_S && !o->tls.verify &&
                                  o->auth.timeout_ns == 3 * CLOCK_S);
    HOLDS("tls { " CERT ", timeout: 0.5, verify: true, ca_file: \"/dev/null\" }",
          o->tls.verify && o->tls.timeout_ns == 500 * CLOCK_MS && is(o->tls.ca_file, "/dev/null"));
    HOLDS("tls { " CERT ", timeout: \"4s\", verify_and_map: true }",
          o->tls.verify && o->tls.verify_and_map && o->tls.timeout_ns == 4 * CLOCK_S);
    HOLDS("tls { certs: [{" CERT "}, {" CERT "}] }", o->tls.ncerts == 2);
    HOLDS("tls { " CERT ", cipher_suites: [TLS_AES_128_GCM_SHA256, "
          "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256] }",
          is(o->tls.suites, "TLS_AES_128_GCM_SHA256") &&
              is(o->tls.ciphers, "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305"));
    HOLDS("tls { " CERT ", curve_preferences: [X25519MLKEM768, X25519, CurveP384] }",
          is(o->tls.curves, "X25519:P-384") && warned("X25519MLKEM768"));
    HOLDS("tls { " CERT ", min_version: \"1.3\" }", o->tls.min_version == 0x0304);
    HOLDS("tls { " CERT ", handshake_first: true }",
          o->tls.handshake_first && o->tls.handshake_first_fallback_ns == 0);
    HOLDS("tls { " CERT ", first: auto }",
          o->tls.handshake_first && o->tls.handshake_first_fallback_ns == 50 * CLOCK_MS);
    HOLDS("tls { " CERT ", immediate: \"300ms\" }",
          o->tls.handshake_first_fallback_ns == 300 * CLOCK_MS);
    HOLDS("tls { " CERT ", handshake_first: \"off\" }", !o->tls.handshake_first);
    HOLDS("tls { " CERT ", connection_rate_limit: 7 }", o->tls.rate_limit == 7);
    HOLDS("tls { " CERT ", pinned_certs: "
          "[A94A8FE5CCB19BA61C4C0873D391E987982FBBD3A94A8FE5CCB19BA61C4C0873] }",
          is(o->tls.pinned.items[0],
             "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3a94a8fe5ccb19ba61c4c0873"));
    HOLDS("tls { " CERT " }\nallow_non_tls: true", o->allow_non_tls);
}

static void test_websocket_blocks_are_read(void)
{
    HOLDS("websocket { no_tls: true }", !o->websocket.set); /* no port: off */
    HOLDS("websocket { port: -1, no_tls: true }",
          o->websocket.set && o->websocket.port == -1 &&
              o->websocket.handshake_timeout_ns == 2 * CLOCK_S);
    HOLDS("ws { listen: \"127.0.0.1:8080\", tls { " CERT " } }",
          is(o->websocket.host, "127.0.0.1") && o->websocket.tls.set);
    load("websocket { port: 1, no_tls: true, same_origin: true, allowed_origins: "
         "[\"http://a.b\", \"https://c:1\"], compression: true, handshake_timeout: \"3s\", "
         "no_auth_user: u, token_cookie: t, headers { X: y }, authorization { } }\n"
         "authorization { users: [{user: u}] }");
    TEST_ASSERT_TRUE(o->websocket.same_origin && o->websocket.compression);
    TEST_ASSERT_EQUAL(2, o->websocket.allowed_origins.n);
    TEST_ASSERT_EQUAL_INT64(3 * CLOCK_S, o->websocket.handshake_timeout_ns);
    TEST_ASSERT_EQUAL_STRING("y", o->websocket.headers.items[0].value);
}

/* --- JetStream ------------------------------------------------------------------------------- */

static void test_jetstream_forms_are_read(void)
{
    HOLDS("jetstream: true", o->jetstream.enabled);
    HOLDS("jetstream: enabled", o->jetstream.enabled);
    HOLDS("jetstream: disabled", !o->jetstream.enabled);
    HOLDS("jetstream {}", o->jetstream.enabled);
    HOLDS("jetstream { enabled: false }", !o->jetstream.enabled);
    HOLDS("jetstream { store_dir: d, domain: hub }",
          is(o->jetstream.store_dir, "d") && is(o->jetstream.domain, "hub"));
    HOLDS("store_dir: d\njetstream: true", is(o->jetstream.store_dir, "d"));
    HOLDS("jetstream { max_mem: 10M, max_file: \"10M\" }", /* the famous trap */
          o->jetstream.max_memory == 10000000 && o->jetstream.max_store == 10485760);
    HOLDS("jetstream: enabled", o->jetstream.scrub_ns == 168 * 3600 * CLOCK_S);
    HOLDS("jetstream { scrub: \"24h\" }", o->jetstream.scrub_ns == 24 * 3600 * CLOCK_S);
    HOLDS("jetstream { scrub: off }", o->jetstream.scrub_ns == 0);
    HOLDS("jetstream { scrub: false }", o->jetstream.scrub_ns == 0);
    HOLDS("jetstream { scrub: 0 }", o->jetstream.scrub_ns == 0);
    HOLDS("jetstream { sync_interval: always }", o->jetstream.sync_always);
    HOLDS("jetstream { sync: \"2m\" }",
          !o->jetstream.sync_always && o->jetstream.sync_interval_ns == 120 * CLOCK_S);
    HOLDS("jetstream { strict: false, compat: strict }",
          !o->jetstream.strict && o->jetstream.compat_strict);
    HOLDS("jetstream { limits { max_ack_pending: 5, duplicate_window: \"1m\", batch { max_msgs: 6, "
          "timeout: 2s } } }",
          o->jetstream.max_ack_pending == 5 && o->jetstream.duplicate_window_ns == 60 * CLOCK_S &&
              o->jetstream.batch_max_msgs == 6 && o->jetstream.batch_timeout_ns == 2 * CLOCK_S);
    HOLDS("default_js_domain { $G: hub }", is(o->default_js_domain, "hub"));
    HOLDS("jetstream { enabled: false, key: secret, cipher: AES }", is(o->jetstream.cipher, "aes"));
}

/* --- later features --------------------------------------------------------------------------- */

static void test_blocks_of_later_features_are_checked_and_keep_their_ports(void)
{
    load("cluster { name: c, listen: \"127.0.0.1:-1\", routes: [\"nats://u:hunter2@h:1\"], "
         "pool_size: 3, compression: s2_fast, authorization { user: a, password: b } }");
    TEST_ASSERT_TRUE(o->cluster.set && o->cluster.listens && o->cluster.port == -1);
    TEST_ASSERT_EQUAL(1, o->cluster.nremotes);
    TEST_ASSERT_EQUAL_STRING("nats://[REDACTED]@h:1", o->cluster.remotes.items[0]);
    TEST_ASSERT_TRUE(warned("cluster: accepted, not active in this version"));
    load("leafnodes { port: 7422, remotes: [{urls: [\"nats://h:7422\"], account: \"$G\", "
         "deny_imports: "
         "x, proxy { url: \"http://p:1\" } }] }");
    TEST_ASSERT_TRUE(o->leafnodes.listens && o->leafnodes.nremotes == 1);
    HOLDS("gateway { name: g, port: 7222, gateways: [{name: h, url: \"nats://h:1\"}] }",
          o->gateway.port == 7222 && is(o->gateway.name, "g"));
    HOLDS("jetstream: true\nmqtt { port: 1883, ack_wait: 30s }", o->mqtt.port == 1883);
    HOLDS("feature_flags { x: true }", warned("feature_flags"));
    HOLDS("ocsp: true", warned("ocsp"));
}

/* A key that only serves as a variable may have any name, in any block. */
static void test_keys_used_as_variables_are_not_unknown(void)
{
    HOLDS("my_port: 77\nport: $my_port", o->port == 77);
    HOLDS("authorization { pw: secret, user: a, password: $pw }", is(o->auth.password, "secret"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_nothing_configured_gives_the_defaults);
    RUN_TEST(test_addresses_are_read_in_every_form);
    RUN_TEST(test_log_options_are_read);
    RUN_TEST(test_limits_and_timers_are_read);
    RUN_TEST(test_a_bare_number_for_a_duration_is_seconds_with_a_warning);
    RUN_TEST(test_authorization_forms_are_read);
    RUN_TEST(test_permissions_tell_an_empty_list_from_an_absent_one);
    RUN_TEST(test_default_permissions_reach_users_without_their_own);
    RUN_TEST(test_accounts_are_read);
    RUN_TEST(test_exports_and_imports_are_read);
    RUN_TEST(test_tls_blocks_are_read_with_openssl_names);
    RUN_TEST(test_websocket_blocks_are_read);
    RUN_TEST(test_jetstream_forms_are_read);
    RUN_TEST(test_blocks_of_later_features_are_checked_and_keep_their_ports);
    RUN_TEST(test_keys_used_as_variables_are_not_unknown);
    return UNITY_END();
}
