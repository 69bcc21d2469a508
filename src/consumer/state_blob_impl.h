/* state_blob_impl.h: the blobs of the stream's store that keep a consumer across restarts.
 *
 *     c/<id>       u8 version 1, i64 created, u16 length of the name, name,
 *                  the configuration (the codec's text)
 *     cs/<id>      u8 version 1, then u64 each: consumer seq, stream seq,
 *                  floors of both, when delivered, when acked, next,
 *                  pause until, snapshot (0 or 1)
 *     cp/<id>/<n>  u8 version 1, then for each message of sequences
 *                  [n * 1024, (n + 1) * 1024) that waits for its ack:
 *                  u16 sequence - n * 1024, u32 deliveries,
 *                  u64 consumer seq, i64 when sent
 *     cg/<id>/<n>  the same, for those that were given up and wait no more
 *
 * <id> is 16 hex digits, <n> hex; numbers are little endian.
 */
#ifndef STATE_BLOB_H
#define STATE_BLOB_H

#include "base/base.h"

#include <stdio.h>

#define STATE_PAGE    1024u
#define STATE_VERSION 1

static const char *const state_kinds[] = {"cp/", "cg/"}; /* that wait, that were given up */

static inline struct mf_slice state_blob_name(char dst[64], const char *kind, uint64_t id,
                                              const char *rest)
{
    int n = snprintf(dst, 64, "%s%016llx%s", kind, (unsigned long long)id, rest);

    return mf_slice(dst, (size_t)n);
}

/* A page of which kind?  -1: no page. */
static inline int state_kind_of(struct mf_slice name)
{
    for (int i = 0; i < (int)MF_COUNT(state_kinds); i++)
        if (mf_starts(name, state_kinds[i]))
            return i;
    return -1;
}

#endif
