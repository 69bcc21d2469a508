/* test_proto.c: the parser's table of behaviours, as observed on nats-server 2.15.1 (the same
 * dialogs run against servers in test/wire/violations.txt), and its promises about cut input. */
#include "proto/proto.h"

#include "support/guard.h"
#include "support/proto_model.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static const struct proto_limits normal = {4096, 1048576, true, false};
static const struct proto_limits tiny = {16, 8, true, false};
static const struct proto_limits no_headers = {4096, 1048576, false, false};
static const struct proto_limits login = {4096, 1048576, true, true};

struct row {
    const struct proto_limits *lim;
    struct mf_slice in;
    const char *outcome; /* as outcome_text() writes it */
};
#define ROW(lim, in, outcome)                                                                      \
    {                                                                                              \
        &(lim), {(const uint8_t *)(in), sizeof(in) - 1}, (outcome)                                 \
    }

void setUp(void)
{
}

void tearDown(void)
{
    guard_free();
}

/* --- outcomes as text ------------------------------------------------------------------------- */

static size_t put_escaped(char *dst, size_t cap, size_t at, struct mf_slice s)
{
    for (size_t i = 0; i < s.len && at + 8 < cap; i++) {
        if (s.ptr[i] < ' ' || s.ptr[i] > '~')
            at += (size_t)snprintf(dst + at, cap - at, "\\x%02x", s.ptr[i]);
        else
            dst[at++] = (char)s.ptr[i];
    }
    dst[at] = '\0';
    return at;
}

static const char *error_name(ssize_t rc)
{
    switch (rc) {
    case PROTO_E_UNKNOWN:
        return "unknown";
    case PROTO_E_ARGS:
        return "args";
    case PROTO_E_LINE:
        return "line";
    case PROTO_E_PAYLOAD:
        return "payload";
    case PROTO_E_AUTH:
        return "auth";
    default:
        return "?";
    }
}

/* "PUB subject=a payload=hi used=12", "wait 12" (with need), or the error's name. */
static const char *outcome_text(ssize_t rc, const struct proto_cmd *c)
{
    static const char *const names[] = {"CONNECT", "PUB",  "HPUB", "SUB", "UNSUB",
                                        "PING",    "PONG", "INFO", "OK",  "ERR"};
    static char text[256];
    const struct {
        const char *name;
        struct mf_slice value;
    } fields[] = {{"args", c->args},      {"subject", c->subject}, {"reply", c->reply},
                  {"queue", c->queue},    {"sid", c->sid},         {"hdr", c->hdr},
                  {"payload", c->payload}};
    size_t at;

    if (rc < 0)
        return error_name(rc);
    if (rc == 0) {
        snprintf(text, sizeof text, "wait %zu", c->need);
        return text;
    }
    at = (size_t)snprintf(text, sizeof text, "%s", names[c->op]);
    for (size_t i = 0; i < MF_COUNT(fields); i++) {
        if (fields[i].value.len > 0) {
            at += (size_t)snprintf(text + at, sizeof text - at, " %s=", fields[i].name);
            at = put_escaped(text, sizeof text, at, fields[i].value);
        }
    }
    if (c->max > 0)
        at +=
            (size_t)snprintf(text + at, sizeof text - at, " max=%llu", (unsigned long long)c->max);
    return text;
}

/* --- the promise about cuts ------------------------------------------------------------------- */

/* Every prefix, ending at an unmapped page, must be incomplete or already the final error, agree
 * with the slow model, and never ask for more bytes than the command has. */
static void check_cuts(struct mf_slice in, const struct proto_limits *lim, const char *why)
{
    struct proto_cmd whole, part, model;
    ssize_t final = proto_parse(in.ptr, in.len, lim, &whole);
    size_t end = final > 0 ? (size_t) final : in.len;

    for (size_t cut = 0; cut <= end; cut++) {
        const uint8_t *copy = guard_copy(in.ptr, cut);
        ssize_t rc = proto_parse(copy, cut, lim, &part);
        const char *diff = model_differs(rc, &part, model_parse(copy, cut, lim, &model), &model);

        TEST_ASSERT_NULL_MESSAGE(diff, why);
        if (rc == 0) {
            TEST_ASSERT_GREATER_THAN_UINT64_MESSAGE(cut, part.need, why);
            if (final > 0)
                TEST_ASSERT_LESS_OR_EQUAL_UINT64_MESSAGE(end, part.need, why);
        } else {
            TEST_ASSERT_EQUAL_INT64_MESSAGE(final, rc, why);
        }
        if (final > 0 && cut < end)
            TEST_ASSERT_EQUAL_INT64_MESSAGE(0, rc, why);
    }
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char why[200];
        size_t at = (size_t)snprintf(why, sizeof why, "row %zu: ", i);
        struct proto_cmd cmd;
        ssize_t rc;

        put_escaped(why, sizeof why, at, rows[i].in);
        rc = proto_parse(guard_copy(rows[i].in.ptr, rows[i].in.len), rows[i].in.len, rows[i].lim,
                         &cmd);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(rows[i].outcome, outcome_text(rc, &cmd), why);
        check_cuts(rows[i].in, rows[i].lim, why);
    }
}

