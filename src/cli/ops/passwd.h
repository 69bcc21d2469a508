/* passwd.h: bcrypt texts for configurations. */
#ifndef CLI_OPS_PASSWD_H
#define CLI_OPS_PASSWD_H

#include "cli/cli.h"

extern const struct cli_flag passwd_flags[];

int passwd_run(struct cli *c); /* mayfly passwd */

#define PASSWD_TEXT 61 /* with the NUL */
/* The bcrypt text of a password, "$2a$<cost>$...", with a random salt.  bcrypt reads 72 bytes at
 * most and stops at a NUL: longer ones are refused (MF_LIMIT), so that no password is cut silently.
 * MF_INVAL: the cost is not in 4..31. */
MF_MUSTCHECK int passwd_hash(char dst[PASSWD_TEXT], struct mf_slice password, unsigned cost,
                             struct mf_error *e);

#endif
