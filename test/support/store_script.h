/* store_script.h: a life of a store, by seed: every kind of call, in any order. */
#ifndef TEST_STORE_SCRIPT_H
#define TEST_STORE_SCRIPT_H

#include "store_drive.h"

#include <stdio.h>

struct script {
    unsigned keys;   /* how many there are */
    size_t live_max; /* above it the oldest half is removed */
    size_t body_max; /* of a rare large message */
    int64_t step_ns; /* time goes on by up to so much at a time; deadlines lie a few steps ahead */
    bool faults;     /* calls may fail for want of disk or memory */
    bool no_reopen;  /* the caller closes and opens */
    unsigned rest;   /* percent of steps after which everything comes to rest */
    uint64_t steps, appends, removals, erasures, touches, batches, expiries, deaths, blobs, reads,
        checkpoints, scrubs, reopens; /* done so far */
};

/* One step: one call or one batch of calls, and then no turn, one, or turns until all is at rest.
 * With faults: false when the store was lost or could not be opened. */
bool script_step(struct drive *d, struct script *p);
void script_print(const struct script *p, FILE *to);

#endif
