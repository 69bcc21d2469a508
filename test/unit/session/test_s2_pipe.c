/* test_s2_pipe.c: S2 turned on in the middle of a dialog: bytes as nats-server writes them, large
 * messages, little input that becomes much, and streams that are broken. */
#include "session/s2_pipe.h"

#include "codec/s2.h"
#include "support/net_fixture.h"
#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fixture f;
static struct s2_pipe *pipe_of_side;
static size_t most;
static bool compress;

void setUp(void)
{
    fixture_open(&f);
    most = 0;
    compress = true;
}

void tearDown(void)
{
}

/* --- the server's side ------------------------------------------------------------------------ */

/* "go" turns S2 on, as an INFO of a leaf does. */
static size_t bytes_until_go(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    if (n < 2)
        return 0;
    TEST_ASSERT_EQUAL_MEMORY("go", p, 2);
    net_write(s->c, "clear", 5);
    SIDE_CALL(s, pipe_of_side = s2_pipe_start(s->c, compress, most));
    TEST_ASSERT_NOT_NULL(pipe_of_side);
    SIDE_CALL(s, net_conn_set_handler(s->c, s->data, s));
    return 2;
}
static const struct net_handler waiting = {bytes_until_go, NULL, NULL, side_closed};

static void begin_with(const struct net_handler *h)
{
    static const struct net_handler *next;

    next = h;
    for (size_t i = 0; i < SIDES; i++)
        f.side[i].data = (void *)(uintptr_t)next;
    f.handler = &waiting;
}

/* --- the peer's side -------------------------------------------------------------------------- */

static int peer_begin(struct fixture *x)
{
    uint8_t in[5];
    int fd = peer_connect(x, 0);

    if (fd < 0 || !peer_send(fd, "go", 2) || !peer_recv(fd, in, 5) || memcmp(in, "clear", 5) != 0)
        return -1;
    return fd;
}

/* Reads S2 until there are n plain bytes. */
static bool peer_recv_plain(int fd, struct s2_reader *r, struct mf_buf *out, size_t n)
{
    uint8_t in[4096];

    while (out->len < n) {
        if (s2_reader_more(r)) {
            if (s2_reader_feed(r, MF_SLICE_NONE, out) != 0)
                return false;
            continue;
        }
        ssize_t k = recv(fd, in, sizeof in, 0);
        if (k <= 0 || s2_reader_feed(r, mf_slice(in, (size_t)k), out) != 0)
            return false;
    }
    return out->len == n;
}

/* A PING of nats-server 2.15.1, as it was seen on the wire. */
static const uint8_t ping[] = {0xff, 0x06, 0x00, 0x00, 'S',  '2',  's', 'T', 'w', 'O', 0x01, 0x0a,
                               0x00, 0x00, 0x66, 0x3b, 0xb9, 0xdb, 'P', 'I', 'N', 'G', '\r', '\n'};

static void peer_pings(struct fixture *x)
{
    struct mf_buf out = MF_BUF_INIT;
    uint8_t in[sizeof ping];
    int fd = peer_begin(x);

    PEER_CHECK(x, fd >= 0);
    s2_frame_begin(&out);
    s2_frame_add_plain(&out, MF_LIT("PING\r\n"));
    for (size_t i = 0; i < out.len; i++) /* byte by byte */
        PEER_CHECK(x, peer_send(fd, out.ptr + i, 1));
    PEER_CHECK(x, peer_recv(fd, in, sizeof in));
    PEER_CHECK(x, memcmp(in, out.ptr, out.len) == 0);
    PEER_CHECK(x, memcmp(in, ping, 14) == 0 && memcmp(in + 18, ping + 18, 6) == 0);
    mf_buf_fini(&out);
    close(fd);
}

static size_t bytes_of_ping(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    if (n < 6)
        return 0;
    TEST_ASSERT_EQUAL_MEMORY("PING\r\n", p, 6);
    net_write(s->c, p, 6);
    s->shown += 6;
    return 6;
}

static void test_a_small_write_is_framed_as_nats_server_frames_it(void)
{
    static const struct net_handler h = {bytes_of_ping, NULL, NULL, side_closed};

    begin_with(&h);
    fixture_run(&f, peer_pings);
    TEST_ASSERT_EQUAL(6, f.side[0].shown);
    TEST_ASSERT_EQUAL(NET_CLOSED_PEER, f.side[0].why);
    fixture_close(&f);
}

