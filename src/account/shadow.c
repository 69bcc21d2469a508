/* shadow.c: stream imports.  A subscription that overlaps an import gets a shadow: a subscription
 * in the exporting account, to the common part alone, with the same queue name.  Messages of the
 * shadow are delivered to the original subscription under the local subject. */
#include "account/account_impl.h"

#include "subject/subject.h"

#include <stdlib.h>

struct shadow {
    struct router_sub sub;    /* in the exporter's router */
    struct router_sub *owner; /* in the importer's */
    const struct stream_import *im;
    bool check; /* the pattern in the exporting account is wider than the owner's */
    struct shadow *next;
};

struct shadow shadow_none;

bool shadows_tracks(const struct router_sub *s)
{
    return s->shadows != NULL;
}

void shadows_free(struct shadow *list)
{
    while (list != NULL && list != &shadow_none) {
        struct shadow *sh = list;
        list = sh->next;
        router_unsubscribe(sh->im->exporter->router, &sh->sub);
        free(sh);
    }
}

/* The owner may unsubscribe inside its deliver(), which frees sh: sh is not used after the call. */
static bool deliver_as(const struct shadow *sh, const struct router_msg *m, struct mf_slice local)
{
    struct router_sub *owner = sh->owner;
    struct mf_msg copy = *m->msg;
    struct router_msg moved = *m;

    moved.route = local;
    moved.msg = &copy;

    if (sh->check && !subject_match(owner->pattern, local))
        return false;
    /* A message that already shows another subject than its route (a consumer's delivery) keeps
     * it: only the route is local. */
    if (mf_eq(m->msg->subject, m->route))
        copy.subject = local;
    return owner->deliver(owner, &moved);
}

static bool shadow_deliver(struct router_sub *s, const struct router_msg *m)
{
    const struct shadow *sh = mf_container(s, struct shadow, sub);
    const struct stream_import *im = sh->im;
    struct text t;
    bool taken;

    /* A request that came through a service import is not delivered to stream imports. */
    if (hop_find(im->exporter->as, m->msg) != NULL)
        return false;
    if (im->same)
        return deliver_as(sh, m, m->route);
    if (im->fwd == NULL)
        return deliver_as(sh, m, mf_str(im->local));
    taken = text_transform(&t, im->fwd, m->route) > 0 && deliver_as(sh, m, t.s);
    text_fini(&t);
    return taken;
}

static int shadow_add(struct shadow **list, const struct stream_import *im, struct router_sub *s,
                      struct mf_slice pattern, bool check)
{
    struct shadow *sh = calloc(1, sizeof *sh);
    int rc;

    if (sh == NULL)
        return MF_NOMEM;
    sh->sub.deliver = shadow_deliver;
    sh->sub.client = s->client;
    sh->owner = s;
    sh->im = im;
    sh->check = check;
    rc = router_subscribe(im->exporter->router, pattern, s->queue, &sh->sub);
    if (rc != 0) {
        free(sh);
        return rc;
    }
    sh->next = *list;
    *list = sh;
    return 0;
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
