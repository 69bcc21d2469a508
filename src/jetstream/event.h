/* event.h: one event under $JS.EVENT.>, being written.  The functions are in advisory.c. */
#ifndef API_EVENT_H
#define API_EVENT_H

#include "api/api_impl.h"

struct event {
    struct api_account *aa;
    char subject[640]; /* the names of a stream and of a consumer have at most 255 bytes each */
    struct mf_buf text;
    struct jsonw w;
};

/* The subject is in place; type: "advisory.v1.nak".  false: nobody wants to hear it.  Else the
 * object is open in v->w until event_send(). */
bool event_open(struct event *v, struct api_account *aa, const char *type);
bool event_open_as(struct event *v, struct api_account *aa, const char *full); /* the whole type */
void event_domain(struct event *v); /* the member, if there is a domain */
void event_send(struct event *v);
/* At the end of the turn: for events from the middle of something that must not begin again, which
 * it would where a stream stores them. */
void event_send_later(struct event *v);

#endif
