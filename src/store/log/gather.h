/* gather.h: history of the last commit groups, to decide whether the next one waits a moment. */
#ifndef MAYFLY_STORE_GATHER_H
#define MAYFLY_STORE_GATHER_H

#include <stdbool.h>
#include <stdint.h>

struct gather {
    unsigned waiting,
        in_flight; /* number of waiters: for the group that fills, for the one in flight */
    unsigned goal; /* start when so many wait, or at until_ns; 0: immediately */
    unsigned skip, given_up; /* commits without an attempt: left, and at the last failure */
    int64_t started_ns, until_ns;
};
/* All O(1).  The owner counts `waiting`. */
void gather_started(struct gather *g, int64_t now_ns); /* the group is in flight */
void gather_done(struct gather *g,
                 int64_t now_ns); /* it is committed; waiters are not called yet */
bool gather_ready(struct gather *g, int64_t now_ns); /* false: the next one waits a little longer */

#endif
