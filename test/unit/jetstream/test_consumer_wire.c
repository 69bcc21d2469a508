/* test_consumer_wire.c: consumers and the account around them, with the real engine behind: who
 * wakes whom, which acks are taken, what an odd inbox can do, and no memory at each step.  The
 * bytes on the wire are compared with nats-server's in test/interop/acks.mjs. */
#include "api/api.h"

#include "api/api_impl.h"
#include "jetstream/jetstream_impl.h"
#include "consumer/consumer_impl.h"
#include "support/no_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unity.h"

static struct loop *loop;
static struct options *options;
static struct accounts *accounts;
static struct account *account;
static struct api *api;
static bool is_closed;
static char dir[64];

struct listener {
    struct router_sub sub;
    unsigned count;
    char text[1024]; /* the last message, subject first */
};
static struct listener answers;

/* --- the world -------------------------------------------------------------------------------- */

static bool hear(struct router_sub *s, const struct router_msg *m)
{
    struct listener *l = mf_container(s, struct listener, sub);

    l->count++;
    (void)snprintf(l->text, sizeof l->text, "%.*s %.*s%.*s", MF_FMT(m->msg->subject),
                   MF_FMT(m->msg->hdr), MF_FMT(m->msg->payload));
    return true;
}

static void join(struct listener *l, const char *pattern, const char *queue)
{
    *l = (struct listener){.sub.deliver = hear};
    TEST_ASSERT_EQUAL(
        0, router_subscribe(account_router(account), mf_str(pattern), mf_str(queue), &l->sub));
}

static void leave(struct listener *l)
{
    router_unsubscribe(account_router(account), &l->sub);
}

static void turns(int n)
{
    while (n-- > 0)
        loop_turn(loop);
}

static size_t send(const char *subject, const char *reply, const char *body)
{
    struct mf_msg m = {mf_str(subject), mf_str(reply), MF_SLICE_NONE, mf_str(body)};

    return account_publish(account, &(struct router_msg){.route = m.subject, .msg = &m});
}

static const char *ask(const char *subject, const char *body)
{
    unsigned before = answers.count;

    send(subject, "answers", body);
    for (int i = 0; i < 1000 && answers.count == before; i++)
        loop_turn(loop);
    return answers.count == before ? "" : answers.text;
}

static void asked(const char *subject, const char *body, const char *part)
{
    const char *text = ask(subject, body);

    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, part), text);
}

static struct js_account *served(void)
{
    return mf_container(mf_list_first(&api->js->list), struct js_account, link);
}

static bool is_there(const char *name)
{
    struct stream *s = catalog_find(served()->catalog, MF_LIT("S"));

    return s != NULL && js_consumers(s) != NULL &&
           consumers_find(js_consumers(s), mf_str(name)) != NULL;
}

static void closed(void *arg)
{
    (void)arg;
    is_closed = true;
}

static int64_t no_time(void *arg)
{
    (void)arg;
    return 1;
}

void setUp(void)
{
    char text[256];
    struct mf_error e;

    (void)snprintf(dir, sizeof dir, "/tmp/test_wire.XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    loop_jobs_inline(loop);
    (void)snprintf(text, sizeof text, "jetstream { store_dir: \"%s\" }\nno_system_account: true\n",
                   dir);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&options, mf_str(text), "test", &e), e.text);
    TEST_ASSERT_EQUAL(0, accounts_new(&accounts, options, no_time, NULL, &e));
    account = accounts_global(accounts);
    TEST_ASSERT_EQUAL_MESSAGE(0,
                              api_open(&api,
                                       &(struct api_setup){.loop = loop,
                                                           .accounts = accounts,
                                                           .options = options,
                                                           .server_name = "one",
                                                           .server_id = "ID",
                                                           .version = "2.15.1",
                                                           .level = 5},
                                       &e),
                              e.text);
    join(&answers, "answers", "");
    asked("$JS.API.STREAM.CREATE.S",
          "{\"name\":\"S\",\"subjects\":[\"s.>\"],\"storage\":\"memory\"}", "did_create");
    asked("s.1", "one", "\"seq\":1");
}

void tearDown(void)
{
    char command[128];

    is_closed = false;
    api_close(api, closed, NULL);
    for (int i = 0; i < 1000 && !is_closed; i++)
        loop_turn(loop);
    TEST_ASSERT_TRUE(is_closed);
    leave(&answers);
    accounts_free(accounts);
    options_free(options);
    loop_free(loop);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    TEST_ASSERT_EQUAL(0, system(command)); /* NOLINT: a folder of our own making */
}

