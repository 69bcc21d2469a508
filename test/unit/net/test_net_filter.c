/* test_net_filter.c: a filter between handler and wire: what it is given, in which order, and its
 * last word; over TCP and over TLS. */
#include "net/net.h"

#include "net/net_impl.h"
#include "support/net_fixture.h"
#include "support/test_certs.h"
#include "support/tls_client.h"
#include "unity.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fixture f;

void setUp(void)
{
    fixture_open(&f);
}

void tearDown(void)
{
}

/* --- filter ----------------------------------------------------------------------------------- */

static unsigned xor_freed;

static int xor_decode(void *state, struct net_conn *c, const uint8_t *p, size_t n)
{
    uint8_t buf[64];

    for (size_t i = 0; i < n;) {
        size_t k = n - i < sizeof buf ? n - i : sizeof buf;
        for (size_t j = 0; j < k; j++) {
            buf[j] = p[i + j] ^ *(uint8_t *)state;
            if (buf[j] == '~' && *(uint8_t *)state == 0x55)
                return MF_PROTO;
        }
        net_filter_plain(c, buf, k);
        i += k;
    }
    return 0;
}

static int xor_encode(void *state, struct net_conn *c, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t ch = p[i] ^ *(uint8_t *)state;
        if (net_filter_wire(c, &ch, 1) != 0)
            return MF_NOMEM;
    }
    return 0;
}

static void xor_farewell(void *state, struct net_conn *c, enum net_why why)
{
    (void)state;
    TEST_ASSERT_EQUAL(
        0, net_filter_wire(c, why == NET_CLOSED_LOCAL ? (const uint8_t *)"L" : (const uint8_t *)"F",
                           1));
}

static void xor_free(void *state)
{
    xor_freed++;
    free(state);
}
static const struct net_filter xor_filter = {xor_decode, xor_encode, xor_farewell, xor_free};

static void set_filter(struct side *s, uint8_t key)
{
    uint8_t *state = malloc(1);

    TEST_ASSERT_NOT_NULL(state);
    *state = key;
    SIDE_CALL(s, net_conn_set_filter(s->c, &xor_filter, state));
}

static size_t bytes_then_filter(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    TEST_ASSERT_EQUAL('k', p[0]);
    TEST_ASSERT_GREATER_OR_EQUAL(2, n);
    net_write(s->c, "plain", 5); /* before the filter: must leave as it is */
    set_filter(s, p[1]);
    SIDE_CALL(s, net_conn_set_handler(s->c, &side_commands, s));
    net_write(s->c, "hi", 2);
    return 2;
}

static void close_first(struct fixture *x)
{
    SIDE_CALL(&x->side[0], net_close(x->side[0].c, 1000));
}

static void xor_text(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] ^= 0x55;
}

static void peer_is_filtered(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    uint8_t out[] = "kU\003abc\002d", in[16];

    PEER_CHECK(x, fd >= 0);
    xor_text(out + 2, 6);
    PEER_CHECK(x, peer_send(fd, out, 8)); /* key, a whole command and a part of one */
    PEER_CHECK(x, peer_recv(fd, in, 5) && memcmp(in, "plain", 5) == 0);
    PEER_CHECK(x, peer_recv(fd, in, 7));
    xor_text(in, 7);
    PEER_CHECK(x, memcmp(in, "hi!abc.", 7) == 0);
    out[0] = 'e' ^ 0x55;
    PEER_CHECK(x, peer_send(fd, out, 1) && peer_recv(fd, in, 3));
    xor_text(in, 3);
    PEER_CHECK(x, memcmp(in, "!de", 3) == 0);
    if (x->arg == NULL) {
        peer_call(x, close_first);
    } else {
        out[0] = '~' ^ 0x55; /* what the filter cannot stand */
        PEER_CHECK(x, peer_send(fd, out, 1));
    }
    PEER_CHECK(x, peer_recv(fd, in, 1) && in[0] == (x->arg == NULL ? 'L' : 'F'));
    PEER_CHECK(x, recv(fd, in, 1, 0) == 0);
    close(fd);
}

