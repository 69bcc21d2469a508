/* test_proxy.c: headers of the PROXY protocol; texts and decisions are nats-server's. */
#include "session/proxy.h"

#include "unity.h"

void setUp(void)
{
}
void tearDown(void)
{
}

static struct proxy_peer peer;
static struct mf_error e;

static ssize_t parse(const char *text)
{
    return proxy_parse((const uint8_t *)text, strlen(text), &peer, &e);
}

static void assert_peer(const char *header, const char *ip, int port)
{
    char text[256];

    (void)snprintf(text, sizeof text, "%sPING\r\n", header);
    for (size_t n = 0; n < strlen(header); n++) /* in pieces: it waits for all */
        TEST_ASSERT_EQUAL_INT(PROXY_MORE, proxy_parse((const uint8_t *)text, n, &peer, &e));
    TEST_ASSERT_EQUAL_INT((int)strlen(header), parse(text));
    TEST_ASSERT_EQUAL_STRING(ip, peer.ip);
    TEST_ASSERT_EQUAL_INT(port, peer.port);
}

static void test_text_names_the_client(void)
{
    assert_peer("PROXY TCP4 10.1.2.3 127.0.0.1 4660 4222\r\n", "10.1.2.3", 4660);
    assert_peer("PROXY  TCP4  10.1.2.3 127.0.0.1 0 65535\r\n", "10.1.2.3", 0);
    assert_peer("PROXY TCP6 2001:DB8:0::1 ::2 65535 1\r\n", "2001:db8::1", 65535);
    assert_peer("PROXY UNKNOWN\r\n", "", 0);
    assert_peer("PROXY UNKNOWN a b c\r\n", "", 0);
}

static void assert_bad(const char *header, const char *why)
{
    TEST_ASSERT_EQUAL_INT(PROXY_BAD, parse(header));
    TEST_ASSERT_EQUAL_STRING(why, e.text);
}

static void test_bad_text_is_refused(void)
{
    static const char form[] = "invalid PROXY protocol header: invalid v1 format";
    static const char address[] = "invalid PROXY protocol header: invalid address";

    assert_bad("PROXY \r\n", form);
    assert_bad("PROXY X\r\n", form);
    assert_bad("PROXY UNKNOWNX\r\n", form);
    assert_bad("PROXY TCP4 10.1.2.3 127.0.0.1 4660\r\n", form);
    assert_bad("PROXY TCP4 10.1.2.3 127.0.0.1 4660 4222 x\r\n", form);
    assert_bad("PROXY TCP4 10.1.2.3 127.0.0.1 4660 4222\n", form);
    assert_bad("PROXY TCP4 foo 127.0.0.1 1 2\r\n", address);
    assert_bad("PROXY TCP4 10.1.2.3 foo 1 2\r\n", address);
    assert_bad("PROXY TCP6 fe80::1%eth0 ::1 5 6\r\n", address);
    assert_bad("PROXY UDP4 10.1.2.3 127.0.0.1 1 2\r\n",
               "invalid PROXY protocol header: invalid protocol UDP4");
    assert_bad("PROXY TCP4 2001:db8::1 ::2 1 2\r\n",
               "invalid PROXY protocol header: TCP4 with IPv6 address");
    assert_bad("PROXY TCP6 10.1.2.3 127.0.0.1 1 2\r\n",
               "invalid PROXY protocol header: TCP6 with IPv4 address");
    assert_bad("PROXY TCP4 10.1.2.3 127.0.0.1 70000 2\r\n",
               "invalid source port: strconv.ParseUint: parsing \"70000\": value out of range");
    assert_bad(
        "PROXY TCP4 10.1.2.3 127.0.0.1 99999999999999999999 2\r\n",
        "invalid source port: strconv.ParseUint: parsing \"99999999999999999999\": value out "
        "of range");
    assert_bad("PROXY TCP4 10.1.2.3 127.0.0.1 1 +2\r\n",
               "invalid dest port: strconv.ParseUint: parsing \"+2\": invalid syntax");
}

static void test_text_has_107_bytes_at_most(void)
{
    char text[200];

    memset(text, 'a', sizeof text);
    memcpy(text, "PROXY UNKNOWN ", 14);
    memcpy(text + 105, "\r\n", 3);
    TEST_ASSERT_EQUAL_INT(107, parse(text));
    TEST_ASSERT_EQUAL_INT(PROXY_MORE, proxy_parse((const uint8_t *)text, 106, &peer, &e));
    memcpy(text + 105, "a\r\n", 4);
    assert_bad(text, "invalid PROXY protocol header: v1 line too long");
}

/* --- version 2 -------------------------------------------------------------------------------- */

