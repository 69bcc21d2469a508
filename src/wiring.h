/* wiring.h: a server with its modules, JetStream, leaf links and status, on a loop.  Shared by
 * mayfly.c and program.c. */
#ifndef MAYFLY_WIRING_H
#define MAYFLY_WIRING_H

#include "callout/callout.h"
#include "jwt/jwt.h"
#include "operator/operator_login.h"
#include "server/server_state.h"

struct wiring {
    struct loop *loop;
    struct server *server; /* NULL: not started, or ended */
    struct operator* op;   /* NULL: not in operator mode */
    struct operator_login login;
    struct callout callout;    /* a layer over it, also without operator mode */
    struct jwt_key key, curve; /* the server's; key is its id */
    char host[SERVER_HOST];
    struct api *api; /* NULL: no JetStream */
    struct status *status;
    struct leaf *leaf;
    struct server_observer leaf_observer;
    char *name; /* copy of the server's name, for the api: a reload frees the options it is in */
    struct server_module modules[5];
};

/* Starts a server on w->loop; fills in the modules of *setup.  w stays where it is until
 * wiring_end(), which is due after the loop has stopped, and after a failure. */
MF_MUSTCHECK int wiring_start(struct wiring *w, struct server_setup *setup, struct mf_error *e);
void wiring_end(struct wiring *w);

#endif
