/* test_ws.c: WebSocket over real sockets: a raw client talks to an echo server behind ws_accept().
 */
#include "ws/ws.h"

#include "base/clock.h"
#include "support/tls_client.h"
#include "support/ws_echo.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>

static const struct ws_options plain_options = {0};
static const struct ws_options deflate_options = {.compression = true};

void setUp(void)
{
}

void tearDown(void)
{
    ws_echo_stop();
}

/* --- the handshake ---------------------------------------------------------------------------- */
static void test_request_byte_by_byte_is_upgraded(void)
{
    struct mf_buf request = MF_BUF_INIT;
    struct tcp_client c;

    ws_echo_start(&plain_options);
    tcp_dial(&c, ws_echo_port());
    ws_request_text(&request, "/silent", "");
    TEST_ASSERT_TRUE(tcp_drip(&c, request.ptr, request.len));
    mf_buf_fini(&request);
    TEST_ASSERT_EQUAL(129, tcp_until(&c, "\r\n\r\n"));
    TEST_ASSERT_EQUAL_STRING_LEN("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                 "Connection: Upgrade\r\n"
                                 "Sec-WebSocket-Accept: " WS_SAMPLE_ACCEPT "\r\n\r\n",
                                 tcp_text(&c), 129);
    tcp_take(&c, 129);
    ws_send(&c, WS_FIN | WS_BIN, "hi", 2);
    expect_frame(&c, WS_FIN | WS_BIN, "hi");
    tcp_close(&c);
}

static void test_owner_learns_what_the_request_said(void)
{
    struct mf_buf request = MF_BUF_INIT;
    struct tcp_client c;

    ws_echo_start(&plain_options);
    tcp_dial(&c, ws_echo_port());
    ws_request_text(&request, "/leafnode?x=1",
                    "User-Agent: test/1\r\nCookie: a=1\r\nCookie: b=2\r\nOrigin: http://o\r\n"
                    "X-Forwarded-For: 192.0.2.7, 10.0.0.1\r\n");
    tcp_send(&c, request.ptr, request.len);
    tcp_take(&c, tcp_until(&c, "\r\n\r\n"));
    expect_frame(&c, WS_FIN | WS_BIN, "/leafnode|localhost|test/1|a=1; b=2|http://o|192.0.2.7|-\n");
    tcp_close(&c);
    mf_buf_clear(&request);
    tcp_dial(&c, ws_echo_port());
    ws_request_text(&request, "/x", "X-Forwarded-For: not-an-address\r\nNats-No-Masking: true\r\n");
    tcp_send(&c, request.ptr, request.len);
    tcp_take(&c, tcp_until(&c, "\r\n\r\n"));
    expect_frame(&c, WS_FIN | WS_BIN, "/x|localhost|-|-|-|-|true\n");
    tcp_close(&c);
    mf_buf_fini(&request);
}

static void expect_refusal(const char *request, size_t n, const char *status_line)
{
    struct tcp_client c;

    tcp_dial(&c, ws_echo_port());
    tcp_send(&c, request, n);
    TEST_ASSERT_TRUE_MESSAGE(tcp_until_end(&c), status_line);
    TEST_ASSERT_EQUAL_STRING_LEN(status_line, tcp_text(&c), strlen(status_line));
    tcp_close(&c);
}