/* --- the tables ------------------------------------------------------------------------------- */

static void test_framing_follows_the_reference(void)
{
    static const struct row rows[] = {
        ROW(normal, "", "wait 1"),
        ROW(normal, "PUB a 2\nhi\r\n", "PUB subject=a payload=hi"), /* LF alone ends a line */
        ROW(normal, "PUB a 2\nhi\n", "unknown"),                    /* but not a payload */
        ROW(normal, "PUB\ta\tb\t2\t\r\nhi\r\n", "PUB subject=a reply=b payload=hi"),
        ROW(normal, "SUB  \t a \t 1  \t\r\n", "SUB subject=a sid=1"),
        ROW(normal, "pUb a 0\r\n\r\n", "PUB subject=a"), ROW(normal, "\r\n", "unknown"),
        ROW(normal, "\n", "unknown"), ROW(normal, " PING\r\n", "unknown"),
        ROW(normal, "\0", "unknown"), ROW(normal, "PUB\0a 2\r\nhi\r\n", "unknown"),
        ROW(normal, "PUB\va 2\r\nhi\r\n", "unknown"), ROW(normal, "P", "wait 2"),
        ROW(normal, "PX", "unknown"), ROW(normal, "PU\n", "unknown"), ROW(normal, "PUB", "wait 4"),
        ROW(normal, "PUBa 2\r\nhi\r\n", "unknown"), ROW(normal, "GET / HTTP/1.1\r\n", "unknown"),
        ROW(normal, "\x16\x03\x01\x02", "unknown"), /* a TLS hello */
        ROW(normal, "MSG a 1 2\r\nhi\r\n", "unknown"),
        ROW(normal, "HMSG a 1 2 2\r\nhi\r\n", "unknown"), ROW(normal, "RS+ a\r\n", "unknown"),
        ROW(normal, "LS+ a\r\n", "unknown"), ROW(normal, "A+ a\r\n", "unknown"),
        /* A NUL is a byte like any other. */
        ROW(normal, "PUB a\0b 2\r\nhi\r\n", "PUB subject=a\\x00b payload=hi"),
        ROW(normal, "SUB a\0b 1\r\n", "SUB subject=a\\x00b sid=1"),
        /* A CR anywhere costs the line its last byte, and splits the arguments of SUB only. */
        ROW(normal, "PUB a\rb 2\r\nhi\r\n", "PUB subject=a\\x0db payload=hi"),
        ROW(normal, "PUB a\rb 23\nhi\r\n", "PUB subject=a\\x0db payload=hi"),
        ROW(normal, "PUB a 2\r\r\nhi\r\n", "args"),
        ROW(normal, "SUB a\rb 1\r\n", "SUB subject=a queue=b sid=1"),
        ROW(normal, "SUB a\rb 12\n", "SUB subject=a queue=b sid=1"),
        ROW(normal, "SUB a 1\r\r\n", "SUB subject=a sid=1"),
        /* The first byte behind the blanks is an argument, even if it is a line break. */
        ROW(normal, "SUB \n", "wait 6"), ROW(normal, "SUB \na 1\r\n", "SUB subject=a sid=1"),
        ROW(normal, "PUB \r\n", "args"),
        ROW(normal, "PUB \nfoo 2\r\nhi\r\n", "args"), /* ours: would forge lines downstream */
    };
    check_rows(rows, MF_COUNT(rows));
}

