/* crowd.h: how many connections there may be, and which of them gives way.  A part of server_int.h.
 */
#ifndef MAYFLY_SERVER_CROWD_H
#define MAYFLY_SERVER_CROWD_H

#include <stdbool.h>

struct client;
struct server;

void crowd_init(struct server *s); /* raises the limit of descriptors */
void crowd_open(struct server *s); /* the listeners are open; logs the limits */
void crowd_stranger(struct client *c);
void crowd_known(struct client *c);        /* it entered an account, or left; again is fine */
bool crowd_admits(const struct client *c); /* one more?  A stranger may be closed for it */

#endif
