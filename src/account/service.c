/* service.c: service imports.  A request on the local subject of the import is published in the
 * exporting account on the exported subject, by the same client, with a reply subject that leads
 * back.
 *
 * Happy path: service_deliver() makes a reply (reply.c) and publishes in the exporting account; a
 * responder there publishes to the reply; answer_deliver() publishes that answer in the account of
 * the requestor, on its inbox.  An answer that has a reply subject itself gets a reply, too.
 * Failure: a request without receivers counts as not delivered, so the requestor gets "no
 * responders".  A reply that is not answered expires.  A message may enter several accounts within
 * one call; hops record the exports it passed, so that no message passes the same export twice. */
#include "account/trace_impl.h"

#include "codec/jsonw.h"
#include "subject/subject.h"

#include <stdlib.h>

/* --- hops ------------------------------------------------------------------------------------- */

const struct hop *hop_find(const struct accounts *as, const struct mf_msg *msg)
{
    for (const struct hop *h = as->hops; h != NULL; h = h->outer) {
        if (h->msg == msg)
            return h;
    }
    return NULL;
}

static bool came_through(const struct hop *h, const struct acc_export *export)
{
    for (; h != NULL; h = h->before) {
        if (h->export == export)
            return true;
    }
    return false;
}

size_t hop_publish(struct account *to, const struct router_msg *m, const struct acc_export *export,
                   bool share, const struct hop *before)
{
    struct accounts *as = to->as;
    struct hop h = {m->msg, export, share, before, as->hops};
    size_t n;

    as->hops = &h;
    n = router_publish(to->router, m);
    as->hops = h.outer;
    return n;
}

/* --- the header Nats-Request-Info ------------------------------------------------------------- */

#define INFO_HEADER "Nats-Request-Info:"

/* Copies the lines of a header block except Nats-Request-Info, without the closing empty line. */
static void copy_others(struct mf_buf *out, struct mf_slice hdr)
{
    size_t name = sizeof INFO_HEADER - 1;

    while (hdr.len > 2) {
        const uint8_t *end = memmem(hdr.ptr, hdr.len, "\r\n", 2);
        size_t line = end == NULL ? hdr.len : (size_t)(end - hdr.ptr) + 2;
        if (line == 2)
            return; /* the empty line */
        if (line < name || memcmp(hdr.ptr, INFO_HEADER, name) != 0)
            mf_buf_append(out, hdr.ptr, line);
        hdr = mf_slice(hdr.ptr + line, hdr.len - line);
    }
}

/* Describes the requestor.  Of a request that arrived on a link the account is known, and nothing
 * that the other server says of it is trusted. */
static bool describe_asker(const struct service_import *si, const struct router_msg *m,
                           const struct hop *before, struct mf_buf *json)
{
    const struct accounts *as = si->importer->as;
    bool detailed = before != NULL ? before->share : si->share;
    struct jsonw w;
    int64_t rtt = 0;

    if (m->from == NULL)
        return m->origin != NULL &&
               as->info(as->info_arg, m->origin, detailed,
                        before != NULL ? si->importer->name : NULL, json, &rtt);
    jsonw_begin(&w, json, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "acc", si->importer->name);
    jsonw_end(&w);
    return true;
}

/* A value that the client sent is removed: the exporting account trusts this header. */
static bool info_header(struct mf_buf *out, const struct service_import *si,
                        const struct router_msg *m, const struct hop *before)
{
    const struct accounts *as = si->importer->as;
    struct mf_buf json = MF_BUF_INIT;
    bool written = false;

    if (as->info != NULL && describe_asker(si, m, before, &json)) {
        copy_others(out, m->msg->hdr);
        if (out->len == 0)
            mf_buf_puts(out, "NATS/1.0\r\n");
        mf_buf_puts(out, INFO_HEADER " ");
        mf_buf_append(out, json.ptr, json.len);
        mf_buf_puts(out, "\r\n\r\n");
        written = !mf_buf_failed(out) && !mf_buf_failed(&json);
    }
    mf_buf_fini(&json);
    return written;
}

/* --- requests --------------------------------------------------------------------------------- */

/* $JS.ACK replies contain their meaning and must arrive unchanged. */
static bool reply_as_is(struct mf_slice reply)
{
    return reply.len == 0 || mf_starts(reply, "$JS.ACK.");
}

