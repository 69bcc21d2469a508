/* check_key.h: the key of encrypted stores, as `check` and `check --repair` are given it. */
#ifndef CLI_CHECK_KEY_H
#define CLI_CHECK_KEY_H

#include "base/base.h"

#define CHECK_KEY_USAGE                                                                            \
    "  --key-file FILE the server's jetstream key, for encrypted stores: what FILE holds, "        \
    "without\n"                                                                                    \
    "                  a line end after it\n"                                                      \
    "  --key-env NAME  the same from an environment variable\n"

struct check_key {
    const char *file, *env; /* as on the command line; NULL: not given */
    char *text;             /* malloc'd */
};
/* True: argv[*i] is one of these options; *i moves on to its value. */
bool check_key_option(struct check_key *k, int argc, char **argv, int *i);
/* *key stays valid until check_key_fini(); empty: none was given. */
MF_MUSTCHECK int check_key_read(struct check_key *k, struct mf_slice *key, struct mf_error *e);
void check_key_fini(struct check_key *k); /* wiped */

#endif
