/* test_account_service.c: requests across accounts and the way back of their answers.  Expectations
 * marked "asked" were seen on nats-server 2.15.1 first. */
#include "support/account_world.h"

#include "base/clock.h"

#include <stdio.h>

#include "unity.h"

static struct world w;
static struct listener inbox, service;

void setUp(void)
{
    world_init(&w);
    memset(&inbox, 0, sizeof inbox);
    memset(&service, 0, sizeof service);
}

void tearDown(void)
{
    if (inbox.a != NULL)
        leave(&inbox);
    if (service.a != NULL)
        leave(&service);
    world_fini(&w);
}

/* A imports `subject` of B as `to`; B listens on everything, A on its inbox. */
static struct options_export *import(const char *subject, const char *to)
{
    struct options_export *x;

    world_account(&w, "B");
    world_account(&w, "A");
    x = world_export(&w, "B", true, subject);
    world_import(&w, "A", true, "B", subject, to);
    return x;
}

static void start(void)
{
    world_start(&w);
    listen_to(&inbox, &w, "A", "in", "inbox.>", "");
    listen_to(&service, &w, "B", "b", ">", "");
}

/* Sends a request and returns the reply subject the service saw. */
static char *ask(const char *subject, const char *reply)
{
    static char seen[64];

    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", subject, reply, "q"));
    snprintf(seen, sizeof seen, "%s", last_reply(&w));
    heard(&w);
    return seen;
}

static void assert_starts(const char *prefix, const char *text)
{
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        TEST_FAIL_MESSAGE(text);
}

/* --- there ------------------------------------------------------------------------------------ */

/* Asked: each row. */
static void test_service_import_table_of_the_real_server_holds(void)
{
    static const struct {
        const char *exported, *imported, *to, *pub, *heard;
    } rows[] = {
        {"req.echo", "req.echo", "svc", "svc", "b req.echo"},
        {"req.echo", "req.echo", "svc", "req.echo", ""},
        {"x.*", "x.*", NULL, "x.a", "b x.a"},
        {"x.*.*", "x.*.*", "y.$2.$1", "y.a.b", "b x.b.a"},
        {"x.*.*", "x.*.*", "y.{{wildcard(2)}}.{{wildcard(1)}}", "y.a.b", "b x.b.a"},
        {"x.*.*", "x.$2.$1", "y.*.*", "y.a.b", "b x.$2.$1"},
        {"x.*", "x.k", "y.*", "y.a", "b x.k"},
        {"x.>", "x.>", "y.>", "y.a", "b x.a"},
        {"x.>", "x.>", "y.>", "y.a.b", "b x.a.b"},
        {"x.>", "x.*.>", "y.*.k.>", "y.a.k.b.c", "b x.a.b.c"},
        {"req.*.w", "req.*.w", "w.*", "w.9", "b req.9.w"},
    };

    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        world_init(&w);
        world_account(&w, "B");
        world_account(&w, "A");
        world_export(&w, "B", true, rows[i].exported);
        world_import(&w, "A", true, "B", rows[i].imported, rows[i].to);
        start();
        TEST_ASSERT_EQUAL_size_t(rows[i].heard[0] != '\0', say(&w, "A", rows[i].pub, "", ""));
        TEST_ASSERT_EQUAL_STRING_MESSAGE(rows[i].heard, heard(&w), rows[i].imported);
        if (i + 1 < MF_COUNT(rows)) {
            leave(&inbox);
            leave(&service);
            world_fini(&w);
        }
    }
}

/* Asked: _R_.UJWFx0.n1mD0y */
static void test_reply_is_private_and_of_the_known_shape(void)
{
    const char *reply;

    import("req", NULL);
    start();
    reply = ask("req", "inbox.1");
    TEST_ASSERT_EQUAL_size_t(17, strlen(reply));
    TEST_ASSERT_EQUAL_INT(0, strncmp(reply, "_R_.", 4));
    TEST_ASSERT_EQUAL_CHAR('.', reply[10]);
}

