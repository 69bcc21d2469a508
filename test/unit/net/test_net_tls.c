/* test_net_tls.c: TLS as real OpenSSL clients meet it: handshakes that work, those that must not,
 * and when TLS begins. */
#include "net/net.h"

#include "support/net_fixture.h"
#include "support/test_certs.h"
#include "support/tls_client.h"
#include "unity.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fixture f;
static struct test_certs *certs, *others; /* two authorities that do not know each other */

static struct net_tls *server_tls(bool verify, int min_version)
{
    struct net_tls_pair pair = {test_certs_cert(certs, "server"), test_certs_key(certs, "server")};
    struct net_tls_options o = {.pairs = &pair,
                                .npairs = 1,
                                .ca_file = test_certs_ca(certs),
                                .verify = verify,
                                .min_version = min_version};
    struct net_tls *t = NULL;
    struct mf_error e;

    TEST_ASSERT_EQUAL_MESSAGE(0, net_tls_new(&t, &o, &e), e.text);
    return t;
}

void setUp(void)
{
    fixture_open(&f);
    f.tls = server_tls(false, 0);
}

void tearDown(void)
{
}

static void finish(void)
{
    fixture_close(&f);
    net_tls_release(f.tls);
}

/* --- handshakes that work --------------------------------------------------------------------- */

static void peer_says_hello(struct fixture *x, int max_version, const char *cert)
{
    struct tls_client c;
    char in[8];

    tls_client_init(&c, max_version, certs);
    if (cert != NULL)
        tls_client_use(&c, certs, cert);
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 0)));
    PEER_CHECK(x, tls_client_send(&c, "hello", 5) && tls_client_recv(&c, in, 5));
    PEER_CHECK(x, memcmp(in, "hello", 5) == 0);
    SSL_shutdown(c.ssl);
    tls_client_free(&c);
}

static void peer_hello_13(struct fixture *x)
{
    peer_says_hello(x, 0, NULL);
}

static void peer_hello_12(struct fixture *x)
{
    peer_says_hello(x, TLS1_2_VERSION, NULL);
}

static struct net_tls_peer seen;

static void see_peer(void *arg)
{
    struct side *s = arg;

    side_secured(arg);
    TEST_ASSERT_TRUE(net_conn_is_secure(s->c));
    net_conn_tls_peer(s->c, &seen);
}
static const struct net_handler seeing = {side_echo, NULL, see_peer, side_closed};

static void expect_insecure(struct side *s)
{
    TEST_ASSERT_FALSE(net_conn_is_secure(s->c));
    net_conn_tls_peer(s->c, &seen);
    TEST_ASSERT_EQUAL_STRING("", seen.version);
}

static void test_handshake_then_echo_in_tls_1_3(void)
{
    f.handler = &seeing;
    f.accepted = expect_insecure;
    fixture_run(&f, peer_hello_13);
    TEST_ASSERT_EQUAL(1, f.side[0].secured);
    TEST_ASSERT_EQUAL(NET_CLOSED_PEER, f.side[0].why);
    TEST_ASSERT_EQUAL_STRING("1.3", seen.version);
    TEST_ASSERT_EQUAL_STRING("TLS_AES_128_GCM_SHA256", seen.cipher);
    TEST_ASSERT_EQUAL_STRING("", seen.subject);
    TEST_ASSERT_EQUAL(0, seen.nsans);
    finish();
}

static void test_handshake_then_echo_in_tls_1_2(void)
{
    f.handler = &seeing;
    fixture_run(&f, peer_hello_12);
    TEST_ASSERT_EQUAL_STRING("1.2", seen.version);
    TEST_ASSERT_EQUAL_STRING("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", seen.cipher);
    finish();
}

/* --- client certificates ---------------------------------------------------------------------- */

static void peer_hello_alice(struct fixture *x)
{
    peer_says_hello(x, 0, "alice");
}

static void peer_hello_odd(struct fixture *x)
{
    peer_says_hello(x, 0, "odd");
}

static void use_tls(struct net_tls *t)
{
    net_tls_release(f.tls);
    f.tls = t;
}

