/* text_room.c: the rooms of this thread: made by store_thread_begin(), or at the first use. */
#include "store/text_room_impl.h"

#include "store/keys/keys.h"
#include "store/store.h"

#include <stdlib.h>

static _Thread_local uint8_t *rooms;

int store_thread_begin(struct mf_error *e)
{
    if (rooms == NULL)
        rooms = malloc((size_t)TEXT_ROOMS * KEYS_MAX);
    return rooms != NULL ? 0 : mf_fail(e, MF_NOMEM, "room for keys");
}

void store_thread_end(void)
{
    free(rooms);
    rooms = NULL;
}

uint8_t *text_room(enum text_room which)
{
    struct mf_error e;

    /* A server begins its thread before it opens a store; a tool or a test has nowhere to go. */
    if (MF_UNLIKELY(rooms == NULL) && store_thread_begin(&e) != 0)
        abort();
    return rooms + (size_t)which * KEYS_MAX;
}
