/* test_net_tls_data.c: bytes through TLS in both directions, its end, which certificate a peer is
 * shown, and the client side. */
#include "net/net.h"

#include "base/clock.h"
#include "net/net_impl.h"
#include "support/net_fixture.h"
#include "support/test_certs.h"
#include "support/tls_client.h"
#include "unity.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fixture f;
static struct test_certs *certs, *others;

static struct net_tls *tls_of(const char *const *names, size_t n)
{
    struct net_tls_pair pairs[4];
    struct net_tls_options o = {.pairs = pairs, .npairs = n, .ca_file = test_certs_ca(certs)};
    struct net_tls *t = NULL;
    struct mf_error e;

    for (size_t i = 0; i < n; i++) {
        pairs[i].cert_file = test_certs_cert(certs, names[i]);
        pairs[i].key_file = test_certs_key(certs, names[i]);
    }
    TEST_ASSERT_EQUAL_MESSAGE(0, net_tls_new(&t, &o, &e), e.text);
    return t;
}

void setUp(void)
{
    fixture_open(&f);
    f.tls = tls_of((const char *const[]){"server"}, 1);
}

void tearDown(void)
{
}

static void finish(void)
{
    fixture_close(&f);
    net_tls_release(f.tls);
}

/* --- much of it ------------------------------------------------------------------------------- */

#define MUCH (8u << 20)

/* Sends and receives at once: a call that would wait returns after a millisecond. */
static void peer_echoes_much(struct fixture *x)
{
    struct tls_client c;
    static uint8_t out[MUCH], in[MUCH];
    size_t sent = 0, got = 0, n;
    unsigned seed = 3;
    struct timeval soon = {.tv_usec = 1000};

    for (size_t i = 0; i < MUCH; i++)
        out[i] = (uint8_t)(rand_r(&seed) >> 5);
    tls_client_init(&c, 0, certs);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 0)));
    SSL_set_mode(c.ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    setsockopt(c.fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    setsockopt(c.fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    while (got < MUCH) {
        size_t want = 1 + (size_t)rand_r(&seed) % (rand_r(&seed) % 4 == 0 ? 100000 : 500);
        want = want < MUCH - sent ? want : MUCH - sent;
        if (sent < MUCH && SSL_write_ex(c.ssl, out + sent, want, &n) == 1)
            sent += n;
        if (SSL_read_ex(c.ssl, in + got, MUCH - got, &n) == 1)
            got += n;
        else
            PEER_CHECK(x, SSL_get_error(c.ssl, 0) == SSL_ERROR_WANT_READ);
    }
    PEER_CHECK(x, memcmp(in, out, MUCH) == 0);
    tls_client_free(&c);
}

static void test_megabytes_through_tls_return_the_same(void)
{
    fixture_run(&f, peer_echoes_much);
    TEST_ASSERT_EQUAL(MUCH, f.side[0].shown);
    TEST_ASSERT_EQUAL(NET_CLOSED_PEER, f.side[0].why);
    finish();
}

/* Waits for all of MUCH (through the carry), answers as much in one piece and says goodbye. */
static size_t bytes_of_much(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;
    uint8_t *to;

    if (n < MUCH)
        return 0;
    to = net_reserve(s->c, MUCH);
    TEST_ASSERT_NOT_NULL(to);
    for (size_t i = 0; i < MUCH; i++)
        to[i] = (uint8_t)(p[i] ^ 0x5a);
    net_commit(s->c, MUCH);
    s->shown += MUCH;
    SIDE_CALL(s, net_close(s->c, 1000 * PEER_LIMIT_S));
    return MUCH;
}

static void peer_sends_much(struct fixture *x)
{
    struct tls_client c;
    static uint8_t b[MUCH];
    size_t n;

    for (size_t i = 0; i < MUCH; i++)
        b[i] = (uint8_t)(i * 13 + i / 255);
    tls_client_init(&c, 0, certs);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 8192)));
    PEER_CHECK(x, tls_client_send(&c, b, MUCH) && tls_client_recv(&c, b, MUCH));
    for (size_t i = 0; i < MUCH; i++)
        PEER_CHECK(x, b[i] == (uint8_t)((i * 13 + i / 255) ^ 0x5a));
    /* all of it, and then close_notify: not cut off */
    PEER_CHECK(x, SSL_read_ex(c.ssl, b, 1, &n) == 0);
    PEER_CHECK(x, SSL_get_error(c.ssl, 0) == SSL_ERROR_ZERO_RETURN);
    tls_client_free(&c);
}

