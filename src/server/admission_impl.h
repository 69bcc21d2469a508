/* admission_impl.h: the limit of connections.  A part of server_impl.h. */
#ifndef MAYFLY_SERVER_ADMISSION_IMPL_H
#define MAYFLY_SERVER_ADMISSION_IMPL_H

#include <stdbool.h>

struct client;
struct server;

void admission_init(struct server *s); /* raises the limit of descriptors */
/* The connections that the configuration and the descriptors allow; 0: none. */
uint64_t admission_limit(const struct server *s);
void admission_log(struct server *s);    /* logs the limits, after the listeners are open */
void admission_add(struct client *c);    /* a new connection: unknown until it enters an account */
void admission_remove(struct client *c); /* it entered an account or closed; harmless twice */
bool admission_allows(const struct client *c); /* may close an unknown client for this one */

#endif
