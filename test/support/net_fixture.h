/* net_fixture.h: a loop with a listener for tests, and a peer that talks to it from a thread of its
 * own with plain blocking sockets, so that each test reads as a dialog. */
#ifndef TEST_NET_FIXTURE_H
#define TEST_NET_FIXTURE_H

#include "net/net.h"

#include <pthread.h>

#define SIDES 2048
/* A test that hangs ends its program.  Both limits are for what never comes: a machine that stalls
 * for seconds must not reach them. */
#define FIXTURE_ALARM_S 300
#define PEER_LIMIT_S    60

/* The server's side of one connection, as a test sees it.  Filled by the handlers below and by
 * tests' own, on the loop only; tests look at it before and after fixture_run(). */
struct side {
    struct fixture *f;
    struct net_conn *c;
    size_t index; /* in the order of arrival */
    size_t calls; /* of bytes() */
    size_t shown; /* bytes consumed */
    unsigned drained, secured, closed;
    enum net_why why;
    char text[256];
    size_t most_queued;
    unsigned state; /* the test's own */
    void *data;     /* the test's own */
};

struct fixture {
    struct loop *loop;
    struct net_listener *listener;
    struct net_tls *tls; /* set: every connection is secured at once */
    int port;
    const struct net_handler *handler; /* NULL: echo */
    void (*accepted)(struct side *s);  /* after the start; may be NULL */
    struct side side[SIDES];
    size_t sides, open;
    bool inside; /* a net_* call is being made: no callback may come now */
    bool peer_done;
    const char *failed; /* what the peer's thread found wrong */
    void (*peer)(struct fixture *f);
    void *arg; /* the test's own */
};

void fixture_open(struct fixture *f);
/* Runs the loop until the peer has returned and all connections are closed. */
void fixture_run(struct fixture *f, void (*peer)(struct fixture *f));
/* Asserts that every connection was closed exactly once, and frees all. */
void fixture_close(struct fixture *f);

/* For handlers: the echo's own. */
size_t side_echo(void *arg, const uint8_t *p, size_t n);
void side_drained(void *arg);
void side_secured(void *arg);
void side_closed(void *arg, enum net_why why, const char *text);
/* Commands: u8 length, then as many bytes.  Answers '!' and the bytes for each whole one, '.' when
 * it was left with a part. */
extern const struct net_handler side_commands;
/* Makes a net_* call during which no callback may run. */
#define SIDE_CALL(s, call)                                                                         \
    do {                                                                                           \
        (s)->f->inside = true;                                                                     \
        call;                                                                                      \
        (s)->f->inside = false;                                                                    \
    } while (0)

/* For the peer's thread: notes the first failure and returns. */
#define PEER_CHECK(f, cond)                                                                        \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            peer_fail((f), #cond, __LINE__);                                                       \
            return;                                                                                \
        }                                                                                          \
    } while (0)
void peer_fail(struct fixture *f, const char *what, int line);
/* A connected blocking socket (that waits PEER_LIMIT_S at most); rcvbuf 0: the system's.  -1 on
 * failure.  The kernel connects it: the server may learn of it much later, so whoever then looks at
 * its side without having heard from it calls peer_wait_accepted() first. */
int peer_connect(struct fixture *f, int rcvbuf);
bool peer_connect_fd(struct fixture *f, int fd); /* the same with a socket there is already */
bool peer_send(int fd, const void *p, size_t n);
bool peer_recv(int fd, void *p, size_t n); /* exactly n */
/* Bytes until the end; -1 when the connection was reset or timed out. */
ssize_t peer_recv_all(int fd);
/* Until the server's kernel has all that was sent; false when it does not take it. */
bool peer_wait_taken(int fd);
/* Runs fn on the loop and waits for it: how a peer asks for something at a given moment. */
void peer_call(struct fixture *f, void (*fn)(struct fixture *f));
/* Until as many connections have their side. */
void peer_wait_accepted(struct fixture *f, size_t sides);
/* Until that connection is closed on the server's side. */
void peer_wait_closed(struct fixture *f, size_t side);
/* Until its handler was shown bytes that often (s->calls). */
void peer_wait_calls(struct fixture *f, size_t side, size_t calls);
void peer_wait_shown(struct fixture *f, size_t side, size_t bytes); /* s->shown */
void peer_wait_state(struct fixture *f, size_t side, unsigned state);

#endif
