/* xkey.h: messages sealed with curve keys: X25519 and XSalsa20-Poly1305, as nkeys writes them.
 *
 *    0  4   "xkv1"
 *    4  24  nonce, random
 *   28  16  authenticator
 *   44      the encrypted bytes */
#ifndef MAYFLY_XKEY_H
#define MAYFLY_XKEY_H

#include "jwt/jwt.h"

#define XKEY_OVERHEAD 44

/* Appends `plain`, sealed by the key `from` (NKEY_CURVE) for the public key `to` (X...).  MF_INVAL:
 * `to` is no such key; MF_NOMEM. */
MF_MUSTCHECK int xkey_seal(struct mf_buf *out, struct mf_slice plain, const struct jwt_key *from,
                           struct mf_slice to);
/* Appends what the key `from` (X...) sealed for us.  MF_DENIED: not sealed so, or changed since. */
MF_MUSTCHECK int xkey_open(struct mf_buf *out, struct mf_slice sealed, const struct jwt_key *us,
                           struct mf_slice from);

#endif