/* --- much of it ------------------------------------------------------------------------------- */

#define LARGE 3000000u

static uint8_t letter(size_t i)
{
    return (uint8_t)("the quick brown fox"[i % 19] + (i % 1000 == 0 ? i / 1000 % 7 : 0));
}

static void peer_sends_much(struct fixture *x)
{
    struct mf_buf out = MF_BUF_INIT, back = MF_BUF_INIT;
    struct s2_reader r;
    uint8_t *text = malloc(LARGE);
    int fd = peer_begin(x);

    PEER_CHECK(x, fd >= 0 && text != NULL);
    for (size_t i = 0; i < LARGE; i++)
        text[i] = letter(i);
    s2_frame_begin(&out);
    s2_frame_add(&out, mf_slice(text, LARGE));
    s2_frame_begin(&out); /* nats-server repeats it with every flush */
    PEER_CHECK(x, peer_send(fd, out.ptr, out.len));
    s2_reader_init(&r);
    PEER_CHECK(x, peer_recv_plain(fd, &r, &back, LARGE));
    PEER_CHECK(x, memcmp(back.ptr, text, LARGE) == 0);
    s2_reader_fini(&r);
    mf_buf_fini(&back);
    mf_buf_fini(&out);
    free(text);
    close(fd);
}

static const struct s2_pipe_counts *counted(void)
{
    static struct s2_pipe_counts last;

    last = *s2_pipe_counts(pipe_of_side);
    return &last;
}

static struct s2_pipe_counts at_end;

static void closed_with_counts(void *arg, enum net_why why, const char *text)
{
    at_end = *counted();
    side_closed(arg, why, text);
}

static void echo_much(bool on)
{
    static const struct net_handler h = {side_echo, side_drained, NULL, closed_with_counts};

    compress = on;
    begin_with(&h);
    fixture_run(&f, peer_sends_much);
    fixture_close(&f);
    TEST_ASSERT_EQUAL(LARGE, at_end.in_plain);
    TEST_ASSERT_EQUAL(LARGE, at_end.out_plain);
    TEST_ASSERT_LESS_THAN(LARGE / 4, at_end.in_wire);
    if (on)
        TEST_ASSERT_LESS_THAN(LARGE / 2, at_end.out_wire);
    else
        TEST_ASSERT_GREATER_THAN(LARGE, at_end.out_wire);
}

static void test_much_comes_back_compressed(void)
{
    echo_much(true);
}

static void test_much_comes_back_uncompressed(void)
{
    echo_much(false);
}

/* --- little that becomes much ----------------------------------------------------------------- */

#define BOMBS 40u

/* One chunk: 4 MiB of zeros in 30 bytes.  A literal, then copies with the long repeat form. */
static void add_bomb(struct mf_buf *out, uint32_t crc)
{
    static const uint8_t block[] = {
        0x80, 0x80, 0x80, 0x02,       /* 4 MiB */
        0x00, 0x00,                   /* a literal: one zero */
        0x01, 0x01,                   /* a copy: 4 from 1 back */
        0x1d, 0x00, 0xf7, 0xff, 0x3e, /* repeat: 65540 + 0x3efff7 = 4 MiB - 5 */
    };
    uint8_t head[8] = {0x00, sizeof block + 4};

    for (unsigned i = 0; i < 4; i++)
        head[4 + i] = (uint8_t)(crc >> (8 * i));
    mf_buf_append(out, head, sizeof head);
    mf_buf_append(out, block, sizeof block);
}

