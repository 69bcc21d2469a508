/* shadow.c: stream imports.  A subscription that overlaps an import gets a shadow: a subscription
 * in the exporting account, to the common part alone, with the same queue name.  Messages of the
 * shadow are delivered to the original subscription under the local subject.
 *
 * The shadows of a link's subscriptions are subscriptions of a remote server, too: all those that
 * one link has through one import share a passage, so that a message crosses the link once, however
 * many of them match. */
#include "account/trace_impl.h"

#include "subject/subject.h"

#include <stdlib.h>

/* A link as the exporting account sees it, through one import. */
struct passage {
    struct router_remote peer;
    struct router_remote *link;
    const struct stream_import *im;
    size_t shadows;       /* that use it */
    struct passage *next; /* of the same link: router_remote.passages */
};

struct shadow {
    struct router_sub sub;    /* in the exporter's router */
    struct router_sub *owner; /* in the importer's */
    const struct stream_import *im;
    struct passage *passage; /* NULL: the owner is a subscription of this server */
    bool check;              /* the pattern in the exporting account is wider than the owner's */
    struct shadow *next;
};

struct shadow shadow_none;

bool shadows_tracks(const struct router_sub *s)
{
    return s->shadows != NULL;
}

/* --- messages under their local subject ------------------------------------------------------- */

/* A message as the importing account sees it. */
struct local_msg {
    struct router_msg m;
    struct mf_msg msg;
    struct text text;
};

static void local_fini(struct local_msg *l)
{
    text_fini(&l->text);
}

/* false: the import does not bring this message; nothing is to be freed. */
static bool local_make(struct local_msg *l, const struct stream_import *im,
                       const struct router_msg *m)
{
    /* A request that came through a service import is not delivered to stream imports. */
    if (hop_find(im->exporter->as, m->msg) != NULL)
        return false;
    l->m = *m;
    l->msg = *m->msg;
    l->m.msg = &l->msg;
    l->text.more = NULL;
    if (im->fwd != NULL) {
        if (text_transform(&l->text, im->fwd, m->route) <= 0) {
            local_fini(l);
            return false;
        }
        l->m.route = l->text.s;
    } else if (!im->same) {
        l->m.route = mf_str(im->local);
    }
    /* A message that already shows another subject than its route (a consumer's delivery) keeps
     * it: only the route is local. */
    if (mf_eq(m->msg->subject, m->route))
        l->msg.subject = l->m.route;
    return true;
}

/* false: a dry run, which ends here. */
static bool trace_export(struct local_msg *l, const struct stream_import *im)
{
    msgtrace_exported(l->m.trace, im->importer->name, l->m.route);
    if (im->options->allow_trace)
        return true;
    if (l->m.dry_run)
        return false;
    l->m.trace = NULL;
    return true;
}

static bool deliver_traced(struct router_sub *s, struct local_msg *l)
{
    const struct shadow *sh = mf_container(s, struct shadow, sub);
    struct msgtrace *t = l->m.trace;
    bool taken;

    if (!trace_export(l, sh->im) || (l->m.dry_run && !sh->owner->dry_runs))
        return true;
    msgtrace_show_pattern(t, s->pattern);
    taken = sh->owner->deliver(sh->owner, &l->m);
    msgtrace_show_pattern(t, MF_SLICE_NONE);
    return taken;
}

/* The owner may unsubscribe inside its deliver(), which frees the shadow. */
static bool shadow_deliver(struct router_sub *s, const struct router_msg *m)
{
    const struct shadow *sh = mf_container(s, struct shadow, sub);
    struct router_sub *owner = sh->owner;
    struct local_msg l;
    bool taken;

    if (!local_make(&l, sh->im, m))
        return false;
    taken = !sh->check || subject_match(owner->pattern, l.m.route);
    if (taken)
        taken = MF_UNLIKELY(m->trace != NULL) ? deliver_traced(s, &l) : owner->deliver(owner, &l.m);
    local_fini(&l);
    return taken;
}

/* --- servers behind links --------------------------------------------------------------------- */

/* deliver() of a shadow that is wider than its owner, a link's subscription. */
static bool shadow_wants(struct router_sub *s, const struct router_msg *m)
{
    const struct shadow *sh = mf_container(s, struct shadow, sub);
    struct local_msg l;
    bool wanted;

    if (!local_make(&l, sh->im, m))
        return false;
    wanted = subject_match(sh->owner->pattern, l.m.route);
    local_fini(&l);
    return wanted;
}

static bool passage_takes(struct router_remote *r, const struct router_msg *m)
{
    const struct passage *p = mf_container(r, struct passage, peer);
    struct local_msg l;
    bool taken;

    if (!local_make(&l, p->im, m))
        return false;
    taken = p->link->takes(p->link, &l.m);
    local_fini(&l);
    return taken;
}

