/* wheel_pop.h: takes the first due id out of a wheel. */
#ifndef TEST_WHEEL_POP_H
#define TEST_WHEEL_POP_H

#include "wheel/wheel.h"

static inline uint32_t wheel_pop(struct wheel *w, int64_t *deadline_ns)
{
    uint32_t id = wheel_peek(w, deadline_ns);

    if (id != WHEEL_NONE)
        wheel_del(w, id);
    return id;
}

#endif