static const struct net_handler filtering = {bytes_then_filter, NULL, NULL, side_closed};

static void test_filter_set_inside_bytes_gets_the_rest_and_says_farewell(void)
{
    f.handler = &filtering;
    xor_freed = 0;
    fixture_run(&f, peer_is_filtered);
    TEST_ASSERT_EQUAL(NET_CLOSED_LOCAL, f.side[0].why);
    TEST_ASSERT_EQUAL(1, xor_freed);
    fixture_close(&f);
}

static void test_filter_that_gives_up_closes_with_its_last_word(void)
{
    f.handler = &filtering;
    f.arg = &f;
    xor_freed = 0;
    fixture_run(&f, peer_is_filtered);
    TEST_ASSERT_EQUAL(NET_CLOSED_FILTER, f.side[0].why);
    TEST_ASSERT_EQUAL(1, xor_freed);
    fixture_close(&f);
}

/* --- paused when it is set, and over TLS ------------------------------------------------------ */

static uint8_t pattern(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static size_t bytes_of_pattern(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    for (size_t i = 0; i < n; i++) /* once the filter is there all is seen through it, once */
        TEST_ASSERT_EQUAL_HEX8(pattern(s->shown + i) ^ (s->state == 1 ? 0x77 : 0), p[i]);
    s->shown += n;
    if (s->shown == s->f->side[0].most_queued) /* all of it: so say */
        net_write(s->c, "done", 4);
    return n;
}
static const struct net_handler patterned = {bytes_of_pattern, NULL, NULL, side_closed};

/* Waits for a full buffer, then sets the filter and pauses: what OpenSSL still holds must line up
 * behind what was kept. */
static size_t bytes_until_full(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    s->calls++;
    if (n < NET_READ_BUFFER)
        return bytes_of_pattern(arg, p, n);
    set_filter(s, 0x77);
    SIDE_CALL(s, net_conn_set_handler(s->c, &patterned, s));
    SIDE_CALL(s, net_pause(s->c));
    s->state = 1;
    return 0;
}

static void pause_when_secured(void *arg)
{
    struct side *s = arg;

    side_secured(arg);
    SIDE_CALL(s, net_pause(s->c));
}

static void resume_first(struct fixture *x)
{
    SIDE_CALL(&x->side[0], net_resume(x->side[0].c));
}

#define SENT 600000u

static void peer_sends_a_pattern(struct fixture *x)
{
    struct tls_client c;
    static uint8_t out[SENT];
    uint8_t in[8];

    for (size_t i = 0; i < SENT; i++)
        out[i] = pattern(i);
    tls_client_init(&c, 0, x->arg);
    SSL_set_max_send_fragment(c.ssl, 10000); /* so that one read brings more than a buffer full */
    PEER_CHECK(x, tls_client_handshake(&c, peer_connect(x, 0)));
    PEER_CHECK(x, tls_client_send(&c, out, SENT));
    peer_call(x, resume_first); /* now full buffers come */
    peer_wait_state(x, 0, 1);
    peer_call(x, resume_first);
    PEER_CHECK(x, tls_client_recv(&c, in, 4) && (in[0] ^ 0x77) == 'd' && (in[3] ^ 0x77) == 'e');
    peer_call(x, close_first);
    PEER_CHECK(x, tls_client_recv(&c, in, 1) && in[0] == 'L');
    PEER_CHECK(x, SSL_read(c.ssl, in, 1) == 0);
    PEER_CHECK(x, SSL_get_error(c.ssl, 0) == SSL_ERROR_ZERO_RETURN);
    tls_client_free(&c);
}

static void test_filter_over_tls_set_while_paused_keeps_the_order(void)
{
    static const struct net_handler h = {bytes_until_full, NULL, pause_when_secured, side_closed};
    struct test_certs *certs = test_certs_new();
    struct net_tls_pair pair = {test_certs_cert(certs, "server"), test_certs_key(certs, "server")};
    struct net_tls_options o = {.pairs = &pair, .npairs = 1};

    test_certs_make(certs, &(struct test_cert){.name = "server", .subject = "CN=localhost"});
    TEST_ASSERT_EQUAL(0, net_tls_new(&f.tls, &o, NULL));
    f.arg = certs;
    f.handler = &h;
    f.side[0].most_queued = SENT;
    xor_freed = 0;
    fixture_run(&f, peer_sends_a_pattern);
    TEST_ASSERT_EQUAL(1, f.side[0].state);
    TEST_ASSERT_EQUAL(SENT, f.side[0].shown);
    TEST_ASSERT_EQUAL(1, xor_freed);
    fixture_close(&f);
    net_tls_release(f.tls);
    test_certs_free(certs);
}

/* Kept bytes, a filter set from elsewhere, and the socket found readable in the same turn. */
static void filter_and_resume(struct fixture *x)
{
    struct side *s = &x->side[0];

    SIDE_CALL(s, net_resume(s->c));
    set_filter(s, 0x55);
    SIDE_CALL(s, net_conn_set_handler(s->c, &side_commands, s));
    net_read(s->c); /* as libuv may call it before the hook at the turn's end */
}

static size_t bytes_kept(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    (void)p;
    s->calls++;
    s->state = (unsigned)n;
    if (n == 3)
        SIDE_CALL(s, net_pause(s->c)); /* what follows stays in the socket */
    return 0;
}

static void peer_is_filtered_from_elsewhere(struct fixture *x)
{
    int fd = peer_connect(x, 0);
    uint8_t out[] = "\003abc\002de", in[16];

    PEER_CHECK(x, fd >= 0);
    xor_text(out, 7);
    PEER_CHECK(x, peer_send(fd, out, 3));
    peer_wait_state(x, 0, 3);
    PEER_CHECK(x, peer_send(fd, out + 3, 4));
    peer_call(x, filter_and_resume);
    PEER_CHECK(x, peer_recv(fd, in, 8));
    xor_text(in, 8);
    PEER_CHECK(x, memcmp(in, ".!abc!de", 8) == 0);
    close(fd);
}

static void test_kept_bytes_pass_a_new_filter_before_those_that_follow(void)
{
    static const struct net_handler h = {bytes_kept, NULL, NULL, side_closed};

    f.handler = &h;
    fixture_run(&f, peer_is_filtered_from_elsewhere);
    fixture_close(&f);
}

/* A large answer in many pieces must pass the filter whole, though the peer reads late. */
#define LARGE 3000000u

static size_t bytes_then_answer_much(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    (void)p;
    for (size_t i = 0; i < LARGE; i += 1000) {
        uint8_t *to = net_reserve(s->c, 1000);
        TEST_ASSERT_NOT_NULL(to);
        for (size_t k = 0; k < 1000; k++)
            to[k] = (uint8_t)((i + k) * 3);
        net_commit(s->c, 1000);
    }
    return n;
}

static void set_filter_at_start(struct side *s)
{
    set_filter(s, 0x55);
}

static void peer_reads_much_filtered(struct fixture *x)
{
    int fd = peer_connect(x, 4096);
    static uint8_t in[LARGE];

    PEER_CHECK(x, fd >= 0 && peer_send(fd, "x", 1));
    PEER_CHECK(x, peer_recv(fd, in, LARGE));
    for (size_t i = 0; i < LARGE; i++)
        PEER_CHECK(x, (in[i] ^ 0x55) == (uint8_t)(i * 3));
    close(fd);
}

static void test_large_answer_passes_the_filter_whole(void)
{
    static const struct net_handler h = {bytes_then_answer_much, NULL, NULL, side_closed};

    f.handler = &h;
    f.accepted = set_filter_at_start;
    fixture_run(&f, peer_reads_much_filtered);
    fixture_close(&f);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_filter_set_inside_bytes_gets_the_rest_and_says_farewell);
    RUN_TEST(test_filter_that_gives_up_closes_with_its_last_word);
    RUN_TEST(test_filter_over_tls_set_while_paused_keeps_the_order);
    RUN_TEST(test_kept_bytes_pass_a_new_filter_before_those_that_follow);
    RUN_TEST(test_large_answer_passes_the_filter_whole);
    return UNITY_END();
}
