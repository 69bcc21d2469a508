/* victim.h: a closed store that holds every kind of record, to be damaged. */
#ifndef TEST_VICTIM_H
#define TEST_VICTIM_H

#include "excuse.h"

#include "support/store_drive.h"

struct store_opts victim_options(void);
/* Fills `disk` and `spans` (excuse.h) and calls excuse_init(); *want: what the store shows. Returns
 * its time. */
int64_t victim_build(struct loop *loop, uint64_t seed, struct model_state *want);

#endif
