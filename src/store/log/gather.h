/* gather.h: what gather.c remembers of the last groups, to tell whether the next one waits a
 * moment. */
#ifndef MAYFLY_STORE_GATHER_H
#define MAYFLY_STORE_GATHER_H

#include <stdbool.h>
#include <stdint.h>

struct gather {
    unsigned waiting, in_flight; /* who waits for the group that fills, for the one on its way */
    unsigned goal;               /* start when so many wait, or at until_ns; 0: at once */
    unsigned skip, given_up;     /* commits not to try at; how many there were the last time */
    int64_t started_ns, until_ns;
};
/* All O(1).  The owner counts `waiting`. */
void gather_started(struct gather *g, int64_t now_ns); /* the group goes to the disk */
void gather_done(struct gather *g, int64_t now_ns);  /* it is there; its writers not yet answered */
bool gather_ready(struct gather *g, int64_t now_ns); /* false: the next one waits a little longer */

#endif
