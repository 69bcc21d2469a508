/* test_ws_deflate.c: permessage-deflate in both directions, and what a hostile peer could send. */
#include "ws/ws.h"

#include "support/ws_echo.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static const struct ws_options options = {.compression = true};

void setUp(void)
{
}

void tearDown(void)
{
    ws_echo_stop();
}

#define LONG                                                                                       \
    "PUB subject.one 12\r\nhello world!\r\nPUB subject.one 12\r\nhello world!\r\n"                 \
    "PUB subject.one 12\r\nhello world!\r\n"

static void test_compressed_message_is_inflated_and_the_echo_deflated(void)
{
    struct mf_buf z = MF_BUF_INIT;
    struct tcp_client c;

    ws_echo_start(&options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_compress(&z, LONG, strlen(LONG));
    for (int i = 0; i < 3; i++) { /* no context may survive a message */
        ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, z.ptr, z.len);
        TEST_ASSERT_TRUE(tcp_fill(&c, 1));
        TEST_ASSERT_EQUAL_HEX8(WS_FIN | WS_RSV1 | WS_BIN, c.in.ptr[0]);
        expect_echo(&c, LONG, strlen(LONG));
    }
    tcp_close(&c);
    mf_buf_fini(&z);
}

static void test_uncompressed_message_is_fine_too(void)
{
    struct tcp_client c;

    ws_echo_start(&options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_send(&c, WS_FIN | WS_BIN, "plain", 5);
    expect_frame(&c, WS_FIN | WS_BIN, "plain");
    ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, "", 0);   /* nothing at all */
    ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, "\0", 1); /* nothing, compressed (RFC 7692 7.2.3.6) */
    ws_send(&c, WS_FIN | WS_BIN, "again", 5);
    expect_frame(&c, WS_FIN | WS_BIN, "again");
    tcp_close(&c);
}

