/* nkeys.h: NATS keys for configurations: new ones, and the public key of a seed. */
#ifndef CLI_OPS_NKEYS_H
#define CLI_OPS_NKEYS_H

#include "codec/nkey.h"

#include "cli/cli.h"

extern const struct cli_flag nkeys_make_flags[];

int nkeys_make(struct cli *c); /* mayfly nkey make KIND */
int nkeys_show(struct cli *c); /* mayfly nkey show FILE */

/* The seed in a text: the text itself, or the line that looks like one in a credentials file.
 * MF_NOTFOUND: there is none; MF_INVAL: there is one with a mistake. */
MF_MUSTCHECK int nkeys_find_seed(struct mf_slice text, enum nkey_kind *kind, uint8_t seed[32]);
/* The public key of the seed in a file ("-": standard input).  0, or an exit code (printed). */
MF_MUSTCHECK int nkeys_load(struct cli *c, const char *path, enum nkey_kind *kind,
                            char public[NKEY_TEXT]);

#endif
