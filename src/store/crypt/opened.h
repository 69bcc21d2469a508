/* opened.h: messages that were opened for readers on the loop: each stays until the end of the
 * turn, as bytes of a mapping do.  A part of store_impl.h. */
#ifndef STORE_OPENED_H
#define STORE_OPENED_H

#include "base/base.h"
#include "loop/loop.h"

struct opened {
    struct opened_chunk *chunk; /* the newest first */
    struct loop_defer defer;
};
/* Room for n bytes until the end of this turn (loop NULL: until opened_fini()).  NULL: no memory.
 */
uint8_t *opened_take(struct opened *o, struct loop *loop, size_t n);
void opened_fini(struct opened *o, struct loop *loop);

#endif