/* nats-server's threshold: 64 bytes leave as they are, 65 are worth it. */
static void test_only_payloads_above_64_bytes_are_deflated(void)
{
    char text[65];
    struct tcp_client c;

    memset(text, 'a', sizeof text);
    ws_echo_start(&options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_send(&c, WS_FIN | WS_BIN, text, 64);
    TEST_ASSERT_TRUE(tcp_fill(&c, 1));
    TEST_ASSERT_EQUAL_HEX8(WS_FIN | WS_BIN, c.in.ptr[0]);
    expect_echo(&c, text, 64);
    ws_send(&c, WS_FIN | WS_BIN, text, 65);
    TEST_ASSERT_TRUE(tcp_fill(&c, 1));
    TEST_ASSERT_EQUAL_HEX8(WS_FIN | WS_RSV1 | WS_BIN, c.in.ptr[0]);
    expect_echo(&c, text, 65);
    tcp_close(&c);
}

/* Noise grows when deflated: it leaves as it is. */
static void test_incompressible_payload_is_sent_plain(void)
{
    uint8_t noise[4000];
    uint32_t x = 12345;
    struct tcp_client c;

    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
        noise[i] = noise[i] == '!' ? '?' : noise[i]; /* no command */
    }
    ws_echo_start(&options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_send(&c, WS_FIN | WS_BIN, noise, sizeof noise);
    TEST_ASSERT_TRUE(tcp_fill(&c, 1));
    TEST_ASSERT_EQUAL_HEX8(WS_FIN | WS_BIN, c.in.ptr[0]);
    expect_echo(&c, noise, sizeof noise);
    tcp_close(&c);
}

static void test_compressed_fragments_with_a_ping_between_at_any_cut(void)
{
    struct mf_buf z = MF_BUF_INIT, wire = MF_BUF_INIT;
    struct tcp_client c;

    ws_echo_start(&options);
    ws_compress(&z, "compressed in fragments", 23);
    for (size_t cut = 0; cut <= z.len; cut++) {
        mf_buf_clear(&wire);
        ws_put(&wire, WS_RSV1 | WS_BIN, z.ptr, cut);
        ws_put(&wire, WS_FIN | WS_PING, "p", 1);
        ws_put(&wire, WS_CONT, "", 0);
        ws_put(&wire, WS_FIN | WS_CONT, z.ptr + cut, z.len - cut);
        TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
        tcp_drip(&c, wire.ptr, wire.len);
        expect_echo(&c, "compressed in fragments", 23);
        tcp_close(&c);
    }
    mf_buf_fini(&z);
    mf_buf_fini(&wire);
}

static void test_megabytes_survive_both_ways(void)
{
    size_t n = (size_t)2 << 20;
    uint8_t *big = malloc(n);
    struct mf_buf z = MF_BUF_INIT;
    struct tcp_client c;

    TEST_ASSERT_NOT_NULL(big);
    ws_echo_pattern(big, n);
    big[0] = '?';
    ws_compress(&z, big, n);
    ws_echo_start(&options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, z.ptr, z.len);
    expect_echo(&c, big, n);
    tcp_close(&c);
    mf_buf_fini(&z);
    free(big);
}

static void test_broken_compressed_data_closes_with_1007(void)
{
    struct mf_buf z = MF_BUF_INIT;
    struct tcp_client c;
    struct ws_frame f;

    ws_echo_start(&options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, "\xff\xff\xff\xff", 4);
    expect_close(&c, 1007, "invalid compressed data");
    tcp_close(&c);
    /* A stored block of 100 bytes that ends after three: no error, just not complete. */
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN,
            "\x00\x64\x00\x9b\xff"
            "abc",
            8);
    TEST_ASSERT_TRUE(ws_next(&c, &f)); /* the echo of what could be inflated */
    free(f.payload);
    expect_close(&c, 1007, "incomplete compressed data");
    tcp_close(&c);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_compress(&z, LONG, strlen(LONG));
    ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, z.ptr, z.len / 2);
    TEST_ASSERT_TRUE(ws_next(&c, &f));
    if ((f.first & 0x0f) == WS_BIN) { /* what could be inflated came back before */
        free(f.payload);
        TEST_ASSERT_TRUE(ws_next(&c, &f));
    }
    TEST_ASSERT_EQUAL_HEX8(WS_FIN | WS_CLOSE, f.first);
    TEST_ASSERT_EQUAL_MEMORY("\x03\xef", f.payload, 2);
    free(f.payload);
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
    mf_buf_fini(&z);
}

/* A final block may end the stream before the message does (RFC 7692 7.2.3.4). */
static void test_final_block_is_accepted(void)
{
    static const uint8_t stored[] = {0x01, 5, 0, 0xfa, 0xff, 'h', 'e', 'l', 'l', 'o', 0};
    struct tcp_client c;

    ws_echo_start(&options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, stored, sizeof stored);
    expect_frame(&c, WS_FIN | WS_BIN, "hello");
    ws_send(&c, WS_FIN | WS_BIN, "next", 4);
    expect_frame(&c, WS_FIN | WS_BIN, "next");
    tcp_close(&c);
}

/* A few kilobytes must not cost megabytes of work or memory. */
static void test_bomb_is_stopped_at_the_limit_with_1009(void)
{
    struct ws_options o = {.compression = true, .max_message = 100000};
    size_t n = (size_t)8 << 20, got = 0;
    uint8_t *zeros = calloc(1, n);
    struct mf_buf z = MF_BUF_INIT;
    struct tcp_client c;
    struct ws_frame f;

    TEST_ASSERT_NOT_NULL(zeros);
    ws_compress(&z, zeros, n);
    ws_echo_start(&o);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, z.ptr, z.len);
    while (ws_next(&c, &f) && (f.first & 0x0f) != WS_CLOSE) {
        got += f.length;
        free(f.payload);
    }
    TEST_ASSERT_EQUAL_HEX8(WS_FIN | WS_CLOSE, f.first);
    TEST_ASSERT_EQUAL_STRING("\x03\xf1message too big", (char *)f.payload);
    TEST_ASSERT_LESS_THAN(100000, got); /* deflated */
    free(f.payload);
    tcp_close(&c);
    /* At the limit exactly it passes; and the limit is each message's own. */
    mf_buf_clear(&z);
    ws_compress(&z, zeros, 100000);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), WS_DEFLATE));
    for (int i = 0; i < 3; i++) {
        ws_send(&c, WS_FIN | WS_RSV1 | WS_BIN, z.ptr, z.len);
        expect_echo(&c, zeros, 100000);
    }
    tcp_close(&c);
    mf_buf_fini(&z);
    free(zeros);
}