static void test_client_certificate_is_described_as_nats_server_maps_it(void)
{
    use_tls(server_tls(true, 0));
    f.handler = &seeing;
    fixture_run(&f, peer_hello_alice);
    TEST_ASSERT_EQUAL(1, f.side[0].secured);
    TEST_ASSERT_EQUAL_STRING("CN=alice,OU=one+OU=two,O=Mayfly\\, Inc,C=CH", seen.subject);
    TEST_ASSERT_EQUAL_STRING("CN=alice,OU=two,OU=one,O=Mayfly\\, Inc,C=CH,DC=example,DC=com",
                             seen.dn);
    TEST_ASSERT_EQUAL_STRING("DC=com,DC=example", seen.dcs);
    TEST_ASSERT_EQUAL(3, seen.nsans);
    TEST_ASSERT_EQUAL_STRING("alice@example.com", seen.sans[0]);
    TEST_ASSERT_EQUAL_STRING("alice.example.com", seen.sans[1]);
    TEST_ASSERT_EQUAL_STRING("spiffe://example.com/alice", seen.sans[2]);
    TEST_ASSERT_EQUAL(64, strlen(seen.spki_sha256));
    TEST_ASSERT_EQUAL(64, strlen(seen.cert_sha256));
    TEST_ASSERT_TRUE(strcmp(seen.spki_sha256, seen.cert_sha256) != 0);
    finish();
}

/* Characters that need an escape, an attribute outside nats-server's table, several values where
 * Go keeps one. */
static void test_odd_subject_is_escaped_and_has_no_dn(void)
{
    use_tls(server_tls(true, 0));
    f.handler = &seeing;
    fixture_run(&f, peer_hello_odd);
    TEST_ASSERT_EQUAL_STRING("CN=last=one,ST=\\ a\\ ,L=\\<b#\\\"\\>,OU=\\#c\\\\", seen.subject);
    TEST_ASSERT_EQUAL_STRING("", seen.dn);
    TEST_ASSERT_EQUAL_STRING("", seen.dcs);
    TEST_ASSERT_EQUAL(0, seen.nsans);
    finish();
}

/* Expects the handshake, or the first read after it, to fail: in TLS 1.3 the client is done before
 * the server has looked at its certificate. */
static void peer_is_refused(struct fixture *x, struct test_certs *trusted, int max_version,
                            const char *cert)
{
    struct tls_client c;
    char ch;

    tls_client_init(&c, max_version, trusted);
    if (cert != NULL)
        tls_client_use(&c, cert[0] == '!' ? others : certs, cert);
    PEER_CHECK(x, !tls_client_handshake(&c, peer_connect(x, 0)) || !tls_client_recv(&c, &ch, 1));
    tls_client_free(&c);
}

static void peer_without_cert(struct fixture *x)
{
    peer_is_refused(x, certs, 0, NULL);
}

static void peer_with_foreign_cert(struct fixture *x)
{
    peer_is_refused(x, certs, 0, "!mallory");
}

static void peer_with_expired_cert(struct fixture *x)
{
    peer_is_refused(x, certs, 0, "late");
}

static void peer_distrusts_server(struct fixture *x)
{
    peer_is_refused(x, others, 0, NULL);
}

static void peer_of_tls_12_only(struct fixture *x)
{
    peer_is_refused(x, certs, TLS1_2_VERSION, NULL);
}

static void expect_tls_failure(const char *text)
{
    TEST_ASSERT_EQUAL(0, f.side[0].secured);
    TEST_ASSERT_EQUAL(0, f.side[0].shown);
    TEST_ASSERT_EQUAL(NET_CLOSED_TLS, f.side[0].why);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(f.side[0].text, text), f.side[0].text);
    finish();
}

static void test_client_without_certificate_is_refused_when_verifying(void)
{
    use_tls(server_tls(true, 0));
    fixture_run(&f, peer_without_cert);
    expect_tls_failure("peer did not return a certificate");
}

static void test_client_with_a_foreign_certificate_is_refused(void)
{
    use_tls(server_tls(true, 0));
    fixture_run(&f, peer_with_foreign_cert);
    expect_tls_failure("unable to get local issuer certificate");
}

static void test_client_with_an_expired_certificate_is_refused(void)
{
    use_tls(server_tls(true, 0));
    fixture_run(&f, peer_with_expired_cert);
    expect_tls_failure("certificate has expired");
}

