/* event.h: one event under $JS.EVENT.> or $MAYFLY.EVENT.>, while it is written.
 *
 * An event is written only if its subject has a subscriber: asking costs O(tokens). */
#ifndef JETSTREAM_EVENT_H
#define JETSTREAM_EVENT_H

#include "codec/jsonw.h"
#include "jetstream/js_account.h"

struct event {
    struct js_account *ja;
    char subject[640]; /* the names of a stream and of a consumer have at most 255 bytes each */
    struct mf_buf text;
    struct jsonw w;
};

/* v->subject is set; type: "advisory.v1.nak".  False: no subscriber.  Else the object is open in
 * v->w until event_send() or event_send_later(). */
bool event_open(struct event *v, struct js_account *ja, const char *type);
bool event_open_as(struct event *v, struct js_account *ja, const char *full); /* the whole type */
/* The same for an advisory: subject $JS.EVENT.ADVISORY.<kind><name>. */
bool event_advisory(struct event *v, struct js_account *ja, const char *type, const char *kind,
                    const char *name);
void event_domain(struct event *v);                         /* "domain", if there is one */
void event_client(struct event *v, struct mf_slice client); /* "client": a JSON object, or null */
void event_send(struct event *v);
/* Sends at the end of the turn: for callers that must not be entered again by a stream that stores
 * the event. */
void event_send_later(struct event *v);

#endif