/* The message in the other account: subject, reply and header may be new. */
struct crossing {
    struct mf_msg msg;
    struct router_msg rm;
    struct mf_slice from; /* the subject in the account it leaves */
    struct mf_slice to;   /* in the account it enters, before the mappings there */
    struct text mapped;
};

/* Applies the mappings of the account it enters. false: dropped on purpose, or no memory. */
static bool cross_border(struct crossing *c, const struct router_msg *m, struct account *into,
                         struct mf_slice to)
{
    ssize_t n = 0;

    c->msg = *m->msg;
    c->rm = *m;
    c->from = m->route;
    c->to = c->rm.route = to;
    c->rm.msg = &c->msg;
    c->rm.any_queue = true;
    c->mapped.more = NULL;
    if (into->sharing->mappings != NULL) {
        n = text_map(&c->mapped, into->sharing->mappings, to);
        if (n > 0)
            c->rm.route = c->mapped.s;
    }
    if (mf_eq(m->msg->subject, m->route))
        c->msg.subject = c->rm.route;
    return n >= 0;
}

/* A traced request.  Other servers send their traces to a reply that leads back. */
struct traced {
    struct mf_buf hdr;
    struct mf_slice dest; /* here */
    struct mf_slice back; /* there */
    char room[64];
    unsigned hops;
};

/* Mappings of the exporter are shown where it allows traces.  false: a dry run, which ends here. */
static bool trace_request(struct traced *x, struct service_import *si, const struct router_msg *m,
                          struct crossing *c)
{
    bool allowed = si->export->options->allow_trace;
    struct reply *r = NULL;

    *x = (struct traced){.dest = msgtrace_dest(m->trace), .hops = msgtrace_hops(m->trace)};
    msgtrace_imported(m->trace, si->exporter->name, m->route, allowed ? c->rm.route : c->to);
    if (allowed)
        r = reply_new(si->exporter, si->importer, si->export, x->dest, false, NULL);
    if (r != NULL) {
        reply_keep(r);
        memcpy(x->room, reply_subject(r).ptr, reply_subject(r).len);
        x->back = mf_slice(x->room, reply_subject(r).len);
        msgtrace_rename_dest(m->trace, x->back);
    }
    return trace_cross(&c->rm, &c->msg, &x->hdr, r != NULL);
}

static void trace_request_end(struct traced *x, struct service_import *si,
                              const struct router_msg *m)
{
    struct reply *r;

    msgtrace_rename_dest(m->trace, x->dest);
    if (x->back.len > 0 && msgtrace_hops(m->trace) == x->hops && /* it met no other server */
        (r = reply_find(si->exporter, x->back)) != NULL)
        reply_drop(r, REPLY_FORGOTTEN);
    mf_buf_fini(&x->hdr);
}

/* Publishes in the exporting account.  A dry run leaves no reply behind. */
static size_t publish_request(struct service_import *si, const struct router_msg *m,
                              struct crossing *c, const struct hop *before)
{
    bool share = before != NULL ? before->share : si->share;
    struct traced x;
    size_t n = 0;

    if (MF_LIKELY(m->trace == NULL))
        return hop_publish(si->exporter, &c->rm, si->export, share, before);
    if (trace_request(&x, si, m, c))
        n = hop_publish(si->exporter, &c->rm, si->export, share, before);
    trace_request_end(&x, si, m);
    return n;
}

static size_t forward_request(struct service_import *si, const struct router_msg *m,
                              struct mf_slice to)
{
    const struct hop *before = hop_find(si->importer->as, m->msg);
    struct latency *lat = m->dry_run ? NULL : latency_start(si, m);
    struct mf_buf hdr = MF_BUF_INIT;
    struct crossing c;
    struct reply *r = NULL;
    char back[64];
    size_t n = 0;