static void test_answer_comes_back_to_the_requestors_inbox_once(void)
{
    char *reply;

    import("req", NULL);
    start();
    reply = ask("req", "inbox.1");
    TEST_ASSERT_GREATER_OR_EQUAL_size_t(1, say(&w, "B", reply, "", "ans"));
    TEST_ASSERT_NOT_NULL(strstr(heard(&w), "in inbox.1 =ans"));
    /* Asked: a second answer is swallowed, and its publisher hears of no problem. */
    leave(&service);
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", reply, "", "ans2"));
    TEST_ASSERT_EQUAL_STRING("", heard(&w));
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", "_R_.000000.111111", "", "x") +
                                    say(&w, "B", reply, "", "x"));
}

/* Asked: a request through an import that nobody serves is "no responders". */
static void test_nobody_there_counts_as_nobody(void)
{
    struct listener local;

    import("dead.>", NULL);
    start();
    leave(&service);
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "A", "dead.x", "inbox.9", ""));
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, w.now_ns)); /* no reply waits for ever */
    listen_to(&local, &w, "A", "a", "dead.x", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "dead.x", "inbox.9", ""));
    TEST_ASSERT_EQUAL_STRING("a dead.x >inbox.9", heard(&w));
    leave(&local);
}

/* Asked: an empty message ends the answers. */
static void test_streamed_answers_go_on_until_the_empty_one(void)
{
    char *reply;

    import("multi.>", NULL)->response = OPTIONS_RESPONSE_STREAM;
    start();
    reply = ask("multi.z", "inbox.1");
    leave(&service);
    for (int i = 0; i < 3; i++)
        say(&w, "B", reply, "", "m");
    say(&w, "B", reply, "", "");
    say(&w, "B", reply, "", "after");
    TEST_ASSERT_EQUAL_STRING("in inbox.1|in inbox.1 =m|in inbox.1 =m|in inbox.1 =m", heard(&w));
}

static void test_streamed_answers_end_when_the_requestor_is_gone(void)
{
    char *reply;

    import("multi.>", NULL)->response = OPTIONS_RESPONSE_CHUNKED;
    start();
    reply = ask("multi.z", "inbox.1");
    leave(&service);
    leave(&inbox);
    say(&w, "B", reply, "", "m");
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, w.now_ns));
}

/* Asked: the answer's own reply leads back to the service. */
static void test_answer_may_ask_back(void)
{
    char *reply, back[64];

    import("req", NULL);
    start();
    reply = ask("req", "inbox.1");
    leave(&service);
    say(&w, "B", reply, "b.inbox", "ans");
    snprintf(back, sizeof back, "%s", last_reply(&w));
    TEST_ASSERT_EQUAL_INT(0, strncmp(back, "_R_.", 4));
    heard(&w);
    listen_to(&service, &w, "B", "b", "b.inbox", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", back, "", "more"));
    TEST_ASSERT_EQUAL_STRING("b b.inbox =more", heard(&w));
}

/* Pull consumers across accounts: an ack subject means something only as it is. */
static void test_ack_replies_pass_as_they_are(void)
{
    import("req", NULL);
    start();
    assert_starts("$JS.ACK.s.c", ask("req", "$JS.ACK.s.c.1.1.1.1.0"));
}

/* Asked. */
static void test_two_accounts_behind_one_name_both_serve(void)
{
    struct listener c;

    world_account(&w, "A");
    world_account(&w, "B");
    world_account(&w, "C");
    world_export(&w, "B", true, "x");
    world_export(&w, "C", true, "x");
    world_import(&w, "A", true, "B", "x", NULL);
    world_import(&w, "A", true, "C", "x", NULL);
    start();
    listen_to(&c, &w, "C", "c", "x", "");
    TEST_ASSERT_EQUAL_size_t(2, say(&w, "A", "x", "", ""));
    TEST_ASSERT_EQUAL_STRING("b x|c x", heard(&w));
    leave(&c);
}

/* Asked: A asks B, B passes it on to C, and the answer finds its way through both. */
static void test_requests_pass_through_several_accounts(void)
{
    struct listener c;
    char reply[64];

    world_account(&w, "A");
    world_account(&w, "B");
    world_account(&w, "C");
    world_export(&w, "C", true, "deep.>");
    world_export(&w, "B", true, "mid.>");
    world_import(&w, "B", true, "C", "deep.>", "mid.>");
    world_import(&w, "A", true, "B", "mid.>", "top.>");
    world_start(&w);
    listen_to(&inbox, &w, "A", "in", "inbox.1", "");
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "A", "top.x", "inbox.1", "q"));
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, w.now_ns));
    listen_to(&c, &w, "C", "c", "deep.>", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "top.x", "inbox.1", "q"));
    snprintf(reply, sizeof reply, "%s", last_reply(&w));
    assert_starts("c deep.x >_R_.", heard(&w));
    say(&w, "C", reply, "", "ans");
    TEST_ASSERT_EQUAL_STRING("in inbox.1 =ans", heard(&w));
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, w.now_ns));
    leave(&c);
}

