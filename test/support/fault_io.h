/* fault_io.h: files that fail when told to.  Wraps any store_io and stands in front of it.
 *
 *     store_io_memory(&files, &e);
 *     fault_io_new(&io, files, &e);              io owns files now
 *     for (uint64_t n = 1;; n++) {
 *         fault_io_arm(io, &(struct fault_plan){.nth = n, .code = MF_IO});
 *         ... run the script on io, check what it promised ...
 *         if (!fault_io_hit(io))
 *             break;                             the script has fewer operations than n
 *     }
 *
 * May be called from several threads: then which operation is the Nth is theirs to settle. */
#ifndef TEST_FAULT_IO_H
#define TEST_FAULT_IO_H

#include "store/store_io.h"

enum fault_kind {
    FAULT_ENTER = 1 << 0,
    FAULT_OPEN = 1 << 1, /* of a file that is there */
    FAULT_CREATE = 1 << 2,
    FAULT_SIZE = 1 << 3,
    FAULT_READ = 1 << 4,
    FAULT_WRITE = 1 << 5,
    FAULT_SYNC = 1 << 6,
    FAULT_TRUNCATE = 1 << 7,
    FAULT_MAP = 1 << 8, /* fails as NULL, which a caller must live with */
    FAULT_RENAME = 1 << 9,
    FAULT_UNLINK = 1 << 10,
    FAULT_SYNCDIR = 1 << 11,
    FAULT_LIST = 1 << 12,
};
#define FAULT_KINDS 13
#define FAULT_ALL   0x1fffu
#define FAULT_MUTATING                                                                             \
    (FAULT_CREATE | FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE | FAULT_RENAME | FAULT_UNLINK |      \
     FAULT_SYNCDIR)

struct fault_plan {
    uint32_t kinds; /* what counts and fails; 0: FAULT_ALL */
    uint64_t nth;   /* from arming, from 1 */
    int code;       /* MF_IO, MF_FULL... */
    bool forever;   /* the Nth and all of these kinds after it, until disarmed */
    bool half;      /* a failing write has written the first half of its bytes */
    bool after;     /* it is done all the same, and only the answer is lost */
};

/* Takes `under` over: freed with io.  On failure it stays the caller's. */
MF_MUSTCHECK int fault_io_new(struct store_io **out, struct store_io *under, struct mf_error *e);
void fault_io_arm(struct store_io *io, const struct fault_plan *plan); /* replaces; hit: false */
void fault_io_disarm(struct store_io *io);                             /* hit stays */
bool fault_io_hit(struct store_io *io); /* has the plan's operation come? */
/* Operations of these kinds since the io was made, those that failed included. */
uint64_t fault_io_count(struct store_io *io, uint32_t kinds);

/* A disk of so many bytes: the sizes of all files in the directory together.  What would grow them
 * beyond it fails with MF_FULL, after writing what fits; overwriting is free, unlinking and
 * truncating gives back.  Less than what is used: nothing grows.  Growing costs O(files). */
void fault_io_budget(struct store_io *io, uint64_t bytes); /* UINT64_MAX, the start: no limit */
uint64_t fault_io_used(struct store_io *io);
/* resident() says no, as if nothing were in the page cache. */
void fault_io_cold(struct store_io *io, bool cold);

#endif
