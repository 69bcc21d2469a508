/* log_syslog.c: log lines to the system's log daemon, or to a collector over the network.
 *
 * A collector gets "<priority>2026-01-02T03:04:05Z host program[pid]: text\n", one line a datagram.
 * Sending never blocks the loop: a line the socket does not take at once is lost.  After an error
 * the socket is closed; a later line connects again, at most once a second. */
#include "base/log_sink_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"

#define CONNECT_MS   2000 /* at log_open() only */
#define RECONNECT_NS (1 * CLOCK_S)

static int priority_of(enum log_level level)
{
    switch (level) {
    case LOG_FATAL_:
        return LOG_CRIT;
    case LOG_ERROR_:
        return LOG_ERR;
    case LOG_WARN_:
        return LOG_WARNING;
    case LOG_DEBUG_:
        return LOG_DEBUG;
    case LOG_INFO_:
    case LOG_TRACE_: /* as nats-server */
    default:
        return LOG_NOTICE;
    }
}

/* Splits host:port or [host]:port; false unless both are there. */
static bool split_host(const char *text, char host[256], char port[16])
{
    const char *colon = strrchr(text, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - text);

    if (n == 0 || n >= 256 || colon[1] == '\0' || strlen(colon + 1) >= 16)
        return false;
    snprintf(port, 16, "%s", colon + 1);
    if (text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    memcpy(host, text, n);
    host[n] = '\0';
    return true;
}

static int resolve_host(struct log_syslog *s, const char *where, struct mf_error *e)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = s->type}, *found;
    char host[256], port[16];

    if (!split_host(where, host, port))
        return mf_fail(e, MF_INVAL, "\"%s\" is not host:port", where);
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0)
        return mf_fail(e, MF_IO, "look up %s: %s", host, gai_strerror(rc));
    memcpy(&s->addr, found->ai_addr, found->ai_addrlen);
    s->addr_len = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int parse_url(struct log_syslog *s, const char *url, struct mf_error *e)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&s->addr;
    struct mf_slice u = mf_str(url);

    if (mf_starts(u, "udp://") || mf_starts(u, "tcp://")) {
        s->type = url[0] == 'u' ? SOCK_DGRAM : SOCK_STREAM;
        return resolve_host(s, url + strlen("udp://"), e);
    }
    if (!mf_starts(u, "unix://"))
        return mf_fail(e, MF_INVAL, "network is none of udp, tcp, unix");
    const char *path = url + strlen("unix://");
    if (strlen(path) >= sizeof un->sun_path)
        return mf_fail(e, MF_INVAL, "path is too long");
    s->type = SOCK_STREAM;
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, strlen(path) + 1);
    s->addr_len = sizeof *un;
    return 0;
}

/* Starts to connect; *pending when that is still under way.  fd is -1 on failure, with errno set.
 */
static void start_connect(struct log_syslog *s, int64_t wall_ns, bool *pending)
{
    s->connected_ns = wall_ns;
    *pending = false;
    s->fd = socket(s->addr.ss_family, s->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0 || connect(s->fd, (struct sockaddr *)&s->addr, s->addr_len) == 0)
        return;
    if (errno == EINPROGRESS) {
        *pending = true;
        return;
    }
    int saved = errno;
    close(s->fd);
    s->fd = -1;
    errno = saved;
}

/* A wrong address should stop the server's start, not lose its log. */
static int connect_and_wait(struct log_syslog *s, struct mf_error *e)
{
    bool pending;

    start_connect(s, clock_wall_ns(), &pending);
    if (s->fd < 0)
        return mf_fail_errno(e, MF_IO, "connect");
    if (!pending)
        return 0;
    struct pollfd p = {.fd = s->fd, .events = POLLOUT};
    int err = ETIMEDOUT;
    socklen_t len = sizeof err;
    if (poll(&p, 1, CONNECT_MS) == 1)
        getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len);
    if (err == 0)
        return 0;
    close(s->fd);
    s->fd = -1;
    errno = err;
    return mf_fail_errno(e, MF_IO, "connect");
}

int log_syslog_open(struct log_syslog *s, const char *url, bool guest, struct mf_error *e)
{
    struct log_syslog made = {.remote = url != NULL, .guest = guest, .fd = -1};

    if (url == NULL) {
        if (!guest)
            openlog(program_invocation_short_name, LOG_PID, LOG_DAEMON);
    } else if (parse_url(&made, url, e) != 0 || connect_and_wait(&made, e) != 0) {
        return mf_wrap(e, "remote syslog %s", url);
    }
    *s = made;
    return 0;
}

void log_syslog_close(struct log_syslog *s)
{
    if (s->fd >= 0)
        close(s->fd);
    if (!s->remote && !s->guest)
        closelog();
    *s = (struct log_syslog){.fd = -1};
}

static void send_line(struct log_syslog *s, struct mf_slice line, int64_t wall_ns)
{
    bool pending;

    if (s->fd < 0 && (wall_ns < s->connected_ns || wall_ns - s->connected_ns >= RECONNECT_NS))
        start_connect(s, wall_ns, &pending);
    if (s->fd < 0)
        return;
    ssize_t n = send(s->fd, line.ptr, line.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    /* Part of a line in a stream would join the next one: start that on a new connection. */
    if (n == (ssize_t)line.len || (n < 0 && (errno == EAGAIN || errno == EINTR)) ||
        (n < 0 && s->type == SOCK_DGRAM))
        return;
    close(s->fd);
    s->fd = -1;
}

void log_syslog_write(struct log_syslog *s, enum log_level level, int64_t wall_ns, const char *text)
{
    if (!s->remote) {
        syslog(LOG_DAEMON | priority_of(level), "%s", text);
        return;
    }
    char when[CLOCK_TEXT], host[256] = "localhost";
    struct mf_buf line = MF_BUF_INIT;
    gethostname(host, sizeof host - 1);
    clock_rfc3339(when, wall_ns - wall_ns % CLOCK_S);
    mf_buf_printf(&line, "<%d>%s %s %s[%d]: %s\n", priority_of(level), when, host,
                  program_invocation_short_name, (int)getpid(), text);
    if (!mf_buf_failed(&line))
        send_line(s, mf_buf_slice(&line), wall_ns);
    mf_buf_fini(&line);
}