static void test_pub_arguments_follow_the_reference(void)
{
    static const struct row rows[] = {
        ROW(normal, "PUB\r\n", "unknown"),
        ROW(normal, "PUB a\r\n", "args"),
        ROW(normal, "PUB a b c 5\r\nhello\r\n", "args"),
        ROW(normal, "PUB a b c d 5\r\nhello\r\n", "args"),
        ROW(normal, "PUB a 000000002\r\nhi\r\n", "PUB subject=a payload=hi"), /* 9 digits */
        ROW(normal, "PUB a 0000000002\r\nhi\r\n", "args"),                    /* 10 */
        ROW(normal, "PUB a 999999999\r\n", "payload"),
        ROW(normal, "PUB a 1000000000\r\n", "args"),
        ROW(normal, "PUB a -1\r\n", "args"),
        ROW(normal, "PUB a +1\r\nx\r\n", "args"),
        ROW(normal, "PUB a 0x1\r\nx\r\n", "args"),
        ROW(normal, "PUB a 1,0\r\nx\r\n", "args"),
        ROW(normal, "PUB a 2\r\nhix\r\n", "unknown"),
        ROW(normal, "PUB a 2\r\nhix", "unknown"),
        ROW(normal, "PUB a 2\r\nhi\rx", "unknown"),
        ROW(normal, "PUB a 2\r\nhi\r", "wait 13"),
        ROW(normal, "PUB a 5\r\nhi\r\n", "wait 16"),
        ROW(normal, "PUB a 5\r\nhi\r\nPING\r\n", "unknown"),
        ROW(normal, "PUB a 0\r\n\r\nPING\r\n", "PUB subject=a"),
        ROW(normal, "PUB a 0\r\nPING\r\n", "unknown"),
        ROW(normal, "PUB a 1048576\r\n", "wait 1048593"),
        ROW(normal, "PUB a 1048577\r\n", "payload"),
        ROW(tiny, "PUB a 8\r\n12345678\r\n", "PUB subject=a payload=12345678"),
        ROW(tiny, "PUB a 9\r\n", "payload"),
    };
    check_rows(rows, MF_COUNT(rows));
}

static void test_hpub_arguments_follow_the_reference(void)
{
    static const struct row rows[] = {
        ROW(normal, "HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
            "HPUB subject=a hdr=NATS/1.0\\x0d\\x0a\\x0d\\x0a payload=hi"),
        ROW(normal, "HPUB a b 12 12\r\nNATS/1.0\r\n\r\n\r\n",
            "HPUB subject=a reply=b hdr=NATS/1.0\\x0d\\x0a\\x0d\\x0a"),
        ROW(normal, "hpub a 4 6\r\nxxxxhi\r\n", "HPUB subject=a hdr=xxxx payload=hi"),
        ROW(normal, "HPUB a 0 2\r\nhi\r\n", "HPUB subject=a payload=hi"),
        ROW(normal, "HPUB a 3 2\r\nhi\r\n", "args"),
        ROW(normal, "HPUB a 5\r\nhello\r\n", "args"),
        ROW(normal, "HPUB a b c 5 5\r\nhello\r\n", "args"),
        ROW(normal, "HPUB a x 12\r\n", "args"),
        ROW(normal, "HPUB a 12 x\r\n", "args"),
        ROW(normal, "HPUB a -1 12\r\n", "args"),
        ROW(normal, "HPUB a 12 1048577\r\n", "payload"),
        ROW(normal, "HPUB a 2000000 1048577\r\n", "args"), /* the lie is told before the size */
        ROW(no_headers, "HPUB a 0 2\r\nhi\r\n", "args"),
        ROW(no_headers, "HPUB a 0 9999999\r\n", "args"),
        ROW(normal, "HX", "unknown"),
    };
    check_rows(rows, MF_COUNT(rows));
}

static void test_sub_and_unsub_arguments_follow_the_reference(void)
{
    static const struct row rows[] = {
        ROW(normal, "SUB\r\n", "unknown"),
        ROW(normal, "SUB \r\n", "args"),
        ROW(normal, "SUB a\r\n", "args"),
        ROW(normal, "SUB a 1\r\n", "SUB subject=a sid=1"),
        ROW(normal, "SUB a.> workers x9\r\n", "SUB subject=a.> queue=workers sid=x9"),
        ROW(normal, "SUB a b c d\r\n", "args"),
        ROW(normal, "SUB a b c d e f\r\n", "args"),
        ROW(normal, "UNSUB\r\n", "unknown"),
        ROW(normal, "UNSUB \r\n", "args"),
        ROW(normal, "UNSUB 1\r\n", "UNSUB sid=1"),
        ROW(normal, "UNSUB 1 5\r\n", "UNSUB sid=1 max=5"),
        ROW(normal, "UNSUB 1 999999999\r\n", "UNSUB sid=1 max=999999999"),
        ROW(normal, "UNSUB 1 1000000000\r\n", "UNSUB sid=1"), /* unreadable: at once */
        ROW(normal, "UNSUB 1 0\r\n", "UNSUB sid=1"),
        ROW(normal, "UNSUB 1 -5\r\n", "UNSUB sid=1"),
        ROW(normal, "UNSUB 1 abc\r\n", "UNSUB sid=1"),
        ROW(normal, "UNSUB 1 2 3\r\n", "args"),
    };
    check_rows(rows, MF_COUNT(rows));
}

