/* doc.h: a document that is made in slices: a page of the monitoring port, or the answer to a
 * request of the system account.
 *
 * Whoever renders adds steps; each does a bounded piece of the work and is called until it has no
 * more to do, then the next one is.  Between two slices anything may go away: a step keeps names,
 * numbers or counted references, and looks up what it needs again when `slice` has changed.
 *
 * Cost: that of the steps, and one look at the clock for each.  The caller owns the doc; it must
 * stay where it is between doc_init() and doc_fini(). */
#ifndef MAYFLY_DOC_H
#define MAYFLY_DOC_H

#include "codec/jsonw.h"
#include "loop/work.h"

struct doc;
/* true: there is more of this step; false: the next one's turn. */
typedef bool (*doc_step)(struct doc *d, void *state);

#define DOC_PARTS 4
struct doc {
    struct mf_buf body; /* what is written so far */
    struct jsonw w;     /* writes into body */
    uint64_t slice;     /* another one in each slice */
    int rc;             /* not 0: it cannot be made; e says why */
    struct mf_error e;
    /* Asked before each slice but the first, when set; false: the doc ends with MF_CLOSED. */
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
/* Steps up to a NULL, after those added before; *steps must outlive the doc.  Takes state over:
 * fini() is called once, whatever becomes of the doc.  state NULL: there was no memory for it, and
 * the doc fails.  fini NULL: nothing is to be freed.  At most DOC_PARTS times. */
void doc_add(struct doc *d, const doc_step *steps, void *state, void (*fini)(void *state));
/* No more steps are made; the first failure is kept. */
void doc_fail(struct doc *d, int rc, const char *fmt, ...) MF_PRINTF(3, 4);
/* The first slice, at once and inside the caller's turn.  true: there is more, for doc_start(). */
bool doc_begin(struct doc *d);
/* The rest, as a task of o.  done() at the end, when the last step or one that failed was made; it
 * may free the doc. */
void doc_start(struct doc *d, struct work_owner *o, void (*done)(struct doc *d));
/* All of the rest in one go. */
void doc_finish(struct doc *d);
/* Ends it wherever it is, done() is not called; frees body and states. */
void doc_fini(struct doc *d);

#endif
