/* test_pages.c: the documents behind the pages, from a server that has options, accounts and a
 * history, but no sockets. */
#include "status/pages_impl.h"

#include "server/server_impl.h"

#include "unity.h"

#include "base/clock.h"

#include <jansson.h>
#include <stdlib.h>

static struct server srv;
static struct status s;
static struct mf_buf out;
static struct jsonw w;
static json_t *page;
static struct mf_error err;
static struct doc doc;

static int64_t no_time(void *arg)
{
    (void)arg;
    return 0;
}

static void serve(const char *conf)
{
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, options_parse(&srv.opts, mf_str(conf), "test", &err),
                                  err.text);
    TEST_ASSERT_EQUAL_INT(0, accounts_new(&srv.accounts, srv.opts, no_time, NULL, &err));
    TEST_ASSERT_EQUAL_INT(0, auth_new(&srv.auth, srv.opts, &err));
    srv.name = srv.opts->server_name != NULL ? srv.opts->server_name : srv.id;
    s.accounts = srv.accounts;
}

void setUp(void)
{
    memset(&srv, 0, sizeof srv);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, loop_new(&srv.loop, &err), err.text);
    mf_list_init(&srv.clients);
    mf_list_init(&srv.closed);
    memcpy(srv.id, "NID", 4);
    srv.start_wall_ns = clock_wall_ns();
    srv.start_mono_ns = clock_mono_ns();
    s = (struct status){.server = &srv, .loop = srv.loop, .id = srv.id};
    jsonw_begin(&w, &out, JSONW_COMPACT);
    page = NULL;
}
void tearDown(void)
{
    closed_free_all(&srv);
    loop_free(srv.loop);
    accounts_free(srv.accounts);
    auth_free(srv.auth);
    options_free(srv.opts);
    json_decref(page);
    mf_buf_fini(&out);
}

/* A document in one go, into out. */
static struct doc *fresh_doc(void)
{
    doc_init(&doc, srv.loop, JSONW_COMPACT);
    return &doc;
}
static void finish(void)
{
    doc_finish(&doc);
    TEST_ASSERT_EQUAL_INT(0, doc.rc);
    mf_buf_fini(&out);
    out = doc.body;
    doc.body = MF_BUF_INIT;
    doc_fini(&doc);
}

/* The member at "a.b.c" of what was written. */
static const json_t *at(const char *path)
{
    const json_t *v;
    char key[64];

    if (page == NULL)
        page = json_loadb((const char *)out.ptr, out.len, 0, NULL);
    v = page;
    TEST_ASSERT_NOT_NULL_MESSAGE(v, mf_buf_cstr(&out));
    while (*path != '\0') {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        v = json_is_array(v) ? json_array_get(v, (size_t)atoi(key)) : json_object_get(v, key);
        path += n + (path[n] == '.');
    }
    return v;
}
static const char *text_at(const char *path)
{
    return json_string_value(at(path));
}
static long long number_at(const char *path)
{
    return json_integer_value(at(path));
}
static void again(void)
{
    json_decref(page);
    page = NULL;
    mf_buf_clear(&out);
    jsonw_begin(&w, &out, JSONW_COMPACT);
}

/* --- /varz ------------------------------------------------------------------------------------ */

static void test_varz_shows_settings_and_counters(void)
{
    serve("server_name: heron, max_subs: 9, authorization { user: u, password: p, timeout: 5 }");
    srv.total.in_msgs = 7;
    page_varz(&s, &w, NULL);
    TEST_ASSERT_EQUAL_STRING("heron", text_at("server_name"));
    TEST_ASSERT_TRUE(json_is_true(at("auth_required")));
    TEST_ASSERT_EQUAL_INT(7, number_at("in_msgs"));
    TEST_ASSERT_EQUAL_INT(9, number_at("max_subscriptions"));
    TEST_ASSERT_EQUAL_INT(5, (int)json_number_value(at("auth_timeout")));
    TEST_ASSERT_NULL(at("tags"));
    TEST_ASSERT_NULL(at("tls_required"));
}

