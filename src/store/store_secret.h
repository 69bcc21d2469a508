/* store_secret.h: what a store is encrypted with.  A part of store.h.
 *
 * The owner's key is any text.  A key of the store, random, seals the bytes; the owner's key seals
 * that one, in the file store.key (docs/disk-format.md, Encryption). */
#ifndef MAYFLY_STORE_SECRET_H
#define MAYFLY_STORE_SECRET_H

#include "base/base.h"

enum store_cipher { STORE_CHACHA = 1, STORE_AES = 2 }; /* as enum seal_cipher */
struct store_secret {
    enum store_cipher cipher; /* of what is written from now on */
    struct mf_slice key;      /* not empty */
    struct mf_slice prev;     /* the key before it; empty: none */
};
/* Copies the keys into memory that is locked, left out of core files, and wiped in the end.  NULL:
 * no memory. */
struct store_secret *store_secret_new(enum store_cipher cipher, struct mf_slice key,
                                      struct mf_slice prev);
void store_secret_free(struct store_secret *s); /* NULL is fine */

#endif
