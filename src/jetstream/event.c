/* event.c: events under $JS.EVENT.>: opened if the subject has a subscriber, written as JSON, sent
 * at once or at the end of the turn. */
#include "jetstream/event.h"
#include "jetstream/jetstream_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENT "$JS.EVENT.ADVISORY."

bool event_open(struct event *v, struct js_account *ja, const char *type)
{
    char full[128];

    (void)snprintf(full, sizeof full, "io.nats.jetstream.%s", type);
    return event_open_as(v, ja, full);
}

bool event_open_as(struct event *v, struct js_account *ja, const char *full)
{
    char id[RAND_NUID + 1];

    if (!router_has_interest(account_router(ja->account), mf_str(v->subject)))
        return false;
    v->ja = ja;
    v->text = MF_BUF_INIT;
    rand_nuid(id);
    jsonw_begin(&v->w, &v->text, JSONW_COMPACT);
    jsonw_object(&v->w, NULL);
    jsonw_str(&v->w, "type", full);
    jsonw_str(&v->w, "id", id);
    jsonw_time(&v->w, "timestamp", jetstream_now_ns(ja->js));
    return true;
}

bool event_advisory(struct event *v, struct js_account *ja, const char *type, const char *kind,
                    const char *name)
{
    char full[96];
    int n = snprintf(v->subject, sizeof v->subject, EVENT "%s%s", kind, name);

    if (n <= 0 || (size_t)n >= sizeof v->subject ||
        !router_has_interest(account_router(ja->account), mf_str(v->subject)))
        return false;
    (void)snprintf(full, sizeof full, "advisory.v1.%s", type);
    return event_open(v, ja, full);
}

void event_domain(struct event *v)
{
    jsonw_opt_str(&v->w, "domain", jetstream_domain(v->ja->js));
}

void event_client(struct event *v, struct mf_slice client)
{
    if (client.len > 0)
        jsonw_raw(&v->w, "client", client);
    else
        jsonw_null(&v->w, "client");
}

void event_send(struct event *v)
{
    jsonw_end(&v->w);
    if (mf_buf_failed(&v->text))
        log_warn("account %s: event %s lost: out of memory", account_name(v->ja->account),
                 v->subject);
    else
        js_publish(v->ja, mf_str(v->subject), MF_SLICE_NONE, MF_SLICE_NONE, mf_buf_slice(&v->text));
    mf_buf_fini(&v->text);
}

struct late_event {
    struct mf_list link;
    size_t subject_len, len;
    char bytes[];
};

static void send_all(struct loop_defer *d)
{
    struct js_wire *wire = mf_container(d, struct js_wire, send_events);
    size_t n = wire->nevents; /* events that these cause are sent in the next round */

    wire->nevents = 0;
    for (; n > 0; n--) {
        struct late_event *x = mf_container(mf_list_pop(&wire->events), struct late_event, link);
        js_publish(&wire->account, mf_slice(x->bytes, x->subject_len), MF_SLICE_NONE, MF_SLICE_NONE,
                   mf_slice(x->bytes + x->subject_len, x->len));
        free(x);
    }
}

void event_send_later(struct event *v)
{
    struct js_wire *wire = js_wire(v->ja);
    struct late_event *x = NULL;
    size_t n = strlen(v->subject);

    jsonw_end(&v->w);
    if (!mf_buf_failed(&v->text))
        x = malloc(sizeof *x + n + v->text.len);
    if (x == NULL) {
        log_warn("account %s: event %s lost: out of memory", account_name(v->ja->account),
                 v->subject);
    } else {
        *x = (struct late_event){.subject_len = n, .len = v->text.len};
        memcpy(x->bytes, v->subject, n);
        memcpy(x->bytes + n, v->text.ptr, v->text.len);
        mf_list_push(&wire->events, &x->link);
        wire->nevents++;
        wire->send_events.fn = send_all;
        loop_defer(v->ja->js->loop, &wire->send_events);
    }
    mf_buf_fini(&v->text);
}

void events_drop(struct js_account *ja)
{
    struct js_wire *wire = js_wire(ja);
    struct mf_list *pos, *next;

    loop_defer_cancel(ja->js->loop, &wire->send_events);
    mf_list_each_safe(pos, next, &wire->events)
    {
        free(mf_container(pos, struct late_event, link));
    }
    mf_list_init(&wire->events);
}