/* A password in a route's URL is nobody's business. */
static void test_varz_shows_urls_without_secrets(void)
{
    serve("cluster { name: C, listen: \"127.0.0.1:-1\", routes: [\"nats://u:hush@h.test:1\"] }\n"
          "leafnodes { remotes: [ {url: \"nats-leaf://u:hush@l.test:2\"} ] }");
    page_varz(&s, &w, NULL);
    TEST_ASSERT_EQUAL_STRING("h.test:1", text_at("cluster.urls.0"));
    TEST_ASSERT_EQUAL_STRING("l.test:2", text_at("leaf.remotes.0.urls.0"));
    TEST_ASSERT_NULL(strstr(mf_buf_cstr(&out), "hush"));
}

static void test_advertised_address_is_told_instead_of_the_own(void)
{
    static const struct {
        const char *conf, *host;
        int port;
    } cases[] = {
        {"listen: \"127.0.0.1:5\"", "127.0.0.1", 5},
        {"listen: \"127.0.0.1:5\", client_advertise: \"h.test:6\"", "h.test", 6},
        {"listen: \"127.0.0.1:5\", client_advertise: \"h.test\"", "h.test", 5},
        {"listen: \"127.0.0.1:5\", client_advertise: \"[::1]:6\"", "[::1]", 6},
        {"listen: \"127.0.0.1:5\", client_advertise: \"[::1]\"", "[::1]", 5},
    };
    char host[SERVER_HOST];

    for (size_t i = 0; i < MF_COUNT(cases); i++) {
        TEST_ASSERT_EQUAL_INT(0, options_parse(&srv.opts, mf_str(cases[i].conf), "test", &err));
        TEST_ASSERT_EQUAL_STRING(cases[i].host, server_host(&srv, host));
        TEST_ASSERT_EQUAL_INT(cases[i].port, server_port(&srv));
        options_free(srv.opts);
        srv.opts = NULL;
    }
}

/* --- /healthz --------------------------------------------------------------------------------- */

static int health(struct healthz_query q)
{
    int status = 0;

    again();
    page_healthz(&s, &q, fresh_doc(), NULL, &status);
    finish();
    return status;
}

static void test_health_without_jetstream_is_ok_whatever_stream_is_named(void)
{
    serve("");
    TEST_ASSERT_EQUAL_INT(200, health((struct healthz_query){.account = "A", .stream = "S"}));
    TEST_ASSERT_EQUAL_STRING("{\"status\":\"ok\"}", mf_buf_cstr(&out));
}

static void test_health_asked_wrongly_is_400(void)
{
    serve("");
    TEST_ASSERT_EQUAL_INT(400, health((struct healthz_query){.stream = "S"}));
    TEST_ASSERT_EQUAL_STRING("error", text_at("status"));
    TEST_ASSERT_EQUAL_INT(400, health((struct healthz_query){.account = "A", .consumer = "C"}));
    TEST_ASSERT_EQUAL_INT(400, health((struct healthz_query){.stream = "S", .details = true}));
    TEST_ASSERT_EQUAL_STRING("BAD_REQUEST", text_at("errors.0.type"));
    TEST_ASSERT_NULL(at("error"));
}

static void test_health_of_a_leaving_server_is_bad(void)
{
    serve("");
    srv.lame_duck = true;
    TEST_ASSERT_EQUAL_INT(500, health((struct healthz_query){0}));
    TEST_ASSERT_EQUAL_STRING("error", text_at("status"));
}

/* JetStream is configured but did not start, or is closed already: whoever depends on it must not
 * be told that all is well. */
static void test_health_of_jetstream_that_is_not_served_is_bad(void)
{
    serve("jetstream: enabled");
    TEST_ASSERT_EQUAL_INT(200, health((struct healthz_query){.js_server_only = true}));
    TEST_ASSERT_EQUAL_INT(503, health((struct healthz_query){0}));
    TEST_ASSERT_EQUAL_INT(503, health((struct healthz_query){.js_enabled_only = true}));
    TEST_ASSERT_EQUAL_INT(503, health((struct healthz_query){.account = "$G"}));
    TEST_ASSERT_EQUAL_STRING("unavailable", text_at("status"));
}

