/* array.c: arrays that grow. */
#include "base/array.h"

#include <stdlib.h>

#define FIRST_CAP 8u

int mf_array_grow(void *items, size_t *cap, size_t need, size_t size)
{
    size_t next = *cap == 0 ? FIRST_CAP : *cap;
    void *at, *grown;

    while (next < need) {
        if (next > SIZE_MAX / 2)
            return MF_NOMEM;
        next *= 2;
    }
    if (next > SIZE_MAX / size)
        return MF_NOMEM;
    memcpy(&at, items,
           sizeof at); /* *items has the owner's type, which may not be read as void * */
    grown = realloc(at, next * size);
    if (grown == NULL)
        return MF_NOMEM;
    memcpy(items, &grown, sizeof grown);
    *cap = next;
    return 0;
}