static void test_bad_requests_are_answered_and_closed(void)
{
    static char big[9000] = "GET / HTTP/1.1\r\nX: ";
    struct mf_buf early = MF_BUF_INIT;

    ws_echo_start(&plain_options);
    expect_refusal("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, "HTTP/1.1 400 Bad Request\r\n");
    expect_refusal("POST / HTTP/1.1\r\nHost: a\r\n\r\n", 28, "HTTP/1.1 405 Method Not Allowed\r\n");
    expect_refusal("nonsense\r\n\r\n", 12, "HTTP/1.1 400 Bad Request\r\n");
    expect_refusal("GET / HTTP/3.0\r\n\r\n", 18, "HTTP/1.1 505 HTTP Version Not Supported");
    memset(big + strlen(big), 'x', sizeof big - strlen(big) - 1);
    expect_refusal(big, sizeof big - 1, "HTTP/1.1 431 Request Header Fields Too Large\r\n");
    /* Bytes pushed before our answer could be another request, smuggled past a proxy. */
    ws_request_text(&early, "/", "");
    mf_buf_append(&early, "\x82\x80\0\0\0\0", 6);
    expect_refusal((char *)early.ptr, early.len, "HTTP/1.1 400 Bad Request\r\n");
    mf_buf_fini(&early);
}

/* A handshake that does not come to its end may not stay. */
static void test_slow_handshake_is_closed(void)
{
    struct ws_options o = {.handshake_timeout_ns = 50 * CLOCK_MS};
    struct tcp_client c;

    ws_echo_start(&o);
    tcp_dial(&c, ws_echo_port());
    tcp_puts(&c, "GET / HTTP/1.1\r\nHost: a\r\n");
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    TEST_ASSERT_EQUAL(0, c.in.len);
    tcp_close(&c);
}

static void test_cancelled_handshake_is_closed_and_never_upgraded(void)
{
    struct tcp_client waiting, upgraded_one;

    ws_echo_start(&plain_options);
    tcp_dial(&waiting, ws_echo_port());
    tcp_puts(&waiting, "GET / HTTP/1.1\r\n");
    TEST_ASSERT_TRUE(ws_dial(&upgraded_one, ws_echo_port(), "")); /* after the other was accepted */
    ws_echo_cancel_handshakes();
    TEST_ASSERT_TRUE(tcp_until_end(&waiting));
    ws_send(&upgraded_one, WS_FIN | WS_BIN, "still here", 10);
    expect_frame(&upgraded_one, WS_FIN | WS_BIN, "still here");
    tcp_close(&waiting);
    tcp_close(&upgraded_one);
}

static void test_owner_may_close_instead_of_taking(void)
{
    struct mf_buf request = MF_BUF_INIT;
    struct tcp_client c;

    ws_echo_start(&plain_options);
    tcp_dial(&c, ws_echo_port());
    ws_request_text(&request, "/refuse", "");
    tcp_send(&c, request.ptr, request.len);
    mf_buf_fini(&request);
    tcp_take(&c, tcp_until(&c, "\r\n\r\n"));
    expect_close(&c, 1001, "");
    tcp_close(&c);
}

/* --- reading ---------------------------------------------------------------------------------- */
static void test_text_and_binary_frames_carry_bytes(void)
{
    struct tcp_client c;

    ws_echo_start(&plain_options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    ws_send(&c, WS_FIN | WS_BIN, "one", 3);
    expect_frame(&c, WS_FIN | WS_BIN, "one");
    ws_send(&c, WS_FIN | WS_TEXT, "\xff\xfe", 2); /* text is not checked, as in nats-server */
    expect_frame(&c, WS_FIN | WS_BIN, "\xff\xfe");
    ws_send(&c, WS_FIN | WS_BIN, "", 0);
    ws_send(&c, WS_FIN | WS_PONG, "unasked", 7);
    ws_send(&c, WS_FIN | WS_BIN, "two", 3);
    expect_frame(&c, WS_FIN | WS_BIN, "two");
    tcp_close(&c);
}

/* Control frames may stand between the fragments of a message. */
static void put_conversation(struct mf_buf *out)
{
    ws_put(out, WS_BIN, "frag", 4);
    ws_put(out, WS_FIN | WS_PING, "p1", 2);
    ws_put(out, WS_CONT, "men", 3);
    ws_put(out, WS_CONT, "", 0);
    ws_put(out, WS_FIN | WS_PING, "", 0);
    ws_put(out, WS_FIN | WS_CONT, "ted", 3);
    ws_put(out, WS_FIN | WS_CLOSE, "\x03\xe8", 2);
}

static void test_fragments_with_pings_between_at_any_cut(void)
{
    struct mf_buf wire = MF_BUF_INIT;

    ws_echo_start(&plain_options);
    put_conversation(&wire);
    for (size_t cut = 0; cut <= wire.len; cut++) {
        char data[16] = "";
        struct tcp_client c;
        struct ws_frame f;
        unsigned pongs = 0;
        TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
        tcp_send(&c, wire.ptr, cut);
        tcp_send(&c, wire.ptr + cut, wire.len - cut);
        while (ws_next(&c, &f)) {
            if (f.first == (WS_FIN | WS_BIN))
                strncat(data, (char *)f.payload, sizeof data - strlen(data) - 1);
            pongs += f.first == (WS_FIN | WS_PONG);
            free(f.payload);
        }
        TEST_ASSERT_EQUAL_STRING("fragmented", data);
        TEST_ASSERT_EQUAL(2, pongs);
        tcp_close(&c);
    }
    mf_buf_fini(&wire);
}

static void test_conversation_byte_by_byte(void)
{
    struct mf_buf wire = MF_BUF_INIT;
    struct tcp_client c;

    ws_echo_start(&plain_options);
    put_conversation(&wire);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    tcp_drip(&c, wire.ptr, wire.len);
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    TEST_ASSERT_GREATER_THAN(10, c.in.len);
    TEST_ASSERT_EQUAL_MEMORY("\x88\x02\x03\xe8", c.in.ptr + c.in.len - 4, 4);
    tcp_close(&c);
    mf_buf_fini(&wire);
}

static void test_megabytes_pass_unchanged(void)
{
    size_t n = (size_t)3 << 20;
    uint8_t *big = malloc(n);
    struct tcp_client c;

    ws_echo_start(&plain_options);
    TEST_ASSERT_NOT_NULL(big);
    ws_echo_pattern(big, n);
    big[0] = '?';
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    TEST_ASSERT_TRUE(ws_send(&c, WS_FIN | WS_BIN, big, n));
    expect_echo(&c, big, n);
    tcp_close(&c);
    free(big);
}

static void test_ping_of_any_legal_size_is_answered(void)
{
    char payload[126] = "";
    struct tcp_client c;

    ws_echo_start(&plain_options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    for (size_t n = 0; n <= 125; n++) {
        memset(payload, 'p', n);
        ws_send(&c, WS_FIN | WS_PING, payload, n);
        expect_frame(&c, WS_FIN | WS_PONG, payload);
    }
    tcp_close(&c);
}

static void test_violations_close_with_1002_and_the_reason(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *reason;
        bool deflate;
    } rows[] = {
        {"\x82\x05hello", 7, "mask bit missing", false},
        {"\x80\x81\0\0\0\0x", 7, "invalid continuation frame", false},
        {"\x02\x80\0\0\0\0\x82\x80\0\0\0\0", 12,
         "new message started before final frame for previous message was received", false},
        {"\xc2\x81\0\0\0\0x", 7, "compressed frame received without negotiated permessage-deflate",
         false},
        {"\xa2\x81\0\0\0\0x", 7, "RSV2 and RSV3 must be clear", false},
        {"\x92\x81\0\0\0\0x", 7, "RSV2 and RSV3 must be clear", false},
        {"\x83\x80\0\0\0\0", 6, "unknown opcode", false},
        {"\x8b\x80\0\0\0\0", 6, "unknown opcode", false},
        {"\x89\xfe\0\x7e\0\0\0\0", 8, "invalid frame header", false}, /* a ping of 126 bytes */
        {"\x09\x80\0\0\0\0", 6, "invalid frame header", false},       /* a ping in fragments */
        {"\x82\xfe\0\x05\0\0\0\0hello", 13, "invalid frame header", false}, /* 5 in 2 bytes */
        {"\x82\xff\0\0\0\0\0\0\0\x05\0\0\0\0hello", 19, "invalid frame header", false},
        {"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14, "invalid frame header", false},
        {"\xc9\x80\0\0\0\0", 6, "control frame must not be compressed", true},
        {"\x42\x80\0\0\0\0\xc0\x80\0\0\0\0", 12, "invalid continuation frame", true},
        {"\x88\x81\0\0\0\0a", 7, "close frame payload cannot be 1 byte", false},
        {"\x88\x82\0\0\0\0\x03\xed", 8, "invalid close status code 1005", false},
        {"\x88\x82\0\0\0\0\x03\xe7", 8, "invalid close status code 999", false},
        {"\x88\x82\0\0\0\0\x13\x88", 8, "invalid close status code 5000", false},
        {"\x88\x82\0\0\0\0\x07\xd0", 8, "invalid close status code 2000", false},
    };

    ws_echo_start(&deflate_options);
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct tcp_client c;
        TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), rows[i].deflate ? WS_DEFLATE : ""));
        tcp_send(&c, rows[i].bytes, rows[i].n);
        expect_close(&c, 1002, rows[i].reason);
        tcp_close(&c);
    }
}

