/* nonce.h: the text that a peer signs with its nkey. */
#ifndef MAYFLY_SESSION_NONCE_H
#define MAYFLY_SESSION_NONCE_H

#define NONCE 16 /* with the closing zero */
void nonce_make(char dst[NONCE]);

#endif
