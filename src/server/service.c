/* service.c: messages to the service manager: systemd's notification protocol, without its library.
 *
 * READY and its like wait at most a second: a manager that does not read must not stop the server.
 * Pings and words for people do not wait: others follow. */
#include "server/service_impl.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

struct service {
    struct loop *loop;
    int fd;
    struct sockaddr_un to;
    socklen_t to_len;
    int64_t ping_ns; /* 0: no watchdog */
    struct loop_timer *ping;
    bool complained; /* one line about a manager that cannot be reached is enough */
};

#define PING_LEAST_NS CLOCK_MS /* a shorter period would only keep the loop busy */

static void send_with(struct service *s, struct mf_slice text, int flags)
{
    ssize_t n;

    do
        n = sendto(s->fd, text.ptr, text.len, MSG_NOSIGNAL | flags, (struct sockaddr *)&s->to,
                   s->to_len);
    while (n < 0 && errno == EINTR);
    if (n < 0 && !s->complained) {
        s->complained = true;
        log_warn("The service manager cannot be notified: %s", strerror(errno));
    }
}

static void send_text(struct service *s, struct mf_slice text)
{
    send_with(s, text, 0);
}

static void send_ping(void *arg)
{
    struct service *s = arg;

    send_with(s, mf_str("WATCHDOG=1"), MSG_DONTWAIT);
    loop_timer_arm(s->ping, loop_mono_ns(s->loop) + s->ping_ns);
}

/* --- environment ------------------------------------------------------------------------------ */

/* 0: no watchdog, or one of another process. */
static int64_t watchdog_ping_ns(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t us, owner;

    if (usec == NULL || usec[0] == '\0')
        return 0;
    if (mf_parse_u64(mf_str(usec), &us) != 0 || us == 0 || us > INT64_MAX / 1000) {
        log_warn("WATCHDOG_USEC: expected a number of microseconds; the watchdog is not served");
        return 0;
    }
    if (pid != NULL && (mf_parse_u64(mf_str(pid), &owner) != 0 || owner != (uint64_t)getpid()))
        return 0;
    us = us * CLOCK_US / 2;
    return us < PING_LEAST_NS ? PING_LEAST_NS : (int64_t)us;
}

static bool read_address(struct service *s, const char *name)
{
    size_t len = strlen(name);

    if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof s->to.sun_path)
        return false;
    s->to.sun_family = AF_UNIX;
    memcpy(s->to.sun_path, name, len);
    if (name[0] == '@')
        s->to.sun_path[0] = '\0';
    s->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return true;
}

struct service *service_new(struct loop *l)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct timeval patience = {.tv_sec = 1};
    struct service *s;

    if (name == NULL || name[0] == '\0' || (s = calloc(1, sizeof *s)) == NULL)
        return NULL;
    s->loop = l;
    s->ping_ns = watchdog_ping_ns();
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0) {
        log_warn("The service manager cannot be notified: %s", strerror(errno));
        service_free(s);
        return NULL;
    }
    if (!read_address(s, name)) {
        log_warn("NOTIFY_SOCKET: expected the path of a socket, or @ and an abstract name; the "
                 "service manager is not notified");
        service_free(s);
        return NULL;
    }
    (void)setsockopt(s->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return s;
}

void service_free(struct service *s)
{
    if (s == NULL)
        return;
    loop_timer_free(s->ping);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
}

/* --- messages --------------------------------------------------------------------------------- */

void service_status(struct service *s, const char *fmt, ...)
{
    char text[512] = "STATUS=";
    size_t head = strlen(text);
    va_list ap;

    if (s == NULL)
        return;
    va_start(ap, fmt);
    vsnprintf(text + head, sizeof text - head, fmt, ap);
    va_end(ap);
    for (char *p = text; *p != '\0'; p++) /* a new line would begin another message */
        if (*p == '\n')
            *p = ' ';
    send_with(s, mf_str(text), MSG_DONTWAIT);
}

static void watchdog_start(struct service *s)
{
    if (s->ping_ns == 0 || s->ping != NULL)
        return;
    s->ping = loop_timer_new(s->loop, send_ping, s);
    if (s->ping != NULL)
        loop_timer_arm(s->ping, loop_mono_ns(s->loop) + s->ping_ns);
    else
        log_error("No memory for the watchdog's timer");
}

void service_ready(struct service *s)
{
    if (s == NULL)
        return;
    send_text(s, mf_str("READY=1"));
    watchdog_start(s);
}

void service_reloading(struct service *s)
{
    char text[64];

    if (s == NULL)
        return;
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld",
             (long long)(clock_mono_ns() / CLOCK_US));
    send_text(s, mf_str(text));
}

void service_stopping(struct service *s)
{
    if (s != NULL)
        send_text(s, mf_str("STOPPING=1"));
}