static void test_close_frames_are_answered_in_kind(void)
{
    static const struct {
        const char *payload;
        size_t n;
        unsigned status;
        const char *text;
    } rows[] = {
        {"", 0, 0, ""},
        {"\x03\xe8", 2, 1000, ""},
        {"\x03\xe8see you", 9, 1000, "see you"},
        {"\x0b\xb8own", 5, 3000, "own"},
        {"\x03\xe8\xc3\xa9\xf0\x9f\x98\x80", 8, 1000, "\xc3\xa9\xf0\x9f\x98\x80"},
        {"\x03\xe8\xff", 3, 1007, "invalid utf8 body in close frame"},
        {"\x03\xe8\xc3", 3, 1007, "invalid utf8 body in close frame"},
        {"\x03\xe8\xed\xa0\x80", 5, 1007, "invalid utf8 body in close frame"}, /* a surrogate */
        {"\x03\xe8\xe0\x80\x80", 5, 1007, "invalid utf8 body in close frame"}, /* too long */
        {"\x03\xe8\xf4\x90\x80\x80", 6, 1007, "invalid utf8 body in close frame"},
    };

    ws_echo_start(&plain_options);
    for (size_t i = 0; i < MF_COUNT(rows); i++) {
        struct tcp_client c;
        TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
        ws_send(&c, WS_FIN | WS_BIN, "before", 6); /* is served before we part */
        ws_send(&c, WS_FIN | WS_CLOSE, rows[i].payload, rows[i].n);
        expect_frame(&c, WS_FIN | WS_BIN, "before");
        expect_close(&c, rows[i].status, rows[i].text);
        tcp_close(&c);
    }
}

