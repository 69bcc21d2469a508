/* cycles.c: imports that lead back to their start are refused, as in nats-server.
 *
 * Each import is a node; its edges lead to every import of the exporting account whose local name
 * overlaps the subject on which it arrives.  A walk that meets a node of its own path found a
 * cycle. An account that imports from itself is accepted, as in nats-server: no message passes the
 * same export twice. */
#include "account/account_impl.h"

#include "subject/subject.h"

#include <stdlib.h>

struct node {
    const struct account *importer, *exporter;
    const char *subject, *local;
    enum { NEW, ON_THE_WAY, DONE } state;
};

struct graph {
    struct node *nodes; /* sorted by importer: those of one account follow each other */
    size_t n;
};

static int by_importer(const void *x, const void *y)
{
    const struct node *a = x, *b = y;
    uintptr_t pa = (uintptr_t)a->importer, pb = (uintptr_t)b->importer;

    return (pa > pb) - (pa < pb);
}

static size_t first_of(const struct graph *g, const struct account *importer)
{
    size_t lo = 0, hi = g->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if ((uintptr_t)g->nodes[mid].importer < (uintptr_t)importer)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool leads_to(const struct node *from, const struct node *to)
{
    return to->importer != to->exporter &&
           subject_overlap(mf_str(from->subject), mf_str(to->local));
}

/* Depth is bounded by the number of imports in a row; config limits that to a few hundred. */
static const struct node *walk_imports(struct graph *g, struct node *from)
{
    const struct node *found = NULL;

    from->state = ON_THE_WAY;
    for (size_t i = first_of(g, from->exporter);
         i < g->n && g->nodes[i].importer == from->exporter && found == NULL; i++) {
        struct node *to = &g->nodes[i];
        if (to->state != DONE && leads_to(from, to))
            found = to->state == ON_THE_WAY ? to : walk_imports(g, to);
    }
    from->state = DONE;
    return found;
}

static int check_graph(struct graph *g, const char *kind, struct mf_error *e)
{
    qsort(g->nodes, g->n, sizeof *g->nodes, by_importer);
    for (size_t i = 0; i < g->n; i++) {
        const struct node *bad = g->nodes[i].state == NEW ? walk_imports(g, &g->nodes[i]) : NULL;
        if (bad != NULL)
            return mf_fail(e, MF_INVAL, "Error adding %s import \"%s\": import forms a cycle", kind,
                           bad->subject);
    }
    return 0;
}

int sharing_check_cycles(struct sharing **all, size_t n, struct mf_error *e)
{
    struct graph streams = {NULL, 0}, services = {NULL, 0};
    size_t ns = 0, nv = 0;
    int rc = MF_NOMEM;

    for (size_t i = 0; i < n; i++) {
        ns += all[i]->nstreams;
        nv += all[i]->nservices;
    }
    streams.nodes = calloc(ns + 1, sizeof *streams.nodes);
    services.nodes = calloc(nv + 1, sizeof *services.nodes);
    if (streams.nodes == NULL || services.nodes == NULL) {
        mf_fail(e, MF_NOMEM, "imports");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < all[i]->nstreams; k++) {
            const struct stream_import *im = &all[i]->streams[k];
            streams.nodes[streams.n++] =
                (struct node){im->importer, im->exporter, im->subject, im->local, NEW};
        }
        for (size_t k = 0; k < all[i]->nservices; k++) {
            const struct service_import *im = &all[i]->services[k];
            services.nodes[services.n++] =
                (struct node){im->importer, im->exporter, im->subject, im->local, NEW};
        }
    }
    rc = check_graph(&streams, "stream", e);
    if (rc == 0)
        rc = check_graph(&services, "service", e);
out:
    free(streams.nodes);
    free(services.nodes);
    return rc;
}

/* --- one import ------------------------------------------------------------------------------- */

/* nats-server gives up a search at this depth, too, and refuses the import. */
#define DEPTH_MOST 1024

static bool stream_walk(const struct stream_import *start, struct stream_import *from,
                        uint64_t walk, unsigned depth)
{
    struct sharing *next = plan_imports_of(from->exporter);

    for (size_t i = 0; next != NULL && i < next->nstreams; i++) {
        struct stream_import *to = &next->streams[i];
        if (to->importer == to->exporter ||
            !subject_overlap(mf_str(from->subject), mf_str(to->local)))
            continue;
        if (to == start || depth == DEPTH_MOST)
            return true;
        if (to->seen == walk)
            continue;
        to->seen = walk;
        if (stream_walk(start, to, walk, depth + 1))
            return true;
    }
    return false;
}

bool stream_cycles(struct stream_import *im)
{
    return stream_walk(im, im, ++im->importer->as->walks, 0);
}

static bool service_walk(const struct service_import *start, struct service_import *from,
                         uint64_t walk, unsigned depth)
{
    struct sharing *next = plan_imports_of(from->exporter);

    for (size_t i = 0; next != NULL && i < next->nservices; i++) {
        struct service_import *to = &next->services[i];
        if (to->importer == to->exporter ||
            !subject_overlap(mf_str(from->subject), mf_str(to->local)))
            continue;
        if (to == start || depth == DEPTH_MOST)
            return true;
        if (to->seen == walk)
            continue;
        to->seen = walk;
        if (service_walk(start, to, walk, depth + 1))
            return true;
    }
    return false;
}

bool service_cycles(struct service_import *im)
{
    return service_walk(im, im, ++im->importer->as->walks, 0);
}