static void test_large_message_both_ways_then_close_notify(void)
{
    static const struct net_handler h = {bytes_of_much, NULL, side_secured, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_sends_much);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, f.side[0].why);
    finish();
}

/* --- back-pressure ---------------------------------------------------------------------------- */

static void write_much(void *arg)
{
    struct side *s = arg;
    static uint8_t block[16 << 20];

    side_secured(arg);
    net_set_write_deadline(s->c, 100 * CLOCK_MS);
    SIDE_CALL(s, TEST_ASSERT_EQUAL(0, net_write(s->c, block, sizeof block)));
    SIDE_CALL(s, net_flush(s->c));
    TEST_ASSERT_GREATER_THAN(0, s->c->ext->send.bytes);
    /* only a part is encrypted ahead of the peer's reading */
    TEST_ASSERT_LESS_OR_EQUAL(NET_PUMP_MAX + (64u << 10), s->c->ext->send.bytes);
}

static void peer_shakes_hands_only(struct fixture *x)
{
    struct tls_client c;

    tls_client_init(&c, 0, certs);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 4096)));
    peer_wait_closed(x, 0);
    tls_client_free(&c);
}

static void test_tls_peer_that_never_reads_is_closed_as_slow(void)
{
    static const struct net_handler h = {side_echo, NULL, write_much, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_shakes_hands_only);
    TEST_ASSERT_EQUAL(NET_CLOSED_SLOW, f.side[0].why);
    finish();
}

static size_t bytes_then_pause(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    if (s->state++ == 0) {
        SIDE_CALL(s, net_pause(s->c));
        net_write(s->c, p, 1);
        return 1;
    }
    return side_echo(arg, p, n);
}

static void resume_first(struct fixture *x)
{
    SIDE_CALL(&x->side[0], net_resume(x->side[0].c));
}

static void peer_is_paused(struct fixture *x)
{
    struct tls_client c;
    char in[8];

    tls_client_init(&c, 0, certs);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 0)));
    PEER_CHECK(x, tls_client_send(&c, "abc", 3) && tls_client_recv(&c, in, 1));
    PEER_CHECK(x, tls_client_send(&c, "de", 2));
    peer_call(x, resume_first);
    PEER_CHECK(x, tls_client_recv(&c, in + 1, 4) && memcmp(in, "abcde", 5) == 0);
    tls_client_free(&c);
}

static void test_paused_tls_connection_keeps_bytes_in_order(void)
{
    static const struct net_handler h = {bytes_then_pause, NULL, side_secured, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_is_paused);
    finish();
}

/* --- the end, and what is not allowed --------------------------------------------------------- */

static void write_and_close(struct side *s)
{
    SIDE_CALL(s, TEST_ASSERT_EQUAL(0, net_write(s->c, "never heard", 11)));
    SIDE_CALL(s, net_close(s->c, 1000 * FIXTURE_ALARM_S)); /* much longer than the peer waits */
}

static void peer_waits_for_the_end(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char ch;

    PEER_CHECK(x, fd >= 0 && recv(fd, &ch, 1, 0) == 0); /* nothing, least of all in the clear */
    close(fd);
}

static void test_close_before_the_handshake_sends_nothing_and_does_not_wait(void)
{
    f.accepted = write_and_close;
    fixture_run(&f, peer_waits_for_the_end);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, f.side[0].why);
    finish();
}

static void peer_renegotiates(struct fixture *x)
{
    struct tls_client c;
    char ch;

    tls_client_init(&c, TLS1_2_VERSION, certs);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 0)));
    PEER_CHECK(x, SSL_renegotiate(c.ssl) == 1); /* begins with the next write */
    PEER_CHECK(x, !tls_client_send(&c, "x", 1) || !tls_client_recv(&c, &ch, 1));
    tls_client_free(&c);
}

static void test_renegotiation_is_refused(void)
{
    fixture_run(&f, peer_renegotiates);
    TEST_ASSERT_EQUAL(1, f.side[0].secured);
    finish();
}