/* The masked CRC of 4 MiB of zeros, from the codec itself. */
static uint32_t bomb_crc(void)
{
    struct mf_buf out = MF_BUF_INIT;
    uint8_t *zeros = calloc(1, 4u << 20);
    uint32_t crc = ~0u;

    TEST_ASSERT_NOT_NULL(zeros);
    for (size_t i = 0; i < 4u << 20; i++)
        for (int k = 0; k < 8; k++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    free(zeros);
    mf_buf_fini(&out);
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static uint32_t crc_of_zeros;

static size_t bytes_of_zeros(void *arg, const uint8_t *p, size_t n)
{
    struct side *s = arg;

    TEST_ASSERT_TRUE(p[0] == 0 && p[n - 1] == 0);
    s->calls++;
    s->shown += n;
    TEST_ASSERT_LESS_OR_EQUAL(S2_READ_MAX + S2_CHUNK_MAX, n); /* a turn shows no more */
    if (s->shown == (size_t)BOMBS * S2_CHUNK_MAX)
        net_write(s->c, "done", 4);
    return n;
}

static void peer_sends_bombs(struct fixture *x)
{
    struct mf_buf out = MF_BUF_INIT, back = MF_BUF_INIT;
    struct s2_reader r;
    int fd = peer_begin(x);

    PEER_CHECK(x, fd >= 0);
    s2_frame_begin(&out);
    for (unsigned i = 0; i < BOMBS; i++)
        add_bomb(&out, crc_of_zeros);
    PEER_CHECK(x, out.len < 1000 && peer_send(fd, out.ptr, out.len));
    s2_reader_init(&r);
    PEER_CHECK(x, peer_recv_plain(fd, &r, &back, 4) && memcmp(back.ptr, "done", 4) == 0);
    s2_reader_fini(&r);
    mf_buf_fini(&back);
    mf_buf_fini(&out);
    close(fd);
}

static void test_little_that_becomes_much_is_shown_over_many_turns(void)
{
    static const struct net_handler h = {bytes_of_zeros, NULL, NULL, side_closed};

    crc_of_zeros = bomb_crc();
    begin_with(&h);
    fixture_run(&f, peer_sends_bombs);
    TEST_ASSERT_EQUAL((size_t)BOMBS * S2_CHUNK_MAX, f.side[0].shown);
    TEST_ASSERT_EQUAL(BOMBS, f.side[0].calls);
    fixture_close(&f);
}

static void peer_is_cut_off(struct fixture *x)
{
    const struct mf_slice *bytes = x->arg;
    uint8_t in;
    int fd = peer_begin(x);

    PEER_CHECK(x, fd >= 0 && peer_send(fd, bytes->ptr, bytes->len));
    PEER_CHECK(x, recv(fd, &in, 1, 0) <= 0);
    close(fd);
}

/* Closed, and the handler saw nothing. */
static void refuse_stream(const void *bytes, size_t n, size_t limit)
{
    static const struct net_handler h = {side_echo, NULL, NULL, side_closed};
    struct mf_slice s = mf_slice(bytes, n);

    setUp();
    most = limit;
    f.arg = &s;
    begin_with(&h);
    fixture_run(&f, peer_is_cut_off);
    TEST_ASSERT_EQUAL(NET_CLOSED_FILTER, f.side[0].why);
    TEST_ASSERT_EQUAL(0, f.side[0].shown);
    fixture_close(&f);
}

static void test_streams_that_are_broken_or_too_large_are_cut_off(void)
{
    struct mf_buf out = MF_BUF_INIT;

    fixture_close(&f);
    refuse_stream("PING\r\n", 6, 0); /* no stream at all */
    s2_frame_begin(&out);
    mf_buf_append(&out, "\x02\x01\x00\x00x", 5); /* a kind that may not be skipped */
    refuse_stream(out.ptr, out.len, 0);
    out.len = 10;
    s2_frame_add(&out, MF_LIT("PING\r\n"));
    out.ptr[out.len - 1] ^= 1; /* a wrong checksum */
    refuse_stream(out.ptr, out.len, 0);
    out.len = 10;
    mf_buf_append(&out, "\x01\x00\x00\x10", 4); /* 1 MiB is announced, 64 KiB are allowed */
    refuse_stream(out.ptr, out.len, 64u << 10);
    out.len = 10;
    mf_buf_append(&out, "\xfe\xff\xff\xff", 4); /* so is 16 MiB of padding */
    refuse_stream(out.ptr, out.len, 64u << 10);
    out.len = 10;
    add_bomb(&out, 0); /* 4 MiB out of 17 bytes */
    refuse_stream(out.ptr, out.len, 64u << 10);
    mf_buf_fini(&out);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_small_write_is_framed_as_nats_server_frames_it);
    RUN_TEST(test_much_comes_back_compressed);
    RUN_TEST(test_much_comes_back_uncompressed);
    RUN_TEST(test_little_that_becomes_much_is_shown_over_many_turns);
    RUN_TEST(test_streams_that_are_broken_or_too_large_are_cut_off);
    return UNITY_END();
}