/* A load balancer and an open status page ask each few seconds: a line each would flood the log. */
static void test_health_that_stays_bad_is_logged_once_a_minute(void)
{
    int64_t first;

    serve("jetstream: enabled");
    health((struct healthz_query){0});
    TEST_ASSERT_EQUAL_size_t(1, s.unwell);
    first = s.unwell_at_ns -= CLOCK_S;
    health((struct healthz_query){.details = true});
    TEST_ASSERT_EQUAL_INT64(first, s.unwell_at_ns); /* not again */
    s.unwell_at_ns -= 60 * CLOCK_S;
    health((struct healthz_query){0});
    TEST_ASSERT_TRUE(s.unwell_at_ns > first);
    health((struct healthz_query){.js_server_only = true});
    TEST_ASSERT_EQUAL_size_t(0, s.unwell); /* well: the next problem is news */
}

/* --- JetStream, in whose place these functions are linked --------------------------------------
 */

struct js_status {
    int unused;
};
static struct js_status jetstream;
static const struct health_problem *problems;
static size_t nproblems;

static struct {
    health_report_fn tell;
    void *arg;
    size_t at;
} patient;

void __wrap_js_status_health(struct js_status *st, const struct health_query *q, struct doc *d,
                             health_report_fn tell, void *arg);
void __wrap_js_status_varz(struct js_status *st, struct jsonw *to, bool paths);
void __wrap_js_status_metrics(struct js_status *st, struct doc *d);
bool __wrap_js_status_enabled(struct js_status *st, const struct account *acc);

static bool health_step(struct doc *on, void *state)
{
    (void)on, (void)state;
    if (patient.at < nproblems)
        patient.tell(patient.arg, &problems[patient.at++]);
    return patient.at < nproblems;
}
void __wrap_js_status_health(struct js_status *st, const struct health_query *q, struct doc *d,
                             health_report_fn tell, void *arg)
{
    static const doc_step steps[] = {health_step, NULL};

    TEST_ASSERT_EQUAL_PTR(&jetstream, st);
    TEST_ASSERT_EQUAL_STRING("A", q->account);
    patient.tell = tell;
    patient.arg = arg;
    patient.at = 0;
    doc_add(d, steps, &patient, NULL);
}
void __wrap_js_status_varz(struct js_status *st, struct jsonw *to, bool paths)
{
    (void)st;
    jsonw_bool(to, "paths", paths);
}
static bool metrics_step(struct doc *d, void *state)
{
    mf_buf_puts(&d->body, state);
    return false;
}
void __wrap_js_status_metrics(struct js_status *st, struct doc *d)
{
    static const doc_step steps[] = {metrics_step, NULL};
    static char text[] = "jetstream_up 1\n";

    (void)st;
    doc_add(d, steps, text, NULL);
}
bool __wrap_js_status_enabled(struct js_status *st, const struct account *acc)
{
    (void)st;
    return strcmp(account_name(acc), "A") == 0;
}

/* Without details the first thing that is ill decides; with them all are told. */
static void test_health_shows_what_jetstream_reports(void)
{
    static const struct health_problem two[] = {
        {.status = 503, .type = "STREAM", .account = "A", .stream = "S", .text = "S is ill"},
        {.status = 404, .type = "CONSUMER", .account = "A", .consumer = "C", .text = "no C"}};

    serve("jetstream: enabled");
    s.js = &jetstream;
    nproblems = 0;
    TEST_ASSERT_EQUAL_INT(200, health((struct healthz_query){.account = "A"}));
    TEST_ASSERT_EQUAL_STRING("{\"status\":\"ok\"}", mf_buf_cstr(&out));
    problems = two;
    nproblems = 2;
    TEST_ASSERT_EQUAL_INT(503, health((struct healthz_query){.account = "A"}));
    TEST_ASSERT_EQUAL_STRING("{\"status\":\"unavailable\",\"error\":\"S is ill\"}",
                             mf_buf_cstr(&out));
    TEST_ASSERT_EQUAL_INT(503, health((struct healthz_query){.account = "A", .details = true}));
    TEST_ASSERT_EQUAL_STRING(
        "{\"status\":\"error\",\"errors\":[{\"type\":\"STREAM\",\"account\":\"A\","
        "\"stream\":\"S\",\"error\":\"S is ill\"},{\"type\":\"CONSUMER\",\"account\":\"A\","
        "\"consumer\":\"C\",\"error\":\"no C\"}]}",
        mf_buf_cstr(&out));
    TEST_ASSERT_EQUAL_INT(200,
                          health((struct healthz_query){.account = "A", .js_enabled_only = true}));
    TEST_ASSERT_EQUAL_INT(200,
                          health((struct healthz_query){.account = "A", .js_server_only = true}));
}