    if (!cross_border(&c, m, si->exporter, to)) {
        latency_free(lat);
        goto out;
    }
    if (info_header(&hdr, si, m, before))
        c.msg.hdr = mf_buf_slice(&hdr);
    if (!reply_as_is(m->msg->reply)) {
        r = reply_new(si->exporter, si->importer, si->export, m->msg->reply, si->share, lat);
        if (r == NULL)
            goto out;
        /* An answer may arrive inside the publish and end r. */
        c.msg.reply = reply_subject(r);
        memcpy(back, c.msg.reply.ptr, c.msg.reply.len);
        c.msg.reply.ptr = (const uint8_t *)back;
    } else if (m->msg->reply.len == 0) {
        latency_bad_request(lat);
    } else {
        latency_free(lat);
    }
    n = publish_request(si, m, &c, before);
    if ((n == 0 || m->dry_run) && r != NULL && (r = reply_find(si->exporter, c.msg.reply)) != NULL)
        reply_drop(r, n == 0 ? REPLY_NO_DELIVERY : REPLY_FORGOTTEN);
out:
    text_fini(&c.mapped);
    mf_buf_fini(&hdr);
    return n;
}

static bool service_deliver(struct router_sub *s, const struct router_msg *m)
{
    struct service_import *si = mf_container(s, struct service_import, sub);
    struct text t;
    bool taken;

    if (came_through(hop_find(si->importer->as, m->msg), si->export))
        return false;
    if (si->same)
        return forward_request(si, m, m->route) > 0;
    if (si->tr == NULL)
        return forward_request(si, m, mf_str(si->subject)) > 0;
    taken = text_transform(&t, si->tr, m->route) > 0 && forward_request(si, m, t.s) > 0;
    text_fini(&t);
    return taken;
}

int service_open(struct service_import *si)
{
    si->sub.deliver = service_deliver;
    si->sub.dry_runs = true;
    return router_subscribe(si->importer->router, mf_str(si->local), MF_SLICE_NONE, &si->sub);
}

void service_close(struct service_import *si)
{
    router_unsubscribe(si->importer->router, &si->sub);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A reply for the answer's own reply subject; false: no memory. *made: dropped if nobody receives
 * the answer. */
static bool ask_back(struct crossing *c, struct account *from, struct account *to,
                     struct acc_export *export, bool share, struct mf_slice *made, char back[64])
{
    struct reply *r;

    *made = MF_SLICE_NONE;
    if (reply_as_is(c->msg.reply))
        return true;
    r = reply_new(to, from, export, c->msg.reply, share, NULL);
    if (r == NULL)
        return false;
    memcpy(back, reply_subject(r).ptr, reply_subject(r).len);
    *made = c->msg.reply = mf_slice(back, reply_subject(r).len);
    return true;
}

/* The inbox of a requestor is not shown to those who answer. */
static void show_answer(struct msgtrace *t, const struct account *to, struct mf_slice route)
{
    msgtrace_imported(t, to->name, route, route);
}

/* The trace of an answer ends at the border.  Always true. */
static bool trace_answer(struct crossing *c, struct account *to, struct mf_buf *hdr)
{
    if (MF_LIKELY(c->rm.trace == NULL))
        return true;
    show_answer(c->rm.trace, to, c->from);
    return trace_cross(&c->rm, &c->msg, hdr, false);
}

bool answer_deliver(struct router_sub *s, const struct router_msg *m)
{
    struct account *owner = mf_container(s, struct account, reply_sub);
    struct reply *r = reply_find(owner, m->route);
    struct router_msg answer = *m;
    struct crossing c;
    struct mf_slice made = MF_SLICE_NONE;
    struct mf_buf hdr = MF_BUF_INIT;
    struct account *to;
    char back[64];
    size_t n = 0;

    /* Too late, or answered before: the answer is dropped without an error for its publisher. */
    if (r == NULL)
        return true;
    /* The requestor chose the subject, the responder has no permission in the requestor's account.
     */
    answer.no_request = true;
    to = reply_to(r);
    if (MF_UNLIKELY(m->dry_run)) {
        show_answer(m->trace, to, m->route);
        return false;
    }
    reply_hold(r, m);
    if (cross_border(&c, &answer, to, reply_original(r)) && trace_answer(&c, to, &hdr) &&
        ask_back(&c, owner, to, reply_export(r), reply_share(r), &made, back))
        n = hop_publish(to, &c.rm, reply_export(r), reply_share(r), hop_find(to->as, m->msg));
    if (n == 0 && made.len > 0) {
        struct reply *unused = reply_find(to, made);
        if (unused != NULL)
            reply_drop(unused, REPLY_FORGOTTEN);
    }
    reply_served(r, n > 0, m->msg->hdr.len + m->msg->payload.len == 0);
    text_fini(&c.mapped);
    mf_buf_fini(&hdr);
    return true;
}
