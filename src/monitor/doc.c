/* doc.c: documents in slices.
 *
 * Happy path: doc_init() > the renderer's doc_add() > doc_begin() > [doc_start() > slices as a task
 * > done()] > doc_fini().  Most documents are whole after doc_begin().
 * Failure: doc_fail() ends the steps; done() is called all the same.  Gone: doc_fini(). */
#include "monitor/doc.h"

#include <stdarg.h>
#include <stdio.h>

/* Of the first slice, which runs in the turn of the request: what is left of that turn's time, and
 * not more than so many steps. */
#define FIRST_STEPS 64

void doc_init(struct doc *d, struct loop *l, enum jsonw_style style)
{
    *d = (struct doc){.loop = l};
    jsonw_begin(&d->w, &d->body, style);
}

void doc_add(struct doc *d, const doc_step *steps, void *state, void (*fini)(void *state))
{
    if (state == NULL) {
        doc_fail(d, MF_NOMEM, "out of memory");
    } else if (d->parts == DOC_PARTS) {
        doc_fail(d, MF_LIMIT, "a document of too many parts");
        if (fini != NULL)
            fini(state);
    } else {
        d->part[d->parts++] = (struct doc_part){steps, state, fini};
    }
}

void doc_fail(struct doc *d, int rc, const char *fmt, ...)
{
    va_list ap;

    if (d->rc != 0)
        return;
    d->rc = d->e.code = rc;
    va_start(ap, fmt);
    (void)vsnprintf(d->e.text, sizeof d->e.text, fmt, ap);
    va_end(ap);
}

/* One step.  false: the document is whole, or never will be. */
static bool run_step(struct doc *d)
{
    struct doc_part *p;

    while (d->rc == 0 && d->at < d->parts && *d->part[d->at].steps == NULL)
        d->at++;
    if (d->rc != 0 || d->at == d->parts)
        return false;
    p = &d->part[d->at];
    if (!(*p->steps)(d, p->state))
        p->steps++;
    return true;
}

bool doc_begin(struct doc *d)
{
    d->slice++;
    for (unsigned i = 0; i < FIRST_STEPS; i++)
        if (!run_step(d))
            return false;
        else if (work_spent(d->loop))
            break;
    return true;
}

static bool run_slice(struct work_task *t)
{
    struct doc *d = mf_container(t, struct doc, task);

    d->slice++;
    if (d->wanted != NULL && !d->wanted(d))
        doc_fail(d, MF_CLOSED, "nobody waits for it");
    while (run_step(d))
        if (work_spent(d->loop))
            return true;
    d->done(d);
    return false;
}

void doc_start(struct doc *d, struct work_owner *o, void (*done)(struct doc *d))
{
    d->done = done;
    d->task.run = run_slice;
    d->task.cause = WORK_PAGE;
    work_add(d->loop, o, &d->task);
}

void doc_finish(struct doc *d)
{
    d->slice++;
    while (run_step(d))
        ;
}

void doc_fini(struct doc *d)
{
    work_cancel(d->loop, &d->task);
    for (unsigned i = 0; i < d->parts; i++)
        if (d->part[i].fini != NULL)
            d->part[i].fini(d->part[i].state);
    d->parts = d->at = 0;
    mf_buf_fini(&d->body);
}
