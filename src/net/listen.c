/* listen.c: listeners.
 *
 * Happy path: readable means connections wait; on_event() accepts some of them, each is given to
 * accepted().
 * Failure: without descriptors (or memory) the listener pauses: the connections wait in the
 * kernel's backlog, and the loop does not spin.  Before that, connections that would take
 * descriptors which are kept for files are closed at once: the kernel gives the lowest number that
 * is free, so the number of a new one shows how many are left.
 * Close: at once; libuv's close callback frees the struct. */
#include "net/listen_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPT_PER_TURN 256 /* a burst of connects must not keep those inside from being served */
#define REST_NS         (50 * CLOCK_MS)
#define COMPLAIN_NS     (10 * CLOCK_S)

static void on_event(uv_poll_t *h, int status, int events);

static void on_rested(void *arg)
{
    struct net_listener *l = arg;
    (void)uv_poll_start(&l->poll, UV_READABLE, on_event);
}

/* Rate-limited: a flood of connections would be a flood of log lines. */
static void log_complaint(struct net_listener *l, const char *what)
{
    int64_t now = loop_mono_ns(l->ctx->loop);

    if (l->complained_ns != 0 && now - l->complained_ns <= COMPLAIN_NS)
        return;
    l->complained_ns = now;
    if (l->path != NULL)
        log_error("Accept on %s: %s", l->path, what);
    else
        log_error("Accept on port %d: %s", l->port, what);
}

static void rest_listener(struct net_listener *l, int error)
{
    char text[128];

    snprintf(text, sizeof text, "%s, waiting", strerror(error));
    log_complaint(l, text);
    uv_poll_stop(&l->poll);
    loop_timer_arm(l->rest, loop_mono_ns(l->ctx->loop) + REST_NS);
}

static bool crowds_files(const struct net_ctx *x, int fd, unsigned kept)
{
    return kept > 0 && (uint64_t)fd + 1 + kept > x->files_max;
}

bool net_conn_crowds(const struct net_conn *c)
{
    return crowds_files(c->ctx, c->fd, c->ctx->files_kept);
}

void net_keep_files(struct loop *l, unsigned n)
{
    struct net_ctx *x = net_ctx_get(l);
    struct rlimit files;

    if (x == NULL)
        return;
    x->files_kept = n;
    x->files_max = getrlimit(RLIMIT_NOFILE, &files) == 0 ? (uint64_t)files.rlim_cur : UINT64_MAX;
    net_ctx_put(x);
}

static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/* False: no connection waits. */
static bool accept_one(struct net_listener *l)
{
    struct sockaddr_storage ss = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof ss;
    int fd = accept4(l->fd, (struct sockaddr *)&ss, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct net_conn *c;

    if (fd < 0) {
        int error = errno;
        if (is_shortage(error))
            rest_listener(l, error);
        /* Others are errors of one connection that ended while it waited: go on. */
        return error != EAGAIN && error != EWOULDBLOCK && !is_shortage(error);
    }
    if (crowds_files(l->ctx, fd, l->ctx->files_kept / 2)) {
        log_complaint(l, "too few descriptors left, closed at once");
        close(fd);
        return true;
    }
    c = net_conn_new(l->ctx);
    if (c == NULL) {
        close(fd);
        return false;
    }
    if (net_conn_attach(c, fd) != 0) {
        close(fd);
        net_conn_end(c, NET_CLOSED_NOMEM, 0, 0);
        return false;
    }
    net_conn_set_peer(c, (struct sockaddr *)&ss);
    l->accepted(l->arg, c);
    return true;
}

static void on_event(uv_poll_t *h, int status, int events)
{
    struct net_listener *l = mf_container(h, struct net_listener, poll);

    (void)events;
    if (status < 0) {
        rest_listener(l, EIO);
        return;
    }
    for (int n = 0; n < ACCEPT_PER_TURN && !l->closed; n++) {
        if (!accept_one(l))
            break;
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Accepted sockets inherit all of these on Linux, which saves their system calls. */
static void set_options(int fd, int family, bool both)
{
    int on = 1, off = 0, idle = 60, interval = 15, count = 4;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, both ? &off : &on, sizeof on);
}

/* A descriptor that listens (or is only bound, to probe), or -1 and errno. */
static int open_at(const struct addrinfo *a, bool both, bool probe)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;

    if (fd < 0)
        return -1;
    set_options(fd, a->ai_family, both);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && (probe || listen(fd, NET_BACKLOG) == 0))
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* A name may have several addresses.  The first one of IPv4 is bound, as Go's listeners do: clients
 * that know only 127.0.0.1 reach a server on "localhost". */
static const struct addrinfo *choose_address(const struct addrinfo *list)
{
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next)
        if (a->ai_family == AF_INET)
            return a;
    return list;
}

/* In Go's words, which operators search their logs for. */
static void set_listen_error(struct mf_error *e, const char *host, int port)
{
    bool six = strchr(host, ':') != NULL;
    char text[128];
    const char *why = strerror_r(errno, text, sizeof text);

    mf_fail(e, errno == EADDRINUSE ? MF_EXISTS : MF_IO, "listen tcp %s%s%s:%d: bind: %c%s",
            six ? "[" : "", host, six ? "]" : "", port, tolower((unsigned char)why[0]), why + 1);
}

