/* zone_maker.h: writes zone files, so that tests need none of the machine's. */
#ifndef TEST_ZONE_MAKER_H
#define TEST_ZONE_MAKER_H

#include "base/buf.h"

#include <stddef.h>

struct zone_made {
    int64_t at_s;     /* from then on */
    int32_t offset_s; /* this */
};

/* Version 2: changes[0] holds the offset of all time before (its at_s is not used); footer as in
 * TZ, may be empty. */
void zone_made_file(struct mf_buf *out, const struct zone_made *changes, size_t n,
                    const char *footer);
/* Version 1, 32 bits and no footer. */
void zone_made_file_v1(struct mf_buf *out, const struct zone_made *changes, size_t n);

/* A new directory, in $TZDIR from now on; zone_dir_remove() takes it away again with all that
 * zone_dir_put() put there.  name may have one '/'.  They abort the program when they fail. */
void zone_dir_make(void);
void zone_dir_put(const char *name, struct mf_slice bytes);
void zone_dir_put_rule(const char *name, const char *footer); /* a file with only a footer */
void zone_dir_remove(void);
const char *zone_dir(void);

#endif