static void test_unmasked_frames_pass_when_masking_was_waived(void)
{
    struct tcp_client c;

    ws_echo_start(&plain_options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), "Nats-No-Masking: true\r\n"));
    tcp_send(&c, "\x82\x05hello", 7);
    expect_frame(&c, WS_FIN | WS_BIN, "hello");
    ws_send(&c, WS_FIN | WS_BIN, "masked", 6);
    expect_frame(&c, WS_FIN | WS_BIN, "masked");
    tcp_close(&c);
}

/* Pings from a peer that never reads must not fill our memory with pongs. */
static void test_pings_of_a_deaf_peer_are_not_all_answered(void)
{
    struct mf_buf pings = MF_BUF_INIT;
    struct tcp_client c;
    struct ws_frame f;
    char payload[125];
    size_t sent = 0, pongs = 0;

    ws_echo_start(&plain_options);
    memset(payload, 'p', sizeof payload);
    for (int i = 0; i < 8000; i++)
        ws_put(&pings, WS_FIN | WS_PING, payload, sizeof payload);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    for (int i = 0; i < 25; i++, sent += 8000)
        TEST_ASSERT_TRUE(tcp_send(&c, pings.ptr, pings.len));
    ws_send(&c, WS_FIN | WS_BIN, "end", 3);
    while (ws_next(&c, &f) && f.first == (WS_FIN | WS_PONG)) {
        free(f.payload);
        pongs++;
    }
    TEST_ASSERT_EQUAL_STRING("end", (char *)f.payload);
    free(f.payload);
    TEST_ASSERT_GREATER_THAN(0, pongs);
    TEST_ASSERT_LESS_THAN(sent, pongs);
    tcp_close(&c);
    mf_buf_fini(&pings);
}

/* --- writing ---------------------------------------------------------------------------------- */
static void test_end_carries_the_chosen_status_and_text(void)
{
    struct tcp_client c;

    ws_echo_start(&plain_options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    ws_send(&c, WS_FIN | WS_BIN, "!bye 1008 Authentication Timeout\n", 33);
    expect_frame(&c, WS_FIN | WS_BIN, "last");
    expect_close(&c, 1008, "Authentication Timeout");
    tcp_close(&c);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    ws_send(&c, WS_FIN | WS_BIN, "!bye\n", 5);
    expect_frame(&c, WS_FIN | WS_BIN, "last");
    expect_close(&c, 1001, "");
    tcp_close(&c);
}

/* A control frame holds 125 bytes; the text is cut, not the frame's validity. */
static void test_long_farewell_is_cut_with_dots(void)
{
    char command[220] = "!bye 1011 ", want[124];
    struct tcp_client c;

    memset(command + 10, 'x', 180);
    command[190] = '\n';
    memset(want, 'x', 120);
    memcpy(want + 120, "...", 4);
    ws_echo_start(&plain_options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    ws_send(&c, WS_FIN | WS_BIN, command, 191);
    expect_frame(&c, WS_FIN | WS_BIN, "last");
    expect_close(&c, 1011, want);
    tcp_close(&c);
}

/* Asks for n bytes; the largest frame they came in. */
static uint64_t largest_frame(const char *headers, size_t n)
{
    struct tcp_client c;
    struct ws_frame f;
    uint64_t largest = 0;
    char command[32];
    size_t got = 0;

    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), headers));
    snprintf(command, sizeof command, "!big %zu\n", n);
    ws_send(&c, WS_FIN | WS_BIN, command, strlen(command));
    while (got < n && ws_next(&c, &f)) {
        TEST_ASSERT_EQUAL_HEX8(WS_FIN | WS_BIN, f.first);
        for (uint64_t i = 0; i < f.length; i++)
            TEST_ASSERT_EQUAL_UINT8((got + i) % 251, f.payload[i]);
        got += f.length;
        largest = f.length > largest ? f.length : largest;
        free(f.payload);
    }
    TEST_ASSERT_EQUAL_size_t(n, got);
    tcp_close(&c);
    return largest;
}