/* Asked: both are accepted, and neither runs in circles. */
static void test_import_from_oneself_does_not_loop(void)
{
    struct listener a;

    world_account(&w, "A");
    world_export(&w, "A", true, "x.>");
    world_import(&w, "A", true, "A", "x.>", NULL);
    world_import(&w, "A", true, "A", "x.>", "y.>");
    world_start(&w);
    listen_to(&a, &w, "A", "a", "x.1", "");
    TEST_ASSERT_EQUAL_size_t(2, say(&w, "A", "x.1", "", ""));
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "y.1", "", ""));
    TEST_ASSERT_EQUAL_STRING("a x.1|a x.1|a x.1", heard(&w));
    leave(&a);
}

/* Asked: what came as a request is not passed on to those who import the stream. */
static void test_requests_do_not_feed_stream_imports(void)
{
    struct listener d, q;

    world_account(&w, "A");
    world_account(&w, "B");
    world_account(&w, "D");
    world_export(&w, "B", true, "x.>");
    world_export(&w, "B", false, "x.>");
    world_import(&w, "A", true, "B", "x.>", "sx.>");
    world_import(&w, "D", false, "B", "x.>", NULL);
    world_start(&w);
    listen_to(&d, &w, "D", "d", "x.>", "");
    listen_to(&q, &w, "D", "q", "x.>", "q");
    TEST_ASSERT_EQUAL_size_t(0, say(&w, "A", "sx.1", "", ""));
    listen_to(&service, &w, "B", "b", "x.>", "");
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "sx.1", "", ""));
    TEST_ASSERT_EQUAL_STRING("b x.1", heard(&w));
    TEST_ASSERT_EQUAL_size_t(3, say(&w, "B", "x.9", "", ""));
    TEST_ASSERT_EQUAL_STRING("b x.9|d x.9|q x.9", heard(&w));
    leave(&d);
    leave(&q);
}

/* Asked: w is x by A's mapping, x is xx by B's, and the answer's `in` is in2 by A's. */
static void test_mappings_apply_on_both_sides(void)
{
    struct options_mapping_dest wx = {(char *)"x", 100, NULL}, xxx = {(char *)"xx", 100, NULL};
    struct options_mapping_dest in2 = {(char *)"inbox.2", 100, NULL};
    char reply[64];

    import("x", NULL);
    world_map(&w, "A", "w", &wx, 1);
    world_map(&w, "A", "inbox.1", &in2, 1);
    world_map(&w, "B", "x", &xxx, 1);
    start();
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "w", "inbox.1", ""));
    snprintf(reply, sizeof reply, "%s", last_reply(&w));
    assert_starts("b xx >_R_.", heard(&w));
    leave(&service);
    say(&w, "B", reply, "", "r");
    TEST_ASSERT_EQUAL_STRING("in inbox.2 =r", heard(&w));
}