static void peer_garbles_a_record(struct fixture *x)
{
    struct tls_client c;
    uint8_t junk[] = {0x17, 3,  3,  0,  20, 1,  2,  3,  4,  5,  6,  7, 8,
                      9,    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

    tls_client_init(&c, 0, certs);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 0)));
    PEER_CHECK(x, tls_client_send(&c, "ok", 2) && peer_send(c.fd, junk, sizeof junk));
    peer_wait_closed(x, 0);
    tls_client_free(&c);
}

static void test_garbled_record_closes_after_what_came_before_it(void)
{
    fixture_run(&f, peer_garbles_a_record);
    TEST_ASSERT_EQUAL(NET_CLOSED_TLS, f.side[0].why);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(f.side[0].text, "TLS record: "), f.side[0].text);
    TEST_ASSERT_EQUAL(2, f.side[0].shown);
    finish();
}

/* --- settings --------------------------------------------------------------------------------- */

static void test_bad_settings_are_refused_with_a_story(void)
{
    struct net_tls_pair pair = {test_certs_cert(certs, "server"), test_certs_key(certs, "client")};
    struct net_tls_options o = {.pairs = &pair, .npairs = 1};
    struct net_tls *t = NULL;
    struct mf_error e;

    TEST_ASSERT_EQUAL(MF_INVAL, net_tls_new(&t, &o, &e));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, "key values mismatch"), e.text);
    pair.key_file = test_certs_cert(certs, "missing");
    TEST_ASSERT_EQUAL(MF_IO, net_tls_new(&t, &o, &e));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, "missing-cert.pem: "), e.text);
    pair.key_file = NULL;
    TEST_ASSERT_EQUAL(MF_INVAL, net_tls_new(&t, &o, NULL));
    o = (struct net_tls_options){.ciphers = "NO-SUCH-CIPHER"};
    TEST_ASSERT_EQUAL(MF_INVAL, net_tls_new(&t, &o, &e));
    o = (struct net_tls_options){.curves = "no-such-curve"};
    TEST_ASSERT_EQUAL(MF_INVAL, net_tls_new(&t, &o, &e));
    o = (struct net_tls_options){.verify = true, .ca_file = test_certs_key(certs, "server")};
    TEST_ASSERT_EQUAL(MF_INVAL, net_tls_new(&t, &o, &e));
    TEST_ASSERT_NULL(t);
    net_tls_release(NULL);
    finish();
}

/* The certificate the server shows to who asks for `name`, with keys of that kind. */
static void shown_cert(struct fixture *x, const char *name, const char *sigalgs, char cn[64])
{
    struct tls_client c;

    tls_client_init(&c, 0, certs);
    SSL_set_tlsext_host_name(c.ssl, name);
    if (sigalgs != NULL)
        SSL_set1_sigalgs_list(c.ssl, sigalgs);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 0)));
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(c.ssl)),
                              NID_commonName, cn, 64);
    tls_client_free(&c);
}

static void peer_asks_by_name(struct fixture *x)
{
    static const struct {
        const char *name, *sigalgs, *cn;
    } asked[] = {
        {"localhost", NULL, "localhost"},
        {"other.example", NULL, "other.example"},
        {"third.example", NULL, "localhost"}, /* nobody's name: the first */
        {"rsa.example", NULL, "rsa.example"},
        {"localhost", "RSA-PSS+SHA256:ECDSA+SHA256", "localhost"},
    };
    char cn[64];

    for (size_t i = 0; i < MF_COUNT(asked); i++) {
        cn[0] = '\0';
        shown_cert(x, asked[i].name, asked[i].sigalgs, cn);
        if (x->failed != NULL)
            return;
        PEER_CHECK(x, strcmp(cn, asked[i].cn) == 0);
    }
}

static void test_certificate_is_chosen_by_the_name_asked_for(void)
{
    net_tls_release(f.tls);
    f.tls = tls_of((const char *const[]){"server", "other", "rsa"}, 3);
    fixture_run(&f, peer_asks_by_name);
    finish();
}

static void reload(struct fixture *x)
{
    net_tls_release(x->tls);
    x->tls = tls_of((const char *const[]){"other"}, 1);
}

static void peer_sees_a_reload(struct fixture *x)
{
    struct tls_client c;
    char cn[64] = "", in[8];

    tls_client_init(&c, 0, certs);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 0)));
    peer_call(x, reload);
    shown_cert(x, "localhost", NULL, cn);
    PEER_CHECK(x, strcmp(cn, "other.example") == 0);
    PEER_CHECK(x, tls_client_send(&c, "still", 5) && tls_client_recv(&c, in, 5)); /* the old one */
    tls_client_free(&c);
}