static void test_pages_show_what_jetstream_writes(void)
{
    serve("jetstream: enabled, accounts { A { users: [{user: a, password: p}] }, B {} }");
    s.js = &jetstream;
    page_varz(&s, &w, NULL);
    TEST_ASSERT_TRUE(json_is_true(at("jetstream.paths")));
    again();
    TEST_ASSERT_EQUAL_INT(0, page_accountz(&s, "A", fresh_doc(), NULL, &err));
    finish();
    TEST_ASSERT_TRUE(json_is_true(at("account_detail.jetstream_enabled")));
    again();
    TEST_ASSERT_EQUAL_INT(0, page_accountz(&s, "B", fresh_doc(), NULL, &err));
    finish();
    TEST_ASSERT_TRUE(json_is_false(at("account_detail.jetstream_enabled")));
    again();
    page_metrics(&s, fresh_doc());
    finish();
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "\njetstream_up 1\n"));
}

/* --- /connz, of the past ---------------------------------------------------------------------- */

static void was_here(uint64_t cid, const char *account, const char *reason, int64_t lived_s)
{
    struct closed_client *k = calloc(1, sizeof *k);

    TEST_ASSERT_NOT_NULL(k);
    k->info = (struct client_info){.cid = cid,
                                   .ip = "127.0.0.1",
                                   .account = account,
                                   .user = account,
                                   .reason = reason,
                                   .start_ns = srv.start_wall_ns,
                                   .last_ns = srv.start_wall_ns,
                                   .stop_ns = srv.start_wall_ns + lived_s * CLOCK_S};
    mf_list_push(&srv.closed, &k->link);
    srv.nclosed++;
}

static void assert_cids(struct connz_query q, const char *wanted)
{
    char got[128] = "";
    size_t used = 0;

    again();
    q.state = CONNZ_CLOSED;
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, page_connz(&s, &q, fresh_doc(), NULL, &err), err.text);
    finish();
    for (size_t i = 0; i < json_array_size(at("connections")); i++)
        used += (size_t)snprintf(
            got + used, sizeof got - used, "%lld ",
            json_integer_value(json_object_get(json_array_get(at("connections"), i), "cid")));
    TEST_ASSERT_EQUAL_STRING(wanted, got);
}

static void test_connz_sorts_filters_and_pages(void)
{
    serve("");
    was_here(3, "A", "Client Closed", 5);
    was_here(1, "B", "Stale Connection", 9);
    was_here(2, "A", "Write Error", 7);
    assert_cids((struct connz_query){0}, "1 2 3 ");
    assert_cids((struct connz_query){.sort = "stop"}, "1 2 3 ");
    assert_cids((struct connz_query){.sort = "reason"}, "3 1 2 ");
    assert_cids((struct connz_query){.sort = "uptime"}, "3 2 1 ");
    assert_cids((struct connz_query){.account = "A"}, "2 3 ");
    TEST_ASSERT_EQUAL_INT(2, number_at("total"));
    assert_cids((struct connz_query){.user = "B"}, "1 ");
    TEST_ASSERT_EQUAL_INT(3, number_at("total")); /* counted before the user was asked for */
    assert_cids((struct connz_query){.cid = 2}, "2 ");
    TEST_ASSERT_EQUAL_INT(1, number_at("limit"));
    assert_cids((struct connz_query){.offset = 1, .limit = 1}, "2 ");
    assert_cids((struct connz_query){.offset = 9}, "");
    assert_cids((struct connz_query){.offset = -1}, "1 2 3 ");
}

