/* text_room_impl.h: room for the text of a key, of this thread.
 *
 * A key that is handed to a callback is written out here.  The rooms are large, so they are not
 * thread-local arrays: every thread of a program that embeds the server would pay for those. */
#ifndef STORE_TEXT_ROOM_IMPL_H
#define STORE_TEXT_ROOM_IMPL_H

#include "base/base.h"

enum text_room { TEXT_EXPIRED, TEXT_AT, TEXT_GONE, TEXT_ACCEPTED, TEXT_ROOMS };

/* KEYS_MAX bytes; each use has a room of its own, so that callbacks may nest. */
uint8_t *text_room(enum text_room which);

#endif