/* A header, followed by two bytes that are not part of it. */
static ssize_t parse_binary(unsigned command, unsigned family, const char *hex, size_t more)
{
    uint8_t raw[512] = "\r\n\r\n\0\r\nQUIT\n";
    size_t n = strlen(hex) / 2, len = n + more;

    raw[12] = (uint8_t)command;
    raw[13] = (uint8_t)family;
    raw[14] = (uint8_t)(len >> 8);
    raw[15] = (uint8_t)len;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;

        TEST_ASSERT_EQUAL_INT(1, sscanf(hex + 2 * i, "%2x", &byte));
        raw[16 + i] = (uint8_t)byte;
    }
    for (size_t have = 0; have < 16; have++)
        TEST_ASSERT_EQUAL_INT(PROXY_MORE, proxy_parse(raw, have, &peer, &e));
    return proxy_parse(raw, 16 + len + 2, &peer, &e);
}

#define FOUR "0a0102037f00000112341092"
#define SIX  "20010db800000000000000000000000120010db800000000000000000000000212341092"

static void test_binary_names_the_client(void)
{
    TEST_ASSERT_EQUAL_INT(28, parse_binary(0x21, 0x11, FOUR, 0));
    TEST_ASSERT_EQUAL_STRING("10.1.2.3", peer.ip);
    TEST_ASSERT_EQUAL_INT(0x1234, peer.port);
    TEST_ASSERT_EQUAL_INT(28 + 300, parse_binary(0x21, 0x11, FOUR, 300)); /* extensions */
    TEST_ASSERT_EQUAL_STRING("10.1.2.3", peer.ip);
    TEST_ASSERT_EQUAL_INT(52, parse_binary(0x21, 0x21, SIX, 0));
    TEST_ASSERT_EQUAL_STRING("2001:db8::1", peer.ip);
    TEST_ASSERT_EQUAL_INT(0x1234, peer.port);
    TEST_ASSERT_EQUAL_INT(28, parse_binary(0x20, 0x11, FOUR, 0)); /* LOCAL: the balancer's own */
    TEST_ASSERT_EQUAL_STRING("", peer.ip);
    TEST_ASSERT_EQUAL_INT(16, parse_binary(0x20, 0, "", 0));
    TEST_ASSERT_EQUAL_INT(16, parse_binary(0x21, 0x01, "", 0)); /* of an unknown kind */
    TEST_ASSERT_EQUAL_STRING("", peer.ip);
}

static void assert_bad_binary(unsigned command, unsigned family, const char *hex, const char *why)
{
    TEST_ASSERT_EQUAL_INT(PROXY_BAD, parse_binary(command, family, hex, 0));
    TEST_ASSERT_EQUAL_STRING(why, e.text);
}

static void test_bad_binary_is_refused(void)
{
    assert_bad_binary(0x11, 0x11, FOUR, "invalid PROXY protocol header: invalid version 0x10");
    assert_bad_binary(0x22, 0x11, FOUR, "unknown PROXY protocol command: 0x02");
    assert_bad_binary(0x21, 0x12, FOUR,
                      "unsupported PROXY protocol feature: only STREAM protocol supported");
    assert_bad_binary(0x21, 0x31, SIX,
                      "unsupported PROXY protocol feature: unsupported address family 0x30");
    assert_bad_binary(0x21, 0x11, "0a010203", "IPv4 address data too short: 4 bytes");
    assert_bad_binary(0x21, 0x21, FOUR, "IPv6 address data too short: 12 bytes");
    assert_bad("\r\n\r\nwrong thing", "invalid PROXY protocol header: invalid signature");
}

static void test_other_bytes_are_the_clients_own(void)
{
    static const char *const others[] = {"CONNECT {}\r\n", "PING\r\n",     "PUB a 1\r\n",
                                         "\r\nPING\r\n",   "PROXYX a\r\n", "\x16\x03",
                                         "proxy TCP4\r\n"};

    for (size_t i = 0; i < MF_COUNT(others); i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(PROXY_NONE, parse(others[i]), others[i]);
    TEST_ASSERT_EQUAL_INT(PROXY_MORE, parse("P"));
    TEST_ASSERT_EQUAL_INT(PROXY_MORE, parse("PR"));
    TEST_ASSERT_EQUAL_INT(PROXY_NONE, parse("PI"));
    TEST_ASSERT_EQUAL_INT(PROXY_MORE, parse(""));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_text_names_the_client);
    RUN_TEST(test_bad_text_is_refused);
    RUN_TEST(test_text_has_107_bytes_at_most);
    RUN_TEST(test_binary_names_the_client);
    RUN_TEST(test_bad_binary_is_refused);
    RUN_TEST(test_other_bytes_are_the_clients_own);
    return UNITY_END();
}