static void test_client_that_distrusts_the_server_ends_the_handshake(void)
{
    fixture_run(&f, peer_distrusts_server);
    expect_tls_failure("unknown ca");
}

static void test_client_below_the_least_version_is_refused(void)
{
    use_tls(server_tls(false, 0x0304));
    fixture_run(&f, peer_of_tls_12_only);
    expect_tls_failure("unsupported protocol");
}

/* --- peers that do not speak TLS -------------------------------------------------------------- */

static void peer_speaks_plainly(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    uint8_t in[64];

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "CONNECT {}\r\nPING\r\n", 18));
    PEER_CHECK(x, recv(fd, in, sizeof in, 0) == 0); /* as with nats-server: an end, and no word */
    close(fd);
}

static void test_plain_text_on_a_tls_connection_closes_it(void)
{
    fixture_run(&f, peer_speaks_plainly);
    expect_tls_failure("TLS handshake: ");
}

static void peer_breaks_off(struct fixture *x)
{
    int fd = peer_connect(x, 0);

    /* the head of a ClientHello record, and no more of it */
    PEER_CHECK(x, fd >= 0 && peer_send(fd, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
    close(fd);
    peer_wait_closed(x, 0); /* or the end of the run would close it first */
}

static void test_handshake_broken_off_is_a_tls_failure(void)
{
    fixture_run(&f, peer_breaks_off);
    expect_tls_failure("closed by the peer");
}

static void peer_announces_16_megabytes(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    static uint8_t record[5 + 16384] = {0x16, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff};

    /* the first record of a ClientHello of 2^24-1 bytes */
    PEER_CHECK(x, fd >= 0 && peer_send(fd, record, sizeof record));
    peer_wait_closed(x, 0);
    close(fd);
}

static void test_handshake_message_of_16_megabytes_is_refused_at_once(void)
{
    fixture_run(&f, peer_announces_16_megabytes);
    expect_tls_failure("excessive message size");
}

/* Records that are well formed and bring the handshake no further, without end. */
static void peer_dawdles(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    uint8_t record[5 + 5] = {0x16, 3, 1, 0, 5, 0, 0, 0, 1, 0}; /* HelloRequest, ignored */

    PEER_CHECK(x, fd >= 0);
    while (peer_send(fd, record, sizeof record) && x->side[0].closed == 0)
        ;
    close(fd);
}

static void test_handshake_that_never_gets_on_is_ended(void)
{
    fixture_run(&f, peer_dawdles);
    TEST_ASSERT_EQUAL(NET_CLOSED_TLS, f.side[0].why);
    finish();
}

/* --- when TLS begins -------------------------------------------------------------------------- */

/* INFO in the clear, then TLS, as nats-server does; and a word meant for after the handshake. */
static void info_then_secure(struct side *s)
{
    SIDE_CALL(s, TEST_ASSERT_EQUAL(0, net_write(s->c, "INFO {}\r\n", 9)));
    SIDE_CALL(s, TEST_ASSERT_EQUAL(0, net_conn_secure(s->c, s->f->arg, NULL)));
    SIDE_CALL(s, TEST_ASSERT_EQUAL(0, net_write(s->c, "WELCOME", 7)));
    TEST_ASSERT_EQUAL(MF_INVAL, net_conn_secure(s->c, s->f->arg, NULL));
}

/* A ClientHello in steps of one byte: every cut there is. */
static bool dribble(struct tls_client *c, int fd)
{
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    char ch;
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL_set_bio(c->ssl, in, out);
    c->fd = fd;
    while (SSL_connect(c->ssl) != 1) {
        while (BIO_read(out, &ch, 1) == 1) {
            if (!peer_send(fd, &ch, 1))
                return false;
        }
        if (!peer_recv(fd, &ch, 1))
            return false;
        BIO_write(in, &ch, 1);
    }
    while (BIO_read(out, &ch, 1) == 1) {
        if (!peer_send(fd, &ch, 1))
            return false;
    }
    BIO_up_ref(in); /* what was read too far stays in it: none, one byte at a time */
    BIO_free(in);
    SSL_set_fd(c->ssl, fd);
    return true;
}

static void peer_upgrades(struct fixture *x)
{
    struct tls_client c;
    int fd = peer_connect(x, 0);
    char in[16];

    PEER_CHECK(x, fd >= 0 && peer_recv(fd, in, 9) && memcmp(in, "INFO {}\r\n", 9) == 0);
    tls_client_init(&c, 0, certs);
    PEER_CHECK(x, dribble(&c, fd));
    PEER_CHECK(x, tls_client_recv(&c, in, 7) && memcmp(in, "WELCOME", 7) == 0);
    PEER_CHECK(x, tls_client_send(&c, "x", 1) && tls_client_recv(&c, in, 1));
    tls_client_free(&c);
}

static void test_plain_info_then_tls_cut_at_every_byte(void)
{
    f.arg = f.tls;
    f.tls = NULL;
    f.accepted = info_then_secure;
    fixture_run(&f, peer_upgrades);
    TEST_ASSERT_EQUAL(1, f.side[0].secured);
    f.tls = f.arg;
    finish();
}

/* Looks at the first byte, as for allow_non_tls and handshake_first. */
static size_t bytes_peeked(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    if (s->state++ == 0 && p[0] == 0x16) {
        SIDE_CALL(s, TEST_ASSERT_EQUAL(0, net_conn_secure(s->c, s->f->arg, NULL)));
        return 0;
    }
    return side_echo(arg, p, n);
}

static void peer_both_ways(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    char ch;

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "x", 1) && peer_recv(fd, &ch, 1) && ch == 'x');
    close(fd);
    peer_hello_13(x);
}

