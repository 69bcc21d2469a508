/* excuse.h: what a change to the bytes of a store may change in its answers, by
 * docs/disk-format.md. */
#ifndef TEST_EXCUSE_H
#define TEST_EXCUSE_H

#include "disk.h"

/* One change to the bytes: up to two stretches of files. */
struct change {
    const char *what;
    size_t stretches;
    struct {
        size_t file;
        uint64_t from, to;
    } at[2];
};

/* The undamaged store: its files (changed in place and put back) and the records in them. */
extern struct disk disk;
extern struct disk_span *spans;
extern size_t spans_count;

/* What excuse_find() found: */
extern uint8_t *excused;   /* by sequence: it may be lost, revived or changed */
extern bool blobs_excused; /* so may some blob */
extern bool nothing_after; /* the log ends there now, and nothing is left to tell that it went on */

void excuse_init(uint64_t last_seq);
void excuse_fini(void);
void excuse_find(const struct change *c);
bool excuse_touches(const struct change *c, size_t file, uint64_t from, uint64_t to);
/* Does this stretch of a file cover a changed byte? */
bool excuse_covers(const struct change *c, const char *file, uint64_t offset, uint64_t length);
/* Does it lie in an erased message, whose erase record was hit?  Then nothing is left to tell why
 * its data is gone. */
bool excuse_erased(const struct change *c, const char *file, uint64_t offset, uint64_t length);

#endif