static void test_other_verbs_follow_the_reference(void)
{
    static const struct row rows[] = {
        ROW(normal, "PING\r\n", "PING"),
        ROW(normal, "ping\n", "PING"),
        ROW(normal, "PINGX\r\n", "PING"),
        ROW(normal, "PING some words\r\n", "PING"),
        ROW(normal, "PONG\r\n", "PONG"),
        ROW(normal, "PONGarg\r\n", "PONG"),
        ROW(normal, "+OK\r\n", "OK"),
        ROW(normal, "+ok anything\r\n", "OK"),
        ROW(normal, "+KO\r\n", "unknown"),
        ROW(normal, "-ERR 'gone'\r\n", "ERR args='gone'"),
        ROW(normal, "-ERR\r\n", "unknown"),
        ROW(normal, "-ERR \r\n", "ERR"),
        ROW(normal, "INFO {}\r\n", "INFO args={}"),
        ROW(normal, "INFO{}\r\n", "INFO args={}"),
        ROW(normal, "INFO\r\n", "INFO"),
        ROW(normal, "CONNECT {\"verbose\":false}\r\n", "CONNECT args={\"verbose\":false}"),
        ROW(normal, "connect\t {} \t\r\n", "CONNECT args={}"),
        ROW(normal, "CONNECT{}\n", "CONNECT args={}"),
        ROW(normal, "CONNECT\r\n", "CONNECT"), /* no JSON: the session closes */
        ROW(normal, "CONNECT \n{}\r\n", "CONNECT args={}"),
        ROW(normal, "CONNEXION {}\r\n", "unknown"),
        /* Where credentials are due, the first byte decides. */
        ROW(login, "PING\r\n", "auth"),
        ROW(login, "\r\n", "auth"),
        ROW(login, "PUB a 2\r\nhi\r\n", "auth"),
        ROW(login, "INFO {}\r\n", "auth"),
        ROW(login, "+OK\r\n", "auth"),
        ROW(login, "CX", "unknown"),
        ROW(login, "CONNECT {}\r\n", "CONNECT args={}"),
        ROW(login, "c", "wait 2"),
    };
    check_rows(rows, MF_COUNT(rows));
}

/* The limit counts from the first argument byte to the CR.  Blanks in front and junk are counted
 * apart, so that no client can make the server buffer without end. */
static void test_control_line_limit_is_exact(void)
{
    static const struct row rows[] = {
        ROW(tiny, "SUB 12345678901234 1\r\n", "SUB subject=12345678901234 sid=1"),
        ROW(tiny, "SUB 12345678901234 1\n", "SUB subject=12345678901234 sid=1"),
        ROW(tiny, "SUB 123456789012345 1\r\n", "line"),
        ROW(tiny, "SUB 123456789012345 1\n", "line"),
        ROW(tiny, "SUB 1234567890123456", "wait 21"),
        ROW(tiny, "SUB 1234567890123456\r", "wait 22"),
        ROW(tiny, "SUB 12345678901234567", "line"),
        ROW(tiny, "SUB a 1             \r\n", "SUB subject=a sid=1"),
        ROW(tiny, "SUB a 1              \r\n", "line"), /* trailing blanks count */
        ROW(tiny, "SUB                 12345678901234 1\r\n", "line"),
        ROW(tiny, "SUB                12345678901234 1\r\n", "SUB subject=12345678901234 sid=1"),
        ROW(tiny, "PUB 12345678901234 0\r\n\r\n", "PUB subject=12345678901234"),
        ROW(tiny, "PUB 123456789012345 0\r\n\r\n", "line"),
        ROW(tiny, "HPUB 123456789012 0 0\r\n\r\n", "HPUB subject=123456789012"),
        ROW(tiny, "HPUB 1234567890123 0 0\r\n\r\n", "line"),
        ROW(tiny, "UNSUB 12345678901234567\r\n", "line"),
        ROW(tiny, "CONNECT {\"name\":\"12345\"}\r\n", "CONNECT args={\"name\":\"12345\"}"),
        ROW(tiny, "CONNECT {\"name\":\"123456\"}\r\n", "line"),
        ROW(tiny, "-ERR 12345678901234567\r\n", "line"),
        ROW(tiny, "PING123456789012345\r\n", "PING"),
        ROW(tiny, "PING12345678901234567", "line"),
        ROW(tiny, "+OK12345678901234567\r\n", "line"),
    };
    check_rows(rows, MF_COUNT(rows));
}

