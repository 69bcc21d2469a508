/* stream_damage.h: what of a stream cannot be read any more, for pages. */
#ifndef MAYFLY_STREAM_DAMAGE_H
#define MAYFLY_STREAM_DAMAGE_H

#include "base/base.h"

struct stream;

#define STREAM_DAMAGE_SEQS 10
struct stream_damage {
    size_t places;       /* on disk that are damaged and matter (store_damage_open()) */
    uint64_t messages;   /* that are lost or cannot be read */
    bool found_at_start; /* messages are missing there, and nothing shows which */
    uint64_t seq[STREAM_DAMAGE_SEQS]; /* some of those that cannot be read */
    size_t seqs;
};
bool stream_damage(struct stream *s, struct stream_damage *out); /* false: none */
size_t stream_lost(struct stream *s); /* messages that damage took; for `lost` */

#endif