static void consumer_to(const char *name, const char *deliver, const char *more)
{
    char subject[128], body[512];

    (void)snprintf(subject, sizeof subject, "$JS.API.CONSUMER.CREATE.S.%s", name);
    (void)snprintf(body, sizeof body,
                   "{\"stream_name\":\"S\",\"config\":{\"name\":\"%s\",\"durable_name\":\"%s\","
                   "\"ack_policy\":\"explicit\"%s%s%s%s}}",
                   name, name, *deliver == '\0' ? "" : ",\"deliver_subject\":\"", deliver,
                   *deliver == '\0' ? "" : "\"", more);
    asked(subject, body, "\"created\":");
}

/* --- waiting for a subscriber ----------------------------------------------------------------- */

/* Who subscribes is in the middle of it: the first message must not come from inside. */
static void test_a_subscriber_is_served_at_the_end_of_its_turn(void)
{
    struct listener x;

    consumer_to("C", "to.c", "");
    TEST_ASSERT_EQUAL_size_t(1, js_wire(served())->waits.by_subject.count);
    join(&x, "to.c", "");
    TEST_ASSERT_EQUAL_UINT(0, x.count);
    turns(3);
    TEST_ASSERT_EQUAL_UINT(1, x.count);
    TEST_ASSERT_EQUAL_STRING("s.1 one", x.text);
    TEST_ASSERT_EQUAL_size_t(0, js_wire(served())->waits.by_subject.count);
    leave(&x);
}

/* A thousand that wait, and one subscription: only its own consumer is looked at. */
static void test_only_those_that_wait_for_the_subject_wake(void)
{
    enum { N = 200 };
    struct listener x, other;
    char name[16], deliver[16];

    for (int i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "C%d", i);
        (void)snprintf(deliver, sizeof deliver, "to.%d", i);
        consumer_to(name, deliver, "");
    }
    TEST_ASSERT_EQUAL_size_t(N, js_wire(served())->waits.by_subject.count);
    join(&x, "to.77", "");
    join(&other, "elsewhere", "");
    TEST_ASSERT_TRUE(mf_list_first(&js_wire(served())->waits.woken)->next ==
                     &js_wire(served())->waits.woken);
    turns(3);
    TEST_ASSERT_EQUAL_UINT(1, x.count);
    TEST_ASSERT_EQUAL_size_t(N - 1, js_wire(served())->waits.by_subject.count);
    leave(&x);
    leave(&other);
}

static void test_a_deliver_group_wakes_for_its_members_only(void)
{
    struct listener plain, other, member;

    join(&plain, "to.c", "");
    consumer_to("C", "to.c", ",\"deliver_group\":\"q\"");
    join(&other, "to.c", "p");
    turns(3);
    TEST_ASSERT_EQUAL_UINT(0, plain.count + other.count);
    join(&member, "to.c", "q");
    turns(3);
    TEST_ASSERT_EQUAL_UINT(1, member.count);
    TEST_ASSERT_EQUAL_UINT(1, plain.count); /* once it runs, it is a subject like any other */
    leave(&plain);
    leave(&other);
    leave(&member);
}

static void test_who_leaves_in_the_same_turn_was_never_there(void)
{
    struct listener x;

    consumer_to("C", "to.c", "");
    join(&x, "to.c", "");
    leave(&x);
    turns(3);
    TEST_ASSERT_EQUAL_UINT(0, x.count);
    TEST_ASSERT_EQUAL_size_t(1, js_wire(served())->waits.by_subject.count);
    join(&x, "to.c", "");
    turns(3);
    TEST_ASSERT_EQUAL_UINT(1, x.count);
    leave(&x);
}

/* Between the subscription and the end of the turn the consumer, or all of the stream, may go. */
static void test_what_goes_while_it_is_being_woken_is_forgotten(void)
{
    struct listener x;

    consumer_to("C", "to.c", "");
    consumer_to("D", "to.c2", "");
    join(&x, "to.c", "");
    send("$JS.API.CONSUMER.DELETE.S.C", "answers", "");
    TEST_ASSERT_FALSE(is_there("C"));
    turns(3);
    TEST_ASSERT_EQUAL_UINT(0, x.count);
    leave(&x);
    join(&x, "to.c2", "");
    asked("$JS.API.STREAM.DELETE.S", "", "success");
    turns(3);
    TEST_ASSERT_EQUAL_UINT(0, x.count);
    TEST_ASSERT_EQUAL_size_t(0, js_wire(served())->waits.by_subject.count);
    leave(&x);
}