/* A page is made in slices: what it looks at later was active behind its own beginning. */
static void test_connz_nobody_is_idle_for_less_than_nothing(void)
{
    int64_t later = clock_wall_ns() + 90 * CLOCK_S;
    struct closed_client *k;

    serve("");
    was_here(1, "A", "Client Closed", 1);
    was_here(2, "A", "Client Closed", 1);
    k = mf_container(srv.closed.prev, struct closed_client, link);
    k->info.start_ns = k->info.last_ns = later;
    k->info.stop_ns = 0; /* as one that is open */
    assert_cids((struct connz_query){.sort = "idle"}, "1 2 ");
    TEST_ASSERT_EQUAL_STRING("0s", text_at("connections.1.idle"));
    TEST_ASSERT_EQUAL_STRING("0s", text_at("connections.1.uptime"));
    assert_cids((struct connz_query){.sort = "uptime"}, "2 1 ");
}

static void test_connz_refuses_in_nats_servers_words(void)
{
    struct connz_query bad = {.sort = "zz"}, stop = {.sort = "stop"},
                       filter = {.filter_subject = "x"};

    serve("");
    (void)fresh_doc();
    TEST_ASSERT_EQUAL_INT(MF_INVAL, page_connz(&s, &bad, &doc, NULL, &err));
    TEST_ASSERT_EQUAL_STRING("invalid sorting option: zz", err.text);
    TEST_ASSERT_EQUAL_INT(MF_INVAL, page_connz(&s, &stop, &doc, NULL, &err));
    TEST_ASSERT_EQUAL_INT(MF_INVAL, page_connz(&s, &filter, &doc, NULL, &err));
    TEST_ASSERT_EQUAL_UINT(0, doc.parts);
}

/* --- accounts --------------------------------------------------------------------------------- */

static void test_accstatz_shows_accounts_in_use_or_all(void)
{
    static const char *const names[] = {"A", "NOBODY"};

    serve("accounts { A {}, B {} }");
    account_counters(accounts_get(srv.accounts, "A"))->clients = 2;
    page_accstatz(&s, NULL, 0, false, fresh_doc(), NULL);
    finish();
    TEST_ASSERT_EQUAL_size_t(1, json_array_size(at("account_statz")));
    TEST_ASSERT_EQUAL_INT(2, number_at("account_statz.0.conns"));
    again();
    page_accstatz(&s, NULL, 0, true, fresh_doc(), NULL);
    finish();
    TEST_ASSERT_EQUAL_size_t(4, json_array_size(at("account_statz")));
    again();
    page_accstatz(&s, names, 2, false, fresh_doc(), NULL);
    finish();
    TEST_ASSERT_EQUAL_size_t(1, json_array_size(at("account_statz")));
    TEST_ASSERT_TRUE(page_accstatz_any(&s, names, 2));
    TEST_ASSERT_FALSE(page_accstatz_any(&s, names + 1, 1));
    account_counters(accounts_get(srv.accounts, "A"))->clients = 0;
}

static void test_accountz_shows_exports_and_refuses_strangers(void)
{
    serve(
        "accounts { A { exports: [ {service: \"q.*\", response_type: stream, accounts: [B]} ] }\n"
        "B { imports: [ {service: {account: A, subject: \"q.*\"}, to: \"z.*\", share: true} ] } }");
    TEST_ASSERT_EQUAL_INT(0, page_accountz(&s, "A", fresh_doc(), NULL, &err));
    finish();
    TEST_ASSERT_EQUAL_STRING("Streamed", text_at("account_detail.exports.0.response_type"));
    TEST_ASSERT_EQUAL_STRING("B", text_at("account_detail.exports.0.approved_accounts.0"));
    again();
    TEST_ASSERT_EQUAL_INT(0, page_accountz(&s, "B", fresh_doc(), NULL, &err));
    finish();
    TEST_ASSERT_EQUAL_STRING("z.*", text_at("account_detail.imports.0.to"));
    TEST_ASSERT_TRUE(json_is_true(at("account_detail.imports.0.share")));
    TEST_ASSERT_EQUAL_STRING("$SYS.REQ.ACCOUNT.B.CONNZ",
                             text_at("account_detail.imports.1.subject"));
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, page_accountz(&s, "C", fresh_doc(), NULL, &err));
    TEST_ASSERT_EQUAL_STRING("Account C does not exist", err.text);
    doc_fini(&doc);
}

static struct work_owner owner;
static unsigned finished;

static void made(struct doc *on)
{
    (void)on;
    finished++;
}

