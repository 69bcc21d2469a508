/* test_monitor_body.c: large, compressed and encrypted answers of the monitor. */
#include "monitor/monitor.h"

#include "base/clock.h"
#include "support/pages.h"
#include "support/tls_client.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <zlib.h>

void setUp(void)
{
}

void tearDown(void)
{
    pages_stop();
}

static void assert_big(const uint8_t *p, size_t is, size_t n)
{
    TEST_ASSERT_EQUAL_size_t(n, is);
    for (size_t i = 0; i < n; i++)
        if (p[i] != (uint8_t)pages_big_byte(i))
            TEST_FAIL_MESSAGE("the page was changed on its way");
}

/* Undoes the gzip of `body` and compares. */
static void assert_big_gzipped(size_t n)
{
    uint8_t *plain = malloc(n + 1);
    z_stream z = {.next_in = body.ptr, .avail_in = (uInt)body.len};

    TEST_ASSERT_NOT_NULL(plain);
    assert_in_head("Content-Encoding: gzip\r\n");
    assert_in_head("Vary: Accept-Encoding\r\n");
    TEST_ASSERT_LESS_THAN(n, body.len);
    z.next_out = plain;
    z.avail_out = (uInt)n + 1;
    TEST_ASSERT_EQUAL(Z_OK, inflateInit2(&z, MAX_WBITS + 16));
    TEST_ASSERT_EQUAL(Z_STREAM_END, inflate(&z, Z_FINISH));
    TEST_ASSERT_EQUAL(0, z.avail_in);
    assert_big(plain, n + 1 - z.avail_out, n);
    inflateEnd(&z);
    free(plain);
}

#define GZIP "Accept-Encoding: deflate, gzip\r\n"

static void test_large_page_arrives_whole(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    get("/big?n=12000000", "");
    assert_not_in_head("Content-Encoding");
    assert_big(body.ptr, body.len, 12000000);
}

static void test_gzip_is_sent_only_to_those_who_accept_it(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    get("/big?n=20000", GZIP);
    assert_big_gzipped(20000);
    get("/big?n=20000", "Accept-Encoding: gzip;q=0\r\n");
    assert_not_in_head("Content-Encoding");
    assert_in_head("Vary: Accept-Encoding\r\n");
    assert_big(body.ptr, body.len, 20000);
    get("/big?n=1000", GZIP); /* too small to be worth it */
    assert_not_in_head("Content-Encoding");
    assert_not_in_head("Vary");
}

