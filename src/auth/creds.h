/* creds.h: what a server shows when it logs in at another one: a user JWT with its seed, or a seed
 * alone.  Holds secrets: wipe it as soon as the login is sent. */
#ifndef MAYFLY_CREDS_H
#define MAYFLY_CREDS_H

#include "codec/nkey.h"

#define CREDS_FILE_MAX (64u << 10) /* a larger file is refused before it is read */
#define CREDS_SIG      87          /* with the NUL */

struct creds {
    char *jwt; /* NULL: a seed alone */
    char nkey[NKEY_TEXT];
    uint8_t seed[32];
};

/* A .creds file: the first block between dashes is the JWT, the second one the seed.  Errors name
 * the file, never its contents. */
MF_MUSTCHECK int creds_load(struct creds *out, const char *path, struct mf_error *e);
MF_MUSTCHECK int creds_from_seed(struct creds *out, struct mf_slice seed, struct mf_error *e);
/* The signature of a nonce as CONNECT carries it: base64 for URLs, without padding. */
void creds_sign(const struct creds *c, struct mf_slice nonce, char dst[CREDS_SIG]);
/* Clears and frees; NULL and cleared ones are fine. */
void creds_wipe(struct creds *c);

#endif