/* Turns of so many steps until the list of n accounts is whole. */
static unsigned turns_of_names(unsigned n)
{
    struct mf_buf conf = MF_BUF_INIT;
    unsigned turns = 0;

    mf_buf_puts(&conf, "accounts {");
    for (unsigned i = 0; i < n; i++)
        mf_buf_printf(&conf, "%s A%05u {}", i == 0 ? "" : ",", i);
    mf_buf_puts(&conf, " }");
    serve(mf_buf_cstr(&conf));
    mf_buf_fini(&conf);
    again();
    TEST_ASSERT_EQUAL_INT(0, page_accountz(&s, "", fresh_doc(), NULL, &err));
    work_set_steps(s.loop, 10);
    finished = 0;
    doc_start(&doc, &owner, made);
    for (; finished == 0 && turns < 100000; turns++)
        loop_turn(s.loop);
    TEST_ASSERT_EQUAL_UINT(1, finished);
    finish();
    TEST_ASSERT_EQUAL_size_t(n + 2, json_array_size(at("accounts"))); /* $G and $SYS, too */
    return turns;
}

static void test_names_of_accounts_are_listed_in_slices(void)
{
    unsigned few = turns_of_names(100), many;

    tearDown();
    setUp();
    many = turns_of_names(1000);
    TEST_ASSERT_GREATER_THAN_UINT(40, many);
    TEST_ASSERT_UINT_WITHIN(3 * few, 10 * few, many);
}

/* --- texts for others' parsers ---------------------------------------------------------------- */

static void test_names_are_escaped_in_metrics(void)
{
    serve("server_name: \"a\\\"<b>&\\\\\"");
    page_metrics(&s, fresh_doc());
    finish();
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(mf_buf_cstr(&out), "server_name=\"a\\\"<b>&\\\\\"} 1\n"),
                                 mf_buf_cstr(&out));
}

/* Below a base path without a slash, links start from its last part. */
static void test_front_page_without_a_slash_says_where_its_links_begin(void)
{
    page_root(NULL, &out);
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "<!doctype html>"));
    TEST_ASSERT_NULL(strstr(mf_buf_cstr(&out), "<base"));
    mf_buf_clear(&out);
    page_root("/a/x\"y", &out);
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "<head><base href=\"./x&quot;y/\">"));
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "</html>"));
}

static void test_usage_is_of_this_process(void)
{
    struct page_usage u;

    page_usage(&s, &u);
    TEST_ASSERT_TRUE(u.rss > 100000 && u.vsize > u.rss);
    TEST_ASSERT_TRUE(u.threads >= 1 && u.max_fds > 2);
    page_stacksz(&out);
    TEST_ASSERT_NOT_NULL(strstr(mf_buf_cstr(&out), "thread "));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_varz_shows_settings_and_counters);
    RUN_TEST(test_varz_shows_urls_without_secrets);
    RUN_TEST(test_advertised_address_is_told_instead_of_the_own);
    RUN_TEST(test_health_without_jetstream_is_ok_whatever_stream_is_named);
    RUN_TEST(test_health_asked_wrongly_is_400);
    RUN_TEST(test_health_of_a_leaving_server_is_bad);
    RUN_TEST(test_health_of_jetstream_that_is_not_served_is_bad);
    RUN_TEST(test_health_that_stays_bad_is_logged_once_a_minute);
    RUN_TEST(test_health_shows_what_jetstream_reports);
    RUN_TEST(test_pages_show_what_jetstream_writes);
    RUN_TEST(test_connz_sorts_filters_and_pages);
    RUN_TEST(test_connz_nobody_is_idle_for_less_than_nothing);
    RUN_TEST(test_connz_refuses_in_nats_servers_words);
    RUN_TEST(test_accstatz_shows_accounts_in_use_or_all);
    RUN_TEST(test_accountz_shows_exports_and_refuses_strangers);
    RUN_TEST(test_names_of_accounts_are_listed_in_slices);
    RUN_TEST(test_names_are_escaped_in_metrics);
    RUN_TEST(test_front_page_without_a_slash_says_where_its_links_begin);
    RUN_TEST(test_usage_is_of_this_process);
    return UNITY_END();
}
