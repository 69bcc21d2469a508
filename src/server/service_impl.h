/* service_impl.h: what a service manager (systemd) is told: ready, reloading, stopping, alive.
 * Private to server.
 *
 * The messages are lines in a datagram to the socket that $NOTIFY_SOCKET names: a path, or an
 * abstract name after '@'.  With $WATCHDOG_USEC a timer of the loop sends one twice in that time,
 * so that a loop which stopped turning is noticed; $WATCHDOG_PID, if set, must be this process.
 * Every function takes NULL: no manager listens. */
#ifndef MAYFLY_SERVER_SERVICE_IMPL_H
#define MAYFLY_SERVER_SERVICE_IMPL_H

#include "loop/loop.h"

struct service;

/* NULL: the environment names no socket, or none that can be used (logged). */
struct service *service_new(struct loop *l);
void service_free(struct service *s);

/* A line for people, shown by `systemctl status`. */
void service_status(struct service *s, const char *fmt, ...) MF_PRINTF(2, 3);
/* Everybody can be served; the watchdog begins with the first call.  Also ends a reload. */
void service_ready(struct service *s);
void service_reloading(struct service *s);
void service_stopping(struct service *s);

#endif