static void test_reload_touches_new_connections_only(void)
{
    fixture_run(&f, peer_sees_a_reload);
    finish();
}

/* --- the client side -------------------------------------------------------------------------- */

static size_t bytes_answered(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    if (n < 5)
        return 0;
    TEST_ASSERT_EQUAL_MEMORY("hello", p, 5);
    s->shown += n;
    SIDE_CALL(s, net_close(s->c, 1000));
    return n;
}

static struct side *dial(struct test_certs *trusted, const char *name, bool insecure)
{
    static const struct net_handler h = {bytes_answered, NULL, side_secured, side_closed};
    static struct side s;
    struct net_tls_options o = {.ca_file = test_certs_ca(trusted), .insecure = insecure};
    struct net_tls *t;

    memset(&s, 0, sizeof s);
    s.f = &f;
    f.open++;
    f.peer_done = true;
    TEST_ASSERT_EQUAL(0, net_tls_new(&t, &o, NULL));
    TEST_ASSERT_EQUAL(0, net_connect(&s.c, f.loop, "127.0.0.1", f.port, NULL, &h, &s, NULL));
    SIDE_CALL(&s, TEST_ASSERT_EQUAL(0, net_conn_secure_client(s.c, t, name, NULL)));
    SIDE_CALL(&s, TEST_ASSERT_EQUAL(0, net_write(s.c, "hello", 5)));
    net_tls_release(t); /* the connection keeps its own */
    alarm(FIXTURE_ALARM_S);
    loop_run(f.loop);
    alarm(0);
    TEST_ASSERT_EQUAL(1, s.closed);
    return &s;
}

static void test_client_side_checks_the_name_and_the_authority(void)
{
    const struct side *s = dial(certs, "localhost", false);

    TEST_ASSERT_EQUAL(1, s->secured);
    TEST_ASSERT_EQUAL(5, s->shown);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, s->why);
    TEST_ASSERT_EQUAL(5, dial(certs, "127.0.0.1", false)->shown);
    s = dial(certs, "wrong.example", false);
    TEST_ASSERT_EQUAL(NET_CLOSED_TLS, s->why);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(s->text, "ostname mismatch"), s->text);
    s = dial(others, "localhost", false);
    TEST_ASSERT_EQUAL(NET_CLOSED_TLS, s->why);
    TEST_ASSERT_EQUAL(0, s->shown);
    TEST_ASSERT_EQUAL(5, dial(others, "wrong.example", true)->shown); /* asked not to look */
    finish();
}

int main(void)
{
    int failed;
    static const struct test_cert made[] = {
        {.name = "server", .subject = "CN=localhost", .san = "DNS:localhost,IP:127.0.0.1"},
        {.name = "other", .subject = "CN=other.example", .san = "DNS:other.example"},
        {.name = "rsa", .subject = "CN=rsa.example", .san = "DNS:rsa.example", .rsa = true},
        {.name = "client", .subject = "CN=client", .client = true},
    };

    certs = test_certs_new();
    others = test_certs_new();
    for (size_t i = 0; i < MF_COUNT(made); i++)
        test_certs_make(certs, &made[i]);
    UNITY_BEGIN();
    RUN_TEST(test_megabytes_through_tls_return_the_same);
    RUN_TEST(test_large_message_both_ways_then_close_notify);
    RUN_TEST(test_tls_peer_that_never_reads_is_closed_as_slow);
    RUN_TEST(test_paused_tls_connection_keeps_bytes_in_order);
    RUN_TEST(test_close_before_the_handshake_sends_nothing_and_does_not_wait);
    RUN_TEST(test_renegotiation_is_refused);
    RUN_TEST(test_garbled_record_closes_after_what_came_before_it);
    RUN_TEST(test_bad_settings_are_refused_with_a_story);
    RUN_TEST(test_certificate_is_chosen_by_the_name_asked_for);
    RUN_TEST(test_reload_touches_new_connections_only);
    RUN_TEST(test_client_side_checks_the_name_and_the_authority);
    failed = UNITY_END();
    test_certs_free(certs);
    test_certs_free(others);
    return failed;
}