/* Above 128 KB a worker compresses; the requests behind it wait their turn. */
static void test_large_gzip_is_packed_aside_in_order(void)
{
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    tcp_dial(&c, pages_port());
    tcp_puts(&c, "GET /big?n=12000000 HTTP/1.1\r\nHost: x\r\n" GZIP "\r\n"
                 "GET /varz HTTP/1.1\r\nHost: x\r\n\r\n"
                 "GET /big?n=3000000 HTTP/1.0\r\n" GZIP "\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_big_gzipped(12000000);
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_body("{\"hello\":\"varz\"}");
    TEST_ASSERT_TRUE(take_answer(&c, false));
    assert_big_gzipped(3000000);
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
}

static void test_head_request_does_not_compress(void)
{
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    tcp_dial(&c, pages_port());
    tcp_puts(&c, "HEAD /big?n=300000 HTTP/1.1\r\nHost: x\r\n" GZIP "\r\n");
    TEST_ASSERT_TRUE(take_answer(&c, true));
    assert_in_head("Content-Length: 300000\r\n");
    tcp_close(&c);
}

static void test_jsonp_is_compressed_as_a_whole(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    get("/big?n=300000&callback=f", GZIP);
    assert_in_head("Content-Type: application/javascript\r\n");
    assert_in_head("Content-Encoding: gzip\r\n");
    get("/big?n=300000&callback=f", "");
    TEST_ASSERT_EQUAL(300003, body.len);
    TEST_ASSERT_EQUAL_MEMORY("f(", body.ptr, 2);
    TEST_ASSERT_EQUAL(')', body.ptr[300002]);
}

/* The worker's result finds nobody there. */
static void test_client_that_leaves_while_a_worker_packs_is_forgotten(void)
{
    struct linger now = {.l_onoff = 1};
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    for (int i = 0; i < 4; i++) {
        tcp_dial(&c, pages_port());
        tcp_puts(&c, "GET /big?n=2000000 HTTP/1.1\r\nHost: x\r\n" GZIP "\r\n");
        while (pages_hits("/big") == (uint64_t)i) {
        }
        setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        tcp_close(&c);
    }
    get("/varz", "");
    assert_body("{\"hello\":\"varz\"}");
}

static void test_server_may_close_while_a_worker_packs(void)
{
    struct tcp_client c;

    pages_start((struct monitor_options){.base_path = ""});
    tcp_dial(&c, pages_port());
    tcp_puts(&c, "GET /big?n=6000000 HTTP/1.1\r\nHost: x\r\n" GZIP "\r\n");
    while (pages_hits("/big") == 0) {
    }
    pages_stop();
    TEST_ASSERT_TRUE(tcp_until_end(&c));
    tcp_close(&c);
}

/* A client that asks for much and never reads is cut off. */
static void test_client_that_does_not_read_is_closed(void)
{
    struct tcp_client c;
    int small = 4096;

    pages_start((struct monitor_options){.base_path = "", .write_timeout_ns = 100 * CLOCK_MS});
    tcp_dial(&c, pages_port());
    setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    tcp_puts(&c, "GET /big?n=20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
    while (pages_hits("/big") == 0) {
    }
    for (int64_t until = clock_mono_ns() + 60 * CLOCK_S; clock_mono_ns() < until;)
        if (!tcp_puts(&c, "GET /varz HTTP/1.1\r\nHost: x\r\n\r\n"))
            break; /* our sends fail once the server has let go */
    (void)tcp_until_end(&c);
    TEST_ASSERT_LESS_THAN(20000000, c.in.len);
    tcp_close(&c);
}

/* --- TLS -------------------------------------------------------------------------------------- */
static void test_pages_are_served_over_tls(void)
{
    static const char request[] = "GET /varz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    struct test_cert name = {.name = "server", .subject = "CN=localhost"};
    struct test_certs *certs = test_certs_new();
    struct net_tls_pair files;
    struct net_tls_options o = {.pairs = &files, .npairs = 1};
    struct net_tls *tls = NULL;
    struct mf_error e;
    struct tcp_client plain;
    struct tls_client c;
    char answer[4096] = "";
    size_t got = 0;

    test_certs_make(certs, &name);
    files =
        (struct net_tls_pair){test_certs_cert(certs, "server"), test_certs_key(certs, "server")};
    TEST_ASSERT_EQUAL_MESSAGE(0, net_tls_new(&tls, &o, &e), e.text);
    pages_start((struct monitor_options){.base_path = "", .tls = tls});
    tcp_dial(&plain, pages_port());
    tls_client_init(&c, 0, certs);
    TEST_ASSERT_TRUE(tls_client_handshake(&c, plain.fd));
    TEST_ASSERT_TRUE(tls_client_send(&c, request, sizeof request - 1));
    for (int n; (n = SSL_read(c.ssl, answer + got, (int)(sizeof answer - 1 - got))) > 0;)
        got += (size_t)n;
    TEST_ASSERT_EQUAL_STRING_LEN("HTTP/1.1 200 OK\r\n", answer, 17);
    TEST_ASSERT_NOT_NULL(strstr(answer, "{\"hello\":\"varz\"}"));
    tls_client_free(&c);
    /* Plain HTTP on that port gets no page. */
    tcp_dial(&plain, pages_port());
    tcp_puts(&plain, "GET /varz HTTP/1.1\r\nHost: x\r\n\r\n");
    (void)tcp_until_end(&plain);
    TEST_ASSERT_NULL(strstr(tcp_text(&plain), "hello"));
    tcp_close(&plain);
    pages_stop();
    net_tls_release(tls);
    test_certs_free(certs);
}

static void test_port_in_use_is_reported(void)
{
    struct loop *l;
    struct monitor *m = NULL;
    struct mf_error e;

    pages_start((struct monitor_options){.base_path = ""});
    TEST_ASSERT_EQUAL(0, loop_new(&l, &e));
    TEST_ASSERT_NOT_EQUAL(0, monitor_open(&m, l,
                                          &(struct monitor_options){.host = "127.0.0.1",
                                                                    .port = pages_port(),
                                                                    .base_path = ""},
                                          &e));
    TEST_ASSERT_NULL(m);
    TEST_ASSERT_EQUAL_STRING_LEN("can't listen to the monitor port: ", e.text, 34);
    monitor_close(m);
    loop_free(l);
}

/* --- pages in slices -------------------------------------------------------------------------- */

#define MANY     100
#define FULL     132 /* 4 that are made, 128 that wait */
#define PATIENCE (60 * CLOCK_S)

static struct tcp_client many[FULL];

static void ask_many(int n, const char *target)
{
    char text[128];

    (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    for (int i = 0; i < n; i++) {
        tcp_dial(&many[i], pages_port());
        TEST_ASSERT_TRUE(tcp_puts(&many[i], text));
    }
}

static void await_long(unsigned n)
{
    int64_t end = clock_mono_ns() + PATIENCE;

    while (pages_long() != n && clock_mono_ns() < end)
        get("/varz", ""); /* others are served all the time */
    TEST_ASSERT_EQUAL_UINT(n, pages_long());
}

static void test_a_long_page_asked_for_many_times_is_made_for_all(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    ask_many(MANY, "/long?n=20000");
    for (int i = 0; i < MANY; i++) {
        TEST_ASSERT_TRUE(take_answer(&many[i], false));
        assert_in_head("HTTP/1.1 200 OK\r\n");
        assert_big(body.ptr, body.len, 20000);
        tcp_close(&many[i]);
    }
    await_long(0);
}

static void test_a_long_page_larger_than_a_piece_arrives_whole(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    ask_many(1, "/long?n=3000000");
    TEST_ASSERT_TRUE(take_answer(&many[0], false));
    assert_big(body.ptr, body.len, 3000000);
    TEST_ASSERT_TRUE(tcp_puts(&many[0], "GET /varz HTTP/1.1\r\nHost: x\r\n\r\n"));
    TEST_ASSERT_TRUE(take_answer(&many[0], false));
    assert_body("{\"hello\":\"varz\"}");
    tcp_close(&many[0]);
}

static void test_too_many_long_pages_are_refused_and_end_with_their_readers(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    ask_many(FULL, "/long");
    await_long(FULL);
    get("/long", "");
    assert_in_head("HTTP/1.1 503 ");
    assert_body("Too many pages are being made. Try again later.\n");
    get("/varz", ""); /* short ones need no place */
    assert_body("{\"hello\":\"varz\"}");
    get("/long?n=5000&urgent=1", ""); /* nor do urgent ones */
    assert_in_head("HTTP/1.1 200 OK\r\n");
    assert_big(body.ptr, body.len, 5000);
    for (int i = 0; i < FULL; i++)
        tcp_close(&many[i]);
    await_long(0);
    get("/long?n=5000", "");
    assert_in_head("HTTP/1.1 200 OK\r\n");
}

static void test_the_server_closes_while_pages_are_made(void)
{
    pages_start((struct monitor_options){.base_path = ""});
    ask_many(10, "/long");
    await_long(10);
    pages_stop();
    TEST_ASSERT_EQUAL_UINT(0, pages_long());
    for (int i = 0; i < 10; i++)
        tcp_close(&many[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_large_page_arrives_whole);
    RUN_TEST(test_gzip_is_sent_only_to_those_who_accept_it);
    RUN_TEST(test_large_gzip_is_packed_aside_in_order);
    RUN_TEST(test_head_request_does_not_compress);
    RUN_TEST(test_jsonp_is_compressed_as_a_whole);
    RUN_TEST(test_client_that_leaves_while_a_worker_packs_is_forgotten);
    RUN_TEST(test_server_may_close_while_a_worker_packs);
    RUN_TEST(test_client_that_does_not_read_is_closed);
    RUN_TEST(test_pages_are_served_over_tls);
    RUN_TEST(test_port_in_use_is_reported);
    RUN_TEST(test_a_long_page_asked_for_many_times_is_made_for_all);
    RUN_TEST(test_a_long_page_larger_than_a_piece_arrives_whole);
    RUN_TEST(test_too_many_long_pages_are_refused_and_end_with_their_readers);
    RUN_TEST(test_the_server_closes_while_pages_are_made);
    return UNITY_END();
}