/* --- within one call -------------------------------------------------------------------------- */

static void answer_at_once(struct listener *l, const struct router_msg *m)
{
    char reply[64];

    snprintf(reply, sizeof reply, "%.*s", MF_FMT(m->msg->reply));
    say(l->w, account_name(l->a), reply, "", "now");
    say(l->w, account_name(l->a), reply, "", "again");
}

/* Services inside the server answer before the request has returned. */
static void test_answer_may_come_before_the_request_returns(void)
{
    import("req", NULL);
    world_start(&w);
    listen_to(&inbox, &w, "A", "in", "inbox.>", "");
    listen_to(&service, &w, "B", "b", "req", "");
    service.on = answer_at_once;
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "A", "req", "inbox.1", ""));
    TEST_ASSERT_EQUAL_size_t(1, inbox.count);
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, w.now_ns));
}

static void ask_again(struct listener *l, const struct router_msg *m)
{
    int *left = l->arg;

    (void)m;
    if ((*left)-- > 0)
        say(l->w, "A", "req", "inbox.1", "");
}

static void test_an_answer_may_start_the_next_request(void)
{
    int left = 50;

    import("req", NULL)->response = OPTIONS_RESPONSE_STREAM;
    world_start(&w);
    listen_to(&inbox, &w, "A", "in", "inbox.>", "");
    listen_to(&service, &w, "B", "b", "req", "");
    service.on = answer_at_once;
    inbox.on = ask_again;
    inbox.arg = &left;
    say(&w, "A", "req", "inbox.1", "");
    TEST_ASSERT_EQUAL_size_t(51, service.count);
    TEST_ASSERT_EQUAL_size_t(102, inbox.count);
}

static void leave_it(struct listener *l, const struct router_msg *m)
{
    (void)m;
    leave(l);
}

static void test_listeners_may_leave_while_request_and_answer_pass(void)
{
    char *reply;

    import("req", NULL)->response = OPTIONS_RESPONSE_STREAM;
    start();
    service.on = leave_it;
    inbox.on = leave_it;
    reply = ask("req", "inbox.1");
    say(&w, "B", reply, "", "1");
    say(&w, "B", reply, "", "2");
    TEST_ASSERT_EQUAL_STRING("in inbox.1 =1", heard(&w));
}

/* --- time ------------------------------------------------------------------------------------- */

static void test_reply_expires_after_two_minutes(void)
{
    char *reply;
    int64_t born;

    import("req", NULL);
    start();
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, w.now_ns));
    reply = ask("req", "inbox.1");
    born = w.now_ns;
    TEST_ASSERT_EQUAL_INT64(born + 120 * CLOCK_S, accounts_expire(w.as, born + 1));
    TEST_ASSERT_EQUAL_INT64(born + 120 * CLOCK_S, accounts_expire(w.as, born + 120 * CLOCK_S - 1));
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, born + 120 * CLOCK_S));
    leave(&service);
    say(&w, "B", reply, "", "late");
    TEST_ASSERT_EQUAL_STRING("", heard(&w));
}

static void test_each_export_has_its_own_patience_and_answers_renew_it(void)
{
    struct options_export *slow;
    char quick[64], *reply;

    import("req", NULL)->threshold_ns = 5 * CLOCK_S;
    slow = world_export(&w, "B", true, "slow");
    slow->response = OPTIONS_RESPONSE_STREAM;
    slow->threshold_ns = 10 * CLOCK_S;
    world_import(&w, "A", true, "B", "slow", NULL);
    start();
    w.now_ns = 0;
    snprintf(quick, sizeof quick, "%s", ask("req", "inbox.1"));
    reply = ask("slow", "inbox.2");
    leave(&service);
    TEST_ASSERT_EQUAL_INT64(5 * CLOCK_S, accounts_expire(w.as, 1));
    w.now_ns = 8 * CLOCK_S;
    say(&w, "B", reply, "", "alive");
    TEST_ASSERT_EQUAL_STRING("in inbox.2 =alive", heard(&w));
    accounts_expire(w.as, w.now_ns);
    say(&w, "B", quick, "", "x");
    TEST_ASSERT_EQUAL_STRING("", heard(&w));
    TEST_ASSERT_NOT_EQUAL_INT64(0, accounts_expire(w.as, 18 * CLOCK_S - 1));
    TEST_ASSERT_EQUAL_INT64(0, accounts_expire(w.as, 18 * CLOCK_S));
}