/* A payload that is still on its way is not looked at: only `need` is computed again. */
static void test_incomplete_payload_asks_for_the_whole_command(void)
{
    static const char line[] = "PUB big 100000\r\n";
    uint8_t *buf = calloc(1, 100100);
    struct proto_cmd cmd;

    TEST_ASSERT_NOT_NULL(buf);
    memcpy(buf, line, sizeof line - 1);
    for (size_t have = sizeof line - 1; have < 100000 + sizeof line; have += 999) {
        TEST_ASSERT_EQUAL_INT64(0, proto_parse(guard_copy(buf, have), have, &normal, &cmd));
        TEST_ASSERT_EQUAL_UINT64(sizeof line - 1 + 100000 + 2, cmd.need);
    }
    memcpy(buf + sizeof line - 1 + 100000, "\r\n", 2);
    TEST_ASSERT_EQUAL_INT64(sizeof line - 1 + 100002,
                            proto_parse(buf, sizeof line - 1 + 100002, &normal, &cmd));
    TEST_ASSERT_EQUAL_UINT64(100000, cmd.payload.len);
    free(buf);
}

/* --- random input ----------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t pick(uint32_t n) /* xorshift: the same run every time */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 11) % n;
}

/* Appends a random good command; returns its length. */
static size_t random_command(char *dst, size_t cap)
{
    static const char *const blanks[] = {" ", "\t", "  ", " \t "};
    static const char *const ends[] = {"\r\n", "\n", " \r\n"};
    static const char *const subjects[] = {"a", "orders.created", "$JS.API.INFO", "*", "a.>"};
    const char *b = blanks[pick(4)], *e = ends[pick(3)], *s = subjects[pick(5)];
    unsigned n = pick(40), h = pick(n + 1);
    size_t at = 0;

    switch (pick(9)) {
    case 0:
        return (size_t)snprintf(dst, cap, "PING%s", e);
    case 1:
        return (size_t)snprintf(dst, cap, "SUB%s%s%s%u%s", b, s, b, n, e);
    case 2:
        return (size_t)snprintf(dst, cap, "sub%s%s%sq%s%u%s", b, s, b, b, n, e);
    case 3:
        return (size_t)snprintf(dst, cap, "UNSUB%s%u%s%u%s", b, n, b, h, e);
    case 4:
        return (size_t)snprintf(dst, cap, "CONNECT%s{\"name\":\"%u\"}%s", b, n, e);
    case 5:
        at = (size_t)snprintf(dst, cap, "HPUB%s%s%sre.ply%s%u%s%u%s", b, s, b, b, h, b, n, e);
        break;
    case 6:
        at = (size_t)snprintf(dst, cap, "PUB%s%s%sre.ply%s%u%s", b, s, b, b, n, e);
        break;
    default:
        at = (size_t)snprintf(dst, cap, "PUB%s%s%s%u%s", b, s, b, n, e);
        break;
    }
    for (unsigned i = 0; i < n; i++)
        dst[at++] = (char)pick(256);
    dst[at++] = '\r';
    dst[at++] = '\n';
    return at;
}

/* Commands that arrive in pieces of any size are the commands that were sent. */
static void test_random_splits_equal_whole_parse(void)
{
    static char stream[64 * 1024];
    size_t total = 0, whole = 0, done = 0, have = 0, asked = 0;

    seed = 20240229;
    while (total + 256 < sizeof stream)
        total += random_command(stream + total, 256);
    while (done < total) {
        struct proto_cmd part, full;
        size_t step = 1 + pick(pick(4) == 0 ? 400 : 7);
        ssize_t rc;

        have = have + step > total ? total : have + step;
        /* A caller that trusts `need` and one that does not must see the same. */
        if (pick(2) == 0 && have < asked && have < total)
            continue;
        while (done < have && (rc = proto_parse(guard_copy(stream + done, have - done), have - done,
                                                &normal, &part)) != 0) {
            TEST_ASSERT_EQUAL_INT64(
                proto_parse((uint8_t *)stream + whole, total - whole, &normal, &full), rc);
            TEST_ASSERT_GREATER_THAN_INT64(0, rc);
            TEST_ASSERT_NULL(model_differs(rc, &part, rc, &full));
            done += (size_t)rc;
            whole += (size_t)rc;
        }
        asked = done < have ? done + part.need : 0;
    }
    TEST_ASSERT_EQUAL_UINT64(total, whole);
}

