/* life.c: deadline and state of one stored message, for readers. */
#include "stream/lifetime_impl.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

bool stream_lifetime(struct stream *s, uint64_t seq, struct stream_lifetime *out)
{
    uint16_t flags = 0;

    stream_look_at_clock(s);
    if (seq == 0 || store_next(s->store, seq) != seq || !store_flags(s->store, seq, &flags))
        return false;
    *out = (struct stream_lifetime){.infinite = (flags & STORE_INFINITE) != 0,
                                    .pinned = (flags & STORE_PINNED) != 0,
                                    .tombstone = (flags & MSG_TOMBSTONE) != 0};
    if (!store_deadline(s->store, seq, &out->deadline_ns))
        out->deadline_ns = 0;
    return true;
}

struct stream_lifetime *stream_lifetime_of(struct stream *s, const struct stream_msg *m,
                                           struct stream_lifetime *room)
{
    if (!stream_lifetime(s, m->seq, room)) /* it ended this very moment */
        *room = (struct stream_lifetime){.deadline_ns = m->deadline_ns};
    return room;
}

size_t stream_put_lifetime(char *dst, const struct stream_lifetime *life, int64_t now_ns)
{
    char at[CLOCK_TEXT];
    int64_t left_ms = (life->deadline_ns - now_ns) / CLOCK_MS;

    if (life->deadline_ns == 0)
        return (size_t)snprintf(dst, STREAM_LIFETIME_HEADERS, "Mayfly-Expires: %s\r\n",
                                life->infinite ? "never" : "none");
    left_ms = left_ms > 0 ? left_ms : 1;
    return (size_t)snprintf(
        dst, STREAM_LIFETIME_HEADERS, "Mayfly-Expires: %s\r\nMayfly-TTL-Left: %" PRId64 ".%03d\r\n",
        clock_rfc3339(at, life->deadline_ns), left_ms / 1000, (int)(left_ms % 1000));
}