/* Somebody who asks and never hears may not fill the memory. */
static void test_only_so_many_replies_wait(void)
{
    char first[64];
    const int limit = 262144;

    import("req", NULL);
    world_start(&w);
    listen_to(&service, &w, "B", "b", "req", "");
    listen_to(&inbox, &w, "A", "in", "inbox.>", "");
    for (int i = 0; i <= limit; i++) {
        say(&w, "A", "req", "inbox.1", "");
        if (i == 0)
            snprintf(first, sizeof first, "%s", last_reply(&w));
        if (i < limit)
            heard(&w);
    }
    TEST_ASSERT_EQUAL_size_t(1, say(&w, "B", last_reply(&w), "", "new"));
    say(&w, "B", first, "", "old");
    TEST_ASSERT_EQUAL_size_t(1, inbox.count);
}

/* --- who asks --------------------------------------------------------------------------------- */

static bool tell(void *arg, const void *origin, bool detailed, const char *via, struct mf_buf *json,
                 int64_t *rtt_ns)
{
    (void)arg;
    mf_buf_printf(json, "{\"id\":%d%s%s%s}", *(const int *)origin, detailed ? ",\"name\":1" : "",
                  via != NULL ? ",\"svc\":" : "", via != NULL ? via : "");
    *rtt_ns = 7;
    return true;
}

static char seen_header[512];

static void keep_header(struct listener *l, const struct router_msg *m)
{
    (void)l;
    snprintf(seen_header, sizeof seen_header, "%.*s", MF_FMT(m->msg->hdr));
}

static void ask_with_header(const char *hdr)
{
    static const int client = 42;
    struct mf_msg msg = {.subject = MF_LIT("req"), .hdr = mf_str(hdr)};
    struct router_msg rm = {.route = msg.subject, .msg = &msg, .origin = &client};

    seen_header[0] = '\0';
    TEST_ASSERT_EQUAL_size_t(1, account_publish(world_get(&w, "A"), &rm));
    heard(&w);
}

/* Asked: the header comes last, and a forged one is taken out wherever it stands. */
static void test_request_tells_who_asks_and_cannot_be_forged(void)
{
    import("req", NULL);
    start();
    service.on = keep_header;
    ask_with_header("");
    TEST_ASSERT_EQUAL_STRING("", seen_header); /* nobody to tell it */
    accounts_set_request_info(w.as, tell, NULL);
    ask_with_header("");
    TEST_ASSERT_EQUAL_STRING("NATS/1.0\r\nNats-Request-Info: {\"id\":42}\r\n\r\n", seen_header);
    ask_with_header("NATS/1.0\r\nNats-Request-Info: forged\r\nK: v\r\n\r\n");
    TEST_ASSERT_EQUAL_STRING("NATS/1.0\r\nK: v\r\nNats-Request-Info: {\"id\":42}\r\n\r\n",
                             seen_header);
    ask_with_header("NATS/1.0\r\nK: v\r\nNats-Request-Info: 1\r\nNats-Request-Info: 2\r\n\r\n");
    TEST_ASSERT_EQUAL_STRING("NATS/1.0\r\nK: v\r\nNats-Request-Info: {\"id\":42}\r\n\r\n",
                             seen_header);
    ask_with_header("garbage"); /* headers are not checked on their way in */
    ask_with_header("\r\n");
    ask_with_header("NATS/1.0");
}

