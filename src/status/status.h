/* status.h: what operators see of a running server: HTTP pages, metrics, and the services and
 * events of the system account.  Stands above the server and JetStream, reads both, and is notified
 * by the server through an observer. */
#ifndef MAYFLY_STATUS_H
#define MAYFLY_STATUS_H

#include "api/api.h"
#include "leaf/leaf.h"
#include "server/server.h"

struct status;

/* Starts the services of the system account and adds pages to each monitoring port that the server
 * opens later.  api: JetStream, NULL without it; must outlive the status. */
MF_MUSTCHECK int status_open(struct status **out, struct server *s, struct api *api,
                             struct mf_error *e);
void status_leaving(struct status *s); /* sends the last event; the clients are still connected */
void status_close(struct status *s);   /* NULL is fine */

/* The members of "server" in answers and events.  NULL writes none. */
void status_write_server(struct status *s, struct jsonw *w);

struct operator;
/* Operator mode; NULL: it ends, or there is none. */
void status_show_operator(struct status *s, struct operator* op);
/* Leaf links, which must outlive the status. */
void status_show_leaf(struct status *s, struct leaf *lf);
/* A link became usable, or a usable one ended.  NULL is fine. */
void status_leaf_changed(struct status *s, const struct leaf_link *l, bool up);
/* The event of an auth callout's refusal, in its account. */
struct login_refusal;
void status_leaf_refused(struct status *s, const struct leaf_link *l,
                         const struct login_refusal *no);

/* The client that published a message (router_msg.origin), as JSON for audit events; false: the
 * server itself published it. */
bool status_client_info(const void *origin, struct mf_buf *json);

#endif