static void test_first_byte_decides_between_plain_and_tls(void)
{
    static const struct net_handler h = {bytes_peeked, NULL, side_secured, side_closed};

    f.arg = f.tls;
    f.tls = NULL;
    f.handler = &h;
    fixture_run(&f, peer_both_ways);
    TEST_ASSERT_EQUAL(2, f.sides);
    TEST_ASSERT_EQUAL(0, f.side[0].secured);
    TEST_ASSERT_EQUAL(1, f.side[1].secured);
    TEST_ASSERT_EQUAL(5, f.side[1].shown);
    f.tls = f.arg;
    finish();
}

int main(void)
{
    int failed;
    static const struct test_cert made[] = {
        {.name = "server", .subject = "CN=localhost", .san = "DNS:localhost,IP:127.0.0.1"},
        {.name = "alice",
         .subject = "DC=com,DC=example,C=CH,O=Mayfly; Inc,OU=one,OU=two,CN=alice",
         .san = "URI:spiffe://example.com/alice,DNS:alice.example.com,email:alice@example.com",
         .client = true},
        {.name = "odd",
         .subject = "OU=#c\\,L=<b#\">,ST= a ,CN=first,emailAddress=a@b,CN=last=one",
         .client = true},
        {.name = "late", .subject = "CN=late", .client = true, .expired = true},
    };

    certs = test_certs_new();
    others = test_certs_new();
    for (size_t i = 0; i < MF_COUNT(made); i++)
        test_certs_make(certs, &made[i]);
    test_certs_make(
        others, &(struct test_cert){.name = "!mallory", .subject = "CN=mallory", .client = true});
    UNITY_BEGIN();
    RUN_TEST(test_handshake_then_echo_in_tls_1_3);
    RUN_TEST(test_handshake_then_echo_in_tls_1_2);
    RUN_TEST(test_client_certificate_is_described_as_nats_server_maps_it);
    RUN_TEST(test_odd_subject_is_escaped_and_has_no_dn);
    RUN_TEST(test_client_without_certificate_is_refused_when_verifying);
    RUN_TEST(test_client_with_a_foreign_certificate_is_refused);
    RUN_TEST(test_client_with_an_expired_certificate_is_refused);
    RUN_TEST(test_client_that_distrusts_the_server_ends_the_handshake);
    RUN_TEST(test_client_below_the_least_version_is_refused);
    RUN_TEST(test_plain_text_on_a_tls_connection_closes_it);
    RUN_TEST(test_handshake_broken_off_is_a_tls_failure);
    RUN_TEST(test_handshake_message_of_16_megabytes_is_refused_at_once);
    RUN_TEST(test_handshake_that_never_gets_on_is_ended);
    RUN_TEST(test_plain_info_then_tls_cut_at_every_byte);
    RUN_TEST(test_first_byte_decides_between_plain_and_tls);
    failed = UNITY_END();
    test_certs_free(certs);
    test_certs_free(others);
    return failed;
}
