/* test_verb.c: the parser of a link's protocol, and the lines that are written. */
#include "leaf/verb_impl.h"

#include "support/guard.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_PAYLOAD 1024

void setUp(void)
{
}

void tearDown(void)
{
    guard_free();
}

static ssize_t parse(const char *text, struct verb_cmd *out)
{
    return verb_parse(guard_copy(text, strlen(text)), strlen(text), MAX_PAYLOAD, out);
}

/* The whole is one command; every prefix of it is incomplete. */
static struct verb_cmd whole(const char *text)
{
    static struct verb_cmd cmd;
    size_t n = strlen(text);

    for (size_t cut = 0; cut < n; cut++)
        TEST_ASSERT_EQUAL_INT64_MESSAGE(
            0, verb_parse(guard_copy(text, cut), cut, MAX_PAYLOAD, &cmd), text);
    TEST_ASSERT_EQUAL_INT64_MESSAGE((int64_t)n,
                                    verb_parse(guard_copy(text, n), n, MAX_PAYLOAD, &cmd), text);
    return cmd;
}

#define IS(text, slice)                                                                            \
    TEST_ASSERT_TRUE_MESSAGE(mf_eq_str(slice, text), "another text than \"" text "\"")

static void test_interest_in_all_its_forms_is_read(void)
{
    struct verb_cmd c = whole("LS+ foo.bar\r\n");

    TEST_ASSERT_EQUAL_INT(VERB_SUB, c.op);
    IS("foo.bar", c.subject);
    IS("", c.queue);
    c = whole("ls+  foo.*   q.1  12 \r\n");
    IS("foo.*", c.subject);
    IS("q.1", c.queue);
    TEST_ASSERT_EQUAL_UINT32(12, c.weight);
    c = whole("LS+ s q 0\r\n");
    TEST_ASSERT_EQUAL_UINT32(0, c.weight);
    c = whole("LS- foo\n");
    TEST_ASSERT_EQUAL_INT(VERB_UNSUB, c.op);
    c = whole("LS- foo q\r\n");
    IS("q", c.queue);
}

/* A large payload arrives in many pieces: its line is parsed once. */
static void test_an_incomplete_payload_tells_how_much_is_awaited(void)
{
    static const char text[] = "HMSG a.b r 12 20\r\nNATS/1.0\r\n\r\n12345678\r\n";
    const size_t line = strlen("HMSG a.b r 12 20\r\n");
    struct verb_cmd c;

    for (size_t cut = 1; cut < sizeof text - 1; cut++) {
        c.whole = 0;
        TEST_ASSERT_EQUAL_INT(0, verb_parse((const uint8_t *)text, cut, 1000, &c));
        TEST_ASSERT_EQUAL_size_t(cut < line ? 0 : sizeof text - 1, c.whole);
    }
}

static void test_messages_in_all_their_forms_are_read(void)
{
    struct verb_cmd c = whole("LMSG a.b 2\r\nhi\r\n");

    TEST_ASSERT_EQUAL_INT(VERB_MSG, c.op);
    IS("a.b", c.subject);
    IS("", c.reply);
    IS("hi", c.payload);
    TEST_ASSERT_EQUAL_UINT32(0, c.nqueues);
    c = whole("lmsg a.b _INBOX.1 0\r\n\r\n");
    IS("_INBOX.1", c.reply);
    IS("", c.payload);
    c = whole("LMSG a | q1 3\r\nxyz\r\n");
    IS("", c.reply);
    TEST_ASSERT_EQUAL_UINT32(1, c.nqueues);
    c = whole("LMSG a + r q1 q2 3\r\nxyz\r\n");
    IS("r", c.reply);
    TEST_ASSERT_EQUAL_UINT32(2, c.nqueues);
    c = whole("HMSG a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n");
    IS("NATS/1.0\r\n\r\n", c.hdr);
    IS("hi", c.payload);
    c = whole("HMSG a r 12 12\r\nNATS/1.0\r\n\r\n\r\n");
    IS("r", c.reply);
    c = whole("HMSG a + r q1 q2 12 14\r\nNATS/1.0\r\n\r\nhi\r\n");
    IS("r", c.reply);
    TEST_ASSERT_EQUAL_UINT32(2, c.nqueues);
    c = whole("HMSG a | q1 12 14\r\nNATS/1.0\r\n\r\nhi\r\n");
    TEST_ASSERT_EQUAL_UINT32(1, c.nqueues);
}