/* Without memory to note who waits, a subscriber is found all the same, only less quickly. */
static void test_no_memory_to_wait_is_no_reason_to_wait_forever(void)
{
    static const char body[] = "{\"stream_name\":\"S\",\"config\":{\"name\":\"C\",\"ack_policy\":"
                               "\"none\",\"deliver_subject\":\"to.c\",\"mem_storage\":true}}";
    bool all_failed = false, lost = false;

    for (long n = 1; !all_failed; n++) {
        struct listener x;
        fail_at = allocations + n;
        send("$JS.API.CONSUMER.CREATE.S.C", "answers", body);
        all_failed = allocations < fail_at;
        fail_at = 0;
        turns(3);
        lost = lost || js_wire(served())->waits.lost;
        join(&x, "to.c", "");
        turns(5);
        if (is_there("C")) {
            char text[64];
            (void)snprintf(text, sizeof text, "allocation %ld", n);
            TEST_ASSERT_EQUAL_UINT_MESSAGE(1, x.count, text);
            ask("$JS.API.CONSUMER.DELETE.S.C", "");
        }
        leave(&x);
        TEST_ASSERT_LESS_THAN(10000, n);
    }
    TEST_ASSERT_TRUE_MESSAGE(lost, "this test must fail the note once");
    TEST_ASSERT_FALSE(js_wire(served())->waits.lost);
}

/* --- acks ------------------------------------------------------------------------------------- */

/* Taken or not: that is what tells a publisher that nobody is there. */
static void test_acks_are_taken_by_consumers_that_want_them(void)
{
    static const struct {
        const char *subject;
        size_t taken;
    } table[] = {
        {"$JS.ACK.S.C.1.1.1.1.0", 1},
        {"$JS.ACK.S.C.a.b.c.d.e", 1},
        {"$JS.ACK._.szMpdrwD.S.C.1.1.1.1.0", 1},
        {"$JS.ACK._.szMpdrwD.S.C.1.1.1.1.0.x.y", 1},
        {"$JS.ACK._.szMpdrwD.S.C.1.1.1.1", 0},
        {"$JS.ACK._.szMpdrwE.S.C.1.1.1.1.0", 0},
        {"$JS.ACK.hub.szMpdrwD.S.C.1.1.1.1.0", 0},
        {"$JS.ACK.S.C.1.1.1.1", 0},
        {"$JS.ACK.S.C.1.1.1.1.0.1", 0},
        {"$JS.ACK.S.N.1.1.1.1.0", 0},
        {"$JS.ACK.S.X.1.1.1.1.0", 0},
        {"$JS.ACK.X.C.1.1.1.1.0", 0},
        {"$JS.ACK.S", 0},
        {"$JS.FC.S.C.abcd", 0},
        {"$JS.FC.S.F.abcd", 1},
        {"$JS.FC._.szMpdrwD.S.F.abcd", 1},
        {"$JS.FC._.szMpdrwE.S.F.abcd", 0},
        {"$JS.FC.S.F", 0},
        {"$JS.FC.S.F.abcd.e", 0},
        {"$JS.API.CONSUMER.MSG.NEXT.S.C", 1},
        {"$JS.API.CONSUMER.MSG.NEXT.S.X", 0},
        {"$JS.API.CONSUMER.MSG.NEXT.X.C", 0},
        {"$JS.API.CONSUMER.MSG.NEXT.S", 0},
        {"$JS.API.CONSUMER.MSG.NEXT.S.C.D", 0},
    };

    consumer_to("C", "", "");
    asked("$JS.API.CONSUMER.CREATE.S.N",
          "{\"stream_name\":\"S\",\"config\":{\"name\":\"N\",\"ack_policy\":\"none\"}}",
          "\"created\":");
    consumer_to("F", "to.f", ",\"flow_control\":true,\"idle_heartbeat\":1000000000");
    for (size_t i = 0; i < MF_COUNT(table); i++)
        TEST_ASSERT_EQUAL_MESSAGE(table[i].taken, send(table[i].subject, "", ""), table[i].subject);
    asked("$JS.API.STREAM.INFO.S", "", "\"consumer_count\":3}");
    asked("$JS.API.INFO", "", "\"consumers\":3,");
}

/* Without memory to confirm an ack there is no answer, and none later: who asks again is answered
 * once. */