static void test_sharing_tells_more_and_a_chain_names_who_passed_it_on(void)
{
    world_account(&w, "A");
    world_account(&w, "M");
    world_account(&w, "B");
    world_export(&w, "B", true, "req");
    world_export(&w, "M", true, "req");
    world_import(&w, "M", true, "B", "req", NULL);
    world_import(&w, "A", true, "M", "req", NULL)->share = true;
    start();
    service.on = keep_header;
    accounts_set_request_info(w.as, tell, NULL);
    ask_with_header("");
    TEST_ASSERT_EQUAL_STRING(
        "NATS/1.0\r\nNats-Request-Info: {\"id\":42,\"name\":1,\"svc\":M}\r\n\r\n", seen_header);
}

/* --- what may be taken for a request ---------------------------------------------------------- */

static bool seen_no_request;

static void keep_mark(struct listener *l, const struct router_msg *m)
{
    (void)l;
    seen_no_request = m->no_request;
}

/* A's client chose the reply subject, B's has no permission in A: not a request of anybody. */
static void test_an_answer_from_another_account_is_no_request(void)
{
    char *back;

    import("req", NULL);
    start();
    inbox.on = service.on = keep_mark;
    back = ask("req", "inbox.1");
    TEST_ASSERT_FALSE(seen_no_request);
    service.on = NULL; /* it hears all of B, the answer too */
    TEST_ASSERT_EQUAL_size_t(2, say(&w, "B", back, "", "a"));
    TEST_ASSERT_EQUAL_size_t(1, inbox.count);
    TEST_ASSERT_TRUE(seen_no_request);
}

/* A message of the server stays one when it crosses. */
static void test_a_message_of_the_server_is_no_request_in_another_account_either(void)
{
    struct mf_msg msg = {.subject = MF_LIT("req")};

    import("req", NULL);
    start();
    service.on = keep_mark;
    seen_no_request = false;
    TEST_ASSERT_EQUAL_size_t(
        1, account_publish(
               world_get(&w, "A"),
               &(struct router_msg){.route = msg.subject, .msg = &msg, .no_request = true}));
    TEST_ASSERT_TRUE(seen_no_request);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_answer_from_another_account_is_no_request);
    RUN_TEST(test_a_message_of_the_server_is_no_request_in_another_account_either);
    RUN_TEST(test_service_import_table_of_the_real_server_holds);
    RUN_TEST(test_reply_is_private_and_of_the_known_shape);
    RUN_TEST(test_answer_comes_back_to_the_requestors_inbox_once);
    RUN_TEST(test_nobody_there_counts_as_nobody);
    RUN_TEST(test_streamed_answers_go_on_until_the_empty_one);
    RUN_TEST(test_streamed_answers_end_when_the_requestor_is_gone);
    RUN_TEST(test_answer_may_ask_back);
    RUN_TEST(test_ack_replies_pass_as_they_are);
    RUN_TEST(test_two_accounts_behind_one_name_both_serve);
    RUN_TEST(test_requests_pass_through_several_accounts);
    RUN_TEST(test_import_from_oneself_does_not_loop);
    RUN_TEST(test_requests_do_not_feed_stream_imports);
    RUN_TEST(test_mappings_apply_on_both_sides);
    RUN_TEST(test_answer_may_come_before_the_request_returns);
    RUN_TEST(test_an_answer_may_start_the_next_request);
    RUN_TEST(test_listeners_may_leave_while_request_and_answer_pass);
    RUN_TEST(test_reply_expires_after_two_minutes);
    RUN_TEST(test_each_export_has_its_own_patience_and_answers_renew_it);
    RUN_TEST(test_only_so_many_replies_wait);
    RUN_TEST(test_request_tells_who_asks_and_cannot_be_forged);
    RUN_TEST(test_sharing_tells_more_and_a_chain_names_who_passed_it_on);
    return UNITY_END();
}
