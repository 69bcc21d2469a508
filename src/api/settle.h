/* settle.h: reads wait for what was published and acknowledged before them, while that is on its
 * way to the disk, a quarter of a second at most.  Included by api_impl.h. */
#ifndef API_SETTLE_H
#define API_SETTLE_H

#include "stream/stream.h"

struct api_call;
struct loop_timer;

struct settle {
    struct store_wait wait;
    struct loop_timer *timer; /* not NULL: it waits */
    bool over;
};
/* true: the call waits and is run again. */
bool settle_call(struct api_call *call);
void settle_cancel(struct api_call *call); /* it does not wait any more */

#endif
