/* doc.h: a document rendered in time slices: a page of the monitoring port, or the answer to a
 * request of the system account.
 *
 * The renderer adds steps; each does a bounded piece of the work and is called until it is done,
 * then the next step is.  Between two time slices any object may be freed: a step keeps names,
 * numbers or counted references, and looks up its objects again when `slice` has changed.
 *
 * Cost: that of the steps, and one read of the clock for each.  The caller owns the doc; it must
 * stay where it is between doc_init() and doc_fini(). */
#ifndef MAYFLY_DOC_H
#define MAYFLY_DOC_H

#include "codec/jsonw.h"
#include "loop/work.h"

struct doc;
/* true: call this step again; false: the next one. */
typedef bool (*doc_step)(struct doc *d, void *state);

#define DOC_PARTS 4
struct doc {
    struct mf_buf body; /* the bytes so far */
    struct jsonw w;     /* writes into body */
    uint64_t slice;     /* changes with each time slice */
    int rc;             /* not 0: the document failed; e has the reason */
    struct mf_error e;
    /* Called before each time slice but the first, when set; false: the doc ends with MF_CLOSED. */
    bool (*wanted)(const struct doc *d);

    struct loop *loop; /* from here on: doc.c's own */
    struct doc_part {
        const doc_step *steps;
        void *state;
        void (*fini)(void *state);
    } part[DOC_PARTS];
    unsigned parts, at;
    struct work_task task;
    void (*done)(struct doc *d);
};

void doc_init(struct doc *d, struct loop *l, enum jsonw_style style);
/* Steps up to a NULL, after those added before; *steps must outlive the doc.  Takes ownership of
 * state: fini() is called once, even if the doc fails.  state NULL: there was no memory for it,
 * and the doc fails.  fini NULL: nothing is to be freed.  At most DOC_PARTS times. */
void doc_add(struct doc *d, const doc_step *steps, void *state, void (*fini)(void *state));
/* Ends the document; the first failure is kept. */
void doc_fail(struct doc *d, int rc, const char *fmt, ...) MF_PRINTF(3, 4);
/* Runs the first time slice at once.  true: there is more, for doc_start(). */
bool doc_begin(struct doc *d);
/* Runs the rest as a task of o.  done() is called after the last step, or after one that failed;
 * it may free the doc. */
void doc_start(struct doc *d, struct work_owner *o, void (*done)(struct doc *d));
/* Runs the rest at once. */
void doc_finish(struct doc *d);
/* Ends the document at any step without calling done(); frees body and states. */
void doc_fini(struct doc *d);

#endif
