/* crypt.h: the key of a store, and what is sealed with it.  A part of store_impl.h.
 *
 * The commit's worker, the checkpoint's worker and the loop have a struct seal each, so none waits
 * for another. */
#ifndef STORE_CRYPT_H
#define STORE_CRYPT_H

#include "codec/seal.h"
#include "store/log/record.h"
#include "store/store_io.h"
#include "store/store_secret.h"

#define CRYPT_FILE     "store.key"
#define CRYPT_FILE_TMP "store.key.tmp"
#define CRYPT_COPY     128u /* bytes of one copy of the key in it */

struct crypt {
    enum seal_cipher cipher; /* of what is written */
    uint8_t key[SEAL_KEY];   /* of this store, */
    uint8_t id[STORE_ID];    /* whose segments have this id */
    struct seal *loop;       /* reads; recovery */
    struct seal *commit;     /* records, on a worker */
    struct seal *check;      /* checkpoints, on a worker */
    bool rewrapped;          /* it was opened by the key before, and is sealed by the new one */
    bool damaged;            /* one of the two copies in its file was, */
    uint64_t damaged_at;     /* this one */
};

/* Opens the key file of the directory.  0 and *out NULL: there is none.  MF_DENIED: neither key
 * opens it, or it needs one and secret is NULL; MF_CORRUPT: both copies are damaged.  Changes
 * nothing. */
MF_MUSTCHECK int crypt_load(struct crypt **out, struct store_io *io,
                            const struct store_secret *secret, struct mf_error *e);
/* Makes a new key, and its file, for the store with this id.  Durable on return, if `sync`. */
MF_MUSTCHECK int crypt_make(struct crypt **out, struct store_io *io,
                            const struct store_secret *secret, const uint8_t id[STORE_ID],
                            bool sync, struct mf_error *e);
/* Writes the file again if it is sealed by the key before, or has a damaged copy.  A crash leaves
 * the old file or the new one. */
MF_MUSTCHECK int crypt_renew(struct crypt *c, struct store_io *io,
                             const struct store_secret *secret, struct mf_error *e);
/* For a worker that reads: its own.  NULL: no memory. */
static inline struct seal *crypt_reader(const struct crypt *c)
{
    return seal_new(c->key, c->cipher);
}
void crypt_free(struct crypt *c); /* wiped; NULL is fine */

#endif
