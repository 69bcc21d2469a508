/* wipe.h: overwriting bytes of a file with zeros.  For workers and recovery: it waits for the disk.
 */
#ifndef STORE_WIPE_H
#define STORE_WIPE_H

#include "store/store_io.h"

/* Zeroes [from, to); *changed is set if any byte was not zero.  Not synced.  O(bytes). */
MF_MUSTCHECK int wipe_range(struct store_io *io, struct store_file *f, uint64_t from, uint64_t to,
                            bool *changed, struct mf_error *e);

#endif
