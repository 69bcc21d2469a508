/* cold_reads.h: reads of a stream that find nothing in memory, as often as the test says.  Included
 * once, by the test; linked with -Wl,--wrap=stream_get. */
#ifndef TEST_COLD_READS_H
#define TEST_COLD_READS_H

#include "stream/stream.h"

static int cold; /* so many reads find nothing in memory */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
int __real_stream_get(struct stream *s, uint64_t seq, struct stream_msg *out);
int __wrap_stream_get(struct stream *s, uint64_t seq, struct stream_msg *out);
int __wrap_stream_get(struct stream *s, uint64_t seq, struct stream_msg *out)
{
    int rc = __real_stream_get(s, seq, out);

    if (rc != 0 || cold <= 0)
        return rc;
    cold--;
    stream_msg_end(out);
    return MF_AGAIN;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

#endif