static void test_no_memory_to_confirm_an_ack_leaves_nothing_behind(void)
{
    struct listener x;

    consumer_to("C", "", "");
    join(&x, "inbox", "");
    send("$JS.API.CONSUMER.MSG.NEXT.S.C", "inbox", "{\"batch\":1,\"no_wait\":true}");
    turns(3);
    TEST_ASSERT_EQUAL_UINT(1, x.count);
    leave(&x);
    asked("$JS.ACK.S.C.1.1.1.1.0", "+ACK", "answers");
    for (long n = 1; n <= 2; n++) {
        unsigned before = answers.count;
        fail_at = allocations + n;
        send("$JS.ACK.S.C.1.1.1.1.0", "answers", "+ACK");
        turns(5);
        fail_at = 0;
        TEST_ASSERT_EQUAL_UINT(before, answers.count);
        asked("$JS.ACK.S.C.1.1.1.1.0", "+ACK", "answers");
        turns(5);
        TEST_ASSERT_EQUAL_UINT(before + 1, answers.count);
    }
}

/* The end of the turn, where memory for writing the state may be short: what was not written is not
 * confirmed. */
static void test_an_ack_whose_state_is_not_written_is_not_confirmed(void)
{
    struct consumers *g = js_consumers(catalog_find(served()->catalog, MF_LIT("S")));
    bool all_failed = false, unwritten = false;
    struct listener x;

    consumer_to("C", "", "");
    const struct consumer *c = consumers_find(g, MF_LIT("C"));
    join(&x, "inbox", "");
    for (long n = 1; !all_failed; n++) {
        char ack[64], text[64];
        unsigned before = answers.count;
        (void)snprintf(ack, sizeof ack, "$JS.ACK.S.C.1.%ld.%ld.1.0", n, n);
        (void)snprintf(text, sizeof text, "allocation %ld", n);
        send("$JS.API.CONSUMER.MSG.NEXT.S.C", "inbox", "{\"batch\":1,\"no_wait\":true}");
        turns(5);
        TEST_ASSERT_EQUAL_UINT((unsigned)n, x.count);
        fail_at = allocations + n;
        send(ack, "answers", "+ACK");
        state_flush_group(&g->flush_run);
        all_failed = allocations < fail_at;
        fail_at = 0;
        unwritten = unwritten || c->state.dirty;
        bool written = !c->state.dirty;
        turns(5);
        TEST_ASSERT_TRUE_MESSAGE(written || answers.count == before, text);
        asked(ack, "+ACK", "answers"); /* again */
        TEST_ASSERT_FALSE_MESSAGE(c->state.dirty, text);
        asked("s.x", "", "\"seq\"");
    }
    TEST_ASSERT_TRUE_MESSAGE(unwritten, "this test must fail a write");
    leave(&x);
}

/* A client may name any subject as its inbox: what is delivered there is no command, or a consumer
 * could be deleted from inside its own delivery. */
static void test_what_a_consumer_sends_does_not_come_back_into_it(void)
{
    static const char *const inboxes[] = {
        "$JS.API.CONSUMER.DELETE.S.C", "$JS.API.STREAM.DELETE.S", "$JS.API.CONSUMER.MSG.NEXT.S.C",
        "$JS.API.STREAM.PURGE.S",      "$JS.ACK.S.C.1.1.1.1.0",   "$JS.FC.S.C.abcd",
    };

    consumer_to("C", "", "");
    for (size_t i = 0; i < MF_COUNT(inboxes); i++) {
        send("$JS.API.CONSUMER.MSG.NEXT.S.C", inboxes[i], "{\"batch\":3,\"no_wait\":true}");
        turns(3);
        send("$JS.ACK.S.C.1.1.1.1.0", inboxes[i], "-NAK");
        turns(3);
        send("$JS.ACK.S.C.1.1.1.1.0", inboxes[i], "+NXT");
        turns(3);
        TEST_ASSERT_TRUE_MESSAGE(is_there("C"), inboxes[i]);
    }
    asked("$JS.API.STREAM.INFO.S", "", "\"messages\":1,");
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_subscriber_is_served_at_the_end_of_its_turn);
    RUN_TEST(test_only_those_that_wait_for_the_subject_wake);
    RUN_TEST(test_a_deliver_group_wakes_for_its_members_only);
    RUN_TEST(test_who_leaves_in_the_same_turn_was_never_there);
    RUN_TEST(test_what_goes_while_it_is_being_woken_is_forgotten);
    RUN_TEST(test_no_memory_to_wait_is_no_reason_to_wait_forever);
    RUN_TEST(test_acks_are_taken_by_consumers_that_want_them);
    RUN_TEST(test_no_memory_to_confirm_an_ack_leaves_nothing_behind);
    RUN_TEST(test_an_ack_whose_state_is_not_written_is_not_confirmed);
    RUN_TEST(test_what_a_consumer_sends_does_not_come_back_into_it);
    return UNITY_END();
}