static int open_any(const char *host, int port, bool probe, struct mf_error *e)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char service[16];
    int fd = -1, rc;
    /* One socket for IPv4 and IPv6, as Go's listeners on 0.0.0.0 are. */
    bool both = host[0] == '\0' || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;

    snprintf(service, sizeof service, "%d", port > 0 ? port : 0);
    if (both) {
        hints.ai_family = AF_INET6;
        if (getaddrinfo("::", service, &hints, &list) == 0) {
            fd = open_at(list, true, probe);
            freeaddrinfo(list);
            if (fd >= 0 || errno == EADDRINUSE || errno == EACCES || strcmp(host, "::") == 0)
                goto out;
        }
        hints.ai_family = AF_INET; /* a machine without IPv6 */
    }
    rc = getaddrinfo(both ? "0.0.0.0" : host, service, &hints, &list);
    if (rc != 0) {
        mf_fail(e, MF_INVAL, "listen tcp: lookup %s: %s", host, gai_strerror(rc));
        return -1;
    }
    fd = open_at(choose_address(list), false, probe);
    freeaddrinfo(list);
out:
    if (fd < 0)
        set_listen_error(e, host[0] == '\0' ? "0.0.0.0" : host, port);
    return fd;
}

static void learn_address(struct net_listener *l, const char *host)
{
    struct sockaddr_storage ss = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof ss;

    if (getsockname(l->fd, (struct sockaddr *)&ss, &len) == 0)
        net_addr_text((struct sockaddr *)&ss, l->host, &l->port);
    /* "0.0.0.0" is shown as configured, though IPv6 is served with it. */
    if (host[0] == '\0' || strcmp(host, "0.0.0.0") == 0)
        memcpy(l->host, "0.0.0.0", sizeof "0.0.0.0");
}

int net_listener_open(struct net_listener **out, struct loop *loop, int fd,
                      void (*accepted)(void *arg, struct net_conn *c), void *arg,
                      struct mf_error *e)
{
    struct net_listener *l = calloc(1, sizeof *l);
    int rc = UV_ENOMEM;

    if (l == NULL)
        return mf_fail(e, MF_NOMEM, "listen");
    l->accepted = accepted;
    l->arg = arg;
    l->fd = fd;
    l->ctx = net_ctx_get(loop);
    l->rest = l->ctx == NULL ? NULL : loop_timer_new(loop, on_rested, l);
    if (l->rest != NULL)
        rc = uv_poll_init(loop_uv(loop), &l->poll, l->fd);
    if (rc == 0) {
        on_rested(l);
        *out = l;
        return 0;
    }
    loop_timer_free(l->rest);
    if (l->ctx != NULL)
        net_ctx_put(l->ctx);
    free(l);
    return mf_fail(e, rc == UV_ENOMEM ? MF_NOMEM : MF_IO, "listen: %s", uv_strerror(rc));
}

int net_listen(struct net_listener **out, struct loop *loop, const char *host, int port,
               void (*accepted)(void *arg, struct net_conn *c), void *arg, struct mf_error *e)
{
    struct mf_error own;
    int fd;

    e = e != NULL ? e : &own;
    host = host == NULL ? "" : host;
    fd = open_any(host, port, false, e);
    if (fd < 0)
        return e->code;
    if (net_listener_open(out, loop, fd, accepted, arg, e) != 0) {
        close(fd);
        return mf_wrap(e, "port %d", port);
    }
    learn_address(*out, host);
    return 0;
}

int net_listen_fd(struct net_listener **out, struct loop *loop, int fd,
                  void (*accepted)(void *arg, struct net_conn *c), void *arg, struct mf_error *e)
{
    struct sockaddr_storage ss = {.ss_family = AF_UNSPEC};
    socklen_t len = sizeof ss, size = sizeof(int);
    int listens = 0, type = 0, flags = fcntl(fd, F_GETFL);

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
        getsockname(fd, (struct sockaddr *)&ss, &len) != 0)
        return mf_fail(e, MF_INVAL, "descriptor %d is no stream socket that listens", fd);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return mf_fail_errno(e, MF_IO, "descriptor %d", fd);
    if (ss.ss_family != AF_UNIX)
        set_options(fd, AF_INET, false);
    if (net_listener_open(out, loop, fd, accepted, arg, e) != 0)
        return mf_wrap(e, "descriptor %d", fd);
    if (ss.ss_family == AF_UNIX)
        net_listener_name_unix(*out, (const struct sockaddr_un *)(const void *)&ss, len);
    else
        learn_address(*out, "fd");
    return 0;
}

int net_listen_probe(const char *host, int port, char address[NET_ADDRESS], struct mf_error *e)
{
    struct net_listener l = {.fd = open_any(host == NULL ? "" : host, port, true, e)};

    if (l.fd < 0)
        return e->code;
    learn_address(&l, host == NULL ? "" : host);
    snprintf(address, NET_ADDRESS, "%s", l.host);
    close(l.fd);
    return 0;
}

int net_listener_port(const struct net_listener *l)
{
    return l->port;
}

const char *net_listener_host(const struct net_listener *l)
{
    return l->host;
}

const char *net_listener_path(const struct net_listener *l)
{
    return l->path;
}

static void on_closed(uv_handle_t *h)
{
    struct net_listener *l = mf_container(h, struct net_listener, poll);

    free(l->path);
    free(l);
}

void net_listener_close(struct net_listener *l)
{
    if (l == NULL)
        return;
    l->closed = true;
    loop_timer_free(l->rest);
    net_listener_unlink(l);
    uv_close((uv_handle_t *)&l->poll, on_closed);
    close(l->fd);
    net_ctx_put(l->ctx);
}