/* Damaged commands: whatever comes, the parser and its slow model agree at every cut. */
static void test_damaged_commands_agree_with_the_model(void)
{
    static const char spice[] = " \t\r\n\0"
                                "0129PpUuBbHhSsNnCc+-{}*>.";

    seed = 19520511;
    for (int i = 0; i < 20000; i++) {
        char cmd[512], why[64];
        size_t len = random_command(cmd, 256);
        const struct proto_limits *lim = pick(4) == 0 ? &tiny : pick(8) == 0 ? &login : &normal;

        if (pick(3) == 0)
            len += random_command(cmd + len, 256);
        for (uint32_t hits = 1 + pick(3); hits > 0; hits--) {
            size_t at = pick((uint32_t)(len < 24 ? len : 24));

            cmd[at] = pick(8) == 0 ? (char)pick(256) : spice[pick(sizeof spice - 1)];
        }
        snprintf(why, sizeof why, "damaged command %d", i);
        check_cuts(mf_slice(cmd, len), lim, why);
    }
}

/* --- writers ---------------------------------------------------------------------------------- */

static void check_line(const char *want, const char *subject, const char *sid, const char *reply,
                       size_t hdr, size_t payload)
{
    struct mf_slice su = mf_str(subject), si = mf_str(sid), re = mf_str(reply);
    size_t room = proto_msg_room(su, si, re), n;
    uint8_t *dst = malloc(room);

    TEST_ASSERT_NOT_NULL(dst);
    n = proto_msg_line(dst, su, si, re, hdr, payload);
    TEST_ASSERT_EQUAL_UINT64(strlen(want), n);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(room, n);
    TEST_ASSERT_EQUAL_MEMORY(want, dst, n);
    free(dst);
}

static void test_msg_line_has_the_wire_form(void)
{
    check_line("MSG a 1 0\r\n", "a", "1", NULL, 0, 0);
    check_line("MSG a.b 42 re.ply 1048576\r\n", "a.b", "42", "re.ply", 0, 1048576);
    check_line("HMSG a 1 12 14\r\n", "a", "1", NULL, 12, 2);
    check_line("HMSG a 1 r 12 12\r\n", "a", "1", "r", 12, 0);
    /* The longest numbers fit the promised room. */
    check_line("HMSG a 1 r 9223372036854775807 18446744073709551614\r\n", "a", "1", "r",
               SIZE_MAX / 2, SIZE_MAX / 2);
}

static void test_put_u64_writes_all_digits(void)
{
    uint64_t n = 0;

    for (int i = 0; i < 22; i++) {
        for (uint64_t d = n == 0 ? 0 : n - 1; d != n + 2; d++) {
            char want[24];
            uint8_t got[24];
            size_t len = proto_put_u64(got, d);

            TEST_ASSERT_EQUAL_UINT64(
                (uint64_t)snprintf(want, sizeof want, "%llu", (unsigned long long)d), len);
            TEST_ASSERT_EQUAL_MEMORY(want, got, len);
        }
        n = i == 0 ? 1 : i == 20 ? UINT64_MAX : n * 10;
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_framing_follows_the_reference);
    RUN_TEST(test_pub_arguments_follow_the_reference);
    RUN_TEST(test_hpub_arguments_follow_the_reference);
    RUN_TEST(test_sub_and_unsub_arguments_follow_the_reference);
    RUN_TEST(test_other_verbs_follow_the_reference);
    RUN_TEST(test_control_line_limit_is_exact);
    RUN_TEST(test_incomplete_payload_asks_for_the_whole_command);
    RUN_TEST(test_random_splits_equal_whole_parse);
    RUN_TEST(test_damaged_commands_agree_with_the_model);
    RUN_TEST(test_msg_line_has_the_wire_form);
    RUN_TEST(test_put_u64_writes_all_digits);
    return UNITY_END();
}