static void test_queues_of_a_message_are_walked(void)
{
    struct verb_cmd c = whole("LMSG a |  q1   q2 q3  3\r\nxyz\r\n");
    struct mf_slice rest = c.queues, name;

    TEST_ASSERT_EQUAL_UINT32(3, c.nqueues);
    TEST_ASSERT_TRUE(verb_next_queue(&rest, &name));
    IS("q1", name);
    TEST_ASSERT_TRUE(verb_next_queue(&rest, &name));
    IS("q2", name);
    TEST_ASSERT_TRUE(verb_next_queue(&rest, &name));
    IS("q3", name);
    TEST_ASSERT_FALSE(verb_next_queue(&rest, &name));
}

static void test_other_verbs_are_read_in_any_case(void)
{
    struct verb_cmd c = whole("INFO {\"a\":1} \r\n");

    TEST_ASSERT_EQUAL_INT(VERB_INFO, c.op);
    IS("{\"a\":1}", c.args);
    c = whole("connect\t{}\r\n");
    TEST_ASSERT_EQUAL_INT(VERB_CONNECT, c.op);
    c = whole("-ERR 'Stale Connection'\r\n");
    TEST_ASSERT_EQUAL_INT(VERB_ERR, c.op);
    IS("Stale Connection", c.args);
    TEST_ASSERT_EQUAL_INT(VERB_PING, whole("PING\r\n").op);
    TEST_ASSERT_EQUAL_INT(VERB_PONG, whole("pong\r\n").op);
    TEST_ASSERT_EQUAL_INT(VERB_OK, whole("+OK\r\n").op);
    TEST_ASSERT_EQUAL_INT(VERB_IGNORE, whole("PUB x 0\r\n\r\n").op);
}

static void test_violations_have_their_answer(void)
{
    static const struct {
        const char *text;
        ssize_t error;
    } row[] = {
        {"BOGUS x\r\n", VERB_E_UNKNOWN},
        {"\r\n", VERB_E_UNKNOWN},
        {"LS* x\r\n", VERB_E_UNKNOWN},
        {"LS+x\r\n", VERB_E_UNKNOWN},
        {"CONNECT{}\r\n", VERB_E_UNKNOWN},
        {"LS+ \r\n", VERB_E_ARGS},
        {"LS+ foo q\r\n", VERB_E_ARGS},
        {"LS+ foo q x\r\n", VERB_E_ARGS},
        {"LS+ foo q 1 2\r\n", VERB_E_ARGS},
        {"LS- foo q 1\r\n", VERB_E_ARGS},
        {"LMSG x\r\n", VERB_E_ARGS},
        {"LMSG\r\n", VERB_E_ARGS},
        {"LMSG x -1\r\n", VERB_E_ARGS},
        {"LMSG x 1234567890\r\n", VERB_E_ARGS},
        {"LMSG x r q 1\r\n", VERB_E_ARGS},
        {"LMSG x + r 1\r\n", VERB_E_ARGS},
        {"HMSG x 1\r\n", VERB_E_ARGS},
        {"HMSG x 3 2\r\n", VERB_E_ARGS},
        {"SUB foo 1\r\n", VERB_E_ARGS},
        {"UNSUB 1\r\n", VERB_E_ARGS},
        {"LMSG x 1025\r\n", VERB_E_PAYLOAD},
        {"HMSG x 12 1025\r\n", VERB_E_PAYLOAD},
        {"LMSG x 2\r\nabcd\r\n", VERB_E_UNKNOWN},
        {"LMSG x 2\r\nab\n\n", VERB_E_UNKNOWN},
    };
    struct verb_cmd cmd;

    for (size_t i = 0; i < MF_COUNT(row); i++)
        TEST_ASSERT_EQUAL_INT64_MESSAGE(row[i].error, parse(row[i].text, &cmd), row[i].text);
}

