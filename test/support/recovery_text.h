/* recovery_text.h: what a recovery found, as text, so that two of them can be compared. */
#ifndef TEST_RECOVERY_TEXT_H
#define TEST_RECOVERY_TEXT_H

#include "store/recover/recover.h"

/* Messages with place, deadline and key; last sequence, mark, first segment, blobs by name.  Not
 * where appending goes on, nor damage.  The caller frees. */
char *recovery_text(const struct recovery *r);
/* recover() that must not fail, its index checked. */
void recover_ok(struct recovery *r, struct store_io *io);
/* recover, text, fini */
char *recover_text(struct store_io *io);

#endif