static void test_browsers_get_small_frames_and_others_large_ones(void)
{
    ws_echo_start(&plain_options);
    TEST_ASSERT_EQUAL(4096, largest_frame(WS_CHROME, 100000));
    TEST_ASSERT_GREATER_THAN(4096, largest_frame("User-Agent: test\r\n", 100000));
}

/* Many writes of a turn leave in few frames. */
static void test_single_byte_writes_are_joined(void)
{
    struct tcp_client c;

    ws_echo_start(&plain_options);
    TEST_ASSERT_TRUE(ws_dial(&c, ws_echo_port(), ""));
    ws_send(&c, WS_FIN | WS_BIN, "!big 5\n", 7);
    TEST_ASSERT_TRUE(tcp_fill(&c, 7));
    TEST_ASSERT_EQUAL_MEMORY("\x82\x05\0\1\2\3\4", c.in.ptr, 7);
    tcp_close(&c);
}

/* --- TLS -------------------------------------------------------------------------------------- */
static void test_frames_pass_inside_tls(void)
{
    struct test_cert name = {.name = "server", .subject = "CN=localhost"};
    struct test_certs *certs = test_certs_new();
    struct net_tls_pair files;
    struct net_tls_options o = {.pairs = &files, .npairs = 1};
    struct net_tls *tls = NULL;
    struct mf_error e;
    struct mf_buf out = MF_BUF_INIT;
    struct tcp_client tcp;
    struct tls_client c;
    char in[129];

    test_certs_make(certs, &name);
    files =
        (struct net_tls_pair){test_certs_cert(certs, "server"), test_certs_key(certs, "server")};
    TEST_ASSERT_EQUAL_MESSAGE(0, net_tls_new(&tls, &o, &e), e.text);
    ws_echo_start_tls(&plain_options, tls);
    tcp_dial(&tcp, ws_echo_port());
    tls_client_init(&c, 0, certs);
    TEST_ASSERT_TRUE(tls_client_handshake(&c, tcp.fd));
    ws_request_text(&out, "/", "");
    TEST_ASSERT_TRUE(tls_client_send(&c, out.ptr, out.len));
    TEST_ASSERT_TRUE(tls_client_recv(&c, in, 129));
    TEST_ASSERT_EQUAL_MEMORY("HTTP/1.1 101 ", in, 13);
    mf_buf_clear(&out);
    ws_put(&out, WS_FIN | WS_BIN, "secret", 6);
    ws_put(&out, WS_FIN | WS_CLOSE, "\x03\xe8", 2);
    TEST_ASSERT_TRUE(tls_client_send(&c, out.ptr, out.len));
    TEST_ASSERT_TRUE(tls_client_recv(&c, in, 12));
    TEST_ASSERT_EQUAL_MEMORY("\x82\x06secret\x88\x02\x03\xe8", in, 12);
    TEST_ASSERT_EQUAL(0, SSL_read(c.ssl, in, 1)); /* close_notify */
    tls_client_free(&c);
    ws_echo_stop();
    net_tls_release(tls);
    test_certs_free(certs);
    mf_buf_fini(&out);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_request_byte_by_byte_is_upgraded);
    RUN_TEST(test_owner_learns_what_the_request_said);
    RUN_TEST(test_bad_requests_are_answered_and_closed);
    RUN_TEST(test_slow_handshake_is_closed);
    RUN_TEST(test_cancelled_handshake_is_closed_and_never_upgraded);
    RUN_TEST(test_owner_may_close_instead_of_taking);
    RUN_TEST(test_text_and_binary_frames_carry_bytes);
    RUN_TEST(test_fragments_with_pings_between_at_any_cut);
    RUN_TEST(test_conversation_byte_by_byte);
    RUN_TEST(test_megabytes_pass_unchanged);
    RUN_TEST(test_ping_of_any_legal_size_is_answered);
    RUN_TEST(test_violations_close_with_1002_and_the_reason);
    RUN_TEST(test_close_frames_are_answered_in_kind);
    RUN_TEST(test_unmasked_frames_pass_when_masking_was_waived);
    RUN_TEST(test_pings_of_a_deaf_peer_are_not_all_answered);
    RUN_TEST(test_end_carries_the_chosen_status_and_text);
    RUN_TEST(test_long_farewell_is_cut_with_dots);
    RUN_TEST(test_browsers_get_small_frames_and_others_large_ones);
    RUN_TEST(test_single_byte_writes_are_joined);
    RUN_TEST(test_frames_pass_inside_tls);
    return UNITY_END();
}