/* The longest line is read, one byte more is refused before its end has come. */
static void test_a_control_line_has_a_limit(void)
{
    char *line = malloc(VERB_LINE_MAX + 64);
    struct verb_cmd cmd;

    TEST_ASSERT_NOT_NULL(line);
    memset(line, 'a', VERB_LINE_MAX + 64);
    memcpy(line, "LS+ ", 4);
    memcpy(line + VERB_LINE_MAX + 3, "\r\n", 2);
    TEST_ASSERT_EQUAL_INT64(VERB_LINE_MAX + 5,
                            verb_parse((uint8_t *)line, VERB_LINE_MAX + 5, MAX_PAYLOAD, &cmd));
    memset(line + 4, 'a', VERB_LINE_MAX + 60);
    TEST_ASSERT_EQUAL_INT64(0, verb_parse((uint8_t *)line, VERB_LINE_MAX + 4, MAX_PAYLOAD, &cmd));
    TEST_ASSERT_EQUAL_INT64(VERB_E_LINE,
                            verb_parse((uint8_t *)line, VERB_LINE_MAX + 5, MAX_PAYLOAD, &cmd));
    free(line);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void writes(const char *want, const struct verb_line *l)
{
    uint8_t dst[256];
    size_t n;

    TEST_ASSERT_TRUE(verb_line_room(l) <= sizeof dst);
    n = verb_line_write(dst, l);
    TEST_ASSERT_TRUE(n <= verb_line_room(l));
    dst[n] = '\0';
    TEST_ASSERT_EQUAL_STRING(want, (char *)dst);
}

static void test_message_lines_have_nats_servers_form(void)
{
    struct mf_slice queue[] = {MF_LIT("q1"), MF_LIT("q2")};

    writes("LMSG a 2\r\n", &(struct verb_line){.subject = MF_LIT("a"), .size = 2});
    writes("LMSG a r 2\r\n",
           &(struct verb_line){.subject = MF_LIT("a"), .reply = MF_LIT("r"), .size = 2});
    writes(
        "HMSG a r 12 14\r\n",
        &(struct verb_line){.subject = MF_LIT("a"), .reply = MF_LIT("r"), .hdr = 12, .size = 14});
    writes("LMSG a | q1 q2 2\r\n",
           &(struct verb_line){.subject = MF_LIT("a"), .queue = queue, .nqueues = 2, .size = 2});
    writes("HMSG a + r q1 12 14\r\n", &(struct verb_line){.subject = MF_LIT("a"),
                                                          .reply = MF_LIT("r"),
                                                          .queue = queue,
                                                          .nqueues = 1,
                                                          .hdr = 12,
                                                          .size = 14});
    writes("LMSG _INBOX.p $JS.ACK.L.D.1.1.1.9.1@l.1 2\r\n",
           &(struct verb_line){.subject = MF_LIT("_INBOX.p"),
                               .reply = MF_LIT("$JS.ACK.L.D.1.1.1.9.1"),
                               .shown = MF_LIT("l.1"),
                               .size = 2});
}

static void test_a_shown_subject_is_split_from_acks_alone(void)
{
    struct mf_slice reply = MF_LIT("$JS.ACK.L.D.1.1.1.9.1@l.1"), shown = MF_LIT("x");

    TEST_ASSERT_TRUE(verb_split_reply(&reply, &shown));
    IS("$JS.ACK.L.D.1.1.1.9.1", reply);
    IS("l.1", shown);
    reply = MF_LIT("$JS.ACK.hub.hash.L.D.1.1.1.9.1@l.@2");
    TEST_ASSERT_TRUE(verb_split_reply(&reply, &shown));
    IS("l.@2", shown);
    static const char *const others[] = {"$JS.ACK.L.D.1.1.1.9.1", "_INBOX.a@b", "$JS.ACK.a@b.c",
                                         "$JS.ACK.L.D.1.1.1.9.1@", ""};
    for (size_t i = 0; i < MF_COUNT(others); i++) {
        reply = mf_str(others[i]);
        TEST_ASSERT_FALSE_MESSAGE(verb_split_reply(&reply, &shown), others[i]);
        IS("l.@2", shown);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_interest_in_all_its_forms_is_read);
    RUN_TEST(test_an_incomplete_payload_tells_how_much_is_awaited);
    RUN_TEST(test_messages_in_all_their_forms_are_read);
    RUN_TEST(test_queues_of_a_message_are_walked);
    RUN_TEST(test_other_verbs_are_read_in_any_case);
    RUN_TEST(test_violations_have_their_answer);
    RUN_TEST(test_a_control_line_has_a_limit);
    RUN_TEST(test_message_lines_have_nats_servers_form);
    RUN_TEST(test_a_shown_subject_is_split_from_acks_alone);
    return UNITY_END();
}
