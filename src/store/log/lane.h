/* lane.h: a second thread that processes pieces in order.
 *
 * The owner fills piece lane_next() (a number below `pieces`, round robin), hands it over with
 * lane_submit() and takes it back with lane_wait(): what work() wrote is the owner's again.  Where
 * no thread can be had, work() runs inside lane_submit().  */
#ifndef STORE_LANE_H
#define STORE_LANE_H

#include "base/base.h"

struct lane;

struct lane *lane_new(unsigned pieces, void (*work)(void *arg, unsigned piece),
                      void *arg); /* NULL: out of memory */
/* The piece to fill next: waits until work() is done with it. */
unsigned lane_next(struct lane *l);
void lane_submit(struct lane *l);
uint64_t lane_submitted(const struct lane *l); /* number of submitted pieces */
void lane_wait(struct lane *l, uint64_t n);    /* waits until the first n are done */
bool lane_done(struct lane *l, uint64_t n);    /* true: the first n are done */
void lane_free(struct lane *l);                /* finishes all; may be NULL */

#endif
