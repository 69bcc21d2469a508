/* settle.h: a read waits for the commit of earlier publishes, a quarter of a second at most. */
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
/* True: the call waits and runs again. */
bool api_settle_call(struct api_call *call);
void api_settle_cancel(struct api_call *call); /* ends the wait, if any */

#endif