/* Pseudo-random letters: they compress, but not to less than 4 KB.  The largest frame of the echo.
 */
static uint64_t largest_frame(const char *headers)
{
    static char letters[60000];
    uint32_t x = 99;
    uint64_t largest = 0;
    struct tcp_client c;
    struct ws_frame f;

    for (size_t i = 0; i < sizeof letters; i++)
        letters[i] = (char)('a' + ((x = x * 1664525u + 1013904223u) >> 28));
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), headers));
    ws_send(&c, WS_FIN | WS_BIN, letters, sizeof letters);
    expect_echo(&c, letters, sizeof letters);
    ws_send(&c, WS_FIN | WS_BIN, letters, sizeof letters);
    ws_send(&c, WS_FIN | WS_CLOSE, "", 0);
    while (ws_next(&c, &f)) {
        largest = f.length > largest ? f.length : largest;
        free(f.payload);
    }
    tcp_close(&c);
    return largest;
}

static void test_large_compressed_replies_are_fragmented_for_browsers_but_not_for_safari(void)
{
    ws_echo_start(&options);
    TEST_ASSERT_EQUAL(4096, largest_frame(WS_DEFLATE WS_CHROME));
    TEST_ASSERT_GREATER_THAN(4096, largest_frame(WS_DEFLATE WS_SAFARI));
    TEST_ASSERT_GREATER_THAN(4096, largest_frame(WS_DEFLATE));
}

/* Connections share inflaters: one that stops inside a message must not disturb the others. */
static void test_messages_of_many_connections_interleave(void)
{
    struct tcp_client c[8];
    struct mf_buf z = MF_BUF_INIT, wire = MF_BUF_INIT;
    size_t half;

    ws_echo_start(&options);
    ws_compress(&z, LONG, strlen(LONG));
    ws_put(&wire, WS_FIN | WS_RSV1 | WS_BIN, z.ptr, z.len);
    half = wire.len / 2;
    for (size_t i = 0; i < MF_COUNT(c); i++) {
        TEST_ASSERT_TRUE(ws_dial(&c[i], ws_echo_port(), WS_DEFLATE));
        tcp_send(&c[i], wire.ptr, half);
    }
    for (size_t i = MF_COUNT(c); i-- > 0;) {
        tcp_send(&c[i], wire.ptr + half, wire.len - half);
        expect_echo(&c[i], LONG, strlen(LONG));
        tcp_close(&c[i]);
    }
    mf_buf_fini(&z);
    mf_buf_fini(&wire);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_compressed_message_is_inflated_and_the_echo_deflated);
    RUN_TEST(test_uncompressed_message_is_fine_too);
    RUN_TEST(test_only_payloads_above_64_bytes_are_deflated);
    RUN_TEST(test_incompressible_payload_is_sent_plain);
    RUN_TEST(test_compressed_fragments_with_a_ping_between_at_any_cut);
    RUN_TEST(test_megabytes_survive_both_ways);
    RUN_TEST(test_broken_compressed_data_closes_with_1007);
    RUN_TEST(test_final_block_is_accepted);
    RUN_TEST(test_bomb_is_stopped_at_the_limit_with_1009);
    RUN_TEST(test_large_compressed_replies_are_fragmented_for_browsers_but_not_for_safari);
    RUN_TEST(test_messages_of_many_connections_interleave);
    return UNITY_END();
}