static bool passage_send(struct router_remote *r, const struct router_msg *m,
                         const struct mf_slice *queue, uint32_t nqueues)
{
    const struct passage *p = mf_container(r, struct passage, peer);
    struct mf_buf hdr = MF_BUF_INIT;
    struct local_msg l;
    bool sent = true;

    if (!local_make(&l, p->im, m))
        return false;
    if (MF_UNLIKELY(m->trace != NULL))
        msgtrace_exported(m->trace, p->im->importer->name, l.m.route);
    if (m->trace == NULL || trace_cross(&l.m, &l.msg, &hdr, p->im->options->allow_trace))
        sent = p->link->send(p->link, &l.m, queue, nqueues);
    mf_buf_fini(&hdr);
    local_fini(&l);
    return sent;
}

/* O(imports that the link uses). */
static struct passage *passage_get(struct router_remote *link, const struct stream_import *im)
{
    struct passage *p = link->passages;

    while (p != NULL && p->im != im)
        p = p->next;
    if (p == NULL) {
        p = calloc(1, sizeof *p);
        if (p == NULL)
            return NULL;
        p->peer.takes = passage_takes;
        p->peer.send = passage_send;
        p->link = link;
        p->im = im;
        p->next = link->passages;
        link->passages = p;
    }
    p->shadows++;
    return p;
}

static void passage_put(struct passage *p)
{
    struct passage *at;

    if (p == NULL || --p->shadows > 0)
        return;
    at = p->link->passages;
    if (at == p) {
        p->link->passages = p->next;
    } else {
        while (at->next != p)
            at = at->next;
        at->next = p->next;
    }
    router_remote_fini(&p->peer);
    free(p);
}

/* --- shadows ---------------------------------------------------------------------------------- */

static void shadow_free(struct shadow *sh)
{
    router_unsubscribe(sh->im->exporter->router, &sh->sub);
    passage_put(sh->passage);
    free(sh);
}

void shadows_free(struct shadow *list)
{
    while (list != NULL && list != &shadow_none) {
        struct shadow *sh = list;
        list = sh->next;
        shadow_free(sh);
    }
}

static int shadow_add(struct shadow **list, const struct stream_import *im, struct router_sub *s,
                      struct mf_slice pattern, bool check)
{
    struct shadow *sh = calloc(1, sizeof *sh);
    int rc = MF_NOMEM;

    if (sh == NULL)
        return MF_NOMEM;
    sh->sub.client = s->client;
    sh->sub.dry_runs = true;
    sh->owner = s;
    sh->im = im;
    sh->check = check;
    if (s->remote == NULL) {
        sh->sub.deliver = shadow_deliver;
    } else {
        sh->passage = passage_get(s->remote, im);
        if (sh->passage == NULL)
            goto err;
        sh->sub.remote = &sh->passage->peer;
        sh->sub.deliver = check ? shadow_wants : NULL;
    }
    rc = router_subscribe(im->exporter->router, pattern, s->queue, &sh->sub);
    if (rc != 0)
        goto err;
    sh->next = *list;
    *list = sh;
    return 0;
err:
    shadow_free(sh);
    return rc;
}

/* wanted: the common part of s and the local pattern of the import. */
static int shadow_for(struct shadow **list, const struct stream_import *im, struct router_sub *s,
                      struct mf_slice wanted)
{
    struct text t;
    ssize_t n;
    int rc;

    if (im->same)
        return shadow_add(list, im, s, wanted, false);
    if (im->fwd == NULL)
        return shadow_add(list, im, s, mf_str(im->subject), false);
    if (im->rev == NULL) /* cannot be narrowed in the exporting account */
        return shadow_add(list, im, s, mf_str(im->subject), true);
    n = text_pattern(&t, im->rev, wanted);
    rc = n > 0    ? shadow_add(list, im, s, t.s, false)
         : n == 0 ? shadow_add(list, im, s, mf_str(im->subject), true)
                  : (int)n;
    text_fini(&t);
    return rc;
}

int shadows_make(struct shadow **out, const struct sharing *d, struct router_sub *s)
{
    struct shadow *list = NULL;
    int rc = 0;

    for (size_t i = 0; i < d->nstreams && rc == 0; i++) {
        struct text t;
        ssize_t n = text_intersect(&t, s->pattern, mf_str(d->streams[i].local));
        rc = n > 0 ? shadow_for(&list, &d->streams[i], s, t.s) : (int)n;
        text_fini(&t);
    }
    if (rc != 0) {
        shadows_free(list);
        return rc;
    }
    *out = list;
    return 0;
}
