/* wipe.c: overwriting bytes of a file with zeros, where they are not zeros already. */
#include "store/io/wipe.h"

#include <string.h>

#define CHUNK 16384u

int wipe_range(struct store_io *io, struct store_file *f, uint64_t from, uint64_t to, bool *changed,
               struct mf_error *e)
{
    static const uint8_t zeros[CHUNK];
    uint8_t bytes[CHUNK];
    int rc = 0;

    for (; from < to && rc == 0; from += CHUNK) {
        size_t n = to - from < CHUNK ? (size_t)(to - from) : CHUNK;
        if ((rc = io->pread(io, f, bytes, n, from, e)) != 0 || memcmp(bytes, zeros, n) == 0)
            continue;
        *changed = true;
        rc = io->pwrite(io, f, zeros, n, from, e);
    }
    return rc;
}
